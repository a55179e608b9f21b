// C = A B for row-major matrices of m x k, k x n and m x n floats, on the CUDA cores. A block makes BM x BN of C, and
// walks along k in steps of BK. A thread makes TM x TN of that in registers. It makes TM * TN products from TM + TN
// values of shared memory, so the arithmetic is the limit, not shared memory.
//
// cp.async fetches the tiles of A and B, STAGES - 1 of them ahead of the arithmetic. A is transposed on the way, so a
// thread reads its values of A and of B as float4. The rows of a thread are groups of four, and so are its columns. All
// other threads have theirs between two groups, so neighbouring lanes read neighbouring banks.
//
//@ kernel    matmul
//@ problem   m 4096
//@ problem   n 4096
//@ problem   k 4096
//@ buffer    a f32 m * k in uniform
//@ buffer    b f32 k * n in uniform
//@ buffer    c f32 m * n out
//@ param     BM     64 128 256
//@ param     BN     64 128 256
//@ param     BK     8 16
//@ param     TM     4 8 16
//@ param     TN     4 8 16
//@ param     STAGES 2 3 4
//@ where     n % 4 = 0
//@ where     TM * TN BETWEEN 64 AND 128
//@ where     BM * BN / (TM * TN) BETWEEN 128 AND 512
//@ where     BM / TM >= 4 AND BN / TN >= 8
//@ where     BM * BN <= 32768
//@ where     BK * BM % (BM * BN / (TM * TN)) = 0 AND BK * BN / 4 % (BM * BN / (TM * TN)) = 0
//@ block     BM * BN / (TM * TN)
//@ grid      ceil_div(m, BM) * ceil_div(n, BN)
//@ shared    STAGES * BK * (BM + 4 + BN) * 4
//@ args      c, a, b, i32 m, i32 n, i32 k
//@ default   BM=128 BN=128 BK=16 TM=8 TN=8 STAGES=3
//@ reference matmul_naive
//@ block     32, 8
//@ grid      ceil_div(n, 32), ceil_div(m, 8)
//@ args      c, a, b, i32 m, i32 n, i32 k
//@ tolerance rel 2e-5
//@ metric    gflops 2 * m * n * k / time_ns

#define THREADS (BM * BN / (TM * TN))
#define LANES_X 8 // the threads of a warp are 4 x 8
#define LANES_Y 4
#define WARPS_X (BN / TN / LANES_X)
#define STEP_M  (4 * BM / TM) // from four rows of a thread to its next four
#define STEP_N  (4 * BN / TN)
#define PITCH   (BM + 4) // of the transposed tile; the 4 avoid bank conflicts of stores

// copy<4> and copy<16> copy so many bytes to shared memory while the thread goes on. They write zeros if not `inside`.
// commit() ends a group of a thread's copies. arrived() waits for all groups except the last STAGES - 2.
#if __CUDA_ARCH__ >= 800
template <int BYTES> static __device__ void copy(float *to, const float *from, bool inside) {
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    const int wanted = inside ? BYTES : 0;
    if (BYTES == 16) // past the L1 cache
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(wanted)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(from), "r"(wanted)
                     : "memory");
}
static __device__ void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
static __device__ void arrived() {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
}
#else // a GPU without cp.async waits for each copy
template <int BYTES> static __device__ void copy(float *to, const float *from, bool inside) {
    for (int i = 0; i < BYTES / 4; i++)
        to[i] = inside ? from[i] : 0.0f;
}
static __device__ void commit() {}
static __device__ void arrived() {}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    matmul(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int m, int n,
           int k) {
    extern __shared__ __align__(16) float memory[];
    float(*as)[BK][PITCH] = (float(*)[BK][PITCH])memory;
    float(*bs)[BK][BN] = (float(*)[BK][BN])(memory + STAGES * BK * PITCH);

    const int across = (n + BN - 1) / BN;
    const int row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int x = (warp % WARPS_X * LANES_X + lane % LANES_X) * 4;
    const int y = (warp / WARPS_X * LANES_Y + lane / LANES_X) * 4;

    // A thread always copies the same column of A and the same four columns of B.
    const int ak = threadIdx.x % BK, am = threadIdx.x / BK;
    const int bn = threadIdx.x % (BN / 4) * 4, bk = threadIdx.x / (BN / 4);
    const float *a_from = a + (size_t)(row0 + am) * k + ak;
    const float *b_from = b + (size_t)bk * n + col0 + bn;

    auto fetch = [&](int tile) {
        const int stage = tile % STAGES, k0 = tile * BK;
#pragma unroll
        for (int i = 0; i < BM; i += THREADS / BK)
            copy<4>(&as[stage][ak][am + i], a_from + (size_t)i * k + k0, row0 + am + i < m && k0 + ak < k);
#pragma unroll
        for (int i = 0; i < BK; i += THREADS / (BN / 4))
            copy<16>(&bs[stage][bk + i][bn], b_from + (size_t)(k0 + i) * n, k0 + bk + i < k && col0 + bn < n);
    };

    const int tiles = (k + BK - 1) / BK;
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; tile++) {
        if (tile < tiles)
            fetch(tile);
        commit();
    }

    float sums[TM][TN] = {};
    for (int tile = 0; tile < tiles; tile++) {
        arrived();
        __syncthreads(); // now the copies of all threads are there
        if (tile + STAGES - 1 < tiles)
            fetch(tile + STAGES - 1); // into the buffer that the last round has read
        commit();

        const int stage = tile % STAGES;
#pragma unroll
        for (int i = 0; i < BK; i++) {
            float av[TM], bv[TN];
#pragma unroll
            for (int r = 0; r < TM; r += 4)
                *(float4 *)&av[r] = *(float4 *)&as[stage][i][y + r / 4 * STEP_M];
#pragma unroll
            for (int s = 0; s < TN; s += 4)
                *(float4 *)&bv[s] = *(float4 *)&bs[stage][i][x + s / 4 * STEP_N];
#pragma unroll
            for (int r = 0; r < TM; r++)
#pragma unroll
                for (int s = 0; s < TN; s++)
                    sums[r][s] += av[r] * bv[s];
        }
    }

#pragma unroll
    for (int r = 0; r < TM; r++) {
        const int row = row0 + y + r / 4 * STEP_M + r % 4;
#pragma unroll
        for (int s = 0; s < TN; s += 4) {
            const int col = col0 + x + s / 4 * STEP_N;
            if (row < m && col < n)
                *(float4 *)&c[(size_t)row * n + col] = *(float4 *)&sums[r][s];
        }
    }
}

extern "C" __global__ void matmul_naive(float *c, const float *a, const float *b, int m, int n, int k) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[(size_t)row * k + i] * b[(size_t)i * n + col];
    c[(size_t)row * n + col] = sum;
}
