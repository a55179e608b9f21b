/*
 * `tune check`: facts about a kernel file for its author before tuning, or the state of the store. The parser
 * reports wrong annotations. This adds the space of one problem, the constraints that shrink it, and the
 * compiled needs of one configuration.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "code/cubin.h"
#include "code/source.h"
#include "db/upkeep.h"
#include "gpu/device.h"
#include "gpu/kernel.h"
#include "kernel/annotation/annotation.h"
#include "kernel/annotation/include.h"
#include "kernel/load/builtin.h"
#include "kernel/load/code_check.h"
#include "kernel/load/parse.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "kernel/space/workload.h"
#include "tuner/backend/replay/backend_replay.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/problems.h"
#include "tuner/cli/shell/table.h"
#include "tuner/explain/occupancy.h"
#include "tuner/farm/cubins.h"
#include "tuner/farm/workers.h"

/* The parts of a launch that can exceed a limit: their names in JSON, and in text. */
typedef struct check_part {
    const char *key, *text;
} check_part;

/* A kernel of a configuration. */
typedef struct compiled {
    tt__cubin_needs needs;
    int resident_blocks; /* per SM; -1: unknown */
    double occupancy;
} compiled;

typedef struct examined {
    tt__template *t;
    tt__compiler compiler;
    double compile_timeout_s;
    tt__gpu gpu;
    tt__problem p;
    tt__space space; /* the first is the default, if it is legal here */
    tt__candidate first;
    tt__survey survey;
    bool counted;        /* false: there are too many combinations, and the survey has only their number */
    tt__str not_default; /* why the default is not legal here */
    compiled compiled[TT__PASSES_MAX]; /* of the first configuration; of what is launched */
    tt__str not_compiled;              /* "" if they are known */
    bool refused;                      /* the compiler refused it */
    tt__str warnings;                  /* what is not wrong but hardly meant, a line each */
    tt__str misfits; /* differences between the code and the annotations, a line each; "" : none */
} examined;

/* ---- What is found out about a file -----------------------------------------------------------------------
 */

static const check_part check_parts[TT__PART_COUNT] = {
    [TT__PART_BLOCK] = {"block", "limit: threads of a block"},
    [TT__PART_GRID] = {"grid", "limit: blocks of the grid"},
    [TT__PART_SHARED] = {"shared", "limit: shared memory of a block"},
    [TT__PART_ARGS] = {"args", "limit: numbers of arguments"},
    [TT__PART_TURNS] = {"repeat", "limit: number of launches"},
    [TT__PART_REGS] = {"maxrregcount", "limit: registers of a thread"},
};

static void close_examined(examined *e) {
    tt__compiler_close(&e->compiler);
    tt__template_free(&e->t);
    tt__space_free(&e->space);
    tt__str_free(&e->not_default);
    tt__str_free(&e->not_compiled);
    tt__str_free(&e->warnings);
    tt__str_free(&e->misfits);
}

/* The GPU: --gpu from the stores, the first device here, or a typical one. */
static tt_status choose_gpu(tt__gpu *out, const tt__cli_args *args) {
    if (!args->gpu) {
        if (tt__device_gpu(out, 0) != TT_OK)
            *out = tt__typical_gpu();
        return TT_OK;
    }
    tt_open_opts open = TT_INIT(tt_open_opts);
    open.db_path = args->db;
    open.gpu = args->gpu;
    open.read_only = 1;
    return tt__cli_find_gpu(out, &open);
}

/* Appends the first shape and layout as text of the operation: "rows=4096 cols=1024 elem_size=2". */
static void add_matrix(tt__str *out, const tt__cli_args *args) {
    const tt_problem none = {0}, *p = args->n_problems ? &args->problems[0] : &none;
    const struct {
        const char *name;
        int64_t value;
    } values[] = {{"rows", p->rows},      {"cols", p->cols},  {"elem_size", args->elem_size},
                  {"batch", args->batch}, {"lds", args->lds}, {"ldd", args->ldd},
                  {"align", args->align}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].value)
            tt__str_addf(out, " %s=%lld", values[i].name, (long long)values[i].value);
}

