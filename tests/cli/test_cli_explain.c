/* `tune explain` on the stand-ins, without counters and with a stand-in for CUPTI, and on a recording. */
#include <math.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run.h"
#include "write_in.h"

static char kernel[256], matrix[128];

static int enter(void **state) {
    (void)state;
    const char *folder = run_enter_on_standins();
    snprintf(kernel, sizeof kernel,
             "--kernel " TT_SOURCE_DIR "/examples/kernels/saxpy.cu --problem n=5000 --db %s/x.db", folder);
    snprintf(matrix, sizeof matrix, "--db %s/x.db", folder);
    setenv("TILETUNE_CUPTI", "/nowhere/libcupti.so", 1);
    return 0;
}

static void explain(run_result *r, const char *what, const char *options) {
    char line[512];
    snprintf(line, sizeof line, "explain %s %s", what, options);
    run_tune_faulty(r, "", line);
}

static void test_untuned(void **state) {
    char line[512];
    run_result r;
    (void)state;
    static const char *const questions[] = {"explain", "finals"};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) { /* which make no store */
        snprintf(line, sizeof line, "%s %s", questions[i], kernel);
        run_tune_faulty(&r, "", line);
        assert_code(&r, 4);
        assert_has(&r, r.err, "x.db: there is no store here");
        assert_int_not_equal(access(strstr(kernel, "--db ") + 5, F_OK), 0);
        run_free(&r);
    }
    snprintf(line, sizeof line, "--sizes 64 --max-trials 1 --quiet %s", matrix);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    explain(&r, kernel, "");
    assert_code(&r, 1);
    assert_has(&r, r.err, "n=5000, elem=f32 has no winner");
    assert_has(&r, r.err, "run \"tune\" with the same problem first");
    assert_string_equal(r.out, "");
    run_free(&r);
}

static void test_kernel(void **state) {
    char line[512], time[32];
    run_result r;
    (void)state;
    snprintf(line, sizeof line, "%s --max-trials 6 --quiet", kernel);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    explain(&r, kernel, "");
    assert_code(&r, 0);
    assert_has(&r, r.out, "winner");
    assert_has(&r, r.out, "Without counters: TILETUNE_CUPTI names /nowhere/libcupti.so");
    assert_has(&r, r.out, "THREADS=");
    run_free(&r);
    explain(&r, kernel, "--json --trial-timeout 20");
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"role\":\"winner\"");
    assert_has(&r, r.out, "\"role\":\"copy\"");
    assert_has(&r, r.out, "\"role\":\"neighbour\"");
    assert_has(&r, r.out, "\"counters\":{}");
    assert_has(&r, r.out, "\"sentences\":[\"");
    assert_has(&r, r.out, "\"in_bytes\":40000,\"out_bytes\":20000"); /* y is both */
    assert_has(&r, r.out, "\"in_bytes\":30000,\"out_bytes\":30000"); /* the copy of as many */
    assert_has(&r, r.out, "\"launches\":1,");
    assert_true(atof(run_json(time, sizeof time, r.out, "time_us")) > 0);
    run_free(&r);
}

static void test_counters(void **state) {
    run_result r;
    (void)state;
    setenv("TILETUNE_CUPTI", TT_FAKE_CUPTI, 1);
    explain(&r, kernel, "");
    assert_code(&r, 0);
    assert_has(&r, r.out, "waits for");
    assert_null(strstr(r.out, "Without counters"));
    run_free(&r);
    explain(&r, kernel, "--json");
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"replays\":3");
    assert_has(&r, r.out, "\"lts__t_sector_hit_rate.pct\":50");
    assert_has(&r, r.out, "\"dram__bytes_read.sum\":1000");
    assert_has(&r, r.out, "\"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active\":null");
    run_free(&r);
    setenv("FAKE_CUPTI_ERROR", "35", 1);
    explain(&r, kernel, "");
    assert_code(&r, 0);
    assert_has(&r, r.out, "NVreg_RestrictProfilingToAdminUsers=0");
    run_free(&r);
    setenv("FAKE_CUPTI_ERROR", "4", 1);
    explain(&r, kernel, "");
    assert_has(&r, r.out, "CUPTI could not count (enable, error 4)");
    run_free(&r);
    unsetenv("FAKE_CUPTI_ERROR");
    setenv("TILETUNE_CUPTI", "/nowhere/libcupti.so", 1);
}

