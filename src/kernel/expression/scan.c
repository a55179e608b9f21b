/*
 * Looks names up and says why one is unknown, has the functions, and reads an expression once from left to
 * right. Everything in the tables passes, and everything else is refused with its place. A stack of
 * parentheses tells whether a comma separates arguments or members of a list. No expression can close a
 * parenthesis that it did not open.
 */
#include "kernel/expression/scan.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "kernel/expression/permute_any.h"

/* ---- Functions: NULL for whatever has no answer, so that no configuration can fail --------------------- */

static tt__value ceil_div(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts, (void)n;
    if (!tt__value_is_number(v[0]) || !tt__value_holds(v[1]))
        return tt__value_null();
    if (v[0].kind == TT__VALUE_REAL || v[1].kind == TT__VALUE_REAL)
        return tt__value_real(ceil(tt__value_number(v[0]) / tt__value_number(v[1])));
    int64_t a = v[0].i, b = v[1].i;
    if (a == INT64_MIN && b == -1)
        return tt__value_null();
    return tt__value_int(a / b + (a % b != 0 && (a < 0) == (b < 0)));
}

/* The least (-1) or the largest (1) of all; NULL if one is. */
static tt__value extreme(const tt__value *v, int n, int sign) {
    tt__value best = v[0];
    for (int i = 0; i < n; i++) {
        if (v[i].kind == TT__VALUE_NULL)
            return v[i];
        if (sign * tt__value_compare(v[i], best) > 0)
            best = v[i];
    }
    return best;
}

static tt__value least(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts;
    return extreme(v, n, -1);
}

static tt__value largest(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts;
    return extreme(v, n, 1);
}

static tt__value absolute(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts, (void)n;
    if (v->kind == TT__VALUE_REAL)
        return tt__value_real(v->f < 0 ? -v->f : v->f);
    if (v->kind != TT__VALUE_INT || v->i == INT64_MIN)
        return tt__value_null();
    return tt__value_int(v->i < 0 ? -v->i : v->i);
}

static tt__value floor_log2(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts, (void)n;
    if (!(tt__value_number(*v) > 0))
        return tt__value_null();
    return v->kind == TT__VALUE_REAL ? tt__value_real(logb(v->f))
                                     : tt__value_int(63 - __builtin_clzll((unsigned long long)v->i));
}

/* align_of(...): the largest power of two up to 16 that divides all arguments. */
static tt__value align_of(const tt__facts *facts, const tt__value *v, int n) {
    int64_t bits = 16;
    (void)facts;
    for (int i = 0; i < n; i++) {
        if (v[i].kind != TT__VALUE_INT)
            return tt__value_null();
        bits |= v[i].i;
    }
    return tt__value_int(bits & -bits);
}

/* sizeof(T): the bytes of a type that a `type` line or a parameter names. */
static tt__value size_of(const tt__facts *facts, const tt__value *v, int n) {
    (void)n;
    if (v->kind != TT__VALUE_TEXT)
        return tt__value_null();
    const size_t length = strlen(v->text);
    const int bytes = tt__type_bytes(v->text, length);
    if (tt__type_named(v->text, length) == TT__TYPE_ELEM)
        return tt__value_int(facts->values[TT__FACT_ELEM_SIZE]);
    return bytes ? tt__value_int(bytes) : tt__value_null();
}

static int as_int(tt__value v) {
    return v.kind == TT__VALUE_INT ? (int)v.i : 0;
}

/* The problem of `permute`. False: it is one of another operation. */
static bool permutation_of(permute_shape *s, const tt__facts *facts) {
    const int64_t *f = facts->variables;
    const tt__operation *op = facts->operation;
    if (!op || !op->macros || op->n_variables < 2 * PERMUTE_DIMS + 2)
        return false;
    for (int i = 2 * PERMUTE_DIMS; i < 2 * PERMUTE_DIMS + 2; i++) /* elem_size, align */
        if (f[i] < 1 || f[i] > 16 || (f[i] & (f[i] - 1)))
            return false;
    s->elem_size = (int)f[2 * PERMUTE_DIMS];
    s->align = (int)f[2 * PERMUTE_DIMS + 1];
    memcpy(s->dim, f, sizeof s->dim);
    memcpy(s->stride, f + PERMUTE_DIMS, sizeof s->stride);
    return true;
}

/* The tile of the rule, or NULL. A launch asks for it many times, so each thread remembers the last one. */
static const tt__tile *chosen_tile(const tt__facts *facts) {
    static _Thread_local struct {
        bool any, found;
        permute_shape shape;
        int64_t sm_count;
        tt__tile tile;
    } last;
    permute_shape shape = {0};
    const int64_t sm_count = facts->values[TT__FACT_SM_COUNT];
    if (!permutation_of(&shape, facts))
        return NULL;
    if (!last.any || last.sm_count != sm_count || memcmp(&last.shape, &shape, sizeof shape) != 0) {
        last.found = tt__tile_choose(&last.tile, &shape, sm_count > 0 ? (int)sm_count : 1);
        last.shape = shape;
        last.sm_count = sm_count;
        last.any = true;
    }
    return last.found ? &last.tile : NULL;
}

