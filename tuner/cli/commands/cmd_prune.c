/*
 * `tune prune` and `tune vacuum`: make a store smaller.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "db/upkeep.h"
#include "kernel/load/builtin.h"
#include "tuner/cli/commands/sharing.h"
#include "tuner/cli/commands/stale.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

/* ---- tune prune -------------------------------------------------------------------------------------------
 */

static bool is_elsewhere(void *user, const tt__gpu *gpu) {
    return !tt__stale_here(user, gpu);
}

/* An unknown kernel with trials may be one of the user's that this command was not told about. */
static bool is_old_text(void *user, const char *kernel, const char *hash) {
    const tt__stale *j = user;
    for (size_t i = 0; i < j->templates.n; i++)
        if (strcmp(j->templates.items[i]->hash, hash) == 0)
            return false;
    return !*kernel || tt__template_set_find(&j->templates, kernel);
}

static bool is_stale(void *user, const tt__winner *w) {
    const tt__stale *j = user;
    char why[160];
    tt__stale_why(j, w, why, sizeof why);
    return *why && tt__template_set_find(&j->templates, w->kernel);
}

/* A GPU that is only hidden is not another machine's. */
static tt_status check_all_seen(const tt__stale *j) {
    const char *visible = secure_getenv("CUDA_VISIBLE_DEVICES");
    if (j->n_here == 0)
        return tt__fail(TT_E_NO_DEVICE,
                        "--other-gpus: there is no GPU here, so that all would go: \"tune doctor\" says why");
    if (visible)
        return tt__fail(TT_E_INVALID,
                        "--other-gpus: CUDA_VISIBLE_DEVICES=%.80s may hide GPUs of this machine, and their "
                        "results would go, too: unset it",
                        visible);
    for (size_t i = 0; i < j->n_here; i++)
        if (*j->here[i].mig)
            return tt__fail(
                TT_E_INVALID,
                "--other-gpus: a process sees MIG %s alone, and the results of this machine's other "
                "instances would go, too: use --older-than",
                j->here[i].mig);
    if (j->n_read < j->n_devices)
        return tt__fail(TT_E_NO_DEVICE,
                        "--other-gpus: %d of %d GPUs cannot be read, and their results would go, too: \"tune "
                        "doctor\" says more",
                        j->n_devices - j->n_read, j->n_devices);
    return TT_OK;
}

static void print(const tt__pruned *p, const tt__cli_args *args) {
    printf("%s %s, %s, %s and %s.%s\n", args->dry_run ? "Would take out" : "Took out",
           tt__cli_count(p->winners, "winner").text, tt__cli_count(p->trials, "trial").text,
           tt__cli_count(p->runs, "run").text, tt__cli_count(p->cubins, "cubin").text,
           args->dry_run ? "" : " \"tune vacuum\" gives the space back.");
}

static bool names_part(const tt__cli_args *args) {
    return args->kernel || args->op || args->n_problems || args->n_texts;
}

typedef struct names {
    const char *wanted;
    bool found;
    tt__str all;
} names;

static void consider_name(void *user, const char *name) {
    names *n = user;
    n->found |= strcmp(name, n->wanted) == 0;
    tt__str_addf(&n->all, "%s%s", n->all.len ? ", " : "", name);
}

/* A name that nothing has is a typing error. */
static tt_status check_name(tt__store *store, bool is_kernel, const char *name) {
    names n = {.wanted = name};
    tt_status status = tt__store_prune_names(store, is_kernel, consider_name, &n);
    if (status == TT_OK)
        status = tt__str_check(&n.all);
    if (status == TT_OK && !n.found)
        status =
            tt__fail(TT_E_INVALID, "--%s %s: %s has nothing of it (it has %s)", is_kernel ? "kernel" : "op",
                     name, tt__store_path(store), n.all.len ? n.all.text : "no results");
    tt__str_free(&n.all);
    return status;
}

static tt_status check_names(tt__store *store, const tt__cli_args *args, const tt__template_set *known) {
    const tt__operation *op;
    if (args->op && tt__operation_builtin(&op, args->op) != TT_OK)
        TT_TRY(check_name(store, false, args->op));
    if (args->kernel && !tt__cli_is_file(args->kernel) && !tt__template_set_find(known, args->kernel))
        TT_TRY(check_name(store, true, args->kernel));
    return TT_OK;
}

/* The results of what the command line names. */
static tt_status find_part(tt__prune_part *out, tt__template_set *set, tt__store *store,
                           const tt__template_set *known, const tt__cli_args *args) {
    tt__recording_part part;
    tt__problem problem;
    char text[TT__PROBLEM_TEXT_MAX];
    TT_TRY(tt__sharing_part(&part, set, &problem, args));
    *out = (tt__prune_part){.op = part.op, .kernel = part.kernel};
    if (!part.problem)
        return check_names(store, args, known);
    TT_TRY(tt__store_known_problem(store, part.problem, &out->problem_id));
    return out->problem_id > 0
               ? TT_OK
               : tt__fail(TT_E_INVALID, "%s has nothing of the %s of %s%s; \"tune list\" shows the winners",
                          tt__store_path(store), problem.op, tt__problem_text(text, &problem),
                          tt__problem_regime(&problem));
}

