/*
 * The built-in operations, read once from their files.
 */
#include <pthread.h>
#include <string.h>

#include "base/suggest.h"
#include "kernel/model/template.h"

enum { OPS_MAX = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tt__template *files[OPS_MAX];

/* Runs when the library is unloaded or the program ends. Other threads may still be running. */
__attribute__((destructor)) static void free_files(void) {
    size_t n = 0;
    for (size_t i = 0; i < OPS_MAX; i++)
        n += files[i] != NULL;
    if (tt__templates_alive() > n)
        return;
    for (size_t i = 0; i < OPS_MAX; i++)
        tt__template_free(&files[i]);
}

/* File i, read on first use and kept, because every template borrows its operation from it. */
static tt_status file_at(tt__template **out, size_t i) {
    tt_status status = TT_OK;
    pthread_mutex_lock(&lock);
    if (!files[i])
        status = tt__template_builtin(&files[i], &tt__ops[i]);
    *out = files[i];
    pthread_mutex_unlock(&lock);
    return status;
}

/* Is there a built-in operation of that name? Only its own file is read. */
static bool known(const tt__operation **out, tt_status *status, const char *name) {
    for (size_t i = 0; i < tt__n_ops && i < OPS_MAX; i++) {
        tt__template *file;
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

const tt__operation *tt__operation_of(const tt__problem *p) {
    const tt__operation *op = NULL;
    tt_status status;
    if (!*p->text)
        known(&op, &status, p->op);
    return op;
}
