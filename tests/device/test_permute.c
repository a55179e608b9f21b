/* tt_permute on a device: results byte by byte, plans that are shared, errors. And each template's
 * configurations, which the tuner verifies between guards, for shapes of all kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "api/problem.h"
#include "db/store.h"
#include "device.h"
#include "dispatch/context.h"
#include "gpu/device.h"
#include "kernel/load/builtin.h"
#include "kernel/space/space.h"

enum { BYTES = 1 << 16, RANK_MAX = 7 };

static CUdeviceptr src_at, dst_at;
static unsigned char src[BYTES], dst[BYTES], right[BYTES];

typedef struct tensor {
    int rank, elem_size, offset; /* of both addresses */
    int perm[RANK_MAX];
    int64_t dims[RANK_MAX], strides[RANK_MAX];
    bool strided, cut_lanes; /* cut_lanes: in some tiles of permute_tiled */
} tensor;

static tt_permutation asked(const tensor *t) {
    tt_permutation p = TT_INIT(tt_permutation);
    p.rank = t->rank;
    p.elem_size = t->elem_size;
    p.dims = t->dims;
    p.perm = t->perm;
    p.strides = t->strided ? t->strides : NULL;
    return p;
}

static const tensor tensors[] = {
    {.rank = 4, .elem_size = 2, .perm = {0, 2, 1, 3}, .dims = {2, 9, 4, 64}},
    {.rank = 4, .elem_size = 2, .offset = 2, .perm = {0, 2, 1, 3}, .dims = {2, 9, 4, 64}},
    {.rank = 3, .elem_size = 4, .perm = {2, 1, 0}, .dims = {35, 7, 33}},
    {.rank = 3, .elem_size = 8, .perm = {2, 1, 0}, .dims = {12, 8, 36}},
    {.rank = 3, .elem_size = 16, .perm = {2, 1, 0}, .dims = {9, 5, 7}},
    {.rank = 4, .elem_size = 1, .perm = {3, 1, 0, 2}, .dims = {16, 5, 6, 48}},
    {.rank = 4, .elem_size = 1, .offset = 1, .perm = {3, 1, 0, 2}, .dims = {16, 5, 6, 48}},
    {.rank = 4, .elem_size = 2, .perm = {1, 3, 0, 2}, .dims = {18, 5, 4, 39}},
    {.rank = 3, .elem_size = 4, .perm = {1, 0, 2}, .dims = {25, 17, 15}},
    {.rank = 3, .elem_size = 1, .offset = 1, .perm = {1, 0, 2}, .dims = {3, 211, 9}},
    {.rank = 3, .elem_size = 2, .perm = {2, 0, 1}, .dims = {5, 131, 7}},
    {.rank = 4, .elem_size = 1, .offset = 1, .perm = {1, 0, 3, 2}, .dims = {3, 14, 65, 3}},
    {.rank = 4, .elem_size = 2, .perm = {2, 0, 3, 1}, .dims = {7, 7, 3, 9}}, /* no whole vectors at the end */
    {.rank = 5, .elem_size = 1, .perm = {2, 4, 0, 1, 3}, .dims = {2, 5, 6, 39, 9}},
    {.rank = 6, .elem_size = 1, .offset = 1, .perm = {2, 3, 1, 5, 0, 4}, .dims = {3, 5, 4, 7, 13, 9}},
    {.rank = 4, .elem_size = 1, .perm = {1, 3, 0, 2}, .dims = {3, 5, 67, 39}, .cut_lanes = true},
    {.rank = 4,
     .elem_size = 1,
     .perm = {3, 0, 2, 1},
     .dims = {7, 9, 11, 5},
     .strides = {1100, 113, 6, 1},
     .strided = true},
    /* the tile that is chosen has parts of two dimensions, and none of them is in a row */
    {.rank = 4, .elem_size = 8, .perm = {1, 0, 3, 2}, .dims = {5, 17, 7, 2}},
    {.rank = 4, .elem_size = 4, .perm = {3, 1, 0, 2}, .dims = {27, 15, 2, 4}},
    {.rank = 7, .elem_size = 4, .perm = {6, 1, 4, 3, 0, 5, 2}, .dims = {2, 2, 2, 2, 2, 2, 2}},
    {.rank = 3,
     .elem_size = 4,
     .perm = {2, 1, 0},
     .dims = {9, 7, 33},
     .strides = {301, 43, 1},
     .strided = true},
    /* tiles of long runs, the last of which is smaller */
    {.rank = 4, .elem_size = 1, .perm = {1, 0, 3, 2}, .dims = {13, 6, 13, 48}},
    {.rank = 4, .elem_size = 4, .perm = {1, 0, 3, 2}, .dims = {8, 9, 37, 6}},
    {.rank = 2, .elem_size = 2, .perm = {0, 1}, .dims = {9, 33}, .strides = {40, 1}, .strided = true},
    {.rank = 3, .elem_size = 4, .perm = {0, 2, 1}, .dims = {3, 9, 33}},
    {.rank = 3, .elem_size = 4, .perm = {0, 1, 2}, .dims = {3, 9, 33}},
    {.rank = 3, .elem_size = 4, .offset = 4, .perm = {0, 1, 2}, .dims = {3, 9, 33}},
    {.rank = 1, .elem_size = 4, .offset = 4, .perm = {0}, .dims = {1}},
    {.rank = 1, .elem_size = 4, .offset = 8, .perm = {0}, .dims = {2}},
};
enum { TENSORS = sizeof tensors / sizeof *tensors, PERMUTED = TENSORS - 5 }; /* the others only move */

