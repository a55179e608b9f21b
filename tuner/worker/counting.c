/*
 * One launch is repeated until all counters were read. In the environment of a profiler that brings counters
 * of its own, as ncu does, each configuration runs once, between cuProfilerStart and cuProfilerStop
 * (bench/counters_ncu.py).
 */
#include "tuner/worker/counting.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"

static tt_status begin_profile(void *user) {
    const tt__driver *cu = ((tt__bench_pool *)user)->cu;
    return cu->cuProfilerStart ? tt__cu_check(cu->cuProfilerStart(), "cuProfilerStart") : TT_OK;
}

static tt_status end_profile(void *user) {
    const tt__driver *cu = ((tt__bench_pool *)user)->cu;
    return cu->cuProfilerStop ? tt__cu_check(cu->cuProfilerStop(), "cuProfilerStop") : TT_OK;
}

typedef struct range {
    tt__cupti *cupti;
    bool more;
} range;

static tt_status begin_range(void *user) {
    return tt__cupti_begin(((range *)user)->cupti);
}

static tt_status end_range(void *user) {
    range *r = user;
    return tt__cupti_end(r->cupti, &r->more);
}

static tt_status replay(tt__counted *out, tt__counting *c, tt__bench_pool *pool, const tt__timed *thing) {
    enum { REPLAYS_MAX = 200 };
    CUcontext context = NULL;
    if (secure_getenv("TILETUNE_PROFILED"))
        return tt__pool_launch(pool, thing, &(tt__around){begin_profile, end_profile, pool});
    TT_TRY(tt__cu_check(pool->cu->cuCtxGetCurrent(&context), "cuCtxGetCurrent"));
    if (!c->cupti)
        TT_TRY(tt__cupti_open(&c->cupti, context, c->ordinal, tt__counter_metrics, TT__COUNTER_COUNT));
    range r = {c->cupti, true};
    TT_TRY(tt__cupti_start(c->cupti));
    for (int i = 1; r.more && i <= REPLAYS_MAX; i++) {
        TT_TRY(tt__pool_launch(pool, thing, &(tt__around){begin_range, end_range, &r}));
        out->n_replays = i;
    }
    return tt__cupti_read(c->cupti, out->values);
}

static int local_bytes(const tt__driver *cu, const tt__kernel *kernel) {
    int most = 0, bytes;
    for (int i = 0; i < kernel->n_passes; i++)
        if (cu->cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel->fns[i]) ==
                CUDA_SUCCESS &&
            bytes > most)
            most = bytes;
    return most;
}

tt_status tt__count_launch(tt__counted *out, tt__counting *c, tt__bench_pool *pool, const tt__timed *thing) {
    *out = (tt__counted){.local_bytes = local_bytes(pool->cu, thing->kernel)};
    for (int i = 0; i < TT__COUNTER_COUNT; i++)
        out->values[i] = (double)NAN;
    tt_status status = *c->why ? TT_OK : replay(out, c, pool, thing);
    if (status == TT_E_UNSUPPORTED) {
        tt__copy(c->why, sizeof c->why, tt_last_error());
        tt__cupti_close(&c->cupti);
        status = TT_OK;
    }
    if (*c->why)
        out->n_replays = 0;
    tt__copy(out->why, sizeof out->why, c->why);
    return status;
}
