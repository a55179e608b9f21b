// A kernel of your own to start from. Lines that begin with //@ say what may vary, what the kernel works on, and what
// is right. The rest is CUDA C++. This one computes y = a * x + y. Change it, then run
//
//     tune check FILE.cu                                annotations, buffers, space, registers; needs no GPU
//     tune --kernel FILE.cu --problem n=16777216        searches, verifies, measures, stores
//
// docs/annotations.md of tiletune explains all annotations.
//
// The extern "C" kernel below. Its name also names the results in the store, so choose a new one.
//@ kernel    my_saxpy
//
// A number of the problem, and its default. --problem n=1000 sets another.
//@ problem   n 16777216
//
// An element type. The first is the default, --problem elem=f64 sets another. The code has it as the type `elem`.
//@ type      elem f32 f64
//
// The caller's arguments: name, type, number of elements, and whether the kernel reads (in), writes (out) or does both
// (inout). The data for tuning may follow: random, uniform, normal, zeros, file NAME.
//@ buffer    x elem n in
//@ buffer    y elem n inout
//@ scalar    a elem 2.5
//
// A parameter: its name, then its values (integers or words). The code has it as a macro.
//@ param     THREADS 128 256 512 1024
//
// The same without a macro. Its value goes through `args`, so all values share one compilation.
//@ runtime   PER_THREAD 1 2 4 8
//
// (A line `derived WHOLE n % THREADS = 0` would be a macro that follows from the problem and other macros.)
//
// A condition. Configurations that do not meet it are never tried.
//@ where     THREADS <= max_threads_per_block
//
// The launch: threads of a block, and blocks, in x, y, z. Then the kernel's arguments in order. An argument is a name
// from above, or a type and an expression.
//@ block     THREADS
//@ grid      ceil_div(n, THREADS * PER_THREAD)
//@ args      y, x, a, i64 n, i32 PER_THREAD
//
// A value for every parameter. It is used where nothing was measured, and gains are counted from it.
//@ default   THREADS=256 PER_THREAD=1
//
// A plain kernel that computes the right result, and how far numbers may be off.
//@ reference my_saxpy_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      y, x, a, i64 n
//@ tolerance rel 1e-6
//
// A figure to print. From `gbps` the tables also show the rate beside a tuned copy of as many bytes.
//@ metric    gbps 3 * n * elem_size / time_ns

extern "C" __global__ void my_saxpy(elem *__restrict__ y, const elem *__restrict__ x, elem a, long long n, int per_thread) {
    long long i = (long long)blockIdx.x * THREADS * per_thread + threadIdx.x;
    for (int k = 0; k < per_thread && i < n; k++, i += THREADS)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void my_saxpy_reference(elem *y, const elem *x, elem a, long long n) {
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
