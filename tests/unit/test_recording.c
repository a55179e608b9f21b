/* Recordings: out, in, and everything that can be wrong with a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "db/conn.h"
#include "db/recording.h"

static char file[64];

static int make_file(void **state) {
    (void)state;
    strcpy(file, "/tmp/tt-recording-XXXXXX");
    int fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(file);
}

#define assert_ok(expr)                                                                                      \
    do {                                                                                                     \
        tt_status ok_status_ = (expr);                                                                       \
        if (ok_status_ != TT_OK)                                                                             \
            fail_msg("%s: %s: %s", #expr, tt_strerror(ok_status_), tt_last_error());                         \
    } while (0)

#define assert_says(words)                                                                                   \
    do {                                                                                                     \
        if (!strstr(tt_last_error(), words))                                                                 \
            fail_msg("\"%s\" does not say \"%s\"", tt_last_error(), words);                                  \
    } while (0)

static const tt__gpu h200 = {.name = "NVIDIA H200",
                             .mig = "1g.18gb",
                             .cc = 90,
                             .sm_count = 132,
                             .memory_bytes = INT64_C(150754820096),
                             .l2_bytes = 62914560,
                             .max_threads_per_block = 1024,
                             .shared_per_block = 232448,
                             .peak_gbps = 4814.848};
static const tt__env env1 = {"580.159.04", "13.0", "1"}, env2 = {"590.10", "13.1", "1"};

static tt__problem square(const char *op, int64_t n) {
    tt__problem p = {.rows = n,
                     .cols = n,
                     .lds = n,
                     .ldd = n,
                     .batch = 1,
                     .src_stride = n * n,
                     .dst_stride = n * n,
                     .elem_size = 4,
                     .align = 16};
    strcpy(p.op, op);
    return p;
}

static tt__trial good(double time_us) {
    tt__trial t = {.time_us = time_us, .compile_ms = 41.125, .regs = 32, .n_samples = 3};
    t.samples_us[0] = (float)(time_us * 1.01);
    t.samples_us[1] = (float)time_us;
    t.samples_us[2] = (float)(time_us * 0.99);
    return t;
}

static int64_t new_run(tt__store *s, const tt__env *env, const char *source) {
    int64_t gpu, run;
    assert_ok(tt__store_gpu(s, &h200, &gpu));
    assert_int_equal(gpu, 1);
    assert_ok(tt__store_run_begin(s, gpu, env, source, &run));
    return run;
}

static void put(tt__store *s, int64_t run, const tt__problem *p, const char *hash, const char *config,
                tt__stage stage, const tt__trial *t) {
    int64_t problem, id;
    assert_ok(tt__store_problem(s, p, &problem));
    assert_ok(tt__store_config(s, "tiled", p->op, hash, config, &id));
    assert_ok(tt__store_trial_put(s, run, problem, id, stage, t));
}

static void put_time(tt__store *s, int64_t run, int64_t n, const char *hash, const char *config,
                     tt__stage stage, double time_us) {
    tt__problem p = square("transpose", n);
    tt__trial t = good(time_us);
    put(s, run, &p, hash, config, stage, &t);
}

static void write_text(const char *text, size_t size) {
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    fclose(f);
}

static tt__recording *export_and_open(tt__store *s, const char *op, tt__str *json) {
    tt__recording *r;
    tt__str own = {0};
    assert_ok(tt__recording_export(s, 1, op, "0a1b2c", &own));
    write_text(own.text, own.len);
    assert_ok(tt__recording_open(&r, file));
    if (json)
        *json = own;
    else
        tt__str_free(&own);
    return r;
}

/* The recorded time of a configuration in whole microseconds, -1 if it is not there. */
static int recorded(const tt__recording *r, int64_t n, const char *config, tt__stage stage) {
    tt__problem p = square("transpose", n);
    tt__trial t;
    bool found;
    assert_ok(tt__recording_trial(r, &p, "tiled", config, stage, &t, &found));
    return found ? (int)(t.time_us + 0.5) : -1;
}

