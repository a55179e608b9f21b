/* How many configurations each line of a template removes. */
#include "template_fixture.h"

#include <time.h>

#include "kernel/space/space.h"

/* Counted by hand. Of A, the second line removes 16, and both remove 128. Of the rest, R = 3 makes a number
 * beyond i32. Otherwise A = 64 makes too many threads. */
static void tells_what_removes_how_much(void **state) {
    (void)state;
    tt__survey s;
    tt__problem p = template_problem("transpose", 0);
    tt__template *t = template_make("//@ param A 16 32 64 128\n//@ param R 1 2 3\n//@ where A <= 64\n"
                                    "//@ where A > 16 AND A <> 128\n//@ where A / (R - R) IS NULL AND R > 0\n"
                                    "//@ block A, iif(A = 64, 32, 8) / iif(A = 128, 0, 1)\n//@ grid 1\n"
                                    "//@ args dst, i32 iif(R = 3, 9999999999, R)\n//@ default A=32 R=1\n");
    assert_int_equal(tt__space_survey(&s, t, &template_gpu, &p), TT_OK);
    assert_int_equal((int)s.combinations, 12);
    assert_int_equal(s.wheres[0].removed, 3);
    assert_int_equal(s.wheres[0].alone, 0);
    assert_int_equal(s.wheres[1].removed, 6);
    assert_int_equal(s.wheres[1].alone, 3);
    assert_int_equal(s.wheres[2].removed, 0);
    assert_int_equal(s.beyond[TT__PART_BLOCK], 2);
    assert_int_equal(s.beyond[TT__PART_ARGS], 2);
    assert_int_equal(s.beyond[TT__PART_GRID] + s.beyond[TT__PART_SHARED], 0);
    assert_int_equal(s.legal, 2);
    tt__template_free(&t);
}

/* Of every built-in template, problem and device: what is counted is what the space has. */
static void counts_what_is_in_the_space(void **state) {
    (void)state;
    static const char *const names[] = {"transpose_tiled.cu", "transpose_vector.cu", "copy_linear.cu"};
    static const tt__gpu *const gpus[] = {&template_gpu, &template_gpu_small};
    for (size_t i = 0; i < COUNT(names) * TEMPLATE_SHAPES * COUNT(gpus); i++) {
        tt__template *t = template_load(names[i % COUNT(names)]);
        tt__problem p = template_problem(t->op, i / COUNT(names) % TEMPLATE_SHAPES);
        const tt__gpu *gpu = gpus[i / COUNT(names) / TEMPLATE_SHAPES];
        tt__space space = {0};
        tt__survey s;
        assert_int_equal(tt__space_add(&space, t, gpu, &p), TT_OK);
        assert_int_equal(tt__space_survey(&s, t, gpu, &p), TT_OK);
        assert_int_equal(s.legal, space.n);
        tt__space_free(&space);
        tt__template_free(&t);
    }
}

#define SIXTEEN(name) "//@ param " name " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"

/* 2^28 combinations are more than it goes through, and it does not begin. */
static void begins_no_count_without_end(void **state) {
    (void)state;
    tt__survey s;
    tt__problem p = template_problem("transpose", 0);
    tt__template *t = template_make(
        SIXTEEN("A") SIXTEEN("B") SIXTEEN("C") SIXTEEN("D") SIXTEEN("E") SIXTEEN("F")
            SIXTEEN("G") "//@ block 32\n//@ grid 1\n//@ args dst\n//@ default A=1 B=1 C=1 D=1 E=1 F=1 G=1\n");
    const clock_t before = clock();
    assert_int_equal(tt__space_survey(&s, t, &template_gpu, &p), TT_E_TEMPLATE);
    assert_true(s.combinations == 0x1p28 && clock() - before < CLOCKS_PER_SEC / 10);
    tt__template_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_removes_how_much),
        cmocka_unit_test(counts_what_is_in_the_space),
        cmocka_unit_test(begins_no_count_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
