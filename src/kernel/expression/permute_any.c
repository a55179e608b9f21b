/*
 * A tile has the innermost dimensions of the source, as long as they are dense, and those of the destination.
 * The last one of each is cut into equal chunks, and all others are whole. So a tile has at most two
 * dimensions that the tensor's end can cut ("cut"), each of them outermost in its list.
 *
 * On an H200 11,000 tiles of 173 permutations were measured, and 9,400 of 165 with elements of 1 and 2 bytes.
 * The numbers of `costs` were searched so that the tiles they choose are close to the fastest
 * (bench/notes/permute.md).
 */
#include "kernel/expression/permute_any.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/sizes.h"

typedef struct tiling {
    permute_shape s;           /* without dimensions of 1 */
    int n;                     /* dimensions */
    int order[PERMUTE_DIMS];   /* of the source, the innermost first */
    int64_t dst[PERMUTE_DIMS]; /* strides of the destination */
    int64_t step;              /* elements from one column to the next in the source */
    int64_t reach;             /* elements of the source */
    /* Of a tile. */
    int size[PERMUTE_DIMS];
    int left[PERMUTE_DIMS];      /* of a dimension's last tile; 0: it is whole */
    int64_t tiles[PERMUTE_DIMS]; /* of a dimension */
    bool in_row[PERMUTE_DIMS];
    int row_dims, row_most;   /* dimensions of a row, in `order`; those that may be */
    int run_dims, dense_dims; /* of a run; of what is dense in the destination */
    int write_cut;            /* the first one of the destination that is not whole; -1: none */
} tiling;

/* n / d is n * multiplier >> 32, for n below 2^16. */
static unsigned multiplier_of(int d) {
    return d > 1 ? (unsigned)(((UINT64_C(1) << 32) + (unsigned)d - 1) / (unsigned)d) : 0;
}

static void start(tiling *t, const permute_shape *s) {
    int64_t dense = 1;
    *t = (tiling){.s = {.elem_size = s->elem_size, .align = s->align}, .reach = 1};
    for (int k = 0; k < PERMUTE_DIMS; k++) {
        t->s.dim[k] = t->s.stride[k] = 1;
        if (s->dim[k] == 1)
            continue;
        t->s.dim[t->n] = s->dim[k];
        t->s.stride[t->n] = s->stride[k];
        t->dst[t->n++] = dense;
        dense *= s->dim[k];
        t->reach += (s->dim[k] - 1) * s->stride[k];
    }
    for (int k = 0; k < t->n; k++) { /* insertion sort */
        int i = k;
        for (; i > 0 && t->s.stride[t->order[i - 1]] > t->s.stride[k]; i--)
            t->order[i] = t->order[i - 1];
        t->order[i] = k;
    }
    t->step = t->n ? t->s.stride[t->order[0]] : 1;
}

static void begin_tile(tiling *t) {
    for (int k = 0; k < t->n; k++) {
        t->size[k] = 1;
        t->in_row[k] = false;
    }
    t->row_dims = t->row_most = t->run_dims = t->dense_dims = 0;
    t->write_cut = -1;
}

/* As permute_chunk; `unit` is a power of two. Most dimensions fit, or have one element of a tile. */
static int chunk_of(int64_t dim, int64_t limit, int unit) {
    if (dim <= limit)
        return (int)dim;
    if (limit <= 1)
        return 1;
    const int64_t chunks = (dim + limit - 1) / limit, chunk = (dim + chunks - 1) / chunks, part = unit - 1;
    return (int)((dim | limit) & part ? chunk : (chunk + part) & ~part);
}

/* Dimensions of the source, as long as they are dense, until they make so many bytes. `apart`: and until one
 * that the tile has already. */
static void add_rows(tiling *t, int bytes, bool apart) {
    int64_t run = t->s.elem_size, dense = t->step;
    for (int i = 0; i < t->n; i++) {
        const int k = t->order[i];
        if (t->s.stride[k] != dense || (apart && t->size[k] > 1))
            break;
        t->row_most = i + 1;
        const int size = chunk_of(t->s.dim[k], bytes / run, 16 / t->s.elem_size);
        if (size > t->size[k])
            t->size[k] = size;
        run *= t->size[k];
        dense *= t->s.dim[k];
        if (t->size[k] < t->s.dim[k])
            break;
    }
    if (!apart)
        t->row_most = t->n;
}

