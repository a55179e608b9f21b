/*
 * Threads that launch in batches. A batch is timed as a whole and awaited outside the time, so that the queue
 * of the device is never full and the clock costs nothing. The ways take turns, batch by batch, in every
 * thread at the same time, and each is compared with the raw launch of its round.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/dispatch.h"

enum { BATCH = 100 };

const char *const dispatch_way_names[DISPATCH_WAYS] = {"cuLaunchKernel", "tt_plan_launch", "tt_transpose",
                                                       "cublasSgeam"};

typedef struct worker {
    dispatch *d;
    pthread_barrier_t *together;
    int rounds;
    bool in[DISPATCH_WAYS];
    bench_variant geam;
    CUstream stream;
    CUdeviceptr src, dst;
    double *ns[DISPATCH_WAYS]; /* of a call, for each round */
    tt_status status;
    char error[256];
} worker;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* ---- A driver that does nothing ------------------------------------------------------------------------ */

static CUresult CUDAAPI no_launch(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                  unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                                  void **args, void **extra) {
    (void)fn, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared_bytes, (void)stream;
    (void)args, (void)extra;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI no_launch_ex(const CUlaunchConfig *config, CUfunction fn, void **args, void **extra) {
    (void)config, (void)fn, (void)args, (void)extra;
    return CUDA_SUCCESS;
}

static unsigned long long fixed_id;

static CUresult CUDAAPI no_id(CUcontext context, unsigned long long *id) {
    (void)context;
    *id = fixed_id;
    return CUDA_SUCCESS;
}

/* Replaces driver functions by empty ones. The table is the library's own, in writable memory, and no other
 * thread uses it. */
static void empty_driver(dispatch *d, tt__driver *kept) {
    tt__driver *table = (tt__driver *)(uintptr_t)d->cu;
    *kept = *table;
    kept->cuCtxGetId(NULL, &fixed_id);
    table->cuLaunchKernel = no_launch;
    table->cuLaunchKernelEx = no_launch_ex;
    table->cuCtxGetId = no_id;
}

static void restore_driver(dispatch *d, const tt__driver *kept) {
    *(tt__driver *)(uintptr_t)d->cu = *kept;
}

/* ---- One thread ---------------------------------------------------------------------------------------- */

static tt_status launch_raw(worker *w, int n) {
    const tt_plan *plan = w->d->plan;
    const tt__launch *launch = &plan->launch;
    const tt__pass *l = &launch->passes[0];
    const tt__driver *cu = w->d->cu;
    void *operands[] = {&w->src, &w->dst};
    tt__arg_value values[TT__ARGS_MAX];
    void *args[TT__ARGS_MAX];
    memcpy(values, plan->constants, sizeof values);
    for (int i = 0; i < l->n_args; i++)
        args[i] = launch->args[i].by_value                ? (void *)&launch->args[launch->args[i].i]
                  : launch->args[i].type == TT__TYPE_NONE ? operands[launch->args[i].operand]
                                                          : (void *)&values[i];
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; i < n && r == CUDA_SUCCESS; i++)
        r = tt__pass_launch(l, cu, plan->kernel.fns[0], args, w->stream);
    return tt__cu_check(r, "cuLaunchKernel");
}

static tt_status launch_plan(worker *w, int n) {
    for (int i = 0; i < n; i++)
        TT_TRY(tt_plan_launch(w->d->plan, w->dst, w->src, w->stream));
    return TT_OK;
}

static tt_status transpose(worker *w, int n) {
    for (int i = 0; i < n; i++)
        TT_TRY(tt_transpose(w->d->ctx, &w->d->problem, w->dst, w->src, w->stream));
    return TT_OK;
}

static tt_status geam(worker *w, int n) {
    for (int i = 0; i < n; i++)
        TT_TRY(w->geam.launch(w->geam.self, w->dst, w->src, w->stream));
    return TT_OK;
}

