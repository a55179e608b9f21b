/* Files that are stores in everything but what their tables are. */
#include "store_fixture.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "db/exchange/merge.h"

#define ENDLESS "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT "

/* Refused at once, in every way of opening. */
static void refuses(const char *path, const char *words) {
    tt__store *s;
    bool trusted;
    alarm(60);
    assert_fails(tt__store_open(&s, path, TT__STORE_READ_ONLY), TT_E_DB, words);
    assert_fails(tt__store_open(&s, path, TT__STORE_READ_WRITE), TT_E_DB, words);
    assert_fails(tt__store_open_foreign(&s, path, &trusted), TT_E_DB, words);
    alarm(0);
}

static void refuses_what_is_no_table(void **state) {
    (void)state;
    static const struct {
        const char *sql, *words;
    } cases[] = {
        {"ALTER TABLE gpu RENAME TO g; CREATE VIEW gpu AS " ENDLESS "g.* FROM g, r",
         "\"gpu\" in it is a view"},
        {"ALTER TABLE winner RENAME TO w; CREATE VIEW winner AS " ENDLESS "w.* FROM w, r",
         "\"winner\" in it is a view"},
        {"ALTER TABLE cubin RENAME TO c; CREATE VIEW cubin AS " ENDLESS "c.* FROM c, r",
         "\"cubin\" in it is a view"},
        {"CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM trial; END", "\"t\" in it is a trigger"},
        {"ALTER TABLE trial ADD COLUMN z INT GENERATED ALWAYS AS (length(zeroblob(100000000)))",
         "\"trial\" in it is a table with a generated column"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        snprintf(name, sizeof name, "s%zu.db", i);
        const char *path = a_store(name, 2, 50, 2);
        raw_sql(path, cases[i].sql);
        refuses(path, cases[i].words);
    }
}

static void refuses_virtual_tables(void **state) {
    (void)state;
    const char *path = a_store("s.db", 2, 50, 2);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    int rc = sqlite3_exec(db, "CREATE VIRTUAL TABLE v USING rtree(a, b, c)", NULL, NULL, NULL);
    sqlite3_close(db);
    if (rc != SQLITE_OK)
        skip(); /* this SQLite has none */
    refuses(path, "\"v\" in it is a virtual table");
}

/* A page can be the child of many: the file then has more rows than bytes. */
static void gives_up_on_what_does_not_end(void **state) {
    (void)state;
    const char *path = a_store("s.db", 3000, 50, 2);
    tt__store *from, *to;
    tt__merged report = {0};
    bool trusted;
    assert_ok(tt__store_open_scratch(&to));
    assert_ok(tt__store_begin(to));
    assert_ok(tt__store_open_foreign(&from, path, &trusted));
    assert_true(from->read_until_s > tt__now_s() + 30);
    from->read_until_s = tt__now_s();
    assert_fails(tt__store_merge(to, from, &(tt__merge_opts){0}, &report), TT_E_DB, "longer than any store");
    tt__store_close(&from);
    tt__store_close(&to);
}

static tt__store *asks;

/* It may have to wait itself, for the same lock: then the question is not asked again. */
static int says_yes(void *user) {
    tt__problem p = square(78);
    int64_t id;
    asks->patience_s = 0.1;
    assert_fails(tt__store_problem(asks, &p, &id), TT_E_DB, "kept the store locked");
    assert_non_null(strstr(tt_last_error(), "/a b.db') and whether"));
    ++*(int *)user;
    return 1;
}

static void stops_waiting(void **state) {
    (void)state;
    const char *path = a_store("a b.db", 2, 50, 2);
    tt__store *holder = must_open(path), *s = must_open(path);
    tt__problem p = square(77);
    int64_t id;
    int asked = 0;
    asks = must_open(path);
    assert_ok(tt__store_begin(holder));
    double start = tt__now_s();
    tt__store_stop_when(says_yes, &asked);
    assert_fails(tt__store_problem(s, &p, &id), TT_E_INTERRUPTED, "interrupted");
    assert_true(asked > 0 && tt__now_s() - start < 5);
    assert_ok(tt__store_commit(holder));
    assert_ok(tt__store_problem(s, &p, &id)); /* work that need not wait is still done */
    tt__store_stop_when(NULL, NULL);
    tt__store_close(&holder);
    tt__store_close(&asks);
    tt__store_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(refuses_what_is_no_table),
        TEST(refuses_virtual_tables),
        TEST(gives_up_on_what_does_not_end),
        TEST(stops_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
