/*
 * Before a timed launch: caches are flushed or warm, buffers rotate, and the queue is empty.
 */
#include "measure_fixture.h"

/* Before each, another kernel writes twice the cache. */
static void test_cold(void **state) {
    (void)state;
    bench b;
    CUdeviceptr at[LOG_MAX] = {0};
    size_t n = 0;
    seen.has_gate = true;
    open(&b, "transpose", TT__OUT, false);
    measure(&b, THINGS);
    expect_calls("GWEKES", THINGS, "");
    assert_int_equal(b.pool.flush_bytes, 2 * L2_BYTES);
    for (int i = 0; i < THINGS; i++)
        assert_float_equal(b.us[i], 1 + i, 1e-3);
    for (size_t i = 0; i < seen.n; i++)
        if (seen.calls[i] == 'K') {
            assert_true(seen.dst[i] >= seen.src[i] + ARRAY_BYTES && seen.src[i] % 512 == 0);
            assert_true(seen.src[i] >= memory + b.pool.slots_at);
            assert_true(seen.dst[i] + ARRAY_BYTES <= memory + seen.allocated);
            at[n++] = seen.src[i];
        } else if (seen.calls[i] == 'W') {
            assert_int_equal(seen.dst[i], memory + b.pool.flush_at);
            assert_int_equal(seen.n_words[i] * 4, b.pool.flush_bytes);
            assert_true(b.pool.flush_at + b.pool.flush_bytes <= b.pool.slots_at);
        }
    /* A place comes again when so much else has been touched as fills the cache five times. */
    size_t turn = 1;
    while (at[turn] != at[0])
        turn++;
    assert_true((turn - 1) * 2 * ARRAY_BYTES >= 5 * L2_BYTES && turn == b.pool.slots.n);
    close(&b);
}

/* Arrays begin as far from a multiple of 16 as they shall. */
static void test_offsets(void **state) {
    (void)state;
    bench b;
    open(&b, "transpose", TT__OUT, false);
    b.things[0].offset = 4;
    b.things[1].offset = 8;
    measure(&b, 2);
    for (size_t i = 0, offset = 4; i < seen.n; i++)
        if (seen.calls[i] == 'K') {
            assert_int_equal(seen.src[i] % 16, offset);
            assert_int_equal(seen.dst[i] % 16, offset);
            assert_true(seen.src[i] + ARRAY_BYTES <= seen.dst[i]);
            assert_true(seen.dst[i] + ARRAY_BYTES <=
                        memory + b.pool.slots_at + offset / 4 * b.pool.slots.stride);
            offset *= 2;
        }
    close(&b);
}

/* Makes a graph of the thing in a pool of problems in graphs, and times it. Returns its number of launches.
 */
static int measure_graph(bench *b, bool warm, tt__launch_graph *graph, CUresult *failed) {
    open(b, "transpose", TT__OUT, warm);
    b->pool.in_graph = true;
    b->things[0].graph = graph;
    assert_int_equal(tt__pool_time(&b->pool, b->things, 1, false, b->us, failed), TT_OK);
    return graph->n;
}

/* A sample is a graph of launches, each in the next slot if they are cold. It is made once. */
static void test_graph(void **state) {
    (void)state;
    for (int warm = 0; warm < 2; warm++) {
        bench b;
        tt__launch_graph graph = {0};
        CUresult failed;
        char expected[LOG_MAX];
        const char *lone = warm ? "GEKEEKESGEKEEKES" : "GWEKESGWEKES",
                   *timed = warm ? "SGEQEEQES" : "SGWEQES";
        seen.has_gate = true;
        const int n = measure_graph(&b, warm, &graph, &failed);
        assert_int_equal(failed, CUDA_SUCCESS);
        assert_int_equal(n, 64);
        /* two launches by themselves; the capture; then the graph is timed */
        snprintf(expected, sizeof expected, "%s%.*s%s", lone, n,
                 "KKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK", timed);
        assert_string_equal(seen.calls, expected);
        assert_float_equal(b.us[0], 10, 1e-3);
        for (size_t i = 0; i < (size_t)n; i++)
            assert_int_equal(seen.src[strlen(lone) + i],
                             memory + b.pool.slots_at + i % b.pool.slots.n * b.pool.slots.stride);
        assert_true(warm ? b.pool.slots.n == 1 : b.pool.slots.n > 20);
        measure(&b, 1);
        assert_string_equal(seen.calls, timed + 1);
        tt__launch_graph_free(&graph, &driver);
        assert_int_equal(seen.n_graphs + seen.n_captured, 0);
        close(&b);
    }
}

