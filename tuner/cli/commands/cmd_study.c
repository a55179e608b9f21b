/*
 * `tune study`: runs the study and prints a ladder for each problem, as a table, JSON or CSV.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/cli/commands/study.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/running.h"
#include "tuner/cli/shell/table.h"

enum { BAR = 6, BAR_FROM = 98 /* columns of the terminal */ };

typedef struct call {
    const tt__cli_args *args;
    tt_report *report;
    tt__ladder *ladders; /* one per problem */
} call;

static tt_status study(void *user, tt_ctx *ctx, const tt_tune_opts *opts) {
    call *c = user;
    return tt__study_run(&c->report, c->ladders, ctx, c->args->problems, c->args->n_problems, opts);
}

/* The number of studied problems; less than all after an interrupt. */
static bool studied(const tt__ladder *ladder) {
    return ladder->problem.op[0] != '\0';
}

static bool measured(const tt__rung *rung) {
    return rung->gbps > 0;
}

/* Why a rung has no time, or "". */
static const char *reason(const tt__rung *rung) {
    if (!rung->kernel[0])
        return "not for this problem";
    if (measured(rung))
        return "";
    return rung->trial.reason[0] ? rung->trial.reason : tt__trial_status_name(rung->trial.status);
}

/* ---- JSON ---- */

static void add_rung_json(tt__json *j, tt__rung_id id, const tt__rung *rung) {
    tt__json_open(j, NULL, '{');
    tt__json_string(j, "rung", tt__rungs[id].name);
    if (rung->kernel[0])
        tt__json_string(j, "kernel", rung->kernel);
    else
        tt__json_number(j, "kernel", tt__cli_known(0), 1);
    tt__json_config(j, "config", rung->config);
    TT__JSON_KNOWN(j, {"time_us", rung->trial.time_us, 7}, {"gbps", rung->gbps, 6},
                   {"speedup_vs_naive", rung->speedup, 5}, {"copy_fraction", rung->copy_fraction, 5},
                   {"peak_fraction", rung->peak_fraction, 5}, {"occupancy", rung->occupancy, 5},
                   {"threads", rung->threads, 4}, {"regs", rung->trial.regs, 3});
    tt__json_int(j, "shared_bytes", rung->shared_bytes);
    tt__json_string(j, "note", reason(rung));
    tt__json_close(j, '}');
}

static int print_json(const call *c) {
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__cli_json_begin(&j);
    TT__JSON_STRINGS(&j, {"gpu", c->report->gpu}, {"driver", c->report->driver}, {"nvrtc", c->report->nvrtc},
                     {"source", c->args->replay ? "replayed" : "measured"});
    tt__json_open(&j, "ladders", '[');
    for (size_t i = 0; i < c->args->n_problems; i++) {
        const tt__ladder *ladder = &c->ladders[i];
        if (!studied(ladder))
            continue;
        tt__json_open(&j, NULL, '{');
        tt__cli_json_problem(&j, &ladder->problem);
        tt__json_open(&j, "rungs", '[');
        for (tt__rung_id id = 0; id < TT__RUNGS; id++)
            add_rung_json(&j, id, &ladder->rungs[id]);
        tt__json_close(&j, ']');
        tt__json_close(&j, '}');
    }
    tt__json_close(&j, ']');
    tt__json_number(&j, "wall_s", c->report->wall_s, 6);
    return tt__cli_fail(tt__cli_print_json(&j));
}

/* ---- CSV ---- */

static void csv_text(const char *text) {
    tt__str cell = {0};
    tt__cli_csv(&cell, text);
    printf("%s,", tt__str_text(&cell));
    tt__str_free(&cell);
}

/* An empty field for an unknown value. */
static void csv_number(double value, int digits) {
    if (value > 0)
        printf("%.*g", digits, value);
    printf(",");
}

