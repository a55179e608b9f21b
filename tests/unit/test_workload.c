/* Problems of tasks of one's own: from text and back, what they work on, and their metrics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "task_fixture.h"
#include "template/task.h"

static const tt__gpu gpu = {.name = "a GPU",
                            .cc = 90,
                            .sm_count = 100,
                            .memory_bytes = (int64_t)64 << 30,
                            .l2_bytes = (int64_t)50 << 20,
                            .max_threads_per_block = 1024,
                            .shared_per_block = 227 << 10};

static tt__template *parsed(size_t line, const char *instead) {
    tt__str text = text_with(line, instead);
    tt__template *t;
    if (tt__template_parse(&t, "t.cu", text.text) != TT_OK)
        fail_msg("%s: %s", instead, tt_last_error());
    tt__str_free(&text);
    return t;
}

/* ---- Problems as text ---------------------------------------------------------------------------------- */

/* What a text means, in canonical form, or the sentence that refuses it. */
static const struct {
    const char *text, *means;
    int elem_size; /* 0: refused */
} problems[] = {
    {NULL, "scale/n=1000,half=500,T=f32", 4},
    {"", "scale/n=1000,half=500,T=f32", 4},
    {"  ", "scale/n=1000,half=500,T=f32", 4},
    {"n=64", "scale/n=64,half=32,T=f32", 4},
    {"T=f64 n=65", "scale/n=65,half=33,T=f64", 8},
    {"T=i16", "scale/n=1000,half=500,T=i16", 2},
    {"half=7,n=9", "scale/n=9,half=7,T=f32", 4},
    {" half=7 , n=9,", "scale/n=9,half=7,T=f32", 4},
    {"warm", "scale/n=1000,half=500,T=f32/warm", 4},
    {"n=9 warm T=f64", "scale/n=9,half=5,T=f64/warm", 8},
    {"n=9223372036854775807,half=1", "scale/n=9223372036854775807,half=1,T=f32", 4},
    {"n", "found 'n' in a problem of scale, expected NAME=VALUE", 0},
    {"cold", "found 'cold' in a problem of scale, expected NAME=VALUE", 0},
    {"haf=4", "scale has no variable haf; did you mean half?", 0},
    {"N=4", "scale has no variable N; did you mean n?", 0},
    {"THREADS=32", "scale has no variable THREADS", 0},
    {"n=4,n=4", "n is given twice", 0},
    {"n=0", "n is 0: it must be a whole number of at least 1", 0},
    {"n=-4", "n is -4: it must be a whole number of at least 1", 0},
    {"n=1e6", "n is 1e6: it must be a whole number of at least 1", 0},
    {"n=", "n is : it must be a whole number of at least 1", 0},
    {"n=9223372036854775808", "n is 9223372036854775808: it must be", 0},
    {"n=f32", "n is f32: it must be", 0},
    {"T=f16", "f16 is no value of T, expected one of f32 f64 i16", 0},
    {"T=4", "4 is no value of T, expected one of f32 f64 i16", 0},
    {"n=4/2", "found '/' in the problem n=4/2, expected NAME=VALUE,NAME=VALUE", 0},
    {"/warm", "found '/' in the problem /warm, expected NAME=VALUE", 0},
    {"-", "scale/n=1000,half=500,T=f32", 4},
};

static void reads_problems(void **state) {
    (void)state;
    tt__template *t = parsed(0, NULL);
    for (size_t i = 0; i < COUNT(problems); i++) {
        tt__problem p, again;
        tt_status status = tt__task_problem(&p, t, problems[i].text);
        const char *found = status == TT_OK ? p.op : tt_last_error();
        if (status != (problems[i].elem_size ? TT_OK : TT_E_INVALID) || !strstr(found, problems[i].means))
            fail_msg("'%s': status %d, %s, expected %s", problems[i].text, status, found, problems[i].means);
        if (status != TT_OK)
            continue;
        assert_string_equal(p.op, problems[i].means);
        assert_int_equal(p.elem_size, problems[i].elem_size);
        assert_int_equal(p.align, 16);
        assert_false(tt__is_matrix(&p));
        assert_false(tt__unverified(&p));
        assert_int_equal(tt__warm(&p), problems[i].text && strstr(problems[i].text, "warm") != NULL);
        assert_true(tt__is_op(&p, "scale"));
        char text[TT__PROBLEM_TEXT_MAX]; /* the words of a message are a problem's text, too, but for the
                                            regime */
        if (tt__warm(&p))
            continue;
        assert_int_equal(tt__task_problem(&again, t, tt__problem_text(text, &p)), TT_OK);
        assert_string_equal(again.op, p.op);
        assert_true(tt__problem_same(&again, &p));
    }
    tt__template_free(&t);
}