/* permute_any(WHAT, TEMPLATE): a number of the tile that the rule chooses (permute_any.h), if it is one of
 * that template. The numbers have this order. */
static tt__value permute_any_number(const tt__facts *facts, const tt__value *v, int n) {
    const tt__tile *t = chosen_tile(facts);
    (void)n;
    if (!t || tt__tile_template_of(t->kind) != as_int(v[1]))
        return tt__value_null();
    const int64_t numbers[] = {t->blocks, t->shared_bytes, t->load,
                               t->store,  t->unit,         t->kind == TT__TILE_TURNED};
    const int what = as_int(v[0]);
    return what >= 0 && what < (int)TT__COUNT(numbers) ? tt__value_int(numbers[what]) : tt__value_null();
}

bool tt__permute_argument(void *out, size_t room, size_t *bytes, const tt__facts *facts) {
    const tt__tile *t = chosen_tile(facts);
    *bytes = sizeof t->argument;
    if (t && sizeof t->argument <= room)
        memcpy(out, &t->argument, sizeof t->argument);
    return t && sizeof t->argument <= room;
}

bool tt__permute_template(int *out, const tt__facts *facts) {
    enum { THREADS = 256 };
    permute_shape shape;
    const int64_t *f = facts->values, sm_count = f[TT__FACT_SM_COUNT];
    if (!permutation_of(&shape, facts) || f[TT__FACT_MAX_THREADS] < THREADS ||
        f[TT__FACT_SHARED] < TT__TILE_SHARED_MAX)
        return false;
    *out = tt__tile_template(&shape, sm_count > 0 ? (int)sm_count : 1);
    return true;
}

/* permute_tile(WHAT, READ_RUN, WRITE_RUN): a number of the tile that permute_tile.cuh makes of the problem.
 * The numbers have this order. Vectors are the widest ones, in bytes, and runs are in elements. */
static tt__value permute_tile_number(const tt__facts *facts, const tt__value *v, int n) {
    permute_shape s;
    (void)n;
    if (!permutation_of(&s, facts))
        return tt__value_null();
    permute_tile t = permute_tile_of(s, as_int(v[1]), as_int(v[2]));
    permute_plane p = permute_plane_of(s, as_int(v[1]), as_int(v[2]));
    const int64_t numbers[] = {
        t.tiles,           t.elements,
        t.read_max,        t.write_max,
        t.read_length,     t.write_length, /* of most templates */
        p.tiles,           (int64_t)p.across * p.down,
        p.read_max,        p.pack_max,  /* of permute_flat */
        p.inner * p.outer,              /* of the tensor */
        t.run_max,         p.write_max, /* of runs with HOLD, and of permute_flat */
    };
    int what = as_int(v[0]);
    return what >= 0 && what < (int)TT__COUNT(numbers) ? tt__value_int(numbers[what]) : tt__value_null();
}

const tt__function tt__functions[] = {
    {"ceil_div", 2, 2, false, ceil_div},
    {"min", 2, TT__EXPR_ARGS_MAX, false, least},
    {"max", 2, TT__EXPR_ARGS_MAX, false, largest},
    {"abs", 1, 1, false, absolute},
    {"iif", 3, 3, false, NULL},
    {"log2", 1, 1, false, floor_log2},
    {"align_of", 1, TT__EXPR_ARGS_MAX, false, align_of},
    {"sizeof", 1, 1, true, size_of},
    {"permute_tile", 3, 3, true, permute_tile_number},
    {"permute_any", 2, 2, true, permute_any_number},
};
const size_t tt__n_functions = TT__COUNT(tt__functions);

/* ---- Scope --------------------------------------------------------------------------------------------- */

/* The length of a word for "%.*s" in a message. */
#define SHORT(n) ((int)((n) > 40 ? 40 : (n)))

const char *const tt__fact_names[TT__FACT_COUNT] = {
    "elem_size", "align",   "max_threads_per_block", "shared_per_block", "sm_count", "cc",
    "l2_bytes",  "time_ns",
};

static const char *fact_says(tt__fact f) {
    return f < TT__FACT_MAX_THREADS ? "a property of the problem"
           : f < TT__FACT_TIME_NS   ? "a property of the device"
                                    : "the time of a launch";
}

/* Known words that are refused. The message says more than "unknown name". */
static const char *const refused_words[] = {
    "SELECT", "WITH", "VALUES",  "EXISTS", "FROM",     "UNION", "LIKE",   "GLOB", "REGEXP",
    "MATCH",  "CAST", "COLLATE", "RAISE",  "DISTINCT", "OVER",  "FILTER", "AS",
};

static bool is_metric(const tt__scope *s) {
    const tt__operation *operation = s->t->operation;
    for (size_t i = 0; operation && i < operation->n_metrics; i++)
        if (s->e == &operation->metrics[i].value)
            return true;
    return false;
}

