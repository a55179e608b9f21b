/*
 * `tune report`: what was tuned, as a page to show, or as data. One walk over the data feeds both JSON and
 * CSV: each number is a member of an object, or a line that names its place.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "tuner/cli/report/report.h"
#include "tuner/cli/report/report_html.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

typedef struct sink {
    tt__str *out;
    tt__json json;
    bool csv;
    const tt__subject *subject; /* of the lines */
    tt__str lead;               /* the beginning of all lines about one problem */
    const char *section;
    char item[2 * TT__NAME_MAX + TT__CONFIG_MAX];
} sink;

/* ---- The two forms ----------------------------------------------------------------------------------- */

static void open_item(sink *s, const char *key, char bracket) {
    if (!s->csv)
        tt__json_open(&s->json, key, bracket);
    else if (key && bracket == '[')
        s->section = key;
    s->item[0] = '\0';
}

static void close_item(sink *s, char bracket) {
    if (!s->csv)
        tt__json_close(&s->json, bracket);
}

static void csv_text(tt__str *out, const char *text) {
    tt__cli_csv(out, text);
    tt__str_add(out, ",");
}

/* What follows is about a problem of the subject; NULL: about all of it. */
static void be_about(sink *s, const tt__problem *p) {
    char text[TT__PROBLEM_TEXT_MAX];
    if (!s->csv)
        return;
    tt__str_free(&s->lead);
    csv_text(&s->lead, s->subject->source->name);
    csv_text(&s->lead, s->subject->gpu.name);
    csv_text(&s->lead, p ? p->op : "");
    csv_text(&s->lead, p ? tt__problem_text(text, p) : "");
    tt__str_addf(&s->lead, "%d,%d,", p && p->warm, p && p->in_graph);
    s->out->failed |= s->lead.failed;
}

static void csv_line(sink *s, const char *key, const char *value) {
    tt__str_addn(s->out, s->lead.text, s->lead.len);
    tt__str_add(s->out, s->section);
    tt__str_add(s->out, ",");
    csv_text(s->out, s->item);
    tt__str_add(s->out, key);
    tt__str_add(s->out, ",");
    tt__str_add(s->out, value);
    tt__str_add(s->out, "\n");
}

static void number(sink *s, const char *key, double value, int digits) {
    char text[48];
    if (!s->csv) {
        tt__json_number(&s->json, key, value, digits);
        return;
    }
    tt__format(text, sizeof text, "%.*g", digits, value);
    csv_line(s, key, isfinite(value) ? text : "");
}

/* A word is a member of JSON. In CSV it names the lines that follow. */
static void word(sink *s, const char *key, const char *value) {
    size_t n = strlen(s->item);
    if (s->csv)
        snprintf(s->item + n, sizeof s->item - n, "%s%s", n ? " " : "", value);
    else
        tt__json_string(&s->json, key, value);
}

/* A text that is data in both. */
static void text(sink *s, const char *key, const char *value) {
    tt__str quoted = {0};
    if (!s->csv) {
        tt__json_string(&s->json, key, value);
        return;
    }
    tt__cli_csv(&quoted, value);
    s->out->failed |= quoted.failed;
    csv_line(s, key, tt__str_text(&quoted));
    tt__str_free(&quoted);
}

/* A value of a parameter: 32 is a number in JSON, fast a string. */
static void value(sink *s, const char *key, const char *value_text) {
    if (s->csv)
        text(s, key, value_text);
    else
        tt__json_value(&s->json, key, strlen(key), value_text, strlen(value_text));
}

static void config(sink *s, const char *text) {
    if (s->csv)
        word(s, "config", text);
    else
        tt__json_config(&s->json, "config", text);
}

/* ---- The data ---------------------------------------------------------------------------------------- */

static void add_winner(sink *s, const tt__details *d) {
    const tt__winner *w = d->w;
    double gbps = tt__problem_gbps(&w->problem, w->time_us), peak = d->subject->gpu.peak_gbps;
    s->section = "winner";
    word(s, "kernel", w->kernel);
    config(s, w->config);
    text(s, "source", w->source);
    text(s, "date", tt__cli_when(TT__REPORT_WHEN, w->unix_ms).text);
    text(s, "driver", w->env.driver);
    text(s, "nvrtc", w->env.nvrtc);
    text(s, "method", w->env.library);
    text(s, "template", w->hash);
    number(s, "time_us", tt__cli_known(w->time_us), 7);
    number(s, "gbps", tt__cli_known(gbps), 6);
    number(s, "copy_us", tt__cli_known(w->copy_us), 7);
    number(s, "copy_fraction", tt__cli_known(w->copy_fraction), 5);
    number(s, "peak_fraction", tt__cli_known(peak > 0 ? gbps / peak : 0), 5);
    number(s, "speedup_vs_default", tt__cli_known(w->speedup_vs_default), 5);
    number(s, "trials", (double)w->trials, 9);
    number(s, "failed", (double)w->failed, 9);
    number(s, "flop", tt__cli_known(d->flop), 9);
}

