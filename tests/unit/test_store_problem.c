/* Problems in the store: told apart, walked by range, and refused where rows are damaged. */
#include "store_fixture.h"

static tt_status list_key(void *user, int64_t gpu_id, int64_t problem_id, int cc, const tt__problem *p) {
    struct {
        tt__store *s;
        tt__str out;
    } *x = user;
    tt__winner w;
    bool found;
    assert_ok(tt__store_winner_get(x->s, gpu_id, problem_id, &w, &found)); /* a walk may ask for the rest */
    assert_true(found && tt__problem_same(&w.problem, p) && w.gpu.cc == cc);
    tt__str_addf(&x->out, "%s%lld ", p->warm ? "w" : "", (long long)tt__problem_number(p, "rows", 0));
    return TT_OK;
}

static void walks_winners_by_range(void **state) {
    (void)state;
    static const tt__range all = {0, INT64_MAX};
    const struct {
        int cc;
        const char *op, *text;
        tt__range ranges[TT__RANGES];
        const char *expected;
    } cases[] = {
        {0, "transpose", "", {all, all}, "8 16 w16 32 "},
        {90, "transpose", "", {all, all}, "8 16 w16 32 "},
        {80, "transpose", "", {all, all}, ""},
        {0, "transpose", "x", {all, all}, ""},
        {0, "copy", "", {all, {0, 0}}, "0 "}, /* one number */
        {90, "transpose", "", {{16, 32}, all}, "16 w16 32 "},
        {90, "transpose", "", {{9, 15}, all}, ""},
        {90, "transpose", "", {{1, 16}, {16, 99}}, "16 w16 "},
        {90, "transpose", "", {{16, 32}, {0, 8}}, ""},
    };
    struct {
        tt__store *s;
        tt__str out;
    } x = {.s = must_open(":memory:")};
    ids id = some_ids(x.s);
    tt__winner w = a_winner(5);
    tt__problem problems[] = {square(8), square(16), square(16), square(32), copy_of(1024)};
    problems[2].warm = true;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        assert_ok(tt__store_problem(x.s, &problems[i], &id.problem));
        assert_ok(tt__store_winner_put(x.s, id.run, id.problem, id.config, &w));
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(tt__store_winner_keys(x.s, cases[i].cc, cases[i].op, cases[i].text, cases[i].ranges,
                                        list_key, &x));
        assert_string_equal(tt__str_text(&x.out), cases[i].expected);
        tt__str_free(&x.out);
    }
    tt__store_close(&x.s);
}

/* Differences between problems. */
static void tells_problems_apart(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    tt__problem p[9];
    int64_t id[9], again;
    for (int i = 0; i < 9; i++)
        p[i] = saxpy('a', TT__TYPE_F32, 4096);
    p[1].warm = true;
    p[2].unverified = true;
    p[3] = saxpy('b', TT__TYPE_F32, 4096);
    p[4] = saxpy('a', TT__TYPE_F64, 4096);
    p[5] = saxpy('a', TT__TYPE_F32, 4097);
    p[6].n = 1;
    p[7].n = 0;
    strcpy(p[8].op, "sum");
    for (int i = 0; i < 9; i++) {
        assert_ok(tt__store_problem(s, &p[i], &id[i]));
        assert_int_equal(id[i], i + 1);
    }
    for (int i = 0; i < 9; i++) {
        assert_ok(tt__store_known_problem(s, &p[i], &again));
        assert_int_equal(again, id[i]);
    }
    tt__problem_set(&p[0], "warm", 1);
    assert_fails(tt__store_problem(s, &p[0], &again), TT_E_INVALID, "a variable is named \"warm\"");
    tt__problem_set(&p[1], "n", 0);
    assert_fails(tt__store_problem(s, &p[1], &again), TT_E_INVALID, "n is 0");
    tt__store_close(&s);
}

static tt_status ignore(void *user, const tt__winner *w) {
    (void)user;
    (void)w;
    return TT_OK;
}

/* A row that was damaged gives no answer, but a sentence with the file and the value. */
static void refuses_damaged_values(void **state) {
    (void)state;
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"UPDATE value SET value = x'00' WHERE name = 'rows'", "rows is a BLOB"},
        {"UPDATE value SET value = -1 WHERE name = 'rows'", "rows is -1"},
        {"UPDATE value SET name = 'cols' WHERE name = 'rows'", "cols is there twice"},
        {"UPDATE operation SET name = ''", "op is \"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        tt__winner w;
        bool found;
        snprintf(name, sizeof name, "d%zu.db", i);
        const char *path = a_store(name, 1, 50, 1);
        raw_sql(path, cases[i].sql);
        tt__store *s = must_open(path);
        assert_fails(tt__store_winner_get(s, 1, 1, &w, &found), TT_E_DB, cases[i].says);
        assert_false(found);
        assert_fails(tt__store_winners(s, 0, 0, NULL, ignore, NULL), TT_E_DB, path);
        tt__store_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(tells_problems_apart),
        TEST(walks_winners_by_range),
        TEST(refuses_damaged_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
