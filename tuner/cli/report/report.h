/*
 * `tune report`: what stores and recordings know, as data that the writers for HTML, JSON and CSV share.
 *
 * A subject is one GPU of one file. Nothing here depends on this machine, so the same files give the same
 * report everywhere.
 */
#ifndef TT_TUNER_CLI_REPORT_REPORT_H
#define TT_TUNER_CLI_REPORT_REPORT_H

#include "db/exchange/recording.h"
#include "db/store.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/explain/importance.h"
#include "tuner/measure/noise.h"

typedef struct tt__source {
    char name[TT__PATH_MAX]; /* the file's name without its folder */
    tt__store *store;
    tt__recording *recording; /* owns the store; NULL: the store is a file */
} tt__source;

/* A store may have very many winners, so each is read when it is needed. */
typedef struct tt__listed {
    int64_t problem_id, trials;
    uint32_t op; /* counts the operations of the subject */
} tt__listed;

typedef struct tt__subject {
    const tt__source *source;
    tt__gpu gpu;
    int64_t gpu_id;
    size_t n; /* winners, in the order of tt__store_winners */
    tt__listed *winners;
    int64_t newest_id, newest_ms; /* of the problem with the newest winner, and its date */
    tt__winner newest;
    size_t n_unsolved;
    tt__peaks peaks;                        /* that `tune explain` has stored */
    const struct tt__report_filter *filter; /* of the report */
} tt__subject;

typedef struct tt__report {
    struct tt__report_filter *filter; /* what the options ask for */
    size_t n_sources, n;              /* n: subjects */
    tt__source *sources;
    tt__subject *subjects;
} tt__report;

/* Opens --device replay:FILE, the files of the command line, or the default store, and finds the winners that
 * the options ask for, or problems without one. Close it, also after a failure. TT_E_NO_WINNER: there is
 * none; the message says what to run. */
tt_status tt__report_open(tt__report *out, const tt__cli_args *args);
void tt__report_close(tt__report *r);

tt_status tt__subject_winner(const tt__subject *s, size_t at, tt__winner *out);
/* Calls back for each problem without a winner that was asked for. */
tt_status tt__subject_unsolved(const tt__subject *s, tt__unsolved_fn fn, void *user);

/* ---- One problem of a subject ------------------------------------------------------------------ */

typedef struct tt__report_row {
    char kernel[TT__NAME_MAX], hash[TT__HASH_SIZE], config[TT__CONFIG_MAX];
    tt__trial trial;
    double worth; /* the time, weighed by the objective; 0 for failures */
    int64_t config_id, run_id, run_age, unix_ms;
    size_t place; /* among all, in the order of time */
} tt__report_row;

typedef struct tt__report_kernel {
    const char *name;
    size_t n;
    double best; /* least worth; 0: none passed */
} tt__report_kernel;

typedef struct tt__report_value {
    char text[TT__NAME_MAX];
    size_t n, seen; /* trials that passed; how many other values came before */
    double best;    /* least worth of them */
} tt__report_value;

typedef struct tt__report_param {
    char name[TT__NAME_MAX];
    size_t n, best; /* best: the value with the least worth */
    tt__report_value values[TT__VALUES_MAX];
    double share, total; /* of the spread: alone, and with one other parameter */
    double cost;         /* the worst value's least worth over the best one's; 1: it costs nothing */
} tt__report_param;

typedef struct tt__report_energy {
    char kernel[TT__NAME_MAX], config[TT__CONFIG_MAX];
    tt__energy energy;
} tt__report_energy;

typedef struct tt__details {
    const tt__subject *subject;
    const tt__winner *w;
    bool weighed;       /* the objective is not the time */
    size_t n, n_finals; /* screening in the order of time; finals of the winner's run, best first */
    tt__report_row *rows, *finals;
    size_t n_failed, by_status[TT__TRIAL_STATUS_COUNT];
    size_t n_kernels; /* best first */
    tt__report_kernel *kernels;
    double best; /* least worth of the screening; 0: none passed */
    double flop; /* of one launch; 0: unknown */
    size_t n_energies;
    tt__report_energy *energies; /* least time first */
    /* Of the winner's kernel. Without enough trials n_params is 0. */
    size_t n_params, n_own;
    tt__report_param *params;
    unsigned char *level;         /* n_own x n_params */
    double *own;                  /* worth of these trials */
    size_t order[TT__PARAMS_MAX]; /* most important first */
    size_t pair[2];               /* the two that explain most together */
    tt__importance *importance;
} tt__details;

/* Reads the trials of a winner's problem, in its environment, and of each kernel those of its newest text.
 * Close it, also after a failure. */
tt_status tt__details_open(tt__details **out, const tt__subject *s, const tt__winner *w);
void tt__details_close(tt__details **d);

/* A final over the winner, from pairs if there are any. */
tt__ratio tt__details_ratio(const tt__details *d, const tt__report_row *final);
/* The reason that the first trial with this status gives; "" if none does. */
const char *tt__details_reason(const tt__details *d, tt__trial_status status);

/* ---- Two subjects ------------------------------------------------------------------------------ */

typedef enum tt__change_kind { TT__CHANGE_NONE, TT__CHANGE_FASTER, TT__CHANGE_SLOWER } tt__change_kind;

/* How a problem of the first subject changed. */
typedef struct tt__change {
    tt__winner before, after;
    double ratio, noise; /* time after over time before; both sides' spread, and that between processes */
    tt__change_kind kind;
} tt__change;

/* Of the winner at a place of the first. False: the other does not have its problem. */
tt_status tt__report_change(tt__change *out, const tt__subject *before, size_t at, const tt__subject *after,
                            bool *both);

/* What is different: "another kernel", "the driver", ..., "nothing". */
const char *tt__change_what(const tt__change *c);

/* Appends "tune --op NAME --problem NAME=VALUE,...", or --kernel with that file. */
tt_status tt__report_command(tt__str *out, const tt__problem *p, const char *kernel_file);

/* A format for tt__cli_when: "2026-11-24 09:13 UTC". */
#define TT__REPORT_WHEN "%Y-%m-%d %H:%M UTC"

#endif
