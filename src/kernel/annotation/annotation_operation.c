/*
 * Reads the `//@` lines of an operation: variables, reference, metrics and samples.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "kernel/annotation/reader.h"
#include "kernel/expression/scan.h"

#define SHOW TT__SHOW
#define FAIL TT__READ_FAIL

tt_status tt__declare_operation(tt__template *t) {
    if (t->own)
        return TT_OK;
    t->own = calloc(1, sizeof *t->own);
    if (!t->own)
        return tt__fail_memory(sizeof *t->own);
    t->own->t = t;
    t->own->objective = -1;
    t->own->tile[0] = -1;
    return TT_OK;
}

/* ---- The problem --------------------------------------------------------------------------------------- */

/* Recordings use these names for a problem's own fields. */
static const char *const reserved[] = {"op", "text", "warm", "unverified", "moved_bytes"};

static tt_status add_variable(tt__reader *r, tt__variable **out, tt__span *rest) {
    tt__operation *operation = r->t->own;
    if (operation->n_variables == TT__VARIABLES_MAX)
        return FAIL(r, rest->at, "more than %d variables", TT__VARIABLES_MAX);
    *out = &operation->variables[operation->n_variables];
    TT_TRY(tt__read_new_name(r, (*out)->name, sizeof(*out)->name, *rest));
    for (size_t i = 0; i < TT__COUNT(reserved); i++)
        if (strcmp((*out)->name, reserved[i]) == 0)
            return FAIL(r, rest->at, "%s says something of every problem, choose another name", reserved[i]);
    tt__take_word(rest);
    (*out)->weight = 1;
    (*out)->least = 1;
    operation->n_variables++;
    return TT_OK;
}

tt_status tt__read_problem(tt__reader *r, tt__span rest) {
    tt__variable *v = NULL;
    TT_TRY(add_variable(r, &v, &rest));
    if (rest.n == 0 && r->t->n_defines) /* then every problem must give it */
        return TT_OK;
    if (rest.n == 0)
        return FAIL(r, rest.at, "%s has no default, expected: problem NAME VALUE", v->name);
    static const char *const words[] = {"from"};
    tt__span value;
    if (tt__take_until(&value, &rest, words, 1) == 0) {
        tt__take_word(&rest);
        v->least = rest.n && tt__is_integer(rest.at, rest.n) ? atoi(rest.at) : 1;
        if (v->least > 0 || v->least < TT__NUMBER_LEAST)
            return FAIL(r, rest.at, "%s is to start at '%.*s', expected 0 or -1 (else it starts at 1)",
                        v->name, SHOW(rest));
    } else if (tt__span_is(value, "0") || tt__span_is(value, "-1")) {
        v->least = TT__NUMBER_LEAST;
    }
    return tt__read_expr(r, &v->value, value);
}

const char *tt__type_meant(tt__span word) {
    static const char *const names[][2] = {{"float", "f32"},    {"double", "f64"},   {"half", "f16"},
                                           {"int", "i32"},      {"unsigned", "u32"}, {"long", "i64"},
                                           {"char", "i8"},      {"short", "i16"},    {"int8_t", "i8"},
                                           {"uint8_t", "u8"},   {"int16_t", "i16"},  {"uint16_t", "u16"},
                                           {"int32_t", "i32"},  {"uint32_t", "u32"}, {"int64_t", "i64"},
                                           {"uint64_t", "u64"}, {"size_t", "u64"},   {"__half", "f16"}};
    for (size_t i = 0; i < TT__COUNT(names); i++)
        if (tt__span_is(word, names[i][0]))
            return names[i][1];
    return NULL;
}

/* Only the library's own files may use `elem`, because no arithmetic is possible with it. */
tt_status tt__read_type_name(tt__reader *r, tt__type *out, tt__span word) {
    *out = tt__type_named(word.at, word.n);
    if (*out && (*out != TT__TYPE_ELEM || r->t->n_defines))
        return TT_OK;
    tt__suggest near = tt__suggest_for(word.at, word.n);
    const tt__operation *operation = r->t->own;
    const char *meant = tt__type_meant(word);
    for (size_t i = 0; i < operation->n_variables; i++)
        if (operation->variables[i].n_types)
            tt__suggest_try(&near, operation->variables[i].name);
    for (tt__type t = TT__TYPE_NONE + 1; t < TT__TYPE_ELEM; t++)
        tt__suggest_try(&near, tt__types[t].name);
    return FAIL(
        r, word.at,
        "found '%.*s', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 e5m2%s%s%s",
        SHOW(word), meant ? "; did you mean " : tt__suggest_text(&near), meant ? meant : "",
        meant ? "?" : "");
}

