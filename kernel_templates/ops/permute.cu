// A permutation of a tensor's dimensions. dst is dense, and dim0 is its innermost dimension. stride0 and so on count elements
// of src from one index of that dimension to the next. A dimension that is not there is 1, and so is its stride.
// src/api/problem.c makes such problems. align divides both addresses, in bytes.
//
//@ defines   permute
//@ problem   dim0
//@ problem   dim1 1
//@ problem   dim2 1
//@ problem   dim3 1
//@ problem   dim4 1
//@ problem   dim5 1
//@ problem   dim6 1
//@ problem   dim7 1
//@ problem   dim8 1
//@ problem   dim9 1
//@ problem   dim10 1
//@ problem   dim11 1
//@ problem   dim12 1
//@ problem   dim13 1
//@ problem   dim14 1
//@ problem   dim15 1
//@ problem   stride0 1
//@ problem   stride1 1
//@ problem   stride2 1
//@ problem   stride3 1
//@ problem   stride4 1
//@ problem   stride5 1
//@ problem   stride6 1
//@ problem   stride7 1
//@ problem   stride8 1
//@ problem   stride9 1
//@ problem   stride10 1
//@ problem   stride11 1
//@ problem   stride12 1
//@ problem   stride13 1
//@ problem   stride14 1
//@ problem   stride15 1
//@ problem   elem_size 4
//@ problem   align 16
//@ macros    variables
//@ require   elem_size IN (1, 2, 4, 8, 16) AND align IN (1, 2, 4, 8, 16) AND align >= elem_size
//@ require   dim0 <= 17592186044416 / dim15 / dim14 / dim13 / dim12 / dim11 / dim10 / dim9 / dim8 / dim7 / dim6 / dim5 / dim4 / dim3 / dim2 / dim1
//@ require   stride0 <= 17592186044416 / dim0 AND stride1 <= 17592186044416 / dim1 AND stride2 <= 17592186044416 / dim2 AND stride3 <= 17592186044416 / dim3
//@ require   stride4 <= 17592186044416 / dim4 AND stride5 <= 17592186044416 / dim5 AND stride6 <= 17592186044416 / dim6 AND stride7 <= 17592186044416 / dim7
//@ require   stride8 <= 17592186044416 / dim8 AND stride9 <= 17592186044416 / dim9 AND stride10 <= 17592186044416 / dim10 AND stride11 <= 17592186044416 / dim11
//@ require   stride12 <= 17592186044416 / dim12 AND stride13 <= 17592186044416 / dim13 AND stride14 <= 17592186044416 / dim14 AND stride15 <= 17592186044416 / dim15
//@ shape     dim0 dim1 dim2 dim3
//@ near      stride0 0.25
//@ near      stride1 0.25
//@ near      stride2 0.25
//@ near      stride3 0.25
//@ near      stride4 0.25
//@ near      stride5 0.25
//@ near      stride6 0.25
//@ near      stride7 0.25
//@ near      stride8 0.25
//@ near      stride9 0.25
//@ near      stride10 0.25
//@ near      stride11 0.25
//@ near      stride12 0.25
//@ near      stride13 0.25
//@ near      stride14 0.25
//@ near      stride15 0.25
//@ near      align 0.5
//@ near      elem_size 1 same
//@ sample    dim0=2048 dim1=64 dim2=96 stride0=64 stride1=131072 stride2=1
//@ sample    dim0=75 dim1=96 dim2=75 stride0=96 stride1=1 stride2=7200
//@ sample    dim0=64 dim1=2048 dim2=16 dim3=8 stride0=1 stride1=1024 stride2=64 stride3=2097152
//@ sample    dim0=39 dim1=6 dim2=9 dim3=50 stride0=9 stride1=17550 stride2=1 stride3=351
//@ sample    dim0=2 dim1=64 dim2=2 dim3=4096 stride0=128 stride1=2 stride2=1 stride3=256
//@ prefer    permute_any_rows permute_any_tiled permute_any_small permute_rows permute_tiled permute_flat permute_shifted
//@ moves     bytes
//@ buffer    src elem 1 + (dim0 - 1) * stride0 + (dim1 - 1) * stride1 + (dim2 - 1) * stride2 + (dim3 - 1) * stride3 + (dim4 - 1) * stride4 + (dim5 - 1) * stride5 + (dim6 - 1) * stride6 + (dim7 - 1) * stride7 + (dim8 - 1) * stride8 + (dim9 - 1) * stride9 + (dim10 - 1) * stride10 + (dim11 - 1) * stride11 + (dim12 - 1) * stride12 + (dim13 - 1) * stride13 + (dim14 - 1) * stride14 + (dim15 - 1) * stride15 in  random
//@ buffer    dst elem dim0 * dim1 * dim2 * dim3 * dim4 * dim5 * dim6 * dim7 * dim8 * dim9 * dim10 * dim11 * dim12 * dim13 * dim14 * dim15 out
//@ metric    gbps 2 * dim0 * dim1 * dim2 * dim3 * dim4 * dim5 * dim6 * dim7 * dim8 * dim9 * dim10 * dim11 * dim12 * dim13 * dim14 * dim15 * elem_size / time_ns
//
// One thread an element, in a grid of any size: nothing that could be wrong.
//@ reference permute_reference
//@ block     256
//@ grid      min(ceil_div(dim0 * dim1 * dim2 * dim3 * dim4 * dim5 * dim6 * dim7 * dim8 * dim9 * dim10 * dim11 * dim12 * dim13 * dim14 * dim15, 256), 262144)
//@ args      dst, src

#include "../common.cuh"

extern "C" __global__ void permute_reference(elem *dst, const elem *src) {
    const long long dims[] = {DIM0, DIM1, DIM2, DIM3, DIM4, DIM5, DIM6, DIM7, DIM8, DIM9, DIM10, DIM11, DIM12, DIM13, DIM14, DIM15};
    const long long strides[] = {STRIDE0, STRIDE1, STRIDE2, STRIDE3, STRIDE4, STRIDE5, STRIDE6, STRIDE7, STRIDE8, STRIDE9, STRIDE10, STRIDE11, STRIDE12, STRIDE13, STRIDE14, STRIDE15};
    long long n = 1;
    for (int k = 0; k < 16; k++)
        n *= dims[k];
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
        long long rest = i, from = 0;
        for (int k = 0; k < 16; k++) {
            from += rest % dims[k] * strides[k];
            rest /= dims[k];
        }
        dst[i] = src[from];
    }
}
