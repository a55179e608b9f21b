/*
 * What callers hold and free: contexts, reports and users' kernels. `tt__tuner` is the tuner of the library:
 * api/tune.c defines it, and api/no_tuner.c sets it to NULL in the library that only looks up and launches.
 */
#include "dispatch/context.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/problem.h"
#include "api/sized.h"
#include "base/read_file.h"
#include "dispatch/collect.h"
#include "dispatch/first_use.h"
#include "dispatch/plan.h"
#include "dispatch/snapshot.h"
#include "dispatch/store_layers.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"

enum { PLANS_KEPT = 4096, PLANS_KEPT_MAX = 1 << 20 }; /* some 4 KB each */

static tt_status check_opts(const tt_open_opts *opts, tt__tune_fn tune) {
    if (!(opts->tune_budget_s >= 0 && opts->tune_budget_s <= 86400))
        return tt__fail(TT_E_INVALID,
                        "tune_budget_s is %g: it must be from 0 (no tuning on first use) to 86400",
                        opts->tune_budget_s);
    if (opts->tune_budget_s > 0 && !tune)
        return tt__fail(TT_E_UNSUPPORTED,
                        "tune_budget_s is %g, and libtiletune-launch has no tuner: link libtiletune",
                        opts->tune_budget_s);
    if (opts->n_templates && !opts->templates)
        return tt__fail(TT_E_INVALID, "templates is NULL, but n_templates is %zu", opts->n_templates);
    if (opts->lock_file && (opts->db_path || opts->tune_budget_s > 0))
        return tt__fail(TT_E_INVALID,
                        "lock_file is %s: leave db_path and tune_budget_s out, nothing else is used",
                        opts->lock_file);
    if (opts->lock_default && !opts->lock_file)
        return tt__fail(TT_E_INVALID, "lock_default is %d, but there is no lock_file", opts->lock_default);
    if (opts->plans_kept < 0 || opts->plans_kept > PLANS_KEPT_MAX)
        return tt__fail(TT_E_INVALID, "plans_kept is %d: it must be from 1 to %d, or 0 for %d",
                        opts->plans_kept, PLANS_KEPT_MAX, PLANS_KEPT);
    return TT_OK;
}

/* Where no default store is and none can be made, as in a container whose HOME is read-only, the other layers
 * still answer. What is compiled is kept in memory. */
static tt_status open_default(tt_ctx *ctx) {
    const tt__store_mode mode = ctx->read_only ? TT__STORE_READ_ONLY : TT__STORE_READ_WRITE;
    tt__str path = {0};
    tt_status status = tt__store_default_path(&path);
    if (status == TT_OK)
        status = tt__store_open(&ctx->store, tt__str_text(&path), mode);
    if ((status == TT_E_DB && access(tt__str_text(&path), F_OK) != 0) || status == TT_E_INVALID) {
        tt__copy(ctx->unkept, sizeof ctx->unkept, tt_last_error());
        status = tt__store_open(&ctx->store, ":memory:", mode);
    }
    tt__str_free(&path);
    return status;
}

static tt_status open_store(tt_ctx *ctx, const tt_open_opts *opts) {
    tt__str path = {0};
    bool is_database;
    if (opts->lock_file) {
        tt_status status = tt__store_open(&ctx->store, opts->lock_file, TT__STORE_READ_ONLY);
        tt__str_add_word(&path, opts->lock_file);
        if (status == TT_E_DB && access(opts->lock_file, F_OK) != 0 && errno == ENOENT)
            tt__fail(status, "%s: there is no such lock file: make it with \"tune lock --output %s\"",
                     opts->lock_file, tt__str_text(&path));
        else if (status == TT_E_DB && tt__is_database(opts->lock_file, &is_database) == TT_OK && !is_database)
            tt__fail(status, "%s: this is no lock file: \"tune lock --output FILE\" makes one",
                     opts->lock_file);
        tt__str_free(&path);
        return status;
    }
    const char *named = opts->db_path ? opts->db_path : secure_getenv("TILETUNE_DB");
    if (!opts->db_path && (!named || !*named))
        return open_default(ctx);
    return tt__store_open(&ctx->store, named, ctx->read_only ? TT__STORE_READ_ONLY : TT__STORE_READ_WRITE);
}

