/*
 * The driver: one state machine for every run.
 *
 * A problem on its way to its winner has a lane, with a number that the backend knows, too:
 *
 *   BEFORE_COPY -> COPY -> BEFORE_SEARCH -> SEARCH -> ENTRANTS -> FINALS -> its lane is free again
 *
 * COPY and SEARCH are searches under way: each trial that ends lets the strategy name the next ones. ENTRANTS
 * are configurations that the finals need and the search left out. FINALS are a few requests, each to measure
 * several configurations in turns on one device.
 *
 * Only the backend waits, and only in its function `wait`: for a trial or for finals, of any lane. What has
 * ended goes to its lane, which goes on as far as it can without waiting (`advance`). Then other lanes may
 * go on that waited for it, or for room in the backend (`go_on`).
 *
 * Several devices have as many lanes side by side, and one more: while some search, the finals of others go
 * on, and no device waits for the last trials of a problem or for its finals. No search depends on another
 * problem of the run. But copies of as many bytes are one problem: a lane is blocked while an earlier one
 * tries the same configurations, and then finds their trials in the store.
 *
 * One device, a budget, or a question about each winner lets one problem after the other pass (`in_turn`), so
 * that times do not depend on other problems and a budget is kept. The next problem is opened early, during
 * finals, so that compilers have work. The first two copies are searched one after the other: a copy has few
 * kernels, and compilers meanwhile work ahead on the problem's.
 */
#include "tuner/run/driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/finals/finals.h"
#include "tuner/finals/same_bits.h"
#include "tuner/finals/winner.h"
#include "tuner/run/result.h"
#include "tuner/search/pair.h"
#include "tuner/search/underway.h"

typedef enum lane_state { BEFORE_COPY, COPY, BEFORE_SEARCH, SEARCH, ENTRANTS, FINALS } lane_state;

typedef struct lane {
    lane_state state;
    size_t at_problem;
    double share; /* of the rest of a budget */
    tt__pair pair;
    tt__underway underway; /* COPY, SEARCH */
    size_t n_looked_for;   /* ENTRANTS: of tt__finals_wants */
    bool awaits_entrant;
    tt__finals finals;
    tt__heat heat; /* asked for */
    double since_s;
    tt_result *result;
} lane;

/* When a problem begins. */
typedef struct turn {
    bool is_short;
    double bytes; /* 0 if it is short */
    size_t at_problem;
} turn;

typedef struct driver {
    tt__session *s;
    const tt__tune_question *question;
    tt_result *results;
    bool *ended; /* for each problem */
    turn *turns; /* the order in which problems begin */
    size_t next; /* the turn that comes next */
    size_t most; /* lanes that may search at once */
    lane *lanes[TT__LANES_MAX];
    size_t n, order[TT__LANES_MAX]; /* n lanes in use, as they began */
} driver;

static size_t lanes_most(const tt__session *s) {
    const tt__backend_ops *ops = s->backend->ops;
    const size_t most = ops->lanes ? ops->lanes(s->backend) : 1;
    const bool alone = isfinite(s->end_s) || s->asks || s->opts->same_bits || s->call->stored ||
                       s->call->objective != TT__OBJECTIVE_TIME;
    return alone ? 1 : most < s->n_problems ? most : s->n_problems;
}

/* Does one problem come after the other? */
static bool in_turn(const driver *d) {
    return d->most == 1;
}

static lane *first_lane(const driver *d) {
    return d->n > 0 ? d->lanes[d->order[0]] : NULL;
}

/* In turn: the problem that was opened early, or NULL. */
static lane *second_lane(const driver *d) {
    return d->n > 1 ? d->lanes[d->order[1]] : NULL;
}

/* Makes a lane the session's and the backend's. Side by side, progress is that of the first problem. */
static tt_status enter(driver *d, size_t k) {
    tt__session *s = d->s;
    s->lane = k;
    s->at_problem = d->lanes[k]->at_problem;
    s->in_background = !in_turn(d) && k != d->order[0];
    return s->backend->ops->enter ? s->backend->ops->enter(s->backend, k) : TT_OK;
}

