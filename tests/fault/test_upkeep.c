/*
 * Upkeep of a store: stale winners are shown and tuned again; show, prune, vacuum and check; imported stores
 * and recordings; a system store; files that others can write.
 */
#include "fault.h"

#include <sys/stat.h>
#include <unistd.h>

static char db[256]; /* one small run; tests that change it work on a copy */

static void must_tune(const char *line, const char *path) {
    run_result r;
    fault_tune(&r, "", "%s --db %s", line, path);
    assert_code(&r, 0);
    run_free(&r);
}

static int enter(void **state) {
    fault_enter(state);
    snprintf(db, sizeof db, "%s", fault_path("tuned.db"));
    must_tune(SMALL " --quiet", db);
    return 0;
}

/* A copy without what is not yet in the file itself. */
static const char *copy(const char *name) {
    char sql[600];
    const char *path = fault_path(name);
    unlink(path);
    snprintf(sql, sizeof sql, "VACUUM INTO '%s'", path);
    fault_number(db, sql);
    chmod(path, 0600);
    return path;
}

/* Runs a line. Expects this exit code, and this text on standard output or standard error. */
static void expect(int code, const char *says, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void expect(int code, const char *says, const char *fmt, ...) {
    char line[1024];
    run_result r;
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    fault_tune(&r, "", "%s", line);
    assert_code(&r, code);
    assert_has(&r, strstr(r.out, says) ? r.out : r.err, says);
    run_free(&r);
}

static void shows_and_tunes_what_is_stale(void **state) {
    (void)state;
    const char *path = copy("stale.db");
    expect(0, "valid", "list --db %s", path);
    expect(0, "Nothing of hostcuda is stale", "--stale --db %s", path);
    fault_number(path, "UPDATE template SET hash = 'x' || substr(hash, 2)");
    expect(0, "stale: template changed since", "list --db %s", path);
    expect(0, "1 of 1 are stale: \"tune --stale\"", "list --db %s", path);
    expect(0, "\"source\":\"measured\"", "--stale --json --quiet --db %s", path);
    expect(0, "\"state\":\"valid\"", "list --json --db %s", path);
    expect(0, "\"results\":[],\"wall_s\"", "--stale --json --db %s", path);
    expect(2, "leave sizes and shapes out", "--stale --sizes 64 --db %s", path);
    expect(2, "--in-place, --warm and --graph out", "--stale --warm --db %s", path);

    fault_number(path, "UPDATE env SET driver = 'CUDA 12.3'");
    expect(0, "stale: measured under driver CUDA 12.3", "list --db %s", path);
    path = copy("nvrtc.db");
    fault_number(path, "UPDATE env SET nvrtc = '12.3'");
    expect(0, "valid", "list --db %s", path); /* its cubin is there */
    fault_number(path, "DELETE FROM cubin");
    expect(0, "stale: compiled by NVRTC 12.3", "list --db %s", path);
    fault_number(path, "UPDATE template SET kernel = 'of_mine' WHERE kernel LIKE 'transpose%%'");
    expect(0, "1 more is of templates that are not here", "--stale --db %s", path);
}

/* In the table each row says what not all have. */
static void tells_rows_apart(void **state) {
    (void)state;
    const char *path = copy("rows.db");
    fault_number(
        path,
        "INSERT INTO problem (operation_id, warm, unverified, key, first, second, moved_bytes)"
        " SELECT operation_id, 1, 0, replace(key, 'batch=1', 'batch=2'), first, second, 2 * moved_bytes"
        " FROM problem JOIN operation ON operation.id = operation_id WHERE name = 'transpose';"
        "INSERT INTO value SELECT (SELECT max(id) FROM problem), place, value.name, iif(value.name = "
        "'batch', 2, value)"
        " FROM value JOIN problem ON problem.id = problem_id JOIN operation ON operation.id = operation_id"
        " WHERE operation.name = 'transpose' AND NOT warm;"
        "INSERT INTO winner SELECT gpu_id, (SELECT max(id) FROM problem), run_id, config_id, time_us,"
        " copy_us, copy_fraction, speedup_vs_default, trials, failed, unix_ms, bits, batch_invariant FROM "
        "winner;"
        "UPDATE template SET hash = 'x' || substr(hash, 2)");
    static const char *const says[] = {": transpose\n", "\n33x33 ", "\n33x33, batch=2, warm "};
    run_result r;
    fault_tune(&r, "", "--stale --max-trials 4 --db %s", path);
    assert_code(&r, 0);
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        assert_has(&r, r.out, says[i]);
    run_free(&r);
}

static void shows_one_problem(void **state) {
    (void)state;
    static const char *const says[] = {"winner ",     "state",    "valid",   "Finals",
                                       "The best 10", "screened", "measured"};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        expect(0, says[i], "show --size 33 --db %s", db);
    expect(0, "\"finals\":[{\"kernel\":", "show --gpu hostc --size 33 --json --db %s", db);
    expect(1, "transpose of 34x34 was not tuned on ", "show --size 34 --db %s", db);
    expect(2, "no such GPU", "show --gpu a100 --size 33 --db %s", db);
    expect(2, "which problem?", "show --db %s", db);
}

static void prunes(void **state) {
    (void)state;
    const char *path = copy("pruned.db");
    int64_t trials = fault_number(path, "SELECT count(*) FROM trial");
    expect(2, "--older-than DAYS", "prune --db %s", path);
    expect(0, "Took out 0 winners, 0 trials", "prune --stale --other-gpus --older-than 1 --db %s", path);
    fault_number(path, "UPDATE template SET hash = 'x' || substr(hash, 2); UPDATE run SET ended_ms = 1;"
                       "UPDATE cubin_link SET template_hash = 'x' || substr(template_hash, 2)");
    expect(0, "Would take out 1 winner, ", "prune --stale --dry-run --db %s", path);
    assert_int_equal(fault_number(path, "SELECT count(*) FROM trial"), trials);
    expect(0, "Took out 1 winner, ", "prune --stale --db %s", path);
    assert_int_equal(fault_number(path, "SELECT count(*) FROM trial"), 0);
    assert_int_equal(fault_number(path, "SELECT count(*) FROM cubin"), 0);
    expect(0, "before", "vacuum --db %s", path);
    expect(0, "is whole", "check --db %s", path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 200000);
    path = copy("elsewhere.db");
    fault_number(path, "UPDATE gpu SET name = 'another'; UPDATE run SET ended_ms = 1");
    expect(0, "Took out 1 winner, ", "prune --other-gpus --db %s", path);
    assert_int_equal(fault_number(path, "SELECT count(*) FROM gpu"), 0);
}

static void checks(void **state) {
    (void)state;
    const char *path = copy("checked.db");
    expect(0, "is whole: 1 GPU, 1 winner, ", "check --db %s", path);
    fault_number(path, "UPDATE cubin SET image = x'00' WHERE id = (SELECT min(id) FROM cubin)");
    expect(4, "cubin 1: ", "check --db %s", path);
    expect(4, "1 thing is wrong", "check --db %s", path);
    fault_number(path, "PRAGMA foreign_keys = OFF; DELETE FROM run");
    expect(4, "refer to a run that is not there", "check --db %s", path);
}

static void takes_over(void **state) {
    (void)state;
    char config[256], again[256];
    const char *out = fault_path("exported.db"), *into = fault_path("into.db"), *json = fault_path("r.json");
    const char *all = fault_path("all.db"), *bad = fault_path("bad.json"), *fresh = fault_path("fresh.db");
    fault_text(config, sizeof config, db, "SELECT text FROM winner JOIN config ON config.id = config_id");
    expect(0, "1 winner, ", "export --database %s --db %s", out, db);
    expect(2, "there already", "export --database %s --db %s", out, db);
    assert_true(fault_number(out, "SELECT count(*) FROM cubin") > 0);
    assert_int_equal(fault_number(out, "SELECT count(*) FROM trial"),
                     fault_number(db, "SELECT count(*) FROM trial"));

    expect(0, "1 winner, ", "import %s --db %s", out, into);
    assert_int_equal(fault_number(into, "SELECT count(*) FROM cubin"), 0);
    assert_int_equal(fault_number(into, "SELECT source FROM run"), 2);
    expect(0, "valid (imported)", "list --db %s", into);
    expect(0, "\"match\":\"exact\"", "best --size 33 --json --db %s", into);
    expect(0, "\"layer\":\"user\"", "best --size 33 --json --db %s", into);

    expect(0, "", "export --gpu hostcuda --output %s --db %s", json, db);
    expect(0, "1 winner, ", "import %s --db %s", json, fresh);
    fault_text(again, sizeof again, fresh, "SELECT text FROM winner JOIN config ON config.id = config_id");
    assert_true(*config && *again);
    /* A result of another machine with the same driver and NVRTC is not measured again. */
    expect(0, "\"trials\":", SMALL " --json --quiet --db %s", fresh);
    assert_int_equal(fault_number(fresh, "SELECT count(*) FROM trial WHERE stage = 0"),
                     fault_number(db, "SELECT count(*) FROM trial WHERE stage = 0"));

    expect(0, "1 winner (1 more is as good here already)", "merge %s %s %s", all, db, into);
    assert_true(fault_number(all, "SELECT count(*) FROM cubin") > 0);
    expect(0, "is whole", "check --db %s", all);
    expect(2, "into itself", "merge %s %s", all, all);
    expect(2, "which files?", "merge %s", all);
    expect(2, "which file?", "import");

    fault_write(bad, "{\"schema_version\":\"1.0.0\",\"metadata\":{\"format\":1},\"results\":[]}");
    expect(2, "bad.json: metadata.gpu is missing", "import %s %s --db %s", json, bad, fault_path("none.db"));
    assert_int_not_equal(access(fault_path("none.db"), F_OK), 0); /* all or nothing */
    expect(2, "bad.json", "merge %s %s %s", fault_path("none.db"), db, bad);
    assert_int_not_equal(access(fault_path("none.db"), F_OK), 0);
    int64_t before = fault_number(all, "SELECT count(*) FROM run");
    expect(2, "bad.json", "merge %s %s %s", all, fresh, bad);
    assert_int_equal(fault_number(all, "SELECT count(*) FROM run"), before);
    expect(1, "nonexistent", "import /nonexistent.json --db %s", all);
}

static void imports_other_tuners(void **state) {
    (void)state;
    const char *json = fault_path("kt.json"), *path = fault_path("kt.db");
    fault_write(json,
                "{\"results\": [{\"configuration\": {\"TILE_DIM\": 32, \"BLOCK_ROWS\": 8, \"PAD\": 1,"
                " \"UNROLL\": 1, \"ORDER\": 0}, \"times\": {\"compilation\": 9, \"runtimes\": [0.07]},"
                " \"invalidity\": \"correct\", \"measurements\": [{\"name\": \"time\", \"value\": 0.07}]}],"
                " \"schema_version\": \"1.0.0\"}");
    expect(2, "give --gpu and --kernel, and --problem, --size or --shape", "import %s --db %s", json, path);
    assert_int_not_equal(access(path, F_OK), 0);
    expect(2, "belong together", "import %s --gpu hostcuda --db %s", json, path);
    expect(2, "no template foo", "import %s --gpu hostcuda --kernel foo --size 4096 --db %s", json, path);
    expect(2, "in this machine", "import %s --gpu a100 --kernel transpose_tiled --size 4096 --db %s", json,
           path);
    expect(0, "1 winner, ", "import %s --gpu hostcuda --kernel transpose_tiled --size 4096 --db %s", json,
           path);
    expect(0, "stale: measured by method T4", "list --db %s", path);
    expect(0, "\"match\":\"stale\"", "best --size 4096 --json --db %s", path);
}

static void others_can_write(void **state) {
    (void)state;
    const char *path = copy("open.db");
    chmod(path, 0666);
    static const char *const lines[] = {"list", "check", SMALL, "best --size 33", "vacuum"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect(4, "others can write this store (mode 0666)", "%s --db %s", lines[i], path);
    expect(0, "its cubins are left out", "merge %s %s", fault_path("closed.db"), path);
    assert_int_equal(fault_number(fault_path("closed.db"), "SELECT count(*) FROM cubin"), 0);
    struct stat st;
    assert_int_equal(stat(fault_path("closed.db"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void asks_the_system(void **state) {
    (void)state;
    const char *path = copy("user.db");
    fault_number(path, "DELETE FROM winner");
    setenv("TILETUNE_SYSTEM_DB", db, 1);
    expect(0, "\"layer\":\"system\"", "best --size 33 --json --db %s", path);
    expect(0, "system store", "doctor --db %s", path);
    setenv("TILETUNE_SYSTEM_DB", "/nonexistent.db", 1);
    expect(4, "TILETUNE_SYSTEM_DB: /nonexistent.db", "best --size 33 --json --db %s", path);
    expect(4, "correct TILETUNE_SYSTEM_DB", "doctor --db %s", path);
    unsetenv("TILETUNE_SYSTEM_DB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_and_tunes_what_is_stale),
        cmocka_unit_test(tells_rows_apart),
        cmocka_unit_test(shows_one_problem),
        cmocka_unit_test(prunes),
        cmocka_unit_test(checks),
        cmocka_unit_test(takes_over),
        cmocka_unit_test(imports_other_tuners),
        cmocka_unit_test(others_can_write),
        cmocka_unit_test(asks_the_system),
    };
    return cmocka_run_group_tests(tests, enter, run_leave);
}
