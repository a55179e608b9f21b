/*
 * The configurations of the built-in templates, run on the CPU stand-in, or on a GPU, and verified bit for
 * bit, with guard bands, by the tuner's own verifier; and, for a few of them, by a plain loop here. Shapes
 * are small: whole tiles, edges, less than a tile, one row, one column, leading dimensions, batches, every
 * alignment. Compiling takes long: of the first shape every legal configuration takes part, of the others
 * those whose cubin is there by then and a sample, with TT_SWEEP=all everything. There is one process for
 * each CPU, and the configurations are dealt out to them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "device/device.h"
#include "gpu/device.h"
#include "gpu/nvrtc.h"
#include "template/task.h"
#include "tuner/verify.h"

enum { SHOWN_MAX = 5, DEALT = 8, WORKERS_MAX = 64, SAMPLE_STEP = 5, OF_FIRST = 65536 };

/* max_blocks leaves the large shapes to the large tiles: 0 is all configurations. `with`: a shape for those
 * configurations, all of them, that have this. In-place templates take part in what is square. */
typedef struct shape {
    int64_t rows, cols, lds, ldd;
    int elem_size, align, max_blocks;
    int64_t batch, src_stride, dst_stride;
    const char *with;
} shape;

static const shape shapes[] = {
    /* 4 bytes: all kinds of shapes */
    {96, 96, .elem_size = 4},
    {64, 200, .elem_size = 4},
    {1, 1, .elem_size = 4},
    {1, 37, .elem_size = 4},
    {37, 1, .elem_size = 4},
    {131, 67, .elem_size = 4},
    {67, 67, 69, 69, .elem_size = 4},
    {70, 50, 80, 72, .elem_size = 4},
    {70, 50, 82, 74, .elem_size = 4, .align = 4},
    {70, 52, 80, 72, .elem_size = 4, .with = " TILE_ROWS=32 VL=16 "},
    {40, 36, .elem_size = 4, .batch = 3},
    {33, 33, 40, 40, .elem_size = 4, .batch = 2, .src_stride = 1332, .dst_stride = 1332},
    {33, 35, 40, 36, .elem_size = 4, .batch = 2, .src_stride = 1333, .dst_stride = 1301},
    /* more than one of the largest tiles in both directions */
    {264, 392, .elem_size = 4, .max_blocks = 12},
    {263, 391, .elem_size = 4, .max_blocks = 30},
    {1100, 152, .elem_size = 4, .max_blocks = 8},
    {272, 272, .elem_size = 4, .max_blocks = 6},
    {256, 128, .elem_size = 1},
    {131, 67, .elem_size = 1},
    {131, 131, .elem_size = 1},
    {597, 1101, .elem_size = 1, .max_blocks = 30},
    {68, 44, .elem_size = 1, .align = 4},
    {301, 528, .elem_size = 1, .max_blocks = 12}, /* rows aligned on one side only */
    {304, 525, .elem_size = 1, .max_blocks = 12},
    {592, 1104, .elem_size = 1, .max_blocks = 16},
    {528, 528, .elem_size = 1, .max_blocks = 6},
    /* several tiles for each block that stays; and where words reach out of the matrix */
    {603, 1048, .elem_size = 1, .with = " STAY=4 "},
    {601, 1049, .elem_size = 1, .with = " STAY=4 "},
    {601, 1049, .elem_size = 1, .with = " STAY=5 "},
    {256, 128, .elem_size = 2},
    {131, 67, .elem_size = 2},
    {131, 131, .elem_size = 2},
    {301, 555, .elem_size = 2, .max_blocks = 30},
    /* those inside have a path of their own: of few loads, and of more, if there are many tiles; some tiles
     * are high enough to be written, but not to be read, and of some, whole ones, words reach out of the
     * matrix */
    {650, 1049, 1049, 653, .elem_size = 1, .with = " WRITE_RUN=256 THREADS=256 VS=4 CLUSTER=1 "},
    {149, 131, 131, 153, .elem_size = 4, .with = " STAY=0 "},
    {650, 1049, 1049, 653, .elem_size = 1, .with = " VS=16 CLUSTER=1 STAY=0 "},
    {325, 555, 555, 327, .elem_size = 2, .with = " WRITE_RUN=128 THREADS=256 VS=16 CLUSTER=1 STAY=0 "},
    {160, 128, 129, 161, .elem_size = 1, .batch = 13, .src_stride = 20641, .dst_stride = 20609,
     .with = " VS=16 CLUSTER=1 STAY=0 "},
    /* words of several rows reach out of the matrix; and of one whose last tile is a whole one */
    {1, 37, .elem_size = 1},
    {37, 1, .elem_size = 1},
    {39, 1, .elem_size = 1},
    {37, 2, .elem_size = 1},
    {5, 3, .elem_size = 1},
    {67, 2, 3, 0, .elem_size = 1},
    {160, 128, 129, 161, .elem_size = 1},
    {1, 2, .elem_size = 2, .align = 2},
    {37, 1, .elem_size = 2},
    {80, 64, 65, 81, .elem_size = 2},
    {304, 528, .elem_size = 2, .max_blocks = 12},
    {301, 528, .elem_size = 2, .max_blocks = 12},
    {128, 64, .elem_size = 8},
    {131, 67, .elem_size = 8},
    {70, 50, 80, 72, .elem_size = 8},
    {136, 136, .elem_size = 8},
    {64, 32, .elem_size = 16},
    {131, 67, .elem_size = 16},
    {33, 47, 50, 41, .elem_size = 16},
    {70, 70, .elem_size = 16},
    {20, 30, 2048, 0, .elem_size = 16}, /* rows a far power of two apart */
    {20, 30, 8192, 8192, .elem_size = 16},
    {8, 520, 8192, 8192, .elem_size = 16, .max_blocks = 128}, /* more than 64 tiles side by side */
    /* destination rows of whole vectors, of each width, but no whole sectors, and several tiles tall */
    {604, 300, .elem_size = 1, .max_blocks = 24},
    {616, 264, .elem_size = 1, .max_blocks = 24},
    {306, 150, .elem_size = 2, .max_blocks = 24},
    {308, 148, .elem_size = 2, .max_blocks = 24},
    {312, 152, .elem_size = 2, .max_blocks = 24},
    {151, 75, .elem_size = 4, .max_blocks = 24},
    {154, 74, .elem_size = 4, .max_blocks = 24},
    {156, 76, .elem_size = 4, .max_blocks = 24},
    {134, 66, .elem_size = 8, .max_blocks = 48},
    /* matrices that begin anywhere in a sector */
    {50, 75, 75, 52, .elem_size = 4, .batch = 2, .src_stride = 3752, .dst_stride = 3905},
    /* more than twice the stand-in's L2 cache */
    {1088, 512, .elem_size = 4, .max_blocks = 136},
    {544, 512, .elem_size = 8, .max_blocks = 272},
    {512, 288, 8192, 0, .elem_size = 16, .max_blocks = 576},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* What the processes share. */
typedef struct outcome {
    size_t tried, failed;
    double ms;
} outcome;
static outcome (*outcomes)[N_SHAPES]; /* of each process */

/* The shape as a problem of an op, whose names say whether the result is transposed and where it goes. False
 * if it is none. */
static bool problem_of(tt__problem *p, const shape *s, const char *op) {
    tt_problem asked = TT_INIT(tt_problem);
    asked.rows = s->rows;
    asked.cols = s->cols;
    asked.lds = s->lds;
    asked.ldd = s->ldd;
    asked.elem_size = s->elem_size;
    asked.align = s->align;
    asked.batch = s->batch;
    asked.src_stride = s->src_stride;
    asked.dst_stride = s->dst_stride;
    asked.in_place = strcmp(op, "transpose_in_place") == 0;
    if (tt__problem_init(p, &asked) != TT_OK)
        return false;
    tt__copy(p->op, sizeof p->op, op);
    if (!tt__dst_transposed(p)) { /* a copy is dense */
        p->lds = p->ldd = p->cols;
        p->src_stride = p->dst_stride = p->rows * p->cols;
    }
    return true;
}

/* ---- One process of several; a failure of anything but a configuration ends it ------------------------- */

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != TT_OK) {                                                                               \
            fprintf(stderr, "%s: %s\n", #call, tt_last_error());                                             \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

typedef struct worker {
    size_t number, n_workers, dealt, shown;
    tt__gpu gpu;
    /* the last one: configurations that share it follow each other */
    const char *source;
    tt__str options, cubin;
    bool of_first[OF_FIRST]; /* by hash: is a cubin of the first shape */
} worker;

/* Opens the device. A GPU is described as the stand-in is in what templates go by, so that the same shapes
 * have the same configurations, which are right whatever the real numbers. */
static bool open_device(tt__gpu *gpu) {
    enum { SM_COUNT = 4, L2_BYTES = 1 << 20 };
    if (!device_open())
        return false;
    MUST(tt__device_gpu(gpu, 0));
    if (!device_is_host()) {
        gpu->sm_count = SM_COUNT;
        gpu->l2_bytes = L2_BYTES;
    }
    return true;
}

static void get_cubin(worker *w, const char *name, const char *source, tt__str *options, int n) {
    bool same = w->cubin.len && w->source == source && w->options.len == options->len &&
                memcmp(w->options.text, options->text, options->len) == 0;
    if (same) {
        tt__str_free(options);
        return;
    }
    tt__str_free(&w->options);
    tt__str_free(&w->cubin);
    w->source = source;
    w->options = *options;
    MUST(tt__nvrtc_compile(&w->cubin, name, source, options->text, n, w->gpu.cc));
}

static void try_candidate(worker *w, tt__verifier *v, const tt__candidate *c, tt__str *options, int n,
                          outcome *o) {
    tt__kernel kernel;
    tt__trial trial = {0};
    get_cubin(w, c->t->path, c->t->source, options, n);
    MUST(tt__kernel_load(&kernel, cu, w->cubin.text, &c->t->symbols, &c->launch));
    MUST(tt__verify(v, &kernel, &c->launch, &trial));
    tt__kernel_unload(&kernel, cu);
    o->tried++;
    if (trial.status == TT__TRIAL_OK)
        return;
    o->failed++;
    if (w->shown++ < SHOWN_MAX)
        fprintf(stderr, "%s of %lld x %lld, %d bytes, ld %lld and %lld: %s: %s: %s\n", c->t->kernel,
                (long long)v->problem.rows, (long long)v->problem.cols, v->problem.elem_size,
                (long long)v->problem.lds, (long long)v->problem.ldd, c->config,
                tt__trial_status_name(trial.status), trial.reason);
}

static bool is_for(const shape *s, const tt__candidate *c) {
    const unsigned *g = c->launch.passes[0].grid;
    if (s->with)
        return strstr(c->config, s->with) != NULL;
    return s->max_blocks == 0 || (int64_t)g[0] * g[1] * g[2] <= s->max_blocks;
}

/* Chosen by cubin: those of the first shape, and a few of the others. */
static bool in_sample(worker *w, const tt__str *options, const shape *s) {
    const char *sweep = getenv("TT_SWEEP");
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < options->len; i++)
        hash = (hash ^ (unsigned char)options->text[i]) * 16777619u;
    hash ^= hash >> 16;
    if (s == shapes)
        w->of_first[hash % OF_FIRST] = true;
    return w->of_first[hash % OF_FIRST] || hash % SAMPLE_STEP == 0 || (sweep && strcmp(sweep, "all") == 0);
}

static void try_all(worker *w, tt__verifier *v, const tt__space *space, const shape *s, outcome *o) {
    size_t k = 0;
    for (size_t i = 0; i < space->n; i++) {
        const tt__candidate *c = &space->items[i];
        tt__str options;
        int n;
        if (!is_for(s, c))
            continue;
        MUST(tt__config_options(&options, &n, c, &v->problem));
        bool mine =
            (i == 0 || s->with || in_sample(w, &options, s)) && k++ / DEALT % w->n_workers == w->number;
        if (mine)
            try_candidate(w, v, c, &options, n, o);
        else
            tt__str_free(&options);
    }
}

static void try_template(worker *w, const tt__template *t, const shape *s, outcome *o) {
    tt__problem p;
    tt__space space = {0};
    tt__verifier v;
    tt__workload work;
    tt__str checker = {0}, reference = {0}, options;
    const tt__template *of = t->task->t;
    tt__candidate reference_of;
    int n;
    if (!problem_of(&p, s, t->op))
        return;
    MUST(tt__space_add(&space, t, &w->gpu, &p));
    MUST(tt__config_options(&options, &n, &(tt__candidate){0}, &p));
    MUST(tt__nvrtc_compile(&checker, tt__checker[0].name, tt__checker[0].source, options.text, n, w->gpu.cc));
    tt__str_free(&options);
    MUST(tt__workload_of(&work, t, &w->gpu, &p));
    MUST(tt__space_reference(&reference_of, t->task, &w->gpu, &p));
    MUST(tt__config_options(&options, &n, &reference_of, &p));
    MUST(tt__nvrtc_compile(&reference, of->path, of->source, options.text, n, w->gpu.cc));
    MUST(tt__verifier_open(&v, cu, NULL, &p, &work, checker.text, reference.text));
    try_all(w, &v, &space, s, o);
    tt__verifier_close(&v);
    tt__str_free(&checker);
    tt__str_free(&reference);
    tt__str_free(&options);
    tt__space_free(&space);
}

static void work(size_t number, size_t n_workers) {
    worker w = {.number = number, .n_workers = n_workers};
    tt__template_set set;
    if (!open_device(&w.gpu))
        _exit(1);
    MUST(tt__template_set_open(&set, NULL, 0));
    for (size_t s = 0; s < N_SHAPES; s++) {
        double start = tt__now_s();
        for (size_t i = 0; i < set.n; i++)
            try_template(&w, set.items[i], &shapes[s], &outcomes[number][s]);
        outcomes[number][s].ms = 1e3 * (tt__now_s() - start);
    }
    tt__str_free(&w.options);
    tt__str_free(&w.cubin);
    tt__template_set_close(&set);
    _exit(0);
}

/* ---- The tests ----------------------------------------------------------------------------------------- */

static size_t n_processes(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : (size_t)n;
}

/* A process for each CPU; how many of them ended badly. `share` does not return. */
static int deal_out(void (*share)(size_t number, size_t n)) {
    const size_t n = n_processes();
    pid_t pids[WORKERS_MAX];
    int bad = 0;
    fflush(NULL);
    for (size_t i = 0; i < n; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            share(i, n);
    }
    for (size_t i = 0; i < n; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        bad += status != 0;
    }
    return bad;
}

static void every_configuration_is_right(void **state) {
    (void)state;
    const size_t n = n_processes();
    outcomes = mmap(NULL, n * sizeof *outcomes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(outcomes != MAP_FAILED);
    int bad = deal_out(work);
    for (size_t s = 0; s < N_SHAPES; s++) {
        outcome sum = {0};
        for (size_t i = 0; i < n; i++) {
            sum.tried += outcomes[i][s].tried;
            sum.failed += outcomes[i][s].failed;
            sum.ms += outcomes[i][s].ms;
        }
        printf("%4lld x %-4lld %2d bytes: %4zu configurations, %zu failed, %5.1f s\n",
               (long long)shapes[s].rows, (long long)shapes[s].cols, shapes[s].elem_size, sum.tried,
               sum.failed, sum.ms / 1e3);
        assert_true(sum.tried > 0);
        bad += sum.failed != 0;
    }
    assert_int_equal(bad, 0);
}

/* dst as a plain loop makes it; what lies between the rows and matrices stays as it was. */
static void expect(unsigned char *want, const unsigned char *src, const tt__problem *p) {
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

static void check_plainly(worker *w, const tt__candidate *c, const tt__problem *p, size_t offset) {
    size_t n_src = (size_t)tt__src_bytes(p), n_dst = (size_t)tt__dst_bytes(p);
    unsigned char *src = array(n_src, offset), *want = array(n_dst, 0), *got = array(n_dst, offset);
    tt__kernel kernel;
    tt__str options;
    int n;
    for (size_t i = 0; i < n_src; i++)
        src[i] = (unsigned char)((i * 2654435761u) >> 13);
    memset(got, 0x5a, n_dst);
    if (tt__in_place(p))
        memcpy(got, src, n_dst);
    memcpy(want, got, n_dst);
    CUdeviceptr d_src = to_device(src, n_src, offset), d_dst = to_device(got, n_dst, offset);
    OK(tt__config_options(&options, &n, c, p));
    get_cubin(w, c->t->path, c->t->source, &options, n);
    OK(tt__kernel_load(&kernel, cu, w->cubin.text, &c->t->symbols, &c->launch));
    CU_OK(tt__kernel_launch(&kernel, cu, &c->launch,
                            (void *[]){tt__in_place(p) ? (void *)&d_dst : (void *)&d_src, &d_dst}, NULL));
    CU_OK(cu->cuCtxSynchronize());
    from_device(src, d_src, n_src, offset);
    from_device(got, d_dst, n_dst, offset);
    expect(want, src, p);
    if (memcmp(got, want, n_dst) != 0)
        fail_msg("%s %s is wrong for %lld x %lld of %d bytes", c->t->kernel, c->config, (long long)p->rows,
                 (long long)p->cols, p->elem_size);
    tt__kernel_unload(&kernel, cu);
    free(src - offset);
    free(want);
    free(got - offset);
}

/* With arrays where allocators put them, and with some that no multiple of 16 bytes begins. If it is its
 * turn. */
static void check_both(worker *w, const tt__candidate *c, const tt__problem *p) {
    if (w->dealt++ % w->n_workers != w->number)
        return;
    check_plainly(w, c, p, 0);
    if (p->align < 16)
        check_plainly(w, c, p, (size_t)(3 * p->align % 16));
}

/* TT_SWEEP=bounds: this test alone, with shapes of less than so many elements. */
static bool in_bounds_sweep(void) {
    const char *sweep = getenv("TT_SWEEP");
    return sweep && strcmp(sweep, "bounds") == 0;
}

static void check_share(size_t number, size_t n_workers) {
    enum { EACH = 5, SMALL = 10000 };
    worker w = {.number = number, .n_workers = n_workers};
    tt__template_set set;
    assert_true(open_device(&w.gpu));
    OK(tt__template_set_open(&set, NULL, 0));
    for (size_t s = 0; s < N_SHAPES; s++)
        for (size_t i = 0; i < set.n; i++) {
            tt__problem p;
            tt__space space = {0};
            if (!problem_of(&p, &shapes[s], set.items[i]->op) || !tt__dst_transposed(&p) || shapes[s].align ||
                (in_bounds_sweep() && p.rows * p.cols >= SMALL && !shapes[s].with))
                continue;
            OK(tt__space_add(&space, set.items[i], &w.gpu, &p));
            for (size_t k = 0; k < EACH && space.n && !shapes[s].with; k++)
                check_both(&w, &space.items[k * (space.n - 1) / (EACH - 1)], &p);
            for (size_t k = 0; k < space.n && shapes[s].with; k++)
                if (is_for(&shapes[s], &space.items[k]))
                    check_both(&w, &space.items[k], &p);
            tt__space_free(&space);
        }
    tt__str_free(&w.options);
    tt__str_free(&w.cubin);
    tt__template_set_close(&set);
    printf("%zu of %zu configurations\n", (w.dealt + n_workers - 1 - number) / n_workers, w.dealt);
    exit(0); /* as main would, for whoever looks for leaks then */
}

static void some_configurations_are_right_by_a_plain_loop(void **state) {
    (void)state;
    assert_int_equal(deal_out(check_share), 0);
}

/* In a process of its own: those that are forked later could not use it. */
static bool has_device(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(!device_open());
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_configuration_is_right),
        cmocka_unit_test(some_configurations_are_right_by_a_plain_loop),
    };
    const struct CMUnitTest alone[] = {cmocka_unit_test(some_configurations_are_right_by_a_plain_loop)};
    if (!has_device())
        return device_missing();
    return in_bounds_sweep() ? cmocka_run_group_tests(alone, NULL, NULL)
                             : cmocka_run_group_tests(tests, NULL, NULL);
}
