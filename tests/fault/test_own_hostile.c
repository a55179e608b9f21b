/*
 * Own kernels that are hostile or just wrong, on the CPU stand-in. An endless one is stopped, and a crash
 * ends only its worker. Requests for too much, or for foreign memory, are refused with their place.
 */
#include "fault.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/model.h"
#include "kernel/load/parse.h"
#include "kernel/model/template.h"

/* ---- Kernels ------------------------------------------------------------------------------------------- */

static void contains_bad_configurations(void **state) {
    (void)state;
    static const struct {
        const char *config;
        tt__trial_status status;
        const char *says, *or_says;
    } cases[] = {
        {"F=right", TT__TRIAL_OK, "", ""},
        {"F=endless", TT__TRIAL_TIMEOUT, "ran longer than 1 s", ""},
        {"F=far_away", TT__TRIAL_CRASHED, "ILLEGAL_ADDRESS", "its GPU worker"},
        {"F=no_code", TT__TRIAL_COMPILE_ERROR, "no_such_name", "column"},
    };
    const char *db = fault_path("hostile.db");
    char got[64], sql[512], reason[TT__REASON_MAX];
    run_result r;
    fault_tune(&r, "", "--kernel %s --json --trial-timeout 1 --db %s", fault_source("own/hostile.cu"), db);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"config\":{\"F\":\"right\"}");
    assert_string_equal(run_json(got, sizeof got, r.out, "trials"), "4");
    assert_string_equal(run_json(got, sizeof got, r.out, "failed"), "3");
    assert_true(r.seconds < 100); /* 2 s where nothing else runs */
    run_free(&r);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char from[] =
            "FROM trial JOIN config ON config.id = config_id WHERE stage = 0 AND text =";
        snprintf(sql, sizeof sql, "SELECT status %s '%s'", from, cases[i].config);
        tt__trial_status status = (tt__trial_status)fault_number(db, sql);
        snprintf(sql, sizeof sql, "SELECT reason %s '%s'", from, cases[i].config);
        fault_text(reason, sizeof reason, db, sql);
        if (status != cases[i].status ||
            (!strstr(reason, cases[i].says) && !strstr(reason, cases[i].or_says)))
            fail_msg("%s: %s (%s), expected %s (%s)", cases[i].config, tt__trial_status_name(status), reason,
                     tt__trial_status_name(cases[i].status), cases[i].says);
    }
    fault_tune(&r, "", "check --db %s", db);
    assert_code(&r, 0);
    run_free(&r);
}

/* ---- References ---------------------------------------------------------------------------------------- */

static void tune_bad_reference(const char *file, int mode, int code, const char *says) {
    const char *db = fault_path("references.db");
    run_result r;
    fault_tune(&r, "", "--kernel %s --problem mode=%d --trial-timeout 0.5 --db %s", file, mode, db);
    assert_code(&r, code);
    assert_has(&r, r.err, says);
    assert_true(r.seconds < 100);
    assert_int_equal(fault_number(db, "SELECT count(*) FROM run WHERE ended_ms IS NULL"), 0);
    run_free(&r);
}

