/*
 * The store: one SQLite file that remembers GPUs, runs, trials, winners and cubins. Several processes may
 * read and write one file at once; the caller never sees "database is locked".
 *
 * A tt__store may be used from one thread at a time; open one per thread, or lock around it.
 * Every failure is TT_E_DB and names the file, unless it says otherwise. Source: this folder is the only
 * place (with template/expr.c) that knows SQLite.
 */
#ifndef TT_DB_STORE_H
#define TT_DB_STORE_H

#include "base/hash.h"
#include "base/model.h"
#include "base/str.h"

typedef struct tt__store tt__store;

typedef enum tt__store_mode { TT__STORE_READ_WRITE, TT__STORE_READ_ONLY } tt__store_mode;

/* Opens the file, creates it (0600, its folder 0700) and brings its schema up to date; READ_ONLY does
 * neither and fails if it is not there; it also works where nothing can be written. ":memory:" keeps nothing.
 * Refused with TT_E_DB and a sentence that says what to do: not a database, damaged, read-only, no such
 * folder, a newer schema, a file or folder that others can write. */
tt_status tt__store_open(tt__store **out, const char *path, tt__store_mode mode);
/* Opens, read-only, a file that anybody may have written, to be merged (db/merge.h) and nothing else.
 * *trusted: it belongs to this user or root, and nobody else can write it. */
tt_status tt__store_open_foreign(tt__store **out, const char *path, bool *trusted);
/* A new store for as long as it is open, in memory and, where it gets large, in a temporary file. */
tt_status tt__store_open_scratch(tt__store **out);
void tt__store_close(tt__store **store);
/* While this thread waits for another process, or reads for long, it asks this: within a second after it has
 * said other than 0 the call fails with TT_E_INTERRUPTED. NULL: nothing is asked. */
void tt__store_stop_when(int (*asked)(void *user), void *user);
/* The path it was opened with; borrowed. */
const char *tt__store_path(const tt__store *store);

/* Where the store is when nobody says: see tt_open_opts.db_path. TT_E_INVALID without HOME. */
tt_status tt__store_default_path(tt__str *out);

/* ---- Identities: found, or added on first use ------------------------------------------------ */

/* Memory may differ by 5 %: drivers report it differently. The other facts of a GPU are brought up to date.
 * A read-only store adds nothing: what it does not know has id -1, which matches nothing. */
tt_status tt__store_gpu(tt__store *s, const tt__gpu *gpu, int64_t *id);
/* TT_E_INVALID if it is none: see tt__check_problem (db/checked.h). */
tt_status tt__store_problem(tt__store *s, const tt__problem *p, int64_t *id);
/* kernel, op and hash of the template's text; `config` as in tt__candidate. */
tt_status tt__store_config(tt__store *s, const char *kernel, const char *op, const char *hash,
                           const char *config, int64_t *id);

/* The same without ever adding: for queries, which must not fill the store with what was only asked for.
 * *id is -1 if the store does not know it. */
tt_status tt__store_known_gpu(tt__store *s, const tt__gpu *gpu, int64_t *id);
tt_status tt__store_known_problem(tt__store *s, const tt__problem *p, int64_t *id);

/* Finds a GPU by name, case-insensitive: an exact name wins over a part of one ("h100"). TT_E_INVALID if
 * none or several different names match; the sentence lists the GPUs there are. Of several GPUs of one name
 * it is the one that ran last. */
tt_status tt__store_find_gpu(tt__store *s, const char *name, tt__gpu *gpu, int64_t *id);

/* ---- Runs and trials ------------------------------------------------------------------------- */

/* source: "measured", "replayed" or "imported". */
tt_status tt__store_run_begin(tt__store *s, int64_t gpu_id, const tt__env *env, const char *source,
                              int64_t *run_id);
tt_status tt__store_run_end(tt__store *s, int64_t run_id);

/* A trial's stage: everybody is screened alone; finalists are measured again in interleaved rounds, and
 * the samples of one run's finals pair up by index. */
typedef enum tt__stage { TT__STAGE_SCREEN = 0, TT__STAGE_FINAL = 1 } tt__stage;

/* Commits one trial; durable against the death of this process when it returns. A second one of the same
 * run, problem, configuration and stage replaces the first. Times are kept to 0.1 ns. TT_E_INVALID if a
 * number in it is negative or not finite. */
tt_status tt__store_trial_put(tt__store *s, int64_t run_id, int64_t problem_id, int64_t config_id,
                              tt__stage stage, const tt__trial *trial);

/* The newest trial (that of the newest run) of each configuration for this GPU, environment and problem,
 * handed out one by one. `trial` and the strings are valid during the call-back only; a non-OK return ends
 * the walk and is passed on. The call-back of a walk must neither write to the store nor start such a
 * walk. */