/* Ends what goes on in the current lane. */
static void leave(const tt__session *s) {
    if (s->backend->ops->leave)
        s->backend->ops->leave(s->backend);
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

static tt_status plan(driver *d) {
    const size_t n = d->s->n_problems;
    const double short_bytes = TT__SHORT_US * 1e3 * d->s->gpu.peak_gbps;
    d->ended = calloc(n, sizeof *d->ended);
    d->turns = calloc(n, sizeof *d->turns);
    if (!d->ended || !d->turns)
        return tt__fail_memory(n * sizeof *d->turns);
    for (size_t i = 0; i < n; i++) {
        const double bytes = d->s->call->problems[i].moved_bytes;
        const bool is_short = bytes < short_bytes;
        d->turns[i] = (turn){is_short, is_short ? 0 : bytes, i};
    }
    if (!in_turn(d))
        qsort(d->turns, n, sizeof *d->turns, by_finals);
    return TT_OK;
}

static void count_sharing(driver *d) {
    d->s->n_lanes = in_turn(d) ? 1 : d->n;
}

/* ---- Opening and closing lanes ------------------------------------------------------------------------- */

static void close_lane(driver *d, size_t k) {
    lane *l = d->lanes[k];
    tt__underway_end(&l->underway);
    tt__pair_close(&l->pair);
    free(l);
    d->lanes[k] = NULL;
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->order[i] != k)
            d->order[n++] = d->order[i];
    d->n = n;
    count_sharing(d);
}

/* Its searches have the stored trials, also those of lanes that blocked it. */
static tt_status open_pair(driver *d, lane *l) {
    tt__pair_close(&l->pair);
    return tt__pair_open(d->s, &d->s->call->problems[l->at_problem], l->share, &l->pair);
}

/* Of the rest of a budget: what the problem is worth beside those that are left. */
static double share_of_next(const driver *d) {
    const double *worth = d->s->call->worth;
    double sum = 0;
    for (size_t i = d->next; i < d->s->n_problems; i++)
        sum += worth ? worth[d->turns[i].at_problem] : 1;
    return (worth ? worth[d->turns[d->next].at_problem] : 1) / sum;
}

/* Opens the problem of the next turn in a free lane *k, which is the current one then. */
static tt_status open_lane(driver *d, size_t *k) {
    tt__session *s = d->s;
    for (*k = 0; d->lanes[*k];)
        ++*k;
    lane *l = d->lanes[*k] = calloc(1, sizeof *l);
    if (!l)
        return tt__fail_memory(sizeof *l);
    d->order[d->n++] = *k;
    count_sharing(d);
    l->share = share_of_next(d);
    l->at_problem = d->turns[d->next++].at_problem;
    l->result = &d->results[l->at_problem];
    l->since_s = tt__now_s();
    TT_TRY(enter(d, *k));
    tt__result_begin(s, &s->call->problems[l->at_problem], l->result);
    return open_pair(d, l);
}

/* Gives the last problem's turn back. */
static void give_back(driver *d, size_t k) {
    close_lane(d, k);
    d->next--;
}

/* In turn: opens the next problem, or some of the next, before their turn, so that compilers know them. A
 * failure shows again then. */
static tt_status open_early(driver *d) {
    enum { EARLY = 4 };
    const size_t first = d->order[0], most = tt__session_hurries(d->s) ? EARLY : 1;
    size_t k;
    bool opened = true;
    if (!in_turn(d) || !d->s->expected || d->n > most || d->next == d->s->n_problems)
        return TT_OK;
    while (opened && d->n <= most && d->next < d->s->n_problems) {
        opened = open_lane(d, &k) == TT_OK;
        if (!opened && d->lanes[k])
            give_back(d, k);
    }
    return enter(d, first);
}

/* In turn: opens the second problem with the first one, if it has a copy of its own. */
static tt_status open_second_copy(driver *d, const lane *l) {
    if (d->next != 1 || isfinite(d->s->end_s))
        return TT_OK;
    TT_TRY(open_early(d));
    const lane *second = second_lane(d);
    if (second && second->pair.copy.problem_id == l->pair.copy.problem_id)
        give_back(d, d->order[1]); /* the search will find its trials in the store */
    return TT_OK;
}

/* ---- Trials once --------------------------------------------------------------------------------------- */

/* Will the lane try configurations of this stored problem? */
static bool is_busy_with(const lane *l, int64_t problem_id) {
    const bool copies = l->pair.has_copy && !l->pair.copy_done;
    return l->pair.search.problem_id == problem_id || (copies && l->pair.copy.problem_id == problem_id);
}

/* Does an earlier lane try the same? */
static bool is_blocked(const driver *d, const lane *l) {
    for (size_t i = 0; d->lanes[d->order[i]] != l; i++) {
        const lane *earlier = d->lanes[d->order[i]];
        if (is_busy_with(earlier, l->pair.search.problem_id) ||
            (l->pair.has_copy && is_busy_with(earlier, l->pair.copy.problem_id)))
            return true;
    }
    return false;
}

/* May the lane begin its copy, or its search? */
static bool may_begin(const driver *d, const lane *l) {
    const lane *first = first_lane(d), *second = second_lane(d);
    if (l->state != BEFORE_COPY && l->state != BEFORE_SEARCH)
        return false;
    if (!in_turn(d))
        return l->state == BEFORE_SEARCH || !is_blocked(d, l);
    if (l == first)
        return l->state == BEFORE_COPY || !second || second->pair.copy_done;
    return l->state == BEFORE_COPY && first->state == BEFORE_SEARCH;
}

