/*
 * The look-up ladder: near and far problems, files of users, and answers for untuned problems.
 */
#include "ladder_fixture.h"

#include <math.h>

#include "api/problem.h"
#include "dispatch/ladder.h"
#include "dispatch/snapshot.h"
#include "dispatch/store_layers.h"

/* ---- Distances and limits ------------------------------------------------------------------------------ */

static void each_dimension_counts(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt__problem flat = MATRIX(.rows = 64, .cols = 65536), /* of nearly the same area as what is asked for */
        wide = square(1024), asked = square(1500);
    crown_in(user, &h800, &flat, NULL, small_config, 50);
    crown_in(user, &h800, &wide, NULL, NULL, 50);
    tt_ctx *ctx = ctx_of(user, "h800");
    tt_choice c = best(ctx, &asked);
    assert_int_equal(c.rows, 1024);
    assert_int_equal(c.match, TT_MATCH_NEAREST);
    assert_string_equal(c.layer, "user");
    tt_close(&ctx);

    tt__gpu other = h800; /* nearer, but elsewhere; then far nearer */
    strcpy(other.name, "NVIDIA H800 PCIe");
    tt__problem near = square(1448);
    crown_in(user, &other, &near, NULL, small_config, 50);
    ctx = ctx_of(user, h800.name);
    assert_int_equal(best(ctx, &asked).match, TT_MATCH_NEAREST);
    tt__problem far = square(16384);
    crown_in(user, &other, &far, NULL, small_config, 50);
    tt_close(&ctx);
    ctx = ctx_of(user, h800.name);
    assert_int_equal(best(ctx, &far).match, TT_MATCH_OTHER_GPU);
    assert_string_equal(best(ctx, &far).gpu, other.name);
    tt_close(&ctx);
}

/* A stale winner counts as if it were 0.5 further away than it is. */
static void stale_is_further(void **state) {
    (void)state;
    static const struct {
        int64_t sides[2];      /* of 1000: the first is nearer */
        const char *hashes[2]; /* NULL: valid */
        int64_t best;
    } cases[] = {
        {{1050, 1120}, {"0123", NULL}, 1120}, /* 0.14 + 0.5 and 0.33 */
        {{1050, 1400}, {"0123", NULL}, 1050}, /* 0.64 and 0.97 */
        {{1050, 1120}, {"0123", "4567"}, 1050},
        {{1050, 1120}, {NULL, "4567"}, 1050},
    };
    tt__gpu gpu = h800;
    gpu.cc = 80; /* no winner ships for it */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *user = in_dir("stale.db");
        tt__problem asked = square(1000);
        remove(user);
        for (int k = 0; k < 2; k++) {
            tt__problem p = square(cases[i].sides[k]);
            crown_in(user, &gpu, &p, cases[i].hashes[k], small_config, 50);
        }
        tt_ctx *ctx = ctx_of(user, h800.name);
        tt_choice c = best(ctx, &asked);
        assert_int_equal(c.match, TT_MATCH_NEAREST);
        assert_int_equal(c.rows, cases[i].best);
        tt_close(&ctx);
    }
}

/* A configuration measured here has run. An imported one must be checked. */
static void imported_winners_are_looked_at(void **state) {
    (void)state;
    static const char *const sources[] = {"measured", "imported"};
    tt__problem p = square(3000);
    for (int i = 0; i < 2; i++) {
        const char *user = in_dir("imported.db");
        remove(user);
        tt__store *s = must_open(user); /* a block of 16 threads, and `where` wants 64 */
        crown_of(s, sources[i], &h800, &p, NULL, "TILE_DIM=16 BLOCK_ROWS=2 PAD=1 UNROLL=1 ORDER=1", 50);
        tt__store_close(&s);
        tt_ctx *ctx = ctx_of(user, "h800");
        tt_choice c = best(ctx, &p);
        assert_int_equal(c.match == TT_MATCH_EXACT, i == 0);
        assert_int_equal(strncmp(c.config, "TILE_DIM=16 BLOCK_ROWS=2 ", 25) == 0, i == 0);
        tt_close(&ctx);
    }
}