/* "VEC=8,UNROLL=1,...": what a fault matches of the first configuration in a JSON text. */
static void hungry_of(char *out, size_t size, const char *json) {
    static const char *const names[] = {"VEC", "UNROLL", "THREADS", "HINT"};
    char value[32];
    *out = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(out);
        snprintf(out + n, size - n, "%s%s=%s", i ? "," : "", names[i],
                 run_json(value, sizeof value, json, names[i]));
    }
}

/* Of the winner above. A launch takes 100 W beyond idle power, which is little, because the wall clock tells
 * it and a busy host disturbs that. */
static void test_energy(void **state) {
    char line[512], hungry[96], other[96], faults[128], text[32];
    run_result r;
    (void)state;
    snprintf(line, sizeof line, "explain %s --energy", kernel);
    run_tune_faulty(&r, ":slow=500", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "Without energies: NVML does not count this GPU's energy");
    run_free(&r);
    setenv("HOSTCUDA_CLOCKS", "1980", 1);
    setenv("HOSTCUDA_WATTS", "20,100", 1);
    snprintf(line, sizeof line, "explain %s --energy --json", kernel);
    run_tune_faulty(&r, ":slow=500", line);
    assert_code(&r, 0);
    const double joules = atof(run_json(text, sizeof text, r.out, "joules"));
    const double us = atof(run_json(text, sizeof text, r.out, "time_us"));
    if (!(fabs(joules / (100e-6 * us) - 1) < 0.05))
        fail_msg("%g J in %g us: %s", joules, us, r.out);
    hungry_of(hungry, sizeof hungry, r.out);
    run_free(&r);
    /* The fastest takes most now, so that another one wins by energy. */
    snprintf(faults, sizeof faults, ":slow=500;%s:hungry=5", hungry);
    snprintf(line, sizeof line, "%s --max-trials 6 --objective energy --json", kernel);
    run_tune_faulty(&r, faults, line);
    assert_code(&r, 0);
    assert_has(&r, r.err, "energy");
    hungry_of(other, sizeof other, r.out);
    assert_string_not_equal(other, hungry);
    run_free(&r);
    setenv("HOSTCUDA_WATTS", "70,100,0,1000", 1); /* and now with more noise than power */
    snprintf(line, sizeof line, "explain %s --energy", kernel);
    run_tune_faulty(&r, ":slow=500", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "It cannot be told");
    run_free(&r);
    snprintf(line, sizeof line, "report --db %s/x.db --json", getenv("XDG_DATA_HOME"));
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"idle_watts\":");
    run_free(&r);
    unsetenv("HOSTCUDA_WATTS");
    unsetenv("HOSTCUDA_CLOCKS");
}

/* Interrupts a run once, as soon as it catches the signal. */
static void interrupt(void *user, pid_t pid, double seconds, const char *err) {
    bool *done = user;
    char path[64], line[256];
    unsigned long long caught = 0;
    (void)seconds, (void)err;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = *done ? NULL : fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "SigCgt:", 7) == 0)
            caught = strtoull(line + 7, NULL, 16);
    if (f)
        fclose(f);
    if (caught & 1ULL << (SIGINT - 1))
        *done = kill(-pid, SIGINT) == 0;
}

/* Both measure all again. */
static void test_interrupted(void **state) {
    static const char *const commands[] = {"explain", "finals"};
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[512];
        bool done = false;
        run_result r;
        snprintf(line, sizeof line, "%s %s", commands[i], kernel);
        run_tune(&r, &(run_spec){.meanwhile = interrupt, .user = &done, .timeout_s = RUN_TUNE_TIMEOUT_S},
                 line);
        assert_code(&r, 130);
        assert_has(&r, r.err, "the same command starts over");
        run_free(&r);
    }
}

