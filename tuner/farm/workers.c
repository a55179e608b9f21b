/*
 * Starts, asks, watches and stops worker processes.
 */
#include "tuner/farm/workers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/install_dirs.h"

extern char **environ;

enum { WORKERS_MAX = 512 };

/* ---- Time limits --------------------------------------------------------------------------------------- */

/* What this thread has computed. The program may have others, which do not matter. */
static double computed_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void set_limit(tt__worker *w, double timeout_s) {
    w->seen_s = tt__now_s();
    w->computed_s = computed_s();
    w->deadline_s = w->seen_s + timeout_s;
}

/* Ctrl-Z stops workers, too, so they get that time back. `until_s`: when this process meant to look again.
 * While it computes, workers go on. */
static void see(tt__worker *w, double until_s) {
    const double long_s = 1, seen_s = w->seen_s, seen_computed_s = w->computed_s;
    w->seen_s = tt__now_s();
    w->computed_s = computed_s();
    const double here_s = w->computed_s - seen_computed_s;
    if (w->seen_s - until_s - here_s > long_s)
        w->deadline_s += w->seen_s - seen_s - here_s;
}

/* ---- Processes ----------------------------------------------------------------------------------------- */

/* Half of the socket's buffer is left for Linux's own bookkeeping. */
static size_t room_for_one_more(int fd) {
    int bytes = 0;
    socklen_t size = sizeof bytes;
    return getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &size) == 0 && bytes > 0 ? (size_t)bytes / 2 : 0;
}

/* A descriptor above those that a worker uses. */
static int open_bell(void) {
    enum { BEYOND = 16 };
    int low = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    int fd = low < 0 ? low : fcntl(low, F_DUPFD_CLOEXEC, BEYOND);
    if (low >= 0)
        close(low);
    return fd;
}

/* EINVAL: the descriptor's number is above the limit. */
static tt_status fail_start(const char *what, int error) {
    struct rlimit limit = {0};
    if ((error != EMFILE && error != EINVAL) || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return tt__fail(TT_E_IO, "cannot start a worker: %s: %s", what, strerror(error));
    return tt__fail(
        TT_E_IO,
        "cannot start a worker: %s: only %llu open files are allowed, and each worker needs two: raise "
        "the limit (ulimit -n), or have fewer compilers (--jobs)",
        what, (unsigned long long)limit.rlim_cur);
}

/* The host program may have more files open. Only glibc 2.34 and newer can close them, which may be newer
 * than the one that this was built with. */
static void close_others(posix_spawn_file_actions_t *actions) {
    int (*close_from)(posix_spawn_file_actions_t *, int);
    void *address = dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addclosefrom_np");
    memcpy(&close_from, &address, sizeof address);
    if (address)
        close_from(actions, TT__WIRE_BELL + 1);
}

tt_status tt__worker_start(tt__worker *w, const char *role, const char *arg, double timeout_s) {
    *w = (tt__worker){.fd = -1, .bell = -1};
    tt__str path = {0};
    TT_TRY(tt__worker_path(&path));
    int fds[2], bell = open_bell();
    if (bell < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        int error = errno;
        if (bell >= 0)
            close(bell);
        tt__str_free(&path);
        return fail_start(bell < 0 ? "eventfd" : "socketpair", error);
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], TT__WIRE_FD);
    posix_spawn_file_actions_adddup2(&actions, bell, TT__WIRE_BELL);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!secure_getenv(
            "TILETUNE_DEBUG")) /* a dying compiler or driver may print; the trial has the reason anyway */
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    close_others(&actions);
    char *argv[] = {(char *)"tiletune-worker", (char *)role, (char *)arg, NULL}, *none[] = {NULL};
    /* A set-uid program ignores the environment (secure_getenv). Its workers are not set-uid, so they get
     * none. */
    char **environment = getauxval(AT_SECURE) ? none : environ;
    int error = posix_spawn(&w->pid, tt__str_text(&path), &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    if (error) {
        close(fds[0]);
        close(bell);
        w->pid = 0;
        tt__fail(TT_E_IO, "cannot start %s: %s", tt__str_text(&path), strerror(error));
        tt__str_free(&path);
        return TT_E_IO;
    }
    tt__str_free(&path);
    w->fd = fds[0];
    w->bell = bell;
    w->ahead_bytes = room_for_one_more(fds[0]);
    w->busy = true;
    set_limit(w, timeout_s);
    return TT_OK;
}

