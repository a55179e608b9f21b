/*
 * The GPU worker is the only process that uses the device during a run. It holds the arrays of one problem,
 * and loads, verifies and times configurations. If the CUDA context is lost, it reports the trial and exits,
 * and the tuner starts another worker.
 */
#include "tuner/worker/gpu_worker.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "gpu/device.h"
#include "gpu/nvml.h"
#include "gpu/nvtx.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/measure/noise.h"
#include "tuner/measure/verify.h"
#include "tuner/worker/gpu_finals.h"

enum { SCREEN_FIRST = 4, SCREEN_MORE = 4 };

/* `tight`: sampling stops when half the median's interval is at most this fraction of it. A configuration
 * that cannot reach the finals needs less: the cutoff is 1.25 times the best, the limit of the finals
 * 1.06. `best_yet` has room for rounding: one as fast as the best counts as it. */
static const double tight = 0.01, finals_reach = 1.06 / 1.25, best_yet = 1.0001 / 1.25;

/* From steady_us on, the first samples are enough if they agree; from TT__LONG_US on, three are. If the
 * cutoff is that long, the launch that verifies is the only sample of a configuration `far` from the finals.
 */
static const double steady_us = 100, far = 1.15 / 1.25;
enum { SCREEN_LONG = 3 };

/* Longer ones would need too much of their time limit for one more launch. */
static const double brief_us = 50e3;

static const double settle_s = 0.002;

/* Runs in its own thread: CUDA takes 100 ms to start, and NVML 20. A failure shows in the next reply. */
static void *greet(void *ordinal) {
    tt__msg_hello hello = {0};
    tt__nvml_name(hello.gpu_name, sizeof hello.gpu_name, *(const int *)ordinal);
    tt__wire_reply(TT__MSG_HELLO, &(struct iovec){&hello, sizeof hello}, 1);
    return NULL;
}

/* Says hello, starts CUDA, and describes the GPU when asked. */
static tt_status describe(tt__gpu_state *g, tt__str *request) {
    tt__msg_described reply = {0};
    double joules;
    uint32_t type;
    pthread_t greeting;
    bool aside = pthread_create(&greeting, NULL, greet, &g->ordinal) == 0;
    if (!aside)
        greet(&g->ordinal);
    tt_status status = tt__device_gpu(&g->gpu, g->ordinal);
    if (aside)
        pthread_join(greeting, NULL);
    tt__fill_done(&reply.done, status);
    if (status == TT_OK) {
        reply.gpu = g->gpu;
        tt__driver_version(reply.driver, sizeof reply.driver);
        tt__driver_cuda_version(&reply.cuda_version);
        tt__driver_open(&g->cu);
        reply.counts_energy = !*g->gpu.mig && tt__nvml_joules(g->ordinal, &joules);
    }
    TT_TRY(tt__wire_recv(TT__WIRE_FD, &type, request));
    if (type != TT__MSG_DESCRIBE)
        return tt__fail(TT_E_INTERNAL, "message of type %u", type);
    TT_TRY(tt__wire_reply(TT__MSG_DESCRIBED, &(struct iovec){&reply, sizeof reply}, 1));
    return status;
}

