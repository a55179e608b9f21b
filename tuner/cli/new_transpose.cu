// A kernel template to start from: lines that begin with //@ tell the tuner what it may vary, the rest is CUDA
// C++. As it is, it transposes correctly: each block carries a tile through shared memory. Change it, and then
//
//     tune check FILE.cu                        annotations, size of the space, registers; needs no GPU
//     tune --template FILE.cu --sizes 4096      tries it against the built-in ones, verified bit for bit
//
// kernel_templates/README.md of tiletune has all that annotations and expressions can say.
//
// The extern "C" symbol below. It names the template, too: give it a name of its own.
//@ kernel   my_transpose
//
// What it does: transpose, transpose_in_place or copy. All templates of one op compete.
//@ op       transpose
//
// What may be varied: a name, then its values (integers or words). Each is a macro in the code.
//@ param    TILE   16 32 64
//@ param    LINES  4 8 16
//@ param    PAD    0 1
//
// The same without a macro: the value goes through `args`, so that all values share one compilation.
//@ runtime  ORDER  0 1
//
// (A line `derived EDGES rows % TILE > 0` would be a macro that follows from the problem and other macros: nobody chooses it.)
//
// What must hold of parameters, problem and device. All lines must; others are never tried.
//@ where    TILE % LINES = 0 AND TILE * LINES <= max_threads_per_block
//@ where    align >= elem_size AND batch = 1
//
// Threads of a block, in x, y, z.
//@ block    TILE, LINES
//
// Blocks, in x, y, z. One number is best: y and z end at 65535.
//@ grid     ceil_div(rows, TILE) * ceil_div(cols, TILE)
//
// Dynamic shared memory in bytes. Left out, it is 0.
//@ shared   TILE * (TILE + PAD) * elem_size
//
// The kernel's arguments in order: dst, src, or a type (i32 u32 i64 u64 f32 f64) and an expression.
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i32 ORDER
//
// A value for every parameter: used where nothing has been measured, and what a winner is compared with.
//@ default  TILE=32 LINES=8 PAD=1 ORDER=0

// ELEM_SIZE is there without being declared. A transpose only moves elements: their bytes are enough.
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

// src is rows x cols with lds elements from one row to the next; dst is cols x rows with ldd.
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
