/* The shapes, and the processes. Shapes are small: whole tiles, edges, less than a tile, one row, one column,
 * leading dimensions, batches, every alignment. */
#include "sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "code/nvrtc.h"
#include "gpu/device.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"
#include "tuner/farm/workers.h"

static const sweep_shape by_hand[] = {
    /* 4 bytes: all kinds of shapes */
    {96, 96, .elem_size = 4},
    {64, 200, .elem_size = 4},
    {1, 1, .elem_size = 4},
    {1, 37, .elem_size = 4},
    {37, 1, .elem_size = 4},
    {131, 67, .elem_size = 4},
    {67, 67, 69, 69, .elem_size = 4},
    {70, 50, 80, 72, .elem_size = 4},
    {70, 50, 82, 74, .elem_size = 4, .align = 4},
    {70, 52, 80, 72, .elem_size = 4, .with = " TILE_ROWS=32 VL=16 "},
    {40, 36, .elem_size = 4, .batch = 3},
    {33, 33, 40, 40, .elem_size = 4, .batch = 2, .src_stride = 1332, .dst_stride = 1332},
    {33, 35, 40, 36, .elem_size = 4, .batch = 2, .src_stride = 1333, .dst_stride = 1301},
    /* more than one of the largest tiles in both directions */
    {264, 392, .elem_size = 4, .max_blocks = 12},
    {263, 391, .elem_size = 4, .max_blocks = 30},
    {1100, 152, .elem_size = 4, .max_blocks = 8},
    {272, 272, .elem_size = 4, .max_blocks = 6},
    {256, 128, .elem_size = 1},
    {131, 67, .elem_size = 1},
    {131, 131, .elem_size = 1},
    {597, 1101, .elem_size = 1, .max_blocks = 30},
    {68, 44, .elem_size = 1, .align = 4},
    {301, 528, .elem_size = 1, .max_blocks = 12}, /* rows aligned on one side only */
    {304, 525, .elem_size = 1, .max_blocks = 12},
    {592, 1104, .elem_size = 1, .max_blocks = 16},
    {528, 528, .elem_size = 1, .max_blocks = 6},
    /* several tiles for each block that stays; and where words reach out of the matrix */
    {603, 1048, .elem_size = 1, .with = " STAY=4 "},
    {601, 1049, .elem_size = 1, .with = " STAY=4 "},
    {601, 1049, .elem_size = 1, .with = " STAY=5 "},
    {256, 128, .elem_size = 2},
    {131, 67, .elem_size = 2},
    {131, 131, .elem_size = 2},
    {301, 555, .elem_size = 2, .max_blocks = 30},
    /* Inner tiles have a path of their own, with few loads, or with more if there are many tiles. Some tiles
     * are high enough to be written but not to be read. In some whole tiles, words reach out of the matrix.
     */
    {650, 1049, 1049, 653, .elem_size = 1, .with = " WRITE_RUN=256 THREADS=256 VS=4 CLUSTER=1 "},
    {149, 131, 131, 153, .elem_size = 4, .with = " STAY=0 "},
    {650, 1049, 1049, 653, .elem_size = 1, .with = " VS=16 CLUSTER=1 STAY=0 "},
    {325, 555, 555, 327, .elem_size = 2, .with = " WRITE_RUN=128 THREADS=256 VS=16 CLUSTER=1 STAY=0 "},
    {160, 128, 129, 161, .elem_size = 1, .batch = 13, .src_stride = 20641, .dst_stride = 20609,
     .with = " VS=16 CLUSTER=1 STAY=0 "},
    /* words of several rows reach out of the matrix; also a matrix that ends with a whole tile */
    {1, 37, .elem_size = 1},
    {37, 1, .elem_size = 1},
    {39, 1, .elem_size = 1},
    {37, 2, .elem_size = 1},
    {5, 3, .elem_size = 1},
    {67, 2, 3, 0, .elem_size = 1},
    {160, 128, 129, 161, .elem_size = 1},
    {1, 2, .elem_size = 2, .align = 2},
    {37, 1, .elem_size = 2},
    {80, 64, 65, 81, .elem_size = 2},
    {304, 528, .elem_size = 2, .max_blocks = 12},
    {301, 528, .elem_size = 2, .max_blocks = 12},
    {128, 64, .elem_size = 8},
    {131, 67, .elem_size = 8},
    {70, 50, 80, 72, .elem_size = 8},
    {136, 136, .elem_size = 8},
    {193, 193, .elem_size = 8},
    {193, 193, .elem_size = 8, .batch = 3},
    {64, 32, .elem_size = 16},
    {131, 67, .elem_size = 16},
    {33, 47, 50, 41, .elem_size = 16},
    {70, 70, .elem_size = 16},
    {20, 30, 2048, 0, .elem_size = 16}, /* rows a far power of two apart */
    {40, 66, 8192, 8192, .elem_size = 16},
    {8, 520, 8192, 8192, .elem_size = 16, .max_blocks = 128}, /* more than 64 tiles side by side */
    {16, 1040, 16384, 16384, .elem_size = 8,
     .with = " VL=8 VS=8 THREADS=256 STREAM=0 SEGMENT=0 PREFETCH=0 ORDER=3"},
    /* destination rows of whole vectors, of each width, but no whole sectors, and several tiles tall */
    {604, 300, .elem_size = 1, .max_blocks = 24},
    {616, 264, .elem_size = 1, .max_blocks = 24},
    {306, 150, .elem_size = 2, .max_blocks = 24},
    {308, 148, .elem_size = 2, .max_blocks = 24},
    {312, 152, .elem_size = 2, .max_blocks = 24},
    {151, 75, .elem_size = 4, .max_blocks = 24},
    {154, 74, .elem_size = 4, .max_blocks = 24},
    {156, 76, .elem_size = 4, .max_blocks = 24},
    {134, 66, .elem_size = 8, .max_blocks = 48},
    /* matrices that begin anywhere in a sector */
    {50, 75, 75, 52, .elem_size = 4, .batch = 2, .src_stride = 3752, .dst_stride = 3905},
    /* more matrices than z of a grid has blocks; and some with gaps between rows, and between matrices */
    {2, 1, .elem_size = 1, .batch = 70000, .with = "CHUNK=16384 VS=4 PAD=0 THREADS=128"},
    {3, 1001, 1004, 0, .elem_size = 4, .batch = 3, .src_stride = 3013, .dst_stride = 3005,
     .with = "CHUNK=4096"},
    {1001, 3, 4, 1003, .elem_size = 2, .batch = 3, .src_stride = 4005, .dst_stride = 3011,
     .with = "CHUNK=4096"},
    /* rectangles in place that are large enough for panels, with tails and without, tall and wide */
    {32012, 24, .elem_size = 4, .with = "PIECE=", .sampled = true},
    {24, 32013, .elem_size = 4, .with = "PIECE=", .sampled = true},
    {26001, 24, .elem_size = 1, .with = "PIECE=", .sampled = true},
    {24, 25600, .elem_size = 1, .with = "PIECE=", .sampled = true},
    {2, 120004, .elem_size = 8, .with = "PARTS=8", .sampled = true},
    {60001, 3, .elem_size = 16, .with = "PARTS=8", .sampled = true},
    /* the same for swaps of slots, and with a rest of slots */
    {8000, 125, .elem_size = 1, .with = "TENS=", .sampled = true},
    {112, 7168, .elem_size = 1, .with = "TENS=", .sampled = true},
    {4032, 126, .elem_size = 2, .with = "TENS=", .sampled = true},
    {250, 2000, .elem_size = 4, .with = "TENS=", .sampled = true},
    {4004, 250, .elem_size = 4, .with = "TENS=", .sampled = true},
    {501, 2003, .elem_size = 8, .with = "TENS=", .sampled = true},
    {1002, 501, .elem_size = 16, .with = "TENS=", .sampled = true},
    {502, 1001, .elem_size = 16, .with = "TENS=", .sampled = true},
    {2003, 502, .elem_size = 8, .with = "TENS=", .sampled = true},
    /* more than twice the stand-in's L2 cache */
    {1088, 512, .elem_size = 4, .max_blocks = 136},
    {544, 512, .elem_size = 8, .max_blocks = 272},
    {512, 288, 8192, 0, .elem_size = 16, .max_blocks = 576},
};

