/*
 * Configurations as points: each parameter is the index of its value among those declared, so that strategies
 * can speak of neighbours. Constraints leave holes: only what is in the space is a point.
 */
#ifndef TT_TUNER_WALK_H
#define TT_TUNER_WALK_H

#include "template/template.h"

enum { TT__FAR = 1000 }; /* steps between configurations of different templates */

typedef unsigned char tt__point[TT__PARAMS_MAX];

typedef struct tt__walk {
    const tt__space *space; /* borrowed */
    tt__point *points;      /* by index of the space */
} tt__walk;

/* Release with tt__walk_close, also on failure. */
tt_status tt__walk_open(tt__walk *w, const tt__space *space);
void tt__walk_close(tt__walk *w);

/* Steps from a point of template `t` to a member of the space: along the declared values for a parameter of
 * numbers, one for any two different words. */
int tt__walk_steps(const tt__walk *w, const tt__template *t, const tt__point from, size_t to);

/* Sorts the space by cubins: of configurations that differ in nothing but arguments of the launch all have
 * the same of[i], the index of one of them. `of` has room for the space. */
tt_status tt__walk_cubins(const tt__walk *w, size_t *of);

/* Are all values of this parameter numbers? */
bool tt__param_is_number(const tt__param *p);

#endif
