/* Our winner, and the contenders that need no library: the driver's copy, and two families of copy kernels.
 * The best configuration of a family is searched in every case. */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "bench/peers.h"
#include "code/nvrtc.h"
#include "dispatch/plan.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"

/* If the store knows how the copies did, only so many of the best enter. */
enum { SHORT_LIST = 10 };

tt_status bench_variant_add(bench_peer *peer, const bench_variant *v) {
    if (!peer->variants)
        peer->variants = calloc(BENCH_VARIANTS_MAX, sizeof *peer->variants);
    if (peer->variants && peer->n < BENCH_VARIANTS_MAX) {
        peer->variants[peer->n++] = *v;
        return TT_OK;
    }
    if (v->release)
        v->release(v->self);
    return peer->variants ? tt__fail(TT_E_INTERNAL, "more than %d variants", BENCH_VARIANTS_MAX)
                          : tt__fail_memory(BENCH_VARIANTS_MAX * sizeof *v);
}

void bench_peer_close(bench_peer *peer) {
    for (size_t i = 0; i < peer->n; i++)
        if (peer->variants[i].release)
            peer->variants[i].release(peer->variants[i].self);
    free(peer->variants);
    *peer = (bench_peer){0};
}

/* ---- Ours ---------------------------------------------------------------------------------------------- */

/* A plan for each time that its kernel was loaded; the last one is launched. */
typedef struct our_plans {
    tt_ctx *ctx;
    tt_problem problem;
    tt_plan **items;
    size_t n;
} our_plans;

static tt_status load_plan(void *self) {
    our_plans *p = self;
    TT_TRY(TT__GROW(p->items, p->n));
    TT_TRY(tt_plan_create(&p->items[p->n], p->ctx, &p->problem));
    p->n++;
    return TT_OK;
}

static tt_status launch_plan(const void *self, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    const our_plans *p = self;
    return tt_plan_launch(p->items[p->n - 1], dst, src, stream);
}

static void release_plans(void *self) {
    our_plans *p = self;
    for (size_t i = 0; i < p->n; i++)
        tt_plan_free(&p->items[i]);
    free(p->items);
    free(p);
}

tt_status bench_ours_open(bench_peer *peer, bench *b, const bench_case *c) {
    our_plans *p = calloc(1, sizeof *p);
    if (!p)
        return tt__fail_memory(sizeof *p);
    *p = (our_plans){.ctx = b->ctx, .problem = c->public};
    bench_variant v = {.launch = launch_plan, .self = p, .release = release_plans, .reload = load_plan};
    tt_status status = load_plan(p);
    if (status != TT_OK) {
        release_plans(p);
        return status;
    }
    const tt_choice *choice = tt_plan_choice(p->items[0]);
    snprintf(v.detail, sizeof v.detail, "%s %s", choice->kernel, choice->config);
    return bench_variant_add(peer, &v);
}

tt_match bench_ours_match(const bench_peer *ours) {
    const our_plans *p = ours->n ? ours->variants[0].self : NULL;
    return p ? tt_plan_choice(p->items[0])->match : TT_MATCH_DEFAULT;
}

/* ---- The driver's copy --------------------------------------------------------------------------------- */

typedef struct driver_copy {
    const tt__driver *cu;
    size_t bytes;
} driver_copy;

static tt_status launch_driver_copy(const void *self, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    const driver_copy *d = self;
    return tt__cu_check(d->cu->cuMemcpyDtoDAsync(dst, src, d->bytes, stream), "cuMemcpyDtoDAsync");
}

tt_status bench_memcpy_open(bench_peer *peer, bench *b, const bench_case *c) {
    driver_copy *d = malloc(sizeof *d);
    if (!d)
        return tt__fail_memory(sizeof *d);
    *d = (driver_copy){b->cu, (size_t)(c->problem.moved_bytes / 2)};
    return bench_variant_add(
        peer, &(bench_variant){
                  .detail = "cuMemcpyDtoDAsync", .launch = launch_driver_copy, .self = d, .release = free});
}

/* ---- Kernels of a template, each compiled once, and loaded once unless more is asked for --------------- */

typedef struct cached {
    char key[TT__HASH_SIZE];
    tt__str cubin;
    tt__kernel kernel;
} cached;