static int setup(void **state) {
    for (int i = 0; i < BYTES; i++)
        src[i] = (unsigned char)(i * 2654435761u >> 13);
    CU_OK(cu->cuMemAlloc(&src_at, BYTES + 16));
    CU_OK(cu->cuMemAlloc(&dst_at, BYTES + 16));
    return device_enter(state);
}

static int teardown(void **state) {
    CU_OK(cu->cuMemFree(src_at));
    CU_OK(cu->cuMemFree(dst_at));
    return device_leave(state);
}

/* Permutes `right` in plain loops; returns the bytes. */
static size_t naive(const tensor *t) {
    int64_t dense[RANK_MAX], n = 1;
    for (int k = t->rank; k-- > 0; n *= t->dims[k])
        dense[k] = n;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, from = 0;
        for (int k = t->rank; k-- > 0; rest /= t->dims[t->perm[k]])
            from += rest % t->dims[t->perm[k]] * (t->strided ? t->strides : dense)[t->perm[k]];
        memcpy(right + i * t->elem_size, src + from * t->elem_size, (size_t)t->elem_size);
    }
    return (size_t)(n * t->elem_size);
}

static void test_results(void **state) {
    (void)state;
    for (int i = 0; i < TENSORS; i++) {
        const tensor *t = &tensors[i];
        const CUdeviceptr to = dst_at + (unsigned)t->offset, from = src_at + (unsigned)t->offset;
        tt_permutation p = asked(t);
        memset(right, 0xa5, BYTES);
        CU_OK(device_put(from, src, BYTES));
        CU_OK(device_put(to, right, BYTES));
        naive(t);
        for (int again = 0; again < 2; again++) { /* the second call finds the plan */
            if (tt_permute(device_ctx, &p, to, from, NULL) != TT_OK)
                fail_msg("tensor %d: %s", i, tt_last_error());
            CU_OK(cu->cuCtxSynchronize());
            CU_OK(cu->cuMemcpyDtoH(dst, to, BYTES));
            assert_memory_equal(dst, right, BYTES);
        }
    }
}

/* Rows so far apart that their distance in bytes needs more than 31 bits, and that in elements does not. The
 * template is the winner for rows that are nearer. */
