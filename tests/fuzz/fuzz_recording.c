/* Any bytes as a recording, ours or another tuner's: refused with a sentence, or taken over into a store that
 * passes its own check. */
#include "fuzz.h"

#include <stdlib.h>

#include "db/exchange/export.h"
#include "db/exchange/import.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "mutate_json.h"
#include "tuner/backend/replay/backend_replay.h"

static const tt__gpu gpu = {.name = "A GPU",
                            .cc = 90,
                            .sm_count = 1,
                            .memory_bytes = 1 << 30,
                            .max_threads_per_block = 1024,
                            .shared_per_block = 1 << 17};

/* Every other file is held against a real template. */
static const tt__foreign *foreign(const uint8_t *data, size_t size) {
    static tt__template_set set;
    static tt__foreign strict, lax;
    if (!set.n) {
        tt__problem p;
        const tt__template *t;
        fuzz_want(tt__template_set_open(&set, NULL, 0) == TT_OK, "templates");
        t = tt__template_set_find(&set, "transpose_tiled");
        fuzz_want(tt__operation_problem(&p, t->operation, t->op, "rows=64,cols=64") == TT_OK, "a problem");
        strict = lax = tt__foreign_of(t, &p, &gpu);
        lax.fits = NULL;
    }
    return size && data[size / 2] & 1 ? &strict : &lax;
}

/* Writes what was read in either format, and reads it again. */
static void write_again(tt__store *s, const uint8_t *data, size_t size) {
    tt__str t4 = {0}, cache = {0};
    tt__recording *r;
    tt_status status = tt__recording_export(s, 1, NULL, "", &t4);
    fuzz_want(status == TT_OK || status == TT_E_NO_WINNER, "a recording");
    if (status == TT_OK) {
        fuzz_want(tt__recording_open(&r, fuzz_file((const uint8_t *)t4.text, t4.len)) == TT_OK,
                  "it to be read");
        tt__recording_close(&r);
    }
    tt_status cached = tt__recording_export_cache(s, 1, NULL, &cache);
    fuzz_want(cached == TT_OK || cached == TT_E_INVALID || cached == TT_E_NO_WINNER, "a cache file");
    if (cached == TT_OK) {
        tt__foreign lax = *foreign(data, size);
        lax.fits = NULL;
        lax.gpu.name[0] = '\0';
        status = tt__recording_open_t4(&r, fuzz_file((const uint8_t *)cache.text, cache.len), &lax);
        fuzz_want(status == TT_OK, "that to be read");
        tt__recording_close(&r);
    }
    tt__str_free(&t4);
    tt__str_free(&cache);
}

/* As a user would: by a file. */
static void read_file(const uint8_t *data, size_t size) {
    tt__recording *r;
    tt_status status = tt__recording_open_t4(&r, fuzz_file(data, size), foreign(data, size));
    if (status == TT_OK) {
        fuzz_merge(tt__recording_store(r), true);
        write_again(tt__recording_store(r), data, size);
    } else {
        fuzz_want((status == TT_E_INVALID || status == TT_E_DB) && *tt_last_error(), "a refusal");
    }
    tt__recording_close(&r);
}

/* The same text into one recording again and again. */
static void read_text(const uint8_t *data, size_t size) {
    static tt__store *kept;
    if (!kept) {
        fuzz_want(tt__store_open(&kept, ":memory:", TT__STORE_READ_WRITE) == TT_OK, "a store in memory");
        fuzz_keep_statements(kept->db);
        sqlite3_db_config(kept->db, SQLITE_DBCONFIG_ENABLE_FKEY, 0, NULL); /* a change prepares them anew */
    }
    tt__recording r = {.store = kept};
    tt__import m = {.r = &r, .path = fuzz_file(data, size), .foreign = foreign(data, size)};
    tt_status status = tt__recording_read(&m);
    if (status == TT_OK)
        fuzz_merge(kept, false);
    else
        fuzz_want((status == TT_E_INVALID || status == TT_E_DB) && *tt_last_error(), "a refusal");
    fuzz_empty(kept);
    free(r.kernels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (fuzz_fresh(data, size))
        read_file(data, size);
    else
        read_text(data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    return fuzz_mutate_json(data, size, max_size, seed);
}
