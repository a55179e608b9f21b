/*
 * The store's content: GPUs, problems, configurations, trials, winners, cubins.
 */
#include "store_fixture.h"

#include <math.h>

static void knows_gpus(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    tt__gpu gpu = h100, got;
    int64_t id, same, other;
    assert_fails(tt__store_find_gpu(s, "h100", &got, &id), TT_E_INVALID, "no GPU yet");
    assert_ok(tt__store_gpu(s, &gpu, &id));
    assert_ok(tt__store_find_gpu(s, gpu.name, &got, &same));
    assert_int_equal(same, id);
    assert_same_gpu(&got, &gpu);

    gpu.memory_bytes -= INT64_C(100) << 20; /* another driver */
    gpu.l2_bytes = 62914560;
    gpu.peak_gbps = 0;
    assert_ok(tt__store_gpu(s, &gpu, &same));
    assert_int_equal(same, id);
    assert_ok(tt__store_find_gpu(s, "H100", &got, &same));
    assert_int_equal(got.l2_bytes, 62914560);
    assert_true(got.peak_gbps > 3352 && got.peak_gbps < 3353);
    assert_int_equal(got.memory_bytes, h100.memory_bytes);

    gpu.memory_bytes /= 2;
    assert_ok(tt__store_gpu(s, &gpu, &other));
    assert_int_not_equal(other, id);
    assert_ok(tt__store_find_gpu(s, "h100", &got, &same)); /* two of one name are not ambiguous */
    strcpy(gpu.mig, "1g.10gb");
    assert_ok(tt__store_gpu(s, &gpu, &same));
    assert_int_not_equal(same, other);
    assert_ok(tt__store_run_begin(s, other, &env1, "measured", &same));
    assert_ok(tt__store_find_gpu(s, "h100", &got, &same));
    assert_int_equal(same, other); /* the one that ran last */
    assert_ok(tt__store_find_gpu(s, "nvidia h100 80gb hbm3 mig 1G.10GB", &got, &same));
    assert_string_equal(got.mig, gpu.mig);
    assert_ok(tt__store_find_gpu(s, "mig 1g", &got, &same));
    assert_string_equal(got.mig, gpu.mig);
    assert_ok(tt__store_run_begin(s, same, &env1, "measured", &same));
    assert_ok(tt__store_find_gpu(s, gpu.name, &got, &same));
    assert_string_equal(got.mig, ""); /* a whole GPU of the whole name before an instance that ran later */
    assert_fails(tt__store_find_gpu(s, "MIG 2g", &got, &same), TT_E_INVALID, "MIG 1g.10gb");

    tt__gpu named = gpu;
    named.mig[0] = '\0';
    strcpy(named.name, "other 10GB");
    assert_ok(tt__store_gpu(s, &named, &other));
    assert_ok(tt__store_find_gpu(s, "10gb", &got, &same)); /* a part of the name before one of the profile */
    assert_int_equal(same, other);
    strcpy(named.name, h100.name); /* earlier versions imported for this text */
    strcat(named.name, " MIG 1g.10gb");
    assert_ok(tt__store_gpu(s, &named, &other));
    assert_ok(tt__store_find_gpu(s, named.name, &got, &same)); /* two of one text are not ambiguous */
    assert_ok(tt__store_find_gpu(s, "mig 1g", &got, &same));   /* nor by a part: the one that ran last */
    assert_string_equal(got.mig, "1g.10gb");
    strcpy(named.name, "solo MIG 1g.10gb");
    assert_ok(tt__store_gpu(s, &named, &other));
    strcpy(named.name, "solo");
    strcpy(named.mig, "2g.20gb");
    assert_ok(tt__store_gpu(s, &named, &other));
    assert_ok(tt__store_find_gpu(s, "solo", &got, &same)); /* nor are two profiles of one name */
    tt__gpu_set_text(&got, " MIG 1g");
    assert_string_equal(got.name, " MIG 1g"); /* no name is empty */

    strcpy(gpu.name, "NVIDIA H100");
    assert_ok(tt__store_gpu(s, &gpu, &other));
    assert_ok(tt__store_find_gpu(s, "nvidia h100", &got, &same)); /* exact before part */
    assert_int_equal(same, other);
    assert_fails(tt__store_find_gpu(s, "h100", &got, &same), TT_E_INVALID, "several");
    gpu.mig[0] = '\0';
    assert_ok(tt__store_gpu(s, &gpu, &other));
    assert_fails(tt__store_find_gpu(s, "a100", &got, &same), TT_E_INVALID,
                 "it has: NVIDIA H100 80GB HBM3, NVIDIA H100 80GB HBM3 MIG 1g.10gb, other 10GB, "
                 "solo MIG 1g.10gb, solo MIG 2g.20gb, NVIDIA H100 MIG 1g.10gb, NVIDIA H100");
    tt__store_close(&s);
}