/* ---- Out and in ------------------------------------------------------------------------------ */

static void keeps_everything(void **state) {
    (void)state;
    tt__store *s;
    assert_ok(tt__store_open(&s, ":memory:", TT__STORE_READ_WRITE));
    int64_t run = new_run(s, &env1, "measured");
    tt__problem odd = {"transpose", 100, 33, 40, 128, 3, 4000, 5000, 16, 8}, copy = square("copy", 100);
    tt__trial t = good(50.1234), many = good(12), bad[TT__TRIAL_STATUS_COUNT];
    many.n_samples = TT__SAMPLES_MAX;
    many.compile_ms = 0;
    many.regs = 0;
    for (int i = 0; i < TT__SAMPLES_MAX; i++)
        many.samples_us[i] = (float)(12 + i * 0.001);
    put(s, run, &odd, "h1", "TILE_DIM=32 MODE=fast X=-1 Y=007", TT__STAGE_SCREEN, &t);
    put(s, run, &copy, "h2", "VEC=16", TT__STAGE_FINAL, &many);
    for (int i = 1; i < TT__TRIAL_STATUS_COUNT; i++) {
        char config[32];
        bad[i] = (tt__trial){.status = (tt__trial_status)i, .compile_ms = 3};
        snprintf(bad[i].reason, TT__REASON_MAX, "line 1\n\"quoted\" \\ %d \xc3\xa9 cut: \xe2\x82", i);
        snprintf(config, sizeof config, "BAD=%d", i);
        put(s, run, &odd, "h1", config, TT__STAGE_SCREEN, &bad[i]);
    }
    tt__recording *r = export_and_open(s, NULL, NULL);
    tt__store_close(&s);

    const tt__gpu *g = tt__recording_gpu(r);
    assert_string_equal(g->name, h200.name);
    assert_string_equal(g->mig, h200.mig);
    assert_int_equal(g->cc, h200.cc);
    assert_int_equal(g->sm_count, h200.sm_count);
    assert_int_equal(g->memory_bytes, h200.memory_bytes);
    assert_int_equal(g->l2_bytes, h200.l2_bytes);
    assert_int_equal(g->max_threads_per_block, h200.max_threads_per_block);
    assert_int_equal(g->shared_per_block, h200.shared_per_block);
    assert_memory_equal(&g->peak_gbps, &h200.peak_gbps, sizeof g->peak_gbps);
    assert_string_equal(tt__recording_env(r)->driver, env1.driver);
    assert_string_equal(tt__recording_env(r)->nvrtc, env1.nvrtc);
    assert_string_equal(tt__recording_env(r)->library, env1.library);
    assert_null(tt__recording_hash(r, "naive"));

    tt__trial got;
    bool found;
    assert_ok(tt__recording_trial(r, &odd, "tiled", "TILE_DIM=32 MODE=fast X=-1 Y=007", TT__STAGE_SCREEN,
                                  &got, &found));
    assert_true(found);
    assert_int_equal(got.status, TT__TRIAL_OK);
    assert_int_equal(got.regs, 32);
    assert_true(got.compile_ms > 41.1249 && got.compile_ms < 41.1251);
    assert_true(got.time_us > 50.1233 && got.time_us < 50.1235);
    assert_int_equal(got.n_samples, 3);
    for (int i = 0; i < 3; i++) {
        double off = (double)(got.samples_us[i] - t.samples_us[i]);
        assert_true(off < 0.00051 && off > -0.00051); /* 1 ns */
    }
    assert_ok(tt__recording_trial(r, &copy, "tiled", "VEC=16", TT__STAGE_FINAL, &got, &found));
    assert_true(found);
    assert_int_equal(got.n_samples, TT__SAMPLES_MAX);
    assert_ok(tt__recording_trial(r, &copy, "tiled", "VEC=16", TT__STAGE_SCREEN, &got, &found));
    assert_false(found);
    assert_ok(tt__recording_trial(r, &odd, "naive", "VEC=16", TT__STAGE_FINAL, &got, &found));
    assert_false(found);
    for (int i = 1; i < TT__TRIAL_STATUS_COUNT; i++) {
        char config[32], reason[64];
        snprintf(config, sizeof config, "BAD=%d", i);
        snprintf(reason, sizeof reason, "line 1\n\"quoted\" \\ %d \xc3\xa9 cut: ??", i);
        assert_ok(tt__recording_trial(r, &odd, "tiled", config, TT__STAGE_SCREEN, &got, &found));
        assert_true(found);
        assert_int_equal(got.status, i);
        assert_string_equal(got.reason, reason);
    }

    tt__str sizes = {0};
    assert_ok(tt__recording_problems(r, "transpose", &sizes));
    assert_string_equal(sizes.text, "100x33 of 16 bytes");
    tt__str_free(&sizes);
    assert_ok(tt__recording_has(r, &odd, &found));
    assert_true(found);
    odd.align = 16;
    assert_ok(tt__recording_has(r, &odd, &found));
    assert_false(found);
    tt__recording_close(&r);
    assert_null(r);
    tt__recording_close(&r);
}

