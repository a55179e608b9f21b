/*
 * The configurations of a rule are chosen greedily: each time the one that lowers the losses of all problems
 * most, and then each may be replaced by a better one. What counts is not the measured loss but the one that
 * a rule would expect from the problem and those near it. So a configuration that is good for one problem by
 * luck, or for nothing else, is left out.
 *
 * Many a configuration is illegal for a problem only because of something that is switched on: a parameter
 * that the default has at 0. There the same with it switched off stands for it, so that eight configurations
 * do for many problems.
 */
#include "tuner/run/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "dispatch/ladder.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/run/tune.h"

static const double noise = 0.02; /* of a time that was measured once */

typedef struct timing {
    uint32_t config;
    float us;
    bool final;
} timing;

typedef struct known {
    tt__problem problem;
    size_t n;
    timing *timings;
    double best_us; /* of the finals, unless there were none */
    double default_us;
    bool another; /* of another GPU: not judged */
} known;

typedef struct group {
    tt__problem shared;
    const tt__operation *op;
    size_t n;
    uint32_t *problems;
    tt__tuning_rule *all; /* with all points, without configurations */
    size_t n_configs;
    uint32_t *configs;                           /* that were measured for any of them */
    uint32_t (*variants)[TT__RULE_VARIANTS_MAX]; /* columns of each configuration's, in order; 0: no more */
    float *losses;  /* n rows of 1 + n_configs: the default's comes first. NAN: neither it nor a variant was
                       measured */
    float *weights; /* n x n: how much one problem says about another */
    double *sums;   /* for each problem, of all of them: weighted losses of each column, then weights */
} group;

struct tt__evidence {
    const tt__template_set *templates;
    const tt__gpu *gpu;
    size_t n_problems, n_groups, n_configs, n_slots;
    known *problems;
    group *groups;
    tt__rule_config *configs;
    uint32_t *slots; /* a hash of configurations; 0: free, else 1 + the index */
};

tt_status tt__evidence_open(tt__evidence **out, const tt__template_set *templates, const tt__gpu *gpu) {
    *out = calloc(1, sizeof **out);
    if (!*out)
        return tt__fail_memory(sizeof **out);
    (*out)->templates = templates;
    (*out)->gpu = gpu;
    return TT_OK;
}

static void forget_groups(tt__evidence *e) {
    for (size_t i = 0; i < e->n_groups; i++) {
        tt__rule_free(&e->groups[i].all);
        free(e->groups[i].problems);
        free(e->groups[i].configs);
        free(e->groups[i].variants);
        free(e->groups[i].losses);
        free(e->groups[i].weights);
        free(e->groups[i].sums);
    }
    free(e->groups);
    e->groups = NULL;
    e->n_groups = 0;
}

