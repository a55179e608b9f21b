/*
 * What Python's operators mean in our language. Numbers known beforehand are computed here; of the others the
 * bounds are kept, as / and % of two numbers that are not negative are the same in both languages. A quotient
 * stays a dividend and a divisor for as long as it can: compared and taken by % it needs no fraction.
 */
#include "tuner/t1/python_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "template/scan.h"

enum { ARENA_MAX = 16 << 20, CHUNK = 16 << 10 };

struct tt__py_chunk {
    struct tt__py_chunk *before;
    size_t used, size;
    max_align_t bytes[];
};

void *tt__py_alloc(tt__py_arena *a, size_t bytes) {
    struct tt__py_chunk *c = a->chunks;
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!c || c->size - c->used < bytes) {
        size_t size = bytes > CHUNK ? bytes : CHUNK;
        c = a->used + size > ARENA_MAX ? NULL : malloc(sizeof *c + size);
        if (!c) {
            tt__fail_memory(a->used + size);
            return NULL;
        }
        *c = (struct tt__py_chunk){.before = a->chunks, .size = size};
        a->chunks = c;
        a->used += size;
    }
    void *at = (char *)c->bytes + c->used;
    c->used += bytes;
    return at;
}

void tt__py_free(tt__py_arena *a) {
    while (a->chunks) {
        struct tt__py_chunk *c = a->chunks;
        a->chunks = c->before;
        free(c);
    }
    a->used = 0;
}

/* ---- Making values ------------------------------------------------------------------------------------- */

tt_status tt__py_put(const char **out, tt__py_arena *a, const char *fmt, ...) {
    char text[TT__EXPR_MAX + 1];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0 || n >= (int)sizeof text)
        return tt__fail(TT_E_INVALID, "it comes to more than %d characters in tiletune's language",
                        TT__EXPR_MAX);
    char *copy = tt__py_alloc(a, (size_t)n + 1);
    if (!copy)
        return TT_E_NO_MEMORY;
    memcpy(copy, text, (size_t)n + 1);
    *out = copy;
    return TT_OK;
}

tt__py tt__py_integer(int64_t value) {
    return (tt__py){.kind = TT__PY_INT,
                    .constant = true,
                    .value = value,
                    .low = (double)value,
                    .high = (double)value,
                    .level = TT__PY_ATOM};
}

tt__py tt__py_bool(bool value) {
    tt__py v = tt__py_integer(value);
    v.kind = TT__PY_BOOL;
    return v;
}

tt__py tt__py_real(double value) {
    return (tt__py){.kind = TT__PY_REAL, .constant = true, .low = value, .high = value, .level = TT__PY_ATOM};
}

static tt_status make(tt__py *out, tt__py_kind kind, int level, const char *text, double low, double high) {
    *out = (tt__py){.kind = kind, .level = level, .text = text, .low = low, .high = high};
    return TT_OK;
}

tt_status tt__py_operand(const char **out, tt__py_arena *a, const tt__py *v, int level) {
    char number[40];
    if (v->constant && v->kind == TT__PY_BOOL)
        return tt__py_put(out, a, "%s", v->value ? "TRUE" : "FALSE");
    if (v->constant && v->kind == TT__PY_INT)
        return tt__py_put(out, a, v->value < 0 && level > TT__PY_COMPARE ? "(%lld)" : "%lld",
                          (long long)v->value);
    if (v->constant && v->kind == TT__PY_REAL) {
        snprintf(number, sizeof number, "%.15g", v->low);
        if (strtod(number, NULL) != v->low)
            snprintf(number, sizeof number, "%.17g", v->low);
        return tt__py_put(out, a, v->low < 0 ? "(%s%s)" : "%s%s", number, strpbrk(number, ".e") ? "" : ".0");
    }
    return tt__py_put(out, a, v->level < level ? "(%s)" : "%s", v->text);
}

tt_status tt__py_two(tt__py *out, tt__py_arena *a, tt__py_kind kind, int level, const char *op,
                     const tt__py *l, const tt__py *r) {
    const char *left, *right, *text;
    bool own = level == TT__PY_SUM || level == TT__PY_PRODUCT; /* others are put in parentheses */
    TT_TRY(tt__py_operand(&left, a, l, own ? level : level + 1));
    TT_TRY(tt__py_operand(&right, a, r, level + 1));
    TT_TRY(tt__py_put(&text, a, "%s %s %s", left, op, right));
    return make(out, kind, level, text, -HUGE_VAL, HUGE_VAL);
}

