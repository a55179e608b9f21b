/*
 * Each round of the finals launches all finalists in a random order, so that samples of a round are pairs.
 * Kernels may be loaded several times, because the place of code in memory changes their times.
 */
#include "tuner/worker/gpu_finals.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "gpu/nvml.h"
#include "tuner/measure/energy.h"
#include "tuner/measure/noise.h"

static tt_status read_finals(const tt__str *request, size_t at, tt__gpu_finals *f) {
    for (int i = 0; i < f->n; i++) {
        const tt__msg_trial *m = tt__wire_take(request, &at, sizeof *m);
        if (!m)
            return TT_E_IO;
        memcpy(&f->m[i], m, sizeof *m); /* it may be unaligned in the message */
        f->cubins[i] = tt__wire_take(request, &at, f->m[i].cubin_size);
        if (!f->cubins[i])
            return TT_E_IO;
    }
    return TT_OK;
}

/* Of the last load: what its variables held, and graphs of its kernels. */
static void forget_load(tt__gpu_state *g, tt__gpu_finals *f) {
    for (int i = 0; i < f->n; i++)
        tt__variables_free(&f->variables[i], g->cu);
    for (int i = 0; i < f->n; i++)
        tt__launch_graph_free(&f->graphs[i], g->cu);
}

static void unload_finals(tt__gpu_state *g, tt__gpu_finals *f) {
    forget_load(g, f);
    for (int i = 0; i < f->n_loaded; i++)
        tt__kernel_unload(&f->loaded[i], g->cu);
    free(f->loaded);
    f->loaded = NULL;
    f->n_loaded = 0;
}

/* Loads in the given order. Earlier loads stay, so that new kernels get other addresses. */
static tt_status load_finals(tt__gpu_state *g, tt__gpu_finals *f, const int *order) {
    forget_load(g, f);
    f->kernels = f->loaded + f->n_loaded;
    f->n_loaded += f->n;
    for (int k = 0; k < f->n; k++) {
        int i = order[k];
        TT_TRY(tt__kernel_load(&f->kernels[i], g->cu, f->cubins[i], f->m[i].cubin_size, &f->m[i].symbols,
                               &f->m[i].launch));
        TT_TRY(tt__verifier_constants(&g->verifier, &f->kernels[i]));
        if (g->pool.strict)
            TT_TRY(tt__variables_keep(&f->variables[i], g->cu, &f->kernels[i], f->cubins[i],
                                      f->m[i].cubin_size));
    }
    return TT_OK;
}

/* Shuffles the order of a round. A warm launch finds the L2 cache as its neighbour left it, so neighbours
 * must change. The order is the same in every run. */
static void shuffle(int *order, int n, uint32_t *state) {
    for (int i = n - 1; i > 0; i--) {
        *state = *state * 1664525u + 1013904223u;
        int k = (int)((*state >> 8) % (uint32_t)(i + 1)), held = order[i];
        order[i] = order[k];
        order[k] = held;
    }
}

static tt__timed timed(tt__gpu_finals *f, int i) {
    tt__timed thing = tt__gpu_timed(&f->kernels[i], &f->m[i]);
    thing.variables = &f->variables[i];
    thing.graph = &f->graphs[i];
    return thing;
}

/* Verifies one more launch of a finalist, unless results go with each configuration. */
static tt_status verify(tt__gpu_state *g, tt__gpu_finals *f, int i, const char *when) {
    tt__trial *trial = &f->trials[i];
    char why[TT__REASON_MAX];
    const tt__timed thing = timed(f, i);
    if (trial->status != TT__TRIAL_OK || f->m[i].copy || tt__gpu_has_own_check(g))
        return TT_OK;
    TT_TRY(tt__pool_verify(&g->pool, &thing, trial));
    if (trial->status == TT__TRIAL_OK)
        return TT_OK;
    tt__copy(why, sizeof why, trial->reason);
    tt__format(trial->reason, sizeof trial->reason, "right at first, but wrong %s: %s", when, why);
    return TT_OK;
}

