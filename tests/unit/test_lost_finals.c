/* Finals on GPUs that are lost, without any worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include "tuner/gpu_backend/loop.h"

enum { GPUS = 3 };
static tt__loop loop;
static tt__worker workers[GPUS];
static tt__place place;

/* The place's finals are on GPU 1. */
static void begin(tt__place_state state) {
    loop = (tt__loop){.workers = {.n_gpus = GPUS, .n = GPUS, .items = workers}, .places = {&place}};
    place = (tt__place){.state = state, .held = 2};
    loop.gpus[1].place = &place;
}

static tt_status give_up(size_t gpu) {
    return tt__loop_give_up(&loop, gpu, tt__fail(TT_E_CUDA, "it lost 2 trials that others did"));
}

/* Another GPU holds them anew, whatever the GPU is given up for. */
static void test_given_up_while_it_measures(void **state) {
    (void)state;
    begin(TT__PLACE_ON_GPU);
    assert_int_equal(give_up(1), TT_OK);
    assert_int_equal(place.state, TT__PLACE_ASKED);
    assert_int_equal(place.held, 0);
    assert_null(loop.gpus[1].place);
    assert_int_equal(tt__loop_choose_gpu(&loop), 0);
}

/* What has ended is still taken. */
static void test_given_up_afterwards(void **state) {
    (void)state;
    begin(TT__PLACE_DONE);
    assert_int_equal(give_up(1), TT_OK);
    assert_int_equal(place.state, TT__PLACE_DONE);
    assert_int_equal(place.held, 0);
}

static void test_the_last_fails(void **state) {
    (void)state;
    begin(TT__PLACE_ON_GPU);
    loop.gpus[0].given_up = loop.gpus[2].given_up = true;
    assert_int_equal(tt__loop_lost_finals(&loop, 1, tt__fail(TT_E_IO, "the GPU worker died")), TT_OK);
    assert_int_equal(place.state, TT__PLACE_DONE);
    assert_int_equal(place.done.status, TT_E_IO);
    assert_string_equal(place.done.error, "the GPU worker died");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given_up_while_it_measures),
        cmocka_unit_test(test_given_up_afterwards),
        cmocka_unit_test(test_the_last_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
