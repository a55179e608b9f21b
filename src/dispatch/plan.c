/* Plans: everything a launch needs, found once. */
#include "dispatch/plan.h"

#include <stdlib.h>

#include "dispatch/layers.h"
#include "gpu/nvrtc.h"

static tt_status compile_cubin(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, const tt__candidate *c,
                               tt__str *cubin) {
    tt__str options = {0};
    char key[TT__HASH_SIZE];
    int n;
    tt_status status;
    TT_GOTO(tt__config_options(&options, &n, c->t, c->config, p));
    TT_GOTO(tt__nvrtc_compile(cubin, c->t->path, c->t->source, options.text, n, gpu->cc));
    if (!ctx->read_only) {
        tt__cubin_key(key, c->t->source, options.text, n, gpu->cc, tt__nvrtc_version());
        TT_GOTO(tt__store_cubin_put(ctx->store, key, cubin->text, cubin->len));
        TT_GOTO(tt__store_cubin_link(ctx->store, c->t->hash, c->config, p->elem_size, gpu->cc, key));
    }
out:
    tt__str_free(&options);
    return status;
}

/* The stored cubin may be of another NVRTC than is installed now: it is the one that was measured. A cubin
 * that the driver or the store no longer accepts is compiled anew. */
static tt_status load(tt_plan *plan, tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p,
                      const tt__candidate *c) {
    tt__str cubin = {0};
    bool found = false;
    tt_status status = tt__layers_cubin(ctx, gpu, p, c, &cubin, &found);
    if (status == TT_OK && found)
        status = tt__kernel_load(&plan->kernel, plan->cu, cubin.text, c->t->kernel, c->launch.shared_bytes);
    if (status != TT_OK || !found) {
        cubin.len = 0;
        status = compile_cubin(ctx, gpu, p, c, &cubin);
        if (status == TT_OK)
            status = tt__kernel_load(&plan->kernel, plan->cu, cubin.text, c->t->kernel, c->launch.shared_bytes);
    }
    tt__str_free(&cubin);
    return status;
}

tt_status tt__plan_make(tt_plan **out, tt_ctx *ctx, const tt__problem *p) {
    tt__gpu gpu;
    int64_t gpu_id;
    tt__candidate c;
    *out = NULL;
    tt_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return tt__fail_memory(sizeof *plan);
    tt_status status;
    plan->choice.size = sizeof plan->choice;
    plan->misaligned = (CUdeviceptr)p->align - 1;
    plan->in_place = tt__in_place(p);
    TT_GOTO(tt__driver_open(&plan->cu));
    TT_GOTO(tt__context_gpu(ctx, &gpu, &gpu_id));
    TT_GOTO(tt__ladder(ctx, &gpu, gpu_id, p, &plan->choice, &c));
    plan->launch = c.launch;
    TT_GOTO(load(plan, ctx, &gpu, p, &c));
    *out = plan;
    return TT_OK;
out:
    free(plan);
    return status;
}

tt_status tt_plan_create(tt_plan **out, tt_ctx *ctx, const tt_problem *problem) {
    tt__problem p;
    *out = NULL;
    TT_TRY(tt__problem_init(&p, problem));
    pthread_mutex_lock(&ctx->lock);
    tt_status status = tt__plan_make(out, ctx, &p);
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

void tt_plan_free(tt_plan **plan) {
    if (!*plan)
        return;
    tt__kernel_unload(&(*plan)->kernel, (*plan)->cu);
    free(*plan);
    *plan = NULL;
}

const tt_choice *tt_plan_choice(const tt_plan *plan) {
    return &plan->choice;
}

tt_status tt_plan_launch(const tt_plan *plan, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    if ((dst == src) != plan->in_place)
        return tt__fail(TT_E_INVALID, "dst and src are both 0x%llx: %s", dst,
                        plan->in_place ? "they must be, in place, but src is another"
                                       : "set tt_problem.in_place to transpose a matrix onto itself");
    if ((dst | src) & plan->misaligned)
        return tt__fail(TT_E_INVALID,
                        "dst 0x%llx or src 0x%llx is not a multiple of %llu bytes, which the plan was made for; "
                        "set tt_problem.align to what both are multiples of",
                        dst, src, plan->misaligned + 1);
    CUresult r = tt__kernel_launch(&plan->kernel, plan->cu, &plan->launch, dst, src, stream);
    return r == CUDA_SUCCESS ? TT_OK : tt__cu_check(r, "cuLaunchKernel (%s)", plan->choice.kernel);
}
