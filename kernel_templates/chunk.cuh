// What the templates share that carry a piece of the source through shared memory as it lies, and gather each vector of
// the destination there, element by element: included by them, no template of its own.
//
// A run is what lies together. It may begin at any element: what is read are the aligned vectors of 16 bytes that it
// touches, and what is written the aligned vectors of VS bytes, of which those at its ends are not whole. With PADDED a
// place is left free behind each 128 bytes of shared memory, or else elements that are a power of two apart share a bank.

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

#define WORDS (VS / 4)

// Writes so many bytes of `w`, a vector or an element, if `is`. A plain store in an `if` would not do: the compiler may write
// a uint4 word by word, and branches around it, so that what the next vector is made of is loaded only then. The compiler is
// not told that memory changes: nothing that was written may be read again. With KEEP it is written over what was kept.
#if defined __HOSTCUDA__ // the CPU stand-in of the tests speaks no PTX
template <int BYTES> static __device__ void store_if(bool is, elem *to, const unsigned int *w) {
    if (!is)
        return;
    if (BYTES == 16)
        *(uint4 *)to = make_uint4(w[0], w[1], w[2], w[3]);
    else if (BYTES == 8)
        *(uint2 *)to = make_uint2(w[0], w[1]);
    else if (BYTES == 4)
        *(unsigned int *)to = w[0];
    else if (BYTES == 2)
        *(unsigned short *)to = (unsigned short)w[0];
    else
        *(unsigned char *)to = (unsigned char)w[0];
}
#else
#if KEEP && __CUDA_ARCH__ >= 800
#define STORE "{ .reg .pred is; setp.ne.b32 is, %0, 0; @is st.global.L2::cache_hint"
#define STORED ", %2; }"
#define POLICY usual_policy()
#else
#define STORE "{ .reg .pred is; setp.ne.b32 is, %0, 0; @is st.global"
#define STORED "; }"
#define POLICY 0ull
#endif
template <int BYTES> static __device__ void store_if(bool is, elem *to, const unsigned int *w) {
    if (BYTES == 16)
        asm volatile(STORE ".v4.b32 [%1], {%3, %4, %5, %6}" STORED ::"r"((int)is), "l"(to), "l"(POLICY), "r"(w[0]), "r"(w[1]),
                     "r"(w[2]), "r"(w[3]));
    else if (BYTES == 8)
        asm volatile(STORE ".v2.b32 [%1], {%3, %4}" STORED ::"r"((int)is), "l"(to), "l"(POLICY), "r"(w[0]), "r"(w[1]));
    else if (BYTES == 4)
        asm volatile(STORE ".b32 [%1], %3" STORED ::"r"((int)is), "l"(to), "l"(POLICY), "r"(w[0]));
    else if (BYTES == 2)
        asm volatile(STORE ".b16 [%1], %3" STORED ::"r"((int)is), "l"(to), "l"(POLICY), "h"((unsigned short)w[0]));
    else
        asm volatile(STORE ".b8 [%1], %3" STORED ::"r"((int)is), "l"(to), "l"(POLICY), "r"(w[0]));
}
#endif
// Element `i` of what is to be written.
static __device__ void set_element(unsigned int *w, int i, elem e) {
#if ELEM_SIZE == 16
    w[4 * i] = e.x, w[4 * i + 1] = e.y, w[4 * i + 2] = e.z, w[4 * i + 3] = e.w;
#elif ELEM_SIZE == 8
    w[2 * i] = e.x, w[2 * i + 1] = e.y;
#else
    const int shift = i * ELEM_SIZE % 4 * 8;
    w[i * ELEM_SIZE / 4] = shift ? w[i * ELEM_SIZE / 4] | (unsigned int)e << shift : e;
#endif
}

// Bytes from the last multiple of so many to `p`.
static __device__ int past(const elem *p, int multiple) {
    return (int)((unsigned long long)p % multiple);
}

// Where byte `b` is of what leaves such places free, or does not.
template <bool LEAVES> static __device__ int placed(int b) {
    return LEAVES ? b + b / 128u * UNIT : b;
}
static __device__ int place(int b) {
    return placed<PADDED>(b);
}

static __device__ void put(char *tile, int b, uint4 v) {
    char *to = tile + place(b);
#if PADDED && ELEM_SIZE <= 4
    unsigned int *words = (unsigned int *)to;
    words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
#elif PADDED && ELEM_SIZE == 8
    uint2 *pairs = (uint2 *)to;
    pairs[0] = make_uint2(v.x, v.y), pairs[1] = make_uint2(v.z, v.w);
#else
    *(uint4 *)to = v;
#endif
}

// So many runs of `n` elements, the first from `first` on, `pitch` elements from one to the next, in the array from `begin`
// to `end`. `amid`: 16 elements and more of it lie before and behind, which is quicker to know than that no vector reaches
// out of it.
struct runs {
    const elem *first;
    long long pitch;
    int many, n;
    const elem *begin, *end;
    bool amid;
};

// Bytes from one run of MOST elements to the next in shared memory, where runs begin SKEW bytes further behind a multiple of
// 16 than the last: so many behind one there, too. An odd number of elements, if that can be.
#if SKEW
#define TILE_PITCH(most) (((most) * ELEM_SIZE + 45 - SKEW) / VEC * VEC + SKEW)
#else
#define TILE_PITCH(most) ((TOUCHED(most, VEC) | 1) * VEC)
#endif

