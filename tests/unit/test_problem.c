/* tt_problem as the header has it: the defaults of its fields, and what is no problem. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/model.h"

#define PROBLEM(...)                                                                                         \
    { .size = sizeof(tt_problem), __VA_ARGS__ }

static void defaults(void **state) {
    (void)state;
    static const struct {
        tt_problem asked;
        int64_t lds, ldd, batch, src_stride, dst_stride;
        int elem_size, align, offset;
    } cases[] = {
        {PROBLEM(.rows = 8, .cols = 12), 12, 8, 1, 96, 96, 4, 16, 0},
        {PROBLEM(.rows = 7, .cols = 12), 12, 7, 1, 84, 84, 4, 4, 0},
        {PROBLEM(.rows = 8, .cols = 12, .align = 8), 12, 8, 1, 96, 96, 4, 8, 8},
        {PROBLEM(.rows = 7, .cols = 5, .align = 16), 5, 7, 1, 35, 35, 4, 4, 0}, /* as pitches allow */
        {PROBLEM(.rows = 8, .cols = 16, .elem_size = 1), 16, 8, 1, 128, 128, 1, 8, 0},
        {PROBLEM(.rows = 8, .cols = 16, .elem_size = 1, .align = 1), 16, 8, 1, 128, 128, 1, 1, 1},
        {PROBLEM(.rows = 8, .cols = 8, .lds = 10, .in_place = 1), 10, 10, 1, 80, 80, 4, 8, 0},
        {PROBLEM(.rows = 4, .cols = 4, .src_stride = 99), 4, 4, 1, 16, 16, 4, 16, 0}, /* no batch: none */
        {PROBLEM(.rows = 4, .cols = 4, .batch = 2, .src_stride = 17), 4, 4, 2, 17, 16, 4, 4, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__problem p;
        assert_int_equal(tt__problem_init(&p, &cases[i].asked), TT_OK);
        assert_int_equal(p.lds, cases[i].lds);
        assert_int_equal(p.ldd, cases[i].ldd);
        assert_int_equal(p.batch, cases[i].batch);
        assert_int_equal(p.src_stride, cases[i].src_stride);
        assert_int_equal(p.dst_stride, cases[i].dst_stride);
        assert_int_equal(p.elem_size, cases[i].elem_size);
        assert_int_equal(p.align, cases[i].align);
        assert_int_equal(tt__base_offset(&p), cases[i].offset);
    }
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        tt_problem asked;
        const char *sentence;
    } cases[] = {
        {{.size = 3, .rows = 1, .cols = 1}, "start from TT_INIT(tt_problem)"},
        {PROBLEM(.rows = 0, .cols = 1), "rows and cols must be at least 1"},
        {PROBLEM(.rows = 1, .cols = 1, .elem_size = 3), "elem_size is 3 bytes"},
        {PROBLEM(.rows = 1, .cols = 1, .align = 32), "align is 32 bytes"},
        {PROBLEM(.rows = 8, .cols = 8, .align = 2), "elements of 4 bytes lie at multiples of 4"},
        {PROBLEM(.rows = 1, .cols = 4, .lds = 3), "lds is 3"},
        {PROBLEM(.rows = 4, .cols = 1, .ldd = 3), "ldd is 3"},
        {PROBLEM(.rows = 1, .cols = 1, .batch = -1), "batch is -1"},
        {PROBLEM(.rows = 1 << 22, .cols = (1 << 22) + 1), "more than 2^44 elements"},
        {PROBLEM(.rows = 1 << 21, .cols = 1 << 21, .batch = 5), "more than 2^44 elements"},
        {PROBLEM(.rows = 4, .cols = 4, .batch = 2, .src_stride = 15), "src_stride is 15"},
        {PROBLEM(.rows = 4, .cols = 5, .in_place = 1), "only square matrices"},
        {PROBLEM(.rows = 4, .cols = 4, .lds = 5, .ldd = 6, .in_place = 1), "must be the same"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__problem p;
        assert_int_equal(tt__problem_init(&p, &cases[i].asked), TT_E_INVALID);
        if (!strstr(tt_last_error(), cases[i].sentence))
            fail_msg("%zu: %s", i, tt_last_error());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
