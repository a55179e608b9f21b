/*
 * The distance of problems and GPUs, and all winners ordered by distance.
 */
#include "dispatch/near.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "dispatch/shipped.h"
#include "kernel/space/operation.h"

/* Distances count doublings of a number (tt__variable.weight). */
static const double other_gpu = 1.5, other_cc = 1, other_regime = 1;

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
    bool same, regime = p->warm == q->problem->warm;
    double distance = tt__operation_distance(q->op, q->problem, p, &same);
    if (isinf(distance) || (!g->anything && !(same && regime && cc == q->gpu->cc)))
        return TT_OK;
    TT_TRY(TT__GROW(l->items, l->n));
    bool here = g->layer == TT__LAYER_SHIPPED ? tt__same_gpu(&tt__shipped[problem_id].gpu, q->gpu)
                                              : gpu_id == q->gpu_ids[g->layer];
    l->items[l->n++] = (tt__lead){
        .distance = distance + (regime ? 0 : other_regime) + (here ? 0 : other_gpu) +
                    (cc == q->gpu->cc ? 0 : other_cc),
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
    return (a->problem_id > b->problem_id) - (a->problem_id < b->problem_id); /* makes the order unique */
}

/* Ranges for the first two variables. A number outside is too far away, whatever the others are. */
static void find_ranges(tt__range ranges[TT__RANGES], const tt__asked *q, double within) {
    size_t n = 0;
    for (size_t i = 0; i < TT__RANGES; i++)
        ranges[i] = (tt__range){0, INT64_MAX};
    for (size_t i = 0; i < q->op->n_variables && n < TT__RANGES; i++) {
        const tt__variable *v = &q->op->variables[i];
        if (v->n_types)
            continue;
        tt__range *r = &ranges[n++];
        if (v->same || v->weight <= 0)
            continue;
        double factor = exp2(within / v->weight);
        double side = (double)tt__problem_number(q->problem, v->name, 1), most = ceil(side * factor);
        r->least = (int64_t)(side / factor);
        r->most = most < (double)INT64_MAX / 2 ? (int64_t)most : INT64_MAX;
    }
}

tt_status tt__near_collect(tt__leads *out, const tt__asked *asked, bool anything, double within) {
    const tt__problem *p = asked->problem;
    gathering g = {.asked = asked, .anything = anything, .leads = out};
    tt__range ranges[TT__RANGES];
    *out = (tt__leads){0};
    find_ranges(ranges, asked, within);
    for (g.layer = 0; g.layer < TT__LAYER_SHIPPED; g.layer++) {
        tt__store *store = tt__layer_store(asked->ctx, g.layer);
        if (store)
            TT_TRY(tt__store_winner_keys(store, anything ? 0 : asked->gpu->cc, p->op, p->text, ranges,
                                         add_lead, &g));
    }
    for (size_t i = 0; i < tt__n_shipped; i++)
        if (tt__problem_is_of(&tt__shipped[i].problem, p->op, p->text))
            TT_TRY(add_lead(&g, 0, (int64_t)i, tt__shipped[i].gpu.cc, &tt__shipped[i].problem));
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
