/*
 * Energies as the GPU worker measures them, on the CPU stand-in, whose NVML counts what launches take
 * ($HOSTCUDA_WATTS). A launch of 100 W above idle power takes as many microjoules as 100 times its
 * microseconds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/problem.h"
#include "device/device.h"
#include "kernel/load/builtin.h"
#include "kernel/space/space.h"
#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/measure/energy.h"

enum { ENTRANTS = 2 };

/* The default, and the same with PAD=1; trains of 0.25 s. */
static tt_status measure(tt__trial trials[ENTRANTS], const char *watts, const char *faults) {
    static const char *const configs[ENTRANTS] = {"", "PAD=1"};
    tt__template_set templates;
    tt__store *store;
    tt__backend *backend;
    tt__candidate candidates[ENTRANTS];
    tt_problem asked = TT_INIT(tt_problem);
    tt__problem p;
    tt__gpu gpu;
    tt__env env;
    setenv("HOSTCUDA_CLOCKS", "1980", 1);
    setenv("HOSTCUDA_FAULTS", faults, 1);
    if (*watts)
        setenv("HOSTCUDA_WATTS", watts, 1);
    else
        unsetenv("HOSTCUDA_WATTS");
    asked.rows = 33;
    asked.cols = 47;
    OK(tt__matrix_problem(&p, &asked));
    OK(tt__template_set_open(&templates, NULL, 0));
    OK(tt__store_open(&store, ":memory:", TT__STORE_READ_WRITE));
    OK(tt__backend_gpu(
        &backend, &(tt__backend_gpu_opts){.trial_timeout_s = 60, .compile_timeout_s = 60, .store = store}));
    OK(backend->ops->hello(backend, &gpu, &env));
    assert_int_equal(backend->counts_energy, *watts != '\0');
    const tt__template *t = tt__template_set_find(&templates, "transpose_tiled");
    const tt__configuration *c[ENTRANTS] = {&candidates[0].configuration, &candidates[1].configuration};
    for (int i = 0; i < ENTRANTS; i++) {
        char config[TT__CONFIG_MAX];
        snprintf(config, sizeof config, "%s", t->default_config);
        char *pad = strstr(config, "PAD=");
        if (*configs[i] && pad)
            memcpy(pad, pad[4] == '1' ? "PAD=0" : "PAD=1", 5);
        OK(tt__space_resolve(&candidates[i], t, &gpu, &p, config));
    }
    const tt__rounds rounds = {.least = 7, .most = 15, .worth_s = 0.1, .loads = 1};
    OK(backend->ops->problem(backend, &p, t));
    tt_status status = tt__backend_finals(backend, c, ENTRANTS, rounds, 0, 0.25, trials);
    backend->ops->close(backend);
    tt__store_close(&store);
    tt__template_set_close(&templates);
    return status;
}

static void assert_joules(const tt__trial *t, double watts, double within) {
    double expected = watts * t->time_us * 1e-6;
    if (!(fabs(t->energy.joules / expected - 1) < within))
        fail_msg("%g uJ +- %g instead of %g in %g us", t->energy.joules * 1e6, t->energy.noise * 1e6,
                 expected * 1e6, t->time_us);
}

static void subtracts_idle_and_flush(void **state) {
    (void)state;
    tt__trial t[ENTRANTS];
    OK(measure(t, "70,100", ":slow=20"));
    assert_joules(&t[0], 100, 0.02);
    assert_joules(&t[1], 100, 0.02);
    assert_true(fabs(t[0].energy.idle_watts - 70) < 2 && t[0].energy.celsius > 39);
    assert_true(tt__energy_known(&t[0].energy));
}

static void cancels_a_drift(void **state) {
    (void)state;
    tt__trial t[ENTRANTS];
    double ratio;
    OK(measure(t, "70,100,4", ":slow=20;PAD=0:hungry=1.2"));
    tt__energy_verdict v = tt__energy_compare(&t[0].energy, &t[1].energy, false, &ratio);
    double expected = t[0].time_us / t[1].time_us * (ratio > 1 ? 1.2 : 1 / 1.2);
    assert_true(v == (ratio > 1 ? TT__ENERGY_MORE : TT__ENERGY_LESS));
    if (fabs(ratio / expected - 1) > 0.02)
        fail_msg("%g instead of %g", ratio, expected);
}

static void says_when_noise_wins(void **state) {
    (void)state;
    tt__trial t[ENTRANTS];
    double ratio;
    OK(measure(t, "70,100,0,60", ":slow=20;PAD=0:hungry=1.05"));
    assert_int_equal(tt__energy_compare(&t[0].energy, &t[1].energy, false, &ratio), TT__ENERGY_UNKNOWN);
}

static void says_that_it_is_not_counted(void **state) {
    (void)state;
    tt__trial t[ENTRANTS];
    assert_int_equal(measure(t, "", ":slow=20"), TT_E_UNSUPPORTED);
    assert_non_null(strstr(tt_last_error(), "NVML does not count this GPU's energy"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subtracts_idle_and_flush),
        cmocka_unit_test(cancels_a_drift),
        cmocka_unit_test(says_when_noise_wins),
        cmocka_unit_test(says_that_it_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
