/*
 * `tune explain`: why a winner is as fast as it is, and what its neighbours lose.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/tune.h"
#include "base/json.h"
#include "dispatch/context.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"
#include "tuner/cli/shell/running.h"
#include "tuner/cli/shell/table.h"
#include "tuner/explain/explain.h"
#include "tuner/measure/energy.h"

typedef struct call {
    const tt__cli_args *args;
    tt_report *report;
    tt__explanation *e;
    bool explained;
    char unkept[512]; /* as tt_ctx.unkept */
} call;

static tt_status after(void *user, tt__session *s, tt__search *copy, const tt__search *search,
                       const tt_result *winner) {
    call *c = user;
    TT_TRY(tt__explain(c->e, s, copy, search, winner, c->args->energy));
    c->explained = true;
    return TT_OK;
}

static tt_status explain(void *user, tt_ctx *ctx, const tt_tune_opts *opts) {
    call *c = user;
    tt__cli_problems problems = {0};
    tt_status status = tt__cli_problems_open(&problems, ctx, c->args);
    if (status == TT_OK) /* a recording has no stored winner */
        status = tt__tune_and(&c->report, ctx, problems.items, problems.n, opts,
                              &(tt__tune_call){.stored = !c->args->replay}, &(tt__tune_question){after, c});
    tt__cli_problems_close(&problems);
    tt__copy(c->unkept, sizeof c->unkept, ctx->unkept);
    return status;
}

static const char *why_not_counted(const tt__explanation *e) {
    return e->replayed ? "a recording has none: run \"tune explain\" on such a GPU"
                       : e->items[0].facts.counted.why;
}

/* ---- JSON -----------------------------------------------------------------------------------------------
 */

/* Without a disassembly all are 0. */
static void add_sass(tt__json *j, const tt__sass *s) {
    if (!(s->all > 0)) {
        tt__json_number(j, "instructions", (double)NAN, 1);
        return;
    }
    tt__json_open(j, "instructions", '{');
    const tt__cli_number kinds[] = {{"all", s->all, 7},
                                    {"loads", s->loads, 7},
                                    {"load_bytes", s->load_bytes, 7},
                                    {"stores", s->stores, 7},
                                    {"store_bytes", s->store_bytes, 7},
                                    {"local", s->local, 7},
                                    {"shared", s->shared, 7},
                                    {"atomics", s->atomics, 7},
                                    {"barriers", s->barriers, 7},
                                    {"fp32", s->fp32, 7},
                                    {"fp64", s->fp64, 7},
                                    {"fp16", s->fp16, 7},
                                    {"tensor", s->tensor, 7},
                                    {"special", s->special, 7},
                                    {"branches", s->branches, 7},
                                    {"local_indexed", s->local_indexed, 7},
                                    {"shared_atomics", s->shared_atomics, 7},
                                    {"shared_cas", s->shared_cas, 7},
                                    {"constants", s->constants, 7},
                                    {"conversions", s->conversions, 7},
                                    {"divisions", s->divisions, 7},
                                    {"fences", s->fences, 7},
                                    {"sleeps", s->sleeps, 7},
                                    {"code_bytes", s->code_bytes, 7}};
    for (size_t i = 0; i < TT__COUNT(kinds); i++)
        tt__json_number(j, kinds[i].key, kinds[i].value, kinds[i].digits);
    tt__json_close(j, '}');
}

static void add_facts(tt__json *j, const tt__explain_facts *f) {
    TT__JSON_KNOWN(j, {"moved_bytes", f->moved_bytes, 9}, {"in_bytes", f->in_bytes, 9},
                   {"out_bytes", f->out_bytes, 9}, {"copy_gbps", f->copy_gbps, 9},
                   {"copy_dram_gbps", f->copy_dram_gbps, 9}, {"launches", f->launches, 9},
                   {"blocks", f->blocks, 9}, {"threads", f->threads, 9}, {"regs", f->regs, 9},
                   {"resident_blocks", f->resident, 9}, {"occupancy", f->occupancy, 9});
    tt__json_int(j, "shared_bytes", f->shared_bytes);
    tt__json_number(j, "local_bytes", f->counted.sass.all > 0 ? f->counted.local_bytes : (double)NAN, 9);
    tt__json_int(j, "halves", f->halves);
    tt__json_int(j, "doubles", f->doubles);
    add_sass(j, &f->counted.sass);
    tt__json_int(j, "replays", f->counted.n_replays);
    tt__json_open(j, "counters", '{');
    for (int i = 0; i < TT__COUNTER_COUNT && tt__facts_counted(f); i++)
        tt__json_number(j, tt__counter_metrics()[i], f->counted.values[i], 9);
    tt__json_close(j, '}');
}

