/*
 * tt_tune: collects problems and templates for the tuner.
 */
#include "api/tune.h"

#include <stdlib.h>

#include "api/problem.h"
#include "api/sized.h"
#include "base/grow.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"

/* The problems of a call. */
typedef struct questions {
    size_t n;
    tt__problem *problems;
    size_t n_kernels;
    const tt_kernel **kernels; /* the users' kernels among them, each once */
} questions;

static tt_status take_kernel(questions *out, const tt_kernel *kernel) {
    for (size_t i = 0; i < out->n_kernels; i++)
        if (out->kernels[i] == kernel)
            return TT_OK;
    TT_TRY(TT__GROW(out->kernels, out->n_kernels));
    out->kernels[out->n_kernels++] = kernel;
    return TT_OK;
}

static tt_status take_problems(questions *out, tt_ctx *ctx, const tt_problem *problems, size_t n,
                               bool several_kernels) {
    const tt_kernel *last = NULL;
    *out = (questions){.n = n};
    if (n == 0 || !problems)
        return tt__fail(TT_E_INVALID, "there is no problem to tune");
    if (!(out->problems = calloc(n, sizeof *out->problems)))
        return tt__fail_memory(n * sizeof *out->problems);
    for (size_t i = 0; i < n; i++) {
        /* The distance between the caller's structs is the first one's size. */
        const tt_problem *p = (const void *)((const char *)problems + i * problems->size);
        tt_problem all;
        tt__question q;
        TT_TRY(TT__SIZED_IN(&all, p, 0, tt_problem));
        TT_TRY(tt__question_of(&q, ctx, &all));
        if (i && all.kernel != last && !several_kernels)
            return tt__fail(TT_E_INVALID,
                            "problem %zu is of another kernel than the first: tune each by itself", i);
        if (all.kernel)
            TT_TRY(take_kernel(out, all.kernel));
        last = all.kernel;
        out->problems[i] = q.problem;
    }
    return TT_OK;
}

/* TT_E_INVALID: a name in `only` is no template of the set. */
static tt_status check_only(const tt__template_set *set, const char *const *only, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tt__suggest near = tt__suggest_for(only[i], strlen(only[i]));
        if (tt__template_set_find(set, only[i]))
            continue;
        for (size_t k = 0; k < set->n; k++)
            tt__suggest_try(&near, set->items[k]->kernel);
        return tt__fail(TT_E_INVALID, "there is no kernel template %s%s; \"tune doctor\" lists them", only[i],
                        tt__suggest_text(&near));
    }
    return TT_OK;
}

/* The built-in templates, those in the options, and the kernels. Built-in ones are read that the problems
 * need, or `all`. */
static tt_status open_templates(tt__template_set *out, const questions *q, const tt_tune_opts *opts,
                                bool all) {
    if (opts->n_templates && !opts->templates)
        return tt__fail(TT_E_INVALID, "templates is NULL, but n_templates is %zu", opts->n_templates);
    if (opts->n_only && !opts->only)
        return tt__fail(TT_E_INVALID, "only is NULL, but n_only is %zu", opts->n_only);
    for (size_t i = 0; i < opts->n_only; i++)
        if (!opts->only[i])
            return tt__fail(TT_E_INVALID, "only[%zu] is NULL: it must be the name of a kernel", i);
    TT_TRY((all ? tt__template_set_open : tt__template_set_open_unread)(out, opts->templates,
                                                                        opts->n_templates));
    for (size_t i = 0; i < q->n; i++)
        TT_TRY(tt__template_set_read(out, &q->problems[i]));
    for (size_t i = 0; i < out->n; i++)
        if (out->items[i]->own)
            return tt__fail(TT_E_INVALID,
                            "%s says itself what it works on, and competes with nothing: tune it with "
                            "--kernel (tt_problem.kernel)",
                            out->items[i]->path);
    for (size_t i = 0; i < q->n_kernels; i++) {
        tt__template *own;
        TT_TRY(tt__template_parse(&own, q->kernels[i]->t->path, q->kernels[i]->t->source));
        TT_TRY(tt__template_set_add(out, own));
    }
    return check_only(out, opts->only, opts->n_only);
}

