/*
 * Reads the annotations line by line, and after the last checks that an operation is complete, and looks up
 * the names of operands. The keywords of kernels and operations are in kernel.c and operation.c.
 */
#include "kernel/annotation/annotation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "code/cxx.h"
#include "kernel/annotation/include.h"
#include "kernel/expression/scan.h"

#define SHOW TT__SHOW
#define FAIL TT__READ_FAIL

/* ---- Buffers with `index`: each becomes a `data` kernel of our own ------------------------------------- */

static const char prefix[] = "tt_index_";

int tt__index_operand(const tt__template *t, const char *symbol) {
    for (size_t i = 0; t->own && i < t->own->n_operands; i++)
        if (t->own->operands[i].index.text && strncmp(symbol, prefix, sizeof prefix - 1) == 0 &&
            strcmp(symbol + sizeof prefix - 1, t->own->operands[i].name) == 0)
            return (int)i;
    return -1;
}

static bool takes(const tt__operand *o, const tt__variable *v) {
    return v->n_types == 0 && tt__text_has_word(o->index.text, v->name);
}

/* `form` has a %s for `text`. */
static tt_status make_expr(tt__template *t, tt__expr *out, const tt__expr *at, const char *form,
                           const char *text) {
    tt__str made = {0};
    tt__str_addf(&made, form, text);
    *out = (tt__expr){.line = at->line, .column = at->column};
    tt_status status = tt__str_check(&made);
    if (status == TT_OK)
        status = tt__template_keep(t, &out->text, made.text, made.len);
    tt__str_free(&made);
    return status;
}

static tt_status add_arg(tt__template *t, tt__geometry_expr *g, tt__type type, const tt__expr *at,
                         const char *text) {
    tt__arg_expr *arg = &t->args[t->n_args];
    const tt__aside *data = &t->own->asides[TT__DATA];
    int n = 0; /* of all launches, which are planned as one */
    for (int i = 0; i < data->n; i++)
        n += data->launches[i].n_args;
    if (n >= TT__ARGS_MAX || (size_t)t->n_args == TT__COUNT(t->args))
        return tt__template_fail(t->path, at->line, at->column, "more than %d arguments of `data` kernels",
                                 TT__ARGS_MAX);
    arg->type = type;
    TT_TRY(make_expr(t, &arg->value, at, "%s", text));
    t->n_args++;
    g->n_args++;
    return TT_OK;
}

static tt_status add_launch(tt__template *t, const tt__operand *o, tt__geometry_expr *g, char *symbol) {
    if (strlen(o->name) + sizeof prefix > TT__NAME_MAX)
        return tt__template_fail(t->path, o->index.line, o->index.column,
                                 "the name %s is too long for a buffer with `index`", o->name);
    tt__format(symbol, TT__SYMBOL_MAX, "%s%s", prefix, o->name);
    g->line = o->index.line;
    g->column = o->index.column;
    g->first_arg = t->n_args;
    TT_TRY(make_expr(t, &g->block[0], &o->index, "%s", "256"));
    TT_TRY(make_expr(t, &g->grid[0], &o->index, "min(ceil_div(%s, 256), 65536)", o->count.text));
    TT_TRY(add_arg(t, g, TT__TYPE_NONE, &o->index, o->name));
    char count[TT__EXPR_MAX + 32];
    snprintf(count, sizeof count, o->lanes > 1 ? "(%s) * %d" : "%s", o->count.text, o->lanes);
    TT_TRY(add_arg(t, g, TT__TYPE_I64, &o->count, count));
    for (size_t i = 0; i < t->own->n_variables; i++)
        if (takes(o, &t->own->variables[i]))
            TT_TRY(add_arg(t, g, TT__TYPE_I64, &o->index, t->own->variables[i].name));
    return TT_OK;
}

/* Adds the launches of these kernels before the file's own `data` kernels. */
static tt_status add_index_launches(tt__template *t) {
    tt__aside *a = &t->own->asides[TT__DATA];
    int n = 0, at = 0;
    for (size_t i = 0; i < t->own->n_operands; i++)
        n += t->own->operands[i].index.text != NULL;
    if (a->n + n > TT__PASSES_MAX)
        return tt__fail(TT_E_TEMPLATE, "%s: more than %d `data` kernels and buffers with `index`", t->path,
                        TT__PASSES_MAX);
    memmove(a->launches + n, a->launches, (size_t)a->n * sizeof *a->launches);
    memmove(a->symbols.name + n, a->symbols.name, (size_t)a->n * sizeof *a->symbols.name);
    memset(a->launches, 0, (size_t)n * sizeof *a->launches);
    a->symbols.foreign |= n > 0;
    a->n += n;
    for (size_t i = 0; i < t->own->n_operands; i++)
        if (t->own->operands[i].index.text) {
            TT_TRY(add_launch(t, &t->own->operands[i], &a->launches[at], a->symbols.name[at]));
            at++;
        }
    return TT_OK;
}

