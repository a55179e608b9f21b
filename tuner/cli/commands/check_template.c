/*
 * `tune check FILE.cu`: facts for an author before tuning. The parser reports wrong annotations. This adds
 * the space of one problem, the constraints that shrink it, and the compiled needs of one configuration.
 */
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "gpu/device.h"
#include "gpu/fit.h"
#include "kernel/annotation/annotation.h"
#include "kernel/load/code.h"
#include "kernel/load/parse.h"
#include "kernel/space/config.h"
#include "kernel/space/problem_text.h"
#include "kernel/space/workload.h"
#include "tuner/backend/replay/foreign.h"
#include "tuner/cli/commands/check.h"
#include "tuner/cli/shell/problems.h"
#include "tuner/explain/occupancy.h"
#include "tuner/farm/cubins.h"

const tt__check_part tt__check_parts[TT__PART_COUNT] = {
    [TT__PART_BLOCK] = {"block", "limit: threads of a block"},
    [TT__PART_GRID] = {"grid", "limit: blocks of the grid"},
    [TT__PART_SHARED] = {"shared", "limit: shared memory of a block"},
    [TT__PART_ARGS] = {"args", "limit: numbers that fit i32"},
    [TT__PART_TURNS] = {"repeat", "limit: number of launches"},
    [TT__PART_REGS] = {"maxrregcount", "limit: registers of a thread"},
};

static void free_examined(tt__examined *e) {
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
    tt__cli_add_matrix(&text, args);
    tt_status status = tt__str_check(&text);
    if (status == TT_OK)
        status = tt__operation_problem(out, op, t->op, tt__str_text(&text));
    tt__str_free(&text);
    out->warm |= args->warm;
    return status;
}

static tt_status count(tt__examined *e) {
    TT_TRY(tt__space_add(&e->space, e->t, &e->gpu, &e->p));
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

static tt_status note_misfit(tt__examined *e, tt_status status) {
    if (status == TT_E_TEMPLATE)
        tt__str_addf(&e->misfits, "%s%s: %s", e->misfits.len ? "\n" : "", e->t->path, tt_last_error());
    return status == TT_E_TEMPLATE ? TT_OK : status;
}

static tt_status fit_one(tt__examined *e, const tt__str *cubin, const char *kernel, const tt__launch *launch,
                         int pass) {
    return note_misfit(e, tt__fit_cubin(tt__str_text(cubin), cubin->len, kernel, launch, pass));
}

/* A configuration may leave a constant out. The driver finds one by its whole name first. */
static tt_status fit_constants(tt__examined *e, const tt__str *cubin) {
    tt__workload *w = malloc(sizeof *w); /* large for a stack */
    tt__cubin_constant c;
    tt_status status = w ? tt__workload_arrays(w, e->t, &e->gpu, &e->p, NULL) : tt__fail_memory(sizeof *w);
    for (int i = 0; status == TT_OK && i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        const size_t bytes = (size_t)tt__array_bytes(a);
        size_t has = bytes, n;
        bool whole = a->direction != TT__CONSTANT;
        for (size_t at = 0; !whole && tt__cubin_next_constant(&c, cubin->text, cubin->len, &at);) {
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
static tt_status fit(tt__examined *e, const tt__str *cubin, const tt__candidate *c) {
    const tt__operation *own = e->t->own;
    for (int i = 0; i < c->launch.n_passes; i++)
        TT_TRY(fit_one(e, cubin, e->t->symbols.name[i], &c->launch, i));
    for (int role = 0; own && role < TT__ROLE_COUNT; role++) {
        const tt__aside *a = &own->asides[role];
        bool each = role == TT__VERIFY || (role == TT__REFERENCE && own->per_config);
        const char *config = each ? c->config : e->t->default_config;
        tt__candidate aside;
        if (!a->n || strcmp(config, c->config) != 0 ||
            tt__space_aside(&aside, own, (tt__role)role, &e->gpu, &e->p, config) != TT_OK)
            continue;
        for (int i = 0; i < a->n; i++)
            TT_TRY(fit_one(e, cubin, a->symbols.name[i], &aside.launch, i));
    }
    return own ? fit_constants(e, cubin) : TT_OK;
}

static tt_status examine(tt__compiled *out, const tt__examined *e, const tt__str *cubin,
                         const tt__candidate *c, int i) {
    const tt__pass *p = &c->launch.passes[i];
    TT_TRY(tt__cubin_read(&out->needs, tt__str_text(cubin), cubin->len, e->t->symbols.name[i]));
    tt__block_needs needs = {.threads = (int)tt__pass_threads(p),
                             .regs = out->needs.regs,
                             .shared_bytes = out->needs.static_shared_bytes + (int)p->shared_bytes};
    out->resident_blocks = tt__resident_blocks(e->gpu.cc, &needs);
    out->occupancy = tt__occupancy(e->gpu.cc, &needs);
    return TT_OK;
}

tt_status tt__check_compile(tt__str *cubin, tt__examined *e, const tt__candidate *c) {
    tt__str options = {0};
    int n;
    tt_status status = tt__config_options(&options, &n, c, &e->p);
    if (status == TT_OK)
        status = tt__compile_one(&e->compiler, cubin, e->t->path, e->t->source, &options, n, e->gpu.cc,
                                 e->compile_timeout_s);
    tt__str_free(&options);
    return status;
}

static tt_status compile_first(tt__examined *e, const tt__candidate *c) {
    tt__str cubin = {0};
    tt_status status = tt__check_compile(&cubin, e, c);
    if (status == TT_OK)
        status = fit(e, &cubin, c);
    tt__cubins_unfilled(&e->warnings, e->t, cubin.text, cubin.len);
    for (int i = 0; status == TT_OK && i < c->launch.n_passes; i++)
        if (!c->launch.passes[i].off)
            status = examine(&e->compiled[i], e, &cubin, c, i);
    if (status == TT_OK)
        status = tt__check_effects(e, &cubin);
    tt__str_free(&cubin);
    return status;
}

static tt_status compile(tt__examined *e) {
    if (e->space.n == 0) {
        tt__str_add(&e->not_compiled, "no configuration does this problem");
        return TT_OK;
    }
    tt_status status = compile_first(e, &e->space.items[0]);
    if (status == TT_OK)
        return TT_OK;
    e->refused = status == TT_E_COMPILE;
    tt__str_add(&e->not_compiled, tt_last_error());
    return status == TT_E_COMPILE || status == TT_E_NO_NVRTC || status == TT_E_UNSUPPORTED ? TT_OK : status;
}

int tt__cli_check_template(const tt__cli_args *args, const char *path) {
    tt__examined e = {0};
    tt_status status;
    TT_GOTO(tt__template_load(&e.t, path));
    TT_GOTO(tt__code_unused(&e.warnings, e.t));
    TT_GOTO(tt__annotation_lookalikes(&e.warnings, e.t));
    TT_GOTO(choose_problem(&e.p, e.t, args));
    TT_GOTO(choose_gpu(&e.gpu, args));
    TT_GOTO(count(&e));
    e.compile_timeout_s = args->compile_timeout_s;
    TT_GOTO(compile(&e));
    TT_GOTO(args->json ? tt__check_print_json(&e) : tt__check_print_text(&e));
    const tt__str *wrong = e.refused ? &e.not_compiled : &e.misfits;
    if (*tt__str_text(wrong)) {
        fflush(stdout);
        status = tt__fail(TT_E_TEMPLATE, "%s", tt__str_text(wrong));
    }
out:
    free_examined(&e);
    return tt__cli_fail(status);
}
