/*
 * Kernels that come with the library. This program is linked with some that tools/cubins.c has made for
 * compute capability 9.0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "api/problem.h"
#include "device.h"
#include "dispatch/ladder.h"
#include "dispatch/store_layers.h"

static const tt__gpu h200 = {.name = "NVIDIA H200",
                             .cc = 90,
                             .sm_count = 132,
                             .memory_bytes = 150109880320,
                             .max_threads_per_block = 1024,
                             .shared_per_block = 232448};

static bool is_elf(const char *bytes, size_t n) {
    return n > 4 && memcmp(bytes, "\177ELF", 4) == 0;
}

static void unpacks_all_of_them(void **state) {
    (void)state;
    assert_true(tt__n_shipped_cubins >= 10);
    for (size_t i = 0; i < tt__n_shipped_cubins; i++) {
        const tt__shipped_cubin *s = &tt__shipped_cubins[i];
        uLongf n = s->bytes;
        char *cubin = malloc(n);
        assert_non_null(cubin);
        assert_int_equal(uncompress((Bytef *)cubin, &n, tt__shipped_code + s->at, s->packed_bytes), Z_OK);
        assert_int_equal(n, s->bytes);
        assert_true(is_elf(cubin, n));
        assert_int_equal(s->cc, 90);
        free(cubin);
    }
}

/* What an unknown problem gets is found by its template, build, element size and compute capability. */
static void finds_the_kernel_of_an_unknown_problem(void **state) {
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    size_t n = 0, all = 0;
    (void)state;
    opts.db_path = ":memory:";
    OK(tt_open(&ctx, &opts));
    for (int64_t dim = 40; dim < 240; dim++) {
        const int64_t dims[] = {dim, 48, dim + 1};
        const int perm[] = {2, 1, 0};
        tt_permutation p = {
            .size = sizeof p, .rank = 3, .elem_size = 1 << dim % 5, .dims = dims, .perm = perm};
        tt__problem problem;
        tt__candidate c;
        tt_choice choice = TT_INIT(tt_choice);
        tt__str cubin = {0};
        OK(tt__permutation_problem(&problem, &p, 16));
        if (strcmp(problem.op, "permute") != 0)
            continue;
        OK(tt__ladder(ctx, &ctx->templates, &h200, &problem, &choice, &c));
        OK(tt__shipped_find(&h200, &problem, &c.configuration, &cubin));
        all++;
        n += cubin.len > 0;
        assert_true(cubin.len == 0 || is_elf(cubin.text, cubin.len));
        tt__str_free(&cubin);
        tt__gpu other = h200;
        other.cc = 89;
        OK(tt__shipped_find(&other, &problem, &c.configuration, &cubin));
        assert_int_equal(cubin.len, 0);
    }
    tt_close(&ctx);
    assert_true(all > 0 && n > 0);
}

/* The stand-in's driver refuses them, as one does that is older than the NVRTC of the build. */
static void compiles_what_the_driver_refuses(void **state) {
    enum { ROWS = 40, BYTES = ROWS * 48 * (ROWS + 1) * 16 };
    static unsigned char src[BYTES], dst[BYTES];
    const int64_t dims[] = {ROWS, 48, ROWS + 1};
    const int perm[] = {2, 1, 0};
    tt_permutation p = {.size = sizeof p, .rank = 3, .elem_size = 16, .dims = dims, .perm = perm};
    CUdeviceptr from, to;
    (void)state;
    if (!device_open())
        skip();
    device_enter(NULL);
    for (size_t i = 0; i < BYTES; i++)
        src[i] = (unsigned char)(i * 7 + i / 251);
    CU_OK(cu->cuMemAlloc(&from, BYTES));
    CU_OK(cu->cuMemAlloc(&to, BYTES));
    CU_OK(device_put(from, src, BYTES));
    OK(tt_permute(device_ctx, &p, to, from, NULL));
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(dst, to, BYTES));
    for (int64_t i = 0, at = 0; i < ROWS + 1; i++)
        for (int64_t j = 0; j < 48; j++)
            for (int64_t k = 0; k < ROWS; k++, at++)
                assert_memory_equal(dst + 16 * at, src + 16 * ((k * 48 + j) * (ROWS + 1) + i), 16);
    CU_OK(cu->cuMemFree(from));
    CU_OK(cu->cuMemFree(to));
    device_leave(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpacks_all_of_them),
        cmocka_unit_test(finds_the_kernel_of_an_unknown_problem),
        cmocka_unit_test(compiles_what_the_driver_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
