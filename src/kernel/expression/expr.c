/*
 * Compiles expressions to trees and evaluates them.
 *
 * The scanner (scan.c) lets only listed words and signs pass. What it writes has one blank after each token,
 * quoted names, and balanced parentheses. The parser climbs precedence: it reads an operand, then every
 * operator that binds at least as tightly as asked for. Names are resolved to places here, so that an
 * evaluation compares no text.
 *
 * Operators are SQL's, with their precedence and their three-valued logic, so NULL means "unknown".
 */
#include "kernel/expression/expr.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/str.h"

enum { DEPTH_MAX = 100 }; /* of a tree, with the `let` lines that it uses */

typedef enum kind {
    CONSTANT,
    PARAMETER,
    VARIABLE, /* a number */
    TYPE,     /* a variable that is a type */
    FACT,
    TIME,
    LET,
    NEGATE,
    COMPLEMENT,
    NOT,
    OR,
    AND,
    IS,
    EQUAL,
    LESS,
    LESS_EQUAL,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    REMAINDER,
    AND_BITS,
    OR_BITS,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    IS_TRUTH, /* IS TRUE (1) or IS FALSE (0) */
    BETWEEN,
    IN,
    CASE,      /* WHEN, THEN, ..., ELSE */
    CASE_WITH, /* the same, behind the value to compare with */
    CALL
} kind;

/* A node's children are its first one and the siblings of that; 0: none, as the root has index 0. */
typedef struct node {
    uint8_t kind, place, n; /* place: of the name or the function, or 1 for TRUE and FALSE; n: children */
    uint16_t first, next;
    tt__value value; /* of a constant */
} node;

typedef struct tt__code {
    int depth;
    size_t n;
    node nodes[]; /* the root comes first */
} code;

/* ---- Evaluation ---------------------------------------------------------------------------------------- */

static bool is_null(tt__value v) {
    return v.kind == TT__VALUE_NULL;
}

/* A real is cut to a whole number, at most the largest one. */
static int64_t integer_of(tt__value v) {
    return v.kind == TT__VALUE_INT    ? v.i
           : v.kind != TT__VALUE_REAL ? 0
           : v.f >= 0x1p63            ? INT64_MAX
           : v.f <= -0x1p63           ? INT64_MIN
                                      : (int64_t)v.f;
}

static tt__value arithmetic(kind k, tt__value a, tt__value b) {
    int64_t i;
    if (is_null(a) || is_null(b))
        return tt__value_null();
    const bool whole = a.kind != TT__VALUE_REAL && b.kind != TT__VALUE_REAL;
    const double x = tt__value_number(a), y = tt__value_number(b);
    const int64_t p = integer_of(a), q = integer_of(b);
    if (k == ADD)
        return whole && !__builtin_add_overflow(p, q, &i) ? tt__value_int(i) : tt__value_real(x + y);
    if (k == SUBTRACT)
        return whole && !__builtin_sub_overflow(p, q, &i) ? tt__value_int(i) : tt__value_real(x - y);
    if (k == MULTIPLY)
        return whole && !__builtin_mul_overflow(p, q, &i) ? tt__value_int(i) : tt__value_real(x * y);
    if (k == DIVIDE) {
        if (y == 0)
            return tt__value_null();
        return whole && !(p == INT64_MIN && q == -1) ? tt__value_int(p / q) : tt__value_real(x / y);
    }
    if (q == 0) /* REMAINDER */
        return tt__value_null();
    i = q == -1 ? 0 : p % q;
    return whole ? tt__value_int(i) : tt__value_real((double)i);
}

static tt__value shift(int64_t a, int64_t by) {
    if (by <= -64 || by >= 64)
        return tt__value_int(by > 0 || a >= 0 ? 0 : -1);
    return tt__value_int(by >= 0 ? (int64_t)((uint64_t)a << by) : a >> -by);
}

static tt__value bits(kind k, tt__value a, tt__value b) {
    if (is_null(a) || is_null(b))
        return tt__value_null();
    const int64_t p = integer_of(a), q = integer_of(b);
    return k == AND_BITS     ? tt__value_int(p & q)
           : k == OR_BITS    ? tt__value_int(p | q)
           : k == SHIFT_LEFT ? shift(p, q)
           : q == INT64_MIN  ? shift(p, INT64_MAX)
                             : shift(p, -q);
}

static tt__value compare(kind k, tt__value a, tt__value b) {
    if (k == IS)
        return tt__value_int(is_null(a) || is_null(b) ? is_null(a) && is_null(b)
                                                      : tt__value_compare(a, b) == 0);
    if (is_null(a) || is_null(b))
        return tt__value_null();
    const int order = tt__value_compare(a, b);
    return tt__value_int(k == EQUAL ? order == 0 : k == LESS ? order < 0 : order <= 0);
}