/* Some problem's answer is never that of another one that happens to have its place in memory. */
static void answers_are_not_mixed_up(void **state) {
    (void)state;
    enum { OTHERS = 1200 };
    const char *user = in_dir("user.db");
    tt__problem p = square(3000);
    crown_in(user, &h800, &p, NULL, small_config, 50);
    tt_ctx *ctx = ctx_of(user, "h800");
    assert_int_equal(best(ctx, &p).match, TT_MATCH_EXACT);
    for (int64_t i = 0; i < OTHERS; i++) {
        tt__problem other = square(3001 + i);
        assert_int_not_equal(best(ctx, &other).match, TT_MATCH_EXACT);
    }
    tt_close(&ctx);
}

/* However far away, what was measured says more than a default, and less than what is nearer. */
static void far_and_farther(void **state) {
    (void)state;
    const char *user = in_dir("far.db");
    tt__problem asked = MATRIX(.rows = 1, .cols = 1 << 14), /* in reach of any grid */
        long_one = MATRIX(.rows = 1, .cols = 1 << 7);
    tt__gpu gpu = h800;
    gpu.cc = 80; /* no rule ships for it */
    for (int measured = 0; measured < 2; measured++) {
        if (measured)
            crown_in(user, &gpu, &long_one, NULL, "TILE_DIM=32 BLOCK_ROWS=8 PAD=1 UNROLL=1 ORDER=0", 50);
        tt_ctx *ctx = ctx_of(user, measured ? gpu.name : NULL);
        tt__candidate c;
        tt_choice choice = TT_INIT(tt_choice);
        assert_ok(tt__ladder(ctx, &ctx->templates, &gpu, &asked, &choice, &c));
        assert_int_equal(choice.match, TT_MATCH_DEFAULT);
        const char *says =
            measured ? "nothing was tuned for this; as for 1x128" : "nothing was tuned for this; as for ";
        if ((measured || tt__n_shipped > 0) && !strstr(choice.why, says))
            fail_msg("%s", choice.why);
        tt_close(&ctx);
    }
}

/* A trial of what was answered: it was wrong. */
static void store_wrong(const char *path, const tt__gpu *gpu, const tt__problem *p, const tt__template *t,
                        const char *config) {
    const tt__env env = {"580.159.04", "13.0", TT__METHOD};
    const tt__trial wrong = {.status = TT__TRIAL_WRONG_RESULT};
    tt__store *s = must_open(path);
    int64_t gpu_id, problem, config_id, run;
    assert_ok(tt__store_gpu(s, gpu, &gpu_id));
    assert_ok(tt__store_problem(s, p, &problem));
    assert_ok(tt__template_read(&t));
    assert_ok(tt__store_config(s, t->kernel, t->op, t->hash, config, &config_id));
    assert_ok(tt__store_run_begin(s, gpu_id, &env, "measured", &run));
    assert_ok(tt__store_trial_put(s, run, problem, config_id, TT__STAGE_SCREEN, &wrong));
    tt__store_close(&s);
}

/* A shipped rule answers for a shape that nobody measured, on its GPU before any winner, on another one of
 * the architecture after the winners that are near. Its configuration is legal, and can be the default. */
