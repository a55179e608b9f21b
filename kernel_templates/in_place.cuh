// What the templates share that turn square matrices onto themselves: which tiles a block exchanges, and how it reads what it
// will write over. Included by them behind keep.cuh, no template of its own.

// Reads a vector, if it `is` to be read. LINES bytes around it, if any, come to the L2 cache: where rows are no whole lines,
// two tiles read a part of one each. With KEEP they stay there until they are written over. All threads of a warp pass. What
// keep.cuh and micro_tile.cuh have for this does one or the other, and in place both together gain more than each.
#if (KEEP || LINES) && __CUDA_ARCH__ >= 800 && !defined __HOSTCUDA__ // the CPU stand-in of the tests speaks no PTX
#if LINES == 256
#define AROUND ".L2::256B"
#elif LINES == 128
#define AROUND ".L2::128B"
#else
#define AROUND ""
#endif
#define READ(is) "{ .reg .pred is; setp.ne.b32 is, %" #is ", 0; @is ld.global.L2::cache_hint" AROUND
static __device__ unsigned long long reading_policy() {
    return KEEP ? keep_policy() : usual_policy();
}
static __device__ void read_over(unsigned int &to, bool is, const unsigned int *from) {
    asm volatile(READ(1) ".b32 %0, [%2], %3; }" : "=r"(to) : "r"((int)is), "l"(from), "l"(reading_policy()));
}
static __device__ void read_over(uint2 &to, bool is, const uint2 *from) {
    asm volatile(READ(2) ".v2.b32 {%0, %1}, [%3], %4; }"
                 : "=r"(to.x), "=r"(to.y)
                 : "r"((int)is), "l"(from), "l"(reading_policy()));
}
static __device__ void read_over(uint4 &to, bool is, const uint4 *from) {
    asm volatile(READ(4) ".v4.b32 {%0, %1, %2, %3}, [%5], %6; }"
                 : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w)
                 : "r"((int)is), "l"(from), "l"(reading_policy()));
}
#else
template <class T> static __device__ void read_over(T &to, bool is, const T *from) {
    if (is)
        to = *from;
}
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
