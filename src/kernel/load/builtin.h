/*
 * The templates and operations that are built into the library.
 */
#ifndef TT_KERNEL_LOAD_BUILTIN_H
#define TT_KERNEL_LOAD_BUILTIN_H

#include "kernel/model/template.h"

/* The templates built into the library, in alphabetical order. */
extern const tt__builtin tt__builtins[];
extern const size_t tt__n_builtins;
/* Reads a built-in template. A test proves that it passes all checks, so they are not repeated in every
 * process. */
tt_status tt__template_builtin(tt__template **out, const tt__builtin *builtin);
/* The same, but only path, hash, kernel and op are filled in. Reading all built-in templates would take most
 * of the time of tt_open. */
tt_status tt__template_builtin_unread(tt__template **out, const tt__builtin *builtin);
/* Replaces a template that may be unread by the whole one, which lives as long. Thread-safe. */
tt_status tt__template_read(const tt__template **t);
/* Does the first line `//@ KEYWORD ...` of the text have the word? The text is the library's own. */
bool tt__builtin_says(const tt__builtin *builtin, const char *keyword, const char *word);

/* The built-in operation of that name ("transpose"). It lives as long as the process. NULL and TT_E_INVALID
 * if there is none. */
tt_status tt__operation_builtin(const tt__operation **out, const char *name);
/* The operation of a problem if it is built-in, else NULL. Sets no error. */
const tt__operation *tt__operation_of(const tt__problem *p);
/* The files that define the built-in operations. */
extern const tt__builtin tt__ops[];
extern const size_t tt__n_ops;
/* The problem in words (tt__problem_words), whose operation is looked up. Returns out. */
char *tt__problem_text(char out[TT__PROBLEM_TEXT_MAX], const tt__problem *p);

#endif
