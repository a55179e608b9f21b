/* See the header. */
#include "tuner/run/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/finals/elect.h"
#include "tuner/run/tune.h"

/* When a problem begins. */
typedef struct turn {
    bool is_short;
    double bytes; /* 0 if it is short */
    size_t at_problem;
} turn;

typedef struct lanes {
    tt__session *s;
    const tt__problem *problems;
    tt_result *results;
    bool *ended;       /* for each problem */
    turn *turns;       /* the order in which problems begin */
    size_t most, next; /* the turn that comes next */
    tt__lane *at[TT__LANES_MAX];
    size_t order[TT__LANES_MAX]; /* s->n_lanes lanes in use, as they began */
} lanes;

size_t tt__lanes_most(const tt__session *s) {
    const tt__backend_ops *ops = s->backend->ops;
    const size_t most = ops->lanes ? ops->lanes(s->backend) : 1;
    const bool alone =
        isfinite(s->end_s) || s->call->after || s->call->stored || s->call->objective != TT__OBJECTIVE_TIME;
    return alone ? 1 : most < s->n_problems ? most : s->n_problems;
}

/* Makes a lane the session's and the backend's. Progress is that of the first problem under way. */
static tt_status enter(lanes *all, size_t k) {
    tt__session *s = all->s;
    s->lane = k;
    s->at_problem = all->at[k]->at_problem;
    s->in_background = k != all->order[0];
    return s->backend->ops->enter(s->backend, k);
}

/* At the end of a run, GPUs wait for the one that has the last finals. So problems with long finals begin
 * first: short ones, and then those that move most bytes. */
static int by_finals(const void *left, const void *right) {
    const turn *a = left, *b = right;
    if (a->is_short != b->is_short)
        return b->is_short - a->is_short;
    const int more = (a->bytes < b->bytes) - (a->bytes > b->bytes);
    return more ? more : (a->at_problem > b->at_problem) - (a->at_problem < b->at_problem);
}

static tt_status plan(lanes *all) {
    const size_t n = all->s->n_problems;
    const double short_bytes = TT__SHORT_US * 1e3 * all->s->gpu.peak_gbps;
    all->ended = calloc(n, sizeof *all->ended);
    all->turns = calloc(n, sizeof *all->turns);
    if (!all->ended || !all->turns)
        return tt__fail_memory(n * sizeof *all->turns);
    for (size_t i = 0; i < n; i++) {
        const double bytes = all->problems[i].moved_bytes;
        const bool is_short = bytes < short_bytes;
        all->turns[i] = (turn){is_short, is_short ? 0 : bytes, i};
    }
    qsort(all->turns, n, sizeof *all->turns, by_finals);
    return TT_OK;
}

static void close_lane(lanes *all, size_t k) {
    tt__lane *l = all->at[k];
    tt__hunt_end(&l->hunt);
    tt__searches_close(&l->both);
    free(l);
    all->at[k] = NULL;
    size_t n = 0;
    for (size_t i = 0; i < all->s->n_lanes; i++)
        if (all->order[i] != k)
            all->order[n++] = all->order[i];
    all->s->n_lanes = n;
}

/* ---- Trials once --------------------------------------------------------------------------------------- */

/* Will the lane try configurations of this stored problem? */
static bool is_busy_with(const tt__lane *l, int64_t problem_id) {
    const bool copies = l->both.has_copy && !l->both.copy_done;
    return l->both.search.problem_id == problem_id || (copies && l->both.copy.problem_id == problem_id);
}

/* Copies of as many bytes are one problem. The lane waits for an earlier one that tries the same. */
static bool is_blocked(const lanes *all, const tt__lane *l) {
    for (size_t i = 0; all->at[all->order[i]] != l; i++) {
        const tt__lane *earlier = all->at[all->order[i]];
        if (is_busy_with(earlier, l->both.search.problem_id) ||
            (l->both.has_copy && is_busy_with(earlier, l->both.copy.problem_id)))
            return true;
    }
    return false;
}

/* ---- From state to state ------------------------------------------------------------------------------- */

