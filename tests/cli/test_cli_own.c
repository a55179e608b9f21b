/*
 * Kernels of one's own, as their author uses them: `tune new`, `tune check FILE`, and tuning the files.
 * Compiled code of the CPU stand-in has no register counts. If the real NVRTC is available, it is used too.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sizes.h"
#include "run.h"
#include "write_in.h"

#define REDUCE TT_SOURCE_DIR "/examples/kernels/reduce_sum.cu"
static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    return 0;
}

static const char *const here[] = {NULL};
/* No device, and NVRTC where the library finds it by itself, or not at all. */
static const char *const no_device[] = {"LD_LIBRARY_PATH", "TILETUNE_NVRTC", "CUDA_VISIBLE_DEVICES=", NULL};

/* Runs a line with '@' replaced by the folder of the test. Expects the exit code and the words. */
static void expect(const char *const *env, int code, const char *says, const char *line) {
    char whole[1024] = "";
    run_result r;
    for (const char *c = line; *c; c++)
        snprintf(whole + strlen(whole), sizeof whole - strlen(whole), *c == '@' ? "%s" : "%.1s",
                 *c == '@' ? folder : c);
    run_tune(&r, &(run_spec){.env = env, .timeout_s = 240}, whole);
    assert_code(&r, code);
    assert_has(&r, code ? r.err : r.out, says);
    if (code) {
        assert_int_equal(strncmp(r.err, "tune: ", 6), 0);
    } else {
        assert_string_equal(r.err, "");
    }
    run_free(&r);
}

/* A template, line by line; 'A' in line 3 has four values and line 6 leaves two. */
static const char *const lines[] = {
    "//@ kernel   mine",
    "//@ op       transpose",
    "//@ param    A 16 32 64 128",
    "//@ runtime  R 1 2",
    "//@ where    A <= 64",
    "//@ where    A > 16 AND A <> 128",
    "//@ where    R > 0",
    "//@ block    A, iif(A = 64, 32, 8)",
    "//@ grid     rows",
    "//@ shared   A * 4",
    "//@ args     dst, src, i32 R",
    "//@ default  A=32 R=1",
    "extern \"C\" __global__ void mine(int *dst, const int *src, int r) { dst[r] = src[A]; }",
};

static void write_with(const char *name, size_t line, const char *instead) {
    char text[2048] = "";
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", i + 1 == line ? instead : lines[i]);
    write_in(folder, name, text);
}

/* ---- tune check FILE ----------------------------------------------------------------------------------- */

static void test_counts(void **state) {
    (void)state;
    static const char *const says[] = {
        "kernel mine, op transpose",
        "\nA          macro     16 32 64 128\nR          run time  1 2\n",
        "\n4096x4096 on ",
        ": 8 combinations of values,\n2 configurations\n",
        "\n      2      0     5  where A <= 64\n      4      2     6  where A > 16 AND A <> 128\n",
        "\n      0      0     7  where R > 0\n      2               limit: threads of a block\n",
        "\ndefault   A=32 R=1\nlaunch    grid 4096x1x1, block 32x8x1, 128 bytes of dynamic shared memory\n",
    };
    write_with("mine.cu", 0, "");
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        expect(here, 0, says[i], "check @/mine.cu");
    expect(here, 0, "\nkernel    sum_parts, 1 of 2\nlaunch    grid ", "check " REDUCE);
    expect(here, 0, "\nkernel    sum_total, 2 of 2\nlaunch    grid 1x1x1, ", "check " REDUCE);
    expect(here, 0, "{\"kernel\":\"sum_total\",\"grid\":[1,1,1],", "check --json " REDUCE);
    expect(here, 0, "17x35, elem_size=8 on ", "check @/mine.cu --shape 17x35 --dtype f64");
    expect(here, 0, "\n64x64, lds=67 on ", "check @/mine.cu --size 64 --lds 67");
    expect(here, 0,
           "configurations\":2,\"wheres\":[{\"text\":\"A <= 64\",\"line\":5,\"removes\":2,\"alone\":0},",
           "check @/mine.cu --json");
    expect(here, 0,
           "\"limits\":{\"block\":2,\"grid\":0,\"shared\":0,\"args\":0,\"repeat\":0,\"maxrregcount\":0},"
           "\"config\":{\"A\":32,"
           "\"R\":1},"
           "\"grid\":[4096,1,1],\"block\":[32,8,1],\"shared_bytes\":128,",
           "check @/mine.cu --json");
}

