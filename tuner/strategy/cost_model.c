/*
 * Computes the geometry of launches, and their costs. A cost approximates the logarithm of a factor on the
 * time, so costs can be added. The weights are few and round on purpose: trials correct the model.
 */
#include "tuner/strategy/cost_model.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "kernel/space/space.h"

/* Rows this many bytes apart share one part of the memory (docs/performance.md). */
static const int64_t wide_pitch = 131072;

/* The part of a cache hint that consists in not keeping what was read. */
static const double keeping = 0.7;

/* Each unit of a cost adds so much to the logarithm of the time. docs/search.md says where the numbers come
 * from. */
const double tt__cost_weights[TT__COSTS] = {
    [TT__COST_READ_RUN] =
        0.03, /* halvings of 256 bytes that a block reads in one run; below a cache line each counts twice */
    [TT__COST_WRITE_RUN] = 0.025,  /* the same for writes */
    [TT__COST_FEW_BLOCKS] = 0.04,  /* halvings of 8 blocks per SM: few blocks spread unevenly */
    [TT__COST_IDLE_SMS] = 0.085,   /* halvings of 2 blocks per SM */
    [TT__COST_LITTLE_WORK] = 0.05, /* halvings of 32 bytes per thread: few bytes are in flight */
    [TT__COST_MANY_LOADS] = 0.001, /* loads of each thread, up to 64 */
    [TT__COST_ACCESSES] = 0.15,    /* loads and stores per byte */
    [TT__COST_BLOCK_SIZE] = 0.01,  /* doublings or halvings of 256 threads */
    [TT__COST_CONFLICTS] = 0.05,   /* bank conflicts that padding would avoid */
    [TT__COST_ORDER] = 0.015, /* blocks go along rows of a matrix larger than the cache; not counted for wide
                                 pitches, where the effect varies */
    [TT__COST_CACHE_HINT] = 0.025, /* stores stream although all fits the cache, or the reverse; less if data
                                      that does not fit is not kept */
};

const char *const tt__cost_names[TT__COSTS] = {
    [TT__COST_READ_RUN] = "read_run",       [TT__COST_WRITE_RUN] = "write_run",
    [TT__COST_FEW_BLOCKS] = "few_blocks",   [TT__COST_IDLE_SMS] = "idle_sms",
    [TT__COST_LITTLE_WORK] = "little_work", [TT__COST_MANY_LOADS] = "many_loads",
    [TT__COST_ACCESSES] = "accesses",       [TT__COST_BLOCK_SIZE] = "block_size",
    [TT__COST_CONFLICTS] = "conflicts",     [TT__COST_ORDER] = "order",
    [TT__COST_CACHE_HINT] = "cache_hint",
};

/* ---- Geometry ------------------------------------------------------------------------------------------ */

/* Names of parameters and derived values tell what a launch does not show. */
static void read_name(tt__geometry *g, const char *name, double value, int elem_size) {
    static const struct {
        const char *name;
        bool read, write, whole; /* whole: at least one element, in transposes */
    } accesses[] = {{"VL", true, false, true},         {"VS", false, true, true},
                    {"V", true, true, true},           {"WIDE_LOAD", true, false, true},
                    {"WIDE_STORE", false, true, true}, {"VEC", true, true, false}};
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        bool named = strcmp(name, accesses[i].name) == 0 && value > 0;
        double access = accesses[i].whole ? fmax(value, elem_size) : value;
        if (named && accesses[i].read)
            g->read_access = access;
        if (named && accesses[i].write)
            g->write_access = access;
    }
    g->streams |= strcmp(name, "STREAM") == 0 && value == 1;
    g->keeps |= (strcmp(name, "STREAM") == 0 && value == 2) || (strcmp(name, "KEEP") == 0 && value > 0);
}

