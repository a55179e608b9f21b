/*
 * What is measured beside trials: peaks of a GPU, and the energy of configurations. Newer values replace
 * older ones.
 */
#ifndef TT_DB_EXCHANGE_FACTS_H
#define TT_DB_EXCHANGE_FACTS_H

#include "db/store.h"

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

#endif
