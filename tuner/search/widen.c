/*
 * The sample of a large space has good configurations, but hardly the best. So from time to time a search
 * adds the neighbours of its fastest ones, and goes on with all trials.
 */
#include "tuner/search/widen.h"

#include <stdlib.h>

#include "tuner/strategy/strategy.h"

enum {
    BEST = 3,   /* configurations that get neighbours at once */
    PAIRS = 256 /* neighbours of each that differ in two parameters */
};

static int by_config(const void *a, const void *b) {
    const tt__candidate *x = *(tt__candidate *const *)a, *y = *(tt__candidate *const *)b;
    int order = strcmp(x->t->kernel, y->t->kernel);
    return order ? order : strcmp(x->config, y->config);
}

/* Removes what the space has, and what is there twice. */
static tt_status keep_new(tt__space *found, const tt__space *space) {
    size_t n = found->n + space->n, kept = 0;
    const tt__candidate **sorted = calloc(n + 1, sizeof(tt__candidate *));
    if (!sorted)
        return tt__fail_memory(n * sizeof(tt__candidate *));
    for (size_t i = 0; i < space->n; i++)
        sorted[i] = &space->items[i];
    qsort(sorted, space->n, sizeof(tt__candidate *), by_config);
    for (size_t i = 0; i < found->n; i++) {
        const tt__candidate *c = &found->items[i];
        bool there = bsearch(&c, sorted, space->n, sizeof(tt__candidate *), by_config) != NULL;
        for (size_t k = 0; k < kept && !there; k++)
            there = strcmp(found->items[k].config, c->config) == 0 && found->items[k].t == c->t;
        if (!there)
            found->items[kept++] = *c;
    }
    found->n = kept;
    free(sorted);
    return TT_OK;
}

/* Copies member i of the old search behind the last of the new one. */
static void carry(tt__search *to, const tt__search *from, size_t i) {
    size_t at = to->space.n++;
    to->space.items[at] = from->space.items[i];
    to->known[at] = from->known[i];
    to->trials[at] = from->trials[i];
    if (from->best == (int64_t)i)
        to->best = (int64_t)at;
}

static void add_of(tt__search *to, const tt__space *found, const tt__template *t) {
    for (size_t i = 0; i < found->n; i++)
        if (found->items[i].t == t) {
            tt__candidate *c = &to->space.items[to->space.n++];
            *c = found->items[i];
            c->weight /= to->default_weight;
        }
}

tt_status tt__search_insert(tt__search *search, tt__space *found) {
    TT_TRY(keep_new(found, &search->space));
    size_t n = search->space.n + found->n;
    tt__search wide = *search;
    if (found->n == 0)
        return TT_OK;
    wide.space.items = calloc(n, sizeof *wide.space.items);
    wide.known = calloc(n, sizeof *wide.known);
    wide.trials = calloc(n, sizeof *wide.trials);
    wide.space.n = 0;
    if (!wide.space.items || !wide.known || !wide.trials) {
        free(wide.space.items);
        free(wide.known);
        free(wide.trials);
        return tt__fail_memory(n * sizeof *wide.space.items);
    }
    for (size_t first = 0, end; first < search->space.n; first = end) {
        const tt__template *t = search->space.items[first].t;
        end = tt__strategy_end_of_template(&search->space, first);
        for (size_t i = first; i < end; i++)
            carry(&wide, search, i);
        add_of(&wide, found, t);
    }
    for (size_t i = 0; i < found->n && wide.space.n < n; i++)
        if (tt__strategy_member(&wide.space, found->items[i].t->kernel, NULL) == TT__NOTHING)
            add_of(&wide, found, found->items[i].t);
    free(search->space.items);
    free(search->known);
    free(search->trials);
    *search = wide;
    return TT_OK;
}

tt_status tt__search_widen(tt__search *search, const tt__gpu *gpu) {
    tt__space found = {0};
    tt_status status = TT_OK;
    const tt__view view = {.space = &search->space, .known = search->known, .trials = search->trials};
    size_t leaders[BEST + 1];
    const size_t n = tt__strategy_leaders(leaders, BEST, &view);
    for (size_t k = 0; k < n; k++) {
        const tt__candidate *c = &search->space.items[leaders[k]];
        TT_GOTO(tt__space_neighbours(&found, c->t, gpu, &search->problem, c->config, PAIRS));
    }
    TT_GOTO(tt__part_keep(&search->part, &search->problem, &found));
    TT_GOTO(tt__search_insert(search, &found));
out:
    tt__space_free(&found);
    return status;
}