void tt__index_code(tt__str *out, const tt__template *t, size_t operand, const char *type) {
    const tt__operand *o = &t->own->operands[operand];
    tt__str_add(out, "\n");
    tt__line_directive(out, o->index.line, t->path);
    tt__str_addf(out, "extern \"C\" __global__ void %s%s(%s *tt_to, long long tt_n", prefix, o->name, type);
    for (size_t i = 0; i < t->own->n_variables; i++)
        if (takes(o, &t->own->variables[i]))
            tt__str_addf(out, ", long long %s", t->own->variables[i].name);
    tt__str_addf(out,
                 ") { for (long long i = blockIdx.x * 256ll + threadIdx.x; i < tt_n; i += gridDim.x * 256ll) "
                 "tt_to[i] = (%s)(%s); }\n",
                 type, o->index.text);
}

/* ---- After the last line ------------------------------------------------------------------------------- */

/* Is it the name of a number, which an item of `args` can be with a type? */
static bool is_number(const tt__template *t, const char *name) {
    const size_t n = strlen(name);
    bool is = tt__operation_variable(t->operation, name, n) || tt__template_param(t, name, n);
    for (size_t i = 0; i < t->n_derived; i++)
        is |= strcmp(t->derived[i].name, name) == 0;
    for (int i = 0; i < t->n_passes; i++)
        is |= strcmp(t->passes[i].turn, name) == 0;
    return is;
}

static tt_status fail_operand(const tt__template *t, const tt__expr *e) {
    size_t n = t->operation->n_operands;
    tt__suggest near = tt__suggest_for(e->text, strlen(e->text));
    for (size_t k = 0; k < n; k++) {
        if (t->operation->operands[k].direction == TT__CONSTANT &&
            strcmp(t->operation->operands[k].name, e->text) == 0)
            return tt__template_fail(t->path, e->line, e->column,
                                     "%s is a constant: the code knows it by its name, and it is no argument",
                                     e->text);
        tt__suggest_try(&near, t->operation->operands[k].name);
    }
    if (is_number(t, e->text))
        return tt__template_fail(t->path, e->line, e->column, "%s is a number: say its type, as in `i32 %s`",
                                 e->text, e->text);
    for (tt__type type = TT__TYPE_NONE + 1; type < TT__TYPE_COUNT; type++)
        if (tt__types[type].argument)
            tt__suggest_try(&near, tt__types[type].name);
    return tt__template_fail(t->path, e->line, e->column,
                             "found '%.60s', expected %s%s%s or a type and an expression%s", e->text,
                             n ? t->operation->operands[0].name : "", n > 1 ? ", " : "",
                             n > 1 ? t->operation->operands[1].name : "", tt__suggest_text(&near));
}

/* The buffers that change places: what kernels may write. */
static tt_status find_swap(const tt__template *t, tt__geometry_expr *g) {
    for (int i = 0; i < 2 && g->swap_line; i++) {
        size_t k = 0;
        tt__suggest near = tt__suggest_for(g->swap[i], strlen(g->swap[i]));
        for (; k < t->operation->n_operands; k++) {
            const tt__operand *o = &t->operation->operands[k];
            if (o->direction != TT__OUT && o->direction != TT__INOUT && o->direction != TT__SCRATCH)
                continue;
            tt__suggest_try(&near, o->name);
            if (strcmp(o->name, g->swap[i]) == 0)
                break;
        }
        if (k == t->operation->n_operands)
            return tt__template_fail(t->path, g->swap_line, 0,
                                     "`swap` names %s, expected an out, inout or scratch buffer%s",
                                     g->swap[i], tt__suggest_text(&near));
        g->swap_of[i] = (int)k;
    }
    return TT_OK;
}

/* The operand of this name; n_operands: there is none. Only `data` may get a constant. */
static size_t find_operand(const tt__template *t, const char *name, tt__role role) {
    const size_t n = t->operation->n_operands;
    size_t k = 0;
    while (k < n && strcmp(t->operation->operands[k].name, name) != 0)
        k++;
    return k < n && role != TT__DATA && t->operation->operands[k].direction == TT__CONSTANT ? n : k;
}

