/* How far problems and GPUs are from each other, and all winners by their distance. */
#include "dispatch/near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "dispatch/shipped.h"

/* Distances count doublings of one side. */
static const double other_gpu = 1.5; /* as if measured for a matrix of almost three times the side */
static const double other_cc = 1, other_elem_size = 1, other_regime = 1;

/* Each dimension counts by itself: 1 x 16M is nothing like 4096 x 4096. */
static double distance(const tt__problem *a, const tt__problem *b) {
    if (!tt__is_matrix(a) && tt__unverified(b) && !tt__unverified(a))
        return INFINITY; /* what nobody knows to be right is no answer to who wants it right */
    if (!tt__is_matrix(a))
        return tt__variables_distance(a, b) + (tt__warm(a) == tt__warm(b) ? 0 : other_regime);
    double d = fabs(log2((double)a->rows / (double)b->rows)) + fabs(log2((double)a->cols / (double)b->cols));
    d += fabs(log2((double)a->batch / (double)b->batch)) + 0.5 * fabs(log2((double)a->align / b->align));
    d += 0.25 * ((a->lds == a->cols) != (b->lds == b->cols)) +
         0.25 * ((a->ldd == a->rows) != (b->ldd == b->rows));
    d += tt__warm(a) == tt__warm(b) ? 0 : other_regime;
    return d + other_elem_size * fabs(log2((double)a->elem_size / b->elem_size));
}

typedef struct gathering {
    const tt__asked *asked;
    bool anything;
    tt__layer layer;
    tt__leads *leads;
} gathering;

static tt_status add_lead(void *user, int64_t gpu_id, int64_t problem_id, int cc, const tt__problem *p) {
    gathering *g = user;
    const tt__asked *q = g->asked;
    tt__leads *l = g->leads;
    if (!tt__is_matrix(q->problem) &&
        (isinf(distance(q->problem, p)) ||
         (!g->anything && (cc != q->gpu->cc || tt__warm(p) != tt__warm(q->problem)))))
        return TT_OK;
    TT_TRY(TT__GROW(l->items, l->n));
    bool here = g->layer == TT__LAYER_SHIPPED ? tt__same_gpu(&tt__shipped[problem_id].gpu, q->gpu)
                                              : gpu_id == q->gpu_ids[g->layer];
    l->items[l->n++] = (tt__lead){
        .distance = distance(q->problem, p) + (here ? 0 : other_gpu) + (cc == q->gpu->cc ? 0 : other_cc),
        .layer = g->layer,
        .here = here,
        .gpu_id = gpu_id,
        .problem_id = problem_id,
    };
    return TT_OK;
}

static int by_distance(const void *x, const void *y) {
    const tt__lead *a = x, *b = y;
    if (a->distance < b->distance || a->distance > b->distance)
        return a->distance < b->distance ? -1 : 1;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    return (a->problem_id > b->problem_id) - (a->problem_id < b->problem_id); /* always the same answer */
}

/* Looks for whatever there may be, if for `anything`: of the warm and the cold problem the other one too. */
static bool is_wanted(const tt__asked *q, bool anything, const tt__winner *w) {
    if (anything)
        return tt__in_place(&w->problem) == tt__in_place(q->problem);
    return strcmp(w->problem.op, q->problem->op) == 0 && w->gpu.cc == q->gpu->cc &&
           w->problem.elem_size == q->problem->elem_size;
}

/* Sides that are no further than so many doublings from what is asked for. */
static void set_bounds(int64_t out[2], int64_t side, double within) {
    double most = (double)side * exp2(within);
    out[0] = (int64_t)((double)side / exp2(within));
    out[1] = most < (double)INT64_MAX / 2 ? (int64_t)ceil(most) : INT64_MAX;
}

/* All problems of the kernel: there are not so many, and none that shipped. */
static tt_status gather_own(gathering *g) {
    const tt__asked *q = g->asked;
    char op[TT__OP_MAX];
    tt__copy(op, strcspn(q->problem->op, "/") + 1, q->problem->op);
    for (g->layer = 0; g->layer < TT__LAYER_SHIPPED; g->layer++) {
        tt__store *store = tt__layer_store(q->ctx, g->layer);
        if (store)
            TT_TRY(tt__store_kernel_keys(store, op, add_lead, g));
    }
    return TT_OK;
}

static tt_status gather(gathering *g, double within) {
    const tt__asked *q = g->asked;
    bool anything = g->anything;
    tt__bounds bounds;
    set_bounds(bounds.rows, q->problem->rows, within);
    set_bounds(bounds.cols, q->problem->cols, within);
    int cc = anything ? 0 : q->gpu->cc, elem_size = anything ? 0 : q->problem->elem_size;
    if (!tt__is_matrix(q->problem))
        return gather_own(g);
    tt_problem other = tt__problem_public(q->problem);
    tt__problem regimes[2] = {*q->problem};
    other.warm = !other.warm;
    TT_TRY(tt__problem_init(&regimes[1], &other));
    for (g->layer = 0; g->layer < TT__LAYER_SHIPPED; g->layer++) {
        tt__store *store = tt__layer_store(q->ctx, g->layer);
        for (int r = 0; store && r <= anything; r++)
            TT_TRY(tt__store_winner_keys(store, cc, regimes[r].op, elem_size, &bounds, add_lead, g));
    }
    for (size_t i = 0; i < tt__n_shipped; i++) {
        const tt__winner *w = &tt__shipped[i];
        if (is_wanted(q, anything, w))
            TT_TRY(add_lead(g, 0, (int64_t)i, w->gpu.cc, &w->problem));
    }
    return TT_OK;
}

tt_status tt__near_collect(tt__leads *out, const tt__asked *asked, bool anything, double within) {
    *out = (tt__leads){0};
    gathering g = {.asked = asked, .anything = anything, .leads = out};
    TT_TRY(gather(&g, within));
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, by_distance);
    return TT_OK;
}

void tt__near_free(tt__leads *leads) {
    free(leads->items);
    *leads = (tt__leads){0};
}

tt_status tt__near_fetch(const tt__asked *q, const tt__lead *l, tt__winner *w, bool *found) {
    *found = true;
    if (l->layer != TT__LAYER_SHIPPED)
        return tt__store_winner_get(tt__layer_store(q->ctx, l->layer), l->gpu_id, l->problem_id, w, found);
    *w = tt__shipped[l->problem_id];
    return TT_OK;
}
