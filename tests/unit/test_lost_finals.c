/* Finals on GPUs that are lost, without any worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include "tuner/gpu_backend/finals.h"
#include "tuner/gpu_backend/gpus.h"

enum { GPUS = 3 };
static tt__loop loop;
static tt__worker workers[GPUS];
static tt__loop_lane lanes[2];
static tt__lane_finals *const finals = &lanes[1].finals;

/* The finals of lane 1 are on GPU 1. */
static void begin(tt__finals_state state) {
    loop =
        (tt__loop){.workers = {.n_gpus = GPUS, .n = GPUS, .items = workers}, .lanes = {&lanes[0], &lanes[1]}};
    lanes[1] = (tt__loop_lane){.task.number = 1, .finals = {.state = state, .held = 2}};
    loop.gpus[1].lane = 1;
    loop.gpus[1].holds_finals = true;
}

static tt_status give_up(size_t gpu) {
    return tt__loop_give_up(&loop, gpu, tt__fail(TT_E_CUDA, "it lost 2 trials that others did"));
}

/* Another GPU holds them anew, whatever the GPU is given up for. */
static void test_given_up_while_it_measures(void **state) {
    (void)state;
    begin(TT__FINALS_ON_GPU);
    assert_int_equal(give_up(1), TT_OK);
    assert_int_equal(finals->state, TT__FINALS_ASKED);
    assert_int_equal(finals->held, 0);
    assert_false(loop.gpus[1].holds_finals);
    assert_int_equal(tt__loop_choose_gpu(&loop, 1), 0);
}

/* What has ended is still taken. */
static void test_given_up_afterwards(void **state) {
    (void)state;
    begin(TT__FINALS_DONE);
    assert_int_equal(give_up(1), TT_OK);
    assert_int_equal(finals->state, TT__FINALS_DONE);
    assert_int_equal(finals->held, 0);
}

static void test_the_last_fails(void **state) {
    (void)state;
    begin(TT__FINALS_ON_GPU);
    loop.gpus[0].given_up = loop.gpus[2].given_up = true;
    assert_int_equal(tt__loop_lost_finals(&loop, 1, tt__fail(TT_E_IO, "the GPU worker died")), TT_OK);
    assert_int_equal(finals->state, TT__FINALS_DONE);
    assert_int_equal(finals->done.status, TT_E_IO);
    assert_string_equal(finals->done.error, "the GPU worker died");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given_up_while_it_measures),
        cmocka_unit_test(test_given_up_afterwards),
        cmocka_unit_test(test_the_last_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
