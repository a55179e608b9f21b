/*
 * Buffers that hold an expression of the index. Each becomes a `data` kernel of our own, whose code goes
 * behind the file's.
 */
#ifndef TT_KERNEL_ANNOTATION_INDEX_H
#define TT_KERNEL_ANNOTATION_INDEX_H

#include "kernel/model/template.h"

/* Adds the launches of these kernels before the file's own `data` kernels. */
tt_status tt__index_finish(tt__template *t);
/* The operand that this kernel of ours fills; -1: it is none. */
int tt__index_operand(const tt__template *t, const char *symbol);
/* Appends the code of one kernel. `type` is the type of its elements in the code. */
void tt__index_code(tt__str *out, const tt__template *t, size_t operand, const char *type);

#endif