struct bench_kernel_cache {
    size_t n;
    cached **items;
};

typedef struct template_launch {
    const tt__driver *cu;
    const tt__template *t;
    const cached *of;
    tt__kernel kernel; /* that of the cache, or the last that was loaded: */
    tt__kernel *loaded;
    size_t n_loaded;
    tt__launch launch;
} template_launch;

static tt_status launch_template(const void *self, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    const template_launch *l = self;
    void *operands[] = {&src, &dst};
    return tt__cu_check(tt__kernel_launch(&l->kernel, l->cu, &l->launch, operands, stream), "cuLaunchKernel");
}

static tt_status reload_template(void *self) {
    template_launch *l = self;
    tt__kernel fresh;
    TT_TRY(TT__GROW(l->loaded, l->n_loaded));
    TT_TRY(tt__kernel_load(&fresh, l->cu, l->of->cubin.text, l->of->cubin.len, &l->t->symbols, &l->launch));
    l->kernel = l->loaded[l->n_loaded++] = fresh;
    return TT_OK;
}

static void release_template(void *self) {
    template_launch *l = self;
    for (size_t i = 0; i < l->n_loaded; i++)
        tt__kernel_unload(&l->loaded[i], l->cu);
    free(l->loaded);
    free(l);
}

static tt_status cubin_of(tt__str *cubin, bench *b, const tt__configuration *c, const char *key,
                          const char *options, int n) {
    bool found;
    TT_TRY(tt__store_cubin_get(b->ctx->store, key, cubin, &found));
    return found ? TT_OK : tt__nvrtc_compile(cubin, c->t->path, c->t->source, options, n, b->gpu.cc);
}

static tt_status load_new(cached **out, bench *b, const tt__configuration *c, const tt__launch *launch,
                          const char *key, const char *options, int n) {
    cached *item = *out = calloc(1, sizeof *item);
    if (!item)
        return tt__fail_memory(sizeof *item);
    tt__copy(item->key, sizeof item->key, key);
    tt_status status = cubin_of(&item->cubin, b, c, key, options, n);
    if (status == TT_OK)
        status =
            tt__kernel_load(&item->kernel, b->cu, item->cubin.text, item->cubin.len, &c->t->symbols, launch);
    if (status != TT_OK) {
        tt__str_free(&item->cubin);
        free(item);
    }
    return status;
}

static tt_status kernel_of(const cached **out, bench *b, const tt__configuration *c, const tt__launch *launch,
                           const tt__problem *p) {
    struct bench_kernel_cache *cache = b->kernels;
    char key[TT__HASH_SIZE];
    tt__str options = {0};
    int n = 0;
    if (!cache && !(cache = b->kernels = calloc(1, sizeof *cache)))
        return tt__fail_memory(sizeof *cache);
    tt_status status = tt__config_options(&options, &n, c, p);
    if (status == TT_OK)
        tt__cubin_key(key, c->t->source, options.text, n, b->gpu.cc, tt__nvrtc_version());
    size_t at = 0;
    while (status == TT_OK && at < cache->n && strcmp(cache->items[at]->key, key) != 0)
        at++;
    if (status == TT_OK && at == cache->n)
        status = TT__GROW(cache->items, cache->n);
    if (status == TT_OK && at == cache->n) {
        status = load_new(&cache->items[at], b, c, launch, key, options.text, n);
        cache->n += status == TT_OK;
    }
    if (status == TT_OK)
        *out = cache->items[at];
    tt__str_free(&options);
    return status;
}

void bench_kernels_close(bench *b) {
    struct bench_kernel_cache *cache = b->kernels;
    for (size_t i = 0; cache && i < cache->n; i++) {
        tt__kernel_unload(&cache->items[i]->kernel, b->cu);
        tt__str_free(&cache->items[i]->cubin);
        free(cache->items[i]);
    }
    if (cache)
        free(cache->items);
    free(cache);
    b->kernels = NULL;
}

/* ---- Families ------------------------------------------------------------------------------------------ */

typedef struct standing { /* a configuration of the space, and how it did when it was tuned */
    size_t at;
    double us;
} standing;

typedef struct standings {
    const tt__space *space;
    size_t n;
    standing *items; /* one place for each configuration */
} standings;