/* A graph of slow launches is short. One that the driver refuses fails the launch, and the capture ends. */
static void test_graph_of_few(void **state) {
    (void)state;
    bench b;
    tt__launch_graph graph = {0};
    CUresult failed;
    open(&b, "transpose", TT__OUT, false);
    b.pool.in_graph = true;
    b.things[0].graph = &graph;
    seen.n_kernels = 499; /* the next one takes 500 us */
    assert_int_equal(tt__pool_time(&b.pool, b.things, 1, false, b.us, &failed), TT_OK);
    assert_int_equal(failed, CUDA_SUCCESS);
    assert_int_equal(graph.n, 3);
    assert_float_equal(b.us[0], 10, 1e-3);
    tt__launch_graph_free(&graph, &driver);
    seen.n_kernels = 0;
    seen.fails_at = 5;
    assert_int_equal(tt__pool_time(&b.pool, b.things, 1, false, b.us, &failed), TT_OK);
    assert_int_equal(failed, CUDA_ERROR_INVALID_VALUE);
    assert_false(seen.captures);
    assert_null(graph.exec);
    assert_int_equal(seen.n_graphs + seen.n_captured, 0);
    close(&b);
}

/* What is compared has graphs of the same number of launches, and what is slow has none. */
static void test_graphs_of_some(void **state) {
    (void)state;
    bench b;
    tt__launch_graph graphs[2] = {{0}};
    CUresult failed;
    open(&b, "transpose", TT__OUT, false);
    b.pool.in_graph = true;
    for (int i = 0; i < 2; i++)
        b.things[i].graph = &graphs[i];
    seen.n_kernels = 664; /* 665 and 667 us: by themselves they would have 3 and 2 launches */
    assert_int_equal(tt__pool_time(&b.pool, b.things, 2, true, b.us, &failed), TT_OK);
    assert_int_equal(failed, CUDA_SUCCESS);
    assert_int_equal(graphs[0].n, 3);
    assert_int_equal(graphs[1].n, 3);
    for (int i = 0; i < 2; i++)
        tt__launch_graph_free(&graphs[i], &driver);
    seen.n_kernels = 1999;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tt__pool_time(&b.pool, b.things, 2, true, b.us, &failed), TT_OK);
        assert_int_equal(failed, CUDA_SUCCESS);
        assert_null(graphs[0].exec);
        assert_int_equal(graphs[0].n, 1);
        assert_float_equal(b.us[0], again ? 2004 : 2002, 1e-3);
    }
    assert_int_equal(seen.n_graphs + seen.n_captured, 0);
    close(&b);
}

/* The first of a train runs before it is timed, and all on the same buffers. */
static void test_warm(void **state) {
    (void)state;
    bench b;
    seen.has_gate = true;
    open(&b, "transpose", TT__OUT, true);
    assert_int_equal(b.pool.flush_bytes, 0);
    measure(&b, 10);
    expect_calls("GEKEEKEEKEEKEEKEEKEEKEEKES", 1, "GEKEEKEEKEEKES");
    for (int i = 0; i < 10; i++)
        assert_float_equal(b.us[i], i < 7 ? 2 + i : 3 + i, 1e-3); /* without the first of each train */
    for (size_t i = 0; i < seen.n; i++)
        assert_true(seen.calls[i] != 'K' || seen.src[i] == memory);
    close(&b);
}

/* A kernel of one's own gets what it changes as it was, and out of the cache again. */
static void test_renews(void **state) {
    (void)state;
    bench b;
    open(&b, "scale", TT__INOUT, false);
    measure(&b, 4);
    expect_calls("CWEKES", 4, "");
    for (size_t i = 0; i < seen.n; i++)
        if (seen.calls[i] == 'C') { /* for the next launch, from the original contents */
            assert_int_equal(seen.dst[i], seen.dst[i + 3]);
            assert_int_equal(seen.src[i], 16384);
        }
    close(&b);
    open(&b, "scale", TT__INOUT, true);
    measure(&b, 3);
    expect_calls("CEKECEKECEKECEKES", 1, "");
    close(&b);
    open(&b, "transpose_in_place", TT__INOUT, false); /* of a matrix the values do not matter */
    measure(&b, 1);
    expect_calls("WEKES", 1, "");
    close(&b);
}

