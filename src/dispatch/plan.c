/* Plans: everything a launch needs, found once. */
#include "dispatch/plan.h"

#include <stdlib.h>

#include "dispatch/first_use.h"
#include "dispatch/layers.h"
#include "gpu/nvrtc.h"
#include "template/task.h"

/* What a plan is made from. */
typedef struct making {
    const tt__template_set *templates;
    const tt__problem *problem;
    tt__gpu gpu;
    tt__candidate candidate;
    tt__str cubin;     /* empty: the store has none */
    char refused[256]; /* why the stored one cannot be used, or "" */
} making;

/* A stored cubin that store or driver no longer accept is no reason to fail: it is compiled anew. */
static tt_status refuse_stored(making *m, tt_status why, tt_status forgivable) {
    if (why != forgivable)
        return why;
    tt__copy(m->refused, sizeof m->refused, tt_last_error());
    tt__str_free(&m->cubin);
    return TT_OK;
}

/* All that is asked of the store before a plan. */
static tt_status choose(tt_plan *plan, tt_ctx *ctx, making *m) {
    int64_t gpu_id;
    bool found;
    tt_choice *choice = &plan->choice;
    pthread_mutex_lock(&ctx->lock);
    tt_status status = tt__context_gpu(ctx, &m->gpu, &gpu_id);
    if (status == TT_OK)
        status = tt__ladder_among(ctx, m->templates, &m->gpu, gpu_id, m->problem, choice, &m->candidate);
    if (status == TT_OK &&
        (status = tt__layers_cubin(ctx, &m->gpu, m->problem, &m->candidate, &m->cubin, &found)) != TT_OK)
        status = refuse_stored(m, status, TT_E_DB);
    if (status == TT_OK && choice->match > TT_MATCH_STALE)
        tt__first_use_note(ctx, m->templates, m->problem, choice->why, sizeof choice->why);
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

/* A store that cannot be written (read-only, full) costs the next process a compile, not
 * this one its plan. */
static tt_status keep_cubin(tt_ctx *ctx, const making *m, const char *options, int n) {
    const tt__candidate *c = &m->candidate;
    char key[TT__HASH_SIZE], build[TT__BUILD_MAX];
    if (ctx->read_only)
        return TT_OK;
    tt__cubin_key(key, c->t->source, options, n, m->gpu.cc, tt__nvrtc_version());
    tt__config_build(build, c, m->problem);
    pthread_mutex_lock(&ctx->lock);
    tt_status status = tt__store_cubin_put(ctx->store, key, m->cubin.text, m->cubin.len);
    if (status == TT_OK)
        status = tt__store_cubin_link(ctx->store, c->t->hash, build, m->problem->elem_size, m->gpu.cc, key);
    pthread_mutex_unlock(&ctx->lock);
    return status == TT_E_DB ? TT_OK : status;
}

static tt_status compile_cubin(tt_ctx *ctx, making *m) {
    const tt__candidate *c = &m->candidate;
    tt__str options = {0};
    int n;
    tt_status status;
    TT_GOTO(tt__config_options(&options, &n, c, m->problem));
    TT_GOTO(tt__nvrtc_compile(&m->cubin, c->t->path, c->t->source, options.text, n, m->gpu.cc));
    TT_GOTO(keep_cubin(ctx, m, options.text, n));
out:
    tt__str_free(&options);
    if (status != TT_OK && m->refused[0])
        tt__fail_prefix(status, "the stored cubin cannot be used (%s), and compiling failed", m->refused);
    return status;
}

/* Relaxed, so that a capture in this or another thread is not disturbed by the driver's own allocations. */
static tt_status load(tt_plan *plan, const making *m) {
    const tt__candidate *c = &m->candidate;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    TT_TRY(tt__cu_check(plan->cu->cuThreadExchangeStreamCaptureMode(&mode),
                        "cuThreadExchangeStreamCaptureMode"));
    tt_status status = tt__kernel_load(&plan->kernel, plan->cu, m->cubin.text, &c->t->symbols, &c->launch);
    plan->cu->cuThreadExchangeStreamCaptureMode(&mode);
    return status;
}

/* The stored cubin may be of another NVRTC than is installed now: it is the one that was measured. */
static tt_status compile_and_load(tt_plan *plan, tt_ctx *ctx, making *m) {
    if (m->cubin.len) {
        tt_status status = load(plan, m);
        if (status == TT_OK)
            return TT_OK;
        TT_TRY(refuse_stored(m, status, TT_E_CUDA));
    }
    TT_TRY(compile_cubin(ctx, m));
    return load(plan, m);
}

/* What the caller will have to give. */
static tt_status note_workload(tt_plan *plan, const making *m) {
    if (tt__is_matrix(m->problem))
        return TT_OK;
    plan->work = calloc(1, sizeof *plan->work);
    if (!plan->work)
        return tt__fail_memory(sizeof *plan->work);
    tt_status status = tt__workload_of(plan->work, m->candidate.t, &m->gpu, m->problem);
    return status == TT_E_UNSUPPORTED ? TT_OK : status; /* the reference is, which nobody launches here */
}

tt_status tt__plan_make(tt_plan **out, tt_ctx *ctx, const tt__problem *p) {
    return tt__plan_make_among(out, ctx, &ctx->templates, p);
}

tt_status tt__plan_make_among(tt_plan **out, tt_ctx *ctx, const tt__template_set *templates,
                              const tt__problem *p) {
    making m = {.templates = templates, .problem = p};
    *out = NULL;
    tt_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return tt__fail_memory(sizeof *plan);
    tt_status status;
    plan->choice.size = sizeof plan->choice;
    plan->misaligned = (CUdeviceptr)p->align - 1;
    plan->in_place = tt__in_place(p);
    TT_GOTO(tt__driver_open(&plan->cu));
    TT_GOTO(choose(plan, ctx, &m));
    TT_GOTO(note_workload(plan, &m));
    TT_GOTO(compile_and_load(plan, ctx, &m));
    plan->launch = m.candidate.launch;
    for (int i = 0; i < plan->launch.n_passes; i++)
        plan->launch.passes[i].early &= !ctx->no_early_launch;
    tt__kernel_constants(plan->constants, &plan->launch);
    *out = plan;
out:
    tt__str_free(&m.cubin);
    if (status != TT_OK) {
        free(plan->work);
        free(plan);
    }
    return status;
}

tt_status tt_plan_create(tt_plan **out, tt_ctx *ctx, const tt_problem *problem) {
    tt__problem p;
    *out = NULL;
    TT_TRY(tt__problem_init(&p, problem));
    tt__first_use(ctx, &ctx->templates, &p);
    return tt__plan_make(out, ctx, &p);
}

void tt_plan_free(tt_plan **plan) {
    if (!*plan)
        return;
    tt__kernel_unload(&(*plan)->kernel, (*plan)->cu);
    free((*plan)->work);
    free(*plan);
    *plan = NULL;
}

const tt_choice *tt_plan_choice(const tt_plan *plan) {
    return &plan->choice;
}

tt_status tt_plan_launch(const tt_plan *plan, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    if (plan->work)
        return tt__fail(TT_E_INVALID, "a plan for %s: tt_plan_launch_args launches it", plan->choice.kernel);
    if ((dst == src) != plan->in_place)
        return tt__fail(TT_E_INVALID, "dst and src are both 0x%llx: %s", dst,
                        plan->in_place ? "they must be, in place, but src is another"
                                       : "set tt_problem.in_place to transpose a matrix onto itself");
    if ((dst | src) & plan->misaligned)
        return tt__fail(
            TT_E_INVALID,
            "dst 0x%llx or src 0x%llx is not a multiple of %llu bytes, which the plan was made for; "
            "set tt_problem.align to what both are multiples of",
            dst, src, plan->misaligned + 1);
    void *operands[] = {&src, &dst}; /* as kernel_templates/ops declare them; in place the one is the other */
    CUresult r =
        tt__kernel_launch_with(&plan->kernel, plan->cu, &plan->launch, plan->constants, operands, stream);
    return r == CUDA_SUCCESS ? TT_OK : tt__cu_check(r, "cuLaunchKernel (%s)", plan->choice.kernel);
}
