/* Comparisons, conditions and functions of Python in our language; numbers are python_value.c's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "template/scan.h"
#include "tuner/t1/python_value.h"

/* ---- Words --------------------------------------------------------------------------------------------- */

/* A text that spells a whole number is one, as it is among the values of a parameter. */
static tt__py literal(tt__py v) {
    if (v.kind == TT__PY_WORD && v.constant && tt__is_integer(v.text, strlen(v.text)))
        return tt__py_integer(strtoll(v.text, NULL, 10));
    return v;
}

static bool same(const tt__py *a, const tt__py *b) {
    if (a->kind != b->kind)
        return false;
    return a->kind == TT__PY_WORD ? strcmp(a->text, b->text) == 0
                                  : a->constant && b->constant && a->value == b->value;
}

/* A constant as an expression compares a parameter of words with it; *has is false if that parameter never is
 * it. */
static tt_status word_operand(const char **out, tt__py_arena *a, const tt__py *param, tt__py v, bool *has) {
    *has = false;
    v = literal(v);
    if (v.kind == TT__PY_BOOL)
        v = tt__py_integer(v.value);
    for (size_t i = 0; i < param->n; i++)
        *has |= same(&param->items[i], &v);
    return *has && v.kind == TT__PY_WORD ? tt__py_put(out, a, "'%s'", v.text)
                                         : tt__py_operand(out, a, &v, TT__PY_ATOM);
}

static tt_status compare_word(tt__py *out, tt__py_arena *a, const char *sign, const tt__py *l,
                              const tt__py *r) {
    const char *right = "", *text;
    bool has, equal = *sign == '=';
    if (strcmp(sign, "=") != 0 && strcmp(sign, "<>") != 0)
        return tt__fail(TT_E_INVALID, "words are compared by == and != only");
    if (l->constant && r->constant) {
        *out = tt__py_bool(same(l, r) == equal);
        return TT_OK;
    }
    if (l->constant) {
        const tt__py *swap = l;
        l = r;
        r = swap;
    }
    if (l->kind != TT__PY_WORD || !r->constant) /* a word and a calculated number, or two parameters */
        return l->kind == TT__PY_WORD && r->kind == TT__PY_WORD
                   ? tt__py_two(out, a, TT__PY_BOOL, TT__PY_COMPARE, sign, l, r)
                   : tt__fail(TT_E_INVALID, "a word is compared with a number");
    TT_TRY(word_operand(&right, a, l, *r, &has));
    *out = tt__py_bool(!equal);
    if (!has)
        return TT_OK;
    TT_TRY(tt__py_put(&text, a, "%s %s %s", l->text, sign, right));
    *out = (tt__py){.kind = TT__PY_BOOL, .level = TT__PY_COMPARE, .text = text};
    return TT_OK;
}

/* ---- Comparisons --------------------------------------------------------------------------------------- */

static const struct {
    const char *python, *ours;
    bool less, equal, greater;
} comparisons[] = {
    {"==", "=", false, true, false}, {"!=", "<>", true, false, true}, {"<=", "<=", true, true, false},
    {">=", ">=", false, true, true}, {"<", "<", true, false, false},  {">", ">", false, false, true},
};

/* l / d against r is l against r * d, and l against 0. */
static tt_status without_divisor(tt__py_arena *a, tt__py *l, tt__py *r, const char *sign) {
    tt__py d = tt__py_over(l);
    bool zero = r->constant && r->value == 0 && (strcmp(sign, "=") == 0 || strcmp(sign, "<>") == 0);
    if (r->kind != TT__PY_INT || !(zero || l->over_low > 0)) {
        TT_TRY(tt__py_to_real(l, a));
        return tt__py_to_real(r, a);
    }
    *l = tt__py_above(l);
    return r->constant && r->value == 0 ? TT_OK : tt__py_times(r, a, *r, d);
}