/* Name i in scope, NULL after the last. Only metrics know the time. */
static const char *name_at(const tt__scope *s, size_t i) {
    const tt__operation *operation = s->t->operation;
    size_t n_variables = operation ? operation->n_variables : 0;
    size_t n_facts =
        operation ? TT__FACT_TIME_NS : 0; /* without an operation, only parameters are in scope */
    for (size_t k = 0; k < n_variables; k++)
        if (s->e == &operation->variables[k].value) { /* a default knows only the variables above it */
            n_variables = k;
            n_facts = TT__FACT_MAX_THREADS;
        }
    if (i < s->t->n_params)
        return s->t->params[i].name;
    i -= s->t->n_params;
    if (i < n_variables)
        return operation->variables[i].name;
    i -= n_variables;
    if (!operation) /* only parameters are in scope */
        return NULL;
    return i < n_facts || (i == TT__FACT_TIME_NS && is_metric(s)) ? tt__fact_names[i] : NULL;
}

/* The number of `derived` and `let` lines in scope: those above the expression, or all of them for a
 * launch. */
static size_t derived_in_scope(const tt__scope *s) {
    for (size_t i = 0; i < s->t->n_derived; i++)
        if (s->e == &s->t->derived[i].value)
            return i;
    return s->t->operation && !is_metric(s) ? s->t->n_derived : 0;
}

/* Is the word a parameter, a variable or a fact? */
static bool in_scope(const tt__scope *s, const char *word, size_t n) {
    const char *name;
    for (size_t i = 0; (name = name_at(s, i)); i++)
        if (tt__word_is(word, n, name))
            return true;
    return false;
}

const tt__derived *tt__scope_derived(const tt__scope *s, const char *word, size_t n) {
    for (size_t i = 0; i < derived_in_scope(s); i++)
        if (tt__word_is(word, n, s->t->derived[i].name))
            return &s->t->derived[i];
    return NULL;
}

static const char *same_value(const char *value, const char *word, size_t n, tt__suggest *near) {
    if (!tt__is_word(value, strlen(value)))
        return NULL;
    if (tt__word_is(word, n, value))
        return value;
    if (near)
        tt__suggest_try(near, value);
    return NULL;
}

const char *tt__scope_value(const tt__scope *s, const char *word, size_t n, tt__suggest *near) {
    const tt__operation *operation = s->t->operation;
    const char *found = NULL;
    for (size_t i = 0; i < s->t->n_params; i++)
        for (size_t v = 0; v < s->t->params[i].n_values && !found; v++)
            found = same_value(s->t->params[i].values[v], word, n, near);
    for (size_t i = 0; operation && i < operation->n_variables; i++)
        for (size_t v = 0; v < operation->variables[i].n_types && !found; v++)
            found = same_value(tt__types[operation->variables[i].types[v]].name, word, n, near);
    return found;
}

/* What a name is in other expressions. */
static const char *what_else(const tt__scope *s, const char *word, size_t n) {
    const tt__operation *operation = s->t->operation ? s->t->operation : s->t->own;
    const tt__template *t = operation && operation->t ? operation->t : s->t;
    if (tt__template_param(t, word, n))
        return "a parameter";
    if (tt__operation_variable(t->own, word, n))
        return "a variable of the problem";
    for (size_t i = 0; i < TT__FACT_COUNT; i++)
        if (tt__word_is(word, n, tt__fact_names[i]))
            return fact_says((tt__fact)i);
    return NULL;
}

static tt_status misplaced(const tt__scope *s, const char *word, size_t n, const char *what) {
    const tt__operation *operation = s->t->operation;
    bool is_default = false;
    for (size_t i = 0; operation && operation->t->own && i < operation->t->own->n_variables; i++)
        is_default |= s->e == &operation->t->own->variables[i].value;
    return TT__SCOPE_FAIL(s, word, "%.*s is %s, and %s", SHORT(n), word, what,
                          tt__word_is(word, n, tt__fact_names[TT__FACT_TIME_NS]) ? "only a `metric` knows it"
                          : !operation ? "only parameters are known here"
                          : is_default ? "only the variables of the lines above are known here"
                                       : "only the problem and the device are known here");
}

static bool is_turn(const tt__template *t, const char *word, size_t n) {
    for (int i = 0; i < t->n_passes; i++)
        if (t->passes[i].turn[0] && tt__word_is(word, n, t->passes[i].turn))
            return true;
    return false;
}

static bool has_nameless_loop(const tt__template *t) {
    for (int i = 0; i < t->n_passes; i++)
        if (t->passes[i].repeat.text && !t->passes[i].turn[0])
            return true;
    return false;
}

