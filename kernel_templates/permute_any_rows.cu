// The innermost dimension is the same on both sides, and the sizes are arguments (permute_any.cuh). So one cubin serves all such
// permutations of an element size: the answer for one that nobody tuned. A table in shared memory says where the tile's rows are. The
// rule of src/kernel/expression/permute_any.c chooses the tile.
//
//@ kernel    permute_any_rows
//@ op        permute
//@ where     permute_any(0, 0) > 0
//@ derived   WIDE_LOAD permute_any(2, 0)
//@ derived   WIDE_STORE permute_any(3, 0)
//@ block     256
//@ grid      permute_any(0, 0)
//@ shared    permute_any(1, 0)
//@ args      dst, src, struct permute_any

#define THREADS 256
#include "common.cuh"
#include "permute_any.cuh"
#include "permute_any_walk.cuh"

constexpr int load_vec = WIDE_LOAD / ELEM_SIZE;
constexpr int batch = WIDE_LOAD == 16 ? 4 : 8;

extern "C" __global__ void __launch_bounds__(THREADS)
    permute_any_rows(elem *__restrict__ dst, const elem *__restrict__ src, PERMUTE_ANY_ARGUMENT a) {
    extern __shared__ uint4 shared[];
    uint2 *row = (uint2 *)shared; // in the source and in the destination
    const any_start start = any_prepare(a, a.rows, [&](unsigned i) {
        const any_place p = any_walk(a, 0, a.n_rows, i);
        row[i] = make_uint2(p.first | p.beyond, p.second);
    });
    const unsigned cols = any_count(a.cols, start), loads = a.rows * a.row_vectors;
    typedef typename vec_of<WIDE_LOAD>::type vec;
    src += start.src;
    dst += start.dst;
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < loads; first += batch * THREADS) {
        vec v[batch];
        unsigned to[batch];
        bool is[batch];
#pragma unroll
        for (int i = 0; i < batch; i++) {
            const unsigned at = first + i * THREADS, r = any_div(at, a.row_multiplier), col = (at - r * a.row_vectors) * load_vec;
            is[i] = false;
            if (at < loads && col < cols) {
                const uint2 from = row[r];
                if (!(from.x & start.cut)) {
                    is[i] = true;
                    to[i] = from.y + col;
                    v[i] = *(const vec *)(src + ((from.x & PERMUTE_ANY_BELOW) + col));
                }
            }
        }
#pragma unroll
        for (int i = 0; i < batch; i++)
            if (is[i])
                *(vec *)(dst + to[i]) = v[i];
    }
}
