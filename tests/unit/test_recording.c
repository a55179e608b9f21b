/* Recordings: out of a store, and in again. */
#include "db/exchange/export.h"
#include "db/exchange/recording.h"

#include <time.h>
#include <zlib.h>

#include "store_fixture.h"

/* A part of one. */
static tt__gpu slice(void) {
    tt__gpu gpu = h100;
    strcpy(gpu.mig, "1g.18gb");
    return gpu;
}

static tt_status list_problem(void *user, const tt__problem *p) {
    tt__problem_add_settings(user, p, " ");
    tt__str_add(user, "; ");
    return TT_OK;
}

static void expect_problems(const tt__recording *r, const char *op, const char *expected) {
    tt__str list = {0};
    assert_ok(tt__recording_problems(r, op, list_problem, &list));
    assert_string_equal(tt__str_text(&list), expected);
    tt__str_free(&list);
}

static int64_t new_run(tt__store *s, const tt__env *env, const char *source) {
    int64_t gpu, run;
    tt__gpu h = slice();
    assert_ok(tt__store_gpu(s, &h, &gpu));
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
    tt__problem p = square(n);
    tt__trial t = good(time_us);
    put(s, run, &p, hash, config, stage, &t);
}

static tt__recording *export_and_open(tt__store *s, const char *op, tt__str *json) {
    tt__recording *r;
    tt__str own = {0};
    assert_ok(tt__recording_export(s, 1, &(tt__recording_part){.op = op}, "0a1b2c", &own));
    write_file(in_dir("r.json"), own.text, own.len);
    assert_ok(tt__recording_open(&r, in_dir("r.json")));
    if (json)
        *json = own;
    else
        tt__str_free(&own);
    return r;
}

/* The recorded time of a configuration in whole microseconds, -1 if it is not there. */
static int recorded(const tt__recording *r, int64_t n, const char *config, tt__stage stage) {
    tt__problem p = square(n);
    tt__trial t;
    bool found;
    assert_ok(tt__recording_trial(r, &p, "tiled", config, stage, &t, &found));
    return found ? (int)(t.time_us + 0.5) : -1;
}

static void keeps_everything(void **state) {
    (void)state;
    tt__store *s;
    assert_ok(tt__store_open(&s, ":memory:", TT__STORE_READ_WRITE));
    int64_t run = new_run(s, &env1, "measured");
    tt__problem odd = matrix("transpose", (int64_t[]){100, 33, 16, 40, 128, 3, 4000, 5000, 8}),
                copy = copy_of(40000);
    tt__problem own = saxpy('e', TT__TYPE_BF16, 77), solo = {.op = "solo", .text = "f00d"};
    own.warm = own.in_graph = own.unverified = true;
    tt__trial t = good(50.1234), many = good(12), bad[TT__TRIAL_STATUS_COUNT];
    many.n_samples = TT__SAMPLES_MAX;
    many.compile_ms = 0;
    many.regs = 0;
    for (int i = 0; i < TT__SAMPLES_MAX; i++)
        many.samples_us[i] = (float)(12 + i * 0.001);
    put(s, run, &odd, "h1", "TILE_DIM=32 MODE=fast X=-1 Y=007", TT__STAGE_SCREEN, &t);
    put(s, run, &copy, "h2", "VEC=16", TT__STAGE_FINAL, &many);
    put(s, run, &own, own.text, "VEC=4", TT__STAGE_SCREEN, &t);
    put(s, run, &solo, solo.text, "VEC=4", TT__STAGE_SCREEN, &t);
    for (int i = 1; i < TT__TRIAL_STATUS_COUNT; i++) {
        char config[32];
        bad[i] = (tt__trial){.status = (tt__trial_status)i, .compile_ms = 3, .limit_s = i / 7.0};
        snprintf(bad[i].reason, TT__REASON_MAX, "line 1\n\"quoted\" \\ %d \xc3\xa9 cut: \xe2\x82", i);
        snprintf(config, sizeof config, "BAD=%d", i);
        put(s, run, &odd, "h1", config, TT__STAGE_SCREEN, &bad[i]);
    }
    tt__recording *r = export_and_open(s, NULL, NULL);
    tt__store_close(&s);

    tt__gpu h = slice();
    assert_same_gpu(tt__recording_gpu(r), &h);
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
    assert_true(got.bits == INT64_MAX);
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
        assert_true(got.limit_s == bad[i].limit_s);
    }

    expect_problems(r, "transpose",
                    "rows=100 cols=33 elem_size=16 lds=40 ldd=128 batch=3 src_stride=4000"
                    " dst_stride=5000 align=8; ");
    expect_problems(r, "copy", "bytes=40000; ");
    expect_problems(r, "saxpy", "elem=bf16 n=77; ");
    expect_problems(r, "sum", "");
    tt__problem *all[] = {&odd, &copy, &own, &solo};
    for (int i = 0; i < 4; i++) {
        assert_ok(tt__recording_has(r, all[i], &found));
        assert_true(found);
    }
    own.warm = false;
    assert_ok(tt__recording_has(r, &own, &found));
    assert_false(found);
    tt__problem_set(&odd, "align", 16);
    assert_ok(tt__recording_has(r, &odd, &found));
    assert_false(found);
    tt__recording_close(&r);
    assert_null(r);
    tt__recording_close(&r);
}

