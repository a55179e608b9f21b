// What the templates share that tell the L2 cache what to keep: included by them, no template of its own.
//
// Of a matrix larger than the cache nothing that was read is read again, and yet it is worth keeping until nothing else
// is left to evict: then what is written leaves the cache sooner, and in the order it was written in, which saves 1 to
// 3 % of the time. But it would stay there, too, and the kernels behind would have a smaller cache for as long as they
// run: a copy of 16 MB, over and over, takes 9.5 us in place of 7.8 (H200). So it is let go before the block ends.
//
// All of these only where all threads of a warp pass: the compiler keeps the policy in registers that they share, also
// where they go different ways.

#if __CUDA_ARCH__ >= 800 && !defined __HOSTCUDA__ // the CPU stand-in of the tests speaks no PTX
static __device__ unsigned long long keep_policy() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
static __device__ unsigned int load_kept(const unsigned int *from) {
    unsigned int v;
    asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(v) : "l"(from), "l"(keep_policy()));
    return v;
}
static __device__ uint2 load_kept(const uint2 *from) {
    uint2 v;
    asm volatile("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(from), "l"(keep_policy()));
    return v;
}
static __device__ uint4 load_kept(const uint4 *from) {
    uint4 v;
    asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from), "l"(keep_policy()));
    return v;
}

// Lets go of the line that begins at `from`, if one does; after all threads of the block have read what they want of it.
static __device__ void let_go(const void *from) {
    if ((unsigned long long)from % 128 == 0)
        asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(from) : "memory");
}

// Over what was kept: an ordinary store would leave its lines as they are.
static __device__ unsigned long long usual_policy() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
static __device__ void store_and_let_go(unsigned int *to, unsigned int v) {
    asm volatile("st.global.L2::cache_hint.b32 [%0], %1, %2;" ::"l"(to), "r"(v), "l"(usual_policy()) : "memory");
}
static __device__ void store_and_let_go(uint2 *to, uint2 v) {
    asm volatile("st.global.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;" ::"l"(to), "r"(v.x), "r"(v.y),
                 "l"(usual_policy())
                 : "memory");
}
static __device__ void store_and_let_go(uint4 *to, uint4 v) {
    asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w), "l"(usual_policy())
                 : "memory");
}
#else
template <class T> static __device__ T load_kept(const T *from) {
    return *from;
}
static __device__ void let_go(const void *) {}
template <class T> static __device__ void store_and_let_go(T *to, T v) {
    *to = v;
}
#endif
