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
 * All functions except tt__foresee_close ignore a NULL tt__foresee.
 */
#ifndef TT_TUNER_SEARCH_FORESEE_H
#define TT_TUNER_SEARCH_FORESEE_H

#include "tuner/farm/expected.h"
#include "tuner/search/searches.h"

typedef struct tt__foresee {
    tt__session *s;
    tt_ctx *ctx;                 /* its layers may have a description of the GPU; NULL: none */
    const tt__problem *problems; /* all problems of the run, s->n_problems */
    tt__searches next;           /* the problem after the current one, if it is already open */
    tt__expected expected;       /* what the compilers take from */
} tt__foresee;

/* `s`, `ctx` and `problems` are borrowed. */
void tt__foresee_open(tt__foresee *f, tt__session *s, tt_ctx *ctx, const tt__problem *problems);
void tt__foresee_close(tt__foresee *f);

/* Call while CUDA starts. `name` is the probable name of the GPU ("" if unknown). If it is known, *gpu gets
 * its description, the first problem is expected for it, and the result is true. */
bool tt__foresee_while_cuda_starts(tt__foresee *f, const char *name, tt__gpu *gpu);
/* Expects the configurations of a search that runs later. */
tt_status tt__foresee_search(tt__foresee *f, const tt__search *search);
/* Expects what the strategy may name next, `most` at once. */
tt_status tt__foresee_strategy(tt__foresee *f, const tt__search *search, const tt__strategy *strategy,
                               void *self, const tt__view *view, size_t most);
/* Opens the next problem, if there is one and it is not open. */
void tt__foresee_open_next(tt__foresee *f);

#endif
