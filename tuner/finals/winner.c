/*
 * Compares samples of the finals in pairs, so that drift and lucky samples do not decide. The stored winner
 * stays until another beats it by more than the noise.
 */
#include "tuner/finals/winner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "db/store.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/search/search.h"

/* ---- Energies -------------------------------------------------------------------------------------------
 */

tt_status tt__energy_measure(const tt__session *s, const tt__search *search,
                             const tt__configuration *const *c, size_t n, tt__trial *trials) {
    const tt__rounds rounds = {.least = 7, .most = 15, .worth_s = 0.1, .loads = 1};
    tt__backend *b = s->backend;
    double lap_us = 0;
    if (s->opts->replay)
        return tt__fail(TT_E_UNSUPPORTED, "a recording has no energies: measure them on such a GPU");
    if (search->problem.in_graph)
        return tt__fail(TT_E_UNSUPPORTED,
                        "they are measured in separate launches, and the problem is in a graph");
    for (size_t i = 0; i < n; i++)
        lap_us += trials[i].time_us;
    if (*s->gpu.mig)
        return tt__fail(TT_E_UNSUPPORTED,
                        "NVML does not count the energy of a MIG instance: use the whole GPU");
    if (!b->counts_energy)
        return tt__energy_uncounted();
    const double most_s = tt__energy_most_s(n, tt__energy_train_s, lap_us),
                 left_s = fmax(search->limits.deadline_s + search->limits.energy_s - tt__now_s(), 0);
    if (most_s > left_s)
        return tt__fail(TT_E_UNSUPPORTED,
                        "they take up to %.0f s to measure, and the budget leaves %.0f s: allow more", most_s,
                        left_s);
    TT_TRY(tt__backend_finals(b, c, n, rounds, lap_us, tt__energy_train_s, trials));
    for (size_t i = 0; i < n; i++) {
        int64_t id;
        if (!tt__energy_known(&trials[i].energy))
            continue;
        TT_TRY(tt__store_config(s->store, c[i]->t->kernel, c[i]->t->op, c[i]->t->hash, c[i]->config, &id));
        TT_TRY(tt__store_energy_put(s->store, s->gpu_id, search->problem_id, id, &trials[i].energy));
    }
    return TT_OK;
}

/* Appends the fastest contenders and the default to places[]. */
static size_t find_leaders(const tt__finals *f, int fastest, int places[TT__ENERGY_LEADERS_MAX + 1]) {
    size_t n = 0;
    places[n++] = fastest;
    while (n < TT__ENERGY_LEADERS_MAX) {
        int next = TT__NOBODY;
        for (int i = 0; i < (int)f->n_contenders; i++) {
            bool taken = f->trials[i].status != TT__TRIAL_OK || !(f->trials[i].time_us > 0);
            for (size_t k = 0; k < n; k++)
                taken = taken || places[k] == i;
            if (!taken && (next == TT__NOBODY || tt__finals_middle_us(f, i) < tt__finals_middle_us(f, next)))
                next = i;
        }
        if (next == TT__NOBODY)
            break;
        places[n++] = next;
    }
    for (size_t k = 0; k < n; k++)
        if (places[k] == f->at_default)
            return n;
    if (tt__finals_took_part(f, f->at_default))
        places[n++] = f->at_default;
    return n;
}

/* The entrant that takes the least energy (or energy times time) of the fastest contenders, if that is beyond
 * the noise; else `fastest`. Says what it found. A failure changes nothing, either. */
static int elect_by_energy(const tt__session *s, const tt__search *search, const tt__finals *f, int fastest) {
    const bool edp = s->call->objective == TT__OBJECTIVE_EDP;
    const char *what = edp ? "energy times time" : "energy";
    int places[TT__ENERGY_LEADERS_MAX + 1], best = fastest;
    const tt__configuration *c[TT__ENERGY_LEADERS_MAX + 1];
    double least = 1, ratio;
    size_t unclear = 0;
    if (search->t->operation->objective >= 0) {
        tt__session_message(s, "--objective is ignored: the kernel has an objective of its own");
        return fastest;
    }
    size_t n = find_leaders(f, fastest, places);
    tt__trial *trials = calloc(n, sizeof *trials);
    for (size_t i = 0; i < n; i++)
        c[i] = f->entrants[places[i]].c;
    for (size_t i = 0; trials && i < n; i++)
        trials[i].time_us = f->trials[places[i]].time_us;
    tt__search_progress(s, search, "energy");
    tt_status status =
        trials ? tt__energy_measure(s, search, c, n, trials) : tt__fail_memory(n * sizeof *trials);
    for (size_t i = 1; status == TT_OK && i < n; i++) {
        tt__energy_verdict v = tt__energy_compare(&trials[i].energy, &trials[0].energy, edp, &ratio);
        unclear += v == TT__ENERGY_UNKNOWN;
        if (v != TT__ENERGY_LESS || ratio >= least)
            continue;
        best = places[i];
        least = ratio;
    }
    if (status != TT_OK)
        tt__session_message(s, "the fastest wins, as energies are unknown: %s", tt_last_error());
    else if (best != fastest)
        tt__session_message(s, "%s: %.1f %% less than the fastest has %s", what, 100 * (1 - least),
                            f->entrants[best].c->config);
    else if (unclear)
        tt__session_message(
            s, "cannot tell which of %zu has the least %s: the noise is larger; the fastest wins", n, what);
    else
        tt__session_message(s, "the fastest also has the least %s of %zu", what, n);
    free(trials);
    return best;
}

