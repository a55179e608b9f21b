/*
 * A backend measures configurations, either on a GPU through worker processes, or by look-up in a recording.
 * The session and the strategies see no difference.
 */
#ifndef TT_TUNER_BACKEND_BACKEND_H
#define TT_TUNER_BACKEND_BACKEND_H

#include "db/store.h"
#include "kernel/model/template.h"
#include "kernel/space/space.h"
#include "tuner/farm/protocol.h"
#include "tuner/farm/trace.h"
#include "tuner/measure/counters.h"

typedef struct tt__backend tt__backend;

/* The functions of a backend. Call them from the session's thread only.
 *
 * Several devices work on several problems at once, each in a lane. A call is about the current lane. */
typedef struct tt__backend_ops {
    /* Describes the GPU and the environment of the results. */
    tt_status (*hello)(tt__backend *b, tt__gpu *gpu, tt__env *env);
    /* The number of problems that may be under way at once. NULL: 1. */
    size_t (*lanes)(const tt__backend *b);
    /* Makes a lane, below TT__LANES_MAX, the current one. The first one is 0. NULL: there is no other. */
    tt_status (*enter)(tt__backend *b, size_t lane);
    /* Ends what goes on in the lane, finals included. NULL: as above. */
    void (*leave)(tt__backend *b);
    /* Starts a problem, which belongs to the operation of `t`. Outstanding trials of the lane are dropped.
     * TT_E_NO_MEMORY: it does not fit. */
    tt_status (*problem)(tt__backend *b, const tt__problem *p, const tt__template *t);
    /* Prepares the device for trials of the problem, without waiting. May be NULL. */
    tt_status (*prepare)(tt__backend *b);
    /* The number of additional trials that are useful to have outstanding. */
    size_t (*room)(const tt__backend *b);
    /* The number of processes that compile at once. NULL: nothing is compiled. */
    size_t (*compilers)(const tt__backend *b);
    /* Requests a trial. The configuration is borrowed until the trial is returned. Screening may stop early
     * for a configuration slower than the latest cutoff_us (0: never). The caller chooses `id`. */
    tt_status (*submit)(tt__backend *b, size_t id, const tt__configuration *c, double cutoff_us);
    /* Requests of the lane that have not reached a GPU at this time, on the clock of tt__now_s, end as
     * SKIPPED. INFINITY, as after `problem`: all are awaited. NULL: all always are. */
    void (*await_until)(tt__backend *b, double end_s);
    /* Waits for the next trial of any lane to end. *id is TT__NO_TRIAL if finals that were asked for have
     * ended instead. TT_E_INTERRUPTED: should_stop returned non-zero. */
    tt_status (*wait)(tt__backend *b, size_t *id, tt__trial *trial);
    /* Asks to measure n configurations again in interleaved rounds, on one device, while the others try
     * configurations of other lanes. trials[i] gets one sample a round, so that samples pair up. A trial that
     * is not ok (such as one missing from the recording) leaves the finals. The times of all together are
     * lap_us (0: not known), and the time limit allows for that. With train_s above 0, trains of launches of
     * so many seconds follow: trials[i].energy; TT_E_UNSUPPORTED: the device does not count energy.
     * Configurations are borrowed until `finals_take` says that the request is *done. Its status is that of
     * the finals. */
    tt_status (*finals_ask)(tt__backend *b, const tt__configuration *const *c, size_t n, tt__rounds rounds,
                            double lap_us, double train_s);
    tt_status (*finals_take)(tt__backend *b, bool *done, tt__trial *trials);
    /* Counts one launch of a configuration that passed. Counters that are not to be had are no failure. NULL:
     * the backend has none. */
    tt_status (*count)(tt__backend *b, const tt__configuration *c, tt__counted *out);
    /* Looks closer at the bits of a configuration that passed. NULL: the backend knows no more than its
     * trials.
     */
    tt_status (*bits)(tt__backend *b, const tt__configuration *c, const tt__bits_ask *ask,
                      tt__bits_found *out);
    /* Measures what the GPU can do at most. Unknown parts are 0. NULL: as above. */
    tt_status (*peaks)(tt__backend *b, tt__peaks *out);
    void (*close)(tt__backend *b);
} tt__backend_ops;

struct tt__backend {
    const tt__backend_ops *ops;
    bool counts_energy; /* after `hello`: the device counts energy */
    bool varies;        /* another screening of a configuration has another result */
};

/* Asks for finals and waits for them. No trial may be in flight. */
tt_status tt__backend_finals(tt__backend *b, const tt__configuration *const *c, size_t n, tt__rounds rounds,
                             double lap_us, double train_s, tt__trial *trials);

#define TT__NO_TRIAL SIZE_MAX
/* A search names trial i of lane k by k * TT__LANE_TRIALS + i. */
enum { TT__LANES_MAX = 64, TT__LANE_TRIALS = 1 << 24 };

/* One more than devices, so that none waits for the next problem. */
static inline size_t tt__lanes_for(size_t n_devices) {
    return n_devices < 2 ? 1 : n_devices + 1 < TT__LANES_MAX ? n_devices + 1 : TT__LANES_MAX;
}
enum { TT__FINAL_ROUNDS = 31, TT__FINAL_ROUNDS_MAX = 127 };

#endif
