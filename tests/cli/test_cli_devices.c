/*
 * `tune` on several devices, on the CPU stand-in ($HOSTCUDA_DIR): each trial once, and a winner even if a
 * device hangs or dies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "run.h"

static const char *folder;

/* Every problem is tuned with the same few kernels, since each is compiled for the stand-in. */
enum { TRIALS = 12 };
#define TWO_TEMPLATES "--only transpose_tiled,transpose_shifted"
#define SOME_TRIALS   TWO_TEMPLATES " --max-trials 12"

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    setenv("HOSTCUDA_DEVICES", "8", 1);
    return 0;
}

static int64_t ask(const char *db, const char *sql) {
    sqlite3 *c;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open(db, &c), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(c, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(c);
    return n;
}

static const char *in_folder(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *in_line(const char *format) {
    static char line[1024];
    snprintf(line, sizeof line, format, folder);
    return line;
}

/* Adds rules: every kernel that is tuned has this effect on the device. */
static void fail_all(char *faults, size_t size, int device, const char *effect) {
    size_t used = strlen(faults);
    snprintf(faults + used, size - used,
             "device=%d,kernel=transpose_tiled:%s;device=%d,kernel=transpose_shifted:%s", device, effect,
             device, effect);
}

/* Tunes problems, each of which ends with a winner, and asks the store. `env`: one more variable, or NULL. */
static void tune_sizes(run_result *r, const char *env, const char *devices, const char *sizes,
                       const char *name, int n_winners) {
    static const char twice[] =
        "select count(*) - count(distinct run_id || ' ' || problem_id || ' ' || config_id) "
        "from trial where stage = 0";
    char line[256], db[128];
    snprintf(db, sizeof db, "%s/%s.db", folder, name);
    snprintf(line, sizeof line, "--device %s --sizes %s " SOME_TRIALS " --trial-timeout 1 --db %s", devices,
             sizes, db);
    run_tune(r, &(run_spec){.env = (const char *[]){env, NULL}, .timeout_s = RUN_TUNE_TIMEOUT_S}, line);
    assert_code(r, 0);
    assert_int_equal(ask(db, "select count(*) from winner"), n_winners);
    assert_int_equal(ask(db, twice), 0);
    assert_int_equal(ask(db, "select count(*) from trial where status <> 0"), 0);
    assert_true(ask(db,
                    "select min(n) from (select count(*) n from trial where stage = 0 and problem_id in"
                    " (select problem_id from winner) group by problem_id)") >= TRIALS); /* none is lost */
}

static void tune(run_result *r, const char *env, const char *devices, const char *name, int n_winners) {
    tune_sizes(r, env, devices, "97,99", name, n_winners);
}

static void test_all(void **state) {
    (void)state;
    run_result r;
    tune(&r, NULL, "all", "all", 2);
    run_free(&r);
    tune(&r, NULL, "0,2,5", "some", 2);
    run_free(&r);
}

/* NVML says that all are alike. One is not. */
static void test_presumed_alike(void **state) {
    (void)state;
    run_result r;
    run_tune(
        &r,
        &(run_spec){.env = (const char *[]){"HOSTCUDA_NVML_NAME=small", "HOSTCUDA_NAME=small;large;small",
                                            "HOSTCUDA_DEVICES=3", NULL},
                    .timeout_s = RUN_TUNE_TIMEOUT_S},
        in_line("--device all --sizes 97,99 " SOME_TRIALS " --db %s/presumed.db"));
    assert_code(&r, 0);
    assert_has(&r, r.err, "is left out from now on, the others go on: it is ");
    run_free(&r);
    assert_int_equal(ask(in_folder("presumed.db"), "select count(*) from winner"), 2);
    assert_int_equal(ask(in_folder("presumed.db"), "select count(distinct gpu_id) from run"), 1);
}

/* One dies at once. One hangs in a kernel's configurations: the first time, the kernel might be to blame.
 * There are enough problems for a device that is late. Its finals are given up sooner where launches are not
 * brief, which have fewer loads. */
static void test_one_hangs_one_dies(void **state) {
    (void)state;
    run_result r;
    tune_sizes(&r,
               "HOSTCUDA_FAULTS=device=3:crash;device=1,kernel=transpose_tiled:hang;"
               "kernel=transpose_tiled:slow=40;kernel=transpose_shifted:slow=40",
               "all", "97,99,101,103,105,107,109,111", "sick", 8);
    assert_has(&r, r.err, "device 3 is left out from now on");
    run_free(&r);
}

/* Writes a worker that runs `lines` before the real one, and the variable that names it. */
static void write_worker(char *variable, size_t size, const char *lines) {
    snprintf(variable, size, "TILETUNE_WORKER=%s", in_folder("worker"));
    FILE *f = fopen(in_folder("worker"), "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\nexec \"%s\" \"$@\"\n", lines, getenv("TILETUNE_WORKER"));
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(in_folder("worker"), 0700), 0);
}

/* One that dies before its greeting on this device. */
static void write_stillborn(char *variable, size_t size, int device) {
    char lines[64];
    snprintf(lines, sizeof lines, "[ \"$1 $2\" = \"gpu %d\" ] && exit 7", device);
    write_worker(variable, size, lines);
}

/* Without another device it is an error that the worker of device 0 dies. */
static void test_first_dies_at_its_start(void **state) {
    (void)state;
    char variable[1024 + 16];
    run_result r;
    write_stillborn(variable, sizeof variable, 0);
    tune(&r, variable, "0,1", "stillborn", 2);
    assert_has(&r, r.err,
               "device 0 is left out from now on, the others go on: the GPU worker ended with exit code 7");
    run_free(&r);
    run_tune(&r, &(run_spec){.env = (const char *[]){variable, NULL}},
             in_line("--device 0 --sizes 97 --db %s/stillborn.db"));
    assert_code(&r, 1);
    assert_has(&r, r.err, "the GPU worker ended with exit code 7");
    run_free(&r);
}

/* Of two kinds of GPU one is lost, the first or the second. The other has its winners all the same. */
static void test_kind_dies_at_its_start(void **state) {
    (void)state;
    static const char *const names[] = {"small", "large"};
    char variable[1024 + 16], line[256], said[160], db[32];
    run_result r;
    for (int lost = 0; lost < 3; lost++) { /* 2: the only one */
        const bool only = lost == 2;
        write_stillborn(variable, sizeof variable, lost % 2);
        snprintf(db, sizeof db, "lost-%d.db", lost);
        snprintf(line, sizeof line, "--device %s --sizes 97,99 " TWO_TEMPLATES " --max-trials 4 --db %s/%s",
                 only ? "0" : "0,1", folder, db);
        run_tune(&r,
                 &(run_spec){.env = (const char *[]){variable, "HOSTCUDA_NAME=small;large", NULL},
                             .timeout_s = RUN_TUNE_TIMEOUT_S},
                 line);
        assert_code(&r, 1);
        assert_has(&r, r.err, "the GPU worker ended with exit code 7");
        snprintf(said, sizeof said, "%s is left out: the GPU worker ended", names[lost % 2]);
        assert_int_equal(strstr(r.err, said) != NULL, !only);
        if (!only)
            assert_has(&r, r.out, names[!lost]);
        run_free(&r);
        assert_int_equal(ask(in_folder(db), "select count(*) from winner"), only ? 0 : 2);
    }
}

/* A kind is lost at its second problem. Results are called what they are, not what stands at their place. */
static void test_kind_dies_midway(void **state) {
    (void)state;
    static const char once[] = /* on device 0 */
        "if [ \"$1 $2\" = \"gpu 0\" ]; then [ -e \"$0.began\" ] && exit 7; touch \"$0.began\"; fi";
    char variable[1024 + 16], faults[1024] = "HOSTCUDA_FAULTS=", line[1024 + 128], db[1024];
    run_result r;
    snprintf(db, sizeof db, "%s", in_folder("midway.db"));
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "%s --max-trials 2 --quiet --db %s",
                 i ? "--sizes 97 " TWO_TEMPLATES : "--op axpby --problem n=4096", db);
        run_tune(&r, &(run_spec){.env = (const char *[]){"HOSTCUDA_NAME=small;large", NULL}}, line);
        assert_code(&r, 0);
        run_free(&r);
    }
    assert_int_equal(ask(db, "update env set driver = '1' returning 1"), 1); /* stale */
    write_worker(variable, sizeof variable, once);
    fail_all(faults, sizeof faults, 0, "crash");
    snprintf(line, sizeof line, "--stale --device 0,1 --max-trials 2 --json --db %s", db);
    run_tune(&r,
             &(run_spec){.env = (const char *[]){variable, faults, "HOSTCUDA_NAME=small;large", NULL},
                         .timeout_s = RUN_TUNE_TIMEOUT_S},
             line);
    assert_code(&r, 1);
    assert_has(&r, r.err, "small is left out: the GPU worker ended");
    static const char first[] = "{\"problem\":\"n=4096, T=f32\",\"op\":\"axpby\"",
                      second[] = "{\"problem\":\"97x97\",\"op\":\"transpose\"";
    const char *at = strstr(r.out, first);
    assert_non_null(at);
    at = strstr(at + 1, first); /* of the other kind */
    assert_non_null(at);
    assert_non_null(strstr(at, second));
    run_free(&r);
}

