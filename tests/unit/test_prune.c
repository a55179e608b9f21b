/* Pruning: what goes, what stays, and how it is found. */
#include "store_fixture.h"

#include "db/upkeep.h"

static bool is_h100(void *user, const tt__gpu *gpu) {
    (void)user;
    return strstr(gpu->name, "H100") != NULL;
}
static bool every_winner(void *user, const tt__winner *w) {
    (void)user;
    return w->time_us > 0;
}
static bool text_abcd(void *user, const char *kernel, const char *hash) {
    (void)user;
    (void)kernel;
    return strcmp(hash, "abcd") == 0;
}

static const tt__prune_part all, of_axpby = {.op = "axpby"}, of_none = {.kernel = "none"};

static void prunes(void **state) {
    (void)state;
    static const struct {
        tt__prune_opts opts;
        int64_t winners, trials, runs, cubins; /* that go */
    } cases[] = {
        {{.gpu = is_h100}, 1, 20, 1, 0},
        {{.winner = every_winner}, 1, 0, 0, 0},
        {{.text = text_abcd}, 0, 19, 0, 0}, /* the winner's text stays */
        {{.winner = every_winner, .text = text_abcd}, 1, 20, 1, 1},
        {{.library = "1"}, 0, 0, 0, 0},
        {{.library = "2"}, 0, 19, 0, 0},
        {{.part = &all}, 1, 20, 1, 1},
        {{.part = &of_axpby}, 0, 0, 0, 0},
        {{.part = &of_none}, 0, 0, 0, 0},
        {{.before_ms = 1000}, 0, 0, 0, 0},
        {{.before_ms = 4000000000000}, 1, 20, 1, 0},
        {{0}, 0, 0, 0, 0},
    };
    const size_t n = sizeof cases / sizeof *cases;
    for (size_t i = 0; i < 4 * n; i++) {
        char name[32];
        tt__pruned p;
        size_t k = i / 2 % n;
        tt__prune_opts opts = cases[k].opts;
        opts.dry_run = i % 2 == 0;
        snprintf(name, sizeof name, "p%zu.db", i);
        const char *path = a_store(name, 20, 50, 20);
        raw_sql(path, "UPDATE run SET ended_ms = 1");
        if (i >= 2 * n) /* and the same where something is derived */
            raw_sql(path, "UPDATE cubin_link SET config = config || ' EDGES=1'");
        tt__store *s = must_open(path);
        assert_ok(tt__store_prune(s, &opts, &p));
        int64_t before, after;
        assert_ok(tt__store_vacuum(s, &before, &after));
        tt__store_close(&s);
        if (p.winners != cases[k].winners || p.trials != cases[k].trials || p.runs != cases[k].runs ||
            p.cubins != cases[k].cubins)
            fail_msg("case %zu took %d winners, %d trials, %d runs, %d cubins", i / 2, (int)p.winners,
                     (int)p.trials, (int)p.runs, (int)p.cubins);
        int64_t left = opts.dry_run ? 20 : 20 - cases[k].trials;
        assert_int_equal(raw_sql(path, "SELECT count(*) FROM trial"), left);
        assert_int_equal(raw_sql(path, "SELECT count(*) FROM config"),
                         opts.dry_run ? 21 : left); /* one is unused */
        assert_intact(path);
    }
}

/* Only links of a winner's cubins begin with its configuration and a blank. */
static void prunes_links_of_others(void **state) {
    (void)state;
    static const struct {
        const char *behind;
        bool stays;
    } links[] = {{"", true},   {" EDGES=0", true}, {" EDGES=1 BATCHED=0", true}, {"0", false},
                 {"!", false}, {"%", false},       {"0 EDGES=0", false},         {" EDGES=-1", true}};
    const size_t n = sizeof links / sizeof *links;
    const char *path = a_store("links.db", 2, 50, 2);
    char sql[1024];
    tt__pruned p;
    raw_sql(path, "UPDATE run SET ended_ms = 1; DELETE FROM cubin_link");
    for (size_t i = 0; i < n; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO cubin_link SELECT template.hash, config.text || '%s', 4, %zu, cubin.key"
                 " FROM cubin, winner JOIN config ON config.id = config_id"
                 " JOIN template ON template.id = template_id LIMIT 1",
                 links[i].behind, i);
        raw_sql(path, sql);
    }
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM cubin_link"), n);
    tt__store *s = must_open(path);
    assert_ok(tt__store_prune(s, &(tt__prune_opts){.text = text_abcd}, &p));
    tt__store_close(&s);
    for (size_t i = 0; i < n; i++) {
        snprintf(sql, sizeof sql, "SELECT count(*) FROM cubin_link WHERE cc = %zu", i);
        if (raw_sql(path, sql) != links[i].stays)
            fail_msg("\"%s\" %s", links[i].behind, links[i].stays ? "is gone" : "is there");
    }
}

