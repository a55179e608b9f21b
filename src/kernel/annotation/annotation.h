/*
 * Reads the `//@` lines of a template's text.
 */
#ifndef TT_KERNEL_ANNOTATION_ANNOTATION_H
#define TT_KERNEL_ANNOTATION_ANNOTATION_H

#include "kernel/model/template.h"

/* Reads all annotations of t->source into `t`. Expressions are only cut out, and checked later.
 * TT_E_TEMPLATE. */
tt_status tt__annotation_read(tt__template *t);
/* Looks up the names of operands. t->operation must be set: by tt__annotation_read if the file declares its
 * own. TT_E_TEMPLATE. */
tt_status tt__annotation_resolve(tt__template *t);

/* Appends a line for each comment of the file that was probably meant as an annotation, as in `// @ where`.
 */
tt_status tt__annotation_lookalikes(tt__str *out, const tt__template *t);

#endif
