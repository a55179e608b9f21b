/* What annotations name must be in the code: which constants are static, which parameters unused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/load/code_check.h"
#include "kernel/load/parse.h"

static tt_status parse(const char *declared) {
    static const char frame[] = "//@ kernel k\n//@ buffer x f32 4 out\n//@ constant c f32 4\n//@ block 1\n"
                                "//@ grid 1\n//@ args x\nint before;\n%s\nextern \"C\" void k();\n";
    char text[1024];
    tt__template *t;
    snprintf(text, sizeof text, frame, declared);
    tt_status status = tt__template_parse(&t, "t.cu", text);
    tt__template_free(&t);
    return status;
}

/* The words must be in the declaration itself. */
static void takes_constants_beside_other_text(void **state) {
    (void)state;
    static const char *const declared[] = {
        "__constant__ float c[4];",
        "#define LOCAL static __constant__\n__constant__ float c[4];",
        "#define LOCAL \\\n    static __constant__\n__constant__ float c[4];",
        "#define LOCAL \\\r\n    static\n__constant__ float c[4];",
        "  # define LOCAL 1 /* two\nlines: static */ + 2\n__constant__ float c[4];",
        "/* It is static,\n as a __constant__ is. */\n__constant__ float c[4];",
        "/* It\n * is static. */ __constant__ float c[4];",
        "// It is \\\n static\n__constant__ float c[4];",
        "__constant__ // static weights\nfloat c[4];",
        "__constant__ /* static */ float c[4];",
        "__constant__ __attribute__((annotate(\"static\"))) float c[4];",
        "static __constant__ float cc[4]; __constant__ float c[4]; // static __constant__ c",
        "__constant__ float c[4];\nstatic float f() { return c[0]; }",
        "#ifndef __CUDACC_RTC__\nstatic\n#endif\n__constant__ float c[4];",
        "static const wchar_t quote = L'\"';\n__constant__ float c[4];",
        "namespace n { __constant__ float c[4]; }",
        "#if N\nnamespace n { __constant__ half c[4]; }\n#else\nnamespace n\n{ void f(); __constant__ float "
        "c[4]; }\n"
        "#endif",
        "extern \"C\" { extern __constant__ float c[4]; } __constant__ float c[4];",
        "__constant__ float c[4]; namespace n { struct c {}; float *c; __constant__ float cc[4], *d = c; }",
        "using namespace n; void f() {} __constant__ float c[4]; struct s { __constant__ float c[4]; };",
        "__constant__ float c[4]; static __constant__ float d[sizeof(c) / 4];",
        "#if N\nnamespace a { __constant__ float c[4]; }\n#else\nnamespace b { __constant__ float c[4]; "
        "}\n#endif",
        "const char *raw = R\"(\nstatic __constant__ float c[4];\n)\"; __constant__ float c[4];",
        "const char *raw = u8R\"+(\n)\"\n static __constant__ float c[4];)+\"; __constant__ float c[4];",
    };
    for (size_t i = 0; i < sizeof declared / sizeof *declared; i++)
        if (parse(declared[i]) != TT_OK)
            fail_msg("%s\nis refused: %s", declared[i], tt_last_error());
}

static void refuses_static_constants(void **state) {
    (void)state;
    static const char *const declared[] = {
        "static __constant__ float c[4];",
        "__constant__ static float c[4];",
        "static /* four */ __constant__ float c[4];",
        "static // four; of them\n__constant__\nfloat b[2], c[4];",
        "#define FOUR 4\nstatic\n#pragma nothing\n__constant__ float c[FOUR];",
        "namespace { static __constant__ float c[4]; }",
        "int million = 1'000'000; static __constant__ float c[4];",
        "const char *raw = LR\"(\n/*\")\"; static __constant__ float c[4];",
        "const char *raw = R\"(\\)\"; static __constant__ float c[4];",
        "const char *text = FOUR\"(\"; static __constant__ float c[4]; char end[] = \")\";",
        "char quote = '\"', star[] = \"\\\"/*\"; static __constant__ float c[4];",
    };
    for (size_t i = 0; i < sizeof declared / sizeof *declared; i++)
        if (parse(declared[i]) != TT_E_TEMPLATE || !strstr(tt_last_error(), "c, which `constant` names, is "
                                                                            "static: take `static` away"))
            fail_msg("%s\nis taken, or refused otherwise: %s", declared[i], tt_last_error());
}

