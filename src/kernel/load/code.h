/* Compares the annotations of a file with its code. */
#ifndef TT_KERNEL_LOAD_CODE_H
#define TT_KERNEL_LOAD_CODE_H

#include "kernel/model/template.h"

/* Are the kernels there, do those that launch early wait, and can their arguments be given? TT_E_TEMPLATE
 * names the line. */
tt_status tt__code_check(const tt__template *t);

/* Appends a line for each parameter that nothing but its own line names, and each buffer that no kernel gets.
 */
tt_status tt__code_unused(tt__str *out, const tt__template *t);

#endif
