/*
 * Checks the expressions of a file.
 */
#include "kernel/load/expr_check.h"

#include "kernel/expression/expr.h"
#include "kernel/space/config.h"

static tt_status check_launch(tt__query *q, const tt__template *t, const tt__geometry_expr *g) {
    const tt__expr *const all[] = {&g->block[0], &g->block[1], &g->block[2], &g->grid[0], &g->grid[1],
                                   &g->grid[2],  &g->shared,   &g->when,     &g->repeat};
    for (size_t i = 0; i < TT__COUNT(all); i++)
        TT_TRY(tt__query_check(q, all[i]));
    for (int i = g->first_arg; i < g->first_arg + g->n_args; i++)
        if (t->args[i].type != TT__TYPE_NONE)
            TT_TRY(tt__query_check(q, &t->args[i].value));
    return TT_OK;
}

/* Defaults and most lengths depend on the problem only, so parameters are not in scope. */
static tt_status check_operation(const tt__template *t) {
    const tt__operation *operation = t->own;
    tt__operation above = *operation; /* a default sees only the variables above it */
    const tt__template problem = {.path = t->path, .operation = &above};
    const tt__facts facts = {.operation = operation};
    tt__query *q;
    tt_status status = TT_OK;
    TT_TRY(tt__query_checker(&q, &problem, &facts));
    for (size_t i = 0; i < operation->n_variables; i++) {
        above.n_variables = i;
        TT_GOTO(tt__query_check(q, &operation->variables[i].value));
    }
    above.n_variables = operation->n_variables;
    for (size_t i = 0; i < operation->n_operands; i++) {
        if (!operation->operands[i].by_config)
            TT_GOTO(tt__query_check(q, &operation->operands[i].count));
        for (int k = 0; k < 2; k++)
            TT_GOTO(tt__query_check(q, &operation->operands[i].bounds[k]));
    }
    for (size_t i = 0; i < operation->n_requires; i++)
        TT_GOTO(tt__query_check(q, &operation->requires[i]));
out:
    tt__query_close(q);
    return status;
}

/* One cubin serves all problems, so this compiler option may depend on parameters only. */
static tt_status check_max_regs(const tt__template *t) {
    static const tt__facts facts;
    tt__template params = *t;
    tt__query *q;
    params.operation = NULL;
    TT_TRY(tt__query_checker(&q, &params, &facts));
    tt_status status = tt__query_check(q, &t->max_regs);
    tt__query_close(q);
    return status;
}

tt_status tt__expr_check(const tt__template *t) {
    const tt__operation *own = t->own;
    const tt__facts facts = {.operation = t->operation};
    tt__query *q;
    tt_status status = TT_OK;
    if (own)
        TT_TRY(check_operation(t));
    if (t->max_regs.text)
        TT_TRY(check_max_regs(t));
    TT_TRY(tt__query_checker(&q, t, &facts));
    for (size_t i = 0; i < t->n_derived; i++)
        TT_GOTO(tt__query_check(q, &t->derived[i].value));
    for (size_t i = 0; i < t->n_wheres; i++)
        TT_GOTO(tt__query_check(q, &t->wheres[i]));
    for (int i = 0; i < t->n_passes; i++)
        TT_GOTO(check_launch(q, t, &t->passes[i]));
    for (int role = 0; own && role < TT__ROLE_COUNT; role++)
        for (int i = 0; i < own->asides[role].n; i++)
            TT_GOTO(check_launch(q, t, &own->asides[role].launches[i]));
    for (size_t i = 0; own && i < own->n_operands; i++)
        if (own->operands[i].by_config)
            TT_GOTO(tt__query_check(q, &own->operands[i].count));
    for (size_t i = 0; own && i < own->n_metrics; i++)
        TT_GOTO(tt__query_check(q, &own->metrics[i].value));
out:
    tt__query_close(q);
    return status;
}

tt_status tt__expr_max_regs(int *out, const tt__template *t, const char *config) {
    static const tt__facts facts;
    const tt__expr *column = &t->max_regs;
    char text[TT__NAME_MAX];
    size_t choice[TT__PARAMS_MAX] = {0};
    tt__template params = *t;
    tt__value v;
    tt__query *q;
    params.operation = NULL;
    params.n_wheres = 0;
    TT_TRY(tt__config_parse(choice, t, config));
    TT_TRY(tt__query_open(&q, &params, &facts, TT__QUERY_ONE, choice, &column, 1));
    TT_TRY(tt__query_row(&v, q, 1));
    if (v.kind != TT__VALUE_INT || v.i < TT__REGS_MIN || v.i > TT__REGS_MAX)
        return tt__template_fail(t->path, t->max_regs.line, t->max_regs.column,
                                 "`%.200s` comes to %s, expected 16 to 255 registers", t->max_regs.text,
                                 tt__value_text(text, v));
    *out = (int)v.i;
    return TT_OK;
}
