/*
 * Starts, asks, watches and stops worker processes.
 */
#include "tuner/farm/worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#include "base/place.h"

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

/* The host program may have more files open. Only glibc 2.34 and newer can close them, which may be newer than
 * the one that this was built with. */
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
