/* The stand-ins themselves: do kernels compute what CUDA would, and does everything fail as scripted? */
#include "harness.h"

#include <dlfcn.h>
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

/* ---- The templates ------------------------------------------------------------------------------------ */

typedef struct shape {
    int64_t rows, cols, lds, ldd;
} shape;

typedef struct config {
    unsigned tile, block_rows, pad, unroll, order, elem_size;
} config;

static unsigned ceil_div(int64_t a, int64_t b) {
    return (unsigned)((a + b - 1) / b);
}

static void fill_random(unsigned char *bytes, size_t n) {
    uint32_t x = 12345;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(x >> 24);
    }
}

static void transpose(unsigned char *dst, const unsigned char *src, const shape *s, size_t elem) {
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t c = 0; c < s->cols; c++)
            memcpy(dst + (size_t)(c * s->ldd + r) * elem, src + (size_t)(r * s->lds + c) * elem, elem);
}

static void check_transpose(CUfunction fn, const config *c, shape s) {
    const size_t n_src = (size_t)((s.rows - 1) * s.lds + s.cols) * c->elem_size;
    const size_t n_dst = (size_t)((s.cols - 1) * s.ldd + s.rows) * c->elem_size;
    unsigned char *src = malloc(n_src), *want = malloc(n_dst), *got = malloc(n_dst);
    CUdeviceptr d_src = harness_alloc(n_src), d_dst = harness_alloc(n_dst);
    unsigned unroll = c->unroll, order = c->order;
    int batch = 1;
    int64_t stride = 0;
    void *args[] = {&d_dst, &d_src,  &s.rows, &s.cols, &s.lds, &s.ldd,
                    &batch, &stride, &stride, &unroll, &order};
    fill_random(src, n_src);
    memset(want, 0x77, n_dst);
    transpose(want, src, &s, c->elem_size);
    OK(cu.cuMemcpyHtoD(d_src, src, n_src));
    OK(cu.cuMemsetD8Async(d_dst, 0x77, n_dst, NULL));
    const unsigned across = ceil_div(s.cols, c->tile), down = ceil_div(s.rows, c->tile * c->unroll);
    OK(cu.cuLaunchKernel(fn, order == 0 ? across : down, order == 0 ? down : across, 1, c->tile,
                         c->block_rows, 1, c->tile * (c->tile + c->pad) * c->elem_size, NULL, args, NULL));
    OK(cu.cuCtxSynchronize());
    OK(cu.cuMemcpyDtoH(got, d_dst, n_dst));
    CHECK(memcmp(got, want, n_dst) == 0);
    OK(cu.cuMemFree(d_src));
    OK(cu.cuMemFree(d_dst));
    free(src);
    free(want);
    free(got);
}

static int run_transposes(void) {
    static const config configs[] = {{16, 4, 0, 1, 0, 1},  {32, 8, 1, 1, 0, 4},   {32, 32, 2, 2, 1, 2},
                                     {64, 16, 1, 4, 1, 8}, {128, 8, 1, 2, 0, 16}, {64, 2, 4, 8, 0, 4}};
    static const shape shapes[] = {
        {1, 1, 1, 1},       {1, 77, 77, 1},     {77, 1, 3, 77},       {32, 32, 32, 32},
        {64, 128, 128, 64}, {129, 65, 70, 130}, {200, 333, 340, 208},
    };
    char *source = harness_template("transpose_tiled.cu"), options[256];
    harness_open_context();
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        const config *c = &configs[i];
        snprintf(options, sizeof options,
                 "-arch=sm_90 -DTILE_DIM=%u -DBLOCK_ROWS=%u -DPAD=%u -DEDGES=1 -DBATCHED=%u -DELEM_SIZE=%u",
                 c->tile, c->block_rows, c->pad, (unsigned)i % 2, c->elem_size);
        CUfunction fn = harness_kernel(source, options, "transpose_tiled");
        OK(cu.cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            if (c->tile * (c->tile + c->pad) * c->elem_size <= 232448)
                check_transpose(fn, c, shapes[k]);
    }
    free(source);
    return 0;
}

