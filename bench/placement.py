#!/usr/bin/env python3
"""Times transposes of arrays that lie at different places: bench/placement.py [--rounds N]

Of matrices whose rows are 128 KB apart it depends on where the source lies in the GPU's memory how long blocks take that walk down its
columns. The source begins 0, 1, 2 and 3 GiB into one large array; kernels are those of kernel_templates/, transpose_large with every
SKEW. Needs CuPy and 24 GiB of memory. Prints the table of docs/limits.md ("Rows 128 KB apart"). Every
kernel's result is checked first.
"""
import argparse
import random
import re
import statistics

import cupy_kernels as kernels

GIB = 1 << 30
OFFSETS = (0, 1, 2, 3)
DST = 12
# Rows, bytes of an element; READ_RUN, WRITE_RUN, VL, VS, THREADS, which transpose_vector and transpose_large share; ORDER.
CASES = [(32768, 4, (256, 256, 8, 8, 512), (0, 1)), (16384, 8, (256, 256, 8, 8, 256), (0, 1, 3)), (8192, 16, (256, 256, 16, 16, 128), (0, 1, 3))]


def launches(cupy, numpy, n, elem, tile, orders):
    """Yields name, launch(dst, src)."""
    yield "a copy", kernels.copy(cupy, numpy, n * n * elem)
    for order in orders:
        yield f"`transpose_vector`, ORDER {order}", kernels.vector(cupy, numpy, n, elem, tile, 2, order)
    skews = re.search(r"//@ runtime +SKEW +(.*)", kernels.source("kernel_templates/transpose_large.cu"))
    for skew in skews[1].split():
        yield f"`transpose_large`, SKEW {skew}", kernels.large(cupy, numpy, n, elem, tile, int(skew))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    import cupy
    import numpy
    arrays = cupy.zeros(20 * GIB, dtype=cupy.uint8)
    print(f"{kernels.where(cupy, options.rounds)}, us\n")
    print(f"| | | {' | '.join(f'{o} GiB' for o in OFFSETS)} |\n|---|---|{'---:|' * len(OFFSETS)}")
    for n, elem, tile, orders in CASES:
        size = n * n * elem
        at = [arrays[o * GIB:o * GIB + size] for o in OFFSETS]
        dst = arrays[DST * GIB:DST * GIB + size]
        words = arrays[:DST * GIB].view(cupy.uint32)
        words[:] = cupy.arange(words.size, dtype=cupy.uint32)
        words *= cupy.uint32(2654435761)
        todo = list(launches(cupy, numpy, n, elem, tile, orders))
        for name, launch in todo[1:]:
            dst[:] = 0
            launch(dst, at[1])
            a, b = (x.view(cupy.uint32).reshape(n, n, elem // 4) for x in (at[1], dst))
            if not bool((a.transpose(1, 0, 2) == b).all()):
                raise SystemExit(f"{n} x {n}, {name}: a wrong result")
        times = {(i, k): [] for i in range(len(todo)) for k in range(len(at))}
        for _ in range(options.rounds):
            order = list(times)
            random.shuffle(order)
            for i, k in order:
                times[i, k].append(kernels.time_us(cupy, todo[i][1], dst, at[k]))
        for i, (name, _) in enumerate(todo):
            cells = " | ".join(f"{statistics.median(times[i, k]):.0f}" for k in range(len(at)))
            print(f"| {f'{elem} B {n} x {n}' if i == 0 else ''} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