static void is_t4(void **state) {
    (void)state;
    /* Each counts what would break the T4 schema (results-schema.json 1.0.0). */
    static const char *const breaks[] = {
        "SELECT json_type(?1, '$.schema_version') IS NOT 'text' OR json_extract(?1, '$.schema_version') <> "
        "'1.0.0'",
        "SELECT json_type(?1, '$.results') IS NOT 'array' OR json_type(?1, '$.metadata') IS NOT 'object'",
        "SELECT count(*) <> 7 FROM json_each(?1, '$.results')",
        "SELECT count(*) FROM json_each(?1, '$.results') r WHERE json_type(value, '$.configuration') IS NOT "
        "'object'"
        " OR json_type(value, '$.times') IS NOT 'object' OR json_type(value, '$.correctness') NOT IN "
        "('integer', 'real')"
        " OR json_type(value, '$.timestamp') IS NOT 'text' OR json_type(value, '$.objectives') IS NOT 'array'"
        " OR json_type(value, '$.times.compilation_time') NOT IN ('integer', 'real')"
        " OR json_type(value, '$.times.runtimes') IS NOT 'array' OR json_type(value, '$.measurements') IS "
        "NOT 'array'"
        " OR json_extract(value, '$.invalidity') IS NULL OR json_extract(value, '$.invalidity') NOT IN"
        " ('timeout', 'compile', 'runtime', 'correctness', 'constraints', 'correct')",
        "SELECT count(*) FROM json_each(?1, '$.results') r, json_each(r.value, '$.measurements') m"
        " WHERE json_type(m.value, '$.name') IS NOT 'text' OR json_type(m.value, '$.unit') IS NOT 'text'"
        " OR json_type(m.value, '$.value') NOT IN ('integer', 'real')",
        "SELECT count(DISTINCT json_extract(value, '$.invalidity')) <> 6 FROM json_each(?1, '$.results')",
    };
    tt__store *s;
    tt__str json = {0};
    assert_ok(tt__store_open(&s, ":memory:", TT__STORE_READ_WRITE));
    int64_t run = new_run(s, &env1, "measured");
    for (int i = 0; i < TT__TRIAL_STATUS_COUNT; i++) {
        tt__problem p = square("transpose", 64);
        tt__trial t = i ? (tt__trial){.status = (tt__trial_status)i, .reason = "why"} : good(2);
        char config[32];
        snprintf(config, sizeof config, "A=%d", i);
        put(s, run, &p, "h", config, TT__STAGE_SCREEN, &t);
    }
    assert_ok(tt__recording_export(s, 1, NULL, "", &json));
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        sqlite3_stmt *stmt;
        assert_int_equal(sqlite3_prepare_v2(s->db, breaks[i], -1, &stmt, NULL), SQLITE_OK);
        sqlite3_bind_text(stmt, 1, json.text, (int)json.len, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        if (sqlite3_column_int(stmt, 0) != 0)
            fail_msg("%s\n%s", breaks[i], json.text);
        sqlite3_finalize(stmt);
    }
    int lines = 0; /* one result a line, for diffs */
    for (char *p = json.text; (p = strstr(p, "\n{\"kernel\":\"tiled\"")); p++)
        lines++;
    assert_int_equal(lines, TT__TRIAL_STATUS_COUNT);
    tt__str_free(&json);
    tt__store_close(&s);
}