/* Words of a host program that copied expressions have. */
static tt_status fail_of_cxx(const tt__scope *s, const char *word, size_t n) {
    char meant[TT__TYPE_TEXT_MAX];
    if (tt__word_is(word, n, "std"))
        return TT__SCOPE_FAIL(s, word, "std is a namespace of C++, and there is none here: write min(a, b)");
    if (tt__word_is(word, n, "static_cast") || tt__type_meant(meant, word, n))
        return TT__SCOPE_FAIL(s, word,
                              "%.*s is of C++: leave the cast away, because whole numbers have 64 bits here, "
                              "and ceil_div(a, b) rounds up",
                              SHORT(n), word);
    return TT_OK;
}

/* Does a line of the file define it, as a macro or a constant? */
static bool is_of_code(const tt__template *t, const char *word, size_t n) {
    const char *source = t->source || !t->operation || !t->operation->t ? t->source : t->operation->t->source;
    for (const char *at = source; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *line = at + strspn(at, " \t"), *end = line + strcspn(line, "\n");
        const bool macro = strncmp(line, "#define", strlen("#define")) == 0;
        for (const char *c = line; strncmp(line, "//", 2) != 0 && c + n < end; c++) {
            const char *next = c + n + strspn(c + n, " \t");
            if (strncmp(c, word, n) == 0 && !tt__is_word_char(c[n]) && c > line && !tt__is_word_char(c[-1]) &&
                (macro || (*next == '=' && next[1] != '=')))
                return true;
        }
    }
    return false;
}

/* Says what is wrong with a word that is neither in scope nor a function or an operator. */
static tt_status fail_unknown(const tt__scope *s, const char *word, size_t n) {
    for (size_t i = 0; i < s->t->n_derived; i++)
        if (tt__word_is(word, n, s->t->derived[i].name))
            return TT__SCOPE_FAIL(
                s, word,
                "%.*s is `%s`, which stands in `where`, in launches and in `derived` and `let` lines "
                "below it",
                SHORT(n), word, s->t->derived[i].macro ? "derived" : "let");
    for (size_t i = 0; i < TT__COUNT(refused_words); i++)
        if (tt__same_word(word, n, refused_words[i]))
            return TT__SCOPE_FAIL(s, word,
                                  "%s is not allowed: an expression is arithmetic and comparisons only",
                                  refused_words[i]);
    if (is_turn(s->t, word, n))
        return TT__SCOPE_FAIL(
            s, word,
            "%.*s is of a `repeat`, and changes from launch to launch: only an item of `args` "
            "can be it, as in i32 %.*s",
            SHORT(n), word, SHORT(n), word);
    const char *value = tt__scope_value(s, word, n, NULL);
    if (value)
        return TT__SCOPE_FAIL(s, word, "unknown name %s; did you mean the value '%s'?", value, value);
    const char *what = what_else(s, word, n);
    if (what)
        return misplaced(s, word, n, what);
    tt__suggest near = tt__suggest_for(word, n);
    const char *name;
    for (size_t i = 0; (name = name_at(s, i)); i++)
        tt__suggest_try(&near, name);
    for (size_t i = 0; i < derived_in_scope(s); i++)
        tt__suggest_try(&near, s->t->derived[i].name);
    for (size_t i = 0; i < tt__n_functions; i++)
        tt__suggest_try(&near, tt__functions[i].name);
    TT_TRY(fail_of_cxx(s, word, n));
    const char *next = word + n;
    next += strspn(next, " \t");
    const tt__operation *op = s->t->operation;
    bool function = *next == '(', lacks = op && op->t->own && op->t->own->n_variables == 0;
    if (!function && !near.best && is_of_code(s->t, word, n))
        return TT__SCOPE_FAIL(s, word,
                              "unknown name %.*s; it is of the code, which annotations do not see: write its "
                              "value, or make it a `param`",
                              SHORT(n), word);
    if (!function && !near.best && has_nameless_loop(s->t))
        return TT__SCOPE_FAIL(s, word,
                              "unknown name %.*s; `repeat COUNT as %.*s` makes it the number of a launch",
                              SHORT(n), word, SHORT(n), word);
    return TT__SCOPE_FAIL(s, word, "unknown %s %.*s%s", function ? "function" : "name", SHORT(n), word,
                          near.best  ? tt__suggest_text(&near)
                          : function ? "; there are ceil_div, min, max, abs, iif, log2, align_of and sizeof"
                          : lacks    ? "; a `problem` line declares a variable"
                                     : "");
}

/* ---- The scanner --------------------------------------------------------------------------------------- */

typedef enum place { OPERAND, OPERATOR, LIST, ANY } place; /* the kind of token that is expected next */

/* Where a word may stand, and what comes next. NOT fits both ways: NOT x, x NOT IN (1, 2). */
static const struct {
    const char *word;
    place stands, next;
} keywords[] = {
    {"AND", OPERATOR, OPERAND},  {"OR", OPERATOR, OPERAND},    {"NOT", ANY, ANY},
    {"IS", OPERATOR, OPERAND},   {"IN", OPERATOR, LIST},       {"BETWEEN", OPERATOR, OPERAND},
    {"CASE", OPERAND, OPERAND},  {"WHEN", ANY, OPERAND},       {"THEN", OPERATOR, OPERAND},
    {"ELSE", OPERATOR, OPERAND}, {"END", OPERATOR, OPERATOR},  {"NULL", OPERAND, OPERATOR},
    {"TRUE", OPERAND, OPERATOR}, {"FALSE", OPERAND, OPERATOR},
};

