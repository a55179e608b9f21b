// Sum in one cooperative launch, of NVIDIA's samples.
//@ kernel    reduceSinglePassMultiBlockCG
//@ problem   n 33554432
//@ buffer    numbers f32 n in uniform
//@ buffer    right f64 1024 in zeros
//@ runtime   threads 32 64 128 256 512 1024
//@ runtime   per_sm 1 2 4 8 16
//@ buffer    sums f32 sm_count * per_sm out
//@ block     threads
//@ grid      sm_count * per_sm
//@ shared    8 * threads
//@ launch    cooperative
//@ args      numbers, sums, u32 n
//@ default   threads=512 per_sm=2
//@ data      add
//@ block     256
//@ grid      4
//@ args      right, numbers, i32 n
//@ verify    compare
//@ block     1
//@ grid      1
//@ args      error, right, sums
//@ limit     1e-5

#include "../sources/cuda-samples/Samples/2_Concepts_and_Techniques/reductionMultiBlockCG/reductionMultiBlockCG.cu"

extern "C" __global__ void add(double *right, const float *numbers, int n) {
    int t = blockIdx.x * 256 + threadIdx.x;
    for (int i = t; i < n; i += 1024)
        right[t] += numbers[i];
}

extern "C" __global__ void compare(double *error, const double *right, const float *sums) {
    double sum = 0;
    for (int i = 0; i < 1024; i++)
        sum += right[i];
    *error = abs(sums[0] - sum) / sum;
}
