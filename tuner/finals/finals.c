/*
 * The finals: which of the fastest is the fastest?
 *
 * Screening gives each configuration a few samples. The least of many noisy medians is partly luck: of a
 * hundred that are equally fast, with errors of 1 % each, the best looks 2.5 % faster than it is. So the best
 * are measured again, together, and only these samples decide.
 *
 * **Rounds.** A round launches every entrant once, in a new random order. What slows the GPU for a while
 * slows all of them, so the samples of a round are a pair for each two entrants, and their ratio has the
 * noise of a moment only. The median of the ratios, with an interval (tt__paired_ratio), tells whether one is
 * slower beyond the noise.
 *
 * **Stages.** To tell those in the lead apart takes many rounds; to drop those behind takes few. So each
 * stage (search/search.c) has fewer entrants than the one before, and more rounds. An error falls with the
 * square root of the number of samples, so the distance from the leader at which an entrant is dropped falls
 * too, from 3 % to 1 %. Times of two stages differ by up to 1 %, as clocks and temperature do. So all that
 * are still in are measured anew, no sample counts for two stages, and stages have different numbers of
 * rounds, which keeps samples of two stages from being paired.
 *
 * **Heats.** A GPU worker holds at most TT__FINALISTS_MAX kernels. Where screening says little, as for
 * launches of a few microseconds, more enter, and the first stage is held in several heats.
 *
 * **Who is never dropped.** The stored winner, because another one replaces it only if that is faster beyond
 * the noise, and the default, because it shows what tuning gained. What programs launch now enters, too, but
 * is dropped like others. The fastest copies enter for comparison alone.
 *
 * A budget leaves less time: long launches, and problems that get a part of a second, have the last stage
 * only, with as many rounds as fit. If a heat fails, or a recording lacks its times, the stage before it
 * decides, or the screening.
 */
#include "tuner/finals/finals.h"

#include <math.h>

#include "base/clock.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/noise.h"
#include "tuner/search/search.h"

const double tt__indistinct = 1.001;

/* With a budget, a default, or what programs launch now, that is slower by so much is not measured again:
 * that may take most of it. */
static const double hopeless = 1.25;

enum { BRIEF_HEATS = 2, SHORT_HEATS = 3 };

/* Rounds of long launches, if the time left is short. */
enum { LONG_LEAST = 5 };

/* Times of different stages differ by up to 1 %. An exhaustive run should show how close all entrants are, so
 * they stay until the last stage, which takes so many times as long. */
enum { ALL_TIMES = 2 };

/* Does the best take less than this, and is there no budget? */
static bool is_below(const tt__session *s, const tt__search *search, double us) {
    return isinf(s->end_s) && search->best != TT__NOTHING && tt__search_best_us(search) < us;
}

/* How many times TT__CONTENDERS_MAX may enter without a budget. */
static size_t heats_of(const tt__session *s, const tt__search *search) {
    return is_below(s, search, TT__SHORT_US)   ? SHORT_HEATS
           : is_below(s, search, TT__BRIEF_US) ? BRIEF_HEATS
                                               : 1;
}

/* Do all entrants stay until the last stage? */
static bool keeps_all(const tt__session *s) {
    return isinf(s->end_s) && s->opts->effort == TT_EFFORT_EXHAUSTIVE;
}

/* ---- Nominating ---------------------------------------------------------------------------------------- */

/* The place of an entrant, or f->n. */
static size_t place_of(const tt__finals *f, const tt__search *of, int64_t index) {
    size_t i = 0;
    while (i < f->n && f->entrants[i].c != &of->space.items[index])
        i++;
    return i;
}

static int enter(tt__finals *f, const tt__search *of, int64_t index) {
    const size_t at = place_of(f, of, index);
    if (at == f->n)
        f->entrants[f->n++] = (tt__entrant){.c = &of->space.items[index], .of = of, .index = index};
    return (int)at;
}

/* Enters the `most` fastest configurations of a search by screening. */
static void enter_best(tt__finals *f, const tt__search *search, size_t most, double within) {
    if (search->best == TT__NOTHING)
        return;
    for (size_t k = 0; k < most; k++) {
        int64_t next = TT__NOBODY;
        for (int64_t i = 0; i < (int64_t)search->space.n; i++)
            if (tt__search_passed(search, i) && !tt__search_is_beyond(search, i, within) &&
                place_of(f, search, i) == f->n &&
                (next == TT__NOBODY || search->trials[i].time_us < search->trials[next].time_us))
                next = i;
        if (next == TT__NOBODY)
            break;
        enter(f, search, next);
    }
}

