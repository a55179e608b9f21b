/* See fuzz.h. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/check.h"
#include "db/merge.h"

static char path[64];

static void remove_file(void) {
    static const char *const ends[] = {"", "-wal",
                                       "-shm"}; /* SQLite leaves the last two where it may only read */
    for (int i = 0; i < 3; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

const char *fuzz_file(const uint8_t *data, size_t size) {
    if (!*path) {
        snprintf(path, sizeof path, "/tmp/tt-fuzz-%d", (int)getpid());
        atexit(remove_file);
    }
    FILE *f = fopen(path, "wb");
    fuzz_want(f && fwrite(data, 1, size, f) == size && fclose(f) == 0, "a file");
    return path;
}

void fuzz_want(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "expected %s; the last error is \"%s\"\n", what, tt_last_error());
    abort();
}

static void print(void *user, const char *what) {
    (void)user;
    fprintf(stderr, "%s\n", what);
}

void fuzz_merge(tt__store *from) {
    tt__store *to;
    tt__merged merged = {0};
    tt__checked checked;
    fuzz_want(tt__store_open(&to, ":memory:", TT__STORE_READ_WRITE) == TT_OK, "a store in memory");
    fuzz_want(tt__store_begin(to) == TT_OK, "a transaction");
    tt_status status = tt__store_merge(to, from, &(tt__merge_opts){.trusted = true}, &merged);
    if (status == TT_OK) {
        fuzz_want(tt__store_commit(to) == TT_OK, "a commit");
        fuzz_want(tt__store_check(to, print, NULL, &checked) == TT_OK && !checked.findings, "a whole store");
    } else {
        fuzz_want((status == TT_E_INVALID || status == TT_E_DB) && *tt_last_error(), "a refusal");
    }
    tt__store_close(&to);
}
