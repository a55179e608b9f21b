/*
 * How work grows with what is stored. It is counted in steps of SQLite's virtual machine, which are the same
 * on every machine, however busy.
 */
#include "db/conn.h"
#include "db/exchange/export.h"
#include "db/exchange/recording.h"
#include "db/store.h"
#include "store_fixture.h"

/* A store with so many problems, each with a winner and so many screened trials. */
static tt__store *grown(const char *name, int problems, int configs) {
    tt__store *s = must_open(in_dir(name));
    tt__winner w = a_winner(50);
    int64_t gpu, run, problem, config;
    assert_ok(tt__store_begin(s));
    assert_ok(tt__store_gpu(s, &h100, &gpu));
    assert_ok(tt__store_run_begin(s, gpu, &env1, "measured", &run));
    for (int i = 0; i < problems; i++) {
        tt__problem p = square(64 * (i + 1));
        assert_ok(tt__store_problem(s, &p, &problem));
        for (int c = configs - 1; c >= 0; c--) {
            char text[16];
            tt__trial t = good(50 + c);
            snprintf(text, sizeof text, "A=%d", c);
            assert_ok(tt__store_config(s, "k", "transpose", "abcd", text, &config));
            assert_ok(tt__store_trial_put(s, run, problem, config, TT__STAGE_SCREEN, &t));
        }
        assert_ok(tt__store_winner_put(s, run, problem, config, &w));
    }
    assert_ok(tt__store_commit(s));
    return s;
}

static int count(void *user) {
    ++*(int64_t *)user;
    return 0;
}

static void count_steps(tt__store *s, int64_t *steps) {
    *steps = 0;
    sqlite3_progress_handler(s->db, 10, count, steps);
}

/* ---- Exports ----------------------------------------------------------------------------------------- */

static int64_t steps_of_export(tt__store *s, const tt__recording_part *part) {
    tt__str json = {0};
    int64_t steps;
    count_steps(s, &steps);
    assert_ok(tt__recording_export(s, 1, part, "", &json));
    tt__str_free(&json);
    return steps;
}

static void exports_in_step_with_problems(void **state) {
    (void)state;
    tt__store *s = grown("some.db", 50, 10), *more = grown("more.db", 400, 10);
    tt__problem p = square(64);
    const tt__recording_part one = {.problem = &p};
    int64_t all[] = {steps_of_export(s, NULL), steps_of_export(more, NULL)};
    int64_t of_one[] = {steps_of_export(s, &one), steps_of_export(more, &one)};
    tt__store_close(&s);
    tt__store_close(&more);
    if (all[1] > 10 * all[0] || of_one[1] > of_one[0] * 5 / 4)
        fail_msg("8 times the problems: %lld to %lld steps, of one problem %lld to %lld", (long long)all[0],
                 (long long)all[1], (long long)of_one[0], (long long)of_one[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(exports_in_step_with_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
