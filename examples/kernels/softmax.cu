// The softmax of each row, in half precision. Each configuration is an instance of a kernel template. It has no
// extern "C", because the annotations name the instance.
//
//@ kernel    softmax<T, THREADS, ITEMS>
//@ problem   rows 8192
//@ problem   cols 2048
//@ type      T f16 bf16
//@ buffer    x T rows * cols in normal
//@ buffer    y T rows * cols out
//@ param     THREADS 64 128 256 512 1024
//@ param     ITEMS 1 2 4 8 16 32
//@ where     THREADS * ITEMS >= cols AND THREADS * ITEMS < 2 * cols + 1024
//@ block     THREADS
//@ grid      rows
//@ args      y, x, i32 cols
//@ default   THREADS=256 ITEMS=8
//@ reference softmax_reference<T>
//@ block     32
//@ grid      rows
//@ args      y, x, i32 cols
//@ tolerance abs 1e-5 rel 2e-2
//@ metric    gbps 2 * rows * cols * elem_size / time_ns

#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ float to_float(__half x) { return __half2float(x); }
static __device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
static __device__ void store(__half *p, float x) { *p = __float2half(x); }
static __device__ void store(__nv_bfloat16 *p, float x) { *p = __float2bfloat16(x); }

struct largest {
    static __device__ float of(float a, float b) { return fmaxf(a, b); }
};
struct sum {
    static __device__ float of(float a, float b) { return a + b; }
};

// The largest or the sum of a block's values, in every thread.
template <class Op, int N> __device__ float of_block(float v) {
    __shared__ float partial[32];
    for (int d = 16; d > 0; d /= 2)
        v = Op::of(v, __shfl_xor_sync(0xffffffffu, v, d));
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    __syncthreads();
    v = partial[0];
    for (int i = 1; i < N / 32; i++)
        v = Op::of(v, partial[i]);
    __syncthreads();
    return v;
}

template <class Element, int N, int PER_THREAD>
__global__ void __launch_bounds__(N) softmax(Element *y, const Element *x, int cols) {
    const long long row = (long long)blockIdx.x * cols;
    float v[PER_THREAD], m = -3e38f, s = 0;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const int i = k * N + threadIdx.x;
        v[k] = i < cols ? to_float(x[row + i]) : -3e38f;
        m = fmaxf(m, v[k]);
    }
    m = of_block<largest, N>(m);
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        v[k] = __expf(v[k] - m);
        s += k * N + threadIdx.x < cols ? v[k] : 0;
    }
    s = 1 / of_block<sum, N>(s);
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++)
        if (k * N + (int)threadIdx.x < cols)
            store(&y[row + k * N + threadIdx.x], v[k] * s);
}

template <class Element> __global__ void softmax_reference(Element *y, const Element *x, int cols) {
    const long long row = (long long)blockIdx.x * cols;
    float m = -3e38f, s = 0;
    for (int i = 0; i < cols; i++)
        m = fmaxf(m, to_float(x[row + i]));
    for (int i = 0; i < cols; i++)
        s += expf(to_float(x[row + i]) - m);
    for (int i = threadIdx.x; i < cols; i += 32)
        store(&y[row + i], expf(to_float(x[row + i]) - m) / s);
}
