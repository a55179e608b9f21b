#!/usr/bin/env python3
"""Times drafts that move tiles by bulk copies, and what a copy in phases could gain: bench/bulk.py [--size N] [--rounds N]

Beside the tuned kernels of kernel_templates/, in the same rounds: bench/bulk.cu with one instruction a row, with tensor maps, with runs of
1 KB on both sides in clusters, and with all blocks reading and writing in turn; copies of as many bytes; and reading and writing
alone. N x N elements of 4 bytes. Needs CuPy. Every transpose and copy is checked first.
"""
import argparse
import ctypes
import random
import statistics

import cupy_kernels as kernels

SHARED = 220 << 10  # what the blocks of an SM have together
TILE = (256, 256, 8, 8, 512)  # of transpose_vector and transpose_large
# Its name; TILE, CLUSTER, THREADS, STAGES, TENSOR, KEEP, PHASES; blocks an SM.
BULK = [
    ("64 x 64, three stages, four blocks, row by row", (64, 1, 128, 3, 0, 0, 0), 4),
    ("the same, `evict_last`", (64, 1, 128, 3, 0, 1, 0), 4),
    ("the same, tensor maps", (64, 1, 128, 3, 1, 0, 0), 4),
    ("the same, tensor maps, `evict_last`", (64, 1, 128, 3, 1, 1, 0), 4),
    ("64 x 64, two stages, three blocks, tensor maps, `evict_last`", (64, 1, 128, 2, 1, 1, 0), 3),
    ("128 x 128, three stages, tensor maps, `evict_last`", (128, 1, 512, 3, 1, 1, 0), 1),
    ("256 x 256 in clusters of four, tensor maps, `evict_last`", (256, 4, 512, 3, 1, 1, 0), 1),
    ("256 x 256 in clusters of eight, tensor maps, `evict_last`", (256, 8, 256, 3, 1, 1, 0), 2),
    ("128 x 128, three stages, tensor maps, in phases", (128, 1, 512, 3, 1, 0, 1), 1),
]
# Its name; CHUNK, STAGES, READ, WRITE, PHASES; blocks an SM.
COPIES = [
    ("copy, bulk, 4 KB, three stages, four blocks", (4096, 3, 1, 1, 0), 4),
    ("copy, bulk, 32 KB, six stages", (32768, 6, 1, 1, 0), 1),
    ("copy, bulk, 32 KB, six stages, in phases", (32768, 6, 1, 1, 1), 1),
    ("reading alone, bulk, 32 KB, six stages", (32768, 6, 1, 0, 0), 1),
    ("writing alone, bulk, 32 KB, six stages", (32768, 6, 0, 1, 0), 1),
]


