/*
 * The memory pool, the gate and the events.
 */
#include "tuner/measure/measure.h"

#include <float.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "code/cubin.h"
#include "gpu/nvml.h"

/* ---- The clocks of a GPU --------------------------------------------------------------------------------
 */

/* A fall counts from one tenth on. Smaller changes are normal boost behaviour, and the finals are paired. */
static const double fallen = 0.9, read_every_s = 0.005, patience_s = 0.2;
static const double costs_at_most = 0.02; /* of the time, because one reading takes a millisecond */

static void read_clocks(tt__gpu_clocks *c) {
    double begin_s = tt__now_s();
    c->now_mhz = tt__nvml_sm_mhz(c->ordinal);
    c->read_s = tt__now_s();
    c->cost_s = c->read_s - begin_s;
}

static bool is_up(const tt__gpu_clocks *c) {
    return c->now_mhz == 0 || c->now_mhz >= fallen * c->usual_mhz;
}

bool tt__gpu_clocks_steady(tt__gpu_clocks *c) {
    double pause_s = c->cost_s / costs_at_most;
    if (tt__now_s() < c->read_s + (pause_s > read_every_s ? pause_s : read_every_s))
        return is_up(c);
    read_clocks(c);
    if (c->now_mhz > c->usual_mhz)
        c->usual_mhz = c->now_mhz;
    if (is_up(c))
        return true;
    if (c->n_falls++ == 0 || c->now_mhz < c->lowest_mhz) {
        c->lowest_mhz = c->now_mhz;
        tt__nvml_why_slow(c->why, sizeof c->why, c->ordinal);
    }
    return false;
}

void tt__gpu_clocks_recover(tt__gpu_clocks *c) {
    for (double begin_s = tt__now_s(); !is_up(c) && tt__now_s() < begin_s + patience_s; read_clocks(c))
        usleep((useconds_t)(read_every_s * 1e6));
    if (!is_up(c))
        c->usual_mhz = c->now_mhz;
}

bool tt__gpu_clocks_settled(tt__gpu_clocks *c) {
    unsigned before = c->now_mhz;
    read_clocks(c);
    c->usual_mhz = c->now_mhz;
    return c->now_mhz == 0 || (before > 0 && c->now_mhz <= before);
}

enum { L2_TIMES = 5, SLOT_ALIGN = 512, SHIFT_MAX = 16, PLACES = 4, SMALL_PLACES = 32 };
static const size_t gib = (size_t)1 << 30, large_bytes = (size_t)256 << 20;

