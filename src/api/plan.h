/*
 * Launches of plans that the public functions share.
 */
#ifndef TT_API_PLAN_H
#define TT_API_PLAN_H

#include "dispatch/plan.h"

/* The same as tt_plan_launch, for a plan that needs_scratch, with this memory. */
tt_status tt__plan_launch_with(const tt_plan *plan, CUdeviceptr dst, CUdeviceptr src, CUdeviceptr scratch,
                               CUstream stream);

#endif
