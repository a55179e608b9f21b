/* `tune` where there is no GPU: what it says to bad input, its help, its exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run.h"

static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_without_gpu();
    return 0;
}

static bool one_error_line(const char *err) {
    const char *end = strchr(err, '\n');
    return strncmp(err, "tune: ", 6) == 0 && end && end[1] == '\0';
}

/* Wrong command lines, and text that the one line of error must contain: the value, and what to do. */
static const struct {
    const char *line, *says;
} usage_errors[] = {
    {"--json", "--sizes 4096,8192"},
    {"--sizes", "--sizes needs a value"},
    {"--sizes=", "--sizes needs a value"},
    {"--sizes --json", "--sizes needs a value"},
    {"--sizes 0", "0: at least 1"},
    {"--sizes -5", "-5: at least 1"},
    {"--sizes 4096,-1", "-1: at least 1"},
    {"--sizes 4096,abc", "\"abc\" is not a whole number"},
    {"--sizes 4k", "\"4k\" is not a whole number"},
    {"--sizes 1e3", "\"1e3\" is not a whole number"},
    {"--sizes 4096.5", "\"4096.5\" is not a whole number"},
    {"--sizes +4", "\"+4\" is not a whole number"},
    {"--sizes 4096,", "empty item"},
    {"--sizes ,", "empty item"},
    {"--sizes 4096x1024", "--shapes"},
    {"--sizes 17592186044417", "17592186044417 is too large"},
    {"--sizes 99999999999999999999999", "99999999999999999999999 is too large"},
    {"--sizes 8388608", "8388608 x 8388608"},
    {"--shapes 4096", "\"4096\" is not a shape"},
    {"--shapes 4096x", "\"4096x\" is not a shape"},
    {"--shapes x7", "\"x7\" is not a shape"},
    {"--shapes 10x0", "0: at least 1"},
    {"--shapes 10x10x10", "\"10x10\" is not a whole number"},
    {"--sizes 64 --elem-size 3", "\"3\" is not an element size: it is 1, 2, 4, 8 or 16"},
    {"--sizes 64 --elem-size 04", "\"04\" is not an element size"},
    {"--sizes 64 --dtype f23", "did you mean f32?"},
    {"--sizes 64 --dtype quaternion", "unknown type \"quaternion\""},
    {"--sizes 64 --dtype f16 --elem-size 4", "2 bytes were asked for before"},
    {"--sizes 64 --device gpu0", "\"gpu0\" is neither a device number"},
    {"--sizes 64 --device -1", "\"-1\" is neither a device number"},
    {"--sizes 64 --device 99999999999", "\"99999999999\" is neither a device number"},
    {"--sizes 64 --device replay:", "names no file"},
    {"--sizes 64 --jobs 0", "0: at least 1"},
    {"--sizes 64 --jobs 100000", "100000 is too large: at most 1024"},
    {"--sizes 64 --jobs many", "\"many\" is not a whole number"},
    {"--sizes 64 --trial-timeout 0", "from 0.01 to 86400"},
    {"--sizes 64 --trial-timeout nan", "\"nan\" is not a number"},
    {"--sizes 64 --trial-timeout 5s", "\"5s\" is not a number"},
    {"--sizes 64 --effort most", "\"most\" is no effort: it is quick, standard or exhaustive"},
    {"--sizes 64 --budget soon", "\"soon\" is not a time: write it as in 10s"},
    {"--sizes 64 --budget 10d", "\"10d\" is not a time"},
    {"--sizes 64 --budget -3s", "\"-3s\" is not a time"},
    {"--sizes 64 --budget 1.2.3s", "\"1.2.3s\" is not a time"},
    {"--sizes 64 --budget 0", "0: it must be from 10ms"},
    {"--sizes 64 --budget 9999h", "9999h: it must be from 10ms to 168h"},
    {"--sizes 64 --max-trials 0", "0: at least 1"},
    {"--sizes 64 --max-trials some", "\"some\" is not a whole number"},
    {"--sizes 64 --seed -1", "-1: at least 0"},
    {"--sizes 64 --seed dice", "\"dice\" is not a whole number"},
    {"--sizes 64 --strategy oracle", "unknown strategy \"oracle\": there are surrogate"},
    {"--siezs 64", "unknown option --siezs; did you mean --sizes?"},
    {"--bogus", "unknown option --bogus; \"tune --help\""},
    {"-x", "unknown option -x"},
    {"-xyz --sizes 64", "unknown option -x"},
    {"--s 64", "--sizes or --shapes"},
    {"--sizes 64 --json=yes", "--json takes no value, but was given \"yes\""},
    {"--sizes 64 extra", "unexpected \"extra\""},
    {"--sizes 64 8192", "--sizes 8192"},
    {"4096", "--sizes 4096"},
    {"bets", "unknown command \"bets\"; did you mean best?"},
    {"frobnicate", "unknown command \"frobnicate\""},
    {"help frobnicate", "unknown command \"frobnicate\""},
    {"help best show", "unexpected \"show\"; help takes one word: \"tune help [COMMAND]\""},
    {"help --man best show", "unexpected \"show\""},
    {"help --completion bash zsh", "unexpected \"zsh\""},
    {"help best --man", "unexpected \"--man\""},
    {"--db x best", "unexpected \"best\"; a command comes first"},
    {"best", "tune best --size 4096"},
    {"best --size 1,2", "2 problems"},
    {"best --size 0", "0: at least 1"},
    {"best --sizes 4096", "did you mean --size?"},
    {"best --bogus", "\"tune best --help\""},
    {"best 4096", "--size 4096"},
    {"list --gpu", "--gpu needs a value"},
    {"list extra", "unexpected \"extra\""},
    {"doctor --fix", "unknown option --fix"},
    {"export", "--gpu NAME"},
    {"prune --older-than 0", "0: at least 1"},
    {"prune --older-than week", "\"week\" is not a whole number"},
    {"prune", "what should be removed? give --stale, "},
    {"show", "tune show --size 4096"},
    {"merge", "which files?"},
    {"import", "which file?"},
    {"import x.json --size 0", "0: at least 1"},
    {"vacuum all", "unexpected \"all\""},
    {"--stale --sizes 64", "leave sizes and shapes out"},
    {"--stale --device replay:x", "leave replay out"},
};