static void add_energy(tt__json *j, const tt__energy *e) {
    if (!(e->idle_watts > 0))
        return;
    tt__json_number(j, "joules", e->joules, 6);
    tt__json_number(j, "joules_noise", e->noise, 6);
    tt__json_number(j, "idle_watts", e->idle_watts, 6);
    tt__json_number(j, "celsius", e->celsius, 6);
}

/* "winner", "default", "copy", "neighbour". */
static const char *role_name(tt__explain_role role) {
    static const char *const names[] = {"winner", "default", "copy", "neighbour"};
    return names[role];
}

static void add_item(tt__json *j, const tt__explained *x) {
    tt__json_open(j, NULL, '{');
    tt__json_string(j, "role", role_name(x->role));
    tt__json_string(j, "kernel", x->kernel);
    tt__json_config(j, "config", x->config);
    if (*x->param)
        TT__JSON_STRINGS(j, {"param", x->param}, {"value", x->value}, {"instead_of", x->winners});
    tt__json_string(j, "status", tt__trial_status_name(x->trial.status));
    tt__json_number(j, "time_us", tt__cli_known(x->trial.time_us), 7);
    if (x->trial.status == TT__TRIAL_OK) {
        tt__json_number(j, "slower", x->slower, 5);
        add_energy(j, &x->trial.energy);
        add_facts(j, &x->facts);
    }
    tt__json_close(j, '}');
}

static int print_json(const call *c) {
    const tt__explanation *e = c->e;
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__cli_json_begin(&j);
    TT__JSON_STRINGS(&j, {"gpu", c->report->gpu}, {"driver", c->report->driver}, {"nvrtc", c->report->nvrtc});
    TT__JSON_KNOWN(&j, {"cc", e->gpu.cc, 4}, {"sm_count", e->gpu.sm_count, 9},
                   {"peak_gbps", e->gpu.peak_gbps, 7});
    tt__cli_json_asked(&j, c->args);
    tt__cli_json_problem(&j, &e->problem);
    tt__json_open(&j, "roofline", '{');
    TT__JSON_KNOWN(&j, {"gflops", e->gflops, 6}, {"gbps", e->gbps, 6}, {"copy_gbps", e->peaks.copy_gbps, 6},
                   {"l2_gbps", e->peaks.l2_gbps, 6}, {"fp32_gflops", e->peaks.fp32_gflops, 6},
                   {"fp64_gflops", e->peaks.fp64_gflops, 6}, {"fp16_gflops", e->peaks.fp16_gflops, 6},
                   {"tensor_gflops", e->peaks.tensor_gflops, 6});
    tt__json_close(&j, '}');
    tt__json_string(&j, "why_not_counted", why_not_counted(e));
    if (c->args->energy)
        tt__json_string(&j, "why_no_energy", e->why_no_energy);
    tt__json_open(&j, "findings", '[');
    for (int i = 0; i < e->n_findings; i++) {
        tt__json_open(&j, NULL, '{');
        tt__json_string(&j, "rule", e->findings[i].rule->name);
        tt__json_string(&j, "kind", e->findings[i].rule->limit ? "limit" : "fault");
        tt__json_number(&j, "share", e->findings[i].share, 4);
        tt__json_close(&j, '}');
    }
    tt__json_close(&j, ']');
    tt__json_open(&j, "sentences", '[');
    for (int i = 0; i < e->n_sentences; i++)
        tt__json_string(&j, NULL, e->sentences[i]);
    tt__json_close(&j, ']');
    tt__json_open(&j, "configs", '[');
    for (int i = 0; i < e->n; i++)
        add_item(&j, &e->items[i]);
    tt__json_close(&j, ']');
    tt__json_number(&j, "wall_s", c->report->wall_s, 6);
    return tt__cli_fail(tt__cli_print_json(&j));
}

