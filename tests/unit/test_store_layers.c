/*
 * Which of the stores answers: the user's, the system's, or a lock file.
 */
#include "ladder_fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "dispatch/ladder.h"
#include "kernel/load/builtin.h"

static void layers_answer_in_order(void **state) {
    (void)state;
    const char *user = in_dir("user.db"), *system = in_dir("system.db");
    tt__problem p = square(3000);
    setenv("TILETUNE_SYSTEM_DB", system, 1);
    crown_in(system, &h800, &p, NULL, small_config, 60);
    tt__store *s = must_open(user);
    tt__store_close(&s);
    tt_ctx *ctx = ctx_of(user, "h800"); /* a GPU that only the system's store knows */
    tt_choice c = best(ctx, &p);
    assert_int_equal(c.match, TT_MATCH_EXACT);
    assert_string_equal(c.layer, "system");
    assert_string_equal(c.config, small_config);
    c = best(ctx, &p); /* the same from memory */
    assert_string_equal(c.layer, "system");
    tt_close(&ctx);

    crown_in(user, &h800, &p, "0123", NULL, 50); /* stale here, valid there */
    ctx = ctx_of(user, "h800");
    assert_string_equal(best(ctx, &p).layer, "system");
    tt_close(&ctx);
    crown_in(system, &h800, &p, "0123", small_config, 60);
    ctx = ctx_of(user, "h800");
    c = best(ctx, &p);
    assert_int_equal(c.match, TT_MATCH_STALE);
    assert_string_equal(c.layer, "user");
    assert_non_null(strstr(c.why, "template changed"));
    tt_close(&ctx);
    crown_in(user, &h800, &p, NULL, NULL, 50);
    ctx = ctx_of(user, "h800");
    c = best(ctx, &p);
    assert_int_equal(c.match, TT_MATCH_EXACT);
    assert_string_equal(c.layer, "user");
    tt_close(&ctx);

    /* Parameters of an older text are adapted, unless a value does not exist any more. */
    crown_in(user, &h800, &p, "0123", "TILE_DIM=16 BLOCK_ROWS=16 PAD=1 GONE=5", 50);
    ctx = ctx_of(user, "h800");
    c = best(ctx, &p);
    assert_int_equal(c.match, TT_MATCH_STALE);
    assert_string_equal(c.config, small_config);
    assert_string_equal(c.layer, "user");
    tt_close(&ctx);
    crown_in(user, &h800, &p, "0123", "TILE_DIM=17 BLOCK_ROWS=16 PAD=1 GONE=5", 50);
    crown_in(system, &h800, &p, NULL, NULL, 60);
    ctx = ctx_of(user, "h800");
    assert_string_equal(best(ctx, &p).layer, "system");
    tt_close(&ctx);
    unsetenv("TILETUNE_SYSTEM_DB");
}

/* Stores that small_config was tried here for a problem. */
static void try_small(const char *path, const tt__problem *p, tt__trial_status status) {
    const tt__env env = {"580.159.04", "13.0", TT__METHOD};
    const tt__trial trial = {.status = status, .time_us = 50};
    tt_ctx *ctx = ctx_of(":memory:", NULL);
    const tt__template *t = tt__template_set_find(&ctx->templates, "transpose_tiled");
    tt__store *s = must_open(path);
    int64_t gpu_id, problem, config, run;
    assert_ok(tt__template_read(&t));
    assert_ok(tt__store_gpu(s, &h800, &gpu_id));
    assert_ok(tt__store_problem(s, p, &problem));
    assert_ok(tt__store_config(s, t->kernel, t->op, t->hash, small_config, &config));
    assert_ok(tt__store_run_begin(s, gpu_id, &env, "measured", &run));
    assert_ok(tt__store_trial_put(s, run, problem, config, TT__STAGE_SCREEN, &trial));
    tt__store_close(&s);
    tt_close(&ctx);
}

