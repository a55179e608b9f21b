/* `tune` itself: runs tt_tune and prints what won. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/json.h"
#include "gpu/device.h"
#include "tuner/cli/judge.h"
#include "tuner/cli/options.h"
#include "tuner/cli/running.h"
#include "tuner/cli/table.h"

/* ---- Results ---- */

static void add_matrix_json(tt__json *j, const tt_result *r) {
    char op[32];
    snprintf(op, sizeof op, "transpose%s%s", r->in_place ? "_in_place" : "", r->warm ? TT__WARM : "");
    tt__json_string(j, "op", op);
    tt__json_int(j, "rows", r->rows);
    tt__json_int(j, "cols", r->cols);
    tt__json_int(j, "batch", r->batch);
}

static void add_result_json(tt__json *j, const tt_result *r, bool own) {
    bool won = r->kernel[0];
    tt__json_open(j, NULL, '{');
    tt__json_string(j, "problem", r->problem);
    if (!own)
        add_matrix_json(j, r);
    else if (r->warm)
        tt__json_int(j, "warm", 1);
    tt__json_int(j, "elem_size", r->elem_size);
    if (won)
        tt__json_string(j, "kernel", r->kernel);
    else
        tt__json_number(j, "kernel", tt__cli_known(0), 1);
    tt__json_config(j, "config", r->config);
    tt__json_number(j, "time_us", tt__cli_known(r->time_us), 7);
    tt__json_number(j, "gbps", tt__cli_known(r->gbps), 6);
    tt__json_number(j, "copy_us", tt__cli_known(r->copy_us), 7);
    tt__json_number(j, "copy_fraction", tt__cli_known(r->copy_fraction), 5);
    tt__json_number(j, "peak_fraction", tt__cli_known(r->peak_fraction), 5);
    if (*r->metrics)
        tt__json_string(j, "metrics", r->metrics);
    if (r->unverified)
        tt__json_int(j, "unverified", 1);
    tt__json_number(j, "speedup_vs_default", tt__cli_known(r->speedup_vs_default), 5);
    tt__json_int(j, "trials", (int64_t)r->trials);
    tt__json_int(j, "failed", (int64_t)r->failed);
    tt__json_int(j, "space", (int64_t)r->space);
    tt__json_string(j, "source", tt_source_name(r->source));
    tt__json_string(j, "note", r->note);
    tt__json_close(j, '}');
}

static int print_json(const tt_report *report, bool own) {
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "gpu", report->gpu);
    tt__json_string(&j, "driver", report->driver);
    tt__json_string(&j, "nvrtc", report->nvrtc);
    tt__json_open(&j, "results", '[');
    for (size_t i = 0; i < report->n_results; i++)
        add_result_json(&j, &report->results[i], own);
    tt__json_close(&j, ']');
    tt__json_number(&j, "wall_s", report->wall_s, 6);
    tt__json_close(&j, '}');
    return tt__cli_print_json(&text);
}

static const tt__column columns[] = {
    {"size", false, false},   {"kernel", false, false},    {"configuration", false, true},
    {"time", true, false},    {"GB/s", true, false},       {"of copy", true, false},
    {"of peak", true, false}, {"vs default", true, false}, {"source", false, false},
};

static const tt__column own_columns[] = {
    {"problem", false, true},  {"configuration", false, true}, {"time", true, false},
    {"metrics", false, false}, {"of copy", true, false},       {"vs default", true, false},
    {"source", false, false},
};

/* What all results share stands in the title; where they differ, as with --stale, each row has its own. */
typedef struct shared_words {
    bool in_place, elem_size, batch, warm;
} shared_words;

