/*
 * tt_tune: a run from its arguments to its report.
 */
#include "tuner/run/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/read_file.h"
#include "base/str.h"
#include "dispatch/snapshot.h"
#include "gpu/device.h"
#include "gpu/nvml.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "tuner/backend/gpu/backend_gpu.h"
#include "tuner/backend/replay/backend_replay.h"
#include "tuner/measure/measure.h"
#include "tuner/run/rules.h"
#include "tuner/run/run_loop.h"
#include "tuner/search/with_copy.h"

/* ---- Neighbouring sizes ---------------------------------------------------------------------------------
 */

/* A neighbour is tried as any configuration of a search, so that its trial is in the store. The first
 * neighbour that the operation allows and the reference can do is enough. */

enum { STEPS = 2 }; /* 1 more, and a tile more */

size_t tt__neighbours(const tt__problem *p) {
    return STEPS * (1 + (p->n > 1 ? (size_t)p->n : 0));
}

/* The largest power of two in it, as far as that adds at most an eighth. */
static int64_t tile_of(int64_t number) {
    int64_t tile = number & -number;
    while (tile > 1 && tile > number / 8)
        tile /= 2;
    return tile;
}

bool tt__neighbour(tt__problem *out, const tt__template *t, const tt__problem *p, size_t k) {
    const int only = (int)(k / STEPS) - 1;
    tt__problem near = *p;
    tt__str text = {0};
    bool changed = false;
    for (int i = 0; i < near.n; i++) {
        tt__setting *s = &near.settings[i];
        const bool bytes = strcmp(s->name, "elem_size") == 0 || strcmp(s->name, "align") == 0;
        const int64_t step = k % STEPS ? tile_of(s->number) : 1;
        if (s->type != TT__TYPE_NONE || bytes || (only >= 0 && i != only) || (k % STEPS && step <= 1))
            continue;
        s->number += step;
        changed = true;
    }
    tt__problem_add_settings(&text, &near, ",");
    changed = changed && tt__operation_problem(out, t->operation, t->op, tt__str_text(&text)) == TT_OK;
    tt__str_free(&text);
    out->warm = p->warm;
    out->in_graph = p->in_graph;
    out->unverified = p->unverified;
    return changed;
}

tt_status tt__neighbour_try(tt__session *s, const tt__problem *near, const tt__configuration *c, size_t n,
                            double end_s, tt__trial *trials) {
    const tt__backend_ops *ops = s->backend->ops;
    const size_t first = s->lane * TT__LANE_TRIALS;
    TT_TRY(ops->problem(s->backend, near, c->t));
    if (ops->await_until)
        ops->await_until(s->backend, end_s);
    for (size_t i = 0; i < n; i++)
        TT_TRY(ops->submit(s->backend, first + i, &c[i], 0));
    for (size_t done = 0; done < n;) {
        size_t id;
        tt__trial trial;
        TT_TRY(ops->wait(s->backend, &id, &trial));
        if (id - first < n) {
            trials[id - first] = trial;
            done++;
        }
    }
    return TT_OK;
}

static bool in_time(const tt__session *s) {
    return tt__now_s() < s->end_s;
}

/* One that is known to be wrong there is tried again, so that a run says so again. */
static tt_status verify_near(tt__session *s, const tt__winner *w, const tt__template *t) {
    char text[TT__PROBLEM_TEXT_MAX], beside[TT__PROBLEM_TEXT_MAX];
    for (size_t k = 0; k < tt__neighbours(&w->problem) && in_time(s); k++) {
        tt__problem near;
        tt__candidate c;
        tt__trial trial;
        int64_t id;
        bool known;
        if (!tt__neighbour(&near, t, &w->problem, k))
            continue;
        TT_TRY(tt__store_covers(s->store, w->kernel, w->hash, w->config, &w->problem, &near, &known));
        if (known)
            return TT_OK;
        if (tt__space_resolve(&c, t, &s->gpu, &near, w->config) != TT_OK)
            continue; /* not legal there, so it serves nothing there */
        const double began_s = tt__now_s();
        tt_status status = tt__neighbour_try(s, &near, &c.configuration, 1, INFINITY, &trial);
        if (status == TT_E_INTERRUPTED)
            return status;
        if (status != TT_OK && tt__now_s() - began_s > s->trial_timeout_s) /* say what was waited for */
            tt__session_message(s, "%s: whether the winner is right for %s, too, cannot be told: %s",
                                tt__problem_text(text, &w->problem), tt__problem_text(beside, &near),
                                tt_last_error());
        if (status != TT_OK) /* the reference cannot do it */
            continue;
        TT_TRY(tt__store_problem(s->store, &near, &id));
        TT_TRY(tt__session_store(s, id, &c.configuration, TT__STAGE_SCREEN, &trial));
        if (trial.status != TT__TRIAL_OK)
            tt__session_message(
                s,
                "%s: the winner is right, but not for %s: %s: %s; so it serves no other size: "
                "say with `require` which sizes the kernel can do",
                tt__problem_text(text, &w->problem), tt__problem_text(beside, &near),
                tt__trial_status_name(trial.status), trial.reason);
        return TT_OK;
    }
    return TT_OK;
}

