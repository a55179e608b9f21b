/* Merging, importing and checking stores. */
#include "store_fixture.h"

#include <sys/stat.h>

#include "db/conn.h"
#include "db/exchange/merge.h"
#include "db/exchange/recording.h"
#include "db/store.h"
#include "db/upkeep.h"
#include "tuner/cli/commands/sharing.h"

static tt_status merge_in(const char *to_path, const char *from_path, bool trusted, tt__merged *report) {
    tt__store *to = must_open(to_path), *from;
    bool is_trusted;
    *report = (tt__merged){0};
    assert_ok(tt__store_open_foreign(&from, from_path, &is_trusted));
    assert_ok(tt__store_begin(to));
    tt_status status = tt__store_merge(to, from, &(tt__merge_opts){.trusted = trusted}, report);
    if (status == TT_OK)
        assert_ok(tt__store_commit(to));
    tt__store_close(&from);
    tt__store_close(&to);
    return status;
}

static void merges_once(void **state) {
    (void)state;
    const char *a = a_store("a.db", 20, 50, 20), *out = in_dir("out.db");
    tt__merged r;
    assert_ok(merge_in(out, a, true, &r));
    assert_int_equal(r.trials, 20);
    assert_int_equal(r.winners, 1);
    assert_int_equal(r.cubins, 1);
    assert_ok(merge_in(out, a, true, &r)); /* again: nothing */
    assert_int_equal(r.trials + r.runs + r.winners + r.cubins, 0);
    assert_int_equal(r.kept, 1);
    assert_int_equal(raw_sql(out, "SELECT count(*) FROM trial"), 20);
    assert_int_equal(raw_sql(out, "SELECT count(*) FROM run"), 1);
    assert_intact(out);
    tt__store *s = must_open(out);
    ids id = {1, 1, 1, 1};
    assert_int_equal(trials(s, id, &env1, TT__STAGE_SCREEN).n, 20);
    tt__store_close(&s);
}

static void takes_no_code_from_strangers(void **state) {
    (void)state;
    const char *a = a_store("a.db", 2, 50, 2), *out = in_dir("out.db");
    tt__store *s;
    tt__merged r;
    bool trusted;
    assert_ok(tt__store_open_foreign(&s, a, &trusted));
    assert_true(trusted);
    tt__store_close(&s);
    chmod(a, 0666);
    assert_fails(tt__store_open(&s, a, TT__STORE_READ_WRITE), TT_E_DB,
                 "others can write this store (mode 0666)");
    assert_fails(tt__store_open(&s, a, TT__STORE_READ_ONLY), TT_E_DB, "chmod go-w");
    assert_ok(tt__store_open_foreign(&s, a, &trusted));
    assert_false(trusted);
    tt__store_close(&s);
    assert_ok(merge_in(out, a, false, &r));
    assert_int_equal(r.cubins, 0);
    assert_int_equal(raw_sql(out, "SELECT count(*) FROM cubin"), 0);
    assert_int_equal(raw_sql(out, "SELECT count(*) FROM cubin_link"), 0);
    assert_int_equal(raw_sql(out, "SELECT source FROM run"), 2); /* imported */

    assert_int_equal(mkdir(in_dir("open"), 0777), 0);
    chmod(in_dir("open"), 0777);
    assert_fails(tt__store_open(&s, in_dir("open/x.db"), TT__STORE_READ_WRITE), TT_E_DB,
                 "others can make files in the folder");
}