tt_status tt__py_number(tt__py *v) {
    if (v->kind == TT__PY_WORD)
        return tt__fail(TT_E_INVALID, "the word %.40s is no number", v->text);
    if (v->kind == TT__PY_LIST)
        return tt__fail(TT_E_INVALID, "a list where a number is needed");
    if (v->kind == TT__PY_TRUTH)
        return tt__fail(TT_E_INVALID, "`and` or `or` of numbers is used as a number");
    if (v->kind == TT__PY_BOOL) {
        v->kind = TT__PY_INT;
        if (!v->constant)
            v->low = 0, v->high = 1;
    }
    return TT_OK;
}

tt_status tt__py_to_real(tt__py *v, tt__py_arena *a) {
    const char *left, *text;
    TT_TRY(tt__py_number(v));
    if (v->kind == TT__PY_INT && v->constant)
        *v = tt__py_real((double)v->value);
    if (v->kind != TT__PY_RATIO)
        return TT_OK;
    TT_TRY(tt__py_operand(&left, a, v, TT__PY_PRODUCT + 1));
    TT_TRY(tt__py_put(&text, a, "1.0 * %s / %s", left, v->over));
    return make(v, TT__PY_REAL, TT__PY_PRODUCT, text, -HUGE_VAL, HUGE_VAL);
}

tt__py tt__py_over(const tt__py *v) {
    return (tt__py){
        .kind = TT__PY_INT, .text = v->over, .level = TT__PY_ATOM, .low = v->over_low, .high = HUGE_VAL};
}

tt__py tt__py_above(const tt__py *v) {
    return (tt__py){.kind = TT__PY_INT, .text = v->text, .level = v->level, .low = v->low, .high = v->high};
}

/* ---- Arithmetic ---------------------------------------------------------------------------------------- */

static double least(double a, double b) {
    return a < b ? a : b;
}

static double most(double a, double b) {
    return a > b ? a : b;
}

static double product(double a, double b) {
    return a == 0 || b == 0 ? 0 : a * b; /* 0 * infinity, too */
}

static void bound(tt__py *out, char op, const tt__py *l, const tt__py *r) {
    double corners[4] = {product(l->low, r->low), product(l->low, r->high), product(l->high, r->low),
                         product(l->high, r->high)};
    out->low = op == '+' ? l->low + r->low : l->low - r->high;
    out->high = op == '+' ? l->high + r->high : l->high - r->low;
    if (op == '*') {
        out->low = least(least(corners[0], corners[1]), least(corners[2], corners[3]));
        out->high = most(most(corners[0], corners[1]), most(corners[2], corners[3]));
    }
}

static tt_status overflow(void) {
    return tt__fail(TT_E_INVALID, "a number beyond 64 bits");
}

static tt_status linear(tt__py *out, tt__py_arena *a, char op, tt__py l, tt__py r) {
    const char sign[2] = {op, '\0'};
    const tt__py one = tt__py_integer(1), zero = tt__py_integer(0);
    int64_t value = 0;
    if (l.kind == TT__PY_REAL || r.kind == TT__PY_REAL || l.kind == TT__PY_RATIO || r.kind == TT__PY_RATIO) {
        TT_TRY(tt__py_to_real(&l, a));
        TT_TRY(tt__py_to_real(&r, a));
        return tt__py_two(out, a, TT__PY_REAL, op == '*' ? TT__PY_PRODUCT : TT__PY_SUM, sign, &l, &r);
    }
    if (l.constant && r.constant) {
        if (op == '+'   ? __builtin_add_overflow(l.value, r.value, &value)
            : op == '-' ? __builtin_sub_overflow(l.value, r.value, &value)
                        : __builtin_mul_overflow(l.value, r.value, &value))
            return overflow();
        *out = tt__py_integer(value);
        return TT_OK;
    }
    const tt__py *unit = op == '*' ? &one : &zero; /* x * 1, x + 0 */
    if (r.constant && r.value == unit->value) {
        *out = l;
        return TT_OK;
    }
    if (l.constant && l.value == unit->value && op != '-') {
        *out = r;
        return TT_OK;
    }
    TT_TRY(tt__py_two(out, a, TT__PY_INT, op == '*' ? TT__PY_PRODUCT : TT__PY_SUM, sign, &l, &r));
    bound(out, op, &l, &r);
    return TT_OK;
}

