/*
 * Parts that are missing, too old, too small or foreign. Each gives one line on standard error that names it,
 * and the right exit code. Then killed workers, bad templates of the user, and a driver where any one call
 * fails.
 */
#include "fault.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What the run cannot begin without ----------------------------------------------------------------- */

static const struct {
    const char *env[3]; /* %s: the folder */
    const char *line;
    int code;
    const char *says[3];
} missing[] = {
    {{"LD_LIBRARY_PATH=%s"}, SMALL, 3, {"driver is not installed", "libcuda.so.1", "replay:FILE"}},
    {{"HOSTCUDA_DRIVER_VERSION=12040"}, SMALL, 3, {"12.4", "NVRTC is 13.0", "update the driver"}},
    {{"HOSTCUDA_DEVICES=0"}, SMALL, 3, {"no"}},
    {{"TILETUNE_NVRTC=/nonexistent.so"}, SMALL, 3, {"TILETUNE_NVRTC", "/nonexistent.so"}},
    {{"TILETUNE_NVRTC=%s/libcuda.so.1"}, SMALL, 3, {"libcuda.so.1", "cannot be loaded"}},
    {{"HOSTCUDA_CC=120"}, SMALL, 1, {"12.0", "90 100", "TILETUNE_NVRTC"}},
    {{"HOSTCUDA_DEVICES=2", "HOSTCUDA_NAME=first"},
     SMALL " --device 7",
     3,
     {"no device 7", "0 (first)", "1 (first)"}},
    {{NULL}, "--sizes 20000", 2, {"20000x20000", "needs 8.20 GB", "has 1.07 GB"}},
    {{NULL}, SMALL " --sizes 64,20000", 2, {"20000x20000"}}, /* nothing is measured before */
    {{"TILETUNE_WORKER=/nonexistent"}, SMALL, 1, {"TILETUNE_WORKER", "/nonexistent", "cannot be run"}},
    {{"TILETUNE_WORKER=/bin/false"}, SMALL, 1, {"worker ended with exit code 1"}},
    {{NULL}, SMALL " --db /nonexistent/x.db", 4, {"/nonexistent/x.db"}},
    {{NULL}, SMALL_AND("faulty") " --template /nonexistent.cu", 1, {"/nonexistent.cu"}},
};

static void says_what_is_missing(void **state) {
    (void)state;
    fault_write(fault_path("libcuda.so.1"), "this is no library\n");
    const char *folder = getenv("XDG_DATA_HOME");
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        char text[2][600], line[1024];
        const char *env[3] = {NULL};
        for (int k = 0; k < 2 && missing[i].env[k]; k++) {
            const char *at = strstr(missing[i].env[k], "%s");
            int before = at ? (int)(at - missing[i].env[k]) : (int)strlen(missing[i].env[k]);
            snprintf(text[k], sizeof text[k], "%.*s%s%s", before, missing[i].env[k], at ? folder : "",
                     at ? at + 2 : "");
            env[k] = text[k];
        }
        bool own_db = strstr(missing[i].line, "--db") != NULL;
        snprintf(line, sizeof line, "%s --quiet %s%s", missing[i].line, own_db ? "" : "--db ",
                 own_db ? "" : fault_path("missing.db"));
        run_result r;
        run_tune(&r, &(run_spec){.env = env, .timeout_s = fault_timeout_s}, line);
        assert_code(&r, missing[i].code);
        assert_string_equal(r.out, "");
        for (int k = 0; k < 3 && missing[i].says[k]; k++)
            assert_has(&r, r.err, missing[i].says[k]);
        assert_true(strncmp(r.err, "tune: ", 6) == 0 && strchr(r.err, '\n') == r.err + strlen(r.err) - 1);
        run_free(&r);
    }
    if (access(fault_path("missing.db"), F_OK) == 0)
        assert_int_equal(fault_number(fault_path("missing.db"), "SELECT count(*) FROM trial"), 0);
}

/* Puts a driver without a function into a folder for $LD_LIBRARY_PATH: the stand-in, where that function has
 * another name. */
