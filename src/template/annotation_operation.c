/*
 * Reads the `//@` lines of an operation: variables, operands, reference, metrics and samples.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "template/reader.h"
#include "template/scan.h"

#define COUNT TT__COUNT
#define SHOW  TT__SHOW
#define FAIL  TT__READ_FAIL

/* The template's own operation, created when its first line is read. */
static tt_status own_operation(tt__reader *r, tt__operation **out) {
    if (!r->t->own) {
        r->t->own = calloc(1, sizeof *r->t->own);
        if (!r->t->own)
            return tt__fail_memory(sizeof *r->t->own);
        r->t->own->t = r->t;
        r->t->own->objective = -1;
        r->t->own->tile[0] = -1;
    }
    *out = r->t->own;
    return TT_OK;
}

/* ---- The problem --------------------------------------------------------------------------------------- */

/* Recordings use these names for a problem's own fields. */
static const char *const reserved[] = {"op", "text", "warm", "unverified", "moved_bytes"};

static tt_status add_variable(tt__reader *r, tt__variable **out, tt__span *rest) {
    tt__operation *operation = NULL;
    TT_TRY(own_operation(r, &operation));
    if (operation->n_variables == TT__VARIABLES_MAX)
        return FAIL(r, rest->at, "more than %d variables", TT__VARIABLES_MAX);
    *out = &operation->variables[operation->n_variables];
    TT_TRY(tt__read_new_name(r, (*out)->name, sizeof(*out)->name, *rest));
    for (size_t i = 0; i < COUNT(reserved); i++)
        if (strcmp((*out)->name, reserved[i]) == 0)
            return FAIL(r, rest->at, "%s says something of every problem, choose another name", reserved[i]);
    tt__take_word(rest);
    (*out)->weight = 1;
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
    return tt__read_expr(r, &v->value, rest);
}

/* C names of the types, for "did you mean". */
static const char *type_meant(tt__span word) {
    static const char *const names[][2] = {{"float", "f32"},    {"double", "f64"},   {"half", "f16"},
                                           {"int", "i32"},      {"unsigned", "u32"}, {"long", "i64"},
                                           {"char", "i8"},      {"short", "i16"},    {"int8_t", "i8"},
                                           {"uint8_t", "u8"},   {"int16_t", "i16"},  {"uint16_t", "u16"},
                                           {"int32_t", "i32"},  {"uint32_t", "u32"}, {"int64_t", "i64"},
                                           {"uint64_t", "u64"}, {"size_t", "u64"},   {"__half", "f16"}};
    for (size_t i = 0; i < COUNT(names); i++)
        if (tt__span_is(word, names[i][0]))
            return names[i][1];
    return NULL;
}

/* Only the library's own files may use `elem`, because no arithmetic is possible with it. */
static tt_status read_type_name(tt__reader *r, tt__type *out, tt__span word) {
    *out = tt__type_named(word.at, word.n);
    if (*out && (*out != TT__TYPE_ELEM || r->t->n_defines))
        return TT_OK;
    tt__suggest near = tt__suggest_for(word.at, word.n);
    const tt__operation *operation = r->t->own;
    const char *meant = type_meant(word);
    for (size_t i = 0; i < operation->n_variables; i++)
        if (operation->variables[i].n_types)
            tt__suggest_try(&near, operation->variables[i].name);
    for (tt__type t = TT__TYPE_NONE + 1; t < TT__TYPE_ELEM; t++)
        tt__suggest_try(&near, tt__types[t].name);
    return FAIL(r, word.at,
                "found '%.*s', expected a type: i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64%s%s%s",
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
        TT_TRY(read_type_name(r, &v->types[v->n_types], word));
        for (size_t i = 0; i < v->n_types; i++)
            if (v->types[i] == v->types[v->n_types])
                return FAIL(r, word.at, "%.*s is given twice", SHOW(word));
        v->n_types++;
    }
    return TT_OK;
}

/* ---- What is known of problems --------------------------------------------------------------------------
 */

