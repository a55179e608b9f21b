/* tt_transpose: a plan for each problem, CUDA context and pointer alignment, made on first use. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/plan.h"

/* Open addressing; grows by doubling. Plans are never removed before tt_close, so that a plan that was found
 * under the lock stays valid after it. */
typedef struct entry {
    unsigned long long context; /* CUDA's unique id of the context */
    tt__problem problem;
    tt_plan *plan; /* NULL: free */
} entry;

typedef struct tt__plan_cache {
    size_t n, cap; /* cap: 0 or a power of two */
    entry *entries;
} plan_cache;

void tt__plan_cache_free(plan_cache **cache) {
    if (!*cache)
        return;
    for (size_t i = 0; i < (*cache)->cap; i++)
        tt_plan_free(&(*cache)->entries[i].plan);
    free((*cache)->entries);
    free(*cache);
    *cache = NULL;
}

static bool same(const entry *e, unsigned long long context, const tt__problem *p) {
    const tt__problem *q = &e->problem;
    return e->context == context && q->rows == p->rows && q->cols == p->cols && q->lds == p->lds &&
           q->ldd == p->ldd && q->batch == p->batch && q->src_stride == p->src_stride &&
           q->dst_stride == p->dst_stride && q->elem_size == p->elem_size && q->align == p->align &&
           strcmp(q->op, p->op) == 0;
}

static size_t hash(unsigned long long context, const tt__problem *p) {
    const uint64_t fields[] = {
        context,           (uint64_t)p->rows,       (uint64_t)p->cols,       (uint64_t)p->lds, (uint64_t)p->ldd,
        (uint64_t)p->batch, (uint64_t)p->src_stride, (uint64_t)p->dst_stride, (uint64_t)(p->elem_size * 32 + p->align),
        tt__in_place(p) + 2 * tt__warm(p)};
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        h = (h ^ fields[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ h >> 29;
    return (size_t)(h ^ h >> 32);
}

/* The entry of the problem, or the free one where it belongs. cap > n. */
static entry *find(plan_cache *cache, unsigned long long context, const tt__problem *p) {
    for (size_t i = hash(context, p);; i++) {
        entry *e = &cache->entries[i & (cache->cap - 1)];
        if (!e->plan || same(e, context, p))
            return e;
    }
}

static tt_status grow(plan_cache *cache) {
    plan_cache bigger = {.cap = cache->cap ? cache->cap * 2 : 16};
    if (2 * (cache->n + 1) <= cache->cap)
        return TT_OK;
    bigger.entries = calloc(bigger.cap, sizeof *bigger.entries);
    if (!bigger.entries)
        return tt__fail_memory(bigger.cap * sizeof *bigger.entries);
    for (size_t i = 0; i < cache->cap; i++)
        if (cache->entries[i].plan)
            *find(&bigger, cache->entries[i].context, &cache->entries[i].problem) = cache->entries[i];
    bigger.n = cache->n;
    free(cache->entries);
    *cache = bigger;
    return TT_OK;
}

static tt_status plan_for(tt_ctx *ctx, unsigned long long context, const tt__problem *p, const tt_plan **out) {
    if (!ctx->plans)
        ctx->plans = calloc(1, sizeof *ctx->plans);
    if (!ctx->plans)
        return tt__fail_memory(sizeof *ctx->plans);
    TT_TRY(grow(ctx->plans));
    entry *e = find(ctx->plans, context, p);
    if (!e->plan) {
        TT_TRY(tt__plan_make(&e->plan, ctx, p));
        e->context = context;
        e->problem = *p;
        ctx->plans->n++;
    }
    *out = e->plan;
    return TT_OK;
}

static tt_status current_context(unsigned long long *id) {
    const tt__driver *cu;
    CUcontext current = NULL;
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__cu_check(cu->cuCtxGetCurrent(&current), "cuCtxGetCurrent"));
    if (!current)
        return tt__fail(TT_E_NO_DEVICE, "no CUDA context is current in this thread; make one current first "
                                        "(cuCtxSetCurrent, or any CUDA runtime call)");
    return tt__cu_check(cu->cuCtxGetId(current, id), "cuCtxGetId");
}

tt_status tt_transpose(tt_ctx *ctx, const tt_problem *problem, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    tt__problem p;
    unsigned long long context;
    const tt_plan *plan = NULL;
    TT_TRY(tt__problem_init(&p, problem));
    while (p.align > 1 && (dst | src) & ((CUdeviceptr)p.align - 1))
        p.align /= 2;
    TT_TRY(current_context(&context));
    pthread_mutex_lock(&ctx->lock);
    tt_status status = plan_for(ctx, context, &p, &plan);
    pthread_mutex_unlock(&ctx->lock);
    return status == TT_OK ? tt_plan_launch(plan, dst, src, stream) : status;
}
