/* CUDA's own headers are looked for; those of the host are texts here. */
#include "code/headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sizes.h"

/* ---- The host's */

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

/* What nvcc takes from the host's headers, NVRTC has without `std::`. */
#define STD_MATH                                                                                             \
    "#pragma once\nnamespace std { "                                                                         \
    "using ::abs; using ::fabs; using ::sqrt; using ::cbrt; using ::hypot; using ::pow; "                    \
    "using ::exp; using ::exp2; using ::expm1; using ::log; using ::log2; using ::log10; "                   \
    "using ::log1p; using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; "                     \
    "using ::atan; using ::atan2; using ::sinh; using ::cosh; using ::tanh; using ::asinh; "                 \
    "using ::acosh; using ::atanh; using ::erf; using ::erfc; using ::lgamma; using ::tgamma; "              \
    "using ::floor; using ::ceil; using ::trunc; using ::round; using ::lround; using ::rint; "              \
    "using ::nearbyint; using ::fmin; using ::fmax; using ::fdim; using ::fma; using ::fmod; "               \
    "using ::remainder; using ::copysign; using ::ldexp; using ::frexp; using ::modf; "                      \
    "using ::isnan; using ::isinf; using ::isfinite; using ::signbit; "                                      \
    "}\n"
#define STD_STRING "#pragma once\nnamespace std { using ::memcpy; using ::memset; }\n"
#define STD_SIZES                                                                                            \
    "#pragma once\nnamespace std { using ::size_t; using ::ptrdiff_t; typedef decltype(nullptr) nullptr_t; " \
    "}\n"
#define STD_INTEGERS                                                                                         \
    "namespace std { using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::uint8_t; "   \
    "using ::uint16_t; using ::uint32_t; using ::uint64_t; }\n"
/* libcu++ has these in cuda::std. Up to CUDA 12.3 it includes them by their plain names, too. */
#define STD_OF_CUDA(name)                                                                                    \
    OWN(name) "#include <cuda/std/" name ">\nnamespace std { using namespace cuda::std; }\n"
#define STD_ALGORITHM                                                                                        \
    "#pragma once\n#if __has_include(<cuda/std/algorithm>)\n#include <cuda/std/algorithm>\n"                 \
    "#elif __has_include(<cuda/std/__algorithm/clamp.h>)\n#include <cuda/std/__algorithm/clamp.h>\n"         \
    "#include <cuda/std/__algorithm/max.h>\n#include <cuda/std/__algorithm/min.h>\n#include "                \
    "<cuda/std/utility>\n#else\nnamespace cuda { namespace std {\ntemplate <class T> __device__ constexpr "  \
    "const T &min(const T &a, const T &b) { return b < a ? b : a; }\ntemplate <class T> __device__ "         \
    "constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }\n}}\n#endif\nnamespace std { " \
    "using namespace cuda::std; }\n"
#define FILES "#pragma once\ntypedef struct _IO_FILE FILE;\n"
/* Of the driver's header, the types that kernels take. */
#define VERSION "(__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)"
#define DRIVER                                                                                               \
    "#pragma once\n#define CUDA_VERSION " VERSION                                                            \
    "\ntypedef unsigned int cuuint32_t;\ntypedef unsigned long long cuuint64_t;\n"                           \
    "typedef unsigned long long CUdeviceptr;\n"                                                              \
    "struct __align__(64) CUtensorMap_st { unsigned long long opaque[16]; };\n"                              \
    "typedef struct CUtensorMap_st CUtensorMap;\n"

