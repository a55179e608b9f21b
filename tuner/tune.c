/* tt_tune: one run from its arguments to its report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "dispatch/answers.h"
#include "dispatch/layers.h"
#include "template/task.h"
#include "tuner/measure.h"
#include "tuner/pair.h"
#include "tuner/verify.h"

static tt_status check_opts(const tt_tune_opts *opts, size_t n_problems) {
    if (opts->size != sizeof *opts)
        return tt__fail(TT_E_INVALID,
                        "tt_tune_opts: size is %zu, expected %zu (start from TT_INIT(tt_tune_opts))",
                        opts->size, sizeof *opts);
    if (n_problems == 0)
        return tt__fail(TT_E_INVALID, "there is no problem to tune");
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

/* Nothing is measured if one of the problems can never fit. */
static tt_status check_memory(const tt__session *s, const tt__problem *problems, size_t n) {
    for (size_t i = 0; i < n && !s->opts->replay; i++) {
        const tt__problem *p = &problems[i];
        const tt__template *t = tt__template_set_for(s->templates, p);
        char text[TT__PROBLEM_TEXT_MAX];
        tt__workload w;
        if (!t)
            continue;
        TT_TRY(tt__workload_of(&w, t, &s->gpu, p));
        int64_t needed = tt__verify_bytes(&w) + tt__pool_bytes(&w, &s->gpu);
        if (needed > s->gpu.memory_bytes && !tt__is_matrix(p))
            return tt__fail(TT_E_INVALID,
                            "%s needs %.2f GB of device memory (its buffers, and the copies to verify and "
                            "measure with); %s "
                            "has %.2f GB: choose a smaller problem",
                            tt__problem_text(text, p), (double)needed * 1e-9, s->gpu.name,
                            (double)s->gpu.memory_bytes * 1e-9);
        if (needed > s->gpu.memory_bytes)
            return tt__fail(
                TT_E_INVALID,
                "%s of %d-byte elements needs %.2f GB of device memory (source, destination, and the "
                "copies to verify and measure with); %s has %.2f GB: choose a smaller size",
                tt__problem_text(text, p), p->elem_size, (double)needed * 1e-9, s->gpu.name,
                (double)s->gpu.memory_bytes * 1e-9);
    }
    return TT_OK;
}

static void no_winner(const tt__session *s, const tt__search *search, tt_result *result) {
    const tt__problem *p = &search->problem;
    result->trials = search->n_tried - search->n_skipped;
    result->failed = search->n_failed;
    size_t first = 0;
    while (first < search->space.n && search->known[first] != TT__TRIED)
        first++;
    if (search->space.n == 0 && !tt__is_matrix(p))
        snprintf(result->note, sizeof result->note,
                 "no configuration is legal for it: `tune check` says what removes them");
    else if (search->space.n == 0)
        snprintf(result->note, sizeof result->note,
                 "no template%s supports %d-byte elements aligned to %d bytes",
                 s->opts->n_only ? " of those that shall compete" : "", p->elem_size, p->align);
    else if (first == search->space.n)
        snprintf(result->note, sizeof result->note,
                 "the budget of %g s was over before a configuration could be tried: allow more",
                 s->opts->budget_s);
    else
        snprintf(result->note, sizeof result->note, "all %zu configurations %sfailed, the first: %s: %.160s",
                 search->n_tried, search->n_tried < search->space.n ? "tried " : "",
                 tt__trial_status_name(search->trials[first].status), search->trials[first].reason);
}

static void say_cut(const tt__session *s, const tt__search *search, tt_result *result) {
    snprintf(result->note, sizeof result->note,
             "the budget of %g s ended the search after %zu of %zu configurations", s->opts->budget_s,
             search->n_tried - search->n_skipped, search->wanted);
    tt__session_message(s, "%s: %s", result->problem, result->note);
}

/* What is known of a result before anything was tried. */
static void begin_result(const tt__session *s, const tt__problem *p, tt_result *result) {
    char text[TT__PROBLEM_TEXT_MAX];
    result->rows = p->rows;
    result->cols = p->cols;
    result->batch = p->batch;
    result->in_place = tt__in_place(p);
    result->warm = tt__warm(p);
    result->elem_size = p->elem_size;
    result->unverified = tt__unverified(p);
    result->source = s->opts->replay ? TT_SOURCE_REPLAYED : TT_SOURCE_MEASURED; /* also without a winner */
    tt__copy(result->problem, sizeof result->problem, tt__problem_text(text, p));
}

