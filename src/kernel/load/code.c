/* Is what annotations name in the code? The code is searched for words; NVRTC compiles it later. */
#include "kernel/load/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "code/cxx.h"
#include "kernel/annotation/index.h"
#include "kernel/expression/scan.h"

static size_t word_length(const char *at) {
    size_t n = 0;
    while (tt__is_word_char(at[n]))
        n++;
    return n;
}

/* Fails, and suggests the word before a parenthesis in the code that is nearest to the name. */
static tt_status fail_code(const tt__template *t, const char *code, const tt__geometry_expr *g,
                           const char *name, const char *keyword) {
    tt__suggest near = tt__suggest_for(name, strlen(name));
    char best[TT__NAME_MAX] = "";
    for (const char *at = code, *end; *at; at = end + (*end != '\0')) {
        size_t n = word_length(at), distance = near.distance;
        char word[TT__NAME_MAX];
        end = at + n;
        if (!tt__is_word(at, n) || n >= sizeof word || *end != '(')
            continue;
        tt__copy(word, n + 1, at);
        tt__suggest_try(&near, word);
        if (near.distance < distance)
            tt__copy(best, sizeof best, word);
    }
    near.best = *best ? best : NULL;
    return tt__template_fail(t->path, g->line, g->column, "the code has no kernel %s, which `%s` names%s",
                             name, keyword, tt__suggest_text(&near));
}

/* Does a kernel of the text wait for previous kernels? A mere include of common.cuh does not count. */
static bool code_waits(const char *source) {
    const size_t n_defined = tt__text_count_word(source, "void wait_for_earlier");
    const size_t n_waits = tt__text_count_word(source, "griddepcontrol.wait") +
                           tt__text_count_word(source, "cudaGridDependencySynchronize");
    return n_defined ? n_waits > 1 || tt__text_count_word(source, "wait_for_earlier") > n_defined
                     : n_waits > 0;
}

/* Verifying cannot find a missing wait, because each launch runs alone. */
static tt_status check_early(const tt__template *t, const char *code, const tt__geometry_expr *g,
                             const char *name) {
    if (!g->early || code_waits(code))
        return TT_OK;
    return tt__template_fail(t->path, g->line, g->column,
                             "%s says `launch early`, and the code does not wait: call wait_for_earlier() of "
                             "common.cuh before global memory is read or written",
                             name);
}

/* Where the bracket that opens at `at` closes; the end of the text if it does not. */
static const char *closing(const char *at) {
    const char open = *at, close = open == '(' ? ')' : '}';
    int depth = 0;
    for (; *at; at++) {
        depth += (*at == open) - (*at == close);
        if (depth == 0)
            return at;
    }
    return at;
}

/* The next body of a function of this name, and its end. NULL: there is none. */
static const char *body_of(const char *at, const char *function, const char **end) {
    const size_t length = strlen(function);
    const char *const begin = at;
    for (; (at = strstr(at, function)); at += length) {
        const char *open = at + length + strspn(at + length, " \t\r\n");
        if ((at > begin && tt__is_word_char(at[-1])) || *open != '(')
            continue;
        open = closing(open);
        open += *open == ')';
        open += strspn(open, " \t\r\n");
        if (*open != '{')
            continue;
        *end = closing(open);
        return open;
    }
    return NULL;
}

/* Does the body wait for the group of this name, as in g.sync() and cg::sync(g)? */
static bool waits_for(const char *body, const char *end, const char *name, size_t n) {
    static const char call[] = "sync(";
    for (const char *at = body + strlen(call); at + n < end; at++) {
        if (memcmp(at, name, n) != 0 || tt__is_word_char(at[n]) || tt__is_word_char(at[-1]))
            continue;
        const char *after = at + n + strspn(at + n, "() \t\r\n"), *before = at;
        while (before > body + strlen(call) && (tt__is_word_char(before[-1]) || before[-1] == ':'))
            before--;
        if (strncmp(after, ".sync", 5) == 0 || strncmp(after, ".barrier_", 9) == 0 ||
            strncmp(before - strlen(call), call, strlen(call)) == 0)
            return true;
    }
    return false;
}

/* The name of the variable that is set to what begins at `at`: NULL if there is none. */
static const char *variable_of(const char *begin, const char *at, size_t *n) {
    while (at > begin && (tt__is_word_char(at[-1]) || strchr(": \t\r\n", at[-1])))
        at--;
    if (at == begin || at[-1] != '=')
        return NULL;
    for (at--; at > begin && strchr(" \t\r\n", at[-1]);)
        at--;
    for (*n = 0; at > begin && tt__is_word_char(at[-1]); at--)
        ++*n;
    return *n ? at : NULL;
}

/* Does the body of this function wait for its whole grid? */
static bool body_waits_for_grid(const char *bare, const char *function) {
    static const char grid[] = "this_grid";
    const char *end, *open = body_of(bare, function, &end);
    for (const char *at = open; at && (at = strstr(at, grid)) && at < end; at += strlen(grid)) {
        size_t n;
        const char *name = variable_of(open, at, &n);
        if (waits_for(open, end, grid, strlen(grid)) || (name && waits_for(open, end, name, n)))
            return true;
    }
    return false;
}

