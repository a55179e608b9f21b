/*
 * `tune show`: everything in the store about one problem on one GPU.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/problem.h"
#include "base/grow.h"
#include "base/json.h"
#include "db/store.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "tuner/cli/commands/stale.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"
#include "tuner/cli/shell/table.h"

enum { BEST_MAX = 10, BAR = 6, COUNTS_MAX = 32 * (TT__TRIAL_STATUS_COUNT + 1) };

typedef struct row {
    char kernel[TT__NAME_MAX], config[TT__CONFIG_MAX];
    tt__trial trial;
    int64_t unix_ms;
    size_t place; /* among all, as the store has them */
} row;

typedef struct rows {
    const tt__stale *judge;
    size_t n, n_seen;
    size_t by_status[TT__TRIAL_STATUS_COUNT];
    char reason[TT__REASON_MAX]; /* of the first failure that has one */
    row *items;                  /* those that passed, best first */
} rows;

static tt_status add_row(void *user, const tt__trial_row *r) {
    rows *all = user;
    const tt__template *t = tt__template_set_find(&all->judge->templates, r->kernel);
    if (t && strcmp(t->hash, r->hash) != 0)
        return TT_OK; /* another text of the kernel is no evidence today */
    all->n_seen++;
    all->by_status[r->trial->status]++;
    if (!*all->reason && r->trial->status != TT__TRIAL_OK && r->trial->status != TT__TRIAL_SKIPPED)
        tt__copy(all->reason, sizeof all->reason, r->trial->reason);
    if (r->trial->status != TT__TRIAL_OK)
        return TT_OK;
    TT_TRY(TT__GROW(all->items, all->n));
    row *out = &all->items[all->n++];
    tt__copy(out->kernel, sizeof out->kernel, r->kernel);
    tt__copy(out->config, sizeof out->config, r->config);
    out->trial = *r->trial;
    out->unix_ms = r->unix_ms;
    out->place = all->n;
    return TT_OK;
}

/* By the objective; less is better. */
static double worth(const row *r) {
    return r->trial.time_us * r->trial.weight;
}

static int by_worth(const void *a, const void *b) {
    double x = worth(a), y = worth(b);
    return (x > y) - (x < y);
}

/* More samples mean a later stage of the finals. These come first. */
static int by_stage(const void *a, const void *b) {
    const tt__trial *s = &((const row *)a)->trial, *t = &((const row *)b)->trial;
    return s->n_samples != t->n_samples ? (s->n_samples < t->n_samples ? 1 : -1) : by_worth(a, b);
}

static tt_status read_rows(rows *out, const tt__stale *j, int64_t gpu_id, int64_t problem_id,
                           const tt__env *env, tt__stage stage) {
    *out = (rows){.judge = j};
    TT_TRY(tt__store_trials(j->store, gpu_id, env, problem_id, stage, add_row, out));
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, stage == TT__STAGE_FINAL ? by_stage : by_worth);
    return TT_OK;
}

/* ---- As text ----------------------------------------------------------------------------------- */

static void spread(char *out, size_t size, const tt__trial *t) {
    float least = t->samples_us[0], most = t->samples_us[0];
    for (int i = 1; i < t->n_samples; i++) {
        least = t->samples_us[i] < least ? t->samples_us[i] : least;
        most = t->samples_us[i] > most ? t->samples_us[i] : most;
    }
    snprintf(out, size, t->n_samples ? "%.2f to %.2f us in %d" : "-", (double)least, (double)most,
             t->n_samples);
}

static tt_status print_rows(const char *title, const rows *all, const tt__problem *p, size_t shown) {
    /* The last column is a bar, where the terminal can show it: full for the slowest row. */
    static const tt__column columns[] = {{"kernel", false, false},  {"configuration", false, TT__BELOW},
                                         {"time", true, false},     {"GB/s", true, false},
                                         {"samples", false, false}, {"regs", true, false},
                                         {"slower", false, false}};
    bool bars = tt__spark_can(STDOUT_FILENO);
    tt__table t = {.n_columns = sizeof columns / sizeof *columns - !bars, .columns = columns};
    double least = all->n ? all->items[0].trial.time_us : 0, most = 0;
    for (size_t i = 0; i < all->n && i < shown; i++)
        most = fmax(most, all->items[i].trial.time_us - least);
    char text[64], bar[TT__SPARK_BYTES];
    if (all->n == 0)
        return TT_OK;
    for (size_t i = 0; i < all->n && i < shown; i++) {
        const row *r = &all->items[i];
        TT__TABLE_TEXTS(&t, r->kernel, r->config, tt__cli_time(r->trial.time_us).text);
        double gbps = tt__problem_gbps(p, r->trial.time_us);
        tt__table_cell(&t, gbps > 0 ? "%.0f" : "-", gbps);
        spread(text, sizeof text, &r->trial);
        tt__table_cell(&t, "%s", text);
        tt__table_cell(&t, r->trial.regs ? "%d" : "-", r->trial.regs);
        if (bars)
            tt__table_cell(&t, "%s",
                           tt__spark_bar(bar, most > 0 ? (r->trial.time_us - least) / most : 0, BAR));
    }
    printf("\n%s\n", title);
    return tt__table_show(&t);
}