/* Elects the winner of searches that are over. */
static tt_status end_result(tt__session *s, tt__pair *pair, tt_result *result) {
    tt__search *search = &pair->search;
    double since_s = tt__now_s();
    bool holds = false;
    result->space = search->space.n;
    if (search->best == TT__NOTHING) {
        no_winner(s, search, result);
        return TT_OK;
    }
    if (!s->opts->force)
        TT_TRY(tt__stored_winner(s, search, result, &holds));
    if (!holds)
        TT_TRY(tt__elect(s, search, &pair->copy, result));
    else if (!s->opts->replay)
        result->source = TT_SOURCE_STORED;
    if (search->cut)
        say_cut(s, search, result);
    if (s->after)
        TT_TRY(s->after(s->after_user, s, &pair->copy, search, result));
    tt__session_phase(s, "finals", &search->problem, &since_s);
    return TT_OK;
}

/* The problems of a run, of which the next may be open ahead of its turn. */
typedef struct queue {
    tt__session *s;
    const tt__problem *problems;
    tt__pair now, next;
} queue;

/* If it fails its turn will tell. */
static void open_next(void *user) {
    queue *q = user;
    size_t next = q->s->at_problem + 1, n = q->s->n_problems;
    if (!q->next.open && next < n)
        tt__pair_open(q->s, &q->problems[next], n - next, &q->next);
}

/* The first two copies are searched one behind the other: of the few kernels that a copy may be most are
 * compiled by then, and the compilers get ahead with those of the transposes. */
static tt_status copy_next(queue *q) {
    tt__session *s = q->s;
    if (s->at_problem > 0 || s->n_problems < 2 || isfinite(s->end_s) || s->opts->replay)
        return TT_OK;
    open_next(q);
    if (q->next.open && q->next.copy.problem_id == q->now.copy.problem_id)
        tt__pair_close(&q->next); /* the same copy, whose trials it will find in the store */
    TT_TRY(tt__pair_run_copy(s, &q->now, s->n_problems));
    if (!q->next.open)
        return TT_OK;
    s->at_problem++;
    tt_status status = tt__pair_run_copy(s, &q->next, s->n_problems - 1);
    s->at_problem--;
    if (status != TT_OK)
        tt__pair_close(&q->next);
    return status == TT_E_INTERRUPTED ? status : TT_OK;
}

static tt_status tune_next(queue *q, tt_result *result) {
    tt__session *s = q->s;
    const tt__problem *p = &q->problems[s->at_problem];
    const size_t n_left = s->n_problems - s->at_problem;
    begin_result(s, p, result);
    q->now = q->next;
    q->next = (tt__pair){.open = false};
    if (!q->now.open)
        TT_TRY(tt__pair_open(s, p, n_left, &q->now));
    TT_TRY(copy_next(q));
    TT_TRY(tt__pair_run(s, &q->now, n_left));
    TT_TRY(end_result(s, &q->now, result));
    tt__pair_close(&q->now);
    return TT_OK;
}

static tt_status tune_all(tt__session *s, const tt__problem *problems, tt_report *report,
                          tt_result *results) {
    queue q = {.s = s, .problems = problems};
    size_t without = 0;
    tt_status status = TT_OK;
    s->backend->meanwhile = open_next;
    s->backend->user = &q;
    while (status == TT_OK && s->at_problem < s->n_problems) {
        tt_result *result = &results[s->at_problem];
        status = tune_next(&q, result);
        without += result->kernel[0] == '\0';
        s->at_problem += status == TT_OK;
    }
    s->backend->meanwhile = NULL;
    tt__pair_close(&q.now);
    tt__pair_close(&q.next);
    report->n_results = s->at_problem;
    TT_TRY(status);
    TT_TRY(tt__store_run_end(s->store, s->run_id));
    if (without)
        return tt__fail(TT_E_NO_WINNER, "%zu of %zu problems have no winner", without, s->n_problems);
    return TT_OK;
}

/* One configuration that hangs must not eat up a budget. */
static double timeout_s(const tt_tune_opts *opts, double asked_s, double usual_s, double least_s) {
    if (asked_s > 0)
        return asked_s;
    return opts->budget_s > 0 ? fmin(usual_s, fmax(least_s, opts->budget_s / 4)) : usual_s;
}

