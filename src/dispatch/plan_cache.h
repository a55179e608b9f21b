/*
 * The plans that tt_transpose has made. A look-up takes no lock and reads memory that is never written again,
 * so any number of threads look up at full speed.
 */
#ifndef TT_DISPATCH_PLAN_CACHE_H
#define TT_DISPATCH_PLAN_CACHE_H

#include <stdatomic.h>

#include "base/model.h"

/* The key of a plan: the problem, and the CUDA context (api/matrix.h writes it). */
enum { TT__PLAN_KEY_WORDS = 10, TT__PLAN_KEY_CONTEXT = 9 };
typedef struct tt__plan_key {
    uint64_t words[TT__PLAN_KEY_WORDS];
} tt__plan_key;

struct tt__plan_table;

/* Zero-initialise. */
typedef struct tt__plan_cache {
    _Atomic(struct tt__plan_table *) table; /* the newest, linked to the older ones */
} tt__plan_cache;

/* The plan, or NULL. Call from any thread at any time. */
tt_plan *tt__plan_cache_find(tt__plan_cache *cache, const tt__plan_key *key);

/* Adds a plan under a new key, one thread at a time. With `own`, the plan is freed with the cache. A plan may
 * have several keys, and one of them owns it. On failure nothing has changed. */
tt_status tt__plan_cache_add(tt__plan_cache *cache, const tt__plan_key *key, tt_plan *plan, bool own);

/* Frees the cache and the plans it owns. No other thread may be using it. */
void tt__plan_cache_free(tt__plan_cache *cache);

#endif
