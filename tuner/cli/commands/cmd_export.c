/*
 * `tune export`: writes a GPU's trials as a recording, to replay on other machines, or winners for programs
 * without tiletune: as a C file (export_c.h), as a header with their parameters, or as JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "api/problem.h"
#include "base/grow.h"
#include "base/json.h"
#include "code/headers.h"
#include "db/exchange/export.h"
#include "db/exchange/recording.h"
#include "dispatch/ladder.h"
#include "dispatch/store_layers.h"
#include "kernel/load/builtin.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "tuner/cli/commands/export_c.h"
#include "tuner/cli/commands/sharing.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"

/* ---- Which winners
 * ----------------------------------------------------------------------------------------------
 */

typedef struct finding {
    tt__exports *out;
    const tt__cli_args *args;
    const tt__template *own; /* the file of --kernel; NULL: none */
    tt__gpu gpu;             /* of --gpu; without a name: all */
    int64_t gpu_id;          /* of it in the store; -1: it is not there */
    tt__problem problem;     /* the one that is asked for now */
} finding;

static tt_status add(tt__exports *out, const tt__problem *p, const tt__gpu *gpu) {
    const tt__template *t = tt__template_set_for(&out->ctx->templates, p);
    if (!t)
        return tt__fail(TT_E_UNSUPPORTED, "there is no template for the operation %s", p->op);
    TT_TRY(tt__template_read(&t));
    TT_TRY(TT__GROW(out->items, out->n));
    out->items[out->n++] =
        (tt__exported){.problem = *p, .gpu = *gpu, .op = t->operation, .asked = out->asked};
    return TT_OK;
}

/* A kernel's file has the launches, so without it the winner is of no use. */
static void leave_out(tt__exports *out, const char *op) {
    char padded[TT__NAME_MAX + 8];
    snprintf(padded, sizeof padded, " %s,", op);
    out->n_left_out++;
    if (!strstr(tt__str_text(&out->left_out), padded))
        tt__str_addf(&out->left_out, " %s,", op);
}

static tt_status take_winner(void *user, const tt__winner *w) {
    const finding *f = user;
    if (f->args->op && strcmp(f->args->op, w->problem.op) != 0)
        return TT_OK;
    if (f->own && !tt__problem_is_of(&w->problem, f->own->op, f->own->hash))
        return TT_OK;
    if (tt__template_set_for(&f->out->ctx->templates, &w->problem))
        return add(f->out, &w->problem, &w->gpu);
    leave_out(f->out, w->problem.op);
    return TT_OK;
}

static tt_status take_gpu(void *user, int64_t gpu_id, const tt__gpu *gpu) {
    const finding *f = user;
    int64_t problem_id;
    bool has = false;
    TT_TRY(tt__store_known_problem(f->out->ctx->store, &f->problem, &problem_id));
    if (problem_id >= 0)
        TT_TRY(tt__store_has_winner(f->out->ctx->store, gpu_id, problem_id, &has));
    return has ? add(f->out, &f->problem, gpu) : TT_OK;
}

/* The problem on the GPU that is named, or on all that have a winner. */
static tt_status take_named(finding *f) {
    char text[TT__PROBLEM_TEXT_MAX];
    const size_t before = f->out->n;
    if (f->gpu.name[0])
        return add(f->out, &f->problem, &f->gpu);
    TT_TRY(tt__store_gpus(f->out->ctx->store, take_gpu, f));
    return f->out->n > before ? TT_OK
                              : tt__fail(TT_E_NO_WINNER,
                                         "there is no winner for the %s of %s: tune it first, or name a GPU "
                                         "with --gpu",
                                         f->problem.op, tt__problem_text(text, &f->problem));
}

static tt_status take_question(finding *f, const tt_problem *asked) {
    tt__question q;
    TT_TRY(tt__question_of(&q, f->out->ctx, asked));
    f->problem = q.problem;
    return take_named(f);
}

