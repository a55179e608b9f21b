/*
 * The rows of a batch are the outermost dimension of each buffer, and inputs are filled by index. So a
 * problem with fewer rows has the first ones of the larger problem, and its results are compared with the
 * start of the larger results, bit for bit: one row, half of them, and one row less.
 */
#include "tuner/run/batch.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/load/set.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"

/* What depends on the number of elements is another input for fewer rows. */
static bool depends_on_count(const tt__array *a) {
    return a->filled || a->init == TT__INIT_SORTED || a->init == TT__INIT_PERMUTATION ||
           a->init == TT__INIT_INDEX || a->init == TT__INIT_FILE;
}

static bool is_comparable(const tt__workload *few, const tt__workload *all) {
    bool shrinks = false;
    for (int i = 0; i < all->n; i++) {
        const tt__array *a = &all->arrays[i], *b = &few->arrays[i];
        if (a->by_config || b->count > a->count ||
            (b->count != a->count && (a->direction == TT__IN || a->direction == TT__INOUT) &&
             depends_on_count(a)))
            return false;
        shrinks |= b->count < a->count && (a->direction == TT__OUT || a->direction == TT__INOUT);
    }
    return shrinks;
}

/* The problem with so many rows; false: the operation forbids it. */
static bool with_rows(tt__problem *out, const tt__template *t, const tt__problem *p, int64_t rows) {
    tt__problem few = *p;
    tt__str text = {0};
    tt__problem_set(&few, t->operation->batch, rows);
    tt__problem_add_settings(&text, &few, ",");
    const bool legal = tt__operation_problem(out, t->operation, t->op, tt__str_text(&text)) == TT_OK;
    tt__str_free(&text);
    out->warm = p->warm;
    out->unverified = p->unverified;
    return legal;
}

/* The class of the first elements of the results that a winner has for a problem. */
static tt_status class_of(tt__session *s, const tt__template *t, const tt__problem *p, const tt__winner *w,
                          const tt__workload *few, int64_t *bits) {
    const tt__backend_ops *ops = s->backend->ops;
    tt__bits_ask ask = {.first_only = true};
    tt__bits_found found;
    tt__candidate c;
    TT_TRY(tt__space_resolve(&c, t, &s->gpu, p, w->config));
    for (int i = 0; i < few->n; i++)
        ask.counts[i] = few->arrays[i].count;
    TT_TRY(ops->problem(s->backend, p, t));
    if (ops->await_until)
        ops->await_until(s->backend, s->end_s);
    TT_TRY(ops->bits(s->backend, &c, &ask, &found));
    *bits = found.bits;
    return TT_OK;
}

typedef struct workloads {
    tt__workload few, all;
} workloads;

/* Compares with so many rows. *is 0: it cannot be told. */
static tt_status compare(tt__session *s, const tt__template *t, const tt__winner *w, int64_t rows,
                         workloads *v, int *is) {
    tt__problem few;
    int64_t some, whole;
    *is = 0;
    if (!with_rows(&few, t, &w->problem, rows) || tt__workload_of(&v->few, t, &s->gpu, &few) != TT_OK ||
        tt__workload_of(&v->all, t, &s->gpu, &w->problem) != TT_OK || !is_comparable(&v->few, &v->all))
        return TT_OK;
    tt_status status = class_of(s, t, &few, w, &v->few, &some);
    if (status == TT_OK)
        status = class_of(s, t, &w->problem, w, &v->few, &whole);
    if (status != TT_OK) /* the configuration is not legal there, or the reference cannot do it */
        return status == TT_E_INTERRUPTED ? status : TT_OK;
    *is = some == whole && some != TT__BITS_UNSTABLE ? 1 : 2;
    return TT_OK;
}

static tt_status measure(tt__session *s, const tt__template *t, const tt__winner *w, workloads *v, int *is) {
    const char *batch = t->operation->batch;
    const int64_t all = tt__problem_number(&w->problem, batch, 0);
    const int64_t rows[] = {all - 1, all / 2, 1};
    char text[TT__PROBLEM_TEXT_MAX];
    *is = 0;
    for (size_t k = 0; k < TT__COUNT(rows) && *is != 2 && tt__now_s() < s->end_s; k++) {
        int now;
        if (rows[k] < 1 || rows[k] >= all)
            continue;
        TT_TRY(compare(s, t, w, rows[k], v, &now));
        *is = now ? now : *is;
        if (now == 2)
            tt__session_message(s, "%s: not batch invariant: the first results are others where %s is %lld",
                                tt__problem_text(text, &w->problem), batch, (long long)rows[k]);
    }
    if (*is == 1)
        tt__session_message(s, "%s: batch invariant: the first results are the same where %s is less",
                            tt__problem_text(text, &w->problem), batch);
    return TT_OK;
}

tt_status tt__batches_measure(tt__session *s, tt_result *results) {
    tt_status status = TT_OK;
    workloads *v = NULL; /* large for a stack */
    if (s->backend->ops->enter)
        TT_TRY(s->backend->ops->enter(s->backend, s->lane));
    for (size_t i = 0; i < s->n_problems && status == TT_OK && s->backend->ops->bits; i++) {
        const tt__problem *p = &s->call->problems[i];
        int64_t problem_id;
        tt__winner w;
        bool found = false;
        const tt__template *of = tt__template_set_for(s->templates, p);
        if (!of || !*of->operation->batch)
            continue;
        TT_GOTO(tt__store_problem(s->store, p, &problem_id));
        TT_GOTO(tt__store_winner_get(s->store, s->gpu_id, problem_id, &w, &found));
        const tt__template *t = found ? tt__template_set_find(s->templates, w.kernel) : NULL;
        if (!t || strcmp(t->hash, w.hash) != 0)
            continue;
        if (!v && !(v = calloc(1, sizeof *v)))
            TT_GOTO(tt__fail_memory(sizeof *v));
        if (!w.batch_invariant) {
            TT_GOTO(measure(s, t, &w, v, &w.batch_invariant));
            TT_GOTO(tt__store_winner_batch(s->store, s->gpu_id, problem_id, w.batch_invariant));
        }
        results[i].batch_invariant = w.batch_invariant;
    }
out:
    free(v);
    return status;
}