static int run_copies(void) {
    static const size_t sizes[] = {1, 15, 16, 4096, 100003};
    char *source = harness_template("copy_linear.cu");
    static unsigned char from[100003], to[100003];
    harness_open_context();
    CUfunction fn = harness_kernel(
        source, "-DVEC=16 -DKEEP=0 -DWHOLE=0 -DELEM_SIZE=1 -D ANY=128 --define-macro=UNROLL=2 -arch=sm_90",
        "copy_linear");
    fill_random(from, sizeof from);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = (int64_t)sizes[i];
        CUdeviceptr src = harness_alloc(sizes[i]), dst = harness_alloc(sizes[i]);
        int32_t stream = i % 2;
        void *args[] = {&dst, &src, &n, &stream};
        OK(cu.cuMemcpyHtoD(src, from, sizes[i]));
        OK(harness_launch(fn, ceil_div(n, 128 * 2 * 16), 128, 1, 0, args));
        OK(cu.cuMemcpyDtoH(to, dst, sizes[i]));
        CHECK(memcmp(from, to, sizes[i]) == 0);
    }
    free(source);
    return 0;
}

static void test_templates(void **state) {
    (void)state;
    PASSES("", run_transposes);
    PASSES("", run_copies);
}

/* ---- The language ------------------------------------------------------------------------------------- */

/* Every thread leaves what it finds; what is right is worked out below, thread by thread. */
static const char language[] =
    "#define N 96\n"
    "/* extern __shared__ int no[]; */ extern __shared__ __align__(16) unsigned\n"
    "    all[];\n"
    "struct pair { unsigned line; };\n"
    "extern \"C\" __global__ void __launch_bounds__(N, 1) language(unsigned *out, const unsigned *in) {\n"
    "    __shared__ unsigned turn[N];\n"
    "    extern __shared__ unsigned rows[][4];\n"
    "    const unsigned t = threadIdx.x + threadIdx.y * blockDim.x, lane = t % 32;\n"
    "    turn[N - 1 - t] = t * 3 + blockIdx.x;\n"
    "    __syncthreads();\n"
    "    unsigned v = turn[t];\n" /* (N - 1 - t) * 3 + block */
    "    __syncthreads();\n"
    "    all[t] = v;\n"
    "    turn[t] = 0;\n"
    "    __syncthreads();\n"
    "    unsigned *o = out + (blockIdx.x * N + t) * 12;\n"
    "    o[0] = rows[(N - 1 - t) / 4][(N - 1 - t) % 4];\n" /* t * 3 + block */
    "    o[1] = __byte_perm(in[0], in[1], 0x7f30u);\n"
    "    o[2] = __shfl_sync(0xffffffffu, t, 5) + __shfl_sync(0xffffffffu, t, 9, 8);\n"
    "    o[3] = __shfl_xor_sync(0xffffffffu, t, 1);\n"
    "    o[4] = __shfl_up_sync(0xffffffffu, t, 1) * 1000 + __shfl_down_sync(0xffffffffu, t, 1);\n"
    "    o[5] = __ballot_sync(0xffffffffu, lane & 1);\n"
    "    o[6] = __funnelshift_l(in[0], in[1], 8) ^ __funnelshift_rc(in[0], in[1], 40);\n"
    "    o[7] = __popc(in[0]) * 100 + __clz(in[2]) * 10 + __ffs(8);\n"
    "    o[8] = __brev(1u) + __umulhi(0x80000000u, 6);\n"
    "    o[9] = __LINE__;\n"
    "    atomicAdd(&turn[0], 1u); atomicMax(&turn[1], t); atomicCAS(&turn[2], 0u, 7u);\n"
    "    __syncthreads();\n"
    "    o[10] = turn[0] * 1000 + turn[1] * 10 + turn[2];\n"
    "    uint4 wide = __ldg((const uint4 *)in);\n"
    "    __stcs(o + 11, wide.x + min(3, 2) + max(1u, 4u));\n"
    "}\n"
    "extern \"C\" __global__ void\n#if N > 32\n__launch_bounds__(N)\n#endif\nquitters(unsigned *out, "
    "unsigned stay) {\n"
    "    __shared__ unsigned left;\n"
    "    if (threadIdx.x == 0) left = 41;\n"
    "    if (threadIdx.x >= stay) return;\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 1) out[0] = left + 1;\n"
    "}\n"
    "extern \"C\" __global__ void stuck() { if (threadIdx.x == 0) __syncwarp(); else __syncthreads(); }\n"
    "extern \"C\" __global__ void lanes(unsigned *out, float one) {\n"
    "    const unsigned lane = threadIdx.x % 32;\n"
    "    if (lane == 3) return;\n"
    "    __syncwarp();\n"
    "    if (lane < 16) __syncwarp(0xffffu);\n"
    "    __syncthreads();\n"
    "    atomicAdd(out, (unsigned)(expf(one) * 100));\n"
    "}\n"
    "extern \"C\" __global__ void trap(unsigned at) { if (threadIdx.x == at) __trap(); __syncthreads(); }\n"
    "extern \"C\" __global__ void past(char *p, long long i) { p[i] = 1; }\n"
    "extern \"C\" __global__ void slanted(char *p, long long i) { *(unsigned *)(p + i) = 1; }\n"
    "__global__ void mangled() {}\n";

