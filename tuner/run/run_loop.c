/*
 * The loop of a run: one state machine for every run.
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
#include "tuner/run/run_loop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/finals/finals.h"
#include "tuner/finals/winner.h"
#include "tuner/search/search_loop.h"
#include "tuner/search/with_copy.h"

/* ---- Why there is no winner ---------------------------------------------------------------------------- */

static const char *reason_of(const tt__screened *trial) {
    return trial->reason ? trial->reason : "";
}

/* Do all of several kernels differ from the reference? */
static bool all_are_wrong(const tt__search *search) {
    for (size_t i = 0; i < search->space.n; i++)
        if (search->known[i] == TT__TRIED && search->trials[i].status != TT__TRIAL_WRONG_RESULT)
            return false;
    return search->n_tried > 1;
}

static void not_reached(const tt__session *s, tt_result *result) {
    tt__format(result->note, sizeof result->note,
               "the budget of %g s was over before a configuration could be tried: allow more",
               s->opts->budget_s);
}

static void no_winner(const tt__session *s, const tt__search *search, tt_result *result) {
    result->trials = search->n_tried - search->n_skipped;
    result->failed = search->n_failed;
    char tried[64] = "";
    size_t first = 0;
    if (search->cut)
        tt__format(tried, sizeof tried, "tried within the budget of %g s ", s->opts->budget_s);
    else if (search->n_tried < search->space.n)
        tt__copy(tried, sizeof tried, "tried ");
    while (first < search->space.n && search->known[first] != TT__TRIED)
        first++;
    if (search->space.n == 0 && search->part.of)
        snprintf(result->note, sizeof result->note,
                 "no legal configuration of it belongs to this shard: use fewer shards, or shard by problem");
    else if (search->space.n == 0)
        snprintf(result->note, sizeof result->note,
                 "no configuration%s is legal for it: `tune check` says what removes them",
                 s->opts->n_only ? " of the templates that compete" : "");
    else if (first == search->space.n && s->call->only_finals)
        snprintf(result->note, sizeof result->note,
                 "the store has no trials of it with driver %s and NVRTC %s: tune it first", s->env.driver,
                 s->env.nvrtc);
    else if (first == search->space.n)
        not_reached(s, result);
    else
        snprintf(result->note, sizeof result->note, "every configuration %sfailed%s, the first: %s: %.140s",
                 tried, all_are_wrong(search) ? " (is the reference right?)" : "",
                 tt__trial_status_name(search->trials[first].status), reason_of(&search->trials[first]));
    tt__clean(result->note, TT__CLEAN_TEXT); /* the reason may be cut inside a character */
    if (first < search->space.n && *tt__trial_advice(search->trials[first].status))
        tt__session_message(s, "%s: what may help: %s", result->problem,
                            tt__trial_advice(search->trials[first].status));
}

/* The trials that the finals add may complete a search that the budget ended. */
static void say_cut(const tt__session *s, const tt__search *search, tt_result *result) {
    const size_t n = search->n_tried - search->n_skipped, wanted = search->wanted + search->n_aside;
    if (!search->cut || n >= wanted)
        return;
    int used = tt__format(result->note, sizeof result->note,
                          "the budget of %g s ended the search after %zu of %zu configurations",
                          s->opts->budget_s, n, wanted);
    if (search->pace_s > 0 && used > 0 && used < (int)sizeof result->note)
        tt__format(result->note + used, sizeof result->note - (size_t)used,
                   "; the others need about %.2g s more", search->pace_s * (double)(wanted - n));
    if (!s->call->worth) /* else nobody expects whole searches */
        tt__session_message(s, "%s: %s", result->problem, result->note);
}

/* ---- What failed beside a winner ------------------------------------------------------------------------
 */

static bool has_failed(const tt__search *search, size_t i) {
    const tt__trial_status status = search->trials[i].status;
    return search->known[i] == TT__TRIED && status != TT__TRIAL_OK && status != TT__TRIAL_SKIPPED;
}

/* A problem that was never tuned is served by the default, so that it must not fail in silence. */
static size_t say_failed_defaults(const tt__session *s, const tt__search *search, tt_result *result) {
    size_t n = 0;
    for (size_t first = 0; first < search->space.n;
         first = tt__space_end_of_template(&search->space, first)) {
        const int64_t at = tt__space_default(&search->space, first);
        char text[1024];
        if (at == TT__NOTHING || !has_failed(search, (size_t)at))
            continue;
        const tt__configuration *c = &search->space.items[at];
        const tt__screened *trial = &search->trials[at];
        tt__format(text, sizeof text, "the default of %s%s%s failed: %s: %s", c->t->kernel,
                   *c->config ? ", " : "", c->config, tt__trial_status_name(trial->status), reason_of(trial));
        tt__session_message(s, "%s: %s", result->problem, text);
        if (!*result->note)
            tt__copy(result->note, sizeof result->note, text);
        n++;
    }
    tt__clean(result->note, TT__CLEAN_TEXT); /* the reason may be cut inside a character */
    return n;
}

