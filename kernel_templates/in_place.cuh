// Shared by the templates that turn square matrices onto themselves. Include common.cuh first.

// Reads a vector with all hints, if `is`. Also lines that are not kept have a policy here. All threads of a warp pass.
#if HINTS && (KEEP || PREFETCH)
#define MAKE_READ_OVER(T, values, is, from, by, ...)                                                                             \
    static __device__ void read_over(T &to, bool wanted, const T *p) {                                                           \
        asm volatile("{ .reg .pred is; setp.ne.b32 is, %" #is ", 0; @is ld.global.L2::cache_hint" AROUND values ", [%" #from     \
                     "], %" #by "; }"                                                                                            \
                     : __VA_ARGS__                                                                                               \
                     : "r"((int)wanted), "l"(p), "l"(KEEP ? keep_policy() : usual_policy()));                                    \
    }
MAKE_READ_OVER(unsigned int, ".b32 %0", 1, 2, 3, "=r"(to))
MAKE_READ_OVER(uint2, ".v2.b32 {%0, %1}", 2, 3, 4, "=r"(to.x), "=r"(to.y))
MAKE_READ_OVER(uint4, ".v4.b32 {%0, %1, %2, %3}", 4, 5, 6, "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w))
#else
template <class T> static __device__ void read_over(T &to, bool is, const T *p) {
    if (is)
        to = load(p);
}
#endif

// Writes a vector over what was read. With KEEP this lets go of the line: an ordinary store would not.
#if HINTS && KEEP
#define MAKE_STORE_OVER(T, values, by, ...)                                                                                      \
    static __device__ void store_over(T *to, T v) {                                                                              \
        asm volatile("st.global.L2::cache_hint" values ", %" #by ";" ::"l"(to), __VA_ARGS__, "l"(usual_policy()) : "memory");    \
    }
MAKE_STORE_OVER(unsigned int, ".b32 [%0], %1", 2, "r"(v))
MAKE_STORE_OVER(uint2, ".v2.b32 [%0], {%1, %2}", 3, "r"(v.x), "r"(v.y))
MAKE_STORE_OVER(uint4, ".v4.b32 [%0], {%1, %2, %3, %4}", 5, "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w))
#else
#define store_over store
#endif

// The tile of a block in the grid, of `side` tiles on a side: those on and above the diagonal, folded into a rectangle.
struct tile_above {
    long long row, col;
    __device__ explicit tile_above(int side) {
        const int x = blockIdx.x, y = blockIdx.y, back = side - 1;
        if (side % 2) {
            row = x >= y ? y : side - y;
            col = x >= y ? x : back - x;
        } else {
            row = x > y ? y : back - y;
            col = x > y ? x - 1 : back - x;
        }
    }
};