static tt_status measure(worker *w) {
    static tt_status (*const ways[DISPATCH_WAYS])(worker *, int) = {launch_raw, launch_plan, transpose, geam};
    for (int round = -1; round < w->rounds; round++) /* the first warms up */
        for (int k = 0; k < DISPATCH_WAYS; k++) {
            int way = (k + round + 1) % DISPATCH_WAYS;
            if (!w->in[way])
                continue;
            pthread_barrier_wait(w->together);
            double before = now_ns();
            tt_status status = w->status == TT_OK ? ways[way](w, BATCH) : TT_OK;
            if (round >= 0)
                w->ns[way][round] = (now_ns() - before) / BATCH;
            if (status == TT_OK)
                status = tt__cu_check(w->d->cu->cuStreamSynchronize(w->stream), "cuStreamSynchronize");
            if (status != TT_OK && w->status == TT_OK) { /* it goes on to meet the others at the barrier */
                w->status = status;
                tt__copy(w->error, sizeof w->error, tt_last_error());
            }
        }
    return TT_OK;
}

static void *run(void *arg) {
    worker *w = arg;
    w->d->cu->cuCtxSetCurrent(w->d->context);
    measure(w);
    return NULL;
}

/* ---- Threads that ask for new shapes ------------------------------------------------------------------- */

typedef struct asking {
    worker w;
    pthread_t id;
    const atomic_bool *stop;
    int64_t first, step;
    int asked;
} asking;

