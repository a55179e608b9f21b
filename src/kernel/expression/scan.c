/*
 * Reads an expression once from left to right. Everything in the tables below passes, and everything else is
 * refused with its place. A stack of parentheses tells whether a comma separates arguments or members of a
 * list. No expression can close a parenthesis that it did not open.
 */
#include "kernel/expression/scan.h"

#include <string.h>

#include "base/str.h"
#include "kernel/expression/expr.h"

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
            return tt__fact_says((tt__fact)i);
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

static tt_status scan_word(scanner *s) {
    s->n = word_length(s->at);
    if (s->at[s->n] == '\'')
        return FAIL(s, s->at, "found '%.*s' in front of a quote, expected an operator", TOKEN(s));
    const tt__derived *derived = tt__scope_derived(&s->scope, s->token, s->n);
    if (derived || tt__scope_has(&s->scope, s->token, s->n)) {
        const tt__param *param = tt__template_param(s->scope.t, s->token, s->n);
        TT_TRY(operand(s));
        TT_TRY(check_compiled(s, derived ? tt__expr_uses(&derived->value)
                                 : param ? UINT32_C(1) << (param - s->scope.t->params)
                                         : 0));
        emit(s, "\""); /* quoted, because a parameter may be called ORDER */
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
    return tt__scope_unknown(&s->scope, s->token, s->n);
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
    s->n = n;
    if (tt__is_word_char(s->at[n]) || s->at[n] == '.' || s->at[n] == '\'') {
        s->n++;
        return FAIL(s, s->at, "'%.*s' is not a number", TOKEN(s));
    }
    TT_TRY(operand(s));
    emit(s, "");
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
        if (*at == '\'' || (name && (!tt__scope_has(&s->scope, at, n) || word_of(s, at, n, false))))
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
