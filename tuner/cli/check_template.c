/*
 * `tune check FILE.cu`: what an author wants to know of a kernel template before tuning it. What is wrong
 * with its annotations the parser says; this adds the space of one problem, what takes how much out of it,
 * and the needs of one configuration as compiled.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "dispatch/context.h"
#include "gpu/cubin.h"
#include "gpu/device.h"
#include "gpu/nvrtc.h"
#include "template/task.h"
#include "tuner/cli/options.h"
#include "tuner/cli/table.h"
#include "tuner/occupancy.h"

enum { ROWS_AND_COLS = 4096 }; /* of the problem, if none is named */

/* What can make a launch exceed a limit. */
static const struct {
    const char *key, *text;
} parts[TT__PART_COUNT] = {
    [TT__PART_BLOCK] = {"block", "limit: threads of a block"},
    [TT__PART_GRID] = {"grid", "limit: blocks of the grid"},
    [TT__PART_SHARED] = {"shared", "limit: shared memory of a block"},
    [TT__PART_ARGS] = {"args", "limit: numbers that fit i32"},
};

typedef struct examined {
    tt__template *t;
    tt__gpu gpu;
    tt__problem p;
    tt__space space; /* the first is the default, if that is legal here */
    tt__survey survey;
    bool counted; /* else there are too many combinations, and the survey has no more than their number */
    tt__str not_default;   /* why the default is not legal here */
    tt__cubin_needs needs; /* of the first */
    int resident_blocks;   /* on an SM; -1: not known */
    double occupancy;
    tt__str not_compiled; /* "" if the needs are known */
    bool refused;         /* by the compiler */
} examined;

static void free_examined(examined *e) {
    tt__template_free(&e->t);
    tt__space_free(&e->space);
    tt__str_free(&e->not_default);
    tt__str_free(&e->not_compiled);
}

tt__gpu tt__cli_typical_gpu(void) {
    return (tt__gpu){.name = "a typical GPU",
                     .cc = 90,
                     .sm_count = 132,
                     .max_threads_per_block = 1024,
                     .shared_per_block = 227 << 10,
                     .memory_bytes = INT64_C(80) << 30,
                     .l2_bytes = INT64_C(50) << 20};
}

/* --gpu, as the stores know it; the first device here; or a typical one. */
static tt_status choose_gpu(tt__gpu *out, const tt__cli_args *args) {
    if (!args->gpu) {
        if (tt__device_gpu(out, 0) != TT_OK)
            *out = tt__cli_typical_gpu();
        return TT_OK;
    }
    bool absent = tt__cli_store_absent(args);
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_ctx *ctx = NULL;
    int64_t gpu_id;
    open.db_path = absent ? ":memory:" : args->db;
    open.gpu = args->gpu;
    open.read_only = !absent;
    tt_status status = tt_open(&ctx, &open);
    if (status == TT_OK)
        status = tt__context_gpu(ctx, out, &gpu_id);
    tt_close(&ctx);
    return status;
}

/* Of a task of its own. */
static tt_status choose_own_problem(tt__problem *out, const tt__template *t, const tt__cli_args *args) {
    const char **problems;
    size_t n;
    if (args->n_problems || args->in_place)
        return tt__fail(TT_E_INVALID, "%s says itself what it works on: give --problem in place of shapes",
                        t->path);
    if (args->n_texts > 1)
        return tt__fail(TT_E_INVALID, "%zu problems, but check counts for one: ask for each", args->n_texts);
    TT_TRY(tt__cli_own_problems(&problems, &n, args));
    tt_status status = tt__task_problem(out, t, problems[0]);
    free(problems);
    return status;
}