static unsigned expected(unsigned field, unsigned block, unsigned t) {
    const unsigned warp = t / 32 * 32, lane = t % 32;
    const unsigned want[] = {
        t * 3 + block,
        0x88881144u, /* bytes 7, 7 (of 15, bit 3 does not count), 3, 0 */
        warp + 5 + (t / 8 * 8 + 1),
        t ^ 1,
        (lane ? t - 1 : t) * 1000 + (lane < 31 ? t + 1 : t),
        0xAAAAAAAAu,
        0x77665511u ^ 0x88776655u,
        10 * 100 + 24 * 10 + 4,
        0x80000000u + 3,
        26,
        96 * 1000 + 95 * 10 + 7,
        0x11223344u + 2 + 4,
    };
    return want[field];
}

static int run_language(void) {
    enum { N = 96, BLOCKS = 3, FIELDS = 12 };
    static unsigned out[BLOCKS * N * FIELDS];
    const unsigned in[] = {0x11223344u, 0x88776655u, 0xFFu, 0};
    harness_open_context();
    CUfunction fn = harness_kernel(language, "-arch=sm_90", "language");
    CUdeviceptr d_out = harness_alloc(sizeof out), d_in = harness_alloc(sizeof in);
    void *args[] = {&d_out, &d_in};
    OK(cu.cuMemcpyHtoD(d_in, in, sizeof in));
    OK(harness_launch(fn, BLOCKS, 48, 2, N * 4, args));
    OK(cu.cuMemcpyDtoH(out, d_out, sizeof out));
    for (unsigned i = 0; i < BLOCKS * N * FIELDS; i++)
        if (out[i] != expected(i % FIELDS, i / FIELDS / N, i / FIELDS % N)) {
            fprintf(stderr, "field %u, thread %u: %#x, not %#x\n", i % FIELDS, i / FIELDS % N, out[i],
                    expected(i % FIELDS, i / FIELDS / N, i / FIELDS % N));
            return 1;
        }
    return 0;
}

