/* The queue of cubins: what is wanted comes first, what shares a cubin is compiled once, what is done is
 * kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "db/conn.h"
#include "problem_fixture.h"
#include "tuner/ahead.h"
#include "tuner/farm/cubins.h"

static const char text[] = "//@ kernel   k\n"
                           "//@ op       transpose\n"
                           "//@ param    A 1 2 3 4\n"
                           "//@ runtime  R 1 2\n"
                           "//@ derived  EDGES rows % 32 > 0\n"
                           "//@ block    32\n"
                           "//@ grid     R\n"
                           "//@ args     dst, src\n"
                           "//@ default  A=1 R=1\n"
                           "extern \"C\" __global__ void k(int *dst, const int *src) {}\n";

typedef struct fixture {
    tt__store *store;
    tt__template *t;
    tt__problem p;
    tt__cubins cubins;
    tt__session s;
    tt__ahead ahead;
} fixture;

static const tt__gpu gpu = {.cc = 90, .max_threads_per_block = 1024};

static int enter(void **state) {
    static fixture f;
    f = (fixture){.p = square_of(64, 4)};
    assert_int_equal(tt__store_open(&f.store, ":memory:", TT__STORE_READ_WRITE), TT_OK);
    if (tt__template_parse(&f.t, "k.cu", text) != TT_OK)
        fail_msg("%s", tt_last_error());
    f.cubins = (tt__cubins){.store = f.store, .cc = 90, .nvrtc = "13.0"};
    f.s.gpu = gpu;
    f.ahead = (tt__ahead){.s = &f.s, .operation = f.t->operation}; /* nothing is verified here */
    *state = &f;
    return 0;
}

static int leave(void **state) {
    fixture *f = *state;
    tt__cubins_close(&f->cubins);
    tt__ahead_close(&f->ahead);
    tt__template_free(&f->t);
    tt__store_close(&f->store);
    return 0;
}

static tt__candidate candidate(const fixture *f, const char *config) {
    tt__candidate c;
    if (tt__space_resolve(&c, f->t, &gpu, &f->p, config) != TT_OK)
        fail_msg("%s", tt_last_error());
    return c;
}

static tt__cubin *want(fixture *f, const char *config) {
    tt__candidate c = candidate(f, config);
    tt__cubin *cubin;
    assert_int_equal(tt__cubins_want(&f->cubins, &c, &f->p, &cubin), TT_OK);
    return cubin;
}

static void expect(fixture *f, const char *config) {
    tt__candidate c = candidate(f, config);
    assert_int_equal(tt__ahead_later(&f->ahead, &c, &f->p), TT_OK);
}

static void expect_soon(fixture *f, size_t n, const char *const *configs) {
    tt__candidate c[4];
    const tt__candidate *pointers[4] = {0};
    for (size_t i = 0; i < n; i++) {
        c[i] = candidate(f, configs[i]);
        pointers[i] = &c[i];
    }
    assert_int_equal(tt__ahead_soon(&f->ahead, pointers, n, &f->p), TT_OK);
}

static tt__cubin *next(fixture *f) {
    tt__cubin *cubin;
    assert_int_equal(tt__cubins_next(&f->cubins, &f->ahead, &cubin), TT_OK);
    return cubin;
}

