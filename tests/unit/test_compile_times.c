/* Compile times are learnt from trials, and count if there is a time limit. */
#include <math.h>

#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "space_fixture.h"
#include "tuner/strategy/strategy.h"

static const char loops[] =
    "kernel loops\nproblem n 4096\nbuffer x f32 n inout\nparam UNROLL 1 2 4 8 16\n"
    "param TILE 1 2 4 8\nparam MODE 0 1 2\nruntime ORDER 0 1\nblock 32\ngrid n\nargs x\n"
    "default UNROLL=1 TILE=1 MODE=0 ORDER=0\n";

static void open_loops(field *f) {
    *f = (field){.t = {field_template(loops)}};
    assert_ok(tt__operation_problem(&f->problem, f->t[0]->operation, f->t[0]->op, NULL));
    assert_ok(tt__space_add(&f->space, f->t[0], &field_gpu, &f->problem));
    f->known = calloc(f->space.n, sizeof *f->known);
    f->trials = calloc(f->space.n, sizeof *f->trials);
    assert_true(f->known && f->trials);
    assert_ok(tt__cost_model_open(&f->model, &f->space, &field_gpu, &f->problem, NULL));
    f->view = (tt__view){.space = &f->space, .model = &f->model, .known = f->known, .trials = f->trials};
}

/* MODE 1 takes four times as long, each doubling of UNROLL half as long again. ORDER needs no compile. */
static double truth(const field *f, size_t i) {
    return 0.05 * pow(field_value(f, i, "UNROLL"), 0.6) * (field_value(f, i, "MODE") == 1 ? 4 : 1);
}

static void try(field *f, size_t i) {
    field_set(f, i, 10 + (double)(i % 7) / 10);
    f->trials[i].compile_ms = truth(f, i) * 1e3;
    f->known[i] = TT__TRIED;
}

static void test_learns(void **state) {
    (void)state;
    field f;
    open_loops(&f);
    double *seconds = calloc(f.space.n, sizeof *seconds), error = 0;
    assert_non_null(seconds);
    assert_ok(tt__compile_times(seconds, &f.view)); /* nothing is known */
    for (size_t i = 1; i < f.space.n; i++)
        if (field_value(&f, i, "UNROLL") == 16)
            assert_true(seconds[i] > seconds[0]);
    for (size_t k = 0; k < 40; k++)
        try(&f, k * 7 % f.space.n);
    f.trials[0].compile_ms = 0; /* it was cached */
    assert_ok(tt__compile_times(seconds, &f.view));
    for (size_t i = 0; i < f.space.n; i++)
        error = fmax(error, fabs(log(seconds[i] / truth(&f, i))));
    if (error > 0.25)
        fail_msg("a compile time is wrong by a factor of %g", exp(error));
    free(seconds);
    field_close(&f);
}

/* How many seconds the first 40 trials compile. */
static double compiled_s(bool hurried) {
    void *self = NULL;
    double sum = 0;
    field f;
    open_loops(&f);
    f.view.hurried = hurried;
    assert_ok(tt__strategy_surrogate.open(&self, &f.view, 1));
    for (int k = 0; k < 40; k++) {
        int64_t at;
        assert_ok(tt__strategy_surrogate.next(&at, self, &f.view));
        assert_true(at != TT__NOTHING);
        try(&f, (size_t)at);
        f.trials[at].compile_ms *= 20;
        sum += f.trials[at].compile_ms / 1e3;
    }
    tt__strategy_surrogate.close(self);
    field_close(&f);
    return sum;
}

static void test_hurried(void **state) {
    (void)state;
    double calm = compiled_s(false), hurried = compiled_s(true);
    if (hurried > calm * 0.7)
        fail_msg("%g s of compiling with a time limit, %g s without", hurried, calm);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_learns), cmocka_unit_test(test_hurried)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
