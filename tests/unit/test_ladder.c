/* The look-up ladder: what a winner depends on, layers, distances, and the answer for a
 * problem nobody tuned. */
#include "store_fixture.h"

#include "dispatch/context.h"
#include "dispatch/layers.h"
#include "dispatch/shipped.h"
#include "dispatch/validity.h"

static tt_ctx *ctx_of(const char *db, const char *gpu) {
    tt_ctx *ctx;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = db;
    opts.gpu = gpu;
    assert_ok(tt_open(&ctx, &opts));
    return ctx;
}

/* The classic kernel with its text of today, which any ordinary problem allows. */
static const tt__template *classic(tt_ctx *ctx) {
    const tt__template *t = tt__template_set_find(&ctx->templates, "transpose_tiled");
    assert_non_null(t);
    return t;
}

/* Makes this configuration (NULL: the default one) the winner of a problem in a store. */
static void crown(tt__store *s, const tt__gpu *gpu, const tt__problem *p, const char *hash,
                  const char *config, double time_us) {
    const tt__env env = {"580.159.04", "13.0", TT__METHOD};
    tt_ctx *ctx = ctx_of(":memory:", NULL);
    const tt__template *t = classic(ctx);
    tt__winner w = a_winner(time_us);
    int64_t gpu_id, problem, config_id, run;
    assert_ok(tt__store_gpu(s, gpu, &gpu_id));
    assert_ok(tt__store_problem(s, p, &problem));
    assert_ok(tt__store_config(s, t->kernel, t->op, hash ? hash : t->hash,
                               config ? config : t->default_config, &config_id));
    assert_ok(tt__store_run_begin(s, gpu_id, &env, "measured", &run));
    assert_ok(tt__store_winner_put(s, run, problem, config_id, &w));
    tt_close(&ctx);
}

static void crown_in(const char *path, const tt__gpu *gpu, const tt__problem *p, const char *hash,
                     const char *config, double time_us) {
    tt__store *s = must_open(path);
    crown(s, gpu, p, hash, config, time_us);
    tt__store_close(&s);
}

static tt_choice best(tt_ctx *ctx, const tt__problem *p) {
    tt_choice c = TT_INIT(tt_choice);
    tt_problem asked = TT_INIT(tt_problem);
    asked.rows = p->rows;
    asked.cols = p->cols;
    asked.lds = p->lds;
    asked.ldd = p->ldd;
    asked.elem_size = p->elem_size;
    asked.align = p->align;
    asked.batch = p->batch;
    asked.warm = tt__warm(p);
    assert_ok(tt_best(&c, ctx, &asked));
    return c;
}

/* ---- Validity ------------------------------------------------------------------------------------------ */

/* What a result depends on, each changed once. */
typedef struct world {
    tt__gpu gpu;
    tt__problem problem;
    char hash[TT__HASH_SIZE], driver[32], nvrtc[16], library[16], kernel[TT__NAME_MAX];
} world;

