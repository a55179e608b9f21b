/*
 * The search of one problem: lists the configurations, takes over stored trials, and stores new ones.
 */
#include "tuner/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/measure/measure.h"

/* Screening stops early for configurations that cannot be the best, whatever the noise. */
static const double hopeless = 1.25;

/* Less than this is no gain that a search waits for. */
static const double gain = 0.995;

/* Configurations that are missing from a recording do not count. */
size_t tt__search_counted(const tt__search *search) {
    return search->n_tried - search->n_skipped - search->n_aside;
}

void tt__trial_weigh(tt__trial *trial, double weight) {
    trial->time_us *= weight;
    for (int i = 0; i < trial->n_samples; i++)
        trial->samples_us[i] = (float)((double)trial->samples_us[i] * weight);
}

/* An exhaustive run has up to TT__CONFIGS_MAX of both. */
_Static_assert(sizeof(tt__configuration) + sizeof(tt__screened) <= 1024, "a space takes too much memory");

static void weigh(tt__screened *trial, double weight) {
    trial->time_us *= weight;
    for (int i = 0; i < trial->n_samples; i++)
        trial->samples_us[i] = (float)((double)trial->samples_us[i] * weight);
}

static void note(tt__screened *to, const tt__trial *trial) {
    *to = (tt__screened){.status = trial->status,
                         .regs = trial->regs,
                         .static_shared_bytes = trial->static_shared_bytes,
                         .n_samples = trial->n_samples < TT__SCREEN_MAX ? trial->n_samples : TT__SCREEN_MAX,
                         .time_us = trial->time_us,
                         .compile_ms = trial->compile_ms,
                         .limit_s = trial->limit_s,
                         .bits = trial->bits,
                         .reason = *trial->reason ? strdup(trial->reason) : NULL};
    memcpy(to->samples_us, trial->samples_us, (size_t)to->n_samples * sizeof *to->samples_us);
}

void tt__search_trial(tt__trial *out, const tt__search *search, size_t i) {
    const tt__screened *from = &search->trials[i];
    *out = (tt__trial){.status = from->status,
                       .time_us = from->time_us,
                       .weight = search->space.items[i].weight,
                       .compile_ms = from->compile_ms,
                       .limit_s = from->limit_s,
                       .regs = from->regs,
                       .bits = from->bits,
                       .static_shared_bytes = from->static_shared_bytes,
                       .n_samples = from->n_samples};
    tt__copy(out->reason, sizeof out->reason, from->reason ? from->reason : "");
    memcpy(out->samples_us, from->samples_us, (size_t)from->n_samples * sizeof *from->samples_us);
}

/* Is there a cost model? */
static bool is_modelled(const tt__search *search) {
    return search->t->operation->moves;
}

static bool is_tried_whole(const tt__search *search) {
    return search->space.n - search->n_guests <= search->limits.whole && !search->space.sampled &&
           !(search->limits.patience > 0 && is_modelled(search));
}

/* Is the fastest so short that it takes more trials to find? */
static bool needs_more(const tt__search *search) {
    return search->limits.trials_if_short && !is_modelled(search) && search->best != TT__NOTHING &&
           tt__search_best_us(search) < TT__SHORT_US;
}

/* May it end before all its trials? */
static bool may_end_early(const tt__search *search) {
    return search->limits.patience > 0 && !is_tried_whole(search) && !needs_more(search);
}

/* The number of trials it takes at least, if there are as many configurations. */
static size_t least_trials(const tt__search *search) {
    const tt__limits limits = search->limits;
    return !may_end_early(search) ? tt__search_most(search)
           : is_modelled(search)  ? limits.trials - limits.trials / 8 * 3
                                  : limits.trials / 4 * 3;
}

/* After how many trials it ends if nothing more is gained; SIZE_MAX: not early. */
static size_t ends_at(const tt__search *search, const tt__gains *gains) {
    if (!may_end_early(search) || gains->best_us == 0)
        return SIZE_MAX;
    const size_t least = least_trials(search), patient = search->limits.patience * gains->at;
    return patient > least ? patient : least;
}

/* ---- Equal bits ---------------------------------------------------------------------------------------- */

int64_t tt__search_anchor(const tt__session *s, const tt__search *search) {
    if (!s->opts->same_bits || search->space.n == 0)
        return TT__NOTHING;
    if (!s->opts->class_of)
        return tt__space_default(&search->space, 0);
    int64_t i = (int64_t)search->space.n - 1;
    while (i >= 0 && strcmp(search->space.items[i].config, s->opts->class_of) != 0)
        i--;
    return i;
}

static bool passed(const tt__search *search, int64_t i) {
    return search->known[i] == TT__TRIED && search->trials[i].status == TT__TRIAL_OK;
}