/* An item of `args` may be a tensor map, or the number of a turn. */
static bool find_other(const tt__template *t, const tt__geometry_expr *g, tt__arg_expr *a) {
    for (size_t i = 0; i < t->n_maps && a->type == TT__TYPE_NONE; i++) {
        if (strcmp(t->maps[i].name, a->value.text) != 0)
            continue;
        a->map = (int)i + 1;
        a->type = TT__TYPE_U8;
        a->by_value = true;
        a->value.text = NULL;
        return true;
    }
    a->of_turn = a->of_turn || (a->type != TT__TYPE_NONE && a->value.text && g->turn[0] &&
                                strcmp(a->value.text, g->turn) == 0);
    return a->type != TT__TYPE_NONE;
}

/* Looks up the operands among a launch's arguments. `verify` also gets an `error`. `role` TT__ROLE_COUNT: a
 * kernel that is tuned. */
static tt_status find_args(tt__template *t, const tt__geometry_expr *g, tt__role role) {
    const size_t n = t->operation->n_operands;
    for (int i = g->first_arg; i < g->first_arg + g->n_args; i++) {
        tt__arg_expr *a = &t->args[i];
        for (int f = a->first_field; f < a->first_field + a->n_fields; f++) {
            tt__struct_member *m = &t->fields[f];
            const size_t k = m->type == TT__TYPE_NONE ? find_operand(t, m->value.text, role) : 0;
            if (m->type == TT__TYPE_NONE && k == n)
                return fail_operand(t, &m->value);
            m->operand = (int)k;
        }
        if (find_other(t, g, a))
            continue;
        const size_t k = find_operand(t, a->value.text, role);
        const bool error = role == TT__VERIFY && k == n && strcmp(a->value.text, "error") == 0;
        if (!error && k == n)
            return fail_operand(t, &a->value);
        a->operand = error ? TT__OPERAND_ERROR : (int)k;
    }
    return TT_OK;
}

static tt_status find_maps(tt__template *t) {
    for (size_t i = 0; i < t->n_maps; i++) {
        tt__map_expr *m = &t->maps[i];
        const size_t k = find_operand(t, m->buffer.text, TT__ROLE_COUNT);
        if (k == t->operation->n_operands || t->operation->operands[k].scalar)
            return tt__template_fail(t->path, m->buffer.line, m->buffer.column,
                                     "`tensormap` describes a buffer, and %.60s is none", m->buffer.text);
        m->operand = (int)k;
    }
    return TT_OK;
}

/* What a `data` kernel gets is kept as it leaves it. */
static tt_status fill_operands(tt__template *t, const tt__geometry_expr *g) {
    bool any = false;
    for (size_t i = 0; i < t->own->n_operands; i++) {
        tt__operand *o = &t->own->operands[i];
        const tt__expr *named = o->scalar ? NULL : tt__template_gets(t, g, (int)i);
        if (!named)
            continue;
        if (o->direction == TT__OUT)
            return tt__template_fail(t->path, named->line, named->column,
                                     "`data` fills what a launch reads, and %s is `out`: say inout if the "
                                     "kernel adds to it",
                                     o->name);
        o->filled = o->direction != TT__SCRATCH;
        any |= o->filled;
    }
    return any ? TT_OK
               : tt__template_fail(t->path, g->line, g->column,
                                   "this `data` kernel gets no `in`, `inout` or `constant` to fill");
}

static tt_status check_verify(const tt__template *t) {
    const tt__geometry_expr *g = t->own ? &t->own->asides[TT__VERIFY].launches[0] : NULL;
    for (int i = g ? g->first_arg : 0; g && i < g->first_arg + g->n_args; i++)
        if (t->args[i].type == TT__TYPE_NONE && t->args[i].operand == TT__OPERAND_ERROR)
            return TT_OK;
    return g && t->own->asides[TT__VERIFY].n
               ? tt__template_fail(t->path, g->line, g->column,
                                   "`args` of a `verify` kernel names `error`, a double * to which the "
                                   "kernel writes how wrong the results are")
               : TT_OK;
}

static tt_status find_operands(tt__template *t) {
    TT_TRY(find_maps(t));
    for (int i = 0; i < t->n_passes; i++)
        TT_TRY(find_swap(t, &t->passes[i]));
    for (int i = 0; i < t->n_passes; i++)
        TT_TRY(find_args(t, &t->passes[i], TT__ROLE_COUNT));
    for (int role = 0; t->own && role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < t->own->asides[role].n; i++) {
            tt__geometry_expr *g = &t->own->asides[role].launches[i];
            TT_TRY(find_swap(t, g));
            TT_TRY(find_args(t, g, (tt__role)role));
            TT_TRY(role == TT__DATA ? fill_operands(t, g) : TT_OK);
        }
    return check_verify(t);
}

