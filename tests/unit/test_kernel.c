/*
 * Constants of a loaded kernel, also those whose names C++ changes, in cubins that NVRTC makes here. What
 * else a launch asks of a kernel. The driver is replaced: it knows what a test gives it.
 */
#include "store_fixture.h"

#include "code/nvrtc.h"
#include "gpu/kernel.h"

enum { EXIT_SKIPPED = 77, BYTES = 16 };

static const char *known; /* the driver finds only this one */

static CUresult load(CUlibrary *out, const void *image, CUjit_option *jit_options, void **jit_values,
                     unsigned n_jit, CUlibraryOption *options, void **values, unsigned n) {
    (void)image, (void)jit_options, (void)jit_values, (void)n_jit, (void)options, (void)values, (void)n;
    *out = (CUlibrary)&known;
    return CUDA_SUCCESS;
}

static CUresult unload(CUlibrary library) {
    return library == (CUlibrary)&known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult get_kernel(CUkernel *out, CUlibrary library, const char *name) {
    (void)library, (void)name;
    *out = (CUkernel)&known;
    return CUDA_SUCCESS;
}

static CUresult get_function(CUfunction *out, CUkernel kernel) {
    *out = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

static int of_code; /* blocks of a cluster along x, by __cluster_dims__ */

static CUresult get_attribute(int *value, CUfunction_attribute attribute, CUfunction fn) {
    (void)fn;
    const bool wide = attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
    const bool other = attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT ||
                       attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH;
    *value = wide ? of_code : other && of_code ? 1 : 0;
    return CUDA_SUCCESS;
}

static int large_clusters;

static CUresult set_attribute(CUfunction fn, CUfunction_attribute attribute, int value) {
    (void)fn;
    large_clusters += attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED && value == 1;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *out) {
    *out = 0;
    return CUDA_SUCCESS;
}

static CUresult get_sms(int *value, CUdevice_attribute attribute, CUdevice device) {
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 100 : 0;
    return CUDA_SUCCESS;
}

static CUresult get_resident(int *n, CUfunction fn, int threads, size_t shared_bytes) {
    (void)fn;
    *n = 1024 / threads - (shared_bytes > 1000);
    return CUDA_SUCCESS;
}

static CUresult get_global(CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name) {
    (void)library;
    if (strcmp(name, known) != 0)
        return CUDA_ERROR_NOT_FOUND;
    *at = 4096;
    *bytes = BYTES;
    return CUDA_SUCCESS;
}

static const tt__driver cu = {.cuLibraryLoadData = load,
                              .cuLibraryUnload = unload,
                              .cuLibraryGetKernel = get_kernel,
                              .cuKernelGetFunction = get_function,
                              .cuFuncGetAttribute = get_attribute,
                              .cuFuncSetAttribute = set_attribute,
                              .cuCtxGetDevice = get_device,
                              .cuDeviceGetAttribute = get_sms,
                              .cuOccupancyMaxActiveBlocksPerMultiprocessor = get_resident,
                              .cuLibraryGetGlobal = get_global};

#define KERNEL "extern \"C\" __global__ void k(float *x) { x[0] = "

static void load_code(tt__kernel *out, const char *code) {
    static const tt__symbols symbols = {.name = {"k"}};
    static const tt__launch launch = {.n_passes = 1};
    tt__str cubin = {0};
    assert_ok(tt__nvrtc_compile(&cubin, "k.cu", code, "", 0, 90));
    assert_ok(tt__kernel_load(out, &cu, cubin.text, cubin.len, &symbols, &launch));
    tt__str_free(&cubin); /* a plan does not keep it */
}

static void finds_what_cpp_calls_otherwise(void **state) {
    (void)state;
    static const struct {
        const char *code, *known;
    } cases[] = {
        {"__constant__ float c[4]; " KERNEL "c[1]; }", "c"},
        {"namespace n { __constant__ float c[4]; } " KERNEL "n::c[1]; }", "_ZN1n1cE"},
        {"namespace a { namespace n1 { __constant__ float c[4]; __constant__ float cc[4]; } } " KERNEL
         "a::n1::c[1]; }",
         "_ZN1a2n11cE"},
        {"namespace c { __constant__ float c[4], d[4]; } " KERNEL "c::c[1] + c::d[1]; }", "_ZN1c1cE"},
        {"template <class T> __constant__ T c[4]; " KERNEL "c<float>[1]; }", "_Z1cIfE"},
        {"template <int N> __constant__ float c[N]; " KERNEL "c<4>[1]; }", "_Z1cILi4EE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__kernel kernel;
        CUdeviceptr at;
        load_code(&kernel, cases[i].code);
        known = cases[i].known;
        assert_ok(tt__kernel_constant(&at, &kernel, &cu, "c", BYTES));
        if (at != 4096)
            fail_msg("%s stays zero", cases[i].known);
        assert_fails(tt__kernel_constant(&at, &kernel, &cu, "c", BYTES + 4), TT_E_TEMPLATE,
                     "the constant c has 16 bytes in the code, but its line says 20");
        tt__kernel_unload(&kernel, &cu);
    }
}

static void refuses_what_it_cannot_fill(void **state) {
    (void)state;
    tt__kernel kernel;
    CUdeviceptr at;
    load_code(&kernel, "namespace n { __constant__ float c[4]; } " KERNEL "n::c[1]; }");
    known = "none";
    assert_fails(tt__kernel_constant(&at, &kernel, &cu, "c", BYTES), TT_E_TEMPLATE,
                 "C++ calls the constant c _ZN1n1cE, and the driver does not find it: declare it outside of "
                 "namespaces");
    assert_ok(tt__kernel_constant(&at, &kernel, &cu, "n", BYTES)); /* no array, so no code uses it */
    assert_true(at == 0);
    tt__kernel_unload(&kernel, &cu);
    load_code(&kernel,
              "namespace n { __constant__ float c[4]; } namespace m { __constant__ float c[4]; } " KERNEL
              "n::c[1] + m::c[1]; }");
    assert_fails(tt__kernel_constant(&at, &kernel, &cu, "c", BYTES), TT_E_TEMPLATE,
                 "the code has two constants c, _ZN1");
    tt__kernel_unload(&kernel, &cu);
}

/* A configuration may leave the constant out. Then arrays of the same last name are others. */
static void leaves_other_arrays_alone(void **state) {
    (void)state;
    static const struct {
        const char *code, *known;
    } cases[] = {
        {"extern \"C\" __global__ void k(int *x) { static __constant__ int c[4] = {4, 3, 1}; x[0] = c[x[1]]; "
         "}",
         "_ZZ1kE1c"},
        {"extern \"C\" __global__ void k(float *x) { static float c[4]; x[0] = c[1]++; }", "_ZZ1kE1c"},
        {"namespace a { __device__ float c[4]; } " KERNEL "a::c[1]++; }", "_ZN1a1cE"},
        {"struct c; template <class T> __constant__ float cc[4]; " KERNEL "cc<c>[1]; }", "_Z2ccI1cE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__kernel kernel;
        CUdeviceptr at;
        load_code(&kernel, cases[i].code);
        known = cases[i].known;
        assert_ok(tt__kernel_constant(&at, &kernel, &cu, "c", BYTES));
        if (at != 0)
            fail_msg("%s is taken for the constant c", known);
        tt__kernel_unload(&kernel, &cu);
    }
}

/* The code takes registers, so fewer blocks may fit at once than a plan of its launch can know. */
static void counts_blocks_that_wait_for_each_other(void **state) {
    (void)state;
    static const tt__symbols symbols = {.name = {"k"}, .foreign = true};
    tt__launch launch = {.n_passes = 1, .passes = {{.grid = {100, 4, 1}, .block = {64, 4, 1}}}};
    tt__pass *pass = &launch.passes[0];
    tt__kernel kernel = {.n_passes = 1};
    pass->cooperative = true;
    assert_ok(tt__kernel_allow(&kernel, &cu, &symbols, &launch));
    pass->shared_bytes = 1024;
    assert_fails(tt__kernel_allow(&kernel, &cu, &symbols, &launch), TT_E_UNSUPPORTED,
                 "k is launched with 400 blocks that wait for each other (`launch cooperative`), and the GPU "
                 "holds 300 of them at once: 3 on each of 100 SMs");
    pass->off = true;
    assert_ok(tt__kernel_allow(&kernel, &cu, &symbols, &launch));
    *pass = (tt__pass){.grid = {100, 4, 1}, .block = {64, 4, 1}, .shared_bytes = 1024};
    assert_ok(tt__kernel_allow(&kernel, &cu, &symbols, &launch));
}

/* The driver must be asked for clusters of more than 8 blocks. What the code asks for must suit the launch.
 */
static void knows_clusters(void **state) {
    (void)state;
    static const tt__symbols symbols = {.name = {"k"}, .foreign = true};
    tt__launch launch = {.n_passes = 1, .passes = {{.grid = {96, 8, 1}, .block = {64, 1, 1}}}};
    tt__kernel kernel;
    tt__str cubin = {0};
    assert_ok(tt__nvrtc_compile(&cubin, "k.cu", KERNEL "1; }", "", 0, 90));
    for (unsigned i = 1; i <= 2; i++) {
        const uint8_t dims[3] = {8, (uint8_t)i, 1};
        memcpy(launch.passes[0].cluster, dims, sizeof dims);
        assert_ok(tt__kernel_load(&kernel, &cu, cubin.text, cubin.len, &symbols, &launch));
        tt__kernel_unload(&kernel, &cu);
        assert_int_equal(large_clusters, i - 1);
    }
    of_code = 4;
    assert_fails(
        tt__kernel_load(&kernel, &cu, cubin.text, cubin.len, &symbols, &launch), TT_E_TEMPLATE,
        "`cluster` of k is 8, 2, 1, but __cluster_dims__ in its code says 4, 1, 1: take one of the two "
        "away");
    launch.passes[0].cluster[0] = 0;
    assert_ok(tt__kernel_load(&kernel, &cu, cubin.text, cubin.len, &symbols, &launch));
    tt__kernel_unload(&kernel, &cu);
    launch.passes[0].grid[0] = 95;
    assert_fails(tt__kernel_load(&kernel, &cu, cubin.text, cubin.len, &symbols, &launch), TT_E_TEMPLATE,
                 "a grid of k has 95x8x1 blocks, which is no multiple of its clusters of 4x1x1");
    of_code = 0;
    tt__str_free(&cubin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_cpp_calls_otherwise),
        cmocka_unit_test(refuses_what_it_cannot_fill),
        cmocka_unit_test(leaves_other_arrays_alone),
        cmocka_unit_test(counts_blocks_that_wait_for_each_other),
        cmocka_unit_test(knows_clusters),
    };
    if (tt__nvrtc_open() != TT_OK) {
        print_message("%s\n", tt_last_error());
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
