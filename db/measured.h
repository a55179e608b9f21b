/*
 * What was measured: runs and where they come from, trials, winners, rules, cubins, and facts that were
 * measured once: peaks of GPUs, work and energy.
 */
#ifndef TT_DB_MEASURED_H
#define TT_DB_MEASURED_H

#include "base/rule.h"
#include "db/identity.h"

/* ---- Runs and trials ------------------------------------------------------------------------- */

/* source: "measured", "replayed" or "imported". */
tt_status tt__store_run_begin(tt__store *s, int64_t gpu_id, const tt__env *env, const char *source,
                              int64_t *run_id);
tt_status tt__store_run_end(tt__store *s, int64_t run_id);

/* A trial's stage. In screening, each configuration is measured alone. Finalists are measured again in
 * interleaved rounds, and samples of one run's finals pair up by index. */
typedef enum tt__stage { TT__STAGE_SCREEN = 0, TT__STAGE_FINAL = 1 } tt__stage;

/* Commits one trial, which then survives the death of this process. A trial with the same run, problem,
 * configuration and stage is replaced. Times are rounded to 0.1 ns. TT_E_INVALID: a number is negative or not
 * finite. */
tt_status tt__store_trial_put(tt__store *s, int64_t run_id, int64_t problem_id, int64_t config_id,
                              tt__stage stage, const tt__trial *trial);

/* Calls `fn` with the newest trial (from the newest run) of each configuration for this GPU, environment
 * (NULL: any) and problem. `trial` and the strings are valid during the call-back. If it does not return
 * TT_OK, the loop ends with that status. The call-back must neither write to the store nor start such a loop.
 */
typedef struct tt__trial_row {
    const char *kernel, *hash, *config;
    const char *source; /* source of its run: "measured", ... */
    tt__stage stage;
    int64_t config_id, run_id, run_age; /* run_age: more is newer */
    int64_t unix_ms;                    /* when it ended; of other tuners' files the start of the run */
    const tt__trial *trial;
} tt__trial_row;
typedef tt_status (*tt__trial_fn)(void *user, const tt__trial_row *row);
tt_status tt__store_trials(tt__store *s, int64_t gpu_id, const tt__env *env, int64_t problem_id,
                           tt__stage stage, tt__trial_fn fn, void *user);
/* All trials of a problem from a stage on, by stage and configuration, which may have one from each of
 * several runs: much faster, as nothing is sorted. */
tt_status tt__store_trials_by_key(tt__store *s, int64_t gpu_id, const tt__env *env, int64_t problem_id,
                                  tt__stage from, tt__trial_fn fn, void *user);

/* The newest trial of a configuration on this GPU, of either stage, with this method and driver ("": any).
 * Replays and skipped trials do not count. *found is false if there is none. */
tt_status tt__store_last_trial(tt__store *s, int64_t gpu_id, int64_t problem_id, const char *kernel,
                               const char *hash, const char *config, const char *driver, tt__trial *out,
                               bool *found);

/* Was this configuration never wrong for a problem of the user's operation, and has it passed for other sizes
 * than those of the problem `of`: with another value of each variable in which `asked` differs from it? `of`
 * NULL: with that of `asked`, or with two others. */
tt_status tt__store_covers(tt__store *s, const char *kernel, const char *hash, const char *config,
                           const tt__problem *of, const tt__problem *asked, bool *covers);
/* How many runs on this GPU held finals for the problem. Replays do not count. */
tt_status tt__store_finals_runs(tt__store *s, int64_t gpu_id, int64_t problem_id, int64_t *n);

/* Where a run comes from. It stays with its trials and winners when stores are merged. */
typedef struct tt__origin {
    char who[128];    /* "user@host", or $TILETUNE_WHO; "": not known */
    char program[64]; /* version and commit of the program */
    char file[17];    /* hash of an imported file without a date, by which it is known; "": it has a date */
} tt__origin;

/* The commit that is built. */
extern const char tt__commit[];

/* Of the run that found a winner. Empty if there is none. */
tt_status tt__store_origin(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__origin *out);

/* ---- Winners --------------------------------------------------------------------------------- */

