/*
 * Finds winners, and makes what a program needs to launch them: the same way as a plan, without loading.
 */
#include "tuner/cli/commands/exported.h"

#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "base/grow.h"
#include "dispatch/ladder.h"
#include "dispatch/layers.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "kernel/space/problem_text.h"
#include "tuner/cli/shell/problems.h"

/* ---- Which ----------------------------------------------------------------------------------------------
 */

typedef struct finding {
    tt__exports *out;
    const tt__cli_args *args;
    const tt__template *own; /* the file of --kernel; NULL: none */
    tt__gpu gpu;             /* of --gpu; without a name: all */
    int64_t gpu_id;          /* of it in the store; -1: it is not there */
    tt__problem problem;     /* the one that is asked for now */
} finding;

static tt_status add(tt__exports *out, const tt__problem *p, const tt__gpu *gpu) {
    const tt__template *t = tt__template_set_for(&out->ctx->templates, p);
    if (!t)
        return tt__fail(TT_E_UNSUPPORTED, "there is no template for the operation %s", p->op);
    TT_TRY(tt__template_read(&t));
    TT_TRY(TT__GROW(out->items, out->n));
    out->items[out->n++] =
        (tt__exported){.problem = *p, .gpu = *gpu, .op = t->operation, .asked = out->asked};
    return TT_OK;
}

/* A kernel's file has the launches, so without it the winner is of no use. */
static void leave_out(tt__exports *out, const char *op) {
    char padded[TT__NAME_MAX + 8];
    snprintf(padded, sizeof padded, " %s,", op);
    out->n_left_out++;
    if (!strstr(tt__str_text(&out->left_out), padded))
        tt__str_addf(&out->left_out, " %s,", op);
}

static tt_status take_winner(void *user, const tt__winner *w) {
    const finding *f = user;
    if (f->args->op && strcmp(f->args->op, w->problem.op) != 0)
        return TT_OK;
    if (f->own && !tt__problem_is_of(&w->problem, f->own->op, f->own->hash))
        return TT_OK;
    if (tt__template_set_for(&f->out->ctx->templates, &w->problem))
        return add(f->out, &w->problem, &w->gpu);
    leave_out(f->out, w->problem.op);
    return TT_OK;
}

static tt_status take_gpu(void *user, int64_t gpu_id, const tt__gpu *gpu) {
    const finding *f = user;
    int64_t problem_id;
    bool has = false;
    TT_TRY(tt__store_known_problem(f->out->ctx->store, &f->problem, &problem_id));
    if (problem_id >= 0)
        TT_TRY(tt__store_has_winner(f->out->ctx->store, gpu_id, problem_id, &has));
    return has ? add(f->out, &f->problem, gpu) : TT_OK;
}

/* The problem on the GPU that is named, or on all that have a winner. */
static tt_status take_named(finding *f) {
    char text[TT__PROBLEM_TEXT_MAX];
    const size_t before = f->out->n;
    if (f->gpu.name[0])
        return add(f->out, &f->problem, &f->gpu);
    TT_TRY(tt__store_gpus(f->out->ctx->store, take_gpu, f));
    return f->out->n > before ? TT_OK
                              : tt__fail(TT_E_NO_WINNER,
                                         "there is no winner for the %s of %s: tune it first, or name a GPU "
                                         "with --gpu",
                                         f->problem.op, tt__problem_text(text, &f->problem));
}

static tt_status take_question(finding *f, const tt_problem *asked) {
    tt__question q;
    TT_TRY(tt__question_of(&q, f->out->ctx, asked));
    f->problem = q.problem;
    return take_named(f);
}

/* Problems of a kernel are of the file among the context's templates. */
static tt_status take_of_kernel(finding *f) {
    for (size_t i = 0; i < f->args->n_texts; i++) {
        TT_TRY(tt__operation_problem(&f->problem, f->own->own, f->own->op, f->args->texts[i]));
        f->problem.warm |= f->args->warm;
        TT_TRY(take_named(f));
    }
    return TT_OK;
}

static tt_status take_all(finding *f) {
    if (f->gpu.name[0] && f->gpu_id < 0)
        return TT_OK;
    return tt__store_winners(f->out->ctx->store, f->gpu.name[0] ? f->gpu_id : 0, 0, NULL, take_winner, f);
}