/* Who enters was verified once, on the first data. */
static tt_status verify_entrants(tt__gpu_state *g, tt__gpu_finals *f, const int *order, const float *us) {
    for (int k = 0; k < f->n; k++) {
        const int i = order[k];
        f->trials[i].time_us = (double)us[k];
        if (!f->m[i].copy && !tt__gpu_has_own_check(g))
            TT_TRY(tt__gpu_verify_again(g, &f->m[i], &f->kernels[i], &f->trials[i]));
        tt__launch_graph_free(&g->graph, g->cu);
    }
    return TT_OK;
}

/* Verifies some launches among the timed ones, which are alike, so that no kernel can tell which: a race that
 * is usually right is lost in one of them. */
static tt_status verify_some(tt__gpu_state *g, tt__gpu_finals *f) {
    for (int i = 0; i < f->n && g->pool.strict; i++) {
        f->chance = f->chance * 1664525u + 1013904223u;
        if (f->chance >> 31)
            TT_TRY(verify(g, f, i, "in a later launch"));
    }
    return TT_OK;
}

/* Which finalist writes outside its arrays? If it cannot be told, it may be any. */
static tt_status blame(tt__gpu_state *g, tt__gpu_finals *f) {
    static const char *const says = "right at first, but writes outside its buffers where it is timed";
    bool kept = true, found = false;
    for (int i = 0; i < f->n; i++) {
        const tt__timed thing = timed(f, i);
        TT_TRY(tt__pool_guard(&g->pool));
        TT_TRY(tt__pool_repeat(&g->pool, &thing, (int)g->pool.slots.n));
        TT_TRY(tt__cu_check(g->cu->cuStreamSynchronize(g->stream), "kernel"));
        TT_TRY(tt__pool_guarded(&g->pool, &kept));
        if (!kept && f->trials[i].status == TT__TRIAL_OK) {
            f->trials[i].status = TT__TRIAL_WRONG_RESULT;
            tt__copy(f->trials[i].reason, sizeof f->trials[i].reason, says);
        }
        found |= !kept;
    }
    for (int i = 0; i < f->n && !found; i++) {
        if (f->trials[i].status == TT__TRIAL_OK)
            tt__format(f->trials[i].reason, sizeof f->trials[i].reason, "%s, or another kernel does", says);
        f->trials[i].status = TT__TRIAL_WRONG_RESULT;
    }
    return TT_OK;
}

/* Verifies after many launches that were not reset: a kernel may count them. */
static tt_status verify_worn(tt__gpu_state *g, tt__gpu_finals *f) {
    enum { LAUNCHES_MAX = 256, LAUNCHES_MIN = 4 };
    static const double worth_us = 20e3;
    bool kept;
    for (int i = 0; i < f->n && g->pool.in_graph; i++)
        if (f->graphs[i].exec)
            TT_TRY(verify(g, f, i, "in a graph of launches"));
    if (!g->pool.strict)
        return TT_OK;
    TT_TRY(tt__pool_guarded(&g->pool, &kept));
    TT_TRY(tt__pool_strict(&g->pool, false));
    if (!kept)
        TT_TRY(blame(g, f));
    for (int i = 0; i < f->n; i++) {
        const tt__timed thing = timed(f, i);
        const double fit = worth_us / (f->trials[i].time_us + 1);
        TT_TRY(tt__pool_repeat(&g->pool, &thing,
                               fit > LAUNCHES_MAX   ? LAUNCHES_MAX
                               : fit < LAUNCHES_MIN ? LAUNCHES_MIN
                                                    : (int)fit));
        TT_TRY(tt__cu_check(g->cu->cuStreamSynchronize(g->stream), "many launches"));
        TT_TRY(verify(g, f, i, "after many launches"));
    }
    return TT_OK;
}

/* Times all finalists once, in the given order. */
static tt_status run_lap(tt__gpu_state *g, tt__gpu_finals *f, const int *order, float *us) {
    tt__timed things[TT__FINALISTS_MAX];
    CUresult failed;
    for (int k = 0; k < f->n; k++)
        things[k] = timed(f, order[k]);
    TT_TRY(tt__gpu_time_steadily(g, things, f->n, true, us, &failed));
    return tt__cu_check(failed, "launch in the finals");
}

