/* Helpers of the device tests. */
#include "device.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const tt__driver *cu;

bool device_open(void) {
    CUdevice dev;
    CUcontext context;
    if (tt__driver_open(&cu) != TT_OK) {
        fprintf(stderr, "skipped: %s\n", tt_last_error());
        return false;
    }
    return cu->cuDeviceGet(&dev, 0) == CUDA_SUCCESS &&
           cu->cuDevicePrimaryCtxRetain(&context, dev) == CUDA_SUCCESS &&
           cu->cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

int device_missing(void) {
    enum { EXIT_SKIPPED = 77 };
    return getenv("TILETUNE_REQUIRE_GPU") ? EXIT_FAILURE : EXIT_SKIPPED;
}

void device_ok(tt_status s, const char *what, const char *file, int line) {
    if (s != TT_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, tt_strerror(s), tt_last_error());
        _fail(file, line);
    }
}

bool device_is_host(void) {
    CUdevice dev;
    char name[128] = "";
    return cu->cuCtxGetDevice(&dev) == CUDA_SUCCESS &&
           cu->cuDeviceGetName(name, sizeof name, dev) == CUDA_SUCCESS && strstr(name, "hostcuda");
}

void device_symbol(void *fn, const char *name) {
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *address = lib ? dlsym(lib, name) : NULL;
    if (!address)
        fail_msg("libcuda.so.1 has no %s", name);
    memcpy(fn, &address, sizeof address);
}

void device_graphs_open(device_graphs *g) {
    device_symbol(&g->begin_capture, "cuStreamBeginCapture_v2");
    device_symbol(&g->end_capture, "cuStreamEndCapture");
    device_symbol(&g->instantiate, "cuGraphInstantiateWithFlags");
    device_symbol(&g->launch, "cuGraphLaunch");
    device_symbol(&g->destroy, "cuGraphDestroy");
    device_symbol(&g->destroy_exec, "cuGraphExecDestroy");
}

long device_objects(void) {
    int (*live)(void);
    if (!device_is_host())
        return 0;
    device_symbol(&live, "hostcuda_live_objects");
    return live();
}

bool transposed(const unsigned char *dst, const unsigned char *src, int64_t rows, int64_t cols, int64_t lds,
                int64_t ldd, int elem_size) {
    size_t e = (size_t)elem_size;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            if (memcmp(dst + (size_t)(c * ldd + r) * e, src + (size_t)(r * lds + c) * e, e) != 0) {
                fprintf(stderr, "dst[%lld][%lld] is wrong (%lld x %lld, %d bytes)\n", (long long)c,
                        (long long)r, (long long)rows, (long long)cols, elem_size);
                return false;
            }
    return true;
}
