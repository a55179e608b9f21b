/*
 * A scanner that knows comments, literals, directives, braces and identifiers, and nothing else of C++. It
 * cannot handle a kernel with a head from a macro, or with braces that balance only after preprocessing.
 */
#include "rewrite.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct scan {
    const char *p;
    FILE *out, *facts;
    const char *declaration; /* where the one that p is in began */
    int depth, parens;
    int c_depth; /* braces at which an extern "C" { } block began, else -1 */
    int body_depth;
    bool in_body;
    char kernel[128]; /* "": none is open */
    char bounds[256]; /* the text inside __launch_bounds__() */
} scan;

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Past a comment, a literal or a directive if one starts at p, else p. */
static const char *skip_opaque(const char *p, bool line_start, char before) {
    if (p[0] == '/' && p[1] == '/')
        return strchrnul(p, '\n');
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    if (p[0] == '"' || (p[0] == '\'' && !is_word(before))) {
        const char quote = *p++;
        while (*p && *p != quote && *p != '\n')
            p += p[0] == '\\' && p[1] ? 2 : 1;
        return *p ? p + 1 : p;
    }
    if (p[0] == '#' && line_start)
        while (*p && *p != '\n')
            p += p[0] == '\\' && p[1] ? 2 : 1;
    return p;
}

static const char *skip_space(const char *p) {
    for (;;) {
        const char *next = isspace((unsigned char)*p) ? p + 1 : *p == '/' ? skip_opaque(p, false, ' ') : p;
        if (next == p)
            return p;
        p = next;
    }
}

/* Past the parenthesis that closes the one at p. */
static const char *skip_parens(const char *p) {
    int open = 0;
    do {
        open += (*p == '(') - (*p == ')');
        p++;
    } while (*p && open > 0);
    return p;
}

static bool contains_word(const char *from, const char *to, const char *word) {
    const size_t n = strlen(word);
    for (; from + n <= to; from++)
        if (memcmp(from, word, n) == 0 && !is_word(from[n]))
            return true;
    return false;
}

/* Appends [from, to) on one line. */
static void append_flat(char *buffer, size_t size, const char *from, const char *to) {
    size_t n = strlen(buffer);
    for (; from < to && n + 1 < size; from++)
        buffer[n++] = *from == '\n' ? ' ' : *from;
    buffer[n] = 0;
}

/* p is after __global__. Reads the name and the launch bounds. */
static void read_kernel_head(scan *s, const char *p) {
    s->kernel[0] = s->bounds[0] = 0;
    if (!contains_word(s->declaration, p, "extern") && s->c_depth < 0)
        return;
    bool directives = false; /* the bounds may be between #if and #endif */
    for (p = skip_space(p); is_word(*p) || *p == '#'; p = skip_space(p)) {
        if (*p == '#') {
            p = skip_opaque(p, true, '\n');
            directives = true;
            continue;
        }
        const char *word = p;
        while (is_word(*p))
            p++;
        const char *word_end = p;
        p = skip_space(p);
        if (*p != '(')
            continue;
        if (word[0] != '_' || word[1] != '_') {
            append_flat(s->kernel, sizeof s->kernel, word, word_end);
            return;
        }
        const char *inside = p + 1;
        p = skip_parens(p);
        if (!directives && contains_word(word, word_end, "__launch_bounds__"))
            append_flat(s->bounds, sizeof s->bounds, inside, p - 1);
    }
}

static void end_kernel(scan *s) {
    fprintf(s->out, " HOSTCUDA_KERNEL(%s, (%s))", s->kernel, s->bounds);
    fprintf(s->facts, "kernel=%s%c", s->kernel, 0);
    s->kernel[0] = 0;
    s->in_body = false;
}

