/*
 * Facts read from cubins that NVRTC makes here, also when cut and changed in thousands of ways. The gpu suite
 * compares them with the driver's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code/cubin.h"
#include "code/nvrtc.h"
#include "gpu/kernel.h"

enum { EXIT_SKIPPED = 77, TILE_BYTES = 400, LOCAL_BYTES = 256 };

#define TENFOLD(x) x x x x x x x x x x
#define LONG       "a_long_name" TENFOLD("_of_an_instance_that")

/* Kernels with different parameters, bounds and names. */
static const char launches[] =
    "#if __CUDACC_VER_MAJOR__ < 13\n"
    "#define __block_size__(...)\n"
    "#endif\n"
    "struct large { char bytes[6000]; };\n"
    "extern \"C\" __global__ void none() {}\n"
    "extern \"C\" __global__ void __launch_bounds__(128) some(float *x, char c, double d) { *x = c * d; }\n"
    "extern \"C\" __global__ void __block_size__((64, 2, 1)) exact(float *x) { *x = 1; }\n"
    "extern \"C\" __global__ void much(const __grid_constant__ large l, short i, float *x) { *x = "
    "l.bytes[i]; }\n"
    "__global__ void saxpy(float *x) { *x = 1; }\n"
    "namespace a { __global__ void axpy(float *x) { *x = 1; } }\n"
    "template <class T> __global__ void some(T *x) { *x = 1; }\n"
    "template __global__ void some<float>(float *);\n"
    "extern \"C\" __global__ void " LONG "(float *x, short i) { x[i] = 1; }\n"
    "extern \"C\" __device__ __noinline__ int called(int x) { return x * clock(); }\n"
    "extern \"C\" __global__ void calls(int *x) { *x = called(*x); }\n";

/* Several kernels, so that the one asked for must be found. */
static const char source[] = "__device__ int number;\n"
                             "__constant__ int *where = &number, none[4];\n"
                             "extern \"C\" __global__ void plain(int *p) { *p = 1; }\n"
                             "extern __shared__ int room[];\n"
                             "extern \"C\" __global__ void dynamic(int *p) {\n"
                             "    room[threadIdx.x] = *p;\n"
                             "    __syncthreads();\n"
                             "    *p = room[threadIdx.x ^ 1];\n"
                             "}\n"
                             "extern \"C\" __global__ void both(int *p, int n) {\n"
                             "    __shared__ int tile[100];\n"
                             "    int held[64];\n"
                             "    for (int i = 0; i < 64; i++) held[p[i] & 63] = p[i + n];\n"
                             "    tile[threadIdx.x] = held[n & 63];\n"
                             "    __syncthreads();\n"
                             "    p[threadIdx.x] = tile[n] + held[p[1] & 63];\n"
                             "}\n";

static bool knows_block_size(void) {
    return atoi(tt__nvrtc_version()) >= 13;
}

static tt__str compile(const char *text, int cc) {
    tt__str cubin = {0};
    tt_status status = tt__nvrtc_compile(&cubin, "two.cu", text, "", 0, cc);
    if (status == TT_E_UNSUPPORTED) /* not of this NVRTC */
        return cubin;
    if (status != TT_OK)
        fail_msg("%s", tt_last_error());
    return cubin;
}

static void reads_the_needs(void **state) {
    (void)state;
    static const int ccs[] = {75, 80, 89, 90, 100, 120};
    int n = 0;
    for (size_t i = 0; i < sizeof ccs / sizeof *ccs; i++) {
        tt__str cubin = compile(source, ccs[i]);
        tt__cubin_needs plain, both;
        if (cubin.len == 0)
            continue;
        assert_int_equal(tt__cubin_read(&plain, cubin.text, cubin.len, "plain"), TT_OK);
        assert_in_range(plain.regs, 4, 40);
        assert_int_equal(plain.static_shared_bytes, 0);
        assert_int_equal(plain.stack_bytes, 0);
        assert_int_equal(tt__cubin_read(&plain, cubin.text, cubin.len, "dynamic"), TT_OK);
        assert_int_equal(plain.static_shared_bytes, 0);
        assert_int_equal(tt__cubin_read(&both, cubin.text, cubin.len, "both"), TT_OK);
        assert_in_range(both.regs, 8, 255);
        assert_int_equal(both.static_shared_bytes, TILE_BYTES);
        assert_in_range(both.stack_bytes, LOCAL_BYTES, 2 * LOCAL_BYTES);
        assert_int_equal(tt__cubin_read(&both, cubin.text, cubin.len, "bot"), TT_E_UNSUPPORTED);
        assert_non_null(strstr(tt_last_error(), "how many registers bot takes"));
        tt__str_free(&cubin);
        n++;
    }
    assert_true(n > 0);
}

