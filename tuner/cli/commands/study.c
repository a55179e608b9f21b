/*
 * Hooks into a tuning run. When a problem has its winner, the same search screens its rungs. Then they are
 * measured in rounds with the copies and the winner. All are stored under the ladder's problem, so that a
 * recording has them together.
 */
#include "tuner/cli/commands/study.h"

#include <stdlib.h>
#include <string.h>

#include "api/tune.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/explain/occupancy.h"
#include "tuner/finals/finals.h"
#include "tuner/run/tune.h"
#include "tuner/search/search_loop.h"

const tt__rung_info tt__rungs[TT__RUNGS] = {
    [TT__RUNG_COPY] = {"copy", "copy", NULL, NULL},
    [TT__RUNG_NAIVE_READ] = {"naive_read", "naive, coalesced reads", "ladder_naive", "STEP=reads"},
    [TT__RUNG_NAIVE_WRITE] = {"naive_write", "naive, coalesced writes", "ladder_naive", "STEP=writes"},
    [TT__RUNG_UNROLLED] = {"unrolled", "unrolled", "ladder_naive", "STEP=unrolled"},
    [TT__RUNG_VECTOR_STORE] = {"vector_store", "vectorised stores", "ladder_naive", "STEP=vectors"},
    [TT__RUNG_TILE_LOAD] = {"tile_load", "tile, conflicts on load", "ladder_tile", "STEP=plain"},
    [TT__RUNG_TILE_STORE] = {"tile_store", "tile, conflicts on store", "ladder_tile", "STEP=turned"},
    [TT__RUNG_PADDED] = {"padded", "tile, padded", "ladder_tile", "STEP=padded"},
    [TT__RUNG_TILES] = {"tiles", "several tiles a block", "ladder_tile", "STEP=several"},
    [TT__RUNG_WINNER] = {"winner", "winner", NULL, NULL},
    [TT__RUNG_TUNED_COPY] = {"tuned_copy", "tuned copy", NULL, NULL},
};

/* ---- Who takes part ------------------------------------------------------------------------------------ */

typedef struct study {
    tt__ladder *ladders;
    const tt__configuration *c[TT__RUNGS]; /* for the current problem; NULL: none */
} study;

/* Makes a member of a search's space (TT__NOTHING: none) a rung, with its screening result. */
static void take(study *st, tt__ladder *ladder, tt__rung_id id, const tt__search *search, int64_t at) {
    if (at == TT__NOTHING)
        return;
    st->c[id] = &search->space.items[at];
    if (search->known[at] == TT__TRIED)
        tt__search_trial(&ladder->rungs[id].trial, search, (size_t)at);
    else
        ladder->rungs[id].trial.status = TT__TRIAL_SKIPPED;
}

/* The first rung is the plain copy. The search for the fastest copy may not have tried it. */
static int64_t linear_copy(const tt__session *s, const tt__search *copy) {
    const tt__template *t = tt__template_set_find(s->templates, "copy_linear");
    return t ? tt__space_member(&copy->space, t->kernel, t->default_config) : TT__NOTHING;
}

static tt_status try_copy(tt__session *s, tt__search *copy) {
    int64_t i = linear_copy(s, copy);
    if (i == TT__NOTHING || copy->known[i] != TT__UNTRIED)
        return TT_OK;
    TT_TRY(s->backend->ops->problem(s->backend, &copy->problem, copy->t));
    return tt__search_try(s, copy, (size_t)i);
}

static void take_part(study *st, tt__session *s, tt__ladder *ladder, const tt__search *own,
                      const tt__search *copy, const tt__search *search, const tt_result *winner) {
    memset(st->c, 0, sizeof st->c);
    take(st, ladder, TT__RUNG_COPY, copy, linear_copy(s, copy));
    for (tt__rung_id id = 0; id < TT__RUNGS; id++)
        if (tt__rungs[id].kernel)
            take(st, ladder, id, own,
                 tt__space_member(&own->space, tt__rungs[id].kernel, tt__rungs[id].config));
    take(st, ladder, TT__RUNG_WINNER, search,
         tt__space_member(&search->space, winner->kernel, winner->config));
    take(st, ladder, TT__RUNG_TUNED_COPY, copy, copy->best);
}

/* Fails if a recording has no trials of the ladder. */
static tt_status check_recorded(const tt__session *s, const tt__search *own) {
    char text[TT__PROBLEM_TEXT_MAX];
    bool any = !s->opts->replay;
    for (size_t i = 0; i < own->space.n; i++)
        any |= own->known[i] == TT__TRIED && own->trials[i].status != TT__TRIAL_SKIPPED;
    if (any)
        return TT_OK;
    return tt__fail(
        TT_E_INVALID,
        "%s has no ladder for %s: it can be replayed for tuning, but for a study it has to be of a GPU where "
        "\"tune study\" has run",
        s->opts->replay, tt__problem_text(text, &own->problem));
}