/* The problem fits the first kind of GPU only, whose winner is printed all the same. */
static void test_kind_is_too_small(void **state) {
    (void)state;
    char line[256];
    run_result r;
    snprintf(line, sizeof line,
             "--device 0,1 --sizes 97 " TWO_TEMPLATES " --max-trials 4 --db %s/too-small.db", folder);
    run_tune(&r,
             &(run_spec){.env = (const char *[]){"HOSTCUDA_MEMORY=1073741824;50000",
                                                 "HOSTCUDA_NAME=large;small", NULL},
                         .timeout_s = RUN_TUNE_TIMEOUT_S},
             line);
    assert_code(&r, 1);
    assert_has(&r, r.err, "small is left out: 97x97 needs ");
    assert_has(&r, r.err, "1 of 2 kinds of GPU failed, and have no winner");
    assert_has(&r, r.out, "97x97");
    run_free(&r);
}

/* Whatever device 1 tries hangs, and device 0 does it. Compilers sleep, so that it has the time to try twice.
 */
static void test_two_strikes(void **state) {
    (void)state;
    char faults[1024] = "HOSTCUDA_FAULTS=";
    run_result r;
    fail_all(faults, sizeof faults, 1, "hang");
    strcat(faults, ";kernel=transpose_tiled:compile_slow=300;kernel=transpose_shifted:compile_slow=300");
    tune_sizes(&r, faults, "0,1", "97,99,101,103,105,107", "strikes", 6);
    assert_has(&r, r.err,
               "device 1 is left out from now on, the others go on: it lost 2 trials that others did");
    run_free(&r);
}