static void test_order(void **state) {
    fixture *f = *state;
    static const char *const expected[] = {"A=1 R=1", "A=2 R=1", "A=2 R=2", "A=3 R=1", "A=4 R=1"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        expect(f, expected[i]);
    tt__cubin *four = want(f, "A=4 R=2"), *three = want(f, "A=3 R=2");
    assert_ptr_equal(next(f), four); /* in the order of wanting */
    assert_ptr_equal(next(f), three);
    tt__cubin *one = next(f), *two = next(f);
    assert_string_equal(one->config, "A=1 R=1"); /* and then of expecting */
    assert_string_equal(two->config, "A=2 R=1");
    assert_null(next(f)); /* the others share theirs */
    assert_int_equal(tt__ahead_left(&f->ahead), 0);
    assert_ptr_equal(want(f, "A=2 R=2"), two);
    assert_int_equal(two->state, TT__CUBIN_COMPILING);
}

/* The next expected cubins come after requested ones and before other expected ones, until the list is
 * replaced. */
static void test_next_before_the_rest(void **state) {
    fixture *f = *state;
    expect(f, "A=1 R=1");
    expect_soon(f, 2, (const char *const[]){"A=4 R=1", "A=3 R=2"});
    assert_int_equal(tt__ahead_left(&f->ahead), 3);
    tt__cubin *two = want(f, "A=2 R=1");
    assert_ptr_equal(next(f), two);
    assert_string_equal(next(f)->config, "A=4 R=1");
    expect_soon(f, 2, (const char *const[]){"A=4 R=2", "A=2 R=2"}); /* both are being compiled */
    assert_string_equal(next(f)->config, "A=1 R=1");
    expect_soon(f, 1, (const char *const[]){"A=3 R=1"});
    expect_soon(f, 0, NULL);
    assert_null(next(f));
    expect_soon(f, 1, (const char *const[]){"A=3 R=1"});
    tt__ahead_forget(&f->ahead);
    assert_null(next(f));
}

static void test_a_failure_is_remembered(void **state) {
    fixture *f = *state;
    tt__cubin *cubin = want(f, "A=1 R=1");
    assert_ptr_equal(next(f), cubin);
    tt__cubin_failed(cubin, TT__TRIAL_TIMEOUT, "compiled longer than 5 s");
    assert_ptr_equal(want(f, "A=1 R=2"), cubin);
    assert_null(next(f));
    assert_string_equal(cubin->reason, "compiled longer than 5 s");
}

/* Sizes with the same derived values share a cubin; others do not, not even by name in the store. */
static void test_what_is_derived_makes_another(void **state) {
    fixture *f = *state;
    static const int64_t sides[] = {64, 96, 100, 50};
    tt__cubin *cubins[4];
    tt__str key = {0};
    bool found;
    for (size_t i = 0; i < 4; i++) {
        tt__problem_set(&f->p, "rows", sides[i]);
        tt__candidate c = candidate(f, "A=1 R=1");
        cubins[i] = want(f, "A=1 R=1");
        assert_int_equal(tt__cubins_name(&f->cubins, &c, &f->p, cubins[i]), TT_OK);
    }
    assert_ptr_equal(cubins[0], cubins[1]);
    assert_ptr_equal(cubins[2], cubins[3]);
    assert_ptr_not_equal(cubins[0], cubins[2]);
    assert_string_not_equal(cubins[0]->key, cubins[2]->key);
    assert_ptr_equal(next(f), cubins[0]);
    assert_ptr_equal(next(f), cubins[2]);
    assert_null(next(f));
    assert_int_equal(tt__cubins_ready(&f->cubins, cubins[0], "image", 5), TT_OK);
    assert_int_equal(tt__cubins_save(&f->cubins, true), TT_OK);
    assert_int_equal(tt__store_cubin_find(f->store, f->t->hash, "A=1 R=1 EDGES=0", 4, 90, &key, &found),
                     TT_OK);
    assert_true(found);
    assert_string_equal(tt__str_text(&key), cubins[0]->key);
    tt__str_free(&key);
    assert_int_equal(tt__store_cubin_find(f->store, f->t->hash, "A=1 R=1 EDGES=1", 4, 90, &key, &found),
                     TT_OK);
    assert_false(found);
    static const struct {
        const char *config;
        bool linked;
    } linked[] = {{"A=1 R=1", true},        {"A=1 R=1 EDGES=0", true}, {"A=1 R=1 EDGES=1", false},
                  {"A=1 R=1 EDGES", false}, {"A=1 R=", false},         {"A=2 R=1", false}};
    for (size_t i = 0; i < sizeof linked / sizeof *linked; i++) {
        assert_int_equal(tt__store_cubin_linked(f->store, f->t->hash, linked[i].config, 4, 90, &found),
                         TT_OK);
        assert_int_equal(found, linked[i].linked);
    }
}

static void test_what_is_saved_is_found(void **state) {
    fixture *f = *state;
    tt__cubin *cubin = want(f, "A=1 R=1");
    tt__candidate c = candidate(f, "A=1 R=1"), other = candidate(f, "A=1 R=2");
    tt__str key = {0};
    bool found;
    assert_ptr_equal(next(f), cubin);
    assert_int_equal(tt__cubins_ready(&f->cubins, cubin, "image", 5), TT_OK);
    assert_int_equal(tt__cubins_name(&f->cubins, &c, &f->p, cubin), TT_OK);
    assert_int_equal(tt__cubins_save(&f->cubins, true), TT_OK);
    assert_int_equal(tt__store_cubin_find(f->store, f->t->hash, "A=1 R=1 EDGES=0", 4, 90, &key, &found),
                     TT_OK);
    assert_true(found);
    assert_string_equal(tt__str_text(&key), cubin->key);
    tt__str_free(&key);

    tt__cubins again = {.store = f->store, .cc = 90, .nvrtc = "13.0"};
    assert_int_equal(tt__cubins_want(&again, &other, &f->p, &cubin), TT_OK);
    assert_int_equal(cubin->state, TT__CUBIN_READY);
    assert_int_equal(cubin->image.len, 5);
    tt__cubins_close(&again);
    assert_int_equal(sqlite3_exec(f->store->db, "UPDATE cubin SET image = x'00'", NULL, NULL, NULL),
                     SQLITE_OK);
    again = (tt__cubins){.store = f->store, .cc = 90, .nvrtc = "13.0"}; /* damaged: it is compiled anew */
    assert_int_equal(tt__cubins_want(&again, &other, &f->p, &cubin), TT_OK);
    assert_int_equal(cubin->state, TT__CUBIN_IDLE);
    tt__cubins_close(&again);
    again = (tt__cubins){.store = f->store, .cc = 100, .nvrtc = "13.0"}; /* of another GPU */
    assert_int_equal(tt__cubins_want(&again, &other, &f->p, &cubin), TT_OK);
    assert_int_equal(cubin->state, TT__CUBIN_IDLE);
    tt__cubins_close(&again);
}

/* Expected cubins wait while no compiler may work ahead. */
static void test_works_ahead_if_it_may(void **state) {
    fixture *f = *state;
    tt__cubin *cubin;
    expect(f, "A=1 R=1");
    assert_int_equal(tt__cubins_next(&f->cubins, NULL, &cubin), TT_OK);
    assert_null(cubin);
    tt__cubin *wanted = want(f, "A=2 R=1");
    assert_int_equal(tt__cubins_next(&f->cubins, NULL, &cubin), TT_OK);
    assert_ptr_equal(cubin, wanted);
    assert_non_null(next(f));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, enter, leave),
        cmocka_unit_test_setup_teardown(test_next_before_the_rest, enter, leave),
        cmocka_unit_test_setup_teardown(test_a_failure_is_remembered, enter, leave),
        cmocka_unit_test_setup_teardown(test_what_is_derived_makes_another, enter, leave),
        cmocka_unit_test_setup_teardown(test_what_is_saved_is_found, enter, leave),
        cmocka_unit_test_setup_teardown(test_works_ahead_if_it_may, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