typedef struct tt__winner {
    tt__gpu gpu;
    tt__problem problem;
    int64_t problem_id; /* in the store that it was read from */
    tt__env env;        /* environment of the measurement */
    char kernel[TT__NAME_MAX];
    char hash[TT__HASH_SIZE]; /* of the template at that time */
    char config[TT__CONFIG_MAX];
    char source[16];           /* source of its run: "measured", ... */
    double time_us;            /* median of the finals */
    double copy_us;            /* tuned copy in the same rounds; 0: unknown */
    double copy_fraction;      /* median of the paired ratios copy / winner; 0: unknown */
    double speedup_vs_default; /* median of the paired ratios; 0: unknown */
    int64_t trials, failed;    /* configurations tried for it, and those that failed */
    int64_t unix_ms;           /* when */
    int64_t bits;              /* its class, as of a trial */
    int batch_invariant;       /* does a row stay the same when rows are added? 0: unknown, 1: yes, 2: no */
} tt__winner;

/* Replaces the winner of (GPU, problem) in one transaction. GPU, environment, source, kernel, hash and config
 * are those of the run and configuration; the rest is taken from `w` (unix_ms 0: now). */
tt_status tt__store_winner_put(tt__store *s, int64_t run_id, int64_t problem_id, int64_t config_id,
                               const tt__winner *w);
/* found is false if there is none. The winner may be stale (dispatch/store_layers.h). */
tt_status tt__store_winner_get(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__winner *out,
                               bool *found);

tt_status tt__store_winner_remove(tt__store *s, int64_t gpu_id, int64_t problem_id);

/* Says of a winner whether rows depend on their number (tt__winner.batch_invariant). */
tt_status tt__store_winner_batch(tt__store *s, int64_t gpu_id, int64_t problem_id, int batch_invariant);

/* Has a problem a winner on this GPU, or on any (gpu_id 0)? */
tt_status tt__store_has_winner(tt__store *s, int64_t gpu_id, int64_t problem_id, bool *has);

/* Calls `fn` for winners: of this GPU (gpu_id > 0), of every GPU with this cc (gpu_id 0, cc > 0), or of all
 * (both 0). `op` NULL means every operation. The order is by GPU, operation and problem. `w` is valid
 * during the call-back. */
typedef tt_status (*tt__winner_fn)(void *user, const tt__winner *w);
tt_status tt__store_winners(tt__store *s, int64_t gpu_id, int cc, const char *op, tt__winner_fn fn,
                            void *user);

/* The same winners in the same order, of this GPU or of all (gpu_id 0), with little of each. */
typedef struct tt__winner_listed {
    int64_t gpu_id, problem_id, trials, unix_ms;
    const char *op;
} tt__winner_listed;
typedef tt_status (*tt__winner_listed_fn)(void *user, const tt__winner_listed *w);
tt_status tt__store_winners_listed(tt__store *s, int64_t gpu_id, const char *op, tt__winner_listed_fn fn,
                                   void *user);

/* For a look-up in memory: calls `fn` for each winner in the order of GPU and problem, with just what that
 * needs. GPU and problem of `w` are not filled in. */
typedef tt_status (*tt__winner_brief_fn)(void *user, int64_t gpu_id, int64_t problem_id, const tt__winner *w);
tt_status tt__store_winners_brief(tt__store *s, tt__winner_brief_fn fn, void *user);

/* ---- Rules ----------------------------------------------------------------------------------- */

/* Keeps the rule of a GPU, unless there is a newer one for the same problems. */
tt_status tt__store_rule_put(tt__store *s, int64_t gpu_id, const tt__tuning_rule *rule, int64_t unix_ms);
/* Calls `fn` for each rule, in the order of GPUs (gpu_id 0: all). The text may be one that this version
 * cannot read. */
typedef tt_status (*tt__rule_fn)(void *user, int64_t gpu_id, const char *text, int64_t unix_ms);
tt_status tt__store_rules(tt__store *s, int64_t gpu_id, tt__rule_fn fn, void *user);

/* ---- Cubins ---------------------------------------------------------------------------------- */

/* `key` is a hash of everything that made the cubin: source, options, architecture, NVRTC version. The store
 * also keeps a hash of the content. TT_E_DB: a stored cubin does not match its hash. */
tt_status tt__store_cubin_put(tt__store *s, const char *key, const void *cubin, size_t size);
/* Appends to `out`. *found is false if there is none. TT_E_DB, too: others could have put it there. */
tt_status tt__store_cubin_get(tt__store *s, const char *key, tt__str *out, bool *found);

/* Links a configuration to the key of the cubin that was last measured, so that a machine without NVRTC can
 * find it: (kernel hash, config, elem_size, cc) -> key. */
