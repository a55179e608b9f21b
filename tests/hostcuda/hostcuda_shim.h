/*
 * The CUDA C++ that kernels use, for the host compiler (C++17, without other headers, because compile time
 * counts). The NVRTC stand-in puts it before every program. Threads of a block take turns on one CPU thread,
 * so shared memory is static storage, and an atomic is a plain operation.
 */
#ifndef HOSTCUDA_SHIM_H
#define HOSTCUDA_SHIM_H

#include "hostcuda_env.h"
#include "hostcuda_vectors.h"

#define __HOSTCUDA__   1
#define __CUDACC__     1
#define __CUDACC_RTC__ 1
#define __global__
#define __device__
#define __host__
#define __constant__ __attribute__((visibility("default")))
#define __managed__
#define __grid_constant__
#define __shared__        static
#define __forceinline__   inline __attribute__((always_inline))
#define __inline_hint__   inline
#define __noinline__      __attribute__((noinline))
#define __align__(n)      __attribute__((aligned(n)))
#define __builtin_align__ __align__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define HOSTCUDA_EXPORT extern "C" __attribute__((visibility("default")))

using size_t = decltype(sizeof 0);
using ptrdiff_t = decltype((char *)0 - (char *)0);
extern "C" {
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int printf(const char *, ...);
}

static hostcuda_env hostcuda;
HOSTCUDA_EXPORT hostcuda_env *hostcuda_get_env(void) {
    return &hostcuda;
}

static const uint3 &threadIdx = hostcuda.thread;
static const uint3 &blockIdx = hostcuda.block;
static const uint3 &blockDim = hostcuda.block_dim;
static const uint3 &gridDim = hostcuda.grid_dim;
static const int warpSize = HOSTCUDA_WARP;

/* What cuTensorMapEncodeTiled of the stand-in was told, 128 bytes like the real one. Nothing emulates TMA. The
 * guard of <cuda.h> keeps its types out. */
#define __cuda_cuda_h__
struct alignas(64) CUtensorMap_st {
    unsigned char *hostcuda_at;
    unsigned long long hostcuda_dims[5], hostcuda_strides[4];
    unsigned short hostcuda_box[5];
    unsigned char hostcuda_steps[5], hostcuda_rank, hostcuda_type, hostcuda_swizzle, hostcuda_l2,
        hostcuda_fill;
};
typedef struct CUtensorMap_st CUtensorMap;

/* ---- How the driver stand-in calls a kernel: HOSTCUDA_KERNEL(name, launch bounds) follows its body ---- */

template <class T> struct hostcuda_is_pointer { static constexpr unsigned value = 0; };
template <class T> struct hostcuda_is_pointer<T *> { static constexpr unsigned value = 1; };

template <size_t... I> struct hostcuda_indices {};
template <size_t N, size_t... I> struct hostcuda_count : hostcuda_count<N - 1, N - 1, I...> {};
template <size_t... I> struct hostcuda_count<0, I...> { using type = hostcuda_indices<I...>; };

/* The driver copies arguments, which may lie at any address. */
template <class T> struct hostcuda_copy {
    alignas(T) char bytes[sizeof(T)];
    explicit hostcuda_copy(const void *from) {
        memcpy(bytes, from, sizeof bytes);
    }
};
template <class... P, size_t... I>
static inline void hostcuda_unpack(void (*f)(P...), void **args, hostcuda_indices<I...>) {
    f(*(P *)hostcuda_copy<P>(args[I]).bytes...);
}
template <class... P>
static inline __attribute__((always_inline)) void hostcuda_call(void (*f)(P...), void **args) {
    hostcuda_unpack(f, args, typename hostcuda_count<sizeof...(P)>::type());
}
template <class... P>
constexpr hostcuda_kernel hostcuda_describe(void (*)(P...), void (*call)(void **), unsigned max_threads) {
    return {call, max_threads, sizeof...(P), {{sizeof(P), hostcuda_is_pointer<P>::value}...}};
}
constexpr unsigned hostcuda_bounds(unsigned first = 0, ...) {
    return first;
}

