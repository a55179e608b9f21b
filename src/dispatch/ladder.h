/* The look-up ladder: which configuration answers for a problem, and why. */
#ifndef TT_DISPATCH_LADDER_H
#define TT_DISPATCH_LADDER_H

#include "dispatch/context.h"

/* Fills the choice and, unless it is NULL, the candidate it means for this problem on this GPU, among these
 * templates. The caller holds ctx->lock. TT_E_UNSUPPORTED if nothing is legal. */
tt_status tt__ladder(tt_ctx *ctx, const tt__template_set *templates, const tt__gpu *gpu, int64_t gpu_id,
                     const tt__problem *p, tt_choice *choice, tt__candidate *candidate);

/* The same from memory, for the context's GPU. Takes ctx->lock. */
tt_status tt__best(tt_choice *out, tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p);

#endif