/* Threads run one after the other, not in step: a barrier left out shows. */
static int run_barriers(void) {
    enum { N = 64, ROUNDS = 2 };
    static const char source[] = "extern \"C\" __global__ void mirror(unsigned char *out) {\n"
                                 "    __shared__ unsigned char s[64];\n"
                                 "    for (int round = 0; round < 2; round++) {\n"
                                 "        s[threadIdx.x] = round * 64 + threadIdx.x;\n"
                                 "        FIRST;\n"
                                 "        out[round * 64 + threadIdx.x] = s[63 - threadIdx.x];\n"
                                 "        SECOND;\n"
                                 "    }\n"
                                 "}\n";
    static const char *const options[] = {"-arch=sm_90 -DFIRST=__syncthreads() -DSECOND=__syncthreads()",
                                          "-arch=sm_90 -DFIRST= -DSECOND=__syncthreads()",
                                          "-arch=sm_90 -DFIRST=__syncthreads() -DSECOND="};
    harness_open_context();
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        unsigned char out[ROUNDS * N];
        CUdeviceptr p = harness_alloc(sizeof out);
        void *args[] = {&p};
        size_t wrong = 0;
        OK(harness_launch(harness_kernel(source, options[k], "mirror"), 1, N, 1, 0, args));
        OK(cu.cuMemcpyDtoH(out, p, sizeof out));
        for (size_t i = 0; i < sizeof out; i++)
            wrong += out[i] != i / N * N + N - 1 - i % N;
        CHECK((wrong > 0) == (k > 0));
    }
    return 0;
}

static CUfunction language_kernel(const char *name) {
    harness_open_context();
    return harness_kernel(language, "-arch=sm_90", name);
}

static int run_quitters(void) {
    CUfunction fn = language_kernel("quitters");
    CUdeviceptr out = harness_alloc(4);
    unsigned stay = 40, got = 0;
    void *args[] = {&out, &stay};
    OK(harness_launch(fn, 1, 128, 1, 0, args));
    OK(cu.cuMemcpyDtoH(&got, out, 4));
    CHECK(got == 42);
    return 0;
}

/* A lane has ended, the last warp has few lanes, and half of the first one waits while the rest wait for the
 * block. */
static int run_lanes(void) {
    CUfunction fn = language_kernel("lanes");
    CUdeviceptr out = harness_alloc(4);
    unsigned got = 0;
    float one = 1;
    void *args[] = {&out, &one};
    OK(cu.cuMemcpyHtoD(out, &got, 4));
    OK(harness_launch(fn, 1, 40, 1, 0, args));
    OK(cu.cuMemcpyDtoH(&got, out, 4));
    CHECK(got == 38 * 271);
    return 0;
}