bool tt__search_has_other_bits(const tt__search *search, int64_t i) {
    return search->bits && passed(search, i) && search->trials[i].bits != search->bits;
}

static void compare(tt__search *search, size_t i, double time_us);

static void find_best(tt__search *search) {
    search->best = TT__NOTHING;
    for (int64_t i = 0; i < (int64_t)search->space.n; i++)
        if (passed(search, i) && !tt__search_has_other_bits(search, i))
            compare(search, (size_t)i, search->trials[i].time_us);
}

/* The class is known when its configuration has passed, with the same results in all launches so far. */
static void find_class(const tt__session *s, tt__search *search, size_t i) {
    const int64_t bits = search->trials[i].bits;
    if (search->bits || (int64_t)i != tt__search_anchor(s, search) || !passed(search, (int64_t)i) ||
        bits <= TT__BITS_UNSTABLE)
        return;
    search->bits = bits;
    for (int64_t k = 0; k < (int64_t)search->space.n; k++)
        if (tt__search_has_other_bits(search, k))
            weigh(&search->trials[k], TT__OTHER_TIMES);
    find_best(search);
}

tt_status tt__search_expel(const tt__session *s, tt__search *search, size_t i, int64_t bits) {
    tt__trial stored;
    search->trials[i].bits = bits;
    tt__search_trial(&stored, search, i);
    tt__trial_weigh(&stored, 1 / search->space.items[i].weight);
    if (bits == TT__BITS_UNSTABLE) /* a class is stored by the name that other runs give it */
        TT_TRY(tt__session_store(s, search->problem_id, &search->space.items[i], TT__STAGE_SCREEN, &stored));
    weigh(&search->trials[i], TT__OTHER_TIMES);
    find_best(search);
    return TT_OK;
}

static void count_gain(tt__gains *gains, const tt__screened *trial) {
    gains->n += trial->status != TT__TRIAL_SKIPPED;
    if (trial->status == TT__TRIAL_OK && (gains->best_us == 0 || trial->time_us < gain * gains->best_us)) {
        gains->best_us = trial->time_us;
        gains->at = gains->n;
    }
}

static void compare(tt__search *search, size_t i, double time_us) {
    double best_us = search->best == TT__NOTHING ? INFINITY : search->trials[search->best].time_us;
    bool first = (int64_t)i <
                 search->best; /* of two equally fast ones, the first in the space, in any order of trials */
    if (time_us < best_us || (time_us <= best_us && first))
        search->best = (int64_t)i;
}

/* A search compares only weighed times, so these are kept. */
static void keep(const tt__session *s, tt__search *search, size_t i, const tt__trial *measured) {
    tt__screened *trial = &search->trials[i];
    free(trial->reason);
    note(trial, measured);
    if (search->t->operation->objective >= 0)
        weigh(trial, search->space.items[i].weight);
    search->known[i] = TT__TRIED;
    search->n_tried++;
    search->n_skipped += trial->status == TT__TRIAL_SKIPPED;
    search->n_failed += trial->status != TT__TRIAL_OK && trial->status != TT__TRIAL_SKIPPED;
    if (tt__search_has_other_bits(search, (int64_t)i))
        weigh(trial, TT__OTHER_TIMES);
    else if (trial->status == TT__TRIAL_OK)
        compare(search, i, trial->time_us);
    find_class(s, search, i);
    count_gain(&search->gains, trial);
    search->settled |= search->gains.n >= ends_at(search, &search->gains);
}

/* ---- Stored trials ------------------------------------------------------------------------------------- */

typedef struct takeover {
    const tt__session *s;
    tt__search *search;
    int64_t run_id; /* of the last row, and what its run gained */
    tt__gains gains;
    int64_t *run_of; /* each configuration's */
    bool collects;   /* in a first pass: */
    tt__space found; /* what a sampled space may lack */
    size_t at;       /* of tt__space_next_member */
} takeover;

static tt_status collect(takeover *t, const tt__trial_row *row) {
    const tt__template *of = NULL;
    tt__candidate c;
    for (size_t i = 0; i < t->search->space.n && !of; i = tt__space_end_of_template(&t->search->space, i))
        of = strcmp(t->search->space.items[i].t->hash, row->hash) == 0 ? t->search->space.items[i].t : NULL;
    tt_status status =
        of ? tt__space_resolve(&c, of, &t->s->gpu, &t->search->problem, row->config) : TT_E_INVALID;
    if (status != TT_OK)
        return status == TT_E_UNSUPPORTED || status == TT_E_INVALID ? TT_OK : status;
    return tt__space_append(&t->found, &c.configuration);
}

