/*
 * Compares samples of the finals in pairs, so that drift and lucky samples do not decide. The stored winner
 * stays until another beats it by more than the noise.
 */
#include "tuner/finals/winner.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/str.h"
#include "kernel/load/set.h"
#include "kernel/space/operation.h"
#include "tuner/finals/energy_finals.h"
#include "tuner/finals/same_bits.h"

/* Is entrant a slower than entrant b beyond the noise? */
static bool is_slower(const tt__finals *f, int a, int b) {
    return tt__compare_trials(&f->trials[a], &f->trials[b]).low > 1.0;
}

static int choose_contender(const tt__finals *f) {
    const int best = tt__finals_best(f);
    if (tt__finals_took_part(f, f->at_incumbent) && !is_slower(f, f->at_incumbent, best))
        return f->at_incumbent;
    int first = best; /* of those as fast, so that the result is always the same */
    for (int i = 0; i < (int)f->n_contenders; i++) {
        if (!tt__finals_took_part(f, i))
            continue;
        if (!is_slower(f, i, best) &&
            tt__finals_middle_us(f, i) < tt__indistinct * tt__finals_middle_us(f, best) &&
            f->entrants[i].index < f->entrants[first].index)
            first = i;
    }
    return first;
}

/* Tuning never makes a kernel slower: a default that the screening kept out wins if it is faster than the
 * best contender in the same rounds, beyond the noise. */
static int choose(const tt__finals *f) {
    int at = choose_contender(f), normal = f->at_default;
    bool comparable = f->interleaved && tt__finals_took_part(f, normal) &&
                      f->trials[normal].n_samples == f->trials[at].n_samples;
    return comparable && is_slower(f, at, normal) ? normal : at;
}

/* The fastest copy by the finals. Screening may have had a lucky sample. */
static int best_copy(const tt__finals *f, const tt__search *copy) {
    int best = TT__NOBODY;
    for (int i = 0; i < (int)f->n; i++)
        if (f->entrants[i].of == copy && tt__finals_took_part(f, i) &&
            (best == TT__NOBODY || f->trials[i].time_us < f->trials[best].time_us))
            best = i;
    return best;
}

/* The operation's metrics for the winner. */
static tt_status fill_metrics(const tt__session *s, const tt__search *search, const tt__winner *w,
                              tt_result *result) {
    const tt__operation *operation = search->t->operation;
    for (size_t i = 0; i < operation->n_metrics; i++) {
        double value;
        size_t used = strlen(result->metrics);
        TT_TRY(tt__metric_value(&value, search->t, i, &s->gpu, &search->problem, w->config, w->time_us));
        if (strcmp(operation->metrics[i].name, "gbps") == 0)
            result->gbps = value;
        size_t room = sizeof result->metrics - used;
        int n = tt__format(result->metrics + used, room, "%s%s %.6g", used ? ", " : "",
                           operation->metrics[i].name, value);
        if (n < 0 || (size_t)n >= room)
            result->metrics[used] = '\0'; /* an incomplete number is left out */
    }
    return TT_OK;
}

static tt_status fill_result(const tt__session *s, const tt__search *search, const tt__winner *w,
                             tt_result *result) {
    tt__copy(result->kernel, sizeof result->kernel, w->kernel);
    tt__copy(result->config, sizeof result->config, w->config);
    result->time_us = w->time_us;
    result->gbps = tt__problem_gbps(&search->problem, w->time_us);
    TT_TRY(fill_metrics(s, search, w, result));
    result->copy_us = w->copy_us;
    result->copy_fraction = w->copy_fraction;
    result->peak_fraction = s->gpu.peak_gbps > 0 ? result->gbps / s->gpu.peak_gbps : 0;
    result->speedup_vs_default = w->speedup_vs_default;
    tt__bits_text(result->bits, w->bits);
    result->batch_invariant = w->batch_invariant;
    result->trials = search->n_tried - search->n_skipped;
    result->failed = search->n_failed;
    return TT_OK;
}

/* Over the default; 0: not known. If the finals have left it out, its screening counts. */
static double speedup(const tt__search *search, const tt__finals *f, const tt__trial *winner) {
    if (tt__finals_took_part(f, f->at_default))
        return tt__compare_trials(&f->trials[f->at_default], winner).median;
    int64_t normal = f->at_default == TT__NOBODY ? tt__strategy_default(&search->space, (size_t)search->best)
                                                 : TT__NOTHING;
    bool known = normal != TT__NOTHING && search->known[normal] == TT__TRIED &&
                 search->trials[normal].status == TT__TRIAL_OK;
    const double times = known && tt__search_has_other_bits(search, normal) ? TT__OTHER_TIMES : 1;
    return known ? search->trials[normal].time_us / times / winner->time_us : 0;
}

