// Blurs a picture. A whole program, which knows nothing of tiletune.
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>

#define BLOCK_X 16
#define BLOCK_Y 16
const int RADIUS = 2;

#define CHECK(call) check(call, #call)
void check(cudaError_t error, const char *call) {
    if (error != cudaSuccess)
        fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
}

__global__ void blur(const float *in, float *out, int width, int height) {
    __shared__ float tile[BLOCK_Y + 2 * RADIUS][BLOCK_X + 2 * RADIUS];
    int left = blockIdx.x * BLOCK_X - RADIUS, top = blockIdx.y * BLOCK_Y - RADIUS;
    for (int y = threadIdx.y; y < BLOCK_Y + 2 * RADIUS; y += BLOCK_Y)
        for (int x = threadIdx.x; x < BLOCK_X + 2 * RADIUS; x += BLOCK_X)
            tile[y][x] = in[min(max(top + y, 0), height - 1) * width + min(max(left + x, 0), width - 1)];
    __syncthreads();
    float sum = 0;
    for (int y = 0; y <= 2 * RADIUS; y++)
        for (int x = 0; x <= 2 * RADIUS; x++)
            sum += tile[threadIdx.y + y][threadIdx.x + x];
    int x = left + RADIUS + threadIdx.x, y = top + RADIUS + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = sum / ((2 * RADIUS + 1) * (2 * RADIUS + 1));
}

int main() {
    const int width = 1920, height = 1080;
    std::vector<float> image(width * height, 1.0f);
    float *in, *out;
    CHECK(cudaMalloc(&in, image.size() * sizeof(float)));
    CHECK(cudaMalloc(&out, image.size() * sizeof(float)));
    CHECK(cudaMemcpy(in, image.data(), image.size() * sizeof(float), cudaMemcpyHostToDevice));
    dim3 block(BLOCK_X, BLOCK_Y), grid((width + BLOCK_X - 1) / BLOCK_X, (height + BLOCK_Y - 1) / BLOCK_Y);
    blur<<<grid, block>>>(in, out, width, height);
    CHECK(cudaDeviceSynchronize());
}