/* Of others that functions of the host need, nothing is left. */
#define HEADERS(X)                                                                                           \
    X("cuda.h", DRIVER)                                                                                      \
    X("cuda_runtime.h", "")                                                                                  \
    X("cuda_runtime_api.h", "")                                                                              \
    X("device_launch_parameters.h", "")                                                                      \
    X("assert.h", "")                                                                                        \
    X("cassert", OWN("cassert"))                                                                             \
    X("stdio.h", FILES)                                                                                      \
    X("cstdio", FILES)                                                                                       \
    X("stdlib.h", "")                                                                                        \
    X("cstdlib", OWN("cstdlib"))                                                                             \
    X("stdbool.h", "")                                                                                       \
    X("stddef.h", "")                                                                                        \
    X("cstddef", OWN("cstddef") STD_SIZES)                                                                   \
    X("string.h", "")                                                                                        \
    X("cstring", OWN("cstring") STD_STRING)                                                                  \
    X("math.h", CONSTANTS)                                                                                   \
    X("cmath", OWN("cmath") CONSTANTS STD_MATH)                                                              \
    X("stdint.h", INTEGERS)                                                                                  \
    X("cstdint", OWN("cstdint") INTEGERS STD_INTEGERS)                                                       \
    X("inttypes.h", INTEGERS)                                                                                \
    X("cinttypes", INTEGERS STD_INTEGERS)                                                                    \
    X("limits.h", LIMITS)                                                                                    \
    X("climits", OWN("climits") LIMITS)                                                                      \
    X("float.h", FLOATS)                                                                                     \
    X("cfloat", OWN("cfloat") FLOATS)                                                                        \
    X("algorithm", OWN("algorithm") STD_ALGORITHM)                                                           \
    X("atomic", STD_OF_CUDA("atomic"))                                                                       \
    X("array", STD_OF_CUDA("array"))                                                                         \
    X("bit", STD_OF_CUDA("bit"))                                                                             \
    X("complex", STD_OF_CUDA("complex"))                                                                     \
    X("concepts", STD_OF_CUDA("concepts"))                                                                   \
    X("functional", STD_OF_CUDA("functional"))                                                               \
    X("initializer_list", STD_OF_CUDA("initializer_list"))                                                   \
    X("limits", STD_OF_CUDA("limits"))                                                                       \
    X("numeric", STD_OF_CUDA("numeric"))                                                                     \
    X("optional", STD_OF_CUDA("optional"))                                                                   \
    X("ratio", STD_OF_CUDA("ratio"))                                                                         \
    X("span", STD_OF_CUDA("span"))                                                                           \
    X("tuple", STD_OF_CUDA("tuple"))                                                                         \
    X("type_traits", STD_OF_CUDA("type_traits"))                                                             \
    X("utility", STD_OF_CUDA("utility"))                                                                     \
    X("chrono", OWN("chrono"))                                                                               \
    X("fstream", OWN("fstream"))                                                                             \
    X("iomanip", OWN("iomanip"))                                                                             \
    X("iostream", OWN("iostream"))                                                                           \
    X("map", OWN("map"))                                                                                     \
    X("memory", OWN("memory"))                                                                               \
    X("random", OWN("random"))                                                                               \
    X("sstream", OWN("sstream"))                                                                             \
    X("stdexcept", OWN("stdexcept"))                                                                         \
    X("string", OWN("string"))                                                                               \
    X("time.h", "")                                                                                          \
    X("unordered_map", OWN("unordered_map"))                                                                 \
    X("vector", OWN("vector"))                                                                               \
    X("bitset", OWN("bitset"))                                                                               \
    X("cctype", OWN("cctype"))                                                                               \
    X("cerrno", OWN("cerrno"))                                                                               \
    X("clocale", OWN("clocale"))                                                                             \
    X("condition_variable", OWN("condition_variable"))                                                       \
    X("csignal", OWN("csignal"))                                                                             \
    X("cstdarg", OWN("cstdarg"))                                                                             \
    X("ctime", OWN("ctime"))                                                                                 \
    X("deque", OWN("deque"))                                                                                 \
    X("exception", OWN("exception"))                                                                         \
    X("filesystem", OWN("filesystem"))                                                                       \
    X("forward_list", OWN("forward_list"))                                                                   \
    X("future", OWN("future"))                                                                               \
    X("ios", OWN("ios"))                                                                                     \
    X("iosfwd", OWN("iosfwd"))                                                                               \
    X("istream", OWN("istream"))                                                                             \
    X("iterator", OWN("iterator"))                                                                           \
    X("list", OWN("list"))                                                                                   \
    X("locale", OWN("locale"))                                                                               \
    X("mutex", OWN("mutex"))                                                                                 \
    X("new", OWN("new"))                                                                                     \
    X("ostream", OWN("ostream"))                                                                             \
    X("queue", OWN("queue"))                                                                                 \
    X("regex", OWN("regex"))                                                                                 \
    X("set", OWN("set"))                                                                                     \
    X("shared_mutex", OWN("shared_mutex"))                                                                   \
    X("stack", OWN("stack"))                                                                                 \
    X("streambuf", OWN("streambuf"))                                                                         \
    X("string_view", OWN("string_view"))                                                                     \
    X("system_error", OWN("system_error"))                                                                   \
    X("thread", OWN("thread"))                                                                               \
    X("typeindex", OWN("typeindex"))                                                                         \
    X("typeinfo", OWN("typeinfo"))                                                                           \
    X("unordered_set", OWN("unordered_set"))                                                                 \
    X("valarray", OWN("valarray"))                                                                           \
    X("variant", OWN("variant"))                                                                             \
    X("ctype.h", "")                                                                                         \
    X("errno.h", "")                                                                                         \
    X("fcntl.h", "")                                                                                         \
    X("getopt.h", "")                                                                                        \
    X("memory.h", "")                                                                                        \
    X("mpi.h", "")                                                                                           \
    X("pthread.h", "")                                                                                       \
    X("strings.h", "")                                                                                       \
    X("cutensor.h", "")                                                                                      \
    X("omp.h", "")                                                                                           \
    X("signal.h", "")                                                                                        \
    X("stdarg.h", "")                                                                                        \
    X("unistd.h", "")                                                                                        \
    X("cublas.h", "")                                                                                        \
    X("cublasLt.h", "")                                                                                      \
    X("cublasXt.h", "")                                                                                      \
    X("cublas_api.h", "")                                                                                    \
    X("cublas_v2.h", "")                                                                                     \
    X("cudaProfiler.h", "")                                                                                  \
    X("cudaTypedefs.h", "")                                                                                  \
    X("cuda_profiler_api.h", "")                                                                             \
    X("cudnn.h", "")                                                                                         \
    X("cusolverDn.h", "")                                                                                    \
    X("cusolverSp.h", "")                                                                                    \
    X("cusparse.h", "")                                                                                      \
    X("nccl.h", "")                                                                                          \
    X("nvToolsExt.h", "")                                                                                    \
    X("nvml.h", "")                                                                                          \
    X("thrust/device_ptr.h", "")                                                                             \
    X("thrust/device_vector.h", "")                                                                          \
    X("thrust/host_vector.h", "")                                                                            \
    X("helper_cuda.h", "")                                                                                   \
    X("helper_functions.h", "")                                                                              \
    X("helper_string.h", "")                                                                                 \
    X("helper_timer.h", "")                                                                                  \
    X("cub/cub.cuh", CUB)

