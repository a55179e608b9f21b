/* See the header. A kernel gets the buffer, its length, and the problem's numbers that the expression names.
 */
#include "kernel/annotation/index.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "kernel/annotation/include.h"
#include "kernel/expression/scan.h"

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

tt_status tt__index_finish(tt__template *t) {
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