static size_t round_up(size_t n) {
    return (n + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

tt__slots tt__slots_for(size_t bytes, const tt__gpu *gpu, bool warm, size_t room) {
    size_t flush = L2_TIMES * (size_t)gpu->l2_bytes;
    tt__slots s = {.n = 1, .bytes = bytes, .stride = bytes};
    if (warm)
        return s;
    if (bytes < flush) /* enough slots that none is in the cache when it is used again */
        s.n = flush / bytes + 2;
    if (bytes < flush || bytes < large_bytes) {
        /* The ratio of two times differs by half a percent from place to place. */
        size_t places = room / 8 / bytes;
        places = places < SMALL_PLACES ? places : SMALL_PLACES;
        s.n = s.n > places ? s.n : places;
    } else {
        /* Address bits decide how accesses spread over memory channels, 1 and 2 GiB among them
         * (docs/performance.md, "Rows 128 KB apart"). Four slots an odd number of GiB apart differ in these
         * bits. */
        size_t apart = (((bytes + gib - 1) / gib) | 1) * gib;
        for (s.n = PLACES; s.n > 1 && (s.n - 1) * apart + bytes > room;)
            s.n--;
        s.stride = s.n > 1 ? apart : bytes;
        s.are_places = s.n > 1;
    }
    return s;
}

static size_t all_bytes(const tt__slots *s) {
    return s->n > 0 ? (s->n - 1) * s->stride + s->bytes : 0;
}

/* The layout is [copies][flush][slots]. All slots but the first are copies of it. */
static void lay_out(tt__bench_pool *pool, const tt__workload *w, const tt__gpu *gpu, size_t room) {
    size_t touched = 0;
    for (int i = 0; i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        if (!tt__array_is_buffer(a))
            continue;
        pool->offsets[i] = touched;
        touched += round_up((size_t)tt__array_bytes(a) + SHIFT_MAX);
    }
    pool->warm = w->warm;
    pool->in_graph = w->in_graph;
    pool->slots = tt__slots_for(touched, gpu, w->warm, room);
    if (w->copy_bytes)
        pool->copies = tt__slots_for(2 * round_up((size_t)w->copy_bytes + SHIFT_MAX), gpu, w->warm, 0);
    if (!pool->warm)
        pool->flush_bytes = TT__FLUSH_TIMES * (size_t)gpu->l2_bytes / SLOT_ALIGN * SLOT_ALIGN;
    pool->flush_at = all_bytes(&pool->copies);
    pool->slots_at = pool->flush_at + pool->flush_bytes;
    pool->bytes = pool->slots_at + all_bytes(&pool->slots);
}

int64_t tt__pool_bytes(const tt__workload *w, const tt__gpu *gpu) {
    tt__bench_pool pool = {0};
    lay_out(&pool, w, gpu, 0);
    return (int64_t)pool.bytes;
}

/* Without the gate, times of small sizes are less precise. So a missing gate is no error. */
static void open_gate(tt__bench_pool *pool) {
    enum { DEVICEMAP = 2 };
    void *host = NULL;
    const tt__driver *cu = pool->cu;
    if (cu->cuMemHostAlloc(&host, sizeof(uint32_t), DEVICEMAP) != CUDA_SUCCESS)
        return;
    pool->gate = host;
    *pool->gate = 1;
    if (cu->cuMemHostGetDevicePointer(&pool->gate_device, host, 0) != CUDA_SUCCESS ||
        cu->cuStreamWaitValue32(pool->stream, pool->gate_device, 1, CU_STREAM_WAIT_VALUE_GEQ) !=
            CUDA_SUCCESS ||
        cu->cuStreamSynchronize(pool->stream) != CUDA_SUCCESS) {
        cu->cuMemFreeHost(host);
        pool->gate = NULL;
    }
}

/* Tries again with fewer places if memory is short. */
static tt_status allocate(tt__bench_pool *pool, const tt__gpu *gpu, size_t room) {
    for (;; room = room < gib ? 0 : room - room / 8) {
        lay_out(pool, &pool->verifier->work, gpu, room);
        CUresult r = pool->cu->cuMemAlloc(&pool->base, pool->bytes);
        if (r != CUDA_ERROR_OUT_OF_MEMORY || room == 0)
            return tt__cu_check(r, "cuMemAlloc (%zu bytes to measure in)", pool->bytes);
    }
}

tt_status tt__pool_open(tt__bench_pool *pool, tt__verifier *verifier, const tt__gpu *gpu) {
    const tt__driver *cu = verifier->cu;
    size_t available, total;
    *pool = (tt__bench_pool){.cu = cu, .stream = verifier->stream, .verifier = verifier};
    TT_TRY(tt__cu_check(cu->cuMemGetInfo(&available, &total), "cuMemGetInfo"));
    for (int i = 0; i < verifier->work.n; i++)
        pool->in_place |= verifier->work.arrays[i].direction == TT__INOUT;
    pool->renews = pool->in_place && !verifier->work.moves;
    tt_status status;
    TT_GOTO(allocate(pool, gpu, available / 2)); /* leave memory for other processes */
    for (int i = 0; i < 2 * TT__TRAIN_MAX; i++)
        TT_GOTO(tt__cu_check(cu->cuEventCreate(&pool->events[i], CU_EVENT_DEFAULT), "cuEventCreate"));
    open_gate(pool);
    return TT_OK;
out:
    tt__pool_close(pool);
    return status;
}

/* The address of an operand in a slot, if arrays begin at this offset from a multiple of 16. */
static CUdeviceptr place(const tt__bench_pool *pool, size_t slot, int operand, int offset) {
    return pool->base + pool->slots_at + slot * pool->slots.stride + pool->offsets[operand] +
           (unsigned)offset;
}

static CUresult restore(const tt__bench_pool *pool, size_t slot, bool inputs) {
    const tt__workload *w = &pool->verifier->work;
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; i < w->n && r == CUDA_SUCCESS; i++)
        if (inputs || w->arrays[i].direction == TT__INOUT)
            r = tt__verifier_initial(pool->verifier, i, place(pool, slot, i, w->offset));
    return r;
}

tt_status tt__pool_fill(tt__bench_pool *pool) {
    const tt__slots *slots = &pool->slots;
    /* Random bits everywhere except in the other slots: zeros would be faster than real data. */
    TT_TRY(tt__verifier_randomise(pool->verifier, pool->base, pool->slots_at + slots->bytes));
    CUresult r = restore(pool, 0, true);
    if (r == CUDA_SUCCESS)
        r = tt__verifier_spread(pool->verifier, pool->base + pool->slots_at, slots->bytes, slots->stride,
                                slots->n);
    TT_TRY(tt__cu_check(r, "filling the arrays to measure with"));
    return tt__cu_check(pool->cu->cuStreamSynchronize(pool->stream), "filling the arrays to measure with");
}

void tt__pool_close(tt__bench_pool *pool) {
    const tt__driver *cu = pool->cu;
    for (int i = 0; i < 2 * TT__TRAIN_MAX; i++)
        if (pool->events[i])
            cu->cuEventDestroy(pool->events[i]);
    if (pool->gate)
        cu->cuMemFreeHost((void *)(uintptr_t)pool->gate);
    if (pool->base)
        cu->cuMemFree(pool->base);
    *pool = (tt__bench_pool){0};
}

/* Overwrites the L2 cache, so that a launch finds neither its own data nor another's there. */
static CUresult flush(tt__bench_pool *pool) {
    enum { THREADS = 256, EACH = 4 * THREADS, BLOCKS_MAX = 2048 };
    long long n = (long long)(pool->flush_bytes / sizeof(uint32_t));
    long long blocks = (n + EACH - 1) / EACH;
    unsigned seed = 1, inverted = 0;
    CUdeviceptr at = pool->base + pool->flush_at;
    if (n == 0)
        return CUDA_SUCCESS;
    return pool->cu->cuLaunchKernel(pool->verifier->fill,
                                    (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX), 1, 1, THREADS, 1,
                                    1, 0, pool->stream, (void *[]){&at, &n, &seed, &inverted}, NULL);
}

/* Does it have buffers of its own, as some copies do? */
static bool is_apart(const tt__bench_pool *pool, const tt__timed *thing) {
    return thing->copy && pool->copies.n > 0;
}

/* The first of each kind in a train runs once untimed, so that it is as warm as the others. */
static bool leads(const tt__bench_pool *pool, const tt__timed *things, int i) {
    return i == 0 || is_apart(pool, &things[i]) != is_apart(pool, &things[i - 1]);
}

/* Moves on to the next slot. */
static void turn(tt__slots *slots) {
    slots->next = (slots->next + 1) % slots->n;
}

/* The operands of the next launch. */
typedef struct operands {
    CUdeviceptr places[TT__OPERANDS_MAX];
    void *at[TT__OPERANDS_MAX];
} operands;

static void choose_operands(operands *out, tt__bench_pool *pool, const tt__timed *thing) {
    const tt__verifier *v = pool->verifier;
    for (int k = 0; k < v->work.n; k++) {
        bool buffer = tt__array_is_buffer(&v->work.arrays[k]);
        out->places[k] = buffer ? place(pool, pool->slots.next, k, thing->offset) : 0;
        out->at[k] = buffer ? &out->places[k] : v->operands[k];
    }
    if (is_apart(pool, thing)) {
        CUdeviceptr slot = pool->base + pool->copies.next * pool->copies.stride;
        out->places[0] = slot;
        out->places[1] = slot + pool->copies.bytes / 2;
        out->at[0] = &out->places[0];
        out->at[1] = &out->places[1];
        turn(&pool->copies);
    } else if (!pool->stays) {
        turn(&pool->slots);
    }
}

/* Copies the results of the verifier to a slot, and scratch buffers; or results back. */
static CUresult move_results(const tt__bench_pool *pool, size_t slot, int offset, bool back) {
    const tt__verifier *v = pool->verifier;
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; i < v->work.n && r == CUDA_SUCCESS; i++) {
        const tt__array *a = &v->work.arrays[i];
        CUdeviceptr there = place(pool, slot, i, offset), here = v->areas[i].operand;
        if (tt__verify_is_result(a) ||
            (v->key && (back ? a->direction == TT__IN : a->direction == TT__SCRATCH)))
            r = tt__verify_move(v, back ? here : there, back ? there : here, (size_t)tt__array_bytes(a));
    }
    return r;
}