/* Which of two winners stays: {of the one that is there} and {of the one that comes}. */
static void keeps_the_better_evidence(void **state) {
    (void)state;
    static const struct {
        const char *sql[2]; /* the SQL that makes each file different */
        bool comes;
    } cases[] = {
        {{"UPDATE winner SET unix_ms = 1000", "UPDATE winner SET unix_ms = 2000"}, true},
        {{"UPDATE winner SET unix_ms = 2000", "UPDATE winner SET unix_ms = 1000"}, false},
        {{"UPDATE winner SET unix_ms = 2000, trials = 10", "UPDATE winner SET unix_ms = 1000, trials = 11"},
         true},
        {{"UPDATE winner SET trials = 10; UPDATE env SET driver = '1'",
          "UPDATE winner SET trials = 9, unix_ms = 1"},
         true}, /* the newer driver */
        {{"UPDATE winner SET unix_ms = 1000", "UPDATE winner SET unix_ms = 1000"}, true}, /* the faster one */
        {{"UPDATE winner SET unix_ms = 1000",
          "UPDATE winner SET unix_ms = 1000; UPDATE env SET driver = '1'"},
         false},
        {{"UPDATE run SET source = 1", "UPDATE winner SET unix_ms = 1"}, true},
        {{"UPDATE run SET source = 2", "UPDATE run SET source = 1"}, false},
        {{"UPDATE winner SET trials = 1000", "UPDATE env SET library = '2'"}, true},
        {{"UPDATE env SET library = '10'", "UPDATE env SET library = '9'"}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__merged r;
        char name[32];
        snprintf(name, sizeof name, "there%zu.db", i);
        const char *there = a_store(name, 1, 70, 240);
        snprintf(name, sizeof name, "comes%zu.db", i);
        const char *comes = a_store(name, 1, 50, 240);
        raw_sql(there, cases[i].sql[0]);
        raw_sql(comes, cases[i].sql[1]);
        assert_ok(merge_in(there, comes, true, &r));
        if (r.winners != cases[i].comes ||
            raw_sql(there, "SELECT time_us = 50.0 FROM winner") != cases[i].comes)
            fail_msg("case %zu: the %s one stays", i, r.winners ? "new" : "old");
    }
}

/* Older trials that come in later are still the older ones. */
static void age_is_not_the_order_of_arrival(void **state) {
    (void)state;
    const char *a = a_store("new.db", 1, 50, 1), *b = a_store("old.db", 1, 70, 1);
    tt__merged r;
    raw_sql(b, "UPDATE run SET started_ms = 1000");
    assert_ok(merge_in(a, b, true, &r));
    tt__store *s = must_open(a);
    ids id = {1, 1, 1, 1};
    seen x = trials(s, id, &env1, TT__STAGE_SCREEN);
    assert_int_equal(x.n, 1);
    assert_int_equal((int)x.trial[0].time_us, 50);
    tt__store_close(&s);
}

static void count(void *user, const char *what) {
    char *all = user;
    strncat(all, what, 4000 - strlen(all));
    strncat(all, "\n", 4000 - strlen(all));
}

/* One bad value, whichever, and nothing of the file is taken. */
static void refuses_bad_values(void **state) {
    (void)state;
    static const struct {
        const char *sql, *says;
    } bad[] = {
        {"UPDATE gpu SET cc = 5", "cc is 5"},
        {"UPDATE gpu SET sm_count = 0", "sm_count is 0"},
        {"UPDATE gpu SET memory_bytes = -1", "memory_bytes"},
        {"UPDATE gpu SET name = ''", "name has 0 bytes"},
        {"UPDATE gpu SET name = printf('%.*c', 200, 'x')", "name has 200 bytes"},
        {"UPDATE gpu SET peak_gbps = 9e999", "peak_gbps"},
        {"UPDATE env SET driver = printf('%.*c', 200, 'x')", "driver has 200"},
        {"UPDATE run SET started_ms = 99999999999999", "started_ms"},
        {"UPDATE value SET value = -4 WHERE name = 'rows'", "rows is -4"},
        {"UPDATE value SET value = 9223372036854775807 WHERE name = 'rows'", "rows is"},
        {"UPDATE value SET value = 0 WHERE name = 'align'", "align is 0"},
        {"UPDATE value SET value = 4.5 WHERE name = 'rows'", "rows is a fraction"},
        {"UPDATE value SET value = 'f31' WHERE name = 'rows'", "rows is a text, f31"},
        {"UPDATE value SET value = x'00' WHERE name = 'rows'", "rows is a BLOB"},
        {"UPDATE value SET name = 'a b' WHERE name = 'rows'", "named \"a b\""},
        {"UPDATE value SET name = 'warm' WHERE name = 'rows'", "named \"warm\""},
        {"UPDATE value SET name = 'cols' WHERE name = 'rows'", "cols is there twice"},
        {"UPDATE value SET name = printf('%.*c', 64, 'x') WHERE name = 'rows'", "has 64 bytes"},
        {"INSERT INTO value SELECT problem_id, place + 10 * column1, name || column1, value FROM value, "
         "(VALUES "
         "(1), (2), (3), (4))",
         "more than 40"},
        {"UPDATE operation SET name = 'a b'", "op is \"a b\""},
        {"UPDATE operation SET name = printf('%.*c', 64, 'x')", "has 64 bytes"},
        {"UPDATE operation SET text = '../x'", "text is \"../x\""},
        {"PRAGMA ignore_check_constraints = ON; UPDATE problem SET warm = 7", "warm is 7"},
        {"UPDATE template SET kernel = 'a b'", "kernel is \"a b\""},
        {"UPDATE template SET kernel = '../x'", "kernel is"},
        {"UPDATE config SET text = 'I=0; DROP TABLE trial' WHERE id = 2", "configuration is"},
        {"UPDATE config SET text = '-include=/etc/passwd' WHERE id = 2", "configuration is"},
        {"UPDATE config SET text = 'I=0 ' WHERE id = 2", "configuration is"},
        {"UPDATE trial SET status = 99", "damaged"},
        {"UPDATE trial SET time = -5", "damaged"},
        {"UPDATE trial SET samples = x'ffffffffffffffffffffffff'", "damaged"},
        {"UPDATE trial SET samples = zeroblob(1000)", "damaged"},
        {"PRAGMA ignore_check_constraints = ON; UPDATE trial SET weight = 0.0", "damaged"},
        {"PRAGMA ignore_check_constraints = ON; UPDATE trial SET weight = -1.0", "damaged"},
        {"UPDATE trial SET weight = 9e999", "weight of inf"},
        {"UPDATE trial SET weight = 1e101", "weight of 1e+101"},
        {"UPDATE winner SET time_us = 0.0", "time_us is 0"},
        {"UPDATE winner SET time_us = -1.0", "time_us is -1"},
        {"UPDATE winner SET copy_fraction = 9e999", "copy_fraction"},
        {"UPDATE winner SET trials = -1", "trials is -1"},
        {"UPDATE cubin SET image = x'00'", "does not match its hash"},
        {"UPDATE cubin SET key = 'x'", "no key"},
        {"PRAGMA foreign_keys = OFF; UPDATE trial SET config_id = 99 WHERE config_id = 2", "not there"},
        {"PRAGMA foreign_keys = OFF; UPDATE winner SET problem_id = 99", "not there"},
        {"UPDATE operation SET name = 'copy'", "not one for its problem"},
        {"UPDATE operation SET text = 'ef'", "not one for its problem"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt__merged r;
        tt__checked c;
        tt__store *s;
        char name[32], all[4096] = "";
        snprintf(name, sizeof name, "bad%zu.db", i);
        const char *from = a_store(name, 2, 50, 2), *out = in_dir("out.db");
        raw_sql(from, bad[i].sql);
        tt_status status = merge_in(out, from, true, &r);
        if ((status != TT_E_INVALID && status != TT_E_DB) || !strstr(tt_last_error(), bad[i].says) ||
            !strstr(tt_last_error(), name))
            fail_msg("%s: %s: %s", bad[i].sql, tt_strerror(status), tt_last_error());
        assert_int_equal(
            raw_sql(out, "SELECT count(*) FROM gpu") + raw_sql(out, "SELECT count(*) FROM trial"), 0);
        if (strstr(bad[i].says, "no key"))
            continue;                                             /* a key is any text here */
        assert_ok(tt__store_open(&s, from, TT__STORE_READ_ONLY)); /* and `tune check` finds the same */
        assert_ok(tt__store_check(s, count, all, &c));
        tt__store_close(&s);
        if (!c.findings)
            fail_msg("%s: not found by a check", bad[i].sql);
    }
}

static void checks(void **state) {
    (void)state;
    static const struct {
        const char *sql, *says;
    } bad[] = {
        {"UPDATE cubin SET image = x'00'", "cubin 1"},
        {"UPDATE trial SET samples = x'ff'", "trial 1"},
        {"UPDATE value SET value = 0 WHERE name = 'elem_size'", "elem_size is 0"},
        {"UPDATE value SET value = 5 WHERE name = 'elem_size'", "key is \"rows="},
        {"UPDATE problem SET key = 'x'", "key is \"x\""},
        {"DELETE FROM value WHERE name = 'align'", "key is"},
        {"UPDATE operation SET text = 'ef'", "another text of transpose"},
        {"PRAGMA foreign_keys = OFF; DELETE FROM operation", "refers to a operation that is not there"},
        {"UPDATE gpu SET cc = 1", "cc is 1"},
        {"UPDATE config SET text = 'x' WHERE id = 2", "configuration is \"x\""},
        {"UPDATE winner SET time_us = 0.0", "winner 1"},
        {"UPDATE run SET started_ms = -1", "started_ms is -1"},
        {"INSERT INTO template VALUES (9, 'c', 'copy', 'h'); UPDATE config SET template_id = 9",
         "its template is a copy"},
        {"PRAGMA foreign_keys = OFF; DELETE FROM problem", "refer to a problem that is not there"},
        {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'run_gpu'",
         "SQLite:"},
    };
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        char name[32], all[4096] = "";
        tt__checked c;
        tt__store *s;
        snprintf(name, sizeof name, "c%zu.db", i);
        const char *path = a_store(name, 2, 50, 2);
        if (i < sizeof bad / sizeof *bad)
            raw_sql(path, bad[i].sql);
        assert_ok(tt__store_open(&s, path, TT__STORE_READ_ONLY));
        tt_status status = tt__store_check(s, count, all, &c);
        tt__store_close(&s);
        if (i == sizeof bad / sizeof *bad) {
            assert_ok(status);
            assert_int_equal(c.findings, 0);
            assert_int_equal(c.trials, 2);
            assert_int_equal(c.cubins, 1);
        } else if (status == TT_OK ? !c.findings || !strstr(all, bad[i].says)
                                   : !strstr(bad[i].says, "SQLite")) { /* which may not even read it */
            fail_msg("%s: %s, found %s", bad[i].sql, status == TT_OK ? "ok" : tt_last_error(), all);
        }
    }
}

/* ---- T4 of another tuner ------------------------------------------------------------------------------- */

static const char kernel_tuner[] =
    "{\"results\": [{\"timestamp\": \"2026-01-01 10:00:00.000001+00:00\","
    " \"configuration\": {\"TILE_DIM\": 32, \"BLOCK_ROWS\": 8},"
    " \"times\": {\"compilation\": 250.5, \"benchmark\": 1.5, \"framework\": 1, \"search_algorithm\": 0,"
    " \"validation\": 0, \"runtimes\": [0.0625, 0.0626, 0.0624]}, \"invalidity\": \"correct\", "
    "\"correctness\": 1,"
    " \"measurements\": [{\"name\": \"time\", \"value\": 0.0625, \"unit\": \"ms\"}, {\"name\": \"GB/s\","
    " \"value\": 2147.5, \"unit\": \"\"}], \"objectives\": [\"time\"]},"
    " {\"timestamp\": \"2026-01-01 10:00:01+00:00\", \"configuration\": {\"TILE_DIM\": 64, \"BLOCK_ROWS\": "
    "8},"
    " \"times\": {\"compilation\": 0, \"benchmark\": 0, \"runtimes\": []}, \"invalidity\": \"compile\","
    " \"correctness\": 1, \"measurements\": [{\"name\": \"time\", \"value\": \"CompilationFailedConfig\","
    " \"unit\": \"ms\"}], \"objectives\": [\"time\"]}], \"schema_version\": \"1.0.0\"}";

static void reads_other_tuners(void **state) {
    (void)state;
    const char *path = in_dir("kt.json"), *db = in_dir("kt.db");
    tt__recording *r;
    write_file(path, kernel_tuner, strlen(kernel_tuner));
    assert_fails(tt__recording_open(&r, path), TT_E_INVALID, "T4 of another tuner");
    assert_fails(tt__recording_open_t4(&r, path, NULL), TT_E_INVALID, "--kernel");
    assert_fails(tt__recording_open_t4(&r, path, &(tt__foreign){.missing = "say X"}), TT_E_INVALID, "say X");
    tt__foreign f = {.gpu = h100, .problem = square(4096), .kernel = "transpose_tiled"};
    assert_ok(tt__recording_open_t4(&r, path, &f));
    tt__store *s = must_open(db);
    tt__merged report = {0};
    assert_ok(tt__store_begin(s));
    assert_ok(tt__store_merge(s, tt__recording_store(r), &(tt__merge_opts){0}, &report));
    assert_ok(tt__store_commit(s));
    tt__recording_close(&r);
    assert_int_equal(report.trials, 2);
    assert_int_equal(report.winners, 1);
    tt__winner w;
    bool found;
    assert_ok(tt__store_winner_get(s, 1, 1, &w, &found));
    assert_true(found);
    assert_string_equal(w.config, "TILE_DIM=32 BLOCK_ROWS=8");
    assert_string_equal(w.source, "imported");
    assert_string_equal(w.hash, "");
    assert_string_equal(w.env.library, "T4");
    assert_true(w.time_us > 62.4 && w.time_us < 62.6);
    assert_int_equal(w.failed, 1);
    tt__store_close(&s);

    /* A user's kernel: its problem has a text, its trials have none. */
    tt__foreign own = {.gpu = h100, .problem = saxpy('a', TT__TYPE_F32, 4096), .kernel = "saxpy"};
    assert_ok(tt__recording_open_t4(&r, path, &own));
    s = must_open(in_dir("own.db"));
    assert_ok(tt__store_begin(s));
    assert_ok(tt__store_merge(s, tt__recording_store(r), &(tt__merge_opts){0}, &report));
    assert_ok(tt__store_commit(s));
    tt__recording_close(&r);
    int64_t id;
    assert_ok(tt__store_known_problem(s, &own.problem, &id));
    assert_ok(tt__store_winner_get(s, 1, id, &w, &found));
    assert_true(found);
    tt__store_close(&s);

    /* One value of another type each. */
    static const struct {
        const char *from, *to, *says;
    } bad[] = {{"0.0625, 0.0626", "\"x\", 0.0626", "results[0]: times.runtimes[0]"},
               {"\"value\": 0.0625", "\"value\": \"fast\"", "results[0]: measurements"},
               {"\"value\": 0.0625", "\"value\": 1e-320", "results[0]: measurements has no time above 0"},
               {"\"correct\"", "\"perfect\"", "results[0]: invalidity is \"perfect\""},
               {"\"TILE_DIM\": 32", "\"TILE_DIM\": [32]", "configuration.TILE_DIM is array"},
               {"\"TILE_DIM\": 32", "\"A B\": 32", "configuration is \"A B=32"},
               {"250.5", "-1", "times.compilation is -1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *at = strstr(kernel_tuner, bad[i].from);
        tt__str text = {0};
        assert_non_null(at);
        tt__str_addn(&text, kernel_tuner, (size_t)(at - kernel_tuner));
        tt__str_add(&text, bad[i].to);
        tt__str_add(&text, at + strlen(bad[i].from));
        write_file(path, text.text, text.len);
        tt__str_free(&text);
        assert_fails(tt__recording_open_t4(&r, path, &f), TT_E_INVALID, bad[i].says);
    }
}

/* The recording in the repository, into a store and out again. */
static void imports_recordings(void **state) {
    (void)state;
    const char *db = in_dir("r.db");
    tt__recording *r;
    tt__merged report = {0}, again = {0};
    assert_ok(tt__recording_open_t4(&r, TT_SOURCE_DIR "/tests/data/small.json", NULL));
    tt__store *s = must_open(db);
    assert_ok(tt__store_begin(s));
    assert_ok(tt__store_merge(s, tt__recording_store(r), &(tt__merge_opts){0}, &report));
    assert_ok(tt__store_merge(s, tt__recording_store(r), &(tt__merge_opts){0}, &again));
    assert_ok(tt__store_commit(s));
    assert_true(report.trials > 500 && report.winners == 5);
    assert_int_equal(again.trials + again.winners + again.runs, 0);
    tt__checked c;
    char all[4096] = "";
    assert_ok(tt__store_check(s, count, all, &c));
    assert_string_equal(all, "");
    assert_int_equal(c.trials, report.trials);
    tt__store_close(&s);
    tt__recording_close(&r);
    assert_intact(db);
}

/* A new store goes after a failure, but not what another process has begun with. */
static void discards_only_its_own(void **state) {
    (void)state;
    const char *path = in_dir("new.db");
    tt__store *s, *other;
    bool is_new;
    assert_ok(tt__sharing_open(&s, path, &is_new));
    assert_true(is_new);
    assert_ok(tt__store_begin(s));
    some_ids(s); /* and the transaction fails */
    tt__sharing_discard(&s, is_new);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(in_dir("new.db-wal"), F_OK), 0);

    assert_ok(tt__sharing_open(&s, path, &is_new));
    other = must_open(path); /* has written nothing so far */
    tt__sharing_discard(&s, is_new);
    fill_store(other, 2, 50, 2);
    tt__store_close(&other);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM winner"), 1);
    unlink(path);

    assert_ok(tt__sharing_open(&s, path, &is_new));
    a_store("new.db", 2, 50, 2);
    tt__sharing_discard(&s, is_new);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM winner"), 1);
    assert_intact(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(merges_once),
        TEST(takes_no_code_from_strangers),
        TEST(keeps_the_better_evidence),
        TEST(refuses_bad_values),
        TEST(age_is_not_the_order_of_arrival),
        TEST(checks),
        TEST(reads_other_tuners),
        TEST(imports_recordings),
        TEST(discards_only_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