/* Configurations that the finals need even if the search left them out: the stored winner, the leading
 * template's default, the one that stands for a class of equal bits, and what programs launch now. Members of
 * the space, or TT__NOBODY. */
enum { NEEDED = 4 };
static tt_status find_needed(const tt__session *s, const tt__search *search, int64_t needed[NEEDED]) {
    tt__winner w;
    bool found;
    const tt_choice *answer = tt__session_answer(s);
    TT_TRY(tt__store_winner_get(s->store, s->gpu_id, search->problem_id, &w, &found));
    needed[0] = found ? tt__space_member(&search->space, w.kernel, w.config) : TT__NOBODY;
    needed[1] = search->best == TT__NOTHING
                    ? TT__NOBODY
                    : tt__space_default(&search->space, (size_t)search->best); /* shows what tuning gained */
    needed[2] = tt__search_anchor(s, search);
    needed[3] = answer ? tt__space_member(&search->space, answer->kernel, answer->config) : TT__NOBODY;
    return TT_OK;
}

/* A trial may change the leading template, so each is found anew. A default, unlike the stored winner, may be
 * left out at the end of a budget; in a hurry, a compiler would take the rest of it. */
tt_status tt__finals_wants(const tt__session *s, const tt__search *search, size_t *n_before, int64_t *index) {
    int64_t needed[NEEDED];
    const tt__backend_ops *ops = s->backend->ops;
    for (*index = TT__NOBODY; *index == TT__NOBODY && *n_before < NEEDED;) {
        if (*n_before > 0 && ops->await_until)
            ops->await_until(s->backend, search->limits.deadline_s);
        TT_TRY(find_needed(s, search, needed));
        const int64_t at = needed[(*n_before)++];
        const bool is_default = at != TT__NOBODY && at == needed[1] && at != needed[0] && at != needed[2];
        if (at != TT__NOBODY && search->known[at] == TT__UNTRIED && !(is_default && tt__session_hurries(s)))
            *index = at;
    }
    return TT_OK;
}

/* The best of each earlier run's finals. */
typedef struct earlier {
    const tt__search *search;
    size_t n;
    struct {
        int64_t run_id, index;
        int n_samples; /* the last stage has most */
        double time_us;
    } runs[TT__CONTENDERS_MAX];
} earlier;

static tt_status note_earlier(void *user, const tt__trial_row *row) {
    earlier *e = user;
    int64_t index = tt__space_member(&e->search->space, row->kernel, row->config);
    size_t i = 0;
    if (index == TT__NOTHING || !tt__search_passed(e->search, index) || row->trial->status != TT__TRIAL_OK)
        return TT_OK;
    double time_us = row->trial->time_us * e->search->space.items[index].weight;
    while (i < e->n && e->runs[i].run_id != row->run_id)
        i++;
    if (i == TT__CONTENDERS_MAX)
        return TT_OK;
    bool later = i < e->n && row->trial->n_samples > e->runs[i].n_samples;
    bool faster = i < e->n && row->trial->n_samples == e->runs[i].n_samples && time_us < e->runs[i].time_us;
    if (i < e->n && !later && !faster)
        return TT_OK;
    e->n += i == e->n;
    e->runs[i].run_id = row->run_id;
    e->runs[i].index = index;
    e->runs[i].n_samples = row->trial->n_samples;
    e->runs[i].time_us = time_us;
    return TT_OK;
}

/* Several runs may each have found a winner, as those of a cluster. All of them enter. */
static tt_status enter_earlier(const tt__session *s, const tt__search *search, tt__finals *f) {
    earlier e = {.search = search};
    TT_TRY(tt__store_trials(s->store, s->gpu_id, &s->env, search->problem_id, TT__STAGE_FINAL, note_earlier,
                            &e));
    for (size_t i = 0; i < e.n; i++)
        enter(f, search, e.runs[i].index);
    return TT_OK;
}

/* Of those with other bits the fastest enters, if it is faster: the price of equal bits is what it gains. */
static void enter_other(tt__finals *f, const tt__search *search) {
    int64_t other = TT__NOBODY;
    for (int64_t i = 0; i < (int64_t)search->space.n; i++)
        if (tt__search_has_other_bits(search, i) &&
            (other == TT__NOBODY || search->trials[i].time_us < search->trials[other].time_us))
            other = i;
    if (other != TT__NOBODY && search->best != TT__NOTHING &&
        search->trials[other].time_us < TT__OTHER_TIMES * search->trials[search->best].time_us)
        f->at_other = enter(f, search, other);
}