static void test_far_rows(void **state) {
    (void)state;
    enum { LEFT = 3, ROWS = 5, COLS = 7, BLOCK = ROWS * COLS * 2 };
    static const char *const only[] = {"permute_flat"};
    const tensor t = {.rank = 3, .elem_size = 2, .perm = {2, 1, 0}, .dims = {LEFT, ROWS, COLS}};
    int64_t strides[] = {1000003, COLS, 1};
    tt_permutation p = asked(&t);
    tt_problem problem = TT_INIT(tt_problem);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_report *report = NULL;
    tt_plan *plan;
    CUdeviceptr far_at;
    if (!device_may_take_long())
        skip();
    p.strides = strides;
    problem.permutation = &p;
    opts.only = only;
    opts.n_only = opts.max_trials = 1;
    assert_int_equal(tt_tune(&report, device_ctx, &problem, 1, &opts), TT_OK);
    tt_report_free(&report);
    strides[0] = (INT64_C(1) << 29) + 3;
    assert_int_equal(tt_plan_create(&plan, device_ctx, &problem), TT_OK);
    assert_string_equal(tt_plan_choice(plan)->kernel, only[0]);
    tt_plan_free(&plan);
    setenv("HOSTCUDA_MEMORY", "3000000000", 1); /* of the CPU stand-in */
    CU_OK(cu->cuMemAlloc(&far_at, (size_t)strides[0] * (LEFT - 1) * 2 + BLOCK));
    for (int i = 0; i < LEFT; i++)
        CU_OK(device_put(far_at + (CUdeviceptr)(i * strides[0] * 2), src + (ptrdiff_t)i * BLOCK, BLOCK));
    const size_t bytes = naive(&t);
    assert_int_equal(tt_permute(device_ctx, &p, dst_at, far_at, NULL), TT_OK);
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(dst, dst_at, bytes));
    assert_memory_equal(dst, right, bytes);
    CU_OK(cu->cuMemFree(far_at));
    unsetenv("HOSTCUDA_MEMORY");
}

static void test_errors(void **state) {
    (void)state;
    tt_permutation p = asked(&tensors[2]), none = {.size = sizeof p};
    tt_problem problem = TT_INIT(tt_problem);
    tt_plan *plan;
    assert_int_equal(tt_permute(device_ctx, &none, dst_at, src_at, NULL), TT_E_INVALID);
    assert_int_equal(tt_permute(NULL, &p, dst_at, src_at, NULL), TT_E_INVALID);
    assert_int_equal(tt_permute(device_ctx, &p, dst_at, src_at + 2, NULL), TT_E_INVALID);
    assert_int_equal(tt_permute(device_ctx, &p, src_at, src_at, NULL), TT_E_INVALID);
    assert_int_equal(tt_permute(device_ctx, &p, dst_at, 0, NULL), TT_E_INVALID);
    assert_string_equal(tt_last_error(), "src is 0x0: it must be a device address");
    problem.permutation = &p;
    assert_int_equal(tt_transpose(device_ctx, &problem, dst_at, src_at, NULL), TT_E_INVALID);
    problem.rows = 4;
    assert_int_equal(tt_plan_create(&plan, device_ctx, &problem), TT_E_INVALID);
    problem.rows = 0;
    assert_int_equal(tt_plan_create(&plan, device_ctx, &problem), TT_OK);
    assert_string_equal(tt_plan_choice(plan)->kernel, "permute_any_tiled");
    tt_plan_free(&plan);
}

/* A field out of range, cut to the bits of its key, would find the plan of another problem. */
static void test_keys(void **state) {
    (void)state;
    const tt_permutation p = asked(&tensors[2]);
    tt_permutation wrong = p;
    assert_int_equal(tt_permute(device_ctx, &p, dst_at, src_at, NULL), TT_OK);
    wrong.elem_size = 65536 + p.elem_size;
    assert_int_equal(tt_permute(device_ctx, &wrong, dst_at, src_at, NULL), TT_E_INVALID);
    assert_string_equal(tt_last_error(), "elem_size is 65540 bytes: it must be 1, 2, 4, 8 or 16");
    wrong = p;
    static const int odd[] = {-268435440, -1, 3, 5, 12, 17, 32, 1 << 20};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char says[80];
        tt_problem problem = TT_INIT(tt_problem);
        tt_plan *plan;
        wrong.align = odd[i];
        snprintf(says, sizeof says, "align is %d bytes: it must be 1, 2, 4, 8, 16, or 0 for the default",
                 odd[i]);
        assert_int_equal(tt_permute(device_ctx, &wrong, dst_at, src_at, NULL), TT_E_INVALID);
        assert_string_equal(tt_last_error(), says);
        problem.permutation = &wrong;
        assert_int_equal(tt_plan_create(&plan, device_ctx, &problem), TT_E_INVALID);
        assert_string_equal(tt_last_error(), says);
    }
}

