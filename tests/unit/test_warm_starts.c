/*
 * Starting points of a search: which winners and trials of a store count, and their order.
 */
#include <stdio.h>

#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "problem_fixture.h"
#include "space_fixture.h"
#include "tuner/search/search_loop.h"

static const char numbers[] =
    "kernel numbers\nop transpose\nparam A 0 1 2 3 4 5 6 7 8 9\nparam B 0 1\nblock 32\n"
    "grid rows\nargs dst, src\ndefault A=0 B=0\n";
static const tt__env now = {"580.1", "13.0", TT__METHOD}, before = {"570.1", "12.9", TT__METHOD};

typedef struct shelf {
    field f;
    tt__store *store;
    int64_t gpu_id, run_id;
} shelf;

static void run_of(shelf *s, const char *gpu_name, const tt__env *env) {
    tt__gpu gpu = field_gpu;
    tt__copy(gpu.name, sizeof gpu.name, gpu_name);
    gpu.cc = strcmp(gpu_name, "NVIDIA A100") == 0 ? 80 : gpu.cc;
    assert_ok(tt__store_gpu(s->store, &gpu, &s->gpu_id));
    assert_ok(tt__store_run_begin(s->store, s->gpu_id, env, "measured", &s->run_id));
}

static void setup(shelf *s) {
    field_open(&s->f, numbers, NULL);
    assert_ok(tt__store_open(&s->store, ":memory:", TT__STORE_READ_WRITE));
}

static void teardown(shelf *s) {
    tt__store_close(&s->store);
    field_close(&s->f);
}

/* A trial of the run at hand; with `wins` also the winner of its problem. */
static void put_weighed(shelf *s, const tt__problem *p, const char *config, double us, double weight,
                        bool wins) {
    int64_t problem_id, config_id;
    tt__trial t = {.status = us > 0 ? TT__TRIAL_OK : TT__TRIAL_CRASHED, .time_us = us, .weight = weight};
    tt__winner w = {.time_us = us, .trials = 1};
    assert_ok(tt__store_problem(s->store, p, &problem_id));
    assert_ok(tt__store_config(s->store, "numbers", s->f.t[0]->op, s->f.t[0]->hash, config, &config_id));
    assert_ok(tt__store_trial_put(s->store, s->run_id, problem_id, config_id, TT__STAGE_SCREEN, &t));
    if (wins)
        assert_ok(tt__store_winner_put(s->store, s->run_id, problem_id, config_id, &w));
}

static void put(shelf *s, const tt__problem *p, const char *config, double us, bool wins) {
    put_weighed(s, p, config, us, 1, wins);
}

/* Of the run at hand. */
static void assert_starts_now(shelf *s, const char *expected) {
    tt__winners winners;
    tt__warm_starts starts;
    tt__str got = {0};
    assert_ok(tt__winners_load(&winners, s->store));
    const tt__elsewhere from = {s->store, &winners, &field_gpu, &now, s->gpu_id, s->run_id, NULL};
    tt__priors priors = {0};
    assert_ok(tt__warm_starts_find(&starts, &priors, &from, &s->f.problem, &s->f.space, &s->f.model));
    assert_int_equal(priors.n, 0); /* there is a cost model */
    for (size_t i = 0; i < starts.n; i++)
        tt__str_addf(&got, "%s%d%d", i ? " " : "", field_value(&s->f, starts.at[i], "A"),
                     field_value(&s->f, starts.at[i], "B"));
    assert_string_equal(tt__str_text(&got), expected);
    tt__str_free(&got);
    tt__winners_free(&winners);
}

/* Of a new run. */
static void assert_starts(shelf *s, const char *expected) {
    run_of(s, field_gpu.name, &now);
    assert_starts_now(s, expected);
}

static void test_nothing_is_known(void **state) {
    (void)state;
    shelf s;
    setup(&s);
    assert_starts(&s, "");
    teardown(&s);
}

/* The problem itself, then near sizes, then far ones, then other GPUs, first those of this
 * compute capability; other element sizes say nothing. */