typedef struct tt__trial_row {
    const char *kernel, *hash, *config;
    const char *source; /* of its run: "measured", ... */
    tt__stage stage;
    int64_t run_id;
    const tt__trial *trial;
} tt__trial_row;
typedef tt_status (*tt__trial_fn)(void *user, const tt__trial_row *row);
tt_status tt__store_trials(tt__store *s, int64_t gpu_id, const tt__env *env, int64_t problem_id,
                           tt__stage stage, tt__trial_fn fn, void *user);

/* ---- Winners --------------------------------------------------------------------------------- */

typedef struct tt__winner {
    tt__gpu gpu;
    tt__problem problem;
    tt__env env; /* validators: what it was measured under */
    char kernel[TT__NAME_MAX];
    char hash[TT__HASH_SIZE]; /* of the template then */
    char config[TT__CONFIG_MAX];
    char source[16];           /* of its run: "measured", ... */
    double time_us;            /* median over the finals */
    double copy_us;            /* tuned copy in the same rounds; 0: unknown */
    double copy_fraction;      /* median paired ratio copy / winner; 0: unknown */
    double speedup_vs_default; /* median paired ratio; 0: unknown */
    int64_t trials, failed;    /* configurations tried for it, and those that did not pass */
    int64_t unix_ms;           /* when */
} tt__winner;

/* Replaces the winner of (gpu, problem), all or nothing. GPU, environment, source, kernel, hash and config
 * are those of the run and the configuration named; the rest is taken from `w` (unix_ms 0: now). */
tt_status tt__store_winner_put(tt__store *s, int64_t run_id, int64_t problem_id, int64_t config_id,
                               const tt__winner *w);
/* *found is false if there is none. The winner may be stale: compare its validators. */
tt_status tt__store_winner_get(tt__store *s, int64_t gpu_id, int64_t problem_id, tt__winner *out,
                               bool *found);

/* Walks winners: of this GPU (gpu_id > 0), or of every GPU with this cc (gpu_id 0, cc > 0), or of all (both
 * 0); `op` NULL means every operation. Ordered by GPU name, operation and problem. `w` is valid during the
 * call-back. */
typedef tt_status (*tt__winner_fn)(void *user, const tt__winner *w);
tt_status tt__store_winners(tt__store *s, int64_t gpu_id, int cc, const char *op, tt__winner_fn fn,
                            void *user);

/* Winners by their problems alone, for a search through many: of one operation (`text` as in tt__problem), of
 * every GPU of this cc (0: of all), whose first two numbers are within these ranges (0: it has fewer). The
 * rest of one is had from tt__store_winner_get. The call-back must not start such a walk. */
typedef struct tt__range {
    int64_t least, most;
} tt__range;
enum { TT__RANGES = 2 };
typedef tt_status (*tt__winner_key_fn)(void *user, int64_t gpu_id, int64_t problem_id, int cc,
                                       const tt__problem *p);
tt_status tt__store_winner_keys(tt__store *s, int cc, const char *op, const char *text,
                                const tt__range ranges[TT__RANGES], tt__winner_key_fn fn, void *user);

/* ---- Cubins ---------------------------------------------------------------------------------- */

/* `key` hashes everything that made the cubin: source, options, architecture, NVRTC version. The store
 * keeps a hash of the content too and refuses (TT_E_DB) a cubin that does not match it any more. */
tt_status tt__store_cubin_put(tt__store *s, const char *key, const void *cubin, size_t size);
/* Appends to `out`; *found is false if there is none. */
tt_status tt__store_cubin_get(tt__store *s, const char *key, tt__str *out, bool *found);

/* The key of the cubin a configuration was last measured with, so that a machine without NVRTC can find it.
 * (kernel hash, config, elem_size, cc) -> key. */
tt_status tt__store_cubin_link(tt__store *s, const char *template_hash, const char *config, int elem_size,
                               int cc, const char *key);
/* Is there a cubin of what begins with that configuration? */
tt_status tt__store_cubin_linked(tt__store *s, const char *template_hash, const char *config, int elem_size,
                                 int cc, bool *found);
/* Appends the key, to be handed to tt__store_cubin_get; not *found if that cubin is not in the store. */
tt_status tt__store_cubin_find(tt__store *s, const char *template_hash, const char *config, int elem_size,
                               int cc, tt__str *out, bool *found);

/* A number that changes whenever another connection has changed the store; microseconds. */
tt_status tt__store_version(tt__store *s, int64_t *version);

/* Groups many small writes into one commit; nests not. Ends with tt__store_commit; closing rolls back. All
 * other writers wait meanwhile: keep it short. */
tt_status tt__store_begin(tt__store *s);
tt_status tt__store_commit(tt__store *s);

#endif
