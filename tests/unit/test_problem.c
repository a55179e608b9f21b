/*
 * An operation's declarations about its problems, and their effects: legal problems, distances, defaults, and
 * text.
 */
#include "problem_fixture.h"

#include <math.h>

#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "operation_fixture.h"

/* An operation with n = 1000, half = 500 and T = f32, followed by these lines. */
static tt_status parse(tt__template **out, const char *declared) {
    tt__str text = {0};
    *out = NULL;
    for (size_t i = 0; i < COUNT(lines); i++)
        tt__str_addf(&text, "%s\n%s%s", lines[i], i == 4 ? declared : "", i == 4 && *declared ? "\n" : "");
    tt_status status = tt__template_parse(out, "t.cu", text.text);
    tt__str_free(&text);
    return status;
}

static tt__template *parsed(const char *declared) {
    tt__template *t;
    if (parse(&t, declared) != TT_OK)
        fail_msg("%s: %s", declared, tt_last_error());
    return t;
}

static tt__problem of(const tt__template *t, const char *text) {
    tt__problem p;
    if (tt__operation_problem(&p, t->operation, t->op, text) != TT_OK)
        fail_msg("%s: %s", text ? text : "the usual problem", tt_last_error());
    return p;
}

/* ---- Declarations -------------------------------------------------------------------------------------- */

static void reads_what_is_declared(void **state) {
    (void)state;
    tt__template *t =
        parsed("//@ require n >= half AND T <> 'i16'\n//@ require half < 1000000\n//@ shape half n\n"
               "//@ near n 0.75\n//@ near T 3 same\n//@ near half 0 same\n//@ moves n, half, n\n"
               "//@ sample n=8\n//@ sample T=f64, half=1");
    const tt__operation *op = t->operation;
    assert_int_equal(op->n_requires, 2);
    assert_string_equal(op->requires[1].text, "half < 1000000");
    assert_int_equal(op->n_shape, 2);
    assert_int_equal(op->shape[0], 1);
    assert_int_equal(op->shape[1], 0);
    assert_true(op->variables[0].weight == 0.75 && !op->variables[0].same);
    assert_true(op->variables[1].weight == 0 && op->variables[1].same);
    assert_true(op->variables[2].weight == 3 && op->variables[2].same);
    assert_true(op->moves);
    static const int tile[] = {0, 1, 0};
    assert_memory_equal(op->tile, tile, sizeof tile);
    assert_int_equal(op->n_samples, 2);
    tt__problem p;
    assert_int_equal(tt__operation_sample(&p, op, t->op), TT_OK);
    assert_int_equal(number_of(&p, "n"), 8);
    assert_int_equal(number_of(&p, "half"), 4);
    tt__template_free(&t);

    t = parsed("//@ moves bytes"); /* without the others: every variable weighs 1 */
    assert_true(t->operation->moves && t->operation->tile[0] < 0);
    assert_true(t->operation->variables[0].weight == 1 && !t->operation->variables[0].same);
    assert_int_equal(tt__operation_sample(&p, t->operation, t->op), TT_OK);
    assert_int_equal(number_of(&p, "n"), 1000);
    tt__template_free(&t);
    t = parsed("");
    assert_false(t->operation->moves);
    tt__template_free(&t);
}

