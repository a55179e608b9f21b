/*
 * The struct of tt_plan, for the files that make and cache plans.
 */
#ifndef TT_DISPATCH_PLAN_H
#define TT_DISPATCH_PLAN_H

#include "dispatch/collect.h"
#include "dispatch/context.h"
#include "dispatch/modules.h"
#include "kernel/space/config.h"

/* An argument of a launch, in the order of the operation's declarations. */
typedef struct tt__parameter {
    char name[TT__NAME_MAX];
    tt__type type;
    tt__direction direction;
    int64_t count; /* elements; 0 for a scalar */
    size_t bytes;
} tt__parameter;

struct tt_plan {
    const tt__driver *cu;
    CUdeviceptr misaligned; /* bits that must be zero in every address */
    tt__module *module;
    tt__tally *tally;  /* counts its launches; NULL: they are not collected */
    tt__kernel kernel; /* the module's code in the plan's CUDA context */
    tt__arg_value constants[TT__ARGS_MAX];
    tt__launch launch;
    tt_choice choice;
    int n_buffers;                 /* 2: one source and one destination; 1: in place; 0: anything else, or: */
    bool needs_scratch;            /* in place with scratch memory */
    CUdeviceptr scratch;           /* which tt_plan_launch uses; 0: none yet */
    bool of_user;                  /* a user's file declares its operation */
    int n_parameters, n_constants; /* constants stand behind the others */
    tt__parameter *parameters;
    uint64_t missing;    /* a bit for each constant that has no data yet */
    tt__plan_entry kept; /* plan_cache.c's */
};

/* The same as tt_plan_create, without tuning. It holds ctx->lock while it uses the store, and not while it
 * compiles and loads. */
tt_status tt__plan_make(tt_plan **out, tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p);
void tt__plan_free(tt_plan *plan);

/* What a plan would launch on a GPU that need not be here, and its code: from a store, or else compiled. */
typedef struct tt__plan_code {
    tt_choice choice;
    tt__candidate candidate;
    tt__str cubin;
    tt__str ptx; /* the same for later architectures; empty: there is none, because */
    char no_ptx[256];
} tt__plan_code;
/* `templates` and errors as in tt__plan_make. Free it, also after a failure. */
tt_status tt__plan_code_make(tt__plan_code *out, tt_ctx *ctx, const tt__template_set *templates,
                             const tt__gpu *gpu, const tt__problem *p);
void tt__plan_code_free(tt__plan_code *code);

#endif
