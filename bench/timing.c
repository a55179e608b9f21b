/*
 * Timing, as tuner/measure.c has it. Cold: each launch gets arrays that no recent launch has touched, from a
 * pool of more than five times the L2 cache, stands behind a write of twice that cache, and in front of
 * nobody. Warm: always the same arrays, in short trains whose first is launched once before it is timed. All
 * wait behind a gate until they are queued, so that the host's launch latency stays outside the pairs of
 * events. A graph holds many launches instead, cold ones on arrays in turn, and nothing stands before it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/peers.h"
#include "tuner/measure.h"

enum { SLOT_ALIGN = 512, WARM_UPS = 2, GRAPH_LAUNCHES = 128 };

const char *const bench_regime_names[BENCH_REGIMES] = {"cold", "warm", "graph-cold", "graph-warm"};

/* Not in the library's own table, because only benchmarks use graphs. */
typedef struct graph_api {
    CUresult(CUDAAPI *begin)(CUstream stream, CUstreamCaptureMode mode);
    CUresult(CUDAAPI *end)(CUstream stream, CUgraph *graph);
    CUresult(CUDAAPI *instantiate)(CUgraphExec *exec, CUgraph graph, unsigned long long flags);
    CUresult(CUDAAPI *launch)(CUgraphExec exec, CUstream stream);
    CUresult(CUDAAPI *destroy)(CUgraph graph);
    CUresult(CUDAAPI *destroy_exec)(CUgraphExec exec);
} graph_api;

struct bench_timer {
    const tt__driver *cu;
    CUstream stream;
    const tt__gpu *gpu;
    CUdeviceptr base, flush;
    size_t flush_bytes;
    size_t bytes, src_stride; /* a slot is [src][dst] */
    tt__slots slots;
    CUevent events[2 * TT__TRAIN_MAX];
    volatile uint32_t *gate; /* NULL: the driver has no stream memory operations */
    CUdeviceptr gate_device;
    uint64_t random;
    bool has_graphs;
    graph_api graph;
    pthread_t watchdog;
    bool watched, ungated; /* ungated: someone waited for the gate */
    atomic_bool stop, closed, forced;
};

/* What is timed by one pair of events. */
typedef struct shot {
    const bench_variant *variant;
    CUgraphExec exec; /* NULL: the variant itself */
    CUdeviceptr dst, src;
} shot;

/* ---- Opening ------------------------------------------------------------------------------------------- */

/* A library that synchronises while its launches are queued, or a queue that is full, would wait for the gate
 * forever: a gate that stays closed for a second is opened, which spoils a sample and saves the run. */
static void *watch(void *user) {
    enum { PERIOD_US = 50000, PATIENCE = 20 };
    bench_timer *t = user;
    for (int closed_for = 0; !atomic_load(&t->stop); usleep(PERIOD_US)) {
        closed_for = atomic_load(&t->closed) ? closed_for + 1 : 0;
        if (closed_for > PATIENCE) {
            atomic_store(&t->forced, true);
            *t->gate = 1;
        }
    }
    return NULL;
}

static void open_gate(bench_timer *t) {
    enum { DEVICEMAP = 2 };
    void *host = NULL;
    const tt__driver *cu = t->cu;
    if (cu->cuMemHostAlloc(&host, sizeof(uint32_t), DEVICEMAP) != CUDA_SUCCESS)
        return;
    t->gate = host;
    *t->gate = 1;
    if (cu->cuMemHostGetDevicePointer(&t->gate_device, host, 0) != CUDA_SUCCESS ||
        cu->cuStreamWaitValue32(t->stream, t->gate_device, 1, CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS ||
        cu->cuStreamSynchronize(t->stream) != CUDA_SUCCESS) {
        cu->cuMemFreeHost(host);
        t->gate = NULL;
        return;
    }
    t->watched = pthread_create(&t->watchdog, NULL, watch, t) == 0;
}

static void open_graphs(bench_timer *t) {
    const struct {
        const char *name;
        void *member;
    } symbols[] = {
        {"cuStreamBeginCapture_v2", &t->graph.begin},
        {"cuStreamEndCapture", &t->graph.end},
        {"cuGraphInstantiateWithFlags", &t->graph.instantiate},
        {"cuGraphLaunch", &t->graph.launch},
        {"cuGraphDestroy", &t->graph.destroy},
        {"cuGraphExecDestroy", &t->graph.destroy_exec},
    };
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    t->has_graphs = lib != NULL;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols && t->has_graphs; i++) {
        void *address = dlsym(lib, symbols[i].name);
        memcpy(symbols[i].member, &address, sizeof address);
        t->has_graphs = address != NULL;
    }
}

