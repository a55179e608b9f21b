/*
 * Look-ups of problems that nobody measured: they ask no SQL, write nothing, and do not wait for a thread
 * that stores. Run it under ThreadSanitizer, too.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "dispatch/snapshot.h"
#include "dispatch/store_layers.h"
#include "fault/sql.h"

enum { NEW = 300, READERS = 4, ROUNDS = 40 };

static char folder[] = "/tmp/tiletune-lookup-XXXXXX", path[64];

static void ok(tt_status status) {
    if (status != TT_OK)
        fail_msg("%s", tt_last_error());
}

static tt_ctx *open_store(void) {
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = path;
    opts.gpu = "NVIDIA H200";
    ok(tt_open(&ctx, &opts));
    return ctx;
}

static tt_choice ask(tt_ctx *ctx, int64_t i, bool permute) {
    tt_choice c = TT_INIT(tt_choice);
    tt_problem p = TT_INIT(tt_problem);
    tt_permutation q = TT_INIT(tt_permutation);
    const int64_t dims[] = {8, 30 + i, 12, 64};
    const int perm[] = {0, 2, 1, 3};
    p.rows = 1001 + i;
    p.cols = 77 + 2 * i;
    if (permute) {
        q.rank = 4;
        q.dims = dims;
        q.perm = perm;
        p = (tt_problem){.size = sizeof p, .permutation = &q};
    }
    ok(tt_best(&c, ctx, &p));
    return c;
}

/* The versions of the stores are looked at once a second: two statements, and their steps. */
static void a_new_problem_asks_no_sql(void **state) {
    (void)state;
    tt_ctx *ctx = open_store();
    for (int permute = 0; permute < 2; permute++)
        ask(ctx, 0, permute);
    const double began_s = tt__now_s();
    const long calls = sql_call_count();
    for (int i = 1; i < NEW; i++)
        for (int permute = 0; permute < 2; permute++)
            ask(ctx, i, permute);
    const double seconds = tt__now_s() - began_s;
    const long more = sql_call_count() - calls, versions = 8 * (long)(seconds + 2);
    if (more > versions)
        fail_msg("%ld calls of SQLite in %.1f s for %d problems", more, seconds, 2 * NEW);
    tt_close(&ctx);
}

static tt_status count(void *user, int64_t id, const tt__problem *p) {
    (void)id, (void)p;
    ++*(int *)user;
    return TT_OK;
}

static void a_new_problem_writes_nothing(void **state) {
    (void)state;
    int n = 0;
    tt_ctx *ctx = open_store(), *other = open_store();
    int64_t before, after;
    ok(tt__store_version(other->store, &before));
    for (int i = 0; i < NEW; i++)
        ask(ctx, i, i % 2);
    ok(tt__store_version(other->store, &after));
    assert_int_equal(before, after);
    ok(tt__store_problems(other->store, count, &n));
    assert_int_equal(n, 0);
    tt_close(&other);
    tt_close(&ctx);
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

typedef struct sharing {
    tt_ctx *ctx;
    atomic_bool done;
    atomic_int asked;
} sharing;

static void *look_up(void *arg) {
    sharing *s = arg;
    for (int i = 0; !atomic_load(&s->done); i++) {
        tt_choice c = ask(s->ctx, i % 1000, false);
        if (!c.config[0])
            return s;
        atomic_fetch_add(&s->asked, 1);
    }
    return NULL;
}

/* Readers hold what they use, while each new winner makes the next snapshot. */
static void read_while_it_changes(void **state) {
    (void)state;
    const tt__env env = {"580.159.04", "13.0", TT__METHOD};
    sharing s = {.ctx = open_store()};
    pthread_t readers[READERS];
    tt__store *store;
    int64_t gpu, run, config, problem;
    ok(tt__store_open(&store, path, TT__STORE_READ_WRITE));
    ok(tt__store_gpu(store, &tt__shipped[0].gpu, &gpu));
    ok(tt__store_run_begin(store, gpu, &env, "measured", &run));
    ok(tt__store_config(store, tt__shipped[0].kernel, "transpose", tt__shipped[0].hash, tt__shipped[0].config,
                        &config));
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, look_up, &s), 0);
    for (int i = 0; i < ROUNDS; i++) {
        tt__winner w = {.time_us = 50};
        tt__problem p = tt__shipped[0].problem;
        tt__problem_set(&p, "rows", 5000 + i);
        tt__problem_set(&p, "ldd", 5000 + i);
        ok(tt__store_problem(store, &p, &problem));
        ok(tt__store_winner_put(store, run, problem, config, &w));
        tt__knowledge_forget(s.ctx);
    }
    for (int ms = 0; ms < 10000 && atomic_load(&s.asked) == 0; ms++) /* a busy machine starts threads late */
        usleep(1000);
    atomic_store(&s.done, true);
    int n_wrong = 0;
    for (int i = 0; i < READERS; i++) { /* all of them, before one fails the test: they use the store */
        void *wrong;
        pthread_join(readers[i], &wrong);
        n_wrong += wrong != NULL;
    }
    assert_int_equal(n_wrong, 0);
    assert_true(atomic_load(&s.asked) > 0);
    tt__store_close(&store);
    tt_close(&s.ctx);
}

/* A thread that uses the store for long keeps no other from looking up. */
static void nobody_waits_for_the_store(void **state) {
    (void)state;
    enum { ASKED = 200 };
    sharing s = {.ctx = open_store()};
    pthread_t reader;
    void *wrong;
    ask(s.ctx, 0, false);
    pthread_mutex_lock(&s.ctx->lock);
    assert_int_equal(pthread_create(&reader, NULL, look_up, &s), 0);
    const double until_s = tt__now_s() + 20;
    while (atomic_load(&s.asked) < ASKED && tt__now_s() < until_s)
        usleep(1000);
    atomic_store(&s.done, true);
    const int asked = atomic_load(&s.asked);
    pthread_mutex_unlock(&s.ctx->lock);
    pthread_join(reader, &wrong);
    assert_null(wrong);
    assert_true(asked >= ASKED);
    tt_close(&s.ctx);
}

static int set_up(void **state) {
    (void)state;
    setenv("TILETUNE_SYSTEM_DB", "", 1);
    if (!sql_hook() || !mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.db", folder);
    return 0;
}

static int clean_up(void **state) {
    static const char *const beside[] = {"", "-wal", "-shm"};
    char name[80];
    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        unlink(name);
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_problem_asks_no_sql),
        cmocka_unit_test(a_new_problem_writes_nothing),
        cmocka_unit_test(nobody_waits_for_the_store),
        cmocka_unit_test(read_while_it_changes),
    };
    return tt__n_shipped ? cmocka_run_group_tests(tests, set_up, clean_up) : 77;
}
