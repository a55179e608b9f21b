/* Any bytes as a cubin: no reading beyond them, and whatever is found holds together. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "code/cubin.h"
#include "gpu/kernel.h"

static const char *const kernels[] = {"some", "exact", "much", "calls", "saxpy", ""};

static void look_at(const void *bytes, size_t n, const char *kernel) {
    tt__cubin_needs needs;
    tt__cubin_entry e;
    tt__launch launch = {.n_passes = 1, .passes = {{.block = {128, 1, 1}, .n_args = 3}}};
    tt_status status = tt__cubin_read(&needs, bytes, n, kernel);
    fuzz_want(status == TT_OK || (status == TT_E_UNSUPPORTED && *tt_last_error()), "needs");
    fuzz_want(status != TT_OK || (needs.regs > 0 && needs.static_shared_bytes >= 0 && needs.stack_bytes >= 0),
              "whole needs");
    status = tt__cubin_entry_read(&e, bytes, n, kernel);
    fuzz_want(status == TT_OK ||
                  ((status == TT_E_UNSUPPORTED || status == TT_E_TEMPLATE) && *tt_last_error()),
              "an entry");
    fuzz_want(e.n_parameters >= -1, "a number of parameters");
    bool found = status != TT_E_TEMPLATE;
    status = tt__fit_cubin(bytes, n, kernel, &launch, 0);
    fuzz_want(status == TT_E_TEMPLATE || (status == TT_OK && found), "a fit");
    tt__str arrays = {0};
    tt__cubin_arrays(&arrays, bytes, n);
    fuzz_want(!arrays.len || !arrays.text[arrays.len - 1], "whole names");
    for (const char *at = NULL; (at = tt__cubin_array(&arrays, kernel, at));)
        fuzz_want(at < arrays.text + arrays.len, "a name");
    tt__str_free(&arrays);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *exact = malloc(size ? size : 1); /* a byte beyond the end is a finding */
    fuzz_want(exact != NULL, "memory");
    memcpy(exact, data, size);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        look_at(exact, size, kernels[i]);
    free(exact);
    return 0;
}

/* Every other time a number in the head, a table of sections or of symbols, or an attribute: all are aligned.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static const uint64_t numbers[] = {
        0,      1,      3,         8,          12,        24,         64,
        0x7fff, 0xffff, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 23};
    unsigned state = seed;
    size_t width = (size_t)1 << (1 + fuzz_random(&state, 3));
    if (fuzz_random(&state, 2) || size < width)
        return LLVMFuzzerMutate(data, size, max_size);
    uint64_t n = numbers[fuzz_random(&state, sizeof numbers / sizeof *numbers)];
    n = fuzz_random(&state, 4) ? n : size - fuzz_random(&state, 64);
    memcpy(data + fuzz_random(&state, size / width) * width, &n, width);
    return size;
}