/* They stand in line 6. */
static const struct {
    const char *declared, *sentence;
} refused[] = {
    {"require", "6:5: `require` stands alone, expected: require EXPRESSION"},
    {"require n >", "6:16: the expression ends after '>', expected a value"},
    {"require m > 1", "6:13: unknown name m"},
    {"require THREADS > 1",
     "6:13: THREADS is a parameter, and only the problem and the device are known here"},
    {"require time_ns > 1", "6:13: time_ns is the time of a launch, and only a `metric` knows it"},
    {"require (SELECT 1)", "6:14: SELECT is not allowed"},
    {"require n > 5000",
     "6:13: the default problem cannot be: scale cannot be n=1000, half=500, T=f32: `n > 5000` must hold"},
    {"require n / 0",
     "6:13: the default problem cannot be: scale cannot be n=1000, half=500, T=f32: `n / 0` must"},
    {"shape", "6:5: `shape` stands alone, expected: shape VARIABLE ..."},
    {"shape n haf",
     "6:13: found 'haf', expected a variable of the problem declared above; did you mean half?"},
    {"shape x", "6:11: found 'x', expected a variable of the problem declared above"},
    {"shape n T", "6:13: T is a type, expected a number"},
    {"shape n half n half n", "6:25: more than 4 variables"},
    {"shape n\n//@ shape half", "7:5: a second `shape`, the first is in line 6"},
    {"batch", "6:5: `batch` stands alone, expected: batch VARIABLE"},
    {"batch rows", "6:11: found 'rows', expected a variable of the problem declared above"},
    {"near", "6:5: `near` stands alone, expected: near VARIABLE WEIGHT [same]"},
    {"near m 1", "6:10: found 'm', expected a variable of the problem declared above"},
    {"near n", "6:11: found '', expected a number"},
    {"near n far", "6:12: found 'far', expected a number"},
    {"near n -1", "6:12: a weight of -1, expected 0 to 100"},
    {"near n 101", "6:12: a weight of 101, expected 0 to 100"},
    {"near n nan", "6:12: found 'nan', expected a number"},
    {"near n 1 equal", "6:14: found 'equal', expected: same"},
    {"near n 1 same same", "6:14: found 'same same', expected: same"},
    {"moves", "6:5: `moves` stands alone, expected: moves bytes | moves ROWS, COLUMNS, LEADING_DIMENSION"},
    {"moves n", "6:11: expected: bytes, or ROWS, COLUMNS, LEADING_DIMENSION"},
    {"moves n, half", "6:11: expected: bytes, or ROWS, COLUMNS, LEADING_DIMENSION"},
    {"moves n, half, m", "6:20: found 'm', expected a variable of the problem declared above"},
    {"moves n, half, T", "6:20: T is a type, expected a number"},
    {"moves n, half, n, n", "6:23: found 'n' behind the end of the line's meaning"},
    {"moves bytes\n//@ moves bytes", "7:5: a second `moves`, the first is in line 6"},
    {"sample", "6:5: `sample` stands alone, expected: sample VARIABLE=VALUE ..."},
    {"sample m=4", "6:12: the sample cannot be: scale has no variable m"},
    {"sample n", "6:12: the sample cannot be: found 'n' in a problem of scale, expected NAME=VALUE"},
    {"sample n=0", "6:12: the sample cannot be: n is 0: it must be a whole number of at least 1"},
    {"require n < 2000\n//@ sample n=2000",
     "7:12: the sample cannot be: scale cannot be n=2000, half=1000, T=f32: `n < 2000` must hold"},
    {"requir n > 1", "6:5: unknown annotation 'requir'; did you mean require?"},
    {"nera n 1", "6:5: unknown annotation 'nera'; did you mean near?"},
};

static void refuses_with_the_place(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        tt__str line = {0};
        tt__template *t;
        tt__str_addf(&line, "//@ %s", refused[i].declared);
        tt_status status = parse(&t, line.text);
        if (status != TT_E_TEMPLATE || !strstr(tt_last_error(), refused[i].sentence) ||
            strncmp(tt_last_error(), "t.cu:", 5) != 0)
            fail_msg("%s: status %d\n  found    %s\n  expected %s", refused[i].declared, status,
                     status ? tt_last_error() : "", refused[i].sentence);
        assert_null(t);
        tt__str_free(&line);
    }
}

static void keeps_limits(void **state) {
    (void)state;
    static const struct {
        const char *each, *sentence;
    } floods[] = {
        {"//@ require n > 0\n", "t.cu:14:13: more than 8 `require` lines: join them with AND"},
        {"//@ sample n=4\n", "t.cu:14:12: more than 8 samples"},
    };
    for (size_t i = 0; i < COUNT(floods); i++) {
        tt__str all = {0};
        tt__template *t;
        for (int k = 0; k < 9; k++)
            tt__str_add(&all, floods[i].each);
        assert_int_equal(parse(&t, all.text), TT_E_TEMPLATE);
        assert_non_null(strstr(tt_last_error(), floods[i].sentence));
        tt__str_free(&all);
    }
}