tt_status tt__tune_and(tt_report **out, tt_ctx *ctx, const tt_problem *problems, size_t n,
                       const tt_tune_opts *opts, const tt__tune_call *how,
                       const tt__tune_question *question) {
    tt__tune_call call = *how;
    tt_tune_opts all;
    questions q = {0};
    tt__template_set templates = {0};
    tt_status status;
    if (!out)
        return tt__fail(TT_E_INVALID, "tt_tune: out is NULL");
    *out = NULL;
    TT_TRY(TT__SIZED_IN(&all, opts, 1, tt_tune_opts));
    if (ctx && *ctx->unkept && !all.replay)
        return tt__fail(TT_E_DB, "there is no store to keep results in, so nothing was tuned: %s",
                        ctx->unkept);
    TT_GOTO(take_problems(&q, ctx, problems, n, call.several_kernels));
    TT_GOTO(open_templates(&templates, &q, &all, question != NULL)); /* it may compare with others */
    call.n = q.n;
    call.problems = q.problems;
    call.templates = &templates;
    TT_GOTO(tt__tune(out, ctx, &call, question, &all));
out:
    for (size_t i = 0; *out && i < (*out)->n_results; i++) {
        tt_result *r = (tt_result *)&(*out)->results[i]; /* the caller has not seen it yet */
        r->in_place = tt__is_in_place(r->op);
    }
    tt__template_set_close(&templates);
    free(q.problems);
    free(q.kernels);
    return status;
}

tt_status tt_tune(tt_report **out, tt_ctx *ctx, const tt_problem *problems, size_t n_problems,
                  const tt_tune_opts *opts) {
    return tt__tune_and(out, ctx, problems, n_problems, opts, &(tt__tune_call){0}, NULL);
}

/* ---- Tuning on first use ---------------------------------------------------------------------------------
 */

/* A kernel's set has no template of the copy to compare with, but the context's set does. */
static tt_status join(tt__template_set *out, const tt__template_set *a, const tt__template_set *b,
                      const tt__problem *p) {
    *out = (tt__template_set){.items = calloc(a->n + b->n, sizeof *out->items)};
    if (!out->items)
        return tt__fail_memory((a->n + b->n) * sizeof *out->items);
    for (size_t i = 0; i < a->n; i++) {
        const tt__template *t = a->items[i];
        if (tt__template_serves(t, p))
            TT_TRY(tt__template_read(&t));
        out->items[out->n++] = (tt__template *)t; /* not changed by a run */
    }
    for (size_t i = 0; i < b->n && b != a; i++) {
        const tt__template *t = b->items[i], *other = tt__template_set_find(a, t->kernel);
        if (other)
            return tt__fail(TT_E_INVALID, "%s and %s both define the kernel %s", other->path, t->path,
                            t->kernel);
        out->items[out->n++] = b->items[i];
    }
    return TT_OK;
}

static tt_status tune_first(tt_ctx *ctx, const tt__template_set *templates, const tt__problem *p, int device,
                            double budget_s) {
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    tt_report *report = NULL;
    tt__template_set all;
    opts.device = device;
    opts.budget_s = budget_s; /* the best one so far becomes the winner */
    tt_status status = join(&all, &ctx->templates, templates, p);
    if (status == TT_OK)
        status =
            tt__tune(&report, ctx, &(tt__tune_call){.n = 1, .problems = p, .templates = &all}, NULL, &opts);
    if (status == TT_E_NO_WINNER)
        tt__fail(status, "%s", report->results[0].note);
    free(all.items); /* the templates in it are borrowed */
    tt_report_free(&report);
    return status;
}

const tt__tune_fn tt__tuner = tune_first;

/* ---- For programs built with 0.1: its header has this function instead of tt_problem.kernel ------ */

TT_API tt_status tt_kernel_tune(tt_report **out, tt_kernel *kernel, const char *const *values, size_t n,
                                const tt_tune_opts *opts);
tt_status tt_kernel_tune(tt_report **out, tt_kernel *kernel, const char *const *values, size_t n,
                         const tt_tune_opts *opts) {
    if (out)
        *out = NULL;
    if (!kernel)
        return tt__no_kernel();
    tt_problem *problems = calloc(n ? n : 1, sizeof *problems);
    if (!problems)
        return tt__fail_memory(n * sizeof *problems);
    for (size_t i = 0; i < n && values; i++)
        problems[i] = (tt_problem){.size = sizeof *problems, .kernel = kernel, .values = values[i]};
    tt_status status = tt_tune(out, kernel->ctx, problems, values ? n : 0, opts);
    free(problems);
    return status;
}
