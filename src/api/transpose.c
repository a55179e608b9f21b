/*
 * tt_transpose: makes a plan for each problem, CUDA context and pointer alignment when it is first used.
 */
#include "api/transpose.h"

#include "api/matrix.h"
#include "api/plan.h"
#include "api/sized.h"
#include "dispatch/first_use.h"
#include "kernel/load/builtin.h"
#include "kernel/space/problem_text.h"

/* A captured kernel must be loaded before, and a capture is no time for loading, compiling or tuning. */
tt_status tt__not_capturing(const tt__driver *cu, const tt__problem *p, const char *call, CUstream stream) {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    char text[TT__PROBLEM_TEXT_MAX];
    CUresult r = cu->cuStreamIsCapturing(stream, &capture);
    if (r == CUDA_SUCCESS && capture == CU_STREAM_CAPTURE_STATUS_NONE)
        return TT_OK;
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return tt__cu_check(r, "cuStreamIsCapturing");
    return tt__fail(
        TT_E_CAPTURE,
        "a graph is being captured and there is no plan yet for %s of %d-byte elements aligned to "
        "%d bytes; call %s once before the capture, or capture tt_plan_launch",
        tt__problem_text(text, p), tt__problem_elem_size(p), tt__problem_align(p), call);
}

/* If memory is short, the other plans are given up. */
static tt_status make_plan(tt_ctx *ctx, const tt__problem *p, tt_plan **out) {
    tt_status status = tt__plan_make(out, ctx, &ctx->templates, p);
    if (status != TT_E_NO_MEMORY)
        return status;
    tt__plan_cache_clear(&ctx->plans);
    return tt__plan_make(out, ctx, &ctx->templates, p);
}

/* Call under ctx->making. The plan may exist already: another thread made it, or the caller described the
 * same problem with other fields before. */
static tt_status enter_plan(tt_ctx *ctx, const tt__plan_key *asked, const tt__plan_key *full,
                            const tt__problem *p, tt_plan **out) {
    if ((*out = tt__plan_cache_enter_any(&ctx->plans, asked, full)))
        return TT_OK;
    TT_TRY(make_plan(ctx, p, out));
    tt__module_pin((*out)->module); /* a graph that captured the plan may outlive it */
    tt__plan_cache_add(&ctx->plans, full, *out);
    *out = tt__plan_cache_enter_any(&ctx->plans, asked, full);
    return TT_OK;
}

static bool has_plan(tt_ctx *ctx, const tt__plan_key *key) {
    const bool yes = tt__plan_cache_enter(&ctx->plans, key);
    if (yes)
        tt__plan_cache_leave();
    return yes;
}

tt_status tt__new_plan(tt_ctx *ctx, const tt__plan_key *asked, const tt__plan_key *full, const tt__problem *p,
                       tt_plan **out) {
    if (!has_plan(ctx, full))
        tt__first_use(ctx, &ctx->templates, p);
    pthread_mutex_lock(&ctx->making);
    tt_status status = enter_plan(ctx, asked, full, p, out);
    pthread_mutex_unlock(&ctx->making);
    return status;
}

/* Kept out of line, so that a launch with a cached plan stays fast. */
static __attribute__((noinline)) tt_status new_plan(tt_ctx *ctx, const tt_problem *problem,
                                                    const tt__plan_key *asked, int base_align,
                                                    CUstream stream, tt_plan **out) {
    const tt__driver *cu;
    tt__plan_key full;
    tt__problem p;
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__matrix_problem(&p, problem));
    TT_TRY(tt__matrix_align(&p, base_align));
    tt_problem matrix = tt__matrix_of(&p);
    tt__matrix_key(&full, &matrix, asked->words[TT__PLAN_KEY_CONTEXT], matrix.align);
    if (!has_plan(ctx, &full))
        TT_TRY(tt__not_capturing(cu, &p, "tt_transpose", stream));
    return tt__new_plan(ctx, asked, &full, &p, out);
}

/* A struct of another size, or a problem that is no matrix. */
static __attribute__((noinline)) tt_status take_problem(tt_problem *out, tt_ctx *ctx, const tt_problem *in) {
    if (!ctx)
        return tt__fail(TT_E_INVALID, "the context is NULL: tt_open makes one");
    TT_TRY(TT__SIZED_IN(out, in, 0, tt_problem));
    if (!out->op && !out->values && !out->kernel && !out->permutation)
        return TT_OK;
    return tt__fail(TT_E_INVALID, "tt_transpose is for matrices: leave the other fields out, or make a "
                                  "plan (tt_plan_create)");
}

tt_status tt_transpose(tt_ctx *ctx, const tt_problem *problem, CUdeviceptr dst, CUdeviceptr src,
                       CUstream stream) {
    const tt__driver *cu;
    unsigned long long context;
    tt__plan_key key;
    tt_problem copy;
    int base_align = tt__align_of(dst, src);
    if (!ctx || !problem || problem->size != sizeof *problem || problem->op || problem->values ||
        problem->kernel || problem->permutation) {
        TT_TRY(take_problem(&copy, ctx, problem));
        problem = &copy;
    }
    TT_TRY(tt__driver_open(&cu));
    TT_TRY(tt__device_context_id(&context, cu));
    tt__matrix_key(&key, problem, context, base_align);
    tt_plan *plan = tt__plan_cache_enter(&ctx->plans, &key);
    if (!plan)
        TT_TRY(new_plan(ctx, problem, &key, base_align, stream, &plan));
    const tt_status status = plan->needs_scratch
                                 ? tt__plan_launch_with(plan, dst, src, problem->scratch, stream)
                                 : tt_plan_launch(plan, dst, src, stream);
    tt__plan_cache_leave();
    return status;
}
