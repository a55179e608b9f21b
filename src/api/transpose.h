/*
 * What tt_transpose and tt_permute share: plans that are made when a problem is first used.
 */
#ifndef TT_API_TRANSPOSE_H
#define TT_API_TRANSPOSE_H

#include "dispatch/context.h"
#include "dispatch/plan.h"
#include "gpu/device.h"

/* The largest power of two up to 16 that divides both addresses. */
static inline int tt__align_of(CUdeviceptr dst, CUdeviceptr src) {
    CUdeviceptr bits = dst | src | 16;
    return (int)(bits & -bits);
}

/* TT_E_CAPTURE: the stream is being captured. `call` is the public function, for the message. */
tt_status tt__not_capturing(const tt__driver *cu, const tt__problem *p, const char *call, CUstream stream);
/* Tunes the problem if the context says so, and makes its plan. Adds it under the key `full`, and under the
 * key as the caller wrote it, and enters as tt__plan_cache_enter. */
tt_status tt__new_plan(tt_ctx *ctx, const tt__plan_key *asked, const tt__plan_key *full, const tt__problem *p,
                       tt_plan **out);

#endif