static tt_status note_trial(void *user, const tt__trial_row *row) {
    standings *s = user;
    for (size_t i = 0; row->trial->status == TT__TRIAL_OK && i < s->space->n && s->n < s->space->n; i++) {
        const tt__configuration *c = &s->space->items[i];
        if (strcmp(c->config, row->config) == 0 && strcmp(c->t->hash, row->hash) == 0)
            s->items[s->n++] = (standing){i, row->trial->time_us};
    }
    return TT_OK;
}

static int by_time(const void *a, const void *b) {
    double x = ((const standing *)a)->us, y = ((const standing *)b)->us;
    return (x > y) - (x < y);
}

/* Which of the space to try: the best of the stored trials, or, where there are none, everything. */
static tt_status choose(standings *s, bench *b, const tt__problem *p) {
    int64_t id = -1;
    s->items = calloc(s->space->n ? s->space->n : 1, sizeof *s->items);
    if (!s->items)
        return tt__fail_memory(s->space->n * sizeof *s->items);
    TT_TRY(tt__store_known_problem(b->ctx->store, p, &id));
    if (id >= 0 && b->gpu_id >= 0)
        TT_TRY(tt__store_trials(b->ctx->store, b->gpu_id, &b->env, id, TT__STAGE_SCREEN, note_trial, s));
    qsort(s->items, s->n, sizeof *s->items, by_time);
    if (s->n > SHORT_LIST)
        s->n = SHORT_LIST;
    if (s->n == 0)
        for (; s->n < s->space->n; s->n++)
            s->items[s->n] = (standing){s->n, 0};
    return TT_OK;
}

static tt_status add_space(bench_peer *peer, bench *b, const tt__space *space, const tt__problem *p) {
    standings s = {.space = space};
    tt_status status = choose(&s, b, p);
    for (size_t i = 0; i < s.n && status == TT_OK; i++) {
        const tt__configuration *c = &space->items[s.items[i].at];
        template_launch *l = malloc(sizeof *l);
        if (!l) {
            status = tt__fail_memory(sizeof *l);
            break;
        }
        *l = (template_launch){.cu = b->cu, .t = c->t};
        status = tt__space_launch(&l->launch, c, &b->gpu, p);
        bench_variant v = {
            .launch = launch_template, .self = l, .release = release_template, .reload = reload_template};
        snprintf(v.detail, sizeof v.detail, "%s %s", c->t->kernel, c->config);
        if (status == TT_OK)
            status = kernel_of(&l->of, b, c, &l->launch, p);
        if (status != TT_OK) {
            release_template(l);
            break;
        }
        l->kernel = l->of->kernel;
        status = bench_variant_add(peer, &v);
    }
    free(s.items);
    return status;
}

/* The configurations of all built-in templates for the problem. */
static tt_status add_templates(bench_peer *peer, bench *b, const tt__problem *p) {
    tt__space space = {0};
    tt_status status = TT_OK;
    for (size_t i = 0; i < b->ctx->templates.n && status == TT_OK; i++) {
        const tt__template *t = b->ctx->templates.items[i];
        status = tt__template_read(&t);
        if (status == TT_OK)
            status = tt__space_add(&space, t, &b->gpu, p);
    }
    if (status == TT_OK)
        status = add_space(peer, b, &space, p);
    tt__space_free(&space);
    return status;
}

/* The same problem as the tuner's own tuned copy, so that its trials are found. */
tt_status bench_copy_open(bench_peer *peer, bench *b, const bench_case *c) {
    tt__problem p;
    tt__problem_copy(&p, &c->problem);
    return add_templates(peer, b, &p);
}

tt_status bench_mirrored_open(bench_peer *peer, bench *b, const bench_case *c) {
    tt__space space = {0};
    if (c->public.batch > 1 || c->public.in_place)
        return tt__fail(TT_E_UNSUPPORTED, "single matrices only");
    if (c->public.align < 16)
        return tt__fail(TT_E_UNSUPPORTED, "rows are not aligned to 16 bytes");
    tt_status status = tt__space_add(&space, b->mirrored, &b->gpu, &c->problem);
    if (status == TT_OK)
        status = add_space(peer, b, &space, &c->problem);
    tt__space_free(&space);
    return status;
}
