/*
 * Device memory is host memory, filled with garbage. Under AddressSanitizer an allocation is exactly as large
 * as asked for; otherwise it stands between red zones that are looked at after every launch.
 */
#include "driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "switch.h" /* HOSTCUDA_ASAN */

#if defined(HOSTCUDA_ASAN)
enum { RED_ZONE = 0 };
#else
enum { RED_ZONE = 256 };
#endif
enum { ALIGNMENT = 256, GARBAGE = 0xCB, RED = 0x5E, BLOCKS_MAX = 4096 };

typedef struct block {
    hostcuda_range range;
    unsigned char *start; /* of the red zone in front */
    bool is_host;         /* page-locked host memory: does not count */
    CUcontext ctx;
} block;

static block blocks[BLOCKS_MAX];
static size_t n_blocks, used_bytes;

static size_t memory_limit(void) {
    return (size_t)hostcuda_number("HOSTCUDA_MEMORY", 1 << 30);
}

size_t hostcuda_live_allocations(void) {
    return n_blocks;
}

static bool is_red(const unsigned char *zone) {
    for (size_t i = 0; i != RED_ZONE; i++)
        if (zone[i] != RED)
            return false;
    return true;
}

static bool is_intact(const block *b) {
    return is_red(b->start) && is_red(b->start + RED_ZONE + b->range.bytes);
}

bool hostcuda_memory_intact(void) {
    for (size_t i = 0; i < n_blocks; i++)
        if (!is_intact(&blocks[i])) {
            fprintf(stderr, "hostcuda: a write outside the allocation of %zu bytes at %#zx\n",
                    blocks[i].range.bytes, (size_t)blocks[i].range.base);
            return false;
        }
    return true;
}

hostcuda_range hostcuda_find(CUdeviceptr at, size_t bytes) {
    for (size_t i = 0; i < n_blocks; i++) {
        const hostcuda_range *r = &blocks[i].range;
        if (at >= r->base && at - r->base <= r->bytes && bytes <= r->bytes - (at - r->base))
            return *r;
    }
    return (hostcuda_range){0};
}