static void contains_bad_references(void **state) {
    (void)state;
    const char *file = fault_source("own/bad_reference.cu"), *broken = fault_path("broken.cu");
    run_result r;
    /* The winner is also verified where mode is 2, and there the reference runs into the limit. */
    fault_tune(&r, "", "--kernel %s --json --trial-timeout 0.5 --db :memory:", file);
    assert_code(&r, 0);
    assert_has(
        &r, r.err,
        "mode=1: whether the winner is right for mode=2, too, cannot be told: preparing the arrays and "
        "running the reference bad took longer than 3 s");
    run_free(&r);
    tune_bad_reference(
        file, 2, 3,
        "preparing the arrays and running the reference bad took longer than 3 s, six times the limit of a "
        "trial: does it end?");
    tune_bad_reference(file, 3, 1, "the reference bad"); /* a GPU says that it is an illegal address */
    tune_bad_reference(file, 4, 1,
                       "`iif(mode = 4, 3000000000, 4)` is 3000000000, the limit of grid.x is 2147483647");
    fault_tune(&r, "", "--kernel %s --problem mode=5 --problem mode=3 --problem mode=6 --db :memory:", file);
    assert_code(&r, 1);
    assert_has(&r, r.err, "mode=3: the ");
    assert_has(&r, r.err, "the reference bad");
    assert_has(&r, r.out, "mode=3   no winner");
    assert_has(&r, r.out, "mode=6   fine");
    run_free(&r);
    fault_write(
        broken,
        "//@ kernel fine\n//@ problem mode 1\n//@ buffer y i32 4 out\n//@ param PARAM 1 2\n//@ block PARAM\n"
        "//@ grid 1\n//@ args y\n//@ default PARAM=1\n//@ reference bad\n//@ block 4\n//@ grid 1\n//@ args "
        "y\n"
        "extern \"C\" __global__ void fine(int *y) { y[threadIdx.x] = 1; }\n"
        "#if PARAM == 1\n"
        "extern \"C\" __global__ void bad(int *y) { y[threadIdx.x] = no_such_name; }\n"
        "#endif\n");
    tune_bad_reference(broken, 1, 1,
                       "the reference bad cannot be compiled with the default configuration: compile_error");
}

/* ---- Expressions --------------------------------------------------------------------------------------- */

/* Every place where one may stand. */
static const char *const places[] = {
    "//@ problem   v %s\n",
    "//@ buffer    v f32 %s in\n",
    "//@ metric    v %s\n",
    "//@ maxrregcount %s\n",
    "//@ where     %s\n",
    "//@ shared    %s\n",
    "//@ kernel    j\n//@ block 1\n//@ grid %s\n//@ args y\n",
    "//@ kernel    j\n//@ block 1\n//@ grid 1\n//@ args y, i64 %s\n",
    "//@ reference j\n//@ block %s\n//@ grid 1\n//@ args y\n",
};

static const struct {
    const char *expression, *says;
} expressions[] = {
    {"(SELECT count(*) FROM sqlite_master)", "SELECT is not allowed"},
    {"(SELECT 1 FROM tt_facts)", "SELECT is not allowed"},
    {"EXISTS (SELECT 1)", "EXISTS is not allowed"},
    {"readfile('/etc/passwd')", "unknown function readfile"},
    {"load_extension('x')", "unknown function load_extension"},
    {"writefile('x', 1)", "unknown function writefile"},
    {"sqlite_version()", "unknown function sqlite_version"},
    {"randomblob(1000000000)", "unknown function randomblob"},
    {"zeroblob(1000000000)", "unknown function zeroblob"},
    {"printf('%s')", "unknown function printf"},
    {"1; DROP TABLE tt_facts", "';' is not allowed: a second statement"},
    {"1 -- 2", "'--' is not allowed: a comment"},
    {"1 /* 2 */", "'/*' is not allowed: a comment|no comment may follow in the line"},
    {"?1", "'?' is not allowed: write iif(condition, a, b)"},
    {"\"n\"", "unexpected '\"'"},
    {"x'00'", "in front of a quote"},
    {"1 COLLATE nocase", "found 'COLLATE', expected|COLLATE is not allowed"},
    {"CAST(1 AS TEXT)", "CAST is not allowed"},
    {"'a' || 'b'", "|| |no parameter has the value 'a'"},
    {"tt_facts.n", "unknown name tt_facts"},
    {"1) FROM tt_facts UNION SELECT (1", "found ')' without its '('|direction|UNION"},
};

static bool says_one_of(const char *text, const char *ways) {
    char copy[256], *state = NULL;
    snprintf(copy, sizeof copy, "%s", ways);
    for (char *way = strtok_r(copy, "|", &state); way; way = strtok_r(NULL, "|", &state))
        if (strstr(text, way))
            return true;
    return false;
}

