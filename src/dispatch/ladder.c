/*
 * The look-up ladder. Rungs from the top: a valid winner of this problem, a stale one, the choice of a rule,
 * the default of a kernel that gets the sizes as arguments, the winner of the nearest problem, the choice of
 * another GPU's rule, a winner from another architecture or element size, a template's default. A problem in
 * a graph asks rules of separate launches, too, unless its winner of separate launches is known. On each rung
 * all layers are asked, in memory (snapshot.h). The answer is the first configuration that is legal for the
 * problem, and that is not known to be wrong for it on this GPU.
 */
#include "dispatch/ladder.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/snapshot.h"
#include "dispatch/store_layers.h"
#include "gpu/driver.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"

/* Distances count doublings (snapshot.h). This is added for a stale winner. */
static const double stale = 0.5;
/* Beyond this, as from 1024 x 1024 to 120 x 120, a near winner is no better than one from elsewhere. */
static const double furthest = 6;

/* Configurations that are not legal for the problem, by a hash. Many winners share them. A collision costs a
 * lead, and is out of question. */
typedef struct refusals {
    size_t n;
    uint64_t items[TT__LEADS_MAX];
} refusals;

typedef struct query {
    tt_ctx *ctx;
    const tt__snapshot *known; /* NULL: not read yet */
    const tt__gpu *gpu;
    const tt__problem *problem;
    const tt__problem *asked; /* the same; but if rules of separate launches are asked, the one in a graph */
    const tt__operation *op;  /* the problem's operation */
    tt__facts facts;          /* of the problem */
    unsigned layers;          /* a bit for each whose store may have what is asked */
    const tt__template_set *templates;
    char driver[32]; /* of this machine; "": unknown, not compared */
    tt_choice *choice;
    tt__candidate *candidate; /* may be NULL */
    double *loss;             /* as tt__ladder_loss; may be NULL */
    refusals refused;
} query;

/* ---- Trying one ---------------------------------------------------------------------------------------- */

/* Reads the status of a check. An illegal configuration is skipped. Any other failure, such as no memory, is
 * an error. */
static tt_status is_legal(tt_status resolved, bool *yes) {
    *yes = resolved == TT_OK;
    bool no = resolved == TT_E_UNSUPPORTED || resolved == TT_E_INVALID || resolved == TT_E_TEMPLATE;
    return no ? TT_OK : resolved;
}

static uint64_t hash_of(const tt__template *t, const char *config) {
    uint64_t h = 0xcbf29ce484222325 ^ (uint64_t)(uintptr_t)t;
    for (; *config; config++)
        h = (h ^ (unsigned char)*config) * 0x100000001b3;
    return h;
}

static bool was_refused(const refusals *r, uint64_t hash) {
    for (size_t i = 0; i < r->n; i++)
        if (r->items[i] == hash)
            return true;
    return false;
}

static void note_refused(refusals *r, uint64_t hash) {
    if (r->n < TT__LEADS_MAX)
        r->items[r->n++] = hash;
}

/* What gave wrong results or crashed here must not run. A time limit says less: a budget may have shortened
 * it, and the reference counts. A compiler's failure is left to the plan. */
static bool is_wrong(const tt__trial *trial) {
    return trial->status == TT__TRIAL_WRONG_RESULT || trial->status == TT__TRIAL_CRASHED;
}

/* The last trial of a configuration for this very problem in a store. */
static tt_status last_trial(const query *q, tt__store *store, const tt__template *t, const char *config,
                            tt__trial *trial, bool *found) {
    int64_t gpu_id, problem_id = -1;
    *found = false;
    TT_TRY(tt__store_known_gpu(store, q->gpu, &gpu_id));
    if (gpu_id >= 0)
        TT_TRY(tt__store_known_problem(store, q->asked, &problem_id));
    return problem_id < 0 ? TT_OK
                          : tt__store_last_trial(store, gpu_id, problem_id, t->kernel, t->hash, config,
                                                 q->driver, trial, found);
}

/* Is it known to be wrong for this very problem on this GPU? *trial says why. What cannot be read in one
 * layer may be known in another. A problem that no store has asks no SQL. */
static tt_status was_wrong(const query *q, const tt__template *t, const char *config, tt__trial *trial,
                           bool *wrong) {
    bool found = false;
    tt_status damaged = TT_OK, status = TT_OK;
    for (tt__layer layer = 0; layer < TT__LAYER_SHIPPED && !found; layer++) {
        tt__store *store = tt__layer_store(q->ctx, layer);
        if (!store || !(q->layers >> layer & 1))
            continue;
        pthread_mutex_lock(&q->ctx->lock);
        status = last_trial(q, store, t, config, trial, &found);
        pthread_mutex_unlock(&q->ctx->lock);
        if (status != TT_OK && status != TT_E_DB)
            return status;
        if (status != TT_OK) {
            damaged = status;
            found = false;
        }
    }
    *wrong = found && is_wrong(trial);
    return *wrong ? TT_OK : damaged;
}

