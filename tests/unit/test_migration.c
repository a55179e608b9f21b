/* Stores and recordings of older schemas. The files in tests/data were written by old builds. They have a
 * kernel of two texts, copies of as many bytes, warm and unverified problems. */
#include "store_fixture.h"

#include <math.h>
#include <sys/stat.h>

#include "db/exchange/export.h"
#include "db/exchange/merge.h"
#include "db/exchange/recording.h"
#include "db/upkeep.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct expected {
    tt__problem p;
    int64_t id;
    int screened, finals;
    double first_us;    /* time of the first one */
    double winner_us;   /* 0: none */
    const char *winner; /* its configuration */
} expected;

static tt__problem own(const char *op, char text, bool warm, bool unverified) {
    tt__problem p = saxpy(text, TT__TYPE_F32, 4096);
    if (strcmp(op, "saxpy") != 0)
        p.n = 0;
    if (strcmp(op, "sum") == 0) {
        memset(p.settings, 0, sizeof p.settings);
        tt__problem_set(&p, "n", 1000);
    }
    strcpy(p.op, op);
    p.warm = warm;
    p.unverified = unverified;
    return p;
}

static tt__problem warm(tt__problem p) {
    p.warm = true;
    return p;
}

enum { PROBLEMS = 12 };

static void expect_all(expected out[PROBLEMS]) {
    const expected all[PROBLEMS] = {
        {square(4096), 1, 1, 1, 50, 50, "TILE_DIM=32 PAD=1"},
        {warm(square(4096)), 2, 0, 1, 0, 40, "TILE_DIM=32 PAD=1"},
        {copy_of(67108864), 3, 3, 1, 35, 34, "VEC=4"}, /* three that became equal; the newest stayed */
        {warm(copy_of(67108864)), 5, 1, 0, 25, 0, NULL},
        {own("saxpy", 'a', false, false), 6, 1, 1, 7, 0, NULL},
        {own("saxpy", 'b', false, false), 0, 2, 1, 6, 5, "VEC=16"},
        {own("saxpy", 'b', true, false), 7, 1, 0, 4, 4, "VEC=16"},
        {own("sum", 'c', false, true), 9, 0, 1, 0, 9, "THREADS=256"},
        {own("sum", 'c', true, true), 10, 0, 1, 0, 8, "THREADS=256"},
        {own("solo", 'd', false, false), 11, 0, 1, 0, 3, "A=1"},
        {own("solo", 'd', false, true), 12, 0, 1, 0, 0, NULL},
        {own("solo", 'd', true, false), 13, 0, 1, 0, 0, NULL},
    };
    memcpy(out, all, sizeof all);
}

static void expect_none(tt__store *s, tt__problem p) {
    int64_t id;
    assert_ok(tt__store_known_problem(s, &p, &id));
    assert_int_equal(id, -1);
}

/* `same_ids`: numbers of problems are those that they had. */
static void holds_everything(tt__store *s, bool same_ids) {
    expected all[PROBLEMS];
    expect_all(all);
    for (size_t i = 0; i < PROBLEMS; i++) {
        const expected *x = &all[i];
        ids id = {.gpu = 1};
        tt__winner w;
        bool found;
        assert_ok(tt__store_known_problem(s, &x->p, &id.problem));
        assert_true(id.problem > 0 && (!same_ids || !x->id || id.problem == x->id));
        seen screened = trials(s, id, &env1, TT__STAGE_SCREEN),
             finals = trials(s, id, &env1, TT__STAGE_FINAL);
        if (screened.n != x->screened || finals.n != x->finals ||
            (screened.n && fabs(screened.trial[0].time_us - x->first_us) > 1e-6))
            fail_msg("problem %zu: %d screened, the first in %g us, %d in the finals", i, screened.n,
                     screened.trial[0].time_us, finals.n);
        assert_ok(tt__store_winner_get(s, 1, id.problem, &w, &found));
        assert_true(found == (x->winner != NULL));
        if (found) {
            assert_true(tt__problem_same(&w.problem, &x->p));
            assert_string_equal(w.config, x->winner);
            assert_true(fabs(w.time_us - x->winner_us) < 1e-6);
            assert_true(!*x->p.text || strcmp(w.hash, x->p.text) == 0);
        }
    }
    expect_none(s, saxpy('b', TT__TYPE_F64, 1)); /* it was never tried */
    expect_none(s, saxpy('a', TT__TYPE_F64, 1));
    expect_none(s, own("saxpy", 'a', true, false));
}

static void count(void *user, const char *what) {
    (void)user;
    fail_msg("%s", what);
}

static const char *a_copy(void) {
    const char *path = in_dir("old.db");
    copy_file(path, TT_SOURCE_DIR "/tests/data/store-v2-own.db");
    chmod(path, 0600);
    assert_int_equal(raw_sql(path, "PRAGMA user_version"), 2);
    return path;
}

