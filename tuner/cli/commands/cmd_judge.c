/*
 * `tune judge`: is a kernel right, and is it faster than another? Each candidate competes with the reference
 * file's own kernel in a run of its own, so that none can prepare the device for the next.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_file.h"
#include "base/str.h"
#include "code/cxx.h"
#include "dispatch/context.h"
#include "dispatch/ladder.h"
#include "gpu/device.h"
#include "kernel/annotation/include.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/running.h"
#include "tuner/measure/noise.h"
#include "tuner/run/tune.h"

enum { EXIT_FASTER = 0, EXIT_NOT_FASTER = 1, EXIT_WRONG = 5, EXIT_UNKNOWN = 6 };

/* Two measurements of the same kernel differ by less. A candidate is faster if its whole interval is above
 * this, and not faster if that is below, or if the median is not above 1. So a pair whose ratio is near the
 * margin cannot be told, but is never faster once and not faster another time. */
static const double margin = 1.005;

static const char base_name[] = "reference", candidate_name[] = "candidate";

/* What was found out about a candidate, for one problem. */
typedef struct judgement {
    const char *path;
    char problem[TT__PROBLEM_TEXT_MAX], checked[TT__PROBLEM_TEXT_MAX]; /* a neighbour; "": none */
    int code;
    tt__trial_status status;
    char reason[2 * TT__REASON_MAX], base_config[TT__CONFIG_MAX];
    double time_us, base_us;
    tt__ratio ratio; /* of the reference's time to the candidate's; median 0: unknown */
} judgement;

typedef struct judge {
    const tt__cli_args *args;
    tt__template *reference, *base; /* base: --against, or the same as `reference` */
    tt__template **candidates;      /* of args->files, without the first */
    size_t n_problems;
    tt__problem *problems;
    char gpu[TT__GPU_NAME_MAX];
    size_t n;
    judgement *items;
    tt__str notes; /* what the run said */
} judge;

/* ---- A plain file ----------------------------------------------------------------------------------------
 */

/* The end of the parentheses that begin at `at`. */
static const char *after_parentheses(const char *at) {
    int depth = 0;
    for (; *at; at++) {
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (depth == 0)
            return at + 1;
    }
    return at;
}

/* The name in what follows "__global__", which is up to *at then, or NULL: what is followed by parentheses,
 * but for launch bounds. */
static const char *name_in_head(const char *p, const char **at, size_t *n) {
    static const char bounds[] = "__launch_bounds__";
    while (*p && *p != '{' && *p != ';') {
        if (!tt__is_word_char(*p)) {
            p++;
            continue;
        }
        const char *first = p;
        while (tt__is_word_char(*p))
            p++;
        const size_t length = (size_t)(p - first);
        while (*p == ' ' || *p == '\n' || *p == '\t')
            p++;
        if (*p != '(')
            continue;
        if (length == sizeof bounds - 1 && memcmp(first, bounds, length) == 0) {
            p = after_parentheses(p);
            continue;
        }
        *n = length;
        *at = after_parentheses(p);
        return first;
    }
    *at = p;
    return NULL;
}

/* The name of the next kernel that the code defines or declares, or NULL; `at` moves behind it. */
static const char *next_kernel(const char **at, size_t *n) {
    static const char word[] = "__global__";
    const char *head, *name = NULL;
    while (!name && (head = strstr(*at, word)))
        name = name_in_head(head + sizeof word - 1, at, n);
    return name;
}

static const char *before_blanks(const char *code, const char *at) {
    while (at > code && strchr(" \t\r\n", at[-1]))
        at--;
    return at;
}