static bool text_of_no_trial(void *user, const char *kernel, const char *hash) {
    return !*kernel && strcmp(hash, user) == 0;
}

/* A run that ended before its first trial leaves cubins of a text that nothing else has. */
static void prunes_cubins_without_a_trial(void **state) {
    (void)state;
    static const struct {
        const char *hash; /* of the text that goes */
        bool under_way, alone;
        int cubins; /* that go */
    } cases[] = {{"beef", false, false, 1},
                 {"abcd", false, false, 0},
                 {"beef", true, false, 0},
                 {"beef", true, true, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        tt__pruned p;
        snprintf(name, sizeof name, "n%zu.db", i);
        const char *path = a_store(name, 2, 50, 2);
        tt__store *s = must_open(path);
        for (int k = 0; k < 2; k++) { /* the other text stays */
            assert_ok(tt__store_cubin_put(s, k ? "key" : "other key", name, sizeof name));
            assert_ok(tt__store_cubin_link(s, k ? "beef" : "cafe", "I=7", 4, 90, k ? "key" : "other key"));
        }
        if (!cases[i].under_way)
            raw_sql(path, "UPDATE run SET ended_ms = 1");
        assert_ok(tt__store_prune(s,
                                  &(tt__prune_opts){.user = (void *)cases[i].hash,
                                                    .text = text_of_no_trial,
                                                    .alone = cases[i].alone},
                                  &p));
        tt__store_close(&s);
        assert_int_equal(p.cubins, cases[i].cubins);
        assert_int_equal(raw_sql(path, "SELECT count(*) FROM cubin_link"), 3 - cases[i].cubins);
        assert_int_equal(raw_sql(path, "SELECT count(*) FROM template WHERE kernel = ''"), 0);
        assert_intact(path);
    }
}

/* With a hundred thousand of them a walk through all would show. */
static void finds_links_by_index(void **state) {
    (void)state;
    static const tt__sql asked[] = {TT__SQL_CUBIN_FIND, TT__SQL_CUBIN_LINKED, TT__SQL_PRUNE_LINKS_OF_TEXT};
#define X(name, text) [TT__SQL_##name] = text,
    static const char *const texts[] = {TT__SQL(X)};
#undef X
    tt__store *s = must_open(":memory:");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        sqlite3_stmt *stmt;
        char sql[2048];
        int n = 0;
        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", texts[asked[i]]);
        assert_int_equal(sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL), SQLITE_OK);
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *step = (const char *)sqlite3_column_text(stmt, 3);
            n += strstr(step, "template_hash=? AND config") != NULL;
            if (strstr(step, "CORRELATED") || strstr(step, "SCAN cubin") || strstr(step, "SCAN k"))
                fail_msg("%s", step);
        }
        assert_int_equal(n, 1);
        sqlite3_finalize(stmt);
    }
    tt__store_close(&s);
}

