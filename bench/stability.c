/*
 * Does tuning name the same winner every time, or one that cannot be told apart? Tunes several times, each
 * time from an empty store. Then it measures the winners of each size in the same interleaved rounds, and
 * prints how far they are apart.
 *
 * The addresses of code and arrays differ between processes. That changes the time of a short kernel by up to
 * half a percent. So the rounds run in many processes, and the interval is over the processes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/problem.h"
#include "bench/args.h"
#include "bench/sizes.h"
#include "kernel/load/builtin.h"
#include "kernel/space/space.h"
#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/finals/winner.h"

enum { RUNS_MAX = TT__FINALISTS_MAX, PROCESSES = 24, ROUNDS = 21, LOADS = 16 };
static const double seconds = 0.3; /* in each process */
static const double target = 0.005;

typedef struct options {
    int device, runs, elem_size;
    bool keep;
    size_t n_sizes;
    tt_problem problems[BENCH_SIZES_MAX];
} options;

/* The different winners of one size, and what became of them. */
typedef struct contest {
    size_t n;
    char kernels[RUNS_MAX][64], configs[RUNS_MAX][256];
    int times_won[RUNS_MAX];
    size_t n_processes; /* that have measured them */
    float us[RUNS_MAX][PROCESSES];
} contest;

static int fail(void) {
    fprintf(stderr, "bench-stability: %s\n", tt_last_error());
    return 1;
}

static void count_winner(contest *c, const tt_result *r) {
    size_t i = 0;
    while (i < c->n && (strcmp(c->kernels[i], r->kernel) || strcmp(c->configs[i], r->config)))
        i++;
    if (i == c->n) {
        tt__copy(c->kernels[i], sizeof c->kernels[i], r->kernel);
        tt__copy(c->configs[i], sizeof c->configs[i], r->config);
        c->n++;
    }
    c->times_won[i]++;
}

static tt_status tune_once(const options *o, const char *db, contest *contests) {
    tt_ctx *ctx;
    tt_report *report = NULL;
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_tune_opts tune = TT_INIT(tt_tune_opts);
    open.db_path = db;
    tune.device = o->device;
    TT_TRY(tt_open(&ctx, &open));
    tt_status status = tt_tune(&report, ctx, o->problems, o->n_sizes, &tune);
    for (size_t i = 0; status == TT_OK && i < o->n_sizes; i++)
        count_winner(&contests[i], &report->results[i]);
    if (report)
        fprintf(stderr, "%s: %.2f s\n", db, report->wall_s);
    tt_report_free(&report);
    tt_close(&ctx);
    return status;
}

/* All winners of one size in the same rounds, in as many launches as the time allows. */
static tt_status measure(tt__backend *b, const tt__template_set *set, const tt__gpu *gpu,
                         const tt_problem *problem, contest *c) {
    static tt__candidate candidates[RUNS_MAX];
    static tt__trial trials[RUNS_MAX];
    const tt__configuration *entrants[RUNS_MAX];
    tt__problem p;
    TT_TRY(tt__matrix_problem(&p, problem));
    for (size_t i = 0; i < c->n; i++) {
        const tt__template *t = tt__template_set_find(set, c->kernels[i]);
        TT_TRY(tt__space_resolve(&candidates[i], t, gpu, &p, c->configs[i]));
        entrants[i] = &candidates[i].configuration;
    }
    TT_TRY(b->ops->problem(b, &p, tt__template_set_for(set, &p)));
    tt__rounds rounds = {ROUNDS, ROUNDS, seconds, LOADS, false, false};
    TT_TRY(tt__backend_finals(b, entrants, c->n, rounds, 0, 0, trials));
    for (size_t i = 0; i < c->n; i++)
        c->us[i][c->n_processes] = (float)tt__lower_mean(trials[i].samples_us, ROUNDS);
    c->n_processes++;
    return TT_OK;
}

/* The larger one; a value that is not a number was not measured. */
static double larger(double x, double most) {
    return isnan(most) || x <= most ? most : x;
}

/* Prints the winners of one size. Returns how much slower the slowest is than the fastest. */
static double print_contest(const tt_problem *p, const contest *c) {
    size_t best = 0, n = c->n_processes;
    double worst = 0;
    for (size_t i = 1; i < c->n; i++)
        if (tt__midmean(c->us[i], n) < tt__midmean(c->us[best], n))
            best = i;
    printf("%lld x %lld: %zu different winners\n", (long long)p->rows, (long long)p->cols, c->n);
    for (size_t i = 0; i < c->n; i++) {
        tt__ratio r = tt__paired_ratio(c->us[i], c->us[best], n);
        double us = tt__midmean(c->us[i], n), behind = us / tt__midmean(c->us[best], n) - 1;
        printf("  %2d times  %9.3f us  %+.3f %% (%+.3f to %+.3f)  %s %s\n", c->times_won[i], us, 100 * behind,
               100 * (r.low - 1), 100 * (r.high - 1), c->kernels[i], c->configs[i]);
        worst = larger(behind, worst);
    }
    return worst;
}