/* A run that finds templates without a trial goes on: they may gain. */
static void go_on(tt__search *search) {
    size_t n_left_out;
    tt__search_templates(search, &n_left_out);
    if (n_left_out == 0)
        return;
    search->gains.at = search->gains.n;
    search->settled = false;
}

/* A forced run ended by its own trials, if it tried all templates. */
static bool ended_alone(const takeover *t) {
    const tt__space *space = &t->search->space;
    bool tried = t->gains.n >= ends_at(t->search, &t->gains);
    for (size_t i = 0, end; i < space->n && tried; i = end) {
        end = tt__space_end_of_template(space, i);
        tried = false;
        for (size_t k = i; k < end && !tried; k++)
            tried = t->run_of[k] == t->run_id;
    }
    return tried;
}

/* Did it exceed a shorter limit than this run's? */
static bool may_pass_now(const tt__session *s, const tt__trial *trial) {
    const bool searches = !s->opts->replay && !s->call->only_finals && !s->call->stored;
    const double limit_s = trial->status == TT__TRIAL_TIMEOUT           ? s->trial_timeout_s
                           : trial->status == TT__TRIAL_COMPILE_TIMEOUT ? s->compile_timeout_s
                                                                        : 0;
    /* a limit that an older version stored is rounded */
    return searches && trial->limit_s > 0 && limit_s > 1.0001 * trial->limit_s;
}

static tt_status take_over(void *user, const tt__trial_row *row) {
    takeover *t = user;
    tt__search *search = t->search;
    if (!t->s->opts->replay && strcmp(row->source, "replayed") == 0)
        return TT_OK; /* of another machine, and no evidence for this one */
    if (t->s->opts->same_bits && !t->s->opts->replay && row->trial->status == TT__TRIAL_OK &&
        !row->trial->bits)
        return TT_OK; /* stored by an older version: its bits are unknown */
    if (t->s->opts->force && row->run_id != t->s->run_id && !t->collects)
        return TT_OK; /* it is measured again, but once in a run: sizes may share a copy */
    if (may_pass_now(t->s, row->trial) && (!t->collects || (search->part.of && !t->s->opts->force)))
        return TT_OK; /* a shard's sample does not take in what is another's to try again */
    if (t->collects)
        return collect(t, row);
    const int64_t i = tt__space_next_member(&search->space, row->kernel, row->config, &t->at);
    if (i == TT__NOTHING || strcmp(search->space.items[i].t->hash, row->hash) != 0 ||
        search->known[i] != TT__UNTRIED)
        return TT_OK;
    if (row->run_id != t->run_id) {
        t->gains = (tt__gains){0};
        go_on(search);
    }
    t->run_id = t->run_of[i] = row->run_id;
    keep(t->s, search, (size_t)i, row->trial);
    count_gain(&t->gains, &search->trials[i]);
    search->settled |= ended_alone(t);
    return TT_OK;
}

bool tt__search_competed(const tt__search *search, size_t first, size_t end) {
    while (first < end && search->known[first] == TT__UNTRIED)
        first++;
    return first < end;
}

size_t tt__search_templates(const tt__search *search, size_t *n_left_out) {
    size_t n = 0;
    *n_left_out = 0;
    for (size_t i = 0, end; i < search->space.n; i = end, n++) {
        end = tt__space_end_of_template(&search->space, i);
        *n_left_out += !tt__search_competed(search, i, end);
    }
    return n;
}

/* Stored trials count towards the effort. Templates without stored trials (new, or left out by `only`) still
 * get their share. A small effort is not shared. */
static void set_aside(tt__search *search, size_t most) {
    size_t n_left_out, n = tt__search_templates(search, &n_left_out);
    if (most == SIZE_MAX || n_left_out == 0 || most < 2 * n)
        return;
    size_t share = (size_t)((double)most * (double)(n - n_left_out) / (double)n);
    if (tt__search_counted(search) > share)
        search->n_aside = tt__search_counted(search) - share;
}

/* ---- Trying -------------------------------------------------------------------------------------------- */

tt_status tt__search_submit(tt__session *s, tt__search *search, size_t i) {
    bool timed =
        search->t->operation->objective < 0; /* for other objectives a slow one may still be the best */
    double cutoff =
        search->best == TT__NOTHING || !timed ? 0 : hopeless * search->trials[search->best].time_us;
    TT_TRY(
        s->backend->ops->submit(s->backend, s->lane * TT__LANE_TRIALS + i, &search->space.items[i], cutoff));
    search->known[i] = TT__PENDING;
    return TT_OK;
}

/* The repeated screening of configuration i, or with SIZE_MAX a free place. NULL: there is none. */
static tt__repeated *find_repeated(tt__search *search, size_t i) {
    for (size_t k = 0; search->again && k < TT__REPEATED_MAX; k++) {
        tt__repeated *r = &search->again[k];
        if (i == SIZE_MAX ? !r->pending : r->pending && r->index == i)
            return r;
    }
    return NULL;
}

