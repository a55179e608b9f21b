/*
 * Points are parsed once from the text of each configuration, when a search starts.
 */
#include "tuner/strategy/points.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "kernel/space/config.h"

tt_status tt__points_open(tt__points *p, const tt__space *space) {
    size_t choice[TT__PARAMS_MAX] = {0}, n = space->n ? space->n : 1;
    *p = (tt__points){.space = space, .at = calloc(n, sizeof *p->at)};
    if (!p->at)
        return tt__fail_memory(n * sizeof *p->at);
    for (size_t i = 0; i < space->n; i++) {
        const tt__candidate *c = &space->items[i];
        TT_TRY(tt__config_parse(choice, c->t, c->config));
        for (size_t k = 0; k < c->t->n_params; k++)
            p->at[i][k] = (unsigned char)choice[k];
    }
    return TT_OK;
}

void tt__points_close(tt__points *p) {
    free(p->at);
    *p = (tt__points){0};
}

bool tt__param_is_number(const tt__param *param) {
    for (size_t i = 0; i < param->n_values; i++) {
        char *end;
        tt__strtod(param->values[i], &end);
        if (*end && strcmp(end, "f") != 0)
            return false;
    }
    return true;
}

int tt__points_steps(const tt__points *p, const tt__template *t, const tt__point from, size_t to) {
    int steps = 0;
    if (p->space->items[to].t != t)
        return TT__FAR;
    for (size_t k = 0; k < t->n_params; k++) {
        int apart = abs((int)from[k] - (int)p->at[to][k]);
        steps += apart > 1 && !tt__param_is_number(&t->params[k]) ? 1 : apart;
    }
    return steps;
}

typedef struct built {
    const tt__template *t;
    tt__point point; /* values of the compiled parameters; the others are 0 */
    size_t index;
} built;

static int by_what_is_built(const void *a, const void *b) {
    const built *x = a, *y = b;
    uintptr_t of_x = (uintptr_t)x->t, of_y = (uintptr_t)y->t;
    int order = memcmp(x->point, y->point, sizeof x->point);
    return order ? order : (of_x > of_y) - (of_x < of_y);
}

tt_status tt__points_cubins(const tt__points *p, size_t *of) {
    size_t n = p->space->n;
    built *all = calloc(n ? n : 1, sizeof *all);
    if (!all)
        return tt__fail_memory(n * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i] = (built){.t = p->space->items[i].t, .index = i};
        for (size_t k = 0; k < all[i].t->n_params; k++)
            all[i].point[k] = all[i].t->params[k].runtime ? 0 : p->at[i][k];
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
