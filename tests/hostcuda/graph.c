/*
 * Capture and graphs, of kernel launches alone. A launch on a captured stream is recorded and run later.
 * While a stream is captured, calls that could wait for it are refused and end the capture, as with CUDA. In
 * the global mode this holds for every thread, in the thread-local mode for the capturing thread. A relaxed
 * thread is exempt.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "module.h"
#include "stream.h"

#undef cuStreamBeginCapture
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);

typedef struct node {
    CUfunction fn;
    hostcuda_geometry geometry;
    unsigned char *values[HOSTCUDA_PARAMS_MAX]; /* in the memory behind the node */
    struct node *next;
} node;

struct CUgraph_st {
    node *first, *last;
    CUstreamCaptureMode mode;
    const void *thread; /* a name for the one that captures */
    bool invalid;
    CUgraph next; /* the next graph that is being captured */
};

static CUgraph captures; /* the lock is held */
static _Thread_local CUstreamCaptureMode mode_here = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void free_graph(CUgraph g) {
    while (g->first) {
        node *next = g->first->next;
        free(g->first);
        g->first = next;
    }
    free(g);
}

CUresult hostcuda_may_be_unsafe(void) {
    bool refused = false;
    for (CUgraph g = captures; g && mode_here != CU_STREAM_CAPTURE_MODE_RELAXED; g = g->next)
        if (g->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
            (g->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && g->thread == &mode_here))
            g->invalid = refused = true;
    return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

static size_t aligned_size(size_t bytes) {
    enum { ALIGN = 16 };
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

CUresult hostcuda_capture(CUgraph g, CUfunction fn, const hostcuda_geometry *geometry, void **args) {
    REQUIRE(!g->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    const hostcuda_kernel *k = fn->kernel;
    size_t bytes = 0;
    for (unsigned i = 0; i < k->n_params; i++)
        bytes += aligned_size(k->params[i].size);
    node *n = calloc(1, aligned_size(sizeof *n) + bytes);
    REQUIRE(n, CUDA_ERROR_OUT_OF_MEMORY);
    unsigned char *at = (unsigned char *)n + aligned_size(sizeof *n);
    n->fn = fn;
    n->geometry = *geometry;
    for (unsigned i = 0; i < k->n_params; at += aligned_size(k->params[i].size), i++)
        n->values[i] = memcpy(at, args[i], k->params[i].size);
    *(g->last ? &g->last->next : &g->first) = n;
    g->last = n;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    ENTER(NEEDS_INIT);
    REQUIRE(mode && (unsigned)*mode <= CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    const CUstreamCaptureMode old = mode_here;
    mode_here = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE((uintptr_t)stream > 2 && hostcuda_is_stream(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    REQUIRE(!stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    CUgraph g = calloc(1, sizeof *g);
    REQUIRE(g, CUDA_ERROR_OUT_OF_MEMORY);
    g->mode = mode;
    g->thread = &mode_here;
    g->next = captures;
    captures = stream->capture = g;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(status, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(hostcuda_is_stream(stream), CUDA_ERROR_INVALID_HANDLE);
    const CUgraph g = (uintptr_t)stream > 2 ? stream->capture : NULL;
    const bool is_default = stream == NULL || stream == CU_STREAM_LEGACY;
    REQUIRE(!is_default || !hostcuda_blocking_capture(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    *status = !g           ? CU_STREAM_CAPTURE_STATUS_NONE
              : g->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *out) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out && (uintptr_t)stream > 2 && hostcuda_is_stream(stream), CUDA_ERROR_INVALID_VALUE);
    CUgraph g = stream->capture;
    *out = NULL;
    REQUIRE(g, CUDA_ERROR_ILLEGAL_STATE);
    stream->capture = NULL;
    CUgraph *at = &captures;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    if (g->invalid) {
        free_graph(g);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    hostcuda_state.n_live++;
    *out = g;
    return CUDA_SUCCESS;
}

/* A graph that can be launched is a copy. */
struct CUgraphExec_st {
    struct CUgraph_st graph;
};

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long flags) {
    (void)flags;
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out && g, CUDA_ERROR_INVALID_VALUE);
    CUgraphExec exec = calloc(1, sizeof *exec);
    REQUIRE(exec, CUDA_ERROR_OUT_OF_MEMORY);
    for (const node *n = g->first; n; n = n->next)
        if (hostcuda_capture(&exec->graph, n->fn, &n->geometry, (void **)n->values) != CUDA_SUCCESS)
            abort();
    hostcuda_state.n_live++;
    *out = exec;
    return CUDA_SUCCESS;
}

/* It would make the first launch faster. */
EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(exec && hostcuda_is_stream(stream), CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(exec && hostcuda_is_stream(stream), CUDA_ERROR_INVALID_VALUE);
    const bool is_timed = hostcuda_state.after_event;
    for (node *n = exec->graph.first; n; n = n->next) {
        void *args[HOSTCUDA_PARAMS_MAX];
        hostcuda_state.after_event = is_timed; /* all of them are */
        for (unsigned i = 0; i < n->fn->kernel->n_params; i++)
            args[i] = n->values[i];
        const CUresult r = hostcuda_launch(n->fn, &n->geometry, args);
        REQUIRE(r == CUDA_SUCCESS, r);
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphDestroy(CUgraph g) {
    ENTER(NEEDS_INIT);
    REQUIRE(g, CUDA_ERROR_INVALID_VALUE);
    free_graph(g);
    hostcuda_state.n_live--;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
    ENTER(NEEDS_INIT);
    REQUIRE(exec, CUDA_ERROR_INVALID_VALUE);
    free_graph(&exec->graph);
    hostcuda_state.n_live--;
    return CUDA_SUCCESS;
}