/* A user's file may declare an operation of its own, of this name. */
static tt_status try_config(const query *q, tt__candidate *out, const tt__template *t, const char *config,
                            bool *legal) {
    tt__facts own;
    if (t->operation == q->op)
        return tt__space_try(out, t, q->gpu, q->problem, &q->facts, config, legal);
    TT_TRY(tt__facts_of(&own, t->operation, q->gpu, q->problem));
    return tt__space_try(out, t, q->gpu, q->problem, &own, config, legal);
}

/* Is the winner's configuration legal for the problem, and not known to be wrong? If its template has
 * changed, the configuration is adapted first. A `proven` one ran here for this problem with this text, so
 * that its geometry is computed only for a plan. */
static tt_status legal(query *q, const tt__winner *w, bool proven, tt__candidate *out, bool *yes) {
    size_t choice[TT__PARAMS_MAX];
    char adapted[TT__CONFIG_MAX];
    const tt__template *t = tt__template_set_find(q->templates, w->kernel);
    const char *config = w->config;
    tt__trial trial;
    bool wrong = false;
    *yes = false;
    if (!t || !tt__template_does(t, q->problem))
        return TT_OK;
    TT_TRY(tt__template_read(&t));
    if (proven && !q->candidate) {
        tt__copy(out->configuration.config, sizeof out->configuration.config, w->config);
        return is_legal(tt__config_parse(choice, t, w->config), yes);
    }
    if (strcmp(t->hash, w->hash) != 0) {
        TT_TRY(is_legal(tt__config_adapt(adapted, t, w->config), yes));
        if (!*yes)
            return TT_OK;
        config = adapted;
    }
    *yes = false;
    const uint64_t hash = hash_of(t, config);
    if (!proven && was_refused(&q->refused, hash))
        return TT_OK;
    TT_TRY(try_config(q, out, t, config, yes));
    if (*yes && !proven) {
        tt_status known = was_wrong(q, t, out->configuration.config, &trial, &wrong);
        if (known != TT_OK && known != TT_E_DB) /* damaged trials do not cost the winner */
            return known;
        *yes = !wrong;
    }
    if (!*yes)
        note_refused(&q->refused, hash);
    return TT_OK;
}

/* Returns the winner's problem in words, which is in the choice if it was measured. */
static const char *answer(const query *q, tt_match match, tt__layer layer, const tt__winner *w,
                          const tt__candidate *found, char text[TT__PROBLEM_TEXT_MAX]) {
    tt_choice *c = q->choice;
    bool measured = match != TT_MATCH_DEFAULT;
    *c = (tt_choice){.size = c->size, .match = match};
    tt__problem_text(text, &w->problem);
    if (measured) {
        c->rows = tt__problem_number(&w->problem, "rows", 0);
        c->cols = tt__problem_number(&w->problem, "cols", 0);
        tt__copy(c->problem, sizeof c->problem, text);
        c->time_us = w->time_us;
        tt__bits_text(c->bits, w->bits);
        c->batch_invariant = w->batch_invariant;
        c->gbps = tt__problem_gbps(&w->problem, w->time_us);
        tt__copy(c->gpu, sizeof c->gpu, w->gpu.name);
    }
    tt__copy(c->kernel, sizeof c->kernel, w->kernel);
    tt__copy(c->config, sizeof c->config, found->configuration.config);
    tt__copy(c->layer, sizeof c->layer, tt__layer_names[layer]);
    if (q->candidate)
        *q->candidate = *found;
    return text;
}

static void explain(const query *q, const tt__winner *w, const char *problem, bool here) {
    char text[TT__PROBLEM_TEXT_MAX + 192];
    const char *regime = tt__problem_same_regime(&w->problem, q->problem) ? ""
                         : w->problem.warm || w->problem.in_graph         ? tt__problem_regime(&w->problem)
                         : q->problem->warm                               ? ", cold"
                                                                          : ", in separate launches";
    snprintf(text, sizeof text, "%s %s%s%s%s",
             q->choice->match == TT_MATCH_DEFAULT ? "nothing was tuned for this; as for" : "measured for",
             problem, regime, here ? "" : " on ", here ? "" : w->gpu.name);
    tt__copy_short(q->choice->why, sizeof q->choice->why, text);
}