static tt__value invert(tt__value v) {
    return is_null(v) ? v : tt__value_int(!tt__value_holds(v));
}

static tt__value both(tt__value a, tt__value b) {
    if ((!is_null(a) && !tt__value_holds(a)) || (!is_null(b) && !tt__value_holds(b)))
        return tt__value_int(0);
    return is_null(a) || is_null(b) ? tt__value_null() : tt__value_int(1);
}

static tt__value evaluate_inner(const code *c, const node *n, tt__inputs *in);

static inline tt__value evaluate_let(size_t i, tt__inputs *in) {
    if (!(in->known >> i & 1)) {
        in->lets[i] = tt__expr_value(in, &in->t->derived[i].value);
        in->known |= 1u << i;
    }
    return in->lets[i];
}

/* Inlined, as most nodes are leaves. */
static inline tt__value evaluate(const code *c, size_t at, tt__inputs *in) {
    const node *n = &c->nodes[at];
    switch ((kind)n->kind) {
    case CONSTANT:
        return n->value;
    case PARAMETER:
        return in->chosen ? in->t->params[n->place].typed[in->choice[n->place]] : tt__value_null();
    case VARIABLE:
        return tt__value_int(in->facts->variables[n->place]);
    case TYPE:
        return tt__value_word(tt__types[in->facts->variables[n->place]].name);
    case FACT:
        return tt__value_int(in->facts->values[n->place]);
    case TIME:
        return tt__value_real(in->facts->time_ns);
    case LET:
        return evaluate_let(n->place, in);
    default:
        return evaluate_inner(c, n, in);
    }
}

static tt__value evaluate_in(const code *c, const node *n, tt__inputs *in) {
    const tt__value v = evaluate(c, n->first, in);
    bool unknown = is_null(v);
    for (size_t at = c->nodes[n->first].next; at; at = c->nodes[at].next) {
        const tt__value other = evaluate(c, at, in);
        if (!is_null(v) && !is_null(other) && tt__value_compare(v, other) == 0)
            return tt__value_int(1);
        unknown |= is_null(other);
    }
    return unknown ? tt__value_null() : tt__value_int(0);
}

static tt__value evaluate_case(const code *c, const node *n, tt__inputs *in) {
    const bool compares = n->kind == CASE_WITH;
    const tt__value base = compares ? evaluate(c, n->first, in) : tt__value_null();
    size_t at = compares ? c->nodes[n->first].next : n->first;
    while (at && c->nodes[at].next) {
        tt__value when = evaluate(c, at, in);
        if (compares)
            when = compare(EQUAL, base, when);
        at = c->nodes[at].next;
        if (tt__value_holds(when))
            return evaluate(c, at, in);
        at = c->nodes[at].next;
    }
    return at ? evaluate(c, at, in) : tt__value_null();
}

static tt__value evaluate_call(const code *c, const node *n, tt__inputs *in) {
    tt__value args[TT__EXPR_ARGS_MAX];
    int k = 0;
    for (size_t at = n->first; at; at = c->nodes[at].next)
        args[k++] = evaluate(c, at, in);
    return tt__functions[n->place].call(in->facts, args, k);
}

static tt__value evaluate_between(const code *c, const node *n, tt__inputs *in) {
    const size_t least = c->nodes[n->first].next;
    const tt__value v = evaluate(c, n->first, in);
    return both(compare(LESS_EQUAL, evaluate(c, least, in), v),
                compare(LESS_EQUAL, v, evaluate(c, c->nodes[least].next, in)));
}

/* Nodes of other than one or two children. This and what follows is out of line, for its frame. */
static __attribute__((noinline)) tt__value evaluate_many(const code *c, const node *n, tt__inputs *in) {
    return n->kind == BETWEEN ? evaluate_between(c, n, in)
           : n->kind == IN    ? evaluate_in(c, n, in)
           : n->kind == CALL  ? evaluate_call(c, n, in)
                              : evaluate_case(c, n, in);
}

static __attribute__((noinline)) tt__value of_one(const node *n, tt__value a) {
    return n->kind == NOT        ? invert(a)
           : n->kind == IS_TRUTH ? tt__value_int(!is_null(a) && tt__value_holds(a) == n->place)
           : is_null(a)          ? a
           : n->kind == NEGATE   ? arithmetic(SUBTRACT, tt__value_int(0), a)
                                 : tt__value_int(~integer_of(a));
}