/* With its last trial and winner a text of a user's kernel takes its operation along. */
static void prunes_operations(void **state) {
    (void)state;
    const char *path = in_dir("own.db");
    tt__store *s = must_open(path);
    ids id = some_ids(s);
    tt__pruned p;
    tt__trial t = good(5);
    for (int i = 0; i < 2; i++) { /* two texts, one pruned, and the transpose, which has no trials */
        tt__problem problem = saxpy(i ? 'b' : 'a', TT__TYPE_F32, 4096);
        assert_ok(tt__store_problem(s, &problem, &id.problem));
        assert_ok(tt__store_config(s, "saxpy", "saxpy", i ? problem.text : "abcd", "VEC=4", &id.config));
        assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t));
    }
    assert_ok(tt__store_run_end(s, id.run));
    assert_ok(tt__store_prune(s, &(tt__prune_opts){.text = text_abcd}, &p));
    assert_int_equal(p.trials, 1);
    tt__store_close(&s);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM operation WHERE name = 'saxpy' AND text LIKE 'bb%'"),
                     1);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM operation"), 1);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM problem"), 1);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM value"), 2);
    assert_intact(path);
}

/* A problem's values lie side by side. */
static void finds_values_by_problem(void **state) {
    (void)state;
    static const tt__sql asked[] = {TT__SQL_WINNERS_OF_CC, TT__SQL_EXPORT_PROBLEMS, TT__SQL_RECORDED_PROBLEMS,
                                    TT__SQL_RECORDED_WINNERS};
#define X(name, text) [TT__SQL_##name] = text,
    static const char *const texts[] = {TT__SQL(X)};
#undef X
    tt__store *s = must_open(":memory:");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        sqlite3_stmt *stmt;
        tt__str sql = {0};
        int n = 0;
        tt__str_addf(&sql, "EXPLAIN QUERY PLAN %s", texts[asked[i]]);
        assert_int_equal(sqlite3_prepare_v2(s->db, sql.text, -1, &stmt, NULL), SQLITE_OK);
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *step = (const char *)sqlite3_column_text(stmt, 3);
            n += strstr(step, "SEARCH value USING PRIMARY KEY (problem_id=?)") != NULL;
            if (strstr(step, "SCAN value"))
                fail_msg("%s", step);
        }
        assert_true(n >= 2);
        sqlite3_finalize(stmt);
        tt__str_free(&sql);
    }
    tt__store_close(&s);
}

/* A run that is under way keeps the rows that its next trial will refer to; after a day it has been killed.
 */
static void pruning_leaves_a_run_alone(void **state) {
    (void)state;
    const char *path = in_dir("live.db");
    tt__store *s = must_open(path);
    ids id = fill_store(s, 3, 50, 3);
    tt__pruned p;
    tt__trial t = good(5);
    raw_sql(path, "UPDATE run SET started_ms = started_ms - 23 * 3600 * 1000");
    assert_ok(tt__store_prune(s, &(tt__prune_opts){.gpu = is_h100}, &p));
    assert_int_equal(p.trials, 3);
    assert_int_equal(p.runs, 0);
    assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t));
    assert_fails(tt__store_trial_put(s, id.run, id.problem, 77, TT__STAGE_SCREEN, &t), TT_E_DB,
                 "FOREIGN KEY"); /* pruning does without, and puts them in force again */
    raw_sql(path, "UPDATE run SET started_ms = started_ms - 2 * 3600 * 1000");
    assert_ok(tt__store_prune(s, &(tt__prune_opts){.gpu = is_h100}, &p));
    assert_int_equal(p.trials, 1);
    assert_int_equal(p.runs, 1);
    tt__store_close(&s);
    assert_intact(path);
}

/* An imported run never ends. */
static void sweeps_after_an_import(void **state) {
    (void)state;
    const char *path = a_store("imported.db", 3, 50, 3);
    tt__pruned p;
    raw_sql(path, "UPDATE run SET source = 2");
    tt__store *s = must_open(path);
    assert_ok(tt__store_prune(s, &(tt__prune_opts){.gpu = is_h100}, &p));
    tt__store_close(&s);
    assert_int_equal(p.runs, 1);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM gpu"), 0);
    assert_intact(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(prunes),
        TEST(prunes_links_of_others),
        TEST(prunes_cubins_without_a_trial),
        TEST(finds_links_by_index),
        TEST(prunes_operations),
        TEST(finds_values_by_problem),
        TEST(pruning_leaves_a_run_alone),
        TEST(sweeps_after_an_import),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
