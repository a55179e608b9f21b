/*
 * The plans that tt_transpose and tt_permute have made, a limited number. A look-up takes no lock and
 * allocates nothing, so any number of threads look up at full speed while one adds and gives up.
 */
#ifndef TT_DISPATCH_PLAN_CACHE_H
#define TT_DISPATCH_PLAN_CACHE_H

#include <stdatomic.h>

#include "base/model.h"

/* The key of a plan: the problem, and the CUDA context (api/problem.h writes it). */
enum { TT__PLAN_KEY_WORDS = 10, TT__PLAN_KEY_CONTEXT = 9, TT__PLAN_COUNTERS = 128 };
typedef struct tt__plan_key {
    uint64_t words[TT__PLAN_KEY_WORDS];
} tt__plan_key;

/* A key of a plan. The first one is part of the plan (tt_plan.kept), so that keeping a plan needs no memory.
 */
typedef struct tt__plan_entry {
    tt__plan_key key;
    tt_plan *plan;
    _Atomic(struct tt__plan_entry *) next; /* in its chain */
    struct tt__plan_entry *given_up;       /* the next one that was given up */
    atomic_bool used;                      /* since the clock's hand passed */
    int n_keys;                            /* of the plan; in its first entry */
} tt__plan_entry;

typedef struct tt__plan_cache {
    size_t n, cap, hand;
    tt__plan_entry **ring; /* the n keys, for the clock */
    size_t n_chains;       /* a power of two */
    _Atomic(tt__plan_entry *) *chains;
    tt__plan_entry *given_up;       /* since `waiting` began to wait */
    tt__plan_entry *waiting;        /* to be freed when all threads that may use them have left */
    bool inside[TT__PLAN_COUNTERS]; /* counters of threads that were not seen at 0 since then */
} tt__plan_cache;

/* For so many keys, at least 1. */
tt_status tt__plan_cache_open(tt__plan_cache *cache, size_t cap);
/* Frees the cache and its plans. No other thread may be using it. */
void tt__plan_cache_free(tt__plan_cache *cache);

/* The plan, or NULL. Call from any thread at any time. A plan may be used until tt__plan_cache_leave, which
 * the same thread calls soon, with what *inside became. */
tt_plan *tt__plan_cache_enter(tt__plan_cache *cache, const tt__plan_key *key, atomic_uint **inside);
void tt__plan_cache_leave(atomic_uint *inside);

/* ---- One thread at a time ---------------------------------------------------------------------------- */

/* As tt__plan_cache_enter. If the key is missing, `other` is looked up, and the key added to its plan. */
tt_plan *tt__plan_cache_enter_any(tt__plan_cache *cache, const tt__plan_key *key, const tt__plan_key *other,
                                  atomic_uint **inside);
/* Takes a new plan over under a new key. A full cache gives up a key that was not used lately. A plan without
 * keys is freed when no thread uses it any more. */
void tt__plan_cache_add(tt__plan_cache *cache, const tt__plan_key *key, tt_plan *plan);
/* Gives up all plans, because memory is short. */
void tt__plan_cache_clear(tt__plan_cache *cache);

#endif