static void a_rule_answers_what_was_not_measured(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt__problem asked = MATRIX(.rows = 1764, .cols = 1008, .elem_size = 2),
                near = MATRIX(.rows = 1772, .cols = 1008, .elem_size = 2);
    assert_true(tt__n_shipped_rules > 0);
    const tt__gpu *h200 = &tt__shipped_rules[0].gpu;
    tt_ctx *ctx = ctx_of(user, h200->name);
    tt_choice choice = best(ctx, &asked);
    tt__candidate c;
    assert_int_equal(choice.match, TT_MATCH_RULE);
    assert_string_equal(tt_match_name(choice.match), "rule");
    assert_string_equal(choice.layer, "shipped");
    assert_string_equal(choice.gpu, h200->name);
    assert_string_equal(choice.problem, "");
    assert_non_null(strstr(choice.why, "other problems took"));
    assert_ok(tt__ladder(ctx, &ctx->templates, h200, &asked, &choice, &c));
    assert_string_equal(c.configuration.config, choice.config);
    assert_ok(tt__ladder(ctx, &ctx->templates, &h800, &asked, &choice, &c));
    assert_int_equal(choice.match, TT_MATCH_OTHER_GPU);
    asked.warm = true; /* no rule is for it */
    assert_int_not_equal(best(ctx, &asked).match, TT_MATCH_RULE);
    asked.warm = false;
    asked.in_graph = true; /* a rule of separate launches is better than a winner of anything */
    choice = best(ctx, &asked);
    assert_int_equal(choice.match, TT_MATCH_RULE);
    assert_non_null(strstr(choice.why, " in separate launches"));
    store_wrong(user, h200, &asked, tt__template_set_find(&ctx->templates, choice.kernel), choice.config);
    tt_close(&ctx);
    ctx = ctx_of(user, h200->name); /* what failed in a graph is no answer there, but is one elsewhere */
    assert_string_not_equal(best(ctx, &asked).config, choice.config);
    asked.in_graph = false;
    assert_string_equal(best(ctx, &asked).config, choice.config);
    tt_close(&ctx);
    crown_in(user, &h800, &near, NULL, small_config, 50);
    ctx = ctx_of(user, h800.name);
    asked.in_graph = false;
    assert_int_equal(best(ctx, &asked).match, TT_MATCH_NEAREST);
    asked.in_graph = true; /* a near winner of separate launches is none in a graph */
    assert_int_equal(best(ctx, &asked).match, TT_MATCH_OTHER_GPU);
    asked = near;
    asked.in_graph = true;
    choice = best(ctx, &asked);
    assert_int_equal(choice.match, TT_MATCH_DEFAULT);
    assert_non_null(strstr(choice.why, ", in separate launches"));
    assert_string_equal(choice.config, small_config);
    tt_close(&ctx);
    static const char other_config[] = "TILE_DIM=32 BLOCK_ROWS=8 PAD=1 UNROLL=1 ORDER=0";
    crown_in(user, &h800, &asked, NULL, other_config, 50);
    ctx = ctx_of(user, h800.name);
    choice = best(ctx, &asked);
    assert_int_equal(choice.match, TT_MATCH_EXACT);
    assert_string_equal(choice.config, other_config);
    asked.in_graph = false;
    assert_string_equal(best(ctx, &asked).config, small_config);
    tt_close(&ctx);
}

/* What a rule chooses may be legal with something switched off only. */
static void a_rule_switches_off_what_is_not_legal(void **state) {
    (void)state;
    int n = 0;
    tt_ctx *ctx = ctx_of(":memory:", tt__shipped_rules[0].gpu.name);
    for (int size = 400; size < 4000; size += 37) {
        tt__problem asked = MATRIX(.rows = size, .cols = 3 * size / 8 * 8, .elem_size = 2);
        const tt_choice choice = best(ctx, &asked);
        char line[TT__CONFIG_MAX + 16];
        snprintf(line, sizeof line, "\nelse %s\n", choice.config);
        bool found = false;
        for (size_t i = 0; i < tt__n_shipped_rules; i++)
            found |= strstr(tt__shipped_rules[i].text, line) != NULL;
        n += found && choice.match == TT_MATCH_RULE;
    }
    assert_true(n > 0);
    tt_close(&ctx);
}

/* A far winner is no measurement of this problem. The nearest of all winners, shipped or not, is as good. */
static void far_is_not_near(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt__problem large = square(8192);
    tt__gpu gpu = h800, other = h800;
    gpu.cc = other.cc = 80; /* no winner ships for it */
    strcpy(other.name, "NVIDIA A100");
    crown_in(user, &gpu, &large, NULL, small_config, 50);
    crown_in(user, &other, &large, NULL, small_config, 50);
    tt_ctx *ctx = ctx_of(user, h800.name);
    tt__problem asked[] = {square(1024), square(1000), square(96)}; /* 6, 6.1 and 12.8 away */
    for (int i = 0; i < 3; i++) {
        tt_choice c = best(ctx, &asked[i]);
        assert_int_equal(c.match, i ? TT_MATCH_DEFAULT : TT_MATCH_NEAREST);
        assert_int_equal(c.time_us > 0, i == 0);
        assert_true(i == 0 || tt__n_shipped == 0 || strcmp(c.layer, "shipped") == 0);
    }
    tt_close(&ctx);
}

