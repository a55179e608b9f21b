/*
 * Configurations that fail in every way that can be scripted. Each is one trial with its reason, the run goes
 * on, and the failures do not change the winner. The template faulty.cu has one configuration for
 * each fault.
 */
#include "fault.h"

#include <signal.h>
#include <stdbool.h>

#include "base/model.h"

enum { LURE };

/* How each fault is recorded, and what the reason has to say; more than one way of saying it with '|'. */
static const struct {
    int kind;
    const char *effect;
    tt__trial_status status;
    const char *says;
} faults[] = {
    {1, "hang", TT__TRIAL_TIMEOUT, "longer than 1 s"},
    {2, "illegal_address", TT__TRIAL_CRASHED, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {3, "crash", TT__TRIAL_CRASHED, "signal 11|exit code 1"}, /* a sanitizer makes an exit of the signal */
    {4, "wrong", TT__TRIAL_WRONG_RESULT, "first wrong element at dst["},
    {5, "wrong_once", TT__TRIAL_WRONG_RESULT, "first wrong element at dst["},
    {6, "oob", TT__TRIAL_WRONG_RESULT, "wrote before dst"},
    {7, "compile_error", TT__TRIAL_COMPILE_ERROR, "scripted"},
    {8, "compile_crash", TT__TRIAL_COMPILER_CRASHED, "signal 6|exit code 1"},
    {9, "load_error", TT__TRIAL_LAUNCH_ERROR, "CUDA_ERROR_INVALID_IMAGE"},
    {10, "launch_error", TT__TRIAL_LAUNCH_ERROR, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
};
enum { N_FAULTS = sizeof faults / sizeof *faults };

static char kernel[64], config[256], trials[32]; /* of the run without faults */

static void run_with(run_result *r, const char *db, const char *rules) {
    fault_tune(r, rules, SMALL_AND("faulty") " --json --trial-timeout 1 --template %s --db %s",
               fault_source("faulty.cu"), fault_path(db));
}

static int enter(void **state) {
    run_result r;
    fault_enter(state);
    run_with(&r, "whole.db", "");
    assert_code(&r, 0);
    run_json(kernel, sizeof kernel, r.out, "kernel");
    run_json(config, sizeof config, r.out, "config");
    run_json(trials, sizeof trials, r.out, "trials");
    assert_has(&r, r.out, "\"failed\":0,");
    assert_string_not_equal(kernel, "faulty");
    run_free(&r);
    return 0;
}

static void assert_trial(const char *db, int kind, tt__trial_status status, const char *says) {
    char config[16];
    snprintf(config, sizeof config, "KIND=%d", kind);
    fault_assert_trial(db, "config.text", config, status, says);
}

/* All at once, and one more that is wrong, but twenty times as fast as anything else. */
static void every_fault_is_one_trial(void **state) {
    (void)state;
    char rules[1024] = "kernel=faulty,KIND=0:wrong_once;kernel=faulty,KIND=0:slow=0.05", got[256];
    run_result r;
    for (size_t i = 0; i < N_FAULTS; i++)
        snprintf(rules + strlen(rules), sizeof rules - strlen(rules), ";kernel=faulty,KIND=%d:%s",
                 faults[i].kind, faults[i].effect);
    run_with(&r, "faults.db", rules);
    assert_code(&r, 0);
    assert_string_equal(run_json(got, sizeof got, r.out, "kernel"), kernel);
    assert_string_equal(run_json(got, sizeof got, r.out, "config"), config);
    assert_string_equal(run_json(got, sizeof got, r.out, "trials"), trials);
    assert_int_equal(atoi(run_json(got, sizeof got, r.out, "failed")), N_FAULTS + 1);
    run_free(&r);

    const char *db = fault_path("faults.db");
    for (size_t i = 0; i < N_FAULTS; i++)
        assert_trial(db, faults[i].kind, faults[i].status, faults[i].says);
    assert_trial(db, LURE, TT__TRIAL_WRONG_RESULT, "first wrong element");
    assert_int_equal(fault_number(db, "SELECT count(*) > 0 AND max(status) = 0 FROM trial JOIN config"
                                      " ON config.id = config_id WHERE text = 'KIND=11'"),
                     1); /* the only sound one, perhaps in the finals, too */
    assert_int_equal(fault_number(db, "SELECT count(*) FROM trial WHERE status <> 0"), N_FAULTS + 1);

    /* Failed configurations are not tried again. */
    int64_t n = fault_number(db, "SELECT count(*) FROM trial");
    run_with(&r, "faults.db", rules);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"source\":\"stored\"");
    assert_int_equal(fault_number(db, "SELECT count(*) FROM trial"), n);
    run_free(&r);
    assert_int_equal(
        fault_number(db, "SELECT count(*) - count(DISTINCT config_id) FROM trial WHERE stage = 0"), 0);
}

/* The lure of the test above does attract, if only it is right. */
static void the_fastest_that_is_right_wins(void **state) {
    (void)state;
    char got[256];
    run_result r;
    run_with(&r, "lure.db", "kernel=faulty,KIND=0:slow=0.05");
    assert_code(&r, 0);
    assert_string_equal(run_json(got, sizeof got, r.out, "kernel"), "faulty");
    assert_has(&r, r.out, "\"KIND\":0");
    run_free(&r);
}

/* If a whole family of kernels is wrong, the others still have a winner. */
static void a_kernel_that_is_wrong_everywhere(void **state) {
    (void)state;
    char rules[128], got[256];
    run_result r;
    snprintf(rules, sizeof rules, "kernel=%s:wrong", kernel);
    run_with(&r, "family.db", rules);
    assert_code(&r, 0);
    assert_string_not_equal(run_json(got, sizeof got, r.out, "kernel"), kernel);
    assert_true(atoi(run_json(got, sizeof got, r.out, "failed")) > 0);
    run_free(&r);
}

static void nothing_works_at_all(void **state) {
    (void)state;
    char rules[512];
    run_result r;
    fault_text(
        rules, sizeof rules, fault_path("whole.db"),
        "SELECT group_concat('kernel=' || kernel || ':wrong', ';') FROM template WHERE op = 'transpose'");
    run_with(&r, "nothing.db", rules);
    assert_code(&r, 1);
    assert_has(&r, r.err, "every configuration failed");
    assert_has(&r, r.out, "\"kernel\":null");
    run_free(&r);
}

/* Nothing wins by a reference that is wrong, and the error names it. */
static void a_reference_that_is_wrong(void **state) {
    (void)state;
    run_result r;
    run_with(&r, "reference.db", "kernel=transpose_reference:wrong");
    assert_code(&r, 1);
    assert_has(&r, r.err, "every configuration failed (is the reference right?), the first: wrong_result");
    assert_has(&r, r.err, "what may help: check the kernel against its reference");
    run_free(&r);
    assert_int_equal(fault_number(fault_path("reference.db"),
                                  "SELECT count(*) FROM winner JOIN problem ON problem.id = problem_id"
                                  " JOIN operation ON operation.id = operation_id WHERE name = 'transpose'"),
                     0);
}

/* ---- Compilers that are killed ---- */

typedef struct hunt {
    const char *file; /* those that compile it */
    int left;         /* so many are still to be killed */
    double next_s;    /* not before: the last one is gone then */
} hunt;

static void kill_compilers(void *user, pid_t tuner, double seconds, const char *err) {
    (void)err;
    hunt *h = user;
    if (h->left > 0 && seconds >= h->next_s && fault_strike(tuner, "compile", h->file, SIGKILL, 1) == 1) {
        h->left--;
        h->next_s = seconds + 0.2;
    }
}

/* Nothing can be tried without the verifier's own kernels and the reference: another compiler takes them
 * over, and a third. Also if they are compiled ahead, for a GPU that is only presumed. */
static void compilers_that_die_over_what_all_need(void **state) {
    (void)state;
    static const struct {
        const char *faults, *gpu, *file, *says;
        int jobs;
    } runs[] = {
        {"kernel=tt_fill:compile_slow=1500", "HOSTCUDA_NVML_NAME", "verify.cu",
         "as did 2 before it, over the verifier's", 1},
        {"kernel=copy_reference:compile_slow=1500", "HOSTCUDA_NVML_NAME", "copy.cu",
         "the reference copy_reference", 1},
        {"driver:init_slow=2500;kernel=tt_fill:compile_slow=1500", "HOSTCUDA_NVML_NAME=hostcuda", "verify.cu",
         "as did 2 before it, over the verifier's", 2},
    };
    for (size_t i = 0; i < 2 * sizeof runs / sizeof *runs; i++) {
        bool forever = i % 2;
        const char *db = fault_path("whole.db"); /* which knows the GPU */
        char rules[128], line[512];
        run_result r;
        snprintf(rules, sizeof rules, "HOSTCUDA_FAULTS=%s", runs[i / 2].faults);
        const char *env[] = {rules, runs[i / 2].gpu, NULL};
        hunt h = {.file = runs[i / 2].file, .left = forever ? 1000 : 2};
        run_spec spec = {.env = env, .timeout_s = fault_timeout_s, .meanwhile = kill_compilers, .user = &h};
        snprintf(line, sizeof line, "--sizes 33 --max-trials 4 --force --jobs %d --json --db %s",
                 runs[i / 2].jobs, db);
        fault_number(db, "DELETE FROM cubin_link; DELETE FROM cubin");
        run_tune(&r, &spec, line);
        if (forever) {
            assert_true(r.code > 0);
            assert_has(&r, r.err, runs[i / 2].says);
        } else {
            assert_code(&r, 0);
            assert_true(h.left <= 0);
            assert_has(&r, r.out, "\"failed\":0,");
        }
        run_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_one_trial),
        cmocka_unit_test(the_fastest_that_is_right_wins),
        cmocka_unit_test(a_kernel_that_is_wrong_everywhere),
        cmocka_unit_test(nothing_works_at_all),
        cmocka_unit_test(a_reference_that_is_wrong),
        cmocka_unit_test(compilers_that_die_over_what_all_need),
    };
    return cmocka_run_group_tests(tests, enter, run_leave);
}
