/*
 * The templates of a run, found by kernel name. They are few, so a list is enough.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/load/set.h"
#include "kernel/model/template.h"
#include "kernel/space/operation.h"

tt_status tt__template_set_add(tt__template_set *set, tt__template *t) {
    const tt__template *other = tt__template_set_find(set, t->kernel);
    tt_status status =
        other ? tt__fail(TT_E_INVALID, "%s and %s both define the kernel %s", other->path, t->path, t->kernel)
              : TT__GROW(set->items, set->n);
    if (status == TT_OK)
        set->items[set->n++] = t;
    else
        tt__template_free(&t);
    return status;
}

static tt_status open_with(tt__template_set *out, const char *const *paths, size_t n_paths,
                           tt_status (*builtin)(tt__template **, const tt__builtin *)) {
    tt_status status = TT_OK;
    size_t n = tt__n_builtins + n_paths;
    *out = (tt__template_set){0};
    for (size_t i = 0; i < n; i++) {
        tt__template *t;
        if (i >= tt__n_builtins && !paths[i - tt__n_builtins])
            TT_GOTO(tt__fail(TT_E_INVALID, "templates[%zu] is NULL: it must be the path of a .cu file",
                             i - tt__n_builtins));
        TT_GOTO(i < tt__n_builtins ? builtin(&t, &tt__builtins[i])
                                   : tt__template_load(&t, paths[i - tt__n_builtins]));
        TT_GOTO(tt__template_set_add(out, t));
    }
out:
    if (status != TT_OK)
        tt__template_set_close(out);
    return status;
}

tt_status tt__template_set_open(tt__template_set *out, const char *const *paths, size_t n_paths) {
    return open_with(out, paths, n_paths, tt__template_builtin);
}

tt_status tt__template_set_open_unread(tt__template_set *out, const char *const *paths, size_t n_paths) {
    return open_with(out, paths, n_paths, tt__template_builtin_unread);
}

void tt__template_set_close(tt__template_set *set) {
    for (size_t i = 0; i < set->n; i++)
        tt__template_free(&set->items[i]);
    free(set->items);
    *set = (tt__template_set){0};
}

const tt__template *tt__template_set_find(const tt__template_set *set, const char *kernel) {
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->items[i]->kernel, kernel) == 0)
            return set->items[i];
    return NULL;
}

const tt__template *tt__template_set_for(const tt__template_set *set, const tt__problem *p) {
    for (size_t i = 0; i < set->n; i++)
        if (tt__template_does(set->items[i], p))
            return set->items[i];
    return NULL;
}

bool tt__template_competes(const tt__template_set *set, const tt__template *t, const char *const *only,
                           size_t n) {
    bool op_named = false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(only[i], t->kernel) == 0)
            return true;
        const tt__template *named = tt__template_set_find(set, only[i]);
        op_named |= named && strcmp(named->op, t->op) == 0;
    }
    return !op_named;
}

tt_status tt__template_set_check(const tt__template_set *set, const char *const *only, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tt__suggest near = tt__suggest_for(only[i], strlen(only[i]));
        if (tt__template_set_find(set, only[i]))
            continue;
        for (size_t k = 0; k < set->n; k++)
            tt__suggest_try(&near, set->items[k]->kernel);
        return tt__fail(TT_E_INVALID, "there is no kernel template %s%s; \"tune doctor\" lists them", only[i],
                        tt__suggest_text(&near));
    }
    return TT_OK;
}
