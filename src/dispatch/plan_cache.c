/*
 * A hash table with open addressing that only gains entries. An entry is complete before its slot is set
 * (release), and a slot never changes after that. A reader (acquire) therefore needs no lock and never
 * retries. A full table is followed by one of twice the size. Readers may still use old tables, so they are
 * kept until the end. Together they are as large as the newest.
 */
#include "dispatch/plan_cache.h"

#include <stdlib.h>

#include "dispatch/plan.h"

typedef struct entry {
    tt__plan_key key;
    tt_plan *plan;
    bool own;
} entry;

typedef struct tt__plan_table {
    struct tt__plan_table *older;
    size_t n, cap; /* cap is a power of two, at least twice n */
    _Atomic(entry *) slots[];
} table;

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

static inline entry *find(table *t, const tt__plan_key *key, size_t *at) {
    for (*at = hash(key) & (t->cap - 1);; *at = (*at + 1) & (t->cap - 1)) {
        entry *e = atomic_load_explicit(&t->slots[*at], memory_order_acquire);
        if (!e || same(&e->key, key))
            return e;
    }
}

tt_plan *tt__plan_cache_find(tt__plan_cache *cache, const tt__plan_key *key) {
    size_t at;
    table *t = atomic_load_explicit(&cache->table, memory_order_acquire);
    entry *e = t ? find(t, key, &at) : NULL;
    return e ? e->plan : NULL;
}

/* A table of twice the size with the same entries; NULL if memory is short. */
static table *grown(table *old) {
    size_t cap = old ? old->cap * 2 : 32, at;
    table *t = calloc(1, sizeof *t + cap * sizeof *t->slots);
    if (!t)
        return NULL;
    t->cap = cap;
    t->older = old;
    for (size_t i = 0; old && i < old->cap; i++) {
        entry *e = atomic_load_explicit(&old->slots[i], memory_order_relaxed);
        if (!e)
            continue;
        find(t, &e->key, &at);
        atomic_store_explicit(&t->slots[at], e, memory_order_relaxed);
        t->n++;
    }
    return t;
}

tt_status tt__plan_cache_add(tt__plan_cache *cache, const tt__plan_key *key, tt_plan *plan, bool own) {
    table *t = atomic_load_explicit(&cache->table, memory_order_relaxed);
    size_t at;
    entry *e = malloc(sizeof *e);
    if (!e)
        return tt__fail_memory(sizeof *e);
    *e = (entry){*key, plan, own};
    if (!t || 2 * (t->n + 1) > t->cap) {
        table *bigger = grown(t);
        if (!bigger) {
            free(e);
            return tt__fail_memory(sizeof *t + 2 * (t ? t->cap : 16) * sizeof *t->slots);
        }
        t = bigger;
        atomic_store_explicit(&cache->table, t, memory_order_release);
    }
    find(t, key, &at);
    t->n++;
    atomic_store_explicit(&t->slots[at], e, memory_order_release);
    return TT_OK;
}

void tt__plan_cache_free(tt__plan_cache *cache) {
    table *t = atomic_exchange(&cache->table, NULL);
    for (size_t i = 0; t && i < t->cap; i++) { /* the newest table has all entries */
        entry *e = atomic_load_explicit(&t->slots[i], memory_order_relaxed);
        if (e && e->own)
            tt__plan_free(e->plan);
        free(e);
    }
    while (t) {
        table *older = t->older;
        free(t);
        t = older;
    }
}
