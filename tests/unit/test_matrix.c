/* tt_problem as the header has it: the defaults of its fields, what is no problem, and that the operations'
 * files say the same. */
#include "problem_fixture.h"

#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"

#include <inttypes.h>
#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void defaults(void **state) {
    (void)state;
    static const struct {
        tt_problem asked;
        int64_t lds, ldd, batch, src_stride, dst_stride;
        int elem_size, align, offset;
    } cases[] = {
        {{.rows = 8, .cols = 12}, 12, 8, 1, 96, 96, 4, 16, 0},
        {{.rows = 7, .cols = 12}, 12, 7, 1, 84, 84, 4, 4, 0},
        {{.rows = 8, .cols = 12, .align = 8}, 12, 8, 1, 96, 96, 4, 8, 8},
        {{.rows = 7, .cols = 5, .align = 16}, 5, 7, 1, 35, 35, 4, 4, 0}, /* as pitches allow */
        {{.rows = 8, .cols = 16, .elem_size = 1}, 16, 8, 1, 128, 128, 1, 8, 0},
        {{.rows = 8, .cols = 16, .elem_size = 1, .align = 1}, 16, 8, 1, 128, 128, 1, 1, 1},
        {{.rows = 8, .cols = 8, .lds = 10, .in_place = 1}, 10, 10, 1, 80, 80, 4, 8, 0},
        {{.rows = 8, .cols = 6, .in_place = 1}, 6, 8, 1, 48, 48, 4, 8, 0},
        {{.rows = 4, .cols = 4, .src_stride = 99}, 4, 4, 1, 16, 16, 4, 16, 0}, /* no batch: none */
        {{.rows = 4, .cols = 4, .batch = 2, .src_stride = 17}, 4, 4, 2, 17, 16, 4, 4, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const tt__operation *op;
        tt__facts facts;
        tt__problem p = problem_of_matrix(cases[i].asked);
        tt_problem m = tt__matrix_of(&p);
        assert_int_equal(m.rows, cases[i].asked.rows);
        assert_int_equal(m.cols, cases[i].asked.cols);
        assert_int_equal(m.in_place, cases[i].asked.in_place);
        assert_int_equal(m.lds, cases[i].lds);
        assert_int_equal(m.ldd, cases[i].ldd);
        assert_int_equal(m.batch, cases[i].batch);
        assert_int_equal(m.src_stride, cases[i].src_stride);
        assert_int_equal(m.dst_stride, cases[i].dst_stride);
        assert_int_equal(m.elem_size, cases[i].elem_size);
        assert_int_equal(m.align, cases[i].align);
        assert_int_equal(tt__operation_builtin(&op, p.op), TT_OK);
        assert_int_equal(tt__facts_of(&facts, op, NULL, &p), TT_OK);
        assert_int_equal(tt__facts_offset(&facts), cases[i].offset);
    }
}

/* ---- The same from a text ------------------------------------------------------------------------------ */

static const char *op_of(const tt_problem *p) {
    const char *in_place = p->rows == p->cols ? "transpose_in_place" : "transpose_rect_in_place";
    return p->in_place ? in_place : "transpose";
}

/* A matrix as text of its operation. */
static void write_text(char *out, size_t size, const tt_problem *p) {
    const struct {
        const char *name;
        int64_t value;
    } fields[] = {{"rows", p->rows},
                  {"cols", p->cols},
                  {"elem_size", p->elem_size},
                  {"lds", p->lds},
                  {"ldd", p->ldd},
                  {"batch", p->batch},
                  {"align", p->align},
                  {"src_stride", p->src_stride},
                  {"dst_stride", p->dst_stride}};
    int n = snprintf(out, size, "%s", p->warm ? "warm" : "");
    for (size_t i = 0; i < COUNT(fields); i++)
        if (fields[i].value || i < 2)
            n += snprintf(out + n, size - (size_t)n, " %s=%" PRId64, fields[i].name, fields[i].value);
}