/* Verifies the winners of the run's problems for a neighbour, and says which are wrong there. Nothing may be
 * under way. Only TT_E_INTERRUPTED and failures of the store are returned. */
static tt_status verify_neighbours(tt__session *s) {
    if (s->backend->ops->enter)
        TT_TRY(s->backend->ops->enter(s->backend, s->lane));
    for (size_t i = 0; i < s->n_problems && in_time(s); i++) {
        const tt__problem *p = &s->call->problems[i];
        int64_t problem_id;
        tt__winner w;
        bool found = false;
        if (!tt__problem_is_users(p) || p->unverified)
            continue;
        TT_TRY(tt__store_problem(s->store, p, &problem_id));
        TT_TRY(tt__store_winner_get(s->store, s->gpu_id, problem_id, &w, &found));
        const tt__template *t = found ? tt__template_set_find(s->templates, w.kernel) : NULL;
        if (t && strcmp(t->hash, w.hash) == 0)
            TT_TRY(verify_near(s, &w, t));
    }
    return TT_OK;
}

/* ---- Batches ---- */

/* Does a row of a winner's results change when rows are added? A kernel's file says which variable counts
 * them
 * (`batch`).
 *
 * The rows of a batch are the outermost dimension of each buffer, and inputs are filled by index. So a
 * problem with fewer rows has the first ones of the larger problem, and its results are compared with the
 * start of the larger results, bit for bit: one row, half of them, and one row less.
 */

/* What depends on the number of elements is another input for fewer rows. */
static bool depends_on_count(const tt__array *a) {
    return a->filled || a->init == TT__INIT_SORTED || a->init == TT__INIT_PERMUTATION ||
           a->init == TT__INIT_INDEX || a->init == TT__INIT_FILE;
}

static bool is_comparable(const tt__workload *few, const tt__workload *all) {
    bool shrinks = false;
    for (int i = 0; i < all->n; i++) {
        const tt__array *a = &all->arrays[i], *b = &few->arrays[i];
        if (a->by_config || b->count > a->count ||
            (b->count != a->count && (a->direction == TT__IN || a->direction == TT__INOUT) &&
             depends_on_count(a)))
            return false;
        shrinks |= b->count < a->count && (a->direction == TT__OUT || a->direction == TT__INOUT);
    }
    return shrinks;
}

/* The problem with so many rows; false: the operation forbids it. */
static bool with_rows(tt__problem *out, const tt__template *t, const tt__problem *p, int64_t rows) {
    tt__problem few = *p;
    tt__str text = {0};
    tt__problem_set(&few, t->operation->batch, rows);
    tt__problem_add_settings(&text, &few, ",");
    const bool legal = tt__operation_problem(out, t->operation, t->op, tt__str_text(&text)) == TT_OK;
    tt__str_free(&text);
    out->warm = p->warm;
    out->in_graph = p->in_graph;
    out->unverified = p->unverified;
    return legal;
}

/* The class of the first elements of the results that a winner has for a problem. */
static tt_status class_of(tt__session *s, const tt__template *t, const tt__problem *p, const tt__winner *w,
                          const tt__workload *few, int64_t *bits) {
    const tt__backend_ops *ops = s->backend->ops;
    tt__bits_ask ask = {.first_only = true};
    tt__bits_found found;
    tt__candidate c;
    TT_TRY(tt__space_resolve(&c, t, &s->gpu, p, w->config));
    for (int i = 0; i < few->n; i++)
        ask.counts[i] = few->arrays[i].count;
    TT_TRY(ops->problem(s->backend, p, t));
    if (ops->await_until)
        ops->await_until(s->backend, s->end_s);
    TT_TRY(ops->bits(s->backend, &c.configuration, &ask, &found));
    *bits = found.bits;
    return TT_OK;
}

