// What the templates share that carry a piece of the source through shared memory as it lies, and gather each vector of
// the destination there, element by element: included by them, no template of its own.
//
// A run is what lies together. It may begin at any element: what is read are the aligned vectors of 16 bytes that it
// touches, and what is written the aligned vectors of VS bytes, of which those at its ends are not whole. PAD leaves a
// place free behind each 128 bytes of shared memory, or else elements that are a power of two apart share a bank.

#include "early.cuh"

#if ELEM_SIZE == 1
typedef unsigned char elem;
#elif ELEM_SIZE == 2
typedef unsigned short elem;
#elif ELEM_SIZE == 4
typedef unsigned int elem;
#elif ELEM_SIZE == 8
typedef uint2 elem;
#else
typedef uint4 elem;
#endif

#define VEC 16
#define UNIT (ELEM_SIZE < 4 ? 4 : ELEM_SIZE) // what lies together in shared memory
#define PER (VS / ELEM_SIZE)                 // elements of a vector that is written

// Vectors that a run of so many elements touches, wherever it begins.
#define TOUCHED(n, bytes) (((n) * ELEM_SIZE + (bytes)-1) / (bytes) + (ELEM_SIZE < (bytes)))

#if VS == 16
typedef uint4 out_vec;
#elif VS == 8
typedef uint2 out_vec;
#else
typedef unsigned int out_vec;
#endif

// Bytes from the last multiple of so many to `p`.
static __device__ int past(const elem *p, int multiple) {
    return (int)((unsigned long long)p % multiple);
}

// Where byte `b` of what was read is.
static __device__ int place(int b) {
    return PAD ? b + b / 128 * UNIT : b;
}

static __device__ void put(char *tile, int b, uint4 v) {
    char *to = tile + place(b);
#if PAD && UNIT == 4
    unsigned int *words = (unsigned int *)to;
    words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
#elif PAD && UNIT == 8
    uint2 *pairs = (uint2 *)to;
    pairs[0] = make_uint2(v.x, v.y), pairs[1] = make_uint2(v.z, v.w);
#else
    *(uint4 *)to = v;
#endif
}

// The bytes of a run that may be read: from its `low`th to its `high`th, where the array begins and ends.
struct reach {
    int low, high;
};
static __device__ reach reach_of(const elem *run, const elem *begin, const elem *end) {
    const long long low = (const char *)begin - (const char *)run, high = (const char *)end - (const char *)run;
    const reach r = {(int)max(low, -(1ll << 30)), (int)min(high, 1ll << 30)};
    return r;
}

// RUNS runs of `n` elements, MOST at the most, `pitch` elements apart, become what lies from `tile` on, each TILE_PITCH bytes
// behind the last one, and as many bytes behind a multiple of 16 as in the array from `begin` to `end`. All loads are
// in flight before the first is waited for.
#define TILE_PITCH(most) ((TOUCHED(most, VEC) | 1) * VEC) // odd, so that the runs begin at different banks

template <int RUNS, int MOST>
static __device__ void read_runs(char *tile, const elem *src, long long pitch, int n, const elem *begin,
                                 const elem *end) {
    const int vectors = TOUCHED(MOST, VEC), each = (RUNS * vectors + THREADS - 1) / THREADS;
    uint4 in[each];
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int i = (int)threadIdx.x + k * THREADS;
        const elem *run = src + i / vectors * pitch;
        const int at = i % vectors * VEC - past(run, VEC);
        const reach r = reach_of(run, begin, end);
        if (i < RUNS * vectors && at < n * ELEM_SIZE && at >= r.low && at + VEC <= r.high)
            in[k] = *(const uint4 *)((const char *)run + at);
    }
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int i = (int)threadIdx.x + k * THREADS, to = i / vectors * TILE_PITCH(MOST) + i % vectors * VEC;
        const elem *run = src + i / vectors * pitch;
        const int at = i % vectors * VEC - past(run, VEC);
        const reach r = reach_of(run, begin, end);
        if (i >= RUNS * vectors || at >= n * ELEM_SIZE)
            continue;
        if (at >= r.low && at + VEC <= r.high) {
            put(tile, to, in[k]);
            continue;
        }
#pragma unroll 1
        for (int b = 0; b < VEC; b += ELEM_SIZE)
            if (at + b >= r.low && at + b < r.high)
                *(elem *)(tile + place(to + b)) = *(const elem *)((const char *)run + at + b);
    }
}

// Writes vector `v` of the `n` elements from `run` on. FROM tells where in the tile the elements lie: from the q-th on,
// one after the other.
template <class FROM> static __device__ void write_vector(elem *run, int v, int n, const char *tile, FROM from) {
    const int q = v * PER - past(run, VS) / ELEM_SIZE, first = max(q, 0), behind = min(q + PER, n);
    from.start(first);
    if (q >= 0 && q + PER <= n) {
        union {
            out_vec v;
            elem e[PER];
        } out;
#pragma unroll
        for (int i = 0; i < PER; i++)
            out.e[i] = *(const elem *)(tile + place(from.next()));
        *(out_vec *)(run + q) = out.v;
    } else
#pragma unroll 1
        for (int i = first; i < behind; i++)
            run[i] = *(const elem *)(tile + place(from.next()));
}