/* Values are divisions: NVRTC has no builtins for them, and a constant expression may hold a division. */
static const struct host_macro {
    const char *name, *value;
} host_macros[] = {{"INFINITY", "(1.0f / 0.0f)"}, {"NAN", "(0.0f / 0.0f)"}, {"HUGE_VALF", "(1.0f / 0.0f)"},
                   {"HUGE_VAL", "(1.0 / 0.0)"},   {"__extension__", ""},    {NULL, NULL}};

static const struct host_macro host_types[] = {{"uint", "unsigned int"},
                                               {"ushort", "unsigned short"},
                                               {"ulong", "unsigned long"},
                                               {"int8_t", "signed char"},
                                               {"int16_t", "short"},
                                               {"int32_t", "int"},
                                               {"int64_t", "long long"},
                                               {"uint8_t", "unsigned char"},
                                               {"uint16_t", "unsigned short"},
                                               {"uint32_t", "unsigned int"},
                                               {"uint64_t", "unsigned long long"},
                                               {NULL, NULL}};

#define NAME(name, text) name,
#define TEXT(name, text) text,

const char *const tt__host_header_names[] = {HEADERS(NAME)};
const char *const tt__host_header_texts[] = {HEADERS(TEXT)};
const size_t tt__n_host_headers = sizeof tt__host_header_names / sizeof *tt__host_header_names;

/* ---- CUDA's */

#ifndef TT__TOOLKIT_INCLUDE
#define TT__TOOLKIT_INCLUDE ""
#endif

/* The version that a cuda.h states, such as 13000 for 13.0; 0: there is none. */
static int version_of(const char *path) {
    char line[256];
    int version = 0;
    FILE *f = fopen(path, "re");
    while (f && !version && fgets(line, sizeof line, f))
        if (sscanf(line, "#define CUDA_VERSION %d", &version) != 1)
            version = 0;
    if (f)
        fclose(f);
    return version;
}

