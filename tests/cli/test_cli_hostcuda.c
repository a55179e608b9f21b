/*
 * `tune` from end to end on the CPU stand-in for a GPU ($HOSTCUDA_DIR): tuning, the second run, the queries,
 * export and replay, and configurations and drivers that fail. Times on the stand-in mean
 * nothing; nothing here asks which configuration won, only that the same one is told everywhere. Sizes are
 * odd: there are fewer configurations where rows are hardly aligned.
 */
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
static char tuned[128]; /* the store of the one whole run that most tests look at */
static char gpu[96], config[256];

static const char *with_db(char *out, size_t size, const char *line) {
    snprintf(out, size, "%s --db %s", line, tuned);
    return out;
}

static int enter(void **state) {
    (void)state;
    char line[256];
    folder = run_enter_on_standins();
    snprintf(tuned, sizeof tuned, "%s/tuned.db", folder);
    run_result r;
    run_tune_faulty(&r, "", with_db(line, sizeof line, "--sizes 97 --only transpose_tiled --max-trials 6 --json"));
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"source\":\"measured\"");
    run_json(gpu, sizeof gpu, r.out, "gpu");
    run_json(config, sizeof config, r.out, "config");
    run_free(&r);
    return 0;
}

static void test_doctor(void **state) {
    (void)state;
    run_result r;
    run_tune_faulty(&r, "", "doctor");
    assert_code(&r, 0);
    assert_has(&r, r.out, gpu);
    assert_has(&r, r.out, "Everything is ready");
    assert_null(strstr(r.out, "PROBLEM"));
    run_free(&r);
}

static void test_second_run_is_stored(void **state) {
    (void)state;
    char line[256], again[256];
    run_result r;
    run_tune_faulty(&r, "", with_db(line, sizeof line, "--sizes 97 --only transpose_tiled --max-trials 6 --json"));
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"source\":\"stored\"");
    assert_string_equal(run_json(again, sizeof again, r.out, "config"), config);
    run_free(&r);
}

static void test_list_and_best(void **state) {
    (void)state;
    char line[256], known[256];
    run_result r;
    run_tune_faulty(&r, "", with_db(line, sizeof line, "list"));
    assert_code(&r, 0);
    assert_has(&r, r.out, gpu);
    assert_has(&r, r.out, "97x97");
    assert_has(&r, r.out, "valid");
    run_free(&r);
    run_tune_faulty(&r, "", with_db(line, sizeof line, "best --size 97 --json"));
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"match\":\"exact\"");
    assert_string_equal(run_json(known, sizeof known, r.out, "config"), config);
    run_free(&r);
    run_tune_faulty(&r, "", with_db(line, sizeof line, "best --size 100"));
    assert_code(&r, 0);
    assert_has(&r, r.out, "nearest");
    run_free(&r);
}

/* Told which GPU, a query needs no driver: it is asked of one that would not even start. */
static void test_best_without_gpu(void **state) {
    (void)state;
    char line[256];
    const char *argv[] = {getenv("TUNE"), "best",   "--gpu", gpu,   "--size",
                          "97",           "--json", "--db",  tuned, NULL};
    const char *env[] = {"HOSTCUDA_FAULTS=driver:init_error", "TILETUNE_NVRTC=/nonexistent", NULL};
    run_result r;
    run(&r, argv, &(run_spec){.env = env});
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"match\":\"exact\"");
    run_free(&r);
    run_tune_faulty(&r, "driver:init_error", with_db(line, sizeof line, "best --size 97"));
    assert_code(&r, 2);
    assert_has(&r, r.err, gpu);
    run_free(&r);
}

static void test_export_and_replay(void **state) {
    (void)state;
    char line[512], again[256];
    const char *argv[] = {getenv("TUNE"), "export", "--gpu",    gpu,  "--db", tuned,
                          "--commit",     "abc123", "--output", NULL, NULL};
    char path[160];
    snprintf(path, sizeof path, "%s/recording.json", folder);
    argv[9] = path;
    run_result r;
    run(&r, argv, NULL);
    assert_code(&r, 0);
    assert_string_equal(r.out, "");
    run_free(&r);
    snprintf(line, sizeof line, "--device replay:%s --sizes 97 --json", path);
    run_tune_faulty(&r, "driver:init_error", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"source\":\"replayed\"");
    assert_string_equal(run_json(again, sizeof again, r.out, "config"), config);
    run_free(&r);
}

