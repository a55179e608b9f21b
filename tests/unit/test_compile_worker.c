/* The compiler of the farm, as a process of its own, with an NVRTC that refuses what the name of a program
 * says. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/farm/protocol.h"
#include "tuner/farm/workers.h"

enum { TIMEOUT_S = 20 };

static tt__worker worker;
static tt__event event;
static tt__str payload;

static void hear(uint32_t type) {
    do
        assert_int_equal(tt__worker_wait_any(&worker, 1, TIMEOUT_S, &event, &payload), TT_OK);
    while (event.kind == TT__EVENT_NONE);
    assert_int_equal(event.kind, TT__EVENT_REPLY);
    assert_int_equal(event.type, type);
}

static void compile(const char *name, tt_status status) {
    static char source[] = "", options[] = "-DN=1";
    tt__msg_compile m = {90, 1, strlen(name) + 1, sizeof source, sizeof options};
    tt__worker_ask(&worker, 0, TIMEOUT_S, TT__MSG_COMPILE,
                   (struct iovec[]){{&m, sizeof m},
                                    {(void *)(uintptr_t)name, m.name_size},
                                    {source, sizeof source},
                                    {options, sizeof options}},
                   4);
    hear(TT__MSG_COMPILED);
    const tt__msg_compiled *reply = (const tt__msg_compiled *)payload.text;
    assert_int_equal(reply->done.status, status);
    assert_int_equal(payload.len - sizeof *reply, status == TT_OK ? sizeof "image" : 0);
    assert_true(reply->begin_s > 0 && reply->end_s >= reply->begin_s);
}

static void expect_name(const char *name) {
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)worker.pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(text, name);
}

/* While it has nothing to do it is not called what it was last at, whether that went well or not. */
static void test_names(void **state) {
    (void)state;
    assert_int_equal(tt__worker_start(&worker, "compile", "", TIMEOUT_S), TT_OK);
    hear(TT__MSG_HELLO);
    compile("kernels/plain.cu", TT_OK);
    expect_name("tiletune-worker");
    compile("wrong.cu", TT_E_COMPILE);
    expect_name("tiletune-worker");
    compile("plain.cu", TT_OK);
    expect_name("tiletune-worker");
    tt__worker_stop(&worker);
    tt__str_free(&payload);
}

static void core_limit(char text[256]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/limits", (int)worker.pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(text, 256, f) && strncmp(text, "Max core file size", 18) != 0)
        ;
    fclose(f);
}

/* The worker inherits neither the host's open files nor its limit on core files. */
static void test_inherits_nothing(void **state) {
    (void)state;
    char path[64], limit[256];
    int fd = open("/dev/full", O_RDWR); /* without CLOEXEC */
    assert_true(fd > 2);
    int high = fcntl(fd, F_DUPFD, 200);
    assert_int_equal(tt__worker_start(&worker, "compile", "", TIMEOUT_S), TT_OK);
    hear(TT__MSG_HELLO);
    snprintf(path, sizeof path, "/proc/%d/fd", (int)worker.pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder));) {
        char name[512], to[256];
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        ssize_t n = readlink(name, to, sizeof to - 1);
        to[n > 0 ? n : 0] = '\0';
        assert_string_not_equal(to, "/dev/full");
    }
    closedir(folder);
    core_limit(limit);
    assert_non_null(strstr(limit, " 0                    0 "));
    close(high);
    close(fd);
    tt__worker_stop(&worker);
    tt__str_free(&payload);
}

/* One for each CPU that the process may use, not for each that there is. */
static void test_number(void **state) {
    (void)state;
    enum { MOST = 8 }; /* below the most compilers */
    cpu_set_t all, few;
    tt__workers workers;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&few);
    for (int i = 0, n = 0; i < CPU_SETSIZE && n < CPU_COUNT(&all) - 1 && n < MOST; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &few);
            n++;
        }
    if (CPU_COUNT(&few) == 0)
        skip(); /* a single CPU tells nothing */
    assert_int_equal(sched_setaffinity(0, sizeof few, &few), 0);
    assert_int_equal(tt__workers_open(&workers, &(int){0}, 1, 0, NULL, NULL), TT_OK);
    assert_int_equal(tt__workers_compilers(&workers), CPU_COUNT(&few));
    tt__workers_close(&workers);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){1 << 20, 1 << 20});
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_inherits_nothing),
                                       cmocka_unit_test(test_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