tt_status tt__py_times(tt__py *out, tt__py_arena *a, tt__py l, tt__py r) {
    TT_TRY(tt__py_number(&l));
    TT_TRY(tt__py_number(&r));
    if (r.kind == TT__PY_RATIO && l.kind == TT__PY_INT) {
        tt__py swap = l;
        l = r;
        r = swap;
    }
    if (l.kind != TT__PY_RATIO || r.kind != TT__PY_INT)
        return linear(out, a, '*', l, r);
    tt__py dividend;
    TT_TRY(linear(&dividend, a, '*', tt__py_above(&l), r));
    if (dividend.constant)
        TT_TRY(tt__py_operand(&dividend.text, a, &dividend, TT__PY_ATOM));
    l.text = dividend.text;
    l.level = dividend.level;
    l.low = dividend.low;
    l.high = dividend.high;
    *out = l;
    return TT_OK;
}

static tt_status divide(tt__py *out, tt__py_arena *a, tt__py l, tt__py r) {
    if (r.constant && (r.kind == TT__PY_INT ? r.value == 0 : r.low == 0))
        return tt__fail(TT_E_INVALID, "a division by 0");
    if (l.kind == TT__PY_INT && r.kind == TT__PY_INT && l.constant && r.constant && r.value != -1) {
        *out = l.value % r.value ? tt__py_real((double)l.value / (double)r.value)
                                 : tt__py_integer(l.value / r.value);
        return TT_OK;
    }
    if (r.kind == TT__PY_INT && (l.kind == TT__PY_INT || l.kind == TT__PY_RATIO)) {
        tt__py divisor = r;
        if (l.kind == TT__PY_RATIO)
            TT_TRY(linear(&divisor, a, '*', tt__py_over(&l), r));
        *out = l;
        out->kind = TT__PY_RATIO;
        out->constant = false;
        if (l.constant)
            TT_TRY(tt__py_operand(&out->text, a, &l, TT__PY_ATOM));
        out->over_low = divisor.low;
        return tt__py_operand(&out->over, a, &divisor, TT__PY_ATOM);
    }
    TT_TRY(tt__py_to_real(&l, a));
    TT_TRY(tt__py_to_real(&r, a));
    return tt__py_two(out, a, TT__PY_REAL, TT__PY_PRODUCT, "/", &l, &r);
}

static tt_status whole_numbers(const char *op, const tt__py *l, const tt__py *r) {
    return l->kind == TT__PY_INT && r->kind == TT__PY_INT
               ? TT_OK
               : tt__fail(TT_E_INVALID, "%s of a number with a fraction", op);
}

/* Python rounds down, SQL towards 0. */
static tt_status floor_divide(tt__py *out, tt__py_arena *a, tt__py l, tt__py r) {
    const char *x, *y, *text;
    if (l.kind == TT__PY_RATIO && r.kind == TT__PY_INT) {
        tt__py divisor;
        TT_TRY(linear(&divisor, a, '*', tt__py_over(&l), r));
        return floor_divide(out, a, tt__py_above(&l), divisor);
    }
    TT_TRY(whole_numbers("//", &l, &r));
    if (r.constant && r.value == 0)
        return tt__fail(TT_E_INVALID, "a division by 0");
    if (l.constant && r.constant) {
        if (r.value == -1)
            return linear(out, a, '*', l, r);
        *out = tt__py_integer(l.value / r.value - (l.value % r.value != 0 && (l.value < 0) != (r.value < 0)));
        return TT_OK;
    }
    if (l.low >= 0 && r.low > 0) {
        TT_TRY(tt__py_two(out, a, TT__PY_INT, TT__PY_PRODUCT, "/", &l, &r));
        out->low = r.high < HUGE_VAL ? floor(l.low / r.high) : 0;
        out->high = l.high < HUGE_VAL ? floor(l.high / r.low) : HUGE_VAL;
        return TT_OK;
    }
    TT_TRY(tt__py_operand(&x, a, &l, TT__PY_ATOM));
    TT_TRY(tt__py_operand(&y, a, &r, TT__PY_ATOM));
    TT_TRY(tt__py_put(&text, a, "%s / %s - (%s %% %s <> 0 AND (%s < 0) <> (%s < 0))", x, y, x, y, x, y));
    return make(out, TT__PY_INT, TT__PY_SUM, text, -HUGE_VAL, HUGE_VAL);
}

