/*
 * Turns the rows of the space's query (expr.c) into launches. A slot says which number of a launch a column
 * is. The limits of CUDA and the device are checked here and not in SQL, so that a message can name the
 * number that is too large.
 */
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"
#include "template/config.h"
#include "template/expr.h"
#include "template/operation.h"
#include "template/scan.h"
#include "template/template.h"

/* All numbers of a launch, the objective and the derived values. */
enum { SLOTS_MAX = TT__PASSES_MAX * (3 + 3 + 1 + 2) + TT__ARGS_MAX + 1 + TT__DERIVED_MAX };

static const char *const part_names[TT__PART_COUNT] = {"block", "grid", "shared", "args", "repeat"};

static const int64_t block_max[3] = {1024, 1024, 64}, grid_max[3] = {INT32_MAX, 65535, 65535};

/* The columns of a query and their meaning. */
typedef struct plan {
    const tt__template *t;
    const tt__gpu *gpu;
    const tt__problem *p;
    tt__facts facts;
    int offset; /* tt__problem_offset */
    int n_launches;
    const tt__geometry_expr *launches; /* of each pass */
    size_t n, n_slots;                 /* number of columns, and of columns that are numbers of the launch */
    size_t first_derived;              /* these come last */
    const tt__expr *exprs[SLOTS_MAX];
    struct {
        tt__part kind;
        int pass, index;
    } slots[SLOTS_MAX];
    char *why; /* TT__REASON_MAX bytes for the constraint that fails; NULL: not wanted */
} plan;

static void plan_slot(plan *pl, tt__part kind, int pass, int index, const tt__expr *e) {
    if (!e->text)
        return;
    pl->slots[pl->n].kind = kind;
    pl->slots[pl->n].pass = pass;
    pl->slots[pl->n].index = index;
    pl->exprs[pl->n++] = e;
}

static void plan_pass(plan *pl, int pass) {
    const tt__geometry_expr *g = &pl->launches[pass];
    for (int i = 0; i < 3; i++)
        plan_slot(pl, TT__PART_BLOCK, pass, i, &g->block[i]);
    for (int i = 0; i < 3; i++)
        plan_slot(pl, TT__PART_GRID, pass, i, &g->grid[i]);
    plan_slot(pl, TT__PART_SHARED, pass, 0, &g->shared);
    plan_slot(pl, TT__PART_TURNS, pass, 0, &g->when);
    plan_slot(pl, TT__PART_TURNS, pass, 1, &g->repeat);
    for (int i = 0; i < g->n_args; i++)
        if (pl->t->args[g->first_arg + i].type != TT__TYPE_NONE)
            plan_slot(pl, TT__PART_ARGS, pass, i, &pl->t->args[g->first_arg + i].value);
}

/* Plans launches of the template's kernels, or of those beside them. */
static tt_status make_plan(plan *pl, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                           const tt__aside *aside, char *why) {
    *pl = (plan){.t = t, .gpu = gpu, .p = p, .why = why};
    pl->n_launches = aside ? aside->n : t->n_passes;
    pl->launches = aside ? aside->launches : t->passes;
    TT_TRY(tt__facts_of(&pl->facts, t->operation, gpu, p));
    TT_TRY(tt__problem_offset(&pl->offset, t->operation, p));
    for (int i = 0; i < pl->n_launches; i++)
        plan_pass(pl, i);
    pl->n_slots = pl->n;
    if (t->operation->objective >= 0 && !aside)
        pl->exprs[pl->n++] = &t->operation->metrics[t->operation->objective].value;
    pl->first_derived = pl->n;
    for (size_t i = 0; i < t->n_derived; i++)
        pl->exprs[pl->n++] = &t->derived[i].value;
    return TT_OK;
}

