/* A plan, for the files that make and cache them. */
#ifndef TT_DISPATCH_PLAN_H
#define TT_DISPATCH_PLAN_H

#include "dispatch/context.h"
#include "gpu/kernel.h"

struct tt_plan {
    const tt__driver *cu;
    CUdeviceptr misaligned; /* bits that neither address may have set */
    bool in_place;          /* the addresses must be the same; otherwise they must not */
    tt__kernel kernel;
    tt__arg_value constants[TT__ARGS_MAX];
    tt__launch launch;
    tt_choice choice;
    tt__workload *work; /* what a kernel of somebody's own is given; NULL: a transpose */
};

/* As tt_plan_create, for a problem with its defaults filled in, without tuning. Holds ctx->lock while it uses
 * the store, but not while it compiles and loads. */
tt_status tt__plan_make(tt_plan **out, tt_ctx *ctx, const tt__problem *p);
/* The same among other templates than the context's. */
tt_status tt__plan_make_among(tt_plan **out, tt_ctx *ctx, const tt__template_set *templates,
                              const tt__problem *p);

#endif
