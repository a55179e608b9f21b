// Four steps of `tune study`: transposes without shared memory. docs/study.md says what each STEP shows.
//@ kernel   ladder_naive
//@ op       transpose_ladder
//@ param    STEP   reads writes unrolled vectors
//@ derived  COUNT  CASE STEP WHEN 'unrolled' THEN 4 WHEN 'vectors' THEN align / elem_size ELSE 1 END
//@ where    align >= elem_size AND batch = 1
//@ block    256
//@ grid     iif(STEP = 'reads', ceil_div(cols, 256) * rows, ceil_div(rows, 256 * COUNT) * cols)
//@ args     dst, src, i64 rows, i64 cols, i64 lds, i64 ldd
//@ default  STEP=reads

#include "common.cuh"

enum { reads, writes, unrolled, vectors };
#define THREADS 256

union vector {
    elem e[COUNT];
    vec_of<STEP == vectors ? COUNT * ELEM_SIZE : 4>::type whole;
};

extern "C" __global__ void __launch_bounds__(THREADS) ladder_naive(elem *__restrict__ dst, const elem *__restrict__ src,
                                                                   long long rows, long long cols, long long lds, long long ldd) {
    const long long length = STEP == reads ? cols : rows; // of the row along which a block works
    const unsigned across = (unsigned)((length + THREADS * COUNT - 1) / (THREADS * COUNT));
    const long long line = blockIdx.x / across;
    const long long first = ((long long)(blockIdx.x % across) * THREADS + threadIdx.x) * COUNT;
    if (STEP == reads || STEP == writes) {
        if (first < length)
            dst[STEP == reads ? first * ldd + line : line * ldd + first] =
                src[STEP == reads ? line * lds + first : first * lds + line];
        return;
    }
    elem *to = dst + line * ldd + first;
    vector v;
#pragma unroll
    for (int u = 0; u < COUNT; u++)
        if (first + u < rows)
            v.e[u] = src[(first + u) * lds + line];
    if (STEP == vectors && first + COUNT <= rows)
        *(decltype(v.whole) *)to = v.whole;
    else
        for (int u = 0; u < COUNT; u++)
            if (first + u < rows)
                to[u] = v.e[u];
}