static tt_status choose_problem(tt__problem *out, const tt__template *t, const tt__cli_args *args) {
    if (t->own)
        return choose_own_problem(out, t, args);
    if (args->n_texts)
        return tt__fail(TT_E_INVALID, "--problem %s: %s is a template for `op %s`, whose problems are shapes",
                        args->texts[0], t->kernel, t->op);
    if (args->n_problems > 1)
        return tt__fail(TT_E_INVALID, "%zu problems, but check counts for one: ask for each",
                        args->n_problems);
    bool in_place = strcmp(t->op, "transpose_in_place") == 0;
    if (args->in_place && !in_place)
        return tt__fail(TT_E_INVALID, "--in-place: %s is a %s, not a transpose_in_place", t->kernel, t->op);
    tt_problem asked =
        args->n_problems ? args->problems[0] : tt__cli_problem(args, ROWS_AND_COLS, ROWS_AND_COLS);
    asked.in_place = in_place;
    TT_TRY(tt__problem_init(out, &asked));
    if (strcmp(t->op, "copy") == 0)
        *out = tt__problem_copy(out);
    tt__copy(out->op, sizeof out->op, t->op);
    return TT_OK;
}

static tt_status count(examined *e) {
    TT_TRY(tt__space_add(&e->space, e->t, &e->gpu, &e->p));
    tt_status status = tt__space_survey(&e->survey, e->t, &e->gpu, &e->p);
    e->counted = status == TT_OK;
    if (status != TT_OK &&
        status != TT_E_TEMPLATE) /* which here means too many: their launches are checked */
        return status;
    tt__candidate c;
    status = tt__space_resolve(&c, e->t, &e->gpu, &e->p, e->t->default_config);
    if (status == TT_E_UNSUPPORTED)
        tt__str_add(&e->not_default, tt_last_error());
    return status == TT_E_UNSUPPORTED ? TT_OK : status;
}

static tt_status compile_one(examined *e, const tt__candidate *c) {
    tt__str options = {0}, cubin = {0};
    int n;
    tt_status status = tt__config_options(&options, &n, e->t, c->config, &e->p);
    if (status == TT_OK)
        status = tt__nvrtc_compile(&cubin, e->t->path, e->t->source, tt__str_text(&options), n, e->gpu.cc);
    if (status == TT_OK)
        status = tt__cubin_read(&e->needs, tt__str_text(&cubin), cubin.len, e->t->kernel);
    tt__str_free(&options);
    tt__str_free(&cubin);
    return status;
}

static tt_status compile(examined *e) {
    if (e->space.n == 0) {
        tt__str_add(&e->not_compiled, "no configuration does this problem");
        return TT_OK;
    }
    const tt__candidate *c = &e->space.items[0];
    tt_status status = compile_one(e, c);
    if (status == TT_OK) {
        const tt__pass *l = &c->launch.passes[0];
        tt__block_needs needs = {.threads = (int)(l->block[0] * l->block[1] * l->block[2]),
                                 .regs = e->needs.regs,
                                 .shared_bytes = e->needs.static_shared_bytes + (int)l->shared_bytes};
        e->resident_blocks = tt__resident_blocks(e->gpu.cc, &needs);
        e->occupancy = tt__occupancy(e->gpu.cc, &needs);
        return TT_OK;
    }
    e->refused = status == TT_E_COMPILE;
    tt__str_add(&e->not_compiled, tt_last_error());
    return status == TT_E_COMPILE || status == TT_E_NO_NVRTC || status == TT_E_UNSUPPORTED ? TT_OK : status;
}

/* ---- As text ------------------------------------------------------------------------------------------- */

static tt_status print_table(tt__table *t) {
    tt_status status = tt__table_print(t, stdout, tt__cli_columns(STDOUT_FILENO));
    tt__table_free(t);
    return status;
}

static tt_status print_params(const tt__template *t) {
    static const tt__column columns[] = {
        {"parameter", false, false}, {"", false, false}, {"values", false, true}};
    tt__table table = {.n_columns = 3, .columns = columns};
    if (t->n_params == 0)
        return TT_OK;
    for (size_t i = 0; i < t->n_params; i++) {
        tt__str values = {0};
        for (size_t v = 0; v < t->params[i].n_values; v++)
            tt__str_addf(&values, "%s%s", v ? " " : "", t->params[i].values[v]);
        tt__table_cell(&table, "%s", t->params[i].name);
        tt__table_cell(&table, "%s", t->params[i].runtime ? "run time" : "macro");
        tt__table_cell(&table, "%s", tt__str_text(&values));
        tt__str_free(&values);
    }
    printf("\n");
    return print_table(&table);
}