/* Dimensions of the destination before `end`, until they make so many bytes. */
static void add_runs(tiling *t, int bytes, int end) {
    int64_t run = t->s.elem_size;
    for (int k = 0; k < end; k++) {
        const int unit =
            16 >> __builtin_ctzll((uint64_t)run | 16);      /* so many make whole vectors of 16 bytes */
        const int64_t limit = bytes / run, part = unit - 1; /* all but `limit` are powers of two */
        const int size = chunk_of(
            t->s.dim[k], (t->s.dim[k] & part) || limit < unit ? limit : limit - (limit & part), unit);
        if (size > t->size[k])
            t->size[k] = size;
        run *= t->size[k];
        if (t->size[k] < t->s.dim[k])
            break;
    }
}

static void find_runs(tiling *t) {
    int64_t dense = t->step;
    for (int i = 0; i < t->row_most; i++) {
        const int k = t->order[i];
        /* If one row had them, elements that a run has side by side would be in few banks of shared memory.
         */
        const bool conflicts = k == 0 && i > 0 && dense / t->step * t->s.elem_size % 16 == 0;
        if (t->s.stride[k] != dense || conflicts)
            break;
        t->in_row[k] = true;
        t->row_dims++;
        dense *= t->s.dim[k];
        if (t->size[k] < t->s.dim[k])
            break;
    }
    while (t->dense_dims < t->n && t->write_cut < 0) {
        const int k = t->dense_dims++;
        if (t->size[k] < t->s.dim[k])
            t->write_cut = k;
    }
}

/* The bit of a dimension whose last tile is smaller. Of two, one is the destination's first that is not
 * whole; the other need not be in a row. */
static unsigned cut_of(const tiling *t, int k) {
    return t->left[k] == 0 ? 0 : 1u << (PERMUTE_ANY_CUT + (k == t->write_cut ? 1 : 0));
}

static void add_to(permute_count *c, const tiling *t, int k) {
    if (t->size[k] == 1)
        return;
    c->left = c->all * (unsigned)t->left[k];
    c->all *= (unsigned)t->size[k];
    c->cut = cut_of(t, k);
}

static permute_count count_cols(const tiling *t) {
    permute_count c = {1, 1, 0};
    for (int i = 0; i < t->row_dims; i++)
        add_to(&c, t, t->order[i]);
    return c;
}

static permute_count count_along(const tiling *t) {
    permute_count c = {1, 1, 0};
    for (int k = 0; k < t->run_dims; k++)
        add_to(&c, t, k);
    return c;
}

static void count_tiles(tiling *t) {
    for (int k = 0; k < t->n; k++) {
        const int64_t dim = t->s.dim[k], size = t->size[k];
        t->tiles[k] = size == dim ? 1 : size == 1 ? dim : (dim + size - 1) / size;
        t->left[k] = (int)(size - (t->tiles[k] * size - dim));
        t->left[k] = t->left[k] == size ? 0 : t->left[k];
    }
}

/* `all`: not only what the cost needs. */
static bool add_outer(tt__tile *out, const tiling *t, bool all) {
    permute_any *a = &out->argument;
    out->blocks = 1;
    for (int k = 0; k < t->n; k++) {
        const int64_t tiles = t->tiles[k];
        if (tiles == 1)
            continue;
        if (tiles > INT32_MAX || tiles * out->blocks > INT32_MAX || a->n_outer == PERMUTE_ANY_OUTER)
            return false;
        out->blocks *= tiles;
        const int log = 64 - __builtin_clzll((unsigned long long)tiles - 1); /* 2^log tiles or less */
        const uint64_t scale = UINT64_C(1) << (31 + log);
        a->outer[a->n_outer++] = (permute_outer){
            .tiles = (unsigned)tiles,
            .multiplier = all ? (unsigned)((scale + (uint64_t)tiles - 1) / (uint64_t)tiles) : 0,
            .shift = (unsigned)log - 1,
            .cut = cut_of(t, k),
            .src = t->size[k] * t->s.stride[k],
            .dst = t->size[k] * t->dst[k],
        };
    }
    return true;
}

/* The widest vectors that divide rows (of_source) or runs, and all distances between them. A power of two
 * divides them all if it divides their bits together. */