/* Shapes in bytes, for each element size. With these the shapes have every configuration, which test_execute
 * checks. `fits`: the L2 cache holds the arrays; otherwise almost nothing of them. Small shapes come first,
 * so that later ones have fewer new configurations. With 4096 rows 128 KB apart, transpose_large has four
 * groups, so that SKEW turns some. */
static const struct {
    int rows, cols, lds, ldd, batch;
    bool fits;
    int align;
} rest[] = {
    {130, 1030, 0, 0, 1, false, 0},
    {301, 531, 0, 0, 1, false, 0},
    {601, 1049, 0, 0, 1, false, 0},
    {1024, 1024, 0, 0, 1, false, 2},
    {1024, 1024, 0, 0, 1, false, 4},
    {1024, 1024, 1028, 1028, 1, true, 0},
    {1028, 1028, 0, 0, 1, true, 0},
    {1028, 1028, 1032, 1032, 1, false, 0},
    {1024, 1024, 0, 0, 1, false, 8},
    {1032, 1032, 0, 0, 1, false, 0},
    {1024, 1024, 0, 0, 3, false, 8},
    {1024, 1024, 0, 0, 3, true, 8},
    {1028, 1028, 0, 0, 3, true, 0},
    {1032, 1032, 0, 0, 3, false, 0},
    {1032, 1032, 0, 0, 3, true, 0},
    {8192, 256, 0, 0, 1, true, 0},
    {8192, 256, 0, 0, 3, true, 0},
    {2048, 1024, 0, 2052, 1, false, 0},
    {2048, 1024, 1028, 0, 1, false, 0},
    {2048, 1024, 0, 2064, 1, false, 0},
    {2048, 1024, 1040, 0, 1, true, 0},
    {1536, 1536, 0, 0, 1, true, 0},
    {1536, 1536, 0, 1540, 1, false, 0},
    {1028, 1028, 0, 0, 3, false, 0},
    {1024, 1024, 1040, 1040, 3, true, 0},
    {1536, 1536, 1552, 1552, 3, false, 0},
    {1040, 1040, 0, 0, 3, false, 0},
    {1040, 1040, 0, 0, 3, true, 0},
    {2048, 2048, 2064, 0, 1, false, 0},
    {1536, 1536, 0, 0, 3, false, 0},
    {1536, 1536, 0, 0, 3, true, 0},
    {4096, 1024, 0, 0, 3, true, 0},
    {4112, 1040, 0, 0, 3, true, 0},
    {8208, 2064, 0, 0, 1, false, 0},
    {9216, 2048, 0, 0, 1, true, 0},
    {1024, 1024, 0, 32768, 1, false, 0},
    {1024, 1024, 0, 32768, 1, false, 4},
    {1024, 1024, 0, 32768, 1, true, 0},
    {1024, 1024, 0, 32768, 1, true, 4},
    {1024, 1024, 1040, 32768, 1, true, 4},
    {1024, 1024, 32768, 1040, 1, false, 4},
    {2048, 1024, 1028, 32768, 1, true, 0},
    {2048, 1024, 1040, 32768, 1, false, 0},
    {2048, 1024, 1040, 32768, 1, false, 4},
    {2048, 1024, 1040, 32768, 1, true, 0},
    {1028, 1028, 0, 32768, 1, false, 0},
    {1028, 1028, 0, 32768, 1, true, 0},
    {1028, 1028, 32768, 0, 1, false, 0},
    {1028, 1028, 32768, 0, 1, true, 0},
    {1040, 1040, 0, 32768, 1, false, 0},
    {1040, 1040, 32768, 0, 1, false, 0},
    {1040, 1040, 32768, 0, 1, true, 0},
    {1040, 1040, 32768, 32768, 1, false, 0},
    {1040, 1040, 32768, 32768, 1, false, 4},
    {1040, 1040, 32768, 32768, 1, true, 0},
    {1040, 1040, 32768, 32768, 1, true, 4},
    {2064, 1040, 0, 32768, 1, true, 0},
    {8208, 2064, 0, 0, 3, false, 0},
    {9216, 2048, 0, 0, 3, true, 0},
    {2048, 1024, 32768, 2052, 1, false, 0},
    {2048, 1024, 32768, 2064, 1, false, 0},
    {4096, 1024, 131072, 0, 1, false, 0},
    {1024, 1024, 131072, 131072, 1, false, 0},
    {1024, 1024, 131072, 131072, 1, true, 0},
    {1040, 1040, 131072, 131072, 1, false, 0},
    {1040, 1040, 131072, 131072, 1, true, 0},
    {256, 8192, 0, 0, 1, true, 0},
    {512, 129 * 512, 0, 0, 1, false, 0}, /* more than 128 tiles side by side */
};

