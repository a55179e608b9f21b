/*
 * Runs a child in its own process group, so that an interrupt reaches it and its workers as a terminal's
 * would, and a time-out leaves no process. Both pipes are read until all writers have closed them: a worker
 * that outlives its program shows as a time-out.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { ARGS_MAX = 64 };

static char folder[64];

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct text {
    char *data;
    size_t n;
} text;

/* false at the end of the stream. */
static bool take(text *t, int fd) {
    char buffer[4096];
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0) /* EIO: the last one has closed the terminal */
        return false;
    t->data = realloc(t->data, t->n + (size_t)n + 1);
    assert_non_null(t->data);
    memcpy(t->data + t->n, buffer, (size_t)n);
    t->n += (size_t)n;
    t->data[t->n] = '\0';
    return true;
}

static void become(const char *const *argv, const run_spec *spec, int out, int err) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    setpgid(0, 0);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    for (const char *const *e = spec->env; e && *e; e++) {
        if (strchr(*e, '='))
            putenv((char *)(uintptr_t)*e);
        else
            unsetenv(*e);
    }
    int in = open("/dev/null", O_RDONLY);
    if (spec->output)
        out = open(spec->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (spec->as_nobody && geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        _exit(127);
    if (spec->obeys_modes && geteuid() == 0 && prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0)
        _exit(127);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static void open_streams(const run_spec *spec, int out[2], int err[2]) {
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    if (spec->columns > 0) {
        struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)spec->columns};
        assert_int_equal(openpty(&err[0], &err[1], NULL, NULL, &size), 0);
        fcntl(err[0], F_SETFD, FD_CLOEXEC);
        fcntl(err[1], F_SETFD, FD_CLOEXEC);
    } else {
        assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    }
}

/* Reads both streams to their ends; false if time ran out before. */
static bool gather(text *out, text *err, int out_fd, int err_fd, pid_t group, const run_spec *spec) {
    struct pollfd fds[2] = {{.fd = out_fd, .events = POLLIN}, {.fd = err_fd, .events = POLLIN}};
    double start = now_s(), end = start + (spec->timeout_s > 0 ? spec->timeout_s : 30);
    int interrupts = spec->interrupt_at ? 1 + spec->interrupt_twice : 0;
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        double left = end - now_s();
        if (left <= 0)
            return false;
        if (spec->meanwhile)
            spec->meanwhile(spec->user, group, now_s() - start, err->data);
        if (poll(fds, 2, spec->meanwhile ? 2 : 50) < 0)
            continue;
        text *const texts[2] = {out, err};
        for (int i = 0; i < 2; i++)
            if (fds[i].revents && !take(texts[i], fds[i].fd))
                fds[i].fd = -1;
        if (interrupts && err->n && strstr(err->data, spec->interrupt_at)) {
            interrupts--;
            kill(-group, SIGINT);
        }
    }
    return true;
}

void run(run_result *r, const char *const *argv, const run_spec *spec) {
    static const run_spec plain;
    int out[2], err[2], status = 0;
    text texts[2] = {{calloc(1, 1), 0}, {calloc(1, 1), 0}};
    double start = now_s();
    spec = spec ? spec : &plain;
    open_streams(spec, out, err);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        become(argv, spec, out[1], err[1]);
    setpgid(child, child);
    close(out[1]);
    close(err[1]);
    bool ended = gather(&texts[0], &texts[1], out[0], err[0], child, spec);
    if (!ended)
        kill(-child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(out[0]);
    close(err[0]);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    *r = (run_result){ended ? code : -1, texts[0].data, texts[1].data, now_s() - start};
}

void run_tune(run_result *r, const run_spec *spec, const char *line) {
    const char *argv[ARGS_MAX + 2] = {getenv("TUNE")};
    char *words = strdup(line), *save = NULL;
    int n = 1;
    if (!argv[0])
        fail_msg("TUNE is not set: it names the program to test");
    for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        assert_true(n <= ARGS_MAX);
        argv[n++] = w;
    }
    run(r, argv, spec);
    free(words);
}

void run_tune_faulty(run_result *r, const char *faults, const char *line) {
    char rule[256];
    snprintf(rule, sizeof rule, "HOSTCUDA_FAULTS=%s", faults);
    const char *env[] = {*faults ? rule : "HOSTCUDA_FAULTS", NULL};
    run_tune(r, &(run_spec){.env = env, .timeout_s = RUN_TUNE_TIMEOUT_S}, line);
}

void run_free(run_result *r) {
    free(r->out);
    free(r->err);
    *r = (run_result){0};
}

void run_assert_code(const run_result *r, int wanted, const char *file, int line) {
    if (r->code != wanted)
        print_error("exit code %d, expected %d, after %.1f s\nout: %s\nerr: %s\n", r->code, wanted,
                    r->seconds, r->out, r->err);
    _assert_int_equal((uintmax_t)r->code, (uintmax_t)wanted, file, line);
}

void run_assert_has(const run_result *r, const char *text, const char *part, const char *file, int line) {
    bool has = strstr(text, part) != NULL;
    if (!has)
        print_error("\"%s\" is missing\nout: %s\nerr: %s\n", part, r->out, r->err);
    _assert_true(has, part, file, line);
}

const char *run_json(char *out, size_t size, const char *json, const char *key) {
    char quoted[64];
    out[0] = '\0';
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *value = strstr(json, quoted);
    if (!value)
        return out;
    value += strlen(quoted);
    size_t n = *value == '"'   ? strcspn(++value, "\"")
               : *value == '{' ? strcspn(value, "}")
                               : strcspn(value, ",}]");
    snprintf(out, size, "%.*s", (int)n, value);
    return out;
}

const char *run_enter(void) {
    snprintf(folder, sizeof folder, "/tmp/tune-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    setenv("XDG_DATA_HOME", folder, 1);
    unsetenv("TILETUNE_DB");
    unsetenv("COLUMNS");
    setenv("TERM", "xterm", 1);
    return folder;
}

const char *run_enter_without_gpu(void) {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    return run_enter();
}

const char *run_enter_on_standins(void) {
    char nvrtc[512];
    const char *host = getenv("HOSTCUDA_DIR"), *folder = run_enter();
    snprintf(nvrtc, sizeof nvrtc, "%s/libnvrtc.so", host);
    unsetenv("CUDA_VISIBLE_DEVICES"); /* Slurm's, say: the stand-ins do not know it */
    setenv("LD_LIBRARY_PATH", host, 1);
    setenv("TILETUNE_NVRTC", nvrtc, 1);
    return folder;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

int run_leave(void **state) {
    (void)state;
    if (folder[0])
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    folder[0] = '\0';
    return 0;
}
