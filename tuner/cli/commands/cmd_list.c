/*
 * `tune list`: lists the winners in the store, and whether each is valid. Drivers are compared only for GPUs
 * in this machine. Templates are compared if they are built in or named with --template.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "dispatch/layers.h"
#include "kernel/load/builtin.h"
#include "kernel/load/set.h"
#include "kernel/space/operation.h"
#include "tuner/cli/commands/collected.h"
#include "tuner/cli/commands/stale.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/table.h"

/* A file of a user, by its text. */
typedef struct file {
    char op[TT__NAME_MAX], text[TT__HASH_SIZE];
    int64_t unix_ms; /* of its last winner */
} file;

typedef struct listing {
    bool json;
    tt__stale judge;
    size_t n, n_stale;
    char heading[TT__GPU_TEXT_MAX]; /* the GPU of `table` */
    tt__table table;
    tt__json out;
    size_t n_files;
    file *files;
} listing;

static const tt__column columns[] = {
    {"operation", false, TT__KEEP},      {"problem", false, TT__WRAP}, {"kernel", false, TT__BELOW},
    {"configuration", false, TT__BELOW}, {"time", true, TT__KEEP},     {"GB/s", true, TT__KEEP},
    {"of copy", true, TT__KEEP},         {"date", false, TT__KEEP},    {"state", false, TT__BELOW},
};

static void add_json(tt__json *j, const tt__winner *w, const char *when, const char *why) {
    char bits[TT__BITS_TEXT_MAX];
    tt__json_open(j, NULL, '{');
    tt__json_string(j, "gpu", w->gpu.name);
    tt__json_string(j, "mig", w->gpu.mig);
    tt__cli_json_problem(j, &w->problem);
    tt__json_string(j, "kernel", w->kernel);
    tt__json_config(j, "config", w->config);
    TT__JSON_KNOWN(j, {"time_us", w->time_us, 7}, {"gbps", tt__problem_gbps(&w->problem, w->time_us), 6},
                   {"copy_fraction", w->copy_fraction, 5}, {"speedup_vs_default", w->speedup_vs_default, 5});
    tt__json_int(j, "trials", w->trials);
    tt__json_int(j, "failed", w->failed);
    tt__cli_json_bits(j, tt__bits_text(bits, w->bits), w->batch_invariant);
    TT__JSON_STRINGS(j, {"template", w->hash}, {"source", w->source}, {"driver", w->env.driver},
                     {"nvrtc", w->env.nvrtc}, {"date", when}, {"state", *why ? "stale" : "valid"},
                     {"why", why});
    tt__json_close(j, '}');
}

static tt_status note_file(void *user, const tt__winner *w) {
    listing *l = user;
    const tt__problem *p = &w->problem;
    if (!*p->text)
        return TT_OK;
    file *last = l->n_files ? &l->files[l->n_files - 1] : NULL; /* winners come grouped by file */
    if (!last || strcmp(last->op, p->op) != 0 || strcmp(last->text, p->text) != 0) {
        TT_TRY(TT__GROW(l->files, l->n_files));
        last = &l->files[l->n_files++];
        *last = (file){.unix_ms = w->unix_ms};
        tt__copy(last->op, sizeof last->op, p->op);
        tt__copy(last->text, sizeof last->text, p->text);
    }
    last->unix_ms = w->unix_ms > last->unix_ms ? w->unix_ms : last->unix_ms;
    return TT_OK;
}

/* Was a kernel of this name tuned later with another text? --template says which text is the present one. */
static bool is_earlier(const listing *l, const tt__winner *w) {
    const file *last = NULL;
    for (size_t i = 0; i < l->n_files; i++)
        if (strcmp(l->files[i].op, w->problem.op) == 0 && (!last || l->files[i].unix_ms > last->unix_ms))
            last = &l->files[i];
    return *w->problem.text && last && strcmp(last->text, w->problem.text) != 0 &&
           !tt__template_set_find(&l->judge.templates, w->kernel);
}

static void add_row(tt__table *t, const tt__winner *w, const char *when, const char *why, bool earlier) {
    char problem[TT__PROBLEM_TEXT_MAX];
    const tt__problem *p = &w->problem;
    double gbps = tt__problem_gbps(p, w->time_us);
    tt__table_cell(t, "%s", p->op);
    tt__table_cell(t, "%s%s%s", tt__problem_text(problem, p), p->unverified ? ", not verified" : "",
                   p->warm ? ", warm" : "");
    TT__TABLE_TEXTS(t, w->kernel, w->config, tt__cli_time(w->time_us).text);
    tt__table_cell(t, gbps > 0 ? "%.0f" : "-", gbps);
    tt__table_cell(t, "%s", tt__cli_percent(w->copy_fraction).text);
    tt__table_cell(t, "%.10s", when);
    const char *mark = strcmp(w->source, "measured") == 0 ? "" : w->source;
    tt__table_cell(t, "%s%s%s%s%s",
                   *why      ? "stale: "
                   : earlier ? "valid for another text"
                             : "valid",
                   why, *mark ? " (" : "", mark, *mark ? ")" : "");
}

