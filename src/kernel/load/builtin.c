/*
 * The built-in templates, read when they are first needed, the built-in operations, read once, and the
 * templates of a run. These are few, so a list is enough.
 */
#include "kernel/load/builtin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/str.h"
#include "kernel/expression/expr.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"

/* ---- Templates ----------------------------------------------------------------------------------------- */

tt_status tt__template_builtin(tt__template **out, const tt__builtin *builtin) {
    TT_TRY(tt__template_new(out, builtin->name, builtin->source, builtin->hash));
    tt_status status = tt__expr_compile(*out);
    if (status == TT_OK)
        status = tt__template_take_default(*out);
    if (status != TT_OK)
        tt__template_free(out);
    return status;
}

/* ---- Built-in templates that may never be needed ------------------------------------------------------- */

/* What follows the keyword in its first line, up to the end of the line. */
static const char *rest_of_line(const char *source, const char *keyword, size_t *n) {
    char start[TT__NAME_MAX];
    snprintf(start, sizeof start, "//@ %s ", keyword);
    const char *at = strstr(source, start);
    at = at ? at + strlen(start) : "";
    at += strspn(at, " ");
    *n = strcspn(at, "\n");
    return at;
}

bool tt__builtin_says(const tt__builtin *builtin, const char *keyword, const char *word) {
    size_t n, left;
    for (const char *at = rest_of_line(builtin->source, keyword, &left); left > 0; at += n, left -= n) {
        n = strcspn(at, " \n");
        if (tt__word_is(at, n, word))
            return true;
        n += strspn(at + n, " ");
        n = n < left ? n : left;
    }
    return false;
}

tt_status tt__template_builtin_unread(tt__template **out, const tt__builtin *builtin) {
    tt__template *t;
    size_t n;
    *out = NULL;
    TT_TRY(tt__template_empty(&t));
    t->unread = builtin;
    tt__copy(t->hash, sizeof t->hash, builtin->hash);
    for (size_t i = 0; i < 2; i++) {
        const char *word = rest_of_line(builtin->source, i ? "op" : "kernel", &n);
        snprintf(i ? t->op : t->kernel, TT__NAME_MAX, "%.*s", (int)strcspn(word, " \n"), word);
    }
    tt_status status = tt__template_keep(t, &t->path, builtin->name, strlen(builtin->name));
    if (status == TT_OK)
        *out = t;
    else
        tt__template_free(&t);
    return status;
}

tt_status tt__template_read(const tt__template **t) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    tt__template *head = (tt__template *)*t; /* `read` is the only member that changes, under the lock */
    tt_status status = TT_OK;
    if (!head->unread)
        return TT_OK;
    *t = atomic_load_explicit(&head->read, memory_order_acquire);
    if (*t)
        return TT_OK;
    pthread_mutex_lock(&lock);
    tt__template *read = atomic_load_explicit(&head->read, memory_order_relaxed);
    if (!read && (status = tt__template_builtin(&read, head->unread)) == TT_OK)
        atomic_store_explicit(&head->read, read, memory_order_release);
    *t = read;
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- Operations ---------------------------------------------------------------------------------------- */

