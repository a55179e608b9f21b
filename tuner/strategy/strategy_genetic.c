/*
 * A steady-state genetic algorithm. It crosses two of the fastest, parameter by parameter, and mutates the
 * child. Because constraints leave holes, it names the untried configuration nearest to the child.
 */
#include <stdlib.h>

#include "base/random.h"
#include "tuner/strategy/strategy.h"

enum { POPULATION = 20, NEWCOMERS = 16 }; /* every 16th is random */

typedef struct genetic {
    uint64_t random;
    size_t at_start, named;
    size_t parents[POPULATION + 1]; /* tt__strategy_leaders */
    size_t n_parents;
} genetic;

static tt_status open_genetic(void **self, const tt__view *view, uint64_t seed) {
    (void)view;
    genetic *g = *self = calloc(1, sizeof *g);
    if (!g)
        return tt__fail_memory(sizeof *g);
    g->random = seed;
    return TT_OK;
}

/* The faster of two random ones. */
static size_t draw(genetic *g) {
    size_t a = tt__random_below(&g->random, g->n_parents), b = tt__random_below(&g->random, g->n_parents);
    return g->parents[a < b ? a : b];
}

static const tt__template *breed(genetic *g, const tt__view *view, tt__point child) {
    size_t a = draw(g), b = draw(g);
    const tt__template *t = view->space->items[a].t;
    bool kin = view->space->items[b].t == t;
    for (size_t k = 0; k < t->n_params; k++) {
        child[k] = view->points->at[kin && tt__random(&g->random) & 1 ? b : a][k];
        if (tt__random_below(&g->random, t->n_params) == 0)
            child[k] = (unsigned char)tt__random_below(&g->random, t->params[k].n_values);
    }
    return t;
}

static int64_t nearest(genetic *g, const tt__view *view, const tt__template *t, const tt__point child) {
    int64_t found = TT__NOTHING;
    int least = TT__FAR;
    size_t n = 0;
    for (size_t i = 0; i < view->space->n; i++) {
        if (view->known[i] != TT__UNTRIED)
            continue;
        int steps = tt__points_steps(view->points, t, child, i);
        n = steps < least ? 0 : n;
        if (steps < least ||
            (steps == least && steps < TT__FAR && tt__random_below(&g->random, ++n + 1) == 0)) {
            least = steps;
            found = (int64_t)i;
        }
    }
    return found;
}

static tt_status next(int64_t *index, void *self, const tt__view *view) {
    genetic *g = self;
    tt__point child;
    *index = tt__strategy_warm_start(view, &g->at_start);
    if (*index != TT__NOTHING)
        return TT_OK;
    g->n_parents = tt__strategy_leaders(g->parents, POPULATION, view);
    if (g->named++ >= POPULATION && g->n_parents > 1 && g->named % NEWCOMERS != 0) {
        const tt__template *t = breed(g, view, child);
        *index = nearest(g, view, t, child);
    }
    if (*index == TT__NOTHING)
        *index = tt__strategy_any(view, &g->random);
    return TT_OK;
}

const tt__strategy tt__strategy_genetic = {
    .name = "genetic",
    .summary = "crosses and mutates the fastest",
    .window = 8,
    .open = open_genetic,
    .next = next,
    .close = free,
};
