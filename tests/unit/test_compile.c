/* Sources for the real NVRTC: what few of them want, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/install_dirs.h"
#include "code/cubin.h"
#include "code/headers.h"
#include "code/nvrtc.h"
#include "code/source.h"

enum { EXIT_SKIPPED = 77, CC = 90 };

/* Textures are left out of a first attempt. */
static void compiles_what_few_want(void **state) {
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void k(float *p, cudaTextureObject_t t) { *p = tex2D<float>(t, 1.0f, N); }";
    tt__str cubin = {0};
    if (tt__nvrtc_compile(&cubin, "texture.cu", source, "-DN=2.0f", 1, CC) != TT_OK)
        fail_msg("%s", tt_last_error());
    assert_memory_equal(cubin.text, "\177ELF", 4);
    tt__str_free(&cubin);
}

/* The reason is that of the source, not of an attempt without something. */
static void says_what_is_wrong(void **state) {
    (void)state;
    static const char source[] = "extern \"C\" __global__ void k(float *p, cudaTextureObject_t t) {\n"
                                 "    *p = tex2D<float>(t, 1.0f, absent);\n"
                                 "}\n";
    static const char warned[] = "__device__ int f() { int unused; return 1.5f; }\n"
                                 "extern \"C\" __global__ void k(int *p) { *p = absent; }\n";
    tt__str cubin = {0};
    static const char generic[] = "template <int N> __global__ void reduce(int *p) { *p = N; }\n";
    assert_int_equal(tt__nvrtc_compile(&cubin, "generic.cu", generic, TT__KERNEL "reduce", 1, CC),
                     TT_E_COMPILE);
    assert_non_null(
        strstr(tt_last_error(), "reduce is a template: name an instance of it, as in `kernel reduce<4>`"));
    static const char calls[] = "void stop() { exit(1); }\n__global__ void k(int *p) { if (!p) stop(); }\n";
    assert_int_equal(tt__nvrtc_compile(&cubin, "calls.cu", calls, TT__USERS "k", 1, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(),
                           "calls.cu: `stop` is left out, because it calls CUDA or is else of the host"));
    assert_int_equal(tt__nvrtc_compile(&cubin, "warned.cu", warned, "", 0, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "NVRTC_ERROR_COMPILATION: warned.cu(2): error: identifier"));
    static const char includes[] = "#include <absent.h>\nextern \"C\" __global__ void k(int *p) {}\n";
    assert_int_equal(tt__nvrtc_compile(&cubin, "includes.cu", includes, "", 0, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "includes.cu(1): catastrophic error: "));
    assert_non_null(strstr(tt_last_error(), " open source file \"absent.h\": NVRTC has its own headers"));
    assert_non_null(strstr(tt_last_error(), "put an empty file of its name into such a folder"));
    assert_int_equal(tt__nvrtc_compile(&cubin, "wrong.cu", source, "", 0, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "wrong.cu(2): error: identifier \"absent\" is undefined"));
    assert_null(strstr(tt_last_error(), "cudaTextureObject_t\" is undefined"));
    assert_int_equal(cubin.len, 0);
    assert_int_equal(tt__nvrtc_compile(&cubin, "option.cu", source, "--no-such-option", 1, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "no-such-option"));
    tt__str_free(&cubin);
}

