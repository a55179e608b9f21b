// A kernel of your own to start from: lines that begin with //@ tell the tuner what it may vary, what the kernel works on,
// and what is right; the rest is CUDA C++. As it is, it computes y = a * x + y. Change it, and then
//
//     tune check FILE.cu                                annotations, buffers, space, registers; needs no GPU
//     tune --kernel FILE.cu --problem n=16777216        searches, verifies, measures, remembers
//
// docs/annotations.md of tiletune has all that annotations can say.
//
// The extern "C" symbol below. It names the file's results in the store, too: give it a name of its own.
//@ kernel    my_saxpy
//
// Numbers that make a problem, with defaults: --problem n=1000 asks for another.
//@ problem   n 16777216
//
// An element type that can be asked for (--problem elem=f64), the first being the default. The code has it as `elem`.
//@ type      elem f32 f64
//
// What the caller gives: name, type, number of elements, and whether the kernel reads it (in), writes it (out) or does both
// (inout). Behind that may stand what it holds while tuning: random, uniform, normal, zeros, file NAME.
//@ buffer    x elem n in
//@ buffer    y elem n inout
//@ scalar    a elem 2.5
//
// What may be varied: a name, then its values (integers or words). Each is a macro in the code.
//@ param     THREADS 128 256 512 1024
//
// The same without a macro: the value goes through `args`, so that all values share one compilation.
//@ runtime   PER_THREAD 1 2 4 8
//
// (A line `derived WHOLE n % THREADS = 0` would be a macro that follows from the problem and other macros: nobody chooses it.)
//
// What must hold; others are never tried.
//@ where     THREADS <= max_threads_per_block
//
// Threads of a block and blocks, in x, y, z; and the kernel's arguments in order: names from above, or a type and an
// expression.
//@ block     THREADS
//@ grid      ceil_div(n, THREADS * PER_THREAD)
//@ args      y, x, a, i64 n, i32 PER_THREAD
//
// A value for every parameter: used where nothing has been measured, and what a winner is compared with.
//@ default   THREADS=256 PER_THREAD=1
//
// A plain kernel that says what is right, and how far numbers may be off.
//@ reference my_saxpy_reference
//@ block     256
//@ grid      ceil_div(n, 256)
//@ args      y, x, a, i64 n
//@ tolerance rel 1e-6
//
// Figures to print. From `gbps` also comes how fast it is beside a tuned copy of as many bytes.
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