/* Each lap times all finalists in another order, so that neither order nor drift favours one. */
static tt_status run_round(tt__gpu_state *g, tt__gpu_finals *f, int round, int laps, int *order,
                           uint32_t *state) {
    float us[TT__FINALISTS_MAX];
    for (int lap = 0; lap < laps; lap++) {
        shuffle(order, f->n, state);
        TT_TRY(run_lap(g, f, order, us));
        for (int k = 0; k < f->n; k++)
            f->of_round[order[k]][lap] = us[k];
    }
    TT_TRY(verify_some(g, f));
    for (int i = 0; i < f->n; i++)
        f->trials[i].samples_us[round] = (float)tt__midmean(f->of_round[i], (size_t)laps);
    return TT_OK;
}

static tt_status run_rounds(tt__gpu_state *g, tt__gpu_finals *f, const tt__rounds *r) {
    int order[TT__FINALISTS_MAX], rounds = r->least, laps = 1;
    float us[TT__FINALISTS_MAX];
    uint32_t state = 1;
    f->chance = g->verifier.salt;
    TT_TRY(tt__pool_strict(&g->pool, r->strict));
    for (int i = 0; i < f->n; i++)
        order[i] = i;
    for (int load = 0, round = 0; load < r->loads; load++) {
        shuffle(order, f->n, &state);
        TT_TRY(load_finals(g, f, order));
        TT_TRY(run_lap(g, f, order, us)); /* warms up */
        if (load == 0) {
            double begin_s = tt__now_s();
            TT_TRY(run_lap(g, f, order, us));
            double worth = r->worth_s / (tt__now_s() - begin_s);
            rounds = tt__deal_rounds(r, worth, &laps);
            if (r->first)
                TT_TRY(verify_entrants(g, f, order, us));
        }
        for (; round < rounds * (load + 1) / r->loads; round++)
            TT_TRY(run_round(g, f, round, laps, order, &state));
    }
    for (int i = 0; i < f->n; i++) {
        f->trials[i].n_samples = rounds;
        f->trials[i].regs = f->kernels[i].regs;
        f->trials[i].static_shared_bytes = f->kernels[i].static_shared_bytes;
        f->trials[i].time_us = tt__round_us(tt__median(f->trials[i].samples_us, (size_t)rounds));
    }
    TT_TRY(verify_worn(g, f));
    for (int i = 0; i < f->n; i++)
        if (f->trials[i].status != TT__TRIAL_OK)
            f->trials[i].n_samples = 0, f->trials[i].time_us = 0;
    return TT_OK;
}

/* Energies, beside the times of the rounds. */
static tt_status run_trains(tt__gpu_state *g, tt__gpu_finals *f, double train_s) {
    tt__timed things[TT__FINALISTS_MAX];
    tt__energy energies[TT__FINALISTS_MAX];
    for (int i = 0; i < f->n; i++)
        things[i] = tt__gpu_timed(&f->kernels[i], &f->m[i]);
    TT_TRY(tt__gpu_energy(g, things, f->n, train_s, energies));
    for (int i = 0; i < f->n; i++) {
        f->trials[i].energy = energies[i];
        f->trials[i].energy.time_us = f->trials[i].time_us;
    }
    return TT_OK;
}

tt_status tt__gpu_finals_run(tt__gpu_state *g, const tt__str *request, tt__gpu_finals *f) {
    size_t at = 0;
    const tt__msg_finals *head = tt__wire_take(request, &at, sizeof *head);
    const tt__rounds *r = head ? &head->rounds : NULL;
    if (!head || head->n < 1 || head->n > TT__FINALISTS_MAX || r->most > TT__SAMPLES_MAX || r->least < 1 ||
        r->most < r->least || r->loads < 1 || r->loads > r->least || !g->open)
        return tt__fail(TT_E_INTERNAL, "a bad request for finals");
    f->n = head->n;
    size_t n_kernels = (size_t)(f->n * r->loads);
    f->loaded = calloc(n_kernels, sizeof *f->loaded);
    tt_status status =
        f->loaded ? read_finals(request, at, f) : tt__fail_memory(n_kernels * sizeof *f->loaded);
    if (status == TT_OK)
        status = run_rounds(g, f, r);
    tt__pool_strict(&g->pool, false);
    if (status == TT_OK && head->train_s > 0)
        status = run_trains(g, f, head->train_s);
    unload_finals(g, f);
    return status;
}