/* A store of others is explained, and stays as it is. */
static void test_a_store_that_cannot_be_written(void **state) {
    (void)state;
    char line[512], path[128], folder[128];
    bool done = false;
    run_result r;
    struct stat before, now;
    snprintf(path, sizeof path, "%s", strstr(kernel, "--db ") + 5);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(stat(path, &before), 0);
    assert_true(chmod(path, 0400) == 0 && chmod(folder, 0500) == 0);
    snprintf(line, sizeof line, "explain %s", kernel);
    run_tune(&r, &(run_spec){.timeout_s = RUN_TUNE_TIMEOUT_S, .obeys_modes = true}, line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "winner");
    assert_has(&r, r.err, "tune: nothing of this is kept: ");
    assert_has(&r, r.err, "cannot read and write the store: Permission denied");
    run_free(&r);
    run_tune(&r,
             &(run_spec){
                 .meanwhile = interrupt, .user = &done, .timeout_s = RUN_TUNE_TIMEOUT_S, .obeys_modes = true},
             line);
    assert_true(chmod(folder, 0700) == 0 && chmod(path, 0600) == 0);
    assert_code(&r, 130);
    assert_has(&r, r.err, "tune: interrupted; nothing of this is kept: ");
    assert_null(strstr(r.err, "trials and winners are kept"));
    run_free(&r);
    assert_int_equal(stat(path, &now), 0);
    assert_true(now.st_size == before.st_size && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
}

static void test_permutation(void **state) {
    run_result r;
    (void)state;
    run_tune_faulty(&r, "", "--permute 1,0,2 --dims 6,5,7 --max-trials 3");
    assert_code(&r, 0);
    run_free(&r);
    run_tune_faulty(&r, "", "explain --permute 1,0,2 --dims 6,5,7");
    assert_code(&r, 0);
    assert_has(&r, r.out, "permute of ");
    assert_has(&r, r.out, "Without counters");
    run_free(&r);
    run_tune_faulty(&r, "", "explain --permute 1,0,2");
    assert_code(&r, 2);
    assert_has(&r, r.err, "--permute and --dims go together");
    run_free(&r);
}

static void test_replay(void **state) {
    char line[512];
    run_result r;
    (void)state;
    snprintf(line, sizeof line,
             "explain --device replay:" TT_SOURCE_DIR "/tests/data/small.json --size 4096");
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "Memory is the limit");
    assert_has(&r, r.out, "Without counters: a recording has none");
    run_free(&r);
    strcat(line, " --json");
    run_tune(&r, NULL, line);
    assert_has(&r, r.out, "\"param\":\"THREADS\",\"value\":\"128\",\"instead_of\":\"256\""); /* the nearest */
    assert_has(&r, r.out, "\"param\":\"THREADS\",\"value\":\"512\",\"instead_of\":\"256\"");
    run_free(&r);
}

/* What `tune show` writes to a terminal about the search. */
static void shown_search(char *out, size_t size, const char *folder) {
    static const char *const env[] = {"LC_ALL=C.UTF-8", "TERM=xterm", NULL};
    struct winsize window = {.ws_row = 60, .ws_col = 100};
    char line[512], text[4096] = "", name[64];
    int fds[2];
    run_result r;
    assert_int_equal(openpty(&fds[0], &fds[1], name, NULL, &window), 0);
    snprintf(line, sizeof line, "show --kernel %s/objective.cu --db %s/objective.db", folder, folder);
    run_tune(&r, &(run_spec){.env = env, .output = name}, line);
    assert_code(&r, 0);
    run_free(&r);
    const char *at = NULL;
    for (size_t n = 0; !at || !strchr(at, '\n');) { /* one read may get a part */
        const ssize_t more = read(fds[0], text + n, sizeof text - 1 - n);
        assert_true(more > 0);
        n += (size_t)more;
        at = strstr(text, "search");
    }
    snprintf(out, size, "%.*s", (int)strcspn(at, "\r\n"), at);
    close(fds[0]);
    close(fds[1]);
}

/* With an objective, too, times are those that were measured. Here the winner is the one that counts for
 * less. */