/* A plan runs a kernel of any size in place of a rule's for this size alone, so the rule's loss says nothing.
 */
static void a_replaced_kernel_has_no_known_loss(void **state) {
    (void)state;
    tt_ctx *ctx = ctx_of(":memory:", "NVIDIA H200");
    tt__gpu gpu;
    assert_ok(tt__knowledge_gpu(ctx, &gpu));
    for (int elem_size = 1; elem_size <= 4; elem_size *= 4) {
        tt_problem p = TT_INIT(tt_problem);
        tt_choice choice;
        tt__problem narrow;
        double loss;
        p.rows = 8;
        p.cols = 4000000;
        p.elem_size = elem_size;
        assert_ok(tt__matrix_problem(&narrow, &p));
        assert_ok(tt__ladder_loss(&choice, &loss, ctx, &ctx->templates, &gpu, &narrow));
        assert_int_equal(choice.match, TT_MATCH_RULE);
        assert_int_equal(isinf(loss) != 0, elem_size == 4);
    }
    tt_close(&ctx);
}

/* The advised command tunes this problem and no other. For in place, no winner ships. */
static void the_advice_is_about_the_problem(void **state) {
    (void)state;
    static const struct {
        tt_problem asked;
        const char *says;
    } cases[] = {
        {{.rows = 40, .cols = 40}, "rows=40"},
        {{.rows = 41, .cols = 41, .elem_size = 2, .batch = 3}, "rows=41,elem_size=2,batch=3"},
        {{.rows = 40, .cols = 40, .lds = 48}, "rows=40,lds=48"},
        {{.rows = 40, .cols = 40, .elem_size = 1, .align = 4}, "rows=40,elem_size=1,align=4"},
        {{.rows = 40, .cols = 40, .lds = 41, .align = 4, .warm = 1}, "rows=40,lds=41,warm"},
    };
    tt_ctx *ctx = ctx_of(":memory:", h800.name);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_problem asked = cases[i].asked;
        tt__candidate c;
        tt_choice choice = TT_INIT(tt_choice);
        char says[224];
        asked.in_place = 1;
        tt__problem p = problem_of_matrix(asked);
        assert_ok(tt__ladder(ctx, &ctx->templates, &h800, &p, &choice, &c));
        snprintf(says, sizeof says,
                 "nothing was tuned for this: run \"tune --op transpose_in_place --problem %s\"",
                 cases[i].says);
        assert_string_equal(choice.why, says);
    }
    tt_close(&ctx);
}

/* ---- Files of users ------------------------------------------------------------------------------------ */

/* A file with the kernel `scale`: one for each remark. */
static tt_kernel *scale_file(tt_ctx *ctx, const char *remark) {
    tt_kernel *kernel;
    tt__str text = {0};
    tt__str_addf(&text,
                 "//@ kernel scale\n//@ problem n 1000\n//@ buffer y f32 n out\n//@ param X 1 2 3\n"
                 "//@ block 32\n//@ grid X\n//@ args y\n//@ default X=1\n//@ reference r\n//@ block 32\n"
                 "//@ grid 1\n//@ args y\nextern \"C\" void scale(); void r();\n"
                 "static const char *const remark = \"%s\";\n",
                 remark);
    assert_ok(tt_kernel_open(&kernel, ctx, "scale.cu", tt__str_text(&text)));
    tt__str_free(&text);
    return kernel;
}

static tt_choice best_of(tt_ctx *ctx, tt_kernel *kernel, const char *values) {
    tt_choice c = TT_INIT(tt_choice);
    tt_problem asked = TT_INIT(tt_problem);
    asked.kernel = kernel;
    asked.values = values;
    assert_ok(tt_best(&c, ctx, &asked));
    return c;
}

