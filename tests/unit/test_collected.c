/*
 * Files of collected problems: what is read and what is named, sums, many processes, and files that must not
 * be lost.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/read_file.h"
#include "db/collected.h"
#include "tuner/cli/commands/collected.h"

#define HEADER "{\"tiletune_collected\":1}\n"
#define LINE(launches)                                                                                       \
    "{\"operation\":\"transpose\",\"problem\":\"rows=5\",\"gpu\":\"G\",\"launches\":" launches               \
    ",\"time_us\":2.5}\n"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char folder[] = "/tmp/tiletune-collected-XXXXXX", path[64];

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/asked.json", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void write_bytes(const char *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_text(const char *text) {
    write_bytes(text, strlen(text));
}

static void is_text(const char *expected) {
    tt__str text;
    assert_int_equal(tt__read_file(&text, path), TT_OK);
    assert_string_equal(tt__str_text(&text), expected);
    tt__str_free(&text);
}

static tt__collected item(const char *values, uint64_t launches, double time_us) {
    tt__collected c = {.values = (char *)values, .launches = launches, .time_us = time_us};
    strcpy(c.gpu, "G");
    strcpy(c.op, "transpose");
    return c;
}

static void refused(tt_status got, tt_status expected, const char *words) {
    assert_int_equal(got, expected);
    if (!strstr(tt_last_error(), words))
        fail_msg("\"%s\" lacks \"%s\"", tt_last_error(), words);
}

/* What costs most comes first. Sums weigh times by launches. */
static void test_adds_up(void **state) {
    (void)state;
    const tt__collected first[] = {item("rows=5", 10, 2), item("rows=6", 1, 100)},
                        second[] = {item("rows=5", 30, 4), item("rows=7,warm", 2, 3)};
    unlink(path);
    assert_int_equal(tt__collection_add(path, first, 2, 0), TT_OK);
    assert_int_equal(tt__collection_add(path, second, 2, 0), TT_OK);
    assert_int_equal(tt__collection_add(path, NULL, 0, 0), TT_OK);
    is_text(
        HEADER
        "{\"operation\":\"transpose\",\"problem\":\"rows=5\",\"gpu\":\"G\",\"launches\":40,\"time_us\":3.5}\n"
        "{\"operation\":\"transpose\",\"problem\":\"rows=6\",\"gpu\":\"G\",\"launches\":1,\"time_us\":100}\n"
        "{\"operation\":\"transpose\",\"problem\":\"rows=7,warm\",\"gpu\":\"G\",\"launches\":2,"
        "\"time_us\":3}\n");
}

/* Files that were joined are read as if one program had written them. */
static void test_joined(void **state) {
    (void)state;
    const char *const lines = HEADER
        "{\"operation\":\"transpose\",\"problem\":\"rows=6\",\"gpu\":\"G\",\"launches\":1,\"time_us\":100}\n"
        "{\"operation\":\"transpose\",\"problem\":\"rows=5\",\"gpu\":\"G\",\"launches\":30,\"time_us\":3}\n"
        "{\"operation\":\"transpose\",\"problem\":\"rows=7\",\"gpu\":\"G\",\"launches\":1,\"time_us\":9}\n";
    char twice[1024];
    tt__collection read;
    snprintf(twice, sizeof twice, "%s%s", lines, lines);
    write_text(twice);
    assert_int_equal(tt__collection_read(&read, path, NULL, NULL), TT_OK);
    assert_int_equal(read.n, 3);
    const char *const values[] = {"rows=6", "rows=5", "rows=7"};
    const unsigned launches[] = {2, 60, 2};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(read.items[i].values, values[i]);
        assert_int_equal(read.items[i].launches, launches[i]);
    }
    assert_true(read.items[1].time_us == 3);
    tt__collection_free(&read);
}