static int print_csv(const call *c) {
    printf("gpu,rows,cols,elem_size,rung,kernel,config,time_us,gbps,speedup_vs_naive,copy_fraction,peak_"
           "fraction,"
           "occupancy,threads,regs,shared_bytes,source\n");
    for (size_t i = 0; i < c->args->n_problems; i++)
        for (tt__rung_id id = 0; studied(&c->ladders[i]) && id < TT__RUNGS; id++) {
            const tt__problem *p = &c->ladders[i].problem;
            const tt__rung *rung = &c->ladders[i].rungs[id];
            csv_text(c->report->gpu);
            printf("%lld,%lld,%d,%s,%s,", (long long)tt__problem_number(p, "rows", 0),
                   (long long)tt__problem_number(p, "cols", 0), tt__problem_elem_size(p), tt__rungs[id].name,
                   rung->kernel);
            csv_text(rung->config);
            csv_number(rung->trial.time_us, 7);
            csv_number(rung->gbps, 6);
            csv_number(rung->speedup, 5);
            csv_number(rung->copy_fraction, 5);
            csv_number(rung->peak_fraction, 5);
            csv_number(rung->occupancy, 5);
            csv_number(rung->threads, 4);
            csv_number(rung->trial.regs, 3);
            printf("%d,%s\n", rung->shared_bytes, c->args->replay ? "replayed" : "measured");
        }
    return TT__EXIT_OK;
}

/* ---- Tables ---- */

/* The first column is a bar of GB/s, where the terminal can show it. */
static const tt__column columns[] = {
    {"", false, false},        {"rung", false, false},   {"time", true, false},    {"GB/s", true, false},
    {"vs naive", true, false}, {"of copy", true, false}, {"of peak", true, false}, {"occupancy", true, false},
    {"regs", true, false},     {"shared", true, false},
};

/* `most`: the GB/s of a full bar; 0: no bar. */
static void add_rung_row(tt__table *t, tt__rung_id id, const tt__rung *rung, double most) {
    char bar[TT__SPARK_BYTES];
    if (most > 0)
        tt__table_cell(t, "%s", tt__spark_bar(bar, rung->gbps / most, BAR));
    TT__TABLE_TEXTS(t, tt__rungs[id].title, tt__cli_time(rung->trial.time_us).text);
    tt__table_cell(t, measured(rung) ? "%.0f" : "-", rung->gbps);
    tt__table_cell(t, rung->speedup > 0 ? "%.2fx" : "-", rung->speedup);
    TT__TABLE_TEXTS(t, tt__cli_percent(rung->copy_fraction).text, tt__cli_percent(rung->peak_fraction).text);
    tt__table_cell(t, rung->occupancy > 0 ? "%.0f%%" : "-", rung->occupancy * 100);
    tt__table_cell(t, rung->trial.regs > 0 ? "%d" : "-", rung->trial.regs);
    tt__table_cell(t, "%d", rung->shared_bytes);
}

static tt_status print_ladder(const tt__ladder *ladder) {
    bool bars = tt__spark_can(STDOUT_FILENO) && tt__cli_columns(STDOUT_FILENO) >= BAR_FROM;
    tt__table t = {.n_columns = sizeof columns / sizeof *columns - !bars, .columns = columns + !bars};
    double most = 0;
    for (tt__rung_id id = 0; bars && id < TT__RUNGS; id++)
        most = ladder->rungs[id].gbps > most ? ladder->rungs[id].gbps : most;
    const tt__rung *winner = &ladder->rungs[TT__RUNG_WINNER];
    char text[TT__PROBLEM_TEXT_MAX];
    printf("\n%s\n", tt__problem_text(text, &ladder->problem));
    for (tt__rung_id id = 0; id < TT__RUNGS; id++)
        add_rung_row(&t, id, &ladder->rungs[id], bars ? fmax(most, 1) : 0);
    tt_status status = tt__table_show(&t);
    printf("winner: %s %s\n", winner->kernel, winner->config);
    return status;
}

static int print_tables(const call *c) {
    const tt_report *report = c->report;
    tt_status status = TT_OK;
    bool any = false;
    for (size_t i = 0; i < c->args->n_problems && status == TT_OK; i++) {
        if (!studied(&c->ladders[i]))
            continue;
        if (!any)
            printf("%s%s%s%s%s%s: transpose ladder\n", report->gpu, report->driver[0] ? ", driver " : "",
                   report->driver, report->nvrtc[0] ? ", NVRTC " : "", report->nvrtc,
                   c->args->replay ? ", replayed" : "");
        any = true;
        status = print_ladder(&c->ladders[i]);
    }
    if (any)
        printf(
            "\nGB/s: bytes read plus bytes written, 10^9 a second, of the median over interleaved rounds.\n"
            "vs naive: over the naive transpose with coalesced reads. of copy: of the tuned copy. shared: "
            "bytes.\n");
    return tt__cli_fail(status);
}

