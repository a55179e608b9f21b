#!/usr/bin/env python3
"""Times hints to the L2 cache: bench/hints.py [--size N] [--rounds N]

What a transpose of N x N elements of 4 bytes takes when its loads and stores carry one priority or another, and what a
copy of 16 MB takes then, over and over: what was kept makes its cache smaller. The kernels are
kernel_templates/transpose_vector.cu and transpose_in_place.cu, with their hints exchanged in the text. Needs CuPy.
Prints the table of docs/performance.md ("Keeping what was read"). Every kernel's result is checked first.
"""
import argparse
import ctypes
import pathlib
import random
import re
import statistics

TEMPLATES = pathlib.Path(__file__).resolve().parent.parent / "kernel_templates"
VECTOR = {"READ_RUN": 256, "WRITE_RUN": 256, "VL": 8, "VS": 8, "THREADS": 512, "SEGMENT": 0, "PREFETCH": 0, "EDGES": 0, "ELEM_SIZE": 4}
IN_PLACE = {"RUN": 256, "V": 8, "THREADS": 128, "EDGES": 0, "ALIGNED": 1, "BATCHED": 0, "ELEM_SIZE": 4}
COPY = {"VEC": 16, "UNROLL": 1, "KEEP": 0}
COPY_BYTES, COPY_THREADS, COPIES = 16 << 20, 256, 6

# In place of what stands in the headers: (text, its replacement).
LET_GO = ('asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(from) : "memory");', ";")
HALF = ("evict_last.b64 %0, 1.0", "evict_last.b64 %0, 0.5")
READ_FIRST = ("L2::evict_last.b64", "L2::evict_first.b64")
WRITE_FIRST = [("L2::evict_normal.b64", "L2::evict_first.b64"), ("    else\n        *p = v;", "    else\n        store_and_let_go(p, v);")]
AT_ONCE = [LET_GO, ("    return load_kept(p);", """    const T v = load_kept(p);
    if ((unsigned long long)p % 128 == 0)
        asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(p) : "memory");
    return v;""")]
STORE_PLAIN = ("    store_and_let_go(p, v);", "    store(p, v);")

# Loads, stores, let go of; in place or not; STREAM; what is exchanged.
CASES = [
    ("plain", "plain", "-", False, 0, []),
    ("`evict_last`", "plain", "-", False, 2, [LET_GO]),
    ("`evict_last`, of half of the lines", "plain", "-", False, 2, [LET_GO, HALF]),
    ("`evict_last`", "`evict_first`", "-", False, 2, [LET_GO] + WRITE_FIRST),
    ("`evict_last`", "plain", "at once", False, 2, AT_ONCE),
    ("**`evict_last`**", "**plain**", "**behind the stores**", False, 2, []),
    ("`evict_first`", "plain", "-", False, 2, [LET_GO, READ_FIRST]),
    ("in place: plain", "plain", "-", True, 0, []),
    ("in place: `evict_last`", "plain", "-", True, 2, [LET_GO, STORE_PLAIN]),
    ("**in place: `evict_last`**", "**`evict_normal`**", "**by the store**", True, 2, []),
]


def source(name, exchanged=()):
    """The template's text with its headers in place, and every exchange made at least once."""
    text = (TEMPLATES / name).read_text()
    while "#include \"" in text:
        text = re.sub(r'#include "(\S+)"', lambda found: (TEMPLATES / found[1]).read_text(), text)
    for old, new in exchanged:
        if old not in text:
            raise SystemExit(f"{name}: there is no {old!r} to exchange any more")
        text = text.replace(old, new)
    return text


def kernel(cupy, name, macros, exchanged=(), shared=0):
    options = tuple(f"-D{key}={value}" for key, value in macros.items()) + ("--std=c++17",)
    made = cupy.RawKernel(source(name + ".cu", exchanged), name, options=options)
    made.max_dynamic_shared_size_bytes = shared
    return made


def mover(cupy, numpy, n, case):
    """launch(dst, src) of the case's kernel."""
    i64, i32 = numpy.int64, numpy.int32
    in_place, stream, exchanged = case[3:]
    if in_place:
        run, side = IN_PLACE["RUN"], n * 4 // IN_PLACE["RUN"]
        made = kernel(cupy, "transpose_in_place", IN_PLACE | {"STREAM": stream}, exchanged, 2 * run * run // 4)
        grid, block, shared = (side | 1, (side + 1) // 2), (IN_PLACE["THREADS"],), 2 * run * run // 4
        return lambda dst, src: made(grid, block, (dst, i64(n), i64(n), i32(1), i64(0)), shared_mem=shared)
    tiles, shared = n * 4 // VECTOR["READ_RUN"], VECTOR["READ_RUN"] * VECTOR["WRITE_RUN"] // 4
    made = kernel(cupy, "transpose_vector", VECTOR | {"STREAM": stream}, exchanged, shared)
    args = (i64(n), i64(n), i64(n), i64(n), i64(0), i64(0), i32(1))
    return lambda dst, src: made((tiles, tiles), (VECTOR["THREADS"],), (dst, src) + args, shared_mem=shared)


def check(cupy, n, case, launch, src, dst):
    dst[:] = src if case[3] else 0
    launch(dst, src)
    if not bool((dst.reshape(n, n) == src.reshape(n, n).T).all()):
        raise SystemExit(f"{' | '.join(case[:3])}: a wrong result")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=16384, help="a multiple of 64; larger than the L2 cache")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    import cupy
    import numpy
    n = options.size
    copy = kernel(cupy, "copy_linear", COPY)
    blocks = COPY_BYTES // (COPY["VEC"] * COPY_THREADS)
    src = cupy.arange(n * n, dtype=cupy.uint32) * cupy.uint32(2654435761)
    dst, small, other = cupy.zeros_like(src), cupy.zeros(COPY_BYTES, dtype=cupy.uint8), cupy.zeros(COPY_BYTES, dtype=cupy.uint8)
    launches = [mover(cupy, numpy, n, case) for case in CASES]
    times, behind = [[] for _ in CASES], [[] for _ in CASES]
    for case, launch in zip(CASES, launches):
        check(cupy, n, case, launch, src, dst)

    def copies(count):
        for _ in range(count):
            copy((blocks,), (COPY_THREADS,), (other, small, numpy.int64(COPY_BYTES), numpy.int32(0)))

    forget = ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache  # what the case before has kept
    order = list(range(len(CASES)))
    for _ in range(options.rounds):
        random.shuffle(order)
        for i in order:
            events = [cupy.cuda.Event() for _ in range(4)]
            forget()
            launches[i](dst, src)
            events[0].record()
            launches[i](dst, src)
            events[1].record()
            copies(COPIES - 1)
            events[2].record()
            copies(1)
            events[3].record()
            events[3].synchronize()
            times[i].append(cupy.cuda.get_elapsed_time(events[0], events[1]) * 1e3)
            behind[i].append(cupy.cuda.get_elapsed_time(events[2], events[3]) * 1e3)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{n} x {n} at 4 bytes, {name}, CUDA driver API {cupy.cuda.runtime.driverGetVersion()}; medians of {options.rounds}\n")
    print("| loads | stores | let go of | us | the copy behind |\n|---|---|---|---:|---:|")
    for i, case in enumerate(CASES):
        mark = "**" if case[0].startswith("**") else ""
        print(f"| {' | '.join(case[:3])} | {mark}{statistics.median(times[i]):.1f}{mark} | {mark}{statistics.median(behind[i]):.1f}{mark} |")


if __name__ == "__main__":
    main()
