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
    assert_int_equal(tt__source_make(out, dropped, source, list, n), TT_OK);
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

#define USERS "-DN=8|-DELEM_SIZE=4|" TT__USERS "k l |"

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
        const char *made = make(&text, dropped, cases[i].source, USERS);
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
        {"template <int N> __global__ __launch_bounds__(N) void m(int) {}",
         "template <int N> __device__                      void m(int) {}"},
        {"__launch_bounds__(32, f(2)) __global__ void m();",
         "                            __device__ void m();"},
        {"extern \"C\" __global__ void __launch_bounds__(256) l(int a) { m(); }", NULL},
        {"template __global__ void m<float, 2>(int);", NULL},
        {"__global__ void m(const __grid_constant__ int a) {}", NULL},
        {"#define K(n) __global__ void n()\n// __global__ void m()", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__str text;
        bool dropped[8];
        expect(cases[i].source, make(&text, dropped, cases[i].source, USERS), cases[i].made);
        tt__str_free(&text);
    }
}

static void functions_of_the_host_go(void **state) {
    (void)state;
    static const struct {
        const char *source, *made;
    } cases[] = {
        {"int a;\nint main() {\n  if (1) {}\n}\nint b;", "int a;\n            \n           \n \nint b;"},
        {"void run(float *p) { k<<<1, 2>>>(p); } int a;", "                                       int a;"},
        {"template <class T> void run() { cudaMalloc(0, 1); }",
         "                                                   "},
        {"namespace a { void f(std::vector<int> v) {} int b; }",
         "namespace a {                              int b; }"},
        {"extern \"C\" { void f() { exit(1); } }", "extern \"C\" {                        }"},
        {"constexpr int two() { return 2; } __device__ void f() { exit(); }", NULL},
        {"__global__ void k() { cudaGridDependencySynchronize(); printf(\"main\"); }", NULL},
        {"struct s { int f() { return cudaIs(); } };", "struct s {                             };"},
        {"static float vector(float string) { return string; }", NULL},
        {"int table[] = {1, 2}; int f() { return 1; }", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__str text;
        bool dropped[8];
        expect(cases[i].source, make(&text, dropped, cases[i].source, USERS), cases[i].made);
        tt__str_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(macros_take_the_place_of_definitions),
        cmocka_unit_test(other_kernels_are_not_compiled),
        cmocka_unit_test(functions_of_the_host_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