/* The first trial of a large problem may be too slow by a tenth, with samples that agree; later ones are
 * right. And one that beats the best by so much may be luck. Both are screened a second time, unless a budget
 * has to last for long launches. */
static bool is_doubtful(const tt__session *s, const tt__search *search, const tt__trial *trial) {
    static const double surprising = 0.9;
    const double best_us = tt__search_best_us(search);
    if (!s->backend->varies || trial->status != TT__TRIAL_OK ||
        (isfinite(search->limits.deadline_s) && trial->time_us >= TT__LONG_US))
        return false;
    return !search->has_result ||
           (search->t->operation->objective < 0 && best_us > 0 && trial->time_us < surprising * best_us);
}

/* Of the first trial of a problem, the second screening counts; of a surprise, the slower one. A request that
 * did not reach a GPU changes nothing. */
static void judge(tt__repeated *r, tt__trial *second) {
    const bool is_slower = second->status != TT__TRIAL_OK || second->time_us > r->trial.time_us;
    r->pending = false;
    if (second->status == TT__TRIAL_OK && second->bits != r->trial.bits)
        second->bits = r->trial.bits = TT__BITS_UNSTABLE;
    if (second->status == TT__TRIAL_SKIPPED || (!r->is_first && !is_slower))
        *second = r->trial;
    second->compile_ms = r->trial.compile_ms;
}

tt_status tt__search_take(tt__session *s, tt__search *search, size_t i, tt__trial *trial) {
    tt__repeated *r = find_repeated(search, i), *place = find_repeated(search, SIZE_MAX);
    const bool is_first = !search->has_result;
    const bool again = !r && place && is_doubtful(s, search, trial);
    search->has_result = true;
    if (r)
        judge(r, trial);
    if (again) {
        *place = (tt__repeated){.pending = true, .is_first = is_first, .index = i, .trial = *trial};
        return tt__search_submit(s, search, i);
    }
    if (trial->status == TT__TRIAL_SKIPPED && s->backend->ops->await_until) {
        search->known[i] = TT__UNTRIED; /* the budget was over before it reached a GPU */
        search->cut = true;
        return TT_OK;
    }
    trial->weight = search->space.items[i].weight;
    TT_TRY(tt__session_store(s, search->problem_id, &search->space.items[i], TT__STAGE_SCREEN, trial));
    keep(s, search, i, trial);
    search->n_measured++;
    search->compile_s += trial->compile_ms * 1e-3;
    return TT_OK;
}

/* ---- Limits -------------------------------------------------------------------------------------------- */

double tt__search_best_us(const tt__search *search) {
    size_t best = (size_t)search->best;
    return search->best == TT__NOTHING ? 0 : search->trials[best].time_us / search->space.items[best].weight;
}

/* The number of templates without a result. */
static size_t n_unknown(const tt__search *search) {
    size_t n = 0;
    for (size_t i = 0, end; i < search->space.n; i = end) {
        end = tt__space_end_of_template(&search->space, i);
        while (i < end && search->known[i] != TT__TRIED)
            i++;
        n += i == end;
    }
    return n;
}

size_t tt__search_most(const tt__search *search) {
    const tt__limits *limits = &search->limits;
    if (is_tried_whole(search))
        return limits->whole + search->n_guests;
    if (search->settled && !needs_more(search))
        return tt__search_counted(search) + n_unknown(search); /* each template is tried once */
    const bool is_long = may_end_early(search) && !is_modelled(search);
    size_t n_left_out, end = ends_at(search, &search->gains),
                       most = needs_more(search) ? limits->trials_if_short
                              : is_long          ? limits->trials / 2 * 3
                                                 : limits->trials;
    tt__search_templates(search, &n_left_out);
    end = end > search->n_aside && end < most + search->n_aside ? end - search->n_aside + n_left_out : most;
    return end < most ? end : most;
}

size_t tt__search_size(const tt__search *search) {
    const tt__space *space = &search->space;
    const double most = (double)INT64_MAX / 2; /* of more, nobody needs the number */
    const size_t legal = space->sampled ? (size_t)fmin(space->legal, most) : 0;
    return legal > space->n ? legal : space->n;
}

size_t tt__search_left(const tt__search *search) {
    size_t known = tt__search_counted(search), most = tt__search_most(search);
    return search->n_tried < tt__search_size(search) && known < most ? most - known : 0;
}

void tt__search_aim(tt__search *search) {
    size_t most = tt__search_most(search), known = tt__search_counted(search),
           all = tt__search_size(search) - search->n_aside;
    search->wanted = most < all ? most : all;
    search->wanted = search->wanted > known ? search->wanted : known;
}

