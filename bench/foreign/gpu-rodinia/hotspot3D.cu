// Heat in three dimensions of Rodinia, by K. Skadron and others: eight steps, where two buffers change places.
//@ kernel    hotspotOpt1
//@ problem   n 512
//@ problem   layers 64
//@ buffer    power f32 n * n * layers in uniform 0 0.01
//@ buffer    a f32 n * n * layers inout uniform 320 340
//@ buffer    b f32 n * n * layers out
//@ runtime   bx 8 16 32 64 128 256 512
//@ runtime   by 1 2 4 8 16 32
//@ where     n % bx = 0 AND n % by = 0
//@ block     bx, by
//@ grid      n / bx, n / by
//@ repeat    8
//@ swap      a b
//@ args      power, a, b, f32 0.3413, i32 n, i32 n, i32 layers, f32 0.03413, f32 0.03413, f32 0.03413, f32 0.03413, f32 0.00005, f32 0.00005, f32 0.86333
//@ default   bx=64 by=4
//@ reference default
//@ tolerance rel 1e-5

#include "../sources/gpu-rodinia/cuda/hotspot3D/opt1.cu"
