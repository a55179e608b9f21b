/*
 * bench-strategies: lets every search strategy search recorded spaces with many seeds, and says how many
 * evaluations each needs to come within 1 % of the fastest. bench/README.md has the options.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/strategies.h"

static const double goal = 0.99;
enum { ROOM = 32 }; /* trials under way at once, as on a machine of 16 processors */

typedef struct options {
    int seeds, evaluations, window;
    const char *output, *only;
    bool fit, leave_out_elem_size, leave_out_size;
} options;

/* ---- One search ---- */

/* Runs a strategy as a search does, trials coming back in the order they were named; `reached` gets the part
 * of the optimum after each evaluation, and stays where it is when the strategy has had enough. */
static tt_status replay(double *reached, const bench_space *b, const tt__strategy *strategy, bool warm,
                        uint64_t seed, const options *o) {
    size_t n = b->space.n, waiting[ROOM], n_waiting = 0;
    tt__known *known = calloc(n, sizeof *known);
    tt__view view = {.space = &b->space,
                     .walk = &b->walk,
                     .model = &b->model,
                     .known = known,
                     .trials = b->trials,
                     .starts = b->starts,
                     .n_starts = warm ? b->n_starts : 0};
    void *self = NULL;
    double best = 0;
    int done = 0;
    tt_status status = known ? strategy->open(&self, &view, seed) : tt__fail_memory(n * sizeof *known);
    while (status == TT_OK && done < o->evaluations) {
        int64_t index = TT__NOTHING;
        size_t window = o->window ? (size_t)o->window : tt__strategy_window(strategy, (size_t)done);
        window = window < ROOM ? window : ROOM;
        while (n_waiting < window && (status = strategy->next(&index, self, &view)) == TT_OK &&
               index != TT__NOTHING) {
            known[index] = TT__PENDING;
            waiting[n_waiting++] = (size_t)index;
        }
        if (status != TT_OK || n_waiting == 0)
            break;
        size_t i = waiting[0];
        memmove(waiting, waiting + 1, --n_waiting * sizeof *waiting);
        known[i] = TT__TRIED;
        if (b->trials[i].status == TT__TRIAL_OK)
            best = fmax(best, b->best_us / b->judged_us[i]);
        reached[done++] = best;
    }
    for (; done < o->evaluations; done++)
        reached[done] = best;
    strategy->close(self);
    free(known);
    return status;
}

/* ---- All seeds ---- */

typedef struct outcome {
    double median,
        late; /* evaluations until the goal, median and 95th percentile; INFINITY: not within them */
    double *at_median, *at_worse; /* part of the optimum by evaluation: median, and 5th percentile */
} outcome;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, size_t n, double q) {
    qsort(values, n, sizeof *values, by_value);
    size_t at = (size_t)ceil(q * (double)n);
    return values[at > 0 ? at - 1 : 0];
}

static tt_status search(outcome *out, const bench_space *b, const tt__strategy *strategy, bool warm,
                        const options *o) {
    size_t seeds = (size_t)o->seeds, length = (size_t)o->evaluations;
    double *reached = calloc(seeds * length, sizeof *reached), *column = calloc(seeds, sizeof *column);
    tt_status status = reached && column ? TT_OK : tt__fail_memory(seeds * length * sizeof *reached);
    for (size_t s = 0; s < seeds && status == TT_OK; s++)
        status = replay(reached + s * length, b, strategy, warm, s + 1, o);
    for (size_t s = 0; s < seeds && status == TT_OK; s++) {
        size_t e = 0;
        while (e < length && reached[s * length + e] < goal)
            e++;
        column[s] = e < length ? (double)e + 1 : INFINITY;
    }
    if (status == TT_OK) {
        out->median = quantile(column, seeds, 0.5);
        out->late = quantile(column, seeds, 0.95);
    }
    for (size_t e = 0; e < length && status == TT_OK; e++) {
        for (size_t s = 0; s < seeds; s++)
            column[s] = reached[s * length + e];
        out->at_median[e] = quantile(column, seeds, 0.5);
        out->at_worse[e] = quantile(column, seeds, 0.05);
    }
    free(reached);
    free(column);
    return status;
}

/* ---- What it prints ---- */

static const char *count(char out[16], double evaluations) {
    if (isinf(evaluations))
        snprintf(out, 16, "-");
    else
        snprintf(out, 16, "%.0f", evaluations);
    return out;
}

/* A line for each evaluation up to 10, then for every fifth. */
static void write_curve(FILE *to, const bench_space *b, const char *strategy, bool warm, const outcome *r,
                        const options *o) {
    const tt__problem *p = &b->problem;
    for (int e = 1; to && e <= o->evaluations; e += e < 10 ? 1 : 5)
        fprintf(to, "%s,%d,%lld,%lld,%s,%s,%d,%.4f,%.4f\n", b->gpu.name, p->elem_size, (long long)p->rows,
                (long long)p->cols, strategy, warm ? "warm" : "cold", e, r->at_median[e - 1],
                r->at_worse[e - 1]);
}

