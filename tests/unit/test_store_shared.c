/* One store and many processes: groups of writes, waiting, creating it at once, being killed. */
#include "store_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"

static void groups_writes(void **state) {
    (void)state;
    const char *path = in_dir("g.db");
    tt__store *s = must_open(path);
    assert_fails(tt__store_commit(s), TT_E_INTERNAL, "without");
    assert_ok(tt__store_begin(s));
    assert_fails(tt__store_begin(s), TT_E_INTERNAL, "inside");
    some_ids(s);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM run"), 0);
    assert_ok(tt__store_commit(s));
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM run"), 1);
    assert_ok(tt__store_begin(s));
    some_ids(s);
    tt__store_close(&s);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM run"), 1);
}

static void assert_checks_keys(tt__store *s, ids id) {
    tt__trial t = good(5);
    assert_fails(tt__store_trial_put(s, id.run, 99, id.config, TT__STAGE_SCREEN, &t), TT_E_DB, "FOREIGN KEY");
}

/* A group checks no foreign keys, which does not outlast it: it may be refused, end, or be undone. */
static void checks_keys_after_a_group(void **state) {
    (void)state;
    const char *path = in_dir("keys.db");
    tt__store *s = must_open(path), *other = must_open(path);
    ids id = some_ids(s);
    assert_checks_keys(s, id);
    assert_ok(tt__store_begin(other));
    s->patience_s = 0;
    assert_fails(tt__store_begin(s), TT_E_DB, "another process");
    assert_ok(tt__store_commit(other));
    assert_checks_keys(s, id);
    assert_ok(tt__store_begin(s));
    assert_ok(tt__store_commit(s));
    assert_checks_keys(s, id);
    assert_ok(tt__store_begin(s));
    assert_int_equal(sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_fails(tt__store_commit(s), TT_E_DB, "undone");
    assert_checks_keys(s, id);
    tt__store_close(&s);
    tt__store_close(&other);
}

static void waits_for_others(void **state) {
    (void)state;
    const char *path = in_dir("w.db");
    int held[2], go[2];
    char byte = 0;
    tt__store *s = must_open(path);
    ids id = some_ids(s);
    tt__store_close(&s);
    assert_int_equal(pipe(held), 0);
    assert_int_equal(pipe(go), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        tt__store *mine;
        check(tt__store_open(&mine, path, TT__STORE_READ_WRITE) == TT_OK);
        check(tt__store_begin(mine) == TT_OK);
        check(write(held[1], "x", 1) == 1);
        check(read(go[0], &byte, 1) == 1);
        usleep(300000);
        check(tt__store_commit(mine) == TT_OK);
        tt__store_close(&mine);
        _exit(0);
    }
    assert_int_equal(read(held[0], &byte, 1), 1);
    close(held[0]);
    close(held[1]);
    s = must_open(path);
    tt__trial t = good(5);
    s->patience_s = 0.1;
    assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t), TT_E_DB,
                 "another process");
    seen x = trials(s, id, &env1, TT__STAGE_SCREEN); /* readers do not wait for a writer */
    assert_int_equal(x.n, 0);
    s->patience_s = 60;
    double start = tt__now_s();
    assert_int_equal(write(go[1], "x", 1), 1);
    close(go[0]);
    close(go[1]);
    assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t));
    assert_true(tt__now_s() - start >= 0.3);
    tt__store_close(&s);
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

enum { PROCESSES = 8, TRIALS = 200 };

/* One process: opens the store on its own and commits its trials, counting those that were acknowledged. */
static void put_many(const char *path, int who, int *done) {
    tt__store *s;
    int64_t gpu, problem, run, config;
    tt__problem p = square(64);
    check(tt__store_open(&s, path, TT__STORE_READ_WRITE) == TT_OK);
    check(tt__store_gpu(s, &h100, &gpu) == TT_OK);
    check(tt__store_problem(s, &p, &problem) == TT_OK);
    check(tt__store_run_begin(s, gpu, &env1, "measured", &run) == TT_OK);
    for (int i = 0; i < TRIALS; i++) {
        char text[64];
        tt__trial t = good(10 + i);
        tt__winner w = a_winner(10 + i);
        snprintf(text, sizeof text, "WHO=%d I=%d", who, i);
        check(tt__store_config(s, "k", "transpose", "h", text, &config) == TT_OK);
        check(tt__store_trial_put(s, run, problem, config, TT__STAGE_SCREEN, &t) == TT_OK);
        *done = i + 1;
        if (i % 20 == 0)
            check(tt__store_winner_put(s, run, problem, config, &w) == TT_OK);
    }
    tt__store_close(&s);
}

static void run_processes(const char *path, int *done, bool kill_them, unsigned seed) {
    pid_t pid[PROCESSES];
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] == 0) {
            put_many(path, i, &done[i]);
            _exit(0);
        }
    }
    if (kill_them)
        for (int i = 0; i < PROCESSES - 1; i++) {
            usleep(1000 + (useconds_t)rand_r(&seed) % 30000);
            kill(pid[i], SIGKILL);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        waitpid(pid[i], &status, 0);
        if (!kill_them || i == PROCESSES - 1)
            assert_int_equal(status, 0);
    }
}

