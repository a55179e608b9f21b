/*
 * Tunes a problem when it is first used, within tt_open_opts.tune_budget_s.
 */
#ifndef TT_DISPATCH_FIRST_USE_H
#define TT_DISPATCH_FIRST_USE_H

#include "dispatch/context.h"

/* Tunes the problem on the current context's GPU, if the context allows it, the store has no winner, and no
 * process has just tried. `templates` are those that may solve the problem: the context's, or a user's
 * kernel.
 *
 * Returns after at most the budget. If tuning fails, the caller gets a lower rung of the ladder, if it has
 * one, and tt_choice.why says so (tt__first_use_note). No lock may be held. */
void tt__first_use(tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p);

/* Appends to `why` the reason why tuning on first use failed, if it was tried. */
void tt__first_use_note(tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p, char *why,
                        size_t size);

void tt__first_use_free(tt_ctx *ctx);

#endif