static void migrates(void **state) {
    (void)state;
    const char *path = a_copy();
    tt__checked checked;
    tt__store *s = must_open(path);
    holds_everything(s, true);
    assert_ok(tt__store_check(s, count, NULL, &checked));
    assert_int_equal(checked.trials, 20);
    assert_int_equal(checked.winners, 8);
    assert_int_equal(
        sqlite3_exec(s->db,
                     "INSERT INTO problem (operation_id, warm, unverified, key, first, second, moved_bytes) "
                     "VALUES (99, 0, 0, '', 0, 0, 0.0)",
                     NULL, NULL, NULL),
        SQLITE_CONSTRAINT_FOREIGNKEY); /* they are in force again */
    tt__store_close(&s);
    assert_intact(path);
    assert_int_equal(raw_sql(path, "PRAGMA user_version"), (int64_t)tt__n_migrations);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM problem"), PROBLEMS);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM operation"), 6);
    assert_int_equal(
        raw_sql(path, "SELECT count(*) FROM sqlite_schema WHERE name IN ('used', 'moved', 'old_problem')"),
        0);
    assert_int_equal(
        raw_sql(path, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%STRICT%'"),
        0);
    s = must_open(path); /* and once is enough */
    holds_everything(s, true);
    tt__store_close(&s);
}

static void reads_without_migrating(void **state) {
    (void)state;
    const char *path = a_copy();
    tt__store *s, *to = must_open(in_dir("to.db"));
    tt__merged merged = {0}, again = {0};
    tt__trial t = good(1);
    bool trusted;
    assert_ok(tt__store_open(&s, path, TT__STORE_READ_ONLY));
    holds_everything(s, true);
    assert_fails(tt__store_trial_put(s, 1, 1, 1, TT__STAGE_FINAL, &t), TT_E_DB, "read-only");
    tt__store_close(&s);

    assert_ok(tt__store_open_foreign(&s, path, &trusted));
    assert_ok(tt__store_begin(to));
    assert_ok(tt__store_merge(to, s, &(tt__merge_opts){.trusted = true}, &merged));
    assert_ok(tt__store_merge(to, s, &(tt__merge_opts){.trusted = true}, &again));
    assert_ok(tt__store_commit(to));
    tt__store_close(&s);
    assert_int_equal(merged.trials, 20);
    assert_int_equal(merged.winners, 8);
    assert_int_equal(again.trials + again.winners + again.runs, 0);
    holds_everything(to, false);
    tt__store_close(&to);
    assert_intact(in_dir("to.db"));
    assert_int_equal(raw_sql(path, "PRAGMA user_version"), 2);
}

/* What a limit was, and which file a run is of, was in words. */
static void takes_words_apart(void **state) {
    (void)state;
    static const struct {
        const char *set, *is;
    } cases[] = {
        {"status = 4, reason = 'compiled longer than 12.5 s'", "status = 7 AND limit_s = 12.5"},
        {"status = 4, reason = 'ran longer than 10 s'", "status = 4 AND limit_s = 10"},
        {"status = 4, reason = 'it was late'", "status = 4 AND limit_s = 0"},
        {"status = 5, reason = 'its compiler was killed'", "status = 8 AND limit_s = 0"},
        {"status = 5, reason = 'its GPU worker was killed'", "status = 5 AND limit_s = 0"},
        {"status = 1, reason = 'its compiler was killed'", "status = 1 AND limit_s = 0"},
        {"status = 0, reason = NULL", "status = 0 AND limit_s = 0"},
    };
    char sql[256];
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *path = in_dir("v5.db");
        copy_file(path, TT_SOURCE_DIR "/tests/data/store-v5.db");
        chmod(path, 0600);
        snprintf(sql, sizeof sql, "UPDATE trial SET %s", cases[i].set);
        raw_sql(path, sql);
        raw_sql(path, i ? "UPDATE run SET source = 2, who = 'file 0123456789abcdef'"
                        : "UPDATE run SET source = 0, who = 'file 0123456789abcdef'");
        tt__store *s = must_open(path);
        tt__store_close(&s);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM trial WHERE NOT (%s)", cases[i].is);
        assert_int_equal(raw_sql(path, sql), 0);
        assert_int_equal(raw_sql(path, "SELECT count(*) FROM trial"), 2);
        assert_int_equal(
            raw_sql(path, "SELECT count(*) FROM run WHERE file = '0123456789abcdef' AND who = ''"),
            i ? 1 : 0);
        assert_int_equal(raw_sql(path, "SELECT count(*) FROM run WHERE file = '' AND who LIKE 'file %'"),
                         i ? 0 : 1);
    }
}

/* The trigger of a foreign file would run while its copy is brought up to date: no store has one. */
static void runs_nothing_of_the_file(void **state) {
    (void)state;
    const char *path = a_copy();
    tt__store *s;
    bool trusted;
    raw_sql(path, "CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM winner; END");
    assert_fails(tt__store_open_foreign(&s, path, &trusted), TT_E_DB, "\"t\" in it is a trigger");
    assert_null(s);
    assert_fails(tt__store_open(&s, path, TT__STORE_READ_WRITE), TT_E_DB, "\"t\" in it is a trigger");
    assert_int_equal(raw_sql(path, "PRAGMA user_version"), 2);
}

