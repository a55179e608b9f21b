/*
 * What compilers do when nothing is requested.
 */
#include "tuner/farm/expected.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/space/workload.h"
#include "tuner/measure/verify.h"

static void clear(tt__expected_list *list) {
    list->n = list->at = 0;
}

/* The number of a problem. Neighbours in a list have the same one. */
static tt_status add_problem(tt__expected *e, const tt__problem *p, uint32_t *at) {
    if (e->soon.at == e->soon.n && e->later.at == e->later.n)
        e->n_problems = e->n_asides = 0; /* all were taken: the lists of a long run stay short */
    if (e->n_problems == 0 || !tt__problem_same(&e->problems[e->n_problems - 1], p)) {
        TT_TRY(TT__GROW(e->problems, e->n_problems));
        e->problems[e->n_problems++] = *p;
    }
    *at = (uint32_t)e->n_problems - 1;
    return TT_OK;
}

static tt_status append(tt__expected *e, tt__expected_list *list, const tt__candidate *c,
                        const tt__problem *p) {
    tt__expected_item item = {.t = c->t};
    TT_TRY(add_problem(e, p, &item.problem));
    if (list->at == list->n)
        clear(list);
    memcpy(item.choice, c->choice, sizeof item.choice);
    TT_TRY(TT__GROW(list->items, list->n));
    list->items[list->n++] = item;
    return TT_OK;
}

/* Kernels beside those that are tuned. */
static tt_status append_aside(tt__expected *e, const tt__candidate *c, const tt__problem *p) {
    TT_TRY(append(e, &e->later, &(tt__candidate){.t = NULL}, p));
    TT_TRY(TT__GROW(e->asides, e->n_asides));
    e->later.items[e->later.n - 1].aside = (uint32_t)e->n_asides;
    e->asides[e->n_asides++] = *c;
    return TT_OK;
}

tt_status tt__expected_soon(tt__expected *e, const tt__candidate *const *c, size_t n, const tt__problem *p) {
    if (!e)
        return TT_OK;
    clear(&e->soon);
    for (size_t i = 0; i < n; i++)
        TT_TRY(append(e, &e->soon, c[i], p));
    return TT_OK;
}

/* Errors are ignored here. They show again at the problem's turn. */
static tt_status expect_checks(tt__expected *e, const tt__template *t, const tt__problem *p) {
    tt__workload *work = malloc(sizeof *work); /* large for a stack */
    tt__candidate c;
    tt_status status = TT_OK;
    if (!work || tt__workload_of(work, t, e->gpu, p) != TT_OK)
        goto out;
    tt__verify_candidate(&c, work);
    TT_GOTO(append_aside(e, &c, p));
    tt__role role = work->launch.n_passes ? TT__REFERENCE : TT__DATA;
    if ((work->launch.n_passes || work->filling.n_passes) &&
        tt__space_aside(&c, t->operation, role, e->gpu, p, t->operation->t->default_config) == TT_OK)
        TT_GOTO(append_aside(e, &c, p));
out:
    free(work);
    return status;
}

tt_status tt__expected_later(tt__expected *e, const tt__candidate *c, const tt__problem *p) {
    if (c->t->operation != e->operation)
        TT_TRY(expect_checks(e, c->t, p));
    e->operation = c->t->operation;
    return append(e, &e->later, c, p);
}

void tt__expected_forget(tt__expected *e) {
    if (!e)
        return;
    clear(&e->soon);
    clear(&e->later);
    e->operation = NULL;
}

void tt__expected_close(tt__expected *e) {
    free(e->soon.items);
    free(e->later.items);
    free(e->problems);
    free(e->asides);
}

static const tt__expected_item *take(tt__expected_list *list) {
    return list->at < list->n ? &list->items[list->at++] : NULL;
}

bool tt__expected_next(tt__expected *e, tt__candidate *c, const tt__problem **p) {
    const tt__expected_item *item;
    while (e && ((item = take(&e->soon)) || (item = take(&e->later)))) {
        *p = &e->problems[item->problem];
        if (item->t && tt__space_at(c, item->t, e->gpu, *p, item->choice) != TT_OK)
            continue; /* it was legal when it was added */
        if (!item->t)
            *c = e->asides[item->aside];
        return true;
    }
    return false;
}

size_t tt__expected_left(const tt__expected *e) {
    return e ? e->soon.n - e->soon.at + e->later.n - e->later.at : 0;
}

size_t tt__expected_compilers(size_t n) {
    return n - (n + 7) / 8; /* one in eight stays free for requests */
}