/* What the code of a kernel needs of its launch, and its annotations do not say. */
static tt_status check_needs(const tt__template *t, const char *bare, const tt__geometry_expr *g,
                             const char *name) {
    const char *end, *body = body_of(bare, name, &end);
    const char *in_cluster = body ? strstr(body, "this_cluster") : NULL;
    if (!g->cooperative && body_waits_for_grid(bare, name))
        return tt__template_fail(
            t->path, g->line, g->column,
            "%s waits for its whole grid (this_grid), so all of its blocks must be on the "
            "GPU at once: add //@ launch cooperative",
            name);
    if (in_cluster && in_cluster < end && !g->cluster[0].text && !tt__text_has_word(bare, "__cluster_dims__"))
        return tt__template_fail(t->path, g->line, g->column,
                                 "%s works in clusters of blocks (this_cluster), and nothing says how large "
                                 "they are: add a line such as //@ cluster 2",
                                 name);
    return TT_OK;
}

/* The type of a texture or surface among a function's parameters, or NULL. */
static const char *texture_of(const char *source, const char *name) {
    static const char *const types[] = {"cudaTextureObject_t", "cudaSurfaceObject_t", "CUtexObject",
                                        "CUsurfObject", "CUtensorMap"};
    size_t n = strlen(name);
    for (const char *at = source; (at = strstr(at, name)); at += n) {
        const char *open = at + n + strspn(at + n, " \t\r\n");
        if (*open != '(' || (at > source && tt__is_word_char(at[-1])))
            continue;
        for (size_t i = 0; i < TT__COUNT(types); i++) {
            const char *type = strstr(open, types[i]);
            if (type && type < open + strcspn(open, ")"))
                return types[i];
        }
    }
    return NULL;
}

/* Does the body of this function have a declaration with both words? */
static bool body_declares(const char *bare, const char *function, const char *first, const char *second) {
    const char *end;
    for (const char *at = bare; (at = body_of(at, function, &end)); at = end) {
        bool has_first = false, has_second = false;
        for (size_t n; at < end; at += n ? n : 1) {
            n = word_length(at);
            has_first |= tt__word_is(at, n, first);
            has_second |= tt__word_is(at, n, second);
            if (has_first && has_second)
                return true;
            if (strchr("{};", *at))
                has_first = has_second = false;
        }
    }
    return false;
}

/* Without a `shared` line the array has no bytes. */
static tt_status check_shared(const tt__template *t, const char *bare, const tt__geometry_expr *g,
                              const char *name) {
    if (g->shared.text || !body_declares(bare, name, "extern", "__shared__"))
        return TT_OK;
    return tt__template_fail(t->path, g->line, g->column,
                             "%s declares an `extern __shared__` array, and has no `shared` line that says "
                             "how many bytes of it a block has, as in //@ shared 4 * 256",
                             name);
}

static bool takes_map(const tt__template *t, const tt__geometry_expr *g) {
    bool found = false;
    for (int i = g->first_arg; i < g->first_arg + g->n_args; i++)
        found |= t->args[i].map > 0;
    return found;
}

/* Is the kernel in the code, and can it be launched? `bare` is without texts in quotes and directives. */
static tt_status check_kernel(const tt__template *t, const char *code, const char *bare,
                              const tt__geometry_expr *g, const char *symbol, const char *keyword) {
    char name[TT__NAME_MAX];
    if (tt__index_operand(t, symbol) >= 0) /* code of ours */
        return TT_OK;
    size_t end = strcspn(symbol, "<"), start = end;
    while (start > 0 && tt__is_word_char(symbol[start - 1]))
        start--;
    tt__copy(name, end - start + 1, symbol + start);
    if (tt__text_has_word(code, "__kernel") && !tt__text_has_word(code, "__global__"))
        return tt__template_fail(t->path, g->line, g->column,
                                 "the code is OpenCL (`__kernel`), and only CUDA C++ can be tuned");
    const char *object = texture_of(code, name);
    const bool is_map = object && strcmp(object, "CUtensorMap") == 0;
    if (is_map && !takes_map(t, g))
        return tt__template_fail(t->path, g->line, g->column,
                                 "%s takes a CUtensorMap: make one with a line such as //@ tensormap map x "
                                 "(cols, rows) box (64, 32), and let its `args` name it",
                                 name);
    if (object && !is_map)
        return tt__template_fail(t->path, g->line, g->column,
                                 "%s takes a %s, and textures and surfaces cannot be given: let it read a "
                                 "buffer",
                                 name, object);
    if (!tt__text_has_word(code, name))
        return fail_code(t, code, g, name, keyword);
    TT_TRY(check_shared(t, bare, g, name));
    TT_TRY(check_needs(t, bare, g, name));
    return check_early(t, code, g, symbol);
}

