/*
 * Problems of an operation: conversion between text and plain data, and the operation's rules about them.
 */
#ifndef TT_TEMPLATE_OPERATION_H
#define TT_TEMPLATE_OPERATION_H

#include "template/template.h"

/* Reads a problem: "n=4096,T=f32" (blanks may separate, too). Variables that are not named get their
 * defaults; NULL or "" names none. The word `warm` makes it warm. `name` is the operation's name.
 * TT_E_INVALID says which word is wrong, or which requirement fails. */
tt_status tt__operation_problem(tt__problem *out, const tt__operation *op, const char *name,
                                const char *text);

/* The place of a template in the operation's `prefer`; 0 is first. One that is not listed comes last. */
size_t tt__operation_preference(const tt__operation *op, const char *kernel);

/* An ordinary problem of the operation: its first sample, or all defaults. */
tt_status tt__operation_sample(tt__problem *out, const tt__operation *op, const char *name);

/* Frees the query that tt__operation_usual keeps. Tests that count allocations need it. */
void tt__operation_forget(void);

/* Sets usual[i] if variable i has the value of its default. False for a variable without a default. */
tt_status tt__operation_usual(bool usual[TT__VARIABLES_MAX], const tt__operation *op, const tt__problem *p);
/* TT_E_INVALID, with the `require` line that fails, if the operation does not allow the problem. */
tt_status tt__operation_check(const tt__operation *op, const tt__problem *p);

/* Appends the settings that a user must type to get this problem: "rows=4096,cols=1024,elem_size=2". */
tt_status tt__problem_add_unusual(tt__str *out, const tt__operation *op, const tt__problem *p);
/* The problem in words: "4096x4096", "100x200, batch=3", "n=4096, T=f32"; "-" if it has no variables. Returns
 * out. */
enum { TT__PROBLEM_TEXT_MAX = 320 };
char *tt__problem_text(char out[TT__PROBLEM_TEXT_MAX], const tt__problem *p);

/* The distance of two problems of one operation. A number adds its weight for each doubling, a type adds its
 * weight if it differs. INFINITY: `other` is unverified and `asked` must be verified. *same is false if a
 * variable differs that is declared `same`. */
double tt__operation_distance(const tt__operation *op, const tt__problem *asked, const tt__problem *other,
                              bool *same);

/* The offset in bytes from a multiple of 16 to the arrays when timed. It is 0, as after an allocation, unless
 * the problem declares less alignment than its other numbers allow. */
tt_status tt__problem_offset(int *out, const tt__operation *op, const tt__problem *p);

/* A metric of a configuration (NULL: the default one) for a time. 0 if the result is not a number. */
tt_status tt__metric_value(double *out, const tt__template *t, size_t metric, const tt__gpu *gpu,
                           const tt__problem *p, const char *config, double time_us);
/* The metric of that name, or -1. */
int tt__metric_named(const tt__operation *op, const char *name);

/* The copy of as many bytes as the problem moves, for comparison. False if that number is unknown. */
bool tt__problem_copy(tt__problem *out, const tt__problem *p);

/* Does it have a reference or a file with the right results? */
bool tt__operation_verifies(const tt__operation *op);

#endif
