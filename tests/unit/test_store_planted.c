/*
 * Files that another user can put beside a store, or replace it with.
 */
#include "store_fixture.h"

#include <errno.h>
#include <sys/stat.h>

enum { STRANGER = 65534 };

static void refuses(const char *path, const char *words) {
    tt__store *s;
    for (int mode = 0; mode < 2; mode++) {
        assert_fails(tt__store_open(&s, path, mode ? TT__STORE_READ_ONLY : TT__STORE_READ_WRITE), TT_E_DB,
                     words);
        assert_null(s);
    }
}

static void opens(const char *path) {
    tt__store *s;
    for (int mode = 0; mode < 2; mode++) {
        assert_ok(tt__store_open(&s, path, mode ? TT__STORE_READ_ONLY : TT__STORE_READ_WRITE));
        tt__store_close(&s);
    }
}

/* A store with a foreign -wal file: SQLite shows the winner in that log. */
static const char *planted(mode_t mode, uid_t owner) {
    unlink(in_dir("s.db-wal"));
    const char *path = a_store("s.db", 2, 50, 2), *copy = in_dir("copy.db");
    tt__store *other = must_open(copy);
    fill_store(other, 2, 1, 2);
    copy_file(in_dir("s.db-wal"), in_dir("copy.db-wal"));
    tt__store_close(&other);
    assert_int_equal(chmod(in_dir("s.db-wal"), mode), 0);
    assert_int_equal(chown(in_dir("s.db-wal"), owner, (gid_t)-1), 0);
    return path;
}

static void refuses_a_planted_log(void **state) {
    (void)state;
    tt__store *s;
    bool trusted;
    const char *path = planted(0666, geteuid());
    refuses(path, "s.db-wal (mode 0666");
    assert_ok(tt__store_open_foreign(&s, path, &trusted)); /* to be merged, as a stranger's */
    assert_false(trusted);
    tt__store_close(&s);
    if (geteuid() == 0)
        refuses(planted(0600, STRANGER), "user 65534");
    setenv("TILETUNE_TRUST_STORE", "0", 1);
    refuses(planted(0622, geteuid()), "TILETUNE_TRUST_STORE");
    setenv("TILETUNE_TRUST_STORE", in_dir("."), 1);
    refuses(path, "TILETUNE_TRUST_STORE");
    setenv("TILETUNE_TRUST_STORE", path, 1);
    opens(path);
    setenv("TILETUNE_TRUST_STORE", "1", 1);
    opens(path);
    unsetenv("TILETUNE_TRUST_STORE");
}

static void looks_at_every_side_file(void **state) {
    (void)state;
    static const char *const names[] = {"s.db-wal", "s.db-shm", "s.db-journal"};
    const char *path = a_store("s.db", 2, 50, 2);
    for (int i = 0; i < 3; i++) {
        write_file(in_dir(names[i]), "", 0);
        chmod(in_dir(names[i]), 0620);
        refuses(path, names[i]);
        chmod(in_dir(names[i]), 0600);
        opens(path);
        unlink(in_dir(names[i]));
    }
}

static void refuses_folders_of_all(void **state) {
    (void)state;
    assert_int_equal(mkdir(in_dir("ww"), 0700), 0);
    const char *path = a_store("ww/s.db", 2, 50, 2);
    chmod(in_dir("ww"), 01777); /* the sticky bit keeps what is there, and lets others add to it */
    char says[256];
    refuses(path, "others can make files in the folder");
    snprintf(says, sizeof says,
             "use a folder of your own: mkdir -m 700 %s/tiletune-%u, and name %s/tiletune-%u/s.db",
             in_dir("ww"), (unsigned)geteuid(), in_dir("ww"), (unsigned)geteuid());
    refuses(path, says);
    chmod(in_dir("ww"), 0777); /* here a folder of one's own could be moved away */
    refuses(path, "a folder of your own");
    assert_null(strstr(tt_last_error(), "mkdir"));
    chmod(in_dir("ww"), 01777);
    assert_int_equal(symlink(path, in_dir("link.db")), 0); /* the folder of the file counts */
    refuses(in_dir("link.db"), "/ww (mode 1777");
    setenv("TILETUNE_TRUST_STORE", "1", 1);
    opens(in_dir("link.db"));
    unsetenv("TILETUNE_TRUST_STORE");
    if (geteuid() == 0) {
        chmod(in_dir("ww"), 0755);
        opens(path);
        assert_int_equal(chown(in_dir("ww"), STRANGER, (gid_t)-1), 0);
        refuses(path, "user 65534");
        assert_int_equal(chown(path, STRANGER, (gid_t)-1), 0); /* named all the same: its owner is trusted */
        opens(path);
    }
}