/* Few rows or columns, or batches of small matrices, for the templates made for these. The sizes are in
 * elements, and make several of the largest chunks. Sizes are compiled in, so there are many: with bytes
 * turned in words, all rows at once or some, gathered one by one... */
enum { ALL_SIZES = 1 + 2 + 4 + 8 + 16 };
static const struct {
    int elem_sizes, rows, cols; /* 0: as many as it takes, a multiple of 16, */
    bool skewed;                /* or one more */
    int batch, gap_lds, gap_ldd;
} narrow[] = {
    {ALL_SIZES, 3, 0, true, 1, 0, 0},
    {ALL_SIZES, 7, 0, false, 1, 0, 0},
    {ALL_SIZES, 5, 0, true, 3, 2, 0},
    {ALL_SIZES, 4, 0, false, 3, 0, 0},
    {ALL_SIZES, 1, 0, true, 1, 0, 0},
    {ALL_SIZES, 16, 0, true, 1, 0, 0},
    {ALL_SIZES, 12, 0, false, 1, 48, 0},
    {ALL_SIZES, 0, 3, true, 1, 0, 0},
    {ALL_SIZES, 0, 4, false, 1, 0, 16},
    {ALL_SIZES, 0, 5, true, 3, 2, 1},
    {ALL_SIZES, 0, 1, true, 1, 0, 0},
    {ALL_SIZES, 0, 16, false, 1, 0, 0},
    {ALL_SIZES, 0, 11, false, 3, 0, 0},
    {ALL_SIZES, 8, 12, true, 0, 0, 0},
    {ALL_SIZES, 3, 5, true, 0, 0, 0},
    {ALL_SIZES, 5, 5, true, 0, 0, 0},
    {ALL_SIZES, 16, 16, true, 0, 0, 0},
    {ALL_SIZES, 17, 8, true, 0, 0, 0},
    {ALL_SIZES, 1, 2, true, 0, 0, 0},
    {1 + 2, 100, 0, true, 1, 0, 0},
    {1 + 2, 49, 0, true, 3, 0, 0},
    {1, 66, 0, true, 1, 0, 0},
    {1 + 2, 37, 0, true, 1, 0, 0},
    {1 + 2, 0, 64, true, 1, 0, 0},
    {1 + 2, 0, 100, true, 1, 0, 0},
    {1 + 4, 0, 33, true, 1, 0, 0},
    {1 + 2, 64, 64, true, 0, 0, 0},
    {1 + 2, 40, 12, true, 0, 0, 0},
    {1 + 2, 70, 16, true, 0, 0, 0},
    {1, 200, 0, true, 1, 0, 0},
    /* gaps in the destination; rows far apart; small matrices with gaps on one side, on both; larger ones */
    {ALL_SIZES, 3, 0, true, 1, 0, 1},
    {ALL_SIZES, 13, 0, false, 3, 5, 3},
    {ALL_SIZES, 0, 3, true, 1, 61, 0},
    {ALL_SIZES, 0, 3, true, 3, 80, 2},
    {1 + 2, 0, 20, false, 1, 101, 0},
    {ALL_SIZES, 8, 8, true, 0, 1, 0},
    {ALL_SIZES, 8, 8, true, 0, 0, 1},
    {ALL_SIZES, 6, 5, true, 0, 3, 2},
    {ALL_SIZES, 29, 31, true, 0, 0, 0},
    {1 + 2 + 4, 93, 97, true, 0, 0, 0},
    {1 + 2, 101, 140, true, 0, 0, 0},
    {1, 15, 15, true, 0, 0, 0},
    {ALL_SIZES, 30, 30, true, 0, 2, 0},
    {1, 135, 135, true, 0, 0, 0},
    {1, 135, 135, true, 0, 2, 1},
    {2, 95, 95, true, 0, 0, 0},
    {2, 95, 95, true, 0, 2, 1},
    {4, 67, 67, true, 0, 0, 0},
    {4, 67, 67, true, 0, 2, 1},
    {8, 47, 47, true, 0, 0, 0},
    {8, 47, 47, true, 0, 2, 1},
    {16, 33, 33, true, 0, 0, 0},
    {16, 33, 33, true, 0, 2, 1},
};

