/*
 * What a run of `tune` does ahead of its turn, on the CPU stand-in for a GPU ($HOSTCUDA_DIR): compiles what
 * is expected, also for a GPU that it only presumes, searches the second copy before the first problem, plans
 * the next problem during finals. None of it changes what is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run.h"

enum { EXIT_SKIPPED = 77 };
static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    return 0;
}

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

/* Compilers that the copy leaves idle are at what the model expects of the transposes. */
static const char compiles_ahead[] =
    "import json, sys\n"
    "spans = [e for e in json.load(open(sys.argv[1])) if e['ph'] == 'X']\n"
    "copy = [s for s in spans if s['name'] == 'search' and s['args']['kernel'] == 'copy'][0]\n"
    "sys.exit(not any(s['name'] == 'compile' and s['args']['kernel'].startswith('transpose') and\n"
    "                 s['ts'] < copy['ts'] + copy['dur'] for s in spans))\n";

static void test_works_ahead(void **state) {
    (void)state;
    char line[512];
    run_result r;
    snprintf(line, sizeof line,
             "--sizes 57 --effort quick --jobs 2 --json --db %s/ahead.db --trace %s/ahead.json", folder,
             folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    assert_timeline("ahead", compiles_ahead);
}

/* The first two copies, then one problem after the other; what comes next is planned in the finals before. */
static const char in_order[] =
    "import json, sys\n"
    "phases = [(e['ts'], e['name'], e['args']['kernel'], e['args']['config'])\n"
    "          for e in json.load(open(sys.argv[1])) if e['ph'] == 'X' and e['tid'] == 0]\n"
    "seen = [phase[1:] for phase in sorted(phases)]\n"
    "a, b, c = '40x40', '48x48', '56x56'\n"
    "wanted = [('expect', 'transpose', a), ('expect', 'transpose', b), ('search', 'copy', a), ('search', "
    "'copy', b),\n"
    "          ('search', 'transpose', a), ('finals', 'transpose', a), ('search', 'transpose', b),\n"
    "          ('finals', 'transpose', b), ('expect', 'transpose', c), ('search', 'copy', c),\n"
    "          ('search', 'transpose', c), ('finals', 'transpose', c)]\n"
    "if seen != wanted:\n"
    "    sys.exit('\\n'.join(map(str, seen)))\n";

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

/* Where the second problem cannot be had ahead of its turn, nothing is lost: of the allocations of a run the
 * first few are of the first copy, without which there is no run, and those behind them of the second. */
static void test_what_fails_ahead(void **state) {
    (void)state;
    enum { ALLOCATIONS_MAX = 20 };
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
            break; /* those of the first problem itself */
    }
    assert_in_range(n, 4, ALLOCATIONS_MAX - 1);
    assert_in_range(survived, 2, n / 2);
}

/* Whatever the GPU is taken for by its name, the result is that of the one that is there. */
static void test_presumed(void **state) {
    (void)state;
    static const char *const names[] = {"HOSTCUDA_NVML_NAME", "HOSTCUDA_NVML_NAME=hostcuda",
                                        "HOSTCUDA_NVML_NAME=NVIDIA H200", "HOSTCUDA_NVML_NAME=nobody"};
    static const char *const ccs[] = {"HOSTCUDA_CC=90", "HOSTCUDA_CC=80"};
    for (int cc = 0; cc < 2; cc++) {
        char wanted[256] = "", got[256], line[256];
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const char *env[] = {names[i], ccs[cc], NULL};
            run_result r;
            snprintf(line, sizeof line,
                     "--sizes 44 --only transpose_tiled --effort exhaustive --json --quiet --force --db "
                     "%s/presumed-%d.db",
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
        cmocka_unit_test(test_presumed),
    };
    if (!getenv("HOSTCUDA_DIR")) {
        print_message("HOSTCUDA_DIR is not set: skipped\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests_name("cli_ahead", tests, enter, run_leave);
}