tt_status tt__read_type(tt__reader *r, tt__span rest) {
    tt__variable *v = NULL;
    TT_TRY(add_variable(r, &v, &rest));
    if (rest.n == 0)
        return FAIL(r, rest.at, "%s has no types, expected: type NAME TYPE ...", v->name);
    while (rest.n > 0) {
        tt__span word = tt__take_word(&rest);
        if (v->n_types == TT__TYPES_MAX)
            return FAIL(r, word.at, "more than %d types", TT__TYPES_MAX);
        TT_TRY(tt__read_type_name(r, &v->types[v->n_types], word));
        for (size_t i = 0; i < v->n_types; i++)
            if (v->types[i] == v->types[v->n_types])
                return FAIL(r, word.at, "%.*s is given twice", SHOW(word));
        v->n_types++;
    }
    return TT_OK;
}

/* ---- What is known of problems ------------------------------------------------------------------------- */

/* Finds a variable that was declared above. */
static tt_status find_variable(tt__reader *r, int *out, tt__span word) {
    const tt__operation *op = r->t->own;
    tt__suggest near = tt__suggest_for(word.at, word.n);
    for (size_t i = 0; i < op->n_variables; i++) {
        *out = (int)i;
        if (tt__span_is(word, op->variables[i].name))
            return TT_OK;
        tt__suggest_try(&near, op->variables[i].name);
    }
    return FAIL(r, word.at, "found '%.*s', expected a variable of the problem declared above%s", SHOW(word),
                tt__suggest_text(&near));
}

/* Finds a variable that is a number, not a type. */
static tt_status find_number(tt__reader *r, int *out, tt__span word) {
    TT_TRY(find_variable(r, out, word));
    if (r->t->own->variables[*out].n_types)
        return FAIL(r, word.at, "%.*s is a type, expected a number", SHOW(word));
    return TT_OK;
}

tt_status tt__read_require(tt__reader *r, tt__span rest) {
    tt__operation *op = r->t->own;
    if (op->n_requires == TT__COUNT(op->requires))
        return FAIL(r, rest.at, "more than %zu `require` lines: join them with AND", TT__COUNT(op->requires));
    return tt__read_expr(r, &op->requires[op->n_requires++], rest);
}

tt_status tt__read_shape(tt__reader *r, tt__span rest) {
    tt__operation *op = r->t->own;
    while (rest.n > 0) {
        tt__span word = tt__take_word(&rest);
        if (op->n_shape == TT__COUNT(op->shape))
            return FAIL(r, word.at, "more than %zu variables", TT__COUNT(op->shape));
        TT_TRY(find_number(r, &op->shape[op->n_shape], word));
        op->n_shape++;
    }
    return TT_OK;
}

tt_status tt__read_near(tt__reader *r, tt__span rest) {
    int i;
    TT_TRY(find_variable(r, &i, tt__take_word(&rest)));
    tt__span weight = tt__take_word(&rest);
    tt__variable *v = &r->t->own->variables[i];
    TT_TRY(tt__read_number(r, &v->weight, weight));
    if (!(v->weight >= 0 && v->weight <= 100))
        return FAIL(r, weight.at, "a weight of %g, expected 0 to 100", v->weight);
    v->same = tt__span_is(rest, "same");
    return v->same || rest.n == 0 ? TT_OK : FAIL(r, rest.at, "found '%.*s', expected: same", SHOW(rest));
}

tt_status tt__read_batch(tt__reader *r, tt__span rest) {
    int i;
    TT_TRY(find_number(r, &i, rest));
    tt__copy(r->t->own->batch, sizeof r->t->own->batch, r->t->own->variables[i].name);
    return TT_OK;
}

tt_status tt__read_macros(tt__reader *r, tt__span rest) {
    r->t->own->macros = true;
    return tt__span_is(rest, "variables") ? TT_OK
                                          : FAIL(r, rest.at, "found '%.*s', expected: variables", SHOW(rest));
}