/* Case does not count, as in SQL. */
static tt_status check_name(const tt__template *t, const char *name, int line, int column) {
    for (size_t k = 0; k < t->operation->n_variables; k++) {
        const char *other = t->operation->variables[k].name;
        if (strcmp(name, other) == 0)
            return tt__template_fail(t->path, line, column,
                                     "%s is a property of the problem, choose another name", name);
        if (tt__same_letters(name, other))
            return tt__template_fail(t->path, line, column,
                                     "%s differs only in capitals from %s, which is a property of the "
                                     "problem: choose another name",
                                     name, other);
    }
    return TT_OK;
}

static tt_status check_names(const tt__template *t) {
    for (size_t i = 0; i < t->n_params; i++)
        TT_TRY(check_name(t, t->params[i].name, t->params[i].line, t->params[i].column));
    for (size_t i = 0; i < t->n_derived; i++)
        TT_TRY(check_name(t, t->derived[i].name, t->derived[i].value.line, t->derived[i].column));
    return TT_OK;
}

/* Are all kernels of the reference tuned ones? Some may be, such as one that clears a buffer. */
static bool is_tuned(const tt__template *t, const tt__aside *reference) {
    int n = 0;
    for (int k = 0; k < reference->n; k++)
        for (int i = 0; i < t->n_passes; i++)
            if (strcmp(reference->symbols.name[k], t->symbols.name[i]) == 0) {
                n++;
                break;
            }
    return n == reference->n;
}

static tt_status check_own(tt__template *t) {
    const tt__operation *operation = t->own;
    size_t n_results = 0, n_expected = 0;
    if (t->op[0])
        return tt__template_fail(
            t->path, t->op_line, t->op_column,
            "`op %s` says what is computed, and so do `problem`, `type`, `buffer`, `scalar`, "
            "`reference` and what goes with them: take away the one or the others",
            t->op);
    if (operation->n_operands == 0)
        return tt__fail(
            TT_E_TEMPLATE,
            "%s: no `buffer` annotation, expected a line: //@ buffer NAME TYPE LENGTH in|out|inout|scratch",
            t->path);
    for (size_t i = 0; i < operation->n_operands; i++) {
        const tt__operand *o = &operation->operands[i];
        bool result = !o->scalar && (o->direction == TT__OUT || o->direction == TT__INOUT);
        n_results += result;
        n_expected += result && o->expect[0];
    }
    const tt__aside *reference = &operation->asides[TT__REFERENCE];
    if (reference->n && !operation->by_default && is_tuned(t, reference))
        return tt__template_fail(
            t->path, reference->launches[0].line, reference->launches[0].column,
            "%s is what is tuned, and cannot say itself what is right: a reference is another, "
            "plain kernel",
            reference->symbols.name[0]);
    if (n_results == 0)
        return tt__fail(TT_E_TEMPLATE, "%s: no buffer is `out` or `inout`: nothing would come of it",
                        t->path);
    if (n_expected && !reference->n && n_expected < n_results)
        return tt__fail(TT_E_TEMPLATE,
                        "%s: `expect` names what %zu of %zu result buffers must hold: name the others too, "
                        "or a `reference`",
                        t->path, n_expected, n_results);
    return TT_OK;
}

/* Does the expression use a parameter, or a name for something that may? */
static bool uses_config(const tt__template *t, const char *text) {
    for (size_t n; *text; text += n) {
        n = 0;
        while (tt__is_word_char(text[n]))
            n++;
        tt__slice word = {text, n};
        if (tt__template_param(t, text, n))
            return true;
        for (size_t i = 0; n && i < t->n_derived; i++)
            if (tt__slice_is(word, t->derived[i].name))
                return true;
        n = *text == '\'' ? 1 + strcspn(text + 1, "'") : n; /* a word in quotes is a value */
        n += text[n] != '\0' && !tt__is_word_char(text[n]);
    }
    return false;
}

static tt_status mark_by_config(tt__template *t) {
    for (size_t i = 0; i < t->own->n_operands; i++) {
        tt__operand *o = &t->own->operands[i];
        o->by_config = o->count.text && uses_config(t, o->count.text);
        const char *why = !o->by_config                  ? NULL
                          : o->expect[0]                 ? "`expect` has one length"
                          : o->direction == TT__CONSTANT ? "a constant has one length"
                          : o->init == TT__INIT_FILE     ? "a file has one length"
                          : o->init == TT__INIT_INDEX    ? "`index` fills one length"
                                                         : NULL;
        if (why)
            return tt__template_fail(t->path, o->count.line, o->count.column,
                                     "the length of %s depends on a parameter, and %s", o->name, why);
    }
    return TT_OK;
}

