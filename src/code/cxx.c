/* See the header. */
#include "code/cxx.h"

#include <string.h>

#include "base/str.h"

/* Is the quote in a number, as in 1'000? That of L'a' is not. */
static bool is_separator(const char *source, const char *at) {
    enum { NUMBER_MAX = 200 };
    const char *start = at;
    while (start > source && at - start < NUMBER_MAX && (start[-1] == '\'' || tt__is_word_char(start[-1])))
        start--;
    return start < at && *start >= '0' && *start <= '9';
}

/* Where R"x(...)x" ends, whose quote is at `at`; NULL: it is no raw string. */
static const char *end_raw(const char *source, const char *at) {
    const char *word = at, *end = at + 1 + strcspn(at + 1, "() \t\r\n\"\\");
    const size_t n = (size_t)(end - at) - 1;
    while (word > source && tt__is_word_char(word[-1]))
        word--;
    if (word == at || at[-1] != 'R' || word + strspn(word, "uUL8") != at - 1 || *end != '(')
        return NULL;
    while ((end = strchr(end + 1, ')')))
        if (strncmp(end + 1, at + 1, n) == 0 && end[1 + n] == '"')
            return end + n + 2;
    return at + strlen(at);
}

/* Where a comment or a text in quotes ends that begins at `at`; NULL: none begins there. `source` is where
 * the text begins. */
static const char *end_apart(const char *source, const char *at) {
    const bool block = strncmp(at, "/*", 2) == 0, line = strncmp(at, "//", 2) == 0;
    const char *end = block ? strstr(at + 2, "*/") : NULL;
    if (block)
        return end ? end + 2 : at + strlen(at);
    if (!line && *at != '"' && (*at != '\'' || is_separator(source, at)))
        return NULL;
    if (*at == '"' && (end = end_raw(source, at)))
        return end;
    for (end = at + 1; *end && *end != '\n' && (line || *end != *at);)
        end += *end == '\\' && end[1] ? 1 + (end[1] == '\r' && end[2] == '\n') + 1 : 1;
    return !line && *end == *at ? end + 1 : end;
}

void tt__cxx_blank_comments(char *source) {
    for (char *at = source; *at;) {
        const char *end = end_apart(source, at);
        const size_t n = end ? (size_t)(end - at) : 1;
        if (end && *at == '/')
            memset(at, ' ', n);
        at += n;
    }
}

/* Is the directive one of #if ... #endif? */
static bool is_condition(const char *at) {
    at += 1 + strspn(at + 1, " \t");
    return strncmp(at, "if", 2) == 0 || strncmp(at, "el", 2) == 0 || strncmp(at, "end", 3) == 0;
}

/* A `static` before a condition may be for another compiler. */
void tt__cxx_blank_all(char *source) {
    bool starts = true, directive = false; /* only blanks are before it in its line */
    for (char *at = source; *at;) {
        const char *end = end_apart(source, at);
        size_t n = end ? (size_t)(end - at) : 1;
        if (!end && *at == '\\') /* the line goes on */
            n += strspn(at + 1, "\r") + (at[1 + strspn(at + 1, "\r")] == '\n');
        else if (!end && *at == '\n')
            directive = false;
        const bool begins = starts && *at == '#';
        directive |= begins;
        starts = *at == '\n' || (starts && (*at == '/' || strchr(" \t\r", *at)));
        if (directive || end)
            memset(at, begins && is_condition(at) ? ';' : ' ', n);
        at += n;
    }
}

/* ---- Tokens -------------------------------------------------------------------------------------------- */

static size_t blank_length(const char *at) {
    const size_t splice = *at == '\\' ? 1 + (at[1] == '\r') : 0;
    return splice && at[splice] == '\n' ? splice + 1 : strchr(" \t\r\n\v\f", *at) ? 1 : 0;
}

/* Of a number as the preprocessor takes it, or a word; else 0. */
static size_t word_length(const char *at) {
    const bool number = (*at >= '0' && *at <= '9') || (*at == '.' && at[1] >= '0' && at[1] <= '9');
    size_t n = 0;
    while (tt__is_word_char(at[n]) || (number && at[n] == '.') ||
           (number && n && at[n] == '\'' && tt__is_word_char(at[n + 1])) ||
           (number && n && strchr("+-", at[n]) && at[n] && strchr("eEpP", at[n - 1])))
        n++;
    return n;
}