static bool refuse(const plan *pl, const tt__expr *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes why a configuration is not legal. Returns false, for `return refuse(...)`. */
static bool refuse(const plan *pl, const tt__expr *e, const char *fmt, ...) {
    if (!pl->why)
        return false;
    char text[160];
    va_list args;
    va_start(args, fmt);
    tt__vformat(text, sizeof text, fmt, args);
    va_end(args);
    snprintf(pl->why, TT__REASON_MAX, "`%.200s` %s (%.100s:%d)", e->text, text, pl->t->path, e->line);
    return false;
}

static const char *arg_type(const plan *pl, size_t slot) {
    const tt__geometry_expr *g = &pl->launches[pl->slots[slot].pass];
    return tt__types[pl->t->args[g->first_arg + pl->slots[slot].index].type].name;
}

static bool within(const plan *pl, size_t slot, int64_t value, int64_t max) {
    if (value <= max)
        return true;
    static const char *const axes[] = {".x", ".y", ".z"};
    tt__part kind = pl->slots[slot].kind;
    bool dim = kind == TT__PART_BLOCK || kind == TT__PART_GRID;
    return refuse(pl, pl->exprs[slot], "is %" PRId64 ", the limit of %s%s is %" PRId64, value,
                  kind == TT__PART_ARGS ? arg_type(pl, slot) : part_names[kind],
                  dim ? axes[pl->slots[slot].index] : "", max);
}

/* The template is wrong: no launch and no derived name can have this value. */
static tt_status fail_value(const plan *pl, const tt__candidate *c, size_t slot, tt__value v,
                            const char *expected) {
    char value[TT__NAME_MAX], problem[TT__PROBLEM_TEXT_MAX];
    const tt__expr *e = pl->exprs[slot];
    return tt__template_fail(pl->t->path, e->line, e->column, "%s `%.200s` is %s for %s and %s, expected %s",
                             slot < pl->n_slots ? part_names[pl->slots[slot].kind] : "derived", e->text,
                             tt__value_text(value, v), c->config[0] ? c->config : "no parameters",
                             tt__problem_text(problem, pl->p), expected);
}

static tt_status set_dim(const plan *pl, tt__candidate *c, size_t slot, tt__value v, bool *legal) {
    bool block = pl->slots[slot].kind == TT__PART_BLOCK;
    tt__pass *pass = &c->launch.passes[pl->slots[slot].pass];
    int i = pl->slots[slot].index;
    if (v.kind != TT__VALUE_INT || v.i < 1)
        return fail_value(pl, c, slot, v, "an integer of 1 or more");
    *legal = within(pl, slot, v.i, block ? block_max[i] : grid_max[i]);
    if (*legal)
        *(block ? &pass->block[i] : &pass->grid[i]) = (unsigned)v.i;
    return TT_OK;
}

static tt_status set_shared(const plan *pl, tt__candidate *c, size_t slot, tt__value v, bool *legal) {
    if (v.kind != TT__VALUE_INT || v.i < 0)
        return fail_value(pl, c, slot, v, "an integer of 0 or more");
    int64_t max = pl->gpu->shared_per_block;
    *legal = within(pl, slot, v.i, max < INT32_MAX ? max : INT32_MAX);
    if (*legal)
        c->launch.passes[pl->slots[slot].pass].shared_bytes = (unsigned)v.i;
    return TT_OK;
}

/* `when` (index 0) is a condition, `repeat` a number of launches. */
static tt_status set_turns(const plan *pl, tt__candidate *c, size_t slot, tt__value v, bool *legal) {
    tt__pass *pass = &c->launch.passes[pl->slots[slot].pass];
    if (pl->slots[slot].index == 0) {
        pass->off = v.kind != TT__VALUE_INT || v.i == 0;
        return TT_OK;
    }
    if (v.kind != TT__VALUE_INT || v.i < 0)
        return fail_value(pl, c, slot, v, "an integer of 0 or more");
    *legal = within(pl, slot, v.i, TT__TURNS_MAX);
    pass->off |= v.i == 0;
    pass->repeats = (int16_t)(v.i > 1 && *legal ? v.i - 1 : 0);
    return TT_OK;
}

static tt_status set_arg(const plan *pl, tt__candidate *c, size_t slot, tt__value v, bool *legal) {
    tt__arg *a = &c->launch.args[c->launch.passes[pl->slots[slot].pass].first_arg + pl->slots[slot].index];
    const tt__type_info *type = &tt__types[a->type];
    const double most = a->type == TT__TYPE_F64 ? DBL_MAX : a->type == TT__TYPE_F16 ? 65504 : (double)FLT_MAX;
    char expected[32];
    if (type->floating) {
        snprintf(expected, sizeof expected, "a number that fits %s", type->name);
        if ((v.kind != TT__VALUE_INT && v.kind != TT__VALUE_REAL) || !(v.f >= -most && v.f <= most))
            return fail_value(pl, c, slot, v, expected);
        a->f = v.f;
        return TT_OK;
    }
    const bool is_signed = *type->name == 'i';
    const int bits = a->type == TT__TYPE_BOOL ? 1 : 8 * type->size - is_signed; /* without the sign */
    if (v.kind != TT__VALUE_INT)
        return fail_value(pl, c, slot, v, "an integer");
    if (v.i < 0 && (!is_signed || (bits < 63 && v.i < -(INT64_C(1) << bits))))
        *legal = refuse(pl, pl->exprs[slot], "is %" PRId64 ", which does not fit %s", v.i, type->name);
    else if (bits < 63)
        *legal = within(pl, slot, v.i, (INT64_C(1) << bits) - 1);
    a->i = v.i;
    return TT_OK;
}

static int operand_bytes(const plan *pl, int operand) {
    if (operand == TT__OPERAND_ERROR)
        return (int)sizeof(uint64_t);
    const tt__operand *o = &pl->t->operation->operands[operand];
    tt__type type = o->variable < 0 ? o->type : (tt__type)pl->facts.variables[o->variable];
    return o->scalar ? tt__type_size(type, tt__problem_elem_size(pl->p))
                     : (int)sizeof(uint64_t); /* an address */
}

/* The parts of a launch that do not depend on the configuration. */
static void start_launch(const plan *pl, tt__launch *l) {
    enum { EARLY_FROM_CC = 90 };
    int n = 0;
    *l = (tt__launch){.n_passes = pl->n_launches};
    for (int s = 0; s < l->n_passes; s++) {
        const tt__geometry_expr *g = &pl->launches[s];
        l->passes[s] = (tt__pass){.grid = {1, 1, 1},
                                  .block = {1, 1, 1},
                                  .first_arg = (int16_t)n,
                                  .n_args = (int16_t)g->n_args,
                                  .swap = {(int16_t)g->swap_of[0], (int16_t)g->swap_of[1]},
                                  .early = g->early && pl->gpu->cc >= EARLY_FROM_CC};
        l->swaps |= g->swap_line > 0;
        for (int i = 0; i < g->n_args; i++, n++) {
            const tt__arg_expr *a = &pl->t->args[g->first_arg + i];
            int bytes = a->type == TT__TYPE_NONE ? operand_bytes(pl, a->operand) : tt__types[a->type].size;
            l->args[n] =
                (tt__arg){.type = (uint8_t)a->type, .operand = (int16_t)a->operand, .bytes = (uint8_t)bytes};
        }
    }
}

/* The weight makes time times weight smallest where the objective is best. */
static tt_status read_weight(const plan *pl, const tt__query *q, tt__candidate *c) {
    c->weight = 1;
    if (pl->first_derived == pl->n_slots)
        return TT_OK;
    const tt__expr *e = pl->exprs[pl->n_slots];
    tt__value v = tt__query_value(q, pl->n_slots);
    bool number = v.kind == TT__VALUE_INT || v.kind == TT__VALUE_REAL;
    if (!number || !(v.f > 0 && v.f <= DBL_MAX))
        return tt__template_fail(pl->t->path, e->line, e->column,
                                 "the objective `%.200s` is %g for %s, expected a number above 0", e->text,
                                 number ? v.f : 0.0, c->config[0] ? c->config : "no parameters");
    c->weight = pl->t->operation->maximize ? 1 / v.f : v.f;
    return TT_OK;
}

static tt_status read_derived(const plan *pl, const tt__query *q, tt__candidate *c) {
    for (size_t i = pl->first_derived; i < pl->n; i++) {
        tt__value v = tt__query_value(q, i);
        if (v.kind != TT__VALUE_INT)
            return fail_value(pl, c, i, v, "an integer");
        c->derived[i - pl->first_derived] = v.i;
    }
    return TT_OK;
}

/* Reads the launch of c->config from the current row. If it is not legal, *beyond is the part over a
 * limit. */
static tt_status read_launch(const plan *pl, const tt__query *q, tt__candidate *c, bool *legal,
                             tt__part *beyond) {
    tt__launch *l = &c->launch;
    start_launch(pl, l);
    *legal = true;
    TT_TRY(read_weight(pl, q, c));
    for (size_t i = 0; i < pl->n_slots && *legal; i++) {
        tt__value v = tt__query_value(q, i);
        tt__part kind = *beyond = pl->slots[i].kind;
        TT_TRY(kind == TT__PART_SHARED  ? set_shared(pl, c, i, v, legal)
               : kind == TT__PART_TURNS ? set_turns(pl, c, i, v, legal)
               : kind == TT__PART_ARGS  ? set_arg(pl, c, i, v, legal)
                                        : set_dim(pl, c, i, v, legal));
    }
    for (int s = 0; s < l->n_passes && *legal; s++) {
        const unsigned *block = l->passes[s].block;
        int64_t threads = (int64_t)block[0] * block[1] * block[2];
        if (threads <= pl->gpu->max_threads_per_block)
            continue;
        *beyond = TT__PART_BLOCK;
        *legal = refuse(pl, &pl->launches[s].block[0], "makes blocks of %" PRId64 " threads, the limit is %d",
                        threads, pl->gpu->max_threads_per_block);
    }
    int turns = 0;
    for (int s = 0; s < l->n_passes; s++)
        turns += l->passes[s].off ? 0 : 1 + l->passes[s].repeats;
    if (*legal && (turns == 0 || turns > TT__TURNS_MAX)) {
        const tt__geometry_expr *last = &pl->launches[l->n_passes - 1];
        *beyond = TT__PART_TURNS;
        *legal = refuse(pl,
                        last->when.text     ? &last->when
                        : last->repeat.text ? &last->repeat
                                            : &last->grid[0],
                        "makes %d launches, expected 1 to %d", turns, TT__TURNS_MAX);
    }
    return *legal ? read_derived(pl, q, c) : TT_OK;
}

/* ---- One configuration --------------------------------------------------------------------------------- */

static tt_status read_one(const plan *pl, tt__query *q, tt__candidate *c, bool *legal) {
    tt__part beyond;
    bool found;
    *legal = false;
    TT_TRY(tt__query_next(q, &found));
    if (!found)
        return tt__fail(TT_E_INTERNAL, "%s: a configuration without a row", pl->t->path);
    bool tuned = pl->launches == pl->t->passes; /* a `where` does not concern others */
    for (size_t i = 0; i < pl->t->n_wheres && tuned; i++)
        if (!tt__query_where(q, i)) {
            refuse(pl, &pl->t->wheres[i], "does not hold");
            return TT_OK;
        }
    return read_launch(pl, q, c, legal, &beyond);
}

static tt_status resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p,
                         const char *config, const tt__aside *aside) {
    size_t choice[TT__PARAMS_MAX] = {0};
    char why[TT__REASON_MAX] = "", problem[TT__PROBLEM_TEXT_MAX];
    bool legal = false;
    tt__query *q;
    plan pl;
    *out = (tt__candidate){.t = t};
    TT_TRY(tt__config_parse(choice, t, config));
    tt__config_format(out->config, t, choice);
    TT_TRY(make_plan(&pl, t, gpu, p, aside, why));
    out->offset = pl.offset;
    TT_TRY(tt__query_open(&q, t, &pl.facts, choice, pl.exprs, pl.n));
    tt_status status = read_one(&pl, q, out, &legal);
    tt__query_close(q);
    if (status == TT_OK && !legal)
        status =
            tt__fail(TT_E_UNSUPPORTED, "%s %s cannot do %s: %s", aside ? aside->symbols.name[0] : t->kernel,
                     out->config, tt__problem_text(problem, p), why);
    return status;
}

