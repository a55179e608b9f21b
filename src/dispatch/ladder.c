/*
 * The look-up ladder. Rungs from the top: a valid winner of this problem, a stale one, the winner of the
 * nearest problem, a winner from another architecture or element size, a template's default. On each rung all
 * layers are asked. The answer is the first configuration that is legal for the problem, and that is not
 * known to be wrong for it on this GPU.
 */
#include "dispatch/ladder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/answers.h"
#include "dispatch/layers.h"
#include "dispatch/near.h"
#include "dispatch/shipped.h"
#include "dispatch/validity.h"
#include "gpu/driver.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/problem_text.h"

/* Distances count doublings (near.h). This is added for a stale winner. */
static const double stale = 0.5;
/* Beyond this, as from 1024 x 1024 to 120 x 120, a near winner is no better than one from elsewhere. */
static const double furthest = 6;

enum { TRIES_MAX = 64 }; /* winners to try on a rung, nearest first */

/* Configurations that are not legal for the problem. Many winners share them, and each wider circle meets
 * them again. When the list is full, they are checked again. */
typedef struct refusals {
    size_t n;
    struct {
        const tt__template *t;
        char config[TT__CONFIG_MAX];
    } items[TRIES_MAX];
} refusals;

typedef struct query {
    tt__asked asked;
    const tt__template_set *templates;
    char driver[32]; /* of this machine; "": unknown, not compared */
    tt_choice *choice;
    tt__candidate *candidate; /* may be NULL */
    refusals *refused;
} query;

/* ---- Trying one ---------------------------------------------------------------------------------------- */

/* Reads the status of a check. An illegal configuration is skipped. Any other failure, such as no memory, is
 * an error. */
static tt_status is_legal(tt_status resolved, bool *yes) {
    *yes = resolved == TT_OK;
    bool no = resolved == TT_E_UNSUPPORTED || resolved == TT_E_INVALID || resolved == TT_E_TEMPLATE;
    return no ? TT_OK : resolved;
}

static bool was_refused(const refusals *r, const tt__template *t, const char *config) {
    for (size_t i = 0; i < r->n; i++)
        if (r->items[i].t == t && strcmp(r->items[i].config, config) == 0)
            return true;
    return false;
}

static void note_refused(refusals *r, const tt__template *t, const char *config) {
    if (r->n == TRIES_MAX)
        return;
    r->items[r->n].t = t;
    tt__copy(r->items[r->n++].config, TT__CONFIG_MAX, config);
}

/* What gave wrong results or crashed here must not run. A time limit says less: a budget may have shortened
 * it, and the reference counts. A compiler's failure is left to the plan. */
static bool is_wrong(const tt__trial *trial) {
    static const char compiler[] = "its compiler";
    return trial->status == TT__TRIAL_WRONG_RESULT ||
           (trial->status == TT__TRIAL_CRASHED && strncmp(trial->reason, compiler, strlen(compiler)) != 0);
}

/* Is it known to be wrong for this very problem on this GPU? *trial says why. What cannot be read in one
 * layer may be known in another. */