static shared_words find_shared(const tt_report *report) {
    const tt_result *first = &report->results[0];
    shared_words s = {true, true, true, true};
    for (size_t i = 1; i < report->n_results; i++) {
        const tt_result *r = &report->results[i];
        s.in_place = s.in_place && r->in_place == first->in_place;
        s.elem_size = s.elem_size && r->elem_size == first->elem_size;
        s.batch = s.batch && r->batch == first->batch;
        s.warm = s.warm && r->warm == first->warm;
    }
    return s;
}

/* Appends ", 2-byte elements, batch of 3, warm": of these what `which` says. */
static void add_words(tt__str *out, const tt_result *r, shared_words which) {
    if (which.in_place && r->in_place)
        tt__str_add(out, ", in place");
    if (which.elem_size)
        tt__str_addf(out, ", %d-byte elements", r->elem_size);
    if (which.batch && r->batch > 1)
        tt__str_addf(out, ", batch of %lld", (long long)r->batch);
    if (which.warm && r->warm)
        tt__str_add(out, ", warm");
}

static void add_result_row(tt__table *t, const tt_result *r, shared_words shared) {
    char time[32], copy[16], peak[16];
    tt__str words = {0};
    add_words(&words, r, (shared_words){!shared.in_place, !shared.elem_size, !shared.batch, !shared.warm});
    tt__table_cell(t, "%lldx%lld%s", (long long)r->rows, (long long)r->cols, tt__str_text(&words));
    tt__str_free(&words);
    tt__table_cell(t, "%s", r->kernel[0] ? r->kernel : "no winner");
    tt__table_cell(t, "%s", r->kernel[0] ? r->config : "-");
    tt__table_cell(t, "%s", tt__cli_time(time, sizeof time, r->time_us));
    tt__table_cell(t, r->gbps > 0 ? "%.0f" : "-", r->gbps);
    tt__table_cell(t, "%s", tt__cli_percent(copy, sizeof copy, r->copy_fraction));
    tt__table_cell(t, "%s", tt__cli_percent(peak, sizeof peak, r->peak_fraction));
    tt__table_cell(t, r->speedup_vs_default > 0 ? "%.2fx" : "-", r->speedup_vs_default);
    tt__table_cell(t, "%s", tt_source_name(r->source));
}

static void add_own_row(tt__table *t, const tt_result *r) {
    char time[32], copy[16];
    tt__table_cell(t, "%s", r->problem);
    tt__table_cell(t, "%s", !r->kernel[0] ? "no winner" : *r->config ? r->config : "the only one");
    tt__table_cell(t, "%s", tt__cli_time(time, sizeof time, r->time_us));
    tt__table_cell(t, "%s", *r->metrics ? r->metrics : "-");
    tt__table_cell(t, "%s", tt__cli_percent(copy, sizeof copy, r->copy_fraction));
    tt__table_cell(t, r->speedup_vs_default > 0 ? "%.2fx" : "-", r->speedup_vs_default);
    tt__table_cell(t, "%s%s", tt_source_name(r->source), r->unverified ? ", not verified" : "");
}

static void print_footer(const tt_report *report, const tt__cli_args *args) {
    size_t trials = 0, failed = 0, space = 0;
    char wall[32];
    tt__str path = {0};
    for (size_t i = 0; i < report->n_results; i++) {
        trials += report->results[i].trials;
        failed += report->results[i].failed;
        space += report->results[i].space;
    }
    printf("\n%zu of %zu configurations tried, %zu failed, in %s.", trials, space, failed,
           tt__cli_duration(wall, sizeof wall, report->wall_s));
    if (args->replay && !args->db)
        printf(" Replayed from %s; nothing was stored.\n", args->replay);
    else if (args->replay)
        printf(" Replayed from %s into %s.\n", args->replay, args->db);
    else if (args->db && strcmp(args->db, ":memory:") == 0)
        printf(" Nothing was stored.\n");
    else if (tt__cli_store_path(&path, args) == TT_OK)
        printf(" Winners are in %s.\n", tt__str_text(&path));
    else
        printf("\n");
    tt__str_free(&path);
}

