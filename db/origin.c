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
        tt__format(out->who, sizeof out->who, "%s@%s", user ? user : "", host);
    }
    tt__clean(out->who, "");
}

static void read_text(char *out, size_t size, sqlite3_stmt *stmt, int at) {
    const char *text = (const char *)sqlite3_column_text(stmt, at);
    tt__format(out, size, "%s", text ? text : "");
    tt__clean(out, "");
}

void tt__origin_read(tt__origin *out, sqlite3_stmt *stmt, int at) {
    read_text(out->who, sizeof out->who, stmt, at);
    read_text(out->program, sizeof out->program, stmt, at + 1);
}

tt_status tt__store_origin(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__origin *out) {
    sqlite3_stmt *stmt;
    bool row;
    *out = (tt__origin){.who = ""};
    TT_TRY(tt__db_stmt(s, &stmt, TT__SQL_WINNER_ORIGIN, "ii", gpu_id, problem_id));
    tt_status status = tt__db_step(s, stmt, &row);
    if (status == TT_OK && row)
        tt__origin_read(out, stmt, 0);
    tt__db_done(stmt);
    return status;
}
