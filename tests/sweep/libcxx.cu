// A kernel with headers of libcu++, and those that it takes for headers of its own.
//@ kernel  library
//@ problem n 1024
//@ buffer  y f32 n out
//@ param   SIZE 128 256
//@ block   SIZE
//@ grid    ceil_div(n, SIZE)
//@ args    y, i64 n
//@ default SIZE=128
//@ reference plain
//@ block   128
//@ grid    ceil_div(n, 128)
//@ args    y, i64 n
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cuda/std/array>
#include <cuda/std/limits>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
extern "C" __global__ void library(float *y, int64_t n) {
    static_assert(std::is_same<std::remove_const<const float>::type, float>::value, "");
    std::pair<int, std::size_t> pair = {std::max(1, 2), 3};
    std::swap(pair.first, pair.first);
    if (std::numeric_limits<float>::infinity() < std::sqrt(y[0]) + pair.first)
        return;
    const cuda::std::array<float, 2> two = {1.0f, cuda::std::numeric_limits<float>::max()};
    if (n <= INT_MAX && blockIdx.x * 128 + threadIdx.x < (uint32_t)n)
        y[blockIdx.x * 128 + threadIdx.x] = two[threadIdx.x % 2];
}
extern "C" __global__ void plain(float *y, int64_t n) {
    y[blockIdx.x * 128 + threadIdx.x] = 1;
}