static void add_search(sink *s, const tt__details *d) {
    double best = INFINITY;
    char at[24];
    open_item(s, "search", '[');
    for (size_t i = 0; i < d->n; i++)
        if (d->rows[i].worth > 0 && d->rows[i].worth < best) {
            best = d->rows[i].worth;
            open_item(s, NULL, '{');
            snprintf(at, sizeof at, "%zu", i + 1);
            if (s->csv)
                word(s, NULL, at);
            else
                tt__json_int(&s->json, "trial", (int64_t)i + 1);
            number(s, "best_us", best, 7);
            close_item(s, '}');
        }
    close_item(s, ']');
}

static void add_parameter(sink *s, const tt__details *d, size_t at) {
    const tt__report_param *p = &d->params[at];
    char prefix[sizeof s->item];
    open_item(s, NULL, '{');
    word(s, "name", p->name);
    number(s, "share", p->share, 5);
    number(s, "share_with_another", p->total, 5);
    number(s, "worst_cost", p->cost, 5);
    value(s, "best", p->values[p->best].text);
    tt__copy(prefix, sizeof prefix, s->item);
    if (!s->csv)
        open_item(s, "values", '[');
    for (size_t v = 0; v < p->n; v++) {
        open_item(s, NULL, '{');
        tt__copy(s->item, sizeof s->item, prefix);
        if (s->csv)
            word(s, NULL, p->values[v].text);
        else
            value(s, "value", p->values[v].text);
        number(s, "trials", (double)p->values[v].n, 9);
        number(s, "best_us", p->values[v].best, 7);
        number(s, "effect", exp(d->importance->effect[at][v]), 5);
        close_item(s, '}');
    }
    if (!s->csv)
        close_item(s, ']');
    close_item(s, '}');
}

static void add_parameters(sink *s, const tt__details *d) {
    open_item(s, "parameters", '[');
    for (size_t i = 0; i < d->n_params; i++)
        add_parameter(s, d, d->order[i]);
    close_item(s, ']');
    open_item(s, "pairs", '[');
    for (size_t p = 0; p < d->n_params; p++)
        for (size_t q = p + 1; q < d->n_params; q++)
            if (d->importance->pair[p][q] >= 1e-3) {
                open_item(s, NULL, '{');
                word(s, "name", d->params[p].name);
                word(s, "with", d->params[q].name);
                number(s, "share", d->importance->pair[p][q], 5);
                close_item(s, '}');
            }
    close_item(s, ']');
}

static void add_finals(sink *s, const tt__details *d) {
    open_item(s, "finals", '[');
    for (size_t i = 0; i < d->n_finals; i++) {
        tt__ratio r = tt__details_ratio(d, &d->finals[i]);
        open_item(s, NULL, '{');
        word(s, "kernel", d->finals[i].kernel);
        config(s, d->finals[i].config);
        number(s, "time_us", d->finals[i].trial.time_us, 7);
        number(s, "ratio", r.median, 6);
        number(s, "low", r.low, 6);
        number(s, "high", r.high, 6);
        close_item(s, '}');
    }
    close_item(s, ']');
}

static void add_counts(sink *s, const tt__details *d) {
    open_item(s, "kernels", '[');
    for (size_t i = 0; i < d->n_kernels; i++) {
        open_item(s, NULL, '{');
        word(s, "kernel", d->kernels[i].name);
        number(s, "trials", (double)d->kernels[i].n, 9);
        number(s, "best_us", tt__cli_known(d->kernels[i].best), 7);
        close_item(s, '}');
    }
    close_item(s, ']');
    open_item(s, "failures", '[');
    for (int k = 1; k < TT__TRIAL_STATUS_COUNT; k++)
        if (d->by_status[k]) {
            open_item(s, NULL, '{');
            word(s, "status", tt__trial_status_name((tt__trial_status)k));
            number(s, "trials", (double)d->by_status[k], 9);
            text(s, "reason", tt__details_reason(d, (tt__trial_status)k));
            close_item(s, '}');
        }
    close_item(s, ']');
}