/* A winner of that file, which was right for another size, too, or was not tried there. */
static void crown(const char *path, const tt_kernel *kernel, const char *values, const char *config,
                  bool covers) {
    const tt__env env = {"580.159.04", "13.0", TT__METHOD};
    tt__store *s = must_open(path);
    tt__winner w = a_winner(50);
    tt__problem p;
    int64_t gpu_id, problem, config_id, run;
    assert_ok(tt__operation_problem(&p, kernel->t->operation, "scale", values));
    assert_ok(tt__store_gpu(s, &h800, &gpu_id));
    assert_ok(tt__store_problem(s, &p, &problem));
    assert_ok(tt__store_config(s, "scale", "scale", kernel->t->hash, config, &config_id));
    assert_ok(tt__store_run_begin(s, gpu_id, &env, "measured", &run));
    assert_ok(tt__store_winner_put(s, run, problem, config_id, &w));
    assert_ok(tt__store_trial_put(s, run, problem, config_id, TT__STAGE_SCREEN, &(tt__trial){0}));
    assert_ok(tt__operation_problem(&p, kernel->t->operation, "scale", "n=7"));
    assert_ok(tt__store_problem(s, &p, &problem));
    if (covers)
        assert_ok(tt__store_trial_put(s, run, problem, config_id, TT__STAGE_SCREEN, &(tt__trial){0}));
    tt__store_close(&s);
}

static void crown_file(const char *path, const tt_kernel *kernel, const char *values, const char *config) {
    crown(path, kernel, values, config, true);
}

static void expect_answer(const tt_choice *c, tt_match match, const char *config) {
    assert_int_equal(c->match, match);
    assert_string_equal(c->kernel, "scale");
    assert_string_equal(c->config, config);
}

/* Two files have a kernel of one name, a third has it without a winner: none answers for another, from the
 * store or from memory, near or far. */
static void files_of_one_name_live_side_by_side(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt_ctx *first = ctx_of(":memory:", NULL);
    tt_kernel *of_first[] = {scale_file(first, "the one"), scale_file(first, "the other")};
    crown_file(user, of_first[0], "n=4096", "X=2");
    crown_file(user, of_first[1], "n=4096", "X=3");
    crown_file(user, of_first[0], "n=65536", "X=3"); /* nearer to 60000 than what the other file has */
    for (int i = 0; i < 2; i++)
        tt_kernel_close(&of_first[i]);
    tt_close(&first);

    tt_ctx *ctx = ctx_of(user, h800.name);
    tt_kernel *one = scale_file(ctx, "the one"), *other = scale_file(ctx, "the other"),
              *edited = scale_file(ctx, "the other, edited");
    for (int again = 0; again < 2; again++) {
        tt_choice c = best_of(ctx, one, "n=4096");
        expect_answer(&c, TT_MATCH_EXACT, "X=2");
        c = best_of(ctx, other, "n=4096");
        expect_answer(&c, TT_MATCH_EXACT, "X=3");
        assert_string_equal(c.problem, "n=4096");
        c = best_of(ctx, one, "n=60000");
        expect_answer(&c, TT_MATCH_NEAREST, "X=3");
        assert_string_equal(c.problem, "n=65536");
        c = best_of(ctx, other, "n=60000");
        expect_answer(&c, TT_MATCH_NEAREST, "X=3");
        assert_string_equal(c.problem, "n=4096");
        c = best_of(ctx, edited, "n=4096");
        expect_answer(&c, TT_MATCH_DEFAULT, "X=1");
        assert_string_equal(c.why,
                            "nothing was tuned for this: run \"tune --kernel scale.cu --problem n=4096\"");
    }
    tt_kernel_close(&one);
    tt_kernel_close(&other);
    tt_kernel_close(&edited);
    tt_close(&ctx);
    assert_int_equal(raw_sql(user, "SELECT count(*) FROM winner"), 3);
}

