/*
 * Starts workers, receives their greetings, and waits for one of them.
 */
#include "tuner/farm/workers.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

const double tt__workers_start_timeout_s = 60, tt__workers_poll_s = 0.2;

int tt__n_cpus(void) {
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof set, &set) == 0
                 ? CPU_COUNT(&set)
                 : sysconf(_SC_NPROCESSORS_ONLN); /* the set is too small from 1025 CPUs on */
    return n < 1 ? 1 : (int)n;
}

tt_status tt__workers_open(tt__workers *workers, const int *devices, size_t n_gpus, int jobs,
                           int (*should_stop)(void *user), void *user) {
    enum { JOBS_MAX = 120 };
    if (jobs <= 0)
        jobs = tt__n_cpus();
    if (jobs > JOBS_MAX)
        jobs = JOBS_MAX;
    *workers =
        (tt__workers){.n_gpus = n_gpus, .n = n_gpus + (size_t)jobs, .should_stop = should_stop, .user = user};
    memcpy(workers->devices, devices, n_gpus * sizeof *devices);
    workers->items = calloc(workers->n, sizeof *workers->items);
    workers->requests = calloc(1, sizeof *workers->requests);
    return workers->items && workers->requests
               ? TT_OK
               : tt__fail_memory(workers->n * sizeof *workers->items + sizeof *workers->requests);
}

void tt__workers_close(tt__workers *workers) {
    for (size_t i = 0; workers->items && i < workers->n;
         i++) /* together, because the driver takes long to release a GPU */
        if (workers->items[i].pid > 0)
            kill(workers->items[i].pid, SIGKILL);
    for (size_t i = 0; workers->items && i < workers->n; i++)
        tt__worker_stop(&workers->items[i]);
    tt__str_free(&workers->payload);
    free(workers->items);
    free(workers->requests);
    *workers = (tt__workers){0};
}

/* A compiler's part of half the machine's memory, within bounds. */
int64_t tt__workers_compiler_bytes(const tt__workers *workers) {
    const int64_t least = INT64_C(512) << 20, most = INT64_C(4) << 30;
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t part = memory / 2 / (int64_t)tt__workers_compilers(workers);
    struct rlimit ours = {.rlim_max = RLIM_INFINITY};
    getrlimit(RLIMIT_DATA, &ours);
    part = part < least ? least : part > most ? most : part;
    return ours.rlim_max < (rlim_t)part ? (int64_t)ours.rlim_max : part;
}

tt_status tt__workers_start(tt__workers *workers, size_t i) {
    char arg[32];
    bool gpu = i < workers->n_gpus;
    snprintf(arg, sizeof arg, "%lld",
             gpu ? (long long)workers->devices[i] : (long long)tt__workers_compiler_bytes(workers));
    return tt__worker_start(&workers->items[i], gpu ? "gpu" : "compile", arg, tt__workers_start_timeout_s);
}

tt_status tt__workers_stop_asked(const tt__workers *workers) {
    if (workers->should_stop && workers->should_stop(workers->user))
        return tt__fail(TT_E_INTERRUPTED, "interrupted; what was measured is stored");
    return TT_OK;
}

tt_status tt__workers_wait_for(tt__workers *workers, size_t i, uint32_t type) {
    const char *who = i < workers->n_gpus ? "GPU worker" : "compile worker";
    while (workers->items[i].busy) {
        tt__event e;
        TT_TRY(tt__workers_stop_asked(workers));
        TT_TRY(tt__worker_wait_any(&workers->items[i], 1, tt__workers_poll_s, &e, &workers->payload));
        if (e.kind == TT__EVENT_TIMEOUT || e.kind == TT__EVENT_CRASHED)
            return tt__fail(TT_E_IO, "the %s %s", who, e.reason);
        if (e.kind == TT__EVENT_REPLY && e.type != type)
            return tt__fail(TT_E_INTERNAL, "the %s sent message %u, not %u", who, e.type, type);
    }
    return TT_OK;
}

tt_status tt__workers_adopt(const tt__msg_done *done) {
    return done->status == TT_OK ? TT_OK : tt__fail(done->status, "%s", done->error);
}

static tt_status check_versions(const tt__workers *workers, const tt__msg_described *gpu) {
    const char *nvrtc = workers->env.nvrtc;
    int nvrtc_major = atoi(nvrtc), driver_major = gpu->cuda_version / 1000;
    if (nvrtc_major <= driver_major)
        return TT_OK;
    return tt__fail(
        TT_E_NO_DRIVER,
        "the driver (%s) supports CUDA %d.%d, but NVRTC is %s and its cubins need a CUDA %d driver; "
        "update the driver, or name an NVRTC %d in TILETUNE_NVRTC",
        gpu->driver, driver_major, gpu->cuda_version % 1000 / 10, nvrtc, nvrtc_major, driver_major);
}

void tt__workers_ask_description(tt__workers *workers, size_t i) {
    tt__worker_ask(&workers->items[i], 0, tt__workers_start_timeout_s, TT__MSG_DESCRIBE, NULL, 0);
}

tt_status tt__workers_start_all(tt__workers *workers) {
    for (size_t i = 0; i < workers->n; i++) /* NVRTC loads while the driver starts */
        TT_TRY(tt__workers_start(workers, i));
    TT_TRY(tt__workers_wait_for(workers, workers->n_gpus, TT__MSG_HELLO));
    const tt__msg_hello *hello = (const tt__msg_hello *)workers->payload.text;
    workers->compiling = hello->done;
    tt__copy(workers->env.nvrtc, sizeof workers->env.nvrtc, hello->nvrtc);
    return TT_OK;
}

