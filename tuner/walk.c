/* Points are read from the text of each configuration once, when a search starts. */
#include "tuner/walk.h"

#include <stdlib.h>

#include "template/config.h"

tt_status tt__walk_open(tt__walk *w, const tt__space *space) {
    size_t choice[TT__PARAMS_MAX] = {0}, n = space->n ? space->n : 1;
    *w = (tt__walk){.space = space, .points = calloc(n, sizeof *w->points)};
    if (!w->points)
        return tt__fail_memory(n * sizeof *w->points);
    for (size_t i = 0; i < space->n; i++) {
        const tt__candidate *c = &space->items[i];
        TT_TRY(tt__config_parse(choice, c->t, c->config));
        for (size_t k = 0; k < c->t->n_params; k++)
            w->points[i][k] = (unsigned char)choice[k];
    }
    return TT_OK;
}

void tt__walk_close(tt__walk *w) {
    free(w->points);
    *w = (tt__walk){0};
}

bool tt__param_is_number(const tt__param *p) {
    for (size_t i = 0; i < p->n_values; i++) {
        char *end;
        strtol(p->values[i], &end, 10);
        if (*end)
            return false;
    }
    return true;
}

int tt__walk_steps(const tt__walk *w, const tt__template *t, const tt__point from, size_t to) {
    int steps = 0;
    if (w->space->items[to].t != t)
        return TT__FAR;
    for (size_t k = 0; k < t->n_params; k++) {
        int apart = abs((int)from[k] - (int)w->points[to][k]);
        steps += apart > 1 && !tt__param_is_number(&t->params[k]) ? 1 : apart;
    }
    return steps;
}
