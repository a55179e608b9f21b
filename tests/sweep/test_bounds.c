/*
 * Compares some configurations of every built-in template and shape with a plain loop, on arrays that are not
 * a byte too long. Under AddressSanitizer on the CPU stand-in, or compute-sanitizer on a GPU, no kernel
 * touches a byte outside the arrays.
 *
 * test_bounds [ELEMENTS] leaves out shapes of so many elements and more, except those for certain
 * configurations
 * (`with`). The stand-in compiles slowly. There, one in 64 of these kernels runs, and at least one of
 * each template. With TT_LONG all of them run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/kernel.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/space.h"
#include "sweep.h"

/* Shared by the processes: for each template the number of configurations, and the number checked. */
typedef struct outcome {
    size_t n, n_mine;
} outcome;
static outcome *outcomes;

typedef struct worker {
    size_t number, n_workers;
    outcome *o;
    tt__gpu gpu;
    sweep_cubins cubins;
} worker;

static int64_t most_elements = INT64_MAX;

/* dst as a plain loop makes it; what lies between the rows and matrices stays as it was. */
static void expect(unsigned char *want, const unsigned char *src, const tt_problem *p) {
    size_t e = (size_t)p->elem_size;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t r = 0; r < p->rows; r++)
            for (int64_t c = 0; c < p->cols; c++)
                memcpy(want + (size_t)(b * p->dst_stride + c * p->ldd + r) * e,
                       src + (size_t)(b * p->src_stride + r * p->lds + c) * e, e);
}

/* So many bytes, which begin so far from a multiple of 16, and not one more: under AddressSanitizer kernels,
 * too, are told of the first one beyond. */
static unsigned char *array(size_t n, size_t offset) {
    void *at = NULL;
    assert_int_equal(posix_memalign(&at, 16, offset + n), 0);
    return (unsigned char *)at + offset;
}

/* Where kernels find these bytes: there, or on a GPU in memory of their own that ends with them, so that
 * compute-sanitizer tells of the first one beyond, too. */
static CUdeviceptr to_device(const unsigned char *bytes, size_t n, size_t offset) {
    CUdeviceptr base;
    if (device_is_host())
        return (CUdeviceptr)(uintptr_t)bytes;
    CU_OK(cu->cuMemAlloc(&base, offset + n));
    CU_OK(cu->cuMemcpyHtoD(base + offset, bytes, n));
    return base + offset;
}

static void from_device(unsigned char *bytes, CUdeviceptr at, size_t n, size_t offset) {
    if (device_is_host())
        return;
    CU_OK(cu->cuMemcpyDtoH(bytes, at, n));
    CU_OK(cu->cuMemFree(at - offset));
}

/* With the arrays so many bytes from a multiple of 16. */
static void check_plainly(const char *cubin, const tt__candidate *c, const tt_problem *p, size_t offset,
                          size_t dst_offset) {
    size_t n_src = (size_t)bench_src_bytes(p), n_dst = (size_t)bench_dst_bytes(p);
    unsigned char *src = array(n_src, offset), *want = array(n_dst, 0), *got = array(n_dst, dst_offset);
    tt__kernel kernel;
    for (size_t i = 0; i < n_src; i++)
        src[i] = (unsigned char)((i * 2654435761u) >> 13);
    memset(got, 0x5a, n_dst);
    if (p->in_place)
        memcpy(got, src, n_dst);
    memcpy(want, got, n_dst);
    CUdeviceptr d_src = to_device(src, n_src, offset), d_dst = to_device(got, n_dst, dst_offset);
    OK(tt__kernel_load(&kernel, cu, cubin, 0, &c->t->symbols, &c->launch));
    const size_t n_scratch = n_dst / 100 < 16 ? 16 : n_dst / 100; /* of a rectangle in place */
    unsigned char *scratch = array(n_scratch, dst_offset);
    CUdeviceptr d_scratch = to_device(scratch, n_scratch, dst_offset);
    void *const of_rectangle[] = {&d_dst, &d_scratch}, *const others[] = {p->in_place ? &d_dst : &d_src,
                                                                          &d_dst};
    CU_OK(tt__kernel_launch(&kernel, cu, &c->launch,
                            p->in_place && p->rows != p->cols ? of_rectangle : others, NULL));
    CU_OK(cu->cuCtxSynchronize());
    from_device(src, d_src, n_src, offset);
    from_device(got, d_dst, n_dst, dst_offset);
    from_device(scratch, d_scratch, n_scratch, dst_offset);
    free(scratch - dst_offset);
    expect(want, src, p);
    if (memcmp(got, want, n_dst) != 0)
        fail_msg("%s %s is wrong for %lld x %lld of %d bytes", c->t->kernel, c->config, (long long)p->rows,
                 (long long)p->cols, p->elem_size);
    tt__kernel_unload(&kernel, cu);
    free(src - offset);
    free(want);
    free(got - dst_offset);
}

