/*
 * A snapshot is a few arrays that refer to each other by index. Texts are kept once, the values of problems
 * are packed one after the other, and a hash finds a problem.
 *
 * For what is near, the winners of each operation are sorted by the logarithm of the first number. The search
 * goes outwards from the number that is asked for. That number alone gives a lower bound of the distance, so
 * the search ends as soon as the bound exceeds the farthest of the 64 leads. Logarithms are kept as floats;
 * what they let pass is computed again as doubles, so that equal distances are equal.
 */
#include "dispatch/snapshot.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "dispatch/store_layers.h"
#include "gpu/device.h"

enum {
    NOTES = 256,
    EXAMINED_MAX = 1 << 15,
    NONE = UINT32_MAX,
};
static const double look_again_s = 1, reading_share = 0.05;
/* Distances count doublings of a number (tt__variable.weight). */
static const double other_gpu = 1.5, other_cc = 1, other_regime = 1;
/* Of distances that are computed from floats. */
static const double float_error = 1e-3;

/* An operation, and the names of its problems' values. */
typedef struct form {
    tt__problem names; /* op, text, and the settings' names */
    int first;         /* the first number; -1: none */
    size_t n_winners;
    uint32_t *winners; /* sorted by its logarithm */
    float *logs;       /* the logarithms of their problems' values, in the same order */
} form;

typedef struct known_problem {
    uint64_t hash;
    uint32_t values, form;
    uint32_t next;    /* with the same place in the hash */
    uint32_t winners; /* the first of a chain */
    uint8_t layers;   /* a bit for each layer that has it */
    bool warm, in_graph, unverified;
    double moved_bytes;
} known_problem;

typedef struct known_winner {
    uint32_t problem, next; /* next: of the same problem */
    uint32_t gpu;
    uint32_t kernel, hash, config, driver, nvrtc, library; /* places of texts */
    uint8_t layer;
    char source; /* its first letter */
    double time_us;
} known_winner;

typedef struct known_rule {
    tt__tuning_rule *rule;
    uint32_t gpu;
    uint8_t layer;
    int elem_size; /* of all its problems; 0: of several */
} known_rule;

struct tt__snapshot {
    size_t users; /* under the knowledge's lock */
    size_t n_forms, n_problems, n_winners, n_rules, n_gpus, n_values, n_texts;
    form *forms;
    known_problem *problems;
    known_winner *winners;
    known_rule *rules;
    tt__gpu *gpus;
    int64_t *values; /* a number, or the negative tt__type */
    char *texts;
    uint32_t *hash; /* n_hash chains of problems */
    size_t n_hash;
};

typedef struct note {
    uint64_t number;
    tt__gpu gpu;
    tt_choice choice;
    tt__problem problem; /* only the settings that it has, so that a new one touches little memory */
} note;

struct tt__knowledge {
    pthread_mutex_t lock; /* of all that follows; held for moments only */
    tt__snapshot *now;
    _Atomic uint64_t number; /* of what the stores have; grows with each change that was seen */
    _Atomic double due_s;    /* when to look at the stores' versions again */
    int64_t versions[2];     /* of the user's and the system's store */
    bool named;              /* `gpu` is the one that tt_open named */
    tt__gpu gpu;
    pthread_mutex_t noting; /* only tried */
    uint64_t asked[NOTES];  /* a problem's hash: what is asked for once is not noted */
    note *notes;
};

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* Ids of a store, in rising order, and what they became. */
typedef struct ids {
    size_t n;
    struct {
        int64_t id;
        uint32_t place;
    } * items;
} ids;

typedef struct reading {
    tt__snapshot *k;
    tt__layer layer;
    ids problems, gpus;
    size_t n_slots;
    uint32_t *slots; /* of texts */
    uint32_t last_form;
} reading;

static void *room(void *array, size_t n, size_t more, size_t size) {
    size_t cap = 64;
    while (cap < n)
        cap *= 2;
    if (array && n + more <= cap)
        return array;
    while (cap < n + more)
        cap *= 2;
    return realloc(array, cap * size);
}

/* Makes room for `more` items behind the n of an array. They double, so no capacity is stored. */
#define ROOM(array, n, more)                                                                                 \
    do {                                                                                                     \
        void *moved = room(array, n, more, sizeof *(array));                                                 \
        if (!moved)                                                                                          \
            return tt__fail_memory((n) * sizeof *(array));                                                   \
        (array) = moved;                                                                                     \
    } while (0)

