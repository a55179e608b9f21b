#!/usr/bin/env python3
"""Shapes that change with each call: bench/dynamic.py [--output FILE.json] [--shapes N] [--seed N] [--commit TEXT]

It calls tiletune, eager PyTorch and torch.compile(dynamic=True) with random shapes of four kinds, and prints what the first and
the second call of a shape take, in microseconds of the host, with a synchronize. Each of them has made a call before, so the start
of CUDA and of Inductor is not in it. Then it times the kernels of tiletune and of eager PyTorch on the device, cold, in the same
rounds. No shape is tuned: the store is in memory and empty. Results must be the same.

--rounds 0 leaves the kernels' times out.

--c BUILD does the first part with libtiletune alone, without PyTorch: what a new shape costs beyond a known one. --most limits the
sizes. With 64 it runs on the stand-ins of tests/hostcuda, where only the host's part means something.
"""
import argparse
import ctypes as C
import json
import math
import random
import resource
import statistics
import sys
import time

LEAST_US = 10  # kernels that take less are not compared
SLOT_MAX = 1 << 28  # bytes of arrays that a comparison may rotate through


def sizes(r, most, low, high):
    return r.randint(min(low, max(2, most // 8)), min(high, most))


def five(r, most):
    dims = [1] * 5
    while True:
        shares = [r.random() + 0.1 for _ in dims]
        elements = 2 ** r.uniform(18, 25)
        dims = [min(most, max(2, round(elements ** (s / sum(shares))))) for s in shares]
        axes = r.sample(range(5), 5)
        if axes != sorted(axes) and math.prod(dims) <= most ** 3:
            return dims, axes


KINDS = {
    "transpose f32": (4, lambda r, most: ([sizes(r, most, 500, 6000), sizes(r, most, 500, 6000)], [1, 0])),
    "attention BSHD to BHSD f16": (2, lambda r, most: ([min(8, most // 8), sizes(r, most, 100, 4096), 16, 64], [0, 2, 1, 3])),
    "attention BSHD to BHDS f16": (2, lambda r, most: ([min(8, most // 8), sizes(r, most, 100, 4096), 16, 64], [0, 2, 3, 1])),
    "5-D f32": (4, five),
}


def shapes_of(kind, args):
    """Distinct shapes. One more than asked for: the first is the first call of the process."""
    r, seen = random.Random(f"{args.seed} {kind}"), {}
    for _ in range(100 * args.shapes):
        dims, axes = KINDS[kind][1](r, args.most)
        seen.setdefault((*dims, *axes), (dims, axes))
        if len(seen) > args.shapes:
            break
    return list(seen.values())


def figures(us):
    ordered = sorted(us)
    return {"median_us": round(statistics.median(us), 1), "p99_us": round(ordered[min(len(us) - 1, int(0.99 * len(us)))], 1)}


def resident_kb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# ---- With PyTorch


def host_times(torch, call, x):
    """Of two calls with this tensor, and the result."""
    took = []
    for _ in range(2):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        y = call(x)
        torch.cuda.synchronize()
        took.append((time.perf_counter() - begin) * 1e6)
    return took, y


def device_ratio(torch, pytorch, ours, x, axes, rounds):
    """(our time in us, its ratio to eager's), or None for a short one."""
    n_bytes = 2 * x.numel() * x.element_size()
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    n = max(1, min(5 * l2_bytes // n_bytes + 1, SLOT_MAX // n_bytes))
    slots = [(x.clone(),) for _ in range(n)]
    flush = torch.empty(pytorch.FLUSH_TIMES * l2_bytes, device="cuda", dtype=torch.uint8)
    samples = pytorch.measure(torch, {"ours": ours, "eager": lambda x: x.permute(axes).contiguous()}, slots, flush, rounds)
    if statistics.median(samples["eager"]) < LEAST_US:
        return None
    return statistics.median(samples["ours"]), statistics.median(a / b for a, b in zip(samples["ours"], samples["eager"]))


def with_torch(args):
    import pytorch
    import tiletune
    import torch
    tiletune.configure(db=args.db)
    result = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "kinds": {}}
    print(f"{result['gpu']}, PyTorch {torch.__version__}, {args.shapes} shapes of each kind, seed {args.seed}")
    for kind, (elem_size, _) in KINDS.items():
        cases = shapes_of(kind, args)
        torch.compiler.reset()
        compiled = torch.compile(lambda x, axes: x.permute(axes).contiguous(), dynamic=True)
        calls = {"tiletune": lambda x, axes: tiletune.permute(x, axes), "eager": lambda x, axes: x.permute(axes).contiguous()}
        if not args.no_compile:
            calls["compiled"] = compiled
        times, ratios = {name: ([], []) for name in calls}, []
        slowest, first_us = [], 0
        memory, free = resident_kb(), torch.cuda.mem_get_info()[0]
        for i, (dims, axes) in enumerate(cases):
            x = torch.randn(dims, device="cuda").to(torch.float16 if elem_size == 2 else torch.float32)
            wanted = x.permute(axes).contiguous()
            for name in random.sample(sorted(calls), len(calls)):
                took, y = host_times(torch, lambda x: calls[name](x, axes), x)
                if not torch.equal(y, wanted):
                    sys.exit(f"bench/dynamic.py: {name} is wrong: {dims} permuted {axes}")
                for k in range(2 if i else 0):  # the first shape is the first call of all
                    times[name][k].append(took[k])
                if name == "tiletune":
                    slowest.append((round(took[0]), dims, axes) if i else (0, dims, axes))
                    first_us = took[0] if i == 0 else first_us
            ratio = device_ratio(torch, pytorch, lambda x: tiletune.permute(x, axes), x, axes, args.rounds) if i and args.rounds else None
            if ratio:
                ratios.append((*ratio, dims, axes))
        row = {name: {"first": figures(first), "second": figures(second)} for name, (first, second) in times.items()}
        row["slowest_first_us"], row["very_first_us"] = sorted(slowest, reverse=True)[:8], round(first_us)
        row["grown_kb"] = {"host": resident_kb() - memory, "device": (free - torch.cuda.mem_get_info()[0]) >> 10}
        print(f"\n{kind}\n{'':12}{'first call':>12}{'99th':>10}{'second':>10}{'99th':>10}")
        for name in calls:
            f, s = row[name]["first"], row[name]["second"]
            print(f"{name:12}{f['median_us']:12}{f['p99_us']:10}{s['median_us']:10}{s['p99_us']:10}")
        if ratios:
            of = [r[1] for r in ratios]
            worst = max(ratios, key=lambda r: r[1])
            row["device"] = {"n": len(of), "geometric_mean": round(math.exp(statistics.fmean(map(math.log, of))), 4),
                             "within_1_02": round(sum(r <= 1.02 for r in of) / len(of), 4), "worst": worst}
            print(f"on the device, {len(of)} of {LEAST_US} us and more, of eager's time: geometric mean "
                  f"{row['device']['geometric_mean']:.3f}, at most 1.02 in {100 * row['device']['within_1_02']:.1f} %, "
                  f"worst {worst[1]:.2f}: {worst[2]} permuted {worst[3]}")
        result["kinds"][kind] = row
        write(args, result)


# ---- With the library alone


def call_in_c(args):
    import permute
    lib, cuda = permute.library(args.c), C.CDLL("libcuda.so.1")

    def check(status, text):
        if status:
            sys.exit(f"bench/dynamic.py: {text() if callable(text) else text}: {status}")
    device, context, name = C.c_int(), C.c_void_p(), C.create_string_buffer(96)
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDeviceGet(C.byref(device), 0), "cuDeviceGet")
    check(cuda.cuDevicePrimaryCtxRetain(C.byref(context), device), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    check(cuda.cuDeviceGetName(name, 96, device), "cuDeviceGetName")
    ctx, tt_best, tt_permute = permute.opened(lib, args.db), lib.tt_best, lib.tt_permute
    result = {"gpu": name.value.decode(), "kinds": {}}
    for kind, (elem_size, _) in KINDS.items():
        cases = shapes_of(kind, args)
        most = max(math.prod(dims) for dims, _ in cases) * elem_size
        of, to = C.c_uint64(), C.c_uint64()
        for p in (of, to):
            check(cuda.cuMemAlloc_v2(C.byref(p), C.c_size_t(most)), "cuMemAlloc")
        extra, best, memory = [], [], resident_kb()
        choice = (C.c_uint64 * 8)(64)  # the head of a tt_choice
        for i, (dims, axes) in enumerate(cases):
            p = permute.Permutation(C.sizeof(permute.Permutation), len(dims), elem_size, (C.c_int64 * len(dims))(*dims),
                                    (C.c_int * len(axes))(*axes), None, 0, 0)
            problem = permute.Problem(size=C.sizeof(permute.Problem), permutation=C.pointer(p))
            asked, wanted, took = C.byref(problem), C.byref(p), []
            for call, args_of_call in [(tt_best, (choice, ctx, asked))] + 3 * [(tt_permute, (ctx, wanted, to, of, None))]:
                begin = time.perf_counter()
                status = call(*args_of_call)
                took.append((time.perf_counter() - begin) * 1e6)
                check(status, lambda: lib.tt_last_error().decode())
                check(cuda.cuCtxSynchronize(), "cuCtxSynchronize")
            if i:
                best.append(took[0])
                extra.append(took[1] - min(took[2:]))
        for p in (of, to):
            check(cuda.cuMemFree_v2(p), "cuMemFree")
        row = {"new_shape": figures(extra), "tt_best": figures(best), "grown_kb": resident_kb() - memory}
        print(f"{kind:30} {len(cases) - 1} shapes: a new one takes {row['new_shape']['median_us']} us more than a known one, "
              f"99th percentile {row['new_shape']['p99_us']} us; tt_best {row['tt_best']['median_us']} us, "
              f"99th percentile {row['tt_best']['p99_us']} us", flush=True)
        result["kinds"][kind] = row
    lib.tt_close(C.byref(ctx))
    write(args, result)


def write(args, result):
    if args.output:
        with open(args.output, "w") as f:
            json.dump({**result, "commit": args.commit, "seed": args.seed, "shapes": args.shapes, "most": args.most}, f)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--c", metavar="BUILD", help="the library of this build folder, without PyTorch")
    a.add_argument("--db", default=":memory:")
    a.add_argument("--shapes", type=int, default=200, help="of each kind")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--most", type=int, default=1 << 20, help="the largest size of a dimension; at least 64")
    a.add_argument("--rounds", type=int, default=11, help="on the device; 0: none")
    a.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    a.add_argument("--commit", default="unknown")
    a.add_argument("--output")
    args = a.parse_args()
    call_in_c(args) if args.c else with_torch(args)


if __name__ == "__main__":
    main()
