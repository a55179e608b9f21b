/*
 * Templates: made from their annotations, read when first needed if they are built in, and freed. What comes
 * from elsewhere is checked in template_check.c. The checks take nearly all of the time, and those of the
 * library's own files are in the tests.
 */
#include "kernel/model/template.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/words.h"
#include "kernel/annotation/annotation.h"
#include "kernel/expression/expr.h"
#include "kernel/space/config.h"

/* The longest configuration must fit TT__CONFIG_MAX. */
static tt_status check_config_size(const tt__template *t) {
    size_t total = 0;
    for (size_t p = 0; p < t->n_params; p++) {
        size_t longest = 0;
        for (size_t v = 0; v < t->params[p].n_values; v++) {
            size_t n = strlen(t->params[p].values[v]);
            longest = n > longest ? n : longest;
        }
        total += strlen(t->params[p].name) + 1 + longest + (p > 0);
    }
    if (total >= TT__CONFIG_MAX)
        return tt__fail(
            TT_E_TEMPLATE,
            "%s: a configuration can have %zu characters, the limit is %d: shorten names or words", t->path,
            total, TT__CONFIG_MAX - 1);
    return TT_OK;
}

tt_status tt__template_take_default(tt__template *t) {
    const tt__expr *config = &t->config;
    size_t choice[TT__PARAMS_MAX] = {0}; /* without a `default`, the first values */
    if (config->text && tt__config_parse(choice, t, config->text) != TT_OK)
        return tt__template_fail(t->path, config->line, config->column, "bad `default`: %s", tt_last_error());
    tt__config_format(t->default_config, t, choice);
    return TT_OK;
}

static atomic_size_t alive;

size_t tt__templates_alive(void) {
    return atomic_load(&alive);
}

tt_status tt__template_keep_memory(tt__template *t, void *memory) {
    tt_status status = TT__GROW(t->kept, t->n_kept);
    if (status == TT_OK)
        t->kept[t->n_kept++] = memory;
    else
        free(memory);
    return status;
}

tt_status tt__template_keep(tt__template *t, char **out, const char *text, size_t n) {
    char *copy = strndup(text, n);
    if (!copy)
        return tt__fail_memory(n + 1);
    TT_TRY(tt__template_keep_memory(t, copy));
    *out = copy;
    return TT_OK;
}

static tt_status build(tt__template *t, const char *path, const char *source, const char *hash) {
    t->symbols.foreign = !hash;
    TT_TRY(tt__template_keep(t, &t->path, path, strlen(path)));
    TT_TRY(tt__template_keep(t, &t->source, source, strlen(source)));
    if (hash)
        tt__copy(t->hash, sizeof t->hash, hash);
    else
        tt__hash(t->hash, source, strlen(source));
    TT_TRY(tt__annotation_read(t));
    return check_config_size(t);
}

tt_status tt__template_new(tt__template **out, const char *path, const char *source, const char *hash) {
    tt__template *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return tt__fail_memory(sizeof *t);
    atomic_fetch_add(&alive, 1);
    tt_status status = build(t, path, source, hash);
    if (status == TT_OK)
        *out = t;
    else
        tt__template_free(&t);
    return status;
}

tt_status tt__template_builtin(tt__template **out, const tt__builtin *builtin) {
    TT_TRY(tt__template_new(out, builtin->name, builtin->source, builtin->hash));
    tt_status status = tt__expr_compile(*out);
    if (status == TT_OK)
        status = tt__template_take_default(*out);
    if (status != TT_OK)
        tt__template_free(out);
    return status;
}

/* ---- Built-in templates that may never be needed ---------------------------------------------------------
 */

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
    tt__template *t = calloc(1, sizeof *t);
    size_t n;
    *out = NULL;
    if (!t)
        return tt__fail_memory(sizeof *t);
    atomic_fetch_add(&alive, 1);
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

void tt__template_free(tt__template **template) {
    tt__template *t = *template;
    *template = NULL;
    if (!t)
        return;
    atomic_fetch_sub(&alive, 1);
    tt__template *read = atomic_load_explicit(&t->read, memory_order_acquire);
    tt__template_free(&read);
    for (size_t i = 0; i < t->n_kept; i++)
        free(t->kept[i]);
    free(t->kept);
    for (size_t p = 0; p < t->n_params; p++)
        free(t->params[p].values);
    free(t->own);
    free(t);
}
