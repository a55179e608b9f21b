/*
 * Reads the `//@` lines of a launch: its geometry, how often it runs, and its arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "kernel/annotation/reader.h"
#include "kernel/expression/scan.h"

#define SHOW TT__SHOW
#define FAIL TT__READ_FAIL

/* `block`, `grid` and `cluster`. */
tt_status tt__read_dims(tt__reader *r, tt__span rest) {
    tt__expr *dims = strcmp(r->keyword, "block") == 0  ? r->launch->block
                     : strcmp(r->keyword, "grid") == 0 ? r->launch->grid
                                                       : r->launch->cluster;
    tt__span item;
    for (int n = 0; tt__take_item(&item, &rest); n++) {
        if (n == 3)
            return FAIL(r, item.at, "`%s` has more than 3 dimensions", r->keyword);
        TT_TRY(tt__read_expr(r, &dims[n], item));
    }
    return TT_OK;
}

tt_status tt__read_shared(tt__reader *r, tt__span rest) {
    return tt__read_expr(r, &r->launch->shared, rest);
}

/* Arguments so far of all kernels of this role. One launch holds them all. */
static int n_args_of(const tt__reader *r) {
    const tt__geometry_expr *launches = r->t->passes;
    for (int role = 0; r->t->own && role < TT__ROLE_COUNT; role++) {
        const tt__geometry_expr *of_role = r->t->own->asides[role].launches;
        if (r->launch >= of_role && r->launch < of_role + TT__PASSES_MAX)
            launches = of_role;
    }
    int n = 0;
    for (int i = 0; i < TT__PASSES_MAX; i++)
        n += launches[i].n_args;
    return n;
}

/* Takes the suffix of a number off, as in 3ull: true if all of its letters are in `letters`. */
static bool take_suffix(tt__span *word, const char *letters, int *of_u, int *of_l) {
    *of_u = *of_l = 0;
    while (word->n > 1 && strchr(letters, word->at[word->n - 1])) {
        const char last = (char)(word->at[--word->n] | 32);
        *of_u += last == 'u';
        *of_l += last == 'l';
    }
    return *of_u <= 1 && *of_l <= 2;
}

/* 0x10, within 64 bits. */
static bool is_hexadecimal(tt__span w) {
    if (w.n < 3 || w.n > 18 || w.at[0] != '0' || (w.at[1] | 32) != 'x')
        return false;
    for (size_t i = 2; i < w.n; i++)
        if (!strchr("0123456789abcdefABCDEF", w.at[i]))
            return false;
    return w.n < 18 || strchr("01234567", w.at[2]); /* expressions have signed numbers */
}

/* The type that C++ gives a literal; TT__TYPE_NONE: it is none. Takes off the u of 3u and the f of 0.5f. */
static tt__type literal_type(tt__span *word) {
    static const tt__span null = {"0", 1};
    tt__span w = *word, digits = w;
    int of_u, of_l;
    if (tt__span_is(w, "true") || tt__span_is(w, "false"))
        return TT__TYPE_BOOL;
    if (tt__span_is(w, "nullptr") || tt__span_is(w, "NULL")) {
        *word = null;
        return TT__TYPE_U64;
    }
    const bool suffix = take_suffix(&digits, "uUlL", &of_u, &of_l);
    const bool hexadecimal = is_hexadecimal(digits);
    if (suffix && (hexadecimal || tt__is_integer(digits.at, digits.n))) {
        const long long value = strtoll(w.at, NULL, hexadecimal ? 16 : 10); /* ends at the suffix */
        *word = digits;
        if (of_u || (hexadecimal && value > INT32_MAX && value <= UINT32_MAX && !of_l))
            return value <= UINT32_MAX && !of_l ? TT__TYPE_U32 : TT__TYPE_U64;
        return value >= INT32_MIN && value <= INT32_MAX && !of_l ? TT__TYPE_I32 : TT__TYPE_I64;
    }
    const bool single = w.n > 1 && (w.at[w.n - 1] | 32) == 'f';
    if (!tt__is_real(w.at, w.n - single))
        return TT__TYPE_NONE;
    word->n -= single;
    return single ? TT__TYPE_F32 : TT__TYPE_F64;
}

/* One number of a struct, or as many as a vector has. CUDA's vectors of two and four are aligned as a whole.
 */
