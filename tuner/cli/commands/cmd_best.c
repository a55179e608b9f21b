/*
 * `tune best`: prints the best configuration for one problem, from the store. With --gpu it needs no GPU.
 */
#include <math.h>
#include <string.h>

#include "api/problem.h"
#include "base/json.h"
#include "dispatch/ladder.h"
#include "dispatch/snapshot.h"
#include "gpu/device.h"
#include "kernel/load/builtin.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"
#include "tuner/cli/shell/table.h"

/* Was it measured for this very problem, on such a GPU? */
static bool is_of_problem(const tt_choice *c) {
    return c->match == TT_MATCH_EXACT || c->match == TT_MATCH_STALE;
}

static int print_json(const tt_choice *c, const tt_problem *p, const char *gpu, const tt__cli_args *args) {
    const double time_us = tt__cli_known(c->time_us), gbps = tt__cli_known(c->gbps);
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__cli_json_begin(&j);
    tt__json_string(&j, "gpu", gpu);
    tt__cli_json_asked(&j, args);
    if (p->rows) {
        tt__json_int(&j, "rows", p->rows);
        tt__json_int(&j, "cols", p->cols);
        tt__json_int(&j, "elem_size", p->elem_size);
    }
    tt__json_string(&j, "kernel", c->kernel);
    tt__json_config(&j, "config", c->config);
    tt__json_number(&j, "time_us", is_of_problem(c) ? time_us : (double)NAN, 7);
    tt__json_number(&j, "gbps", is_of_problem(c) ? gbps : (double)NAN, 6);
    if (c->unverified)
        tt__json_int(&j, "unverified", 1);
    if (is_of_problem(c))
        tt__cli_json_bits(&j, c->bits, c->batch_invariant);
    TT__JSON_STRINGS(&j, {"match", tt_match_name(c->match)}, {"why", c->why}, {"layer", c->layer});
    if (*c->problem) {
        tt__json_open(&j, "measured", '{');
        tt__json_string(&j, "gpu", c->gpu);
        tt__json_string(&j, "problem", c->problem);
        if (c->rows) {
            tt__json_int(&j, "rows", c->rows);
            tt__json_int(&j, "cols", c->cols);
        }
        tt__json_number(&j, "time_us", time_us, 7);
        tt__json_number(&j, "gbps", gbps, 6);
        tt__json_close(&j, '}');
    } else {
        tt__json_number(&j, "measured", (double)NAN, 1);
    }
    return tt__cli_fail(tt__cli_print_json(&j));
}

static int print_text(const tt_choice *c, const char *problem, const char *gpu, const tt__cli_args *args) {
    static const tt__column columns[] = {{"", false, false}, {"", false, false}};
    tt__table t = {.n_columns = 2, .columns = columns};
    char words[TT__WORDS_MAX], time[64] = "";
    if (c->time_us > 0)
        snprintf(time, sizeof time, c->gbps > 0 ? "%s, %.0f GB/s" : "%s", tt__cli_time(c->time_us).text,
                 c->gbps);
    TT__TABLE_PAIR(&t, "problem", "%s", tt__cli_asked(words, args, problem));
    TT__TABLE_PAIR(&t, "GPU", "%s", gpu);
    TT__TABLE_PAIR(&t, "kernel", "%s%s", c->kernel, c->unverified ? ", whose results nothing verifies" : "");
    TT__TABLE_PAIR(&t, "configuration", "%s", c->config);
    if (*time && is_of_problem(c))
        TT__TABLE_PAIR(&t, "time", "%s%s", time, c->unverified ? ", not verified" : "");
    else if (*c->problem)
        TT__TABLE_PAIR(&t, "measured", "%s on %s: %s%s", tt__cli_words(words, args, c->problem), c->gpu, time,
                       c->unverified ? ", not verified" : "");
    if (*c->bits && strcmp(c->bits, "exact") != 0 && is_of_problem(c))
        TT__TABLE_PAIR(&t, "bits", "%s%s", c->bits, tt__cli_batch(c->batch_invariant));
    TT__TABLE_PAIR(&t, "match", "%s%s%s", tt_match_name(c->match), c->why[0] ? ": " : "",
                   tt__cli_words(words, args, c->why));
    if (c->layer[0])
        TT__TABLE_PAIR(&t, "from", "%s",
                       strcmp(c->layer, "system") == 0    ? "the system's store"
                       : strcmp(c->layer, "shipped") == 0 ? "what comes with tiletune"
                       : args->lock                       ? args->lock
                                                          : "your store");
    tt_status status = tt__table_print(&t, 0);
    tt__table_free(&t);
    return tt__cli_fail(status);
}

