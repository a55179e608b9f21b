/*
 * tt_tune: a run from its arguments to its report.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clean.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/read_file.h"
#include "dispatch/knowledge.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "kernel/space/problem_text.h"
#include "kernel/space/workload.h"
#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/backend/replay/backend_replay.h"
#include "tuner/backend/replay/foreign.h"
#include "tuner/finals/elect.h"
#include "tuner/measure/measure.h"
#include "tuner/run/devices.h"
#include "tuner/run/lanes.h"
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

/* If one problem can never fit, nothing is measured. */
static tt_status count_bytes(int64_t *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_of(w, t, gpu, p) : tt__fail_memory(sizeof *w);
    if (status == TT_OK)
        *out = tt__verify_bytes(w) + tt__pool_bytes(w, gpu);
    free(w);
    return status;
}

static tt_status check_memory(const tt__session *s, const tt__problem *problems, size_t n) {
    for (size_t i = 0; i < n && !s->opts->replay; i++) {
        const tt__problem *p = &problems[i];
        const tt__template *t = tt__template_set_for(s->templates, p);
        char text[TT__PROBLEM_TEXT_MAX];
        int64_t needed = 0;
        if (t)
            TT_TRY(count_bytes(&needed, t, &s->gpu, p));
        if (needed > s->gpu.memory_bytes)
            return tt__fail(
                TT_E_INVALID,
                "%s needs %.2f GB of device memory (its buffers, and copies to verify and measure "
                "with); %s has %.2f GB: choose a smaller problem",
                tt__problem_text(text, p), (double)needed * 1e-9, s->gpu.name,
                (double)s->gpu.memory_bytes * 1e-9);
    }
    return TT_OK;
}

/* Do all of several kernels differ from the reference? */
static bool all_are_wrong(const tt__search *search) {
    for (size_t i = 0; i < search->space.n; i++)
        if (search->known[i] == TT__TRIED && search->trials[i].status != TT__TRIAL_WRONG_RESULT)
            return false;
    return search->n_tried > 1;
}

static void no_winner(const tt__session *s, const tt__search *search, tt_result *result) {
    result->trials = search->n_tried - search->n_skipped;
    result->failed = search->n_failed;
    char tried[64] = "";
    size_t first = 0;
    if (search->cut)
        tt__format(tried, sizeof tried, "tried within the budget of %g s ", s->opts->budget_s);
    else if (search->n_tried < search->space.n)
        tt__copy(tried, sizeof tried, "tried ");
    while (first < search->space.n && search->known[first] != TT__TRIED)
        first++;
    if (search->space.n == 0 && search->part.of)
        snprintf(result->note, sizeof result->note,
                 "no legal configuration of it belongs to this shard: use fewer shards, or shard by problem");
    else if (search->space.n == 0)
        snprintf(result->note, sizeof result->note,
                 "no configuration%s is legal for it: `tune check` says what removes them",
                 s->opts->n_only ? " of the templates that compete" : "");
    else if (first == search->space.n && s->call->only_finals)
        snprintf(result->note, sizeof result->note,
                 "the store has no trials of it with driver %s and NVRTC %s: tune it first", s->env.driver,
                 s->env.nvrtc);
    else if (first == search->space.n)
        tt__format(result->note, sizeof result->note,
                   "the budget of %g s was over before a configuration could be tried: allow more",
                   s->opts->budget_s);
    else
        snprintf(result->note, sizeof result->note, "every configuration %sfailed%s, the first: %s: %.140s",
                 tried, all_are_wrong(search) ? " (is the reference right?)" : "",
                 tt__trial_status_name(search->trials[first].status), search->trials[first].reason);
    tt__clean(result->note, TT__CLEAN_TEXT); /* the reason may be cut inside a character */
    if (first < search->space.n && *tt__trial_advice(search->trials[first].status))
        tt__session_message(s, "%s: what may help: %s", result->problem,
                            tt__trial_advice(search->trials[first].status));
}

/* The trials that the finals add may complete a search that the budget ended. */
static void say_cut(const tt__session *s, const tt__search *search, tt_result *result) {
    const size_t n = search->n_tried - search->n_skipped, wanted = search->wanted + search->n_aside;
    if (!search->cut || n >= wanted)
        return;
    int used = tt__format(result->note, sizeof result->note,
                          "the budget of %g s ended the search after %zu of %zu configurations",
                          s->opts->budget_s, n, wanted);
    if (search->pace_s > 0 && used > 0 && used < (int)sizeof result->note)
        tt__format(result->note + used, sizeof result->note - (size_t)used,
                   "; the others need about %.2g s more", search->pace_s * (double)(wanted - n));
    tt__session_message(s, "%s: %s", result->problem, result->note);
}

