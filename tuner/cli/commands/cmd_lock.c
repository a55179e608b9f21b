/*
 * `tune lock`: writes winners with their cubins to a file of their own, for tt_open_opts.lock_file.
 */
#include <stdlib.h>

#include "api/problem.h"
#include "base/json.h"
#include "db/exchange/merge.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/cli/commands/sharing.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

typedef struct lock {
    size_t n; /* problems that are named; 0: all winners */
    tt__problem *problems;
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

/* Appends the named problems' ids as JSON. */
static tt_status find_problems(const lock *l, tt__store *store, int64_t gpu_id, tt__str *out) {
    char text[TT__PROBLEM_TEXT_MAX];
    tt__json json = {.out = out};
    tt__json_open(&json, NULL, '[');
    for (size_t i = 0; i < l->n; i++) {
        int64_t id;
        bool found;
        TT_TRY(tt__store_known_problem(store, &l->problems[i], &id));
        TT_TRY(tt__store_has_winner(store, gpu_id, id, &found));
        if (!found)
            return tt__fail(TT_E_NO_WINNER, "there is no winner for the %s of %s: tune it first",
                            l->problems[i].op, tt__problem_text(text, &l->problems[i]));
        tt__json_int(&json, NULL, id);
    }
    tt__json_close(&json, ']');
    return tt__str_check(out);
}

static tt_status write_lock(lock *l, const tt__cli_args *args) {
    tt__store *store = NULL, *to = NULL;
    tt__merge_opts opts = {.trusted = true, .locked = true};
    tt__str ids = {0};
    tt__gpu gpu;
    bool is_new = false;
    tt_status status;
    TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_READ_ONLY));
    if (args->gpu)
        TT_GOTO(tt__store_find_gpu(store, args->gpu, &gpu, &opts.gpu_id));
    if (l->n) {
        TT_GOTO(find_problems(l, store, opts.gpu_id, &ids));
        opts.problem_ids = tt__str_text(&ids);
    }
    TT_GOTO(tt__sharing_create(&to, args->output, "remove it first", &is_new));
    TT_GOTO(tt__store_begin(to)); /* all or nothing */
    TT_GOTO(tt__store_merge(to, store, &opts, &l->merged));
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
        "every machine with such a GPU. If you name a problem that has no winner, that is an error. Without "
        "a\n"
        "problem, all winners are written.\n",
    .options = options,
    .check = check,
    .run = run,
};
