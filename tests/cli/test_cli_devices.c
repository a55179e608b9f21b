/*
 * `tune` on several devices, on the CPU stand-in ($HOSTCUDA_DIR): each trial once, and a winner even if a
 * device hangs or dies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "run.h"

static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_on_standins();
    setenv("HOSTCUDA_DEVICES", "8", 1);
    return 0;
}

static int64_t ask(const char *db, const char *sql) {
    sqlite3 *c;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open(db, &c), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(c, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(c);
    return n;
}

/* Tunes two problems, each of which ends with a winner, and asks the store. */
static void tune(run_result *r, const char *faults, const char *devices, const char *name) {
    static const char twice[] = "select count(*) - count(distinct problem_id || ' ' || config_id) from trial "
                                "where stage = 0";
    char line[256], db[128];
    snprintf(db, sizeof db, "%s/%s.db", folder, name);
    snprintf(line, sizeof line, "--device %s --sizes 97,99 --max-trials 24 --trial-timeout 1 --db %s",
             devices, db);
    run_tune_faulty(r, faults, line);
    assert_code(r, 0);
    assert_int_equal(ask(db, "select count(*) from winner"), 2);
    assert_int_equal(ask(db, twice), 0);
    assert_int_equal(ask(db, "select count(*) from trial where status <> 0"), 0);
}

static void test_all(void **state) {
    (void)state;
    run_result r;
    tune(&r, "", "all", "all");
    run_free(&r);
    tune(&r, "", "0,2,5", "some");
    run_free(&r);
}

static void test_one_hangs_one_dies(void **state) {
    (void)state;
    run_result r;
    tune(&r, "device=3:crash;device=1,kernel=transpose_wide:hang;device=1,kernel=transpose_tiled:hang", "all",
         "sick");
    assert_has(&r, r.err, "device 3 is left out from now on");
    run_free(&r);
}

static void test_bad_lists(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"1,1", "device 1 is named twice"}, {"1,", "a list of them"}, {"0,8", "no device 8"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[128];
        run_result r;
        snprintf(line, sizeof line, "--device %s --sizes 97", bad[i][0]);
        run_tune_faulty(&r, "", line);
        assert_int_not_equal(r.code, 0);
        assert_has(&r, r.err, bad[i][1]);
        run_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_one_hangs_one_dies),
        cmocka_unit_test(test_bad_lists),
    };
    return cmocka_run_group_tests(tests, enter, run_leave);
}