/* ---- The very problem ---------------------------------------------------------------------------------- */

/* From the store's file, as long as it was not read. */
static tt_status winner_in_file(const query *q, tt__store *store, tt__winner *w, bool *found) {
    int64_t gpu_id, problem_id = -1;
    *found = false;
    pthread_mutex_lock(&q->ctx->lock);
    tt_status status = tt__store_known_gpu(store, q->gpu, &gpu_id);
    if (status == TT_OK && gpu_id >= 0)
        status = tt__store_known_problem(store, q->problem, &problem_id);
    if (status == TT_OK && problem_id >= 0)
        status = tt__store_winner_get(store, gpu_id, problem_id, w, found);
    pthread_mutex_unlock(&q->ctx->lock);
    return status;
}

static tt_status winner_in(const query *q, tt__layer layer, tt__winner *w, bool *found) {
    tt__store *store = tt__layer_store(q->ctx, layer);
    *found = false;
    if (q->known) {
        *found = q->layers >> layer & 1 && tt__snapshot_winner(q->known, layer, q->gpu, q->problem, w);
        return TT_OK;
    }
    if (layer == TT__LAYER_SHIPPED) {
        *found = tt__shipped_winner(q->gpu, q->problem, w);
        return TT_OK;
    }
    return store ? winner_in_file(q, store, w, found) : TT_OK;
}

/* A valid winner in any layer beats a stale one in an earlier layer. */
static tt_status try_exact(query *q, bool *done) {
    char why[160], text[TT__PROBLEM_TEXT_MAX];
    bool found, has_stale = false;
    for (tt__layer layer = 0; layer < (q->ctx->locked ? TT__LAYER_SYSTEM : TT__LAYER_COUNT); layer++) {
        tt__candidate candidate;
        tt__winner w;
        TT_TRY(winner_in(q, layer, &w, &found));
        if (!found)
            continue;
        tt__winner_staleness(why, sizeof why, &w, q->templates, q->driver, NULL);
        bool proven = !*why && layer != TT__LAYER_SHIPPED && strcmp(w.source, "imported") != 0;
        if (*why && has_stale)
            continue;
        TT_TRY(legal(q, &w, proven, &candidate, &found));
        if (!found)
            continue;
        answer(q, *why ? TT_MATCH_STALE : TT_MATCH_EXACT, layer, &w, &candidate, text);
        tt__copy(q->choice->why, sizeof q->choice->why,
                 !*why && q->problem->unverified ? "nothing verifies it" : why);
        has_stale = true;
        *done = true;
        if (!*why)
            break;
    }
    return TT_OK;
}

/* ---- What is near -------------------------------------------------------------------------------------- */

static bool is_same(const query *q, tt__problem p) {
    p.warm = q->problem->warm;
    p.in_graph = q->problem->in_graph;
    return tt__problem_same(&p, q->problem);
}

/* May the kernel of a user serve other sizes than those it was measured for? Only if it passed with another
 * value of each number that differs from `of`: many kernels are right for round sizes only. */
static tt_status is_covered(const query *q, const tt__problem *of, const tt__candidate *c, bool *yes) {
    tt_status damaged = TT_OK;
    *yes = !tt__problem_is_users(q->problem) || q->problem->unverified;
    for (tt__layer layer = 0; layer < TT__LAYER_SHIPPED && !*yes; layer++) {
        tt__store *store = tt__layer_store(q->ctx, layer);
        if (!store)
            continue;
        pthread_mutex_lock(&q->ctx->lock);
        tt_status status = tt__store_covers(store, c->configuration.t->kernel, c->configuration.t->hash,
                                            c->configuration.config, of, q->problem, yes);
        pthread_mutex_unlock(&q->ctx->lock);
        if (status != TT_OK && status != TT_E_DB)
            return status;
        if (status != TT_OK) {
            damaged = status;
            *yes = false;
        }
    }
    return *yes ? TT_OK : damaged;
}

/* The nearest legal winner. Stale winners count as further away. `anything`: however far, and of another
 * architecture, regime or element size. `same`: only of these sizes. */
