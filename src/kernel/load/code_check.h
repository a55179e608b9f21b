/*
 * What the code of a kernel file must have, as its annotations say, and what of them it does not use.
 */
#ifndef TT_KERNEL_LOAD_CODE_CHECK_H
#define TT_KERNEL_LOAD_CODE_CHECK_H

#include "kernel/model/template.h"

/* Are the kernels and constant arrays that a parsed file names in its code, and do they need nothing of a
 * launch that annotations do not say? TT_E_TEMPLATE, as tt__template_parse. */
tt_status tt__template_check_code(const tt__template *t);

/* Appends a line for each parameter, variable, `let` and `derived` that nothing but its own line names, each
 * buffer that no kernel gets, each `data` kernel whose code has a parameter, and a kernel that takes a
 * pointer to pointers. A variable, a `let` and a `derived` count only where the file declares its operation.
 */
tt_status tt__template_unused(tt__str *out, const tt__template *t);

#endif