/* Requests what the finals need and the search has not tried. */
static tt_status find_entrants(tt__session *s, tt__lane *l) {
    int64_t needed[TT__NEEDED];
    tt__search *search = &l->both.search;
    TT_TRY(tt__finals_needed(s, search, needed));
    for (size_t i = 0; i < TT__NEEDED; i++)
        if (needed[i] != TT__NOBODY && search->known[needed[i]] == TT__UNTRIED) {
            if (s->backend->ops->room(s->backend) == 0)
                break; /* it comes next, when this one has ended */
            TT_TRY(tt__search_submit(s, search, (size_t)needed[i]));
            l->n_pending++;
        }
    return TT_OK;
}

/* Asks for the next heat, or elects. */
static tt_status go_on_with_finals(tt__session *s, tt__lane *l, bool *over) {
    tt__search *search = &l->both.search;
    while (tt__finals_next(s, search, &l->finals, &l->heat)) {
        tt_status status =
            s->backend->ops->finals_ask(s->backend, l->heat.c, l->heat.n, l->heat.rounds, l->heat.lap_us);
        if (status == TT_OK || status == TT_E_INTERRUPTED)
            return status;
        tt__finals_ended(search, &l->finals, status);
    }
    *over = true;
    return tt__elect_from(s, search, &l->both.copy, &l->finals, l->result);
}

/* After the searches. */
static tt_status begin_finals(tt__session *s, tt__lane *l, bool *over) {
    bool needed;
    TT_TRY(tt__tune_needs_finals(s, &l->both.search, l->result, &needed));
    *over = !needed;
    l->state = TT__LANE_ENTRANTS;
    return TT_OK;
}

static tt_status advance(tt__session *s, tt__lane *l, bool *over) {
    tt__searches *both = &l->both;
    while (!*over)
        switch (l->state) {
        case TT__LANE_BLOCKED:
            l->state = TT__LANE_COPY;
            l->since_s = tt__now_s();
            if (both->has_copy)
                TT_TRY(tt__hunt_begin(s, &both->copy, "copy", &l->hunt));
            break;
        case TT__LANE_COPY:
            if (l->hunt.stage != TT__HUNT_OVER)
                return TT_OK;
            tt__hunt_end(&l->hunt);
            if (both->has_copy)
                tt__session_phase(s, "search", &both->copy.problem, &l->since_s);
            both->copy_done = true;
            l->state = TT__LANE_SEARCH;
            TT_TRY(tt__hunt_begin(s, &both->search, "search", &l->hunt));
            break;
        case TT__LANE_SEARCH:
            if (l->hunt.stage != TT__HUNT_OVER)
                return TT_OK;
            tt__hunt_end(&l->hunt);
            tt__session_phase(s, "search", &both->search.problem, &l->since_s);
            TT_TRY(begin_finals(s, l, over));
            break;
        case TT__LANE_ENTRANTS:
            if (l->n_pending == 0)
                TT_TRY(find_entrants(s, l));
            if (l->n_pending > 0)
                return TT_OK;
            TT_TRY(tt__finals_nominate(s, &both->search, &both->copy, &l->finals));
            tt__search_progress(s, &both->search, "finals");
            l->state = TT__LANE_FINALS;
            return go_on_with_finals(s, l, over);
        case TT__LANE_FINALS:
            return TT_OK;
        }
    return TT_OK;
}

/* ---- Lanes --------------------------------------------------------------------------------------------- */

static tt_status drive(lanes *all, size_t k, bool over) {
    tt__session *s = all->s;
    tt__lane *l = all->at[k];
    TT_TRY(advance(s, l, &over));
    if (!over)
        return TT_OK;
    TT_TRY(tt__tune_say_failures(s, &l->both.search, l->result));
    tt__session_phase(s, "finals", &l->both.search.problem, &l->since_s);
    s->backend->ops->leave(s->backend);
    all->ended[l->at_problem] = true;
    s->n_ended++;
    close_lane(all, k);
    return TT_OK;
}

/* Opens a problem. Its searches have the stored trials, also those of lanes that blocked it. */
static tt_status open_searches(lanes *all, tt__lane *l) {
    tt__searches_close(&l->both);
    return tt__searches_open(all->s, &all->problems[l->at_problem], all->s->n_problems - all->s->n_ended,
                             &l->both);
}

