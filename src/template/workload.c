/*
 * Buffers, lengths and the reference of a problem.
 */
#include "template/workload.h"

#include <stdio.h>
#include <string.h>

#include "template/expr.h"
#include "template/operation.h"
#include "template/scan.h"

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
    a->init = !o->usual_init ? o->init : tt__types[a->type].floating ? TT__INIT_UNIFORM : TT__INIT_RANDOM;
    a->low = o->low;
    a->high = o->high;
    a->from = o->from;
    TT_TRY(beside(a->file, operation->t, o->file));
    TT_TRY(beside(a->expect, operation->t, o->expect));
    if (o->scalar)
        return TT_OK;
    if (count.kind != TT__VALUE_INT || count.i < 1 || count.i > bytes_max / a->elem_size)
        return tt__template_fail(
            operation->t->path, o->count.line, o->count.column,
            "the length of %s `%.200s` comes to %s, expected a whole number of 1 to 2^48 / %d", o->name,
            o->count.text, tt__value_text(text, count), a->elem_size);
    a->count = count.i;
    return TT_OK;
}

static tt_status set_arrays(tt__workload *w, const tt__operation *operation, const tt__facts *facts) {
    const tt__expr *columns[TT__OPERANDS_MAX];
    size_t n = 0, at = 0;
    tt__query *q = NULL;
    bool found = false;
    tt_status status = TT_OK;
    for (size_t i = 0; i < operation->n_operands; i++)
        if (!operation->operands[i].scalar)
            columns[n++] = &operation->operands[i].count;
    TT_TRY(tt__query_problem(&q, operation->t, facts, columns, n));
    TT_GOTO(tt__query_next(q, &found));
    for (size_t i = 0; i < operation->n_operands; i++) {
        tt__value count = {TT__VALUE_NULL, 0, 0};
        if (found && !operation->operands[i].scalar)
            count = tt__query_value(q, at++);
        TT_GOTO(set_array(&w->arrays[i], operation, facts, i, count));
        const tt__operand *o = &operation->operands[i];
        const tt__array *a = &w->arrays[i], *from = &w->arrays[o->from];
        if (!o->scalar && o->init == TT__INIT_COPY && tt__array_bytes(from) < tt__array_bytes(a))
            TT_GOTO(tt__template_fail(operation->t->path, o->count.line, o->count.column,
                                      "%s is to hold what %s does, but that has %lld bytes, and %s has %lld",
                                      a->name, from->name, (long long)tt__array_bytes(from), a->name,
                                      (long long)tt__array_bytes(a)));
    }
out:
    tt__query_close(q);
    return status;
}

/* The copy for comparison goes from the first buffer to the second, if both have the right length. */
static void set_copy(tt__workload *w, const tt__problem *p) {
    tt__problem copy;
    int64_t bytes = tt__problem_copy(&copy, p) ? tt__problem_number(&copy, "bytes", 0) : 0;
    bool fits = w->n == 2 && w->arrays[0].direction == TT__IN && w->arrays[1].direction == TT__OUT &&
                tt__array_bytes(&w->arrays[0]) >= bytes && tt__array_bytes(&w->arrays[1]) >= bytes;
    w->copy_bytes = fits ? 0 : bytes;
}

tt_status tt__workload_of(tt__workload *out, const tt__template *t, const tt__gpu *gpu,
                          const tt__problem *p) {
    const tt__operation *operation = t->operation;
    tt__facts facts;
    *out = (tt__workload){.n = (int)operation->n_operands,
                          .align = tt__problem_align(p),
                          .warm = p->warm,
                          .moves = operation->moves,
                          .has_reference = operation->has_reference,
                          .reference = operation->reference,
                          .abs_tolerance = operation->abs_tolerance,
                          .rel_tolerance = operation->rel_tolerance};
    TT_TRY(tt__problem_offset(&out->offset, operation, p));
    TT_TRY(tt__facts_of(&facts, operation, gpu, p));
    TT_TRY(set_arrays(out, operation, &facts));
    set_copy(out, p);
    if (operation->has_reference) {
        tt__candidate c;
        TT_TRY(tt__space_reference(&c, operation, gpu, p));
        out->launch = c.launch;
    }
    return TT_OK;
}