/* Finds a variable that was declared above. */
static tt_status find_variable(tt__reader *r, int *out, tt__span word) {
    tt__operation *op = NULL;
    TT_TRY(own_operation(r, &op));
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
    tt__operation *op = NULL;
    TT_TRY(own_operation(r, &op));
    if (op->n_requires == COUNT(op->requires))
        return FAIL(r, rest.at, "more than %zu `require` lines: join them with AND", COUNT(op->requires));
    return tt__read_expr(r, &op->requires[op->n_requires++], rest);
}

tt_status tt__read_shape(tt__reader *r, tt__span rest) {
    tt__operation *op = NULL;
    TT_TRY(own_operation(r, &op));
    while (rest.n > 0) {
        tt__span word = tt__take_word(&rest);
        if (op->n_shape == COUNT(op->shape))
            return FAIL(r, word.at, "more than %zu variables", COUNT(op->shape));
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

tt_status tt__read_moves(tt__reader *r, tt__span rest) {
    tt__operation *op = NULL;
    tt__span item;
    const char *at = rest.at;
    TT_TRY(own_operation(r, &op));
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
    tt__operation *op = NULL;
    TT_TRY(own_operation(r, &op));
    if (op->n_samples == COUNT(op->samples))
        return FAIL(r, rest.at, "more than %zu samples", COUNT(op->samples));
    return tt__read_expr(r, &op->samples[op->n_samples++], rest);
}

/* ---- Operands ------------------------------------------------------------------------------------------ */

/* The type of an operand: a type's name, or a variable declared by `type`. */
static tt_status read_operand_type(tt__reader *r, tt__operand *o, tt__span word) {
    const tt__operation *operation = r->t->own;
    o->variable = -1;
    for (size_t i = 0; i < operation->n_variables; i++)
        if (operation->variables[i].n_types && tt__span_is(word, operation->variables[i].name)) {
            o->variable = (int)i;
            o->type = operation->variables[i].types[0];
            return TT_OK;
        }
    return read_type_name(r, &o->type, word);
}

static tt_status add_operand(tt__reader *r, tt__operand **out, tt__span *rest) {
    tt__operation *operation = NULL;
    TT_TRY(own_operation(r, &operation));
    if (operation->n_operands == TT__OPERANDS_MAX)
        return FAIL(r, rest->at, "more than %d buffers and scalars", TT__OPERANDS_MAX);
    tt__operand *o = *out = &operation->operands[operation->n_operands];
    TT_TRY(tt__read_new_name(r, o->name, sizeof o->name, *rest));
    if (tt__type_named(o->name, strlen(o->name)))
        return FAIL(r, rest->at, "%s is a type, choose another name", o->name);
    tt__take_word(rest);
    tt__span type = tt__take_word(rest);
    TT_TRY(read_operand_type(r, o, type));
    operation->n_operands++;
    return TT_OK;
}

static const char *const inits[] = {"random", "uniform", "normal", "zeros",
                                    "file"}; /* in the order of tt__init */

/* Splits at the last word that is a direction. The length before it may be an expression of many words. */
static bool split_length(tt__span rest, tt__span *length, size_t *direction, tt__span *data) {
    for (tt__span left = rest; left.n > 0;) {
        tt__span word = tt__take_word(&left);
        for (size_t d = 0; d <= TT__SCRATCH; d++)
            if (tt__span_is(word, tt__directions[d])) {
                *length = tt__trim((tt__span){rest.at, (size_t)(word.at - rest.at)});
                *direction = d;
                *data = left;
                return true;
            }
    }
    return false;
}

/* The message for a missing direction. It may be misspelt. */
static tt_status no_direction(tt__reader *r, const tt__operand *o, tt__span rest) {
    const char *meant = "";
    tt__suggest near;
    for (tt__span left = rest; left.n > 0;) {
        tt__span word = tt__take_word(&left);
        if (word.at == rest.at || !tt__is_word(word.at, word.n)) /* the length comes first */
            continue;
        near = tt__suggest_for(word.at, word.n);
        for (size_t d = 0; d <= TT__SCRATCH; d++)
            tt__suggest_try(&near, tt__directions[d]);
        if (near.best) {
            meant = tt__suggest_text(&near);
            rest = word;
            break;
        }
    }
    return FAIL(r, rest.at,
                "%s has no direction, expected: buffer NAME TYPE LENGTH in|out|inout|scratch [DATA]%s",
                o->name, meant);
}

static tt_status read_file(tt__reader *r, char out[TT__FILE_MAX], tt__span word) {
    if (word.n == 0 || word.n >= TT__FILE_MAX || memchr(word.at, '/', word.n) || *word.at == '.')
        return FAIL(r, word.at, "found '%.*s', expected the name of a file that lies beside this one",
                    SHOW(word));
    tt__copy(out, word.n + 1, word.at);
    return TT_OK;
}

/* The number must fit every type that the operand can have. Otherwise it would be rounded silently. */
static tt_status check_fits(tt__reader *r, const tt__operand *o, tt__span number, double value) {
    const tt__variable *v = o->variable < 0 ? NULL : &r->t->own->variables[o->variable];
    for (size_t i = 0; i < (v ? v->n_types : 1); i++) {
        tt__type type = v ? v->types[i] : o->type;
        const tt__type_info *info = &tt__types[type];
        const int bits = 8 * info->size;
        const bool is_signed = *info->name == 'i';
        double most = ldexp(1, is_signed ? bits - 1 : bits) - 1, least = is_signed ? -most - 1 : 0;
        if (bits == 64) { /* integers that a double represents exactly */
            most = 0x1p53 - 1;
            least = is_signed ? -most : 0;
        }
        if (info->floating) {
            most = type == TT__TYPE_F64 ? DBL_MAX : type == TT__TYPE_F16 ? 65504 : (double)FLT_MAX;
            least = -most;
        }
        if (!info->floating && !tt__is_integer(number.at, number.n))
            return FAIL(r, number.at, "found '%.*s', expected a whole number for %s", SHOW(number),
                        info->name);
        if (!(value >= least && value <= most))
            return FAIL(r, number.at, "%.*s does not fit %s, expected %.17g to %.17g", SHOW(number),
                        info->name, least, most);
    }
    return TT_OK;
}

static tt_status read_data(tt__reader *r, tt__operand *o, tt__span data) {
    const tt__operation *operation = r->t->own;
    bool floating = tt__types[o->type].floating;
    o->init = floating ? TT__INIT_UNIFORM : TT__INIT_RANDOM;
    o->usual_init = data.n == 0; /* the default depends on which type is chosen */
    o->high = 1;
    if (data.n == 0)
        return TT_OK;
    tt__span word = tt__take_word(&data);
    if (o->direction == TT__OUT || o->direction == TT__SCRATCH)
        return FAIL(r, word.at, "found '%.*s', but what a buffer for `%s` holds before is of no account%s",
                    SHOW(word), tt__directions[o->direction],
                    o->direction == TT__OUT ? ": say inout if the kernel adds to it" : "");
    size_t k = 0;
    tt__suggest near = tt__suggest_for(word.at, word.n);
    while (k < COUNT(inits) && !tt__span_is(word, inits[k]))
        tt__suggest_try(&near, inits[k++]);
    o->init = (tt__init)k;
    if (k == TT__INIT_COPY) {
        o->from = -1;
        for (size_t i = 0; i + 1 < operation->n_operands; i++) {
            if (operation->operands[i].scalar || operation->operands[i].direction == TT__CONSTANT)
                continue;
            tt__suggest_try(&near, operation->operands[i].name);
            if (tt__span_is(word, operation->operands[i].name))
                o->from = (int)i;
        }
        if (o->from < 0)
            return FAIL(r, word.at,
                        "found '%.*s', expected random, uniform, normal, zeros, file or a buffer above%s",
                        SHOW(word), tt__suggest_text(&near));
    }
    if (k == TT__INIT_FILE)
        TT_TRY(read_file(r, o->file, tt__take_word(&data)));
    if (k == TT__INIT_UNIFORM && data.n > 0) {
        tt__span low = tt__take_word(&data), high = tt__take_word(&data);
        TT_TRY(tt__read_number(r, &o->low, low));
        TT_TRY(tt__read_number(r, &o->high, high));
        if (o->low > o->high)
            return FAIL(r, low.at, "the lower end %g is above the upper end %g", o->low, o->high);
        TT_TRY(check_fits(r, o, low, o->low));
        TT_TRY(check_fits(r, o, high, o->high));
    }
    if ((k == TT__INIT_UNIFORM || k == TT__INIT_NORMAL) && o->type == TT__TYPE_ELEM)
        return FAIL(r, word.at, "%s needs a type of numbers, and elem is none", inits[k]);
    if (k == TT__INIT_NORMAL && !floating)
        return FAIL(r, word.at, "normal needs a floating-point type, and %s is none",
                    tt__types[o->type].name);
    return data.n ? FAIL(r, data.at, "found '%.*s' behind the end of the line's meaning", SHOW(data)) : TT_OK;
}

tt_status tt__read_buffer(tt__reader *r, tt__span rest) {
    tt__operand *o;
    tt__span length = rest, data = rest;
    size_t direction = 0;
    TT_TRY(add_operand(r, &o, &rest));
    if (!split_length(rest, &length, &direction, &data))
        return no_direction(r, o, rest);
    o->direction = (tt__direction)direction;
    TT_TRY(tt__read_expr(r, &o->count, length));
    return read_data(r, o, data);
}

/* The first word that says what it holds ends the length. */
tt_status tt__read_constant(tt__reader *r, tt__span rest) {
    tt__operand *o;
    TT_TRY(add_operand(r, &o, &rest));
    o->direction = TT__CONSTANT;
    tt__span length = rest, data = {rest.at + rest.n, 0};
    for (tt__span left = rest; left.n > 0 && !data.n;) {
        tt__span word = tt__take_word(&left);
        for (size_t k = 0; k < COUNT(inits); k++)
            if (tt__span_is(word, inits[k])) {
                length = tt__trim((tt__span){rest.at, (size_t)(word.at - rest.at)});
                data = (tt__span){word.at, (size_t)(rest.at + rest.n - word.at)};
            }
    }
    TT_TRY(tt__read_expr(r, &o->count, length));
    return read_data(r, o, data);
}

tt_status tt__read_scalar(tt__reader *r, tt__span rest) {
    tt__operand *o;
    TT_TRY(add_operand(r, &o, &rest));
    o->scalar = true;
    o->direction = TT__SCALAR;
    const tt__variable *v = o->variable < 0 ? NULL : &r->t->own->variables[o->variable];
    for (size_t i = 0; i < (v ? v->n_types : 1); i++)
        if (!tt__types[v ? v->types[i] : o->type].argument)
            return FAIL(r, rest.at, "a scalar is i32, u32, i64, u64, f32 or f64, and %s is none of these",
                        tt__types[v ? v->types[i] : o->type].name);
    TT_TRY(tt__read_number(r, &o->low, rest));
    return check_fits(r, o, rest, o->low);
}

/* ---- What is right, and what counts -------------------------------------------------------------------- */

tt_status tt__read_reference(tt__reader *r, tt__span rest) {
    tt__operation *operation = NULL;
    TT_TRY(own_operation(r, &operation));
    char name[TT__NAME_MAX];
    TT_TRY(tt__read_kernel(r, operation->reference.name[0], name, rest));
    operation->has_reference = true;
    operation->reference.foreign = r->t->symbols.foreign;
    r->launch = &operation->launch;
    r->launch->line = r->line;
    r->launch->column = tt__read_column(r, rest.at);
    return TT_OK;
}

tt_status tt__read_expect(tt__reader *r, tt__span rest) {
    tt__operation *operation = NULL;
    TT_TRY(own_operation(r, &operation));
    tt__span name = tt__take_word(&rest);
    tt__suggest near = tt__suggest_for(name.at, name.n);
    for (size_t i = 0; i < operation->n_operands; i++) {
        tt__operand *o = &operation->operands[i];
        if (o->scalar || (o->direction != TT__OUT && o->direction != TT__INOUT))
            continue;
        tt__suggest_try(&near, o->name);
        if (tt__span_is(name, o->name))
            return o->expect[0] ? FAIL(r, name.at, "a second `expect` of %s", o->name)
                                : read_file(r, o->expect, rest);
    }
    return FAIL(r, name.at, "found '%.*s', expected an `out` or `inout` buffer above%s", SHOW(name),
                tt__suggest_text(&near));
}

tt_status tt__read_tolerance(tt__reader *r, tt__span rest) {
    tt__operation *operation = NULL;
    TT_TRY(own_operation(r, &operation));
    if (tt__span_is(rest, "exact"))
        return TT_OK;
    while (rest.n > 0) {
        tt__span word = tt__take_word(&rest), number = tt__take_word(&rest);
        double *to = tt__span_is(word, "abs")   ? &operation->abs_tolerance
                     : tt__span_is(word, "rel") ? &operation->rel_tolerance
                                                : NULL;
        if (!to)
            return FAIL(r, word.at, "found '%.*s', expected exact, abs NUMBER or rel NUMBER%s", SHOW(word),
                        word.n > 3 && memcmp(word.at, "abs", 3) == 0   ? "; did you mean abs?"
                        : word.n > 3 && memcmp(word.at, "rel", 3) == 0 ? "; did you mean rel?"
                                                                       : "");
        TT_TRY(tt__read_number(r, to, number));
        if (*to < 0)
            return FAIL(r, number.at, "a tolerance is 0 or more");
    }
    return TT_OK;
}

tt_status tt__read_metric(tt__reader *r, tt__span rest) {
    tt__operation *operation = NULL;
    TT_TRY(own_operation(r, &operation));
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
    tt__operation *operation = NULL;
    TT_TRY(own_operation(r, &operation));
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

/* ---- The whole ----------------------------------------------------------------------------------------- */

static tt_status fail_operand(const tt__template *t, const tt__arg_expr *a) {
    size_t n = t->operation->n_operands;
    tt__suggest near = tt__suggest_for(a->value.text, strlen(a->value.text));
    for (size_t k = 0; k < n; k++) {
        if (t->operation->operands[k].direction == TT__CONSTANT &&
            strcmp(t->operation->operands[k].name, a->value.text) == 0)
            return tt__template_fail(t->path, a->value.line, a->value.column,
                                     "%s is a constant: the code knows it by its name, and it is no argument",
                                     a->value.text);
        tt__suggest_try(&near, t->operation->operands[k].name);
    }
    for (tt__type type = TT__TYPE_NONE + 1; type < TT__TYPE_COUNT; type++)
        if (tt__types[type].argument)
            tt__suggest_try(&near, tt__types[type].name);
    return tt__template_fail(t->path, a->value.line, a->value.column,
                             "found '%.60s', expected %s%s%s or a type and an expression%s", a->value.text,
                             n ? t->operation->operands[0].name : "", n > 1 ? ", " : "",
                             n > 1 ? t->operation->operands[1].name : "", tt__suggest_text(&near));
}

static tt_status find_operands(tt__template *t) {
    for (int i = 0; i < t->n_args; i++) {
        tt__arg_expr *a = &t->args[i];
        size_t k = 0, n = t->operation->n_operands;
        if (a->type != TT__TYPE_NONE)
            continue;
        while (k < n && strcmp(t->operation->operands[k].name, a->value.text) != 0)
            k++;
        if (k == n || t->operation->operands[k].direction == TT__CONSTANT)
            return fail_operand(t, a);
        a->operand = (int)k;
    }
    return TT_OK;
}

/* Case does not count: SQLite ignores it too. */
static tt_status check_name(const tt__template *t, const char *name, int line, int column) {
    for (size_t k = 0; k < t->operation->n_variables; k++)
        if (tt__same_letters(name, t->operation->variables[k].name))
            return tt__template_fail(t->path, line, column,
                                     "%s is a property of the problem, choose another name", name);
    return TT_OK;
}

static tt_status check_names(const tt__template *t) {
    for (size_t i = 0; i < t->n_params; i++)
        TT_TRY(check_name(t, t->params[i].name, t->params[i].line, t->params[i].column));
    for (size_t i = 0; i < t->n_derived; i++)
        TT_TRY(check_name(t, t->derived[i].name, t->derived[i].value.line, t->derived[i].column));
    return TT_OK;
}

static tt_status check_own(tt__template *t) {
    const tt__operation *operation = t->own;
    size_t n_results = 0, n_expected = 0;
    if (t->op[0])
        return tt__template_fail(
            t->path, t->op_line, t->op_column,
            "`op %s` says what is computed, and so do `problem`, `type`, `buffer`, `scalar`, "
            "`reference` and what goes with them: take away the one or the others",
            t->op);
    if (operation->n_operands == 0)
        return tt__fail(
            TT_E_TEMPLATE,
            "%s: no `buffer` annotation, expected a line: //@ buffer NAME TYPE LENGTH in|out|inout|scratch",
            t->path);
    for (size_t i = 0; i < operation->n_operands; i++) {
        const tt__operand *o = &operation->operands[i];
        bool result = !o->scalar && (o->direction == TT__OUT || o->direction == TT__INOUT);
        n_results += result;
        n_expected += result && o->expect[0];
    }
    for (int i = 0; i < t->n_passes && operation->has_reference; i++)
        if (strcmp(operation->reference.name[0], t->symbols.name[i]) == 0)
            return tt__template_fail(
                t->path, operation->launch.line, operation->launch.column,
                "%s is what is tuned, and cannot say itself what is right: a reference is another, "
                "plain kernel",
                t->symbols.name[i]);
    if (n_results == 0)
        return tt__fail(TT_E_TEMPLATE, "%s: no buffer is `out` or `inout`: nothing would come of it",
                        t->path);
    if (n_expected && !operation->has_reference && n_expected < n_results)
        return tt__fail(TT_E_TEMPLATE,
                        "%s: `expect` names what %zu of %zu result buffers must hold: name the others too, "
                        "or a `reference`",
                        t->path, n_expected, n_results);
    return TT_OK;
}

/* Constants behind everything that a launch is given, so that arguments count without gaps. */
static void move_constants(tt__operation *op) {
    for (size_t i = op->n_operands; i-- > 0;) {
        tt__operand constant = op->operands[i];
        if (constant.direction != TT__CONSTANT)
            continue;
        for (size_t k = i; k + 1 < op->n_operands; k++)
            op->operands[k] = op->operands[k + 1];
        op->operands[op->n_operands - 1] = constant;
        for (size_t k = 0; k < op->n_operands; k++)
            op->operands[k].from -= op->operands[k].from > (int)i;
    }
}

tt_status tt__operation_finish(tt__template *t) {
    if (t->own) {
        move_constants(t->own);
        TT_TRY(t->n_defines ? TT_OK : check_own(t));
        t->operation = t->own;
        if (!t->n_defines)
            tt__copy(t->op, sizeof t->op, t->kernel);
        const tt__operation *builtin;
        if (!t->n_defines && tt__operation_builtin(&builtin, t->op) == TT_OK)
            return tt__template_fail(t->path, t->passes[0].line, t->passes[0].column,
                                     "the kernel is called %s, as one of the library's own ops: rename it",
                                     t->op);
    } else {
        char why[256];
        if (tt__operation_builtin(&t->operation, t->op) == TT_E_INVALID) {
            tt__copy(why, sizeof why, tt_last_error());
            return tt__template_fail(t->path, t->op_line, t->op_column, "%s", why);
        }
        if (!t->operation)
            return TT_E_NO_MEMORY;
    }
    TT_TRY(check_names(t));
    return find_operands(t);
}
