/*
 * Working ahead: decides what idle compilers do in advance, and which problem is opened before its turn. No
 * result depends on it: the strategy counts on favourites (search.h) even if they are late. A failure is not
 * reported: the same step fails again when its turn comes.
 *
 *   moment                           called by   compiled ahead
 *   CUDA starts                      backend     for the GPU that had this name before: the first problem
 *   a problem is opened              searches.c  its favourites, its fastest by the model, or all of it
 *   trials are under way             hunt.c      what the strategy will probably name next beside favourites
 *   finals are measured              backend     the next problem, opened early
 *
 * The caller of a moment adds to two lists; an idle compiler takes from them (tt__ahead_next). `soon` comes
 * first: it belongs to the search at hand and is made anew after each trial. `later` grows.
 *
 * A NULL tt__ahead never has anything to compile. All calls are from the session's thread.
 */
#ifndef TT_TUNER_SEARCH_AHEAD_H
#define TT_TUNER_SEARCH_AHEAD_H

#include "tuner/search/searches.h"

typedef struct tt__expected {
    tt__candidate candidate; /* NULL template: the checker's kernels */
    tt__problem problem;
} tt__expected;

/* Items before `at` were taken. */
typedef struct tt__expected_list {
    tt__expected *items;
    size_t n, at;
} tt__expected_list;

typedef struct tt__ahead {
    tt__session *s;
    tt_ctx *ctx;                 /* its layers may have a description of the GPU; NULL: none */
    const tt__problem *problems; /* all problems of the run, s->n_problems */
    tt__searches next;           /* the problem after the current one, if it is already open */
    tt__expected_list soon, later;
    const tt__operation *operation; /* of the last item in `later` */
} tt__ahead;

/* Initialise with `s`, `ctx` and `problems`, which are borrowed. */
void tt__ahead_close(tt__ahead *a);

/* ---- Moments ---- */

/* Call while CUDA starts. `name` is the probable name of the GPU ("" if unknown). If it is known, *gpu gets
 * its description, the first problem is expected for it, and the result is true. */
bool tt__ahead_while_cuda_starts(tt__ahead *a, const char *name, tt__gpu *gpu);
/* Expects the configurations of a search that runs later. */
tt_status tt__ahead_of_search(tt__ahead *a, const tt__search *search);
/* Expects what the strategy may name next, `most` at once. */
tt_status tt__ahead_of_strategy(tt__ahead *a, const tt__search *search, const tt__strategy *strategy,
                                void *self, const tt__view *view, size_t most);
/* Opens the next problem, if there is one and it is not open. */
void tt__ahead_open_next(tt__ahead *a);

/* ---- Lists ---- */

/* Replaces `soon`. Copies. */
tt_status tt__ahead_soon(tt__ahead *a, const tt__candidate *const *c, size_t n, const tt__problem *p);
/* Appends to `later`. The first candidate of an operation also brings the checker's kernels and the
 * operation's reference. */
tt_status tt__ahead_later(tt__ahead *a, const tt__candidate *c, const tt__problem *p);
void tt__ahead_forget(tt__ahead *a);

/* Takes the next item; NULL if there is none. It is valid until an item is added. */
const tt__expected *tt__ahead_next(tt__ahead *a);
size_t tt__ahead_left(const tt__ahead *a);
/* The number of compilers, of n, that may work ahead at once. An unrequested configuration may hang its
 * compiler. */
size_t tt__ahead_compilers(size_t n);

#endif