static void add_peaks(sink *s, const tt__peaks *p) {
    number(s, "copy_gbps", tt__cli_known(p->copy_gbps), 6);
    number(s, "l2_gbps", tt__cli_known(p->l2_gbps), 6);
    number(s, "fp32_gflops", tt__cli_known(p->fp32_gflops), 6);
    number(s, "fp64_gflops", tt__cli_known(p->fp64_gflops), 6);
    number(s, "fp16_gflops", tt__cli_known(p->fp16_gflops), 6);
    number(s, "tensor_gflops", tt__cli_known(p->tensor_gflops), 6);
}

static void add_energies(sink *s, const tt__details *d) {
    open_item(s, "energies", '[');
    for (size_t i = 0; i < d->n_energies; i++) {
        const tt__report_energy *e = &d->energies[i];
        open_item(s, NULL, '{');
        word(s, "kernel", e->kernel);
        config(s, e->config);
        number(s, "time_us", e->energy.time_us, 7);
        number(s, "joules", e->energy.joules, 6);
        number(s, "noise", e->energy.noise, 3);
        number(s, "idle_watts", e->energy.idle_watts, 4);
        number(s, "celsius", tt__cli_known(e->energy.celsius), 3);
        close_item(s, '}');
    }
    close_item(s, ']');
}

static tt_status add_unsolved(void *user, const tt__unsolved *u) {
    sink *s = user;
    be_about(s, &u->problem);
    open_item(s, NULL, '{');
    if (!s->csv)
        tt__cli_json_problem(&s->json, &u->problem);
    number(s, "trials", (double)u->tried, 9);
    number(s, "passed", (double)u->passed, 9);
    text(s, "status", u->passed ? "" : tt__trial_status_name(u->status));
    text(s, "reason", u->passed ? "the run ended before its finals" : u->reason);
    text(s, "advice", u->passed ? "" : tt__trial_advice(u->status));
    close_item(s, '}');
    return TT_OK;
}

static tt_status add_problem(sink *s, const tt__subject *subject, size_t at) {
    tt__details *d;
    tt__winner w;
    TT_TRY(tt__subject_winner(subject, at, &w));
    tt_status status = tt__details_open(&d, subject, &w);
    if (status == TT_OK) {
        be_about(s, &w.problem);
        open_item(s, NULL, '{');
        if (!s->csv)
            tt__cli_json_problem(&s->json, &w.problem);
        add_winner(s, d);
        add_search(s, d);
        add_finals(s, d);
        add_parameters(s, d);
        add_counts(s, d);
        add_energies(s, d);
        close_item(s, '}');
    }
    tt__details_close(&d);
    return status;
}

static tt_status add_subject(sink *s, const tt__subject *subject) {
    s->subject = subject;
    be_about(s, NULL);
    open_item(s, NULL, '{');
    s->section = "gpu";
    if (!s->csv) {
        tt__json_string(&s->json, "file", subject->source->name);
        tt__json_string(&s->json, "gpu", subject->gpu.name);
    }
    text(s, "mig", subject->gpu.mig);
    number(s, "cc", tt__cli_known(subject->gpu.cc), 4);
    number(s, "sm_count", tt__cli_known(subject->gpu.sm_count), 9);
    number(s, "memory_bytes", tt__cli_known((double)subject->gpu.memory_bytes), 15);
    number(s, "peak_gbps", tt__cli_known(subject->gpu.peak_gbps), 7);
    add_peaks(s, &subject->peaks);
    open_item(s, "problems", '[');
    for (size_t i = 0; i < subject->n; i++)
        TT_TRY(add_problem(s, subject, i));
    close_item(s, ']');
    open_item(s, "unsolved", '[');
    TT_TRY(tt__subject_unsolved(subject, add_unsolved, s));
    close_item(s, ']');
    close_item(s, '}');
    return TT_OK;
}

static tt_status add_changes(sink *s, const tt__report *r) {
    static const char *const verdicts[] = {"within_noise", "faster", "slower"};
    const tt__subject *before = &r->subjects[0];
    open_item(s, "changes", '[');
    for (size_t k = 1; k < r->n; k++)
        for (size_t i = 0; i < before->n; i++) {
            tt__change c;
            bool both;
            TT_TRY(tt__report_change(&c, before, i, &r->subjects[k], &both));
            if (!both)
                continue;
            s->subject = &r->subjects[k];
            be_about(s, &c.after.problem);
            open_item(s, NULL, '{');
            if (!s->csv) {
                tt__json_string(&s->json, "before", before->source->name);
                tt__json_string(&s->json, "after", r->subjects[k].source->name);
                tt__cli_json_problem(&s->json, &c.after.problem);
            }
            word(s, "verdict", verdicts[c.kind]);
            text(s, "changed", tt__change_what(&c));
            number(s, "before_us", c.before.time_us, 7);
            number(s, "after_us", c.after.time_us, 7);
            number(s, "ratio", c.ratio, 6);
            number(s, "noise", c.noise, 4);
            close_item(s, '}');
        }
    close_item(s, ']');
    return TT_OK;
}