static tt_status keep_id(ids *out, int64_t id, uint32_t place) {
    ROOM(out->items, out->n, 1);
    out->items[out->n].id = id;
    out->items[out->n++].place = place;
    return TT_OK;
}

static uint32_t place_of(const ids *all, int64_t id) {
    size_t low = 0, high = all->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < all->n && all->items[low].id == id ? all->items[low].place : NONE;
}

static uint64_t hash_text(const char *text) {
    uint64_t h = 0xcbf29ce484222325;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3;
    return h ^ h >> 32;
}

static tt_status more_slots(reading *r) {
    const size_t n = r->n_slots ? 2 * r->n_slots : 256;
    uint32_t *slots = malloc(n * sizeof *slots);
    if (!slots)
        return tt__fail_memory(n * sizeof *slots);
    memset(slots, 0xff, n * sizeof *slots);
    for (size_t i = 0; i < r->n_slots; i++) {
        if (r->slots[i] == NONE)
            continue;
        size_t at = hash_text(r->k->texts + r->slots[i]) & (n - 1);
        while (slots[at] != NONE)
            at = (at + 1) & (n - 1);
        slots[at] = r->slots[i];
    }
    free(r->slots);
    r->slots = slots;
    r->n_slots = n;
    return TT_OK;
}

/* The place of a text, which is kept once. A slot in two is free, as each text has some bytes. */
static tt_status keep_text(reading *r, uint32_t *out, const char *text) {
    tt__snapshot *k = r->k;
    const size_t n = strlen(text) + 1;
    if (k->n_texts >= r->n_slots / 2)
        TT_TRY(more_slots(r));
    size_t at = hash_text(text) & (r->n_slots - 1);
    while (r->slots[at] != NONE && strcmp(k->texts + r->slots[at], text) != 0)
        at = (at + 1) & (r->n_slots - 1);
    if (r->slots[at] == NONE) {
        ROOM(k->texts, k->n_texts, n);
        memcpy(k->texts + k->n_texts, text, n);
        r->slots[at] = (uint32_t)k->n_texts;
        k->n_texts += n;
    }
    *out = r->slots[at];
    return TT_OK;
}

static bool has_form(const form *f, const tt__problem *p) {
    if (f->names.n != p->n || !tt__problem_is_of(p, f->names.op, f->names.text))
        return false;
    for (int i = 0; i < p->n; i++)
        if (strcmp(f->names.settings[i].name, p->settings[i].name) != 0)
            return false;
    return true;
}

static tt_status keep_form(reading *r, uint32_t *out, const tt__problem *p) {
    tt__snapshot *k = r->k;
    if (r->last_form < k->n_forms && has_form(&k->forms[r->last_form], p)) {
        *out = r->last_form;
        return TT_OK;
    }
    for (*out = 0; *out < k->n_forms; ++*out)
        if (has_form(&k->forms[*out], p))
            break;
    if (*out == k->n_forms) {
        ROOM(k->forms, k->n_forms, 1);
        k->forms[k->n_forms] = (form){.names = *p, .first = -1};
        for (int i = p->n; i-- > 0;)
            if (p->settings[i].type == TT__TYPE_NONE)
                k->forms[k->n_forms].first = i;
        k->n_forms++;
    }
    r->last_form = *out;
    return TT_OK;
}

/* Types are below all numbers. */
static int64_t packed(const tt__setting *s) {
    return s->type == TT__TYPE_NONE ? s->number : TT__NUMBER_LEAST - (int64_t)s->type;
}

static void unpack(tt__setting *out, int64_t value) {
    const bool is_type = value < TT__NUMBER_LEAST;
    out->type = is_type ? (tt__type)(TT__NUMBER_LEAST - value) : TT__TYPE_NONE;
    out->number = is_type ? 0 : value;
}

static float log_of(int64_t value) {
    return (float)tt__number_log(value);
}

static bool is_problem(const tt__snapshot *k, const known_problem *known, const tt__problem *p,
                       uint64_t hash) {
    if (known->hash != hash || known->warm != p->warm || known->in_graph != p->in_graph ||
        known->unverified != p->unverified || !has_form(&k->forms[known->form], p))
        return false;
    for (int i = 0; i < p->n; i++)
        if (k->values[known->values + (size_t)i] != packed(&p->settings[i]))
            return false;
    return true;
}