/* Adds the folder if it has the file. */
static void add_folder(tt__str *out, int *n, const char *folder, const char *sub, const char *file) {
    tt__str path = {0};
    tt__str_addf(&path, "%s%s/%s", folder, sub, file);
    if (access(tt__str_text(&path), R_OK) == 0) {
        tt__str_addf(out, "--include-path=%s%s", folder, sub);
        tt__str_addn(out, "", 1);
        ++*n;
    }
    tt__str_free(&path);
}

/* Takes this folder, and the C++ libraries with it, if it is of that version. */
static void try_folder(tt__str *out, int *n, int wanted, const char *folder) {
    tt__str header = {0};
    tt__str_addf(&header, "%s/cuda.h", folder);
    if (*n == 0 && version_of(tt__str_text(&header)) == wanted) {
        add_folder(out, n, folder, "", "cuda.h");
        add_folder(out, n, folder, "/cccl", "cuda/std/version");                    /* since CUDA 13 */
        add_folder(out, n, folder, "/../../cuda_cccl/include", "cuda/std/version"); /* Python's, of CUDA 12 */
        add_folder(out, n, folder, "/../../cuda_nvcc/include", "crt/mma.h");        /* the same */
    }
    tt__str_free(&header);
}

static void try_below(tt__str *out, int *n, int wanted, const char *parent, const char *sub) {
    tt__str folder = {0};
    tt__str_addf(&folder, "%s/%s", parent ? parent : "", sub);
    if (parent && *parent)
        try_folder(out, n, wanted, tt__str_text(&folder));
    tt__str_free(&folder);
}

tt_status tt__cuda_headers(tt__str *out, int *n, const char *nvrtc_path, const char *version) {
    int major = 0, minor = 0;
    *n = 0;
    if (sscanf(version, "%d.%d", &major, &minor) != 2)
        return TT_OK;
    int wanted = major * 1000 + minor * 10;
    char *real = realpath(nvrtc_path, NULL), *slash = real ? strrchr(real, '/') : NULL;
    if (slash)
        *slash = '\0';
    try_below(out, n, wanted, secure_getenv("CUDA_HOME"), "include");
    try_below(out, n, wanted, secure_getenv("CUDA_PATH"), "include");
    try_below(out, n, wanted, real, "../include");
    try_below(out, n, wanted, real, "../../include");
    try_below(out, n, wanted, real, "../../cuda_runtime/include");
    try_below(out, n, wanted, "/usr/local/cuda", "include");
    if (*TT__TOOLKIT_INCLUDE)
        try_folder(out, n, wanted, TT__TOOLKIT_INCLUDE);
    free(real);
    return tt__str_check(out);
}

/* ---- What comes before a text ---------------------------------------------------------------------------
 */

/* The header that has a type of CUDA's own. */
static const char *header_of(const char *type) {
    return strcmp(type, "__half") == 0          ? "#include <cuda_fp16.h>\n"
           : strcmp(type, "__nv_bfloat16") == 0 ? "#include <cuda_bf16.h>\n"
                                                : "";
}

/* Does code declare a variable of this name, after a type? nvcc refuses that; code that was written for NVRTC
 * may do it. */
static bool declares(const char *source, const char *name) {
    for (const char *at = source; (at = strstr(at, name)); at++) {
        const char *before = at, *next = at + strlen(name);
        while (before > source && strchr(" \t", before[-1]))
            before--;
        next += strspn(next, " \t");
        if (before < at && before > source && tt__is_word_char(before[-1]) && *next == '=' && next[1] != '=')
            return true;
    }
    return false;
}

/* The line of code that holds `at`, up to there, has this word. */
static bool line_has(const char *source, const char *at, const char *word) {
    const char *line = at;
    while (line > source && line[-1] != '\n')
        line--;
    const char *found = strstr(line, word);
    return found && found < at;
}

/* Does the code use this name of a type, and leave it to a header to declare it? One that is declared again
 * must be the same. */
