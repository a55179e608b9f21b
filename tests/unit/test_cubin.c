/* What a cubin says of a kernel: of cubins that NVRTC makes here, cut and changed in thousands of ways. The
 * gpu suite compares with what the driver says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/cubin.h"
#include "gpu/nvrtc.h"

enum { EXIT_SKIPPED = 77, TILE_BYTES = 400, LOCAL_BYTES = 256 };

/* Two kernels, so that the one asked for must be found. */
static const char source[] = "extern \"C\" __global__ void plain(int *p) { *p = 1; }\n"
                             "extern \"C\" __global__ void both(int *p, int n) {\n"
                             "    __shared__ int tile[100];\n"
                             "    int held[64];\n"
                             "    for (int i = 0; i < 64; i++) held[p[i] & 63] = p[i + n];\n"
                             "    tile[threadIdx.x] = held[n & 63];\n"
                             "    __syncthreads();\n"
                             "    p[threadIdx.x] = tile[n] + held[p[1] & 63];\n"
                             "}\n";

static tt__str cubin_for(int cc) {
    tt__str cubin = {0};
    tt_status status = tt__nvrtc_compile(&cubin, "two.cu", source, "", 0, cc);
    if (status == TT_E_UNSUPPORTED) /* not of this NVRTC */
        return cubin;
    if (status != TT_OK)
        fail_msg("%s", tt_last_error());
    return cubin;
}

static void reads_the_needs(void **state) {
    (void)state;
    static const int ccs[] = {75, 80, 89, 90, 100, 120};
    int n = 0;
    for (size_t i = 0; i < sizeof ccs / sizeof *ccs; i++) {
        tt__str cubin = cubin_for(ccs[i]);
        tt__cubin_needs plain, both;
        if (cubin.len == 0)
            continue;
        assert_int_equal(tt__cubin_read(&plain, cubin.text, cubin.len, "plain"), TT_OK);
        assert_in_range(plain.regs, 4, 40);
        assert_int_equal(plain.static_shared_bytes, 0);
        assert_int_equal(plain.stack_bytes, 0);
        assert_int_equal(tt__cubin_read(&both, cubin.text, cubin.len, "both"), TT_OK);
        assert_in_range(both.regs, 8, 255);
        assert_int_equal(both.static_shared_bytes, TILE_BYTES);
        assert_in_range(both.stack_bytes, LOCAL_BYTES, 2 * LOCAL_BYTES);
        assert_int_equal(tt__cubin_read(&both, cubin.text, cubin.len, "bot"), TT_E_UNSUPPORTED);
        assert_non_null(strstr(tt_last_error(), "how many registers bot takes"));
        tt__str_free(&cubin);
        n++;
    }
    assert_true(n > 0);
}

/* Whatever the bytes: no reading beyond them, and an end. The copy is exactly as long as what is read. */
static void try_bytes(const char *bytes, size_t n) {
    tt__cubin_needs needs;
    char *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, n);
    tt_status status = tt__cubin_read(&needs, exact, n, "both");
    assert_true(status == TT_OK || status == TT_E_UNSUPPORTED);
    free(exact);
}

static void takes_any_bytes(void **state) {
    (void)state;
    tt__str cubin = {0};
    if (tt__nvrtc_compile(&cubin, "two.cu", source, "", 0, 90) != TT_OK)
        fail_msg("%s", tt_last_error());
    for (size_t n = 0; n < cubin.len; n += n < 100 ? 1 : 7)
        try_bytes(cubin.text, n);
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        char kept[4];
        seed = seed * 1664525u + 1013904223u;
        size_t at = (size_t)(((uint64_t)seed * (cubin.len - sizeof kept)) >> 32);
        memcpy(kept, cubin.text + at, sizeof kept);
        memset(cubin.text + at, i % 2 ? 0xff : (int)(seed & 0xff), 1 + (size_t)(i % 4));
        try_bytes(cubin.text, cubin.len);
        memcpy(cubin.text + at, kept, sizeof kept);
    }
    tt__str_free(&cubin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_needs),
        cmocka_unit_test(takes_any_bytes),
    };
    if (tt__nvrtc_open() != TT_OK) {
        print_message("%s\n", tt_last_error());
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