tt_status tt__py_compare(tt__py *out, tt__py_arena *a, const char *op, tt__py l, tt__py r) {
    size_t k = 0;
    while (strcmp(comparisons[k].python, op) != 0)
        k++;
    const char *sign = comparisons[k].ours;
    if (l.kind == TT__PY_WORD && l.constant && r.kind != TT__PY_WORD)
        l = literal(l);
    if (r.kind == TT__PY_WORD && r.constant && l.kind != TT__PY_WORD)
        r = literal(r);
    bool word = l.kind == TT__PY_WORD || r.kind == TT__PY_WORD;
    if (word && (l.kind == TT__PY_INT || r.kind == TT__PY_INT) && (l.constant || r.constant) &&
        !(l.kind == TT__PY_WORD && !l.constant) && !(r.kind == TT__PY_WORD && !r.constant)) {
        *out = tt__py_bool(*sign == '<'); /* a number never is a word */
        return strcmp(sign, "=") == 0 || strcmp(sign, "<>") == 0
                   ? TT_OK
                   : tt__fail(TT_E_INVALID, "a word is compared with a number");
    }
    if (word)
        return compare_word(out, a, sign, &l, &r);
    TT_TRY(tt__py_number(&l));
    TT_TRY(tt__py_number(&r));
    if (l.constant && r.constant) {
        double d = l.low - r.low;
        if (l.kind == TT__PY_INT && r.kind == TT__PY_INT)
            d = (double)((l.value > r.value) - (l.value < r.value));
        *out = tt__py_bool(d < 0   ? comparisons[k].less
                           : d > 0 ? comparisons[k].greater
                                   : comparisons[k].equal);
        return TT_OK;
    }
    if (l.kind == TT__PY_RATIO)
        TT_TRY(without_divisor(a, &l, &r, sign));
    else if (r.kind == TT__PY_RATIO)
        TT_TRY(without_divisor(a, &r, &l, sign));
    return tt__py_two(out, a, TT__PY_BOOL, TT__PY_COMPARE, sign, &l, &r);
}

tt_status tt__py_in(tt__py *out, tt__py_arena *a, tt__py v, const tt__py *list, bool negated) {
    const char *left, *members = "", *item;
    bool found = false;
    if (list->kind != TT__PY_LIST)
        return tt__fail(TT_E_INVALID, "`in` is followed by no list");
    if (v.kind != TT__PY_WORD)
        TT_TRY(tt__py_whole(&v, a));
    for (size_t i = 0; i < list->n; i++) {
        tt__py member = list->items[i];
        bool has = v.kind == TT__PY_WORD ? true : literal(member).kind != TT__PY_WORD;
        if (!member.constant)
            return tt__fail(TT_E_INVALID, "`in` is followed by a list of more than numbers and words");
        found |= v.constant && same(&v, &member);
        if (v.constant)
            continue;
        if (v.kind == TT__PY_WORD)
            TT_TRY(word_operand(&item, a, &v, member, &has));
        else if (has && (member = literal(member), true))
            TT_TRY(tt__py_whole(&member, a));
        if (has && v.kind != TT__PY_WORD)
            TT_TRY(tt__py_operand(&item, a, &member, 0));
        if (has)
            TT_TRY(tt__py_put(&members, a, "%s%s%s", members, *members ? ", " : "", item));
    }
    *out = tt__py_bool(found != negated);
    if (v.constant || !*members)
        return TT_OK;
    TT_TRY(tt__py_operand(&left, a, &v, TT__PY_COMPARE + 1));
    TT_TRY(tt__py_put(&item, a, "%s %sIN (%s)", left, negated ? "NOT " : "", members));
    *out = (tt__py){.kind = TT__PY_BOOL, .level = TT__PY_COMPARE, .text = item};
    return TT_OK;
}

/* ---- Conditions ---------------------------------------------------------------------------------------- */

tt_status tt__py_condition(const tt__py *v) {
    if (v->kind == TT__PY_WORD || v->kind == TT__PY_LIST || v->kind == TT__PY_RATIO || v->kind == TT__PY_REAL)
        return tt__fail(TT_E_INVALID, "%s is no condition",
                        v->kind == TT__PY_WORD   ? "a word"
                        : v->kind == TT__PY_LIST ? "a list"
                                                 : "a number with a fraction");
    return TT_OK;
}