/* ---- Energy ----------------------------------------------------------------------------------- */

/* A train is queued in chunks of some milliseconds, and NVML is read after each, while the next one runs. It
 * counts from a chunk after which the counter has moved to another one. Its length is the GPU's own time. */
enum { EVENTS = 3, PROBE = 8, CHUNK_MAX = 2000 };
static const double chunk_s = 0.005, warm_up_s = 0.5, still_s = 2, settle_s = 1, idle_s = 1.5;
/* A warm chip leaks more: of ten measurements, the first was 1 % lower without this. */
static const double heat_s = 3;

static tt_status read_joules(const tt__gpu_state *g, double *joules) {
    return tt__nvml_joules(g->ordinal, joules) ? TT_OK : tt__energy_uncounted();
}

static tt_status stands_still(void) {
    return tt__fail(TT_E_UNSUPPORTED, "NVML's energy counter stands still");
}

/* The GPU has not run yet, or idled while this process was stopped (Ctrl-Z). What is under way is measured
 * again, on a warm GPU. */
static volatile sig_atomic_t is_cold;

static void on_continue(int signal) {
    (void)signal;
    is_cold = true;
}

/* ---- Trains ------------------------------------------------------------------------------------------ */

typedef struct running {
    tt__gpu_state *g;
    const tt__timed *thing; /* NULL: the flush alone */
    int chunk;              /* launches */
    int n;                  /* chunks that were queued */
    double last_joules;
} running;

static CUevent event(const running *r, int chunk) {
    return r->g->pool.events[chunk % EVENTS];
}

static tt_status queue_chunk(running *r) {
    tt__bench_pool *pool = &r->g->pool;
    TT_TRY(tt__pool_repeat(pool, r->thing, r->chunk));
    return tt__cu_check(r->g->cu->cuEventRecord(event(r, r->n++), pool->stream), "cuEventRecord");
}

/* Queues one more chunk and waits for the one before. Returns how long that took, and whether the counter has
 * moved since. */
static tt_status next_chunk(running *r, double *seconds, bool *moved) {
    const tt__driver *cu = r->g->cu;
    double joules;
    float ms;
    TT_TRY(queue_chunk(r));
    TT_TRY(tt__cu_check(cu->cuEventSynchronize(event(r, r->n - 2)), "a train of launches"));
    TT_TRY(read_joules(r->g, &joules));
    TT_TRY(tt__cu_check(cu->cuEventElapsedTime(&ms, event(r, r->n - 3), event(r, r->n - 2)),
                        "cuEventElapsedTime"));
    *seconds = (double)ms * 1e-3;
    *moved = joules > r->last_joules;
    r->last_joules = joules;
    return TT_OK;
}

/* Chunks of the right length; also the first two of a train. */
static tt_status start(running *r) {
    double seconds = 0;
    bool moved;
    r->chunk = PROBE;
    r->n = 0;
    TT_TRY(queue_chunk(r));
    TT_TRY(queue_chunk(r));
    TT_TRY(next_chunk(r, &seconds, &moved));
    double launch_s = seconds / PROBE, chunk = launch_s > 0 ? chunk_s / launch_s : CHUNK_MAX;
    r->chunk = chunk < 1 ? 1 : chunk > CHUNK_MAX ? CHUNK_MAX : (int)chunk;
    TT_TRY(queue_chunk(r)); /* the last of the old length is over after the next one */
    return next_chunk(r, &seconds, &moved);
}

/* Runs until the counter moves, but not before `least_s` have passed. A pause ends it. */
static tt_status run_to_tick(running *r, double least_s, double *ran_s, double *chunks) {
    double since_s = 0, seconds;
    bool moved = false;
    *ran_s = *chunks = 0;
    while (!is_cold && (*ran_s < least_s || !moved)) {
        TT_TRY(next_chunk(r, &seconds, &moved));
        *ran_s += seconds;
        ++*chunks;
        since_s = moved ? 0 : since_s + seconds;
        if (since_s > still_s)
            return stands_still();
    }
    return TT_OK;
}