/* ---- Text -----------------------------------------------------------------------------------------------
 */

static void number(tt__table *t, const char *format, double value) {
    tt__table_cell(t, isfinite(value) ? format : "-", value);
}

/* The most frequent reason to wait. */
static const char *main_stall(const tt__explain_facts *f) {
    const tt__cause *most = tt__cause_waits(f, NULL);
    return most ? most->words : "-";
}

static void add_name(tt__table *t, const tt__explained *x) {
    if (*x->param)
        tt__table_cell(t, "%s=%s", x->param, x->value);
    else
        tt__table_cell(t, "%s", role_name(x->role));
}

static void add_times(tt__table *t, const tt__explained *x) {
    const tt__explain_facts *f = &x->facts;
    const bool passed = x->trial.status == TT__TRIAL_OK;
    const double moved = f->moved_bytes / (f->time_us * 1e3);
    add_name(t, x);
    if (passed)
        tt__table_cell(t, "%s", tt__cli_time(x->trial.time_us).text);
    else
        tt__table_cell(t, "%s", tt__trial_status_name(x->trial.status));
    number(t, "%+.1f%%", passed ? 100 * x->slower : NAN);
    number(t, "%.0f%%", f->copy_gbps > 0 ? 100 * moved / f->copy_gbps : NAN);
    number(t, "%.0f%%", f->peak_gbps > 0 && moved > 0 ? 100 * moved / f->peak_gbps : NAN);
    number(t, "%.0f%%", f->occupancy > 0 ? 100 * f->occupancy : NAN);
    number(t, "%.0f", passed ? f->regs : NAN);
    number(t, "%.0f", passed && f->counted.sass.all > 0 ? f->counted.local_bytes : NAN);
}

static void add_counters(tt__table *t, const tt__explained *x) {
    const tt__explain_facts *f = &x->facts;
    const double *v = f->counted.values;
    add_name(t, x);
    number(t, "%.0f", v[TT__C_DRAM_READ] / (f->time_us * 1e3));
    number(t, "%.0f", v[TT__C_DRAM_WRITTEN] / (f->time_us * 1e3));
    number(t, "%.0f%%", v[TT__C_L2_HIT]);
    number(t, "%.1f", v[TT__C_LOAD_SECTORS] / v[TT__C_LOAD_REQUESTS]);
    number(t, "%.1f", v[TT__C_STORE_SECTORS] / v[TT__C_STORE_REQUESTS]);
    number(t, "%.0f%%", 100 * v[TT__C_BANK_CONFLICTS] / v[TT__C_SHARED_WAVEFRONTS]);
    number(t, "%.0f%%", v[TT__C_OCCUPANCY]);
    number(t, "%.0f%%", v[TT__C_ISSUED]);
    number(t, "%.2f", v[TT__C_INSTRUCTIONS] * v[TT__C_LANES] / (f->in_bytes + f->out_bytes));
    tt__table_cell(t, "%s", main_stall(f));
}

static tt_status print_table(const tt__explanation *e, const tt__column *columns, size_t n, bool counters) {
    tt__table t = {.n_columns = n, .columns = columns};
    for (int i = 0; i < e->n; i++)
        if (!counters)
            add_times(&t, &e->items[i]);
        else if (tt__facts_counted(&e->items[i].facts))
            add_counters(&t, &e->items[i]);
    return tt__table_show(&t);
}