/* Chosen by kernel, so that what is compiled serves several shapes. */
static bool in_sample(uint64_t hash) {
    enum { STEP = 64, BITS_OF_OTHERS = 16 };
    return device_may_take_long() || (hash >> BITS_OF_OTHERS) % STEP == 0;
}

/* With arrays where allocators put them, and with some that no multiple of 16 bytes begins. If it is its
 * turn. */
static void check_both(worker *w, const tt__candidate *c, const tt__problem *p, const tt_problem *m,
                       bool is_first) {
    tt__str options;
    int n;
    OK(tt__config_options(&options, &n, c, p));
    const uint64_t hash = sweep_hash_kernel(c->t->path, &options);
    const bool chosen = is_first || in_sample(hash);
    w->o->n += chosen;
    if (!chosen || hash % w->n_workers != w->number) {
        tt__str_free(&options);
        return;
    }
    w->o->n_mine++;
    const char *cubin = sweep_compile(&w->cubins, c->t->path, c->t->source, &options, n, w->gpu.cc);
    check_plainly(cubin, c, m, 0, 0);
    if (m->align < 16)
        check_plainly(cubin, c, m, (size_t)(3 * m->align % 16), (size_t)(5 * m->align % 16));
}

/* Checks all configurations for the shape if they are named and no sample is enough, otherwise a few. */
static void check_some(worker *w, const tt__space *space, const sweep_shape *s, const tt__problem *p,
                       const tt_problem *m, bool *had) {
    enum { EACH = 5, EACH_SMALL = 2 }; /* under sanitizers, where each is compiled anew */
    const size_t each = s->sampled && most_elements < INT64_MAX ? EACH_SMALL : EACH;
    size_t n = 0, *all = calloc(space->n + 1, sizeof *all);
    assert_non_null(all);
    for (size_t i = 0; i < space->n; i++)
        if (!s->with || sweep_is_for(s, &space->items[i]))
            all[n++] = i;
    const size_t few = (s->with && !s->sampled) || n < each ? n : each;
    for (size_t k = 0; k < few; k++, *had = true)
        check_both(w, &space->items[all[few > 1 ? k * (n - 1) / (few - 1) : 0]], p, m, !*had);
    free(all);
}

static void check_share(size_t number, size_t n_workers) {
    worker w = {.number = number, .n_workers = n_workers, .o = &outcomes[number]};
    tt__template_set set;
    assert_true(sweep_open_device(&w.gpu));
    OK(tt__template_set_open(&set, NULL, 0));
    bool *had = calloc(set.n, sizeof *had); /* of each template: a kernel */
    assert_non_null(had);
    for (size_t s = 0; s < sweep_n_shapes; s++)
        for (size_t i = 0; i < set.n; i++) {
            const tt__template *t = set.items[i];
            tt_problem m = sweep_matrix(&sweep_shapes[s]);
            tt__problem p;
            tt__space space = {0};
            if (strcmp(t->op, "copy") == 0 || !sweep_ask(&p, &m, t->op) || sweep_shapes[s].align ||
                sweep_shapes[s].rest || (m.rows * m.cols >= most_elements && !sweep_shapes[s].with))
                continue;
            OK(tt__space_add(&space, t, &w.gpu, &p));
            check_some(&w, &space, &sweep_shapes[s], &p, &m, &had[i]);
            tt__space_free(&space);
        }
    free(had);
    sweep_cubins_free(&w.cubins);
    tt__template_set_close(&set);
    exit(0); /* the same as in main, for leak checkers */
}

static void some_configurations_are_right_by_a_plain_loop(void **state) {
    (void)state;
    const size_t n = sweep_n_processes();
    size_t checked = 0;
    outcomes = sweep_shared(n * sizeof *outcomes);
    assert_int_equal(sweep_deal_out(check_share), 0);
    for (size_t i = 0; i < n; i++)
        checked += outcomes[i].n_mine;
    printf("%zu configurations\n", checked);
    assert_true(checked > 0 && checked == outcomes[0].n);
}

int main(int argc, char **argv) {
    if (argc > 1)
        most_elements = atoll(argv[1]);
    return sweep_main("bounds", some_configurations_are_right_by_a_plain_loop);
}