/* All finals are on the other one, which the driver counts later. */
static void test_lower_clocks_hold_no_finals(void **state) {
    (void)state;
    char trace[128], line[256];
    run_result r;
    snprintf(trace, sizeof trace, "%s/trace.json", folder);
    snprintf(line, sizeof line, "--device 0,1 --sizes 97,99 " SOME_TRIALS " --db %s/clocks.db --trace %s",
             folder, trace);
    run_tune(&r,
             &(run_spec){.env = (const char *[]){"HOSTCUDA_CLOCKS=1500;1980", NULL},
                         .timeout_s = RUN_TUNE_TIMEOUT_S},
             line);
    assert_code(&r, 0);
    assert_has(&r, r.err, "device 0 runs at 1500 MHz, its twins at 1980 MHz: it holds no finals");
    run_free(&r);
}

/* Each kind is tuned for itself. */
static void test_several_kinds(void **state) {
    (void)state;
    run_result r;
    tune(&r, "HOSTCUDA_NAME=small MIG 1g;small MIG 2g;small MIG 1g", "0,1,2", "kinds", 4);
    assert_has(&r, r.err, "for small MIG 1g:");
    assert_has(&r, r.err, "for small MIG 2g:");
    assert_has(&r, r.out, "small MIG 1g, small MIG 2g, driver ");
    run_free(&r);
    assert_int_equal(ask(in_folder("kinds.db"), "select count(distinct gpu_id) from run"), 2);
}