static int print_table(const tt_report *report, const tt__cli_args *args) {
    const bool own = args->kernel_file;
    tt__table t = {.n_columns =
                       own ? sizeof own_columns / sizeof *own_columns : sizeof columns / sizeof *columns,
                   .columns = own ? own_columns : columns};
    printf("%s", report->gpu);
    if (report->driver[0])
        printf(", driver %s", report->driver);
    if (report->nvrtc[0])
        printf(", NVRTC %s", report->nvrtc);
    tt__str words = {0};
    shared_words shared = find_shared(report);
    if (own && report->results[0].warm)
        tt__str_add(&words, ", warm");
    else if (!own)
        add_words(&words, &report->results[0], shared);
    printf("%s: %s%s\n\n", args->replay ? ", replayed" : "", own ? args->kernel_file : "transpose",
           tt__str_text(&words));
    tt__str_free(&words);
    for (size_t i = 0; i < report->n_results; i++)
        if (own)
            add_own_row(&t, &report->results[i]);
        else
            add_result_row(&t, &report->results[i], shared);
    tt_status status = tt__table_print(&t, stdout, tt__cli_columns(STDOUT_FILENO));
    tt__table_free(&t);
    if (status == TT_OK)
        print_footer(report, args);
    return tt__cli_fail(status);
}

/* Prints what the run knows, in either form, and says on standard error which problems have no winner. */
static int print_report(const tt_report *report, const tt__cli_args *args) {
    int code = TT__EXIT_OK;
    if (args->json)
        code = print_json(report, args->kernel_file != NULL);
    else if (report->n_results)
        code = print_table(report, args);
    fflush(stdout); /* before whatever comes on standard error */
    for (size_t i = 0; i < report->n_results; i++) {
        const tt_result *r = &report->results[i];
        if (!r->kernel[0] && r->note[0])
            fprintf(stderr, "tune: %s: %s\n", r->problem, r->note);
        if (!r->kernel[0] && code == TT__EXIT_OK)
            code = TT__EXIT_NO_WINNER;
    }
    return code;
}

typedef struct call {
    const tt__cli_args *args;
    tt_report *report;
} call;

static tt_status tune_own(call *c, tt_ctx *ctx, const tt_tune_opts *opts) {
    tt_kernel *kernel = NULL;
    const char **problems = NULL;
    size_t n;
    tt_status status = tt_kernel_open(&kernel, ctx, c->args->kernel_file, NULL);
    if (status == TT_OK)
        status = tt__cli_own_problems(&problems, &n, c->args);
    if (status == TT_OK)
        status = tt_kernel_tune(&c->report, kernel, problems, n, opts);
    free(problems);
    tt_kernel_close(&kernel);
    return status;
}

static tt_status tune(void *user, tt_ctx *ctx, const tt_tune_opts *opts) {
    call *c = user;
    if (c->args->kernel_file)
        return tune_own(c, ctx, opts);
    return tt_tune(&c->report, ctx, c->args->problems, c->args->n_problems, opts);
}

/* ---- --stale ---- */

typedef struct stale_problems {
    const tt__judge *judge;
    tt__gpu gpu; /* of the device */
    size_t n, n_unknown, n_own;
    tt_problem *problems;
} stale_problems;

static tt_status add_stale(void *user, const tt__winner *w) {
    stale_problems *s = user;
    char why[160];
    tt__judge_winner(s->judge, w, why, sizeof why);
    if (!*why || !tt__same_gpu(&w->gpu, &s->gpu))
        return TT_OK;
    if (!tt__is_matrix(&w->problem)) {
        s->n_own++;
        return TT_OK;
    }
    if (!tt__template_set_find(&s->judge->templates, w->kernel)) {
        s->n_unknown++;
        return TT_OK;
    }
    TT_TRY(TT__GROW(s->problems, s->n));
    s->problems[s->n++] = tt__problem_public(&w->problem);
    return TT_OK;
}

