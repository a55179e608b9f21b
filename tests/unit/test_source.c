/* What the compiler gets in place of what stands in a user's file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "code/nvrtc.h"
#include "code/source.h"

/* '|' ends an option. The text after the head that is added to all. */
static const char *make(tt__str *out, bool dropped[8], const char *source, const char *options) {
    char list[256];
    int n = 0;
    size_t length = strlen(options);
    memcpy(list, options, length + 1);
    for (size_t i = 0; i < length; i++)
        if (list[i] == '|') {
            list[i] = '\0';
            n++;
        }
    *out = (tt__str){0};
    memset(dropped, 0, 8);
    assert_int_equal(tt__source_make(out, dropped, TT__CUT_UNUSED, source, list, n), TT_OK);
    const char *text = strstr(tt__str_text(out), "#line 1\n");
    assert_non_null(text);
    return text + strlen("#line 1\n");
}

/* Runs of blanks become one: how many stand for what went is not written down here. */
static void expect(const char *source, const char *made, const char *wanted) {
    char texts[2][512];
    const char *const from[2] = {made, wanted ? wanted : source};
    for (int k = 0; k < 2; k++) {
        size_t n = 0;
        for (const char *at = from[k]; *at; at++)
            if (*at != ' ' || (n > 0 && texts[k][n - 1] != ' '))
                texts[k][n++] = *at;
        texts[k][n] = '\0';
    }
    if (strcmp(texts[0], texts[1]) != 0)
        fail_msg("%s\n  made     %s\n  expected %s", source, made, from[1]);
    size_t lines[2] = {0};
    for (int k = 0; k < 2; k++)
        for (const char *at = k ? source : made; *at; at++)
            lines[k] += *at == '\n';
    assert_int_equal(lines[0], lines[1]);
}

#define USERS   "-DN=8|-DELEM_SIZE=4|" TT__USERS "k l |"
#define REACHED "-DUSED=a b c f g s N|" /* code that has them */