/* Beside an `op`, which says it all already. */
static void templates_declare_none(void **state) {
    (void)state;
    static const char *const declared[] = {"require 1", "sample n=4", "moves bytes"};
    for (size_t i = 0; i < COUNT(declared); i++) {
        tt__str text = {0};
        tt__template *t;
        tt__str_addf(&text,
                     "//@ kernel k\n//@ op copy\n//@ %s\n//@ block 1\n//@ grid 1\n//@ args dst\n"
                     "extern \"C\" void k();\n",
                     declared[i]);
        assert_int_equal(tt__template_parse(&t, "t.cu", text.text), TT_E_TEMPLATE);
        assert_non_null(strstr(tt_last_error(), "t.cu:2:8: `op copy` says what is computed"));
        tt__str_free(&text);
    }
}

/* ---- Distance ------------------------------------------------------------------------------------------ */

static void knows_how_far_problems_are_apart(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        double far;
        bool same;
    } cases[] = {
        {"n=8,half=4", "n=8,half=4", 0, true},
        {"n=8,half=4", "n=16,half=4", 0.75, true},
        {"n=8,half=4", "n=2,half=4", 1.5, true},
        {"n=8,half=4", "n=8,half=1", 1, false},
        {"n=8,half=4", "n=8,half=4 T=f64", 3, true},
        {"n=8,half=4", "n=8,half=4 T=i16", 3, true},
        {"n=8,half=4", "n=16,half=8,T=f64", 4.25, false},
        {"n=8 warm", "n=8", 0, true},
    };
    tt__template *t = parsed("//@ near n 0.75\n//@ near half 0.5 same\n//@ near T 3");
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt__problem a = of(t, cases[i].a), b = of(t, cases[i].b);
        bool same;
        for (int swapped = 0; swapped < 2; swapped++) {
            double far = tt__operation_distance(t->operation, swapped ? &b : &a, swapped ? &a : &b, &same);
            if (fabs(far - cases[i].far) > 1e-12 || same != cases[i].same)
                fail_msg("%s and %s: %g, same %d", cases[i].a, cases[i].b, far, same);
        }
    }
    bool same;
    tt__problem a = of(t, NULL), unverified = a, less = a;
    unverified.unverified = true;
    less.n--;
    assert_true(isinf(tt__operation_distance(t->operation, &a, &unverified, &same)));
    assert_true(tt__operation_distance(t->operation, &unverified, &a, &same) == 0);
    assert_true(isinf(tt__operation_distance(t->operation, &a, &less, &same)));
    assert_true(isinf(tt__operation_distance(t->operation, &less, &a, &same)));
    tt__template_free(&t);
    /* Of weight 0 it is no distance, and yet another problem. */
    t = parsed("//@ near half 0 same");
    a = of(t, "half=4");
    tt__problem b = of(t, "half=8");
    assert_true(tt__operation_distance(t->operation, &a, &b, &same) == 0);
    assert_false(same);
    tt__template_free(&t);
}

/* ---- What is usual, and words -------------------------------------------------------------------------- */