static tt_status find_stale(const tt__cli_args *args, stale_problems *out) {
    tt__store *store = NULL;
    tt__judge judge = {0};
    tt_status status;
    *out = (stale_problems){.judge = &judge};
    TT_GOTO(tt__cli_store_open(&store, args));
    TT_GOTO(tt__device_gpu(&out->gpu, args->device));
    TT_GOTO(tt__judge_open(&judge, store, args));
    TT_GOTO(tt__store_winners(store, 0, out->gpu.cc, NULL, 0, add_stale, out));
    if (out->n_unknown && !args->quiet)
        fprintf(stderr, "tune: %zu more %s of templates that are not here: name them with --template\n",
                out->n_unknown, out->n_unknown == 1 ? "is" : "are");
    if (out->n_own && !args->quiet)
        fprintf(stderr, "tune: %zu more %s of kernels of yours: tune each with --kernel and --problem\n",
                out->n_own, out->n_own == 1 ? "is" : "are");
out:
    tt__judge_close(&judge);
    tt__store_close(&store);
    return status;
}

static int run(const tt__cli_args *args);

static int run_stale(const tt__cli_args *args) {
    stale_problems found;
    int code;
    tt_status status = find_stale(args, &found);
    if (status != TT_OK) {
        code = tt__cli_fail(status);
    } else if (found.n == 0 && !args->json) {
        printf("Nothing of %s is stale.\n", found.gpu.name);
        code = TT__EXIT_OK;
    } else if (found.n == 0) {
        tt_report none = {0};
        tt__copy(none.gpu, sizeof none.gpu, found.gpu.name);
        code = print_json(&none, false);
    } else {
        tt__cli_args chosen = *args;
        chosen.stale = false;
        chosen.n_problems = found.n;
        chosen.problems = found.problems;
        code = run(&chosen);
    }
    free(found.problems);
    return code;
}

static tt_status check_what(const tt__cli_args *args) {
    if (!args->kernel_file && args->n_texts)
        return tt__fail(TT_E_INVALID, "--problem %s is of a kernel of yours: name its file with --kernel",
                        args->texts[0]);
    if (!args->kernel_file && args->n_problems == 0)
        return tt__fail(TT_E_INVALID,
                        "nothing to tune: give --sizes or --shapes, as in \"tune --device 0 --sizes "
                        "4096,8192\", or a kernel of yours with --kernel FILE.cu");
    if (args->kernel_file && (args->n_problems || args->elem_size || args->batch || args->lds || args->ldd ||
                              args->align || args->in_place))
        return tt__fail(TT_E_INVALID,
                        "%s: a kernel of yours has no sizes, shapes or layouts of matrices: its file says "
                        "what --problem may name",
                        args->kernel_file);
    if (args->kernel_file && (args->n_only || args->n_templates))
        return tt__fail(TT_E_INVALID,
                        "%s competes with nobody: leave --only and --template out, which are about "
                        "templates for transposes",
                        args->kernel_file);
    return TT_OK;
}

static tt_status check(const tt__cli_args *args) {
    if (!args->stale)
        return check_what(args);
    if (args->n_problems || args->replay)
        return tt__fail(TT_E_INVALID,
                        "--stale tunes what \"tune list\" calls stale, on a device: leave %s out",
                        args->replay ? "replay" : "sizes and shapes");
    if (args->kernel_file || args->n_texts)
        return tt__fail(TT_E_INVALID,
                        "--stale tunes transposes: leave --kernel and --problem out, or tune a kernel of "
                        "yours without --stale");
    if (args->elem_size || args->batch || args->lds || args->ldd || args->align || args->in_place ||
        args->warm)
        return tt__fail(TT_E_INVALID,
                        "--stale tunes each problem as it is stored: leave --elem-size, --dtype, "
                        "--batch, --lds, --ldd, --align, --in-place and --warm out");
    return TT_OK;
}

