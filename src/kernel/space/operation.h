/*
 * The problems of an operation: text, values, distances, metrics.
 */
#ifndef TT_KERNEL_SPACE_OPERATION_H
#define TT_KERNEL_SPACE_OPERATION_H

#include "kernel/expression/expr.h"

/* ---- Text ---------------------------------------------------------------------------------------------- */

/* Reads a problem: "n=4096,T=f32" (blanks may separate, too). Variables that are not named get their
 * defaults; NULL or "" names none. The words `warm` and `in_graph` make it so. `name` is the operation's
 * name. TT_E_INVALID says which word is wrong, or which `require` line fails. */
tt_status tt__operation_problem(tt__problem *out, const tt__operation *op, const char *name,
                                const char *text);

/* An ordinary problem of the operation: its first sample, or all defaults. */
tt_status tt__operation_sample(tt__problem *out, const tt__operation *op, const char *name);

/* Appends the settings that a user must type to get this problem: "rows=4096,cols=1024,elem_size=2". */
tt_status tt__problem_add_unusual(tt__str *out, const tt__operation *op, const tt__problem *p);
/* The same, if its facts are known. */
void tt__facts_add_unusual(tt__str *out, const tt__facts *facts, const tt__problem *p);
/* The problem in words: "4096x4096", "100x200, batch=3", "n=4096, T=f32"; "-" if it has no variables. `op` is
 * its operation if that is built-in, else NULL. Returns out. */
char *tt__problem_words(char out[TT__PROBLEM_TEXT_MAX], const tt__operation *op, const tt__problem *p);

/* ---- Rules --------------------------------------------------------------------------------------------- */

/* The next name in the operation's `prefer`; *at is NULL at first. False after the last. */
bool tt__operation_prefers(char out[TT__NAME_MAX], const tt__operation *op, const char **at);

/* Collects the facts of a problem and a GPU (NULL: zeros). TT_E_INVALID: the problem lacks a variable of the
 * operation. */
tt_status tt__facts_of(tt__facts *out, const tt__operation *operation, const tt__gpu *gpu,
                       const tt__problem *p);

/* Sets usual[i] if variable i has the value of its default. False for a variable without a default. */
tt_status tt__operation_usual(bool usual[TT__VARIABLES_MAX], const tt__operation *op, const tt__problem *p);

/* The distance of two problems of one operation. A number adds its weight for each doubling, a type adds its
 * weight if it differs. INFINITY: `other` is unverified and `asked` must be verified. *same is false if a
 * variable differs that is declared `same`. */
double tt__operation_distance(const tt__operation *op, const tt__problem *asked, const tt__problem *other,
                              bool *same);

/* The offset in bytes from a multiple of 16 to the arrays of a problem when timed. It is 0, as after an
 * allocation, unless the problem declares less alignment than its other numbers allow. */
int tt__facts_offset(const tt__facts *facts);

/* A metric of a configuration (NULL: the default one) for a time. 0 if the result is not a number. */
tt_status tt__metric_value(double *out, const tt__template *t, size_t metric, const tt__gpu *gpu,
                           const tt__problem *p, const char *config, double time_us);
/* The metric of that name, or -1. */
int tt__metric_named(const tt__operation *op, const char *name);

/* The copy of as many bytes as the problem moves, for comparison. False if that number is unknown. */
bool tt__problem_copy(tt__problem *out, const tt__problem *p);

/* Makes `out`, which has no settings yet, a problem of `permute`, whose variables are those of
 * kernel_templates/ops/permute.cu: n dimensions of the destination, the innermost first, and their strides in
 * the source, at most TT__PERMUTE_DIMS. */
enum { TT__PERMUTE_DIMS = 16 };
void tt__problem_permute(tt__problem *out, int n, const int64_t *dims, const int64_t *strides, int elem_size,
                         int align);
/* The permutation that does the same as a transpose. False: it is none, or there are gaps in its destination.
 */
bool tt__problem_as_permute(tt__problem *out, const tt__problem *p);

/* Does it have a reference or a file with the right results? */
bool tt__operation_verifies(const tt__operation *op);

/* Is it a problem of the template's operation? If a user's file declares the operation, the file must be the
 * same. */
bool tt__template_does(const tt__template *t, const tt__problem *p);

/* Operand k as a file declares it: "x f32 in". NULL: there are not so many. */
enum { TT__OPERAND_TEXT_MAX = 2 * TT__NAME_MAX + 32 };
const char *tt__operand_text(char out[static TT__OPERAND_TEXT_MAX], const tt__operation *op, size_t k);

#endif
