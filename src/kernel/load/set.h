/*
 * The templates of a run, found by kernel name.
 */
#ifndef TT_KERNEL_LOAD_SET_H
#define TT_KERNEL_LOAD_SET_H

#include "kernel/model/template.h"

/* The templates of a run: built-in ones and the user's. */
typedef struct tt__template_set {
    size_t n;
    tt__template **items;
} tt__template_set;

/* Parses all built-in templates, then the named files. TT_E_INVALID: two have the same kernel name. */
tt_status tt__template_set_open(tt__template_set *out, const char *const *paths, size_t n_paths);
/* The same, with unread built-in templates: for sets that serve look-ups. */
tt_status tt__template_set_open_unread(tt__template_set *out, const char *const *paths, size_t n_paths);
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
/* TT_E_INVALID: a name in `only` is no template of the set. */
tt_status tt__template_set_check(const tt__template_set *set, const char *const *only, size_t n);

#endif
