/* See the header. */
#include "tuner/elections.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/elect.h"
#include "tuner/tune.h"

static size_t most(const tt__session *s) {
    return s->backend->ops->finals_most ? s->backend->ops->finals_most(s->backend) : 0;
}

bool tt__elections_possible(const tt__session *s) {
    const bool others = s->at_problem + 1 < s->n_problems && most(s) > 0;
    return isinf(s->end_s) && !s->call->after && s->call->objective == TT__OBJECTIVE_TIME &&
           (others || s->elections->n > 0);
}

static void close_place(tt__session *s, size_t at) {
    tt__elections *all = s->elections;
    s->backend->ops->finals_free(s->backend, at);
    tt__searches_close(&all->places[at]->both);
    free(all->places[at]);
    all->places[at] = NULL;
    all->n--;
}

/* Asks for the next heat, or elects. */
static tt_status proceed(tt__session *s, size_t at) {
    tt__election *e = s->elections->places[at];
    tt__search *search = &e->both.search;
    while (tt__finals_next(s, search, &e->finals, &e->heat)) {
        tt_status status = s->backend->ops->finals_ask(s->backend, at, e->heat.c, e->heat.n, e->heat.rounds);
        if (status == TT_OK || status == TT_E_INTERRUPTED)
            return status;
        tt__finals_ended(search, &e->finals, status);
    }
    tt_status status = tt__elect_from(s, search, &e->both.copy, &e->finals, e->result);
    close_place(s, at);
    return status;
}

tt_status tt__elections_go_on(tt__session *s) {
    for (size_t at = 0; at < TT__PLACES_MAX; at++) {
        tt__election *e = s->elections->places[at];
        bool done;
        if (!e)
            continue;
        tt_status status = s->backend->ops->finals_take(s->backend, at, &done, e->heat.trials);
        if (!done)
            continue;
        tt__finals_ended(&e->both.search, &e->finals, status);
        TT_TRY(proceed(s, at));
    }
    return TT_OK;
}

/* Waits until at most so many go on. No trial is outstanding. */
static tt_status await(tt__session *s, size_t n) {
    while (s->elections->n > n) {
        size_t id;
        tt__trial none;
        TT_TRY(s->backend->ops->wait(s->backend, &id, &none));
        TT_TRY(tt__elections_go_on(s));
    }
    return TT_OK;
}

/* Waits for a place, and chooses the entrants. */
static tt_status nominate(tt__session *s, tt__election *e) {
    TT_TRY(await(s, most(s) > 0 ? most(s) - 1 : 0));
    TT_TRY(tt__finals_nominate(s, &e->both.search, &e->both.copy, &e->finals));
    tt__session_progress(s, &e->both.search, "finals");
    return TT_OK;
}

tt_status tt__elections_begin(tt__session *s, tt__searches *both, tt_result *result) {
    tt__elections *all = s->elections;
    tt__election *e = calloc(1, sizeof *e);
    size_t at = 0;
    if (!e)
        return tt__fail_memory(sizeof *e);
    *e = (tt__election){.both = *both, .at_problem = s->at_problem, .result = result};
    *both = (tt__searches){.open = false};
    tt_status status = nominate(s, e);
    if (status != TT_OK) {
        tt__searches_close(&e->both);
        free(e);
        return status;
    }
    while (all->places[at])
        at++;
    all->places[at] = e;
    all->n++;
    return proceed(s, at);
}

tt_status tt__elections_end(tt__session *s) {
    return await(s, 0);
}

size_t tt__elections_abandon(tt__session *s, size_t none) {
    for (size_t at = 0; at < TT__PLACES_MAX; at++)
        if (s->elections->places[at]) {
            if (s->elections->places[at]->at_problem < none)
                none = s->elections->places[at]->at_problem;
            close_place(s, at);
        }
    return none;
}