/* Older files said in words what is a status and a number now. */
static void reads_what_reasons_said(void **state) {
    (void)state;
    static const struct {
        tt__trial_status said;
        const char *reason;
        tt__trial_status is;
        double limit_s;
    } cases[] = {
        {TT__TRIAL_TIMEOUT, "ran longer than 12.5 s", TT__TRIAL_TIMEOUT, 12.5},
        {TT__TRIAL_TIMEOUT, "compiled longer than 60 s", TT__TRIAL_COMPILE_TIMEOUT, 60},
        {TT__TRIAL_TIMEOUT, "compiled longer than nan s", TT__TRIAL_COMPILE_TIMEOUT, 0},
        {TT__TRIAL_TIMEOUT, "it was late", TT__TRIAL_TIMEOUT, 0},
        {TT__TRIAL_CRASHED, "its compiler was killed by signal 9", TT__TRIAL_COMPILER_CRASHED, 0},
        {TT__TRIAL_CRASHED, "its GPU worker was killed by signal 9", TT__TRIAL_CRASHED, 0},
        {TT__TRIAL_LAUNCH_ERROR, "its compiler was killed", TT__TRIAL_LAUNCH_ERROR, 0},
    };
    tt__store *s;
    tt__problem p = square(64);
    assert_ok(tt__store_open(&s, ":memory:", TT__STORE_READ_WRITE));
    int64_t run = new_run(s, &env1, "measured");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__trial t = {.status = cases[i].said};
        char config[32];
        snprintf(config, sizeof config, "A=%zu", i);
        tt__copy(t.reason, sizeof t.reason, cases[i].reason);
        put(s, run, &p, "h", config, TT__STAGE_SCREEN, &t);
    }
    tt__recording *r = export_and_open(s, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__trial t;
        bool found;
        char config[32];
        snprintf(config, sizeof config, "A=%zu", i);
        assert_ok(tt__recording_trial(r, &p, "tiled", config, TT__STAGE_SCREEN, &t, &found));
        assert_true(found);
        assert_int_equal(t.status, cases[i].is);
        assert_true(t.limit_s == cases[i].limit_s);
        assert_string_equal(t.reason, cases[i].reason);
    }
    tt__recording_close(&r);
    tt__store_close(&s);
}

