// The copy that transposes are compared with: VEC bytes an access in address order, UNROLL accesses in flight a thread. Source
// and destination are dense.
//@ kernel   copy_linear
//@ op       copy
//@ param    VEC        4 8 16
//@ runtime  THREADS    128 256 512 1024
//@ param    UNROLL     1 2 4 8
//@ runtime  STREAM     0 1
//@ param    KEEP       0 1
//@ derived  WHOLE      bytes % 131072 = 0 AND bytes < 17179869184
//@ where    VEC * UNROLL >= 8
//@ where    KEEP = 0 OR (cc >= 80 AND STREAM = 0 AND VEC = 16 AND bytes > l2_bytes)
//@ launch   early
//@ block    THREADS
//@ grid     ceil_div(bytes, THREADS * UNROLL * VEC)
//@ args     dst, src, i64 bytes, i32 STREAM
//@ default  VEC=16 THREADS=256 UNROLL=4 STREAM=0 KEEP=0

#include "common.cuh"
typedef vec_of<VEC>::type vec;

// WHOLE: every block has its full share, and there are at most 2^32 vectors. In a small copy each instruction before the
// first load shows.
#if WHOLE
typedef unsigned index;
#else
typedef long long index;
#endif

// THREADS and STREAM are run-time parameters, so that the copy compiles fast.
extern "C" __global__ void __launch_bounds__(1024)
    copy_linear(unsigned char *dst, const unsigned char *src, long long bytes, int stream) {
    const int threads = blockDim.x;
    const long long n = bytes / VEC;
    const index first = (index)blockIdx.x * (threads * UNROLL) + threadIdx.x;
    const vec *from = (const vec *)src;
    vec *to = (vec *)dst;
    wait_for_earlier();

    if (WHOLE || (blockIdx.x + 1ll) * (threads * UNROLL) <= n) {
        vec held[UNROLL];
        if (stream) {
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                held[u] = __ldcs(&from[first + u * threads]);
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                __stcs(&to[first + u * threads], held[u]);
        } else {
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                held[u] = KEEP ? fetch(&from[first + u * threads]) : from[first + u * threads];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                to[first + u * threads] = held[u];
#if KEEP
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                let_go(&from[first + u * threads]);
#endif
        }
    } else {
        for (int u = 0; u < UNROLL; u++)
            if (first + u * threads < n)
                to[first + u * threads] = from[first + u * threads];
    }

    // The size may be no multiple of VEC: the first threads take a byte of the rest each.
    if (!WHOLE && blockIdx.x == 0 && threadIdx.x < bytes - n * VEC)
        dst[n * VEC + threadIdx.x] = src[n * VEC + threadIdx.x];
}