static tt_status try_near(query *q, bool anything, bool same, bool *done) {
    const double most = anything ? INFINITY : furthest;
    tt__lead leads[TT__LEADS_MAX];
    const size_t n = tt__snapshot_near(leads, q->known, q->op, q->gpu, q->problem, anything, most);
    double best = INFINITY;
    for (size_t i = 0; i < n && leads[i].distance < best; i++) {
        tt__winner w;
        tt__candidate candidate;
        bool found;
        char why[160], text[TT__PROBLEM_TEXT_MAX];
        tt__snapshot_fetch(q->known, &leads[i], &w);
        if (same && !is_same(q, w.problem))
            continue;
        tt__winner_staleness(why, sizeof why, &w, q->templates, leads[i].here ? q->driver : NULL, NULL);
        const double score = leads[i].distance + (*why ? stale : 0);
        if (score >= best || score > most)
            continue;
        TT_TRY(legal(q, &w, false, &candidate, &found));
        if (found)
            TT_TRY(is_covered(q, &w.problem, &candidate, &found));
        if (!found)
            continue;
        const tt_match match = anything        ? TT_MATCH_DEFAULT
                               : leads[i].here ? TT_MATCH_NEAREST
                                               : TT_MATCH_OTHER_GPU;
        explain(q, &w, answer(q, match, leads[i].layer, &w, &candidate, text), leads[i].here);
        best = score;
    }
    *done = best < INFINITY;
    return TT_OK;
}

/* Where kernels have sizes as constants, a winner of the same sizes is far better than one of others. */
static tt_status try_same_sizes(query *q, bool *done) {
    return q->op->macros && q->layers ? try_near(q, false, true, done) : TT_OK;
}

static tt_status try_nearest(query *q, bool *done) {
    return try_near(q, false, false, done);
}

static tt_status try_anything(query *q, bool *done) {
    return try_near(q, true, false, done);
}

/* ---- What a rule keeps --------------------------------------------------------------------------------- */

/* A bit for each variable whose value all problems of the rule share. */
static uint64_t shared_variables(const tt__tuning_rule *r, const tt__operation *op) {
    uint64_t given = 0;
    for (size_t i = 0; i < op->n_variables; i++)
        given |= (uint64_t)(tt__problem_setting(&r->group, op->variables[i].name) != NULL) << i;
    return given;
}

/* Where a rule keeps what it knows of a configuration, then of its variants. */
#define RULE_PLACE(config) ((config) * (1 + TT__RULE_VARIANTS_MAX))

/* A template's configuration (of this hash; NULL: its default), prepared when the rule is first asked for it.
 * NULL: it cannot be, and is tried as others. A plan needs its launch, and a user's kernel may be gone before
 * the rule. */
static const tt__prepared *prepare(const query *q, const tt__tuning_rule *r, int place, const char *kernel,
                                   const char *hash, const char *config) {
    _Atomic(void *) *kept = (_Atomic(void *) *)&r->kept[place]; /* the only member that changes */
    tt__prepared *new;
    if (q->candidate || q->templates != &q->ctx->templates || tt__problem_is_users(q->problem))
        return NULL;
    void *known = atomic_load_explicit(kept, memory_order_acquire);
    if (known)
        return known;
    const tt__template *t = tt__template_set_find(q->templates, kernel);
    if (!t || !tt__template_does(t, q->problem) || tt__template_read(&t) != TT_OK || t->operation != q->op ||
        (hash && strcmp(t->hash, hash) != 0) ||
        tt__space_prepare(&new, t, q->gpu, q->problem, &q->facts, shared_variables(r, q->op),
                          config ? config : t->default_config) != TT_OK)
        return NULL;
    if (atomic_compare_exchange_strong(kept, &known, new))
        return new;
    free(new);
    return known;
}

/* False: it was prepared for another GPU. */
static bool try_prepared(const query *q, const tt__prepared *ready, tt__candidate *out, tt_status *status,
                         bool *yes) {
    if (!tt__prepared_try(yes, status, ready, q->gpu, q->problem, &q->facts))
        return false;
    if (*yes)
        tt__copy(out->configuration.config, sizeof out->configuration.config,
                 tt__prepared_config(&out->configuration.t, ready));
    return true;
}

/* ---- The defaults -------------------------------------------------------------------------------------- */

/* Says how to tune this problem. */
static tt_status advise(const query *q) {
    const tt__problem *p = q->problem;
    tt__str text = {.text = malloc(sizeof q->choice->why)}; /* most texts fit */
    text.cap = text.text ? sizeof q->choice->why : 0;
    tt__str_add(&text, "nothing was tuned for this: run \"tune ");
    tt__str_add(&text, *p->text ? "--kernel " : "--op ");
    tt__str_add_word(&text, *p->text ? q->templates->items[0]->path : p->op);
    const size_t without = text.len;
    tt__str_add(&text, " --problem ");
    const size_t settings = text.len;
    tt__facts_add_unusual(&text, &q->facts, p);
    text.len = text.len > settings ? text.len : without;
    tt__str_add(&text, p->unverified ? " --unverified\"" : "\"");
    const tt_status status = tt__str_check(&text);
    if (status == TT_OK)
        tt__copy_short(q->choice->why, sizeof q->choice->why, text.text);
    tt__str_free(&text);
    return status;
}