static void test_launched_early(void **state) {
    (void)state;
    write_with("early.cu", 10, "//@ shared   A * 4\n//@ launch   early");
    expect(here, 2, "mine says `launch early`, and the code does not wait", "check @/early.cu");
    write_with("early.cu", 10,
               "//@ shared   A * 4\n//@ launch   early\n#ifndef __HOSTCUDA__\n"
               "static __device__ void wait() { asm(\"griddepcontrol.wait;\"); }\n#endif");
    expect(here, 0, ", 128 bytes of dynamic shared memory, early\n", "check @/early.cu");
    expect(here, 0, "\"shared_bytes\":128,\"early\":1,", "check @/early.cu --json");
}

/* Derived values are printed and compiled: a kernel that does not compile with EDGES=1 is refused for such a
 * shape. */
static void test_derived(void **state) {
    (void)state;
    write_with("derived.cu", 7, "//@ derived EDGES cols % A > 0\n//@ derived TWICE 2 * A");
    expect(
        here, 0,
        "\nA          macro     16 32 64 128\nR          run time  1 2\nEDGES      derived   cols % A > 0\n"
        "TWICE      derived   2 * A\n",
        "check @/derived.cu");
    expect(here, 0, "\ndefault   A=32 R=1\nderived   EDGES=0 TWICE=64\nlaunch    grid", "check @/derived.cu");
    expect(here, 0, "\nderived   EDGES=1 TWICE=64\n", "check @/derived.cu --size 65");
    expect(here, 0, "\"derived\":[{\"name\":\"EDGES\",\"text\":\"cols % A > 0\",\"line\":7,\"value\":1},",
           "check @/derived.cu --size 65 --json");
    write_with("derived.cu", 7, "//@ derived EDGES cols % (A - 32) > 0");
    expect(here, 2,
           "/derived.cu:7:19: derived `cols % (A - 32) > 0` is NULL (a division by zero?) for A=32 R=1 and "
           "4096x4096, expected an integer",
           "check @/derived.cu");
    write_with("derived.cu", 7, "//@ derived EDGES cols % R > 0");
    expect(here, 2, "/derived.cu:7:26: R is a `runtime` parameter, whose values share one compilation",
           "check @/derived.cu");
    write_with("derived.cu", 7, "//@ derived EDGES iif(cols = 67, cols / 0, 0)");
    expect(here, 0, "\nderived   EDGES=0\n", "check @/derived.cu --size 64");
    expect(here, 2,
           "derived `iif(cols = 67, cols / 0, 0)` is NULL (a division by zero?) for A=32 R=1 and 67x67",
           "check @/derived.cu --size 67");
    write_with("derived.cu", 13,
               "//@ derived EDGES cols % A > 0\nextern \"C\" __global__ void mine(int *dst, const int *src, "
               "int r) {\n"
               "#if EDGES\n#error edges\n#endif\ndst[r] = src[A]; }");
    expect(here, 0, "\ncompiled  not known: the compiled code does not say", "check @/derived.cu --size 64");
    expect(here, 2, "edges", "check @/derived.cu --size 65");
}

