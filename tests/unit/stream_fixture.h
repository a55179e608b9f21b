/*
 * A driver that only lists the work that a stream gets. It is static: each test that includes it has its own.
 */
#ifndef TT_TESTS_STREAM_FIXTURE_H
#define TT_TESTS_STREAM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/driver.h"

enum { L2_BYTES = 1 << 20, LOG_MAX = 512 };
static const CUdeviceptr memory = UINT64_C(1) << 40;
#define AT(n) ((void *)(uintptr_t)(n))

/* One letter for each call that uses the stream: W writer (a kernel), K kernel, P the checker's
 * that spreads one slot to the others, C copy, E event, G gate, S synchronize, Q the
 * launch of a graph. */
static struct {
    char calls[LOG_MAX];
    size_t n, n_events, n_arrays, available;
    size_t allocated, given;                /* the last time; up to now */
    size_t room;                            /* no more is given at once; 0: all that is wanted */
    CUdeviceptr src[LOG_MAX], dst[LOG_MAX]; /* of a kernel; of a writer dst */
    bool has_gate, refuses_copies, refuses_writers;
    uint32_t gate;
    size_t fails_at;          /* the launch of a kernel, from 1 */
    size_t n_kernels, us;     /* launched since `open`: the first takes 1 us, the next 2, and so on */
    size_t event_us[LOG_MAX]; /* when it was recorded last */
    long long n_words[LOG_MAX], step, n_slots; /* of a writer; of P */
    bool captures;                             /* a kernel in a graph takes 10 us */
    size_t captured_us, n_captured, n_graphs, graph_us[LOG_MAX];
    size_t refuses_graph; /* from 1; 0: none */
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
    if (seen.has_gate && !seen.captures)
        assert_int_equal(seen.gate, 0);
    if (is_kernel) {
        seen.src[seen.n] = *(CUdeviceptr *)args[0];
        seen.dst[seen.n] = *(CUdeviceptr *)args[1];
        if (++seen.n_kernels == seen.fails_at)
            return CUDA_ERROR_INVALID_VALUE;
        seen.us += seen.captures ? 10 : seen.n_kernels;
    } else if (seen.refuses_writers) {
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
    *ptr = memory + seen.given;
    seen.given += bytes;
    seen.n_arrays++;
    return CUDA_SUCCESS;
}

static CUresult memory_info(size_t *available, size_t *total) {
    *available = seen.available;
    *total = seen.available + 1;
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr ptr) {
    assert_true(ptr >= memory && ptr < memory + seen.given && seen.n_arrays > 0);
    seen.n_arrays--;
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

static CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode) {
    (void)stream;
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_false(seen.captures);
    seen.captures = true;
    seen.captured_us = seen.us;
    return CUDA_SUCCESS;
}

static CUresult end_capture(CUstream stream, CUgraph *graph) {
    (void)stream;
    assert_true(seen.captures);
    seen.captures = false;
    seen.captured_us = seen.us - seen.captured_us;
    seen.n_captured++;
    *graph = AT(1);
    return CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    (void)flags;
    assert_ptr_equal(graph, AT(1));
    seen.graph_us[seen.n_graphs] = seen.captured_us;
    *exec = AT(++seen.n_graphs);
    return CUDA_SUCCESS;
}

static CUresult upload(CUgraphExec exec, CUstream stream) {
    (void)stream;
    assert_true(exec != NULL);
    return CUDA_SUCCESS;
}

static CUresult launch_graph(CUgraphExec exec, CUstream stream) {
    (void)stream;
    if (seen.refuses_graph && exec == AT(seen.refuses_graph))
        return CUDA_ERROR_INVALID_VALUE;
    seen.us += seen.graph_us[(uintptr_t)exec - 1];
    saw('Q');
    return CUDA_SUCCESS;
}

static CUresult destroy_graph(CUgraph graph) {
    assert_ptr_equal(graph, AT(1));
    seen.n_captured--;
    return CUDA_SUCCESS;
}

static CUresult destroy_exec(CUgraphExec exec) {
    assert_true(exec != NULL);
    seen.n_graphs--;
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
                                  .cuEventElapsedTime = elapsed,
                                  .cuStreamBeginCapture = begin_capture,
                                  .cuStreamEndCapture = end_capture,
                                  .cuGraphInstantiateWithFlags = instantiate,
                                  .cuGraphUpload = upload,
                                  .cuGraphLaunch = launch_graph,
                                  .cuGraphDestroy = destroy_graph,
                                  .cuGraphExecDestroy = destroy_exec};
static const tt__gpu gpu = {.l2_bytes = L2_BYTES};

#endif
