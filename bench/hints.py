#!/usr/bin/env python3
"""Times hints to the L2 cache: bench/hints.py [--size N] [--rounds N]

What a transpose of N x N elements of 4 bytes takes when its loads and stores carry one priority or another, and what a
copy of 16 MB takes then, over and over: what was kept makes its cache smaller. The kernels are
kernel_templates/transpose_vector.cu, transpose_in_place.cu and, for N - 1 x N - 1, transpose_in_place_unaligned.cu, with
their hints exchanged in the text. Needs CuPy.
Prints the table of docs/limits.md ("Keeping what was read"). Every kernel's result is checked first.
"""
import argparse
import ctypes
import random
import statistics

import cupy_kernels as kernels

TILE = (256, 256, 8, 8, 512)  # of transpose_vector
IN_PLACE = {"RUN": 256, "V": 8, "THREADS": 128, "EDGES": 0, "LINES": 0, "BATCHED": 0, "ELEM_SIZE": 4}
UNALIGNED = {"RUN": 256, "VS": 4, "THREADS": 128, "SKEW": 12, "BATCHED": 0, "ELEM_SIZE": 4}
COPY_BYTES, COPIES = 16 << 20, 6

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
STORE_PLAIN_IF = ("#if KEEP && __CUDA_ARCH__ >= 800\n#define STORE", "#if 0\n#define STORE")

# Loads, stores, let go of; the template; STREAM, or KEEP; what is exchanged.
CASES = [
    ("plain", "plain", "-", "transpose_vector", 0, []),
    ("`evict_last`", "plain", "-", "transpose_vector", 2, [LET_GO]),
    ("`evict_last`, of half of the lines", "plain", "-", "transpose_vector", 2, [LET_GO, HALF]),
    ("`evict_last`", "`evict_first`", "-", "transpose_vector", 2, [LET_GO] + WRITE_FIRST),
    ("`evict_last`", "plain", "at once", "transpose_vector", 2, AT_ONCE),
    ("**`evict_last`**", "**plain**", "**behind the stores**", "transpose_vector", 2, []),
    ("`evict_first`", "plain", "-", "transpose_vector", 2, [LET_GO, READ_FIRST]),
    ("in place: plain", "plain", "-", "transpose_in_place", 0, []),
    ("in place: `evict_last`", "plain", "-", "transpose_in_place", 2, [LET_GO, STORE_PLAIN]),
    ("**in place: `evict_last`**", "**`evict_normal`**", "**by the store**", "transpose_in_place", 2, []),
    ("in place, odd rows: plain", "plain", "-", "transpose_in_place_unaligned", 0, []),
    ("in place, odd rows: `evict_last`", "plain", "-", "transpose_in_place_unaligned", 1, [STORE_PLAIN_IF]),
    ("**in place, odd rows: `evict_last`**", "**`evict_normal`**", "**by the store**", "transpose_in_place_unaligned", 1, []),
]


def side(n, case):
    return n - 1 if case[3] == "transpose_in_place_unaligned" else n


def mover(cupy, numpy, n, case):
    """launch(dst, src) of the case's kernel."""
    name, keep, exchanged = case[3:]
    if name == "transpose_vector":
        return kernels.vector(cupy, numpy, n, 4, TILE, keep, 1, exchanged)
    aligned = name == "transpose_in_place"
    macros = IN_PLACE | {"STREAM": keep} if aligned else UNALIGNED | {"KEEP": keep}
    tiles, shared = n * 4 // macros["RUN"], 2 * 64 * 256 if aligned else 2 * (64 * 300 + 96)
    made = kernels.kernel(cupy, name, macros, shared, exchanged)
    args = (numpy.int64(side(n, case)), numpy.int64(side(n, case)), numpy.int32(1), numpy.int64(0))
    return lambda dst, src: made((tiles | 1, (tiles + 1) // 2), (macros["THREADS"],), (dst,) + args, shared_mem=shared)


def check(cupy, n, case, launch, src, dst):
    m = side(n, case)
    dst[:] = 0 if case[3] == "transpose_vector" else src
    launch(dst, src)
    if not bool((dst[:m * m].reshape(m, m) == src[:m * m].reshape(m, m).T).all()):
        raise SystemExit(f"{' | '.join(case[:3])}: a wrong result")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=16384, help="a multiple of 64; larger than the L2 cache")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    import cupy
    import numpy
    n = options.size
    copy = kernels.copy(cupy, numpy, COPY_BYTES)
    src = cupy.arange(n * n, dtype=cupy.uint32) * cupy.uint32(2654435761)
    dst, small, other = cupy.zeros_like(src), cupy.zeros(COPY_BYTES, dtype=cupy.uint8), cupy.zeros(COPY_BYTES, dtype=cupy.uint8)
    launches = [mover(cupy, numpy, n, case) for case in CASES]
    times, behind = [[] for _ in CASES], [[] for _ in CASES]
    for case, launch in zip(CASES, launches):
        check(cupy, n, case, launch, src, dst)

    def copies(count):
        for _ in range(count):
            copy(other, small)

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
    print(f"{n} x {n} at 4 bytes, {kernels.where(cupy, options.rounds)}\n")
    print("| loads | stores | let go of | us | the copy behind |\n|---|---|---|---:|---:|")
    for i, case in enumerate(CASES):
        mark = "**" if case[0].startswith("**") else ""
        print(f"| {' | '.join(case[:3])} | {mark}{statistics.median(times[i]):.1f}{mark} | {mark}{statistics.median(behind[i]):.1f}{mark} |")


if __name__ == "__main__":
    main()
