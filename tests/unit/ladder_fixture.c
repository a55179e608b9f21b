/* See the header. */
#include "ladder_fixture.h"

#include "dispatch/context.h"
#include "kernel/load/builtin.h"

const tt__gpu h800 = {.name = "NVIDIA H800",
                      .cc = 90,
                      .sm_count = 132,
                      .memory_bytes = INT64_C(85028896768),
                      .l2_bytes = 52428800,
                      .max_threads_per_block = 1024,
                      .shared_per_block = 232448,
                      .peak_gbps = 3352.3};

tt_ctx *ctx_of(const char *db, const char *gpu) {
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
    assert_ok(tt__template_read(&t));
    return t;
}

void crown_of(tt__store *s, const char *source, const tt__gpu *gpu, const tt__problem *p, const char *hash,
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
    assert_ok(tt__store_run_begin(s, gpu_id, &env, source, &run));
    assert_ok(tt__store_winner_put(s, run, problem, config_id, &w));
    tt_close(&ctx);
}

void crown_in(const char *path, const tt__gpu *gpu, const tt__problem *p, const char *hash,
              const char *config, double time_us) {
    tt__store *s = must_open(path);
    crown_of(s, "measured", gpu, p, hash, config, time_us);
    tt__store_close(&s);
}

tt_choice best(tt_ctx *ctx, const tt__problem *p) {
    tt_choice c = TT_INIT(tt_choice);
    tt_problem asked = tt__matrix_of(p);
    assert_ok(tt_best(&c, ctx, &asked));
    return c;
}

const char small_config[] = "TILE_DIM=16 BLOCK_ROWS=16 PAD=1 UNROLL=1 ORDER=1";