enum { OPS_MAX = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(tt__template *) files[OPS_MAX];

/* Runs when the library is unloaded or the program ends. Other threads may still be running. */
__attribute__((destructor)) static void free_files(void) {
    size_t n = 0;
    for (size_t i = 0; i < OPS_MAX; i++)
        n += files[i] != NULL;
    if (tt__templates_alive() > n)
        return;
    for (size_t i = 0; i < OPS_MAX; i++) {
        tt__template *file = atomic_exchange(&files[i], NULL);
        tt__template_free(&file);
    }
}

/* File i, read on first use and kept, because every template borrows its operation from it. */
static tt_status file_at(tt__template **out, size_t i) {
    tt_status status = TT_OK;
    if ((*out = atomic_load_explicit(&files[i], memory_order_acquire)))
        return TT_OK;
    pthread_mutex_lock(&lock);
    if (!(*out = atomic_load_explicit(&files[i], memory_order_relaxed)) &&
        (status = tt__template_builtin(out, &tt__ops[i])) == TT_OK)
        atomic_store_explicit(&files[i], *out, memory_order_release);
    pthread_mutex_unlock(&lock);
    return status;
}

static bool defines(const tt__template *file, const char *name) {
    for (size_t k = 0; k < file->n_defines; k++)
        if (strcmp(file->defines[k], name) == 0)
            return true;
    return false;
}

/* Is there a built-in operation of that name? Only its own file is read. Those that were read come first, as
 * the texts of the others take longer to look through. */
static bool known(const tt__operation **out, tt_status *status, const char *name) {
    tt__template *file;
    *status = TT_OK;
    for (size_t i = 0; i < OPS_MAX; i++) {
        file = atomic_load_explicit(&files[i], memory_order_acquire);
        if (file && defines(file, name)) {
            *out = file->own;
            return true;
        }
    }
    for (size_t i = 0; i < tt__n_ops && i < OPS_MAX; i++) {
        if (!tt__builtin_says(&tt__ops[i], "defines", name))
            continue;
        *status = file_at(&file, i);
        *out = *status == TT_OK ? file->own : NULL;
        return true;
    }
    return false;
}

tt_status tt__operation_builtin(const tt__operation **out, const char *name) {
    tt__suggest near = tt__suggest_for(name, strlen(name));
    tt__str names = {0};
    tt_status status = TT_OK;
    *out = NULL;
    if (known(out, &status, name))
        return status;
    for (size_t i = 0; i < tt__n_ops && i < OPS_MAX && status == TT_OK; i++) {
        tt__template *file;
        status = file_at(&file, i);
        for (size_t k = 0; status == TT_OK && k < file->n_defines; k++) {
            tt__suggest_try(&near, file->defines[k]);
            tt__str_addf(&names, "%s%s", names.len ? ", " : "", file->defines[k]);
        }
    }
    if (status == TT_OK)
        status = tt__fail(TT_E_INVALID, "there is no operation %s%s (there are %s)", name,
                          tt__suggest_text(&near), tt__str_text(&names));
    tt__str_free(&names);
    return status;
}

/* The operation of a problem if it is built-in, else NULL. Sets no error. */
static const tt__operation *operation_of(const tt__problem *p) {
    const tt__operation *op = NULL;
    tt_status status;
    if (!*p->text)
        known(&op, &status, p->op);
    return op;
}

char *tt__problem_text(char out[TT__PROBLEM_TEXT_MAX], const tt__problem *p) {
    return tt__problem_words(out, operation_of(p), p);
}

/* ---- The templates of a run ---------------------------------------------------------------------------- */

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

bool tt__template_serves(const tt__template *t, const tt__problem *p) {
    tt__problem copy;
    tt__problem_copy(&copy, p);
    return tt__template_does(t, p) || tt__template_does(t, &copy);
}

tt_status tt__template_set_read(tt__template_set *set, const tt__problem *p) {
    for (size_t i = 0; i < set->n; i++) {
        tt__template *read, *t = set->items[i];
        if (!t->unread || !tt__template_serves(t, p))
            continue;
        TT_TRY(tt__template_builtin(&read, t->unread));
        tt__template_free(&t);
        set->items[i] = read;
    }
    return TT_OK;
}

void tt__template_set_close(tt__template_set *set) {
    for (size_t i = 0; i < set->n; i++)
        tt__template_free(&set->items[i]);
    free(set->items);
    *set = (tt__template_set){0};
}

/* Templates that are built in come first, in the order of their names, so that the first attempt finds them.
 */
const tt__template *tt__template_set_find(const tt__template_set *set, const char *kernel) {
    for (size_t low = 0, high = set->n; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(set->items[middle]->kernel, kernel);
        if (order == 0)
            return set->items[middle];
        *(order < 0 ? &low : &high) = middle + (order < 0);
    }
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