/* Takes from the kernel what it may have kept of its other launches: their results, here and in the slot
 * before, its variables, and what is in shared memory. */
static CUresult forget(tt__bench_pool *pool, const tt__timed *thing) {
    const tt__variables *known = thing->variables;
    const size_t slot = pool->slots.next;
    CUresult r = tt__verify_poison(pool->verifier);
    if (r == CUDA_SUCCESS)
        r = move_results(pool, slot, thing->offset, false);
    if (r == CUDA_SUCCESS && pool->last_slot != slot)
        r = move_results(pool, pool->last_slot, thing->offset, false);
    for (size_t i = 0; known && i < known->n && r == CUDA_SUCCESS; i++)
        r = tt__verify_move(pool->verifier, known->items[i].at, known->items[i].kept, known->items[i].bytes);
    pool->last_slot = slot;
    return r == CUDA_SUCCESS ? tt__verify_soil(pool->verifier) : r;
}

/* Queues what comes before a launch: it restores `inout` buffers, and flushes. */
static CUresult prepare(operands *out, tt__bench_pool *pool, const tt__timed *thing) {
    CUresult r = CUDA_SUCCESS;
    if (pool->strict && !is_apart(pool, thing))
        r = forget(pool, thing);
    else if (pool->renews && !is_apart(pool, thing))
        r = restore(pool, pool->slots.next, false);
    choose_operands(out, pool, thing);
    return r == CUDA_SUCCESS ? flush(pool) : r;
}

