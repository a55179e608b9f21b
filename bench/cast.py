#!/usr/bin/env python3
"""Tunes cast_transpose from bf16 to e4m3 with both outputs and amax, beside PyTorch: bench/cast.py BUILD [--output FILE]

`of_copy` is the time of a tuned copy of as many bytes over ours, in the tuner's paired rounds. If PyTorch is installed, eager,
torch.compile (Inductor), a copy of as many bytes and the winner run in paired rounds, cold as in bench/pytorch.py. Their results
are compared with ours, bit for bit. Ours adds to an amax that was set before; theirs compute it.
"""
import argparse, ctypes as C, json, statistics, sys, time

import permute, pytorch

pytorch.SLEEP_CYCLES = 3_000_000  # eager queues more kernels
SHAPES = ((4096, 4096), (8192, 28672), (8191, 4097))
BYTES = 4  # of an element: two are read, and one is written twice
SCALE = 0.5


def planned(lib, ctx, problem):
    """A function that launches the winner on PyTorch's tensors."""
    plan = C.c_void_p()
    if lib.tt_plan_create(C.byref(plan), ctx, C.byref(problem)):
        sys.exit(lib.tt_last_error().decode())

    def launch(stream, *tensors):
        addresses = [C.c_uint64(t.data_ptr()) for t in tensors]
        args = (C.c_void_p * len(tensors))(*[C.addressof(a) for a in addresses])
        if lib.tt_plan_launch_args(plan, args, C.c_size_t(len(tensors)), C.c_void_p(stream)):
            sys.exit(lib.tt_last_error().decode())
    return launch


def peers(torch, lib, ctx, problem, rows, cols, rounds):
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    scale = torch.full((), SCALE, device="cuda")

    def eager(x, _):
        y = (x.float() * scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        return y.view(torch.uint8).t().contiguous(), y, x.abs().amax().float()

    torch.compiler.reset()
    compiled, launch = torch.compile(eager, fullgraph=True, dynamic=False), planned(lib, ctx, problem)

    def ours(x, out):
        launch(torch.cuda.current_stream().cuda_stream, out[0], out[1], out[2], x, scale)

    slots = []
    for _ in range(1 + 5 * l2_bytes // (BYTES * rows * cols)):
        codes = lambda *shape: torch.zeros(shape, device="cuda", dtype=torch.uint8)
        slots.append((torch.randn((rows, cols), device="cuda").mul(100).to(torch.bfloat16),
                      (codes(cols, rows), codes(rows, cols), torch.zeros((), device="cuda"), codes(rows, 2 * cols))))
    x, out = slots[0]
    ours(x, out)
    for name, call in (("eager", eager), ("compiled", compiled)):
        right = call(x, out)
        if not all(torch.equal(a.view(b.dtype), b) for a, b in zip(right, out)):
            sys.exit(f"bench/cast.py: {name} and tiletune differ")
    movers = {"copy": lambda x, out: out[3].view(-1).copy_(x.view(torch.uint8).view(-1)), "eager": eager, "compiled": compiled,
              "ours": ours}
    flush = torch.empty(pytorch.FLUSH_TIMES * l2_bytes, device="cuda", dtype=torch.uint8)
    samples = pytorch.measure(torch, movers, slots, flush, rounds)
    row = {"rounds": rounds}
    for name, us in samples.items():
        ratios = [c / u for c, u in zip(samples["copy"], us)]
        row[name] = {"us": round(statistics.median(us), 2), "of_copy": round(statistics.median(ratios), 4),
                     "interval": [round(r, 4) for r in pytorch.interval(ratios)]}
    return row


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build")
    a.add_argument("--shapes", default=",".join(f"{r}x{c}" for r, c in SHAPES))
    a.add_argument("--rounds", type=int, default=31)
    a.add_argument("--db", default=":memory:")
    a.add_argument("--commit", default="unknown")
    a.add_argument("--output")
    args = a.parse_args()
    shapes = [tuple(int(n) for n in s.split("x")) for s in args.shapes.split(",")]
    problems = (permute.Problem * len(shapes))()
    for p, (rows, cols) in zip(problems, shapes):
        p.size, p.op, p.values = C.sizeof(p), b"cast_transpose", f"rows={rows},cols={cols},outputs=7".encode()
    start = time.time()
    lib, ctx, report = permute.tune_problems(args.build, problems, args.db)
    wall, cases = time.time() - start, []
    try:
        import torch
    except ImportError:
        torch = None
    for i, (rows, cols) in enumerate(shapes[:report.n_results]):
        r = report.results[i]
        row = {"rows": rows, "cols": cols, "kernel": r.kernel.decode(), "config": r.config.decode(), "us": round(r.time_us, 2),
               "of_copy": round(r.copy_fraction, 4), "gbps": round(r.gbps), "vs_default": round(r.speedup, 3), "space": r.space,
               "trials": r.trials, "failed": r.failed}
        print(f"{rows} x {cols}: {r.time_us:.2f} us, {r.copy_fraction:.3f} of the tuned copy, {r.kernel.decode()} "
              f"{r.config.decode()}, {r.failed}/{r.trials}/{r.space}", flush=True)
        if torch and torch.cuda.is_available():
            row["torch"] = peers(torch, lib, ctx, problems[i], rows, cols, args.rounds)
            print("  PyTorch's rounds:", json.dumps(row["torch"]), flush=True)
        cases.append(row)
    print(f"{report.gpu.decode()}, driver {report.driver.decode()}: tuned {len(cases)} problems in {wall:.0f} s")
    if args.output:
        with open(args.output, "w") as f:
            json.dump({"gpu": report.gpu.decode(), "driver": report.driver.decode(), "commit": args.commit,
                       "torch": torch and torch.__version__,
                       "tuning_s": round(wall, 1), "cases": cases}, f)


if __name__ == "__main__":
    main()