static int run(const tt__cli_args *args) {
    if (args->stale)
        return run_stale(args);
    call c = {.args = args};
    tt_status status = tt__cli_running(args, tune, &c);
    tt_report *report = c.report;
    int code = report ? print_report(report, args) : TT__EXIT_OK;
    bool noted = code == TT__EXIT_NO_WINNER && status == TT_E_NO_WINNER;
    for (size_t i = 0; noted && i < report->n_results; i++)
        noted = report->results[i].kernel[0] || report->results[i].note[0];
    tt_report_free(&report);
    if (status == TT_E_INTERRUPTED)
        return tt__cli_interrupted(args);
    if (status == TT_OK || noted)
        return code;
    return tt__cli_fail(status);
}

static const tt__cli_option options[] = {
    {"sizes", "N[,N...]", "square matrices to tune for", tt__cli_set_sizes, 0},
    {"shapes", "RxC[,RxC...]", "matrices of R rows and C columns to tune for", tt__cli_set_shapes, 0},
    TT__OPT_ELEM_SIZE,
    TT__OPT_DTYPE,
    TT__OPTS_LAYOUT,
    {"device", "N|replay:FILE",
     "the CUDA device, default 0; or a recording to search\ninstead, without any GPU", tt__cli_set_device, 0},
    TT__OPT_TEMPLATE,
    {"kernel", "FILE.cu", "a kernel of yours in place of transposes: \"tune new\" writes one", NULL,
     offsetof(tt__cli_args, kernel_file)},
    TT__OPT_PROBLEM,
    {"unverified", NULL, "tune a kernel of yours although nothing says what is right", NULL,
     offsetof(tt__cli_args, unverified)},
    {"only", "NAME[,NAME...]", "of the templates (by kernel name) only these compete, and\nthe stored winner",
     tt__cli_add_only, 0},
    TT__OPT_DB,
    TT__OPTS_SEARCH,
    {"stale", NULL, "tune what \"tune list\" calls stale, and nothing else", NULL,
     offsetof(tt__cli_args, stale)},
    {"force", NULL, "measure again what is stored already", NULL, offsetof(tt__cli_args, force)},
    {"jobs", "N", "compile processes; default one for each CPU", tt__cli_set_jobs, 0},
    {"trial-timeout", "S", "seconds until a configuration is given up; default 10", tt__cli_set_trial_timeout,
     0},
    {"compile-timeout", "S", "seconds until a compiler is given up; default 60", tt__cli_set_compile_timeout,
     0},
    {"trace", "FILE", "write a timeline of the run, for chrome://tracing or Perfetto", NULL,
     offsetof(tt__cli_args, trace)},
    TT__OPT_JSON,
    {"quiet", NULL, "only errors on standard error", NULL, offsetof(tt__cli_args, quiet)},
    TT__OPT_HELP,
    {"version", NULL, "the version", NULL, offsetof(tt__cli_args, version)},
    TT__OPT_END,
};

const tt__cli_command tt__cmd_tune = {
    .name = "",
    .usage = "tune [--device N|replay:FILE] --sizes N[,N...] | --shapes RxC[,RxC...] |\n"
             "            --kernel FILE.cu [--problem NAME=VALUE[,...]] [options]",
    .summary = "finds the fastest matrix transpose for a GPU and remembers it",
    .notes = "Examples:\n"
             "  tune --device 0 --sizes 4096,8192\n"
             "  tune --shapes 4096x1024 --dtype f16 --json\n"
             "  tune --kernel saxpy.cu --problem n=16777216\n"
             "  tune --device replay:recordings/h200.json --sizes 4096\n"
             "\n"
             "Exit codes: 0 done, 1 a problem has no winner, 2 usage, 3 no device, driver or NVRTC,\n"
             "4 the store, 130 interrupted.\n",
    .options = options,
    .check = check,
    .run = run,
};