static int widest(const tiling *t, const permute_any *a, bool of_source) {
    const permute_count *c = of_source ? &a->cols : &a->along;
    int64_t bits = (16 / t->s.elem_size) | (int64_t)c->all | (c->cut ? (int64_t)c->left : 0);
    if (of_source && t->step != 1)
        return t->s.elem_size;
    for (unsigned i = 0; i < a->n_outer; i++)
        bits |= of_source ? a->outer[i].src : a->outer[i].dst;
    for (int k = 0; k < t->n; k++)
        if (t->size[k] > 1 && !(of_source ? t->in_row[k] : k < t->run_dims))
            bits |= of_source ? t->s.stride[k] : t->dst[k];
    const int bytes = (int)(bits & -bits) * t->s.elem_size;
    return bytes < t->s.align || t->s.align < t->s.elem_size ? bytes : t->s.align;
}

/* A run may be a part of what is dense in the destination. Tables of runs and of a run's elements should be
 * short, vectors wide, and runs no shorter than 128 bytes. */
static void choose_runs(tiling *t, permute_any *a, int elements) {
    int64_t least = INT64_MAX;
    int best = 1, length = 1;
    permute_count chosen = a->along = (permute_count){1, 1, 0};
    for (int n = 1; n <= t->dense_dims; n++) {
        length *= t->size[n - 1];
        t->run_dims = n;
        add_to(&a->along, t, n - 1);
        const int wide = widest(t, a, false);
        const int partial = wide < 4 ? 1 + 16 / t->s.elem_size : 1;
        const bool is_short = length * t->s.elem_size < 128 && n < t->dense_dims;
        const int64_t cost = length + elements / length * partial + 4096 / wide + is_short * elements / 2;
        if (cost < least) {
            least = cost;
            best = n;
            chosen = a->along;
        }
    }
    t->run_dims = best;
    a->along = chosen;
}

/* Fewer widths make fewer cubins. Where elements are small, 8 bytes gain little over 4, and words of turned
 * and joined tiles are written one by one. */
static void narrow(tt__tile *tile, int elem_size) {
    const int part = 4 / elem_size, words = ((int)tile->argument.cols.all + part - 1) / part;
    tile->load = tile->load == 8 ? 4 : tile->load;
    tile->store = tile->store == 8 ? 4 : tile->store;
    if (tile->kind < TT__TILE_TURNED)
        return;
    tile->unit = words > 2 ? 4 : words;
    tile->load = tile->load < 4 ? elem_size : tile->load > 4 * tile->unit ? 4 : tile->load;
    tile->store = tile->store < 4 ? elem_size : 4;
}

static unsigned up_to_16(unsigned bytes) {
    return (bytes + 15) / 16 * 16;
}

/* Shared memory: tables of rows, runs and elements of a run, then the rows one behind the other. */
static void place(tt__tile *out, const tiling *t, bool all) {
    permute_any *a = &out->argument;
    const unsigned e = (unsigned)t->s.elem_size, load = (unsigned)out->load / e,
                   store = (unsigned)out->store / e;
    const bool in_words = out->kind >= TT__TILE_TURNED;
    const unsigned part = in_words ? 4 / e : 1, words = (a->cols.all + part - 1) / part;
    unsigned bytes;
    if (in_words) {
        a->row_vectors = (words + (unsigned)out->unit - 1) / (unsigned)out->unit;
        a->pitch = a->row_vectors * (unsigned)out->unit | 1;
        a->run_vectors = (a->along.all + (out->store >= 4 ? part - 1 : 2 * part - 2)) / part;
        a->plane = (a->run_vectors * a->pitch + 14) / 32 * 32 + 17; /* planes begin in different banks */
        bytes = 4 * (out->kind == TT__TILE_TURNED ? a->plane * part : a->rows * a->pitch);
    } else {
        a->row_vectors = a->cols.all / load;
        a->run_vectors = a->along.all / store;
        a->pitch = a->cols.all | 1;
        bytes = a->rows * a->pitch * e;
    }
    a->row_multiplier = all ? multiplier_of((int)a->row_vectors) : 0;
    a->run_multiplier = all ? multiplier_of((int)a->run_vectors) : 0;
    a->runs_at = up_to_16(a->rows * (in_words ? 8 : 4));
    a->along_at = a->runs_at + up_to_16(a->runs * (out->kind == TT__TILE_TURNED ? 4 : 8));
    a->held_at = a->along_at + (out->kind == TT__TILE_TURNED ? 0 : up_to_16(a->along.all * 4));
    out->shared_bytes = out->kind == TT__TILE_ROWS ? (int)a->rows * 8 : (int)(a->held_at + up_to_16(bytes));
}

