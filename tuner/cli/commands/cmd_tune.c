/*
 * `tune` itself and `tune finals`: run tt_tune, on all problems or a part of them, and print the winners.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/problem.h"
#include "api/tune.h"
#include "base/grow.h"
#include "base/json.h"
#include "gpu/device.h"
#include "tuner/cli/commands/collected.h"
#include "tuner/cli/commands/stale.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"
#include "tuner/cli/shell/running.h"
#include "tuner/cli/shell/table.h"
#include "tuner/run/rules.h"

/* ---- --shard: the part of the problems that one job of a cluster tunes ------------------------------------
 */

enum { SHARDS_MAX = 100000 };

/* The number at the start of `text`, which the character `end` follows; -1 if it is none. */
static int64_t shard_number(const char *text, char end) {
    size_t n = strspn(text, "0123456789");
    return n > 0 && n < 10 && text[n] == end ? atoll(text) : -1;
}

/* A number in the environment; `missing` without the variable, or if it has no name. */
static tt_status from_env(const char *name, int64_t missing, int64_t *out) {
    const char *text = name ? secure_getenv(name) : NULL;
    *out = text ? shard_number(text, '\0') : missing;
    return text && *out < 0 ? tt__fail(TT_E_INVALID, "%s is \"%.64s\", which is not a number", name, text)
                            : TT_OK;
}

static tt_status choose_shard(tt__cli_args *args, int64_t k, int64_t n, const char *text) {
    if (n < 1 || n > SHARDS_MAX || k < 1 || k > n)
        return tt__fail(TT_E_INVALID, "\"%s\" is not a shard: write K/N with K from 1 to N, as in 3/16",
                        text);
    args->shard = k;
    args->n_shards = n;
    return TT_OK;
}

/* Schedulers count tasks from any first number, in steps. */
static tt_status choose_shard_auto(tt__cli_args *args) {
    static const struct {
        const char *sign, *id, *count, *first, *step; /* sign: the variable that is set where it runs */
    } schedulers[] = {
        {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
         "SLURM_ARRAY_TASK_STEP"},
        {"JOB_COMPLETION_INDEX", "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", NULL, NULL},
        {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", NULL, NULL}, /* srun */
    };
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        const char *id_name = schedulers[i].id, *count_name = schedulers[i].count;
        int64_t id, count, first = 0, step = 1;
        if (!secure_getenv(schedulers[i].sign))
            continue;
        TT_TRY(from_env(id_name, -1, &id));
        TT_TRY(from_env(count_name, -1, &count));
        if (count < 0)
            return tt__fail(TT_E_INVALID, "%s is set, but %s is not: set it to the number of shards", id_name,
                            count_name);
        TT_TRY(from_env(schedulers[i].first, 0, &first));
        TT_TRY(from_env(schedulers[i].step, 1, &step));
        int64_t at = step > 0 ? (id - first) / step : -1;
        if (at < 0 || at >= count || id - first != at * step)
            return tt__fail(TT_E_INVALID,
                            "%s is %lld, and %s is %lld: use an array without gaps, as in 0-15, or write K/N",
                            id_name, (long long)id, count_name, (long long)count);
        return choose_shard(args, at + 1, count, id_name);
    }
    return tt__fail(TT_E_INVALID,
                    "auto, but none of SLURM_ARRAY_TASK_ID (an array), SLURM_STEP_NUM_TASKS (srun) and "
                    "JOB_COMPLETION_INDEX is set: write K/N");
}

static tt_status set_shard(tt__cli_args *args, const char *value) {
    if (strcmp(value, "auto") == 0)
        return choose_shard_auto(args);
    const char *slash = strchr(value, '/');
    return choose_shard(args, shard_number(value, '/'), slash ? shard_number(slash + 1, '\0') : -1, value);
}

static tt_status set_shard_by(tt__cli_args *args, const char *value) {
    args->by_configuration = strcmp(value, "configuration") == 0;
    return args->by_configuration || strcmp(value, "problem") == 0
               ? TT_OK
               : tt__fail(TT_E_INVALID, "\"%s\" cannot be divided: write problem or configuration", value);
}

/* Moves the shard's problems to the front, or says which part of their spaces it has. Returns the number of
 * problems, which may be 0. Without --shard it is `n`. */
static size_t take_shard(const tt__cli_args *args, tt_problem *problems, size_t n, tt__tune_call *call) {
    if (!args->n_shards)
        return n;
    if (args->by_configuration) {
        call->part = (tt__space_part){args->shard - 1, args->n_shards};
        return n;
    }
    size_t taken = 0;
    for (size_t i = (size_t)args->shard - 1; i < n; i += (size_t)args->n_shards)
        problems[taken++] = problems[i];
    return taken;
}