static int64_t stored_of(const char *path, int who) {
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM trial JOIN config ON config.id = config_id WHERE text LIKE 'WHO=%d %%'",
             who);
    return raw_sql(path, sql);
}

static void many_processes(void **state) {
    (void)state;
    const char *path = in_dir("many.db"); /* not there yet: they create it at once */
    int *done =
        mmap(NULL, PROCESSES * sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(done != MAP_FAILED);
    run_processes(path, done, false, 0);
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(stored_of(path, i), TRIALS);
    assert_intact(path);
    munmap(done, PROCESSES * sizeof *done);
}

static void killed_processes(void **state) {
    (void)state;
    for (unsigned round = 0; round < 5; round++) {
        char name[32];
        snprintf(name, sizeof name, "killed%u.db", round);
        const char *path = in_dir(name);
        int *done =
            mmap(NULL, PROCESSES * sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(done != MAP_FAILED);
        run_processes(path, done, true, round);
        tt__store *s = must_open(path);
        tt__store_close(&s);
        for (int i = 0; i < PROCESSES; i++) {
            int64_t stored = stored_of(path, i); /* at most one was stored, but not yet counted */
            assert_true(stored == done[i] || stored == done[i] + 1);
        }
        assert_int_equal(stored_of(path, PROCESSES - 1), TRIALS);
        assert_intact(path);
        munmap(done, PROCESSES * sizeof *done);
    }
}

static void created_by_many_at_once(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        char name[32];
        int go[2];
        pid_t pid[PROCESSES];
        snprintf(name, sizeof name, "race%d.db", round);
        const char *path = in_dir(name);
        assert_int_equal(pipe(go), 0);
        fflush(NULL);
        for (int i = 0; i < PROCESSES; i++) {
            pid[i] = fork();
            if (pid[i] == 0) {
                char byte;
                tt__store *s;
                int64_t id;
                close(go[1]);
                check(read(go[0], &byte, 1) == 0); /* all start when the pipe is closed */
                check(tt__store_open(&s, path, TT__STORE_READ_WRITE) == TT_OK);
                check(tt__store_gpu(s, &h100, &id) == TT_OK);
                check(id == 1);
                tt__store_close(&s);
                _exit(0);
            }
        }
        close(go[0]);
        close(go[1]);
        for (int i = 0; i < PROCESSES; i++) {
            int status;
            waitpid(pid[i], &status, 0);
            assert_int_equal(status, 0);
        }
        assert_int_equal(raw_sql(path, "SELECT count(*) FROM gpu"), 1);
        assert_intact(path);
    }
}

/* What POSIX knows of the locks on a file: could another process write to all of it now? */
static bool is_locked(const char *path) {
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool yes = fd >= 0 && fcntl(fd, F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
    close(fd);
    return yes;
}

static void in_child(void (*attempt)(void *), void *user) {
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        attempt(user);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void try_inherited(void *user) {
    tt__store *inherited = user, *mine;
    static const char *const names[] = {"f.db", "other.db", ":memory:"};
    check(tt__store_forked(inherited));
    for (int i = 0; i < 3; i++) {
        check(tt__store_open(&mine, i < 2 ? in_dir(names[i]) : names[i], TT__STORE_READ_WRITE) == TT_E_DB);
        check(!mine && strstr(tt_last_error(), "was forked while one was open"));
    }
    tt__store_close(&inherited);
    check(!inherited && is_locked(in_dir("f.db")));
    check(access(in_dir("f.db-wal"), F_OK) == 0); /* a last close would have removed it */
    check(tt__store_open(&mine, in_dir("f.db"), TT__STORE_READ_ONLY) == TT_E_DB);
}

static void try_own(void *user) {
    tt__store *s;
    int64_t id;
    (void)user;
    check(tt__store_open(&s, in_dir("f.db"), TT__STORE_READ_WRITE) == TT_OK);
    check(tt__store_gpu(s, &h100, &id) == TT_OK);
    tt__store_close(&s);
}

/* A child has SQLite's list of locks, but no locks. */
static void refuses_after_a_fork(void **state) {
    (void)state;
    tt__store *s = must_open(in_dir("f.db"));
    some_ids(s);
    assert_false(tt__store_forked(s));
    in_child(try_inherited, s);
    assert_true(access(in_dir("other.db"), F_OK) != 0);
    some_ids(s); /* it is as it was for the parent */
    tt__store_close(&s);
    in_child(try_own, NULL);
    assert_int_equal(raw_sql(in_dir("f.db"), "SELECT count(*) FROM run"), 2);
    assert_intact(in_dir("f.db"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(groups_writes),        TEST(checks_keys_after_a_group), TEST(waits_for_others),
        TEST(many_processes),       TEST(killed_processes),          TEST(created_by_many_at_once),
        TEST(refuses_after_a_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