/* The problem: --problem, or a matrix from shape and layout options, or an ordinary one. */
static tt_status choose_problem(tt__problem *out, const tt__template *t, const tt__cli_args *args) {
    const tt__operation *op = t->operation;
    tt__str text = {0};
    if (args->n_texts + args->n_problems > 1)
        return tt__fail(TT_E_INVALID, "%zu problems, but check counts for one: ask for each",
                        args->n_texts + args->n_problems);
    if (args->in_place && strcmp(t->op, "transpose_in_place") != 0 &&
        strcmp(t->op, "transpose_rect_in_place") != 0)
        return tt__fail(TT_E_INVALID, "--in-place: %s is a %s, not a transpose_in_place", t->kernel, t->op);
    if (args->n_texts)
        tt__str_add(&text, args->texts[0]);
    else if (!args->n_problems && op->n_samples)
        tt__str_add(&text, op->samples[0].text);
    add_matrix(&text, args);
    tt_status status = tt__str_check(&text);
    if (status == TT_OK)
        status = tt__operation_problem(out, op, t->op, tt__str_text(&text));
    tt__str_free(&text);
    tt__cli_set_regime(out, args);
    return status;
}

static tt_status count(examined *e) {
    TT_TRY(tt__space_add(&e->space, e->t, &e->gpu, &e->p));
    if (e->space.n)
        TT_TRY(tt__space_at(&e->first, e->t, &e->gpu, &e->p, e->space.items[0].choice));
    tt_status status = tt__space_survey(&e->survey, e->t, &e->gpu, &e->p);
    e->counted = status == TT_OK;
    if (status != TT_OK && status != TT_E_TEMPLATE) /* here it means too many to count */
        return status;
    tt__candidate c;
    status = tt__space_resolve(&c, e->t, &e->gpu, &e->p, e->t->default_config);
    if (status == TT_E_UNSUPPORTED)
        tt__str_add(&e->not_default, tt_last_error());
    return status == TT_E_UNSUPPORTED ? TT_OK : status;
}

static tt_status note_misfit(examined *e, tt_status status) {
    if (status == TT_E_TEMPLATE)
        tt__str_addf(&e->misfits, "%s%s: %s", e->misfits.len ? "\n" : "", e->t->path, tt_last_error());
    return status == TT_E_TEMPLATE ? TT_OK : status;
}

static tt_status fit_one(examined *e, const tt__str *cubin, const char *kernel, const tt__launch *launch,
                         int pass) {
    return note_misfit(e, tt__fit_cubin(tt__str_text(cubin), cubin->len, kernel, launch, pass));
}

/* A configuration may leave a constant out. The driver finds one by its whole name first. */
static tt_status fit_constants(examined *e, const tt__str *cubin) {
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt__cubin_variable c;
    tt_status status = w ? tt__workload_arrays(w, e->t, &e->gpu, &e->p, NULL) : tt__fail_memory(sizeof *w);
    for (int i = 0; status == TT_OK && i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        const size_t bytes = (size_t)tt__array_bytes(a);
        size_t has = bytes, n;
        bool whole = a->direction != TT__CONSTANT;
        for (size_t at = 0;
             !whole && tt__cubin_next_variable(&c, TT__CUBIN_CONSTANTS, cubin->text, cubin->len, &at);) {
            const char *name = tt__cubin_plain_name(c.name, &n);
            if (tt__word_is(name, n, a->name)) {
                has = c.bytes;
                whole = name == c.name;
            }
        }
        status = note_misfit(e, tt__fit_constant(a->name, has, bytes));
    }
    free(w);
    return status;
}

/* All kernels of the file that are compiled with this configuration. */
static tt_status fit(examined *e, const tt__str *cubin, const tt__candidate *c) {
    const tt__operation *own = e->t->own;
    for (int i = 0; i < c->launch.n_passes; i++)
        TT_TRY(fit_one(e, cubin, e->t->symbols.name[i], &c->launch, i));
    for (int role = 0; own && role < TT__ROLE_COUNT; role++) {
        const tt__aside *a = &own->asides[role];
        bool each = role == TT__VERIFY || (role == TT__REFERENCE && own->per_config);
        const char *config = each ? c->configuration.config : e->t->default_config;
        tt__candidate aside;
        if (!a->n || strcmp(config, c->configuration.config) != 0 ||
            tt__space_aside(&aside, own, (tt__role)role, &e->gpu, &e->p, config) != TT_OK)
            continue;
        for (int i = 0; i < a->n; i++)
            TT_TRY(fit_one(e, cubin, a->symbols.name[i], &aside.launch, i));
    }
    return own ? fit_constants(e, cubin) : TT_OK;
}

