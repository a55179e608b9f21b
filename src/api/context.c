/*
 * What callers hold and free: contexts, reports and users' kernels. `tt__tuner` is the tuner of the library:
 * api/tune.c defines it, and api/no_tuner.c sets it to NULL in the library that only looks up and launches.
 */
#include "dispatch/context.h"

#include <stdlib.h>

#include "api/problem.h"
#include "api/sized.h"
#include "dispatch/snapshot.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"

tt_status tt_open(tt_ctx **out, const tt_open_opts *opts) {
    tt_open_opts all;
    if (!out)
        return tt__fail(TT_E_INVALID, "tt_open: out is NULL");
    *out = NULL;
    TT_TRY(TT__SIZED_IN(&all, opts, 1, tt_open_opts));
    return tt__context_open(out, &all, tt__tuner);
}

void tt_close(tt_ctx **ctx) {
    if (!ctx || !*ctx)
        return;
    tt__context_close(*ctx);
    *ctx = NULL;
}

void tt_report_free(tt_report **report) {
    if (!report)
        return;
    free(*report);
    *report = NULL;
}

const tt_result *tt_report_result(const tt_report *report, size_t i) {
    return report && i < report->n_results ? &report->results[i] : NULL;
}

/* ---- Kernels ---------------------------------------------------------------------------------------------
 */

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

/* Earlier versions knew a text by all its bytes. If the store cannot be changed now, results of that time are
 * not found. */
static void take_over(tt_ctx *ctx, const tt__template *t) {
    bool changed = false;
    pthread_mutex_lock(&ctx->lock);
    tt__store_rename_text(ctx->store, t->hash_of_bytes, t->hash, &changed);
    pthread_mutex_unlock(&ctx->lock);
    if (changed)
        tt__knowledge_forget(ctx);
}

tt_status tt_kernel_open(tt_kernel **out, tt_ctx *ctx, const char *path, const char *source) {
    if (out)
        *out = NULL;
    if (!out || !ctx)
        return tt__fail(TT_E_INVALID, "tt_kernel_open: %s is NULL", out ? "the context" : "out");
    tt_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return tt__fail_memory(sizeof *k);
    tt_status status = read_template(&k->t, path, source);
    if (status != TT_OK) {
        free(k);
        return status;
    }
    if (!ctx->read_only)
        take_over(ctx, k->t);
    k->ctx = ctx;
    k->set = (tt__template_set){1, &k->t};
    *out = k;
    return TT_OK;
}

void tt_kernel_close(tt_kernel **kernel) {
    if (!kernel || !*kernel)
        return;
    tt__template_free(&(*kernel)->t);
    free(*kernel);
    *kernel = NULL;
}

const char *tt_kernel_name(const tt_kernel *kernel) {
    return kernel ? kernel->t->kernel : "";
}

/* ---- For programs built with 0.1: its header has these functions instead of tt_problem.kernel --- */

TT_API tt_status tt_kernel_best(tt_choice *out, tt_kernel *kernel, const char *values);
tt_status tt_kernel_best(tt_choice *out, tt_kernel *kernel, const char *values) {
    const tt_problem p = {.size = sizeof p, .kernel = kernel, .values = values};
    return kernel ? tt_best(out, kernel->ctx, &p) : tt__no_kernel();
}

TT_API tt_status tt_kernel_plan(tt_plan **out, tt_kernel *kernel, const char *values);
tt_status tt_kernel_plan(tt_plan **out, tt_kernel *kernel, const char *values) {
    const tt_problem p = {.size = sizeof p, .kernel = kernel, .values = values};
    if (out)
        *out = NULL;
    return kernel ? tt_plan_create(out, kernel->ctx, &p) : tt__no_kernel();
}
