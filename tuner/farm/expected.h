/*
 * What compilers do when nothing is requested: two lists of configurations that a run will probably need.
 * `soon` comes first: it belongs to the search at hand and is made anew after each trial. `later` grows. No
 * result depends on them.
 *
 * A NULL tt__expected never has anything to compile. All calls are from the session's thread.
 */
#ifndef TT_TUNER_FARM_EXPECTED_H
#define TT_TUNER_FARM_EXPECTED_H

#include "kernel/model/template.h"
#include "kernel/space/space.h"

/* A configuration by its indices: there may be all of a space. */
typedef struct tt__expected_item {
    const tt__template *t; /* NULL: the verifier's kernels or the reference, e->asides[aside] */
    uint32_t problem;      /* in e->problems */
    uint32_t aside;
    unsigned char choice[TT__PARAMS_MAX];
} tt__expected_item;

/* Items before `at` were taken. */
typedef struct tt__expected_list {
    tt__expected_item *items;
    size_t n, at;
} tt__expected_list;

/* Zero-initialise, and set `gpu`, which is borrowed. */
typedef struct tt__expected {
    const tt__gpu *gpu;
    tt__expected_list soon, later;
    const tt__operation *operation; /* of the last item in `later` */
    tt__problem *problems;
    size_t n_problems;
    tt__candidate *asides;
    size_t n_asides;
} tt__expected;

void tt__expected_close(tt__expected *e);

/* Replaces `soon`. Copies. */
tt_status tt__expected_soon(tt__expected *e, const tt__candidate *const *c, size_t n, const tt__problem *p);
/* Appends to `later`. The first candidate of an operation also brings the verifier's kernels and the
 * operation's reference. */
tt_status tt__expected_later(tt__expected *e, const tt__candidate *c, const tt__problem *p);
void tt__expected_forget(tt__expected *e);

/* Takes the next item; false if there is none. *p is valid until an item is added. A candidate without a
 * template is the verifier's. */
bool tt__expected_next(tt__expected *e, tt__candidate *c, const tt__problem **p);
size_t tt__expected_left(const tt__expected *e);
/* The number of compilers, of n, that may work ahead at once. An unrequested configuration may hang its
 * compiler. */
size_t tt__expected_compilers(size_t n);

#endif