/* A trial of the file's default for n=4096. */
static void try_file(const char *path, const tt_kernel *kernel, const char *source, const char *method,
                     const tt__trial *trial) {
    tt__env env = {"580.159.04", "13.0", ""};
    tt__store *s = must_open(path);
    tt__problem p;
    int64_t gpu_id, problem, config_id, run;
    strcpy(env.library, method);
    assert_ok(tt__operation_problem(&p, kernel->t->operation, "scale", "n=4096"));
    assert_ok(tt__store_gpu(s, &h800, &gpu_id));
    assert_ok(tt__store_problem(s, &p, &problem));
    assert_ok(tt__store_config(s, "scale", "scale", kernel->t->hash, "X=1", &config_id));
    assert_ok(tt__store_run_begin(s, gpu_id, &env, source, &run));
    assert_ok(tt__store_trial_put(s, run, problem, config_id, TT__STAGE_SCREEN, trial));
    tt__store_close(&s);
}

/* The newest trial of this machine counts. A time limit or a compiler is no fault of the kernel. */
static void a_default_that_failed_is_no_answer(void **state) {
    (void)state;
    static const struct {
        const char *source, *method;
        tt__trial_status status;
        const char *reason;
        const char *says; /* NULL: the default is the answer */
    } cases[] = {
        {"replayed", TT__METHOD, TT__TRIAL_CRASHED, "", NULL},
        {"measured", "1", TT__TRIAL_CRASHED, "", NULL},
        {"measured", TT__METHOD, TT__TRIAL_COMPILE_ERROR, "no such type", NULL},
        {"measured", TT__METHOD, TT__TRIAL_COMPILE_TIMEOUT, "compiled longer than 10 s", NULL},
        {"measured", TT__METHOD, TT__TRIAL_WRONG_RESULT, "y[0] is 1", "X=1: wrong_result: y[0] is 1: check "},
        {"measured", TT__METHOD, TT__TRIAL_SKIPPED, "", "wrong_result: y[0] is 1"},
        {"replayed", TT__METHOD, TT__TRIAL_OK, "", "wrong_result: y[0] is 1"},
        {"measured", TT__METHOD, TT__TRIAL_OK, "", NULL},
        {"measured", TT__METHOD, TT__TRIAL_LAUNCH_ERROR, "no", NULL},
        {"measured", TT__METHOD, TT__TRIAL_TIMEOUT, "ran longer than 10 s", NULL},
        {"measured", TT__METHOD, TT__TRIAL_COMPILER_CRASHED, "its compiler was killed", NULL},
        {"imported", TT__METHOD, TT__TRIAL_CRASHED, "died", "--force (tt_tune_opts.force) measures it again"},
    };
    const char *user = in_dir("user.db");
    tt_ctx *in = ctx_of(":memory:", NULL);
    tt_kernel *kernel = scale_file(in, "the one");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__trial trial = {.status = cases[i].status};
        tt_problem asked = TT_INIT(tt_problem);
        tt_choice c = TT_INIT(tt_choice);
        strcpy(trial.reason, cases[i].reason);
        try_file(user, kernel, cases[i].source, cases[i].method, &trial);
        tt_ctx *ctx = ctx_of(user, h800.name);
        asked.kernel = scale_file(ctx, "the one");
        asked.values = "n=4096";
        if (cases[i].says)
            assert_fails(tt_best(&c, ctx, &asked), TT_E_NO_WINNER, cases[i].says);
        else
            assert_ok(tt_best(&c, ctx, &asked));
        tt_kernel_close(&asked.kernel);
        asked.kernel = scale_file(ctx, "the one, edited");
        c = best_of(ctx, asked.kernel, "n=4096");
        expect_answer(&c, TT_MATCH_DEFAULT, "X=1");
        c = best_of(ctx, asked.kernel, "n=4097");
        expect_answer(&c, TT_MATCH_DEFAULT, "X=1");
        tt_kernel_close(&asked.kernel);
        tt_close(&ctx);
    }
    crown_file(user, kernel, "n=4096", "X=2");
    tt_ctx *ctx = ctx_of(user, h800.name);
    tt_kernel *mine = scale_file(ctx, "the one");
    tt_choice c = best_of(ctx, mine, "n=4096");
    expect_answer(&c, TT_MATCH_EXACT, "X=2");
    tt_kernel_close(&mine);
    tt_close(&ctx);
    tt_kernel_close(&kernel);
    tt_close(&in);
}