static void add_time(tt__table *t, const tt__winner *w) {
    char rate[32] = "";
    double gbps = tt__problem_gbps(&w->problem, w->time_us);
    if (gbps > 0)
        snprintf(rate, sizeof rate, ", %.0f GB/s", gbps);
    TT__TABLE_PAIR(t, "time", "%s%s, %s of the tuned copy", tt__cli_time(w->time_us).text, rate,
                   tt__cli_percent(w->copy_fraction).text);
}

static int by_time(const void *a, const void *b) {
    const row *s = *(const row *const *)a, *t = *(const row *const *)b;
    return s->unix_ms != t->unix_ms ? (s->unix_ms < t->unix_ms ? -1 : 1)
                                    : (s->place > t->place) - (s->place < t->place);
}

/* A row with the curve of the best so far over the trials. */
static tt_status add_curve(tt__table *t, const rows *screened) {
    double best[TT__SPARK_MAX];
    char curve[TT__SPARK_BYTES];
    size_t n = screened->n < TT__SPARK_MAX ? screened->n : TT__SPARK_MAX, at = 0;
    const row **order = calloc(screened->n + 1, sizeof *order);
    if (!order)
        return tt__fail_memory(screened->n * sizeof *order);
    for (size_t i = 0; i < screened->n; i++)
        order[i] = &screened->items[i];
    qsort(order, screened->n, sizeof *order, by_time);
    for (size_t i = 0; n > 1 && i < n; i++) {
        best[i] = i ? best[i - 1] : worth(order[0]);
        for (; at <= i * (screened->n - 1) / (n - 1); at++)
            best[i] = fmin(best[i], worth(order[at]));
    }
    if (n > 1)
        TT__TABLE_PAIR(t, "search", "%s  %s to %s", tt__spark_line(curve, best, n),
                       tt__cli_time(order[0]->trial.time_us).text,
                       tt__cli_time(screened->items[0].trial.time_us).text);
    free(order);
    return TT_OK;
}

static tt_status print_winner(const tt__winner *w, const tt__origin *from, const char *why,
                              const rows *screened) {
    static const tt__column columns[] = {{"", false, TT__KEEP}, {"", false, TT__WRAP}};
    tt__table t = {.n_columns = 2, .columns = columns};
    char bits[TT__BITS_TEXT_MAX];
    const tt__short date = tt__cli_when(TT__WHEN_ISO, w->unix_ms);
    const char *const cells[][2] = {{"winner", w->kernel},   {"configuration", w->config},
                                    {"GPU", w->gpu.name},    {"measured", date.text},
                                    {"by", from->who},       {"program", from->program},
                                    {"source", w->source},   {"driver", w->env.driver},
                                    {"NVRTC", w->env.nvrtc}, {"method", w->env.library}};
    for (size_t i = 0; i < TT__COUNT(cells); i++)
        TT__TABLE_PAIR(&t, cells[i][0], "%s", cells[i][1][0] ? cells[i][1] : "unknown");
    TT__TABLE_PAIR(&t, "template", "%.12s", w->hash[0] ? w->hash : "unknown");
    add_time(&t, w);
    TT__TABLE_PAIR(&t, "tried", "%lld configuration%s, %lld failed", (long long)w->trials,
                   w->trials == 1 ? "" : "s", (long long)w->failed);
    if (w->bits && w->bits != TT__BITS_EXACT)
        TT__TABLE_PAIR(&t, "bits", "%s%s", tt__bits_text(bits, w->bits), tt__cli_batch(w->batch_invariant));
    TT__TABLE_PAIR(&t, "state", "%s%s%s", *why ? "stale: " : "valid", why,
                   w->problem.unverified ? "; its results were not verified" : "");
    tt_status status = tt__spark_can(STDOUT_FILENO) ? add_curve(&t, screened) : TT_OK;
    if (status == TT_OK)
        status = tt__table_print(&t, tt__cli_columns(STDOUT_FILENO));
    tt__table_free(&t);
    return status;
}