static __attribute__((noinline)) tt__value of_two(kind k, tt__value a, tt__value b) {
    return k == AND          ? both(a, b)
           : k == OR         ? invert(both(invert(a), invert(b)))
           : k <= LESS_EQUAL ? compare(k, a, b)
           : k <= REMAINDER  ? arithmetic(k, a, b)
                             : bits(k, a, b);
}

/* As of_two, of what nearly all operators have. False: the result takes more than this. */
static inline bool of_integers(tt__value *out, kind k, int64_t a, int64_t b) {
    int64_t i;
    switch (k) {
    case OR:
        return *out = tt__value_int(a || b), true;
    case AND:
        return *out = tt__value_int(a && b), true;
    case EQUAL:
        return *out = tt__value_int(a == b), true;
    case LESS:
        return *out = tt__value_int(a < b), true;
    case LESS_EQUAL:
        return *out = tt__value_int(a <= b), true;
    case ADD:
        return !__builtin_add_overflow(a, b, &i) && (*out = tt__value_int(i), true);
    case SUBTRACT:
        return !__builtin_sub_overflow(a, b, &i) && (*out = tt__value_int(i), true);
    case MULTIPLY:
        return !__builtin_mul_overflow(a, b, &i) && (*out = tt__value_int(i), true);
    case DIVIDE:
        return b > 0 && (*out = tt__value_int(a / b), true);
    case REMAINDER:
        return b > 0 && (*out = tt__value_int(a % b), true);
    default:
        return false;
    }
}

static tt__value evaluate_inner(const code *c, const node *n, tt__inputs *in) {
    const kind k = (kind)n->kind;
    tt__value out;
    if (k >= BETWEEN)
        return evaluate_many(c, n, in);
    const tt__value a = evaluate(c, n->first, in);
    if (n->n == 1)
        return of_one(n, a);
    if (k == AND && !is_null(a) && !tt__value_holds(a))
        return tt__value_int(0);
    if (k == OR && tt__value_holds(a))
        return tt__value_int(1);
    const tt__value b = evaluate(c, c->nodes[n->first].next, in);
    const bool integers = a.kind == TT__VALUE_INT && b.kind == TT__VALUE_INT;
    return integers && of_integers(&out, k, a.i, b.i) ? out : of_two(k, a, b);
}

void tt__inputs_start(tt__inputs *in, const tt__template *t, const tt__facts *facts, const size_t *choice) {
    in->t = t;
    in->facts = facts;
    in->chosen = choice != NULL;
    in->known = 0;
    in->spent = 0;
    for (size_t i = 0; choice && i < t->n_params; i++)
        in->choice[i] = (unsigned char)choice[i];
}

tt__value tt__expr_value(tt__inputs *in, const tt__expr *e) {
    in->spent++;
    return e->code ? evaluate(e->code, 0, in) : tt__value_null();
}

/* ---- What is certain ----------------------------------------------------------------------------------- */

static bool is_certain(const code *c, size_t at, tt__inputs *in, uint64_t given);

static bool are_certain(const code *c, size_t at, tt__inputs *in, uint64_t given) {
    bool all = true;
    for (; at && all; at = c->nodes[at].next)
        all = is_certain(c, at, in, given);
    return all;
}

/* One operand of AND or OR may decide alone. */
static bool decides(const code *c, size_t at, tt__inputs *in, uint64_t given, bool truth) {
    if (!is_certain(c, at, in, given))
        return false;
    const tt__value v = evaluate(c, at, in);
    return !is_null(v) && tt__value_holds(v) == truth;
}

/* Only the first condition that holds counts, and what follows it. */
static bool is_certain_case(const code *c, size_t at, tt__inputs *in, uint64_t given) {
    for (; at && c->nodes[at].next; at = c->nodes[c->nodes[at].next].next) {
        if (!is_certain(c, at, in, given))
            return false;
        if (tt__value_holds(evaluate(c, at, in)))
            return is_certain(c, c->nodes[at].next, in, given);
    }
    return !at || is_certain(c, at, in, given);
}

static bool is_certain(const code *c, size_t at, tt__inputs *in, uint64_t given) {
    const node *n = &c->nodes[at];
    const kind k = (kind)n->kind;
    if (k == VARIABLE || k == TYPE)
        return given >> n->place & 1;
    if (k == FACT || k == TIME)
        return k == FACT && n->place >= TT__FACT_MAX_THREADS;
    if (k == LET)
        return tt__expr_is_certain(in, &in->t->derived[n->place].value, given);
    if (k == CASE)
        return is_certain_case(c, n->first, in, given);
    if ((k == AND || k == OR) &&
        (decides(c, n->first, in, given, k == OR) || decides(c, c->nodes[n->first].next, in, given, k == OR)))
        return true;
    return !(k == CALL && tt__functions[n->place].of_problem) && are_certain(c, n->first, in, given);
}

