/*
 * tt_tune: a run from its arguments to its report.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/read_file.h"
#include "base/str.h"
#include "dispatch/knowledge.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/backend/replay/backend_replay.h"
#include "tuner/measure/measure.h"
#include "tuner/run/batch.h"
#include "tuner/run/devices.h"
#include "tuner/run/driver.h"
#include "tuner/run/neighbour.h"
#include "tuner/run/tune.h"
#include "tuner/search/foresee.h"

static tt_status check_opts(const tt_tune_opts *opts) {
    if (opts->jobs < 0)
        return tt__fail(TT_E_INVALID, "jobs is %d: it must be at least 1, or 0 for one per CPU", opts->jobs);
    TT_TRY(tt__limits_check(opts));
    if (!(opts->trial_timeout_s >= 0))
        return tt__fail(TT_E_INVALID, "trial_timeout_s is %g: it must be positive, or 0 for the default",
                        opts->trial_timeout_s);
    if (!(opts->compile_timeout_s >= 0))
        return tt__fail(TT_E_INVALID, "compile_timeout_s is %g: it must be positive, or 0 for the default",
                        opts->compile_timeout_s);
    return TT_OK;
}

static tt_status count_bytes(int64_t *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_of(w, t, gpu, p) : tt__fail_memory(sizeof *w);
    if (status == TT_OK)
        *out = tt__verify_bytes(w) + tt__pool_bytes(w, gpu);
    free(w);
    return status;
}

tt_status tt__tune_fits(const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    char text[TT__PROBLEM_TEXT_MAX];
    int64_t needed = 0;
    TT_TRY(count_bytes(&needed, t, gpu, p));
    if (needed <= gpu->memory_bytes)
        return TT_OK;
    return tt__fail(TT_E_INVALID,
                    "%s needs %.2f GB of device memory (its buffers, and copies to verify and measure "
                    "with); %s has %.2f GB: choose a smaller problem",
                    tt__problem_text(text, p), (double)needed * 1e-9, gpu->name,
                    (double)gpu->memory_bytes * 1e-9);
}

/* If one problem can never fit, nothing is measured. */
static tt_status check_memory(const tt__session *s) {
    for (size_t i = 0; i < s->n_problems && !s->opts->replay; i++) {
        const tt__problem *p = &s->call->problems[i];
        const tt__template *t = tt__template_set_for(s->templates, p);
        if (t)
            TT_TRY(tt__tune_fits(t, &s->gpu, p));
    }
    return TT_OK;
}

/* A run: the session, and what is not for all of its parts. */
typedef struct tuning {
    tt__session s;
    tt_ctx *ctx;
    const tt__tune_question *question; /* or NULL */
    tt__expected expected;
    tt_report *report;
    tt_result *results; /* of all kinds of GPU */
} tuning;

static tt_status tune_all(tuning *t) {
    tt__session *s = &t->s;
    tt_result *results = t->results + t->report->n_results;
    size_t without = 0;
    tt_status status = tt__driver_run(s, t->question, results);
    t->report->n_results += s->n_ended;
    if (status == TT_OK && !t->question && !s->opts->replay && !s->call->stored && !s->call->part.of)
        status = tt__neighbours_verify(s);
    if (status == TT_OK && !t->question && !s->opts->replay && !s->call->stored && !s->call->part.of)
        status = tt__batches_measure(s, results);
    char why[1024];
    tt__copy_short(why, sizeof why, tt_last_error());
    tt_status ended = tt__store_run_end(s->store, s->run_id); /* else it seems to be under way for a day */
    if (status != TT_OK)
        return ended == TT_OK ? status : tt__fail(status, "%s", why);
    TT_TRY(ended);
    for (size_t i = 0; i < s->n_problems; i++)
        without += results[i].kernel[0] == '\0';
    if (without)
        return tt__fail(TT_E_NO_WINNER, "%zu of %zu problems have no winner", without, s->n_problems);
    return TT_OK;
}

/* One configuration that hangs must not use up the budget. */
static double timeout_s(const tt_tune_opts *opts, double asked_s, double usual_s, double least_s,
                        double share) {
    if (asked_s > 0)
        return asked_s;
    return opts->budget_s > 0 ? fmin(usual_s, fmax(least_s, opts->budget_s * share)) : usual_s;
}

/* A file of another tuner is about one problem and one kernel: those of the call, if there are no more. */
static tt_status open_replay(tt__session *s) {
    const tt_tune_opts *opts = s->opts;
    const tt__problem *p = &s->call->problems[0];
    const tt__template *only = NULL;
    tt__gpu gpu = tt__typical_gpu();
    size_t n = 0;
    for (size_t i = 0; i < s->templates->n; i++) {
        const tt__template *t = s->templates->items[i];
        if (!tt__template_does(t, p) || !tt__template_competes(s->templates, t, opts->only, opts->n_only))
            continue;
        only = t;
        n++;
    }
    gpu.name[0] = '\0';
    tt__foreign foreign = {
        .missing = "replay it for one problem with one kernel (--kernel FILE.cu, or --only NAME)"};
    if (s->call->n == 1 && n == 1)
        foreign = tt__foreign_of(only, p, &gpu);
    TT_TRY(tt__backend_replay(&s->backend, opts->replay, &foreign, opts->should_stop, opts->user));
    s->n_gpus = tt__backend_replay_devices(s->backend);
    return TT_OK;
}