static tt_status examine(compiled *out, const examined *e, const tt__str *cubin, const tt__candidate *c,
                         int i) {
    const tt__pass *p = &c->launch.passes[i];
    TT_TRY(tt__cubin_read(&out->needs, tt__str_text(cubin), cubin->len, e->t->symbols.name[i]));
    tt__block_needs needs = {.threads = (int)tt__pass_threads(p),
                             .regs = out->needs.regs,
                             .shared_bytes = out->needs.static_shared_bytes + (int)p->shared_bytes};
    out->resident_blocks = tt__resident_blocks(e->gpu.cc, &needs);
    out->occupancy = tt__occupancy(e->gpu.cc, &needs);
    return TT_OK;
}

static tt_status compile_one(tt__str *cubin, examined *e, const tt__configuration *c) {
    tt__str options = {0};
    int n;
    tt_status status = tt__config_options(&options, &n, c, &e->p);
    if (status == TT_OK)
        status = tt__compile_one(&e->compiler, cubin, e->t->path, e->t->source, &options, n, e->gpu.cc,
                                 e->compile_timeout_s);
    tt__str_free(&options);
    return status;
}

/* ---- Parameters that change nothing -----------------------------------------------------------------------
 */

/* Which parameters change nothing? An edit can make one dead, and all its values would be
 * measured as if they differed. Configurations that differ in one parameter only are launched the same way
 * with the same code if it is dead. Others may need particular values beside it, so several are compared. */
enum { BASES_MAX = 4 };
static const double compare_s = 10; /* in all; parameters left then are not named */

typedef struct effects {
    examined *e;
    tt__str base; /* the cubin of the configuration that others are compared with */
    double until_s;
    bool alive[TT__PARAMS_MAX], compared[TT__PARAMS_MAX];
} effects;

/* A file that defines a parameter again is wrong, whichever configuration shows it. */
static tt_status note_refusal(effects *f) {
    tt__str *misfits = &f->e->misfits;
    if (strstr(tt_last_error(), " changes nothing, because ") &&
        !strstr(tt__str_text(misfits), tt_last_error()))
        tt__str_addf(misfits, "%s%s", misfits->len ? "\n" : "", tt_last_error());
    return tt__str_check(misfits);
}

/* Compares the neighbour in parameter p with the base. One that does not compile differs. */
static tt_status compare(effects *f, size_t p, const tt__configuration *base, const tt__configuration *c) {
    tt__str cubin = {0};
    tt__launch here, there;
    TT_TRY(tt__space_launch(&here, base, &f->e->gpu, &f->e->p));
    TT_TRY(tt__space_launch(&there, c, &f->e->gpu, &f->e->p));
    const bool same_launch = memcmp(&here, &there, sizeof here) == 0;
    f->compared[p] = true;
    f->alive[p] = !same_launch;
    if (!same_launch || f->e->t->params[p].runtime)
        return TT_OK;
    tt_status status = compile_one(&cubin, f->e, c);
    f->alive[p] = f->base.len != cubin.len || memcmp(f->base.text, cubin.text, cubin.len) != 0;
    tt__str_free(&cubin);
    return status == TT_E_COMPILE ? note_refusal(f) : status;
}

/* Compares a configuration with those beside it: of each parameter the first and the last other value. */
static tt_status compare_beside(effects *f, const tt__configuration *base) {
    const tt__template *t = f->e->t;
    size_t here[TT__PARAMS_MAX], there[TT__PARAMS_MAX];
    tt__space beside = {0};
    tt_status status;
    TT_GOTO(tt__space_neighbours(&beside, t, &f->e->gpu, &f->e->p, base->config, 0));
    TT_GOTO(tt__config_parse(here, t, base->config));
    for (size_t i = 0, p = 0, first = 0; i < beside.n; i++) {
        TT_GOTO(tt__config_parse(there, t, beside.items[i].config));
        if (here[p] == there[p]) { /* the neighbours come by parameter */
            while (here[p] == there[p])
                p++;
            first = i;
        }
        bool last = i + 1 == beside.n;
        if (!last) {
            TT_GOTO(tt__config_parse(there, t, beside.items[i + 1].config));
            last = here[p] == there[p];
        }
        if (f->alive[p] || (i > first && !last) || tt__now_s() > f->until_s)
            continue;
        TT_GOTO(compare(f, p, base, &beside.items[i]));
    }
out:
    tt__space_free(&beside);
    return status;
}

static bool any_left(const effects *f) {
    bool left = false;
    for (size_t p = 0; p < f->e->t->n_params; p++)
        left |= !f->alive[p] && f->e->t->params[p].n_values > 1;
    return left && tt__now_s() < f->until_s;
}

