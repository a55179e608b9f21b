/* See the header. */
#include "tuner/search/ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "dispatch/layers.h"
#include "kernel/space/workload.h"
#include "tuner/measure/checker.h"

/* ---- Lists --------------------------------------------------------------------------------------------- */

static void clear(tt__expected_list *list) {
    list->n = list->at = 0;
}

static tt_status append(tt__expected_list *list, const tt__candidate *c, const tt__problem *p) {
    if (list->at == list->n)
        clear(list); /* what was taken goes, so that the list of a long run stays short */
    TT_TRY(TT__GROW(list->items, list->n));
    list->items[list->n++] = (tt__expected){.candidate = *c, .problem = *p};
    return TT_OK;
}

static const tt__expected *take(tt__expected_list *list) {
    return list->at < list->n ? &list->items[list->at++] : NULL;
}

tt_status tt__ahead_soon(tt__ahead *a, const tt__candidate *const *c, size_t n, const tt__problem *p) {
    if (!a)
        return TT_OK;
    clear(&a->soon);
    for (size_t i = 0; i < n; i++)
        TT_TRY(append(&a->soon, c[i], p));
    return TT_OK;
}

/* Errors are ignored here. They show again at the problem's turn. */
static tt_status expect_checks(tt__ahead *a, const tt__template *t, const tt__problem *p) {
    tt__workload work;
    tt__candidate c;
    if (tt__workload_of(&work, t, &a->s->gpu, p) != TT_OK)
        return TT_OK;
    tt__verify_candidate(&c, &work);
    TT_TRY(append(&a->later, &c, p));
    tt__role role = work.launch.n_passes ? TT__REFERENCE : TT__DATA;
    if ((work.launch.n_passes || work.filling.n_passes) &&
        tt__space_aside(&c, t->operation, role, &a->s->gpu, p, t->operation->t->default_config) == TT_OK)
        TT_TRY(append(&a->later, &c, p));
    return TT_OK;
}

tt_status tt__ahead_later(tt__ahead *a, const tt__candidate *c, const tt__problem *p) {
    if (c->t->operation != a->operation)
        TT_TRY(expect_checks(a, c->t, p));
    a->operation = c->t->operation;
    return append(&a->later, c, p);
}

void tt__ahead_forget(tt__ahead *a) {
    if (!a)
        return;
    clear(&a->soon);
    clear(&a->later);
    a->operation = NULL;
}

void tt__ahead_close(tt__ahead *a) {
    tt__searches_close(&a->next);
    free(a->soon.items);
    free(a->later.items);
}

const tt__expected *tt__ahead_next(tt__ahead *a) {
    const tt__expected *e = a ? take(&a->soon) : NULL;
    return e || !a ? e : take(&a->later);
}

size_t tt__ahead_left(const tt__ahead *a) {
    return a ? a->soon.n - a->soon.at + a->later.n - a->later.at : 0;
}

size_t tt__ahead_compilers(size_t n) {
    return n - (n + 7) / 8; /* one in eight stays free for requests */
}

/* ---- Before a search ----------------------------------------------------------------------------------- */

/* Expects the `most` untried configurations that are fastest by the model, and the default of the leading
 * template, which the finals need. */
static tt_status expect_best(tt__ahead *a, const tt__search *search, size_t most) {
    const tt__space *space = &search->space;
    tt__points points;
    tt__cost_model model = {0};
    size_t n, *order = NULL;
    tt_status status;
    TT_GOTO(tt__points_open(&points, space));
    TT_GOTO(tt__cost_model_open(&model, space, &a->s->gpu, &search->problem, &points, NULL));
    TT_GOTO(tt__strategy_rank(&order, &n, space, search->known, &model));
    int64_t leading_default = n ? tt__strategy_default(space, order[0]) : TT__NOTHING;
    for (size_t i = 0; i < n; i++)
        if (i < most || (int64_t)order[i] == leading_default)
            TT_GOTO(tt__ahead_later(a, &space->items[order[i]], &search->problem));
out:
    free(order);
    tt__cost_model_close(&model);
    tt__points_close(&points);
    return status;
}

tt_status tt__ahead_of_search(tt__ahead *a, const tt__search *search) {
    size_t left = tt__search_left(search);
    if (!a || left == 0)
        return TT_OK;
    if (!tt__search_wants_all(a->s, search))
        return expect_best(a, search, search->n_favourites ? search->n_favourites : left);
    for (size_t i = 0; i < search->space.n; i++)
        if (search->known[i] == TT__UNTRIED)
            TT_TRY(tt__ahead_later(a, &search->space.items[i], &search->problem));
    return TT_OK;
}

/* ---- During a search, and between searches ------------------------------------------------------------- */

tt_status tt__ahead_of_strategy(tt__ahead *a, const tt__search *search, const tt__strategy *strategy,
                                void *self, const tt__view *view, size_t most) {
    enum { LIKELY = 8 };
    const tt__candidate *c[LIKELY];
    size_t at[LIKELY];
    if (!a || !strategy->likely)
        return TT_OK;
    size_t n = strategy->likely(at, most < LIKELY ? most : LIKELY, self, view);
    for (size_t i = 0; i < n; i++)
        c[i] = &search->space.items[at[i]];
    return tt__ahead_soon(a, c, n, &search->problem);
}

void tt__ahead_open_next(tt__ahead *a) {
    if (!a || a->next.open || a->s->at_problem + 1 >= a->s->n_problems)
        return;
    size_t next = a->s->at_problem + 1;
    tt__searches_open(a->s, &a->problems[next], a->s->n_problems - next, &a->next);
}

/* ---- While CUDA starts --------------------------------------------------------------------------------- */

static bool find_gpu(tt__ahead *a, const char *name) {
    pthread_mutex_lock(&a->ctx->lock);
    bool known = *name && tt__layers_find_gpu(a->ctx, name, &a->s->gpu, &a->s->gpu_id) == TT_OK;
    pthread_mutex_unlock(&a->ctx->lock);
    return known;
}

static bool has_winner(const tt__session *s, const tt__problem *p) {
    tt__winner w;
    int64_t id;
    bool found = false;
    return s->gpu_id >= 0 && tt__store_problem(s->store, p, &id) == TT_OK &&
           tt__store_winner_get(s->store, s->gpu_id, id, &w, &found) == TT_OK && found;
}

/* Expects the copy first, and then the problem. */
static void expect_first(tt__ahead *a) {
    tt__session *s = a->s;
    tt__searches both;
    double since_s = tt__now_s();
    s->presumed = true;
    if (tt__searches_plan(s, &a->problems[0], s->n_problems, &both) == TT_OK &&
        tt__ahead_of_search(a, &both.copy) == TT_OK)
        tt__ahead_of_search(a, &both.search);
    tt__searches_close(&both);
    s->presumed = false;
    tt__session_phase(s, "expect", &a->problems[0], &since_s);
}

bool tt__ahead_while_cuda_starts(tt__ahead *a, const char *name, tt__gpu *gpu) {
    if (!a || !a->ctx || !find_gpu(a, name))
        return false;
    *gpu = a->s->gpu;
    if (a->s->opts->force || !has_winner(a->s, &a->problems[0]))
        expect_first(a);
    return true;
}