/* Appends the namespaces in which `at` lies, as "a::b::". */
static void add_scope(tt__str *out, const char *code, const char *at) {
    static const char word[] = "namespace";
    enum { N = sizeof word - 1 };
    char scope[TT__NAME_MAX] = "", inner[TT__NAME_MAX];
    for (int depth = 0; at > code;) {
        at--;
        depth += (*at == '}') - (*at == '{');
        if (depth >= 0)
            continue;
        depth = 0;
        const char *end = before_blanks(code, at), *name = end;
        while (name > code && (tt__is_word_char(name[-1]) || name[-1] == ':'))
            name--;
        const char *before = before_blanks(code, name);
        if (before - code < N || memcmp(before - N, word, N) != 0) /* one without a name has none here, too */
            continue;
        tt__copy(inner, sizeof inner, scope);
        tt__format(scope, sizeof scope, "%.*s::%s", (int)(end - name), name, inner);
    }
    tt__str_add(out, scope);
}

/* Is this word the first of the line? */
static bool begins(const char *line, const char *word) {
    const size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && !tt__is_word_char(line[n]);
}

/* Does the line give what a plain file lacks: the operation, or the launch of the kernel before it? */
static bool is_kept(const char *line, bool launches) {
    static const char *const declares[] = {"problem", "type",    "buffer", "scalar", "constant",
                                           "require", "include", "macros", NULL},
                             *const of_launch[] = {"block", "grid", "shared", "args", NULL};
    const char *const *words = launches ? of_launch : declares;
    while (*words && !begins(line, *words))
        words++;
    return *words;
}

/* Appends the annotations of the reference that are of use. `role`: the kernel whose launch counts. */
static void copy_annotations(tt__str *out, const char *text, const char *role, bool launches) {
    static const char *const kernels[] = {"kernel", "reference", "verify", "data", NULL};
    bool in_role = false;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *at = line + strspn(line, " \t");
        if (strncmp(at, "//@", 3) != 0)
            continue;
        at += 3 + strspn(at + 3, " \t");
        const size_t n = strcspn(at, "\r\n");
        for (const char *const *k = kernels; *k; k++)
            if (begins(at, *k))
                in_role = strcmp(*k, role) == 0;
        if (is_kept(at, launches) && (!launches || in_role))
            tt__str_addf(out, "//@ %.*s\n", (int)n, at);
    }
}

/* `code` is the text without comments, which may name kernels. The one kernel of a plain file gets the
 * arguments and the launch of the reference. */
static tt_status annotate_code(tt__str *out, const judge *j, const char *path, const char *text,
                               const char *code) {
    const tt__template *r = j->reference;
    const bool has_reference = r->operation->asides[TT__REFERENCE].n > 0;
    const char *at = code, *name, *kernel = NULL;
    size_t n, n_kernel = 0, kernels = 0;
    while ((name = next_kernel(&at, &n))) {
        kernels += !kernel || n != n_kernel || memcmp(kernel, name, n) != 0;
        kernel = name;
        n_kernel = n;
    }
    if (!r->own)
        return tt__fail(TT_E_INVALID, "%s has no annotation: a candidate for the built-in %s needs `op %s`",
                        path, r->op, r->op);
    if (kernels != 1)
        return tt__fail(TT_E_INVALID,
                        "%s has %zu kernels and no annotation: leave one __global__ function, or annotate it "
                        "as %s is",
                        path, kernels, r->path);
    if (!has_reference && r->n_params)
        return tt__fail(
            TT_E_INVALID,
            "%s has no annotation, and %s has no `reference` whose launch it could have: annotate it", path,
            r->path);
    copy_annotations(out, r->source, "", false);
    tt__str_add(out, "//@ kernel ");
    add_scope(out, code, kernel);
    tt__str_addf(out, "%.*s\n", (int)n_kernel, kernel);
    copy_annotations(out, r->source, has_reference ? "reference" : "kernel", true);
    tt__str_addf(out, "#line 1\n%s", text);
    return tt__str_check(out);
}

