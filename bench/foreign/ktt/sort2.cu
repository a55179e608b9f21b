// KTT's radix sort of keys with values, by F. Petrovic and others, after CUDPP. A sort is eight passes. One is tuned, by the lowest digit.
//@ kernel    radixSortBlocks
//@ problem   n 8388608
// Their scan goes through float, which is exact up to 2^24.
//@ require   n <= 16777216
//@ param     SORT_BLOCK_SIZE 32 64 128 256 512 1024
//@ param     SCAN_BLOCK_SIZE 32 64 128 256 512 1024
//@ param     SORT_VECTOR 2 4 8
//@ param     SCAN_VECTOR 2 4 8
//@ let       blocks n / (SCAN_BLOCK_SIZE * SCAN_VECTOR)
//@ let       tile SCAN_BLOCK_SIZE * SORT_VECTOR
//@ let       n0 16 * blocks
//@ let       n1 ceil_div(n0, tile)
//@ let       n2 ceil_div(n1, tile)
//@ where     SCAN_BLOCK_SIZE * SCAN_VECTOR = SORT_BLOCK_SIZE * SORT_VECTOR
//@ where     n % (SCAN_BLOCK_SIZE * SCAN_VECTOR) = 0
// KTT scans with as many levels as it takes. Here there are at most three.
//@ where     n2 <= tile
// CUDA's limit of static shared memory. KTT lets the compiler find out.
//@ where     SCAN_BLOCK_SIZE * SCAN_VECTOR * 8 + 128 <= 49152
//@ buffer    keys u32 n in
//@ buffer    values u32 n in
//@ buffer    sorted_keys u32 n out
//@ buffer    sorted_values u32 n out
//@ buffer    temp_keys u32 n scratch
//@ buffer    temp_values u32 n scratch
//@ buffer    counters u32 n0 scratch
//@ buffer    offsets u32 n0 scratch
//@ buffer    sums u32 n0 scratch
//@ buffer    sums1 u32 n1 scratch
//@ buffer    sums2 u32 n2 scratch
//@ block     SORT_BLOCK_SIZE
//@ grid      n / (SORT_BLOCK_SIZE * SORT_VECTOR)
//@ args      4u, 0u, temp_keys, temp_values, keys, values
//@ kernel    findRadixOffsets
//@ block     SCAN_BLOCK_SIZE
//@ grid      blocks
//@ args      temp_keys, counters, offsets, 0u, u32 n, u32 blocks
//@ kernel    scan
//@ block     SCAN_BLOCK_SIZE
//@ grid      n1
//@ args      sums, counters, sums1, i32 n0, bool n0 = n1 * tile, bool n1 > 1
//@ kernel    scan
//@ when      n1 > 1
//@ block     SCAN_BLOCK_SIZE
//@ grid      n2
//@ args      sums1, sums1, sums2, i32 n1, bool n1 = n2 * tile, bool n2 > 1
//@ kernel    scan
//@ when      n2 > 1
//@ block     SCAN_BLOCK_SIZE
//@ grid      1
//@ args      sums2, sums2, sums2, i32 n2, bool n2 = tile, false
//@ kernel    vectorAddUniform4
//@ when      n2 > 1
//@ block     SCAN_BLOCK_SIZE
//@ grid      n2
//@ args      sums1, sums2, i32 n1
//@ kernel    vectorAddUniform4
//@ when      n1 > 1
//@ block     SCAN_BLOCK_SIZE
//@ grid      n1
//@ args      sums, sums1, i32 n0
//@ kernel    reorderData
//@ block     SCAN_BLOCK_SIZE
//@ grid      blocks
//@ args      0u, sorted_keys, sorted_values, temp_keys, temp_values, offsets, sums, counters, u32 blocks
//@ default   SORT_BLOCK_SIZE=128 SCAN_BLOCK_SIZE=256 SORT_VECTOR=4 SCAN_VECTOR=2
//@ reference sort_reference
//@ block     256
//@ grid      1
//@ args      keys, values, sorted_keys, sorted_values, i32 n

// A stable sort by the lowest four bits. Each thread has a part of the keys.
extern "C" __global__ void sort_reference(const unsigned *keys, const unsigned *values, unsigned *sorted_keys,
                                          unsigned *sorted_values, int n) {
    __shared__ int at[16][256];
    int t = threadIdx.x, part = (n + 255) / 256, begin = t * part, end = min(n, begin + part);
    for (int d = 0; d < 16; d++)
        at[d][t] = 0;
    for (int i = begin; i < end; i++)
        at[keys[i] & 15][t]++;
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int d = 0; d < 16; d++)
            for (int k = 0; k < 256; k++) {
                int count = at[d][k];
                at[d][k] = sum;
                sum += count;
            }
    }
    __syncthreads();
    for (int i = begin; i < end; i++) {
        int to = at[keys[i] & 15][t]++;
        sorted_keys[to] = keys[i];
        sorted_values[to] = values[i];
    }
}
#include "../sources/KTT/Examples/Sort2/Sort2.cu"
