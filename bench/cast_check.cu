// Compares the conversions of cast_transpose with those of CUDA's headers, for every float, or every half:
//   nvcc -arch=native -O2 -DTO=N -o cast_check bench/cast_check.cu && ./cast_check
// N is 1 (f16), 2 (bf16), 3 (e4m3) or 4 (e5m2).
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define ELEM_SIZE (TO < 3 ? 2 : 1)
#define THREADS   256
#define FROM      1
#define WANTED    7
typedef unsigned short S;
#include "../kernel_templates/cast_transpose.cuh"

static __device__ unsigned right(float v) {
#if TO == 1
    return __half_as_ushort(__float2half_rn(v));
#elif TO == 2
    return __bfloat16_as_ushort(__float2bfloat16_rn(v));
#else
    return __nv_cvt_float_to_fp8(v, __NV_SATFINITE, TO == 3 ? __NV_E4M3 : __NV_E5M2);
#endif
}

__device__ unsigned long long n_soft, n_pair, n_half;
__device__ unsigned example;

__global__ void compare() {
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < 1ull << 32; i += gridDim.x * 256ull) {
        const float v = __uint_as_float((unsigned)i), other = __uint_as_float((unsigned)i * 2654435761u);
        if (code_of(v, TO) != right(v)) {
            atomicAdd(&n_soft, 1ull);
            example = (unsigned)i;
        }
        if (pair(v, other) != (right(v) | right(other) << 8 * ELEM_SIZE))
            atomicAdd(&n_pair, 1ull);
        const float wide = __half2float(__ushort_as_half((unsigned short)i));
        if (i < 65536 && wide == wide &&
            (__float_as_uint(value((unsigned)i)) != __float_as_uint(wide) ||
             __float_as_uint(value_of((unsigned)i, KIND_F16)) != __float_as_uint(wide)))
            atomicAdd(&n_half, 1ull);
    }
}

int main() {
    unsigned long long soft = 0, two = 0, half = 0;
    unsigned one = 0;
    compare<<<1024, 256>>>();
    cudaError_t e = cudaDeviceSynchronize();
    cudaMemcpyFromSymbol(&soft, n_soft, 8);
    cudaMemcpyFromSymbol(&two, n_pair, 8);
    cudaMemcpyFromSymbol(&half, n_half, 8);
    cudaMemcpyFromSymbol(&one, example, 4);
    printf("TO=%d %s: differ: software %llu (as %08x), PTX %llu, from f16 %llu\n", TO, cudaGetErrorString(e), soft, one, two, half);
    return e || soft || two || half;
}