/* The same problem is another one on another GPU, or of another text or file. */
static void test_tells_apart(void **state) {
    (void)state;
    tt__collected c[4];
    tt__collection read;
    for (size_t i = 0; i < 4; i++)
        c[i] = item("rows=5", 1 + i, 1);
    strcpy(c[1].gpu, "H");
    c[2].kernel = (char *)"/a \"b\"\n.cu";
    strcpy(c[2].text, HASH);
    c[3] = c[2];
    c[3].kernel = (char *)"/b.cu";
    c[3].launches = 1;
    unlink(path);
    assert_int_equal(tt__collection_add(path, c, 4, 0), TT_OK);
    assert_int_equal(tt__collection_read(&read, path, NULL, NULL), TT_OK);
    assert_int_equal(read.n, 4);
    assert_int_equal(read.n_bad, 0);
    assert_int_equal(read.version, TT__COLLECTED_VERSION);
    assert_string_equal(read.items[0].kernel, "/a \"b\"\n.cu");
    assert_string_equal(read.items[0].text, HASH);
    tt__collection_free(&read);
}

static void say(void *user, const char *why) {
    tt__copy(user, 512, why);
}

/* A bad line is named, costs only itself, and stays in the file. */
static void test_bad_lines(void **state) {
    static const struct {
        const char *line, *why;
    } bad[] = {
        {"nonsense", "the line is not JSON"},
        {"{\"operation\":\"transpose\",\"problem\":\"rows=5\",\"gpu\":\"G\",\"launc", "the line is not JSON"},
        {"[]", "operation is missing"},
        {"7", "operation is missing"},
        {"null", "operation is missing"},
        {"{\"operation\":5}", "operation is 5"},
        {"{\"operation\":\"\"}", "operation is "},
        {"{\"operation\":\"t\",\"problem\":1}", "problem is 1"},
        {"{\"operation\":\"t\",\"problem\":\"n=1\"}", "gpu is missing"},
        {"{\"operation\":\"t\",\"problem\":\"n=1\",\"gpu\":\"G\",\"kernel\":1}", "kernel is 1"},
        {"{\"operation\":\"t\",\"problem\":\"n=1\",\"gpu\":\"G\",\"kernel\":\"a.cu\"}", "text is missing"},
        {"{\"operation\":\"t\",\"problem\":\"n=1\",\"gpu\":\"G\",\"kernel\":\"a.cu\",\"text\":\"XY\"}",
         "text is XY"},
        {LINE("0"), "launches is 0"},
        {LINE("-3"), "launches is -3"},
        {LINE("1.5"), "launches is 1.5"},
        {LINE("1e999"), "launches is "},
        {LINE("\"many\""), "launches is many"},
        {LINE("99999999999999999999"), "launches is "},
        {"{\"operation\":\"t\",\"problem\":\"n=1\",\"gpu\":\"G\",\"launches\":1,\"time_us\":-1}",
         "time_us is -1"},
        {"{\"operation\":\"t\",\"problem\":\"n=1\",\"gpu\":\"G\",\"launches\":1,\"time_us\":1e300}",
         "time_us is "},
        {"{\"operation\":\"t\",\"problem\":\"n=1\",\"gpu\":\"G\",\"launches\":1,\"time_us\":\"NaN\"}",
         "time_us is NaN"},
        {"{\"operation\":\"t\",\"problem\":\"n=1\",\"gpu\":\"G\",\"launches\":1}", "time_us is missing"},
    };
    (void)state;
    const tt__collected more = item("rows=5", 2, 2.5);
    for (size_t i = 0; i < TT__COUNT(bad); i++) {
        char text[2048], why[512] = "", expected[512], line[512];
        tt__collection read;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(bad[i].line, "\n"), bad[i].line);
        snprintf(text, sizeof text, HEADER "%s\n" LINE("3"), line);
        write_text(text);
        assert_int_equal(tt__collection_read(&read, path, say, why), TT_OK);
        snprintf(expected, sizeof expected, "%s:2: %s", path, bad[i].why);
        if (strncmp(why, expected, strlen(expected)) != 0)
            fail_msg("\"%s\" is not \"%s\"", why, expected);
        assert_int_equal(read.n, 1);
        assert_int_equal(read.n_bad, 1);
        assert_int_equal(read.items[0].launches, 3);
        tt__collection_free(&read);
        assert_int_equal(tt__collection_add(path, &more, 1, 0), TT_OK);
        snprintf(text, sizeof text, HEADER LINE("5") "%s\n", line);
        is_text(text);
    }
}