static void exports_the_newest(void **state) {
    (void)state;
    tt__store *s;
    tt__str json = {0};
    assert_ok(tt__store_open(&s, ":memory:", TT__STORE_READ_WRITE));
    int64_t old = new_run(s, &env1, "measured"), before = new_run(s, &env2, "measured"),
            first = new_run(s, &env2, "measured"), second = new_run(s, &env2, "measured"),
            replay = new_run(s, &env1, "replayed");
    assert_int_equal(tt__recording_export(s, 1, NULL, "", &json), TT_E_NO_WINNER);
    tt__str_free(&json);
    put_time(s, old, 64, "h1", "A=1", TT__STAGE_SCREEN, 1);
    put_time(s, old, 64, "h1", "A=9", TT__STAGE_SCREEN, 9);
    put_time(s, before, 64, "h0", "A=5", TT__STAGE_SCREEN, 50); /* an older text of the kernel */
    put_time(s, second, 64, "h1", "A=1", TT__STAGE_SCREEN, 30);
    put_time(s, first, 64, "h1", "A=1", TT__STAGE_SCREEN, 20);
    put_time(s, first, 64, "h1", "A=2", TT__STAGE_SCREEN, 21);
    put_time(s, first, 64, "h1", "A=1", TT__STAGE_FINAL, 22);
    put_time(s, first, 64, "h1", "A=2", TT__STAGE_FINAL, 23);
    put_time(s, second, 64, "h1", "A=1", TT__STAGE_FINAL, 32);
    put_time(s, first, 128, "h1", "A=1", TT__STAGE_FINAL, 24);
    put_time(s, replay, 64, "h1", "A=1", TT__STAGE_SCREEN, 99);
    tt__problem p = square("copy", 64);
    tt__trial t = good(5);
    put(s, second, &p, "h2", "V=1", TT__STAGE_SCREEN, &t);

    tt__recording *r = export_and_open(s, "transpose", NULL);
    assert_string_equal(tt__recording_env(r)->driver, env2.driver);
    assert_string_equal(tt__recording_hash(r, "tiled"), "h1");
    assert_int_equal(recorded(r, 64, "A=1", TT__STAGE_SCREEN), 30);
    assert_int_equal(recorded(r, 64, "A=2", TT__STAGE_SCREEN), 21);
    assert_int_equal(recorded(r, 64, "A=5", TT__STAGE_SCREEN), -1);
    assert_int_equal(recorded(r, 64, "A=9", TT__STAGE_SCREEN), -1);
    assert_int_equal(recorded(r, 64, "A=1", TT__STAGE_FINAL), 32);
    assert_int_equal(recorded(r, 64, "A=2", TT__STAGE_FINAL), -1);  /* it was not in the newest finals */
    assert_int_equal(recorded(r, 128, "A=1", TT__STAGE_FINAL), 24); /* the newest of its problem */
    bool has;
    assert_ok(tt__recording_has(r, &p, &has));
    assert_false(has);
    tt__str sizes = {0};
    assert_ok(tt__recording_problems(r, "transpose", &sizes));
    assert_string_equal(sizes.text, "64x64 of 4 bytes, 128x128 of 4 bytes");
    tt__str_free(&sizes);
    tt__recording_close(&r);

    r = export_and_open(s, NULL, NULL);
    assert_ok(tt__recording_has(r, &p, &has));
    assert_true(has);
    tt__recording_close(&r);
    assert_int_equal(tt__recording_export(s, 1, "sum", "", &json), TT_E_NO_WINNER);
    assert_says("sum");
    tt__str_free(&json);
    assert_int_equal(tt__recording_export(s, 2, NULL, "", &json), TT_E_NO_WINNER);
    tt__str_free(&json);
    tt__store_close(&s);
}

