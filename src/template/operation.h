/*
 * Problems of an operation: from text to plain data and back, and what the operation says of them.
 */
#ifndef TT_TEMPLATE_OPERATION_H
#define TT_TEMPLATE_OPERATION_H

#include "template/template.h"

/* A problem from "n=4096,T=f32" (blanks may stand for commas). What is not named gets its default; NULL or ""
 * names nothing. The word `warm` asks for that regime. `name` is the operation's. TT_E_INVALID says which
 * word is wrong, or what the operation requires. */
tt_status tt__operation_problem(tt__problem *out, const tt__operation *op, const char *name,
                                const char *text);
/* The operation's name, as messages have it: that of the user's kernel, or the first one it defines. */
const char *tt__operation_name(const tt__operation *op);

/* An ordinary problem of the operation: its first sample, or all defaults. */
tt_status tt__operation_sample(tt__problem *out, const tt__operation *op, const char *name);

/* Frees the query that is kept for the next tt__operation_usual. For tests that count what is left. */
void tt__operation_forget(void);

/* Is the variable as its default makes it of the others? By index; false for one without a default. */
tt_status tt__operation_usual(bool usual[TT__VARIABLES_MAX], const tt__operation *op, const tt__problem *p);
/* TT_E_INVALID, with the line that does not hold, if it is no problem that the operation allows. */
tt_status tt__operation_check(const tt__operation *op, const tt__problem *p);

/* Appends what a user would have to say to get this problem: "rows=4096,cols=1024,elem_size=2". */
tt_status tt__problem_add_unusual(tt__str *out, const tt__operation *op, const tt__problem *p);
/* The problem in words: "4096x4096", "100x200, batch=3", "n=4096, T=f32"; "-" if there is nothing to say.
 * Returns out. */
enum { TT__PROBLEM_TEXT_MAX = 320 };
char *tt__problem_text(char out[TT__PROBLEM_TEXT_MAX], const tt__problem *p);

/* How far two problems of one operation are apart: doublings of each number times its weight, and the weight
 * of each type that differs. INFINITY if the one is not verified and the other must be. *same is false if a
 * variable differs that has to be the same. */
double tt__operation_distance(const tt__operation *op, const tt__problem *asked, const tt__problem *other,
                              bool *same);

/* How many bytes from a multiple of 16 its arrays begin when they are timed: 0, as allocators have it, unless
 * the problem says that they are aligned to less than its other numbers allow. */
tt_status tt__problem_offset(int *out, const tt__operation *op, const tt__problem *p);

/* A metric of a configuration (NULL: the default one) of the template, for a time; 0 if it comes to nothing
 * that is a number. */
tt_status tt__metric_value(double *out, const tt__template *t, size_t metric, const tt__gpu *gpu,
                           const tt__problem *p, const char *config, double time_us);
/* The metric of that name, or -1. */
int tt__metric_named(const tt__operation *op, const char *name);

/* The copy of as many bytes as a problem moves: what it is compared with. False if that is not known. */
bool tt__problem_copy(tt__problem *out, const tt__problem *p);

/* Does a reference, or a file, say what is right? */
bool tt__operation_verifies(const tt__operation *op);

#endif