static bool is_hopeful(const tt__session *s, const tt__search *search, int64_t index) {
    return index != TT__NOBODY && tt__search_passed(search, index) &&
           (isinf(s->end_s) || !tt__search_is_beyond(search, index, hopeless));
}

tt_status tt__finals_nominate(const tt__session *s, const tt__search *search, const tt__search *copy,
                              tt__finals *f) {
    int64_t needed[NEEDED];
    *f = (tt__finals){.at_default = TT__NOBODY, .at_incumbent = TT__NOBODY, .at_other = TT__NOBODY};
    TT_TRY(find_needed(s, search, needed));
    f->one_stage = tt__schedule_has_one_stage(search);
    f->stage = f->one_stage ? TT__STAGES - 1 : 0;
    if (s->call->only_finals)
        TT_TRY(enter_earlier(s, search, f));
    double expected_s;
    const size_t most = isinf(s->end_s) ? heats_of(s, search) * TT__CONTENDERS_MAX
                                        : tt__schedule_contenders(search, &expected_s);
    enter_best(f, search, most > f->n ? most - f->n : 0,
               s->call->defaults_only ? INFINITY : tt__within_reach);
    if (needed[0] != TT__NOBODY && tt__search_passed(search, needed[0]))
        f->at_incumbent = enter(f, search, needed[0]);
    if (is_hopeful(s, search, needed[3]))
        enter(f, search, needed[3]);
    f->n_contenders = f->n;
    if (is_hopeful(s, search, needed[1]))
        f->at_default = enter(f, search, needed[1]);
    enter_other(f, search);
    enter_best(f, copy, TT__COPIES_MAX, tt__within_reach);
    return TT_OK;
}

/* ---- Eliminating --------------------------------------------------------------------------------------- */

static bool is_measured(const tt__trial *t) {
    return t->status == TT__TRIAL_OK && t->time_us > 0;
}

/* The first place after the contenders and those that they are compared with. */
static size_t first_copy(const tt__finals *f) {
    return f->n_contenders + (f->at_default >= (int)f->n_contenders) + (f->at_other != TT__NOBODY);
}

bool tt__finals_took_part(const tt__finals *f, int at) {
    return at != TT__NOBODY && !f->entrants[at].out && is_measured(&f->trials[at]);
}

tt__ratio tt__compare_trials(const tt__trial *a, const tt__trial *b) {
    if (a->n_samples == b->n_samples && a->n_samples > 0)
        return tt__paired_ratio(a->samples_us, b->samples_us, (size_t)a->n_samples);
    double ratio = a->time_us / b->time_us;
    return (tt__ratio){ratio, ratio, ratio};
}

double tt__finals_middle_us(const tt__finals *f, int i) {
    const tt__trial *t = &f->trials[i];
    return t->n_samples > 0 ? tt__lower_mean(t->samples_us, (size_t)t->n_samples) : t->time_us;
}

int tt__finals_best(const tt__finals *f) {
    int best = TT__NOBODY;
    for (int i = 0; i < (int)f->n_contenders; i++)
        if (tt__finals_took_part(f, i) &&
            (best == TT__NOBODY || tt__finals_middle_us(f, i) < tt__finals_middle_us(f, best)))
            best = i;
    return best;
}

/* Eliminates entrants in places [first, end): those after the best `most`, and those slower than `within`
 * times the best. */
static void eliminate(tt__finals *f, size_t first, size_t end, size_t most, double within) {
    double us[TT__ENTRANTS_MAX], least = INFINITY;
    for (size_t i = first; i < end; i++) {
        us[i] = tt__finals_took_part(f, (int)i) ? tt__finals_middle_us(f, (int)i) : INFINITY;
        least = fmin(least, us[i]);
    }
    for (size_t i = first; i < end; i++) {
        size_t before = 0;
        for (size_t k = first; k < end; k++)
            before += us[k] < us[i] || (us[k] == us[i] && k < i);
        bool stays = before < most && us[i] <= within * least;
        f->entrants[i].out |= !stays && (int)i != f->at_default && (int)i != f->at_incumbent;
    }
}

/* ---- Holding ------------------------------------------------------------------------------------------- */

static size_t n_in(const tt__finals *f, size_t end) {
    size_t n = 0;
    for (size_t i = 0; i < end; i++)
        n += !f->entrants[i].out;
    return n;
}

static bool is_last(const tt__finals *f) {
    return f->stage + 1 == TT__STAGES;
}

static const double hurried_s = 0.02;

