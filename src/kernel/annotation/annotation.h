/*
 * Reads the `//@` lines of a template's text.
 */
#ifndef TT_KERNEL_ANNOTATION_ANNOTATION_H
#define TT_KERNEL_ANNOTATION_ANNOTATION_H

#include "kernel/annotation/words.h"

/* Reads all annotations of t->source into `t`. Expressions are only cut out, and checked later.
 * TT_E_TEMPLATE. */
tt_status tt__annotation_read(tt__template *t);
/* Looks up the names of operands, and puts those that the file declares in order: arguments of a plan,
 * constants, others. t->operation must be set: by tt__annotation_read if the file declares its own.
 * TT_E_TEMPLATE. */
tt_status tt__annotation_resolve(tt__template *t);

/* Appends a line for each comment of the file that was probably meant as an annotation, as in `// @ where`.
 */
tt_status tt__annotation_lookalikes(tt__str *out, const tt__template *t);

/* A buffer that holds an expression of the index is filled by a `data` kernel of our own, whose code goes
 * behind the file's. The operand that this kernel fills; -1: it is none of ours. */
int tt__index_operand(const tt__template *t, const char *symbol);
/* Appends the code of one kernel. `type` is the type of its elements in the code. */
void tt__index_code(tt__str *out, const tt__template *t, size_t operand, const char *type);

/* The keywords of kernel.c and operation.c. */
extern const tt__keyword tt__kernel_keywords[], tt__operation_keywords[];
extern const size_t tt__n_kernel_keywords, tt__n_operation_keywords;

#endif