/* A configuration that was wrong for this problem is not the answer, wherever it won. */
static void what_was_wrong_here_is_no_answer(void **state) {
    (void)state;
    tt__gpu other = h800;
    strcpy(other.name, "NVIDIA H800 PCIe");
    const struct {
        tt_match match;
        const tt__gpu *gpu;
        int64_t side;
        const char *hash;
    } cases[] = {
        {TT_MATCH_STALE, &h800, 3000, "0123"},
        {TT_MATCH_NEAREST, &h800, 2900, NULL},
        {TT_MATCH_OTHER_GPU, &other, 3000, NULL},
    };
    const char *user = in_dir("wrong.db");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__problem asked = square(3000), won = square(cases[i].side);
        remove(user);
        crown_in(user, cases[i].gpu, &won, cases[i].hash, small_config, 50);
        for (int wrong = 0; wrong < 2; wrong++) {
            try_small(user, &asked, wrong ? TT__TRIAL_WRONG_RESULT : TT__TRIAL_OK);
            tt_ctx *ctx = ctx_of(user, h800.name);
            tt_choice c = best(ctx, &asked);
            if (wrong)
                assert_string_not_equal(c.layer, "user");
            else
                assert_int_equal(c.match, cases[i].match);
            tt_close(&ctx);
        }
        raw_sql(user, "UPDATE trial SET status = 0, samples = x'80'"); /* damaged: not known */
        tt_ctx *ctx = ctx_of(user, h800.name);
        assert_int_equal(best(ctx, &asked).match, cases[i].match);
        tt_close(&ctx);
    }
}

/* A damaged trial in one layer does not hide what another knows. */
static void every_layer_is_asked_what_was_wrong(void **state) {
    (void)state;
    const char *user = in_dir("wrong.db"), *system = in_dir("system.db");
    tt__problem p = square(3000);
    remove(user);
    remove(system);
    crown_in(user, &h800, &p, "0123", small_config, 50);
    try_small(user, &p, TT__TRIAL_OK);
    raw_sql(user, "UPDATE trial SET samples = x'80'");
    crown_in(system, &h800, &p, "0123", small_config, 50);
    try_small(system, &p, TT__TRIAL_WRONG_RESULT);
    setenv("TILETUNE_SYSTEM_DB", system, 1);
    tt_ctx *ctx = ctx_of(user, h800.name);
    assert_int_not_equal(best(ctx, &p).match, TT_MATCH_STALE);
    tt_close(&ctx);
    unsetenv("TILETUNE_SYSTEM_DB");
}

/* For a plan, too, a valid winner is the answer that tt_best names, though another layer knows better. */
static void a_valid_winner_stays_one(void **state) {
    (void)state;
    const char *user = in_dir("wrong.db"), *system = in_dir("system.db");
    tt__problem p = square(3000);
    tt__candidate candidate;
    tt_choice c = TT_INIT(tt_choice);
    remove(user);
    remove(system);
    crown_in(user, &h800, &p, "0123", small_config, 50);
    try_small(user, &p, TT__TRIAL_WRONG_RESULT);
    crown_in(system, &h800, &p, NULL, small_config, 60);
    setenv("TILETUNE_SYSTEM_DB", system, 1);
    tt_ctx *ctx = ctx_of(user, h800.name);
    assert_string_equal(best(ctx, &p).layer, "system");
    assert_ok(tt__ladder(ctx, &ctx->templates, &h800, &p, &c, &candidate));
    assert_string_equal(c.layer, "system");
    assert_string_equal(candidate.configuration.config, small_config);
    tt_close(&ctx);
    unsetenv("TILETUNE_SYSTEM_DB");
}

static void a_bad_system_store(void **state) {
    (void)state;
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = ":memory:";
    setenv("TILETUNE_SYSTEM_DB", in_dir("none.db"), 1);
    assert_fails(tt_open(&ctx, &opts), TT_E_DB, "TILETUNE_SYSTEM_DB: ");
    assert_fails(tt_open(&ctx, &opts), TT_E_DB, "none.db");
    setenv("TILETUNE_SYSTEM_DB", "", 1);
    assert_ok(tt_open(&ctx, &opts));
    tt_close(&ctx);
    unsetenv("TILETUNE_SYSTEM_DB");
    assert_ok(tt_open(&ctx, &opts));
    tt_close(&ctx);
}