/* Problems of a kernel are of the file among the context's templates. */
static tt_status take_of_kernel(finding *f) {
    for (size_t i = 0; i < f->args->n_texts; i++) {
        TT_TRY(tt__operation_problem(&f->problem, f->own->own, f->own->op, f->args->texts[i]));
        tt__cli_set_regime(&f->problem, f->args);
        TT_TRY(take_named(f));
    }
    return TT_OK;
}

static tt_status take_all(finding *f) {
    if (f->gpu.name[0] && f->gpu_id < 0)
        return TT_OK;
    return tt__store_winners(f->out->ctx->store, f->gpu.name[0] ? f->gpu_id : 0, 0, NULL, take_winner, f);
}

static tt_status take(finding *f, const tt__cli_args *args) {
    tt__cli_problems problems = {0};
    tt_status status = TT_OK;
    if (args->permute)
        tt__cli_asked(f->out->asked, args, "");
    if (f->own && args->n_texts)
        return take_of_kernel(f);
    if (!args->n_problems && !args->n_texts && !args->permute)
        return take_all(f);
    TT_GOTO(tt__cli_problems_open(&problems, f->out->ctx, args));
    for (size_t i = 0; i < problems.n; i++)
        TT_GOTO(take_question(f, &problems.items[i]));
out:
    tt__cli_problems_close(&problems);
    return status;
}

/* ---- Where they come from
 * -----------------------------------------------------------------------------------------
 */

static tt_status find_in(tt__exported *x, tt__store *store, bool *found) {
    int64_t gpu_id, problem_id;
    tt__origin origin;
    *found = false;
    TT_TRY(tt__store_known_gpu(store, &x->gpu, &gpu_id));
    TT_TRY(tt__store_known_problem(store, &x->problem, &problem_id));
    if (gpu_id < 0 || problem_id < 0)
        return TT_OK;
    TT_TRY(tt__store_winner_get(store, gpu_id, problem_id, &x->winner, found));
    TT_TRY(tt__store_origin(store, gpu_id, problem_id, &origin));
    tt__copy(x->program, sizeof x->program, origin.program);
    return TT_OK;
}

/* The winner in the layer that answered. */
static tt_status find_winner(tt__exported *x, const tt_ctx *ctx) {
    bool found = false;
    for (tt__layer layer = 0; layer < TT__LAYER_COUNT && !found; layer++) {
        tt__store *store = tt__layer_store(ctx, layer);
        if (strcmp(x->code.choice.layer, tt__layer_names[layer]) != 0)
            continue;
        if (layer == TT__LAYER_SHIPPED)
            found = tt__shipped_winner(&x->gpu, &x->problem, &x->winner);
        else
            TT_TRY(find_in(x, store, &found));
    }
    return TT_OK;
}

static const char *verified_by(const tt__exported *x) {
    const tt__operation *op = x->op;
    bool exact = op->tolerance.line == 0;
    for (size_t i = 0; i < op->n_operands; i++)
        exact &= op->operands[i].tolerance.line == 0;
    return x->code.choice.match == TT_MATCH_RULE ? "not verified for this problem"
           : x->problem.unverified               ? "not verified, because its file has no reference"
           : op->asides[TT__VERIFY].n            ? "verified by the kernel of its file that finds errors"
           : !op->asides[TT__REFERENCE].n        ? "verified against expected results"
           : exact                               ? "verified against its reference kernel, bit for bit"
                   : "verified against its reference kernel, within the tolerance of its file";
}

