/* Problems in the store: told apart, listed, and refused where rows are damaged. */
#include "store_fixture.h"

typedef struct listing {
    const tt__problem *expected;
    size_t n;
} listing;

static tt_status list_problem(void *user, int64_t id, const tt__problem *p) {
    listing *l = user;
    assert_int_equal(id, ++l->n);
    assert_true(tt__problem_same(p, &l->expected[id - 1]) &&
                p->moved_bytes == l->expected[id - 1].moved_bytes);
    return TT_OK;
}

static tt_status list_winner(void *user, int64_t gpu_id, int64_t problem_id, const tt__winner *w) {
    listing *l = user;
    assert_int_equal(gpu_id, 1);
    assert_int_equal(problem_id, ++l->n);
    assert_true(w->time_us == (double)problem_id && tt__same_env(&w->env, &env1));
    assert_string_equal(w->source, "measured");
    return TT_OK;
}

static tt_status list_gpu(void *user, int64_t id, const tt__gpu *gpu) {
    listing *l = user;
    assert_int_equal(id, ++l->n);
    assert_true(tt__same_gpu(gpu, &h100));
    return TT_OK;
}

static tt_status stop(void *user, int64_t id, const tt__problem *p) {
    (void)user, (void)id, (void)p;
    return TT_E_INTERRUPTED;
}

/* All of a store, as a look-up in memory reads it. */
static void lists_all(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    ids id = some_ids(s); /* of the first problem */
    tt__problem problems[] = {square(4096), square(8), square(16), saxpy('a', TT__TYPE_F32, 32),
                              copy_of(1024)};
    problems[2].warm = true;
    problems[3].in_graph = true;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        tt__winner w = a_winner((double)i + 1);
        assert_ok(tt__store_problem(s, &problems[i], &id.problem));
        assert_int_equal(id.problem, i + 1);
        assert_ok(tt__store_winner_put(s, id.run, id.problem, id.config, &w));
    }
    listing l = {problems, 0};
    assert_ok(tt__store_problems(s, list_problem, &l));
    assert_int_equal(l.n, 5);
    l.n = 0;
    assert_ok(tt__store_winners_brief(s, list_winner, &l));
    assert_int_equal(l.n, 5);
    l.n = 0;
    assert_ok(tt__store_gpus(s, list_gpu, &l));
    assert_int_equal(l.n, 1);
    assert_int_equal(tt__store_problems(s, stop, NULL), TT_E_INTERRUPTED);
    tt__store_close(&s);
}

/* Differences between problems. */
static void tells_problems_apart(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    tt__problem p[11];
    int64_t id[11], again;
    for (int i = 0; i < 11; i++)
        p[i] = saxpy('a', TT__TYPE_F32, 4096);
    p[1].warm = true;
    p[2].unverified = true;
    p[3] = saxpy('b', TT__TYPE_F32, 4096);
    p[4] = saxpy('a', TT__TYPE_F64, 4096);
    p[5] = saxpy('a', TT__TYPE_F32, 4097);
    p[6].n = 1;
    p[7].n = 0;
    strcpy(p[8].op, "sum");
    p[9].in_graph = true;
    p[10].warm = p[10].in_graph = true;
    for (int i = 0; i < 11; i++) {
        assert_ok(tt__store_problem(s, &p[i], &id[i]));
        assert_int_equal(id[i], i + 1);
    }
    for (int i = 0; i < 11; i++) {
        assert_ok(tt__store_known_problem(s, &p[i], &again));
        assert_int_equal(again, id[i]);
    }
    tt__problem_set(&p[0], "warm", 1);
    assert_fails(tt__store_problem(s, &p[0], &again), TT_E_INVALID, "a variable is named \"warm\"");
    tt__problem_set(&p[1], "n", tt__problem_least(&p[1], "n") - 1);
    assert_fails(tt__store_problem(s, &p[1], &again), TT_E_INVALID, "n is ");
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
        TEST(lists_all),
        TEST(refuses_damaged_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