static void test_default_that_is_not_legal_here(void **state) {
    (void)state;
    write_with("some.cu", 7, "//@ where (rows > 100 OR A = 32 AND R = 2)");
    expect(here, 0, "default   not legal here: mine A=32 R=1 cannot do 64x64", "check @/some.cu --size 64");
    expect(here, 0, "first     A=32 R=2\n", "check @/some.cu --size 64");
    write_with("none.cu", 7, "//@ where rows > 100");
    expect(here, 0, "\n0 configurations\n", "check @/none.cu --size 64");
    expect(here, 0, "\"config\":null,\"regs\":null", "check @/none.cu --size 64 --json");
}

static void test_other_ops(void **state) {
    (void)state;
    write_in(folder, "copy.cu",
             "//@ kernel mine\n//@ op copy\n//@ block 32\n//@ grid ceil_div(bytes, 128)\n"
             "//@ args dst, src\nextern \"C\" __global__ void mine(int *dst, const int *src) {}\n");
    write_in(folder, "self.cu",
             "//@ kernel mine\n//@ op transpose_in_place\n//@ block 32\n//@ grid rows\n"
             "//@ args dst, i64 rows\nextern \"C\" __global__ void mine(int *dst, long long rows) {}\n");
    write_with("src.cu", 2, "//@ op transpose_in_place");
    write_with("typo.cu", 2, "//@ op transpos");
    expect(here, 0, "\nbytes=4352 on ", "check @/copy.cu --problem bytes=4352");
    expect(here, 2, "copy has no variable rows", "check @/copy.cu --shape 64x17");
    expect(here, 0, "op transpose_in_place", "check @/self.cu");
    expect(here, 0, "op transpose_in_place", "check @/self.cu --in-place");
    expect(here, 2, "transpose_in_place cannot be 64x17: `cols = rows AND ", "check @/self.cu --shape 64x17");
    expect(here, 2, "--in-place: mine is a copy", "check @/copy.cu --in-place");
    expect(here, 2, "there is no operation transpos; did you mean transpose?", "check @/typo.cu");
    expect(here, 2, "/src.cu:11:19: found 'src', expected dst or a type and an expression", "check @/src.cu");
}

static void test_bad_files(void **state) {
    (void)state;
    static const struct {
        size_t line;
        const char *instead, *says;
    } bad[] = {
        {1, "//@ kernle mine", "/bad.cu:1:5: unknown annotation 'kernle'; did you mean kernel?"},
        {1, "", "/bad.cu: no `kernel` annotation, expected a line: //@ kernel NAME"},
        {3, "//@ param A", "/bad.cu:3:12: A has no values"},
        {3, "//@ param rows 1", "/bad.cu:3:11: rows is a property of the problem"},
        {6, "//@ where A > colz", "/bad.cu:6:15: unknown name colz; did you mean cols?"},
        {6, "//@ where A > (16", "/bad.cu:6:"},
        {8, "//@ block A / 0", "/bad.cu:8:11: block `A / 0` is NULL"},
        {9, "//@ grid rows,", "/bad.cu:9:15: `grid` has an empty expression"},
        {11, "//@ args dst, sra, i32 R", "/bad.cu:11:15: found 'sra', expected src, dst or"},
        {12, "//@ default A=33 R=1",
         "/bad.cu:12:13: bad `default`: 33 is no value of A, expected one of 16 32 64 128"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_with("bad.cu", bad[i].line, bad[i].instead);
        expect(here, 2, bad[i].says, "check @/bad.cu");
        expect(here, 2, bad[i].says, "check @/bad.cu --json");
    }
    expect(here, 1, "cannot read ", "check @/nosuch.cu");
    expect(here, 2, "2 files, but check reads one", "check @/bad.cu @/bad.cu");
    write_with("mine.cu", 0, "");
    expect(here, 2, "2 problems, but check counts for one", "check @/mine.cu --size 64,65");
    expect(here, 2, "which template?", "check --size 64");
    expect(here, 2, "which template?", "check --lds 64");
    expect(here, 4, "nothing was tuned yet", "check");
}

/* Space that is too large to count in, but not to tune in. */
static void test_too_many_combinations(void **state) {
    (void)state;
    char text[4096] = "//@ kernel mine\n//@ op transpose\n//@ block 32\n//@ grid 1\n//@ args dst, src\n";
    char last[256] = "//@ default";
    for (char name = 'A'; name <= 'P'; name++) {
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "//@ param V_%c 1 2 3 4 5 6 7 8\n//@ where V_%c < 2\n", name, name);
        snprintf(last + strlen(last), sizeof last - strlen(last), " V_%c=1", name);
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s\nextern \"C\" __global__ void mine() {}\n",
             last);
    write_in(folder, "many.cu", text);
    expect(here, 0, ": 281474976710656 combinations of values,\n1 configuration\nThese are too many to count",
           "check @/many.cu");
    expect(here, 0, "\"wheres\":null", "check @/many.cu --json");
}

