/*
 * Recordings: the trials of a real GPU in one JSON file of the T4 format. The search can use them on a
 * machine without a GPU. docs/cli.schema.json lists its members.
 */
#ifndef TT_DB_EXCHANGE_RECORDING_H
#define TT_DB_EXCHANGE_RECORDING_H

#include "db/store.h"

/* Raised when readers of the previous format cannot understand new files. Format 1 can still be read. */
enum { TT__RECORDING_FORMAT = 2 };

/* T4's words for results, which are fewer than ours: two have the same. */
extern const char *const tt__t4_words[TT__TRIAL_STATUS_COUNT];

/* Use it from one thread at a time. */
typedef struct tt__recording tt__recording;

/* Reads a recording into a store in memory. TT_E_INVALID says what is wrong with the file and where; TT_E_IO
 * if it cannot be read. The file may be compressed by gzip. */
tt_status tt__recording_open(tt__recording **out, const char *path);
/* Facts that a file of another tuner lacks: the GPU, the problem and the kernel. */
typedef struct tt__foreign {
    const char *missing; /* the fact to ask the user for first; NULL: none is missing */
    tt__gpu gpu;         /* without a name: the file's */
    tt__problem problem;
    const char *kernel;
    /* Checks a row's configuration against the kernel's `space` (both borrowed), and writes it in the
     * kernel's order. A configuration that `ran` must be legal. TT_E_INVALID says what does not fit. */
    tt_status (*fits)(const struct tt__foreign *f, char config[TT__CONFIG_MAX], bool ran);
    const void *space;
} tt__foreign;
/* The same, and T4 files without our metadata and cache files of Kernel Tuner are read with the help of
 * `foreign`; NULL refuses them. Their trials get no kernel text and the measuring method "T4", so that they
 * are stale from the start. */
tt_status tt__recording_open_t4(tt__recording **out, const char *path, const tt__foreign *foreign);
/* Reads the file of `m` into its recording, whose store is open and empty. */
struct tt__import;
tt_status tt__recording_read(struct tt__import *m);
void tt__recording_close(tt__recording **r);

/* The recording as a store in memory, ready to be merged: one imported run, and a winner for each problem
 * with a time. Borrowed. */
tt__store *tt__recording_store(tt__recording *r);

/* The GPU and environment of the trials; borrowed. */
const tt__gpu *tt__recording_gpu(const tt__recording *r);
const tt__env *tt__recording_env(const tt__recording *r);

/* The hash of the kernel template's text at recording; NULL if the kernel is not in the recording.
 * Borrowed. */
const char *tt__recording_hash(const tt__recording *r, const char *kernel);

/* "2 members are left out, the first: ...", of another tuner's cache; "": all could be read. Borrowed. */
const char *tt__recording_left_out(const tt__recording *r);

/* Calls back for each recorded problem of an operation. */
typedef tt_status (*tt__problem_fn)(void *user, const tt__problem *p);
tt_status tt__recording_problems(const tt__recording *r, const char *op, tt__problem_fn fn, void *user);
/* Is there any trial of this problem? */
tt_status tt__recording_has(const tt__recording *r, const tt__problem *p, bool *has);

/* The trial of one configuration. *found is false if it was not recorded in that stage. */
tt_status tt__recording_trial(const tt__recording *r, const tt__problem *p, const char *kernel,
                              const char *config, tt__stage stage, tt__trial *out, bool *found);

#endif