static tt_status enumerate(tt__session *s, tt__search *search) {
    for (size_t i = 0; i < s->templates->n; i++) {
        const size_t first = search->space.n;
        if (tt__template_competes(s->templates, s->templates->items[i], s->opts->only, s->opts->n_only))
            TT_TRY(tt__space_add(&search->space, s->templates->items[i], &s->gpu, &search->problem));
        if (s->call->defaults_only && search->space.n > first)
            search->space.n = first + 1;
    }
    search->default_weight = search->space.n ? search->space.items[0].weight : 0;
    for (size_t i = 0; i < search->space.n; i++)
        search->space.items[i].weight /= search->default_weight; /* the default's time has weight 1 */
    TT_TRY(tt__part_keep(&search->part, &search->problem, &search->space));
    size_t n = search->space.n ? search->space.n : 1;
    search->again = calloc(TT__REPEATED_MAX, sizeof *search->again);
    search->known = calloc(n, sizeof *search->known);
    search->trials = calloc(n, sizeof *search->trials);
    return search->known && search->trials && search->again ? TT_OK
                                                            : tt__fail_memory(n * sizeof *search->trials);
}

/* The stored winner competes even if a shard, a sample or opts->only leaves it out. So a worse one cannot
 * replace it. */
static tt_status add_incumbent(tt__session *s, tt__search *search) {
    tt__winner w;
    tt__candidate c;
    tt__space one = {0};
    bool found;
    TT_TRY(tt__store_winner_get(s->store, s->gpu_id, search->problem_id, &w, &found));
    const tt__template *t = found ? tt__template_set_find(s->templates, w.kernel) : NULL;
    if (!t || strcmp(t->hash, w.hash) != 0 ||
        tt__space_member(&search->space, w.kernel, w.config) != TT__NOTHING)
        return TT_OK;
    tt_status status = tt__space_resolve(&c, t, &s->gpu, &search->problem, w.config);
    if (status == TT_OK && search->default_weight == 0)
        search->default_weight = c.configuration.weight;
    if (status == TT_OK)
        status = tt__space_append(&one, &c.configuration);
    if (status == TT_OK)
        status = tt__search_insert(search, &one);
    search->n_guests = status == TT_OK;
    tt__space_free(&one);
    return status == TT_E_UNSUPPORTED || status == TT_E_INVALID ? TT_OK : status;
}

/* A sample or a shard may lack the configuration that stands for the class. */
static tt_status add_anchor(tt__session *s, tt__search *search) {
    tt__candidate c;
    tt__space one = {0};
    tt_status status = TT_E_INVALID;
    if (!s->opts->same_bits || !s->opts->class_of || strcmp(search->problem.op, "copy") == 0 ||
        tt__search_anchor(s, search) != TT__NOTHING)
        return TT_OK;
    for (size_t i = 0; i < s->templates->n && status != TT_OK; i++)
        if (tt__template_does(s->templates->items[i], &search->problem))
            status =
                tt__space_resolve(&c, s->templates->items[i], &s->gpu, &search->problem, s->opts->class_of);
    if (status != TT_OK)
        return tt__fail(
            TT_E_INVALID,
            "\"%s\" (--class-of, tt_tune_opts.class_of) is no legal configuration of %s: \"tune show\" "
            "lists some",
            s->opts->class_of, search->problem.op);
    status = tt__space_append(&one, &c.configuration);
    if (status == TT_OK)
        status = tt__search_insert(search, &one);
    tt__space_free(&one);
    return status;
}

static tt_status take_over_all(tt__session *s, tt__search *search) {
    takeover t = {.s = s, .search = search};
    tt_status status = TT_OK;
    for (int pass = search->space.sampled ? 0 : 1; pass < 2; pass++) {
        const size_t n = search->space.n ? search->space.n : 1;
        t.collects = pass == 0;
        if (!t.collects && !(t.run_of = calloc(n, sizeof *t.run_of))) {
            status = tt__fail_memory(n * sizeof *t.run_of);
            goto out;
        }
        TT_GOTO(tt__store_trials(s->store, s->gpu_id, &s->env, search->problem_id, TT__STAGE_SCREEN,
                                 take_over, &t));
        if (t.collects && s->opts->force) /* what this shard will measure again */
            TT_GOTO(tt__part_keep(&search->part, &search->problem, &t.found));
        if (t.collects)
            TT_GOTO(tt__search_insert(search, &t.found));
    }
out:
    tt__space_free(&t.found);
    free(t.run_of);
    return status;
}