static void test_compiling(void **state) {
    (void)state;
    static const char *const without[] = {"TILETUNE_NVRTC=/nonexistent.so", NULL};
    run_result r;
    char line[256];
    write_with("mine.cu", 0, "");
    expect(here, 0, "compiled  not known: the compiled code does not say how many registers mine takes",
           "check @/mine.cu");
    expect(without, 0, "compiled  not known: TILETUNE_NVRTC names /nonexistent.so", "check @/mine.cu");
    expect(here, 0, "more: tune check", "doctor --template @/mine.cu");
    write_with("broken.cu", 13, "extern \"C\" __global__ void mine(int *dst) { *dst = nosuch; }");
    expect(here, 2, "nosuch", "check @/broken.cu");

    snprintf(line, sizeof line, "check %s/mine.cu", folder);
    run_tune(&r, &(run_spec){.env = no_device}, line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "on a typical GPU (sm_90)");
    if (!strstr(r.out, "not known: NVRTC is not installed")) {
        assert_has(&r, r.out, "compiled   sm_90: ");
        assert_has(&r, r.out,
                   " registers, 0 bytes of static shared memory, nothing spilled\noccupancy  100.0%: an SM "
                   "holds 8 of these blocks at once");
        expect(no_device, 2, "broken.cu(13): error: identifier \"nosuch\" is undefined", "check @/broken.cu");
    }
    run_free(&r);
    expect(no_device, 0, "on NVIDIA H200 (sm_90)", "check @/mine.cu --gpu H200");
    expect(no_device, 2, "quux", "check @/mine.cu --gpu quux");
}

/* Faults that a run would meet only when the kernel is loaded or launched. NVRTC compiles the kernels if it
 * is installed, because the stand-in's code does not show the faults. */
static void test_what_does_not_fit(void **state) {
    (void)state;
    static const struct {
        const char *code, *says;
    } cases[] = {
        {"extern \"C\" __global__ void k(float *x, long long n) {}\n"
         "extern \"C\" __global__ void r(float *x) {}\n",
         NULL},
        {"__global__ void k(float *x, long long n) {}\nextern \"C\" __global__ void r(float *x) {}\n",
         NULL}, /* its name is asked for */
        {"extern \"C\" __global__ void k(float *x, int n) {}\nextern \"C\" __global__ void r(float *x, int "
         "n) {}\n",
         "fit.cu: parameter 2 of k has 4 bytes, but item 2 of its `args` (i64) has 8: make"},
        {"extern \"C\" __global__ void k(float *x, int n) {}\nextern \"C\" __global__ void r(float *x, int "
         "n) {}\n",
         "fit.cu: r has 2 parameters, but its `args` has 1 item: make"},
        {"extern \"C\" __global__ void __launch_bounds__(32) k(float *x, long long n) {}\n"
         "extern \"C\" __global__ void r(float *x) {}\n",
         "fit.cu: a block of k has 64 threads, but __launch_bounds__ allows only 32"},
        {"#define r q\nextern \"C\" __global__ void k(float *x, long long n) {}\n"
         "extern \"C\" __global__ void r(float *x) {}\n",
         "fit.cu: the compiled code has no kernel r: it has "},
    };
    run_result r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024], line[256];
        snprintf(text, sizeof text,
                 "//@ kernel k\n//@ problem n 64\n//@ buffer x f32 n out\n//@ block 64\n//@ grid 1\n"
                 "//@ args x, i64 n\n//@ reference r\n//@ block 64\n//@ grid 1\n//@ args x\n%s",
                 cases[i].code);
        write_in(folder, "fit.cu", text);
        snprintf(line, sizeof line, "check %s/fit.cu", folder);
        run_tune(&r, &(run_spec){.env = no_device, .timeout_s = 60}, line);
        bool installed = !strstr(r.out, "NVRTC is not installed");
        assert_code(&r, installed && cases[i].says ? 2 : 0);
        if (installed && cases[i].says)
            assert_has(&r, r.err, cases[i].says);
        run_free(&r);
        expect(here, 0, "kernel k\n", "check @/fit.cu");
    }
}