static tt_status compare(const bench_spaces *s, const tt__strategy *strategy, bool warm, FILE *curves,
                         const options *o) {
    outcome r = {.at_median = calloc((size_t)o->evaluations, sizeof(double)),
                 .at_worse = calloc((size_t)o->evaluations, sizeof(double))};
    double *medians = calloc(s->n, sizeof *medians), *lates = calloc(s->n, sizeof *lates);
    tt_status status = r.at_median && r.at_worse && medians && lates
                           ? TT_OK
                           : tt__fail_memory((size_t)o->evaluations * sizeof(double));
    char a[16], b[16];
    for (size_t i = 0; i < s->n && status == TT_OK; i++) {
        const bench_space *space = &s->items[i];
        status = search(&r, space, strategy, warm, o);
        if (status != TT_OK)
            break;
        medians[i] = r.median;
        lates[i] = r.late;
        write_curve(curves, space, strategy->name, warm, &r, o);
        printf("%-11s %-5s %2d  %5lldx%-5lld %5zu %4zu %7s %7s\n", strategy->name, warm ? "warm" : "cold",
               space->problem.elem_size, (long long)space->problem.rows, (long long)space->problem.cols,
               space->space.n, space->n_good, count(a, r.median), count(b, r.late));
    }
    if (status == TT_OK)
        printf("%-11s %-5s worst of all spaces              %7s %7s\n\n", strategy->name,
               warm ? "warm" : "cold", count(a, quantile(medians, s->n, 1)),
               count(b, quantile(lates, s->n, 1)));
    fflush(stdout);
    free(r.at_median);
    free(r.at_worse);
    free(medians);
    free(lates);
    return status;
}

/* ---- Weights ---- */

static void print_fit(const bench_spaces *s) {
    double weights[TT__COSTS];
    bench_fit(weights, s, NULL, false);
    for (int k = 0; k < TT__COSTS; k++)
        printf("%-12s fitted %8.4f   used %8.4f\n", tt__cost_names[k], weights[k], tt__cost_weights[k]);
    printf("\n");
}

/* Gives each space a model that was fitted to the others. */
static tt_status hold_out(bench_spaces *s, bool by_size) {
    for (size_t i = 0; i < s->n; i++) {
        bench_space *b = &s->items[i];
        double weights[TT__COSTS];
        tt__model held_out;
        bench_fit(weights, s, b, by_size);
        tt_status status = tt__model_open(&held_out, &b->space, &b->gpu, &b->problem, &b->walk, weights);
        tt__model_close(status == TT_OK ? &b->model : &held_out);
        TT_TRY(status);
        b->model = held_out;
    }
    return TT_OK;
}

/* ---- The program ---- */

static tt_status run(const options *o, char **paths, int n_paths, bench_spaces *s) {
    tt__template_set templates;
    FILE *curves = NULL;
    tt_status status = tt__template_set_open(&templates, NULL, 0);
    for (int i = 0; i < n_paths && status == TT_OK; i++)
        status = bench_spaces_add(s, &templates, paths[i]);
    if (status == TT_OK && s->n == 0)
        status = tt__fail(TT_E_INVALID, "the recordings have no transpose");
    if (status == TT_OK)
        status = bench_spaces_prepare(s);
    if (status == TT_OK && o->fit)
        print_fit(s);
    if (status == TT_OK && (o->leave_out_elem_size || o->leave_out_size))
        status = hold_out(s, o->leave_out_size);
    if (status == TT_OK && o->output && !(curves = fopen(o->output, "w")))
        status = tt__fail(TT_E_IO, "%s: cannot be written", o->output);
    if (curves)
        fprintf(curves, "gpu,elem_size,rows,cols,strategy,starts,evaluations,median,p5\n");
    printf("%-11s %-5s %2s  %-11s %5s %4s %7s %7s\n", "strategy", "start", "B", "size", "space", "good",
           "median", "95th");
    const tt__strategy *strategy;
    for (size_t k = 0; status == TT_OK && (strategy = tt__strategy_at(k)); k++)
        for (int warm = 0; warm < 2 && status == TT_OK; warm++)
            if (!o->only || strcmp(o->only, strategy->name) == 0)
                status = compare(s, strategy, warm, curves, o);
    if (curves && fclose(curves) != 0 && status == TT_OK)
        status = tt__fail(TT_E_IO, "%s: cannot be written", o->output);
    bench_spaces_free(s);
    tt__template_set_close(&templates);
    return status;
}

int main(int argc, char **argv) {
    static const struct option longs[] = {
        {"seeds", required_argument, NULL, 's'},     {"evaluations", required_argument, NULL, 'e'},
        {"window", required_argument, NULL, 'w'},    {"strategy", required_argument, NULL, 'n'},
        {"output", required_argument, NULL, 'o'},    {"fit", no_argument, NULL, 'f'},
        {"leave-out", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
    options o = {.seeds = 100, .evaluations = 100};
    bench_spaces spaces = {0};
    bool good = true;
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        good &= c != '?';
        o.seeds = c == 's' ? atoi(optarg) : o.seeds;
        o.evaluations = c == 'e' ? atoi(optarg) : o.evaluations;
        o.window = c == 'w' ? atoi(optarg) : o.window;
        o.only = c == 'n' ? optarg : o.only;
        o.output = c == 'o' ? optarg : o.output;
        o.fit |= c == 'f';
        o.leave_out_elem_size |= c == 'l' && strcmp(optarg, "elem-size") == 0;
        o.leave_out_size |= c == 'l' && strcmp(optarg, "size") == 0;
        good &= c != 'l' || o.leave_out_elem_size || o.leave_out_size;
    }
    if (!good || optind == argc || o.seeds < 1 || o.evaluations < 1 || o.window < 0) {
        fputs("usage: bench-strategies [--seeds N] [--evaluations N] [--window N] [--strategy NAME] "
              "[--output CSV]\n"
              "                        [--fit] [--leave-out elem-size|size] RECORDING...\n",
              stderr);
        return 2;
    }
    const tt__strategy *only;
    tt_status status = o.only ? tt__strategy_find(&only, o.only) : TT_OK;
    if (status == TT_OK && run(&o, argv + optind, argc - optind, &spaces) == TT_OK)
        return 0;
    fprintf(stderr, "bench-strategies: %s\n", tt_last_error());
    return 1;
}