// RUNS runs of MOST elements at the most on their way to shared memory, of which byte 0 of the first comes to byte past(first,
// VEC). All loads are in flight before `put_into` waits for the first.
template <int RUNS, int MOST> struct carried {
    static const int VECTORS = TOUCHED(MOST, VEC), EACH = (RUNS * VECTORS + THREADS - 1) / THREADS;
    uint4 in[EACH];
    int to[EACH]; // where in shared memory; below 0: nowhere
    bool is_inside;

    // Of the vectors the `i`th.
    struct vector {
        int at, to; // of its run, and in shared memory
        const char *from;
        bool there;
        __device__ vector(const runs &r, int i) {
            const int run = RUNS > 1 ? i / (unsigned)VECTORS : 0, head = past(r.first, VEC);
            const elem *begin = r.first + run * r.pitch;
            at = (i - run * VECTORS) * VEC - (RUNS > 1 && SKEW ? past(begin, VEC) : head);
            to = head + run * TILE_PITCH(MOST) + at;
            from = (const char *)begin + at;
            there = (EACH * THREADS == RUNS * VECTORS || i < RUNS * VECTORS) && run < r.many && at < r.n * ELEM_SIZE;
        }
    };
    // Does no vector reach out of the array?
    static __device__ bool inside(const runs &r) {
        const char *last = (const char *)(r.first + (r.many - 1) * r.pitch + r.n);
        return r.amid || ((const char *)r.first - past(r.first, VEC) >= (const char *)r.begin &&
                          last + (VEC - 1) - ((unsigned long long)last + VEC - 1) % VEC <= (const char *)r.end);
    }

    // `read(to, is, from)` reads a vector, if it `is` there. All threads of a warp come to it.
    template <class READ> __device__ void load(const runs &r, READ read) {
        is_inside = inside(r);
        if (!is_inside)
            return;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const vector v(r, threadIdx.x + k * THREADS);
            to[k] = v.there ? v.to : -1;
            read(in[k], v.there, (const uint4 *)v.from);
        }
    }
    __device__ void put_into(char *tile, const runs &r) const {
        if (is_inside) {
#pragma unroll
            for (int k = 0; k < EACH; k++)
                if (to[k] >= 0)
                    put(tile, to[k], in[k]);
            return;
        }
#pragma unroll 1
        for (int i = threadIdx.x; i < RUNS * VECTORS; i += THREADS) {
            const vector v(r, i);
#pragma unroll 1
            for (int b = 0; v.there && b < VEC; b += ELEM_SIZE)
                if (v.at + b >= 0 && v.at + b < r.n * ELEM_SIZE)
                    *(elem *)(tile + place(v.to + b)) = *(const elem *)(v.from + b);
        }
    }
};

template <int RUNS, int MOST> static __device__ void read_runs(char *tile, const runs &r) {
    carried<RUNS, MOST> c;
    c.load(r, [](uint4 &to, bool is, const uint4 *from) {
        if (is)
            to = *from;
    });
    c.put_into(tile, r);
}

// Elements from `run` to the first multiple of so many bytes.
static __device__ int before(const elem *run, int multiple) {
    return (int)(-(unsigned long long)run % multiple) / ELEM_SIZE;
}

// Writes what is no whole vector at the ends of such runs, of which `at` tells where element q of run c is. All threads pass.
template <class AT> static __device__ void write_ends(elem *dst, long long pitch, int many, int n, AT at) {
#pragma unroll 1
    for (int k = 0; k < many * 2 * PER; k += THREADS) {
        const int i = k + (int)threadIdx.x, c = i / (2 * PER), j = i % (2 * PER);
        elem *run = dst + c * pitch;
        const int first = min(before(run, VS), n), last = first + (n - first) / PER * PER, q = j < PER ? j : last + j - PER;
        const bool is = c < many && q < (j < PER ? first : n);
        unsigned int element[UNIT / 4];
        set_element(element, 0, *(const elem *)at(is ? c : 0, is ? q : 0));
        store_if<ELEM_SIZE>(is, run + q, element);
    }
}

// Writes runs of `n` elements, MOST at the most: `many`, RUNS at the most, `pitch` elements apart. FROM(c, q)
// tells where in the tile run c lies from its q-th element on: `at` so many behind it. First the whole vectors, then what is
// left at the ends of the runs, unless the caller knows them to be `even`, without any.
template <int RUNS, int MOST, class FROM>
static __device__ void write_runs(elem *dst, long long pitch, int many, int n, const char *tile, bool even, FROM from) {
    const int vectors = MOST / PER;
#pragma unroll 4
    for (int k = 0; k < RUNS * vectors; k += THREADS) {
        const int i = k + (int)threadIdx.x, c = RUNS > 1 ? i / (unsigned)vectors : 0;
        elem *run = dst + c * pitch;
        const int q = (i - c * vectors) * PER + before(run, VS);
        const bool is = c < many && q + PER <= n;
        const auto place_of = from(is ? c : 0, is ? q : 0);
        unsigned int words[WORDS];
#pragma unroll
        for (int j = 0; j < PER; j++)
            set_element(words, j, *(const elem *)(tile + place(place_of.at(j))));
        store_if<VS>(is, run + q, words);
    }
    if (PER > 1 && !even)
        write_ends(dst, pitch, many, n, [&](int c, int q) { return tile + place(from(c, q).at(0)); });
}
