/*
 * The values, distances and metrics of an operation's problems.
 */
#include "kernel/space/operation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/space/config.h"

bool tt__template_does(const tt__template *t, const tt__problem *p) {
    return tt__problem_is_of(p, t->op, t->own ? t->operation->t->hash : "");
}

bool tt__operation_prefers(char out[TT__NAME_MAX], const tt__operation *op, size_t i) {
    const char *at = op->prefer.text ? op->prefer.text : "";
    for (; *at; i--) {
        const size_t n = strcspn(at, " ");
        if (i == 0) {
            snprintf(out, TT__NAME_MAX, "%.*s", (int)n, at);
            return true;
        }
        at += n;
        at += strspn(at, " ");
    }
    return false;
}

/* ---- Facts --------------------------------------------------------------------------------------------- */

tt_status tt__facts_of(tt__facts *out, const tt__operation *op, const tt__gpu *gpu, const tt__problem *p) {
    static const tt__gpu no_gpu;
    gpu = gpu ? gpu : &no_gpu;
    *out = (tt__facts){.operation = op,
                       .values = {[TT__FACT_ELEM_SIZE] = tt__problem_elem_size(p),
                                  [TT__FACT_ALIGN] = tt__problem_align(p),
                                  [TT__FACT_MAX_THREADS] = gpu->max_threads_per_block,
                                  [TT__FACT_SHARED] = gpu->shared_per_block,
                                  [TT__FACT_SM_COUNT] = gpu->sm_count,
                                  [TT__FACT_CC] = gpu->cc,
                                  [TT__FACT_L2_BYTES] = gpu->l2_bytes},
                       .time_ns = 1000};
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        const tt__setting *s = tt__problem_setting_at(p, i, v->name);
        if (!s || (s->type != TT__TYPE_NONE) != (v->n_types > 0))
            return tt__fail(TT_E_INVALID, "a problem of %s without %s: the operation has changed since",
                            p->op, v->name);
        out->variables[i] = v->n_types ? (int64_t)s->type : s->number;
    }
    return TT_OK;
}

tt_status tt__operation_usual(bool usual[TT__VARIABLES_MAX], const tt__operation *op, const tt__problem *p) {
    tt__facts facts;
    tt__inputs in;
    TT_TRY(tt__facts_of(&facts, op, NULL, p));
    tt__inputs_start(&in, op->t, &facts, NULL);
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        const tt__value value = tt__expr_value(&in, &v->value);
        usual[i] = v->n_types ? facts.variables[i] == (int64_t)v->types[0]
                              : value.kind == TT__VALUE_INT && value.i == facts.variables[i];
    }
    return TT_OK;
}

tt_status tt__problem_offset(int *out, const tt__operation *op, const tt__problem *p) {
    const tt__variable *v = tt__operation_variable(op, "align", strlen("align"));
    const int align = tt__problem_align(p);
    tt__facts facts;
    tt__inputs in;
    *out = 0;
    if (!v || !v->value.text || align >= 16)
        return TT_OK;
    TT_TRY(tt__facts_of(&facts, op, NULL, p));
    tt__inputs_start(&in, op->t, &facts, NULL);
    const tt__value usual = tt__expr_value(&in, &v->value);
    *out = usual.kind == TT__VALUE_INT && align < usual.i ? align : 0;
    return TT_OK;
}

/* ---- Distance ------------------------------------------------------------------------------------------ */

static double doublings(int64_t a, int64_t b) {
    return a == b ? 0 : fabs(tt__number_log(a) - tt__number_log(b));
}

double tt__operation_distance(const tt__operation *op, const tt__problem *asked, const tt__problem *other,
                              bool *same) {
    double far = 0;
    *same = true;
    if (other->unverified && !asked->unverified)
        return INFINITY;
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__variable *v = &op->variables[i];
        const tt__setting *a = tt__problem_setting_at(asked, i, v->name),
                          *b = tt__problem_setting_at(other, i, v->name);
        if (!a || !b)
            return INFINITY;
        double apart = v->n_types ? a->type != b->type : doublings(a->number, b->number);
        *same &= !v->same || apart == 0;
        far += v->weight * apart;
    }
    return far;
}

/* ---- Metrics ------------------------------------------------------------------------------------------- */

bool tt__operation_verifies(const tt__operation *op) {
    bool expects = false;
    for (size_t i = 0; i < op->n_operands; i++)
        expects |= op->operands[i].expect[0] != '\0';
    return op->asides[TT__REFERENCE].n || op->asides[TT__VERIFY].n || expects;
}

int tt__metric_named(const tt__operation *op, const char *name) {
    for (size_t i = 0; i < op->n_metrics; i++)
        if (strcmp(op->metrics[i].name, name) == 0)
            return (int)i;
    return -1;
}

tt_status tt__metric_value(double *out, const tt__template *t, size_t metric, const tt__gpu *gpu,
                           const tt__problem *p, const char *config, double time_us) {
    const tt__operation *op = t->operation;
    size_t choice[TT__PARAMS_MAX] = {0};
    tt__facts facts;
    tt__inputs in;
    *out = 0;
    TT_TRY(tt__config_parse(choice, op->t, config && op->t == t ? config : op->t->default_config));
    TT_TRY(tt__facts_of(&facts, op, gpu, p));
    facts.time_ns = time_us * 1e3;
    tt__inputs_start(&in, op->t, &facts, choice);
    const tt__value v = tt__expr_value(&in, &op->metrics[metric].value);
    *out = v.kind == TT__VALUE_INT || v.kind == TT__VALUE_REAL ? v.f : 0;
    return TT_OK;
}

bool tt__problem_copy(tt__problem *out, const tt__problem *p) {
    static const double most = 0x1p42; /* far more than any memory */
    double bytes = floor(p->moved_bytes / 2 + 0.5);
    bool known = bytes >= 1 && bytes < most;
    *out = (tt__problem){.op = "copy", .warm = p->warm, .moved_bytes = 2 * bytes};
    tt__problem_set(out, "bytes", known ? (int64_t)bytes : 1);
    return known;
}