static CUresult launch(tt__bench_pool *pool, const tt__timed *thing, const operands *o) {
    return thing->enqueue ? thing->enqueue(thing->self, o->at, pool->stream)
                          : tt__kernel_launch(thing->kernel, pool->cu, thing->launch, o->at, pool->stream);
}

static bool has_graph(const tt__timed *thing) {
    return thing->graph && thing->graph->exec;
}

static CUresult enqueue(tt__bench_pool *pool, const tt__timed *thing, int i) {
    operands o;
    CUresult r = has_graph(thing) ? flush(pool) : prepare(&o, pool, thing);
    if (r == CUDA_SUCCESS)
        r = pool->cu->cuEventRecord(pool->events[2 * i], pool->stream);
    if (r == CUDA_SUCCESS)
        r = has_graph(thing) ? pool->cu->cuGraphLaunch(thing->graph->exec, pool->stream)
                             : launch(pool, thing, &o);
    if (r == CUDA_SUCCESS)
        r = pool->cu->cuEventRecord(pool->events[2 * i + 1], pool->stream);
    return r;
}

static int kernels_of(const tt__timed *thing) {
    int n = thing->enqueue ? thing->n_enqueued : 0;
    for (int i = 0; i < (thing->enqueue ? 0 : thing->launch->n_passes); i++)
        n += thing->launch->passes[i].off ? 0 : 1 + thing->launch->passes[i].repeats;
    return n;
}

/* Queue entries of one launch, or graph, in a train: its kernels, and the copies that restore its buffers. */
static int wagons(const tt__bench_pool *pool, const tt__timed *thing) {
    const tt__workload *w = &pool->verifier->work;
    int n = kernels_of(thing);
    if (has_graph(thing))
        return n * thing->graph->n;
    for (int i = 0; i < w->n && pool->renews && !is_apart(pool, thing); i++)
        n += w->arrays[i].direction == TT__INOUT;
    if (pool->strict) /* poison, results here and in the slot before, shared memory */
        n += 4 * w->n + 4 + (thing->variables ? (int)thing->variables->n : 0);
    return n;
}

/* All entries of these launches. */
static int queued(const tt__bench_pool *pool, const tt__timed *things, int n) {
    int all = 0;
    for (int i = 0; i < n; i++)
        all += wagons(pool, &things[i]) * (pool->warm && leads(pool, things, i) ? 2 : 1);
    return all;
}

/* The driver takes about 1,024 launches, then waits for one to end. If the stream waited for the gate, none
 * would. Loops of so many launches are long, so their first launch may come a moment late. */
enum { QUEUE_MAX = 512 };