tt_status tt__py_and_or(tt__py *out, tt__py_arena *a, bool is_and, tt__py l, tt__py r) {
    const char *left, *right, *text;
    TT_TRY(tt__py_condition(&l));
    TT_TRY(tt__py_condition(&r));
    if (l.constant || r.constant) { /* x and True is x, x and False is False */
        const tt__py *known = l.constant ? &l : &r;
        *out = (known->value != 0) == is_and ? (l.constant ? r : l) : tt__py_bool(!is_and);
        return TT_OK;
    }
    int level = is_and ? TT__PY_AND : TT__PY_OR;
    TT_TRY(tt__py_operand(&left, a, &l, level));
    TT_TRY(tt__py_operand(&right, a, &r, level));
    TT_TRY(tt__py_put(&text, a, "%s %s %s", left, is_and ? "AND" : "OR", right));
    *out = (tt__py){.kind = l.kind == TT__PY_BOOL && r.kind == TT__PY_BOOL ? TT__PY_BOOL : TT__PY_TRUTH,
                    .level = level,
                    .text = text};
    return TT_OK;
}

tt_status tt__py_not(tt__py *out, tt__py_arena *a, tt__py v) {
    const char *inner, *text;
    TT_TRY(tt__py_condition(&v));
    if (v.constant) {
        *out = tt__py_bool(!v.value);
        return TT_OK;
    }
    TT_TRY(tt__py_operand(&inner, a, &v, TT__PY_ATOM));
    TT_TRY(tt__py_put(&text, a, "NOT %s", inner));
    *out = (tt__py){.kind = TT__PY_BOOL, .level = TT__PY_NOT, .text = text};
    return TT_OK;
}

tt_status tt__py_if(tt__py *out, tt__py_arena *a, tt__py condition, tt__py yes, tt__py no) {
    const char *c, *x, *y, *text;
    TT_TRY(tt__py_condition(&condition));
    if (condition.constant) {
        *out = condition.value ? yes : no;
        return TT_OK;
    }
    TT_TRY(tt__py_number(&yes));
    TT_TRY(tt__py_number(&no));
    if (yes.kind != TT__PY_INT || no.kind != TT__PY_INT) {
        TT_TRY(tt__py_to_real(&yes, a));
        TT_TRY(tt__py_to_real(&no, a));
    }
    TT_TRY(tt__py_operand(&c, a, &condition, 0));
    TT_TRY(tt__py_operand(&x, a, &yes, 0));
    TT_TRY(tt__py_operand(&y, a, &no, 0));
    TT_TRY(tt__py_put(&text, a, "iif(%s, %s, %s)", c, x, y));
    *out = (tt__py){.kind = yes.kind,
                    .level = TT__PY_ATOM,
                    .text = text,
                    .low = fmin(yes.low, no.low),
                    .high = fmax(yes.high, no.high)};
    return TT_OK;
}

/* ---- Functions ----------------------------------------------------------------------------------------- */

static tt_status call_min_max(tt__py *out, tt__py_arena *a, const char *name, const tt__py *args, size_t n) {
    bool is_max = name[1] == 'a';
    tt__py best, v;
    if (n == 1 && args[0].kind == TT__PY_LIST) {
        n = args[0].n;
        args = args[0].items;
    }
    if (n == 0)
        return tt__fail(TT_E_INVALID, "%s of nothing", name);
    best = args[0];
    TT_TRY(tt__py_whole(&best, a));
    for (size_t i = 1; i < n; i++) {
        const char *x, *y, *text;
        v = args[i];
        TT_TRY(tt__py_whole(&v, a));
        if (best.constant && v.constant) {
            best = (v.value > best.value) == is_max ? v : best;
            continue;
        }
        TT_TRY(tt__py_operand(&x, a, &best, 0));
        TT_TRY(tt__py_operand(&y, a, &v, 0));
        TT_TRY(tt__py_put(&text, a, "%s(%s, %s)", name, x, y));
        best = (tt__py){.kind = TT__PY_INT,
                        .level = TT__PY_ATOM,
                        .text = text,
                        .low = is_max ? fmax(best.low, v.low) : fmin(best.low, v.low),
                        .high = is_max ? fmax(best.high, v.high) : fmin(best.high, v.high)};
    }
    *out = best;
    return TT_OK;
}

