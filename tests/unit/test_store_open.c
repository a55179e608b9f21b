/* Opening a store: new, old, damaged, not ours, read-only; and running out of disk or memory. */
#include "store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/read_file.h"
#include "db/exchange/export.h"
#include "db/exchange/merge.h"
#include "db/exchange/recording.h"

static void creates_and_reopens(void **state) {
    (void)state;
    const char *path = in_dir("new.db");
    struct stat st;
    tt__store *s = must_open(path);
    assert_string_equal(tt__store_path(s), path);
    some_ids(s);
    tt__store_close(&s);
    assert_null(s);
    tt__store_close(&s);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(raw_sql(path, "PRAGMA application_id"), 0x54547531);
    assert_int_equal(raw_sql(path, "PRAGMA user_version"), (int64_t)tt__n_migrations);
    assert_int_equal(raw_sql(path, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"
                                   " AND sql NOT LIKE '%STRICT%'"),
                     0);
    s = must_open(path);
    int64_t id;
    assert_ok(tt__store_known_gpu(s, &h100, &id));
    assert_int_equal(id, 1);
    tt__store_close(&s);
    assert_intact(path);
}

/* A commit waits for the disk. One has all migrations, the other is for the journal's mode. */
static void creates_with_two_commits(void **state) {
    (void)state;
    const char *path = in_dir("new.db");
    unsigned char head[28]; /* ends with a counter of commits */
    tt__store *s = must_open(path);
    tt__store_close(&s);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
    fclose(f);
    assert_memory_equal(head + 24, "\0\0\0\2", 4);
}

static void migrations_are_numbered(void **state) {
    (void)state;
    assert_true(tt__n_migrations >= 1);
    for (size_t i = 0; i < tt__n_migrations; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "%03zu-", i + 1);
        assert_memory_equal(tt__migrations[i].name, prefix, 4);
    }
}