static tt_status annotate(tt__str *out, const judge *j, const char *path, const char *text) {
    static const char mark[] = "\xef\xbb\xbf"; /* of the byte order; NVRTC takes none behind other text */
    text += strncmp(text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
    char *code = strdup(text);
    if (!code)
        return tt__fail_memory(strlen(text));
    tt__cxx_blank_all(code);
    tt_status status = annotate_code(out, j, path, text, code);
    free(code);
    return status;
}

static tt_status read_kernel(tt__template **out, const judge *j, const char *path, const char *name) {
    tt__str text = {0}, whole = {0};
    *out = NULL;
    tt_status status = tt__read_text_max(&text, path, TT__INCLUDE_BYTES_MAX);
    if (status == TT_OK && !strstr(tt__str_text(&text), "//@"))
        status = annotate(&whole, j, path, tt__str_text(&text));
    else if (status == TT_OK)
        tt__str_add(&whole, tt__str_text(&text));
    if (status == TT_OK)
        status = tt__str_check(&whole);
    if (status == TT_OK)
        status = tt__template_parse_at(out, path, tt__str_text(&whole));
    if (status == TT_OK)
        status = tt__template_adopt(*out, j->reference, name);
    if (status != TT_OK)
        tt__template_free(out);
    tt__str_free(&text);
    tt__str_free(&whole);
    return status;
}

/* ---- One contest -----------------------------------------------------------------------------------------
 */

typedef struct contest {
    judgement *out;
    const tt__template *templates[2];
    tt__trial base, candidate; /* of the finals, else of the screening */
    bool base_there, candidate_there, done;
    char nothing[TT__REASON_MAX]; /* which result a kernel that computes nothing may have; "": none */
    tt__str *notes;
    int64_t run_id;
} contest;

static tt_status take_final(void *user, const tt__trial_row *row) {
    contest *c = user;
    if (row->run_id == c->run_id)
        *(strcmp(row->kernel, base_name) == 0 ? &c->base : &c->candidate) = *row->trial;
    return TT_OK;
}

/* Copies the line of the notes that says so. */
static void find_nothing(contest *c) {
    const char *notes = tt__str_text(c->notes), *line = strstr(notes, TT__NOTHING_PASSES);
    while (line && line > notes && line[-1] != '\n')
        line--;
    if (line)
        tt__format(c->nothing, sizeof c->nothing, "%.*s", (int)strcspn(line, "\n"), line);
}

/* Right for the size shown only? A size that the other kernel does not do says nothing. */
static tt_status try_near(contest *c, tt__session *s, const tt__problem *p) {
    judgement *out = c->out;
    for (size_t k = 0; k < tt__neighbours(p); k++) {
        tt__problem near;
        tt__candidate whole;
        tt__configuration both[2];
        tt__trial trials[2];
        char text[TT__PROBLEM_TEXT_MAX];
        bool legal = tt__neighbour(&near, c->templates[0], p, k);
        for (int i = 0; i < 2 && legal; i++) {
            legal = tt__space_resolve(&whole, c->templates[i], &s->gpu, &near,
                                      c->templates[i]->default_config) == TT_OK;
            both[i] = whole.configuration;
        }
        tt_status status = legal ? tt__neighbour_try(s, &near, both, 2, INFINITY, trials) : TT_E_INVALID;
        if (status == TT_E_INTERRUPTED)
            return status;
        if (status != TT_OK || trials[0].status != TT__TRIAL_OK)
            continue;
        tt__problem_text(text, &near);
        if (trials[1].status == TT__TRIAL_OK) {
            tt__copy(out->checked, sizeof out->checked, text);
        } else {
            c->candidate = trials[1];
            tt__format(c->candidate.reason, sizeof c->candidate.reason, "right for %s, but for %s: %s",
                       out->problem, text, trials[1].reason);
        }
        return TT_OK;
    }
    return TT_OK;
}

static tt_status after(void *user, tt__session *s, tt__search *copy, const tt__search *search,
                       const tt_result *winner) {
    contest *c = user;
    (void)copy;
    (void)winner;
    c->run_id = s->run_id;
    for (size_t i = 0; i < search->space.n; i++) {
        const bool base = strcmp(search->space.items[i].t->kernel, base_name) == 0;
        tt__search_trial(base ? &c->base : &c->candidate, search, i);
        *(base ? &c->base_there : &c->candidate_there) = search->known[i] == TT__TRIED;
    }
    c->done = true;
    TT_TRY(
        tt__store_trials(s->store, s->gpu_id, &s->env, search->problem_id, TT__STAGE_FINAL, take_final, c));
    find_nothing(c); /* not near it */
    const bool passed = c->base_there && c->base.status == TT__TRIAL_OK && c->candidate_there &&
                        c->candidate.status == TT__TRIAL_OK;
    return passed ? try_near(c, s, &search->problem) : TT_OK;
}

/* The messages of a run are notes of the judgement. */
typedef struct messages {
    const tt_tune_opts *opts;
    tt__str *notes;
} messages;

static void on_message(void *user, const char *line) {
    messages *m = user;
    if (!strstr(tt__str_text(m->notes), line))
        tt__str_addf(m->notes, "%s\n", line);
}

static int should_stop(void *user) {
    const messages *m = user;
    return m->opts->should_stop ? m->opts->should_stop(m->opts->user) : 0;
}

static tt_status hold(contest *c, judge *j, tt_ctx *ctx, const tt_tune_opts *opts, tt__template *candidate,
                      const tt__problem *p) {
    tt__template *both[] = {j->base, candidate};
    const tt__template_set set = {.n = 2, .items = both};
    messages m = {opts, c->notes};
    tt_tune_opts own = *opts;
    tt_report *report = NULL;
    c->templates[0] = j->base;
    c->templates[1] = candidate;
    own.force = 1;
    own.on_message = on_message;
    own.on_progress = NULL;
    own.should_stop = should_stop;
    own.user = &m;
    tt_status status = tt__tune(
        &report, ctx,
        &(tt__tune_call){.n = 1, .problems = p, .templates = &set, .defaults_only = true, .strict = true},
        &(tt__tune_question){after, c}, &own);
    if (report)
        tt__copy(j->gpu, sizeof j->gpu, report->gpu);
    if (status == TT_E_NO_WINNER && report && report->n_results)
        tt__fail(status, "%s", report->results[0].note);
    tt_report_free(&report);
    return status;
}

/* Both passed. Is the candidate faster? */
static void compare(judgement *out, const contest *c) {
    const tt__trial *a = &c->base, *b = &c->candidate;
    out->time_us = b->time_us;
    out->base_us = a->time_us;
    if (a->n_samples != b->n_samples || a->n_samples < TT__FINAL_ROUNDS) {
        out->code = EXIT_UNKNOWN;
        tt__copy(out->reason, sizeof out->reason, "they could not be timed side by side");
        return;
    }
    out->ratio = tt__paired_ratio(a->samples_us, b->samples_us, (size_t)a->n_samples);
    out->code = out->ratio.low > margin                               ? EXIT_FASTER
                : out->ratio.median <= 1 || out->ratio.high <= margin ? EXIT_NOT_FASTER
                                                                      : EXIT_UNKNOWN;
    if (out->code == EXIT_UNKNOWN)
        tt__copy(out->reason, sizeof out->reason, "the noise is larger than the difference");
}

/* Does nothing after this failure have a verdict, either? All others are of this contest: a reference that
 * hangs, memory that is short. So is what is invalid for one problem; with the first it may be so for all. */
static bool ends_all(const judge *j, tt_status status) {
    return status == TT_E_INTERRUPTED || (status == TT_E_INVALID && j->n == 0) || status == TT_E_NO_DRIVER ||
           status == TT_E_NO_DEVICE || status == TT_E_NO_NVRTC;
}

static tt_status judge_one(judge *j, judgement *out, tt_ctx *ctx, const tt_tune_opts *opts,
                           tt__template *candidate, const tt__problem *p) {
    tt__str notes = {0};
    contest c = {.out = out, .notes = &notes};
    tt__problem_text(out->problem, p);
    tt_status status = hold(&c, j, ctx, opts, candidate, p);
    out->code = EXIT_UNKNOWN;
    if (status == TT_E_NO_WINNER ||
        (status == TT_OK && (!c.done || !c.base_there || c.base.status != TT__TRIAL_OK))) {
        tt__format(out->reason, sizeof out->reason, "%s itself fails: %s", j->base->path,
                   c.done && *c.base.reason ? c.base.reason : tt_last_error());
        status = TT_OK;
    } else if (status != TT_OK && !ends_all(j, status)) {
        tt__format(out->reason, sizeof out->reason, "they could not be judged: %s", tt_last_error());
        status = TT_OK;
    } else if (status == TT_OK && !c.candidate_there) {
        tt__copy(out->reason, sizeof out->reason, "its `where` lines exclude this problem");
    } else if (status == TT_OK && c.candidate.status != TT__TRIAL_OK) {
        out->code = EXIT_WRONG;
        out->status = c.candidate.status;
        tt__copy(out->reason, sizeof out->reason, c.candidate.reason);
    } else if (status == TT_OK && *c.nothing) {
        tt__format(out->reason, sizeof out->reason, "the right result shows nothing: %s", c.nothing);
    } else if (status == TT_OK) {
        compare(out, &c);
    }
    for (const char *line = tt__str_text(&notes); *line; line += strcspn(line, "\n") + 1) {
        char one[1024];
        tt__copy_short(one, sizeof one, line);
        one[strcspn(one, "\n")] = '\0';
        if (!strstr(tt__str_text(&j->notes), one))
            tt__str_addf(&j->notes, "%s\n", one);
    }
    tt__str_free(&notes);
    return status;
}

static bool is_against_winner(const judge *j) {
    return j->args->against && strcmp(j->args->against, "winner") == 0;
}

/* The other kernel gets the configuration that the user's store has for this problem. */
static tt_status take_winner(judge *j, const tt__problem *p) {
    const tt__template_set set = {.n = 1, .items = &j->reference};
    const char *file = j->args->files[0];
    char text[TT__PROBLEM_TEXT_MAX];
    size_t config[TT__PARAMS_MAX] = {0};
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_choice choice = TT_INIT(tt_choice);
    tt_ctx *store = NULL;
    tt__gpu gpu;
    open.db_path = j->args->db;
    open.read_only = 1; /* a question makes no store */
    TT_TRY(tt__device_gpu(&gpu, j->args->device));
    TT_TRY(tt_open(&store, &open));
    tt_status status = tt__ladder(store, &set, &gpu, p, &choice, NULL);
    if (status == TT_OK && choice.match != TT_MATCH_EXACT && choice.match != TT_MATCH_STALE)
        status = tt__fail(TT_E_INVALID,
                          "the store has no winner of %s for %s: tune it first, with \"tune --kernel %s\"",
                          file, tt__problem_text(text, p), file);
    if (status == TT_OK)
        status = tt__config_parse(config, j->base, choice.config);
    if (status == TT_OK)
        tt__config_make_default(j->base, config);
    tt_close(&store);
    return status;
}

static tt_status judge_all(void *user, tt_ctx *ctx, const tt_tune_opts *opts) {
    judge *j = user;
    for (size_t k = 0; k < j->n_problems && is_against_winner(j); k++) /* before anything is measured */
        TT_TRY(take_winner(j, &j->problems[k]));
    for (size_t i = 1; i < j->args->n_files; i++)
        for (size_t k = 0; k < j->n_problems; k++) {
            const tt__problem *p = &j->problems[k];
            judgement *out = &j->items[j->n];
            *out = (judgement){.path = j->args->files[i]};
            if (is_against_winner(j))
                TT_TRY(take_winner(j, p));
            tt__copy(out->base_config, sizeof out->base_config, j->base->default_config);
            TT_TRY(judge_one(j, out, ctx, opts, j->candidates[i - 1], p));
            j->n++;
        }
    return TT_OK;
}

/* ---- The answer ------------------------------------------------------------------------------------------
 */

/* One that is wrong counts most, then one that nothing is known of. */
static int worst(const judge *j) {
    static const int order[] = {EXIT_WRONG, EXIT_UNKNOWN, EXIT_NOT_FASTER};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; i < j->n; i++)
            if (j->items[i].code == order[k])
                return order[k];
    return EXIT_FASTER;
}

