/* Finals on GPUs that are lost, without any worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/status.h"
#include "kernel/space/space.h"
#include "tuner/backend/gpu/event_loop.h"
#include "tuner/measure/energy.h"

enum { GPUS = 3 };
static tt__loop loop;
static tt__worker workers[GPUS];
static tt__requests requests;
static tt__loop_lane lanes[2];
static tt__lane_finals *const finals = &lanes[1].finals;

/* The finals of lane 1 are on GPU 1. */
static void begin(tt__finals_state state) {
    loop = (tt__loop){.workers = {.n_gpus = GPUS, .n = GPUS, .items = workers, .requests = &requests},
                      .lanes = {&lanes[0], &lanes[1]}};
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

/* Finals of slow kernels may take as long as their least rounds, and trains as long as their launches. */
static void test_the_limit(void **state) {
    (void)state;
    enum { N = 12, TRAIN_LAUNCHES = 24 };
    static const tt__template t;
    static tt__cubin cubin;
    const tt__configuration candidate = {.t = &t};
    for (int trains = 0; trains < 2; trains++) {
        const double lap_s = N * 0.5, train_s = trains ? 5 : 0;
        begin(TT__FINALS_ASKED);
        loop.opts.trial_timeout_s = 10;
        finals->n = N;
        for (size_t i = 0; i < N; i++) {
            finals->c[i] = &candidate;
            finals->cubins[i] = &cubin;
        }
        finals->rounds = (tt__rounds){31, 127, 0.16, 1, false, false};
        finals->lap_us = lap_s * 1e6;
        finals->train_s = train_s;
        loop.gpus[1].state = TT__ARRAYS_OPEN;
        loop.gpus[1].task = 1;
        workers[1] = (tt__worker){.fd = -1, .bell = -1};
        const double now_s = tt__now_s();
        assert_int_equal(tt__loop_feed_finals(&loop), TT_OK);
        assert_int_equal(finals->state, TT__FINALS_ON_GPU);
        const double launches_s = trains * TT__ENERGY_TURNS * TRAIN_LAUNCHES * lap_s;
        assert_true(workers[1].deadline_s - now_s >
                    (31 + 2) * lap_s + launches_s + TT__ENERGY_TURNS * N * train_s);
        workers[1].busy = false;
    }
}

/* It is not to blame for slow kernels, and the others would take as long. */
static void test_late_finals_cost_no_gpu(void **state) {
    (void)state;
    begin(TT__FINALS_ON_GPU);
    loop.opts.trial_timeout_s = 10;
    loop.gpus[1].state = TT__ARRAYS_OPEN;
    finals->n = 2;
    finals->rounds = (tt__rounds){31, 127, 0, 1, false, false};
    const tt__event late = {.kind = TT__EVENT_TIMEOUT, .worker = 1, .reason = "was late"};
    assert_int_equal(tt__loop_lost_gpu(&loop, &late), TT_OK);
    assert_false(loop.gpus[1].given_up);
    assert_int_equal(finals->state, TT__FINALS_DONE);
    assert_int_equal(finals->done.status, TT_E_IO);
    assert_string_equal(finals->done.error,
                        "the measurements took longer than 30 s: a trial verifies the kernel and launches it "
                        "several times: allow some twenty launches with --trial-timeout "
                        "(tt_tune_opts.trial_timeout_s), or try a smaller problem");
}

/* The finals of GPU 1 have ended. */
static void ended(tt_status status) {
    tt__msg_finished m = {.done = {.status = (int)status, .error = "of a test"}};
    loop.workers.payload = (tt__str){.text = (char *)&m, .len = sizeof m};
    assert_int_equal(tt__loop_finished(&loop, 1), TT_OK);
}

static void finish(tt_status status) {
    begin(TT__FINALS_ON_GPU);
    ended(status);
}

static void keep_message(void *user, const char *line) {
    tt__copy(user, TT__REASON_MAX, line);
}

/* A GPU that is late again is given up, and another one holds the finals anew. Finals that end in time
 * clear it, and it stays if the others were late, too. */
static void test_late_again(void **state) {
    (void)state;
    static const struct {
        bool ends, others_are_late, given_up;
    } cases[] = {{false, false, true}, {true, false, false}, {false, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[TT__REASON_MAX] = "";
        begin(TT__FINALS_ON_GPU);
        loop.opts = (tt__backend_gpu_opts){.trial_timeout_s = 10, .on_message = keep_message, .user = said};
        loop.workers.devices[1] = 4;
        finals->n = 3;
        assert_int_equal(tt__loop_late_finals(&loop, 1), TT_OK);
        assert_int_equal(finals->state, TT__FINALS_DONE);
        loop.gpus[0].late = loop.gpus[2].late = cases[i].others_are_late;
        finals->state = TT__FINALS_ON_GPU;
        if (cases[i].ends)
            ended(TT_OK);
        finals->state = TT__FINALS_ON_GPU;
        assert_int_equal(tt__loop_late_finals(&loop, 1), TT_OK);
        assert_int_equal(loop.gpus[1].given_up, cases[i].given_up);
        assert_int_equal(finals->state, cases[i].given_up ? TT__FINALS_ASKED : TT__FINALS_DONE);
        assert_string_equal(said, cases[i].given_up
                                      ? "device 4 is left out from now on, the others go on: its last 2 "
                                        "finals took too long, the latest more than 30 s"
                                      : "");
    }
}

/* So that each GPU has been late once before one of slow kernels is late again. */
static void test_the_late_come_last(void **state) {
    (void)state;
    begin(TT__FINALS_ASKED);
    loop.gpus[1].state = TT__ARRAYS_OPEN;
    loop.gpus[1].task = 1;
    loop.gpus[1].holds_finals = false;
    assert_int_equal(tt__loop_choose_gpu(&loop, 1), 1);
    for (int late = 1; late >= 0; late--) {
        loop.gpus[1].late = 1;
        loop.gpus[0].late = loop.gpus[2].late = late;
        assert_int_equal(tt__loop_choose_gpu(&loop, 1), 0);
        loop.gpus[0].late = 2;
        assert_int_equal(tt__loop_choose_gpu(&loop, 1), late ? 1 : 2);
    }
}

/* Others would lack as much. A GPU whose context is lost is given up. */
static void test_failed_finals(void **state) {
    (void)state;
    finish(TT_E_NO_MEMORY);
    assert_false(loop.gpus[1].given_up);
    assert_int_equal(finals->done.status, TT_E_NO_MEMORY);
    assert_int_equal(finals->state, TT__FINALS_DONE);
    finish(TT_E_CUDA);
    assert_true(loop.gpus[1].given_up);
    assert_int_equal(finals->state, TT__FINALS_ASKED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given_up_while_it_measures),
        cmocka_unit_test(test_given_up_afterwards),
        cmocka_unit_test(test_the_last_fails),
        cmocka_unit_test(test_the_limit),
        cmocka_unit_test(test_late_finals_cost_no_gpu),
        cmocka_unit_test(test_late_again),
        cmocka_unit_test(test_the_late_come_last),
        cmocka_unit_test(test_failed_finals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