static tt_status add_field(tt__reader *r, tt__arg_expr *arg, tt__type type, int lanes, int of_vector,
                           tt__span value) {
    enum { ALIGN_MAX = 16 };
    tt__template *t = r->t;
    if (t->n_fields == TT__FIELDS_MAX)
        return FAIL(r, value.at, "more than %d numbers in structs", TT__FIELDS_MAX);
    tt__struct_member *f = &t->fields[t->n_fields];
    const int size = tt__types[type].size, whole = size * of_vector;
    *f = (tt__struct_member){.type = type, .lanes = lanes, .align = size};
    if (of_vector == 2 || of_vector == 4)
        f->align = whole < ALIGN_MAX ? whole : ALIGN_MAX;
    TT_TRY(tt__read_expr(r, &f->value, value));
    t->n_fields++;
    arg->n_fields++;
    return TT_OK;
}

/* Is it a list in parentheses? What is between them. */
static bool take_list(tt__span *s) {
    int depth = 0;
    for (size_t i = 0; i < s->n; i++) {
        depth += (s->at[i] == '(') - (s->at[i] == ')');
        if (depth == 0 && i + 1 < s->n)
            return false;
    }
    if (s->n < 2 || *s->at != '(' || depth != 0)
        return false;
    *s = tt__trim((tt__span){s->at + 1, s->n - 2});
    return true;
}

/* A vector: a number for all of its lanes, or one for each in parentheses. */
static tt_status read_vector(tt__reader *r, tt__arg_expr *arg, tt__type type, int lanes, tt__span rest) {
    tt__span list = rest, item, left;
    int n = 0;
    if (take_list(&list)) {
        for (left = list; tt__take_item(&item, &left);)
            n++;
        if (n > 1 && n != lanes)
            return FAIL(r, rest.at, "%d values, expected 1 or %d", n, lanes);
    }
    if (n <= 1)
        return add_field(r, arg, type, lanes, lanes, rest);
    left = list;
    for (int k = 0; tt__take_item(&item, &left); k++)
        TT_TRY(add_field(r, arg, type, 1, k ? 1 : lanes, item));
    return TT_OK;
}

/* struct (TYPE VALUE, ...) */
static tt_status read_struct(tt__reader *r, tt__arg_expr *arg, tt__span rest) {
    tt__span item;
    if (!take_list(&rest))
        return FAIL(r, rest.at, "found '%.*s', expected: struct (TYPE VALUE, ...)", SHOW(rest));
    while (tt__take_item(&item, &rest)) {
        int lanes;
        tt__span value = item, word = tt__take_word(&value);
        TT_TRY(tt__take_lanes(r, &word, &lanes));
        const tt__type type = tt__type_named(word.at, word.n);
        if (!type && value.n == 0 && lanes == 1 && tt__is_word(word.at, word.n)) {
            TT_TRY(add_field(r, arg, TT__TYPE_NONE, 1, 1, word)); /* an operand: it is looked up at the end */
            continue;
        }
        if (!type || !tt__types[type].argument || value.n == 0)
            return FAIL(
                r, item.at,
                "found '%.*s' in a struct, expected a type and a value, as in i32 n, or the name of a "
                "buffer or scalar",
                SHOW(item));
        TT_TRY(read_vector(r, arg, type, lanes, value));
    }
    return TT_OK;
}

