/*
 * Work that `tune` does ahead of its turn, on the CPU stand-in for a GPU ($HOSTCUDA_DIR). It compiles what is
 * expected, also for a GPU that it only presumes. It searches the second copy before the first problem, and
 * plans the next problem during finals. Results do not change.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "script.h"

enum { EXIT_SKIPPED = 77 };

/* A script that looks at the timeline folder/NAME.json says yes. */
static void assert_timeline(const char *name, const char *script) {
    char path[160];
    run_result r;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    const char *argv[] = {"python3", "-c", script, path, NULL};
    run(&r, argv, NULL);
    assert_code(&r, 0);
    run_free(&r);
}

/* Compilers that the copy leaves idle are at what the model expects of the transposes: the copy has eleven
 * kernels, and all that it may still want come first. */
static const char compiles_ahead[] =
    "import json, sys\n"
    "spans = [e for e in json.load(open(sys.argv[1])) if e['ph'] == 'X']\n"
    "copy = [s for s in spans if s['name'] == 'search' and s['args']['kernel'] == 'copy'][0]\n"
    "sys.exit(not any(s['name'] == 'compile' and s['args']['kernel'].startswith('transpose') and\n"
    "                 s['ts'] < copy['ts'] + copy['dur'] for s in spans))\n";

/* The first trial waits for the parts of the verifier that its problem needs, and not for those for numbers.
 */
static const char waits_for_two_parts[] =
    "import json, sys\n"
    "parts = [e['args']['config'] for e in json.load(open(sys.argv[1]))\n"
    "         if e['name'] == 'compile' and e['args']['kernel'] == 'checker']\n"
    "sys.exit(str(parts) if sorted(parts) != ['PART=0', 'PART=1'] else 0)\n";