/* Stored contenders are measured on several devices, of which one dies with the first of them. */
static void lose_in_finals(const char *sizes, int n_sizes, const char *devices, int sick) {
    char faults[1024] = "HOSTCUDA_FAULTS=", line[512];
    run_result r;
    for (int seed = 1; seed <= 2; seed++) {
        snprintf(line, sizeof line,
                 "--sizes %s " TWO_TEMPLATES
                 " --max-trials 4 --seed %d --strategy random --quiet --db %s/f%d-%d.db",
                 sizes, seed, folder, sick, seed);
        run_tune_faulty(&r, "", line);
        assert_code(&r, 0);
        run_free(&r);
    }
    snprintf(line, sizeof line, "merge %s/f%d.db %s/f%d-1.db %s/f%d-2.db", folder, sick, folder, sick, folder,
             sick);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    fail_all(faults, sizeof faults, sick, "crash");
    snprintf(line, sizeof line, "finals --device %s --db %s/f%d.db", devices, folder, sick);
    run_tune(&r, &(run_spec){.env = (const char *[]){faults, NULL}, .timeout_s = RUN_TUNE_TIMEOUT_S}, line);
    assert_code(&r, 0);
    snprintf(line, sizeof line,
             "device %d is left out from now on, the others go on: the GPU worker was killed", sick);
    assert_has(&r, r.err, line);
    assert_null(strstr(r.err, "the finals failed"));
    run_free(&r);
    snprintf(line, sizeof line, "f%d.db", sick);
    assert_int_equal(
        ask(in_folder(line), "select count(*) from winner where run_id = (select max(id) from run)"),
        n_sizes);
}

static void test_lost_in_finals(void **state) {
    (void)state;
    lose_in_finals("97,99", 2, "0,1,2", 0);
}

/* Finals that go on end, and later ones begin, though only one device is left. */
static void test_one_left_in_finals(void **state) {
    (void)state;
    lose_in_finals("97,99,101,103", 4, "0,1", 1);
}

/* Recorded trials, on eight devices that take the recorded times and on one that takes none. */
static void test_replay(void **state) {
    (void)state;
    static const char *const devices[] = {"", "*8"};
    char lists[2][4096];
    for (int i = 0; i < 2; i++) {
        char line[512];
        run_result r;
        snprintf(line, sizeof line,
                 "--device replay:" TT_SOURCE_DIR
                 "/tests/data/small.json%s --sizes 4096,8192,16384 --max-trials "
                 "4000 --quiet --db %s/replay%d.db",
                 devices[i], folder, i);
        run_tune(&r, NULL, line);
        assert_code(&r, 0);
        run_free(&r);
        snprintf(line, sizeof line, "list --json --db %s/replay%d.db", folder, i);
        run_tune(&r, NULL, line);
        assert_code(&r, 0);
        snprintf(lists[i], sizeof lists[i], "%s", r.out);
        for (char *at = lists[i]; (at = strstr(at, "\"date\":\"")); at++)
            memset(at, ' ', strcspn(at, ","));
        run_free(&r);
    }
    assert_string_equal(lists[0], lists[1]);
}

/* Problems with long finals begin first: a short one, then the largest. The report keeps the order of the
 * call. */
