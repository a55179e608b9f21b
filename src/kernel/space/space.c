/*
 * The legal configurations of a problem: rows of the space's query (expr.c), and what makes them few.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/space/config.h"
#include "kernel/space/launch_plan.h"
#include "kernel/space/problem_text.h"
#include "kernel/space/sample.h"

/* ---- One configuration --------------------------------------------------------------------------------- */

static tt_status read_one(const tt__launch_plan *pl, tt__query *q, tt__candidate *c, bool *legal) {
    tt__part beyond;
    bool found;
    *legal = false;
    TT_TRY(tt__query_next(q, &found));
    if (!found)
        return tt__fail(TT_E_INTERNAL, "%s: a configuration without a row", pl->t->path);
    bool tuned = pl->launches == pl->t->passes; /* a `where` does not concern others */
    for (size_t i = 0; i < pl->t->n_wheres && tuned; i++)
        if (!tt__query_where(q, i)) {
            tt__launch_plan_refuse(pl, &pl->t->wheres[i], "does not hold");
            return TT_OK;
        }
    return tt__launch_plan_read(pl, q, c, legal, &beyond);
}

static tt_status resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                         const char *config, const tt__aside *aside) {
    size_t choice[TT__PARAMS_MAX] = {0};
    char why[TT__REASON_MAX] = "", problem[TT__PROBLEM_TEXT_MAX];
    bool legal = false;
    tt__query *q;
    tt__launch_plan pl;
    *out = (tt__candidate){.t = t};
    TT_TRY(tt__config_parse(choice, t, config));
    tt__config_format(out->config, t, choice);
    TT_TRY(tt__launch_plan_make(&pl, t, gpu, p, aside, why));
    out->offset = pl.offset;
    TT_TRY(tt__query_open(&q, t, &pl.facts, TT__QUERY_ONE, choice, pl.exprs, pl.n));
    tt_status status = read_one(&pl, q, out, &legal);
    tt__query_close(q);
    if (status == TT_OK && !legal)
        status =
            tt__fail(TT_E_UNSUPPORTED, "%s %s cannot do %s: %s", aside ? aside->symbols.name[0] : t->kernel,
                     out->config, tt__problem_text(problem, p), why);
    return status;
}

tt_status tt__space_resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const char *config) {
    *out = (tt__candidate){.t = t};
    if (!tt__template_does(t, p))
        return tt__fail(TT_E_UNSUPPORTED, "%s is a %s, not a %s", t->kernel, t->op, p->op);
    return resolve(out, t, gpu, p, config, NULL);
}

tt_status tt__space_aside(tt__candidate *out, const tt__operation *operation, tt__role role,
                          const tt__gpu *gpu, const tt__problem *p, const char *config) {
    return resolve(out, operation->t, gpu, p, config, &operation->asides[role]);
}

/* ---- The whole space ----------------------------------------------------------------------------------- */

double tt__template_combinations(const tt__template *t) {
    double n = 1;
    for (size_t i = 0; i < t->n_params; i++)
        n *= (double)t->params[i].n_values;
    return n;
}

tt_status tt__space_append(tt__space *s, const tt__candidate *c) {
    TT_TRY(TT__GROW(s->items, s->n));
    s->items[s->n++] = *c;
    return TT_OK;
}

/* *whole: all were read. Otherwise they are too many, or take too long. */
static tt_status read_all(tt__space *s, const tt__launch_plan *pl, tt__query *q, bool *whole) {
    size_t start = s->n, choice[TT__PARAMS_MAX];
    tt__part beyond;
    bool found, legal;
    for (;;) {
        tt_status status = tt__query_next(q, &found);
        *whole = status == TT_OK && !found;
        if (*whole || status == TT_E_TEMPLATE || s->n - start > TT__CONFIGS_MAX)
            return TT_OK;
        TT_TRY(status);
        TT_TRY(TT__GROW(s->items, s->n));
        tt__candidate *c = &s->items[s->n];
        *c = (tt__candidate){.t = pl->t, .offset = pl->offset};
        for (size_t i = 0; i < pl->t->n_params; i++)
            choice[i] = tt__query_choice(q, i);
        tt__config_format(c->config, pl->t, choice);
        TT_TRY(tt__launch_plan_read(pl, q, c, &legal, &beyond));
        s->n += legal;
    }
}

static void default_first(tt__space *s, size_t start, const char *config) {
    for (size_t i = start; i < s->n; i++)
        if (strcmp(s->items[i].config, config) == 0) {
            tt__candidate c = s->items[i];
            memmove(&s->items[start + 1], &s->items[start], (i - start) * sizeof c);
            s->items[start] = c;
            return;
        }
}

