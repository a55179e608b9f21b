/*
 * The rounds of finals in the GPU worker, on the CPU stand-in. Here a launch takes longer the more code lies
 * before its own ($HOSTCUDA_MOVED). So each sample shows after which load it was taken, and that loads have
 * different addresses.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/problem.h"
#include "device/device.h"
#include "kernel/load/builtin.h"
#include "kernel/space/space.h"
#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/measure/noise.h"

enum { ENTRANTS = 3 };

typedef struct bench {
    tt__template_set templates;
    tt__store *store;
    tt__backend *backend;
    tt__candidate candidate;
    tt__trial trials[ENTRANTS];
} bench;

static void open_bench(bench *b) {
    tt_problem asked = TT_INIT(tt_problem);
    tt__problem p;
    tt__gpu gpu;
    tt__env env;
    asked.rows = 33;
    asked.cols = 47;
    OK(tt__matrix_problem(&p, &asked));
    OK(tt__template_set_open(&b->templates, NULL, 0));
    OK(tt__store_open(&b->store, ":memory:", TT__STORE_READ_WRITE));
    OK(tt__backend_gpu(&b->backend, &(tt__backend_gpu_opts){
                                        .trial_timeout_s = 60, .compile_timeout_s = 60, .store = b->store}));
    OK(b->backend->ops->hello(b->backend, &gpu, &env));
    const tt__template *t = tt__template_set_find(&b->templates, "transpose_tiled");
    OK(tt__space_resolve(&b->candidate, t, &gpu, &p, t->default_config));
    OK(b->backend->ops->problem(b->backend, &p, t));
}

static void close_bench(bench *b) {
    b->backend->ops->close(b->backend);
    tt__store_close(&b->store);
    tt__template_set_close(&b->templates);
}

/* The same configuration several times, so that only its place tells one entrant from another. */
static void hold(bench *b, tt__rounds rounds) {
    const tt__configuration *c[ENTRANTS] = {&b->candidate.configuration, &b->candidate.configuration,
                                            &b->candidate.configuration};
    OK(tt__backend_finals(b->backend, c, ENTRANTS, rounds, 0, 0, b->trials));
}

/* The samples of one load are alike, those of a later one longer. Puts the first of each load in `first`. */
static int find_loads(const tt__trial *t, int *first) {
    int n = 0;
    for (int i = 0; i < t->n_samples; i++) {
        assert_true(t->samples_us[i] > 0);
        double step = i == 0 ? 1 : t->samples_us[i] / t->samples_us[i - 1] - 1;
        assert_true(fabs(step) < 1e-4 || step > 1e-3);
        if (step > 1e-3)
            first[n++] = i;
    }
    first[n] = t->n_samples;
    return n;
}

/* Every round has a sample, and every load as many rounds as any other, or one more. */
static void test_rounds_and_loads(void **state) {
    (void)state;
    static const struct {
        tt__rounds rounds;
        int n;
    } cases[] = {
        {{9, 21, 0, 8, false, false}, 9},    {{7, 7, 0, 7, false, false}, 7},
        {{31, 127, 0, 8, false, false}, 31}, {{1, 1, 0, 1, false, false}, 1},
        {{5, 5, 0, 1, false, false}, 5},     {{5, 20, 100, 1, false, false}, 20},
        {{8, 21, 100, 8, false, false}, 21}, {{31, 127, 100, 2, false, false}, 127},
    };
    bench b = {0};
    open_bench(&b);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const tt__rounds *r = &cases[k].rounds;
        hold(&b, *r);
        for (int i = 0; i < ENTRANTS; i++) {
            const tt__trial *t = &b.trials[i];
            int first[TT__FINAL_ROUNDS_MAX + 1];
            assert_int_equal(t->status, TT__TRIAL_OK);
            assert_int_equal(t->n_samples, cases[k].n);
            assert_int_equal(find_loads(t, first), r->loads);
            for (int load = 0; load < r->loads; load++)
                assert_in_range(first[load + 1] - first[load], cases[k].n / r->loads,
                                (cases[k].n + r->loads - 1) / r->loads);
            assert_true(t->time_us == tt__round_us(tt__median(t->samples_us, (size_t)t->n_samples)));
        }
    }
    close_bench(&b);
}

/* Each entrant is loaded by itself, and none is always before the others. */
static void test_order_of_loads(void **state) {
    (void)state;
    enum { LOADS = 8 };
    int n_first[ENTRANTS] = {0};
    bench b = {0};
    open_bench(&b);
    hold(&b, (tt__rounds){LOADS, LOADS, 0, LOADS, false, false});
    for (int load = 0; load < LOADS; load++) {
        int at = 0;
        for (int i = 1; i < ENTRANTS; i++) {
            assert_true(b.trials[i].samples_us[load] != b.trials[at].samples_us[load]);
            if (b.trials[i].samples_us[load] < b.trials[at].samples_us[load])
                at = i;
        }
        n_first[at]++;
    }
    for (int i = 0; i < ENTRANTS; i++)
        assert_in_range(n_first[i], 1, LOADS - 1);
    close_bench(&b);
}

/* The spread of an entrant's samples. */
static double spread(bench *b, tt__rounds rounds) {
    hold(b, rounds);
    const tt__trial *t = &b->trials[0];
    double least = t->samples_us[0], most = least;
    for (int i = 1; i < t->n_samples; i++) {
        least = fmin(least, t->samples_us[i]);
        most = fmax(most, t->samples_us[i]);
    }
    return most / least - 1;
}

/* If launches vary, samples of many laps vary less. */
static void test_laps(void **state) {
    (void)state;
    enum { ROUNDS = 20 };
    bench b = {0};
    setenv("HOSTCUDA_NOISE", "10", 1);
    open_bench(&b);
    double of_one = spread(&b, (tt__rounds){ROUNDS, ROUNDS, 0, 1, false, false}),
           of_many = spread(&b, (tt__rounds){ROUNDS, ROUNDS, 100, 1, false, false});
    assert_true(of_one > 0.1);
    assert_true(of_many < of_one / 2);
    close_bench(&b);
    unsetenv("HOSTCUDA_NOISE");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_and_loads),
        cmocka_unit_test(test_order_of_loads),
        cmocka_unit_test(test_laps),
    };
    setenv("HOSTCUDA_MOVED", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