static void *ask(void *arg) {
    asking *a = arg;
    const struct timespec pause = {.tv_nsec = 1000000};
    tt_problem problem = a->w.d->problem;
    const int64_t size = problem.rows;
    a->w.d->cu->cuCtxSetCurrent(a->w.d->context);
    for (int64_t k = a->first; a->w.status == TT_OK && !atomic_load(a->stop); k += a->step) {
        problem.rows = 1 + k * 40503 / size % size;
        problem.cols = 1 + k * 40503 % size;
        a->w.status = tt_transpose(a->w.d->ctx, &problem, a->w.dst, a->w.src, a->w.stream);
        if (a->w.status == TT_OK)
            a->w.status = tt__cu_check(a->w.d->cu->cuStreamSynchronize(a->w.stream), "cuStreamSynchronize");
        if (a->w.status != TT_OK)
            tt__copy(a->w.error, sizeof a->w.error, tt_last_error());
        a->asked++;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- All of them --------------------------------------------------------------------------------------- */

static tt_status open_worker(worker *w, dispatch *d) {
    size_t bytes = (size_t)d->problem.rows * (size_t)d->problem.cols * 4;
    for (int way = 0; way < DISPATCH_WAYS; way++)
        if (w->in[way] && !(w->ns[way] = calloc((size_t)w->rounds, sizeof(double))))
            return tt__fail_memory((size_t)w->rounds * sizeof(double));
    TT_TRY(tt__cu_check(d->cu->cuMemAlloc(&w->src, bytes), "cuMemAlloc"));
    TT_TRY(tt__cu_check(d->cu->cuMemAlloc(&w->dst, bytes), "cuMemAlloc"));
    return w->stream
               ? TT_OK
               : tt__cu_check(d->cu->cuStreamCreate(&w->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

static void close_worker(worker *w, const dispatch *d, bool own_stream) {
    if (w->src)
        d->cu->cuMemFree(w->src);
    if (w->dst)
        d->cu->cuMemFree(w->dst);
    if (w->stream && own_stream)
        d->cu->cuStreamDestroy(w->stream);
    for (int way = 0; way < DISPATCH_WAYS; way++)
        free(w->ns[way]);
}

static double quantile(double *values, size_t n, double q) {
    qsort(values, n, sizeof *values, tt__by_number);
    return values[(size_t)(q * (double)(n - 1))];
}

static tt_status summarise(const worker *workers, int threads, dispatch_cost *costs) {
    size_t rounds = (size_t)workers->rounds, n = rounds * (size_t)threads;
    double *all = malloc(n * sizeof *all);
    if (!all)
        return tt__fail_memory(n * sizeof *all);
    for (int way = 0; way < DISPATCH_WAYS; way++) {
        costs[way] = (dispatch_cost){.in = workers->in[way]};
        if (!costs[way].in)
            continue;
        for (size_t i = 0; i < n; i++)
            all[i] =
                workers[i / rounds].ns[way][i % rounds] - workers[i / rounds].ns[DISPATCH_RAW][i % rounds];
        costs[way].over = quantile(all, n, 0.5);
        for (size_t i = 0; i < n; i++)
            all[i] = workers[i / rounds].ns[way][i % rounds];
        costs[way].median = quantile(all, n, 0.5);
        costs[way].p10 = quantile(all, n, 0.1);
        costs[way].p90 = quantile(all, n, 0.9);
    }
    free(all);
    return TT_OK;
}

static tt_status launch_all(worker *workers, int threads) {
    pthread_t ids[256];
    pthread_barrier_t together;
    int n = 0;
    tt_status status = TT_OK;
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (; n < threads; n++) {
        workers[n].together = &together;
        if (pthread_create(&ids[n], NULL, run, &workers[n]) != 0) {
            fprintf(stderr, "bench-dispatch: thread %d of %d cannot be started\n", n + 1, threads);
            exit(1); /* those that run wait for it */
        }
    }
    for (int i = 0; i < n; i++)
        pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&together);
    for (int i = 0; i < n && status == TT_OK; i++)
        if (workers[i].status != TT_OK)
            status = tt__fail(workers[i].status, "%s", workers[i].error);
    return status;
}

/* With others that ask beside them. */
static tt_status run_all(dispatch *d, worker *workers, int threads) {
    asking others[ASKING_MAX] = {0};
    atomic_bool stop = false;
    int n = 0, wanted = threads > 1 ? d->options->asking : 0;
    tt_status status = TT_OK;
    for (; n < wanted && status == TT_OK; n++) {
        others[n] = (asking){.w.d = d, .stop = &stop, .first = d->asked + n, .step = wanted};
        status = open_worker(&others[n].w, d);
        if (status == TT_OK && pthread_create(&others[n].id, NULL, ask, &others[n]) != 0) {
            fprintf(stderr, "bench-dispatch: a thread that asks cannot be started\n");
            exit(1);
        }
    }
    if (status == TT_OK)
        status = launch_all(workers, threads);
    atomic_store(&stop, true);
    for (int i = 0; i < n; i++) {
        if (others[i].id)
            pthread_join(others[i].id, NULL);
        d->asked += others[i].asked;
        if (status == TT_OK && others[i].w.status != TT_OK)
            status = tt__fail(others[i].w.status, "%s", others[i].w.error);
        close_worker(&others[i].w, d, true);
    }
    return status;
}

/* Geam is bound to a stream; it is the worker's then. */
static void open_geam(dispatch *d, bench *b, bench_peer *peer, worker *w) {
    bench_case c = {.public = d->problem};
    b->cu = d->cu;
    if (bench_matrix(&c.problem, &c.public) != TT_OK ||
        d->cu->cuStreamCreate(&b->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return;
    w->stream = b->stream;
    if (bench_geam_open(peer, b, &c) == TT_OK && peer->n) {
        w->in[DISPATCH_GEAM] = true;
        w->geam = peer->variants[0];
        tt__copy(d->cublas, sizeof d->cublas, b->cublas);
    } else {
        tt__copy(d->cublas, sizeof d->cublas, tt_last_error());
    }
}

tt_status dispatch_calls(dispatch *d, int threads, bool empty, dispatch_cost costs[DISPATCH_WAYS]) {
    bench_options options = {.cublas = d->options->cublas};
    bench b = {.options = &options};
    bench_peer peer = {.id = BENCH_GEAM};
    tt__driver kept;
    worker *workers = calloc((size_t)threads, sizeof *workers);
    if (!workers)
        return tt__fail_memory((size_t)threads * sizeof *workers);
    tt_status status = TT_OK;
    for (int i = 0; i < threads; i++) {
        workers[i].d = d;
        workers[i].rounds = d->options->calls / BATCH > 1 ? d->options->calls / BATCH : 1;
        workers[i].in[DISPATCH_RAW] = workers[i].in[DISPATCH_PLAN] = workers[i].in[DISPATCH_TRANSPOSE] = true;
    }
    if (threads == 1 && !empty)
        open_geam(d, &b, &peer, workers);
    for (int i = 0; i < threads && status == TT_OK; i++)
        status = open_worker(&workers[i], d);
    if (empty)
        empty_driver(d, &kept);
    if (status == TT_OK)
        status = run_all(d, workers, threads);
    if (empty)
        restore_driver(d, &kept);
    if (status == TT_OK)
        status = summarise(workers, threads, costs);
    bench_peer_close(&peer);
    if (b.stream)
        bench_libraries_close();
    for (int i = 0; i < threads; i++)
        close_worker(&workers[i], d, true);
    free(workers);
    return status;
}