/* For a script: the value of one parameter. */
static int print_parameter(const tt_choice *c, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = c->config; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, name, n) == 0 && at[n] == '=') {
            printf("%.*s\n", (int)strcspn(at + n + 1, " "), at + n + 1);
            return TT__EXIT_OK;
        }
    return tt__cli_fail(tt__fail(TT_E_INVALID,
                                 "--get %s: %s has no such parameter: its configuration is \"%s\"", name,
                                 c->kernel, c->config));
}

static tt_status check(const tt__cli_args *args) {
    if (args->get && args->json)
        return tt__fail(TT_E_INVALID, "--get %s and --json: one or the other", args->get);
    return tt__cli_check_one(args, "best", "answers for one");
}

static int run(const tt__cli_args *args) {
    tt__cli_problems problems = {0};
    tt__gpu gpu;
    tt__question q;
    tt_choice choice = TT_INIT(tt_choice);
    char problem[TT__PROBLEM_TEXT_MAX], name[TT__GPU_TEXT_MAX];
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_ctx *ctx = NULL;
    open.db_path = args->lock ? NULL : args->db;
    open.lock_file = args->lock;
    open.gpu = args->gpu;
    open.read_only = 1;
    open.templates = args->templates;
    open.n_templates = args->n_templates;
    tt_status status = tt__cli_choose_gpu(&gpu, args);
    if (status == TT_OK)
        status = tt_open(&ctx, &open);
    if (status == TT_OK)
        status = tt__cli_problems_open(&problems, ctx, args);
    if (status == TT_OK)
        status = tt__question_of(&q, ctx, &problems.items[0]);
    if (status == TT_OK && args->gpu)
        status = tt__knowledge_gpu(ctx, &gpu);
    if (status == TT_OK)
        status = tt__ladder(ctx, q.templates, &gpu, &q.problem, &choice, NULL);
    int code = status != TT_OK ? tt__cli_fail(tt__cli_reword(status, args))
               : args->get     ? print_parameter(&choice, args->get)
               : args->json    ? print_json(&choice, &problems.items[0], gpu.name, args)
                               : print_text(&choice, tt__problem_text(problem, &q.problem),
                                            tt__gpu_text(name, &gpu), args);
    tt__cli_problems_close(&problems);
    tt_close(&ctx);
    return code;
}

static const tt__cli_option options[] = {
    TT__OPTS_MATRIX("answer for"),
    TT__OPTS_PERMUTATION,
    TT__OPTS_OPERATION,
    TT__OPT_TEMPLATE,
    TT__OPT_GPU("a GPU as in \"tune list\", or a part of its name; default the\nfirst device here"),
    TT__TEXT("get", "PARAMETER", get, "print the value of this parameter alone"),
    TT__TEXT("lock", "FILE", lock, "only this file of \"tune lock\" answers"),
    TT__OPT_DB,
    TT__OPT_JSON,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_best = {
    .name = "best",
    .usage = "tune best [--gpu NAME] --size N | --shape RxC |\n"
             "            --permute AXIS[,AXIS...] --dims N[,N...] | --op NAME |\n"
             "            --kernel FILE.cu [--problem NAME=VALUE[,...]] [options]",
    .summary = "the best known configuration for one problem; needs no GPU",
    .notes =
        "\"match\" says how well the answer fits: exact, stale (the template, the driver or the "
        "measuring method\n"
        "has changed), rule (chosen by what other sizes took), nearest (another size), other-gpu (of the "
        "same compute\n"
        "capability), or default (nothing measured applies). \"from\" says which layer knew it: your store, "
        "the system's "
        "($TILETUNE_SYSTEM_DB, or\n"
        "/etc/tiletune/tiletune.db), or the winners that come with tiletune. Name a template of yours, "
        "so that\n"
        "it is known.\n",
    .options = options,
    .check = check,
    .run = run,
};
