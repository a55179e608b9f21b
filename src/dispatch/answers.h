/* What tt_best has answered, so that the same question costs no look-up: the look-up ladder in front of which
 * it stands reads files. Another process's winners are seen within a second; those of this context's tt_tune
 * at once. All of this under ctx->lock. */
#ifndef TT_DISPATCH_ANSWERS_H
#define TT_DISPATCH_ANSWERS_H

#include "dispatch/context.h"

/* The context's GPU if it was named, as tt__context_gpu. */
tt_status tt__answers_gpu(tt_ctx *ctx, tt__gpu *gpu, int64_t *gpu_id);
/* *out is the answer, borrowed until the next call, or NULL. `gpu` NULL: the one that tt_open named. */
const tt_choice *tt__answers_get(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p);
/* Keeps an answer, perhaps in place of another; does nothing if there is no memory for it. */
void tt__answers_put(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, const tt_choice *choice);

/* Takes the lock itself. */
void tt__answers_forget(tt_ctx *ctx);
void tt__answers_free(struct tt__answers **answers);

#endif
