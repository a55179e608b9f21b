/*
 * Parses a template. First it reads the annotations. Then it checks what needs all of them: the expressions,
 * the default configuration, and that the kernel is in the code.
 */
#include "template/template.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_file.h"
#include "template/annotation.h"
#include "template/code.h"
#include "template/config.h"
#include "template/expr_check.h"
#include "template/include.h"
#include "template/operation.h"
#include "template/problem_text.h"
#include "template/workload.h"

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

static tt_status take_default(tt__template *t, const tt__expr *config) {
    size_t choice[TT__PARAMS_MAX] = {0}; /* without a `default`, the first values */
    char why[1024];
    if (config->text && tt__config_parse(choice, t, config->text) != TT_OK) {
        tt__copy(why, sizeof why, tt_last_error());
        return tt__template_fail(t->path, config->line, config->column, "bad `default`: %s", why);
    }
    tt__config_format(t->default_config, t, choice);
    return TT_OK;
}

static const int ccs[] = {90, 120, 75};

static tt__gpu ordinary_gpu(int cc) {
    return (tt__gpu){.cc = cc,
                     .sm_count = 100,
                     .memory_bytes = (int64_t)64 << 30,
                     .l2_bytes = (int64_t)50 << 20,
                     .max_threads_per_block = 1024,
                     .shared_per_block = 227 << 10};
}

/* Goes through ordinary problems: the operation's samples or its default problem; then the same with every
 * element size, aligned by their layout or by the size only. False after the last. */
static bool ordinary_problem(tt__problem *out, const tt__template *t, size_t k) {
    static const int elem_sizes[] = {4, 1, 2, 8, 16};
    const tt__operation *op = t->operation;
    size_t n = op->n_samples ? op->n_samples : 1, sample = k % n, e = k / n % TT__COUNT(elem_sizes),
           tight = k / n / TT__COUNT(elem_sizes);
    char text[256];
    bool sized = false, aligned = false;
    for (size_t i = 0; i < op->n_variables; i++) {
        sized |= strcmp(op->variables[i].name, "elem_size") == 0;
        aligned |= strcmp(op->variables[i].name, "align") == 0;
    }
    int used = snprintf(text, sizeof text, "%s", op->n_samples ? op->samples[sample].text : "");
    if ((e && !sized) || (tight && !aligned) || tight > 1)
        return false;
    if (sized)
        used += snprintf(text + used, sizeof text - (size_t)used, " elem_size=%d", elem_sizes[e]);
    if (tight)
        snprintf(text + used, sizeof text - (size_t)used, " align=%d", sized ? elem_sizes[e] : 1);
    return tt__operation_problem(out, op, t->op, text) == TT_OK;
}

/* Is the default legal for some ordinary problem and GPU? For most templates the first combination is.
 * Templates for one element size, architecture or shape need the others. */
static tt_status try_samples(const tt__template *t, char *why, size_t size) {
    tt_status status = TT_E_UNSUPPORTED;
    tt__problem p;
    for (size_t k = 0; status == TT_E_UNSUPPORTED && ordinary_problem(&p, t, k); k++)
        for (size_t i = 0; i < TT__COUNT(ccs) && status == TT_E_UNSUPPORTED; i++) {
            tt__gpu gpu = ordinary_gpu(ccs[i]);
            tt__candidate c;
            status = tt__space_resolve(&c, t, &gpu, &p, t->default_config);
            if (k == 0 && i == 0)
                tt__copy(why, size, tt_last_error());
        }
    return status;
}

/* With all defaults, only the operation's own requirements can fail. */
static tt_status default_problem(tt__problem *out, const tt__template *t) {
    char why[512];
    tt_status status = tt__operation_problem(out, t->own, t->op, NULL);
    if (status != TT_E_INVALID)
        return status;
    tt__copy(why, sizeof why, tt_last_error());
    return tt__template_fail(t->path, t->own->requires[0].line, t->own->requires[0].column,
                             "the default problem cannot be: %s", why);
}

static tt_status check_samples(const tt__template *t) {
    char why[512];
    tt__problem p;
    for (size_t i = 0; i < t->own->n_samples; i++) {
        const tt__expr *sample = &t->own->samples[i];
        tt_status status = tt__operation_problem(&p, t->own, t->op, sample->text);
        if (status == TT_OK)
            continue;
        if (status != TT_E_INVALID)
            return status;
        tt__copy(why, sizeof why, tt_last_error());
        return tt__template_fail(t->path, sample->line, sample->column, "the sample cannot be: %s", why);
    }
    return TT_OK;
}

/* An operation in the same file has its own ordinary problem. */
static tt_status try_own(const tt__template *t, char *why, size_t size) {
    tt_status status = TT_E_UNSUPPORTED;
    tt__problem p;
    TT_TRY(default_problem(&p, t));
    for (size_t k = 0; k < TT__COUNT(ccs) && status == TT_E_UNSUPPORTED; k++) {
        tt__gpu gpu = ordinary_gpu(ccs[k]);
        tt__candidate c;
        tt__workload w;
        status = tt__space_resolve(&c, t, &gpu, &p, t->default_config);
        if (status == TT_OK)
            status = tt__workload_of(&w, t, &gpu, &p);
        if (k == 0)
            tt__copy(why, size, tt_last_error());
    }
    return status;
}

