/*
 * Python's grammar by recursive descent, one function for each rung of its precedence. A comprehension is
 * read once for each member of what it goes through, with the name bound to it. python_value.c does what the
 * operators do.
 */
#include "tuner/t1/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "template/scan.h"
#include "tuner/t1/python_token.h"
#include "tuner/t1/python_value.h"

typedef struct parser {
    tt__py_arena *arena;
    const tt__py_name *names;
    size_t n_names;
    struct {
        const char *at; /* of a comprehension's name */
        size_t n;
        tt__py value;
    } bound;
    bool is_bound;
    int depth;
    tt__py_token token;
} parser;

static tt_status read_any(parser *p, tt__py *out);

#define SHOW(p) ((int)((p)->token.n > 40 ? 40 : (p)->token.n)), (p)->token.at

static tt_status unexpected(const parser *p, const char *expected) {
    if (p->token.kind == TT__PY_END)
        return tt__fail(TT_E_INVALID, "it ends, expected %s", expected);
    return tt__fail(TT_E_INVALID, "found '%.*s', expected %s", SHOW(p), expected);
}

/* ---- Tokens -------------------------------------------------------------------------------------------- */

static tt_status lex(parser *p, const char *at) {
    return tt__py_lex(&p->token, at);
}

static tt_status next(parser *p) {
    return lex(p, p->token.at + p->token.n);
}

static bool is(const parser *p, const char *text) {
    return (p->token.kind == TT__PY_NAME || p->token.kind == TT__PY_MARK) && strlen(text) == p->token.n &&
           memcmp(p->token.at, text, p->token.n) == 0;
}

/* Goes over the token if it is this one. */
static tt_status accept(parser *p, const char *text, bool *found) {
    *found = is(p, text);
    return *found ? next(p) : TT_OK;
}

static tt_status expect(parser *p, const char *text) {
    char what[16];
    bool found;
    TT_TRY(accept(p, text, &found));
    if (found)
        return TT_OK;
    tt__copy(what, sizeof what, "''");
    what[1] = text[0];
    what[2] = '\'';
    what[3] = '\0';
    return unexpected(p, text[1] ? text : what);
}

/* ---- Lists --------------------------------------------------------------------------------------------- */

typedef struct items {
    tt__py *at;
    size_t n, cap;
} items;

static tt_status add_item(parser *p, items *list, const tt__py *v) {
    if (list->n == TT__PY_ITEMS_MAX)
        return tt__fail(TT_E_INVALID, "a list of more than %d", TT__PY_ITEMS_MAX);
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 8;
        tt__py *grown = tt__py_alloc(p->arena, cap * sizeof *grown);
        if (!grown)
            return TT_E_NO_MEMORY;
        if (list->n)
            memcpy(grown, list->at, list->n * sizeof *grown);
        list->at = grown;
        list->cap = cap;
    }
    list->at[list->n++] = *v;
    return TT_OK;
}

/* What stands behind the element of a comprehension, whose text begins at `element`: for NAME in LIST [if
 * CONDITION] */
static tt_status read_comprehension(parser *p, items *list, const char *element) {
    tt__py through, v;
    bool has_if;
    if (p->is_bound)
        return tt__fail(TT_E_INVALID, "a comprehension within another");
    TT_TRY(expect(p, "for"));
    if (p->token.kind != TT__PY_NAME)
        return unexpected(p, "a name");
    p->bound.at = p->token.at;
    p->bound.n = p->token.n;
    TT_TRY(next(p));
    TT_TRY(expect(p, "in"));
    TT_TRY(read_any(p, &through));
    if (through.kind != TT__PY_LIST)
        return tt__fail(TT_E_INVALID, "`in` is followed by no list");
    TT_TRY(accept(p, "if", &has_if));
    const char *condition = p->token.at, *end = p->token.at;
    p->is_bound = true;
    for (size_t i = 0; i < through.n; i++) {
        tt__py holds = tt__py_bool(true);
        p->bound.value = through.items[i];
        TT_TRY(lex(p, condition));
        if (has_if)
            TT_TRY(read_any(p, &holds));
        end = p->token.at;
        if (!holds.constant)
            return tt__fail(TT_E_INVALID, "the `if` of a list depends on more than the list");
        TT_TRY(lex(p, element));
        TT_TRY(read_any(p, &v));
        if (holds.value)
            TT_TRY(add_item(p, list, &v));
    }
    p->is_bound = false;
    return lex(p, end);
}

