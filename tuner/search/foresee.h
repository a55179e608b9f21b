/*
 * Working ahead: decides what idle compilers do in advance. No result depends on it: the strategy counts on
 * favourites (search.h) even if they are late. A failure is not reported: the same step fails again when its
 * turn comes.
 *
 *   moment                  called by    compiled ahead
 *   CUDA starts             backend      for the GPU that had this name before: the first problem
 *   a problem is opened     pair.c       its favourites, its fastest by the model, or all of it
 *   trials are under way    underway.c   what the strategy will probably name next beside favourites
 *   finals are measured     driver.c     the next problem, opened early
 *
 * Without s->expected nothing is compiled ahead.
 */
#ifndef TT_TUNER_SEARCH_FORESEE_H
#define TT_TUNER_SEARCH_FORESEE_H

#include "tuner/search/pair.h"

/* Call while CUDA starts. `name` is the probable name of the GPU ("" if unknown). If the context's layers
 * know it, *gpu gets its description, the first problem is expected for it, and the result is true. */
bool tt__foresee_first(tt__session *s, tt_ctx *ctx, const char *name, tt__gpu *gpu);
/* Expects the configurations of a search that runs later. */
tt_status tt__foresee_search(tt__session *s, const tt__search *search);
/* Expects what the strategy may name next, `most` at once. */
tt_status tt__foresee_next(tt__session *s, const tt__search *search, const tt__strategy *strategy, void *self,
                           const tt__view *view, size_t most);

#endif
