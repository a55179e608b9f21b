/*
 * Configurations as points. Each coordinate is the index of a parameter's value in its declaration.
 * Constraints leave holes in the grid.
 */
#ifndef TT_TUNER_STRATEGY_POINTS_H
#define TT_TUNER_STRATEGY_POINTS_H

#include "kernel/model/template.h"
#include "kernel/space/space.h"

enum { TT__FAR = 1000 }; /* steps between configurations of different templates */

typedef unsigned char tt__point[TT__PARAMS_MAX];

typedef struct tt__points {
    const tt__space *space; /* borrowed */
    tt__point *at;          /* by index in the space */
} tt__points;

/* Close it with tt__points_close, also after a failure. */
tt_status tt__points_open(tt__points *p, const tt__space *space);
void tt__points_close(tt__points *p);

/* Steps from a point of template `t` to a member of the space. For a number they count values in between;
 * between two different words there is one step. */
int tt__points_steps(const tt__points *p, const tt__template *t, const tt__point from, size_t to);

/* Groups the space by cubins. Configurations that differ only in launch arguments have the same of[i], which
 * is the index of one of them. `of` has room for the space. */
tt_status tt__points_cubins(const tt__points *p, size_t *of);

/* Are all values of this parameter numbers? */
bool tt__param_is_number(const tt__param *p);

#endif