/* A part without the default does not tell it. What an earlier run found out about the same winner stays. */
static tt_status keep_speedup(const tt__session *s, const tt__search *search, tt__winner *w) {
    tt__winner old;
    bool found;
    if (w->speedup_vs_default > 0)
        return TT_OK;
    TT_TRY(tt__store_winner_get(s->store, s->gpu_id, search->problem_id, &old, &found));
    if (found && strcmp(old.hash, w->hash) == 0 && strcmp(old.config, w->config) == 0)
        w->speedup_vs_default = old.speedup_vs_default;
    return TT_OK;
}

static tt_status crown(tt__session *s, const tt__search *search, const tt__search *copy, const tt__finals *f,
                       tt_result *result) {
    int at = choose(f);
    if (s->call->objective != TT__OBJECTIVE_TIME && f->interleaved)
        at = tt__energy_elect(s, search, f, at);
    else if (s->call->objective != TT__OBJECTIVE_TIME && f->status == TT_OK)
        tt__session_message(s, "the fastest wins, as energies are unknown: no finals were held");
    int at_copy = best_copy(f, copy);
    const tt__candidate *c = f->entrants[at].c;
    const tt__trial *trial = &f->trials[at];
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
    if (at_copy != TT__NOBODY) {
        w.copy_us = f->trials[at_copy].time_us;
        w.copy_fraction = tt__compare_trials(&f->trials[at_copy], trial).median * c->weight;
    }
    w.speedup_vs_default = speedup(search, f, trial);
    w.bits = f->entrants[at].of->trials[f->entrants[at].index].bits;
    if (trial->bits && trial->bits != w.bits)
        w.bits = TT__BITS_UNSTABLE; /* launches of the finals differed */
    TT_TRY(keep_speedup(s, search, &w));
    int64_t id;
    TT_TRY(tt__store_config(s->store, c->t->kernel, c->t->op, c->t->hash, c->config, &id));
    TT_TRY(tt__store_winner_put(s->store, s->run_id, search->problem_id, id, &w));
    TT_TRY(fill_result(s, search, &w, result));
    return tt__same_bits_price(s, f, at, result);
}

/* A valid one was measured with the same template and environment; except in a replay, here. */
static tt_status valid_winner(const tt__session *s, const tt__search *search, tt__winner *w, bool *holds) {
    TT_TRY(tt__store_winner_get(s->store, s->gpu_id, search->problem_id, w, holds));
    const tt__template *t = *holds ? tt__template_set_find(s->templates, w->kernel) : NULL;
    *holds = t && (s->opts->replay || strcmp(w->source, "replayed") != 0) && strcmp(t->hash, w->hash) == 0 &&
             tt__same_env(&w->env, &s->env);
    return TT_OK;
}

/* Without finals, screenings decide. To replace the stored winner, they have to beat its own finals, too. */
static tt_status recall_incumbent(const tt__session *s, const tt__search *search, tt__finals *f) {
    tt__winner w;
    bool holds;
    if (f->interleaved || s->opts->force || f->at_incumbent == TT__NOBODY)
        return TT_OK;
    TT_TRY(valid_winner(s, search, &w, &holds));
    const tt__candidate *c = f->entrants[f->at_incumbent].c;
    tt__trial *trial = &f->trials[f->at_incumbent];
    holds = holds && strcmp(w.kernel, c->t->kernel) == 0 && strcmp(w.config, c->config) == 0; /* still */
    if (holds && w.time_us * c->weight < trial->time_us)
        *trial = (tt__trial){.time_us = w.time_us * c->weight};
    return TT_OK;
}

tt_status tt__elect(tt__session *s, const tt__search *search, const tt__search *copy, tt__finals *f,
                    tt_result *result) {
    TT_TRY(tt__finals_conclude(s, f));
    TT_TRY(recall_incumbent(s, search, f));
    return crown(s, search, copy, f, result);
}

tt_status tt__stored_winner(tt__session *s, const tt__search *search, tt_result *result, bool *holds) {
    tt__winner w;
    *holds = false;
    if (search->n_measured > 0 || s->call->objective != TT__OBJECTIVE_TIME)
        return TT_OK;
    TT_TRY(valid_winner(s, search, &w, holds));
    return *holds ? fill_result(s, search, &w, result) : TT_OK;
}
