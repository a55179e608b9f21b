/* Workers and their bells: this program is its own worker program, and answers as its role says. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/farm/protocol.h"
#include "tuner/farm/workers.h"

enum { HELLO = 1, ASK, REPLY, LARGE = 5 << 20, TIMEOUT_S = 20 };

/* ---- The worker ---------------------------------------------------------------------------------------- */

static int serve(const char *role, size_t bytes) {
    char *text = calloc(1, bytes + 1);
    tt__str request = {0};
    uint32_t type;
    const bool goes_unheard = strcmp(role, "unheard") == 0, goes_mute = strcmp(role, "mute") == 0,
               is_slow = strcmp(role, "slow") == 0, stops = strcmp(role, "stops") == 0;
    if (!text || tt__wire_reply(HELLO, NULL, 0) != TT_OK)
        return 1;
    while (tt__wire_recv(TT__WIRE_FD, &type, &request) == TT_OK) {
        struct iovec parts[] = {{request.text, request.len}, {text, bytes}};
        for (int i = 0; (is_slow || stops) && i < 6; i++) { /* one sleep would end while it is stopped */
            usleep(100000);
            if (stops && i == 1)
                kill(0, SIGSTOP);
        }
        if (goes_unheard) { /* as one that dies between its reply and the bell */
            tt__wire_send(TT__WIRE_FD, REPLY, parts, 2);
            _exit(7); /* without freeing anything, even if a sanitizer looks for leaks */
        }
        if (tt__wire_reply(REPLY, parts, 2) != TT_OK)
            return 1;
        while (goes_mute)
            pause();
    }
    tt__str_free(&request);
    free(text);
    return 0;
}

/* ---- The tuner ----------------------------------------------------------------------------------------- */

typedef struct office {
    tt__worker worker;
    tt__event event;
    tt__str payload;
} office;

/* Waits for an event. */
static void hear(office *o) {
    do {
        assert_true(o->worker.busy);
        assert_int_equal(tt__worker_wait_any(&o->worker, 1, TIMEOUT_S, &o->event, &o->payload), TT_OK);
    } while (o->event.kind == TT__EVENT_NONE);
}

static void hear_reply(office *o, uint32_t type, size_t bytes) {
    hear(o);
    assert_int_equal(o->event.kind, TT__EVENT_REPLY);
    assert_int_equal(o->event.type, type);
    assert_int_equal(o->payload.len, bytes);
}

static void start(office *o, const char *role, size_t bytes) {
    char arg[32];
    *o = (office){0};
    snprintf(arg, sizeof arg, "%zu", bytes);
    if (tt__worker_start(&o->worker, role, arg, TIMEOUT_S) != TT_OK)
        fail_msg("%s", tt_last_error());
    hear_reply(o, HELLO, 0);
}

static void ask(office *o, size_t job, int what) {
    tt__worker_ask(&o->worker, job, TIMEOUT_S, ASK, &(struct iovec){&what, sizeof what}, 1);
}

static void end(office *o) {
    tt__worker_stop(&o->worker);
    tt__str_free(&o->payload);
}