static int by_reason(const void *a, const void *b) {
    const tt__screened *x = *(tt__screened *const *)a, *y = *(tt__screened *const *)b;
    return x->status != y->status ? (x->status > y->status) - (x->status < y->status)
                                  : strcmp(reason_of(x), reason_of(y));
}

/* The reason that most failed trials have, of n of them. */
static const tt__screened *most_frequent(const tt__screened **failed, size_t n, size_t *times) {
    const tt__screened *most = NULL;
    qsort(failed, n, sizeof(tt__screened *), by_reason);
    *times = 0;
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && by_reason(&failed[first], &failed[end]) == 0;)
            end++;
        if (end - first > *times) {
            *times = end - first;
            most = failed[first];
        }
    }
    return most;
}

static tt_status say_failures(const tt__session *s, const tt__search *search, tt_result *result) {
    size_t n = 0, times;
    if (search->n_failed == 0 || s->call->stored || s->call->strict /* a judge says it */ ||
        say_failed_defaults(s, search, result) == search->n_failed)
        return TT_OK;
    const tt__screened **failed = calloc(search->n_failed, sizeof(tt__screened *));
    if (!failed)
        return tt__fail_memory(search->n_failed * sizeof(tt__screened *));
    for (size_t i = 0; i < search->space.n && n < search->n_failed; i++)
        if (has_failed(search, i))
            failed[n++] = &search->trials[i];
    const tt__screened *most = most_frequent(failed, n, &times);
    if (most)
        tt__session_message(s, "%s: %zu of %zu configurations failed, %s%zu: %s: %s", result->problem,
                            search->n_failed, search->n_tried - search->n_skipped,
                            times < search->n_failed ? "most often, " : "all ", times,
                            tt__trial_status_name(most->status), reason_of(most));
    free(failed);
    return TT_OK;
}

static tt_status say_result(const tt__session *s, const tt__search *search, tt_result *result) {
    say_cut(s, search, result);
    return say_failures(s, search, result);
}

/* ---- Before and after the searches --------------------------------------------------------------------- */

static void begin_result(const tt__session *s, const tt__problem *p, tt_result *result) {
    char text[TT__PROBLEM_TEXT_MAX];
    tt__copy(result->op, sizeof result->op, p->op);
    result->rows = tt__problem_number(p, "rows", 0);
    result->cols = tt__problem_number(p, "cols", 0);
    result->batch = tt__problem_number(p, "batch", 0);
    result->elem_size = tt__problem_elem_size(p);
    result->warm = p->warm;
    result->in_graph = p->in_graph;
    result->unverified = p->unverified;
    result->source =
        s->opts->replay ? TT_SOURCE_REPLAYED : TT_SOURCE_MEASURED; /* also if there is no winner */
    tt__copy(result->problem, sizeof result->problem, tt__problem_text(text, p));
    const tt__template *t = tt__template_set_for(s->templates, p);
    if (t && t->own && t->own->by_default)
        tt__copy(result->note, sizeof result->note,
                 "right is what the default configuration computes (`reference default`)");
}

static tt_status needs_finals(tt__session *s, const tt__search *search, tt_result *result, bool *needed) {
    bool holds = false;
    *needed = false;
    result->space = tt__search_size(search);
    if (search->best == TT__NOTHING) {
        no_winner(s, search, result);
        if (search->bits && search->n_tried > search->n_failed + search->n_skipped)
            tt__same_bits_none(s, search, result);
        return tt__winner_revoke(s, search, NULL);
    }
    if (!s->opts->force && !s->call->only_finals && !s->opts->same_bits)
        TT_TRY(tt__stored_winner(s, search, result, &holds));
    if (holds && !s->opts->replay)
        result->source = TT_SOURCE_STORED;
    *needed = !holds && !s->call->stored;
    return TT_OK;
}

typedef enum lane_state { BEFORE_COPY, COPY, BEFORE_SEARCH, SEARCH, ENTRANTS, FINALS } lane_state;

typedef struct lane {
    lane_state state;
    size_t at_problem;
    double share; /* of the rest of a budget */
    tt__with_copy pair;
    tt__search_loop loop; /* COPY, SEARCH */
    size_t n_looked_for;  /* ENTRANTS: of tt__finals_wants */
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
    tt__search_loop_end(&l->loop);
    tt__with_copy_close(&l->pair);
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
    tt__with_copy_close(&l->pair);
    return tt__with_copy_open(d->s, &d->s->call->problems[l->at_problem], l->share, &l->pair);
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
    begin_result(s, &s->call->problems[l->at_problem], l->result);
    return open_pair(d, l);
}

/* After the end of a budget only stored winners are told, and a user's default is tried in any case. Of
 * thousands of problems, spaces would take a while. */
static void skip_unreached(driver *d) {
    const tt__session *s = d->s;
    for (; d->next < s->n_problems && tt__now_s() > s->end_s; d->next++) {
        const size_t at = d->turns[d->next].at_problem;
        const tt__problem *p = &s->call->problems[at];
        if (tt__session_has_winner(s, p) || (tt__problem_is_users(p) && !tt__session_hurries(s)))
            return;
        begin_result(s, p, &d->results[at]);
        not_reached(s, &d->results[at]);
        d->ended[at] = true;
        d->s->n_ended++;
    }
}