tt_status tt__read_moves(tt__reader *r, tt__span rest) {
    tt__operation *op = r->t->own;
    tt__span item;
    const char *at = rest.at;
    op->moves = true;
    if (tt__span_is(rest, "bytes"))
        return TT_OK;
    for (int i = 0; i < 3; i++) {
        if (!tt__take_item(&item, &rest))
            return FAIL(r, at, "expected: bytes, or ROWS, COLUMNS, LEADING_DIMENSION");
        TT_TRY(find_number(r, &op->tile[i], item));
    }
    rest = tt__trim(rest);
    return rest.n ? FAIL(r, rest.at, "found '%.*s' behind the end of the line's meaning", SHOW(rest)) : TT_OK;
}

tt_status tt__read_sample(tt__reader *r, tt__span rest) {
    tt__operation *op = r->t->own;
    if (op->n_samples == TT__COUNT(op->samples))
        return FAIL(r, rest.at, "more than %zu samples", TT__COUNT(op->samples));
    return tt__read_expr(r, &op->samples[op->n_samples++], rest);
}

tt_status tt__read_prefer(tt__reader *r, tt__span rest) {
    return tt__read_expr(r, &r->t->own->prefer, rest);
}

/* ---- What is right, and what counts -------------------------------------------------------------------- */

/* A kernel that is launched beside those that are tuned. The keyword is its role. */
tt_status tt__read_aside(tt__reader *r, tt__span rest) {
    char name[TT__NAME_MAX];
    size_t role = 0;
    while (strcmp(r->keyword, tt__roles[role]) != 0)
        role++;
    tt__aside *a = &r->t->own->asides[role];
    const bool by_default = role == TT__REFERENCE && tt__span_is(rest, "default");
    if (r->t->own->by_default ? role == TT__REFERENCE : by_default && a->n)
        return FAIL(r, rest.at, "`reference default` stands alone: take it or the other `reference` away");
    if (by_default) { /* its launches are known at the end */
        r->t->own->by_default = true;
        return TT_OK;
    }
    if (a->n == TT__PASSES_MAX)
        return FAIL(r, rest.at, "more than %d `%s` kernels", TT__PASSES_MAX, r->keyword);
    TT_TRY(tt__read_kernel(r, a->symbols.name[a->n], name, rest));
    a->symbols.foreign = r->t->symbols.foreign;
    r->symbol = a->symbols.name[a->n];
    r->launch = &a->launches[a->n++];
    r->launch->line = r->line;
    r->launch->column = tt__read_column(r, rest.at);
    return TT_OK;
}

/* Where results depend on parameters, the reference must know them. */
tt_status tt__read_per(tt__reader *r, tt__span rest) {
    if (!tt__span_is(rest, "configuration"))
        return FAIL(r, rest.at, "found '%.*s', expected: per configuration", SHOW(rest));
    const tt__geometry_expr *first = r->t->own->asides[TT__REFERENCE].launches;
    if (r->launch < first || r->launch >= first + TT__PASSES_MAX)
        return FAIL(r, rest.at, "`per configuration` belongs below a `reference`");
    r->t->own->per_config = true;
    return TT_OK;
}

tt_status tt__read_limit(tt__reader *r, tt__span rest) {
    if (r->launch != &r->t->own->asides[TT__VERIFY].launches[0])
        return FAIL(r, rest.at, "`limit` belongs below a `verify`, whose error it limits");
    TT_TRY(tt__read_number(r, &r->t->own->limit, rest));
    return r->t->own->limit >= 0 ? TT_OK : FAIL(r, rest.at, "a limit is 0 or more");
}

tt_status tt__read_expect(tt__reader *r, tt__span rest) {
    tt__operation *operation = r->t->own;
    tt__span name = tt__take_word(&rest);
    tt__suggest near = tt__suggest_for(name.at, name.n);
    for (size_t i = 0; i < operation->n_operands; i++) {
        tt__operand *o = &operation->operands[i];
        if (o->scalar || (o->direction != TT__OUT && o->direction != TT__INOUT))
            continue;
        tt__suggest_try(&near, o->name);
        if (tt__span_is(name, o->name))
            return o->expect[0] ? FAIL(r, name.at, "a second `expect` of %s", o->name)
                                : tt__read_file_beside(r, o->expect, rest);
    }
    return FAIL(r, name.at, "found '%.*s', expected an `out` or `inout` buffer above%s", SHOW(name),
                tt__suggest_text(&near));
}