static tt_status time_few(tt__bench_pool *pool, const tt__timed *things, int n, float *us, CUresult *failed) {
    const tt__driver *cu = pool->cu;
    const bool held = pool->gate && queued(pool, things, n) <= QUEUE_MAX;
    *failed = CUDA_SUCCESS;
    if (held) {
        *pool->gate = 0;
        TT_TRY(tt__cu_check(
            cu->cuStreamWaitValue32(pool->stream, pool->gate_device, 1, CU_STREAM_WAIT_VALUE_GEQ),
            "cuStreamWaitValue32"));
    }
    for (int i = 0; i < n && *failed == CUDA_SUCCESS; i++) {
        /* The timed launch overwrites the events of the untimed one. */
        if (pool->warm && leads(pool, things, i))
            *failed = enqueue(pool, &things[i], i);
        if (*failed == CUDA_SUCCESS)
            *failed = enqueue(pool, &things[i], i);
    }
    if (held)
        *pool->gate = 1;
    TT_TRY(tt__cu_check(cu->cuStreamSynchronize(pool->stream), "measuring"));
    for (int i = 0; i < n && *failed == CUDA_SUCCESS; i++) {
        float ms;
        TT_TRY(tt__cu_check(cu->cuEventElapsedTime(&ms, pool->events[2 * i], pool->events[2 * i + 1]),
                            "cuEventElapsedTime"));
        us[i] = ms * 1e3f / (float)(has_graph(&things[i]) ? things[i].graph->n : 1);
    }
    return TT_OK;
}

/* ---- Graphs -------------------------------------------------------------------------------------------- */

/* A graph takes about so long, but has no more launches than programs usually have. A launch that takes more
 * than half of that is timed by itself: a graph would only take longer. */
enum { GRAPH_MOST = 64 };
static const double graph_us = 2000;

static int launches_in_graph(double launch_us) {
    const double fit = graph_us / (launch_us + 1);
    return fit > GRAPH_MOST ? GRAPH_MOST : fit < 2 ? 1 : (int)fit;
}

double tt__sample_us(double launch_us, bool in_graph) {
    return launch_us * (in_graph ? launches_in_graph(launch_us) : 1);
}

void tt__launch_graph_free(tt__launch_graph *graph, const tt__driver *cu) {
    if (graph->exec)
        cu->cuGraphExecDestroy(graph->exec);
    *graph = (tt__launch_graph){0};
}

/* Ends the capture whatever happens, or the stream stays unusable. All graphs use the same slots, from the
 * first one on. */
