/* tt_kernel: the ladder and plans of a template that has a task of its own. */
#include "dispatch/own_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch/first_use.h"
#include "dispatch/plan.h"
#include "template/task.h"

static tt_status read_template(tt__template **out, const char *path, const char *source) {
    if (!path)
        return tt__fail(TT_E_INVALID,
                        "tt_kernel_open: path is NULL: it names the file, or stands for it in messages");
    TT_TRY(source ? tt__template_parse_at(out, path, source) : tt__template_load(out, path));
    if ((*out)->own)
        return TT_OK;
    tt_status status =
        tt__fail(TT_E_INVALID,
                 "%s is a template for `op %s`, which competes with the built-in ones: name it in "
                 "tt_open_opts.templates, or to `tune` with --template",
                 path, (*out)->op);
    tt__template_free(out);
    return status;
}

tt_status tt_kernel_open(tt_kernel **out, tt_ctx *ctx, const char *path, const char *source) {
    *out = NULL;
    tt_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return tt__fail_memory(sizeof *k);
    tt_status status = read_template(&k->t, path, source);
    if (status != TT_OK) {
        free(k);
        return status;
    }
    k->ctx = ctx;
    k->set = (tt__template_set){1, &k->t};
    *out = k;
    return TT_OK;
}

void tt_kernel_close(tt_kernel **kernel) {
    if (!*kernel)
        return;
    tt__template_free(&(*kernel)->t);
    free(*kernel);
    *kernel = NULL;
}

const char *tt_kernel_name(const tt_kernel *kernel) {
    return kernel->t->kernel;
}

tt_status tt_kernel_best(tt_choice *out, tt_kernel *kernel, const char *problem) {
    tt__problem p;
    tt__gpu gpu;
    int64_t gpu_id;
    if (out->size != sizeof *out)
        return tt__fail(TT_E_INVALID, "tt_choice: size is %zu, expected %zu (start from TT_INIT(tt_choice))",
                        out->size, sizeof *out);
    *out = (tt_choice){.size = sizeof *out};
    TT_TRY(tt__task_problem(&p, kernel->t, problem));
    pthread_mutex_lock(&kernel->ctx->lock);
    tt_status status = tt__context_gpu(kernel->ctx, &gpu, &gpu_id);
    if (status == TT_OK)
        status = tt__ladder_among(kernel->ctx, &kernel->set, &gpu, gpu_id, &p, out, NULL);
    pthread_mutex_unlock(&kernel->ctx->lock);
    int gbps = tt__metric_named(kernel->t->task, "gbps");
    if (status == TT_OK && gbps >= 0 && out->time_us > 0) { /* of the problem it was measured for */
        tt__problem measured;
        const char *text = strcmp(out->problem, "-") == 0 ? NULL : out->problem; /* it has no variables */
        if (tt__task_problem(&measured, kernel->t, text) == TT_OK)
            status = tt__metric_value(&out->gbps, kernel->t, (size_t)gbps, &gpu, &measured, out->config,
                                      out->time_us);
    }
    return status;
}

tt_status tt_kernel_plan(tt_plan **out, tt_kernel *kernel, const char *problem) {
    tt__problem p;
    *out = NULL;
    TT_TRY(tt__task_problem(&p, kernel->t, problem));
    tt__first_use(kernel->ctx, &kernel->set, &p);
    return tt__plan_make_among(out, kernel->ctx, &kernel->set, &p);
}

/* ---- Launching ----------------------------------------------------------------------------------------- */

size_t tt_plan_arguments(const tt_plan *plan, tt_argument *out, size_t n) {
    static const char *const directions[] = {"in", "out", "inout", "scratch",
                                             "scalar"}; /* as in tt__direction */
    size_t known = plan->work ? (size_t)plan->work->n : 0;
    for (size_t i = 0; i < n && i < known; i++) {
        const tt__array *a = &plan->work->arrays[i];
        out[i] = (tt_argument){.size = sizeof *out,
                               .name = a->name,
                               .type = tt__types[a->type].name,
                               .direction = directions[a->direction],
                               .count = a->count,
                               .bytes = (size_t)tt__array_bytes(a)};
    }
    return known;
}

static tt_status bad_address(const tt__array *a, CUdeviceptr at) {
    return tt__fail(TT_E_INVALID, "%s is 0x%llx: it must be a device address that is a multiple of 16 bytes",
                    a->name, at);
}

tt_status tt_plan_launch_args(const tt_plan *plan, void *const *args, size_t n, CUstream stream) {
    const tt__workload *w = plan->work;
    if (!w)
        return tt__fail(TT_E_INVALID, "a plan for a transpose: tt_plan_launch launches it");
    if (n != (size_t)w->n)
        return tt__fail(TT_E_INVALID, "%zu arguments for %s, which takes %d: %s first", n,
                        plan->choice.kernel, w->n, w->arrays[0].name);
    for (int i = 0; i < w->n; i++) {
        if (!args || !args[i])
            return tt__fail(
                TT_E_INVALID, "argument %d, %s, is NULL: it must point to %s", i, w->arrays[i].name,
                w->arrays[i].direction == TT__SCALAR ? "the scalar" : "the address of the buffer");
        CUdeviceptr at = w->arrays[i].direction == TT__SCALAR ? 16 : *(const CUdeviceptr *)args[i];
        if (at == 0 || at % 16)
            return bad_address(&w->arrays[i], at);
    }
    CUresult r =
        tt__kernel_launch_with(&plan->kernel, plan->cu, &plan->launch, plan->constants, args, stream);
    return r == CUDA_SUCCESS ? TT_OK : tt__cu_check(r, "cuLaunchKernel (%s)", plan->choice.kernel);
}
