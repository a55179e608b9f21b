/*
 * Problems of an operation: conversion between text and plain data.
 */
#ifndef TT_KERNEL_SPACE_PROBLEM_TEXT_H
#define TT_KERNEL_SPACE_PROBLEM_TEXT_H

#include "kernel/model/template.h"

/* Reads a problem: "n=4096,T=f32" (blanks may separate, too). Variables that are not named get their
 * defaults; NULL or "" names none. The word `warm` makes it warm. `name` is the operation's name.
 * TT_E_INVALID says which word is wrong, or which `require` line fails. */
tt_status tt__operation_problem(tt__problem *out, const tt__operation *op, const char *name,
                                const char *text);

/* An ordinary problem of the operation: its first sample, or all defaults. */
tt_status tt__operation_sample(tt__problem *out, const tt__operation *op, const char *name);

/* Appends the settings that a user must type to get this problem: "rows=4096,cols=1024,elem_size=2". */
tt_status tt__problem_add_unusual(tt__str *out, const tt__operation *op, const tt__problem *p);
/* The problem in words: "4096x4096", "100x200, batch=3", "n=4096, T=f32"; "-" if it has no variables. `op` is
 * its operation if that is built-in, else NULL. Returns out. */
char *tt__problem_words(char out[TT__PROBLEM_TEXT_MAX], const tt__operation *op, const tt__problem *p);

#endif