/* Lists of dimensions, as they are added up. */
typedef struct lists {
    permute_any *a; /* NULL: only counted */
    const tiling *t;
    unsigned n;       /* all entries, also those that do not fit */
    int64_t src, dst; /* the farthest element of a tile */
} lists;

static void add_inner(lists *l, unsigned *n, int k, int64_t first, int64_t second) {
    const int size = l->t->size[k];
    if (size == 1)
        return;
    if (l->a && l->n < PERMUTE_ANY_INNER)
        l->a->inner[l->n] = (permute_inner){.multiplier = multiplier_of(size),
                                            .size = (unsigned short)size,
                                            .left = (unsigned short)l->t->left[k],
                                            .first = (unsigned)first,
                                            .second = (unsigned)second | cut_of(l->t, k)};
    l->n++;
    ++*n;
}

/* Rows, runs and elements of a run, each as a list of dimensions. */
static bool list_dims(tt__tile *out, const tiling *t, bool all) {
    permute_any *a = &out->argument;
    lists l = {.a = all ? a : NULL, .t = t};
    int64_t held[PERMUTE_DIMS] = {0}, at = 1; /* from one index to the next in shared memory */
    const bool rows_only = out->kind == TT__TILE_ROWS;
    const int e = t->s.elem_size, unit = out->kind >= TT__TILE_TURNED ? e : 1;
    for (int i = 0; i < t->row_dims; i++) {
        held[t->order[i]] = at;
        at *= t->size[t->order[i]];
    }
    at = (int64_t)a->pitch * (out->kind >= TT__TILE_TURNED ? 4 / e : 1);
    for (int k = 0; k < t->n; k++) {
        if (t->in_row[k])
            continue;
        held[k] = at;
        at *= t->size[k];
        l.src += (t->size[k] - 1) * t->s.stride[k];
        l.dst += rows_only ? (t->size[k] - 1) * t->dst[k] : 0;
        add_inner(&l, &a->n_rows, k, t->s.stride[k], rows_only ? t->dst[k] : 0);
    }
    for (int i = 0; i < t->n && !rows_only; i++) {
        const int k = t->order[i];
        if (k < t->run_dims)
            continue;
        l.dst += (t->size[k] - 1) * t->dst[k];
        add_inner(&l, &a->n_runs, k, t->dst[k], held[k]);
    }
    for (int k = 0; k < t->run_dims && !rows_only; k++)
        add_inner(&l, &a->n_along, k, held[k], 0);
    a->span = (unsigned)(l.src * e + (int64_t)a->row_vectors * out->unit * 4);
    const int64_t most = PERMUTE_ANY_BELOW - 4096;
    return l.n <= PERMUTE_ANY_INNER && l.src * unit < most && a->cols.all * t->step < most - l.src &&
           (l.dst + a->along.all) * unit < most;
}

static bool has_tiles(const tiling *t, tt__tile_kind kind) {
    return !(t->n == 0 || (kind == TT__TILE_ROWS && t->s.stride[0] != 1) || t->step > INT32_MAX ||
             (kind >= TT__TILE_TURNED && (t->step != 1 || t->s.elem_size > 2)) ||
             (kind == TT__TILE_TURNED && t->order[0] == 0));
}

/* The dimensions of a tile of this kind and these runs are found in two steps. Turned tiles begin with runs
 * of the destination, others with rows of the source. */
static void cut_first(tiling *t, tt__tile_kind kind, int run) {
    begin_tile(t);
    if (kind == TT__TILE_TURNED)
        add_runs(t, run, t->order[0]);
    else if (kind != TT__TILE_ROWS)
        add_rows(t, run, false);
}

static void cut_second(tiling *t, tt__tile_kind kind, int run) {
    if (kind == TT__TILE_TURNED)
        add_rows(t, run, true);
    else
        add_runs(t, run, t->n);
    t->row_most = kind == TT__TILE_ROWS ? 1 : t->row_most;
}

enum { ELEMENTS_MAX = 65535 };

/* All but the lists of dimensions. Of all entries, only those that are used are set. Unless `all`, only what
 * the cost needs is. */
