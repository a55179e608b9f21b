// The right result is in a file, and so is the input.
//
//@ kernel    from_files
//@ problem   n 100
//@ buffer    x u8 n in file input.bin
//@ buffer    y u8 n out
//@ block     128
//@ grid      1
//@ args      x, y, i32 n
//@ expect    y right.bin

extern "C" __global__ void from_files(const unsigned char *x, unsigned char *y, int n) {
    if (threadIdx.x < n)
        y[threadIdx.x] = x[threadIdx.x] + 1;
}
