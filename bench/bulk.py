#!/usr/bin/env python3
"""Times drafts that move tiles by bulk copies, and what a copy in phases could gain: bench/bulk.py [--size N] [--rounds N]

Beside the tuned kernels of kernel_templates/, in the same rounds: bench/bulk.cu with one instruction a row, with tensor maps, with runs of
1 KB on both sides in clusters, and with all blocks reading and writing in turn; copies of as many bytes; and reading and writing
alone. N x N elements of 4 bytes. Needs CuPy. Every transpose and copy is checked first.
"""
import argparse
import ctypes
import pathlib
import random
import re
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = 220 << 10  # what the blocks of an SM have together
VECTOR = {"READ_RUN": 256, "WRITE_RUN": 256, "VL": 8, "VS": 8, "THREADS": 512, "SEGMENT": 0, "PREFETCH": 0, "EDGES": 0, "ELEM_SIZE": 4}
LARGE = {"READ_RUN": 256, "WRITE_RUN": 256, "VL": 8, "VS": 8, "THREADS": 512, "ELEM_SIZE": 4}
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


def source(path):
    text = (ROOT / path).read_text()
    while "#include \"" in text:
        text = re.sub(r'#include "(\S+)"', lambda found: (ROOT / "kernel_templates" / found[1]).read_text(), text)
    return text


class Bench:
    def __init__(self, cupy, numpy, n):
        self.cupy, self.numpy, self.n, self.maps = cupy, numpy, n, {}
        self.sms = cupy.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]
        self.l2 = cupy.cuda.runtime.getDeviceProperties(0)["l2CacheSize"]
        self.driver = ctypes.CDLL("libcuda.so.1")

    def kernel(self, path, name, macros, shared=0):
        made = self.cupy.RawKernel(source(path), name, options=("--std=c++17",) + tuple(f"-D{k}={v}" for k, v in macros.items()))
        made.max_dynamic_shared_size_bytes = shared
        return made

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
        made = self.kernel("bench/bulk.cu", "transpose_bulk", dict(zip(names, parameters)) | {"ELEM_SIZE": 4}, shared)
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
        made = self.kernel("bench/bulk.cu", "copy_bulk", dict(zip(names, parameters)) | {"KEEP": 0}, stages * (chunk + 8))
        count, chunks = self.cupy.zeros(1, dtype=self.cupy.uint32), self.numpy.uint32(4 * self.n * self.n // chunk)
        return lambda dst, src: made((self.sms * blocks,), (32,), (dst, src, chunks, count), shared_mem=stages * (chunk + 8))

    def copy(self, keep):
        made = self.kernel("kernel_templates/copy_linear.cu", "copy_linear", {"VEC": 16, "UNROLL": 1, "KEEP": keep})
        size = 4 * self.n * self.n
        return lambda dst, src: made((size // 4096,), (256,), (dst, src, self.numpy.int64(size), self.numpy.int32(0)))

    def vector(self, stream):
        made = self.kernel("kernel_templates/transpose_vector.cu", "transpose_vector", VECTOR | {"STREAM": stream}, 16384)
        n, side = self.numpy.int64(self.n), self.n // 64
        zero, order = self.numpy.int64(0), self.numpy.int32(1)
        return lambda dst, src: made((side, side), (512,), (dst, src, n, n, n, n, zero, zero, order), shared_mem=16384)

    def large(self):
        made = self.kernel("kernel_templates/transpose_large.cu", "transpose_large", LARGE, 16384)
        n, side, skew = self.numpy.int64(self.n), self.n // 64, self.numpy.int32(self.n * 4 % 131072 == 0)
        tail = self.numpy.int32(min(side // 2, -(-self.l2 // (self.n * 256))))
        return lambda dst, src: made((side, side), (512,), (dst, src, n, n, tail, skew), shared_mem=16384)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=16384, help="a multiple of 256; larger than the L2 cache")
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    import cupy
    import numpy
    n = options.size
    bench = Bench(cupy, numpy, n)
    cases = [("copy, `copy_linear`", bench.copy(0), "copy"), ("copy, `copy_linear`, KEEP", bench.copy(1), "copy"),
             ("`transpose_vector`", bench.vector(0), "transpose"), ("`transpose_vector`, STREAM 2", bench.vector(2), "transpose"),
             ("`transpose_large`", bench.large(), "transpose")]
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
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            bench.driver.cuCtxResetPersistingL2Cache()
            cases[i][1](dst, src)
            begin.record()
            cases[i][1](dst, src)
            end.record()
            end.synchronize()
            times[i].append(cupy.cuda.get_elapsed_time(begin, end) * 1e3)
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{n} x {n} at 4 bytes, {device}, CUDA driver API {cupy.cuda.runtime.driverGetVersion()}; medians of {options.rounds}\n")
    print("| | us | of the copy |\n|---|---:|---:|")
    for (name, _, kind), v in zip(cases, times):
        share = f"{statistics.median(a / b for a, b in zip(times[0], v)):.3f}" if kind != "part" else "-"
        print(f"| {name} | {statistics.median(v):.1f} | {share} |")


if __name__ == "__main__":
    main()
