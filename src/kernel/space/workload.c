/*
 * Buffers, lengths and the reference of a problem.
 */
#include "kernel/space/workload.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/expression/expr.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"

/* The path of a file beside the template. */
static tt_status beside(char out[TT__PATH_MAX], const tt__template *t, const char *name) {
    const char *slash = strrchr(t->path, '/');
    int n = *name
                ? snprintf(out, TT__PATH_MAX, "%.*s%s", slash ? (int)(slash - t->path + 1) : 0, t->path, name)
                : 0;
    return n < TT__PATH_MAX ? TT_OK : tt__fail(TT_E_INVALID, "%s: the path of %s is too long", t->path, name);
}

static const int64_t bytes_max = INT64_C(1) << 48;

static tt_status set_array(tt__array *a, const tt__operation *operation, const tt__facts *facts, size_t i,
                           tt__value count) {
    const tt__operand *o = &operation->operands[i];
    const int elem_size = (int)facts->values[TT__FACT_ELEM_SIZE];
    char text[TT__NAME_MAX];
    tt__copy(a->name, sizeof a->name, o->name);
    a->direction = o->direction;
    a->type = o->variable < 0 ? o->type : (tt__type)facts->variables[o->variable];
    a->elem_size = tt__type_size(a->type, elem_size);
    const bool floating = tt__types[a->type].floating;
    a->init = !o->usual_init             ? o->init
              : floating                 ? TT__INIT_MIXED
              : a->type == TT__TYPE_BOOL ? TT__INIT_UNIFORM /* no bits but 0 and 1 */
                                         : TT__INIT_RANDOM;
    /* Whole numbers are exact, unless a line names them. */
    const tt__tolerance *tolerance = o->tolerance.line ? &o->tolerance
                                     : floating        ? &operation->tolerance
                                                       : NULL;
    a->abs_tolerance = tolerance ? tolerance->abs : 0;
    a->rel_tolerance = tolerance ? tolerance->rel : 0;
    a->scale_tolerance = tolerance ? tolerance->scale : 0;
    a->low = o->low;
    a->high = o->high;
    a->from = o->from;
    a->filled = o->filled;
    a->by_config = o->by_config;
    a->aside = o->aside;
    TT_TRY(beside(a->file, operation->t, o->file));
    TT_TRY(beside(a->expect, operation->t, o->expect));
    if (o->scalar)
        return TT_OK;
    if (count.kind != TT__VALUE_INT || count.i < 1 || count.i > bytes_max / a->elem_size / o->lanes)
        return tt__template_fail(
            operation->t->path, o->count.line, o->count.column,
            "the length of %s `%.200s` comes to %s, expected a whole number of 1 to 2^48 / %d", o->name,
            o->count.text, tt__value_text(text, count), a->elem_size * o->lanes);
    a->count = count.i * o->lanes;
    if (a->init == TT__INIT_SORTED && o->usual_bounds) /* of whole numbers: each once */
        a->high = tt__types[a->type].floating ? 1 : (double)(a->count - 1);
    return TT_OK;
}

static tt_status set_bound(tt__array *a, const tt__operation *operation, size_t i, int k, tt__value v) {
    const tt__expr *e = &operation->operands[i].bounds[k];
    char text[TT__NAME_MAX];
    if (!tt__value_is_number(v))
        return tt__template_fail(operation->t->path, e->line, e->column,
                                 "`%.200s` comes to %s, expected a number", e->text, tt__value_text(text, v));
    *(k ? &a->high : &a->low) =
        tt__types[a->type].floating ? tt__value_number(v) : floor(tt__value_number(v));
    return TT_OK;
}

/* Numbers that the type does not have would wrap around. */
static tt_status check_range(const tt__array *a, const tt__operation *operation, const tt__operand *o) {
    const bool counts = a->init == TT__INIT_PERMUTATION;
    const double low = counts ? 0 : a->low, high = counts ? (double)(a->count - 1) : a->high;
    double least, most;
    tt__type_range(&least, &most, a->type);
    if ((!counts && a->init != TT__INIT_UNIFORM && a->init != TT__INIT_SORTED) ||
        (low >= least && high <= most))
        return TT_OK;
    return tt__template_fail(
        operation->t->path, o->count.line, o->count.column,
        "%s is to hold numbers from %.17g to %.17g, and %s has only %.17g to %.17g: give "
        "other ends, or another type",
        a->name, low, high, tt__types[a->type].name, least, most);
}

static bool any_by_config(const tt__operation *operation) {
    for (size_t i = 0; i < operation->n_operands; i++)
        if (operation->operands[i].by_config)
            return true;
    return false;
}

typedef struct largest {
    const tt__expr *const *columns;
    size_t n;
    tt__value *values;
    bool any;
} largest;

/* Keeps the largest value of each column. What is no whole number stays, for the message. */
static tt_status keep_largest(void *user, tt__inputs *in) {
    largest *l = user;
    for (size_t i = 0; i < l->n; i++) {
        tt__value v = tt__expr_value(in, l->columns[i]), *kept = &l->values[i];
        bool sooner = !l->any || v.kind != TT__VALUE_INT || v.i > kept->i;
        *kept = sooner && (!l->any || kept->kind == TT__VALUE_INT) ? v : *kept;
    }
    l->any = true;
    return TT_OK;
}

