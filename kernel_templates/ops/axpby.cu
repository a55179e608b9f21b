// y = a * x + b * y, element by element.
//
//@ defines   axpby
//@ problem   n 16777216
//@ type      T f32 f64
//@ sample    n=16777216
//@ sample    n=1000003
//@ buffer    x T n in
//@ buffer    y T n inout
//@ scalar    a T 2.5
//@ scalar    b T 0.5
//@ metric    gbps   3 * n * elem_size / time_ns
//@ metric    gflops 3 * n / time_ns
//@ tolerance rel 1e-6 scale 1e-7
//
//@ reference axpby_reference
//@ block     256
//@ grid      min(ceil_div(n, 256), 1048576)
//@ args      y, x, a, b, i64 n

extern "C" __global__ void axpby_reference(T *y, const T *x, T a, T b, long long n) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
        y[i] = a * x[i] + b * y[i];
}