static tt__rounds rounds_of(const tt__session *s, const tt__search *search, const tt__finals *f) {
    const tt__stage_of_finals *st = &tt__stages[f->stage];
    tt__rounds rounds = f->one_stage ? tt__rounds_if_one_stage : st->rounds;
    if (is_below(s, search, TT__SHORT_US) && (f->again || !is_last(f)))
        rounds.worth_s *= st->times_if_short;
    if (is_below(s, search, TT__BRIEF_US))
        rounds.loads = st->loads_if_brief;
    if (keeps_all(s))
        rounds.worth_s *= ALL_TIMES;
    if (tt__session_hurries(s)) /* else finals would take most of the budget of many problems */
        rounds.worth_s = fmin(rounds.worth_s, fmax(search->limits.finals_s, hurried_s));
    if (f->one_stage)
        rounds.least = (int)fmin(rounds.least, f->n_fitting);
    rounds.strict = s->call->strict;
    rounds.first = !f->interleaved || (is_last(f) && !f->again); /* who waited enters the last one */
    return rounds;
}

/* As it was measured, not weighed. */
static double screened_us(const tt__entrant *e) {
    return e->of->trials[e->index].time_us / e->c->weight;
}

/* The default does not compete, so that only the last stage needs it. */
static bool waits(const tt__finals *f, size_t i, const tt__stage_of_finals *st) {
    return st->contenders > 0 && i >= f->n_contenders && ((int)i == f->at_default || (int)i == f->at_other);
}

/* In a recording, eliminated entrants in places [first, end) have only an earlier stage, with fewer
 * rounds. */
static void drop_earlier(tt__finals *f, size_t first, size_t end) {
    int most = 0;
    for (size_t i = first; i < end; i++)
        if (!f->entrants[i].out && f->trials[i].n_samples > most)
            most = f->trials[i].n_samples;
    for (size_t i = first; i < end; i++)
        f->entrants[i].out |= f->trials[i].n_samples < most;
}

/* Is each contender slower than the fastest beyond the noise, or as fast to users? */
static bool is_decided(const tt__finals *f) {
    const int best = tt__finals_best(f);
    for (int i = 0; i < (int)f->n_contenders; i++) {
        if (i == best || !tt__finals_took_part(f, i))
            continue;
        const tt__ratio ratio = tt__compare_trials(&f->trials[i], &f->trials[best]);
        if (ratio.low <= 1 && ratio.high >= tt__indistinct)
            return false;
    }
    return true;
}

/* How many rounds of the stage end before the deadline? Each has a lap, and others come before them. */
static double n_fitting(const tt__search *search, const tt__finals *f) {
    const double brief_s = 0.1; /* a budget may be exceeded by so much */
    const double left_s = fmax(search->limits.deadline_s - tt__now_s(), brief_s);
    double lap_us = 0;
    for (size_t k = 0; k < f->n_now; k++)
        lap_us += tt__sample_us(screened_us(&f->entrants[f->now[k]]), search->problem.in_graph);
    return left_s / (lap_us * 1e-6) - tt__rounds_if_one_stage.loads - 1;
}

/* Begins the next stage, if there is one: those still in are measured again. */
static bool begin_stage(const tt__session *s, const tt__search *search, tt__finals *f) {
    if (f->stage == TT__STAGES && !f->again && is_below(s, search, TT__SHORT_US) && !is_decided(f)) {
        f->again = true;
        f->stage--;
    }
    for (; f->stage < TT__STAGES; f->stage++) {
        size_t most = keeps_all(s) ? TT__CONTENDERS_MAX + 1
                                   : tt__stages[f->stage].contenders; /* the incumbent may be one more */
        if (!is_last(f) && n_in(f, f->n_contenders) <= most)
            continue; /* few enough */
        if (f->interleaved && tt__now_s() > s->end_s)
            return false; /* the budget */
        f->n_now = f->heat = 0;
        for (size_t i = 0; i < f->n; i++)
            if (!f->entrants[i].out && !waits(f, i, &tt__stages[f->stage]))
                f->now[f->n_now++] = i;
        f->n_fitting = n_fitting(search, f);
        const int least = f->one_stage ? LONG_LEAST : tt__stages[f->stage].rounds.least;
        if (f->n_fitting < least && (f->one_stage || f->interleaved)) /* the first stage of others is short */
            f->n_now = 0; /* the stage before it decides, or the screening */
        return f->n_now > 0;
    }
    return false;
}