static tt_status print_tables(const tt__explanation *e) {
    static const tt__column times[] = {
        {"configuration", false, TT__WRAP}, {"time", true, TT__KEEP},    {"slower", true, TT__KEEP},
        {"of copy", true, TT__KEEP},        {"of peak", true, TT__KEEP}, {"occupancy", true, TT__KEEP},
        {"regs", true, TT__KEEP},           {"spilled", true, TT__KEEP},
    };
    static const tt__column counters[] = {
        {"counted", false, TT__WRAP}, {"read", true, TT__KEEP},       {"written", true, TT__KEEP},
        {"L2 hit", true, TT__KEEP},   {"load", true, TT__KEEP},       {"store", true, TT__KEEP},
        {"bank", true, TT__KEEP},     {"warps", true, TT__KEEP},      {"issue", true, TT__KEEP},
        {"instr/B", true, TT__KEEP},  {"waits for", false, TT__KEEP},
    };
    TT_TRY(print_table(e, times, sizeof times / sizeof *times, false));
    if (!tt__facts_counted(&e->items[0].facts))
        return TT_OK;
    printf("\n");
    return print_table(e, counters, sizeof counters / sizeof *counters, true);
}

/* What the GPU does at most, as measured just now, and where the winner is. */
static void print_roofline(const tt__explanation *e) {
    const tt__peaks *p = &e->peaks;
    if (p->fp32_gflops <= 0)
        return;
    printf("\nThis GPU does at most: ");
    if (p->copy_gbps > 0)
        printf("%.0f GB/s of memory (the tuned copy), ", p->copy_gbps);
    printf("%.0f GB/s of L2 cache, %.1f TFLOP/s of fp32, %.1f of fp64,\n%.1f of fp16 without tensor cores.",
           p->l2_gbps, p->fp32_gflops * 1e-3, p->fp64_gflops * 1e-3, p->fp16_gflops * 1e-3);
    if (p->tensor_gflops > 0)
        printf(" Tensor cores do %.1f (fp16, sums in fp32).", p->tensor_gflops * 1e-3);
    if (e->gflops > 0)
        printf(" The winner does %.2f TFLOP/s.", e->gflops * 1e-3);
    printf("\n");
}

static void tell_energy_of(tt__str *out, const tt__explained *x) {
    const tt__energy *e = &x->trial.energy;
    if (tt__energy_known(e))
        tt__str_addf(out, "The %s takes %.4g mJ a launch, +- %.2g %%", role_name(x->role), e->joules * 1e3,
                     100 * e->noise / e->joules);
    else
        tt__str_addf(out, "It cannot be told what the %s takes: %.3g mJ, +- %.2g", role_name(x->role),
                     e->joules * 1e3, e->noise * 1e3);
    if (tt__energy_known(e) && e->time_us > 0)
        tt__str_addf(out, ": %.0f W beyond %.0f W of an idle GPU", e->joules / e->time_us * 1e6,
                     e->idle_watts);
    tt__str_add(out, ".\n");
}

/* "12.3 mJ +- 0.1 ..., the winner takes 5 % less": a text for both; "" without any. */
static void tell_energy(tt__str *out, const tt__explanation *e) {
    const tt__explained *both[2] = {NULL, NULL};
    double ratio;
    for (int i = 0; i < e->n; i++) {
        const tt__explained *x = &e->items[i];
        if (x->trial.energy.idle_watts > 0 && (x->role == TT__ROLE_WINNER || x->role == TT__ROLE_DEFAULT))
            both[x->role == TT__ROLE_DEFAULT] = x;
    }
    if (*e->why_no_energy)
        tt__str_addf(out, "Without energies: %s.\n", e->why_no_energy);
    for (int i = 0; i < 2; i++)
        if (both[i])
            tell_energy_of(out, both[i]);
    if (both[0] && both[0]->trial.energy.celsius > 0)
        tt__str_addf(out, "The GPU was at %.0f degrees Celsius.\n", both[0]->trial.energy.celsius);
    if (!both[0] || !both[1])
        return;
    tt__energy_verdict v = tt__energy_compare(&both[0]->trial.energy, &both[1]->trial.energy, false, &ratio);
    if (v == TT__ENERGY_UNKNOWN)
        tt__str_add(out, "It cannot be told which of the two takes less: the noise is larger.\n");
    else
        tt__str_addf(out, "The winner takes %.1f %% %s energy than the default.\n", 100 * fabs(1 - ratio),
                     v == TT__ENERGY_LESS ? "less" : "more");
}

