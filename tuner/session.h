/*
 * One tuning run: for each problem the tuned copy, the search, the finals, the winner. Trials go to the
 * store one by one as they end, so that a run that is killed goes on where it stopped.
 */
#ifndef TT_TUNER_SESSION_H
#define TT_TUNER_SESSION_H

#include "db/store.h"
#include "template/template.h"
#include "tuner/backend.h"
#include "tuner/limits.h"
#include "tuner/starts.h"
#include "tuner/stats.h"
#include "tuner/strategy.h"

struct tt__session;
struct tt__search;

/* Called for a problem that has a winner, while the searches that found it are still open. */
typedef tt_status (*tt__after_fn)(void *user, struct tt__session *s, struct tt__search *copy,
                                  const struct tt__search *search, const tt_result *winner);

typedef struct tt__session {
    tt__store *store;
    const tt__template_set *templates;
    tt__backend *backend;
    tt__trace *trace;
    const tt__strategy *strategy; /* NULL: what suits the search */
    const tt_tune_opts *opts;
    tt__gpu gpu;
    tt__env env;
    int64_t gpu_id, run_id;
    size_t at_problem, n_problems; /* for progress */
    double started_s, end_s;       /* end_s: of the budget, INFINITY without one */
    tt__winners elsewhere;         /* of earlier runs: where a search may start */
    size_t trials_measured;        /* by this run */
    tt__after_fn after;            /* NULL: nothing */
    void *after_user;
} tt__session;

/* What is known of one problem of one op. */
typedef struct tt__search {
    tt__problem problem;
    tt__limits limits;
    const tt__template *t; /* one whose task it is */
    double copy_part;      /* its bytes as a part of those of the copy it is compared with */
    int64_t problem_id;
    tt__space space;
    tt__known *known;
    tt__trial *trials;
    size_t n_tried, n_failed, n_measured; /* n_measured: by this run */
    size_t n_skipped;                     /* of the tried: not in the recording */
    size_t n_aside; /* of the tried, by earlier runs: count for no more than their templates' share */
    size_t wanted;  /* trials that are to be there in the end */
    bool cut;       /* the budget ended it before that */
    int64_t best;   /* index by screening, TT__NOTHING if none passed */
} tt__search;

/* Makes the space and takes the stored trials over (unless opts->force). Release with tt__search_close in any
 * case. */
tt_status tt__search_open(tt__session *s, const tt__problem *p, const tt__limits *limits, tt__search *out);
/* As tt__search_expect of the search that will be opened, without the store; s->gpu may be presumed. */
tt_status tt__search_foresee(tt__session *s, const tt__problem *p, const tt__limits *limits);
/* Tells the backend what is likely to be wanted within the limits, so that compilers need not wait for it:
 * all, or what the model takes for the fastest. */
tt_status tt__search_expect(tt__session *s, const tt__search *search);
/* Tries more of the space, within the limits. On TT_E_INTERRUPTED the search holds what is known. */
tt_status tt__search_run(tt__session *s, tt__search *search, const char *phase);
/* The time, not weighed by any objective, of the best so far; 0: nothing has passed. */
double tt__search_best_us(const tt__search *search);
/* Tries one more, beyond all limits, if it is untried. The search's problem must be the backend's. */
tt_status tt__search_try(tt__session *s, tt__search *search, size_t index);
void tt__search_close(tt__search *search);

/* Elects and stores the winner of a finished search, against the best copy of a search of op copy (which
 * may be empty); fills the result. */
tt_status tt__elect(tt__session *s, tt__search *search, const tt__search *copy, tt_result *result);

/* A time, and its samples, times what they are worth to an objective. */
void tt__trial_weigh(tt__trial *trial, double weight);

/* a over b, in pairs where the samples pair up. */
tt__ratio tt__compare_trials(const tt__trial *a, const tt__trial *b);

/* The stored winner of the search's problem if nothing was measured and it still holds: of the same
 * environment and template and, unless this is a replay, measured here. */
tt_status tt__stored_winner(tt__session *s, const tt__search *search, tt_result *result, bool *holds);

typedef struct tt__tune_call {
    size_t n;
    const tt__problem *problems;
    const char *path, *source; /* of a template beside those of the options; NULL: none */
    tt__after_fn after;        /* after each problem; NULL: nothing */
    void *user;
} tt__tune_call;

/* tt_tune. `opts` may be NULL. */
tt_status tt__tune(tt_report **out, tt_ctx *ctx, const tt__tune_call *call, const tt_tune_opts *opts);

/* Public problems, checked and filled in; *out is freed with free. */
tt_status tt__problems_init(tt__problem **out, const tt_problem *problems, size_t n);

/* Tells opts->on_progress, opts->on_message; both may be missing. */
void tt__session_progress(const tt__session *s, const tt__search *search, const char *phase);
/* A span on the tuner's own row of the timeline, until now, which becomes *since_s. */
void tt__session_phase(const tt__session *s, const char *name, const tt__problem *p, double *since_s);
void tt__session_message(const tt__session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