/* Appends where a winner comes from, and how it was verified. */
static tt_status add_about(tt__str *out, const tt__exported *x) {
    const tt__winner *w = &x->winner;
    char gpu[TT__GPU_TEXT_MAX], problem[TT__PROBLEM_TEXT_MAX];
    tt__str_addf(out, "%s of %s%s: %s%s%s; ", x->problem.op, tt__problem_text(problem, &x->problem),
                 tt__problem_regime(&x->problem), x->code.choice.kernel, x->code.choice.config[0] ? " " : "",
                 x->code.choice.config);
    if (x->code.choice.match == TT_MATCH_RULE) {
        tt__str_addf(out, "for %s by a rule: %s; %s", tt__gpu_text(gpu, &x->gpu), x->code.choice.why,
                     verified_by(x));
        return tt__str_check(out);
    }
    tt__str_addf(out, "%s on %s, driver %s, NVRTC %s, %s; %s", tt__cli_time(w->time_us).text,
                 tt__gpu_text(gpu, &x->gpu), w->env.driver[0] ? w->env.driver : "unknown",
                 w->env.nvrtc[0] ? w->env.nvrtc : "unknown", tt__cli_when(TT__WHEN_ISO, w->unix_ms).text,
                 verified_by(x));
    if (strcmp(w->source, "measured") != 0)
        tt__str_addf(out, "; %s", w->source);
    if (x->program[0])
        tt__str_addf(out, "; by tiletune %s", x->program);
    if (x->code.choice.match == TT_MATCH_STALE)
        tt__str_addf(out, "; stale: %s", x->code.choice.why);
    return tt__str_check(out);
}

/* ---- All winners
 * ------------------------------------------------------------------------------------------------
 */

static tt_status choose(tt__exported *x, tt_ctx *ctx, bool code) {
    char problem[TT__PROBLEM_TEXT_MAX], gpu[TT__GPU_TEXT_MAX];
    /* For a named GPU, the driver of this machine is not compared. */
    tt__copy(ctx->gpu_name, sizeof ctx->gpu_name, tt__gpu_text(gpu, &x->gpu));
    x->code.choice.size = sizeof x->code.choice;
    TT_TRY(code
               ? tt__plan_code_make(&x->code, ctx, &ctx->templates, &x->gpu, &x->problem)
               : tt__ladder(ctx, &ctx->templates, &x->gpu, &x->problem, &x->code.choice, &x->code.candidate));
    if (x->code.choice.match > TT_MATCH_STALE && x->code.choice.match != TT_MATCH_RULE)
        return tt__fail(TT_E_NO_WINNER, "there is no winner for the %s of %s on %s: tune it first",
                        x->problem.op, tt__problem_text(problem, &x->problem), gpu);
    TT_TRY(find_winner(x, ctx));
    return add_about(&x->about, x);
}

static int by_problem(const void *a, const void *b) {
    const tt__exported *x = a, *y = b;
    const int order = strcmp(x->problem.op, y->problem.op);
    const int problems = order ? order : tt__problem_compare(&x->problem, &y->problem);
    return problems ? problems : strcmp(x->gpu.name, y->gpu.name);
}

/* The files of --template, and that of --kernel behind them. */
static tt_status open_context(tt__exports *out, const tt__cli_args *args) {
    tt_open_opts open = TT_INIT(tt_open_opts);
    const char **files = malloc((args->n_templates + 1) * sizeof *files);
    if (!files)
        return tt__fail_memory(args->n_templates * sizeof *files);
    for (size_t i = 0; i < args->n_templates; i++)
        files[i] = args->templates[i];
    files[args->n_templates] = args->kernel;
    open.db_path = args->lock ? NULL : args->db;
    open.lock_file = args->lock;
    open.read_only = 1;
    open.gpu = args->gpu;
    open.templates = files;
    open.n_templates = args->n_templates + (args->kernel != NULL);
    tt_status status = tt_open(&out->ctx, &open);
    free(files);
    return status;
}

static tt_status find_all(tt__exports *out, const tt__cli_args *args) {
    finding f = {.out = out, .args = args};
    TT_TRY(open_context(out, args));
    const tt__template_set *set = &out->ctx->templates;
    if (args->kernel)
        f.own = set->items[set->n - 1];
    if (f.own && !f.own->own)
        return tt__fail(TT_E_INVALID, "%s is a template for `op %s`: name it with --template", args->kernel,
                        f.own->op);
    if (args->gpu)
        TT_TRY(tt__layers_find_gpu(out->ctx, args->gpu, &f.gpu, &f.gpu_id));
    TT_TRY(take(&f, args));
    if (out->left_out.len)
        out->left_out.text[--out->left_out.len] = '\0'; /* the comma */
    if (out->n)
        return TT_OK;
    return out->n_left_out
               ? tt__fail(TT_E_NO_WINNER,
                          "all winners here are of kernels whose files are not named:%s; name "
                          "them with --template",
                          tt__str_text(&out->left_out))
               : tt__fail(TT_E_NO_WINNER, "nothing was tuned here: tune first, or name a problem, as in "
                                          "--size 4096, for which a winner or a rule ships");
}