/* Up to `close`, which it goes over. In a comprehension the element is first skipped over, as its name has no
 * value. */
static tt_status read_items(parser *p, items *list, const char *close) {
    const char *element = p->token.at, *found = NULL;
    int depth = 0;
    for (bool done = is(p, close); !done && !found;) {
        if (p->token.kind == TT__PY_END)
            return unexpected(p, close[0] == ']' ? "']'" : "')'");
        depth += is(p, "(") + is(p, "[");
        depth -= is(p, ")") + is(p, "]");
        done = depth < 0;
        if (depth == 0 && is(p, "for"))
            found = p->token.at;
        TT_TRY(next(p));
    }
    TT_TRY(lex(p, found ? found : element));
    if (found) {
        TT_TRY(read_comprehension(p, list, element));
        return expect(p, close);
    }
    while (!is(p, close)) {
        tt__py v;
        TT_TRY(read_any(p, &v));
        TT_TRY(add_item(p, list, &v));
        if (!is(p, close))
            TT_TRY(expect(p, ","));
    }
    return next(p);
}

/* ---- Atoms --------------------------------------------------------------------------------------------- */

static tt_status read_number(parser *p, tt__py *out) {
    char text[64], *end;
    if (p->token.n >= sizeof text)
        return tt__fail(TT_E_INVALID, "a number of %zu digits", p->token.n);
    memcpy(text, p->token.at, p->token.n);
    text[p->token.n] = '\0';
    errno = 0;
    bool hex = p->token.n > 1 && (text[1] | 32) == 'x';
    if (hex || strspn(text, "0123456789") == p->token.n) {
        long long value = strtoll(text, &end, hex ? 16 : 10);
        if (errno || *end)
            return tt__fail(TT_E_INVALID, "%s is too large", text);
        *out = tt__py_integer(value);
    } else {
        double value = strtod(text, NULL);
        if (errno || value - value != 0)
            return tt__fail(TT_E_INVALID, "%s is too large", text);
        *out = tt__py_real(value);
    }
    return next(p);
}

static tt_status read_text(parser *p, tt__py *out) {
    char *text = tt__py_alloc(p->arena, p->token.n);
    if (!text)
        return TT_E_NO_MEMORY;
    memcpy(text, p->token.at + 1, p->token.n - 2);
    text[p->token.n - 2] = '\0';
    *out = (tt__py){.kind = TT__PY_WORD, .constant = true, .text = text, .level = TT__PY_ATOM};
    return next(p);
}

static bool token_is(const parser *p, const char *at, size_t n) {
    return n == p->token.n && memcmp(p->token.at, at, n) == 0;
}

static tt_status read_call(parser *p, tt__py *out, const char *name, size_t n) {
    items args = {0};
    TT_TRY(next(p));
    TT_TRY(read_items(p, &args, ")"));
    return tt__py_call(out, p->arena, name, n, args.at, args.n);
}

