// The limit every transpose is held against: a copy of as many bytes, read and written in address order,
// VEC bytes an access, UNROLL accesses in flight per thread. Source and destination are dense.
//
//@ kernel   copy_linear
//@ op       copy
//@ param    VEC        4 8 16
//@ runtime  THREADS    128 256 512 1024
//@ param    UNROLL     1 2 4 8
//@ runtime  STREAM     0 1
//@ param    KEEP       0 1
//@ derived  WHOLE      rows * cols * batch * elem_size % 131072 = 0 AND rows * cols * batch * elem_size < 17179869184
//@ where    align >= VEC
//@ where    VEC * UNROLL >= 8
//@ where    KEEP = 0 OR (cc >= 80 AND STREAM = 0 AND VEC = 16 AND rows * cols * batch * elem_size > l2_bytes)
//@ launch   early
//@ block    THREADS
//@ grid     ceil_div(rows * cols * batch * elem_size, THREADS * UNROLL * VEC)
//@ args     dst, src, i64 rows * cols * batch * elem_size, i32 STREAM
//@ default  VEC=16 THREADS=256 UNROLL=4 STREAM=0 KEEP=0

#if VEC == 4
typedef unsigned int vec;
#elif VEC == 8
typedef uint2 vec;
#else
typedef uint4 vec;
#endif

#include "early.cuh"
#include "keep.cuh"

// WHOLE: so many bytes that every block has its share to the full, whatever a block takes, and no more than 2^32
// vectors. A small copy is so short that each instruction before the first load shows.
#if WHOLE
typedef unsigned index;
#else
typedef long long index;
#endif

// THREADS and STREAM share one cubin: the copy is there to compare with, and shall not hold up what is compared.
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
                held[u] = KEEP ? load_kept(&from[first + u * threads]) : from[first + u * threads];
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

    // What is left when the size is no multiple of VEC: the first threads take a byte each.
    if (!WHOLE && blockIdx.x == 0 && threadIdx.x < bytes - n * VEC)
        dst[n * VEC + threadIdx.x] = src[n * VEC + threadIdx.x];
}