tt_status tt__space_resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const char *config) {
    *out = (tt__candidate){.t = t};
    if (!tt__template_does(t, p))
        return tt__fail(TT_E_UNSUPPORTED, "%s is a %s, not a %s", t->kernel, t->op, p->op);
    return resolve(out, t, gpu, p, config, NULL);
}

tt_status tt__space_reference(tt__candidate *out, const tt__operation *operation, const tt__gpu *gpu,
                              const tt__problem *p) {
    return tt__space_aside(out, operation, TT__REFERENCE, gpu, p, operation->t->default_config);
}

tt_status tt__space_aside(tt__candidate *out, const tt__operation *operation, tt__role role,
                          const tt__gpu *gpu, const tt__problem *p, const char *config) {
    return resolve(out, operation->t, gpu, p, config, &operation->asides[role]);
}

/* ---- The whole space ----------------------------------------------------------------------------------- */

tt_status tt__space_append(tt__space *s, const tt__candidate *c) {
    TT_TRY(TT__GROW(s->items, s->n));
    s->items[s->n++] = *c;
    return TT_OK;
}

/* Counts all legal configurations, and those with each value. *whole is false if they are too many. */
static size_t count_legal(const plan *pl, size_t counts[][TT__VALUES_MAX], bool *whole) {
    size_t n = 0, choice[TT__PARAMS_MAX];
    bool found = true, legal;
    tt__part beyond;
    tt__query *q;
    tt_status status = tt__query_open(&q, pl->t, &pl->facts, NULL, pl->exprs, pl->n);
    while (status == TT_OK && (status = tt__query_next(q, &found)) == TT_OK && found) {
        tt__candidate c = {.t = pl->t};
        for (size_t i = 0; i < pl->t->n_params; i++)
            choice[i] = tt__query_choice(q, i);
        status = read_launch(pl, q, &c, &legal, &beyond);
        n += status == TT_OK && legal;
        for (size_t i = 0; i < pl->t->n_params && status == TT_OK && legal; i++)
            counts[i][choice[i]]++;
    }
    *whole = status == TT_OK;
    tt__query_close(q);
    return n;
}

