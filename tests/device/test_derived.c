/*
 * Values that a template derives from the problem, from the search to a launch. The winner of a shape without
 * edges is compiled without code for them. It answers a near shape with edges, and is compiled with that code
 * there.
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

/* Without EDGES it writes whole tiles, wherever the matrix ends. */
static const char transposes[] =
    "//@ kernel   whole_tiles\n//@ op       transpose\n//@ param    TILE 4 8\n//@ runtime  R 1 2\n"
    "//@ derived  EDGES rows % TILE > 0 OR cols % TILE > 0\n//@ derived  SKEW lds - cols\n"
    "//@ where    elem_size = 4\n//@ block    TILE, TILE\n//@ grid     ceil_div(cols, TILE), ceil_div(rows, "
    "TILE)\n"
    "//@ args     dst, src, i64 rows, i64 cols, i64 ldd\n//@ default  TILE=4 R=1\n"
    "extern \"C\" __global__ void whole_tiles(int *dst, const int *src, long long rows, long long cols,\n"
    "                                       long long ldd) {\n"
    "    const long long r = (long long)blockIdx.y * TILE + threadIdx.y, c = (long long)blockIdx.x * TILE + "
    "threadIdx.x;\n"
    "    if (!EDGES || (r < rows && c < cols))\n"
    "        dst[c * ldd + r] = src[r * (cols + SKEW) + c];\n"
    "}\n";

/* The same, and its reference is compiled with derived values, too. */
static const char counts[] =
    "//@ kernel    counts\n//@ problem   n 256\n//@ buffer    y i32 n out\n//@ param     THREADS 32 64\n"
    "//@ derived   EDGES n % THREADS > 0\n//@ derived   COUNT n\n//@ block     THREADS\n"
    "//@ grid      ceil_div(n, THREADS)\n//@ args      y\n//@ default   THREADS=64\n"
    "//@ reference counts_plainly\n//@ block     1\n//@ grid      1\n//@ args      y\n"
    "extern \"C\" __global__ void counts(int *y) {\n"
    "    const int i = blockIdx.x * THREADS + threadIdx.x;\n"
    "    if (!EDGES || i < COUNT)\n        y[i] = 3 * i;\n}\n"
    "extern \"C\" __global__ void counts_plainly(int *y) {\n"
    "    for (int i = 0; i < COUNT; i++)\n        y[i] = 3 * i;\n}\n";

static char folder[] = "/tmp/tiletune-derived-XXXXXX", path[128];
static const char *const paths[] = {path};
static tt_ctx *ctx;

static int setup(void **state) {
    (void)state;
    char db[128];
    tt_open_opts opts = TT_INIT(tt_open_opts);
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/whole_tiles.cu", folder);
    snprintf(db, sizeof db, "%s/derived.db", folder);
    FILE *f = fopen(path, "w");
    if (!f || fputs(transposes, f) < 0 || fclose(f) != 0)
        return -1;
    opts.db_path = db;
    opts.templates = paths;
    opts.n_templates = 1;
    return tt_open(&ctx, &opts) == TT_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    tt_close(&ctx);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static tt_problem problem_of(int64_t rows, int64_t cols, int64_t lds) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = rows;
    p.cols = cols;
    p.lds = lds;
    p.elem_size = 4;
    return p;
}

enum { SIDE = 80, GUARD = 0x5a };

/* Transposes by a plan. Bytes after the result must stay unchanged. */
static void check_plan(const tt_plan *plan, const tt_problem *p) {
    enum { BYTES = SIDE * SIDE * 4 };
    static unsigned char src[BYTES], dst[BYTES];
    const int64_t lds = p->lds ? p->lds : p->cols;
    CUdeviceptr d_src, d_dst;
    for (size_t i = 0; i < BYTES; i++)
        src[i] = (unsigned char)(i * 2654435761u >> 13);
    memset(dst, GUARD, BYTES);
    CU_OK(cu->cuMemAlloc(&d_src, BYTES));
    CU_OK(cu->cuMemAlloc(&d_dst, BYTES));
    CU_OK(device_put(d_src, src, BYTES));
    CU_OK(device_put(d_dst, dst, BYTES));
    OK(tt_plan_launch(plan, d_dst, d_src, NULL));
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(dst, d_dst, BYTES));
    assert_true(transposed(dst, src, p->rows, p->cols, lds, p->rows, 4));
    for (size_t i = (size_t)(p->rows * p->cols) * 4; i < BYTES; i++)
        assert_int_equal(dst[i], GUARD);
    CU_OK(cu->cuMemFree(d_src));
    CU_OK(cu->cuMemFree(d_dst));
}

