/*
 * `tune lock`: writes winners with their cubins to a file of their own, for tt_open_opts.lock_file.
 */
#include <stdlib.h>

#include "api/problem.h"
#include "base/grow.h"
#include "base/json.h"
#include "db/exchange/merge.h"
#include "dispatch/store_layers.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/cli/commands/sharing.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

typedef struct lock {
    size_t n; /* problems that are named; 0: all winners */
    tt__problem *problems;
    tt__gpu gpu; /* of --gpu; without a name: all */
    size_t n_shipped;
    const tt__winner **shipped; /* that come with tiletune, of problems that the store lacks */
    tt__merged merged;
} lock;

static tt_status take_problems(lock *l, const tt__cli_args *args) {
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt__cli_problems problems = {0};
    tt_ctx *ctx = NULL;
    tt_status status = TT_OK;
    if (!args->n_problems && !args->op && !args->kernel_file && !args->permute)
        return TT_OK;
    open.db_path = args->db;
    open.read_only = 1;
    TT_GOTO(tt_open(&ctx, &open));
    TT_GOTO(tt__cli_problems_open(&problems, ctx, args));
    l->problems = calloc(problems.n, sizeof *l->problems);
    if (!l->problems)
        TT_GOTO(tt__fail_memory(problems.n * sizeof *l->problems));
    for (l->n = 0; l->n < problems.n; l->n++) {
        tt__question q;
        TT_GOTO(tt__question_of(&q, ctx, &problems.items[l->n]));
        l->problems[l->n] = q.problem;
    }
out:
    tt__cli_problems_close(&problems);
    tt_close(&ctx);
    return status;
}

/* The winners of this problem on the GPU that is named, or on all. */
static tt_status find_shipped(lock *l, const tt__problem *p) {
    char text[TT__PROBLEM_TEXT_MAX];
    const size_t before = l->n_shipped;
    for (size_t i = 0; i < tt__n_shipped; i++) {
        const tt__winner *w = &tt__shipped[i];
        if (!tt__problem_same(&w->problem, p) || (*l->gpu.name && !tt__same_gpu(&w->gpu, &l->gpu)))
            continue;
        TT_TRY(TT__GROW(l->shipped, l->n_shipped));
        l->shipped[l->n_shipped++] = w;
    }
    return l->n_shipped > before
               ? TT_OK
               : tt__fail(TT_E_NO_WINNER, "there is no winner for the %s of %s%s: tune it first", p->op,
                          tt__problem_text(text, p), tt__problem_regime(p));
}

/* Appends the named problems' ids as JSON. What the store lacks may come with tiletune. */
static tt_status find_problems(lock *l, tt__store *store, int64_t gpu_id, tt__str *out) {
    tt__json json = {.out = out};
    tt__json_open(&json, NULL, '[');
    for (size_t i = 0; i < l->n; i++) {
        int64_t id = -1;
        bool found = false;
        if (store && gpu_id >= 0)
            TT_TRY(tt__store_known_problem(store, &l->problems[i], &id));
        if (id >= 0)
            TT_TRY(tt__store_has_winner(store, gpu_id, id, &found));
        if (found)
            tt__json_int(&json, NULL, id);
        else
            TT_TRY(find_shipped(l, &l->problems[i]));
    }
    tt__json_close(&json, ']');
    return tt__str_check(out);
}

/* Its number in the store; -1: only what comes with tiletune knows it. */
static tt_status find_gpu(lock *l, tt__store *store, const char *name, int64_t *gpu_id) {
    TT_TRY(tt__stores_find_gpu(store, NULL, name, &l->gpu, gpu_id));
    return l->n || *gpu_id >= 0
               ? TT_OK
               : tt__fail(TT_E_NO_WINNER,
                          "nothing was tuned on the %s: name the problems whose winners come "
                          "with tiletune (--sizes)",
                          l->gpu.name);
}

