/*
 * The legal configurations of a problem: listed, or a sample where they are too many, and what makes them
 * few.
 */
#include "kernel/space/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/random.h"
#include "kernel/space/operation.h"

/* ---- One configuration --------------------------------------------------------------------------------- */

/* The first `where` that does not hold, or NULL. */
static const tt__expr *broken(const tt__template *t, tt__inputs *in) {
    for (size_t i = 0; i < t->n_wheres; i++)
        if (!tt__value_holds(tt__expr_value(in, &t->wheres[i])))
            return &t->wheres[i];
    return NULL;
}

/* `why` is NULL, or has room for a reason (TT__REASON_MAX). Without it, *out is set only if it is legal. A
 * `where` does not concern an aside. */
static tt_status try_choice(tt__candidate *out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const tt__facts *facts, const size_t *choice,
                            const tt__aside *aside, char *why, bool *legal) {
    tt__inputs in;
    tt__launch_plan pl;
    tt__part beyond;
    *legal = false;
    tt__inputs_start(&in, t, facts, choice);
    const tt__expr *where = aside ? NULL : broken(t, &in);
    if (where && !why)
        return TT_OK;
    memset(out, 0, offsetof(tt__candidate, launch)); /* which tt__launch_plan_read sets */
    out->configuration.t = t;
    if (choice == t->default_choice)
        tt__copy(out->configuration.config, sizeof out->configuration.config, t->default_config);
    else
        tt__config_format(out->configuration.config, t, choice);
    tt__launch_plan_make(&pl, t, gpu, p, facts, aside, why);
    if (where) {
        tt__launch_plan_refuse(&pl, where, "does not hold");
        return TT_OK;
    }
    out->configuration.offset = pl.offset;
    return tt__launch_plan_read(&pl, &in, out, legal, &beyond);
}

tt_status tt__space_at(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                       const unsigned char *choice) {
    size_t at[TT__PARAMS_MAX] = {0};
    tt__facts facts;
    bool legal;
    for (size_t k = 0; k < t->n_params; k++)
        at[k] = choice[k];
    TT_TRY(tt__facts_of(&facts, t->operation, gpu, p));
    TT_TRY(try_choice(out, t, gpu, p, &facts, at, NULL, NULL, &legal));
    return legal ? TT_OK : TT_E_UNSUPPORTED;
}

tt_status tt__space_launch(tt__launch *out, const tt__configuration *c, const tt__gpu *gpu,
                           const tt__problem *p) {
    tt__candidate whole;
    TT_TRY(tt__space_at(&whole, c->t, gpu, p, c->choice));
    *out = whole.launch;
    return TT_OK;
}

static tt_status resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                         const char *config, const tt__aside *aside) {
    char why[TT__REASON_MAX] = "", problem[TT__PROBLEM_TEXT_MAX];
    size_t choice[TT__PARAMS_MAX] = {0};
    tt__facts facts;
    bool legal;
    *out = (tt__candidate){.configuration.t = t};
    TT_TRY(tt__config_parse(choice, t, config));
    TT_TRY(tt__facts_of(&facts, t->operation, gpu, p));
    TT_TRY(try_choice(out, t, gpu, p, &facts, choice, aside, why, &legal));
    return legal ? TT_OK
                 : tt__fail(TT_E_UNSUPPORTED, "%s %s cannot do %s: %s",
                            aside ? aside->symbols.name[0] : t->kernel, out->configuration.config,
                            tt__problem_words(problem, t->operation, p), why);
}

tt_status tt__space_resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const char *config) {
    *out = (tt__candidate){.configuration.t = t};
    if (!tt__template_does(t, p))
        return tt__fail(TT_E_UNSUPPORTED, "%s is a %s, not a %s", t->kernel, t->op, p->op);
    return resolve(out, t, gpu, p, config, NULL);
}

/* For look-ups: what cannot be launched, or is no configuration, is not legal. */
static tt_status skip_illegal(tt_status status, bool *legal) {
    *legal &= status == TT_OK;
    return status == TT_E_INVALID || status == TT_E_TEMPLATE ? TT_OK : status;
}