static tt_status add_all(sink *s, const tt__report *r) {
    if (!s->csv)
        tt__cli_json_begin(&s->json);
    open_item(s, "gpus", '[');
    for (size_t k = 0; k < r->n; k++)
        TT_TRY(add_subject(s, &r->subjects[k]));
    close_item(s, ']');
    TT_TRY(add_changes(s, r));
    close_item(s, '}');
    return tt__str_check(s->out);
}

static tt_status write_json(tt__str *out, const tt__report *r) {
    sink s = {.out = out, .json = {.out = out}};
    TT_TRY(add_all(&s, r));
    tt__str_add(out, "\n");
    return tt__str_check(out);
}

static tt_status write_csv(tt__str *out, const tt__report *r) {
    sink s = {.out = out, .csv = true};
    tt__str_add(out, "file,gpu,operation,problem,warm,in_graph,section,item,name,value\n");
    tt_status status = add_all(&s, r);
    tt__str_free(&s.lead);
    return status;
}

/* ---- The command ------------------------------------------------------------------------------------- */

typedef struct writing {
    const tt__cli_args *args;
    tt__report report;
} writing;

static tt_status fill(tt__str *out, void *user) {
    writing *w = user;
    const tt__cli_args *args = w->args;
    return (args->json ? write_json : args->csv ? write_csv : tt__report_html)(out, &w->report);
}

static int run(const tt__cli_args *args) {
    writing w = {.args = args};
    tt_status status = tt__report_open(&w.report, args);
    if (status == TT_OK)
        status = tt__cli_write_output(args, fill, &w);
    tt__report_close(&w.report);
    return tt__cli_fail(status);
}

static tt_status set_recording(tt__cli_args *args, const char *value) {
    TT_TRY(tt__cli_set_device(args, value));
    return args->replay ? TT_OK
                        : tt__fail(TT_E_INVALID,
                                   "\"%s\": a report needs no device; name a recording as replay:FILE, or "
                                   "choose a GPU of the store with --gpu NAME",
                                   value);
}

static tt_status check(const tt__cli_args *args) {
    TT_TRY(tt__cli_check_output(args, args->output));
    if (args->json && args->csv)
        return tt__fail(TT_E_INVALID, "--json and --csv: one of them at a time");
    if (args->db && (args->replay || args->n_files))
        return tt__fail(TT_E_INVALID, "--db and other files: name all of them as \"tune report A.db B.db\"");
    if (!args->output && !args->json && !args->csv && isatty(STDOUT_FILENO))
        return tt__fail(TT_E_INVALID,
                        "a page of HTML is not for a terminal: give --output FILE.html, --json or --csv");
    if (args->n_texts && !args->op && !args->kernel_file)
        return tt__fail(TT_E_INVALID, "--problem %s: of what? give --op or --kernel, too", args->texts[0]);
    return args->n_problems + args->n_texts || args->op || args->kernel_file ? tt__cli_check_problems(args)
                                                                             : TT_OK;
}

static const tt__cli_option options[] = {
    TT__TEXT("output", "FILE", output, "where to; default standard output"),
    TT__SET("device", "replay:FILE", set_recording, "a recording; it may also be named as a file"),
    TT__OPT_GPU("only this GPU; a part of its name is enough"),
    TT__SET("sizes", "N[,N...]", tt__cli_set_sizes, "only these square matrices"),
    TT__SET("shapes", "RxC[,RxC...]", tt__cli_set_shapes, "only these matrices of R rows and C columns"),
    TT__OPTS_LAYOUT,
    TT__OPTS_OPERATION,
    TT__OPT_DB,
    TT__OPT_JSON,
    TT__FLAG("csv", csv, "print a line for each number instead of a page"),
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_report = {
    .name = "report",
    .usage = "tune report [FILE...] [--output FILE.html] [--gpu NAME] [options]",
    .summary = "a page that shows winners, searches and parameters",
    .notes =
        "The page needs no network and no script. FILE is a store or a recording; the default is the store\n"
        "of --db. With several, the page also compares the others with the first, and says which changes "
        "are\n"
        "beyond the noise.\n"
        "\n"
        "Examples:\n"
        "  tune report --output report.html\n"
        "  tune report --device replay:recordings/h200.json --output report.html\n"
        "  tune report before.db after.db --output changes.html\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};