static tt_status put_shipped(tt__store *to, const tt__winner *w) {
    int64_t gpu_id, run_id, problem_id, config_id;
    TT_TRY(tt__store_gpu(to, &w->gpu, &gpu_id));
    TT_TRY(tt__store_run_begin(to, gpu_id, &w->env, "imported", &run_id));
    TT_TRY(tt__store_problem(to, &w->problem, &problem_id));
    TT_TRY(tt__store_config(to, w->kernel, w->problem.op, w->hash, w->config, &config_id));
    TT_TRY(tt__store_winner_put(to, run_id, problem_id, config_id, w));
    return tt__store_run_end(to, run_id);
}

static tt_status write_lock(lock *l, const tt__cli_args *args) {
    tt__store *store = NULL, *to = NULL;
    tt__merge_opts opts = {.trusted = true, .locked = true};
    tt__str ids = {0};
    bool is_new = false;
    tt_status status;
    if (!l->n || !tt__cli_storeless(args))
        TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_READ_ONLY));
    if (args->gpu)
        TT_GOTO(find_gpu(l, store, args->gpu, &opts.gpu_id));
    if (l->n) {
        TT_GOTO(find_problems(l, store, opts.gpu_id, &ids));
        opts.problem_ids = tt__str_text(&ids);
    }
    TT_GOTO(tt__sharing_create(&to, args->output, "remove it first", &is_new));
    TT_GOTO(tt__store_begin(to)); /* all or nothing */
    if (store && opts.gpu_id >= 0)
        TT_GOTO(tt__store_merge(to, store, &opts, &l->merged));
    for (size_t i = 0; i < l->n_shipped; i++)
        TT_GOTO(put_shipped(to, l->shipped[i]));
    l->merged.winners += (int64_t)l->n_shipped;
    if (l->merged.winners == 0)
        TT_GOTO(tt__fail(TT_E_NO_WINNER, "there is no winner to lock: tune something first"));
    TT_GOTO(tt__store_commit(to));
out:
    if (status != TT_OK)
        tt__sharing_discard(&to, is_new);
    tt__str_free(&ids);
    tt__store_close(&to);
    tt__store_close(&store);
    return status;
}

static int run(const tt__cli_args *args) {
    lock l = {0};
    tt_status status = take_problems(&l, args);
    if (status == TT_OK)
        status = write_lock(&l, args);
    if (status == TT_OK)
        tt__cli_say(stdout, "%s: %s, %s\n", args->output, tt__cli_count(l.merged.winners, "winner").text,
                    tt__cli_count(l.merged.cubins, "cubin").text);
    free(l.problems);
    free(l.shipped);
    return tt__cli_fail(status);
}

static tt_status check(const tt__cli_args *args) {
    TT_TRY(tt__cli_check_problems(args));
    return args->output ? TT_OK : tt__fail(TT_E_INVALID, "where to? give --output FILE");
}

static const tt__cli_option options[] = {
    TT__TEXT("output", "FILE", output, "the new file"),
    TT__SET("sizes", "N[,N...]", tt__cli_set_sizes, "only of these square matrices"),
    TT__SET("shapes", "RxC[,RxC...]", tt__cli_set_shapes, "only of these matrices"),
    TT__OPTS_LAYOUT,
    TT__OPTS_PERMUTATION,
    TT__OPTS_OPERATION,
    TT__OPT_GPU("only of this GPU; a part of its name is enough"),
    TT__OPT_DB,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_lock = {
    .name = "lock",
    .usage = "tune lock --output FILE [--gpu NAME] [--sizes N[,N...]] [options]",
    .summary = "writes winners to a file that pins them for a program",
    .notes =
        "A program that opens the file (tt_open_opts.lock_file) runs these configurations and no others, on\n"
        "every machine with such a GPU. A problem that you name and that was not tuned gets the winner that\n"
        "comes with tiletune; if there is none, that is an error. Without a problem, all winners of the "
        "store\n"
        "are written.\n",
    .options = options,
    .check = check,
    .run = run,
};
