// STEPS steps of heat on width x height cells, with a margin of 10 cells at each side.
// Each block keeps 32x32 cells, of which 12x12 are still right after 10 steps.
extern "C" __global__ void hotspot_reference(const float *power, const float *temp, float *temp_dst, int width, int height) {
    __shared__ float t[32][32];
    int i = threadIdx.x, j = threadIdx.y, x = blockIdx.x * 12 + i, y = blockIdx.y * 12 + j;
    bool inside = x < width + 20 && y < height + 20;
    float p = inside ? power[y * (width + 20) + x] : 0, mine = inside ? temp[y * (width + 20) + x] : 0;
    for (int step = 0; step < STEPS; step++) {
        t[j][i] = mine;
        __syncthreads();
        if (i > 0 && i < 31 && j > 0 && j < 31)
            mine += 1.0f * (p + (t[j + 1][i] + t[j - 1][i] - 2 * mine) * 0.1f + (t[j][i + 1] + t[j][i - 1] - 2 * mine) * 0.1f +
                            (80 - mine) * 3.0517578e-6f);
        __syncthreads();
    }
    if (i >= 10 && i < 22 && j >= 10 && j < 22 && x < width + 10 && y < height + 10)
        temp_dst[(y - 10) * width + x - 10] = mine;
}