static bool make(tt__tile *out, tiling *t, tt__tile_kind kind, bool all) {
    const bool rows_only = kind == TT__TILE_ROWS, turned = kind == TT__TILE_TURNED;
    permute_any *a = &out->argument;
    memset(out, 0, offsetof(tt__tile, argument.inner));
    out->kind = kind;
    out->elements = 1;
    a->rows = a->runs = 1;
    a->reach = t->reach;
    a->col_step = (unsigned)t->step;
    find_runs(t);
    for (int k = 0; k < t->n; k++) {
        if ((int64_t)out->elements * t->size[k] > ELEMENTS_MAX)
            return false;
        out->elements *= t->size[k];
        a->rows *= t->in_row[k] ? 1 : (unsigned)t->size[k];
    }
    if (!add_outer(out, t, all))
        return false;
    a->cols = count_cols(t);
    if (rows_only)
        t->run_dims = 1;
    for (int k = 0; turned && k < t->dense_dims && !(t->in_row[k] && t->size[k] > 1); k++)
        t->run_dims = k + 1;
    if (rows_only || turned)
        a->along = count_along(t);
    else
        choose_runs(t, a, out->elements);
    a->runs = (unsigned)out->elements / a->along.all;
    out->load = widest(t, a, true);
    out->store = widest(t, a, false);
    out->aligned = out->store == 16;
    if (rows_only) /* a vector is the same on both sides */
        out->load = out->store = out->load < out->store ? out->load : out->store;
    else if (t->s.elem_size <= 2)
        narrow(out, t->s.elem_size);
    place(out, t, all);
    int64_t dense = 1; /* elements that are written side by side */
    for (int k = 0; k < t->dense_dims; k++)
        dense *= t->size[k];
    out->dense = turned || (kind == TT__TILE_JOINED && out->store < 4) ? (int)a->along.all : (int)dense;
    return out->shared_bytes <= TT__TILE_SHARED_MAX;
}

/* ---- The rule ------------------------------------------------------------------------------------------ */

/* What a kind costs. Times of instructions are nanoseconds of a multiprocessor that they keep busy. */
typedef struct cost {
    double partial; /* of a sector that is written in part, in bytes moved */
    double crowded; /* of few blocks on a multiprocessor, likewise */
    double block, table, load, loaded, store,
        stored;        /* of a block; of a turn of all threads; of its elements */
    double wait, turn; /* latencies of a block and of a turn */
    double all;        /* factor */
} cost;

static const cost costs[TT__TILE_KINDS] = {
    [TT__TILE_ROWS] = {.crowded = 2.74, .block = 113, .table = 91.9, .turn = 101, .all = 1.35},
    [TT__TILE_GATHERED] = {.partial = 4.21,
                           .crowded = 13.1,
                           .table = 457,
                           .loaded = 10.1,
                           .stored = 19.1,
                           .wait = 150,
                           .turn = 221,
                           .all = 0.822},
    [TT__TILE_TURNED] = {.partial = 5.67,
                         .crowded = 84.2,
                         .block = 427,
                         .table = 152,
                         .loaded = 1.04,
                         .store = 63.2,
                         .stored = 0.981,
                         .wait = 461,
                         .turn = 341,
                         .all = 0.585},
    [TT__TILE_JOINED] = {.partial = 26.8,
                         .crowded = 4.55,
                         .block = 555,
                         .load = 189,
                         .loaded = 50.6,
                         .stored = 5.72,
                         .wait = 2840,
                         .turn = 161,
                         .all = 0.736},
};

enum { RESIDENT = 8 }; /* blocks on a multiprocessor at most */

static double turns(unsigned n, unsigned threads) {
    return (n + threads - 1) / threads;
}

/* What the time of a tile depends on. */
typedef struct work {
    double memory, blocks, waves; /* of a multiprocessor */
    double tables, loads, stores; /* turns of all threads in a block */
    double loaded, stored;        /* elements of a load and a store of a thread */
} work;

/* The time is that of memory, of instructions or of latencies, whichever is longest. */
static double cost_of_work(const cost *c, const work *w) {
    const double memory = w->memory / 4e6;
    const double busy = w->blocks * 1e-3 *
                        (c->block + c->table * w->tables + w->loads * (c->load + c->loaded * w->loaded) +
                         w->stores * (c->store + c->stored * w->stored));
    const double latency = w->waves * 1e-3 * (c->wait + c->turn * (w->tables + w->loads + w->stores));
    return c->all * c->all * c->all *
           (memory * memory * memory + busy * busy * busy + latency * latency * latency);
}