static tt_status open_backend(tt__session *s) {
    const tt_tune_opts *opts = s->opts;
    if (opts->replay)
        return tt__backend_replay(&s->backend, opts->replay, opts->should_stop, opts->user);
    return tt__backend_live(&s->backend,
                            &(tt__live_opts){
                                .device = opts->device,
                                .jobs = opts->jobs,
                                .trial_timeout_s = timeout_s(opts, opts->trial_timeout_s, 10, 1),
                                .compile_timeout_s = timeout_s(opts, opts->compile_timeout_s, 60, 5),
                                .store = s->store,
                                .trace = s->trace,
                                .should_stop = opts->should_stop,
                                .on_message = opts->on_message,
                                .user = opts->user,
                            });
}

/* The GPU by its name, if a layer knows it. */
static bool find_gpu(tt__session *s, tt_ctx *ctx, const char *name) {
    pthread_mutex_lock(&ctx->lock);
    bool known = *name && tt__layers_find_gpu(ctx, name, &s->gpu, &s->gpu_id) == TT_OK;
    pthread_mutex_unlock(&ctx->lock);
    return known;
}

static tt_status has_winner(const tt__session *s, const tt__problem *p, bool *found) {
    tt__winner w;
    int64_t id;
    *found = false;
    if (s->gpu_id < 0)
        return TT_OK;
    TT_TRY(tt__store_problem(s->store, p, &id));
    return tt__store_winner_get(s->store, s->gpu_id, id, &w, found);
}

/* CUDA takes some 100 ms to start, in which compilers could be at work already if it were known for what:
 * most likely for the GPU that was known under this name before. If that goes wrong its turn will tell. */
static tt_status foresee(tt__session *s, tt_ctx *ctx, const tt__problem *first) {
    const tt__backend_ops *ops = s->backend->ops;
    char name[TT__GPU_NAME_MAX];
    bool settled = false;
    if (!ops->name)
        return TT_OK;
    TT_TRY(ops->name(s->backend, name));
    if (!find_gpu(s, ctx, name))
        return TT_OK;
    ops->presume(s->backend, &s->gpu);
    if (s->opts->force || (has_winner(s, first, &settled) == TT_OK && !settled))
        tt__pair_foresee(s, first, s->n_problems);
    return TT_OK;
}

static tt_status run(tt__session *s, tt_ctx *ctx, const tt__problem *problems, size_t n, tt_report *report,
                     tt_result *results) {
    TT_TRY(open_backend(s));
    TT_TRY(foresee(s, ctx, &problems[0]));
    TT_TRY(s->backend->ops->hello(s->backend, &s->gpu, &s->env));
    tt__copy(report->gpu, sizeof report->gpu, s->gpu.name);
    tt__copy(report->driver, sizeof report->driver, s->env.driver);
    tt__copy(report->nvrtc, sizeof report->nvrtc, s->env.nvrtc);
    TT_TRY(check_memory(s, problems, n));
    TT_TRY(tt__store_gpu(s->store, &s->gpu, &s->gpu_id));
    TT_TRY(tt__store_run_begin(s->store, s->gpu_id, &s->env, s->opts->replay ? "replayed" : "measured",
                               &s->run_id));
    TT_TRY(tt__winners_load(&s->elsewhere, s->store));
    return tune_all(s, problems, report, results);
}

