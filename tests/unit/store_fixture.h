/*
 * Shared by the tests of the store: a folder, example content, and SQL on the file without the store.
 */
#ifndef TT_TESTS_STORE_FIXTURE_H
#define TT_TESTS_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "db/conn.h"
#include "db/field.h"
#include "db/store.h"

/* A test in a new folder, `dir`, which is removed after it. */
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
extern char dir[64];
int make_dir(void **state);
int remove_dir(void **state);
/* A path in it; stays valid for the next 63 of them. */
const char *in_dir(const char *name);

#define assert_ok(expr)                                                                                      \
    do {                                                                                                     \
        tt_status ok_status_ = (expr);                                                                       \
        if (ok_status_ != TT_OK)                                                                             \
            fail_msg("%s: %s: %s", #expr, tt_strerror(ok_status_), tt_last_error());                         \
    } while (0)

#define assert_fails(expr, status, words)                                                                    \
    do {                                                                                                     \
        assert_int_equal(expr, status);                                                                      \
        if (!strstr(tt_last_error(), words))                                                                 \
            fail_msg("\"%s\" does not say \"%s\"", tt_last_error(), words);                                  \
    } while (0)

/* As an assertion, in a child process. */
#define check(cond)                                                                                          \
    do {                                                                                                     \
        if (!(cond)) {                                                                                       \
            fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #cond, tt_last_error());     \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

tt__store *must_open(const char *path);
/* Runs SQL on a file without the store, or returns the first number of a query. */
int64_t raw_sql(const char *path, const char *sql);
void write_file(const char *path, const void *data, size_t size);
void copy_file(const char *to, const char *from);
/* Copies a store as a process leaves it that is killed while it writes with a rollback journal. */
void copy_half_written(const char *to, const char *from);
/* SQLite finds nothing wrong with it. */
void assert_intact(const char *path);

/* ---- Examples ---------------------------------------------------------------------------------------- */

extern const tt__gpu h100;
extern const tt__env env1, env2;
void assert_same_gpu(const tt__gpu *a, const tt__gpu *b);
/* A matrix with these rows, cols, elem_size, lds, ldd, batch, src_stride, dst_stride and align. */
tt__problem matrix(const char *op, const int64_t values[9]);
tt__problem square(int64_t n);
tt__problem copy_of(int64_t bytes);
/* Of a user's kernel: the hash of its text is one character, repeated. */
tt__problem saxpy(char text, tt__type elem, int64_t n);
tt__trial good(double time_us);
tt__winner a_winner(double time_us);

typedef struct ids {
    int64_t gpu, problem, config, run;
} ids;

/* The ids of the H100, 4096 x 4096, one configuration, and a new run under env1. */
ids some_ids(tt__store *s);

/* A GPU, so many trials of one configuration each, the first of them as the winner, of so many trials, and
 * its cubin. */
ids fill_store(tt__store *s, int n_trials, double time_us, int64_t trials);
/* The path of a new store that holds these. */
const char *a_store(const char *name, int n_trials, double time_us, int64_t trials);

/* The first few trials of a walk. */
typedef struct seen {
    int n;
    tt__trial trial[4];
    char config[4][TT__CONFIG_MAX], hash[4][TT__HASH_SIZE], source[4][16];
    int64_t run[4];
    tt_status give; /* returned by the call-back */
} seen;

tt_status see(void *user, const tt__trial_row *row);
seen trials(tt__store *s, ids id, const tt__env *env, tt__stage stage);

#endif