static void test_order(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(
        line, sizeof line,
        "--device replay:" TT_SOURCE_DIR
        "/recordings/h200.json*2 --sizes 4096,16384,2048 --max-trials 24 --json --quiet --db %s/order.db",
        folder);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    const char *small = strstr(r.out, "\"rows\":2048"), *large = strstr(r.out, "\"rows\":16384");
    assert_non_null(small);
    assert_non_null(large);
    assert_true(strstr(r.out, "\"rows\":4096") < large && large < small);
    run_free(&r);
    static const char first[] = "(select min(at_ms) from trial join problem on problem.id = problem_id"
                                " join operation on operation.id = operation_id"
                                " where name = 'transpose' and key like 'rows=%d,%%')";
    char query[2048], begun[3][320];
    static const int sizes[] = {2048, 16384, 4096};
    for (int i = 0; i < 3; i++)
        snprintf(begun[i], sizeof begun[i], first, sizes[i]);
    snprintf(query, sizeof query, "select %s < %s and %s < %s", begun[0], begun[1], begun[1], begun[2]);
    assert_int_equal(ask(in_folder("order.db"), query), 1);
}

/* Finals that go on are abandoned, and the next run holds them. */
static void test_interrupted_beside_finals(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(line, sizeof line,
             "--device replay:" TT_SOURCE_DIR
             "/tests/data/small.json*8 --sizes 2048,4096,8192 --max-trials 24 --db "
             "%s/stopped.db",
             folder);
    run_tune(&r,
             &(run_spec){.interrupt_at = "[1/3] replay 2048x2048 finals", .timeout_s = RUN_TUNE_TIMEOUT_S},
             line);
    assert_code(&r, 130);
    run_free(&r);
    assert_in_range(ask(in_folder("stopped.db"), "select count(*) from winner"), 0, 2);
    run_tune(&r, &(run_spec){.timeout_s = RUN_TUNE_TIMEOUT_S}, line);
    assert_code(&r, 0);
    run_free(&r);
    assert_int_equal(ask(in_folder("stopped.db"), "select count(*) from winner"), 3);
    assert_int_equal(ask(in_folder("stopped.db"),
                         "select count(*) - count(distinct problem_id || ' ' || config_id) "
                         "from trial where stage = 0"),
                     0);
}

/* The report of a stopped run has the problems that have ended, whichever began first. */
static void test_report_so_far(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(line, sizeof line,
             "--device replay:" TT_SOURCE_DIR
             "/recordings/h200.json*2 --sizes 4096,16384,8192 --max-trials 48 --json --db %s/so-far.db",
             folder);
    run_tune(&r, &(run_spec){.interrupt_at = "[1/3] replay 4096x4096", .timeout_s = RUN_TUNE_TIMEOUT_S},
             line);
    assert_code(&r, 130);
    assert_has(&r, r.out, "\"rows\":16384");
    assert_has(&r, r.out, "\"rows\":8192");
    assert_null(strstr(r.out, "\"rows\":4096"));
    run_free(&r);
}

static void test_bad_lists(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"1,1", "device 1 is named twice"}, {"1,", "a list of them"}, {"0,8", "no device 8"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[128];
        run_result r;
        snprintf(line, sizeof line, "--device %s --sizes 97", bad[i][0]);
        run_tune_faulty(&r, "", line);
        assert_int_not_equal(r.code, 0);
        assert_has(&r, r.err, bad[i][1]);
        run_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_presumed_alike),
        cmocka_unit_test(test_one_hangs_one_dies),
        cmocka_unit_test(test_first_dies_at_its_start),
        cmocka_unit_test(test_kind_dies_at_its_start),
        cmocka_unit_test(test_kind_dies_midway),
        cmocka_unit_test(test_kind_is_too_small),
        cmocka_unit_test(test_two_strikes),
        cmocka_unit_test(test_lower_clocks_hold_no_finals),
        cmocka_unit_test(test_several_kinds),
        cmocka_unit_test(test_lost_in_finals),
        cmocka_unit_test(test_one_left_in_finals),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_interrupted_beside_finals),
        cmocka_unit_test(test_report_so_far),
        cmocka_unit_test(test_bad_lists),
    };
    return cmocka_run_group_tests(tests, enter, run_leave);
}
