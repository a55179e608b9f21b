/*
 * Pastes headers into the text that includes them. Conditions are not evaluated: the compiler skips pasted
 * text just as it would have skipped the #include line.
 */
#include "kernel/annotation/include.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/read_file.h"
#include "code/cxx.h"
#include "kernel/annotation/words.h"
#include "kernel/expression/scan.h"

/* A file that is being read, linked to the file that includes it. */
typedef struct file {
    const struct file *by;
    const char *path, *shown; /* shown: name for `#line` */
    char *real;               /* NULL: there is no such file */
    int depth;
} file;

enum { FOLDERS_MAX = 8 };

typedef struct expansion {
    tt__str *out;
    size_t n_folders;
    tt__slice folders[FOLDERS_MAX]; /* of `//@ include` lines */
    size_t n_once;
    char **once;         /* real paths */
    const char *watched; /* a real path that is looked for, or NULL */
    bool seen;
} expansion;

/* Takes the word if it is next. */
static bool take_word(tt__slice *rest, const char *word) {
    size_t n = strlen(word);
    *rest = tt__trim(*rest);
    if (rest->n < n || memcmp(rest->at, word, n) != 0 || (rest->n > n && tt__is_word_char(rest->at[n])))
        return false;
    *rest = tt__trim((tt__slice){rest->at + n, rest->n - n});
    return true;
}

/* Finds what follows `#DIRECTIVE`. False if the line is not one. */
static bool is_directive(tt__slice line, const char *word, tt__slice *operand) {
    *operand = tt__trim(line);
    if (!operand->n || *operand->at != '#')
        return false;
    *operand = (tt__slice){operand->at + 1, operand->n - 1};
    return take_word(operand, word);
}

static bool is_pragma_once(tt__slice line) {
    tt__slice rest;
    return is_directive(line, "pragma", &rest) && take_word(&rest, "once");
}

static tt_status expand(expansion *x, const file *f, const char *text);

/* The checked text of a header. *found is false if there is none of that name. */
static tt_status read_header(tt__str *out, const file *f, bool *found) {
    struct stat st;
    *out = (tt__str){0};
    *found = f->real != NULL;
    if (!*found)
        return TT_OK;
    if (stat(f->real, &st) != 0 || !S_ISREG(st.st_mode))
        return tt__fail(TT_E_TEMPLATE, "cannot read %s: only regular files are read", f->path);
    if (st.st_size > TT__INCLUDE_BYTES_MAX)
        return tt__fail(TT_E_TEMPLATE, "%s: %lld bytes, the limit is %d", f->path, (long long)st.st_size,
                        TT__INCLUDE_BYTES_MAX);
    TT_TRY(tt__read_file_max(out, f->real, TT__INCLUDE_BYTES_MAX));
    if (strlen(tt__str_text(out)) == out->len)
        return TT_OK;
    tt__str_free(out);
    return tt__fail(TT_E_TEMPLATE, "%s: not a text file (it has a NUL byte)", f->path);
}

static bool comes_in(const expansion *x, const file *f) {
    for (const file *by = f->by; by; by = by->by)
        if (by->real && strcmp(by->real, f->real) == 0)
            return false;
    for (size_t i = 0; i < x->n_once; i++)
        if (strcmp(x->once[i], f->real) == 0)
            return false;
    return true;
}

static tt_status remember_once(expansion *x, const file *f) {
    TT_TRY(TT__GROW(x->once, x->n_once));
    x->once[x->n_once] = strdup(f->real);
    if (!x->once[x->n_once])
        return tt__fail_memory(strlen(f->real) + 1);
    x->n_once++;
    return TT_OK;
}

/* Replaces line `line` of `by` by the header at this path. *pasted is false if
 * there is no such file. */