static tt_status take(finding *f, const tt__cli_args *args) {
    tt__cli_problems problems = {0};
    tt_status status = TT_OK;
    if (args->permute)
        tt__cli_asked(f->out->asked, args, "");
    if (f->own && args->n_texts)
        return take_of_kernel(f);
    if (!args->n_problems && !args->n_texts && !args->permute)
        return take_all(f);
    TT_GOTO(tt__cli_problems_open(&problems, f->out->ctx, args));
    for (size_t i = 0; i < problems.n; i++)
        TT_GOTO(take_question(f, &problems.items[i]));
out:
    tt__cli_problems_close(&problems);
    return status;
}

/* ---- Where from -----------------------------------------------------------------------------------------
 */

static tt_status find_in(tt__exported *x, tt__store *store, bool *found) {
    int64_t gpu_id, problem_id;
    tt__origin origin;
    *found = false;
    TT_TRY(tt__store_known_gpu(store, &x->gpu, &gpu_id));
    TT_TRY(tt__store_known_problem(store, &x->problem, &problem_id));
    if (gpu_id < 0 || problem_id < 0)
        return TT_OK;
    TT_TRY(tt__store_winner_get(store, gpu_id, problem_id, &x->winner, found));
    TT_TRY(tt__store_origin(store, gpu_id, problem_id, &origin));
    tt__copy(x->program, sizeof x->program, origin.program);
    return TT_OK;
}

/* The winner in the layer that answered. */
static tt_status find_winner(tt__exported *x, const tt_ctx *ctx) {
    bool found = false;
    for (tt__layer layer = 0; layer < TT__LAYER_COUNT && !found; layer++) {
        tt__store *store = tt__layer_store(ctx, layer);
        if (strcmp(x->code.choice.layer, tt__layer_names[layer]) != 0)
            continue;
        if (layer == TT__LAYER_SHIPPED)
            found = tt__shipped_winner(&x->gpu, &x->problem, &x->winner);
        else
            TT_TRY(find_in(x, store, &found));
    }
    return TT_OK;
}

const char *tt__exported_verified(const tt__exported *x) {
    const tt__operation *op = x->op;
    bool exact = op->tolerance.line == 0;
    for (size_t i = 0; i < op->n_operands; i++)
        exact &= op->operands[i].tolerance.line == 0;
    return x->code.choice.match == TT_MATCH_RULE ? "not verified for this problem"
           : x->problem.unverified               ? "not verified, because its file has no reference"
           : op->asides[TT__VERIFY].n            ? "verified by the kernel of its file that finds errors"
           : !op->asides[TT__REFERENCE].n        ? "verified against expected results"
           : exact                               ? "verified against its reference kernel, bit for bit"
                   : "verified against its reference kernel, within the tolerance of its file";
}

tt_status tt__exported_about(tt__str *out, const tt__exported *x) {
    const tt__winner *w = &x->winner;
    char gpu[TT__GPU_TEXT_MAX], problem[TT__PROBLEM_TEXT_MAX];
    tt__str_addf(out, "%s of %s%s: %s%s%s; ", x->problem.op, tt__problem_text(problem, &x->problem),
                 x->problem.warm ? ", warm" : "", x->code.choice.kernel, x->code.choice.config[0] ? " " : "",
                 x->code.choice.config);
    if (x->code.choice.match == TT_MATCH_RULE) {
        tt__str_addf(out, "for %s by a rule: %s; %s", tt__gpu_text(gpu, &x->gpu), x->code.choice.why,
                     tt__exported_verified(x));
        return tt__str_check(out);
    }
    tt__str_addf(out, "%s on %s, driver %s, NVRTC %s, %s; %s", tt__cli_time(w->time_us).text,
                 tt__gpu_text(gpu, &x->gpu), w->env.driver[0] ? w->env.driver : "unknown",
                 w->env.nvrtc[0] ? w->env.nvrtc : "unknown", tt__cli_when(TT__WHEN_ISO, w->unix_ms).text,
                 tt__exported_verified(x));
    if (strcmp(w->source, "measured") != 0)
        tt__str_addf(out, "; %s", w->source);
    if (x->program[0])
        tt__str_addf(out, "; by tiletune %s", x->program);
    if (x->code.choice.match == TT_MATCH_STALE)
        tt__str_addf(out, "; stale: %s", x->code.choice.why);
    return tt__str_check(out);
}