tt_status bench_timer_open(bench_timer **out, bench *b) {
    bench_timer *t = calloc(1, sizeof *t);
    *out = t;
    if (!t)
        return tt__fail_memory(sizeof *t);
    t->cu = b->cu;
    t->stream = b->stream;
    t->gpu = &b->gpu;
    t->random = 0x2545f4914f6cdd1du;
    t->flush_bytes = TT__FLUSH_TIMES * (size_t)b->gpu.l2_bytes;
    if (t->flush_bytes > 0)
        TT_TRY(tt__cu_check(t->cu->cuMemAlloc(&t->flush, t->flush_bytes),
                            "cuMemAlloc (%zu bytes to flush the L2 cache with)", t->flush_bytes));
    for (int i = 0; i < 2 * TT__TRAIN_MAX; i++)
        TT_TRY(tt__cu_check(t->cu->cuEventCreate(&t->events[i], CU_EVENT_DEFAULT), "cuEventCreate"));
    open_gate(t);
    open_graphs(t);
    return TT_OK;
}

void bench_timer_close(bench_timer **timer) {
    bench_timer *t = *timer;
    if (!t)
        return;
    bench_timer_end_case(t);
    atomic_store(&t->stop, true);
    if (t->watched)
        pthread_join(t->watchdog, NULL);
    for (int i = 0; i < 2 * TT__TRAIN_MAX; i++)
        if (t->events[i])
            t->cu->cuEventDestroy(t->events[i]);
    if (t->flush)
        t->cu->cuMemFree(t->flush);
    if (t->gate)
        t->cu->cuMemFreeHost((void *)(uintptr_t)t->gate);
    free(t);
    *timer = NULL;
}

/* ---- Arrays -------------------------------------------------------------------------------------------- */