static void read_names(tt__geometry *g, const tt__configuration *c, int elem_size) {
    const tt__template *t = c->t;
    for (size_t k = 0; k < t->n_params; k++)
        read_name(g, t->params[k].name, tt__strtod(t->params[k].values[c->choice[k]], NULL), elem_size);
    for (size_t k = 0; k < t->n_derived; k++)
        if (c->derived[k] != TT__NO_INTEGER)
            read_name(g, t->derived[k].name, (double)c->derived[k], elem_size);
}

static void read_launch(tt__geometry *g, const tt__configuration *c, const tt__problem *p) {
    double bytes = p->moved_bytes / 2;
    g->blocks = tt__pass_blocks(&c->pass);
    g->threads = tt__pass_threads(&c->pass);
    g->shared_bytes = c->pass.shared_bytes;
    g->thread_bytes = bytes / (g->blocks * g->threads);
    g->read_access = g->write_access = tt__problem_elem_size(p);
}

/* The size of the matrix that is read in tiles (`moves ROWS, COLUMNS, LEADING_DIMENSION`). */
typedef struct sides {
    double rows, cols, count; /* `count` matrices of rows x cols */
    double elem_size;
} sides;

static sides sides_of(const tt__operation *op, const tt__problem *p) {
    sides s = {.elem_size = tt__problem_elem_size(p)};
    s.rows = (double)tt__problem_number(p, op->variables[op->tile[0]].name, 1);
    s.cols = (double)tt__problem_number(p, op->variables[op->tile[1]].name, 1);
    s.count = p->moved_bytes / 2 / s.elem_size / (s.rows * s.cols);
    return s;
}

/* With one row, the grid has only columns, so a block is as wide as its tile. */
static void read_tile(tt__geometry *g, const tt__configuration *c, const tt__configuration *of_row,
                      const sides *s) {
    double across = tt__pass_blocks(&of_row->pass) / s->count;
    double wide = fmin(ceil(s->cols / across), s->cols);
    double tile = s->rows * s->cols * s->count / g->blocks;
    g->read_run = wide * s->elem_size;
    g->write_run = fmin(fmax(1, tile / wide), s->rows) * s->elem_size;
    unsigned x = c->pass.grid[0], x_of_row = of_row->pass.grid[0];
    bool x_is_rows = x > 1 && x_of_row == 1, x_is_cols = x > 1 && x_of_row == x;
    g->down = x_is_rows ? 1 : x_is_cols ? -1 : 0;
}

/* Finds the tiles of one template's configurations, which are together in the space from `first` on. */
static void read_tiles(tt__cost_model *m, const tt__space *space, size_t first, size_t end,
                       const tt__gpu *gpu, const tt__problem *p) {
    const tt__operation *op = space->items[first].t->operation;
    tt__space of_row = {0};
    tt__problem row = *p;
    size_t at = 0;
    if (op->tile[0] < 0)
        return;
    const sides s = sides_of(op, p);
    tt__problem_set(&row, op->variables[op->tile[0]].name, 1);
    if (tt__space_add(&of_row, space->items[first].t, gpu, &row) == TT_OK)
        for (size_t i = first; i < end; i++) {
            const tt__configuration *c = &space->items[i];
            const int64_t row_at = tt__space_next_member(&of_row, c->t->kernel, c->config, &at);
            if (row_at != TT__NOTHING)
                read_tile(&m->geometry[i], c, &of_row.items[row_at], &s);
        }
    tt__space_free(&of_row);
}

static int by_tile(const void *a, const void *b) {
    const tt__geometry *x = *(tt__geometry *const *)a, *y = *(tt__geometry *const *)b;
    const double apart[] = {x->read_run - y->read_run, x->write_run - y->write_run, x->threads - y->threads,
                            y->shared_bytes - x->shared_bytes};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (apart[i] != 0)
            return apart[i] < 0 ? -1 : 1;
    return 0;
}

/* Finds configurations with bank conflicts: another configuration of the template uses more shared memory for
 * the same tile, so it pads. */