typedef struct workloads {
    tt__workload few, all;
} workloads;

/* Compares with so many rows. *is 0: it cannot be told. */
static tt_status compare_rows(tt__session *s, const tt__template *t, const tt__winner *w, int64_t rows,
                              workloads *v, int *is) {
    tt__problem few;
    int64_t some, whole;
    *is = 0;
    if (!with_rows(&few, t, &w->problem, rows) || tt__workload_of(&v->few, t, &s->gpu, &few) != TT_OK ||
        tt__workload_of(&v->all, t, &s->gpu, &w->problem) != TT_OK || !is_comparable(&v->few, &v->all))
        return TT_OK;
    tt_status status = class_of(s, t, &few, w, &v->few, &some);
    if (status == TT_OK)
        status = class_of(s, t, &w->problem, w, &v->few, &whole);
    if (status != TT_OK) /* the configuration is not legal there, or the reference cannot do it */
        return status == TT_E_INTERRUPTED ? status : TT_OK;
    *is = some == whole && some != TT__BITS_UNSTABLE ? 1 : 2;
    return TT_OK;
}

static tt_status measure_batch(tt__session *s, const tt__template *t, const tt__winner *w, workloads *v,
                               int *is) {
    const char *batch = t->operation->batch;
    const int64_t all = tt__problem_number(&w->problem, batch, 0);
    const int64_t rows[] = {all - 1, all / 2, 1};
    char text[TT__PROBLEM_TEXT_MAX];
    *is = 0;
    for (size_t k = 0; k < TT__COUNT(rows) && *is != 2 && tt__now_s() < s->end_s; k++) {
        int now;
        if (rows[k] < 1 || rows[k] >= all)
            continue;
        TT_TRY(compare_rows(s, t, w, rows[k], v, &now));
        *is = now ? now : *is;
        if (now == 2)
            tt__session_message(s, "%s: not batch invariant: the first results are others where %s is %lld",
                                tt__problem_text(text, &w->problem), batch, (long long)rows[k]);
    }
    if (*is == 1)
        tt__session_message(s, "%s: batch invariant: the first results are the same where %s is less",
                            tt__problem_text(text, &w->problem), batch);
    return TT_OK;
}

static tt_status measure_batches(tt__session *s, tt_result *results) {
    tt_status status = TT_OK;
    workloads *v = NULL; /* large for a stack */
    if (s->backend->ops->enter)
        TT_TRY(s->backend->ops->enter(s->backend, s->lane));
    for (size_t i = 0; i < s->n_problems && status == TT_OK && s->backend->ops->bits; i++) {
        const tt__problem *p = &s->call->problems[i];
        int64_t problem_id;
        tt__winner w;
        bool found = false;
        const tt__template *of = tt__template_set_for(s->templates, p);
        if (!of || !*of->operation->batch)
            continue;
        TT_GOTO(tt__store_problem(s->store, p, &problem_id));
        TT_GOTO(tt__store_winner_get(s->store, s->gpu_id, problem_id, &w, &found));
        const tt__template *t = found ? tt__template_set_find(s->templates, w.kernel) : NULL;
        if (!t || strcmp(t->hash, w.hash) != 0)
            continue;
        if (!v && !(v = calloc(1, sizeof *v)))
            TT_GOTO(tt__fail_memory(sizeof *v));
        if (!w.batch_invariant) {
            TT_GOTO(measure_batch(s, t, &w, v, &w.batch_invariant));
            TT_GOTO(tt__store_winner_batch(s->store, s->gpu_id, problem_id, w.batch_invariant));
        }
        results[i].batch_invariant = w.batch_invariant;
    }
out:
    free(v);
    return status;
}

/* ---- The devices of a run, by kind ----------------------------------------------------------------------
 */

/* Identical GPUs share one search. */

static tt_status check_devices(const tt_tune_opts *opts) {
    if (opts->n_devices > TT__GPUS_MAX)
        return tt__fail(TT_E_INVALID, "%zu devices: at most %d take part in one run", opts->n_devices,
                        TT__GPUS_MAX);
    if (opts->n_devices && !opts->devices)
        return tt__fail(TT_E_INVALID, "devices is NULL, but n_devices is %zu", opts->n_devices);
    for (size_t i = 0; i < opts->n_devices; i++)
        for (size_t k = 0; k < i; k++)
            if (opts->devices[i] == opts->devices[k])
                return tt__fail(TT_E_INVALID, "device %d is named twice: name each once", opts->devices[i]);
    return TT_OK;
}