/* ---- What failed beside a winner ------------------------------------------------------------------------
 */

static bool has_failed(const tt__search *search, size_t i) {
    const tt__trial_status status = search->trials[i].status;
    return search->known[i] == TT__TRIED && status != TT__TRIAL_OK && status != TT__TRIAL_SKIPPED;
}

/* A problem that was never tuned is served by the default, so that it must not fail in silence. */
static size_t say_failed_defaults(const tt__session *s, const tt__search *search, tt_result *result) {
    size_t n = 0;
    for (size_t first = 0; first < search->space.n;
         first = tt__strategy_end_of_template(&search->space, first)) {
        const int64_t at = tt__strategy_default(&search->space, first);
        char text[1024];
        if (at == TT__NOTHING || !has_failed(search, (size_t)at))
            continue;
        const tt__candidate *c = &search->space.items[at];
        const tt__trial *trial = &search->trials[at];
        tt__format(text, sizeof text, "the default of %s%s%s failed: %s: %s", c->t->kernel,
                   *c->config ? ", " : "", c->config, tt__trial_status_name(trial->status), trial->reason);
        tt__session_message(s, "%s: %s", result->problem, text);
        if (!*result->note)
            tt__copy(result->note, sizeof result->note, text);
        n++;
    }
    tt__clean(result->note, TT__CLEAN_TEXT); /* the reason may be cut inside a character */
    return n;
}

static int by_reason(const void *a, const void *b) {
    const tt__trial *x = *(tt__trial *const *)a, *y = *(tt__trial *const *)b;
    return x->status != y->status ? (x->status > y->status) - (x->status < y->status)
                                  : strcmp(x->reason, y->reason);
}

/* The reason that most failed trials have, of n of them. */
static const tt__trial *most_frequent(const tt__trial **failed, size_t n, size_t *times) {
    const tt__trial *most = NULL;
    qsort(failed, n, sizeof(tt__trial *), by_reason);
    *times = 0;
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && by_reason(&failed[first], &failed[end]) == 0;)
            end++;
        if (end - first > *times) {
            *times = end - first;
            most = failed[first];
        }
    }
    return most;
}

tt_status tt__tune_say_failures(const tt__session *s, const tt__search *search, tt_result *result) {
    size_t n = 0, times;
    if (!*result->kernel || search->n_failed == 0 || s->call->stored || s->call->defaults_only ||
        say_failed_defaults(s, search, result) == search->n_failed)
        return TT_OK;
    const tt__trial **failed = calloc(search->n_failed, sizeof(tt__trial *));
    if (!failed)
        return tt__fail_memory(search->n_failed * sizeof(tt__trial *));
    for (size_t i = 0; i < search->space.n && n < search->n_failed; i++)
        if (has_failed(search, i))
            failed[n++] = &search->trials[i];
    const tt__trial *most = most_frequent(failed, n, &times);
    if (most)
        tt__session_message(s, "%s: %zu of %zu configurations failed, %s%zu: %s: %s", result->problem,
                            search->n_failed, search->n_tried - search->n_skipped,
                            times < search->n_failed ? "most often, " : "all ", times,
                            tt__trial_status_name(most->status), most->reason);
    free(failed);
    return TT_OK;
}

/* ---- Results --------------------------------------------------------------------------------------------
 */

void tt__tune_begin_result(const tt__session *s, const tt__problem *p, tt_result *result) {
    char text[TT__PROBLEM_TEXT_MAX];
    result->rows = tt__problem_number(p, "rows", 0);
    result->cols = tt__problem_number(p, "cols", 0);
    result->batch = tt__problem_number(p, "batch", 0);
    result->elem_size = tt__problem_elem_size(p);
    result->warm = p->warm;
    result->unverified = p->unverified;
    result->source =
        s->opts->replay ? TT_SOURCE_REPLAYED : TT_SOURCE_MEASURED; /* also if there is no winner */
    tt__copy(result->problem, sizeof result->problem, tt__problem_text(text, p));
    const tt__template *t = tt__template_set_for(s->templates, p);
    if (t && t->own && t->own->by_default)
        tt__copy(result->note, sizeof result->note,
                 "right is what the default configuration computes (`reference default`)");
}