/* Longer signs come first. If `why` is set, the sign is refused. */
static const struct {
    const char *sign, *why;
} signs[] = {
    {"--", "a comment (write - - for a double minus)"},
    {"/*", "a comment"},
    {"||", "joining of text (write OR for a condition)"},
    {"&&", "write AND"},
    {"->", "JSON access"},
    {"**", "write the product, or 1 << n for a power of two"},
    {"<<", NULL},
    {">>", NULL},
    {"<=", NULL},
    {">=", NULL},
    {"<>", NULL},
    {"==", NULL},
    {"!=", NULL},
    {"!", "write NOT"},
    {"+", NULL},
    {"-", NULL},
    {"*", NULL},
    {"/", NULL},
    {"%", NULL},
    {"<", NULL},
    {">", NULL},
    {"=", NULL},
    {"&", NULL},
    {"|", NULL},
    {"~", NULL},
    {";", "a second statement"},
    {"?", "write iif(condition, a, b)"},
    {":", "write iif(condition, a, b)"},
    {"^", "write a * a for a power, and (a | b) - (a & b) for exclusive or"},
    {"[", "a list is in parentheses, as in IN (1, 2)"},
    {"{", "a list is in parentheses, as in IN (1, 2)"},
    {"@", "a bound parameter"},
    {"$", "a bound parameter"},
};

/* A comparison, until a word, a comma or a parenthesis ends it. */
typedef struct compared {
    const char *from, *sign; /* its left side, and its sign or NULL */
    size_t n;                /* characters of the sign */
} compared;

typedef struct scanner {
    tt__scope scope;
    tt__str *out;
    const char *at;
    const char *token; /* the last token and its length */
    size_t n;
    place next;
    compared compared;
    const tt__function *call; /* a function's name was read, and '(' must follow */
    bool compiled;            /* the value becomes a macro */
    int depth;
    struct {
        const tt__function *call;
        bool list; /* IN (...) */
        int commas;
        const char *at;
        compared compared;
    } open[TT__EXPR_NESTING_MAX];
} scanner;

#define FAIL(s, where, ...) TT__SCOPE_FAIL(&(s)->scope, where, __VA_ARGS__)
/* The last token as arguments of "%.*s". */
#define TOKEN(s) ((int)((s)->n > 40 ? 40 : (s)->n)), (s)->token

static size_t word_length(const char *at) {
    size_t n = 0;
    if (tt__is_letter(*at))
        for (n = 1; tt__is_word_char(at[n]);)
            n++;
    return n;
}

const char *tt__name_taken(const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; i < TT__FACT_COUNT; i++) /* includes ELEM_SIZE, which kernels have as a macro */
        if (tt__same_word(name, n, tt__fact_names[i]))
            return fact_says((tt__fact)i);
    for (size_t i = 0; i < tt__n_functions; i++)
        if (tt__same_word(name, n, tt__functions[i].name))
            return "a function";
    for (size_t i = 0; i < TT__COUNT(keywords); i++)
        if (tt__same_word(name, n, keywords[i].word))
            return "an operator of expressions";
    return NULL;
}

static void emit(scanner *s, const char *quote) {
    tt__str_add(s->out, quote);
    tt__str_addn(s->out, s->token, s->n);
    tt__str_add(s->out, quote);
    tt__str_add(s->out, " ");
}

static tt_status operand(scanner *s) {
    if (s->next == LIST)
        return FAIL(s, s->token, "found '%.*s' after IN, expected '('", TOKEN(s));
    if (s->next == OPERATOR)
        return FAIL(s, s->token, "found '%.*s', expected an operator or the end", TOKEN(s));
    s->next = OPERATOR;
    return TT_OK;
}

static tt_status scan_keyword(scanner *s, size_t k) {
    if (keywords[k].stands == OPERAND || s->next == LIST)
        TT_TRY(operand(s));
    if (keywords[k].stands == OPERATOR && s->next != OPERATOR)
        return FAIL(s, s->token, "found '%.*s', expected a value", TOKEN(s));
    if (keywords[k].next != ANY)
        s->next = keywords[k].next;
    if (s->next == OPERAND)
        s->compared = (compared){.from = s->at + s->n};
    emit(s, "");
    return TT_OK;
}

/* `derived` values are compiled in, while all values of a run-time parameter share one cubin. So they must
 * not mix. */
static tt_status check_compiled(const scanner *s, uint32_t uses) {
    for (size_t i = 0; i < s->scope.t->n_params && s->compiled; i++)
        if (uses >> i & 1 && s->scope.t->params[i].runtime)
            return FAIL(s, s->token,
                        "%s is a `runtime` parameter, whose values share one compilation: what is `derived` "
                        "cannot depend on it",
                        s->scope.t->params[i].name);
    return TT_OK;
}