enum {
    N_BY_HAND = sizeof by_hand / sizeof *by_hand,
    N_REST = sizeof rest / sizeof *rest,
    N_NARROW = sizeof narrow / sizeof *narrow,
    ELEM_SIZES = 5
};
sweep_shape sweep_shapes[N_BY_HAND + (N_NARROW + N_REST) * ELEM_SIZES];
size_t sweep_n_shapes;

static void list_narrow(void) {
    enum { BYTES = 40000, UNIT = 16 };
    for (int e = 1; e <= 1 << (ELEM_SIZES - 1); e *= 2)
        for (size_t i = 0; i < N_NARROW; i++) {
            const int64_t r = narrow[i].rows, c = narrow[i].cols, few = r && c ? r * c : r + c;
            const int64_t many = BYTES / e / few / UNIT * UNIT + UNIT + narrow[i].skewed;
            if (narrow[i].elem_sizes & e)
                sweep_shapes[sweep_n_shapes++] = (sweep_shape){.rows = r ? r : many,
                                                               .cols = c ? c : many,
                                                               .lds = (c ? c : many) + narrow[i].gap_lds,
                                                               .ldd = (r ? r : many) + narrow[i].gap_ldd,
                                                               .elem_size = e,
                                                               .batch = r && c ? many : narrow[i].batch,
                                                               .with = "CHUNK=",
                                                               .sampled = true};
        }
}

