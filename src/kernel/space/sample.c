/*
 * The sample grows parameter by parameter. It begins with one configuration without values. Each step extends
 * its members by the values of one more parameter, in random order, until it is full. A `where` is checked as
 * soon as all its parameters have values, and the launch with the last one. A full step says which share of
 * the extensions is legal, and so how many there are in all.
 */
#include "kernel/space/sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/random.h"
#include "kernel/space/config.h"

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

/* ---- What is legal ------------------------------------------------------------------------------------- */

static void close_sample(sample *s) {
    free(s->at);
    free(s->next);
    free(s->order);
    free(s->first);
}

static tt_status open_sample(sample *s, const tt__launch_plan *pl) {
    static const size_t first[TT__PARAMS_MAX];
    *s = (sample){.pl = pl, .random = seed, .each = 1};
    tt__inputs_start(&s->in, pl->t, &pl->facts, first);
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
        const uint32_t uses = tt__expr_uses(&t->wheres[i]);
        const size_t last = uses ? 31 - (size_t)__builtin_clz(uses) : 0;
        if (last == k && !tt__value_holds(tt__expr_value(&s->in, &t->wheres[i])))
            return false;
    }
    return true;
}

static tt_status launches(bool *legal, tt__candidate *c, sample *s, const point p) {
    size_t choice[TT__PARAMS_MAX];
    tt__part beyond;
    *c = (tt__candidate){.t = s->pl->t, .offset = s->pl->offset};
    for (size_t k = 0; k < s->pl->t->n_params; k++)
        choice[k] = p[k];
    tt__config_format(c->config, s->pl->t, choice);
    move_to(s, p);
    return tt__launch_plan_read(s->pl, &s->in, c, legal, &beyond);
}

/* ---- The sample ---------------------------------------------------------------------------------------- */

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

tt_status tt__sample_add(tt__space *space, const tt__launch_plan *pl, double *legal, bool *whole) {
    sample s;
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
        TT_GOTO(TT__GROW(space->items, space->n));
        TT_GOTO(launches(&is, &space->items[space->n], &s, s.at[i]));
        space->n++;
    }
out:
    close_sample(&s);
    return status;
}

/* ---- Neighbours ---------------------------------------------------------------------------------------- */

static tt_status add_if_legal(tt__space *space, sample *s, const point p) {
    bool legal = true;
    for (size_t k = 0; k < s->pl->t->n_params && legal; k++)
        legal = holds(s, k, p);
    if (!legal)
        return TT_OK;
    TT_TRY(TT__GROW(space->items, space->n));
    TT_TRY(launches(&legal, &space->items[space->n], s, p));
    space->n += legal;
    return TT_OK;
}

tt_status tt__space_neighbours(tt__space *space, const tt__template *t, const tt__gpu *gpu,
                               const tt__problem *problem, const char *config, size_t pairs) {
    size_t choice[TT__PARAMS_MAX] = {0};
    point from = {0}, p;
    tt__launch_plan pl;
    sample s;
    tt_status status;
    if (t->n_params == 0)
        return TT_OK;
    TT_TRY(tt__config_parse(choice, t, config));
    TT_TRY(tt__launch_plan_make(&pl, t, gpu, problem, NULL, NULL));
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