/* A file that ends in the middle, or lost its first line, or has bytes that are no text. */
static void test_damaged(void **state) {
    static const char with_nul[] = HEADER LINE("3") "{\"oper\0ation\"}\n" LINE("4");
    (void)state;
    tt__collection read;
    write_text("ction\":1}\n" LINE("3"));
    assert_int_equal(tt__collection_read(&read, path, NULL, NULL), TT_OK);
    assert_int_equal(read.n, 1);
    assert_int_equal(read.version, 0);
    tt__collection_free(&read);
    assert_int_equal(tt__collection_add(path, &(tt__collected){0}, 0, 0), TT_OK);
    write_bytes(with_nul, sizeof with_nul - 1);
    assert_int_equal(tt__collection_read(&read, path, NULL, NULL), TT_OK);
    assert_int_equal(read.n, 1);
    assert_int_equal(read.items[0].launches, 7);
    assert_int_equal(read.n_bad, 1);
    tt__collection_free(&read);
    write_text("");
    assert_int_equal(tt__collection_read(&read, path, NULL, NULL), TT_OK);
    assert_int_equal(read.n, 0);
    tt__collection_free(&read);
}

/* What is not ours is left as it is. */
static void test_leaves_other_files(void **state) {
    static const char *const others[] = {"extern \"C\" __global__ void f() {}\n", "\n\nnot ours",
                                         "SQLite format 3", "{\"tiletune_collected\":4294967297}\n",
                                         "{\"tiletune_collected\":2}\n" LINE("3")};
    (void)state;
    const tt__collected more = item("rows=5", 2, 2.5);
    for (size_t i = 0; i < TT__COUNT(others); i++) {
        const char *words = i < 3   ? "is not a file of collected problems: name another one"
                            : i < 4 ? "by a newer tiletune (version 2147483647, this one writes 1)"
                                    : "by a newer tiletune (version 2, this one writes 1): name another file";
        write_text(others[i]);
        refused(tt__collection_add(path, NULL, 0, 0), TT_E_INVALID, words);
        refused(tt__collection_add(path, &more, 1, 0), TT_E_INVALID, words);
        is_text(others[i]);
    }
    tt__collection read; /* what is known of a newer one can be used */
    assert_int_equal(tt__collection_read(&read, path, NULL, NULL), TT_OK);
    assert_int_equal(read.n, 1);
    assert_int_equal(read.version, 2);
    tt__collection_free(&read);
    refused(tt__collection_add(folder, NULL, 0, 0), TT_E_IO, "cannot be opened");
    refused(tt__collection_add("/dev/null", NULL, 0, 0), TT_E_INVALID, "is not a regular file");
    refused(tt__collection_add("/nonexistent/x", NULL, 0, 0), TT_E_IO, "No such file");
    unlink(path);
    assert_int_equal(symlink("elsewhere", path), 0);
    refused(tt__collection_add(path, NULL, 0, 0), TT_E_INVALID, "is a symbolic link: name the file itself");
    unlink(path);
}

static void test_keeps_rights(void **state) {
    struct stat is;
    (void)state;
    const tt__collected more = item("rows=5", 2, 2.5);
    write_text(HEADER);
    assert_int_equal(chmod(path, 0640), 0);
    const uid_t owner = geteuid() == 0 ? 12345 : geteuid(); /* root may give it away */
    assert_int_equal(chown(path, owner, (gid_t)-1), 0);
    assert_int_equal(tt__collection_add(path, &more, 1, 0), TT_OK);
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0640);
    assert_int_equal(is.st_uid, owner);
}

/* The file is replaced, so its folder must be writable. That is said at once, also if nothing is to be added.
 * Root may write everywhere. */
static void test_needs_its_folder(void **state) {
    (void)state;
    const tt__collected more = item("rows=5", 2, 2.5);
    const bool is_root = geteuid() == 0;
    write_text(HEADER);
    assert_int_equal(chmod(path, 0666), 0);
    for (size_t n = 0; n < 2; n++) {
        assert_int_equal(chmod(folder, 0555), 0);
        if (is_root && seteuid(65534) != 0) /* a container may not know this user */
            skip();
        const tt_status got = tt__collection_add(path, &more, n, 0);
        if (is_root)
            assert_int_equal(seteuid(0), 0);
        assert_int_equal(chmod(folder, 0700), 0);
        refused(got, TT_E_IO,
                "/asked.json: cannot make a file beside it: Permission denied: name another file");
        is_text(HEADER);
    }
}

