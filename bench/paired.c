/*
 * Which of these configurations is faster? Measures them in the same interleaved rounds, for longer than
 * tuning does, and prints each one's ratio to the first. --all KERNEL first measures every configuration of a
 * template beside the first one, and the best few enter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/args.h"
#include "bench/matrix.h"
#include "bench/sizes.h"
#include "kernel/load/builtin.h"
#include "kernel/space/space.h"
#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/finals/finals.h"

enum { GIVEN_MAX = 16, BEST = 12 };

typedef struct options {
    int device, n_given;
    const char *template, *all, *given[GIVEN_MAX];
    double seconds;
    int loads; /* of all kernels */
    int elem_size;
    bench_sizes rows, cols;
} options;

typedef struct bench {
    const options *o;
    tt__backend *backend;
    tt__template_set set;
    tt__gpu gpu;
    tt_problem matrix; /* with all defaults filled in */
    tt__problem problem;
    size_t n;
    tt__configuration entrants[TT__FINALISTS_MAX];
    tt__trial trials[TT__FINALISTS_MAX];
} bench;

/* As finals judge. */
static double middle_us(const tt__trial *t) {
    return tt__lower_mean(t->samples_us, (size_t)t->n_samples);
}

/* "KERNEL NAME=VALUE ..." */
static tt_status enter(bench *b, const char *text) {
    char kernel[TT__NAME_MAX];
    const char *config = strchr(text, ' ');
    snprintf(kernel, sizeof kernel, "%.*s", (int)strcspn(text, " "), text);
    const tt__template *t = tt__template_set_find(&b->set, kernel);
    if (!t || !config)
        return tt__fail(TT_E_INVALID, "\"%s\": expected a kernel's name and a configuration", text);
    tt__candidate c;
    TT_TRY(tt__space_resolve(&c, t, &b->gpu, &b->problem, config + 1));
    b->entrants[b->n++] = c.configuration;
    return TT_OK;
}

static tt_status measure(bench *b, double seconds) {
    const tt__configuration *c[TT__FINALISTS_MAX];
    for (size_t i = 0; i < b->n; i++)
        c[i] = &b->entrants[i];
    tt__rounds rounds = {TT__FINAL_ROUNDS, TT__FINAL_ROUNDS_MAX, seconds, b->o->loads, false, false};
    return tt__backend_finals(b->backend, c, b->n, rounds, 0, 0, b->trials);
}

typedef struct ranked {
    double ratio; /* to the first entrant */
    const tt__configuration *c;
} ranked;

static int by_ratio(const void *x, const void *y) {
    double a = ((const ranked *)x)->ratio, b = ((const ranked *)y)->ratio;
    return (a > b) - (a < b);
}

static bool is_in(const bench *b, const tt__configuration *c) {
    for (size_t i = 0; i < b->n; i++)
        if (b->entrants[i].t == c->t && strcmp(b->entrants[i].config, c->config) == 0)
            return true;
    return false;
}

/* Ranks a whole space by groups that each hold the first entrant too, and lets the best few enter. */
static tt_status enter_best(bench *b) {
    const tt__template *t = tt__template_set_find(&b->set, b->o->all);
    size_t n_given = b->n;
    tt__space space = {0};
    if (!t)
        return tt__fail(TT_E_INVALID, "no template has the kernel \"%s\"", b->o->all);
    TT_TRY(tt__space_add(&space, t, &b->gpu, &b->problem));
    ranked *order = calloc(space.n, sizeof *order);
    tt_status status = order ? TT_OK : tt__fail_memory(space.n * sizeof *order);
    for (size_t first = 0; first < space.n && status == TT_OK; first += b->n - 1) {
        for (b->n = 1; b->n < TT__FINALISTS_MAX && first + b->n - 1 < space.n; b->n++)
            b->entrants[b->n] = space.items[first + b->n - 1];
        status = measure(b, b->o->seconds);
        for (size_t i = 1; i < b->n && status == TT_OK; i++)
            order[first + i - 1] =
                (ranked){middle_us(&b->trials[i]) / middle_us(&b->trials[0]), &space.items[first + i - 1]};
    }
    b->n = 1;
    for (size_t i = 1; i < n_given && status == TT_OK; i++)
        status = enter(b, b->o->given[i]);
    if (status == TT_OK)
        qsort(order, space.n, sizeof *order, by_ratio);
    for (size_t i = 0; i < space.n && i < BEST && status == TT_OK; i++)
        if (!is_in(b, order[i].c))
            b->entrants[b->n++] = *order[i].c;
    free(order);
    tt__space_free(&space);
    return status;
}

