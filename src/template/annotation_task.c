/* The `//@` lines of a task: the problem's variables, the operands, what is right, and what counts. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "template/reader.h"
#include "template/scan.h"

#define COUNT TT__COUNT
#define SHOW TT__SHOW
#define FAIL TT__READ_FAIL

/* The template's own task, made when the first line asks for it. */
static tt_status own_task(tt__reader *r, tt__task **out) {
    if (!r->t->own) {
        r->t->own = calloc(1, sizeof *r->t->own);
        if (!r->t->own)
            return tt__fail_memory(sizeof *r->t->own);
        r->t->own->t = r->t;
        r->t->own->objective = -1;
    }
    *out = r->t->own;
    return TT_OK;
}

/* ---- The problem --------------------------------------------------------------------------------------- */

static tt_status add_variable(tt__reader *r, tt__variable **out, tt__span *rest) {
    tt__task *task = NULL;
    TT_TRY(own_task(r, &task));
    if (task->n_variables == TT__VARIABLES_MAX)
        return FAIL(r, rest->at, "more than %d variables", TT__VARIABLES_MAX);
    *out = &task->variables[task->n_variables];
    TT_TRY(tt__read_new_name(r, (*out)->name, sizeof(*out)->name, *rest));
    tt__take_word(rest);
    task->n_variables++;
    return TT_OK;
}

tt_status tt__read_problem(tt__reader *r, tt__span rest) {
    tt__variable *v;
    TT_TRY(add_variable(r, &v, &rest));
    if (rest.n == 0 && r->t->defines) /* the library always says them */
        return TT_OK;
    if (rest.n == 0)
        return FAIL(r, rest.at, "%s has no default, expected: problem NAME VALUE", v->name);
    return tt__read_expr(r, &v->value, rest);
}

static tt_status read_type_name(tt__reader *r, tt__type *out, tt__span word) {
    *out = tt__type_named(word.at, word.n);
    if (*out)
        return TT_OK;
    tt__suggest near = tt__suggest_for(word.at, word.n);
    for (tt__type t = TT__TYPE_NONE + 1; t < TT__TYPE_COUNT; t++)
        tt__suggest_try(&near, tt__types[t].name);
    return FAIL(r, word.at, "found '%.*s', expected a type: i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64%s",
                SHOW(word), tt__suggest_text(&near));
}

tt_status tt__read_type(tt__reader *r, tt__span rest) {
    tt__variable *v;
    TT_TRY(add_variable(r, &v, &rest));
    if (rest.n == 0)
        return FAIL(r, rest.at, "%s has no types, expected: type NAME TYPE ...", v->name);
    while (rest.n > 0) {
        tt__span word = tt__take_word(&rest);
        if (v->n_types == TT__TYPES_MAX)
            return FAIL(r, word.at, "more than %d types", TT__TYPES_MAX);
        TT_TRY(read_type_name(r, &v->types[v->n_types], word));
        v->n_types++;
    }
    return TT_OK;
}

/* ---- Operands ------------------------------------------------------------------------------------------ */

/* The type of an operand: a type's name, or that of a `type` above. */
static tt_status read_operand_type(tt__reader *r, tt__operand *o, tt__span word) {
    const tt__task *task = r->t->own;
    o->variable = -1;
    for (size_t i = 0; i < task->n_variables; i++)
        if (task->variables[i].n_types && tt__span_is(word, task->variables[i].name)) {
            o->variable = (int)i;
            o->type = task->variables[i].types[0];
            return TT_OK;
        }
    return read_type_name(r, &o->type, word);
}

static tt_status add_operand(tt__reader *r, tt__operand **out, tt__span *rest) {
    tt__task *task = NULL;
    TT_TRY(own_task(r, &task));
    if (task->n_operands == TT__OPERANDS_MAX)
        return FAIL(r, rest->at, "more than %d buffers and scalars", TT__OPERANDS_MAX);
    tt__operand *o = *out = &task->operands[task->n_operands];
    TT_TRY(tt__read_new_name(r, o->name, sizeof o->name, *rest));
    if (tt__type_named(o->name, strlen(o->name)))
        return FAIL(r, rest->at, "%s is a type, choose another name", o->name);
    tt__take_word(rest);
    tt__span type = tt__take_word(rest);
    TT_TRY(read_operand_type(r, o, type));
    task->n_operands++;
    return TT_OK;
}