/* The sign is the divisor's in Python, the dividend's in SQL. */
static tt_status modulo(tt__py *out, tt__py_arena *a, tt__py l, tt__py r) {
    const char *x, *y, *text;
    if (l.kind == TT__PY_INT && r.kind == TT__PY_RATIO &&
        r.over_low > 0) { /* l % (m / d) = (l * d % m) / d */
        tt__py whole = l, d = tt__py_over(&r);
        TT_TRY(linear(&whole, a, '*', l, d));
        TT_TRY(modulo(&whole, a, whole, tt__py_above(&r)));
        return divide(out, a, whole, d);
    }
    TT_TRY(whole_numbers("%", &l, &r));
    if (r.constant && r.value == 0)
        return tt__fail(TT_E_INVALID, "a division by 0");
    if (l.constant && r.constant) {
        int64_t rest = r.value == -1 ? 0 : l.value % r.value;
        *out = tt__py_integer(rest && (rest < 0) != (r.value < 0) ? rest + r.value : rest);
        return TT_OK;
    }
    if (l.low >= 0 && r.low > 0) {
        TT_TRY(tt__py_two(out, a, TT__PY_INT, TT__PY_PRODUCT, "%", &l, &r));
        out->low = 0;
        out->high = least(l.high, r.high - 1);
        return TT_OK;
    }
    TT_TRY(tt__py_operand(&x, a, &l, TT__PY_ATOM));
    TT_TRY(tt__py_operand(&y, a, &r, TT__PY_ATOM));
    TT_TRY(tt__py_put(&text, a, "(%s %% %s + %s) %% %s", x, y, y, y));
    return make(out, TT__PY_INT, TT__PY_PRODUCT, text, r.low > 0 ? 0 : -HUGE_VAL,
                r.low > 0 ? r.high - 1 : HUGE_VAL);
}

static tt_status power(tt__py *out, tt__py_arena *a, tt__py l, tt__py r) {
    TT_TRY(whole_numbers("**", &l, &r));
    if (r.constant && r.value >= 0 && r.value <= 64) { /* 2**3 = 2 * 2 * 2 */
        tt__py result = tt__py_integer(1);
        for (int64_t i = 0; i < r.value; i++)
            if (i == 0)
                result = l;
            else
                TT_TRY(linear(&result, a, '*', result, l));
        *out = result;
        return TT_OK;
    }
    if (!l.constant || l.value != 2 || r.low < 0 || r.high > 62)
        return tt__fail(TT_E_INVALID, "`**` is only known of a power from 0 to 64, and of 2");
    tt__py one = tt__py_integer(1);
    TT_TRY(tt__py_two(out, a, TT__PY_INT, TT__PY_BITS, "<<", &one, &r));
    out->low = exp2(r.low);
    out->high = exp2(r.high);
    return TT_OK;
}

static tt_status bits(tt__py *out, tt__py_arena *a, const char *op, tt__py l, tt__py r) {
    const char *x, *y, *text;
    bool shift = op[0] == '<' || op[0] == '>';
    TT_TRY(whole_numbers(op, &l, &r));
    if (shift && (r.low < 0 || r.high > 62))
        return tt__fail(TT_E_INVALID, "a shift by other than 0 to 62");
    if (shift && l.constant && r.constant) {
        tt__py by = tt__py_integer(INT64_C(1) << r.value);
        return op[0] == '<' ? linear(out, a, '*', l, by) : floor_divide(out, a, l, by);
    }
    if (l.constant && r.constant) {
        *out = tt__py_integer(op[0] == '&'   ? (l.value & r.value)
                              : op[0] == '|' ? (l.value | r.value)
                                             : (l.value ^ r.value));
        return TT_OK;
    }
    if (op[0] != '^') {
        TT_TRY(tt__py_two(out, a, TT__PY_INT, TT__PY_BITS, op, &l, &r));
    } else {
        TT_TRY(tt__py_operand(&x, a, &l, TT__PY_ATOM));
        TT_TRY(tt__py_operand(&y, a, &r, TT__PY_ATOM));
        TT_TRY(tt__py_put(&text, a, "(%s | %s) - (%s & %s)", x, y, x, y));
        TT_TRY(make(out, TT__PY_INT, TT__PY_SUM, text, -HUGE_VAL, HUGE_VAL));
    }
    if (l.low >= 0 && r.low >= 0)
        out->low = 0;
    return TT_OK;
}

