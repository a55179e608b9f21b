/* See store_fixture.h. */
#include "store_fixture.h"

#include "base/read_file.h"

#include <sys/stat.h>

char dir[64];

int make_dir(void **state) {
    (void)state;
    strcpy(dir, "/tmp/tt-store-XXXXXX");
    return mkdtemp(dir) && chmod(dir, 0755) == 0 ? 0 : -1;
}

int remove_dir(void **state) {
    char command[192];
    (void)state;
    snprintf(command, sizeof command, "chmod -R u+rwX %s && rm -rf %s", dir, dir);
    return system(command);
}

const char *in_dir(const char *name) {
    static char path[64][128]; /* enough for one test */
    static int at;
    at = (at + 1) % 64;
    snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
    return path[at];
}

tt__store *must_open(const char *path) {
    tt__store *s;
    assert_ok(tt__store_open(&s, path, TT__STORE_READ_WRITE));
    return s;
}

int64_t raw_sql(const char *path, const char *sql) {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    int64_t value = 0;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    for (const char *rest = sql; *rest;) {
        if (sqlite3_prepare_v2(db, rest, -1, &stmt, &rest) != SQLITE_OK)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        int rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            value = sqlite3_column_int64(stmt, 0);
        else if (rc != SQLITE_DONE)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    return value;
}

void write_file(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

void copy_file(const char *to, const char *from) {
    tt__str text;
    assert_ok(tt__read_file(&text, from));
    write_file(to, text.text, text.len);
    tt__str_free(&text);
}

void copy_half_written(const char *to, const char *from) {
    char journal[2][256];
    sqlite3 *db;
    assert_int_equal(sqlite3_open(from, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN;"
                                  "UPDATE trial SET time = 7, reason = printf('%.*c', 300, 'x')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    snprintf(journal[0], sizeof journal[0], "%s-journal", to);
    snprintf(journal[1], sizeof journal[1], "%s-journal", from);
    copy_file(to, from);
    copy_file(journal[0], journal[1]);
    sqlite3_close(db);
}

void assert_intact(const char *path) {
    assert_int_equal(raw_sql(path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    assert_int_equal(raw_sql(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

const tt__gpu h100 = {.name = "NVIDIA H100 80GB HBM3",
                      .mig = "",
                      .cc = 90,
                      .sm_count = 132,
                      .memory_bytes = INT64_C(85028896768),
                      .l2_bytes = 52428800,
                      .max_threads_per_block = 1024,
                      .shared_per_block = 232448,
                      .peak_gbps = 3352.3};
const tt__env env1 = {"580.159.04", "13.0", "1"};
const tt__env env2 = {"590.10", "13.0", "1"};

void assert_same_gpu(const tt__gpu *a, const tt__gpu *b) {
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->mig, b->mig);
    assert_int_equal(a->cc, b->cc);
    assert_int_equal(a->sm_count, b->sm_count);
    assert_int_equal(a->memory_bytes, b->memory_bytes);
    assert_int_equal(a->l2_bytes, b->l2_bytes);
    assert_int_equal(a->max_threads_per_block, b->max_threads_per_block);
    assert_int_equal(a->shared_per_block, b->shared_per_block);
    assert_memory_equal(&a->peak_gbps, &b->peak_gbps, sizeof a->peak_gbps);
}

tt__problem matrix(const char *op, const int64_t values[9]) {
    static const char *const names[] = {"rows",  "cols",       "elem_size",  "lds",  "ldd",
                                        "batch", "src_stride", "dst_stride", "align"};
    tt__problem p = {0};
    tt__copy(p.op, sizeof p.op, op);
    for (int i = 0; i < 9; i++)
        tt__problem_set(&p, names[i], values[i]);
    return p;
}

tt__problem square(int64_t n) {
    return matrix("transpose", (int64_t[]){n, n, 4, n, n, 1, n * n, n * n, 16});
}

tt__problem copy_of(int64_t bytes) {
    tt__problem p = {.op = "copy"};
    tt__problem_set(&p, "bytes", bytes);
    return p;
}

tt__problem saxpy(char text, tt__type elem, int64_t n) {
    tt__problem p = {.op = "saxpy"};
    memset(p.text, text, sizeof p.text - 1);
    tt__problem_set_type(&p, "elem", elem);
    tt__problem_set(&p, "n", n);
    return p;
}

tt__trial good(double time_us) {
    tt__trial t = {.time_us = time_us, .compile_ms = 41.125, .regs = 32, .bits = INT64_MAX, .n_samples = 3};
    t.samples_us[0] = (float)(time_us * 1.01);
    t.samples_us[1] = (float)time_us;
    t.samples_us[2] = (float)(time_us * 0.99);
    return t;
}

ids some_ids(tt__store *s) {
    ids id;
    tt__problem p = square(4096);
    assert_ok(tt__store_gpu(s, &h100, &id.gpu));
    assert_ok(tt__store_problem(s, &p, &id.problem));
    assert_ok(tt__store_config(s, "transpose_tiled", "transpose", "abcd", "TILE_DIM=32 PAD=1", &id.config));
    assert_ok(tt__store_run_begin(s, id.gpu, &env1, "measured", &id.run));
    return id;
}

tt_status see(void *user, const tt__trial_row *row) {
    seen *x = user;
    int i = x->n++;
    if (i < 4) {
        x->trial[i] = *row->trial;
        tt__copy(x->config[i], sizeof x->config[i], row->config);
        tt__copy(x->hash[i], sizeof x->hash[i], row->hash);
        tt__copy(x->source[i], sizeof x->source[i], row->source);
        x->run[i] = row->run_id;
    }
    return x->give;
}

seen trials(tt__store *s, ids id, const tt__env *env, tt__stage stage) {
    seen x = {0};
    assert_ok(tt__store_trials(s, id.gpu, env, id.problem, stage, see, &x));
    return x;
}

tt__winner a_winner(double time_us) {
    return (tt__winner){.time_us = time_us,
                        .copy_us = 40.25,
                        .copy_fraction = 0.9375,
                        .speedup_vs_default = 1.5,
                        .trials = 240,
                        .failed = 3,
                        .unix_ms = 1763717640123,
                        .bits = TT__BITS_HASH,
                        .batch_invariant = 2};
}

ids fill_store(tt__store *s, int n_trials, double time_us, int64_t trials) {
    ids id = some_ids(s);
    for (int i = n_trials - 1; i >= 0; i--) {
        char text[32];
        tt__trial t = good(time_us + i);
        snprintf(text, sizeof text, "I=%d", i);
        assert_ok(tt__store_config(s, "transpose_tiled", "transpose", "abcd", text, &id.config));
        assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t));
    }
    tt__winner w = a_winner(time_us);
    w.trials = trials;
    assert_ok(tt__store_winner_put(s, id.run, id.problem, id.config, &w));
    char image[] = "a cubin", hash[TT__HASH_SIZE];
    tt__hash(hash, image, sizeof image);
    assert_ok(tt__store_cubin_put(s, hash, image, sizeof image));
    assert_ok(tt__store_cubin_link(s, "abcd", "I=0", 4, 90, hash));
    return id;
}

const char *a_store(const char *name, int n_trials, double time_us, int64_t trials) {
    const char *path = in_dir(name);
    tt__store *s = must_open(path);
    fill_store(s, n_trials, time_us, trials);
    tt__store_close(&s);
    return path;
}