/* A winner serves other sizes only if it passed there, and was never wrong. */
static void a_winner_serves_sizes_that_it_covers(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt_ctx *in = ctx_of(":memory:", NULL);
    tt_kernel *kernel = scale_file(in, "the one");
    tt__trial wrong = {.status = TT__TRIAL_WRONG_RESULT};
    for (int step = 0; step < 3; step++) {
        static const tt_match expected[] = {TT_MATCH_DEFAULT, TT_MATCH_NEAREST, TT_MATCH_DEFAULT};
        if (step < 2)
            crown(user, kernel, "n=5000", "X=1", step == 1);
        else
            try_file(user, kernel, "measured", TT__METHOD, &wrong); /* n=4096 */
        tt_ctx *ctx = ctx_of(user, h800.name);
        tt_kernel *mine = scale_file(ctx, "the one");
        tt_choice c = best_of(ctx, mine, "n=5000");
        expect_answer(&c, TT_MATCH_EXACT, "X=1");
        c = best_of(ctx, mine, "n=6000");
        expect_answer(&c, expected[step], "X=1");
        tt_kernel_close(&mine);
        tt_close(&ctx);
    }
    tt_kernel_close(&kernel);
    tt_close(&in);
}

/* A rule of that file for all sizes, with these configurations and losses. */
static void add_rule(const char *path, const tt_kernel *kernel, const char *configs, const char *points) {
    tt__store *s = must_open(path);
    tt__tuning_rule *rule;
    tt__str text = {0};
    int64_t gpu_id;
    tt__str_addf(&text, "rule 1 scale text %s\nfor \naxis n 1\nconfig scale %s %s%s", kernel->t->hash,
                 kernel->t->hash, configs, points);
    assert_ok(tt__rule_read(&rule, tt__str_text(&text)));
    assert_ok(tt__store_gpu(s, &h800, &gpu_id));
    assert_ok(tt__store_rule_put(s, gpu_id, rule, 1));
    tt__rule_free(&rule);
    tt__str_free(&text);
    tt__store_close(&s);
}

/* So does the choice of a rule. It likes X=7, that no size can use, so X=2, and knows it for n=4096 alone. */
static void a_rule_chooses_what_is_covered(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt_ctx *in = ctx_of(":memory:", NULL);
    tt_kernel *kernel = scale_file(in, "the one");
    for (int covers = 0; covers < 2; covers++) {
        crown(user, kernel, "n=4096", "X=2", covers);
        add_rule(user, kernel, "X=7\nelse X=2\n", "at 0 6000: 500 -\nat 0 4096: 500 0\n");
        tt_ctx *ctx = ctx_of(user, h800.name);
        tt_kernel *mine = scale_file(ctx, "the one");
        tt_choice c = best_of(ctx, mine, "n=6000");
        expect_answer(&c, TT_MATCH_RULE, covers ? "X=2" : "X=1");
        tt_kernel_close(&mine);
        tt_close(&ctx);
    }
    tt_kernel_close(&kernel);
    tt_close(&in);
}

/* What a rule knows of a problem may be a variant's loss. So that the choice passed there is not known. */
static void a_variant_covers_for_itself_only(void **state) {
    (void)state;
    const char *user = in_dir("user.db");
    tt_ctx *in = ctx_of(":memory:", NULL);
    tt_kernel *kernel = scale_file(in, "the one");
    crown(user, kernel, "n=5000", "X=2", false);
    crown(user, kernel, "n=4096", "X=3", false);
    add_rule(user, kernel, "X=3\nelse X=2\n", "at 0 5000: 500 0\nat 0 4096: 500 0\n");
    tt_ctx *ctx = ctx_of(user, h800.name);
    tt_kernel *mine = scale_file(ctx, "the one");
    tt_choice c = best_of(ctx, mine, "n=6000");
    expect_answer(&c, TT_MATCH_RULE, "X=1");
    tt_kernel_close(&mine);
    tt_close(&ctx);
    tt_kernel_close(&kernel);
    tt_close(&in);
}