/* Gives the last problem's turn back. */
static void give_back(driver *d, size_t k) {
    close_lane(d, k);
    d->next--;
}

/* In turn: opens the next problem, or some of the next, before their turn, so that compilers know them. A
 * failure shows again then. */
static tt_status open_early(driver *d) {
    enum { EARLY = 8 };
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

/* May the lane begin its copy, or its search? Its part of a budget runs from then on. */
static bool may_begin(const driver *d, const lane *l) {
    const lane *first = first_lane(d), *second = second_lane(d);
    if (l->state != BEFORE_COPY && l->state != BEFORE_SEARCH)
        return false;
    if (!in_turn(d))
        return l->state == BEFORE_SEARCH || !is_blocked(d, l);
    if (l == first)
        return l->state == BEFORE_COPY || !second || !second->pair.has_copy || second->pair.copy_done;
    return l->pair.has_copy && l->state == BEFORE_COPY && first->state == BEFORE_SEARCH;
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
    TT_TRY(needs_finals(d->s, &l->pair.search, l->result, &needed));
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
    tt__with_copy_begin(s, &l->pair, l->share);
    l->since_s = tt__now_s();
    l->state = COPY;
    return l->pair.has_copy ? tt__search_loop_begin(s, &l->pair.copy, "copy", &l->loop) : TT_OK;
}

/* Goes on as far as nothing has to be waited for. */
static tt_status advance(driver *d, lane *l, bool *over) {
    tt__with_copy *pair = &l->pair;
    while (!*over)
        switch (l->state) {
        case BEFORE_COPY:
            if (!may_begin(d, l))
                return TT_OK;
            TT_TRY(begin_copy(d, l));
            break;
        case COPY:
            if (l->loop.stage != TT__SEARCH_OVER)
                return TT_OK;
            tt__search_loop_end(&l->loop);
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
            TT_TRY(tt__search_loop_begin(d->s, &pair->search, "search", &l->loop));
            if (tt__session_hurries(d->s))
                TT_TRY(open_early(d));
            break;
        case SEARCH:
            if (l->loop.stage != TT__SEARCH_OVER)
                return TT_OK;
            tt__search_loop_end(&l->loop);
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

/* In a hurry a problem has time for a few trials, and the winners of others are the best of them. */
static tt_status keep_winner(const driver *d, const tt__search *search) {
    tt__session *s = d->s;
    tt__winners *known = &s->elsewhere;
    bool found = false;
    if (!tt__session_hurries(s))
        return TT_OK;
    TT_TRY(TT__GROW(known->items, known->n));
    TT_TRY(tt__store_winner_get(s->store, s->gpu_id, search->problem_id, &known->items[known->n], &found));
    known->n += found;
    return TT_OK;
}

static tt_status end_lane(driver *d, size_t k) {
    tt__session *s = d->s;
    lane *l = d->lanes[k];
    const tt__search *search = &l->pair.search;
    if (*l->result->kernel) {
        TT_TRY(say_result(s, search, l->result));
        TT_TRY(keep_winner(d, search));
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
        if (!begins && (in_turn(d) || l->loop.stage == TT__SEARCH_OVER))
            continue;
        TT_TRY(enter(d, order[i]));
        if (!begins && s->backend->ops->room(s->backend) == 0)
            continue;
        if (!begins)
            TT_TRY(tt__search_loop_feed(s, &l->loop));
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
        skip_unreached(d);
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
        TT_TRY(tt__search_loop_take(d->s, &l->loop, i, trial));
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

/* A failure that may be of the problem's own kernels, such as its reference. */
static bool may_be_of_problem(tt_status status) {
    return status == TT_E_COMPILE || status == TT_E_CUDA || status == TT_E_IO || status == TT_E_INVALID;
}

/* In turn: a problem of a user's kernel that fails before anything of it was measured has no winner, and the
 * others go on. A failure of all shows again with each. */
static tt_status drop_first(driver *d, tt_status status) {
    lane *first = first_lane(d);
    if (!may_be_of_problem(status) || !in_turn(d) || !first || d->s->n_problems == 1 ||
        !tt__problem_is_users(&d->s->call->problems[first->at_problem]) || first->pair.search.n_measured > 0)
        return status;
    tt__copy_short(first->result->note, sizeof first->result->note, tt_last_error());
    tt__clean(first->result->note, TT__CLEAN_TEXT);
    first->result->trials = first->result->failed = 1; /* it was reached */
    TT_TRY(enter(d, d->order[0]));
    return end_lane(d, d->order[0]);
}

static tt_status run(driver *d) {
    do {
        tt_status status = go_on(d);
        if (status == TT_OK && d->n > 0)
            status = step(d);
        TT_TRY(drop_first(d, drop_second(d, status)));
    } while (d->n > 0 || d->next < d->s->n_problems);
    return TT_OK;
}

tt_status tt__run_loop(tt__session *s, const tt__tune_question *question, tt_result *results) {
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