static int run_stuck(void) {
    CUfunction fn = language_kernel("stuck");
    CUdeviceptr p;
    OK(harness_launch(fn, 2, 64, 1, 0, NULL));
    CHECK_CU(cu.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    CHECK_CU(cu.cuMemAlloc(&p, 4), CUDA_ERROR_LAUNCH_FAILED);
    return 0;
}

static int run_trap(void) {
    CUfunction fn = language_kernel("trap");
    unsigned at = 7;
    void *args[] = {&at};
    OK(harness_launch(fn, 2, 64, 1, 0, args));
    CHECK_CU(cu.cuStreamSynchronize(NULL), CUDA_ERROR_LAUNCH_FAILED);
    return 0;
}

static CUresult run_quietly(const char *kernel, long long i) {
    CHECK(freopen("/dev/null", "w", stderr));
    CUfunction fn = language_kernel(kernel);
    CUdeviceptr p = harness_alloc(1000);
    void *args[] = {&p, &i};
    OK(harness_launch(fn, 1, 1, 1, 0, args));
    return cu.cuCtxSynchronize();
}

static int run_past(void) {
    CHECK_CU(run_quietly("past", 1000), CUDA_ERROR_ILLEGAL_ADDRESS);
    return 0;
}

static int run_slanted(void) {
    CHECK_CU(run_quietly("slanted", 2), CUDA_ERROR_MISALIGNED_ADDRESS);
    return 0;
}

static int run_not_found(void) {
    size_t n;
    char *cubin = harness_compile(language, "-arch=sm_90", &n, NULL);
    CUmodule m;
    CUfunction fn;
    harness_open_context();
    OK(cu.cuModuleLoadData(&m, cubin));
    CHECK_CU(cu.cuModuleGetFunction(&fn, m, "mangled"), CUDA_ERROR_NOT_FOUND);
    CHECK_CU(cu.cuModuleGetFunction(&fn, m, "nothing"), CUDA_ERROR_NOT_FOUND);
    OK(cu.cuModuleUnload(m));
    free(cubin);
    return 0;
}

static int run_bad_source(void) {
    size_t n;
    char *log;
    CHECK(!harness_compile("\n\nextern \"C\" __global__ void k() { nonsense; }", "-arch=sm_90", &n, &log));
    CHECK(strstr(log, "test.cu:3:") && strstr(log, "nonsense"));
    free(log);
    CHECK(!harness_compile("", "-arch=sm_12", &n, &log));
    CHECK(strstr(log, "gpu-architecture"));
    free(log);
    return 0;
}

/* Cached kernels need no compiler; all others do. */
static int run_cached(void) {
    static const char source[] = "extern \"C\" __global__ void k(int *p) { *p = VALUE; }";
    size_t n, n_again;
    char *first = harness_compile(source, "-arch=sm_90 -DVALUE=1", &n, NULL);
    CHECK(first);
    setenv("HOSTCUDA_CXX", "/nonexistent", 1);
    CHECK(!harness_compile(source, "-arch=sm_90 -DVALUE=1", &n, NULL)); /* the compiler counts, too */
    unsetenv("HOSTCUDA_CXX");
    setenv("PATH", "/nonexistent", 1);
    char *again = harness_compile(source, "-arch=sm_90 -DVALUE=1", &n_again, NULL);
    CHECK(again && n_again == n && memcmp(again, first, n) == 0);
    CHECK(!harness_compile(source, "-arch=sm_90 -DVALUE=2", &n, NULL));
    CHECK(!harness_compile("extern \"C\" __global__ void k(int *p) { *p = -VALUE; }", "-arch=sm_90 -DVALUE=1",
                           &n, NULL));
    free(first);
    free(again);
    return 0;
}

static void test_cache(void **state) {
    (void)state;
    char folder[] = "/tmp/hostcuda-cache-XXXXXX", environment[128], command[128];
    assert_non_null(mkdtemp(folder));
    snprintf(environment, sizeof environment, "HOSTCUDA_CACHE=%s/made", folder);
    PASSES(environment, run_cached);
    snprintf(command, sizeof command, "test $(ls -A %s/made | grep -cvx lock) = 1 && rm -r %s", folder,
             folder);
    assert_int_equal(system(command), 0);
}

static void test_language(void **state) {
    (void)state;
    PASSES("", run_language);
    PASSES("", run_barriers);
    PASSES("", run_quitters);
    PASSES("", run_lanes);
    PASSES("", run_stuck);
    PASSES("", run_trap);
    PASSES("", run_not_found);
    PASSES("", run_bad_source);
}

/* A sanitizer ends the process where it happens. Without one the red zones make an error of an overrun, and
 * the shim one of a misaligned access. */
static void test_bad_accesses(void **state) {
    (void)state;
    const int past = harness_child("", run_past, 60), slanted = harness_child("", run_slanted, 60);
    if (dlsym(RTLD_DEFAULT, "__asan_init"))
        assert_true(past != 0 && past != HARNESS_FAILED);
    else
        assert_int_equal(past, 0);
    if (dlsym(RTLD_DEFAULT, "__ubsan_handle_type_mismatch_v1_abort"))
        assert_true(slanted != 0 && slanted != HARNESS_FAILED);
    else
        assert_int_equal(slanted, 0);
    PASSES("HOSTCUDA_PLAIN=1", run_slanted);
}

int main(int argc, char **argv) {
    const char *dir = getenv("HOSTCUDA_DIR");
    extern const struct CMUnitTest driver_tests[];
    extern const size_t n_driver_tests;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_language),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_bad_accesses),
    };
    harness_init(argc > 1 ? argv[1] : dir ? dir : ".");
    int failed = cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
    failed += _cmocka_run_group_tests("driver", driver_tests, n_driver_tests, NULL, NULL);
    return failed ? 1 : 0;
}