static const char *verdict_name(int code) {
    return code == EXIT_FASTER       ? "faster"
           : code == EXIT_NOT_FASTER ? "not faster"
           : code == EXIT_WRONG      ? "wrong"
                                     : "cannot tell";
}

static tt_status print_json(const judge *j) {
    tt__str text = {0};
    tt__json out = {.out = &text};
    tt__cli_json_begin(&out);
    TT__JSON_STRINGS(&out, {"gpu", j->gpu}, {"reference", j->base->path},
                     {"verdict", verdict_name(worst(j))});
    tt__json_int(&out, "exit_code", worst(j));
    tt__json_open(&out, "judgements", '[');
    for (size_t i = 0; i < j->n; i++) {
        const judgement *x = &j->items[i];
        tt__json_open(&out, NULL, '{');
        TT__JSON_STRINGS(&out, {"file", x->path}, {"problem", x->problem}, {"verdict", verdict_name(x->code)},
                         {"status", tt__trial_status_name(x->status)}, {"reason", x->reason},
                         {"also_right_for", x->checked}, {"reference_config", x->base_config});
        TT__JSON_KNOWN(&out, {"time_us", x->time_us, 7}, {"reference_us", x->base_us, 7},
                       {"speedup", x->ratio.median, 5}, {"speedup_low", x->ratio.low, 5},
                       {"speedup_high", x->ratio.high, 5});
        tt__json_close(&out, '}');
    }
    tt__json_close(&out, ']');
    tt__json_open(&out, "notes", '[');
    for (const char *line = tt__str_text(&j->notes); *line; line += strcspn(line, "\n") + 1) {
        char one[1024];
        tt__copy_short(one, sizeof one, line);
        one[strcspn(one, "\n")] = '\0';
        tt__json_string(&out, NULL, one);
    }
    tt__json_close(&out, ']');
    return tt__cli_print_json(&out);
}

