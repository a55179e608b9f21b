// BAT's FFT of 512 points in shared memory, by V. Volkov, from SHOC.
// The kernel does not call the inverse, 16 and 4X4 parts: their parameters change nothing.
//@ kernel    FFT512_device
//@ problem   nffts 32768
//@ buffer    work f32x2 512 * nffts inout uniform -1 1
//@ param     FFT2_INLINE 0 1 2
//@ param     FFT4_INLINE 0 1 2
//@ param     IFFT4_INLINE 0 1 2
//@ param     FFT8_INLINE 0 1 2
//@ param     IFFT8_INLINE 0 1 2
//@ param     TWIDDLE_8_INLINE 0 1 2
//@ param     ITWIDDLE_8_INLINE 0 1 2
//@ param     TRANSPOSE_8_INLINE 0 1 2
//@ param     TRANSPOSE_4X4_INLINE 0 1 2
//@ param     LOOP_UNROLL_LOAD_8 1 2 4 8
//@ param     LOOP_UNROLL_LOADX_8 1 2 4 8
//@ param     LOOP_UNROLL_LOADX_16 1 2 4 8 16
//@ param     LOOP_UNROLL_LOADY_8 1 2 4 8
//@ param     LOOP_UNROLL_LOADY_16 1 2 4 8 16
//@ param     LOOP_UNROLL_STORE_8 1 2 4 8
//@ param     LOOP_UNROLL_STOREX_8 1 2 4 8
//@ param     LOOP_UNROLL_STOREY_8 1 2 4 8
//@ param     LOOP_UNROLL_STOREX_4X4 1 2 4 8 16
//@ param     LOOP_UNROLL_STOREY_4X4 1 2 4 8 16
//@ param     LOOP_UNROLL_TWIDDLE_8 1 2 4 8
//@ param     LOOP_UNROLL_ITWIDDLE_8 1 2 4 8
//@ param     PRECISION 32
//@ block     64
//@ grid      nffts
//@ args      work
//@ default   FFT2_INLINE=1 FFT4_INLINE=1 IFFT4_INLINE=1 FFT8_INLINE=1 IFFT8_INLINE=1 TWIDDLE_8_INLINE=1 ITWIDDLE_8_INLINE=1 TRANSPOSE_8_INLINE=1 TRANSPOSE_4X4_INLINE=1 LOOP_UNROLL_LOAD_8=1 LOOP_UNROLL_LOADX_8=1 LOOP_UNROLL_LOADX_16=1 LOOP_UNROLL_LOADY_8=1 LOOP_UNROLL_LOADY_16=1 LOOP_UNROLL_STORE_8=1 LOOP_UNROLL_STOREX_8=1 LOOP_UNROLL_STOREY_8=1 LOOP_UNROLL_STOREX_4X4=1 LOOP_UNROLL_STOREY_4X4=1 LOOP_UNROLL_TWIDDLE_8=1 LOOP_UNROLL_ITWIDDLE_8=1 PRECISION=32
//@ reference dft512
//@ block     512
//@ grid      nffts
//@ args      work
//@ tolerance scale 1e-4
//@ metric    gbps 8192 * nffts / time_ns

extern "C" __global__ void dft512(float2 *work) {
    __shared__ float2 in[512], w[512];
    int k = threadIdx.x;
    float2 sum = {0, 0};
    work += blockIdx.x * 512;
    in[k] = work[k];
    w[k] = make_float2(cosf(k * 0.012271846f), -sinf(k * 0.012271846f));
    __syncthreads();
    for (int i = 0; i < 512; i++) {
        float2 a = in[i], b = w[i * k % 512];
        sum.x += a.x * b.x - a.y * b.y;
        sum.y += a.x * b.y + a.y * b.x;
    }
    work[k] = sum;
}
#include "../sources/BAT/batbench/benchmarks/others/FFT/fft.cu"