/* Of the word at `type`: may it be something other than a type? What a `type` line declares never is. */
static const char *other_than_type(const scanner *s, const char *type, size_t n) {
    const tt__param *p = tt__template_param(s->scope.t, type, n);
    for (size_t i = 0; p && i < p->n_values; i++)
        if (!tt__type_bytes(p->values[i], strlen(p->values[i])))
            return p->values[i];
    return NULL;
}

/* sizeof(float) becomes a number. False: what is in parentheses is a name, which the function gets. */
static tt_status scan_sizeof(scanner *s, bool *is_number) {
    const char *type = s->at + s->n + strspn(s->at + s->n, " \t");
    const size_t inside = *type == '(' ? strcspn(type + 1, "()") : 0;
    *is_number = false;
    if (inside == 0 || type[1 + inside] != ')')
        return FAIL(s, s->at, "sizeof needs a type in parentheses, as in sizeof(float)");
    const char *end = ++type + inside;
    type += strspn(type, " \t");
    size_t n = (size_t)(end - type);
    while (n > 0 && (type[n - 1] == ' ' || type[n - 1] == '\t'))
        n--;
    const tt__variable *v = tt__operation_variable(s->scope.t->operation, type, n);
    const char *other = other_than_type(s, type, n);
    if (other)
        return FAIL(s, type, "sizeof needs a type, and %.*s may be %s", SHORT(n), type, other);
    if (tt__template_param(s->scope.t, type, n) || (v && v->n_types))
        return TT_OK;
    const int bytes = tt__type_bytes(type, n);
    if (!bytes)
        return FAIL(
            s, type,
            "sizeof knows types of numbers, and what a `type` line declares, but not '%.*s': write its "
            "bytes",
            SHORT(n), type);
    TT_TRY(operand(s));
    tt__str_addf(s->out, "%d ", bytes);
    s->n = (size_t)(end + 1 - s->at);
    *is_number = true;
    return TT_OK;
}

static tt_status scan_word(scanner *s) {
    s->n = word_length(s->at);
    if (s->at[s->n] == '\'')
        return FAIL(s, s->at, "found '%.*s' in front of a quote, expected an operator", TOKEN(s));
    const tt__derived *derived = tt__scope_derived(&s->scope, s->token, s->n);
    if (derived || in_scope(&s->scope, s->token, s->n)) {
        const tt__param *param = tt__template_param(s->scope.t, s->token, s->n);
        TT_TRY(operand(s));
        TT_TRY(check_compiled(s, derived ? derived->value.uses
                                 : param ? UINT32_C(1) << (param - s->scope.t->params)
                                         : 0));
        emit(s, "\""); /* quoted, because a parameter may be called ORDER */
        return TT_OK;
    }
    if (tt__word_is(s->token, s->n, "sizeof")) {
        bool is_number;
        TT_TRY(scan_sizeof(s, &is_number));
        if (is_number)
            return TT_OK;
    }
    for (size_t i = 0; i < tt__n_functions; i++)
        if (tt__same_word(s->token, s->n, tt__functions[i].name)) {
            TT_TRY(operand(s));
            s->call = &tt__functions[i];
            emit(s, "");
            return TT_OK;
        }
    for (size_t i = 0; i < TT__COUNT(keywords); i++)
        if (tt__same_word(s->token, s->n, keywords[i].word))
            return scan_keyword(s, i);
    return fail_unknown(&s->scope, s->token, s->n);
}

static size_t digits(const char *at) {
    return strspn(at, "0123456789");
}

static tt_status scan_number(scanner *s) {
    size_t n = digits(s->at);
    if (n == 1 && *s->at == '0' && (s->at[1] | 32) == 'x') {
        n = 2 + strspn(s->at + 2, "0123456789abcdefABCDEF");
    } else {
        if (s->at[n] == '.')
            n += 1 + digits(s->at + n + 1);
        if ((s->at[n] | 32) == 'e') {
            size_t sign = s->at[n + 1] == '-' || s->at[n + 1] == '+';
            size_t power = digits(s->at + n + 1 + sign);
            n += power ? 1 + sign + power : 0;
        }
    }
    const bool whole = n == digits(s->at) || (s->at[1] | 32) == 'x';
    const size_t suffix = strspn(s->at + n, whole ? "uUlL" : "fF"); /* of C++, as in 4u and 0.5f */
    s->n = n;
    if (tt__is_word_char(s->at[n + suffix]) || s->at[n + suffix] == '.' || s->at[n] == '\'' || suffix > 3) {
        s->n++;
        return FAIL(s, s->at, "'%.*s' is not a number", TOKEN(s));
    }
    TT_TRY(operand(s));
    emit(s, "");
    s->n += suffix;
    return TT_OK;
}

