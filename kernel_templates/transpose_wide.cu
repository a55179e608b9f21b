// Elements of 16 bytes need no turning: each is copied to its place in shared memory and from there to its
// place in the destination, an element a thread and access. The copy into shared memory needs no registers
// and no waiting, and edges need no path of their own.
//
//@ kernel   transpose_wide
//@ op       transpose
//@ param    TILE_COLS  8 16 32
//@ param    TILE_ROWS  16 32 64
//@ param    THREADS    64 128 256 512
//@ runtime  ORDER      0 1
//@ derived  EDGES      cols % TILE_COLS > 0 OR rows % TILE_ROWS > 0
//@ where    elem_size = 16 AND align = 16
//@ where    TILE_COLS * TILE_ROWS / THREADS BETWEEN 2 AND 16 AND THREADS >= TILE_ROWS
//@ where    batch <= 65535
//@ block    THREADS
//@ grid     iif(ORDER = 0, ceil_div(cols, TILE_COLS), ceil_div(rows, TILE_ROWS)), iif(ORDER = 0, ceil_div(rows, TILE_ROWS), ceil_div(cols, TILE_COLS)), batch
//@ shared   TILE_COLS * TILE_ROWS * 16
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd, i64 src_stride, i64 dst_stride, i32 ORDER
//@ default  TILE_COLS=32 TILE_ROWS=32 THREADS=256 ORDER=1

typedef uint4 elem;

#define BANKED 8 // elements that span the 32 banks

// The CPU stand-in of the tests speaks no PTX.
#if __CUDA_ARCH__ >= 800 && !defined __HOSTCUDA__
static __device__ void copy_element(elem *to, const elem *from) {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned int)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}
static __device__ void wait_for_elements() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}
#else
static __device__ void copy_element(elem *to, const elem *from) {
    *to = *from;
}
static __device__ void wait_for_elements() {
    __syncthreads();
}
#endif

// Where an element stands: swizzled, so that a column is read without bank conflicts.
static __device__ int place(int row, int col) {
    return row * TILE_COLS + (col ^ row % BANKED);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_wide(elem *__restrict__ dst, const elem *__restrict__ src, long long rows, long long cols,
                   long long lds, long long ldd, long long src_stride, long long dst_stride, int order) {
    extern __shared__ elem tile[];

    // Blocks are numbered along the rows (ORDER 0) or down the columns (ORDER 1) of the source.
    const long long col0 = (long long)(order == 0 ? blockIdx.x : blockIdx.y) * TILE_COLS;
    const long long row0 = (long long)(order == 0 ? blockIdx.y : blockIdx.x) * TILE_ROWS;
    const int height = (int)min(rows - row0, (long long)TILE_ROWS);
    const int width = (int)min(cols - col0, (long long)TILE_COLS);
    const int t = threadIdx.x;

    src += blockIdx.z * src_stride + (row0 + t / TILE_COLS) * lds + col0 + t % TILE_COLS;
#pragma unroll
    for (int r = t / TILE_COLS; r < TILE_ROWS + t / TILE_COLS; r += THREADS / TILE_COLS) {
        if (!EDGES || (r < height && t % TILE_COLS < width))
            copy_element(&tile[place(r, t % TILE_COLS)], src);
        src += THREADS / TILE_COLS * lds;
    }
    wait_for_elements();

    dst += blockIdx.z * dst_stride + (col0 + t / TILE_ROWS) * ldd + row0 + t % TILE_ROWS;
#pragma unroll
    for (int c = t / TILE_ROWS; c < TILE_COLS + t / TILE_ROWS; c += THREADS / TILE_ROWS) {
        if (!EDGES || (c < width && t % TILE_ROWS < height))
            *dst = tile[place(t % TILE_ROWS, c)];
        dst += THREADS / TILE_ROWS * ldd;
    }
}
