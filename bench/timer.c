/*
 * Rounds of bench-peers. The tuner's pool times them (tuner/measure/measure.h): cold and warm are the same as
 * in tuning. A graph holds many launches and is timed as one. The arrays take turns in a cold graph.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/peers.h"
#include "tuner/measure/measure.h"

enum { WARM_UPS = 2, GRAPH_LAUNCHES = 128 };

const char *const bench_regime_names[BENCH_REGIMES] = {"cold", "warm", "graph-cold", "graph-warm"};

/* A pair of events times one of these. */
typedef struct shot {
    bench_timer *timer;
    const bench_variant *variant;
    CUgraphExec exec; /* NULL: the variant itself */
    bool in_place;
} shot;

struct bench_timer {
    const tt__driver *cu;
    CUstream stream;
    const tt__gpu *gpu;
    CUfunction fill;       /* of the flush */
    tt__verifier verifier; /* no more of it than the pool needs */
    tt__bench_pool pool;
    volatile uint32_t *gate; /* the pool's, also while the pool does without */
    const shot *refused;
    size_t captured; /* cold launches in graphs, to give them the arrays in turn */
    uint64_t random;
    pthread_t watchdog;
    bool watched;
    unsigned n_calls;
    atomic_uint under_way; /* the call that enqueues a launch, from 1; 0: none */
    atomic_bool stop, forced;
};

/* ---- Opening ------------------------------------------------------------------------------------------- */

/* A library that synchronizes would wait for the gate forever. The gate opens after a second: one sample is
 * spoilt, and the run goes on. */
static void *watch(void *user) {
    enum { PERIOD_US = 50000, PATIENCE = 20 };
    bench_timer *t = user;
    unsigned last = 0;
    for (int periods = 0; !atomic_load(&t->stop); usleep(PERIOD_US)) {
        unsigned now = atomic_load(&t->under_way);
        periods = now && now == last ? periods + 1 : 0;
        last = now;
        if (periods > PATIENCE && t->gate) {
            atomic_store(&t->forced, true);
            *t->gate = 1;
        }
    }
    return NULL;
}

tt_status bench_timer_open(bench_timer **out, bench *b, CUfunction fill) {
    bench_timer *t = *out = calloc(1, sizeof *t);
    if (!t)
        return tt__fail_memory(sizeof *t);
    t->cu = b->cu;
    t->stream = b->stream;
    t->gpu = &b->gpu;
    t->fill = fill;
    t->random = 0x2545f4914f6cdd1du;
    t->watched = pthread_create(&t->watchdog, NULL, watch, t) == 0;
    return TT_OK;
}

void bench_timer_close(bench_timer **timer) {
    bench_timer *t = *timer;
    if (!t)
        return;
    atomic_store(&t->stop, true);
    if (t->watched)
        pthread_join(t->watchdog, NULL);
    bench_timer_end_case(t);
    free(t);
    *timer = NULL;
}

/* ---- Arrays -------------------------------------------------------------------------------------------- */

tt_status bench_timer_case(bench_timer *t, const bench_case *c) {
    const tt_problem *p = &c->public;
    bench_timer_end_case(t);
    t->verifier = (tt__verifier){
        .cu = t->cu,
        .stream = t->stream,
        .problem = c->problem,
        .work = {.n = 2,
                 .warm = p->warm,
                 .arrays = {{.direction = TT__IN, .elem_size = 1, .count = bench_src_bytes(p)},
                            {.direction = TT__OUT, .elem_size = 1, .count = bench_dst_bytes(p)}}},
        .fill = t->fill};
    TT_TRY(tt__pool_open(&t->pool, &t->verifier, t->gpu));
    t->gate = t->pool.gate;
    return TT_OK;
}

void bench_timer_end_case(bench_timer *t) {
    t->pool.gate = t->gate;
    tt__pool_close(&t->pool);
    t->gate = NULL;
}

static void arrays(const bench_timer *t, size_t slot, CUdeviceptr *dst, CUdeviceptr *src) {
    CUdeviceptr at = t->pool.base + t->pool.slots_at + slot * t->pool.slots.stride;
    *src = at + t->pool.offsets[0];
    *dst = at + t->pool.offsets[1];
}

void bench_timer_memory(const bench_timer *t, CUdeviceptr *base, size_t *bytes, CUdeviceptr *dst,
                        CUdeviceptr *src) {
    *base = t->pool.base;
    *bytes = t->pool.bytes;
    arrays(t, 0, dst, src);
}

/* ---- Launches ------------------------------------------------------------------------------------------ */

static bool is_graph(bench_regime regime) {
    return regime == BENCH_GRAPH_COLD || regime == BENCH_GRAPH_WARM;
}

int bench_launches(bench_regime regime) {
    return is_graph(regime) ? GRAPH_LAUNCHES : 1;
}

static tt_status launch(const shot *s, CUdeviceptr dst, CUdeviceptr src) {
    const bench_timer *t = s->timer;
    return s->exec ? tt__cu_check(t->cu->cuGraphLaunch(s->exec, t->stream), "cuGraphLaunch")
                   : s->variant->launch(s->variant->self, s->in_place ? src : dst, src, t->stream);
}