/* Does no tuned kernel get it, nor a copy of it? What is not written then belongs to the others. */
static bool is_aside(const tt__template *t, size_t operand) {
    const tt__direction direction = t->own->operands[operand].direction;
    if (direction == TT__OUT || direction == TT__INOUT || direction == TT__CONSTANT)
        return false;
    for (int i = 0; i < t->n_passes; i++)
        if (tt__template_uses(t, &t->passes[i], (int)operand))
            return false;
    for (size_t i = 0; i < t->own->n_operands; i++)
        if (t->own->operands[i].init == TT__INIT_COPY && t->own->operands[i].from == (int)operand)
            return false;
    return true;
}

/* Arguments of a plan come first, so that they are numbered without gaps, then its constants. */
static void sort_operands(tt__template *t) {
    enum { ARGUMENT, CONSTANT, ASIDE, N_PLACES };
    int to[TT__OPERANDS_MAX], n = 0;
    for (size_t i = 0; i < t->own->n_operands; i++)
        t->own->operands[i].aside = !t->n_defines && is_aside(t, i);
    for (int place = 0; place < N_PLACES; place++)
        for (size_t i = 0; i < t->own->n_operands; i++) {
            const tt__operand *o = &t->own->operands[i];
            if (place == (o->aside ? ASIDE : o->direction == TT__CONSTANT ? CONSTANT : ARGUMENT))
                to[i] = n++;
        }
    tt__template_reorder(t, to);
}

/* -D and -U come after the macros of the annotations, and would silently take their place. */
static tt_status check_macro(const tt__template *t, const tt__expr *e) {
    const char *name = e->text + 1 + (e->text[1] == '-') + 1;
    if (name[-1] != 'D' && name[-1] != 'U')
        return TT_OK;
    const tt__slice macro = {name, strcspn(name, "=")};
    const tt__param *param = tt__template_param(t, macro.at, macro.n);
    const char *by = param && !param->runtime           ? "param"
                     : tt__slice_is(macro, "ELEM_SIZE") ? "elem_size"
                                                        : NULL;
    for (size_t i = 0; i < t->n_derived && !by; i++)
        by = t->derived[i].macro && tt__slice_is(macro, t->derived[i].name) ? "derived" : NULL;
    return by ? tt__template_fail(t->path, e->line, e->column,
                                  "%.60s would take the place of `%s %.*s`, which makes the macro: take the "
                                  "option or that line away",
                                  e->text, by, TT__SHOW(macro))
              : TT_OK;
}

/* An option may hold {NAME} of a parameter that is compiled in. */
static tt_status check_options(const tt__template *t) {
    for (size_t i = 0; i < t->n_options; i++) {
        const tt__expr *e = &t->options[i];
        TT_TRY(check_macro(t, e));
        for (const char *at = e->text; (at = strchr(at, '{')); at++) {
            tt__slice name = {at + 1, strcspn(at + 1, "}")};
            tt__suggest near = tt__suggest_for(name.at, name.n);
            bool known = false;
            for (size_t p = 0; p < t->n_params; p++) {
                known |= !t->params[p].runtime && tt__slice_is(name, t->params[p].name);
                tt__suggest_try(&near, t->params[p].name);
            }
            if (!known || name.at[name.n] != '}')
                return tt__template_fail(t->path, e->line, e->column + (int)(at - e->text) + 1,
                                         "found '%.*s' in an option, expected a `param`%s", TT__SHOW(name),
                                         tt__suggest_text(&near));
        }
    }
    return TT_OK;
}

/* `reference default`: the launches that are tuned, which other code makes with the default configuration. */
static void take_default_reference(tt__template *t) {
    tt__aside *reference = &t->own->asides[TT__REFERENCE];
    if (!t->own->by_default)
        return;
    reference->n = t->n_passes;
    reference->symbols = t->symbols;
    memcpy(reference->launches, t->passes, sizeof reference->launches);
}

static tt_status end_operation(tt__template *t) {
    TT_TRY(check_options(t));
    if (!t->own)
        return TT_OK;
    take_default_reference(t);
    TT_TRY(mark_by_config(t));
    TT_TRY(add_index_launches(t));
    TT_TRY(t->n_defines ? TT_OK : check_own(t));
    t->operation = t->own;
    if (!t->n_defines)
        tt__copy(t->op, sizeof t->op, t->kernel);
    return TT_OK;
}

