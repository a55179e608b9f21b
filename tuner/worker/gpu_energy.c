/*
 * A train is queued in chunks of some milliseconds, and NVML is read after each, while the next one runs. It
 * counts from a chunk after which the counter has moved to another one. Its length is the GPU's own time.
 */
#include "tuner/worker/gpu_energy.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu/nvml.h"
#include "tuner/measure/energy.h"

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