/* The i-th of many: gaps, batches with and without room between their matrices, alignments, in place. */
static tt_problem a_matrix(int i) {
    static const int64_t sides[] = {1, 7, 64, 100, 4096, 8191, 3};
    tt_problem p = {.size = sizeof p, .rows = sides[i % 7], .cols = sides[i / 2 % 7]};
    p.elem_size = i % 6 ? 1 << i % 5 : 0;
    p.in_place = i % 5 == 4;
    if (p.in_place && i % 2) { /* a rectangle has neither gaps nor a batch */
        p.cols += p.cols == p.rows;
        return p;
    }
    p.cols = p.in_place ? p.rows : p.cols;
    p.lds = i % 3 == 1 ? p.cols + i : 0;
    p.ldd = i % 4 == 1 && !p.in_place ? p.rows + 2 * i : 0;
    p.batch = i % 4 == 2 ? 2 + i : i % 4 == 3;
    if (p.batch > 1 && i % 8 > 3)
        p.src_stride = (p.rows + 1) * (p.lds ? p.lds : p.cols);
    if (p.batch > 1 && i % 8 > 3 && !p.in_place)
        p.dst_stride = (p.cols - 1) * (p.ldd ? p.ldd : p.rows) + p.rows;
    p.dst_stride = p.in_place ? p.src_stride : p.dst_stride;
    p.align = i % 7 == 3 ? (p.elem_size ? p.elem_size : 4) : 0;
    p.warm = i % 11 == 5;
    return p;
}

static void operations_say_the_same(void **state) {
    (void)state;
    enum { SHAPES = 80 };
    int n_gaps = 0, n_batches = 0, n_aligned = 0, n_in_place = 0;
    for (int i = 0; i < SHAPES; i++) {
        char text[320];
        const tt_problem asked = a_matrix(i);
        tt__problem of_matrix = problem_of_matrix(asked);
        write_text(text, sizeof text, &asked);
        tt__problem of_text = problem_of(op_of(&asked), text);
        assert_int_equal(of_text.n, of_matrix.n);
        for (int k = 0; k < of_text.n; k++) {
            assert_string_equal(of_matrix.settings[k].name, of_text.settings[k].name);
            assert_int_equal(of_matrix.settings[k].type, of_text.settings[k].type);
            if (of_matrix.settings[k].number != of_text.settings[k].number)
                fail_msg("%s: %s is %" PRId64 " of a matrix and %" PRId64 " of the text", text,
                         of_text.settings[k].name, of_matrix.settings[k].number, of_text.settings[k].number);
        }
        assert_true(tt__problem_same(&of_matrix, &of_text));
        assert_true(of_matrix.moved_bytes > 0 && of_matrix.moved_bytes == of_text.moved_bytes);
        n_gaps += asked.lds > 0 || asked.ldd > 0;
        n_batches += asked.batch > 1;
        n_aligned += asked.align > 0;
        n_in_place += asked.in_place;
    }
    assert_true(n_gaps > 20 && n_batches > 10 && n_aligned > 5 && n_in_place > 10);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        tt_problem asked;
        const char *sentence;
    } cases[] = {
        {{.rows = 0, .cols = 1}, "rows and cols must be at least 1"},
        {{.rows = 1, .cols = -1}, "rows and cols must be at least 1"},
        {{.rows = 1, .cols = 1, .elem_size = 3}, "elem_size is 3 bytes"},
        {{.rows = 1, .cols = 1, .align = 32}, "align is 32 bytes"},
        {{.rows = 8, .cols = 8, .align = 2}, "elements of 4 bytes lie at multiples of 4"},
        {{.rows = 1, .cols = 4, .lds = 3}, "lds is 3"},
        {{.rows = 4, .cols = 1, .ldd = 3}, "ldd is 3"},
        {{.rows = 1, .cols = 1, .batch = -1}, "batch is -1"},
        {{.rows = 1 << 22, .cols = (1 << 22) + 1}, "more than 2^44 elements"},
        {{.rows = 1 << 21, .cols = 1 << 21, .batch = 5}, "more than 2^44 elements"},
        {{.rows = 4, .cols = 4, .lds = INT64_C(1) << 43}, "more than 2^44 elements"},
        {{.rows = 4, .cols = 4, .ldd = INT64_C(1) << 43}, "more than 2^44 elements"},
        {{.rows = (INT64_C(1) << 44) + 1, .cols = 1}, "more than 2^44 elements"},
        {{.rows = 4, .cols = 4, .batch = 2, .src_stride = 15}, "src_stride is 15"},
        {{.rows = 4, .cols = 4, .batch = 2, .dst_stride = 15}, "dst_stride is 15"},
        {{.rows = 4, .cols = 4, .batch = 2, .src_stride = (INT64_C(1) << 43) + 1}, "src_stride is 8796"},
        {{.rows = 4, .cols = 4, .batch = 2, .dst_stride = (INT64_C(1) << 43) + 1}, "dst_stride is 8796"},
        {{.rows = 4, .cols = 5, .lds = 6, .in_place = 1}, "only square matrices may have gaps"},
        {{.rows = 4, .cols = 5, .ldd = 6, .in_place = 1}, "only square matrices may have gaps"},
        {{.rows = 4, .cols = 5, .batch = 2, .in_place = 1}, "only square matrices may come in batches"},
        {{.rows = 1 << 22, .cols = (1 << 22) + 1, .in_place = 1}, "more than 2^44 elements"},
        {{.rows = 4, .cols = 4, .lds = 5, .ldd = 6, .in_place = 1}, "must be the same"},
        {{.rows = 4, .cols = 4, .batch = 2, .src_stride = 20, .dst_stride = 30, .in_place = 1},
         "must be the same"},
        {{.rows = 4, .cols = 4, .lds = INT64_C(1) << 43, .in_place = 1}, "more than 2^44 elements"},
        {{.rows = 4,
          .cols = 4,
          .batch = 2,
          .src_stride = (INT64_C(1) << 43) + 1,
          .dst_stride = (INT64_C(1) << 43) + 1,
          .in_place = 1},
         "src_stride is 8796"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const tt__operation *op;
        tt__problem p;
        tt_problem asked = cases[i].asked;
        char text[320];
        asked.size = sizeof asked;
        assert_int_equal(tt__matrix_problem(&p, &asked), TT_E_INVALID);
        if (!strstr(tt_last_error(), cases[i].sentence))
            fail_msg("%zu: %s", i, tt_last_error());
        write_text(text, sizeof text, &asked);
        assert_int_equal(tt__operation_builtin(&op, op_of(&asked)), TT_OK);
        if (tt__operation_problem(&p, op, op_of(&asked), text) != TT_E_INVALID)
            fail_msg("the operation takes %s", text);
    }
}

