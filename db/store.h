/*
 * The store: one SQLite file with GPUs, runs, trials, winners and cubins. Several processes may read and
 * write it at once. Callers never see "database is locked".
 *
 * Use a tt__store from one thread at a time: open one per thread, or lock around it. Unless a function says
 * otherwise, every failure is TT_E_DB and names the file. Only this folder and kernel/expression/expr.c use
 * SQLite.
 */
#ifndef TT_DB_STORE_H
#define TT_DB_STORE_H

#include "base/hash.h"
#include "base/model.h"
#include "base/rule.h"
#include "base/str.h"

typedef struct tt__store tt__store;

typedef enum tt__store_mode { TT__STORE_READ_WRITE, TT__STORE_UPDATE, TT__STORE_READ_ONLY } tt__store_mode;

/* Opens the file. READ_WRITE creates it (mode 0600, its folder 0700) and migrates its schema. UPDATE is the
 * same for a store that is there: it fails if the file is missing or empty. READ_ONLY never writes, so it
 * fails if the file is missing, and works where nothing can be written. ":memory:" keeps nothing.
 *
 * TT_E_DB: the file is no database, damaged, read-only or of a newer schema, others can write it or its
 * folder, or there is no such folder. The message says what to do. */
tt_status tt__store_open(tt__store **out, const char *path, tt__store_mode mode);
/* Opens a file that others may have written, read-only. Use it only for merging (db/exchange/merge.h).
 * *trusted: its cubins may be used, see tt__path_check_code. */
tt_status tt__store_open_foreign(tt__store **out, const char *path, bool *trusted);
/* A new temporary store, in memory or, if it grows large, in a temporary file. */
tt_status tt__store_open_scratch(tt__store **out);
void tt__store_close(tt__store **store);
/* Closes it, and removes its file if that holds nothing and no other process has it open. An open transaction
 * is rolled back. */
void tt__store_discard(tt__store **store);
/* Sets a function that this thread calls while it waits for another process or reads for long. When the
 * function returns non-zero, the call fails with TT_E_INTERRUPTED within a second. NULL: none. */
void tt__store_stop_when(int (*asked)(void *user), void *user);
/* Was it opened in a process that has forked since, and is this the child? It must not be used then.
 * tt__store_close frees its memory, and leaves the file alone. */
bool tt__store_forked(const tt__store *store);
/* The path it was opened with; borrowed. */
const char *tt__store_path(const tt__store *store);

/* The store's default path: see tt_open_opts.db_path. TT_E_INVALID: HOME is not set. */
tt_status tt__store_default_path(tt__str *out);

/* ---- Identities: found, or added on first use ------------------------------------------------ */

/* A known GPU may differ in memory by 5 %, because drivers report it differently. Its other properties are
 * updated. A read-only store adds nothing: an unknown object gets id -1, which matches nothing. */
tt_status tt__store_gpu(tt__store *s, const tt__gpu *gpu, int64_t *id);
/* TT_E_INVALID: it is not valid, see tt__check_problem (db/field.h). */
tt_status tt__store_problem(tt__store *s, const tt__problem *p, int64_t *id);
/* kernel, op and hash of the template; `config` as in tt__candidate. */
tt_status tt__store_config(tt__store *s, const char *kernel, const char *op, const char *hash,
                           const char *config, int64_t *id);

/* The same without adding, for queries. *id is -1 if the store does not have it. */
tt_status tt__store_known_gpu(tt__store *s, const tt__gpu *gpu, int64_t *id);
tt_status tt__store_known_problem(tt__store *s, const tt__problem *p, int64_t *id);

/* What is stored under the hash `before` of a user's text is stored under `now` from now on. *changed: there
 * was something. A read-only store stays as it is. */
tt_status tt__store_rename_text(tt__store *s, const char *before, const char *now, bool *changed);

/* Finds the GPU that tt__gpu_matches best. Of several with one name or text it is the one that ran last.
 * TT_E_INVALID: none or several names match; the message lists the GPUs. *gpu is then one of several, or all
 * zeros. */
tt_status tt__store_find_gpu(tt__store *s, const char *name, tt__gpu *gpu, int64_t *id);

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
    int64_t run_id;
    int64_t unix_ms; /* when it ended; of other tuners' files the start of the run */
    const tt__trial *trial;
} tt__trial_row;
typedef tt_status (*tt__trial_fn)(void *user, const tt__trial_row *row);
tt_status tt__store_trials(tt__store *s, int64_t gpu_id, const tt__env *env, int64_t problem_id,
                           tt__stage stage, tt__trial_fn fn, void *user);

/* The newest trial of a configuration on this GPU, of either stage, with this method and driver ("": any).
 * Replays and skipped trials do not count. *found is false if there is none. */
tt_status tt__store_last_trial(tt__store *s, int64_t gpu_id, int64_t problem_id, const char *kernel,
                               const char *hash, const char *config, const char *driver, tt__trial *out,
                               bool *found);

/* Was this configuration never wrong for a problem of the user's operation, and has it passed for other sizes
 * than those of the problem `of`: with another value of each variable in which `asked` differs from it? */
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

/* Of runs of this process. */
void tt__origin_here(tt__origin *out);
/* Of the run that found a winner. Empty if there is none. */
tt_status tt__store_origin(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__origin *out);

/* ---- Winners --------------------------------------------------------------------------------- */

typedef struct tt__winner {
    tt__gpu gpu;
    tt__problem problem;
    tt__env env; /* environment of the measurement */
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
/* found is false if there is none. The winner may be stale (dispatch/layers.h). */
tt_status tt__store_winner_get(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__winner *out,
                               bool *found);

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

/* For a look-up in memory, which reads all: calls `fn` for each GPU, each problem, or each winner with just
 * what a look-up needs. The order is by id, and of winners by GPU and problem. Problems that cannot be read
 * are left out. Arguments are valid during the call-back, which must not start such a loop. */
typedef tt_status (*tt__gpu_fn)(void *user, int64_t gpu_id, const tt__gpu *gpu);
tt_status tt__store_gpus(tt__store *s, tt__gpu_fn fn, void *user);
typedef tt_status (*tt__stored_problem_fn)(void *user, int64_t problem_id, const tt__problem *p);
tt_status tt__store_problems(tt__store *s, tt__stored_problem_fn fn, void *user);
typedef tt_status (*tt__winner_brief_fn)(void *user, int64_t gpu_id, int64_t problem_id, const tt__winner *w);
/* GPU and problem of `w` are not filled in. */
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

/* A number that changes when another connection changes the store. Takes microseconds. */
tt_status tt__store_version(tt__store *s, int64_t *version);

/* Groups many small writes into one commit. Groups do not nest. tt__store_commit ends it, and closing rolls
 * back. Other writers wait meanwhile, so keep it short. */
tt_status tt__store_begin(tt__store *s);
tt_status tt__store_commit(tt__store *s);
/* From now on all reads see the same state, whatever others write, and each needs no lock of its own. Do not
 * write to this store any more, and close it soon. */
tt_status tt__store_hold(tt__store *s);

#endif
