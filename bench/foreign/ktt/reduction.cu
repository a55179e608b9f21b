// KTT's reduction, by J. Filipovic and others.
//@ kernel    reduce
//@ problem   n 67108864
//@ require   n % 4 = 0
//@ buffer    src f32 n in index (float)(((unsigned)i*2654435761u>>8)%7)-3
//@ buffer    dst f32 n1 + 4 inout zeros
//@ buffer    tmp f32 n2 + 4 scratch
//@ buffer    right f64 1 in
//@ param     WORK_GROUP_SIZE_X 32 64 128 256 512
//@ param     UNBOUNDED_WG 0 1
//@ param     WG_PER_SM 0 1 2 4 8 16
//@ param     VECTOR_SIZE 1 2 4
//@ param     USE_ATOMICS 0 1
//@ derived   WG_NUM WG_PER_SM * sm_count
//@ where     UNBOUNDED_WG = 1 AND WG_PER_SM = 0 OR UNBOUNDED_WG = 0 AND WG_PER_SM > 0
//@ where     UNBOUNDED_WG = 1 OR USE_ATOMICS = 1
//@ where     UNBOUNDED_WG = 0 OR WORK_GROUP_SIZE_X >= 32
// Partial sums left after each launch. Without atomics, KTT's launcher repeats the kernel; the total is odd.
//@ let       w WORK_GROUP_SIZE_X * VECTOR_SIZE
//@ let       n1 iif(USE_ATOMICS = 1, 1, ceil_div(n, w))
//@ let       n2 ceil_div(n1, w)
//@ let       n3 ceil_div(n2, w)
//@ let       n4 ceil_div(n3, w)
//@ let       n5 ceil_div(n4, w)
//@ let       n6 ceil_div(n5, w)
//@ let       n7 ceil_div(n6, w)
//@ where     n7 = 1
//@ block     WORK_GROUP_SIZE_X
//@ grid      iif(UNBOUNDED_WG = 1, ceil_div(n, w), WG_NUM)
//@ args      src, dst, u32 n, 0u, 0u
//@ kernel    reduce
//@ when      n1 > 1
//@ block     WORK_GROUP_SIZE_X
//@ grid      n2
//@ args      dst, tmp, u32 n1, 0u, 0u
//@ kernel    reduce
//@ when      n1 > 1
//@ block     WORK_GROUP_SIZE_X
//@ grid      n3
//@ args      tmp, dst, u32 n2, 0u, 0u
//@ kernel    reduce
//@ when      n3 > 1
//@ block     WORK_GROUP_SIZE_X
//@ grid      n4
//@ args      dst, tmp, u32 n3, 0u, 0u
//@ kernel    reduce
//@ when      n3 > 1
//@ block     WORK_GROUP_SIZE_X
//@ grid      n5
//@ args      tmp, dst, u32 n4, 0u, 0u
//@ kernel    reduce
//@ when      n5 > 1
//@ block     WORK_GROUP_SIZE_X
//@ grid      n6
//@ args      dst, tmp, u32 n5, 0u, 0u
//@ kernel    reduce
//@ when      n5 > 1
//@ block     WORK_GROUP_SIZE_X
//@ grid      n7
//@ args      tmp, dst, u32 n6, 0u, 0u
//@ default   WORK_GROUP_SIZE_X=256 UNBOUNDED_WG=1 WG_PER_SM=0 VECTOR_SIZE=1 USE_ATOMICS=1
//@ data      plain
//@ block     1024
//@ grid      1
//@ args      src, right, i64 n
//@ verify    difference
//@ block     1
//@ grid      1
//@ args      error, dst, right
//@ metric    gbps 4 * n / time_ns

// The data are whole numbers from -3 to 3, so every order of additions gives the same sum.
extern "C" __global__ void plain(const float *src, double *right, long long n) {
    __shared__ double sums[1024];
    double sum = 0;
    for (long long i = threadIdx.x; i < n; i += 1024)
        sum += src[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 1024; i++)
            sum += sums[i];
        *right = sum;
    }
}

extern "C" __global__ void difference(double *error, const float *dst, const double *right) {
    *error = dst[0] == *right ? 0 : 1;
}

#if VECTOR_SIZE == 1
typedef float VEC;
#elif VECTOR_SIZE == 2
typedef float2 VEC;
#else
typedef float4 VEC;
#endif
extern "C" __global__ void reduce(const VEC *, float *, unsigned, unsigned, unsigned);
#include "../sources/KTT/Examples/Reduction/Reduction.cu"