/* ---- Equal bits -----------------------------------------------------------------------------------------
 */

/*
 * The election within a class of equal bits.
 *
 * Screening hashes one result of each configuration, which makes classes that are right but for luck: of a
 * result of few elements, different sums may agree. So each contender is looked at once more before the
 * finals, on several inputs and in several launches (tt__bits_find), beside the configuration that stands
 * for the class. What differs there leaves the class, and the next one may enter.
 *
 * The fastest with other bits takes part in the last stage. It cannot win, and shows the price.
 */

/* ---- The class ------------------------------------------------------------------------------------------
 */

/* What a configuration is called in messages. */
static const char *name_of(const tt__configuration *c) {
    return *c->config ? c->config : "the only configuration";
}

void tt__same_bits_none(const tt__session *s, const tt__search *search, tt_result *result) {
    const int64_t i = tt__search_anchor(s, search);
    const char *which = s->opts->class_of ? "" : "the default, ", *more = s->opts->class_of ? "" : ",";
    const tt__screened *trial = i == TT__NOTHING ? NULL : &search->trials[i];
    const char *name = trial ? name_of(&search->space.items[i]) : "";
    result->trials = search->n_tried - search->n_skipped;
    result->failed = search->n_failed;
    if (!trial)
        tt__format(result->note, sizeof result->note,
                   "its default is not among the configurations: name one with --class-of");
    else if (search->known[i] != TT__TRIED || trial->status != TT__TRIAL_OK)
        tt__format(result->note, sizeof result->note, "%s%s%s did not pass: name another one with --class-of",
                   which, name, more);
    else if (trial->bits == TT__BITS_UNSTABLE)
        tt__format(result->note, sizeof result->note,
                   "%s%s%s is unstable: two launches of it gave other bits. Name another one with --class-of",
                   which, name, more);
    else
        tt__format(result->note, sizeof result->note,
                   "it is not known which bits %s%s%s computes: the recording is of an older version", which,
                   name, more);
    tt__clean(result->note, TT__CLEAN_TEXT);
}