static void test_usage_errors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof usage_errors / sizeof *usage_errors; i++) {
        run_result r;
        run_tune(&r, NULL, usage_errors[i].line);
        if (r.code != 2 || !one_error_line(r.err) || *r.out)
            print_error("tune %s\n", usage_errors[i].line);
        assert_code(&r, 2);
        assert_true(one_error_line(r.err));
        assert_has(&r, r.err, usage_errors[i].says);
        assert_string_equal(r.out, "");
        run_free(&r);
    }
}

static void test_alone_it_helps(void **state) {
    (void)state;
    run_result r;
    run_tune(&r, NULL, "");
    assert_code(&r, 2);
    assert_string_equal(r.out, "");
    assert_has(&r, r.err, "tune --device 0 --sizes 4096,8192");
    assert_has(&r, r.err, "doctor");
    run_free(&r);
}

static void test_help(void **state) {
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"--help", "--sizes N[,N...]"},   {"-h", "Exit codes:"},
        {"help", "--trial-timeout S"},    {"--sizes 4 --help", "--sizes N[,N...]"},
        {"help best", "--shape RxC"},     {"best --help", "--shape RxC"},
        {"best -h", "--shape RxC"},       {"help list", "tune list"},
        {"doctor --help", "tune doctor"}, {"export -h", "--output FILE"},
        {"help show", "tune show"},       {"help prune", "--older-than DAYS"},
        {"help merge", "OUT.db"},         {"import --help", "--kernel NAME"},
        {"vacuum -h", "tune vacuum"},     {"check -h", "tune check"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_result r;
        run_tune(&r, NULL, cases[i].line);
        assert_code(&r, 0);
        assert_has(&r, r.out, "Usage: tune");
        assert_has(&r, r.out, cases[i].says);
        assert_string_equal(r.err, "");
        for (const char *line = r.out; *line; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= 100);
        run_free(&r);
    }
}

static void test_version(void **state) {
    (void)state;
    run_result r;
    run_tune(&r, NULL, "--version");
    assert_code(&r, 0);
    assert_has(&r, r.out, "tune 0.");
    run_free(&r);
}

static void test_output_that_cannot_be_written(void **state) {
    (void)state;
    run_result r;
    run_tune(&r, &(run_spec){.output = "/dev/full"}, "--help");
    assert_code(&r, 1);
    assert_has(&r, r.err, "cannot write to standard output");
    run_free(&r);
}

