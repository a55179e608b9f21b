/*
 * Shared by all functions that read `//@` lines: the current position, and how to cut up a line.
 */
#ifndef TT_KERNEL_ANNOTATION_READER_H
#define TT_KERNEL_ANNOTATION_READER_H

#include "kernel/model/template.h"

typedef struct tt__span {
    const char *at;
    size_t n;
} tt__span;

typedef struct tt__reader {
    tt__template *t;
    int line;
    const char *line_start;
    const char *keyword;
    tt__geometry_expr *launch; /* the kernel that `block`, `grid`, `shared` and `args` belong to */
    const char *symbol;        /* its name */
} tt__reader;

/* A span as arguments of "%.*s", shortened for a message. */
#define TT__SHOW(s) ((int)((s).n > 60 ? 60 : (s).n)), (s).at
#define TT__READ_FAIL(r, where, ...)                                                                         \
    tt__template_fail((r)->t->path, (r)->line, tt__read_column(r, where), __VA_ARGS__)

static inline int tt__read_column(const tt__reader *r, const char *at) {
    return (int)(at - r->line_start) + 1;
}

bool tt__is_blank(char c);
tt__span tt__trim(tt__span s);
bool tt__span_is(tt__span s, const char *word);
/* Removes the first word from `rest`. */
tt__span tt__take_word(tt__span *rest);
/* Removes the text before the next comma outside parentheses from `rest`. False after the last item. */
bool tt__take_item(tt__span *item, tt__span *rest);

/* Removes what stands before the first of `words` from `rest`, which then begins with that word. Returns its
 * index; `n`: none of them is there, and all of `rest` is before. */
size_t tt__take_until(tt__span *before, tt__span *rest, const char *const *words, size_t n);

tt_status tt__read_expr(tt__reader *r, tt__expr *out, tt__span s);
/* Reads an identifier. The rest of the line is a remark. */
tt_status tt__read_name(tt__reader *r, char *out, size_t size, tt__span rest);
/* A kernel: a name, or an instance of a template as in "ns::reduce<T, BLOCK>"; what follows is a remark.
 * `name` (TT__NAME_MAX) gets the plain name in it. */
tt_status tt__read_kernel(tt__reader *r, char symbol[TT__SYMBOL_MAX], char *name, tt__span rest);
/* Reads a number that must fill the span. */
tt_status tt__read_number(tt__reader *r, double *out, tt__span s);
/* Reads a name that has no other meaning in expressions. */
tt_status tt__read_new_name(tt__reader *r, char *out, size_t size, tt__span rest);

/* ---- Keywords of a launch (annotation_launch.c) -------------------------------------------------------- */

tt_status tt__read_dims(tt__reader *r, tt__span rest);
tt_status tt__read_shared(tt__reader *r, tt__span rest);
tt_status tt__read_args(tt__reader *r, tt__span rest);
tt_status tt__read_when(tt__reader *r, tt__span rest);
tt_status tt__read_repeat(tt__reader *r, tt__span rest);
tt_status tt__read_swap(tt__reader *r, tt__span rest);
tt_status tt__read_launch(tt__reader *r, tt__span rest);
tt_status tt__read_tensormap(tt__reader *r, tt__span rest);

/* ---- Keywords of an operation (annotation_operation.c) ------------------------------------------------- */

/* Creates the template's own operation, if there is none yet. Call it before the readers below.
 * TT_E_NO_MEMORY. */
tt_status tt__declare_operation(tt__template *t);
/* A type's name. */
tt_status tt__read_type_name(tt__reader *r, tt__type *out, tt__span word);
/* The type that a name of C++ means, as "f32" for float; NULL: none. */
const char *tt__type_meant(tt__span word);
/* Takes the number of lanes off a type: f32x4 is four f32, as float4 or a struct has them. */
tt_status tt__take_lanes(tt__reader *r, tt__span *word, int *lanes);
/* The name of a file that lies beside the template. */
tt_status tt__read_file_beside(tt__reader *r, char out[TT__FILE_MAX], tt__span word);

tt_status tt__read_problem(tt__reader *r, tt__span rest);
tt_status tt__read_type(tt__reader *r, tt__span rest);
tt_status tt__read_buffer(tt__reader *r, tt__span rest);
tt_status tt__read_scalar(tt__reader *r, tt__span rest);
tt_status tt__read_constant(tt__reader *r, tt__span rest);
tt_status tt__read_aside(tt__reader *r, tt__span rest);
tt_status tt__read_per(tt__reader *r, tt__span rest);
tt_status tt__read_limit(tt__reader *r, tt__span rest);
tt_status tt__read_expect(tt__reader *r, tt__span rest);
tt_status tt__read_tolerance(tt__reader *r, tt__span rest);
tt_status tt__read_metric(tt__reader *r, tt__span rest);
tt_status tt__read_objective(tt__reader *r, tt__span rest);
tt_status tt__read_require(tt__reader *r, tt__span rest);
tt_status tt__read_shape(tt__reader *r, tt__span rest);
tt_status tt__read_batch(tt__reader *r, tt__span rest);
tt_status tt__read_near(tt__reader *r, tt__span rest);
tt_status tt__read_macros(tt__reader *r, tt__span rest);
tt_status tt__read_moves(tt__reader *r, tt__span rest);
tt_status tt__read_sample(tt__reader *r, tt__span rest);
tt_status tt__read_prefer(tt__reader *r, tt__span rest);

/* Runs after the last line. Checks that the operation is complete, and resolves operands' names.
 * TT_E_TEMPLATE. */
tt_status tt__annotation_end_operation(tt__template *t);

#endif