/* Without a reference: every problem says so. A file of right data is as good. */
static void marks_what_nobody_verifies(void **state) {
    (void)state;
    static const char text[] = "//@ kernel k\n//@ buffer y f32 4 out\n//@ block 1\n//@ grid 1\n//@ args y\n%s"
                               "extern \"C\" __global__ void k(float *y) {}\n";
    for (int expects = 0; expects < 2; expects++) {
        char whole[512];
        tt__template *t;
        tt__problem p;
        snprintf(whole, sizeof whole, text, expects ? "//@ expect y y.bin\n" : "");
        assert_int_equal(tt__template_parse(&t, "/some/where/t.cu", whole), TT_OK);
        assert_int_equal(tt__task_problem(&p, t, "warm"), TT_OK);
        assert_string_equal(p.op, expects ? "k//warm" : "k//unverified/warm");
        assert_int_equal(tt__unverified(&p), !expects);
        assert_true(tt__warm(&p));
        assert_false(tt__is_matrix(&p));
        assert_true(tt__is_op(&p, "k"));
        tt__workload w;
        assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_OK);
        assert_string_equal(w.arrays[0].expect, expects ? "/some/where/y.bin" : "");
        tt__template_free(&t);
    }
}

/* What a store or a recording has of another text of the kernel. */
static void refuses_problems_of_another_text(void **state) {
    (void)state;
    static const struct {
        const char *op, *says;
    } cases[] = {{"scale/n=1000,T=f32", "a problem of scale without half: the file has changed since"},
                 {"scale/n=1000,half=500,T=f32,m=4", "scale has no variable m"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt__template *t = parsed(1, "");
        tt__problem p;
        tt__workload w;
        assert_int_equal(tt__task_problem(&p, t, NULL), TT_OK);
        tt__copy(p.op, sizeof p.op, cases[i].op);
        assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_E_INVALID);
        if (!strstr(tt_last_error(), cases[i].says))
            fail_msg("%s: %s", cases[i].op, tt_last_error());
        tt__template_free(&t);
    }
}

static double apart(const char *a, const char *b) {
    tt__problem p = {.op = ""}, q = {.op = ""};
    tt__copy(p.op, sizeof p.op, a);
    tt__copy(q.op, sizeof q.op, b);
    assert_true(tt__variables_distance(&p, &q) == tt__variables_distance(&q, &p));
    return tt__variables_distance(&p, &q);
}

static void knows_how_far_problems_are_apart(void **state) {
    (void)state;
    assert_true(apart("k/n=8,m=4", "k/n=8,m=4") == 0);
    assert_true(apart("k/n=8,m=4", "k/n=16,m=4") == 1);
    assert_true(apart("k/n=8,m=4", "k/n=16,m=1") == 3);
    assert_true(apart("k/n=8,T=f32", "k/n=8,T=f64") == 1);
    assert_true(apart("k/n=8/warm", "k/n=8") == 0);
    assert_true(isinf(apart("k/n=8", "l/n=8")));
    assert_true(isinf(apart("k/n=8", "kk/n=8")));
    assert_true(isinf(apart("k/n=8", "k/m=8")));
    assert_true(isinf(apart("k/n=8", "k/n=8,m=4")));
    assert_true(isinf(apart("k/n=8", "transpose")));
}

/* ---- Workloads ----------------------------------------------------------------------------------------- */

static void lays_out_what_a_problem_works_on(void **state) {
    (void)state;
    tt__template *t = parsed(6, "//@ buffer    x T n * (1 + (T = 'f64')) in file data.bin");
    tt__problem p;
    tt__workload w;
    assert_int_equal(tt__task_problem(&p, t, "n=10,T=f64"), TT_OK);
    assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_OK);
    assert_int_equal(w.n, 4);
    assert_string_equal(w.arrays[0].name, "x");
    assert_int_equal(w.arrays[0].count, 20);
    assert_int_equal(w.arrays[0].elem_size, 8);
    assert_int_equal(w.arrays[0].type, TT__TYPE_F64);
    assert_int_equal(w.arrays[0].direction, TT__IN);
    assert_string_equal(w.arrays[0].file, "data.bin");
    assert_int_equal(w.arrays[1].count, 10);
    assert_int_equal(w.arrays[1].direction, TT__OUT);
    assert_int_equal(w.arrays[2].count, 400); /* of sm_count */
    assert_int_equal(w.arrays[2].elem_size, 4);
    assert_int_equal(w.arrays[2].init, TT__INIT_ZEROS);
    assert_int_equal(w.arrays[3].direction, TT__SCALAR);
    assert_int_equal(w.arrays[3].count, 0);
    assert_true(w.arrays[3].low == 2.5);
    assert_true(w.has_reference);
    assert_string_equal(w.reference.name[0], "scale_reference");
    assert_int_equal(w.launch.n_passes, 1);
    assert_int_equal(w.launch.passes[0].grid[0], 1);
    assert_int_equal(w.launch.passes[0].grid[1], 2);
    assert_int_equal(w.launch.passes[0].block[0], 128);
    assert_int_equal(w.launch.passes[0].n_args, 6);
    assert_int_equal(w.launch.args[2].operand, 2);
    assert_int_equal(w.launch.args[5].i, 5);
    assert_true(w.abs_tolerance == 1e-6 && w.rel_tolerance == 1e-5);

    /* A length that only this problem makes impossible. */
    assert_int_equal(tt__task_problem(&p, t, "n=281474976710656"), TT_OK);
    assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_E_TEMPLATE);
    assert_non_null(strstr(tt_last_error(),
                           "t.cu:6:19: the length of x `n * (1 + (T = 'f64'))` comes to 281474976710656, "
                           "expected a whole number of 1 to 2^48 / 4"));
    /* A reference that cannot be launched. */
    assert_int_equal(tt__task_problem(&p, t, "n=70368744177664"), TT_OK);
    assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_E_UNSUPPORTED);
    assert_non_null(strstr(tt_last_error(), "scale_reference THREADS=64 cannot do n=70368744177664"));
    tt__template_free(&t);
}