static uint32_t find_problem(const tt__snapshot *k, const tt__problem *p, uint64_t hash) {
    uint32_t at = k->n_hash ? k->hash[hash & (k->n_hash - 1)] : NONE;
    while (at != NONE && !is_problem(k, &k->problems[at], p, hash))
        at = k->problems[at].next;
    return at;
}

static tt_status more_chains(tt__snapshot *k) {
    const size_t n = k->n_hash ? 2 * k->n_hash : 64;
    uint32_t *hash = malloc(n * sizeof *hash);
    if (!hash)
        return tt__fail_memory(n * sizeof *hash);
    memset(hash, 0xff, n * sizeof *hash);
    for (uint32_t i = 0; i < k->n_problems; i++) {
        uint32_t *chain = &hash[k->problems[i].hash & (n - 1)];
        k->problems[i].next = *chain;
        *chain = i;
    }
    free(k->hash);
    k->hash = hash;
    k->n_hash = n;
    return TT_OK;
}

/* The place of a problem, which is added if it is new. */
static tt_status keep_problem(reading *r, uint32_t *out, const tt__problem *p) {
    tt__snapshot *k = r->k;
    const uint64_t hash = tt__problem_hash(p);
    *out = find_problem(k, p, hash);
    if (*out == NONE) {
        known_problem new = {.hash = hash,
                             .values = (uint32_t)k->n_values,
                             .winners = NONE,
                             .warm = p->warm,
                             .in_graph = p->in_graph,
                             .unverified = p->unverified,
                             .moved_bytes = p->moved_bytes};
        TT_TRY(keep_form(r, &new.form, p));
        if (k->n_problems >= k->n_hash)
            TT_TRY(more_chains(k));
        ROOM(k->problems, k->n_problems, 1);
        ROOM(k->values, k->n_values, (size_t)p->n);
        for (int i = 0; i < p->n; i++)
            k->values[k->n_values + (size_t)i] = packed(&p->settings[i]);
        k->n_values += (size_t)p->n;
        new.next = k->hash[hash & (k->n_hash - 1)];
        *out = (uint32_t)k->n_problems;
        k->hash[hash & (k->n_hash - 1)] = *out;
        k->problems[k->n_problems++] = new;
    }
    k->problems[*out].layers |= (uint8_t)(1u << r->layer);
    return TT_OK;
}

static tt_status read_problem(void *user, int64_t id, const tt__problem *p) {
    reading *r = user;
    uint32_t place = 0;
    TT_TRY(keep_problem(r, &place, p));
    return keep_id(&r->problems, id, place);
}

static tt_status keep_gpu(tt__snapshot *k, uint32_t *out, const tt__gpu *gpu) {
    ROOM(k->gpus, k->n_gpus, 1);
    *out = (uint32_t)k->n_gpus;
    k->gpus[k->n_gpus++] = *gpu;
    return TT_OK;
}

static tt_status read_gpu(void *user, int64_t id, const tt__gpu *gpu) {
    reading *r = user;
    uint32_t place = 0;
    TT_TRY(keep_gpu(r->k, &place, gpu));
    return keep_id(&r->gpus, id, place);
}

static tt_status keep_winner(reading *r, uint32_t problem, uint32_t gpu, const tt__winner *w) {
    tt__snapshot *k = r->k;
    known_winner new = {.problem = problem,
                        .next = NONE,
                        .gpu = gpu,
                        .layer = (uint8_t)r->layer,
                        .source = *w->source,
                        .time_us = w->time_us};
    TT_TRY(keep_text(r, &new.kernel, w->kernel));
    TT_TRY(keep_text(r, &new.hash, w->hash));
    TT_TRY(keep_text(r, &new.config, w->config));
    TT_TRY(keep_text(r, &new.driver, w->env.driver));
    TT_TRY(keep_text(r, &new.nvrtc, w->env.nvrtc));
    TT_TRY(keep_text(r, &new.library, w->env.library));
    ROOM(k->winners, k->n_winners, 1);
    uint32_t *link = &k->problems[problem].winners; /* in the order of reading */
    while (*link != NONE)
        link = &k->winners[*link].next;
    *link = (uint32_t)k->n_winners;
    k->winners[k->n_winners++] = new;
    k->forms[k->problems[problem].form].n_winners++;
    return TT_OK;
}

/* A winner whose problem or GPU was left out, or was added after they were read, is left out, too. */
static tt_status read_winner(void *user, int64_t gpu_id, int64_t problem_id, const tt__winner *w) {
    reading *r = user;
    const uint32_t problem = place_of(&r->problems, problem_id), gpu = place_of(&r->gpus, gpu_id);
    return problem == NONE || gpu == NONE ? TT_OK : keep_winner(r, problem, gpu, w);
}

