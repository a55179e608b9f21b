#!/usr/bin/env python3
"""What a shape loses that nobody tuned: bench/untuned.py BUILD [--ttc FILE] [--random N] [--budget SECONDS] [--output FILE]

The cases are those of bench/permute.py: the 57 of TTC's benchmark (--ttc FILE), attention heads, images, 4 x 4 x ..., and random
permutations. A context without a store launches each of them, and collects them. `tune --collected --budget` tunes them, all with
the same part of the time. Then the kernel for shapes that nobody tuned and the winner run in the same rounds, cold. Printed is the
speed of the first over that of the second, by group and by element size. It needs no PyTorch. --small N limits the elements: with
65536 it runs on the stand-ins of tests/hostcuda, where times mean nothing.
"""
import argparse
import ctypes as C
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import permute


class Driver:
    """The part of libcuda that a comparison needs."""

    def __init__(self):
        self.lib = C.CDLL("libcuda.so.1")
        device, context = C.c_int(), C.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", C.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", C.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        name, l2 = C.create_string_buffer(96), C.c_int()
        self.call("cuDeviceGetName", name, 96, device)
        self.call("cuDeviceGetAttribute", C.byref(l2), 38, device)  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
        self.name, self.flush_bytes = name.value.decode(), 2 * l2.value
        self.flush = self.alloc(self.flush_bytes)
        self.events = [C.c_void_p(), C.c_void_p()]
        for event in self.events:
            self.call("cuEventCreate", C.byref(event), 0)

    def call(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status:
            sys.exit(f"bench/untuned.py: {name} failed: {status}")

    def alloc(self, n_bytes):
        p = C.c_uint64()
        self.call("cuMemAlloc_v2", C.byref(p), C.c_size_t(n_bytes))
        return p

    def cold_us(self, launch):
        """One launch after the L2 cache was flushed."""
        self.call("cuMemsetD8Async", self.flush, C.c_ubyte(1), C.c_size_t(self.flush_bytes), None)
        self.call("cuEventRecord", self.events[0], None)
        launch()
        self.call("cuEventRecord", self.events[1], None)
        self.call("cuEventSynchronize", self.events[1])
        ms = C.c_float()
        self.call("cuEventElapsedTime", C.byref(ms), *self.events)
        return ms.value * 1e3

    def read(self, p, n_bytes):
        data = C.create_string_buffer(n_bytes)
        self.call("cuMemcpyDtoH_v2", data, p, C.c_size_t(n_bytes))
        return data.raw


def bytes_of(case):
    return math.prod(case[2]) * case[3]


def cases_of(args):
    """(group, case), in an order that a seed decides: what is cut off at the end is then no group."""
    groups = {"TTC": permute.ttc_cases(args.ttc, 4) if args.ttc else [], "attention, images, 4 x 4": permute.common_cases(),
              "random": permute.random_cases(args.random)}
    cases = [(group, case) for group, members in groups.items() for case in members]
    for _, case in cases if args.small else []:
        while math.prod(case[2]) > args.small:
            case[2][case[2].index(max(case[2]))] //= 2
    random.Random(3).shuffle(cases)
    return cases


def problem_of(case):
    _, axes, dims, elem_size = case
    p = permute.Permutation(C.sizeof(permute.Permutation), len(dims), elem_size, (C.c_int64 * len(dims))(*dims),
                            (C.c_int * len(axes))(*axes), None, 0, 0)
    return permute.Problem(size=C.sizeof(permute.Problem), permutation=C.pointer(p))


def launched(lib, ctx, problem, to, of):
    launch = permute.planned(lib, ctx, problem)
    return lambda: launch(to.value, of.value, None)


def collect(args, cuda, lib, cases, path, to, of):
    """The file of all cases. Each is made to have cost the same, so that none is left out as cheap."""
    os.environ["TILETUNE_COLLECT"] = path
    ctx = permute.opened(lib, ":memory:")
    del os.environ["TILETUNE_COLLECT"]
    for _, case in cases:
        launched(lib, ctx, problem_of(case), to, of)()
    cuda.call("cuCtxSynchronize")
    lib.tt_close(C.byref(ctx))
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    with open(path, "w", encoding="utf-8") as f:
        for line in lines:
            if "time_us" in line:
                line["launches"] = max(1, round(1e6 / max(line["time_us"], 0.1)))
            f.write(json.dumps(line) + "\n")
    return len(lines) - 1


def compare(cuda, untuned, tuned, case, to, of, rounds):
    """The speed of the first over that of the second, and both times. Their results must be the same."""
    n_bytes, results = bytes_of(case), []
    for launch in (untuned, tuned):
        cuda.call("cuMemsetD8Async", to, C.c_ubyte(0), C.c_size_t(n_bytes), None)
        launch()
        cuda.call("cuCtxSynchronize")
        results.append(cuda.read(to, min(n_bytes, 1 << 24)))
    if results[0] != results[1]:
        sys.exit(f"bench/untuned.py: {case[0]}: the two results differ")
    times = []
    for i in range(rounds):
        pair = {launch: cuda.cold_us(launch) for launch in ((untuned, tuned) if i % 2 else (tuned, untuned))}
        times.append((pair[untuned], pair[tuned]))
    return (statistics.median(b / a for a, b in times), *(statistics.median(t) for t in zip(*times)))


def summary(rows):
    def line(what, some):
        if some:
            speeds, worst = [r["speed"] for r in some], min(some, key=lambda r: r["speed"])
            print(f"{what}: {len(some)} cases, of the winner's speed: geometric mean {statistics.geometric_mean(speeds):.3f}, "
                  f"worst {worst['speed']:.3f} ({worst['name']}, {worst['elem_size']} B, {worst['dims']} permuted {worst['axes']})")
    for group in dict.fromkeys(r["group"] for r in rows):
        line(group, [r for r in rows if r["group"] == group])
    line("4 bytes and more", [r for r in rows if r["elem_size"] >= 4])
    line("1 and 2 bytes", [r for r in rows if r["elem_size"] < 4])


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build")
    a.add_argument("--ttc", help="file of the 57 cases: rank, permutation, dimensions, the fastest first")
    a.add_argument("--random", type=int, default=100)
    a.add_argument("--budget", type=float, default=90, help="seconds to tune in")
    a.add_argument("--seconds", type=float, default=math.inf, help="after which nothing is compared any more")
    a.add_argument("--rounds", type=int, default=15)
    a.add_argument("--small", type=int, default=0)
    a.add_argument("--commit", default="unknown")
    a.add_argument("--output")
    args = a.parse_args()
    end, cases = time.time() + args.seconds, cases_of(args)
    cuda, lib = Driver(), permute.library(args.build)
    most = max(bytes_of(case) for _, case in cases)
    to, of = cuda.alloc(most), cuda.alloc(most)
    part = random.Random(4).randbytes(min(most, 1 << 20))
    for at in range(0, most, len(part)):
        cuda.call("cuMemcpyHtoD_v2", C.c_uint64(of.value + at), part, C.c_size_t(min(len(part), most - at)))
    with tempfile.TemporaryDirectory() as folder:
        path, db = os.path.join(folder, "asked.jsonl"), os.path.join(folder, "store.db")
        n = collect(args, cuda, lib, cases, path, to, of)
        begin = time.time()
        done = subprocess.run([os.path.join(args.build, "tune"), "--collected", path, "--budget", f"{args.budget}s", "--force", "--db", db,
                               "--quiet", "--json"], stdout=subprocess.PIPE, text=True)
        results = [r for r in json.loads(done.stdout)["results"] if r["kernel"]]
        print(f"{cuda.name}: {len(results)} of {n} problems tuned in {time.time() - begin:.0f} s; trials: median "
              f"{statistics.median(r['trials'] for r in results)}, least {min(r['trials'] for r in results)}", flush=True)
        tuned, empty, rows = permute.opened(lib, db), permute.opened(lib, ":memory:"), []
        for group, case in cases:
            if time.time() > end:
                break
            problem, choice = problem_of(case), (C.c_uint64 * 256)(64)
            if lib.tt_best(choice, tuned, C.byref(problem)) or C.c_int.from_address(C.addressof(choice) + 8).value:
                continue  # not exact: the budget did not reach it
            speed, untuned_us, tuned_us = compare(cuda, launched(lib, empty, problem, to, of), launched(lib, tuned, problem, to, of), case,
                                                  to, of, args.rounds)
            rows.append({"group": group, "name": case[0], "axes": case[1], "dims": case[2], "elem_size": case[3],
                         "speed": round(speed, 4), "untuned_us": round(untuned_us, 2), "tuned_us": round(tuned_us, 2)})
        for ctx in (tuned, empty):
            lib.tt_close(C.byref(ctx))
    for r in sorted(rows, key=lambda r: r["speed"]):
        print(f"{r['speed']:.3f} {r['untuned_us']:9.2f} us {r['tuned_us']:9.2f} us  {r['elem_size']:2} B {r['name']:26} {r['dims']} {r['axes']}")
    print(f"{len(rows)} of {len(cases)} cases compared")
    summary(rows)
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            json.dump({"gpu": cuda.name, "commit": args.commit, "budget_s": args.budget, "cases": rows}, f)


if __name__ == "__main__":
    main()
