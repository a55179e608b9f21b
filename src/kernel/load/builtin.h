/*
 * The templates and operations that are built into the library, and the templates of a run: these and the
 * user's.
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
/* The files that define the built-in operations. */
extern const tt__builtin tt__ops[];
extern const size_t tt__n_ops;
/* The problem in words (tt__problem_words), whose operation is looked up. Returns out. */
char *tt__problem_text(char out[TT__PROBLEM_TEXT_MAX], const tt__problem *p);

/* ---- The templates of a run ---------------------------------------------------------------------------- */

/* The templates of a run: built-in ones and the user's. */
typedef struct tt__template_set {
    size_t n;
    tt__template **items;
} tt__template_set;

/* Parses all built-in templates, then the named files. TT_E_INVALID: two have the same kernel name. */
tt_status tt__template_set_open(tt__template_set *out, const char *const *paths, size_t n_paths);
/* The same, with unread built-in templates: for sets that serve look-ups. */
tt_status tt__template_set_open_unread(tt__template_set *out, const char *const *paths, size_t n_paths);
/* Reads those that a run of the problem needs: they solve it, or copy as many bytes. */
tt_status tt__template_set_read(tt__template_set *set, const tt__problem *p);
/* Does a run of the problem need the template? */
bool tt__template_serves(const tt__template *t, const tt__problem *p);
/* Adds a template and takes ownership, even if it fails. TT_E_INVALID: there is one of this name already. */
tt_status tt__template_set_add(tt__template_set *set, tt__template *t);
void tt__template_set_close(tt__template_set *set);
/* The first template that solves the problem, or NULL. */
const tt__template *tt__template_set_for(const tt__template_set *set, const tt__problem *p);
/* The template with this kernel name, or NULL. */
const tt__template *tt__template_set_find(const tt__template_set *set, const char *kernel);

/* Does the template compete? `only` lists kernel names. In an operation with a listed template, only listed
 * ones compete. n 0: all do. */
bool tt__template_competes(const tt__template_set *set, const tt__template *t, const char *const *only,
                           size_t n);

#endif
