/* A store that was truncated or overwritten. Every call returns a usable answer, or a message that names the
 * file. Nothing crashes, and the file stays where it is. */
#include "store_fixture.h"

#include <sys/stat.h>

#include "base/read_file.h"
#include "db/exchange/merge.h"
#include "db/upkeep.h"
#include "dispatch/ladder.h"
#include "kernel/load/builtin.h"

enum { PAGE = 4096, TRIALS = 300, SIZES = 20, PLACES = 150, PLACES_LONG = 250 }; /* or TT_DAMAGE_PLACES */

/* Enough of everything to have inner pages and overflow pages. */
static void fill(const char *path) {
    tt__store *s = must_open(path);
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = ":memory:";
    assert_ok(tt_open(&ctx, &opts));
    const tt__template *t = tt__template_set_find(&ctx->templates, "transpose_tiled");
    assert_ok(tt__template_read(&t));
    ids id = some_ids(s);
    char image[9000], text[64];
    memset(image, 7, sizeof image);
    assert_ok(tt__store_begin(s));
    for (int i = 0; i < TRIALS; i++) {
        tt__trial trial = good(50 + i);
        snprintf(text, sizeof text, "I=%d", i);
        assert_ok(tt__store_config(s, "k", "transpose", "abcd", text, &id.config));
        assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &trial));
    }
    assert_ok(tt__store_config(s, t->kernel, t->op, t->hash, t->default_config, &id.config));
    for (int i = 1; i <= SIZES; i++) {
        tt__problem p = square(256 * i);
        tt__winner w = a_winner(50);
        assert_ok(tt__store_problem(s, &p, &id.problem));
        assert_ok(tt__store_winner_put(s, id.run, id.problem, id.config, &w));
    }
    assert_ok(tt__store_cubin_put(s, "key", image, sizeof image));
    assert_ok(tt__store_commit(s));
    tt_close(&ctx);
    tt__store_close(&s);
}

/* A failure is of the kinds that a damaged file may lead to, and says something. */
static void may_fail(tt_status status, const char *what) {
    bool told = status == TT_E_DB || status == TT_E_INVALID || status == TT_E_UNSUPPORTED;
    if (status != TT_OK && (!told || !*tt_last_error()))
        fail_msg("%s: %s: %s", what, tt_strerror(status), tt_last_error());
}

/* The questions of a program. An answer must be a configuration that is legal for the problem. */
static void ask(const char *path, bool read_only) {
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = path;
    opts.read_only = read_only;
    tt_status status = tt_open(&ctx, &opts);
    may_fail(status, "tt_open");
    for (int64_t n = 1; n < 6 && status == TT_OK; n++) {
        tt_choice choice = TT_INIT(tt_choice);
        tt__candidate c, again;
        tt__problem p = square(n * 1000 + n);
        tt__problem_set(&p, "align", 4);
        if (n == 5)
            p = square(1024);
        tt_status got = tt__ladder(ctx, &ctx->templates, &h100, &p, &choice, &c);
        may_fail(got, "the ladder");
        if (got == TT_OK)
            assert_ok(tt__space_resolve(&again, c.configuration.t, &h100, &p, choice.config));
    }
    tt_close(&ctx);
}

static void ignore(void *user, const char *what) {
    (void)user;
    (void)what;
}

/* The maintenance of a store. */
static void keep(const char *path) {
    tt__store *s, *to = must_open(":memory:");
    tt__checked checked;
    tt__merged merged = {0};
    tt__str cubin = {0};
    tt__trial t = good(50);
    bool trusted, found;
    tt_status status = tt__store_open_foreign(&s, path, &trusted);
    may_fail(status, "opening");
    if (status == TT_OK) {
        may_fail(tt__store_check(s, ignore, NULL, &checked), "checking");
        may_fail(tt__store_cubin_get(s, "key", &cubin, &found), "a cubin");
        assert_ok(tt__store_begin(to));
        may_fail(tt__store_merge(to, s, &(tt__merge_opts){.trusted = true}, &merged), "merging");
    }
    tt__store_close(&s);
    tt__store_close(&to);
    tt__str_free(&cubin);
    status = tt__store_open(&s, path, TT__STORE_READ_WRITE);
    may_fail(status, "opening to write");
    if (status == TT_OK)
        may_fail(tt__store_trial_put(s, 1, 1, 1, TT__STAGE_FINAL, &t), "a trial");
    tt__store_close(&s);
}

static void use(const char *hurt, const char *data, size_t size, bool read_only) {
    struct stat st;
    write_file(hurt, data, size);
    chmod(hurt, 0600);
    ask(hurt, read_only);
    keep(hurt);
    assert_int_equal(stat(hurt, &st), 0);
    assert_true((size_t)st.st_size >= size);
    unlink(in_dir("hurt.db-wal"));
    unlink(in_dir("hurt.db-shm"));
}

static void truncated(void **state) {
    (void)state;
    const char *path = in_dir("whole.db"), *hurt = in_dir("hurt.db");
    tt__str whole;
    fill(path);
    assert_ok(tt__read_file(&whole, path));
    assert_true(whole.len > 20 * PAGE);
    for (size_t pages = 1; pages * PAGE < whole.len; pages++) {
        tt__store *s;
        use(hurt, whole.text, pages * PAGE, true);
        write_file(hurt, whole.text, pages * PAGE);
        assert_fails(tt__store_open(&s, hurt, TT__STORE_READ_WRITE), TT_E_DB, "damaged");
        use(hurt, whole.text, pages * PAGE + 100, false);
    }
    tt__str_free(&whole);
}

static void scribbled_on(void **state) {
    (void)state;
    const char *path = in_dir("whole.db"), *hurt = in_dir("hurt.db");
    tt__str whole;
    unsigned seed = 1;
    const char *more = getenv("TT_DAMAGE_PLACES");
    size_t places = more && atoi(more) > 0 ? (size_t)atoi(more) : getenv("TT_LONG") ? PLACES_LONG : PLACES;
    fill(path);
    assert_ok(tt__read_file(&whole, path));
    char *copy = malloc(whole.len);
    assert_non_null(copy);
    for (size_t place = 0; place < places; place++) {
        memcpy(copy, whole.text, whole.len);
        size_t at = (size_t)rand_r(&seed) % whole.len, n = 1 + (size_t)rand_r(&seed) % 200;
        if (place < 100) { /* the header, byte by byte */
            at = place;
            n = 1;
        }
        for (size_t i = at; i < at + n && i < whole.len; i++)
            copy[i] = (char)rand_r(&seed);
        use(hurt, copy, whole.len, place % 2);
    }
    free(copy);
    tt__str_free(&whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(truncated), TEST(scribbled_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
