/* The finals and the election: the best few are measured again in interleaved rounds and compared in pairs,
 * so that neither drift nor one lucky sample crowns a winner, and the stored one keeps its place until it is
 * beaten beyond the noise. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "template/task.h"
#include "tuner/session.h"

/* Screening medians are good to a few percent; what is further behind cannot win. */
static const double within_reach = 1.06;
/* Candidates that differ by less are the same to any user: then the first in the space wins, every time. */
static const double indistinct = 1.003;

/* With the incumbent and the default: TT__FINALISTS_MAX. */
enum { CONTENDERS_MAX = 11, COPIES_MAX = 3, NOBODY = -1 };

typedef struct entrant {
    const tt__candidate *c;
    const tt__search *of; /* where it was screened ... */
    int64_t index;        /* ... and its place in that space */
} entrant;

typedef struct finals {
    size_t n, n_contenders; /* the contenders come first, then perhaps the default, then the copies */
    entrant entrants[TT__FINALISTS_MAX];
    int at_default, at_incumbent;
    bool interleaved; /* else the samples are those of the screening */
    tt__trial trials[TT__FINALISTS_MAX];
} finals;

static int enter(finals *f, const tt__search *of, int64_t index) {
    const tt__candidate *c = &of->space.items[index];
    for (size_t i = 0; i < f->n; i++)
        if (f->entrants[i].c == c)
            return (int)i;
    f->entrants[f->n] = (entrant){c, of, index};
    return (int)f->n++;
}

static bool passed(const tt__search *search, int64_t i) {
    return search->known[i] == TT__TRIED && search->trials[i].status == TT__TRIAL_OK;
}

static bool has_entered(const finals *f, const tt__search *of, int64_t index) {
    for (size_t i = 0; i < f->n; i++)
        if (f->entrants[i].of == of && f->entrants[i].index == index)
            return true;
    return false;
}

/* Enters the best `most` of a search by screening, fastest first. */
static void enter_best(finals *f, const tt__search *search, size_t most) {
    if (search->best == TT__NOTHING)
        return;
    double limit = search->trials[search->best].time_us * within_reach;
    for (size_t k = 0; k < most; k++) {
        int64_t next = NOBODY;
        for (int64_t i = 0; i < (int64_t)search->space.n; i++)
            if (passed(search, i) && search->trials[i].time_us <= limit && !has_entered(f, search, i) &&
                (next == NOBODY || search->trials[i].time_us < search->trials[next].time_us))
                next = i;
        if (next == NOBODY)
            break;
        enter(f, search, next);
    }
}

/* The default of the template that leads the screening, to say what tuning was worth. */
static int64_t find_default(const tt__search *search) {
    const tt__template *t = search->space.items[search->best].t;
    for (int64_t i = 0; i < (int64_t)search->space.n; i++)
        if (search->space.items[i].t == t && strcmp(search->space.items[i].config, t->default_config) == 0)
            return i;
    return NOBODY;
}

/* The configuration that holds the title now, if it is still a member of the space. A search that did not
 * come by it tries it yet. */
static tt_status find_incumbent(tt__session *s, tt__search *search, int64_t *index) {
    tt__winner w;
    bool found;
    *index = NOBODY;
    TT_TRY(tt__store_winner_get(s->store, s->gpu_id, search->problem_id, &w, &found));
    for (int64_t i = 0; found && i < (int64_t)search->space.n; i++) {
        const tt__candidate *c = &search->space.items[i];
        if (strcmp(c->config, w.config) != 0 || strcmp(c->t->kernel, w.kernel) != 0)
            continue;
        TT_TRY(tt__search_try(s, search, (size_t)i));
        if (passed(search, i))
            *index = i;
    }
    return TT_OK;
}

static tt_status nominate(tt__session *s, tt__search *search, const tt__search *copy, finals *f) {
    int64_t incumbent;
    *f = (finals){.at_default = NOBODY, .at_incumbent = NOBODY};
    TT_TRY(find_incumbent(s, search, &incumbent));
    int64_t leading_default = find_default(search);
    if (leading_default != NOBODY)
        TT_TRY(tt__search_try(s, search, (size_t)leading_default));
    enter_best(f, search, CONTENDERS_MAX);
    if (incumbent != NOBODY)
        f->at_incumbent = enter(f, search, incumbent);
    f->n_contenders = f->n;
    if (leading_default != NOBODY && passed(search, leading_default))
        f->at_default = enter(f, search, leading_default);
    enter_best(f, copy, COPIES_MAX);
    return TT_OK;
}