#define HOSTCUDA_KERNEL(name, bounds)                                                                        \
    static void hostcuda_call_##name(void **args) {                                                          \
        hostcuda_call(name, args);                                                                           \
    }                                                                                                        \
    HOSTCUDA_EXPORT const hostcuda_kernel hostcuda_kernel_##name =                                           \
        hostcuda_describe(name, hostcuda_call_##name, hostcuda_bounds bounds);

/* Of a kernel that is not extern "C", given in parentheses: HOSTCUDA_INSTANCE(name, (reduce<float>)) */
#define HOSTCUDA_INSTANCE(name, function)                                                                    \
    static void hostcuda_call_##name(void **args) {                                                          \
        hostcuda_call(&HOSTCUDA_BARE function, args);                                                        \
    }                                                                                                        \
    HOSTCUDA_EXPORT const hostcuda_kernel hostcuda_kernel_##name =                                           \
        hostcuda_describe(&HOSTCUDA_BARE function, hostcuda_call_##name, 0);
#define HOSTCUDA_BARE(...) __VA_ARGS__

/* ---- Threads among each other ------------------------------------------------------------------------ */

static inline void __syncthreads() {
    hostcuda.block_barrier();
}
static inline void __syncwarp(unsigned mask = 0xffffffffu) {
    hostcuda.warp_barrier(mask);
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) {
    hostcuda.yield();
}
static inline void __trap() {
    hostcuda.trap();
}
#ifdef HOSTCUDA_ALIGNMENT
/* The compiler adds a call of this, with its place, before an access that is not aligned. */
extern "C" __attribute__((no_sanitize("alignment"))) void __ubsan_handle_type_mismatch_v1_abort(void *found,
                                                                                                void *) {
    const struct place {
        const char *file;
        unsigned line;
    } *at = (const struct place *)found;
    hostcuda.misaligned(at->file, at->line);
}
#endif
static inline long long clock64() {
    return (long long)hostcuda.clock();
}
static inline unsigned long long globaltimer() {
    return hostcuda.clock();
}
static inline unsigned __activemask() {
    return 0xffffffffu;
}

/* Every lane of `mask` leaves its value, then reads that of the lane in its warp it asks for. */
template <class T> static T hostcuda_exchange(unsigned mask, T value, unsigned lane) {
    static_assert(sizeof(T) <= sizeof(unsigned long long), "a shuffle moves at most 8 bytes");
    T got;
    memcpy(&hostcuda.exchange[hostcuda.linear], &value, sizeof value);
    hostcuda.warp_barrier(mask);
    memcpy(&got, &hostcuda.exchange[hostcuda.linear / HOSTCUDA_WARP * HOSTCUDA_WARP + lane], sizeof got);
    hostcuda.warp_barrier(mask);
    return got;
}
static inline unsigned hostcuda_lane() {
    return hostcuda.linear % HOSTCUDA_WARP;
}
template <class T> static T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
    const unsigned lane = hostcuda_lane(), w = (unsigned)width - 1;
    return hostcuda_exchange(mask, value, (lane & ~w) | ((unsigned)from & w));
}
template <class T> static T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    const unsigned lane = hostcuda_lane(), w = (unsigned)width - 1;
    return hostcuda_exchange(mask, value, (lane & w) >= delta ? lane - delta : lane);
}
template <class T> static T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    const unsigned lane = hostcuda_lane(), w = (unsigned)width - 1;
    return hostcuda_exchange(mask, value, (lane & w) + delta <= w ? lane + delta : lane);
}
template <class T> static T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    const unsigned lane = hostcuda_lane(), w = (unsigned)width - 1, from = lane ^ (unsigned)bits;
    return hostcuda_exchange(mask, value, from <= (lane | w) ? from : lane);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const unsigned long long *slot = hostcuda.exchange + hostcuda.linear / HOSTCUDA_WARP * HOSTCUDA_WARP;
    unsigned votes = 0;
    hostcuda.exchange[hostcuda.linear] = predicate != 0;
    hostcuda.warp_barrier(mask);
    for (unsigned lane = 0; lane < HOSTCUDA_WARP; lane++)
        votes |= (unsigned)(slot[lane] & 1) << lane;
    hostcuda.warp_barrier(mask);
    return votes & mask;
}
static inline int __any_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, predicate) != 0;
}
static inline int __all_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, !predicate) == 0;
}

/* ---- Numbers ------------------------------------------------------------------------------------------ */

template <class To, class From> static inline To hostcuda_bits(From from) {
    To to;
    static_assert(sizeof to == sizeof from, "as many bits");
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline unsigned __float_as_uint(float v) {
    return hostcuda_bits<unsigned>(v);
}
static inline int __float_as_int(float v) {
    return hostcuda_bits<int>(v);
}
static inline float __uint_as_float(unsigned v) {
    return hostcuda_bits<float>(v);
}
static inline float __int_as_float(int v) {
    return hostcuda_bits<float>(v);
}
static inline long long __double_as_longlong(double v) {
    return hostcuda_bits<long long>(v);
}
static inline double __longlong_as_double(long long v) {
    return hostcuda_bits<double>(v);
}

#define HOSTCUDA_MATH(name)                                                                                  \
    static inline double name(double v) {                                                                    \
        return __builtin_##name(v);                                                                          \
    }                                                                                                        \
    static inline float name(float v) {                                                                      \
        return __builtin_##name##f(v);                                                                       \
    }                                                                                                        \
    static inline float name##f(float v) {                                                                   \
        return __builtin_##name##f(v);                                                                       \
    }