tt_status tt__space_try(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                        const tt__facts *facts, const char *config, bool *legal) {
    size_t choice[TT__PARAMS_MAX] = {0};
    const bool by_default = config == t->default_config;
    *legal = false;
    tt_status status = by_default ? TT_OK : tt__config_parse(choice, t, config);
    if (status == TT_OK)
        status =
            try_choice(out, t, gpu, p, facts, by_default ? t->default_choice : choice, NULL, NULL, legal);
    return skip_illegal(status, legal);
}

/* ---- One configuration for many problems --------------------------------------------------------------- */

struct tt__prepared {
    const tt__template *t;
    char config[TT__CONFIG_MAX];
    int64_t device[TT__FACT_COUNT];
    size_t choice[TT__PARAMS_MAX];
    size_t n_wheres;
    unsigned char wheres[TT__WHERES_MAX]; /* that are to be checked */
    tt__launch start;
    tt__launch_plan pl;
};

static bool is_device(const tt__prepared *c, const tt__facts *facts) {
    enum { FIRST = TT__FACT_MAX_THREADS, END = TT__FACT_TIME_NS };
    return memcmp(c->device + FIRST, facts->values + FIRST, (END - FIRST) * sizeof *c->device) == 0;
}

tt_status tt__space_prepare(tt__prepared **out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const tt__facts *facts, uint64_t given,
                            const char *config) {
    tt__inputs in;
    tt__prepared *c = *out = calloc(1, sizeof *c);
    if (!c)
        return tt__fail_memory(sizeof *c);
    const tt_status status = tt__config_parse(c->choice, t, config);
    if (status != TT_OK) {
        free(c);
        *out = NULL;
        return status;
    }
    c->t = t;
    tt__config_format(c->config, t, c->choice);
    memcpy(c->device, facts->values, sizeof c->device);
    tt__inputs_start(&in, t, facts, c->choice);
    for (size_t i = 0; i < t->n_wheres; i++) {
        const bool is_certain = tt__expr_is_certain(&in, &t->wheres[i], given),
                   is_never = is_certain && !tt__value_holds(tt__expr_value(&in, &t->wheres[i]));
        c->n_wheres = is_never ? 0 : c->n_wheres;
        if (!is_certain || is_never)
            c->wheres[c->n_wheres++] = (unsigned char)i;
        if (is_never)
            break;
    }
    tt__launch_plan_make(&c->pl, t, gpu, p, facts, NULL, NULL);
    tt__launch_plan_reduce(&c->pl, &c->start, &in, given);
    return TT_OK;
}

const char *tt__prepared_config(const tt__template **t, const tt__prepared *c) {
    *t = c->t;
    return c->config;
}

bool tt__prepared_try(bool *legal, tt_status *status, const tt__prepared *c, const tt__gpu *gpu,
                      const tt__problem *p, const tt__facts *facts) {
    tt__inputs in;
    tt__launch_plan pl; /* large, as the next one, and little of it is used */
    tt__candidate made;
    tt__part beyond;
    if (!is_device(c, facts))
        return false;
    *legal = true;
    *status = TT_OK;
    tt__inputs_start(&in, c->t, facts, c->choice);
    for (size_t i = 0; i < c->n_wheres && *legal; i++)
        *legal = tt__value_holds(tt__expr_value(&in, &c->t->wheres[c->wheres[i]]));
    if (!*legal)
        return true;
    made.configuration.t = c->t;
    made.configuration.config[0] = '\0';
    tt__launch_plan_copy(&pl, &c->pl, gpu, p, facts);
    *status = skip_illegal(tt__launch_plan_read(&pl, &in, &made, legal, &beyond), legal);
    return true;
}

tt_status tt__space_aside(tt__candidate *out, const tt__operation *operation, tt__role role,
                          const tt__gpu *gpu, const tt__problem *p, const char *config) {
    return resolve(out, operation->t, gpu, p, config, &operation->asides[role]);
}

/* ---- A sample of a large space ------------------------------------------------------------------------- */

/*
 * The sample grows parameter by parameter. It begins with one configuration without values. Each step extends
 * its members by the values of one more parameter, in random order, until it is full. A `where` is checked as
 * soon as all its parameters have values, and the launch with the last one. A full step says which share of
 * the extensions is legal, and so how many there are in all.
 */