tt_status tt__tune_needs_finals(tt__session *s, const tt__search *search, tt_result *result, bool *needed) {
    bool holds = false;
    *needed = false;
    result->space = tt__search_size(search);
    if (search->best == TT__NOTHING) {
        no_winner(s, search, result);
        return TT_OK;
    }
    if (!s->opts->force && !s->call->only_finals)
        TT_TRY(tt__stored_winner(s, search, result, &holds));
    if (holds && !s->opts->replay)
        result->source = TT_SOURCE_STORED;
    *needed = !holds && !s->call->stored;
    return TT_OK;
}

/* Elects the winner after the searches. */
static tt_status end_result(tt__session *s, tt__searches *both, tt_result *result) {
    tt__search *search = &both->search;
    double since_s = tt__now_s();
    bool needed;
    TT_TRY(tt__tune_needs_finals(s, search, result, &needed));
    if (needed)
        TT_TRY(tt__elect(s, search, &both->copy, result));
    else if (!*result->kernel)
        return TT_OK;
    say_cut(s, search, result);
    TT_TRY(tt__tune_say_failures(s, search, result));
    if (s->call->after)
        TT_TRY(s->call->after(s->call->user, s, &both->copy, search, result));
    tt__session_phase(s, "finals", &search->problem, &since_s);
    return TT_OK;
}

/* The first two copies are searched one after the other. A copy has few kernels, so compilers can work ahead
 * on the problem's. */
static tt_status copy_next(tt__session *s, tt__searches *now, tt__searches *next) {
    if (s->at_problem > 0 || s->n_problems < 2 || isfinite(s->end_s) || !s->foresee)
        return TT_OK;
    tt__foresee_open_next(s->foresee);
    if (next->open && next->copy.problem_id == now->copy.problem_id)
        tt__searches_close(next); /* it is the same copy; the search will find its trials in the store */
    TT_TRY(tt__searches_run_copy(s, now, s->n_problems));
    if (!next->open)
        return TT_OK;
    s->at_problem++;
    tt_status status = tt__searches_run_copy(s, next, s->n_problems - 1);
    s->at_problem--;
    if (status != TT_OK)
        tt__searches_close(next);
    return status == TT_E_INTERRUPTED ? status : TT_OK;
}

static tt_status tune_next(tt__session *s, const tt__problem *p, tt__searches *next, tt_result *result) {
    const size_t n_left = s->n_problems - s->at_problem;
    tt__searches now = *next;
    tt_status status;
    *next = (tt__searches){.open = false};
    tt__tune_begin_result(s, p, result);
    if (!now.open)
        TT_TRY(tt__searches_open(s, p, n_left, &now));
    if (!s->call->stored) {
        TT_GOTO(copy_next(s, &now, next));
        TT_GOTO(tt__searches_run(s, &now, n_left));
    }
    TT_GOTO(end_result(s, &now, result));
out:
    tt__searches_close(&now);
    return status;
}

static tt_status tune_all(tt__session *s, tt__foresee *foresee, tt_report *report, tt_result *results) {
    size_t without = 0;
    tt_status status = TT_OK;
    if (tt__lanes_most(s) > 1)
        status = tt__lanes_tune(s, foresee->problems, results);
    for (; status == TT_OK && s->n_ended < s->n_problems; s->n_ended += status == TT_OK) {
        s->at_problem = s->n_ended;
        status = tune_next(s, &foresee->problems[s->at_problem], &foresee->next, &results[s->at_problem]);
    }
    report->n_results += s->n_ended;
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

static bool while_cuda_starts(void *foresee, const char *name, tt__gpu *gpu) {
    return tt__foresee_while_cuda_starts(foresee, name, gpu);
}

static void while_finals_run(void *foresee) {
    tt__foresee_open_next(foresee);
}

static tt_status open_backend(tt__session *s) {
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
                               .expected = s->foresee ? &s->foresee->expected : NULL,
                               .while_cuda_starts = s->foresee ? while_cuda_starts : NULL,
                               .while_finals_run = s->foresee ? while_finals_run : NULL,
                               .foresee = s->foresee,
                               .should_stop = opts->should_stop,
                               .on_message = opts->on_message,
                               .user = opts->user,
                           });
}

