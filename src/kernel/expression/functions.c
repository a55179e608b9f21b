/* See the header. A function is NULL for whatever has no answer, so that no configuration can fail. */
#include "kernel/expression/functions.h"

#include <math.h>
#include <string.h>

#include "kernel/expression/expr.h"
#include "kernel/expression/permute_any.h"

static bool is_number(tt__value v) {
    return v.kind == TT__VALUE_INT || v.kind == TT__VALUE_REAL;
}

static tt__value ceil_div(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts, (void)n;
    if (!is_number(v[0]) || !is_number(v[1]) || v[1].f == 0)
        return tt__value_null();
    if (v[0].kind == TT__VALUE_REAL || v[1].kind == TT__VALUE_REAL)
        return tt__value_real(ceil(v[0].f / v[1].f));
    int64_t a = v[0].i, b = v[1].i;
    if (a == INT64_MIN && b == -1)
        return tt__value_null();
    return tt__value_int(a / b + (a % b != 0 && (a < 0) == (b < 0)));
}

/* The least (-1) or the largest (1) of all; NULL if one is. */
static tt__value extreme(const tt__value *v, int n, int sign) {
    tt__value best = v[0];
    for (int i = 0; i < n; i++) {
        if (v[i].kind == TT__VALUE_NULL)
            return v[i];
        if (sign * tt__value_compare(v[i], best) > 0)
            best = v[i];
    }
    return best;
}

static tt__value least(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts;
    return extreme(v, n, -1);
}

static tt__value largest(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts;
    return extreme(v, n, 1);
}

static tt__value absolute(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts, (void)n;
    if (v->kind == TT__VALUE_REAL)
        return tt__value_real(v->f < 0 ? -v->f : v->f);
    if (v->kind != TT__VALUE_INT || v->i == INT64_MIN)
        return tt__value_null();
    return tt__value_int(v->i < 0 ? -v->i : v->i);
}

static tt__value floor_log2(const tt__facts *facts, const tt__value *v, int n) {
    (void)facts, (void)n;
    if (!is_number(*v) || !(v->f > 0))
        return tt__value_null();
    return v->kind == TT__VALUE_REAL ? tt__value_real(logb(v->f))
                                     : tt__value_int(63 - __builtin_clzll((unsigned long long)v->i));
}

/* align_of(...): the largest power of two up to 16 that divides all arguments. */
static tt__value align_of(const tt__facts *facts, const tt__value *v, int n) {
    int64_t bits = 16;
    (void)facts;
    for (int i = 0; i < n; i++) {
        if (v[i].kind != TT__VALUE_INT)
            return tt__value_null();
        bits |= v[i].i;
    }
    return tt__value_int(bits & -bits);
}

static int as_int(tt__value v) {
    return v.kind == TT__VALUE_INT ? (int)v.i : 0;
}

/* The problem of `permute`. False: it is one of another operation. */
static bool permutation_of(permute_shape *s, const tt__facts *facts) {
    const int64_t *f = facts->variables;
    const tt__operation *op = facts->operation;
    if (!op || !op->macros || op->n_variables < 2 * PERMUTE_DIMS + 2)
        return false;
    for (int i = 2 * PERMUTE_DIMS; i < 2 * PERMUTE_DIMS + 2; i++) /* elem_size, align */
        if (f[i] < 1 || f[i] > 16 || (f[i] & (f[i] - 1)))
            return false;
    s->elem_size = (int)f[2 * PERMUTE_DIMS];
    s->align = (int)f[2 * PERMUTE_DIMS + 1];
    memcpy(s->dim, f, sizeof s->dim);
    memcpy(s->stride, f + PERMUTE_DIMS, sizeof s->stride);
    return true;
}

/* The tile of the rule, or NULL. A launch asks for it many times, so each thread remembers the last one. */
static const tt__tile *chosen_tile(const tt__facts *facts) {
    static _Thread_local struct {
        bool any, found;
        permute_shape shape;
        int64_t sm_count;
        tt__tile tile;
    } last;
    permute_shape shape = {0};
    const int64_t sm_count = facts->values[TT__FACT_SM_COUNT];
    if (!permutation_of(&shape, facts))
        return NULL;
    if (!last.any || last.sm_count != sm_count || memcmp(&last.shape, &shape, sizeof shape) != 0) {
        last.found = tt__tile_choose(&last.tile, &shape, sm_count > 0 ? (int)sm_count : 1);
        last.shape = shape;
        last.sm_count = sm_count;
        last.any = true;
    }
    return last.found ? &last.tile : NULL;
}

/* permute_any(WHAT, TEMPLATE): a number of the tile that the rule chooses (permute_any.h), if it is one of
 * that template. The numbers have this order. */
static tt__value permute_any_number(const tt__facts *facts, const tt__value *v, int n) {
    static const int template_of[TT__TILE_KINDS] = {0, 1, 2, 2};
    const tt__tile *t = chosen_tile(facts);
    (void)n;
    if (!t || template_of[t->kind] != as_int(v[1]))
        return tt__value_null();
    const int64_t numbers[] = {t->blocks, t->shared_bytes, t->load,
                               t->store,  t->unit,         t->kind == TT__TILE_TURNED};
    const int what = as_int(v[0]);
    return what >= 0 && what < (int)TT__COUNT(numbers) ? tt__value_int(numbers[what]) : tt__value_null();
}

bool tt__permute_argument(void *out, size_t room, size_t *bytes, const tt__facts *facts) {
    const tt__tile *t = chosen_tile(facts);
    *bytes = sizeof t->argument;
    if (t && sizeof t->argument <= room)
        memcpy(out, &t->argument, sizeof t->argument);
    return t && sizeof t->argument <= room;
}

/* permute_tile(WHAT, READ_RUN, WRITE_RUN): a number of the tile that permute_tile.cuh makes of the problem.
 * The numbers have this order. Vectors are the widest ones, in bytes, and runs are in elements. */
static tt__value permute_tile_number(const tt__facts *facts, const tt__value *v, int n) {
    permute_shape s;
    (void)n;
    if (!permutation_of(&s, facts))
        return tt__value_null();
    permute_tile t = permute_tile_of(s, as_int(v[1]), as_int(v[2]));
    permute_plane p = permute_plane_of(s, as_int(v[1]), as_int(v[2]));
    const int64_t numbers[] = {
        t.tiles,           t.elements,
        t.read_max,        t.write_max,
        t.read_length,     t.write_length, /* of most templates */
        p.tiles,           (int64_t)p.across * p.down,
        p.read_max,        p.pack_max,  /* of permute_flat */
        p.inner * p.outer,              /* of the tensor */
        t.run_max,         p.write_max, /* of runs with HOLD, and of permute_flat */
    };
    int what = as_int(v[0]);
    return what >= 0 && what < (int)TT__COUNT(numbers) ? tt__value_int(numbers[what]) : tt__value_null();
}

const tt__function tt__functions[] = {
    {"ceil_div", 2, 2, ceil_div},
    {"min", 2, TT__EXPR_ARGS_MAX, least},
    {"max", 2, TT__EXPR_ARGS_MAX, largest},
    {"abs", 1, 1, absolute},
    {"iif", 3, 3, NULL},
    {"log2", 1, 1, floor_log2},
    {"align_of", 1, TT__EXPR_ARGS_MAX, align_of},
    {"permute_tile", 3, 3, permute_tile_number},
    {"permute_any", 2, 2, permute_any_number},
};
const size_t tt__n_functions = TT__COUNT(tt__functions);