static const char *const directions[] = {"in", "out", "inout", "scratch"}; /* as in tt__direction */
static const char *const inits[] = {"random", "uniform", "normal", "zeros", "file"}; /* as in tt__init */

/* The last word that is a direction ends the length, which is an expression of any number of words. */
static bool split_length(tt__span rest, tt__span *length, size_t *direction, tt__span *data) {
    for (tt__span left = rest; left.n > 0;) {
        tt__span word = tt__take_word(&left);
        for (size_t d = 0; d < COUNT(directions); d++)
            if (tt__span_is(word, directions[d])) {
                *length = tt__trim((tt__span){rest.at, (size_t)(word.at - rest.at)});
                *direction = d;
                *data = left;
                return true;
            }
    }
    return false;
}

static tt_status read_file(tt__reader *r, char out[TT__FILE_MAX], tt__span word) {
    if (word.n == 0 || word.n >= TT__FILE_MAX || memchr(word.at, '/', word.n) || *word.at == '.')
        return FAIL(r, word.at, "found '%.*s', expected the name of a file that lies beside this one", SHOW(word));
    tt__copy(out, word.n + 1, word.at);
    return TT_OK;
}

static tt_status read_data(tt__reader *r, tt__operand *o, tt__span data) {
    const tt__task *task = r->t->own;
    tt__suggest near = tt__suggest_for(data.at, data.n);
    bool floating = tt__types[o->type].floating;
    o->init = floating ? TT__INIT_UNIFORM : TT__INIT_RANDOM;
    o->high = 1;
    if (data.n == 0)
        return TT_OK;
    tt__span word = tt__take_word(&data);
    if (o->direction == TT__OUT || o->direction == TT__SCRATCH)
        return FAIL(r, word.at, "found '%.*s', but what an `%s` buffer holds before is of no account%s", SHOW(word),
                    directions[o->direction],
                    o->direction == TT__OUT ? ": say inout if the kernel adds to it" : "");
    size_t k = 0;
    while (k < COUNT(inits) && !tt__span_is(word, inits[k]))
        tt__suggest_try(&near, inits[k++]);
    o->init = (tt__init)k;
    if (k == TT__INIT_COPY) {
        o->from = -1;
        for (size_t i = 0; i + 1 < task->n_operands; i++)
            if (tt__span_is(word, task->operands[i].name) && !task->operands[i].scalar)
                o->from = (int)i;
        if (o->from < 0)
            return FAIL(r, word.at,
                        "found '%.*s', expected random, uniform, normal, zeros, file or a buffer above%s", SHOW(word),
                        tt__suggest_text(&near));
    }
    if (k == TT__INIT_FILE)
        TT_TRY(read_file(r, o->file, tt__take_word(&data)));
    if (k == TT__INIT_UNIFORM && data.n > 0) {
        tt__span low = tt__take_word(&data), high = tt__take_word(&data);
        TT_TRY(tt__read_number(r, &o->low, low));
        TT_TRY(tt__read_number(r, &o->high, high));
        if (o->low > o->high)
            return FAIL(r, low.at, "the lower end %g is above the upper end %g", o->low, o->high);
    }
    if ((k == TT__INIT_UNIFORM || k == TT__INIT_NORMAL) && o->type == TT__TYPE_ELEM)
        return FAIL(r, word.at, "%s needs a type of numbers, and elem is none", inits[k]);
    if (k == TT__INIT_NORMAL && !floating)
        return FAIL(r, word.at, "normal needs a floating-point type, and %s is none", tt__types[o->type].name);
    return data.n ? FAIL(r, data.at, "found '%.*s' behind the end of the line's meaning", SHOW(data)) : TT_OK;
}

tt_status tt__read_buffer(tt__reader *r, tt__span rest) {
    tt__operand *o;
    tt__span length = rest, data = rest;
    size_t direction = 0;
    TT_TRY(add_operand(r, &o, &rest));
    if (!split_length(rest, &length, &direction, &data))
        return FAIL(r, rest.at, "%s has no direction, expected: buffer NAME TYPE LENGTH in|out|inout|scratch [DATA]",
                    o->name);
    o->direction = (tt__direction)direction;
    TT_TRY(tt__read_expr(r, &o->count, length));
    return read_data(r, o, data);
}