/* A line each: a compiler's message has several, which quote the candidate and might look like a verdict. */
static tt_status print_text(const judge *j) {
    tt__cli_say(stderr, "%s", tt__str_text(&j->notes));
    for (size_t i = 0; i < j->n; i++) {
        const judgement *x = &j->items[i];
        tt__str line = {0};
        tt__str_addf(&line, "%s: %s", x->path, verdict_name(x->code));
        if (x->ratio.median > 0 && x->code != EXIT_WRONG)
            tt__str_addf(&line, ": right, %.3fx (%.3f to %.3f) the speed of %s: %s, %s", x->ratio.median,
                         x->ratio.low, x->ratio.high, j->base->path, tt__cli_time(x->time_us).text,
                         tt__cli_time(x->base_us).text);
        tt__str_addf(&line, "%s%s, %s", *x->reason ? ": " : "", x->reason, x->problem);
        for (size_t k = 0; k < line.len; k++)
            line.text[k] = line.text[k] == '\n' ? ' ' : line.text[k];
        tt_status status = tt__str_check(&line);
        tt__cli_say(stdout, "%s\n", tt__str_text(&line));
        tt__str_free(&line);
        TT_TRY(status);
    }
    return TT_OK;
}

/* Reads all files and problems before anything is measured, so that no judgement is lost to a mistake in the
 * next file. */
