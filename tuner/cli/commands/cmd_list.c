/*
 * `tune list`: lists the winners in the store, and whether each is valid. Drivers are compared only for GPUs
 * in this machine. Templates are compared if they are built in or named with --template.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "dispatch/store_layers.h"
#include "kernel/load/builtin.h"
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
    tt__gpu gpu;                         /* of --gpu; without a name: all */
    const char *from;                    /* what follows the GPU in the heading */
    char heading[TT__GPU_TEXT_MAX + 32]; /* the GPU of `table` */
    tt__table table, rules;
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
                   tt__problem_regime(p));
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
    char heading[sizeof l->heading], gpu[TT__GPU_TEXT_MAX];
    snprintf(heading, sizeof heading, "%s%s", tt__gpu_text(gpu, &w->gpu), l->from);
    if (strcmp(heading, l->heading) != 0) {
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

/* ---- What comes with tiletune ----------------------------------------------------------------------------
 */

/* For the GPU that is named, or those in this machine. */
static bool is_asked(const listing *l, const tt__gpu *gpu) {
    return *l->gpu.name ? tt__same_gpu(gpu, &l->gpu) : tt__stale_here(&l->judge, gpu);
}

/* Those that the store does not replace. */
static tt_status add_shipped_of(listing *l, const tt__gpu *gpu, tt__store *store) {
    const size_t n_stale = l->n_stale;
    int64_t gpu_id = -1, problem_id = -1;
    if (store)
        TT_TRY(tt__store_known_gpu(store, gpu, &gpu_id));
    for (size_t i = 0; i < tt__n_shipped; i++) {
        bool replaced = false;
        if (!tt__same_gpu(&tt__shipped[i].gpu, gpu))
            continue;
        if (gpu_id >= 0)
            TT_TRY(tt__store_known_problem(store, &tt__shipped[i].problem, &problem_id));
        if (gpu_id >= 0 && problem_id >= 0)
            TT_TRY(tt__store_has_winner(store, gpu_id, problem_id, &replaced));
        if (!replaced)
            TT_TRY(on_winner(l, &tt__shipped[i]));
    }
    l->n_stale = n_stale; /* `tune --stale` is for those in the store */
    return TT_OK;
}

static tt_status add_shipped(listing *l, tt__store *store) {
    l->from = ", with tiletune";
    for (size_t i = 0; i < tt__n_shipped; i++) {
        const tt__gpu *gpu = &tt__shipped[i].gpu;
        size_t first = 0;
        while (!tt__same_gpu(&tt__shipped[first].gpu, gpu))
            first++;
        if (first == i && is_asked(l, gpu))
            TT_TRY(add_shipped_of(l, gpu, store));
    }
    return TT_OK;
}

/* ---- Rules -----------------------------------------------------------------------------------------------
 */

static const tt__column rule_columns[] = {{"rule for", false, TT__WRAP},
                                          {"GPU", false, TT__KEEP},
                                          {"configurations", true, TT__KEEP},
                                          {"problems", true, TT__KEEP},
                                          {"from", false, TT__KEEP}};

static tt_status add_rule(listing *l, const tt__gpu *gpu, const char *text, const char *from) {
    tt__tuning_rule *r;
    tt__str group = {0};
    char name[TT__GPU_TEXT_MAX];
    if (tt__rule_read(&r, text) != TT_OK) /* of a later version */
        return TT_OK;
    tt__cli_add_group(&group, &r->group);
    tt_status status = tt__str_check(&group);
    if (status == TT_OK && !l->json) {
        TT__TABLE_TEXTS(&l->rules, group.text, tt__gpu_text(name, gpu));
        tt__table_cell(&l->rules, "%d", r->n_configs);
        tt__table_cell(&l->rules, "%zu", r->n_points);
        tt__table_cell(&l->rules, "%s", from);
    } else if (status == TT_OK) {
        tt__json_open(&l->out, NULL, '{');
        tt__json_string(&l->out, "gpu", gpu->name);
        tt__json_string(&l->out, "mig", gpu->mig);
        tt__cli_json_problem(&l->out, &r->group);
        tt__json_int(&l->out, "configurations", r->n_configs);
        tt__json_int(&l->out, "problems", (int64_t)r->n_points);
        tt__json_string(&l->out, "source", from);
        tt__json_close(&l->out, '}');
    }
    tt__rule_free(&r);
    tt__str_free(&group);
    return status;
}

/* A GPU by its number, as rules come. */
typedef struct gpus {
    listing *l;
    size_t n;
    struct numbered {
        int64_t id;
        tt__gpu gpu;
    } * items;
} gpus;

static tt_status note_gpu(void *user, int64_t gpu_id, const tt__gpu *gpu) {
    gpus *g = user;
    TT_TRY(TT__GROW(g->items, g->n));
    g->items[g->n++] = (struct numbered){gpu_id, *gpu};
    return TT_OK;
}

static tt_status on_rule(void *user, int64_t gpu_id, const char *text, int64_t unix_ms) {
    const gpus *g = user;
    (void)unix_ms;
    for (size_t i = 0; i < g->n; i++)
        if (g->items[i].id == gpu_id)
            return add_rule(g->l, &g->items[i].gpu, text, "store");
    return TT_OK;
}

static tt_status add_rules(listing *l, tt__store *store, int64_t gpu_id) {
    gpus g = {.l = l};
    tt_status status = TT_OK;
    if (store)
        status = tt__store_gpus(store, note_gpu, &g);
    if (store && status == TT_OK)
        status = tt__store_rules(store, gpu_id, on_rule, &g);
    free(g.items);
    for (size_t i = 0; i < tt__n_shipped_rules && status == TT_OK; i++)
        if (is_asked(l, &tt__shipped_rules[i].gpu))
            status = add_rule(l, &tt__shipped_rules[i].gpu, tt__shipped_rules[i].text, "shipped");
    return status;
}

/* Collects winners, then rules. A missing store has none. */
static tt_status collect(listing *l, const tt__cli_args *args) {
    tt__store *store = NULL;
    tt__str path = {0};
    int64_t gpu_id = 0;
    tt_status status = TT_OK;
    tt__json_open(&l->out, "winners", '[');
    if (!args->gpu) /* else it may be asked for what comes with tiletune, which needs no place for a store */
        TT_GOTO(tt__cli_store_path(&path, args));
    if (!tt__cli_storeless(args))
        TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_READ_ONLY));
    if (args->gpu)
        TT_GOTO(tt__stores_find_gpu(store, NULL, args->gpu, &l->gpu, &gpu_id));
    TT_GOTO(tt__stale_open(&l->judge, store, args));
    if (store && !l->json) /* a damaged row of another GPU costs only the word for a text */
        status = tt__store_winners(store, 0, 0, NULL, note_file, l);
    if (status != TT_OK && status != TT_E_DB)
        goto out;
    if (store && gpu_id >= 0)
        TT_GOTO(tt__store_winners(store, gpu_id, 0, NULL, on_winner, l));
    TT_GOTO(add_shipped(l, store));
    tt__json_close(&l->out, ']');
    tt__json_open(&l->out, "rules", '[');
    if (gpu_id >= 0)
        TT_GOTO(add_rules(l, store, gpu_id));
    else
        TT_GOTO(add_rules(l, NULL, 0));
    tt__json_close(&l->out, ']');