static bool wants_type(const char *source, const char *name) {
    const size_t n = strlen(name);
    bool used = false;
    for (const char *at = source; (at = strstr(at, name)); at += n) {
        if (tt__is_word_char(at[n]) || (at > source && tt__is_word_char(at[-1])))
            continue;
        if (line_has(source, at, "typedef") || line_has(source, at, "using") ||
            line_has(source, at, "#define") || line_has(source, at, "#include"))
            return false;
        used = true;
    }
    return used;
}

/* Names of std:: that come without an include, from nvcc's own headers or from PyTorch's. */
static const struct {
    const char *header, *names[16];
} of_std[] = {
    {"cmath",
     {"abs", "ceil", "cos", "exp", "fabs", "floor", "isinf", "isnan", "log", "log2", "pow", "round", "sin",
      "sqrt", "tanh"}},
    {"algorithm", {"clamp", "max", "min", "swap"}},
    {"limits", {"numeric_limits"}},
    {"type_traits",
     {"conditional", "conditional_t", "enable_if", "enable_if_t", "false_type", "is_same", "is_same_v",
      "true_type"}},
};

/* Has the code SCOPE::NAME? That of cuda::std has its header. */
static bool has_member(const char *source, const char *scope, const char *name) {
    static const char cuda[] = "cuda::";
    const size_t n = strlen(scope), n_name = strlen(name), n_cuda = sizeof cuda - 1;
    for (const char *at = source; (at = strstr(at, scope)); at += n)
        if (strncmp(at + n, "::", 2) == 0 && strncmp(at + n + 2, name, n_name) == 0 &&
            !tt__is_word_char(at[n + 2 + n_name]) && !(at > source && tt__is_word_char(at[-1])) &&
            !(at >= source + n_cuda && strncmp(at - n_cuda, cuda, n_cuda) == 0))
            return true;
    return false;
}

/* The types of PyTorch that kernels take, whose headers are left out. */
static void add_torch(tt__str *out, const char *source) {
    static const char *const scopes[] = {"c10", "at", "torch"};
    static const struct {
        const char *name, *header, *type;
    } types[] = {{"Half", "cuda_fp16.h", "__half"}, {"BFloat16", "cuda_bf16.h", "__nv_bfloat16"}};
    for (size_t i = 0; i < TT__COUNT(types); i++)
        for (size_t k = 0; k < TT__COUNT(scopes); k++)
            if (has_member(source, scopes[k], types[i].name))
                tt__str_addf(out, "#include <%s>\nnamespace %s { using %s = %s; }\n", types[i].header,
                             scopes[k], types[i].name, types[i].type);
}

void tt__add_head(tt__str *out, const char *source, bool torch, const char *options, int n) {
    const size_t n_typedef = strlen(TT__TYPEDEF);
    for (int i = 0; i < n; i++, options += strlen(options) + 1) {
        const char *at = options + n_typedef, *sign = strchr(options, '=');
        if (strncmp(options, TT__TYPEDEF, n_typedef) == 0 && sign)
            tt__str_addf(out, "%stypedef %s %.*s;\n", header_of(sign + 1), sign + 1, (int)(sign - at), at);
    }
    for (const struct host_macro *m = host_macros; m->name; m++)
        if (!declares(source, m->name))
            tt__str_addf(out, "#ifndef %s\n#define %s %s\n#endif\n", m->name, m->name, m->value);
    for (const struct host_macro *m = host_types; m->name; m++)
        if (wants_type(source, m->name))
            tt__str_addf(out, "#ifndef %s\ntypedef %s %s;\n#endif\n", m->name, m->value, m->name);
    if ((strstr(source, "cudaGridDependencySynchronize") || strstr(source, "cudaTriggerProgrammatic")) &&
        !strstr(source, "cuda_device_runtime_api.h"))
        tt__str_add(out, "#define cudaGridDependencySynchronize() asm volatile(\"griddepcontrol.wait;\" ::: "
                         "\"memory\")\n#define cudaTriggerProgrammaticLaunchCompletion() asm "
                         "volatile(\"griddepcontrol.launch_dependents;\" ::)\n");
    for (size_t i = 0; i < TT__COUNT(of_std); i++)
        for (const char *const *name = of_std[i].names; *name; name++)
            if (has_member(source, "std", *name)) {
                tt__str_addf(out, "#include <%s>\n", of_std[i].header);
                break;
            }
    if (torch)
        add_torch(out, source);
    tt__str_add(out, "#line 1\n");
}
