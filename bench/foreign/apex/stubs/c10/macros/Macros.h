// What the kernel has of PyTorch.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace c10 {
using Half = __half;
using BFloat16 = __nv_bfloat16;
}
#define C10_WARP_SIZE 32
