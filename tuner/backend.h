/* Measures configurations: a GPU behind worker processes, or a recording of one. The session and the
 * strategies see no difference. */
#ifndef TT_TUNER_BACKEND_H
#define TT_TUNER_BACKEND_H

#include "db/store.h"
#include "template/template.h"
#include "tuner/trace.h"

struct tt__ahead;
typedef struct tt__backend tt__backend;

/* One table of functions per kind; every one is called from the session's thread only. */
typedef struct tt__backend_ops {
    /* Whose results these are. */
    tt_status (*hello)(tt__backend *b, tt__gpu *gpu, tt__env *env);
    /* Starts this problem, of the operation of `t`; outstanding trials are given up. TT_E_NO_MEMORY if it
     * does not fit. */
    tt_status (*problem)(tt__backend *b, const tt__problem *p, const tt__template *t);
    /* Trials of the problem follow: gets the device ready for them. Does not wait. May be NULL. */
    tt_status (*prepare)(tt__backend *b);
    /* How many more trials may be outstanding with profit. */
    size_t (*room)(const tt__backend *b);
    /* Asks for a trial; the candidate is borrowed until the trial has come back. Screening may stop early
     * for a configuration slower than the latest cutoff_us (0: never). `id` is the caller's. */
    tt_status (*submit)(tt__backend *b, size_t id, const tt__candidate *c, double cutoff_us);
    /* Waits for the next trial to end. TT_E_INTERRUPTED if should_stop said so. */
    tt_status (*wait)(tt__backend *b, size_t *id, tt__trial *trial);
    /* Measures the n candidates again, in interleaved rounds: trials[i] has one sample a round, so that
     * samples pair up. A trial that is not ok (not in the recording) is out of the finals. */
    tt_status (*finals)(tt__backend *b, const tt__candidate *const *c, size_t n, tt__rounds rounds,
                        tt__trial *trials);
    void (*close)(tt__backend *b);
} tt__backend_ops;

struct tt__backend {
    const tt__backend_ops *ops;
};

enum { TT__FINALISTS_MAX = 32, TT__FINAL_ROUNDS = 31, TT__FINAL_ROUNDS_MAX = 127 };

#endif