/* The problems that the command line names, or all winners of its store or lock file; on the GPU that it
 * names, or on all. With `code`, they have code, and what the store lacks is compiled. Close it, also after a
 * failure.
 * TT_E_NO_WINNER: there is none, or none for a problem that is named. */
static tt_status open_exports(tt__exports *out, const tt__cli_args *args, bool code) {
    *out = (tt__exports){0};
    TT_TRY(find_all(out, args));
    qsort(out->items, out->n, sizeof *out->items, by_problem);
    for (size_t i = 0; i < out->n; i++)
        TT_TRY(choose(&out->items[i], out->ctx, code));
    return TT_OK;
}

static void close_exports(tt__exports *exports) {
    for (size_t i = 0; i < exports->n; i++) {
        tt__plan_code_free(&exports->items[i].code);
        tt__str_free(&exports->items[i].about);
    }
    free(exports->items);
    tt__str_free(&exports->left_out);
    tt_close(&exports->ctx);
}

/* ---- JSON -----------------------------------------------------------------------------------------------
 */

static void write_three(tt__json *j, const char *key, const unsigned values[3]) {
    tt__json_open(j, key, '[');
    for (int i = 0; i < 3; i++)
        tt__json_int(j, NULL, values[i]);
    tt__json_close(j, ']');
}

static void write_launches(tt__json *j, const tt__exported *x) {
    const tt__candidate *c = &x->code.candidate;
    tt__json_open(j, "launches", '[');
    for (int i = 0; i < c->launch.n_passes; i++) {
        const tt__pass *p = &c->launch.passes[i];
        const unsigned cluster[] = {p->cluster[0], p->cluster[1], p->cluster[2]};
        if (p->off)
            continue;
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "kernel", c->configuration.t->symbols.name[i]);
        write_three(j, "grid", p->grid);
        write_three(j, "block", p->block);
        tt__json_int(j, "shared_bytes", p->shared_bytes);
        tt__json_int(j, "times", 1 + p->repeats);
        if (p->joins) /* it is in the loop of the launch above */
            tt__json_int(j, "together", 1);
        if (p->cooperative)
            tt__json_int(j, "cooperative", 1);
        if (p->cluster[0])
            write_three(j, "cluster", cluster);
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
}

/* The compiler's options for the configuration, without those that are the library's own. */
static tt_status write_options(tt__json *j, const tt__exported *x) {
    tt__str options = {0};
    int n;
    TT_TRY(tt__config_options(&options, &n, &x->code.candidate.configuration, &x->problem));
    const char *at = options.text;
    tt__json_open(j, "options", '[');
    for (int i = 0; i < n; i++, at += strlen(at) + 1)
        if (*at == '-')
            tt__json_string(j, NULL, at);
    tt__json_close(j, ']');
    tt__str_free(&options);
    return TT_OK;
}