/* Names parameters that change neither the code nor the launch. `cubin` is that of the first configuration.
 */
static tt_status find_effects(examined *e, const tt__str *cubin) {
    const tt__template *t = e->t;
    effects f = {.e = e, .until_s = tt__now_s() + compare_s};
    tt_status status = TT_OK;
    tt__str_addn(&f.base, cubin->text, cubin->len);
    for (size_t i = 0; i < BASES_MAX && i < e->space.n && status == TT_OK && any_left(&f); i++) {
        const tt__configuration *base = &e->space.items[i * e->space.n / BASES_MAX];
        if (i > 0)
            status = compile_one(&f.base, e, base);
        if (status == TT_OK)
            status = compare_beside(&f, base);
        else if (status == TT_E_COMPILE)
            status = note_refusal(&f);
        tt__str_free(&f.base);
    }
    for (size_t p = 0; p < t->n_params && status == TT_OK; p++)
        if (f.compared[p] && !f.alive[p])
            tt__str_addf(&e->warnings,
                         "%sthe parameter %s changes nothing: code and launch are the same in all "
                         "configurations compared",
                         e->warnings.len ? "\n" : "", t->params[p].name);
    tt__str_free(&f.base);
    return status;
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static tt_status compile_first(examined *e, const tt__candidate *c) {
    tt__str cubin = {0};
    tt_status status = compile_one(&cubin, e, &c->configuration);
    if (status == TT_OK)
        status = fit(e, &cubin, c);
    tt__cubins_unfilled(&e->warnings, e->t, cubin.text, cubin.len);
    for (int i = 0; status == TT_OK && i < c->launch.n_passes; i++)
        if (!c->launch.passes[i].off)
            status = examine(&e->compiled[i], e, &cubin, c, i);
    if (status == TT_OK)
        status = find_effects(e, &cubin);
    tt__str_free(&cubin);
    return status;
}

static tt_status compile(examined *e) {
    if (e->space.n == 0) {
        tt__str_add(&e->not_compiled, "no configuration does this problem");
        return TT_OK;
    }
    tt_status status = compile_first(e, &e->first);
    if (status == TT_OK)
        return TT_OK;
    e->refused = status == TT_E_COMPILE;
    tt__str_add(&e->not_compiled, tt_last_error());
    return status == TT_E_COMPILE || status == TT_E_NO_NVRTC || status == TT_E_UNSUPPORTED ? TT_OK : status;
}

static tt_status open_examined(examined *e, const tt__cli_args *args, const char *path) {
    *e = (examined){.compile_timeout_s = args->compile_timeout_s};
    TT_TRY(tt__template_load(&e->t, path));
    TT_TRY(tt__template_unused(&e->warnings, e->t));
    TT_TRY(tt__include_missing(&e->warnings, e->t->path, e->t->source));
    TT_TRY(tt__annotation_lookalikes(&e->warnings, e->t));
    TT_TRY(choose_problem(&e->p, e->t, args));
    TT_TRY(choose_gpu(&e->gpu, args));
    TT_TRY(count(e));
    return compile(e);
}

/* ---- A file, as JSON --------------------------------------------------------------------------------------
 */

static void write_template(tt__json *j, const examined *e) {
    const tt__template *t = e->t;
    TT__JSON_STRINGS(j, {"file", t->path}, {"kernel", t->kernel}, {"hash", t->hash});
    tt__json_open(j, "params", '[');
    for (size_t i = 0; i < t->n_params; i++) {
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "name", t->params[i].name);
        tt__json_string(j, "kind",
                        t->params[i].runtime       ? "runtime"
                        : t->params[i].as_template ? "template"
                                                   : "macro");
        tt__json_open(j, "values", '[');
        for (size_t v = 0; v < t->params[i].n_values; v++)
            tt__json_string(j, NULL, t->params[i].values[v]);
        tt__json_close(j, ']');
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    tt__json_open(j, "derived", '[');
    for (size_t i = 0; i < t->n_derived; i++) {
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "name", t->derived[i].name);
        tt__json_string(j, "text", t->derived[i].value.text);
        tt__json_int(j, "line", t->derived[i].value.line);
        if (e->space.n && e->space.items[0].derived[i] != TT__NO_INTEGER)
            tt__json_int(j, "value", e->space.items[0].derived[i]);
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
}

/* For a user's own operation: the problem, the operands, and how results are verified. */
static tt_status write_operation(tt__json *j, const examined *e) {
    const tt__operation *operation = e->t->own;
    char text[TT__PROBLEM_TEXT_MAX];
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_of(w, e->t, &e->gpu, &e->p) : tt__fail_memory(sizeof *w);
    tt__json_string(j, "problem", tt__problem_text(text, &e->p));
    tt__json_open(j, "operands", '[');
    for (int i = 0; status == TT_OK && i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        tt__json_open(j, NULL, '{');
        TT__JSON_STRINGS(j, {"name", a->name}, {"direction", tt__directions[a->direction]},
                         {"type", tt__types[a->type].name});
        tt__json_int(j, "count", a->count);
        tt__json_int(j, "bytes", tt__array_bytes(a));
        if (a->by_config)
            tt__json_int(j, "largest", 1);
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    if (operation->by_default)
        tt__json_string(j, "reference", "default");
    else if (operation->asides[TT__REFERENCE].n)
        tt__json_string(j, "reference", operation->asides[TT__REFERENCE].symbols.name[0]);
    else
        tt__json_number(j, "reference", (double)NAN, 1);
    if (operation->per_config)
        tt__json_int(j, "reference_per_configuration", 1);
    if (operation->asides[TT__VERIFY].n)
        tt__json_string(j, "verify", operation->asides[TT__VERIFY].symbols.name[0]);
    free(w);
    return status;
}

static void write_space(tt__json *j, const examined *e) {
    tt__json_string(j, "gpu", e->gpu.name);
    tt__json_int(j, "cc", e->gpu.cc);
    tt__cli_json_problem(j, &e->p);
    tt__json_number(j, "combinations", e->survey.combinations, 17);
    tt__json_number(j, "configurations", e->space.legal, 17); /* an estimate may be beyond int64_t */
    if (e->space.sampled)
        tt__json_int(j, "estimated", 1);
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
        tt__json_int(j, check_parts[i].key, (int64_t)e->survey.beyond[i]);
    tt__json_close(j, '}');
}

static void write_triple(tt__json *j, const char *key, const unsigned *values) {
    tt__json_open(j, key, '[');
    for (size_t i = 0; i < 3; i++)
        tt__json_int(j, NULL, values[i]);
    tt__json_close(j, ']');
}

static void write_launch(tt__json *j, const examined *e, int i) {
    const compiled *c = &e->compiled[i];
    bool known = !*tt__str_text(&e->not_compiled);
    if (e->space.n) {
        const tt__pass *p = &e->first.launch.passes[i];
        known = known && !p->off;
        write_triple(j, "grid", p->grid);
        write_triple(j, "block", p->block);
        tt__json_int(j, "shared_bytes", p->shared_bytes);
        if (p->cluster[0])
            write_triple(j, "cluster", (unsigned[]){p->cluster[0], p->cluster[1], p->cluster[2]});
        if (p->early)
            tt__json_int(j, "early", 1);
        if (p->cooperative)
            tt__json_int(j, "cooperative", 1);
        if (p->off)
            tt__json_int(j, "off", 1);
    }
    tt__json_number(j, "regs", known ? c->needs.regs : (double)NAN, 9);
    tt__json_number(j, "static_shared_bytes", known ? c->needs.static_shared_bytes : (double)NAN, 9);
    tt__json_number(j, "stack_bytes", known ? c->needs.stack_bytes : (double)NAN, 9);
    tt__json_number(j, "occupancy", known && c->resident_blocks >= 0 ? c->occupancy : (double)NAN, 4);
}

/* Several launches are also in a list, with the first. */
static void write_first(tt__json *j, const examined *e) {
    if (e->space.n)
        tt__json_config(j, "config", e->space.items[0].config);
    else
        tt__json_number(j, "config", (double)NAN, 1);
    write_launch(j, e, 0);
    if (e->space.n && e->t->n_passes > 1) {
        tt__json_open(j, "launches", '[');
        for (int i = 0; i < e->t->n_passes; i++) {
            tt__json_open(j, NULL, '{');
            tt__json_string(j, "kernel", e->t->symbols.name[i]);
            write_launch(j, e, i);
            tt__json_close(j, '}');
        }
        tt__json_close(j, ']');
    }
    TT__JSON_STRINGS(j, {"not_default", tt__str_text(&e->not_default)},
                     {"not_compiled", tt__str_text(&e->not_compiled)},
                     {"does_not_fit", tt__str_text(&e->misfits)}, {"warnings", tt__str_text(&e->warnings)});
}

static tt_status print_file_json(const examined *e) {
    tt__str text = {0};
    tt__json j = {.out = &text};
    tt__cli_json_begin(&j);
    write_template(&j, e);
    tt_status status = e->t->own ? write_operation(&j, e) : TT_OK;
    write_space(&j, e);
    write_first(&j, e);
    if (status != TT_OK) {
        tt__str_free(&text);
        return status;
    }
    return tt__cli_print_json(&j);
}

/* ---- A file, as text --------------------------------------------------------------------------------------
 */

/* What a parameter is to the code, and what it takes the place of. */
static void add_kind(tt__table *table, const tt__template *t, const tt__param *p) {
    const char *file;
    size_t n = 0;
    const bool macro = !p->runtime && !p->as_template;
    const int line = macro ? tt__source_replaced(t->source, p->name, &file, &n) : 0;
    if (line)
        tt__table_cell(table, "in place of %.*s%s%d", (int)n, file ? file : "", file ? ":" : "line ", line);
    else
        tt__table_cell(table, "%s", p->runtime ? "run time" : p->as_template ? "template" : "macro");
}

static tt_status print_params(const tt__template *t) {
    static const tt__column columns[] = {
        {"parameter", false, false}, {"", false, false}, {"values", false, true}};
    tt__table table = {.n_columns = 3, .columns = columns};
    if (t->n_params + t->n_derived == 0)
        return TT_OK;
    for (size_t i = 0; i < t->n_params; i++) {
        tt__str values = {0};
        for (size_t v = 0; v < t->params[i].n_values; v++)
            tt__str_addf(&values, "%s%s", v ? " " : "", t->params[i].values[v]);
        tt__table_cell(&table, "%s", t->params[i].name);
        add_kind(&table, t, &t->params[i]);
        tt__table_cell(&table, "%s", tt__str_text(&values));
        tt__str_free(&values);
    }
    for (size_t i = 0; i < t->n_derived; i++)
        TT__TABLE_TEXTS(&table, t->derived[i].name, t->derived[i].macro ? "derived" : "let",
                        t->derived[i].value.text);
    printf("\n");
    return tt__table_show(&table);
}

/* The operands, and how results are verified. */
static tt_status print_operation(const examined *e) {
    static const tt__column columns[] = {{"operand", false, false},
                                         {"", false, false},
                                         {"type", false, false},
                                         {"elements", true, false},
                                         {"bytes", true, false}};
    tt__table table = {.n_columns = 5, .columns = columns};
    const tt__operation *operation = e->t->own;
    if (!operation)
        return TT_OK;
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt_status status = w ? tt__workload_of(w, e->t, &e->gpu, &e->p) : tt__fail_memory(sizeof *w);
    for (int i = 0; status == TT_OK && i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        TT__TABLE_TEXTS(&table, a->name, tt__directions[a->direction], tt__types[a->type].name);
        const char *form = !a->count ? "-" : a->by_config ? "<=%lld" : "%lld";
        tt__table_cell(&table, form, (long long)a->count);
        tt__table_cell(&table, form, (long long)tt__array_bytes(a));
    }
    printf("\n");
    if (status == TT_OK)
        status = tt__table_show(&table);
    const tt__aside *reference = &operation->asides[TT__REFERENCE], *verify = &operation->asides[TT__VERIFY];
    if (!tt__operation_verifies(operation))
        printf("\nNOT VERIFIED: no `reference`, no `verify`, no `expect`; tuning it takes --unverified\n");
    else if (!reference->n && !verify->n)
        printf("\nverified against raw data\n");
    if (operation->by_default)
        printf("\nverified against the default configuration, which is right by `reference default`\n");
    else if (reference->n)
        printf("\nverified against %s%s\n", reference->symbols.name[0],
               operation->per_config ? ", for each configuration" : "");
    if (verify->n)
        printf("%sverified by %s, to an error of %g\n", reference->n ? "" : "\n", verify->symbols.name[0],
               operation->limit);
    free(w);
    return status;
}

static tt_status print_survey(const examined *e) {
    static const tt__column columns[] = {
        {"removes", true, false}, {"alone", true, false}, {"line", true, false}, {"what", false, true}};
    tt__table table = {.n_columns = 4, .columns = columns};
    char problem[TT__PROBLEM_TEXT_MAX];
    printf("\n%s on %s (sm_%d): %.0f combinations of values,\n", tt__problem_text(problem, &e->p),
           e->gpu.name, e->gpu.cc, e->survey.combinations);
    if (e->space.sampled)
        printf("about %.2g configurations, of which a search begins with a sample of %zu\n", e->space.legal,
               e->space.n);
    else
        printf("%zu configuration%s\n", e->space.n, e->space.n == 1 ? "" : "s");
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
        if (i == TT__PART_REGS && !e->t->max_regs.text)
            continue;
        tt__table_cell(&table, "%zu", e->survey.beyond[i]);
        TT__TABLE_TEXTS(&table, "", "", check_parts[i].text);
    }
    printf("\n");
    return tt__table_show(&table);
}

static void add_compiled(tt__table *table, const examined *e, const compiled *c) {
    const tt__cubin_needs *n = &c->needs;
    tt__str stack = {0};
    tt__str_addf(&stack,
                 "%d bytes of local memory a thread (spilled registers, or arrays indexed at run time)",
                 n->stack_bytes);
    TT__TABLE_PAIR(table, "compiled", "sm_%d: %d registers, %d bytes of static shared memory, %s", e->gpu.cc,
                   n->regs, n->static_shared_bytes,
                   n->stack_bytes ? tt__str_text(&stack) : "nothing spilled");
    tt__str_free(&stack);
    tt__table_cell(table, "occupancy");
    if (c->resident_blocks > 0)
        tt__table_cell(table, "%.1f%%: an SM holds %d of these blocks at once", c->occupancy * 100,
                       c->resident_blocks);
    else
        tt__table_cell(table, "%s",
                       c->resident_blocks == 0
                           ? "none: a block needs more registers or shared memory than an SM has"
                           : "not known for this architecture");
}

static void add_launch(tt__table *table, const examined *e, int i) {
    const tt__pass *p = &e->first.launch.passes[i];
    const unsigned *grid = p->grid, *block = p->block;
    if (e->t->n_passes > 1)
        TT__TABLE_PAIR(table, "kernel", "%s, %d of %d", e->t->symbols.name[i], i + 1, e->t->n_passes);
    if (p->off) {
        TT__TABLE_PAIR(table, "launch", "none in this configuration");
        return;
    }
    char cluster[64] = "";
    if (p->cluster[0])
        snprintf(cluster, sizeof cluster, ", cluster %ux%ux%u", p->cluster[0], p->cluster[1], p->cluster[2]);
    TT__TABLE_PAIR(table, "launch", "grid %ux%ux%u%s, block %ux%ux%u, %u bytes of dynamic shared memory%s",
                   grid[0], grid[1], grid[2], cluster, block[0], block[1], block[2], p->shared_bytes,
                   p->early         ? ", early"
                   : p->cooperative ? ", cooperative"
                                    : "");
    if (!*tt__str_text(&e->not_compiled))
        add_compiled(table, e, &e->compiled[i]);
}

static tt_status print_first(const examined *e) {
    static const tt__column columns[] = {{"", false, false}, {"", false, true}};
    tt__table table = {.n_columns = 2, .columns = columns};
    if (*tt__str_text(&e->not_default))
        TT__TABLE_PAIR(&table, "default", "not legal here: %s", tt__str_text(&e->not_default));
    if (e->space.n) {
        const tt__configuration *c = &e->space.items[0];
        tt__str derived = {0};
        tt__table_cell(&table, "%s", *tt__str_text(&e->not_default) ? "first" : "default");
        tt__table_cell(&table, "%s", *c->config ? c->config : "no parameters");
        for (size_t i = 0; i < e->t->n_derived; i++)
            if (c->derived[i] != TT__NO_INTEGER)
                tt__str_addf(&derived, "%s%s=%" PRId64, derived.len ? " " : "", e->t->derived[i].name,
                             c->derived[i]);
        if (derived.len)
            TT__TABLE_PAIR(&table, "derived", "%s", tt__str_text(&derived));
        tt__str_free(&derived);
        for (int i = 0; i < e->t->n_passes; i++)
            add_launch(&table, e, i);
        if (*tt__str_text(&e->not_compiled))
            TT__TABLE_PAIR(&table, "compiled", "%s: %s", e->refused ? "FAILED" : "not known",
                           e->refused ? "the compiler's words are below" : tt__str_text(&e->not_compiled));
    }
    printf("\n");
    return tt__table_show(&table);
}

static tt_status print_file_text(const examined *e) {
    tt__cli_say(stdout, "%s: kernel %s", e->t->path, e->t->kernel);
    for (int i = 1; i < e->t->n_passes; i++)
        printf(", then %s", e->t->symbols.name[i]);
    if (!e->t->own)
        printf(", op %s", e->t->op);
    printf("\n");
    TT_TRY(print_operation(e));
    TT_TRY(print_params(e->t));
    TT_TRY(print_survey(e));
    TT_TRY(print_first(e));
    const char *line = tt__str_text(&e->warnings);
    for (size_t n; *line; line += n + (line[n] == '\n')) {
        n = strcspn(line, "\n");
        printf("\nWARNING: %.*s\n", (int)n, line);
    }
    return TT_OK;
}

/* ---- The command ------------------------------------------------------------------------------------------
 */

static void print(void *user, const char *what) {
    (void)user;
    printf("%s\n", what);
}

static int check_store(const tt__cli_args *args) {
    tt__store *store = NULL;
    tt__checked c = {0};
    tt_status status = tt__cli_store_open(&store, args, TT__STORE_READ_ONLY);
    if (status == TT_OK)
        status = tt__store_check(store, print, NULL, &c);
    if (status == TT_OK && c.findings)
        status = tt__fail(
            TT_E_DB,
            "%s: %lld thing%s wrong. The file is left as it is: save what can be read with \"sqlite3 "
            "FILE .recover\", or move it away to start afresh",
            tt__store_path(store), (long long)c.findings, c.findings == 1 ? " is" : "s are");
    else if (status == TT_OK)
        tt__cli_say(stdout, "%s is whole: %s, %s, %s, %s\n", tt__store_path(store),
                    tt__cli_count(c.gpus, "GPU").text, tt__cli_count(c.winners, "winner").text,
                    tt__cli_count(c.trials, "trial").text, tt__cli_count(c.cubins, "cubin").text);
    tt__store_close(&store);
    tt__cli_flush_early();
    return tt__cli_fail(status);
}

static int check_file(const tt__cli_args *args, const char *path) {
    examined e;
    tt_status status;
    TT_GOTO(open_examined(&e, args, path));
    TT_GOTO(args->json ? print_file_json(&e) : print_file_text(&e));
    const tt__str *wrong = e.refused ? &e.not_compiled : &e.misfits;
    if (*tt__str_text(wrong)) {
        tt__cli_flush_early();
        status = tt__fail(TT_E_TEMPLATE, "%s", tt__str_text(wrong));
    }
out:
    close_examined(&e);
    return tt__cli_fail(status);
}

static bool about_a_template(const tt__cli_args *a) {
    return a->n_problems || tt__cli_has_layout(a) || a->warm || a->in_graph || a->gpu || a->json ||
           a->n_texts || a->compile_timeout_s > 0;
}

static tt_status check(const tt__cli_args *args) {
    if (args->n_files > 1)
        return tt__fail(TT_E_INVALID, "%zu files, but check reads one: check each", args->n_files);
    if (args->n_files == 0 && about_a_template(args))
        return tt__fail(TT_E_INVALID, "which template? These options go with its file, as in \"tune check "
                                      "my_kernel.cu --size 4096\"; of the store it is --db alone");
    return TT_OK;
}

static int run(const tt__cli_args *args) {
    return args->n_files ? check_file(args, args->files[0]) : check_store(args);
}

static const tt__cli_option options[] = {
    TT__SET("size", "N", tt__cli_set_sizes, "count for a square matrix; default 4096"),
    TT__SET("shape", "RxC", tt__cli_set_shapes, "count for a matrix of R rows and C columns"),
    TT__OPTS_LAYOUT,
    TT__OPT_PROBLEM,
    TT__OPT_GPU(
        "count for a GPU as in \"tune list\", or a part of its name;\ndefault the first device here, else a "
        "typical one"),
    TT__OPT_COMPILE_TIMEOUT,
    TT__OPT_DB,
    TT__OPT_JSON,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_check = {
    .name = "check",
    .usage = "tune check FILE.cu [options]\n       tune check [--db PATH]",
    .summary = "checks a kernel file, or the store",
    .notes =
        "With a FILE it shows the annotations, the number of configurations for one problem, how many of "
        "them\n"
        "each `where` and each limit of the device removes (alone: that nothing else removes), and what a\n"
        "configuration needs when compiled. Needs no GPU. Exit code 2 if the file is wrong.\n"
        "Without a FILE it reads the whole store --db, down to the hash of every cubin. Exit code 4 if "
        "anything is\n"
        "wrong. Nothing is changed.\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};
