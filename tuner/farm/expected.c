/*
 * What compilers do when nothing is requested.
 */
#include "tuner/farm/expected.h"

#include <stdlib.h>

#include "base/grow.h"
#include "kernel/space/workload.h"
#include "tuner/measure/verify.h"

static void clear(tt__expected_list *list) {
    list->n = list->at = 0;
}

static tt_status append(tt__expected_list *list, const tt__candidate *c, const tt__problem *p) {
    if (list->at == list->n)
        clear(list); /* what was taken goes, so that the list of a long run stays short */
    TT_TRY(TT__GROW(list->items, list->n));
    list->items[list->n++] = (tt__expected_item){.candidate = *c, .problem = *p};
    return TT_OK;
}

static const tt__expected_item *take(tt__expected_list *list) {
    return list->at < list->n ? &list->items[list->at++] : NULL;
}

tt_status tt__expected_soon(tt__expected *e, const tt__candidate *const *c, size_t n, const tt__problem *p) {
    if (!e)
        return TT_OK;
    clear(&e->soon);
    for (size_t i = 0; i < n; i++)
        TT_TRY(append(&e->soon, c[i], p));
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
    TT_GOTO(append(&e->later, &c, p));
    tt__role role = work->launch.n_passes ? TT__REFERENCE : TT__DATA;
    if ((work->launch.n_passes || work->filling.n_passes) &&
        tt__space_aside(&c, t->operation, role, e->gpu, p, t->operation->t->default_config) == TT_OK)
        TT_GOTO(append(&e->later, &c, p));
out:
    free(work);
    return status;
}

tt_status tt__expected_later(tt__expected *e, const tt__candidate *c, const tt__problem *p) {
    if (c->t->operation != e->operation)
        TT_TRY(expect_checks(e, c->t, p));
    e->operation = c->t->operation;
    return append(&e->later, c, p);
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
}

const tt__expected_item *tt__expected_next(tt__expected *e) {
    const tt__expected_item *item = e ? take(&e->soon) : NULL;
    return item || !e ? item : take(&e->later);
}

size_t tt__expected_left(const tt__expected *e) {
    return e ? e->soon.n - e->soon.at + e->later.n - e->later.at : 0;
}

size_t tt__expected_compilers(size_t n) {
    return n - (n + 7) / 8; /* one in eight stays free for requests */
}
