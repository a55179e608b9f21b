// A transpose in place of a dense matrix: dst, rows x cols, becomes cols x rows. Its variables are those of a transpose.
// `scratch` has one percent of the matrix, and at least 16 bytes.
//
//@ defines   transpose_rect_in_place
//@ problem   rows
//@ problem   cols
//@ problem   elem_size  4
//@ problem   lds        cols
//@ problem   ldd        rows
//@ problem   batch      1
//@ problem   src_stride rows * lds
//@ problem   dst_stride cols * ldd
//@ problem   align      align_of(lds * elem_size, ldd * elem_size)
//@ require   elem_size IN (1, 2, 4, 8, 16) AND align IN (1, 2, 4, 8, 16) AND align >= elem_size
//@ require   lds = cols AND ldd = rows AND batch = 1 AND src_stride = rows * cols AND dst_stride = rows * cols
//@ require   cols <= 17592186044416 / rows
//@ require   align <= align_of(lds * elem_size, ldd * elem_size)
//@ shape     rows cols
//@ near      rows 0.75
//@ near      cols 0.75
//@ near      lds 0
//@ near      ldd 0
//@ near      src_stride 0
//@ near      dst_stride 0
//@ near      align 0.5
//@ near      elem_size 1 same
//@ sample    rows=16384 cols=8192
//@ sample    rows=8191 cols=10001
//@ sample    rows=16777216 cols=3
//@ sample    rows=3 cols=16777216
//@ sample    rows=480 cols=640
//@ sample    rows=1 cols=1024
//@ moves     bytes
//@ prefer    transpose_rect_line transpose_rect_swap transpose_rect_panels transpose_rect_shuffle
//@ buffer    dst     elem rows * cols inout random
//@ buffer    scratch u8   max(16, rows * cols * elem_size / 100) scratch
//@ metric    gbps 2 * rows * cols * elem_size / time_ns
//
// No plain kernel transposes in place. So the elements are made of their places, and the reference makes those that each place
// must get.
//@ data      transpose_rect_in_place_data
//@ block     256
//@ grid      min(ceil_div(rows * cols, 256), 262144)
//@ args      dst, i64 rows * cols
//@ reference transpose_rect_in_place_reference
//@ block     256
//@ grid      min(ceil_div(rows, 256), 8192), min(cols, 32768)
//@ args      dst, i64 rows, i64 cols

#include "../common.cuh"

static __device__ unsigned long long mixed(unsigned long long i) {
    i = (i ^ i >> 31) * 0x7fb5d329728ea185ull;
    i = (i ^ i >> 27) * 0x81dadef4bc2dd44dull;
    return i ^ i >> 33;
}

static __device__ elem element_of(unsigned long long i) {
#if ELEM_SIZE == 16
    const unsigned long long a = mixed(2 * i + 1), b = mixed(2 * i + 2);
    return make_uint4((unsigned)a, (unsigned)(a >> 32), (unsigned)b, (unsigned)(b >> 32));
#elif ELEM_SIZE == 8
    const unsigned long long a = mixed(i + 1);
    return make_uint2((unsigned)a, (unsigned)(a >> 32));
#else
    return (elem)mixed(i + 1);
#endif
}

extern "C" __global__ void transpose_rect_in_place_data(elem *dst, long long n) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
        dst[i] = element_of(i);
}

extern "C" __global__ void transpose_rect_in_place_reference(elem *dst, long long rows, long long cols) {
    for (long long c = blockIdx.y; c < cols; c += gridDim.y)
        for (long long r = (long long)blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += (long long)gridDim.x * blockDim.x)
            dst[c * rows + r] = element_of(r * cols + c);
}
