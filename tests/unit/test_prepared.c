/*
 * What look-ups prepare: a configuration is legal for a problem exactly if trying it from scratch says so,
 * and the template of a permutation's tile is that of the tile itself.
 */
#include "problem_fixture.h"

#include <stdlib.h>

#include "base/random.h"
#include "kernel/expression/permute_any.h"
#include "kernel/load/parse.h"
#include "kernel/space/space.h"

static const tt__gpu gpu = {.cc = 90,
                            .sm_count = 132,
                            .l2_bytes = 62914560,
                            .max_threads_per_block = 1024,
                            .shared_per_block = 232448};

static int64_t any_size(uint64_t *seed) {
    const int64_t most = (int64_t)4 << tt__random_below(seed, 14);
    return tt__random_below(seed, 3) ? 1 + (int64_t)tt__random_below(seed, (size_t)most) : most;
}

static tt__problem any_matrix(uint64_t *seed, int elem_size) {
    tt_problem m = TT_INIT(tt_problem);
    m.rows = any_size(seed);
    m.cols = any_size(seed);
    m.elem_size = elem_size;
    m.lds = tt__random_below(seed, 3) ? 0 : m.cols + (int64_t)tt__random_below(seed, 40);
    m.ldd = tt__random_below(seed, 3) ? 0 : m.rows + (int64_t)tt__random_below(seed, 40);
    m.batch = tt__random_below(seed, 2) ? 1 : any_size(seed);
    return problem_of_matrix(m);
}

/* A bit for the variable of this name. */
static uint64_t given_of(const tt__operation *op, const char *name) {
    uint64_t given = 0;
    for (size_t i = 0; i < op->n_variables; i++)
        given |= (uint64_t)(strcmp(op->variables[i].name, name) == 0) << i;
    return given;
}

/* Is the configuration legal, and do both ways say so? */
static bool is_legal(const tt__prepared *ready, const tt__template *t, const tt__problem *p,
                     const char *config) {
    tt__facts facts;
    tt__candidate c;
    tt_status status;
    bool wanted, legal;
    assert_int_equal(tt__facts_of(&facts, t->operation, &gpu, p), TT_OK);
    assert_int_equal(tt__space_try(&c, t, &gpu, p, &facts, config, &wanted), TT_OK);
    assert_true(tt__prepared_try(&legal, &status, ready, &gpu, p, &facts));
    assert_int_equal(status, TT_OK);
    if (legal != wanted) {
        char text[TT__PROBLEM_TEXT_MAX];
        fail_msg("%s %s for %s: %d", t->kernel, config, tt__problem_text(text, p), legal);
    }
    return legal;
}

/* Prepared for one problem, asked for others with the same size of elements. */
static void agrees_with_a_trial(void **state) {
    (void)state;
    enum { CONFIGS = 24, PROBLEMS = 24 };
    tt__template_set set;
    uint64_t seed = 3;
    size_t legal = 0, n = 0;
    assert_int_equal(tt__template_set_open(&set, NULL, 0), TT_OK);
    for (size_t i = 0; i < set.n; i++)
        for (int k = 0; k < CONFIGS && strcmp(set.items[i]->op, "transpose") == 0; k++) {
            const tt__template *t = set.items[i];
            size_t choice[TT__PARAMS_MAX] = {0};
            char config[TT__CONFIG_MAX];
            tt__prepared *ready;
            tt__facts facts;
            const int elem_size = 1 << k % 5;
            tt__problem p = any_matrix(&seed, elem_size);
            for (size_t v = 0; v < t->n_params; v++)
                choice[v] = tt__random_below(&seed, t->params[v].n_values);
            tt__config_format(config, t, k < 5 ? t->default_choice : choice);
            assert_int_equal(tt__facts_of(&facts, t->operation, &gpu, &p), TT_OK);
            assert_int_equal(
                tt__space_prepare(&ready, t, &gpu, &p, &facts, given_of(t->operation, "elem_size"), config),
                TT_OK);
            for (int m = 0; m < PROBLEMS; m++, n++) {
                p = any_matrix(&seed, elem_size);
                legal += is_legal(ready, t, &p, config);
            }
            free(ready);
        }
    tt__template_set_close(&set);
    assert_in_range(legal, n / 50, n / 2);
}

