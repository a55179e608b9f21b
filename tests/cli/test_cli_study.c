/*
 * `tune study`: what it says to bad input, and its three forms of output on the CPU stand-in for a GPU
 * ($HOSTCUDA_DIR). Times there mean nothing, so every number is read as 9.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "script.h"

/* On the stand-in, most of the tuning that comes before the study is cut short. */
#define CUT_SHORT "kernel=transpose_vector:compile_error;kernel=transpose_direct:compile_error"

static void study(run_result *r, const char *faults, const char *options) {
    char line[512], rule[512];
    snprintf(line, sizeof line, "study --db %s/study.db %s", folder, options);
    snprintf(rule, sizeof rule, "HOSTCUDA_FAULTS=" CUT_SHORT "%s%s", *faults ? ";" : "", faults);
    const char *env[] = {rule, NULL};
    run_tune(r, &(run_spec){.env = env, .timeout_s = 200}, line);
}

/* Blanks in a row become one, and so do digits and points: one 9. */
static void simplify(char *text) {
    char *to = text;
    for (char *from = text; *from;) {
        size_t blanks = strspn(from, " "),
               digits = isdigit((unsigned char)*from) ? strspn(from, "0123456789.") : 0;
        *to++ = blanks ? ' ' : digits ? '9' : *from;
        from += blanks ? blanks : digits ? digits : 1;
    }
    *to = '\0';
}

static void test_usage_errors(void **state) {
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"study", "tune study --device 0 --sizes"},
        {"study --json", "nothing to study"},
        {"study --sizes 64 --json --csv", "one of them at a time"},
        {"study --sizes 0", "0: at least 1"},
        {"study 4096", "--sizes 4096"},
        {"study --sizs 64", "did you mean --sizes?"},
        {"study --sizes 64 --dtype f23", "did you mean f32?"},
        {"study --sizes 64 --device replay:/nonexistent.json", "/nonexistent.json"},
        {"study --sizes 64 --device 0,1", "--device: \"0,1\": one device at a time"},
        {"explain --size 64 --device all", "--device: \"all\": one device at a time"},
        {"studdy", "did you mean study?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_result r;
        run_tune(&r, NULL, cases[i].line);
        assert_code(&r, strstr(cases[i].says, "nonexistent") ? 1 : 2);
        assert_has(&r, r.err, cases[i].says);
        assert_string_equal(r.out, "");
        run_free(&r);
    }
}

static void test_help(void **state) {
    (void)state;
    run_result r;
    run_tune(&r, NULL, "study --help");
    assert_code(&r, 0);
    assert_has(&r, r.out, "Usage: tune study");
    assert_has(&r, r.out, "--csv");
    run_free(&r);
    run_tune(&r, NULL, "--help");
    assert_has(&r, r.out, "  study ");
    run_free(&r);
}

static void test_table(void **state) {
    static const char *const expected = "\n9x9\n"
                                        "rung time GB/s vs naive of copy of peak occupancy regs shared\n"
                                        "copy 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "naive, coalesced reads 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "naive, coalesced writes 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "unrolled 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "vectorised stores 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "tile, conflicts on load 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "tile, conflicts on store 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "tile, padded 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "several tiles a block 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "winner 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "tuned copy 9 us 9 9x 9% 9% 9% 9 9\n"
                                        "winner: transpose_";
    (void)state;
    run_result r;
    study(&r, "", "--sizes 96,64");
    assert_code(&r, 0);
    simplify(r.out);
    assert_has(&r, r.out, "transpose ladder\n");
    assert_has(&r, r.out, expected);
    assert_has(&r, strstr(r.out, expected) + 1, expected); /* the second size */
    assert_has(&r, r.err, "ladder");
    run_free(&r);
}

/* Even with few trials, every rung is tried. */
static void test_few_trials(void **state) {
    (void)state;
    for (int trials = 1; trials <= 2; trials++) {
        run_result r;
        char line[256];
        snprintf(line, sizeof line, "study --db %s/few-%d.db --sizes 72 --quiet --max-trials %d", folder,
                 trials, trials);
        run_tune(&r, &(run_spec){.timeout_s = 200}, line);
        assert_code(&r, 0);
        assert_string_equal(r.err, "");
        simplify(r.out);
        assert_has(&r, r.out, "\ncopy 9 us 9 9x 9% 9% 9% 9 9\nnaive, coalesced reads 9 us");
        run_free(&r);
    }
}

