/* One tuning run: what all its parts share, and what it tells the caller. */
#ifndef TT_TUNER_SESSION_H
#define TT_TUNER_SESSION_H

#include "db/store.h"
#include "template/template.h"
#include "tuner/backend.h"
#include "tuner/strategy.h"
#include "tuner/warm_starts.h"

struct tt__ahead;
struct tt__search;
struct tt__tune_call;

typedef struct tt__session {
    tt__store *store;
    const tt__template_set *templates;
    tt__backend *backend;
    struct tt__ahead *ahead; /* NULL: nothing is compiled, or not ahead */
    tt__trace *trace;
    const tt__strategy *strategy; /* NULL: the one that suits the search */
    const struct tt__tune_call *call;
    const tt_tune_opts *opts;
    tt__gpu gpu;
    bool presumed; /* `gpu` is a guess; until it is confirmed searches leave the store alone */
    tt__env env;
    int64_t gpu_id, run_id;
    size_t at_problem, n_problems; /* for progress */
    double started_s, end_s;       /* end_s: of the budget, INFINITY without one */
    tt__winners elsewhere;         /* of earlier runs: where a search may start */
} tt__session;

/* Call opts->on_progress and opts->on_message, if they are set. */
void tt__session_progress(const tt__session *s, const struct tt__search *search, const char *phase);
void tt__session_message(const tt__session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a span to the tuner's own row of the timeline, from *since_s until now, and sets *since_s to now. */
void tt__session_phase(const tt__session *s, const char *name, const tt__problem *p, double *since_s);

/* Stores a trial of this run. */
tt_status tt__session_store(const tt__session *s, int64_t problem_id, const tt__candidate *c, tt__stage stage,
                            const tt__trial *trial);

#endif
