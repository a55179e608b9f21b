/*
 * Turns tt_problem into a problem and the templates that may solve it.
 */
#ifndef TT_API_PROBLEM_H
#define TT_API_PROBLEM_H

#include "dispatch/context.h"
#include "kernel/load/set.h"

/* A user's kernel file. */
struct tt_kernel {
    tt_ctx *ctx;
    tt__template *t;
    tt__template_set set; /* this template only */
};

typedef struct tt__question {
    tt__problem problem;
    const tt__template_set *templates; /* those of the context or of the kernel; borrowed */
    CUdeviceptr scratch;               /* as in tt_problem */
} tt__question;

/* TT_E_INVALID: it is not exactly one problem of one operation, or its kernel belongs to another context. */
tt_status tt__question_of(tt__question *out, tt_ctx *ctx, const tt_problem *in);

/* TT_E_INVALID: a kernel that is NULL. */
tt_status tt__no_kernel(void);

#endif