static int run(const tt__cli_args *args) {
    const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    tt__store *store = NULL;
    tt__stale judge = {0};
    tt__template_set set = {0};
    tt__prune_part part = {0};
    tt__pruned pruned;
    tt_status status;
    TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_UPDATE));
    TT_GOTO(tt__stale_open(&judge, store, args));
    if (args->other_gpus)
        TT_GOTO(check_all_seen(&judge));
    if (names_part(args))
        TT_GOTO(find_part(&part, &set, store, &judge.templates, args));
    tt__prune_opts opts = {
        .user = &judge,
        .gpu = args->other_gpus ? is_elsewhere : NULL,
        .winner = args->stale ? is_stale : NULL,
        .text = args->stale ? is_old_text : NULL,
        .library = args->stale ? TT__METHOD : NULL,
        .part = args->all || names_part(args) ? &part : NULL,
        .before_ms = args->older_than_days ? tt__unix_ms() - args->older_than_days * day_ms : 0,
        .dry_run = args->dry_run,
    };
    TT_GOTO(tt__store_prune(store, &opts, &pruned));
    print(&pruned, args);
out:
    tt__template_set_close(&set);
    tt__stale_close(&judge);
    tt__store_close(&store);
    return tt__cli_fail(status);
}

static tt_status check(const tt__cli_args *args) {
    if (args->all && (names_part(args) || args->stale || args->other_gpus || args->older_than_days))
        return tt__fail(TT_E_INVALID, "--all removes everything: leave the other options out");
    if ((tt__cli_has_layout(args) || args->warm || args->in_graph) && !args->n_problems && !args->n_texts)
        return tt__fail(TT_E_INVALID, "a layout of which matrix? give --size or --shape, too");
    return args->stale || args->other_gpus || args->older_than_days || args->all || names_part(args)
               ? TT_OK
               : tt__fail(
                     TT_E_INVALID,
                     "what should be removed? give --stale, --other-gpus, --older-than DAYS, --kernel, --op, "
                     "--problem, --size, --shape or --all (--dry-run only counts)");
}

static const tt__cli_option options[] = {
    TT__FLAG("stale", stale,
             "winners that \"tune list\" calls stale, and trials of other\nversions of a template"),
    TT__FLAG("other-gpus", other_gpus, "everything of GPUs that are not in this machine"),
    TT__SET("older-than", "DAYS", tt__cli_set_older_than, "winners and trials that are older"),
    TT__TEXT("kernel", "NAME|FILE.cu", kernel, "what this template, or this kernel of yours, has"),
    TT__TEXT("op", "NAME", op, "what this operation has"),
    TT__OPT_PROBLEM,
    TT__SET("size", "N", tt__cli_set_sizes, "what this square matrix has"),
    TT__SET("shape", "RxC", tt__cli_set_shapes, "what this matrix of R rows and C columns has"),
    TT__OPTS_LAYOUT,
    TT__FLAG("all", all, "everything; the store itself stays"),
    TT__FLAG("dry-run", dry_run, "only count"),
    TT__OPT_TEMPLATE,
    TT__OPT_DB,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_prune = {
    .name = "prune",
    .usage = "tune prune --stale | --other-gpus | --older-than DAYS | --all |\n"
             "            --kernel NAME|FILE.cu | --op NAME | --problem NAME=VALUE[,...] |\n"
             "            --size N | --shape RxC [options]",
    .summary = "removes winners and trials from the store",
    .notes =
        "Of --kernel, --op and a problem, what is common to those that are given goes, with all trials. With "
        "the\n"
        "others, trials of a winner that stays are kept. A pruned winner no longer serves: \"tune --stale\" "
        "replaces\n"
        "stale ones instead. Results of a template of your own count as stale only if --template names it.\n"
        "With --stale, compiled kernels that were never tuned go, too.\n",
    .options = options,
    .check = check,
    .run = run,
};

/* ---- tune vacuum ------------------------------------------------------------------------------------------
 */

static int run_vacuum(const tt__cli_args *args) {
    tt__store *store = NULL;
    int64_t before = 0, after = 0;
    tt_status status = tt__cli_store_open(&store, args, TT__STORE_UPDATE);
    if (status == TT_OK)
        status = tt__store_vacuum(store, &before, &after);
    if (status == TT_OK)
        tt__cli_say(stdout, "%s: %.2f MB, before %.2f MB\n", tt__store_path(store), (double)after * 1e-6,
                    (double)before * 1e-6);
    tt__store_close(&store);
    return tt__cli_fail(status);
}

static const tt__cli_option vacuum_options[] = {
    TT__OPT_DB,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_vacuum = {
    .name = "vacuum",
    .usage = "tune vacuum [--db PATH]",
    .summary = "gives the space of pruned rows back",
    .notes = "Meanwhile it needs as much free space as the store has, and other processes wait.\n",
    .options = vacuum_options,
    .run = run_vacuum,
};
