/* A kernel of somebody's own, opened beside the templates of a context. */
#ifndef TT_DISPATCH_OWN_KERNEL_H
#define TT_DISPATCH_OWN_KERNEL_H

#include "dispatch/context.h"

struct tt_kernel {
    tt_ctx *ctx;
    tt__template *t;
    tt__template_set set; /* of it alone */
};

#endif