static void test_objective(void **state) {
    const char *folder = getenv("XDG_DATA_HOME");
    char line[512], got[64];
    run_result r;
    (void)state;
    write_in(folder, "objective.cu",
             "//@ kernel    by_objective\n//@ buffer    y i32 64 inout\n//@ param     MODE 0 1\n"
             "//@ block     64\n//@ grid      1\n//@ args      y\n//@ default   MODE=0\n"
             "//@ reference plain\n//@ block 64\n//@ grid 1\n//@ args y\n"
             "//@ metric    gflops 64 / time_ns\n"
             "//@ metric    cost iif(MODE = 1, 1, 1000) * time_ns\n//@ objective minimize cost\n"
             "extern \"C\" __global__ void by_objective(int *y) { y[threadIdx.x] += 1; }\n"
             "extern \"C\" __global__ void plain(int *y) { y[threadIdx.x] += 1; }\n");
    snprintf(line, sizeof line, "--kernel %s/objective.cu --quiet --db %s/objective.db", folder, folder);
    run_tune_faulty(&r, "MODE=1:slow=2", line);
    assert_code(&r, 0);
    run_free(&r);
    snprintf(line, sizeof line, "export --gpu hostcuda --output %s/objective.json --db %s/objective.db",
             folder, folder);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    run_free(&r);
    snprintf(line, sizeof line, "explain --kernel %s/objective.cu --device replay:%s/objective.json --json",
             folder, folder);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"role\":\"winner\",\"kernel\":\"by_objective\",\"config\":{\"MODE\":1}");
    const double us = atof(run_json(got, sizeof got, r.out, "time_us")),
                 gflops = atof(run_json(got, sizeof got, r.out, "gflops"));
    assert_true(us > 0.5 && us < 1000);
    assert_true(fabs(gflops * us - 0.064) < 1e-6);
    assert_has(&r, r.out, "MODE=0 in place of 1 is ");
    assert_null(strstr(r.out, "tune again")); /* it is faster, but not better */
    run_free(&r);
    double best_us = 0;
    shown_search(line, sizeof line, folder); /* to the best one, which is not the fastest */
    if (sscanf(line, "search %*s %*f us to %lf us", &best_us) != 1 || best_us < 0.75 * us)
        fail_msg("%s, and the winner takes %g us", line, us);
}

/* How many stored trials have such a weight. */
static size_t n_stored(const char *folder, const char *weight) {
    char line[512];
    run_result r;
    size_t n = 0;
    snprintf(line, sizeof line, "export --gpu hostcuda --db %s/some.db", folder);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    for (const char *at = r.out; (at = strstr(at, weight)); at++)
        n++;
    run_free(&r);
    return n;
}

/* A neighbour that the search left out is stored with its weight. */
static void test_stores_weights(void **state) {
    const char *folder = getenv("XDG_DATA_HOME");
    char line[400];
    run_result r;
    (void)state;
    write_in(folder, "some.cu",
             "//@ kernel    some\n//@ buffer    y i32 64 inout\n//@ param     MODE 0 1 2 3 4 5 6 7\n"
             "//@ block     64\n//@ grid      1\n//@ args      y\n//@ default   MODE=0\n"
             "//@ reference plain\n//@ block 64\n//@ grid 1\n//@ args y\n"
             "//@ metric    cost iif(MODE > 0, 1, 1000) * time_ns\n//@ objective minimize cost\n"
             "extern \"C\" __global__ void some(int *y) { y[threadIdx.x] += 1; }\n"
             "extern \"C\" __global__ void plain(int *y) { y[threadIdx.x] += 1; }\n");
    snprintf(line, sizeof line, "--kernel %s/some.cu --quiet --max-trials 1 --db %s/some.db", folder, folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    const size_t n_light = n_stored(folder, "\"weight\":0.001"), n_default = n_stored(folder, "\"weight\":1");
    snprintf(line, sizeof line, "--kernel %s/some.cu --db %s/some.db", folder, folder);
    explain(&r, line, "");
    assert_code(&r, 0);
    run_free(&r);
    assert_true(n_stored(folder, "\"weight\":0.001") > n_light);
    assert_int_equal(n_stored(folder, "\"weight\":1"), n_default);
}

static void test_usage(void **state) {
    run_result r;
    (void)state;
    explain(&r, "", "");
    assert_code(&r, 2);
    assert_has(&r, r.err, "or --permute, --op or --kernel");
    run_free(&r);
    explain(&r, matrix, "--size 64 --gpu H100");
    assert_code(&r, 2);
    run_free(&r);
    run_tune(&r, NULL, "--sizes 64 --objective speed");
    assert_code(&r, 2);
    assert_has(&r, r.err, "\"speed\" is no objective: it is time, energy or edp");
    run_free(&r);
    run_tune(&r, NULL,
             "--device replay:" TT_SOURCE_DIR "/tests/data/small.json --sizes 4096 --objective edp");
    assert_code(&r, 2);
    assert_has(&r, r.err, "a recording has no energies");
    run_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_untuned),
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_counters), /* of the winner above, as the next ones */
        cmocka_unit_test(test_energy),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_a_store_that_cannot_be_written),
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_objective),
        cmocka_unit_test(test_stores_weights),
        cmocka_unit_test(test_usage),
    };
    return cmocka_run_group_tests(tests, enter, run_leave);
}