/* One item of `args`: a type and an expression, or an operand's name. Operands are looked up at the end. */
static tt_status read_arg(tt__reader *r, tt__span item) {
    tt__template *t = r->t;
    tt__arg_expr *arg = &t->args[t->n_args];
    if (item.n == 0)
        return FAIL(r, item.at, "`args` has an empty item");
    if (n_args_of(r) == TT__ARGS_MAX)
        return FAIL(r, item.at, "more than %d arguments%s", TT__ARGS_MAX,
                    t->n_passes > 1 ? " of all kernels together" : "");
    tt__span rest = item, word = tt__take_word(&rest);
    int lanes = 1;
    *arg = (tt__arg_expr){.first_field = t->n_fields};
    if (rest.n > 0)
        TT_TRY(tt__take_lanes(r, &word, &lanes));
    arg->type = tt__type_named(word.at, word.n);
    if (arg->type && !tt__types[arg->type].argument)
        return FAIL(r, word.at, "%.*s is a type of buffers, and no argument has it", SHOW(word));
    if (!arg->type && rest.n == 0 && (arg->type = literal_type(&word)) != TT__TYPE_NONE)
        rest = word;
    if (arg->type && lanes > 1) {
        TT_TRY(read_vector(r, arg, arg->type, lanes, rest));
        arg->by_value = true;
    }
    if (!arg->type && tt__span_is(word, "struct")) {
        const bool sizes = tt__span_is(rest, "permute_any");
        TT_TRY(sizes ? TT_OK : read_struct(r, arg, rest));
        arg->type = TT__TYPE_U8;
        arg->by_value = true;
        t->sized_by_args |= sizes;
    }
    if (!arg->type && rest.n > 0 && tt__is_word(word.at, word.n)) {
        tt__suggest near = tt__suggest_for(word.at, word.n);
        const char *meant = tt__type_meant(word);
        if (meant)
            return FAIL(r, word.at, "%.*s is a type of C++: write %s %.*s", SHOW(word), meant, SHOW(rest));
        for (tt__type k = TT__TYPE_NONE + 1; k < TT__TYPE_COUNT; k++)
            if (tt__types[k].argument)
                tt__suggest_try(&near, tt__types[k].name);
        return FAIL(r, rest.at, "found '%.*s' after %.*s, expected ','%s", SHOW(rest), SHOW(word),
                    tt__suggest_text(&near));
    }
    if (!arg->type && !tt__is_word(word.at, word.n))
        return FAIL(r, word.at, "found '%.*s', expected an operand's name, or a type and an expression",
                    SHOW(word));
    if (!arg->by_value)
        TT_TRY(tt__read_expr(r, &arg->value, arg->type ? rest : word));
    t->n_args++;
    r->launch->n_args++;
    return TT_OK;
}

tt_status tt__read_args(tt__reader *r, tt__span rest) {
    tt__span item;
    r->launch->first_arg = r->t->n_args;
    while (tt__take_item(&item, &rest))
        TT_TRY(read_arg(r, item));
    return TT_OK;
}

tt_status tt__read_when(tt__reader *r, tt__span rest) {
    return tt__read_expr(r, &r->launch->when, rest);
}

/* The kernel is launched in each turn of the loop of the kernel above. */
static tt_status read_together(tt__reader *r, tt__span rest) {
    tt__geometry_expr *g = r->launch, *above = g - 1;
    bool first = g == r->t->passes;
    for (int role = 0; r->t->own && role < TT__ROLE_COUNT; role++)
        first |= g == r->t->own->asides[role].launches;
    if (first || !(above->repeat.text || above->joins))
        return FAIL(r, rest.at, "`repeat together` joins the loop of the kernel above, and %s",
                    first ? "there is none" : "that one has no `repeat`");
    g->joins = true;
    tt__copy(g->turn, sizeof g->turn, above->turn);
    return TT_OK;
}

/* The same, without the word that was found. */
static size_t take_until(tt__span *before, tt__span *rest, const char *const *words, size_t n) {
    const size_t k = tt__take_until(before, rest, words, n);
    if (k < n)
        tt__take_word(rest);
    return k;
}

/* COUNT [as NAME [from START] [by STEP | times FACTOR | over DIVISOR]] */
tt_status tt__read_repeat(tt__reader *r, tt__span rest) {
    static const char *const as[] = {"as"};
    static const char *const steps[] = {"by", "times", "over"}; /* in the order of tt__progress */
    static const char *const from[] = {"from"};
    tt__geometry_expr *g = r->launch;
    tt__span part;
    if (tt__span_is(rest, "together"))
        return read_together(r, rest);
    const bool named = take_until(&part, &rest, as, 1) == 0;
    TT_TRY(tt__read_expr(r, &g->repeat, part));
    if (!named)
        return TT_OK;
    const tt__span name = rest;
    TT_TRY(tt__read_new_name(r, g->turn, sizeof g->turn, rest));
    tt__take_word(&rest);
    if (rest.n == 0)
        return TT_OK;
    tt__span step = rest;
    const size_t progress = take_until(&part, &step, steps, TT__COUNT(steps));
    const tt__span start = part;
    tt__span value = start;
    if (start.n > 0 && (take_until(&part, &value, from, 1) > 0 || part.n > 0 || value.n == 0))
        return FAIL(r, start.at, "found '%.*s' after %.*s, expected: %s", SHOW(start), (int)strlen(g->turn),
                    name.at, "from START, and by STEP, times FACTOR or over DIVISOR");
    if (start.n > 0)
        TT_TRY(tt__read_expr(r, &g->from, value));
    if (progress == TT__COUNT(steps))
        return TT_OK;
    if (step.n == 0)
        return FAIL(r, rest.at, "`%s` stands at the end, expected a number after it", steps[progress]);
    g->progress = (tt__progress)progress;
    return tt__read_expr(r, &g->step, step);
}

