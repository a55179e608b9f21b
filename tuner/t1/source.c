/*
 * The text of a kernel that was written for another tuner. It is searched with its comments blanked out; what
 * is missing is extern "C" in front of the kernel, and the macros that Kernel Tuner has.
 */
#include <stdlib.h>
#include <string.h>

#include "template/scan.h"
#include "tuner/t1/convert.h"

/* A copy with comments made blank. */
static char *without_comments(const char *source) {
    char *text = strdup(source), quote = 0;
    for (char *c = text; c && *c; c++) {
        if (quote) {
            c += *c == '\\' && c[1];
            quote = *c == quote || *c == '\n' ? 0 : quote;
        } else if (*c == '"' || *c == '\'') {
            quote = *c;
        } else if (c[0] == '/' && (c[1] == '/' || c[1] == '*')) {
            const char *end = c[1] == '/' ? strchr(c, '\n') : strstr(c + 2, "*/");
            size_t n = !end ? strlen(c) : (size_t)(end - c) + (c[1] == '/' ? 0 : 2);
            memset(c, ' ', n);
            c += n - 1;
        }
    }
    return text;
}

/* The next of this word from `from` on, and before `end` if that is given. */
static const char *find_word(const char *text, const char *from, const char *end, const char *word) {
    size_t n = strlen(word);
    for (const char *hit = from; (hit = strstr(hit, word)) && (!end || hit < end); hit += n)
        if ((hit == text || !tt__is_word_char(hit[-1])) && !tt__is_word_char(hit[n]))
            return hit;
    return NULL;
}

/* Where the declaration begins that a word is part of. */
static const char *declaration(const char *text, const char *at) {
    while (at > text && !strchr(";{}", at[-1]))
        at--;
    return at;
}

/* Writes `source` with extern "C" before each __global__ that declares the kernel. */
static tt_status add_linkage(tt__str *out, tt__str *notes, const char *source, const char *text,
                             const char *kernel) {
    const char *done = text;
    size_t n = 0;
    for (const char *at = text; (at = find_word(text, at, NULL, kernel)); at += strlen(kernel)) {
        const char *open = at + strlen(kernel) + strspn(at + strlen(kernel), " \t\r\n");
        const char *begin = declaration(text, at), *global = find_word(text, begin, at, "__global__");
        if (*open != '(' || !global || global < done)
            continue;
        if (find_word(text, begin, global, "template"))
            return tt__fail(TT_E_INVALID,
                            "the kernel %s is a C++ template: add an extern \"C\" kernel that calls it, and "
                            "name that",
                            kernel);
        tt__str_addn(out, source + (done - text), (size_t)(global - done));
        tt__str_add(out, "extern \"C\" ");
        done = global;
        n++;
    }
    if (n == 0)
        return tt__fail(TT_E_INVALID, "it has no __global__ function %s", kernel);
    tt__str_add(out, source + (done - text));
    tt__t1_note(notes, "extern \"C\" was put before the kernel %s", kernel);
    return TT_OK;
}

static tt_status check_lines(tt__str *notes, const char *source) {
    int number = 1;
    for (const char *line = source; *line; number++) {
        size_t n = strcspn(line, "\n");
        const char *at = line + strspn(line, " \t\r");
        if (strncmp(at, "//@", 3) == 0)
            return tt__fail(TT_E_INVALID,
                            "line %d is an annotation: the file is a template already, use it as it is",
                            number);
        bool include = strncmp(at, "#include", 8) == 0;
        const char *name = include ? at + 8 + strspn(at + 8, " \t") : "";
        if (include && *name == '"')
            tt__t1_note(notes,
                        "line %d of the kernel's file includes \"%.*s\", which is looked up beside this one: "
                        "put it there",
                        number, (int)(strcspn(name + 1, "\"\r\n") > 80 ? 80 : strcspn(name + 1, "\"\r\n")),
                        name + 1);
        line += n + (line[n] == '\n');
    }
    return TT_OK;
}

tt_status tt__t1_source(tt__str *out, tt__str *notes, const char *source, const char *kernel) {
    TT_TRY(check_lines(notes, source));
    char *text = without_comments(source);
    if (!text)
        return tt__fail_memory(strlen(source) + 1);
    tt_status status = TT_OK;
    if (find_word(text, text, NULL, "kernel_tuner"))
        tt__str_add(out, "#define kernel_tuner 1\n\n");
    if (strstr(text, "extern \"C\""))
        tt__str_add(out, source);
    else
        status = add_linkage(out, notes, source, text, kernel);
    free(text);
    if (out->len && out->text[out->len - 1] != '\n')
        tt__str_add(out, "\n");
    return status == TT_OK ? tt__str_check(out) : status;
}