static tt_status keep_rule(reading *r, uint32_t gpu, const char *text) {
    tt__snapshot *k = r->k;
    ROOM(k->rules, k->n_rules, 1);
    k->rules[k->n_rules] = (known_rule){.gpu = gpu, .layer = (uint8_t)r->layer};
    TT_TRY(tt__rule_read(&k->rules[k->n_rules].rule, text));
    const tt__problem *group = &k->rules[k->n_rules].rule->group;
    k->rules[k->n_rules++].elem_size = (int)tt__problem_number(group, "elem_size", 0);
    return TT_OK;
}

/* What this version cannot read is left out; `tune check` says so. */
static tt_status read_rule(void *user, int64_t gpu_id, const char *text, int64_t unix_ms) {
    reading *r = user;
    const uint32_t gpu = place_of(&r->gpus, gpu_id);
    (void)unix_ms;
    const tt_status status = gpu == NONE ? TT_OK : keep_rule(r, gpu, text);
    return status == TT_E_INVALID ? TT_OK : status;
}

static tt_status read_store(reading *r, tt__store *store) {
    r->problems.n = r->gpus.n = 0;
    TT_TRY(tt__store_gpus(store, read_gpu, r));
    TT_TRY(tt__store_problems(store, read_problem, r));
    TT_TRY(tt__store_rules(store, 0, read_rule, r));
    return tt__store_winners_brief(store, read_winner, r);
}

static tt_status read_shipped(reading *r) {
    uint32_t gpu = NONE, problem;
    for (size_t i = 0; i < tt__n_shipped_rules; i++) {
        TT_TRY(keep_gpu(r->k, &gpu, &tt__shipped_rules[i].gpu));
        TT_TRY(keep_rule(r, gpu, tt__shipped_rules[i].text));
    }
    for (size_t i = 0; i < tt__n_shipped; i++) {
        if (gpu == NONE || memcmp(&r->k->gpus[gpu], &tt__shipped[i].gpu, sizeof(tt__gpu)) != 0)
            TT_TRY(keep_gpu(r->k, &gpu, &tt__shipped[i].gpu));
        TT_TRY(keep_problem(r, &problem, &tt__shipped[i].problem));
        TT_TRY(keep_winner(r, problem, gpu, &tt__shipped[i]));
    }
    return TT_OK;
}

/* What the forms' winners are sorted by. */
typedef struct ranked {
    float log;
    uint32_t winner;
} ranked;

static int by_log(const void *x, const void *y) {
    const ranked *a = x, *b = y;
    if (a->log < b->log || a->log > b->log)
        return a->log < b->log ? -1 : 1;
    return (a->winner > b->winner) - (a->winner < b->winner);
}

static const int64_t *values_of(const tt__snapshot *k, uint32_t winner) {
    return k->values + k->problems[k->winners[winner].problem].values;
}

static float first_log(const tt__snapshot *k, uint32_t winner) {
    const int first = k->forms[k->problems[k->winners[winner].problem].form].first;
    return first < 0 ? 0 : log_of(values_of(k, winner)[first]);
}

static tt_status start_form(form *f) {
    const size_t n = f->n_winners ? f->n_winners : 1, width = f->names.n ? (size_t)f->names.n : 1;
    f->n_winners = 0;
    f->winners = malloc(n * sizeof *f->winners);
    f->logs = calloc(n * width, sizeof *f->logs);
    return f->winners && f->logs ? TT_OK : tt__fail_memory(n * width * sizeof *f->logs);
}

static void add_ranked(const tt__snapshot *k, uint32_t winner) {
    form *f = &k->forms[k->problems[k->winners[winner].problem].form];
    float *logs = f->logs + f->n_winners * (size_t)f->names.n;
    for (int i = 0; i < f->names.n; i++)
        logs[i] = log_of(values_of(k, winner)[i]);
    f->winners[f->n_winners++] = winner;
}