tt_status tt__search_open(tt__session *s, const tt__problem *p, const tt__limits *limits, tt__search *out) {
    *out = (tt__search){.problem = *p, .limits = *limits, .part = s->call->part, .best = TT__NOTHING};
    out->t = tt__template_set_for(s->templates, p);
    if (!out->t)
        return tt__fail(TT_E_UNSUPPORTED, "no kernel template does %s", p->op);
    if (!s->presumed)
        TT_TRY(tt__store_problem(s->store, p, &out->problem_id));
    TT_TRY(enumerate(s, out));
    if (!s->presumed) {
        TT_TRY(add_incumbent(s, out));
        TT_TRY(add_anchor(s, out));
        TT_TRY(take_over_all(s, out));
    }
    go_on(out);
    set_aside(out, tt__search_most(out));
    tt__search_aim(out);
    return TT_OK;
}

tt_status tt__search_try(tt__session *s, tt__search *search, size_t index) {
    size_t id;
    tt__trial trial;
    if (search->known[index] != TT__UNTRIED)
        return TT_OK;
    TT_TRY(tt__search_submit(s, search, index));
    while (search->known[index] == TT__PENDING) {
        TT_TRY(s->backend->ops->wait(s->backend, &id, &trial));
        TT_TRY(tt__search_take(s, search, id % TT__LANE_TRIALS, &trial));
    }
    return TT_OK;
}

void tt__search_close(tt__search *search) {
    for (size_t i = 0; search->trials && i < search->space.n; i++)
        free(search->trials[i].reason);
    tt__space_free(&search->space);
    free(search->known);
    free(search->trials);
    free(search->again);
    free(search->confirmed);
    *search = (tt__search){.best = TT__NOTHING};
}

bool tt__search_wants_all(const tt__session *s, const tt__search *search) {
    return (!s->strategy || s->strategy == &tt__strategy_exhaustive) &&
           least_trials(search) >= search->space.n && !search->space.sampled &&
           isinf(search->limits.deadline_s);
}

/* ---- Widening ------------------------------------------------------------------------------------------
 * The sample of a large space has good configurations, but hardly the best. So from time to time a search
 * adds the neighbours of its fastest ones, and goes on with all trials. */

enum {
    BEST = 3,   /* configurations that get neighbours at once */
    PAIRS = 256 /* neighbours of each that differ in two parameters */
};

static int by_config(const void *a, const void *b) {
    const tt__configuration *x = *(tt__configuration *const *)a, *y = *(tt__configuration *const *)b;
    int order = strcmp(x->t->kernel, y->t->kernel);
    return order ? order : strcmp(x->config, y->config);
}

/* Removes what the space has, and what is there twice. */
static tt_status keep_new(tt__space *found, const tt__space *space) {
    size_t n = found->n + space->n, kept = 0;
    const tt__configuration **sorted = calloc(n + 1, sizeof *sorted);
    if (!sorted)
        return tt__fail_memory(n * sizeof *sorted);
    for (size_t i = 0; i < space->n; i++)
        sorted[i] = &space->items[i];
    qsort(sorted, space->n, sizeof *sorted, by_config);
    for (size_t i = 0; i < found->n; i++) {
        const tt__configuration *c = &found->items[i];
        bool there = bsearch(&c, sorted, space->n, sizeof *sorted, by_config) != NULL;
        for (size_t k = 0; k < kept && !there; k++)
            there = strcmp(found->items[k].config, c->config) == 0 && found->items[k].t == c->t;
        if (!there)
            found->items[kept++] = *c;
    }
    found->n = kept;
    free(sorted);
    return TT_OK;
}

/* Copies member i of the old search behind the last of the new one. */
static void carry(tt__search *to, const tt__search *from, size_t i) {
    size_t at = to->space.n++;
    to->space.items[at] = from->space.items[i];
    to->known[at] = from->known[i];
    to->trials[at] = from->trials[i];
    if (from->best == (int64_t)i)
        to->best = (int64_t)at;
}

static void add_of(tt__search *to, const tt__space *found, const tt__template *t) {
    for (size_t i = 0; i < found->n; i++)
        if (found->items[i].t == t) {
            tt__configuration *c = &to->space.items[to->space.n++];
            *c = found->items[i];
            c->weight /= to->default_weight;
        }
}

