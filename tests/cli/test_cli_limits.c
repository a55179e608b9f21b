/*
 * How far a run of `tune` goes, and what it tells meanwhile, on the CPU stand-in for a GPU ($HOSTCUDA_DIR):
 * efforts, budgets, long launches, interruptions, the bar, the timeline.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run.h"
#include "write_in.h"

enum { EXIT_SKIPPED = 77 };
static const char *folder;

/* Its kernels are the same for all sizes: they are compiled for the stand-in once. */
#define TILED "--only transpose_tiled "

static int enter(void **state) {
    (void)state;
    run_result r;
    char line[256];
    folder = run_enter_on_standins();
    snprintf(line, sizeof line, "--sizes 97 --max-trials 4 --json --db %s/first.db", folder);
    /* What every run needs is compiled here for the stand-in and cached: no budget below is spent on it. */
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    return 0;
}

/* The same effort again measures nothing, a higher one goes on from there. */
static void test_effort_goes_on(void **state) {
    (void)state;
    char line[256], known[256], got[256], number[32];
    run_result r;
    snprintf(line, sizeof line, "--sizes 64 " TILED "--json --effort quick --db %s/effort.db", folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    int quick = atoi(run_json(number, sizeof number, r.out, "trials"));
    assert_in_range(quick, 48, 49);
    run_json(known, sizeof known, r.out, "config");
    run_free(&r);
    run_tune_faulty(&r, "", line);
    assert_has(&r, r.out, "\"source\":\"stored\"");
    assert_string_equal(run_json(got, sizeof got, r.out, "config"), known);
    run_free(&r);
    snprintf(line, sizeof line, "--sizes 64 " TILED "--json --max-trials 60 --db %s/effort.db", folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"source\":\"measured\"");
    assert_in_range(atoi(run_json(number, sizeof number, r.out, "trials")), 60, 62);
    run_free(&r);
}

/* What was given up is tried again only if it has longer than it had. One configuration hangs in its trial,
 * and one in its compiler. */
static void test_longer_limits(void **state) {
    (void)state;
    static const struct {
        int trial_s, compile_s;
        const char *faults, *failed;
    } runs[] = {{10, 10, "kernel=k,B=64:hang;kernel=k,B=16:compile_hang", ", 2 failed, "},
                {10, 10, "", ", 2 failed, "},
                {30, 10, "", ", 1 failed, "},
                {30, 30, "", ", 0 failed, "}};
    write_in(folder, "k.cu",
             "//@ kernel k\n//@ problem n 64\n//@ buffer y u32 n out\n//@ param B 16 32 64\n"
             "//@ block B\n//@ grid n / B\n//@ args y\n//@ default B=32\n"
             "//@ reference r\n//@ block 64\n//@ grid 1\n//@ args y\n"
             "extern \"C\" __global__ void k(unsigned *y) { y[blockIdx.x * B + threadIdx.x] = 2; }\n"
             "extern \"C\" __global__ void r(unsigned *y) { y[threadIdx.x] = 2; }\n");
    char line[256];
    run_result r;
    /* Nothing else of the file is compiled under a limit below. */
    snprintf(line, sizeof line, "--kernel %s/k.cu --db %s/cached.db", folder, folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        snprintf(line, sizeof line, "--kernel %s/k.cu --trial-timeout %d --compile-timeout %d --db %s/k.db",
                 folder, runs[i].trial_s, runs[i].compile_s, folder);
        run_tune_faulty(&r, runs[i].faults, line);
        assert_code(&r, 0);
        assert_has(&r, r.out, "3 of 3 configurations tried");
        assert_has(&r, r.out, runs[i].failed);
        run_free(&r);
    }
    snprintf(line, sizeof line, "--kernel %s/k.cu --compile-timeout 10 --db :memory:", folder);
    run_tune_faulty(&r, "kernel=tt_fill:compile_hang", line);
    assert_code(&r, 1);
    assert_has(&r, r.err, "the verifier's own kernels compiled longer than 10 s, the limit of a compile");
    run_free(&r);
}

/* Where a budget is to be spent, compilers sleep, so that it is not all CPU time. */
static const char slowly[] = "kernel=transpose_tiled:compile_slow=250";

/* A budget in whole seconds that suffices to find a winner for these sizes. It is `least_s`, or four times
 * what a few trials take now if the machine is busy. */
static double enough_s(const char *sizes, const char *faults, double least_s) {
    char line[256];
    run_result r;
    snprintf(line, sizeof line, "--sizes %s " TILED "--max-trials 4 --quiet --db :memory:", sizes);
    run_tune_faulty(&r, faults, line);
    assert_code(&r, 0);
    double enough = fmax(least_s, ceil(4 * r.seconds));
    run_free(&r);
    return enough;
}

/* The timeline folder/NAME.json shows that the budget was kept, however busy the machine was. After its end,
 * workers may be idle for so many seconds. */
static void assert_kept(const run_result *tuned, const char *name, double budget_s, int problems,
                        double idle_s) {
    char path[160], numbers[4][32];
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    snprintf(numbers[0], sizeof *numbers, "%g", budget_s);
    snprintf(numbers[1], sizeof *numbers, "%d", problems);
    snprintf(numbers[2], sizeof *numbers, "%.6f", tuned->seconds);
    snprintf(numbers[3], sizeof *numbers, "%g", idle_s);
    const char *argv[] = {"python3",  TT_SOURCE_DIR "/tests/cli/check_budget.py",
                          path,       numbers[0],
                          numbers[1], numbers[2],
                          numbers[3], NULL};
    run_result r;
    run(&r, argv, NULL);
    assert_code(&r, 0);
    run_free(&r);
}

/* A budget ends the search with a winner, says so, and the next run goes on. */
static void test_budget(void **state) {
    (void)state;
    char line[256], number[32];
    run_result r;
    double budget_s = enough_s("64,65", slowly, 3);
    snprintf(line, sizeof line,
             "--sizes 64,65 " TILED
             "--json --effort exhaustive --budget %gs --db %s/budget.db --trace %s/budget.json",
             budget_s, folder, folder);
    run_tune_faulty(&r, slowly, line);
    assert_code(&r, 0);
    snprintf(line, sizeof line, "the budget of %g s ended the search after", budget_s);
    assert_has(&r, r.out, line);
    snprintf(line, sizeof line, "65x65: the budget of %g s", budget_s);
    assert_has(&r, r.err, line);
    assert_kept(&r, "budget", budget_s, 2, 3);
    assert_true(atoi(run_json(number, sizeof number, r.out, "trials")) <
                atoi(run_json(line, sizeof line, r.out, "space")));
    int first = atoi(number);
    run_free(&r);
    snprintf(line, sizeof line, "--sizes 64 " TILED "--json --max-trials %d --db %s/budget.db", first + 10,
             folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_in_range(atoi(run_json(number, sizeof number, r.out, "trials")), first + 10, first + 12);
    run_free(&r);
}

/* The end does not wait for a compiler that hangs. */
static void test_budget_and_a_compiler_that_hangs(void **state) {
    (void)state;
    char line[256];
    run_result r;
    double budget_s = enough_s("131", "", 4);
    snprintf(line, sizeof line,
             "--sizes 131 --only transpose_tiled,transpose_shifted --budget %gs --effort quick --db "
             "%s/hangs.db --trace %s/hangs.json",
             budget_s, folder, folder);
    run_tune_faulty(&r, "kernel=transpose_shifted,THREADS=128:compile_hang", line);
    assert_code(&r, 0);
    assert_kept(&r, "hangs", budget_s, 1, 3);
    run_free(&r);
}

/* The launch that verifies is the only one of a configuration that takes 1.2 times as long. Other long ones
 * take three more. */
static const char launches_are_few[] =
    "import json, sys\n"
    "trials = [t for t in json.load(sys.stdin)['results'] if 'KIND' in t['configuration'] and t['stage'] == "
    "'screen']\n"
    "ms = {t['configuration']['KIND']: t['times']['runtimes'] for t in trials}\n"
    "assert all(len(x) == (1 if kind == 7 else 3) for kind, x in ms.items()), ms\n"
    "assert abs(ms[7][0] / ms[0][0] - 1.2) < 0.01, ms\n";

static void test_long_launches(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(line, sizeof line,
             "--sizes 99 --template " TT_SOURCE_DIR "/tests/fault/faulty.cu --only faulty --db %s/long.db",
             folder);
    run_tune_faulty(&r, "kernel=faulty:slow=100000;kernel=faulty,KIND=7:slow=120000", line);
    assert_code(&r, 0);
    run_free(&r);
    snprintf(line, sizeof line, "'%s' export --gpu hostcuda --db %s/long.db | python3 -c \"$0\"",
             getenv("TUNE"), folder);
    const char *argv[] = {"sh", "-c", line, launches_are_few, NULL};
    run(&r, argv, NULL);
    assert_code(&r, 0);
    run_free(&r);
}

/* The default is tried, even if it compiles for longer than the budget and others do not. */
static void test_the_default_is_awaited(void **state) {
    (void)state;
    static const char kernel[] =
        "//@ kernel k\n//@ problem n 64\n//@ buffer x f32 n inout\n//@ param THREADS 32 64 96\n"
        "//@ block THREADS\n//@ grid ceil_div(n, THREADS)\n//@ args x, i64 n\n//@ default THREADS=64\n"
        "extern \"C\" __global__ void k(float *x, long long n) {\n"
        "    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n)\n        x[i] += 1;\n}\n";
    char line[256];
    run_result r;
    write_in(folder, "slow.cu", kernel);
    snprintf(line, sizeof line, "--kernel %s/slow.cu --unverified --budget 1s --json --db %s/slow.db", folder,
             folder);
    run_tune_faulty(&r, "THREADS=64:compile_slow=3000", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"speedup_vs_default\":1");
    run_free(&r);
}

/* If all that were tried in time fail, the budget may be why. */
static void test_a_budget_of_failures(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(line, sizeof line,
             "--sizes 99 --budget 4s --template " TT_SOURCE_DIR
             "/tests/fault/faulty.cu --only faulty --db %s/failures.db",
             folder);
    run_tune_faulty(&r, "kernel=faulty:wrong;kernel=faulty,KIND=7:compile_hang", line);
    assert_code(&r, 1);
    assert_has(&r, r.err, "every configuration tried within the budget of 4 s failed");
    run_free(&r);
}

/* Nothing can be found in no time: that is said, and is no crash. */
static void test_no_time_at_all(void **state) {
    (void)state;
    char line[256];
    run_result r;
    snprintf(line, sizeof line, "--sizes 133 --budget 10ms --db %s/no-time.db", folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 1);
    assert_has(&r, r.err, "the budget of 0.01 s was over before a configuration could be tried: allow more");
    run_free(&r);
}

static void test_interrupted_run_goes_on(void **state) {
    (void)state;
    char line[256];
    run_result r;
    snprintf(line, sizeof line, "--sizes 81 " TILED "--effort quick --json --db %s/interrupted.db", folder);
    run_tune(&r, &(run_spec){.interrupt_at = "search", .timeout_s = RUN_TUNE_TIMEOUT_S}, line);
    assert_code(&r, 130);
    assert_has(&r, r.err, "run the same command again");
    assert_has(&r, r.out, "\"results\":["); /* the results so far */
    run_free(&r);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    snprintf(line, sizeof line, "--sizes 89 --effort quick --db %s/interrupted.db", folder);
    run_tune(&r, &(run_spec){.interrupt_at = "search", .interrupt_twice = true, .timeout_s = 60}, line);
    assert_code(&r, 130);
    run_free(&r);
}

static void test_bar(void **state) {
    (void)state;
    char line[256];
    run_result r;
    snprintf(line, sizeof line, "--sizes 41 " TILED "--max-trials 64 --json --db %s/bar.db", folder);
    run_tune(&r, &(run_spec){.columns = 80, .timeout_s = RUN_TUNE_TIMEOUT_S}, line);
    assert_code(&r, 0);
    assert_has(&r, r.err, "\r41x41 ");
    assert_has(&r, r.err, "[#");
    assert_has(&r, r.err, " left");
    size_t n = strlen(r.err);
    assert_true(n >= 4 && strcmp(r.err + n - 4, "\r\033[K") == 0);
    run_free(&r);
}

static void test_clocks_that_fall(void **state) {
    (void)state;
    static const struct {
        const char *clocks, *says;
    } cases[] = {
        {"HOSTCUDA_CLOCKS=1980,1980,1980,900,1980",
         "fell from 1980 to 900 MHz because of heat: samples are taken again"},
        {"HOSTCUDA_CLOCKS=345,900,1980,1980,1800,1980", NULL}, /* rises, then moves as it always does */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256];
        const char *env[] = {cases[i].clocks, NULL};
        run_result r;
        snprintf(line, sizeof line, "--sizes 45 --only transpose_tiled --json --db %s/clocks-%zu.db", folder,
                 i);
        run_tune(&r, &(run_spec){.env = env, .timeout_s = RUN_TUNE_TIMEOUT_S}, line);
        assert_code(&r, 0);
        if (cases[i].says)
            assert_has(&r, r.err, cases[i].says);
        else
            assert_null(strstr(r.err, " fell "));
        run_free(&r);
    }
}

/* The timeline is whole JSON with a row for each process, also where a run is interrupted. */
static void test_trace(void **state) {
    (void)state;
    char line[512], path[160];
    snprintf(path, sizeof path, "%s/trace.json", folder);
    for (int interrupted = 0; interrupted < 2; interrupted++) {
        run_result r;
        snprintf(line, sizeof line,
                 "--sizes 57 " TILED "--effort quick --jobs 2 --json --db %s/trace-%d.db --trace %s", folder,
                 interrupted, path);
        run_tune(&r,
                 &(run_spec){.interrupt_at = interrupted ? "search" : NULL, .timeout_s = RUN_TUNE_TIMEOUT_S},
                 line);
        assert_code(&r, interrupted ? 130 : 0);
        run_free(&r);
        const char *argv[] = {TT_SOURCE_DIR "/scripts/trace_report.py", path, "--json", NULL};
        run(&r, argv, NULL);
        assert_code(&r, 0);
        if (!interrupted) {
            assert_has(&r, r.out, "\"gpu_busy\": ");
            assert_has(&r, r.out, "\"compiles_per_s\": ");
            assert_has(&r, r.out, "\"gpu_finals_s\": ");
        }
        run_free(&r);
    }
    run_result r;
    run_tune(&r, NULL, "--sizes 57 --trace /nonexistent/trace.json");
    assert_code(&r, 1);
    assert_has(&r, r.err, "/nonexistent/trace.json");
    run_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_effort_goes_on),
        cmocka_unit_test(test_longer_limits),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_budget_and_a_compiler_that_hangs),
        cmocka_unit_test(test_long_launches),
        cmocka_unit_test(test_the_default_is_awaited),
        cmocka_unit_test(test_a_budget_of_failures),
        cmocka_unit_test(test_no_time_at_all),
        cmocka_unit_test(test_interrupted_run_goes_on),
        cmocka_unit_test(test_bar),
        cmocka_unit_test(test_clocks_that_fall),
        cmocka_unit_test(test_trace),
    };
    if (!getenv("HOSTCUDA_DIR")) {
        print_message("HOSTCUDA_DIR is not set: skipped\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("cli_limits", tests, enter, run_leave);
}
