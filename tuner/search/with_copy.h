/*
 * The two searches for a problem: its own, and one for the copy it is compared with.
 */
#ifndef TT_TUNER_SEARCH_WITH_COPY_H
#define TT_TUNER_SEARCH_WITH_COPY_H

#include "tuner/search/search.h"

typedef struct tt__with_copy {
    bool open;
    bool has_copy; /* false: there is no copy to compare with, and `copy` is empty */
    bool copy_done;
    tt__search copy, search;
} tt__with_copy;

/* How many of a problem's configurations to compile before its search, with a cost model and the default
 * strategy. Otherwise 0, because nobody knows which will be tried. */
size_t tt__with_copy_favourites(const tt__session *s, const tt__search *search);
/* Opens both searches, which have that share of the rest of the budget. Close with tt__with_copy_close, also
 * after a failure. */
tt_status tt__with_copy_plan(tt__session *s, const tt__problem *p, double share, tt__with_copy *out);
/* The same, and compilers start to work ahead. After a failure nothing is open. */
tt_status tt__with_copy_open(tt__session *s, const tt__problem *p, double share, tt__with_copy *out);
void tt__with_copy_close(tt__with_copy *both);

/* Their share of the budget starts now. */
void tt__with_copy_begin(tt__session *s, tt__with_copy *both, double share);

/*
 * Working ahead: decides what idle compilers do in advance. No result depends on it: the strategy counts on
 * favourites (search.h) even if they are late. A failure is not reported: the same step fails again when its
 * turn comes.
 *
 *   moment                  called by      compiled ahead
 *   CUDA starts             backend        for the GPU that had this name before: the first problem
 *   a problem is opened     with_copy.c    its favourites, its fastest by the model, or all of it
 *   trials are under way    search_loop.c  what the strategy will probably name next beside favourites
 *   finals are measured     run_loop.c     the next problem, opened early
 *
 * Without s->expected nothing is compiled ahead.
 */

/* Call while CUDA starts. `name` is the probable name of the GPU ("" if unknown). If the context's layers
 * know it, *gpu gets its description, the first problem is expected for it, and the result is true. */
bool tt__with_copy_foresee(tt__session *s, tt_ctx *ctx, const char *name, tt__gpu *gpu);
/* Expects the configurations of a search that runs later. */
tt_status tt__with_copy_expect(tt__session *s, const tt__search *search);

#endif