static void test_force_measures_again(void **state) {
    (void)state;
    char line[256];
    run_result r;
    run_tune_faulty(&r, "", with_db(line, sizeof line, "--sizes 97 --only transpose_tiled --max-trials 6 --json --force --quiet"));
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"source\":\"measured\"");
    assert_string_equal(r.err, "");
    run_json(config, sizeof config, r.out, "config"); /* from now on this is what is stored */
    run_free(&r);
}

static void test_every_configuration_is_wrong(void **state) {
    (void)state;
    char line[256];
    run_result r;
    snprintf(line, sizeof line,
             "--sizes 97 --only transpose_tiled,transpose_shifted --max-trials 6 --json --db %s/wrong.db",
             folder);
    run_tune_faulty(&r, "kernel=transpose_tiled:wrong", line);
    char kernel[64];
    run_json(kernel, sizeof kernel, r.out, "kernel");
    assert_string_not_equal(kernel, "transpose_tiled");
    assert_null(strstr(r.out, "\"failed\":0,"));
    assert_code(&r, strcmp(kernel, "null") == 0 ? 1 : 0);
    run_free(&r);
}

static void test_drivers_that_fail(void **state) {
    static const char *const faults[] = {"driver:no_device", "driver:init_error"};
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        run_result r;
        run_tune_faulty(&r, faults[i], "--sizes 64");
        assert_code(&r, 3);
        assert_string_equal(r.out, "");
        run_free(&r);
        run_tune_faulty(&r, faults[i], "doctor");
        assert_code(&r, 3);
        assert_has(&r, r.out, "PROBLEM");
        run_free(&r);
    }
}

static void test_no_nvrtc(void **state) {
    (void)state;
    const char *env[] = {"TILETUNE_NVRTC=/nonexistent/libnvrtc.so", NULL};
    run_result r;
    run_tune(&r, &(run_spec){.env = env}, "--sizes 72");
    assert_code(&r, 3);
    assert_has(&r, r.err, "/nonexistent/libnvrtc.so");
    run_free(&r);
}

static void test_no_such_device(void **state) {
    (void)state;
    run_result r;
    run_tune_faulty(&r, "", "--device 99 --sizes 64");
    assert_code(&r, 3);
    assert_has(&r, r.err, "99");
    assert_has(&r, r.err, gpu);
    run_free(&r);
}

static void test_too_large_for_the_device(void **state) {
    (void)state;
    run_result r;
    run_tune_faulty(&r, "", "--sizes 4194304");
    assert_code(&r, 2);
    assert_has(&r, r.err, "4194304");
    run_free(&r);
}

/* Times on the stand-in are exact: those of the finals are each entrant's own, in all rounds. The default,
 * nine times as slow, and the best six are in the last stage. */
static const char finals_are_exact[] =
    "import json, sys\n"
    "finals = json.load(sys.stdin)['finals']\n"
    "slow = [f for f in finals if f['config'] == {'KIND': 11}]\n"
    "fast = [f for f in finals if f not in slow]\n"
    "assert all(len(set(f['samples_us'])) == 1 and f['time_us'] == f['samples_us'][0] for f in finals), "
    "finals\n"
    "assert abs(slow[0]['time_us'] / fast[0]['time_us'] - 9) < 0.01, finals\n"
    "assert len({f['time_us'] for f in fast}) == 1, finals\n"
    "n = [len(f['samples_us']) for f in finals]\n"
    "assert n == sorted(n, reverse=True) and n.count(n[0]) == 7 and 31 <= n[0] <= 127 and "
    "len(slow[0]['samples_us']) == n[0], n\n"
    "assert n[7:] == 5 * [n[7]] and 22 <= n[7] <= 30, n\n";

static void test_finals(void **state) {
    (void)state;
    char line[512], value[64];
    run_result r;
    const char *faulty = "--template " TT_SOURCE_DIR "/tests/fault/faulty.cu";
    snprintf(line, sizeof line, "--sizes 99 --json %s --only faulty --db %s/finals.db", faulty, folder);
    run_tune_faulty(&r, "kernel=faulty,KIND=11:slow=9", line);
    assert_code(&r, 0);
    assert_string_equal(run_json(value, sizeof value, r.out, "speedup_vs_default"), "9");
    run_free(&r);
    snprintf(line, sizeof line, "'%s' show --size 99 --json %s --db %s/finals.db | python3 -c \"$0\"",
             getenv("TUNE"), faulty, folder);
    const char *argv[] = {"sh", "-c", line, finals_are_exact, NULL};
    run(&r, argv, NULL);
    assert_code(&r, 0);
    run_free(&r);
}