static void test_too_many_dimensions(void **state) {
    (void)state;
    enum { MANY = 17 };
    int turned[MANY];
    int64_t twos[MANY];
    for (int i = 0; i < MANY; i++) {
        turned[i] = MANY - 1 - i;
        twos[i] = 2;
    }
    tt_permutation p = {.size = sizeof p, .rank = MANY, .dims = twos, .perm = turned};
    assert_int_equal(tt_permute(device_ctx, &p, dst_at, src_at, NULL), TT_E_UNSUPPORTED);
    assert_string_equal(tt_last_error(),
                        "17 dimensions remain after merging, and 16 is the limit: permute in two steps");
}

/* The tuner verifies each configuration bit for bit, with guards around the arrays. One call tunes all
 * tensors, because the search of copies compiles the same ones for each of them. */
static void tune(const int *numbers, int n, const char *const *only, size_t n_only, int trials) {
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_permutation permutations[TENSORS];
    tt_problem problems[TENSORS];
    tt_report *report = NULL;
    opts.only = only;
    opts.n_only = n_only;
    opts.max_trials = (size_t)trials;
    opts.strategy = "random";
    for (int i = 0; i < n; i++) {
        permutations[i] = asked(&tensors[numbers[i]]);
        permutations[i].align = tensors[numbers[i]].offset;
        problems[i] = (tt_problem)TT_INIT(tt_problem);
        problems[i].permutation = &permutations[i];
    }
    if (tt_tune(&report, device_ctx, problems, (size_t)n, &opts) != TT_OK)
        fail_msg("%s", tt_last_error());
    for (int i = 0; i < n; i++)
        if (report->results[i].failed)
            fail_msg("tensor %d: %zu of %zu configurations failed", numbers[i], report->results[i].failed,
                     report->results[i].trials);
    tt_report_free(&report);
}

static void test_configurations(void **state) {
    (void)state;
    static const char *const only[] = {"permute_tiled",     "permute_rows",     "copy_linear",
                                       "permute_shifted",   "permute_flat",     "permute_any_rows",
                                       "permute_any_tiled", "permute_any_small"};
    const bool all = device_may_take_long();
    int numbers[TENSORS], n = 0;
    for (int i = 0; i < PERMUTED; i += all ? 1 : 2)
        numbers[n++] = i;
    tune(numbers, n, only, sizeof only / sizeof *only, all ? 48 : 5);
}

/* Tiles that lie in the order of the destination, and are cut there, and lanes that are cut. Without TT_LONG
 * only of tensors that test_configurations leaves out then. */
static void test_runs(void **state) {
    (void)state;
    static const char *const only[] = {"permute_tiled"};
    const int less = device_may_take_long() ? 1 : 3;
    int cut[TENSORS], in_order[TENSORS], n_cut = 0, n_in_order = 0;
    for (int i = 5; i < PERMUTED; i++)
        if (tensors[i].cut_lanes)
            cut[n_cut++] = i;
        else if (i % 3 == 2 && (less == 1 || i % 2 == 1))
            in_order[n_in_order++] = i;
    tune(cut, n_cut, only, 1, 60 / less);
    tune(in_order, n_in_order, only, 1, 12 / less);
}

/* ---- What lies outside is not even read ---------------------------------------------------------------- */

enum { PAGE = 4096, GUARDED = BYTES / PAGE }; /* bytes; pages between two that no one may touch */

typedef struct guarded {
    CUdeviceptr at;
    char *pages;
} guarded;

static void protect(const guarded *g, int access) {
    assert_int_equal(mprotect(g->pages, PAGE, access), 0);
    assert_int_equal(mprotect(g->pages + (1 + GUARDED) * PAGE, PAGE, access), 0);
}

static guarded guarded_open(void) {
    guarded g;
    CU_OK(cu->cuMemAlloc(&g.at, (GUARDED + 3) * PAGE));
    g.pages = (char *)(uintptr_t)((g.at + PAGE - 1) / PAGE * PAGE);
    return g;
}

