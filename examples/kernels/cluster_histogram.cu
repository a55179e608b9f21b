// How often each of `bins` values occurs in n numbers. The blocks of a cluster share one histogram: each block has a part of it
// in its shared memory, and all of them count in all parts (distributed shared memory). So a cluster of 8 blocks counts 8 times
// as many values as one block has room for, or leaves room for more blocks.
//
//@ kernel    cluster_histogram
//@ problem   n 67108864
//@ problem   bins 16384
//@ buffer    x u32 n in uniform 0 bins-1
//@ buffer    counts u32 bins inout zeros
//@ param     CLUSTER 1 2 4 8
//@ param     THREADS 256 512 1024
//@ param     PER_SM 1 2 4
//@ let       PART ceil_div(bins, CLUSTER)
//@ where     cc >= 90
//@ where     PER_SM * THREADS <= 2048
//@ block     THREADS
//@ grid      CLUSTER * max(1, sm_count * PER_SM / CLUSTER)
//@ cluster   CLUSTER
//@ shared    4 * PART
//@ args      counts, x, i64 n, i32 bins, i32 PART
//@ default   CLUSTER=2 THREADS=512 PER_SM=2
//@ reference plain
//@ block     256
//@ grid      1024
//@ args      counts, x, i64 n
//@ metric    gbps 4 * n / time_ns

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void __launch_bounds__(THREADS) cluster_histogram(unsigned *counts, const unsigned *x, long long n, int bins, int part) {
    extern __shared__ unsigned mine[];
    cg::cluster_group cluster = cg::this_cluster();
    const int first = cluster.block_rank() * part;
    for (int i = threadIdx.x; i < part; i += THREADS)
        mine[i] = 0;
    cluster.sync(); // all parts are zeros
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS) {
        const int bin = x[i], block = bin / part;
        atomicAdd(cluster.map_shared_rank(mine, block) + (bin - block * part), 1u);
    }
    cluster.sync(); // all have counted, and no block may end before
    for (int i = threadIdx.x; i < part && first + i < bins; i += THREADS)
        if (mine[i])
            atomicAdd(&counts[first + i], mine[i]);
}

extern "C" __global__ void plain(unsigned *counts, const unsigned *x, long long n) {
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += 256LL * gridDim.x)
        atomicAdd(&counts[x[i]], 1u);
}
