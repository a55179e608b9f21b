#!/usr/bin/env python3
"""What the two halves of the L2 cache are worth: bench/sides.py [--rounds N]

Each address belongs to one half, and what SMs of the other half read or write there crosses the link between both. Tells the halves
apart by the latency of atomic operations, says which bits of an address decide, and times reading, writing and copying 1 GiB with blocks
that keep to the addresses of their own half, of the other one, or to neither, beside a copy by copy_linear. Then, of matrices by the
pitch of their rows: how much of a tile of 64 rows by 256 bytes belongs to one half. Needs CuPy and 6 GiB of memory. Copies are checked
first. Of a GPU whose L2 cache has no halves it says so.
"""
import argparse
import random
import statistics

import cupy_kernels as kernels

SIZE, LINE, GRANULE = 1 << 30, 128, 4096
BLOCKS = 4  # an SM
BUSY = "bench/sides.py: blocks were not spread evenly over the SMs; run it while nothing else uses the GPU"
PITCHES = (131072, 65536, 40000, 12016, 10001)


class Gpu:
    """What is known of its SMs: the number of each block's SM, and the half of each SM."""

    def __init__(self, cupy, numpy, array):
        self.cupy, self.numpy = cupy, numpy
        self.n_sms = cupy.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]
        text = kernels.source("bench/sides.cu")
        self.module = lambda **macros: cupy.RawModule(code=text, options=("--std=c++17", *(f"-D{k}={v}" for k, v in macros.items())))
        probes = self.module(READ=1, WRITE=1)
        self.latencies, self.map_lines = probes.get_function("latencies"), probes.get_function("map_lines")
        lines = numpy.sort(numpy.random.default_rng(1).choice(SIZE // LINE, 1024, replace=False)).astype(numpy.uint64)
        cycles, sms = (cupy.zeros(shape, dtype=cupy.uint32) for shape in ((self.n_sms, len(lines)), self.n_sms))
        self.latencies((self.n_sms,), (1,), (array, cupy.asarray(lines), numpy.uint32(len(lines)), cycles, sms))
        self.sms, cycles = sms.get(), cycles.get().astype(float)
        if len(set(self.sms)) < self.n_sms:
            raise SystemExit(BUSY)
        self.find_halves(cycles)

    def find_halves(self, cycles):
        """SMs of a half find the same lines near: the first principal component."""
        numpy = self.numpy
        centred = cycles - cycles.mean(0)
        centred -= centred.mean(1, keepdims=True)
        left, values, _ = numpy.linalg.svd(centred, full_matrices=False)
        self.of_block = (left[:, 0] > 0).astype(numpy.int32)
        far = cycles[self.of_block == 1].mean(0) > cycles[self.of_block == 0].mean(0)  # of half 1
        near, other = (cycles[(self.of_block[:, None] == 1) ^ far[None, :] == truth] for truth in (1, 0))
        if values[0] < 3 * values[1] or numpy.percentile(near, 95) >= numpy.percentile(other, 5):
            raise SystemExit("bench/sides.py: latencies do not fall into two halves here")
        self.half = numpy.zeros(self.sms.max() + 1, dtype=numpy.int32)
        self.half[self.sms] = self.of_block
        self.n_half = [int((self.of_block == h).sum()) for h in (0, 1)]
        spread = ["{1:.0f} cycles ({0:.0f} to {2:.0f})".format(*numpy.percentile(each, [5, 50, 95])) for each in (near, other)]
        print(f"{self.n_half[0]} and {self.n_half[1]} SMs; latency of an atomic operation: {spread[0]} in the own half, "
              f"{spread[1]} in the other one")

    def map(self, array, stride):
        """The half of every so many bytes."""
        cupy, numpy = self.cupy, self.numpy
        n, each = array.size // stride, min(self.n_half)
        number = numpy.full(len(self.half), -1, dtype=numpy.int32)
        for h in (0, 1):
            number[numpy.sort(self.sms[self.of_block == h])[:each]] = numpy.arange(each)
        least = numpy.full((2, n), 1 << 31, dtype=numpy.int64)
        for _ in range(3):  # now and then something else is in the way
            cycles = cupy.zeros((2, n), dtype=cupy.uint32)
            self.map_lines((self.n_sms,), (1,), (array, numpy.uint64(n), numpy.uint32(stride // LINE), cupy.asarray(self.half),
                                                 cupy.asarray(number), numpy.uint32(each), cycles))
            if not int(cycles.min()):
                raise SystemExit(BUSY)
            least = numpy.minimum(least, cycles.get())
        unclear = numpy.mean(abs(least[1] - least[0]) < 50)
        if unclear > 0.001:
            raise SystemExit(f"bench/sides.py: where {unclear:.1%} of the lines belong is unclear; run it while nothing else uses the GPU")
        return (least[1] < least[0]).astype(numpy.int32)


def print_bits(gpu, array):
    """Of 64 MiB that begin with a multiple of as much, so that the bits are those of addresses."""
    numpy, size = gpu.numpy, 64 << 20
    halves = gpu.map(array[-array.data.ptr % size:][:size], LINE)
    runs = numpy.diff(numpy.flatnonzero(numpy.diff(halves)))
    print(f"of 64 MiB {numpy.mean(halves):.3f} belong to one half, in runs of {runs.min() * LINE} to {runs.max() * LINE} bytes")
    index = numpy.arange(len(halves))
    flips = {bit: float(numpy.mean(halves != halves[index ^ (1 << bit - 7)])) for bit in range(7, 26)}
    always, never = [bit for bit in flips if flips[bit] > 0.99], [bit for bit in flips if flips[bit] < 0.01]
    now_and_then = [f"{bit} ({flips[bit]:.2f})" for bit in flips if bit not in always + never]
    print("bits of an address:", "; ".join(f"{' '.join(map(str, bits)) or 'none'} {what}" for bits, what in (
        (always, "change the half"), (never, "do not"), (now_and_then, "do now and then"))))


def lists(gpu, halves, which):
    """Granules for the blocks of each half."""
    numpy = gpu.numpy
    if which == "either":
        halves = numpy.arange(len(halves)) % 2
    elif which == "the other half":
        halves = 1 - halves
    return [numpy.flatnonzero(halves == h).astype(numpy.uint32) for h in (0, 1)]


def timed_us(cupy, launch):
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    launch()
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(begin, end) * 1e3


class Mover:
    """Launches of the kernel `move`: what, and whose granules."""

    def __init__(self, gpu, src, dst):
        cupy, numpy = gpu.cupy, gpu.numpy
        self.gpu, self.src, self.dst = gpu, src, dst
        self.kernels = {name: gpu.module(READ=read, WRITE=write).get_function("move")
                        for name, read, write in (("reading", 1, 0), ("writing", 0, 1), ("a copy", 1, 1))}
        self.half = cupy.asarray(gpu.half)
        self.blocks = cupy.asarray(numpy.array(gpu.n_half, dtype=numpy.uint32) * BLOCKS)
        halves = [gpu.map(array, GRANULE) for array in (src, dst)]
        self.granules = {}
        for which in ("the own half", "either", "the other half"):
            source, target = (lists(gpu, each, which) for each in halves)
            n = min(map(len, source + target)) // 4 * 4
            self.granules[which] = [cupy.asarray(numpy.concatenate([mine[:n] for mine in each])) for each in (target, source)] + [n]

    def move(self, which, name):
        """Microseconds, for as many bytes as the arrays have."""
        cupy = self.gpu.cupy
        target, source, n = self.granules[which]
        begun = cupy.zeros(2, dtype=cupy.uint32)
        args = (self.dst, self.src, target, source, self.gpu.numpy.uint32(n), self.half, self.blocks, begun)
        us = timed_us(cupy, lambda: self.kernels[name]((self.gpu.n_sms * BLOCKS,), (256,), args))
        if not bool((begun == self.blocks).all()):
            raise SystemExit(BUSY)
        return us * SIZE / (2 * n * GRANULE)

    def check(self, which):
        target, source, _ = self.granules[which]
        self.dst[:] = 0
        self.move(which, "a copy")
        a, b = (array.view(self.gpu.cupy.uint32).reshape(-1, GRANULE // 4)[at] for array, at in ((self.src, source), (self.dst, target)))
        if not bool((a == b).all()):
            raise SystemExit(f"bench/sides.py: {which}: a wrong result")


def print_times(gpu, src, dst, rounds):
    cupy = gpu.cupy
    mover, flushed = Mover(gpu, src, dst), cupy.zeros(256 << 20, dtype=cupy.uint8)
    for which in mover.granules:
        mover.check(which)
    linear = {f"`copy_linear`{', KEEP' * keep}": kernels.copy(cupy, gpu.numpy, SIZE, keep) for keep in (0, 1)}
    for which, launch in linear.items():
        dst[:] = 0
        launch(dst, src)
        if not bool((dst == src).all()):
            raise SystemExit(f"bench/sides.py: {which}: a wrong result")
    times = {(which, name): [] for which in mover.granules for name in mover.kernels} | {(which, "a copy"): [] for which in linear}
    for _ in range(rounds):
        order = list(times)
        random.shuffle(order)
        for which, name in order:
            flushed.fill(1)
            times[which, name].append(timed_us(cupy, lambda: linear[which](dst, src)) if which in linear else mover.move(which, name))
    print(f"\n1 GiB in granules of 4 KB, {BLOCKS} blocks an SM that stay, and as usual, us:\n")
    print(f"| addresses of | {' | '.join(mover.kernels)} |\n|---|{'---:|' * len(mover.kernels)}")
    for which in [*mover.granules, *linear]:
        cells = [f"{statistics.median(times[which, name]):.0f}" if (which, name) in times else "-" for name in mover.kernels]
        print(f"| {which} | {' | '.join(cells)} |")


def print_tiles(gpu, array):
    numpy = gpu.numpy
    halves = gpu.map(array, LINE)
    print("\nOf a tile in one half, the least, the quartiles, the most:\n")
    print("| pitch of rows | least | | median | | most |\n|---|---:|---:|---:|---:|---:|")
    for pitch in PITCHES:
        rows = SIZE // pitch // 64 * 64
        first = numpy.arange(rows, dtype=numpy.int64)[:, None] * pitch + numpy.arange(0, pitch // 256 * 256, 256)[None, :]
        share = sum(halves[(first + at) // LINE] for at in (0, 128)) / 2
        tiles = share.reshape(rows // 64, 64, -1).mean(1)
        print(f"| {pitch} | {' | '.join(f'{value:.2f}' for value in numpy.percentile(tiles, [0, 25, 50, 75, 100]))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    import cupy
    import numpy
    print(kernels.where(cupy, options.rounds))
    src, dst = (cupy.arange(SIZE // 4, dtype=cupy.uint32) * cupy.uint32(2654435761) for _ in range(2))
    src, dst = src.view(cupy.uint8), dst.view(cupy.uint8)
    gpu = Gpu(cupy, numpy, src)
    print_bits(gpu, src)
    print_times(gpu, src, dst, options.rounds)
    print_tiles(gpu, src)


if __name__ == "__main__":
    main()