static tt_status try_default(const query *q, const tt__template *t, tt__candidate *best) {
    bool yes = false;
    if (!tt__template_does(t, q->problem))
        return TT_OK;
    TT_TRY(tt__template_read(&t));
    TT_TRY(try_config(q, best, t, t->default_config, &yes));
    if (!yes)
        best->configuration.t = NULL;
    return TT_OK;
}

static tt_status answer_default(const query *q, const tt__candidate *best) {
    *q->choice = (tt_choice){.size = q->choice->size, .match = TT_MATCH_DEFAULT};
    tt__copy(q->choice->kernel, sizeof q->choice->kernel, best->configuration.t->kernel);
    tt__copy(q->choice->config, sizeof q->choice->config, best->configuration.config);
    if (q->candidate)
        *q->candidate = *best;
    return advise(q);
}

/* Has the problem of a graph a winner of separate launches here? That is better than a kernel that nobody
 * measured, and than a rule of another regime or GPU, and try_anything finds it. */
static bool is_known_outside(const query *q) {
    tt__problem outside = *q->problem;
    tt__winner w;
    bool known = false;
    outside.in_graph = false;
    for (tt__layer layer = 0; layer < TT__LAYER_COUNT && q->problem->in_graph && !known; layer++)
        known = tt__snapshot_winner(q->known, layer, q->gpu, &outside, &w);
    return known;
}

/* A kernel that gets the sizes as arguments is not compiled for each problem. So it is a better answer than
 * the kernel of another problem, which has sizes as constants. The operation prefers such kernels to others.
 */
static tt_status try_sized_by_args(query *q, bool *done) {
    char name[TT__NAME_MAX];
    const char *at = NULL;
    const bool better = q->op->macros && is_known_outside(q);
    int legal = 0;
    /* A launch needs the tile, too. */
    const bool is_known =
        q->op->macros && !better && !q->candidate && tt__permute_template(&legal, &q->facts);
    for (int i = 0; q->op->macros && !better && !*done && tt__operation_prefers(name, q->op, &at); i++) {
        const tt__template *t = tt__template_set_find(q->templates, name);
        tt__candidate best; /* large, so not set to zeros */
        tt__trial trial;
        bool wrong;
        best.configuration.t = NULL;
        if (!t)
            continue;
        TT_TRY(tt__template_read(&t));
        if (!t->sized_by_args)
            break;
        if (is_known && i == legal) {
            best.configuration.t = t;
            tt__copy(best.configuration.config, sizeof best.configuration.config, t->default_config);
        } else if (!is_known) {
            TT_TRY(try_default(q, t, &best));
        }
        if (!best.configuration.t)
            continue;
        TT_TRY(was_wrong(q, t, best.configuration.config, &trial, &wrong));
        *done = !wrong;
        if (*done)
            TT_TRY(answer_default(q, &best));
    }
    return TT_OK;
}

/* The first legal default: of the templates that the operation prefers, in that order, then of others. A rule
 * (or NULL) keeps what it knows of the former. */
static tt_status find_default(const query *q, const tt__tuning_rule *r, tt__candidate *best) {
    const tt__template_set *set = q->templates;
    char name[TT__NAME_MAX];
    const char *at = NULL;
    for (int i = 0; !best->configuration.t && tt__operation_prefers(name, q->op, &at); i++) {
        const tt__prepared *ready =
            r && i < TT__RULE_DEFAULTS_MAX
                ? prepare(q, r, RULE_PLACE(TT__RULE_CONFIGS_MAX) + i, name, NULL, NULL)
                : NULL;
        tt_status status;
        bool yes;
        if (ready && try_prepared(q, ready, best, &status, &yes)) {
            TT_TRY(status);
            continue;
        }
        const tt__template *t = tt__template_set_find(set, name);
        if (t)
            TT_TRY(try_default(q, t, best));
    }
    for (size_t i = 0; i < set->n && !best->configuration.t; i++)
        TT_TRY(try_default(q, set->items[i], best));
    return TT_OK;
}

tt_status tt__ladder_default(tt__configuration *out, const tt__template_set *templates,
                             const tt__operation *op, const tt__gpu *gpu, const tt__problem *p) {
    query q = {.gpu = gpu, .problem = p, .asked = p, .op = op, .templates = templates};
    tt__candidate best = {0};
    out->t = NULL;
    TT_TRY(tt__facts_of(&q.facts, op, gpu, p));
    TT_TRY(find_default(&q, NULL, &best));
    *out = best.configuration;
    return TT_OK;
}

