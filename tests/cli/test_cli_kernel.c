/*
 * Kernels of one's own from the command line: tuned, looked up, checked, listed, exported, imported, merged,
 * replayed, and every file of examples/kernels tuned once. On the CPU stand-in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run.h"
#include "write_in.h"

static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    return 0;
}

/* Runs a line. '@' stands for the folder of the test, and '^' for examples/kernels. */
static run_result tuned(int code, const char *line) {
    char whole[2048] = "";
    run_result r;
    for (const char *c = line; *c; c++)
        snprintf(whole + strlen(whole), sizeof whole - strlen(whole), *c == '@' || *c == '^' ? "%s" : "%.1s",
                 *c == '@'   ? folder
                 : *c == '^' ? TT_SOURCE_DIR "/examples/kernels"
                             : c);
    run_tune(&r, &(run_spec){.timeout_s = 240}, whole);
    assert_code(&r, code);
    return r;
}

/* Expects the words on standard output, or, where it fails, on standard error; several
 * with '|' between them. */
static void expect(int code, const char *says, const char *line) {
    char copy[1024], *rest = NULL;
    run_result r = tuned(code, line);
    snprintf(copy, sizeof copy, "%s", says);
    for (char *words = strtok_r(copy, "|", &rest); words; words = strtok_r(NULL, "|", &rest))
        assert_has(&r, code ? r.err : r.out, words);
    run_free(&r);
}

