/*
 * Templates: made from their annotations, read when first needed if they are built in, and freed. What comes
 * from elsewhere is checked in template_check.c. The checks take nearly all of the time, and those of the
 * library's own files are in the tests.
 */
#include "template/template.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "template/annotation.h"
#include "template/config.h"
#include "template/words.h"

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

tt_status tt__template_take_default(tt__template *t, const tt__expr *config) {
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

static tt_status build(tt__template *t, tt__expr *config, const char *path, const char *source,
                       const char *hash) {
    t->symbols.foreign = !hash;
    t->path = strdup(path);
    t->source = strdup(source);
    if (!t->path || !t->source)
        return tt__fail_memory(strlen(path) + strlen(source) + 2);
    if (hash)
        tt__copy(t->hash, sizeof t->hash, hash);
    else
        tt__hash(t->hash, source, strlen(source));
    TT_TRY(tt__annotation_read(t, config));
    return check_config_size(t);
}

tt_status tt__template_new(tt__template **out, tt__expr *config, const char *path, const char *source,
                           const char *hash) {
    tt__template *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return tt__fail_memory(sizeof *t);
    atomic_fetch_add(&alive, 1);
    tt_status status = build(t, config, path, source, hash);
    if (status == TT_OK)
        *out = t;
    else
        tt__template_free(&t);
    return status;
}

tt_status tt__template_builtin(tt__template **out, const tt__builtin *builtin) {
    tt__expr config = {0};
    tt_status status = tt__template_new(out, &config, builtin->name, builtin->source, builtin->hash);
    if (status == TT_OK)
        status = tt__template_take_default(*out, &config);
    if (status != TT_OK)
        tt__template_free(out);
    free(config.text);
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
        if (n == strlen(word) && strncmp(at, word, n) == 0)
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
    t->path = strdup(builtin->name);
    tt__copy(t->hash, sizeof t->hash, builtin->hash);
    for (size_t i = 0; i < 2; i++) {
        const char *word = rest_of_line(builtin->source, i ? "op" : "kernel", &n);
        snprintf(i ? t->op : t->kernel, TT__NAME_MAX, "%.*s", (int)strcspn(word, " \n"), word);
    }
    if (!t->path) {
        tt__template_free(&t);
        return tt__fail_memory(strlen(builtin->name) + 1);
    }
    *out = t;
    return TT_OK;
}

tt_status tt__template_read(const tt__template **t) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    tt__template *head = (tt__template *)*t; /* `read` is the only member that changes, under the lock */
    tt_status status = TT_OK;
    if (!head->unread)
        return TT_OK;
    pthread_mutex_lock(&lock);
    if (!head->read)
        status = tt__template_builtin(&head->read, head->unread);
    *t = head->read;
    pthread_mutex_unlock(&lock);
    return status;
}

static void free_launch(tt__geometry_expr *g) {
    for (size_t i = 0; i < 3; i++) {
        free(g->block[i].text);
        free(g->grid[i].text);
    }
    free(g->shared.text);
    free(g->when.text);
    free(g->repeat.text);
}

static void free_operation(tt__operation *operation) {
    if (!operation)
        return;
    for (size_t i = 0; i < operation->n_variables; i++)
        free(operation->variables[i].value.text);
    for (size_t i = 0; i < operation->n_operands; i++) {
        free(operation->operands[i].count.text);
        free(operation->operands[i].bounds[0].text);
        free(operation->operands[i].bounds[1].text);
        free(operation->operands[i].index.text);
    }
    for (size_t i = 0; i < operation->n_metrics; i++)
        free(operation->metrics[i].value.text);
    for (size_t i = 0; i < operation->n_requires; i++)
        free(operation->requires[i].text);
    for (size_t i = 0; i < operation->n_samples; i++)
        free(operation->samples[i].text);
    free(operation->prefer.text);
    for (int role = 0; role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < TT__PASSES_MAX; i++)
            free_launch(&operation->asides[role].launches[i]);
    free(operation);
}

void tt__template_free(tt__template **template) {
    tt__template *t = *template;
    *template = NULL;
    if (!t)
        return;
    atomic_fetch_sub(&alive, 1);
    tt__template_free(&t->read);
    free(t->path);
    free(t->source);
    for (size_t i = 0; i < t->n_defines; i++)
        free(t->defines[i]);
    for (size_t p = 0; p < t->n_params; p++) {
        for (size_t v = 0; v < t->params[p].n_values; v++)
            free(t->params[p].values[v]);
        free(t->params[p].values);
    }
    for (size_t i = 0; i < t->n_derived; i++)
        free(t->derived[i].value.text);
    for (size_t i = 0; i < t->n_wheres; i++)
        free(t->wheres[i].text);
    for (size_t i = 0; i < TT__PASSES_MAX; i++)
        free_launch(&t->passes[i]);
    for (int i = 0; i < t->n_args; i++)
        free(t->args[i].value.text);
    for (size_t i = 0; i < t->n_options; i++)
        free(t->options[i].text);
    free(t->max_regs.text);
    free_operation(t->own);
    free(t);
}