/* Damaged stores are refused with a message, and stay unchanged. */
static void refuses_damaged_old_stores(void **state) {
    (void)state;
    static const char *const damages[] = {"DROP TABLE winner", "DROP TABLE problem",
                                          "ALTER TABLE trial DROP COLUMN weight"};
    for (size_t i = 0; i < COUNT(damages); i++) {
        const char *path = a_copy();
        tt__store *s;
        raw_sql(path, "PRAGMA foreign_keys = OFF");
        raw_sql(path, damages[i]);
        assert_fails(tt__store_open(&s, path, TT__STORE_READ_WRITE), TT_E_DB, "up to date");
        assert_fails(tt__store_open(&s, path, TT__STORE_READ_ONLY), TT_E_DB, path);
        assert_int_equal(raw_sql(path, "PRAGMA user_version"), 2);
        assert_int_equal(raw_sql(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'operation'"), 0);
    }
}

static tt__recording *must_read(const char *path) {
    tt__recording *r;
    assert_ok(tt__recording_open_t4(&r, path, NULL));
    return r;
}

/* Its export had the newest text of the kernel only, and is one run. */
static void expect_recorded(const tt__recording *r) {
    static const struct {
        const char *kernel, *config;
        tt__stage stage;
        double time_us;
    } trials[PROBLEMS] = {{"transpose_tiled", "TILE_DIM=32 PAD=1", TT__STAGE_FINAL, 50},
                          {"transpose_tiled", "TILE_DIM=32 PAD=1", TT__STAGE_FINAL, 40},
                          {"copy_vector", "VEC=8", TT__STAGE_FINAL, 33},
                          {"copy_vector", "VEC=4", TT__STAGE_SCREEN, 25},
                          {"saxpy", "VEC=4", TT__STAGE_SCREEN, -1},
                          {"saxpy", "VEC=4", TT__STAGE_SCREEN, 6},
                          {"saxpy", "VEC=16", TT__STAGE_SCREEN, 4},
                          {"sum", "THREADS=256", TT__STAGE_FINAL, 9},
                          {"sum", "THREADS=256", TT__STAGE_FINAL, 8},
                          {"solo", "A=1", TT__STAGE_FINAL, 3},
                          {"solo", "A=1", TT__STAGE_FINAL, 2},
                          {"solo", "A=1", TT__STAGE_FINAL, 1}};
    expected all[PROBLEMS];
    expect_all(all);
    for (size_t i = 0; i < PROBLEMS; i++) {
        tt__trial t;
        bool found;
        assert_ok(tt__recording_trial(r, &all[i].p, trials[i].kernel, trials[i].config, trials[i].stage, &t,
                                      &found));
        if (found != (trials[i].time_us > 0) || (found && fabs(t.time_us - trials[i].time_us) > 1e-3))
            fail_msg("problem %zu: %s, %g us", i, found ? "found" : "not found", t.time_us);
    }
}

static tt__winner must_win(tt__recording *r, tt__problem p) {
    tt__winner w;
    int64_t id;
    bool found;
    assert_ok(tt__store_known_problem(tt__recording_store(r), &p, &id));
    assert_ok(tt__store_winner_get(tt__recording_store(r), 1, id, &w, &found));
    assert_true(found);
    return w;
}

static void reads_old_recordings(void **state) {
    (void)state;
    tt__recording *r = must_read(TT_SOURCE_DIR "/tests/data/recording-format1.json");
    expect_recorded(r);
    assert_true(fabs(must_win(r, square(4096)).copy_us - 33) < 1e-3);
    assert_true(fabs(must_win(r, warm(square(4096))).copy_us - 25) < 1e-3);
    assert_string_equal(must_win(r, saxpy('b', TT__TYPE_F32, 4096)).config, "VEC=16");

    /* Out again it is of today's format, and the same. */
    tt__str json = {0};
    assert_ok(tt__recording_export(tt__recording_store(r), 1, NULL, "", &json));
    assert_non_null(strstr(json.text, "\"format\":2"));
    assert_non_null(
        strstr(json.text, "{\"op\":\"copy\",\"bytes\":67108864,\"moved_bytes\":134217728,\"warm\":true}"));
    assert_non_null(strstr(json.text, "{\"op\":\"saxpy\",\"elem\":\"f32\",\"n\":4096,\"text\":\"bbbb"));
    assert_non_null(
        strstr(json.text, "{\"op\":\"sum\",\"n\":1000,\"warm\":true,\"unverified\":true,\"text\":\"cccc"));
    write_file(in_dir("2.json"), json.text, json.len);
    tt__recording_close(&r);
    r = must_read(in_dir("2.json"));
    expect_recorded(r);
    tt__str second = {0};
    assert_ok(tt__recording_export(tt__recording_store(r), 1, NULL, "", &second));
    assert_string_equal(json.text, second.text);
    tt__str_free(&json);
    tt__str_free(&second);
    tt__recording_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(migrates),
        TEST(reads_without_migrating),
        TEST(runs_nothing_of_the_file),
        TEST(refuses_damaged_old_stores),
        TEST(takes_words_apart),
        TEST(reads_old_recordings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