static tt_status check_default(const tt__template *t, const tt__expr *config) {
    char why[1024] = "";
    tt_status status = t->own ? try_own(t, why, sizeof why) : try_samples(t, why, sizeof why);
    if (status != TT_E_UNSUPPORTED)
        return status;
    const tt__expr *at = config->text ? config : &t->passes[0].grid[0];
    return tt__template_fail(t->path, at->line, at->column, "the default configuration is not legal%s: %s",
                             t->own ? " for the default problem" : "", why);
}

/* Refuses metrics without a numeric value, and an objective that does not depend on the time. */
static tt_status check_metrics(const tt__template *t) {
    tt__gpu gpu = ordinary_gpu(ccs[0]);
    tt__problem p;
    TT_TRY(default_problem(&p, t));
    for (size_t i = 0; i < t->own->n_metrics; i++) {
        const tt__metric *m = &t->own->metrics[i];
        double once, twice;
        TT_TRY(tt__metric_value(&once, t, i, &gpu, &p, NULL, 1000));
        TT_TRY(tt__metric_value(&twice, t, i, &gpu, &p, NULL, 2000));
        if (!(once > 0))
            return tt__template_fail(
                t->path, m->value.line, m->value.column,
                "the metric %s comes to %g for the default problem and a time of 1 ms, expected "
                "a number above 0 (mind that / drops the fraction of whole numbers)",
                m->name, once);
        double factor = t->own->maximize ? 0.5 : 2;
        if (t->own->objective == (int)i && !(twice > 0.99 * factor * once && twice < 1.01 * factor * once))
            return tt__template_fail(
                t->path, m->value.line, m->value.column,
                "%s is to be %s, but when the time doubles it goes from %g to %g: expected it to "
                "%s",
                m->name, t->own->maximize ? "maximized" : "minimized", once, twice,
                t->own->maximize ? "halve" : "double");
    }
    return TT_OK;
}

static tt_status check_max_regs(const tt__template *t) {
    size_t choice[TT__PARAMS_MAX] = {0};
    int regs;
    if (!t->max_regs.text)
        return TT_OK;
    TT_TRY(tt__config_parse(choice, t, t->default_config));
    return tt__expr_max_regs(&regs, t, choice);
}

/* Trusted text skips the queries and, if its hash is known, the hashing. These take nearly all of the
 * time. */
static tt_status build(tt__template *t, const char *path, const char *source, const char *hash,
                       bool trusted) {
    t->symbols.foreign = !trusted;
    tt_status status = TT_OK;
    tt__expr config = {0};
    t->path = strdup(path);
    t->source = strdup(source);
    if (!t->path || !t->source)
        return tt__fail_memory(strlen(path) + strlen(source) + 2);
    if (hash)
        tt__copy(t->hash, sizeof t->hash, hash);
    else
        tt__hash(t->hash, source, strlen(source));
    TT_GOTO(tt__annotation_read(t, &config));
    if (t->n_defines && !trusted)
        TT_GOTO(tt__template_fail(path, 1, 0, "`defines` is for the library's own files"));
    TT_GOTO(check_config_size(t));
    if (!trusted)
        TT_GOTO(tt__expr_check(t));
    TT_GOTO(take_default(t, &config));
    if (!trusted)
        TT_GOTO(check_max_regs(t));
    if (!trusted && t->own) {
        TT_GOTO(check_metrics(t));
        TT_GOTO(check_samples(t));
    }
    if (!trusted)
        TT_GOTO(check_default(t, &config));
    if (!trusted)
        TT_GOTO(tt__code_check(t));
out:
    free(config.text);
    return status;
}

static atomic_size_t alive;

size_t tt__templates_alive(void) {
    return atomic_load(&alive);
}

static tt_status parse(tt__template **out, const char *path, const char *source, const char *hash,
                       bool trusted) {
    tt__template *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return tt__fail_memory(sizeof *t);
    atomic_fetch_add(&alive, 1);
    tt_status status = build(t, path, source, hash, trusted);
    if (status == TT_OK)
        *out = t;
    else
        tt__template_free(&t);
    return status;
}

tt_status tt__template_parse(tt__template **out, const char *path, const char *source) {
    return parse(out, path, source, NULL, false);
}

tt_status tt__template_builtin(tt__template **out, const tt__builtin *builtin) {
    return parse(out, builtin->name, builtin->source, builtin->hash, true);
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

tt_status tt__template_parse_at(tt__template **out, const char *path, const char *source) {
    tt__str text = {0};
    *out = NULL;
    tt_status status = tt__include_expand(&text, path, source);
    if (status == TT_OK)
        status = tt__template_parse(out, path, tt__str_text(&text));
    tt__str_free(&text);
    return status;
}

tt_status tt__template_load(tt__template **out, const char *path) {
    tt__str file = {0};
    *out = NULL;
    TT_TRY(tt__read_file_max(&file, path, TT__INCLUDE_BYTES_MAX));
    tt_status status = strlen(tt__str_text(&file)) == file.len
                           ? tt__template_parse_at(out, path, tt__str_text(&file))
                           : tt__fail(TT_E_TEMPLATE, "%s: not a text file (it has a NUL byte)", path);
    tt__str_free(&file);
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