/* Adds the default, if it is legal and missing. */
static tt_status add_default(tt__space *s, size_t start, const tt__launch_plan *pl) {
    tt__candidate c;
    for (size_t i = start; i < s->n; i++)
        if (strcmp(s->items[i].config, pl->t->default_config) == 0)
            return TT_OK;
    tt_status status = tt__space_resolve(&c, pl->t, pl->gpu, pl->p, pl->t->default_config);
    return status == TT_E_UNSUPPORTED ? TT_OK : status == TT_OK ? tt__space_append(s, &c) : status;
}

/* A sample, unless they can be listed. */
static tt_status add_some(tt__space *space, const tt__launch_plan *pl, bool *whole, bool may_list) {
    size_t start = space->n;
    double legal;
    TT_TRY(tt__sample_add(space, pl, &legal, whole));
    if (!*whole && may_list && legal <= TT__CONFIGS_MAX) {
        space->n = start;
        return TT_OK;
    }
    space->legal += legal;
    space->sampled |= !*whole;
    *whole = true;
    return add_default(space, start, pl);
}

static tt_status add_all(tt__space *space, const tt__launch_plan *pl, bool *whole) {
    size_t start = space->n;
    tt__query *q;
    TT_TRY(tt__query_open(&q, pl->t, &pl->facts, TT__QUERY_LEGAL, NULL, pl->exprs, pl->n));
    tt_status status = read_all(space, pl, q, whole);
    tt__query_close(q);
    if (*whole)
        space->legal += (double)(space->n - start);
    else
        space->n = start;
    return status;
}

tt_status tt__space_add(tt__space *space, const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    static const double many =
        1 << 18; /* combinations that are not listed before it is known how many are legal */
    const tt__space before = *space;
    tt__launch_plan pl;
    bool whole = false;
    if (!tt__template_does(t, p))
        return TT_OK;
    TT_TRY(tt__launch_plan_make(&pl, t, gpu, p, NULL, NULL));
    bool large = tt__template_combinations(t) > many;
    tt_status status = large ? add_some(space, &pl, &whole, true) : TT_OK;
    if (status == TT_OK && !whole)
        status = add_all(space, &pl, &whole);
    if (status == TT_OK && !whole)
        status = add_some(space, &pl, &whole, false);
    if (status == TT_OK) {
        default_first(space, before.n, t->default_config);
    } else {
        space->n = before.n;
        space->sampled = before.sampled;
        space->legal = before.legal;
    }
    return status;
}

/* ---- What makes the space as large as it is ------------------------------------------------------------ */

/* Counts the current row by the reason that rejects it. */
static tt_status count_row(tt__survey *s, const tt__launch_plan *pl, const tt__query *q) {
    tt__candidate c = {0};
    tt__part beyond;
    bool legal;
    size_t failed = 0, last = 0, choice[TT__PARAMS_MAX];
    for (size_t i = 0; i < pl->t->n_wheres; i++)
        if (!tt__query_where(q, i)) {
            s->wheres[i].removed++;
            last = i;
            failed++;
        }
    if (failed == 1)
        s->wheres[last].alone++;
    if (failed)
        return TT_OK; /* do not read its geometry, which may be invalid */
    for (size_t i = 0; i < pl->t->n_params; i++)
        choice[i] = tt__query_choice(q, i);
    tt__config_format(c.config, pl->t, choice);
    TT_TRY(tt__launch_plan_read(pl, q, &c, &legal, &beyond));
    ++*(legal ? &s->legal : &s->beyond[beyond]);
    return TT_OK;
}

tt_status tt__space_survey(tt__survey *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    tt__query *q;
    bool found = true;
    *out = (tt__survey){.combinations = tt__template_combinations(t)};
    tt__launch_plan pl;
    TT_TRY(tt__launch_plan_make(&pl, t, gpu, p, NULL, NULL));
    TT_TRY(tt__query_open(&q, t, &pl.facts, TT__QUERY_ALL, NULL, pl.exprs, pl.n));
    tt_status status = TT_OK;
    while (status == TT_OK && found) {
        status = tt__query_next(q, &found);
        if (status == TT_OK && found)
            status = count_row(out, &pl, q);
    }
    tt__query_close(q);
    return status;
}

void tt__space_free(tt__space *space) {
    free(space->items);
    *space = (tt__space){0};
}
