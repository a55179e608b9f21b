/*
 * bench-strategies: every search strategy searches recorded spaces with many seeds. It prints CSV: the
 * evaluations until within 5 % and 1 % of the fastest, and the best after some numbers of them.
 * bench/README.md has the options and columns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/args.h"
#include "bench/strategies.h"
#include "kernel/load/builtin.h"
#include "tuner/measure/noise.h"
#include "tuner/strategy/strategy.h"

/* Goals: the fastest's time over a configuration's. */
static const double near = 0.95, goal = 0.99;
/* The numbers of evaluations after which the best is printed. */
static const int marks[] = {20, 50, 100, 200};
enum {
    ROOM = 32, /* trials under way at once, as on a machine of 16 processors */
    MARKS = sizeof marks / sizeof *marks
};

typedef struct options {
    int seeds, evaluations, window, prior;
    const char *only, *kernel;
    bool fit, leave_out_elem_size, leave_out_size;
} options;

/* ---- One search ---- */

/* Runs a strategy as a search does. Trials come back in the order of their naming. best[k] becomes the best
 * time of k + 1 evaluations over the fastest's, or INFINITY. The strategy's time for an evaluation is added
 * to *seconds. If seen_us is not NULL, it gets the times of all trials. */
static tt_status replay(double *best, double *seconds, const bench_space *b, const tt__strategy *strategy,
                        bool warm, uint64_t seed, double *seen_us, const options *o) {
    size_t n = b->space.n, waiting[ROOM], n_waiting = 0;
    tt__known *known = calloc(n, sizeof *known);
    tt__view view = {.space = &b->space,
                     .model = &b->model,
                     .known = known,
                     .trials = b->trials,
                     .starts = b->starts,
                     .n_starts = warm && b->priors.n == 0 ? b->n_starts : 0,
                     .priors = warm ? &b->priors : NULL};
    void *self = NULL;
    int done = 0;
    double least = INFINITY, named_s = 0;
    tt_status status = known ? strategy->open(&self, &view, seed) : tt__fail_memory(n * sizeof *known);
    while (status == TT_OK && (least > 1 || seen_us) && done < o->evaluations) {
        int64_t index = TT__NOTHING;
        size_t window = o->window ? (size_t)o->window : tt__strategy_window(strategy, &view, (size_t)done, 0);
        window = window < ROOM ? window : ROOM;
        double before = tt__now_s();
        while (n_waiting < window && (status = strategy->next(&index, self, &view)) == TT_OK &&
               index != TT__NOTHING) {
            known[index] = TT__PENDING;
            waiting[n_waiting++] = (size_t)index;
        }
        named_s += tt__now_s() - before;
        if (status != TT_OK || n_waiting == 0)
            break;
        size_t i = waiting[0];
        memmove(waiting, waiting + 1, --n_waiting * sizeof *waiting);
        known[i] = TT__TRIED;
        if (seen_us)
            seen_us[i] = b->judged_us[i];
        if (b->trials[i].status == TT__TRIAL_OK)
            least = fmin(least, b->judged_us[i] / b->best_us);
        best[done++] = least;
    }
    *seconds += named_s / (done ? done : 1);
    for (; done < o->evaluations; done++) /* nothing changes any more */
        best[done] = least;
    strategy->close(self);
    free(known);
    return status;
}

/* ---- All seeds ---- */

/* Medians and 95th percentiles are over the seeds. INFINITY: more than were made. */
typedef struct outcome {
    double to_1[2], to_5[2]; /* evaluations to 1 and 5 %: the median, the 95th percentile */
    double in_5, in_1;       /* the share of the seeds that came so near in all evaluations, in per cent */
    double best[MARKS];      /* the best over the optimum at the marks, the median; NAN: fewer were made */
    double score, ms;        /* bench_score; the strategy's time for an evaluation */
} outcome;

static double quantile(double *values, size_t n, double q) {
    qsort(values, n, sizeof *values, tt__by_number);
    size_t at = (size_t)ceil(q * (double)n);
    return values[at > 0 ? at - 1 : 0];
}

/* The number of evaluations to a goal. */
static double needed(const double *best, int n, double to) {
    for (int k = 0; k < n; k++)
        if (1 / best[k] >= to)
            return k + 1;
    return INFINITY;
}