/* Of the second problem fewer configurations were recorded, and there is no copy. What is known of the first
 * problem says nothing about it. */
static void test_replay_of_two_problems(void **state) {
    (void)state;
    static const char kernel[] =
        "//@ kernel    plain\n//@ problem   n 1024\n//@ buffer    x f32 n inout\n//@ param     THREADS 32 64 "
        "96 128\n"
        "//@ block     THREADS\n//@ grid      ceil_div(n, THREADS)\n//@ args      x, i64 n\n"
        "//@ default   THREADS=32\n"
        "extern \"C\" __global__ void plain(float *x, long long n) {\n"
        "    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] *= 2;\n}\n";
    static const char *const forms[] = {
        "--kernel %1$s/plain.cu --effort exhaustive --unverified --quiet --db %1$s/two.db",
        "--kernel %1$s/plain.cu --problem n=2048 --max-trials 1 --unverified --quiet --db %1$s/two.db",
        "export --db %1$s/two.db --gpu hostcuda --output %1$s/two.json",
        "--device replay:%1$s/two.json --kernel %1$s/plain.cu --problem n=1024 --problem n=2048 "
        "--effort exhaustive --unverified --json --quiet"};
    char line[512], trials[32];
    run_result r = {0};
    write_in(folder, "plain.cu", kernel);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        run_free(&r);
        snprintf(line, sizeof line, forms[i], folder);
        run_tune_faulty(&r, "", line);
        assert_code(&r, 0);
    }
    assert_string_equal(run_json(trials, sizeof trials, r.out, "trials"), "4");
    const char *second = strstr(r.out, "\"problem\":\"n=2048\"");
    assert_non_null(second);
    assert_true(atoi(run_json(trials, sizeof trials, second, "trials")) < 4);
    run_free(&r);
}

/* Winners of a regime are stored separately, and answer problems of this regime only. Others get the winners
 * that ship with the library. */
static void stays_apart(const char *name, const char *options, const char *members, const char *words) {
    static const char *const regimes[] = {"", "--warm", "--graph", "--warm --graph"};
    char line[384];
    run_result r;
    /* Each launch of a graph runs when it is verified, so a few trials are enough. */
    snprintf(line, sizeof line, "--sizes 97 %s --json --only transpose_tiled --max-trials 6 --db %s/%s.db",
             options, folder, name);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, members);
    assert_has(&r, r.out, "\"copy_us\":");
    run_free(&r);
    for (size_t i = 0; i < sizeof regimes / sizeof *regimes; i++) {
        snprintf(line, sizeof line, "best --size 97 %s --json --db %s/%s.db", regimes[i], folder, name);
        run_tune_faulty(&r, "", line);
        assert_code(&r, 0);
        assert_int_equal(strstr(r.out, "\"match\":\"exact\"") != NULL, strcmp(regimes[i], options) == 0);
        run_free(&r);
        snprintf(line, sizeof line, "lock --size 97 %s --output %s/%s.lock --db %s/%s.db", regimes[i], folder,
                 name, folder, name);
        run_tune_faulty(&r, "", line);
        assert_int_equal(r.code == 0, strcmp(regimes[i], options) == 0);
        run_free(&r);
    }
    const struct {
        const char *form, *says;
    } lines[] = {
        /* out as a recording, in again, merged, and replayed */
        {"check --db %1$s/%3$s.db", "is whole"},
        {"export --db %1$s/%3$s.db --gpu hostcuda --output %1$s/%3$s.json", ""},
        {"import %1$s/%3$s.json --db %1$s/%3$s-again.db", " 1 winner, "},
        {"check --db %1$s/%3$s-again.db", "is whole"},
        {"best --db %1$s/%3$s-again.db --gpu hostcuda --size 97 %2$s", "exact"},
        {"show --db %1$s/%3$s-again.db --gpu hostcuda --size 97 %2$s --json", "\"source\":\"imported\""},
        {"--device replay:%1$s/%3$s.json --sizes 97 %2$s --only transpose_tiled", "replayed"},
        {"list --db %1$s/%3$s-again.db", words},
        {"import %1$s/%3$s.db --db %1$s/%3$s-merged.db", " 1 winner"},
        {"best --db %1$s/%3$s-merged.db --gpu hostcuda --size 97 %2$s", "exact"},
        {"report %1$s/%3$s.json", words},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(line, sizeof line, lines[i].form, folder, options, name);
        run_tune_faulty(&r, "", line);
        assert_code(&r, 0);
        assert_has(&r, r.out, lines[i].says);
        assert_null(strstr(r.out, "\"copy_us\":null")); /* the copy of the same regime was found too */
        run_free(&r);
    }
    for (size_t i = 0; i < sizeof regimes / sizeof *regimes; i++)
        if (strcmp(regimes[i], options) != 0) {
            snprintf(line, sizeof line, "--device replay:%s/%s.json --sizes 97 %s", folder, name, regimes[i]);
            run_tune_faulty(&r, "", line);
            assert_int_equal(r.code, 2);
            assert_has(&r, r.err, "the recording has no transpose of 97x97");
            run_free(&r);
        }
    snprintf(line, sizeof line, "list --db %s/%s.db", folder, name);
    run_tune_faulty(&r, "", line);
    assert_has(&r, r.out, words);
    run_free(&r);
    setenv("HOSTCUDA_DRIVER_VERSION", "13010", 1);
    snprintf(line, sizeof line, "--stale --json --max-trials 6 --db %s/%s.db", folder, name);
    run_tune_faulty(&r, "", line);
    unsetenv("HOSTCUDA_DRIVER_VERSION");
    assert_code(&r, 0);
    assert_has(&r, r.out, members);
    run_free(&r);
}

