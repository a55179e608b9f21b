/*
 * Looks names up, and says why one is unknown.
 */
#include "kernel/expression/scope.h"

#include <string.h>

/* The length of a word for "%.*s" in a message. */
#define SHORT(n) ((int)((n) > 40 ? 40 : (n)))

const char *const tt__fact_names[TT__FACT_COUNT] = {
    "elem_size", "align",   "max_threads_per_block", "shared_per_block", "sm_count", "cc",
    "l2_bytes",  "time_ns",
};

const char *tt__fact_says(tt__fact f) {
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

bool tt__scope_has(const tt__scope *s, const char *word, size_t n) {
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
            return tt__fact_says((tt__fact)i);
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

tt_status tt__scope_unknown(const tt__scope *s, const char *word, size_t n) {
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
    const char *next = word + n;
    next += strspn(next, " \t");
    const tt__operation *op = s->t->operation;
    bool function = *next == '(', lacks = op && op->t->own && op->t->own->n_variables == 0;
    return TT__SCOPE_FAIL(s, word, "unknown %s %.*s%s", function ? "function" : "name", SHORT(n), word,
                          lacks && !function && !near.best ? "; a `problem` line declares a variable"
                                                           : tt__suggest_text(&near));
}