/* A step ends after so many extensions, even if the sample is not full. */
enum { TRIES_MAX = 400000 };
/* The same sample each time, so that stored trials are members of it. */
static const uint64_t seed = 1;

typedef unsigned char point[TT__PARAMS_MAX];

typedef struct sample {
    const tt__launch_plan *pl;
    tt__inputs in;
    uint64_t random;
    size_t n;
    point *at, *next;
    uint16_t *order;
    unsigned char *first; /* value of a member */
    double each;          /* so many legal configurations stand behind each member */
} sample;

static void close_sample(sample *s) {
    free(s->at);
    free(s->next);
    free(s->order);
    free(s->first);
}

static tt_status open_sample(sample *s, const tt__launch_plan *pl) {
    static const size_t first[TT__PARAMS_MAX];
    *s = (sample){.pl = pl, .random = seed, .each = 1};
    tt__inputs_start(&s->in, pl->t, pl->facts, first);
    s->at = calloc(TT__SAMPLE_MAX, sizeof *s->at);
    s->next = calloc(TT__SAMPLE_MAX, sizeof *s->next);
    s->order = calloc(TT__SAMPLE_MAX, sizeof *s->order);
    s->first = calloc(TT__SAMPLE_MAX, sizeof *s->first);
    return s->at && s->next && s->order && s->first ? TT_OK : tt__fail_memory(TT__SAMPLE_MAX * sizeof *s->at);
}

static void move_to(sample *s, const point p) {
    memcpy(s->in.choice, p, sizeof(point));
    s->in.known = 0;
}

/* Do the wheres hold whose last parameter is k? Those without any belong to the first. */
static bool holds(sample *s, size_t k, const point p) {
    const tt__template *t = s->pl->t;
    move_to(s, p);
    for (size_t i = 0; i < t->n_wheres; i++) {
        const uint32_t uses = t->wheres[i].uses;
        const size_t last = uses ? 31 - (size_t)__builtin_clz(uses) : 0;
        if (last == k && !tt__value_holds(tt__expr_value(&s->in, &t->wheres[i])))
            return false;
    }
    return true;
}

static tt_status launches(bool *legal, tt__candidate *c, sample *s, const point p) {
    size_t choice[TT__PARAMS_MAX];
    tt__part beyond;
    *c = (tt__candidate){.configuration.t = s->pl->t, .configuration.offset = s->pl->offset};
    for (size_t k = 0; k < s->pl->t->n_params; k++)
        choice[k] = p[k];
    tt__config_format(c->configuration.config, s->pl->t, choice);
    move_to(s, p);
    return tt__launch_plan_read(s->pl, &s->in, c, legal, &beyond);
}

/* Adds member `i` with a value of parameter k to the next members, if that is legal. */
static tt_status extend_one(sample *s, size_t *kept, size_t i, size_t k, size_t value) {
    tt__candidate c;
    unsigned char *p = s->next[*kept];
    memcpy(p, s->at[i], sizeof(point));
    p[k] = (unsigned char)value;
    bool legal = holds(s, k, p);
    if (legal && k + 1 == s->pl->t->n_params)
        TT_TRY(launches(&legal, &c, s, p));
    *kept += legal;
    return TT_OK;
}

/* Extends the members by parameter k. Each gets one value before any gets a second one. Otherwise chance
 * would multiply some members over many steps. */
static tt_status extend(sample *s, size_t k) {
    const size_t n_values = s->pl->t->params[k].n_values, n = s->n * n_values;
    uint16_t *order = s->order;
    unsigned char *first = s->first;
    size_t kept = 0, tried = 0;
    for (size_t i = 0; i < s->n; i++) {
        order[i] = (uint16_t)i;
        first[i] = (unsigned char)tt__random_below(&s->random, n_values);
    }
    for (; tried < n && kept < TT__SAMPLE_MAX && tried < TRIES_MAX; tried++) {
        size_t at = tried % s->n, other = at + tt__random_below(&s->random, s->n - at);
        uint16_t i = order[other];
        order[other] = order[at];
        order[at] = i;
        TT_TRY(extend_one(s, &kept, i, k, (first[i] + tried / s->n) % n_values));
    }
    s->each *= tried ? (double)n / (double)tried : 1;
    point *swap = s->at;
    s->at = s->next;
    s->next = swap;
    s->n = kept;
    return TT_OK;
}

