/* See the header. A function is NULL for whatever has no answer, so that no row of a query can fail. */
#include "kernel/expression/functions.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "kernel_templates/permute_tile.cuh"

static bool is_number(sqlite3_value *v) {
    return sqlite3_value_type(v) == SQLITE_INTEGER || sqlite3_value_type(v) == SQLITE_FLOAT;
}

static void ceil_div(sqlite3_context *c, int n, sqlite3_value **v) {
    (void)n;
    if (!is_number(v[0]) || !is_number(v[1]) || sqlite3_value_double(v[1]) == 0)
        return;
    if (sqlite3_value_type(v[0]) == SQLITE_FLOAT || sqlite3_value_type(v[1]) == SQLITE_FLOAT) {
        sqlite3_result_double(c, ceil(sqlite3_value_double(v[0]) / sqlite3_value_double(v[1])));
        return;
    }
    int64_t a = sqlite3_value_int64(v[0]), b = sqlite3_value_int64(v[1]);
    if (a == INT64_MIN && b == -1)
        return;
    sqlite3_result_int64(c, a / b + (a % b != 0 && (a < 0) == (b < 0)));
}

static void absolute(sqlite3_context *c, int n, sqlite3_value **v) {
    (void)n;
    double f = sqlite3_value_double(v[0]);
    if (sqlite3_value_type(v[0]) == SQLITE_FLOAT)
        sqlite3_result_double(c, f < 0 ? -f : f);
    if (sqlite3_value_type(v[0]) != SQLITE_INTEGER)
        return;
    int64_t i = sqlite3_value_int64(v[0]);
    if (i != INT64_MIN)
        sqlite3_result_int64(c, i < 0 ? -i : i);
}

static void floor_log2(sqlite3_context *c, int n, sqlite3_value **v) {
    (void)n;
    double f = sqlite3_value_double(v[0]);
    if (sqlite3_value_type(v[0]) == SQLITE_FLOAT && f > 0)
        sqlite3_result_double(c, logb(f));
    if (sqlite3_value_type(v[0]) != SQLITE_INTEGER)
        return;
    int64_t i = sqlite3_value_int64(v[0]);
    if (i > 0)
        sqlite3_result_int64(c, 63 - __builtin_clzll((unsigned long long)i));
}

/* align_of(...): the largest power of two up to 16 that divides all arguments. */
static void align_of(sqlite3_context *c, int n, sqlite3_value **v) {
    int64_t bits = 16;
    for (int i = 0; i < n; i++) {
        if (sqlite3_value_type(v[i]) != SQLITE_INTEGER)
            return;
        bits |= sqlite3_value_int64(v[i]);
    }
    sqlite3_result_int64(c, bits & -bits);
}

/* permute_tile(WHAT, READ_RUN, WRITE_RUN): a number of the tile that permute_tile.cuh makes of the problem.
 * The numbers have this order. Vectors are the widest ones, in bytes, and runs are in elements. */
static void permute_tile_number(sqlite3_context *c, int n, sqlite3_value **v) {
    const tt__facts *facts = sqlite3_user_data(c);
    const int64_t *f = facts->variables;
    const tt__operation *op = facts->operation;
    permute_shape s;
    (void)n;
    if (!op || !op->macros || op->n_variables < 2 * PERMUTE_DIMS + 2)
        return;
    for (int i = 2 * PERMUTE_DIMS; i < 2 * PERMUTE_DIMS + 2; i++) /* elem_size, align */
        if (f[i] < 1 || f[i] > 16 || (f[i] & (f[i] - 1)))
            return;
    s.elem_size = (int)f[2 * PERMUTE_DIMS];
    s.align = (int)f[2 * PERMUTE_DIMS + 1];
    memcpy(s.dim, f, sizeof s.dim);
    memcpy(s.stride, f + PERMUTE_DIMS, sizeof s.stride);
    permute_tile t = permute_tile_of(s, sqlite3_value_int(v[1]), sqlite3_value_int(v[2]));
    permute_plane p = permute_plane_of(s, sqlite3_value_int(v[1]), sqlite3_value_int(v[2]));
    const int64_t numbers[] = {
        t.tiles,           t.elements,
        t.read_max,        t.write_max,
        t.read_length,     t.write_length, /* of most templates */
        p.tiles,           (int64_t)p.across * p.down,
        p.read_max,        p.pack_max,  /* of permute_flat */
        p.inner * p.outer,              /* of the tensor */
        t.run_max,         p.write_max, /* of runs with HOLD, and of permute_flat */
    };
    int64_t what = sqlite3_value_int64(v[0]);
    if (what >= 0 && what < (int64_t)TT__COUNT(numbers))
        sqlite3_result_int64(c, numbers[what]);
}

static const struct {
    const char *name;
    int n_args;
    void (*call)(sqlite3_context *, int, sqlite3_value **);
} own_functions[] = {{"ceil_div", 2, ceil_div},
                     {"abs", 1, absolute},
                     {"log2", 1, floor_log2},
                     {"align_of", -1, align_of},
                     {"permute_tile", 3, permute_tile_number}};

int tt__functions_add(sqlite3 *db, const tt__facts *facts) {
    int rc = SQLITE_OK;
    for (size_t i = 0; i < TT__COUNT(own_functions) && rc == SQLITE_OK; i++)
        rc = sqlite3_create_function(db, own_functions[i].name, own_functions[i].n_args,
                                     SQLITE_UTF8 | SQLITE_DETERMINISTIC, (void *)facts, own_functions[i].call,
                                     NULL, NULL);
    return rc;
}