static tt_status read_all(judge *j) {
    const tt__cli_args *args = j->args;
    const size_t n = args->n_files - 1;
    j->n_problems = args->n_texts ? args->n_texts : 1;
    j->items = calloc(n * j->n_problems, sizeof *j->items);
    j->candidates = calloc(n, sizeof *j->candidates);
    j->problems = calloc(j->n_problems, sizeof *j->problems);
    if (!j->items || !j->candidates || !j->problems)
        return tt__fail_memory(n * j->n_problems * sizeof *j->items);
    TT_TRY(tt__template_load(&j->reference, args->files[0]));
    TT_TRY(read_kernel(&j->base, j, args->against && !is_against_winner(j) ? args->against : args->files[0],
                       base_name));
    for (size_t i = 0; i < n; i++)
        TT_TRY(read_kernel(&j->candidates[i], j, args->files[i + 1], candidate_name));
    for (size_t k = 0; k < j->n_problems; k++) {
        TT_TRY(tt__operation_problem(&j->problems[k], j->reference->operation, j->reference->op,
                                     args->n_texts ? args->texts[k] : NULL));
        if (j->problems[k].in_graph)
            return tt__fail(TT_E_INVALID,
                            "--problem %s: a judge looks at separate launches, so leave in_graph out",
                            args->texts[k]);
        if (j->problems[k].unverified)
            return tt__fail(TT_E_INVALID,
                            "%s has no reference, so that nothing says what is right: add a `reference`, a "
                            "`verify` or an `expect` to it",
                            args->files[0]);
        j->problems[k].moved_bytes = 0; /* no copy to compare with */
    }
    return TT_OK;
}