/* The curves of all seeds are one after the other; `values` has room for a number of each. */
static void judge(outcome *out, const bench_space *b, const double *curves, double *values,
                  const options *o) {
    const double goals[] = {near, goal};
    size_t seeds = (size_t)o->seeds, n = (size_t)o->evaluations;
    for (int g = 0; g < 2; g++) {
        double *to = g ? out->to_1 : out->to_5, *in = g ? &out->in_1 : &out->in_5;
        for (size_t s = 0; s < seeds; s++) {
            values[s] = needed(curves + s * n, o->evaluations, goals[g]);
            *in += isfinite(values[s]) ? 100.0 / o->seeds : 0;
        }
        to[0] = quantile(values, seeds, 0.5);
        to[1] = quantile(values, seeds, 0.95);
    }
    for (int m = 0; m < MARKS; m++) {
        out->best[m] = NAN;
        for (size_t s = 0; s < seeds && marks[m] <= o->evaluations; s++)
            values[s] = curves[s * n + (size_t)marks[m] - 1];
        if (marks[m] <= o->evaluations)
            out->best[m] = quantile(values, seeds, 0.5);
    }
    out->score = bench_score(b, curves, seeds, n);
}

static tt_status search(outcome *out, const bench_space *b, const tt__strategy *strategy, bool warm,
                        const options *o) {
    size_t seeds = (size_t)o->seeds, n = (size_t)o->evaluations;
    double *curves = calloc(seeds * (n + 1), sizeof *curves);
    tt_status status = curves ? TT_OK : tt__fail_memory(seeds * (n + 1) * sizeof *curves);
    *out = (outcome){0};
    for (size_t s = 0; s < seeds && status == TT_OK; s++)
        status = replay(curves + s * n, &out->ms, b, strategy, warm, s + 1, NULL, o);
    if (status == TT_OK)
        judge(out, b, curves, curves + seeds * n, o);
    out->ms *= 1e3 / o->seeds;
    free(curves);
    return status;
}

/* A search in each space, of which the others see the trials. */
static tt_status look_around(bench_spaces *s, const options *o) {
    options of_prior = *o;
    of_prior.evaluations = o->prior;
    double *curve = calloc((size_t)o->prior + 1, sizeof *curve), seconds = 0;
    tt_status status = curve ? TT_OK : tt__fail_memory((size_t)o->prior * sizeof *curve);
    for (size_t i = 0; i < s->n && status == TT_OK; i++) {
        bench_space *b = &s->items[i];
        b->seen_us = calloc(b->space.n + 1, sizeof *b->seen_us);
        status = b->seen_us
                     ? replay(curve, &seconds, b, &tt__strategy_surrogate, false, 1, b->seen_us, &of_prior)
                     : tt__fail_memory(b->space.n * sizeof *b->seen_us);
    }
    free(curve);
    return status;
}

/* ---- What it prints ---- */

/* ",NUMBER" for each */
static void put(FILE *to, const double *numbers, int n, int digits) {
    for (int i = 0; i < n; i++)
        if (isfinite(numbers[i]))
            fprintf(to, ",%.*f", digits, numbers[i]);
        else
            fputs(",-", to);
}

static void put_space(const bench_space *b) {
    printf("%s,%s", b->gpu.name, b->problem.op);
    if (b->matrix.rows)
        printf(",%d,%lld,%lld", b->matrix.elem_size, (long long)b->matrix.rows, (long long)b->matrix.cols);
    else
        printf(",-,-,-");
    printf(",%zu,%zu", b->space.n, b->n_good);
}

/* A line for each space. To stderr go the worst of all spaces, and the mean. */
static tt_status compare(const bench_spaces *s, const tt__strategy *strategy, const options *o) {
    outcome r[2], worst[2] = {0};
    double mean[2 + MARKS + 2] = {0}; /* in_5, in_1, best, score, ms */
    for (size_t i = 0; i < s->n; i++) {
        const bench_space *b = &s->items[i];
        put_space(b);
        printf(",%s", strategy->name);
        for (int warm = 0; warm < 2; warm++) {
            if (warm == 0 || b->n_starts)
                TT_TRY(search(&r[warm], b, strategy, warm, o));
            else
                r[1] = r[0];
            for (int q = 0; q < 2; q++)
                worst[warm].to_1[q] = fmax(worst[warm].to_1[q], r[warm].to_1[q]);
            put(stdout, r[warm].to_1, 2, 0);
        }
        put(stdout, r[0].to_5, 2, 0);
        put(stdout, (double[]){r[0].in_5, r[0].in_1}, 2, 0);
        put(stdout, r[0].best, MARKS, 4);
        put(stdout, (double[]){r[0].score, r[0].ms}, 2, 3);
        put(stdout, r[1].to_5, 2, 0);
        printf("\n");
        fflush(stdout);
        const double its[] = {r[0].in_5,    r[0].in_1,    r[0].best[0], r[0].best[1],
                              r[0].best[2], r[0].best[3], r[0].score,   r[0].ms};
        for (size_t k = 0; k < sizeof its / sizeof *its; k++)
            mean[k] += its[k] / (double)s->n;
    }
    fprintf(stderr, "%s, worst of all spaces (cold,95 %%,warm,95 %%)", strategy->name);
    put(stderr, worst[0].to_1, 2, 0);
    put(stderr, worst[1].to_1, 2, 0);
    fprintf(stderr, "\n%s, mean of all spaces (in 5 %%,in 1 %%,best after 20,50,100,200,score,ms)",
            strategy->name);
    put(stderr, mean, 2, 0);
    put(stderr, mean + 2, MARKS, 4);
    put(stderr, mean + 2 + MARKS, 2, 3);
    fprintf(stderr, "\n");
    return TT_OK;
}