tt_status tt__annotation_resolve(tt__template *t) {
    TT_TRY(check_names(t));
    TT_TRY(find_operands(t));
    if (t->own)
        sort_operands(t);
    return TT_OK;
}

/* ---- The lines ----------------------------------------------------------------------------------------- */

/* The line of each keyword; 0: not seen yet. */
typedef struct seen {
    int line[2 * TT__KEYWORDS_MAX];
} seen;

static size_t n_keywords(void) {
    return tt__n_kernel_keywords + tt__n_operation_keywords;
}

static const tt__keyword *keyword(size_t k) {
    return k < tt__n_kernel_keywords ? &tt__kernel_keywords[k]
                                     : &tt__operation_keywords[k - tt__n_kernel_keywords];
}

static bool is_keyword(size_t k, const char *word) {
    return strcmp(keyword(k)->word, word) == 0;
}

/* A new kernel or the reference begins. The previous launch must be complete, and its keywords may appear
 * again. The lines of the first launch may stand before its name. */
static tt_status end_launch(const tt__reader *r, seen *seen, bool last) {
    const char *name = r->launch == &r->t->passes[0] ? NULL : r->symbol;
    for (size_t k = 0; k < n_keywords(); k++) {
        bool of_launch = keyword(k)->times == TT__OF_LAUNCH;
        bool missing = !seen->line[k] && keyword(k)->need == TT__REQUIRED && (last || of_launch);
        if (missing && (name || !last) && of_launch)
            return tt__template_fail(r->t->path, r->launch->line, r->launch->column,
                                     "no `%s` annotation behind `%s`, expected a line: //@ %s",
                                     keyword(k)->word, name ? name : r->t->kernel, keyword(k)->form);
        if (missing)
            return tt__fail(TT_E_TEMPLATE, "%s: no `%s` annotation, expected a line: //@ %s", r->t->path,
                            keyword(k)->word, keyword(k)->form);
        if (of_launch)
            seen->line[k] = 0;
    }
    return TT_OK;
}

/* The index of a keyword; n_keywords(): it is none. */
static size_t find_keyword(tt__slice word) {
    size_t k = 0;
    while (k < n_keywords() && !tt__slice_is(word, keyword(k)->word))
        k++;
    return k;
}

static tt_status fail_keyword(tt__reader *r, tt__slice word) {
    tt__suggest near = tt__suggest_for(word.at, word.n);
    for (size_t k = 0; k < n_keywords(); k++)
        tt__suggest_try(&near, keyword(k)->word);
    return FAIL(r, word.at, "unknown annotation '%.*s'%s", SHOW(word), tt__suggest_text(&near));
}

static bool begins_launch(size_t k, tt__slice rest) {
    bool aside = false;
    for (int role = 0; role < TT__ROLE_COUNT; role++)
        aside |= is_keyword(k, tt__roles[role]);
    return is_keyword(k, "kernel") || (aside && !tt__slice_is(rest, "default"));
}

/* Only after a name is the rest of a line a remark. */
static tt_status check_end(tt__reader *r, tt__slice rest, size_t k) {
    if (rest.at[rest.n - 1] == '\\')
        return FAIL(
            r, rest.at + rest.n - 1,
            "an annotation ends with its line, and a backslash makes the next line a comment: write all "
            "in one line");
    for (size_t i = 0; i + 1 < rest.n && !begins_launch(k, rest) && !is_keyword(k, "op"); i++)
        if ((i == 0 || tt__is_blank(rest.at[i - 1])) && rest.at[i] == '/' && strchr("/*", rest.at[i + 1]))
            return FAIL(r, rest.at + i,
                        "found '%.2s', but no comment may follow in the line of an annotation (and / divides "
                        "without a fraction): give it a line of its own",
                        rest.at + i);
    return TT_OK;
}

/* The template's own operation. */
static tt_status declare_operation(tt__template *t) {
    if (t->own)
        return TT_OK;
    t->own = calloc(1, sizeof *t->own);
    if (!t->own)
        return tt__fail_memory(sizeof *t->own);
    t->own->t = t;
    t->own->objective = -1;
    t->own->tile[0] = -1;
    return TT_OK;
}

