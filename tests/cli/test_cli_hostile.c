/* `tune` on files that are made to hold it up or to do harm. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/str.h"
#include "run.h"
#include "write_in.h"

static const char *folder;

static int enter(void **state) {
    (void)state;
    folder = run_enter_without_gpu();
    return 0;
}

/* A path in the folder; of the last one alone. */
static const char *at(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Runs a line with @ replaced by the folder and % by `what`. Expects its text within a few seconds. */
static void expect(int code, const char *says, const char *line, const char *what) {
    enum { SECONDS = 20 };
    char text[1024] = "";
    size_t n = 0;
    for (const char *c = line; *c; c++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s", *c == '@' || *c == '%' ? 256 : 1,
                              *c == '@'   ? folder
                              : *c == '%' ? what
                                          : c);
    run_result r;
    run_tune(&r, &(run_spec){.timeout_s = SECONDS}, text);
    if (r.code != code || !strstr(r.err, says))
        print_error("tune %s\n", text);
    assert_code(&r, code);
    assert_has(&r, r.err, says);
    run_free(&r);
}

static void reads_regular_files_only(void **state) {
    (void)state;
    static const char *const lines[] = {
        "check %",
        "--kernel % --db :memory:",
        "--sizes 64 --template % --db :memory:",
        "--sizes 64 --device replay:%",
        "import % --db @/x.db",
        "merge @/x.db %",
        "import-t1 %",
        "check @/includes.cu",
        "best --size 64 --gpu H200 --template %",
    };
    static const struct {
        const char *what, *says;
    } files[] = {
        {"/dev/zero", "regular file"}, {"fifo", "regular file"}, {"/proc/self/pagemap", "goes on behind"}};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char what[256], includes[512];
        snprintf(what, sizeof what, "%s", *files[f].what == '/' ? files[f].what : at(files[f].what));
        if (*files[f].what != '/')
            assert_int_equal(mkfifo(what, 0600), 0);
        snprintf(includes, sizeof includes, "#include \"%s\"\n", what);
        write_in(folder, "includes.cu", includes);
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            const bool script = strncmp(lines[i], "import-t1", 9) == 0; /* it has one code for all */
            const bool endless = strstr(what, "pagemap");
            expect(script || (strstr(lines[i], "includes.cu") && !endless) ? 2 : 1,
                   script && endless ? "more than 1048576 bytes, which is the limit" : files[f].says,
                   lines[i], what);
        }
    }
}

static void says_the_limit(void **state) {
    (void)state;
    write_in(folder, "large.cu", "");
    assert_int_equal(truncate(at("large.cu"), 5 << 20), 0);
    expect(1, "large.cu: it has 5242880 bytes, the limit is 4194304", "check %", at("large.cu"));
    write_in(folder, "large.json", "{");
    assert_int_equal(truncate(at("large.json"), INT64_C(1) << 40), 0);
    expect(1, "it has 1099511627776 bytes, the limit is 1000000000", "--sizes 64 --device replay:%",
           at("large.json"));
}