static tt_status sort_winners(tt__snapshot *k) {
    ranked *all = calloc(k->n_winners ? k->n_winners : 1, sizeof *all);
    tt_status status = all ? TT_OK : tt__fail_memory(k->n_winners * sizeof *all);
    for (size_t i = 0; i < k->n_forms && status == TT_OK; i++)
        status = start_form(&k->forms[i]);
    for (uint32_t i = 0; i < k->n_winners && status == TT_OK; i++)
        all[i] = (ranked){first_log(k, i), i};
    if (status == TT_OK && k->n_winners)
        qsort(all, k->n_winners, sizeof *all, by_log);
    for (size_t i = 0; i < k->n_winners && status == TT_OK; i++)
        add_ranked(k, all[i].winner);
    free(all);
    return status;
}

static void free_snapshot(tt__snapshot *k) {
    if (!k)
        return;
    for (size_t i = 0; i < k->n_forms; i++) {
        free(k->forms[i].winners);
        free(k->forms[i].logs);
    }
    for (size_t i = 0; i < k->n_rules; i++)
        tt__rule_free(&k->rules[i].rule);
    free(k->rules);
    free(k->forms);
    free(k->problems);
    free(k->winners);
    free(k->gpus);
    free(k->values);
    free(k->texts);
    free(k->hash);
    free(k);
}

/* Call under ctx->lock. A lock file is the only layer of its context. */
static tt_status read_all(tt__snapshot **out, tt_ctx *ctx) {
    reading r = {.k = calloc(1, sizeof *r.k)};
    tt_status status;
    *out = NULL;
    if (!r.k)
        return tt__fail_memory(sizeof *r.k);
    for (r.layer = 0; r.layer < TT__LAYER_SHIPPED; r.layer++) {
        tt__store *store = tt__layer_store(ctx, r.layer);
        if (store)
            TT_GOTO(read_store(&r, store));
    }
    if (!ctx->locked)
        TT_GOTO(read_shipped(&r));
    TT_GOTO(sort_winners(r.k));
    r.k->users = 1;
    *out = r.k;
out:
    free(r.slots);
    free(r.problems.items);
    free(r.gpus.items);
    if (status != TT_OK)
        free_snapshot(r.k);
    return status;
}

/* ---- The context's knowledge --------------------------------------------------------------------------- */