static int print_text(const call *c) {
    const tt__explanation *e = c->e;
    char text[TT__PROBLEM_TEXT_MAX], words[TT__WORDS_MAX];
    printf("%s, %s of %s: %s %s\n\n", c->report->gpu, c->args->permute ? "permute" : e->problem.op,
           tt__cli_asked(words, c->args, tt__problem_text(text, &e->problem)), e->items[0].kernel,
           e->items[0].config);
    tt_status status = print_tables(e);
    print_roofline(e);
    printf("\n");
    for (int i = 0; i < e->n_sentences; i++)
        printf("%s\n", e->sentences[i]);
    tt__str energy = {0};
    tell_energy(&energy, e);
    fputs(tt__str_text(&energy), stdout);
    tt__str_free(&energy);
    if (*why_not_counted(e))
        printf("Without counters: %s.\n", why_not_counted(e));
    return tt__cli_fail(status);
}

/* ---- The command ----------------------------------------------------------------------------------------
 */

static tt_status fail_untuned(const call *c) {
    const tt_result *r = c->report ? tt_report_result(c->report, 0) : NULL;
    return tt__fail(
        TT_E_NO_WINNER,
        "%s has no winner on this GPU that still holds: run \"tune\" with the same problem first, then "
        "\"tune explain\"",
        r && r->problem[0] ? r->problem : "the problem");
}

static tt_status check(const tt__cli_args *args) {
    return tt__cli_check_one(args, "explain", "explains one");
}

static int run(const tt__cli_args *args) {
    tt__cli_args quiet = *args;
    call c = {.args = &quiet, .e = calloc(1, sizeof *c.e)};
    if (!c.e)
        return tt__cli_fail(tt__fail_memory(sizeof *c.e));
    quiet.quiet = true;
    quiet.reads = !args->replay && !(args->db && strcmp(args->db, ":memory:") == 0);
    tt_status status = args->replay ? TT_OK : tt__cli_store_check(args);
    if (status == TT_OK)
        status = tt__cli_running(&quiet, explain, &c);
    if (*c.unkept)
        fprintf(stderr, "tune: %snothing of this is kept: %s\n",
                status == TT_E_INTERRUPTED ? "interrupted; " : "", c.unkept);
    if ((status == TT_OK || status == TT_E_NO_WINNER) && !c.explained)
        status = fail_untuned(&c);
    int code = status == TT_E_INTERRUPTED && *c.unkept ? TT__EXIT_INTERRUPTED
               : status == TT_E_INTERRUPTED            ? tt__cli_interrupted(args, false)
               : status != TT_OK                       ? tt__cli_fail(status)
               : args->json                            ? print_json(&c)
                                                       : print_text(&c);
    tt_report_free(&c.report);
    free(c.e);
    return code;
}

static const tt__cli_option options[] = {
    TT__OPTS_MATRIX("explain"),
    TT__OPTS_PERMUTATION,
    TT__OPTS_OPERATION,
    TT__SET("device", "N|replay:FILE", tt__cli_set_one_device,
            "the CUDA device, default 0; or a recording, which has\nno counters"),
    TT__OPT_TEMPLATE,
    TT__OPT_DB,
    TT__FLAG("energy", energy, "also measure joules a launch, for about a minute"),
    TT__SET("jobs", "N", tt__cli_set_jobs, "compile processes; default one for each CPU"),
    TT__OPT_TRIAL_TIMEOUT,
    TT__OPT_JSON,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_explain = {
    .name = "explain",
    .usage = "tune explain [--device N|replay:FILE] --size N | --shape RxC |\n"
             "            --permute AXIS[,AXIS...] --dims N[,N...] | --op NAME |\n"
             "            --kernel FILE.cu [--problem NAME=VALUE[,...]] [options]",
    .summary = "why the winner is as fast as it is, by hardware counters",
    .notes =
        "Runs the winner beside the default, the tuned copy and the configurations that differ in one\n"
        "parameter. Counters need CUPTI of CUDA 12.6 or newer, and the driver's permission. Without them it\n"
        "goes by times, occupancy and the compiled code.\n",
    .options = options,
    .check = check,
    .run = run,
};