/* A place in the finals, as index or NOBODY: what was not measured there is not compared. */
static bool took_part(const finals *f, int at) {
    return at != NOBODY && f->trials[at].status == TT__TRIAL_OK && f->trials[at].time_us > 0;
}

static tt_status config_id(tt__session *s, const tt__candidate *c, int64_t *id) {
    return tt__store_config(s->store, c->t->kernel, c->t->op, c->t->hash, c->config, id);
}

static tt_status store_final(tt__session *s, const entrant *e, const tt__trial *trial) {
    int64_t id;
    TT_TRY(config_id(s, e->c, &id));
    return tt__store_trial_put(s->store, s->run_id, e->of->problem_id, id, TT__STAGE_FINAL, trial);
}

/* As many as take about `worth_s`: small problems need them, since their times are few ticks of the clock. */
static int rounds_of(const finals *f) {
    static const double worth_s = 0.15, least_us = 10;
    double round_us = 0;
    for (size_t i = 0; i < f->n; i++)
        round_us += fmax(f->entrants[i].of->trials[f->entrants[i].index].time_us, least_us);
    double rounds = worth_s * 1e6 / round_us;
    return rounds < TT__FINAL_ROUNDS       ? TT__FINAL_ROUNDS
           : rounds > TT__FINAL_ROUNDS_MAX ? TT__FINAL_ROUNDS_MAX
                                           : (int)rounds;
}

/* Measures the finalists, or, if that fails, falls back to what the screening said. */
static tt_status hold_finals(tt__session *s, tt__search *search, finals *f) {
    const tt__candidate *candidates[TT__FINALISTS_MAX];
    for (size_t i = 0; i < f->n; i++)
        candidates[i] = f->entrants[i].c;
    tt__session_progress(s, search, "finals");
    tt_status status = s->backend->ops->finals(s->backend, candidates, f->n, rounds_of(f), f->trials);
    if (status == TT_E_INTERRUPTED)
        return status;
    if (status != TT_OK)
        tt__session_message(s, "the finals failed (%s); the winner is the best of the screening",
                            tt_last_error());
    for (int i = 0; i < (int)f->n_contenders && status == TT_OK; i++)
        f->interleaved |= took_part(f, i);
    for (size_t i = 0; i < f->n; i++) {
        const entrant *e = &f->entrants[i];
        if (!f->interleaved)
            f->trials[i] = e->of->trials[e->index];
        else if (took_part(f, (int)i))
            TT_TRY(store_final(s, e, &f->trials[i]));
        if (f->interleaved && e->of == search && search->t->task->objective >= 0)
            tt__trial_weigh(&f->trials[i], e->c->weight);
    }
    return TT_OK;
}

tt__ratio tt__compare_trials(const tt__trial *a, const tt__trial *b) {
    if (a->n_samples == b->n_samples && a->n_samples > 0)
        return tt__paired_ratio(a->samples_us, b->samples_us, (size_t)a->n_samples);
    double ratio = a->time_us / b->time_us;
    return (tt__ratio){ratio, ratio, ratio};
}

/* What decides: finer than the median of times that are whole ticks of the clock. Recordings of others may
 * have no samples. */
static double middle_us(const finals *f, int i) {
    const tt__trial *t = &f->trials[i];
    return t->n_samples > 0 ? tt__midmean(t->samples_us, (size_t)t->n_samples) : t->time_us;
}

static int choose(const finals *f) {
    int best = NOBODY;
    for (int i = 0; i < (int)f->n_contenders; i++)
        if (took_part(f, i) && (best == NOBODY || middle_us(f, i) < middle_us(f, best)))
            best = i;
    if (took_part(f, f->at_incumbent) &&
        tt__compare_trials(&f->trials[f->at_incumbent], &f->trials[best]).low <= 1.0)
        return f->at_incumbent;
    int first = best;
    for (int i = 0; i < (int)f->n_contenders; i++) {
        if (!took_part(f, i))
            continue;
        bool may_be_as_fast = tt__compare_trials(&f->trials[i], &f->trials[best]).low <= 1.0;
        if (may_be_as_fast && middle_us(f, i) < indistinct * middle_us(f, best) &&
            f->entrants[i].index < f->entrants[first].index)
            first = i;
    }
    return first;
}