static void test_no_device(void **state) {
    (void)state;
    run_result r;
    run_tune(&r, NULL, "--sizes 64");
    assert_code(&r, 3);
    assert_true(strncmp(r.err, "tune: ", 6) == 0);
    assert_string_equal(r.out, "");
    run_free(&r);
}

static void test_missing_files(void **state) {
    (void)state;
    run_result r;
    run_tune(&r, NULL, "--device replay:/nonexistent.json --sizes 64");
    assert_code(&r, 1);
    assert_has(&r, r.err, "/nonexistent.json");
    run_free(&r);
    run_tune(&r, NULL, "list --db /nonexistent/x.db");
    assert_code(&r, 4);
    assert_has(&r, r.err, "/nonexistent/x.db");
    run_free(&r);
}

static void test_broken_store(void **state) {
    (void)state;
    static const char *const lines[] = {"list --db %s", "export --gpu x --db %s",
                                        "best --gpu x --size 64 --db %s",
                                        "--device replay:/nonexistent.json --sizes 64 --db %s"};
    char path[128], line[256];
    snprintf(path, sizeof path, "%s/broken.db", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 1000; i++)
        fprintf(f, "this is no database ");
    fclose(f);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        run_result r;
        snprintf(line, sizeof line, lines[i], path);
        run_tune(&r, NULL, line);
        assert_code(&r, 4);
        assert_has(&r, r.err, "broken.db");
        run_free(&r);
    }
}

/* Reading a missing store says so and creates nothing. */
static void test_nothing_tuned(void **state) {
    (void)state;
    run_result r;
    char store[128];
    snprintf(store, sizeof store, "%s/tiletune", folder);
    run_tune(&r, NULL, "list");
    assert_code(&r, 0);
    assert_string_equal(r.out, "");
    assert_has(&r, r.err, "nothing is tuned yet");
    assert_has(&r, r.err, "With tiletune come winners of: NVIDIA H");
    run_free(&r);
    run_tune(&r, NULL, "list --json");
    assert_code(&r, 0);
    assert_string_equal(r.out, "{\"version\":1,\"winners\":[],\"rules\":[]}\n");
    run_free(&r);
    run_tune(&r, NULL, "list --gpu h200");
    assert_code(&r, 0);
    assert_has(&r, r.out, "NVIDIA H200, with tiletune\noperation ");
    assert_has(&r, r.out, "valid (shipped)");
    assert_has(&r, r.out, "transpose, elem_size=16  NVIDIA H200 ");
    assert_null(strstr(r.out, "H100"));
    assert_string_equal(r.err, "");
    run_free(&r);
    run_tune(&r, NULL, "list --gpu h800");
    assert_code(&r, 2);
    assert_has(&r, r.err, "GPU \"h800\": nothing is tuned yet; with tiletune come: NVIDIA H200, ");
    run_free(&r);
    run_tune(&r, NULL, "best --size 4096");
    assert_code(&r, 2);
    assert_has(&r, r.err, "give --gpu NAME (the store knows none yet; ");
    run_free(&r);
    run_tune(&r, NULL, "export --gpu h100");
    assert_code(&r, 4);
    run_free(&r);
    assert_int_not_equal(access(store, F_OK), 0);
}

static void test_doctor_without_gpu(void **state) {
    (void)state;
    run_result r;
    run_tune(&r, NULL, "doctor");
    assert_code(&r, 3);
    assert_has(&r, r.out, "PROBLEM");
    assert_has(&r, r.out, "-> ");
    assert_has(&r, r.out, " are built in");
    assert_has(&r, r.out, "Tuning on a GPU will not work here");
    run_free(&r);
    run_tune(&r, NULL, "doctor --json");
    assert_code(&r, 3);
    assert_has(&r, r.out, "{\"version\":1,\"findings\":[{\"name\":\"library\",\"state\":\"ok\"");
    assert_has(&r, r.out, "\"state\":\"problem\"");
    run_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_errors),
        cmocka_unit_test(test_alone_it_helps),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_output_that_cannot_be_written),
        cmocka_unit_test_setup_teardown(test_no_device, enter, run_leave),
        cmocka_unit_test_setup_teardown(test_missing_files, enter, run_leave),
        cmocka_unit_test_setup_teardown(test_broken_store, enter, run_leave),
        cmocka_unit_test_setup_teardown(test_nothing_tuned, enter, run_leave),
        cmocka_unit_test_setup_teardown(test_doctor_without_gpu, enter, run_leave),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