static void test_waits_for_others(void **state) {
    (void)state;
    const tt__collected more = item("rows=5", 2, 2.5);
    write_text(HEADER);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(flock(fileno(f), LOCK_EX), 0);
    refused(tt__collection_add(path, &more, 1, 0.02), TT_E_IO, "other processes have written");
    is_text(HEADER);
    fclose(f);
}

enum { PROCESSES = 8, TIMES = 25 };

/* No count is lost. */
static void test_many_processes(void **state) {
    (void)state;
    pid_t children[PROCESSES];
    tt__collection read;
    unlink(path);
    for (int i = 0; i < PROCESSES; i++)
        if ((children[i] = fork()) == 0) {
            char own[32];
            int wrong = 0;
            snprintf(own, sizeof own, "rows=%d", 100 + i);
            const tt__collected both[] = {item("rows=5", 1, 2), item(own, 2, 2)};
            for (int k = 0; k < TIMES; k++)
                wrong |= tt__collection_add(path, both, 2, 60) != TT_OK;
            _exit(wrong);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(tt__collection_read(&read, path, NULL, NULL), TT_OK);
    assert_int_equal(read.n, 1 + PROCESSES);
    assert_int_equal(read.items[0].launches, PROCESSES * TIMES);
    for (size_t i = 1; i < read.n; i++)
        assert_int_equal(read.items[i].launches, 2 * TIMES);
    tt__collection_free(&read);
}

/* The problems that cost least go. */
static void test_is_bounded(void **state) {
    (void)state;
    enum { N = TT__COLLECTED_MAX + 100 };
    tt__collected *items = calloc(N, sizeof *items);
    char(*texts)[24] = calloc(N, sizeof *texts);
    tt__collection read;
    assert_true(items && texts);
    for (int i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "rows=%d", i + 1);
        items[i] = item(texts[i], (uint64_t)i + 1, 2);
    }
    unlink(path);
    assert_int_equal(tt__collection_add(path, items, N, 0), TT_OK);
    assert_int_equal(tt__collection_add(path, items + N - 1, 1, 0), TT_OK);
    assert_int_equal(tt__collection_read(&read, path, NULL, NULL), TT_OK);
    assert_int_equal(read.n, TT__COLLECTED_MAX);
    assert_int_equal(read.items[0].launches, 2 * N);
    assert_int_equal(read.items[read.n - 1].launches, 101);
    tt__collection_free(&read);
    free(texts);
    free(items);
}

/* Its launches in all, and as much for each to set it up. */
static void test_worth(void **state) {
    static const struct {
        tt__collected is[3];
        double worth[3];
    } cases[] = {
        {{{.launches = 300, .time_us = 4}, {.launches = 9, .time_us = 40}, {.launches = 10, .time_us = 24}},
         {1200 + 150, 360 + 150, 240 + 150}},
        {{{.launches = 0}}, {1, 1, 1}}, /* not known */
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        tt__asked items[3] = {{.is = &cases[i].is[0]}, {.is = &cases[i].is[1]}, {.is = &cases[i].is[2]}};
        double worth[3];
        tt__asked_worth(&(tt__asked_list){.n = 3, .items = items}, worth);
        for (size_t k = 0; k < 3; k++)
            assert_true(worth[k] == cases[i].worth[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adds_up),          cmocka_unit_test(test_joined),
        cmocka_unit_test(test_tells_apart),      cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_damaged),          cmocka_unit_test(test_leaves_other_files),
        cmocka_unit_test(test_keeps_rights),     cmocka_unit_test(test_needs_its_folder),
        cmocka_unit_test(test_waits_for_others), cmocka_unit_test(test_many_processes),
        cmocka_unit_test(test_is_bounded),       cmocka_unit_test(test_worth),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
