/* Problems of operations of one's own: from text and back, what they work on, and their metrics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "operation_fixture.h"

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

/* The full meaning of a text, or the message that refuses it. */
static const struct {
    const char *text, *means;
    int elem_size; /* 0: refused */
} problems[] = {
    {NULL, "n=1000,half=500,T=f32", 4},
    {"", "n=1000,half=500,T=f32", 4},
    {"  ", "n=1000,half=500,T=f32", 4},
    {"n=64", "n=64,half=32,T=f32", 4},
    {"T=f64 n=65", "n=65,half=33,T=f64", 8},
    {"T=i16", "n=1000,half=500,T=i16", 2},
    {"half=7,n=9", "n=9,half=7,T=f32", 4},
    {" half=7 , n=9,", "n=9,half=7,T=f32", 4},
    {"warm", "n=1000,half=500,T=f32", 4},
    {"n=9 warm T=f64", "n=9,half=5,T=f64", 8},
    {"n=9223372036854775807,half=1", "n=9223372036854775807,half=1,T=f32", 4},
    {"n", "found 'n' in a problem of scale, expected NAME=VALUE", 0},
    {"cold", "found 'cold' in a problem of scale, expected NAME=VALUE", 0},
    {"haf=4", "scale has no variable haf; did you mean half?", 0},
    {"N=4", "scale has no variable N; did you mean n?", 0},
    {"THREADS=32", "scale has no variable THREADS", 0},
    {"n=4,n=4", "n is given twice", 0},
    {"n=0", "n is 0: it must be a whole number of at least 1", 0},
    {"n=-4", "n is -4: it must be a whole number of at least 1", 0},
    {"n=1e6", "n is 1e6: it must be a whole number of at least 1", 0},
    {"n=", "found 'n=' in a problem of scale, expected NAME=VALUE", 0},
    {"=4", "found '=4' in a problem of scale, expected NAME=VALUE", 0},
    {"n=9223372036854775808",
     "n is 9223372036854775808: it must be a whole number of at least 1 and at most 9223372036854775807", 0},
    {"n=f32", "n is f32: it must be", 0},
    {"T=f16", "f16 is no value of T, expected one of f32 f64 i16", 0},
    {"T=4", "4 is no value of T, expected one of f32 f64 i16", 0},
    {"n=4/2", "n is 4/2: it must be a whole number of at least 1", 0},
    {"/warm", "found '/warm' in a problem of scale, expected NAME=VALUE", 0},
    {"-", "n=1000,half=500,T=f32", 4},
    {"in_graph", "n=1000,half=500,T=f32", 4},
    {"n=8 warm,in_graph", "n=8,half=4,T=f32", 4},
    {"in_graphs", "found 'in_graphs' in a problem of scale, expected NAME=VALUE", 0},
};

static tt_status read_problem(tt__problem *p, const tt__template *t, const char *text) {
    return tt__operation_problem(p, t->operation, t->op, text);
}

static void reads_problems(void **state) {
    (void)state;
    tt__template *t = parsed(0, NULL);
    for (size_t i = 0; i < COUNT(problems); i++) {
        tt__problem p, again;
        tt__str settings = {0};
        tt_status status = read_problem(&p, t, problems[i].text);
        if (status == TT_OK)
            tt__problem_add_settings(&settings, &p, ",");
        const char *found = status == TT_OK ? tt__str_text(&settings) : tt_last_error();
        if (status != (problems[i].elem_size ? TT_OK : TT_E_INVALID) || !strstr(found, problems[i].means))
            fail_msg("'%s': status %d, %s, expected %s", problems[i].text, status, found, problems[i].means);
        if (status == TT_OK) {
            assert_string_equal(found, problems[i].means);
            assert_true(tt__problem_is_of(&p, "scale", t->hash));
            assert_int_equal(tt__problem_elem_size(&p), problems[i].elem_size);
            assert_int_equal(tt__problem_align(&p), 16);
            assert_false(p.unverified);
            assert_int_equal(p.warm, problems[i].text && strstr(problems[i].text, "warm") != NULL);
            assert_int_equal(p.in_graph, problems[i].text && strstr(problems[i].text, "in_graph") != NULL);
            /* Apart from the regime, the problem's words in a message are its text, too. */
            char text[TT__PROBLEM_TEXT_MAX];
            assert_int_equal(read_problem(&again, t, tt__problem_text(text, &p)), TT_OK);
            again.warm = p.warm;
            again.in_graph = p.in_graph;
            assert_true(tt__problem_same(&again, &p));
        }
        tt__str_free(&settings);
    }
    tt__template_free(&t);
}