bool tt__expr_is_certain(tt__inputs *in, const tt__expr *e, uint64_t given) {
    return !e->code || is_certain(e->code, 0, in, given);
}

bool tt__expr_is_number(const tt__expr *e) {
    return e->code && e->code->nodes[0].kind == VARIABLE;
}

/* ---- Walking through combinations ---------------------------------------------------------------------- */

typedef struct walk {
    tt__inputs *in;
    uint32_t vary;
    bool filter;
    tt__visit_fn fn;
    void *user;
} walk;

/* Do the wheres hold that use no parameter after the first k, and one of them for the first time? */
static bool holds(const walk *w, size_t k) {
    const tt__template *t = w->in->t;
    for (size_t i = 0; i < t->n_wheres; i++) {
        const uint32_t uses = t->wheres[i].uses;
        const size_t after = uses ? 32 - (size_t)__builtin_clz(uses) : 0; /* parameters up to the last used */
        if (after == k && !(uses & ~w->vary) && !tt__value_holds(tt__expr_value(w->in, &t->wheres[i])))
            return false;
    }
    return true;
}

static tt_status fail_large(const tt__template *t) {
    return tt__fail(TT_E_TEMPLATE,
                    "%s: the space is too large to go through; take away parameters or values, or let a "
                    "`where` on the first parameters exclude more",
                    t->path);
}

/* The first k parameters have their values. */
static tt_status visit(const walk *w, size_t k) {
    const tt__template *t = w->in->t;
    if (w->in->spent > TT__EVALUATIONS_MAX)
        return fail_large(t);
    w->in->known = 0;
    w->in->spent++;
    if (w->filter && !holds(w, k))
        return TT_OK;
    if (k == t->n_params)
        return w->fn(w->user, w->in);
    if (!(w->vary >> k & 1))
        return visit(w, k + 1);
    for (size_t i = 0; i < t->params[k].n_values; i++) {
        w->in->choice[k] = (unsigned char)i;
        TT_TRY(visit(w, k + 1));
    }
    return TT_OK;
}

tt_status tt__expr_walk(tt__inputs *in, uint32_t vary, bool filter, tt__visit_fn fn, void *user) {
    const walk w = {.in = in, .vary = vary, .filter = filter, .fn = fn, .user = user};
    double combinations = 1;
    for (size_t k = 0; k < in->t->n_params; k++)
        combinations *= vary >> k & 1 ? (double)in->t->params[k].n_values : 1;
    if (!filter && combinations > TT__EVALUATIONS_MAX) /* each takes one at least */
        return fail_large(in->t);
    in->chosen = true;
    memset(in->choice, 0, sizeof in->choice);
    return visit(&w, 0);
}

/* ---- Compiling ----------------------------------------------------------------------------------------- */

typedef struct parser {
    const tt__template *t;
    const tt__expr *e;
    const char *token; /* the next one, n characters; n is 0 at the end */
    size_t n;
    int depth, deepest;
    uint32_t uses;
    size_t n_nodes;
    node *nodes;
} parser;

/* How tightly operators bind. */
enum { OF_OR = 1, OF_AND, OF_NOT, OF_EQUAL, OF_ORDER, OF_BITS, OF_SUM, OF_PRODUCT, OF_SIGN };

static const struct {
    const char *sign;
    int binds;
    kind kind;
    bool inverted, turned; /* a <> b is NOT a = b, and a > b is b < a */
} operators[] = {
    {"OR", OF_OR, OR, false, false},
    {"AND", OF_AND, AND, false, false},
    {"=", OF_EQUAL, EQUAL, false, false},
    {"==", OF_EQUAL, EQUAL, false, false},
    {"<>", OF_EQUAL, EQUAL, true, false},
    {"!=", OF_EQUAL, EQUAL, true, false},
    {"IS", OF_EQUAL, IS, false, false},
    {"BETWEEN", OF_EQUAL, BETWEEN, false, false},
    {"IN", OF_EQUAL, IN, false, false},
    {"<", OF_ORDER, LESS, false, false},
    {"<=", OF_ORDER, LESS_EQUAL, false, false},
    {">", OF_ORDER, LESS, false, true},
    {">=", OF_ORDER, LESS_EQUAL, false, true},
    {"&", OF_BITS, AND_BITS, false, false},
    {"|", OF_BITS, OR_BITS, false, false},
    {"<<", OF_BITS, SHIFT_LEFT, false, false},
    {">>", OF_BITS, SHIFT_RIGHT, false, false},
    {"+", OF_SUM, ADD, false, false},
    {"-", OF_SUM, SUBTRACT, false, false},
    {"*", OF_PRODUCT, MULTIPLY, false, false},
    {"/", OF_PRODUCT, DIVIDE, false, false},
    {"%", OF_PRODUCT, REMAINDER, false, false},
};

