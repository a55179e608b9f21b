/*
 * Which problem a tt_problem asks for: a matrix, a built-in operation, or a user's kernel; and
 * tt_best, which answers it.
 */
#include "api/problem.h"

#include "api/matrix.h"
#include "api/permutation.h"
#include "api/sized.h"
#include "dispatch/ladder.h"
#include "kernel/load/builtin.h"
#include "kernel/space/problem_text.h"

static tt_status of_kernel(tt__question *out, const tt_problem *p) {
    const tt__template *t = p->kernel->t;
    TT_TRY(tt__matrix_none(p, t->kernel));
    out->templates = &p->kernel->set;
    return tt__operation_problem(&out->problem, t->own, t->op, p->values);
}

static tt_status of_operation(tt__question *out, tt_ctx *ctx, const tt_problem *p) {
    const tt__operation *op;
    TT_TRY(tt__matrix_none(p, p->op));
    TT_TRY(tt__operation_builtin(&op, p->op));
    out->templates = &ctx->templates;
    return tt__operation_problem(&out->problem, op, p->op, p->values);
}

static tt_status of_permutation(tt__question *out, tt_ctx *ctx, const tt_problem *p) {
    tt_permutation full;
    TT_TRY(tt__matrix_none(p, "a permutation"));
    if (p->op || p->kernel || p->values)
        return tt__fail(TT_E_INVALID, "a permutation has neither op nor kernel nor values: leave %s out",
                        p->op       ? p->op
                        : p->kernel ? "the kernel"
                                    : p->values);
    TT_TRY(TT__SIZED_IN(&full, p->permutation, 0, tt_permutation));
    out->templates = &ctx->templates;
    return tt__permutation_problem(&out->problem, &full, full.align ? full.align : 16);
}

tt_status tt__question_of(tt__question *out, tt_ctx *ctx, const tt_problem *in) {
    tt_problem p;
    tt_status status = TT_OK;
    *out = (tt__question){.templates = NULL};
    if (!ctx)
        return tt__fail(TT_E_INVALID, "the context is NULL: tt_open makes one");
    if (tt__store_forked(ctx->store)) /* also before its locks, which a thread of the parent may have held */
        return tt__fail(TT_E_INVALID, "the context was opened before this process was forked, and serves the "
                                      "parent only: start the process anew (in Python: multiprocessing with "
                                      "\"spawn\")");
    TT_TRY(TT__SIZED_IN(&p, in, 0, tt_problem));
    if (p.kernel && (p.op || p.kernel->ctx != ctx))
        return tt__fail(TT_E_INVALID, "kernel %s: %s", p.kernel->t->kernel,
                        p.op ? "leave `op` out, the kernel says it" : "it was opened with another context");
    if (p.permutation) {
        status = of_permutation(out, ctx, &p);
    } else if (p.kernel) {
        status = of_kernel(out, &p);
    } else if (p.op) {
        status = of_operation(out, ctx, &p);
    } else if (p.values) {
        status =
            tt__fail(TT_E_INVALID, "values is \"%.80s\", but no `op` or `kernel` says of what", p.values);
    } else {
        out->templates = &ctx->templates;
        status = tt__matrix_problem(&out->problem, &p);
    }
    out->problem.warm |= p.warm != 0;
    out->scratch = p.scratch;
    return status;
}

tt_status tt_best(tt_choice *out, tt_ctx *ctx, const tt_problem *problem) {
    tt__question q;
    tt_choice choice = TT_INIT(tt_choice);
    TT_TRY(tt__sized_check(out, "tt_choice"));
    tt__sized_out(out, &choice, sizeof choice);
    TT_TRY(tt__question_of(&q, ctx, problem));
    TT_TRY(tt__best(&choice, ctx, q.templates, &q.problem));
    tt__sized_out(out, &choice, sizeof choice);
    return TT_OK;
}
