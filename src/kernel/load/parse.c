/*
 * Reads kernel files. After their annotations it checks what needs all of them: the expressions, the default
 * configuration, and that the kernel is in the code. The checks take nearly all of the time. Those of the
 * library's own files are in the tests.
 */
#include "kernel/load/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_file.h"
#include "base/str.h"
#include "code/cxx.h"
#include "kernel/annotation/annotation.h"
#include "kernel/annotation/include.h"
#include "kernel/expression/expr.h"
#include "kernel/load/builtin.h"
#include "kernel/load/code_check.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"

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
    tt__config_make_default(t, choice);
    return TT_OK;
}

/* `op NAME` is a built-in operation. A file's own operation must not have the name of one. */
static tt_status find_operation(tt__template *t) {
    const tt__operation *builtin;
    if (t->own && t->n_defines)
        return TT_OK;
    tt_status status = tt__operation_builtin(&builtin, t->op);
    if (t->own && status == TT_OK)
        return tt__template_fail(t->path, t->passes[0].line, t->passes[0].column,
                                 "the kernel is called %s, as one of the library's own ops: rename it",
                                 t->op);
    if (t->own)
        return TT_OK;
    if (status == TT_E_INVALID)
        return tt__template_fail(t->path, t->op_line, t->op_column, "%s", tt_last_error());
    t->operation = builtin;
    return status;
}

/* A comment is no other kernel. */
static tt_status hash_text(tt__template *t, const char *source) {
    tt__str tokens = {0};
    tt__cxx_tokens(&tokens, source);
    tt_status status = tt__str_check(&tokens);
    if (status == TT_OK)
        tt__hash(t->hash, tt__str_text(&tokens), tokens.len);
    tt__hash(t->hash_of_bytes, source, strlen(source));
    tt__str_free(&tokens);
    return status;
}

static tt_status build(tt__template *t, const char *path, const char *source, const char *hash) {
    t->symbols.foreign = !hash;
    TT_TRY(tt__template_keep(t, &t->path, path, strlen(path)));
    TT_TRY(tt__template_keep(t, &t->source, source, strlen(source)));
    if (hash)
        tt__copy(t->hash, sizeof t->hash, hash);
    else
        TT_TRY(hash_text(t, source));
    TT_TRY(tt__annotation_read(t));
    TT_TRY(find_operation(t));
    TT_TRY(tt__annotation_resolve(t));
    return check_config_size(t);
}

tt_status tt__template_new(tt__template **out, const char *path, const char *source, const char *hash) {
    tt__template *t;
    *out = NULL;
    TT_TRY(tt__template_empty(&t));
    tt_status status = build(t, path, source, hash);
    if (status == TT_OK)
        *out = t;
    else
        tt__template_free(&t);
    return status;
}

/* ---- Checks of files that are not the library's own ---------------------------------------------------- */

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
    bool sized = tt__operation_variable(op, "elem_size", strlen("elem_size")),
         aligned = tt__operation_variable(op, "align", strlen("align"));
    int used = snprintf(text, sizeof text, "%s", op->n_samples ? op->samples[sample].text : "");
    if ((e && !sized) || (tight && !aligned) || tight > 1)
        return false;
    if (sized)
        used += snprintf(text + used, sizeof text - (size_t)used, " elem_size=%d", elem_sizes[e]);
    if (tight)
        snprintf(text + used, sizeof text - (size_t)used, " align=%d", sized ? elem_sizes[e] : 1);
    return tt__operation_problem(out, op, t->op, text) == TT_OK;
}

/* Is the default legal for the problem on some ordinary GPU? `why` keeps the first reason against it. */
static tt_status try_workload(const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_try(w, t, gpu, p) : tt__fail_memory(sizeof *w);
    free(w);
    return status;
}

static tt_status try_gpus(const tt__template *t, const tt__problem *p, char *why, size_t size) {
    tt_status status = TT_E_UNSUPPORTED;
    for (size_t i = 0; i < TT__COUNT(ccs) && status == TT_E_UNSUPPORTED; i++) {
        tt__gpu gpu = ordinary_gpu(ccs[i]);
        tt__candidate c;
        status = tt__space_resolve(&c, t, &gpu, p, t->default_config);
        if (status == TT_OK && t->own)
            status = try_workload(t, &gpu, p);
        if (status == TT_E_UNSUPPORTED && !*why)
            tt__copy(why, size, tt_last_error());
    }
    return status;
}