/* A tensor behind the first guard, or before the second. */
static CUdeviceptr place(const guarded *g, size_t bytes, bool at_end) {
    return (CUdeviceptr)(uintptr_t)(g->pages + (at_end ? (1 + GUARDED) * PAGE - bytes : PAGE));
}

/* Makes the template the winner of the tensor, in a store with no other. False: it is not for the tensor,
 * which may be no more than a batch of transposes. */
static bool elect(int i, const char *kernel) {
    const tt_permutation p = asked(&tensors[i]);
    const tt__env env = {.driver = "13.0", .nvrtc = "13.0", .library = TT__METHOD};
    tt_problem problem = TT_INIT(tt_problem);
    tt__question question;
    tt__space space = {0};
    tt__gpu gpu;
    tt_plan *plan;
    int64_t gpu_id, run, problem_id, config;
    device_leave(NULL);
    assert_int_equal(device_enter(NULL), 0);
    problem.permutation = &p;
    OK(tt__question_of(&question, device_ctx, &problem));
    const tt__template *t = tt__template_set_find(question.templates, kernel);
    OK(tt__template_read(&t));
    OK(tt__device_current(&gpu));
    OK(tt__space_add(&space, t, &gpu, &question.problem));
    const bool is_for = space.n > 0;
    if (is_for) {
        OK(tt__store_gpu(device_ctx->store, &gpu, &gpu_id));
        OK(tt__store_run_begin(device_ctx->store, gpu_id, &env, "measured", &run));
        OK(tt__store_config(device_ctx->store, kernel, t->op, t->hash, space.items[0].config, &config));
        OK(tt__store_problem(device_ctx->store, &question.problem, &problem_id));
        OK(tt__store_winner_put(device_ctx->store, run, problem_id, config, &(tt__winner){.time_us = 2}));
        OK(tt_plan_create(&plan, device_ctx, &problem));
        assert_string_equal(tt_plan_choice(plan)->kernel, kernel);
        tt_plan_free(&plan);
    }
    tt__space_free(&space);
    return is_for;
}

static void permute_between_guards(int i, const guarded *from, const guarded *to) {
    const tensor *t = &tensors[i];
    tt_permutation p = asked(t);
    const size_t bytes = naive(t);
    for (int at_end = 0; at_end < 4; at_end++) {
        const CUdeviceptr x = place(from, bytes, at_end & 1), y = place(to, bytes, at_end >> 1);
        CU_OK(device_put(x, src, bytes));
        protect(from, PROT_NONE);
        protect(to, PROT_NONE);
        const tt_status status = tt_permute(device_ctx, &p, y, x, NULL);
        CU_OK(cu->cuCtxSynchronize());
        protect(from, PROT_READ | PROT_WRITE);
        protect(to, PROT_READ | PROT_WRITE);
        assert_int_equal(status, TT_OK);
        CU_OK(cu->cuMemcpyDtoH(dst, y, bytes));
        assert_memory_equal(dst, right, bytes);
    }
}

/* On the CPU stand-in, whose memory is the process's. With TT_LONG of all tensors. */
static void test_guards(void **state) {
    (void)state;
    static const char *const kernels[] = {"permute_shifted", "permute_tiled", "permute_rows", "permute_flat"};
    if (!device_is_host())
        skip();
    guarded from = guarded_open(), to = guarded_open();
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        int n = 0;
        for (int i = 0; i < PERMUTED; i += device_may_take_long() ? 1 : 3)
            if (!tensors[i].strided && elect(i, kernels[k])) {
                permute_between_guards(i, &from, &to);
                n++;
            }
        print_message("%s: %d tensors\n", kernels[k], n);
        assert_true(n >= 2);
    }
    CU_OK(cu->cuMemFree(from.at));
    CU_OK(cu->cuMemFree(to.at));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_errors), /* with defaults, so before any winner is stored */
        cmocka_unit_test(test_keys),   /* as above */
        cmocka_unit_test(test_far_rows),
        cmocka_unit_test(test_too_many_dimensions),
        cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_guards),
    };
    setenv("HOSTCUDA_L2", "1000", 1); /* the stand-in's: most tensors are so large that lines are kept */
    return device_open() ? cmocka_run_group_tests(tests, setup, teardown) : device_missing();
}
