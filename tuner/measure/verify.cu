// The verifier's own kernels, which fill, poison and compare arrays. They work on areas: an area is an array between two
// guards, and has a whole number of 16-byte words. Only the kernels for numbers know the type of an element.
//
// A build with PART has the kernels of one part. The parts are compiled side by side, because the first trial waits for them,
// and take about equally long. tt__verify_parts says how many of them a problem needs.

#ifdef PART
#define HAS_PART(k) (PART == (k))
#else
#define HAS_PART(k) 1
#endif

typedef unsigned long long u64;

static __device__ unsigned int mix(u64 i, unsigned int seed) {
    unsigned int h = (unsigned int)i * 0x9e3779b1u ^ ((unsigned int)(i >> 32) + seed) * 0x85ebca77u;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

#define GRID_STRIDE(i, n)                                                                                    \
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < (u64)(n); i += (u64)gridDim.x * blockDim.x)

// What a word of the right results is hidden with, so that no kernel finds them in memory and copies them. Key 0: nothing.
static __device__ unsigned int hidden(u64 word, unsigned int key) {
    return key ? mix(word, key) : 0;
}

static __device__ uint4 shown(uint4 v, u64 i, unsigned int key) {
    v.x ^= hidden(4 * i, key);
    v.y ^= hidden(4 * i + 1, key);
    v.z ^= hidden(4 * i + 2, key);
    v.w ^= hidden(4 * i + 3, key);
    return v;
}

// The result of comparing an array.
typedef struct finding {
    u64 n;     // 16-byte words that are wrong
    u64 first; // byte of the area
    u64 bits;  // of the result (tt_bits)
} finding;

static __device__ void found(finding *f, u64 byte) {
    atomicAdd(&f->n, 1ull);
    atomicMin(&f->first, byte);
}

// Four bits as the bytes of a word, all ones where set.
static __device__ unsigned int spread(unsigned int bits) {
    return ((bits & 15) * 0x00204081u & 0x01010101u) * 255u;
}