/* The bound of one parameter that keeps most, but not too many, and the default. */
static size_t find_bound(const plan *pl, size_t counts[][TT__VALUES_MAX], size_t *param, size_t *value) {
    size_t best = 0, usual[TT__PARAMS_MAX] = {0};
    tt__config_parse(usual, pl->t, pl->t->default_config);
    for (size_t p = 0; p < pl->t->n_params; p++) {
        const tt__param *x = &pl->t->params[p];
        for (size_t v = 0; v < x->n_values; v++) {
            int64_t bound = strtoll(x->values[v], NULL, 10);
            size_t kept = 0;
            bool numbers = true;
            for (size_t u = 0; u < x->n_values; u++) {
                numbers &= tt__is_integer(x->values[u], strlen(x->values[u]));
                kept += strtoll(x->values[u], NULL, 10) <= bound ? counts[p][u] : 0;
            }
            if (!numbers || kept <= best || kept > TT__CONFIGS_MAX ||
                strtoll(x->values[usual[p]], NULL, 10) > bound)
                continue;
            best = kept;
            *param = p;
            *value = v;
        }
    }
    return best;
}

static tt_status fail_too_many(const plan *pl) {
    size_t(*counts)[TT__VALUES_MAX] = calloc(TT__PARAMS_MAX, sizeof *counts), p = 0, v = 0;
    char problem[TT__PROBLEM_TEXT_MAX], advice[160];
    bool whole;
    if (!counts)
        return tt__fail_memory(TT__PARAMS_MAX * sizeof *counts);
    size_t n = count_legal(pl, counts, &whole), kept = whole ? find_bound(pl, counts, &p, &v) : 0;
    for (size_t i = 0; i < pl->t->n_params && !kept; i++)
        p = pl->t->params[i].n_values > pl->t->params[p].n_values ? i : p;
    if (!kept)
        snprintf(advice, sizeof advice, "take values away (%s has %zu), or exclude more with a `where`",
                 pl->t->params[p].name, pl->t->params[p].n_values);
    else
        snprintf(advice, sizeof advice,
                 "take values away, or add a `where`, as `where %s <= %s`, which keeps %zu",
                 pl->t->params[p].name, pl->t->params[p].values[v], kept);
    free(counts);
    return tt__fail(TT_E_TEMPLATE, "%s: %s%zu legal configurations for %s, and the limit is %d: %s",
                    pl->t->path, whole ? "" : "more than ", n, tt__problem_text(problem, pl->p),
                    TT__CONFIGS_MAX, advice);
}