/* ---- From state to state ------------------------------------------------------------------------------- */

/* Asks for the next heat, or elects. */
static tt_status go_on_with_finals(driver *d, lane *l, bool *over) {
    tt__session *s = d->s;
    tt__search *search = &l->pair.search;
    while (tt__finals_next(s, search, &l->finals, &l->heat)) {
        const tt__heat *h = &l->heat;
        tt_status status = s->backend->ops->finals_ask(s->backend, h->c, h->n, h->rounds, h->lap_us, 0);
        if (status == TT_E_INTERRUPTED)
            return status;
        if (status == TT_OK)
            return open_early(d); /* while the device measures */
        tt__finals_ended(search, &l->finals, status);
    }
    *over = true;
    return tt__elect(s, search, &l->pair.copy, &l->finals, l->result);
}

/* After the searches. */
static tt_status decide(driver *d, lane *l, bool *over) {
    bool needed;
    TT_TRY(tt__result_needs_finals(d->s, &l->pair.search, l->result, &needed));
    *over = !needed;
    l->state = ENTRANTS;
    return TT_OK;
}

/* Requests what the finals need and the search left out, one after the other; then the finals. */
static tt_status find_entrants(driver *d, lane *l, bool *over) {
    tt__session *s = d->s;
    int64_t at;
    if (l->awaits_entrant)
        return TT_OK;
    TT_TRY(tt__finals_wants(s, &l->pair.search, &l->n_looked_for, &at));
    l->awaits_entrant = at != TT__NOBODY;
    if (l->awaits_entrant)
        return tt__search_submit(s, &l->pair.search, (size_t)at);
    TT_TRY(tt__same_bits_nominate(s, &l->pair.search, &l->pair.copy, &l->finals, l->result, over));
    if (*over)
        return TT_OK;
    tt__search_progress(s, &l->pair.search, "finals");
    l->state = FINALS;
    return go_on_with_finals(d, l, over);
}

static tt_status begin_copy(driver *d, lane *l) {
    tt__session *s = d->s;
    if (s->call->stored) { /* nothing is searched */
        l->state = SEARCH;
        return TT_OK;
    }
    TT_TRY(open_second_copy(d, l));
    tt__pair_begin(s, &l->pair, l->share);
    l->since_s = tt__now_s();
    l->state = COPY;
    return l->pair.has_copy ? tt__underway_begin(s, &l->pair.copy, "copy", &l->underway) : TT_OK;
}

/* Goes on as far as nothing has to be waited for. */
static tt_status advance(driver *d, lane *l, bool *over) {
    tt__pair *pair = &l->pair;
    while (!*over)
        switch (l->state) {
        case BEFORE_COPY:
            if (!may_begin(d, l))
                return TT_OK;
            TT_TRY(begin_copy(d, l));
            break;
        case COPY:
            if (l->underway.stage != TT__UNDERWAY_OVER)
                return TT_OK;
            tt__underway_end(&l->underway);
            if (pair->has_copy)
                tt__session_phase(d->s, "search", &pair->copy.problem, &l->since_s);
            pair->copy_done = true;
            l->state = BEFORE_SEARCH;
            break;
        case BEFORE_SEARCH:
            if (!may_begin(d, l))
                return TT_OK;
            l->since_s = tt__now_s();
            l->state = SEARCH;
            TT_TRY(tt__underway_begin(d->s, &pair->search, "search", &l->underway));
            if (tt__session_hurries(d->s))
                TT_TRY(open_early(d));
            break;
        case SEARCH:
            if (l->underway.stage != TT__UNDERWAY_OVER)
                return TT_OK;
            tt__underway_end(&l->underway);
            tt__session_phase(d->s, "search", &pair->search.problem, &l->since_s);
            TT_TRY(decide(d, l, over));
            break;
        case ENTRANTS:
            return find_entrants(d, l, over);
        case FINALS:
            return TT_OK;
        }
    return TT_OK;
}

/* ---- Lanes --------------------------------------------------------------------------------------------- */

static tt_status end_lane(driver *d, size_t k) {
    tt__session *s = d->s;
    lane *l = d->lanes[k];
    const tt__search *search = &l->pair.search;
    if (*l->result->kernel) {
        TT_TRY(tt__result_say(s, search, l->result));
        if (d->question)
            TT_TRY(d->question->ask(d->question->user, s, &l->pair.copy, search, l->result));
    }
    tt__session_phase(s, "finals", &search->problem, &l->since_s);
    leave(s);
    d->ended[l->at_problem] = true;
    s->n_ended++;
    close_lane(d, k);
    return TT_OK;
}