tt_status tt__py_binary(tt__py *out, tt__py_arena *a, const char *op, tt__py l, tt__py r) {
    if (l.kind == TT__PY_LIST && r.kind == TT__PY_LIST && strcmp(op, "+") == 0) {
        tt__py *items = tt__py_alloc(a, (l.n + r.n) * sizeof *items);
        if (!items)
            return TT_E_NO_MEMORY;
        for (size_t i = 0; i < l.n + r.n; i++)
            items[i] = i < l.n ? l.items[i] : r.items[i - l.n];
        *out = (tt__py){.kind = TT__PY_LIST, .n = l.n + r.n, .items = items};
        return l.n + r.n > TT__PY_ITEMS_MAX
                   ? tt__fail(TT_E_INVALID, "a list of more than %d", TT__PY_ITEMS_MAX)
                   : TT_OK;
    }
    TT_TRY(tt__py_number(&l));
    TT_TRY(tt__py_number(&r));
    if (strcmp(op, "*") == 0)
        return tt__py_times(out, a, l, r);
    if (strcmp(op, "/") == 0)
        return divide(out, a, l, r);
    if (strcmp(op, "//") == 0)
        return floor_divide(out, a, l, r);
    if (strcmp(op, "%") == 0)
        return modulo(out, a, l, r);
    if (strcmp(op, "**") == 0)
        return power(out, a, l, r);
    return *op == '+' || *op == '-' ? linear(out, a, *op, l, r) : bits(out, a, op, l, r);
}

tt_status tt__py_minus(tt__py *out, tt__py_arena *a, tt__py v) {
    if (v.kind == TT__PY_REAL && v.constant) {
        *out = tt__py_real(-v.low);
        return TT_OK;
    }
    return tt__py_binary(out, a, "-", tt__py_integer(0), v);
}

/* A fraction is dropped. */
tt_status tt__py_whole(tt__py *v, tt__py_arena *a) {
    TT_TRY(tt__py_number(v));
    if (v->kind == TT__PY_RATIO) {
        tt__py l = tt__py_above(v), r = tt__py_over(v);
        bool positive = v->over_low > 0;
        double high = positive ? most(l.high, 0) : HUGE_VAL, low = positive ? least(l.low, 0) : -HUGE_VAL;
        TT_TRY(tt__py_two(v, a, TT__PY_INT, TT__PY_PRODUCT, "/", &l, &r));
        v->low = low;
        v->high = high;
    }
    if (v->kind == TT__PY_REAL && v->constant && fabs(v->low) < 0x1p62)
        *v = tt__py_integer((int64_t)v->low);
    return v->kind == TT__PY_INT ? TT_OK
                                 : tt__fail(TT_E_INVALID, "a number with a fraction, expected a whole one");
}

tt_status tt__py_ceil(tt__py *out, tt__py_arena *a, tt__py l, tt__py r) {
    const char *x, *y, *text;
    TT_TRY(tt__py_whole(&l, a));
    TT_TRY(tt__py_whole(&r, a));
    if (l.constant && r.constant && r.value > 0) {
        *out = tt__py_integer(l.value / r.value + (l.value > 0 && l.value % r.value != 0));
        return TT_OK;
    }
    TT_TRY(tt__py_operand(&x, a, &l, 0));
    TT_TRY(tt__py_operand(&y, a, &r, 0));
    TT_TRY(tt__py_put(&text, a, "ceil_div(%s, %s)", x, y));
    return make(out, TT__PY_INT, TT__PY_ATOM, text, l.low >= 0 && r.low > 0 ? 0 : -HUGE_VAL, HUGE_VAL);
}

tt_status tt__py_text(const char **out, tt__py_arena *a, const tt__py *v) {
    return tt__py_operand(out, a, v, 0);
}