static int in_order(const void *a, const void *b) {
    return memcmp(a, b, sizeof(point));
}

static tt_status add_sample(tt__space *space, const tt__launch_plan *pl, double *legal, bool *whole) {
    sample s;
    tt__candidate c;
    bool is;
    tt_status status;
    TT_GOTO(open_sample(&s, pl));
    s.n = 1;
    for (size_t k = 0; k < pl->t->n_params; k++)
        TT_GOTO(extend(&s, k));
    *legal = s.each * (double)s.n;
    *whole = s.each <= 1;
    if (s.n == 0 && !*whole)
        TT_GOTO(tt__fail(
            TT_E_TEMPLATE,
            "%s: no legal configuration was found among very many combinations; take values away, or "
            "let a `where` on the first parameters exclude more",
            pl->t->path));
    qsort(s.at, s.n, sizeof *s.at, in_order);
    for (size_t i = 0; i < s.n; i++) {
        TT_GOTO(launches(&is, &c, &s, s.at[i]));
        TT_GOTO(tt__space_append(space, &c.configuration));
    }
out:
    close_sample(&s);
    return status;
}

/* ---- The whole space ----------------------------------------------------------------------------------- */

double tt__template_combinations(const tt__template *t) {
    double n = 1;
    for (size_t i = 0; i < t->n_params; i++)
        n *= (double)t->params[i].n_values;
    return n;
}

tt_status tt__space_append(tt__space *s, const tt__configuration *c) {
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
    tt__candidate c = {.configuration.t = l->pl->t, .configuration.offset = l->pl->offset};
    config_of(c.configuration.config, in);
    TT_TRY(tt__launch_plan_read(l->pl, in, &c, &legal, &beyond));
    return legal ? tt__space_append(s, &c.configuration) : TT_OK;
}

