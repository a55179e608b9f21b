/*
 * Cuts a line into words, items, names, numbers and expressions.
 */
#include "kernel/annotation/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "kernel/expression/scan.h"

#define SHOW TT__SHOW
#define FAIL TT__READ_FAIL

bool tt__is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

tt__slice tt__trim(tt__slice s) {
    while (s.n && tt__is_blank(*s.at))
        s = (tt__slice){s.at + 1, s.n - 1};
    while (s.n && tt__is_blank(s.at[s.n - 1]))
        s.n--;
    return s;
}

tt__slice tt__take_word(tt__slice *rest) {
    *rest = tt__trim(*rest);
    tt__slice word = {rest->at, 0};
    while (word.n < rest->n && !tt__is_blank(word.at[word.n]))
        word.n++;
    *rest = tt__trim((tt__slice){rest->at + word.n, rest->n - word.n});
    return word;
}

tt__slice tt__take_type(tt__slice *rest) {
    char meant[TT__TYPE_TEXT_MAX];
    tt__slice type = tt__take_word(rest);
    for (tt__slice left = *rest; left.n > 0;) {
        const tt__slice last = tt__take_word(&left);
        const tt__slice longer = {type.at, (size_t)(last.at + last.n - type.at)};
        if (!tt__type_meant(meant, longer.at, longer.n))
            continue;
        type = longer;
        *rest = left;
    }
    return type;
}

bool tt__take_item(tt__slice *item, tt__slice *rest) {
    if (!rest->at)
        return false;
    int depth = 0;
    size_t n = 0;
    for (; n < rest->n && (rest->at[n] != ',' || depth > 0); n++)
        depth += (rest->at[n] == '(') - (rest->at[n] == ')');
    *item = tt__trim((tt__slice){rest->at, n});
    *rest = n < rest->n ? (tt__slice){rest->at + n + 1, rest->n - n - 1} : (tt__slice){NULL, 0};
    return true;
}

bool tt__slice_is(tt__slice s, const char *word) {
    return tt__word_is(s.at, s.n, word);
}

size_t tt__take_until(tt__slice *before, tt__slice *rest, const char *const *words, size_t n) {
    *before = *rest;
    for (tt__slice left = *rest; left.n > 0;) {
        const tt__slice word = tt__take_word(&left);
        for (size_t k = 0; k < n; k++)
            if (tt__slice_is(word, words[k])) {
                const size_t length = (size_t)(word.at - rest->at);
                *before = tt__trim((tt__slice){rest->at, length});
                *rest = (tt__slice){word.at, rest->n - length};
                return k;
            }
    }
    rest->n = 0;
    return n;
}

tt_status tt__read_expr(tt__reader *r, tt__expr *out, tt__slice s) {
    if (s.n == 0)
        return FAIL(r, s.at, "`%s` has an empty expression", r->keyword);
    out->line = r->line;
    out->column = tt__read_column(r, s.at);
    return tt__template_keep(r->t, &out->text, s.at, s.n);
}

tt_status tt__read_name(tt__reader *r, char *out, size_t size, tt__slice rest) {
    tt__slice name = tt__take_word(&rest);
    if (!tt__is_word(name.at, name.n))
        return FAIL(r, name.at, "found '%.*s', expected a name", SHOW(name));
    if (name.n >= size)
        return FAIL(r, name.at, "a name of %zu characters, the limit is %zu", name.n, size - 1);
    tt__copy(out, name.n + 1, name.at);
    return TT_OK;
}

/* How far the arguments of a template reach that open at `at`; 0: they do not end. */
static size_t template_arguments(tt__slice s, size_t at) {
    int angles = 0, parens = 0;
    for (size_t i = at; i < s.n; i++) {
        parens += (s.at[i] == '(') - (s.at[i] == ')');
        angles += parens ? 0 : (s.at[i] == '<') - (s.at[i] == '>');
        if (angles == 0)
            return i + 1;
    }
    return 0;
}