/* The names are looked up at the end. */
tt_status tt__read_swap(tt__reader *r, tt__span rest) {
    for (int i = 0; i < 2; i++) {
        TT_TRY(tt__read_name(r, r->launch->swap[i], sizeof r->launch->swap[i], rest));
        tt__take_word(&rest);
    }
    r->launch->swap_line = r->line;
    return TT_OK;
}

tt_status tt__read_launch(tt__reader *r, tt__span rest) {
    r->launch->early = tt__span_is(rest, "early");
    r->launch->cooperative = tt__span_is(rest, "cooperative");
    if (!r->launch->early && !r->launch->cooperative)
        return FAIL(r, rest.at, "found '%.*s', expected: early or cooperative", SHOW(rest));
    return TT_OK;
}

/* ---- Tensor maps --------------------------------------------------------------------------------------- */

/* A list of one expression for each dimension, in parentheses. */
static tt_status read_dimensions(tt__reader *r, tt__expr out[TT__RANK_MAX], int *n, tt__span list,
                                 const char *what) {
    tt__span item, left = list;
    const tt__span whole = list;
    *n = 0;
    if (!take_list(&left))
        return FAIL(r, whole.at, "found '%.*s', expected %s in parentheses, as in (cols, rows)", SHOW(whole),
                    what);
    while (tt__take_item(&item, &left)) {
        if (*n == TT__RANK_MAX)
            return FAIL(r, item.at, "a tensor map has at most %d dimensions", TT__RANK_MAX);
        TT_TRY(tt__read_expr(r, &out[(*n)++], item));
    }
    return TT_OK;
}

/* One property of a map. The words come in any order. */
static tt_status read_property(tt__reader *r, tt__map_expr *m, size_t k, tt__span value, bool *has_box) {
    enum { BOX, STRIDES, STEPS, SWIZZLE, L2, FILL };
    int n = m->rank;
    if (k == BOX)
        TT_TRY(read_dimensions(r, m->box, &n, value, "the elements of a box"));
    else if (k == STRIDES)
        TT_TRY(read_dimensions(r, m->strides, &n, value, "the elements between rows"));
    else if (k == STEPS)
        TT_TRY(read_dimensions(r, m->steps, &n, value, "the steps of a box"));
    else if (k == SWIZZLE || k == L2)
        TT_TRY(tt__read_expr(r, k == L2 ? &m->l2 : &m->swizzle, value));
    else if (k == FILL && (m->fills_nan = tt__span_is(value, "nan"), !m->fills_nan) &&
             !tt__span_is(value, "zero"))
        return FAIL(r, value.at, "found '%.*s', expected: fill zero or nan", SHOW(value));
    *has_box |= k == BOX;
    const int expected = m->rank - (k == STRIDES);
    return n == expected || k > STEPS
               ? TT_OK
               : FAIL(r, value.at, "%d values, expected %d%s", n, expected,
                      k == STRIDES ? ": the first dimension has none" : ", one for each dimension");
}

/* NAME BUFFER (DIMENSIONS) box (SIZES) [strides (...)] [steps (...)] [swizzle E] [l2 E] [fill zero|nan] */
tt_status tt__read_tensormap(tt__reader *r, tt__span rest) {
    static const char *const words[] = {"box", "strides", "steps", "swizzle", "l2", "fill"};
    tt__template *t = r->t;
    const tt__span all = rest;
    bool has_box = false;
    if (t->n_maps == TT__MAPS_MAX)
        return FAIL(r, rest.at, "more than %d tensor maps", TT__MAPS_MAX);
    tt__map_expr *m = &t->maps[t->n_maps];
    TT_TRY(tt__read_new_name(r, m->name, sizeof m->name, rest));
    tt__take_word(&rest);
    const tt__span buffer = tt__take_word(&rest);
    TT_TRY(tt__read_expr(r, &m->buffer, buffer));
    tt__span part;
    size_t k = take_until(&part, &rest, words, TT__COUNT(words));
    TT_TRY(read_dimensions(r, m->dims, &m->rank, part, "the dimensions of the buffer"));
    while (k < TT__COUNT(words)) {
        const size_t property = k;
        k = take_until(&part, &rest, words, TT__COUNT(words));
        TT_TRY(read_property(r, m, property, part, &has_box));
    }
    t->n_maps++;
    return has_box
               ? TT_OK
               : FAIL(r, all.at,
                      "%s has no box, the part of the buffer that one copy moves: add box (64, 32)", m->name);
}
