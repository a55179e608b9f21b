// Lattice Boltzmann, D2Q9, of HeCBench, by S. McIntosh-Smith, Z. Jin and others. The block's size is a macro of the author's file.
//@ kernel    d2q9_bgk
//@ problem   nx 4096
//@ problem   ny 4096
//@ buffer    s0 f32 nx * ny in uniform 0.05 0.15
//@ buffer    s1 f32 nx * ny in uniform 0.05 0.15
//@ buffer    s2 f32 nx * ny in uniform 0.05 0.15
//@ buffer    s3 f32 nx * ny in uniform 0.05 0.15
//@ buffer    s4 f32 nx * ny in uniform 0.05 0.15
//@ buffer    s5 f32 nx * ny in uniform 0.05 0.15
//@ buffer    s6 f32 nx * ny in uniform 0.05 0.15
//@ buffer    s7 f32 nx * ny in uniform 0.05 0.15
//@ buffer    s8 f32 nx * ny in uniform 0.05 0.15
//@ buffer    t0 f32 nx * ny out
//@ buffer    t1 f32 nx * ny out
//@ buffer    t2 f32 nx * ny out
//@ buffer    t3 f32 nx * ny out
//@ buffer    t4 f32 nx * ny out
//@ buffer    t5 f32 nx * ny out
//@ buffer    t6 f32 nx * ny out
//@ buffer    t7 f32 nx * ny out
//@ buffer    t8 f32 nx * ny out
//@ buffer    obstacles i32 nx * ny in index i % 97 == 0
//@ param     LOCALSIZEX 32 64 128 256 512 1024
//@ param     LOCALSIZEY 1 2 4 8 16
//@ where     LOCALSIZEX * LOCALSIZEY <= 1024
//@ buffer    sums f32 nx / LOCALSIZEX * (ny / LOCALSIZEY) scratch
//@ buffer    counts i32 nx / LOCALSIZEX * (ny / LOCALSIZEY) scratch
//@ block     LOCALSIZEX, LOCALSIZEY
//@ grid      nx / LOCALSIZEX, ny / LOCALSIZEY
//@ args      s0, s1, s2, s3, s4, s5, s6, s7, s8, t0, t1, t2, t3, t4, t5, t6, t7, t8, obstacles, sums, counts, f32 0.005, f32 1.7, i32 nx, i32 ny, i32 0
//@ default   LOCALSIZEX=128 LOCALSIZEY=1
//@ reference default
//@ tolerance rel 1e-5

#include "../sources/HeCBench/src/d2q9-bgk-cuda/main.cu"
