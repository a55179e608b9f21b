/* bench-peers times through the tuner's pool: what precedes a launch, graphs, and launches that are refused.
 */
#include "stream_fixture.h"

#include <unistd.h>

#include "bench/peers.h"

enum { N = 9, ROUNDS = 2, ALL_ROUNDS = ROUNDS + 2, SIDE = 160, OF_A_GRAPH = 128 };
static const size_t array_bytes = (size_t)SIDE * SIDE * 4;

/* A variant: it takes so many us, and is refused or waits for the gate once. */
typedef struct fake {
    size_t us, launches, refused_at, waits_at; /* from 1; 0: never */
} fake;

static struct {
    bench b;
    fake fakes[N];
    bench_variant variants[N];
    const bench_variant *lined_up[N];
    bool in_place[N];
    float us[N * ROUNDS];
    int failed;
} now;

static tt_status fire(const void *self, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    (void)stream;
    fake *f = (fake *)self;
    if (++f->launches == f->refused_at)
        return tt__fail(TT_E_UNSUPPORTED, "refused");
    for (; f->launches == f->waits_at && *(volatile uint32_t *)&seen.gate == 0; usleep(1000))
        seen.has_gate = false; /* from now on */
    seen.src[seen.n] = src;
    seen.dst[seen.n] = dst;
    seen.us += f->us;
    saw('K');
    return TT_OK;
}

static void begin(bool has_gate, uint64_t l2_bytes, bool warm) {
    bench_case c = {.public = TT_INIT(tt_problem)};
    c.public.rows = c.public.cols = SIDE;
    memset(&seen, 0, sizeof seen);
    memset(&now, 0, sizeof now);
    seen.has_gate = has_gate;
    seen.available = (size_t)1 << 30;
    now.b = (bench){.cu = &driver, .stream = AT(5)};
    now.b.gpu.l2_bytes = (int64_t)l2_bytes;
    for (int i = 0; i < N; i++) {
        now.fakes[i].us = (size_t)i + 1;
        now.variants[i] = (bench_variant){.launch = fire, .self = &now.fakes[i]};
        now.lined_up[i] = &now.variants[i];
    }
    c.public.warm = warm;
    assert_int_equal(bench_matrix(&c.problem, &c.public), TT_OK);
    assert_int_equal(bench_timer_open(&now.b.timer, &now.b, AT('W')), TT_OK);
    assert_int_equal(bench_timer_case(now.b.timer, &c), TT_OK);
    memset(seen.calls, 0, sizeof seen.calls);
    seen.n = 0;
}

static void end(void) {
    bench_timer_close(&now.b.timer);
    assert_int_equal(seen.n_events, 0);
    assert_int_equal(seen.n_arrays, 0);
    assert_int_equal(seen.n_graphs + seen.n_captured, 0);
}

static tt_status run(int n, bench_regime regime) {
    return bench_rounds(now.b.timer, now.lined_up, now.in_place, n, ROUNDS, regime, now.us, &now.failed);
}

/* All are launched once, then come the rounds. */
static void expect(const char *first, const char *round) {
    char all[LOG_MAX] = "";
    strcat(all, first);
    for (int r = 0; r < ALL_ROUNDS; r++)
        strcat(all, round);
    assert_string_equal(seen.calls, all);
}

static void expect_times(int n) {
    assert_int_equal(now.failed, -1);
    for (int i = 0; i < n * ROUNDS; i++)
        assert_float_equal(now.us[i], (i / ROUNDS + 1), 1e-3);
}

/* Each is flushed and runs alone after its gate, on arrays that were not touched for long. */
static void test_cold(void **state) {
    (void)state;
    begin(true, L2_BYTES, false);
    now.in_place[1] = true;
    assert_int_equal(run(3, BENCH_COLD), TT_OK);
    expect("KKKS", "GWEKESGWEKESGWEKES");
    expect_times(3);
    CUdeviceptr last = 0;
    size_t in_place = 0;
    for (size_t i = 4; i < seen.n; i++)
        if (seen.calls[i] == 'W') {
            assert_int_equal(seen.dst[i], memory);
            assert_int_equal(seen.n_words[i] * 4, 2 * L2_BYTES);
        } else if (seen.calls[i] == 'K') {
            assert_true(seen.src[i] >= memory + 2 * L2_BYTES && seen.src[i] != last);
            assert_true(seen.dst[i] == seen.src[i] || seen.dst[i] >= seen.src[i] + array_bytes);
            in_place += seen.dst[i] == seen.src[i];
            last = seen.src[i];
        }
    assert_int_equal(in_place, ALL_ROUNDS);
    end();
}