/* *now_s: how long the GPU has run trains that no pause disturbed. A drift is linear in that. */
static tt_status run_train(tt__gpu_state *g, const tt__timed *thing, double train_s, double *now_s,
                           tt__train *out) {
    running r = {.g = g, .thing = thing};
    double warm_s, chunks;
    TT_TRY(start(&r));
    TT_TRY(run_to_tick(&r, warm_up_s, &warm_s, &chunks));
    double from = r.last_joules;
    TT_TRY(run_to_tick(&r, train_s, &out->seconds, &chunks));
    out->joules = r.last_joules - from;
    out->launches = chunks * r.chunk;
    out->middle_s = *now_s + warm_s + out->seconds / 2;
    *now_s += is_cold ? 0 : warm_s + out->seconds;
    return tt__cu_check(g->cu->cuStreamSynchronize(g->stream), "a train of launches");
}

static tt_status heat_up(tt__gpu_state *g, const tt__timed *thing, double *now_s) {
    tt__train heat;
    while (is_cold) {
        is_cold = false;
        TT_TRY(run_train(g, thing, heat_s, now_s, &heat));
    }
    return TT_OK;
}

/* ---- Idle -------------------------------------------------------------------------------------------- */

static tt_status wait_for_tick(const tt__gpu_state *g, double least_s, double *joules, double *at_s) {
    double last, begin_s = tt__now_s();
    TT_TRY(read_joules(g, &last));
    for (;;) {
        usleep(1000);
        TT_TRY(read_joules(g, joules));
        *at_s = tt__now_s();
        if (is_cold || (*joules > last && *at_s - begin_s >= least_s))
            return TT_OK;
        if (*at_s - begin_s > least_s + still_s)
            return stands_still();
        last = *joules;
    }
}

/* Just after trains, as in them. In a pause, the GPU idles with lower clocks and less power. */
static tt_status measure_idle(tt__gpu_state *g, const tt__timed *heater, double *now_s, double *watts) {
    double from, to, begin_s, end_s;
    do {
        TT_TRY(heat_up(g, heater, now_s));
        TT_TRY(wait_for_tick(g, settle_s, &from, &begin_s));
        TT_TRY(wait_for_tick(g, idle_s, &to, &end_s));
    } while (is_cold);
    *watts = (to - from) / (end_s - begin_s);
    return TT_OK;
}

/* ---- All --------------------------------------------------------------------------------------------- */

tt_status tt__gpu_energy(tt__gpu_state *g, const tt__timed *things, int n, double train_s, tt__energy *out) {
    const bool flush = tt__pool_prepares(&g->pool);
    const int all = n + flush;
    tt__train trains[TT__ENERGY_THINGS_MAX * TT__ENERGY_TURNS];
    tt__energy energies[TT__ENERGY_THINGS_MAX] = {{0}};
    double before, after, now_s = 0;
    if (all > TT__ENERGY_THINGS_MAX)
        return tt__fail(TT_E_INTERNAL, "energy of %d configurations", n);
    sigaction(SIGCONT, &(struct sigaction){.sa_handler = on_continue, .sa_flags = SA_RESTART}, NULL);
    is_cold = true;
    TT_TRY(measure_idle(g, &things[0], &now_s, &before));
    for (int k = 0; k < all * TT__ENERGY_TURNS; k++) {
        trains[k] = (tt__train){.thing = tt__energy_thing(k, all)};
        const tt__timed *thing = flush && trains[k].thing == 0 ? NULL : &things[trains[k].thing - flush];
        do {
            TT_TRY(heat_up(g, &things[0], &now_s));
            TT_TRY(run_train(g, thing, train_s, &now_s, &trains[k]));
        } while (is_cold);
    }
    double celsius = tt__nvml_celsius(g->ordinal);
    TT_TRY(measure_idle(g, &things[0], &now_s, &after));
    const tt__idle idle = {(before + after) / 2, (before > after ? before - after : after - before) / 2};
    tt__energy_fit(energies, trains, all, flush, &idle);
    for (int i = 0; i < n; i++) {
        out[i] = energies[i + flush];
        out[i].celsius = celsius;
    }
    return TT_OK;
}