/* With all defaults, only the operation's own requirements can fail. */
static tt_status default_problem(tt__problem *out, const tt__template *t) {
    tt_status status = tt__operation_problem(out, t->own, t->op, NULL);
    if (status != TT_E_INVALID)
        return status;
    return tt__template_fail(t->path, t->own->requires[0].line, t->own->requires[0].column,
                             "the default problem cannot be: %s", tt_last_error());
}

static tt_status check_samples(const tt__template *t) {
    tt__problem p;
    for (size_t i = 0; i < t->own->n_samples; i++) {
        const tt__expr *sample = &t->own->samples[i];
        tt_status status = tt__operation_problem(&p, t->own, t->op, sample->text);
        if (status == TT_E_INVALID)
            return tt__template_fail(t->path, sample->line, sample->column, "the sample cannot be: %s",
                                     tt_last_error());
        TT_TRY(status);
    }
    return TT_OK;
}

/* An operation in the same file has a default problem, and perhaps samples. For most other templates the
 * first ordinary problem will do. Templates for one element size, architecture or shape need the others. */
static tt_status check_default(const tt__template *t) {
    char why[1024] = "";
    tt_status status = TT_E_UNSUPPORTED;
    tt__problem p;
    if (t->own) {
        TT_TRY(default_problem(&p, t));
        status = try_gpus(t, &p, why, sizeof why);
        for (size_t i = 0; status == TT_E_UNSUPPORTED && i < t->own->n_samples; i++) {
            TT_TRY(tt__operation_problem(&p, t->own, t->op, t->own->samples[i].text));
            status = try_gpus(t, &p, why, sizeof why);
        }
    } else {
        for (size_t k = 0; status == TT_E_UNSUPPORTED && ordinary_problem(&p, t, k); k++)
            status = try_gpus(t, &p, why, sizeof why);
    }
    if (status != TT_E_UNSUPPORTED)
        return status;
    const tt__expr *at = t->config.text ? &t->config : &t->passes[0].grid[0];
    return tt__template_fail(t->path, at->line, at->column, "the default configuration is not legal%s: %s",
                             !t->own             ? ""
                             : t->own->n_samples ? " for the default problem and the samples"
                                                 : " for the default problem",
                             why);
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

static tt_status check_data_number(const tt__template *t, const tt__expr *e) {
    return e->uses ? tt__template_fail(
                         t->path, e->line, e->column,
                         "`data` is made once, with the default configuration, and cannot depend on the "
                         "parameter %s: let a `kernel` line before the others make what does",
                         t->params[__builtin_ctz(e->uses)].name)
                   : TT_OK;
}

/* How `data` kernels are launched may depend on parameters, but not what they make. */
static tt_status check_data(const tt__template *t) {
    const tt__aside *data = &t->own->asides[TT__DATA];
    for (size_t i = 0; i < t->own->n_operands; i++) {
        const tt__operand *o = &t->own->operands[i];
        if (o->filled && o->count.uses)
            return tt__template_fail(t->path, o->count.line, o->count.column,
                                     "the length of %s depends on a parameter, and a `data` kernel fills one "
                                     "length: give it the largest",
                                     o->name);
    }
    for (int k = 0; k < data->n; k++) {
        const tt__geometry_expr *g = &data->launches[k];
        for (int i = g->first_arg; i < g->first_arg + g->n_args; i++) {
            const tt__arg_expr *a = &t->args[i];
            TT_TRY(check_data_number(t, &a->value));
            for (int f = a->first_field; f < a->first_field + a->n_fields; f++)
                TT_TRY(check_data_number(t, &t->fields[f].value));
        }
    }
    return TT_OK;
}

static tt_status check(tt__template *t) {
    int regs;
    if (t->n_defines)
        return tt__template_fail(t->path, 1, 0, "`defines` is for the library's own files");
    TT_TRY(tt__expr_compile(t));
    TT_TRY(tt__template_take_default(t));
    if (t->max_regs.text)
        TT_TRY(tt__config_max_regs(&regs, t, t->default_config));
    if (t->own) {
        TT_TRY(check_data(t));
        TT_TRY(check_metrics(t));
        TT_TRY(check_samples(t));
    }
    TT_TRY(check_default(t));
    return tt__template_check_code(t);
}

tt_status tt__template_parse(tt__template **out, const char *path, const char *source) {
    TT_TRY(tt__template_new(out, path, source, NULL));
    tt_status status = check(*out);
    if (status != TT_OK)
        tt__template_free(out);
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
    TT_TRY(tt__read_text_max(&file, path, TT__INCLUDE_BYTES_MAX));
    tt_status status = tt__template_parse_at(out, path, tt__str_text(&file));
    tt__str_free(&file);
    return status;
}

/* Files of data lie beside the kernel, and have no folder in their name. */
static bool is_data(const tt__operation *op, const char *path, const char *file) {
    const char *slash = strrchr(path, '/');
    char beside[TT__PATH_MAX];
    for (size_t i = 0; op && i < op->n_operands; i++) {
        const char *const names[] = {op->operands[i].file, op->operands[i].expect};
        for (int k = 0; k < 2; k++) {
            snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, names[k]);
            if (*names[k] && tt__same_file(beside, file))
                return true;
        }
    }
    return false;
}