/* Trains of seven and two, always on the same arrays. The first of a train is launched once before it is
 * timed. */
static void test_warm(void **state) {
    (void)state;
    begin(true, L2_BYTES, true);
    assert_int_equal(run(N, BENCH_WARM), TT_OK);
    expect("KKKKKKKKKS", "GEKEEKEEKEEKEEKEEKEEKEEKESGEKEEKEEKES");
    expect_times(N);
    for (size_t i = 0; i < seen.n; i++)
        assert_true(seen.calls[i] != 'K' || seen.src[i] == memory);
    end();
}

/* A graph of many launches is timed as one launch, alone. A cold one is flushed. A warm one runs once before
 * it is timed. */
static void test_graphs(void **state) {
    (void)state;
    for (bench_regime regime = BENCH_GRAPH_COLD; regime <= BENCH_GRAPH_WARM; regime++) {
        const bool warm = regime == BENCH_GRAPH_WARM;
        char first[2 * OF_A_GRAPH + 4] = "";
        memset(first, 'K', 2 * OF_A_GRAPH + 1);
        first[OF_A_GRAPH] = 'Q';
        begin(true, L2_BYTES, warm);
        assert_int_equal(bench_launches(regime), OF_A_GRAPH);
        assert_int_equal(run(2, regime), TT_OK);
        expect(strcat(first, "QS"), warm ? "GEQEEQESGEQEEQES" : "GWEQESGWEQES");
        expect_times(2);
        for (size_t i = 1; i < OF_A_GRAPH; i++)
            assert_int_equal(seen.src[i] == seen.src[i - 1], warm);
        seen.n = 0;
        seen.refuses_graph = 2;
        assert_int_equal(run(2, regime), TT_OK);
        assert_int_equal(now.failed, 1);
        end();
    }
}

/* Neither a gate nor a cache that is known of is needed. */
static void test_without(void **state) {
    (void)state;
    begin(false, L2_BYTES, false);
    assert_int_equal(run(2, BENCH_COLD), TT_OK);
    expect("KKS", "WEKESWEKES");
    expect_times(2);
    end();
    begin(true, 0, false);
    assert_int_equal(run(2, BENCH_COLD), TT_OK);
    expect("KKS", "GEKESGEKES");
    end();
}

/* The timer says which is refused, at its first launch, later, or when it warms a train, and the gate is open
 * again. */
static void test_refused(void **state) {
    (void)state;
    for (size_t at = 1; at <= 4; at++)
        for (int warm = 0; warm < 2; warm++)
            for (int who = 0; who < 3; who++) {
                begin(true, L2_BYTES, warm);
                now.fakes[who].refused_at = at;
                assert_int_equal(run(3, warm ? BENCH_WARM : BENCH_COLD), TT_OK);
                assert_int_equal(now.failed, who);
                assert_int_equal(seen.gate, 1);
                assert_string_equal(tt_last_error(), "refused");
                end();
            }
}

/* A flush that fails is no variant's failure. */
static void test_no_flush(void **state) {
    (void)state;
    begin(true, L2_BYTES, false);
    seen.refuses_writers = true;
    assert_int_equal(run(3, BENCH_COLD), TT_E_CUDA);
    assert_int_equal(now.failed, -1);
    assert_int_equal(seen.gate, 1);
    assert_non_null(strstr(tt_last_error(), "measuring"));
    end();
}

/* A launch that waits for those before it gets the gate opened, and the next do without until told. */
static void test_waits(void **state) {
    (void)state;
    begin(true, L2_BYTES, false);
    now.fakes[0].waits_at = 2;
    assert_int_equal(run(1, BENCH_COLD), TT_OK);
    assert_string_equal(seen.calls, "KSGWEKESWEKESWEKESWEKES");
    expect_times(1);
    bench_gate_again(now.b.timer);
    seen.has_gate = true;
    seen.n = 0;
    memset(seen.calls, 0, sizeof seen.calls);
    assert_int_equal(run(1, BENCH_COLD), TT_OK);
    expect("KS", "GWEKES");
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cold),    cmocka_unit_test(test_warm),    cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_without), cmocka_unit_test(test_refused), cmocka_unit_test(test_no_flush),
        cmocka_unit_test(test_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