static void knows_problems_and_configs(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    tt__problem p = square(1024);
    int64_t a, b, c;
    assert_ok(tt__store_known_problem(s, &p, &a));
    assert_int_equal(a, -1);
    assert_ok(tt__store_problem(s, &p, &a));
    assert_ok(tt__store_problem(s, &p, &b));
    assert_int_equal(a, b);
    assert_ok(tt__store_known_problem(s, &p, &b));
    assert_int_equal(a, b);
    tt__problem_set(&p, "align", 8);
    assert_ok(tt__store_problem(s, &p, &b));
    assert_int_not_equal(a, b);
    assert_ok(tt__store_config(s, "k", "transpose", "h1", "A=1", &a));
    assert_ok(tt__store_config(s, "k", "transpose", "h1", "A=1", &b));
    assert_int_equal(a, b);
    assert_ok(tt__store_config(s, "k", "transpose", "h2", "A=1", &b));
    assert_ok(tt__store_config(s, "k", "transpose", "h1", "A=2", &c));
    assert_true(a != b && a != c && b != c);
    tt__store_close(&s);
}

/* They come in the order in which they were taken, also within a millisecond. */
static void keeps_trials(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    ids id = some_ids(s);
    tt__trial t = good(50.1234), bad = {.status = TT__TRIAL_CRASHED};
    tt__trial odd = {.time_us = 3.5e6, .n_samples = TT__SAMPLES_MAX};
    for (int i = 0; i < TT__SAMPLES_MAX; i++)
        odd.samples_us[i] = i % 2 ? 1e9f : 0.0f;
    strcpy(bad.reason, "was killed by signal 11");
    int64_t c2, c3;
    assert_ok(tt__store_config(s, "transpose_tiled", "transpose", "abcd", "TILE_DIM=64 PAD=0", &c2));
    assert_ok(tt__store_config(s, "transpose_tiled", "transpose", "abcd", "TILE_DIM=16 PAD=0", &c3));
    assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t));
    assert_ok(tt__store_trial_put(s, id.run, id.problem, c3, TT__STAGE_SCREEN, &odd));
    assert_ok(tt__store_trial_put(s, id.run, id.problem, c2, TT__STAGE_SCREEN, &bad));
    assert_ok(tt__store_run_end(s, id.run));

    seen x = trials(s, id, &env1, TT__STAGE_SCREEN);
    assert_int_equal(x.n, 3);
    assert_string_equal(x.config[0], "TILE_DIM=32 PAD=1");
    assert_string_equal(x.hash[0], "abcd");
    assert_string_equal(x.source[0], "measured");
    assert_int_equal(x.run[0], id.run);
    assert_int_equal(x.trial[0].status, TT__TRIAL_OK);
    assert_string_equal(x.trial[0].reason, "");
    assert_int_equal(x.trial[0].regs, 32);
    assert_true(x.trial[0].bits == INT64_MAX);
    assert_int_equal(x.trial[2].bits, TT__BITS_UNKNOWN); /* of a failure */
    assert_true(x.trial[0].compile_ms > 41.1249 && x.trial[0].compile_ms < 41.1251);
    assert_true(x.trial[0].time_us > 50.12339 && x.trial[0].time_us < 50.12341);
    assert_int_equal(x.trial[0].n_samples, 3);
    assert_true(x.trial[0].weight == 1); /* unless it has another */
    for (int i = 0; i < 3; i++) {
        double off = (double)(x.trial[0].samples_us[i] - t.samples_us[i]);
        assert_true(off < 1e-4 && off > -1e-4);
    }
    assert_int_equal(x.trial[1].n_samples, TT__SAMPLES_MAX);
    assert_memory_equal(x.trial[1].samples_us, odd.samples_us, sizeof odd.samples_us);
    assert_int_equal(x.trial[2].status, TT__TRIAL_CRASHED);
    assert_string_equal(x.trial[2].reason, bad.reason);
    assert_int_equal(x.trial[2].n_samples, 0);

    x = trials(s, id, &env1, TT__STAGE_FINAL);
    assert_int_equal(x.n, 0);
    x = trials(s, id, &env2, TT__STAGE_SCREEN);
    assert_int_equal(x.n, 0);
    seen stopped = {.give = TT_E_INTERRUPTED};
    assert_int_equal(tt__store_trials(s, id.gpu, &env1, id.problem, TT__STAGE_SCREEN, see, &stopped),
                     TT_E_INTERRUPTED);
    assert_int_equal(stopped.n, 1);
    x = trials(s, id, &env1, TT__STAGE_SCREEN); /* a loop that was ended early leaves nothing open */
    assert_int_equal(x.n, 3);
    tt__store_close(&s);
}