/* ---- Problems that a store names itself -------------------------------------------------------------------
 */

typedef struct stored_problems {
    tt__gpu gpu; /* of the device */
    size_t n;
    tt_problem *items; /* owned, with their texts */
} stored_problems;

typedef struct finding {
    const tt__cli_args *args;
    const tt__stale *judge;
    stored_problems *out;
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
    tt__stale_why(f->judge, w, why, sizeof why);
    *wanted = *why;
    return TT_OK;
}

static tt_status add_stored(void *user, const tt__winner *w) {
    finding *f = user;
    stored_problems *out = f->out;
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
    out->items[out->n++] = (tt_problem){.size = sizeof *out->items,
                                        .op = op,
                                        .values = values.text,
                                        .warm = w->problem.warm,
                                        .in_graph = w->problem.in_graph};
    return op ? TT_OK : tt__fail_memory(TT__NAME_MAX);
}

/* With args->finals the problems that several runs measured on such a GPU, else those with a stale winner.
 * Says on standard error how many it cannot name. Free *out, also after a failure. */
static tt_status find_stored(stored_problems *out, const tt__cli_args *args) {
    tt__store *store = NULL;
    tt__stale judge = {0};
    tt_status status;
    *out = (stored_problems){.n = 0};
    finding f = {.args = args, .judge = &judge, .out = out};
    TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_READ_ONLY));
    TT_GOTO(tt__device_gpu(&out->gpu, args->device));
    TT_GOTO(tt__stale_open(&judge, store, args));
    TT_GOTO(tt__store_winners(store, 0, out->gpu.cc, NULL, add_stored, &f));
    if (f.n_unknown && !args->quiet)
        fprintf(stderr, "tune: %zu more %s of templates that are not here: name them with --template\n",
                f.n_unknown, f.n_unknown == 1 ? "is" : "are");
    if (f.n_own && !args->quiet)
        fprintf(stderr, "tune: %zu more %s of kernels of yours: tune each with --kernel and --problem\n",
                f.n_own, f.n_own == 1 ? "is" : "are");
out:
    tt__stale_close(&judge);
    tt__store_close(&store);
    return status;
}

static void free_stored(stored_problems *p) {
    for (size_t i = 0; i < p->n; i++) {
        free((char *)p->items[i].op);
        free((char *)p->items[i].values);
    }
    free(p->items);
    p->items = NULL;
}

/* ---- Results ---- */

/* As the command line names it. */
static const char *op_of(const tt_result *r, const tt__cli_args *args) {
    return args->permute ? "permute" : r->op;
}

static void add_result_json(tt__json *j, const tt_result *r, const tt__cli_args *args) {
    bool won = r->kernel[0];
    tt__json_open(j, NULL, '{');
    tt__json_string(j, "problem", r->problem);
    tt__cli_json_asked(j, args);
    if (!args->kernel_file)
        tt__json_string(j, "op", op_of(r, args));
    if (r->rows && !args->kernel_file) {
        tt__json_int(j, "rows", r->rows);
        tt__json_int(j, "cols", r->cols);
        tt__json_int(j, "batch", r->batch);
    }
    if (r->warm)
        tt__json_int(j, "warm", 1);
    if (r->in_graph)
        tt__json_int(j, "in_graph", 1);
    tt__json_int(j, "elem_size", r->elem_size);
    if (won)
        tt__json_string(j, "kernel", r->kernel);
    else
        tt__json_number(j, "kernel", tt__cli_known(0), 1);
    tt__json_config(j, "config", r->config);
    TT__JSON_KNOWN(j, {"time_us", r->time_us, 7}, {"gbps", r->gbps, 6}, {"copy_us", r->copy_us, 7},
                   {"copy_fraction", r->copy_fraction, 5}, {"peak_fraction", r->peak_fraction, 5});
    if (*r->metrics)
        tt__json_string(j, "metrics", r->metrics);
    if (r->unverified)
        tt__json_int(j, "unverified", 1);
    tt__cli_json_bits(j, r->bits, r->batch_invariant);
    if (r->same_bits_cost > 0)
        TT__JSON_KNOWN(j, {"same_bits_cost", r->same_bits_cost, 5});
    if (r->differing > 0)
        TT__JSON_KNOWN(j, {"differing", r->differing, 5}, {"ulps", r->ulps, 6});
    tt__json_number(j, "speedup_vs_default", tt__cli_known(r->speedup_vs_default), 5);
    tt__json_int(j, "trials", (int64_t)r->trials);
    tt__json_int(j, "failed", (int64_t)r->failed);
    tt__json_int(j, "space", (int64_t)r->space);
    tt__json_string(j, "source", tt_source_name(r->source));
    tt__json_string(j, "note", r->note);
    tt__json_close(j, '}');
}

