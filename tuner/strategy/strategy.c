/*
 * The table of strategies, functions that several of them share, and all of them but the surrogate.
 */
#include "tuner/strategy/strategy.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/str.h"
#include "tuner/strategy/surrogate.h"

bool tt__strategy_modelled(const tt__view *view) {
    return view->space->n > 0 && view->space->items[0].t->operation->moves;
}

size_t tt__strategy_window(const tt__strategy *s, const tt__view *view, size_t n_tried, size_t n_compilers) {
    if (s->window == SIZE_MAX)
        return SIZE_MAX;
    if (tt__strategy_modelled(view))
        return s->window + n_tried / 4;
    return s->window > n_compilers ? s->window : n_compilers;
}

bool tt__strategy_passed(const tt__view *view, size_t index) {
    return view->known[index] == TT__TRIED && view->trials[index].status == TT__TRIAL_OK &&
           view->trials[index].time_us > 0;
}

size_t tt__strategy_leaders(size_t *out, size_t most, const tt__view *view) {
    size_t n = 0;
    for (size_t i = 0; i < view->space->n; i++) {
        if (!tt__strategy_passed(view, i))
            continue;
        size_t k = n;
        for (; k > 0 && view->trials[i].time_us < view->trials[out[k - 1]].time_us; k--)
            out[k] = out[k - 1];
        out[k] = i;
        n += n < most;
    }
    return n;
}

int64_t tt__strategy_fastest(const tt__view *view) {
    size_t leaders[2];
    return tt__strategy_leaders(leaders, 1, view) ? (int64_t)leaders[0] : TT__NOTHING;
}

/* Lowers the odds in [first, end), one template's configurations, by the share that passed among those with
 * the same value of parameter k. After the last parameter, all form one group. */
static void lower_odds(double *odds, const tt__view *view, size_t first, size_t end, size_t k) {
    double tried[TT__VALUES_MAX] = {0}, passed[TT__VALUES_MAX] = {0};
    bool all = k == view->space->items[first].t->n_params;
    for (size_t i = first; i < end; i++) {
        size_t group = all ? 0 : view->space->items[i].choice[k];
        tried[group] += view->known[i] == TT__TRIED;
        passed[group] += tt__strategy_passed(view, i);
    }
    for (size_t i = first; i < end; i++) {
        size_t group = all ? 0 : view->space->items[i].choice[k];
        odds[i] = fmin(odds[i], (passed[group] + 1) / (tried[group] + 1));
    }
}

typedef struct ranked {
    double log_time;
    size_t index;
} ranked;

static int by_time(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->log_time < y->log_time ? -1 : x->log_time > y->log_time ? 1 : x->index < y->index ? -1 : 1;
}

tt_status tt__strategy_rank(size_t **out, size_t *n, const tt__space *space, const tt__known *known,
                            const tt__cost_model *model) {
    ranked *order = calloc(space->n, sizeof *order);
    *n = 0;
    *out = calloc(space->n, sizeof **out);
    if (!order || !*out) {
        free(order);
        return tt__fail_memory(space->n * sizeof *order);
    }
    for (size_t i = 0; i < space->n; i++)
        if (known[i] == TT__UNTRIED)
            order[(*n)++] = (ranked){model->log_time[i], i};
    qsort(order, *n, sizeof *order, by_time);
    for (size_t i = 0; i < *n; i++)
        (*out)[i] = order[i].index;
    free(order);
    return TT_OK;
}

void tt__strategy_odds(double *odds, const tt__view *view) {
    const tt__space *space = view->space;
    bool failed = false;
    for (size_t i = 0; i < space->n; i++) {
        odds[i] = 1;
        failed |= view->known[i] == TT__TRIED && !tt__strategy_passed(view, i);
    }
    if (!failed)
        return;
    for (size_t first = 0, end; first < space->n; first = end) {
        end = tt__space_end_of_template(space, first);
        for (size_t k = 0; k <= space->items[first].t->n_params; k++)
            lower_odds(odds, view, first, end, k);
    }
}

int64_t tt__strategy_any(const tt__view *view, uint64_t *random) {
    size_t n = 0, i = 0;
    for (size_t k = 0; k < view->space->n; k++)
        n += view->known[k] == TT__UNTRIED;
    if (n == 0)
        return TT__NOTHING;
    for (size_t skip = tt__random_below(random, n); view->known[i] != TT__UNTRIED || skip-- > 0;)
        i++;
    return (int64_t)i;
}

int64_t tt__strategy_warm_start(const tt__view *view, size_t *at) {
    while (*at < view->n_starts) {
        size_t i = view->starts[(*at)++];
        if (view->known[i] == TT__UNTRIED)
            return (int64_t)i;
    }
    return TT__NOTHING;
}

/* ---- Everything, in the order of the space or in random order ------------------------------------------ */

static tt_status open_state(void **self, const tt__view *view, uint64_t seed) {
    (void)view;
    uint64_t *state = *self = malloc(sizeof *state);
    if (!state)
        return tt__fail_memory(sizeof *state);
    *state = seed;
    return TT_OK;
}

static tt_status next_in_order(int64_t *index, void *self, const tt__view *view) {
    (void)self;
    size_t i = 0;
    while (i < view->space->n && view->known[i] != TT__UNTRIED)
        i++;
    *index = i < view->space->n ? (int64_t)i : TT__NOTHING;
    return TT_OK;
}

static tt_status next_at_random(int64_t *index, void *self, const tt__view *view) {
    *index = tt__strategy_any(view, self);
    return TT_OK;
}

const tt__strategy tt__strategy_exhaustive = {
    .name = "exhaustive",
    .summary = "everything, in the order of the space",
    .window = SIZE_MAX,
    .open = open_state,
    .next = next_in_order,
    .close = free,
};

const tt__strategy tt__strategy_random = {
    .name = "random",
    .summary = "everything, in random order",
    .window = SIZE_MAX,
    .open = open_state,
    .next = next_at_random,
    .close = free,
};

/* ---- The model ----------------------------------------------------------------------------------------- */

/*
 * Follows the cost model, corrected by trials. The error of each template and parameter value moves the
 * prediction of all configurations that share it, and less if it is from few trials. Configurations far from
 * the best are left out.
 */

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
        end = tt__space_end_of_template(space, first);
        for (int pass = 0; pass < PASSES; pass++)
            for (size_t k = 0; k <= space->items[first].t->n_params; k++)
                correct(g, view, first, end, k);
    }
}

static tt_status next_guided(int64_t *index, void *self, const tt__view *view) {
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
    .next = next_guided,
    .close = close_guided,
};

/* ---- All of them --------------------------------------------------------------------------------------- */

static const tt__strategy *const strategies[] = {
    &tt__strategy_surrogate,
    &tt__strategy_model,
    &tt__strategy_random,
    &tt__strategy_exhaustive,
};

const tt__strategy *tt__strategy_at(size_t n) {
    return n < TT__COUNT(strategies) ? strategies[n] : NULL;
}

tt_status tt__strategy_find(const tt__strategy **out, const char *name) {
    tt__str names = {0};
    for (size_t i = 0; i < TT__COUNT(strategies); i++) {
        if (strcmp(strategies[i]->name, name) == 0) {
            *out = strategies[i];
            tt__str_free(&names);
            return TT_OK;
        }
        tt__str_addf(&names, "%s%s", i ? ", " : "", strategies[i]->name);
    }
    tt_status status =
        tt__fail(TT_E_INVALID, "unknown strategy \"%s\": there are %s", name, tt__str_text(&names));
    tt__str_free(&names);
    return status;
}