#define INPUT(m, kind)                                                                                       \
    { #m, kind, offsetof(world, m) }
static const struct {
    const char *name;
    enum { A_TEXT, AN_INT, AN_I64, SOME_MEMORY } kind;
    size_t offset;
} inputs[] = {
    INPUT(gpu.name, A_TEXT),
    INPUT(gpu.mig, A_TEXT),
    INPUT(gpu.cc, AN_INT),
    INPUT(gpu.sm_count, AN_INT),
    INPUT(gpu.memory_bytes, SOME_MEMORY),
    INPUT(problem.op, A_TEXT),
    INPUT(problem.rows, AN_I64),
    INPUT(problem.cols, AN_I64),
    INPUT(problem.lds, AN_I64),
    INPUT(problem.ldd, AN_I64),
    INPUT(problem.batch, AN_I64),
    INPUT(problem.src_stride, AN_I64),
    INPUT(problem.dst_stride, AN_I64),
    INPUT(problem.elem_size, AN_INT),
    INPUT(problem.align, AN_INT),
    INPUT(hash, A_TEXT),
    INPUT(kernel, A_TEXT),
    INPUT(driver, A_TEXT),
    INPUT(nvrtc, A_TEXT),
    INPUT(library, A_TEXT),
};

static void change(world *w, size_t input) {
    char *at = (char *)w + inputs[input].offset;
    if (inputs[input].kind == A_TEXT)
        *at = *at == 'Z' ? 'Y' : 'Z';
    else if (inputs[input].kind == AN_INT)
        *(int *)(void *)at *= 2;
    else if (inputs[input].kind == AN_I64)
        *(int64_t *)(void *)at *= 2;
    else
        *(int64_t *)(void *)at += *(int64_t *)(void *)at / 10;
}

/* Does what was measured in one world hold in another? By the key, and by the validators. */
static bool holds(const world *then, const world *now) {
    tt__store *s = must_open(":memory:");
    tt__template t = {0};
    tt__template *items[] = {&t};
    const tt__template_set set = {1, items};
    const tt__env env_then = {0};
    tt__env env = env_then;
    tt__winner w = a_winner(50);
    int64_t gpu, problem, config, run;
    bool found = false;
    char why[160];
    tt__copy(env.driver, sizeof env.driver, then->driver);
    tt__copy(env.nvrtc, sizeof env.nvrtc, then->nvrtc);
    tt__copy(env.library, sizeof env.library, then->library);
    assert_ok(tt__store_gpu(s, &then->gpu, &gpu));
    assert_ok(tt__store_problem(s, &then->problem, &problem));
    assert_ok(tt__store_config(s, then->kernel, then->problem.op, then->hash, "A=1", &config));
    assert_ok(tt__store_run_begin(s, gpu, &env, "measured", &run));
    assert_ok(tt__store_winner_put(s, run, problem, config, &w));

    tt__copy(t.kernel, sizeof t.kernel, now->kernel);
    tt__copy(t.hash, sizeof t.hash, now->hash);
    assert_ok(tt__store_known_gpu(s, &now->gpu, &gpu));
    assert_ok(tt__store_known_problem(s, &now->problem, &problem));
    if (gpu >= 0 && problem >= 0)
        assert_ok(tt__store_winner_get(s, gpu, problem, &w, &found));
    if (found)
        tt__winner_staleness(why, sizeof why, &w, &set, now->driver, now->nvrtc);
    tt__store_close(&s);
    return found && !*why;
}

static void every_input_counts(void **state) {
    (void)state;
    world base = {.gpu = h100,
                  .problem = square(4096),
                  .hash = "abcd",
                  .driver = "580.159.04",
                  .nvrtc = "13.0",
                  .library = TT__METHOD,
                  .kernel = "transpose_tiled"};
    assert_true(holds(&base, &base));
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        world other = base;
        change(&other, i);
        bool is_method = strcmp(inputs[i].name, "library") == 0; /* that of this build is a constant */
        if (!is_method && holds(&base, &other))
            fail_msg("%s has changed, and the result still holds", inputs[i].name);
        if (holds(&other, &base))
            fail_msg("%s was another, and the result holds", inputs[i].name);
    }
    world other = base; /* what may differ */
    other.gpu.memory_bytes += other.gpu.memory_bytes / 30;
    other.gpu.l2_bytes++;
    assert_true(holds(&base, &other));
    *other.driver = *other.nvrtc = '\0'; /* unknown here: not compared */
    assert_true(holds(&base, &other));
}

