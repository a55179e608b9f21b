/* Which GPU works for which lane, without any worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/backend/gpu/event_loop.h"

enum { GPUS = 3 };
static tt__loop loop;
static tt__worker workers[GPUS];
static tt__loop_lane lanes[2];

static void add_jobs(size_t lane, int n) {
    int at = 0;
    for (; n > 0; at++) {
        if (loop.jobs[at].state != TT__JOB_FREE)
            continue;
        loop.jobs[at] = (tt__job){.state = TT__JOB_TO_TRY, .lane = lane, .order = ++loop.submitted};
        n--;
    }
}

/* All GPUs have the arrays of lane 1. */
static void begin(void) {
    loop =
        (tt__loop){.workers = {.n_gpus = GPUS, .n = GPUS, .items = workers}, .lanes = {&lanes[0], &lanes[1]}};
    for (size_t i = 0; i < GPUS; i++)
        loop.gpus[i] = (tt__loop_gpu){.lane = 1, .state = TT__ARRAYS_OPEN};
}

/* Opening arrays must be worth it. */
static void test_stays_while_there_is_work(void **state) {
    (void)state;
    begin();
    add_jobs(0, 9);
    add_jobs(1, 1);
    assert_true(tt__loop_find_work(&loop, 0));
    assert_int_equal(loop.gpus[0].lane, 1);
    assert_int_equal(loop.gpus[0].state, TT__ARRAYS_OPEN);
}

static void test_goes_where_fewest_are(void **state) {
    (void)state;
    begin();
    add_jobs(0, 3);
    assert_true(tt__loop_find_work(&loop, 0));
    assert_int_equal(loop.gpus[0].lane, 0);
    assert_int_equal(loop.gpus[0].state, TT__ARRAYS_CLOSED);
    loop.gpus[0].state = TT__ARRAYS_OPENING;
    assert_true(tt__loop_find_work(&loop, 1)); /* three trials are worth a second one */
    assert_int_equal(loop.gpus[1].lane, 0);
    loop.gpus[1].state = TT__ARRAYS_OPENING;
    assert_false(tt__loop_find_work(&loop, 2));
}

/* GPU 0 lost a trial of lane 0. One other GPU comes at once, and no more. */
static void test_a_lost_trial_calls_one(void **state) {
    (void)state;
    begin();
    add_jobs(0, 1);
    loop.jobs[0].lost_by = 1;
    add_jobs(1, 9);
    assert_false(tt__loop_is_called(&loop, 0));
    assert_true(tt__loop_is_called(&loop, 1));
    assert_true(tt__loop_find_work(&loop, 1));
    assert_int_equal(loop.gpus[1].lane, 0);
    assert_true(tt__loop_is_called(&loop, 2)); /* it may not be able to open the arrays */
    loop.gpus[1].state = TT__ARRAYS_OPENING;
    assert_false(tt__loop_is_called(&loop, 2));
    assert_true(tt__loop_find_work(&loop, 2));
    assert_int_equal(loop.gpus[2].lane, 1);
    loop.gpus[1].given_up = true;
    assert_true(tt__loop_is_called(&loop, 2));
}

/* GPU 1 lost one of each lane, and only GPU 0 is left for both: it does one before it goes to the other. */
static void test_one_call_after_the_other(void **state) {
    (void)state;
    begin();
    add_jobs(0, 1);
    add_jobs(1, 1);
    loop.jobs[0].lost_by = loop.jobs[1].lost_by = 2;
    loop.gpus[2].given_up = true;
    loop.gpus[1].state = TT__ARRAYS_CLOSED;
    for (int done = 0; done < 2; done++) {
        assert_true(tt__loop_find_work(&loop, 0));
        assert_int_equal(loop.gpus[0].lane, !done);
        assert_int_equal(loop.gpus[0].state, done ? TT__ARRAYS_CLOSED : TT__ARRAYS_OPEN);
        loop.jobs[1].state = TT__JOB_DONE;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays_while_there_is_work),
        cmocka_unit_test(test_goes_where_fewest_are),
        cmocka_unit_test(test_a_lost_trial_calls_one),
        cmocka_unit_test(test_one_call_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