/* If they depend on parameters, of the configuration, or of all without one. If those are too many to go
 * through, of all combinations of these parameters. */
static tt_status evaluate(tt__value *values, const tt__operation *operation, const tt__facts *facts,
                          const char *config, const tt__expr *const *columns, size_t n) {
    static const double too_many = 1 << 28; /* combinations */
    const tt__template *t = operation->t;
    size_t choice[TT__PARAMS_MAX] = {0};
    largest l = {.columns = columns, .n = n, .values = values};
    tt__inputs in;
    if (!any_by_config(operation) || config) {
        if (any_by_config(operation))
            TT_TRY(tt__config_parse(choice, t, config));
        tt__inputs_start(&in, t, facts, choice);
        return keep_largest(&l, &in);
    }
    uint32_t uses = 0;
    for (size_t i = 0; i < n; i++)
        uses |= columns[i]->uses;
    tt__inputs_start(&in, t, facts, NULL);
    tt_status status = TT_E_TEMPLATE;
    if (tt__template_combinations(t) <= too_many)
        status = tt__expr_walk(&in, UINT32_MAX, true, keep_largest, &l);
    if (status == TT_E_TEMPLATE) {
        l.any = false;
        tt__inputs_start(&in, t, facts, NULL);
        status = tt__expr_walk(&in, uses, true, keep_largest, &l);
    }
    if (status == TT_OK && !l.any) /* no configuration is legal, which others find out */
        return evaluate(values, operation, facts, t->default_config, columns, n);
    return status;
}

static tt_status set_arrays(tt__workload *w, const tt__operation *operation, const tt__facts *facts,
                            const char *config) {
    const tt__expr *columns[3 * TT__OPERANDS_MAX];
    tt__value values[3 * TT__OPERANDS_MAX];
    size_t n = 0, at = 0;
    for (size_t i = 0; i < operation->n_operands; i++)
        if (!operation->operands[i].scalar) {
            const tt__operand *o = &operation->operands[i];
            columns[n++] = &o->count;
            for (int k = 0; k < 2; k++)
                if (o->bounds[k].text)
                    columns[n++] = &o->bounds[k];
        }
    TT_TRY(evaluate(values, operation, facts, config, columns, n));
    for (size_t i = 0; i < operation->n_operands; i++) {
        tt__value count = tt__value_null();
        if (!operation->operands[i].scalar)
            count = values[at++];
        TT_TRY(set_array(&w->arrays[i], operation, facts, i, count));
        for (int k = 0; k < 2; k++)
            if (operation->operands[i].bounds[k].text)
                TT_TRY(set_bound(&w->arrays[i], operation, i, k, values[at++]));
        if (w->arrays[i].low > w->arrays[i].high && !operation->operands[i].scalar)
            return tt__template_fail(operation->t->path, operation->operands[i].count.line, 0,
                                     "the lower end of %s is %g, above the upper end %g", w->arrays[i].name,
                                     w->arrays[i].low, w->arrays[i].high);
        const tt__operand *o = &operation->operands[i];
        const tt__array *a = &w->arrays[i], *from = &w->arrays[o->from];
        if (!o->scalar && o->init == TT__INIT_COPY && tt__array_bytes(from) < tt__array_bytes(a))
            return tt__template_fail(operation->t->path, o->count.line, o->count.column,
                                     "%s is to hold what %s does, but that has %lld bytes, and %s has %lld",
                                     a->name, from->name, (long long)tt__array_bytes(from), a->name,
                                     (long long)tt__array_bytes(a));
    }
    return TT_OK;
}

/* The copy for comparison goes from the first buffer to the second, if both have the right length. */
static void set_copy(tt__workload *w, const tt__problem *p) {
    tt__problem copy;
    int64_t bytes = tt__problem_copy(&copy, p) ? tt__problem_number(&copy, "bytes", 0) : 0;
    bool fits = w->n == 2 && w->arrays[0].direction == TT__IN && w->arrays[1].direction == TT__OUT &&
                tt__array_bytes(&w->arrays[0]) >= bytes && tt__array_bytes(&w->arrays[1]) >= bytes;
    w->copy_bytes = fits ? 0 : bytes;
}

/* Buffers that change places are as long as each other. */
static tt_status check_swaps(const tt__workload *w, const tt__template *t) {
    const tt__aside *reference = &t->operation->asides[TT__REFERENCE];
    for (int i = 0; i < t->n_passes + reference->n; i++) {
        const tt__geometry_expr *g = i < t->n_passes ? &t->passes[i] : &reference->launches[i - t->n_passes];
        const tt__array *a = &w->arrays[g->swap_of[0]], *b = &w->arrays[g->swap_of[1]];
        if (g->swap_line && tt__array_bytes(a) != tt__array_bytes(b))
            return tt__template_fail(t->path, g->swap_line, 0,
                                     "%s and %s change places, but one has %lld bytes and the other %lld",
                                     a->name, b->name, (long long)tt__array_bytes(a),
                                     (long long)tt__array_bytes(b));
    }
    return TT_OK;
}