static void gives_the_newest_trial(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    ids id = some_ids(s);
    int64_t run2, run3, c2;
    tt__trial t1 = good(10), t2 = good(20), t3 = good(30);
    assert_ok(tt__store_config(s, "transpose_tiled", "transpose", "abcd", "TILE_DIM=64 PAD=0", &c2));
    assert_ok(tt__store_run_begin(s, id.gpu, &env1, "replayed", &run2));
    assert_ok(tt__store_run_begin(s, id.gpu, &env2, "measured", &run3));
    assert_ok(tt__store_trial_put(s, run2, id.problem, id.config, TT__STAGE_SCREEN, &t2));
    assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t1));
    assert_ok(tt__store_trial_put(s, id.run, id.problem, c2, TT__STAGE_SCREEN, &t1));
    assert_ok(tt__store_trial_put(s, run3, id.problem, id.config, TT__STAGE_SCREEN, &t3));
    seen x = trials(s, id, &env1, TT__STAGE_SCREEN);
    assert_int_equal(x.n, 2);
    assert_int_equal((int)x.trial[0].time_us, 20);
    assert_int_equal(x.run[0], run2);
    assert_string_equal(x.source[0], "replayed");
    assert_int_equal((int)x.trial[1].time_us, 10);
    x = trials(s, id, &env2, TT__STAGE_SCREEN);
    assert_int_equal(x.n, 1);
    assert_int_equal((int)x.trial[0].time_us, 30);
    t1.weight = 0.25;
    t1.bits = TT__BITS_UNSTABLE;
    assert_ok(tt__store_trial_put(s, run3, id.problem, id.config, TT__STAGE_SCREEN, &t1)); /* taken again */
    x = trials(s, id, &env2, TT__STAGE_SCREEN);
    assert_int_equal(x.n, 1);
    assert_int_equal((int)x.trial[0].time_us, 10);
    assert_true(x.trial[0].weight == 0.25);
    assert_int_equal(x.trial[0].bits, TT__BITS_UNSTABLE);
    tt__store_close(&s);
}

