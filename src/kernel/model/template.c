/*
 * Templates as data: made empty, filled by the readers, and freed.
 */
#include "kernel/model/template.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/str.h"

const char *const tt__roles[TT__ROLE_COUNT] = {"reference", "verify", "data"};

static atomic_size_t alive;

size_t tt__templates_alive(void) {
    return atomic_load(&alive);
}

tt_status tt__template_keep_memory(tt__template *t, void *memory) {
    tt_status status = TT__GROW(t->kept, t->n_kept);
    if (status == TT_OK)
        t->kept[t->n_kept++] = memory;
    else
        free(memory);
    return status;
}

tt_status tt__template_empty(tt__template **out) {
    *out = calloc(1, sizeof **out);
    if (!*out)
        return tt__fail_memory(sizeof **out);
    atomic_fetch_add(&alive, 1);
    return TT_OK;
}

tt_status tt__template_keep(tt__template *t, char **out, const char *text, size_t n) {
    char *copy = strndup(text, n);
    if (!copy)
        return tt__fail_memory(n + 1);
    TT_TRY(tt__template_keep_memory(t, copy));
    *out = copy;
    return TT_OK;
}

const tt__param *tt__template_param(const tt__template *t, const char *name, size_t n) {
    for (size_t i = 0; i < t->n_params; i++)
        if (tt__word_is(name, n, t->params[i].name))
            return &t->params[i];
    return NULL;
}

const tt__variable *tt__operation_variable(const tt__operation *op, const char *name, size_t n) {
    for (size_t i = 0; op && i < op->n_variables; i++)
        if (tt__word_is(name, n, op->variables[i].name))
            return &op->variables[i];
    return NULL;
}

const tt__expr *tt__template_gets(const tt__template *t, const tt__geometry_expr *g, int operand) {
    for (int i = g->first_arg; i < g->first_arg + g->n_args; i++) {
        const tt__arg_expr *a = &t->args[i];
        const tt__map_expr *m = a->map ? &t->maps[a->map - 1] : NULL;
        if (m && m->operand == operand)
            return &m->buffer;
        if (a->type == TT__TYPE_NONE && a->operand == operand)
            return &a->value;
        for (int k = a->first_field; k < a->first_field + a->n_fields; k++)
            if (t->fields[k].type == TT__TYPE_NONE && t->fields[k].operand == operand)
                return &t->fields[k].value;
    }
    return NULL;
}

bool tt__template_uses(const tt__template *t, const tt__geometry_expr *g, int operand) {
    return (g->swap_line && (g->swap_of[0] == operand || g->swap_of[1] == operand)) ||
           tt__template_gets(t, g, operand) != NULL;
}

static void reorder_swap(tt__geometry_expr *g, const int *to) {
    for (int i = 0; i < 2 && g->swap_line; i++)
        g->swap_of[i] = to[g->swap_of[i]];
}

void tt__template_reorder(tt__template *t, const int *to) {
    tt__operation *own = t->own;
    int left[TT__OPERANDS_MAX];
    for (int i = 0; i < t->n_args; i++)
        if (t->args[i].type == TT__TYPE_NONE && t->args[i].operand != TT__OPERAND_ERROR)
            t->args[i].operand = to[t->args[i].operand];
    for (int i = 0; i < t->n_fields; i++)
        if (t->fields[i].type == TT__TYPE_NONE)
            t->fields[i].operand = to[t->fields[i].operand];
    for (size_t i = 0; i < t->n_maps; i++)
        t->maps[i].operand = to[t->maps[i].operand];
    for (int i = 0; i < t->n_passes; i++)
        reorder_swap(&t->passes[i], to);
    for (int role = 0; role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < own->asides[role].n; i++)
            reorder_swap(&own->asides[role].launches[i], to);
    for (size_t i = 0; i < own->n_operands; i++) {
        tt__operand *o = &own->operands[i];
        o->from = o->init == TT__INIT_COPY ? to[o->from] : 0;
        left[i] = to[i];
    }
    for (int i = 0; i < (int)own->n_operands; i++)
        while (left[i] != i) { /* the operand here belongs there */
            const int there = left[i];
            const tt__operand held = own->operands[there];
            own->operands[there] = own->operands[i];
            own->operands[i] = held;
            left[i] = left[there];
            left[there] = there;
        }
}

void tt__template_free(tt__template **template) {
    tt__template *t = *template;
    *template = NULL;
    if (!t)
        return;
    atomic_fetch_sub(&alive, 1);
    tt__template *read = atomic_load_explicit(&t->read, memory_order_acquire);
    tt__template_free(&read);
    for (size_t i = 0; i < t->n_kept; i++)
        free(t->kept[i]);
    free(t->kept);
    for (size_t p = 0; p < t->n_params; p++)
        free(t->params[p].values);
    free(t->own);
    free(t);
}

/* ---- Values -------------------------------------------------------------------------------------------- */

/* Exact, although a real may not have all bits of an integer. */
static int compare_int_real(int64_t i, double f) {
    if (f < -0x1p63 || f >= 0x1p63)
        return f < 0 ? 1 : -1;
    const int64_t whole = (int64_t)f;
    if (i != whole)
        return i < whole ? -1 : 1;
    const double rest = f - (double)whole;
    return rest > 0 ? -1 : rest < 0;
}

int tt__value_compare(tt__value a, tt__value b) {
    if (a.kind == TT__VALUE_TEXT || b.kind == TT__VALUE_TEXT)
        return a.kind == b.kind ? strcmp(a.text, b.text) : a.kind == TT__VALUE_TEXT ? 1 : -1;
    if (a.kind == TT__VALUE_INT && b.kind == TT__VALUE_INT)
        return (a.i > b.i) - (a.i < b.i);
    if (a.kind == TT__VALUE_INT)
        return compare_int_real(a.i, b.f);
    if (b.kind == TT__VALUE_INT)
        return -compare_int_real(b.i, a.f);
    return (a.f > b.f) - (a.f < b.f);
}

char *tt__value_text(char out[TT__NAME_MAX], tt__value v) {
    tt__copy(out, TT__NAME_MAX, v.kind == TT__VALUE_NULL ? "NULL (a division by zero?)" : "a word");
    if (v.kind == TT__VALUE_INT)
        snprintf(out, TT__NAME_MAX, "%lld", (long long)v.i);
    if (v.kind == TT__VALUE_REAL)
        tt__format(out, TT__NAME_MAX,
                   v.f >= 0x1p63 || v.f < -0x1p63 ? "%g (beyond 64 bits)"
                   : v.f == floor(v.f)            ? "%.1f"
                                                  : "%g",
                   v.f);
    return out;
}