class Bench:
    def __init__(self, cupy, numpy, n):
        self.cupy, self.numpy, self.n, self.maps = cupy, numpy, n, {}
        self.sms = cupy.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]
        self.driver = ctypes.CDLL("libcuda.so.1")

    def tensor_map(self, array, rows, width):
        """The map of an array whose boxes are `rows` x `width` elements, in device memory."""
        key = (array.data.ptr, rows, width)
        if key not in self.maps:
            buffer = ctypes.create_string_buffer(192)
            at = (ctypes.addressof(buffer) + 63) // 64 * 64
            dims, pitch = (ctypes.c_uint64 * 2)(self.n, self.n), (ctypes.c_uint64 * 1)(4 * self.n)
            box, step = (ctypes.c_uint32 * 2)(width, rows), (ctypes.c_uint32 * 2)(1, 1)
            uint32, promote_128 = 2, 2
            if self.driver.cuTensorMapEncodeTiled(ctypes.c_void_p(at), uint32, 2, ctypes.c_void_p(array.data.ptr), dims, pitch, box, step,
                                                  0, 0, promote_128, 0):
                raise SystemExit("cuTensorMapEncodeTiled failed")
            self.maps[key] = self.cupy.asarray(self.numpy.frombuffer(ctypes.string_at(at, 128), dtype=self.numpy.uint8))
        return self.maps[key]

    def bulk(self, parameters, blocks):
        tile, cluster, threads, stages, tensor = parameters[:5]
        names = ("TILE", "CLUSTER", "THREADS", "STAGES", "TENSOR", "KEEP", "PHASES")
        shared = stages * tile * tile * 4 // cluster + 8 * stages
        made = kernels.kernel(self.cupy, "transpose_bulk", dict(zip(names, parameters)) | {"ELEM_SIZE": 4}, shared, path="bench/bulk.cu")
        # Clusters of four leave SMs without one; blocks that wait for each other must all be there.
        grid = self.sms * min(blocks, SHARED // shared) // cluster * cluster
        grid = grid if cluster == 1 else grid * 10 // 11 // cluster * cluster
        count, pitch = self.cupy.zeros(1, dtype=self.cupy.uint32), self.numpy.int64(4 * self.n)

        def launch(dst, src):
            maps = [self.tensor_map(a, tile // cluster, tile) if tensor else self.numpy.int64(0) for a in (dst, src)]
            made((grid,), (threads,), (dst, src, *maps, pitch, self.numpy.uint32(self.n // tile), count), shared_mem=shared)
        return launch

    def bulk_copy(self, parameters, blocks):
        chunk, stages = parameters[:2]
        names = ("CHUNK", "STAGES", "READ", "WRITE", "PHASES")
        shared = stages * (chunk + 8)
        made = kernels.kernel(self.cupy, "copy_bulk", dict(zip(names, parameters)) | {"KEEP": 0}, shared, path="bench/bulk.cu")
        count, chunks = self.cupy.zeros(1, dtype=self.cupy.uint32), self.numpy.uint32(4 * self.n * self.n // chunk)
        return lambda dst, src: made((self.sms * blocks,), (32,), (dst, src, chunks, count), shared_mem=shared)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=16384, help="a multiple of 256; larger than the L2 cache")
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    import cupy
    import numpy
    n = options.size
    bench = Bench(cupy, numpy, n)
    cases = [("copy, `copy_linear`", kernels.copy(cupy, numpy, 4 * n * n), "copy"),
             ("copy, `copy_linear`, KEEP", kernels.copy(cupy, numpy, 4 * n * n, keep=1), "copy"),
             ("`transpose_vector`", kernels.vector(cupy, numpy, n, 4, TILE, 0, 1), "transpose"),
             ("`transpose_vector`, STREAM 2", kernels.vector(cupy, numpy, n, 4, TILE, 2, 1), "transpose"),
             ("`transpose_large`", kernels.large(cupy, numpy, n, 4, TILE, int(n * 4 % 131072 == 0)), "transpose")]
    cases += [(name, bench.bulk(*what), "transpose") for name, *what in BULK]
    cases += [(name, bench.bulk_copy(*what), "copy" if what[0][2] and what[0][3] else "part") for name, *what in COPIES]
    src = cupy.arange(n * n, dtype=cupy.uint32).reshape(n, n) * cupy.uint32(2654435761)
    dst = cupy.zeros_like(src)
    for name, launch, kind in cases:
        dst[:] = 0
        launch(dst, src)
        if kind != "part" and not bool((dst == (src if kind == "copy" else src.T)).all()):
            raise SystemExit(f"{name}: a wrong result")
    times = [[] for _ in cases]
    order = list(range(len(cases)))
    for _ in range(options.rounds):
        random.shuffle(order)
        for i in order:
            bench.driver.cuCtxResetPersistingL2Cache()
            times[i].append(kernels.time_us(cupy, cases[i][1], dst, src))
    print(f"{n} x {n} at 4 bytes, {kernels.where(cupy, options.rounds)}\n")
    print("| | us | of the copy |\n|---|---:|---:|")
    for (name, _, kind), v in zip(cases, times):
        share = f"{statistics.median(a / b for a, b in zip(times[0], v)):.3f}" if kind != "part" else "-"
        print(f"| {name} | {statistics.median(v):.1f} | {share} |")


if __name__ == "__main__":
    main()
