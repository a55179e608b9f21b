#!/usr/bin/env python3
"""Times cuBLAS, PyTorch and CUB on the problems of examples/kernels: medians of single launches."""
import cupy
import torch


def median_us(launch, rounds=15):
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        launch()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return sorted(times)[rounds // 2]


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    n = 4096
    a, b = torch.rand(n, n, device="cuda"), torch.rand(n, n, device="cuda")
    us = median_us(lambda: torch.mm(a, b))
    print(f"cuBLAS sgemm, {n} cubed, TF32 off: {us:.1f} us, {2 * n**3 / us * 1e-6:.1f} TFLOP/s")
    x = torch.rand(1 << 28, device="cuda")
    us = median_us(x.sum)
    print(f"torch.sum of 2^28 floats: {us:.1f} us, {x.nbytes / us * 1e-3:.0f} GB/s")
    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        cupy._core.set_reduction_accelerators(["cub"])
        y = cupy.asarray(x)
        us = median_us(y.sum)
    print(f"CUB DeviceReduce::Sum of 2^28 floats (through CuPy): {us:.1f} us, {x.nbytes / us * 1e-3:.0f} GB/s")


if __name__ == "__main__":
    main()
