// A kernel template to start from. Lines that begin with //@ say what may vary. The rest is CUDA C++. This one
// transposes a matrix: each block moves a tile through shared memory. Change it, then run
//
//     tune check FILE.cu                        annotations, size of the space, registers; needs no GPU
//     tune --template FILE.cu --sizes 4096      lets it compete with the built-in ones; verifies it bit for bit
//
// docs/annotations.md of tiletune explains all annotations and expressions.
//
// The extern "C" kernel below. Its name also names the template, so choose a new one.
//@ kernel   my_transpose
//
// The operation: transpose, transpose_in_place, copy or axpby. All templates of an operation compete.
//@ op       transpose
//
// A parameter: its name, then its values (integers or words). The code has it as a macro.
//@ param    TILE   16 32 64
//@ param    LINES  4 8 16
//@ param    PAD    0 1
//
// The same without a macro. Its value goes through `args`, so all values share one compilation.
//@ runtime  ORDER  0 1
//
// (A line `derived EDGES rows % TILE > 0` would be a macro that follows from the problem and other macros.)
//
// Conditions on parameters, problem and device. Configurations that do not meet all of them are never tried.
//@ where    TILE % LINES = 0 AND TILE * LINES <= max_threads_per_block
//@ where    align >= elem_size AND batch = 1
//
// Threads of a block, in x, y, z.
//@ block    TILE, LINES
//
// Blocks, in x, y, z. Use x alone if you can: CUDA limits y and z to 65535.
//@ grid     ceil_div(rows, TILE) * ceil_div(cols, TILE)
//
// Dynamic shared memory in bytes. Left out, it is 0.
//@ shared   TILE * (TILE + PAD) * elem_size
//
// The kernel's arguments in order. An argument is dst, src, or a type (i32 u32 i64 u64 f32 f64) and an expression.
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i32 ORDER
//
// A value for every parameter. It is used where nothing was measured, and gains are counted from it.
//@ default  TILE=32 LINES=8 PAD=1 ORDER=0

// The macro ELEM_SIZE is always defined. A transpose only moves elements, so their size is enough.
#if ELEM_SIZE == 1
typedef unsigned char elem;
#elif ELEM_SIZE == 2
typedef unsigned short elem;
#elif ELEM_SIZE == 4
typedef unsigned int elem;
#elif ELEM_SIZE == 8
typedef uint2 elem;
#else
typedef uint4 elem;
#endif

// src is rows x cols, with lds elements from one row to the next. dst is cols x rows, with ldd elements.
extern "C" __global__ void my_transpose(elem *__restrict__ dst, const elem *__restrict__ src, long long rows,
                                        long long cols, long long lds, long long ldd, int order) {
    extern __shared__ elem tile[]; // rows of TILE + PAD: the padding keeps columns in different banks

    // Blocks are numbered along the rows of the source (ORDER 0) or down its columns (ORDER 1).
    const unsigned down = (unsigned)((rows + TILE - 1) / TILE), across = (unsigned)((cols + TILE - 1) / TILE);
    const long long row0 = (long long)(order == 0 ? blockIdx.x / across : blockIdx.x % down) * TILE;
    const long long col0 = (long long)(order == 0 ? blockIdx.x % across : blockIdx.x / down) * TILE;
    const int x = threadIdx.x;

    for (int y = threadIdx.y; y < TILE; y += LINES)
        if (row0 + y < rows && col0 + x < cols)
            tile[y * (TILE + PAD) + x] = src[(row0 + y) * lds + col0 + x];
    __syncthreads();
    for (int y = threadIdx.y; y < TILE; y += LINES)
        if (col0 + y < cols && row0 + x < rows)
            dst[(col0 + y) * ldd + row0 + x] = tile[x * (TILE + PAD) + y];
}