/* The fields that identify a problem or a GPU are those that the table above changes. */
static void the_table_is_complete(void **state) {
    (void)state;
    for (size_t i = 0; i < TT__PROBLEM_FIELDS + TT__GPU_ID_FIELDS + TT__ENV_FIELDS; i++) {
        char name[64];
        size_t k = 0, n = sizeof inputs / sizeof *inputs;
        if (i < TT__PROBLEM_FIELDS)
            snprintf(name, sizeof name, "problem.%s", tt__problem_fields[i].name);
        else if (i < TT__PROBLEM_FIELDS + TT__GPU_ID_FIELDS)
            snprintf(name, sizeof name, "gpu.%s", tt__gpu_fields[i - TT__PROBLEM_FIELDS].name);
        else
            snprintf(name, sizeof name, "%s",
                     tt__env_fields[i - TT__PROBLEM_FIELDS - TT__GPU_ID_FIELDS].name);
        while (k < n && strcmp(inputs[k].name, name) != 0)
            k++;
        if (k == n)
            fail_msg("%s identifies results, and no test changes it", name);
    }
}

/* ---- Layers -------------------------------------------------------------------------------------------- */

static const char small[] = "TILE_DIM=16 BLOCK_ROWS=16 PAD=1 UNROLL=1 ORDER=1";

