/* The library takes its own templates on trust when it opens a context. Here they pass what a user's must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "problem_fixture.h"

static const tt__gpu gpu = {.cc = 90,
                            .sm_count = 132,
                            .max_threads_per_block = 1024,
                            .shared_per_block = 232448,
                            .l2_bytes = 62914560,
                            .memory_bytes = 150000000000};

static void builtins_pass_every_check(void **state) {
    (void)state;
    assert_true(tt__n_builtins > 5);
    for (size_t i = 0; i < tt__n_builtins; i++) {
        tt__template *checked, *trusted, *unread;
        if (tt__template_parse(&checked, tt__builtins[i].name, tt__builtins[i].source) != TT_OK)
            fail_msg("%s", tt_last_error());
        assert_int_equal(tt__template_builtin(&trusted, &tt__builtins[i]), TT_OK);
        assert_string_equal(trusted->default_config, checked->default_config);
        assert_string_equal(trusted->hash, checked->hash_of_bytes);
        assert_int_equal(tt__template_builtin_unread(&unread, &tt__builtins[i]), TT_OK);
        assert_string_equal(unread->kernel, checked->kernel);
        assert_string_equal(unread->op, checked->op);
        assert_string_equal(unread->hash, checked->hash_of_bytes);
        assert_string_equal(unread->path, checked->path);
        const tt__template *read = unread;
        assert_int_equal(tt__template_read(&read), TT_OK);
        assert_string_equal(read->default_config, checked->default_config);
        const tt__template *again = read;
        assert_int_equal(tt__template_read(&again), TT_OK);
        assert_ptr_equal(again, read);
        tt__template_free(&unread);
        tt__template_free(&checked);
        tt__template_free(&trusted);
    }
}

/* Its place among those that the operation prefers; -1: it is not listed. */
static int preference(const tt__operation *op, const char *kernel) {
    char name[TT__NAME_MAX];
    const char *at = NULL;
    for (int i = 0; tt__operation_prefers(name, op, &at); i++)
        if (strcmp(name, kernel) == 0)
            return i;
    return -1;
}

/* If templates compete, their operation says whose default comes first. */
static void every_template_is_preferred_somewhere(void **state) {
    (void)state;
    tt__template_set set;
    assert_int_equal(tt__template_set_open(&set, NULL, 0), TT_OK);
    for (size_t i = 0; i < set.n; i++) {
        const tt__template *t = set.items[i];
        size_t rivals = 0;
        for (size_t k = 0; k < set.n; k++)
            rivals += k != i && strcmp(set.items[k]->op, t->op) == 0;
        if (rivals && strcmp(t->op, "transpose_ladder") != 0)
            assert_true(preference(t->operation, t->kernel) >= 0);
    }
    const tt__operation *op = set.items[set.n - 1]->operation;
    assert_string_equal(set.items[set.n - 1]->kernel, "transpose_wide");
    assert_true(preference(op, "transpose_small") == 0);
    assert_true(preference(op, "transpose_vector") < preference(op, "transpose_tiled"));
    assert_int_equal(preference(op, "transpose_vect"), -1);
    tt__template_set_close(&set);
}

/* So are the operations' files: each expression of theirs comes to something for each of their samples. */
static void operations_do_their_samples(void **state) {
    (void)state;
    size_t n = 0;
    for (size_t i = 0; i < tt__n_ops; i++) {
        tt__template *t;
        assert_int_equal(tt__template_builtin(&t, &tt__ops[i]), TT_OK);
        assert_true(t->n_defines > 0 && t->own->n_samples > 0 && tt__operation_verifies(t->own));
        for (size_t k = 0; k < t->n_defines; k++)
            assert_true(tt__builtin_says(&tt__ops[i], "defines", t->defines[k]));
        assert_false(tt__builtin_says(&tt__ops[i], "defines", "transpos"));
        assert_false(tt__builtin_says(&tt__ops[i], "undefined", "transpose"));
        for (size_t k = 0; k < t->n_defines * t->own->n_samples; k++, n++) {
            const char *name = t->defines[k % t->n_defines], *sample = t->own->samples[k / t->n_defines].text;
            tt__problem p = problem_of(name, sample);
            tt__workload w;
            if (tt__workload_of(&w, t, &gpu, &p) != TT_OK)
                fail_msg("%s %s: %s", name, sample, tt_last_error());
            assert_true(w.has_reference && p.moved_bytes > 0);
            for (size_t m = 0; m < t->own->n_metrics; m++) {
                double value;
                assert_int_equal(tt__metric_value(&value, t, m, &gpu, &p, NULL, 10), TT_OK);
                assert_true(value > 0);
            }
        }
        tt__template_free(&t);
    }
    assert_true(n > 20);
}

/* An untuned problem gets a default, and every winner is compared with one. If a template can move up to 4
 * bytes in whole vectors, its default is in the space. */
static void defaults_are_legal(void **state) {
    (void)state;
    size_t n = 0;
    for (size_t i = 0; i < tt__n_builtins; i++)
        for (int elem_size = 1; elem_size <= 4; elem_size *= 2) {
            tt__template *t;
            tt__space space = {0};
            tt__problem p;
            char text[96] = "";
            assert_int_equal(tt__template_builtin(&t, &tt__builtins[i]), TT_OK);
            if (strcmp(t->op, "transpose_scaled") == 0)
                snprintf(text, sizeof text, "rows=4096 cols=4096 parts=%d", elem_size == 1 ? 2 : 1);
            else if (strncmp(t->op, "transpose", 9) == 0)
                snprintf(text, sizeof text, "rows=4096 cols=4096 elem_size=%d", elem_size);
            if (strcmp(t->op, "cast_transpose_mx") == 0)
                snprintf(text, sizeof text, "rows=4096 cols=4096 S=%s", elem_size == 1 ? "f32" : "bf16");
            if (strcmp(t->op, "cast_transpose") == 0)
                snprintf(text, sizeof text, "rows=4096 cols=4096 D=%s",
                         elem_size == 1   ? "e4m3"
                         : elem_size == 2 ? "f16"
                                          : "f32");
            if (strcmp(t->op, "permute") == 0)
                snprintf(text, sizeof text, "dim0=512 dim1=96 dim2=80 stride1=4096 stride2=512 elem_size=%d",
                         elem_size);
            if (tt__operation_problem(&p, t->operation, t->op, text) != TT_OK)
                fail_msg("%s %s: %s", t->op, text, tt_last_error());
            assert_int_equal(tt__space_add(&space, t, &gpu, &p), TT_OK);
            if (space.n && strcmp(space.items[0].config, t->default_config) != 0)
                fail_msg("%s, %d bytes: the default is not in the space, which begins with %s", t->kernel,
                         elem_size, space.items[0].config);
            n += space.n > 0;
            tt__space_free(&space);
            tt__template_free(&t);
        }
    assert_true(n > 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builtins_pass_every_check), cmocka_unit_test(every_template_is_preferred_somewhere),
        cmocka_unit_test(operations_do_their_samples), cmocka_unit_test(defaults_are_legal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