static void is_t4(void **state) {
    (void)state;
    /* Each counts what would break the T4 schema (results-schema.json 1.0.0). */
    static const char *const breaks[] = {
        "SELECT json_type(?1, '$.schema_version') IS NOT 'text' OR json_extract(?1, '$.schema_version') <> "
        "'1.0.0'",
        "SELECT json_type(?1, '$.results') IS NOT 'array' OR json_type(?1, '$.metadata') IS NOT 'object'",
        "SELECT count(*) <> 9 FROM json_each(?1, '$.results')",
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
        tt__problem p = square(64);
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
    tt__problem p = copy_of(64 * 64 * 4);
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
    expect_problems(
        r, "transpose",
        "rows=64 cols=64 elem_size=4 lds=64 ldd=64 batch=1 src_stride=4096 dst_stride=4096 align=16; "
        "rows=128 cols=128 elem_size=4 lds=128 ldd=128 batch=1 src_stride=16384 dst_stride=16384"
        " align=16; ");
    tt__recording_close(&r);

    r = export_and_open(s, NULL, NULL);
    assert_ok(tt__recording_has(r, &p, &has));
    assert_true(has);
    tt__recording_close(&r);
    assert_fails(tt__recording_export(s, 1, &(tt__recording_part){.op = "sum"}, "", &json), TT_E_NO_WINNER,
                 "sum");
    tt__str_free(&json);
    assert_int_equal(tt__recording_export(s, 2, NULL, "", &json), TT_E_NO_WINNER);
    tt__str_free(&json);
    tt__store_close(&s);
}

static void expect_all(int n) {
    tt__recording *r;
    char config[64];
    assert_ok(tt__recording_open(&r, in_dir("r.json")));
    for (int i = 0; i < n; i++) {
        snprintf(config, sizeof config, "A=%d B=b%d", i, i % 7);
        assert_int_equal(recorded(r, 64 + i % 3, config, TT__STAGE_SCREEN), 10 + i);
    }
    tt__recording_close(&r);
}

/* A file that is many times as long as what is in memory of it: in whatever order, packed, and with blanks.
 */
static void reads_long_files(void **state) {
    (void)state;
    enum { N = 3000 };
    char config[64];
    tt__str json = {0}, turned = {0};
    tt__store *s = must_open(":memory:");
    int64_t run = new_run(s, &env1, "measured");
    assert_ok(tt__store_begin(s));
    for (int i = 0; i < N; i++) {
        snprintf(config, sizeof config, "A=%d B=b%d", i, i % 7);
        put_time(s, run, 64 + i % 3, "abc", config, TT__STAGE_SCREEN, 10 + i);
    }
    assert_ok(tt__store_commit(s));
    assert_ok(tt__recording_export(s, 1, NULL, "", &json));
    tt__store_close(&s);
    assert_true(json.len > 1000000);
    write_file(in_dir("r.json"), json.text, json.len);
    expect_all(N);

    const char *results = strstr(json.text, ",\n\"results\"");
    assert_non_null(results);
    tt__str_addf(&turned, "{%s", results + 2);
    turned.len = (size_t)(strrchr(turned.text, '}') - turned.text);
    for (int i = 0; i < 400000; i++)
        tt__str_add(&turned, " ");
    tt__str_add(&turned, ",");
    tt__str_addn(&turned, json.text + 1, (size_t)(results - json.text) - 1);
    tt__str_add(&turned, "}");
    write_file(in_dir("r.json"), turned.text, turned.len);
    expect_all(N);

    gzFile packed = gzopen(in_dir("r.json"), "wb");
    assert_int_equal(gzwrite(packed, turned.text, (unsigned)turned.len), turned.len);
    assert_int_equal(gzclose(packed), Z_OK);
    expect_all(N);
    tt__str_free(&json);
    tt__str_free(&turned);
}

/* Appends so many numbers in brackets. */
static void add_numbers(tt__str *out, int n) {
    for (int i = 0; i < n; i++)
        tt__str_add(out, i ? ",0" : "[0");
    tt__str_add(out, "]");
}

static tt_status open_with(const tt__str *json, const char *begin, int n, const char *end) {
    tt__str changed = {0};
    tt__recording *r;
    const char *metadata = strstr(json->text, "\"metadata\"");
    tt__str_addn(&changed, json->text, (size_t)(metadata - json->text));
    tt__str_add(&changed, begin);
    add_numbers(&changed, n);
    tt__str_add(&changed, end);
    tt__str_add(&changed, metadata + strlen("\"metadata\":{"));
    write_file(in_dir("r.json"), changed.text, changed.len);
    tt__str_free(&changed);
    tt_status status = tt__recording_open(&r, in_dir("r.json"));
    if (status == TT_OK)
        assert_int_equal(recorded(r, 64, "A=1", TT__STAGE_SCREEN), 5);
    tt__recording_close(&r);
    return status;
}

/* What is not used may be long. What is used may not: a number of two bytes would take 56 in memory. */
static void leaves_out_what_it_does_not_use(void **state) {
    (void)state;
    enum { MOST = 1 << 20, MANY = MOST + 1 };
    tt__store *s = must_open(":memory:");
    tt__str json = {0};
    put_time(s, new_run(s, &env1, "measured"), 64, "abc", "A=1", TT__STAGE_SCREEN, 5);
    assert_ok(tt__recording_export(s, 1, NULL, "", &json));
    tt__store_close(&s);
    assert_ok(open_with(&json, "\"note\":{\"a\":", MANY, "},\"metadata\":{"));
    assert_ok(open_with(&json, "\"metadata\":{\"note\":", MANY, ","));
    assert_fails(open_with(&json, "\"metadata\":{\"rules\":", MOST, ","), TT_E_INVALID,
                 "too many for a recording");
    assert_fails(open_with(&json, "\"n\\u006fte\":", MOST, ",\"metadata\":{"), TT_E_INVALID,
                 "too many for a recording");
    assert_fails(open_with(&json, "\"note\":[", 2, "},\"metadata\":{"), TT_E_INVALID, "not valid JSON");
    tt__str_free(&json);
}

/* A result without parameters takes none from the one before, and a part is found by its very name only. */
static void reads_what_is_empty_or_escaped(void **state) {
    (void)state;
    static const char *const configs[] = {"A=1", "", "A=2"};
    tt__store *s = must_open(":memory:");
    int64_t run = new_run(s, &env1, "measured");
    tt__recording *r;
    tt__str json = {0};
    for (int i = 0; i < 3; i++)
        put_time(s, run, 64 + i, "abc", configs[i], TT__STAGE_SCREEN, 5 + i);
    assert_ok(tt__recording_export(s, 1, NULL, "", &json));
    tt__store_close(&s);
    write_file(in_dir("r.json"), json.text, json.len);
    assert_ok(tt__recording_open(&r, in_dir("r.json")));
    for (int i = 0; i < 3; i++)
        assert_true(recorded(r, 64 + i, configs[i], TT__STAGE_SCREEN) == 5 + i);
    tt__recording_close(&r);

    char *results = strstr(json.text, "\"results\"");
    tt__str changed = {0};
    tt__str_addn(&changed, json.text, (size_t)(results - json.text));
    tt__str_addf(&changed, "\"resu\\u006cts\"%s", results + strlen("\"results\""));
    write_file(in_dir("r.json"), changed.text, changed.len);
    assert_int_equal(tt__recording_open(&r, in_dir("r.json")), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "results is missing"));
    tt__str_free(&changed);
    tt__str_free(&json);
}