/* A run has a connection of its own, so that others may use the context meanwhile; ":memory:" has but one. */
static tt_status run_in_store(tt__session *s, tt_ctx *ctx, const tt__problem *problems, size_t n,
                              tt_report *report, tt_result *results) {
    bool shared = strcmp(tt__store_path(ctx->store), ":memory:") == 0;
    if (ctx->read_only)
        return tt__fail(TT_E_INVALID, "the context was opened read-only: tuning has to write to the store");
    if (shared) {
        pthread_mutex_lock(&ctx->lock);
        s->store = ctx->store;
    } else {
        TT_TRY(tt__store_open(&s->store, tt__store_path(ctx->store), TT__STORE_READ_WRITE));
    }
    tt_status status = run(s, ctx, problems, n, report, results);
    if (s->backend)
        s->backend->ops->close(s->backend);
    if (shared)
        pthread_mutex_unlock(&ctx->lock);
    else
        tt__store_close(&s->store);
    tt__answers_forget(ctx);
    return status;
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

void tt_report_free(tt_report **report) {
    free(*report);
    *report = NULL;
}

/* A timeline that cannot be written is no reason to lose what was measured. */
static void end_trace(tt__session *s) {
    int error = tt__trace_close(&s->trace);
    if (error)
        tt__session_message(s, "the trace %s is incomplete: %s", s->opts->trace_path, strerror(error));
}

tt_status tt__problems_init(tt__problem **out, const tt_problem *problems, size_t n) {
    tt_status status = TT_OK;
    *out = calloc(n ? n : 1, sizeof **out);
    if (!*out)
        return tt__fail_memory(n * sizeof **out);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        status = tt__problem_init(&(*out)[i], &problems[i]);
    if (status != TT_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

tt_status tt_tune(tt_report **out, tt_ctx *ctx, const tt_problem *problems, size_t n_problems,
                  const tt_tune_opts *opts) {
    const tt_tune_opts defaults = TT_INIT(tt_tune_opts);
    tt__problem *p;
    *out = NULL;
    TT_TRY(check_opts(opts ? opts : &defaults, n_problems));
    TT_TRY(tt__problems_init(&p, problems, n_problems));
    tt_status status = tt__tune(out, ctx, &(tt__tune_call){.n = n_problems, .problems = p}, opts);
    free(p);
    return status;
}

static tt_status open_templates(tt__template_set *out, const tt__tune_call *call, const tt_tune_opts *opts) {
    tt__template *own;
    TT_TRY(tt__template_set_open(out, opts->templates, opts->n_templates));
    for (size_t i = 0; i < out->n; i++)
        if (out->items[i]->own)
            return tt__fail(TT_E_INVALID,
                            "%s says itself what it works on, and competes with nothing: tune it with "
                            "--kernel (tt_kernel_tune)",
                            out->items[i]->path);
    if (call->source) {
        TT_TRY(tt__template_parse(&own, call->path, call->source));
        TT_TRY(tt__template_set_add(out, own));
    }
    return tt__template_set_check(out, opts->only, opts->n_only);
}

/* What nobody can check is tuned only for those who say that they know. */
static tt_status check_verified(const tt__tune_call *call, const tt_tune_opts *opts) {
    for (size_t i = 0; i < call->n; i++)
        if (tt__unverified(&call->problems[i]) && !opts->unverified)
            return tt__fail(
                TT_E_INVALID,
                "%.*s names no reference, so that no result of it can be verified: add a `reference` or an "
                "`expect`, or say --unverified (tt_tune_opts.unverified)",
                (int)strcspn(call->problems[i].op, "/"), call->problems[i].op);
    return TT_OK;
}

tt_status tt__tune(tt_report **out, tt_ctx *ctx, const tt__tune_call *call, const tt_tune_opts *opts) {
    const tt_tune_opts defaults = TT_INIT(tt_tune_opts);
    *out = NULL;
    opts = opts ? opts : &defaults;
    TT_TRY(check_opts(opts, call->n));
    TT_TRY(check_verified(call, opts));
    const double started_s = tt__now_s();
    tt__trace *trace = NULL;
    if (opts->trace_path)
        TT_TRY(tt__trace_open(&trace, opts->trace_path));
    tt__template_set templates = {0};
    tt_result *results = NULL;
    tt_report *report = new_report(call->n, &results);
    tt_status status =
        report ? open_templates(&templates, call, opts) : tt__fail_memory(call->n * sizeof *results);
    tt__session session = {.templates = &templates,
                           .opts = opts,
                           .trace = trace,
                           .n_problems = call->n,
                           .started_s = started_s,
                           .end_s = opts->budget_s > 0 ? started_s + opts->budget_s : INFINITY,
                           .after = call->after,
                           .after_user = call->user};
    if (status == TT_OK && opts->strategy)
        status = tt__strategy_find(&session.strategy, opts->strategy);
    if (status == TT_OK)
        status = run_in_store(&session, ctx, call->problems, call->n, report, results);
    tt__winners_free(&session.elsewhere);
    tt__template_set_close(&templates);
    end_trace(&session);
    if (status == TT_OK || status == TT_E_INTERRUPTED || status == TT_E_NO_WINNER) {
        report->wall_s = tt__now_s() - session.started_s;
        *out = report;
    } else {
        tt_report_free(&report);
    }
    return status;
}