static int run(const tt__cli_args *args) {
    tt__cli_args own = *args;
    judge j = {.args = args};
    own.db = ":memory:";
    own.quiet = true;
    tt_status status = read_all(&j);
    TT_GOTO(status);
    TT_GOTO(tt__cli_running(&own, judge_all, &j));
    TT_GOTO(args->json ? print_json(&j) : print_text(&j));
    TT_GOTO(tt__cli_flush());
out:;
    const int code = status == TT_E_INTERRUPTED ? TT__EXIT_INTERRUPTED
                     : status != TT_OK          ? tt__cli_fail(status)
                                                : worst(&j);
    for (size_t i = 0; j.candidates && i < args->n_files - 1; i++)
        tt__template_free(&j.candidates[i]);
    free(j.candidates);
    free(j.problems);
    tt__template_free(&j.base);
    tt__template_free(&j.reference);
    tt__str_free(&j.notes);
    free(j.items);
    /* 1 says that a kernel is right, so no failure may. */
    return status != TT_OK && code == TT__EXIT_NO_WINNER ? TT__EXIT_USAGE : code;
}

static tt_status check(const tt__cli_args *args) {
    if (args->replay)
        return tt__fail(TT_E_INVALID,
                        "--device replay:%s: a judge measures, and a recording cannot: name a device",
                        args->replay);
    return args->n_files >= 2
               ? TT_OK
               : tt__fail(TT_E_INVALID, "which files? name the reference and then the candidates, "
                                        "as in \"tune judge right.cu mine.cu\"");
}

static const tt__cli_option options[] = {
    TT__OPT_PROBLEM,
    TT__TEXT(
        "against", "FILE.cu", against,
        "compare times with this kernel instead of the reference's; \"winner\": with the reference file's "
        "stored winner"),
    TT__OPT_DB,
    TT__SET("device", "N", tt__cli_set_one_device, "the CUDA device, default 0"),
    TT__SET("jobs", "N", tt__cli_set_jobs, "compile processes; default one for each CPU"),
    TT__OPT_TRIAL_TIMEOUT,
    TT__OPT_COMPILE_TIMEOUT,
    TT__OPT_JSON,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_judge = {
    .name = "judge",
    .usage = "tune judge REFERENCE.cu CANDIDATE.cu... [--problem NAME=VALUE[,...]]\n"
             "            [--against FILE.cu | --against winner] [options]",
    .summary = "whether kernels are right, and faster than another",
    .notes =
        "REFERENCE.cu is an annotated kernel. A candidate declares the same buffers and variables, or is a\n"
        "plain file with one kernel that takes the arguments of the reference. Each runs with its default\n"
        "configuration. The exit code is 0 if all are right and faster beyond the noise, 1 if one is right\n"
        "and not faster, 5 if one is wrong, 6 if it cannot be told, 2 for a bad command line or file.\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};
