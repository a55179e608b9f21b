/*
 * Libraries that the driver has loaded, and the code that threads compile. Modules are found when plans are
 * made, and never at a launch, so one lock guards all of them.
 */
#include "dispatch/modules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHAINS = 256, FAMILIES_MAX = 32 };

struct tt__modules {
    pid_t process; /* its children of fork only forget modules */
    pthread_mutex_t lock;
    pthread_cond_t made;
    tt__module_maker *makers;
    uint64_t n_begun; /* makers so far */
    size_t n;         /* modules, and the context */
    size_t n_ahead;
    tt__module_family ahead[FAMILIES_MAX]; /* of which all shipped kernels are loaded */
    tt__module *chains[CHAINS];
};

struct tt__module {
    tt__modules *home;
    tt__module *next;
    const tt__driver *cu;
    size_t users;
    bool pinned;
    int cc, elem_size;
    uint64_t hash;
    char *name; /* the template's hash and the build; NULL: not shared */
    tt__kernel kernel;
};

tt_status tt__modules_open(tt__modules **out) {
    *out = calloc(1, sizeof **out);
    if (!*out)
        return tt__fail_memory(sizeof **out);
    (*out)->process = getpid();
    pthread_mutex_init(&(*out)->lock, NULL);
    pthread_cond_init(&(*out)->made, NULL);
    (*out)->n = 1;
    return TT_OK;
}

static uint64_t mix_text(uint64_t h, const char *text) {
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3;
    return h;
}

static uint64_t hash_of(const tt__module_key *key) {
    const uint64_t h = mix_text(mix_text(0xcbf29ce484222325, key->t->hash), key->build);
    return (h ^ (uint64_t)key->cc << 8 ^ (uint64_t)key->elem_size) * 0x9e3779b97f4a7c15;
}

static bool is_same(const tt__module *m, const tt__module_key *key, uint64_t hash) {
    const size_t n = strlen(key->t->hash);
    return m->name && m->hash == hash && m->cc == key->cc && m->elem_size == key->elem_size &&
           strncmp(m->name, key->t->hash, n) == 0 && strcmp(m->name + n, key->build) == 0;
}

static tt__module **chain_of(tt__modules *all, uint64_t hash) {
    return &all->chains[(hash >> 32) % CHAINS];
}

static void free_module(tt__module *m) {
    tt__kernel_unload(&m->kernel, m->cu);
    free(m->name);
    free(m);
}

/* Call under the lock, which it releases. The last one frees the list. */
static void leave_modules(tt__modules *all, size_t n_gone) {
    all->n -= n_gone;
    const bool last = all->n == 0;
    pthread_mutex_unlock(&all->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&all->lock);
    pthread_cond_destroy(&all->made);
    free(all);
}

/* Call under the lock. A module that nobody uses leaves the list. */
static tt__module *drop_module(tt__module *m) {
    if (--m->users)
        return NULL;
    tt__module **at = chain_of(m->home, m->hash);
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    return m;
}

void tt__module_release(tt__module *m) {
    if (!m || m->home->process != getpid())
        return;
    tt__modules *home = m->home;
    pthread_mutex_lock(&home->lock);
    tt__module *gone = drop_module(m);
    leave_modules(home, gone ? 1 : 0);
    if (gone)
        free_module(gone);
}

void tt__module_pin(tt__module *m) {
    pthread_mutex_lock(&m->home->lock);
    m->users += !m->pinned;
    m->pinned = true;
    pthread_mutex_unlock(&m->home->lock);
}

void tt__modules_close(tt__modules *all) {
    size_t n_gone = 1;
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < CHAINS; i++)
        for (tt__module *m = all->chains[i], *next; m; m = next) {
            next = m->next;
            tt__module *gone = m->pinned ? drop_module(m) : NULL;
            m->pinned = false;
            if (!gone)
                continue;
            free_module(gone);
            n_gone++;
        }
    leave_modules(all, n_gone);
}