static void layers_answer_in_order(void **state) {
    (void)state;
    const char *user = in_dir("user.db"), *system = in_dir("system.db");
    tt__problem p = square(3000);
    setenv("TILETUNE_SYSTEM_DB", system, 1);
    crown_in(system, &h100, &p, NULL, small, 60);
    tt__store *s = must_open(user);
    tt__store_close(&s);
    tt_ctx *ctx = ctx_of(user, "h100"); /* a GPU that only the system's store knows */
    tt_choice c = best(ctx, &p);
    assert_int_equal(c.match, TT_MATCH_EXACT);
    assert_string_equal(c.layer, "system");
    assert_string_equal(c.config, small);
    c = best(ctx, &p); /* the same from memory */
    assert_string_equal(c.layer, "system");
    tt_close(&ctx);

    crown_in(user, &h100, &p, "0123", NULL, 50); /* stale here, valid there */
    ctx = ctx_of(user, "h100");
    assert_string_equal(best(ctx, &p).layer, "system");
    tt_close(&ctx);
    crown_in(system, &h100, &p, "0123", small, 60);
    ctx = ctx_of(user, "h100");
    c = best(ctx, &p);
    assert_int_equal(c.match, TT_MATCH_STALE);
    assert_string_equal(c.layer, "user");
    assert_non_null(strstr(c.why, "template changed"));
    tt_close(&ctx);
    crown_in(user, &h100, &p, NULL, NULL, 50);
    ctx = ctx_of(user, "h100");
    c = best(ctx, &p);
    assert_int_equal(c.match, TT_MATCH_EXACT);
    assert_string_equal(c.layer, "user");
    tt_close(&ctx);

    /* What an older text of the template had is taken as far as it goes, unless a value has gone. */
    crown_in(user, &h100, &p, "0123", "TILE_DIM=16 BLOCK_ROWS=16 PAD=1 GONE=5", 50);
    ctx = ctx_of(user, "h100");
    c = best(ctx, &p);
    assert_int_equal(c.match, TT_MATCH_STALE);
    assert_string_equal(c.config, small);
    tt_close(&ctx);
    crown_in(user, &h100, &p, "0123", "TILE_DIM=17 BLOCK_ROWS=16 PAD=1 GONE=5", 50);
    crown_in(system, &h100, &p, NULL, NULL, 60);
    ctx = ctx_of(user, "h100");
    assert_string_equal(best(ctx, &p).layer, "system");
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

/* Warm and cold are two problems; what is known of one is a default for the other, also from memory. */
static void warm_and_cold(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt__problem cold = square(3000), warm = cold;
    strcpy(warm.op, "transpose" TT__WARM);
    tt__problem ways[] = {warm, cold};
    tt__gpu gpu = h100;
    gpu.cc = 80;                              /* of which nothing is shipped */
    for (int other = 0; other < 2; other++) { /* first only the one is known, then the other too */
        crown_in(user, &gpu, &ways[other], NULL, other ? NULL : small, 50);
        tt_ctx *ctx = ctx_of(user, "h100");
        for (int again = 0; again < 2; again++) {
            tt_choice w = best(ctx, &warm), c = best(ctx, &cold);
            assert_int_equal(w.match, TT_MATCH_EXACT);
            assert_string_equal(w.config, small);
            assert_int_equal(c.match, other ? TT_MATCH_EXACT : TT_MATCH_DEFAULT);
            assert_int_equal(strcmp(c.config, small) == 0, !other);
            assert_true(other || strstr(c.why, "as for 3000 x 3000, warm"));
        }
        tt_close(&ctx);
    }
}

/* What another process finds out is seen, if not at once. */
static void answers_do_not_grow_old(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt__problem p = square(3000), q = square(5000);
    crown_in(user, &h100, &p, NULL, NULL, 50);
    tt_ctx *ctx = ctx_of(user, "h100");
    assert_int_equal(best(ctx, &q).match, TT_MATCH_NEAREST);
    crown_in(user, &h100, &q, NULL, small, 90);
    usleep(1100000);
    tt_choice c = best(ctx, &q);
    assert_int_equal(c.match, TT_MATCH_EXACT);
    assert_string_equal(c.config, small);
    tt_close(&ctx);
}

/* ---- Distances and limits ------------------------------------------------------------------------------ */

static void each_dimension_counts(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt__problem flat = square(4096), wide = square(4096), asked = square(64);
    flat.rows = flat.ldd = 64; /* of the same area as what is asked for */
    flat.cols = flat.lds = 65536;
    wide.rows = wide.ldd = 1024;
    wide.cols = wide.lds = 1024;
    flat.src_stride = flat.dst_stride = flat.rows * flat.cols;
    wide.src_stride = wide.dst_stride = wide.rows * wide.cols;
    crown_in(user, &h100, &flat, NULL, small, 50);
    crown_in(user, &h100, &wide, NULL, NULL, 50);
    asked.rows = asked.cols = asked.lds = asked.ldd = 1500;
    tt_ctx *ctx = ctx_of(user, "h100");
    tt_choice c = best(ctx, &asked);
    assert_int_equal(c.rows, 1024);
    assert_int_equal(c.match, TT_MATCH_NEAREST);
    assert_string_equal(c.layer, "user");
    tt_close(&ctx);

    tt__gpu other = h100; /* nearer, but elsewhere; then far nearer */
    strcpy(other.name, "NVIDIA H100 PCIe");
    tt__problem near = square(1448);
    crown_in(user, &other, &near, NULL, small, 50);
    ctx = ctx_of(user, h100.name);
    assert_int_equal(best(ctx, &asked).match, TT_MATCH_NEAREST);
    tt__problem far = square(16384);
    crown_in(user, &other, &far, NULL, small, 50);
    assert_int_equal(best(ctx, &far).match, TT_MATCH_OTHER_GPU);
    assert_string_equal(best(ctx, &far).gpu, other.name);
    tt_close(&ctx);
}

/* What was measured far away is no measurement of this: the nearest of all that is known, shipped or not, is
 * as good. */
static void far_is_not_near(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt__problem large = square(8192);
    tt__gpu gpu = h100, other = h100;
    gpu.cc = other.cc = 80; /* of which nothing is shipped */
    strcpy(other.name, "NVIDIA A100");
    crown_in(user, &gpu, &large, NULL, small, 50);
    crown_in(user, &other, &large, NULL, small, 50);
    tt_ctx *ctx = ctx_of(user, h100.name);
    tt__problem asked[] = {square(1024), square(1000), square(96)}; /* 6, 6.1 and 12.8 away */
    for (int i = 0; i < 3; i++) {
        tt_choice c = best(ctx, &asked[i]);
        assert_int_equal(c.match, i ? TT_MATCH_DEFAULT : TT_MATCH_NEAREST);
        assert_int_equal(c.time_us > 0, i == 0);
        assert_true(i == 0 || tt__n_shipped == 0 || strcmp(c.layer, "shipped") == 0);
    }
    tt_close(&ctx);
}

/* Whatever is asked, the answer is legal for the problem on the GPU, on any architecture. */
static void any_problem_has_a_legal_answer(void **state) {
    (void)state;
    static const int64_t sides[] = {1, 7, 33, 1000, 1024, 8191, 16384};
    static const int elem_sizes[] = {1, 2, 4, 8, 16}, ccs[] = {80, 90, 120};
    tt_ctx *ctx = ctx_of(":memory:", NULL);
    tt__gpu gpu = h100;
    for (size_t n = 0; n < 7 * 7 * 5 * 3 * 2; n++) {
        tt__candidate c;
        tt_choice choice = TT_INIT(tt_choice);
        tt_problem asked = TT_INIT(tt_problem);
        tt__problem p;
        asked.rows = sides[n % 7];
        asked.cols = sides[n / 7 % 7];
        asked.elem_size = elem_sizes[n / 49 % 5];
        gpu.cc = ccs[n / 245 % 3];
        asked.align = n / 735 ? asked.elem_size : 0;
        if ((asked.rows + asked.cols + (int64_t)n) % 5) /* a fifth of them is enough */
            continue;
        assert_ok(tt__problem_init(&p, &asked));
        assert_ok(tt__ladder(ctx, &gpu, -1, &p, &choice, &c));
        assert_true(choice.match == TT_MATCH_OTHER_GPU || choice.match == TT_MATCH_DEFAULT);
        tt__candidate again;
        assert_ok(tt__space_resolve(&again, c.t, &gpu, &p, choice.config));
        assert_true(choice.why[0]);
        assert_true(choice.match != TT_MATCH_DEFAULT || (!choice.gpu[0] && choice.rows == 0));
    }
    tt_close(&ctx);
}

/* On the GPU of a shipped winner, with nothing tuned: that winner, whether its template
 * has changed or not. */
static void shipped_winners_answer(void **state) {
    (void)state;
    tt_ctx *ctx = ctx_of(":memory:", NULL);
    size_t legal = 0;
    for (size_t i = 0; i < tt__n_shipped; i++) {
        const tt__winner *w = &tt__shipped[i];
        tt__candidate c;
        tt_choice choice = TT_INIT(tt_choice);
        assert_ok(tt__ladder(ctx, &w->gpu, -1, &w->problem, &choice, &c));
        if (choice.match != TT_MATCH_EXACT && choice.match != TT_MATCH_STALE)
            continue; /* its template has gone, or does not allow it any more */
        legal++;
        assert_string_equal(choice.layer, "shipped");
        if (choice.match == TT_MATCH_EXACT) /* else it was adapted to a newer text */
            assert_string_equal(choice.config, w->config);
        tt_choice exact = choice;
        tt_problem warm = tt__problem_public(&w->problem);
        tt__problem p;
        warm.warm = 1;
        assert_ok(tt__problem_init(&p, &warm));
        assert_ok(tt__ladder(ctx, &w->gpu, -1, &p, &choice, &c));
        assert_int_equal(choice.match, TT_MATCH_DEFAULT); /* nothing warm is shipped, but this does well */
        assert_string_equal(choice.config, exact.config);
    }
    assert_true(tt__n_shipped == 0 || legal > 0);
    tt_close(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_input_counts), TEST(the_table_is_complete),   TEST(layers_answer_in_order),
        TEST(a_bad_system_store), TEST(answers_do_not_grow_old), TEST(each_dimension_counts),
        TEST(far_is_not_near),    TEST(shipped_winners_answer),  TEST(any_problem_has_a_legal_answer),
        TEST(warm_and_cold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