static void print(const bench *b) {
    printf("%d B %lld x %lld, %d rounds\n", b->matrix.elem_size, (long long)b->matrix.rows,
           (long long)b->matrix.cols, b->trials[0].n_samples);
    for (size_t i = 0; i < b->n; i++) {
        tt__ratio r = tt__compare_trials(&b->trials[i], &b->trials[0]);
        printf("  %9.3f us  %+.3f %% (%+.3f to %+.3f)  %s %s\n", middle_us(&b->trials[i]),
               100 * (middle_us(&b->trials[i]) / middle_us(&b->trials[0]) - 1), 100 * (r.low - 1),
               100 * (r.high - 1), b->entrants[i].t->kernel, b->entrants[i].config);
    }
}

static tt_status run(bench *b, int64_t rows, int64_t cols) {
    b->matrix = (tt_problem){.rows = rows, .cols = cols, .elem_size = b->o->elem_size};
    TT_TRY(bench_matrix(&b->problem, &b->matrix));
    TT_TRY(b->backend->ops->problem(b->backend, &b->problem, tt__template_set_for(&b->set, &b->problem)));
    b->n = 0;
    for (int i = 0; i < b->o->n_given; i++)
        TT_TRY(enter(b, b->o->given[i]));
    if (b->o->all)
        TT_TRY(enter_best(b));
    TT_TRY(measure(b, b->o->seconds));
    print(b);
    return TT_OK;
}

static tt_status run_all(bench *b) {
    const options *o = b->o;
    tt__store *store = NULL;
    tt__env env;
    tt_status status;
    TT_GOTO(tt__store_open(&store, ":memory:", TT__STORE_READ_WRITE));
    TT_GOTO(tt__template_set_open(&b->set, &o->template, o->template ? 1 : 0));
    TT_GOTO(tt__backend_gpu(&b->backend, &(tt__backend_gpu_opts){.devices = &o->device,
                                                                 .n_devices = 1,
                                                                 .trial_timeout_s = 10,
                                                                 .compile_timeout_s = 60,
                                                                 .store = store}));
    TT_GOTO(b->backend->ops->hello(b->backend, &b->gpu, &env));
    for (size_t i = 0; i < o->rows.n; i++)
        TT_GOTO(run(b, o->rows.items[i], o->cols.items[i]));
out:
    if (b->backend)
        b->backend->ops->close(b->backend);
    tt__template_set_close(&b->set);
    tt__store_close(&store);
    return status;
}

static bool read_shape(options *o, const char *text) {
    char end;
    o->rows.n = o->cols.n = 1;
    if (sscanf(text, "%" SCNd64 "x%" SCNd64 "%c", o->rows.items, o->cols.items, &end) == 2)
        return true;
    fprintf(stderr, "--shape: '%s': expected ROWSxCOLS\n", text);
    return false;
}

static const char usage[] =
    "usage: bench-paired [--template FILE] [--sizes N,...] [--shape ROWSxCOLS] [--elem-size N]\n"
    "                    [--all KERNEL] [--seconds S] [--device N] [--loads N] 'KERNEL CONFIGURATION'...\n"
    "Measures up to 16 configurations in the same rounds, for S seconds (1), and compares them with the "
    "first.\n"
    "In between all of them are loaded anew, N times (8): where its code lies makes a short kernel faster "
    "or\n"
    "slower. With --all the best of all configurations of a kernel enter too. Sizes: 4096,8192 of 4 bytes\n"
    "unless told.\n";

/* -1: go on; else the exit status. */
static int parse(options *o, int argc, char **argv) {
    const char *sizes = "4096,8192", *shape = NULL;
    *o = (options){.seconds = 1, .loads = 8, .elem_size = 4};
    const bench_arg args[] = {{"template", BENCH_TEXT, &o->template},
                              {"sizes", BENCH_TEXT, &sizes},
                              {"shape", BENCH_TEXT, &shape},
                              {"elem-size", BENCH_INT, &o->elem_size},
                              {"all", BENCH_TEXT, &o->all},
                              {"seconds", BENCH_REAL, &o->seconds},
                              {"loads", BENCH_INT, &o->loads},
                              {"device", BENCH_INT, &o->device},
                              {0}};
    const int done = bench_args_read(args, usage, argc, argv);
    if (done >= 0)
        return done;
    for (; optind < argc && o->n_given < GIVEN_MAX; optind++)
        o->given[o->n_given++] = argv[optind];
    if (!(shape ? read_shape(o, shape) : bench_sizes_read(&o->rows, sizes)) || o->n_given == 0 ||
        optind < argc || o->elem_size < 1 || !(o->seconds > 0) || o->loads < 1 || o->loads > TT__FINAL_ROUNDS)
        return bench_args_wrong(usage);
    if (!shape)
        o->cols = o->rows;
    return -1;
}

int main(int argc, char **argv) {
    static bench b;
    options o;
    const int done = parse(&o, argc, argv);
    if (done >= 0)
        return done;
    b.o = &o;
    if (run_all(&b) == TT_OK)
        return 0;
    fprintf(stderr, "bench-paired: %s\n", tt_last_error());
    return 1;
}
