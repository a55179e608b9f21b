// One pass of BAT's radix sort, from SHOC and CUDPP: keys with their values, by their lowest four bits.
// The pass sorts chunks, counts digits, scans the counts in up to three levels, and moves the data.
// The unroll macros are switches in the code, and LOOP_UNROLL_VECTOR is not used there.
//@ kernel    radixSortBlocks
//@ problem   n 16777216
//@ buffer    keys u32 n in
//@ buffer    values u32 n in index i
//@ buffer    keys1 u32 n scratch
//@ buffer    values1 u32 n scratch
//@ buffer    keys2 u32 n out
//@ buffer    values2 u32 n out
//@ buffer    counts u32 n / 2 scratch
//@ buffer    sums u32 n / 2 scratch
//@ buffer    offsets u32 n / 2 scratch
//@ buffer    sums1 u32 n / 64 + 1 scratch
//@ buffer    sums2 u32 n / 2048 + 1 scratch
//@ param     SORT_BLOCK_SIZE 16 32 64 128 256 512 1024
//@ param     SCAN_BLOCK_SIZE 16 32 64 128 256 512 1024
//@ param     SORT_DATA_SIZE 2 4 8
//@ param     SCAN_DATA_SIZE 2 4 8
//@ param     INLINE_SCAN 0 1
//@ param     INLINE_LSB 0 1
//@ param     INLINE_LOCAL_MEMORY 0 1
//@ param     LOOP_UNROLL_LSB 0 1
//@ param     LOOP_UNROLL_LOCAL_MEMORY 0 1
//@ let       chunk SORT_BLOCK_SIZE * SORT_DATA_SIZE
//@ let       part SCAN_BLOCK_SIZE * SCAN_DATA_SIZE
//@ let       parts n / part
//@ let       per_scan SCAN_BLOCK_SIZE * SORT_DATA_SIZE
//@ let       scans ceil_div(16 * parts, per_scan)
//@ let       scans1 ceil_div(scans, per_scan)
//@ where     chunk % part = 0
//@ where     n % chunk = 0
//@ where     8 * part + 128 <= 49152
//@ where     scans1 <= per_scan
//@ block     SORT_BLOCK_SIZE
//@ grid      n / chunk
//@ args      4u, 0u, keys1, values1, keys, values
//@ kernel    findRadixOffsets
//@ block     SCAN_BLOCK_SIZE
//@ grid      parts
//@ args      keys1, counts, offsets, 0u, u32 n, u32 parts
//@ kernel    scan
//@ block     SCAN_BLOCK_SIZE
//@ grid      scans
//@ args      sums, counts, sums1, i32 16 * parts, bool 16 * parts = scans * per_scan, bool scans > 1
//@ kernel    scan
//@ when      scans > 1
//@ block     SCAN_BLOCK_SIZE
//@ grid      scans1
//@ args      sums1, sums1, sums2, i32 scans, bool scans = scans1 * per_scan, bool scans1 > 1
//@ kernel    scan
//@ when      scans1 > 1
//@ block     SCAN_BLOCK_SIZE
//@ grid      1
//@ args      sums2, sums2, sums2, i32 scans1, bool scans1 = per_scan, false
//@ kernel    vectorAddUniform4
//@ when      scans1 > 1
//@ block     SCAN_BLOCK_SIZE
//@ grid      scans1
//@ args      sums1, sums2, i32 scans
//@ kernel    vectorAddUniform4
//@ when      scans > 1
//@ block     SCAN_BLOCK_SIZE
//@ grid      scans
//@ args      sums, sums1, i32 16 * parts
//@ kernel    reorderData
//@ block     SCAN_BLOCK_SIZE
//@ grid      parts
//@ args      0u, keys2, values2, keys1, values1, offsets, sums, counts, u32 parts
//@ default   SORT_BLOCK_SIZE=128 SCAN_BLOCK_SIZE=256 SORT_DATA_SIZE=4 SCAN_DATA_SIZE=2 INLINE_SCAN=0 INLINE_LSB=0 INLINE_LOCAL_MEMORY=0 LOOP_UNROLL_LSB=1 LOOP_UNROLL_LOCAL_MEMORY=1
//@ verify    wrong_places
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      error, keys, keys2, values2, u32 n
//@ metric    gkeys n / time_ns

// A value is its key's first place: digits must rise, and places within a digit too.
extern "C" __global__ void wrong_places(double *error, const unsigned *keys, const unsigned *keys2, const unsigned *values2, unsigned n) {
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    unsigned digit = keys2[i] & 15, before = i > 0 ? keys2[i - 1] & 15 : 0;
    bool right = values2[i] < n && keys[values2[i]] == keys2[i] && digit >= before;
    if (!right || (i > 0 && digit == before && values2[i] <= values2[i - 1]))
        atomicAdd(error, 1.0);
}
#include "../sources/BAT/batbench/benchmarks/others/Sort/sort_kernel.cu"