static CUresult capture(tt__bench_pool *pool, const tt__timed *thing, int n, CUgraph *out) {
    const tt__driver *cu = pool->cu;
    operands o;
    pool->slots.next = pool->copies.next = 0;
    pool->stays = false;
    CUresult r = cu->cuStreamBeginCapture(pool->stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (r != CUDA_SUCCESS)
        return r;
    for (int i = 0; i < n && r == CUDA_SUCCESS; i++) {
        choose_operands(&o, pool, thing);
        r = launch(pool, thing, &o);
    }
    const CUresult ended = cu->cuStreamEndCapture(pool->stream, out);
    pool->slots.next = pool->copies.next = 0;
    return r == CUDA_SUCCESS ? ended : r;
}

/* The less of two times, because the first launch may take longer. */
static tt_status time_alone(tt__bench_pool *pool, const tt__timed *thing, CUresult *failed) {
    float again, *us = &thing->graph->alone_us;
    TT_TRY(time_few(pool, thing, 1, us, failed));
    if (*failed != CUDA_SUCCESS || launches_in_graph((double)*us) == 1)
        return TT_OK;
    TT_TRY(time_few(pool, thing, 1, &again, failed));
    *us = *failed == CUDA_SUCCESS && again < *us ? again : *us;
    return TT_OK;
}

/* Makes the graph of a thing, and uploads it, so that its first launch does not take longer. */
static tt_status make_graph(tt__bench_pool *pool, const tt__timed *thing, CUresult *failed) {
    const tt__driver *cu = pool->cu;
    CUgraph graph = NULL;
    *failed = capture(pool, thing, thing->graph->n, &graph);
    if (*failed == CUDA_SUCCESS)
        *failed = cu->cuGraphInstantiateWithFlags(&thing->graph->exec, graph, 0);
    if (graph)
        cu->cuGraphDestroy(graph);
    if (*failed == CUDA_SUCCESS)
        *failed = cu->cuGraphUpload(thing->graph->exec, pool->stream);
    return tt__cu_check(cu->cuStreamSynchronize(pool->stream), "a graph of launches");
}

/* What is compared has graphs of equally many launches, because each graph adds a fixed time. What takes
 * twice as long as the fastest has its own number: there that does not matter. All can be queued behind the
 * gate. */
static void choose_launches(const tt__timed *thing, bool warm, float least_us) {
    const float us = thing->graph->alone_us;
    const int kernels = kernels_of(thing);
    const int n = launches_in_graph((double)(us < 2 * least_us ? least_us : us)),
              fit = QUEUE_MAX / (warm ? 2 : 1) / (kernels > 0 ? kernels : 1);
    thing->graph->n = n <= fit ? n : fit > 1 ? fit : 1;
}

static tt_status make_graphs(tt__bench_pool *pool, const tt__timed *things, int n, CUresult *failed) {
    float least_us = FLT_MAX;
    for (int i = 0; i < n && pool->in_graph && *failed == CUDA_SUCCESS; i++) {
        tt__launch_graph *graph = things[i].graph;
        if (graph && !graph->n && !(graph->alone_us > 0))
            TT_TRY(time_alone(pool, &things[i], failed));
        if (graph && graph->alone_us < least_us)
            least_us = graph->alone_us;
    }
    for (int i = 0; i < n && pool->in_graph && *failed == CUDA_SUCCESS; i++) {
        tt__launch_graph *graph = things[i].graph;
        if (!graph || graph->n)
            continue;
        choose_launches(&things[i], pool->warm, least_us);
        if (graph->n > 1)
            TT_TRY(make_graph(pool, &things[i], failed));
    }
    return TT_OK;
}

/* The number of things to queue at once. Warm ones form a train. */
static int at_once(const tt__bench_pool *pool, const tt__timed *things, int n) {
    int i = 0, used = 0;
    if (!pool->warm)
        return 1;
    for (; i < n; i++) {
        used += wagons(pool, &things[i]) * (leads(pool, things, i) ? 2 : 1);
        if (i > 0 && used > TT__TRAIN_MAX)
            break;
    }
    return i;
}

tt_status tt__pool_time(tt__bench_pool *pool, const tt__timed *things, int n, bool together, float *us,
                        CUresult *failed) {
    *failed = CUDA_SUCCESS;
    TT_TRY(make_graphs(pool, things, n, failed));
    pool->stays = together && pool->slots.are_places;
    for (int i = 0, few; i < n && *failed == CUDA_SUCCESS; i += few) {
        few = at_once(pool, things + i, n - i);
        TT_TRY(time_few(pool, things + i, few, us + i, failed));
    }
    if (pool->stays)
        turn(&pool->slots);
    return TT_OK;
}

bool tt__pool_prepares(const tt__bench_pool *pool) {
    return pool->flush_bytes > 0 || pool->renews;
}

tt_status tt__pool_repeat(tt__bench_pool *pool, const tt__timed *thing, int n) {
    const tt__timed none = {.copy = false};
    CUresult r = CUDA_SUCCESS;
    pool->stays = false;
    for (int i = 0; i < n && r == CUDA_SUCCESS; i++) {
        const tt__timed *t = thing ? thing : &none;
        operands o;
        r = prepare(&o, pool, t);
        if (r == CUDA_SUCCESS && thing)
            r = launch(pool, t, &o);
    }
    return tt__cu_check(r, "a train of launches");
}

/* ---- What no array covers ---- */

/* Fills such words of several slots, or adds them up. Small slots are too many for a launch each. */
static CUresult launch_each(const tt__bench_pool *pool, bool fills, CUdeviceptr from, CUdeviceptr to,
                            size_t n_slots) {
    enum { ROWS_MAX = 1024, BLOCKS_MAX = 1024 };
    const tt__verifier *v = pool->verifier;
    long long n = (long long)(to - from) / 4, stride = (long long)pool->slots.stride / 4,
              slots = (long long)n_slots;
    unsigned seed = v->salt + 1;
    CUdeviceptr sum = v->findings;
    const unsigned rows = n_slots < ROWS_MAX ? (unsigned)n_slots : ROWS_MAX;
    const long long blocks = (n + 255) / 256;
    return pool->cu->cuLaunchKernel(
        fills ? v->fill_each : v->sum, blocks < BLOCKS_MAX ? (unsigned)blocks : BLOCKS_MAX, rows, 1, 256, 1,
        1, 0, pool->stream, (void *[]){&from, &n, &stride, &slots, &seed, &sum}, NULL);
}

/* Each piece of the slots that is in front of, between or after the arrays, and between slots, in whole
 * words. */
static CUresult each_gap(const tt__bench_pool *pool, bool fills) {
    const tt__workload *w = &pool->verifier->work;
    const tt__slots *slots = &pool->slots;
    const CUdeviceptr first = pool->base + pool->slots_at;
    CUdeviceptr from = first;
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; i <= w->n && r == CUDA_SUCCESS; i++) {
        if (i < w->n && !tt__array_is_buffer(&w->arrays[i]))
            continue;
        const CUdeviceptr to = i < w->n ? place(pool, 0, i, w->offset) : first + slots->bytes;
        from = (from + 3) / 4 * 4;
        if (to >= from + 4)
            r = launch_each(pool, fills, from, to, slots->n);
        if (i < w->n)
            from = to + (CUdeviceptr)tt__array_bytes(&w->arrays[i]);
    }
    if (r == CUDA_SUCCESS && slots->n > 1 && slots->stride > slots->bytes)
        r = launch_each(pool, fills, first + slots->bytes, first + slots->stride, slots->n - 1);
    return r;
}

