/*
 * The plans that tt_transpose has made, found without a lock: a reader touches memory that nobody writes any
 * more, so that any number of threads look plans up at the same speed.
 */
#ifndef TT_DISPATCH_PLAN_CACHE_H
#define TT_DISPATCH_PLAN_CACHE_H

#include <stdatomic.h>

#include "base/model.h"

/* What a plan is for, and the CUDA context (api/matrix.h writes it). */
enum { TT__PLAN_KEY_WORDS = 10, TT__PLAN_KEY_CONTEXT = 9 };
typedef struct tt__plan_key {
    uint64_t words[TT__PLAN_KEY_WORDS];
} tt__plan_key;

struct tt__plan_table;

/* Zero-initialise. */
typedef struct tt__plan_cache {
    _Atomic(struct tt__plan_table *) table; /* the newest; the older ones hang behind it until the end */
} tt__plan_cache;

/* The plan, or NULL. Any thread, any time. */
tt_plan *tt__plan_cache_find(tt__plan_cache *cache, const tt__plan_key *key);

/* Adds one under a key that is not there yet. One thread at a time. With `own`, the plan is freed with the
 * cache; a plan may stand under several keys, of which one owns it. On failure nothing has changed. */
tt_status tt__plan_cache_add(tt__plan_cache *cache, const tt__plan_key *key, tt_plan *plan, bool own);

/* Frees the cache and the plans it owns. No other thread may be using it. */
void tt__plan_cache_free(tt__plan_cache *cache);

#endif