static void make_driver_without(const char *function, const char *in) {
    char from[512], to[512], name[64];
    static char bytes[4 << 20];
    size_t n_name = (size_t)snprintf(name, sizeof name, "%c%s", 0, function) + 1, n_found = 0;
    snprintf(from, sizeof from, "%s/libcuda.so.1", getenv("HOSTCUDA_DIR"));
    snprintf(to, sizeof to, "%s/libcuda.so.1", in);
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(n < sizeof bytes);
    for (char *at = bytes; (at = memmem(at, n - (size_t)(at - bytes), name, n_name)); n_found++)
        at[1] = '_';
    assert_true(n_found > 0);
    mkdir(in, 0700);
    f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Functions of CUDA 12 are required, and later ones are not. Without those, the parameters of a user's
 * template are not compared with its `args`, and all else works. */
static void an_old_driver(void **state) {
    (void)state;
    static const struct {
        const char *function;
        int code;
    } cases[] = {{"cuCtxGetId", 3}, {"cuFuncGetParamInfo", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[600], line[2048], text[64];
        const char *in = fault_path("old");
        make_driver_without(cases[i].function, in);
        snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", in);
        snprintf(line, sizeof line,
                 "--sizes 33 --effort exhaustive --only faulty --quiet --json --template %s --db %s",
                 fault_source("faulty.cu"), fault_path("old.db"));
        run_result r;
        run_tune(&r, &(run_spec){.env = (const char *[]){path, NULL}, .timeout_s = fault_timeout_s}, line);
        assert_code(&r, cases[i].code);
        if (cases[i].code) {
            assert_has(&r, r.err, "libcuda.so.1 has no cuCtxGetId: the driver is too old");
        } else {
            assert_string_equal(run_json(text, sizeof text, r.out, "trials"), "12");
            assert_string_equal(run_json(text, sizeof text, r.out, "failed"), "0");
        }
        run_free(&r);
    }
}

/* ---- Workers that are killed from outside ------------------------------------------------------ */

typedef struct murder {
    const char *role, *db;
    int64_t at; /* when so many trials are there */
    bool killed;
} murder;

static void kill_one(void *user, pid_t tuner, double seconds, const char *err) {
    (void)seconds;
    murder *m = user;
    if (m->killed || !strstr(err, "search") ||
        fault_number(m->db,
                     "SELECT count(*) FROM trial JOIN problem ON problem.id = problem_id"
                     " JOIN operation ON operation.id = operation_id WHERE name = 'transpose'") < m->at)
        return;
    m->killed = fault_strike(tuner, m->role, NULL, SIGKILL, 1) == 1;
}

/* Costs at most what the worker was at: one trial, or one cubin and the configurations that share it. */
static void survives_the_loss_of_a_worker(const char *role, int most_failed) {
    for (int i = 0; i < 3; i++) {
        char line[1024], name[32], failed[32];
        run_result r;
        snprintf(name, sizeof name, "murder-%s-%d.db", role, i);
        murder m = {role, fault_path(name), 5 + 15 * i, false};
        snprintf(line, sizeof line, SMALL " --json --db %s", m.db);
        run_spec spec = {.timeout_s = fault_timeout_s, .meanwhile = kill_one, .user = &m};
        run_tune(&r, &spec, line);
        assert_code(&r, 0);
        assert_true(m.killed);
        assert_true(atoi(run_json(failed, sizeof failed, r.out, "failed")) <= most_failed);
        run_free(&r);
    }
}

static void a_gpu_worker_is_killed(void **state) {
    (void)state;
    survives_the_loss_of_a_worker("gpu", 1);
}

static void a_compile_worker_is_killed(void **state) {
    (void)state;
    survives_the_loss_of_a_worker("compile", 8);
}

/* ---- Templates of the user's --------------------------------------------------------------------------- */

/* faulty.cu with one piece of text replaced. */
static const char *changed(const char *name, const char *from, const char *to) {
    static char text[8192], new_text[8192];
    FILE *f = fopen(fault_source("faulty.cu"), "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(new_text, sizeof new_text, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    const char *path = fault_path(name);
    fault_write(path, new_text);
    return path;
}

static void a_bad_annotation_is_named(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"ceil_div", "ceil_dvi", ":8:14: unknown function ceil_dvi; did you mean ceil_div?"},
        {"KIND=11", "KIND=12", ":10:"},
        {"//@ op       transpose", "//", "op"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = changed("bad.cu", cases[i].from, cases[i].to);
        run_result r;
        fault_tune(&r, "", SMALL_AND("faulty") " --template %s --db %s", path, fault_path("template.db"));
        assert_code(&r, 2);
        assert_has(&r, r.err, path);
        assert_has(&r, r.err, cases[i].says);
        run_free(&r);
    }
}

static void a_template_that_is_wrong_everywhere(void **state) {
    (void)state;
    const char *path = changed("wrong.cu", "row * lds + col", "row * lds + col / 2 * 2");
    char kernel[64], failed[32];
    run_result r;
    fault_tune(&r, "", SMALL_AND("faulty") " --json --template %s --db %s", path, fault_path("template.db"));
    assert_code(&r, 0);
    assert_string_not_equal(run_json(kernel, sizeof kernel, r.out, "kernel"), "faulty");
    assert_int_equal(atoi(run_json(failed, sizeof failed, r.out, "failed")), 12);
    run_free(&r);
}

static void a_template_that_does_not_compile(void **state) {
    (void)state;
    const char *path = changed("broken.cu", "if (col < cols)", "if (column < cols)");
    char failed[32], reason[512];
    run_result r;
    fault_tune(&r, "", SMALL_AND("faulty") " --json --template %s --db %s", path, fault_path("broken.db"));
    assert_code(&r, 0);
    assert_int_equal(atoi(run_json(failed, sizeof failed, r.out, "failed")), 12);
    run_free(&r);
    fault_text(reason, sizeof reason, fault_path("broken.db"), "SELECT reason FROM trial WHERE status <> 0");
    assert_non_null(strstr(reason, "broken.cu:15"));
    assert_non_null(strstr(reason, "column"));
}

/* Its operation is not requested, so none of its configurations is tried. */
static void a_template_of_another_op(void **state) {
    (void)state;
    const char *path = changed("other.cu", "op       transpose", "op       transpose_mine");
    run_result r;
    fault_tune(&r, "", SMALL_AND("faulty") " --json --template %s --db %s", path, fault_path("other.db"));
    assert_code(&r, 2);
    assert_has(&r, r.err, "there is no operation transpose_mine");
    run_free(&r);
}

/* ---- A driver with one failing call ------------------------------------------------------------ */

/* From the first call of a GPU worker to those of its trials. Where every worker fails in its first trial,
 * every configuration fails and the run is long: these numbers are left out. */
static void any_driver_call_may_fail(void **state) {
    (void)state;
    static const struct {
        const char *effect;
        int n[16];
    } cases[] = {
        {"call_fails", {1, 2, 3, 4, 6, 9, 14, 20, 28, 38, 60, 100, 150, 400, 1500}},
        {"alloc_fails", {1, 2, 3, 4, 5}},
    };
    int ok = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (const int *n = cases[c].n; *n; n++) {
            if ((n - cases[c].n) % 3 && !getenv("TT_LONG")) /* every third one */
                continue;
            char rule[64];
            run_result r;
            snprintf(rule, sizeof rule, "driver:%s=%d", cases[c].effect, *n);
            fault_tune(&r, rule, SMALL " --json --force --db %s", fault_path("driver.db"));
            if (r.code != 0 && r.code != 1 && r.code != 3)
                print_error("%s\n", rule);
            assert_true(r.code == 0 || r.code == 1 || r.code == 3);
            ok += r.code == 0;
            if (r.code != 0)
                assert_has(&r, r.err, "tune: ");
            run_free(&r);
        }
    assert_true(ok > 0); /* or it is not the calls of trials that fail in the end */
    assert_int_equal(
        fault_number(fault_path("driver.db"), "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
        1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(an_old_driver),
        cmocka_unit_test(a_gpu_worker_is_killed),
        cmocka_unit_test(a_compile_worker_is_killed),
        cmocka_unit_test(a_bad_annotation_is_named),
        cmocka_unit_test(a_template_that_is_wrong_everywhere),
        cmocka_unit_test(a_template_that_does_not_compile),
        cmocka_unit_test(a_template_of_another_op),
        cmocka_unit_test(any_driver_call_may_fail),
    };
    return cmocka_run_group_tests(tests, fault_enter, run_leave);
}
