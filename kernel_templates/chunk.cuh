// For templates that copy a piece of the source to shared memory as it lies, and gather each vector of the destination there.
//
// A run is a row's contiguous part. It may begin at any element. Reads are the aligned vectors of 16 bytes that it touches.
// Writes are aligned vectors of VS bytes, except the first and the last, which may be shorter. With PADDED a place stays free
// after each 128 bytes of shared memory. Otherwise elements a power of two apart would share a bank.

#include "common.cuh"

#define VEC  16
#define UNIT (ELEM_SIZE < 4 ? 4 : ELEM_SIZE) // bytes that stay together in shared memory
#define PER  (VS / ELEM_SIZE)                // elements of a vector that is written

// Vectors that a run of so many elements touches, wherever it begins.
#define TOUCHED(n, bytes) (((n)*ELEM_SIZE + (bytes)-1) / (bytes) + (ELEM_SIZE < (bytes)))

#define WORDS (VS / 4)

// Sets element `i` of the vector that is written.
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

// The place of byte `b` in shared memory, with such free places (LEAVES) or without.
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

// `many` runs of `n` elements, `pitch` elements apart, in the array from `begin` to `end`. `amid`: the array has 16 elements and
// more on both sides, so that no vector reaches out of it.
struct runs {
    const elem *first;
    long long pitch;
    int many, n;
    const elem *begin, *end;
    bool amid;
};

// Bytes from one run of MOST elements to the next in shared memory: an odd number of elements, if possible. Each run begins SKEW
// bytes later modulo 16 than the one before, as in the source.
#if SKEW
#define TILE_PITCH(most) (((most)*ELEM_SIZE + 45 - SKEW) / VEC * VEC + SKEW)
#else
#define TILE_PITCH(most) ((TOUCHED(most, VEC) | 1) * VEC)
#endif

// At most RUNS runs of at most MOST elements, on their way to shared memory. The first run begins at byte past(first, VEC) there.
// All loads are in flight before `put_into` waits for the first.
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

// Writes the ends of runs, which are no whole vectors. `at` says where element q of run c is. All threads pass.
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

// Writes `many` runs (at most RUNS) of `n` elements (at most MOST), `pitch` elements apart. FROM(c, q).at(i) is the place in the
// tile of element q + i of run c. `even`: the runs are whole vectors.
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

// Elements of 1 and 2 bytes are turned in words of 4 bytes: one by one would take too many instructions.
#define WORD    4
#define ABREAST (ELEM_SIZE < WORD ? WORD / ELEM_SIZE : 1) // elements of a word

// The `at`th element of a word.
struct part {
    unsigned int word;
    int at;
};
// A word of ABREAST such. All `at` are constants after unrolling.
template <class PARTS> static __device__ unsigned int join(PARTS parts) {
#if ELEM_SIZE == 1
    const part a = parts(0), b = parts(1), c = parts(2), d = parts(3);
    const unsigned int low = __byte_perm(a.word, b.word, a.at | (b.at + 4) << 4);
    const unsigned int high = __byte_perm(c.word, d.word, c.at | (d.at + 4) << 4);
    return __byte_perm(low, high, 0x5410);
#elif ELEM_SIZE == 2
    const part a = parts(0), b = parts(1);
    return __byte_perm(a.word, b.word, (a.at ? 0x0032 : 0x0010) | (b.at ? 0x7600 : 0x5400));
#else
    return parts(0).word;
#endif
}