/* What holds what another one does must not be the longer one. */
static void copies_only_what_is_there(void **state) {
    (void)state;
    tt__template *t = parsed(8, "//@ buffer    counts u32 half inout x");
    tt__problem p;
    tt__workload w;
    assert_int_equal(tt__task_problem(&p, t, "n=8,half=9"), TT_OK);
    assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_E_TEMPLATE);
    assert_non_null(
        strstr(tt_last_error(),
               "t.cu:8:26: counts is to hold what x does, but that has 32 bytes, and counts has 36"));
    assert_int_equal(tt__task_problem(&p, t, "n=9,half=9"), TT_OK);
    assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_OK);
    assert_int_equal(w.arrays[2].from, 0);
    tt__template_free(&t);
}

/* ---- Metrics ------------------------------------------------------------------------------------------- */

static void computes_metrics(void **state) {
    (void)state;
    tt__template *t = parsed(20, "//@ metric    gbps 2 * n * elem_size / time_ns\n"
                                 "//@ metric    per_thread n / THREADS + time_ns * 0");
    tt__problem p, copy;
    double value, part;
    bool has;
    assert_int_equal(tt__metric_named(t->task, "gbps"), 0);
    assert_int_equal(tt__metric_named(t->task, "per_thread"), 1);
    assert_int_equal(tt__metric_named(t->task, "gflops"), -1);
    assert_int_equal(t->task->objective, 0);
    assert_true(t->task->maximize);
    assert_int_equal(tt__task_problem(&p, t, "n=6400,T=f64"), TT_OK);
    assert_int_equal(tt__metric_value(&value, t, 0, &gpu, &p, NULL, 2), TT_OK);
    assert_true(fabs(value - 51.2) < 1e-9); /* 102400 bytes in 2000 ns */
    assert_int_equal(tt__metric_value(&value, t, 1, &gpu, &p, NULL, 2), TT_OK);
    assert_true(value == 100);
    assert_int_equal(tt__metric_value(&value, t, 1, &gpu, &p, "THREADS=32", 2), TT_OK);
    assert_true(value == 200);
    /* Its copy moves as many bytes. */
    assert_int_equal(tt__task_copy(&copy, &part, &has, t, &gpu, &p), TT_OK);
    assert_true(has);
    assert_true(fabs(part * tt__moved_bytes(&copy) - 102400) < 1);
    assert_true(part > 0.4 && part <= 1);
    static const struct {
        const char *problem;
        int64_t rows, cols; /* 0: none */
    } copies[] = {{"n=1", 1, 4},
                  {"n=4", 1, 8},
                  {"n=4095", 1, 4096},
                  {"n=4096", 1, 4096},
                  {"n=5000", 2, 4096},
                  {"n=1099511627775", 268435456, 4096},
                  {"n=1099511627776", 0, 0}};
    for (size_t i = 0; i < COUNT(copies); i++) {
        assert_int_equal(tt__task_problem(&p, t, copies[i].problem), TT_OK);
        assert_int_equal(tt__task_copy(&copy, &part, &has, t, &gpu, &p), TT_OK);
        assert_int_equal(has, copies[i].rows > 0);
        if (has) {
            assert_int_equal(copy.rows, copies[i].rows);
            assert_int_equal(copy.cols, copies[i].cols);
            assert_true(fabs(part * tt__moved_bytes(&copy) / (8.0 * (double)atoll(copies[i].problem + 2)) -
                             1) < 1e-9);
        }
    }
    tt__template_free(&t);
    t = parsed(20, "//@ metric    gbps (n - 900) / time_ns");
    assert_int_equal(tt__task_problem(&p, t, "n=900"), TT_OK);
    assert_int_equal(tt__task_copy(&copy, &part, &has, t, &gpu, &p), TT_OK);
    assert_false(has); /* it moves nothing */
    tt__template_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_problems),
        cmocka_unit_test(marks_what_nobody_verifies),
        cmocka_unit_test(refuses_problems_of_another_text),
        cmocka_unit_test(knows_how_far_problems_are_apart),
        cmocka_unit_test(lays_out_what_a_problem_works_on),
        cmocka_unit_test(copies_only_what_is_there),
        cmocka_unit_test(computes_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