void tt__evidence_close(tt__evidence **out) {
    tt__evidence *e = *out;
    if (!e)
        return;
    forget_groups(e);
    for (size_t i = 0; i < e->n_problems; i++)
        free(e->problems[i].timings);
    free(e->problems);
    free(e->configs);
    free(e->slots);
    free(e);
    *out = NULL;
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

static bool is_config(const tt__rule_config *c, const char *kernel, const char *config) {
    return strcmp(c->kernel, kernel) == 0 && strcmp(c->config, config) == 0;
}

static size_t slot_of(const tt__evidence *e, const char *kernel, const char *config) {
    size_t h = 0xcbf29ce484222325;
    for (const char *c = kernel; *c; c++)
        h = (h ^ (unsigned char)*c) * 0x100000001b3;
    for (const char *c = config; *c; c++)
        h = (h ^ (unsigned char)*c) * 0x100000001b3;
    for (h ^= h >> 32;; h++) {
        const uint32_t at = e->slots[h & (e->n_slots - 1)];
        if (!at || is_config(&e->configs[at - 1], kernel, config))
            return h & (e->n_slots - 1);
    }
}

static tt_status more_slots(tt__evidence *e) {
    const size_t n = e->n_slots ? 2 * e->n_slots : 256;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return tt__fail_memory(n * sizeof *slots);
    free(e->slots);
    e->slots = slots;
    e->n_slots = n;
    for (uint32_t i = 0; i < e->n_configs; i++)
        slots[slot_of(e, e->configs[i].kernel, e->configs[i].config)] = i + 1;
    return TT_OK;
}

/* A configuration of another text of its kernel is the same. The last text stays. */
static tt_status config_of(tt__evidence *e, const tt__trial_row *row, uint32_t *out) {
    if (e->n_configs >= e->n_slots / 2)
        TT_TRY(more_slots(e));
    uint32_t *slot = &e->slots[slot_of(e, row->kernel, row->config)];
    if (!*slot) {
        TT_TRY(TT__GROW(e->configs, e->n_configs));
        tt__rule_config *c = &e->configs[e->n_configs++];
        *c = (tt__rule_config){0};
        tt__copy(c->kernel, sizeof c->kernel, row->kernel);
        tt__copy(c->config, sizeof c->config, row->config);
        *slot = (uint32_t)e->n_configs;
    }
    *out = *slot - 1;
    tt__copy(e->configs[*out].hash, sizeof e->configs[*out].hash, row->hash);
    return TT_OK;
}

typedef struct reading {
    tt__evidence *e;
    tt__store *store;
    int64_t gpu_id;
    const char *op;
    size_t n_ids;
    int64_t *ids; /* of the store's problems, which are the last ones of the evidence */
    known *now;
    const tt__operation *of;
} reading;

/* Where kernels have sizes as constants, a rule offers only those that have not: each of them serves all
 * problems without a compiler. */
static tt_status may_offer(const reading *r, const char *kernel, bool *yes) {
    const tt__template *t = tt__template_set_find(r->e->templates, kernel);
    *yes = t && tt__template_does(t, &r->now->problem);
    if (*yes && r->of->macros) {
        TT_TRY(tt__template_read(&t));
        *yes = t->sized_by_args;
    }
    return TT_OK;
}

static tt_status read_trial(void *user, const tt__trial_row *row) {
    reading *r = user;
    known *k = r->now;
    timing new = {.final = row->stage == TT__STAGE_FINAL};
    bool yes;
    if (row->trial->status != TT__TRIAL_OK || !(row->trial->time_us > 0))
        return TT_OK;
    TT_TRY(may_offer(r, row->kernel, &yes));
    if (!yes)
        return TT_OK;
    TT_TRY(config_of(r->e, row, &new.config));
    new.us = (float)(row->trial->time_us * (r->of->objective >= 0 ? row->trial->weight : 1));
    TT_TRY(TT__GROW(k->timings, k->n));
    k->timings[k->n++] = new;
    return TT_OK;
}

static int by_config(const void *x, const void *y) {
    const timing *a = x, *b = y;
    if (a->config != b->config)
        return a->config < b->config ? -1 : 1;
    return b->final - a->final;
}

/* Of a configuration's times, that of the finals counts. */
static void keep_finals(known *k) {
    size_t n = 0;
    bool finals = false;
    if (k->n)
        qsort(k->timings, k->n, sizeof *k->timings, by_config);
    for (size_t i = 0; i < k->n; i++)
        if (n == 0 || k->timings[n - 1].config != k->timings[i].config) {
            k->timings[n++] = k->timings[i];
            finals |= k->timings[i].final;
        }
    k->n = n;
    k->best_us = INFINITY;
    for (size_t i = 0; i < n; i++)
        if (k->timings[i].final == finals && (double)k->timings[i].us < k->best_us)
            k->best_us = (double)k->timings[i].us;
}

/* NAN: not measured. */
static double time_of(const tt__evidence *e, const known *k, const char *kernel, const char *config) {
    for (size_t i = 0; i < k->n; i++)
        if (is_config(&e->configs[k->timings[i].config], kernel, config))
            return (double)k->timings[i].us;
    return NAN;
}

static tt_status find_default(tt__evidence *e, const tt__operation *op, known *k) {
    tt__configuration c;
    TT_TRY(tt__ladder_default(&c, e->templates, op, e->gpu, &k->problem));
    k->default_us = c.t ? time_of(e, k, c.t->kernel, c.config) : NAN;
    return TT_OK;
}

static tt_status read_problem(void *user, int64_t id, const tt__problem *p) {
    reading *r = user;
    tt__evidence *e = r->e;
    if ((r->op && strcmp(r->op, p->op) != 0) || !tt__template_set_for(e->templates, p))
        return TT_OK;
    TT_TRY(TT__GROW(e->problems, e->n_problems));
    TT_TRY(TT__GROW(r->ids, r->n_ids));
    e->problems[e->n_problems++] = (known){.problem = *p};
    r->ids[r->n_ids++] = id;
    return TT_OK;
}

tt_status tt__evidence_add(tt__evidence *e, tt__store *store, int64_t gpu_id, const char *op, bool another) {
    reading r = {.e = e, .store = store, .gpu_id = gpu_id, .op = op};
    const size_t first = e->n_problems;
    size_t n = first;
    tt_status status;
    forget_groups(e);
    TT_GOTO(tt__store_problems(store, read_problem, &r));
    for (size_t i = 0; i < r.n_ids; i++) {
        r.now = &e->problems[first + i];
        r.now->another = another;
        const tt__template *t = tt__template_set_for(e->templates, &r.now->problem);
        TT_GOTO(tt__template_read(&t));
        r.of = t->operation;
        for (tt__stage stage = TT__STAGE_SCREEN; stage <= TT__STAGE_FINAL; stage++)
            TT_GOTO(tt__store_trials(store, gpu_id, NULL, r.ids[i], stage, read_trial, &r));
        keep_finals(r.now);
        TT_GOTO(find_default(e, r.of, r.now));
        const known done = *r.now;
        r.now->timings = NULL; /* it moves, or goes */
        if (done.n)
            e->problems[n++] = done;
        else
            free(done.timings);
    }
    e->n_problems = n;
out:
    free(r.ids);
    return status;
}

/* ---- Groups -------------------------------------------------------------------------------------------- */

/* The settings that a rule's problems share: types, and what is declared `same`. */
static void share(tt__problem *out, const tt__operation *op, const tt__problem *p) {
    *out = *p;
    out->n = 0;
    out->moved_bytes = 0;
    for (size_t i = 0; i < op->n_variables; i++) {
        const tt__setting *s = tt__problem_setting_at(p, i, op->variables[i].name);
        if (s && (op->variables[i].same || s->type != TT__TYPE_NONE))
            out->settings[out->n++] = *s;
    }
}

static tt_status group_of(tt__evidence *e, group **out, const tt__operation *op, const tt__problem *p) {
    tt__problem shared;
    share(&shared, op, p);
    for (size_t i = 0; i < e->n_groups; i++)
        if (tt__problem_same(&e->groups[i].shared, &shared)) {
            *out = &e->groups[i];
            return TT_OK;
        }
    TT_TRY(TT__GROW(e->groups, e->n_groups));
    *out = &e->groups[e->n_groups++];
    **out = (group){.shared = shared, .op = op};
    return TT_OK;
}

static tt_status start_rule(tt__tuning_rule **out, const group *g) {
    *out = calloc(1, sizeof **out);
    if (!*out)
        return tt__fail_memory(sizeof **out);
    (*out)->group = g->shared;
    for (size_t i = 0; i < g->op->n_variables; i++) {
        const tt__variable *v = &g->op->variables[i];
        if (v->n_types || v->same || !(v->weight > 0))
            continue;
        tt__rule_axis *axis = &(*out)->axes[(*out)->n_axes++];
        tt__copy(axis->name, sizeof axis->name, v->name);
        axis->weight = v->weight;
    }
    return TT_OK;
}

static int variants_of(char out[TT__RULE_VARIANTS_MAX][TT__CONFIG_MAX], const tt__evidence *e,
                       const tt__rule_config *c) {
    const tt__template *t = tt__template_set_find(e->templates, c->kernel);
    return t && tt__template_read(&t) == TT_OK ? tt__config_without(out, TT__RULE_VARIANTS_MAX, t, c->config)
                                               : 0;
}

static tt_status find_variants(tt__evidence *e, group *g, const uint32_t *place) {
    g->variants = calloc(g->n_configs ? g->n_configs : 1, sizeof *g->variants);
    if (!g->variants)
        return tt__fail_memory(g->n_configs * sizeof *g->variants);
    for (size_t i = 0; i < g->n_configs; i++) {
        const tt__rule_config *c = &e->configs[g->configs[i]];
        char texts[TT__RULE_VARIANTS_MAX][TT__CONFIG_MAX];
        const int n = variants_of(texts, e, c);
        size_t found = 0;
        for (int v = 0; v < n; v++) {
            const uint32_t slot = e->slots[slot_of(e, c->kernel, texts[v])];
            if (slot && place[slot - 1])
                g->variants[i][found++] = place[slot - 1];
        }
    }
    return TT_OK;
}

/* Fills in `configs`; *place has the place of each configuration among them. */
static tt_status find_configs(const tt__evidence *e, group *g, uint32_t **place) {
    *place = calloc(e->n_configs ? e->n_configs : 1, sizeof **place);
    if (!*place)
        return tt__fail_memory(e->n_configs * sizeof **place);
    for (size_t i = 0; i < g->n; i++) {
        const known *k = &e->problems[g->problems[i]];
        for (size_t j = 0; j < k->n; j++) {
            const uint32_t config = k->timings[j].config;
            if ((*place)[config])
                continue;
            TT_TRY(TT__GROW(g->configs, g->n_configs));
            g->configs[g->n_configs++] = config;
            (*place)[config] = (uint32_t)g->n_configs;
        }
    }
    return TT_OK;
}

/* `measured` is scratch of a row: what configurations lost by themselves. */
static void fill_losses(float *row, float *measured, const group *g, const known *k, const uint32_t *place) {
    const size_t width = g->n_configs + 1;
    for (size_t j = 0; j < width; j++)
        row[j] = NAN;
    for (size_t j = 0; j < k->n; j++)
        row[place[k->timings[j].config]] = (float)fmax(0, log((double)k->timings[j].us / k->best_us));
    if (!isnan(k->default_us))
        row[0] = (float)fmax(0, log(k->default_us / k->best_us));
    memcpy(measured, row, width * sizeof *row);
    for (size_t j = 1; j < width; j++)
        for (int v = 0; isnan(row[j]) && v < TT__RULE_VARIANTS_MAX && g->variants[j - 1][v]; v++)
            row[j] = measured[g->variants[j - 1][v]];
}

/* Adds what problem `of` says of each column to two rows of sums, or takes it out again. */
static void weigh(double *sums, double *weights, const group *g, double weight, size_t of) {
    const size_t width = g->n_configs + 1;
    const float *losses = g->losses + of * width;
    for (size_t j = 0; j < width; j++) {
        sums[j] += isnan(losses[j]) ? 0 : weight * (double)losses[j];
        weights[j] += isnan(losses[j]) ? 0 : weight;
    }
}

static tt_status measure_group(tt__evidence *e, group *g) {
    uint32_t *place = NULL;
    float *measured = NULL;
    tt_status status;
    TT_GOTO(start_rule(&g->all, g));
    TT_GOTO(find_configs(e, g, &place));
    TT_GOTO(find_variants(e, g, place));
    const size_t width = g->n_configs + 1;
    measured = malloc(width * sizeof *measured);
    g->losses = malloc(g->n * width * sizeof *g->losses);
    g->weights = malloc(g->n * g->n * sizeof *g->weights);
    g->sums = calloc(g->n * 2 * width, sizeof *g->sums);
    g->all->points = calloc(g->n, sizeof *g->all->points);
    if (!measured || !g->losses || !g->weights || !g->sums || !g->all->points)
        TT_GOTO(tt__fail_memory(g->n * width * sizeof *g->losses));
    for (size_t i = 0; i < g->n; i++) {
        fill_losses(g->losses + i * width, measured, g, &e->problems[g->problems[i]], place);
        tt__rule_point_of(&g->all->points[i], g->all, &e->problems[g->problems[i]].problem);
    }
    g->all->n_points = g->n;
    TT_GOTO(tt__rule_finish(g->all));
    for (size_t i = 0; i < g->n; i++) {
        float weights[TT__RULE_POINTS_MAX];
        tt__rule_weights(weights, g->all, &g->all->points[i]);
        for (size_t j = 0; j < g->n; j++) {
            g->weights[i * g->n + j] = weights[j];
            weigh(g->sums + 2 * i * width, g->sums + (2 * i + 1) * width, g, (double)weights[j], j);
        }
    }
out:
    free(measured);
    free(place);
    return status;
}

/* Another recording may have the same problem. */
static bool is_there(const tt__evidence *e, const group *g, const tt__problem *p) {
    for (size_t i = 0; i < g->n; i++)
        if (tt__problem_same(&e->problems[g->problems[i]].problem, p))
            return true;
    return false;
}

/* Groups of one problem come last, and are not counted. */
static tt_status make_groups(tt__evidence *e) {
    size_t n = 0;
    for (size_t i = 0; i < e->n_problems; i++) {
        const tt__template *t = tt__template_set_for(e->templates, &e->problems[i].problem);
        group *g;
        TT_TRY(tt__template_read(&t));
        TT_TRY(group_of(e, &g, t->operation, &e->problems[i].problem));
        if (g->n == TT__RULE_POINTS_MAX || is_there(e, g, &e->problems[i].problem))
            continue;
        TT_TRY(TT__GROW(g->problems, g->n));
        g->problems[g->n++] = (uint32_t)i;
    }
    for (size_t i = 0; i < e->n_groups; i++)
        if (e->groups[i].n > 1) {
            const group moved = e->groups[n];
            e->groups[n] = e->groups[i];
            e->groups[i] = moved;
            TT_TRY(measure_group(e, &e->groups[n++]));
        }
    for (size_t i = n; i < e->n_groups; i++)
        free(e->groups[i].problems);
    e->n_groups = n;
    return TT_OK;
}

tt_status tt__evidence_groups(size_t *n, tt__evidence *e) {
    if (!e->n_groups)
        TT_TRY(make_groups(e));
    *n = e->n_groups;
    return TT_OK;
}

const tt__problem *tt__evidence_group(const tt__evidence *e, size_t at) {
    return &e->groups[at].shared;
}

/* ---- Choosing ------------------------------------------------------------------------------------------ */

/* The configurations under choice. Rows are the problems that were not left out. */
typedef struct choosing {
    const group *g;
    size_t n_rows, width, fold, folds;
    size_t *rows;
    float *expected; /* losses; INFINITY: not measured for this problem */
    float *least;    /* of each row with what is chosen */
    double *sums;    /* scratch: 2 x width */
    int n;
    size_t chosen[TT__RULE_CONFIGS_MAX]; /* columns */
} choosing;

/* The losses that a rule of all configurations would expect, had it the problems that are not left out. */
static void expect(choosing *c) {
    const group *g = c->g;
    double *sums = c->sums;
    for (size_t i = 0; i < c->n_rows; i++) {
        const float *near = g->weights + c->rows[i] * g->n, *losses = g->losses + c->rows[i] * c->width;
        memcpy(sums, g->sums + 2 * c->rows[i] * c->width, 2 * c->width * sizeof *sums);
        for (size_t left = c->fold; c->folds && left < g->n; left += c->folds)
            weigh(sums, sums + c->width, g, -(double)near[left], left);
        for (size_t j = 0; j < c->width; j++)
            c->expected[i * c->width + j] =
                j == 0 || !isnan(losses[j])
                    ? (float)tt__rule_expected((int)j, sums[j], fmax(0, sums[c->width + j]), 1 /* its own */)
                    : INFINITY;
    }
}

/* The sum of the least losses with all that is chosen but number `without` (-1: none). */
static double sum_least(choosing *c, int without) {
    double sum = 0;
    for (size_t i = 0; i < c->n_rows; i++) {
        const float *row = c->expected + i * c->width;
        c->least[i] = row[0];
        for (int k = 0; k < c->n; k++)
            if (k != without && row[c->chosen[k]] < c->least[i])
                c->least[i] = row[c->chosen[k]];
        sum += (double)c->least[i];
    }
    return sum;
}

/* The column that lowers the sum most, and the sum with it. */
static double best_column(const choosing *c, size_t *out) {
    memset(c->sums, 0, c->width * sizeof *c->sums);
    for (size_t i = 0; i < c->n_rows; i++) {
        const float *row = c->expected + i * c->width, least = c->least[i];
        for (size_t j = 0; j < c->width; j++)
            c->sums[j] += (double)(row[j] < least ? row[j] : least);
    }
    *out = 1;
    for (size_t j = 2; j < c->width; j++)
        if (c->sums[j] < c->sums[*out])
            *out = j;
    return c->sums[*out];
}

static void choose(choosing *c, int most) {
    enum { ROUNDS = 8 };
    const double gain = 1e-6; /* rounding */
    size_t column = 0;
    double sum = sum_least(c, -1);
    while (c->n < most && best_column(c, &column) < sum - gain) {
        c->chosen[c->n++] = column;
        sum = sum_least(c, -1);
    }
    bool changed = true;
    for (int round = 0; round < ROUNDS && changed; round++) {
        changed = false;
        for (int k = 0; k < c->n; k++) {
            sum_least(c, k);
            if (best_column(c, &column) >= sum - gain)
                continue;
            c->chosen[k] = column;
            sum = sum_least(c, -1);
            changed = true;
        }
    }
}

static tt_status write_rule(tt__tuning_rule **out, const tt__evidence *e, const choosing *c) {
    const group *g = c->g;
    tt__tuning_rule *r = NULL;
    tt_status status;
    TT_GOTO(start_rule(&r, g));
    r->n_configs = c->n;
    for (int k = 0; k < c->n; k++) {
        tt__rule_config *config = &r->configs[k];
        const uint32_t *variants = g->variants[c->chosen[k] - 1];
        *config = e->configs[g->configs[c->chosen[k] - 1]];
        for (int v = 0; v < TT__RULE_VARIANTS_MAX && variants[v]; v++) {
            TT_GOTO(TT__GROW(config->variants, config->n_variants));
            tt__copy(config->variants[config->n_variants++], TT__CONFIG_MAX,
                     e->configs[g->configs[variants[v] - 1]].config);
        }
    }
    for (size_t i = 0; i < c->n_rows; i++) {
        const float *losses = g->losses + c->rows[i] * c->width;
        TT_GOTO(TT__GROW(r->points, r->n_points));
        tt__rule_point *p = &r->points[r->n_points++];
        *p = g->all->points[c->rows[i]];
        p->losses[TT__RULE_DEFAULT] = losses[0];
        for (int k = 0; k < c->n; k++)
            p->losses[1 + k] = losses[c->chosen[k]];
    }
    TT_GOTO(tt__rule_finish(r));
    *out = r;
    r = NULL;
out:
    tt__rule_free(&r);
    return status;
}

/* Leaves out the problems whose number is `fold` modulo `folds`; folds 0: none. */
static tt_status make(tt__tuning_rule **out, const tt__evidence *e, const group *g, int most, size_t fold,
                      size_t folds) {
    choosing c = {.g = g, .width = g->n_configs + 1, .fold = fold, .folds = folds};
    tt_status status = TT_OK;
    *out = NULL;
    c.expected = malloc(g->n * c.width * sizeof *c.expected);
    c.least = malloc(g->n * sizeof *c.least);
    c.sums = malloc(2 * c.width * sizeof *c.sums);
    c.rows = malloc(g->n * sizeof *c.rows);
    if (!c.sums || !c.rows || !c.expected || !c.least)
        TT_GOTO(tt__fail_memory(g->n * c.width * sizeof *c.expected));
    for (size_t i = 0; i < g->n; i++)
        if (!folds || i % folds != fold)
            c.rows[c.n_rows++] = i;
    expect(&c);
    choose(&c, most < TT__RULE_CONFIGS_MAX ? most : TT__RULE_CONFIGS_MAX);
    if (c.n)
        status = write_rule(out, e, &c);
out:
    free(c.sums);
    free(c.rows);
    free(c.expected);
    free(c.least);
    return status;
}

tt_status tt__evidence_rule(tt__tuning_rule **out, const tt__evidence *e, size_t at, int most) {
    return make(out, e, &e->groups[at], most, 0, 0);
}

/* ---- Judging ------------------------------------------------------------------------------------------- */

/* The time of the answer. What was not measured is taken as illegal. */
static double answer(const tt__evidence *e, const known *k, const tt__tuning_rule *r) {
    int order[TT__RULE_CHOICES_MAX];
    const int n = r ? tt__rule_order(order, r, &k->problem) : 0;
    for (int i = 0; i < n && order[i] != TT__RULE_DEFAULT; i++) {
        const tt__rule_config *c = &r->configs[order[i] - 1];
        double us = time_of(e, k, c->kernel, c->config);
        for (int v = 0; v < c->n_variants && isnan(us); v++)
            us = time_of(e, k, c->kernel, c->variants[v]);
        if (!isnan(us))
            return us;
    }
    return k->default_us;
}

static double mean_of(double a, size_t n_a, double b, size_t n_b) {
    if (!n_a || !n_b)
        return n_a ? a : b;
    return exp(((double)n_a * log(a) + (double)n_b * log(b)) / (double)(n_a + n_b));
}

void tt__rule_score_add(tt__rule_score *to, const tt__rule_score *more) {
    to->mean = mean_of(to->mean, to->n, more->mean, more->n);
    to->default_mean = mean_of(to->default_mean, to->n, more->default_mean, more->n);
    to->worst = fmax(to->worst, more->worst);
    to->default_worst = fmax(to->default_worst, more->default_worst);
    to->slowest = fmax(to->slowest, more->slowest);
    to->n += more->n;
    to->n_slower += more->n_slower;
}

static void count(tt__rule_score *s, const tt__evidence *e, const known *k, const tt__tuning_rule *r) {
    const double us = answer(e, k, r), over = us / k->default_us;
    if (isnan(over) || k->another)
        return;
    const tt__rule_score one = {.n = 1,
                                .mean = us / k->best_us,
                                .worst = us / k->best_us,
                                .default_mean = k->default_us / k->best_us,
                                .default_worst = k->default_us / k->best_us,
                                .n_slower = over > 1 + noise,
                                .slowest = over};
    tt__rule_score_add(s, &one);
    if (s->each)
        s->each(s->user, &(tt__rule_case){&k->problem, us, k->best_us, k->default_us});
}

tt_status tt__evidence_judge(tt__rule_score *out, const tt__evidence *e, size_t at, int most, size_t folds) {
    const group *g = &e->groups[at];
    const size_t n = folds && folds < g->n ? folds : g->n;
    for (size_t fold = 0; fold < n; fold++) {
        tt__tuning_rule *r;
        TT_TRY(make(&r, e, g, most, fold, n));
        for (size_t i = fold; i < g->n; i += n)
            count(out, e, &e->problems[g->problems[i]], r);
        tt__rule_free(&r);
    }
    return TT_OK;
}

bool tt__evidence_score(tt__rule_score *out, const tt__evidence *e, size_t at, const tt__tuning_rule *r) {
    const group *g = &e->groups[at];
    for (size_t i = 0; i < g->n; i++)
        if (tt__rule_is_for(r, &e->problems[g->problems[i]].problem))
            count(out, e, &e->problems[g->problems[i]], r);
    return out->n > 0;
}

/* ---- The same configurations for all problems ---------------------------------------------------------- */

enum { CONTENDERS_MAX = 32 };

typedef struct contenders {
    size_t n;
    tt__rule_config items[CONTENDERS_MAX];
    /* What is legal for the problem at hand: of each, it or its first variant; then the default. Without a
     * template: nothing. */
    tt__configuration legal[CONTENDERS_MAX + 1];
    bool tried[CONTENDERS_MAX + 1];
} contenders;

static void add_contender(contenders *c, const tt__rule_config *config) {
    for (size_t i = 0; i < c->n; i++)
        if (is_config(&c->items[i], config->kernel, config->config))
            return;
    if (c->n < CONTENDERS_MAX)
        c->items[c->n++] = *config; /* its variants are the rule's, and not used */
}

static const tt__rule_config *fastest_of(const tt__evidence *e, const known *k) {
    const timing *best = &k->timings[0];
    for (size_t i = 1; i < k->n; i++)
        if (k->timings[i].us < best->us)
            best = &k->timings[i];
    return &e->configs[best->config];
}

static tt_status find_contenders(contenders *c, const tt__evidence *e, size_t at) {
    const group *g = &e->groups[at];
    tt__tuning_rule *rule;
    c->n = 0;
    TT_TRY(tt__evidence_rule(&rule, e, at, TT__RULE_CONFIGS_MAX));
    for (int k = 0; rule && k < rule->n_configs; k++)
        add_contender(c, &rule->configs[k]);
    tt__rule_free(&rule);
    for (size_t i = 0; i < g->n; i++)
        add_contender(c, fastest_of(e, &e->problems[g->problems[i]]));
    return TT_OK;
}

static bool resolve(tt__configuration *out, const tt__session *s, const known *k, const char *kernel,
                    const char *config) {
    const tt__template *t = *kernel ? tt__template_set_find(s->templates, kernel) : NULL;
    tt__candidate c;
    if (!t || !tt__template_does(t, &k->problem) ||
        tt__space_resolve(&c, t, &s->gpu, &k->problem, config) != TT_OK)
        return false;
    *out = c.configuration;
    return true;
}

/* Where it is not legal, the first legal variant. */
static bool resolve_variant(tt__configuration *out, const tt__session *s, const tt__evidence *e,
                            const known *k, const tt__rule_config *c) {
    char texts[TT__RULE_VARIANTS_MAX][TT__CONFIG_MAX];
    if (resolve(out, s, k, c->kernel, c->config))
        return true;
    const int n = variants_of(texts, e, c);
    for (int v = 0; v < n; v++)
        if (resolve(out, s, k, c->kernel, texts[v]))
            return true;
    return false;
}

/* Also if it failed. */
static tt_status note_tried(void *user, const tt__trial_row *row) {
    contenders *c = user;
    for (size_t i = 0; i <= c->n; i++) {
        const tt__configuration *l = &c->legal[i];
        c->tried[i] |= l->t && strcmp(l->t->kernel, row->kernel) == 0 &&
                       strcmp(l->config, row->config) == 0 && strcmp(l->t->hash, row->hash) == 0;
    }
    return TT_OK;
}

/* A problem may have trials of an older text only. */
static tt_status find_tried(const tt__session *s, const tt__evidence *e, const group *g, const known *k,
                            int64_t problem_id, contenders *c) {
    memset(c->tried, 0, sizeof c->tried);
    for (size_t i = 0; i < c->n; i++)
        if (!resolve_variant(&c->legal[i], s, e, k, &c->items[i]))
            c->legal[i].t = NULL;
    TT_TRY(tt__ladder_default(&c->legal[c->n], s->templates, g->op, &s->gpu, &k->problem));
    return tt__store_trials(s->store, s->gpu_id, &s->env, problem_id, TT__STAGE_SCREEN, note_tried, c);
}

/* Two configurations may have the same variant. */
static bool is_listed(const tt__configuration *list, size_t last) {
    for (size_t i = 0; i < last; i++)
        if (list[i].t == list[last].t && strcmp(list[i].config, list[last].config) == 0)
            return true;
    return false;
}

/* The first trial of a problem may be too slow, so that it is one that is known. */
static tt_status try_contenders(tt__session *s, const tt__evidence *e, const group *g, const known *k,
                                contenders *c, size_t *n_tried) {
    enum { KNOWN = 1, TRIES_MAX = KNOWN + CONTENDERS_MAX + 1 };
    tt__configuration *tries = calloc(TRIES_MAX, sizeof *tries);
    tt__trial *trials = calloc(TRIES_MAX, sizeof *trials);
    const tt__rule_config *best = fastest_of(e, k);
    double default_weight = 1;
    size_t n = KNOWN;
    int64_t problem_id;
    tt_status status = tries && trials ? TT_OK : tt__fail_memory(TRIES_MAX * sizeof *tries);
    if (status == TT_OK)
        status = tt__store_problem(s->store, &k->problem, &problem_id);
    if (status == TT_OK)
        status = find_tried(s, e, g, k, problem_id, c);
    for (size_t i = 0; i <= c->n && status == TT_OK; i++) {
        tries[n] = c->legal[i];
        n += tries[n].t && !c->tried[i] && !is_listed(&tries[KNOWN], n - KNOWN);
    }
    if (status == TT_OK && n > KNOWN && resolve(&tries[0], s, k, best->kernel, best->config)) {
        if (c->legal[c->n].t)
            default_weight = c->legal[c->n].weight;
        status = tt__neighbour_try(s, &k->problem, tries, n, s->end_s, trials);
        for (size_t i = KNOWN; i < n && status == TT_OK; i++) {
            if (trials[i].status == TT__TRIAL_SKIPPED)
                continue;
            trials[i].weight = tries[i].weight / default_weight;
            status = tt__session_store(s, problem_id, &tries[i], TT__STAGE_SCREEN, &trials[i]);
            ++*n_tried;
        }
    }
    free(tries);
    free(trials);
    return status;
}

static bool is_asked(const tt__session *s, const tt__problem *p) {
    for (size_t i = 0; i < s->n_problems; i++)
        if (tt__problem_same(&s->call->problems[i], p))
            return true;
    return false;
}

static tt_status measure_once(tt__session *s, size_t *n_tried) {
    tt__evidence *e = NULL;
    contenders *c = malloc(sizeof *c);
    size_t groups = 0;
    tt_status status = c ? TT_OK : tt__fail_memory(sizeof *c);
    if (status == TT_OK)
        status = tt__evidence_open(&e, s->templates, &s->gpu);
    if (status != TT_OK)
        goto out;
    TT_GOTO(tt__evidence_add(e, s->store, s->gpu_id, s->call->problems[0].op, false));
    TT_GOTO(tt__evidence_groups(&groups, e));
    for (size_t at = 0; at < groups; at++) {
        TT_GOTO(find_contenders(c, e, at));
        const group *g = &e->groups[at];
        for (size_t i = 0; i < g->n && tt__now_s() < s->end_s; i++) {
            const known *k = &e->problems[g->problems[i]];
            if (is_asked(s, &k->problem))
                TT_GOTO(try_contenders(s, e, g, k, c, n_tried));
        }
    }
out:
    free(c);
    tt__evidence_close(&e);
    return status;
}

tt_status tt__rules_measure(tt__session *s) {
    enum { ROUNDS_MAX = 4 }; /* what was measured may be chosen, so that the others need it */
    size_t all = 0, n = 1;
    if (s->backend->ops->enter)
        TT_TRY(s->backend->ops->enter(s->backend, s->lane));
    for (int round = 0; round < ROUNDS_MAX && n > 0; round++) {
        n = 0;
        const tt_status status = measure_once(s, &n);
        all += n;
        if (status == TT_E_INTERRUPTED || status == TT_E_DB)
            return status;
        if (status == TT_OK)
            continue;
        /* the winners are found, and a rule knows what it does not know */
        tt__session_message(s, "not every configuration of the rule was measured: %s", tt_last_error());
        break;
    }
    if (all)
        tt__session_message(
            s, "%zu more trials, so that the rule knows each of its configurations for each problem", all);
    return TT_OK;
}

/* ---- Keeping ------------------------------------------------------------------------------------------- */

tt_status tt__rules_keep(size_t *n, tt__store *store, const char *gpu_name, const tt__template_set *templates,
                         const char *op, int most) {
    tt__evidence *e = NULL;
    tt__gpu gpu;
    int64_t gpu_id;
    size_t groups;
    tt_status status;
    *n = 0;
    TT_GOTO(tt__store_find_gpu(store, gpu_name, &gpu, &gpu_id));
    TT_GOTO(tt__evidence_open(&e, templates, &gpu));
    TT_GOTO(tt__evidence_add(e, store, gpu_id, op, false));
    TT_GOTO(tt__evidence_groups(&groups, e));
    for (size_t i = 0; i < groups && status == TT_OK; i++) {
        tt__tuning_rule *rule;
        TT_GOTO(tt__evidence_rule(&rule, e, i, most));
        status = rule ? tt__store_rule_put(store, gpu_id, rule, tt__unix_ms()) : TT_OK;
        *n += rule != NULL;
        tt__rule_free(&rule);
    }
out:
    tt__evidence_close(&e);
    return status;
}
