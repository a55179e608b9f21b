/*
 * Tiles of the kernels that permute tensors of any size: their argument (kernel_templates/permute_any.cuh),
 * and the rule that chooses one. What the compiler must know of a tile is few numbers, so a handful of cubins
 * do for all permutations of a GPU.
 */
#ifndef TT_KERNEL_EXPRESSION_PERMUTE_ANY_H
#define TT_KERNEL_EXPRESSION_PERMUTE_ANY_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel_templates/permute_any.cuh"
#include "kernel_templates/permute_tile.cuh"

typedef enum tt__tile_kind {
    TT__TILE_ROWS,     /* whole rows of both sides, without shared memory */
    TT__TILE_GATHERED, /* through shared memory, element by element */
    TT__TILE_TURNED, /* for 1 and 2 bytes: words are turned in registers. No dimension is read and written */
    TT__TILE_JOINED, /* for 1 and 2 bytes: read as words that begin anywhere, gathered into words */
    TT__TILE_KINDS
} tt__tile_kind;

typedef struct tt__tile {
    tt__tile_kind kind;
    long long blocks;
    int shared_bytes, elements; /* of a tile */
    int load, store;            /* bytes of vectors */
    int unit;                   /* words that a thread loads at once (turned, joined) */
    bool aligned;               /* runs begin where vectors of 16 bytes do */
    int dense;                  /* elements that are written side by side */
    permute_any argument;
} tt__tile;

/* The tile that is expected to be the fastest one on a device with so many multiprocessors. */
bool tt__tile_choose(tt__tile *out, const permute_shape *shape, int sm_count);

/* The template that has tiles of this kind, as permute_any() counts them in annotations. */
int tt__tile_template_of(tt__tile_kind kind);
/* The template of that tile; -1: there is none. Most tiles need not be compared for it. */
int tt__tile_template(const permute_shape *shape, int sm_count);
/* Bytes of shared memory that no tile exceeds. */
enum { TT__TILE_SHARED_MAX = 64 * 1024 };

#endif
