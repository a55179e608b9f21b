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

#include "api/problem.h"
#include "kernel/space/operation.h"

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

CUresult device_put(CUdeviceptr to, const void *from, size_t bytes) {
    CUresult result = cu->cuMemcpyHtoD(to, from, bytes);
    return result == CUDA_SUCCESS ? cu->cuCtxSynchronize() : result;
}

tt_ctx *device_ctx;

int device_enter(void **state) {
    (void)state;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = ":memory:";
    return tt_open(&device_ctx, &opts) == TT_OK ? 0 : -1;
}

int device_leave(void **state) {
    (void)state;
    tt_close(&device_ctx);
    return 0;
}

tt_problem matrix_of(int64_t rows, int64_t cols, int64_t lds, int64_t ldd, int elem_size) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = rows;
    p.cols = cols;
    p.lds = lds;
    p.ldd = ldd;
    p.elem_size = elem_size;
    return p;
}

void device_ok(tt_status s, const char *what, const char *file, int line) {
    if (s != TT_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, tt_strerror(s), tt_last_error());
        _fail(file, line);
    }
}

void device_join(const pthread_t *threads, int n) {
    int n_right = 0;
    for (int i = 0; i < n; i++) {
        void *ok = NULL;
        pthread_join(threads[i], &ok);
        n_right += ok != NULL;
    }
    assert_int_equal(n_right, n);
}

bool device_is_host(void) {
    CUdevice dev;
    char name[128] = "";
    return cu->cuCtxGetDevice(&dev) == CUDA_SUCCESS &&
           cu->cuDeviceGetName(name, sizeof name, dev) == CUDA_SUCCESS && strstr(name, "hostcuda");
}

bool device_may_take_long(void) {
    const char *is_long = getenv("TT_LONG");
    return (is_long && *is_long) || getenv("TT_SWEEP") || !device_is_host();
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

static tt_problem problem_of(tt_kernel *kernel, const char *values) {
    tt_problem p = TT_INIT(tt_problem);
    p.kernel = kernel;
    p.values = values;
    return p;
}

tt_status kernel_best(tt_choice *out, tt_kernel *kernel, const char *values) {
    const tt_problem p = problem_of(kernel, values);
    return tt_best(out, kernel->ctx, &p);
}

tt_status kernel_plan(tt_plan **out, tt_kernel *kernel, const char *values) {
    const tt_problem p = problem_of(kernel, values);
    return tt_plan_create(out, kernel->ctx, &p);
}

tt_status kernel_tune(tt_report **out, tt_kernel *kernel, const char *const *values, size_t n,
                      const tt_tune_opts *opts) {
    tt_problem problems[KERNEL_PROBLEMS_MAX];
    assert_true(n <= KERNEL_PROBLEMS_MAX);
    for (size_t i = 0; i < n; i++)
        problems[i] = problem_of(kernel, values[i]);
    return tt_tune(out, kernel->ctx, problems, n, opts);
}

tt__problem matrix_for(const char *op, tt_problem matrix) {
    tt__problem p, copy;
    matrix.size = sizeof matrix;
    matrix.in_place = strcmp(op, "transpose_in_place") == 0;
    OK(tt__matrix_problem(&p, &matrix));
    tt__copy(p.op, sizeof p.op, op);
    if (strcmp(op, "copy") != 0)
        return p;
    assert_true(tt__problem_copy(&copy, &p));
    return copy;
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
