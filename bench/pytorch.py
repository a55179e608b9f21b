#!/usr/bin/env python3
"""Times PyTorch's transposes: bench/pytorch.py [--output FILE.json] [--rounds N] [--commit TEXT]

It times `x.t().contiguous()`, the same under `torch.compile` (Inductor), and `y.copy_(x.t())`, in fp32, fp16 and
uint8, cold. Before each launch the L2 cache is flushed (a write of twice its size), and the launch runs alone. Arrays rotate through more than five times the L2 cache.
CUDA events are queued after a busy kernel, so the interpreter's latency is not measured. The output is JSON for
scripts/performance.py, in the form of bench-peers.
"""
import argparse
import datetime
import json
import pathlib
import random
import re
import statistics
import sys

SHAPES = [(1024, 1024), (2048, 2048), (4096, 4096), (8192, 8192), (16384, 16384), (8191, 8191), (64, 4 << 20),
          (4 << 20, 64)]
TYPES = {"float32": 4, "float16": 2, "uint8": 1}
SLEEP_CYCLES = 400_000  # about 0.2 ms of GPU time in which the host queues a launch
FLUSH_TIMES = 2  # the L2 cache, as in tuner/measure/measure.h
ATTEMPTS = 5


def interval(ratios):
    """(low, high) around the median, about 95 %, by the ranks that tuner/measure/noise.c uses."""
    ordered = sorted(ratios)
    low = max(0, int(len(ordered) / 2 - 0.98 * len(ordered) ** 0.5))
    return ordered[low], ordered[-1 - low]


def timed(torch, launch, flush):
    """The time of a launch in us. If the device has begun with it before the host is done with it, once more, a few times."""
    for _ in range(ATTEMPTS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(SLEEP_CYCLES)
        flush.zero_()
        begin.record()
        launch()
        end.record()
        late = begin.query()
        torch.cuda.synchronize()
        if not late:
            break
    else:
        print(f"bench/pytorch.py: the host was late {ATTEMPTS} times; a time has its latency in it", file=sys.stderr)
    return begin.elapsed_time(end) * 1e3


def measure(torch, movers, slots, flush, rounds):
    """Median-ready samples in us: {name: [one a round]}, each round in a random order. Arrays that
    PyTorch makes are kept, as many as there are slots. So each has another place in memory than the last one."""
    samples = {name: [] for name in movers}
    kept, at = [None] * len(slots), 0
    for turn in range(-2, rounds):  # two rounds warm up
        order = random.sample(sorted(movers), len(movers))
        for name in order:
            i, at = at % len(slots), at + 1
            us = timed(torch, lambda: kept.__setitem__(i, movers[name](*slots[i])), flush)
            if turn >= 0:
                samples[name].append(us)
    return samples


def contiguous(x):
    return x.t().contiguous()


def run_case(torch, rows, cols, dtype, elem_size, rounds, l2_bytes):
    bytes_moved = 2 * rows * cols * elem_size
    n_slots = 1 if bytes_moved >= 5 * l2_bytes else 5 * l2_bytes // bytes_moved + 2
    slots = []
    for _ in range(n_slots):
        bits = torch.randint(0, 100, (rows, cols), device="cuda", dtype=torch.uint8)
        slots.append((bits.to(getattr(torch, dtype)), torch.empty((cols, rows), device="cuda",
                                                                  dtype=getattr(torch, dtype))))
        del bits
    torch.compiler.reset()  # each shape is compiled for itself, as for a model of fixed shapes
    compiled = torch.compile(contiguous, fullgraph=True, dynamic=False)
    movers = {
        "memcpy": lambda x, y: y.view(-1).copy_(x.view(-1)),
        "contiguous": lambda x, y: contiguous(x),
        "compiled": lambda x, y: compiled(x),
        "copy_": lambda x, y: y.copy_(x.t()),
    }
    x, y = slots[0]
    y.copy_(x.t())
    if not (torch.equal(y.t(), x) and torch.equal(contiguous(x), y) and torch.equal(compiled(x), y)):
        raise RuntimeError("PyTorch's transpose is wrong")
    flush = torch.empty(FLUSH_TIMES * l2_bytes, device="cuda", dtype=torch.uint8)
    samples = measure(torch, movers, slots, flush, rounds)
    regime = {"rounds": rounds, "launches": 1}
    for name, us in samples.items():
        ratios = [m / u for m, u in zip(samples["memcpy"], us)]
        low, high = interval(ratios)
        median = statistics.median(us)
        regime[name] = {"us": round(median, 3), "gbps": round(bytes_moved / median * 1e-3, 1),
                        "of_memcpy": round(statistics.median(ratios), 4), "low": round(low, 4),
                        "high": round(high, 4)}
    return {"group": "pytorch", "name": f"{elem_size} B {rows} x {cols}", "rows": rows, "cols": cols,
            "elem_size": elem_size, "dtype": dtype, "regimes": {"cold": regime}}


def main():
    parser = argparse.ArgumentParser(description="Time PyTorch's transposes.")
    parser.add_argument("--output")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--commit", default="unknown")
    args = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("bench/pytorch.py: PyTorch is not installed")
    if not torch.cuda.is_available():
        sys.exit("bench/pytorch.py: PyTorch finds no CUDA device")
    device = torch.cuda.get_device_properties(0)
    l2_bytes = getattr(device, "L2_cache_size", 0) or 64 << 20
    now = datetime.datetime.now(datetime.timezone.utc)
    result = {"program": "bench-pytorch", "commit": args.commit, "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
              "gpu": {"name": device.name, "sm_count": device.multi_processor_count}, "torch": torch.__version__,
              "cuda": torch.version.cuda, "cases": []}
    for dtype, elem_size in TYPES.items():
        for rows, cols in SHAPES:
            try:
                case = run_case(torch, rows, cols, dtype, elem_size, args.rounds, l2_bytes)
            except RuntimeError as error:  # out of memory is one too
                print(f"{dtype} {rows} x {cols}: {error}", file=sys.stderr)
                continue
            finally:
                torch.cuda.empty_cache()
            cold = case["regimes"]["cold"]
            print(f"{dtype:8} {rows:>8} x {cols:<8}" +
                  "".join(f" {name} {cold[name]['gbps']:7.0f}" for name in ("memcpy", "contiguous", "compiled", "copy_")))
            result["cases"].append(case)
    slug = re.sub("[^a-z0-9]+", "-", device.name.lower())
    path = pathlib.Path(args.output or pathlib.Path(__file__).parent / "results" / f"pytorch-{slug}-{now:%Y%m%d}.json")
    path.write_text(json.dumps(result) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