static size_t n_descriptors(void) {
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* One after the other, and each with another request waiting. */
static void test_replies(void **state) {
    (void)state;
    enum { N = 200 };
    office o;
    size_t before = n_descriptors();
    start(&o, "plain", 0);
    ask(&o, 0, 0);
    for (int i = 0; i < N; i++) {
        int got;
        if (i + 1 < N)
            ask(&o, (size_t)i + 1, i + 1);
        hear_reply(&o, REPLY, sizeof got);
        memcpy(&got, o.payload.text, sizeof got);
        assert_int_equal(got, i);
        assert_int_equal(o.event.job, i);
    }
    assert_false(o.worker.busy);
    end(&o);
    assert_int_equal(n_descriptors(), before);
}

/* A reply that the socket's buffer cannot hold is read while it is being sent. */
static void test_large(void **state) {
    (void)state;
    office o;
    start(&o, "plain", LARGE);
    for (int i = 0; i < 3; i++) {
        ask(&o, 0, i);
        hear_reply(&o, REPLY, sizeof i + LARGE);
    }
    ask(&o, 0, 3); /* a large one waits */
    ask(&o, 1, 4);
    hear_reply(&o, REPLY, sizeof(int) + LARGE);
    hear_reply(&o, REPLY, sizeof(int) + LARGE);
    assert_false(o.worker.busy);
    end(&o);
}

/* Each reply rings once, whatever its size. */
static void test_one_bell(void **state) {
    (void)state;
    static const size_t sizes[] = {0, LARGE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        office o;
        alarm(2 * TIMEOUT_S);
        start(&o, "mute", sizes[i]);
        ask(&o, 0, 0);
        hear_reply(&o, REPLY, sizeof(int) + sizes[i]);
        tt__worker_ask(&o.worker, 3, 0.1, ASK, NULL, 0);
        hear(&o);
        assert_int_equal(o.event.kind, TT__EVENT_TIMEOUT);
        assert_int_equal(o.event.job, 3);
        end(&o);
        alarm(0);
    }
}

/* A reply without a bell is received, and then the end. */
static void test_dies_before_the_bell(void **state) {
    (void)state;
    office o;
    start(&o, "unheard", 0);
    ask(&o, 4, 17);
    ask(&o, 5, 18);
    hear_reply(&o, REPLY, sizeof(int));
    assert_int_equal(o.event.job, 4);
    assert_true(o.worker.busy);
    hear(&o);
    assert_int_equal(o.event.kind, TT__EVENT_CRASHED);
    assert_int_equal(o.event.job, 5);
    assert_string_equal(o.event.reason, "ended with exit code 7");
    end(&o);

    start(&o, "unheard", 0);
    ask(&o, 0, 0);
    hear_reply(&o, REPLY, sizeof(int));
    for (int i = 0; i < 1000 && !tt__worker_gone(&o.worker); i++)
        usleep(1000);
    assert_true(tt__worker_gone(&o.worker));
    end(&o);
}

/* A program may have closed any of the descriptors that a worker finds its own under. */
static void test_descriptors_closed(void **state) {
    (void)state;
    for (unsigned closed = 0; closed < 32; closed++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(TIMEOUT_S);
            for (int fd = 0; fd < 5; fd++)
                if (closed >> fd & 1)
                    close(fd);
            office o = {0};
            if (tt__worker_start(&o.worker, "plain", "3", TIMEOUT_S) != TT_OK)
                _exit(1);
            for (int i = 0; i < 2; i++) {
                if (tt__worker_wait_any(&o.worker, 1, TIMEOUT_S, &o.event, &o.payload) != TT_OK)
                    _exit(2);
                if (o.event.kind != TT__EVENT_REPLY)
                    _exit(3);
                ask(&o, 0, i);
            }
            tt__worker_stop(&o.worker);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
            fail_msg("with the descriptors %x closed: %x", closed, (unsigned)status);
    }
}

/* Asks a worker for what takes 0.6 of 1.6 s. Both are stopped: before this process waits, or by the worker
 * while it does. */
static void work(bool stops) {
    static const double poll_s = 0.2, timeout_s = 1.6;
    office o = {0};
    alarm(TIMEOUT_S);
    if (tt__worker_start(&o.worker, stops ? "slow" : "stops", "0", TIMEOUT_S) != TT_OK ||
        tt__worker_wait_any(&o.worker, 1, TIMEOUT_S, &o.event, &o.payload) != TT_OK)
        _exit(1);
    tt__worker_ask(&o.worker, 0, timeout_s, ASK, NULL, 0);
    if (stops)
        kill(0, SIGSTOP);
    do
        if (tt__worker_wait_any(&o.worker, 1, poll_s, &o.event, &o.payload) != TT_OK)
            _exit(2);
    while (o.event.kind == TT__EVENT_NONE);
    tt__worker_stop(&o.worker);
    _exit(o.event.kind == TT__EVENT_REPLY ? 0 : 3);
}

/* Ctrl-Z stops this process and its workers. The time until they go on does not count. */
static void test_stopped(void **state) {
    (void)state;
    for (int stops = 0; stops < 2; stops++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            setpgid(0, 0);
            work(stops);
        }
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        assert_true(WIFSTOPPED(status));
        usleep(1500000);
        kill(-pid, SIGCONT);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

/* Time in which this process computes is not time in which it was stopped. */
static void test_computes(void **state) {
    (void)state;
    static const double timeout_s = 0.5, computes_s = 1.2;
    office o;
    start(&o, "mute", 0);
    ask(&o, 0, 0);
    hear_reply(&o, REPLY, sizeof(int));
    tt__worker_ask(&o.worker, 1, timeout_s, ASK, NULL, 0);
    for (clock_t begin = clock(); clock() - begin < computes_s * CLOCKS_PER_SEC;)
        ;
    assert_int_equal(tt__worker_wait_any(&o.worker, 1, 0, &o.event, &o.payload), TT_OK);
    assert_int_equal(o.event.kind, TT__EVENT_TIMEOUT);
    end(&o);
}

/* Too few descriptors are left: said, and none lost. */
static void test_no_descriptors(void **state) {
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        enum { BELL = 16, LIMIT = 64 };
        bool good = true, failed[2] = {false, false};
        while (dup(STDERR_FILENO) < BELL - 1)
            ;
        close(BELL - 2); /* the only one below the bell's */
        size_t before = n_descriptors();
        for (rlim_t most = BELL - 2; most < BELL + 4; most++) {
            tt__worker w;
            setrlimit(RLIMIT_NOFILE, &(struct rlimit){most, LIMIT});
            tt_status status = tt__worker_start(&w, "plain", "0", TIMEOUT_S);
            failed[0] |= status != TT_OK && strstr(tt_last_error(), "eventfd");
            failed[1] |= status != TT_OK && strstr(tt_last_error(), "socketpair");
            good &= status == TT_OK || (status == TT_E_IO && w.pid == 0);
            good &= status == TT_OK || strstr(tt_last_error(), "open files are allowed") != NULL;
            if (status == TT_OK)
                tt__worker_stop(&w);
            setrlimit(RLIMIT_NOFILE, &(struct rlimit){LIMIT, LIMIT});
            good &= n_descriptors() == before;
        }
        _exit(good && failed[0] && failed[1] ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_no_program(void **state) {
    (void)state;
    char path[] = "/tmp/tiletune-worker-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0700), 0);
    assert_int_equal(write(fd, "no program\n", 11), 11);
    close(fd);
    setenv("TILETUNE_WORKER", path, 1);
    size_t before = n_descriptors();
    tt__worker w;
    assert_int_equal(tt__worker_start(&w, "plain", "0", TIMEOUT_S), TT_E_IO);
    assert_int_equal(w.pid, 0);
    assert_int_equal(n_descriptors(), before);
    setenv("TILETUNE_WORKER", "/proc/self/exe", 1);
    unlink(path);
}

/* Where children are not waited for, nothing tells how a worker ended. */
static void test_children_ignored(void **state) {
    (void)state;
    office o = {0};
    signal(SIGCHLD, SIG_IGN);
    start(&o, "plain", 0);
    kill(o.worker.pid, SIGKILL);
    ask(&o, 0, 0);
    hear(&o);
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(o.event.kind, TT__EVENT_CRASHED);
    assert_string_equal(o.event.reason, "ended; how is unknown, as the program ignores SIGCHLD");
    tt__str_free(&o.payload);
}

int main(int argc, char **argv) {
    if (argc == 3)
        return serve(argv[1], strtoull(argv[2], NULL, 10));
    setenv("TILETUNE_WORKER", "/proc/self/exe", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_one_bell),
        cmocka_unit_test(test_dies_before_the_bell),
        cmocka_unit_test(test_descriptors_closed),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_computes),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_children_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
