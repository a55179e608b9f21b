/*
 * Changes a user's text before it is compiled. Places are found in a copy where comments, texts in quotes and
 * directives are blank, so that they are those of code. Nothing is parsed: what has another form than these
 * is left to the compiler.
 */
#include "code/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/sizes.h"
#include "base/str.h"
#include "code/cxx.h"
#include "code/headers.h"

/* Is the option one of ours? */
static bool is_ours(const char *option, const char *kind) {
    return strncmp(option, kind, strlen(kind)) == 0;
}

/* ---- Changes of the text ------------------------------------------------------------------------------- */

/* `n` characters at `at` become `text`, or blanks if it is NULL. */
typedef struct edit {
    size_t at, n;
    const char *text;
    size_t n_text;
} edit;

typedef struct changes {
    const char *source;
    char *bare; /* only code */
    bool torch; /* an include of PyTorch's is left out */
    size_t n_edits;
    edit *edits;
} changes;

static tt_status change(changes *c, const char *from, const char *to, const char *text, size_t n_text) {
    TT_TRY(TT__GROW(c->edits, c->n_edits));
    c->edits[c->n_edits++] = (edit){(size_t)(from - c->bare), (size_t)(to - from), text, n_text};
    return TT_OK;
}

static int by_place(const void *a, const void *b) {
    const edit *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Lines stay lines, so that errors name the right ones. Directives stay, too, except one that begins the
 * text. */
static void write_blank(tt__str *out, const char *from, const char *to) {
    bool comment = false, stays = false;
    for (const char *at = from; at < to; at++) {
        if (at > from + 1 && at[-1] == '\n')
            stays = comment ? stays : (stays && at[-2] == '\\') || at[strspn(at, " \t")] == '#';
        if (at + 1 < to && at[0] == (comment ? '*' : '/') && at[1] == (comment ? '/' : '*'))
            comment = !comment;
        tt__str_addn(out, stays || *at == '\n' ? at : " ", 1);
    }
}

/* Changes inside of others are left out. */
static void write_changed(tt__str *out, const changes *c) {
    const char *at = c->source;
    if (c->n_edits > 1)
        qsort(c->edits, c->n_edits, sizeof *c->edits, by_place);
    for (size_t i = 0; i < c->n_edits; i++) {
        const edit *e = &c->edits[i];
        const char *from = c->source + e->at;
        if (from < at)
            continue;
        tt__str_addn(out, at, (size_t)(from - at));
        tt__str_addn(out, e->text, e->n_text);
        write_blank(out, from, from + (e->text ? 0 : e->n));
        at = from + e->n;
    }
    tt__str_add(out, at);
}

/* ---- Places in code ------------------------------------------------------------------------------------ */

static size_t word_length(const char *at) {
    size_t n = 0;
    while (tt__is_word_char(at[n]))
        n++;
    return n;
}

/* The next place of the word at or after `at`; NULL: none. */
static const char *next_word(const char *start, const char *at, const char *word, size_t n) {
    for (; (at = memmem(at, strlen(at), word, n)); at += n)
        if ((at == start || !tt__is_word_char(at[-1])) && !tt__is_word_char(at[n]))
            return at;
    return NULL;
}

static const char *find_text(const char *from, const char *to, const char *text) {
    return from < to ? memmem(from, (size_t)(to - from), text, strlen(text)) : NULL;
}

/* Files may be large: nothing beyond `to` is read. */
static const char *find_word(const char *from, const char *to, const char *word) {
    const size_t n = strlen(word);
    for (const char *at = from; (at = find_text(at, to, word)); at += n)
        if ((at == from || !tt__is_word_char(at[-1])) && !tt__is_word_char(at[n]))
            return at;
    return NULL;
}

static bool has_word(const char *from, const char *to, const char *word) {
    return find_word(from, to, word) != NULL;
}

/* Where the statement begins that has this place, or the enumeration or block. */
static const char *statement(const char *start, const char *at) {
    while (at > start && !strchr(";{}", at[-1]))
        at--;
    return at;
}

/* Behind the bracket that closes the one at `at`; NULL: none does. */
static const char *behind(const char *at) {
    const char open = *at, close = open == '(' ? ')' : open == '{' ? '}' : ']';
    int depth = 0;
    for (; *at; at++) {
        depth += (*at == open) - (*at == close);
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

/* ---- Definitions that a macro takes the place of ------------------------------------------------------- */

/* A line `#define NAME`, or `#undef NAME`, which is not *defined, from `l` on, with the lines that continue
 * it. NULL: none. */
static const char *next_define(tt__cxx_lines *l, const char **end, bool *defined, const char *name,
                               size_t n) {
    while (tt__cxx_next_line(l)) {
        const char *at = l->at + strspn(l->at, " \t");
        if (l->inside != TT__CXX_CODE || *at != '#')
            continue;
        at += 1 + strspn(at + 1, " \t");
        const size_t word = word_length(at);
        if (!tt__word_is(at, word, "define") && !tt__word_is(at, word, "undef"))
            continue;
        *defined = tt__word_is(at, word, "define");
        at += word + strspn(at + word, " \t");
        if (strncmp(at, name, n) != 0 || tt__is_word_char(at[n]) || at[n] == '(')
            continue;
        for (*end = l->at; **end && **end != '\n';)
            *end += **end == '\\' && (*end)[1] ? 2 + ((*end)[1] == '\r' && (*end)[2] == '\n') : 1;
        return l->at;
    }
    return NULL;
}

/* The value of a constant of this name from `at` on: `const int NAME = VALUE`, constexpr, an enumeration's,
 * `using NAME = VALUE`. NULL: none. */
static const char *next_value(const char *bare, const char *at, const char **end, const char *name,
                              size_t n) {
    for (; (at = next_word(bare, at, name, n)); at += n) {
        const char *sign = at + n + strspn(at + n, " \t\r\n"), *start = statement(bare, at);
        const char *before = start > bare && start[-1] == '{' ? statement(bare, start - 1) : NULL;
        const bool member = before && has_word(before, start, "enum");
        if (*sign != '=' || sign[1] == '=' ||
            !(member || has_word(start, at, "const") || has_word(start, at, "constexpr") ||
              has_word(start, at, "using")) ||
            has_word(start, at, "template") || memchr(start, '(', (size_t)(at - start)))
            continue;
        int depth = 0;
        for (*end = sign + 1; **end && (depth > 0 || !strchr(",;}", **end)); ++*end)
            depth += (strchr("([{", **end) != NULL) - (strchr(")]}", **end) != NULL);
        return sign + 1;
    }
    return NULL;
}

/* Of several constants of the name, the macro's may be none. */
static const char *only_value(const char *bare, const char **end, const char *name, size_t n) {
    const char *second, *value = next_value(bare, bare, end, name, n);
    return value && !next_value(bare, *end, &second, name, n) ? value : NULL;
}

static tt_status replace(changes *c, const char *macro, bool *dropped) {
    const size_t n = strcspn(macro, "=");
    const char *end, *at;
    tt__cxx_lines lines = {.source = c->source};
    bool defined = false, defines;
    while ((at = next_define(&lines, &end, &defines, macro, n))) {
        TT_TRY(change(c, c->bare + (at - c->source), c->bare + (end - c->source), NULL, 0));
        defined |= defines;
    }
    at = defined || macro[n] != '=' ? NULL : only_value(c->bare, &end, macro, n);
    *dropped = at != NULL;
    return at ? change(c, at, end, macro + n + 1, strlen(macro + n + 1)) : TT_OK;
}

int tt__source_replaced(const char *source, const char *name, const char **file, size_t *n) {
    char *bare = strdup(source);
    tt__cxx_lines lines = {.source = source};
    bool defined = true;
    const char *end, *at = next_define(&lines, &end, &defined, name, strlen(name));
    int line = 0;
    *file = NULL;
    while (at && !defined)
        at = next_define(&lines, &end, &defined, name, strlen(name));
    if (bare && !at) {
        tt__cxx_blank_all(bare);
        at = only_value(bare, &end, name, strlen(name));
        at = at ? source + (at - bare) : NULL;
    }
    free(bare);
    if (!at)
        return 0;
    for (const char *next = source; next && next <= at; next = strchr(next, '\n'), next += next != NULL) {
        line++;
        if (!is_ours(next, "#line "))
            continue;
        const char *quote = next + 6 + strspn(next + 6, "0123456789 ");
        line = atoi(next + 6) - 1;
        *n = *quote == '"' ? strcspn(quote + 1, "\"\n") : 0;
        *file = *n ? quote + 1 : *file;
    }
    return line;
}

/* ---- Functions that are not needed --------------------------------------------------------------------- */

/* Words whose brackets have no parameters of a function. */
enum { OF_KERNELS = 4 }; /* the first ones, which only a kernel may have */
static const char *const attributes[] = {"__launch_bounds__", "__cluster_dims__", "__maxnreg__",
                                         "__block_size__",    "__align__",        "__builtin_align__",
                                         "__attribute__",     "__declspec",       "alignas",
                                         "decltype",          "noexcept",         "requires"};

static bool is_attribute(const char *word, size_t n) {
    bool yes = false;
    for (size_t i = 0; i < TT__COUNT(attributes); i++)
        yes |= tt__word_is(word, n, attributes[i]);
    return yes;
}

static tt_status blank_attributes(changes *c, const char *from, const char *to) {
    for (size_t i = 0; i < OF_KERNELS; i++) {
        const char *at = find_word(from, to, attributes[i]);
        const char *open = at ? at + strlen(attributes[i]) : NULL;
        open = open ? open + strspn(open, " \t\r\n") : NULL;
        if (open && *open == '(' && behind(open))
            TT_TRY(change(c, at, behind(open), NULL, 0));
    }
    return TT_OK;
}

/* Behind the arguments of a template, and blanks; NULL: they do not end, or may have a comparison. */
static const char *behind_angles(const char *at) {
    int depth = 0;
    for (; *at && !strchr("(;{}", *at); at++) {
        depth += (*at == '<') - (*at == '>');
        if (depth == 0)
            return at + 1 + strspn(at + 1, " \t\r\n");
    }
    return NULL;
}

/* The name of the function whose head goes on at `at`, and where its parameters begin; NULL: it has another
 * form. */
static const char *head_name(const char *at, size_t *n, const char **open) {
    const char *name = NULL;
    for (; *at && !strchr(";{}", *at); at++) {
        if (*at == '(' && name) {
            *open = at;
            return name;
        }
        if (*at == '<' && name && (*open = behind_angles(at)))
            return **open == '(' ? name : NULL;
        if (*at == '(' || *at == '<')
            return NULL;
        const size_t word = word_length(at);
        if (word == 0)
            continue;
        const char *next = at + word + strspn(at + word, " \t\r\n");
        if (is_attribute(at, word) && *next == '(') {
            at = behind(next);
            if (!at)
                return NULL;
            at--;
            continue;
        }
        name = at;
        *n = word;
        at += word - 1;
    }
    return NULL;
}

static bool is_needed(const char *names, const char *name, size_t n) {
    for (size_t length; *names; names += length + strspn(names + length, " ")) {
        length = strcspn(names, " ");
        if (length == n && strncmp(names, name, n) == 0)
            return true;
    }
    return false;
}

/* Without code for the others, a large file compiles in a fraction of the time. */
static tt_status drop_kernels(changes *c, const char *names) {
    static const char global[] = "__global__", device[] = "__device__";
    const size_t n_global = sizeof global - 1;
    for (const char *at = c->bare; (at = next_word(c->bare, at, global, n_global)); at += n_global) {
        size_t n = 0;
        const char *open = NULL, *name = head_name(at + n_global, &n, &open), *start = statement(c->bare, at);
        if (!name || is_needed(names, name, n) || !behind(open) ||
            has_word(open, behind(open), "__grid_constant__"))
            continue;
        TT_TRY(change(c, at, at + n_global, device, n_global));
        TT_TRY(blank_attributes(c, start, behind(open) + strcspn(behind(open), ";{")));
    }
    return TT_OK;
}

/* Does it have something that only functions of the host can have? */
static bool is_of_host(const char *from, const char *to) {
    static const char *const words[] = {"fprintf", "fopen",           "fread",         "exit",
                                        "rand",    "PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_IMPL",
                                        "srand",   "gettimeofday"},
                             *const members[] = {"vector",   "string",   "cout",       "cerr",
                                                 "chrono",   "mt19937",  "unique_ptr", "runtime_error",
                                                 "ifstream", "ofstream", "map",        "unordered_map"};
    for (size_t i = 0; i < TT__COUNT(words); i++)
        if (has_word(from, to, words[i]))
            return true;
    for (const char *at = from; (at = find_text(at, to, "std::")); at += 5)
        for (size_t i = 0; i < TT__COUNT(members); i++)
            if (tt__word_is(at + 5, word_length(at + 5), members[i]))
                return true;
    for (const char *at = from; (at = find_text(at, to, "cuda")); at += 4) {
        const size_t n = word_length(at);
        if ((at == from || !tt__is_word_char(at[-1])) && at[4] >= 'A' && at[4] <= 'Z' &&
            at[n + strspn(at + n, " \t")] == '(' && !is_ours(at, "cudaGridDependency") &&
            !is_ours(at, "cudaTriggerProgrammatic"))
            return true;
    }
    for (const char *at = from; (at = find_text(at, to, "<<")); at += 2)
        if (at[2 + strspn(at + 2, " \t")] == '<')
            return true;
    return false;
}

/* Headers of libraries that kernels hardly need, and NVRTC cannot compile. */
static tt_status drop_includes(changes *c) {
    enum { OF_TORCH = 4 }; /* the first ones */
    static const char *const folders[] = {"ATen/",  "THC/",        "c10/",      "torch/", "absl/",
                                          "boost/", "cub/device/", "gtest/",    "hip/",   "hipcub/",
                                          "nvtx3/", "opencv2/",    "pybind11/", "sys/",   "thrust/"},
                             *const kept[] = {"thrust/functional.h", "thrust/iterator/", "thrust/pair.h",
                                              "thrust/tuple.h", "thrust/version.h"};
    tt__cxx_lines lines = {.source = c->source};
    while (tt__cxx_next_line(&lines)) {
        const char *at = lines.at + strspn(lines.at, " \t"), *from = c->bare + (lines.at - c->source);
        if (lines.inside != TT__CXX_CODE || *at != '#')
            continue;
        at += 1 + strspn(at + 1, " \t");
        if (!tt__word_is(at, word_length(at), "include"))
            continue;
        at += 7 + strspn(at + 7, " \t");
        bool stays = *at != '<' && *at != '"';
        for (size_t i = 0; i < TT__COUNT(kept) && !stays; i++)
            stays = is_ours(at + 1, kept[i]);
        for (size_t i = 0; i < TT__COUNT(folders) && !stays; i++)
            if (is_ours(at + 1, folders[i])) {
                c->torch |= i < OF_TORCH;
                TT_TRY(change(c, from, from + lines.n, NULL, 0));
            }
    }
    return TT_OK;
}

/* What may go if nothing that stays names it: a function or a variable of the host, a struct. A macro stays,
 * but what it names counts only if it is named itself. */
typedef struct part {
    const char *name, *from, *to;
    size_t n_name;
    bool of_host, macro, reached;
    bool special; /* of a template, which may be a header's */
    size_t group; /* names of one statement go together */
} part;

typedef struct parts {
    const char *source, *bare;
    bool pastes; /* macros make names */
    size_t n, n_macros, n_todo, n_groups;
    part *part;   /* macros, then others by place; in the end all by name */
    size_t *todo; /* reached, and not yet read */
    bool *stays;  /* each group */
} parts;

static tt_status add_part(parts *p, part what) {
    const bool same = p->n > 0 && p->part[p->n - 1].from == what.from;
    TT_TRY(TT__GROW(p->part, p->n));
    what.group = same ? p->n_groups - 1 : p->n_groups++;
    p->part[p->n++] = what;
    return TT_OK;
}

static const char *last_code(const char *start, const char *end) {
    while (end > start && strchr(" \t\r\n", end[-1]))
        end--;
    return end;
}

/* The word that ends at `end`, blanks apart. */
static const char *word_before(const char *start, const char *end, size_t *n) {
    const char *to = last_code(start, end), *from = to;
    while (from > start && tt__is_word_char(from[-1]))
        from--;
    *n = (size_t)(to - from);
    return from;
}

/* Where the bracket opens that closes before `end`. */
static const char *opening(const char *start, const char *end) {
    int depth = 0;
    while (end-- > start) {
        depth += (*end == ')') - (*end == '(');
        if (depth == 0)
            return end;
    }
    return NULL;
}

static bool has_any(const char *from, const char *to, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (has_word(from, to, words[i]))
            return true;
    return false;
}

static const char *const of_device[] = {"__device__", "__global__", "__constant__", "__shared__",
                                        "__managed__"};

static int by_name(const void *a, const void *b) {
    const part *x = a, *y = b;
    const int order = memcmp(x->name, y->name, x->n_name < y->n_name ? x->n_name : y->n_name);
    return order ? order : (x->n_name > y->n_name) - (x->n_name < y->n_name);
}

/* The first part of this name, or where it would be, among the first `high`, which are sorted. */
static size_t first_of(const parts *p, size_t high, const char *name, size_t n) {
    size_t low = 0;
    const part wanted = {.name = name, .n_name = n};
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (by_name(&p->part[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Is it a macro of the file that has whole definitions, or begins or ends one? */
static bool makes_code(const parts *p, const char *name, size_t n) {
    const part wanted = {.name = name, .n_name = n};
    bool yes = false;
    for (size_t i = first_of(p, p->n_macros, name, n); i < p->n_macros; i++) {
        const part *m = &p->part[i];
        if (by_name(m, &wanted) != 0)
            break;
        yes |= find_text(m->from, m->to, "{") || find_text(m->from, m->to, "}") ||
               find_text(m->from, m->to, ";");
    }
    return yes;
}

/* Behind the last macro before `to` that may make a definition of its own, as calls without a semicolon do;
 * `start` if there is none. */
static const char *behind_macros(const parts *p, const char *start, const char *to) {
    const char *from = start;
    int angle = 0;
    for (const char *at = start; at && at < to;) {
        const size_t n = word_length(at);
        const char *next = at + n + strspn(at + n, " \t\r\n");
        angle += (*at == '<') - (*at == '>');
        if (n && angle <= 0 && next < to && *next == '(') {
            const char *end = behind(next);
            from = is_attribute(at, n) ? from : end ? end : to;
            at = end;
            continue;
        }
        if (n && makes_code(p, at, n))
            from = at + n;
        at += n ? n : 1;
    }
    return from + strspn(from, " \t\r\n");
}

/* A part that has a name. `template <>` makes something special of a template. */
static tt_status add_named(parts *p, const char *name, size_t n, const char *from, const char *to) {
    const char *open = from + 8 * is_ours(from, "template");
    open += strspn(open, " \t\r\n");
    const bool special = open > from && *open == '<' && open[1 + strspn(open + 1, " \t\r\n")] == '>';
    return add_part(p, (part){.name = name, .from = from, .to = to, .n_name = n, .special = special});
}

/* A definition `TYPE NAME(...) {`, whose parameters end at `close`. A constructor `NAME::NAME(...)` goes with
 * its class. Operators are not named where they are used. */
static tt_status add_function(parts *p, const char *start, const char *close, const char *brace,
                              const char *end, bool member) {
    const char *open = opening(start, close);
    size_t n = 0, n_type = 0;
    bool typed = false;
    const char *name = word_before(start, open, &n);
    start += strspn(start, " \t\r\n");
    const bool is_operator = has_word(start, open, "operator");
    const char *own = behind_macros(p, start, is_operator ? start : name);
    const bool device = has_any(start, brace, of_device, TT__COUNT(of_device));
    const bool of_host = !device && ((n && tt__word_is(name, n, "main")) || is_of_host(own, end));
    if (of_host) /* whatever its name is */
        return add_part(p, (part){.name = own, .from = own, .to = end, .n_name = 0, .of_host = true});
    if (n == 0 || member || own != start || is_operator)
        return TT_OK;
    const char *before = last_code(start, name);
    before -= before > start && before[-1] == '~';
    while (before > start + 1 && before[-1] == ':' && before[-2] == ':') { /* of a namespace or a class */
        size_t n_scope = 0;
        const char *scope = word_before(start, before - 2, &n_scope);
        typed |= n_scope == n && strncmp(scope, name, n) == 0;
        before = last_code(start, scope);
    }
    word_before(start, before, &n_type);
    typed |= n_type > 0 || (before > start && strchr("*&>]", before[-1]));
    return typed ? add_named(p, name, n, start, end) : TT_OK;
}

/* `using NAME = ...;`, also a template, `using SCOPE::NAME;` or `typedef ... NAME;`. Several names stay. */
static tt_status add_alias(parts *p, const char *start, const char *end) {
    size_t n = 0;
    const char *name = word_before(start, end, &n), *use = find_word(start, end, "using");
    if (use && memchr(use, '=', (size_t)(end - use))) {
        name = use + 5 + strspn(use + 5, " \t\r\n");
        n = word_length(name);
    } else if (memchr(start, ',', (size_t)(end - start)) || has_word(start, end, "namespace") ||
               memchr(start, '(', (size_t)(end - start))) {
        return TT_OK;
    }
    return n && behind_macros(p, start, name) == start ? add_named(p, name, n, start, end + 1) : TT_OK;
}

/* The name in `... TYPE NAME(...);`, where macros may have brackets, too. */
static const char *prototype(const char *start, const char *end) {
    const char *close = last_code(start, end),
               *open = close > start && close[-1] == ')' ? opening(start, close) : NULL;
    size_t n = 0, n_type = 0;
    const char *name = open ? word_before(start, open, &n) : NULL;
    int depth = 0;
    for (const char *at = start; name && at < name; at++) {
        depth += (strchr("([<", *at) != NULL) - (strchr(")]>", *at) != NULL);
        if (depth == 0 && (*at == '=' || *at == ','))
            return NULL;
    }
    const char *before = n ? last_code(start, name) : start;
    word_before(start, before, &n_type);
    const bool typed = n_type > 0 || (before > start && strchr("*&>", before[-1]));
    return typed && !is_attribute(name, n) ? name : NULL;
}

/* A statement `TYPE NAME = ..., NAME(...);`. Instances of templates are made where they are used. */
static tt_status add_statement(parts *p, const char *start, const char *end) {
    static const char *const others[] = {"namespace", "static_assert", "asm", "operator", "friend"};
    static const char *const aliases[] = {"using", "typedef"};
    static const char *const types[] = {"struct", "class", "enum", "union"};
    start += strspn(start, " \t\r\n");
    const char *instance = find_word(start, end, "template");
    if (instance && instance[8 + strspn(instance + 8, " \t\r\n")] != '<' &&
        !(instance > start && strchr(".>:", last_code(start, instance)[-1])))
        return add_part(
            p, (part){.name = instance, .from = instance, .to = end + 1, .n_name = 8, .of_host = true});
    const char *head = start + strcspn(start, "=,[(;");
    const bool device = has_any(start, end, of_device, TT__COUNT(of_device));
    if (start >= end || has_any(start, head, others, TT__COUNT(others)) ||
        (device && (*head != '(' || p->pastes)))
        return TT_OK;
    if (has_any(start, end, aliases, TT__COUNT(aliases)))
        return add_alias(p, start, end);
    size_t n_name = 0, n_kind = 0;
    const char *name = word_before(start, end, &n_name), *kind = word_before(start, name, &n_kind);
    if (n_name && (tt__word_is(kind, n_kind, "struct") || tt__word_is(kind, n_kind, "class")) &&
        (kind == start || last_code(start, kind)[-1] == '>')) /* declared, to be defined later */
        return add_named(p, name, n_name, start, end + 1);
    name = prototype(start, end);
    if (name && behind_macros(p, start, name) == start)
        return add_named(p, name, word_length(name), start, end + 1);
    if (name || device)
        return TT_OK;
    const size_t n_before = p->n;
    bool named = false;
    int depth = 0, angle = 0;
    for (const char *at = start; at <= end; at++) {
        angle += p->n > n_before ? 0 : (*at == '<') - (*at == '>');
        if (depth == 0 && angle == 0 && !named && strchr("=,[(;", *at)) {
            size_t n = 0, n_type = 0;
            name = word_before(start, at, &n);
            const char *before = last_code(start, name);
            word_before(start, before, &n_type);
            const bool typed = p->n > n_before || n_type > 0 || (before > start && strchr("*&>", before[-1]));
            const bool first = p->n == n_before;
            if (n == 0 || !typed || is_attribute(name, n) ||
                (first && behind_macros(p, start, name) != start) ||
                has_any(before - n_type, before, types, TT__COUNT(types))) { /* it stays */
                p->n = n_before;
                return TT_OK;
            }
            TT_TRY(add_named(p, name, n, start, end + 1));
            named = true;
        }
        depth += (strchr("([", *at) != NULL) - (strchr(")]", *at) != NULL);
        named = named && !(depth == 0 && *at == ',');
    }
    return TT_OK;
}

/* `struct NAME {...};`, also a template. */
static tt_status add_struct(parts *p, const char *start, const char *brace, const char *end) {
    const char *at = NULL, *next = end + strspn(end, " \t\r\n");
    for (const char *from = start; from < brace && *next == ';';) {
        const char *word = find_word(from, brace, "struct"), *other = find_word(from, brace, "class");
        word = !word || (other && other < word) ? other : word;
        if (!word)
            break;
        from = word + (*word == 's' ? 6 : 5);
        const char *before = last_code(start, word);
        at = before > start && strchr("<,", before[-1]) ? at : from; /* not a template's parameter */
    }
    if (!at)
        return TT_OK;
    const char *name = at + strspn(at, " \t\r\n");
    const size_t n = word_length(name);
    const char *after = name + n + strspn(name + n, " \t\r\n");
    start += strspn(start, " \t\r\n");
    const bool plain = after == brace || *after == '<' || (*after == ':' && after[1] != ':');
    return n && plain && behind_macros(p, start, name) == start
               ? add_part(
                     p,
                     (part){
                         .name = name, .from = start, .to = next + 1, .n_name = n, .special = *after == '<'})
               : TT_OK;
}

/* The body of a constructor whose list `: a(1), b{2}` begins at `at`; NULL: it has another form. */
static const char *behind_members(const char *at) {
    while (at && (*at == ':' || *at == ',')) {
        at += 1 + strcspn(at + 1, "({;");
        at = *at && *at != ';' ? behind(at) : NULL;
        at = at ? at + strspn(at, " \t\r\n") : NULL;
    }
    return at && *at == '{' ? at : NULL;
}

/* Where the parameters end of the function whose body may begin at *brace, and not an attribute, as in
 * `struct __align__(16) {`. NULL: it is none. Of a constructor *brace becomes that of its body. */
static const char *end_of_parameters(const char *start, const char **brace) {
    static const char *const words[] = {"const", "noexcept", "override", "final", "volatile"};
    for (const char *at = start; (at = find_text(at, *brace, "("));) {
        size_t n = 0;
        const char *name = word_before(start, at, &n), *close = behind(at);
        if (!close || close > *brace)
            return NULL;
        const char *next = close + strspn(close, " \t\r\n");
        const bool members = *next == ':' && next[1] != ':';
        bool ends = next == *brace || is_ours(next, "->") || members;
        for (size_t i = 0; i < TT__COUNT(words); i++)
            ends |= tt__word_is(next, word_length(next), words[i]);
        if (ends && !is_attribute(name, n)) {
            *brace = members ? behind_members(next) : *brace;
            return *brace ? close : NULL;
        }
        at = close;
    }
    return NULL;
}

/* What is in no function and no struct. Members go only if they are of the host. */
static tt_status find_parts(parts *p) {
    const char *members = p->bare; /* where the struct ends that `at` is in */
    for (const char *at = p->bare; (at += strcspn(at, "{;"), *at);) {
        const char *start = statement(p->bare, at);
        if (*at == ';') {
            if (at >= members && p->source[at - p->bare] == ';') /* not a condition */
                TT_TRY(add_statement(p, start, at));
            at++;
            continue;
        }
        const char *brace = at, *close = end_of_parameters(start, &brace), *end = behind(brace ? brace : at);
        if (!end)
            break;
        const bool function = close != NULL;
        const bool type = has_word(start, at, "class") || has_word(start, at, "struct");
        size_t n_last = 0;
        const char *last =
            word_before(start, at, &n_last); /* in `extern "C" {`, where bare code has no text */
        const bool scope = type || has_word(start, at, "namespace") || tt__word_is(last, n_last, "extern");
        const bool device = has_any(start, at, of_device, TT__COUNT(of_device));
        if (function && !(device && (p->pastes || at < members)))
            TT_TRY(add_function(p, start, close, brace, end, at < members));
        else if (!function && type && at >= members)
            TT_TRY(add_struct(p, start, at, end));
        members = type && !function && end > members ? end : members;
        at = scope && !function ? at + 1 : end;
    }
    return TT_OK;
}

/* All of this name stay, overloads and macros alike. What they name is read later. */
static void reach(parts *p, const char *name, size_t n) {
    const part wanted = {.name = name, .n_name = n};
    for (size_t i = first_of(p, p->n, name, n); i < p->n && by_name(&p->part[i], &wanted) == 0; i++) {
        if (!p->part[i].reached && !p->part[i].of_host) {
            p->todo[p->n_todo++] = i;
            p->stays[p->part[i].group] = true;
        }
        p->part[i].reached = true;
    }
}

/* What code uses without its name: `for (x : all)` and `auto [a, b] = x` do, a `#pragma unroll` is in no text
 * that is read, and a header may use what the file makes special of its templates. */
static void reach_unnamed(parts *p) {
    static const char *const names[] = {"begin", "end", "get", "tuple_size", "tuple_element", "swap", ""};
    for (size_t i = 0; i < TT__COUNT(names); i++)
        reach(p, names[i], strlen(names[i]));
    for (size_t i = 0, next; i < p->n; i = next) {
        size_t n_special = 0, n_macros = 0;
        for (next = i; next < p->n && by_name(&p->part[i], &p->part[next]) == 0; next++) {
            n_special += p->part[next].special;
            n_macros += p->part[next].macro;
        }
        if (n_special && n_special + n_macros == next - i)
            reach(p, p->part[i].name, p->part[i].n_name);
    }
}

static void reach_words(parts *p, const char *from, const char *to) {
    while (from < to) {
        const size_t n = word_length(from);
        if (n)
            reach(p, from, n);
        from += n ? n : 1;
    }
}

/* Where the body of a macro begins whose name ends at `at`. */
static const char *body(const char *at) {
    const char *end = *at == '(' ? strchr(at, ')') : at;
    at = end ? end + (*end == ')') : at;
    while ((*at && strchr(" \t\\\r", *at)) || (*at == '\n' && strchr("\\\r", at[-1])))
        at++;
    return at;
}

/* Macros that make instances of kernels become empty. A pragma counts as one without a name. */
static tt_status add_macros(parts *p, changes *c) {
    tt__cxx_lines lines = {.source = c->source};
    while (tt__cxx_next_line(&lines)) {
        const char *at = lines.at + strspn(lines.at, " \t"), *end = lines.at;
        if (lines.inside != TT__CXX_CODE || *at != '#')
            continue;
        at += 1 + strspn(at + 1, " \t");
        const bool pragma = tt__word_is(at, word_length(at), "pragma");
        if (!pragma && !tt__word_is(at, word_length(at), "define"))
            continue;
        at += 6 + strspn(at + 6, " \t");
        while (*end && *end != '\n')
            end += *end == '\\' && end[1] ? 2 + (end[1] == '\r' && end[2] == '\n') : 1;
        if (pragma) {
            TT_TRY(add_part(p, (part){.name = at, .from = at, .to = end, .macro = true}));
            continue;
        }
        p->pastes |= memmem(at, (size_t)(end - at), "##", 2) != NULL;
        const char *made = body(at + word_length(at)), *next = made + word_length(made);
        if (made < end && tt__word_is(made, word_length(made), "template") &&
            next[strspn(next, " \t\\\r\n")] != '<')
            TT_TRY(change(c, c->bare + (made - c->source), c->bare + (end - c->source), NULL, 0));
        else
            TT_TRY(add_part(p, (part){.name = at,
                                      .from = at + word_length(at),
                                      .to = end,
                                      .n_name = word_length(at),
                                      .macro = true}));
    }
    return TT_OK;
}

/* Names in what is no part reach others, and so do the options: templates' arguments, code that is added. */
static tt_status reach_parts(parts *p, const char *options, int n) {
    const char *at = p->bare;
    part *by_place = malloc((p->n + 1) * sizeof *by_place);
    p->todo = malloc((p->n + 1) * sizeof *p->todo);
    p->stays = calloc(p->n_groups + 1, sizeof *p->stays);
    if (!by_place || !p->todo || !p->stays) {
        free(by_place);
        return tt__fail_memory((p->n + 1) * sizeof *by_place);
    }
    size_t n_places = 0;
    for (size_t i = 0; i < p->n; i++)
        if (!p->part[i].macro)
            by_place[n_places++] = p->part[i];
    if (p->n)
        qsort(p->part, p->n, sizeof *p->part, by_name);
    for (size_t i = 0; i < n_places; i++) {
        if (by_place[i].from >= at)
            reach_words(p, at, by_place[i].from);
        at = by_place[i].to > at ? by_place[i].to : at;
    }
    reach_words(p, at, at + strlen(at));
    for (int i = 0; i < n; i++, options += strlen(options) + 1)
        reach_words(p, options + (*options == '-' ? 0 : strcspn(options, ":")), options + strlen(options));
    reach_unnamed(p);
    while (p->n_todo > 0) {
        const part *next = &p->part[p->todo[--p->n_todo]];
        reach_words(p, next->from, next->to);
    }
    free(by_place);
    return TT_OK;
}

/* What the kernels do not reach is of the host, or might be: its types and its headers are not at hand. */
static tt_status drop_unused(changes *c, tt__cut cut, const char *options, int n) {
    parts p = {.source = c->source, .bare = c->bare};
    tt_status status = add_macros(&p, c);
    p.n_macros = p.n;
    if (p.n)
        qsort(p.part, p.n, sizeof *p.part, by_name);
    status = status == TT_OK ? find_parts(&p) : status;
    status = status == TT_OK ? reach_parts(&p, options, n) : status;
    for (size_t i = 0; i < p.n && status == TT_OK; i++)
        if (p.part[i].of_host || (cut == TT__CUT_UNUSED && !p.part[i].macro && !p.stays[p.part[i].group]))
            status = change(c, p.part[i].from, p.part[i].to, NULL, 0);
    free(p.part);
    free(p.todo);
    free(p.stays);
    return status;
}

static tt_status change_source(changes *c, bool *dropped, tt__cut cut, const char *options, int n) {
    const char *users = NULL, *at = options, *options_of_all = options;
    for (int i = 0; i < n; i++, at += strlen(at) + 1)
        users = is_ours(at, TT__USERS) ? at + strlen(TT__USERS) : users;
    if (!users)
        return TT_OK;
    tt__cxx_blank_all(c->bare);
    for (int i = 0; i < n; i++, options += strlen(options) + 1)
        if (is_ours(options, "-D") && !is_ours(options, "-DELEM_SIZE=")) /* a file may have one of its own */
            TT_TRY(replace(c, options + 2, &dropped[i]));
    TT_TRY(drop_includes(c));
    if (cut == TT__CUT_NOTHING)
        return TT_OK;
    TT_TRY(drop_unused(c, cut, options_of_all, n));
    return drop_kernels(c, users);
}

tt_status tt__source_make(tt__str *out, bool *dropped, tt__cut cut, const char *source, const char *options,
                          int n) {
    tt__str text = {0};
    changes c = {.source = source, .bare = strdup(source)};
    tt_status status =
        c.bare ? change_source(&c, dropped, cut, options, n) : tt__fail_memory(strlen(source) + 1);
    if (status == TT_OK) {
        write_changed(&text, &c);
        tt__add_head(out, tt__str_text(&text), c.torch, options, n);
        tt__str_add(out, tt__str_text(&text));
        status = tt__str_check(&text);
    }
    for (int i = 0; i < n; i++, options += strlen(options) + 1)
        if (is_ours(options, TT__CODE))
            tt__str_add(out, options + strlen(TT__CODE));
    free(c.bare);
    free(c.edits);
    tt__str_free(&text);
    return status == TT_OK ? tt__str_check(out) : status;
}
