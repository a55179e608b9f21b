/* Tuning problems of other tuners: imported, checked and tuned, on the CPU stand-in. All else of the import
 * is test_import_t1.py's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run.h"

static const char *folder;

static void copy(const char *name) {
    char from[512], to[512], text[8192];
    snprintf(from, sizeof from, "%s/tests/data/t1/%s", TT_SOURCE_DIR, name);
    snprintf(to, sizeof to, "%s/%s", folder, name);
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_non_null(in);
    assert_non_null(out);
    size_t n = fread(text, 1, sizeof text, in);
    assert_int_equal(fwrite(text, 1, n, out), n);
    fclose(in);
    fclose(out);
}

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    copy("saxpy.json");
    copy("saxpy.cu");
    copy("threes.json");
    copy("threes.cu");
    return 0;
}

/* Runs a line with '@' replaced by the folder of the test. */
static void tune(run_result *r, const char *line) {
    char whole[1024] = "";
    for (const char *c = line; *c; c++)
        snprintf(whole + strlen(whole), sizeof whole - strlen(whole), *c == '@' ? "%s" : "%.1s",
                 *c == '@' ? folder : c);
    run_tune(r, &(run_spec){.timeout_s = 240}, whole);
}

static void expect(int code, const char *out, const char *err, const char *line) {
    run_result r;
    tune(&r, line);
    assert_code(&r, code);
    assert_has(&r, r.out, out);
    assert_has(&r, r.err, err);
    if (code == 2)
        assert_int_equal(strncmp(r.err, "tune: ", 6), 0);
    run_free(&r);
}

static void write_file(const char *name, const void *bytes, size_t n) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void write_text(const char *name, const char *text) {
    write_file(name, text, strlen(text));
}

/* As Kernel Tuner has it; what nothing says is asked for. */
static void test_saxpy(void **state) {
    (void)state;
    char trials[32];
    run_result r;
    expect(0, "//@ kernel   saxpy\n//@ problem  problem_size_x 100000\n",
           "saxpy.json: nothing says what is right", "import-t1 @/saxpy.json");
    expect(0, "", "saxpy.json: the compiler's option -I/usr/include is left out",
           "import-t1 @/saxpy.json --output @/s.cu");
    expect(2, "", "s.cu is there already", "import-t1 @/saxpy.json --output @/s.cu");
    expect(0, "kernel saxpy", "", "check @/s.cu");
    /* Python counts the same space. */
    expect(0, "\"combinations\":80,\"configurations\":26,", "", "check @/s.cu --json");
    tune(&r, "--kernel @/s.cu --problem problem_size_x=1003 --unverified --max-trials 6 --json --db @/t1.db");
    assert_code(&r, 0);
    assert_string_equal(run_json(trials, sizeof trials, r.out, "failed"), "0");
    run_free(&r);
}

/* As KTT has it; a file says what is right. */
static void test_threes(void **state) {
    (void)state;
    char failed[32];
    float right[4096];
    run_result r;
    for (size_t i = 0; i < 4096; i++)
        right[i] = 3;
    write_file("threes.bin", right, sizeof right);
    tune(&r, "import-t1 @/threes.json --output @/t.cu");
    assert_code(&r, 0);
    assert_string_equal(r.err, "");
    run_free(&r);
    tune(&r, "--kernel @/t.cu --json --db @/t1.db");
    assert_code(&r, 0);
    assert_string_equal(run_json(failed, sizeof failed, r.out, "failed"), "0");
    run_free(&r);
    right[4095] = 4;
    write_file("threes.bin", right, sizeof right);
    expect(1, "first wrong element at out[4095]: is 3, should be 4", "",
           "--kernel @/t.cu --force --quiet --db @/other.db --json");
}

/* A parameter of 40 values, more than there were once: all are in the space, and any may be taken. */
static void test_many_values(void **state) {
    (void)state;
    write_text(
        "many.json",
        "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"PART\", \"Type\": \"uint\","
        " \"Values\": \"[7 * i for i in range(1, 41)]\"}]}, \"KernelSpecification\": {\"Language\": \"CUDA\","
        " \"KernelName\": \"threes\", \"KernelFile\": \"threes.cu\", \"GlobalSizeType\": \"CUDA\","
        " \"GlobalSize\": {\"X\": 32}, \"LocalSize\": {\"X\": 32}, \"Arguments\": [{\"Name\": \"out\","
        " \"Type\": \"float4\", \"MemoryType\": \"Vector\", \"AccessType\": \"WriteOnly\", \"Size\": "
        "1024}]}}");
    expect(0, "", "", "import-t1 @/many.json --output @/many.cu");
    expect(0, "\"configurations\":40,", "", "check @/many.cu --json");
    expect(0, "\"space\":40", "",
           "--kernel @/many.cu --unverified --effort quick --jobs 2 --json --db @/t1.db");
    expect(0, "\"273\",\"280\"]", "", "check @/many.cu --json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saxpy),
        cmocka_unit_test(test_threes),
        cmocka_unit_test(test_many_values),
    };
    return cmocka_run_group_tests_name("cli-t1", tests, enter, run_leave);
}
