// What kernels of permutations get as an argument, so that one cubin serves all sizes. src/kernel/expression/permute_any.c fills
// it in. It is C and C++.
//
// A tile has the innermost dimensions of the source and those of the destination. It is read as rows, which are dense in the source
// (`rows` of `cols` elements), and written as runs of the destination (`runs` of `along` elements). Numbers below 2^16 are divided by
// a multiplication.

// Bits of the two dimensions that a tile has a part of. Numbers of a tile are below them.
enum { PERMUTE_ANY_OUTER = 12, PERMUTE_ANY_INNER = 24, PERMUTE_ANY_CUT = 30, PERMUTE_ANY_BELOW = (1 << PERMUTE_ANY_CUT) - 1 };

// A dimension of tiles: how many there are, and elements from one to the next. Of the last tile of a dimension with a bit `cut`, fewer
// elements are in the tensor.
typedef struct permute_outer {
    unsigned tiles, multiplier, shift, cut;
    long long src, dst;
} permute_outer;

// A dimension in a tile: its size, and what an index adds to two numbers. The second one has bits of last tiles, too, in which only
// `left` indices are in the tensor.
typedef struct permute_inner {
    unsigned multiplier;
    unsigned short size, left;
    unsigned first, second;
} permute_inner;

// A number of a whole tile, and of a last one with this bit.
typedef struct permute_count {
    unsigned all, left, cut;
} permute_count;

typedef struct permute_any {
    unsigned n_outer, n_rows, n_runs, n_along; // dimensions
    unsigned rows, runs;
    permute_count cols, along;
    unsigned col_step;                         // elements from one column to the next
    unsigned row_vectors, row_multiplier;      // vectors of a row
    unsigned run_vectors, run_multiplier;      // of a run
    unsigned pitch, plane;                     // of shared memory
    unsigned runs_at, along_at, held_at;       // bytes in shared memory; the table of rows is at 0
    unsigned span;                             // bytes of the source from a tile's first row to its last one's end
    long long reach;                           // elements of the source
    // Of rows: elements of the source; in permute_any_rows and of the destination. Of runs: elements of the destination, and of shared
    // memory. Of elements along a run: elements of shared memory.
    permute_inner inner[PERMUTE_ANY_INNER];
    permute_outer outer[PERMUTE_ANY_OUTER];
} permute_any;
