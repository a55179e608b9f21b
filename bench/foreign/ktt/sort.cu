// KTT's radix sort, by F. Petrovic and others, after SHOC. A sort is eight passes of three kernels. One pass is tuned, by the lowest digit.
//@ kernel    reduce
//@ problem   n 8388608
//@ require   n % 4 = 0
//@ buffer    src u32 n in
//@ buffer    dst u32 n out
//@ param     FPVECTNUM 4
//@ param     LOCAL_SIZE 128 256 512
//@ runtime   GLOBAL_SIZE 512 1024 2048 4096 8192 16384 32768
//@ let       groups GLOBAL_SIZE / LOCAL_SIZE
//@ buffer    isums u32 16 * GLOBAL_SIZE / LOCAL_SIZE scratch
//@ where     LOCAL_SIZE != 128 OR GLOBAL_SIZE != 32768
//@ block     LOCAL_SIZE
//@ grid      groups
//@ args      src, isums, i32 n, 0
//@ kernel    top_scan
//@ block     LOCAL_SIZE
//@ grid      1
//@ args      isums, i32 groups
//@ kernel    bottom_scan
//@ block     LOCAL_SIZE
//@ grid      groups
//@ args      src, isums, dst, i32 n, 0
//@ default   FPVECTNUM=4 LOCAL_SIZE=256 GLOBAL_SIZE=16384
//@ reference sort_reference
//@ block     256
//@ grid      1
//@ args      src, dst, i32 n

// A stable sort by the lowest four bits. Each thread has a part of src.
extern "C" __global__ void sort_reference(const unsigned *src, unsigned *dst, int n) {
    __shared__ int at[16][256];
    int t = threadIdx.x, part = (n + 255) / 256, begin = t * part, end = min(n, begin + part);
    for (int d = 0; d < 16; d++)
        at[d][t] = 0;
    for (int i = begin; i < end; i++)
        at[src[i] & 15][t]++;
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
    for (int i = begin; i < end; i++)
        dst[at[src[i] & 15][t]++] = src[i];
}
#include "../sources/KTT/Examples/Sort/Sort.cu"