static tt_status scan_string(scanner *s) {
    size_t n = word_length(s->at + 1);
    if (n == 0 || s->at[1 + n] != '\'' || s->at[2 + n] == '\'')
        return FAIL(s, s->at, "expected one plain word between quotes, as in MODE = 'fast'");
    tt__suggest near = tt__suggest_for(s->at + 1, n);
    s->n = n + 2;
    if (!tt__scope_value(&s->scope, s->at + 1, n, &near))
        return FAIL(s, s->at, "no parameter has the value %.*s%s", TOKEN(s), tt__suggest_text(&near));
    TT_TRY(operand(s));
    const int truth = tt__truth(s->at + 1, n);
    if (truth >= 0)
        tt__str_add(s->out, truth ? "1 " : "0 ");
    else
        emit(s, "");
    return TT_OK;
}

static tt_status scan_open(scanner *s) {
    if (s->depth == TT__EXPR_NESTING_MAX)
        return FAIL(s, s->at, "more than %d parentheses inside one another", TT__EXPR_NESTING_MAX);
    if (!s->call && s->next == OPERATOR)
        return FAIL(s, s->at, "found '(', expected an operator or the end");
    s->open[s->depth].call = s->call;
    s->open[s->depth].list = s->next == LIST;
    s->open[s->depth].commas = 0;
    s->open[s->depth].compared = s->compared;
    s->open[s->depth++].at = s->at;
    s->compared = (compared){.from = s->at + 1};
    s->call = NULL;
    s->next = OPERAND;
    emit(s, "");
    return TT_OK;
}

static tt_status scan_comma(scanner *s) {
    if (s->depth == 0 || (!s->open[s->depth - 1].call && !s->open[s->depth - 1].list))
        return FAIL(s, s->at, "found ',', which stands only between arguments and in lists after IN");
    if (s->next != OPERATOR)
        return FAIL(s, s->at, "found ',', expected a value");
    s->open[s->depth - 1].commas++;
    s->compared = (compared){.from = s->at + 1};
    s->next = OPERAND;
    emit(s, "");
    return TT_OK;
}

static tt_status scan_close(scanner *s) {
    if (s->depth == 0)
        return FAIL(s, s->at, "found ')' without its '('");
    if (s->next != OPERATOR)
        return FAIL(s, s->at, "found ')', expected a value");
    const tt__function *f = s->open[--s->depth].call;
    int n = s->open[s->depth].commas + 1;
    if (f && (n < f->min_args || n > f->max_args))
        return FAIL(s, s->open[s->depth].at, "%s takes %d%s argument%s, found %d", f->name, f->min_args,
                    f->max_args > f->min_args ? " to 16" : "", f->max_args > 1 ? "s" : "", n);
    s->compared = s->open[s->depth].compared;
    emit(s, "");
    return TT_OK;
}

/* How many characters the sign of a comparison has that stands there; 0: none does. */
static size_t comparison(const char *at) {
    bool shift = (*at == '<' || *at == '>') && at[1] == *at;
    return shift || !*at || !strchr("<>=!", *at) ? 0 : 1 + (at[1] == '=' || (*at == '<' && at[1] == '>'));
}

static bool ends_comparison(const char *at, size_t n) {
    for (size_t i = 0; i < TT__COUNT(keywords); i++)
        if (keywords[i].next != ANY && tt__same_word(at, n, keywords[i].word))
            return true;
    return false;
}

/* The text between two signs, or after the last one: from *at, without the blanks around it. */
static int side(const char **at, const char *end) {
    int depth = 0;
    *at += strspn(*at, " \t");
    const char *c = *at;
    while (*c && c != end && (end || depth > 0 || (*c != ',' && *c != ')' && !comparison(c)))) {
        size_t n = word_length(c);
        if (!end && depth == 0 && n && ends_comparison(c, n))
            break;
        depth += (*c == '(') - (*c == ')');
        c += n ? n : 1u + ((*c == '<' || *c == '>') && c[1] == *c); /* a shift is two signs */
    }
    while (c > *at && (c[-1] == ' ' || c[-1] == '\t'))
        c--;
    return (int)(c - *at);
}

/* A value of this name that is a word, or NULL. `quoted`: one that the file has in quotes anywhere, as its
 * other lines may keep the word from this one. */
static const char *word_of(const scanner *s, const char *name, size_t n, bool quoted) {
    const tt__param *p = tt__template_param(s->scope.t, name, n);
    const tt__variable *v = tt__operation_variable(s->scope.t->operation, name, n);
    for (size_t i = 0; i < (p ? p->n_values : v ? v->n_types : 0); i++) {
        const char *value = p ? p->values[i] : tt__types[v->types[i]].name;
        char text[TT__NAME_MAX + 2];
        tt__format(text, sizeof text, "'%s'", value);
        if (tt__is_letter(*value) && tt__truth(value, strlen(value)) < 0 &&
            (!quoted || !s->scope.t->source || strstr(s->scope.t->source, text)))
            return value;
    }
    return NULL;
}

