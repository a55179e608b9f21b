/*
 * Compares the code of a kernel file with its annotations. The code is searched for words; NVRTC compiles it
 * later.
 */
#include "kernel/load/code_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "code/cxx.h"
#include "kernel/annotation/annotation.h"
#include "kernel/annotation/words.h"

/* ---- Is what annotations name in the code? ------------------------------------------------------------- */

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
    return tt__template_fail(t->path, g->line, g->column, "the code has no kernel %s, which `%s` names%s%s",
                             name, keyword, tt__suggest_text(&near),
                             strstr(code, "##") ? "; what a macro makes with ## is not found: write it out"
                                                : "");
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

/* The type of a parameter that is a plain number, as in `const int n`. */
static tt__type number_of(const char *at, const char *end) {
    char words[TT__NAME_MAX] = "", meant[TT__TYPE_TEXT_MAX];
    size_t used = 0, last = 0;
    for (size_t n; at < end; at += n ? n : 1) {
        n = word_length(at);
        if ((!n && !strchr(" \t\r\n", *at)) || used + n + 2 > sizeof words)
            return TT__TYPE_NONE;
        if (!n || tt__word_is(at, n, "const"))
            continue;
        last = used; /* the name, unless the parameter has none */
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%.*s", used ? " " : "", (int)n, at);
    }
    return tt__type_meant(meant, words, used) || tt__type_meant(meant, words, last)
               ? tt__type_named(meant, strlen(meant))
               : TT__TYPE_NONE;
}

/* A cubin tells sizes only, and 2 for a float would be a tiny number. */
static tt_status check_parameter(const tt__template *t, const tt__geometry_expr *g, int i, tt__type wanted,
                                 const char *name) {
    const tt__arg_expr *a = &t->args[g->first_arg + i];
    const tt__operand *o = a->type == TT__TYPE_NONE && a->operand != TT__OPERAND_ERROR
                               ? &t->operation->operands[a->operand]
                               : NULL;
    const tt__type given = a->by_value      ? TT__TYPE_NONE
                           : o && o->scalar ? o->variable < 0 ? o->type : TT__TYPE_NONE
                                            : a->type;
    /* f16 may be an unsigned short, and no argument has an fp8 type. */
    const bool bits =
        tt__types[wanted].size == 2 || tt__types[given].size == 2 || !tt__types[wanted].argument;
    if (!wanted || !given || bits || tt__types[wanted].floating == tt__types[given].floating)
        return TT_OK;
    return tt__template_fail(t->path, a->value.line, a->value.column,
                             "parameter %d of %s is %s, and item %d of its `args`, %.60s, is %s: make it %s",
                             i + 1, name, tt__types[wanted].name, i + 1, a->value.text, tt__types[given].name,
                             tt__types[wanted].name);
}