/* If no default is legal, because they all need more alignment, the first legal configuration. */
static tt_status find_any(const query *q, tt__candidate *best) {
    const tt__template_set *set = q->templates;
    tt__space space = {0};
    tt_status status = TT_OK;
    for (size_t i = 0; i < set->n && space.n == 0 && status == TT_OK; i++) {
        const tt__template *t = set->items[i];
        if (tt__template_does(t, q->problem) && (status = tt__template_read(&t)) == TT_OK)
            status = tt__space_add(&space, t, q->gpu, q->problem);
    }
    if (space.n > 0)
        status = tt__space_at(best, space.items[0].t, q->gpu, q->problem, space.items[0].choice);
    tt__space_free(&space);
    return status;
}

/* The last rung. */
static tt_status fall_back(const query *q) {
    tt__candidate best = {0};
    char problem[TT__PROBLEM_TEXT_MAX];
    TT_TRY(find_default(q, NULL, &best));
    if (!best.configuration.t)
        TT_TRY(find_any(q, &best));
    if (!best.configuration.t)
        return tt__fail(TT_E_UNSUPPORTED,
                        "no configuration of %s is legal for %s on %s: `tune check` says what removes them",
                        q->problem->op, tt__problem_text(problem, q->problem), q->gpu->name);
    return answer_default(q, &best);
}

static tt_status check_default(const query *q) {
    const tt_choice *c = q->choice;
    tt__trial trial;
    char text[TT__PROBLEM_TEXT_MAX];
    bool wrong;
    TT_TRY(was_wrong(q, tt__template_set_find(q->templates, c->kernel), c->config, &trial, &wrong));
    if (!wrong)
        return TT_OK;
    return tt__fail(
        TT_E_NO_WINNER,
        "the %s of %s has no winner that may run on %s, and its default failed when it was tuned: %s %s: %s: "
        "%s: %s; --force (tt_tune_opts.force) measures it again",
        q->problem->op, tt__problem_text(text, q->problem), q->gpu->name, c->kernel, c->config,
        tt__trial_status_name(trial.status), trial.reason, tt__trial_advice(trial.status));
}

/* ---- A rule -------------------------------------------------------------------------------------------- */

/* A configuration of the rule's choice. */
static tt_status try_variant(query *q, const tt__tuning_rule *r, int choice, const char *config, int place,
                             tt__candidate *out, bool *yes) {
    tt__winner w; /* of which only a configuration is known */
    const tt__rule_config *c = &r->configs[choice - 1];
    const tt__prepared *ready = prepare(q, r, place, c->kernel, c->hash, config);
    tt__trial trial;
    tt_status status;
    bool wrong = false;
    if (ready && try_prepared(q, ready, out, &status, yes)) {
        TT_TRY(status);
        status = *yes ? was_wrong(q, out->configuration.t, out->configuration.config, &trial, &wrong) : TT_OK;
        *yes = *yes && !wrong;
        return status == TT_E_DB ? TT_OK : status; /* as in `legal` */
    }
    tt__copy(w.kernel, sizeof w.kernel, c->kernel);
    tt__copy(w.hash, sizeof w.hash, c->hash);
    tt__copy(w.config, sizeof w.config, config);
    TT_TRY(legal(q, &w, false, out, yes));
    return *yes ? is_covered(q, NULL, out, yes) : TT_OK;
}

/* The rule's choice, which may be the default. */
static tt_status try_choice(query *q, const tt__tuning_rule *r, int choice, tt__candidate *out, bool *yes) {
    tt__trial trial;
    bool wrong = false;
    *yes = false;
    if (choice == TT__RULE_DEFAULT) {
        out->configuration.t = NULL;
        TT_TRY(find_default(q, r, out));
        if (!out->configuration.t)
            return TT_OK;
        TT_TRY(was_wrong(q, out->configuration.t, out->configuration.config, &trial, &wrong));
        *yes = !wrong;
        return TT_OK;
    }
    const tt__rule_config *c = &r->configs[choice - 1];
    const int place = RULE_PLACE(choice - 1);
    TT_TRY(try_variant(q, r, choice, c->config, place, out, yes));
    for (int v = 0; v < c->n_variants && !*yes; v++)
        TT_TRY(try_variant(q, r, choice, c->variants[v], place + 1 + v, out, yes));
    return TT_OK;
}

