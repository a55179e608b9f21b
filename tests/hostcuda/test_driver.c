/* The driver stand-in's rules, its clock, and the scripted faults. */
#include "harness.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#define PASSES(environment, fn) assert_int_equal(harness_child(environment, fn, 60), 0)

static const char fill[] = "extern \"C\" __global__ void __launch_bounds__(512)\n"
                           "fill(unsigned char *out, long long n) {\n"
                           "    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "    if (i < n) out[i] = (unsigned char)(VALUE + i);\n"
                           "}\n";

static CUfunction fill_kernel(const char *options) {
    harness_open_context();
    return harness_kernel(fill, options, "fill");
}

static int run_parameters(void) {
    CUfunction fn = fill_kernel("-DVALUE=1 -arch=sm_90");
    CUresult (*get)(CUfunction, size_t, size_t *, size_t *);
    void *symbol = harness_driver_symbol("cuFuncGetParamInfo");
    size_t offset = 99, size = 99;
    memcpy(&get, &symbol, sizeof get);
    OK(get(fn, 1, &offset, &size));
    CHECK(offset == 8 && size == 8);
    OK(get(fn, 0, &offset, NULL));
    CHECK(offset == 0);
    CHECK_CU(get(fn, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    return 0;
}

static void test_parameters(void **state) {
    (void)state;
    PASSES("", run_parameters);
}

static int run_without_context(void) {
    CUdeviceptr p;
    CUcontext ctx;
    CUdevice device;
    harness_open_driver();
    CHECK_CU(cu.cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
    OK(cu.cuInit(0));
    CHECK_CU(cu.cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    OK(cu.cuDeviceGet(&device, 0));
    CHECK_CU(cu.cuMemAlloc(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_CU(cu.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    OK(cu.cuCtxGetCurrent(&ctx));
    CHECK(ctx == NULL);
    OK(cu.cuDevicePrimaryCtxRetain(&ctx, device));
    OK(cu.cuCtxSetCurrent(ctx));
    OK(cu.cuMemAlloc(&p, 4));
    OK(cu.cuDevicePrimaryCtxRelease(device));
    CHECK_CU(cu.cuMemAlloc(&p, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    int (*live)(void);
    void *symbol = harness_driver_symbol("hostcuda_live_objects");
    memcpy(&live, &symbol, sizeof live);
    CHECK(live() == 0);
    return 0;
}

static int run_memory(void) {
    CUdeviceptr a, b;
    size_t free_bytes, total;
    char bytes[64];
    void *host;
    harness_open_context();
    CHECK_CU(cu.cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cu.cuMemAlloc(&a, 600000));
    CHECK(a % 256 == 0);
    CHECK_CU(cu.cuMemAlloc(&b, 600000), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cu.cuMemGetInfo(&free_bytes, &total));
    CHECK(total == 1000000 && free_bytes == 400000);
    CHECK_CU(cu.cuMemcpyHtoD(a + 600000 - 32, bytes, 33), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cu.cuMemcpyDtoH(bytes, a - 1, 2), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cu.cuMemsetD8Async(a + 600000, 0, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cu.cuMemFree(a + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cu.cuMemFree(a));
    CHECK_CU(cu.cuMemFree(a), CUDA_ERROR_INVALID_VALUE);
    OK(cu.cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cu.cuMemHostGetDevicePointer(&b, host, 0));
    OK(cu.cuMemsetD8Async(b, 7, 64, NULL));
    CHECK(((char *)host)[63] == 7);
    CHECK_CU(cu.cuStreamWaitValue32(NULL, b, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
    OK(cu.cuMemFreeHost(host));
    return 0;
}

static int run_launch_limits(void) {
    static const struct {
        unsigned gx, gy, gz, bx, by, bz, shared;
        CUresult want;
    } cases[] = {
        {1, 1, 1, 512, 1, 1, 0, CUDA_SUCCESS},
        {1, 65535, 1, 1, 1, 1, 0, CUDA_SUCCESS},
        {1, 1, 1, 513, 1, 1, 0, CUDA_ERROR_INVALID_VALUE}, /* __launch_bounds__ */
        {1, 1, 1, 1025, 1, 1, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 1, 1, 1, 1, 65, 0, CUDA_ERROR_INVALID_VALUE},
        {0, 1, 1, 1, 1, 1, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 1, 1, 1, 0, 1, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 65536, 1, 1, 1, 1, 0, CUDA_ERROR_INVALID_VALUE},
        {1, 1, 1, 1, 1, 1, 49152, CUDA_SUCCESS},
        {1, 1, 1, 1, 1, 1, 49153, CUDA_ERROR_INVALID_VALUE},
    };
    CUfunction fn = fill_kernel("-DVALUE=1 -arch=sm_90");
    CUdeviceptr p = harness_alloc(512);
    long long n = 512;
    void *args[] = {&p, &n};
    int value;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_CU(cu.cuLaunchKernel(fn, cases[i].gx, cases[i].gy, cases[i].gz, cases[i].bx, cases[i].by,
                                   cases[i].bz, cases[i].shared, NULL, args, NULL),
                 cases[i].want);
    OK(cu.cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
    OK(harness_launch(fn, 1, 1, 1, 232448, args));
    CHECK_CU(cu.cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449),
             CUDA_ERROR_INVALID_VALUE);
    OK(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fn));
    CHECK(value == 512);
    CHECK_CU(harness_launch(NULL, 1, 1, 1, 0, args), CUDA_ERROR_INVALID_HANDLE);
    return 0;
}

static int run_wrong_arch(void) {
    size_t n;
    CUmodule m;
    char *cubin = harness_compile(fill, "-DVALUE=1 -arch=sm_80", &n, NULL);
    harness_open_context();
    CHECK_CU(cu.cuModuleLoadData(&m, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_CU(cu.cuModuleLoadData(&m, "\177ELF none of ours"), CUDA_ERROR_INVALID_IMAGE);
    free(cubin);
    return 0;
}

static int run_old_driver(void) {
    size_t n;
    CUmodule m;
    char *cubin = harness_compile(fill, "-DVALUE=1 -arch=sm_90", &n, NULL);
    harness_open_context();
    CHECK_CU(cu.cuModuleLoadData(&m, cubin), CUDA_ERROR_INVALID_IMAGE);
    free(cubin);
    return 0;
}

static int run_device(void) {
    int n, major, minor, version, l2;
    char name[64];
    harness_open_driver();
    OK(cu.cuInit(0));
    OK(cu.cuDeviceGetCount(&n));
    OK(cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2));
    OK(cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 2));
    OK(cu.cuDeviceGetAttribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 2));
    OK(cu.cuDeviceGetName(name, sizeof name, 2));
    OK(cu.cuDriverGetVersion(&version));
    CHECK(n == 3 && major == 8 && minor == 6 && strcmp(name, "toy") == 0 && version == 12040 && l2 == 4096);
    return 0;
}

static int child_of_initialised(void) {
    return cu.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1;
}

static int run_fork(void) {
    harness_open_context();
    return harness_child("", child_of_initialised, 10);
}

static void test_rules(void **state) {
    (void)state;
    PASSES("", run_without_context);
    PASSES("HOSTCUDA_MEMORY=1000000", run_memory);
    PASSES("", run_launch_limits);
    PASSES("", run_wrong_arch);
    PASSES("HOSTCUDA_DRIVER_VERSION=12040", run_old_driver);
    PASSES("HOSTCUDA_NVRTC_VERSION=12.4|HOSTCUDA_DRIVER_VERSION=12040", run_launch_limits);
    PASSES(
        "HOSTCUDA_DEVICES=3|HOSTCUDA_CC=86|HOSTCUDA_NAME=toy|HOSTCUDA_DRIVER_VERSION=12040|HOSTCUDA_L2=4096",
        run_device);
    PASSES("", run_fork);
}

/* ---- Virtual time ------------------------------------------------------------------------------------- */

static float time_fill(CUfunction fn, unsigned threads) {
    CUdeviceptr p = harness_alloc(1 << 16);
    long long n = 1 << 16;
    void *args[] = {&p, &n};
    CUevent start, stop;
    float ms;
    OK(cu.cuEventCreate(&start, 0));
    OK(cu.cuEventCreate(&stop, 0));
    CHECK_CU(cu.cuEventElapsedTime(&ms, start, stop), CUDA_ERROR_INVALID_HANDLE);
    OK(cu.cuEventRecord(start, NULL));
    OK(harness_launch(fn, (1 << 16) / threads, threads, 1, 0, args));
    OK(cu.cuEventRecord(stop, NULL));
    OK(cu.cuEventSynchronize(stop));
    OK(cu.cuEventElapsedTime(&ms, start, stop));
    OK(cu.cuEventDestroy(start));
    OK(cu.cuEventDestroy(stop));
    OK(cu.cuMemFree(p));
    return ms;
}

static int run_clock(void) {
    CUfunction fn = fill_kernel("-DVALUE=1 -arch=sm_90");
    const float at_256 = time_fill(fn, 256), at_32 = time_fill(fn, 32);
    CHECK(at_256 > 0.002f && at_256 < at_32 && at_32 < 0.1f);
    const float diff = time_fill(fn, 256) / at_256 - 1;
    CHECK(diff < 1e-3f && diff > -1e-3f);
    return 0;
}

static int run_noise(void) {
    CUfunction fn = fill_kernel("-DVALUE=1 -arch=sm_90");
    float low = 1e9f, high = 0;
    for (int i = 0; i < 50; i++) {
        const float ms = time_fill(fn, 256);
        low = ms < low ? ms : low;
        high = ms > high ? ms : high;
    }
    CHECK(high / low > 1.05f && high / low < 1.23f);
    return 0;
}

static int run_slow(void) {
    CUfunction fn = fill_kernel("-DVALUE=1 -arch=sm_90"),
               slow = harness_kernel(fill, "-DVALUE=2 -arch=sm_90", "fill");
    const float ratio = time_fill(slow, 256) / time_fill(fn, 256);
    CHECK(ratio > 2.99f && ratio < 3.01f);
    return 0;
}

/* Timed launches beyond the first ones take time, but do nothing; all others do what they always do. */
static int run_skipped(void) {
    CUfunction fn = fill_kernel("-DVALUE=1 -arch=sm_90");
    CUdeviceptr p = harness_alloc(256);
    CUevent event;
    long long n = 256;
    void *args[] = {&p, &n};
    OK(cu.cuEventCreate(&event, 0));
    for (int i = 0; i < 6; i++) {
        unsigned char byte;
        OK(cu.cuMemsetD8Async(p, 77, 256, NULL));
        if (i != 3)
            OK(cu.cuEventRecord(event, NULL));
        if (i == 4)
            OK(cu.cuCtxSynchronize());
        OK(harness_launch(fn, 1, 256, 1, 0, args));
        OK(cu.cuMemcpyDtoH(&byte, p, 1));
        CHECK(byte == (i == 2 || i == 5 ? 77 : 1));
    }
    CHECK(time_fill(fn, 256) > 0.002f);
    OK(cu.cuEventDestroy(event));
    return 0;
}

/* The launch right before an event, too, runs the first times only, wherever its arguments lie by then. A
 * launch that no event follows runs. */
static int run_prepared(void) {
    CUfunction fn = fill_kernel("-DVALUE=1 -arch=sm_90");
    CUdeviceptr p = harness_alloc(256);
    CUevent event;
    OK(cu.cuEventCreate(&event, 0));
    for (int i = 0; i < 6; i++) {
        unsigned char byte;
        CUdeviceptr to = p;
        long long n = 256;
        void *args[] = {&to, &n};
        OK(cu.cuMemsetD8Async(p, 77, 256, NULL));
        OK(harness_launch(fn, 1, 256, 1, 0, args));
        to = 0;
        if (i != 3)
            OK(cu.cuEventRecord(event, NULL));
        OK(cu.cuCtxSynchronize());
        OK(cu.cuMemcpyDtoH(&byte, p, 1));
        CHECK(byte == (i == 2 || i > 3 ? 77 : 1));
    }
    OK(cu.cuEventDestroy(event));
    return 0;
}

/* All launches of a timed graph are timed, so those beyond the first ones only take time. Others run. */
static int run_graph(void) {
    CUfunction fn = fill_kernel("-DVALUE=1 -arch=sm_90");
    const CUdeviceptr p = harness_alloc(512);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUevent events[2];
    OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cu.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (unsigned i = 0; i < 2; i++) {
        CUdeviceptr to = p + 256 * i;
        long long n = 256;
        void *args[] = {&to, &n};
        OK(cu.cuLaunchKernel(fn, 1, 1, 1, 256, 1, 1, 0, stream, args, NULL));
        OK(cu.cuEventCreate(&events[i], 0));
    }
    OK(cu.cuStreamEndCapture(stream, &graph));
    OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 4; i++) {
        const bool is_timed = i % 2 == 0;
        unsigned char bytes[512];
        float ms = 0;
        OK(cu.cuMemsetD8Async(p, 77, sizeof bytes, stream));
        if (is_timed)
            OK(cu.cuEventRecord(events[0], stream));
        OK(cu.cuGraphLaunch(exec, stream));
        if (is_timed)
            OK(cu.cuEventRecord(events[1], stream));
        OK(cu.cuStreamSynchronize(stream));
        if (is_timed)
            OK(cu.cuEventElapsedTime(&ms, events[0], events[1]));
        CHECK(!is_timed || ms > 0.004f);
        OK(cu.cuMemcpyDtoH(bytes, p, sizeof bytes));
        for (int k = 0; k < 2; k++)
            CHECK(bytes[256 * k] == (i == 2 ? 77 : 1));
    }
    OK(cu.cuGraphExecDestroy(exec));
    OK(cu.cuGraphDestroy(graph));
    OK(cu.cuStreamDestroy(stream));
    return 0;
}

static void test_clock(void **state) {
    (void)state;
    PASSES("", run_clock);
    PASSES("HOSTCUDA_NOISE=10|HOSTCUDA_SEED=3", run_noise);
    PASSES("HOSTCUDA_FAULTS=VALUE=2:slow=3", run_slow);
    PASSES("HOSTCUDA_EXECUTE=2", run_skipped);
    PASSES("HOSTCUDA_EXECUTE=2", run_prepared);
    PASSES("HOSTCUDA_EXECUTE=2", run_graph);
}

/* ---- Faults ------------------------------------------------------------------------------------------- */

enum outcome { FINE, NOT_COMPILED, NOT_LOADED, NOT_LAUNCHED, STICKY, FEW_WRONG, MANY_WRONG, BEFORE_WRITTEN };

/* Compiles and runs `fill` between guard bands, and says what became of it. */
static int run_fill(void) {
    enum { GUARD = 256, N = 1000 };
    unsigned char got[GUARD + N + GUARD];
    size_t n_cubin, wrong = 0;
    char *cubin = harness_compile(fill, "-DVALUE=1 -DOTHER=5 -arch=sm_90", &n_cubin, NULL);
    CUmodule module;
    CUfunction fn;
    if (!cubin)
        return NOT_COMPILED;
    harness_open_context();
    if (cu.cuModuleLoadData(&module, cubin) != CUDA_SUCCESS)
        return NOT_LOADED;
    free(cubin);
    OK(cu.cuModuleGetFunction(&fn, module, "fill"));
    CUdeviceptr base = harness_alloc(sizeof got), p = base + GUARD;
    long long n = N;
    void *args[] = {&p, &n};
    OK(cu.cuMemsetD8Async(base, 0xEE, sizeof got, NULL));
    const CUresult r = harness_launch(fn, 4, 256, 1, 0, args);
    if (r != CUDA_SUCCESS)
        return r == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ? NOT_LAUNCHED : 97;
    if (cu.cuCtxSynchronize() != CUDA_SUCCESS) {
        CHECK_CU(cu.cuMemcpyDtoH(got, base, sizeof got), CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK_CU(cu.cuMemAlloc(&p, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
        return STICKY;
    }
    OK(cu.cuMemcpyDtoH(got, base, sizeof got));
    for (size_t i = 0; i < N; i++)
        wrong += got[GUARD + i] != (unsigned char)(1 + i);
    for (size_t i = 0; i < GUARD; i++)
        CHECK(got[GUARD + N + i] == 0xEE);
    if (got[GUARD - 1] != 0xEE)
        return BEFORE_WRITTEN;
    return wrong == 0 ? FINE : wrong == 1 ? FEW_WRONG : MANY_WRONG;
}

static void test_faults(void **state) {
    (void)state;
    static const struct {
        const char *rules;
        int want;
    } cases[] = {
        {"", FINE},
        {"VALUE=2:crash;VALUE=1,OTHER=6:hang;kernel=other:hang", FINE},
        {"VALUE=1:compile_error", NOT_COMPILED},
        {"VALUE=1:compile_hang", -SIGALRM},
        {"VALUE=1:compile_crash", -SIGABRT},
        {"VALUE=1:compile_slow=5", FINE},
        {":load_error", NOT_LOADED},
        {"VALUE=1,OTHER=5:launch_error", NOT_LAUNCHED},
        {"kernel=fill:hang", -SIGALRM},
        {"OTHER=5,kernel=fill:illegal_address", STICKY},
        {"VALUE=1:crash", -SIGSEGV},
        {"VALUE=1:wrong", MANY_WRONG},
        {"VALUE=1:wrong_once", FEW_WRONG},
        {"VALUE=1:oob", BEFORE_WRITTEN},
        {"VALUE=1:slow=2", FINE},
        {"VALUE=1:nonsense", -SIGABRT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char environment[256];
        snprintf(environment, sizeof environment, "HOSTCUDA_FAULTS=%s", cases[i].rules);
        const int got = harness_child(environment, run_fill, cases[i].want == -SIGALRM ? 1 : 60);
        if (got != cases[i].want)
            fail_msg("%s: %d, not %d", environment, got, cases[i].want);
    }
}

static int run_init(void) {
    harness_open_driver();
    return (int)cu.cuInit(0) % 256;
}

static int run_allocs(void) {
    CUdeviceptr p;
    harness_open_context();
    OK(cu.cuMemAlloc(&p, 4));
    CHECK_CU(cu.cuMemAlloc(&p, 4), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cu.cuMemAlloc(&p, 4));
    return 0;
}

static int run_calls(void) {
    int n;
    harness_open_driver();
    OK(cu.cuInit(0));
    CHECK_CU(cu.cuDeviceGetCount(&n), CUDA_ERROR_UNKNOWN);
    OK(cu.cuDeviceGetCount(&n));
    return 0;
}

static void test_driver_faults(void **state) {
    (void)state;
    assert_int_equal(harness_child("HOSTCUDA_FAULTS=driver:no_device", run_init, 10), CUDA_ERROR_NO_DEVICE);
    assert_int_equal(harness_child("HOSTCUDA_DEVICES=0", run_init, 10), CUDA_ERROR_NO_DEVICE);
    assert_int_equal(harness_child("HOSTCUDA_FAULTS=driver:init_error", run_init, 10),
                     CUDA_ERROR_UNKNOWN % 256);
    PASSES("HOSTCUDA_FAULTS=driver:alloc_fails=2", run_allocs);
    PASSES("HOSTCUDA_FAULTS=driver:call_fails=2", run_calls);
}

const struct CMUnitTest driver_tests[] = {
    cmocka_unit_test(test_parameters), cmocka_unit_test(test_rules),         cmocka_unit_test(test_clock),
    cmocka_unit_test(test_faults),     cmocka_unit_test(test_driver_faults),
};
const size_t n_driver_tests = sizeof driver_tests / sizeof *driver_tests;
