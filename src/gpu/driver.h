/*
 * libcuda.so.1, loaded at run time. A program that only queries the store or replays a recording therefore
 * needs no driver. The table has the entry points we use, under their exported names, with CUDA's own
 * signatures.
 */
#ifndef TT_GPU_DRIVER_H
#define TT_GPU_DRIVER_H

#include <cuda.h>

#include "base/model.h"

#undef cuDeviceTotalMem
#undef cuDevicePrimaryCtxRelease
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuMemGetInfo
#undef cuMemAlloc
#undef cuMemFree
#undef cuMemcpyHtoD
#undef cuMemcpyDtoH
#undef cuMemcpyDtoDAsync
#undef cuMemHostGetDevicePointer
#undef cuStreamBeginCapture
#undef cuStreamDestroy
#undef cuStreamWaitValue32
#undef cuEventDestroy
#undef cuEventElapsedTime

/* The table, defined once: X(member, exported name, parameters). */
#define TT__DRIVER_SYMBOLS(X)                                                                                \
    X(cuInit, "cuInit", (unsigned flags))                                                                    \
    X(cuDriverGetVersion, "cuDriverGetVersion", (int *version))                                              \
    X(cuGetErrorName, "cuGetErrorName", (CUresult error, const char **name))                                 \
    X(cuGetErrorString, "cuGetErrorString", (CUresult error, const char **text))                             \
    X(cuDeviceGetCount, "cuDeviceGetCount", (int *n))                                                        \
    X(cuDeviceGet, "cuDeviceGet", (CUdevice * dev, int ordinal))                                             \
    X(cuDeviceGetName, "cuDeviceGetName", (char *name, int size, CUdevice dev))                              \
    X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *out, int size, CUdevice dev))                       \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *value, CUdevice_attribute attr, CUdevice dev))     \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, CUdevice dev))                               \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext * ctx, CUdevice dev))                 \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice dev))                             \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext ctx))                                                   \
    X(cuCtxGetCurrent, "cuCtxGetCurrent", (CUcontext * ctx))                                                 \
    X(cuCtxGetDevice, "cuCtxGetDevice", (CUdevice * dev))                                                    \
    X(cuCtxGetId, "cuCtxGetId", (CUcontext ctx, unsigned long long *id))                                     \
    X(cuCtxSynchronize, "cuCtxSynchronize", (void))                                                          \
    X(cuMemGetInfo, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total_bytes))                          \
    X(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * ptr, size_t bytes))                                        \
    X(cuMemFree, "cuMemFree_v2", (CUdeviceptr ptr))                                                          \
    X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (CUdeviceptr dst, const void *src, size_t bytes))                     \
    X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *dst, CUdeviceptr src, size_t bytes))                           \
    X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s))   \
    X(cuMemsetD8Async, "cuMemsetD8Async", (CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)) \
    X(cuMemHostAlloc, "cuMemHostAlloc", (void **ptr, size_t bytes, unsigned flags))                          \
    X(cuMemFreeHost, "cuMemFreeHost", (void *ptr))                                                           \
    X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (CUdeviceptr * d, void *host, unsigned f))  \
    X(cuStreamCreate, "cuStreamCreate", (CUstream * stream, unsigned flags))                                 \
    X(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream stream))                                              \
    X(cuStreamSynchronize, "cuStreamSynchronize", (CUstream stream))                                         \
    X(cuStreamIsCapturing, "cuStreamIsCapturing", (CUstream stream, CUstreamCaptureStatus * status))         \
    X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (CUstreamCaptureMode * mode))  \
    X(cuStreamWaitValue32, "cuStreamWaitValue32_v2",                                                         \
      (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned flags))                                 \
    X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream stream, CUstreamCaptureMode mode))          \
    X(cuStreamEndCapture, "cuStreamEndCapture", (CUstream stream, CUgraph * graph))                          \
    X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags",                                            \
      (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                                         \
    X(cuGraphUpload, "cuGraphUpload", (CUgraphExec exec, CUstream stream))                                   \
    X(cuGraphLaunch, "cuGraphLaunch", (CUgraphExec exec, CUstream stream))                                   \
    X(cuGraphDestroy, "cuGraphDestroy", (CUgraph graph))                                                     \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec exec))                                          \
    X(cuEventCreate, "cuEventCreate", (CUevent * event, unsigned flags))                                     \
    X(cuEventDestroy, "cuEventDestroy_v2", (CUevent event))                                                  \
    X(cuEventRecord, "cuEventRecord", (CUevent event, CUstream stream))                                      \
    X(cuEventSynchronize, "cuEventSynchronize", (CUevent event))                                             \
    X(cuEventElapsedTime, "cuEventElapsedTime", (float *ms, CUevent start, CUevent end))                     \
    X(cuModuleLoadData, "cuModuleLoadData", (CUmodule * module, const void *image))                          \
    X(cuModuleUnload, "cuModuleUnload", (CUmodule module))                                                   \
    X(cuModuleGetFunction, "cuModuleGetFunction", (CUfunction * fn, CUmodule module, const char *name))      \
    X(cuLibraryLoadData, "cuLibraryLoadData",                                                                \
      (CUlibrary * library, const void *image, CUjit_option *jit_options, void **jit_values, unsigned n_jit, \
       CUlibraryOption *options, void **values, unsigned n))                                                 \
    X(cuLibraryUnload, "cuLibraryUnload", (CUlibrary library))                                               \
    X(cuLibraryGetKernel, "cuLibraryGetKernel", (CUkernel * kernel, CUlibrary library, const char *name))    \
    X(cuLibraryGetGlobal, "cuLibraryGetGlobal",                                                              \
      (CUdeviceptr * at, size_t * bytes, CUlibrary library, const char *name))                               \
    X(cuKernelGetFunction, "cuKernelGetFunction", (CUfunction * fn, CUkernel kernel))                        \
    X(cuFuncGetAttribute, "cuFuncGetAttribute", (int *value, CUfunction_attribute attr, CUfunction fn))      \
    X(cuFuncSetAttribute, "cuFuncSetAttribute", (CUfunction fn, CUfunction_attribute attr, int value))       \
    X(cuLaunchKernel, "cuLaunchKernel",                                                                      \
      (CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,          \
       unsigned shared_bytes, CUstream stream, void **args, void **extra))                                   \
    X(cuLaunchKernelEx, "cuLaunchKernelEx",                                                                  \
      (const CUlaunchConfig *config, CUfunction fn, void **args, void **extra))                              \
    X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                      \
      (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *at, const cuuint64_t *dims,       \
       const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps,                            \
       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,              \
       CUtensorMapFloatOOBfill fill))                                                                        \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",            \
      (int *n, CUfunction fn, int block_threads, size_t shared_bytes))