static void says_what_is_unusual(void **state) {
    (void)state;
    static const struct {
        const char *op, *text, *usual, *unusual, *words; /* usual: '1' for each variable that is */
    } cases[] = {
        {NULL, NULL, "111", "", "n=1000, half=500, T=f32"},
        {NULL, "n=64", "011", "n=64", "n=64, half=32, T=f32"},
        {NULL, "half=32", "101", "half=32", "n=1000, half=32, T=f32"},
        {NULL, "n=64,half=500", "001", "n=64,half=500", "n=64, half=500, T=f32"},
        {NULL, "T=i16 warm", "110", "T=i16,warm", "n=1000, half=500, T=i16"},
        {NULL, "warm", "111", "warm", "n=1000, half=500, T=f32"},
        {"copy", "bytes=64", "0", "bytes=64", "bytes=64"},
        {"axpby", "n=5,T=f64", "00", "n=5,T=f64", "n=5, T=f64"},
        {"transpose", "rows=8 cols=8", "001111111", "rows=8,cols=8", "8x8"},
        {"transpose", "rows=8 cols=12 elem_size=2", "000111111", "rows=8,cols=12,elem_size=2",
         "8x12, elem_size=2"},
        {"transpose", "rows=100 cols=200 batch=3", "001110111", "rows=100,cols=200,batch=3",
         "100x200, batch=3"},
        {"transpose", "rows=8 cols=8 lds=9", "001011111", "rows=8,cols=8,lds=9", "8x8, lds=9"},
        {"transpose", "rows=8 cols=8 align=4 warm", "001111110", "rows=8,cols=8,align=4,warm",
         "8x8, align=4"},
        {"transpose_in_place", "rows=8", "011111111", "rows=8", "8x8"},
    };
    tt__template *t = parsed("//@ shape n"); /* of users' files the words are all of it */
    for (size_t i = 0; i < COUNT(cases); i++) {
        const tt__operation *op = t->operation;
        const char *name = cases[i].op ? cases[i].op : t->op;
        bool usual[TT__VARIABLES_MAX];
        char words[TT__PROBLEM_TEXT_MAX];
        tt__problem p, again;
        tt__str unusual = {0};
        if (cases[i].op)
            assert_int_equal(tt__operation_builtin(&op, cases[i].op), TT_OK);
        assert_int_equal(tt__operation_problem(&p, op, name, cases[i].text), TT_OK);
        assert_int_equal(tt__operation_usual(usual, op, &p), TT_OK);
        assert_int_equal(strlen(cases[i].usual), op->n_variables);
        for (size_t k = 0; k < op->n_variables; k++)
            if (usual[k] != (cases[i].usual[k] == '1'))
                fail_msg("%s %s: %s", name, cases[i].text, op->variables[k].name);
        assert_int_equal(tt__problem_add_unusual(&unusual, op, &p), TT_OK);
        assert_string_equal(tt__str_text(&unusual), cases[i].unusual);
        assert_string_equal(tt__problem_text(words, &p), cases[i].words);
        assert_int_equal(tt__operation_problem(&again, op, name, tt__str_text(&unusual)), TT_OK);
        assert_true(tt__problem_same(&p, &again));
        tt__str_free(&unusual);
    }
    tt__template_free(&t);
}

/* Words that do not fit end in dots. */
static void cuts_long_words(void **state) {
    (void)state;
    char words[TT__PROBLEM_TEXT_MAX];
    tt__problem p = {.op = "k", .text = "ab"};
    for (int i = 0; i < 8; i++) {
        char name[TT__NAME_MAX];
        memset(name, 'a' + i, sizeof name - 1);
        name[sizeof name - 1] = '\0';
        tt__problem_set(&p, name, 7);
    }
    tt__problem_text(words, &p);
    assert_int_equal(strlen(words), TT__PROBLEM_TEXT_MAX - 1);
    assert_string_equal(words + TT__PROBLEM_TEXT_MAX - 4, "...");
}