/* ---- The command ---- */

/* Reports problems without a winner and rungs without a time on standard error. Returns the exit code. */
static int print_notes(const call *c) {
    int code = TT__EXIT_OK;
    tt__cli_flush_early();
    for (size_t i = 0; i < c->report->n_results; i++) {
        const tt_result *r = &c->report->results[i];
        const tt__ladder *ladder = &c->ladders[i];
        if (!studied(ladder) && !r->kernel[0]) {
            code = TT__EXIT_NO_WINNER;
            fprintf(stderr, "tune: %lldx%lld: %s\n", (long long)r->rows, (long long)r->cols, r->note);
        }
        for (tt__rung_id id = 0; studied(ladder) && id < TT__RUNGS; id++)
            if (!measured(&ladder->rungs[id]))
                fprintf(stderr, "tune: %lldx%lld: %s: %s\n", (long long)r->rows, (long long)r->cols,
                        tt__rungs[id].title, reason(&ladder->rungs[id]));
    }
    return code;
}

static int print(const call *c) {
    int code = c->args->json ? print_json(c) : c->args->csv ? print_csv(c) : print_tables(c);
    int noted = print_notes(c);
    return code != TT__EXIT_OK ? code : noted;
}

static tt_status check(const tt__cli_args *args) {
    if (args->n_problems == 0)
        return tt__fail(TT_E_INVALID,
                        "nothing to study: give --sizes or --shapes, as in \"tune study --device 0 "
                        "--sizes 1024,4096\"");
    return args->json && args->csv ? tt__fail(TT_E_INVALID, "--json and --csv: one of them at a time")
                                   : TT_OK;
}

static int run(const tt__cli_args *args) {
    call c = {.args = args, .ladders = calloc(args->n_problems, sizeof *c.ladders)};
    if (!c.ladders)
        return tt__cli_fail(tt__fail_memory(args->n_problems * sizeof *c.ladders));
    tt_status status = tt__cli_running(args, study, &c);
    int code = c.report ? print(&c) : TT__EXIT_OK;
    bool said = status == TT_E_NO_WINNER && code == TT__EXIT_NO_WINNER;
    tt_report_free(&c.report);
    free(c.ladders);
    if (status == TT_E_INTERRUPTED)
        return tt__cli_interrupted(args, true);
    return status == TT_OK || said ? code : tt__cli_fail(status);
}

static const tt__cli_option options[] = {
    TT__SET("sizes", "N[,N...]", tt__cli_set_sizes, "square matrices to study"),
    TT__SET("shapes", "RxC[,RxC...]", tt__cli_set_shapes, "matrices of R rows and C columns to study"),
    TT__OPTS_ELEMENT,
    TT__SET("device", "N|replay:FILE", tt__cli_set_one_device,
            "the CUDA device, default 0; or a recording of a study,\nwithout any GPU"),
    TT__OPT_TEMPLATE,
    TT__OPT_DB,
    TT__OPTS_SEARCH,
    TT__FLAG("force", force, "tune again what is stored already"),
    TT__SET("jobs", "N", tt__cli_set_jobs, "compile processes; default one for each CPU"),
    TT__OPT_TRIAL_TIMEOUT,
    TT__OPT_JSON,
    TT__FLAG("csv", csv, "print a line for each rung instead of tables"),
    TT__FLAG("quiet", quiet, "only errors on standard error"),
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_study = {
    .name = "study",
    .usage = "tune study [--device N|replay:FILE] --sizes N[,N...] |\n"
             "            --shapes RxC[,RxC...] [options]",
    .summary = "measures every rung from the naive transpose to the tuned one",
    .notes = "A size that is not tuned yet is tuned first. docs/study.md explains the rungs.\n"
             "\n"
             "Examples:\n"
             "  tune study --device 0 --sizes 512,1024,2048,4096,8192,16384,32768\n"
             "  tune study --sizes 4096 --dtype f16 --csv\n",
    .options = options,
    .check = check,
    .run = run,
};
