// How to tune the kernel of total.cu.
//@ kernel    total
//@ problem   n 16777216
//@ buffer    x f32 n in uniform
//@ buffer    y f32 1 out
//@ runtime   threads 128 256 512 1024
//@ runtime   per_sm 1 2 4
//@ buffer    partial f64 sm_count * per_sm * threads / 32 scratch
//@ block     threads
//@ grid      sm_count * per_sm
//@ launch    cooperative
//@ args      x, y, partial, i32 n
//@ default   threads=256 per_sm=2
//@ reference default
//@ tolerance rel 1e-6
#include "total.cu"
