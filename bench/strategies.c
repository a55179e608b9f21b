/*
 * bench-strategies: every search strategy searches recorded spaces with many seeds. Prints how many
 * evaluations each needs to come within 1 % of the fastest, as CSV. bench/README.md has the options.
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
    const char *only;
    bool fit, leave_out_elem_size, leave_out_size;
} options;

/* ---- One search ---- */

/* Runs a strategy as a search does. Trials come back in the order in which they were named. *needed is the
 * number of evaluations until the goal is reached, or INFINITY. */
static tt_status replay(double *needed, const bench_space *b, const tt__strategy *strategy, bool warm,
                        uint64_t seed, const options *o) {
    size_t n = b->space.n, waiting[ROOM], n_waiting = 0;
    tt__known *known = calloc(n, sizeof *known);
    tt__view view = {.space = &b->space,
                     .points = &b->points,
                     .model = &b->model,
                     .known = known,
                     .trials = b->trials,
                     .starts = b->starts,
                     .n_starts = warm ? b->n_starts : 0};
    void *self = NULL;
    *needed = INFINITY;
    tt_status status = known ? strategy->open(&self, &view, seed) : tt__fail_memory(n * sizeof *known);
    for (int done = 0; status == TT_OK && isinf(*needed) && done < o->evaluations; done++) {
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
        if (b->trials[i].status == TT__TRIAL_OK && b->best_us / b->judged_us[i] >= goal)
            *needed = done + 1;
    }
    strategy->close(self);
    free(known);
    return status;
}

/* ---- All seeds ---- */

typedef struct outcome { /* evaluations that are needed, over the seeds; INFINITY: more than were made */
    double median, late; /* late: the 95th percentile */
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
    size_t seeds = (size_t)o->seeds;
    double *needed = calloc(seeds, sizeof *needed);
    tt_status status = needed ? TT_OK : tt__fail_memory(seeds * sizeof *needed);
    for (size_t s = 0; s < seeds && status == TT_OK; s++)
        status = replay(&needed[s], b, strategy, warm, s + 1, o);
    if (status == TT_OK)
        *out = (outcome){.median = quantile(needed, seeds, 0.5), .late = quantile(needed, seeds, 0.95)};
    free(needed);
    return status;
}

/* ---- What it prints ---- */

/* ",MEDIAN,LATE" */
static void put(FILE *to, const outcome *r) {
    const double numbers[] = {r->median, r->late};
    for (int i = 0; i < 2; i++)
        if (isinf(numbers[i]))
            fputs(",-", to);
        else
            fprintf(to, ",%.0f", numbers[i]);
}

/* A line for each space, cold and warm. The worst of all spaces goes to stderr. */
static tt_status compare(const bench_spaces *s, const tt__strategy *strategy, const options *o) {
    outcome r[2], worst[2] = {{0}};
    for (size_t i = 0; i < s->n; i++) {
        const bench_space *b = &s->items[i];
        printf("%s,%d,%lld,%lld,%zu,%zu,%s", b->gpu.name, b->matrix.elem_size, (long long)b->matrix.rows,
               (long long)b->matrix.cols, b->space.n, b->n_good, strategy->name);
        for (int warm = 0; warm < 2; warm++) {
            TT_TRY(search(&r[warm], b, strategy, warm, o));
            worst[warm].median = fmax(worst[warm].median, r[warm].median);
            worst[warm].late = fmax(worst[warm].late, r[warm].late);
            put(stdout, &r[warm]);
        }
        printf("\n");
        fflush(stdout);
    }
    fprintf(stderr, "%s, worst of all spaces (cold,95 %%,warm,95 %%)", strategy->name);
    put(stderr, &worst[0]);
    put(stderr, &worst[1]);
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
        tt_status status =
            tt__cost_model_open(&held_out, &b->space, &b->gpu, &b->problem, &b->points, weights);
        tt__cost_model_close(status == TT_OK ? &b->model : &held_out);
        TT_TRY(status);
        b->model = held_out;
    }
    return TT_OK;
}

/* ---- The program ---- */

static tt_status run(const options *o, char **paths, int n_paths, bench_spaces *s) {
    tt__template_set templates;
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
    if (status == TT_OK)
        printf("gpu,elem_size,rows,cols,space,good,strategy,cold,cold_95,warm,warm_95\n");
    const tt__strategy *strategy;
    for (size_t k = 0; status == TT_OK && (strategy = tt__strategy_at(k)); k++)
        if (!o->only || strcmp(o->only, strategy->name) == 0)
            status = compare(s, strategy, o);
    bench_spaces_free(s);
    tt__template_set_close(&templates);
    return status;
}

int main(int argc, char **argv) {
    static const struct option longs[] = {{"seeds", required_argument, NULL, 's'},
                                          {"evaluations", required_argument, NULL, 'e'},
                                          {"window", required_argument, NULL, 'w'},
                                          {"strategy", required_argument, NULL, 'n'},
                                          {"fit", no_argument, NULL, 'f'},
                                          {"leave-out", required_argument, NULL, 'l'},
                                          {NULL, 0, NULL, 0}};
    options o = {.seeds = 100, .evaluations = 100};
    bench_spaces spaces = {0};
    bool good = true;
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        good &= c != '?';
        o.seeds = c == 's' ? atoi(optarg) : o.seeds;
        o.evaluations = c == 'e' ? atoi(optarg) : o.evaluations;
        o.window = c == 'w' ? atoi(optarg) : o.window;
        o.only = c == 'n' ? optarg : o.only;
        o.fit |= c == 'f';
        o.leave_out_elem_size |= c == 'l' && strcmp(optarg, "elem-size") == 0;
        o.leave_out_size |= c == 'l' && strcmp(optarg, "size") == 0;
        good &= c != 'l' || o.leave_out_elem_size || o.leave_out_size;
    }
    if (!good || optind == argc || o.seeds < 1 || o.evaluations < 1 || o.window < 0) {
        fputs("usage: bench-strategies [--seeds N] [--evaluations N] [--window N] [--strategy NAME]\n"
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