static tt_status read_annotation(tt__reader *r, seen *seen, tt__slice rest) {
    tt__slice word = tt__take_word(&rest);
    const size_t k = find_keyword(word);
    if (word.n == 0)
        return FAIL(r, word.at, "an empty annotation, expected a keyword after //@");
    if (k == n_keywords())
        return fail_keyword(r, word);
    r->keyword = keyword(k)->word;
    if (rest.n == 0)
        return FAIL(r, word.at, "`%s` stands alone, expected: %s", r->keyword, keyword(k)->form);
    TT_TRY(check_end(r, rest, k));
    if (seen->line[k] && keyword(k)->times != TT__OFTEN)
        return FAIL(r, word.at, "a second `%s`, the first is in line %d", r->keyword, seen->line[k]);
    bool first = r->t->n_passes == 0 && r->launch == &r->t->passes[0]; /* nothing has begun */
    if (!first && begins_launch(k, rest))
        TT_TRY(end_launch(r, seen, false));
    seen->line[k] = r->line;
    if (keyword(k)->need == TT__DECLARES)
        TT_TRY(declare_operation(r->t));
    return keyword(k)->read(r, rest);
}

/* Exceptions from TT__REQUIRED: a file with `defines` needs no kernel, one with its own operation needs no
 * op, and one without parameters needs no default. */
static void mark_present(const tt__template *t, seen *seen) {
    for (size_t k = 0; k < n_keywords(); k++) {
        bool no_op = is_keyword(k, "op") && t->own;
        bool no_kernel = is_keyword(k, "kernel") && t->n_defines;
        if ((no_op || no_kernel) && !seen->line[k])
            seen->line[k] = 1;
        if (is_keyword(k, "default") && t->n_params == 0 && !seen->line[k])
            seen->line[k] = 1;
    }
}

/* If a pasted header begins here, returns the line that tt__include_expand writes after it: the number of the
 * next line of this file. A `#line` without such an end is the user's. */
static const char *header_end(const tt__reader *r, const char *at) {
    const char *slash = strrchr(r->t->path, '/');
    tt__str last = {0};
    if (strncmp(at, "#line 1 \"", strlen("#line 1 \"")) != 0)
        return NULL;
    tt__str_add(&last, "\n");
    tt__line_directive(&last, r->line + 1, slash ? slash + 1 : r->t->path);
    const char *found = last.failed ? NULL : strstr(at, tt__str_text(&last));
    tt__str_free(&last);
    return found ? found + 1 : NULL;
}