/* ---- The rounds ---------------------------------------------------------------------------------------- */

static bool passed(const tt__rung *rung) {
    return rung->trial.status == TT__TRIAL_OK && rung->trial.time_us > 0;
}

static tt_status hold_rounds(study *st, tt__session *s, tt__ladder *ladder, int64_t problem_id) {
    const tt__configuration *c[TT__RUNGS];
    tt__rung *of[TT__RUNGS];
    tt__trial trials[TT__RUNGS];
    double lap_us = 0;
    size_t n = 0;
    for (tt__rung_id id = 0; id < TT__RUNGS; id++)
        if (st->c[id] && passed(&ladder->rungs[id])) {
            of[n] = &ladder->rungs[id];
            lap_us += of[n]->trial.time_us;
            c[n++] = st->c[id];
        }
    if (n == 0)
        return TT_OK;
    tt_status status = tt__backend_finals(
        s->backend, c, n, (tt__rounds){TT__FINAL_ROUNDS, TT__FINAL_ROUNDS, 0, 1, false, false}, lap_us, 0,
        trials);
    if (status == TT_E_INTERRUPTED)
        return status;
    if (status != TT_OK)
        tt__session_message(s, "the rounds failed (%s); the times are those of the screening",
                            tt_last_error());
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        if (trials[i].status != TT__TRIAL_OK || trials[i].n_samples == 0)
            continue;
        of[i]->trial = trials[i];
        TT_TRY(tt__session_store(s, problem_id, c[i], TT__STAGE_FINAL, &trials[i]));
    }
    return TT_OK;
}

/* ---- What it comes to ---------------------------------------------------------------------------------- */

static double ratio(const tt__rung *a, const tt__rung *b) {
    return passed(a) && passed(b) ? tt__compare_trials(&a->trial, &b->trial).median : 0;
}

static void fill(const study *st, const tt__session *s, tt__ladder *ladder) {
    for (tt__rung_id id = 0; id < TT__RUNGS; id++) {
        tt__rung *rung = &ladder->rungs[id];
        const tt__configuration *c = st->c[id];
        if (!c)
            continue;
        tt__copy(rung->kernel, sizeof rung->kernel, c->t->kernel);
        tt__copy(rung->config, sizeof rung->config, c->config);
        rung->threads = (int)tt__pass_threads(&c->pass);
        rung->shared_bytes = (int)c->pass.shared_bytes + rung->trial.static_shared_bytes;
        rung->occupancy =
            tt__occupancy(s->gpu.cc, &(tt__block_needs){rung->threads, rung->trial.regs, rung->shared_bytes});
        if (!passed(rung))
            continue;
        rung->gbps = tt__problem_gbps(&ladder->problem, rung->trial.time_us);
        rung->peak_fraction = s->gpu.peak_gbps > 0 ? rung->gbps / s->gpu.peak_gbps : 0;
        rung->speedup = ratio(&ladder->rungs[TT__RUNG_NAIVE_READ], rung);
        rung->copy_fraction = ratio(&ladder->rungs[TT__RUNG_TUNED_COPY], rung);
    }
}

static tt_status climb(void *user, tt__session *s, tt__search *copy, const tt__search *search,
                       const tt_result *winner) {
    study *st = user;
    tt__ladder *ladder = &st->ladders[s->at_problem];
    tt__search *own = calloc(1, sizeof *own); /* large for a stack */
    tt__problem *problem = malloc(sizeof *problem);
    tt_status status;
    TT_GOTO(own && problem ? TT_OK : tt__fail_memory(sizeof *own + sizeof *problem));
    *problem = search->problem;
    tt__copy(problem->op, sizeof problem->op, TT__LADDER_OP);
    TT_GOTO(try_copy(s, copy));
    TT_GOTO(tt__search_open(s, problem, &tt__no_limits, own));
    TT_GOTO(tt__search_run(s, own, "ladder"));
    TT_GOTO(check_recorded(s, own));
    take_part(st, s, ladder, own, copy, search, winner);
    TT_GOTO(hold_rounds(st, s, ladder, own->problem_id));
    ladder->problem = search->problem;
    fill(st, s, ladder);
out:
    if (own)
        tt__search_close(own);
    free(own);
    free(problem);
    return status;
}

tt_status tt__study_run(tt_report **out, tt__ladder *ladders, tt_ctx *ctx, const tt_problem *problems,
                        size_t n_problems, const tt_tune_opts *opts) {
    study st = {.ladders = ladders};
    memset(ladders, 0, n_problems * sizeof *ladders);
    return tt__tune_and(out, ctx, problems, n_problems, opts, &(tt__tune_call){0},
                        &(tt__tune_question){climb, &st});
}
