/*
 * Evaluates the expressions of a launch. A slot says which number of the launch an expression is. Each is
 * checked against the limits of CUDA and of the device, so that a message can name the one that is too large.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/str.h"
#include "kernel/space/launch_plan.h"
#include "kernel/space/operation.h"

static const char *const part_names[TT__PART_COUNT] = {"block", "grid",   "shared",
                                                       "args",  "repeat", "maxrregcount"};

static const int64_t block_max[3] = {1024, 1024, 64}, grid_max[3] = {INT32_MAX, 65535, 65535};

enum {
    HOPPER_CC = 90,
    CLUSTER = 3,
    CLUSTER_MAX = 16
}; /* CLUSTER: added to the index of a slot of the grid */

enum { WHEN, REPEAT, FROM, STEP }; /* the index of a slot of the turns */

static void plan_slot(tt__launch_plan *pl, tt__part kind, int pass, int index, const tt__expr *e) {
    if (!e->text)
        return;
    pl->slots[pl->n].kind = kind;
    pl->slots[pl->n].pass = pass;
    pl->slots[pl->n].index = index;
    pl->exprs[pl->n++] = e;
}

static void plan_pass(tt__launch_plan *pl, int pass) {
    const tt__geometry_expr *g = &pl->launches[pass];
    for (int i = 0; i < 3; i++)
        plan_slot(pl, TT__PART_BLOCK, pass, i, &g->block[i]);
    for (int i = 0; i < 3; i++)
        plan_slot(pl, TT__PART_GRID, pass, i, &g->grid[i]);
    for (int i = 0; i < 3; i++)
        plan_slot(pl, TT__PART_GRID, pass, CLUSTER + i, &g->cluster[i]);
    plan_slot(pl, TT__PART_SHARED, pass, 0, &g->shared);
    plan_slot(pl, TT__PART_TURNS, pass, WHEN, &g->when);
    plan_slot(pl, TT__PART_TURNS, pass, REPEAT, &g->repeat);
    plan_slot(pl, TT__PART_TURNS, pass, FROM, &g->from);
    plan_slot(pl, TT__PART_TURNS, pass, STEP, &g->step);
    for (int i = 0; i < g->n_args; i++)
        if (pl->t->args[g->first_arg + i].type != TT__TYPE_NONE && !pl->t->args[g->first_arg + i].of_turn)
            plan_slot(pl, TT__PART_ARGS, pass, i, &pl->t->args[g->first_arg + i].value);
}

void tt__launch_plan_make(tt__launch_plan *pl, const tt__template *t, const tt__gpu *gpu,
                          const tt__problem *p, const tt__facts *facts, const tt__aside *aside, char *why) {
    pl->t = t; /* the lists are long, and only what is used of them is written */
    pl->gpu = gpu;
    pl->p = p;
    pl->facts = facts;
    pl->why = why;
    pl->start = NULL;
    pl->n = 0;
    pl->n_launches = aside ? aside->n : t->n_passes;
    pl->launches = aside ? aside->launches : t->passes;
    pl->offset = tt__facts_offset(facts);
    for (int i = 0; i < pl->n_launches; i++)
        plan_pass(pl, i);
    if (!aside)
        plan_slot(pl, TT__PART_REGS, 0, 0, &t->max_regs);
    pl->n_slots = pl->n;
    if (t->operation->objective >= 0 && !aside)
        pl->exprs[pl->n++] = &t->operation->metrics[t->operation->objective].value;
    pl->first_derived = pl->n;
    for (size_t i = 0; i < t->n_derived; i++) {
        pl->slots[pl->n].index = (int)i;
        pl->exprs[pl->n++] = &t->derived[i].value;
    }
}