/* __constant__ and __device__ variables lie in the library that a kernel is. */
static bool is_global(CUdeviceptr at, size_t bytes) {
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    return dladdr1((void *)(uintptr_t)at, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
           strstr(info.dli_fname, "/proc/self/fd/") &&
           at + bytes <= (uintptr_t)info.dli_saddr + symbol->st_size;
}

static bool is_inside(CUdeviceptr at, size_t bytes) {
    return hostcuda_find(at, bytes).bytes > 0 || is_global(at, bytes);
}

static CUresult allocate(uintptr_t *out, size_t bytes, bool is_host) {
    void *start = NULL;
    REQUIRE(bytes > 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(n_blocks < BLOCKS_MAX, CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(is_host || bytes <= memory_limit() - used_bytes, CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(posix_memalign(&start, ALIGNMENT, bytes + 2 * RED_ZONE) == 0, CUDA_ERROR_OUT_OF_MEMORY);
    memset(start, RED, RED_ZONE);
    memset((char *)start + RED_ZONE, GARBAGE, bytes);
    memset((char *)start + RED_ZONE + bytes, RED, RED_ZONE);
    *out = (uintptr_t)start + RED_ZONE;
    blocks[n_blocks++] = (block){{*out, bytes}, start, is_host, hostcuda_context()};
    used_bytes += is_host ? 0 : bytes;
    return CUDA_SUCCESS;
}

static void drop(size_t i) {
    used_bytes -= blocks[i].is_host ? 0 : blocks[i].range.bytes;
    free(blocks[i].start);
    blocks[i] = blocks[--n_blocks];
}

void hostcuda_free_all(CUcontext ctx) {
    for (size_t i = n_blocks; i-- > 0;)
        if (blocks[i].ctx == ctx)
            drop(i);
}

static CUresult release(uintptr_t at, bool is_host) {
    for (size_t i = 0; i < n_blocks; i++)
        if (blocks[i].range.base == at && blocks[i].is_host == is_host) {
            drop(i);
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(free_bytes && total_bytes, CUDA_ERROR_INVALID_VALUE);
    *total_bytes = memory_limit();
    *free_bytes = *total_bytes - used_bytes;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes) {
    const hostcuda_faults *faults = &hostcuda_state.faults;
    uintptr_t at;
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out, CUDA_ERROR_INVALID_VALUE);
    const CUresult unsafe = hostcuda_may_be_unsafe();
    REQUIRE(unsafe == CUDA_SUCCESS, unsafe);
    if (faults->on[HOSTCUDA_ALLOC_FAILS] &&
        ++hostcuda_state.allocs == (long)faults->value[HOSTCUDA_ALLOC_FAILS])
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult r = allocate(&at, bytes, false);
    if (r == CUDA_SUCCESS)
        *out = at;
    return r;
}

EXPORT CUresult cuMemFree(CUdeviceptr at) {
    ENTER(NEEDS_SYNC);
    return at ? release((uintptr_t)at, false) : CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
    (void)flags;
    uintptr_t at;
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out, CUDA_ERROR_INVALID_VALUE);
    const CUresult r = allocate(&at, bytes, true);
    if (r == CUDA_SUCCESS)
        *out = (void *)at;
    return r;
}

EXPORT CUresult cuMemFreeHost(void *at) {
    ENTER(NEEDS_SYNC);
    return release((uintptr_t)at, true);
}

EXPORT CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *host, unsigned flags) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out && flags == 0 && is_inside((uintptr_t)host, 1), CUDA_ERROR_INVALID_VALUE);
    *out = (uintptr_t)host;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr at) {
    ENTER(NEEDS_INIT);
    REQUIRE(data && attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CUDA_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < n_blocks; i++)
        if (at >= blocks[i].range.base && at - blocks[i].range.base < blocks[i].range.bytes) {
            *(int *)data = (int)blocks[i].ctx->device;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    hostcuda_pass(hostcuda_copy_us(bytes), 1);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
    ENTER(NEEDS_SYNC);
    REQUIRE(bytes == 0 || (from && is_inside(to, bytes)), CUDA_ERROR_INVALID_VALUE);
    return bytes ? copy((void *)(uintptr_t)to, from, bytes) : CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
    ENTER(NEEDS_SYNC);
    REQUIRE(bytes == 0 || (to && is_inside(from, bytes)), CUDA_ERROR_INVALID_VALUE);
    hostcuda_state.n_reads++;
    return bytes ? copy(to, (void *)(uintptr_t)from, bytes) : CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(hostcuda_is_stream(stream), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(bytes == 0 || (from && is_inside(to, bytes)), CUDA_ERROR_INVALID_VALUE);
    return bytes ? copy((void *)(uintptr_t)to, from, bytes) : CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(hostcuda_is_stream(stream), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(bytes == 0 || (to && is_inside(from, bytes)), CUDA_ERROR_INVALID_VALUE);
    return bytes ? copy(to, (void *)(uintptr_t)from, bytes) : CUDA_SUCCESS;
}

static CUresult copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    REQUIRE(bytes == 0 || (is_inside(to, bytes) && is_inside(from, bytes)), CUDA_ERROR_INVALID_VALUE);
    return bytes ? copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes) : CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER(NEEDS_CONTEXT);
    return copy_on_device(to, from, bytes);
}

EXPORT CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(hostcuda_is_stream(stream), CUDA_ERROR_INVALID_HANDLE);
    return copy_on_device(to, from, bytes);
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(hostcuda_is_stream(stream), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(bytes == 0 || is_inside(to, bytes), CUDA_ERROR_INVALID_VALUE);
    if (bytes)
        memset((void *)(uintptr_t)to, value, bytes);
    hostcuda_pass(hostcuda_copy_us(bytes), 1);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t n) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(to % 4 == 0 && (n == 0 || is_inside(to, n * 4)), CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < n; i++)
        ((unsigned *)(uintptr_t)to)[i] = value;
    hostcuda_pass(hostcuda_copy_us(n * 4), 1);
    return CUDA_SUCCESS;
}