/* The copy that a kernel of one's own is compared with has buffers of its own, and changes nothing else. */
static void test_copies(void **state) {
    (void)state;
    bench b;
    open(&b, "scale", TT__INOUT, false);
    b.things[1].copy = b.things[3].copy = true;
    measure(&b, 4);
    expect_calls("CWEKESWEKES", 2, "");
    CUdeviceptr first = 0, kernels[2] = {0};
    size_t n = 0;
    for (size_t i = 0; i < seen.n; i++)
        if (seen.calls[i] == 'K' && ++n % 2 == 0) {
            assert_true(seen.src[i] >= memory && seen.src[i] != first);
            assert_true(seen.dst[i] >= seen.src[i] + COPY_BYTES);
            assert_true(seen.dst[i] + COPY_BYTES <= memory + b.pool.flush_at);
            first = seen.src[i];
        } else if (seen.calls[i] == 'K') {
            assert_true(seen.src[i] >= memory + b.pool.slots_at);
            kernels[n / 2] = seen.src[i];
        } else if (seen.calls[i] == 'W') {
            assert_true(seen.dst[i] >= memory + b.pool.flush_at &&
                        seen.dst[i] + b.pool.flush_bytes <= memory + b.pool.slots_at);
        }
    assert_int_equal(kernels[1], kernels[0] + b.pool.slots.stride); /* the next slot */
    close(&b);
    open(&b, "scale", TT__INOUT, true);
    for (int i = 1; i < 6; i++)
        b.things[i].copy = true;
    measure(&b, 6); /* each kind is warmed, and a copy is one place in the train: two, two, one, one */
    expect_calls("CEKECEKEEKEEKEEKEEKES", 1, "EKEEKEEKES");
    close(&b);
}

