/*
 * Compares some configurations of every built-in template and shape with a plain loop, on arrays that are not
 * a byte too long. No kernel touches a byte outside of them: on the CPU stand-in they lie between pages that
 * no one may touch, or AddressSanitizer watches the kernel, too; on a GPU compute-sanitizer does.
 *
 * test_bounds [ELEMENTS] leaves out shapes of so many elements and more, except those for certain
 * configurations (`with`). The stand-in compiles slowly. There, one in 64 of these kernels runs, and at least
 * one of each template. With TT_LONG all of them run, or under sanitizers, which compile all anew, one in 8.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

#if defined(__SANITIZE_ADDRESS__)
static const bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif
#else
static const bool sanitized = false;
#endif

/* dst as a plain loop makes it; what lies between the rows and matrices stays as it was. */
static void expect(unsigned char *want, const unsigned char *src, const tt_problem *p) {
    size_t e = (size_t)p->elem_size;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t r = 0; r < p->rows; r++)
            for (int64_t c = 0; c < p->cols; c++)
                memcpy(want + (size_t)(b * p->dst_stride + c * p->ldd + r) * e,
                       src + (size_t)(b * p->src_stride + r * p->lds + c) * e, e);
}

/* So many bytes, which begin so far from a multiple of 16, as kernels see them. */
typedef struct array {
    unsigned char *bytes;
    CUdeviceptr at; /* there, or on a GPU in memory of its own that ends with them */
    size_t n, offset;
    void *memory;
    size_t mapped; /* 0: memory is from malloc */
} array;

enum { LINE = 16, PAGE = 4096 };

/* AddressSanitizer and compute-sanitizer tell of the first byte before and beyond. Otherwise there is a page
 * that no one may touch before the first one, or after the last one if `at_end`: at most 15 bytes apart from
 * it, as the offset wants it. */