/* The limits themselves are allowed, by both. */
static void limits_are_allowed(void **state) {
    (void)state;
    static const tt_problem cases[] = {
        {.rows = 1 << 22, .cols = 1 << 22},
        {.rows = 1 << 21, .cols = 1 << 21, .batch = 4},
        {.rows = 4, .cols = 4, .batch = 2, .src_stride = INT64_C(1) << 43, .dst_stride = 16},
        {.rows = 4, .cols = 4, .lds = INT64_C(1) << 42},
        {.rows = 1, .cols = INT64_C(1) << 44},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[320];
        tt__problem a = problem_of_matrix(cases[i]);
        write_text(text, sizeof text, &cases[i]);
        tt__problem b = problem_of("transpose", text);
        assert_true(tt__problem_same(&a, &b));
    }
}

/* A problem that is no matrix has no fields. A problem with less alignment stays a problem. */
static void the_way_back(void **state) {
    (void)state;
    static const tt_problem none = TT_INIT(tt_problem);
    tt__problem copy = problem_of("copy", "bytes=64"), p = MATRIX(.rows = 8, .cols = 8, .warm = 1);
    tt_problem m = tt__matrix_of(&copy);
    assert_memory_equal(&m, &none, sizeof m);
    assert_int_equal(tt__matrix_align(&p, 8), TT_OK);
    assert_int_equal(tt__matrix_of(&p).align, 8);
    assert_int_equal(tt__matrix_align(&p, 16), TT_OK);
    assert_int_equal(tt__matrix_of(&p).align, 8);
    assert_int_equal(tt__matrix_of(&p).warm, 1);
    assert_int_equal(tt__matrix_align(&p, 2), TT_E_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),     cmocka_unit_test(operations_say_the_same),
        cmocka_unit_test(refusals),     cmocka_unit_test(limits_are_allowed),
        cmocka_unit_test(the_way_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