tt_status tt__store_cubin_link(tt__store *s, const char *template_hash, const char *config, int elem_size,
                               int cc, const char *key);
/* Is there a cubin whose text begins with that configuration? */
tt_status tt__store_cubin_linked(tt__store *s, const char *template_hash, const char *config, int elem_size,
                                 int cc, bool *found);
/* Appends the key for tt__store_cubin_get. *found is false if that cubin is not in the store. */
tt_status tt__store_cubin_find(tt__store *s, const char *template_hash, const char *config, int elem_size,
                               int cc, tt__str *out, bool *found);

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Stores the known peaks. Unknown ones (0) leave what is stored. */
tt_status tt__store_peaks_put(tt__store *s, int64_t gpu_id, const tt__peaks *peaks);
/* All 0 if nothing is stored. */
tt_status tt__store_peaks_get(tt__store *s, int64_t gpu_id, tt__peaks *out);

/* Floating-point operations of one launch of a problem; 0: unknown. */
tt_status tt__store_flop_put(tt__store *s, int64_t problem_id, double flop);
tt_status tt__store_flop_get(tt__store *s, int64_t problem_id, double *flop);

tt_status tt__store_energy_put(tt__store *s, int64_t gpu_id, int64_t problem_id, int64_t config_id,
                               const tt__energy *energy);

/* Calls `fn` for all energies of a problem, least time first. Its arguments are valid during the call. */
typedef tt_status (*tt__energy_fn)(void *user, const char *kernel, const char *config,
                                   const tt__energy *energy);
tt_status tt__store_energies(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__energy_fn fn, void *user);

/* A problem that was tried and has no winner, or only one from before an upgrade after which all failed. */
typedef struct tt__unsolved {
    tt__gpu gpu;
    tt__problem problem;
    int64_t tried, passed;
    char kernel[TT__NAME_MAX], config[TT__CONFIG_MAX]; /* of the first failure ... */
    tt__trial_status status;
    char reason[TT__REASON_MAX]; /* ... and why */
} tt__unsolved;
typedef tt_status (*tt__unsolved_fn)(void *user, const tt__unsolved *u);
/* In the order of tt__store_winners. gpu_id 0: all; op NULL: all but those that have no winners of their own:
 * the copy and the ladder of `tune study`. */
tt_status tt__store_unsolved(tt__store *s, int64_t gpu_id, const char *op, tt__unsolved_fn fn, void *user);

/* ---- For this folder ------------------------------------------------------------------------- */

/* tt__store_run_begin with an explicit start time and origin. */
tt_status tt__run_add(tt__store *s, int64_t gpu_id, const tt__env *env, const char *source,
                      int64_t started_ms, const tt__origin *origin, int64_t *run_id);
/* "measured", "replayed", "imported" for 0, 1, 2. */
const char *tt__run_source_name(int source);

/* From two columns of a query. What others wrote is cut and cleaned. */
void tt__origin_read(tt__origin *out, sqlite3_stmt *stmt, int at);

/* A trial from TT__TRIAL_COLS. TT_E_DB if the row is damaged. */
tt_status tt__trial_read(tt__store *s, sqlite3_stmt *stmt, tt__trial *out);
/* Writes such a column of a row that is pulled (db/conn.h). The trial has passed tt__trial_check, and its
 * reason is clean. */
void tt__trial_column(const tt__trial *t, sqlite3_context *out, int at);
enum { TT__TRIAL_COL_COUNT = 9 };
/* Largest weight: the ratio of two metrics of a kernel. */
#define TT__WEIGHT_MAX 1e100
/* TT_E_INVALID: a number is negative, not finite, or absurdly large. */
tt_status tt__trial_check(const tt__trial *t);

/* These read columns from `at` on, as those of db/field.h: the figures of a winner (time_us to
 * batch_invariant), the peaks of a GPU, and the energy of a configuration. */
enum { TT__WINNER_FIELDS = 9, TT__ENERGY_FIELDS = 5 };
extern const tt__field tt__winner_fields[TT__WINNER_FIELDS];
tt_status tt__checked_winner(sqlite3_stmt *stmt, int at, tt__winner *out);
tt_status tt__checked_peaks(sqlite3_stmt *stmt, int at, tt__peaks *out);
tt_status tt__checked_energy(sqlite3_stmt *stmt, int at, tt__energy *out);

#endif