/* Who was eliminated may have had luck in few samples: those of the last stage have the most. */
static void elects_from_the_last_stage(void **state) {
    (void)state;
    tt__store *s;
    tt__recording *r;
    tt__winner w;
    tt__str json = {0};
    bool found;
    assert_ok(tt__store_open(&s, ":memory:", TT__STORE_READ_WRITE));
    int64_t run = new_run(s, &env1, "measured");
    tt__problem p = square("transpose", 64);
    put_time(s, run, 64, "abc", "A=1", TT__STAGE_FINAL, 5);
    for (int i = 0; i < 2; i++) {
        tt__trial t = good(6 + i);
        t.n_samples = 9;
        for (int k = 3; k < 9; k++)
            t.samples_us[k] = 6000; /* longer in the store than the others' samples */
        put(s, run, &p, "abc", i ? "A=3" : "A=2", TT__STAGE_FINAL, &t);
    }
    put_time(s, run, 64, "abc", "A=4", TT__STAGE_SCREEN, 4);
    assert_ok(tt__recording_export(s, 1, NULL, "", &json));
    write_text(json.text, json.len);
    tt__str_free(&json);
    assert_ok(tt__recording_open_t4(&r, file, NULL));
    assert_ok(tt__store_winner_get(tt__recording_store(r), 1, 1, &w, &found));
    assert_true(found);
    assert_string_equal(w.config, "A=2");
    tt__recording_close(&r);
    tt__store_close(&s);
}

static void exports_replays_for_want_of_better(void **state) {
    (void)state;
    tt__store *s;
    assert_ok(tt__store_open(&s, ":memory:", TT__STORE_READ_WRITE));
    put_time(s, new_run(s, &env1, "replayed"), 64, "h1", "A=1", TT__STAGE_SCREEN, 99);
    tt__recording *r = export_and_open(s, NULL, NULL);
    assert_int_equal(recorded(r, 64, "A=1", TT__STAGE_SCREEN), 99);
    tt__recording_close(&r);
    tt__store_close(&s);
}

/* 5 sizes x 500 configurations x 8 samples, and 12 finalists each with 40. */
static void stays_small_and_fast(void **state) {
    (void)state;
    tt__store *s;
    tt__str json;
    unsigned seed = 1;
    char config[128];
    assert_ok(tt__store_open(&s, ":memory:", TT__STORE_READ_WRITE));
    assert_ok(tt__store_begin(s));
    int64_t run = new_run(s, &env1, "measured");
    for (int size = 0; size < 5; size++)
        for (int c = 0; c < 512; c++) {
            tt__problem p = square("transpose", 1024 << size);
            tt__trial t = good(40.0 * (1 << 2 * size));
            tt__stage stage = c < 500 ? TT__STAGE_SCREEN : TT__STAGE_FINAL;
            t.n_samples = stage == TT__STAGE_SCREEN ? 8 : 40;
            for (int i = 0; i < t.n_samples; i++)
                t.samples_us[i] = (float)(t.time_us * (1 + 0.02 * rand_r(&seed) / RAND_MAX));
            snprintf(config, sizeof config, "TILE_DIM=%d BLOCK_ROWS=8 PAD=1 UNROLL=1 ORDER=0", c % 500);
            put(s, run, &p, "h", config, stage, &t);
        }
    assert_ok(tt__store_commit(s));
    tt__recording *r = export_and_open(s, NULL, &json);
    assert_true(json.len < 1300000);
    double start = tt__now_s();
    for (int i = 0; i < 5000; i++) {
        snprintf(config, sizeof config, "TILE_DIM=%d BLOCK_ROWS=8 PAD=1 UNROLL=1 ORDER=0", i % 500);
        assert_true(recorded(r, 1024 << i / 1000, config, TT__STAGE_SCREEN) > 0);
    }
    double each_us = (tt__now_s() - start) / 5000 * 1e6;
    print_message("%zu bytes, %.1f us a look-up\n", json.len, each_us);
    assert_true(each_us < 200); /* 5 when nothing slows it down */
    tt__recording_close(&r);
    tt__str_free(&json);
    tt__store_close(&s);
}

