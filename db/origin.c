/* See the header. */
#include "db/origin.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/number.h"
#include "db/conn.h"
#include "tiletune.h"

void tt__origin_here(tt__origin *out) {
    char host[64] = "";
    const char *who = secure_getenv("TILETUNE_WHO"), *user = secure_getenv("USER");
    *out = (tt__origin){.who = ""};
    tt__format(out->program, sizeof out->program, "%s %s", TT_VERSION, tt__commit);
    if (who) {
        tt__format(out->who, sizeof out->who, "%s", who);
    } else {
        gethostname(host, sizeof host - 1);
        tt__format(out->who, sizeof out->who, "%s%s%s", user ? user : "", user && *user ? "@" : "", host);
    }
    tt__clean(out->who, "");
}

void tt__origin_read(tt__origin *out, sqlite3_stmt *stmt, int at) {
    tt__text_read(stmt, at, out->who, sizeof out->who, TT__CLEAN_NAME);
    tt__text_read(stmt, at + 1, out->program, sizeof out->program, TT__CLEAN_NAME);
    tt__text_read(stmt, at + 2, out->file, sizeof out->file, TT__CLEAN_NAME);
}

tt_status tt__store_origin(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__origin *out) {
    sqlite3_stmt *stmt;
    *out = (tt__origin){.who = ""};
    tt_status status = tt__db_stmt(s, &stmt, TT__SQL_WINNER_ORIGIN, "ii", gpu_id, problem_id);
    if (tt__db_next(s, stmt, &status))
        tt__origin_read(out, stmt, 0);
    tt__db_done(stmt);
    return status;
}
