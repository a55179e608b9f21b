/*
 * A hash table of chains. Readers take no lock, so an entry that is given up may still be read, and its plan
 * launched. It is freed after a grace period, as RCU does:
 *
 * - A reader counts itself in, looks up, launches, and counts itself out. The first 64 threads have counters
 *   of their own, so that counting out is a plain store. Later ones share 64 more. No two counters share a
 *   cache line.
 * - The writer takes an entry out of its chain and then watches the counters. Once it has seen each of them
 *   at 0, every thread that may have met the entry has left. It never waits: what cannot be freed yet stays
 *   until the next plan is added.
 *
 * The counter, the heads of chains and the links are sequentially consistent. So either the writer sees the
 * reader counted, or the reader sees the chain without the entry.
 *
 * What was not used lately is given up first: keys stand in a ring, a hit sets a bit, and the hand of a clock
 * clears bits until it meets a key without one.
 */
#include "dispatch/plan_cache.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch/plan.h"

enum { OWN = 64, COUNTERS = TT__PLAN_COUNTERS, LINE_BYTES = 64 };

static struct { _Alignas(LINE_BYTES) atomic_uint inside; } counters[COUNTERS];
static atomic_uint n_threads;
static _Thread_local unsigned number; /* of the thread's counter, from 1; 0: none yet */

static __attribute__((noinline)) void take_number(void) {
    const unsigned n = atomic_fetch_add_explicit(&n_threads, 1, memory_order_relaxed);
    number = 1 + (n < OWN ? n : OWN + n % (COUNTERS - OWN));
}

static inline atomic_uint *count_in(void) {
    if (!number)
        take_number();
    atomic_uint *inside = &counters[number - 1].inside;
    atomic_fetch_add(inside, 1);
    return inside;
}

void tt__plan_cache_leave(atomic_uint *inside) {
    if (inside < &counters[OWN].inside) /* no other thread writes it */
        atomic_store_explicit(inside, atomic_load_explicit(inside, memory_order_relaxed) - 1,
                              memory_order_release);
    else
        atomic_fetch_sub_explicit(inside, 1, memory_order_release);
}

/* Each word is multiplied by its own odd number, so that the products are independent. The context, which
 * comes from the driver just before, is added last. The upper bits depend on every word. */
static size_t hash(const tt__plan_key *key) {
    static const uint64_t odd[TT__PLAN_KEY_WORDS] = {
        0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93, 0xff51afd7ed558ccd,
        0xc4ceb9fe1a85ec53, 0x2545f4914f6cdd1d, 0xda942042e4dd58b5, 0x8cb92ba72f3d8dd7, 0xaef17502108ef2d9};
    uint64_t h = 0;
    for (int i = 0; i < TT__PLAN_KEY_WORDS; i++)
        h += key->words[i] * odd[i];
    return (size_t)(h >> 40);
}

/* Compared word by word, as the key was just written. The wider loads of memcmp would wait for those
 * stores. */
static bool same(const tt__plan_key *a, const tt__plan_key *b) {
    for (int i = 0; i < TT__PLAN_KEY_WORDS; i++)
        if (a->words[i] != b->words[i])
            return false;
    return true;
}

static inline _Atomic(tt__plan_entry *) *chain_of(tt__plan_cache *cache, const tt__plan_key *key) {
    return &cache->chains[hash(key) & (cache->n_chains - 1)];
}

static inline tt__plan_entry *find(tt__plan_cache *cache, const tt__plan_key *key) {
    tt__plan_entry *e = atomic_load(chain_of(cache, key));
    while (e && !same(&e->key, key))
        e = atomic_load(&e->next);
    if (e && !atomic_load_explicit(&e->used, memory_order_relaxed))
        atomic_store_explicit(&e->used, true, memory_order_relaxed);
    return e;
}

tt_plan *tt__plan_cache_enter(tt__plan_cache *cache, const tt__plan_key *key, atomic_uint **inside) {
    *inside = count_in();
    tt__plan_entry *e = find(cache, key);
    if (e)
        return e->plan;
    tt__plan_cache_leave(*inside);
    return NULL;
}

/* ---- The writer ---------------------------------------------------------------------------------------- */