static tt_status read_name(parser *p, tt__py *out) {
    static const char *const modules[] = {"math", "np", "numpy"};
    bool dot = false, module = false;
    if (is(p, "True") || is(p, "true") || is(p, "False") || is(p, "false")) {
        *out = tt__py_bool((*p->token.at | 32) == 't');
        return next(p);
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        module |= is(p, modules[i]);
    if (p->is_bound && token_is(p, p->bound.at, p->bound.n)) {
        *out = p->bound.value;
        return next(p);
    }
    for (size_t i = 0; i < p->n_names; i++)
        if (token_is(p, p->names[i].name, strlen(p->names[i].name))) {
            *out = p->names[i].value;
            return next(p);
        }
    const char *name = p->token.at;
    size_t n = p->token.n;
    TT_TRY(next(p));
    if (module)
        TT_TRY(accept(p, ".", &dot));
    if (dot) {
        name = p->token.at;
        n = p->token.n;
        TT_TRY(next(p));
    }
    if (is(p, "("))
        return read_call(p, out, name, n);
    return tt__fail(TT_E_INVALID, "%.*s is no parameter and nothing else known here", (int)(n > 40 ? 40 : n),
                    name);
}

static tt_status read_atom(parser *p, tt__py *out) {
    items list = {0};
    if (p->token.kind == TT__PY_NUMBER)
        return read_number(p, out);
    if (p->token.kind == TT__PY_TEXT)
        return read_text(p, out);
    if (p->token.kind == TT__PY_NAME)
        return read_name(p, out);
    bool list_form = is(p, "[");
    if (!list_form && !is(p, "("))
        return unexpected(p, "a value");
    TT_TRY(next(p));
    if (list_form) {
        TT_TRY(read_items(p, &list, "]"));
        *out = (tt__py){.kind = TT__PY_LIST, .n = list.n, .items = list.at};
        return TT_OK;
    }
    TT_TRY(read_any(p, out));
    if (!is(p, ","))
        return expect(p, ")");
    TT_TRY(add_item(p, &list, out));
    TT_TRY(next(p));
    TT_TRY(read_items(p, &list, ")"));
    *out = (tt__py){.kind = TT__PY_LIST, .n = list.n, .items = list.at};
    return TT_OK;
}

static tt_status read_subscript(parser *p, tt__py *out) {
    tt__py index;
    TT_TRY(next(p));
    TT_TRY(read_any(p, &index));
    TT_TRY(expect(p, "]"));
    if (out->kind != TT__PY_LIST || index.kind != TT__PY_INT || !index.constant)
        return tt__fail(TT_E_INVALID, "[ ] behind what is no list, or with an index that is no number");
    if (index.value < 0)
        index.value += (int64_t)out->n;
    if (index.value < 0 || index.value >= (int64_t)out->n)
        return tt__fail(TT_E_INVALID, "[%lld] of a list of %zu", (long long)index.value, out->n);
    *out = out->items[index.value];
    return TT_OK;
}

/* ---- Operators ----------------------------------------------------------------------------------------- */

static tt_status read_factor(parser *p, tt__py *out);

static tt_status read_power(parser *p, tt__py *out) {
    tt__py r;
    bool found;
    TT_TRY(read_atom(p, out));
    while (is(p, "["))
        TT_TRY(read_subscript(p, out));
    TT_TRY(accept(p, "**", &found));
    if (!found)
        return TT_OK;
    TT_TRY(read_factor(p, &r));
    return tt__py_binary(out, p->arena, "**", *out, r);
}

static tt_status enter(parser *p) {
    return ++p->depth > TT__PY_NESTING_MAX
               ? tt__fail(TT_E_INVALID, "nested deeper than %d", TT__PY_NESTING_MAX)
               : TT_OK;
}

static tt_status read_factor(parser *p, tt__py *out) {
    char sign =
        p->token.kind == TT__PY_MARK && p->token.n == 1 && strchr("+-!~", *p->token.at) ? *p->token.at : 0;
    tt_status status = TT_OK;
    if (!sign)
        return read_power(p, out);
    TT_TRY(enter(p));
    TT_TRY(next(p));
    TT_TRY(read_factor(p, out));
    if (sign == '!')
        status = tt__py_not(out, p->arena, *out);
    else if (sign != '+')
        status = tt__py_minus(out, p->arena, *out);
    if (status == TT_OK && sign == '~') /* -v - 1 */
        status = tt__py_binary(out, p->arena, "-", *out, tt__py_integer(1));
    p->depth--;
    return status;
}

/* Operators that go from left to right, the weakest first. */
static const char *const rungs[][5] = {{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "//", "/", "%"}};
enum { RUNGS = sizeof rungs / sizeof *rungs };

static tt_status read_rung(parser *p, tt__py *out, size_t rung) {
    if (rung == RUNGS)
        return read_factor(p, out);
    TT_TRY(read_rung(p, out, rung + 1));
    for (;;) {
        const char *op = NULL;
        tt__py r;
        for (const char *const *sign = rungs[rung]; *sign; sign++)
            if (is(p, *sign))
                op = *sign;
        if (!op)
            return TT_OK;
        TT_TRY(next(p));
        TT_TRY(read_rung(p, &r, rung + 1));
        TT_TRY(tt__py_binary(out, p->arena, op, *out, r));
    }
}

/* One link of a chain a < b <= c, which is all of them. */
static tt_status read_link(parser *p, tt__py *out, tt__py *left, bool *found) {
    static const char *const comparisons[] = {"<=", ">=", "==", "!=", "<", ">"};
    const char *op = NULL;
    bool negated;
    tt__py r;
    for (size_t i = 0; i < 6; i++)
        if (is(p, comparisons[i]))
            op = comparisons[i];
    *found = op || is(p, "in") || is(p, "not");
    if (!*found)
        return TT_OK;
    TT_TRY(accept(p, "not", &negated));
    if (negated && !is(p, "in"))
        return unexpected(p, "`in`");
    TT_TRY(next(p));
    TT_TRY(read_rung(p, &r, 0));
    TT_TRY(op ? tt__py_compare(out, p->arena, op, *left, r) : tt__py_in(out, p->arena, *left, &r, negated));
    *left = r;
    return TT_OK;
}

static tt_status read_comparison(parser *p, tt__py *out) {
    tt__py left, link;
    bool found;
    TT_TRY(read_rung(p, &left, 0));
    *out = left;
    TT_TRY(read_link(p, out, &left, &found));
    while (found) {
        TT_TRY(read_link(p, &link, &left, &found));
        if (found)
            TT_TRY(tt__py_and_or(out, p->arena, true, *out, link));
    }
    return TT_OK;
}

static tt_status read_not(parser *p, tt__py *out) {
    bool found;
    TT_TRY(accept(p, "not", &found));
    if (!found)
        return read_comparison(p, out);
    TT_TRY(enter(p));
    TT_TRY(read_not(p, out));
    p->depth--;
    return tt__py_not(out, p->arena, *out);
}

static tt_status read_and_or(parser *p, tt__py *out, bool is_and) {
    tt__py r;
    TT_TRY(is_and ? read_not(p, out) : read_and_or(p, out, true));
    while (is(p, is_and ? "and" : "or") || is(p, is_and ? "&&" : "||")) {
        TT_TRY(next(p));
        TT_TRY(is_and ? read_not(p, &r) : read_and_or(p, &r, true));
        TT_TRY(tt__py_and_or(out, p->arena, is_and, *out, r));
    }
    return TT_OK;
}

/* Behind the list of a comprehension `if` is the comprehension's own. */
static tt_status read_any(parser *p, tt__py *out) {
    tt__py condition, no;
    TT_TRY(enter(p));
    TT_TRY(read_and_or(p, out, false));
    if (is(p, "if") && out->kind != TT__PY_LIST) {
        TT_TRY(next(p));
        TT_TRY(read_and_or(p, &condition, false));
        TT_TRY(expect(p, "else"));
        TT_TRY(read_any(p, &no));
        TT_TRY(tt__py_if(out, p->arena, condition, *out, no));
    }
    p->depth--;
    return TT_OK;
}

tt_status tt__py_read(tt__py *out, tt__py_arena *arena, const char *text, const tt__py_name *names,
                      size_t n) {
    parser p = {.arena = arena, .names = names, .n_names = n};
    if (strlen(text) > TT__PY_TEXT_MAX)
        return tt__fail(TT_E_INVALID, "%zu characters, the limit is %d", strlen(text), TT__PY_TEXT_MAX);
    TT_TRY(lex(&p, text));
    if (p.token.kind == TT__PY_END)
        return tt__fail(TT_E_INVALID, "it is empty");
    TT_TRY(read_any(&p, out));
    return p.token.kind == TT__PY_END ? TT_OK : unexpected(&p, "an operator or the end");
}
