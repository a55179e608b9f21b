/* A pool of the measurements on a driver that only keeps a list. Static: each test that includes it has its
 * own. */
#ifndef TT_TESTS_MEASURE_FIXTURE_H
#define TT_TESTS_MEASURE_FIXTURE_H

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
    size_t n, n_events, available, allocated;
    size_t room;                            /* no more is given at once; 0: all that is wanted */
    CUdeviceptr src[LOG_MAX], dst[LOG_MAX]; /* of a kernel; of a writer dst */
    bool has_gate, refuses_copies;
    uint32_t gate;
    size_t fails_at;          /* the launch of a kernel, from 1 */
    size_t n_kernels, us;     /* launched since `open`: the first takes 1 us, the next 2, and so on */
    size_t event_us[LOG_MAX]; /* when it was recorded last */
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
        seen.us += seen.n_kernels;
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
    if (seen.refuses_copies)
        return CUDA_ERROR_INVALID_VALUE;
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
    (void)stream;
    assert_true((uintptr_t)event <= seen.n_events);
    seen.event_us[(uintptr_t)event] = seen.us;
    saw('E');
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *ms, CUevent start, CUevent end) {
    *ms = (float)(seen.event_us[(uintptr_t)end] - seen.event_us[(uintptr_t)start]) * 1e-3f;
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
        b->things[i] = (tt__timed){&b->kernel, &b->launch, 0, false};
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

/* Each cold launch, and each warm train, stands behind one gate, in front of one synchronization. */
static void expect_calls(const char *once, size_t times, const char *last) {
    char expected[LOG_MAX] = "";
    for (size_t i = 0; i < times; i++)
        strcat(expected, once);
    strcat(expected, last);
    assert_string_equal(seen.calls, expected);
}

#endif