static size_t count(const char *text, const char *part) {
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void test_json(void **state) {
    static const char *const keys[] = {
        "gpu",           "driver",    "nvrtc",         "source", "rows",
        "cols",          "elem_size", "rung",          "kernel", "config",
        "time_us",       "gbps",      "copy_fraction", "note",   "speedup_vs_naive",
        "peak_fraction", "occupancy", "threads",       "regs",   "shared_bytes",
        "wall_s"};
    (void)state;
    char key[64];
    run_result r;
    study(&r, "", "--sizes 96 --json --quiet");
    assert_code(&r, 0);
    assert_string_equal(r.err, "");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf(key, sizeof key, "\"%s\":", keys[i]);
        assert_has(&r, r.out, key);
    }
    assert_has(
        &r, r.out,
        "\"ladders\":[{\"op\":\"transpose\",\"rows\":96,\"cols\":96,\"elem_size\":4,\"lds\":96,\"ldd\":96,"
        "\"batch\":1,\"src_stride\":9216,\"dst_stride\":9216,\"align\":16,\"rungs\":[{\"rung\":\"copy\",");
    assert_int_equal(count(r.out, "\"rung\":"), 11);
    assert_int_equal(count(r.out, "\"note\":\"\""), 11);
    assert_int_equal(count(r.out, "null"), 0);
    run_free(&r);
}

static void test_csv(void **state) {
    (void)state;
    run_result r;
    study(&r, "", "--sizes 96 --csv --quiet");
    assert_code(&r, 0);
    assert_int_equal(count(r.out, "\n"), 12);
    assert_has(&r, r.out, "gpu,rows,cols,elem_size,rung,kernel,config,time_us,gbps,speedup_vs_naive,");
    assert_has(&r, r.out, ",96,96,4,padded,ladder_tile,\"STEP=padded\",");
    for (const char *line = r.out; *line; line = strchr(line, '\n') + 1) {
        char copy[1024];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        assert_int_equal(count(copy, ","), 16);
    }
    run_free(&r);
}

/* A rung that fails has its line and its reason; the others are compared without it. */
static void test_a_rung_that_fails(void **state) {
    (void)state;
    run_result r;
    study(&r, "STEP=padded:wrong;STEP=unrolled:launch_error", "--sizes 48");
    assert_code(&r, 0);
    assert_has(&r, r.err, "tune: 48x48: tile, padded: ");
    assert_has(&r, r.err, "tune: 48x48: unrolled: ");
    simplify(r.out);
    assert_has(&r, r.out, "\nunrolled - - - - - 9% 9 9\n");
    assert_has(&r, r.out, "\ntile, conflicts on load 9 us 9 9x 9% 9% 9% 9 9\n");
    run_free(&r);
}

static void test_no_device(void **state) {
    (void)state;
    run_result r;
    study(&r, "driver:no_device", "--sizes 64");
    assert_code(&r, 3);
    assert_string_equal(r.out, "");
    run_free(&r);
}

static void test_replay(void **state) {
    (void)state;
    char line[512], gpu[96], path[128];
    run_result r;
    study(&r, "", "--sizes 96 --json --quiet");
    run_json(gpu, sizeof gpu, r.out, "gpu");
    run_free(&r);
    snprintf(path, sizeof path, "%s/recording.json", folder);
    snprintf(line, sizeof line, "export --gpu %s --db %s/study.db --output %s", gpu, folder, path);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    run_free(&r);
    snprintf(line, sizeof line, "study --device replay:%s --sizes 96", path);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    assert_has(&r, r.out, ", replayed: transpose ladder");
    simplify(r.out);
    assert_has(&r, r.out, "\ntuned copy 9 us 9 9x 9% 9% 9% 9 9\n");
    run_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_errors), cmocka_unit_test(test_help),
        cmocka_unit_test(test_table),        cmocka_unit_test(test_few_trials),
        cmocka_unit_test(test_json),         cmocka_unit_test(test_csv),
        cmocka_unit_test(test_replay),       cmocka_unit_test(test_a_rung_that_fails),
        cmocka_unit_test(test_no_device),
    };
    if (!getenv("HOSTCUDA_DIR")) {
        print_message("HOSTCUDA_DIR is not set: skipped\n");
        return 77;
    }
    return cmocka_run_group_tests_name("cli_study", tests, enter, run_leave);
}
