#!/usr/bin/env python3
"""Times transposes of arrays that lie at different places: bench/placement.py [--rounds N]

Of matrices whose rows are 128 KB apart it depends on where the source lies in the GPU's memory how long blocks take that walk down its
columns. The source begins 0, 1, 2 and 3 GiB into one large array; kernels are those of kernel_templates/, transpose_large with every
SKEW. Needs CuPy and 24 GiB of memory. Prints the table of docs/performance.md ("Rows 128 KB apart"). Every
kernel's result is checked first.
"""
import argparse
import pathlib
import random
import re
import statistics

TEMPLATES = pathlib.Path(__file__).resolve().parent.parent / "kernel_templates"
GIB = 1 << 30
OFFSETS = (0, 1, 2, 3)
DST = 12
# Rows, bytes of an element; READ_RUN, WRITE_RUN, VL, VS, THREADS, which transpose_vector and transpose_large share; ORDER.
CASES = [(32768, 4, (256, 256, 8, 8, 512), (0, 1)), (16384, 8, (256, 256, 8, 8, 256), (0, 1, 3)), (8192, 16, (256, 256, 16, 16, 128), (0, 1, 3))]


def kernel(cupy, name, macros):
    text = (TEMPLATES / (name + ".cu")).read_text()
    skews = re.search(r"//@ runtime +SKEW +(.*)", text)
    while "#include \"" in text:
        text = re.sub(r'#include "(\S+)"', lambda found: (TEMPLATES / found[1]).read_text(), text)
    made = cupy.RawKernel(text, name, options=("--std=c++17",) + tuple(f"-D{key}={value}" for key, value in macros.items()))
    return made, [int(value) for value in skews[1].split()] if skews else []


def launches(cupy, numpy, n, elem, shape, orders):
    """Yields name, launch(dst, src)."""
    i64, i32 = numpy.int64, numpy.int32
    read, write, _, _, threads = shape
    across, down, shared = n * elem // read, n * elem // write, read * write // elem
    macros = dict(zip(("READ_RUN", "WRITE_RUN", "VL", "VS", "THREADS"), shape)) | {"ELEM_SIZE": elem}
    copy, _ = kernel(cupy, "copy_linear", {"VEC": 16, "UNROLL": 1, "KEEP": 0})
    size = n * n * elem
    yield "a copy", lambda dst, src: copy((size // 4096,), (256,), (dst, src, i64(size), i32(0)))
    vector, _ = kernel(cupy, "transpose_vector", macros | {"STREAM": 2, "SEGMENT": 0, "PREFETCH": 0, "EDGES": 0})
    for order in orders:
        grid = (across, down) if order == 0 else (down, across) if order == 1 else (64, down, across // 64)
        yield f"`transpose_vector`, ORDER {order}", lambda dst, src, grid=grid, order=order: vector(
            grid, (threads,), (dst, src, i64(n), i64(n), i64(n), i64(n), i64(0), i64(0), i32(order)), shared_mem=shared)
    large, skews = kernel(cupy, "transpose_large", macros)
    tail = min(across // 2, -(-cupy.cuda.runtime.getDeviceProperties(0)["l2CacheSize"] // (n * read)))
    for skew in skews:
        yield f"`transpose_large`, SKEW {skew}", lambda dst, src, skew=skew: large(
            (down, across), (threads,), (dst, src, i64(n), i64(n), i32(tail), i32(skew)), shared_mem=shared)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    import cupy
    import numpy
    arrays = cupy.zeros(20 * GIB, dtype=cupy.uint8)
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{device}, CUDA driver API {cupy.cuda.runtime.driverGetVersion()}; medians of {options.rounds}, us\n")
    print(f"| | | {' | '.join(f'{o} GiB' for o in OFFSETS)} |\n|---|---|{'---:|' * len(OFFSETS)}")
    for n, elem, shape, orders in CASES:
        size = n * n * elem
        at = [arrays[o * GIB:o * GIB + size] for o in OFFSETS]
        dst = arrays[DST * GIB:DST * GIB + size]
        words = arrays[:DST * GIB].view(cupy.uint32)
        words[:] = cupy.arange(words.size, dtype=cupy.uint32)
        words *= cupy.uint32(2654435761)
        todo = list(launches(cupy, numpy, n, elem, shape, orders))
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
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                todo[i][1](dst, at[k])
                begin.record()
                todo[i][1](dst, at[k])
                end.record()
                end.synchronize()
                times[i, k].append(cupy.cuda.get_elapsed_time(begin, end) * 1e3)
        for i, (name, _) in enumerate(todo):
            cells = " | ".join(f"{statistics.median(times[i, k]):.0f}" for k in range(len(at)))
            print(f"| {f'{elem} B {n} x {n}' if i == 0 else ''} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
