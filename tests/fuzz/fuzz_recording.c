/* Any bytes as a recording, ours or another tuner's: refused with a sentence, or taken over into a store that
 * passes its own check. */
#include "fuzz.h"

#include "db/check.h"
#include "db/merge.h"
#include "db/recording.h"

static const tt__foreign foreign = {
    .gpu = {.name = "A GPU", .cc = 90, .sm_count = 1, .memory_bytes = 1 << 30, .max_threads_per_block = 1024},
    .problem = {.op = "transpose",
                .rows = 64,
                .cols = 64,
                .lds = 64,
                .ldd = 64,
                .batch = 1,
                .src_stride = 4096,
                .dst_stride = 4096,
                .elem_size = 4,
                .align = 16},
    .kernel = "transpose_tiled"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file(data, size);
    tt__recording *r;
    tt_status status = tt__recording_open_t4(&r, path, &foreign);
    if (status == TT_OK)
        fuzz_merge(tt__recording_store(r));
    else
        fuzz_want((status == TT_E_INVALID || status == TT_E_DB) && *tt_last_error(), "a refusal");
    tt__recording_close(&r);
    return 0;
}