static tt_status add_device(tt__devices *d, const tt__gpu *gpu, int ordinal) {
    size_t kind = 0;
    while (kind < d->n_kinds && !tt__same_gpu(&d->kinds[kind].gpu, gpu))
        kind++;
    if (kind == TT__KINDS_MAX)
        return tt__fail(TT_E_INVALID, "more than %d kinds of GPU: name fewer devices", TT__KINDS_MAX);
    if (kind == d->n_kinds)
        d->kinds[d->n_kinds++].gpu = *gpu;
    d->kinds[kind].ordinals[d->kinds[kind].n++] = ordinal;
    return TT_OK;
}

/* NVML is asked first, because CUDA takes long to start. Each worker checks that its GPU is like the others.
 */
static bool are_alike(const tt_tune_opts *opts) {
    const int n = tt__nvml_alike();
    bool are = true;
    for (size_t i = 0; i < opts->n_devices; i++)
        are &= opts->devices[i] >= 0 && opts->devices[i] < n;
    return are;
}

tt_status tt__devices_of(tt__devices *out, const tt_tune_opts *opts) {
    tt_status status = TT_OK;
    char line[512];
    *out = (tt__devices){.n_kinds = 0};
    TT_TRY(check_devices(opts));
    if (opts->replay || opts->n_devices < 2)
        return add_device(out, &(tt__gpu){.cc = 0}, opts->n_devices ? opts->devices[0] : opts->device);
    const bool alike = are_alike(opts);
    for (size_t i = 0; i < opts->n_devices; i++) {
        tt__gpu gpu = {.cc = 0};
        tt_status found = alike ? TT_OK : tt__device_gpu(&gpu, opts->devices[i]);
        if (found == TT_OK) {
            TT_TRY(add_device(out, &gpu, opts->devices[i]));
            continue;
        }
        status = found;
        if (found != TT_E_CUDA) /* there is no such device, or no driver */
            return found;
        tt__format(line, sizeof line, "device %d is left out: %s", opts->devices[i], tt_last_error());
        if (opts->on_message)
            opts->on_message(opts->user, line);
    }
    return out->n_kinds ? TT_OK : status;
}

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
    memset(results, 0, s->n_problems * sizeof *results); /* a kind of GPU that was lost may have left some */
    tt_status status = tt__run_loop(s, t->question, results);
    t->report->n_results += s->n_ended;
    if (status == TT_OK && s->call->makes_rule)
        status = tt__rules_measure(s);
    if (status == TT_OK && !t->question && !s->opts->replay && !s->call->stored && !s->call->part.of)
        status = verify_neighbours(s);
    if (status == TT_OK && !t->question && !s->opts->replay && !s->call->stored && !s->call->part.of)
        status = measure_batches(s, results);
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

double tt__most_of_budget_s(double budget_s, const tt__tune_call *call) {
    double most = 0, sum = 0;
    for (size_t i = 0; i < call->n; i++) {
        const double worth = call->worth ? call->worth[i] : 1;
        most = fmax(most, worth);
        sum += worth;
    }
    return budget_s * most / sum;
}

double tt__timeout_s(double budget_s, double asked_s, double usual_s, double least_s, double share) {
    if (asked_s > 0)
        return asked_s;
    return budget_s > 0 ? fmin(usual_s, fmax(least_s, budget_s * share)) : usual_s;
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
    if (*tt__backend_replay_left_out(s->backend))
        tt__session_message(s, "%s", tt__backend_replay_left_out(s->backend));
    return TT_OK;
}

