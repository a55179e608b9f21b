/* What a launch that is timed stands behind, on a driver that only keeps a list: caches that are stirred or
 * warmed, buffers in turn, and few others in the queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tuner/measure.h"

enum { L2_BYTES = 1 << 20, ARRAY_BYTES = 195 * 512, COPY_BYTES = 60000, LOG_MAX = 512, THINGS = 32 };
static const CUdeviceptr memory = UINT64_C(1) << 40;
static size_t array_bytes = ARRAY_BYTES, copy_bytes = COPY_BYTES;
#define AT(n) ((void *)(uintptr_t)(n))

/* One letter for each call that uses the stream: W writer, K kernel, P the checker's that spreads one slot to
 * the others, C copy, E event, G gate, S synchronize. */
static struct {
    char calls[LOG_MAX];
    size_t n, n_events, at_events, available, allocated;
    size_t room;                            /* no more is given at once; 0: all that is wanted */
    CUdeviceptr src[LOG_MAX], dst[LOG_MAX]; /* of a kernel; of a writer dst */
    bool has_gate;
    uint32_t gate;
    size_t fails_at; /* the launch of a kernel, from 1 */
    size_t n_kernels;
    long long n_words[LOG_MAX], step, n_slots; /* of a writer; of P */
} seen;

static void saw(char call) {
    assert_true(seen.n + 1 < LOG_MAX);
    seen.calls[seen.n++] = call;
}

static CUresult launch(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                       unsigned bz, unsigned shared_bytes, CUstream stream, void **args, void **extra) {
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
    (void)shared_bytes, (void)stream, (void)extra;
    bool is_kernel = (uintptr_t)fn == 'K';
    if (seen.has_gate)
        assert_int_equal(seen.gate, 0);
    if (is_kernel) {
        seen.src[seen.n] = *(CUdeviceptr *)args[0];
        seen.dst[seen.n] = *(CUdeviceptr *)args[1];
        if (++seen.n_kernels == seen.fails_at)
            return CUDA_ERROR_INVALID_VALUE;
    } else {
        seen.dst[seen.n] = *(CUdeviceptr *)args[0];
        seen.n_words[seen.n] = *(long long *)args[1];
        if ((uintptr_t)fn == 'P') {
            seen.step = *(long long *)args[2];
            seen.n_slots = *(long long *)args[3];
        }
    }
    saw((char)(uintptr_t)fn);
    return CUDA_SUCCESS;
}

static CUresult copy(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream) {
    (void)n, (void)stream;
    seen.src[seen.n] = src;
    seen.dst[seen.n] = dst;
    saw('C');
    return CUDA_SUCCESS;
}

static CUresult synchronize(CUstream stream) {
    (void)stream;
    if (seen.has_gate) /* else it would never end */
        assert_int_equal(seen.gate, 1);
    saw('S');
    return CUDA_SUCCESS;
}

static CUresult wait_value(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned flags) {
    (void)stream, (void)flags;
    assert_int_equal(addr, 77);
    assert_int_equal(value, 1);
    saw('G');
    return CUDA_SUCCESS;
}