/* The source without a byte order mark. */
static const char *text_of(const tt__template *t) {
    return t->source + (strncmp(t->source, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
}

/* The lines of a file. Those of a pasted header count as the line that includes it. */
typedef struct course {
    tt__cxx_lines lines;
    const char *resume; /* where this file goes on after a header; NULL: in no header */
    tt__slice header;   /* its name */
    int header_line;
    int n_ifs, if_line; /* open conditions, and where the outermost begins */
} course;

static void follow_header(course *c, const tt__reader *r) {
    static const char directive[] = "#line ";
    const char *at = c->lines.at;
    if (!c->resume || at == c->resume)
        c->resume = header_end(r, at);
    const char *name =
        c->resume && strncmp(at, directive, strlen(directive)) == 0 ? memchr(at, '"', c->lines.n) : NULL;
    c->header_line++;
    if (name) {
        c->header = (tt__slice){name + 1, strcspn(name + 1, "\"\n")};
        c->header_line = atoi(at + strlen(directive)) - 1;
    }
}

static void follow_conditions(course *c, const tt__reader *r, tt__slice line) {
    if (c->lines.inside != TT__CXX_CODE || line.n == 0 || *line.at != '#')
        return;
    line = tt__trim((tt__slice){line.at + 1, line.n - 1});
    if (line.n > 1 && strncmp(line.at, "if", 2) == 0 && c->n_ifs++ == 0)
        c->if_line = r->line;
    else if (line.n > 4 && strncmp(line.at, "endif", 5) == 0 && c->n_ifs > 0)
        c->n_ifs--;
}

/* A line that has the form of an annotation, in a place where none counts. */
static tt_status fail_place(const course *c, tt__reader *r, const char *at, tt__slice word) {
    static const char *const why[] = {
        [TT__CXX_CODE] = NULL,
        [TT__CXX_COMMENT] = "is in the comment that begins in",
        [TT__CXX_RAW_TEXT] = "is in the text that begins in",
        [TT__CXX_CONTINUED] = "belongs to a line that ends with a backslash,",
    };
    static const char advice[] = "move it out, or put another // in front of it";
    char header[TT__FILE_MAX];
    const tt__cxx_lines *l = &c->lines;
    tt__copy(header, c->header.n < sizeof header ? c->header.n + 1 : sizeof header,
             c->header.at ? c->header.at : "");
    if (c->resume)
        return tt__template_fail(header, c->header_line, tt__read_column(r, at),
                                 "`//@ %.*s` is in a header, where no annotation counts: move it to %s",
                                 SHOW(word), r->t->path);
    if (at != tt__trim((tt__slice){l->at, l->n}).at)
        return FAIL(
            r, at,
            "`//@ %.*s` stands behind something else, and does not count there: give it a line of its own",
            SHOW(word));
    if (l->inside != TT__CXX_CODE)
        return FAIL(r, at, "`//@ %.*s` %s line %d, and does not count there: %s", SHOW(word), why[l->inside],
                    r->line - (l->number - l->since), advice);
    return FAIL(r, at,
                "`//@ %.*s` is in the #if of line %d, but an annotation counts whatever the condition is: %s",
                SHOW(word), c->if_line, advice);
}

/* Doxygen writes //@{ and //@}. */
static bool is_of_doxygen(tt__slice rest) {
    return rest.n && (*rest.at == '{' || *rest.at == '}');
}

static tt_status read_line(course *c, tt__reader *r, seen *seen) {
    const tt__cxx_lines *l = &c->lines;
    tt__slice line = tt__trim((tt__slice){l->at, l->n});
    const bool first = line.n >= 3 && memcmp(line.at, "//@", 3) == 0;
    const char *at = first ? line.at : l->comment;
    follow_conditions(c, r, line);
    if (!at || strncmp(at, "//@", 3) != 0)
        return TT_OK;
    tt__slice rest = tt__trim((tt__slice){at + 3, line.n - (size_t)(at - line.at) - 3}), word = rest;
    word = tt__take_word(&word);
    const bool counts = first && !c->resume && l->inside == TT__CXX_CODE;
    if ((!counts || c->n_ifs) && find_keyword(word) < n_keywords())
        return fail_place(c, r, at, word);
    return counts && !is_of_doxygen(rest) ? read_annotation(r, seen, rest) : TT_OK;
}

tt_status tt__annotation_read(tt__template *t) {
    seen seen = {{0}};
    tt__reader r = {.t = t, .line = 1, .launch = &t->passes[0]};
    const char *at = text_of(t);
    if (!strstr(at, "//@"))
        return tt__fail(TT_E_TEMPLATE,
                        "%s: it has no annotations, which are lines such as //@ kernel NAME: \"tune new\" "
                        "writes a kernel with all that are needed",
                        t->path);
    course c = {.lines.source = at};
    while (tt__cxx_next_line(&c.lines)) {
        r.line_start = c.lines.at;
        follow_header(&c, &r);
        TT_TRY(read_line(&c, &r, &seen));
        r.line += !c.resume;
    }
    mark_present(t, &seen);
    for (size_t k = 0; k < n_keywords(); k++)
        if (!seen.line[k] && is_keyword(k, "default"))
            return tt__fail(TT_E_TEMPLATE, "%s: no `%s` annotation, expected a line: //@ %s", t->path,
                            keyword(k)->word, keyword(k)->form);
    TT_TRY(end_launch(&r, &seen, true));
    return end_operation(t);
}

/* Does a comment look like an annotation? Documentation has `@param NAME` too, which prose follows. */
static bool looks_meant(tt__slice comment, tt__slice *word) {
    const size_t third = comment.n > 2 && strchr("/!", comment.at[2]) ? 1 : 0;
    tt__slice rest = {comment.at + 2 + third, comment.n - 2 - third}, start = tt__trim(rest);
    if (start.n == 0 || *start.at != '@' || (!third && start.at == rest.at))
        return false;
    start = (tt__slice){start.at + 1, start.n - 1};
    rest = start;
    *word = tt__take_word(&rest);
    if (find_keyword(*word) == n_keywords())
        return false;
    if (word->at > start.at || !tt__slice_is(*word, "param"))
        return true;
    tt__take_word(&rest);
    tt__slice value = tt__take_word(&rest);
    return value.n == 0 || tt__is_integer(value.at, value.n) || tt__is_real(value.at, value.n);
}

tt_status tt__annotation_lookalikes(tt__str *out, const tt__template *t) {
    tt__reader r = {.t = (tt__template *)t, .line = 1}; /* only its position changes */
    course c = {.lines.source = text_of(t)};
    for (tt__slice word; tt__cxx_next_line(&c.lines); r.line += !c.resume) {
        const tt__slice line = tt__trim((tt__slice){c.lines.at, c.lines.n});
        follow_header(&c, &r);
        if (!c.resume && c.lines.inside == TT__CXX_CODE && c.lines.comment == line.at &&
            looks_meant(line, &word))
            tt__str_addf(out, "%sline %d: `%.*s` is a comment only: an annotation begins with //@",
                         out->len ? "\n" : "", r.line, (int)(word.at + word.n - line.at), line.at);
    }
    return tt__str_check(out);
}