/* Escapes and numbers are what SQLite's JSON functions made of them before. */
static void reads_texts_and_numbers(void **state) {
    (void)state;
    static const struct {
        const char *json, *read;
    } names[] = {{"a\\u0041\\/b", "aA/b"},
                 {"\\u00e9\\u20ac\\ud83d\\ude00", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
                 {"\\\"\\\\", "\"\\"},
                 {"x\\ty", "x?y"}};
    static const struct {
        const char *json;
        double read;
    } numbers[] = {{"4813", 4813},
                   {"0.1", 0.1},
                   {"123456.789012345", 123456.789012345},
                   {"1.7976931348623157", 1.7976931348623157},
                   {"12.5e2", 1250},
                   {"0", 0},
                   {"5E-1", 0.5}};
    tt__store *s = must_open(":memory:");
    int64_t run = new_run(s, &env1, "measured");
    tt__recording *r;
    tt__str json = {0};
    put_time(s, run, 64, "abc", "A=1", TT__STAGE_SCREEN, 5);
    assert_ok(tt__recording_export(s, 1, NULL, "", &json));
    tt__store_close(&s);
    char *name = strstr(json.text, "\"gpu\":{\"name\":\"") + strlen("\"gpu\":{\"name\":\"");
    char *peak = strstr(json.text, "\"peak_gbps\":") + strlen("\"peak_gbps\":");
    for (size_t i = 0; i < sizeof names / sizeof *names + sizeof numbers / sizeof *numbers; i++) {
        const bool text = i < sizeof names / sizeof *names;
        const size_t k = text ? i : i - sizeof names / sizeof *names;
        const char *from = text ? name : peak, *to = from + strcspn(from, text ? "\"" : "}");
        tt__str changed = {0};
        tt__str_addn(&changed, json.text, (size_t)(from - json.text));
        tt__str_add(&changed, text ? names[k].json : numbers[k].json);
        tt__str_add(&changed, to);
        write_file(in_dir("r.json"), changed.text, changed.len);
        tt__str_free(&changed);
        assert_ok(tt__recording_open(&r, in_dir("r.json")));
        if (text)
            assert_string_equal(tt__recording_gpu(r)->name, names[k].read);
        else
            assert_true(tt__recording_gpu(r)->peak_gbps == numbers[k].read);
        tt__recording_close(&r);
    }
    tt__str_free(&json);
}

/* The winner that an import of it has for the only problem. */
static void expect_elected(tt__store *s, const char *config, double time_us) {
    tt__recording *r;
    tt__winner w;
    tt__str json = {0};
    bool found;
    assert_ok(tt__recording_export(s, 1, NULL, "", &json));
    write_file(in_dir("r.json"), json.text, json.len);
    tt__str_free(&json);
    assert_ok(tt__recording_open_t4(&r, in_dir("r.json"), NULL));
    assert_ok(tt__store_winner_get(tt__recording_store(r), 1, 1, &w, &found));
    assert_true(found);
    assert_string_equal(w.config, config);
    assert_true(w.time_us == time_us);
    tt__recording_close(&r);
}

/* An eliminated entrant may have been lucky with few samples. The last stage has the most. */
static void elects_from_the_last_stage(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    int64_t run = new_run(s, &env1, "measured");
    tt__problem p = square(64);
    put_time(s, run, 64, "abc", "A=1", TT__STAGE_FINAL, 5);
    for (int i = 0; i < 2; i++) {
        tt__trial t = good(6 + i);
        t.n_samples = 9;
        for (int k = 3; k < 9; k++)
            t.samples_us[k] = 6000; /* longer in the store than the others' samples */
        put(s, run, &p, "abc", i ? "A=3" : "A=2", TT__STAGE_FINAL, &t);
    }
    put_time(s, run, 64, "abc", "A=4", TT__STAGE_SCREEN, 4);
    expect_elected(s, "A=2", 6);
    tt__store_close(&s);
}

/* The screening takes as many samples as it needs. */
static void elects_from_the_screening(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    tt__problem p = square(64);
    tt__trial noisy = good(5);
    int64_t run = new_run(s, &env1, "measured");
    noisy.n_samples = 9;
    put(s, run, &p, "abc", "A=1", TT__STAGE_SCREEN, &noisy);
    put_time(s, run, 64, "abc", "A=2", TT__STAGE_SCREEN, 4);
    expect_elected(s, "A=2", 4);
    tt__store_close(&s);
}

/* Of a kernel with an objective the least product of time and weight wins; a time is
 * told as it was measured. */
static void elects_by_the_objective(void **state) {
    (void)state;
    tt__store *s = must_open(":memory:");
    int64_t run = new_run(s, &env1, "measured");
    tt__problem p = square(64);
    tt__trial got, fast = good(5), worth = good(6);
    tt__str json;
    bool found;
    fast.weight = 1.5;
    put(s, run, &p, "abc", "A=1", TT__STAGE_FINAL, &fast);
    put(s, run, &p, "abc", "A=2", TT__STAGE_FINAL, &worth);
    expect_elected(s, "A=2", 6);
    put_time(s, run, 128, "abc", "A=1", TT__STAGE_FINAL, 7); /* all of it weighs 1 */
    tt__recording *r = export_and_open(s, NULL, &json);
    assert_non_null(strstr(json.text, "{\"name\":\"time\",\"value\":0.005,\"unit\":\"ms\"},"
                                      "{\"name\":\"weighed_time\",\"value\":0.0075,\"unit\":\"ms\"}"));
    assert_non_null(strstr(json.text, "{\"name\":\"weighed_time\",\"value\":0.006,\"unit\":\"ms\"}"));
    assert_null(strstr(json.text, "{\"name\":\"weighed_time\",\"value\":0.007,"));
    tt__str_free(&json);
    for (int i = 0; i < 2; i++) {
        assert_ok(tt__recording_trial(r, &p, "tiled", i ? "A=2" : "A=1", TT__STAGE_FINAL, &got, &found));
        assert_true(found && got.weight == (i ? 1 : 1.5) && got.time_us == (i ? 6 : 5));
    }
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
            tt__problem p = square(1024 << size);
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
    clock_t start = clock();
    for (int i = 0; i < 5000; i++) {
        snprintf(config, sizeof config, "TILE_DIM=%d BLOCK_ROWS=8 PAD=1 UNROLL=1 ORDER=0", i % 500);
        assert_true(recorded(r, 1024 << i / 1000, config, TT__STAGE_SCREEN) > 0);
    }
    double each_us = (double)(clock() - start) / CLOCKS_PER_SEC / 5000 * 1e6; /* of this process alone */
    print_message("%zu bytes, %.1f us a look-up\n", json.len, each_us);
    assert_true(each_us < 200); /* 5 when nothing slows it down */
    tt__recording_close(&r);
    tt__str_free(&json);
    tt__store_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(keeps_everything),           TEST(is_t4),
        TEST(reads_what_reasons_said),    TEST(exports_the_newest),
        TEST(reads_long_files),           TEST(leaves_out_what_it_does_not_use),
        TEST(reads_texts_and_numbers),    TEST(reads_what_is_empty_or_escaped),
        TEST(elects_from_the_last_stage), TEST(elects_from_the_screening),
        TEST(elects_by_the_objective),    TEST(exports_replays_for_want_of_better),
        TEST(stays_small_and_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