static tt_status check_parameters(const tt__template *t, const char *bare, const tt__geometry_expr *g,
                                  const char *name) {
    const char *end, *other, *at = body_of(bare, name, &end), *close;
    if (!at || body_of(end, name, &other)) /* overloaded */
        return TT_OK;
    while (*at != ')')
        at--;
    close = at;
    for (int depth = 1; depth > 0;) {
        at--;
        depth += (*at == ')') - (*at == '(');
    }
    at++;
    for (int i = 0; i < g->n_args && at < close; i++, at++) {
        const char *start = at;
        for (int depth = 0; at < close && (depth > 0 || *at != ','); at++)
            depth += (strchr("(<[", *at) != NULL) - (strchr(")>]", *at) != NULL);
        TT_TRY(check_parameter(t, g, i, number_of(start, at), name));
    }
    return TT_OK;
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
    TT_TRY(check_parameters(t, bare, g, name));
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

static tt_status check_names_in_code(const tt__template *t, const char *code, const char *bare) {
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

tt_status tt__template_check_code(const tt__template *t) {
    char *code = strdup(t->source), *bare = strdup(t->source);
    tt_status status = code && bare ? TT_OK : tt__fail_memory(strlen(t->source) + 1);
    if (status == TT_OK) {
        tt__cxx_blank_comments(code);
        tt__cxx_blank_all(bare);
        status = check_names_in_code(t, code, bare);
    }
    free(code);
    free(bare);
    return status;
}

/* ---- What nothing uses --------------------------------------------------------------------------------- */

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

/* Does an annotation name it, other than the one that declares it? */
static bool is_annotated(const char *source, const char *name) {
    static const char *const declaring[] = {"let", "derived", "problem", "type"};
    for (const char *at = source; *at; at += *at == '\n') {
        const size_t n = strcspn(at, "\n");
        tt__slice rest = tt__trim((tt__slice){at, n});
        at += n;
        if (rest.n < 3 || memcmp(rest.at, "//@", 3) != 0)
            continue;
        rest = tt__trim((tt__slice){rest.at + 3, rest.n - 3});
        const tt__slice keyword = tt__take_word(&rest);
        for (size_t i = 0; i < TT__COUNT(declaring); i++)
            if (tt__slice_is(keyword, declaring[i]))
                tt__take_word(&rest);
        for (size_t i = 0; i < rest.n; i += word_length(rest.at + i) ? word_length(rest.at + i) : 1)
            if (tt__word_is(rest.at + i, word_length(rest.at + i), name))
                return true;
    }
    return false;
}

static void warn_of_derived(tt__str *out, const tt__template *t, const char *code) {
    for (size_t i = 0; i < t->n_derived; i++) {
        const tt__derived *d = &t->derived[i];
        if (!is_annotated(t->source, d->name) && !(d->macro && tt__text_has_word(code, d->name)))
            tt__str_addf(out, "%snothing uses the `%s` %s", out->len ? "\n" : "",
                         d->macro ? "derived" : "let", d->name);
    }
}

/* Problems that differ in such a variable only would be tuned apart. */
static void warn_of_variables(tt__str *out, const tt__template *t, const char *code) {
    for (size_t i = 0; !t->own->macros && i < t->own->n_variables; i++) {
        const char *name = t->own->variables[i].name;
        if (!is_annotated(t->source, name) && !tt__text_has_word(code, name))
            tt__str_addf(out, "%snothing uses the variable %s", out->len ? "\n" : "", name);
    }
}

/* Does a kernel of the file get the buffer, or a copy of it? */
static bool is_named(const tt__template *t, int operand) {
    bool found = false;
    for (int i = 0; i < t->n_passes; i++)
        found |= tt__template_uses(t, &t->passes[i], operand);
    for (int role = 0; role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < t->own->asides[role].n; i++)
            found |= tt__index_operand(t, t->own->asides[role].symbols.name[i]) < 0 &&
                     tt__template_uses(t, &t->own->asides[role].launches[i], operand);
    for (size_t i = 0; i < t->own->n_operands; i++)
        found |= t->own->operands[i].init == TT__INIT_COPY && t->own->operands[i].from == operand;
    return found;
}

/* A macro that only says how a `data` kernel is launched does no harm. */
static void warn_of_data(tt__str *out, const tt__template *t, const char *bare) {
    const tt__aside *data = &t->own->asides[TT__DATA];
    for (int k = 0; k < data->n; k++) {
        const tt__geometry_expr *g = &data->launches[k];
        uint32_t launch = g->shared.uses;
        const char *end, *body = body_of(bare, data->symbols.name[k], &end);
        for (int i = 0; i < 3; i++)
            launch |= g->block[i].uses | g->grid[i].uses;
        for (size_t i = 0; body && i < t->n_params; i++) {
            const tt__param *p = &t->params[i];
            bool named = false;
            for (const char *at = body; at < end; at += word_length(at) ? word_length(at) : 1)
                named |= tt__word_is(at, word_length(at), p->name);
            if (named && !p->runtime && !p->as_template && !(launch >> i & 1))
                tt__str_addf(
                    out, "%sthe `data` kernel %s uses %s, but it runs once, with the default configuration",
                    out->len ? "\n" : "", data->symbols.name[k], p->name);
        }
    }
}

/* A buffer holds numbers. */
static void warn_of_addresses(tt__str *out, const char *bare, const char *kernel) {
    const size_t n = strlen(kernel);
    for (const char *at = bare; (at = strstr(at, kernel)); at += n) {
        const char *open = at + n + strspn(at + n, " \t\r\n"), *end;
        if (*open != '(' || (at > bare && tt__is_word_char(at[-1])))
            continue;
        for (end = closing(open); open < end; open++) {
            const char *next = open + 1;
            for (size_t word = 1; *open == '*' && word; next += word) {
                next += strspn(next, " \t\r\n");
                word = word_length(next);
                if (!tt__word_is(next, word, "const") && !tt__word_is(next, word, "__restrict__"))
                    word = 0;
            }
            if (*open == '*' && *next == '*') {
                tt__str_addf(
                    out,
                    "%s%s takes a pointer to pointers, and no buffer holds addresses: put the pointers in a "
                    "struct of `args`",
                    out->len ? "\n" : "", kernel);
                return;
            }
        }
    }
}

tt_status tt__template_unused(tt__str *out, const tt__template *t) {
    char *code = strdup(t->source);
    if (!code)
        return tt__fail_memory(strlen(t->source) + 1);
    tt__cxx_blank_all(code);
    if (t->own)
        warn_of_data(out, t, code);
    warn_of_addresses(out, code, t->kernel);
    memcpy(code, t->source, strlen(t->source));
    uncover_annotations(code);
    tt__cxx_blank_comments(code);
    for (size_t i = 0; i < t->n_params; i++)
        if (!tt__text_has_word(code, t->params[i].name))
            tt__str_addf(out, "%snothing uses the parameter %s", out->len ? "\n" : "", t->params[i].name);
    memcpy(code, t->source, strlen(t->source));
    tt__cxx_blank_comments(code);
    if (t->own) { /* of a template, the cost model may know them by their names */
        warn_of_derived(out, t, code);
        warn_of_variables(out, t, code);
    }
    for (size_t i = 0; t->own && i < t->own->n_operands; i++) {
        const tt__operand *o = &t->own->operands[i];
        if (!o->scalar && o->direction != TT__CONSTANT && !is_named(t, (int)i))
            tt__str_addf(out, "%sno `args` line names the buffer %s", out->len ? "\n" : "", o->name);
    }
    free(code);
    return TT_OK;
}