static tt_status find_unpadded(tt__cost_model *m, size_t first, size_t end) {
    tt__geometry **sorted = calloc(end - first, sizeof(tt__geometry *)), *most;
    if (!sorted)
        return tt__fail_memory((end - first) * sizeof(tt__geometry *));
    for (size_t i = first; i < end; i++)
        sorted[i - first] = &m->geometry[i];
    qsort(sorted, end - first, sizeof(tt__geometry *), by_tile);
    most = sorted[0];
    for (size_t i = 0; i < end - first; i++) {
        tt__geometry *g = sorted[i];
        if (g->read_run != most->read_run || g->write_run != most->write_run || g->threads != most->threads)
            most = g;
        g->unpadded = g->read_run > 0 && g->shared_bytes > 0 && g->shared_bytes < most->shared_bytes;
    }
    free(sorted);
    return TT_OK;
}

/* ---- Costs --------------------------------------------------------------------------------------------- */

static double halvings(double have, double full) {
    return have > 0 && have < full ? log2(full / have) : 0;
}

/* Below a cache line of 128 bytes each halving counts twice. */
static double short_run(double bytes) {
    return halvings(bytes, 256) + halvings(bytes, 128);
}

static void find_costs(double costs[TT__COSTS], const tt__geometry *g, const tt__gpu *gpu,
                       const tt__operation *op, const tt__problem *p) {
    double per_sm = g->blocks / (gpu->sm_count > 0 ? gpu->sm_count : 1);
    double moved = p->moved_bytes, l2 = (double)gpu->l2_bytes;
    bool cached = moved <= l2, exceeds = moved / 2 > l2; /* in between, neither hints nor order matter */
    int64_t pitch = op->tile[0] < 0 ? 1 : tt__problem_number(p, op->variables[op->tile[2]].name, 1);
    bool wide = pitch * tt__problem_elem_size(p) % wide_pitch == 0;
    costs[TT__COST_IDLE_SMS] = halvings(per_sm, 2);
    costs[TT__COST_BLOCK_SIZE] = fabs(log2(g->threads / 256));
    if (!op->moves) /* the operation does not declare how it moves bytes */
        return;
    costs[TT__COST_READ_RUN] = short_run(g->read_run);
    costs[TT__COST_WRITE_RUN] = short_run(g->write_run);
    costs[TT__COST_FEW_BLOCKS] = halvings(per_sm, 8);
    costs[TT__COST_LITTLE_WORK] = halvings(g->thread_bytes, 32);
    costs[TT__COST_MANY_LOADS] = fmin(g->thread_bytes / g->read_access, 64);
    costs[TT__COST_ACCESSES] = 1 / g->read_access + 1 / g->write_access;
    costs[TT__COST_CONFLICTS] = g->unpadded;
    costs[TT__COST_ORDER] = exceeds && !wide && g->down < 0;
    if (cached)
        costs[TT__COST_CACHE_HINT] = !g->streams;
    if (exceeds)
        costs[TT__COST_CACHE_HINT] = g->streams ? 1 : g->keeps ? 0 : keeping;
}

/* ---- Coordinates --------------------------------------------------------------------------------------- */

/* The coordinate of a parameter. Parameters with the same name share it across templates. */
static size_t coord_of(tt__cost_model *m, const char *names[], const char *name) {
    for (size_t k = 0; k < m->n_coords; k++)
        if (strcmp(names[k], name) == 0)
            return k;
    if (m->n_coords == TT__COORDS_MAX)
        return TT__COORDS_MAX;
    names[m->n_coords] = name;
    return m->n_coords++;
}

/* Are all values of this parameter numbers? */
static bool is_number(const tt__param *param) {
    for (size_t i = 0; i < param->n_values; i++) {
        char *end;
        tt__strtod(param->values[i], &end);
        if (*end && strcmp(end, "f") != 0)
            return false;
    }
    return true;
}

/* A few values from 0 on are a choice (an order, a hint) and no quantity. */
static bool is_choice(const tt__param *p) {
    return p->n_values <= 4 && strcmp(p->values[0], "0") == 0;
}