/* An array whose length each configuration chooses may be written just beyond it. */
static bool has_gaps(const tt__bench_pool *pool) {
    const tt__workload *w = &pool->verifier->work;
    for (int i = 0; i < w->n; i++)
        if (w->arrays[i].by_config)
            return false;
    return pool->verifier->key != 0;
}

static tt_status sum_gaps(const tt__bench_pool *pool, uint64_t *sum) {
    const tt__driver *cu = pool->cu;
    CUdeviceptr at = pool->verifier->findings;
    TT_TRY(tt__cu_check(cu->cuMemsetD8Async(at, 0, sizeof *sum, pool->stream), "cuMemsetD8Async"));
    TT_TRY(tt__cu_check(each_gap(pool, false), "tt_sum"));
    TT_TRY(tt__cu_check(cu->cuStreamSynchronize(pool->stream), "tt_sum"));
    return tt__cu_check(cu->cuMemcpyDtoH(sum, at, sizeof *sum), "cuMemcpyDtoH");
}

tt_status tt__pool_guard(tt__bench_pool *pool) {
    if (!has_gaps(pool))
        return TT_OK;
    TT_TRY(tt__cu_check(each_gap(pool, true), "tt_fill_each"));
    return sum_gaps(pool, &pool->gaps);
}

tt_status tt__pool_guarded(const tt__bench_pool *pool, bool *kept) {
    uint64_t now = pool->gaps;
    if (has_gaps(pool))
        TT_TRY(sum_gaps(pool, &now));
    *kept = now == pool->gaps;
    return TT_OK;
}

tt_status tt__pool_strict(tt__bench_pool *pool, bool strict) {
    CUresult r = CUDA_SUCCESS;
    pool->strict = strict && !pool->warm && !pool->in_graph && pool->verifier->key;
    if (pool->strict)
        TT_TRY(tt__pool_guard(pool));
    if (pool->strict)
        r = tt__verify_poison(pool->verifier);
    for (size_t k = 0; k < pool->slots.n && r == CUDA_SUCCESS && pool->strict; k++)
        r = move_results(pool, k, pool->verifier->work.offset, false);
    return tt__cu_check(r, "preparing the arrays of strict launches");
}

tt_status tt__pool_verify(tt__bench_pool *pool, const tt__timed *thing, tt__trial *trial) {
    tt__verifier *v = pool->verifier;
    CUresult r = CUDA_SUCCESS;
    /* A graph begins with the first slot. In place, many launches do not leave what one does. */
    const bool as_graph = has_graph(thing) && !pool->in_place;
    if (as_graph)
        pool->slots.next = 0;
    const size_t slot = pool->slots.next;
    if (v->key) /* what an earlier kernel did to its inputs is not this one's fault */
        r = restore(pool, slot, true);
    if (r == CUDA_SUCCESS && !pool->strict)
        r = tt__verify_poison(v);
    if (r == CUDA_SUCCESS && !pool->strict)
        r = move_results(pool, slot, thing->offset, false);
    if (r == CUDA_SUCCESS && v->key && !pool->strict)
        r = tt__verify_soil(v);
    TT_TRY(tt__cu_check(r, "preparing a launch to verify"));
    if (as_graph)
        TT_TRY(tt__cu_check(pool->cu->cuGraphLaunch(thing->graph->exec, pool->stream), "cuGraphLaunch"));
    else
        TT_TRY(tt__pool_repeat(pool, thing, 1));
    r = pool->cu->cuStreamSynchronize(pool->stream);
    if (r == CUDA_SUCCESS)
        r = move_results(pool, slot, thing->offset, true);
    TT_TRY(tt__cu_check(r, "kernel"));
    TT_TRY(tt__verify_results(v, trial));
    if (v->key && trial->status != TT__TRIAL_OK)
        r = restore(pool, slot, true);
    return tt__cu_check(r, "restoring the inputs");
}