/* ---- Weights ---- */

static void print_fit(const bench_spaces *s) {
    double weights[TT__COSTS];
    bench_fit(weights, s, NULL, false);
    for (int k = 0; k < TT__COSTS; k++)
        fprintf(stderr, "%-12s fitted %8.4f   used %8.4f\n", tt__cost_names[k], weights[k],
                tt__cost_weights[k]);
}

/* Gives each space a model that was fitted to the others. */
static tt_status hold_out(bench_spaces *s, bool by_size) {
    for (size_t i = 0; i < s->n; i++) {
        bench_space *b = &s->items[i];
        double weights[TT__COSTS];
        tt__cost_model held_out;
        bench_fit(weights, s, b, by_size);
        tt_status status = tt__cost_model_open(&held_out, &b->space, &b->gpu, &b->problem, weights);
        tt__cost_model_close(status == TT_OK ? &b->model : &held_out);
        TT_TRY(status);
        b->model = held_out;
    }
    return TT_OK;
}

/* ---- The program ---- */

static tt_status run(const options *o, char **paths, int n_paths, bench_spaces *s) {
    tt__template_set templates;
    tt_status status = tt__template_set_open(&templates, &o->kernel, o->kernel ? 1 : 0);
    const tt__template *of = o->kernel && status == TT_OK ? templates.items[templates.n - 1] : NULL;
    for (int i = 0; i < n_paths && status == TT_OK; i++)
        status = of ? bench_spaces_add_own(s, of, paths[i]) : bench_spaces_add(s, &templates, paths[i]);
    if (status == TT_OK && s->n == 0)
        status = tt__fail(TT_E_INVALID, "the recordings have no %s", of ? of->kernel : "transpose");
    if (status == TT_OK)
        status = bench_spaces_prepare(s);
    if (status == TT_OK && o->prior)
        status = look_around(s, o);
    if (status == TT_OK)
        status = bench_spaces_share(s);
    if (status == TT_OK && o->fit)
        print_fit(s);
    if (status == TT_OK && (o->leave_out_elem_size || o->leave_out_size))
        status = hold_out(s, o->leave_out_size);
    if (status == TT_OK)
        printf(
            "gpu,op,elem_size,rows,cols,space,good,strategy,cold,cold_95,warm,warm_95,near,near_95,in_5,in_1,"
            "best_20,best_50,best_100,best_200,score,ms,warm_near,warm_near_95\n");
    const tt__strategy *strategy;
    for (size_t k = 0; status == TT_OK && (strategy = tt__strategy_at(k)); k++)
        if (!o->only || strcmp(o->only, strategy->name) == 0)
            status = compare(s, strategy, o);
    bench_spaces_free(s);
    tt__template_set_close(&templates);
    return status;
}

int main(int argc, char **argv) {
    static const char usage[] =
        "usage: bench-strategies [--seeds N] [--evaluations N] [--window N] [--strategy NAME]\n"
        "                        [--kernel FILE.cu] [--prior N] [--fit] [--leave-out elem-size|size] "
        "RECORDING...\n";
    options o = {.seeds = 100, .evaluations = 100};
    bench_spaces spaces = {0};
    const char *left_out = "";
    const bench_arg args[] = {{"seeds", BENCH_INT, &o.seeds},
                              {"evaluations", BENCH_INT, &o.evaluations},
                              {"window", BENCH_INT, &o.window},
                              {"prior", BENCH_INT, &o.prior},
                              {"strategy", BENCH_TEXT, &o.only},
                              {"kernel", BENCH_TEXT, &o.kernel},
                              {"fit", BENCH_FLAG, &o.fit},
                              {"leave-out", BENCH_TEXT, &left_out},
                              {0}};
    const int done = bench_args_read(args, usage, argc, argv);
    if (done >= 0)
        return done;
    o.leave_out_elem_size = strcmp(left_out, "elem-size") == 0;
    o.leave_out_size = strcmp(left_out, "size") == 0;
    if ((*left_out && !o.leave_out_elem_size && !o.leave_out_size) || optind == argc || o.seeds < 1 ||
        o.evaluations < 1 || o.window < 0 || o.prior < 0)
        return bench_args_wrong(usage);
    const tt__strategy *only;
    tt_status status = o.only ? tt__strategy_find(&only, o.only) : TT_OK;
    if (status == TT_OK && run(&o, argv + optind, argc - optind, &spaces) == TT_OK)
        return 0;
    fprintf(stderr, "bench-strategies: %s\n", tt_last_error());
    return 1;
}