static array array_open(size_t n, size_t offset, bool at_end) {
    array a = {.n = n, .offset = offset};
    if (sanitized || !device_is_host()) {
        assert_int_equal(posix_memalign(&a.memory, LINE, offset + n), 0);
        a.bytes = (unsigned char *)a.memory + offset;
    } else {
        const size_t inside = (offset + n + LINE + PAGE - 1) / PAGE * PAGE;
        a.mapped = inside + 2 * (size_t)PAGE;
        a.memory = mmap(NULL, a.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(a.memory, MAP_FAILED);
        unsigned char *first = (unsigned char *)a.memory + PAGE;
        assert_int_equal(mprotect(first, inside, PROT_READ | PROT_WRITE), 0);
        a.bytes = at_end ? first + inside - n - (LINE - n % LINE + LINE - offset) % LINE : first + offset;
    }
    a.at = (CUdeviceptr)(uintptr_t)a.bytes;
    return a;
}

static void to_device(array *a) {
    CUdeviceptr base;
    if (device_is_host())
        return;
    CU_OK(cu->cuMemAlloc(&base, a->offset + a->n));
    CU_OK(cu->cuMemcpyHtoD(base + a->offset, a->bytes, a->n));
    a->at = base + a->offset;
}

static void from_device(const array *a) {
    if (device_is_host())
        return;
    CU_OK(cu->cuMemcpyDtoH(a->bytes, a->at, a->n));
    CU_OK(cu->cuMemFree(a->at - a->offset));
}

static void array_close(array *a) {
    if (a->mapped)
        munmap(a->memory, a->mapped);
    else
        free(a->memory);
}

/* What runs now, for the handler. */
static char running[2048];

static void touched_outside(int signal) {
    (void)signal;
    const ssize_t n = write(STDERR_FILENO, running, strlen(running));
    _exit(n < 0 ? 2 : 1);
}

/* Where the arrays are: so many bytes from a multiple of 16, and at the end of their pages? */
typedef struct place {
    size_t offset, dst_offset;
    bool at_end;
} place;

static void check_plainly(const char *cubin, const tt__configuration *c, const tt__launch *launch,
                          const tt_problem *p, place where) {
    size_t n_src = (size_t)bench_src_bytes(p), n_dst = (size_t)bench_dst_bytes(p);
    const size_t n_scratch = n_dst / 100 < 16 ? 16 : n_dst / 100; /* of a rectangle in place */
    array arrays[] = {array_open(n_src, where.offset, where.at_end),
                      array_open(n_dst, where.dst_offset, where.at_end),
                      array_open(n_scratch, where.dst_offset, where.at_end)};
    unsigned char *src = arrays[0].bytes, *got = arrays[1].bytes, *want = malloc(n_dst);
    tt__kernel kernel;
    assert_non_null(want);
    for (size_t i = 0; i < n_src; i++)
        src[i] = (unsigned char)((i * 2654435761u) >> 13);
    memset(got, 0x5a, n_dst);
    if (p->in_place)
        memcpy(got, src, n_dst);
    memcpy(want, got, n_dst);
    for (int i = 0; i < 3; i++)
        to_device(&arrays[i]);
    snprintf(running, sizeof running, "%s %s touches what is outside the arrays of %lld x %lld of %d bytes\n",
             c->t->kernel, c->config, (long long)p->rows, (long long)p->cols, p->elem_size);
    OK(tt__kernel_load(&kernel, cu, cubin, 0, &c->t->symbols, launch));
    CUdeviceptr *d_src = &arrays[0].at, *d_dst = &arrays[1].at, *d_scratch = &arrays[2].at;
    void *const of_rectangle[] = {d_dst, d_scratch}, *const others[] = {p->in_place ? d_dst : d_src, d_dst};
    CU_OK(tt__kernel_launch(&kernel, cu, launch, p->in_place && p->rows != p->cols ? of_rectangle : others,
                            NULL));
    CU_OK(cu->cuCtxSynchronize());
    for (int i = 0; i < 3; i++)
        from_device(&arrays[i]);
    expect(want, src, p);
    if (memcmp(got, want, n_dst) != 0)
        fail_msg("%s %s is wrong for %lld x %lld of %d bytes", c->t->kernel, c->config, (long long)p->rows,
                 (long long)p->cols, p->elem_size);
    tt__kernel_unload(&kernel, cu);
    for (int i = 0; i < 3; i++)
        array_close(&arrays[i]);
    free(want);
}

/* Chosen by kernel, so that what is compiled serves several shapes. */
static bool in_sample(uint64_t hash) {
    enum { STEP = 64, STEP_LONG = 8, BITS_OF_OTHERS = 16 };
    const unsigned step = !device_may_take_long() ? STEP : sanitized ? STEP_LONG : 1;
    return (hash >> BITS_OF_OTHERS) % step == 0;
}

/* The offset with which so many bytes end where their pages do, if the alignment allows it and it is not 0.
 */
static size_t to_the_end(size_t n, int align, int otherwise) {
    const size_t offset = (LINE - n % LINE) % LINE;
    return offset && offset % (size_t)align == 0 ? offset : (size_t)(otherwise * align % LINE);
}

/* With arrays where allocators put them, and with some that no multiple of 16 bytes begins. If it is its
 * turn. */
static void check_both(worker *w, const tt__configuration *c, const tt__problem *p, const tt_problem *m,
                       bool is_first) {
    tt__launch launch;
    tt__str options;
    int n;
    OK(tt__config_options(&options, &n, c, p));
    OK(tt__space_launch(&launch, c, &w->gpu, p));
    const uint64_t hash = sweep_hash_kernel(c->t->path, &options);
    const bool chosen = is_first || in_sample(hash);
    w->o->n += chosen;
    if (!chosen || hash % w->n_workers != w->number) {
        tt__str_free(&options);
        return;
    }
    w->o->n_mine++;
    const char *cubin = sweep_compile(&w->cubins, c->t->path, c->t->source, &options, n, w->gpu.cc);
    check_plainly(cubin, c, &launch, m, (place){0});
    if (!sanitized && device_is_host())
        check_plainly(cubin, c, &launch, m, (place){.at_end = true});
    if (m->align < LINE)
        check_plainly(cubin, c, &launch, m,
                      (place){.offset = to_the_end((size_t)bench_src_bytes(m), m->align, 3),
                              .dst_offset = to_the_end((size_t)bench_dst_bytes(m), m->align, 5),
                              .at_end = true});
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
    if (!sanitized)
        signal(SIGSEGV, touched_outside); /* cmocka's handler does not know the kernel */
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