static tt_status parse(parser *p, int binds, uint16_t *out);

static void advance(parser *p) {
    p->token += p->n;
    p->token += strspn(p->token, " \n");
    p->n = strcspn(p->token, " \n");
}

static bool next_is(const parser *p, const char *word) {
    return p->n && tt__same_word(p->token, p->n, word);
}

static bool take(parser *p, const char *word) {
    const bool yes = next_is(p, word);
    if (yes)
        advance(p);
    return yes;
}

static tt_status fail_at(const parser *p, const char *expected) {
    return tt__template_fail(
        p->t->path, p->e->line, p->e->column, "`%.200s` is not an expression: found %s%.*s%s%s", p->e->text,
        p->n ? "'" : "its end", (int)(p->n > 40 ? 40 : p->n), p->token, p->n ? "'" : "", expected);
}

static tt_status want(parser *p, const char *word) {
    char expected[32];
    tt__format(expected, sizeof expected, ", expected %s", word);
    return take(p, word) ? TT_OK : fail_at(p, expected);
}

/* Adds a node behind its children, of which the first is given. */
static tt_status add(parser *p, uint16_t *out, node n) {
    TT_TRY(TT__GROW(p->nodes, p->n_nodes));
    for (size_t at = n.first; at; at = p->nodes[at].next)
        n.n++;
    p->nodes[p->n_nodes] = n;
    *out = (uint16_t)p->n_nodes++;
    return TT_OK;
}

static tt_status wrap(parser *p, uint16_t *at, kind k) {
    return add(p, at, (node){.kind = (uint8_t)k, .first = *at});
}

static tt_status add_constant(parser *p, uint16_t *out, tt__value v) {
    return add(p, out, (node){.kind = CONSTANT, .value = v});
}

/* Appends the operand to the siblings that begin with *first. */
static tt_status parse_sibling(parser *p, int binds, uint16_t *first) {
    uint16_t at;
    TT_TRY(parse(p, binds, &at));
    if (!*first) {
        *first = at;
        return TT_OK;
    }
    size_t last = *first;
    while (p->nodes[last].next)
        last = p->nodes[last].next;
    p->nodes[last].next = at;
    return TT_OK;
}

static tt_status parse_list(parser *p, uint16_t *first) {
    TT_TRY(want(p, "("));
    do
        TT_TRY(parse_sibling(p, OF_OR, first));
    while (take(p, ","));
    return want(p, ")");
}

static tt_status parse_call(parser *p, size_t function, uint16_t *out) {
    node n = {.kind = tt__functions[function].call ? CALL : CASE, .place = (uint8_t)function};
    advance(p);
    TT_TRY(parse_list(p, &n.first));
    return add(p, out, n);
}

static tt_status parse_case(parser *p, uint16_t *out) {
    node n = {.kind = CASE};
    bool any = false;
    if (!next_is(p, "WHEN")) {
        n.kind = CASE_WITH;
        TT_TRY(parse_sibling(p, OF_OR, &n.first));
    }
    for (; take(p, "WHEN"); any = true) {
        TT_TRY(parse_sibling(p, OF_OR, &n.first));
        TT_TRY(want(p, "THEN"));
        TT_TRY(parse_sibling(p, OF_OR, &n.first));
    }
    if (!any)
        return fail_at(p, ", expected WHEN");
    if (take(p, "ELSE"))
        TT_TRY(parse_sibling(p, OF_OR, &n.first));
    TT_TRY(want(p, "END"));
    return add(p, out, n);
}