/* A store, and a connection that keeps all others from writing to it. */
static sqlite3 *locked_store(void) {
    sqlite3 *db;
    run_result r;
    char line[512];
    snprintf(line, sizeof line, "merge %s/s.db %s", folder, getenv("TT_RECORDING"));
    run_tune(&r, &(run_spec){.timeout_s = 60}, line);
    assert_code(&r, 0);
    run_free(&r);
    assert_int_equal(sqlite3_open(at("s.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* A bad input is reported before the store that it should go into is locked. */
static void reads_before_it_locks(void **state) {
    (void)state;
    sqlite3 *db = locked_store(), *bad;
    assert_int_equal(sqlite3_open(at("bad.db"), &bad), SQLITE_OK);
    assert_int_equal(sqlite3_exec(bad, "CREATE TABLE t (x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(bad);
    expect(4, "of another program", "merge @/s.db @/bad.db", "");
    write_in(folder, "bad.json", "{}");
    expect(2, "not a recording", "import --db @/s.db @/bad.json", "");
    sqlite3_close(db);
}

static const int *sent;

static void send_once(void *user, pid_t pid, double seconds, const char *err) {
    (void)err;
    if (seconds > 1 && !(*(double *)user > 0)) {
        kill(pid, *sent);
        *(double *)user = seconds;
    }
}

static void a_signal_ends_the_wait(void **state) {
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sqlite3 *db = locked_store();
    char line[512];
    snprintf(line, sizeof line, "--sizes 4096 --db %s/s.db --device replay:%s", folder,
             getenv("TT_RECORDING"));
    for (size_t i = 0; i < 3; i++) {
        double at_s = 0;
        run_result r;
        sent = &signals[i];
        run_tune(&r, &(run_spec){.timeout_s = 40, .meanwhile = send_once, .user = &at_s}, line);
        assert_code(&r, 130);
        assert_has(&r, r.err, "run the same command again");
        assert_true(at_s > 0 && r.seconds - at_s < 20); /* half a second where nothing else runs */
        run_free(&r);
    }
    sqlite3_close(db);
}

/* Fails if a terminal would do anything but show it, or if it is no UTF-8. */
static void assert_harmless(const run_result *r, const char *line) {
    const char *const texts[] = {r->out, r->err};
    for (int i = 0; i < 2; i++) {
        char *copy = strdup(texts[i]);
        tt__clean(copy, TT__CLEAN_TEXT);
        if (strcmp(copy, texts[i]) != 0)
            fail_msg("tune %s: %s", line, copy);
        free(copy);
    }
}

/* A title, a colour, the C1 code that begins a sequence, a turn of the direction, and no UTF-8. */
#define EVIL "1b5d303b6576696c071b5b33316dc29b33316de280aeff"

static void shows_no_escape_sequences(void **state) {
    (void)state;
    static const char sql[] =
        "UPDATE gpu SET name = CAST(x'" EVIL "' AS TEXT) || name, mig = CAST(x'" EVIL "' AS TEXT);"
        "UPDATE env SET driver = CAST(x'" EVIL
        "' AS TEXT); UPDATE trial SET status = 1, time = 0, samples = NULL,"
        " reason = CAST(x'" EVIL "' AS TEXT) WHERE config_id % 2;";
    static const char *const lines[] = {
        "list --db @/s.db",
        "list --db @/s.db --json",
        "list --db @/s.db --gpu nosuch",
        "show --db @/s.db --gpu h200 --size 4096",
        "show --db @/s.db --gpu h200 --size 4096 --json",
        "best --db @/s.db --gpu h200 --size 4096",
        "best --db @/s.db --gpu h200 --size 4096 --json",
        "best --db @/s.db --size 4096",
        "export --db @/s.db --gpu h200 --output @/r.json",
        "import --db @/t.db @/r.json",
        "show --db @/t.db --gpu h200 --size 4096",
        "merge @/m.db @/s.db",
        "show --db @/m.db --gpu h200 --size 4096 --json",
        "check --db @/s.db",
        "check --db @/m.db",
        "doctor --db @/s.db",
        "--sizes 4096 --db @/n.db --device replay:@/r.json",
        "check @/evil.cu",
        "--kernel @/evil.cu --db :memory:",
    };
    sqlite3 *db = locked_store();
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    write_in(folder, "evil.cu", "//@ kernel \x1b]0;evil\x07\xff\n//@ param \xc2\x9b 1 2\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[1024] = "";
        size_t n = 0;
        run_result r;
        for (const char *c = lines[i]; *c; c++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%.*s", *c == '@' ? 256 : 1,
                                  *c == '@' ? folder : c);
        run_tune(&r, &(run_spec){.timeout_s = 60}, text);
        assert_harmless(&r, text);
        run_free(&r);
    }
}

/* In a shell, where limits and redirections are said. */
__attribute__((format(printf, 3, 0))) static void expect_in_shell(int code, const char *says,
                                                                  const char *format) {
    char script[1024];
    run_result r;
    snprintf(script, sizeof script, format, folder, folder);
    const char *const argv[] = {"sh", "-c", script, NULL};
    run(&r, argv, &(run_spec){.timeout_s = 60});
    if (r.code != code || !strstr(r.err, says))
        print_error("%s\n", script);
    assert_code(&r, code);
    assert_has(&r, r.err, says);
    run_free(&r);
}

static void says_what_ran_out(void **state) {
    (void)state;
    expect_in_shell(1, "cannot write to standard output: No space left on device", "$TUNE help >/dev/full");
    expect_in_shell(1, "cannot write to standard output: No space left on device",
                    "$TUNE help --man >/dev/full");
    expect_in_shell(1, "cannot write to standard output: No space left on device",
                    "$TUNE list --json >/dev/full");
    expect_in_shell(1, "cannot write to standard output: No space left on device",
                    "$TUNE report --json --device replay:$TT_RECORDING >/dev/full");
    expect_in_shell(1, "cannot write full: No space left on device", /* what was there stays */
                    "cd %s; ln -s /dev/full full; $TUNE report --device replay:$TT_RECORDING --output full; "
                    "code=$?; test -h full || exit 1; exit $code");
    expect_in_shell(4, "File too large", "ulimit -f 8; $TUNE merge %s/f.db $TT_RECORDING");
    expect_in_shell(0, "", "env -u HOME -u XDG_DATA_HOME $TUNE best --gpu H200 --size 4096");
    expect_in_shell(2, "HOME is not set", "env -u HOME -u XDG_DATA_HOME $TUNE list");
    expect_in_shell(0, "", "env -u HOME -u XDG_DATA_HOME $TUNE list --gpu H200");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, run_leave)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(reads_regular_files_only),  TEST(says_the_limit),
        TEST(reads_before_it_locks),     TEST(a_signal_ends_the_wait),
        TEST(shows_no_escape_sequences), TEST(says_what_ran_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
