/*
 * The keywords of an operation: variables, what is known of problems, operands and their data, what is right.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/model.h"
#include "base/str.h"
#include "kernel/annotation/annotation.h"
#include "kernel/expression/scan.h"

#define SHOW TT__SHOW
#define FAIL TT__READ_FAIL

/* ---- The problem --------------------------------------------------------------------------------------- */

/* Recordings use these names for a problem's own fields. */
static const char *const reserved[] = {"op", "text", "warm", "in_graph", "unverified", "moved_bytes"};

static tt_status add_variable(tt__reader *r, tt__variable **out, tt__slice *rest) {
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

static tt_status read_problem(tt__reader *r, tt__slice rest) {
    tt__variable *v = NULL;
    TT_TRY(add_variable(r, &v, &rest));
    if (rest.n == 0 && r->t->n_defines) /* then every problem must give it */
        return TT_OK;
    if (rest.n == 0)
        return FAIL(r, rest.at, "%s has no default, expected: problem NAME VALUE", v->name);
    static const char *const words[] = {"from"};
    tt__slice value;
    if (tt__take_until(&value, &rest, words, 1) == 0) {
        tt__take_word(&rest);
        v->least = rest.n && tt__is_integer(rest.at, rest.n) ? atoi(rest.at) : 1;
        if (v->least > 0 || v->least < TT__NUMBER_LEAST)
            return FAIL(r, rest.at, "%s is to start at '%.*s', expected 0 or -1 (else it starts at 1)",
                        v->name, SHOW(rest));
    } else if (tt__slice_is(value, "0") || tt__slice_is(value, "-1")) {
        v->least = TT__NUMBER_LEAST;
    }
    return tt__read_expr(r, &v->value, value);
}

/* Only the library's own files may use `elem`, because no arithmetic is possible with it. */
static tt_status read_type_name(tt__reader *r, tt__type *out, tt__slice word) {
    *out = tt__type_named(word.at, word.n);
    if (*out && (*out != TT__TYPE_ELEM || r->t->n_defines))
        return TT_OK;
    tt__suggest near = tt__suggest_for(word.at, word.n);
    const tt__operation *operation = r->t->own;
    char meant[TT__TYPE_TEXT_MAX];
    const size_t stars = word.n > 1 && word.at[word.n - 1] == '*'; /* of float*, as the kernel has it */
    const bool means = tt__type_meant(meant, word.at, word.n - stars);
    for (size_t i = 0; i < operation->n_variables; i++)
        if (operation->variables[i].n_types)
            tt__suggest_try(&near, operation->variables[i].name);
    for (tt__type t = TT__TYPE_NONE + 1; t < TT__TYPE_ELEM; t++)
        tt__suggest_try(&near, tt__types[t].name);
    return FAIL(
        r, word.at,
        "found '%.*s', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 e5m2%s%s%s",
        SHOW(word), means ? "; did you mean " : tt__suggest_text(&near), means ? meant : "",
        means ? "?" : "");
}

static tt_status read_type(tt__reader *r, tt__slice rest) {
    tt__variable *v = NULL;
    TT_TRY(add_variable(r, &v, &rest));
    if (rest.n == 0)
        return FAIL(r, rest.at, "%s has no types, expected: type NAME TYPE ...", v->name);
    while (rest.n > 0) {
        tt__slice word = tt__take_word(&rest);
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

/* ---- What is known of problems ------------------------------------------------------------------------- */

/* Finds a variable that was declared above. */
static tt_status find_variable(tt__reader *r, int *out, tt__slice word) {
    const tt__operation *op = r->t->own;
    tt__suggest near = tt__suggest_for(word.at, word.n);
    for (size_t i = 0; i < op->n_variables; i++) {
        *out = (int)i;
        if (tt__slice_is(word, op->variables[i].name))
            return TT_OK;
        tt__suggest_try(&near, op->variables[i].name);
    }
    return FAIL(r, word.at, "found '%.*s', expected a variable of the problem declared above%s", SHOW(word),
                tt__suggest_text(&near));
}

/* Finds a variable that is a number, not a type. */
static tt_status find_number(tt__reader *r, int *out, tt__slice word) {
    TT_TRY(find_variable(r, out, word));
    if (r->t->own->variables[*out].n_types)
        return FAIL(r, word.at, "%.*s is a type, expected a number", SHOW(word));
    return TT_OK;
}

static tt_status read_require(tt__reader *r, tt__slice rest) {
    tt__operation *op = r->t->own;
    if (op->n_requires == TT__COUNT(op->requires))
        return FAIL(r, rest.at, "more than %zu `require` lines: join them with AND", TT__COUNT(op->requires));
    return tt__read_expr(r, &op->requires[op->n_requires++], rest);
}

static tt_status read_shape(tt__reader *r, tt__slice rest) {
    tt__operation *op = r->t->own;
    while (rest.n > 0) {
        tt__slice word = tt__take_word(&rest);
        if (op->n_shape == TT__COUNT(op->shape))
            return FAIL(r, word.at, "more than %zu variables", TT__COUNT(op->shape));
        TT_TRY(find_number(r, &op->shape[op->n_shape], word));
        op->n_shape++;
    }
    return TT_OK;
}

/* Reads a number that must fill the span. */
static tt_status read_number(tt__reader *r, double *out, tt__slice s) {
    char text[40], *end = text;
    if (s.n > 0 && s.n < sizeof text) {
        tt__copy(text, s.n + 1, s.at);
        *out = tt__strtod(text, &end);
    }
    return end > text && *end == '\0' && *out - *out == 0
               ? TT_OK
               : FAIL(r, s.at, "found '%.*s', expected a number", SHOW(s));
}

static tt_status read_near(tt__reader *r, tt__slice rest) {
    int i;
    TT_TRY(find_variable(r, &i, tt__take_word(&rest)));
    tt__slice weight = tt__take_word(&rest);
    tt__variable *v = &r->t->own->variables[i];
    TT_TRY(read_number(r, &v->weight, weight));
    if (!(v->weight >= 0 && v->weight <= 100))
        return FAIL(r, weight.at, "a weight of %g, expected 0 to 100", v->weight);
    v->same = tt__slice_is(rest, "same");
    return v->same || rest.n == 0 ? TT_OK : FAIL(r, rest.at, "found '%.*s', expected: same", SHOW(rest));
}

static tt_status read_batch(tt__reader *r, tt__slice rest) {
    int i;
    TT_TRY(find_number(r, &i, rest));
    tt__copy(r->t->own->batch, sizeof r->t->own->batch, r->t->own->variables[i].name);
    return TT_OK;
}

static tt_status read_macros(tt__reader *r, tt__slice rest) {
    r->t->own->macros = true;
    return tt__slice_is(rest, "variables")
               ? TT_OK
               : FAIL(r, rest.at, "found '%.*s', expected: variables", SHOW(rest));
}

static tt_status read_moves(tt__reader *r, tt__slice rest) {
    tt__operation *op = r->t->own;
    tt__slice item;
    const char *at = rest.at;
    op->moves = true;
    if (tt__slice_is(rest, "bytes"))
        return TT_OK;
    for (int i = 0; i < 3; i++) {
        if (!tt__take_item(&item, &rest))
            return FAIL(r, at, "expected: bytes, or ROWS, COLUMNS, LEADING_DIMENSION");
        TT_TRY(find_number(r, &op->tile[i], item));
    }
    rest = tt__trim(rest);
    return rest.n ? FAIL(r, rest.at, "found '%.*s' behind the end of the line's meaning", SHOW(rest)) : TT_OK;
}

static tt_status read_sample(tt__reader *r, tt__slice rest) {
    tt__operation *op = r->t->own;
    if (op->n_samples == TT__COUNT(op->samples))
        return FAIL(r, rest.at, "more than %zu samples", TT__COUNT(op->samples));
    return tt__read_expr(r, &op->samples[op->n_samples++], rest);
}

static tt_status read_prefer(tt__reader *r, tt__slice rest) {
    return tt__read_expr(r, &r->t->own->prefer, rest);
}

/* ---- What is right, and what counts -------------------------------------------------------------------- */

/* A kernel that is launched beside those that are tuned. The keyword is its role. */
static tt_status read_aside(tt__reader *r, tt__slice rest) {
    char name[TT__NAME_MAX];
    size_t role = 0;
    while (strcmp(r->keyword, tt__roles[role]) != 0)
        role++;
    tt__aside *a = &r->t->own->asides[role];
    const bool by_default = role == TT__REFERENCE && tt__slice_is(rest, "default");
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
static tt_status read_per(tt__reader *r, tt__slice rest) {
    if (!tt__slice_is(rest, "configuration"))
        return FAIL(r, rest.at, "found '%.*s', expected: per configuration", SHOW(rest));
    const tt__geometry_expr *first = r->t->own->asides[TT__REFERENCE].launches,
                            *data = r->t->own->asides[TT__DATA].launches;
    if (r->t->own->by_default)
        return FAIL(r, rest.at,
                    "`per configuration` needs a kernel as reference, which gets the parameters: the one of "
                    "`reference default` is the same for all");
    if (r->launch < first || r->launch >= first + TT__PASSES_MAX)
        return FAIL(r, rest.at, "`per configuration` belongs below a `reference`%s",
                    r->launch >= data && r->launch < data + TT__PASSES_MAX
                        ? ": `data` is made once, with the default configuration"
                        : "");
    r->t->own->per_config = true;
    return TT_OK;
}

static tt_status read_limit(tt__reader *r, tt__slice rest) {
    if (r->launch != &r->t->own->asides[TT__VERIFY].launches[0])
        return FAIL(r, rest.at, "`limit` belongs below a `verify`, whose error it limits");
    TT_TRY(read_number(r, &r->t->own->limit, rest));
    return r->t->own->limit >= 0 ? TT_OK : FAIL(r, rest.at, "a limit is 0 or more");
}

/* The name of a file that lies beside the template. */
static tt_status read_file_beside(tt__reader *r, char out[TT__FILE_MAX], tt__slice word) {
    if (word.n == 0 || word.n >= TT__FILE_MAX || memchr(word.at, '/', word.n) || *word.at == '.')
        return FAIL(r, word.at, "found '%.*s', expected the name of a file that lies beside this one",
                    SHOW(word));
    tt__copy(out, word.n + 1, word.at);
    return TT_OK;
}

static tt_status read_expect(tt__reader *r, tt__slice rest) {
    tt__operation *operation = r->t->own;
    tt__slice name = tt__take_word(&rest);
    tt__suggest near = tt__suggest_for(name.at, name.n);
    for (size_t i = 0; i < operation->n_operands; i++) {
        tt__operand *o = &operation->operands[i];
        if (o->scalar || (o->direction != TT__OUT && o->direction != TT__INOUT))
            continue;
        tt__suggest_try(&near, o->name);
        if (tt__slice_is(name, o->name))
            return o->expect[0] ? FAIL(r, name.at, "a second `expect` of %s", o->name)
                                : read_file_beside(r, o->expect, rest);
    }
    return FAIL(r, name.at, "found '%.*s', expected an `out` or `inout` buffer above%s", SHOW(name),
                tt__suggest_text(&near));
}

/* Those of the buffer that the line begins with, or of the operation. */
static tt_status take_tolerance(tt__reader *r, tt__tolerance **out, tt__slice *rest) {
    tt__operation *operation = r->t->own;
    tt__slice after = *rest, name = tt__take_word(&after);
    *out = &operation->tolerance;
    for (size_t i = 0; i < operation->n_operands; i++) {
        tt__operand *o = &operation->operands[i];
        if (!tt__slice_is(name, o->name))
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

static tt_status read_tolerance(tt__reader *r, tt__slice rest) {
    tt__tolerance *t;
    TT_TRY(take_tolerance(r, &t, &rest));
    if (tt__slice_is(rest, "exact"))
        return TT_OK;
    do {
        tt__slice word = tt__take_word(&rest), number = tt__take_word(&rest);
        double *to = tt__slice_is(word, "abs")     ? &t->abs
                     : tt__slice_is(word, "rel")   ? &t->rel
                     : tt__slice_is(word, "scale") ? &t->scale
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
        TT_TRY(read_number(r, to, number));
        if (*to < 0)
            return FAIL(r, number.at, "a tolerance is 0 or more");
        if (to == &t->scale && *to >= 0.5)
            return FAIL(r, number.at, "with a scale of %g wrong results would pass, expected less than 0.5",
                        *to);
    } while (rest.n > 0);
    return TT_OK;
}

static tt_status read_metric(tt__reader *r, tt__slice rest) {
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

static tt_status read_objective(tt__reader *r, tt__slice rest) {
    tt__operation *operation = r->t->own;
    tt__slice word = tt__take_word(&rest);
    operation->maximize = tt__slice_is(word, "maximize");
    if (!operation->maximize && !tt__slice_is(word, "minimize"))
        return FAIL(r, word.at, "found '%.*s', expected minimize or maximize%s", SHOW(word),
                    word.n > 2 && memcmp(word.at, "ma", 2) == 0   ? "; did you mean maximize?"
                    : word.n > 2 && memcmp(word.at, "mi", 2) == 0 ? "; did you mean minimize?"
                                                                  : "");
    tt__suggest near = tt__suggest_for(rest.at, rest.n);
    for (size_t i = 0; i < operation->n_metrics; i++) {
        tt__suggest_try(&near, operation->metrics[i].name);
        if (tt__slice_is(rest, operation->metrics[i].name)) {
            operation->objective = (int)i;
            return TT_OK;
        }
    }
    if (tt__slice_is(rest, "time") && !operation->maximize)
        return TT_OK;
    return FAIL(r, rest.at, "found '%.*s', expected the name of a `metric` above, or minimize time%s",
                SHOW(rest), tt__suggest_text(&near));
}

/* ---- Operands and what they hold ----------------------------------------------------------------------- */

/* The type of an operand: a type's name, or a variable declared by `type`. */
static tt_status read_operand_type(tt__reader *r, tt__operand *o, tt__slice word) {
    const tt__operation *operation = r->t->own;
    o->variable = -1;
    TT_TRY(tt__take_lanes(r, &word, &o->lanes));
    const tt__variable *v = tt__operation_variable(operation, word.at, word.n);
    if (!v || !v->n_types)
        return read_type_name(r, &o->type, word);
    o->variable = (int)(v - operation->variables);
    o->type = v->types[0];
    return TT_OK;
}

static tt_status add_operand(tt__reader *r, tt__operand **out, tt__slice *rest) {
    tt__operation *operation = r->t->own;
    if (operation->n_operands == TT__OPERANDS_MAX)
        return FAIL(r, rest->at, "more than %d buffers and scalars", TT__OPERANDS_MAX);
    tt__operand *o = *out = &operation->operands[operation->n_operands];
    TT_TRY(tt__read_new_name(r, o->name, sizeof o->name, *rest));
    if (tt__type_named(o->name, strlen(o->name)))
        return FAIL(r, rest->at, "%s is a type, choose another name", o->name);
    tt__take_word(rest);
    tt__slice type = tt__take_type(rest);
    TT_TRY(read_operand_type(r, o, type));
    operation->n_operands++;
    return TT_OK;
}

static const char *const inits[] = {"random", "uniform",     "normal", "zeros", "file",
                                    "sorted", "permutation", "index"}; /* in the order of tt__init */

/* The message for a missing direction. It may be misspelt. */
static tt_status no_direction(tt__reader *r, const tt__operand *o, tt__slice rest) {
    const char *meant = "";
    tt__suggest near;
    for (tt__slice left = rest; left.n > 0;) {
        tt__slice word = tt__take_word(&left);
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

/* The number must fit every type that the operand can have. Otherwise it would be rounded silently. */
static tt_status check_fits(tt__reader *r, const tt__operand *o, tt__slice number, double value) {
    const tt__variable *v = o->variable < 0 ? NULL : &r->t->own->variables[o->variable];
    for (size_t i = 0; i < (v ? v->n_types : 1); i++) {
        tt__type type = v ? v->types[i] : o->type;
        const tt__type_info *info = &tt__types[type];
        double least, most;
        tt__type_range(&least, &most, type);
        if (!info->floating) { /* a double represents these exactly */
            most = fmin(most, 0x1p53 - 1);
            least = fmax(least, -0x1p53 + 1);
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

/* A number, or an expression of the problem, without blanks. */
static tt_status read_bound(tt__reader *r, tt__operand *o, int end, tt__slice word) {
    double *to = end ? &o->high : &o->low;
    const char first = word.n == 0 ? '\0' : word.at[word.n > 1 && *word.at == '-'];
    if ((tt__is_word_char(first) && (first < '0' || first > '9')) ||
        (word.n && strcspn(word.at, "+*/%(") < word.n))
        return tt__read_expr(r, &o->bounds[end], word);
    TT_TRY(read_number(r, to, word));
    return check_fits(r, o, word, *to);
}

static tt_status read_data(tt__reader *r, tt__operand *o, tt__slice data) {
    const tt__operation *operation = r->t->own;
    bool floating = tt__types[o->type].floating;
    o->init = floating ? TT__INIT_UNIFORM : TT__INIT_RANDOM;
    o->usual_init = data.n == 0; /* the default depends on which type is chosen */
    o->high = 1;
    if (data.n == 0)
        return TT_OK;
    tt__slice word = tt__take_word(&data);
    if (o->direction == TT__OUT || o->direction == TT__SCRATCH)
        return FAIL(r, word.at, "found '%.*s', but what a buffer for `%s` holds before is of no account%s",
                    SHOW(word), tt__directions[o->direction],
                    o->direction == TT__OUT ? ": say inout if the kernel adds to it" : "");
    size_t k = 0;
    tt__suggest near = tt__suggest_for(word.at, word.n);
    while (k < TT__COUNT(inits) && !tt__slice_is(word, inits[k]))
        tt__suggest_try(&near, inits[k++]);
    o->init = (tt__init)k;
    if (k == TT__INIT_COPY) {
        o->from = -1;
        for (size_t i = 0; i + 1 < operation->n_operands; i++) {
            if (operation->operands[i].scalar || operation->operands[i].direction == TT__CONSTANT)
                continue;
            tt__suggest_try(&near, operation->operands[i].name);
            if (tt__slice_is(word, operation->operands[i].name))
                o->from = (int)i;
        }
        if (o->from < 0)
            return FAIL(r, word.at,
                        "found '%.*s', expected random, uniform, normal, zeros, file, sorted, permutation, "
                        "index or a buffer above%s",
                        SHOW(word), tt__suggest_text(&near));
    }
    if (k == TT__INIT_INDEX) {
        TT_TRY(tt__read_expr(r, &o->index, data));
        data.n = 0;
    }
    if (k == TT__INIT_FILE)
        TT_TRY(read_file_beside(r, o->file, tt__take_word(&data)));
    const char *low = data.at + strspn(data.at, " \t");
    o->usual_bounds = data.n == 0;
    if ((k == TT__INIT_UNIFORM || k == TT__INIT_SORTED) && data.n > 0)
        for (int end = 0; end < 2; end++)
            TT_TRY(read_bound(r, o, end, tt__take_word(&data)));
    if (o->low > o->high && !o->bounds[0].text && !o->bounds[1].text)
        return FAIL(r, low, "the lower end %g is above the upper end %g", o->low, o->high);
    if (k == TT__INIT_PERMUTATION && floating)
        return FAIL(r, word.at, "permutation needs a type of whole numbers, and %s is none",
                    tt__types[o->type].name);
    if ((k == TT__INIT_UNIFORM || k == TT__INIT_NORMAL || k >= TT__INIT_SORTED) && k != TT__INIT_COPY &&
        o->type == TT__TYPE_ELEM)
        return FAIL(r, word.at, "%s needs a type of numbers, and elem is none", inits[k]);
    if (k == TT__INIT_NORMAL && !floating)
        return FAIL(r, word.at, "normal needs a floating-point type, and %s is none",
                    tt__types[o->type].name);
    return data.n ? FAIL(r, data.at, "found '%.*s' behind the end of the line's meaning", SHOW(data)) : TT_OK;
}

static tt_status read_buffer(tt__reader *r, tt__slice rest) {
    tt__operand *o;
    tt__slice length;
    TT_TRY(add_operand(r, &o, &rest));
    size_t direction = tt__take_until(&length, &rest, tt__directions, TT__SCRATCH + 1);
    if (direction > TT__SCRATCH)
        return no_direction(r, o, length);
    o->direction = (tt__direction)direction;
    tt__take_word(&rest);
    if (length.n == 0)
        return FAIL(
            r, length.at,
            "%s has no length in front of `%s`, expected: buffer NAME TYPE LENGTH in|out|inout|scratch",
            o->name, tt__directions[direction]);
    TT_TRY(tt__read_expr(r, &o->count, length));
    return read_data(r, o, rest);
}

static tt_status read_constant(tt__reader *r, tt__slice rest) {
    tt__operand *o;
    tt__slice length;
    TT_TRY(add_operand(r, &o, &rest));
    o->direction = TT__CONSTANT;
    const tt__operation *operation = r->t->own;
    const char *words[TT__COUNT(inits) + TT__OPERANDS_MAX];
    size_t n = 0;
    for (; n < TT__COUNT(inits); n++)
        words[n] = inits[n];
    for (size_t i = 0; i + 1 < operation->n_operands; i++)
        words[n++] = operation->operands[i].name;
    tt__take_until(&length, &rest, words, n);
    TT_TRY(tt__read_expr(r, &o->count, length));
    return read_data(r, o, rest);
}

static tt_status read_scalar(tt__reader *r, tt__slice rest) {
    tt__operand *o;
    TT_TRY(add_operand(r, &o, &rest));
    o->scalar = true;
    o->direction = TT__SCALAR;
    const tt__variable *v = o->variable < 0 ? NULL : &r->t->own->variables[o->variable];
    for (size_t i = 0; i < (v ? v->n_types : 1); i++)
        if (!tt__types[v ? v->types[i] : o->type].argument)
            return FAIL(r, rest.at, "%s is a type of buffers, and no scalar has it",
                        tt__types[v ? v->types[i] : o->type].name);
    if (o->lanes > 1)
        return FAIL(r, rest.at,
                    "a scalar is one number: give what has several as a buffer or constant, or in `args`, "
                    "as in f32x3 (1, 2, 3)");
    TT_TRY(read_number(r, &o->low, rest));
    return check_fits(r, o, rest, o->low);
}

/* ---- The table ----------------------------------------------------------------------------------------- */

static tt_status read_defines(tt__reader *r, tt__slice rest) {
    tt__template *t = r->t;
    for (; rest.n > 0 && t->n_defines < TT__COUNT(t->defines); t->n_defines++) {
        tt__slice word = tt__take_word(&rest);
        TT_TRY(tt__template_keep(t, &t->defines[t->n_defines], word.at, word.n));
    }
    return rest.n ? FAIL(r, rest.at, "more than %zu names", TT__COUNT(t->defines)) : TT_OK;
}

const tt__keyword tt__operation_keywords[] = {
    {"problem", read_problem, TT__OFTEN, TT__DECLARES, "problem NAME VALUE"},
    {"type", read_type, TT__OFTEN, TT__DECLARES, "type NAME TYPE ..."},
    {"buffer", read_buffer, TT__OFTEN, TT__DECLARES, "buffer NAME TYPE LENGTH in|out|inout|scratch [DATA]"},
    {"constant", read_constant, TT__OFTEN, TT__DECLARES, "constant NAME TYPE LENGTH [DATA]"},
    {"scalar", read_scalar, TT__OFTEN, TT__DECLARES, "scalar NAME TYPE VALUE"},
    {"reference", read_aside, TT__OFTEN, TT__DECLARES, "reference KERNEL | reference default"},
    {"verify", read_aside, TT__ONCE, TT__DECLARES, "verify KERNEL"},
    {"data", read_aside, TT__OFTEN, TT__DECLARES, "data KERNEL"},
    {"per", read_per, TT__ONCE, TT__DECLARES, "per configuration"},
    {"limit", read_limit, TT__ONCE, TT__DECLARES, "limit NUMBER"},
    {"expect", read_expect, TT__OFTEN, TT__DECLARES, "expect BUFFER FILE"},
    {"tolerance", read_tolerance, TT__OFTEN, TT__DECLARES,
     "tolerance [BUFFER] abs NUMBER rel NUMBER scale NUMBER"},
    {"metric", read_metric, TT__OFTEN, TT__DECLARES, "metric NAME EXPRESSION"},
    {"objective", read_objective, TT__ONCE, TT__DECLARES, "objective minimize|maximize METRIC"},
    {"require", read_require, TT__OFTEN, TT__DECLARES, "require EXPRESSION"},
    {"macros", read_macros, TT__ONCE, TT__DECLARES, "macros variables"},
    {"shape", read_shape, TT__ONCE, TT__DECLARES, "shape VARIABLE ..."},
    {"near", read_near, TT__OFTEN, TT__DECLARES, "near VARIABLE WEIGHT [same]"},
    {"batch", read_batch, TT__ONCE, TT__DECLARES, "batch VARIABLE"},
    {"moves", read_moves, TT__ONCE, TT__DECLARES, "moves bytes | moves ROWS, COLUMNS, LEADING_DIMENSION"},
    {"sample", read_sample, TT__OFTEN, TT__DECLARES, "sample VARIABLE=VALUE ..."},
    {"prefer", read_prefer, TT__ONCE, TT__DECLARES, "prefer TEMPLATE ..."},
    {"defines", read_defines, TT__ONCE, TT__OPTIONAL, "defines OPERATION ..."},
};
const size_t tt__n_operation_keywords = TT__COUNT(tt__operation_keywords);
_Static_assert(TT__COUNT(tt__operation_keywords) <= TT__KEYWORDS_MAX, "see seen in annotation.c");