/* Blocks on a multiprocessor. */
static int resident_of(int64_t shared_bytes) {
    const int64_t n = 227 * 1024 / (shared_bytes + 1024);
    return n > RESIDENT ? RESIDENT : (int)n;
}

static double memory_of(const cost *c, double bytes, double sectors, int resident) {
    const double few = 1 - resident / (double)RESIDENT;
    return bytes * (2 + c->partial * (sectors - 1)) * (1 + c->crowded * few * few);
}

static double cost_of(const tt__tile *tile, int elem_size, double bytes, int sm_count) {
    const cost *c = &costs[tile->kind];
    const permute_any *a = &tile->argument;
    const bool in_words = tile->kind >= TT__TILE_TURNED, turned = tile->kind == TT__TILE_TURNED;
    const unsigned part = in_words ? 4 / (unsigned)elem_size : 1;
    const unsigned runs = turned                        ? (a->cols.all + part - 1) / part
                          : tile->kind == TT__TILE_ROWS ? a->rows
                                                        : a->runs;
    const unsigned entries = a->rows + (tile->kind == TT__TILE_ROWS ? 0 : a->runs) +
                             (tile->kind == TT__TILE_ROWS || turned ? 0 : a->along.all);
    const double run = (double)tile->dense * elem_size;
    const bool whole = tile->aligned && tile->dense * elem_size % 32 == 0;
    const double sectors = whole ? 1 : (run + 32 - elem_size) / run;
    const int resident = resident_of(tile->shared_bytes);
    const double blocks = (double)tile->blocks / sm_count;
    const int64_t waves =
        (int64_t)(blocks / resident) + (blocks > (double)(int64_t)(blocks / resident) * resident);
    return cost_of_work(
        c,
        &(work){.memory = memory_of(c, bytes, sectors, resident),
                .blocks = blocks,
                .waves = (double)waves,
                .tables = turns(entries, 224),
                .loads = turns(a->rows * a->row_vectors, 256),
                .stores = turns(runs * (tile->kind == TT__TILE_ROWS ? a->row_vectors : a->run_vectors), 256),
                .loaded = in_words ? tile->unit : tile->load / elem_size,
                .stored = in_words ? (int)part : tile->store / elem_size});
}

/* What a tile costs at least, known from its sizes: most of them need not be made. INFINITY: none can be. */
static double least_cost(const tiling *t, tt__tile_kind kind, double bytes, int sm_count) {
    const double rounding = 0.999;
    const bool in_words = kind >= TT__TILE_TURNED;
    const int e = t->s.elem_size, per_turn = in_words ? 256 * 4 / e : 256;
    int64_t elements = 1, run = e; /* run: bytes that are written side by side */
    double blocks = 1, sectors = 1;
    bool dense = !in_words;
    for (int k = 0; k < t->n; k++) {
        blocks *= (double)t->tiles[k];
        elements *= t->size[k];
        run *= dense ? t->size[k] : 1;
        dense &= t->size[k] == t->s.dim[k];
        if (elements > ELEMENTS_MAX)
            return INFINITY;
    }
    if (!in_words && run % 32)
        sectors = ((double)run + 32 - e) / (double)run;
    const double turns = elements * e > 16 * 256 ? (double)(elements * e) / (16 * 256) : 1; /* of vectors */
    const double each = (double)elements / per_turn / turns;
    const int resident =
        kind == TT__TILE_ROWS || kind == TT__TILE_TURNED ? RESIDENT : resident_of(elements * e);
    blocks /= sm_count;
    return rounding *
           cost_of_work(&costs[kind], &(work){.memory = memory_of(&costs[kind], bytes, sectors, resident),
                                              .blocks = blocks,
                                              .waves = blocks / resident,
                                              .tables = 1,
                                              .loads = turns,
                                              .stores = in_words ? 1 : turns,
                                              .loaded = each,
                                              .stored = in_words ? each * turns : each});
}

/* Runs that are tried. More of them gain less than 1 %. `first` is that of the source, of turned tiles that
 * of the destination: those with the same one follow each other. Of tiles that cost the same, that of the
 * lowest rank is chosen. */