/* One winner alone is measured once, for its time. */
static bool is_due(const contest *c) {
    return c->n > 1 || c->n_processes == 0;
}

static bool any_is_due(const options *o, const contest *contests) {
    for (size_t i = 0; i < o->n_sizes; i++)
        if (is_due(&contests[i]))
            return true;
    return false;
}

/* All sizes, in a GPU worker of their own. */
static tt_status measure_in(tt__store *store, const tt__template_set *set, const options *o,
                            contest *contests) {
    tt__backend *backend;
    tt__gpu gpu;
    tt__env env;
    tt_status status;
    TT_TRY(tt__backend_gpu(&backend, &(tt__backend_gpu_opts){.devices = &o->device,
                                                             .n_devices = 1,
                                                             .trial_timeout_s = 10,
                                                             .compile_timeout_s = 60,
                                                             .store = store}));
    TT_GOTO(backend->ops->hello(backend, &gpu, &env));
    for (size_t i = 0; i < o->n_sizes; i++)
        if (is_due(&contests[i]))
            TT_GOTO(measure(backend, set, &gpu, &o->problems[i], &contests[i]));
out:
    backend->ops->close(backend);
    return status;
}

static tt_status measure_all(const options *o, const char *db, contest *contests) {
    tt__store *store = NULL;
    tt__template_set set = {0};
    tt_status status;
    TT_GOTO(tt__store_open(&store, db, TT__STORE_READ_WRITE));
    TT_GOTO(tt__template_set_open(&set, NULL, 0));
    for (int i = 0; i < PROCESSES && any_is_due(o, contests); i++)
        TT_GOTO(measure_in(store, &set, o, contests));
out:
    tt__template_set_close(&set);
    tt__store_close(&store);
    return status;
}

static const char usage[] =
    "usage: bench-stability [--sizes N,...] [--elem-size N] [--runs N] [--device N] [--keep]\n"
    "Tunes so many times (10) from empty stores, measures the winners against each other, and fails if they\n"
    "are more than 0.5 % apart. Sizes: 4096,8192 unless told; --keep leaves the stores where they are.\n";

/* -1: go on; else the exit status. */
static int parse(options *o, int argc, char **argv) {
    const char *list = "4096,8192";
    bench_sizes sizes;
    *o = (options){.runs = 10, .elem_size = 4};
    const bench_arg args[] = {{"sizes", BENCH_TEXT, &list},      {"runs", BENCH_INT, &o->runs},
                              {"device", BENCH_INT, &o->device}, {"elem-size", BENCH_INT, &o->elem_size},
                              {"keep", BENCH_FLAG, &o->keep},    {0}};
    const int done = bench_args_read(args, usage, argc, argv);
    if (done >= 0)
        return done;
    if (!bench_sizes_read(&sizes, list) || optind < argc || o->runs < 1 || o->runs > RUNS_MAX ||
        o->elem_size < 1)
        return bench_args_wrong(usage);
    for (; o->n_sizes < sizes.n; o->n_sizes++) {
        tt_problem *p = &o->problems[o->n_sizes];
        *p = (tt_problem)TT_INIT(tt_problem);
        p->rows = p->cols = sizes.items[o->n_sizes];
        p->elem_size = o->elem_size;
    }
    return -1;
}

int main(int argc, char **argv) {
    static contest contests[BENCH_SIZES_MAX];
    char folder[] = "/tmp/tiletune-stability-XXXXXX", db[64], command[80];
    options o;
    int code = parse(&o, argc, argv);
    if (code >= 0)
        return code;
    if (!mkdtemp(folder)) {
        perror("bench-stability: a folder in /tmp");
        return 1;
    }
    tt_status status = TT_OK;
    for (int i = 0; i < o.runs && status == TT_OK; i++) {
        snprintf(db, sizeof db, "%s/%d.db", folder, i);
        status = tune_once(&o, db, contests);
    }
    if (status == TT_OK)
        status = measure_all(&o, db, contests);
    code = status == TT_OK ? 0 : fail();
    double worst = 0;
    for (size_t i = 0; i < o.n_sizes && status == TT_OK; i++) {
        double apart = print_contest(&o.problems[i], &contests[i]);
        worst = larger(apart, worst);
    }
    if (status == TT_OK) {
        printf("the winners of %d runs are at most %.3f %% apart; target %.1f %%\n", o.runs, 100 * worst,
               100 * target);
        code = !(worst <= target);
    }
    if (o.keep)
        return code;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? code : 1;
}