/* A number beyond 64 bits is real, unless it is hexadecimal. */
static tt_status parse_number(parser *p, uint16_t *out) {
    char text[TT__EXPR_MAX + 1];
    tt__format(text, sizeof text, "%.*s", (int)p->n, p->token);
    advance(p);
    if (strpbrk(text, "xX")) {
        const char *digits = text + 2 + strspn(text + 2, "0");
        if (strlen(digits) > 16)
            return tt__template_fail(p->t->path, p->e->line, p->e->column,
                                     "`%.200s` is not an expression: %.40s has more than 64 bits", p->e->text,
                                     text);
        return add_constant(p, out, tt__value_int((int64_t)strtoull(digits, NULL, 16)));
    }
    const bool whole = strspn(text, "0123456789") == strlen(text);
    const size_t zeros = strspn(text, "0"), digits = strlen(text) - zeros;
    if (whole && (digits < 19 || (digits == 19 && strcmp(text + zeros, "9223372036854775807") <= 0)))
        return add_constant(p, out, tt__value_int(strtoll(text, NULL, 10)));
    return add_constant(p, out, tt__value_real(tt__strtod(text, NULL)));
}

/* A word between quotes lives as long as the template: it is the value of a parameter, or a type. */
static tt_status parse_string(parser *p, uint16_t *out) {
    const tt__scope scope = {p->t, p->e};
    const char *text = tt__scope_value(&scope, p->token + 1, p->n - 2, NULL);
    advance(p);
    return add_constant(p, out, tt__value_word(text));
}

static tt_status parse_name(parser *p, uint16_t *out) {
    const tt__scope scope = {p->t, p->e};
    const char *name = p->token + 1;
    const size_t n = p->n - 2;
    const tt__derived *derived = tt__scope_derived(&scope, name, n);
    const tt__param *param = tt__template_param(p->t, name, n);
    const tt__variable *v = tt__operation_variable(p->t->operation, name, n);
    node new = {.kind = FACT};
    if (derived) {
        const code *c = derived->value.code;
        new.kind = LET;
        new.place = (uint8_t)(derived - p->t->derived);
        p->uses |= derived->value.uses;
        p->deepest = p->depth + c->depth > p->deepest ? p->depth + c->depth : p->deepest;
    } else if (param) {
        new.kind = PARAMETER;
        new.place = (uint8_t)(param - p->t->params);
        p->uses |= UINT32_C(1) << new.place;
    } else if (v) {
        new.kind = v->n_types ? TYPE : VARIABLE;
        new.place = (uint8_t)(v - p->t->operation->variables);
    } else {
        while (new.place < TT__FACT_TIME_NS && !tt__word_is(name, n, tt__fact_names[new.place]))
            new.place++;
        new.kind = new.place == TT__FACT_TIME_NS ? TIME : FACT;
    }
    advance(p);
    return add(p, out, new);
}

static tt_status parse_operand(parser *p, uint16_t *out) {
    if (take(p, "(")) {
        TT_TRY(parse(p, OF_OR, out));
        return want(p, ")");
    }
    if (take(p, "NOT")) {
        TT_TRY(parse(p, OF_NOT, out));
        return wrap(p, out, NOT);
    }
    if (next_is(p, "-") || next_is(p, "+") || next_is(p, "~")) {
        const char sign = *p->token;
        advance(p);
        TT_TRY(parse(p, OF_SIGN, out));
        return sign == '+' ? TT_OK : wrap(p, out, sign == '-' ? NEGATE : COMPLEMENT);
    }
    if (take(p, "CASE"))
        return parse_case(p, out);
    if (take(p, "NULL"))
        return add_constant(p, out, tt__value_null());
    if (next_is(p, "TRUE") || next_is(p, "FALSE")) {
        const bool yes = next_is(p, "TRUE");
        advance(p);
        return add(p, out, (node){.kind = CONSTANT, .place = 1, .value = tt__value_int(yes)});
    }
    if (p->n && *p->token == '\'')
        return parse_string(p, out);
    if (p->n && *p->token == '"')
        return parse_name(p, out);
    if (p->n && tt__is_digit(*p->token))
        return parse_number(p, out);
    for (size_t i = 0; i < tt__n_functions; i++)
        if (next_is(p, tt__functions[i].name))
            return parse_call(p, i, out);
    return fail_at(p, ", expected a value");
}

/* After IS: perhaps NOT. Each number is TRUE or FALSE, and not only 1 or 0. */
static tt_status parse_is(parser *p, uint16_t *left) {
    const bool inverted = take(p, "NOT");
    node n = {.kind = IS, .first = *left};
    uint16_t right;
    TT_TRY(parse(p, OF_EQUAL + 1, &right));
    if (p->nodes[right].kind == CONSTANT && p->nodes[right].place) {
        n.kind = IS_TRUTH;
        n.place = p->nodes[right].value.i != 0;
    } else {
        p->nodes[*left].next = right;
    }
    TT_TRY(add(p, left, n));
    return inverted ? wrap(p, left, NOT) : TT_OK;
}

