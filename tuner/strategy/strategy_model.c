/*
 * Follows the cost model, corrected by trials. The error of each template and parameter value moves the
 * prediction of all configurations that share it, and less if it is from few trials. Configurations far from
 * the best are left out.
 */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "tuner/strategy/strategy.h"

static const double hopeless = 1.25;  /* times the best */
static const double trust_after = 2;  /* with so many trials, half of a correction counts */
static const double opinion = 0.002;  /* random by seed, to break ties */
enum { PASSES = 2, LOOK_AROUND = 8 }; /* every 8th trial is random, because the model may be wrong */

typedef struct guided {
    uint64_t random;
    size_t named;
    double *prior, *predicted, *odds; /* one allocation */
} guided;

static void close_guided(void *self) {
    guided *g = self;
    if (!g)
        return;
    free(g->prior);
    free(g);
}

static tt_status open_guided(void **self, const tt__view *view, uint64_t seed) {
    size_t n = view->space->n;
    guided *g = *self = calloc(1, sizeof *g);
    if (!g)
        return tt__fail_memory(sizeof *g);
    g->random = seed;
    g->prior = calloc(3 * n, sizeof *g->prior);
    if (!g->prior)
        return tt__fail_memory(3 * n * sizeof *g->prior);
    g->predicted = g->prior + n;
    g->odds = g->prior + 2 * n;
    for (size_t i = 0; i < n; i++)
        g->prior[i] = view->model->log_time[i] + opinion * tt__random_unit(&g->random);
    return TT_OK;
}

/* Corrects the predictions in [first, end) by the mean error of tried members, for each value of parameter k.
 * After the last parameter, for all together. */
static void correct(guided *g, const tt__view *view, size_t first, size_t end, size_t k) {
    double sum[TT__VALUES_MAX] = {0}, n[TT__VALUES_MAX] = {0};
    bool all = k == view->space->items[first].t->n_params;
    for (size_t i = first; i < end; i++)
        if (tt__strategy_passed(view, i)) {
            size_t group = all ? 0 : view->space->items[i].choice[k];
            sum[group] += log(view->trials[i].time_us) - g->predicted[i];
            n[group]++;
        }
    for (size_t i = first; i < end; i++) {
        size_t group = all ? 0 : view->space->items[i].choice[k];
        g->predicted[i] += sum[group] / (n[group] + trust_after);
    }
}

/* Predicts logarithms of times. The offset common to all templates is computed from all trials. */
static void predict(guided *g, const tt__view *view) {
    const tt__space *space = view->space;
    double sum = 0, n = 0;
    for (size_t i = 0; i < space->n; i++)
        if (tt__strategy_passed(view, i)) {
            sum += log(view->trials[i].time_us) - g->prior[i];
            n++;
        }
    for (size_t i = 0; i < space->n; i++)
        g->predicted[i] = g->prior[i] + (n > 0 ? sum / n : 0);
    for (size_t first = 0, end; first < space->n; first = end) {
        end = tt__strategy_end_of_template(space, first);
        for (int pass = 0; pass < PASSES; pass++)
            for (size_t k = 0; k <= space->items[first].t->n_params; k++)
                correct(g, view, first, end, k);
    }
}

static tt_status next(int64_t *index, void *self, const tt__view *view) {
    guided *g = self;
    size_t at_start = 0;
    *index = tt__strategy_warm_start(view, &at_start);
    if (*index != TT__NOTHING)
        return TT_OK;
    int64_t fastest = tt__strategy_fastest(view);
    tt__strategy_odds(g->odds, view);
    predict(g, view);
    double limit = fastest != TT__NOTHING ? log(view->trials[fastest].time_us * hopeless) : INFINITY;
    bool look_around = ++g->named % LOOK_AROUND == 0;
    double least = INFINITY;
    for (size_t i = 0; i < view->space->n; i++) {
        double rank = look_around ? tt__random_unit(&g->random) : g->predicted[i] - log(g->odds[i]);
        if (view->known[i] == TT__UNTRIED && g->predicted[i] < limit && rank < least) {
            least = rank;
            *index = (int64_t)i;
        }
    }
    return TT_OK;
}

const tt__strategy tt__strategy_model = {
    .name = "model",
    .summary = "best first by a model of the launch that trials correct",
    .window = 8,
    .open = open_guided,
    .next = next,
    .close = close_guided,
};
