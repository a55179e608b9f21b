// A picture of red, green and blue bytes becomes one of gray bytes.
//
//@ kernel    gray
//@ problem   pixels 33177600
//@ buffer    rgb u8 3 * pixels in
//@ buffer    out u8 pixels out
//@ param     THREADS 64 128 256 512 1024
//@ block     THREADS
//@ grid      ceil_div(pixels, THREADS)
//@ args      rgb, out, i32 pixels
//@ default   THREADS=256
//@ reference gray_plain
//@ block     256
//@ grid      ceil_div(pixels, 256)
//@ args      rgb, out, i32 pixels
//@ metric    gbps 4 * pixels / time_ns

extern "C" __global__ void gray(const unsigned char *rgb, unsigned char *out, int pixels) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < pixels)
        out[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
}

extern "C" __global__ void gray_plain(const unsigned char *rgb, unsigned char *out, int pixels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels)
        out[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
}