static void list_shapes(void) {
    memcpy(sweep_shapes, by_hand, sizeof by_hand);
    sweep_n_shapes = N_BY_HAND;
    list_narrow();
    for (size_t i = 0; i < N_REST; i++)
        for (int e = 1; e <= 1 << (ELEM_SIZES - 1); e *= 2)
            if ((rest[i].rows | rest[i].cols | rest[i].lds | rest[i].ldd | rest[i].align) % e == 0)
                sweep_shapes[sweep_n_shapes++] = (sweep_shape){.rows = rest[i].rows / e,
                                                               .cols = rest[i].cols / e,
                                                               .lds = rest[i].lds / e,
                                                               .ldd = rest[i].ldd / e,
                                                               .elem_size = e,
                                                               .align = rest[i].align,
                                                               .batch = rest[i].batch,
                                                               .l2_bytes = rest[i].fits ? 64 << 20 : 1 << 10,
                                                               .rest = (int)i + 1};
}

bool sweep_ask(tt__problem *p, tt_problem *matrix, const char *op) {
    if (strcmp(op, "transpose_scaled") == 0 ||
        (strncmp(op, "transpose", strlen("transpose")) != 0 && strcmp(op, "copy") != 0))
        return false;
    const bool is_square = matrix->rows == matrix->cols, rect = strcmp(op, "transpose_rect_in_place") == 0;
    const bool has_gaps =
        (matrix->lds && matrix->lds != matrix->cols) || (matrix->ldd && matrix->ldd != matrix->rows);
    matrix->in_place = rect || strcmp(op, "transpose_in_place") == 0;
    if (matrix->in_place && (rect ? is_square || has_gaps || matrix->batch > 1 : !is_square))
        return false;
    if (matrix->in_place && is_square)
        matrix->ldd = matrix->lds, matrix->dst_stride = matrix->src_stride;
    MUST(bench_matrix(p, matrix));
    const tt__problem transpose = *p;
    if (strcmp(op, "copy") == 0)
        return tt__problem_copy(p, &transpose);
    tt__copy(p->op, sizeof p->op, op);
    return true;
}

tt_problem sweep_matrix(const sweep_shape *s) {
    return (tt_problem){.rows = s->rows,
                        .cols = s->cols,
                        .lds = s->lds,
                        .ldd = s->ldd,
                        .elem_size = s->elem_size,
                        .align = s->align,
                        .batch = s->batch,
                        .src_stride = s->src_stride,
                        .dst_stride = s->dst_stride};
}