/* The parameters of one template's configurations, in [first, end). */
static void place_params(tt__cost_model *m, const char *names[], const tt__space *space, size_t first,
                         size_t end) {
    const tt__template *t = space->items[first].t;
    for (size_t k = 0; k < t->n_params; k++) {
        const tt__param *p = &t->params[k];
        float coords[TT__VALUES_MAX];
        size_t at = coord_of(m, names, p->name);
        if (at == TT__COORDS_MAX)
            continue;
        for (size_t v = 0; v < p->n_values; v++) {
            double value = tt__strtod(p->values[v], NULL);
            coords[v] = (float)(value >= 1 ? log2(value) + 1 : (double)v);
        }
        m->words[at] |= !is_number(p) || is_choice(p);
        m->counts[at] = true;
        for (size_t i = first; i < end; i++)
            m->coords[i][at] = coords[space->items[i].choice[k]];
    }
}

/* Coordinates in addition to parameters. They come from the launch and mean the same in all templates. */
static void place(tt__cost_model *m, const tt__space *space) {
    const char *names[TT__COORDS_MAX] = {NULL};
    size_t kernel = coord_of(m, names, " kernel"), read = coord_of(m, names, " read"),
           write = coord_of(m, names, " write"), threads = coord_of(m, names, " threads"),
           bytes = coord_of(m, names, " bytes");
    float *all = &m->coords[0][0];
    for (size_t i = 0; i < space->n * TT__COORDS_MAX; i++)
        all[i] = NAN;
    m->words[kernel] = true; /* this is TT__COORD_KERNEL, the first one */
    m->counts[threads] = true;
    for (size_t i = 0, t = 0; i < space->n; i++) {
        const tt__geometry *g = &m->geometry[i];
        t += i > 0 && space->items[i].t != space->items[i - 1].t;
        m->coords[i][kernel] = (float)t;
        m->coords[i][read] = (float)log2(g->read_run + 1);
        m->coords[i][write] = (float)log2(g->write_run + 1);
        m->coords[i][threads] = (float)log2(g->threads) + 1;
        m->coords[i][bytes] = (float)(g->thread_bytes > 0 ? log2(g->thread_bytes) : 0);
    }
    for (size_t first = 0, end; first < space->n; first = end) {
        end = tt__space_end_of_template(space, first);
        place_params(m, names, space, first, end);
    }
}

/* ---- The model ----------------------------------------------------------------------------------------- */

tt_status tt__cost_model_open(tt__cost_model *m, const tt__space *space, const tt__gpu *gpu,
                              const tt__problem *p, const double *weights) {
    size_t n = space->n ? space->n : 1;
    *m = (tt__cost_model){.n = space->n,
                          .geometry = calloc(n, sizeof *m->geometry),
                          .costs = calloc(n, sizeof *m->costs),
                          .log_time = calloc(n, sizeof *m->log_time),
                          .coords = calloc(n, sizeof *m->coords)};
    if (!m->geometry || !m->costs || !m->log_time || !m->coords)
        return tt__fail_memory(n * sizeof *m->coords);
    for (size_t i = 0; i < space->n; i++) {
        read_launch(&m->geometry[i], &space->items[i], p);
        read_names(&m->geometry[i], &space->items[i], tt__problem_elem_size(p));
    }
    for (size_t first = 0, end; first < space->n; first = end) {
        end = tt__space_end_of_template(space, first);
        read_tiles(m, space, first, end, gpu, p);
        TT_TRY(find_unpadded(m, first, end));
    }
    for (size_t i = 0; i < space->n; i++) {
        find_costs(m->costs[i], &m->geometry[i], gpu, space->items[i].t->operation, p);
        for (int k = 0; k < TT__COSTS; k++)
            m->log_time[i] += (weights ? weights : tt__cost_weights)[k] * m->costs[i][k];
    }
    place(m, space);
    return TT_OK;
}

void tt__cost_model_close(tt__cost_model *m) {
    free(m->geometry);
    free(m->costs);
    free(m->log_time);
    free(m->coords);
    *m = (tt__cost_model){0};
}