static CUresult host_alloc(void **ptr, size_t bytes, unsigned flags) {
    (void)flags;
    assert_int_equal(bytes, sizeof seen.gate);
    *ptr = &seen.gate;
    return seen.has_gate ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult host_pointer(CUdeviceptr *d, void *host, unsigned f) {
    (void)host, (void)f;
    *d = 77;
    return CUDA_SUCCESS;
}

static CUresult host_free(void *ptr) {
    assert_ptr_equal(ptr, &seen.gate);
    return CUDA_SUCCESS;
}

static CUresult alloc(CUdeviceptr *ptr, size_t bytes) {
    if (seen.room && bytes > seen.room)
        return CUDA_ERROR_OUT_OF_MEMORY;
    seen.allocated = bytes;
    *ptr = memory;
    return CUDA_SUCCESS;
}

static CUresult memory_info(size_t *available, size_t *total) {
    *available = seen.available;
    *total = seen.available + 1;
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr ptr) {
    assert_int_equal(ptr, memory);
    return CUDA_SUCCESS;
}

static CUresult event_create(CUevent *event, unsigned flags) {
    (void)flags;
    *event = AT(++seen.n_events);
    return CUDA_SUCCESS;
}

static CUresult event_destroy(CUevent event) {
    (void)event;
    seen.n_events--;
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream) {
    (void)event, (void)stream;
    saw('E');
    return CUDA_SUCCESS;
}

/* Events are numbered from 1, a pair for each launch of a batch. */
static CUresult elapsed(float *ms, CUevent start, CUevent end) {
    uintptr_t first = (uintptr_t)start;
    assert_int_equal((uintptr_t)end, first + 1);
    *ms = (float)(first / 2 + 1) * 1e-3f;
    return CUDA_SUCCESS;
}

static const tt__driver driver = {.cuLaunchKernel = launch,
                                  .cuMemcpyDtoDAsync = copy,
                                  .cuStreamSynchronize = synchronize,
                                  .cuStreamWaitValue32 = wait_value,
                                  .cuMemHostAlloc = host_alloc,
                                  .cuMemHostGetDevicePointer = host_pointer,
                                  .cuMemFreeHost = host_free,
                                  .cuMemAlloc = alloc,
                                  .cuMemGetInfo = memory_info,
                                  .cuMemFree = release,
                                  .cuEventCreate = event_create,
                                  .cuEventDestroy = event_destroy,
                                  .cuEventRecord = event_record,
                                  .cuEventElapsedTime = elapsed};
static const tt__gpu gpu = {.l2_bytes = L2_BYTES};

typedef struct bench {
    tt__verifier verifier;
    tt__bench_pool pool;
    tt__kernel kernel;
    tt__launch launch;
    tt__timed things[THINGS];
    float us[THINGS];
} bench;

/* src to dst; `second` is the direction of dst. Begins a new list. */
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
                 .arrays = {{.direction = TT__IN, .elem_size = 4}, {.direction = second, .elem_size = 4}}},
        .areas = {{.live = 4096}, {.live = 8192, .before = 16384}}};
    for (int i = 0; i < 2; i++)
        b->verifier.work.arrays[i].count = (int64_t)array_bytes / 4;
    strcpy(b->verifier.problem.op, op);
    if (second == TT__INOUT)
        b->verifier.work.copy_bytes = (int64_t)copy_bytes;
    assert_int_equal(tt__pool_open(&b->pool, &b->verifier, &gpu), TT_OK);
    if (!available)
        assert_int_equal(seen.allocated, tt__pool_bytes(&b->verifier.work, &gpu));
    for (int i = 0; i < THINGS; i++)
        b->things[i] = (tt__timed){&b->kernel, &b->launch, 16, false};
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

/* Each batch stands behind one gate, in front of one synchronization. */
static void expect_calls(const char *batch, size_t batches, const char *last) {
    char expected[LOG_MAX] = "";
    for (size_t i = 0; i < batches; i++)
        strcat(expected, batch);
    strcat(expected, last);
    assert_string_equal(seen.calls, expected);
}