HOSTCUDA_MATH(fabs)
HOSTCUDA_MATH(floor)
HOSTCUDA_MATH(ceil)
HOSTCUDA_MATH(sqrt)
HOSTCUDA_MATH(exp)
HOSTCUDA_MATH(log)
HOSTCUDA_MATH(sin)
HOSTCUDA_MATH(cos)
template <class T> static inline T fma(T a, T b, T c) {
    return a * b + c;
}
static inline float fmaf(float a, float b, float c) {
    return a * b + c;
}
static inline float __fmaf_rn(float a, float b, float c) {
    return a * b + c;
}
static inline float rsqrt(float v) {
    return 1 / __builtin_sqrtf(v);
}
static inline double rsqrt(double v) {
    return 1 / __builtin_sqrt(v);
}
static inline float rsqrtf(float v) {
    return 1.0f / __builtin_sqrtf(v);
}
static inline float fminf(float a, float b) {
    return __builtin_fminf(a, b);
}
static inline float __expf(float x) {
    return __builtin_expf(x);
}
static inline float __sinf(float x) {
    return __builtin_sinf(x);
}
static inline float __cosf(float x) {
    return __builtin_cosf(x);
}
static inline float fmaxf(float a, float b) {
    return __builtin_fmaxf(a, b);
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

#define HOSTCUDA_LOAD(name)                                                                                  \
    template <class T> static inline T name(const T *from) {                                                 \
        return *from;                                                                                        \
    }
#define HOSTCUDA_STORE(name)                                                                                 \
    template <class T> static inline void name(T *to, T value) {                                             \
        *to = value;                                                                                         \
    }
HOSTCUDA_LOAD(__ldg)
HOSTCUDA_LOAD(__ldca)
HOSTCUDA_LOAD(__ldcg)
HOSTCUDA_LOAD(__ldcs)
HOSTCUDA_LOAD(__ldcv)
HOSTCUDA_LOAD(__ldlu)
HOSTCUDA_STORE(__stcg)
HOSTCUDA_STORE(__stcs)
HOSTCUDA_STORE(__stwb)
HOSTCUDA_STORE(__stwt)

template <class T> struct hostcuda_same { using type = T; };
#define HOSTCUDA_ATOMIC(name, result)                                                                        \
    template <class T> static inline T name(T *at, typename hostcuda_same<T>::type value) {                  \
        const T old = *at;                                                                                   \
        *at = result;                                                                                        \
        return old;                                                                                          \
    }
HOSTCUDA_ATOMIC(atomicAdd, (T)(old + value))
HOSTCUDA_ATOMIC(atomicSub, (T)(old - value))
HOSTCUDA_ATOMIC(atomicMax, old > value ? old : value)
HOSTCUDA_ATOMIC(atomicMin, old < value ? old : value)
HOSTCUDA_ATOMIC(atomicAnd, (T)(old &value))
HOSTCUDA_ATOMIC(atomicOr, (T)(old | value))
HOSTCUDA_ATOMIC(atomicXor, (T)(old ^ value))
HOSTCUDA_ATOMIC(atomicExch, value)
HOSTCUDA_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
HOSTCUDA_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
template <class T>
static inline T atomicCAS(T *at, typename hostcuda_same<T>::type expected,
                          typename hostcuda_same<T>::type value) {
    const T old = *at;
    if (old == expected)
        *at = value;
    return old;
}

/* ---- Arithmetic -------------------------------------------------------------------------------------- */

#define HOSTCUDA_MIN_MAX(R, A, B)                                                                            \
    static inline R min(A a, B b) {                                                                          \
        return (R)a < (R)b ? (R)a : (R)b;                                                                    \
    }                                                                                                        \
    static inline R max(A a, B b) {                                                                          \
        return (R)a > (R)b ? (R)a : (R)b;                                                                    \
    }
HOSTCUDA_MIN_MAX(int, int, int)
HOSTCUDA_MIN_MAX(unsigned, unsigned, unsigned)
HOSTCUDA_MIN_MAX(unsigned, int, unsigned)
HOSTCUDA_MIN_MAX(unsigned, unsigned, int)
HOSTCUDA_MIN_MAX(long, long, long)
HOSTCUDA_MIN_MAX(unsigned long, unsigned long, unsigned long)
HOSTCUDA_MIN_MAX(long long, long long, long long)
HOSTCUDA_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
HOSTCUDA_MIN_MAX(unsigned long long, long long, unsigned long long)
HOSTCUDA_MIN_MAX(unsigned long long, unsigned long long, long long)
HOSTCUDA_MIN_MAX(float, float, float)
HOSTCUDA_MIN_MAX(double, double, double)

/* Byte n of the result is the byte of {y, x} that nibble n of s selects; bit 3 of a nibble is ignored. */
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    const unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (unsigned n = 0; n < 4; n++)
        result |= (unsigned)(bytes >> (s >> 4 * n & 7) * 8 & 0xff) << 8 * n;
    return result;
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
    return (unsigned)((((unsigned long long)hi << 32 | lo) << (shift & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (shift & 31));
}
static inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift) {
    return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
static inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift) {
    return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}
static inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
static inline int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
static inline int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
static inline int __ffs(int x) {
    return __builtin_ffs(x);
}
static inline int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
static inline unsigned __brev(unsigned x) {
    unsigned result = 0;
    for (int n = 0; n < 32; n++)
        result |= (x >> n & 1) << (31 - n);
    return result;
}
static inline int __mulhi(int a, int b) {
    return (int)((long long)a * b >> 32);
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    __extension__ typedef unsigned __int128 wide;
    return (unsigned long long)((wide)a * b >> 64);
}

#endif