static bool while_cuda_starts(void *of, const char *name, tt__gpu *gpu) {
    tuning *t = of;
    return tt__foresee_first(&t->s, t->ctx, name, gpu);
}

static tt_status open_backend(tuning *t) {
    tt__session *s = &t->s;
    const tt_tune_opts *opts = s->opts;
    if (opts->replay)
        return open_replay(s);
    return tt__backend_gpu(&s->backend,
                           &(tt__backend_gpu_opts){
                               .devices = s->devices,
                               .n_devices = s->n_gpus,
                               .jobs = opts->jobs,
                               .trial_timeout_s = s->trial_timeout_s,
                               .compile_timeout_s = s->compile_timeout_s,
                               .needed_timeout_s = timeout_s(opts, opts->compile_timeout_s, 60, 60, 0.5),
                               .store = s->store,
                               .trace = s->trace,
                               .expected = s->expected,
                               .while_cuda_starts = s->expected ? while_cuda_starts : NULL,
                               .starting = t,
                               .should_stop = opts->should_stop,
                               .on_message = opts->on_message,
                               .user = opts->user,
                           });
}

static tt_status run(tuning *t) {
    tt__session *s = &t->s;
    tt_report *report = t->report;
    TT_TRY(open_backend(t));
    TT_TRY(s->backend->ops->hello(s->backend, &s->gpu, &s->env));
    char text[TT__GPU_TEXT_MAX], gpus[sizeof report->gpu + sizeof text + 2];
    snprintf(gpus, sizeof gpus, "%s%s%s", report->gpu, *report->gpu ? ", " : "", tt__gpu_text(text, &s->gpu));
    tt__copy_short(report->gpu, sizeof report->gpu, gpus);
    tt__copy(report->driver, sizeof report->driver, s->env.driver);
    tt__copy(report->nvrtc, sizeof report->nvrtc, s->env.nvrtc);
    TT_TRY(check_memory(s));
    for (size_t i = 0; s->opts->replay && i < s->n_problems; i++)
        TT_TRY(tt__backend_replay_check(s->backend, &s->call->problems[i]));
    TT_TRY(tt__store_gpu(s->store, &s->gpu, &s->gpu_id));
    TT_TRY(tt__store_run_begin(s->store, s->gpu_id, &s->env, s->opts->replay ? "replayed" : "measured",
                               &s->run_id));
    TT_TRY(tt__winners_load(&s->elsewhere, s->store));
    tt__trace_begin(s->trace);
    return tune_all(t);
}

/* A run has its own connection, so that the context can be used meanwhile. ":memory:" has only one. */
static tt_status run_in_store(tuning *t) {
    tt__session *s = &t->s;
    tt_ctx *ctx = t->ctx;
    bool shared = strcmp(tt__store_path(ctx->store), ":memory:") == 0;
    if (ctx->read_only)
        return tt__fail(TT_E_INVALID, "the context was opened read-only: tuning has to write to the store");
    if (shared) {
        pthread_mutex_lock(&ctx->making); /* before `lock`, as a call-back that launches needs both */
        pthread_mutex_lock(&ctx->lock);
        s->store = ctx->store;
    } else {
        TT_TRY(tt__store_open(&s->store, tt__store_path(ctx->store), TT__STORE_READ_WRITE));
    }
    t->expected = (tt__expected){.gpu = &s->gpu};
    s->expected = s->opts->replay || s->call->stored ? NULL : &t->expected;
    tt_status status = run(t);
    tt__expected_close(&t->expected);
    if (s->backend)
        s->backend->ops->close(s->backend);
    s->backend = NULL;
    tt__winners_free(&s->elsewhere);
    if (shared) {
        pthread_mutex_unlock(&ctx->lock);
        pthread_mutex_unlock(&ctx->making);
    } else {
        tt__store_close(&s->store);
    }
    tt__knowledge_forget(ctx);
    return status;
}

/* A kind of GPU after the other. A kind that lacks a winner does not keep the next from its own. */
static tt_status run_kinds(tuning *t, const tt__devices *devices) {
    tt__session *s = &t->s;
    const double end_s = s->end_s;
    tt_status lacking = TT_OK;
    for (size_t kind = 0; kind < devices->n_kinds; kind++) {
        const double now_s = tt__now_s();
        char text[TT__GPU_TEXT_MAX];
        s->kind = kind;
        s->devices = devices->kinds[kind].ordinals;
        s->n_gpus = devices->kinds[kind].n;
        s->at_problem = s->n_ended = 0;
        if (isfinite(end_s))
            s->end_s = now_s + (end_s - now_s) / (double)(devices->n_kinds - kind);
        if (devices->n_kinds > 1)
            tt__session_message(s, "for %s:", tt__gpu_text(text, &devices->kinds[kind].gpu));
        tt_status status = run_in_store(t);
        if (status != TT_OK && status != TT_E_NO_WINNER)
            return status;
        lacking = status == TT_OK ? lacking : status;
    }
    return lacking;
}