tt_status tt__read_scalar(tt__reader *r, tt__span rest) {
    tt__operand *o;
    TT_TRY(add_operand(r, &o, &rest));
    o->scalar = true;
    if (!tt__types[o->type].argument)
        return FAIL(r, rest.at, "a scalar is i32, u32, i64, u64, f32 or f64, and %s is none of these",
                    tt__types[o->type].name);
    TT_TRY(tt__read_number(r, &o->low, rest));
    /* An f32 that is no float is rounded; an integer that is none would be cut. */
    if (!tt__types[o->type].floating && !tt__is_integer(rest.at, rest.n))
        return FAIL(r, rest.at, "found '%.*s', expected a whole number for %s", SHOW(rest), tt__types[o->type].name);
    return TT_OK;
}

/* ---- What is right, and what counts -------------------------------------------------------------------- */

tt_status tt__read_reference(tt__reader *r, tt__span rest) {
    tt__task *task = NULL;
    TT_TRY(own_task(r, &task));
    TT_TRY(tt__read_name(r, task->reference.name[0], TT__NAME_MAX, rest));
    task->has_reference = true;
    r->launch = &task->launch;
    r->launch->line = r->line;
    return TT_OK;
}

tt_status tt__read_expect(tt__reader *r, tt__span rest) {
    tt__task *task = NULL;
    TT_TRY(own_task(r, &task));
    tt__span name = tt__take_word(&rest);
    for (size_t i = 0; i < task->n_operands; i++) {
        tt__operand *o = &task->operands[i];
        if (tt__span_is(name, o->name) && !o->scalar && (o->direction == TT__OUT || o->direction == TT__INOUT))
            return read_file(r, o->expect, rest);
    }
    return FAIL(r, name.at, "found '%.*s', expected an `out` or `inout` buffer above", SHOW(name));
}

tt_status tt__read_tolerance(tt__reader *r, tt__span rest) {
    tt__task *task = NULL;
    TT_TRY(own_task(r, &task));
    if (tt__span_is(rest, "exact"))
        return TT_OK;
    while (rest.n > 0) {
        tt__span word = tt__take_word(&rest), number = tt__take_word(&rest);
        double *to = tt__span_is(word, "abs")   ? &task->abs_tolerance
                     : tt__span_is(word, "rel") ? &task->rel_tolerance
                                                : NULL;
        if (!to)
            return FAIL(r, word.at, "found '%.*s', expected exact, abs NUMBER or rel NUMBER", SHOW(word));
        TT_TRY(tt__read_number(r, to, number));
        if (*to < 0)
            return FAIL(r, number.at, "a tolerance is 0 or more");
    }
    return TT_OK;
}

tt_status tt__read_metric(tt__reader *r, tt__span rest) {
    tt__task *task = NULL;
    TT_TRY(own_task(r, &task));
    if (task->n_metrics == TT__METRICS_MAX)
        return FAIL(r, rest.at, "more than %d metrics", TT__METRICS_MAX);
    tt__metric *m = &task->metrics[task->n_metrics];
    TT_TRY(tt__read_name(r, m->name, sizeof m->name, rest));
    for (size_t i = 0; i < task->n_metrics; i++)
        if (strcasecmp(task->metrics[i].name, m->name) == 0)
            return FAIL(r, rest.at, "a second metric %s", m->name);
    tt__take_word(&rest);
    task->n_metrics++;
    return tt__read_expr(r, &m->value, rest);
}

tt_status tt__read_objective(tt__reader *r, tt__span rest) {
    tt__task *task = NULL;
    TT_TRY(own_task(r, &task));
    tt__span word = tt__take_word(&rest);
    task->maximize = tt__span_is(word, "maximize");
    if (!task->maximize && !tt__span_is(word, "minimize"))
        return FAIL(r, word.at, "found '%.*s', expected minimize or maximize", SHOW(word));
    tt__suggest near = tt__suggest_for(rest.at, rest.n);
    for (size_t i = 0; i < task->n_metrics; i++) {
        tt__suggest_try(&near, task->metrics[i].name);
        if (tt__span_is(rest, task->metrics[i].name)) {
            task->objective = (int)i;
            return TT_OK;
        }
    }
    if (tt__span_is(rest, "time") && !task->maximize)
        return TT_OK;
    return FAIL(r, rest.at, "found '%.*s', expected the name of a `metric` above, or minimize time%s", SHOW(rest),
                tt__suggest_text(&near));
}