/* Arrays begin off a multiple of 16 where they are aligned to less than their pitches allow. */
static void says_where_arrays_begin(void **state) {
    (void)state;
    static const struct {
        const char *op, *text;
        int offset;
    } cases[] = {
        {"transpose", "rows=8 cols=8", 0},
        {"transpose", "rows=8 cols=8 align=8", 8},
        {"transpose", "rows=8 cols=8 align=4", 4},
        {"transpose", "rows=7 cols=8", 0}, /* its pitches allow no more than 4 */
        {"transpose", "rows=7 cols=8 align=4", 0},
        {"transpose", "rows=8 cols=8 elem_size=1 align=1", 1},
        {"transpose_in_place", "rows=8 align=4", 4},
        {"copy", "bytes=7", 0},
        {"axpby", "n=7", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const tt__operation *op;
        tt__problem p = problem_of(cases[i].op, cases[i].text);
        tt__facts facts;
        assert_int_equal(tt__operation_builtin(&op, cases[i].op), TT_OK);
        assert_int_equal(tt__facts_of(&facts, op, NULL, &p), TT_OK);
        if (tt__facts_offset(&facts) != cases[i].offset)
            fail_msg("%s %s: %d", cases[i].op, cases[i].text, tt__facts_offset(&facts));
    }
}

/* ---- Settings by name ---------------------------------------------------------------------------------- */

static void settings_by_name(void **state) {
    (void)state;
    tt__problem p = {.op = "k"}, q;
    tt__str text = {0};
    assert_int_equal(tt__problem_elem_size(&p), 4);
    assert_int_equal(tt__problem_align(&p), 16);
    tt__problem_set(&p, "n", 4096);
    tt__problem_set_type(&p, "T", TT__TYPE_F16);
    tt__problem_set_type(&p, "U", TT__TYPE_F64);
    tt__problem_set(&p, "n", 8);
    assert_int_equal(p.n, 3);
    assert_int_equal(tt__problem_number(&p, "n", 1), 8);
    assert_int_equal(tt__problem_number(&p, "T", 1), 1); /* no number */
    assert_int_equal(tt__problem_number(&p, "m", 1), 1);
    assert_null(tt__problem_setting(&p, "m"));
    assert_int_equal(tt__problem_setting(&p, "T")->type, TT__TYPE_F16);
    assert_int_equal(tt__problem_elem_size(&p), 8); /* of the last type */
    tt__problem_add_settings(&text, &p, "; ");
    assert_string_equal(tt__str_text(&text), "n=8; T=f16; U=f64");
    tt__str_free(&text);
    q = p;
    q.moved_bytes = 12; /* not part of the identity */
    assert_true(tt__problem_same(&p, &q) && tt__problem_hash(&p) == tt__problem_hash(&q));
    assert_true(tt__problem_gbps(&q, 0.001) == 12 && tt__problem_gbps(&q, 0) == 0);
    tt__problem_set(&p, "elem_size", 2); /* says it outright */
    tt__problem_set(&p, "align", 2);
    assert_int_equal(tt__problem_elem_size(&p), 2);
    assert_int_equal(tt__problem_align(&p), 2);
}

/* Any difference between problems is found by the comparison, and changes the hash. */
static void problems_are_told_apart(void **state) {
    (void)state;
    tt__problem p = problem_of("axpby", "n=64"), other[8];
    for (size_t i = 0; i < COUNT(other); i++)
        other[i] = p;
    strcpy(other[0].op, "copy");
    strcpy(other[1].text, "ab");
    other[2].warm = true;
    other[3].unverified = true;
    other[4].n--;
    tt__problem_set(&other[5], "n", 65);
    tt__problem_set_type(&other[6], "T", TT__TYPE_F64);
    tt__problem_set(&other[7], "T", 1);
    for (size_t i = 0; i < COUNT(other); i++)
        if (tt__problem_same(&p, &other[i]) || tt__problem_hash(&p) == tt__problem_hash(&other[i]))
            fail_msg("problem %zu", i);
    assert_true(tt__problem_is_of(&p, "axpby", "") && !tt__problem_is_users(&p));
    assert_true(tt__problem_is_of(&other[1], "axpby", "ab") && tt__problem_is_users(&other[1]));
    assert_false(tt__problem_is_of(&other[1], "axpby", ""));
    assert_false(tt__problem_is_of(&p, "copy", ""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_declared),
        cmocka_unit_test(refuses_with_the_place),
        cmocka_unit_test(keeps_limits),
        cmocka_unit_test(templates_declare_none),
        cmocka_unit_test(knows_how_far_problems_are_apart),
        cmocka_unit_test(says_what_is_unusual),
        cmocka_unit_test(cuts_long_words),
        cmocka_unit_test(says_where_arrays_begin),
        cmocka_unit_test(settings_by_name),
        cmocka_unit_test(problems_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