/* The copy that the finals, not a lucky sample of the screening, call the fastest. */
static int best_copy(const finals *f, const tt__search *copy) {
    int best = NOBODY;
    for (int i = 0; i < (int)f->n; i++)
        if (f->entrants[i].of == copy && took_part(f, i) &&
            (best == NOBODY || f->trials[i].time_us < f->trials[best].time_us))
            best = i;
    return best;
}

/* What the template itself wants to be known of a winner. */
static tt_status fill_metrics(const tt__session *s, const tt__search *search, const tt__winner *w,
                              tt_result *result) {
    const tt__task *task = search->t->task;
    for (size_t i = 0; i < task->n_metrics; i++) {
        double value;
        size_t used = strlen(result->metrics);
        TT_TRY(tt__metric_value(&value, search->t, i, &s->gpu, &search->problem, w->config, w->time_us));
        if (strcmp(task->metrics[i].name, "gbps") == 0)
            result->gbps = value;
        size_t room = sizeof result->metrics - used;
        int n = snprintf(result->metrics + used, room, "%s%s %.6g", used ? ", " : "", task->metrics[i].name,
                         value);
        if (n < 0 || (size_t)n >= room)
            result->metrics[used] = '\0'; /* rather none than a part of a number */
    }
    return TT_OK;
}

static tt_status fill_result(const tt__session *s, const tt__search *search, const tt__winner *w,
                             tt_result *result) {
    tt__copy(result->kernel, sizeof result->kernel, w->kernel);
    tt__copy(result->config, sizeof result->config, w->config);
    result->time_us = w->time_us;
    result->gbps = tt__gbps(&search->problem, w->time_us);
    if (!tt__is_matrix(&search->problem))
        TT_TRY(fill_metrics(s, search, w, result));
    result->copy_us = w->copy_us;
    result->copy_fraction = w->copy_fraction;
    result->peak_fraction = s->gpu.peak_gbps > 0 ? result->gbps / s->gpu.peak_gbps : 0;
    result->speedup_vs_default = w->speedup_vs_default;
    result->trials = search->n_tried - search->n_skipped;
    result->failed = search->n_failed;
    return TT_OK;
}

tt_status tt__elect(tt__session *s, tt__search *search, const tt__search *copy, tt_result *result) {
    finals f;
    TT_TRY(nominate(s, search, copy, &f));
    TT_TRY(hold_finals(s, search, &f));
    int at = choose(&f), at_copy = best_copy(&f, copy);
    const tt__candidate *c = f.entrants[at].c;
    const tt__trial *trial = &f.trials[at];
    tt__winner w = {.gpu = s->gpu,
                    .problem = search->problem,
                    .env = s->env,
                    .time_us = tt__round_us(trial->time_us / c->weight),
                    .trials = (int64_t)(search->n_tried - search->n_skipped),
                    .failed = (int64_t)search->n_failed,
                    .unix_ms = tt__unix_ms()};
    tt__copy(w.kernel, sizeof w.kernel, c->t->kernel);
    tt__copy(w.hash, sizeof w.hash, c->t->hash);
    tt__copy(w.config, sizeof w.config, c->config);
    tt__copy(w.source, sizeof w.source, s->opts->replay ? "replayed" : "measured");
    if (at_copy != NOBODY) {
        w.copy_us = f.trials[at_copy].time_us;
        w.copy_fraction =
            tt__compare_trials(&f.trials[at_copy], trial).median * c->weight * search->copy_part;
    }
    if (took_part(&f, f.at_default))
        w.speedup_vs_default = tt__compare_trials(&f.trials[f.at_default], trial).median;
    int64_t id;
    TT_TRY(config_id(s, c, &id));
    TT_TRY(tt__store_winner_put(s->store, s->run_id, search->problem_id, id, &w));
    return fill_result(s, search, &w, result);
}

tt_status tt__stored_winner(tt__session *s, const tt__search *search, tt_result *result, bool *holds) {
    tt__winner w;
    *holds = false;
    if (search->n_measured > 0)
        return TT_OK;
    TT_TRY(tt__store_winner_get(s->store, s->gpu_id, search->problem_id, &w, holds));
    const tt__template *t = *holds ? tt__template_set_find(s->templates, w.kernel) : NULL;
    *holds = t && (s->opts->replay || strcmp(w.source, "replayed") != 0) && strcmp(t->hash, w.hash) == 0 &&
             strcmp(w.env.driver, s->env.driver) == 0 && strcmp(w.env.nvrtc, s->env.nvrtc) == 0 &&
             strcmp(w.env.library, s->env.library) == 0;
    return *holds ? fill_result(s, search, &w, result) : TT_OK;
}
