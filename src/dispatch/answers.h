/*
 * Remembers what tt_best answered, because the look-up ladder reads files. Winners of other processes are
 * seen within a second, those of this context's tt_tune at once. Call all of this under ctx->lock.
 */
#ifndef TT_DISPATCH_ANSWERS_H
#define TT_DISPATCH_ANSWERS_H

#include "dispatch/context.h"

/* The context's GPU if tt_open named it, as tt__layers_gpu. */
tt_status tt__answers_gpu(tt_ctx *ctx, tt__gpu *gpu, int64_t *gpu_id);
/* out is the answer, borrowed until the next call, or NULL. `gpu` NULL: the GPU that tt_open named. */
const tt_choice *tt__answers_get(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p);
/* Remembers an answer. It may replace another one. Does nothing if memory is short. */
void tt__answers_put(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, const tt_choice *choice);

/* Takes the lock itself. */
void tt__answers_forget(tt_ctx *ctx);

#endif