static const char *const directions[] = {"in", "out", "inout", "scratch", "scalar"}; /* as in tt__direction */

/* What it works on, and what says whether it is right. */
static tt_status print_task(const examined *e) {
    static const tt__column columns[] = {{"operand", false, false},
                                         {"", false, false},
                                         {"type", false, false},
                                         {"elements", true, false},
                                         {"bytes", true, false}};
    tt__table table = {.n_columns = 5, .columns = columns};
    const tt__task *task = e->t->own;
    tt__workload *w = task ? malloc(sizeof *w) : NULL;
    if (!task)
        return TT_OK;
    tt_status status = w ? tt__workload_of(w, e->t, &e->gpu, &e->p) : tt__fail_memory(sizeof *w);
    for (int i = 0; status == TT_OK && i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        tt__table_cell(&table, "%s", a->name);
        tt__table_cell(&table, "%s", directions[a->direction]);
        tt__table_cell(&table, "%s", tt__types[a->type].name);
        tt__table_cell(&table, a->count ? "%lld" : "-", (long long)a->count);
        tt__table_cell(&table, a->count ? "%lld" : "-", (long long)tt__array_bytes(a));
    }
    free(w);
    printf("\n");
    if (status == TT_OK)
        status = print_table(&table);
    printf("\n%s%s\n",
           task->has_reference ? "verified against "
           : tt__task_verifies(task)
               ? "verified against raw data"
               : "NOT VERIFIED: no `reference`, no `expect`; tuning it takes --unverified",
           task->has_reference ? task->reference.name[0] : "");
    return status;
}

static tt_status print_survey(const examined *e) {
    static const tt__column columns[] = {
        {"removes", true, false}, {"alone", true, false}, {"line", true, false}, {"what", false, true}};
    tt__table table = {.n_columns = 4, .columns = columns};
    char problem[TT__PROBLEM_TEXT_MAX];
    printf("\n%s, %d-byte elements, align %d, on %s (sm_%d): %.0f combinations of values,\n"
           "%zu configuration%s\n",
           tt__problem_text(problem, &e->p), e->p.elem_size, e->p.align, e->gpu.name, e->gpu.cc,
           e->survey.combinations, e->space.n, e->space.n == 1 ? "" : "s");
    if (!e->counted) {
        printf("These are too many to count what each `where` removes.\n");
        return TT_OK;
    }
    for (size_t i = 0; i < e->t->n_wheres; i++) {
        tt__table_cell(&table, "%zu", e->survey.wheres[i].removed);
        tt__table_cell(&table, "%zu", e->survey.wheres[i].alone);
        tt__table_cell(&table, "%d", e->t->wheres[i].line);
        tt__table_cell(&table, "where %s", e->t->wheres[i].text);
    }
    for (size_t i = 0; i < TT__PART_COUNT; i++) {
        tt__table_cell(&table, "%zu", e->survey.beyond[i]);
        tt__table_cell(&table, "%s", "");
        tt__table_cell(&table, "%s", "");
        tt__table_cell(&table, "%s", parts[i].text);
    }
    printf("\n");
    return print_table(&table);
}

static void add_needs(tt__table *table, const examined *e) {
    const tt__cubin_needs *n = &e->needs;
    tt__table_cell(table, "compiled");
    if (*tt__str_text(&e->not_compiled)) {
        tt__table_cell(table, "%s: %s", e->refused ? "FAILED" : "not known",
                       e->refused ? "the compiler's words are below" : tt__str_text(&e->not_compiled));
        return;
    }
    tt__str stack = {0};
    tt__str_addf(&stack,
                 "%d bytes of local memory a thread (spilled registers, or arrays indexed at run time)",
                 n->stack_bytes);
    tt__table_cell(table, "sm_%d: %d registers, %d bytes of static shared memory, %s", e->gpu.cc, n->regs,
                   n->static_shared_bytes, n->stack_bytes ? tt__str_text(&stack) : "nothing spilled");
    tt__str_free(&stack);
    tt__table_cell(table, "occupancy");
    if (e->resident_blocks > 0)
        tt__table_cell(table, "%.1f%%: an SM holds %d of these blocks at once", e->occupancy * 100,
                       e->resident_blocks);
    else
        tt__table_cell(table, "%s",
                       e->resident_blocks == 0
                           ? "none: a block needs more registers or shared memory than an SM has"
                           : "not known for this architecture");
}

