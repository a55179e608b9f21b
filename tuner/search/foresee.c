/*
 * Works ahead: what compilers may need next, and when.
 */
#include "tuner/search/foresee.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "dispatch/layers.h"

/* ---- Before a search ----------------------------------------------------------------------------------- */

/* Expects the `most` untried configurations that are fastest by the model, and the default of the leading
 * template, which the finals need. */
static tt_status expect_best(tt__session *s, const tt__search *search, size_t most) {
    const tt__space *space = &search->space;
    tt__cost_model model = {0};
    size_t n, *order = NULL;
    tt_status status;
    TT_GOTO(tt__cost_model_open(&model, space, &s->gpu, &search->problem, NULL));
    TT_GOTO(tt__strategy_rank(&order, &n, space, search->known, &model));
    int64_t leading_default = n ? tt__strategy_default(space, order[0]) : TT__NOTHING;
    for (size_t i = 0; i < n; i++)
        if (i < most || (int64_t)order[i] == leading_default)
            TT_GOTO(tt__expected_later(s->expected, &space->items[order[i]], &search->problem));
out:
    free(order);
    tt__cost_model_close(&model);
    return status;
}

tt_status tt__foresee_search(tt__session *s, const tt__search *search) {
    size_t left = tt__search_left(search);
    if (!s->expected || left == 0)
        return TT_OK;
    if (!tt__search_wants_all(s, search))
        return expect_best(s, search, search->n_favourites ? search->n_favourites : left);
    for (size_t i = 0; i < search->space.n; i++)
        if (search->known[i] == TT__UNTRIED)
            TT_TRY(tt__expected_later(s->expected, &search->space.items[i], &search->problem));
    return TT_OK;
}

/* ---- During a search ------------------------------------------------------------- */

tt_status tt__foresee_next(tt__session *s, const tt__search *search, const tt__strategy *strategy, void *self,
                           const tt__view *view, size_t most) {
    enum { LIKELY = 8 };
    const tt__candidate *c[LIKELY];
    size_t at[LIKELY];
    if (!s->expected || !strategy->likely)
        return TT_OK;
    size_t n = strategy->likely(at, most < LIKELY ? most : LIKELY, self, view);
    for (size_t i = 0; i < n; i++)
        c[i] = &search->space.items[at[i]];
    return tt__expected_soon(s->expected, c, n, &search->problem);
}

/* ---- While CUDA starts --------------------------------------------------------------------------------- */

static bool find_gpu(tt__session *s, tt_ctx *ctx, const char *name) {
    pthread_mutex_lock(&ctx->lock);
    bool known = *name && tt__layers_find_gpu(ctx, name, &s->gpu, &s->gpu_id) == TT_OK;
    pthread_mutex_unlock(&ctx->lock);
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
static void expect_pair(tt__session *s, const tt__problem *p) {
    tt__pair both;
    double since_s = tt__now_s();
    s->presumed = true;
    if (tt__pair_plan(s, p, 1 / (double)s->n_problems, &both) == TT_OK && tt__foresee_search(s, &both.copy) == TT_OK)
        tt__foresee_search(s, &both.search);
    tt__pair_close(&both);
    s->presumed = false;
    tt__session_phase(s, "expect", p, &since_s);
}

bool tt__foresee_first(tt__session *s, tt_ctx *ctx, const char *name, tt__gpu *gpu) {
    if (!s->expected || !find_gpu(s, ctx, name))
        return false;
    *gpu = s->gpu;
    if (s->opts->force || !has_winner(s, &s->call->problems[0]))
        expect_pair(s, &s->call->problems[0]);
    return true;
}