static tt_status write_arguments(tt__json *j, const tt__exported *x) {
    tt__workload *w = malloc(sizeof *w);
    if (!w)
        return tt__fail_memory(sizeof *w);
    tt_status status = tt__workload_arrays(w, x->code.candidate.configuration.t, &x->gpu, &x->problem,
                                           x->code.choice.config);
    tt__json_open(j, "arguments", '[');
    for (int i = 0; status == TT_OK && i < w->n && !w->arrays[i].aside; i++) {
        const tt__array *a = &w->arrays[i];
        tt__json_open(j, NULL, '{');
        TT__JSON_STRINGS(j, {"name", a->name}, {"direction", tt__directions[a->direction]},
                         {"type", tt__types[a->type].name});
        tt__json_int(j, "bytes", tt__array_bytes(a));
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    free(w);
    return status;
}

static tt_status write_winner(tt__json *j, const tt__exported *x) {
    char gpu[TT__GPU_TEXT_MAX];
    const tt__winner *w = &x->winner;
    tt__json_open(j, NULL, '{');
    tt__cli_json_problem(j, &x->problem);
    tt__json_string(j, "gpu", tt__gpu_text(gpu, &x->gpu));
    tt__json_int(j, "cc", x->gpu.cc);
    TT__JSON_STRINGS(j, {"kernel", x->code.choice.kernel}, {"file", x->code.candidate.configuration.t->path},
                     {"template", x->code.candidate.configuration.t->hash});
    tt__json_config(j, "config", x->code.choice.config);
    TT_TRY(write_options(j, x));
    write_launches(j, x);
    TT_TRY(write_arguments(j, x));
    tt__json_number(j, "time_us", tt__cli_known(w->time_us), 7);
    TT__JSON_STRINGS(j, {"match", tt_match_name(x->code.choice.match)}, {"why", x->code.choice.why},
                     {"source", w->source}, {"driver", w->env.driver}, {"nvrtc", w->env.nvrtc},
                     {"date", w->unix_ms ? tt__cli_when(TT__WHEN_ISO, w->unix_ms).text : ""},
                     {"program", x->program}, {"verified", verified_by(x)});
    tt__json_close(j, '}');
    return tt__str_check(j->out);
}

static tt_status fill_json(tt__str *out, void *user) {
    const tt__exports *e = user;
    tt__json j = {.out = out};
    tt__cli_json_begin(&j);
    tt__json_open(&j, "winners", '[');
    for (size_t i = 0; i < e->n; i++)
        TT_TRY(write_winner(&j, &e->items[i]));
    tt__json_close(&j, ']');
    tt__json_close(&j, '}');
    tt__str_add(out, "\n");
    return tt__str_check(out);
}

static tt_status export_json(const tt__exports *exports, const tt__cli_args *args) {
    return tt__cli_write_output(args, fill_json, (void *)exports);
}

/* ---- A header -------------------------------------------------------------------------------------------
 */

/* In capital letters; what no name may have becomes '_'. */
static void add_capitals(tt__str *out, const char *text) {
    for (; *text; text++) {
        const char c = (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
        tt__str_addn(out, tt__is_alnum(c) ? &c : "_", 1);
    }
}

/* Macros and types that the code gets when tiletune compiles it. */
static tt_status add_macros(tt__str *out, const tt__exported *x) {
    static const char type[] = TT__TYPEDEF;
    tt__str options = {0};
    int n;
    TT_TRY(tt__config_options(&options, &n, &x->code.candidate.configuration, &x->problem));
    const char *at = options.text;
    for (int i = 0; i < n; i++, at += strlen(at) + 1) {
        const char *sign = strchr(at, '=');
        if (strncmp(at, "-D", 2) == 0 && sign)
            tt__str_addf(out, "#define %.*s %s\n", (int)(sign - at - 2), at + 2, sign + 1);
        if (strncmp(at, type, sizeof type - 1) != 0 || !sign)
            continue;
        at += sizeof type - 1;
        if (strncmp(sign + 1, "__", 2) == 0)
            tt__str_addf(out, "#include <cuda_%s.h>\n", strstr(sign, "bfloat") ? "bf16" : "fp16");
        tt__str_addf(out, "typedef %s %.*s;\n", sign + 1, (int)(sign - at), at);
    }
    tt__str_free(&options);
    return tt__str_check(out);
}

/* Parameters that are no macros in the code: arguments of kernels and of C++ templates. */
static void add_others(tt__str *out, const tt__exported *x) {
    const tt__template *t = x->code.candidate.configuration.t;
    for (size_t i = 0; i < t->n_params; i++) {
        const tt__param *p = &t->params[i];
        if (!p->runtime && !p->as_template)
            continue;
        tt__str_add(out, "#define TUNED_");
        add_capitals(out, p->name);
        tt__str_addf(out, " %s\n", p->values[x->code.candidate.configuration.choice[i]]);
    }
}

static void add_three(tt__str *out, const char *kernel, const char *what, const unsigned values[3]) {
    tt__str_add(out, "#define ");
    add_capitals(out, kernel);
    tt__str_addf(out, "_%s %u, %u, %u\n", what, values[0], values[1], values[2]);
}

static tt_status add_gpu(tt__str *out, const tt__exported *x) {
    const tt__candidate *c = &x->code.candidate;
    tt__str about = {0};
    tt__str_add(&about, tt__str_text(&x->about));
    for (char *at = about.text; at && (at = strstr(at, "*/"));)
        *at = ' '; /* it must not end the comment */
    tt__str_addf(out, "/* %s */\n", tt__str_text(&about));
    const tt_status status = tt__str_check(&about);
    tt__str_free(&about);
    TT_TRY(status);
    TT_TRY(add_macros(out, x));
    add_others(out, x);
    for (int i = 0; i < c->launch.n_passes; i++) {
        const tt__pass *p = &c->launch.passes[i];
        const char *name = c->configuration.t->symbols.name[i];
        if (p->off)
            continue;
        add_three(out, name, "GRID", p->grid);
        add_three(out, name, "BLOCK", p->block);
        tt__str_add(out, "#define ");
        add_capitals(out, name);
        tt__str_addf(out, "_SHARED_BYTES %u\n", p->shared_bytes);
    }
    return tt__str_check(out);
}

static void add_gpu_name(tt__str *out, const tt__exported *x) {
    char gpu[TT__GPU_TEXT_MAX];
    tt__str_add(out, "TUNED_FOR_");
    add_capitals(out, tt__gpu_text(gpu, &x->gpu));
}

static tt_status fill_header(tt__str *out, void *user) {
    const tt__exports *e = user;
    tt__str_addf(out, "/* What tiletune %s tuned. Made by `tune export --format header`: do not edit. */\n",
                 TT_VERSION);
    for (size_t i = 0; i < e->n; i++) {
        if (e->n > 1) {
            tt__str_add(out, i ? "\n#elif defined(" : "\n#if defined(");
            add_gpu_name(out, &e->items[i]);
            tt__str_add(out, ")\n");
        }
        TT_TRY(add_gpu(out, &e->items[i]));
    }
    if (e->n > 1) {
        tt__str_add(out, "\n#else\n#error \"define one of");
        for (size_t i = 0; i < e->n; i++) {
            tt__str_add(out, i ? ", " : " ");
            add_gpu_name(out, &e->items[i]);
        }
        tt__str_add(out, "\"\n#endif\n");
    }
    return tt__str_check(out);
}

/* Parameters and launches as macros for one problem, on each GPU. */
static tt_status export_header(const tt__exports *exports, const tt__cli_args *args) {
    for (size_t i = 1; i < exports->n; i++)
        if (!tt__problem_same(&exports->items[0].problem, &exports->items[i].problem))
            return tt__fail(TT_E_INVALID,
                            "a header is of one problem, and here are winners of several: choose one with "
                            "--size, --shape, --permute, --op, --kernel or --problem");
    if (args->output)
        TT_TRY(tt__export_c_spares(args->output));
    return tt__cli_write_output(args, fill_header, (void *)exports);
}

/* ---- The command ------------------------------------------------------------------------------------- */

static bool is_cache(const tt__cli_args *args) {
    return args->format && strcmp(args->format, "kernel-tuner-cache") == 0;
}

/* What is written of winners. */
static const struct format {
    const char *name;
    bool code;
    tt_status (*write)(const tt__exports *exports, const tt__cli_args *args);
} formats[] = {{"c", true, tt__export_c}, {"header", false, export_header}, {"json", false, export_json}};

/* NULL: it is of trials. */
static const struct format *format_of(const tt__cli_args *args) {
    for (size_t i = 0; args->format && i < TT__COUNT(formats); i++)
        if (strcmp(args->format, formats[i].name) == 0)
            return &formats[i];
    return NULL;
}

typedef struct writing {
    const tt__cli_args *args;
    tt__store *store;
    int64_t gpu_id;
    tt__recording_part part;
} writing;

static tt_status fill(tt__str *out, void *user) {
    writing *w = user;
    const char *commit = w->args->commit ? w->args->commit : "";
    return is_cache(w->args) ? tt__recording_export_cache(w->store, w->gpu_id, &w->part, out)
                             : tt__recording_export(w->store, w->gpu_id, &w->part, commit, out);
}

static tt_status export(const tt__cli_args *args) {
    writing w = {.args = args};
    tt__template_set templates = {0};
    tt__problem problem;
    tt__gpu gpu;
    tt_status status;
    TT_GOTO(tt__sharing_part(&w.part, &templates, &problem, args));
    TT_GOTO(tt__cli_store_open(&w.store, args, TT__STORE_READ_ONLY));
    TT_GOTO(tt__store_find_gpu(w.store, args->gpu, &gpu, &w.gpu_id));
    TT_GOTO(tt__cli_write_output(args, fill, &w));
out:
    tt__template_set_close(&templates);
    tt__store_close(&w.store);
    return status;
}

/* Copies the content about one GPU, or all, into a new store. */
static tt_status export_database(const tt__cli_args *args) {
    tt__store *store = NULL, *to = NULL;
    tt__gpu gpu;
    tt__merge_opts opts = {.trusted = true};
    tt__merged report = {0};
    bool is_new = false;
    tt_status status;
    if (args->output || args->commit || args->format || args->kernel || args->op || args->n_problems ||
        args->n_texts)
        return tt__fail(TT_E_INVALID, "%s for recordings: leave them out with --database",
                        args->output || args->commit ? "--output and --commit are"
                                                     : "--format, --kernel, --op and a problem are");
    TT_GOTO(tt__cli_store_open(&store, args, TT__STORE_READ_ONLY));
    if (args->gpu)
        TT_GOTO(tt__store_find_gpu(store, args->gpu, &gpu, &opts.gpu_id));
    TT_GOTO(tt__sharing_create(&to, args->database, "use \"tune merge\"", &is_new));
    TT_GOTO(tt__store_begin(to));
    TT_GOTO(tt__store_merge(to, store, &opts, &report));
    TT_GOTO(tt__store_commit(to));
    tt__sharing_print(&report, args->database);
    is_new = false; /* it stays */
out:
    tt__sharing_discard(&to, is_new);
    tt__store_close(&store);
    return status;
}

/* Says of code that runs on one architecture only, and what is left out. */
static void warn(const tt__exports *exports, bool code) {
    for (size_t i = 0; i < exports->n && code; i++) {
        const tt__exported *x = &exports->items[i];
        if (x->code.ptx.len)
            continue;
        tt__cli_say(stderr, "tune: the %s runs on GPUs of compute capability %d.%d only, without PTX: %s\n",
                    x->problem.op, x->gpu.cc / 10, x->gpu.cc % 10, x->code.no_ptx);
        break;
    }
    if (exports->n_left_out)
        tt__cli_say(stderr, "tune: %s left out, because their kernels' files are not named (--template):%s\n",
                    tt__cli_count((int64_t)exports->n_left_out, "winner").text,
                    tt__str_text(&exports->left_out));
}

static tt_status export_winners(const tt__cli_args *args) {
    const struct format *format = format_of(args);
    tt__exports exports;
    tt_status status = open_exports(&exports, args, format->code);
    if (status == TT_OK)
        status = format->write(&exports, args);
    if (status == TT_OK)
        warn(&exports, format->code);
    close_exports(&exports);
    return status;
}

/* Options of winners, and those of trials. */
static tt_status check_winners(const tt__cli_args *args) {
    tt__cli_args problems = *args;
    problems.kernel_file = args->kernel;
    problems.n_templates = 0; /* which --kernel does without elsewhere */
    TT_TRY(tt__cli_check_problems(&problems));
    if (args->commit || args->database)
        return tt__fail(TT_E_INVALID, "%s is for trials: leave it out with --format %s",
                        args->commit ? "--commit" : "--database", args->format);
    if (args->lock && args->db)
        return tt__fail(TT_E_INVALID, "--lock %s and --db %s: one or the other", args->lock, args->db);
    if (args->kernel && !tt__cli_is_file(args->kernel))
        return tt__fail(TT_E_INVALID, "--kernel %s: name a kernel's file, as in saxpy.cu", args->kernel);
    return args->output || strcmp(args->format, "c") != 0
               ? TT_OK
               : tt__fail(TT_E_INVALID, "where to? give --output FILE.c");
}

static tt_status check(const tt__cli_args *args) {
    TT_TRY(tt__cli_check_output(args, args->output));
    if (format_of(args))
        return check_winners(args);
    if (args->format && !is_cache(args) && strcmp(args->format, "t4") != 0)
        return tt__fail(TT_E_INVALID,
                        "--format %s: expected t4 (the default), kernel-tuner-cache, c, header or json",
                        args->format);
    if (args->permute || args->lock)
        return tt__fail(TT_E_INVALID, "%s is for winners (--format c, header or json): leave it out",
                        args->permute ? "--permute" : "--lock");
    if (is_cache(args) && args->commit)
        return tt__fail(TT_E_INVALID, "a cache file of Kernel Tuner has no place for --commit: leave it out");
    return args->database || args->gpu
               ? TT_OK
               : tt__fail(TT_E_INVALID,
                          "whose trials? give --gpu NAME, as in \"tune export --gpu h100\" (\"tune "
                          "list\" shows the GPUs)");
}

static int run(const tt__cli_args *args) {
    return tt__cli_fail(format_of(args)  ? export_winners(args)
                        : args->database ? export_database(args)
                                         : export(args));
}

static const tt__cli_option options[] = {
    TT__OPT_GPU("whose trials, or winners; a part of its name is enough"),
    TT__TEXT("output", "FILE", output, "where to; default standard output"),
    TT__TEXT("commit", "REV", commit, "the source revision to note in the recording"),
    TT__TEXT("format", "NAME", format,
             "t4 (the default); kernel-tuner-cache: a cache file of Kernel\nTuner, of one kernel and one "
             "problem; c: winners with their code\nas a C file and its header, for programs without "
             "tiletune;\nheader: their parameters as macros; json: all but their code"),
    TT__TEXT("kernel", "NAME|FILE.cu", kernel, "only of this kernel template, or kernel of yours"),
    TT__TEXT("op", "NAME", op, "only of this operation"),
    TT__OPT_PROBLEM,
    TT__SET("sizes", "N[,N...]", tt__cli_set_sizes, "only of these square matrices"),
    TT__SET("shapes", "RxC[,RxC...]", tt__cli_set_shapes, "only of these matrices"),
    TT__OPTS_LAYOUT,
    TT__OPTS_PERMUTATION,
    TT__OPT_TEMPLATE,
    TT__TEXT("lock", "FILE", lock, "winners of this file of \"tune lock\""),
    TT__TEXT("database", "FILE", database, "write a new store instead, of one GPU or all"),
    TT__OPT_DB,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_export = {
    .name = "export",
    .usage = "tune export --gpu NAME [--output FILE] | --format c --output FILE.c |\n"
             "            --database FILE [options]",
    .summary = "trials as a recording (T4 JSON) or a store, winners as C",
    .notes =
        "Writes the newest trial of every configuration, for the newest driver and NVRTC that the GPU was\n"
        "measured with. Search them with \"tune --device replay:FILE\", or import them with \"tune import "
        "FILE\".\n"
        "--database writes everything, with cubins.\n"
        "--format c writes winners: of the problems that are named, or all. --template names files of "
        "kernels of\n"
        "yours, too.\n",
    .options = options,
    .check = check,
    .run = run,
};