/* Is it declared as `static __constant__ float name[4]`, perhaps on several lines? Between brackets it is
 * only used. The code has passed tt__cxx_blank_all. */
static bool is_static(const char *code, const char *name) {
    bool constant = false, is_static = false;
    int depth = 0;
    size_t n;
    for (const char *at = code; *at; at += n ? n : 1) {
        n = word_length(at);
        if (depth == 0 && constant && is_static && tt__word_is(at, n, name))
            return true;
        constant |= tt__word_is(at, n, "__constant__");
        is_static |= tt__word_is(at, n, "static");
        depth += strchr("([", *at) ? 1 : strchr(")]", *at) ? -1 : 0;
        if (strchr("{};=", *at)) {
            constant = is_static = false;
            depth = 0;
        }
    }
    return false;
}

/* It is filled by its name. A compiler may leave a static array out, or call it otherwise. */
static tt_status check_constant(const tt__template *t, const char *code, const char *bare,
                                const tt__operand *o) {
    const char *why = !tt__text_has_word(code, o->name) ? "the code has no array %s, which `constant` names"
                      : is_static(bare, o->name)
                          ? "the array %s, which `constant` names, is static: take `static` away"
                          : NULL;
    return why ? tt__template_fail(t->path, o->count.line, o->count.column, why, o->name) : TT_OK;
}

static tt_status check(const tt__template *t, const char *code, const char *bare) {
    for (int i = 0; i < t->n_passes; i++)
        TT_TRY(check_kernel(t, code, bare, &t->passes[i], t->symbols.name[i], "kernel"));
    for (int role = 0; t->own && role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < t->own->asides[role].n; i++)
            TT_TRY(check_kernel(t, code, bare, &t->own->asides[role].launches[i],
                                t->own->asides[role].symbols.name[i], tt__roles[role]));
    for (size_t i = 0; t->own && i < t->own->n_operands; i++)
        if (t->own->operands[i].direction == TT__CONSTANT && !t->own->operands[i].scalar)
            TT_TRY(check_constant(t, code, bare, &t->own->operands[i]));
    return TT_OK;
}

tt_status tt__code_check(const tt__template *t) {
    char *code = strdup(t->source), *bare = strdup(t->source);
    tt_status status = code && bare ? TT_OK : tt__fail_memory(strlen(t->source) + 1);
    if (status == TT_OK) {
        tt__cxx_blank_comments(code);
        tt__cxx_blank_all(bare);
        status = check(t, code, bare);
    }
    free(code);
    free(bare);
    return status;
}

/* Makes annotations part of the code, except those that declare parameters and give their values. */
static void uncover_annotations(char *source) {
    static const char *const declaring[] = {"param", "runtime", "default"};
    for (char *at = source; *at; at += *at == '\n') {
        const size_t n = strcspn(at, "\n"), blank = strspn(at, " \t\r");
        const char *word = at + blank + strspn(at + blank, "/@ \t");
        if (strncmp(at + blank, "//@", 3) == 0) {
            bool declares = false;
            for (size_t i = 0; i < TT__COUNT(declaring); i++)
                declares |= tt__word_is(word, word_length(word), declaring[i]);
            memset(at, ' ', declares ? n : blank + 3);
        }
        at += n;
    }
}

static bool gets(const tt__template *t, const tt__geometry_expr *g, int operand) {
    return (g->swap_line && (g->swap_of[0] == operand || g->swap_of[1] == operand)) ||
           tt__template_gets(t, g, operand) != NULL;
}

/* Does a kernel of the file get the buffer, or a copy of it? */
static bool is_named(const tt__template *t, int operand) {
    bool found = false;
    for (int i = 0; i < t->n_passes; i++)
        found |= gets(t, &t->passes[i], operand);
    for (int role = 0; role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < t->own->asides[role].n; i++)
            found |= tt__index_operand(t, t->own->asides[role].symbols.name[i]) < 0 &&
                     gets(t, &t->own->asides[role].launches[i], operand);
    for (size_t i = 0; i < t->own->n_operands; i++)
        found |= t->own->operands[i].init == TT__INIT_COPY && t->own->operands[i].from == operand;
    return found;
}

tt_status tt__code_unused(tt__str *out, const tt__template *t) {
    char *code = strdup(t->source);
    if (!code)
        return tt__fail_memory(strlen(t->source) + 1);
    uncover_annotations(code);
    tt__cxx_blank_comments(code);
    for (size_t i = 0; i < t->n_params; i++)
        if (!tt__text_has_word(code, t->params[i].name))
            tt__str_addf(out, "%snothing uses the parameter %s", out->len ? "\n" : "", t->params[i].name);
    for (size_t i = 0; t->own && i < t->own->n_operands; i++) {
        const tt__operand *o = &t->own->operands[i];
        if (!o->scalar && o->direction != TT__CONSTANT && !is_named(t, (int)i))
            tt__str_addf(out, "%sno `args` line names the buffer %s", out->len ? "\n" : "", o->name);
    }
    free(code);
    return TT_OK;
}
