/*
 * Rows and matrices so far apart that their distances, or small multiples of them, do not fit 32 bits. Tries
 * a few configurations of each transposing template on the CPU stand-in. Only touched parts of the address
 * space take memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "bench/matrix.h"
#include "code/nvrtc.h"
#include "device/device.h"
#include "gpu/device.h"
#include "gpu/kernel.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"

enum { EXIT_SKIPPED = 77, EACH = 2, EACH_LONG = 3, MARGIN = 64 };

#define BITS(n) (INT64_C(1) << (n))
static const tt_problem shapes[] = {
    {.rows = 16, .cols = 16, .lds = BITS(30), .elem_size = 4},
    {.rows = 16, .cols = 16, .ldd = BITS(30), .elem_size = 4},
    {.rows = 37, .cols = 21, .lds = BITS(32) - 16, .elem_size = 4},
    {.rows = 21, .cols = 37, .ldd = BITS(32) - 1, .elem_size = 4},
    {.rows = 21, .cols = 18, .lds = BITS(32) + 1, .ldd = BITS(32), .elem_size = 4},
    {.rows = 9, .cols = 21, .lds = BITS(32) - 1, .ldd = BITS(31) + 1, .elem_size = 8},
    {.rows = 21, .cols = 9, .lds = BITS(31) + 2, .ldd = BITS(32) + 2, .elem_size = 8},
    {.rows = 5, .cols = 6, .lds = BITS(32) - 1, .ldd = BITS(32) - 1, .elem_size = 16},
    {.rows = 19, .cols = 17, .elem_size = 4, .batch = 3, .src_stride = BITS(33), .dst_stride = BITS(33) + 1},
    {.rows = 70, .cols = 150, .lds = BITS(32) + 16, .ldd = BITS(31) + 16, .elem_size = 1},
    {.rows = 70, .cols = 150, .lds = BITS(31) + 5, .ldd = BITS(32) + 3, .elem_size = 1},
    {.rows = 150, .cols = 70, .lds = BITS(31) + 4, .ldd = BITS(31) + 20, .elem_size = 2},
    {.rows = 40, .cols = 40, .lds = BITS(31) + 4, .elem_size = 4, .in_place = 1},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static const char *const ops[2] = {"transpose", "transpose_in_place"};

/* Zeros until written to. NULL where Linux gives no more than there is. */
static unsigned char *reserve(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static unsigned char value(int64_t b, int64_t r, int64_t c, size_t k) {
    return (unsigned char)((((uint64_t)b * 1000 + (uint64_t)r) * 1000 + (uint64_t)c * 16 + k + 1) *
                               2654435761u >>
                           13);
}

static void fill(unsigned char *src, const tt_problem *p) {
    size_t e = (size_t)p->elem_size;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t r = 0; r < p->rows; r++)
            for (int64_t c = 0; c < p->cols; c++)
                for (size_t k = 0; k < e; k++)
                    src[(size_t)(b * p->src_stride + r * p->lds + c) * e + k] = value(b, r, c, k);
}

/* Each row, and that what lies beside it is still zero. */
static bool is_right(const unsigned char *dst, const tt_problem *p) {
    size_t e = (size_t)p->elem_size;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t c = 0; c < p->cols; c++) {
            const unsigned char *row = dst + (size_t)(b * p->dst_stride + c * p->ldd) * e;
            for (int64_t r = 0; r < p->rows; r++)
                for (size_t k = 0; k < e; k++)
                    if (row[(size_t)r * e + k] != value(b, r, c, k))
                        return false;
            for (size_t k = 0; k < MARGIN && p->ldd > p->rows + MARGIN; k++)
                if (row[(size_t)p->rows * e + k])
                    return false;
        }
    return true;
}

static void check(const tt__configuration *c, const tt__problem *problem, const tt_problem *p,
                  const tt__gpu *gpu) {
    size_t n_src = (size_t)bench_src_bytes(p), n_dst = (size_t)bench_dst_bytes(p);
    unsigned char *dst = reserve(n_dst + MARGIN), *src = p->in_place ? dst : reserve(n_src);
    tt__kernel kernel;
    tt__launch launch;
    tt__str options, cubin = {0};
    int n;
    if (!dst || !src)
        skip();
    fill(src, p);
    OK(tt__config_options(&options, &n, c, problem));
    OK(tt__space_launch(&launch, c, gpu, problem));
    OK(tt__nvrtc_compile(&cubin, c->t->path, c->t->source, options.text, n, gpu->cc));
    OK(tt__kernel_load(&kernel, cu, cubin.text, cubin.len, &c->t->symbols, &launch));
    CU_OK(tt__kernel_launch(&kernel, cu, &launch, (void *[]){p->in_place ? &dst : &src, &dst}, NULL));
    CU_OK(cu->cuCtxSynchronize());
    if (!is_right(dst, p))
        fail_msg("%s %s is wrong for %lld x %lld of %d bytes, ld %lld and %lld", c->t->kernel, c->config,
                 (long long)p->rows, (long long)p->cols, p->elem_size, (long long)p->lds, (long long)p->ldd);
    tt__kernel_unload(&kernel, cu);
    tt__str_free(&options);
    tt__str_free(&cubin);
    munmap(dst, n_dst + MARGIN);
    if (src != dst)
        munmap(src, n_src);
}

static void far_rows_are_found(void **state) {
    (void)state;
    tt__template_set set;
    tt__gpu gpu;
    assert_true(device_open());
    const size_t each = device_may_take_long() ? EACH_LONG : EACH;
    OK(tt__device_gpu(&gpu, 0));
    OK(tt__template_set_open(&set, NULL, 0));
    for (size_t s = 0; s < N_SHAPES; s++) {
        size_t n = 0;
        for (size_t i = 0; i < set.n; i++) {
            tt_problem m = shapes[s];
            tt__problem p;
            tt__space space = {0};
            OK(bench_matrix(&p, &m));
            if (strcmp(set.items[i]->op, ops[shapes[s].in_place]) != 0)
                continue;
            OK(tt__space_add(&space, set.items[i], &gpu, &p));
            bool is_wide = strcmp(set.items[i]->kernel, "transpose_wide") == 0;
            if (is_wide && (m.lds > UINT32_MAX || m.ldd > UINT32_MAX))
                assert_int_equal(space.n, 0); /* which has 32 bits for a pitch */
            else if (is_wide && m.elem_size >= 4)
                assert_true(space.n > 0);
            for (size_t k = 0; k < each && space.n; k++, n++)
                check(&space.items[k * (space.n - 1) / (each - 1)], &p, &m, &gpu);
            tt__space_free(&space);
        }
        assert_true(n > 0);
    }
    tt__template_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(far_rows_are_found)};
    if (!getenv("HOSTCUDA_DIR")) {
        print_message("HOSTCUDA_DIR is not set: skipped\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
