#!/usr/bin/env python3
"""Tunes cast_transpose from bf16 to e4m3 with both outputs and amax, beside PyTorch: bench/cast.py BUILD [--output FILE]

`of_copy` is the time of a tuned copy of as many bytes over ours, in the tuner's paired rounds. If PyTorch is installed, eager,
torch.compile (Inductor), a copy of as many bytes and the winner run in paired rounds, cold as in bench/pytorch.py. Their results
are compared with ours, bit for bit. Ours adds to an amax that was set before; theirs compute it.

--transformer-engine FOLDER adds the kernel of NVIDIA's Transformer Engine, compiled from a checkout of its source: with the sizes
that it chooses, and with the fastest of all its legal sizes. It adds to an amax, as ours does.
"""
import argparse, ctypes as C, importlib.util, json, pathlib, statistics, sys, time

import permute, pytorch, transformer_engine as te

pytorch.SLEEP_CYCLES = 3_000_000  # eager queues more kernels
SHAPES = ((4096, 4096), (8192, 28672), (8191, 4097))
BYTES = 4  # of an element: two are read, and one is written twice
SCALE = 0.5
ENGINE_ROUNDS = 7  # in which the fastest sizes are found


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


def engines(torch, built, rows, cols, scale):
    """{sizes: mover} of Transformer Engine's kernel."""
    driver = C.CDLL("libcuda.so.1")

    def mover(sizes):
        launch = te.launcher(driver, built, rows, cols, sizes)

        def call(x, out):
            launch(torch.cuda.current_stream().cuda_stream, *(t.data_ptr() for t in (*out[:3], x, scale)))
            return out[:3]
        return call
    return {sizes: mover(sizes) for sizes in te.legal(rows, cols)}


def ratio(name, above, below):
    """The median of a ratio over the rounds, and its interval."""
    ratios = [a / b for a, b in zip(above, below)]
    return {name: round(statistics.median(ratios), 4), f"{name}_interval": [round(r, 4) for r in pytorch.interval(ratios)]}


def peers(torch, lib, ctx, problem, rows, cols, rounds, built):
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
    engine = engines(torch, built, rows, cols, scale) if built else {}
    x, out = slots[0]
    ours(x, out)
    right = [t.clone() for t in out[:3]]
    for name, call in {"eager": eager, "compiled": compiled, **engine}.items():
        for t in out[:3]:
            t.zero_()
        if not all(torch.equal(a.view(b.dtype), b) for a, b in zip(call(x, out), right)):
            sys.exit(f"bench/cast.py: {name} and tiletune differ at {rows} x {cols}")
    movers = {"copy": lambda x, out: out[3].view(-1).copy_(x.view(torch.uint8).view(-1)), "eager": eager, "compiled": compiled,
              "ours": ours}
    flush = torch.empty(pytorch.FLUSH_TIMES * l2_bytes, device="cuda", dtype=torch.uint8)
    row = {"rounds": rounds}
    if engine:
        first = pytorch.measure(torch, engine, slots, flush, ENGINE_ROUNDS)
        sizes = {"engine": te.chosen(rows, cols, torch.cuda.get_device_properties(0).multi_processor_count),
                 "engine_best": min(first, key=lambda s: statistics.median(first[s]))}
        movers.update({name: engine[s] for name, s in sizes.items()})
        row["engine_sizes"] = sizes
    samples = pytorch.measure(torch, movers, slots, flush, rounds)
    for name, us in samples.items():
        row[name] = {"us": round(statistics.median(us), 2), **ratio("of_copy", samples["copy"], us),
                     **ratio("over_ours", us, samples["ours"])}
    return row


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build")
    a.add_argument("--shapes", default=",".join(f"{r}x{c}" for r, c in SHAPES))
    a.add_argument("--rounds", type=int, default=31)
    a.add_argument("--db", default=":memory:")
    a.add_argument("--commit", default="unknown")
    a.add_argument("--transformer-engine", metavar="FOLDER", help="checkout of Transformer Engine's source")
    a.add_argument("--output")
    args = a.parse_args()
    shapes = [tuple(int(n) for n in s.split("x")) for s in args.shapes.split(",")]
    problems = (permute.Problem * len(shapes))()
    for p, (rows, cols) in zip(problems, shapes):
        p.size, p.op, p.values = C.sizeof(p), b"cast_transpose", f"rows={rows},cols={cols},outputs=7".encode()
    if args.transformer_engine and not importlib.util.find_spec("torch"):
        sys.exit("--transformer-engine: it is measured beside PyTorch, which is not installed")
    built = te.build_all(args.transformer_engine, shapes) if args.transformer_engine else {}
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
            row["torch"] = peers(torch, lib, ctx, problems[i], rows, cols, args.rounds, built)
            print("  PyTorch's rounds:", json.dumps(row["torch"]), flush=True)
        cases.append(row)
        if args.output:  # also if the next one fails
            result = {"program": "bench/cast.py", "gpu": report.gpu.decode(), "driver": report.driver.decode(),
                      "commit": args.commit, "torch": torch and torch.__version__, "tuning_s": round(wall, 1), "cases": cases}
            if built:
                result["transformer_engine"] = te.version(args.transformer_engine)
            pathlib.Path(args.output).write_text(json.dumps(result) + "\n")
    print(f"{report.gpu.decode()}, driver {report.driver.decode()}: tuned {len(cases)} problems in {wall:.0f} s")


if __name__ == "__main__":
    main()