/* Another kernel stands before each, and so no more than four are queued at once. */
static void test_cold(void **state) {
    (void)state;
    bench b;
    CUdeviceptr at[LOG_MAX] = {0}, stirred[LOG_MAX] = {0};
    size_t n = 0, n_stirred = 0;
    seen.has_gate = true;
    open(&b, "transpose", TT__OUT, false);
    measure(&b, THINGS);
    expect_calls("GWEKEWEKEWEKEWEKES", THINGS / 4, "");
    for (int i = 0; i < THINGS; i++)
        assert_true(b.us[i] > (float)(i % 4) + 0.99f && b.us[i] < (float)(i % 4) + 1.01f);
    for (size_t i = 0; i < seen.n; i++)
        if (seen.calls[i] == 'K') {
            assert_true(seen.dst[i] >= seen.src[i] + ARRAY_BYTES && seen.src[i] % 512 == 0);
            assert_true(seen.src[i] >= memory + b.pool.slots_at);
            assert_true(seen.dst[i] + ARRAY_BYTES <= memory + seen.allocated);
            at[n++] = seen.src[i];
        } else if (seen.calls[i] == 'W') {
            assert_true(seen.dst[i] >= memory + b.pool.stirs_at &&
                        seen.dst[i] + b.pool.stir_bytes <= memory + b.pool.slots_at);
            stirred[n_stirred++] = seen.dst[i];
        }
    assert_int_equal(b.pool.stir_bytes, b.pool.slots.bytes); /* as much as a launch touches */
    /* A place comes again when so much else has been touched as fills the cache five times. */
    size_t turn = 1;
    while (at[turn] != at[0])
        turn++;
    assert_true((turn - 1) * 2 * ARRAY_BYTES >= 5 * L2_BYTES && turn == b.pool.slots.n);
    for (size_t i = 0; i + 1 < n_stirred; i++)
        assert_true(stirred[i] != stirred[i + 1]);
    close(&b);
}

/* Arrays that are aligned to so much are aligned to no more. */
static void test_unaligned(void **state) {
    (void)state;
    bench b;
    open(&b, "transpose", TT__OUT, false);
    b.things[0].align = 4;
    b.things[1].align = 8;
    measure(&b, 2);
    for (size_t i = 0, align = 4; i < seen.n; i++)
        if (seen.calls[i] == 'K') {
            assert_int_equal(seen.src[i] % 16, align);
            assert_int_equal(seen.dst[i] % 16, align);
            assert_true(seen.src[i] + ARRAY_BYTES <= seen.dst[i]);
            assert_true(seen.dst[i] + ARRAY_BYTES <=
                        memory + b.pool.slots_at + align / 4 * b.pool.slots.stride);
            align *= 2;
        }
    close(&b);
}

/* The first of a batch runs before it is timed, and all on the same buffers. */
static void test_warm(void **state) {
    (void)state;
    bench b;
    open(&b, "transpose", TT__OUT, true);
    measure(&b, 10);
    expect_calls("EKEEKEEKEEKEEKEEKEEKEEKES", 1, "EKEEKEEKEEKES");
    for (size_t i = 0; i < seen.n; i++)
        assert_true(seen.calls[i] != 'K' || seen.src[i] == memory);
    close(&b);
}

/* A kernel of one's own gets what it changes as it was: behind the launch, or, of one slot, before it. */
static void test_renews(void **state) {
    (void)state;
    bench b;
    open(&b, "scale/n=1", TT__INOUT, false);
    measure(&b, 4);
    expect_calls("WEKECWEKECS", 2, "");
    for (size_t i = 0; i < seen.n; i++)
        if (seen.calls[i] == 'C') { /* of the launch before it, from what it held */
            assert_int_equal(seen.dst[i], seen.dst[i - 2]);
            assert_int_equal(seen.src[i], 16384);
        }
    close(&b);
    open(&b, "scale/n=1/warm", TT__INOUT, true);
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
    open(&b, "scale/n=1", TT__INOUT, false);
    b.things[1].copy = b.things[3].copy = true;
    measure(&b, 4);
    expect_calls("WEKECWEKEWEKECS", 1, "WEKES");
    CUdeviceptr first = 0, kernels[2] = {0};
    size_t n = 0;
    for (size_t i = 0; i < seen.n; i++)
        if (seen.calls[i] == 'K' && ++n % 2 == 0) {
            assert_true(seen.src[i] >= memory && seen.src[i] != first);
            assert_true(seen.dst[i] >= seen.src[i] + COPY_BYTES);
            assert_true(seen.dst[i] + COPY_BYTES <= memory + b.pool.stirs_at);
            first = seen.src[i];
        } else if (seen.calls[i] == 'K') {
            assert_true(seen.src[i] >= memory + b.pool.slots_at);
            kernels[n / 2] = seen.src[i];
        } else if (seen.calls[i] == 'W') {
            assert_true(seen.dst[i] >= memory + b.pool.stirs_at &&
                        seen.dst[i] + b.pool.stir_bytes <= memory + b.pool.slots_at);
        }
    assert_int_equal(kernels[1], kernels[0] + b.pool.slots.stride); /* the next slot */
    close(&b);
    open(&b, "scale/n=1/warm", TT__INOUT, true);
    b.things[1].copy = true;
    measure(&b, 2);
    expect_calls("CEKECEKEEKEEKES", 1, ""); /* each kind is warmed */
    close(&b);
}