/* Reaps the worker, and says how it ended. */
static void stop(tt__worker *w, char *reason, size_t size) {
    int status = 0;
    if (w->pid <= 0)
        return;
    close(w->fd);
    close(w->bell);
    pid_t reaped = waitpid(w->pid, &status, WNOHANG);
    if (reaped == 0) {
        kill(w->pid, SIGKILL);
        while ((reaped = waitpid(w->pid, &status, 0)) < 0 && errno == EINTR)
            ;
    }
    if (reaped < 0) /* the host program ignores SIGCHLD, or has waited for it itself */
        tt__copy(reason, size, "ended; how is unknown, as the program ignores SIGCHLD");
    else if (WIFSIGNALED(status))
        snprintf(reason, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(reason, size, "ended with exit code %d", WEXITSTATUS(status));
    *w = (tt__worker){.fd = -1, .bell = -1};
}

void tt__worker_stop(tt__worker *w) {
    char reason[96];
    stop(w, reason, sizeof reason);
}

bool tt__worker_gone(const tt__worker *w) {
    struct pollfd fd = {.fd = w->fd, .events = POLLIN};
    return w->pid > 0 && !w->busy &&
           poll(&fd, 1, 0) > 0; /* a worker sends nothing unasked, so readable means that it died */
}

void tt__worker_ask(tt__worker *w, size_t job, double timeout_s, uint32_t type, const struct iovec *parts,
                    int n) {
    if (w->busy) {
        w->ahead = true;
        w->job_ahead = job;
        w->timeout_ahead_s = timeout_s;
    } else {
        w->busy = true;
        w->job = job;
        set_limit(w, timeout_s);
    }
    tt__wire_send(w->fd, type, parts, n); /* a failure shows as end-of-file later */
}

/* It has answered. The waiting request, if there is one, is now current. */
static void answered(tt__worker *w) {
    w->busy = w->ahead;
    w->job = w->job_ahead;
    set_limit(w, w->timeout_ahead_s);
    w->ahead = false;
}

/* A worker that has closed its end is exiting. Wait a moment for its exit status. */
static void crashed(tt__worker *w, tt__event *event) {
    for (int i = 0; i < 100; i++) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid)
            break;
        usleep(2000);
    }
    event->kind = TT__EVENT_CRASHED;
    stop(w, event->reason, sizeof event->reason);
}

tt_status tt__worker_wait_any(tt__worker *workers, size_t n, double wait_s, tt__event *event,
                              tt__str *payload) {
    struct pollfd
        fds[2 * WORKERS_MAX]; /* the socket shows that the other end was closed; the bell shows replies */
    size_t which[WORKERS_MAX], n_fds = 0;
    const double now = tt__now_s();
    double until = now + wait_s;
    *event = (tt__event){.kind = TT__EVENT_NONE};
    for (size_t i = 0; i < n && n_fds < WORKERS_MAX; i++) {
        if (!workers[i].busy)
            continue;
        see(&workers[i], workers[i].seen_s);
        if (workers[i].deadline_s < until)
            until = workers[i].deadline_s;
        fds[2 * n_fds] = (struct pollfd){.fd = workers[i].fd};
        fds[2 * n_fds + 1] = (struct pollfd){.fd = workers[i].bell, .events = POLLIN};
        which[n_fds++] = i;
    }
    int ms = until > now ? (int)((until - now) * 1e3) + 1 : 0;
    int ready = poll(fds, 2 * n_fds, ms);
    if (ready < 0 && errno != EINTR)
        return tt__fail(TT_E_IO, "poll: %s", strerror(errno));
    for (size_t k = 0; k < n_fds; k++)
        see(&workers[which[k]], until);
    for (size_t k = 0; ready > 0 && k < n_fds; k++) {
        eventfd_t replies;
        if (!fds[2 * k].revents && !fds[2 * k + 1].revents)
            continue;
        tt__worker *w = &workers[which[k]];
        if (fds[2 * k + 1].revents)
            eventfd_read(w->bell, &replies); /* one of them */
        event->worker = which[k];
        event->job = w->job;
        if (tt__wire_recv(w->fd, &event->type, payload) == TT_OK) {
            event->kind = TT__EVENT_REPLY;
            answered(w);
        } else {
            crashed(w, event);
        }
        return TT_OK;
    }
    for (size_t k = 0; k < n_fds; k++)
        if (workers[which[k]].deadline_s <= workers[which[k]].seen_s) {
            event->kind = TT__EVENT_TIMEOUT;
            tt__copy(event->reason, sizeof event->reason, "did not answer in time and was stopped");
            event->worker = which[k];
            event->job = workers[which[k]].job;
            tt__worker_stop(&workers[which[k]]);
            return TT_OK;
        }
    return TT_OK;
}