static void macros_take_the_place_of_definitions(void **state) {
    (void)state;
    static const struct {
        const char *source, *made; /* NULL: the same */
        bool dropped;
        int line;
    } cases[] = {
        {"#define N 4\nint a = N;\n", "           \nint a = N;\n", false, 1},
        {"int b;\n  #  define\tN\nint a = N;\n#undef N\n", "int b;\n            \nint a = N;\n        \n",
         false, 2},
        {"#define N \\\n  4\nint a;", "           \n   \nint a;", false, 1},
        {"#ifndef N\n#define N 4\n#endif\n", "#ifndef N\n           \n#endif\n", false, 2},
        {"#define N(a) a\n#define NN 4\n#define M N\n", NULL, false, 0},
        {"/*\n#define N 4\n*/ // #define N\nconst char *s = \"#define N\";", NULL, false, 0},
        {"#define ELEM_SIZE 2\n", NULL, false, 0},
        {"\nstatic const int N = 4; int a = N;", "\nstatic const int N =8; int a = N;", true, 2},
        {"#undef N\nconst int N = 4;\n#undef N\n", "\nconst int N =8;\n \n", true, 2},
        {"constexpr unsigned M = 1, N = f(2, 3), O = N;", "constexpr unsigned M = 1, N =8, O = N;", true, 1},
        {"enum { M, N = 4 };", "enum { M, N =8};", true, 1},
        {"enum sizes : int { N = 4, M };", "enum sizes : int { N =8, M };", true, 1},
        {"using N = float;", "using N =8;", true, 1},
        {"namespace a { const int N = 4; }\nnamespace b { const int N = 5; }", NULL, false, 0},
        {"template <int N = 4> __device__ int f(const int a = N);", NULL, false, 0},
        {"int N = 4; if (N == 4) {} const int a = b, c[N] = {};", NULL, false, 0},
        {"const int a = N;\nint f(const int b, int N = 4);", NULL, false, 0},
        {"#line 1 \"h.cuh\"\n\n#define N 4\n#line 2 \"k.cu\"\n",
         "#line 1 \"h.cuh\"\n\n           \n#line 2 \"k.cu\"\n", false, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *file;
        tt__str text;
        bool dropped[8];
        size_t n;
        const char *made = make(&text, dropped, cases[i].source, USERS REACHED);
        expect(cases[i].source, made, cases[i].made);
        assert_int_equal(dropped[0], cases[i].dropped);
        assert_int_equal(tt__source_replaced(cases[i].source, "N", &file, &n), cases[i].line);
        assert_int_equal(file != NULL, i + 1 == sizeof cases / sizeof *cases);
        tt__str_free(&text);
        assert_string_equal(make(&text, dropped, cases[i].source, "-DN=8|"),
                            cases[i].source); /* the library's */
        tt__str_free(&text);
    }
}

static void other_kernels_are_not_compiled(void **state) {
    (void)state;
    static const struct {
        const char *source, *made;
    } cases[] = {
        {"__global__ void k() {} __global__ void m() {}", "__global__ void k() {} __device__ void m() {}"},
        {"__global__ void k() {} __global__ void o() {}", "__global__ void k() {} "},
        {"template <int N> __global__ __launch_bounds__(N) void m(int) {}",
         "template <int N> __device__                      void m(int) {}"},
        {"__launch_bounds__(32, f(2)) __global__ void m();",
         "                            __device__ void m();"},
        {"extern \"C\" __global__ void __launch_bounds__(256) l(int a) { m(); }", NULL},
        {"template __global__ void m<float, 2>(int); template class t<int>;", " "},
        {"MACRO(1)\ntemplate __global__ void m<2>(int);", "MACRO(1)\n "},
        {"__global__ void m(const __grid_constant__ int a) {}", NULL},
        {"template <class T> __global__ void m(T a) {} template <> __global__ void m<float>(float a) {}",
         "template <class T> __device__ void m(T a) {} template <> __device__ void m<float>(float a) {}"},
        {"#define K(n) __global__ void n()\n// __global__ void m()", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__str text;
        bool dropped[8];
        expect(cases[i].source, make(&text, dropped, cases[i].source, USERS "-DM=m|"), cases[i].made);
        tt__str_free(&text);
    }
}

static void functions_of_the_host_go(void **state) {
    (void)state;
    static const struct {
        const char *source, *made;
    } cases[] = {
        {"enum { a };\nint main() {\n  if (1) {}\n}\nenum { b };",
         "enum { a };\n            \n           \n \nenum { b };"},
        {"int main() {\n#define FAST 1 \\\n + 1\n  /*\n# */ if (1) {}\n}\nenum { b };",
         "            \n#define FAST 1 \\\n + 1\n    \n              \n \nenum { b };"},
        {"int main() {\n # if V\nexit(1); }\n#else\n}\n#endif\nenum { b };",
         "            \n # if V\n          \n#else\n}\n#endif\nenum { b };"},
        {"extern \"C\" __device__ float f(float x) noexcept { return x * 3; }", NULL},
        {"void run(float *p) { k<<<1, 2>>>(p); } enum { a };",
         "                                       enum { a };"},
        {"void c() { k << <1, 2>> >(1 << 2); }", " "},
        {"int c(int a) { return a << 2; }", NULL},
        {"template <> void run<float>(int a) { k<<<1, 2>>>(a); } template <> int run<int>(int a) { return a; "
         "}",
         " template <> int run<int>(int a) { return a; }"},
        {"template <class T> void run() { cudaMalloc(0, 1); }",
         "                                                   "},
        {"namespace a { void f(std::vector<int> v) {} enum { b }; }",
         "namespace a {                              enum { b }; }"},
        {"extern \"C\" { void f() { exit(1); } }", "extern \"C\" {                        }"},
        {"constexpr int two() { return 2; } __device__ void f() { two(); exit(); }", NULL},
        {"__global__ void k() { cudaGridDependencySynchronize(); printf(\"main\"); }", NULL},
        {"struct s { int f() { return cudaIs(); } };", "struct s {                             };"},
        {"struct s { void operator()(int *p) const { cudaFree(p); } std::string n() const noexcept { return "
         "a; } };",
         "struct s { };"},
        {"struct s { s(std::string b) : a(2), c{b} { exit(1); } int a; };", "struct s { int a; };"},
        {"struct s { auto n() -> std::string { return a; } };", "struct s { };"},
        {"static float vector(float string) { return string; } enum { a = sizeof vector(1) };", NULL},
        {"int table[] = {1, 2}; int f() { return 1; } __device__ int g(int n = f());", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__str text;
        bool dropped[8];
        expect(cases[i].source, make(&text, dropped, cases[i].source, USERS REACHED), cases[i].made);
        tt__str_free(&text);
    }
}

static void what_no_kernel_reaches_goes(void **state) {
    (void)state;
    static const struct {
        const char *source, *made;
    } cases[] = {
        {"cublasHandle_t handle; static void *space = 0; dim3 grid[3][2];", " "},
        {"void check(cublasStatus_t s, int line) { if (s) stop(line); } __device__ int f();",
         " __device__ int f();"},
        {"class q { int n() const; q(int a); }; inline int q::n() const { return strlen(0); } q::q(int a) : "
         "b(1), c{a} { "
         "n(); } inline q::~q() {} enum { a };",
         " enum { a };"},
        {"template <class T> struct q; template <class T> struct q { handle_t a; }; class r; enum { a };",
         " enum { a };"},
        {"struct q; __device__ int f(q *a); struct q { int b; };", NULL},
        {"void kernel(handle_t a) {} void users(handle_t a) {}", " "}, /* kinds of options */
        {"template <int N> void map(CUtensorMap *m) {} bool test(int, char **);", " "},
        {"struct timer { cudaEvent_t start; void stop() {} }; struct used { int a; }; __device__ used u;",
         " struct used { int a; }; __device__ used u;"},
        {"template <class T, class U> class a : public b { T t; };", " "},
        {"namespace a { int f() { return 1; } int g() { return f(); } __device__ int h() { return a::g(); } "
         "}",
         NULL},
        {"#define CALL(x) helper(x)\nint helper(int a) { return a; }\n__device__ int f() { return CALL(1); }",
         NULL},
        {"#define CALL(x) helper(x)\nint helper(int a) { return a; }\n__device__ int f() { return 1; }",
         "#define CALL(x) helper(x)\n \n__device__ int f() { return 1; }"},
        {"#define KERNEL(n) __global__ void n()\nKERNEL(k) { int a; }\nDECLARE(m);\n", NULL},
        {"int of_option(int a) { return a; } int unused(int a) { return a; }",
         "int of_option(int a) { return a; } "},
        {"enum b { c }; template <> __device__ int f<2>();", NULL},
        {"__device__ int a; __constant__ float b[4]; __shared__ int s; struct x; enum y : int;",
         "__device__ int a; __constant__ float b[4]; __shared__ int s; enum y : int;"},
        {"const int a = 1; const struct x *p(struct y *z); template <int A, int B> int m(handle q);", " "},
        {"template <int N> int m(int a); template <> int m<4>(int a);", NULL},
        {"API(1, 2) API void p(const char *a, ...); API void q(int a);",
         "API(1, 2) API void p(const char *a, ...); "},
        {"#define MAKE(a) \\\n  template __global__ \\\n  void m<a>()\nMAKE(1);",
         "#define MAKE(a) \\\n \n \nMAKE(1);"},
        {"__device__ glm::vec3 p(int a) { return g(a); } __global__ void o(glm::vec3 a) {} __device__ int "
         "i();",
         " "},
        {"// ## a comment\n__device__ int p(int a) { return 1; }", "// ## a comment\n "},
        {"#define JOIN(a) a##b\n__device__ int p(int a) { return 1; }", NULL},
        {"s operator+(s a, s b) { return a; } s::s(int a) {} s::~s() {}", NULL},
        {"void s::p(int a) { q << <1, 2 >> >(a); } int n::f(int a) { return a; }",
         " int n::f(int a) { return a; }"},
        {"int a =\n#if X\n1;\n#else\n2;\n#endif\n", NULL},
        {"struct s { int f() { return 1; } int a; } x; __device__ int y = x.f();", NULL},
        {"float p = 1.0f, q[2], *r = f(1, 2); int u = g<1, 2>(3), v; __device__ int w = v;",
         " int u = g<1, 2>(3), v; __device__ int w = v;"},
        {"using handle = cublasLtHandle_t; typedef cudaStream_t stream; typedef int (*callback)(int);"
         "using namespace cuda; using n::run; using std::w; typedef float real; __device__ real f();",
         " typedef int (*callback)(int);using namespace cuda; using std::w; typedef float real; __device__ "
         "real f();"},
        {"enum class e { a, b }; __device__ e f();", NULL},
        {"typedef struct __builtin_align__(16) { uint4 a; } wide; struct alignas(16) v { int a; };"
         "struct s *f(int a) { return 0; } struct s *p(int a) { return 0; }",
         "typedef struct __builtin_align__(16) { uint4 a; } wide; struct alignas(16) v { int a; };"
         "struct s *f(int a) { return 0; } "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__str text;
        bool dropped[8];
        expect(cases[i].source, make(&text, dropped, cases[i].source, USERS "-DM=of_option f h w y u|"),
               cases[i].made);
        tt__str_free(&text);
    }
}

/* A cut too few is a slow compile, and one too many may change what the kernel computes without an error. */
static void what_may_be_used_stays(void **state) {
    (void)state;
    static const struct {
        const char *source, *made;
    } cases[] = {
        /* calls of macros that make definitions, without a semicolon */
        {"MAKE(k, double)\nint p(int a) { return a; }", NULL},
        {"MAKE(k, double) int p(int a); MAKE(l) struct q { int a; }; MAKE(m) int r = 1; MAKE(n) typedef int "
         "v;",
         NULL},
        {"#define OVERLOAD __device__ int k(double a) { return 1; }\nOVERLOAD int p(int a) { return a; }",
         NULL},
        {"MAKE(k)\nvoid p() { k<<<1, 2>>>(); }", "MAKE(k)\n "},
        {"MAKE(k)\nint main() {}", "MAKE(k)\n "},
        {"MAKE(k)\ntemplate __global__ void p<2>(int);", "MAKE(k)\n "},
        {"template <int N, class T = box<f(2)>> int p(box<int(int)> a) { return 1; }", " "},
        /* several names, names of templates */
        {"using std::f, std::p;", NULL},
        {"typedef int q, *k;", NULL},
        {"template <class T> using f = box<T>; template <class T> using p = box<T>;",
         "template <class T> using f = box<T>; "},
        /* what code uses without its name */
        {"struct s { int a; }; int begin(s &a) { return 1; } int end(s &a) { return 2; } int p(s &a) { "
         "return 3; }",
         "struct s { int a; }; int begin(s &a) { return 1; } int end(s &a) { return 2; } "},
        {"const int q = 4, p = 5;\n#pragma unroll q\nenum { a };", NULL},
        /* brackets that are of attributes */
        {"__device__ int p __attribute__((aligned(16))); int q __attribute__((unused)) = 3, r;", NULL},
        {"int p(int a) __attribute__((noinline)); __global__ void q(int a) __launch_bounds__(32);",
         " __device__ void q(int a) ;"},
        {"auto p = a.template f<3>();", " "},
        /* special cases of a header's templates */
        {"template <> struct traits<s> { int a; }; template <class T> struct traits<T *> { int a; };", NULL},
        {"template <> int limit(s a) { return 1; }", NULL},
        {"template <class T> struct q { int a; }; template <> struct q<s> { int a; };", " "},
        {"template <> struct std::hash<s> { int a; };", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__str text;
        bool dropped[8];
        expect(cases[i].source, make(&text, dropped, cases[i].source, USERS "-DM=f|"), cases[i].made);
        tt__str_free(&text);
    }
}

/* It takes seconds at most, not hours: nothing is looked for beyond its statement. */
static void large_files_take_no_longer(void **state) {
    (void)state;
    enum { N = 20000 };
    tt__str source = {0}, text;
    bool dropped[8];
    for (int i = 0; i < N; i++)
        tt__str_addf(&source,
                     "int unused%d(int a) { return a + %d; }\nint a%d = 1, b%d;\n#define M%d unused%d\n", i,
                     i, i, i, i, i);
    tt__str_add(&source, "__global__ void k(int *p) { *p = b7; }\n");
    const char *made = make(&text, dropped, tt__str_text(&source), USERS);
    assert_non_null(strstr(made, "int a7 = 1, b7;"));
    assert_null(strstr(made, "int a8 = 1, b8;"));
    assert_null(strstr(made, "return a"));
    tt__str_free(&text);
    tt__str_free(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(macros_take_the_place_of_definitions),
        cmocka_unit_test(other_kernels_are_not_compiled),
        cmocka_unit_test(functions_of_the_host_go),
        cmocka_unit_test(what_no_kernel_reaches_goes),
        cmocka_unit_test(what_may_be_used_stays),
        cmocka_unit_test(large_files_take_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