static const struct {
    tt__tile_kind kind;
    int first, second, rank;
} tried[] = {
    {TT__TILE_ROWS, 0, 2048, 0},         {TT__TILE_ROWS, 0, 4096, 1},
    {TT__TILE_ROWS, 0, 8192, 2},         {TT__TILE_ROWS, 0, 16384, 3},
    {TT__TILE_GATHERED, 64, 64, 20},     {TT__TILE_GATHERED, 64, 128, 19},
    {TT__TILE_GATHERED, 128, 128, 18},   {TT__TILE_GATHERED, 128, 512, 7},
    {TT__TILE_GATHERED, 128, 1024, 13},  {TT__TILE_GATHERED, 128, 2048, 16},
    {TT__TILE_GATHERED, 256, 64, 15},    {TT__TILE_GATHERED, 256, 256, 12},
    {TT__TILE_GATHERED, 256, 512, 4},    {TT__TILE_GATHERED, 512, 128, 8},
    {TT__TILE_GATHERED, 1024, 256, 14},  {TT__TILE_GATHERED, 1024, 512, 9},
    {TT__TILE_GATHERED, 1024, 2048, 5},  {TT__TILE_GATHERED, 2048, 256, 10},
    {TT__TILE_GATHERED, 2048, 2048, 11}, {TT__TILE_GATHERED, 2048, 8192, 21},
    {TT__TILE_GATHERED, 4096, 64, 17},   {TT__TILE_GATHERED, 4096, 128, 6},
    {TT__TILE_GATHERED, 8192, 4096, 23}, {TT__TILE_GATHERED, 8192, 8192, 22},
    {TT__TILE_TURNED, 64, 256, 29},      {TT__TILE_TURNED, 64, 512, 28},
    {TT__TILE_TURNED, 128, 128, 25},     {TT__TILE_TURNED, 128, 256, 27},
    {TT__TILE_TURNED, 256, 64, 31},      {TT__TILE_TURNED, 256, 128, 24},
    {TT__TILE_TURNED, 512, 64, 26},      {TT__TILE_TURNED, 1024, 16, 30},
    {TT__TILE_JOINED, 256, 256, 34},     {TT__TILE_JOINED, 256, 2048, 32},
    {TT__TILE_JOINED, 2048, 4096, 33},   {TT__TILE_JOINED, 4096, 256, 35},
};
enum { TRIED = TT__COUNT(tried) };

/* Short dimensions make the same tile of different runs. `sum` tells most tiles apart. */
typedef struct tried_tile {
    uint64_t sum;
    double least; /* that it costs */
    tt__tile_kind kind;
    int row_most, rank, size[PERMUTE_DIMS];
} tried_tile;

/* Adds the tile, unless it is there. */
static bool add_tried(tried_tile *all, size_t n, const tiling *t, tt__tile_kind kind, int rank) {
    const size_t bytes = (size_t)t->n * sizeof *t->size;
    uint64_t sum = (uint64_t)kind << 8 | (uint64_t)t->row_most;
    for (int k = 0; k < t->n; k++)
        sum = sum * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)t->size[k];
    for (size_t i = 0; i < n; i++)
        if (all[i].sum == sum && all[i].kind == kind && all[i].row_most == t->row_most &&
            memcmp(all[i].size, t->size, bytes) == 0) {
            all[i].rank = rank < all[i].rank ? rank : all[i].rank;
            return false;
        }
    all[n].sum = sum;
    all[n].kind = kind;
    all[n].row_most = t->row_most;
    all[n].rank = rank;
    memcpy(all[n].size, t->size, bytes);
    return true;
}

static void return_to(tiling *t, const tried_tile *tile) {
    begin_tile(t);
    memcpy(t->size, tile->size, (size_t)t->n * sizeof *t->size);
    t->row_most = tile->row_most;
    count_tiles(t);
}

/* What is asked for: one tile for a shape on a device. */
typedef struct choice {
    tiling t;
    double bytes;
    int sm_count;
    bool long_rows; /* they stay rows */
} choice;

/* False: there is no tile. */
static bool start_choice(choice *c, const permute_shape *shape, int sm_count) {
    const double most = 0x1p44; /* elements of a permutation (api/problem.c), so that nothing overflows */
    double reach = 1;
    c->bytes = shape->elem_size;
    for (int k = 0; k < PERMUTE_DIMS; k++) {
        c->bytes *= (double)shape->dim[k];
        reach += (double)(shape->dim[k] - 1) * (double)shape->stride[k];
    }
    c->sm_count = sm_count;
    c->long_rows = shape->stride[0] == 1 && shape->dim[0] * shape->elem_size >= 256;
    if (c->bytes > most * shape->elem_size || reach > most)
        return false;
    start(&c->t, shape);
    return true;
}