out:
    tt__stale_close(&l->judge);
    tt__store_close(&store);
    tt__str_free(&path);
    return status;
}

static void say_nothing_is_tuned(void) {
    tt__str shipped = {0};
    tt__shipped_names(&shipped);
    fprintf(
        stderr,
        "tune: nothing is tuned yet; \"tune --sizes 4096\" would be a start. With tiletune come winners of: "
        "%s (--gpu NAME shows them)\n",
        tt__str_text(&shipped));
    tt__str_free(&shipped);
}

static int run(const tt__cli_args *args) {
    if (args->collected)
        return tt__asked_print(args);
    tt__str text = {0};
    listing l = {.json = args->json,
                 .from = "",
                 .rules = {.n_columns = TT__COUNT(rule_columns), .columns = rule_columns},
                 .table = {.n_columns = sizeof columns / sizeof *columns, .columns = columns},
                 .out = {.out = &text}};
    tt__cli_json_begin(&l.out);
    tt_status status = collect(&l, args);
    if (status == TT_OK && args->json)
        return tt__cli_fail(tt__cli_print_json(&l.out));
    if (status == TT_OK && l.n)
        status = flush_table(&l);
    if (status == TT_OK && l.rules.n_cells) {
        printf("%sRules, for problems that nobody measured\n", l.n ? "\n" : "");
        status = tt__table_show(&l.rules);
    }
    if (status == TT_OK && l.n_stale)
        printf("\n%zu of %zu are stale: \"tune --stale\" tunes those of a GPU in this machine again.\n",
               l.n_stale, l.n);
    else if (status == TT_OK && l.n == 0)
        say_nothing_is_tuned();
    free(l.files);
    tt__table_free(&l.table);
    tt__table_free(&l.rules);
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
    .summary = "all winners and rules, and whether winners are still valid",
    .notes =
        "What comes with tiletune is listed for the GPU of --gpu, and for those in this machine.\n"
        "A stale winner serves until the problem is tuned again. Its template, the driver or the measuring\n"
        "method has changed.\n",
    .options = options,
    .run = run,
};