static tt_status run(tt__session *s, tt__foresee *foresee, tt_report *report, tt_result *results) {
    TT_TRY(open_backend(s));
    TT_TRY(s->backend->ops->hello(s->backend, &s->gpu, &s->env));
    char text[TT__GPU_TEXT_MAX], gpus[sizeof report->gpu + sizeof text + 2];
    snprintf(gpus, sizeof gpus, "%s%s%s", report->gpu, *report->gpu ? ", " : "", tt__gpu_text(text, &s->gpu));
    tt__copy_short(report->gpu, sizeof report->gpu, gpus);
    tt__copy(report->driver, sizeof report->driver, s->env.driver);
    tt__copy(report->nvrtc, sizeof report->nvrtc, s->env.nvrtc);
    TT_TRY(check_memory(s, foresee->problems, s->n_problems));
    for (size_t i = 0; s->opts->replay && i < s->n_problems; i++)
        TT_TRY(tt__backend_replay_check(s->backend, &foresee->problems[i]));
    TT_TRY(tt__store_gpu(s->store, &s->gpu, &s->gpu_id));
    TT_TRY(tt__store_run_begin(s->store, s->gpu_id, &s->env, s->opts->replay ? "replayed" : "measured",
                               &s->run_id));
    TT_TRY(tt__winners_load(&s->elsewhere, s->store));
    tt__trace_begin(s->trace);
    return tune_all(s, foresee, report, results);
}

/* A run has its own connection, so that the context can be used meanwhile. ":memory:" has only one. */
static tt_status run_in_store(tt__session *s, tt_ctx *ctx, tt__foresee *foresee, tt_report *report,
                              tt_result *results) {
    tt__foresee_open(foresee, s, ctx, s->call->problems);
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
    s->foresee = s->opts->replay || s->call->stored ? NULL : foresee;
    tt_status status = run(s, foresee, report, results);
    tt__foresee_close(foresee);
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
static tt_status run_kinds(tt__session *s, tt_ctx *ctx, const tt__devices *devices, tt_report *report,
                           tt_result *results) {
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
        tt__foresee *foresee = malloc(sizeof *foresee); /* large for a stack */
        tt_status status = foresee ? run_in_store(s, ctx, foresee, report, results + report->n_results)
                                   : tt__fail_memory(sizeof *foresee);
        free(foresee);
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

static tt_status tune_on(tt_report **out, tt_ctx *ctx, const tt__tune_call *call, const tt_tune_opts *opts,
                         tt__devices *devices) {
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
    tt__session session = {.templates = call->templates,
                           .opts = opts,
                           .trace = trace,
                           .n_kinds = devices->n_kinds,
                           .n_problems = call->n,
                           .started_s = started_s,
                           .end_s = opts->budget_s > 0 ? started_s + opts->budget_s : INFINITY,
                           .trial_timeout_s = timeout_s(opts, opts->trial_timeout_s, 10, 1, 0.25),
                           .compile_timeout_s = timeout_s(opts, opts->compile_timeout_s, 60, 10, 0.5),
                           .call = call};
    if (status == TT_OK && opts->strategy)
        status = tt__strategy_find(&session.strategy, opts->strategy);
    /* SQLite calls should_stop, which may look up in the store. With ":memory:", the context's connection is
     * also the run's. */
    if (opts->should_stop && strcmp(tt__store_path(ctx->store), ":memory:") != 0)
        tt__store_stop_when(opts->should_stop, opts->user);
    if (status == TT_OK)
        status = run_kinds(&session, ctx, devices, report, results);
    tt__store_stop_when(NULL, NULL);
    end_trace(&session);
    if (status == TT_OK || status == TT_E_INTERRUPTED || status == TT_E_NO_WINNER) {
        report->wall_s = tt__now_s() - session.started_s;
        *out = report;
    } else {
        free(report);
    }
    return status;
}

tt_status tt__tune(tt_report **out, tt_ctx *ctx, const tt__tune_call *call, const tt_tune_opts *opts) {
    *out = NULL;
    TT_TRY(check_opts(opts));
    TT_TRY(check_verified(call, opts));
    tt__devices *devices = malloc(sizeof *devices); /* large for a stack */
    tt_status status = devices ? tune_on(out, ctx, call, opts, devices) : tt__fail_memory(sizeof *devices);
    free(devices);
    return status;
}