/* ---- The whole ----------------------------------------------------------------------------------------- */

static tt_status find_operands(tt__template *t) {
    for (int i = 0; i < t->n_args; i++) {
        tt__arg_expr *a = &t->args[i];
        size_t k = 0, n = t->task->n_operands;
        if (a->type != TT__TYPE_NONE)
            continue;
        tt__suggest near = tt__suggest_for(a->value.text, strlen(a->value.text));
        while (k < n && strcmp(t->task->operands[k].name, a->value.text) != 0)
            tt__suggest_try(&near, t->task->operands[k++].name);
        for (tt__type type = TT__TYPE_NONE + 1; type < TT__TYPE_COUNT && k == n; type++)
            if (tt__types[type].argument)
                tt__suggest_try(&near, tt__types[type].name);
        if (k == n)
            return tt__template_fail(t->path, a->value.line, a->value.column,
                                     "found '%.60s', expected %s%s%s or a type and an expression%s", a->value.text,
                                     n ? t->task->operands[0].name : "", n > 1 ? ", " : "",
                                     n > 1 ? t->task->operands[1].name : "", tt__suggest_text(&near));
        a->operand = (int)k;
    }
    return TT_OK;
}

/* Upper and lower case are equal here, as they are to SQLite. */
static tt_status check_params(const tt__template *t) {
    for (size_t i = 0; i < t->n_params; i++)
        for (size_t k = 0; k < t->task->n_variables; k++)
            if (strcasecmp(t->params[i].name, t->task->variables[k].name) == 0)
                return tt__template_fail(t->path, t->params[i].line, t->params[i].column,
                                         "%s is a property of the problem, choose another name", t->params[i].name);
    return TT_OK;
}

static tt_status check_own(tt__template *t) {
    const tt__task *task = t->own;
    size_t n_results = 0, n_expected = 0;
    if (t->op[0])
        return tt__fail(TT_E_TEMPLATE,
                        "%s: `op %s` says what is computed, and so do `problem`, `type`, `buffer`, `scalar`, "
                        "`reference` and what goes with them: take away the one or the others",
                        t->path, t->op);
    if (task->n_operands == 0)
        return tt__fail(TT_E_TEMPLATE,
                        "%s: no `buffer` annotation, expected a line: //@ buffer NAME TYPE LENGTH in|out|inout|scratch",
                        t->path);
    for (size_t i = 0; i < task->n_operands; i++) {
        const tt__operand *o = &task->operands[i];
        bool result = !o->scalar && (o->direction == TT__OUT || o->direction == TT__INOUT);
        n_results += result;
        n_expected += result && o->expect[0];
    }
    if (n_results == 0)
        return tt__fail(TT_E_TEMPLATE, "%s: no buffer is `out` or `inout`: nothing would come of it", t->path);
    if (n_expected && !task->has_reference && n_expected < n_results)
        return tt__fail(TT_E_TEMPLATE,
                        "%s: `expect` names what %zu of %zu result buffers must hold: name the others too, or a `reference`",
                        t->path, n_expected, n_results);
    return TT_OK;
}

tt_status tt__task_finish(tt__template *t) {
    if (t->own) {
        TT_TRY(t->defines ? TT_OK : check_own(t));
        t->task = t->own;
        if (!t->defines)
            tt__copy(t->op, sizeof t->op, t->kernel);
        const tt__task *builtin;
        if (!t->defines && tt__op_task(&builtin, t->op) == TT_OK)
            return tt__fail(TT_E_TEMPLATE, "%s: the kernel is called %s, as one of the library's own ops: rename it",
                            t->path, t->op);
    } else {
        char why[256];
        if (tt__op_task(&t->task, t->op) == TT_E_INVALID) {
            tt__copy(why, sizeof why, tt_last_error());
            return tt__fail(TT_E_TEMPLATE, "%s: %s", t->path, why);
        }
        if (!t->task)
            return TT_E_NO_MEMORY;
    }
    TT_TRY(check_params(t));
    return find_operands(t);
}
