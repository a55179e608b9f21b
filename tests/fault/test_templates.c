/*
 * The templates of tests/fault/templates, each with a fault of its own, in one run with two good ones. The
 * run ends in time, the right one wins, and every failure is recorded under its name. On the CPU stand-in
 * (suite fault), and with the argument "gpu" on a GPU (suite gpu).
 */
#include "fault.h"

#include <signal.h>

#include "base/model.h"

/* How each fault is recorded, and what the reason says, on either; what the stand-in
 * must be told for that. */
static const struct {
    const char *kernel;
    tt__trial_status status;
    const char *says;
    const char *rule;
} faults[] = {
    {"hangs", TT__TRIAL_TIMEOUT, "ran longer than 3 s", NULL},
    {"writes_before", TT__TRIAL_WRONG_RESULT, "wrote before dst", NULL},
    {"writes_far_away", TT__TRIAL_CRASHED, "ILLEGAL_ADDRESS|signal 11|exit code 1", NULL},
    {"wrong", TT__TRIAL_WRONG_RESULT, "first wrong element at dst[0]", NULL},
    {"wrong_once_in_a_thousand", TT__TRIAL_WRONG_RESULT, "first wrong element", NULL},
    {"does_not_compile", TT__TRIAL_COMPILE_ERROR, "column", NULL},
    {"compiles_for_minutes", TT__TRIAL_COMPILE_TIMEOUT, "compiled longer than 20 s", "compile_hang"},
    {"eats_memory", TT__TRIAL_COMPILE_ERROR, "out of memory|scripted", "compile_error"},
    {"too_many_registers", TT__TRIAL_LAUNCH_ERROR, "OUT_OF_RESOURCES", "launch_error"},
    {"too_much_shared", TT__TRIAL_COMPILE_ERROR, "too much shared|scripted", "compile_error"},
    {"crashes_the_compiler", TT__TRIAL_COMPILER_CRASHED, "signal 11|exit code 1", "compile_hang"},
};
enum { N_FAULTS = sizeof faults / sizeof *faults };

typedef struct strikes {
    double next_s; /* looking for the compiler reads files of all processes */
    int n;
} strikes;

/* No text is known that makes NVRTC crash, so it gets the signal over one that keeps it busy. */
static void crash_the_compiler(void *user, pid_t tuner, double seconds, const char *err) {
    strikes *s = user;
    (void)err;
    if (seconds < s->next_s)
        return;
    s->next_s = seconds + 0.1;
    s->n += fault_strike(tuner, "compile", "crashes_the_compiler.cu", SIGSEGV, 1);
}

static void add_template(char *line, size_t size, const char *kernel) {
    size_t n = strlen(line);
    snprintf(line + n, size - n, " --template %s/tests/fault/templates/%s.cu", TT_SOURCE_DIR, kernel);
}

static void each_is_recorded_and_the_good_one_wins(void **state) {
    (void)state;
    char line[8192], rules[1024] = "HOSTCUDA_FAULTS=kernel=good_but_slow:slow=64", got[64];
    const char *db = fault_path("templates.db");
    /* The more jobs, the less memory each compiler may take: what eats it has to meet its limit in time. */
    snprintf(line, sizeof line, "--sizes 256 --json --trial-timeout 3 --compile-timeout 20 --jobs %d --db %s",
             fault_on_gpu() ? 32 : 4, db);
    add_template(line, sizeof line, "good");
    add_template(line, sizeof line, "good_but_slow");
    for (size_t i = 0; i < N_FAULTS; i++) {
        add_template(line, sizeof line, faults[i].kernel);
        size_t n = strlen(rules);
        if (faults[i].rule)
            snprintf(rules + n, sizeof rules - n, ";kernel=%s:%s", faults[i].kernel, faults[i].rule);
    }
    size_t n = strlen(line);
    n += (size_t)snprintf(line + n, sizeof line - n, " --only good,good_but_slow");
    for (size_t i = 0; i < N_FAULTS; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, ",%s", faults[i].kernel);
    run_result r;
    const char *env[] = {rules, NULL};
    strikes struck = {0};
    run_spec spec = {.env = fault_on_gpu() ? NULL : env,
                     .timeout_s = fault_timeout_s,
                     .meanwhile = crash_the_compiler,
                     .user = &struck};
    run_tune(&r, &spec, line);
    assert_code(&r, 0);
    assert_true(struck.n > 0);
    assert_string_equal(run_json(got, sizeof got, r.out, "kernel"), "good");
    assert_int_equal(atoi(run_json(got, sizeof got, r.out, "trials")), N_FAULTS + 2);
    assert_int_equal(atoi(run_json(got, sizeof got, r.out, "failed")), N_FAULTS);
    assert_true(r.seconds < 60);
    run_free(&r);
    for (size_t i = 0; i < N_FAULTS; i++)
        fault_assert_trial(db, "kernel", faults[i].kernel, faults[i].status, faults[i].says);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_recorded_and_the_good_one_wins)};
    int code;
    return fault_choose(argc, argv, &code) ? cmocka_run_group_tests(tests, fault_enter, run_leave) : code;
}
