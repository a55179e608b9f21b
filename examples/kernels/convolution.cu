// A two-dimensional convolution with its filter in constant memory.
//
//@ kernel    convolution
//@ problem   w 4096
//@ problem   h 4096
//@ buffer    src f32 (w + 16) * (h + 16) in
//@ buffer    dst f32 w * h out
//@ constant  filter f32 17 * 17 uniform -1 1
//@ param     BX 16 32 64 128
//@ param     BY 1 2 4 8 16
//@ param     TX 1 2 4
//@ param     TY 1 2 4 8
//@ where     BX * BY BETWEEN 32 AND max_threads_per_block
//@ block     BX, BY
//@ grid      ceil_div(w, BX * TX), ceil_div(h, BY * TY)
//@ args      dst, src, i32 w, i32 h
//@ default   BX=32 BY=8 TX=1 TY=1
//@ reference convolution_reference
//@ block     32, 8
//@ grid      ceil_div(w, 32), ceil_div(h, 8)
//@ args      dst, src, i32 w, i32 h
//@ tolerance abs 1e-3 rel 1e-4
//@ metric    gflops 2 * 17 * 17 * w * h / time_ns

#define F 17 // a side of the filter; the source has F - 1 more rows and columns

__constant__ float filter[F * F];

extern "C" __global__ void convolution(float *dst, const float *src, int w, int h) {
    const int x0 = blockIdx.x * BX * TX + threadIdx.x, y0 = blockIdx.y * BY * TY + threadIdx.y;
    const int pitch = w + F - 1;
    float sum[TY][TX] = {};
    for (int j = 0; j < F; j++)
        for (int i = 0; i < F; i++)
#pragma unroll
            for (int ty = 0; ty < TY; ty++)
#pragma unroll
                for (int tx = 0; tx < TX; tx++) {
                    const int x = x0 + tx * BX, y = y0 + ty * BY;
                    if (x < w && y < h)
                        sum[ty][tx] += filter[j * F + i] * src[(long long)(y + j) * pitch + x + i];
                }
    for (int ty = 0; ty < TY; ty++)
        for (int tx = 0; tx < TX; tx++) {
            const int x = x0 + tx * BX, y = y0 + ty * BY;
            if (x < w && y < h)
                dst[(long long)y * w + x] = sum[ty][tx];
        }
}

extern "C" __global__ void convolution_reference(float *dst, const float *src, int w, int h) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    if (x >= w || y >= h)
        return;
    for (int j = 0; j < F; j++)
        for (int i = 0; i < F; i++)
            sum += filter[j * F + i] * src[(long long)(y + j) * (w + F - 1) + x + i];
    dst[(long long)y * w + x] = sum;
}