tt_status tt__plan_cache_open(tt__plan_cache *cache, size_t cap) {
    size_t n_chains = 1;
    while (n_chains < cap)
        n_chains *= 2;
    *cache = (tt__plan_cache){.cap = cap, .n_chains = n_chains};
    cache->ring = calloc(cap, sizeof *cache->ring);
    cache->chains = calloc(n_chains, sizeof *cache->chains);
    if (cache->ring && cache->chains)
        return TT_OK;
    tt__plan_cache_free(cache);
    return tt__fail_memory(cap * sizeof *cache->ring + n_chains * sizeof *cache->chains);
}

static void free_entries(tt__plan_entry *e) {
    while (e) {
        tt__plan_entry *next = e->given_up;
        tt_plan *plan = e->plan;
        const bool last = --plan->kept.n_keys == 0;
        if (e != &plan->kept)
            free(e);
        if (last)
            tt__plan_free(plan);
        e = next;
    }
}

/* Frees what no thread uses any more. */
static void free_unused(tt__plan_cache *cache) {
    while (cache->waiting || cache->given_up) {
        if (!cache->waiting) {
            cache->waiting = cache->given_up;
            cache->given_up = NULL;
            memset(cache->inside, 1, sizeof cache->inside);
        }
        bool inside = false;
        for (int i = 0; i < COUNTERS; i++)
            inside |= cache->inside[i] = cache->inside[i] && atomic_load(&counters[i].inside) != 0;
        if (inside)
            return;
        free_entries(cache->waiting);
        cache->waiting = NULL;
    }
}

static void give_up(tt__plan_cache *cache, tt__plan_entry *e) {
    _Atomic(tt__plan_entry *) *at = chain_of(cache, &e->key);
    for (tt__plan_entry *next; (next = atomic_load(at)) != e;)
        at = &next->next;
    atomic_store(at, atomic_load(&e->next)); /* e's own link stays, for those that stand on it */
    e->given_up = cache->given_up;
    cache->given_up = e;
}

/* The place in the ring for another key. */
static size_t make_room(tt__plan_cache *cache) {
    if (cache->n < cache->cap)
        return cache->n++;
    while (atomic_exchange_explicit(&cache->ring[cache->hand]->used, false, memory_order_relaxed))
        cache->hand = (cache->hand + 1) % cache->cap;
    const size_t place = cache->hand;
    cache->hand = (cache->hand + 1) % cache->cap;
    give_up(cache, cache->ring[place]);
    return place;
}

static void add(tt__plan_cache *cache, tt__plan_entry *e, const tt__plan_key *key, tt_plan *plan) {
    e->key = *key;
    e->plan = plan;
    atomic_init(&e->used, false); /* a shape that is asked for once is given up first */
    plan->kept.n_keys++;
    cache->ring[make_room(cache)] = e;
    _Atomic(tt__plan_entry *) *chain = chain_of(cache, key);
    atomic_init(&e->next, atomic_load(chain));
    atomic_store(chain, e);
    free_unused(cache);
}

tt_plan *tt__plan_cache_enter_any(tt__plan_cache *cache, const tt__plan_key *key, const tt__plan_key *other,
                                  atomic_uint **inside) {
    tt_plan *plan = tt__plan_cache_enter(cache, key, inside);
    if (plan || !(plan = tt__plan_cache_enter(cache, other, inside)))
        return plan;
    tt__plan_entry *e = calloc(1, sizeof *e);
    if (e) /* else the next call comes here again */
        add(cache, e, key, plan);
    return plan;
}

void tt__plan_cache_add(tt__plan_cache *cache, const tt__plan_key *key, tt_plan *plan) {
    add(cache, &plan->kept, key, plan);
}

void tt__plan_cache_clear(tt__plan_cache *cache) {
    while (cache->n)
        give_up(cache, cache->ring[--cache->n]);
    cache->hand = 0;
    free_unused(cache);
}

void tt__plan_cache_free(tt__plan_cache *cache) {
    for (size_t i = 0; i < cache->n; i++)
        give_up(cache, cache->ring[i]);
    free_entries(cache->waiting);
    free_entries(cache->given_up);
    free(cache->ring);
    free(cache->chains);
    *cache = (tt__plan_cache){0};
}