/* A compiler that hangs, crashes or eats memory takes neither the program nor the machine with it. */
static void test_compiling_in_a_worker(void **state) {
    (void)state;
    static const char *const hangs[] = {"HOSTCUDA_FAULTS=kernel=mine:compile_hang", NULL};
    static const char *const crashes[] = {"HOSTCUDA_FAULTS=kernel=mine:compile_crash", NULL};
    write_with("mine.cu", 0, "");
    expect(hangs, 2, "/mine.cu: compiled longer than 1 s: templates, ",
           "check @/mine.cu --compile-timeout 1");
    expect(crashes, 2, " MB of memory, was killed by signal 6 (Aborted): templates, ", "check @/mine.cu");
    expect(here, 2, "which template?", "check --compile-timeout 1");
}

/* Launches of a millisecond and more: three samples do, and one if the configuration is slow. */
static void test_long_launches(void **state) {
    (void)state;
    static const char *const slow[] = {"HOSTCUDA_FAULTS=:slow=1000;THREADS=1024:slow=9000", NULL};
    run_result r;
    char line[512];
    size_t n[TT__SAMPLES_MAX + 1] = {0};
    expect(here, 0, "", "new @/long.cu");
    expect(slow, 0, "16 of 16 configurations tried, 0 failed",
           "--kernel @/long.cu --problem n=10000 --warm --effort exhaustive --db @/long.db --quiet");
    snprintf(line, sizeof line, "export --gpu hostcuda --kernel my_saxpy --db %s/long.db", folder);
    run_tune(&r, &(run_spec){.timeout_s = 60}, line);
    assert_code(&r, 0);
    for (const char *at = r.out; (at = strstr(at, "\"screen\"")) != NULL;) {
        size_t samples = 1;
        for (const char *c = strstr(at, "\"runtimes\":["); *c != ']'; c++)
            samples += *c == ',';
        n[samples]++;
        at = strstr(at, "\"runtimes\"");
    }
    run_free(&r);
    assert_true(n[1] >= 1 && n[1] + n[3] >= 12); /* the others do not agree */
}

static void test_templates_without_end(void **state) {
    (void)state;
    char path[256];
    run_result r;
    write_in(folder, "endless.cu",
             "//@ kernel k\n//@ problem n 64\n//@ buffer x u32 n out\n//@ block 32\n//@ grid 1\n//@ args x\n"
             "template <int N, unsigned K> struct F {\n"
             "    static constexpr unsigned v = F<N - 1, 2 * K>::v + F<N - 1, 2 * K + 1>::v;\n};\n"
             "template <unsigned K> struct F<0, K> { static constexpr unsigned v = K; };\n"
             "extern \"C\" __global__ void k(unsigned *x) { x[0] = F<40, 1>::v; }\n");
    snprintf(path, sizeof path, "%s/endless.cu", folder);
    const char *argv[] = {"sh", "-c", "ulimit -d 200000 && exec \"$TUNE\" check \"$1\"", "sh", path, NULL};
    if (getenv("HOSTCUDA_PLAIN")) /* sanitizers need more for themselves */
        return;
    run(&r, argv, &(run_spec){.env = no_device, .timeout_s = 60});
    if (!strstr(r.out, "NVRTC is not installed")) {
        assert_code(&r, 2);
        assert_has(&r, r.err, "/endless.cu: its compiler needs more than 195 MB of memory: templates, ");
    }
    run_free(&r);
}

