/*
 * `tune lock`: writes winners with their cubins to a file of their own, for tt_open_opts.lock_file.
 */
#include <stdlib.h>

#include "api/problem.h"
#include "db/upkeep/prune.h"
#include "kernel/load/builtin.h"
#include "kernel/space/problem_text.h"
#include "tuner/cli/commands/sharing.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

typedef struct lock {
    size_t n; /* problems that are named; 0: all winners */
    tt__problem *problems;
    bool *found;
    size_t n_winners, n_cubins;
} lock;

/* Is it none of those that are named? Then it goes. */
static bool is_other(void *user, const tt__winner *w) {
    lock *l = user;
    bool named = l->n == 0;
    for (size_t i = 0; i < l->n; i++)
        if (tt__problem_same(&l->problems[i], &w->problem)) {
            l->found[i] = true;
            named = true;
        }
    l->n_winners += named;
    return !named;
}

/* All trials and cubins go that no winner needs. */
static bool any_text(void *user, const char *kernel, const char *hash) {
    (void)user, (void)kernel, (void)hash;
    return true;
}

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
    l->found = calloc(problems.n, sizeof *l->found);
    if (!l->problems || !l->found)
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

static tt_status check_found(const lock *l) {
    char text[TT__PROBLEM_TEXT_MAX];
    for (size_t i = 0; i < l->n; i++)
        if (!l->found[i])
            return tt__fail(TT_E_NO_WINNER, "there is no winner for the %s of %s: tune it first",
                            l->problems[i].op, tt__problem_text(text, &l->problems[i]));
    return l->n_winners ? TT_OK
                        : tt__fail(TT_E_NO_WINNER, "there is no winner to lock: tune something first");
}

static tt_status write_lock(lock *l, const tt__cli_args *args) {
    tt__store *store = NULL, *scratch = NULL, *to = NULL;
    tt__merge_opts opts = {.trusted = true};
    tt__merged all = {0}, merged = {0};
    tt__pruned pruned;
    tt__gpu gpu;
    bool is_new = false;
    tt_status status;
    TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_READ_ONLY));
    if (args->gpu)
        TT_GOTO(tt__store_find_gpu(store, args->gpu, &gpu, &opts.gpu_id));
    TT_GOTO(tt__sharing_create(&to, args->output, "remove it first", &is_new));
    TT_GOTO(tt__store_open_scratch(&scratch));
    TT_GOTO(tt__store_begin(scratch));
    TT_GOTO(tt__store_merge(scratch, store, &opts, &all));
    TT_GOTO(tt__store_commit(scratch));
    TT_GOTO(tt__store_prune(
        scratch, &(tt__prune_opts){.user = l, .winner = is_other, .text = any_text, .alone = true}, &pruned));
    TT_GOTO(check_found(l));
    TT_GOTO(tt__store_begin(to)); /* all or nothing */
    TT_GOTO(tt__store_merge(to, scratch, &(tt__merge_opts){.trusted = true}, &merged));
    TT_GOTO(tt__store_commit(to));
    l->n_cubins = (size_t)merged.cubins;
out:
    if (status != TT_OK)
        tt__sharing_discard(&to, is_new);
    tt__store_close(&to);
    tt__store_close(&scratch);
    tt__store_close(&store);
    return status;
}

static int run(const tt__cli_args *args) {
    lock l = {0};
    tt_status status = take_problems(&l, args);
    if (status == TT_OK)
        status = write_lock(&l, args);
    if (status == TT_OK)
        printf("%s: %s, %s\n", args->output, tt__cli_count((int64_t)l.n_winners, "winner").text,
               tt__cli_count((int64_t)l.n_cubins, "cubin").text);
    free(l.problems);
    free(l.found);
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