bool sweep_is_for(const sweep_shape *s, const tt__configuration *c) {
    const unsigned *g = c->pass.grid;
    if (s->with)
        return strstr(c->config, s->with) != NULL;
    return s->max_blocks == 0 || (int64_t)g[0] * g[1] * g[2] <= s->max_blocks;
}

bool sweep_open_device(tt__gpu *gpu) {
    enum { SM_COUNT = 4, L2_BYTES = 1 << 20 };
    if (!device_open())
        return false;
    MUST(tt__device_gpu(gpu, 0));
    if (!device_is_host()) {
        gpu->sm_count = SM_COUNT;
        gpu->l2_bytes = L2_BYTES;
    }
    return true;
}

typedef struct sweep_cubin {
    const char *source;
    tt__str options, cubin;
    struct sweep_cubin *next;
} sweep_cubin;

uint64_t sweep_hash(uint64_t hash, const char *text, size_t len) { /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash;
}

uint64_t sweep_hash_kernel(const char *name, const tt__str *options) {
    uint64_t hash =
        sweep_hash(sweep_hash(0xcbf29ce484222325u, name, strlen(name)), options->text, options->len);
    return hash ^ hash >> 32;
}

uint64_t sweep_hash_kind(const char *name, const tt__str *options) {
    static const char *const sizes[] = {
        "-DN_ROWS=", "-DN_COLS=", "-DPITCH=", "-DSPAN=", "-DSTRIDE=", "-DSKEW="};
    uint64_t hash = sweep_hash(0xcbf29ce484222325u, name, strlen(name));
    for (size_t at = 0, len; at < options->len; at += len) {
        const char *option = options->text + at;
        bool is_size = false;
        len = strlen(option) + 1;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            is_size |= strncmp(option, sizes[i], strlen(sizes[i])) == 0;
        hash = is_size ? hash : sweep_hash(hash, option, len);
    }
    return hash ^ hash >> 32;
}

const char *sweep_compile(sweep_cubins *all, const char *name, const char *source, tt__str *options, int n,
                          int cc) {
    sweep_cubin **bucket = &all->buckets[sweep_hash_kernel(name, options) % SWEEP_BUCKETS], *made = *bucket;
    while (made && (made->source != source || made->options.len != options->len ||
                    memcmp(made->options.text, options->text, options->len) != 0))
        made = made->next;
    if (made) {
        tt__str_free(options);
        return made->cubin.text;
    }
    made = calloc(1, sizeof *made);
    assert_non_null(made);
    *made = (sweep_cubin){.source = source, .options = *options, .next = *bucket};
    MUST(tt__nvrtc_compile(&made->cubin, name, source, options->text, n, cc));
    *bucket = made;
    return made->cubin.text;
}

void sweep_cubins_free(sweep_cubins *all) {
    for (size_t i = 0; i < SWEEP_BUCKETS; i++)
        while (all->buckets[i]) {
            sweep_cubin *c = all->buckets[i];
            all->buckets[i] = c->next;
            tt__str_free(&c->options);
            tt__str_free(&c->cubin);
            free(c);
        }
}

size_t sweep_n_processes(void) {
    enum { MOST = 256 };
    return tt__n_cpus() < MOST ? (size_t)tt__n_cpus() : MOST;
}

void *sweep_shared(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    return at;
}

int sweep_deal_out(void (*share)(size_t number, size_t n)) {
    const size_t n = sweep_n_processes();
    pid_t *pids = calloc(n, sizeof *pids);
    int bad = 0;
    assert_non_null(pids);
    fflush(NULL);
    for (size_t i = 0; i < n; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            share(i, n);
    }
    for (size_t i = 0; i < n; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        if (WIFSIGNALED(status))
            fprintf(stderr, "process %zu was ended by signal %d\n", i, WTERMSIG(status));
        bad += status != 0;
    }
    free(pids);
    return bad;
}

/* In a process of its own: those that are forked later could not use it. */
static bool has_device(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(!device_open());
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int sweep_main(const char *name, void (*test)(void **state)) {
    const struct CMUnitTest tests[] = {{name, test, NULL, NULL, NULL}};
    list_shapes();
    return has_device() ? cmocka_run_group_tests_name(name, tests, NULL, NULL) : device_missing();
}