static __device__ u64 mix_long(u64 x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

#if HAS_PART(0)
// words[i] = random bits of i, or their inverse.
extern "C" __global__ void tt_fill(unsigned int *words, long long n, unsigned int seed, int inverted) {
    const unsigned int turn = inverted ? ~0u : 0u;
    GRID_STRIDE(i, n) words[i] = mix(i, seed) ^ turn;
}

// Finds the bytes that the reference writes: a bit for each byte, set if it was written. The reference ran over random bits
// and, if `twice` is not NULL, over their inverse. A byte that kept both must not be written. After one run, four bytes are
// written if any of them has changed.
extern "C" __global__ void tt_written(const unsigned int *once, const unsigned int *twice, long long n,
                                      unsigned int seed, unsigned short *written) {
    GRID_STRIDE(i, n) {
        unsigned int bits = 0;
#pragma unroll 1 // short code, here and below
        for (u64 w = 4 * i; w < 4 * i + 4; w++) {
            const unsigned int before = mix(w, seed), here = once[w] ^ before;
            const unsigned int changed = twice ? here | (twice[w] ^ ~before) : here ? ~0u : 0;
            for (int k = 0; k < 4; k++)
                bits |= (changed >> 8 * k & 255) ? 1u << (4 * (w & 3) + k) : 0u;
        }
        written[i] = (unsigned short)bits;
    }
}

// Before a run, every byte that must be written is wrong: it gets the reference with the bits of `always` inverted, and
// some of those of `maybe`. Nothing but the reference and the seed tells which. All other bytes get the value that they
// must keep.
extern "C" __global__ void tt_poison(uint4 *out, const uint4 *ref, const unsigned short *written, long long n,
                                     unsigned int always, unsigned int maybe, unsigned int seed, unsigned int key) {
    GRID_STRIDE(i, n) {
        const unsigned int bits = written[i];
        uint4 v = shown(ref[i], i, key);
        v.x ^= spread(bits) & (always | (mix(4 * i, seed) & maybe));
        v.y ^= spread(bits >> 4) & (always | (mix(4 * i + 1, seed) & maybe));
        v.z ^= spread(bits >> 8) & (always | (mix(4 * i + 2, seed) & maybe));
        v.w ^= spread(bits >> 12) & (always | (mix(4 * i + 3, seed) & maybe));
        out[i] = v;
    }
}

// A sum over words and their places, in each slot. A stray write changes it.
extern "C" __global__ void tt_sum(const unsigned int *words, long long n, long long stride, long long n_slots,
                                  unsigned int seed, u64 *sum) {
    u64 own = 0;
    for (long long s = blockIdx.y; s < n_slots; s += gridDim.y)
        GRID_STRIDE(i, n) own += (u64)mix(i ^ words[s * stride + i], seed) * (2 * i + 1);
    atomicAdd(sum, own);
}
#endif

#if HAS_PART(1)
// Finds bytes that have changed since tt_fill wrote them, from byte `begin` to before `end`.
extern "C" __global__ void tt_check_fill(const unsigned int *words, long long begin, long long end, unsigned int seed,
                                         finding *f) {
    const long long first = begin / 4, n = (end + 3) / 4 - first;
    GRID_STRIDE(i, n) {
        const long long at = 4 * (first + (long long)i);
        unsigned int changed = words[first + i] ^ mix(first + i, seed);
        if (at < begin)
            changed &= ~0u << 8 * (begin - at);
        if (at + 4 > end)
            changed &= ~0u >> 8 * (at + 4 - end);
        if (changed)
            found(f, at + (__ffs((int)changed) - 1) / 8);
    }
}

// The guards of an input, from byte 0 to `head` and from `tail` to `bytes`. Each of their elements, whose size is a power of
// two, has the bits of `fixed` and random ones where `mask` is set. Writes them or, with a finding, finds bytes that are
// others.
extern "C" __global__ void tt_guard(unsigned char *area, long long head, long long tail, long long bytes, u64 fixed,
                                    u64 mask, int size, unsigned int seed, finding *f) {
    GRID_STRIDE(i, head + bytes - tail) {
        const u64 at = i < (u64)head ? i : i - (u64)head + (u64)tail;
        const int shift = 8 * (int)((at - (u64)head) & (u64)(size - 1));
        const unsigned char is = (unsigned char)(fixed >> shift | (mix(at, seed) & mask >> shift));
        if (!f)
            area[at] = is;
        else if (area[at] != is)
            found(f, at);
    }
}

// Finds 16-byte words that differ. `b` is hidden with the key.
extern "C" __global__ void tt_compare(const uint4 *a, const uint4 *b, long long n, unsigned int key, finding *f) {
    GRID_STRIDE(i, n) {
        const uint4 x = a[i], y = shown(b[i], i, key);
        if (x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w)
            found(f, 16 * i);
    }
}

// Copies the arrays of the first slot into all later slots.
extern "C" __global__ void tt_spread(uint4 *slots, long long words, long long stride, long long n_slots) {
    for (long long s = 1 + blockIdx.y; s < n_slots; s += gridDim.y)
        GRID_STRIDE(i, words) slots[s * stride + i] = slots[i];
}
#endif

// ---- What only kernels of users need, and results of which several are right
#if HAS_PART(2)
// Hides words or, once more, shows them.
extern "C" __global__ void tt_hide(unsigned int *words, long long n, unsigned int key) {
    GRID_STRIDE(i, n) words[i] ^= hidden(i, key);
}

// Leaves random bits in the shared memory of a multiprocessor.
extern "C" __global__ void tt_soil(unsigned int words, unsigned int seed) {
    extern __shared__ unsigned int soil[];
    volatile unsigned int *at = soil;
    for (unsigned int i = threadIdx.x; i < words; i += blockDim.x)
        at[i] = mix(i, seed + blockIdx.x);
}

// The same words of each slot, as tt_fill does one.
extern "C" __global__ void tt_fill_each(unsigned int *words, long long n, long long stride, long long n_slots,
                                        unsigned int seed) {
    for (long long s = blockIdx.y; s < n_slots; s += gridDim.y)
        GRID_STRIDE(i, n) words[s * stride + i] = mix(i, seed);
}

// A hash of the bytes from `head` to before `tail` that the reference writes (`written` NULL: of all). It is a sum over
// words and their places, so that the order of additions does not matter.
extern "C" __global__ void tt_bits(const uint4 *area, const unsigned short *written, long long head, long long tail,
                                   finding *f) {
    u64 own = 0;
    GRID_STRIDE(k, (tail + 15) / 16 - head / 16) {
        const u64 i = head / 16 + k;
        const long long before = head - 16 * (long long)i, beyond = 16 * (long long)i + 16 - tail;
        unsigned int bits = written ? written[i] : 0xffffu;
        if (before > 0)
            bits &= 0xffffu << before;
        if (beyond > 0)
            bits &= 0xffffu >> beyond;
        const uint4 v = area[i];
        const u64 low = (u64)(v.y & spread(bits >> 4)) << 32 | (v.x & spread(bits));
        const u64 high = (u64)(v.w & spread(bits >> 12)) << 32 | (v.z & spread(bits >> 8));
        own += mix_long(mix_long(low + i * 0x9e3779b97f4a7c15ull) ^ high);
    }
#ifndef __HOSTCUDA__ // atomics on one address wait for each other, so a warp has only one
    for (int lanes = 16; lanes; lanes /= 2)
        own += __shfl_xor_sync(~0u, own, lanes);
    if (threadIdx.x % 32)
        return;
#endif
    atomicAdd(&f->bits, own);
}

// What a result tells: how many of its elements are written, how many of these differ from the one before, and how many are
// written in part.
extern "C" __global__ void tt_survey(const unsigned char *area, const unsigned char *written, long long head,
                                     long long count, int size, u64 *out) {
    u64 n = 0, differ = 0, part = 0;
    GRID_STRIDE(i, count) {
        const long long first = head + (long long)i * size;
        bool any = !written, all = true, other = false;
#pragma unroll 1
        for (long long at = first; at < first + size; at++) {
            const bool is = !written || (written[at / 8] >> at % 8 & 1);
            any |= is;
            all &= is;
            other |= i > 0 && area[at] != area[at - size];
        }
        n += any;
        differ += any && other;
        part += any && !all;
    }
    if (n)
        atomicAdd(&out[0], n);
    if (differ)
        atomicAdd(&out[1], differ);
    if (part)
        atomicAdd(&out[2], part);
}
#endif

// ---- Numbers. Kernels that only move bits do not need these parts.
#if HAS_PART(3) || HAS_PART(4) || HAS_PART(5)

// As tt__type of base/type.h.
enum { BOOL = 1, I8, U8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64, E4M3, E5M2 };

static __device__ float half_to_float(unsigned short h) {
    const unsigned int sign = (unsigned int)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
    if (exponent == 0)
        return (sign ? -1.0f : 1.0f) * (float)mantissa * 5.9604644775390625e-8f; // 2^-24
    return __uint_as_float(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13);
}

// An e4m3 is an f16 with a bias of 7 instead of 15, three bits of its mantissa, and a single NaN instead of the top exponent.
static __device__ float e4m3_to_float(unsigned char e) {
    const float size = half_to_float((unsigned short)((e & 127) << 7)) * 256;
    return (e & 127) == 127 ? __uint_as_float(0x7fffffff) : e & 128 ? -size : size;
}

static __device__ __noinline__ double number(const void *array, u64 i, int type) {
    switch (type) {
    case I8: return ((const signed char *)array)[i];
    case BOOL:
    case U8: return ((const unsigned char *)array)[i];
    case I16: return ((const short *)array)[i];
    case U16: return ((const unsigned short *)array)[i];
    case I32: return ((const int *)array)[i];
    case U32: return ((const unsigned int *)array)[i];
    case I64: return (double)((const long long *)array)[i];
    case U64: return (double)((const u64 *)array)[i];
    case F16: return half_to_float(((const unsigned short *)array)[i]);
    case BF16: return __uint_as_float((unsigned int)((const unsigned short *)array)[i] << 16);
    case E5M2: return half_to_float((unsigned short)(((const unsigned char *)array)[i] << 8));
    case E4M3: return e4m3_to_float(((const unsigned char *)array)[i]);
    case F32: return ((const float *)array)[i];
    default: return ((const double *)array)[i];
    }
}

static __device__ bool close(double got, double want, double abs_tolerance, double rel_tolerance) {
    if (got == want || (got != got && want != want))
        return true;
    const double off = fabs(got - want);
    if (off - off != 0) // infinite or NaN: a relative tolerance would be infinite, too
        return false;
    return off <= abs_tolerance || off <= rel_tolerance * fabs(want);
}
#endif

#if HAS_PART(3)
// Rounds towards zero, which is good enough for random data.
static __device__ unsigned short float_to_half(float f) {
    const unsigned int bits = __float_as_uint(f), sign = bits >> 16 & 0x8000;
    const int exponent = (int)(bits >> 23 & 255) - 112;
    if (exponent <= 0)
        return (unsigned short)sign;
    return (unsigned short)(sign | (exponent >= 31 ? 0x7bffu : (unsigned int)exponent << 10 | (bits >> 13 & 1023)));
}

static __device__ unsigned char float_to_e4m3(float f) {
    const unsigned short half = float_to_half(f * 0.00390625f);
    const int size = half >> 7 & 255;
    return (unsigned char)((half >> 8 & 128) | (size < 127 ? size : 126));
}

static __device__ __noinline__ void put_number(void *array, u64 i, int type, double v) {
    switch (type) {
    case I8: ((signed char *)array)[i] = (signed char)v; break;
    case BOOL:
    case U8: ((unsigned char *)array)[i] = (unsigned char)v; break;
    case I16: ((short *)array)[i] = (short)v; break;
    case U16: ((unsigned short *)array)[i] = (unsigned short)v; break;
    case I32: ((int *)array)[i] = (int)v; break;
    case U32: ((unsigned int *)array)[i] = (unsigned int)v; break;
    case I64: ((long long *)array)[i] = (long long)v; break;
    case U64: ((u64 *)array)[i] = (u64)v; break;
    case F16: ((unsigned short *)array)[i] = float_to_half((float)v); break;
    case BF16: ((unsigned short *)array)[i] = (unsigned short)(__float_as_uint((float)v) >> 16); break;
    case E5M2: ((unsigned char *)array)[i] = (unsigned char)(float_to_half((float)v) >> 8); break;
    case E4M3: ((unsigned char *)array)[i] = float_to_e4m3((float)v); break;
    case F32: ((float *)array)[i] = (float)v; break;
    default: ((double *)array)[i] = v;
    }
}

// The i-th number of a permutation of 0 to n - 1. Four reversible rounds shuffle the numbers below a power of four that is at
// least n. They are repeated until the result is below n.
static __device__ u64 permuted(u64 i, u64 n, unsigned int seed) {
    int half = 1;
    while (half < 31 && (1ull << 2 * half) < n)
        half++;
    const u64 mask = (1ull << half) - 1;
    do {
#pragma unroll 1
        for (unsigned int round = 0; round < 4; round++) {
            const u64 right = i & mask;
            i = right << half | ((i >> half) ^ (mix(right, seed + round) & mask));
        }
    } while (i >= n);
    return i;
}

enum { UNIFORM, NORMAL, SORTED, PERMUTATION, MIXED, NEGATIVE };

// Numbers that tell: eight magnitudes, one in four negative, one in eight the same as its neighbour, and the largest
// occurs often. Most are positive, so that sums do not cancel. NEGATIVE has no other: a maximum that begins at 0 shows.
static __device__ double mixed(u64 i, unsigned int seed, int kind) {
    const u64 own = mix(i / 2, seed ^ 0x5bd1e995u) % 8 ? i : i / 2;
    const unsigned int bits = mix(own, seed);
    const double size = (1 + (bits >> 9) * 0x1p-23 + mix(own, ~seed) * 0x1p-55) * (128 >> bits % 8) * 0x1p-7;
    return (bits >> 3 & 31 ? size : 2) * (kind == NEGATIVE || (bits >> 8 & 1 && bits >> 7 & 1) ? -1 : 1);
}

// Uniform numbers from `low` to `high` (whole numbers include both). A normal number is the sum of twelve uniform ones less 6.
// That is near enough, and the same on every machine. Sorted numbers are uniform, each in its own n-th of the range.
extern "C" __global__ void tt_numbers(void *array, long long n, int type, int kind, double low, double high,
                                      unsigned int seed) {
    const bool whole = type < F16;
    const double width = high - low + (whole ? 1 : 0);
    const u64 ends = mix(n, ~seed) % (u64)n;
    GRID_STRIDE(i, n) {
        const double u = mix(i, seed) * 0x1p-32;
        double v = kind == NORMAL ? -6 : kind == SORTED ? low + width * ((double)i + u) / (double)n : low + width * u;
#pragma unroll 1
        for (unsigned int k = 0; k < 12 && kind == NORMAL; k++)
            v += mix(i * 12 + k, seed) * 0x1p-32;
        if (kind == PERMUTATION)
            v = (double)permuted(i, (u64)n, seed);
        if (kind >= MIXED)
            v = mixed(i, seed, kind);
        if (kind == UNIFORM && whole && n > 1) // both ends occur
            v = i == ends ? low : i == (ends + 1) % n ? high : v;
        put_number(array, i, type, whole ? floor(v) : v);
    }
}
#endif

#if HAS_PART(4)
// Does the reference write the number i of an array that begins `head` bytes after the start of its area? `written` NULL: all.
static __device__ bool is_written(const unsigned char *written, long long head, u64 i, int size) {
    const u64 at = head + i * size;
    return !written || (written[at / 8] >> at % 8 & 1);
}

// Numbers from all over an array, and 0 for those that are not written.
extern "C" __global__ void tt_sample(const void *array, const unsigned char *written, long long head, long long n, int type,
                                     int size, double *out, long long n_out) {
    GRID_STRIDE(k, n_out) {
        const u64 i = ((u64)mix(k, 7) << 32 | mix(k, 8)) % (u64)n;
        out[k] = is_written(written, head, i, size) ? number(array, i, type) : 0;
    }
}

// The sum of squares of all written numbers up to `most`, and how many these are.
extern "C" __global__ void tt_squares(const void *array, const unsigned char *written, long long head, long long n, int type,
                                      int size, double most, double *sum) {
    double own = 0, count = 0;
    GRID_STRIDE(i, n) {
        const double v = number(array, i, type);
        const bool counts = is_written(written, head, i, size) && fabs(v) <= most; // false for NaN
        own += counts ? v * v : 0;
        count += counts;
    }
    atomicAdd(&sum[0], own);
    atomicAdd(&sum[1], count);
}

// Of the written numbers, how many are not NaN, and for how many a zero would be wrong, or the first number.
extern "C" __global__ void tt_telling(const void *array, const unsigned char *written, long long head, long long n, int type,
                                      int size, double abs_tolerance, double rel_tolerance, u64 *out) {
    const double first = number(array, 0, type);
    u64 numbers = 0, tell = 0, differ = 0;
    GRID_STRIDE(i, n) {
        const double v = number(array, i, type);
        if (!is_written(written, head, i, size))
            continue;
        numbers += v == v;
        tell += !close(0, v, abs_tolerance, rel_tolerance);
        differ += !close(first, v, abs_tolerance, rel_tolerance);
    }
    if (numbers)
        atomicAdd(&out[0], numbers);
    if (tell)
        atomicAdd(&out[1], tell);
    if (differ)
        atomicAdd(&out[2], differ);
}
#endif

#if HAS_PART(5)
static __device__ unsigned char shown_byte(const unsigned char *area, long long at, unsigned int key) {
    return (unsigned char)(area[at] ^ hidden(at / 4, key) >> 8 * (at % 4));
}

static __device__ double shown_number(const unsigned char *area, long long at, int type, int size, unsigned int key) {
    u64 bits = 0;
#pragma unroll 1
    for (int k = 0; k < size; k++)
        bits |= (u64)shown_byte(area, at + k, key) << 8 * k;
    return number(&bits, 0, type);
}

// As tt_compare, for an array that starts `head` bytes after the start of its area. Its elements may differ by the
// tolerance. Their size is a power of two. All bytes around them must be equal.
extern "C" __global__ void tt_compare_numbers(const uint4 *a, const uint4 *b, long long n, long long head,
                                              long long count, int type, int size, double abs_tolerance,
                                              double rel_tolerance, unsigned int key, finding *f) {
    const unsigned char *as = (const unsigned char *)a, *bs = (const unsigned char *)b;
    GRID_STRIDE(i, n) {
        const uint4 x = a[i], y = shown(b[i], i, key);
        if (x.x == y.x && x.y == y.y && x.z == y.z && x.w == y.w)
            continue;
#pragma unroll 1
        for (long long byte = 16 * (long long)i; byte < 16 * (long long)i + 16; byte++) {
            if (as[byte] == shown_byte(bs, byte, key))
                continue;
            const long long element = (byte - head) >> (__ffs(size) - 1);
            const bool inside = byte >= head && element < count;
            if (!inside || !close(number(as + head, element, type),
                                  shown_number(bs, head + element * size, type, size, key), abs_tolerance,
                                  rel_tolerance)) {
                found(f, byte);
                break;
            }
            byte = head + (element + 1) * size - 1; // to the next element
        }
    }
}
#endif

// ---- What the GPU can do at most, for explanations
#if PEAKS && !defined __HOSTCUDA__

// So many numbers of a thread are multiplied and added at once, so often in a round (tuner/worker/gpu_worker.c).
enum { PEAK_NUMBERS = 8, PEAK_TURNS = 16 };

#define PEAK(name, type, first, fma)                                                                         \
    extern "C" __global__ void name(type *out, int rounds) {                                                 \
        type s[PEAK_NUMBERS], a = (type)(first), b = (type)(first);                                          \
        for (int k = 0; k < PEAK_NUMBERS; k++)                                                               \
            s[k] = (type)(first) + (type)(threadIdx.x + k);                                                  \
        for (int i = 0; i < rounds; i++)                                                                     \
            _Pragma("unroll") for (int t = 0; t < PEAK_TURNS; t++)                                           \
                _Pragma("unroll") for (int k = 0; k < PEAK_NUMBERS; k++) fma(s[k], a, b);                    \
        for (int k = 1; k < PEAK_NUMBERS; k++)                                                               \
            fma(s[0], s[k], b);                                                                              \
        if (rounds < 0)                                                                                      \
            out[threadIdx.x] = s[0];                                                                         \
    }
#define FMA(x, a, b)   x = x * a + b
#define FMA_2(x, a, b) asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b))
PEAK(tt_peak_fp32, float, 0.5f, FMA)
PEAK(tt_peak_fp64, double, 0.5, FMA)
PEAK(tt_peak_fp16, unsigned int, 0x38003800u, FMA_2)

#if __CUDA_ARCH__ >= 800
// A warp multiplies 16 x 16 by 16 x 8 halves and adds in fp32: the instruction that nvcuda::wmma becomes.
extern "C" __global__ void tt_peak_tensor(float *out, int rounds) {
    const unsigned int a = 0x38003800u;
    float s[PEAK_NUMBERS][4];
    for (int k = 0; k < PEAK_NUMBERS; k++)
        for (int i = 0; i < 4; i++)
            s[k][i] = (float)(threadIdx.x + k);
    for (int i = 0; i < rounds; i++)
#pragma unroll
        for (int t = 0; t < PEAK_TURNS; t++)
#pragma unroll
            for (int k = 0; k < PEAK_NUMBERS; k++)
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
                             "{%4, %4}, {%0, %1, %2, %3};"
                             : "+f"(s[k][0]), "+f"(s[k][1]), "+f"(s[k][2]), "+f"(s[k][3])
                             : "r"(a));
    for (int k = 1; k < PEAK_NUMBERS; k++)
        s[0][0] += s[k][0] + s[k][1] + s[k][2] + s[k][3];
    if (rounds < 0)
        out[threadIdx.x] = s[0][0];
}
#endif

// Reads n words again and again, past the L1 cache.
extern "C" __global__ void tt_peak_l2(const uint4 *words, long long n, int rounds, unsigned int *out) {
    unsigned int sum = 0;
    for (int r = 0; r < rounds; r++)
#pragma unroll 4
        GRID_STRIDE(i, n) {
            uint4 v;
            asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                         : "l"(words + i));
            sum ^= v.x ^ v.y ^ v.z ^ v.w;
        }
    if (rounds < 0)
        *out = sum;
}
#endif