/* What SQLite keeps of the schema, as statements. */
static char *schema_of(sqlite3 *db) {
    sqlite3_stmt *stmt;
    tt__str all = {0};
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        tt__str_addf(&all, "%s;\n", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    assert_ok(tt__str_check(&all));
    return all.text;
}

static void is_whole_as_after_all_migrations(void **state) {
    (void)state;
    sqlite3 *db;
    tt__store *s = must_open(":memory:");
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (size_t i = 0; i < tt__n_migrations; i++)
        assert_int_equal(sqlite3_exec(db, tt__migrations[i].sql, NULL, NULL, NULL), SQLITE_OK);
    char *whole = schema_of(s->db), *migrated = schema_of(db);
    if (strcmp(whole, migrated) != 0)
        fail_msg("db/whole_schema.sql should be:\n%s", migrated);
    free(whole);
    free(migrated);
    sqlite3_close(db);
    tt__store_close(&s);
}

static void finds_its_default_place(void **state) {
    (void)state;
    tt__str path = {0};
    struct stat st;
    setenv("TILETUNE_DB", "/x/y.db", 1);
    assert_ok(tt__store_default_path(&path));
    assert_string_equal(path.text, "/x/y.db");
    tt__str_free(&path);

    unsetenv("TILETUNE_DB");
    setenv("HOME", dir, 1);
    setenv("XDG_DATA_HOME", "relative/is/ignored", 1);
    assert_ok(tt__store_default_path(&path));
    assert_string_equal(path.text, in_dir(".local/share/tiletune/tiletune.db"));
    tt__str_free(&path);

    setenv("XDG_DATA_HOME", in_dir("data"), 1);
    assert_ok(tt__store_default_path(&path));
    assert_string_equal(path.text, in_dir("data/tiletune/tiletune.db"));
    tt__store *s = must_open(path.text); /* its folder is ours to create */
    tt__store_close(&s);
    assert_int_equal(stat(in_dir("data/tiletune"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    tt__str_free(&path);

    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    assert_fails(tt__store_default_path(&path), TT_E_INVALID, "HOME");
    tt__str_free(&path);
}

static void refuses(const char *path, tt__store_mode mode, tt_status status, const char *words) {
    tt__store *s = (tt__store *)&s;
    assert_fails(tt__store_open(&s, path, mode), status, words);
    assert_null(s);
    if (*path && !strstr(tt_last_error(), path))
        fail_msg("\"%s\" does not name %s", tt_last_error(), path);
}

static void refuses_what_is_no_store(void **state) {
    (void)state;
    const tt__store_mode RW = TT__STORE_READ_WRITE, RO = TT__STORE_READ_ONLY;
    const char *text = in_dir("text.db"), *other = in_dir("other.db"), *newer = in_dir("newer.db");
    struct stat st;
    char junk[8192];

    memset(junk, 'x', sizeof junk);
    write_file(text, junk, sizeof junk);
    refuses(text, RW, TT_E_DB, "not a tiletune store");
    refuses(text, RO, TT_E_DB, "not a tiletune store");
    assert_int_equal(stat(text, &st), 0);
    assert_int_equal(st.st_size, sizeof junk);

    raw_sql(other, "CREATE TABLE contacts (name)");
    refuses(other, RW, TT_E_DB, "another program");
    refuses(other, RO, TT_E_DB, "another program");
    assert_int_equal(raw_sql(other, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
    assert_int_equal(raw_sql(other, "SELECT count(*) FROM sqlite_schema"), 1);
    const char *log = in_dir("log.db"), *wal = in_dir("log.db-wal"); /* with a log, as a crash leaves it */
    sqlite3 *db;
    assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE a (x)", NULL, NULL, NULL),
                     SQLITE_OK);
    copy_file(log, other);
    copy_file(wal, in_dir("other.db-wal"));
    sqlite3_close(db); /* `other` has no log now */
    const char *const files[] = {log, wal, other};
    tt__str before[3], after;
    for (int i = 0; i < 3; i++)
        assert_ok(tt__read_file(&before[i], files[i]));
    refuses(log, RW, TT_E_DB, "another program");
    refuses(other, RW, TT_E_DB, "another program");
    for (int i = 0; i < 3; i++) { /* they are left as they are */
        assert_ok(tt__read_file(&after, files[i]));
        assert_int_equal(after.len, before[i].len);
        assert_memory_equal(after.text, before[i].text, after.len);
        tt__str_free(&before[i]);
        tt__str_free(&after);
    }
    assert_int_not_equal(stat(in_dir("other.db-wal"), &st), 0);
    assert_int_not_equal(stat(in_dir("other.db-shm"), &st), 0);

    tt__store *s = must_open(newer);
    tt__store_close(&s);
    raw_sql(newer, "PRAGMA user_version = 99");
    refuses(newer, RW, TT_E_DB, "schema 99");
    refuses(newer, RO, TT_E_DB, "upgrade");
    raw_sql(newer, "PRAGMA user_version = -1");
    refuses(newer, RW, TT_E_DB, "damaged");

    refuses(dir, RW, TT_E_DB, "folder");
    refuses(in_dir("no/such/folder.db"), RW, TT_E_DB, "does not exist");
    refuses(in_dir("text.db/x.db"), RW, TT_E_DB, "Not a directory");
    refuses("/dev/null", RW, TT_E_DB, "regular file");
    refuses("", RW, TT_E_INVALID, "empty");
    refuses(in_dir("missing.db"), RO, TT_E_DB, "no store");
    assert_int_equal(access(in_dir("missing.db"), F_OK), -1);
    write_file(in_dir("empty.db"), "", 0);
    refuses(in_dir("empty.db"), RO, TT_E_DB, "still empty");
    s = must_open(in_dir("empty.db")); /* as `touch` makes it */
    tt__store_close(&s);
}

/* Runs a check as a user without rights; root would pass every permission. 77: cannot tell. */
static void as_nobody(void (*attempt)(void)) {
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(77);
        attempt();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void try_read_only_file(void) {
    tt__store *s;
    tt__winner w;
    bool found;
    check(tt__store_open(&s, in_dir("ro.db"), TT__STORE_READ_WRITE) == TT_E_DB);
    check(strstr(tt_last_error(), "Permission denied"));
    check(tt__store_open(&s, in_dir("sub/ro.db"), TT__STORE_READ_WRITE) == TT_E_DB);
    check(strstr(tt_last_error(), "folder"));
    check(tt__store_open(&s, in_dir("sub/new.db"), TT__STORE_READ_WRITE) == TT_E_DB);
    check(strstr(tt_last_error(), "Permission denied"));
    check(tt__store_open(&s, in_dir("secret.db"), TT__STORE_READ_WRITE) == TT_E_DB);
    check(strstr(tt_last_error(), "Permission denied"));
    const char *names[] = {"ro.db", "sub/ro.db", "sub/odd %41?#name.db"};
    for (int i = 0; i < 3; i++) {
        check(tt__store_open(&s, in_dir(names[i]), TT__STORE_READ_ONLY) == TT_OK);
        check(tt__store_winner_get(s, 1, 1, &w, &found) == TT_OK && found);
        check(strcmp(w.gpu.name, h100.name) == 0);
        tt__store_close(&s);
    }
    check(access(in_dir("sub/ro.db-shm"), F_OK) != 0);
    check(tt__store_open(&s, in_dir("sub/behind.db"), TT__STORE_READ_ONLY) == TT_E_DB);
    check(strstr(tt_last_error(), "-wal"));
    check(tt__store_open(&s, in_dir("link.db"), TT__STORE_READ_ONLY) == TT_E_DB);
    check(strstr(tt_last_error(), "-wal"));
}

static void reads_where_it_cannot_write(void **state) {
    (void)state;
    const char *path = in_dir("ro.db");
    tt__store *s = must_open(path);
    ids id = some_ids(s);
    tt__winner w = a_winner(50);
    assert_ok(tt__store_winner_put(s, id.run, id.problem, id.config, &w));
    assert_int_equal(mkdir(in_dir("sub"), 0755), 0);
    copy_file(in_dir("sub/behind.db"), path); /* as a crash would leave it: the log holds everything */
    copy_file(in_dir("sub/behind.db-wal"), in_dir("ro.db-wal"));
    tt__store_close(&s);
    assert_int_equal(symlink("sub/behind.db", in_dir("link.db")), 0); /* its log is beside the target */
    copy_file(in_dir("sub/ro.db"), path);
    copy_file(in_dir("sub/odd %41?#name.db"), path);
    copy_file(in_dir("secret.db"), path);
    chmod(path, 0444);
    chmod(in_dir("sub/ro.db"), 0644);
    if (geteuid() == 0) /* the other user may write the file, but not beside it */
        assert_int_equal(chown(in_dir("sub/ro.db"), 65534, 65534), 0);
    chmod(in_dir("secret.db"), 0);
    chmod(in_dir("sub"), 0555);
    as_nobody(try_read_only_file);

    assert_ok(
        tt__store_open(&s, in_dir("sub/behind.db"), TT__STORE_READ_ONLY)); /* as the owner: can be read */
    tt__store_close(&s);
}

static void read_only_writes_nothing(void **state) {
    (void)state;
    const char *path = in_dir("ro.db");
    tt__store *s = must_open(path);
    ids id = some_ids(s);
    tt__store_close(&s);
    int64_t before = raw_sql(path, "SELECT count(*) FROM gpu"), other;
    tt__gpu gpu = h100;
    tt__problem p = square(17);
    tt__trial t = good(1);
    assert_ok(tt__store_open(&s, path, TT__STORE_READ_ONLY));
    assert_ok(tt__store_gpu(s, &gpu, &other));
    assert_int_equal(other, id.gpu);
    strcpy(gpu.name, "another");
    assert_ok(tt__store_gpu(s, &gpu, &other));
    assert_int_equal(other, -1);
    assert_ok(tt__store_problem(s, &p, &other));
    assert_int_equal(other, -1);
    assert_ok(tt__store_config(s, "k", "o", "h", "c", &other));
    assert_int_equal(other, -1);
    assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t), TT_E_DB,
                 "opened read-only");
    assert_fails(tt__store_begin(s), TT_E_DB, "opened read-only");
    tt__store_close(&s);
    assert_int_equal(access(in_dir("ro.db-wal"), F_OK), -1); /* nor does it leave anything */
    assert_int_equal(access(in_dir("ro.db-shm"), F_OK), -1);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM gpu"), before);
    assert_ok(tt__store_open(&s, ":memory:", TT__STORE_READ_ONLY));
    assert_ok(tt__store_known_gpu(s, &h100, &other));
    assert_int_equal(other, -1);
    tt__store_close(&s);
}

/* A process was killed while it wrote with a rollback journal. */
static void reads_nothing_half_written(void **state) {
    (void)state;
    const char *path = a_store("s.db", 300, 50, 300), *hot = in_dir("hot.db");
    tt__store *s;
    bool trusted;
    copy_half_written(hot, path);
    assert_fails(tt__store_open(&s, hot, TT__STORE_READ_ONLY), TT_E_DB, "in the middle of a write");
    assert_null(s);
    assert_fails(tt__store_open_foreign(&s, hot, &trusted), TT_E_DB, "\"tune vacuum --db ");
    assert_int_equal(access(in_dir("hot.db-journal"), F_OK), 0);
    s = must_open(hot);
    tt__store_close(&s);
    assert_int_equal(access(in_dir("hot.db-journal"), F_OK), -1);
    assert_ok(tt__store_open(&s, hot, TT__STORE_READ_ONLY));
    tt__store_close(&s);
    assert_int_equal(raw_sql(hot, "SELECT count(*) FROM trial WHERE time = 7"), 0);
    assert_intact(hot);
}

static void says_when_the_disk_is_full(void **state) {
    (void)state;
    const char *path = in_dir("full.db");
    static char big[1 << 20];
    tt__store *s = must_open(path);
    tt__problem p = square(99);
    int64_t id;
    sqlite3_exec(s->db, "PRAGMA max_page_count = 60", NULL, NULL, NULL);
    assert_fails(tt__store_cubin_put(s, "k", big, sizeof big), TT_E_DB, "disk is full");
    assert_ok(tt__store_problem(s, &p, &id)); /* and goes on */
    assert_ok(tt__store_begin(s));
    tt__problem_set(&p, "rows", 98);
    assert_ok(tt__store_problem(s, &p, &id));
    assert_int_equal(tt__store_cubin_put(s, "k", big, sizeof big), TT_E_DB);
    if (sqlite3_get_autocommit(s->db)) { /* SQLite may undo the whole group: then nothing slips in alone */
        tt__problem_set(&p, "rows", 97);
        assert_fails(tt__store_problem(s, &p, &id), TT_E_DB, "undone");
        assert_fails(tt__store_commit(s), TT_E_DB, "undone");
    } else {
        assert_ok(tt__store_commit(s));
    }
    tt__store_close(&s);
    assert_intact(path);
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    const char *path = in_dir("oom.db");
    tt__store *s = must_open(path);
    tt__store_close(&s);
    int failed = 0;
    for (int kb = 20; kb < 400; kb += 4) {
        sqlite3_hard_heap_limit64(kb * 1024);
        tt_status st = tt__store_open(&s, path, TT__STORE_READ_WRITE);
        tt__trial t = good(5);
        tt__problem p = square(4096);
        int64_t id[4];
        if (st == TT_OK)
            st = tt__store_gpu(s, &h100, &id[0]);
        if (st == TT_OK)
            st = tt__store_problem(s, &p, &id[1]);
        if (st == TT_OK)
            st = tt__store_config(s, "k", "transpose", "h", "A=1", &id[2]);
        if (st == TT_OK)
            st = tt__store_run_begin(s, id[0], &env1, "measured", &id[3]);
        if (st == TT_OK)
            st = tt__store_trial_put(s, id[3], id[1], id[2], TT__STAGE_SCREEN, &t);
        sqlite3_hard_heap_limit64(0);
        if (st != TT_OK) {
            if (st != TT_E_NO_MEMORY)
                fail_msg("%d KB: %s", kb, tt_last_error());
            failed++;
        }
        tt__store_close(&s);
    }
    if (failed < 4 || failed > 90)
        fail_msg("%d of 95 failed", failed);
    assert_intact(path);
}

/* The content of tests/data/store-vN.db. Run `test_store_open --make-example FILE` to write one with today's
 * schema. */
enum { EXAMPLE_BYTES = 2 * 4096 * 4096 * 4 };
static tt_status make_example(const char *path) {
    tt__store *s;
    int64_t gpu, problem, config, run;
    tt__problem p = square(4096);
    tt__trial t = good(50);
    tt__winner w = a_winner(50);
    p.moved_bytes = EXAMPLE_BYTES;
    TT_TRY(tt__store_open(&s, path, TT__STORE_READ_WRITE));
    TT_TRY(tt__store_gpu(s, &h100, &gpu));
    TT_TRY(tt__store_problem(s, &p, &problem));
    TT_TRY(tt__store_config(s, "transpose_tiled", "transpose", "abcd", "TILE_DIM=32 PAD=1", &config));
    TT_TRY(tt__store_run_begin(s, gpu, &env1, "measured", &run));
    TT_TRY(tt__store_trial_put(s, run, problem, config, TT__STAGE_SCREEN, &t));
    TT_TRY(tt__store_trial_put(s, run, problem, config, TT__STAGE_FINAL, &t));
    TT_TRY(tt__store_winner_put(s, run, problem, config, &w));
    TT_TRY(tt__store_cubin_put(s, "key", "image", 5));
    TT_TRY(tt__store_cubin_link(s, "abcd", "TILE_DIM=32 PAD=1", 4, 90, "key"));
    TT_TRY(tt__store_run_end(s, run));
    tt__store_close(&s);
    return TT_OK;
}

/* Reads example content with today's statements. */
static void reads_the_example(tt__store *s) {
    tt__problem p = square(4096);
    ids id;
    tt__winner w;
    bool found;
    assert_ok(tt__store_known_gpu(s, &h100, &id.gpu));
    assert_ok(tt__store_known_problem(s, &p, &id.problem));
    assert_ok(tt__store_winner_get(s, id.gpu, id.problem, &w, &found));
    assert_true(found);
    assert_string_equal(w.config, "TILE_DIM=32 PAD=1");
    assert_true(w.problem.moved_bytes == EXAMPLE_BYTES);
    seen x = trials(s, id, &env1, TT__STAGE_FINAL);
    assert_int_equal(x.n, 1);
    assert_int_equal((int)x.trial[0].time_us, 50);
    assert_int_equal((int)x.trial[0].weight, 1);
}

/* Brought up to date where that may be, and else read, checked and merged as if it had been. */
static void opens_older_stores(void **state) {
    (void)state;
    const char *data = getenv("TT_TEST_DATA");
    for (int version = 1; version <= (int)tt__n_migrations; version++) {
        char from[512], name[32];
        tt__store *s, *to;
        tt__merged merged = {0};
        bool trusted;
        snprintf(from, sizeof from, "%s/store-v%d.db", data ? data : "tests/data", version);
        snprintf(name, sizeof name, "v%d.db", version);
        const char *path = in_dir(name);
        copy_file(path, from);
        chmod(path, 0600);
        assert_int_equal(raw_sql(path, "PRAGMA user_version"), version);
        assert_ok(tt__store_open(&s, path, TT__STORE_READ_ONLY));
        reads_the_example(s);
        tt__store_close(&s);
        assert_ok(tt__store_open_foreign(&s, path, &trusted));
        assert_ok(tt__store_open(&to, ":memory:", TT__STORE_READ_WRITE));
        assert_ok(tt__store_begin(to));
        assert_ok(tt__store_merge(to, s, &(tt__merge_opts){0}, &merged));
        assert_ok(tt__store_commit(to));
        assert_int_equal(merged.trials, 2);
        reads_the_example(to);
        tt__str json = {0};
        assert_ok(tt__recording_export(s, 1, NULL, "", &json));
        tt__str_free(&json);
        tt__store_close(&to);
        tt__store_close(&s);
        assert_int_equal(raw_sql(path, "PRAGMA user_version"), version);
        s = must_open(path);
        reads_the_example(s);
        tt__str cubin = {0};
        bool found;
        assert_ok(tt__store_cubin_find(s, "abcd", "TILE_DIM=32 PAD=1", 4, 90, &cubin, &found));
        assert_true(found);
        tt__str_free(&cubin);
        tt__store_close(&s);
        assert_int_equal(raw_sql(path, "PRAGMA user_version"), (int64_t)tt__n_migrations);
        assert_intact(path);
    }
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--make-example") == 0)
        return make_example(argv[2]) == TT_OK ? 0 : 1;
    const struct CMUnitTest tests[] = {
        TEST(creates_and_reopens),         TEST(creates_with_two_commits),
        TEST(migrations_are_numbered),     TEST(is_whole_as_after_all_migrations),
        TEST(finds_its_default_place),     TEST(refuses_what_is_no_store),
        TEST(reads_where_it_cannot_write), TEST(read_only_writes_nothing),
        TEST(reads_nothing_half_written),  TEST(says_when_the_disk_is_full),
        TEST(survives_lack_of_memory),     TEST(opens_older_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
