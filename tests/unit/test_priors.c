/* Trials elsewhere as a prior: what is made of them, and what a Gaussian process makes of that. */
#include <math.h>

#include "space_fixture.h"
#include "tuner/strategy/gp.h"

static const char tiles[] =
    "kernel tiles\nop transpose\nparam W 16 32 64\nparam H 16 32 128\nparam PAD 0 1\n"
    "param ORDER 0 1\nparam VL 4 8\nblock 8, 32\ngrid ceil_div(cols, W), ceil_div(rows, H)\n"
    "shared W * (H + PAD) * elem_size\nargs dst, src\ndefault W=16 H=32 PAD=1 ORDER=0 VL=4\n";

/* What a source has not tried is guessed; a failure is as bad as the slowest. */
static void test_priors(void **state) {
    (void)state;
    field f;
    tt__priors p = {0};
    double times[256] = {0};
    field_open(&f, tiles, NULL);
    assert_true(f.space.n <= 256);
    assert_ok(tt__priors_add(&p, &f.model, times));
    assert_int_equal(p.n, 0); /* it has no times */
    for (size_t i = 0; i < f.space.n; i++)
        times[i] = i % 2 ? 0 : field_value(&f, i, "W");
    times[2] = INFINITY;
    assert_ok(tt__priors_add(&p, &f.model, times));
    assert_int_equal(p.n, 1);
    float most = 0;
    for (size_t i = 0; i < f.space.n; i++)
        most = fmaxf(most, p.of[0][i]);
    assert_true(p.of[0][2] == most);
    for (size_t i = 5; i + 1 < f.space.n; i += 2) {
        bool alike = field_value(&f, i, "W") == field_value(&f, i - 1, "W");
        if (alike && fabsf(p.of[0][i] - p.of[0][i - 1]) > 0.35F)
            fail_msg("%zu is guessed as %g, %zu is %g", i, (double)p.of[0][i], i - 1, (double)p.of[0][i - 1]);
    }
    tt__priors_free(&p);
    field_close(&f);
}

/* Times that no coordinate explains. */
static double truth(size_t i) {
    return sin(1.7 * (double)(i * i));
}

static double alike(size_t i) {
    return truth(i) / 2;
}

static double unlike(size_t i) {
    return 3 * sin(2.3 * (double)(i * i) + 1);
}

static void add(tt__priors *p, const field *f, double guess(size_t i)) {
    double times[256];
    for (size_t i = 0; i < f->space.n; i++)
        times[i] = exp(guess(i));
    assert_ok(tt__priors_add(p, &f->model, times));
}

/* The mean error of a process with n such priors after 16 values. */
static double error_with(const field *f, double guess(size_t i), size_t n) {
    tt__gp *gp;
    tt__priors p = {0};
    const double *mean, *deviation;
    double error = 0;
    while (p.n < n)
        add(&p, f, guess);
    assert_ok(tt__gp_open(&gp, &tt__gp_product, &f->model, &p));
    for (size_t r = 0; r < 16; r++) {
        assert_ok(tt__gp_add(gp, r * 7 % f->space.n));
        tt__gp_set(gp, r, truth(gp->rows[r]));
    }
    assert_ok(tt__gp_fit(gp));
    tt__gp_predict(gp, &mean, &deviation);
    for (size_t i = 0; i < f->space.n; i++)
        error += fabs(mean[i] - truth(i)) / (double)f->space.n;
    tt__gp_close(gp);
    tt__priors_free(&p);
    return error;
}

/* A prior helps if it is right. The fit drops one that is wrong. */
static void test_gp_with_priors(void **state) {
    (void)state;
    field f;
    field_open(&f, tiles, NULL);
    double none = error_with(&f, NULL, 0);
    for (size_t n = 1; n <= 2; n++) {
        double helped = error_with(&f, alike, n), misled = error_with(&f, unlike, n);
        if (helped > none / 2 || fabs(misled - none) > 1e-6)
            fail_msg("error %g, %g with %zu right priors, %g with wrong ones", none, helped, n, misled);
    }
    field_close(&f);
}

/* Before any value, the deviation expected with these priors. */
static double doubt_with(const field *f, double one(size_t i), double other(size_t i)) {
    tt__gp *gp;
    tt__priors p = {0};
    const double *mean, *deviation;
    add(&p, f, one);
    add(&p, f, other);
    assert_ok(tt__gp_open(&gp, &tt__gp_product, &f->model, &p));
    tt__gp_predict(gp, &mean, &deviation);
    double doubt = deviation[1];
    tt__gp_close(gp);
    tt__priors_free(&p);
    return doubt;
}

/* Priors that agree are expected to be right, and others are not. */
static void test_priors_that_agree(void **state) {
    (void)state;
    field f;
    field_open(&f, tiles, NULL);
    double agree = doubt_with(&f, truth, truth), alike_only = doubt_with(&f, truth, alike),
           disagree = doubt_with(&f, truth, unlike);
    if (!(agree > 0 && alike_only > agree && disagree > 2 * alike_only))
        fail_msg("%g if they agree, %g if they are alike, %g if not", agree, alike_only, disagree);
    field_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_priors),
        cmocka_unit_test(test_gp_with_priors),
        cmocka_unit_test(test_priors_that_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