/* ---- What can be wrong ----------------------------------------------------------------------- */

#define GPU                                                                                                  \
    "{\"name\":\"G\",\"mig\":\"\",\"cc\":90,\"sm_count\":1,\"memory_bytes\":1,\"l2_bytes\":1,"               \
    "\"max_threads_per_block\":1024,\"shared_per_block\":1,\"peak_gbps\":0}"
#define ENV "{\"driver\":\"1\",\"nvrtc\":\"2\",\"library\":\"3\"}"
#define PROBLEM                                                                                              \
    "{\"op\":\"transpose\",\"rows\":8,\"cols\":8,\"lds\":8,\"ldd\":8,\"elem_size\":4,\"align\":16}"
#define RESULT                                                                                               \
    "{\"kernel\":\"k\",\"problem\":0,\"stage\":\"screen\",\"configuration\":{\"A\":1},"                      \
    "\"invalidity\":\"correct\",\"correctness\":1,\"times\":{\"compilation_time\":1,\"runtimes\":[0.5]},"    \
    "\"measurements\":[{\"name\":\"time\",\"value\":0.5,\"unit\":\"ms\"}]}"
#define WHOLE                                                                                                \
    "{\"schema_version\":\"1.0.0\",\"metadata\":{\"format\":1,\"gpu\":" GPU ",\"environment\":" ENV          \
    ",\"kernels\":{\"k\":\"h\"},\"problems\":[" PROBLEM "]},\"results\":[" RESULT "," RESULT "]}"

/* Replaces the last occurrence of `from`, so that changes to a result hit results[1]. */
static void write_changed(const char *from, const char *to) {
    const char *at = NULL;
    for (const char *p = WHOLE; (p = strstr(p, from)); p++)
        at = p;
    if (!at)
        fail_msg("no %s", from);
    tt__str text = {0};
    tt__str_addn(&text, WHOLE, (size_t)(at - WHOLE));
    tt__str_add(&text, to);
    tt__str_add(&text, at + strlen(from));
    write_text(text.text, text.len);
    tt__str_free(&text);
}