static void test_the_nearest_first(void **state) {
    (void)state;
    shelf s;
    tt__problem same = square_of(4096, 4), near = square_of(8192, 4), far = square_of(512, 4),
                other = square_of(4096, 8);
    setup(&s);
    run_of(&s, "NVIDIA A100", &now);
    put(&s, &same, "A=6 B=0", 10, true);
    run_of(&s, "NVIDIA H100", &now);
    put(&s, &same, "A=5 B=0", 10, true);
    run_of(&s, field_gpu.name, &before);
    put(&s, &far, "A=2 B=0", 10, true);
    put(&s, &near, "A=1 B=0", 10, true);
    put(&s, &other, "A=9 B=0", 10, true);
    put(&s, &same, "A=3 B=1", 10, true);
    assert_starts(&s, "31 10 20 50 60");
    teardown(&s);
}

/* After the winners come the fastest trials of each problem, if they passed and are still in the space. */
static void test_good_trials_follow(void **state) {
    (void)state;
    shelf s;
    tt__problem near = square_of(8192, 4);
    setup(&s);
    run_of(&s, field_gpu.name, &before);
    put(&s, &near, "A=1 B=0", 10, true);
    put(&s, &near, "A=2 B=0", 13, false);
    put(&s, &near, "A=3 B=0", 12, false);
    put(&s, &near, "A=4 B=0", 0, false);
    put(&s, &near, "A=77 B=0", 9, false);
    put(&s, &near, "A=5 B=0", 30, false);
    put_weighed(&s, &near, "A=6 B=0", 11, 2, false); /* by the objective it is as good as 22 us */
    assert_starts(&s, "10 30 20");
    teardown(&s);
}

/* A search does not depend on the other problems of its run. */
static void test_trials_of_this_run(void **state) {
    (void)state;
    shelf s;
    tt__problem near = square_of(8192, 4);
    setup(&s);
    run_of(&s, field_gpu.name, &now);
    put(&s, &near, "A=1 B=0", 10, true);
    put(&s, &near, "A=2 B=0", 11, false);
    assert_starts_now(&s, "10");
    assert_starts(&s, "10 20");
    teardown(&s);
}

static const char own[] =
    "kernel numbers\nproblem n 1000\nbuffer x f32 n inout\nparam A 0 1 2 3 4 5 6 7 8 9\n"
    "block 32\ngrid n\nargs x\ndefault A=0\n";

/* Without a cost model, all trials of another GPU are a prior. The problem's own trials are none: a search
 * takes them over. */
static void test_trials_are_priors(void **state) {
    (void)state;
    shelf s = {.f.t = {field_template(own)}};
    tt__winners winners;
    tt__warm_starts starts;
    tt__priors priors = {0};
    field *f = &s.f;
    assert_ok(tt__store_open(&s.store, ":memory:", TT__STORE_READ_WRITE));
    assert_ok(tt__operation_problem(&f->problem, f->t[0]->operation, f->t[0]->op, NULL));
    assert_ok(tt__space_add(&f->space, f->t[0], &field_gpu, &f->problem));
    assert_ok(tt__cost_model_open(&f->model, &f->space, &field_gpu, &f->problem, NULL));
    for (int here = 0; here < 2; here++) {
        run_of(&s, here ? field_gpu.name : "NVIDIA H100", &now);
        for (int a = 9; a >= 0; a--) {
            char config[8];
            snprintf(config, sizeof config, "A=%d", a);
            put(&s, &f->problem, config, 100 - 9 * a, a == 9);
        }
    }
    run_of(&s, field_gpu.name, &now);
    assert_ok(tt__winners_load(&winners, s.store));
    const tt__elsewhere from = {s.store, &winners, &field_gpu, &now, s.gpu_id, s.run_id, NULL};
    assert_ok(tt__warm_starts_find(&starts, &priors, &from, &f->problem, &f->space, &f->model));
    assert_int_equal(priors.n, 1);
    for (size_t i = 1; i < f->space.n; i++)
        assert_true(priors.of[0][i] < priors.of[0][i - 1]);
    assert_int_equal(field_value(f, starts.at[0], "A"), 9); /* of this GPU */
    tt__priors_free(&priors);
    tt__winners_free(&winners);
    teardown(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_known),   cmocka_unit_test(test_the_nearest_first),
        cmocka_unit_test(test_good_trials_follow), cmocka_unit_test(test_trials_of_this_run),
        cmocka_unit_test(test_trials_are_priors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