static tt_status was_wrong(const query *q, const tt__template *t, const char *config, tt__trial *trial,
                           bool *wrong) {
    bool found = false;
    tt_status damaged = TT_OK;
    for (tt__layer layer = 0; layer < TT__LAYER_SHIPPED && !found; layer++) {
        tt__store *store = tt__layer_store(q->asked.ctx, layer);
        int64_t problem_id = -1;
        tt_status status = TT_OK;
        if (store && q->asked.gpu_ids[layer] >= 0)
            status = tt__store_known_problem(store, q->asked.problem, &problem_id);
        if (status == TT_OK && problem_id >= 0)
            status = tt__store_last_trial(store, q->asked.gpu_ids[layer], problem_id, t->kernel, t->hash,
                                          config, q->driver, trial, &found);
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

/* Is the winner's configuration legal for the problem, and not known to be wrong? If its template has
 * changed, the configuration is adapted first. A `proven` one ran here for this problem with this text, so
 * that its geometry is computed only for a plan. */
static tt_status legal(const query *q, const tt__winner *w, bool proven, tt__candidate *out, bool *yes) {
    size_t choice[TT__PARAMS_MAX];
    char adapted[TT__CONFIG_MAX];
    const tt__template *t = tt__template_set_find(q->templates, w->kernel);
    tt__trial trial;
    bool wrong = false;
    *yes = false;
    if (!t || !tt__template_does(t, q->asked.problem))
        return TT_OK;
    TT_TRY(tt__template_read(&t));
    if (proven && !q->candidate) {
        tt__copy(out->config, sizeof out->config, w->config);
        return is_legal(tt__config_parse(choice, t, w->config), yes);
    }
    const char *config = w->config;
    if (strcmp(t->hash, w->hash) != 0) {
        TT_TRY(is_legal(tt__config_adapt(adapted, t, w->config), yes));
        if (!*yes)
            return TT_OK;
        config = adapted;
    }
    *yes = false;
    if (!proven && was_refused(q->refused, t, config))
        return TT_OK;
    TT_TRY(is_legal(tt__space_resolve(out, t, q->asked.gpu, q->asked.problem, config), yes));
    if (*yes && !proven) {
        tt_status known = was_wrong(q, t, out->config, &trial, &wrong);
        if (known != TT_OK && known != TT_E_DB) /* damaged trials do not cost the winner */
            return known;
        *yes = !wrong;
    }
    if (!*yes)
        note_refused(q->refused, t, config);
    return TT_OK;
}

static void answer(const query *q, tt_match match, tt__layer layer, const tt__winner *w,
                   const tt__candidate *found) {
    tt_choice *c = q->choice;
    bool measured = match != TT_MATCH_DEFAULT;
    *c = (tt_choice){.size = c->size, .match = match};
    if (measured) {
        char text[TT__PROBLEM_TEXT_MAX];
        c->rows = tt__problem_number(&w->problem, "rows", 0);
        c->cols = tt__problem_number(&w->problem, "cols", 0);
        tt__copy(c->problem, sizeof c->problem, tt__problem_text(text, &w->problem));
        c->time_us = w->time_us;
        c->gbps = tt__problem_gbps(&w->problem, w->time_us);
        tt__copy(c->gpu, sizeof c->gpu, w->gpu.name);
    }
    tt__copy(c->kernel, sizeof c->kernel, w->kernel);
    tt__copy(c->config, sizeof c->config, found->config);
    tt__copy(c->layer, sizeof c->layer, tt__layer_names[layer]);
    if (q->candidate)
        *q->candidate = *found;
}

static void explain(const query *q, const tt__winner *w, bool here) {
    char problem[TT__PROBLEM_TEXT_MAX], text[TT__PROBLEM_TEXT_MAX + 192];
    const char *regime = w->problem.warm == q->asked.problem->warm ? ""
                         : w->problem.warm                         ? ", warm"
                                                                   : ", cold";
    snprintf(text, sizeof text, "%s %s%s%s%s",
             q->choice->match == TT_MATCH_DEFAULT ? "nothing was tuned for this; as for" : "measured for",
             tt__problem_text(problem, &w->problem), regime, here ? "" : " on ", here ? "" : w->gpu.name);
    tt__copy_short(q->choice->why, sizeof q->choice->why, text);
}

/* ---- The very problem ---------------------------------------------------------------------------------- */

static tt_status winner_in(const query *q, tt__layer layer, tt__winner *w, bool *found) {
    tt__store *store = tt__layer_store(q->asked.ctx, layer);
    int64_t problem_id;
    *found = false;
    if (layer == TT__LAYER_SHIPPED) {
        for (size_t i = 0; i < tt__n_shipped && !*found; i++)
            if (tt__same_gpu(&tt__shipped[i].gpu, q->asked.gpu) &&
                tt__problem_same(&tt__shipped[i].problem, q->asked.problem)) {
                *w = tt__shipped[i];
                *found = true;
            }
        return TT_OK;
    }
    if (!store || q->asked.gpu_ids[layer] < 0)
        return TT_OK;
    TT_TRY(tt__store_known_problem(store, q->asked.problem, &problem_id));
    return problem_id < 0 ? TT_OK
                          : tt__store_winner_get(store, q->asked.gpu_ids[layer], problem_id, w, found);
}

/* A valid winner in any layer beats a stale one in an earlier layer. */
static tt_status try_exact(const query *q, bool *done) {
    tt__candidate candidate;
    char why[160];
    bool found, has_stale = false;
    for (tt__layer layer = 0; layer < (q->asked.ctx->locked ? TT__LAYER_SYSTEM : TT__LAYER_COUNT); layer++) {
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
        answer(q, *why ? TT_MATCH_STALE : TT_MATCH_EXACT, layer, &w, &candidate);
        tt__copy(q->choice->why, sizeof q->choice->why,
                 !*why && q->asked.problem->unverified ? "nothing verifies it" : why);
        has_stale = true;
        *done = true;
        if (!*why)
            break;
    }
    return TT_OK;
}

/* ---- What is near -------------------------------------------------------------------------------------- */

/* The nearest legal winner within a distance. Stale winners count as further away. *nearest is its distance,
 * or INFINITY. */
static tt_status try_within(const query *q, bool anything, double within, double *nearest) {
    tt__leads all;
    double best = INFINITY, most = anything ? INFINITY : furthest;
    tt_status status = tt__near_collect(&all, &q->asked, anything, within);
    for (size_t i = 0; i < all.n && i < TRIES_MAX && status == TT_OK && all.items[i].distance < best; i++) {
        const tt__lead *l = &all.items[i];
        tt__winner w;
        tt__candidate candidate;
        bool found;
        char why[160];
        status = tt__near_fetch(&q->asked, l, &w, &found);
        if (status != TT_OK || !found)
            continue;
        tt__winner_staleness(why, sizeof why, &w, q->templates, l->here ? q->driver : NULL, NULL);
        double score = l->distance + (*why ? stale : 0);
        if (score >= best || score > most || (status = legal(q, &w, false, &candidate, &found)) != TT_OK ||
            !found)
            continue;
        answer(q,
               anything  ? TT_MATCH_DEFAULT
               : l->here ? TT_MATCH_NEAREST
                         : TT_MATCH_OTHER_GPU,
               l->layer, &w, &candidate);
        explain(q, &w, l->here);
        best = score;
    }
    tt__near_free(&all);
    *nearest = best;
    return status;
}

/* Searches in growing circles. A winner outside a circle is further away than its radius. */
static tt_status try_near(const query *q, bool anything, bool *done) {
    static const double radii[] = {0.25, 1.25, 2, 3, 6, 64};
    double nearest = INFINITY;
    for (size_t i = 0; i < sizeof radii / sizeof *radii && nearest > (i ? radii[i - 1] : 0) &&
                       (anything || radii[i] <= furthest);
         i++)
        TT_TRY(try_within(q, anything, radii[i], &nearest));
    *done = nearest < INFINITY;
    return TT_OK;
}

/* ---- The defaults -------------------------------------------------------------------------------------- */

/* Says how to tune this problem. */
static tt_status advise(const query *q) {
    const tt__problem *p = q->asked.problem;
    tt__str text = {0}, settings = {0};
    tt_status status;
    TT_GOTO(tt__problem_add_unusual(&settings, q->asked.op, p));
    tt__str_addf(&text, "nothing was tuned for this: run \"tune %s ", *p->text ? "--kernel" : "--op");
    tt__str_add_word(&text, *p->text ? q->templates->items[0]->path : p->op);
    if (settings.len)
        tt__str_addf(&text, " --problem %s", settings.text);
    tt__str_addf(&text, "%s\"", p->unverified ? " --unverified" : "");
    TT_GOTO(tt__str_check(&text));
    tt__copy_short(q->choice->why, sizeof q->choice->why, text.text);
out:
    tt__str_free(&text);
    tt__str_free(&settings);
    return status;
}

/* The last rung: the first legal default in the order that the operation prefers. If no default is legal,
 * because they all need more alignment, the first legal configuration. */
static tt_status fall_back(const query *q) {
    const tt__template_set *set = q->templates;
    const tt__problem *p = q->asked.problem;
    const tt__operation *op = q->asked.op;
    tt__space space = {0};
    tt__candidate best = {0};
    tt_status status = TT_OK;
    char problem[TT__PROBLEM_TEXT_MAX];
    for (size_t i = 0; i < set->n && status == TT_OK; i++) {
        tt__candidate c;
        bool yes;
        const tt__template *t = set->items[i];
        if (!tt__template_does(t, p) || (best.t && tt__operation_preference(op, t->kernel) >=
                                                       tt__operation_preference(op, best.t->kernel)))
            continue;
        status = tt__template_read(&t);
        if (status != TT_OK)
            break;
        status = is_legal(tt__space_resolve(&c, t, q->asked.gpu, p, t->default_config), &yes);
        if (yes)
            best = c;
    }
    for (size_t i = 0; i < set->n && !best.t && space.n == 0 && status == TT_OK; i++) {
        const tt__template *t = set->items[i];
        if (tt__template_does(t, p) && (status = tt__template_read(&t)) == TT_OK)
            status = tt__space_add(&space, t, q->asked.gpu, p);
    }
    if (!best.t && space.n > 0)
        best = space.items[0];
    if (status == TT_OK && !best.t)
        status = tt__fail(TT_E_UNSUPPORTED,
                          "no configuration of %s is legal for %s on %s: `tune check` says what removes them",
                          p->op, tt__problem_text(problem, p), q->asked.gpu->name);
    tt__space_free(&space);
    if (status != TT_OK)
        return status;
    *q->choice = (tt_choice){.size = q->choice->size, .match = TT_MATCH_DEFAULT};
    tt__copy(q->choice->kernel, sizeof q->choice->kernel, best.t->kernel);
    tt__copy(q->choice->config, sizeof q->choice->config, best.config);
    TT_TRY(advise(q));
    if (q->candidate)
        *q->candidate = best;
    return TT_OK;
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
        q->asked.problem->op, tt__problem_text(text, q->asked.problem), q->asked.gpu->name, c->kernel,
        c->config, tt__trial_status_name(trial.status), trial.reason, tt__trial_advice(trial.status));
}

tt_status tt__ladder(tt_ctx *ctx, const tt__template_set *templates, const tt__gpu *gpu, int64_t gpu_id,
                     const tt__problem *p, tt_choice *choice, tt__candidate *candidate) {
    const tt__template *t = tt__template_set_for(templates, p);
    refusals refused;
    if (!t)
        return tt__fail(TT_E_UNSUPPORTED, "there is no template for the operation %s", p->op);
    TT_TRY(tt__template_read(&t));
    query q = {.asked = {.ctx = ctx, .gpu = gpu, .problem = p, .op = t->operation},
               .templates = templates,
               .choice = choice,
               .candidate = candidate,
               .refused = &refused};
    refused.n = 0;
    bool done = false;
    q.asked.gpu_ids[TT__LAYER_USER] = gpu_id;
    q.asked.gpu_ids[TT__LAYER_SYSTEM] = -1;
    if (ctx->system)
        TT_TRY(tt__store_known_gpu(ctx->system, gpu, &q.asked.gpu_ids[TT__LAYER_SYSTEM]));
    if (!ctx->gpu_name[0])
        tt__driver_version(q.driver, sizeof q.driver);
    TT_TRY(try_exact(&q, &done));
    if (!done && ctx->locked && !ctx->lock_default) {
        char text[TT__PROBLEM_TEXT_MAX];
        return tt__fail(TT_E_NO_WINNER,
                        "%s has no winner for the %s of %s on %s: tune it, and make the file anew with "
                        "\"tune lock\"",
                        tt__store_path(ctx->store), p->op, tt__problem_text(text, p), gpu->name);
    }
    for (int anything = 0; anything < 2 && !done && !ctx->locked; anything++)
        TT_TRY(try_near(&q, anything, &done));
    if (!done) {
        TT_TRY(fall_back(&q));
        TT_TRY(check_default(&q));
    }
    choice->unverified = p->unverified; /* an unverified kernel shares no winners with others */
    return TT_OK;
}

static tt_status look_up(tt_choice *out, tt_ctx *ctx, const tt__template_set *templates,
                         const tt__problem *p) {
    bool named = ctx->gpu_name[0];
    tt__gpu gpu;
    int64_t gpu_id;
    const tt_choice *known = named ? tt__answers_get(ctx, NULL, p) : NULL;
    if (!known) {
        TT_TRY(tt__answers_gpu(ctx, &gpu, &gpu_id));
        known = named ? NULL : tt__answers_get(ctx, &gpu, p);
    }
    if (known) {
        *out = *known;
        return TT_OK;
    }
    TT_TRY(tt__ladder(ctx, templates, &gpu, gpu_id, p, out, NULL));
    tt__answers_put(ctx, named ? NULL : &gpu, p, out);
    return TT_OK;
}

tt_status tt__best(tt_choice *out, tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p) {
    *out = (tt_choice){.size = sizeof *out};
    pthread_mutex_lock(&ctx->lock);
    tt_status status = look_up(out, ctx, templates, p);
    pthread_mutex_unlock(&ctx->lock);
    return status;
}