/* Where what does well at another problem failed, the file's own default is left. */
static void a_default_of_another_problem_failed(void **state) {
    (void)state;
    static const char text[] =
        "//@ kernel scale\n//@ problem n 1000\n//@ near n 1 same\n//@ buffer y f32 n out\n"
        "//@ param X 1 2 3\n//@ block 32\n//@ grid X\n//@ args y\n//@ default X=2\n//@ reference r\n"
        "//@ block 32\n//@ grid 1\n//@ args y\nextern \"C\" void scale(); void r();\n";
    const char *user = in_dir("user.db");
    tt__trial wrong = {.status = TT__TRIAL_WRONG_RESULT};
    tt_ctx *ctx = ctx_of(":memory:", NULL);
    tt_kernel *kernel;
    assert_ok(tt_kernel_open(&kernel, ctx, "scale.cu", text));
    crown_file(user, kernel, "n=1000", "X=1");
    for (int failed = 0; failed < 2; failed++) {
        tt_ctx *with = ctx_of(user, h800.name);
        tt_kernel *mine;
        assert_ok(tt_kernel_open(&mine, with, "scale.cu", text));
        tt_choice c = best_of(with, mine, "n=4096");
        expect_answer(&c, TT_MATCH_DEFAULT, failed ? "X=2" : "X=1");
        tt_kernel_close(&mine);
        tt_close(&with);
        try_file(user, kernel, "measured", TT__METHOD, &wrong);
    }
    tt_kernel_close(&kernel);
    tt_close(&ctx);
}

/* ---- Any problem --------------------------------------------------------------------------------------- */

/* For any problem and architecture, the answer is legal. */
static void any_problem_has_a_legal_answer(void **state) {
    (void)state;
    static const int64_t sides[] = {1, 7, 33, 1000, 1024, 8191, 16384};
    static const int elem_sizes[] = {1, 2, 4, 8, 16}, ccs[] = {80, 90, 120};
    tt_ctx *ctx = ctx_of(":memory:", NULL);
    tt__gpu gpu = h800;
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
        assert_ok(tt__matrix_problem(&p, &asked));
        assert_ok(tt__ladder(ctx, &ctx->templates, &gpu, &p, &choice, &c));
        assert_true(choice.match == TT_MATCH_OTHER_GPU || choice.match == TT_MATCH_DEFAULT);
        tt__candidate again;
        assert_ok(tt__space_resolve(&again, c.configuration.t, &gpu, &p, choice.config));
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
        assert_ok(tt__ladder(ctx, &ctx->templates, &w->gpu, &w->problem, &choice, &c));
        if (choice.match != TT_MATCH_EXACT && choice.match != TT_MATCH_STALE)
            continue; /* its template has gone, or does not allow it any more */
        legal++;
        assert_string_equal(choice.layer, "shipped");
        if (choice.match == TT_MATCH_EXACT) /* else it was adapted to a newer text */
            assert_string_equal(choice.config, w->config);
        tt_choice exact = choice;
        tt__problem p = w->problem;
        p.warm = true;
        assert_ok(tt__ladder(ctx, &ctx->templates, &w->gpu, &p, &choice, &c));
        assert_int_equal(choice.match, TT_MATCH_DEFAULT); /* nothing warm is shipped, but this does well */
        assert_string_equal(choice.config, exact.config);
    }
    assert_true(tt__n_shipped == 0 || legal > 0);
    tt_close(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(answers_are_not_mixed_up),
        TEST(each_dimension_counts),
        TEST(stale_is_further),
        TEST(imported_winners_are_looked_at),
        TEST(far_is_not_near),
        TEST(far_and_farther),
        TEST(a_rule_answers_what_was_not_measured),
        TEST(a_rule_switches_off_what_is_not_legal),
        TEST(a_replaced_kernel_has_no_known_loss),
        TEST(the_advice_is_about_the_problem),
        TEST(shipped_winners_answer),
        TEST(files_of_one_name_live_side_by_side),
        TEST(a_default_that_failed_is_no_answer),
        TEST(a_winner_serves_sizes_that_it_covers),
        TEST(a_rule_chooses_what_is_covered),
        TEST(a_variant_covers_for_itself_only),
        TEST(a_default_of_another_problem_failed),
        TEST(any_problem_has_a_legal_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
