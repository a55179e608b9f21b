/* A pool of the measurements on a driver that only keeps a list. */
#ifndef TT_TESTS_MEASURE_FIXTURE_H
#define TT_TESTS_MEASURE_FIXTURE_H

#include "stream_fixture.h"

#include "tuner/measure/measure.h"

enum { ARRAY_BYTES = 195 * 512, COPY_BYTES = 60000, THINGS = 32 };
static size_t array_bytes = ARRAY_BYTES, copy_bytes = COPY_BYTES;

typedef struct bench {
    tt__verifier verifier;
    tt__bench_pool pool;
    tt__kernel kernel;
    tt__launch launch;
    tt__timed things[THINGS];
    float us[THINGS];
} bench;

/* src to dst; `second` is the direction of dst. A transpose only moves bytes. Begins a new list. */
static void open(bench *b, const char *op, tt__direction second, bool warm) {
    bool has_gate = seen.has_gate;
    size_t available = seen.available, room = seen.room;
    memset(&seen, 0, sizeof seen);
    seen.has_gate = has_gate;
    seen.available = available;
    seen.room = room;
    *b = (bench){.kernel = {.n_passes = 1, .fns = {AT('K')}},
                 .launch = {.n_passes = 1,
                            .passes = {{{1, 1, 1}, {32, 1, 1}, 0, 0, 2}},
                            .args = {{.operand = 0}, {.operand = 1}}}};
    b->verifier = (tt__verifier){
        .cu = &driver,
        .fill = AT('W'),
        .spread = AT('P'),
        .work = {.n = 2,
                 .align = 16,
                 .warm = warm,
                 .moves = strncmp(op, "transpose", 9) == 0,
                 .arrays = {{.direction = TT__IN, .elem_size = 4}, {.direction = second, .elem_size = 4}}},
        .areas = {{.live = 4096}, {.live = 8192, .before = 16384}}};
    for (int i = 0; i < 2; i++)
        b->verifier.work.arrays[i].count = (int64_t)array_bytes / 4;
    if (second == TT__INOUT)
        b->verifier.work.copy_bytes = (int64_t)copy_bytes;
    assert_int_equal(tt__pool_open(&b->pool, &b->verifier, &gpu), TT_OK);
    if (!available)
        assert_int_equal(seen.allocated, tt__pool_bytes(&b->verifier.work, &gpu));
    for (int i = 0; i < THINGS; i++)
        b->things[i] = (tt__timed){.kernel = &b->kernel, .launch = &b->launch};
    seen.n = 0;
}

static void measure(bench *b, int n) {
    CUresult failed;
    memset(seen.calls, 0, sizeof seen.calls);
    seen.n = 0;
    assert_int_equal(tt__pool_time(&b->pool, b->things, n, false, b->us, &failed), TT_OK);
    assert_int_equal(failed, CUDA_SUCCESS);
}

static void close(bench *b) {
    tt__pool_close(&b->pool);
    assert_int_equal(seen.n_events, 0);
    memset(&seen, 0, sizeof seen);
}

/* Each cold launch, and each warm train, has one gate before it and one synchronization after it. */
static void expect_calls(const char *once, size_t times, const char *last) {
    char expected[LOG_MAX] = "";
    for (size_t i = 0; i < times; i++)
        strcat(expected, once);
    strcat(expected, last);
    assert_string_equal(seen.calls, expected);
}

#endif
