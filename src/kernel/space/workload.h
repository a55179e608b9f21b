/*
 * Computes the data of a problem from the operation's declarations.
 */
#ifndef TT_KERNEL_SPACE_WORKLOAD_H
#define TT_KERNEL_SPACE_WORKLOAD_H

#include "base/model.h"
#include "kernel/model/template.h"
#include "kernel/space/space.h"

/* The buffers and the reference of a problem on a GPU.
 * TT_E_TEMPLATE: a length or the reference's geometry is invalid, or data does not fit its type.
 * TT_E_UNSUPPORTED: the reference cannot be launched. */
tt_status tt__workload_of(tt__workload *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p);
/* The same where no data is made: numbers need not fit their types. */
tt_status tt__workload_try(tt__workload *out, const tt__template *t, const tt__gpu *gpu,
                           const tt__problem *p);
/* Only the arrays of it, with the lengths of one configuration: what a plan needs. Without a configuration
 * (NULL), a length that depends on parameters is the largest of all. */
tt_status tt__workload_arrays(tt__workload *out, const tt__template *t, const tt__gpu *gpu,
                              const tt__problem *p, const char *config);
/* The kernels beside the template's that are compiled once, in one cubin; TT__ROLE_COUNT: there are none. */
tt__role tt__workload_role(const tt__workload *w);
/* What verifying must know of one configuration. Errors as above. */
tt_status tt__workload_checks(tt__checks *out, const tt__configuration *c, const tt__gpu *gpu,
                              const tt__problem *p);

#endif
