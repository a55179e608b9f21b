/*
 * A new process: this program starts itself again and is told when. The time is split at main, after CUDA's
 * own part (loading libcuda, cuInit, the context), and after each call into the library.
 */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/dispatch.h"

extern char **environ;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- The process that is started ----------------------------------------------------------------------- */

static bool nvrtc_is_loaded(void) {
    char line[4352];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, "nvrtc") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static tt_status first_launch(dispatch *d, int64_t ns[6]) {
    CUdeviceptr src, dst;
    size_t bytes = (size_t)d->problem.rows * (size_t)d->problem.cols * 4;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = d->options->db;
    ns[1] = now_ns();
    TT_TRY(dispatch_open_cuda(d));
    ns[2] = now_ns();
    TT_TRY(tt__cu_check(d->cu->cuMemAlloc(&src, bytes), "cuMemAlloc"));
    TT_TRY(tt__cu_check(d->cu->cuMemAlloc(&dst, bytes), "cuMemAlloc"));
    int64_t memory_ns = now_ns() - ns[2]; /* not ours, and any program has its arrays */
    TT_TRY(tt_open(&d->ctx, &opts));
    ns[3] = now_ns() - memory_ns;
    TT_TRY(tt_plan_create(&d->plan, d->ctx, &d->problem));
    ns[4] = now_ns() - memory_ns;
    TT_TRY(tt_plan_launch(d->plan, dst, src, NULL));
    ns[5] = now_ns() - memory_ns;
    return tt__cu_check(d->cu->cuStreamSynchronize(NULL), "cuStreamSynchronize");
}

int dispatch_be_started(const char *started_ns, dispatch *d) {
    int64_t ns[6] = {strtoll(started_ns, NULL, 10)};
    if (first_launch(d, ns) != TT_OK) {
        fprintf(stderr, "bench-dispatch: %s\n", tt_last_error());
        return 1;
    }
    for (int i = 1; i < 6; i++)
        printf("%" PRId64 " ", ns[i] - ns[i - 1]);
    printf("%d %d\n", nvrtc_is_loaded(), (int)tt_plan_choice(d->plan)->match);
    tt_plan_free(&d->plan);
    tt_close(&d->ctx);
    return 0;
}

/* ---- The one that starts it ---------------------------------------------------------------------------- */

static tt_status read_start(int fd, pid_t pid, dispatch_start *out) {
    char text[256] = "";
    size_t n = 0;
    int status = -1, nvrtc, match;
    double ns[5];
    for (ssize_t got; n + 1 < sizeof text && (got = read(fd, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0 || sscanf(text, "%lf %lf %lf %lf %lf %d %d", &ns[0], &ns[1], &ns[2], &ns[3], &ns[4],
                              &nvrtc, &match) != 7)
        return tt__fail(TT_E_IO, "the process that was started failed (status %d, \"%s\")", status, text);
    *out = (dispatch_start){.exec = ns[0] * 1e-6,
                            .cuda = ns[1] * 1e-6,
                            .open = ns[2] * 1e-6,
                            .plan = ns[3] * 1e-6,
                            .launch = ns[4] * 1e-6,
                            .beyond = (ns[0] + ns[2] + ns[3] + ns[4]) * 1e-6,
                            .nvrtc = nvrtc != 0,
                            .match = (tt_match)match};
    return TT_OK;
}

static tt_status start_one(const dispatch *d, dispatch_start *out) {
    char size[32], device[32], started[32];
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    snprintf(size, sizeof size, "%d", d->options->size);
    snprintf(device, sizeof device, "%d", d->options->device);
    snprintf(started, sizeof started, "%" PRId64, now_ns());
    char *argv[] = {(char *)"bench-dispatch",
                    (char *)"--started",
                    started,
                    (char *)"--db",
                    (char *)(uintptr_t)d->db,
                    (char *)"--size",
                    size,
                    (char *)"--device",
                    device,
                    NULL};
    if (pipe(ends) != 0)
        return tt__fail(TT_E_IO, "pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    int failed = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    tt_status status =
        failed ? tt__fail(TT_E_IO, "posix_spawn: %s", strerror(failed)) : read_start(ends[0], pid, out);
    close(ends[0]);
    return status;
}

static double median_of(const dispatch_start *starts, int n, size_t member) {
    double values[128];
    for (int i = 0; i < n; i++)
        memcpy(&values[i], (const char *)&starts[i] + member, sizeof *values);
    qsort(values, (size_t)n, sizeof *values, tt__by_number);
    return values[n / 2];
}

tt_status dispatch_starts(const dispatch *d, dispatch_start *out) {
    dispatch_start starts[128] = {{0}};
    int n = d->options->starts;
    *out = (dispatch_start){0};
    for (int i = -1; i < n; i++) /* the first finds cold files */
        TT_TRY(start_one(d, &starts[i < 0 ? 0 : i]));
    *out = starts[0];
    for (int i = 0; i < n; i++)
        out->nvrtc = out->nvrtc || starts[i].nvrtc;
    const size_t members[] = {offsetof(dispatch_start, exec),   offsetof(dispatch_start, cuda),
                              offsetof(dispatch_start, open),   offsetof(dispatch_start, plan),
                              offsetof(dispatch_start, launch), offsetof(dispatch_start, beyond)};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        double median = median_of(starts, n, members[i]);
        memcpy((char *)out + members[i], &median, sizeof median);
    }
    return TT_OK;
}