/* Entry points that older drivers lack: NULL there. */
#define TT__DRIVER_OPTIONAL(X)                                                                               \
    X(cuProfilerStart, "cuProfilerStart", (void))                                                            \
    X(cuProfilerStop, "cuProfilerStop", (void))                                                              \
    X(cuFuncGetParamInfo, "cuFuncGetParamInfo", /* CUDA 12.4 */                                              \
      (CUfunction fn, size_t index, size_t * offset, size_t * size))

typedef struct tt__driver {
#define TT__MEMBER(member, name, params) CUresult(CUDAAPI *member) params;
    TT__DRIVER_SYMBOLS(TT__MEMBER)
    TT__DRIVER_OPTIONAL(TT__MEMBER)
#undef TT__MEMBER
    bool launches_early; /* captures take launches that may begin early: since CUDA 12.3 */
} tt__driver;

/* Loads libcuda and initialises it, once per process; later calls return the first result. The table lives as
 * long as the process. Thread-safe.
 * TT_E_NO_DRIVER says what is missing. TT_E_NO_DEVICE: the driver finds no GPU. */
tt_status tt__driver_open(const tt__driver **out);

/* Path of the loaded library, "" if it could not be loaded. Static storage. */
const char *tt__driver_path(void);

/* Turns a failed CUDA call into TT_E_CUDA (or TT_E_NO_MEMORY): "cuMemAlloc (268435456 bytes):
 * CUDA_ERROR_OUT_OF_MEMORY: out of memory". `what` is a printf format. TT_OK for CUDA_SUCCESS. */
tt_status tt__cu_check(CUresult r, const char *what, ...) __attribute__((format(printf, 2, 3)));

/* The version of the CUDA API the driver supports: 13000 is 13.0. */
tt_status tt__driver_cuda_version(int *version);
/* The driver's version, "580.159.04", or "CUDA 13.0" if the system does not tell it. */
void tt__driver_version(char *out, size_t size);

#endif