static void test_warm(void **state) {
    (void)state;
    stays_apart("warm", "--warm", "\"op\":\"transpose\",\"rows\":97,\"cols\":97,\"batch\":1,\"warm\":1,",
                "97x97, warm");
}

static void test_graph(void **state) {
    (void)state;
    stays_apart("graph", "--graph",
                "\"op\":\"transpose\",\"rows\":97,\"cols\":97,\"batch\":1,\"in_graph\":1,",
                "97x97, in a graph");
    stays_apart("both", "--warm --graph", "\"batch\":1,\"warm\":1,\"in_graph\":1,",
                "97x97, warm, in a graph");
}

/* Only the named kernels compete, and the stored winner of another template: a worse one must not replace
 * it. */
static void test_only(void **state) {
    (void)state;
    char line[1024], known[256];
    run_result r;
    const char *faulty = "--template " TT_SOURCE_DIR "/tests/fault/faulty.cu --only faulty";
    snprintf(line, sizeof line, "--sizes 97 --json %s --db %s/only.db", faulty, folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_string_equal(run_json(known, sizeof known, r.out, "kernel"), "faulty");
    run_free(&r);
    for (int named = 0; named < 2; named++) { /* without the template, its winner cannot be used */
        snprintf(line, sizeof line, "best --size 97 --db %s/only.db%s%s", folder,
                 named ? " --template " TT_SOURCE_DIR "/tests/fault/faulty.cu" : "", named ? " --json" : "");
        run_tune_faulty(&r, "", line);
        assert_code(&r, 0);
        assert_has(&r, r.out, named ? "\"match\":\"exact\"" : "match          other-gpu");
        run_free(&r);
    }
    for (int quiet = 0; quiet < 2; quiet++) {
        snprintf(line, sizeof line, "--stale --db %s/only.db%s", folder, quiet ? " --quiet" : "");
        run_tune_faulty(&r, "", line);
        assert_code(&r, 0);
        assert_has(&r, r.out, "Nothing of ");
        assert_int_equal(strstr(r.err, "1 more is of templates that are not here") != NULL, !quiet);
        run_free(&r);
    }
    snprintf(line, sizeof line, "--sizes 97 --json --force %s --db %s", faulty, tuned);
    run_tune_faulty(&r, "kernel=faulty:slow=9", line);
    assert_code(&r, 0);
    assert_string_equal(run_json(known, sizeof known, r.out, "config"), config);
    run_free(&r);
    for (int of_other_ops = 0; of_other_ops < 2; of_other_ops++) { /* they leave nothing out */
        snprintf(line, sizeof line, "--sizes 97 --only transpose_tiled --max-trials 6 --json%s --db %s",
                 of_other_ops ? " --only copy_linear,ladder_tile" : "", tuned);
        run_tune_faulty(&r, "", line);
        assert_code(&r, 0);
        if (of_other_ops)
            assert_has(&r, r.out, "\"source\":\"stored\"");
        run_free(&r);
    }
    run_tune_faulty(&r, "", "--sizes 97 --only transpose_driect");
    assert_code(&r, 2);
    assert_has(&r, r.err, "transpose_driect; did you mean transpose_direct?");
    run_free(&r);
}

/* With AT 0 it stops unless the source begins at a multiple of 16 bytes, with AT 1 if it does. */
static const char particular[] =
    "//@ kernel   particular\n//@ op       transpose\n//@ param    AT 0 1\n//@ param    TWIN 1 2\n//@ where  "
    "  "
    "elem_size = 1\n"
    "//@ block    32\n//@ grid     ceil_div(cols, 32), rows\n//@ args     dst, src, i64 cols, i64 lds, i64 "
    "ldd\n"
    "//@ default  AT=0 TWIN=1\n"
    "extern \"C\" __global__ void particular(char *dst, const char *src, long long cols, long long lds,\n"
    "                                      long long ldd) {\n"
    "    const long long c = blockIdx.x * 32ll + threadIdx.x, r = blockIdx.y;\n"
    "    if (((unsigned long long)src % 16 != 0) != AT)\n        __trap();\n"
    "    if (c < cols)\n        dst[c * ldd + r] = src[r * lds + c];\n}\n";

/* When verified, arrays are aligned to what pitches allow and no more. When timed, they begin where
 * allocators put them, unless the problem says that they are aligned less. */
static void test_where_arrays_begin(void **state) {
    (void)state;
    static const struct {
        const char *problem, *winner; /* NULL: the kernel that is right when verified is wrong when timed */
        const char *show;
    } runs[] = {
        {"--shapes 48x64", "\"AT\":0", "--shape 48x64"},
        {"--shapes 48x64 --align 1", "\"AT\":1", "--shape 48x64 --align 1"},
        {"--shapes 45x63", NULL, NULL},
        {"--shapes 45x63 --align 1", NULL, NULL},
    };
    write_in(folder, "particular.cu", particular);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char line[512];
        run_result r;
        snprintf(line, sizeof line,
                 "%s --elem-size 1 --template %s/particular.cu --only particular --db %s/at.db "
                 "--jobs 1 --json",
                 runs[i].problem, folder, folder);
        run_tune_faulty(&r, "", line);
        assert_code(&r, runs[i].winner ? 0 : 1);
        assert_has(&r, r.out, runs[i].winner ? runs[i].winner : "\"kernel\":null");
        assert_has(&r, r.out, runs[i].winner ? "\"failed\":2" : "\"failed\":4");
        run_free(&r);
        if (!runs[i].winner)
            continue;
        snprintf(line, sizeof line, "show %s --elem-size 1 --template %s/particular.cu --db %s/at.db --json",
                 runs[i].show, folder, folder);
        run_tune_faulty(&r, "", line);
        assert_has(&r, r.out, "\"finals\":[{");
        run_free(&r);
    }
}

