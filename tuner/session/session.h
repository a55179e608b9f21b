/*
 * One tuning run: the state that all parts share, and reports to the caller.
 */
#ifndef TT_TUNER_SESSION_SESSION_H
#define TT_TUNER_SESSION_SESSION_H

#include "base/sizes.h"
#include "db/store.h"
#include "kernel/load/builtin.h"
#include "kernel/model/template.h"
#include "kernel/space/space.h"
#include "tuner/backend/backend.h"
#include "tuner/farm/cubins.h"
#include "tuner/strategy/strategy.h"

/* The part of a space that one shard of a run tries. */
typedef struct tt__space_part {
    int64_t index, of; /* from 0; of 0: the whole space */
} tt__space_part;

/* Removes configurations that belong to other parts. Those that share a cubin stay together. */
tt_status tt__part_keep(const tt__space_part *part, const tt__problem *p, tt__space *space);

/* What the winner has least of. The search is for time; the others choose among the leaders of the finals. */
typedef enum tt__objective { TT__OBJECTIVE_TIME, TT__OBJECTIVE_ENERGY, TT__OBJECTIVE_EDP } tt__objective;

typedef struct tt__tune_call {
    size_t n;
    const tt__problem *problems;
    const tt__template_set *templates; /* templates of the problems' operations, and of the copy; borrowed */
    bool stored;         /* nothing is searched: problems without a winner that still holds have none */
    bool defaults_only;  /* each template's default, which enters the finals however slow it is */
    bool strict;         /* finals trust no kernel (tt__rounds) */
    bool only_finals;    /* no new trials, and finals even where a valid winner is stored */
    tt__space_part part; /* of each space that is tried */
    const double *worth; /* of each problem, > 0: its share of a budget; NULL: all are worth the same */
    /* What programs launch for each problem now, which is tried first and is in the finals; or NULL. */
    const tt_choice *const *answers;
    bool makes_rule;      /* its configurations are measured for all problems */
    bool several_kernels; /* problems may be of different files of users */
    tt__objective objective;
} tt__tune_call;

/* The winners in the store when a run begins, and in a hurry those of the run. */
typedef struct tt__winners {
    size_t n;
    tt__winner *items;
} tt__winners;

/* Free with tt__winners_free, also after a failure. */
tt_status tt__winners_load(tt__winners *out, tt__store *store);
void tt__winners_free(tt__winners *w);

typedef struct tt__session {
    tt__store *store;
    const tt__template_set *templates;
    tt__backend *backend;
    tt__expected *expected; /* NULL: nothing is compiled, or nothing ahead */
    tt__trace *trace;
    const tt__strategy *strategy; /* NULL: chosen for each search */
    const tt__tune_call *call;
    const tt_tune_opts *opts;
    bool asks; /* something is asked about each winner */
    tt__gpu gpu;
    const int *devices; /* n_gpus of them, unless it is a replay */
    size_t n_gpus;      /* that are alike and share the search; at least 1 */
    bool presumed;      /* `gpu` is a guess; searches do not use the store until it is confirmed */
    tt__env env;
    int64_t gpu_id, run_id;
    size_t lane, n_lanes; /* the backend's lane; how many share the devices (0: only this one) */
    bool in_background;   /* an earlier problem shows its progress */
    size_t kind, n_kinds; /* of GPUs, one after the other; each has all problems */
    size_t at_problem, n_ended, n_problems;
    double started_s, end_s; /* end_s: end of the budget, or INFINITY */
    double trial_timeout_s, compile_timeout_s;
    tt__winners elsewhere; /* winners of earlier runs, where a search may start */
} tt__session;

/* Has each of many problems only a part of a second? There is no time to measure the copy then, and problems
 * are opened well before their turn, so that compilers keep up. */
bool tt__session_hurries(const tt__session *s);
/* Has the store a winner of the problem, valid or not? */
bool tt__session_has_winner(const tt__session *s, const tt__problem *p);
/* What programs launch for the current problem, or NULL. */
const tt_choice *tt__session_answer(const tt__session *s);

/* Calls opts->on_message, if set. */
void tt__session_message(const tt__session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a span from *since_s until now to the tuner's own row of the timeline, and sets *since_s to now. */
void tt__session_phase(const tt__session *s, const char *name, const tt__problem *p, double *since_s);

/* Stores a trial of this run. */
tt_status tt__session_store(const tt__session *s, int64_t problem_id, const tt__configuration *c,
                            tt__stage stage, const tt__trial *trial);

#endif