static tt_status paste_at(expansion *x, const file *by, int line, const char *name, const char *path,
                          bool *pasted) {
    tt__str text = {0};
    file f = {.by = by, .path = path, .shown = name, .depth = by->depth + 1, .real = realpath(path, NULL)};
    tt_status status;
    TT_GOTO(read_header(&text, &f, pasted));
    if (!*pasted)
        goto out;
    x->seen |= x->watched && strcmp(x->watched, f.real) == 0;
    if (f.depth > TT__INCLUDE_DEPTH_MAX)
        TT_GOTO(
            tt__fail(TT_E_TEMPLATE, "headers include each other more than %d deep", TT__INCLUDE_DEPTH_MAX));
    if (comes_in(x, &f)) {
        tt__line_directive(x->out, 1, f.shown);
        TT_GOTO(expand(x, &f, tt__str_text(&text)));
    }
    tt__line_directive(x->out, line + 1, by->shown);
out:
    free(f.real);
    tt__str_free(&text);
    return status;
}

/* Appends the path of `name` in a folder that is relative to that of the file `from`. */
static void add_path(tt__str *out, const char *from, tt__slice folder, const char *name) {
    const char *slash = strrchr(from, '/');
    const bool absolute = (folder.n ? *folder.at : *name) == '/';
    tt__str_addf(out, "%.*s%.*s%s%s", slash && !absolute ? (int)(slash - from + 1) : 0, from, (int)folder.n,
                 folder.at, folder.n ? "/" : "", name);
}

/* Looks for the header in a folder. */
static tt_status paste(expansion *x, const file *by, int line, const char *name, const file *from,
                       tt__slice folder, bool *pasted) {
    tt__str path = {0};
    add_path(&path, from->path, folder, name);
    tt_status status = tt__str_check(&path);
    if (status == TT_OK)
        status = paste_at(x, by, line, name, tt__str_text(&path), pasted);
    tt__str_free(&path);
    return status;
}

/* Beside the file that includes it, if it stands in quotes, and then in the folders of `//@ include`. */
static tt_status search(expansion *x, const file *by, int line, const char *name, bool quoted, bool *pasted) {
    const file *root = by;
    while (root->by)
        root = root->by;
    if (quoted || *name == '/')
        TT_TRY(paste(x, by, line, name, by, (tt__slice){"", 0}, pasted));
    for (size_t i = 0; i < x->n_folders && !*pasted && *name != '/'; i++)
        TT_TRY(paste(x, by, line, name, root, x->folders[i], pasted));
    return TT_OK;
}

/* Handles a line that is an `#include`. */
static tt_status include(expansion *x, const file *f, int line, int column, tt__slice whole,
                         tt__slice operand) {
    char close = operand.n && *operand.at == '"' ? '"' : operand.n && *operand.at == '<' ? '>' : '\0';
    const char *end = close ? memchr(operand.at + 1, close, operand.n - 1) : NULL;
    char name[TT__PATH_MAX];
    size_t n = end ? (size_t)(end - operand.at - 1) : 0;
    bool pasted = false;
    if (!end || n == 0 || n >= sizeof name)
        return tt__template_fail(
            f->path, line, column,
            "`#include %.*s`: expected \"FILE\" or <FILE>, written out: what comes in is part of "
            "what results are known by",
            TT__SHOW(operand));
    tt__copy(name, n + 1, operand.at + 1);
    tt_status status = search(x, f, line, name, close == '"', &pasted);
    if (status != TT_OK && f->depth == 0 && status != TT_E_NO_MEMORY)
        tt__fail_prefix(status, "%s:%d:%d", f->path, line, column);
    TT_TRY(status);
    if (!pasted && close == '"')
        tt__str_addf(x->out, "#include <%s>%.*s\n", name, (int)(operand.at + operand.n - end - 1), end + 1);
    else if (!pasted)
        tt__str_addf(x->out, "%.*s\n", (int)whole.n, whole.at);
    return TT_OK;
}