/* Is the cubin in this store used? It is, if there is no reason. */
static void gives_code(const char *path, const char *reason) {
    tt__store *s;
    tt__str out = {0};
    bool found, trusted;
    assert_ok(tt__store_open(&s, path, TT__STORE_READ_ONLY));
    if (reason)
        assert_fails(tt__store_cubin_get(s, "k", &out, &found), TT_E_DB, reason);
    else
        assert_ok(tt__store_cubin_get(s, "k", &out, &found));
    assert_int_equal(found, !reason);
    assert_int_equal(out.len, reason ? 0 : 4);
    tt__str_free(&out);
    assert_ok(tt__store_cubin_get(s, "none", &out, &found));
    tt__store_close(&s);
    assert_ok(tt__store_open_foreign(&s, path, &trusted));
    assert_int_equal(trusted, !reason);
    tt__store_close(&s);
}

/* Whoever can change a folder on the way to it can put another store there. */
static void loads_no_code_of_others(void **state) {
    (void)state;
    assert_int_equal(mkdir(in_dir("up"), 0700), 0);
    assert_int_equal(mkdir(in_dir("up/own"), 0700), 0);
    const char *path = a_store("up/own/s.db", 2, 50, 2), *up = in_dir("up"), *own = in_dir("up/own");
    tt__store *s = must_open(path);
    assert_ok(tt__store_cubin_put(s, "k", "code", 4));
    tt__store_close(&s);
    gives_code(path, NULL);
    chmod(up, 0777); /* they could move up/own away */
    gives_code(path, "others could have put code into it");
    chmod(up, 01777);
    gives_code(path, NULL);
    assert_int_equal(chown(up, (uid_t)-1, geteuid()), 0);
    chmod(up, 0770);
    gives_code(path, NULL); /* a group of one's own, as distributions have it */
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(up, (uid_t)-1, STRANGER), 0);
    gives_code(path, "mode 0770");
    chmod(up, 01770);
    gives_code(path, NULL);
    chmod(up, 0700);
    assert_int_equal(chown(own, (uid_t)-1, STRANGER), 0);
    chmod(own, 01770); /* they can put a log beside it */
    gives_code(path, "mode 1770");
    chmod(own, 0700);
    assert_int_equal(chown(own, STRANGER, 0), 0); /* who made the folder first, and the store */
    assert_int_equal(chown(path, STRANGER, 0), 0);
    gives_code(path, "user 65534");
    setenv("TILETUNE_TRUST_STORE", path, 1);
    gives_code(path, NULL);
    setenv("TILETUNE_TRUST_STORE", up, 1);
    gives_code(path, "user 65534");
    unsetenv("TILETUNE_TRUST_STORE");
    assert_int_equal(chown(own, 0, 0), 0);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chown(up, STRANGER, 0), 0); /* its owner can move up/own away */
    gives_code(path, "user 65534");
}

static void makes_nothing_through_a_link(void **state) {
    (void)state;
    tt__store *s;
    assert_int_equal(symlink(in_dir("not-there.db"), in_dir("link.db")), 0);
    assert_fails(tt__store_open(&s, in_dir("link.db"), TT__STORE_READ_WRITE), TT_E_DB, "symbolic link leads");
    assert_int_equal(access(in_dir("not-there.db"), F_OK), -1);
}

/* Without a look at what they are, SQLite waits in open() for ever. */
static void does_not_wait_for_a_fifo(void **state) {
    (void)state;
    static const char *const names[] = {"s.db-wal", "s.db-journal"};
    tt__store *s;
    bool trusted;
    const char *path = a_store("s.db", 2, 50, 2);
    assert_int_equal(symlink(path, in_dir("link.db")), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mkfifo(in_dir(names[i]), 0600), 0);
        alarm(20);
        refuses(path, "not a regular file");
        refuses(in_dir("link.db"), "not a regular file");
        assert_fails(tt__store_open_foreign(&s, path, &trusted), TT_E_DB, names[i]);
        alarm(0);
        unlink(in_dir(names[i]));
        assert_int_equal(symlink("/dev/zero", in_dir(names[i])), 0);
        refuses(path, "not a regular file");
        unlink(in_dir(names[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(refuses_a_planted_log),   TEST(looks_at_every_side_file),     TEST(refuses_folders_of_all),
        TEST(loads_no_code_of_others), TEST(makes_nothing_through_a_link), TEST(does_not_wait_for_a_fifo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