static tt_status flush_table(listing *l) {
    if (l->table.n_cells == 0 && !l->table.failed)
        return TT_OK;
    printf("%s%s\n", l->n > l->table.n_cells / l->table.n_columns ? "\n" : "", l->heading);
    return tt__table_show(&l->table);
}

/* Winners come grouped by GPU. Each GPU gets a table. */
static tt_status add_row_of_gpu(listing *l, const tt__winner *w, const char *when, const char *why) {
    char heading[TT__GPU_TEXT_MAX];
    if (strcmp(tt__gpu_text(heading, &w->gpu), l->heading) != 0) {
        TT_TRY(flush_table(l));
        memcpy(l->heading, heading, sizeof heading);
    }
    l->n++;
    add_row(&l->table, w, when, why, is_earlier(l, w));
    return TT_OK;
}

static tt_status on_winner(void *user, const tt__winner *w) {
    listing *l = user;
    char why[128];
    const tt__short when = tt__cli_when(TT__WHEN_ISO, w->unix_ms);
    tt__stale_why(&l->judge, w, why, sizeof why);
    l->n_stale += *why != '\0';
    if (!l->json)
        return add_row_of_gpu(l, w, when.text, why);
    add_json(&l->out, w, when.text, why);
    return TT_OK;
}

/* Collects winners. A missing store has none. */
static tt_status collect(listing *l, const tt__cli_args *args) {
    tt__store *store = NULL;
    tt__gpu gpu;
    int64_t gpu_id = 0;
    tt_status status = TT_OK;
    if (tt__cli_store_absent(args))
        return TT_OK;
    TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_READ_ONLY));
    if (args->gpu)
        TT_GOTO(tt__store_find_gpu(store, args->gpu, &gpu, &gpu_id));
    TT_GOTO(tt__stale_open(&l->judge, store, args));
    if (!l->json) /* a damaged row of another GPU costs only the word for a text */
        status = tt__store_winners(store, 0, 0, NULL, note_file, l);
    if (status != TT_OK && status != TT_E_DB)
        goto out;
    TT_GOTO(tt__store_winners(store, gpu_id, 0, NULL, on_winner, l));
out:
    tt__stale_close(&l->judge);
    tt__store_close(&store);
    return status;
}

static void say_nothing_is_tuned(void) {
    tt__str shipped = {0};
    tt__shipped_names(&shipped);
    fprintf(
        stderr,
        "tune: nothing is tuned yet; \"tune --sizes 4096\" would be a start. With tiletune come winners of: "
        "%s\n",
        tt__str_text(&shipped));
    tt__str_free(&shipped);
}

static int run(const tt__cli_args *args) {
    if (args->collected)
        return tt__asked_print(args);
    tt__str text = {0};
    listing l = {.json = args->json,
                 .table = {.n_columns = sizeof columns / sizeof *columns, .columns = columns},
                 .out = {.out = &text}};
    tt__cli_json_begin(&l.out);
    tt__json_open(&l.out, "winners", '[');
    tt_status status = collect(&l, args);
    tt__json_close(&l.out, ']');
    if (status == TT_OK && args->json)
        return tt__cli_fail(tt__cli_print_json(&l.out));
    if (status == TT_OK && l.n)
        status = flush_table(&l);
    if (status == TT_OK && l.n_stale)
        printf("\n%zu of %zu are stale: \"tune --stale\" tunes those of a GPU in this machine again.\n",
               l.n_stale, l.n);
    else if (status == TT_OK && l.n == 0)
        say_nothing_is_tuned();
    free(l.files);
    tt__table_free(&l.table);
    tt__str_free(&text);
    return tt__cli_fail(status);
}

static const tt__cli_option options[] = {
    TT__OPT_GPU("only this GPU; a part of its name is enough"),
    TT__TEXT("collected", "FILE", collected,
             "problems that programs have collected, and whether they are tuned by\nnow"),
    TT__FLAG("unverified", unverified, "count kernels without a reference as tunable"),
    TT__OPT_TEMPLATE,
    TT__OPT_DB,
    TT__OPT_JSON,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_list = {
    .name = "list",
    .usage = "tune list [--gpu NAME] [--collected FILE] [options]",
    .summary = "all winners, and whether they are still valid",
    .notes =
        "A stale winner serves until the problem is tuned again. Its template, the driver or the measuring\n"
        "method has changed.\n",
    .options = options,
    .run = run,
};