static void default_first(tt__space *s, size_t start, const char *config) {
    for (size_t i = start; i < s->n; i++)
        if (strcmp(s->items[i].config, config) == 0) {
            tt__configuration c = s->items[i];
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
    return status == TT_E_UNSUPPORTED ? TT_OK
           : status == TT_OK          ? tt__space_append(s, &c.configuration)
                                      : status;
}

/* A sample, unless they can be listed. */
static tt_status add_some(tt__space *space, const tt__launch_plan *pl, bool *whole, bool may_list) {
    size_t start = space->n;
    double legal;
    TT_TRY(add_sample(space, pl, &legal, whole));
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
    tt__inputs_start(&in, pl->t, pl->facts, NULL);
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
    tt__facts facts;
    bool whole = false;
    if (!tt__template_does(t, p))
        return TT_OK;
    TT_TRY(tt__facts_of(&facts, t->operation, gpu, p));
    tt__launch_plan_make(&pl, t, gpu, p, &facts, NULL, NULL);
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

/* ---- Neighbours ---------------------------------------------------------------------------------------- */

static tt_status add_if_legal(tt__space *space, sample *s, const point p) {
    tt__candidate c;
    bool legal = true;
    for (size_t k = 0; k < s->pl->t->n_params && legal; k++)
        legal = holds(s, k, p);
    if (!legal)
        return TT_OK;
    TT_TRY(launches(&legal, &c, s, p));
    return legal ? tt__space_append(space, &c.configuration) : TT_OK;
}

tt_status tt__space_neighbours(tt__space *space, const tt__template *t, const tt__gpu *gpu,
                               const tt__problem *problem, const char *config, size_t pairs) {
    size_t choice[TT__PARAMS_MAX] = {0};
    point from = {0}, p;
    tt__launch_plan pl;
    tt__facts facts;
    sample s;
    tt_status status;
    if (t->n_params == 0)
        return TT_OK;
    TT_TRY(tt__config_parse(choice, t, config));
    TT_TRY(tt__facts_of(&facts, t->operation, gpu, problem));
    tt__launch_plan_make(&pl, t, gpu, problem, &facts, NULL, NULL);
    TT_GOTO(open_sample(&s, &pl));
    for (size_t k = 0; k < t->n_params; k++)
        from[k] = (unsigned char)choice[k];
    for (size_t k = 0; k < t->n_params; k++)
        for (size_t v = 0; v < t->params[k].n_values; v++) {
            memcpy(p, from, sizeof p);
            p[k] = (unsigned char)v;
            if (v != from[k])
                TT_GOTO(add_if_legal(space, &s, p));
        }
    for (size_t i = 0; i < pairs; i++) {
        memcpy(p, from, sizeof p);
        for (int twice = 0; twice < 2; twice++) {
            size_t k = tt__random_below(&s.random, t->n_params);
            p[k] = (unsigned char)tt__random_below(&s.random, t->params[k].n_values);
        }
        TT_GOTO(add_if_legal(space, &s, p));
    }
out:
    close_sample(&s);
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
    config_of(c.configuration.config, in);
    TT_TRY(tt__launch_plan_read(pl, in, &c, &legal, &beyond));
    ++*(legal ? &s->legal : &s->beyond[beyond]);
    return TT_OK;
}

tt_status tt__space_survey(tt__survey *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    tt__inputs in;
    tt__launch_plan pl;
    tt__facts facts;
    *out = (tt__survey){.combinations = tt__template_combinations(t)};
    TT_TRY(tt__facts_of(&facts, t->operation, gpu, p));
    tt__launch_plan_make(&pl, t, gpu, p, &facts, NULL, NULL);
    tt__inputs_start(&in, t, &facts, NULL);
    return tt__expr_walk(&in, UINT32_MAX, false, count_one, &(counting){out, &pl});
}

void tt__space_free(tt__space *space) {
    free(space->items);
    *space = (tt__space){0};
}

/* ---- Members ------------------------------------------------------------------------------------------- */

size_t tt__space_end_of_template(const tt__space *space, size_t first) {
    size_t end = first + 1;
    while (end < space->n && space->items[end].t == space->items[first].t)
        end++;
    return end;
}

int64_t tt__space_next_member(const tt__space *space, const char *kernel, const char *config, size_t *at) {
    for (size_t k = 0; k < space->n; k++) {
        const size_t i = (*at + k) % space->n;
        if ((config && strcmp(space->items[i].config, config) != 0) ||
            strcmp(space->items[i].t->kernel, kernel) != 0)
            continue;
        *at = i + 1;
        return (int64_t)i;
    }
    return TT__NOTHING;
}

int64_t tt__space_member(const tt__space *space, const char *kernel, const char *config) {
    return tt__space_next_member(space, kernel, config, &(size_t){0});
}

int64_t tt__space_default(const tt__space *space, size_t of) {
    const tt__template *t = space->items[of].t;
    return tt__space_member(space, t->kernel, t->default_config);
}

/* ---- Cubins -------------------------------------------------------------------------------------------- */

typedef struct built {
    const tt__template *t;
    unsigned char choice[TT__PARAMS_MAX]; /* of the compiled parameters; the others are 0 */
    size_t index;
} built;

static int by_what_is_built(const void *a, const void *b) {
    const built *x = a, *y = b;
    uintptr_t of_x = (uintptr_t)x->t, of_y = (uintptr_t)y->t;
    int order = memcmp(x->choice, y->choice, sizeof x->choice);
    return order ? order : (of_x > of_y) - (of_x < of_y);
}

tt_status tt__space_cubins(const tt__space *space, size_t *of) {
    const size_t n = space->n;
    built *all = calloc(n ? n : 1, sizeof *all);
    if (!all)
        return tt__fail_memory(n * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i] = (built){.t = space->items[i].t, .index = i};
        for (size_t k = 0; k < all[i].t->n_params; k++)
            all[i].choice[k] = all[i].t->params[k].runtime ? 0 : space->items[i].choice[k];
    }
    qsort(all, n, sizeof *all, by_what_is_built);
    for (size_t i = 0, first = 0; i < n; i++) {
        if (by_what_is_built(&all[first], &all[i]) != 0)
            first = i;
        of[all[i].index] = all[first].index;
    }
    free(all);
    return TT_OK;
}