static void test_near_shapes_have_their_own_values(void **state) {
    (void)state;
    static const char *const only[] = {"whole_tiles"};
    const tt_problem tuned = problem_of(64, 64, 0);
    const tt_problem asked[] = {tuned, problem_of(66, 61, 0), problem_of(61, 66, 70), problem_of(72, 64, 0),
                                problem_of(66, 61, 0)};
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_report *report;
    opts.jobs = 2;
    opts.templates = paths;
    opts.n_templates = 1;
    opts.only = only;
    opts.n_only = 1;
    OK(tt_tune(&report, ctx, &tuned, 1, &opts));
    assert_int_equal(tt_report_result(report, 0)->failed, 0);
    assert_int_equal(tt_report_result(report, 0)->trials, 4);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        tt_plan *plan;
        OK(tt_plan_create(&plan, ctx, &asked[i]));
        const tt_choice *c = tt_plan_choice(plan);
        /* A rule comes with the library for some GPUs. Where its kernel has sizes as constants, a
         * permutation's runs. */
        const bool by_rule = c->match == TT_MATCH_RULE ||
                             (c->match == TT_MATCH_DEFAULT && strncmp(c->kernel, "permute_any", 11) == 0);
        if (device_is_host() || !by_rule) {
            assert_int_equal(c->match, i ? TT_MATCH_NEAREST : TT_MATCH_EXACT);
            assert_string_equal(c->kernel, "whole_tiles");
            assert_string_equal(c->config, tt_report_result(report, 0)->config);
        } else {
            assert_int_not_equal(i, 0);
        }
        check_plan(plan, &asked[i]);
        tt_plan_free(&plan);
    }
    tt_report_free(&report);
}

static void test_own_kernels_derive(void **state) {
    (void)state;
    enum { MOST = 512 };
    static const char *const problems[] = {"n=256", "n=250"};
    static const struct {
        const char *problem;
        int n;
        tt_match match;
    } asked[] = {{"n=256", 256, TT_MATCH_EXACT},
                 {"n=250", 250, TT_MATCH_EXACT},
                 {"n=257", 257, TT_MATCH_NEAREST},
                 {"n=320", 320, TT_MATCH_NEAREST}};
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_kernel *k;
    tt_report *report;
    opts.jobs = 2;
    OK(tt_kernel_open(&k, ctx, "counts.cu", counts));
    OK(kernel_tune(&report, k, problems, 2, &opts));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tt_report_result(report, i)->failed, 0);
        assert_int_equal(tt_report_result(report, i)->trials, 2);
    }
    tt_report_free(&report);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int y[MOST];
        CUdeviceptr d_y;
        tt_plan *plan;
        memset(y, GUARD, sizeof y);
        CU_OK(cu->cuMemAlloc(&d_y, sizeof y));
        CU_OK(device_put(d_y, y, sizeof y));
        OK(kernel_plan(&plan, k, asked[i].problem));
        assert_int_equal(tt_plan_choice(plan)->match, asked[i].match);
        OK(tt_plan_launch_args(plan, (void *[]){&d_y}, 1, NULL));
        CU_OK(cu->cuCtxSynchronize());
        CU_OK(cu->cuMemcpyDtoH(y, d_y, sizeof y));
        for (int n = 0; n < MOST; n++)
            assert_int_equal(y[n], n < asked[i].n ? 3 * n : GUARD * 0x01010101);
        tt_plan_free(&plan);
        CU_OK(cu->cuMemFree(d_y));
    }
    tt_kernel_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_shapes_have_their_own_values),
        cmocka_unit_test(test_own_kernels_derive),
    };
    return device_open() ? cmocka_run_group_tests(tests, setup, teardown) : device_missing();
}