static void refuses_bad_trials(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    ids id = some_ids(s);
    tt__trial t = good(10);
    int64_t run;
    t.samples_us[1] = -1;
    assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t), TT_E_INVALID,
                 "-1");
    t = good(10);
    t.time_us = NAN;
    assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t), TT_E_INVALID,
                 "nan");
    static const struct {
        double weight;
        const char *says;
    } weights[] = {{-1, "-1"}, {2e100, "2e+100"}, {NAN, "nan"}};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        t = good(10);
        t.weight = weights[i].weight;
        assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t),
                     TT_E_INVALID, weights[i].says);
    }
    t = good(10);
    t.bits = -7;
    assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t), TT_E_INVALID,
                 "-7");
    t = good(10);
    t.n_samples = TT__SAMPLES_MAX + 1;
    assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t), TT_E_INVALID,
                 "129");
    t = good(10);
    assert_fails(tt__store_trial_put(s, 77, id.problem, id.config, TT__STAGE_SCREEN, &t), TT_E_DB,
                 "constraint");
    assert_fails(tt__store_trial_put(s, id.run, id.problem, 77, TT__STAGE_SCREEN, &t), TT_E_DB, "constraint");
    assert_fails(tt__store_run_begin(s, id.gpu, &env1, "guessed", &run), TT_E_INVALID, "guessed");
    assert_fails(tt__store_run_begin(s, 77, &env1, "measured", &run), TT_E_DB, "constraint");
    tt__winner w = a_winner(10);
    assert_fails(tt__store_winner_put(s, 77, id.problem, id.config, &w), TT_E_DB, "no run 77");
    tt__store_close(&s);
}

/* The largest and the smallest that make sense are taken, and come back as they were. */
static void takes_the_utmost(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    ids id = some_ids(s);
    static const double most = 1e12;
    tt__trial t = {.time_us = most, .compile_ms = most, .weight = 1e100, .n_samples = 1};
    t.samples_us[0] = 0;
    assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t));
    seen x = trials(s, id, &env1, TT__STAGE_SCREEN);
    assert_true(x.n == 1 && x.trial[0].time_us == most && x.trial[0].compile_ms == most);
    assert_true(x.trial[0].weight == 1e100);
    for (int i = 0; i < 4; i++) {
        tt__trial more = t;
        if (i == 3)
            more.samples_us[0] = 1.01e12f;
        else
            *(i == 0 ? &more.time_us : i == 1 ? &more.compile_ms : &more.weight) *= 1.01;
        assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_FINAL, &more),
                     TT_E_INVALID, "1.01e+1");
    }
    static const tt__trial none; /* an ok one that took no time */
    assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_FINAL, &none));
    x = trials(s, id, &env1, TT__STAGE_FINAL);
    assert_true(x.n == 1 && x.trial[0].weight == 1 && x.trial[0].time_us == 0 && x.trial[0].n_samples == 0);
    t = none;
    t.n_samples = -1;
    assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_FINAL, &t), TT_E_INVALID,
                 "-1");
    t = none;
    t.status = TT__TRIAL_STATUS_COUNT;
    assert_fails(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_FINAL, &t), TT_E_INVALID,
                 "no such status");
    tt__store_close(&s);
}