static int print_json(const tt_report *report, const tt__cli_args *args) {
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__cli_json_begin(&j);
    TT__JSON_STRINGS(&j, {"gpu", report->gpu}, {"driver", report->driver}, {"nvrtc", report->nvrtc});
    tt__json_open(&j, "results", '[');
    for (size_t i = 0; i < report->n_results; i++)
        add_result_json(&j, &report->results[i], args);
    tt__json_close(&j, ']');
    tt__json_number(&j, "wall_s", report->wall_s, 6);
    return tt__cli_fail(tt__cli_print_json(&j));
}

/* The column of GB/s shows metrics if the operation has others. */
enum { RATE = 4 };
static const tt__column columns[] = {
    {"problem", false, TT__WRAP}, {"kernel", false, TT__BELOW},   {"configuration", false, TT__BELOW},
    {"time", true, TT__KEEP},     {"GB/s", true, TT__KEEP},       {"of copy", true, TT__KEEP},
    {"of peak", true, TT__KEEP},  {"vs default", true, TT__KEEP}, {"source", false, TT__KEEP},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool has_metrics(const tt_report *report) {
    for (size_t i = 0; i < report->n_results; i++) {
        const char *metrics = report->results[i].metrics;
        if (strchr(metrics, ',') || (*metrics && strncmp(metrics, "gbps ", 5) != 0))
            return true;
    }
    return false;
}

/* op: of this row; NULL if all rows are of one. */
static void add_result_row(tt__table *t, const tt_result *r, const char *op, bool metrics,
                           const tt__cli_args *args) {
    char words[TT__WORDS_MAX];
    tt__table_cell(t, "%s%s%s%s%s%s", op ? op : "", op ? " of " : "", tt__cli_asked(words, args, r->problem),
                   r->in_place ? ", in place" : "", r->warm ? ", warm" : "",
                   r->in_graph ? ", in a graph" : "");
    tt__table_cell(t, "%s", r->kernel[0] ? r->kernel : "no winner");
    tt__table_cell(t, "%s", !r->kernel[0] ? "-" : *r->config ? r->config : "the only one");
    tt__table_cell(t, "%s", tt__cli_time(r->time_us).text);
    if (metrics)
        tt__table_cell(t, "%s", *r->metrics ? r->metrics : "-");
    else
        tt__table_cell(t, r->gbps > 0 ? "%.0f" : "-", r->gbps);
    TT__TABLE_TEXTS(t, tt__cli_percent(r->copy_fraction).text, tt__cli_percent(r->peak_fraction).text);
    tt__table_cell(t, r->speedup_vs_default > 0 ? "%.2fx" : "-", r->speedup_vs_default);
    tt__table_cell(t, "%s%s", tt_source_name(r->source), r->unverified ? ", not verified" : "");
}

/* Are the trials, for `tune report`? It leaves replays out. */
static bool is_kept(const tt__cli_args *args) {
    return !args->replay && !(args->db && strcmp(args->db, ":memory:") == 0);
}

static void print_footer(const tt_report *report, const tt__cli_args *args) {
    size_t trials = 0, failed = 0, space = 0;
    bool won = false;
    tt__str path = {0};
    for (size_t i = 0; i < report->n_results; i++) {
        won = won || report->results[i].kernel[0];
        trials += report->results[i].trials;
        failed += report->results[i].failed;
        space += report->results[i].space;
    }
    printf("\n%zu of %zu configurations tried, %zu failed, in %s.\n", trials, space, failed,
           tt__cli_duration(report->wall_s).text);
    if (args->replay && !args->db)
        tt__cli_say(stdout, "Replayed from %s; nothing was stored.\nOn a GPU: the same with --device 0.\n",
                    args->replay);
    else if (args->replay)
        tt__cli_say(stdout, "Replayed from %s into %s.\n", args->replay, args->db);
    else if (!is_kept(args))
        printf("Nothing was stored.\n");
    else if (won && tt__cli_store_path(&path, args) == TT_OK)
        tt__cli_say(stdout, "Winners are in %s.\n", tt__str_text(&path));
    tt__str_free(&path);
}

/* "tune report --db x.db --output report.html", without quotes. Of a replay, the recording. */
static void print_report_command(const tt__cli_args *args) {
    tt__str file = {0};
    const char *what = args->replay ? " " : args->db ? " --db " : "";
    tt__str_add_word(&file, args->replay ? args->replay : args->db ? args->db : "");
    tt__cli_say(stdout, "tune report%s%s --output report.html", what, *what ? tt__str_text(&file) : "");
    tt__str_free(&file);
}

/* The note of a problem without a winner says why, on standard error. */
static void print_next(const tt_report *report, const tt__cli_args *args) {
    bool colour = tt__table_colour(tt__cli_columns(STDOUT_FILENO)), won = true, noted = true, failed = false,
         beside = false;
    bool op_named = args->op || args->collected || (args->n_problems && args->problems[0].op);
    for (size_t i = 0; i < report->n_results; i++) {
        const tt_result *r = &report->results[i];
        won = won && r->kernel[0];
        noted = noted && (r->kernel[0] || r->note[0]);
        failed = failed || (!r->kernel[0] && r->failed);
        beside = beside || (r->kernel[0] && r->failed);
    }
    if (won && beside && is_kept(args)) {
        printf("What failed, and why: ");
        print_report_command(args);
        printf("\n");
    }
    if (!won && noted && (!failed || !is_kept(args)))
        return;
    printf("%sNext:%s ", colour ? "\033[1m" : "", colour ? "\033[0m" : "");
    if (!won && noted) {
        printf("\"");
        print_report_command(args);
        printf("\" says why they failed\n");
        return;
    }
    const char *next = !noted ? "\"tune doctor\" says what is missing; --verbose shows what compilers print"
                       : args->kernel_file ? "tt_kernel_open launches it in a program (docs/guide.md)"
                       : args->permute     ? "tt_permute launches it in a program (docs/guide.md)"
                       : op_named          ? "tt_plan_create launches it in a program (docs/guide.md)"
                                           : "tt_transpose launches it in a program (docs/guide.md)";
    if (args->replay && noted && !strchr(args->replay, '*') && *report->driver) /* else of another tuner */
        print_report_command(args);
    else
        printf("%s", next);
    printf("\n");
}

/* What a budget leaves for the next time is no failure of a run that programs have asked for. */
static bool is_unreached(const tt_result *r, const tt__cli_args *args) {
    return args->collected && args->budget_s > 0 && !r->kernel[0] && r->trials == 0;
}

static int print_table(const tt_report *report, const tt__cli_args *args) {
    const bool metrics = has_metrics(report);
    const char *op = op_of(&report->results[0], args);
    bool several = false;
    for (size_t i = 1; i < report->n_results; i++)
        several = several || strcmp(op, op_of(&report->results[i], args)) != 0;
    tt__column own[COLUMNS];
    tt__table t = {.n_columns = COLUMNS, .columns = own};
    memcpy(own, columns, sizeof own);
    if (metrics)
        own[RATE] = (tt__column){"metrics", false, TT__BELOW};
    printf("%s", report->gpu);
    if (report->driver[0])
        printf(", driver %s", report->driver);
    if (report->nvrtc[0])
        printf(", NVRTC %s", report->nvrtc);
    tt__cli_say(stdout, "%s: %s\n\n", args->replay ? ", replayed" : "",
                args->kernel_file ? args->kernel_file
                : several         ? "several operations"
                                  : op);
    for (size_t i = 0; i < report->n_results; i++)
        if (!is_unreached(&report->results[i], args))
            add_result_row(&t, &report->results[i], several ? op_of(&report->results[i], args) : NULL,
                           metrics, args);
    tt_status status = tt__table_show(&t);
    if (status == TT_OK) {
        print_footer(report, args);
        print_next(report, args);
    }
    return tt__cli_fail(status);
}

/* Prints results as a table or JSON, and reports problems without a winner on standard error. */
static int print_report(const tt_report *report, const tt__cli_args *args) {
    int code = TT__EXIT_OK;
    char words[TT__WORDS_MAX];
    size_t n_unreached = 0;
    if (args->json)
        code = print_json(report, args);
    else if (report->n_results)
        code = print_table(report, args);
    tt__cli_flush_early(); /* before any output on standard error */
    for (size_t i = 0; i < report->n_results; i++) {
        const tt_result *r = &report->results[i];
        if (is_unreached(r, args)) {
            n_unreached++;
            continue;
        }
        if (!r->kernel[0] && r->note[0])
            tt__cli_say(stderr, "tune: %s: %s\n", tt__cli_asked(words, args, r->problem), r->note);
        if (!r->kernel[0] && code == TT__EXIT_OK)
            code = TT__EXIT_NO_WINNER;
    }
    if (n_unreached && !args->quiet)
        fprintf(stderr, "tune: %s %s not reached within the budget: the same command goes on there\n",
                tt__cli_count((int64_t)n_unreached, "problem").text, n_unreached == 1 ? "was" : "were");
    return code;
}

typedef struct call {
    const tt__cli_args *args;
    const tt__asked_list *asked; /* or NULL */
    tt_report *report;
} call;

static tt_status add_asked(tt_problem *out, tt_kernel **kernels, tt_ctx *ctx, const tt__asked *a,
                           const tt__asked_list *l) {
    tt_kernel *kernel = NULL;
    for (size_t k = 0; k < l->own.n; k++)
        if (l->own.items[k] == a->t) {
            if (!kernels[k])
                TT_TRY(tt_kernel_open(&kernels[k], ctx, a->t->path, a->t->source));
            kernel = kernels[k];
        }
    *out = (tt_problem){
        .size = sizeof *out, .op = kernel ? NULL : a->problem.op, .kernel = kernel, .values = a->is->values};
    return TT_OK;
}

static tt_status tune_asked(call *c, tt_ctx *ctx, const tt_tune_opts *opts) {
    const tt__asked_list *l = c->asked;
    tt_problem *problems = calloc(l->n + 1, sizeof *problems);
    double *worth = calloc(l->n + 1, sizeof *worth);
    const tt_choice **answers = calloc(l->n + 1, sizeof *answers);
    tt_kernel **kernels = calloc(l->own.n + 1, sizeof *kernels);
    tt_status status =
        problems && worth && answers && kernels ? TT_OK : tt__fail_memory(l->n * sizeof *problems);
    if (status == TT_OK)
        tt__asked_worth(l, worth);
    for (size_t i = 0; i < l->n && status == TT_OK; i++) {
        answers[i] = *l->items[i].answer.kernel ? &l->items[i].answer : NULL;
        status = add_asked(&problems[i], kernels, ctx, &l->items[i], l);
    }
    const tt__tune_call how = {
        .objective = c->args->objective, .worth = worth, .answers = answers, .several_kernels = true};
    if (status == TT_OK)
        status = tt__tune_and(&c->report, ctx, problems, l->n, opts, &how, NULL);
    for (size_t k = 0; kernels && k < l->own.n; k++)
        tt_kernel_close(&kernels[k]);
    free(kernels);
    free(answers);
    free(worth);
    free(problems);
    return status;
}

/* --configs: a rule for other problems of the operation. */
static tt_status keep_rules(const call *c, tt_ctx *ctx, const tt_problem *problem) {
    tt__question q;
    size_t n;
    TT_TRY(tt__question_of(&q, ctx, problem));
    TT_TRY(tt__rules_keep(&n, ctx->store, c->report->gpu, q.templates, q.problem.op, (int)c->args->configs));
    if (n == 0 && c->report->n_results < 2)
        return tt__fail(
            TT_E_NO_WINNER,
            "--configs %lld: no rule, since only one problem is known, or the default is the fastest of all",
            (long long)c->args->configs);
    if (n == 0 && !c->args->quiet)
        fprintf(stderr, "tune: no rule is needed: the default is the fastest of all\n");
    if (n && !c->args->quiet)
        fprintf(stderr, "tune: the store has %s for other problems\n",
                tt__cli_count((int64_t)n, "rule").text);
    return TT_OK;
}

/* A rule is of one kind of GPU, and so is a collected problem. */
static tt_status check_kinds(const tt__cli_args *args, const tt_tune_opts *opts) {
    tt_status status = TT_OK;
    char a[TT__GPU_TEXT_MAX], b[TT__GPU_TEXT_MAX];
    if (opts->replay || opts->n_devices < 2 || (!args->collected && !args->configs))
        return TT_OK;
    tt__devices *found = malloc(sizeof *found); /* large for a stack */
    if (!found)
        return tt__fail_memory(sizeof *found);
    tt_tune_opts quiet = *opts; /* the run says which GPUs it leaves out */
    quiet.on_message = NULL;
    status = tt__devices_of(found, &quiet);
    if (status == TT_OK && found->n_kinds > 1)
        status = tt__fail(TT_E_INVALID,
                          "%s is for one kind of GPU, and device %d is %s, device %d %s: run it once for "
                          "each kind, with --device %d first",
                          args->configs ? "--configs" : "--collected", found->kinds[0].ordinals[0],
                          tt__gpu_text(a, &found->kinds[0].gpu), found->kinds[1].ordinals[0],
                          tt__gpu_text(b, &found->kinds[1].gpu), found->kinds[0].ordinals[0]);
    free(found);
    return status;
}

static tt_status tune(void *user, tt_ctx *ctx, const tt_tune_opts *opts) {
    call *c = user;
    TT_TRY(check_kinds(c->args, opts));
    if (c->asked)
        return tune_asked(c, ctx, opts);
    tt__cli_problems problems;
    tt_status status = tt__cli_problems_open(&problems, ctx, c->args);
    tt__tune_call how = {
        .only_finals = c->args->finals, .makes_rule = c->args->configs > 0, .objective = c->args->objective};
    const size_t n = take_shard(c->args, problems.items, problems.n, &how);
    if (status == TT_OK && n)
        status = tt__tune_and(&c->report, ctx, problems.items, n, opts, &how, NULL);
    if (status == TT_OK && n && c->args->configs)
        status = keep_rules(c, ctx, &problems.items[0]);
    tt__cli_problems_close(&problems);
    return status;
}

/* A cluster may have more jobs than problems. */
static int print_empty_shard(const tt__cli_args *args) {
    const tt_report none = {0};
    if (args->json)
        return print_json(&none, args);
    printf("Shard %lld/%lld has no problem.\n", (long long)args->shard, (long long)args->n_shards);
    return TT__EXIT_OK;
}

/* ---- Problems of the store ---- */

static int run(const tt__cli_args *args);

static int run_stored(const tt__cli_args *args) {
    stored_problems found;
    int code;
    tt_status status = find_stored(&found, args);
    if (status != TT_OK) {
        code = tt__cli_fail(status);
    } else if (found.n == 0 && !args->json) {
        printf(args->finals ? "No problem of %s has finals of several runs.\n" : "Nothing of %s is stale.\n",
               found.gpu.name);
        code = TT__EXIT_OK;
    } else if (found.n == 0) {
        tt_report none = {0};
        tt__copy(none.gpu, sizeof none.gpu, found.gpu.name);
        code = print_json(&none, args);
    } else {
        tt__cli_args chosen = *args;
        chosen.stale = false;
        chosen.n_problems = found.n;
        chosen.problems = found.items;
        code = run(&chosen);
    }
    free_stored(&found);
    return code;
}

/* ---- Problems of programs ---- */

static int run_call(call *c);

static int print_none_asked(const tt__cli_args *args, const tt__gpu *gpu, size_t n_left_out) {
    tt_report none = {0};
    tt__copy(none.gpu, sizeof none.gpu, gpu->name);
    if (args->json)
        return print_json(&none, args);
    tt__cli_say(stdout, "%s has nothing left to tune on %s%s%s.\n", args->collected, gpu->name,
                n_left_out ? " but what cannot be tuned: " : "",
                n_left_out ? tt__cli_count((int64_t)n_left_out, "problem").text : "");
    return TT__EXIT_OK;
}

static int run_asked(const tt__cli_args *args) {
    tt__asked_list l;
    tt__gpu gpu;
    tt_status status = tt__asked_open(&l, args, true);
    if (status == TT_OK)
        status = tt__device_gpu(&gpu, args->device);
    if (status == TT_OK)
        tt__asked_choose(&l, &gpu, args);
    const int code = status != TT_OK ? tt__cli_fail(status)
                     : l.n           ? run_call(&(call){.args = args, .asked = &l})
                                     : print_none_asked(args, &gpu, l.n_left_out);
    tt__asked_close(&l);
    return code;
}

static bool names_problems(const tt__cli_args *args) {
    return args->kernel_file || args->op || args->n_problems || args->permute;
}

static tt_status check_collected(const tt__cli_args *args) {
    if (names_problems(args) || args->n_texts || args->stale || args->n_shards)
        return tt__fail(
            TT_E_INVALID,
            "--collected %s: the file names the problems, so leave sizes, shapes, --op, --permute, "
            "--kernel, --problem, --stale and --shard out",
            args->collected);
    if (tt__cli_has_layout(args) || args->warm || args->in_graph || args->replay)
        return tt__fail(
            TT_E_INVALID,
            "--collected %s: each problem is tuned as it was launched, on a device: leave layouts, "
            "--warm, --graph and recordings out",
            args->collected);
    return TT_OK;
}

static tt_status check_what(const tt__cli_args *args) {
    TT_TRY(tt__cli_check_problems(args));
    return names_problems(args)
               ? TT_OK
               : tt__fail(TT_E_INVALID,
                          "nothing to tune: give --sizes or --shapes, as in \"tune --device 0 --sizes "
                          "4096,8192\", a built-in operation with --op, or a kernel of yours with --kernel");
}

static tt_status check(const tt__cli_args *args) {
    TT_TRY(tt__cli_check_output(args, args->trace));
    if (args->by_configuration && !args->n_shards)
        return tt__fail(TT_E_INVALID, "--shard-by says what --shard divides: give --shard K/N, too");
    if (args->configs > TT__RULE_CONFIGS_MAX)
        return tt__fail(TT_E_INVALID, "--configs %lld: a rule has at most %d", (long long)args->configs,
                        TT__RULE_CONFIGS_MAX);
    if (args->configs && (args->collected || args->stale || args->n_shards || (args->replay && !args->db)))
        return tt__fail(TT_E_INVALID, "--configs makes a rule of the problems that are named, in a store: %s",
                        args->replay ? "give --db, too" : "leave --collected, --stale and --shard out");
    if (args->objective != TT__OBJECTIVE_TIME && args->replay)
        return tt__fail(TT_E_INVALID, "a recording has no energies: leave --objective out, or name a device");
    if (args->collected)
        return check_collected(args);
    if (args->class_of && !args->same_bits)
        return tt__fail(TT_E_INVALID, "--class-of says whose bits: give --same-bits, too");
    if (args->same_bits && args->by_configuration)
        return tt__fail(TT_E_INVALID,
                        "--same-bits elects from the whole space: leave --shard-by configuration out");
    if (!args->stale)
        return check_what(args);
    if (args->n_shards)
        return tt__fail(TT_E_INVALID, "--shard divides the problems of a command line: leave --stale out");
    if (args->n_problems || args->replay)
        return tt__fail(TT_E_INVALID,
                        "--stale tunes what \"tune list\" calls stale, on a device: leave %s out",
                        args->replay ? "replay" : "sizes and shapes");
    if (args->kernel_file || args->op || args->n_texts || args->permute)
        return tt__fail(TT_E_INVALID, "--stale tunes the built-in operations: leave --op, --permute, "
                                      "--kernel and --problem out, or tune "
                                      "without --stale");
    if (tt__cli_has_layout(args) || args->warm || args->in_graph)
        return tt__fail(TT_E_INVALID,
                        "--stale tunes each problem as it is stored: leave --elem-size, --dtype, "
                        "--batch, --lds, --ldd, --align, --in-place, --warm and --graph out");
    return TT_OK;
}

static int run(const tt__cli_args *args) {
    if (args->stale || (args->finals && !names_problems(args)))
        return run_stored(args);
    return args->collected ? run_asked(args) : run_call(&(call){.args = args});
}

static int run_call(call *c) {
    const tt__cli_args *args = c->args;
    if (args->verbose)
        setenv("TILETUNE_DEBUG", "1", 1); /* workers look there, too */
    tt_status status = args->finals ? tt__cli_store_check(args) : TT_OK;
    if (status == TT_OK)
        status = tt__cli_running(args, tune, c);
    tt_report *report = c->report;
    if (status == TT_OK && !report)
        return print_empty_shard(args);
    int code = report ? print_report(report, args) : TT__EXIT_OK;
    bool noted = code == TT__EXIT_NO_WINNER && status == TT_E_NO_WINNER;
    for (size_t i = 0; noted && i < report->n_results; i++)
        noted = report->results[i].kernel[0] || report->results[i].note[0];
    tt_report_free(&report);
    if (status == TT_E_INTERRUPTED)
        return tt__cli_interrupted(args, !args->finals);
    if (status == TT_OK || noted || (status == TT_E_NO_WINNER && args->collected && code == TT__EXIT_OK))
        return code;
    return tt__cli_fail(status);
}

static tt_status set_objective(tt__cli_args *args, const char *value) {
    static const char *const names[] = {"time", "energy", "edp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i]) == 0) {
            args->objective = (tt__objective)i;
            return TT_OK;
        }
    return tt__fail(TT_E_INVALID, "\"%s\" is no objective: it is time, energy or edp", value);
}

static const tt__cli_option options[] = {
    TT__SET("sizes", "N[,N...]", tt__cli_set_sizes, "square matrices to tune for"),
    TT__SET("shapes", "RxC[,RxC...]", tt__cli_set_shapes, "matrices of R rows and C columns to tune for"),
    TT__OPTS_LAYOUT,
    TT__OPTS_PERMUTATION,
    TT__OPTS_OPERATION,
    TT__FLAG("unverified", unverified, "tune a kernel of yours that has no reference"),
    TT__OPT_TEMPLATE,
    TT__SET("only", "NAME[,NAME...]", tt__cli_add_only,
            "only these templates compete, by kernel name, and the\nstored winner"),
    TT__FLAG("stale", stale, "tune only what \"tune list\" calls stale"),
    TT__TEXT("collected", "FILE", collected,
             "tune what programs launched without an exact winner\n(TILETUNE_COLLECT), what cost most first"),
    TT__FLAG("force", force, "measure again what is stored already"),
    TT__SET("device", "N[,N...]|all|replay:FILE", tt__cli_set_device,
            "the CUDA devices, default 0; or a recording to search\ninstead, without any GPU"),
    TT__OPT_DB,
    TT__SET("shard", "K/N|auto", set_shard,
            "only part K of N of the problems; auto: as Slurm or Kubernetes\nsay"),
    TT__SET("shard-by", "problem|configuration", set_shard_by,
            "what --shard divides: the problems, or each search space"),
    TT__OPTS_SEARCH,
    TT__READ("configs", "K", tt__cli_read_count, configs,
             "keep a rule of at most K configurations, at most 8, for\nproblems of the operation that are "
             "not tuned"),
    TT__WORD(
        "objective", "time|energy|edp", "time energy edp", set_objective,
        "what to have least of. The search is for time; energy,\nor energy times time, chooses among its "
        "leaders"),
    TT__FLAG("same-bits", same_bits, "the winner computes the same bits as the default"),
    TT__READ("class-of", "CONFIG", tt__cli_read_once, class_of,
             "with --same-bits: the same as this configuration"),
    TT__SET("jobs", "N", tt__cli_set_jobs, "compile processes; default one for each CPU"),
    TT__OPT_TRIAL_TIMEOUT,
    TT__OPT_COMPILE_TIMEOUT,
    TT__TEXT("trace", "FILE", trace, "write a timeline of the run, for chrome://tracing or Perfetto"),
    TT__OPT_JSON,
    TT__FLAG("quiet", quiet, "only errors on standard error"),
    TT__FLAG("verbose", verbose, "also what workers, compiler and driver write there"),
    TT__OPT_HELP,
    TT__FLAG("version", version, "the version"),
    TT__OPT_END,
};

static const tt__cli_group groups[] = {
    {"What to tune", "sizes"}, {"Where", "device"}, {"How long, and for what", "effort"},
    {"Output", "trace"},       {NULL, NULL},
};

const tt__cli_command tt__cmd_tune = {
    .name = "",
    .usage = "tune [--device N[,N...]|all|replay:FILE] --sizes N[,N...] |\n"
             "            --shapes RxC[,RxC...] | --permute AXIS[,AXIS...] --dims N[,N...] |\n"
             "            --op NAME | --kernel FILE.cu [--problem NAME=VALUE[,...]] |\n"
             "            --collected FILE [--budget TIME] [options]",
    .summary = "finds the fastest way to run an operation on a GPU and remembers it",
    .notes = "Examples:\n"
             "  tune --device 0 --sizes 4096,8192\n"
             "  tune --shapes 4096x1024 --dtype f16 --json\n"
             "  tune --kernel saxpy.cu --problem n=16777216\n"
             "  tune --device replay:recordings/h200.json --sizes 4096\n"
             "\n"
             "Exit codes: 0 done, 1 a problem has no winner, 2 usage, 3 no device, driver or NVRTC,\n"
             "4 the store, 130 interrupted.\n",
    .options = options,
    .groups = groups,
    .check = check,
    .run = run,
};

/* ---- tune finals ---- */

static tt_status check_finals(const tt__cli_args *args) {
    TT_TRY(tt__cli_check_problems(args));
    if (args->replay && !names_problems(args))
        return tt__fail(TT_E_INVALID, "a replay has no device to look for in the store: name problems, as in "
                                      "--sizes 4096");
    if (args->replay && !args->db) /* it would run in a new store in memory */
        return tt__fail(TT_E_INVALID,
                        "finals are of trials in a store: name it with --db (\"tune merge NEW.db "
                        "FILE\" makes one of a recording), or leave `finals` out");
    return TT_OK;
}

static int run_finals(const tt__cli_args *args) {
    tt__cli_args finals = *args;
    finals.finals = true;
    return run(&finals);
}

static const tt__cli_option finals_options[] = {
    TT__SET("sizes", "N[,N...]", tt__cli_set_sizes, "square matrices; default what several runs measured"),
    TT__SET("shapes", "RxC[,RxC...]", tt__cli_set_shapes, "matrices of R rows and C columns"),
    TT__OPTS_LAYOUT,
    TT__SET("device", "N[,N...]|all|replay:FILE", tt__cli_set_device,
            "the CUDA devices, default 0; or a recording"),
    TT__OPT_TEMPLATE,
    TT__OPTS_OPERATION,
    TT__OPT_DB,
    TT__SET("jobs", "N", tt__cli_set_jobs, "compile processes; default one for each CPU"),
    TT__OPT_TRIAL_TIMEOUT,
    TT__OPT_JSON,
    TT__FLAG("quiet", quiet, "only errors on standard error"),
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_finals = {
    .name = "finals",
    .usage = "tune finals --db MERGED.db [options]",
    .summary = "measures the winners of several runs against each other",
    .notes =
        "After \"tune merge\": problems that several runs measured on a GPU like this one get new finals.\n"
        "The winner of each run takes part, and nothing else is tried. The result is the new winner.\n",
    .options = finals_options,
    .check = check_finals,
    .run = run_finals,
};