static tt__cubin_entry entry(const tt__str *cubin, const char *kernel) {
    tt__cubin_entry e;
    if (tt__cubin_entry_read(&e, cubin->text, cubin->len, kernel) != TT_OK)
        fail_msg("%s", tt_last_error());
    return e;
}

static void no_entry(const tt__str *cubin, const char *kernel, const char *says) {
    tt__cubin_entry e;
    assert_int_equal(tt__cubin_entry_read(&e, cubin->text, cubin->len, kernel), TT_E_TEMPLATE);
    if (!strstr(tt_last_error(), says))
        fail_msg("found    %s\nexpected %s", tt_last_error(), says);
}

static void reads_how_kernels_are_launched(void **state) {
    (void)state;
    static const int ccs[] = {90, 120}; /* __block_size__ is of 9.0 and later */
    for (size_t i = 0; i < sizeof ccs / sizeof *ccs; i++) {
        tt__str cubin = compile(launches, ccs[i]);
        if (cubin.len == 0)
            continue;
        assert_int_equal(entry(&cubin, "none").n_parameters, 0);
        tt__cubin_entry e = entry(&cubin, "some");
        assert_int_equal(e.n_parameters, 3);
        assert_int_equal(e.parameter_bytes[0], 8);
        assert_int_equal(e.parameter_bytes[1], 1);
        assert_int_equal(e.parameter_bytes[2], 8);
        assert_int_equal(e.max_threads, 128);
        assert_int_equal(e.block[0], 0);
        e = entry(&cubin, "exact");
        if (knows_block_size()) {
            assert_int_equal(e.block[0], 64);
            assert_int_equal(e.block[1], 2);
            assert_int_equal(e.block[2], 1);
        }
        e = entry(&cubin, "much");
        assert_int_equal(e.n_parameters, 3);
        assert_int_equal(e.parameter_bytes[0], 6000);
        assert_int_equal(e.parameter_bytes[1], 2);
        assert_int_equal(e.max_threads, 0);
        e = entry(&cubin, LONG);
        assert_int_equal(e.n_parameters, 2);
        assert_int_equal(e.parameter_bytes[1], 2);
        no_entry(&cubin, "saxpy", "C++ calls the kernel saxpy _Z5saxpyPf: write extern \"C\" __global__");
        no_entry(&cubin, "axpy", "C++ calls the kernel axpy _ZN1a4axpyEPf: write extern \"C\" __global__");
        no_entry(&cubin, "called", "the compiled code has no kernel called: it has ");
        no_entry(&cubin, "xpy", "and more");
        tt__str_free(&cubin);
    }
}

static void fits(const tt__str *cubin, const char *kernel, const tt__launch *launch, const char *says) {
    tt_status status = tt__fit_cubin(cubin->text, cubin->len, kernel, launch, 0);
    if (status != (says ? TT_E_TEMPLATE : TT_OK) || (says && !strstr(tt_last_error(), says)))
        fail_msg("%d: found    %s\nexpected %s", status, tt_last_error(), says ? says : "nothing");
}

static void says_what_does_not_fit(void **state) {
    (void)state;
    tt__str cubin = compile(launches, 90), other = {0};
    tt__launch some = {.n_passes = 1, .passes = {{.block = {128, 1, 1}, .n_args = 3}}};
    some.args[0] = (tt__arg){.bytes = 8};
    some.args[1] = (tt__arg){.type = TT__TYPE_I8, .bytes = 1};
    some.args[2] = (tt__arg){.type = TT__TYPE_F64, .bytes = 8};
    fits(&cubin, "some", &some, NULL);
    some.args[2] = (tt__arg){.type = TT__TYPE_F32, .bytes = 4};
    fits(&cubin, "some", &some,
         "parameter 3 of some has 8 bytes, but item 3 of its `args` (f32) has 4: make");
    some.passes[0].n_args = 2;
    fits(&cubin, "some", &some, "some has 3 parameters, but its `args` has 2 items: make");
    fits(&cubin, "none", &some, "none has 0 parameters, but its `args` has 2 items: make");
    some.passes[0].n_args = 1;
    if (knows_block_size())
        fits(&cubin, "exact", &some, "a block of exact is 128x1x1, but __block_size__ allows only 64x2x1");
    some.passes[0].n_args = 3;
    some.args[2].bytes = 8;
    some.passes[0].block[1] = 2;
    fits(&cubin, "some", &some, "a block of some has 256 threads, but __launch_bounds__ allows only 128");
    tt__str_add(&other, "HOSTCUD1 is what the stand-in makes, of which nothing is known");
    fits(&other, "some", &some, NULL);
    tt__str_free(&other);
    tt__str_free(&cubin);
}