/* The length of a byte order mark at the beginning of a text. NVRTC takes none. */
static size_t mark_length(const char *text) {
    return strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

static tt_status expand(expansion *x, const file *f, const char *text) {
    tt__cxx_lines l = {.source = text + mark_length(text)};
    while (tt__cxx_next_line(&l)) {
        tt__slice whole = {l.at, l.n}, operand;
        const bool code = l.inside == TT__CXX_CODE;
        if (code && is_directive(whole, "include", &operand)) {
            TT_TRY(include(x, f, l.number, (int)(operand.at - l.at) + 1, whole, operand));
        } else if (code && f->depth > 0 && is_pragma_once(whole)) {
            TT_TRY(remember_once(x, f));
            tt__str_add(x->out, "\n");
        } else {
            tt__str_addn(x->out, l.at, l.n);
            tt__str_add(x->out, "\n");
        }
        if (x->out->len > TT__INCLUDE_BYTES_MAX)
            return tt__fail(TT_E_TEMPLATE, "%s: with all that it includes it has more than %d bytes", f->path,
                            TT__INCLUDE_BYTES_MAX);
    }
    return tt__str_check(x->out);
}

/* Reads the `//@ include FOLDER` lines. */
static tt_status find_folders(expansion *x, const char *path, const char *text) {
    tt__cxx_lines l = {.source = text + mark_length(text)};
    while (tt__cxx_next_line(&l)) {
        tt__slice line = tt__trim((tt__slice){l.at, l.n});
        if (l.inside != TT__CXX_CODE || line.n < 3 || memcmp(line.at, "//@", 3) != 0)
            continue;
        line = tt__trim((tt__slice){line.at + 3, line.n - 3});
        if (!tt__slice_is(tt__take_word(&line), "include") || !line.n)
            continue;
        if (x->n_folders == FOLDERS_MAX)
            return tt__template_fail(path, l.number, 0, "more than %d `include` lines", FOLDERS_MAX);
        x->folders[x->n_folders++] = line;
    }
    return TT_OK;
}

void tt__line_directive(tt__str *out, int line, const char *file) {
    tt__str_addf(out, "#line %d \"", line);
    for (; *file; file++)
        tt__str_addf(out, strchr("\"\\", *file) ? "\\%c" : "%c", *file);
    tt__str_add(out, "\"\n");
}

static tt_status expand_all(expansion *x, const char *path, const char *text) {
    const char *slash = strrchr(path, '/');
    file f = {.path = path, .shown = slash ? slash + 1 : path, .real = realpath(path, NULL)};
    tt_status status = find_folders(x, path, text);
    if (status == TT_OK)
        status = expand(x, &f, text);
    for (size_t i = 0; i < x->n_once; i++)
        free(x->once[i]);
    free(x->once);
    free(f.real);
    return status;
}

tt_status tt__include_expand(tt__str *out, const char *path, const char *text) {
    return expand_all(&(expansion){.out = out}, path, text);
}

tt_status tt__include_missing(tt__str *out, const char *path, const char *text) {
    expansion x = {0};
    tt_status status = find_folders(&x, path, text);
    for (size_t i = 0; status == TT_OK && i < x.n_folders; i++) {
        tt__str folder = {0};
        struct stat st;
        add_path(&folder, path, x.folders[i], "");
        status = tt__str_check(&folder);
        if (status == TT_OK && (stat(folder.text, &st) != 0 || !S_ISDIR(st.st_mode)))
            tt__str_addf(out, "%s`include %.*s`: there is no folder %s", out->len ? "\n" : "",
                         TT__SHOW(x.folders[i]), folder.text);
        tt__str_free(&folder);
    }
    return status;
}

bool tt__include_has(const char *path, const char *text, const char *file) {
    tt__str all = {0};
    char *real = realpath(file, NULL);
    expansion x = {.out = &all, .watched = real};
    if (real)
        expand_all(&x, path, text);
    tt__str_free(&all);
    free(real);
    return x.seen;
}