/* ---- All of a run ----------------------------------------------------------------------------- */

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

/* The limit on a compiler's memory: its part of half the machine's, within bounds. */
static int64_t compiler_bytes(const tt__workers *workers) {
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
             gpu ? (long long)workers->devices[i] : (long long)compiler_bytes(workers));
    return tt__worker_start(&workers->items[i], gpu ? "gpu" : "compile", arg, tt__workers_start_timeout_s);
}

tt_status tt__workers_stop_asked(const tt__workers *workers) {
    if (workers->should_stop && workers->should_stop(workers->user))
        return tt__fail(TT_E_INTERRUPTED, "interrupted; what was measured is stored");
    return TT_OK;
}

/* Of this type, from worker i only. It is then in `payload`. */
static tt_status await_message(tt__workers *workers, size_t i, uint32_t type) {
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
    TT_TRY(await_message(workers, workers->n_gpus, TT__MSG_HELLO));
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
                             bool fresh_data, tt__cubin *const *checkers, const tt__cubin *reference,
                             double timeout_s) {
    tt__msg_problem *m = &workers->requests->problem;
    struct iovec parts[1 + 2 * (TT__CHECKER_PARTS + 1)] = {{m, sizeof *m}};
    const int n_checkers = tt__verify_parts(p, w);
    memset(m, 0, sizeof *m);
    m->problem = *p;
    m->work = *w;
    m->fresh_data = fresh_data;
    for (int k = 0; k < n_checkers; k++)
        m->checker_sizes[k] = cubin_parts(&parts[1 + 2 * k], checkers[k]);
    m->reference_size = cubin_parts(&parts[1 + 2 * n_checkers], reference);
    tt__worker_ask(&workers->items[i], 0, timeout_s, TT__MSG_PROBLEM, parts, 3 + 2 * (size_t)n_checkers);
}

/* A request for a trial. */
static void trial_parts(struct iovec parts[3], tt__msg_trial *m, const tt__configuration *c,
                        const tt__launch *launch, const tt__cubin *cubin) {
    memset(m, 0, sizeof *m);
    m->symbols = c->t->symbols;
    memcpy(m->key, cubin->key, sizeof m->key);
    m->launch = *launch;
    m->offset = c->offset;
    m->copy = strcmp(c->t->op, "copy") == 0;
    m->cubin_size = cubin_parts(&parts[1], cubin);
    parts[0] = (struct iovec){m, sizeof *m};
}

void tt__workers_ask_trial(tt__workers *workers, size_t i, size_t job, double timeout_s,
                           const tt__configuration *c, const tt__launch *launch, const tt__cubin *cubin,
                           const tt__checks *checks, double cutoff_us) {
    tt__msg_trial m;
    struct iovec parts[3];
    trial_parts(parts, &m, c, launch, cubin);
    m.checks = *checks;
    m.cutoff_us = cutoff_us;
    tt__worker_ask(&workers->items[i], job, timeout_s, TT__MSG_TRIAL, parts, 3);
}

void tt__workers_ask_peaks(tt__workers *workers, size_t i, double timeout_s, const tt__cubin *cubin) {
    struct iovec part = {cubin->image.text, cubin->image.len};
    tt__worker_ask(&workers->items[i], 0, timeout_s, TT__MSG_PEAKS, &part, 1);
}

void tt__workers_ask_count(tt__workers *workers, size_t i, double timeout_s, const tt__configuration *c,
                           const tt__launch *launch, const tt__cubin *cubin) {
    tt__msg_trial m;
    struct iovec parts[3];
    trial_parts(parts, &m, c, launch, cubin);
    tt__worker_ask(&workers->items[i], 0, timeout_s, TT__MSG_COUNT, parts, 3);
}

