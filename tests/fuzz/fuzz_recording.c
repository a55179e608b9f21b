/* Any bytes as a recording, ours or another tuner's: refused with a sentence, or taken over into a store that
 * passes its own check. */
#include "fuzz.h"

#include <stdlib.h>

#include "db/import.h"
#include "mutate_json.h"

static const tt__foreign foreign = {
    .gpu = {.name = "A GPU", .cc = 90, .sm_count = 1, .memory_bytes = 1 << 30, .max_threads_per_block = 1024},
    .problem = {.op = "transpose",
                .n = 9,
                .settings = {{.name = "rows", .number = 64},
                             {.name = "cols", .number = 64},
                             {.name = "elem_size", .number = 4},
                             {.name = "lds", .number = 64},
                             {.name = "ldd", .number = 64},
                             {.name = "batch", .number = 1},
                             {.name = "src_stride", .number = 4096},
                             {.name = "dst_stride", .number = 4096},
                             {.name = "align", .number = 16}}},
    .kernel = "transpose_tiled"};

/* As a user would: by a file. */
static void read_file(const uint8_t *data, size_t size) {
    tt__recording *r;
    tt_status status = tt__recording_open_t4(&r, fuzz_file(data, size), &foreign);
    if (status == TT_OK)
        fuzz_merge(tt__recording_store(r), true);
    else
        fuzz_want((status == TT_E_INVALID || status == TT_E_DB) && *tt_last_error(), "a refusal");
    tt__recording_close(&r);
}

/* The same text into one recording again and again. */
static void read_text(const uint8_t *data, size_t size) {
    static tt__store *kept;
    if (!kept) {
        fuzz_want(tt__store_open(&kept, ":memory:", TT__STORE_READ_WRITE) == TT_OK, "a store in memory");
        fuzz_keep_statements(kept->db);
    }
    tt__recording r = {.store = kept};
    tt__import m = {.r = &r, .path = "fuzz.json", .foreign = &foreign};
    tt__str_addn(&m.text, (const char *)data, size);
    tt_status status = tt__import_read(&m);
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