/* ---- All ------------------------------------------------------------------------------------------------
 */

static tt_status choose(tt__exported *x, tt_ctx *ctx, bool code) {
    char problem[TT__PROBLEM_TEXT_MAX], gpu[TT__GPU_TEXT_MAX];
    /* For a named GPU, the driver of this machine is not compared. */
    tt__copy(ctx->gpu_name, sizeof ctx->gpu_name, tt__gpu_text(gpu, &x->gpu));
    x->code.choice.size = sizeof x->code.choice;
    TT_TRY(code
               ? tt__plan_code_make(&x->code, ctx, &ctx->templates, &x->gpu, &x->problem)
               : tt__ladder(ctx, &ctx->templates, &x->gpu, &x->problem, &x->code.choice, &x->code.candidate));
    if (x->code.choice.match > TT_MATCH_STALE && x->code.choice.match != TT_MATCH_RULE)
        return tt__fail(TT_E_NO_WINNER, "there is no winner for the %s of %s on %s: tune it first",
                        x->problem.op, tt__problem_text(problem, &x->problem), gpu);
    return find_winner(x, ctx);
}

static int by_problem(const void *a, const void *b) {
    const tt__exported *x = a, *y = b;
    const int order = strcmp(x->problem.op, y->problem.op);
    const int problems = order ? order : tt__problem_compare(&x->problem, &y->problem);
    return problems ? problems : strcmp(x->gpu.name, y->gpu.name);
}

/* The files of --template, and that of --kernel behind them. */
static tt_status open_context(tt__exports *out, const tt__cli_args *args) {
    tt_open_opts open = TT_INIT(tt_open_opts);
    const char **files = malloc((args->n_templates + 1) * sizeof *files);
    if (!files)
        return tt__fail_memory(args->n_templates * sizeof *files);
    for (size_t i = 0; i < args->n_templates; i++)
        files[i] = args->templates[i];
    files[args->n_templates] = args->kernel;
    open.db_path = args->lock ? NULL : args->db;
    open.lock_file = args->lock;
    open.read_only = 1;
    open.gpu = args->gpu;
    open.templates = files;
    open.n_templates = args->n_templates + (args->kernel != NULL);
    tt_status status = tt_open(&out->ctx, &open);
    free(files);
    return status;
}

static tt_status find_all(tt__exports *out, const tt__cli_args *args) {
    finding f = {.out = out, .args = args};
    TT_TRY(open_context(out, args));
    const tt__template_set *set = &out->ctx->templates;
    if (args->kernel)
        f.own = set->items[set->n - 1];
    if (f.own && !f.own->own)
        return tt__fail(TT_E_INVALID, "%s is a template for `op %s`: name it with --template", args->kernel,
                        f.own->op);
    if (args->gpu)
        TT_TRY(tt__layers_find_gpu(out->ctx, args->gpu, &f.gpu, &f.gpu_id));
    TT_TRY(take(&f, args));
    if (out->left_out.len)
        out->left_out.text[--out->left_out.len] = '\0'; /* the comma */
    if (out->n)
        return TT_OK;
    return out->n_left_out
               ? tt__fail(TT_E_NO_WINNER,
                          "all winners here are of kernels whose files are not named:%s; name "
                          "them with --template",
                          tt__str_text(&out->left_out))
               : tt__fail(TT_E_NO_WINNER, "nothing was tuned here: tune first, or name a problem, as in "
                                          "--size 4096, for which a winner or a rule ships");
}

tt_status tt__exports_open(tt__exports *out, const tt__cli_args *args, bool code) {
    *out = (tt__exports){0};
    TT_TRY(find_all(out, args));
    qsort(out->items, out->n, sizeof *out->items, by_problem);
    for (size_t i = 0; i < out->n; i++)
        TT_TRY(choose(&out->items[i], out->ctx, code));
    return TT_OK;
}

void tt__exports_close(tt__exports *exports) {
    for (size_t i = 0; i < exports->n; i++)
        tt__plan_code_free(&exports->items[i].code);
    free(exports->items);
    tt__str_free(&exports->left_out);
    tt_close(&exports->ctx);
}