/* Makes room for one more candidate, zeroed and not counted yet. */
static tt_status grow(tt__space *s, const plan *pl, size_t start) {
    if (s->n - start == TT__CONFIGS_MAX)
        return fail_too_many(pl);
    TT_TRY(TT__GROW(s->items, s->n));
    s->items[s->n] = (tt__candidate){.t = pl->t, .offset = pl->offset};
    return TT_OK;
}

static tt_status read_all(tt__space *s, const plan *pl, tt__query *q) {
    size_t start = s->n, choice[TT__PARAMS_MAX];
    tt__part beyond;
    bool found, legal;
    for (;;) {
        TT_TRY(tt__query_next(q, &found));
        if (!found)
            return TT_OK;
        TT_TRY(grow(s, pl, start));
        tt__candidate *c = &s->items[s->n];
        for (size_t i = 0; i < pl->t->n_params; i++)
            choice[i] = tt__query_choice(q, i);
        tt__config_format(c->config, pl->t, choice);
        TT_TRY(read_launch(pl, q, c, &legal, &beyond));
        s->n += legal;
    }
}

static void default_first(tt__space *s, size_t start, const char *config) {
    for (size_t i = start; i < s->n; i++)
        if (strcmp(s->items[i].config, config) == 0) {
            tt__candidate c = s->items[i];
            memmove(&s->items[start + 1], &s->items[start], (i - start) * sizeof c);
            s->items[start] = c;
            return;
        }
}