bool tt__template_reads(const char *path, const char *file) {
    tt__str text = {0};
    tt__template *t = NULL;
    bool reads = tt__same_file(path, file);
    if (!reads && tt__read_file_max(&text, path, TT__INCLUDE_BYTES_MAX) == TT_OK)
        reads = tt__include_has(path, tt__str_text(&text), file) ||
                (tt__template_load(&t, path) == TT_OK && is_data(t->own, path, file));
    tt__template_free(&t);
    tt__str_free(&text);
    return reads;
}

/* ---- Joining the operation of another file ------------------------------------------------------------- */

static tt_status other(const tt__template *t, const tt__template *of, const char *what, const char *has,
                       const char *wanted) {
    return tt__fail(TT_E_INVALID, "%s declares the %s %s where %s declares %s: both must declare the same",
                    t->path, what, has ? has : "(none)", of->path, wanted ? wanted : "(none)");
}

static size_t find_operand(const tt__operation *op, const char *name) {
    size_t k = 0;
    while (k < op->n_operands && strcmp(op->operands[k].name, name) != 0)
        k++;
    return k;
}

/* Buffers and scalars. Their order may differ, because it depends on what the kernels get. */
static tt_status adopt_operands(tt__template *t, const tt__template *of) {
    static const char what[] = "buffer or scalar";
    char mine[TT__OPERAND_TEXT_MAX], its[TT__OPERAND_TEXT_MAX];
    const tt__operation *own = t->own, *op = of->operation;
    int to[TT__OPERANDS_MAX];
    for (size_t i = 0; i < own->n_operands; i++) {
        const size_t k = find_operand(op, own->operands[i].name);
        const tt__operand *a = &own->operands[i], *b = &op->operands[k];
        if (k == op->n_operands || a->direction != b->direction || a->type != b->type ||
            a->variable != b->variable || a->lanes != b->lanes)
            return other(t, of, what, tt__operand_text(mine, own, i),
                         tt__operand_text(its, op, k < op->n_operands ? k : i));
        to[i] = (int)k;
    }
    for (size_t k = 0; k < op->n_operands; k++)
        if (find_operand(own, op->operands[k].name) == own->n_operands)
            return other(t, of, what, tt__operand_text(mine, own, k), tt__operand_text(its, op, k));
    tt__template_reorder(t, to);
    return TT_OK;
}

tt_status tt__template_adopt(tt__template *t, const tt__template *of, const char *name) {
    const tt__operation *own = t->own, *op = of->operation;
    if (!own != !of->own || (!own && strcmp(t->op, of->op) != 0))
        return tt__fail(TT_E_INVALID, "%s works on %s%s, and %s on %s%s", t->path,
                        own ? "what it declares, " : "`op` ", t->op, of->path,
                        of->own ? "what it declares, " : "`op` ", of->op);
    if (!own) {
        tt__copy(t->kernel, sizeof t->kernel, name);
        return TT_OK;
    }
    for (size_t i = 0; i < own->n_variables || i < op->n_variables; i++) {
        const tt__variable *a = i < own->n_variables ? &own->variables[i] : NULL;
        const tt__variable *b = i < op->n_variables ? &op->variables[i] : NULL;
        if (!a || !b || strcmp(a->name, b->name) != 0 || a->n_types != b->n_types ||
            memcmp(a->types, b->types, sizeof a->types) != 0)
            return other(t, of, "variable", a ? a->name : NULL, b ? b->name : NULL);
    }
    TT_TRY(adopt_operands(t, of));
    t->operation = op;
    tt__copy(t->op, sizeof t->op, of->op);
    tt__copy(t->kernel, sizeof t->kernel, name);
    return TT_OK;
}