/* Those of the buffer that the line begins with, or of the operation. */
static tt_status take_tolerance(tt__reader *r, tt__tolerance **out, tt__span *rest) {
    tt__operation *operation = r->t->own;
    tt__span after = *rest, name = tt__take_word(&after);
    *out = &operation->tolerance;
    for (size_t i = 0; i < operation->n_operands; i++) {
        tt__operand *o = &operation->operands[i];
        if (!tt__span_is(name, o->name))
            continue;
        if (o->scalar || (o->direction != TT__OUT && o->direction != TT__INOUT))
            return FAIL(r, name.at, "%s has no tolerance: it is no `out` or `inout` buffer", o->name);
        *out = &o->tolerance;
        *rest = after;
    }
    if ((*out)->line)
        return FAIL(r, strstr(r->line_start, r->keyword), "a second `%s`, the first is in line %d",
                    r->keyword, (*out)->line);
    (*out)->line = r->line;
    return TT_OK;
}

tt_status tt__read_tolerance(tt__reader *r, tt__span rest) {
    tt__tolerance *t;
    TT_TRY(take_tolerance(r, &t, &rest));
    if (tt__span_is(rest, "exact"))
        return TT_OK;
    do {
        tt__span word = tt__take_word(&rest), number = tt__take_word(&rest);
        double *to = tt__span_is(word, "abs")     ? &t->abs
                     : tt__span_is(word, "rel")   ? &t->rel
                     : tt__span_is(word, "scale") ? &t->scale
                                                  : NULL;
        if (!to)
            return FAIL(
                r, word.at,
                "found '%.*s', expected exact, abs NUMBER, rel NUMBER or scale NUMBER, or the name of an "
                "`out` buffer above%s",
                SHOW(word),
                word.n > 3 && memcmp(word.at, "abs", 3) == 0   ? "; did you mean abs?"
                : word.n > 3 && memcmp(word.at, "rel", 3) == 0 ? "; did you mean rel?"
                                                               : "");
        TT_TRY(tt__read_number(r, to, number));
        if (*to < 0)
            return FAIL(r, number.at, "a tolerance is 0 or more");
        if (to == &t->scale && *to >= 0.5)
            return FAIL(r, number.at, "with a scale of %g wrong results would pass, expected less than 0.5",
                        *to);
    } while (rest.n > 0);
    return TT_OK;
}

tt_status tt__read_metric(tt__reader *r, tt__span rest) {
    tt__operation *operation = r->t->own;
    if (operation->n_metrics == TT__METRICS_MAX)
        return FAIL(r, rest.at, "more than %d metrics", TT__METRICS_MAX);
    tt__metric *m = &operation->metrics[operation->n_metrics];
    TT_TRY(tt__read_name(r, m->name, sizeof m->name, rest));
    for (size_t i = 0; i < operation->n_metrics; i++)
        if (tt__same_letters(operation->metrics[i].name, m->name))
            return FAIL(r, rest.at, "a second metric %s", m->name);
    tt__take_word(&rest);
    operation->n_metrics++;
    return tt__read_expr(r, &m->value, rest);
}

tt_status tt__read_objective(tt__reader *r, tt__span rest) {
    tt__operation *operation = r->t->own;
    tt__span word = tt__take_word(&rest);
    operation->maximize = tt__span_is(word, "maximize");
    if (!operation->maximize && !tt__span_is(word, "minimize"))
        return FAIL(r, word.at, "found '%.*s', expected minimize or maximize%s", SHOW(word),
                    word.n > 2 && memcmp(word.at, "ma", 2) == 0   ? "; did you mean maximize?"
                    : word.n > 2 && memcmp(word.at, "mi", 2) == 0 ? "; did you mean minimize?"
                                                                  : "");
    tt__suggest near = tt__suggest_for(rest.at, rest.n);
    for (size_t i = 0; i < operation->n_metrics; i++) {
        tt__suggest_try(&near, operation->metrics[i].name);
        if (tt__span_is(rest, operation->metrics[i].name)) {
            operation->objective = (int)i;
            return TT_OK;
        }
    }
    if (tt__span_is(rest, "time") && !operation->maximize)
        return TT_OK;
    return FAIL(r, rest.at, "found '%.*s', expected the name of a `metric` above, or minimize time%s",
                SHOW(rest), tt__suggest_text(&near));
}