tt_status tt__knowledge_open(tt__knowledge **out) {
    tt__knowledge *all = *out = calloc(1, sizeof *all);
    if (!all)
        return tt__fail_memory(sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    pthread_mutex_init(&all->noting, NULL);
    all->number = 1;
    return TT_OK;
}

void tt__knowledge_close(tt__knowledge *all) {
    if (!all)
        return;
    free_snapshot(all->now);
    free(all->notes);
    pthread_mutex_destroy(&all->lock);
    pthread_mutex_destroy(&all->noting);
    free(all);
}

/* Call under the lock. The last user frees it. */
static void drop(tt__snapshot *k) {
    if (k && --k->users == 0)
        free_snapshot(k);
}

void tt__knowledge_release(tt_ctx *ctx, const tt__snapshot *known) {
    if (!known)
        return;
    pthread_mutex_lock(&ctx->knowledge->lock);
    drop((tt__snapshot *)known);
    pthread_mutex_unlock(&ctx->knowledge->lock);
}

/* False: a store cannot be read. */
static bool read_versions(tt_ctx *ctx, int64_t out[2]) {
    out[1] = 0;
    return tt__store_version(ctx->store, &out[0]) == TT_OK &&
           (!ctx->system || tt__store_version(ctx->system, &out[1]) == TT_OK);
}

/* Looks whether the stores have changed, and reads them if they have, or if `changed`. Call under ctx->lock.
 * If they cannot be read, what was known stays. */
static void look_again(tt_ctx *ctx, bool changed) {
    tt__knowledge *all = ctx->knowledge;
    const double began_s = tt__now_s();
    tt__snapshot *new = NULL;
    int64_t versions[2];
    const bool readable = read_versions(ctx, versions);
    pthread_mutex_lock(&all->lock);
    changed |= readable && memcmp(versions, all->versions, sizeof versions) != 0;
    const bool had = all->now != NULL;
    all->due_s = began_s + look_again_s;
    pthread_mutex_unlock(&all->lock);
    if (!changed || (had && read_all(&new, ctx) != TT_OK))
        return;
    const double took_s = tt__now_s() - began_s;
    pthread_mutex_lock(&all->lock);
    if (readable)
        memcpy(all->versions, versions, sizeof versions);
    all->number++;
    all->named = false;
    if (took_s > look_again_s * reading_share)
        all->due_s = began_s + took_s / reading_share;
    if (new) {
        drop(all->now);
        all->now = new;
    }
    pthread_mutex_unlock(&all->lock);
}

static const tt__snapshot *use_now(tt__knowledge *all) {
    pthread_mutex_lock(&all->lock);
    tt__snapshot *k = all->now;
    if (k)
        k->users++;
    pthread_mutex_unlock(&all->lock);
    return k;
}

/* A thread that holds ctx->lock reads the store, or looks again already. */
static void refresh(tt_ctx *ctx) {
    if (tt__roughly_now_s() < ctx->knowledge->due_s || pthread_mutex_trylock(&ctx->lock) != 0)
        return;
    look_again(ctx, false);
    pthread_mutex_unlock(&ctx->lock);
}

const tt__snapshot *tt__knowledge_now(tt_ctx *ctx) {
    refresh(ctx);
    return use_now(ctx->knowledge);
}

tt_status tt__knowledge_read(const tt__snapshot **out, tt_ctx *ctx) {
    tt__knowledge *all = ctx->knowledge;
    tt_status status = TT_OK;
    if ((*out = tt__knowledge_now(ctx)))
        return TT_OK;
    pthread_mutex_lock(&ctx->lock);
    if (!(*out = use_now(all))) { /* or another thread has just read it */
        tt__snapshot *new;
        status = read_all(&new, ctx);
        pthread_mutex_lock(&all->lock);
        all->now = new;
        if (new)
            new->users++;
        *out = new;
        pthread_mutex_unlock(&all->lock);
    }
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

void tt__knowledge_forget(tt_ctx *ctx) {
    pthread_mutex_lock(&ctx->lock);
    look_again(ctx, true);
    pthread_mutex_unlock(&ctx->lock);
}

tt_status tt__knowledge_gpu(tt_ctx *ctx, tt__gpu *gpu) {
    tt__knowledge *all = ctx->knowledge;
    int64_t id;
    if (!ctx->gpu_name[0])
        return tt__device_current(gpu);
    refresh(ctx);
    pthread_mutex_lock(&all->lock);
    const bool named = all->named;
    const uint64_t number = all->number;
    *gpu = all->gpu;
    pthread_mutex_unlock(&all->lock);
    if (named)
        return TT_OK;
    pthread_mutex_lock(&ctx->lock);
    tt_status status = tt__layers_find_gpu(ctx, ctx->gpu_name, gpu, &id);
    pthread_mutex_unlock(&ctx->lock);
    pthread_mutex_lock(&all->lock);
    if (status == TT_OK && all->number == number) {
        all->gpu = *gpu;
        all->named = true;
    }
    pthread_mutex_unlock(&all->lock);
    return status;
}

/* ---- Answers of before --------------------------------------------------------------------------------- */

bool tt__knowledge_noted(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, tt_choice *out,
                         uint64_t *number) {
    tt__knowledge *all = ctx->knowledge;
    refresh(ctx);
    *number = all->number;
    if (pthread_mutex_trylock(&all->noting) != 0)
        return false;
    const uint64_t hash = tt__problem_hash(p), at = hash % NOTES;
    const note *n = all->notes && all->asked[at] == hash ? &all->notes[at] : NULL;
    const bool found =
        n && n->number == *number && tt__problem_same(&n->problem, p) && tt__same_gpu(&n->gpu, gpu);
    if (found)
        *out = n->choice;
    pthread_mutex_unlock(&all->noting);
    return found;
}

void tt__knowledge_note(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, const tt_choice *choice,
                        uint64_t number) {
    tt__knowledge *all = ctx->knowledge;
    if (pthread_mutex_trylock(&all->noting) != 0)
        return;
    const uint64_t hash = tt__problem_hash(p), at = hash % NOTES;
    const bool again = all->asked[at] == hash;
    all->asked[at] = hash;
    if (again && !all->notes)
        all->notes = calloc(NOTES, sizeof *all->notes);
    if (again && all->notes) {
        note *n = &all->notes[at];
        n->number = number;
        n->gpu = *gpu;
        memcpy(&n->problem, p, offsetof(tt__problem, settings) + (size_t)p->n * sizeof *p->settings);
        n->choice = *choice;
    }
    pthread_mutex_unlock(&all->noting);
}

/* ---- A snapshot ---------------------------------------------------------------------------------------- */

unsigned tt__snapshot_layers(const tt__snapshot *k, const tt__problem *p) {
    const uint32_t at = find_problem(k, p, tt__problem_hash(p));
    return at == NONE ? 0 : k->problems[at].layers;
}

static void fetch(const tt__snapshot *k, uint32_t at, tt__winner *out) {
    const known_winner *w = &k->winners[at];
    const known_problem *p = &k->problems[w->problem];
    *out = (tt__winner){.gpu = k->gpus[w->gpu], .problem = k->forms[p->form].names, .time_us = w->time_us};
    out->problem.warm = p->warm;
    out->problem.in_graph = p->in_graph;
    out->problem.unverified = p->unverified;
    out->problem.moved_bytes = p->moved_bytes;
    for (int i = 0; i < out->problem.n; i++)
        unpack(&out->problem.settings[i], k->values[p->values + (size_t)i]);
    tt__copy(out->kernel, sizeof out->kernel, k->texts + w->kernel);
    tt__copy(out->hash, sizeof out->hash, k->texts + w->hash);
    tt__copy(out->config, sizeof out->config, k->texts + w->config);
    tt__copy(out->env.driver, sizeof out->env.driver, k->texts + w->driver);
    tt__copy(out->env.nvrtc, sizeof out->env.nvrtc, k->texts + w->nvrtc);
    tt__copy(out->env.library, sizeof out->env.library, k->texts + w->library);
    tt__copy(out->source, sizeof out->source,
             w->source == 'm'   ? "measured"
             : w->source == 'r' ? "replayed"
                                : "imported");
}

bool tt__snapshot_winner(const tt__snapshot *k, tt__layer layer, const tt__gpu *gpu, const tt__problem *p,
                         tt__winner *out) {
    const uint32_t problem = find_problem(k, p, tt__problem_hash(p));
    uint32_t at = problem == NONE ? NONE : k->problems[problem].winners;
    while (at != NONE && !(k->winners[at].layer == layer && tt__same_gpu(&k->gpus[k->winners[at].gpu], gpu)))
        at = k->winners[at].next;
    if (at != NONE)
        fetch(k, at, out);
    return at != NONE;
}

const tt__tuning_rule *tt__snapshot_rule(tt__layer *layer, const char **of, const tt__snapshot *k,
                                         const tt__gpu *gpu, bool another, const tt__problem *p) {
    const int elem_size = tt__problem_elem_size(p);
    for (size_t i = 0; i < k->n_rules; i++) { /* in the order of layers */
        const known_rule *rule = &k->rules[i];
        const tt__gpu *there = &k->gpus[rule->gpu];
        if ((!rule->elem_size || rule->elem_size == elem_size) && tt__rule_is_for(rule->rule, p) &&
            there->cc == gpu->cc && tt__same_gpu(there, gpu) != another) {
            *layer = (tt__layer)rule->layer;
            *of = there->name;
            return rule->rule;
        }
    }
    return NULL;
}

void tt__snapshot_fetch(const tt__snapshot *k, const tt__lead *lead, tt__winner *out) {
    fetch(k, lead->winner, out);
}

/* ---- What is near -------------------------------------------------------------------------------------- */

/* A variable that makes a difference, and where a form has it. */
typedef struct axis {
    int place;
    bool same, type;
    float log;
    double weight;
    int64_t value;
} axis;

/* A search for one problem among the winners of one form. */
typedef struct search {
    const tt__snapshot *k;
    const tt__operation *op;
    const tt__gpu *gpu;
    const tt__problem *asked;
    bool anything;
    double within; /* what is farther is no lead any more */
    size_t n, examined;
    tt__lead *leads;
    size_t n_axes;
    axis axes[TT__VARIABLES_MAX];
} search;

static bool find_axes(search *s, const form *f) {
    s->n_axes = 0;
    for (size_t i = 0; i < s->op->n_variables; i++) {
        const tt__variable *v = &s->op->variables[i];
        const tt__setting *a = tt__problem_setting_at(s->asked, i, v->name),
                          *b = tt__problem_setting_at(&f->names, i, v->name);
        if (!a || !b)
            return false;
        if (!v->same && v->weight <= 0)
            continue;
        s->axes[s->n_axes++] = (axis){.place = (int)(b - f->names.settings),
                                      .same = v->same && !s->anything,
                                      .type = v->n_types > 0,
                                      .log = log_of(packed(a)),
                                      .weight = v->weight,
                                      .value = packed(a)};
    }
    return true;
}

/* From floats; it stops beyond `most`. What may not be used is infinitely far. */
static float roughly(const search *s, const float *logs, float most) {
    float far = 0;
    for (size_t i = 0; i < s->n_axes && far <= most; i++) {
        const axis *a = &s->axes[i];
        const float apart = fabsf(logs[a->place] - a->log);
        if (apart > 0)
            far += a->same ? INFINITY : a->type ? (float)a->weight : (float)a->weight * apart;
    }
    return far;
}

/* As tt__operation_distance. */
static double exactly(const search *s, const int64_t *values) {
    double far = 0;
    for (size_t i = 0; i < s->n_axes; i++) {
        const axis *a = &s->axes[i];
        const int64_t value = values[a->place];
        if (value != a->value)
            far += a->same   ? (double)INFINITY
                   : a->type ? a->weight
                             : a->weight * fabs(tt__number_log(a->value) - tt__number_log(value));
    }
    return far;
}

static bool is_before(const tt__lead *a, const tt__lead *b) {
    if (a->distance < b->distance || a->distance > b->distance)
        return a->distance < b->distance;
    return a->layer != b->layer ? a->layer < b->layer : a->winner < b->winner;
}

static void add_lead(search *s, const tt__lead *lead) {
    if (s->n == TT__LEADS_MAX && !is_before(lead, &s->leads[s->n - 1]))
        return;
    size_t at = s->n < TT__LEADS_MAX ? s->n++ : s->n - 1;
    for (; at > 0 && is_before(lead, &s->leads[at - 1]); at--)
        s->leads[at] = s->leads[at - 1];
    s->leads[at] = *lead;
    if (s->n == TT__LEADS_MAX && s->leads[s->n - 1].distance < s->within)
        s->within = s->leads[s->n - 1].distance;
}

static void examine(search *s, const form *f, size_t i) {
    const float most = (float)(s->within + float_error);
    s->examined++;
    if (roughly(s, f->logs + i * (size_t)f->names.n, most) > most)
        return;
    const known_winner *w = &s->k->winners[f->winners[i]];
    const known_problem *p = &s->k->problems[w->problem];
    const tt__gpu *gpu = &s->k->gpus[w->gpu];
    const int regimes = (p->warm != s->asked->warm) + (p->in_graph != s->asked->in_graph);
    if ((p->unverified && !s->asked->unverified) || (!s->anything && (regimes || gpu->cc != s->gpu->cc)))
        return;
    const bool here = tt__same_gpu(gpu, s->gpu);
    const tt__lead lead = {.distance = exactly(s, s->k->values + p->values) + regimes * other_regime +
                                       (here ? 0 : other_gpu) + (gpu->cc == s->gpu->cc ? 0 : other_cc),
                           .winner = f->winners[i],
                           .layer = (tt__layer)w->layer,
                           .here = here};
    if (lead.distance <= s->within)
        add_lead(s, &lead);
}

/* Goes outwards from the first number that is asked for. */
static void search_form(search *s, const form *f) {
    double weight = 0, asked = 0;
    size_t low = 0, high = f->n_winners;
    for (size_t i = 0; i < s->n_axes; i++)
        if (s->axes[i].place == f->first) {
            weight = s->axes[i].weight;
            asked = (double)s->axes[i].log;
        }
    const float *first = f->logs + (f->first < 0 ? 0 : f->first);
    const size_t width = (size_t)f->names.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((double)first[middle * width] < asked)
            low = middle + 1;
        else
            high = middle;
    }
    while ((low > 0 || high < f->n_winners) && s->examined < EXAMINED_MAX) {
        const double below = low > 0 ? asked - (double)first[(low - 1) * width] : INFINITY,
                     above = high < f->n_winners ? (double)first[high * width] - asked : INFINITY;
        if (weight * (below < above ? below : above) > s->within + float_error)
            return;
        examine(s, f, below < above ? --low : high++);
    }
}

size_t tt__snapshot_near(tt__lead leads[TT__LEADS_MAX], const tt__snapshot *k, const tt__operation *op,
                         const tt__gpu *gpu, const tt__problem *p, bool anything, double within) {
    search s = {.k = k, .op = op, .gpu = gpu, .asked = p, .anything = anything, .leads = leads};
    s.within = within < DBL_MAX ? within : DBL_MAX; /* what may not be used is infinitely far */
    for (size_t i = 0; i < k->n_forms; i++)
        if (k->forms[i].n_winners && tt__problem_is_of(p, k->forms[i].names.op, k->forms[i].names.text) &&
            find_axes(&s, &k->forms[i]))
            search_form(&s, &k->forms[i]);
    return s.n;
}