/* As in a container whose HOME is not set, or cannot be written. */
static void answers_without_a_place_for_a_store(void **state) {
    (void)state;
    const char *file = in_dir("a file"), *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    tt__problem known = square(3000);
    tt_problem shipped = TT_INIT(tt_problem);
    unsetenv("XDG_DATA_HOME");
    write_file(file, "x", 1);
    crown_in(in_dir("system.db"), &h800, &known, NULL, small_config, 60);
    setenv("TILETUNE_SYSTEM_DB", in_dir("system.db"), 1);
    const char *homes[] = {NULL, "/proc/none", file};
    for (size_t i = 0; i < 2 * sizeof homes / sizeof *homes; i++) {
        tt_ctx *ctx = NULL;
        tt_report *report = NULL;
        tt_open_opts opts = TT_INIT(tt_open_opts);
        if (homes[i / 2])
            setenv("HOME", homes[i / 2], 1);
        else
            unsetenv("HOME");
        opts.gpu = "h800";
        opts.read_only = i % 2;
        assert_ok(tt_open(&ctx, &opts));
        assert_string_equal(best(ctx, &known).layer, "system");
        shipped.rows = shipped.cols = 4096;
        assert_fails(tt_tune(&report, ctx, &shipped, 1, NULL), TT_E_DB, "nothing was tuned");
        if (homes[i / 2] && !opts.read_only)
            assert_non_null(strstr(tt_last_error(), homes[i / 2]));
        tt_close(&ctx);
        opts.db_path = in_dir("none/x.db"); /* one that is named must be there */
        assert_fails(tt_open(&ctx, &opts), TT_E_DB, "none/x.db");
        opts.db_path = NULL;
        setenv("TILETUNE_DB", in_dir("none/x.db"), 1);
        assert_fails(tt_open(&ctx, &opts), TT_E_DB, "none/x.db");
        unsetenv("TILETUNE_DB");
    }
    mkdir(in_dir("damaged"), 0700);
    setenv("XDG_DATA_HOME", in_dir("damaged"), 1);
    mkdir(in_dir("damaged/tiletune"), 0700);
    write_file(in_dir("damaged/tiletune/tiletune.db"),
               "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
               "xxxxxxxxxxxxxxx",
               100);
    assert_int_equal(chmod(in_dir("damaged/tiletune/tiletune.db"), 0600), 0);
    tt_ctx *ctx = NULL;
    assert_fails(tt_open(&ctx, NULL), TT_E_DB, "not a tiletune store"); /* what may be lost is said */
    unsetenv("XDG_DATA_HOME");
    unsetenv("TILETUNE_SYSTEM_DB");
    if (home)
        setenv("HOME", home, 1);
    free((char *)home);
}

/* Warm and cold are two problems; what is known of one is a default for the other, also from memory. */
static void warm_and_cold(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt__problem cold = square(3000), warm = cold;
    warm.warm = true;
    tt__problem ways[] = {warm, cold};
    tt__gpu gpu = h800;
    gpu.cc = 80;                              /* no winner ships for it */
    for (int other = 0; other < 2; other++) { /* first only the one is known, then the other too */
        crown_in(user, &gpu, &ways[other], NULL, other ? NULL : small_config, 50);
        tt_ctx *ctx = ctx_of(user, "h800");
        for (int again = 0; again < 2; again++) {
            tt_choice w = best(ctx, &warm), c = best(ctx, &cold);
            assert_int_equal(w.match, TT_MATCH_EXACT);
            assert_string_equal(w.config, small_config);
            assert_int_equal(c.match, other ? TT_MATCH_EXACT : TT_MATCH_DEFAULT);
            assert_int_equal(strcmp(c.config, small_config) == 0, !other);
            assert_true(other || strstr(c.why, "as for 3000x3000, warm"));
        }
        tt_close(&ctx);
    }
}

/* Winners of another process are seen, after a moment. */
static void answers_do_not_grow_old(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt__problem p = square(3000), q = square(5000);
    crown_in(user, &h800, &p, NULL, NULL, 50);
    tt_ctx *ctx = ctx_of(user, "h800");
    assert_int_equal(best(ctx, &q).match, TT_MATCH_NEAREST);
    crown_in(user, &h800, &q, NULL, small_config, 90);
    usleep(1100000);
    tt_choice c = best(ctx, &q);
    assert_int_equal(c.match, TT_MATCH_EXACT);
    assert_string_equal(c.config, small_config);
    tt_close(&ctx);
}