/* What decides of each line of an annotation, and what may not be left out. */
static void leaves_out_what_is_certain(void **state) {
    (void)state;
    static const char *const lines[] = {
        "//@ where A = 2 OR m > 5\n",
        "//@ where A = 1 AND m > 5\n",
        "//@ where m > 5 AND A = 1\n",
        "//@ where iif(A = 1, n, m) > 5\n",
        "//@ where iif(m > 5, A, n) = 1\n",
        "//@ where m IN (A, n, 7)\n",
        "//@ where m / (m - 4) > 0\n",
        "//@ where n BETWEEN A AND m\n",
        "//@ let l n * A\n//@ where l + m > 9\n",
        "//@ where NOT (n < m)\n",
        "//@ derived D 8 / (m - 3)\n",
        "//@ where max(A, n) < sm_count / m\n",
        "//@ when m > 5\n",
        "//@ repeat m - 4\n",
        "//@ shared 16000 * m * A\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[1024], values[64];
        tt__template *t;
        tt__prepared *ready;
        tt__facts facts;
        tt__problem p;
        bool legal;
        snprintf(text, sizeof text,
                 "//@ kernel k\n//@ problem n 6\n//@ problem m 6\n//@ buffer y f32 n out\n//@ param A 1 2\n%s"
                 "//@ block 32\n//@ grid m, n\n//@ args y, i32 m, i32 A, i64 n\n//@ default A=1\n"
                 "extern \"C\" __global__ void k(float *y, int m, int a, long long n) {}\n",
                 lines[i]);
        if (tt__template_parse(&t, "t.cu", text) != TT_OK)
            fail_msg("%s: %s", lines[i], tt_last_error());
        for (int a = 1; a <= 2; a++)
            for (int n = 1; n <= 8; n++) {
                const char *config = a == 1 ? "A=1" : "A=2";
                snprintf(values, sizeof values, "n=%d,m=%d", n, 4 + n % 3);
                assert_int_equal(tt__operation_problem(&p, t->operation, t->op, values), TT_OK);
                assert_int_equal(tt__facts_of(&facts, t->operation, &gpu, &p), TT_OK);
                if (tt__space_prepare(&ready, t, &gpu, &p, &facts, given_of(t->operation, "n"), config) !=
                    TT_OK)
                    fail_msg("%s", tt_last_error());
                for (int m = 1; m <= 8; m++) {
                    snprintf(values, sizeof values, "n=%d,m=%d", n, m);
                    assert_int_equal(tt__operation_problem(&p, t->operation, t->op, values), TT_OK);
                    is_legal(ready, t, &p, config);
                }
                facts.values[TT__FACT_SM_COUNT]++; /* another GPU */
                assert_false(tt__prepared_try(&legal, &(tt_status){0}, ready, &gpu, &p, &facts));
                free(ready);
            }
        tt__template_free(&t);
    }
}

/* Dimensions of a tensor in another order, with gaps or without. */
static permute_shape any_shape(uint64_t *seed) {
    permute_shape s = {.elem_size = 1 << tt__random_below(seed, 5), .align = 16};
    const int n = 1 + (int)tt__random_below(seed, 6);
    int at[PERMUTE_DIMS] = {0};
    long long stride = tt__random_below(seed, 4) ? 1 : 3;
    for (int k = 0; k < PERMUTE_DIMS; k++)
        s.dim[k] = s.stride[k] = 1;
    for (int k = 0; k < n; k++) {
        const int other = (int)tt__random_below(seed, (size_t)k + 1);
        at[k] = at[other];
        at[other] = k;
    }
    for (int k = 0; k < n; k++) {
        s.dim[at[k]] =
            2 + (long long)tt__random_below(seed, (size_t)4 << tt__random_below(seed, 40 / (size_t)n));
        s.stride[at[k]] = stride;
        stride *= s.dim[at[k]] + (tt__random_below(seed, 5) == 0);
    }
    return s;
}

static void knows_the_template_of_a_tile(void **state) {
    (void)state;
    enum { SHAPES = 20000 };
    uint64_t seed = 5;
    size_t of[TT__TILE_KINDS] = {0}, none = 0;
    for (int i = 0; i < SHAPES; i++) {
        const permute_shape s = any_shape(&seed);
        tt__tile tile;
        const int template = tt__tile_template(&s, 132);
        if (!tt__tile_choose(&tile, &s, 132)) {
            assert_int_equal(template, -1);
            none++;
            continue;
        }
        assert_int_equal(template, tt__tile_template_of(tile.kind));
        assert_in_range(tile.shared_bytes, 0, TT__TILE_SHARED_MAX);
        of[tile.kind]++;
    }
    for (int k = 0; k < TT__TILE_KINDS; k++)
        assert_true(of[k] > 0);
    assert_true(none < SHAPES / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_trial),
        cmocka_unit_test(leaves_out_what_is_certain),
        cmocka_unit_test(knows_the_template_of_a_tile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
