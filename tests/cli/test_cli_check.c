/*
 * What `tune check FILE` says of files that can be tuned, but hardly as they are meant. Constants show in the
 * real NVRTC's code only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "script.h"
#include "write_in.h"

/* The file k.cu: these lines, those that all files have, and the code. */
static void write_kernel(const char *lines, const char *code) {
    char text[2048];
    snprintf(text, sizeof text,
             "//@ kernel k\n//@ problem n 64\n//@ buffer x f32 n out\n%s//@ block 64\n//@ grid 1\n"
             "//@ args x\n//@ reference r\n//@ block 64\n//@ grid 1\n//@ args x\n%s"
             "extern \"C\" __global__ void r(float *x) { x[threadIdx.x] = 1; }\n",
             lines, code);
    write_in(folder, "k.cu", text);
}

/* NVRTC where the library finds it by itself. Does the test go on? */
static bool check_compiled(run_result *r, const char *options) {
    static const char *const env[] = {"LD_LIBRARY_PATH", "TILETUNE_NVRTC", "CUDA_VISIBLE_DEVICES=", NULL};
    char line[256];
    snprintf(line, sizeof line, "check %s/k.cu %s", folder, options);
    run_tune(r, &(run_spec){.env = env, .timeout_s = 60}, line);
    if (!strstr(r->out, "NVRTC is not installed"))
        return true;
    run_free(r);
    return false;
}

static void test_constants_that_stay_zero(void **state) {
    (void)state;
    static const char code[] =
        "__constant__ float a[4], left[2], set[2] = {1};\n"
        "extern \"C\" __global__ void k(float *x) { x[threadIdx.x] = a[n4] + left[n4 & 1] + "
        "set[n4 & 1]; }\n";
    static const char *const says[] = {"\n\nWARNING: the code has a __constant__ array left, which no "
                                       "`constant` line fills: it stays zero\n",
                                       "\"does_not_fit\":\"\",\"warnings\":\"the code has a __constant__ "
                                       "array left, which no `constant` line "
                                       "fills: it stays zero\"}"};
    run_result r;
    write_kernel("//@ constant a f32 4\n//@ param n4 1 2\n//@ default n4=1\n", code);
    for (int json = 0; json < 2; json++)
        if (check_compiled(&r, json ? "--json" : "")) {
            assert_code(&r, 0);
            assert_has(&r, r.out, says[json]);
            assert_int_equal(strstr(strstr(r.out, "array left") + 1, "array ") != NULL, false);
            run_free(&r);
        }
}

