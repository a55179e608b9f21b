/*
 * The collector of a file, and its tallies.
 *
 * Launches count without a lock. A tally's first launch, and each 256th one, looks at the clock. When it is
 * time, its thread writes while others go on counting. A write reads the whole file, so the time between two
 * is a hundred times what one took, and at least ten seconds.
 */
#include "dispatch/collect.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "db/collected.h"
#include "kernel/space/operation.h"

enum { BUCKETS = 4096, UNUSED_MAX = 4096, PAUSES = 100 };
static const double pause_s = 10, wait_s = 5;
enum { WAIT_US = 1000 };

/* A tally, and whose it is. */
typedef struct entry {
    tt__tally tally; /* first */
    struct entry *next;
    tt__collected is; /* launches: not written yet */
    size_t n_plans;
} entry;

struct tt__collector {
    pthread_mutex_t lock; /* protects all but `due_s` and counts */
    char *file;
    pid_t process;
    size_t n_users; /* the context, and each plan with a tally */
    size_t n;
    size_t n_unused, unused_most; /* without plans; and how many may be before it is written for them */
    entry *buckets[BUCKETS];
    _Atomic double due_s; /* when to write */
    tt__collector *next;
};

/* Those that are open, for the end of the process. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static tt__collector *list;

/* After fork, counts are the parent's, and locks may be held by threads that are gone. */
static bool is_forked(const tt__collector *c) {
    return c->process != getpid();
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

static void free_entry(entry *e) {
    tt__collected_free(&e->is);
    free(e);
}

static void drop_unused(tt__collector *c) {
    c->n_unused = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (entry **at = &c->buckets[i]; *at;) {
            entry *e = *at;
            if (e->n_plans || atomic_load_explicit(&e->tally.launches, memory_order_relaxed)) {
                c->n_unused += !e->n_plans;
                at = &e->next;
                continue;
            }
            *at = e->next;
            free_entry(e);
            c->n--;
        }
    c->unused_most = c->n_unused + UNUSED_MAX;
}

/* What cannot be written now stays counted. Call with the lock held. */
static void write_all(tt__collector *c, double patience_s) {
    const double began_s = tt__now_s();
    entry **counted = calloc(c->n + 1, sizeof *counted);
    tt__collected *items = calloc(c->n + 1, sizeof *items);
    size_t n = 0;
    for (size_t i = 0; i < BUCKETS && counted && items; i++)
        for (entry *e = c->buckets[i]; e; e = e->next) {
            e->is.launches = atomic_exchange_explicit(&e->tally.launches, 0, memory_order_relaxed);
            if (!e->is.launches)
                continue;
            counted[n] = e;
            items[n++] = e->is;
        }
    if (n && tt__collection_add(c->file, items, n, patience_s) != TT_OK)
        for (size_t i = 0; i < n; i++)
            atomic_fetch_add_explicit(&counted[i]->tally.launches, items[i].launches, memory_order_relaxed);
    free(counted);
    free(items);
    drop_unused(c);
    const double now_s = tt__now_s(), long_s = (now_s - began_s) * PAUSES;
    atomic_store_explicit(&c->due_s, now_s + (long_s > pause_s ? long_s : pause_s), memory_order_relaxed);
}

void tt__tally_write(const tt__tally *t) {
    tt__collector *c = t->collector;
    if (tt__now_s() < atomic_load_explicit(&c->due_s, memory_order_relaxed) || is_forked(c) ||
        pthread_mutex_trylock(&c->lock) != 0)
        return;
    write_all(c, 0);
    pthread_mutex_unlock(&c->lock);
}

/* Another thread may be writing; it may also be this one, that a signal has interrupted. */
static bool lock_for_a_while(pthread_mutex_t *lock) {
    const double until_s = tt__now_s() + wait_s;
    while (pthread_mutex_trylock(lock) != 0) {
        if (tt__now_s() > until_s)
            return false;
        usleep(WAIT_US);
    }
    return true;
}

/* At the end of the process, where contexts and plans are often left open. */
static void write_list(void) {
    if (pthread_mutex_trylock(&list_lock) != 0)
        return;
    for (tt__collector *c = list; c; c = c->next)
        if (!is_forked(c) && lock_for_a_while(&c->lock)) {
            write_all(c, wait_s);
            pthread_mutex_unlock(&c->lock);
        }
    pthread_mutex_unlock(&list_lock);
}

/* ---- Opening and closing ------------------------------------------------------------------------------- */

static void write_at_exit(void) {
    atexit(write_list);
}

tt_status tt__collector_open(tt__collector **out, const char *file) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *out = NULL;
    TT_TRY(tt__collection_add(file, NULL, 0, wait_s));
    tt__collector *c = calloc(1, sizeof *c);
    char *path = realpath(file, NULL); /* the program may change its folder */
    if (!c || !path) {
        free(c);
        free(path);
        return tt__fail_memory(sizeof *c);
    }
    pthread_mutex_init(&c->lock, NULL);
    c->file = path;
    c->process = getpid();
    c->n_users = 1;
    c->unused_most = UNUSED_MAX;
    atomic_init(&c->due_s, tt__now_s() + pause_s);
    pthread_once(&once, write_at_exit);
    pthread_mutex_lock(&list_lock);
    c->next = list;
    list = c;
    pthread_mutex_unlock(&list_lock);
    *out = c;
    return TT_OK;
}

