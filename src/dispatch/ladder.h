/*
 * The look-up ladder: finds the configuration for a problem, and says why.
 */
#ifndef TT_DISPATCH_LADDER_H
#define TT_DISPATCH_LADDER_H

#include "dispatch/context.h"
#include "kernel/space/space.h"

/* Fills in the choice and, unless NULL, the candidate for this problem and GPU. It takes ctx->lock only while
 * it reads a store: for a problem that was tuned, and the first time.
 * TT_E_UNSUPPORTED: no configuration is legal. TT_E_NO_WINNER: the default failed when it was tuned. */
tt_status tt__ladder(tt_ctx *ctx, const tt__template_set *templates, const tt__gpu *gpu, const tt__problem *p,
                     tt_choice *choice, tt__candidate *candidate);

/* The same, and what a rule of this very GPU expects its answer to lose: the natural logarithm of its time
 * over the best. Infinite: another rung answers. */
tt_status tt__ladder_loss(tt_choice *choice, double *loss, tt_ctx *ctx, const tt__template_set *templates,
                          const tt__gpu *gpu, const tt__problem *p);

/* Where the kernel of the ladder's answer to a transpose is compiled for its sizes alone, as those of narrow
 * matrices are: replaces the answer by a kernel of `permute` that gets the sizes as arguments, if that is
 * nearly as fast. `permutation` is the problem that it solves. No winner is asked for. */
tt_status tt__ladder_any_size(bool *found, tt__problem *permutation, tt_choice *choice,
                              tt__candidate *candidate, tt_ctx *ctx, const tt__template_set *templates,
                              const tt__gpu *gpu, const tt__problem *p);

/* As tt__ladder with answers of before, for the context's GPU. */
tt_status tt__best(tt_choice *out, tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p);

/* What the last rung answers: the first legal default of the operation's templates, without a look at any
 * store. It has no template if none is legal. */
tt_status tt__ladder_default(tt__configuration *out, const tt__template_set *templates,
                             const tt__operation *op, const tt__gpu *gpu, const tt__problem *p);

#endif