/* What follows an operator's sign. */
static tt_status parse_right(parser *p, size_t op, uint16_t *left) {
    node n = {.kind = (uint8_t)operators[op].kind, .first = *left};
    if (n.kind == IS)
        return parse_is(p, left);
    if (n.kind == IN) {
        TT_TRY(parse_list(p, &n.first));
    } else if (n.kind == BETWEEN) {
        TT_TRY(parse_sibling(p, OF_NOT, &n.first));
        TT_TRY(want(p, "AND"));
        TT_TRY(parse_sibling(p, OF_EQUAL + 1, &n.first));
    } else if (operators[op].turned) {
        n.first = 0;
        TT_TRY(parse_sibling(p, operators[op].binds + 1, &n.first));
        p->nodes[n.first].next = *left;
    } else {
        TT_TRY(parse_sibling(p, operators[op].binds + 1, &n.first));
    }
    TT_TRY(add(p, left, n));
    return operators[op].inverted ? wrap(p, left, NOT) : TT_OK;
}

static tt_status parse_operators(parser *p, int binds, uint16_t *out) {
    TT_TRY(parse_operand(p, out));
    while (p->n) {
        const bool inverted = next_is(p, "NOT");
        if (inverted && binds > OF_EQUAL)
            return TT_OK;
        if (inverted)
            advance(p);
        size_t op = 0;
        while (op < TT__COUNT(operators) && !next_is(p, operators[op].sign))
            op++;
        const bool known = op < TT__COUNT(operators);
        if (inverted && !(known && (operators[op].kind == IN || operators[op].kind == BETWEEN)))
            return fail_at(p, ", expected IN or BETWEEN after NOT");
        if (!known || operators[op].binds < binds)
            return TT_OK;
        advance(p);
        TT_TRY(parse_right(p, op, out));
        if (inverted)
            TT_TRY(wrap(p, out, NOT));
    }
    return TT_OK;
}

static tt_status parse(parser *p, int binds, uint16_t *out) {
    if (++p->depth > DEPTH_MAX || p->deepest > DEPTH_MAX)
        return tt__template_fail(p->t->path, p->e->line, p->e->column,
                                 "`%.200s` is nested too deeply: use `let` lines", p->e->text);
    p->deepest = p->depth > p->deepest ? p->depth : p->deepest;
    tt_status status = parse_operators(p, binds, out);
    p->depth--;
    return status;
}

/* The root was added last, and goes to place 0, which was left free for it. */
static tt_status finish(tt__template *owner, tt__expr *e, const parser *p, uint16_t root) {
    code *c = calloc(1, sizeof *c + p->n_nodes * sizeof *c->nodes);
    if (!c)
        return tt__fail_memory(sizeof *c + p->n_nodes * sizeof *c->nodes);
    *c = (code){.depth = p->deepest, .n = p->n_nodes};
    memcpy(c->nodes, p->nodes, p->n_nodes * sizeof *c->nodes);
    c->nodes[0] = c->nodes[root];
    tt_status status = tt__template_keep_memory(owner, c);
    if (status == TT_OK)
        e->code = c;
    e->uses = p->uses;
    return status;
}

/* `t` has the names in scope, and `owner` keeps the code. */
static tt_status compile(tt__template *owner, const tt__template *t, tt__expr *e) {
    tt__str text = {0};
    parser p = {.t = t, .e = e};
    uint16_t root = 0;
    tt_status status = TT_OK;
    if (!e->text)
        return TT_OK;
    TT_GOTO(tt__expr_scan(&text, t, e));
    p.token = text.text;
    advance(&p);
    TT_GOTO(add(&p, &root, (node){.kind = CONSTANT}));
    TT_GOTO(parse(&p, OF_OR, &root));
    if (p.n)
        TT_GOTO(fail_at(&p, ", expected an operator or the end"));
    TT_GOTO(finish(owner, e, &p, root));
out:
    free(p.nodes);
    tt__str_free(&text);
    return status;
}

static tt_status compile_launch(tt__template *t, tt__geometry_expr *g) {
    tt__expr *const all[] = {&g->block[0], &g->block[1],   &g->block[2],   &g->grid[0],    &g->grid[1],
                             &g->grid[2],  &g->cluster[0], &g->cluster[1], &g->cluster[2], &g->shared,
                             &g->when,     &g->repeat,     &g->from,       &g->step};
    for (size_t i = 0; i < TT__COUNT(all); i++)
        TT_TRY(compile(t, t, all[i]));
    for (int i = g->first_arg; i < g->first_arg + g->n_args; i++) {
        const tt__arg_expr *a = &t->args[i];
        if (a->type != TT__TYPE_NONE && !a->of_turn)
            TT_TRY(compile(t, t, &t->args[i].value));
        for (int k = a->first_field; k < a->first_field + a->n_fields; k++)
            if (t->fields[k].type != TT__TYPE_NONE)
                TT_TRY(compile(t, t, &t->fields[k].value));
    }
    return TT_OK;
}