void tt__workers_ask_bits(tt__workers *workers, size_t i, double timeout_s, const tt__bits_ask *ask,
                          const tt__configuration *c, const tt__launch *launch, const tt__cubin *cubin,
                          const tt__checks *checks) {
    tt__msg_trial m;
    struct iovec parts[4] = {{(void *)ask, sizeof *ask}};
    trial_parts(&parts[1], &m, c, launch, cubin);
    m.checks = *checks;
    tt__worker_ask(&workers->items[i], 0, timeout_s, TT__MSG_BITS, parts, 4);
}

void tt__workers_ask_finals(tt__workers *workers, size_t gpu, double timeout_s,
                            const tt__configuration *const *c, const tt__launch *launches,
                            tt__cubin *const *cubins, size_t n, tt__rounds rounds, double train_s) {
    struct iovec parts[1 + 3 * TT__FINALISTS_MAX];
    _Static_assert(TT__COUNT(parts) <= TT__WIRE_PARTS_MAX, "the finalists do not fit into a message");
    tt__msg_trial *m = workers->requests->finalists;
    tt__msg_finals head = {(int)n, rounds, train_s};
    parts[0] = (struct iovec){&head, sizeof head};
    for (size_t i = 0; i < n; i++)
        trial_parts(&parts[1 + 3 * i], &m[i], c[i], &launches[i], cubins[i]);
    tt__worker_ask(&workers->items[gpu], 0, timeout_s, TT__MSG_FINALS, parts, (int)(1 + 3 * n));
}

/* ---- A farm with one compiler ----------------------------------------------------------------- */

static tt_status start_one(tt__compiler *c) {
    tt__workers *workers = &c->workers;
    if (!c->open)
        TT_TRY(tt__workers_open(workers, &(int){0}, 1, 1, NULL, NULL));
    c->open = true;
    if (workers->items[workers->n_gpus].pid)
        return TT_OK;
    TT_TRY(tt__workers_start(workers, workers->n_gpus));
    TT_TRY(await_message(workers, workers->n_gpus, TT__MSG_HELLO));
    return tt__workers_adopt(&((const tt__msg_hello *)workers->payload.text)->done);
}

static const char advice[] = "templates, constexpr functions or unrolled loops may be too much for it";

static tt_status wait_for_cubin(tt__workers *workers, const char *name, double timeout_s) {
    tt__event e;
    do
        TT_TRY(tt__worker_wait_any(workers->items, workers->n, tt__workers_poll_s, &e, &workers->payload));
    while (e.kind == TT__EVENT_NONE);
    if (e.kind == TT__EVENT_REPLY)
        return TT_OK;
    if (e.kind == TT__EVENT_TIMEOUT)
        return tt__fail(TT_E_COMPILE, "%s: compiled longer than %g s: %s", name, timeout_s, advice);
    return tt__fail(TT_E_COMPILE, "%s: its compiler, which may take %lld MB of memory, %s: %s", name,
                    (long long)(compiler_bytes(workers) >> 20), e.reason, advice);
}

tt_status tt__compile_one(tt__compiler *c, tt__str *cubin, const char *name, const char *source,
                          const tt__str *options, int n_options, int cc, double timeout_s) {
    enum { USUAL_S = 60 };
    tt__workers *workers = &c->workers;
    timeout_s = timeout_s > 0 ? timeout_s : USUAL_S;
    TT_TRY(start_one(c));
    workers->gpu.cc = cc;
    tt__workers_ask_compile(workers, workers->n_gpus, name, source, options, n_options, timeout_s);
    TT_TRY(wait_for_cubin(workers, name, timeout_s));
    const tt__msg_compiled *m = (const tt__msg_compiled *)workers->payload.text;
    if (m->done.status == TT_E_COMPILE && strstr(m->done.error, "out of memory"))
        return tt__fail(TT_E_COMPILE, "%s: its compiler needs more than %lld MB of memory: %s", name,
                        (long long)(compiler_bytes(workers) >> 20), advice);
    TT_TRY(tt__workers_adopt(&m->done));
    tt__str_addn(cubin, (const char *)(m + 1), workers->payload.len - sizeof *m);
    return tt__str_check(cubin);
}

void tt__compiler_close(tt__compiler *c) {
    if (c->open)
        tt__workers_close(&c->workers);
    *c = (tt__compiler){0};
}
