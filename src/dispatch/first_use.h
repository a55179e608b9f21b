/* Tuning a problem when it is used for the first time, within tt_open_opts.tune_budget_s. */
#ifndef TT_DISPATCH_FIRST_USE_H
#define TT_DISPATCH_FIRST_USE_H

#include "dispatch/context.h"

/* `templates` are those that may answer for the problem: the context's, or a user's kernel.
 *
 * Tunes the problem on the current context's GPU if the context may, the store does not know it, and neither
 * this nor another process is at it or has just been. Returns when the store is as good as it will get within
 * the budget. A failure to tune is none of the caller's: a lower rung of the ladder serves, and its
 * tt_choice.why says so (tt__first_use_note). No lock may be held. */
void tt__first_use(tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p);

/* Adds to `why` what came of tuning the problem on first use, if it was tried and did not succeed. */
void tt__first_use_note(tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p, char *why,
                        size_t size);

void tt__first_use_free(tt_ctx *ctx);

#endif