/* Has its code a macro that is a size of the problem? */
static bool is_of_one_size(const tt__template *t) {
    bool yes = false;
    for (size_t i = 0; i < t->n_derived && !yes; i++) {
        const char *name = t->derived[i].value.text;
        yes = t->derived[i].macro && strcmp(name, "elem_size") != 0 &&
              tt__operation_variable(t->operation, name, strlen(name));
    }
    return yes;
}

/* Does a kernel that gets the sizes as arguments have at least 0.7 of the speed? On an H200 it has so for
 * large elements; for small ones it has down to 0.27, and only short launches may have that. */
static bool is_fast_enough(const tt__problem *p) {
    enum { SHORT_BYTES = 8 << 20, LARGE_ELEMENT = 4 };
    return tt__problem_elem_size(p) >= LARGE_ELEMENT || p->moved_bytes <= SHORT_BYTES;
}

/* Does a plan prefer a kernel of `permute` to waiting for a compiler? `permutation` is what that solves. */
static bool is_replaced(tt__problem *permutation, const tt__template *t, const tt__problem *p) {
    return is_of_one_size(t) && is_fast_enough(p) && tt__problem_as_permute(permutation, p);
}

/* What a plan runs in place of the choice is not what the rule knows the loss of. Out of line, for its frame.
 */
static __attribute__((noinline)) void note_loss(const query *q, const tt__tuning_rule *r,
                                                const tt__template *t, int chosen) {
    tt__problem permutation;
    if (!is_replaced(&permutation, t, q->problem))
        *q->loss = tt__rule_loss(r, q->problem, chosen);
}

static tt_status ask_rule(query *q, bool another, bool *done) {
    const char *of;
    tt__layer layer;
    const tt__tuning_rule *r = tt__snapshot_rule(&layer, &of, q->known, q->gpu, another, q->problem);
    int order[TT__RULE_CHOICES_MAX], chosen = TT__RULE_DEFAULT;
    tt_choice *c = q->choice;
    tt__candidate found; /* large, so not set to zeros */
    if (!r)
        return TT_OK;
    const int n = tt__rule_order(order, r, q->problem);
    for (int i = 0; i < n && !*done; i++)
        TT_TRY(try_choice(q, r, chosen = order[i], &found, done));
    if (!*done)
        return TT_OK;
    *c = (tt_choice){.size = c->size, .match = another ? TT_MATCH_OTHER_GPU : TT_MATCH_RULE};
    tt__copy(c->kernel, sizeof c->kernel, found.configuration.t->kernel);
    tt__copy(c->config, sizeof c->config, found.configuration.config);
    tt__copy(c->gpu, sizeof c->gpu, of);
    tt__copy(c->layer, sizeof c->layer, tt__layer_names[layer]);
    char *why = stpcpy(c->why, "not measured; chosen by what ");
    why += tt__integer_text(why, (int64_t)r->n_points);
    stpcpy(stpcpy(why, " other problems took"), q->problem == q->asked ? "" : " in separate launches");
    if (q->candidate)
        *q->candidate = found;
    if (q->loss && !another)
        note_loss(q, r, found.configuration.t, chosen);
    return TT_OK;
}

static tt_status try_rule(query *q, bool *done) {
    return ask_rule(q, false, done);
}

/* Rules of separate launches, for a problem in a graph. */
static tt_status ask_rule_outside(query *q, bool another, bool *done) {
    tt__problem outside = *q->problem;
    query again = *q;
    outside.in_graph = false;
    again.problem = &outside;
    again.loss = NULL;
    return ask_rule(&again, another, done);
}

/* First all of this GPU, then of another one; of graphs before separate launches. */
static tt_status try_rules_of_others(query *q, bool *done) {
    if (is_known_outside(q))
        return TT_OK;
    if (q->problem->in_graph)
        TT_TRY(ask_rule_outside(q, false, done));
    if (!*done)
        TT_TRY(ask_rule(q, true, done));
    return *done || !q->problem->in_graph ? TT_OK : ask_rule_outside(q, true, done);
}

/* The rungs below the very problem, from the top. */
static tt_status (*const rungs[])(query *q, bool *done) = {
    try_same_sizes, try_rule, try_sized_by_args, try_nearest, try_rules_of_others, try_anything};

static tt_status no_winner(const query *q) {
    char text[TT__PROBLEM_TEXT_MAX];
    return tt__fail(TT_E_NO_WINNER,
                    "%s has no winner for the %s of %s%s on %s: tune it, then write the file again "
                    "with \"tune lock\"",
                    tt__store_path(q->ctx->store), q->problem->op, tt__problem_text(text, q->problem),
                    tt__problem_regime(q->problem), q->gpu->name);
}