/* What no option makes compile is said first. Code that keeps it from NVRTC gets the compiler's words. */
static void names_what_is_not_for_it(void **state) {
    (void)state;
    static const struct {
        const char *source, *says;
    } cases[] = {
        {"void f() { float *p; cudaMalloc(&p, 4); }\n", "no.cu: `cudaMalloc` is host code: take it out"},
        {"// cudaMalloc\n#ifndef __CUDACC_RTC__\nint main() {}\n#endif\nint x = y;\n",
         "no.cu: NVRTC_ERROR_COMPILATION: no.cu(5): error"},
        {"texture<float> t;\n", "`texture<` is a texture reference, which CUDA 12 has removed"},
        {"__kernel void k(__global float *p) {}\n", "`__kernel` is OpenCL"},
        {"__global__ void c() {}\nvoid f() { c<<<1, 2>>>(); }\n", "`<<<` is host code: take it out"},
        {"__global__ void c() {}\n__global__ void k() { c<<<1, 2>>>(); }\n",
         "`<<<` in a kernel launches another, which is not supported: let a `kernel` line launch it"},
        {"// c<<<1, 2>>>()\n/* as in\n c<<<1, 2>>>() */ const char *s = \"<<<\";\nint x = y;\n",
         "no.cu: NVRTC_ERROR_COMPILATION: no.cu(4): error"},
        {"__device__ int xcudaMalloc, d = e;\n", "no.cu: NVRTC_ERROR_COMPILATION: no.cu(1): error"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__str cubin = {0};
        assert_int_equal(tt__nvrtc_compile(&cubin, "no.cu", cases[i].source, "", 0, CC), TT_E_COMPILE);
        if (!strstr(tt_last_error(), cases[i].says))
            fail_msg("%s", tt_last_error());
        tt__str_free(&cubin);
    }
}

/* A parameter is a macro, in all that it is the name of something else. */
static void names_macros_in_the_way(void **state) {
    (void)state;
    static const char own[] =
        "no.cu: N is a macro, as each parameter is: take its declaration out of the code, or, "
        "of a template argument, say `as template` (no",
                      header[] = "no.cu: N is a macro, as each parameter is, also in headers: give it "
                                 "another name, or say `as template` (h",
                      foreign[] = "no.cu: the header h.cuh cannot be compiled for the device, line 1: "
                                  "identifier \"n\" is undefined. If only functions of the host need it, put",
                      plain[] = "no.cu: NVRTC_ERROR_COMPILATION: ";
    static const struct {
        const char *source, *says;
    } cases[] = {
        {"static const int N = 4;\n", own},
        {"enum { N = 4 };\n", own},
        {"constexpr int M = 1,\n    N = 4;\n", own},
        {"template <int N> __device__ int f();\n", own},
        {"__global__ void k(int N) {}\n", own},
        {"namespace N {}\n", own},
        {"__device__ int a = N(2);\n", plain},
        {"__device__ int a = N + b;\n", plain},
        {"__device__ int NN = 1, a = b;\n", plain},
        {"#line 1 \"h.cuh\"\ntemplate <int K, int N> struct s {};\n", header},
        {"#line 1 \"h.cuh\"\n__device__ int f() { return n; }\n", foreign},
        {"#line 1 \"h.cuh\"\n__device__ int f() { return n + N; }\n", foreign},
        {"__device__ int maintain();\n__device__ int a = b;\n", plain},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__str cubin = {0};
        assert_int_equal(tt__nvrtc_compile(&cubin, "no.cu", cases[i].source, "-DK0=2\0-DN=1", 2, CC),
                         TT_E_COMPILE);
        if (strncmp(tt_last_error(), cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("%s%s", cases[i].source, tt_last_error());
        tt__str_free(&cubin);
    }
}

/* Code for nvcc includes what NVRTC lacks and hardly needs. */
static void takes_headers_of_the_host(void **state) {
    (void)state;
    static const char source[] =
        "#include <cuda_runtime.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <cmath>\n"
        "#include <stdint.h>\n#include <cstdint>\n#include <float.h>\n#include <climits>\n"
        "extern \"C\" __global__ void k(uint32_t *p, int64_t n) { *p = n > INT_MAX && sinf(n) < FLT_MAX && n "
        "< M_PI; }\n"
        "__global__ void beside(float *p) { *p = 1; }\n";
    tt__str cubin = {0};
    if (tt__nvrtc_compile(&cubin, "host.cu", source, TT__KERNEL "k\0" TT__KERNEL "beside", 2, CC) != TT_OK)
        fail_msg("%s", tt_last_error());
    assert_string_equal(tt__lowered_name(cubin.text, cubin.len, "k"), "k");
    assert_string_equal(tt__lowered_name(cubin.text, cubin.len, "beside"), "_Z6besidePf");
    tt__str_free(&cubin);
}

/* A kernel among what a program for nvcc has around it. Textures of another kernel need more than --minimal,
 * and functions that are not for the device need another option, too. */
static void takes_whole_programs(void **state) {
    (void)state;
    static const char source[] =
        "#include <cublas_v2.h>\n#include <torch/extension.h>\n#include <THC/THC.h>\n#include "
        "<mutex>\n#include <cuda.h>\n"
        "cublasHandle_t handle;\nint yo = 0;\nusing stream = cudaStream_t;\nstruct timer { cudaEvent_t e; "
        "};\n"
        "void check(cublasStatus_t s) { if (s) handle = 0; }\n"
        "template <class T> __global__ void other(cublasHandle_t h, T *p) {}\n"
        "#define MAKE(T) template __global__ void other<T>(cublasHandle_t, T *);\nMAKE(float)\n"
        "__global__ void textured(cudaTextureObject_t t, float *p) { *p = tex1D<float>(t, 1.0f); }\n"
        "int two() { return 2; }\n"
        "#if CUDA_VERSION < 12000 || CUDART_VERSION < 12000\n#error version\n#endif\n"
        "__global__ void k(float *p) { int yo = two(); *p = std::exp(*p) + yo; }\n"
        "__global__ void waiting(float *p) {\n#if __CUDA_ARCH__ >= "
        "900\ncudaGridDependencySynchronize();\n"
        "cudaTriggerProgrammaticLaunchCompletion();\n#endif\n}\n"
        "torch::Tensor run(torch::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); return x; }\n"
        "PYBIND11_MODULE(name, m) { m.def(\"run\", &run); }\n";
    tt__str cubin = {0};
    if (tt__nvrtc_compile(&cubin, "program.cu", source,
                          TT__KERNEL "k\0" TT__KERNEL "textured\0" TT__USERS "k textured waiting", 3,
                          CC) != TT_OK)
        fail_msg("%s", tt_last_error());
    tt__str_free(&cubin);
}

static void expect_compiles(const char *name, const char *source, const char *options, int n) {
    tt__str cubin = {0};
    if (tt__nvrtc_compile(&cubin, name, source, options, n, CC) != TT_OK)
        fail_msg("%s", tt_last_error());
    tt__str_free(&cubin);
}

/* CUDA's own headers, of this NVRTC's version; without them there is nothing to test. */
static bool has_headers(void) {
    tt__str options = {0};
    int n = 0;
    assert_int_equal(tt__cuda_headers(&options, &n, tt__nvrtc_path(), tt__nvrtc_version()), TT_OK);
    tt__str_free(&options);
    return n > 0;
}

/* Of Thrust and CUB, what only the host calls. */
static void leaves_out_algorithms_of_the_host(void **state) {
    (void)state;
    if (!has_headers())
        skip();
    expect_compiles("sort.cu",
                    "#include <thrust/sort.h>\n#include \"thrust/execution_policy.h\"\n#include <mpi.h>\n"
                    "#include <cub/device/device_reduce.cuh>\n#include <thrust/pair.h>\n"
                    "__global__ void k(int *p) { *p = thrust::make_pair(1, 2).second; }\n"
                    "int main() { thrust::sort(thrust::device, p, p + 1); k<<<1, 1>>>(p); }\n",
                    TT__KERNEL "k\0" TT__USERS "k", 2);
}

/* A name that a macro puts together is not seen, and a function of the file may be called as one of the host.
 */
static void compiles_more_if_it_was_cut_too_much(void **state) {
    (void)state;
    static const char *const sources[] = {
        "#define CALL(a) helper_##a(1)\nint helper_two(int a) { return a + 1; }\n"
        "__global__ void k(int *p) { *p = CALL(two); }\nint main() { k<<<1, 1>>>(0); }\n",
        "int rand(int *state) { return *state * 5; }\n__global__ void k(int *p) { *p = rand(p); }\n",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        expect_compiles("cut.cu", sources[i], TT__KERNEL "k\0" TT__USERS "k", 2);
}

/* Code for nvcc includes nothing for these. A macro of its own, or of an option, comes first. */
static void knows_what_nvcc_always_has(void **state) {
    (void)state;
    static const char source[] =
        "constexpr float low = -INFINITY, high = HUGE_VALF, QNAN = NAN; /* INFINITY = -low */\n"
        "const char *const text = \"NAN = %f\"; constexpr float NEG_INFINITY = -INFINITY;\n"
        "__constant__ double ends[3] = {low, HUGE_VAL, NAN};\n"
        "static_assert(low < -3e38f && high > 3e38f && HUGE_VAL > 1e300, \"\");\n"
        "#define INFINITY 3\n"
        "static_assert(INFINITY == 3, \"\");\n"
        "extern \"C\" __global__ void k(double *p) { *p = ends[threadIdx.x] + INFINITY; }\n";
    static const char own[] = "static_assert(NAN == 4, \"\");\nint x = absent;\n";
    static const char far[] = "constexpr float INFINITY = 1e30f;\n"
                              "extern \"C\" __global__ void k(float *p) { *p = INFINITY; }\n";
    tt__str cubin = {0};
    if (tt__nvrtc_compile(&cubin, "ends.cu", source, "", 0, CC) != TT_OK)
        fail_msg("%s", tt_last_error());
    if (tt__nvrtc_compile(&cubin, "far.cu", far, "", 0, CC) != TT_OK)
        fail_msg("%s", tt_last_error());
    assert_int_equal(tt__nvrtc_compile(&cubin, "own.cu", own, "-DNAN=4", 1, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "own.cu(2): error: identifier \"absent\" is undefined"));
    tt__str_free(&cubin);
}

/* nvcc compiles such functions for the host, and these also for the device if it is asked to. */
static void takes_functions_without_a_space(void **state) {
    (void)state;
    expect_compiles("both.cu",
                    "constexpr int two() { return 2; }\n"
                    "extern \"C\" __global__ void k(int *p) { *p = two(); }\n",
                    "", 0);
}

static void takes_names_of_types(void **state) {
    (void)state;
    expect_compiles("types.cu",
                    "typedef unsigned long uint64_t; using ushort = unsigned char;\n"
                    "static_assert(sizeof(ushort) == 1 && sizeof(uint32_t) == 4, \"\");\n"
                    "extern \"C\" __global__ void k(uint *p, uint64_t *q, int8_t *r) { *p = *q + *r; }\n",
                    "", 0);
}

/* PyTorch's headers are left out, and its types of kernels are CUDA's. */
static void knows_types_of_torch(void **state) {
    (void)state;
    if (!has_headers())
        skip();
    expect_compiles("torch.cu",
                    "#include <torch/extension.h>\ntypedef at::BFloat16 bf16;\n"
                    "__global__ void k(bf16 *p, c10::Half *q) { *p = bf16(float(*q) * 2.0f); }\n",
                    TT__KERNEL "k\0" TT__USERS "k", 2);
    expect_compiles("own.cu",
                    "namespace c10 { struct Half { short bits; }; }\n"
                    "__global__ void k(c10::Half *q) { q->bits = 2; }\n",
                    TT__KERNEL "k\0" TT__USERS "k", 2);
}

/* Headers of nvcc and of PyTorch include these. */
static void knows_std_without_an_include(void **state) {
    (void)state;
    if (!has_headers())
        skip();
    expect_compiles(
        "std.cu",
        "constexpr size_t most(std::initializer_list<size_t> all) { return std::max(all); }\n"
        "template <class T> using other = std::conditional_t<std::is_same<T, int>::value, float, T>;\n"
        "extern \"C\" __global__ void k(other<int> *p) {\n"
        "    p[most({1, 2})] = std::min(p[0], std::numeric_limits<float>::max()); }\n",
        "", 0);
}

static void takes_standards(void **state) {
    (void)state;
    static const char source[] = "template <class T> concept number = requires(T a) { a + a; };\n"
                                 "template <number T> __device__ T twice(T v) { return v + v; }\n"
                                 "extern \"C\" __global__ void k(float *p) { *p = twice(*p); }\n";
    tt__str cubin = {0};
    expect_compiles("concept.cu", source, "-std=c++20", 1);
    expect_compiles("concept.cu", source, "--std=c++20", 1);
    assert_int_equal(tt__nvrtc_compile(&cubin, "concept.cu", source, "", 0, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "`concept` is C++20: add the line //@ options -std=c++20"));
}

/* Only with its own architecture does a GPU have all of its instructions. */
static void knows_the_very_architecture(void **state) {
    (void)state;
    static const char source[] = "extern \"C\" __global__ void k(int *p) {\n"
                                 "    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
                                 "#if !__CUDA_ARCH_FEAT_SM90_ALL\n"
                                 "    *p = absent;\n"
                                 "#endif\n"
                                 "}\n";
    tt__str cubin = {0};
    expect_compiles("wgmma.cu", source, TT__USERS "k", 1);
    assert_int_equal(tt__nvrtc_compile(&cubin, "wgmma.cu", source, "", 0, CC), TT_E_COMPILE);
    if (tt__nvrtc_compile(&cubin, "old.cu", "__global__ void k() {}", TT__USERS "k", 1, 80) != TT_OK)
        fail_msg("%s", tt_last_error());
    tt__str_free(&cubin);
}

static void finds_the_headers_of_cuda(void **state) {
    (void)state;
    static const char source[] = "#include <cuda_fp16.h>\n"
                                 "extern \"C\" __global__ void k(T *p) { *p = __hadd(*p, T(1.0f)); }\n";
    tt__str cubin = {0};
    if (!has_headers())
        skip();
    if (tt__nvrtc_compile(&cubin, "half.cu", source, TT__TYPEDEF "T=__half", 1, CC) != TT_OK)
        fail_msg("%s", tt_last_error());
    tt__str_free(&cubin);
}

/* Code for nvcc has the C++ library of the host. */
static void finds_the_headers_of_cxx(void **state) {
    (void)state;
    static const char source[] =
        "#include <cassert>\n#include <cstddef>\n#include <cstdint>\n#include <cstring>\n#include <cmath>\n"
        "#include <limits>\n#include <algorithm>\n#include <array>\n#include <utility>\n#include "
        "<type_traits>\n"
        "#include <tuple>\n#include <assert.h>\n#include <stddef.h>\n#include <math.h>\n"
        "template <class T> __device__ T least() { static_assert(std::is_floating_point<T>::value, \"\");\n"
        "    return -std::numeric_limits<T>::infinity(); }\n"
        "__device__ std::array<std::uint32_t, 2> two(std::size_t n) { return {(std::uint32_t)n, 3}; }\n"
        "extern \"C\" __global__ void k(float *p, int n) {\n"
        "    assert(n > 0);\n"
        "    float a = std::max(2 * p[0], least<float>()), b = std::min(a, 1.0f);\n"
        "    std::swap(a, b);\n"
        "    std::memcpy(p, &a, sizeof a);\n"
        "    p[1] = std::sqrt(b) + std::abs(n) + std::fabs(a) + std::pow(a, 2) + (std::isnan(a) ? 1 : 0);\n"
        "    auto t = std::make_tuple(a, 2); p[2] = std::get<0>(t) + two(3)[1] + std::clamp(n, 0, 7); }\n";
    if (!has_headers())
        skip();
    expect_compiles("cxx.cu", source, "", 0);
    expect_compiles("others.cu",
                    "#include <bit>\n#include <concepts>\n#include <span>\n#include <complex>\n#include "
                    "<functional>\n#include <initializer_list>\n"
                    "#include <numeric>\n#include <optional>\n#include <ratio>\n#include <vector>\n"
                    "using namespace std;\n__global__ void k() {}\n",
                    "", 0);
    expect_compiles(
        "map.cu",
        "#include <cuda.h>\n#include <cuda/barrier>\n"
        "static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) == 64, \"\");\n"
        "extern \"C\" __global__ void k(int *p, const __grid_constant__ CUtensorMap m) { *p = 1; }\n",
        "", 0);
}

/* Their names in the code are appended to the cubin, and any zeros may follow. */
static void names_instances_of_templates(void **state) {
    (void)state;
    static const char source[] =
        "namespace a { template <class T, int N> __global__ void k(T *p) { p[N] = 1; } }\n"
        "__global__ void plain(int *p) { *p = 2; }\n";
    static const char options[] = "-DCOUNT=4\0" TT__KERNEL "a::k<float, COUNT>\0" TT__KERNEL "plain";
    tt__str cubin = {0};
    tt__cubin_needs needs;
    if (tt__nvrtc_compile(&cubin, "instances.cu", source, options, 3, CC) != TT_OK)
        fail_msg("%s", tt_last_error());
    assert_string_equal(tt__lowered_name(cubin.text, cubin.len, "a::k<float, COUNT>"), "_ZN1a1kIfLi4EEEvPT_");
    assert_string_equal(tt__lowered_name(cubin.text, cubin.len, "plain"), "_Z5plainPi");
    assert_string_equal(tt__lowered_name(cubin.text, cubin.len, "absent"), "absent");
    assert_int_equal(tt__cubin_read(&needs, cubin.text, cubin.len, "a::k<float, COUNT>"), TT_OK);
    tt__str_addn(&cubin, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
    assert_string_equal(tt__lowered_name(cubin.text, cubin.len, "plain"), "_Z5plainPi");
    for (size_t n = 0; n < cubin.len; n += 7) /* cut anywhere */
        tt__lowered_name(cubin.text, n, "plain");
    tt__str_free(&cubin);
}

/* NVRTC is looked for beside the program, too. Without a toolkit, a stand-in there would be taken for it. */
static void no_stand_in_is_beside_this_program(void **state) {
    (void)state;
    tt__str file = {0};
    tt__install_folder(&file, 0);
    tt__str_add(&file, "/libnvrtc.so");
    if (access(tt__str_text(&file), F_OK) == 0)
        fail_msg("%s would be taken for NVRTC", tt__str_text(&file));
    tt__str_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_what_few_want),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(names_what_is_not_for_it),
        cmocka_unit_test(names_macros_in_the_way),
        cmocka_unit_test(takes_headers_of_the_host),
        cmocka_unit_test(takes_whole_programs),
        cmocka_unit_test(leaves_out_algorithms_of_the_host),
        cmocka_unit_test(compiles_more_if_it_was_cut_too_much),
        cmocka_unit_test(knows_what_nvcc_always_has),
        cmocka_unit_test(finds_the_headers_of_cuda),
        cmocka_unit_test(finds_the_headers_of_cxx),
        cmocka_unit_test(takes_functions_without_a_space),
        cmocka_unit_test(takes_names_of_types),
        cmocka_unit_test(knows_types_of_torch),
        cmocka_unit_test(knows_std_without_an_include),
        cmocka_unit_test(takes_standards),
        cmocka_unit_test(knows_the_very_architecture),
        cmocka_unit_test(names_instances_of_templates),
        cmocka_unit_test(no_stand_in_is_beside_this_program),
    };
    if (tt__nvrtc_open() != TT_OK) {
        print_message("%s\n", tt_last_error());
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