/* Several outputs, one of which is read, too, and fp8. */
static void test_cast(void **state) {
    (void)state;
    char line[256];
    run_result r;
    const char *problem = "--op cast_transpose --problem rows=65,cols=34,outputs=7,S=f16,D=e5m2";
    snprintf(line, sizeof line, "%s --db %s/cast.db --max-trials 3 --json", problem, folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"failed\":0");
    assert_has(&r, r.out, "\"kernel\":\"cast_transpose_shifted\"");
    run_free(&r);
    snprintf(line, sizeof line, "best %s --db %s/cast.db --json", problem, folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"match\":\"exact\"");
    run_free(&r);
    snprintf(line, sizeof line, "%s --db :memory: --only cast_transpose_shifted --max-trials 2 --json",
             problem);
    run_tune_faulty(&r, "kernel=cast_transpose_shifted:wrong_once", line);
    assert_code(&r, 1);
    run_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doctor),
        cmocka_unit_test(test_second_run_is_stored),
        cmocka_unit_test(test_list_and_best),
        cmocka_unit_test(test_best_without_gpu),
        cmocka_unit_test(test_export_and_replay),
        cmocka_unit_test(test_replay_of_two_problems),
        cmocka_unit_test(test_force_measures_again),
        cmocka_unit_test(test_every_configuration_is_wrong),
        cmocka_unit_test(test_drivers_that_fail),
        cmocka_unit_test(test_no_nvrtc),
        cmocka_unit_test(test_no_such_device),
        cmocka_unit_test(test_too_large_for_the_device),
        cmocka_unit_test(test_finals),
        cmocka_unit_test(test_warm),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_only),
        cmocka_unit_test(test_where_arrays_begin),
        cmocka_unit_test(test_cast),
    };
    if (!getenv("HOSTCUDA_DIR")) {
        print_message("HOSTCUDA_DIR is not set: skipped\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("cli_hostcuda", tests, enter, run_leave);
}