bool tt__launch_plan_refuse(const tt__launch_plan *pl, const tt__expr *e, const char *fmt, ...) {
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

static bool is_cluster(const tt__launch_plan *pl, size_t slot) {
    return pl->slots[slot].kind == TT__PART_GRID && pl->slots[slot].index >= CLUSTER;
}

static bool within(const tt__launch_plan *pl, size_t slot, int64_t value, int64_t max) {
    if (value <= max)
        return true;
    static const char *const axes[] = {".x", ".y", ".z"};
    tt__part kind = pl->slots[slot].kind;
    bool dim = kind == TT__PART_BLOCK || kind == TT__PART_GRID;
    return tt__launch_plan_refuse(pl, pl->exprs[slot], "is %" PRId64 ", the limit of %s%s is %" PRId64, value,
                                  is_cluster(pl, slot) ? "cluster" : part_names[kind],
                                  dim ? axes[pl->slots[slot].index % CLUSTER] : "", max);
}

/* The template is wrong: no launch and no derived name can have this value. */
static tt_status fail_expr(const tt__launch_plan *pl, const tt__candidate *c, const char *what,
                           const tt__expr *e, tt__value v, const char *expected) {
    char value[TT__NAME_MAX], problem[TT__PROBLEM_TEXT_MAX];
    return tt__template_fail(pl->t->path, e->line, e->column, "%s `%.200s` is %s for %s and %s, expected %s",
                             what, e->text, tt__value_text(value, v),
                             c->configuration.config[0] ? c->configuration.config : "no parameters",
                             tt__problem_words(problem, pl->t->operation, pl->p), expected);
}

static tt_status fail_value(const tt__launch_plan *pl, const tt__candidate *c, size_t slot, tt__value v,
                            const char *expected) {
    return fail_expr(pl, c,
                     slot >= pl->n_slots    ? "derived"
                     : is_cluster(pl, slot) ? "cluster"
                                            : part_names[pl->slots[slot].kind],
                     pl->exprs[slot], v, expected);
}

static tt_status set_dim(const tt__launch_plan *pl, tt__candidate *c, size_t slot, tt__value v, bool *legal) {
    bool block = pl->slots[slot].kind == TT__PART_BLOCK;
    tt__pass *pass = &c->launch.passes[pl->slots[slot].pass];
    int i = pl->slots[slot].index;
    if (v.kind != TT__VALUE_INT || v.i < 1)
        return fail_value(pl, c, slot, v, "an integer of 1 or more");
    *legal = within(pl, slot, v.i, block ? block_max[i] : i < CLUSTER ? grid_max[i] : CLUSTER_MAX);
    if (*legal && i >= CLUSTER)
        pass->cluster[i - CLUSTER] = (uint8_t)v.i;
    else if (*legal)
        *(block ? &pass->block[i] : &pass->grid[i]) = (unsigned)v.i;
    return TT_OK;
}

static tt_status set_shared(const tt__launch_plan *pl, tt__candidate *c, size_t slot, tt__value v,
                            bool *legal) {
    if (v.kind != TT__VALUE_INT || v.i < 0)
        return fail_value(pl, c, slot, v, "an integer of 0 or more");
    int64_t max = pl->gpu->shared_per_block;
    *legal = within(pl, slot, v.i, max < INT32_MAX ? max : INT32_MAX);
    if (*legal)
        c->launch.passes[pl->slots[slot].pass].shared_bytes = (unsigned)v.i;
    return TT_OK;
}

static tt_status check_regs(const tt__launch_plan *pl, const tt__candidate *c, size_t slot, tt__value v,
                            bool *legal) {
    char text[TT__NAME_MAX];
    if (v.kind == TT__VALUE_TEXT)
        return fail_value(pl, c, slot, v, "an integer of 16 to 255");
    *legal = (v.kind == TT__VALUE_INT && v.i >= TT__REGS_MIN && v.i <= TT__REGS_MAX) ||
             tt__launch_plan_refuse(pl, pl->exprs[slot], "is %s, expected %d to %d registers",
                                    tt__value_text(text, v), TT__REGS_MIN, TT__REGS_MAX);
    return TT_OK;
}

/* The number of a turn: where it starts, and how it goes on. */
static tt_status set_progress(const tt__launch_plan *pl, const tt__candidate *c, tt__pass *pass, size_t slot,
                              tt__value v, bool *legal) {
    const bool step = pl->slots[slot].index == STEP;
    if (v.kind != TT__VALUE_INT || (step && v.i == 0))
        return fail_value(pl, c, slot, v, step ? "an integer other than 0" : "an integer");
    *legal = within(pl, slot, v.i < 0 ? -v.i : v.i, INT32_MAX);
    if (*legal)
        *(step ? &pass->step : &pass->from) = (int32_t)v.i;
    return TT_OK;
}

/* `when` is a condition, `repeat` a number of launches. */
static tt_status set_turns(const tt__launch_plan *pl, tt__candidate *c, size_t slot, tt__value v,
                           bool *legal) {
    tt__pass *pass = &c->launch.passes[pl->slots[slot].pass];
    if (pl->slots[slot].index == WHEN) {
        pass->off = !tt__value_holds(v);
        return TT_OK;
    }
    if (pass->off)
        return TT_OK;
    if (pl->slots[slot].index != REPEAT)
        return set_progress(pl, c, pass, slot, v, legal);
    if (v.kind != TT__VALUE_INT || v.i < 0)
        return fail_value(pl, c, slot, v, "an integer of 0 or more");
    *legal = within(pl, slot, v.i, TT__TURNS_MAX);
    pass->off |= v.i == 0;
    pass->repeats = (int16_t)(v.i > 1 && *legal ? v.i - 1 : 0);
    return TT_OK;
}

/* A number of an argument, which must fit its type. */
static tt_status read_number(const tt__launch_plan *pl, const tt__candidate *c, const tt__expr *e,
                             const tt__type_info *type, tt__value v, bool *legal) {
    char expected[32];
    if (type->floating) {
        snprintf(expected, sizeof expected, "a number that fits %s", type->name);
        return tt__value_is_number(v) && fabs(tt__value_number(v)) <= type->most
                   ? TT_OK
                   : fail_expr(pl, c, part_names[TT__PART_ARGS], e, v, expected);
    }
    const bool is_signed = *type->name == 'i';
    const int bits = *type->name == 'b' ? 1 : 8 * type->size - is_signed; /* without the sign */
    if (v.kind != TT__VALUE_INT)
        return fail_expr(pl, c, part_names[TT__PART_ARGS], e, v, "an integer");
    if (v.i < 0 && (!is_signed || (bits < 63 && v.i < -(INT64_C(1) << bits))))
        *legal = tt__launch_plan_refuse(pl, e, "is %" PRId64 ", which does not fit %s", v.i, type->name);
    else if (bits < 63 && v.i > (INT64_C(1) << bits) - 1)
        *legal = tt__launch_plan_refuse(pl, e, "is %" PRId64 ", the limit of %s is %" PRId64, v.i, type->name,
                                        (INT64_C(1) << bits) - 1);
    return TT_OK;
}

static tt_status set_arg(const tt__launch_plan *pl, tt__candidate *c, size_t slot, tt__value v, bool *legal) {
    tt__arg *a = &c->launch.args[c->launch.passes[pl->slots[slot].pass].first_arg + pl->slots[slot].index];
    TT_TRY(read_number(pl, c, pl->exprs[slot], &tt__types[a->type], v, legal));
    if (tt__types[a->type].floating)
        a->f = tt__value_number(v);
    else
        a->i = v.i;
    return TT_OK;
}

static int operand_bytes(const tt__launch_plan *pl, int operand) {
    if (operand == TT__OPERAND_ERROR)
        return (int)sizeof(uint64_t);
    const tt__operand *o = &pl->t->operation->operands[operand];
    tt__type type = o->variable < 0 ? o->type : (tt__type)pl->facts->variables[o->variable];
    return o->scalar ? tt__type_size(type, tt__problem_elem_size(pl->p))
                     : (int)sizeof(uint64_t); /* an address */
}

/* The parts of a launch that do not depend on the configuration. */
static void start_launch(const tt__launch_plan *pl, tt__launch *l) {
    int n = 0;
    *l = (tt__launch){.n_passes = pl->n_launches};
    for (int s = 0; s < l->n_passes; s++) {
        const tt__geometry_expr *g = &pl->launches[s];
        l->passes[s] = (tt__pass){.grid = {1, 1, 1},
                                  .block = {1, 1, 1},
                                  .first_arg = (int16_t)n,
                                  .n_args = (int16_t)g->n_args,
                                  .swap = {(int16_t)g->swap_of[0], (int16_t)g->swap_of[1]},
                                  .early = g->early && pl->gpu->cc >= HOPPER_CC,
                                  .cooperative = g->cooperative,
                                  .joins = g->joins,
                                  .progress = (uint8_t)g->progress,
                                  .step = 1};
        if (g->cluster[0].text)
            memset(l->passes[s].cluster, 1, sizeof l->passes[s].cluster);
        l->swaps |= g->swap_line > 0;
        for (int i = 0; i < g->n_args; i++, n++) {
            const tt__arg_expr *a = &pl->t->args[g->first_arg + i];
            int bytes = a->type == TT__TYPE_NONE ? operand_bytes(pl, a->operand) : tt__types[a->type].size;
            l->args[n] = (tt__arg){.type = (uint8_t)a->type,
                                   .operand = (int16_t)a->operand,
                                   .bytes = (uint16_t)bytes,
                                   .by_value = a->by_value,
                                   .made = (uint8_t)(a->map       ? TT__MADE_MAP
                                                     : a->of_turn ? TT__MADE_OF_TURN
                                                                  : TT__MADE_BEFORE)};
            l->makes |= l->args[n].made != TT__MADE_BEFORE;
        }
    }
}

static size_t aligned(size_t at, size_t align) {
    return (at + align - 1) / align * align;
}

/* Memory behind the arguments of all passes. */
typedef struct room {
    char *at;
    size_t bytes;
} room;

static tt_status no_room(const tt__launch_plan *pl, const tt__expr *e) {
    return tt__template_fail(pl->t->path, e->line, e->column,
                             "the structs and tensor maps of `args` do not fit into %d bytes",
                             (int)(TT__ARGS_MAX * sizeof(tt__arg)));
}

/* Lays the numbers of a struct out as C++ does. The places of operands follow it. */
static tt_status set_fields(const tt__launch_plan *pl, tt__inputs *in, const tt__candidate *c,
                            const tt__arg_expr *a, room room, tt__arg *arg, size_t *used, bool *legal) {
    size_t at = 0, most = 1;
    tt__place places[TT__FIELDS_MAX];
    for (int i = a->first_field; i < a->first_field + a->n_fields && *legal; i++) {
        const tt__struct_member *f = &pl->t->fields[i];
        const bool is_operand = f->type == TT__TYPE_NONE;
        const size_t size =
            is_operand ? (size_t)operand_bytes(pl, f->operand) : (size_t)tt__types[f->type].size;
        const size_t align = is_operand ? size : (size_t)f->align;
        at = aligned(at, align);
        most = align > most ? align : most;
        if (at + size * (size_t)f->lanes > room.bytes)
            return no_room(pl, &f->value);
        if (is_operand) {
            places[arg->n_places++] =
                (tt__place){.at = (uint16_t)at, .bytes = (uint16_t)size, .operand = (int16_t)f->operand};
            at += size;
            continue;
        }
        const tt__value v = tt__expr_value(in, &f->value);
        TT_TRY(read_number(pl, c, &f->value, &tt__types[f->type], v, legal));
        for (int k = 0; k < f->lanes && *legal; k++, at += size)
            tt__type_store(room.at + at, f->type, v.i, tt__value_number(v));
    }
    const size_t bytes = aligned(at, most), n = arg->n_places * sizeof *places;
    arg->bytes = (uint16_t)bytes;
    *used = aligned(bytes, sizeof(uint64_t)) + n;
    if (n == 0)
        return TT_OK;
    if (*used > room.bytes)
        return no_room(pl, &pl->t->fields[a->first_field].value);
    memcpy(room.at + aligned(bytes, sizeof(uint64_t)), places, n);
    arg->made = TT__MADE_STRUCT;
    return TT_OK;
}

/* A number of a tensor map. */
static tt_status map_number(const tt__launch_plan *pl, tt__inputs *in, const tt__candidate *c,
                            const tt__expr *e, int64_t otherwise, int64_t *out, const char *what,
                            int64_t most, bool *legal) {
    const tt__value v = e->text ? tt__expr_value(in, e) : tt__value_int(otherwise);
    if (v.kind != TT__VALUE_INT || v.i < 0)
        return fail_expr(pl, c, "tensormap", e, v, "an integer of 0 or more");
    *out = v.i;
    if (*legal && v.i > most)
        *legal =
            tt__launch_plan_refuse(pl, e, "is %" PRId64 ", the limit of %s is %" PRId64, v.i, what, most);
    if (*legal && v.i == 0 && otherwise)
        *legal = tt__launch_plan_refuse(pl, e, "is 0, and %s is at least 1", what);
    return TT_OK;
}

/* What the device demands of a tensor map, of what cuTensorMapEncodeTiled would say only that it is invalid.
 */
static bool check_map(const tt__launch_plan *pl, const tt__map_expr *e, const tt__tensor_map *m, int size,
                      int64_t count) {
    enum { UNIT = 16 };
    const int inner = m->box[0] * size;
    double last = ((double)m->dims[0] - 1) * size; /* may exceed 64 bits */
    if (pl->gpu->cc < HOPPER_CC)
        return tt__launch_plan_refuse(pl, &e->buffer, "has a tensor map, which needs compute capability 9.0");
    if (tt__problem_align(pl->p) % UNIT)
        return tt__launch_plan_refuse(pl, &e->buffer,
                                      "has a tensor map, and its address is no multiple of %d", UNIT);
    if (inner % UNIT)
        return tt__launch_plan_refuse(
            pl, &e->box[0], "makes rows of a box of %d bytes, expected a multiple of %d", inner, UNIT);
    if (m->swizzle_bytes && inner > m->swizzle_bytes)
        return tt__launch_plan_refuse(
            pl, &e->box[0], "makes rows of a box of %d bytes, and with swizzle %d at most %d are possible",
            inner, m->swizzle_bytes, m->swizzle_bytes);
    for (int i = 0; i + 1 < m->rank; i++) {
        if (m->strides[i] % UNIT || m->strides[i] >> 40)
            return tt__launch_plan_refuse(pl, e->strides[i].text ? &e->strides[i] : &e->dims[i],
                                          "makes rows that are %" PRIu64
                                          " bytes apart, expected a multiple of %d "
                                          "below 2^40: give `strides`",
                                          m->strides[i], UNIT);
        last += ((double)m->dims[i + 1] - 1) * (double)m->strides[i];
    }
    if (last / size >= (double)count)
        return tt__launch_plan_refuse(pl, &e->dims[m->rank - 1],
                                      "makes a tensor map of %.0f elements, and %s has %" PRId64,
                                      last / size + 1, pl->t->operation->operands[e->operand].name, count);
    return true;
}

static bool is_one_of(int64_t value, const int *known, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (value == known[i])
            return true;
    return false;
}

static tt_status set_map(const tt__launch_plan *pl, tt__inputs *in, const tt__candidate *c, tt__arg *arg,
                         const tt__map_expr *e, tt__tensor_map *m, bool *legal) {
    enum { BOX_MAX = 256, STEP_MAX = 8 };
    static const int swizzles[] = {0, 32, 64, 128}, lines[] = {0, 64, 128, 256};
    const tt__operand *o = &pl->t->operation->operands[e->operand];
    const tt__type type = o->variable < 0 ? o->type : (tt__type)pl->facts->variables[o->variable];
    const int size = tt__type_size(type, tt__problem_elem_size(pl->p));
    int64_t v, stride = size;
    *m = (tt__tensor_map){.rank = (uint8_t)e->rank, .type = (uint8_t)type, .fills_nan = e->fills_nan};
    for (int i = 0; i < e->rank && *legal; i++) {
        TT_TRY(map_number(pl, in, c, &e->dims[i], 1, &v, "a dimension", UINT32_MAX, legal));
        m->dims[i] = (uint32_t)v;
        stride = stride > INT64_MAX / (v + 1) ? INT64_MAX : stride * v;
        TT_TRY(map_number(pl, in, c, &e->box[i], 1, &v, "a box", BOX_MAX, legal));
        m->box[i] = (uint16_t)v;
        TT_TRY(map_number(pl, in, c, &e->steps[i], 1, &v, "a step", STEP_MAX, legal));
        m->steps[i] = (uint8_t)v;
        if (i + 1 == e->rank)
            break;
        TT_TRY(map_number(pl, in, c, &e->strides[i], stride / size, &v, "a stride", INT64_MAX / size, legal));
        m->strides[i] = (uint64_t)v * (uint64_t)size;
        stride = (int64_t)m->strides[i];
    }
    TT_TRY(map_number(pl, in, c, &e->swizzle, 0, &v, "swizzle", 128, legal));
    m->swizzle_bytes = (uint8_t)v;
    if (*legal && !is_one_of(v, swizzles, TT__COUNT(swizzles)))
        *legal = tt__launch_plan_refuse(pl, &e->swizzle, "is %" PRId64 ", expected 0, 32, 64 or 128", v);
    TT_TRY(map_number(pl, in, c, &e->l2, 0, &v, "l2", 256, legal));
    m->l2_bytes = (uint16_t)v;
    if (*legal && !is_one_of(v, lines, TT__COUNT(lines)))
        *legal = tt__launch_plan_refuse(pl, &e->l2, "is %" PRId64 ", expected 0, 64, 128 or 256", v);
    const tt__value count = tt__expr_value(in, &o->count);
    *legal = *legal && check_map(pl, e, m, size, count.kind == TT__VALUE_INT ? count.i * o->lanes : 0);
    arg->operand = (int16_t)e->operand;
    arg->bytes = TT__MAP_BYTES;
    return TT_OK;
}

/* Fills in an argument that is more than a number: a struct or a tensor map. */
static tt_status set_by_value(const tt__launch_plan *pl, tt__inputs *in, const tt__candidate *c,
                              const tt__arg_expr *a, room room, tt__arg *arg, size_t *used, bool *legal) {
    if (a->map) {
        const tt__map_expr *m = &pl->t->maps[a->map - 1];
        *used = sizeof(tt__tensor_map);
        return *used > room.bytes ? no_room(pl, &m->buffer)
                                  : set_map(pl, in, c, arg, m, (tt__tensor_map *)(void *)room.at, legal);
    }
    if (a->n_fields)
        return set_fields(pl, in, c, a, room, arg, used, legal);
    if (!tt__permute_argument(room.at, room.bytes, used, pl->facts))
        *legal = tt__launch_plan_refuse(pl, &pl->launches[0].grid[0],
                                        "is for `struct permute_any`, which this problem does not have");
    arg->bytes = (uint16_t)*used;
    return TT_OK;
}

/* They are in the memory behind the arguments of all passes. */
static tt_status set_structs(const tt__launch_plan *pl, tt__inputs *in, tt__candidate *c, bool *legal) {
    tt__launch *l = &c->launch;
    const tt__pass *last = &l->passes[l->n_passes - 1];
    int next = last->first_arg + last->n_args;
    for (int s = 0; s < l->n_passes; s++)
        for (int k = 0; k < l->passes[s].n_args && !l->passes[s].off && *legal; k++) {
            const tt__arg_expr *a = &pl->t->args[pl->launches[s].first_arg + k];
            tt__arg *arg = &l->args[l->passes[s].first_arg + k];
            const room room = {(char *)&l->args[next], (size_t)(TT__ARGS_MAX - next) * sizeof *arg};
            size_t used = 0;
            if (!arg->by_value)
                continue;
            TT_TRY(set_by_value(pl, in, c, a, room, arg, &used, legal));
            l->makes |= arg->made != TT__MADE_BEFORE;
            arg->i = next;
            next += (int)((used + sizeof *arg - 1) / sizeof *arg);
        }
    return TT_OK;
}

/* The numbers of the turns of a loop fit the arguments that get them. The first and the last say it: they
 * only rise or only fall. */
static tt_status check_turns(const tt__launch_plan *pl, const tt__candidate *c, int leader, bool *legal) {
    const tt__launch *l = &c->launch;
    const tt__pass *p = &l->passes[leader];
    int64_t last = p->from;
    for (int turn = 0; turn < p->repeats && last >= INT32_MIN && last <= UINT32_MAX; turn++)
        last = tt__progress_next((tt__progress)p->progress, last, p->step);
    if (last < INT32_MIN || last > UINT32_MAX)
        *legal = tt__launch_plan_refuse(pl, &pl->launches[leader].repeat,
                                        "makes numbers of turns that leave 32 bits");
    for (int s = leader; s < l->n_passes && (s == leader || l->passes[s].joins) && *legal; s++)
        for (int i = 0; i < l->passes[s].n_args && *legal; i++) {
            const tt__arg_expr *a = &pl->t->args[pl->launches[s].first_arg + i];
            const tt__arg *arg = &l->args[l->passes[s].first_arg + i];
            if (arg->made != TT__MADE_OF_TURN)
                continue;
            TT_TRY(read_number(pl, c, &a->value, &tt__types[arg->type], tt__value_int(p->from), legal));
            if (*legal)
                TT_TRY(read_number(pl, c, &a->value, &tt__types[arg->type], tt__value_int(last), legal));
        }
    return TT_OK;
}

/* The weight makes time times weight smallest where the objective is best. */
static tt_status read_weight(const tt__launch_plan *pl, tt__inputs *in, tt__candidate *c) {
    c->configuration.weight = 1;
    if (pl->first_derived == pl->n_slots)
        return TT_OK;
    const tt__expr *e = pl->exprs[pl->n_slots];
    tt__value v = tt__expr_value(in, pl->exprs[pl->n_slots]);
    const double number = tt__value_number(v);
    if (!(number > 0 && number <= DBL_MAX))
        return tt__template_fail(
            pl->t->path, e->line, e->column, "the objective `%.200s` is %g for %s, expected a number above 0",
            e->text, number, c->configuration.config[0] ? c->configuration.config : "no parameters");
    c->configuration.weight = pl->t->operation->maximize ? 1 / number : number;
    return TT_OK;
}

static tt_status read_derived(const tt__launch_plan *pl, tt__inputs *in, tt__candidate *c) {
    for (size_t i = pl->first_derived; i < pl->n; i++) {
        const int k = pl->slots[i].index;
        tt__value v = tt__expr_value(in, pl->exprs[i]);
        bool whole = v.kind == TT__VALUE_INT;
        if (!whole && pl->t->derived[k].macro)
            return fail_value(pl, c, i, v, "an integer");
        c->configuration.derived[k] = whole ? v.i : TT__NO_INTEGER;
    }
    return TT_OK;
}

static bool check_threads(const tt__launch_plan *pl, const tt__pass *p, const tt__geometry_expr *g) {
    const int64_t threads = (int64_t)tt__pass_threads(p);
    return threads <= pl->gpu->max_threads_per_block ||
           tt__launch_plan_refuse(pl, &g->block[0], "makes blocks of %" PRId64 " threads, the limit is %d",
                                  threads, pl->gpu->max_threads_per_block);
}

static bool check_cluster(const tt__launch_plan *pl, const tt__pass *p, const tt__geometry_expr *g) {
    const unsigned blocks = tt__pass_cluster(p);
    if (blocks && pl->gpu->cc < HOPPER_CC)
        return tt__launch_plan_refuse(pl, &g->cluster[0],
                                      "asks for clusters, which need compute capability 9.0");
    if (blocks > CLUSTER_MAX)
        return tt__launch_plan_refuse(pl, &g->cluster[0], "makes clusters of %u blocks, the limit is %d",
                                      blocks, CLUSTER_MAX);
    for (int i = 0; i < 3 && blocks; i++)
        if (p->grid[i] % p->cluster[i])
            return tt__launch_plan_refuse(
                pl, &g->grid[g->grid[i].text ? i : 0],
                "makes a grid of %ux%ux%u blocks, which is no multiple of the cluster of %ux%ux%u",
                p->grid[0], p->grid[1], p->grid[2], p->cluster[0], p->cluster[1], p->cluster[2]);
    return true;
}

/* How many blocks the device holds at most. Registers, which only the compiler knows, may allow fewer. */
static bool check_cooperative(const tt__launch_plan *pl, const tt__pass *p, const tt__geometry_expr *g) {
    enum { BLOCKS_PER_SM = 32, RESERVED_BYTES = 1024 };
    const int cc = pl->gpu->cc;
    const int threads = cc == 75 ? 1024 : (cc > 80 && cc < 90) || cc >= 110 ? 1536 : 2048; /* of an SM */
    int64_t each = threads / (int64_t)tt__pass_threads(p);
    const int64_t by_shared =
        (pl->gpu->shared_per_block + RESERVED_BYTES) / (p->shared_bytes + RESERVED_BYTES);
    each = each > BLOCKS_PER_SM ? BLOCKS_PER_SM : each;
    each = each > by_shared ? by_shared : each;
    if (!p->cooperative || tt__pass_blocks(p) <= (double)each * pl->gpu->sm_count)
        return true;
    return tt__launch_plan_refuse(pl, &g->grid[0],
                                  "makes %.0f blocks that wait for each other (`launch cooperative`), and "
                                  "the GPU holds at most %" PRId64,
                                  tt__pass_blocks(p), each * pl->gpu->sm_count);
}

/* Limits of several numbers together. */
static bool check_pass(const tt__launch_plan *pl, const tt__pass *p, const tt__geometry_expr *g,
                       tt__part *beyond) {
    *beyond = TT__PART_BLOCK;
    if (!check_threads(pl, p, g))
        return false;
    *beyond = TT__PART_GRID;
    return check_cluster(pl, p, g) && check_cooperative(pl, p, g);
}

/* A number of the launch, except for turns. */
static tt_status set_slot(const tt__launch_plan *pl, tt__inputs *in, tt__candidate *c, size_t slot,
                          bool *legal) {
    const tt__part kind = pl->slots[slot].kind;
    const tt__value v = tt__expr_value(in, pl->exprs[slot]);
    return kind == TT__PART_REGS     ? check_regs(pl, c, slot, v, legal)
           : kind == TT__PART_SHARED ? set_shared(pl, c, slot, v, legal)
           : kind == TT__PART_ARGS   ? set_arg(pl, c, slot, v, legal)
                                     : set_dim(pl, c, slot, v, legal);
}

static bool is_settled(const tt__launch_plan *pl, tt__inputs *in, tt__candidate *c, size_t slot,
                       uint64_t given) {
    const tt__part kind = pl->slots[slot].kind;
    bool legal = true;
    if (kind == TT__PART_ARGS && tt__expr_is_number(pl->exprs[slot])) {
        const tt__pass *pass = &c->launch.passes[pl->slots[slot].pass];
        if (c->launch.args[pass->first_arg + pl->slots[slot].index].type == TT__TYPE_I64)
            return true;
    }
    return kind != TT__PART_TURNS && tt__expr_is_certain(in, pl->exprs[slot], given) &&
           set_slot(pl, in, c, slot, &legal) == TT_OK && legal;
}

/* A derived value that no cubin is compiled with, or that is an integer for sure. */
static bool is_needless(const tt__derived *d, tt__inputs *in, uint64_t given) {
    return !d->macro ||
           (tt__expr_is_certain(in, &d->value, given) && tt__expr_value(in, &d->value).kind == TT__VALUE_INT);
}

void tt__launch_plan_reduce(tt__launch_plan *pl, tt__launch *start, tt__inputs *in, uint64_t given) {
    tt__candidate c = {.configuration.t = pl->t};
    size_t n = 0, n_slots = 0, first_derived = 0;
    start_launch(pl, &c.launch);
    for (size_t i = 0; i < pl->n; i++) {
        const bool is_slot = i < pl->n_slots, is_derived = i >= pl->first_derived;
        if (is_slot      ? is_settled(pl, in, &c, i, given)
            : is_derived ? is_needless(&pl->t->derived[pl->slots[i].index], in, given)
                         : false)
            continue;
        pl->slots[n] = pl->slots[i];
        pl->exprs[n++] = pl->exprs[i];
        n_slots += is_slot;
        first_derived += !is_derived;
    }
    pl->n = n;
    pl->n_slots = n_slots;
    pl->first_derived = first_derived;
    *start = c.launch;
    pl->start = start;
}

void tt__launch_plan_copy(tt__launch_plan *out, const tt__launch_plan *pl, const tt__gpu *gpu,
                          const tt__problem *p, const tt__facts *facts) {
    memcpy(out, pl, offsetof(tt__launch_plan, exprs));
    memcpy(out->exprs, pl->exprs, pl->n * sizeof *pl->exprs);
    memcpy(out->slots, pl->slots, pl->n * sizeof *pl->slots);
    out->gpu = gpu;
    out->p = p;
    out->facts = facts;
}

tt_status tt__launch_plan_read(const tt__launch_plan *pl, tt__inputs *in, tt__candidate *c, bool *legal,
                               tt__part *beyond) {
    tt__launch *l = &c->launch;
    if (pl->start)
        *l = *pl->start;
    else
        start_launch(pl, l);
    memcpy(c->configuration.choice, in->choice, sizeof c->configuration.choice);
    *legal = true;
    for (size_t i = 0; i < pl->n_slots && *legal; i++)
        if ((*beyond = pl->slots[i].kind) == TT__PART_TURNS)
            TT_TRY(set_turns(pl, c, i, tt__expr_value(in, pl->exprs[i]), legal));
    for (size_t i = 0; i < pl->n_slots && *legal; i++) {
        const tt__part kind = pl->slots[i].kind;
        if (kind == TT__PART_TURNS)
            continue;
        *beyond = kind;
        const tt_status status = set_slot(pl, in, c, i, legal);
        if (l->passes[pl->slots[i].pass].off && kind != TT__PART_REGS)
            *legal = true; /* a kernel left out may have any geometry, or none */
        else
            TT_TRY(status);
    }
    for (int s = 0; s < l->n_passes && *legal; s++)
        if (!l->passes[s].off)
            *legal = check_pass(pl, &l->passes[s], &pl->launches[s], beyond);
    int turns = 0;
    for (int s = 1; s < l->n_passes; s++)
        if (l->passes[s].joins) {
            l->passes[s].repeats = l->passes[s - 1].repeats;
            l->passes[s].off |= l->passes[s - 1].off;
        }
    for (int s = 0; s < l->n_passes && *legal; s++)
        if (!l->passes[s].off && !l->passes[s].joins)
            TT_TRY(check_turns(pl, c, s, legal));
    for (int s = 0; s < l->n_passes; s++)
        turns += l->passes[s].off ? 0 : 1 + l->passes[s].repeats;
    if (*legal && (turns == 0 || turns > TT__TURNS_MAX)) {
        const tt__geometry_expr *last = &pl->launches[l->n_passes - 1];
        *beyond = TT__PART_TURNS;
        *legal = tt__launch_plan_refuse(pl,
                                        last->when.text     ? &last->when
                                        : last->repeat.text ? &last->repeat
                                                            : &last->grid[0],
                                        "makes %d launches, expected 1 to %d", turns, TT__TURNS_MAX);
    }
    if (*legal) {
        *beyond = TT__PART_ARGS;
        TT_TRY(set_structs(pl, in, c, legal));
    }
    if (!*legal)
        return TT_OK;
    c->configuration.pass = l->passes[0];
    TT_TRY(read_weight(pl, in, c));
    return read_derived(pl, in, c);
}
