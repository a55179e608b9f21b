/*
 * Spaces that are too large to list: a sample of the legal configurations.
 */
#ifndef TT_KERNEL_SPACE_SAMPLE_H
#define TT_KERNEL_SPACE_SAMPLE_H

#include "kernel/space/launch_plan.h"

/* Appends up to TT__SAMPLE_MAX legal configurations in the order of declaration. Each legal one has the same
 * chance. *legal estimates how many there are; *whole: all of them were appended, and it counts them.
 * TT_E_TEMPLATE: so few of very many combinations are legal that none was found. */
tt_status tt__sample_add(tt__space *space, const tt__launch_plan *pl, double *legal, bool *whole);

#endif
