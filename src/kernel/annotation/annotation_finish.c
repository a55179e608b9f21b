/*
 * After the last `//@` line: checks that an operation is complete, and looks up the names of operands.
 */
#include <string.h>

#include "base/str.h"
#include "kernel/annotation/index.h"
#include "kernel/annotation/reader.h"
#include "kernel/expression/scan.h"

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
    for (size_t k = 0; k < t->operation->n_variables; k++)
        if (strcmp(t->operation->variables[k].name, e->text) == 0)
            return tt__template_fail(t->path, e->line, e->column,
                                     "%s is a number: say its type, as in `i32 %s`", e->text, e->text);
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
        tt__span word = {text, n};
        if (tt__template_param(t, text, n))
            return true;
        for (size_t i = 0; n && i < t->n_derived; i++)
            if (tt__span_is(word, t->derived[i].name))
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

/* Puts constants last, so that the arguments of a launch are numbered without gaps. */
static void move_constants(tt__operation *op) {
    for (size_t i = op->n_operands; i-- > 0;) {
        tt__operand constant = op->operands[i];
        if (constant.direction != TT__CONSTANT)
            continue;
        for (size_t k = i; k + 1 < op->n_operands; k++)
            op->operands[k] = op->operands[k + 1];
        op->operands[op->n_operands - 1] = constant;
        for (size_t k = 0; k < op->n_operands; k++)
            op->operands[k].from -= op->operands[k].from > (int)i;
    }
}

/* -D and -U come after the macros of the annotations, and would silently take their place. */
static tt_status check_macro(const tt__template *t, const tt__expr *e) {
    const char *name = e->text + 1 + (e->text[1] == '-') + 1;
    if (name[-1] != 'D' && name[-1] != 'U')
        return TT_OK;
    const tt__span macro = {name, strcspn(name, "=")};
    const tt__param *param = tt__template_param(t, macro.at, macro.n);
    const char *by = param && !param->runtime          ? "param"
                     : tt__span_is(macro, "ELEM_SIZE") ? "elem_size"
                                                       : NULL;
    for (size_t i = 0; i < t->n_derived && !by; i++)
        by = t->derived[i].macro && tt__span_is(macro, t->derived[i].name) ? "derived" : NULL;
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
            tt__span name = {at + 1, strcspn(at + 1, "}")};
            tt__suggest near = tt__suggest_for(name.at, name.n);
            bool known = false;
            for (size_t p = 0; p < t->n_params; p++) {
                known |= !t->params[p].runtime && tt__span_is(name, t->params[p].name);
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

tt_status tt__annotation_end_operation(tt__template *t) {
    TT_TRY(check_options(t));
    if (!t->own)
        return TT_OK;
    move_constants(t->own);
    take_default_reference(t);
    TT_TRY(mark_by_config(t));
    TT_TRY(tt__index_finish(t));
    TT_TRY(t->n_defines ? TT_OK : check_own(t));
    t->operation = t->own;
    if (!t->n_defines)
        tt__copy(t->op, sizeof t->op, t->kernel);
    return TT_OK;
}

tt_status tt__annotation_resolve(tt__template *t) {
    TT_TRY(check_names(t));
    return find_operands(t);
}
