/*
 * The model's order, corrected by the trials as they come in: what each template and each value of its
 * parameters took more, or less, than predicted, moves all that share it. A correction from few trials counts
 * for little. What then cannot come near the best is left out.
 */
#include <math.h>
#include <stdlib.h>

#include "tuner/random.h"
#include "tuner/strategy.h"

static const double hopeless = 1.25;  /* times the best */
static const double trust_after = 2;  /* trials until a correction counts half */
static const double opinion = 0.002;  /* a seed's, to break ties */
enum { PASSES = 2, LOOK_AROUND = 8 }; /* every 8th trial goes anywhere: the model may be wrong */

typedef struct guided {
    uint64_t random;
    size_t named;
    double *prior, *predicted;
} guided;

static void close_guided(void *self) {
    guided *g = self;
    if (!g)
        return;
    free(g->prior);
    free(g->predicted);
    free(g);
}

static tt_status open_guided(void **self, const tt__view *view, uint64_t seed) {
    size_t n = view->space->n;
    guided *g = *self = calloc(1, sizeof *g);
    if (!g)
        return tt__fail_memory(sizeof *g);
    g->random = seed;
    g->prior = calloc(n, sizeof *g->prior);
    g->predicted = calloc(n, sizeof *g->predicted);
    if (!g->prior || !g->predicted)
        return tt__fail_memory(n * sizeof *g->prior);
    for (size_t i = 0; i < n; i++)
        g->prior[i] = view->model->log_time[i] + opinion * tt__random_unit(&g->random);
    return TT_OK;
}

/* Moves what is predicted of [first, end) by what its tried members took beyond that, for each group apart. A
 * group has one value of parameter k, or, for k behind the last, is all there is. */
static void correct(guided *g, const tt__view *view, size_t first, size_t end, size_t k, double slowest_us) {
    double sum[TT__VALUES_MAX] = {0}, n[TT__VALUES_MAX] = {0};
    bool all = k == view->space->items[first].t->n_params;
    for (size_t i = first; i < end; i++)
        if (view->known[i] == TT__TRIED) {
            size_t group = all ? 0 : view->walk->points[i][k];
            sum[group] += tt__strategy_log_time(&view->trials[i], slowest_us) - g->predicted[i];
            n[group]++;
        }
    for (size_t i = first; i < end; i++) {
        size_t group = all ? 0 : view->walk->points[i][k];
        g->predicted[i] += sum[group] / (n[group] + trust_after);
    }
}

/* Predictions are of logarithms of times; what all templates share is taken from all trials together. */
static void predict(guided *g, const tt__view *view, double slowest_us) {
    const tt__space *space = view->space;
    double sum = 0, n = 0;
    for (size_t i = 0; i < space->n; i++)
        if (view->known[i] == TT__TRIED) {
            sum += tt__strategy_log_time(&view->trials[i], slowest_us) - g->prior[i];
            n++;
        }
    for (size_t i = 0; i < space->n; i++)
        g->predicted[i] = g->prior[i] + (n > 0 ? sum / n : 0);
    for (size_t first = 0, end; first < space->n; first = end) {
        for (end = first + 1; end < space->n && space->items[end].t == space->items[first].t; end++)
            ;
        for (int pass = 0; pass < PASSES; pass++)
            for (size_t k = 0; k <= space->items[first].t->n_params; k++)
                correct(g, view, first, end, k, slowest_us);
    }
}

static tt_status next(int64_t *index, void *self, const tt__view *view) {
    guided *g = self;
    double fastest_us, slowest_us;
    size_t at_start = 0;
    *index = tt__strategy_start(view, &at_start);
    if (*index != TT__NOTHING)
        return TT_OK;
    tt__strategy_range(view, &fastest_us, &slowest_us);
    predict(g, view, slowest_us);
    double limit = fastest_us > 0 ? log(fastest_us * hopeless) : INFINITY;
    bool look_around = ++g->named % LOOK_AROUND == 0;
    double least = INFINITY;
    for (size_t i = 0; i < view->space->n; i++) {
        double rank = look_around ? tt__random_unit(&g->random) : g->predicted[i];
        if (view->known[i] == TT__UNTRIED && g->predicted[i] < limit && rank < least) {
            least = rank;
            *index = (int64_t)i;
        }
    }
    return TT_OK;
}

const tt__strategy tt__strategy_model = {
    "model", "best first by a model of the launch that trials correct", 8, open_guided, next, close_guided,
};
