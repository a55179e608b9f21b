/* See fuzz.h. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "db/conn.h"
#include "db/exchange/merge.h"
#include "db/store.h"
#include "db/upkeep.h"

bool fuzz_fresh(const uint8_t *data, size_t size) {
    uint64_t h = size, word;
    for (size_t i = 0; i < size; i += sizeof word) {
        word = 0;
        memcpy(&word, data + i, size - i < sizeof word ? size - i : sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
    }
    return h % 64 == 0;
}

void fuzz_want(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "expected %s; the last error is \"%s\"\n", what, tt_last_error());
    abort();
}

/* In memory: closing a file that was truncated waits for the disk. */
const char *fuzz_file(const uint8_t *data, size_t size) {
    static char path[32];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    fuzz_want(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "a file");
    return path;
}

static void print(void *user, const char *what) {
    (void)user;
    fprintf(stderr, "%s\n", what);
}

void fuzz_empty(tt__store *s) {
    static const char *const tables[] = {"winner",  "trial",     "run", "config", "template", "value",
                                         "problem", "operation", "env", "gpu",    "cubin",    "cubin_link"};
    enum { N = sizeof tables / sizeof *tables };
    static tt__store *of;
    static sqlite3_stmt *all[N];
    s->grouped = false;
    if (!sqlite3_get_autocommit(s->db)) {
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        return;
    }
    for (size_t i = 0; i < N && of != s; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "DELETE FROM %s", tables[i]);
        sqlite3_finalize(all[i]);
        fuzz_want(sqlite3_prepare_v2(s->db, sql, -1, &all[i], NULL) == SQLITE_OK, "a table");
    }
    of = s;
    for (size_t i = 0; i < N; i++) {
        fuzz_want(sqlite3_step(all[i]) == SQLITE_DONE, "an empty table");
        sqlite3_reset(all[i]);
    }
}

void fuzz_merge(tt__store *from, bool fresh) {
    static tt__store *kept;
    tt__store *to = fresh ? NULL : kept;
    tt__merged merged = {0};
    tt__checked checked;
    if (!to)
        fuzz_want(tt__store_open(&to, ":memory:", TT__STORE_READ_WRITE) == TT_OK, "a store in memory");
    fuzz_want(tt__store_begin(to) == TT_OK, "a transaction");
    const tt__merge_opts opts = {.trusted = true};
    tt_status status = tt__store_merge(to, from, &opts, &merged);
    if (status == TT_OK) {
        if (fresh) {
            merged = (tt__merged){0};
            fuzz_want(tt__store_merge(to, from, &opts, &merged) == TT_OK, "a second merge");
            fuzz_want(!merged.runs && !merged.trials && !merged.cubins && !merged.winners,
                      "nothing new in it");
            fuzz_want(tt__store_commit(to) == TT_OK, "a commit");
        }
        fuzz_want(tt__store_check(to, print, NULL, &checked) == TT_OK && !checked.findings, "a whole store");
    } else {
        fuzz_want((status == TT_E_INVALID || status == TT_E_DB || status == TT_E_NO_MEMORY) &&
                      *tt_last_error(),
                  "a refusal");
    }
    if (fresh) {
        tt__store_close(&to);
    } else {
        fuzz_empty(to); /* rolls back */
        kept = to;
    }
}