/* The report and its results are one allocation. */
static tt_report *new_report(size_t n, tt_result **results) {
    struct {
        tt_report report;
        tt_result results[];
    } *r = calloc(1, sizeof *r + n * sizeof *r->results);
    if (!r)
        return NULL;
    *results = r->results;
    r->report.results = r->results;
    return &r->report;
}

/* A run does not fail because its timeline cannot be written. */
static void end_trace(tt__session *s) {
    int error = tt__trace_close(&s->trace);
    if (error)
        tt__session_message(s, "the trace %s is incomplete: %s", s->opts->trace_path, strerror(error));
}

/* A kernel that cannot be verified is tuned only if the caller allows it. */
static tt_status check_verified(const tt__tune_call *call, const tt_tune_opts *opts) {
    for (size_t i = 0; i < call->n && !call->stored; i++)
        if (call->problems[i].unverified && !opts->unverified)
            return tt__fail(
                TT_E_INVALID,
                "%s names no reference, so that no result of it can be verified: add a "
                "`reference`, a `verify` or an `expect`, or say --unverified (tt_tune_opts.unverified)",
                call->problems[i].op);
    return TT_OK;
}

/* `file` may be NULL. */
static tt_status check_trace(const char *trace, const char *what, const char *file) {
    return file && tt__same_file(trace, file)
               ? tt__fail(TT_E_INVALID, "the trace %s is the %s, which would be lost: name another file",
                          trace, what)
               : TT_OK;
}

static tt_status tune_on(tt__devices *devices, tt_report **out, tt_ctx *ctx, const tt__tune_call *call,
                         const tt__tune_question *question, const tt_tune_opts *opts) {
    const double started_s = tt__now_s();
    TT_TRY(tt__devices_of(devices, opts));
    tt__trace *trace = NULL;
    if (opts->trace_path) {
        TT_TRY(check_trace(opts->trace_path, "store", tt__store_path(ctx->store)));
        TT_TRY(check_trace(opts->trace_path, "recording", opts->replay));
        for (size_t i = 0; i < call->templates->n; i++)
            TT_TRY(check_trace(opts->trace_path, "kernel file", call->templates->items[i]->path));
        TT_TRY(tt__trace_open(&trace, opts->trace_path));
    }
    tt_result *results = NULL;
    tt_report *report = new_report(devices->n_kinds * call->n, &results);
    tt_status status = report ? TT_OK : tt__fail_memory(devices->n_kinds * call->n * sizeof *results);
    tuning t = {.ctx = ctx, .question = question, .report = report, .results = results};
    tt__session *s = &t.s;
    *s = (tt__session){.templates = call->templates,
                       .opts = opts,
                       .asks = question != NULL,
                       .trace = trace,
                       .n_kinds = devices->n_kinds,
                       .n_problems = call->n,
                       .started_s = started_s,
                       .end_s = opts->budget_s > 0 ? started_s + opts->budget_s : INFINITY,
                       .trial_timeout_s = timeout_s(opts, opts->trial_timeout_s, 10, 1, 0.25),
                       .compile_timeout_s = timeout_s(opts, opts->compile_timeout_s, 60, 10, 0.5),
                       .call = call};
    if (status == TT_OK && opts->strategy)
        status = tt__strategy_find(&s->strategy, opts->strategy);
    /* SQLite calls should_stop, which may look up in the store. With ":memory:", the context's connection is
     * also the run's. */
    if (opts->should_stop && strcmp(tt__store_path(ctx->store), ":memory:") != 0)
        tt__store_stop_when(opts->should_stop, opts->user);
    if (status == TT_OK)
        status = run_kinds(&t, devices);
    tt__store_stop_when(NULL, NULL);
    end_trace(s);
    if (status == TT_OK || status == TT_E_INTERRUPTED || status == TT_E_NO_WINNER) {
        report->wall_s = tt__now_s() - s->started_s;
        *out = report;
    } else {
        free(report);
    }
    return status;
}

tt_status tt__tune(tt_report **out, tt_ctx *ctx, const tt__tune_call *call, const tt__tune_question *question,
                   const tt_tune_opts *opts) {
    *out = NULL;
    TT_TRY(check_opts(opts));
    TT_TRY(check_verified(call, opts));
    tt__devices *devices = malloc(sizeof *devices); /* large for a stack */
    tt_status status =
        devices ? tune_on(devices, out, ctx, call, question, opts) : tt__fail_memory(sizeof *devices);
    free(devices);
    return status;
}
