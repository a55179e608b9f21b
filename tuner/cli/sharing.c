/* What a file is, is seen from its first bytes, not from its name. */
#include "tuner/cli/sharing.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static tt_status is_database(const char *path, bool *yes) {
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic] = "";
    FILE *f = fopen(path, "rb");
    if (!f)
        return tt__fail(TT_E_IO, "cannot read %s: %s", path, strerror(errno));
    size_t n = fread(head, 1, sizeof head, f);
    int error = ferror(f) ? errno : 0;
    fclose(f);
    *yes = n == sizeof head && memcmp(head, magic, sizeof head) == 0;
    return error ? tt__fail(TT_E_IO, "cannot read %s: %s", path, strerror(error)) : TT_OK;
}

static tt_status take_database(tt__store *to, const char *path, bool trust, tt__merged *report) {
    tt__store *from = NULL;
    bool trusted;
    tt_status status = tt__store_open_foreign(&from, path, &trusted);
    if (status == TT_OK && trust && !trusted)
        fprintf(stderr,
                "tune: %s: others could have written it: its cubins are left out, its winners count as "
                "imported\n",
                path);
    if (status == TT_OK)
        status = tt__store_merge(to, from, &(tt__merge_opts){.trusted = trust && trusted}, report);
    tt__store_close(&from);
    return status;
}

static tt_status take_recording(tt__store *to, const char *path, const tt__foreign *foreign,
                                tt__merged *report) {
    tt__recording *r = NULL;
    tt_status status = tt__recording_open_t4(&r, path, foreign);
    if (status == TT_OK)
        status = tt__store_merge(to, tt__recording_store(r), &(tt__merge_opts){0}, report);
    tt__recording_close(&r);
    return status;
}

tt_status tt__sharing_take(tt__store *to, const char *path, bool trust, const tt__foreign *foreign,
                           tt__merged *report) {
    bool database = false;
    TT_TRY(is_database(path, &database));
    return database ? take_database(to, path, trust, report) : take_recording(to, path, foreign, report);
}

void tt__sharing_print(const tt__merged *r, const char *into) {
    char kept[64] = "", winners[32], trials[32], cubins[32];
    if (r->kept)
        snprintf(kept, sizeof kept, " (%lld more %s as good here already)", (long long)r->kept,
                 r->kept == 1 ? "is" : "are");
    printf("%s: %s%s, %s, %s new\n", into, tt__cli_count(winners, sizeof winners, r->winners, "winner"), kept,
           tt__cli_count(trials, sizeof trials, r->trials, "trial"),
           tt__cli_count(cubins, sizeof cubins, r->cubins, "cubin"));
}

tt_status tt__sharing_open(tt__store **out, const char *path, bool *is_new) {
    *is_new = access(path, F_OK) != 0 && errno == ENOENT;
    return tt__store_open(out, path, TT__STORE_READ_WRITE);
}

void tt__sharing_discard(tt__store **store, const char *path, bool is_new) {
    tt__store_close(store);
    if (is_new)
        unlink(path); /* closing has taken away what lay beside it */
}