/* Makes the launches of a role with the default configuration. */
static tt_status set_aside(tt__launch *out, const tt__operation *operation, tt__role role, const tt__gpu *gpu,
                           const tt__problem *p) {
    tt__candidate c;
    if (!operation->asides[role].n)
        return TT_OK;
    TT_TRY(tt__space_aside(&c, operation, role, gpu, p, operation->t->default_config));
    *out = c.launch;
    return TT_OK;
}

/* Does it work on what another file declares? Then that file says what is right, in its default
 * configuration: code of the template must not judge itself. */
static bool is_adopted(const tt__template *t) {
    return t->own && t->own != t->operation;
}

tt_status tt__workload_arrays(tt__workload *out, const tt__template *t, const tt__gpu *gpu,
                              const tt__problem *p, const char *config) {
    const tt__operation *operation = t->operation;
    tt__facts facts;
    memset(out, 0, offsetof(tt__workload, arrays)); /* of 80 KB most are arrays that there are not */
    memset(out->arrays, 0, operation->n_operands * sizeof *out->arrays);
    memset(&out->align, 0, sizeof *out - offsetof(tt__workload, align));
    out->n = (int)operation->n_operands;
    out->align = tt__problem_align(p);
    out->warm = p->warm;
    out->in_graph = p->in_graph;
    out->moves = operation->moves;
    out->has_reference = operation->asides[TT__REFERENCE].n;
    out->per_config = operation->per_config && !is_adopted(t);
    out->has_verify = operation->asides[TT__VERIFY].n;
    out->verify_apart = operation->asides[TT__VERIFY].n && is_adopted(t);
    out->reference = operation->asides[TT__REFERENCE].symbols;
    out->verify = operation->asides[TT__VERIFY].symbols;
    out->data = operation->asides[TT__DATA].symbols;
    out->limit = operation->limit;
    TT_TRY(tt__facts_of(&facts, operation, gpu, p));
    out->offset = tt__facts_offset(&facts);
    return set_arrays(out, operation, &facts, config);
}

tt_status tt__workload_try(tt__workload *out, const tt__template *t, const tt__gpu *gpu,
                           const tt__problem *p) {
    const tt__operation *operation = t->operation;
    memset(out, 0, sizeof *out);
    TT_TRY(tt__workload_arrays(out, t, gpu, p, NULL));
    TT_TRY(check_swaps(out, t));
    set_copy(out, p);
    if (!out->per_config)
        TT_TRY(set_aside(&out->launch, operation, TT__REFERENCE, gpu, p));
    return set_aside(&out->filling, operation, TT__DATA, gpu, p);
}

tt_status tt__workload_of(tt__workload *out, const tt__template *t, const tt__gpu *gpu,
                          const tt__problem *p) {
    TT_TRY(tt__workload_try(out, t, gpu, p));
    for (int i = 0; i < out->n; i++)
        if (p->in_graph && !out->moves && out->arrays[i].direction == TT__INOUT)
            return tt__fail(TT_E_UNSUPPORTED,
                            "%s is `inout`, so it is restored before each launch, and a graph of "
                            "launches cannot be timed without that: leave --graph (tt_problem.in_graph) out",
                            t->operation->operands[i].name);
    for (int i = 0; i < out->n; i++)
        TT_TRY(check_range(&out->arrays[i], t->operation, &t->operation->operands[i]));
    return TT_OK;
}

tt__role tt__workload_role(const tt__workload *w) {
    return w->launch.n_passes    ? TT__REFERENCE
           : w->filling.n_passes ? TT__DATA
           : w->verify_apart     ? TT__VERIFY
                                 : TT__ROLE_COUNT;
}

tt_status tt__workload_checks(tt__checks *out, const tt__configuration *c, const tt__gpu *gpu,
                              const tt__problem *p) {
    const tt__operation *operation = c->t->operation;
    const bool adopted = is_adopted(c->t);
    tt__candidate aside;
    *out = (tt__checks){0};
    if (operation->per_config && !adopted) {
        TT_TRY(tt__space_aside(&aside, operation, TT__REFERENCE, gpu, p, c->config));
        out->reference = aside.launch;
    }
    if (operation->asides[TT__VERIFY].n) {
        TT_TRY(tt__space_aside(&aside, operation, TT__VERIFY, gpu, p,
                               adopted ? operation->t->default_config : c->config));
        out->verify = aside.launch;
    }
    if (!any_by_config(operation) || adopted)
        return TT_OK;
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_arrays(w, c->t, gpu, p, c->config) : tt__fail_memory(sizeof *w);
    if (status == TT_OK)
        status = check_swaps(w, c->t);
    for (size_t i = 0; status == TT_OK && i < operation->n_operands; i++)
        out->counts[i] = w->arrays[i].by_config ? w->arrays[i].count : 0;
    free(w);
    return status;
}
