/* See the header. */
#include "code/host_headers.h"

/* Up to CUDA 12.3, libcu++ includes headers of its own by these names, and gets ours. */
#define LIBCXX "cuda/std/detail/libcxx/include/"
#define OWN(name)                                                                                            \
    "#if defined __cuda_std__ && __has_include(<" LIBCXX name ">)\n#include <" LIBCXX name ">\n#endif\n"
#define INTEGERS                                                                                             \
    "typedef signed char int8_t;\ntypedef short int16_t;\ntypedef int int32_t;\ntypedef long long "          \
    "int64_t;\n"                                                                                             \
    "typedef unsigned char uint8_t;\ntypedef unsigned short uint16_t;\ntypedef unsigned int uint32_t;\n"     \
    "typedef unsigned long long uint64_t;\n"
#define LIMITS                                                                                               \
    "#ifndef INT_MAX\n#define CHAR_BIT 8\n#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX - 1)\n"      \
    "#define UINT_MAX 4294967295u\n#define LLONG_MAX 9223372036854775807ll\n"                                \
    "#define LLONG_MIN (-LLONG_MAX - 1)\n#define ULLONG_MAX 18446744073709551615ull\n#endif\n"
#define FLOATS                                                                                               \
    "#ifndef FLT_MAX\n#define FLT_MAX 3.402823466e+38f\n#define FLT_MIN 1.175494351e-38f\n"                  \
    "#define FLT_EPSILON 1.192092896e-07f\n#define DBL_MAX 1.7976931348623158e+308\n"                        \
    "#define DBL_MIN 2.2250738585072014e-308\n#define DBL_EPSILON 2.2204460492503131e-16\n#endif\n"
#define CONSTANTS                                                                                            \
    "#ifndef M_PI\n#define M_E 2.7182818284590452354\n#define M_LOG2E 1.4426950408889634074\n"               \
    "#define M_LN2 0.69314718055994530942\n#define M_PI 3.14159265358979323846\n"                            \
    "#define M_PI_2 1.57079632679489661923\n#define M_PI_4 0.78539816339744830962\n"                         \
    "#define M_1_PI 0.31830988618379067154\n#define M_SQRT2 1.41421356237309504880\n"                        \
    "#define M_SQRT1_2 0.70710678118654752440\n#endif\n"
/* The whole of CUB is for the host, too. Its parts for blocks and warps are not. */
#define CUB                                                                                                  \
    "#pragma once\n#include <cub/block/block_load.cuh>\n#include <cub/block/block_radix_sort.cuh>\n"         \
    "#include <cub/block/block_reduce.cuh>\n#include <cub/block/block_scan.cuh>\n"                           \
    "#include <cub/block/block_store.cuh>\n#include <cub/warp/warp_reduce.cuh>\n"                            \
    "#include <cub/warp/warp_scan.cuh>\n"

#define HEADERS(X)                                                                                           \
    X("cuda.h", "")                                                                                          \
    X("cuda_runtime.h", "")                                                                                  \
    X("cuda_runtime_api.h", "")                                                                              \
    X("device_launch_parameters.h", "")                                                                      \
    X("stdio.h", "")                                                                                         \
    X("cstdio", "")                                                                                          \
    X("stdlib.h", "")                                                                                        \
    X("cstdlib", OWN("cstdlib"))                                                                             \
    X("stdbool.h", "")                                                                                       \
    X("string.h", "")                                                                                        \
    X("cstring", "")                                                                                         \
    X("math.h", CONSTANTS)                                                                                   \
    X("cmath", OWN("cmath") CONSTANTS)                                                                       \
    X("stdint.h", INTEGERS)                                                                                  \
    X("cstdint", OWN("cstdint") INTEGERS)                                                                    \
    X("limits.h", LIMITS)                                                                                    \
    X("climits", OWN("climits") LIMITS)                                                                      \
    X("float.h", FLOATS)                                                                                     \
    X("cfloat", OWN("cfloat") FLOATS)                                                                        \
    X("cub/cub.cuh", CUB)

/* Values are divisions: NVRTC has no builtins for them, and a constant expression may hold a division. */
const tt__host_macro tt__host_macros[] = {{"INFINITY", "(1.0f / 0.0f)"},
                                          {"NAN", "(0.0f / 0.0f)"},
                                          {"HUGE_VALF", "(1.0f / 0.0f)"},
                                          {"HUGE_VAL", "(1.0 / 0.0)"},
                                          {NULL, NULL}};

#define NAME(name, text) name,
#define TEXT(name, text) text,

const char *const tt__host_header_names[] = {HEADERS(NAME)};
const char *const tt__host_header_texts[] = {HEADERS(TEXT)};
const size_t tt__n_host_headers = sizeof tt__host_header_names / sizeof *tt__host_header_names;