static void remove_file(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static char *read_file(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

/* Doubles y; its name and its problems are longer than most. `more` is one more line. */
#define NAME "doubles_what_it_is_given_and_has_a_name_of_many_letters"
static void write_doubles(const char *name, const char *kernel, const char *more) {
    char text[2048];
    snprintf(
        text, sizeof text,
        "//@ kernel    %s\n//@ problem   number_of_elements 100\n//@ type      T i32 f32\n"
        "//@ buffer    y T number_of_elements inout\n//@ param     THREADS 32 64\n//@ block     THREADS\n"
        "//@ grid      ceil_div(number_of_elements, THREADS)\n//@ args      y, i32 number_of_elements\n"
        "//@ default   THREADS=32\n//@ metric    gbps 2 * number_of_elements * elem_size / time_ns\n%s"
        "extern \"C\" __global__ void %s(T *y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] += y[i];\n}\n"
        "extern \"C\" __global__ void plain(T *y, int n) {\n"
        "    for (int i = 0; i < n; i++) y[i] = 2 * y[i];\n}\n",
        kernel, more, kernel);
    write_in(folder, name, text);
}
#define REFERENCE "//@ reference plain\n//@ block 1\n//@ grid 1\n//@ args y, i32 number_of_elements\n"

/* ---- Tuning and looking up ----------------------------------------------------------------------------- */

static void test_tunes_problems(void **state) {
    (void)state;
    char got[64];
    write_doubles("d.cu", NAME, REFERENCE);
    run_result r = tuned(0, "--kernel @/d.cu --problem number_of_elements=1000 --problem T=f32 --db @/d.db");
    assert_has(&r, r.out, "/d.cu\n");
    assert_has(&r, r.out,
               "problem                         kernel                                                   "
               "configuration");
    assert_has(&r, r.out, "number_of_elements=1000, T=i32  " NAME "  THREADS=");
    assert_has(&r, r.out, "number_of_elements=100, T=f32   " NAME "  THREADS=");
    assert_has(&r, r.out, "GB/s");
    assert_has(&r, r.out, "4 of 4 configurations tried, 0 failed");
    assert_null(strstr(r.out, "not verified"));
    run_free(&r);
    r = tuned(0, "--kernel @/d.cu --problem number_of_elements=1000,T=i32 --warm --json --db @/d.db");
    assert_string_equal(run_json(got, sizeof got, r.out, "problem"), "number_of_elements=1000, T=i32");
    assert_string_equal(run_json(got, sizeof got, r.out, "warm"), "1");
    assert_string_equal(run_json(got, sizeof got, r.out, "kernel"), NAME);
    assert_string_equal(run_json(got, sizeof got, r.out, "source"), "measured");
    assert_has(&r, r.out, "\"metrics\":\"gbps ");
    assert_null(strstr(r.out, "transpose"));
    assert_null(strstr(r.out, "rows"));
    assert_null(strstr(r.out, "unverified"));
    run_free(&r);
    /* Metrics that do not fit are left out, not cut. */
#define LONG "_of_such_a_name_that_two_of_them_are_all_there_is_room_for"
    write_doubles("m.cu", NAME,
                  REFERENCE "//@ metric m2" LONG " 1 / time_ns\n//@ metric m3" LONG
                            " 1 / time_ns\n//@ metric m4" LONG " 1 / time_ns\n");
    r = tuned(0, "--kernel @/m.cu --json --db :memory:");
    assert_has(&r, r.out, ", m3" LONG);
    assert_null(strstr(r.out, "m4_"));
    run_free(&r);
    /* The copy moves as many bytes, however few. */
    r = tuned(0, "--kernel @/d.cu --problem number_of_elements=1,T=i32 --json --db :memory:");
    double us = atof(run_json(got, sizeof got, r.out, "time_us")),
           copy_us = atof(run_json(got, sizeof got, r.out, "copy_us")),
           fraction = atof(run_json(got, sizeof got, r.out, "copy_fraction"));
    assert_true(fraction > 0.9 * copy_us / us && fraction < 1.1 * copy_us / us);
    run_free(&r);
    expect(0, "\"source\":\"stored\"", "--kernel @/d.cu --problem T=f32 --json --db @/d.db");
    expect(0, "\"source\":\"measured\"", "--kernel @/d.cu --problem T=f32 --json --force --db @/d.db");
}

static size_t n_of(const char *text, const char *part) {
    size_t n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

/* The objective, not the time, says what is best: MODE=0 takes as long, is the default,
 * and counts for less. */
static void test_elects_by_the_objective(void **state) {
    (void)state;
    static const char *const objectives[] = {"maximize rate", "minimize cost"};
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives; i++) {
        char got[64], text[1024];
        snprintf(text, sizeof text,
                 "//@ kernel    by_objective\n//@ buffer    y i32 64 inout\n//@ runtime   MODE 0 1 2\n"
                 "//@ block     64\n//@ grid      1\n//@ args      y\n//@ default   MODE=0\n"
                 "//@ reference plain\n//@ block 64\n//@ grid 1\n//@ args y\n"
                 "//@ metric    gbps 512 / time_ns\n"
                 "//@ metric    rate iif(MODE = 1, 1000, 1) / time_ns\n"
                 "//@ metric    cost iif(MODE = 1, 1, 1000) * time_ns\n//@ objective %s\n"
                 "extern \"C\" __global__ void by_objective(int *y) { y[threadIdx.x] += 1; }\n"
                 "extern \"C\" __global__ void plain(int *y) { y[threadIdx.x] += 1; }\n",
                 objectives[i]);
        write_in(folder, "objective.cu", text);
        run_result r = tuned(0, "--kernel @/objective.cu --db :memory: --json");
        if (!strstr(r.out, "\"MODE\":1"))
            fail_msg("%s: %s", objectives[i], r.out);
        double us = atof(run_json(got, sizeof got, r.out, "time_us"));
        assert_true(us > 0.5 && us < 1000); /* it is reported as it was measured, and compared so */
        double copy_us = atof(run_json(got, sizeof got, r.out, "copy_us")),
               fraction = atof(run_json(got, sizeof got, r.out, "copy_fraction"));
        assert_true(fraction > 0.5 * copy_us / us && fraction < 2 * copy_us / us);
        run_free(&r);
        /* Trials keep their weights through a recording, a store, and both again. */
        expect(0, "", "--kernel @/objective.cu --force --db @/objective.db --json");
        expect(0, "", "export --gpu hostcuda --output @/objective.json --db @/objective.db");
        remove_file("objective-2.db");
        expect(0, "1 winner", "import @/objective.json --db @/objective-2.db");
        expect(0, "\"MODE\":1|\"match\":\"exact\"",
               "best --kernel @/objective.cu --json --db @/objective-2.db");
        remove_file("objective-3.db");
        expect(0, "", "merge @/objective-3.db @/objective-2.db");
        expect(0, "", "export --gpu hostcuda --output @/objective-3.json --db @/objective-3.db");
        char *first = read_file("objective.json"), *again = read_file("objective-3.json");
        assert_non_null(strstr(first, "\"objectives\":[\"weighed_time\"]"));
        assert_int_equal(n_of(first, "\"weight\":0.001,"), 2); /* the screening's, the finals' */
        assert_int_equal(n_of(again, "\"weight\":0.001,"), 2);
        free(first);
        free(again);
        /* The best by the objective comes first, not the fastest. */
        expect(0,
               "\"state\":\"valid\"|\"finals\":[{\"kernel\":\"by_objective\",\"config\":{\"MODE\":1}|"
               "\"best\":[{\"kernel\":"
               "\"by_objective\",\"config\":{\"MODE\":1}",
               "show --kernel @/objective.cu --json --db @/objective-2.db");
        r = tuned(0, "show --kernel @/objective.cu --json --db @/objective.db");
        us = atof(run_json(got, sizeof got, strstr(r.out, "\"finals\":"), "time_us"));
        assert_true(us > 0.5 && us < 1000); /* stored as measured, too */
        run_free(&r);
        expect(0, "\"MODE\":1", "--device replay:@/objective-3.json --kernel @/objective.cu --json");
    }
    char *text = read_file("objective.json"), *at = strstr(text, "\"weight\":");
    assert_non_null(at);
    memmove(at + 10, at + 9, strlen(at + 9) + 1);
    at[9] = '-';
    write_in(folder, "forged.json", text);
    free(text);
    expect(2, "weight is -", "import @/forged.json --db @/forged.db");
}

/* Poison is no correct result within a tolerance, and a reference may only write its results. */
static void test_judges_what_judges(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *says, *lines, *kernel, *reference;
    } cases[] = {
        {1, "first wrong element at y[0]", "//@ tolerance abs 1\n", "", "y[i] = 0;"},
        {2, "the reference plain writes before or behind y (byte 256", "", "y[i] = i;",
         "y[i] = i; if (i == 0) y[64] = 1;"},
        {2, "the reference plain writes to the input x", "", "y[i] = i;", "y[i] = i; x[i] = 7;"},
        {2, "names no reference", "", "y[i] = i;", NULL},
        {2, "unverified says something of every problem", "//@ problem unverified 1\n", "y[i] = i;", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        const char *args = "int *y, int *x", *names = "y, x";
        int n = snprintf(text, sizeof text,
                         "//@ kernel judged\n//@ buffer x i32 64 in\n//@ buffer y i32 64 out\n%s"
                         "//@ block 64\n//@ grid 1\n//@ args %s\nextern \"C\" __global__ void judged(%s) {\n"
                         "    int i = threadIdx.x;\n    %s\n}\n",
                         cases[i].lines, names, args, cases[i].kernel);
        if (cases[i].reference)
            snprintf(text + n, sizeof text - (size_t)n,
                     "//@ reference plain\n//@ block 64\n//@ grid 1\n//@ args %s\n"
                     "extern \"C\" __global__ void plain(%s) {\n    int i = threadIdx.x;\n    %s\n}\n",
                     names, args, cases[i].reference);
        write_in(folder, "judged.cu", text);
        expect(cases[i].code, cases[i].says, "--kernel @/judged.cu --db :memory:");
    }
}

static void test_looks_up(void **state) {
    (void)state;
    expect(0,
           "problem        number_of_elements=1000, T=i32|GPU            hostcuda|match          exact|from  "
           "         "
           "your store",
           "best --kernel @/d.cu --problem number_of_elements=1000 --db @/d.db");
    expect(0, "nearest: measured for number_of_elements=1000, T=i32",
           "best --kernel @/d.cu --problem number_of_elements=900 --db @/d.db");
    expect(0, "\"problem\":\"number_of_elements=100, T=f32\"|\"match\":\"nearest\"",
           "best --kernel @/d.cu --problem number_of_elements=90,T=f32 --json --db @/d.db");
    expect(0, "match          default",
           "best --kernel @/d.cu --gpu H200"); /* from the default store, which is not there */
    expect(0,
           "operation  |  problem  |" NAME "  number_of_elements=1000, T=i32        "
           "|number_of_elements=1000, T=i32, warm  |valid",
           "list --db @/d.db");
    expect(0, "\"op\":\"" NAME "\",\"number_of_elements\":1000,\"T\":\"i32\",\"warm\":1,",
           "list --json --db @/d.db");
    expect(0, "d.db is whole: 1 GPU, 3 winners", "check --db @/d.db");
    expect(0, "d.db: 3 winners for hostcuda", "doctor --db @/d.db");
    expect(2, "--stale tunes the built-in operations: leave --op, --permute, --kernel and --problem out",
           "--stale --kernel @/d.cu --db @/d.db");
    expect(2, "which template?", "check --db @/d.db --problem T=f32");
}

static void test_checks_files(void **state) {
    (void)state;
    expect(0,
           "kernel " NAME "\n|y        inout  i32        100    400|verified against plain|"
           "number_of_elements=100, T=i32 on hostcuda (sm_90)|2 configurations|default   THREADS=32",
           "check @/d.cu");
    expect(0, "y        inout  f32         64    256", "check @/d.cu --problem number_of_elements=64,T=f32");
    expect(0, "\"configurations\":2", "check @/d.cu --json");
    expect(0, "{\"name\":\"y\",\"direction\":\"inout\",\"type\":\"f32\",\"count\":64,\"bytes\":256}",
           "check @/d.cu --json --problem number_of_elements=64,T=f32");
    expect(2, "has no variable number_of_element; did you mean number_of_elements?",
           "check @/d.cu --problem number_of_element=64");
    expect(2, "2 problems, but check counts for one", "check @/d.cu --problem T=f32 --problem T=i32");
    expect(2, "has no variable rows", "check @/d.cu --size 64");
}

static void test_refuses(void **state) {
    (void)state;
    static const struct {
        const char *line, *says;
    } lines[] = {
        {"--problem n=4",
         "--problem n=4: of what? Name a built-in operation with --op, or your file with --kernel"},
        {"--kernel @/d.cu --sizes 64",
         "d.cu: sizes, shapes and layouts are for matrices; name its variables with --problem"},
        {"--kernel @/d.cu --only transpose_tiled",
         "d.cu competes with no template: leave --only and --template out"},
        {"--kernel @/d.cu --template @/d.cu",
         "d.cu competes with no template: leave --only and --template out"},
        {"--kernel @/d.cu --elem-size 8", "d.cu: sizes, shapes and layouts are for matrices"},
        {"--kernel @/d.cu --problem m=4", "has no variable m"},
        {"--kernel @/d.cu --problem T=f64", "f64 is no value of T, expected one of i32 f32"},
        {"--kernel " TT_SOURCE_DIR "/kernel_templates/copy_linear.cu", "is a template for `op copy`"},
        {"--sizes 64 --template @/d.cu",
         "says itself what it works on, and competes with nothing: tune it with --kernel"},
        {"best --kernel @/d.cu --problem T=f32 --problem T=i32", "2 problems, but best answers for one"},
        {"show --kernel @/d.cu --problem T=f32 --problem T=i32", "2 problems, but show shows one"},
        {"show --kernel @/d.cu --size 64", "d.cu: sizes, shapes and layouts are for matrices"},
        {"show --kernel " TT_SOURCE_DIR "/kernel_templates/copy_linear.cu", "is a template for `op copy`"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect(2, lines[i].says, lines[i].line);
    expect(1, "cannot read ", "--kernel @/nosuch.cu");
}

/* Under the same name and the same problem, another text is another kernel: it starts anew, and both have
 * their winners. */
static void test_edited_files(void **state) {
    (void)state;
    write_doubles("edited.cu", NAME, REFERENCE "// A comment is no other text.\n\n");
    expect(0, "match          exact",
           "best --kernel @/edited.cu --problem number_of_elements=1000 --db @/d.db");
    write_doubles("edited.cu", NAME, REFERENCE "#define ONE_MORE_LINE\n");
    expect(0, "match          default: nothing was tuned for this: run \"tune --kernel ",
           "best --kernel @/edited.cu --problem number_of_elements=1000 --db @/d.db");
    expect(0, "stale", "list --template @/edited.cu --db @/d.db");
    expect(0, "valid", "list --template @/d.cu --db @/d.db");
    expect(0, "\"trials\":2|\"source\":\"measured\"",
           "--kernel @/edited.cu --problem number_of_elements=1000 --json --db @/d.db");
    expect(0, "match          exact",
           "best --kernel @/edited.cu --problem number_of_elements=1000 --db @/d.db");
    expect(0, "match          exact", "best --kernel @/d.cu --problem number_of_elements=1000 --db @/d.db");
    expect(0, "is whole: 1 GPU, 4 winners", "check --db @/d.db");
    expect(0, "valid for another text\n|  valid\n", "list --db @/d.db");
    /* A header is a part of the text. */
    write_in(folder, "part.h", "#pragma once\n#define HALF 2\n");
    write_doubles("parted.cu", "parted", REFERENCE "#include \"part.h\"\n");
    expect(0, "", "--kernel @/parted.cu --json --db @/parted.db");
    expect(0, "match          exact", "best --kernel @/parted.cu --db @/parted.db");
    write_in(folder, "part.h", "#pragma once\n#define HALF 3\n");
    expect(0, "match          default", "best --kernel @/parted.cu --db @/parted.db");
    write_in(folder, "part.h", "#pragma once\nbroken();\n");
    expect(2, "part.h:2:", "check @/parted.cu");
    write_doubles("parted.cu", "parted", REFERENCE "#include \"elsewhere.h\"\n");
    expect(2, "elsewhere.h", "check @/parted.cu");
    /* A recording has one text of a kernel, the newest: what was measured with another one must not become
     * its. */
    expect(0, "", "export --gpu hostcuda --output @/edited.json --db @/d.db");
    expect(0, "1 winner", "import @/edited.json --db @/edited.db");
    expect(0, "match          exact",
           "best --kernel @/edited.cu --problem number_of_elements=1000 --db @/edited.db");
    expect(0, "match          nearest", "best --kernel @/edited.cu --problem T=f32 --db @/edited.db");
    expect(0, "match          default",
           "best --kernel @/d.cu --problem number_of_elements=1000 --db @/edited.db");
}

/* ---- Files of results ---------------------------------------------------------------------------------- */

static void test_goes_around(void **state) {
    (void)state;
    expect(0, "", "--kernel @/d.cu --problem T=f32 --problem number_of_elements=1000 --json --db @/a.db");
    write_doubles("unsure.cu", "unsure", "");
    expect(0, "not verified",
           "--kernel @/unsure.cu --unverified --warm --problem T=f32,number_of_elements=77 --db @/a.db");
    expect(0, "", "export --gpu hostcuda --output @/a.json --db @/a.db");
    expect(0, "3 winners", "import @/a.json --db @/b.db");
    expect(0, "b.db is whole: 1 GPU, 3 winners", "check --db @/b.db");
    expect(0, "number_of_elements=77, T=f32, not verified, warm", "list --db @/b.db");
    expect(0, "\"unverified\":1,\"kernel\":\"unsure\"", "list --json --db @/b.db");
    expect(0, "unsure, whose results nothing verifies|match          default",
           "best --kernel @/unsure.cu --problem T=f32,number_of_elements=1000000000 --db @/b.db");
    expect(0, "\"unverified\":1,\"match\":\"default\"",
           "best --kernel @/unsure.cu --problem T=f32,number_of_elements=1000000000 --json --db @/b.db");
    expect(0, "match          exact", "best --kernel @/d.cu --problem T=f32 --db @/b.db");
    expect(0, "match          default: nothing was tuned for this; as for |, warm", /* warm is nothing
                                                                                       measured cold */
           "best --kernel @/unsure.cu --problem T=f32,number_of_elements=77 --db @/b.db");
    expect(0, "GPU            hostcuda|GB/s, not verified|match          exact",
           "best --kernel @/unsure.cu --problem T=f32,number_of_elements=77,warm --db @/b.db");
    expect(0, "\"unverified\":1",
           "best --kernel @/unsure.cu --problem T=f32,number_of_elements=77,warm --json --db @/b.db");
    expect(0, "unsure|Finals|state          valid; its results were not verified",
           "show --kernel @/unsure.cu --problem T=f32,number_of_elements=77,warm --db @/a.db");
    expect(1, "number_of_elements=5, T=i32 was not tuned on hostcuda",
           "show --kernel @/d.cu --problem number_of_elements=5 --db @/a.db");
    expect(0, "", "export --database @/c.db --db @/a.db");
    expect(0, "3 winners, ", "import @/c.db --db @/e.db");
    expect(0, "", "merge @/f.db @/c.db @/b.db @/d.db");
    expect(0, "is whole", "check --db @/f.db");
    expect(0, "is whole", "check --db @/e.db");
    expect(0, "match          exact", "best --kernel @/d.cu --problem T=f32 --db @/f.db");
}

/* A recording is searched without a device, and says the same. */
static void test_replays(void **state) {
    (void)state;
    char measured[64], replayed[64];
    run_result r = tuned(0, "--kernel @/d.cu --problem T=f32 --json --db @/a.db");
    run_json(measured, sizeof measured, r.out, "time_us");
    run_free(&r);
    r = tuned(0, "--device replay:@/a.json --kernel @/d.cu --problem T=f32 --json");
    assert_string_equal(run_json(replayed, sizeof replayed, r.out, "source"), "replayed");
    assert_string_equal(run_json(replayed, sizeof replayed, r.out, "time_us"), measured);
    assert_string_equal(run_json(replayed, sizeof replayed, r.out, "trials"), "2");
    run_free(&r);
    expect(0, "replayed, not verified",
           "--device replay:@/a.json --kernel @/unsure.cu --unverified --warm --problem "
           "T=f32,number_of_elements=77");
    expect(2, "the recording has no " NAME " of number_of_elements=3, T=i32; it has: number_of_elements=",
           "--device replay:@/a.json --kernel @/d.cu --problem number_of_elements=3");
}

/* A recording may come from any source. */
static void test_refuses_forged_ops(void **state) {
    (void)state;
    static const char good[] = "\"op\":\"" NAME "\"";
    static const char *const ops[] = {"", "/", "a b", "../etc", "1k", NAME "/n=1", NAME "/warm", "n=1;m=2"};
    char *text = read_file("a.json"), *at = strstr(text, good);
    assert_non_null(at);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        size_t size = strlen(text) + 512;
        char *forged = malloc(size);
        assert_non_null(forged);
        snprintf(forged, size, "%.*s\"op\":\"%s\"%s", (int)(at - text), text, ops[i], at + strlen(good));
        write_in(folder, "forged.json", forged);
        free(forged);
        expect(2, "problems[3]: op ", "import @/forged.json --db @/forged.db");
    }
    free(text);
}

/* ---- Examples ------------------------------------------------------------------------------------------ */

/* All examples, each on a problem with edges. No configuration fails, and all are verified. */
static void test_examples(void **state) {
    (void)state;
    static const struct {
        const char *file, *problem;
    } examples[] = {
        {"aos", "n=1001"},
        {"compact", "n=1003"},
        {"classic_transpose", "rows=96,cols=64"},
        {"convolution", "w=35,h=21"},
        {"histogram", "n=5003"},
        {"matmul", "m=70,n=68,k=36"},
        {"matmul_tiled", "m=33,n=35,k=17"},
        {"reduce_sum", "n=5003"},
        {"reduce_sum_once", "n=5003"},
        {"saxpy", "n=1003"},
        {"scan", "n=5003"},
        {"scan", "n=200"},
        {"soa", "n=1001"},
        {"spmv", "rows=300,cols=200,average=7"},
        {"stencil_1d", "n=1003"},
        {"stencil_2d", "rows=35,cols=67"},
        {"vector_add", "n=1003,elem=f64"},
    };
    /* Brief launches would be loaded thirty times in the finals, and these kernels take the CPU long. */
    static const char long_enough[] =
        "kernel=sum_parts:slow=100;kernel=sum_once:slow=100;kernel=convolution:slow=100;"
        "kernel=matmul:slow=100;kernel=scan_chunks:slow=100;kernel=spmv:slow=100";
    char line[256], got[32];
    setenv("HOSTCUDA_FAULTS", long_enough, 1);
    setenv("HOSTCUDA_CC", "75", 1); /* without cp.async, which the stand-in does not know */
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        snprintf(line, sizeof line,
                 "--kernel ^/%s.cu --problem %s --max-trials 2 --jobs 2 --json --db :memory:",
                 examples[i].file, examples[i].problem);
        run_result r = tuned(0, line);
        if (strcmp(run_json(got, sizeof got, r.out, "failed"), "0") != 0 || strstr(r.out, "unverified"))
            fail_msg("%s: %s", examples[i].file, r.out);
        run_free(&r);
    }
    unsetenv("HOSTCUDA_CC");
    unsetenv("HOSTCUDA_FAULTS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tunes_problems),
        cmocka_unit_test(test_looks_up),
        cmocka_unit_test(test_elects_by_the_objective),
        cmocka_unit_test(test_judges_what_judges),
        cmocka_unit_test(test_checks_files),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_edited_files),
        cmocka_unit_test(test_goes_around),
        cmocka_unit_test(test_replays),
        cmocka_unit_test(test_refuses_forged_ops),
        cmocka_unit_test(test_examples),
    };
    return cmocka_run_group_tests_name("cli-kernel", tests, enter, run_leave);
}
