// All templates share this: the type of an element, the wait of an early launch, and hints to the L2 cache.
//
// A template sets these macros, as parameters or by #define. The others are 0.
//   STREAM    1: data is read and written once. The cache may evict it first.
//   KEEP      1: lines that are read stay in the L2 cache until `let_go` or until `store_over` writes them.
//   PREFETCH  a load brings so many aligned bytes to the L2 cache: 0 (what it asks for), 128 or 256.
//
// KEEP is for matrices larger than the cache. Written lines then leave the cache earlier, and in order, which saves 1 to 3 %
// of the time. Every kept line must be released, or the next kernels have a smaller cache: a copy of 16 MB takes 9.5 us
// instead of 7.8 (H200). Threads of a warp share the registers of a policy, so all of them must execute `fetch`,
// `store_if` and `store_over`.
// The tests' CPU stand-in (__HOSTCUDA__) has no PTX.

template <int BYTES> struct vec_of;
template <> struct vec_of<1> { typedef unsigned char type; };
template <> struct vec_of<2> { typedef unsigned short type; };
template <> struct vec_of<4> { typedef unsigned int type; };
template <> struct vec_of<8> { typedef uint2 type; };
template <> struct vec_of<16> { typedef uint4 type; };

typedef vec_of<ELEM_SIZE>::type elem;

// A vector of BYTES as its 32-bit words.
template <int BYTES> union words_of {
    typename vec_of<BYTES>::type v;
    unsigned int w[BYTES / 4];
};

// Bytes from the last multiple of so many to `p`.
static __device__ int past(const void *p, int multiple) {
    return (int)((unsigned long long)p % multiple);
}

// The tile of a block: ORDER 0 numbers blocks along the rows of the source, 1 down its columns.
static __device__ unsigned block_across(int order) {
    return order == 0 ? blockIdx.x : blockIdx.y;
}
static __device__ unsigned block_down(int order) {
    return order == 0 ? blockIdx.y : blockIdx.x;
}

// Hides from the compiler how a 64-bit address was computed, or it computes each one that follows from it anew.
#if defined __HOSTCUDA__
#define OPAQUE(address)
#else
#define OPAQUE(address) asm volatile("" : "+l"(address))
#endif

// ---- Early launches (`launch early`) ----
// A kernel reads and writes global memory only after this wait, in every block. A pointer may not be `__restrict__`:
// the compiler would move its loads before the wait.
#if __CUDA_ARCH__ >= 900 && !defined __HOSTCUDA__
static __device__ void wait_for_earlier() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
#else
static __device__ void wait_for_earlier() {}
#endif

// ---- Hints to the cache ----

#ifndef STREAM
#define STREAM 0
#endif
#ifndef KEEP
#define KEEP 0
#endif
#ifndef PREFETCH
#define PREFETCH 0
#endif

template <class T> static __device__ T load(const T *p) {
    return STREAM == 1 ? __ldcs(p) : *p;
}

#if __CUDA_ARCH__ >= 800 && !defined __HOSTCUDA__
#define HINTS 1
static __device__ unsigned long long keep_policy() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
static __device__ unsigned long long usual_policy() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// Lets go of the line that begins at `from`, if one does. All threads of the block must have read it.
static __device__ void let_go(const void *from) {
    if (past(from, 128) == 0)
        asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(from) : "memory");
}
#else
#define HINTS 0
static __device__ void let_go(const void *) {}
#endif

#if PREFETCH == 256
#define AROUND ".L2::256B"
#elif PREFETCH == 128
#define AROUND ".L2::128B"
#else
#define AROUND
#endif

// Reads a vector with all hints.
#if HINTS && (KEEP || PREFETCH)
#if KEEP
#define FETCH  "ld.global.L2::cache_hint" AROUND
#define BY(n)  ", %" #n ";"
#define POLICY , "l"(keep_policy())
#else
#define FETCH "ld.global" AROUND
#define BY(n) ";"
#define POLICY
#endif
#define MAKE_FETCH(T, values, from, by, ...)                                                                                     \
    static __device__ T fetch(const T *p) {                                                                                      \
        T v;                                                                                                                     \
        asm volatile(FETCH values ", [%" #from "]" BY(by) : __VA_ARGS__ : "l"(p) POLICY);                                        \
        return v;                                                                                                                \
    }
MAKE_FETCH(unsigned int, ".b32 %0", 1, 2, "=r"(v))
MAKE_FETCH(uint2, ".v2.b32 {%0, %1}", 2, 3, "=r"(v.x), "=r"(v.y))
MAKE_FETCH(uint4, ".v4.b32 {%0, %1, %2, %3}", 4, 5, "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w))
#else
template <class T> static __device__ T fetch(const T *p) {
    return load(p);
}
#endif

// Writes the words of a vector, or an element of so many bytes, if `is`. It is not an `if` around a plain store: the compiler
// may write a uint4 word by word, and do the next loads only after the branch. The compiler does not know that memory
// changes, so the kernel may not read what it wrote.
#if defined __HOSTCUDA__
template <int BYTES> static __device__ void store_if(bool is, elem *to, const unsigned int *w) {
    const unsigned char *from = (const unsigned char *)w;
    for (int i = 0; is && i < BYTES; i++)
        ((unsigned char *)to)[i] = from[i];
}
#else
#if HINTS && KEEP
#define STORE  "{ .reg .pred is; setp.ne.b32 is, %0, 0; @is st.global.L2::cache_hint"
#define STORED ", %2; }" ::"r"((int)is), "l"(to), "l"(usual_policy())
#else
#define STORE  "{ .reg .pred is; setp.ne.b32 is, %0, 0; @is st.global"
#define STORED "; }" ::"r"((int)is), "l"(to), "l"(0ull)
#endif
template <int BYTES> static __device__ void store_if(bool is, elem *to, const unsigned int *w) {
    if (BYTES == 16)
        asm volatile(STORE ".v4.b32 [%1], {%3, %4, %5, %6}" STORED, "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]));
    else if (BYTES == 8)
        asm volatile(STORE ".v2.b32 [%1], {%3, %4}" STORED, "r"(w[0]), "r"(w[1]));
    else if (BYTES == 4)
        asm volatile(STORE ".b32 [%1], %3" STORED, "r"(w[0]));
    else if (BYTES == 2)
        asm volatile(STORE ".b16 [%1], %3" STORED, "h"((unsigned short)w[0]));
    else
        asm volatile(STORE ".b8 [%1], %3" STORED, "r"(w[0]));
}
#endif

// Writes a vector, with the hint of STREAM alone.
template <class T> static __device__ void store(T *p, T v) {
    if (STREAM == 1)
        __stcs(p, v);
    else
        *p = v;
}