/* A lock file answers alone: neither what is near nor what ships does. */
static void a_lock_file_answers_alone(void **state) {
    (void)state;
    const char *file = in_dir("user.db");
    tt__problem locked = square(3000), near = square(3001), shipped = square(4096);
    crown_in(file, &h800, &locked, "0123", small_config, 50); /* stale, and used */
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_ctx *ctx;
    opts.gpu = "h800";
    opts.lock_file = file;
    for (opts.lock_default = 0; opts.lock_default < 2; opts.lock_default++) {
        tt_choice choice = TT_INIT(tt_choice);
        assert_ok(tt_open(&ctx, &opts));
        tt_choice c = best(ctx, &locked);
        assert_int_equal(c.match, TT_MATCH_STALE);
        assert_string_equal(c.config, small_config);
        const tt__problem *others[] = {&near, &shipped};
        for (size_t i = 0; i < 2; i++) {
            tt_status status = tt__best(&choice, ctx, &ctx->templates, others[i]);
            assert_int_equal(status, opts.lock_default ? TT_OK : TT_E_NO_WINNER);
            if (opts.lock_default)
                assert_int_equal(choice.match, TT_MATCH_DEFAULT);
            else
                assert_non_null(strstr(tt_last_error(), "has no winner for the transpose of"));
        }
        tt_close(&ctx);
    }
    opts.lock_default = 0;
    opts.db_path = file;
    assert_int_equal(tt_open(&ctx, &opts), TT_E_INVALID);
    opts.db_path = NULL;
    opts.lock_file = "/none/such.lock";
    assert_int_equal(tt_open(&ctx, &opts), TT_E_DB);
    opts.lock_file = NULL;
    opts.lock_default = 1;
    assert_int_equal(tt_open(&ctx, &opts), TT_E_INVALID);
}

static void try_in_child(tt_ctx *ctx) {
    tt_problem p = TT_INIT(tt_problem);
    tt_choice c = TT_INIT(tt_choice);
    tt_ctx *mine;
    tt_kernel *kernel;
    p.rows = p.cols = 3000;
    check(tt_best(&c, ctx, &p) == TT_E_INVALID);
    check(strstr(tt_last_error(), "opened before this process was forked"));
    check(tt_kernel_open(&kernel, ctx, "k.cu", "//@ kernel k\n") == TT_E_INVALID && !kernel);
    check(strstr(tt_last_error(), "opened before this process was forked"));
    check(tt_open(&mine, NULL) == TT_E_DB && !mine);
    check(strstr(tt_last_error(), "\"spawn\""));
    tt_close(&ctx);
    check(!ctx);
}

static void a_fork_ends_it(void **state) {
    (void)state;
    int status;
    tt__problem p = square(3000);
    crown_in(in_dir("user.db"), &h800, &p, NULL, NULL, 50);
    setenv("TILETUNE_DB", in_dir("user.db"), 1);
    tt_ctx *ctx = ctx_of(NULL, "h800");
    assert_int_equal(best(ctx, &p).match, TT_MATCH_EXACT);
    pthread_mutex_lock(&ctx->lock); /* a thread of the parent, which the child does not have */
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        try_in_child(ctx);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    pthread_mutex_unlock(&ctx->lock);
    assert_int_equal(best(ctx, &p).match, TT_MATCH_EXACT);
    tt_close(&ctx);
    unsetenv("TILETUNE_DB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(layers_answer_in_order),
        TEST(what_was_wrong_here_is_no_answer),
        TEST(every_layer_is_asked_what_was_wrong),
        TEST(a_valid_winner_stays_one),
        TEST(a_bad_system_store),
        TEST(answers_without_a_place_for_a_store),
        TEST(warm_and_cold),
        TEST(answers_do_not_grow_old),
        TEST(a_lock_file_answers_alone),
        TEST(a_fork_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