tt_status tt__workers_described(tt__workers *workers) {
    const tt__msg_described *gpu = (const tt__msg_described *)workers->payload.text;
    TT_TRY(tt__workers_adopt(&gpu->done));
    TT_TRY(tt__workers_adopt(&workers->compiling)); /* it is useless without a driver */
    workers->gpu = gpu->gpu;
    workers->counts_energy = gpu->counts_energy;
    tt__copy(workers->env.driver, sizeof workers->env.driver, gpu->driver);
    tt__copy(workers->env.library, sizeof workers->env.library, TT__METHOD);
    return check_versions(workers, gpu);
}

void tt__workers_ask_compile(tt__workers *workers, size_t i, const char *name, const char *source,
                             const tt__str *options, int n_options, double timeout_s) {
    tt__msg_compile m = {workers->gpu.cc, n_options, strlen(name) + 1, strlen(source) + 1, options->len};
    struct iovec parts[] = {{&m, sizeof m},
                            {(void *)(uintptr_t)name, m.name_size},
                            {(void *)(uintptr_t)source, m.source_size},
                            {options->text, options->len}};
    tt__worker_ask(&workers->items[i], 0, timeout_s, TT__MSG_COMPILE, parts, 4);
}

/* A cubin, or none, and zeros that align what follows. Returns their size. */
static size_t cubin_parts(struct iovec parts[2], const tt__cubin *cubin) {
    static const char zeros[16];
    const size_t n = cubin ? cubin->image.len : 0, pad = (sizeof zeros - n % sizeof zeros) % sizeof zeros;
    parts[0] = (struct iovec){cubin ? cubin->image.text : NULL, n};
    parts[1] = (struct iovec){(void *)(uintptr_t)zeros, pad};
    return n + pad;
}

void tt__workers_ask_problem(tt__workers *workers, size_t i, const tt__problem *p, const tt__workload *w,
                             const tt__cubin *checker, const tt__cubin *reference, double timeout_s) {
    tt__msg_problem *m = &workers->requests->problem;
    struct iovec parts[5] = {{m, sizeof *m}};
    memset(m, 0, sizeof *m);
    m->problem = *p;
    m->work = *w;
    m->checker_size = cubin_parts(&parts[1], checker);
    m->reference_size = cubin_parts(&parts[3], reference);
    tt__worker_ask(&workers->items[i], 0, timeout_s, TT__MSG_PROBLEM, parts, 5);
}

/* A request for a trial. */
static void trial_parts(struct iovec parts[3], tt__msg_trial *m, const tt__candidate *c,
                        const tt__cubin *cubin) {
    memset(m, 0, sizeof *m);
    m->symbols = c->t->symbols;
    memcpy(m->key, cubin->key, sizeof m->key);
    m->launch = c->launch;
    m->offset = c->offset;
    m->copy = strcmp(c->t->op, "copy") == 0;
    m->cubin_size = cubin_parts(&parts[1], cubin);
    parts[0] = (struct iovec){m, sizeof *m};
}

void tt__workers_ask_trial(tt__workers *workers, size_t i, size_t job, double timeout_s,
                           const tt__candidate *c, const tt__cubin *cubin, const tt__checks *checks,
                           double cutoff_us) {
    tt__msg_trial m;
    struct iovec parts[3];
    trial_parts(parts, &m, c, cubin);
    m.checks = *checks;
    m.cutoff_us = cutoff_us;
    tt__worker_ask(&workers->items[i], job, timeout_s, TT__MSG_TRIAL, parts, 3);
}

void tt__workers_ask_peaks(tt__workers *workers, size_t i, double timeout_s, const tt__cubin *cubin) {
    struct iovec part = {cubin->image.text, cubin->image.len};
    tt__worker_ask(&workers->items[i], 0, timeout_s, TT__MSG_PEAKS, &part, 1);
}

void tt__workers_ask_count(tt__workers *workers, size_t i, double timeout_s, const tt__candidate *c,
                           const tt__cubin *cubin) {
    tt__msg_trial m;
    struct iovec parts[3];
    trial_parts(parts, &m, c, cubin);
    tt__worker_ask(&workers->items[i], 0, timeout_s, TT__MSG_COUNT, parts, 3);
}

void tt__workers_ask_bits(tt__workers *workers, size_t i, double timeout_s, const tt__bits_ask *ask,
                          const tt__candidate *c, const tt__cubin *cubin, const tt__checks *checks) {
    tt__msg_trial m;
    struct iovec parts[4] = {{(void *)ask, sizeof *ask}};
    trial_parts(&parts[1], &m, c, cubin);
    m.checks = *checks;
    tt__worker_ask(&workers->items[i], 0, timeout_s, TT__MSG_BITS, parts, 4);
}

void tt__workers_ask_finals(tt__workers *workers, size_t gpu, double timeout_s, const tt__candidate *const *c,
                            tt__cubin *const *cubins, size_t n, tt__rounds rounds, double train_s) {
    struct iovec parts[1 + 3 * TT__FINALISTS_MAX];
    _Static_assert(TT__COUNT(parts) <= TT__WIRE_PARTS_MAX, "the finalists do not fit into a message");
    tt__msg_trial *m = workers->requests->finalists;
    tt__msg_finals head = {(int)n, rounds, train_s};
    parts[0] = (struct iovec){&head, sizeof head};
    for (size_t i = 0; i < n; i++)
        trial_parts(&parts[1 + 3 * i], &m[i], c[i], cubins[i]);
    tt__worker_ask(&workers->items[gpu], 0, timeout_s, TT__MSG_FINALS, parts, (int)(1 + 3 * n));
}