/* A refused launch ends the measurement, and opens the gate. */
static void test_refused(void **state) {
    (void)state;
    bench b;
    CUresult failed;
    seen.has_gate = true;
    open(&b, "transpose", TT__OUT, false);
    seen.fails_at = 6;
    assert_int_equal(tt__pool_time(&b.pool, b.things, THINGS, false, b.us, &failed), TT_OK);
    assert_int_equal(failed, CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(seen.n_kernels, 6);
    assert_int_equal(seen.gate, 1);
    assert_int_equal(seen.calls[seen.n - 1], 'S');
    assert_true(b.us[4] > 0 && b.us[5] == 0 && b.us[6] == 0);
    close(&b);
    for (int warm = 0; warm < 2; warm++) { /* if buffers cannot be restored, there is no launch */
        seen.has_gate = true;
        open(&b, warm ? "scale" : "scale", TT__INOUT, warm);
        seen.refuses_copies = true;
        assert_int_equal(tt__pool_time(&b.pool, b.things, 2, false, b.us, &failed), TT_OK);
        assert_int_equal(failed, CUDA_ERROR_INVALID_VALUE);
        expect_calls("GS", 1, "");
        assert_int_equal(seen.gate, 1);
        close(&b);
    }
}

/* Several kernels are timed as one, and are as many places in a train; one that takes more runs alone. */
static void test_passes(void **state) {
    (void)state;
    bench b;
    open(&b, "scale", TT__OUT, false);
    b.kernel.n_passes = b.launch.n_passes = 3;
    for (int i = 1; i < 3; i++) {
        b.kernel.fns[i] = AT('K');
        b.launch.passes[i] = b.launch.passes[0];
    }
    measure(&b, 3);
    expect_calls("WEKKKES", 3, "");
    close(&b);
    open(&b, "scale", TT__INOUT, true);
    b.kernel.n_passes = b.launch.n_passes = 4;
    for (int i = 1; i < 4; i++) {
        b.kernel.fns[i] = AT('K');
        b.launch.passes[i] = b.launch.passes[0];
    }
    measure(&b, 2);
    expect_calls("CEKKKKECEKKKKES", 2, "");
    close(&b);
}

/* Notes the operands, takes as many us as it puts kernels into the queue, and refuses when told. */
static CUresult enqueue(const void *self, void *const *operands, CUstream stream) {
    const int *n = self;
    (void)stream;
    if (*n == 0)
        return CUDA_ERROR_UNKNOWN;
    seen.src[seen.n] = *(CUdeviceptr *)operands[0];
    seen.dst[seen.n] = *(CUdeviceptr *)operands[1];
    seen.us += (size_t)*n;
    saw('Q');
    return CUDA_SUCCESS;
}

/* Other calls are timed as kernels are: flushed and alone, or in a train with room for them. */
static void test_enqueued(void **state) {
    (void)state;
    static const int counts[] = {3, 5, 0};
    bench b;
    CUresult failed;
    seen.has_gate = true;
    open(&b, "transpose", TT__OUT, false);
    for (int i = 0; i < 2; i++)
        b.things[2 * i] = (tt__timed){.enqueue = enqueue, .self = &counts[i], .n_enqueued = counts[i]};
    measure(&b, 3);
    expect_calls("GWEQESGWEKESGWEQES", 1, "");
    assert_float_equal(b.us[0], 3, 1e-3);
    assert_float_equal(b.us[2], 5, 1e-3);
    assert_true(seen.src[3] >= memory + b.pool.slots_at && seen.dst[3] >= seen.src[3] + ARRAY_BYTES);
    assert_int_equal(seen.src[15], seen.src[3] + 2 * b.pool.slots.stride);
    b.things[1] = (tt__timed){.enqueue = enqueue, .self = &counts[2], .n_enqueued = 1};
    assert_int_equal(tt__pool_time(&b.pool, b.things, 3, true, b.us, &failed), TT_OK);
    assert_int_equal(failed, CUDA_ERROR_UNKNOWN);
    assert_int_equal(seen.gate, 1);
    close(&b);
    seen.has_gate = true;
    open(&b, "transpose", TT__OUT, true);
    for (int i = 0; i < 2; i++)
        b.things[2 * i] = (tt__timed){.enqueue = enqueue, .self = &counts[i], .n_enqueued = counts[i]};
    measure(&b, 3); /* 3 + 3 + 1 kernels, and 5 more would be too many */
    expect_calls("GEQEEQEEKESGEQEEQES", 1, "");
    close(&b);
}

/* The driver has room for so many launches in its queue. If the stream waited for its gate, a launch with
 * more would wait for room that never comes. */
static void test_loops_need_no_gate(void **state) {
    (void)state;
    static const int counts[] = {512, 513, 4096};
    bench b;
    seen.has_gate = true;
    open(&b, "transpose", TT__OUT, false);
    for (int i = 0; i < 3; i++)
        b.things[i] = (tt__timed){.enqueue = enqueue, .self = &counts[i], .n_enqueued = counts[i]};
    seen.has_gate = false; /* which stays open */
    measure(&b, 3);
    expect_calls("GWEQESWEQESWEQES", 1, "");
    close(&b);
}

static CUresult set(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream) {
    (void)dst, (void)value, (void)n, (void)stream;
    return CUDA_SUCCESS;
}

static CUresult read_sum(void *dst, CUdeviceptr src, size_t n) {
    (void)src;
    memset(dst, 1, n);
    return CUDA_SUCCESS;
}

/* What no array covers is filled, and added up, by a launch for each gap, however many slots there are. */
static void test_guards_many_slots(void **state) {
    (void)state;
    tt__driver with_sums = driver;
    bench b;
    bool kept = false;
    with_sums.cuMemsetD8Async = set;
    with_sums.cuMemcpyDtoH = read_sum;
    array_bytes = 500;
    open(&b, "transpose", TT__OUT, false);
    array_bytes = ARRAY_BYTES;
    assert_true(b.pool.slots.n > 1000);
    b.pool.cu = b.verifier.cu = &with_sums;
    b.verifier.key = 1;
    b.verifier.fill_each = AT('F');
    b.verifier.sum = AT('A');
    assert_int_equal(tt__pool_guard(&b.pool), TT_OK);
    assert_int_equal(tt__pool_guarded(&b.pool, &kept), TT_OK);
    assert_true(kept);
    expect_calls("FFAASAAS", 1, "");
    const CUdeviceptr src = memory + b.pool.slots_at, dst = src + b.pool.offsets[1];
    assert_int_equal(seen.dst[0], src + 500); /* to where the next array begins */
    assert_int_equal(seen.n_words[0] * 4, b.pool.offsets[1] - 500);
    assert_int_equal(seen.dst[1], dst + 500);
    assert_int_equal(seen.dst[1] + (CUdeviceptr)seen.n_words[1] * 4, src + b.pool.slots.stride);
    close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cold),
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_warm),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_graph_of_few),
        cmocka_unit_test(test_graphs_of_some),
        cmocka_unit_test(test_renews),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_enqueued),
        cmocka_unit_test(test_loops_need_no_gate),
        cmocka_unit_test(test_guards_many_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