static int by_place(const void *a, const void *b) {
    const tt__variable_range *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Each range is copied before each launch, and a closed gate holds only so many copies. */
static void join_ranges(tt__variables *v) {
    enum { APART = 16 }; /* alignment */
    size_t n = 0;
    qsort(v->items, v->n, sizeof *v->items, by_place);
    for (size_t i = 0; i < v->n; i++) {
        tt__variable_range *last = n ? &v->items[n - 1] : NULL, now = v->items[i];
        if (!last || now.at > last->at + last->bytes + APART)
            v->items[n++] = now;
        else if (now.at + now.bytes > last->at + last->bytes)
            last->bytes = (size_t)(now.at - last->at) + now.bytes;
    }
    v->n = n;
}

tt_status tt__variables_keep(tt__variables *out, const tt__driver *cu, const tt__kernel *kernel,
                             const void *cubin, size_t n) {
    tt__cubin_variable found;
    size_t bytes = 0, most = 0, at = 0;
    tt_status status = TT_OK;
    *out = (tt__variables){0};
    while (tt__cubin_next_variable(&found, TT__CUBIN_GLOBALS, cubin, n, &at))
        most++;
    if (most == 0)
        return TT_OK;
    out->items = calloc(most, sizeof *out->items);
    if (!out->items)
        return tt__fail_memory(most * sizeof *out->items);
    for (at = 0; tt__cubin_next_variable(&found, TT__CUBIN_GLOBALS, cubin, n, &at);) {
        CUdeviceptr address;
        size_t size;
        if (cu->cuLibraryGetGlobal(&address, &size, kernel->library, found.name) != CUDA_SUCCESS)
            continue; /* the driver keeps it to itself */
        out->items[out->n++] = (tt__variable_range){.at = address, .bytes = size};
    }
    join_ranges(out);
    for (size_t i = 0; i < out->n; i++) {
        out->items[i].kept = bytes;
        bytes += round_up(out->items[i].bytes);
    }
    if (out->n)
        TT_GOTO(tt__cu_check(cu->cuMemAlloc(&out->kept, bytes), "cuMemAlloc (%zu bytes)", bytes));
    for (size_t i = 0; i < out->n; i++) {
        out->items[i].kept += out->kept;
        TT_GOTO(tt__cu_check(
            cu->cuMemcpyDtoDAsync(out->items[i].kept, out->items[i].at, out->items[i].bytes, NULL),
            "keeping variables"));
    }
    TT_GOTO(tt__cu_check(cu->cuCtxSynchronize(), "keeping variables"));
    return TT_OK;
out:
    tt__variables_free(out, cu);
    return status;
}

void tt__variables_free(tt__variables *v, const tt__driver *cu) {
    if (v->kept)
        cu->cuMemFree(v->kept);
    free(v->items);
    *v = (tt__variables){0};
}

/* Reads what `flush` writes. The L2 cache then holds nothing else, and nothing that memory lacks. */
static CUresult wash(tt__bench_pool *pool) {
    const long long n = (long long)(pool->flush_bytes / sizeof(uint32_t));
    /* The sum is cleared before it is used. */
    return tt__verify_add_words(pool->verifier, pool->base + pool->flush_at, n, 1, pool->verifier->findings);
}

tt_status tt__pool_launch(tt__bench_pool *pool, const tt__timed *thing, const tt__around *around) {
    operands o;
    bool renews = pool->renews && !is_apart(pool, thing);
    pool->slots.next = pool->copies.next = 0;
    choose_operands(&o, pool, thing);
    CUresult r = renews ? restore(pool, 0, false) : CUDA_SUCCESS;
    if (pool->warm && r == CUDA_SUCCESS)
        r = launch(pool, thing, &o);
    if (pool->warm && renews && r == CUDA_SUCCESS)
        r = restore(pool, 0, false);
    if (!pool->warm && r == CUDA_SUCCESS)
        r = wash(pool);
    TT_TRY(tt__cu_check(r, "preparing a launch to count"));
    TT_TRY(tt__cu_check(pool->cu->cuStreamSynchronize(pool->stream), "preparing a launch to count"));
    TT_TRY(around->begin(around->user));
    r = launch(pool, thing, &o);
    CUresult ended = pool->cu->cuStreamSynchronize(pool->stream);
    TT_TRY(around->end(around->user));
    return tt__cu_check(r == CUDA_SUCCESS ? ended : r, "a launch to count");
}