/* The different tiles. */
static size_t list_tiles(tried_tile *all, choice *c) {
    tiling *t = &c->t;
    size_t n = 0;
    int rows[PERMUTE_DIMS], row_most = 0;
    const size_t bytes = (size_t)t->n * sizeof *t->size;
    for (size_t i = 0; i < TRIED; i++) {
        const tt__tile_kind kind = tried[i].kind;
        if ((c->long_rows && kind != TT__TILE_ROWS) || !has_tiles(t, kind))
            continue;
        if (i == 0 || tried[i - 1].kind != kind || tried[i - 1].first != tried[i].first) {
            cut_first(t, kind, tried[i].first);
            memcpy(rows, t->size, bytes);
            row_most = t->row_most;
        } else {
            memcpy(t->size, rows, bytes);
            t->row_most = row_most;
        }
        cut_second(t, kind, tried[i].second);
        if (!add_tried(all, n, t, kind, tried[i].rank))
            continue;
        count_tiles(t);
        all[n++].least = least_cost(t, kind, c->bytes, c->sm_count);
    }
    return n;
}

int tt__tile_template_of(tt__tile_kind kind) {
    return kind < TT__TILE_TURNED ? (int)kind : 2;
}

/* May another template have a tile that costs less? */
static bool is_contested(const tried_tile *all, size_t n, int template, double least) {
    for (size_t i = 0; i < n; i++)
        if (all[i].least < least && tt__tile_template_of(all[i].kind) != template)
            return true;
    return false;
}

/* The best tile, or one of the same template. NULL: there is none. */
static const tried_tile *find_best(tried_tile *all, tt__tile *made, choice *c, bool any_of_template) {
    tiling *t = &c->t;
    const tried_tile *best = NULL;
    const size_t n = list_tiles(all, c);
    double least = INFINITY;
    for (size_t left = n; left > 0; left--) {
        tried_tile *next = all; /* the most promising one */
        for (size_t i = 1; i < n; i++)
            next = all[i].least < next->least ? &all[i] : next;
        if (next->least >= least ||
            (best && any_of_template && !is_contested(all, n, tt__tile_template_of(best->kind), least)))
            break;
        return_to(t, next);
        next->least = INFINITY;
        if (!make(made, t, next->kind, false))
            continue;
        const double cost = cost_of(made, t->s.elem_size, c->bytes, c->sm_count);
        if ((cost < least || (best && cost <= least && next->rank < best->rank)) &&
            list_dims(made, t, false)) {
            least = cost;
            best = next;
        }
    }
    return best;
}

bool tt__tile_choose(tt__tile *out, const permute_shape *shape, int sm_count) {
    tried_tile all[TRIED];
    choice c;
    const tried_tile *best = start_choice(&c, shape, sm_count) ? find_best(all, out, &c, false) : NULL;
    *out = (tt__tile){0};
    if (!best)
        return false;
    return_to(&c.t, best);
    return make(out, &c.t, best->kind, true) && list_dims(out, &c.t, true);
}

/* The first tile that can be made, where only one template has some. */
static int first_template(tt__tile *made, choice *c, tt__tile_kind kind) {
    for (size_t i = 0; i < TRIED; i++) {
        if (tried[i].kind != kind)
            continue;
        cut_first(&c->t, kind, tried[i].first);
        cut_second(&c->t, kind, tried[i].second);
        count_tiles(&c->t);
        if (make(made, &c->t, kind, false) && list_dims(made, &c->t, false))
            return tt__tile_template_of(kind);
    }
    return -1;
}

int tt__tile_template(const permute_shape *shape, int sm_count) {
    tried_tile all[TRIED];
    tt__tile made;
    choice c;
    if (!start_choice(&c, shape, sm_count))
        return -1;
    const bool rows = has_tiles(&c.t, TT__TILE_ROWS), small = has_tiles(&c.t, TT__TILE_JOINED);
    if ((rows && c.long_rows) || (!rows && !small && has_tiles(&c.t, TT__TILE_GATHERED)))
        return first_template(&made, &c, rows ? TT__TILE_ROWS : TT__TILE_GATHERED);
    const tried_tile *best = find_best(all, &made, &c, true);
    return best ? tt__tile_template_of(best->kind) : -1;
}