tt_status tt__search_insert(tt__search *search, tt__space *found) {
    TT_TRY(keep_new(found, &search->space));
    size_t n = search->space.n + found->n;
    tt__search wide = *search;
    if (found->n == 0)
        return TT_OK;
    wide.space.items = calloc(n, sizeof *wide.space.items);
    wide.known = calloc(n, sizeof *wide.known);
    wide.trials = calloc(n, sizeof *wide.trials);
    wide.space.n = 0;
    if (!wide.space.items || !wide.known || !wide.trials) {
        free(wide.space.items);
        free(wide.known);
        free(wide.trials);
        return tt__fail_memory(n * sizeof *wide.space.items);
    }
    for (size_t first = 0, end; first < search->space.n; first = end) {
        const tt__template *t = search->space.items[first].t;
        end = tt__space_end_of_template(&search->space, first);
        for (size_t i = first; i < end; i++)
            carry(&wide, search, i);
        add_of(&wide, found, t);
    }
    for (size_t i = 0; i < found->n && wide.space.n < n; i++)
        if (tt__space_member(&wide.space, found->items[i].t->kernel, NULL) == TT__NOTHING)
            add_of(&wide, found, found->items[i].t);
    free(search->space.items);
    free(search->known);
    free(search->trials);
    *search = wide;
    return TT_OK;
}

tt_status tt__search_widen(tt__search *search, const tt__gpu *gpu) {
    tt__space found = {0};
    tt_status status = TT_OK;
    const tt__view view = {.space = &search->space, .known = search->known, .trials = search->trials};
    size_t leaders[BEST + 1];
    const size_t n = tt__strategy_leaders(leaders, BEST, &view);
    for (size_t k = 0; k < n; k++) {
        const tt__configuration *c = &search->space.items[leaders[k]];
        TT_GOTO(tt__space_neighbours(&found, c->t, gpu, &search->problem, c->config, PAIRS));
    }
    TT_GOTO(tt__part_keep(&search->part, &search->problem, &found));
    TT_GOTO(tt__search_insert(search, &found));
out:
    tt__space_free(&found);
    return status;
}

/* ---- Progress ------------------------------------------------------------------------------------------ */

/* Assumes that a search goes on as it went, and that later problems take as long as those so far. The time
 * before, as of the copy's search, says nothing about this search. */
static double eta(const tt__session *s, const tt__search *search) {
    const double now_s = tt__now_s(), ended = (double)(s->kind * s->n_problems + s->n_ended);
    const double later = (double)(s->n_kinds * s->n_problems) - ended - 1;
    const double left = fmax((double)search->wanted - (double)tt__search_counted(search), 0);
    const double here_s = (now_s - search->began_s) * left / (double)search->n_measured;
    return search->n_measured > 0 ? here_s + later * (now_s + here_s - s->started_s) / (ended + 1) : -1;
}

void tt__search_progress(const tt__session *s, const tt__search *search, const char *phase) {
    char text[TT__PROBLEM_TEXT_MAX];
    if (!s->opts->on_progress || s->in_background)
        return;
    const tt__problem *p = &s->call->problems[s->at_problem]; /* also while its copy is searched */
    tt_progress progress = {
        .problem = s->at_problem,
        .n_problems = s->n_problems,
        .rows = tt__problem_number(p, "rows", 0),
        .cols = tt__problem_number(p, "cols", 0),
        .text = tt__problem_text(text, p),
        .phase = phase,
        .done = tt__search_counted(search),
        .total = search->wanted > tt__search_counted(search) ? search->wanted : tt__search_counted(search),
        .failed = search->n_failed,
        .best_config = "",
        .eta_s = eta(s, search),
    };
    if (search->best != TT__NOTHING) {
        const tt__configuration *best = &search->space.items[search->best];
        progress.best_us = search->trials[search->best].time_us / best->weight;
        progress.best_config = best->config;
    }
    s->opts->on_progress(s->opts->user, &progress);
}

/* ---- The schedule of the finals ------------------------------------------------------------------------ */

const double tt__within_reach = 1.06;

const tt__stage_of_finals tt__stages[TT__STAGES] = {
    /* the same in every heat */
    {{7, 7, 0.03, 1, false, false}, TT__CONTENDERS_MAX, TT__COPIES_MAX, 1.03, 1, 2},
    {{9, 21, 0.04, 1, false, false}, 11, 2, 1.02, 4, 7},
    {{22, 30, 0.05, 1, false, false}, 6, 1, 1.01, 4, 15},
    {{TT__FINAL_ROUNDS, TT__FINAL_ROUNDS_MAX, 0.16, 1, false, false}, 0, 0, 0, 3, TT__FINAL_ROUNDS},
};

const tt__rounds tt__rounds_if_one_stage = {11, 30, 0.16, 1, false, false};

/* Is there less time than the stages need for any number of entrants? */
static bool is_hurried(const tt__search *search) {
    static const double least_s = 0.1;
    return isfinite(search->limits.deadline_s) && search->limits.finals_s > 0 &&
           search->limits.finals_s < least_s;
}

bool tt__schedule_has_one_stage(const tt__search *search) {
    return isfinite(search->limits.deadline_s) && search->best != TT__NOTHING &&
           (is_hurried(search) || tt__search_best_us(search) >= TT__LONG_US);
}

