/*
 * The table of strategies, functions that several of them share, and the two that ignore trials.
 */
#include "tuner/strategy/strategy.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/str.h"

static const tt__strategy *const strategies[] = {
    &tt__strategy_surrogate,
    &tt__strategy_model,
    &tt__strategy_random,
    &tt__strategy_exhaustive,
};

const tt__strategy *tt__strategy_at(size_t n) {
    return n < TT__COUNT(strategies) ? strategies[n] : NULL;
}

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

size_t tt__strategy_end_of_template(const tt__space *space, size_t first) {
    size_t end = first + 1;
    while (end < space->n && space->items[end].t == space->items[first].t)
        end++;
    return end;
}

/* ---- Cubins -------------------------------------------------------------------------------------------- */

typedef struct built {
    const tt__template *t;
    unsigned char choice[TT__PARAMS_MAX]; /* of the compiled parameters; the others are 0 */
    size_t index;
} built;

static int by_what_is_built(const void *a, const void *b) {
    const built *x = a, *y = b;
    uintptr_t of_x = (uintptr_t)x->t, of_y = (uintptr_t)y->t;
    int order = memcmp(x->choice, y->choice, sizeof x->choice);
    return order ? order : (of_x > of_y) - (of_x < of_y);
}

tt_status tt__strategy_cubins(const tt__space *space, size_t *of) {
    const size_t n = space->n;
    built *all = calloc(n ? n : 1, sizeof *all);
    if (!all)
        return tt__fail_memory(n * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i] = (built){.t = space->items[i].t, .index = i};
        for (size_t k = 0; k < all[i].t->n_params; k++)
            all[i].choice[k] = all[i].t->params[k].runtime ? 0 : space->items[i].choice[k];
    }
    qsort(all, n, sizeof *all, by_what_is_built);
    for (size_t i = 0, first = 0; i < n; i++) {
        if (by_what_is_built(&all[first], &all[i]) != 0)
            first = i;
        of[all[i].index] = all[first].index;
    }
    free(all);
    return TT_OK;
}

/* ---- Members ------------------------------------------------------------------------------------------- */

int64_t tt__strategy_next_member(const tt__space *space, const char *kernel, const char *config, size_t *at) {
    for (size_t k = 0; k < space->n; k++) {
        const size_t i = (*at + k) % space->n;
        if ((config && strcmp(space->items[i].config, config) != 0) ||
            strcmp(space->items[i].t->kernel, kernel) != 0)
            continue;
        *at = i + 1;
        return (int64_t)i;
    }
    return TT__NOTHING;
}

int64_t tt__strategy_member(const tt__space *space, const char *kernel, const char *config) {
    return tt__strategy_next_member(space, kernel, config, &(size_t){0});
}

int64_t tt__strategy_default(const tt__space *space, size_t of) {
    const tt__template *t = space->items[of].t;
    return tt__strategy_member(space, t->kernel, t->default_config);
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
        end = tt__strategy_end_of_template(space, first);
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