static tt_status make_context(tt__gpu_state *g) {
    CUdevice dev;
    TT_TRY(tt__cu_check(g->cu->cuDeviceGet(&dev, g->ordinal), "cuDeviceGet (%d)", g->ordinal));
    if (!g->context) /* the stream may have failed before */
        TT_TRY(tt__cu_check(g->cu->cuDevicePrimaryCtxRetain(&g->context, dev), "cuDevicePrimaryCtxRetain"));
    TT_TRY(tt__cu_check(g->cu->cuCtxSetCurrent(g->context), "cuCtxSetCurrent"));
    return tt__cu_check(g->cu->cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

static tt_status open_context(tt__gpu_state *g) {
    if (g->stream)
        return TT_OK;
    g->context_begin_s = tt__now_s();
    tt_status status = make_context(g);
    g->context_end_s = tt__now_s();
    return status;
}

static void close_problem(tt__gpu_state *g) {
    tt__pool_close(&g->pool);
    tt__verifier_close(&g->verifier);
    if (g->has_second)
        tt__verifier_close(&g->second);
    g->open = g->has_second = false;
}

/* Is there room, and for a second set of data? */
static tt_status check_memory(tt__gpu_state *g, const tt__problem *p, const tt__workload *w) {
    size_t available, total;
    char text[TT__PROBLEM_TEXT_MAX];
    const int64_t verify_bytes = tt__verify_bytes(w), needed = verify_bytes + tt__pool_bytes(w, &g->gpu);
    TT_TRY(tt__cu_check(g->cu->cuMemGetInfo(&available, &total), "cuMemGetInfo"));
    g->has_second = needed + verify_bytes <= (int64_t)available;
    if (needed <= (int64_t)available)
        return TT_OK;
    return tt__fail(
        TT_E_NO_MEMORY, "%s needs %.2f GB of device memory to verify and measure; %.2f of %.2f GB are free",
        tt__problem_text(text, p), (double)needed * 1e-9, (double)available * 1e-9, (double)total * 1e-9);
}

/* An idle GPU needs some milliseconds of work until its clocks are up. */
static tt_status settle(tt__gpu_state *g) {
    enum { TURNS = 20 };
    for (int i = 0; i < TURNS && !tt__gpu_clocks_settled(&g->clocks); i++)
        for (double begin_s = tt__now_s(); tt__now_s() < begin_s + settle_s;)
            TT_TRY(tt__pool_fill(&g->pool));
    return TT_OK;
}

static tt_status open_problem(tt__gpu_state *g, const tt__str *request) {
    size_t at = 0;
    const tt__msg_problem *m = tt__wire_take(request, &at, sizeof *m);
    const void *checkers[TT__CHECKER_PARTS];
    for (int i = 0; m && i < TT__CHECKER_PARTS; i++)
        if (!(checkers[i] = tt__wire_take(request, &at, m->checker_sizes[i])))
            return TT_E_IO;
    const void *reference = m ? tt__wire_take(request, &at, m->reference_size) : NULL;
    if (!reference)
        return TT_E_IO;
    TT_TRY(open_context(g));
    /* What the reference was seen to do for a problem is known of it for the neighbours. */
    const bool whole = g->open && g->verifier.whole && strcmp(g->verifier.problem.text, m->problem.text) == 0;
    if (g->open)
        close_problem(g);
    g->key[0] = '\0'; /* a loaded kernel has the constants of another problem */
    reference = m->reference_size ? reference : NULL;
    TT_TRY(check_memory(g, &m->problem, &m->work));
    g->judge.len = 0;
    if (m->work.verify_apart)
        tt__str_addn(&g->judge, reference, m->reference_size);
    TT_TRY(tt__str_check(&g->judge));
    tt_status status =
        tt__verifier_open(&g->verifier, g->cu, g->stream, &m->problem, &m->work, TT__FIRST_DATA,
                          m->fresh_data, whole, checkers, reference, m->reference_size);
    if (status == TT_OK && g->has_second)
        status = tt__verifier_open(&g->second, g->cu, g->stream, &m->problem, &m->work, TT__SECOND_DATA,
                                   m->fresh_data, g->verifier.whole, checkers, reference, m->reference_size);
    if (status == TT_OK)
        status = tt__pool_open(&g->pool, &g->verifier, &g->gpu);
    if (status == TT_OK)
        status = tt__pool_fill(&g->pool);
    if (status == TT_OK)
        status = settle(g);
    g->open = status == TT_OK;
    if (!g->open)
        close_problem(g);
    return status;
}

/* A refused launch or load is the trial's result. A lost context is returned as a failure. */
static void refuse(tt__trial *trial, tt__trial_status status) {
    trial->status = status;
    tt__copy(trial->reason, sizeof trial->reason, tt_last_error());
}

tt_status tt__gpu_time_steadily(tt__gpu_state *g, const tt__timed *things, int n, bool together, float *us,
                                CUresult *failed) {
    enum { TRIES = 3 };
    for (int i = 1;; i++) {
        TT_TRY(tt__pool_time(&g->pool, things, n, together, us, failed));
        if (*failed != CUDA_SUCCESS || tt__gpu_clocks_steady(&g->clocks) || i == TRIES)
            return TT_OK;
        tt__gpu_clocks_recover(&g->clocks);
    }
}

static tt__timed of_trial(tt__gpu_state *g, const tt__kernel *kernel, const tt__msg_trial *m) {
    tt__timed thing = tt__gpu_timed(kernel, m);
    thing.graph = &g->graph;
    return thing;
}

static tt_status take_samples(tt__gpu_state *g, const tt__kernel *kernel, const tt__msg_trial *m, int n,
                              tt__trial *trial) {
    tt__timed things[TT__SCREEN_MAX];
    CUresult failed;
    for (int i = 0; i < n; i++)
        things[i] = of_trial(g, kernel, m);
    TT_TRY(tt__gpu_time_steadily(g, things, n, false, trial->samples_us + trial->n_samples, &failed));
    if (failed != CUDA_SUCCESS) {
        tt__cu_check(failed, "launch");
        refuse(trial, TT__TRIAL_LAUNCH_ERROR);
        return TT_OK;
    }
    trial->n_samples += n;
    trial->time_us = tt__round_us(tt__median(trial->samples_us, (size_t)trial->n_samples));
    return TT_OK;
}

static bool agree(const tt__trial *trial) {
    return tt__relative_spread(trial->samples_us, (size_t)trial->n_samples) <= tight;
}

/* Is it right so far, and may it reach the finals? */
static bool in_reach(const tt__msg_trial *m, const tt__trial *trial) {
    return trial->status == TT__TRIAL_OK &&
           (m->cutoff_us <= 0 || trial->time_us <= finals_reach * m->cutoff_us);
}

static bool needs_more(const tt__msg_trial *m, const tt__trial *trial) {
    return trial->n_samples + SCREEN_MORE <= TT__SCREEN_MAX && in_reach(m, trial) && !agree(trial);
}

/* One run of a kernel that is verified. */
typedef enum run { ON_FIRST_DATA, ON_SECOND_DATA, AS_TIMED } run;

static tt_status launch_and_compare(tt__gpu_state *g, run run, tt__verifier *v, const tt__msg_trial *m,
                                    const tt__kernel *kernel, tt__trial *trial, double *launch_us) {
    const tt__timed thing = of_trial(g, kernel, m);
    const tt__launch *judge = m->checks.verify.n_passes ? &m->checks.verify : NULL;
    if (judge && run == ON_FIRST_DATA)
        TT_TRY(tt__verify_refuses(v, &g->verify, judge, trial));
    if (trial->status == TT__TRIAL_OK)
        TT_TRY(run == AS_TIMED ? tt__pool_verify(&g->pool, &thing, trial)
                               : tt__verify(v, kernel, &m->launch, trial, launch_us));
    return judge && trial->status == TT__TRIAL_OK ? tt__verify_error(v, &g->verify, judge, trial) : TT_OK;
}

/* Gives the arrays the lengths of this configuration, while the largest are timed. */
static void set_lengths(tt__verifier *v, const tt__msg_trial *m, int64_t largest[TT__OPERANDS_MAX]) {
    for (int i = 0; i < v->work.n; i++) {
        largest[i] = v->work.arrays[i].count;
        if (m->checks.counts[i])
            v->work.arrays[i].count = m->checks.counts[i];
    }
}

static void reset_lengths(tt__verifier *v, const int64_t largest[TT__OPERANDS_MAX]) {
    for (int i = 0; i < v->work.n; i++)
        v->work.arrays[i].count = largest[i];
}

/* A reference that writes what it must not is the trial's failure. */
static tt_status verify(tt__gpu_state *g, run run, const tt__msg_trial *m, const tt__kernel *kernel,
                        tt__trial *trial, double *launch_us) {
    tt__verifier *v = run == ON_SECOND_DATA && g->has_second ? &g->second : &g->verifier;
    tt__verifier *other = v == &g->second ? &g->verifier : &g->second;
    int64_t largest[TT__OPERANDS_MAX];
    tt_status status = TT_OK;
    set_lengths(v, m, largest);
    if (m->checks.reference.n_passes && run != AS_TIMED)
        status = tt__verifier_reference(v, &g->reference, &m->checks.reference);
    if (status != TT_OK && status != TT_E_CUDA) {
        refuse(trial, TT__TRIAL_LAUNCH_ERROR);
        status = TT_OK;
    } else if (status == TT_OK) {
        status = launch_and_compare(g, run, v, m, kernel, trial, launch_us);
    }
    reset_lengths(v, largest);
    return status == TT_OK && trial->status == TT__TRIAL_WRONG_RESULT && g->has_second
               ? tt__verify_kept(other, trial->reason)
               : status;
}

/* Screens briefly, and takes more samples only if the configuration may still win. */
static tt_status screen(tt__gpu_state *g, const tt__msg_trial *m, const tt__kernel *kernel,
                        tt__trial *trial) {
    const bool short_best = m->cutoff_us > 0 && m->cutoff_us < TT__LONG_US;
    TT_TRY(take_samples(g, kernel, m, short_best ? SCREEN_FIRST : 1, trial));
    if (trial->status != TT__TRIAL_OK || (m->cutoff_us > 0 && trial->time_us > m->cutoff_us))
        return TT_OK;
    if (!short_best)
        TT_TRY(take_samples(g, kernel, m, (trial->time_us < TT__LONG_US ? SCREEN_FIRST : SCREEN_LONG) - 1,
                            trial));
    if (trial->status != TT__TRIAL_OK || (trial->time_us >= steady_us && agree(trial)))
        return TT_OK;
    do {
        TT_TRY(take_samples(g, kernel, m, SCREEN_MORE, trial));
    } while (needs_more(m, trial));
    return TT_OK;
}

/* Gives a kernel, and those that verify it, the constants of a set of data. */
static tt_status use_constants(tt__gpu_state *g, const tt__verifier *v, const tt__kernel *kernel) {
    const tt__kernel *kernels[] = {kernel, &g->reference, &g->verify};
    for (int i = 0; i < 3; i++)
        if (kernels[i]->library)
            TT_TRY(tt__verifier_constants(v, kernels[i]));
    return TT_OK;
}

static void explain_later(tt__trial *trial, const char *what) {
    char why[TT__REASON_MAX];
    tt__copy(why, sizeof why, trial->reason);
    tt__format(trial->reason, sizeof trial->reason, "right at first, but wrong %s: %s", what, why);
}

/* A kernel may know that it is timed, by the memory around its arrays. */
static tt_status verify_as_timed(tt__gpu_state *g, const tt__msg_trial *m, const tt__kernel *kernel,
                                 tt__trial *trial) {
    if (trial->time_us >= brief_us)
        return TT_OK;
    TT_TRY(verify(g, AS_TIMED, m, kernel, trial, NULL));
    if (trial->status != TT__TRIAL_OK)
        explain_later(trial, "where it is timed");
    return TT_OK;
}

/* It may keep state, such as a counter that is 0 at the first launch only, or what it was asked before: the
 * second data are other ones, at other addresses. */
tt_status tt__gpu_verify_again(tt__gpu_state *g, const tt__msg_trial *m, const tt__kernel *kernel,
                               tt__trial *trial) {
    TT_TRY(verify_as_timed(g, m, kernel, trial));
    if (trial->status != TT__TRIAL_OK || trial->time_us >= brief_us)
        return TT_OK;
    if (g->has_second)
        TT_TRY(use_constants(g, &g->second, kernel));
    TT_TRY(verify(g, ON_SECOND_DATA, m, kernel, trial, NULL));
    if (g->has_second)
        TT_TRY(use_constants(g, &g->verifier, kernel));
    if (trial->status != TT__TRIAL_OK)
        explain_later(trial, g->has_second ? "with other data at other addresses" : "later");
    return TT_OK;
}

/* Are there results of which several are right? Then two launches may differ, which same bits must know. */
static bool has_bits(const tt__verifier *v) {
    for (int i = 0; i < v->work.n; i++)
        if (tt__verify_has_bits(v, i))
            return true;
    return false;
}

/* The best so far is verified again at once: with it, others are compared. So is one whose results nothing
 * but its own kernels can verify. The finals verify again who else enters them. */
static bool is_verified_again(const tt__gpu_state *g, const tt__msg_trial *m, const tt__trial *trial) {
    return trial->status == TT__TRIAL_OK && (m->cutoff_us <= 0 || trial->time_us <= best_yet * m->cutoff_us ||
                                             (tt__gpu_has_own_check(g) && in_reach(m, trial)));
}

static tt_status measure(tt__gpu_state *g, const tt__msg_trial *m, const tt__kernel *kernel,
                         tt__trial *trial) {
    double launch_us = 0;
    const bool long_best = m->cutoff_us >= TT__LONG_US;
    TT_TRY(verify(g, ON_FIRST_DATA, m, kernel, trial, long_best ? &launch_us : NULL));
    g->times.verified_s = tt__now_s();
    if (trial->status != TT__TRIAL_OK)
        return TT_OK;
    if (long_best && launch_us > far * m->cutoff_us) {
        trial->samples_us[trial->n_samples++] = (float)launch_us;
        trial->time_us = tt__round_us(launch_us);
        return TT_OK;
    }
    TT_TRY(screen(g, m, kernel, trial));
    if (is_verified_again(g, m, trial))
        return tt__gpu_verify_again(g, m, kernel, trial);
    return in_reach(m, trial) && has_bits(&g->verifier) ? verify_as_timed(g, m, kernel, trial) : TT_OK;
}

/* Loads a kernel that verifies this configuration. It is a library of its own, with its own constants. */
static tt_status load_check(tt__gpu_state *g, tt__kernel *out, const void *cubin, size_t n,
                            const tt__symbols *symbols, const tt__launch *launch) {
    if (!launch->n_passes)
        return TT_OK;
    TT_TRY(tt__kernel_load(out, g->cu, cubin, n, symbols, launch));
    return tt__verifier_constants(&g->verifier, out);
}

/* The kernel of a trial. If only launch parameters changed, it is the last one. */
static tt_status load(tt__gpu_state *g, const tt__msg_trial *m, const void *cubin) {
    const tt__workload *w = &g->verifier.work;
    if (g->key[0] && strcmp(g->key, m->key) == 0) {
        if (m->checks.reference.n_passes)
            TT_TRY(tt__kernel_allow(&g->reference, g->cu, &w->reference, &m->checks.reference));
        if (m->checks.verify.n_passes)
            TT_TRY(tt__kernel_allow(&g->verify, g->cu, &w->verify, &m->checks.verify));
        return tt__kernel_allow(&g->kernel, g->cu, &m->symbols, &m->launch);
    }
    tt__kernel_unload(&g->kernel, g->cu);
    tt__kernel_unload(&g->reference, g->cu);
    tt__kernel_unload(&g->verify, g->cu);
    g->key[0] = '\0';
    TT_TRY(load_check(g, &g->reference, cubin, m->cubin_size, &w->reference, &m->checks.reference));
    TT_TRY(load_check(g, &g->verify, w->verify_apart ? g->judge.text : cubin,
                      w->verify_apart ? g->judge.len : m->cubin_size, &w->verify, &m->checks.verify));
    TT_TRY(tt__kernel_load(&g->kernel, g->cu, cubin, m->cubin_size, &m->symbols, &m->launch));
    TT_TRY(tt__verifier_constants(&g->verifier, &g->kernel));
    tt__copy(g->key, sizeof g->key, m->key);
    return TT_OK;
}

/* Fails only if this process is no longer usable. */
static tt_status try_one(tt__gpu_state *g, const tt__msg_trial *m, const void *cubin, tt__trial *trial) {
    *trial = (tt__trial){0};
    if (!g->open)
        return tt__fail(TT_E_INTERNAL, "a trial without a problem");
    if (load(g, m, cubin) != TT_OK) {
        refuse(trial, TT__TRIAL_LAUNCH_ERROR);
        return g->cu->cuCtxSynchronize() == CUDA_SUCCESS ? TT_OK : TT_E_CUDA;
    }
    g->times.loaded_s = g->times.verified_s = tt__now_s();
    trial->regs = g->kernel.regs;
    trial->static_shared_bytes = g->kernel.static_shared_bytes;
    tt_status status = measure(g, m, &g->kernel, trial);
    tt__launch_graph_free(&g->graph, g->cu);
    if (status != TT_OK)
        refuse(trial, TT__TRIAL_CRASHED);
    if (trial->status != TT__TRIAL_OK) {
        trial->n_samples = 0;
        trial->time_us = 0;
    }
    return status;
}

/* ---- Counting: one launch is repeated until all counters were read ---------------------------- */

/* In the environment of a profiler that brings counters of its own, as ncu does, each configuration runs
 * once, between cuProfilerStart and cuProfilerStop (bench/counters_ncu.py). */
static tt_status begin_profile(void *user) {
    const tt__driver *cu = ((tt__bench_pool *)user)->cu;
    return cu->cuProfilerStart ? tt__cu_check(cu->cuProfilerStart(), "cuProfilerStart") : TT_OK;
}

static tt_status end_profile(void *user) {
    const tt__driver *cu = ((tt__bench_pool *)user)->cu;
    return cu->cuProfilerStop ? tt__cu_check(cu->cuProfilerStop(), "cuProfilerStop") : TT_OK;
}

typedef struct counted {
    tt__bench_pool *pool;
    const tt__timed *thing;
} counted;

static tt_status launch_counted(void *user, tt_status (*begin)(void *), tt_status (*end)(void *),
                                void *range) {
    const counted *c = user;
    return tt__pool_launch(c->pool, c->thing, &(tt__around){begin, end, range});
}

static tt_status read_counters(tt__counted *out, tt__counting *c, tt__bench_pool *pool,
                               const tt__timed *thing) {
    enum { REPLAYS_MAX = 200 };
    CUcontext context = NULL;
    if (secure_getenv("TILETUNE_PROFILED"))
        return tt__pool_launch(pool, thing, &(tt__around){begin_profile, end_profile, pool});
    TT_TRY(tt__cu_check(pool->cu->cuCtxGetCurrent(&context), "cuCtxGetCurrent"));
    if (!c->cupti)
        TT_TRY(tt__cupti_open(&c->cupti, context, c->ordinal, tt__counter_metrics(), TT__COUNTER_COUNT));
    return tt__cupti_count(c->cupti, out->values, &out->n_replays, REPLAYS_MAX, launch_counted,
                           &(counted){pool, thing});
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

/* Counters that are not to be had are no failure. */
static tt_status count_launch(tt__counted *out, tt__counting *c, tt__bench_pool *pool,
                              const tt__timed *thing) {
    *out = (tt__counted){.local_bytes = local_bytes(pool->cu, thing->kernel)};
    for (int i = 0; i < TT__COUNTER_COUNT; i++)
        out->values[i] = (double)NAN;
    tt_status status = *c->why ? TT_OK : read_counters(out, c, pool, thing);
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

/* ---- Peaks ------------------------------------------------------------------------------------ */

/* Each kernel of verify.cu fills all SMs with warps that only multiply and add, or only read what the L2
 * cache holds. The best of a few launches counts. */
enum {
    PEAK_THREADS = 256,
    BLOCKS_PER_SM = 8,
    NUMBERS = 8,
    TURNS = 16,
    PEAK_ROUNDS = 64,
    PEAK_LAUNCHES = 5,
    L2_ROUNDS = 8,
    L2_PART = 4
};

static tt_status best_ns(double *out, const tt__bench_pool *pool, CUfunction fn, unsigned blocks,
                         void **args) {
    const tt__driver *cu = pool->cu;
    *out = 0;
    for (int i = 0; i <= PEAK_LAUNCHES; i++) { /* the first one warms up */
        float ms;
        TT_TRY(tt__cu_check(cu->cuEventRecord(pool->events[0], pool->stream), "cuEventRecord"));
        TT_TRY(tt__cu_check(
            cu->cuLaunchKernel(fn, blocks, 1, 1, PEAK_THREADS, 1, 1, 0, pool->stream, args, NULL),
            "a launch for the peaks"));
        TT_TRY(tt__cu_check(cu->cuEventRecord(pool->events[1], pool->stream), "cuEventRecord"));
        TT_TRY(tt__cu_check(cu->cuStreamSynchronize(pool->stream), "measuring peaks"));
        TT_TRY(tt__cu_check(cu->cuEventElapsedTime(&ms, pool->events[0], pool->events[1]),
                            "cuEventElapsedTime"));
        if (i > 0 && (*out <= 0 || (double)ms * 1e6 < *out))
            *out = (double)ms * 1e6;
    }
    return TT_OK;
}

/* False: the cubin has none. */
static bool find_function(CUfunction *out, const tt__driver *cu, CUlibrary library, const char *name) {
    CUkernel kernel;
    return cu->cuLibraryGetKernel(&kernel, library, name) == CUDA_SUCCESS &&
           cu->cuKernelGetFunction(out, kernel) == CUDA_SUCCESS;
}

static tt_status measure_all_peaks(tt__peaks *out, const tt__bench_pool *pool, const tt__gpu *gpu,
                                   CUlibrary library) {
    const struct {
        const char *name;
        double *gflops;
        double lanes; /* multiplications of a thread in one instruction */
    } kinds[] = {{"tt_peak_fp32", &out->fp32_gflops, 1},
                 {"tt_peak_fp64", &out->fp64_gflops, 1},
                 {"tt_peak_fp16", &out->fp16_gflops, 2},
                 {"tt_peak_tensor", &out->tensor_gflops, 16.0 * 16 * 8 / 32}};
    const unsigned blocks = (unsigned)gpu->sm_count * BLOCKS_PER_SM;
    CUdeviceptr at = pool->base;
    CUfunction fn;
    double ns;
    for (size_t i = 0; i < TT__COUNT(kinds); i++) {
        int rounds = PEAK_ROUNDS;
        if (!find_function(&fn, pool->cu, library, kinds[i].name))
            continue; /* old GPUs have no such instruction */
        TT_TRY(best_ns(&ns, pool, fn, blocks, (void *[]){&at, &rounds}));
        *kinds[i].gflops = 2.0 * kinds[i].lanes * NUMBERS * TURNS * PEAK_ROUNDS * PEAK_THREADS * blocks / ns;
    }
    size_t bytes =
        (size_t)gpu->l2_bytes / L2_PART < pool->bytes ? (size_t)gpu->l2_bytes / L2_PART : pool->bytes;
    long long words = (long long)(bytes / 16);
    int rounds = L2_ROUNDS;
    if (!find_function(&fn, pool->cu, library, "tt_peak_l2"))
        return TT_OK;
    TT_TRY(best_ns(&ns, pool, fn, blocks, (void *[]){&at, &words, &rounds, &at}));
    out->l2_gbps = 16.0 * (double)words * L2_ROUNDS / ns;
    return TT_OK;
}

static tt_status measure_peaks(tt__peaks *out, const tt__bench_pool *pool, const tt__gpu *gpu,
                               const void *cubin) {
    const tt__driver *cu = pool->cu;
    CUlibrary library;
    *out = (tt__peaks){0};
    TT_TRY(tt__cu_check(cu->cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0),
                        "cuLibraryLoadData (peaks)"));
    tt_status status = measure_all_peaks(out, pool, gpu, library);
    cu->cuLibraryUnload(library);
    return status;
}

/* ---- Requests --------------------------------------------------------------------------------- */

static tt_status count(tt__gpu_state *g, const tt__msg_trial *m, const void *cubin, tt__counted *out) {
    const tt__timed thing = tt__gpu_timed(&g->kernel, m);
    if (!g->open)
        return tt__fail(TT_E_INTERNAL, "counters without a problem");
    TT_TRY(load(g, m, cubin));
    return count_launch(out, &g->counting, &g->pool, &thing);
}

static tt_status find_bits(tt__gpu_state *g, const tt__bits_ask *ask, const tt__msg_trial *m,
                           const void *cubin, tt__bits_found *out) {
    int64_t largest[TT__OPERANDS_MAX];
    tt__verifier *v = &g->verifier;
    tt_status status = TT_OK;
    if (!g->open)
        return tt__fail(TT_E_INTERNAL, "bits without a problem");
    TT_TRY(load(g, m, cubin));
    set_lengths(v, m, largest);
    if (m->checks.reference.n_passes)
        status = tt__verifier_reference(v, &g->reference, &m->checks.reference);
    if (status == TT_OK)
        status = tt__bits_find(v, &g->kernel, &m->launch, ask, &g->kept, out);
    reset_lengths(v, largest);
    return status;
}

/* Reports falls of the clocks since the last time. */
static void tell_falls(tt__gpu_state *g, tt__clock_falls *out) {
    *out = (tt__clock_falls){g->clocks.n_falls, g->clocks.usual_mhz, g->clocks.lowest_mhz, ""};
    tt__copy(out->why, sizeof out->why, g->clocks.why);
    g->clocks.n_falls = 0;
}

/* Serves one request. A failure ends the worker. */
static tt_status serve(tt__gpu_state *g, uint32_t type, const tt__str *request, tt__gpu_finals *f) {
    if (type == TT__MSG_PROBLEM) {
        tt__msg_opened reply = {.begin_s = g->times.begin_s};
        tt__fill_done(&reply.done, open_problem(g, request));
        tt__copy(reply.notes, sizeof reply.notes, g->open ? g->verifier.notes : "");
        reply.end_s = tt__now_s();
        reply.context_begin_s = g->context_begin_s;
        reply.context_end_s = g->context_end_s;
        g->context_begin_s = g->context_end_s = 0;
        TT_TRY(tt__wire_reply(TT__MSG_OPENED, &(struct iovec){&reply, sizeof reply}, 1));
        return reply.done.status == TT_E_CUDA ? TT_E_CUDA : TT_OK;
    }
    if (type == TT__MSG_TRIAL) {
        size_t at = 0;
        const tt__msg_trial *m = tt__wire_take(request, &at, sizeof *m);
        const void *cubin = m ? tt__wire_take(request, &at, m->cubin_size) : NULL;
        tt__msg_tried reply;
        if (!cubin)
            return TT_E_IO;
        g->times.loaded_s = g->times.verified_s = g->times.begin_s;
        tt__nvtx_push("trial", m->symbols.name[0]);
        tt_status status = try_one(g, m, cubin, &reply.trial);
        tt__nvtx_pop();
        g->times.end_s = tt__now_s();
        reply.times = g->times;
        reply.sm_mhz = g->clocks.now_mhz;
        tell_falls(g, &reply.falls);
        TT_TRY(tt__wire_reply(TT__MSG_TRIED, &(struct iovec){&reply, sizeof reply}, 1));
        return status;
    }
    if (type == TT__MSG_FINALS) {
        tt__msg_finished reply = {0};
        *f = (tt__gpu_finals){0};
        tt__nvtx_push("finals", "");
        tt__fill_done(&reply.done, tt__gpu_finals_run(g, request, f));
        tt__nvtx_pop();
        tell_falls(g, &reply.falls);
        struct iovec parts[] = {{&reply, sizeof reply}, {f->trials, (size_t)f->n * sizeof *f->trials}};
        TT_TRY(tt__wire_reply(TT__MSG_FINISHED, parts, 2));
        return reply.done.status == TT_E_CUDA ? TT_E_CUDA : TT_OK;
    }
    if (type == TT__MSG_COUNT) {
        size_t at = 0;
        const tt__msg_trial *m = tt__wire_take(request, &at, sizeof *m);
        const void *cubin = m ? tt__wire_take(request, &at, m->cubin_size) : NULL;
        tt__msg_counted reply = {0};
        if (!cubin)
            return TT_E_IO;
        tt__nvtx_push("count", m->symbols.name[0]);
        tt__fill_done(&reply.done, count(g, m, cubin, &reply.counted));
        tt__nvtx_pop();
        TT_TRY(tt__wire_reply(TT__MSG_COUNTED, &(struct iovec){&reply, sizeof reply}, 1));
        return reply.done.status == TT_E_CUDA ? TT_E_CUDA : TT_OK;
    }
    if (type == TT__MSG_BITS) {
        size_t at = 0;
        const tt__bits_ask *ask = tt__wire_take(request, &at, sizeof *ask);
        const tt__msg_trial *m = ask ? tt__wire_take(request, &at, sizeof *m) : NULL;
        const void *cubin = m ? tt__wire_take(request, &at, m->cubin_size) : NULL;
        tt__msg_bits_found reply = {0};
        if (!cubin)
            return TT_E_IO;
        tt__fill_done(&reply.done, find_bits(g, ask, m, cubin, &reply.found));
        TT_TRY(tt__wire_reply(TT__MSG_BITS_FOUND, &(struct iovec){&reply, sizeof reply}, 1));
        return reply.done.status == TT_E_CUDA ? TT_E_CUDA : TT_OK;
    }
    if (type == TT__MSG_PEAKS) {
        tt__msg_peaked reply = {0};
        tt__fill_done(&reply.done, g->open ? measure_peaks(&reply.peaks, &g->pool, &g->gpu, request->text)
                                           : tt__fail(TT_E_INTERNAL, "peaks without a problem"));
        TT_TRY(tt__wire_reply(TT__MSG_PEAKED, &(struct iovec){&reply, sizeof reply}, 1));
        return reply.done.status == TT_E_CUDA ? TT_E_CUDA : TT_OK;
    }
    return tt__fail(TT_E_INTERNAL, "message of type %u", type);
}

int tt__gpu_worker(int ordinal) {
    static tt__gpu_state g; /* too large for the stack */
    tt__str request = {0};
    uint32_t type;
    tt__gpu_finals *f = malloc(sizeof *f);
    g.ordinal = g.clocks.ordinal = g.counting.ordinal = ordinal;
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0); /* a context for one stream is made in half the time */
    if (!f || describe(&g, &request) != TT_OK) {
        tt__str_free(&request);
        free(f);
        return 1;
    }
    open_context(&g); /* in parallel with the first compiles; a failure shows with the problem */
    do {
        g.times.idle_s = tt__now_s();
        if (tt__wire_recv(TT__WIRE_FD, &type, &request) != TT_OK)
            break;
        g.times.begin_s = tt__now_s();
    } while (serve(&g, type, &request, f) == TT_OK);
    tt__str_free(&request);
    tt__str_free(&g.judge);
    free(f);
    return 0; /* the driver frees everything at exit */
}
