/*
 * Reads the `//@` lines of operands: buffers, constants and scalars, and what they hold.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/model.h"
#include "base/str.h"
#include "kernel/annotation/reader.h"
#include "kernel/expression/scan.h"

#define SHOW TT__SHOW
#define FAIL TT__READ_FAIL

tt_status tt__take_lanes(tt__reader *r, tt__span *word, int *lanes) {
    enum { LANES_MAX = 4096 };
    size_t n = word->n;
    *lanes = 1;
    while (n > 0 && tt__is_digit(word->at[n - 1]))
        n--;
    if (n < 2 || n == word->n || word->at[n - 1] != 'x')
        return TT_OK;
    *lanes = word->n - n < 5 ? atoi(word->at + n) : 0;
    if (*lanes < 1 || *lanes > LANES_MAX)
        return FAIL(r, word->at + n, "%.*s of a type, expected 1 to %d", (int)(word->n - n), word->at + n,
                    LANES_MAX);
    word->n = n - 1;
    return TT_OK;
}

/* The type of an operand: a type's name, or a variable declared by `type`. */
static tt_status read_operand_type(tt__reader *r, tt__operand *o, tt__span word) {
    const tt__operation *operation = r->t->own;
    o->variable = -1;
    TT_TRY(tt__take_lanes(r, &word, &o->lanes));
    const tt__variable *v = tt__operation_variable(operation, word.at, word.n);
    if (!v || !v->n_types)
        return tt__read_type_name(r, &o->type, word);
    o->variable = (int)(v - operation->variables);
    o->type = v->types[0];
    return TT_OK;
}

static tt_status add_operand(tt__reader *r, tt__operand **out, tt__span *rest) {
    tt__operation *operation = r->t->own;
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

static const char *const inits[] = {"random", "uniform",     "normal", "zeros", "file",
                                    "sorted", "permutation", "index"}; /* in the order of tt__init */

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

tt_status tt__read_file_beside(tt__reader *r, char out[TT__FILE_MAX], tt__span word) {
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
static tt_status read_bound(tt__reader *r, tt__operand *o, int end, tt__span word) {
    double *to = end ? &o->high : &o->low;
    const char first = word.n == 0 ? '\0' : word.at[word.n > 1 && *word.at == '-'];
    if ((tt__is_word_char(first) && (first < '0' || first > '9')) ||
        (word.n && strcspn(word.at, "+*/%(") < word.n))
        return tt__read_expr(r, &o->bounds[end], word);
    TT_TRY(tt__read_number(r, to, word));
    return check_fits(r, o, word, *to);
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
    while (k < TT__COUNT(inits) && !tt__span_is(word, inits[k]))
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
                        "found '%.*s', expected random, uniform, normal, zeros, file, sorted, permutation, "
                        "index or a buffer above%s",
                        SHOW(word), tt__suggest_text(&near));
    }
    if (k == TT__INIT_INDEX) {
        TT_TRY(tt__read_expr(r, &o->index, data));
        data.n = 0;
    }
    if (k == TT__INIT_FILE)
        TT_TRY(tt__read_file_beside(r, o->file, tt__take_word(&data)));
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

tt_status tt__read_buffer(tt__reader *r, tt__span rest) {
    tt__operand *o;
    tt__span length;
    TT_TRY(add_operand(r, &o, &rest));
    size_t direction = tt__take_until(&length, &rest, tt__directions, TT__SCRATCH + 1);
    if (direction > TT__SCRATCH)
        return no_direction(r, o, length);
    o->direction = (tt__direction)direction;
    tt__take_word(&rest);
    TT_TRY(tt__read_expr(r, &o->count, length));
    return read_data(r, o, rest);
}

tt_status tt__read_constant(tt__reader *r, tt__span rest) {
    tt__operand *o;
    tt__span length;
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

tt_status tt__read_scalar(tt__reader *r, tt__span rest) {
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
    TT_TRY(tt__read_number(r, &o->low, rest));
    return check_fits(r, o, rest, o->low);
}