typedef enum kind { NONE, WORD, LITERAL, BRACKET, OPERATOR } kind;

/* Operators are not told apart: those that stand together stay together, so that `+ +` is not `++`. So do a
 * text in quotes and the word beside it. */
static bool stay_together(kind before, kind now) {
    return (before == OPERATOR && now == OPERATOR) || (before == WORD && now == LITERAL) ||
           (before == LITERAL && now == WORD);
}

/* Is it a directive that only says where a line is from? */
static bool is_line(const char *at) {
    at += 1 + strspn(at + 1, " \t");
    return strncmp(at, "line", 4) == 0 && !tt__is_word_char(at[4]);
}

static size_t annotation_length(const char *at, const char *end) {
    while (end > at && strchr(" \t\r", end[-1]))
        end--;
    return strncmp(at, "//@", 3) == 0 ? (size_t)(end - at) : 0;
}

void tt__cxx_tokens(tt__str *out, const char *source) {
    bool starts = true, directive = false, blank = true; /* starts: only blanks are before it in its line */
    kind before = NONE;
    if (strstr(source, "__LINE__") || strstr(source, "__FILE__")) {
        tt__str_add(out, source);
        return;
    }
    for (const char *at = source; *at;) {
        const char *end = end_apart(source, at);
        size_t n = end ? (size_t)(end - at) : blank_length(at);
        if ((end && *at == '/') || (!end && n)) {
            const size_t annotated = end ? annotation_length(at, end) : 0;
            if (annotated || (directive && *at == '\n'))
                tt__str_addf(out, "\n%.*s\n", (int)annotated, at);
            directive &= *at != '\n';
            starts |= *at == '\n';
            blank = true;
            at += n;
            continue;
        }
        if (starts && *at == '#') {
            if (is_line(at)) {
                at += strcspn(at, "\n");
                continue;
            }
            directive = true;
            tt__str_add(out, "\n");
        }
        const size_t word = end ? 0 : word_length(at);
        const kind now = end ? LITERAL : word ? WORD : strchr("(){}[];,", *at) ? BRACKET : OPERATOR;
        n = end ? n : word ? word : 1;
        if (blank || !stay_together(before, now)) /* `#define F (x)` is not `#define F(x)` */
            tt__str_add(out, blank && directive ? "\t" : " ");
        tt__str_addn(out, at, n);
        before = now;
        blank = starts = false;
        at += n;
    }
}

/* ---- Lines --------------------------------------------------------------------------------------------- */

/* Looks for what begins in this line and goes on in the next. */
static void scan_line(tt__cxx_lines *l) {
    const char *newline = l->at + l->n, *at = l->scanned > l->at ? l->scanned : l->at;
    l->comment = NULL;
    if (at > newline) /* the whole line is apart */
        return;
    l->next_inside = TT__CXX_CODE;
    while (at < newline) {
        const char *end = end_apart(l->source, at);
        if (end && strncmp(at, "//", 2) == 0)
            l->comment = at;
        if (end > newline) {
            const char *text = strchr("\"'", *at) ? end_raw(l->source, at) : NULL;
            l->next_inside = strncmp(at, "/*", 2) == 0 ? TT__CXX_COMMENT
                             : text                    ? TT__CXX_RAW_TEXT
                                                       : TT__CXX_CONTINUED;
            l->next_since = l->number;
        }
        at = end ? end : at + 1;
    }
    l->scanned = at;
    const size_t n = l->n - (l->n > 0 && newline[-1] == '\r');
    if (l->next_inside == TT__CXX_CODE && n > 0 && l->at[n - 1] == '\\') {
        l->next_inside = TT__CXX_CONTINUED;
        l->next_since = l->inside == TT__CXX_CONTINUED ? l->since : l->number;
    }
}

bool tt__cxx_next_line(tt__cxx_lines *l) {
    const char *next = l->at ? l->at + l->n : l->source;
    next += l->at && *next == '\n';
    if (!*next)
        return false;
    l->at = next;
    l->n = strcspn(next, "\n");
    l->number++;
    l->inside = l->next_inside;
    l->since = l->next_since;
    scan_line(l);
    return true;
}
