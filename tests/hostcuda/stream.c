/*
 * Streams and events. Work is done when it is enqueued, so a stream is no more than a name, and an event no
 * more than a time stamp of the virtual clock.
 */
#include "stream.h"

#include <stdlib.h>

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);

enum { STREAM_MAGIC = 0x73747265, EVENT_MAGIC = 0x65766e74 };

struct CUevent_st {
    unsigned magic;
    bool is_recorded, has_time, is_rough; /* is_rough: what it times counts, and runs */
    double at_us;
};

bool hostcuda_is_stream(CUstream s) {
    return s == NULL || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD || s->magic == STREAM_MAGIC;
}

static CUstream streams;

bool hostcuda_blocking_capture(void) {
    for (CUstream at = streams; at; at = at->next)
        if (at->is_blocking && at->capture)
            return true;
    return false;
}

static CUresult create(CUstream *out, unsigned flags) {
    REQUIRE(out, CUDA_ERROR_INVALID_VALUE);
    *out = calloc(1, sizeof **out);
    REQUIRE(*out, CUDA_ERROR_OUT_OF_MEMORY);
    (*out)->magic = STREAM_MAGIC;
    (*out)->is_blocking = !(flags & CU_STREAM_NON_BLOCKING);
    (*out)->next = streams;
    streams = *out;
    hostcuda_state.n_live++;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream *out, unsigned flags) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(flags <= CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    return create(out, flags);
}

EXPORT CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority) {
    (void)priority;
    ENTER(NEEDS_CONTEXT);
    REQUIRE(flags <= CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    return create(out, flags);
}

EXPORT CUresult cuStreamDestroy(CUstream stream) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE((uintptr_t)stream > 2 && stream->magic == STREAM_MAGIC, CUDA_ERROR_INVALID_HANDLE);
    CUstream *at = &streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    stream->magic = 0;
    free(stream);
    hostcuda_state.n_live--;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream) {
    ENTER(NEEDS_SYNC);
    REQUIRE(hostcuda_is_stream(stream), CUDA_ERROR_INVALID_HANDLE);
    return hostcuda_may_be_unsafe();
}

EXPORT CUresult cuStreamQuery(CUstream stream) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(hostcuda_is_stream(stream), CUDA_ERROR_INVALID_HANDLE);
    return hostcuda_state.is_hung ? CUDA_ERROR_NOT_READY : (hostcuda_state.sticky = hostcuda_state.pending);
}

EXPORT CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags) {
    (void)stream;
    (void)at;
    (void)value;
    (void)flags;
    ENTER(NEEDS_CONTEXT);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static bool is_event(CUevent e) {
    return e && e->magic == EVENT_MAGIC;
}

EXPORT CUresult cuEventCreate(CUevent *out, unsigned flags) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out, CUDA_ERROR_INVALID_VALUE);
    *out = calloc(1, sizeof **out);
    REQUIRE(*out, CUDA_ERROR_OUT_OF_MEMORY);
    (*out)->magic = EVENT_MAGIC;
    (*out)->has_time = !(flags & CU_EVENT_DISABLE_TIMING);
    (*out)->is_rough = flags & CU_EVENT_BLOCKING_SYNC;
    hostcuda_state.n_live++;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy(CUevent event) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(is_event(event), CUDA_ERROR_INVALID_HANDLE);
    event->magic = 0;
    free(event);
    hostcuda_state.n_live--;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
    const bool is_rough = is_event(event) && event->is_rough;
    ENTER(is_rough ? NEEDS_CONTEXT : NEEDS_EVENT);
    REQUIRE(is_event(event) && hostcuda_is_stream(stream), CUDA_ERROR_INVALID_HANDLE);
    event->is_recorded = true;
    event->at_us = hostcuda_state.clock_us;
    hostcuda_state.after_event = !is_rough;
    hostcuda_state.module_left_out = NULL;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventSynchronize(CUevent event) {
    ENTER(NEEDS_SYNC);
    return is_event(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

EXPORT CUresult cuEventQuery(CUevent event) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(is_event(event), CUDA_ERROR_INVALID_HANDLE);
    return hostcuda_state.is_hung ? CUDA_ERROR_NOT_READY : (hostcuda_state.sticky = hostcuda_state.pending);
}

EXPORT CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(ms, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(is_event(start) && is_event(end) && start->has_time && end->has_time, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(start->is_recorded && end->is_recorded, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(!hostcuda_state.is_hung, CUDA_ERROR_NOT_READY);
    *ms = (float)((end->at_us - start->at_us) * 1e-3);
    return CUDA_SUCCESS;
}