/* A trial that others wrote is accepted if it makes sense, and refused otherwise. */
static void reads_no_nonsense(void **state) {
    (void)state;
    static const struct {
        const char *set;
        bool is_fine;
    } cases[] = {
        {"regs = 2147483647", true},
        {"regs = 2147483648", false},
        {"regs = -1", false},
        {"regs = 0", true},
        {"time = 0", true},
        {"time = -1", false},
        {"status = -1", false},
        {"status = 8", true},
        {"status = 9", false},
        {"bits = NULL", true},
        {"bits = 1", true},
        {"bits = -1", false},
        {"weight = 0", false},
        {"weight = -1", false},
        {"samples = NULL", true},
        {"samples = x'00'", true},
        {"samples = x'80'", false},                  /* goes on */
        {"samples = x'ffffffffffffffffff01'", true}, /* all of 64 bits */
        {"samples = x'80808080808080808080'", false},
        {"samples = x'8080808080808080808000'", false}, /* more than them */
        {"samples = zeroblob(128)", true},
        {"samples = zeroblob(129)", false},
    };
    const char *path = in_dir("nonsense.db");
    assert_int_equal(TT__TRIAL_STATUS_COUNT, 9);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sql[256];
        seen x = {0};
        remove(path);
        tt__store *s = must_open(path);
        ids id = some_ids(s);
        tt__trial t = good(10);
        assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t));
        tt__store_close(&s);
        snprintf(sql, sizeof sql, "PRAGMA ignore_check_constraints = 1; UPDATE trial SET %s", cases[i].set);
        raw_sql(path, sql);
        s = must_open(path);
        tt_status got = tt__store_trials(s, id.gpu, &env1, id.problem, TT__STAGE_SCREEN, see, &x);
        if (got != (cases[i].is_fine ? TT_OK : TT_E_DB) || x.n != cases[i].is_fine)
            fail_msg("%s: %s", cases[i].set, tt_strerror(got));
        if (!cases[i].is_fine)
            assert_non_null(strstr(tt_last_error(), "cannot read a trial"));
        tt__store_close(&s);
    }
}

static tt_status list_winner(void *user, const tt__winner *w) {
    const tt__setting *first = &w->problem.settings[0];
    tt__str_addf(user, "%.1s%d/%s/%s=%lld ", w->gpu.name, w->gpu.cc, w->problem.op, first->name,
                 (long long)first->number);
    return TT_OK;
}

static void assert_winners(tt__store *s, int64_t gpu, int cc, const char *op, const char *expected) {
    tt__str list = {0};
    assert_ok(tt__store_winners(s, gpu, cc, op, list_winner, &list));
    assert_string_equal(tt__str_text(&list), expected);
    tt__str_free(&list);
}

static void keeps_winners(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    ids id = some_ids(s);
    tt__winner w = a_winner(50.5), got;
    bool found;
    int64_t run2, problem, other, other_run;
    assert_ok(tt__store_winner_get(s, id.gpu, id.problem, &got, &found));
    assert_false(found);
    assert_ok(tt__store_winner_put(s, id.run, id.problem, id.config, &w));
    assert_ok(tt__store_winner_get(s, id.gpu, id.problem, &got, &found));
    assert_true(found);
    tt__problem p = square(4096);
    assert_same_gpu(&got.gpu, &h100);
    assert_true(tt__problem_same(&got.problem, &p));
    assert_memory_equal(&got.env, &env1, sizeof env1);
    assert_string_equal(got.kernel, "transpose_tiled");
    assert_string_equal(got.hash, "abcd");
    assert_string_equal(got.config, "TILE_DIM=32 PAD=1");
    assert_string_equal(got.source, "measured");
    const double *numbers[][2] = {{&got.time_us, &w.time_us},
                                  {&got.copy_us, &w.copy_us},
                                  {&got.copy_fraction, &w.copy_fraction},
                                  {&got.speedup_vs_default, &w.speedup_vs_default}};
    for (int i = 0; i < 4; i++)
        assert_memory_equal(numbers[i][0], numbers[i][1], sizeof(double));
    assert_int_equal(got.trials, 240);
    assert_int_equal(got.failed, 3);
    assert_int_equal(got.unix_ms, w.unix_ms);
    assert_int_equal(got.bits, TT__BITS_HASH);
    assert_int_equal(got.batch_invariant, 2);

    assert_ok(tt__store_run_begin(s, id.gpu, &env2, "replayed", &run2));
    w = a_winner(49);
    w.unix_ms = 0;
    assert_ok(tt__store_winner_put(s, run2, id.problem, id.config, &w));
    assert_ok(tt__store_winner_get(s, id.gpu, id.problem, &got, &found));
    assert_true(found && got.time_us < 49.5 && got.unix_ms > 0);
    assert_string_equal(got.env.driver, env2.driver);
    assert_string_equal(got.source, "replayed");

    tt__gpu a100 = h100;
    strcpy(a100.name, "A100");
    a100.cc = 80;
    assert_ok(tt__store_gpu(s, &a100, &other));
    assert_ok(tt__store_run_begin(s, other, &env1, "measured", &other_run));
    p = square(8);
    assert_ok(tt__store_problem(s, &p, &problem));
    assert_ok(tt__store_winner_put(s, other_run, problem, id.config, &w));
    assert_ok(tt__store_winner_put(s, run2, problem, id.config, &w));
    p = copy_of(128);
    assert_ok(tt__store_problem(s, &p, &problem));
    assert_ok(tt__store_winner_put(s, run2, problem, id.config, &w));

    assert_winners(s, 0, 0, NULL,
                   "A80/transpose/rows=8 N90/copy/bytes=128 N90/transpose/rows=8 N90/transpose/rows=4096 ");
    assert_winners(s, id.gpu, 0, "transpose", "N90/transpose/rows=8 N90/transpose/rows=4096 ");
    assert_winners(s, id.gpu, 0, "copy", "N90/copy/bytes=128 ");
    assert_winners(s, 0, 80, "transpose", "A80/transpose/rows=8 ");
    assert_winners(s, 0, 75, NULL, "");
    assert_winners(s, -1, 90, NULL, ""); /* the id of an unknown GPU matches nothing */
    tt__store_close(&s);
}

