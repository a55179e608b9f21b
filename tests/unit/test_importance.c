/* Importance of parameters, on functions whose analysis of variance is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "tuner/explain/importance.h"

enum { A = 4, B = 3, C = 5, ALL = A * B * C, SOME = 40 };

typedef double function(size_t a, size_t b, size_t c);

/* Rows of the grid, in a shuffled order. `some` of them only. */
static tt__importance analyse(function *f, size_t some) {
    static unsigned char level[ALL * 3];
    double value[ALL];
    size_t order[ALL];
    uint64_t seed = 7;
    tt__importance out;
    tt__importance_of of = {.n = some, .n_params = 3, .n_levels = {A, B, C}, .level = level, .value = value};
    for (size_t i = 0; i < ALL; i++)
        order[i] = i;
    for (size_t i = 0; i < some; i++) {
        size_t other = i + tt__random_below(&seed, ALL - i), at = order[other];
        order[other] = order[i];
        size_t a = at % A, b = at / A % B, c = at / A / B;
        level[i * 3] = (unsigned char)a;
        level[i * 3 + 1] = (unsigned char)b;
        level[i * 3 + 2] = (unsigned char)c;
        value[i] = f(a, b, c);
    }
    assert_int_equal(tt__importance_find(&out, &of), TT_OK);
    return out;
}

#define NEAR(value, expected, within) assert_true(fabs((value) - (expected)) <= (within))

static double additive(size_t a, size_t b, size_t c) {
    (void)c; /* irrelevant */
    return 10 + 2 * (double)a + (b == 1 ? 3 : 0);
}

/* The variances are 4 * 1.25 of a and 9 * 2/9 of b. */
static void test_additive(void **state) {
    (void)state;
    tt__importance im = analyse(additive, ALL);
    NEAR(im.alone[0], 5.0 / 7, 1e-9);
    NEAR(im.alone[1], 2.0 / 7, 1e-9);
    NEAR(im.alone[2], 0, 1e-9);
    NEAR(im.pair[0][1] + im.pair[0][2] + im.pair[1][2] + im.rest, 0, 1e-9);
    NEAR(im.mean, 14, 1e-9);
    NEAR(im.effect[0][0], -3, 1e-9);
    NEAR(im.effect[0][3], 3, 1e-9);
    NEAR(im.effect[1][1], 2, 1e-9);
    NEAR(im.effect[2][4], 0, 1e-9);
}

static double interaction(size_t a, size_t b, size_t c) {
    (void)b;
    return (a < 2) == (c % 2 == 0) ? 1 : -1;
}

/* C has three even levels and two odd ones, so c explains nothing alone, and a neither: 1/25 is left. */
static void test_interaction(void **state) {
    (void)state;
    tt__importance im = analyse(interaction, ALL);
    NEAR(im.alone[1], 0, 1e-9);
    NEAR(im.alone[2], 0, 1e-9);
    NEAR(im.alone[0], 0.04, 1e-9);
    NEAR(im.pair[0][2], 0.96, 1e-9);
    NEAR(im.pair[2][0], im.pair[0][2], 0);
    NEAR(im.rest, 0, 1e-9);
    NEAR(im.total[2], 0.96, 1e-9);
    NEAR(im.total[1], 0, 1e-9);
}

static double parity(size_t a, size_t b, size_t c) {
    return (double)((a < 2) ^ (b < 1) ^ (c < 2));
}

static void test_three_at_once(void **state) {
    (void)state;
    tt__importance im = analyse(parity, ALL);
    assert_true(im.rest > 0.8);
}

static double same(size_t a, size_t b, size_t c) {
    (void)a, (void)b, (void)c;
    return 3;
}

static void test_constant(void **state) {
    (void)state;
    tt__importance im = analyse(same, ALL);
    NEAR(im.alone[0] + im.alone[1] + im.alone[2] + im.rest, 0, 0);
    NEAR(im.mean, 3, 0);
    NEAR(analyse(additive, 1).rest, 0, 0);
}

/* With a third of the trials missing, the order and roughly the shares stay. */
static void test_partial(void **state) {
    (void)state;
    tt__importance im = analyse(additive, SOME), again = analyse(additive, SOME);
    NEAR(im.alone[0], 5.0 / 7, 0.1);
    NEAR(im.alone[1], 2.0 / 7, 0.1);
    assert_true(im.total[2] < 0.05);
    assert_memory_equal(&im, &again, sizeof im);
    im = analyse(interaction, SOME);
    assert_true(im.pair[0][2] > 0.6 && im.pair[0][2] > 5 * im.pair[0][1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_additive),      cmocka_unit_test(test_interaction),
        cmocka_unit_test(test_three_at_once), cmocka_unit_test(test_constant),
        cmocka_unit_test(test_partial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