static void refuses_expressions(void **state) {
    (void)state;
    const char *file = fault_path("expression.cu");
    for (size_t place = 0; place < sizeof places / sizeof *places; place++)
        for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
            char line[256], text[1024], where[560];
            int at, column;
            snprintf(line, sizeof line, places[place], expressions[i].expression);
            snprintf(
                text, sizeof text,
                "//@ kernel k\n//@ problem n 4\n//@ buffer y f32 n out\n//@ block 1\n//@ grid 1\n//@ args "
                "y\n%s"
                "extern \"C\" __global__ void k(float *y) {}\nextern \"C\" __global__ void j(float *y) {}\n",
                line);
            fault_write(file, text);
            tt__template *t;
            assert_int_equal(tt__template_load(&t, file), TT_E_TEMPLATE);
            const char *found = tt_last_error();
            snprintf(where, sizeof where, "%s:%%d:%%d: ", file);
            if (sscanf(found, where, &at, &column) != 2 || at < 7 || !says_one_of(found, expressions[i].says))
                fail_msg("%s: %s", line, found);
        }
}

/* ---- Sizes --------------------------------------------------------------------------------------------- */

static void refuses_sizes(void **state) {
    (void)state;
    static const struct {
        const char *buffer, *says;
    } cases[] = {
        {"f32 281474976710656 scratch",
         ":2:18: the length of b `281474976710656` comes to 281474976710656, expected a whole "
         "number of 1 to 2^48 / 4"},
        {"f32 n * 9223372036854775807 scratch", "comes to 3.68935e+19 (beyond 64 bits), expected"},
        {"u8 281474976710656 scratch", "GB of device memory"},
        {"f32 70368744177664 in zeros", "GB of device memory"},
        {"f32 70368744177664 inout", "GB of device memory"},
    };
    const char *file = fault_path("size.cu");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        run_result r;
        snprintf(text, sizeof text,
                 "//@ problem n 4\n//@ buffer b %s\n//@ kernel k\n//@ buffer y f32 n out\n//@ block 1\n//@ "
                 "grid 1\n"
                 "//@ args y, b\nextern \"C\" __global__ void k(float *y, void *b) {}\n",
                 cases[i].buffer);
        fault_write(file, text);
        fault_tune(&r, "", "--kernel %s --unverified --db :memory:", file);
        assert_code(&r, 2);
        assert_has(&r, r.err, cases[i].says);
        run_free(&r);
    }
}

/* ---- Files --------------------------------------------------------------------------------------------- */

/* A data file must be a regular file of the right length: no pipe, no device, no folder. */
static void refuses_what_is_no_file(void **state) {
    (void)state;
    const char *file = fault_path("pipe.cu"), *data = fault_path("data.bin");
    run_result r;
    fault_write(file, "//@ kernel k\n//@ buffer x u8 100 in file data.bin\n//@ buffer y u8 100 out\n//@ "
                      "block 100\n//@ grid 1\n"
                      "//@ args x, y\nextern \"C\" __global__ void k(char *x, char *y) { y[threadIdx.x] = "
                      "x[threadIdx.x]; }\n");
    for (int way = 0; way < 3; way++) {
        assert_int_equal(way == 0   ? mkfifo(data, 0600)
                         : way == 1 ? symlink("/dev/zero", data)
                                    : mkdir(data, 0700),
                         0);
        fault_tune(&r, "", "--kernel %s --unverified --trial-timeout 1 --db :memory:", file);
        assert_code(&r, 2);
        assert_has(&r, r.err, "/data.bin is no file");
        run_free(&r);
        assert_int_equal(remove(data), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contains_bad_configurations), cmocka_unit_test(contains_bad_references),
        cmocka_unit_test(refuses_expressions),         cmocka_unit_test(refuses_sizes),
        cmocka_unit_test(refuses_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, fault_enter, run_leave);
}