static tt_status open_collector(tt_ctx *ctx, const tt_open_opts *opts) {
    const char *file = opts->collect_file ? opts->collect_file : secure_getenv("TILETUNE_COLLECT");
    const tt_status status = file && *file ? tt__collector_open(&ctx->collector, file) : TT_OK;
    return status == TT_OK || opts->collect_file ? status : tt__fail_prefix(status, "TILETUNE_COLLECT");
}

/* These locks are recursive: tt_tune holds them while it uses a store in memory, and its call-backs may look
 * up and launch. */
static void init_lock(pthread_mutex_t *lock) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

static void close_context(tt_ctx *ctx) {
    if (ctx->store && tt__store_forked(ctx->store)) /* what it holds of CUDA and SQLite is the parent's */
        return;
    tt__plan_cache_free(&ctx->plans);
    tt__collector_close(ctx->collector);
    tt__modules_close(ctx->modules);
    tt__knowledge_close(ctx->knowledge);
    tt__store_close(&ctx->system);
    tt__first_use_free(ctx);
    tt__store_close(&ctx->store);
    tt__template_set_close(&ctx->templates);
    pthread_mutex_destroy(&ctx->lock);
    pthread_mutex_destroy(&ctx->making);
    pthread_cond_destroy(&ctx->made);
    pthread_mutex_destroy(&ctx->tuning);
    free(ctx);
}

static tt_status open_context(tt_ctx **out, const tt_open_opts *opts, tt__tune_fn tune) {
    *out = NULL;
    TT_TRY(check_opts(opts, tune));
    tt_ctx *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return tt__fail_memory(sizeof *ctx);
    init_lock(&ctx->lock);
    init_lock(&ctx->making);
    pthread_cond_init(&ctx->made, NULL);
    pthread_mutex_init(&ctx->tuning, NULL);
    ctx->locked = opts->lock_file != NULL;
    ctx->lock_default = opts->lock_default != 0;
    ctx->read_only = opts->read_only || ctx->locked;
    ctx->tune_budget_s = opts->tune_budget_s;
    ctx->tune = tune;
    ctx->no_early_launch = opts->no_early_launch;
    if (opts->gpu)
        tt__copy(ctx->gpu_name, sizeof ctx->gpu_name, opts->gpu);
    tt_status status = tt__template_set_open_unread(&ctx->templates, opts->templates, opts->n_templates);
    if (status == TT_OK)
        status = tt__plan_cache_open(&ctx->plans, opts->plans_kept ? (size_t)opts->plans_kept : PLANS_KEPT);
    if (status == TT_OK)
        status = tt__modules_open(&ctx->modules);
    if (status == TT_OK)
        status = tt__knowledge_open(&ctx->knowledge);
    if (status == TT_OK)
        status = open_store(ctx, opts);
    if (status == TT_OK && !ctx->locked)
        status = tt__system_open(&ctx->system);
    if (status == TT_OK)
        status = open_collector(ctx, opts);
    if (status == TT_OK)
        *out = ctx;
    else
        close_context(ctx);
    return status;
}

tt_status tt_open(tt_ctx **out, const tt_open_opts *opts) {
    tt_open_opts all;
    if (!out)
        return tt__fail(TT_E_INVALID, "tt_open: out is NULL");
    *out = NULL;
    TT_TRY(TT__SIZED_IN(&all, opts, 1, tt_open_opts));
    return open_context(out, &all, tt__tuner);
}

void tt_close(tt_ctx **ctx) {
    if (!ctx || !*ctx)
        return;
    close_context(*ctx);
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
    TT_TRY(tt__check_not_forked(ctx));
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