static tt_status climb(query *q, bool *done) {
    TT_TRY(try_exact(q, done));
    if (*done)
        return TT_OK;
    if (q->ctx->locked && !q->ctx->lock_default)
        return no_winner(q);
    if (!q->known) {
        TT_TRY(tt__knowledge_read(&q->known, q->ctx));
        q->layers = tt__snapshot_layers(q->known, q->problem);
    }
    for (size_t i = 0; i < TT__COUNT(rungs) && !*done; i++)
        if (!q->ctx->locked || rungs[i] == try_rule)
            TT_TRY(rungs[i](q, done));
    if (*done)
        return TT_OK;
    TT_TRY(fall_back(q));
    return check_default(q);
}

/* Fills in what follows from the problem, and lets `ask` answer. */
static tt_status answer_with(tt_status (*ask)(query *q, bool *done), bool *done, query *q) {
    const bool is_usual = q->templates == &q->ctx->templates;
    const tt__template *t = is_usual ? atomic_load_explicit(&q->ctx->asked, memory_order_acquire) : NULL;
    if (!t || !tt__template_does(t, q->problem)) {
        if (!(t = tt__template_set_for(q->templates, q->problem)))
            return tt__fail(TT_E_UNSUPPORTED, "there is no template for the operation %s", q->problem->op);
        TT_TRY(tt__template_read(&t));
        if (is_usual)
            atomic_store_explicit(&q->ctx->asked, t, memory_order_release);
    }
    q->asked = q->problem;
    q->op = t->operation;
    q->known = tt__knowledge_now(q->ctx);
    q->layers = q->known ? tt__snapshot_layers(q->known, q->problem) : UINT_MAX;
    if (!q->ctx->gpu_name[0])
        tt__driver_version(q->driver, sizeof q->driver);
    tt_status status = tt__facts_of(&q->facts, q->op, q->gpu, q->problem);
    if (status == TT_OK)
        status = ask(q, done);
    tt__knowledge_release(q->ctx, q->known);
    return status;
}

static tt_status look_up(tt_ctx *ctx, const tt__template_set *templates, const tt__gpu *gpu,
                         const tt__problem *p, tt_choice *choice, tt__candidate *candidate, double *loss) {
    bool done = false;
    query q = {.ctx = ctx,
               .gpu = gpu,
               .problem = p,
               .templates = templates,
               .choice = choice,
               .candidate = candidate,
               .loss = loss};
    const tt_status status = answer_with(climb, &done, &q);
    choice->unverified = p->unverified; /* an unverified kernel shares no winners with others */
    return status;
}

tt_status tt__ladder(tt_ctx *ctx, const tt__template_set *templates, const tt__gpu *gpu, const tt__problem *p,
                     tt_choice *choice, tt__candidate *candidate) {
    return look_up(ctx, templates, gpu, p, choice, candidate, NULL);
}

tt_status tt__ladder_loss(tt_choice *choice, double *loss, tt_ctx *ctx, const tt__template_set *templates,
                          const tt__gpu *gpu, const tt__problem *p) {
    *choice = (tt_choice){.size = sizeof *choice};
    *loss = INFINITY;
    return look_up(ctx, templates, gpu, p, choice, NULL, loss);
}

tt_status tt__ladder_any_size(bool *found, tt__problem *permutation, tt_choice *choice,
                              tt__candidate *candidate, tt_ctx *ctx, const tt__template_set *templates,
                              const tt__gpu *gpu, const tt__problem *p) {
    query q = {.ctx = ctx,
               .gpu = gpu,
               .problem = permutation,
               .templates = templates,
               .choice = choice,
               .candidate = candidate};
    const tt__operation *asked = candidate->configuration.t->operation;
    *found = false;
    if (!is_replaced(permutation, candidate->configuration.t, p) ||
        !tt__template_set_for(templates, permutation))
        return TT_OK;
    permutation->in_graph = false; /* the kernel is the same, and no winner is asked for */
    TT_TRY(answer_with(try_sized_by_args, found, &q));
    if (!*found)
        return TT_OK;
    q.problem = p; /* it is what can be tuned */
    TT_TRY(tt__facts_of(&q.facts, asked, gpu, p));
    return advise(&q);
}

tt_status tt__best(tt_choice *out, tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p) {
    tt__gpu gpu;
    uint64_t number;
    *out = (tt_choice){.size = sizeof *out};
    TT_TRY(tt__knowledge_gpu(ctx, &gpu));
    if (tt__knowledge_noted(ctx, &gpu, p, out, &number))
        return TT_OK;
    TT_TRY(tt__ladder(ctx, templates, &gpu, p, out, NULL));
    tt__knowledge_note(ctx, &gpu, p, out, number);
    return TT_OK;
}
