/* Where the arrays of a measurement lie, how many places large ones have, and what they hold. */
#include "measure_fixture.h"

/* A large array is its own flush. Even so there are several, an odd number of GiB apart, within half of the
 * free memory. */
static void test_how_many_places(void **state) {
    (void)state;
    const size_t mib = (size_t)1 << 20, gib = (size_t)1 << 30;
    const struct {
        size_t bytes, room, n, stride;
    } cases[] = {
        {256 * mib, 100 * gib, 4, gib},
        {256 * mib, 3 * gib + 256 * mib, 4, gib},
        {256 * mib, 3 * gib + 256 * mib - 1, 3, gib},
        {256 * mib, gib, 1, 256 * mib},
        {gib, 100 * gib, 4, gib},
        {gib + 512, 100 * gib, 4, 3 * gib},
        {4 * gib, 100 * gib, 4, 5 * gib},
        {16 * gib, 40 * gib, 2, 17 * gib},
        {16 * gib, 0, 1, 16 * gib},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__slots s = tt__slots_for(cases[i].bytes, &gpu, false, cases[i].room);
        assert_int_equal(s.n, cases[i].n);
        assert_int_equal(s.bytes, cases[i].bytes);
        assert_int_equal(s.stride, cases[i].stride);
        assert_true(s.are_places == (s.n > 1));
        assert_int_equal(tt__slots_for(cases[i].bytes, &gpu, true, cases[i].room).n, 1);
    }
    tt__slots small = tt__slots_for(5 * L2_BYTES - 512, &gpu, false, 0);
    assert_true(small.n == 3 && !small.are_places && small.stride == small.bytes);
    /* Arrays of less than 256 MB have up to 32 places in an eighth of the room, side by side. */
    small = tt__slots_for(256 * mib - 512, &gpu, false, 100 * gib);
    assert_true(small.n == 32 && !small.are_places && small.stride == small.bytes);
    assert_int_equal(tt__slots_for(128 * mib, &gpu, false, 9 * gib).n, 9);
    assert_int_equal(tt__slots_for(255 * mib, &gpu, false, gib).n, 1);
    assert_int_equal(tt__slots_for(L2_BYTES, &gpu, false, 9 * L2_BYTES).n, 7);
    /* Of a GPU with a larger cache they are no flush of their own. */
    assert_false(tt__slots_for(256 * mib, &(tt__gpu){.l2_bytes = 100 << 20}, false, 100 * gib).are_places);
}

/* One kernel goes round the places; of several that are compared each gets the same, and the next round the
 * next. */
static void test_places(void **state) {
    (void)state;
    bench b;
    CUdeviceptr at[LOG_MAX] = {0};
    CUresult failed;
    size_t n = 0;
    array_bytes = (size_t)200 << 20;
    seen.available = (size_t)100 << 30;
    open(&b, "transpose", TT__OUT, false);
    assert_true(b.pool.slots.are_places && b.pool.slots.n == 4);
    assert_int_equal(seen.allocated, b.pool.slots_at + 3 * b.pool.slots.stride + b.pool.slots.bytes);
    assert_int_equal(tt__pool_time(&b.pool, b.things, 6, false, b.us, &failed), TT_OK);
    for (int round = 0; round < 5; round++)
        assert_int_equal(tt__pool_time(&b.pool, b.things, 6, true, b.us, &failed), TT_OK);
    assert_int_equal(tt__pool_time(&b.pool, b.things, 1, false, b.us, &failed), TT_OK);
    for (size_t i = 0; i < seen.n; i++)
        if (seen.calls[i] == 'K')
            at[n++] = (seen.src[i] - memory - b.pool.slots_at) / b.pool.slots.stride;
    assert_int_equal(n, 6 + 5 * 6 + 1);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(at[i], i < 6 ? i % 4 : (i / 6 + 1) % 4);
    close(&b);
    array_bytes = ARRAY_BYTES;
    open(&b, "transpose", TT__OUT, false); /* small ones would find each other's in the cache */
    assert_int_equal(tt__pool_time(&b.pool, b.things, 6, true, b.us, &failed), TT_OK);
    n = 0;
    for (size_t i = 0; i < seen.n; i++)
        if (seen.calls[i] == 'K')
            assert_int_equal(seen.src[i], memory + b.pool.slots_at + n++ * b.pool.slots.stride);
    assert_int_equal(n, 6);
    close(&b);
}