/* Call under the lock. */
static tt_status find_loaded(tt__module **out, tt__kernel *kernel, tt__modules *all,
                             const tt__module_key *key, const tt__driver *cu, const tt__launch *launch) {
    const uint64_t hash = hash_of(key);
    tt_status status = TT_OK;
    tt__module *m = *chain_of(all, hash);
    while (m && !is_same(m, key, hash))
        m = m->next;
    if (m)
        status = tt__kernel_share(kernel, &m->kernel, cu, &key->t->symbols, launch);
    *out = status == TT_OK ? m : NULL;
    if (*out)
        m->users++;
    return status;
}

/* The lock is held meanwhile, so that two plans do not set a function's limit at once. */
tt_status tt__module_find(tt__module **out, tt__kernel *kernel, tt__modules *all, const tt__module_key *key,
                          const tt__driver *cu, const tt__launch *launch) {
    pthread_mutex_lock(&all->lock);
    const tt_status status = find_loaded(out, kernel, all, key, cu, launch);
    pthread_mutex_unlock(&all->lock);
    return status;
}

/* By one that began before `end`. */
static bool is_being_compiled(const tt__modules *all, const tt__module_key *key, uint64_t end) {
    const tt__module_maker *m = all->makers;
    while (m && (m->number >= end || m->key->cc != key->cc || m->key->elem_size != key->elem_size ||
                 strcmp(m->key->t->hash, key->t->hash) != 0 || strcmp(m->key->build, key->build) != 0))
        m = m->next;
    return m;
}

void tt__module_compile_begin(tt__modules *all, tt__module_maker *me) {
    pthread_mutex_lock(&all->lock);
    const uint64_t end = all->n_begun;
    while (is_being_compiled(all, me->key, end))
        pthread_cond_wait(&all->made, &all->lock);
    me->number = all->n_begun++;
    me->next = all->makers;
    all->makers = me;
    pthread_mutex_unlock(&all->lock);
}

void tt__module_compile_end(tt__modules *all, const tt__module_maker *me) {
    pthread_mutex_lock(&all->lock);
    tt__module_maker **at = &all->makers;
    while (*at != me)
        at = &(*at)->next;
    *at = me->next;
    pthread_cond_broadcast(&all->made);
    pthread_mutex_unlock(&all->lock);
}

static char *name_of(const tt__module_key *key) {
    const size_t n = strlen(key->t->hash), n_build = strlen(key->build);
    char *name = malloc(n + n_build + 1);
    if (!name)
        return NULL;
    memcpy(name, key->t->hash, n);
    memcpy(name + n, key->build, n_build + 1);
    return name;
}

tt_status tt__module_add(tt__module **out, tt__modules *all, const tt__module_key *key, const tt__driver *cu,
                         const tt__launch *launch, tt__kernel *loaded) {
    tt__module *m = *out = calloc(1, sizeof *m);
    char *name = m && key ? name_of(key) : NULL;
    if (!m || (key && !name)) {
        free(m);
        *out = NULL;
        tt__kernel_unload(loaded, cu);
        return tt__fail_memory(sizeof *m + TT__BUILD_MAX);
    }
    *m = (tt__module){.home = all, .cu = cu, .users = 1, .name = name, .kernel = *loaded};
    if (key) {
        m->cc = key->cc;
        m->elem_size = key->elem_size;
        m->hash = hash_of(key);
    }
    tt__module *there = NULL;
    tt_status status = TT_OK;
    pthread_mutex_lock(&all->lock);
    if (key)
        status = find_loaded(&there, loaded, all, key, cu, launch);
    if (status == TT_OK && !there) {
        tt__module **chain = chain_of(all, m->hash);
        m->next = *chain;
        *chain = m;
        all->n++;
    }
    pthread_mutex_unlock(&all->lock);
    if (status != TT_OK || there) {
        free_module(m);
        *out = there;
    }
    return status;
}

bool tt__modules_is_first(tt__modules *all, const tt__module_family *f) {
    size_t i = 0;
    pthread_mutex_lock(&all->lock);
    while (i < all->n_ahead && (all->ahead[i].cc != f->cc || all->ahead[i].elem_size != f->elem_size ||
                                strcmp(all->ahead[i].op, f->op) != 0))
        i++;
    const bool first = i == all->n_ahead && i < FAMILIES_MAX;
    if (first)
        all->ahead[all->n_ahead++] = *f;
    pthread_mutex_unlock(&all->lock);
    return first;
}
