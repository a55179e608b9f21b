/* tt_problem: what a caller asks for, as a problem and the templates that may answer. */
#ifndef TT_API_PROBLEM_H
#define TT_API_PROBLEM_H

#include "dispatch/context.h"

/* A user's kernel file, opened beside the templates of a context. */
struct tt_kernel {
    tt_ctx *ctx;
    tt__template *t;
    tt__template_set set; /* of it alone */
};

typedef struct tt__question {
    tt__problem problem;
    const tt__template_set *templates; /* of the context or of the kernel; borrowed */
} tt__question;

/* TT_E_INVALID if it is not one problem of one operation, or is none of this context's. */
tt_status tt__question_of(tt__question *out, tt_ctx *ctx, const tt_problem *in);
/* Of a kernel, from a text. */
tt_status tt__question_of_kernel(tt__question *out, const tt_kernel *kernel, const char *text);

#endif