tt_status tt__space_add(tt__space *space, const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    size_t start = space->n;
    tt__query *q;
    if (!tt__template_does(t, p))
        return TT_OK;
    plan pl;
    TT_TRY(make_plan(&pl, t, gpu, p, NULL, NULL));
    TT_TRY(tt__query_open(&q, t, &pl.facts, NULL, pl.exprs, pl.n));
    tt_status status = read_all(space, &pl, q);
    tt__query_close(q);
    if (status == TT_OK)
        default_first(space, start, t->default_config);
    else
        space->n = start;
    return status;
}

/* ---- What makes the space as large as it is ------------------------------------------------------------ */

/* Counts the current row by the reason that rejects it. */
static tt_status count_row(tt__survey *s, const plan *pl, const tt__query *q) {
    tt__candidate c = {0};
    tt__part beyond;
    bool legal;
    size_t failed = 0, last = 0, choice[TT__PARAMS_MAX];
    for (size_t i = 0; i < pl->t->n_wheres; i++)
        if (!tt__query_where(q, i)) {
            s->wheres[i].removed++;
            last = i;
            failed++;
        }
    if (failed == 1)
        s->wheres[last].alone++;
    if (failed)
        return TT_OK; /* do not read its geometry, which may be invalid */
    for (size_t i = 0; i < pl->t->n_params; i++)
        choice[i] = tt__query_choice(q, i);
    tt__config_format(c.config, pl->t, choice);
    TT_TRY(read_launch(pl, q, &c, &legal, &beyond));
    ++*(legal ? &s->legal : &s->beyond[beyond]);
    return TT_OK;
}

tt_status tt__space_survey(tt__survey *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p) {
    tt__query *q;
    bool found = true;
    *out = (tt__survey){.combinations = 1};
    for (size_t i = 0; i < t->n_params; i++)
        out->combinations *= (double)t->params[i].n_values;
    plan pl;
    TT_TRY(make_plan(&pl, t, gpu, p, NULL, NULL));
    TT_TRY(tt__query_open_all(&q, t, &pl.facts, pl.exprs, pl.n));
    tt_status status = TT_OK;
    while (status == TT_OK && found) {
        status = tt__query_next(q, &found);
        if (status == TT_OK && found)
            status = count_row(out, &pl, q);
    }
    tt__query_close(q);
    return status;
}

void tt__space_free(tt__space *space) {
    free(space->items);
    *space = (tt__space){0};
}