/* Kernels are looked up in code, and comments are none. */
static void passes_over_comments(void **state) {
    (void)state;
    static const struct {
        const char *code, *sentence; /* NULL: taken */
    } cases[] = {
        {"/* k(cudaTextureObject_t) was slower. */ void k(float *x);", NULL},
        {"/* Once it was\n * k(cudaTextureObject_t). */ void k(float *x);", NULL},
        {"int old; // k(cudaTextureObject_t)\nvoid k(float *x);", NULL},
        {"// k, too, \\\n k(cudaTextureObject_t)\nvoid k(float *x);", NULL},
        {"void k(const /* a */ cudaTextureObject_t t);", "k takes a cudaTextureObject_t"},
        {"const char *apart = \"/*\"; void k(cudaTextureObject_t t);", "k takes a cudaTextureObject_t"},
        {"/* k() is in\n k.cu */ void kk(float *x);", "the code has no kernel k, which `kernel` names"},
        {"/* of __global__ */ __kernel void k(float *x);", "the code is OpenCL"},
        {"void k(float *x) { extern __shared__ float s[]; }",
         "t.cu:1:12: k declares an `extern __shared__` array, and has no `shared` line"},
        {"template <int N> __launch_bounds__(32) void k(float *x)\n{ if (x) { __shared__ int a;\n"
         "extern __align__(16) __shared__ float s[]; } }",
         "k declares an `extern __shared__` array"},
        {"void k(float *x); void k(float *x) { extern __shared__ float s[]; }", "k declares an `extern"},
        {"void l() { extern __shared__ float s[]; } void k(float *x) { extern int a; __shared__ int b; }",
         NULL},
        {"void k(float *x) { /* extern __shared__ float s[]; */ k(f(x)); { } }", NULL},
        {"void k(float *x) {}\n//@ shared 4\nvoid l() { k(); extern __shared__ float s[]; }", NULL},
        {"void k(float *x) { extern __shared__ float s[]; }\n//@ shared 4", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        tt__template *t;
        snprintf(text, sizeof text,
                 "//@ kernel k\n//@ buffer x f32 4 out\n//@ block 1\n//@ grid 1\n//@ args x\n%s\n",
                 cases[i].code);
        tt_status status = tt__template_parse(&t, "t.cu", text);
        tt__template_free(&t);
        if (cases[i].sentence ? status != TT_E_TEMPLATE || !strstr(tt_last_error(), cases[i].sentence)
                              : status != TT_OK)
            fail_msg("%s: %s", cases[i].code, status == TT_OK ? "taken" : tt_last_error());
    }
}

/* A parameter may be used by the code, its directives, or annotations. */
static void tells_what_is_unused(void **state) {
    (void)state;
    static const struct {
        const char *code, *says;
    } cases[] = {
        {"void k();", "nothing uses the parameter FOO"},
        {"void k(); // FOO\n/* as FOO\n and FOO */", "nothing uses the parameter FOO"},
        {"int FOOD, A_FOO; void k();", "nothing uses the parameter FOO"},
        {"void k() { _Pragma(\"unroll FOO\") for (;;); }", ""},
        {"#if FO\n#endif\nvoid k();", "nothing uses the parameter FOO"},
        {"//@ param BAR 1 2\n//@ default FOO=1 BAR=1\nvoid k();",
         "nothing uses the parameter FOO\nnothing uses the parameter BAR"},
        {"#if FOO\n#endif\nvoid k();", ""},
        {"#define TWICE (2 * FOO)\nvoid k();", ""},
        {"void k() { int a = '\"' + FOO + 1'000; }", ""},
        {"const char *f = \"/*\"; void k() { f[FOO]; }", ""},
        {"//@ where FOO > 0\nvoid k();", ""},
        {"  //@  let l FOO * 2\r\nvoid k();", "nothing uses the `let` l"},
        {"//@ options -DBAR={FOO}\nvoid k();", ""},
        {"//@ problem m 4\nvoid k() { FOO; }", "nothing uses the variable m"},
        {"//@ problem m 4\n//@ type T f32 f64\nvoid k() { FOO; /* m T */ }",
         "nothing uses the variable m\nnothing uses the variable T"},
        {"//@ problem m 4\n//@ type T f32 f64\n//@ let l m\n//@ where l > 0\nvoid k(T *x) { FOO; }", ""},
        {"//@ problem m 4\n//@ macros variables\nvoid k() { FOO; M; }", ""},
        {"//@ let l 1/0\nvoid k() { FOO; }", "nothing uses the `let` l"},
        {"//@ let l FOO\n//@ derived BAR l\nvoid k() { int l; }", "nothing uses the `derived` BAR"},
        {"//@ let l FOO\nvoid k() { int l; }", "nothing uses the `let` l"},
        {"//@ let l FOO\n//@ where l > 0\nvoid k();", ""},
        {"//@ derived BAR FOO\nvoid k() { BAR; }", ""},
        {"//@ buffer z f32 4 out\n//@ constant c f32 4\n//@ scalar s i32 1\nfloat c[FOO]; void k();",
         "no `args` line names the buffer z"},
        {"//@ buffer z i32 4 in index i % 2\nvoid k() { FOO; }", "no `args` line names the buffer z"},
        {"//@ buffer z f32 4 in\n//@ buffer y f32 4 in z\n//@ reference r\n//@ block 1\n//@ grid 1\n"
         "//@ args x, y\nvoid k() { FOO; } void r();",
         ""},
        {"//@ buffer z f32 4 inout\n//@ swap x z\n//@ repeat FOO\nvoid k();", ""},
        {"void e(float **x); void k(float *x) { float **y = FOO; }", ""},
        {"void k(float *const __restrict__ *x) { FOO; }",
         "k takes a pointer to pointers, and no buffer holds addresses: put the pointers in a struct of "
         "`args`"},
        {"//@ buffer z f32 4 in\n//@ data d\n//@ block 1\n//@ grid 1\n//@ args z\nvoid k() { FOO; }\n"
         "void e() { FOO; } void d() { \"FOO\"; /* FOO */ }",
         ""},
        {"//@ buffer z f32 4 in\n//@ data d\n//@ block 1\n//@ grid 1\n//@ args z\nvoid k(); void d(float *z) "
         "{ FOO; }",
         "the `data` kernel d uses FOO, but it runs once, with the default configuration"},
        {"//@ buffer z f32 4 in\n//@ data d\n//@ block FOO\n//@ grid 1\n//@ args z\nvoid k(); void d(float "
         "*z) "
         "{ FOO; }",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        tt__template *t;
        tt__str unused = {0};
        const bool own = strstr(cases[i].code, "//@ default");
        snprintf(text, sizeof text,
                 "//@ kernel k\n//@ buffer x f32 4 out\n//@ param FOO 1 2\n%s//@ block 1\n//@ grid 1\n"
                 "//@ args x\n%s\n",
                 own ? "" : "//@ default FOO=1\n", cases[i].code);
        if (tt__template_parse(&t, "t.cu", text) != TT_OK)
            fail_msg("%s", tt_last_error());
        assert_int_equal(tt__template_unused(&unused, t), TT_OK);
        if (strcmp(tt__str_text(&unused), cases[i].says) != 0)
            fail_msg("%s\nsays: %s", cases[i].code, tt__str_text(&unused));
        tt__str_free(&unused);
        tt__template_free(&t);
    }
}

/* It is made once, so a parameter in it would count with its default value only. */
static void refuses_data_that_depend_on_parameters(void **state) {
    static const struct {
        const char *lines, *says;
    } cases[] = {
        {"//@ buffer z f32 4 in\n//@ data d\n//@ block FOO\n//@ grid FOO\n//@ args z, i32 4", ""},
        {"//@ problem n 4\n//@ let m 2 * n\n//@ buffer z f32 m in\n//@ data d\n//@ block 1\n//@ grid 1\n//@ "
         "args z",
         ""},
        {"//@ buffer z f32 4 in\n//@ data d\n//@ block 1\n//@ grid 1\n//@ args z, i32 FOO",
         "t.cu:12:17: `data` is made once, with the default configuration, and cannot depend on the "
         "parameter FOO: "
         "let a `kernel` line before the others make what does"},
        {"//@ buffer z f32 4 in\n//@ let BAR FOO + 1\n//@ data d\n//@ block 1\n//@ grid 1\n"
         "//@ args z, struct (i32 4, f32 BAR)",
         "t.cu:13:32: `data` is made once, with the default configuration, and cannot depend on the "
         "parameter FOO: "
         "let a `kernel` line before the others make what does"},
        {"//@ buffer z f32 4 * FOO in\n//@ data d\n//@ block 1\n//@ grid 1\n//@ args z",
         "t.cu:8:18: the length of z depends on a parameter, and a `data` kernel fills one length: give it "
         "the "
         "largest"},
        {"//@ buffer z f32 4 in\n//@ data d\n//@ per configuration\n//@ block 1\n//@ grid 1\n//@ args z",
         "t.cu:10:9: `per configuration` belongs below a `reference`: `data` is made once, with the default "
         "configuration"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        tt__template *t;
        snprintf(text, sizeof text,
                 "//@ kernel k\n//@ buffer x f32 4 out\n//@ param FOO 1 2\n//@ default FOO=1\n//@ block 1\n"
                 "//@ grid 1\n//@ args x\n%s\nvoid k() { FOO; } void d();\n",
                 cases[i].lines);
        const tt_status status = tt__template_parse(&t, "t.cu", text);
        assert_int_equal(status, *cases[i].says ? TT_E_TEMPLATE : TT_OK);
        if (*cases[i].says)
            assert_string_equal(tt_last_error(), cases[i].says);
        tt__template_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_constants_beside_other_text),
        cmocka_unit_test(refuses_static_constants),
        cmocka_unit_test(passes_over_comments),
        cmocka_unit_test(tells_what_is_unused),
        cmocka_unit_test(refuses_data_that_depend_on_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