/* Takes over what a stage measured. An entrant that is missing from the recording is eliminated. */
static void end_stage(const tt__search *search, tt__finals *f) {
    const tt__stage_of_finals *st = &tt__stages[f->stage++];
    for (size_t k = 0; k < f->n_now; k++) {
        tt__entrant *e = &f->entrants[f->now[k]];
        f->fresh[k].weight = e->c->weight;
        f->trials[f->now[k]] = f->measured[f->now[k]] = f->fresh[k];
        if (e->of == search && search->t->operation->objective >= 0)
            tt__trial_weigh(&f->trials[f->now[k]], e->c->weight);
        e->out = !is_measured(&f->fresh[k]);
    }
    f->n_now = 0;
    drop_earlier(f, 0, f->n_contenders);
    drop_earlier(f, first_copy(f), f->n);
    f->interleaved = true;
    if (f->stage == TT__STAGES)
        return;
    eliminate(f, 0, f->n_contenders, st->contenders, st->within);
    eliminate(f, first_copy(f), f->n, st->copies, INFINITY);
}

static size_t n_heats(const tt__finals *f) {
    return (f->n_now + TT__FINALISTS_MAX - 1) / TT__FINALISTS_MAX;
}

/* Divides the stage into heats. Their sizes differ by at most one. */
bool tt__finals_next(const tt__session *s, const tt__search *search, tt__finals *f, tt__heat *heat) {
    if (f->status != TT_OK || (f->n_now == 0 && !begin_stage(s, search, f)))
        return false;
    const size_t heats = n_heats(f), first = f->n_now * f->heat / heats;
    *heat = (tt__heat){.n = f->n_now * (f->heat + 1) / heats - first,
                       .rounds = rounds_of(s, search, f),
                       .trials = f->fresh + first};
    for (size_t i = 0; i < heat->n; i++) {
        const tt__entrant *e = &f->entrants[f->now[first + i]];
        heat->c[i] = e->c;
        heat->lap_us += screened_us(e);
    }
    return true;
}

/* The heats before one that fails have found who is wrong. */
static void drop_wrong(tt__finals *f) {
    const size_t n = f->n_now > 0 ? f->n_now * f->heat / n_heats(f) : 0;
    for (size_t k = 0; k < n; k++) {
        const size_t i = f->now[k];
        if (f->fresh[k].status != TT__TRIAL_WRONG_RESULT)
            continue;
        f->fresh[k].weight = f->entrants[i].c->weight;
        f->trials[i] = f->measured[i] = f->fresh[k];
        f->entrants[i].out = true;
    }
}

void tt__finals_ended(const tt__search *search, tt__finals *f, tt_status status) {
    f->status = status;
    if (status != TT_OK)
        drop_wrong(f);
    else if (++f->heat == n_heats(f))
        end_stage(search, f);
}

/* Without finals the screening decides, and all entrants return but those that were found wrong. The least
 * median wins, which was verified again when it was the best so far: samples of a screening are no pairs. If
 * a heat has found that one wrong before the next heat failed, the next best may have been verified once. */
static void fall_back(tt__finals *f) {
    for (size_t i = 0; i < f->n; i++) {
        tt__entrant *e = &f->entrants[i];
        if (f->measured[i].status == TT__TRIAL_WRONG_RESULT)
            continue;
        tt__search_trial(&f->trials[i], e->of, (size_t)e->index);
        f->trials[i].n_samples = 0;
        if ((int)i == f->at_other)
            tt__trial_weigh(&f->trials[i], 1.0 / TT__OTHER_TIMES);
        e->out = false;
    }
}

tt_status tt__finals_conclude(const tt__session *s, tt__finals *f) {
    char text[TT__PROBLEM_TEXT_MAX];
    if (f->status != TT_OK)
        tt__session_message(s, "%s: the finals failed (%s); the winner is the best of %s",
                            tt__problem_text(text, &f->entrants[0].of->problem), tt_last_error(),
                            f->interleaved ? "those that went well" : "the screening");
    for (size_t i = 0; i < f->n; i++) {
        const tt__entrant *e = &f->entrants[i];
        const bool is_wrong = f->measured[i].status == TT__TRIAL_WRONG_RESULT;
        if (is_wrong || is_measured(&f->measured[i]))
            TT_TRY(tt__session_store(s, e->of->problem_id, e->c, TT__STAGE_FINAL, &f->measured[i]));
        if (is_wrong) /* else the screening of a later run would have it right */
            TT_TRY(tt__session_store(s, e->of->problem_id, e->c, TT__STAGE_SCREEN, &f->measured[i]));
    }
    if (n_in(f, f->n_contenders) == 0) /* no contender has passed the last stage, or any stage */
        f->interleaved = false;
    if (!f->interleaved)
        fall_back(f);
    return TT_OK;
}