/* Does nothing in this side of a comparison stand for a word? */
static bool is_number(const scanner *s, const char *at, const char *end) {
    for (size_t n; at < end; at += n ? n : 1) {
        for (n = 0; tt__is_word_char(at[n]);)
            n++;
        const bool name = tt__is_letter(*at) && at[n + strspn(at + n, " \t")] != '('; /* no function */
        if (*at == '\'' || (name && (!in_scope(&s->scope, at, n) || word_of(s, at, n, false))))
            return false;
    }
    return true;
}

/* To SQL, any word is larger than any number. */
static tt_status check_order(const scanner *s) {
    const char *sides[] = {s->compared.from, s->at + s->n};
    const int n[] = {side(&sides[0], s->at), side(&sides[1], NULL)};
    for (int i = 0; i < 2 && !strchr("=!", *s->at) && s->at[1] != '>'; i++) {
        const char *word = *sides[i] == '\'' ? sides[i] + 1 : sides[i], *other = sides[!i];
        size_t length = word_length(word);
        if (length + 2 * (size_t)(word - sides[i]) != (size_t)n[i] || !n[!i] ||
            !is_number(s, other, other + n[!i]))
            continue;
        if (word == sides[i]) {
            if (word_of(s, word, length, true) || !(word = word_of(s, word, length, false)))
                continue;
            length = strlen(word);
        }
        return FAIL(
            s, s->at,
            "'%.*s' compares the word %.*s with the number %.*s: use = or <>, or add a test for '%.*s'",
            TOKEN(s), (int)length, word, n[!i], other, (int)length, word);
    }
    return TT_OK;
}

/* To SQL, 200 <= B <= 1024 compares the answer of 200 <= B, which is 0 or 1, with 1024. */
static tt_status scan_comparison(scanner *s) {
    const compared c = s->compared;
    const char *right = s->at + s->n;
    int rights = side(&right, NULL);
    if (!c.sign || rights == 0) {
        s->compared.sign = s->at;
        s->compared.n = s->n;
        return check_order(s);
    }
    const char *left = c.from, *middle = c.sign + c.n;
    int lefts = side(&left, c.sign), middles = side(&middle, s->at);
    return FAIL(s, s->at,
                "found '%.*s' after a comparison: write %.*s %.*s %.*s AND %.*s %.*s %.*s, or put one of the "
                "two comparisons in parentheses",
                TOKEN(s), lefts, left, (int)c.n, c.sign, middles, middle, middles, middle, TOKEN(s), rights,
                right);
}

static tt_status scan_sign(scanner *s) {
    for (size_t i = 0; i < TT__COUNT(signs); i++) {
        s->n = strlen(signs[i].sign);
        if (strncmp(s->at, signs[i].sign, s->n) != 0)
            continue;
        if (signs[i].why)
            return FAIL(s, s->at, "'%s' is not allowed: %s", signs[i].sign, signs[i].why);
        if (s->next != OPERATOR && !strchr("+-~", *s->at))
            return FAIL(s, s->at, "found '%s', expected a value", signs[i].sign);
        if (s->next == LIST)
            return operand(s);
        if (comparison(s->at))
            TT_TRY(scan_comparison(s));
        s->next = OPERAND;
        emit(s, "");
        return TT_OK;
    }
    return FAIL(s, s->at, *s->at > ' ' && *s->at < 127 ? "unexpected '%c'" : "unexpected character 0x%02x",
                (unsigned char)*s->at);
}

static tt_status scan_token(scanner *s) {
    char c = *s->at;
    s->token = s->at;
    s->n = 1;
    if (s->call && c != '(')
        return FAIL(s, s->at, "%s is a function, expected '(' after it", s->call->name);
    return tt__is_letter(c)  ? scan_word(s)
           : tt__is_digit(c) ? scan_number(s)
           : c == '\''       ? scan_string(s)
           : c == '('        ? scan_open(s)
           : c == ')'        ? scan_close(s)
           : c == ','        ? scan_comma(s)
                             : scan_sign(s);
}

tt_status tt__expr_scan(tt__str *out, const tt__template *t, const tt__expr *e) {
    scanner s = {.scope = {t, e}, .out = out, .at = e->text, .token = e->text};
    s.compared.from = e->text;
    for (size_t i = 0; i < t->n_derived; i++)
        s.compiled |= e == &t->derived[i].value && t->derived[i].macro;
    size_t length = strlen(e->text);
    if (length > TT__EXPR_MAX)
        return FAIL(&s, s.at, "an expression of %zu characters, the limit is %d", length, TT__EXPR_MAX);
    for (s.at += strspn(s.at, " \t"); *s.at; s.at += s.n + strspn(s.at + s.n, " \t"))
        TT_TRY(scan_token(&s));
    if (s.n == 0)
        return FAIL(&s, s.at, "an empty expression");
    if (s.call)
        return FAIL(&s, s.at, "%s is a function, expected '(' after it", s.call->name);
    if (s.next != OPERATOR)
        return FAIL(&s, s.at, "the expression ends after '%.*s', expected a value", TOKEN(&s));
    if (s.depth > 0)
        return FAIL(&s, s.open[s.depth - 1].at, "'(' is never closed");
    return tt__str_check(out);
}