/* Without a reference: every problem says so. A file of right data is as good. */
static void marks_what_nobody_verifies(void **state) {
    (void)state;
    static const char text[] = "//@ kernel k\n//@ buffer y f32 4 out\n//@ block 1\n//@ grid 1\n//@ args y\n%s"
                               "extern \"C\" __global__ void k(float *y) {}\n";
    for (int expects = 0; expects < 2; expects++) {
        char whole[512], words[TT__PROBLEM_TEXT_MAX];
        tt__template *t;
        tt__problem p;
        snprintf(whole, sizeof whole, text, expects ? "//@ expect y y.bin\n" : "");
        assert_int_equal(tt__template_parse(&t, "/some/where/t.cu", whole), TT_OK);
        assert_int_equal(read_problem(&p, t, "warm"), TT_OK);
        assert_int_equal(p.unverified, !expects);
        assert_true(p.warm);
        assert_int_equal(p.n, 0);
        assert_string_equal(tt__problem_text(words, &p), "-");
        assert_true(tt__problem_is_of(&p, "k", t->hash));
        tt__workload w;
        assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_OK);
        assert_string_equal(w.arrays[0].expect, expects ? "/some/where/y.bin" : "");
        tt__template_free(&t);
    }
}

/* Problems of another text of the kernel, from a store or a recording. */
static void refuses_problems_of_another_text(void **state) {
    (void)state;
    static const char *const cases[] = {"half", "T"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt__template *t = parsed(1, "");
        tt__problem p, less;
        tt__workload w;
        char says[128];
        assert_int_equal(read_problem(&p, t, NULL), TT_OK);
        less = p;
        less.n = 0;
        for (int k = 0; k < p.n; k++)
            if (strcmp(p.settings[k].name, cases[i]) != 0)
                less.settings[less.n++] = p.settings[k];
        assert_int_equal(tt__workload_of(&w, t, &gpu, &less), TT_E_INVALID);
        snprintf(says, sizeof says, "a problem of scale without %s: the operation has changed since",
                 cases[i]);
        assert_string_equal(tt_last_error(), says);
        tt__problem_set_type(&p, "n", TT__TYPE_F32); /* a type where a number was */
        assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_E_INVALID);
        assert_non_null(strstr(tt_last_error(), "without n"));
        tt__template_free(&t);
    }
}

/* ---- Workloads ----------------------------------------------------------------------------------------- */

static void lays_out_what_a_problem_works_on(void **state) {
    (void)state;
    tt__template *t = parsed(6, "//@ buffer    x T n * (1 + (T = 'f64')) in file data.bin");
    tt__problem p;
    tt__workload w;
    assert_int_equal(read_problem(&p, t, "n=10,T=f64"), TT_OK);
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
    assert_true(w.arrays[0].abs_tolerance == 1e-6 && w.arrays[0].rel_tolerance == 1e-5);

    /* A length that only this problem makes impossible. */
    assert_int_equal(read_problem(&p, t, "n=281474976710656"), TT_OK);
    assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_E_TEMPLATE);
    assert_non_null(strstr(tt_last_error(),
                           "t.cu:6:19: the length of x `n * (1 + (T = 'f64'))` comes to 281474976710656, "
                           "expected a whole number of 1 to 2^48 / 4"));
    /* A reference that cannot be launched. */
    assert_int_equal(read_problem(&p, t, "n=70368744177664"), TT_OK);
    assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_E_UNSUPPORTED);
    assert_non_null(strstr(tt_last_error(), "scale_reference THREADS=64 cannot do n=70368744177664"));
    tt__template_free(&t);
}

/* A buffer filled by copying another must not be longer than that one. */
static void copies_only_what_is_there(void **state) {
    (void)state;
    tt__template *t = parsed(8, "//@ buffer    counts u32 half inout x");
    tt__problem p;
    tt__workload w;
    assert_int_equal(read_problem(&p, t, "n=8,half=9"), TT_OK);
    assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_E_TEMPLATE);
    assert_non_null(
        strstr(tt_last_error(),
               "t.cu:8:26: counts is to hold what x does, but that has 32 bytes, and counts has 36"));
    assert_int_equal(read_problem(&p, t, "n=9,half=9"), TT_OK);
    assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_OK);
    assert_int_equal(w.arrays[2].from, 0);
    tt__template_free(&t);
}