bool tt__search_passed(const tt__search *search, int64_t i) {
    return search->known[i] == TT__TRIED && search->trials[i].status == TT__TRIAL_OK &&
           !tt__search_has_other_bits(search, i);
}

bool tt__search_is_beyond(const tt__search *search, int64_t i, double times) {
    return search->trials[i].time_us > search->trials[search->best].time_us * times;
}

/* With n contenders. Launches take a little longer than their times: there is the flush, too. */
static double last_s(const tt__search *search, size_t n) {
    static const double slack = 1.5, setup_s = 0.1;
    enum { BESIDE_US = 60 };
    const bool one_stage = tt__schedule_has_one_stage(search), hurried = is_hurried(search);
    const double sample_us = tt__sample_us(tt__search_best_us(search), search->problem.in_graph);
    double launch_s = (sample_us + BESIDE_US) * 1e-6, sum_s = 0;
    size_t beside = search->t->operation->moves ? TT__COPIES_MAX : 1; /* the default is at least one */
    for (size_t i = one_stage ? TT__STAGES - 1 : 0; i < TT__STAGES; i++) {
        const tt__rounds *rounds = one_stage ? &tt__rounds_if_one_stage : &tt__stages[i].rounds;
        const size_t next = tt__stages[i].contenders;
        if (next > 0 && n <= next)
            continue;
        sum_s += fmax(hurried ? 0 : rounds->worth_s, rounds->least * (double)(n + beside) * launch_s);
        n = next > 0 ? next : n;
    }
    return (hurried ? 0 : setup_s) + slack * sum_s;
}

size_t tt__schedule_contenders(const tt__search *search, double *expected_s) {
    const size_t most =
        tt__schedule_has_one_stage(search) ? tt__stages[TT__STAGES - 2].contenders : TT__CONTENDERS_MAX;
    size_t n = 0;
    for (int64_t i = 0; i < (int64_t)search->space.n && n < most; i++)
        n += tt__search_passed(search, i) && !tt__search_is_beyond(search, i, tt__within_reach);
    while ((*expected_s = last_s(search, n)) > search->limits.finals_s && n > 1)
        n--;
    return n;
}

/* ---- Limits: docs/search.md shows what each level of effort finds on recorded spaces ------------------- */

/* A small space has few choices. Without a cost model it is tried whole, in its own order, which keeps
 * compilers busy. */
static const size_t standard_if_short = 256, standard_whole = 192;
/* bench/notes/permute.md, "When a search may end". */
static const size_t standard_patience = 3;
static const size_t trials_of[] = {
    [TT_EFFORT_STANDARD] = 128, [TT_EFFORT_QUICK] = 48, [TT_EFFORT_EXHAUSTIVE] = SIZE_MAX};
/* The part of a budget that finals may take. */
static const double for_finals = 0.25;
enum { EFFORTS = sizeof trials_of / sizeof *trials_of };

const tt__limits tt__no_limits = {SIZE_MAX, INFINITY, INFINITY, 0, 0, 0, 0};

tt_status tt__limits_check(const tt_tune_opts *opts) {
    if ((unsigned)opts->effort >= EFFORTS)
        return tt__fail(TT_E_INVALID, "effort is %d: there are TT_EFFORT_STANDARD, _QUICK and _EXHAUSTIVE",
                        (int)opts->effort);
    if (!(opts->budget_s >= 0))
        return tt__fail(TT_E_INVALID, "budget_s is %g: it must be positive, or 0 for none", opts->budget_s);
    return TT_OK;
}

tt__limits tt__limits_of(const tt_tune_opts *opts, double end_s, double share) {
    tt__limits limits = {
        opts->max_trials ? opts->max_trials : trials_of[opts->effort], INFINITY, INFINITY, 0, 0, 0, 0};
    if (opts->effort == TT_EFFORT_STANDARD && !opts->max_trials) {
        limits.trials_if_short = standard_if_short;
        limits.whole = standard_whole;
        limits.patience = standard_patience;
    }
    double now = tt__now_s();
    if (isfinite(end_s)) {
        limits.deadline_s = now + (end_s - now) * share;
        limits.finals_s = (limits.deadline_s - now) * for_finals;
    }
    return limits;
}

tt__limits tt__limits_of_copy(const tt__limits *problem) {
    tt__limits limits = *problem;
    double now = tt__now_s();
    limits.finals_s = 0;
    limits.trials_if_short = limits.whole = limits.patience = 0;
    if (limits.trials != SIZE_MAX)
        limits.trials -= limits.trials / 4;
    if (isfinite(limits.deadline_s))
        limits.deadline_s = now + (limits.deadline_s - now) / 8;
    return limits;
}