static bool while_cuda_starts(void *of, const char *name, tt__gpu *gpu) {
    tuning *t = of;
    return tt__with_copy_foresee(&t->s, t->ctx, name, gpu);
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
                               .fresh_data = s->call->strict,
                               .trial_timeout_s = s->trial_timeout_s,
                               .compile_timeout_s = s->compile_timeout_s,
                               .needed_timeout_s = tt__timeout_s(0, opts->compile_timeout_s, 60, 60, 0),
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

/* Questions about winners work where nothing can be written. */
static tt_status open_store(tt__session *s, tt_ctx *ctx) {
    const char *path = tt__store_path(ctx->store);
    tt_status status = tt__store_open(&s->store, path, TT__STORE_READ_WRITE);
    if (status != TT_E_DB || !s->call->stored)
        return status;
    tt__copy(ctx->unkept, sizeof ctx->unkept, tt_last_error());
    return tt__store_open(&s->store, path, TT__STORE_COPY);
}

/* A run has its own connection, so that the context can be used meanwhile. ":memory:" has only one. */
static tt_status run_in_store(tuning *t) {
    tt__session *s = &t->s;
    tt_ctx *ctx = t->ctx;
    bool shared = strcmp(tt__store_path(ctx->store), ":memory:") == 0;
    if (ctx->read_only && (shared || !s->call->stored))
        return tt__fail(TT_E_INVALID, "the context was opened read-only: tuning has to write to the store");
    if (shared) {
        pthread_mutex_lock(&ctx->making); /* before `lock`, as a call-back that launches needs both */
        while (ctx->makers) {             /* they need `lock`, and a call-back may wait for their plan */
            ctx->tune_waits = true;
            pthread_cond_wait(&ctx->made, &ctx->making);
        }
        ctx->tune_waits = false;
        pthread_cond_broadcast(&ctx->made);
        pthread_mutex_lock(&ctx->lock);
        s->store = ctx->store;
    } else {
        TT_TRY(open_store(s, ctx));
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

/* These GPUs failed, or are too small, so that others may do. */
static bool is_of_gpu(tt_status status) {
    return status == TT_E_IO || status == TT_E_CUDA || status == TT_E_NO_DEVICE || status == TT_E_INVALID;
}

/* A kind of GPU after the other. A kind that lacks a winner, or whose last GPU is lost, does not keep the
 * next from its own. */
static tt_status run_kinds(tuning *t, const tt__devices *devices) {
    tt__session *s = &t->s;
    const double end_s = s->end_s;
    tt_status lacking = TT_OK;
    size_t n_lost = 0;
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
        if (is_of_gpu(status) && n_lost + 1 < devices->n_kinds) {
            tt__session_message(s, "%s is left out: %s", text, tt_last_error());
            n_lost++;
        } else if (status != TT_OK && status != TT_E_NO_WINNER) {
            return status;
        }
        lacking = status == TT_OK ? lacking : TT_E_NO_WINNER;
    }
    return n_lost ? tt__fail(TT_E_NO_WINNER, "%zu of %zu kinds of GPU failed, and have no winner", n_lost,
                             devices->n_kinds)
                  : lacking;
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

static tt_status check_trace(bool reads, const char *trace, const char *what) {
    return reads ? tt__fail(TT_E_INVALID, "the trace %s is the %s, which would be lost: name another file",
                            trace, what)
                 : TT_OK;
}

static tt_status tune_on(tt__devices *devices, tt_report **out, tt_ctx *ctx, const tt__tune_call *call,
                         const tt__tune_question *question, const tt_tune_opts *opts) {
    const double started_s = tt__now_s();
    TT_TRY(tt__devices_of(devices, opts));
    tt__trace *trace = NULL;
    if (opts->trace_path) {
        const char *path = opts->trace_path;
        TT_TRY(check_trace(tt__same_file(path, tt__store_path(ctx->store)), path, "store"));
        TT_TRY(check_trace(opts->replay && tt__same_file(path, opts->replay), path, "recording"));
        for (size_t i = 0; i < call->templates->n; i++)
            TT_TRY(check_trace(tt__template_reads(call->templates->items[i]->path, path), path,
                               "kernel file, or one that it reads"));
        TT_TRY(tt__trace_open(&trace, opts->trace_path));
    }
    tt_result *results = NULL;
    tt_report *report = new_report(devices->n_kinds * call->n, &results);
    tt_status status = report ? TT_OK : tt__fail_memory(devices->n_kinds * call->n * sizeof *results);
    tuning t = {.ctx = ctx, .question = question, .report = report, .results = results};
    tt__session *s = &t.s;
    const double budget_s = tt__most_of_budget_s(opts->budget_s / (double)devices->n_kinds, call);
    *s = (tt__session){.templates = call->templates,
                       .opts = opts,
                       .asks = question != NULL,
                       .trace = trace,
                       .n_kinds = devices->n_kinds,
                       .n_problems = call->n,
                       .started_s = started_s,
                       .end_s = opts->budget_s > 0 ? started_s + opts->budget_s : INFINITY,
                       .trial_timeout_s = tt__timeout_s(budget_s, opts->trial_timeout_s, 10, 1, 0.25),
                       .compile_timeout_s = tt__timeout_s(budget_s, opts->compile_timeout_s, 60, 10, 0.5),
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
