// The same for WIDE pixels a thread, in accesses of WIDE bytes. With STAGE a block loads its pixels in the order of their
// addresses, and each thread takes its own from shared memory.
//
//@ kernel    gray_wide
//@ problem   pixels 33177600
//@ buffer    rgb u8 3 * pixels in
//@ buffer    out u8 pixels out
//@ param     WIDE 1 2 4 8 16
//@ param     STAGE 0 1
//@ param     THREADS 64 128 256 512 1024
//@ where     STAGE = 0 OR WIDE > 1
//@ block     THREADS
//@ grid      ceil_div(pixels, WIDE * THREADS)
//@ args      rgb, out, i32 pixels
//@ default   WIDE=4 STAGE=0 THREADS=256
//@ reference gray_plain
//@ block     256
//@ grid      ceil_div(pixels, 256)
//@ args      rgb, out, i32 pixels
//@ metric    gbps 4 * pixels / time_ns

#if WIDE == 1
typedef unsigned char word;
#elif WIDE == 2
typedef unsigned short word;
#elif WIDE == 4
typedef unsigned int word;
#elif WIDE == 8
typedef uint2 word;
#else
typedef uint4 word;
#endif

static __device__ unsigned char mix(int red, int green, int blue) { return (77 * red + 150 * green + 29 * blue) >> 8; }

extern "C" __global__ void __launch_bounds__(THREADS) gray_wide(const unsigned char *rgb, unsigned char *out, int pixels) {
    union {
        word words[3];
        unsigned char bytes[3 * WIDE];
    } in;
    union {
        word all;
        unsigned char bytes[WIDE];
    } result;
    const int words = pixels / WIDE, first = blockIdx.x * THREADS, i = first + threadIdx.x;
    const word *from = (const word *)rgb + 3 * first;
#if STAGE
    __shared__ word staged[3 * THREADS];
    for (int k = threadIdx.x; k < 3 * THREADS && 3 * first + k < 3 * words; k += THREADS)
        staged[k] = from[k];
    __syncthreads();
    from = staged;
#endif
    if (i < words) {
        for (int k = 0; k < 3; k++)
            in.words[k] = from[3 * threadIdx.x + k];
        for (int p = 0; p < WIDE; p++)
            result.bytes[p] = mix(in.bytes[3 * p], in.bytes[3 * p + 1], in.bytes[3 * p + 2]);
        ((word *)out)[i] = result.all;
    }
    const int rest = words * WIDE + threadIdx.x; // of a picture that is no multiple of WIDE pixels
    if (blockIdx.x == 0 && rest < pixels)
        out[rest] = mix(rgb[3 * rest], rgb[3 * rest + 1], rgb[3 * rest + 2]);
}

extern "C" __global__ void gray_plain(const unsigned char *rgb, unsigned char *out, int pixels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels)
        out[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
}