/* The lane is the current one. */
static tt_status drive(driver *d, size_t k, bool over) {
    lane *l = d->lanes[k];
    tt_status status = over ? TT_OK : advance(d, l, &over);
    if (status == TT_OK && over)
        return end_lane(d, k);
    return status;
}

/* Lanes that wait go on if they may, or get room in the backend. The one that began first comes first, so
 * that finals do not come all at the end. */
static tt_status go_on_waiting(driver *d, bool *began) {
    const size_t n = d->n;
    size_t order[TT__LANES_MAX];
    memcpy(order, d->order, sizeof order);
    for (size_t i = 0; i < n; i++) {
        tt__session *s = d->s;
        lane *l = d->lanes[order[i]];
        const bool begins = may_begin(d, l);
        *began |= begins;
        if (!begins && (in_turn(d) || l->underway.stage == TT__UNDERWAY_OVER))
            continue;
        TT_TRY(enter(d, order[i]));
        if (!begins && s->backend->ops->room(s->backend) == 0)
            continue;
        if (!begins)
            TT_TRY(tt__underway_feed(s, &l->underway));
        else if (!in_turn(d))
            TT_TRY(open_pair(d, l));
        TT_TRY(drive(d, order[i], false));
    }
    return TT_OK;
}

/* Also begins problems in free lanes. In turn, a lane may wait for one that had nothing to try. */
static tt_status go_on(driver *d) {
    bool began;
    size_t k;
    do {
        began = false;
        TT_TRY(go_on_waiting(d, &began));
        while (d->n < d->most && d->next < d->s->n_problems) {
            TT_TRY(open_lane(d, &k));
            TT_TRY(drive(d, k, false));
            began = true;
        }
    } while (in_turn(d) && began);
    return TT_OK;
}

static tt_status take_trial(driver *d, size_t id, tt__trial *trial) {
    const size_t k = id / TT__LANE_TRIALS, i = id % TT__LANE_TRIALS;
    lane *l = d->lanes[k];
    TT_TRY(enter(d, k));
    if (l->state == ENTRANTS) {
        TT_TRY(tt__search_take(d->s, &l->pair.search, i, trial));
        l->awaits_entrant = l->pair.search.known[i] == TT__PENDING;
    } else {
        TT_TRY(tt__underway_take(d->s, &l->underway, i, trial));
    }
    return drive(d, k, false);
}

static tt_status take_finals(driver *d) {
    tt__session *s = d->s;
    for (size_t k = 0; k < TT__LANES_MAX; k++) {
        lane *l = d->lanes[k];
        bool done, over = false;
        if (!l || l->state != FINALS)
            continue;
        TT_TRY(enter(d, k));
        tt_status status = s->backend->ops->finals_take(s->backend, &done, l->heat.trials);
        if (!done)
            continue;
        tt__finals_ended(&l->pair.search, &l->finals, status);
        TT_TRY(go_on_with_finals(d, l, &over));
        TT_TRY(drive(d, k, over));
    }
    return TT_OK;
}

/* Waits for what ends next, and takes it. */
static tt_status step(driver *d) {
    tt__backend *b = d->s->backend;
    size_t id;
    tt__trial trial;
    TT_TRY(b->ops->wait(b, &id, &trial));
    return id == TT__NO_TRIAL ? take_finals(d) : take_trial(d, id, &trial);
}

/* In turn: a failure of the second copy is none of the first problem, and shows again at its turn. */
static tt_status drop_second(driver *d, tt_status status) {
    const lane *second = second_lane(d);
    if (status == TT_OK || status == TT_E_INTERRUPTED || !in_turn(d) || !second || second->state != COPY)
        return status;
    TT_TRY(enter(d, d->order[1]));
    leave(d->s);
    give_back(d, d->order[1]);
    return TT_OK;
}

static tt_status run(driver *d) {
    do {
        tt_status status = go_on(d);
        if (status == TT_OK && d->n > 0)
            status = step(d);
        TT_TRY(drop_second(d, status));
    } while (d->n > 0 || d->next < d->s->n_problems);
    return TT_OK;
}

tt_status tt__driver_run(tt__session *s, const tt__tune_question *question, tt_result *results) {
    driver d = {.s = s, .question = question, .results = results, .most = lanes_most(s)};
    tt_status status = plan(&d);
    if (status == TT_OK)
        status = run(&d);
    while (d.n > 0)
        close_lane(&d, d.order[0]);
    for (size_t i = 0, n = 0; n < s->n_ended; i++)
        if (d.ended[i])
            results[n++] = results[i];
    free(d.ended);
    free(d.turns);
    s->lane = 0;
    s->in_background = false;
    return status;
}
