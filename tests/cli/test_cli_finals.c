/* `tune finals` on the CPU stand-in: the winners of several runs against each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "script.h"
#include "unit/store_fixture.h"

/* Two runs that did not know of each other, merged. */
static void test_finals(void **state) {
    (void)state;
    char line[512], path[128];
    run_result r;
    for (int seed = 1; seed <= 2; seed++) {
        snprintf(line, sizeof line,
                 "--sizes 40,41 --max-trials 4 --seed %d --strategy random --quiet --db %s/seed%d.db", seed,
                 folder, seed);
        run_tune_faulty(&r, "", line);
        assert_code(&r, 0);
        run_free(&r);
    }
    snprintf(line, sizeof line, "merge %s/both.db %s/seed1.db %s/seed2.db", folder, folder, folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    snprintf(path, sizeof path, "%s/both.db", folder);
    const int64_t screened = raw_sql(path, "SELECT count(*) FROM trial WHERE stage = 0");
    snprintf(line, sizeof line, "finals --json --quiet --db %s", path);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"problem\":\"40x40\"");
    assert_has(&r, r.out, "\"problem\":\"41x41\"");
    assert_has(&r, r.out, "\"source\":\"measured\"");
    run_free(&r);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM trial WHERE stage = 0"), screened);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM winner WHERE run_id = (SELECT max(id) FROM run)"),
                     2);
    for (int seed = 1; seed <= 2; seed++) { /* the winners of each run took part */
        char sql[1024];
        snprintf(sql, sizeof sql,
                 "ATTACH '%s/seed%d.db' AS a; SELECT count(DISTINCT w.problem_id) FROM a.winner w"
                 " JOIN a.config ac ON ac.id = w.config_id JOIN a.problem ap ON ap.id = w.problem_id"
                 " JOIN main.problem p ON p.key = ap.key JOIN main.config c ON c.text = ac.text"
                 " JOIN main.trial t ON t.problem_id = p.id AND t.config_id = c.id AND t.stage = 1"
                 " WHERE t.run_id = (SELECT max(id) FROM main.run)",
                 folder, seed);
        assert_int_equal(raw_sql(path, sql), 2);
    }
    snprintf(line, sizeof line, "finals --db %s/seed1.db", folder);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "No problem of hostcuda has finals of several runs.");
    run_free(&r);
}

/* Problems of the store say themselves what operation they are of. */
static void test_operations(void **state) {
    (void)state;
    char line[512], path[128];
    run_result r;
    snprintf(path, sizeof path, "%s/ops.db", folder);
    snprintf(line, sizeof line, "--op axpby --problem n=4096 --max-trials 2 --quiet --db %s", path);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    raw_sql(path, "UPDATE template SET hash = 'x' || substr(hash, 2)");
    snprintf(line, sizeof line, "--stale --json --max-trials 2 --quiet --db %s", path);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, "\"op\":\"axpby\"");
    run_free(&r);
    snprintf(line, sizeof line, "--sizes 40 --max-trials 2 --quiet --db %s", path);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    run_free(&r);
    raw_sql(path, "UPDATE template SET hash = 'y' || id");
    snprintf(line, sizeof line, "--stale --max-trials 2 --quiet --db %s", path);
    run_tune_faulty(&r, "", line);
    assert_code(&r, 0);
    assert_has(&r, r.out, ": several operations\n");
    assert_has(&r, r.out, "\naxpby of n=4096");
    assert_has(&r, r.out, "\ntranspose of 40x40");
    assert_has(&r, r.out, "tt_plan_create launches it");
    run_free(&r);
}

static void test_refused(void **state) {
    (void)state;
    run_result r;
    run_tune_faulty(&r, "", "finals --device replay:x.json");
    assert_code(&r, 2);
    assert_has(&r, r.err, "name problems");
    run_free(&r);
    run_tune_faulty(&r, "", "finals --device replay:" TT_SOURCE_DIR "/tests/data/small.json --sizes 4096");
    assert_code(&r, 2);
    assert_has(&r, r.err, "name it with --db (\"tune merge NEW.db FILE\" makes one of a recording)");
    run_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finals),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, enter, run_leave);
}
