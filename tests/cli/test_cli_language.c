/*
 * What annotations can say beyond one plain kernel: launches that are repeated or left out, buffers that
 * change places, input data that mean something, tolerances by scale. Tuned and verified on the CPU stand-in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run.h"
#include "write_in.h"

static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    return 0;
}

/* Tunes a kernel from an empty store, and expects the words on standard output or, where it fails, on
 * standard error. */
static void expect(int code, const char *says, const char *text, const char *problem) {
    char line[512];
    run_result r;
    write_in(folder, "k.cu", text);
    snprintf(line, sizeof line, "--kernel %s/k.cu --db :memory:%s%s", folder, *problem ? " --problem " : "",
             problem);
    run_tune(&r, &(run_spec){.timeout_s = 240}, line);
    assert_code(&r, code);
    assert_has(&r, code ? r.err : r.out, says);
    run_free(&r);
}

/* Steps of a heat equation between two buffers. A second kernel looks at the data, and the reference says
 * that they are as they should be. */
static const char heat[] =
    "//@ kernel    step\n"
    "//@ problem   n 1000\n"
    "//@ problem   steps 5\n"
    "//@ buffer    a f32 n inout uniform 0 10\n"
    "//@ buffer    b f32 n inout a\n"
    "//@ buffer    order u32 n in permutation\n"
    "//@ buffer    rising u32 n in sorted\n"
    "//@ buffer    bounded i32 n in sorted -5 n\n"
    "//@ buffer    ok u32 1 inout zeros\n"
    "//@ param     BLOCK 32 64\n"
    "//@ param     LAST 0 1\n"
    "//@ block     BLOCK\n"
    "//@ grid      ceil_div(n, BLOCK)\n"
    "//@ args      b, a, i32 n\n"
    "//@ repeat    steps\n"
    "//@ swap      a b\n"
    "//@ kernel    check\n"
    "//@ when      LAST\n"
    "//@ block     32\n"
    "//@ grid      1\n"
    "//@ args      ok, order, rising, bounded, i32 n\n"
    "//@ kernel    check\n"
    "//@ when      LAST = 0\n"
    "//@ block     64\n"
    "//@ grid      1\n"
    "//@ args      ok, order, rising, bounded, i32 n\n"
    "//@ default   BLOCK=32 LAST=0\n"
    "//@ reference whole\n"
    "//@ block     32\n"
    "//@ grid      1\n"
    "//@ args      a, b, ok, i32 n, i32 steps\n"
    "//@ tolerance scale 1e-6\n"
    "static __device__ float at(const float *a, int i, int n) { return i < 0 || i >= n ? 0 : a[i]; }\n"
    "extern \"C\" __global__ void step(float *b, const float *a, int n) {\n"
    "    const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "    if (i < n)\n"
    "        b[i] = 0.25f * at(a, i - 1, n) + 0.5f * a[i] + 0.25f * at(a, i + 1, n);\n"
    "}\n"
    "extern \"C\" __global__ void check(unsigned *ok, const unsigned *order, const unsigned *rising, const "
    "int *bounded, int n) {\n"
    "    unsigned long long sum = 0, squares = 0; unsigned good = 1;\n"
    "    if (threadIdx.x) return;\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        sum += order[i]; squares += (unsigned long long)order[i] * order[i];\n"
    "        good &= rising[i] == i && (i == 0 || bounded[i - 1] <= bounded[i]) && bounded[i] >= -5 && "
    "bounded[i] <= n;\n"
    "    }\n"
    "    const unsigned long long m = n;\n"
    "    *ok = good && sum == m * (m - 1) / 2 && squares == (m - 1) * m * (2 * m - 1) / 6 && order[0] + "
    "order[1] + order[2] != 3;\n"
    "}\n"
    "extern \"C\" __global__ void whole(float *a, float *b, unsigned *ok, int n, int steps) {\n"
    "    if (threadIdx.x) return;\n"
    "    for (int s = 0; s < steps; s++) {\n"
    "        float *to = s % 2 ? a : b; const float *from = s % 2 ? b : a;\n"
    "        for (int i = 0; i < n; i++)\n"
    "            to[i] = 0.25f * at(from, i - 1, n) + 0.5f * from[i] + 0.25f * at(from, i + 1, n);\n"
    "    }\n"
    "    *ok = 1;\n"
    "}\n";

static void test_pipelines(void **state) {
    (void)state;
    static const char *const problems[] = {"n=1000,steps=5", "n=333,steps=1", "n=500,steps=62"};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        expect(0, "0 failed", heat, problems[i]);
    expect(1, "no configuration is legal for it", heat, "steps=65");
    expect(1, "no configuration is legal for it", heat, "steps=64"); /* and the look at the data */
}

/* The text with one line changed. */
static char *with(const char *line, const char *instead) {
    static char text[sizeof heat + 256];
    const char *at = strstr(heat, line);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - heat), heat, instead, at + strlen(line));
    return text;
}

static void test_refuses(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *line, *instead, *says;
    } cases[] = {
        {2, "swap      a b", "swap a order",
         "k.cu:16: `swap` names order, expected an out, inout or scratch buffer"},
        {2, "swap      a b", "swap a ok",
         "k.cu:16: a and ok change places, but one has 4000 bytes and the other 4"},
        {2, "swap      a b", "swap a", "k.cu:16:"},
        {2, "repeat    steps", "repeat -steps", "k.cu:15:12: repeat `-steps` is -5"},
        {2, "u32 n in permutation", "f32 n in permutation",
         "permutation needs a type of whole numbers, and f32 is none"},
        {2, "sorted -5 n", "sorted n -5", "the lower end of bounded is 1000, above the upper end -5"},
        {2, "sorted -5 n", "sorted -5 m", "unknown name m"},
        {2, "scale 1e-6", "scale 0.7", "with a scale of 0.7 wrong results would pass"},
        {1, "0.25f * at(a, i + 1, n)", "0.2499f * at(a, i + 1, n)", "first wrong element at"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].code, cases[i].says, with(cases[i].line, cases[i].instead), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipelines),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests_name("cli-language", tests, enter, run_leave);
}