static tt_status print_first(const examined *e) {
    static const tt__column columns[] = {{"", false, false}, {"", false, true}};
    tt__table table = {.n_columns = 2, .columns = columns};
    if (*tt__str_text(&e->not_default)) {
        tt__table_cell(&table, "default");
        tt__table_cell(&table, "not legal here: %s", tt__str_text(&e->not_default));
    }
    if (e->space.n) {
        const tt__candidate *c = &e->space.items[0];
        const unsigned *grid = c->launch.passes[0].grid, *block = c->launch.passes[0].block;
        tt__table_cell(&table, "%s", *tt__str_text(&e->not_default) ? "first" : "default");
        tt__table_cell(&table, "%s", *c->config ? c->config : "no parameters");
        tt__table_cell(&table, "launch");
        tt__table_cell(&table, "grid %ux%ux%u, block %ux%ux%u, %u bytes of dynamic shared memory", grid[0],
                       grid[1], grid[2], block[0], block[1], block[2], c->launch.passes[0].shared_bytes);
        add_needs(&table, e);
    }
    printf("\n");
    return print_table(&table);
}

static tt_status print_text(const examined *e) {
    printf("%s: kernel %s", e->t->path, e->t->kernel);
    for (int i = 1; i < e->t->n_passes; i++)
        printf(", then %s", e->t->symbols.name[i]);
    if (!e->t->own)
        printf(", op %s", e->t->op);
    printf("\n");
    TT_TRY(print_task(e));
    TT_TRY(print_params(e->t));
    TT_TRY(print_survey(e));
    return print_first(e);
}

/* ---- As JSON ------------------------------------------------------------------------------------------- */

static void write_template(tt__json *j, const tt__template *t) {
    tt__json_string(j, "file", t->path);
    tt__json_string(j, "kernel", t->kernel);
    tt__json_string(j, "op", t->op);
    tt__json_string(j, "hash", t->hash);
    tt__json_open(j, "params", '[');
    for (size_t i = 0; i < t->n_params; i++) {
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "name", t->params[i].name);
        tt__json_string(j, "kind", t->params[i].runtime ? "runtime" : "macro");
        tt__json_open(j, "values", '[');
        for (size_t v = 0; v < t->params[i].n_values; v++)
            tt__json_string(j, NULL, t->params[i].values[v]);
        tt__json_close(j, ']');
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
}

/* Of a kernel of one's own: the problem, the operands, and what says whether they are right. */
static tt_status write_task(tt__json *j, const examined *e) {
    const tt__task *task = e->t->own;
    char text[TT__PROBLEM_TEXT_MAX];
    tt__workload *w = malloc(sizeof *w);
    tt_status status = w ? tt__workload_of(w, e->t, &e->gpu, &e->p) : tt__fail_memory(sizeof *w);
    tt__json_string(j, "problem", tt__problem_text(text, &e->p));
    tt__json_open(j, "operands", '[');
    for (int i = 0; status == TT_OK && i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "name", a->name);
        tt__json_string(j, "direction", directions[a->direction]);
        tt__json_string(j, "type", tt__types[a->type].name);
        tt__json_int(j, "count", a->count);
        tt__json_int(j, "bytes", tt__array_bytes(a));
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    if (task->has_reference)
        tt__json_string(j, "reference", task->reference.name[0]);
    else
        tt__json_number(j, "reference", (double)NAN, 1);
    if (!tt__task_verifies(task))
        tt__json_int(j, "unverified", 1);
    free(w);
    return status;
}

