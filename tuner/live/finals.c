/* Finals: the event loop goes on meanwhile, for compilers have work to do. */
#include "base/clock.h"
#include "tuner/live/live.h"

static tt_status await(tt__live *l, const tt__cubin *cubin) {
    while (cubin->state <= TT__CUBIN_COMPILING) {
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(tt__live_turn(l));
    }
    return cubin->state == TT__CUBIN_READY ? TT_OK : tt__fail(TT_E_COMPILE, "%s", cubin->reason);
}

static tt_status await_problem(tt__live *l) {
    while (l->state != TT__ARRAYS_OPEN) {
        if (l->state == TT__ARRAYS_CLOSED)
            TT_TRY(tt__live_open_problem(l));
        TT_TRY(tt__crew_stop_asked(&l->crew));
        TT_TRY(tt__live_turn(l));
    }
    return TT_OK;
}

/* The finalists' cubins. Their trials may be of an earlier run whose cubins have been pruned. */
static tt_status finalist_cubins(tt__live *l, const tt__candidate *const *c, size_t n, tt__cubin **cubins) {
    TT_TRY(await(l, l->checker)); /* if all trials were stored nobody has waited for it */
    if (l->reference)
        TT_TRY(await(l, l->reference));
    for (size_t i = 0; i < n; i++) {
        TT_TRY(tt__cubins_want(&l->cubins, c[i], &l->problem, &cubins[i]));
        TT_TRY(tt__cubins_name(&l->cubins, c[i], &l->problem, cubins[i]));
    }
    for (size_t i = 0; i < n; i++)
        TT_TRY(await(l, cubins[i]));
    return tt__cubins_save(&l->cubins, true);
}

/* A GPU worker that nobody listens to any more is of no use. */
static tt_status await_finals(tt__live *l) {
    tt_status status = TT_OK;
    l->at_finals = true;
    if (l->base.meanwhile)
        l->base.meanwhile(l->base.user);
    while (l->at_finals && status == TT_OK) {
        status = tt__crew_stop_asked(&l->crew);
        if (status == TT_OK)
            status = tt__live_turn(l);
    }
    if (l->at_finals)
        tt__live_drop_gpu(l);
    l->at_finals = false;
    return status;
}

tt_status tt__live_finals(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                          tt__trial *trials) {
    tt__live *l = (tt__live *)b;
    tt__cubin *cubins[TT__FINALISTS_MAX];
    if (n == 0 || n > TT__FINALISTS_MAX)
        return tt__fail(TT_E_INTERNAL, "finals of %zu", n);
    TT_TRY(finalist_cubins(l, c, n, cubins));
    TT_TRY(await_problem(l));
    double begin_s = tt__now_s();
    double timeout_s = l->opts.trial_timeout_s * (double)(n + (size_t)rounds.loads) + 2 * rounds.worth_s;
    tt__crew_ask_finals(&l->crew, timeout_s, c, cubins, n, rounds);
    tt_status status = await_finals(l);
    tt__timeline_span(&l->timeline, TT__CREW_GPU, "finals", begin_s, tt__now_s());
    TT_TRY(status);
    TT_TRY(tt__live_adopt(l, &l->finals_done));
    memcpy(trials, l->finalists, n * sizeof *trials);
    return TT_OK;
}