static tt_status begin(lanes *all, size_t k) {
    tt__lane *l = all->at[k] = calloc(1, sizeof **all->at);
    if (!l)
        return tt__fail_memory(sizeof *l);
    all->order[all->s->n_lanes++] = k;
    l->at_problem = all->turns[all->next++].at_problem;
    l->result = &all->results[l->at_problem];
    TT_TRY(enter(all, k));
    tt__tune_begin_result(all->s, &all->problems[l->at_problem], l->result);
    TT_TRY(open_searches(all, l));
    return is_blocked(all, l) ? TT_OK : drive(all, k, false);
}

/* Begins problems in free lanes. Those under way go on if they are blocked no longer, or get room in the
 * backend. The one that began first comes first, so that finals do not come all at the end. */
static tt_status go_on(lanes *all) {
    const size_t n = all->s->n_lanes;
    size_t order[TT__LANES_MAX];
    memcpy(order, all->order, sizeof order);
    for (size_t i = 0; i < n; i++) {
        tt__lane *l = all->at[order[i]];
        const bool starts = l->state == TT__LANE_BLOCKED && !is_blocked(all, l);
        if (!starts && l->hunt.stage == TT__HUNT_OVER)
            continue;
        TT_TRY(enter(all, order[i]));
        if (!starts && all->s->backend->ops->room(all->s->backend) == 0)
            continue;
        TT_TRY(starts ? open_searches(all, l) : tt__hunt_feed(all->s, &l->hunt));
        TT_TRY(drive(all, order[i], false));
    }
    for (size_t k = 0; k < all->most && all->next < all->s->n_problems; k++)
        if (!all->at[k])
            TT_TRY(begin(all, k));
    return TT_OK;
}

static tt_status take_trial(lanes *all, size_t id, tt__trial *trial) {
    const size_t k = id / TT__LANE_TRIALS, i = id % TT__LANE_TRIALS;
    tt__session *s = all->s;
    tt__lane *l = all->at[k];
    TT_TRY(enter(all, k));
    if (l->state == TT__LANE_ENTRANTS) {
        l->n_pending--;
        TT_TRY(tt__search_take(s, &l->both.search, i, trial));
    } else {
        TT_TRY(tt__hunt_take(s, &l->hunt, i, trial));
    }
    return drive(all, k, false);
}

static tt_status take_finals(lanes *all) {
    tt__session *s = all->s;
    for (size_t k = 0; k < all->most; k++) {
        tt__lane *l = all->at[k];
        bool done, over = false;
        if (!l || l->state != TT__LANE_FINALS)
            continue;
        TT_TRY(enter(all, k));
        tt_status status = s->backend->ops->finals_take(s->backend, &done, l->heat.trials);
        if (!done)
            continue;
        tt__finals_ended(&l->both.search, &l->finals, status);
        TT_TRY(go_on_with_finals(s, l, &over));
        TT_TRY(drive(all, k, over));
    }
    return TT_OK;
}

static tt_status run(lanes *all) {
    for (;;) {
        size_t id;
        tt__trial trial;
        TT_TRY(go_on(all));
        if (all->s->n_lanes == 0 && all->next == all->s->n_problems)
            return TT_OK;
        if (all->s->n_lanes == 0)
            continue; /* it had nothing to try */
        TT_TRY(all->s->backend->ops->wait(all->s->backend, &id, &trial));
        TT_TRY(id == TT__NO_TRIAL ? take_finals(all) : take_trial(all, id, &trial));
    }
}

tt_status tt__lanes_tune(tt__session *s, const tt__problem *problems, tt_result *results) {
    lanes all = {.s = s, .problems = problems, .results = results, .most = tt__lanes_most(s)};
    tt_status status = plan(&all);
    if (status == TT_OK)
        status = run(&all);
    while (s->n_lanes > 0)
        close_lane(&all, all.order[0]);
    for (size_t i = 0, n = 0; n < s->n_ended; i++)
        if (all.ended[i])
            results[n++] = results[i];
    free(all.ended);
    free(all.turns);
    s->lane = 0;
    s->in_background = false;
    return status;
}