/* Either end of the data, or both, may be an expression of the problem. */
static void reads_bounds_of_data(void **state) {
    (void)state;
    static const struct {
        const char *data;
        double low, high;
    } cases[] = {{"uniform 0 n-1", 0, 8},
                 {"uniform half 2000", 5, 2000},
                 {"sorted half 2*n", 5, 18},
                 {"uniform 0 n/2.0", 0, 4.5},
                 {"uniform", 0, 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char line[64];
        snprintf(line, sizeof line, "//@ buffer    x T n in %s", cases[i].data);
        tt__template *t = parsed(6, line);
        tt__problem p;
        tt__workload w;
        assert_int_equal(read_problem(&p, t, "n=9,half=5"), TT_OK);
        assert_int_equal(tt__workload_of(&w, t, &gpu, &p), TT_OK);
        assert_true(w.arrays[0].low == cases[i].low && w.arrays[0].high == cases[i].high);
        tt__template_free(&t);
    }
}

/* Numbers that the type does not have would wrap around. The kernel itself can be loaded and launched. */
static void refuses_to_make_data_that_does_not_fit(void **state) {
    (void)state;
    static const struct {
        const char *line, *says; /* NULL: it fits */
    } cases[] = {
        {"x u8 n in uniform 0 255", NULL},
        {"x u8 n in uniform 0 n", "x is to hold numbers from 0 to 256, and u8 has only 0 to 255"},
        {"x u8 n in uniform 0 n/1.001", NULL},
        {"x i8 n in uniform -n 0", "x is to hold numbers from -256 to 0, and i8 has only -128 to 127"},
        {"x u32 n in uniform -n 0", "x is to hold numbers from -256 to 0, and u32 has only 0 to 4294967295"},
        {"x f16 n in uniform 0 n*n",
         "x is to hold numbers from 0 to 65536, and f16 has only -65504 to 65504"},
        {"x i32 n in uniform n/2.0 n/1.5", NULL},
        {"x i64 n in uniform 0 n*1e14", NULL},
        {"x i64 n in uniform -(1<<54+n-n) 9223372036854775807-n+n", NULL},
        {"x i64 n in uniform 0 n*1e18",
         "from 0 to 2.56e+20, and i64 has only -9.2233720368547758e+18 to 9.2233720368547758e+18"},
        {"x u64 n in uniform 0 n*(1<<55)", NULL},
        {"x u64 n in uniform -n 0",
         "x is to hold numbers from -256 to 0, and u64 has only 0 to 1.8446744073709552e+19"},
        {"x u8 n in sorted", NULL},
        {"x i8 n in sorted", "x is to hold numbers from 0 to 255, and i8 has only -128 to 127"},
        {"x u8 n in permutation", NULL},
        {"x u8 n + 1 in permutation", "x is to hold numbers from 0 to 256, and u8 has only 0 to 255"},
        {"x bool n in sorted 0 1", NULL},
        {"x bool n in sorted", "x is to hold numbers from 0 to 255, and bool has only 0 to 1"},
        {"x bool n in permutation", "x is to hold numbers from 0 to 255, and bool has only 0 to 1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char line[96];
        snprintf(line, sizeof line, "//@ buffer    %s", cases[i].line);
        tt__template *t = parsed(6, line); /* the default is n=1000 */
        tt__problem p;
        tt__workload w;
        assert_int_equal(read_problem(&p, t, "n=256"), TT_OK);
        if (tt__workload_arrays(&w, t, &gpu, &p, NULL) != TT_OK)
            fail_msg("%s: it cannot be launched: %s", cases[i].line, tt_last_error());
        tt_status status = tt__workload_of(&w, t, &gpu, &p);
        if (status != (cases[i].says ? TT_E_TEMPLATE : TT_OK) ||
            (cases[i].says && !strstr(tt_last_error(), cases[i].says)))
            fail_msg("%s: %s, expected %s", cases[i].line, status ? tt_last_error() : "it is taken",
                     cases[i].says ? cases[i].says : "that it fits");
        tt__template_free(&t);
    }
}

/* Whatever was in the memory before. */
static void arrays_are_whole(void **state) {
    (void)state;
    tt__template *t = parsed(6, "//@ buffer    x f32 n in uniform 0 1");
    tt__problem p;
    tt__workload *clean = calloc(1, sizeof *clean), *used = malloc(sizeof *used);
    assert_non_null(clean);
    assert_non_null(used);
    memset(used, 0xa5, sizeof *used);
    assert_int_equal(read_problem(&p, t, "n=256"), TT_OK);
    assert_int_equal(tt__workload_arrays(clean, t, &gpu, &p, NULL), TT_OK);
    assert_int_equal(tt__workload_arrays(used, t, &gpu, &p, NULL), TT_OK);
    assert_true(clean->n > 0);
    assert_memory_equal(used->arrays, clean->arrays, (size_t)clean->n * sizeof *clean->arrays);
    assert_memory_equal(&used->align, &clean->align, sizeof *used - offsetof(tt__workload, align));
    free(clean);
    free(used);
    tt__template_free(&t);
}

/* ---- Metrics ------------------------------------------------------------------------------------------- */

static void computes_metrics(void **state) {
    (void)state;
    tt__template *t = parsed(20, "//@ metric    gbps 2 * n * elem_size / time_ns\n"
                                 "//@ metric    per_thread n / THREADS + time_ns * 0");
    tt__problem p, copy;
    double value;
    assert_int_equal(tt__metric_named(t->operation, "gbps"), 0);
    assert_int_equal(tt__metric_named(t->operation, "per_thread"), 1);
    assert_int_equal(tt__metric_named(t->operation, "gflops"), -1);
    assert_int_equal(t->operation->objective, 0);
    assert_true(t->operation->maximize);
    assert_int_equal(read_problem(&p, t, "n=6400,T=f64"), TT_OK);
    assert_int_equal(tt__metric_value(&value, t, 0, &gpu, &p, NULL, 2), TT_OK);
    assert_true(fabs(value - 51.2) < 1e-9); /* 102400 bytes in 2000 ns */
    assert_int_equal(tt__metric_value(&value, t, 1, &gpu, &p, NULL, 2), TT_OK);
    assert_true(value == 100);
    assert_int_equal(tt__metric_value(&value, t, 1, &gpu, &p, "THREADS=32", 2), TT_OK);
    assert_true(value == 200);
    /* The copy moves as many bytes in total, half of them read */
    assert_true(p.moved_bytes == 102400);
    assert_true(fabs(tt__problem_gbps(&p, 2) - 51.2) < 1e-9);
    p.warm = true;
    assert_true(tt__problem_copy(&copy, &p));
    assert_true(tt__problem_is_of(&copy, "copy", "") && copy.warm);
    assert_int_equal(tt__problem_number(&copy, "bytes", 0), 51200);
    assert_true(copy.moved_bytes == 102400);
    static const struct {
        const char *problem;
        int64_t bytes; /* 0: none */
    } copies[] = {
        {"n=1", 4}, {"n=4095", 16380}, {"n=1099511627775", INT64_C(4398046511100)}, {"n=1099511627776", 0}};
    for (size_t i = 0; i < COUNT(copies); i++) {
        assert_int_equal(read_problem(&p, t, copies[i].problem), TT_OK);
        assert_int_equal(tt__problem_copy(&copy, &p), copies[i].bytes > 0);
        if (copies[i].bytes)
            assert_int_equal(tt__problem_number(&copy, "bytes", 0), copies[i].bytes);
    }
    tt__template_free(&t);
    t = parsed(20, "//@ metric    gbps (n - 900) / time_ns");
    assert_int_equal(read_problem(&p, t, "n=900"), TT_OK);
    assert_true(p.moved_bytes == 0 && tt__problem_gbps(&p, 2) == 0);
    assert_false(tt__problem_copy(&copy, &p)); /* it moves nothing */
    tt__template_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_problems),
        cmocka_unit_test(marks_what_nobody_verifies),
        cmocka_unit_test(refuses_problems_of_another_text),
        cmocka_unit_test(lays_out_what_a_problem_works_on),
        cmocka_unit_test(copies_only_what_is_there),
        cmocka_unit_test(reads_bounds_of_data),
        cmocka_unit_test(refuses_to_make_data_that_does_not_fit),
        cmocka_unit_test(arrays_are_whole),
        cmocka_unit_test(computes_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