/* For the pool. The last error says why a launch was refused. */
static CUresult enqueue(const void *self, void *const *operands, CUstream stream) {
    const shot *s = self;
    (void)stream;
    atomic_store(&s->timer->under_way, ++s->timer->n_calls);
    tt_status status = launch(s, *(const CUdeviceptr *)operands[1], *(const CUdeviceptr *)operands[0]);
    atomic_store(&s->timer->under_way, 0);
    if (status == TT_OK)
        return CUDA_SUCCESS;
    s->timer->refused = s;
    return CUDA_ERROR_UNKNOWN;
}

/* Ends the capture whatever happens, or the stream stays unusable. */
static tt_status capture(bench_timer *t, shot *s) {
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    tt_status status = TT_OK;
    TT_TRY(tt__cu_check(t->cu->cuStreamBeginCapture(t->stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                        "cuStreamBeginCapture"));
    for (int i = 0; i < GRAPH_LAUNCHES && status == TT_OK; i++) {
        CUdeviceptr dst, src;
        arrays(t, t->captured++ % t->pool.slots.n, &dst, &src);
        status = launch(s, dst, src);
    }
    CUresult ended = t->cu->cuStreamEndCapture(t->stream, &graph);
    if (status == TT_OK)
        status = tt__cu_check(ended, "cuStreamEndCapture");
    if (status == TT_OK)
        status =
            tt__cu_check(t->cu->cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
    if (graph)
        t->cu->cuGraphDestroy(graph);
    s->exec = exec;
    return status;
}

/* Launches each once without the gate: a library may load code or allocate at its first launch. */
static tt_status first_launches(bench_timer *t, shot *shots, int n, bool as_graphs, int *failed) {
    for (int i = 0; i < n && *failed < 0; i++) {
        CUdeviceptr dst, src;
        arrays(t, 0, &dst, &src);
        if ((as_graphs && capture(t, &shots[i]) != TT_OK) || launch(&shots[i], dst, src) != TT_OK)
            *failed = i;
    }
    CUresult r = t->cu->cuStreamSynchronize(t->stream); /* the last error stays if all is well */
    return r == CUDA_SUCCESS ? TT_OK : tt__cu_check(r, "the first launches");
}

/* ---- Rounds -------------------------------------------------------------------------------------------- */

static void shuffle(bench_timer *t, int *order, int n) {
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        t->random ^= t->random << 13;
        t->random ^= t->random >> 7;
        t->random ^= t->random << 17;
        int k = (int)((t->random >> 11) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

/* One round in a random order. */
static tt_status run_round(bench_timer *t, const shot *shots, int n, float *us, int *failed) {
    int order[BENCH_VARIANTS_MAX];
    tt__timed things[BENCH_VARIANTS_MAX];
    float dealt_us[BENCH_VARIANTS_MAX];
    CUresult refused;
    shuffle(t, order, n);
    for (int i = 0; i < n; i++)
        things[i] = (tt__timed){.enqueue = enqueue,
                                .self = &shots[order[i]],
                                .n_enqueued = shots[order[i]].exec ? GRAPH_LAUNCHES : 1};
    t->refused = NULL;
    TT_TRY(tt__pool_time(&t->pool, things, n, true, dealt_us, &refused));
    if (atomic_exchange(&t->forced, false)) {
        t->pool.gate = NULL;
        fprintf(stderr, "bench-peers: a launch waited for those before it; going on without the gate\n");
    }
    if (refused != CUDA_SUCCESS && !t->refused)
        return tt__cu_check(refused, "measuring");
    if (t->refused)
        *failed = (int)(t->refused - shots);
    for (int i = 0; i < n && *failed < 0; i++)
        us[order[i]] = dealt_us[i];
    return TT_OK;
}

void bench_gate_again(bench_timer *t) {
    t->pool.gate = t->gate;
}

tt_status bench_rounds(bench_timer *t, const bench_variant *const *variants, const bool *in_place, int n,
                       int rounds, bench_regime regime, float *us, int *failed) {
    const float launches = (float)bench_launches(regime);
    float one[BENCH_VARIANTS_MAX];
    *failed = -1;
    shot *shots = calloc((size_t)n, sizeof *shots);
    if (!shots)
        return tt__fail_memory((size_t)n * sizeof *shots);
    for (int i = 0; i < n; i++)
        shots[i] = (shot){.timer = t, .variant = variants[i], .in_place = in_place[i]};
    tt_status status = first_launches(t, shots, n, is_graph(regime), failed);
    for (int r = -WARM_UPS; r < rounds && status == TT_OK && *failed < 0; r++) {
        status = run_round(t, shots, n, one, failed);
        for (int i = 0; i < n && r >= 0; i++)
            us[i * rounds + r] = one[i] / launches;
    }
    for (int i = 0; i < n; i++)
        if (shots[i].exec)
            t->cu->cuGraphExecDestroy(shots[i].exec);
    free(shots);
    return status;
}
