/* A plan, for the files that make and cache them. */
#ifndef TT_DISPATCH_PLAN_H
#define TT_DISPATCH_PLAN_H

#include "dispatch/context.h"
#include "gpu/kernel.h"

/* What a launch is given, in the order of the operation's declarations. */
typedef struct tt__parameter {
    char name[TT__NAME_MAX];
    tt__type type;
    tt__direction direction;
    int64_t count; /* elements; 0 of a scalar */
    size_t bytes;
} tt__parameter;

struct tt_plan {
    const tt__driver *cu;
    CUdeviceptr misaligned; /* bits that no address may have set */
    tt__kernel kernel;
    tt__arg_value constants[TT__ARGS_MAX];
    tt__launch launch;
    tt_choice choice;
    int n_buffers; /* 2: the operation goes from one buffer to another, 1: it works in one; else 0 */
    bool of_user;  /* of an operation that a user's file declares */
    int n_parameters;
    tt__parameter parameters[TT__OPERANDS_MAX];
};

/* As tt_plan_create, without tuning. Holds ctx->lock while it uses the store, but not while it compiles and
 * loads. */
tt_status tt__plan_make(tt_plan **out, tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p);
void tt__plan_free(tt_plan *plan);

#endif