/* A __device__ variable is a table if the code only reads it. */
static void test_tables_that_stay_zero(void **state) {
    (void)state;
    static const struct {
        const char *global, *use, *says; /* NULL: no warning */
    } cases[] = {
        {"__device__ float table[4];", "x[i] = table[i & 3];",
         "a __device__ array table, which nothing fills"},
        {"__device__ float table[2][4];", "x[i] = 2 * table[0][i & 3] + 1;", "array table,"},
        {"__managed__ float table[4];", "x[i] = table[i & 3];",
         "a __managed__ array table, which nothing fills"},
        {"__device__ __managed__ int scale;", "if (scale) x[i] = 1;", "a __managed__ array scale,"},
        {"static __device__ int scale;", "if (scale == 3 && scale) x[i] = 1;", "array scale,"},
        {"__device__ int scale;", "if (scale) x[i] = 1;", "array scale,"},
        {"struct taken { int &of; __device__ taken(int &v) : of(v) {} };\n__device__ int n;",
         "taken t(n); x[i] = t.of++;", NULL},
        {"namespace n { __device__ float table[4]; }", "x[i] = n::table[i & 3];", "array table,"},
        {"__device__ float table[4] = {1};", "x[i] = table[i & 3];", NULL},
        {"__device__ float old[64];", "x[i] = old[i]; old[i] = 2;", NULL},
        {"__device__ float old[64];", "x[i] = old[i]; old[i] += 2;", NULL},
        {"__device__ int n[64];", "x[i] = n[i]++;", NULL},
        {"__managed__ int n[64];", "x[i] = n[i]++;", NULL},
        {"__device__ int n[64];", "x[i] = atomicAdd(&n[i], 1);", NULL},
        {"__device__ int n[64];", "x[i] = atomicAdd(n + i, 1);", NULL},
        {"__device__ unsigned n;", "x[i] = atomicAdd(&n, 1);", NULL},
        /* As in a header: the file declares none of this name. */
        {"#define MAKE(a) __device__ int a##d[4];\nMAKE(en)", "x[i] = end[i & 3];", NULL},
        {"__device__ unsigned n;", "if (x[i] == 7) n = 2; x[i] = n;", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char code[512];
        run_result r;
        snprintf(code, sizeof code,
                 "%s\nextern \"C\" __global__ void k(float *x) { int i = threadIdx.x; %s }\n",
                 cases[i].global, cases[i].use);
        write_kernel("", code);
        if (!check_compiled(&r, ""))
            return;
        assert_code(&r, 0);
        if (cases[i].says ? !strstr(r.out, cases[i].says) : !!strstr(r.out, "which nothing fills"))
            fail_msg("%s %s: %s", cases[i].global, cases[i].use, r.out);
        run_free(&r);
    }
}

/* The line of a constant may be wrong in its length, or in its type. */
static void test_constants_of_another_length(void **state) {
    (void)state;
    static const struct {
        const char *line, *code, *says; /* NULL: they fit */
    } cases[] = {
        {"f32 4", "__constant__ float a[4];", NULL},
        {"f32 4", "namespace n { __constant__ float a[4]; } using namespace n;", NULL},
        {"f32 4", "__constant__ float a[4]; struct n { int a[2]; };", NULL},
        {"f32 8", "__constant__ float a[4];", "16 bytes in the code, but its line says 32: make the array"},
        {"f16 4", "__constant__ float a[4];", "16 bytes in the code, but its line says 8: make the array"},
        {"f32 4", "namespace n { __constant__ float a[2]; } using namespace n;",
         "8 bytes in the code, but its line says 16: make the array"},
        {"f32 4", "#define a b\n__constant__ float a[2] = {1};", NULL}, /* left out */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[64], code[512], says[256];
        run_result r;
        snprintf(line, sizeof line, "//@ constant a %s\n", cases[i].line);
        snprintf(code, sizeof code,
                 "%s\nextern \"C\" __global__ void k(float *x) { x[threadIdx.x] = a[threadIdx.x %% 2]; }\n",
                 cases[i].code);
        write_kernel(line, code);
        if (!check_compiled(&r, ""))
            return;
        assert_code(&r, cases[i].says ? 2 : 0);
        snprintf(says, sizeof says, "k.cu: the constant a has %s", cases[i].says ? cases[i].says : "");
        assert_has(&r, r.err, cases[i].says ? says : "");
        run_free(&r);
    }
}

/* `#if PRIVTE` leaves PRIVATE unused. */
static void test_what_is_unused(void **state) {
    (void)state;
    static const char *const says[] = {"\n\nWARNING: nothing uses the parameter PRIVATE\n",
                                       "\"warnings\":\"nothing uses the parameter PRIVATE\"}"};
    write_kernel("//@ param PRIVATE 0 1\n//@ default PRIVATE=1\n",
                 "#if PRIVTE\n#endif\nextern \"C\" __global__ void k(float *x) { x[threadIdx.x] = 1; }\n");
    for (int json = 0; json < 2; json++) {
        char line[256];
        run_result r;
        snprintf(line, sizeof line, "check %s/k.cu %s", folder, json ? "--json" : "");
        run_tune_faulty(&r, "", line);
        assert_code(&r, 0);
        assert_has(&r, r.out, says[json]);
        run_free(&r);
    }
}

/* A parameter may be in the code, and yet all its values are the same. */
static void test_what_changes_nothing(void **state) {
    (void)state;
    static const char dead[] = "\n\nWARNING: the parameter U changes nothing: code and launch are the same "
                               "in all configurations compared\n",
                      instead[] = "\nU          in place of line 1",
                      refused[] = "k.cu: U changes nothing, because ";
    static const struct {
        const char *lines, *head, *value, *says; /* NULL: nothing is wrong */
    } cases[] = {
        {"//@ default U=1", "", "U", NULL},
        {"//@ default U=1", "#define U 4", "U", instead},
        {"//@ default U=4", "#define U 4", "U", instead},
        {"//@ default U=2", "#define U(i) i", "1; int i = U(3)", refused},
        {"//@ default U=1", "#undef U\n#define U 4", "U", instead},
        {"//@ default U=1\n//@ options -w", "#\tdefine U 4", "U", instead},
        {"//@ default U=1", "#ifndef U\n#define U 4\n#endif", "U", instead},
        {"//@ default U=1", "static const int U = 4;", "U", instead},
        {"//@ default U=1", "static const int U = 4, V = 5; enum { T = U };", "U + V + T", instead},
        {"//@ default U=1", "#define UU 4", "U > 100", dead},
        {"//@ default U=1", "#define ELEM_SIZE 2", "U + ELEM_SIZE", NULL},
        {"//@ param B 1 2 3\n//@ default U=1 B=1", "", "B == 3 ? U : B", NULL},
        {"//@ param B 1 2\n//@ default U=1 B=1", "", "B == 2 && U > 9 ? U : B", dead},
        {"//@ default U=1", "static_assert(U < 4 && U > 0);", "1", NULL},
        {"//@ where U < 2\n//@ default U=1", "", "U > 0", NULL},
        {"//@ runtime V 1 2\n//@ default U=1 V=1\n//@ repeat V", "", "U", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[256], code[512];
        run_result r;
        snprintf(lines, sizeof lines, "//@ param U 1 2 4\n%s\n", cases[i].lines);
        snprintf(code, sizeof code,
                 "%s\nextern \"C\" __global__ void k(float *x) { x[threadIdx.x] = %s; }\n#undef U\n",
                 cases[i].head, cases[i].value);
        write_kernel(lines, code);
        if (!check_compiled(&r, ""))
            return;
        const bool wrong = cases[i].says == refused;
        if (r.code != (wrong ? 2 : 0) || !strstr(wrong ? r.err : r.out, cases[i].says ? cases[i].says : "") ||
            ((!cases[i].says || cases[i].says == instead) && strstr(r.out, "WARNING")))
            fail_msg("%s, %s: %d\n%s%s", cases[i].head, cases[i].value, r.code, r.out, r.err);
        run_free(&r);
    }
}

static void test_what_is_not_launched(void **state) {
    (void)state;
    run_result r;
    run_tune_faulty(&r, "", "check " TT_SOURCE_DIR "/kernel_templates/transpose_rect_panels.cu");
    assert_code(&r, 0);
    assert_has(&r, r.out, "panels_last, 4 of 5\nlaunch    none in this configuration\n");
    run_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_that_stay_zero),    cmocka_unit_test(test_tables_that_stay_zero),
        cmocka_unit_test(test_constants_of_another_length), cmocka_unit_test(test_what_is_unused),
        cmocka_unit_test(test_what_changes_nothing),        cmocka_unit_test(test_what_is_not_launched),
    };
    return cmocka_run_group_tests(tests, enter, run_leave);
}