/* "18 screened, 17 ok, 1 timeout". */
static const char *counts(char out[COUNTS_MAX], const rows *screened) {
    int n = snprintf(out, COUNTS_MAX, "%zu screened", screened->n_seen);
    for (int s = 0; s < TT__TRIAL_STATUS_COUNT; s++)
        if (screened->by_status[s])
            n += snprintf(out + n, (size_t)(COUNTS_MAX - n), ", %zu %s", screened->by_status[s],
                          tt__trial_status_name((tt__trial_status)s));
    return out;
}

static tt_status print_text(const tt__winner *w, const tt__origin *from, const char *why, const rows *finals,
                            const rows *screened) {
    char title[64], text[COUNTS_MAX];
    TT_TRY(print_winner(w, from, why, screened));
    TT_TRY(print_rows("Finals", finals, &w->problem, finals->n));
    snprintf(title, sizeof title, "The best %d of the screening", BEST_MAX);
    TT_TRY(print_rows(title, screened, &w->problem, BEST_MAX));
    printf("\n%s\n", counts(text, screened));
    return TT_OK;
}

/* ---- As JSON ----------------------------------------------------------------------------------- */

static void rows_json(tt__json *j, const char *key, const rows *all, size_t most) {
    tt__json_open(j, key, '[');
    for (size_t i = 0; i < all->n && i < most; i++) {
        const row *r = &all->items[i];
        char bits[TT__BITS_TEXT_MAX];
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "kernel", r->kernel);
        tt__json_config(j, "config", r->config);
        tt__json_number(j, "time_us", r->trial.time_us, 7);
        tt__json_open(j, "samples_us", '[');
        for (int k = 0; k < r->trial.n_samples; k++)
            tt__json_number(j, NULL, (double)r->trial.samples_us[k], 7);
        tt__json_close(j, ']');
        tt__json_number(j, "regs", tt__cli_known(r->trial.regs), 3);
        tt__cli_json_bits(j, tt__bits_text(bits, r->trial.bits), 0);
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
}

static tt_status print_json(const tt__winner *w, const tt__origin *from, const char *why, const rows *finals,
                            const rows *screened) {
    tt__str text = {0};
    tt__json j = {.out = &text};
    char bits[TT__BITS_TEXT_MAX];
    tt__cli_json_begin(&j);
    TT__JSON_STRINGS(&j, {"gpu", w->gpu.name}, {"kernel", w->kernel}, {"template", w->hash},
                     {"source", w->source}, {"driver", w->env.driver}, {"nvrtc", w->env.nvrtc},
                     {"method", w->env.library}, {"date", tt__cli_when(TT__WHEN_ISO, w->unix_ms).text},
                     {"by", from->who}, {"program", from->program}, {"state", *why ? "stale" : "valid"},
                     {"why", why});
    tt__cli_json_problem(&j, &w->problem);
    tt__json_config(&j, "config", w->config);
    TT__JSON_KNOWN(&j, {"time_us", w->time_us, 7}, {"copy_us", w->copy_us, 7},
                   {"copy_fraction", w->copy_fraction, 5});
    tt__json_int(&j, "trials", w->trials);
    tt__json_int(&j, "failed", w->failed);
    tt__cli_json_bits(&j, tt__bits_text(bits, w->bits), w->batch_invariant);
    rows_json(&j, "finals", finals, finals->n);
    rows_json(&j, "best", screened, BEST_MAX);
    return tt__cli_print_json(&j);
}

/* ---- The command --------------------------------------------------------------------------------- */

/* A user's kernel: its text is compared as if --template named it. */
static tt_status kernel_problem(tt__problem *out, tt__stale *judge, const char *path, const char *text) {
    tt__template *t;
    TT_TRY(tt__template_load(&t, path));
    tt_status status =
        t->own ? tt__operation_problem(out, t->own, t->op, text)
               : tt__fail(TT_E_INVALID, "%s is a template for `op %s`: name it with --template", path, t->op);
    if (status == TT_OK)
        return tt__template_set_add(&judge->templates, t);
    tt__template_free(&t);
    return status;
}

static tt_status find_problem(tt__problem *out, tt__stale *judge, const tt__cli_args *args) {
    const char *text = args->n_texts ? args->texts[0] : NULL;
    const tt__operation *op;
    if (!args->op && !args->kernel_file)
        return tt__matrix_problem(out, &args->problems[0]);
    if (args->op) {
        TT_TRY(tt__operation_builtin(&op, args->op));
        TT_TRY(tt__operation_problem(out, op, args->op, text));
    } else {
        TT_TRY(kernel_problem(out, judge, args->kernel_file, text));
    }
    tt__cli_set_regime(out, args);
    return TT_OK;
}