static void says_which_clusters_do_not_fit(void **state) {
    (void)state;
    tt__str cubin = compile("extern \"C\" __global__ void __cluster_dims__(4, 2, 1) k(int *x) { *x = 1; }\n"
                            "extern \"C\" __global__ void none(int *x) { *x = 1; }\n",
                            90);
    tt__launch launch = {.n_passes = 1, .passes = {{.grid = {8, 2, 3}, .block = {128, 1, 1}, .n_args = 1}}};
    launch.args[0] = (tt__arg){.bytes = 8};
    assert_int_equal(entry(&cubin, "k").cluster[0], 4);
    assert_int_equal(entry(&cubin, "none").cluster[0], 0);
    fits(&cubin, "k", &launch, NULL);
    launch.passes[0].grid[1] = 7;
    fits(&cubin, "k", &launch, "a grid of k has 8x7x3 blocks, which is no multiple of its clusters of 4x2x1");
    fits(&cubin, "none", &launch, NULL);
    tt__str_free(&cubin);
}

/* Constants and whether the code gives them a value, in any order. */
static const char constants[] =
    "__constant__ float empty[16], full[4] = {0, 0, 0, 1}, one = 1;\n"
    "__device__ float room[4];\n"
    "__constant__ float *places[2] = {nullptr, room};\n"
    "namespace a { __constant__ short empty_too[3]; }\n"
    "template <class T> __constant__ T of_type[2];\n"
    "extern \"C\" __global__ void k(float *x) {\n"
    "    static __constant__ int inner[4];\n"
    "    *x = empty[*(int *)x] + full[*(int *)x] + one + *places[*(int *)x] + a::empty_too[*(int *)x] +\n"
    "        of_type<double>[*(int *)x] + inner[*(int *)x] + sinf(*x);\n"
    "}\n";

static void tells_constants_without_a_value(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t bytes;
        bool zero;
    } all[] = {{"empty", 64, true},   {"full", 16, false},    {"one", 4, false},
               {"places", 16, false}, {"empty_too", 6, true}, {"of_type", 16, true}};
    enum { N = sizeof all / sizeof *all };
    static const int ccs[] = {75, 90, 120};
    for (size_t i = 0; i < sizeof ccs / sizeof *ccs; i++) {
        tt__str cubin = compile(constants, ccs[i]);
        tt__cubin_variable c;
        size_t at = 0, n = 0, length;
        while (tt__cubin_next_variable(&c, TT__CUBIN_CONSTANTS, cubin.text, cubin.len, &at)) {
            const char *name = tt__cubin_plain_name(c.name, &length);
            size_t k = 0;
            while (k < N && (strlen(all[k].name) != length || memcmp(all[k].name, name, length) != 0))
                k++;
            if (k == N || c.bytes != all[k].bytes || c.zero != all[k].zero)
                fail_msg("%s: %zu bytes, zero %d", c.name, c.bytes, c.zero);
            n++;
        }
        assert_int_equal(n, cubin.len ? N : 0);
        tt__str_free(&cubin);
    }
}

/* No bytes make the reader go beyond their end, or run for ever. The copy is exactly as long as the bytes. */
static void try_bytes(const char *bytes, size_t n) {
    tt__cubin_needs needs;
    char *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, n);
    tt_status status = tt__cubin_read(&needs, exact, n, "both");
    assert_true(status == TT_OK || status == TT_E_UNSUPPORTED);
    tt__cubin_entry e;
    status = tt__cubin_entry_read(&e, exact, n, "both");
    assert_true(status == TT_OK || status == TT_E_UNSUPPORTED || status == TT_E_TEMPLATE);
    tt__cubin_variable c;
    for (size_t at = 0; tt__cubin_next_variable(&c, TT__CUBIN_CONSTANTS, exact, n, &at);)
        assert_true(c.name >= exact && c.name + strlen(c.name) < exact + n);
    free(exact);
}

static void takes_any_bytes(void **state) {
    (void)state;
    tt__str cubin = {0};
    if (tt__nvrtc_compile(&cubin, "two.cu", source, "", 0, 90) != TT_OK)
        fail_msg("%s", tt_last_error());
    for (size_t n = 0; n < cubin.len; n += n < 100 ? 1 : 7)
        try_bytes(cubin.text, n);
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        char kept[4];
        seed = seed * 1664525u + 1013904223u;
        size_t at = (size_t)(((uint64_t)seed * (cubin.len - sizeof kept)) >> 32);
        memcpy(kept, cubin.text + at, sizeof kept);
        memset(cubin.text + at, i % 2 ? 0xff : (int)(seed & 0xff), 1 + (size_t)(i % 4));
        try_bytes(cubin.text, cubin.len);
        memcpy(cubin.text + at, kept, sizeof kept);
    }
    tt__str_free(&cubin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_needs),
        cmocka_unit_test(reads_how_kernels_are_launched),
        cmocka_unit_test(says_what_does_not_fit),
        cmocka_unit_test(says_which_clusters_do_not_fit),
        cmocka_unit_test(tells_constants_without_a_value),
        cmocka_unit_test(takes_any_bytes),
    };
    if (tt__nvrtc_open() != TT_OK) {
        print_message("%s\n", tt_last_error());
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
