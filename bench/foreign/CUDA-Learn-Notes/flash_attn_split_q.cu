// Flash attention with mma, of CUDA-Learn-Notes, by DefTruth and others. The author's file makes a PyTorch extension.
//@ kernel    flash_attn_mma_stages_split_q_kernel<64, 16, 8, 16, warps, 1, warps, 1, 1, columns, 1, 8, stages, pad>
//@ include   ../sources/CUDA-Learn-Notes/kernels/flash-attn/utils
//@ problem   batch 4
//@ problem   heads 16
//@ problem   n 4096
//@ buffer    q f16 batch * heads * n * 64 in normal
//@ buffer    k f16 batch * heads * n * 64 in normal
//@ buffer    v f16 batch * heads * n * 64 in normal
//@ buffer    o f16 batch * heads * n * 64 out
//@ param     warps 2 4 8 as template
//@ param     columns 2 4 8 16 as template
//@ param     stages 1 2 as template
//@ param     pad 0 8 16 as template
//@ where     columns <= 4 * warps AND warps <= 2 * columns
//@ where     n % (8 * columns) = 0
//@ block     32 * warps
//@ grid      ceil_div(n, 16 * warps), batch * heads
//@ shared    (16 * warps + (stages + 1) * 8 * columns) * (64 + pad) * 2
//@ args      q, k, v, o, i32 n, i32 heads
//@ default   warps=4 columns=8 stages=2 pad=8
//@ reference attention
//@ block     128
//@ grid      batch * heads * n / 128
//@ args      q, k, v, o, i32 n
//@ tolerance scale 6e-2

#include "../sources/CUDA-Learn-Notes/kernels/flash-attn/mma/basic/flash_attn_mma_split_q.cu"

// A thread for each row of the result, and the largest number first.
extern "C" __global__ void attention(const half *q, const half *k, const half *v, half *o, int n) {
    int row = blockIdx.x * 128 + threadIdx.x;
    const half *keys = k + size_t(row / n) * n * 64, *values = v + size_t(row / n) * n * 64;
    float mine[64], out[64] = {}, largest = -INFINITY, sum = 0;
    for (int x = 0; x < 64; x++)
        mine[x] = __half2float(q[size_t(row) * 64 + x]) / 8;
    for (int j = 0; j < n; j++) {
        float s = 0;
        for (int x = 0; x < 64; x++)
            s += mine[x] * __half2float(keys[j * 64 + x]);
        float before = largest;
        largest = max(largest, s);
        float scale = expf(before - largest), p = expf(s - largest);
        sum = sum * scale + p;
        for (int x = 0; x < 64; x++)
            out[x] = out[x] * scale + p * __half2float(values[j * 64 + x]);
    }
    for (int x = 0; x < 64; x++)
        o[size_t(row) * 64 + x] = __float2half(out[x] / sum);
}