static void write_space(tt__json *j, const examined *e) {
    tt__json_string(j, "gpu", e->gpu.name);
    tt__json_int(j, "cc", e->gpu.cc);
    if (!e->t->own) {
        tt__json_int(j, "rows", e->p.rows);
        tt__json_int(j, "cols", e->p.cols);
    }
    tt__json_int(j, "elem_size", e->p.elem_size);
    tt__json_int(j, "align", e->p.align);
    tt__json_number(j, "combinations", e->survey.combinations, 17);
    tt__json_int(j, "configurations", (int64_t)e->space.n);
    if (!e->counted) {
        tt__json_number(j, "wheres", (double)NAN, 1);
        tt__json_number(j, "limits", (double)NAN, 1);
        return;
    }
    tt__json_open(j, "wheres", '[');
    for (size_t i = 0; i < e->t->n_wheres; i++) {
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "text", e->t->wheres[i].text);
        tt__json_int(j, "line", e->t->wheres[i].line);
        tt__json_int(j, "removes", (int64_t)e->survey.wheres[i].removed);
        tt__json_int(j, "alone", (int64_t)e->survey.wheres[i].alone);
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    tt__json_open(j, "limits", '{');
    for (size_t i = 0; i < TT__PART_COUNT; i++)
        tt__json_int(j, parts[i].key, (int64_t)e->survey.beyond[i]);
    tt__json_close(j, '}');
}

static void write_triple(tt__json *j, const char *key, const unsigned *values) {
    tt__json_open(j, key, '[');
    for (size_t i = 0; i < 3; i++)
        tt__json_int(j, NULL, values[i]);
    tt__json_close(j, ']');
}

static void write_first(tt__json *j, const examined *e) {
    bool known = !*tt__str_text(&e->not_compiled);
    if (e->space.n) {
        const tt__candidate *c = &e->space.items[0];
        tt__json_config(j, "config", c->config);
        write_triple(j, "grid", c->launch.passes[0].grid);
        write_triple(j, "block", c->launch.passes[0].block);
        tt__json_int(j, "shared_bytes", c->launch.passes[0].shared_bytes);
    } else {
        tt__json_number(j, "config", (double)NAN, 1);
    }
    tt__json_number(j, "regs", known ? e->needs.regs : (double)NAN, 9);
    tt__json_number(j, "static_shared_bytes", known ? e->needs.static_shared_bytes : (double)NAN, 9);
    tt__json_number(j, "stack_bytes", known ? e->needs.stack_bytes : (double)NAN, 9);
    tt__json_number(j, "occupancy", known && e->resident_blocks >= 0 ? e->occupancy : (double)NAN, 4);
    tt__json_string(j, "not_default", tt__str_text(&e->not_default));
    tt__json_string(j, "not_compiled", tt__str_text(&e->not_compiled));
}

static tt_status print_json(const examined *e) {
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__json_open(&j, NULL, '{');
    write_template(&j, e->t);
    tt_status status = e->t->own ? write_task(&j, e) : TT_OK;
    write_space(&j, e);
    write_first(&j, e);
    tt__json_close(&j, '}');
    if (status != TT_OK) {
        tt__str_free(&text);
        return status;
    }
    return tt__cli_print_json(&text) == TT__EXIT_OK ? TT_OK : TT_E_NO_MEMORY;
}

int tt__cli_check_template(const tt__cli_args *args, const char *path) {
    examined e = {0};
    tt_status status;
    TT_GOTO(tt__template_load(&e.t, path));
    TT_GOTO(choose_problem(&e.p, e.t, args));
    TT_GOTO(choose_gpu(&e.gpu, args));
    TT_GOTO(count(&e));
    TT_GOTO(compile(&e));
    TT_GOTO(args->json ? print_json(&e) : print_text(&e));
    if (e.refused) {
        fflush(stdout);
        status = tt__fail(TT_E_TEMPLATE, "%s", tt__str_text(&e.not_compiled));
    }
out:
    free_examined(&e);
    return tt__cli_fail(status);
}