static size_t round_up(size_t n) {
    return (n + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

tt_status bench_timer_case(bench_timer *t, const bench_case *c) {
    size_t available, total;
    t->src_stride = round_up((size_t)tt__src_bytes(&c->problem));
    TT_TRY(tt__cu_check(t->cu->cuMemGetInfo(&available, &total), "cuMemGetInfo"));
    t->slots = tt__slots_for(t->src_stride + round_up((size_t)tt__dst_bytes(&c->problem)), t->gpu, false,
                             available / 2);
    t->bytes = (t->slots.n - 1) * t->slots.stride + t->slots.bytes;
    if (t->bytes > available)
        return tt__fail(TT_E_NO_MEMORY, "needs %.2f GB of device memory, %.2f are free",
                        (double)t->bytes * 1e-9, (double)available * 1e-9);
    return tt__cu_check(t->cu->cuMemAlloc(&t->base, t->bytes), "cuMemAlloc (%zu bytes)", t->bytes);
}

void bench_timer_end_case(bench_timer *t) {
    if (t->base)
        t->cu->cuMemFree(t->base);
    t->base = 0;
}

void bench_timer_memory(const bench_timer *t, CUdeviceptr *base, size_t *bytes, CUdeviceptr *dst,
                        CUdeviceptr *src) {
    *base = t->base;
    *bytes = t->bytes;
    *src = t->base;
    *dst = t->base + t->src_stride;
}

bool bench_timer_has_graphs(const bench_timer *t) {
    return t->has_graphs;
}

static void turn(bench_timer *t) {
    t->slots.next = (t->slots.next + 1) % t->slots.n;
}

/* The next arrays of a regime; in place the source's array is both. Where slots are places, a round shares
 * one. */
static void next_arrays(bench_timer *t, bool cold, bool in_place, CUdeviceptr *dst, CUdeviceptr *src) {
    *src = t->base + (cold ? t->slots.next : 0) * t->slots.stride;
    *dst = in_place ? *src : *src + t->src_stride;
    if (cold && !t->slots.are_places)
        turn(t);
}

/* ---- Measuring ----------------------------------------------------------------------------------------- */

static tt_status fire(bench_timer *t, const shot *s) {
    if (s->exec)
        return tt__cu_check(t->graph.launch(s->exec, t->stream), "cuGraphLaunch");
    return s->variant->launch(s->variant->self, s->dst, s->src, t->stream);
}

/* Whatever ran before, the L2 cache is full of what something else has written. (The tuner has a kernel write
 * random bits, this is the driver's fill.) */
static tt_status flush(bench_timer *t) {
    if (!t->flush)
        return TT_OK;
    return tt__cu_check(t->cu->cuMemsetD8Async(t->flush, 0, t->flush_bytes, t->stream), "cuMemsetD8Async");
}

/* A launch that is refused says so in *refused, and why in the last error; all else that fails is returned.
 */
static tt_status enqueue(bench_timer *t, const shot *s, int i, bool cold, bool *refused) {
    const bool leads = !s->exec && !cold && i == 0;
    *refused = false;
    if (!s->exec && cold)
        TT_TRY(flush(t));
    if (leads && (*refused = fire(t, s) != TT_OK))
        return TT_OK;
    TT_TRY(tt__cu_check(t->cu->cuEventRecord(t->events[2 * i], t->stream), "cuEventRecord"));
    if ((*refused = fire(t, s) != TT_OK))
        return TT_OK;
    return tt__cu_check(t->cu->cuEventRecord(t->events[2 * i + 1], t->stream), "cuEventRecord");
}

static tt_status close_gate(bench_timer *t) {
    *t->gate = 0;
    atomic_store(&t->closed, true);
    return tt__cu_check(t->cu->cuStreamWaitValue32(t->stream, t->gate_device, 1, CU_STREAM_WAIT_VALUE_GEQ),
                        "cuStreamWaitValue32");
}

static void lift_gate(bench_timer *t) {
    *t->gate = 1;
    atomic_store(&t->closed, false);
    if (atomic_exchange(&t->forced, false)) {
        t->ungated = true;
        fprintf(stderr, "bench-peers: a launch waited for those before it; going on without the gate\n");
    }
}

/* Times n shots that are queued together. */
static tt_status time_shots(bench_timer *t, const shot *shots, int n, bool cold, float *us, int *failed) {
    bool gated = t->gate && !t->ungated, refused;
    tt_status status = gated ? close_gate(t) : TT_OK;
    *failed = -1;
    for (int i = 0; i < n && *failed < 0 && status == TT_OK; i++) {
        status = enqueue(t, &shots[i], i, cold, &refused);
        if (refused)
            *failed = i;
    }
    if (gated)
        lift_gate(t);
    TT_TRY(status);
    CUresult r = t->cu->cuStreamSynchronize(t->stream); /* without touching the last error when all is well */
    if (r != CUDA_SUCCESS)
        return tt__cu_check(r, "measuring");
    for (int i = 0; i < n && *failed < 0; i++) {
        float ms;
        TT_TRY(tt__cu_check(t->cu->cuEventElapsedTime(&ms, t->events[2 * i], t->events[2 * i + 1]),
                            "cuEventElapsedTime"));
        us[i] = ms * 1e3f;
    }
    return TT_OK;
}

/* A capture that was begun is ended whatever happens in between: the stream is of no use before. */
static tt_status capture(bench_timer *t, const bench_variant *v, bool cold, bool in_place, CUgraphExec *out) {
    CUgraph graph = NULL;
    tt_status status = TT_OK;
    *out = NULL;
    TT_TRY(tt__cu_check(t->graph.begin(t->stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture"));
    for (int i = 0; i < GRAPH_LAUNCHES && status == TT_OK; i++) {
        CUdeviceptr dst, src;
        next_arrays(t, cold, in_place, &dst, &src);
        status = v->launch(v->self, dst, src, t->stream);
    }
    CUresult ended = t->graph.end(t->stream, &graph);
    if (status == TT_OK)
        status = tt__cu_check(ended, "cuStreamEndCapture");
    if (status == TT_OK)
        status = tt__cu_check(t->graph.instantiate(out, graph, 0), "cuGraphInstantiateWithFlags");
    if (graph)
        t->graph.destroy(graph);
    return status;
}

static bool is_graph(bench_regime regime) {
    return regime == BENCH_GRAPH_COLD || regime == BENCH_GRAPH_WARM;
}

int bench_launches(const bench_timer *t, bench_regime regime) {
    return !is_graph(regime) ? 1 : t->has_graphs ? GRAPH_LAUNCHES : 0;
}

static void shuffle(bench_timer *t, int *order, int n) {
    for (int i = n - 1; i > 0; i--) {
        t->random ^= t->random << 13;
        t->random ^= t->random >> 7;
        t->random ^= t->random << 17;
        int k = (int)((t->random >> 11) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

/* How many of n are queued together. Warm ones are trains of the same length, as nearly as may be, in which
 * the untimed first takes a place, too. */
static int at_once_of(const shot *shots, int n, bool cold) {
    const int most = TT__TRAIN_MAX - 1, trains = (n + most - 1) / most;
    return shots[0].exec || cold ? 1 : (n + trains - 1) / trains;
}

/* One round in a random order. */
static tt_status run_round(bench_timer *t, const shot *shots, const bool *in_place, int n, bool cold,
                           float *us, int *failed) {
    int order[BENCH_VARIANTS_MAX];
    for (int i = 0; i < n; i++)
        order[i] = i;
    shuffle(t, order, n);
    const int at_once = at_once_of(shots, n, cold);
    for (int from = 0; from < n; from += at_once) {
        shot batch[TT__TRAIN_MAX];
        float batch_us[TT__TRAIN_MAX];
        int k, many = n - from < at_once ? n - from : at_once;
        for (k = 0; k < many; k++) {
            batch[k] = shots[order[from + k]];
            if (!batch[k].exec)
                next_arrays(t, cold, in_place[order[from + k]], &batch[k].dst, &batch[k].src);
        }
        TT_TRY(time_shots(t, batch, many, cold, batch_us, failed));
        if (*failed >= 0) {
            *failed = order[from + *failed];
            return TT_OK;
        }
        for (k = 0; k < many; k++)
            us[order[from + k]] = batch_us[k];
    }
    if (cold && t->slots.are_places)
        turn(t);
    return TT_OK;
}

/* Launches everything once with the gate open: a library may load or allocate at its first launch. */
static tt_status first_launches(bench_timer *t, shot *shots, const bool *in_place, int n, int *failed) {
    for (int i = 0; i < n && *failed < 0; i++) {
        next_arrays(t, true, in_place[i], &shots[i].dst, &shots[i].src);
        if (fire(t, &shots[i]) != TT_OK)
            *failed = i;
    }
    CUresult r = t->cu->cuStreamSynchronize(t->stream);
    return r == CUDA_SUCCESS ? TT_OK : tt__cu_check(r, "the first launches");
}

void bench_gate_again(bench_timer *t) {
    t->ungated = false;
}

tt_status bench_rounds(bench_timer *t, const bench_variant *const *variants, const bool *in_place, int n,
                       int rounds, bench_regime regime, float *us, int *failed) {
    bool cold = regime == BENCH_COLD || regime == BENCH_GRAPH_COLD;
    int launches = bench_launches(t, regime);
    float one[BENCH_VARIANTS_MAX];
    tt_status status = TT_OK;
    *failed = -1;
    shot *shots = calloc((size_t)n, sizeof *shots);
    if (!shots)
        return tt__fail_memory((size_t)n * sizeof *shots);
    for (int i = 0; i < n; i++)
        shots[i].variant = variants[i];
    for (int i = 0; i < n && is_graph(regime) && *failed < 0; i++)
        if (capture(t, variants[i], cold, in_place[i], &shots[i].exec) != TT_OK)
            *failed = i;
    if (*failed < 0)
        status = first_launches(t, shots, in_place, n, failed);
    for (int r = -WARM_UPS; r < rounds && status == TT_OK && *failed < 0; r++) {
        status = run_round(t, shots, in_place, n, cold, one, failed);
        for (int i = 0; i < n && r >= 0; i++)
            us[i * rounds + r] = one[i] / (float)launches;
    }
    for (int i = 0; i < n; i++)
        if (shots[i].exec)
            t->graph.destroy_exec(shots[i].exec);
    free(shots);
    return status;
}