/* All that is read holds something, and every slot what the verifier's arrays do. */
static void test_fill(void **state) {
    (void)state;
    bench b;
    for (int large = 0; large < 2; large++) {
        array_bytes = large ? (size_t)200 << 20 : ARRAY_BYTES;
        seen.available = (size_t)100 << 30;
        open(&b, "scale/n=1", TT__INOUT, false);
        const tt__slots *slots = &b.pool.slots;
        CUdeviceptr first = memory + b.pool.slots_at;
        memset(seen.calls, 0, sizeof seen.calls);
        assert_int_equal(tt__pool_fill(&b.pool), TT_OK);
        assert_string_equal(seen.calls, "WSCCPS");
        assert_int_equal(seen.dst[0], memory);
        assert_int_equal(seen.n_words[0], (b.pool.slots_at + slots->bytes) / 4);
        assert_true(seen.src[2] == 4096 && seen.dst[2] == first);
        assert_true(seen.src[3] == 16384 && seen.dst[3] == first + b.pool.offsets[1]);
        assert_int_equal(seen.dst[4], first);
        assert_int_equal(seen.n_words[4], slots->bytes / 16);
        assert_int_equal(seen.step, slots->stride / 16);
        assert_int_equal(seen.n_slots, slots->n);
        assert_true(!large || slots->stride > slots->bytes);
        close(&b);
    }
    array_bytes = ARRAY_BYTES;
}

/* Others took what was free a moment ago, or all else that a pool holds is large: fewer places do. */
static void test_fewer_places(void **state) {
    (void)state;
    bench b;
    const size_t mib = (size_t)1 << 20, gib = (size_t)1 << 30;
    const struct {
        size_t available, room, n;
    } cases[] = {{16 * gib, 5 * gib, 4},
                 {16 * gib, 2 * gib + 600 * mib, 3},
                 {16 * gib, gib + 600 * mib, 2},
                 {16 * gib, gib, 1},
                 {6 * gib, 0, 3}}; /* the other half is for others */
    array_bytes = 200 * mib;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        seen.available = cases[i].available;
        seen.room = cases[i].room;
        open(&b, "transpose", TT__OUT, false);
        assert_int_equal(b.pool.slots.n, cases[i].n);
        assert_int_equal(seen.allocated, b.pool.bytes);
        assert_int_equal(b.pool.bytes,
                         b.pool.slots_at + (b.pool.slots.n - 1) * b.pool.slots.stride + b.pool.slots.bytes);
        close(&b);
    }
    array_bytes = 20 * mib; /* a slot of 40 MB */
    seen.available = 16 * gib;
    seen.room = 300 * mib;
    open(&b, "transpose", TT__OUT, false);
    assert_int_equal(b.pool.slots.n, 7);
    close(&b);
    seen.available = 16 * gib;
    seen.room = 50 * mib;
    open(&b, "transpose", TT__OUT, false);
    assert_int_equal(b.pool.slots.n, 1);
    close(&b);
    seen.available = 16 * gib;
    seen.room = 30 * mib; /* not even one */
    assert_int_equal(tt__pool_open(&b.pool, &b.verifier, &gpu), TT_E_NO_MEMORY);
    assert_non_null(strstr(tt_last_error(), "bytes to measure in"));
    memset(&seen, 0, sizeof seen);
    array_bytes = ARRAY_BYTES;
}

/* Contents that a kernel changes are restored, if the next launch uses the same place. */
static void test_renews_places(void **state) {
    (void)state;
    bench b;
    CUresult failed;
    array_bytes = (size_t)200 << 20;
    seen.available = (size_t)100 << 30;
    copy_bytes = array_bytes; /* the copy lies at one place */
    open(&b, "scale/n=1", TT__INOUT, false);
    copy_bytes = COPY_BYTES;
    assert_true(b.pool.slots.are_places && b.pool.copies.n == 1);
    assert_int_equal(tt__pool_time(&b.pool, b.things, 2, true, b.us, &failed), TT_OK);
    expect_calls("CWEKES", 2, "");
    measure(&b, 2);
    expect_calls("CWEKES", 2, "");
    close(&b);
    array_bytes = ARRAY_BYTES;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_many_places), cmocka_unit_test(test_places),
        cmocka_unit_test(test_fewer_places),    cmocka_unit_test(test_fill),
        cmocka_unit_test(test_renews_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
