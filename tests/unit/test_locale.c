/*
 * The library in a host with a locale that has a decimal comma and its own letter cases. The locales are
 * made for the test if localedef and its sources are installed; otherwise it is skipped.
 */
#include "store_fixture.h"

#include <locale.h>
#include <sys/wait.h>

#include "base/read_file.h"
#include "base/str.h"
#include "db/exchange/export.h"
#include "db/exchange/recording.h"
#include "tiletune.h"

static char folder[] = "/tmp/tt-locale-XXXXXX";

/* Of single bytes: there other letters are of the alphabet, and tolower('I') is none of ASCII in Turkish. */
static bool make_locale(const char *name, const char *charmap) {
    char command[256], installed[32];
    snprintf(installed, sizeof installed, "%s.%s", name, charmap);
    snprintf(command, sizeof command, "localedef -i %s -f %s %s/%s >%s/log 2>&1", name, charmap, folder,
             installed, folder);
    int status = system(command);
    setlocale(LC_ALL, "C");
    return status != -1 && setlocale(LC_ALL, installed) != NULL;
}

static void writes_and_reads_numbers(void **state) {
    (void)state;
    char text[32], *end;
    tt__str s = {0};
    snprintf(text, sizeof text, "%g", 2.5);
    assert_string_equal(text, "2,5"); /* this is such a host */
    tt__format(text, sizeof text, "%g", 2.5);
    assert_string_equal(text, "2.5");
    double value = tt__strtod("2.5x", &end);
    assert_true(value > 2.4 && value < 2.6 && *end == 'x');
    tt__str_addf(&s, "%.3f", 1209.905);
    assert_string_equal(s.text, "1209.905");
    tt__str_free(&s);
    tt__fail(TT_E_INVALID, "%g", 0.5);
    assert_string_equal(tt_last_error(), "0.5");
    snprintf(text, sizeof text, "%g", 2.5);
    assert_string_equal(text, "2,5"); /* and still is */
}

static void compares_letters_of_ascii(void **state) {
    (void)state;
    assert_true(tt__same_letters("NVIDIA", "nvidia"));
    assert_false(tt__same_letters("nvidi", "nvidia"));
    assert_true(tt__same_lettersn("nvidi", "NVIDIA", 5));
    assert_true(tt__has_letters("NVIDIA H200", "dia h"));
    assert_true(tt__has_letters("NVIDIA H200", ""));
    assert_false(tt__has_letters("NVIDIA", "NVIDIA H"));
    assert_false(tt__is_alnum((char)0xe4));
    assert_true(tt__is_alnum('z') && tt__is_alnum('A') && tt__is_alnum('0') && !tt__is_alnum('_'));
}

static void opens_a_kernel(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_kernel *kernel;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = ":memory:";
    opts.gpu = "nvidia h200"; /* in Turkish the small letter of I is none of ASCII */
    assert_ok(tt_open(&ctx, &opts));
    assert_ok(tt_kernel_open(&kernel, ctx, TT_SOURCE_DIR "/examples/kernels/saxpy.cu", NULL));
    tt_kernel_close(&kernel);
    tt_problem p = TT_INIT(tt_problem);
    tt_choice choice = TT_INIT(tt_choice);
    p.rows = p.cols = 4096;
    assert_ok(tt_best(&choice, ctx, &p));
    assert_true(choice.match <= TT_MATCH_STALE);
    tt_close(&ctx);
}

/* Every number of a JSON text: a comma in one would make two of it. */
static bool is_json(const char *path) {
    char command[256];
    snprintf(command, sizeof command, "python3 -c 'import json, sys; json.load(open(sys.argv[1]))' %s", path);
    return system(command) == 0;
}

static void tunes_and_exports(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_report *report = NULL;
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_problem p = TT_INIT(tt_problem);
    p.rows = p.cols = 4096;
    open.db_path = in_dir("s.db");
    opts.replay = TT_SOURCE_DIR "/tests/data/small.json";
    opts.trace_path = in_dir("trace.json");
    opts.max_trials = 4;
    assert_ok(tt_open(&ctx, &open));
    assert_ok(tt_tune(&report, ctx, &p, 1, &opts));
    assert_true(report->results[0].time_us > 1);
    tt_report_free(&report);
    tt_close(&ctx);
    tt__store *s = must_open(in_dir("s.db"));
    tt__str json = {0};
    tt__recording *r;
    assert_ok(tt__recording_export(s, 1, NULL, "", &json));
    write_file(in_dir("r.json"), json.text, json.len);
    assert_ok(tt__recording_open(&r, in_dir("r.json")));
    tt__recording_close(&r);
    tt__str_free(&json);
    tt__store_close(&s);
    assert_true(is_json(in_dir("r.json")) && is_json(in_dir("trace.json")));
}

/* Nothing of the others depends on a comma. */
static void without_commas(void **state) {
    (void)state;
    assert_true(make_locale("tr_TR", "ISO-8859-9"));
    compares_letters_of_ascii(NULL);
    opens_a_kernel(NULL);
    assert_non_null(setlocale(LC_ALL, "de_DE.ISO-8859-1"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(writes_and_reads_numbers), TEST(compares_letters_of_ascii),
        TEST(opens_a_kernel),           TEST(tunes_and_exports),
        TEST(without_commas),
    };
    if (!mkdtemp(folder))
        return 1;
    setenv("LOCPATH", folder, 1);
    int status = 77;
    if (make_locale("de_DE", "ISO-8859-1"))
        status = cmocka_run_group_tests(tests, NULL, NULL);
    else
        printf("no locale de_DE.ISO-8859-1, and localedef cannot make one (packages libc-bin and locales)\n");
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) ? 1 : status;
}