tt_status tt__read_kernel(tt__reader *r, char symbol[TT__SYMBOL_MAX], char *name, tt__slice rest) {
    size_t start = 0, n = 0; /* of the plain name; of what is read */
    for (;; n += 2, start = n) {
        while (n < rest.n && tt__is_word_char(rest.at[n]))
            n++;
        if (n + 1 >= rest.n || rest.at[n] != ':' || rest.at[n + 1] != ':')
            break;
    }
    tt__slice last = {rest.at + start, n - start};
    if (n < rest.n && rest.at[n] == '<') {
        n = template_arguments(rest, n);
        if (!n)
            return FAIL(r, rest.at, "found '%.*s', expected a '>' that ends what the template is given",
                        SHOW(rest));
    }
    if (n < rest.n && !tt__is_blank(rest.at[n]))
        last.n = 0;
    if (!tt__is_word(last.at, last.n))
        return FAIL(r, rest.at, "found '%.*s', expected a name", SHOW(rest));
    if (last.n >= TT__NAME_MAX)
        return FAIL(r, last.at, "a name of %zu characters, the limit is %d", last.n, TT__NAME_MAX - 1);
    if (n >= TT__SYMBOL_MAX)
        return FAIL(r, rest.at, "a kernel of %zu characters, the limit is %d", n, TT__SYMBOL_MAX - 1);
    tt__copy(symbol, n + 1, rest.at);
    tt__copy(name, last.n + 1, last.at);
    return TT_OK;
}

/* Case does not count, as in SQL. */
static bool is_taken(const char *by, const char *name, const char **other) {
    if (by == name || !tt__same_letters(by, name))
        return false;
    *other = by;
    return true;
}

/* In `param int N`. */
static bool is_type_of_cxx(const char *name) {
    static const char *const words[] = {"int",  "unsigned", "signed", "float", "double", "char",
                                        "long", "short",    "bool",   "const", "void",   "auto"};
    for (size_t i = 0; i < TT__COUNT(words); i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

tt_status tt__read_new_name(tt__reader *r, char *out, size_t size, tt__slice rest) {
    TT_TRY(tt__read_name(r, out, size, rest));
    if (is_type_of_cxx(out))
        return FAIL(r, rest.at, "%s is a type of C++, and `%s` begins with a name", out, r->keyword);
    bool common = strcmp(r->keyword, "problem") == 0 && /* operations may declare these two themselves */
                  (strcmp(out, "elem_size") == 0 || strcmp(out, "align") == 0);
    common |= strcmp(r->keyword, "buffer") == 0 && strcmp(out, "in") == 0; /* no expression has a buffer */
    const char *taken = common ? NULL : tt__name_taken(out);
    const char *other = out;
    const tt__template *t = r->t;
    for (size_t i = 0; i < t->n_params && !taken; i++)
        if (is_taken(t->params[i].name, out, &other))
            taken = "a parameter";
    for (size_t i = 0; i < t->n_derived && !taken; i++)
        if (is_taken(t->derived[i].name, out, &other))
            taken = t->derived[i].macro ? "`derived` already" : "`let` already";
    for (size_t i = 0; t->own && i < t->own->n_variables && !taken; i++)
        if (is_taken(t->own->variables[i].name, out, &other))
            taken = "a variable of the problem";
    for (size_t i = 0; t->own && i < t->own->n_operands && !taken; i++)
        if (is_taken(t->own->operands[i].name, out, &other))
            taken = "an operand";
    for (size_t i = 0; i < t->n_maps && !taken; i++)
        if (is_taken(t->maps[i].name, out, &other))
            taken = "a tensor map";
    if (taken && strcmp(other, out) != 0)
        return FAIL(r, rest.at, "%s differs only in capitals from %s, which is %s: choose another name", out,
                    other, taken);
    return taken ? FAIL(r, rest.at, "%s is %s, choose another name", out, taken) : TT_OK;
}

tt_status tt__take_lanes(tt__reader *r, tt__slice *word, int *lanes) {
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
