/*
 * The legal configurations of a problem, and what makes them few.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/space/config.h"
#include "kernel/space/launch_plan.h"
#include "kernel/space/operation.h"
#include "kernel/space/problem_text.h"
#include "kernel/space/sample.h"

/* ---- One configuration --------------------------------------------------------------------------------- */

static tt_status read_one(const tt__launch_plan *pl, tt__inputs *in, tt__candidate *c, bool *legal) {
    tt__part beyond;
    *legal = false;
    bool tuned = pl->launches == pl->t->passes; /* a `where` does not concern others */
    for (size_t i = 0; i < pl->t->n_wheres && tuned; i++)
        if (!tt__value_holds(tt__expr_value(in, &pl->t->wheres[i]))) {
            tt__launch_plan_refuse(pl, &pl->t->wheres[i], "does not hold");
            return TT_OK;
        }
    return tt__launch_plan_read(pl, in, c, legal, &beyond);
}

/* `why` is NULL, or has room for a reason (TT__REASON_MAX). */
static tt_status try_choice(tt__candidate *out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const size_t *choice, const tt__aside *aside, char *why,
                            bool *legal) {
    tt__inputs in;
    tt__launch_plan pl;
    *out = (tt__candidate){.t = t};
    *legal = false;
    tt__config_format(out->config, t, choice);
    TT_TRY(tt__launch_plan_make(&pl, t, gpu, p, aside, why));
    out->offset = pl.offset;
    tt__inputs_start(&in, t, &pl.facts, choice);
    return read_one(&pl, &in, out, legal);
}

static tt_status try_one(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                         const char *config, const tt__aside *aside, char *why, bool *legal) {
    size_t choice[TT__PARAMS_MAX] = {0};
    *out = (tt__candidate){.t = t};
    *legal = false;
    TT_TRY(tt__config_parse(choice, t, config));
    return try_choice(out, t, gpu, p, choice, aside, why, legal);
}

tt_status tt__space_at(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                       const unsigned char *choice) {
    size_t at[TT__PARAMS_MAX] = {0};
    bool legal;
    for (size_t k = 0; k < t->n_params; k++)
        at[k] = choice[k];
    TT_TRY(try_choice(out, t, gpu, p, at, NULL, NULL, &legal));
    return legal ? TT_OK : TT_E_UNSUPPORTED;
}

static tt_status resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                         const char *config, const tt__aside *aside) {
    char why[TT__REASON_MAX] = "", problem[TT__PROBLEM_TEXT_MAX];
    bool legal;
    TT_TRY(try_one(out, t, gpu, p, config, aside, why, &legal));
    return legal ? TT_OK
                 : tt__fail(TT_E_UNSUPPORTED, "%s %s cannot do %s: %s",
                            aside ? aside->symbols.name[0] : t->kernel, out->config,
                            tt__problem_words(problem, t->operation, p), why);
}

tt_status tt__space_resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const char *config) {
    *out = (tt__candidate){.t = t};
    if (!tt__template_does(t, p))
        return tt__fail(TT_E_UNSUPPORTED, "%s is a %s, not a %s", t->kernel, t->op, p->op);
    return resolve(out, t, gpu, p, config, NULL);
}

tt_status tt__space_try(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                        const char *config, bool *legal) {
    tt_status status = try_one(out, t, gpu, p, config, NULL, NULL, legal);
    return status == TT_E_INVALID || status == TT_E_TEMPLATE ? TT_OK : status;
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

typedef struct listing {
    tt__space *space;
    size_t start;
    const tt__launch_plan *pl;
    bool full; /* there are more than fit */
} listing;

static void config_of(char out[TT__CONFIG_MAX], const tt__inputs *in) {
    size_t choice[TT__PARAMS_MAX];
    for (size_t i = 0; i < in->t->n_params; i++)
        choice[i] = in->choice[i];
    tt__config_format(out, in->t, choice);
}

static tt_status list_one(void *user, tt__inputs *in) {
    listing *l = user;
    tt__space *s = l->space;
    tt__part beyond;
    bool legal;
    if (s->n - l->start > TT__CONFIGS_MAX) {
        l->full = true;
        return TT_E_INTERRUPTED;
    }
    TT_TRY(TT__GROW(s->items, s->n));
    tt__candidate *c = &s->items[s->n];
    *c = (tt__candidate){.t = l->pl->t, .offset = l->pl->offset};
    config_of(c->config, in);
    TT_TRY(tt__launch_plan_read(l->pl, in, c, &legal, &beyond));
    s->n += legal;
    return TT_OK;
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

/* *whole: all were listed. Otherwise they are too many, or take too long. */
static tt_status add_all(tt__space *space, const tt__launch_plan *pl, bool *whole) {
    listing l = {.space = space, .start = space->n, .pl = pl};
    tt__inputs in;
    tt__inputs_start(&in, pl->t, &pl->facts, NULL);
    tt_status status = tt__expr_walk(&in, UINT32_MAX, true, list_one, &l);
    *whole = status == TT_OK;
    if (*whole)
        space->legal += (double)(space->n - l.start);
    else
        space->n = l.start;
    return l.full || (status == TT_E_TEMPLATE && in.spent > TT__EVALUATIONS_MAX) ? TT_OK : status;
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

typedef struct counting {
    tt__survey *survey;
    const tt__launch_plan *pl;
} counting;

/* Counts a combination by the reason that rejects it. */
static tt_status count_one(void *user, tt__inputs *in) {
    const tt__launch_plan *pl = ((counting *)user)->pl;
    tt__survey *s = ((counting *)user)->survey;
    tt__candidate c = {0};
    tt__part beyond;
    bool legal;
    size_t failed = 0, last = 0;
    for (size_t i = 0; i < pl->t->n_wheres; i++)
        if (!tt__value_holds(tt__expr_value(in, &pl->t->wheres[i]))) {
            s->wheres[i].removed++;
            last = i;
            failed++;
        }
    if (failed == 1)
        s->wheres[last].alone++;
    if (failed)
        return TT_OK; /* do not read its geometry, which may be invalid */
    config_of(c.config, in);
    TT_TRY(tt__launch_plan_read(pl, in, &c, &legal, &beyond));
    ++*(legal ? &s->legal : &s->beyond[beyond]);
    return TT_OK;
}

tt_status tt__space_survey(tt__survey *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    tt__inputs in;
    tt__launch_plan pl;
    *out = (tt__survey){.combinations = tt__template_combinations(t)};
    TT_TRY(tt__launch_plan_make(&pl, t, gpu, p, NULL, NULL));
    tt__inputs_start(&in, t, &pl.facts, NULL);
    return tt__expr_walk(&in, UINT32_MAX, false, count_one, &(counting){out, &pl});
}

void tt__space_free(tt__space *space) {
    free(space->items);
    *space = (tt__space){0};
}