static void take_from_list(const tt__collector *c) {
    pthread_mutex_lock(&list_lock);
    tt__collector **at = &list;
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    pthread_mutex_unlock(&list_lock);
}

/* Call with the lock held, which is released. */
static void leave(tt__collector *c) {
    const bool last = --c->n_users == 0;
    if (last || c->n_unused > c->unused_most)
        write_all(c, last ? wait_s : 0);
    pthread_mutex_unlock(&c->lock);
    if (!last)
        return;
    take_from_list(c);
    for (size_t i = 0; i < BUCKETS; i++)
        while (c->buckets[i]) {
            entry *e = c->buckets[i];
            c->buckets[i] = e->next;
            free_entry(e);
        }
    pthread_mutex_destroy(&c->lock);
    free(c->file);
    free(c);
}

void tt__collector_close(tt__collector *c) {
    if (!c || is_forked(c))
        return;
    pthread_mutex_lock(&c->lock);
    if (c->n_users > 1) /* plans live on */
        write_all(c, wait_s);
    leave(c);
}

/* ---- Tallies ------------------------------------------------------------------------------------------- */

static tt_status describe(tt__collected *out, const tt__problem *p, const tt__operation *op, const char *path,
                          const tt__gpu *gpu) {
    tt__str values = {0};
    tt_status status = tt__problem_add_unusual(&values, op, p);
    if (status == TT_OK)
        tt__str_add(&values, values.len ? "" : "-");
    if (status == TT_OK)
        status = tt__str_check(&values);
    *out = (tt__collected){.values = values.text};
    tt__copy(out->op, sizeof out->op, p->op);
    tt__gpu_text(out->gpu, gpu);
    if (!tt__problem_is_users(p))
        return status;
    tt__copy(out->text, sizeof out->text, p->text);
    out->kernel = realpath(path, NULL);
    if (!out->kernel) /* its text was given, and there is no file */
        out->kernel = strdup(path);
    return out->kernel ? status : tt__fail_memory(strlen(path));
}

/* Finds or adds an entry with this description, which is used up. Call with the lock held. */
static entry *find(tt__collector *c, entry **bucket, tt__collected *is) {
    for (entry *e = *bucket; e; e = e->next)
        if (tt__collected_compare(&e->is, is) == 0) {
            tt__collected_free(is);
            c->n_unused -= e->n_plans == 0;
            return e;
        }
    entry *e = aligned_alloc(_Alignof(entry), sizeof *e);
    if (!e) {
        tt__collected_free(is);
        return NULL;
    }
    *e = (entry){.next = *bucket, .is = *is};
    e->tally.collector = c;
    c->n++;
    return *bucket = e;
}

tt__tally *tt__tally_of(tt__collector *c, const tt__problem *p, const tt__operation *op, const char *path,
                        const tt__gpu *gpu, double time_us) {
    tt__collected is;
    if (is_forked(c))
        return NULL;
    if (describe(&is, p, op, path, gpu) != TT_OK) {
        tt__collected_free(&is);
        return NULL;
    }
    pthread_mutex_lock(&c->lock);
    entry *e = find(c, &c->buckets[tt__problem_hash(p) % BUCKETS], &is);
    if (e) {
        e->is.time_us = time_us;
        e->n_plans++;
        c->n_users++;
    }
    pthread_mutex_unlock(&c->lock);
    return e ? &e->tally : NULL;
}

void tt__tally_release(tt__tally *t) {
    if (!t || is_forked(t->collector))
        return;
    tt__collector *c = t->collector;
    entry *e = (entry *)t;
    pthread_mutex_lock(&c->lock);
    c->n_unused += --e->n_plans == 0;
    leave(c);
}