/* What is refused ends the measurement, and the gate is open again. */
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
    assert_true(b.us[3] > 0 && b.us[4] == 0); /* of its batch nothing is timed */
    close(&b);
}

/* Several kernels are as many places in the queue; one that takes more than there are runs alone. */
static void test_passes(void **state) {
    (void)state;
    bench b;
    open(&b, "scale/n=1", TT__OUT, false);
    b.kernel.n_passes = b.launch.n_passes = 3;
    for (int i = 1; i < 3; i++) {
        b.kernel.fns[i] = AT('K');
        b.launch.passes[i] = b.launch.passes[0];
    }
    measure(&b, 3);
    expect_calls("WEKKKEWEKKKES", 1, "WEKKKES");
    close(&b);
    open(&b, "scale/n=1/warm", TT__INOUT, true);
    b.kernel.n_passes = b.launch.n_passes = 4;
    for (int i = 1; i < 4; i++) {
        b.kernel.fns[i] = AT('K');
        b.launch.passes[i] = b.launch.passes[0];
    }
    measure(&b, 2);
    expect_calls("CEKKKKECEKKKKES", 2, "");
    close(&b);
}

/* A large array is its own flush, and yet there are several: an odd number of GiB apart, as far as half of
 * the memory that is free goes. */
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
        {256 * mib - 512, 100 * gib, 1, 256 * mib - 512}, /* so little lies in one place */
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
    tt__slots small = tt__slots_for(5 * L2_BYTES - 512, &gpu, false, 100 * gib);
    assert_true(small.n == 3 && !small.are_places && small.stride == small.bytes);
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
    array_bytes = ARRAY_BYTES;
}

/* What a kernel changes is made as it was before the launch, where the next gets the same place. */
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
    expect_calls("CWEKECWEKESC", 1,
                 ""); /* the last: one kernel alone comes by there, too, and makes it anew behind it */
    measure(&b, 2);
    expect_calls("WEKECWEKECS", 1, "");
    seen.n = 0;
    b.kernel.n_passes = b.launch.n_passes = 2;
    b.kernel.fns[1] = AT('K');
    b.launch.passes[1] = b.launch.passes[0];
    seen.fails_at = seen.n_kernels + 2; /* the first of two may have changed it */
    memset(seen.calls, 0, sizeof seen.calls);
    assert_int_equal(tt__pool_time(&b.pool, b.things, 1, false, b.us, &failed), TT_OK);
    assert_int_equal(failed, CUDA_ERROR_INVALID_VALUE);
    expect_calls("WEKCS", 1, "");
    close(&b);
    array_bytes = ARRAY_BYTES;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cold),   cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_warm),   cmocka_unit_test(test_renews),
        cmocka_unit_test(test_copies), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_passes), cmocka_unit_test(test_how_many_places),
        cmocka_unit_test(test_places), cmocka_unit_test(test_fewer_places),
        cmocka_unit_test(test_fill),   cmocka_unit_test(test_renews_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