static int by_bits(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t count_classes(int64_t *bits, size_t n) {
    size_t classes = 0;
    qsort(bits, n, sizeof *bits, by_bits);
    for (size_t k = 0; k < n; k++)
        classes += bits[k] > TT__BITS_UNSTABLE && (k == 0 || bits[k] != bits[k - 1]);
    return classes;
}

/* How many classes there are, and which configurations are unstable. */
static tt_status say_classes(const tt__session *s, const tt__search *search, const tt_result *result) {
    size_t n = 0, in_class = 0, n_unstable = 0;
    int64_t unstable = TT__NOBODY;
    char text[TT__BITS_TEXT_MAX];
    int64_t *bits = calloc(search->space.n, sizeof *bits);
    if (!bits)
        return tt__fail_memory(search->space.n * sizeof *bits);
    for (int64_t i = 0; i < (int64_t)search->space.n; i++) {
        const tt__screened *trial = &search->trials[i];
        if (search->known[i] != TT__TRIED || trial->status != TT__TRIAL_OK)
            continue;
        bits[n++] = trial->bits;
        in_class += trial->bits == search->bits;
        if (trial->bits != TT__BITS_UNSTABLE)
            continue;
        n_unstable++;
        if (unstable == TT__NOBODY || trial->time_us < search->trials[unstable].time_us)
            unstable = i;
    }
    tt__session_message(s, "%s: %zu of %zu configurations are in the class %s, of %zu", result->problem,
                        in_class, n, tt__bits_text(text, search->bits), count_classes(bits, n));
    if (n_unstable)
        tt__session_message(
            s, "%s: %zu configurations are unstable, since two launches differ; the fastest is %s",
            result->problem, n_unstable, name_of(&search->space.items[unstable]));
    free(bits);
    return TT_OK;
}

/* ---- A closer look ------------------------------------------------------------------------------------- */

/* Is it of the class on all inputs? What cannot be looked at is not. */
static tt_status confirm(const tt__session *s, tt__search *search, int64_t i, bool *out) {
    const tt__bits_ask ask = {0};
    tt__bits_found found;
    *out = search->confirmed[i];
    if (*out)
        return TT_OK;
    tt_status status = s->backend->ops->bits(s->backend, &search->space.items[i], &ask, &found);
    if (status == TT_E_INTERRUPTED)
        return status;
    if (status == TT_OK && search->bits_on_all == TT__BITS_UNKNOWN && found.bits != TT__BITS_UNSTABLE)
        search->bits_on_all = found.bits;
    *out = search->confirmed[i] =
        status == TT_OK && found.bits != TT__BITS_UNSTABLE && found.bits == search->bits_on_all;
    return *out ? TT_OK
                : tt__search_expel(s, search, (size_t)i, status == TT_OK ? found.bits : TT__BITS_UNSTABLE);
}

/* The one that stands for the class comes first. *all: no contender had to leave it. */
static tt_status confirm_all(const tt__session *s, tt__search *search, const tt__finals *f, bool *all) {
    const int64_t anchor = tt__search_anchor(s, search);
    *all = true;
    if (!s->backend->ops->bits || search->bits == TT__BITS_EXACT)
        return TT_OK;
    if (!search->confirmed && !(search->confirmed = calloc(search->space.n, sizeof *search->confirmed)))
        return tt__fail_memory(search->space.n);
    if (anchor != TT__NOTHING && tt__search_passed(search, anchor))
        TT_TRY(confirm(s, search, anchor, all));
    for (size_t k = 0; k < f->n_contenders && *all; k++)
        TT_TRY(confirm(s, search, f->entrants[k].index, all));
    return TT_OK;
}

tt_status tt__same_bits_nominate(const tt__session *s, tt__search *search, const tt__search *copy,
                                 tt__finals *f, tt_result *result, bool *none) {
    bool all = true;
    *none = false;
    if (!s->opts->same_bits)
        return tt__finals_nominate(s, search, copy, f);
    do {
        const int64_t anchor = tt__search_anchor(s, search);
        *none = !search->bits || search->best == TT__NOTHING ||
                (anchor != TT__NOTHING && !tt__search_passed(search, anchor));
        if (*none)
            break;
        TT_TRY(tt__finals_nominate(s, search, copy, f));
        TT_TRY(confirm_all(s, search, f, &all));
    } while (!all);
    if (*none)
        tt__same_bits_none(s, search, result);
    else
        TT_TRY(say_classes(s, search, result));
    return TT_OK;
}

/* ---- The price ----------------------------------------------------------------------------------------- */

/* In how many elements the fastest differs. It stays unknown in a replay. */
static tt_status differ(const tt__session *s, const tt__finals *f, int at, tt_result *result) {
    const tt__bits_ask keep = {.keeps = true, .first_only = true},
                       compare = {.compares = true, .first_only = true};
    tt__bits_found found;
    if (!s->backend->ops->bits)
        return TT_OK;
    tt_status status = s->backend->ops->bits(s->backend, f->entrants[at].c, &keep, &found);
    if (status == TT_OK)
        status = s->backend->ops->bits(s->backend, f->entrants[f->at_other].c, &compare, &found);
    if (status == TT_OK && found.n > 0) {
        result->differing = (double)found.n_differ / (double)found.n;
        result->ulps = found.ulps;
    }
    return status == TT_E_INTERRUPTED ? status : TT_OK;
}

/* Fills in and says what equal bits cost, after the finals elected an entrant. */
static tt_status say_price(const tt__session *s, const tt__finals *f, int at, tt_result *result) {
    const char *class_of = s->opts->class_of ? s->opts->class_of : "the default";
    char where[128] = ", whose bits are others";
    if (!s->opts->same_bits)
        return TT_OK;
    result->same_bits_cost = 1;
    if (f->at_other != TT__NOBODY && tt__finals_took_part(f, f->at_other))
        result->same_bits_cost = tt__compare_trials(&f->trials[at], &f->trials[f->at_other]).median;
    if (result->same_bits_cost <= 1) {
        result->same_bits_cost = 1;
        tt__session_message(s, "%s: the same bits as %s, and none is faster", result->problem, class_of);
        return TT_OK;
    }
    TT_TRY(differ(s, f, at, result));
    const tt__entrant *other = &f->entrants[f->at_other];
    if (other->of->trials[other->index].bits == TT__BITS_UNSTABLE)
        tt__copy(where, sizeof where, ", which is unstable");
    else if (result->differing > 0 && result->ulps == 1)
        tt__format(where, sizeof where, ", which differs in the last bit of %.3g %% of elements",
                   100 * result->differing);
    else if (result->differing > 0 && result->ulps > 1)
        tt__format(where, sizeof where,
                   ", which differs by up to %.0f units in the last place in %.3g %% of elements",
                   result->ulps, 100 * result->differing);
    tt__session_message(s, "%s: the same bits as %s, %.1f %% slower than the fastest (%s)%s", result->problem,
                        class_of, 100 * (result->same_bits_cost - 1), name_of(other->c), where);
    return TT_OK;
}

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
 * best contender in the same rounds, beyond the noise, or if the finals found all of those wrong. */
static int choose(const tt__finals *f) {
    const int normal = f->at_default;
    if (tt__finals_best(f) == TT__NOBODY)
        return tt__finals_took_part(f, normal) ? normal : TT__NOBODY;
    const int at = choose_contender(f);
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
    int64_t normal =
        f->at_default == TT__NOBODY ? tt__space_default(&search->space, (size_t)search->best) : TT__NOTHING;
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
        at = elect_by_energy(s, search, f, at);
    else if (s->call->objective != TT__OBJECTIVE_TIME && f->status == TT_OK)
        tt__session_message(s, "the fastest wins, as energies are unknown: no finals were held");
    int at_copy = best_copy(f, copy);
    const tt__configuration *c = f->entrants[at].c;
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
    return say_price(s, f, at, result);
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
    const tt__configuration *c = f->entrants[f->at_incumbent].c;
    tt__trial *trial = &f->trials[f->at_incumbent];
    holds = holds && strcmp(w.kernel, c->t->kernel) == 0 && strcmp(w.config, c->config) == 0; /* still */
    if (holds && w.time_us * c->weight < trial->time_us)
        *trial = (tt__trial){.time_us = w.time_us * c->weight};
    return TT_OK;
}

tt_status tt__winner_revoke(const tt__session *s, const tt__search *search, const tt__finals *f) {
    tt__winner w;
    bool found;
    char text[TT__PROBLEM_TEXT_MAX];
    if (s->opts->replay || s->call->stored)
        return TT_OK;
    TT_TRY(tt__store_winner_get(s->store, s->gpu_id, search->problem_id, &w, &found));
    const int64_t i = found ? tt__space_member(&search->space, w.kernel, w.config) : TT__NOTHING;
    if (i == TT__NOTHING || strcmp(search->space.items[i].t->hash, w.hash) != 0 ||
        !tt__same_env(&w.env, &s->env)) /* of another driver: it may be right there */
        return TT_OK;
    const tt__trial_status status =
        f && f->at_incumbent != TT__NOBODY ? f->measured[f->at_incumbent].status : search->trials[i].status;
    if (status != TT__TRIAL_WRONG_RESULT && status != TT__TRIAL_CRASHED)
        return TT_OK;
    TT_TRY(tt__store_winner_remove(s->store, s->gpu_id, search->problem_id));
    tt__session_message(s, "%s: the stored winner is wrong, and was removed: %s %s",
                        tt__problem_text(text, &search->problem), w.kernel, w.config);
    return TT_OK;
}

tt_status tt__elect(tt__session *s, const tt__search *search, const tt__search *copy, tt__finals *f,
                    tt_result *result) {
    TT_TRY(tt__finals_conclude(s, f));
    TT_TRY(recall_incumbent(s, search, f));
    if (choose(f) != TT__NOBODY)
        return crown(s, search, copy, f, result);
    size_t first = 0; /* else some had returned */
    while (f->measured[first].status != TT__TRIAL_WRONG_RESULT)
        first++;
    result->trials = search->n_tried - search->n_skipped;
    result->failed = search->n_failed + f->n_contenders;
    tt__format(result->note, sizeof result->note,
               "the finals found all wrong that may win, the first %.60s: %.120s",
               name_of(f->entrants[first].c), f->measured[first].reason);
    tt__clean(result->note, TT__CLEAN_TEXT); /* the reason may be cut inside a character */
    return tt__winner_revoke(s, search, f);
}

tt_status tt__stored_winner(tt__session *s, const tt__search *search, tt_result *result, bool *holds) {
    tt__winner w;
    *holds = false;
    if (search->n_measured > 0 || s->call->objective != TT__OBJECTIVE_TIME)
        return TT_OK;
    TT_TRY(valid_winner(s, search, &w, holds));
    return *holds ? fill_result(s, search, &w, result) : TT_OK;
}
