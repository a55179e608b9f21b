// Any permutation, with sizes as arguments (permute_any.cuh). So one cubin serves all permutations with the same vectors: the answer
// for one that nobody tuned. Shared memory holds rows of the source one behind the other. Tables there say where rows and runs are,
// and where a run's elements are in shared memory. So no thread divides more than twice for a vector.
//
//@ kernel    permute_any_tiled
//@ op        permute
//@ where     permute_any(0, 1) > 0
//@ derived   WIDE_LOAD permute_any(2, 1)
//@ derived   WIDE_STORE permute_any(3, 1)
//@ block     256
//@ grid      permute_any(0, 1)
//@ shared    permute_any(1, 1)
//@ args      dst, src, struct permute_any

#define THREADS 256
#include "common.cuh"
#include "permute_any.cuh"
#include "permute_any_walk.cuh"

constexpr int load_vec = WIDE_LOAD / ELEM_SIZE, store_vec = WIDE_STORE / ELEM_SIZE;
constexpr int batch = WIDE_LOAD == 16 ? 4 : 8;

template <int BYTES> union any_parts {
    typename vec_of<BYTES>::type v;
    elem e[BYTES / ELEM_SIZE];
};

extern "C" __global__ void __launch_bounds__(THREADS)
    permute_any_tiled(elem *__restrict__ dst, const elem *__restrict__ src, PERMUTE_ANY_ARGUMENT a) {
    extern __shared__ uint4 shared[];
    unsigned *row = (unsigned *)shared;                             // in the source
    uint2 *run = (uint2 *)((char *)shared + a.runs_at);             // in the destination, and in shared memory
    unsigned *along = (unsigned *)((char *)shared + a.along_at);       // bytes of shared memory
    elem *held = (elem *)((char *)shared + a.held_at);
    const unsigned n_rows = a.n_rows, n_runs = n_rows + a.n_runs, n_along = n_runs + a.n_along;
    const unsigned all_rows = a.rows, all_runs = all_rows + a.runs, all = all_runs + a.along.all;
    const any_start start = any_prepare(a, all, [&](unsigned i) {
        if (i < all_rows) {
            const any_place p = any_walk(a, 0, n_rows, i);
            row[i] = p.first | p.beyond;
        } else if (i < all_runs) {
            const any_place p = any_walk(a, n_rows, n_runs, i - all_rows);
            run[i - all_rows] = make_uint2(p.first, p.second * ELEM_SIZE | p.beyond);
        } else
            along[i - all_runs] = any_walk(a, n_runs, n_along, i - all_runs).first * ELEM_SIZE;
    });

    const unsigned cols = any_count(a.cols, start), loads = a.rows * a.row_vectors;
    src += start.src;
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < loads; first += batch * THREADS) {
        any_parts<WIDE_LOAD> v[batch];
        int to[batch];
#pragma unroll
        for (int i = 0; i < batch; i++) {
            const unsigned at = first + i * THREADS, r = any_div(at, a.row_multiplier), col = (at - r * a.row_vectors) * load_vec;
            to[i] = -1;
            if (at < loads && col < cols) {
                const unsigned from = row[r];
                if (!(from & start.cut)) {
                    to[i] = (int)(r * a.pitch + col);
                    v[i].v = *(const typename vec_of<WIDE_LOAD>::type *)(src + ((from & PERMUTE_ANY_BELOW) + col * a.col_step));
                }
            }
        }
#pragma unroll
        for (int i = 0; i < batch; i++)
            if (to[i] >= 0)
#pragma unroll
                for (int e = 0; e < load_vec; e++)
                    held[to[i] + e] = v[i].e[e];
    }
    __syncthreads();

    const unsigned length = any_count(a.along, start), stores = a.runs * a.run_vectors;
    dst += start.dst;
#pragma unroll 4
    for (unsigned at = threadIdx.x; at < stores; at += THREADS) {
        const unsigned r = any_div(at, a.run_multiplier), p = (at - r * a.run_vectors) * store_vec;
        const uint2 from = run[r];
        if (p < length && !(from.y & start.cut)) {
            const char *base = (const char *)held + (from.y & PERMUTE_ANY_BELOW);
            any_parts<WIDE_STORE> v;
            constexpr int step = store_vec < 4 ? store_vec : 4;
#pragma unroll
            for (int e = 0; e < store_vec; e += step) {
                words_of<4 * step> at;
                at.v = *(const typename vec_of<4 * step>::type *)(along + (p + e));
#pragma unroll
                for (int k = 0; k < step; k++)
                    v.e[e + k] = *(const elem *)(base + at.w[k]);
            }
            *(typename vec_of<WIDE_STORE>::type *)(dst + (from.x + p)) = v.v;
        }
    }
}