/* `tried`: without a winner. */
static tt_status fail_unsolved(const tt__problem *p, const tt__gpu *gpu, const rows *tried) {
    char problem[TT__PROBLEM_TEXT_MAX], on[TT__GPU_TEXT_MAX], text[COUNTS_MAX];
    const char *of = tt__problem_text(problem, p), *regime = tt__problem_regime(p);
    if (tried->n_seen == 0)
        return tt__fail(
            TT_E_NO_WINNER,
            "%s of %s%s%s was not tuned on %s%s; \"tune list\" shows what was, \"tune best\" what would be "
            "taken",
            p->op, of, regime, *regime ? "," : "", tt__gpu_text(on, gpu),
            *p->text ? ", or its file was edited since: results belong to its text" : "");
    const bool lost = tried->n == 0 && *tried->reason;
    return tt__fail(TT_E_NO_WINNER, "%s of %s%s%s has no winner on %s: %s%s%s", p->op, of, regime,
                    *regime ? "," : "", tt__gpu_text(on, gpu), counts(text, tried),
                    tried->n ? "; tune it to elect one"
                    : lost   ? "; the first: "
                             : "",
                    lost ? tried->reason : "");
}

static tt_status show(const tt__cli_args *args, tt__store *store, tt__stale *judge) {
    char why[160];
    tt__problem p;
    tt__gpu gpu;
    tt__winner w;
    rows finals = {0}, screened = {0};
    bool found = false;
    int64_t gpu_id, problem_id;
    TT_TRY(tt__stale_open(judge, store, args));
    TT_TRY(find_problem(&p, judge, args));
    TT_TRY(tt__cli_choose_gpu(&gpu, args));
    TT_TRY(args->gpu ? tt__store_find_gpu(store, args->gpu, &gpu, &gpu_id)
                     : tt__store_known_gpu(store, &gpu, &gpu_id));
    TT_TRY(tt__store_known_problem(store, &p, &problem_id));
    if (problem_id >= 0)
        TT_TRY(tt__store_winner_get(store, gpu_id, problem_id, &w, &found));
    if (!found) {
        tt_status status = read_rows(&screened, judge, gpu_id, problem_id, NULL, TT__STAGE_SCREEN);
        free(screened.items);
        return status == TT_OK ? fail_unsolved(&p, &gpu, &screened) : status;
    }
    tt__origin from;
    TT_TRY(tt__store_origin(store, gpu_id, problem_id, &from));
    tt__stale_why(judge, &w, why, sizeof why);
    tt_status status = read_rows(&finals, judge, gpu_id, problem_id, &w.env, TT__STAGE_FINAL);
    if (status == TT_OK)
        status = read_rows(&screened, judge, gpu_id, problem_id, &w.env, TT__STAGE_SCREEN);
    if (status == TT_OK)
        status = (args->json ? print_json : print_text)(&w, &from, why, &finals, &screened);
    free(finals.items);
    free(screened.items);
    return status;
}

static tt_status check(const tt__cli_args *args) {
    return tt__cli_check_one(args, "show", "shows one");
}

static int run(const tt__cli_args *args) {
    tt__store *store = NULL;
    tt__stale judge = {0};
    tt_status status = tt__cli_store_open(&store, args, TT__STORE_READ_ONLY);
    if (status == TT_OK)
        status = show(args, store, &judge);
    tt__stale_close(&judge);
    tt__store_close(&store);
    return tt__cli_fail(status);
}

static const tt__cli_option options[] = {
    TT__OPTS_MATRIX("show"),
    TT__OPTS_OPERATION,
    TT__OPT_GPU("a GPU as in \"tune list\", or a part of its name; default the\nfirst device here"),
    TT__OPT_TEMPLATE,
    TT__OPT_DB,
    TT__OPT_JSON,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_show = {
    .name = "show",
    .usage = "tune show [--gpu NAME] --size N | --shape RxC |\n"
             "            --op NAME | --kernel FILE.cu [--problem NAME=VALUE[,...]] [options]",
    .summary = "one problem: its winner, the finals and the best trials",
    .notes = "Trials are those of the driver, NVRTC and method that the winner was measured with, and of the "
             "present\n"
             "text of each template.\n",
    .options = options,
    .check = check,
    .run = run,
};