static tt_status call_range(tt__py *out, tt__py_arena *a, const tt__py *args, size_t n) {
    int64_t numbers[3] = {0, 0, 1};
    if (n < 1 || n > 3)
        return tt__fail(TT_E_INVALID, "range takes 1 to 3 numbers, found %zu", n);
    for (size_t i = 0; i < n; i++) {
        if (args[i].kind != TT__PY_INT || !args[i].constant || llabs(args[i].value) > INT32_MAX)
            return tt__fail(TT_E_INVALID, "range takes whole numbers that are known");
        numbers[n == 1 ? 1 : i] = args[i].value;
    }
    int64_t from = numbers[0], to = numbers[1], step = numbers[2];
    if (step == 0)
        return tt__fail(TT_E_INVALID, "range with a step of 0");
    int64_t count = step > 0 ? (to - from + step - 1) / step : (from - to - step - 1) / -step;
    count = (step > 0 ? to > from : to < from) ? count : 0;
    if (count > TT__PY_ITEMS_MAX)
        return tt__fail(TT_E_INVALID, "a list of more than %d", TT__PY_ITEMS_MAX);
    tt__py *items = tt__py_alloc(a, (size_t)(count + 1) * sizeof *items);
    if (!items)
        return TT_E_NO_MEMORY;
    for (int64_t i = 0; i < count; i++)
        items[i] = tt__py_integer(from + i * step);
    *out = (tt__py){.kind = TT__PY_LIST, .n = (size_t)count, .items = items};
    return TT_OK;
}

static tt_status call_abs(tt__py *out, tt__py_arena *a, tt__py v) {
    const char *x, *text;
    TT_TRY(tt__py_whole(&v, a));
    *out = v;
    if (v.low >= 0)
        return TT_OK;
    if (v.constant)
        return tt__py_minus(out, a, v);
    TT_TRY(tt__py_operand(&x, a, &v, 0));
    TT_TRY(tt__py_put(&text, a, "abs(%s)", x));
    *out = (tt__py){.kind = TT__PY_INT, .level = TT__PY_ATOM, .text = text, .high = HUGE_VAL};
    return TT_OK;
}

/* ceil, floor and int of a quotient, or of what is whole already. */
static tt_status call_round(tt__py *out, tt__py_arena *a, char how, tt__py v) {
    TT_TRY(tt__py_number(&v));
    *out = v;
    if (v.kind == TT__PY_RATIO && how == 'c')
        return tt__py_ceil(out, a, tt__py_above(&v), tt__py_over(&v));
    if (v.kind == TT__PY_RATIO && how == 'f')
        return tt__py_binary(out, a, "//", tt__py_above(&v), tt__py_over(&v));
    if (v.kind == TT__PY_REAL && v.constant)
        *out = tt__py_real(how == 'c' ? ceil(v.low) : how == 'f' ? floor(v.low) : v.low);
    return tt__py_whole(out, a);
}

tt_status tt__py_call(tt__py *out, tt__py_arena *a, const char *name, size_t length, const tt__py *args,
                      size_t n) {
    static const struct {
        const char *name;
        size_t n; /* arguments; 0: any number */
    } functions[] = {{"min", 0},   {"max", 0}, {"range", 0}, {"abs", 1},   {"int", 1}, {"ceil", 1},
                     {"floor", 1}, {"len", 1}, {"list", 1},  {"tuple", 1}, {"pow", 2}, {"bool", 1}};
    size_t k = 0, count = sizeof functions / sizeof *functions;
    while (k < count && (strlen(functions[k].name) != length || memcmp(functions[k].name, name, length) != 0))
        k++;
    if (k == count)
        return tt__fail(TT_E_INVALID,
                        "there is no %.*s() here: known are min max abs int ceil floor pow len list range",
                        (int)(length > 40 ? 40 : length), name);
    const char *f = functions[k].name;
    if (functions[k].n && n != functions[k].n)
        return tt__fail(TT_E_INVALID, "%s takes %zu argument%s, found %zu", f, functions[k].n,
                        functions[k].n > 1 ? "s" : "", n);
    if (k < 2)
        return call_min_max(out, a, f, args, n);
    if (k == 2)
        return call_range(out, a, args, n);
    if (strcmp(f, "abs") == 0)
        return call_abs(out, a, args[0]);
    if (strcmp(f, "pow") == 0)
        return tt__py_binary(out, a, "**", args[0], args[1]);
    if (strcmp(f, "bool") == 0) {
        TT_TRY(tt__py_not(out, a, args[0]));
        return tt__py_not(out, a, *out);
    }
    if (f[0] == 'l' || f[0] == 't') {
        if (args[0].kind != TT__PY_LIST)
            return tt__fail(TT_E_INVALID, "%s of what is no list", f);
        *out = f[1] == 'e' ? tt__py_integer((int64_t)args[0].n) : args[0];
        return TT_OK;
    }
    return call_round(out, a, f[0], args[0]);
}