/* ---- tune new ------------------------------------------------------------------------------------------ */

static void test_new(void **state) {
    (void)state;
    expect(here, 0, "new.cu --sizes 4096\n", "new --transpose @/new.cu");
    expect(here, 0, "kernel.cu --problem n=16777216\n", "new @/kernel.cu");
    expect(here, 0, "verified against my_saxpy_reference", "check @/kernel.cu --problem n=1000,elem=f64");
    expect(here, 0, "kernel my_transpose, op transpose", "check @/new.cu");
    write_in(folder, "there.cu", "mine");
    expect(here, 2, "there.cu is there already and is left as it is", "new @/there.cu");
    expect(here, 2, "/there.cu:", "check @/there.cu"); /* left as it was */
    expect(here, 1, "cannot write ", "new @/nosuch/new.cu");
    expect(here, 2, "0 are named", "new");
    expect(here, 2, "2 are named", "new @/a.cu @/b.cu");
}

/* Where no more can be written, no part of a file stays. */
static void test_new_without_room(void **state) {
    (void)state;
    struct rlimit usual, small;
    char path[512];
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = usual.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    expect(here, 1, "cannot write ", "new @/large.cu");
    setrlimit(RLIMIT_FSIZE, &usual);
    signal(SIGXFSZ, SIG_DFL);
    snprintf(path, sizeof path, "%s/large.cu", folder);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Every configuration of it gives what the verifier expects, bit for bit; of other elements a few. */
static void test_new_is_correct(void **state) {
    (void)state;
    static const char *const problems[] = {
        "--sizes 64 --shapes 67x131 --effort exhaustive",
        "--shapes 70x33 --elem-size 1 --lds 40 --ldd 71 --max-trials 4",
        "--sizes 65 --elem-size 8 --max-trials 4",
        "--shapes 1x37 --elem-size 16 --max-trials 4",
    };
    char line[512];
    run_result r;
    snprintf(line, sizeof line, "new --transpose %s/correct.cu", folder);
    run_tune(&r, NULL, line);
    assert_code(&r, 0);
    run_free(&r);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        char trials[32];
        snprintf(line, sizeof line, "%s --template %s/correct.cu --only my_transpose --json --db %s/new.db",
                 problems[i], folder, folder);
        run_tune(&r, &(run_spec){.timeout_s = 240}, line);
        assert_code(&r, 0);
        assert_null(strstr(r.out, "\"kernel\":\"transpose"));
        for (const char *at = r.out; (at = strstr(at, "\"kernel\":")); at++) {
            assert_int_equal(strncmp(at, "\"kernel\":\"my_transpose\"", 23), 0);
            assert_string_equal(run_json(trials, sizeof trials, at, "failed"), "0");
            run_json(trials, sizeof trials, at, "trials");
            assert_in_range(atoi(trials), i ? 1 : 30, 100);
        }
        run_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_launched_early),
        cmocka_unit_test(test_derived),
        cmocka_unit_test(test_default_that_is_not_legal_here),
        cmocka_unit_test(test_other_ops),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_too_many_combinations),
        cmocka_unit_test(test_compiling),
        cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_compiling_in_a_worker),
        cmocka_unit_test(test_long_launches),
        cmocka_unit_test(test_templates_without_end),
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_new_without_room),
        cmocka_unit_test(test_new_is_correct),
    };
    return cmocka_run_group_tests_name("cli-own", tests, enter, run_leave);
}
