/*
 * Local search with restarts. It tries configurations at most two steps away, moves as soon as one is faster,
 * and restarts elsewhere if none is.
 */
#include <stdlib.h>

#include "base/random.h"
#include "tuner/strategy/strategy.h"

enum { NEAR = 2 };

typedef struct local {
    uint64_t random;
    size_t at_start;
    int64_t here; /* TT__NOTHING: no place yet */
} local;

static tt_status open_local(void **self, const tt__view *view, uint64_t seed) {
    (void)view;
    local *l = *self = malloc(sizeof *l);
    if (!l)
        return tt__fail_memory(sizeof *l);
    *l = (local){.random = seed, .here = TT__NOTHING};
    return TT_OK;
}

/* Moves to the fastest neighbour. From a place that failed it moves to any that passed. */
static void climb(local *l, const tt__view *view) {
    size_t from = (size_t)l->here, best = from;
    const tt__template *t = view->space->items[from].t;
    for (size_t i = 0; i < view->space->n; i++)
        if (tt__strategy_passed(view, i) &&
            tt__points_steps(view->points, t, view->points->at[from], i) <= NEAR &&
            (!tt__strategy_passed(view, best) || view->trials[i].time_us < view->trials[best].time_us))
            best = i;
    l->here = (int64_t)best;
}

/* A random untried neighbour, with equal chances. */
static int64_t neighbour(local *l, const tt__view *view, bool *pending) {
    size_t from = (size_t)l->here, n = 0;
    int64_t chosen = TT__NOTHING;
    for (size_t i = 0; i < view->space->n; i++) {
        if (tt__points_steps(view->points, view->space->items[from].t, view->points->at[from], i) > NEAR)
            continue;
        *pending |= view->known[i] == TT__PENDING;
        if (view->known[i] == TT__UNTRIED && tt__random_below(&l->random, ++n) == 0)
            chosen = (int64_t)i;
    }
    return chosen;
}

static tt_status next(int64_t *index, void *self, const tt__view *view) {
    local *l = self;
    bool pending = false;
    *index = TT__NOTHING;
    if (l->here != TT__NOTHING) {
        if (view->known[l->here] == TT__TRIED)
            climb(l, view);
        *index = neighbour(l, view, &pending);
        if (*index != TT__NOTHING || pending)
            return TT_OK;
    }
    *index = tt__strategy_warm_start(view, &l->at_start);
    if (*index == TT__NOTHING)
        *index = tt__strategy_any(view, &l->random);
    if (*index != TT__NOTHING)
        l->here = *index;
    return TT_OK;
}

const tt__strategy tt__strategy_local = {
    .name = "local",
    .summary = "from neighbour to faster neighbour, with restarts",
    .window = 8,
    .open = open_local,
    .next = next,
    .close = free,
};