/* Copies the declaration [from, to) without what says where the array lies. */
static void strip_storage(char *buffer, size_t size, const char *from, const char *to) {
    static const char *const dropped[] = {"extern", "__shared__", "__align__", "alignas"};
    buffer[0] = 0;
    while (from < to) {
        const char *end = skip_opaque(from, false, ' ');
        if (end > from) {
            from = end;
            continue;
        }
        end = from + 1;
        while (is_word(*from) && end < to && is_word(*end))
            end++;
        bool drop = false;
        for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
            drop = drop || (strlen(dropped[i]) == (size_t)(end - from) &&
                            !memcmp(dropped[i], from, (size_t)(end - from)));
        if (!drop)
            append_flat(buffer, size, from, end);
        else if (*skip_space(end) == '(')
            end = skip_parens(skip_space(end));
        from = end;
    }
}

/* p is at `extern`: true, and everything to the semicolon is replaced, if it declares a shared array. The
 * reference works inside functions and outside, where the memory is not there yet when it is bound. */
static bool rewrite_extern_shared(scan *s) {
    const char *end = s->p + strcspn(s->p, ";{}\"");
    char text[512];
    if (*end != ';' || !contains_word(s->p, end, "__shared__"))
        return false;
    strip_storage(text, sizeof text, s->p, end);
    char *bracket = strchr(text, '['), *close = strchr(text, ']');
    if (!bracket || !close)
        return false;
    char *name_end = bracket;
    while (name_end > text && isspace((unsigned char)name_end[-1]))
        name_end--;
    char *name = name_end;
    while (name > text && is_word(name[-1]))
        name--;
    const int type_length = (int)(name - text), name_length = (int)(name_end - name);
    fprintf(s->out, "%.*s(*const &%.*s)%s = reinterpret_cast<%.*s(*const &)%s>(hostcuda.dynamic);",
            type_length, text, name_length, name, close + 1, type_length, text, close + 1);
    for (; s->p < end; s->p++)
        if (*s->p == '\n')
            fputc('\n', s->out);
    s->p++;
    return true;
}

static void take_word(scan *s) {
    const char *end = s->p;
    while (is_word(*end))
        end++;
    const size_t n = (size_t)(end - s->p);
    if (n == strlen("extern") && memcmp(s->p, "extern", n) == 0 && rewrite_extern_shared(s))
        return;
    if (n == strlen("__global__") && memcmp(s->p, "__global__", n) == 0 && !s->in_body)
        read_kernel_head(s, end);
    fwrite(s->p, 1, n, s->out);
    s->p = end;
}

static void take_char(scan *s) {
    const char c = *s->p++;
    fputc(c, s->out);
    s->parens += (c == '(') - (c == ')');
    if (c == '{') {
        if (s->c_depth < 0 && contains_word(s->declaration, s->p, "extern") && !s->kernel[0])
            s->c_depth = s->depth;
        if (s->kernel[0] && !s->in_body && s->parens == 0) {
            s->in_body = true;
            s->body_depth = s->depth;
        }
        s->depth++;
    } else if (c == '}') {
        s->depth--;
        if (s->in_body && s->depth == s->body_depth)
            end_kernel(s);
        if (s->depth == s->c_depth)
            s->c_depth = -1;
    } else if (c == ';' && !s->in_body && s->parens == 0) {
        s->kernel[0] = 0;
    }
    if (c == '{' || c == '}' || c == ';')
        s->declaration = s->p;
}

void hostcuda_rewrite(FILE *out, FILE *facts, const char *source) {
    scan s = {.p = source, .out = out, .facts = facts, .declaration = source, .c_depth = -1};
    bool line_start = true;
    char before = '\n';
    while (*s.p) {
        const char *at = s.p, *end = skip_opaque(s.p, line_start, before);
        if (end > s.p) {
            fwrite(s.p, 1, (size_t)(end - s.p), out);
            s.p = end;
            if (*at == '#' || *at == '/')
                s.declaration = s.declaration == at ? end : s.declaration;
        } else if (is_word(*s.p)) {
            take_word(&s);
        } else {
            take_char(&s);
        }
        before = s.p[-1];
        line_start = before == '\n' || (line_start && isspace((unsigned char)before));
    }
    if (s.in_body)
        end_kernel(&s);
}