static void refuses_bad_files(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"\"schema_version\":\"1.0.0\"", "\"schema_version\":1", "schema_version is integer"},
        {"\"schema_version\":\"1.0.0\"", "\"schema_version\":\"2.0.0\"", "2.0.0"},
        {"\"schema_version\":\"1.0.0\",", "", "schema_version is missing"},
        {"\"format\":1", "\"format\":2", "upgrade"},
        {"\"format\":1,", "", "metadata.format is missing"},
        {"\"format\":1", "\"format\":0", "metadata.format is 0"},
        {"\"gpu\":", "\"gpv\":", "metadata.gpu is missing"},
        {"\"gpu\":" GPU, "\"gpu\":3", "metadata.gpu: is integer"},
        {"\"name\":\"G\"", "\"name\":\"\"", "metadata.gpu: name has 0 bytes"},
        {"\"name\":\"G\"", "\"name\":{\"a\":1}", "name is object"},
        {"\"cc\":90", "\"cc\":1e10", "cc is real"},
        {"\"cc\":90", "\"cc\":99999999999999999999", "cc is 1e+20"},
        {"\"cc\":90", "\"cc\":true", "cc is true"},
        {"\"sm_count\":1,", "", "sm_count is missing"},
        {"\"sm_count\":1,", "\"sm_count\":-1,", "sm_count is -1"},
        {"\"peak_gbps\":0", "\"peak_gbps\":1e999", "peak_gbps is inf"},
        {"\"peak_gbps\":0", "\"peak_gbps\":null", "peak_gbps is null"},
        {"\"environment\":" ENV ",", "", "metadata.environment is missing"},
        {"\"nvrtc\":\"2\"", "\"nvrtc\":\"01234567890123456\"", "nvrtc has 17 bytes"},
        {"\"kernels\":{\"k\":\"h\"},", "", "metadata.kernels is missing"},
        {"\"kernels\":{\"k\":\"h\"}", "\"kernels\":{\"k\":1}", "metadata.kernels: \"k\""},
        {"\"problems\":[" PROBLEM "]", "\"problems\":{}", "metadata.problems is object"},
        {"\"problems\":[" PROBLEM "]", "\"problems\":[7]", "metadata.problems[0]: is integer"},
        {"\"problems\":[" PROBLEM "]", "\"problems\":[]",
         "results[0]: problem is 0: metadata.problems has 0"},
        {"\"rows\":8", "\"rows\":0", "metadata.problems[0]: rows is 0"},
        {"\"rows\":8", "\"rows\":10000000000000", "metadata.problems[0]: lds is 8 and ldd 8"},
        {"\"lds\":8,\"ldd\":8", "\"lds\":10000000000000,\"ldd\":8", "2^44"},
        {"\"elem_size\":4", "\"elem_size\":3", "elem_size is 3"},
        {"\"results\":", "\"result\":", "results is missing"},
        {RESULT "]}", "5]}", "results[1]: is integer"},
        {RESULT "]}", "\"text\"]}", "results[1]: is text"},
        {"\"kernel\":\"k\",", "", "results[1]: kernel is missing"},
        {"\"kernel\":\"k\"", "\"kernel\":[]", "results[1]: kernel is array"},
        {"\"problem\":0", "\"problem\":1", "results[1]: problem is 1"},
        {"\"problem\":0", "\"problem\":-1", "results[1]: problem is -1"},
        {"\"problem\":0", "\"problem\":0.5", "results[1]: problem is real"},
        {"\"stage\":\"screen\"", "\"stage\":\"last\"", "results[1]: stage is \"last\""},
        {"\"invalidity\":\"correct\"", "\"invalidity\":\"maybe\"", "results[1]: invalidity is \"maybe\""},
        {"\"invalidity\":\"correct\",", "", "results[1]: invalidity is missing"},
        {"\"correctness\":1", "\"status\":\"crashed\"", "results[1]: status is \"crashed\""},
        {"\"correctness\":1", "\"status\":\"fine\"", "results[1]: status is \"fine\""},
        {"\"compilation_time\":1", "\"compilation_time\":-2", "results[1]: times.compilation_time is -2"},
        {"\"times\":{", "\"times\":7,\"timex\":{", "results[1]: times.compilation_time is missing"},
        {"[0.5]", "[0.5,\"x\"]", "results[1]: times.runtimes[1] is text"},
        {"[0.5]", "[-1]", "results[1]: times.runtimes[0] is -1"},
        {"[0.5]", "[1e300]", "results[1]: times.runtimes[0] is 1.0e+300"},
        {"[0.5]", "[[1]]", "results[1]: times.runtimes[0] is array"},
        {"\"value\":0.5", "\"value\":\"0.5\"", "results[1]: measurements: time is text"},
        {"\"value\":0.5", "\"value\":0", "results[1]: measurements has no time above 0"},
        {"\"value\":0.5,", "", "results[1]: measurements: time is missing"},
        {"\"measurements\":[{", "\"measurements\":[1,\"two\",[],{", NULL}, /* others may add theirs */
        {"\"configuration\":{\"A\":1}", "\"configuration\":{\"A\":1.5}",
         "results[1]: configuration.A is real"},
        {"\"configuration\":{\"A\":1}", "\"configuration\":{\"A\":{}}",
         "results[1]: configuration.A is object"},
        {"\"correctness\":1", "\"correctness\":1,\"new_member\":[1]", NULL},
    };
    tt__recording *r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_changed(cases[i].from, cases[i].to);
        tt_status status = tt__recording_open(&r, file);
        if (status != (cases[i].says ? TT_E_INVALID : TT_OK))
            fail_msg("%s -> %s: %s: %s", cases[i].from, cases[i].to, tt_strerror(status), tt_last_error());
        if (cases[i].says) {
            assert_null(r);
            assert_says(cases[i].says);
            assert_says(file);
        }
        tt__recording_close(&r);
    }
}

