/* See the header. */
#include "tuner/cli/commands/stored_problems.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "gpu/device.h"
#include "tuner/cli/commands/judge.h"

typedef struct finding {
    const tt__cli_args *args;
    const tt__judge *judge;
    tt__stored_problems *out;
    size_t n_unknown, n_own;
} finding;

static tt_status is_wanted(const finding *f, const tt__winner *w, bool *wanted) {
    char why[160];
    int64_t gpu_id, problem_id, n = 0;
    *wanted = false;
    if (!tt__same_gpu(&w->gpu, &f->out->gpu))
        return TT_OK;
    if (f->args->finals) {
        TT_TRY(tt__store_known_gpu(f->judge->store, &w->gpu, &gpu_id));
        TT_TRY(tt__store_known_problem(f->judge->store, &w->problem, &problem_id));
        TT_TRY(tt__store_finals_runs(f->judge->store, gpu_id, problem_id, &n));
        *wanted = n > 1;
        return TT_OK;
    }
    tt__judge_winner(f->judge, w, why, sizeof why);
    *wanted = *why;
    return TT_OK;
}

static tt_status add(void *user, const tt__winner *w) {
    finding *f = user;
    tt__stored_problems *out = f->out;
    bool wanted;
    TT_TRY(is_wanted(f, w, &wanted));
    if (!wanted)
        return TT_OK;
    if (tt__problem_is_users(&w->problem)) {
        f->n_own++;
        return TT_OK;
    }
    if (!tt__template_set_find(&f->judge->templates, w->kernel)) {
        f->n_unknown++;
        return TT_OK;
    }
    tt__str values = {0};
    TT_TRY(TT__GROW(out->items, out->n));
    tt__problem_add_settings(&values, &w->problem, ",");
    TT_TRY(tt__str_check(&values));
    char *op = strdup(w->problem.op);
    out->items[out->n++] =
        (tt_problem){.size = sizeof *out->items, .op = op, .values = values.text, .warm = w->problem.warm};
    return op ? TT_OK : tt__fail_memory(TT__NAME_MAX);
}

tt_status tt__stored_problems_find(tt__stored_problems *out, const tt__cli_args *args) {
    tt__store *store = NULL;
    tt__judge judge = {0};
    tt_status status;
    *out = (tt__stored_problems){.n = 0};
    finding f = {.args = args, .judge = &judge, .out = out};
    TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_READ_ONLY));
    TT_GOTO(tt__device_gpu(&out->gpu, args->device));
    TT_GOTO(tt__judge_open(&judge, store, args));
    TT_GOTO(tt__store_winners(store, 0, out->gpu.cc, NULL, add, &f));
    if (f.n_unknown && !args->quiet)
        fprintf(stderr, "tune: %zu more %s of templates that are not here: name them with --template\n",
                f.n_unknown, f.n_unknown == 1 ? "is" : "are");
    if (f.n_own && !args->quiet)
        fprintf(stderr, "tune: %zu more %s of kernels of yours: tune each with --kernel and --problem\n",
                f.n_own, f.n_own == 1 ? "is" : "are");
out:
    tt__judge_close(&judge);
    tt__store_close(&store);
    return status;
}

void tt__stored_problems_free(tt__stored_problems *p) {
    for (size_t i = 0; i < p->n; i++) {
        free((char *)p->items[i].op);
        free((char *)p->items[i].values);
    }
    free(p->items);
    p->items = NULL;
}