static tt_status compile_map(tt__template *t, tt__map_expr *m) {
    for (int i = 0; i < TT__RANK_MAX; i++) {
        TT_TRY(compile(t, t, &m->dims[i]));
        TT_TRY(compile(t, t, &m->box[i]));
        TT_TRY(compile(t, t, &m->strides[i]));
        TT_TRY(compile(t, t, &m->steps[i]));
    }
    TT_TRY(compile(t, t, &m->swizzle));
    return compile(t, t, &m->l2);
}

/* Defaults and most lengths depend on the problem only, so parameters are not in scope. */
static tt_status compile_operation(tt__template *t) {
    tt__operation *op = t->own;
    tt__template *problem = calloc(1, sizeof *problem); /* large for a stack */
    tt_status status = problem ? TT_OK : tt__fail_memory(sizeof *problem);
    if (!problem)
        return status;
    problem->path = t->path;
    problem->operation = op;
    for (size_t i = 0; i < op->n_variables; i++)
        TT_GOTO(compile(t, problem, &op->variables[i].value));
    for (size_t i = 0; i < op->n_operands; i++) {
        if (!op->operands[i].by_config)
            TT_GOTO(compile(t, problem, &op->operands[i].count));
        for (int k = 0; k < 2; k++)
            TT_GOTO(compile(t, problem, &op->operands[i].bounds[k]));
    }
    for (size_t i = 0; i < op->n_requires; i++)
        TT_GOTO(compile(t, problem, &op->requires[i]));
out:
    free(problem);
    return status;
}

/* One cubin serves all problems, so this compiler option may depend on parameters only. */
static tt_status compile_max_regs(tt__template *t) {
    tt__template *params = malloc(sizeof *params); /* large for a stack */
    if (!params)
        return tt__fail_memory(sizeof *params);
    *params = *t;
    params->operation = NULL;
    tt_status status = compile(t, params, &t->max_regs);
    free(params);
    return status;
}

/* A value of a parameter, as expressions see it: an integer, a real, or a word. */
static tt__value value_of_text(const char *text) {
    const size_t n = strlen(text);
    return tt__truth(text, n) >= 0   ? tt__value_int(tt__truth(text, n))
           : tt__is_integer(text, n) ? tt__value_int(strtoll(text, NULL, 10))
           : tt__is_real(text, n)    ? tt__value_real(tt__strtod(text, NULL))
                                     : tt__value_word(text);
}

static tt_status read_values(tt__template *t) {
    for (size_t i = 0; i < t->n_params; i++) {
        tt__param *p = &t->params[i];
        tt__value *typed = calloc(p->n_values ? p->n_values : 1, sizeof *typed);
        if (!typed)
            return tt__fail_memory(p->n_values * sizeof *typed);
        TT_TRY(tt__template_keep_memory(t, typed));
        for (size_t k = 0; k < p->n_values; k++)
            typed[k] = value_of_text(p->values[k]);
        p->typed = typed;
    }
    return TT_OK;
}

tt_status tt__expr_compile(tt__template *t) {
    TT_TRY(read_values(t));
    if (t->own)
        TT_TRY(compile_operation(t));
    if (t->max_regs.text)
        TT_TRY(compile_max_regs(t));
    for (size_t i = 0; i < t->n_derived; i++)
        TT_TRY(compile(t, t, &t->derived[i].value));
    for (size_t i = 0; i < t->n_wheres; i++)
        TT_TRY(compile(t, t, &t->wheres[i]));
    for (size_t i = 0; i < t->n_maps; i++)
        TT_TRY(compile_map(t, &t->maps[i]));
    for (int i = 0; i < t->n_passes; i++)
        TT_TRY(compile_launch(t, &t->passes[i]));
    for (int role = 0; t->own && role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < t->own->asides[role].n; i++)
            TT_TRY(compile_launch(t, &t->own->asides[role].launches[i]));
    for (size_t i = 0; t->own && i < t->own->n_operands; i++)
        if (t->own->operands[i].by_config)
            TT_TRY(compile(t, t, &t->own->operands[i].count));
    for (size_t i = 0; t->own && i < t->own->n_metrics; i++)
        TT_TRY(compile(t, t, &t->own->metrics[i].value));
    return TT_OK;
}