static void test_works_ahead(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(line, sizeof line,
             "--sizes 57 --max-trials 8 --jobs 12 --json --db %s/ahead.db --trace %s/ahead.json", folder,
             folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    assert_timeline("ahead", compiles_ahead);
    assert_timeline("ahead", waits_for_two_parts);
}

/* The first two copies, then one problem after the other; what comes next is planned in the finals before. */
static const char in_order[] =
    "import json, sys\n"
    "phases = [(e['ts'], e['name'], e['args']['kernel'], e['args']['config'], e['ts'] + e['dur'])\n"
    "          for e in json.load(open(sys.argv[1])) if e['ph'] == 'X' and e['tid'] == 0]\n"
    "seen = [phase[1:4] for phase in sorted(phases)]\n"
    "a, b, c = '40x40', '48x48', '56x56'\n"
    "bytes_a, bytes_b, bytes_c = (f'bytes={4 * n * n}' for n in (40, 48, 56))\n"
    "wanted = [('expect', 'transpose', a), ('expect', 'transpose', b), ('search', 'copy', bytes_a),\n"
    "          ('search', 'copy', bytes_b),\n"
    "          ('search', 'transpose', a), ('finals', 'transpose', a), ('search', 'transpose', b),\n"
    "          ('finals', 'transpose', b), ('expect', 'transpose', c), ('search', 'copy', bytes_c),\n"
    "          ('search', 'transpose', c), ('finals', 'transpose', c)]\n"
    "if seen != wanted:\n"
    "    sys.exit('\\n'.join(map(str, seen)))\n"
    "finals_of_b, expect_c = sorted(phases)[7:9]\n"
    "sys.exit(expect_c[4] > finals_of_b[4])\n";

static void test_order(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(line, sizeof line,
             "--sizes 40,48,56 --max-trials 6 --json --db %s/order.db --trace %s/order.json", folder, folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    assert_timeline("order", in_order);
}

/* If the second problem cannot be opened early, nothing is lost. The first few allocations of a run belong to
 * the first copy. Without them there is no run. But if its arrays do not fit, fewer do. Later allocations
 * belong to the second copy. */
static void test_what_fails_ahead(void **state) {
    (void)state;
    enum { ALLOCATIONS_MAX = 40 };
    int n = 1, survived = 0;
    for (; n < ALLOCATIONS_MAX; n++) {
        char line[256], faults[64];
        run_result r;
        snprintf(line, sizeof line, "--sizes 40,48 --max-trials 4 --json --quiet --db %s/fails-%d.db", folder,
                 n);
        snprintf(faults, sizeof faults, "driver:alloc_fails=%d", n);
        run_tune_faulty(&r, faults, line);
        if (r.code == 0) {
            assert_has(&r, r.out, "\"problem\":\"40x40\"");
            assert_has(&r, r.out, "\"problem\":\"48x48\"");
        }
        bool over = survived > 0 && r.code != 0;
        survived += r.code == 0;
        run_free(&r);
        if (over)
            break; /* these belong to the first problem */
    }
    assert_in_range(n, 4, ALLOCATIONS_MAX - 1);
    assert_in_range(survived, 3, n - 4);
}

/* Two problems that are compared with the same copy: its trials are taken once. */
static const char measures_one_copy[] =
    "import json, sys\n"
    "copies = [e['args']['config'] for e in json.load(open(sys.argv[1]))\n"
    "          if e['name'] == 'measure' and e['args']['kernel'] == 'copy_linear']\n"
    "sys.exit(len(set(copies)) != 5 or not 6 <= len(copies) <= 7)\n"; /* the first is measured again, and a
                                                                         surprise */

static void test_one_copy_for_both(void **state) {
    (void)state;
    static const char text[] =
        "//@ kernel scale\n//@ problem n 4096\n//@ type elem f32 i32\n//@ buffer x elem n in\n"
        "//@ buffer y elem n out\n//@ param THREADS 64 128\n//@ block THREADS\n//@ grid ceil_div(n, "
        "THREADS)\n"
        "//@ args y, x, i64 n\n//@ default THREADS=64\n//@ metric gbps 2 * n * elem_size / time_ns\n"
        "extern \"C\" __global__ void scale(elem *y, const elem *x, long long n) {\n"
        "    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;\n"
        "    if (i < n) y[i] = x[i] + x[i];\n}\n";
    char line[512];
    run_result r;
    snprintf(line, sizeof line, "%s/scale.cu", folder);
    FILE *f = fopen(line, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    snprintf(line, sizeof line,
             "--kernel %s/scale.cu --unverified --problem elem=f32 --problem elem=i32 --max-trials 6 --json "
             "--db %s/one-copy.db --trace %s/one-copy.json",
             folder, folder, folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    assert_timeline("one-copy", measures_one_copy);
}

/* ---- A GPU that is presumed -----------------------------------------------------------------------------
 */

/* A run while CUDA takes its time to start. `name`: what NVML calls the GPU; NULL: there is none. */
static void run_slow_start(run_result *r, const char *name, const char *cc, const char *fault,
                           const char *line) {
    char called[64] = "HOSTCUDA_NVML_NAME", is[32], faults[96];
    if (name)
        snprintf(called, sizeof called, "HOSTCUDA_NVML_NAME=%s", name);
    snprintf(is, sizeof is, "HOSTCUDA_CC=%s", cc);
    snprintf(faults, sizeof faults, "HOSTCUDA_FAULTS=driver:init_slow=1200%s", fault);
    const char *env[] = {called, is, faults, NULL};
    run_tune(r, &(run_spec){.env = env, .timeout_s = RUN_TUNE_TIMEOUT_S}, line);
}

/* Whether compilers were at work before CUDA had started. */
static const char nothing_early[] =
    "import json, sys\n"
    "spans = [e for e in json.load(open(sys.argv[1])) if e['ph'] == 'X']\n"
    "start = [s for s in spans if s['name'] == 'start'][0]\n"
    "sys.exit(any(s['name'] == 'compile' and s['ts'] < start['ts'] + start['dur'] for s in spans))\n";
static const char some_early[] =
    "import json, sys\n"
    "spans = [e for e in json.load(open(sys.argv[1])) if e['ph'] == 'X']\n"
    "start = [s for s in spans if s['name'] == 'start'][0]\n"
    "sys.exit(not any(s['name'] == 'compile' and s['ts'] < start['ts'] + start['dur'] for s in spans))\n";

/* If the GPU's name is known, compilers work while CUDA starts. They leave out problems with a winner, which
 * may need nothing. */
static void test_compiles_while_cuda_starts(void **state) {
    (void)state;
    static const struct {
        const char *name, *sizes, *script;
    } runs[] = {{NULL, "42 --max-trials 4", nothing_early},
                {"hostcuda", "43 --max-trials 4", some_early},
                {"nobody", "45 --max-trials 4", nothing_early},
                {"hostcuda", "42 --max-trials 12", nothing_early},
                {"hostcuda", "42 --max-trials 12 --force --only transpose_tiled", NULL}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char line[512];
        run_result r;
        snprintf(line, sizeof line,
                 "--sizes %s --jobs 4 --json --quiet --db %s/start.db --trace %s/start.json", runs[i].sizes,
                 folder, folder);
        run_slow_start(&r, runs[i].name, "90", "", line);
        assert_code(&r, 0);
        assert_has(&r, r.out, "\"failed\":0");
        run_free(&r);
        if (runs[i].script)
            assert_timeline("start", runs[i].script);
    }
}

/* The GPU has the name of another one: of another architecture (80), or one that NVRTC does not know (120).
 * Its compiled code is dropped. */
static void test_mistaken(void **state) {
    (void)state;
    static const char *const ccs[] = {"80", "120"};
    for (size_t i = 0; i < sizeof ccs / sizeof *ccs; i++) {
        char line[512];
        run_result r;
        snprintf(line, sizeof line,
                 "--sizes 46 --max-trials 6 --jobs 4 --json --quiet --force --db %s/mistaken-%s.db --trace "
                 "%s/mistaken.json",
                 folder, ccs[i], folder);
        run_slow_start(&r, NULL, ccs[i], "", line);
        assert_code(&r, i ? 1 : 0);
        run_free(&r);
        run_slow_start(&r, "hostcuda", "90", "", line);
        assert_code(&r, 0);
        assert_has(&r, r.out, "\"failed\":0");
        run_free(&r);
        if (i == 0)
            assert_timeline("mistaken", some_early);
    }
}

static void interrupt_early(void *user, pid_t pid, double seconds, const char *err) {
    bool *done = user;
    (void)err;
    if (!*done && seconds > 0.3)
        kill(-pid, SIGINT);
    *done = *done || seconds > 0.3;
}

/* Events that end a run while its GPU is presumed: the GPU worker dies, there is no such GPU, an
 * interrupt. */
static void test_ends_before_cuda_has_started(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(line, sizeof line, "--sizes 47 --max-trials 6 --jobs 4 --force --db %s/early.db", folder);
    run_slow_start(&r, NULL, "90", "", line);
    assert_code(&r, 0);
    run_free(&r);
    run_slow_start(&r, "hostcuda", "90", ";driver:init_crash", line);
    assert_code(&r, 1);
    assert_has(&r, r.err, "tune: the GPU worker ");
    run_free(&r);
    run_slow_start(&r, "hostcuda", "90", ";driver:no_device", line);
    assert_code(&r, 3);
    assert_has(&r, r.err, "finds no GPU on this machine");
    run_free(&r);
    bool done = false;
    const char *env[] = {"HOSTCUDA_NVML_NAME=hostcuda", "HOSTCUDA_FAULTS=driver:init_slow=20000", NULL};
    run_tune(&r, &(run_spec){.env = env, .timeout_s = 60, .meanwhile = interrupt_early, .user = &done}, line);
    assert_code(&r, 130);
    assert_true(r.seconds < 15);
    run_free(&r);
}

/* The name may suggest another GPU, for which there are other configurations of bytes. The result is that of
 * the real one. With TT_LONG also on a GPU like that. */
static void test_presumed(void **state) {
    (void)state;
    static const char *const names[] = {"HOSTCUDA_NVML_NAME", "HOSTCUDA_NVML_NAME=hostcuda",
                                        "HOSTCUDA_NVML_NAME=NVIDIA H200", "HOSTCUDA_NVML_NAME=nobody"};
    static const char *const ccs[] = {"HOSTCUDA_CC=80", "HOSTCUDA_CC=90"};
    /* Brief launches would be loaded thirty times in the finals. */
    static const char long_enough[] = "HOSTCUDA_FAULTS=kernel=transpose_shifted:slow=100";
    for (int cc = 0; cc < (getenv("TT_LONG") ? 2 : 1); cc++) {
        char wanted[256] = "", got[256], line[256];
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const char *env[] = {names[i], ccs[cc], long_enough, NULL};
            run_result r;
            snprintf(line, sizeof line,
                     "--sizes 45 --elem-size 1 --only transpose_shifted --effort exhaustive --json --quiet "
                     "--force --db %s/presumed-%d.db",
                     folder, cc);
            run_tune(&r, &(run_spec){.env = env, .timeout_s = RUN_TUNE_TIMEOUT_S}, line);
            assert_code(&r, 0);
            assert_has(&r, r.out, "\"gpu\":\"hostcuda\"");
            assert_has(&r, r.out, "\"failed\":0");
            run_json(got, sizeof got, r.out, "config");
            if (i == 0)
                snprintf(wanted, sizeof wanted, "%s", got);
            assert_string_equal(got, wanted);
            run_free(&r);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_works_ahead),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_what_fails_ahead),
        cmocka_unit_test(test_one_copy_for_both),
        cmocka_unit_test(test_compiles_while_cuda_starts),
        cmocka_unit_test(test_mistaken),
        cmocka_unit_test(test_ends_before_cuda_has_started),
        cmocka_unit_test(test_presumed),
    };
    if (!getenv("HOSTCUDA_DIR")) {
        print_message("HOSTCUDA_DIR is not set: skipped\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("cli_ahead", tests, enter, run_leave);
}
