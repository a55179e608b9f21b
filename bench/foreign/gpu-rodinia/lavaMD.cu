// Molecular dynamics of Rodinia, by L. Szafaryn: particles in boxes. Two structs are passed by value.
//@ kernel    kernel_gpu_cuda
//@ problem   boxes 16
//@ buffer    box u8x656 boxes * boxes * boxes in zeros
//@ buffer    rv f64x4 boxes * boxes * boxes * 100 in uniform 0.1 1
//@ buffer    qv f64 boxes * boxes * boxes * 100 in uniform 0.1 1
//@ buffer    fv f64x4 boxes * boxes * boxes * 100 inout zeros
//@ param     NUMBER_THREADS 32 64 96 100 128 192 256
//@ block     NUMBER_THREADS
//@ grid      boxes * boxes * boxes
//@ args      struct (f64 0.5), struct (i32 0, i32 0, i32 0, i32 boxes, i64 boxes * boxes * boxes, i64 0, i64 0, i64 0, i64 0), box, rv, qv, fv
//@ default   NUMBER_THREADS=128
//@ data      fill
//@ block     1
//@ grid      boxes, boxes, boxes
//@ args      box
//@ reference default
//@ tolerance rel 1e-9

#include "../sources/gpu-rodinia/cuda/lavaMD/main.h"
#include "../sources/gpu-rodinia/cuda/lavaMD/kernel/kernel_gpu_cuda.cu"

// The neighbours of a box, as the author's main() lists them.
extern "C" __global__ void fill(box_str *box) {
    int x = blockIdx.x, y = blockIdx.y, z = blockIdx.z, n = gridDim.x, number = (z * n + y) * n + x;
    box_str *home = box + number;
    *home = {x, y, z, number, number * 100L, 0};
    for (int k = -1; k < 2; k++)
        for (int j = -1; j < 2; j++)
            for (int i = -1; i < 2; i++) {
                int a = x + i, b = y + j, c = z + k, other = (c * n + b) * n + a;
                if (min(a, min(b, c)) >= 0 && max(a, max(b, c)) < n && other != number)
                    home->nei[home->nn++] = {a, b, c, other, other * 100L};
            }
}