static void keeps_cubins(void **state) {
    (void)state;
    const char *path = in_dir("c.db");
    tt__store *s = must_open(path);
    tt__str out = {0};
    bool found;
    assert_ok(tt__store_cubin_get(s, "k1", &out, &found));
    assert_false(found);
    assert_ok(tt__store_cubin_put(s, "k1",
                                  "\x7f"
                                  "ELF\0one",
                                  8));
    assert_ok(tt__store_cubin_put(s, "k2", "two", 3));
    assert_ok(tt__store_cubin_get(s, "k1", &out, &found));
    assert_true(found);
    assert_int_equal(out.len, 8);
    assert_memory_equal(out.text,
                        "\x7f"
                        "ELF\0one",
                        8);
    tt__str_free(&out);

    assert_ok(tt__store_cubin_find(s, "hash", "A=1", 4, 90, &out, &found));
    assert_false(found);
    assert_ok(tt__store_cubin_link(s, "hash", "A=1", 4, 90, "k1"));
    assert_ok(tt__store_cubin_link(s, "hash", "A=1", 4, 90, "k2"));
    assert_ok(tt__store_cubin_link(s, "hash", "A=1", 8, 90, "gone"));
    assert_ok(tt__store_cubin_find(s, "hash", "A=1", 4, 90, &out, &found));
    assert_true(found);
    assert_string_equal(out.text, "k2");
    tt__str_free(&out);
    assert_ok(tt__store_cubin_find(s, "hash", "A=1", 8, 90, &out, &found));
    assert_false(found);

    raw_sql(path, "UPDATE cubin SET image = x'00' WHERE key = 'k2'");
    assert_fails(tt__store_cubin_get(s, "k2", &out, &found), TT_E_DB, "damaged");
    assert_false(found);
    assert_int_equal(out.len, 0);
    assert_ok(tt__store_cubin_put(s, "k2", "two", 3)); /* compiled again: whole again */
    assert_ok(tt__store_cubin_get(s, "k2", &out, &found));
    assert_true(found);
    tt__str_free(&out);
    tt__store_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(knows_gpus),         TEST(knows_problems_and_configs),
        TEST(keeps_trials),       TEST(gives_the_newest_trial),
        TEST(takes_the_utmost),   TEST(reads_no_nonsense),
        TEST(refuses_bad_trials), TEST(keeps_winners),
        TEST(keeps_cubins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
