/*
 * A backend measures configurations, either on a GPU through worker processes, or by look-up in a recording.
 * The session and the strategies see no difference.
 */
#ifndef TT_TUNER_BACKEND_H
#define TT_TUNER_BACKEND_H

#include "db/store.h"
#include "template/template.h"
#include "tuner/counters.h"
#include "tuner/trace.h"

struct tt__ahead;
typedef struct tt__backend tt__backend;

/* The functions of a backend. Call them from the session's thread only. */
typedef struct tt__backend_ops {
    /* Describes the GPU and the environment of the results. */
    tt_status (*hello)(tt__backend *b, tt__gpu *gpu, tt__env *env);
    /* Starts a problem, which belongs to the operation of `t`. Outstanding trials are dropped.
     * TT_E_NO_MEMORY: it does not fit. */
    tt_status (*problem)(tt__backend *b, const tt__problem *p, const tt__template *t);
    /* Prepares the device for trials of the problem, without waiting. May be NULL. */
    tt_status (*prepare)(tt__backend *b);
    /* The number of additional trials that are useful to have outstanding. */
    size_t (*room)(const tt__backend *b);
    /* Requests a trial. The candidate is borrowed until the trial is returned. Screening may stop early for a
     * configuration slower than the latest cutoff_us (0: never). The caller chooses `id`. */
    tt_status (*submit)(tt__backend *b, size_t id, const tt__candidate *c, double cutoff_us);
    /* Waits for the next trial to end. *id is TT__NO_TRIAL if finals that were asked for have ended instead.
     * TT_E_INTERRUPTED: should_stop returned non-zero. */
    tt_status (*wait)(tt__backend *b, size_t *id, tt__trial *trial);
    /* Measures n candidates again in interleaved rounds. trials[i] gets one sample a round, so that samples
     * pair up. A trial that is not ok (such as one missing from the recording) leaves the finals. */
    tt_status (*finals)(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                        tt__trial *trials);
    /* The same on one of several devices, while the others try what comes next: trials of this problem, or of
     * the next one. `most` says for how many problems at once (0: none), in places 0 to `most` - 1. The first
     * request in a free place is for the current problem, and later ones are for the same problem.
     * Candidates are borrowed until `finals_take` says that a request was *done. Its status is that of the
     * finals. `finals_free` ends what goes on in a place. `finals_most` may be NULL, and is then 0. */
    size_t (*finals_most)(const tt__backend *b);
    tt_status (*finals_ask)(tt__backend *b, size_t place, const tt__candidate *const *c, size_t n,
                            tt__rounds rounds);
    tt_status (*finals_take)(tt__backend *b, size_t place, bool *done, tt__trial *trials);
    void (*finals_free)(tt__backend *b, size_t place);
    /* The same for few candidates, with trains of so many seconds after the rounds: trials[i].energy. NULL:
     * the backend has none. TT_E_UNSUPPORTED: the device does not count energy. */
    tt_status (*energies)(tt__backend *b, const tt__candidate *const *c, size_t n, double train_s,
                          tt__trial *trials);
    /* Counts one launch of a candidate that passed. Counters that are not to be had are no failure. NULL: the
     * backend has none. */
    tt_status (*count)(tt__backend *b, const tt__candidate *c, tt__counted *out);
    /* Measures what the GPU can do at most. Unknown parts are 0. NULL: as above. */
    tt_status (*peaks)(tt__backend *b, tt__peaks *out);
    void (*close)(tt__backend *b);
} tt__backend_ops;

struct tt__backend {
    const tt__backend_ops *ops;
};

/* TT__PLACES_MAX: finals of so many problems at once. */
#define TT__NO_TRIAL SIZE_MAX
enum { TT__PLACES_MAX = 64 };
enum { TT__FINALISTS_MAX = 32, TT__FINAL_ROUNDS = 31, TT__FINAL_ROUNDS_MAX = 127 };

#endif
