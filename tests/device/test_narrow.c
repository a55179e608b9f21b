/*
 * Narrow matrices that nobody has tuned: kernels that get sizes as arguments, of all widths up to 16.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device.h"

enum { ROOM = 1 << 20, LENGTH = 333, BATCH = 3 };

/* Any byte of the source is another than those near it. */
static unsigned char byte_at(size_t i) {
    return (unsigned char)(i * 7 + i / 251);
}

static void is_transposed(const unsigned char *dst, const tt_problem *p, int64_t lds) {
    const size_t e = (size_t)p->elem_size;
    const int64_t stride = p->src_stride ? p->src_stride : p->rows * lds;
    for (int64_t b = 0, at = 0; b < (p->batch ? p->batch : 1); b++)
        for (int64_t c = 0; c < p->cols; c++)
            for (int64_t r = 0; r < p->rows; r++, at++)
                for (size_t k = 0; k < e; k++)
                    if (dst[e * (size_t)at + k] != byte_at(e * (size_t)(b * stride + r * lds + c) + k))
                        fail_msg("%lld x %lld of %d bytes, lds %lld: batch %lld, row %lld, column %lld",
                                 (long long)p->rows, (long long)p->cols, p->elem_size, (long long)lds,
                                 (long long)b, (long long)r, (long long)c);
}

/* Each width, in both directions: one matrix, and a batch with gaps in the source. Bytes behind dst stay. */
static void narrow(CUdeviceptr to, CUdeviceptr from, int elem_size, int64_t width, int *n_libraries) {
    static unsigned char dst[ROOM];
    for (int way = 0; way < 4; way++) {
        const bool few_rows = way & 1, batch = way & 2;
        const int64_t length = LENGTH / (batch ? BATCH : 1) + width % 3;
        tt_problem p = TT_INIT(tt_problem);
        p.rows = few_rows ? width : length;
        p.cols = few_rows ? length : width;
        p.elem_size = elem_size;
        p.lds = p.cols + (batch ? 1 + width % 5 : 0);
        p.batch = batch ? BATCH : 0;
        p.src_stride = batch ? p.rows * p.lds + 3 : 0;
        p.align = batch ? elem_size : 0;
        const size_t bytes = (size_t)(p.rows * p.cols * (batch ? BATCH : 1) * elem_size);
        const long before = device_objects();
        memset(dst, 0x5a, bytes + 16);
        CU_OK(device_put(to, dst, bytes + 16));
        OK(tt_transpose(device_ctx, &p, to, from, NULL));
        CU_OK(cu->cuCtxSynchronize());
        CU_OK(cu->cuMemcpyDtoH(dst, to, bytes + 16));
        is_transposed(dst, &p, p.lds);
        for (size_t i = 0; i < 16; i++)
            assert_int_equal(dst[bytes + i], 0x5a);
        *n_libraries += device_objects() > before;
    }
}

static void plan_has(int64_t rows, int64_t cols, int elem_size, bool in_graph, const char *kernel) {
    tt_problem p = TT_INIT(tt_problem);
    tt_plan *plan;
    p.rows = rows;
    p.cols = cols;
    p.elem_size = elem_size;
    p.in_graph = in_graph;
    OK(tt_plan_create(&plan, device_ctx, &p));
    assert_memory_equal(tt_plan_choice(plan)->kernel, kernel, strlen(kernel));
    tt_plan_free(&plan);
}

/* Small elements are moved too slowly without the width, unless the launch is short. Code that is there is
 * used. */
static void test_bounds(void **state) {
    (void)state;
    plan_has(5, 3000000, 4, false, "permute_any_");
    plan_has(5, 3000000, 4, true, "permute_any_");
    plan_has(11, 380000, 1, false, "permute_any_");
    plan_has(11, 390000, 1, false, "transpose_");
    plan_has(11, 380000, 1, false, "transpose_");
}

/* A lock file's default is the same in all processes, whatever is loaded. */
static void test_lock(void **state) {
    (void)state;
    char folder[] = "/tmp/tt-narrow-XXXXXX", path[64];
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_problem p = TT_INIT(tt_problem);
    tt_plan *plan;
    tt_ctx *ctx;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/app.lock", folder);
    opts.db_path = path;
    OK(tt_open(&ctx, &opts));
    tt_close(&ctx);
    opts.db_path = NULL;
    opts.lock_file = path;
    opts.lock_default = 1;
    OK(tt_open(&ctx, &opts));
    p.rows = 5;
    p.cols = 3000000;
    OK(tt_plan_create(&plan, ctx, &p));
    assert_memory_equal(tt_plan_choice(plan)->kernel, "transpose_", strlen("transpose_"));
    tt_plan_free(&plan);
    tt_close(&ctx);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A width is an argument: all of them share a few kernels. */
static void test_all_widths(void **state) {
    enum { WIDTH_MAX = 16, KERNELS_MAX = 8 };
    static unsigned char src[ROOM];
    tt_problem p = TT_INIT(tt_problem);
    CUdeviceptr from, to;
    tt_plan *plan;
    (void)state;
    for (size_t i = 0; i < ROOM; i++)
        src[i] = byte_at(i);
    CU_OK(cu->cuMemAlloc(&from, ROOM));
    CU_OK(cu->cuMemAlloc(&to, ROOM));
    CU_OK(device_put(from, src, ROOM));
    for (int elem_size = 1; elem_size <= 16; elem_size *= 2) {
        int n_libraries = 0;
        for (int64_t width = 1; width <= WIDTH_MAX; width++)
            narrow(to, from, elem_size, width, &n_libraries);
        if (n_libraries > KERNELS_MAX)
            fail_msg("%d bytes: %d kernels were loaded one by one", elem_size, n_libraries);
    }
    p.rows = 7;
    p.cols = 100000;
    p.elem_size = 2;
    OK(tt_plan_create(&plan, device_ctx, &p));
    const tt_choice *choice = tt_plan_choice(plan);
    assert_memory_equal(choice->kernel, "permute_any_", strlen("permute_any_"));
    assert_string_equal(choice->why, "nothing was tuned for this: run \"tune --op transpose --problem "
                                     "rows=7,cols=100000,elem_size=2\"");
    tt_plan_free(&plan);
    CU_OK(cu->cuMemFree(from));
    CU_OK(cu->cuMemFree(to));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_widths), cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_lock)};
    return device_open() ? cmocka_run_group_tests(tests, device_enter, device_leave) : device_missing();
}