static void refuses_too_many_samples(void **state) {
    (void)state;
    tt__recording *r;
    for (int n = TT__SAMPLES_MAX; n <= TT__SAMPLES_MAX + 1; n++) {
        tt__str runtimes = {0};
        for (int i = 0; i < n; i++)
            tt__str_add(&runtimes, i ? ",1" : "[1");
        tt__str_add(&runtimes, "]");
        write_changed("[0.5]", runtimes.text);
        tt__str_free(&runtimes);
        assert_int_equal(tt__recording_open(&r, file), n > TT__SAMPLES_MAX ? TT_E_INVALID : TT_OK);
        tt__recording_close(&r);
    }
    assert_says("results[1]: times.runtimes has more than 128");
}

static void refuses_what_is_no_json(void **state) {
    (void)state;
    static const char deep[] = "[[[[[[[[";
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {{"", 0},
                 {"{", 1},
                 {"x", 1},
                 {"\xff\xfe", 2},
                 {WHOLE "\0", sizeof WHOLE},
                 {deep, 8},
                 {"{} {}", 5},
                 {"{[\"a\"]: 1}", 10}, /* these two are JSON to SQLite 3.40 */
                 {"{\"\\\"]\":[1,{\"a\":2, {\"b\":\"c\"}:3}]}", 32}};
    tt__recording *r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(cases[i].text, cases[i].size);
        assert_int_equal(tt__recording_open(&r, file), TT_E_INVALID);
        assert_says("JSON");
        assert_says(file);
    }
    static const char *const others[] = {"[]", "{}", "null", "\"text\"", "17", "{\"results\":[]}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        write_text(others[i], strlen(others[i]));
        assert_int_equal(tt__recording_open(&r, file), TT_E_INVALID);
        assert_says("not a recording");
    }
    assert_int_equal(tt__recording_open(&r, "/no/such/file.json"), TT_E_IO);
    assert_int_equal(tt__recording_open(&r, "/tmp"), TT_E_IO);
}

static void survives_damage(void **state) {
    (void)state;
    static const char bytes[] = "{}[]\",:0919-+eE.ntf\\u\x80\xff \n";
    unsigned seed = 7;
    tt__recording *r;
    size_t size = strlen(WHOLE);
    int opened = 0;
    for (int round = 0; round < 3000; round++) {
        char text[sizeof WHOLE];
        memcpy(text, WHOLE, sizeof WHOLE);
        size_t n = round % 5 == 0 ? (size_t)rand_r(&seed) % size : size;
        for (int i = rand_r(&seed) % 4; i > 0; i--)
            text[(size_t)rand_r(&seed) % size] = bytes[(size_t)rand_r(&seed) % (sizeof bytes - 1)];
        write_text(text, n);
        tt_status status = tt__recording_open(&r, file);
        if (status != TT_OK && status != TT_E_INVALID)
            fail_msg("%s: %s\n%.*s", tt_strerror(status), tt_last_error(), (int)n, text);
        opened += status == TT_OK;
        tt__recording_close(&r);
    }
    assert_true(opened > 100);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_file, remove_file)
    const struct CMUnitTest tests[] = {
        TEST(keeps_everything),         TEST(is_t4),
        TEST(exports_the_newest),       TEST(exports_replays_for_want_of_better),
        TEST(stays_small_and_fast),     TEST(refuses_bad_files),
        TEST(refuses_too_many_samples), TEST(refuses_what_is_no_json),
        TEST(survives_damage),          TEST(elects_from_the_last_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
