#!/usr/bin/env python3
"""The Python wheel on a GPU: bench/wheel_gpu.py [--wheels FOLDER] [--output FILE.json] [--rounds N] [--commit TEXT]

Installs the wheel of FOLDER with pip into this Python, if asked. Then it checks what PyTorch, CuPy and JAX do with it. It times
8192 x 8192 beside `x.t().contiguous()`, as bench/pytorch.py does, and what a call costs the host. It prints JSON, and exits with 1
if a check failed.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time
import traceback

SIZE, SMALL = 8192, 64
TYPES = {"float32": 3.0, "float16": 6.0, "uint8": 9.0}  # and how many times as fast as PyTorch it is to be
CALLS, BATCHES, HOST_MAX_US = 400, 21, 5.0
PHASES, PAUSE_S = 16, 1.5  # of the host's measurement


def same(y, wanted):
    import torch
    assert y.shape == wanted.shape and y.is_contiguous() and torch.equal(y, wanted), (y.shape, y.stride(), wanted.shape)


def tensors(torch, *shape, dtype=None):
    """The same numbers in several layouts."""
    x = torch.randint(0, 100, shape, device="cuda").to(dtype or torch.float32)
    yield x
    yield torch.cat([x, x], -1)[..., :shape[-1]]
    if len(shape) == 4:
        yield x.contiguous(memory_format=torch.channels_last)


# ---- Checks: each is a function of torch and tiletune


def check_transpose(torch, tiletune):
    for shape in ((1000, 3000), (33, 65), (8, 100, 300), (4, 3, 64, 80)):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.uint8, torch.float64, torch.complex128, torch.bool):
            for x in tensors(torch, *shape, dtype=dtype):
                for _ in range(2):
                    same(tiletune.transpose(x), x.mT.contiguous())
                same(tiletune.transpose(x, out=torch.empty_like(x.mT, memory_format=torch.contiguous_format)), x.mT.contiguous())


def check_channels_last(torch, tiletune):
    for dtype in (torch.float32, torch.float16):
        x = torch.randn(16, 64, 56, 48, device="cuda").to(dtype).contiguous(memory_format=torch.channels_last)
        same(tiletune.transpose(x), x.mT.contiguous())
        same(tiletune.permute(x, (0, 2, 3, 1)), x.permute(0, 2, 3, 1).contiguous())
        same(tiletune.permute(x.contiguous(), (0, 2, 3, 1)), x.permute(0, 2, 3, 1).contiguous())


def check_compile(torch, tiletune):
    def ours(x):
        return tiletune.transpose(x.sin()).cos() + 1

    def theirs(x):
        return x.sin().mT.contiguous().cos() + 1

    for mode in ("default", "reduce-overhead"):
        compiled = torch.compile(ours, fullgraph=True, mode=mode)
        for _ in range(3):
            x = torch.randn(512, 256, device="cuda", requires_grad=True)
            torch.compiler.cudagraph_mark_step_begin()
            y = compiled(x)
            assert torch.allclose(y, theirs(x), atol=1e-5)
            y.sum().backward()
            twin = x.detach().clone().requires_grad_()
            theirs(twin).sum().backward()
            assert torch.allclose(x.grad, twin.grad, atol=1e-5)


def check_gradients(torch, tiletune):
    x = torch.randn(2, 3, 5, device="cuda", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(tiletune.transpose, (x,)) and torch.autograd.gradgradcheck(tiletune.transpose, (x,))
    assert torch.autograd.gradcheck(lambda x: tiletune.permute(x, (2, 0, 1)), (x,))
    same(torch.func.grad(lambda x: (tiletune.transpose(x) ** 2).sum())(x.detach()), 2 * x.detach())
    same(torch.func.vmap(tiletune.transpose)(x.detach()), x.detach().mT.contiguous())


def check_opcheck(torch, tiletune):
    for x in tensors(torch, 2, 3, 4, 5):
        for grad in (False, True):
            x = x.detach().requires_grad_(grad)
            torch.library.opcheck(torch.ops.tiletune.transpose.default, (x,))
            torch.library.opcheck(torch.ops.tiletune.permute.default, (x, [3, 1, 0, 2]))


def check_graph(torch, tiletune):
    """A known problem is captured, and a new one is left to PyTorch."""
    for known in (True, False):
        x = torch.randn(700 + known, 300, device="cuda")
        if known:
            tiletune.transpose(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = tiletune.transpose(x)
        x.copy_(torch.randn_like(x))
        graph.replay()
        same(y, x.mT.contiguous())


def check_amp(torch, tiletune):
    layer, x = torch.nn.Linear(64, 64, device="cuda"), torch.randn(128, 64, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        y = tiletune.transpose(layer(x))
        assert y.dtype == torch.bfloat16
        same(y.detach(), layer(x).mT.contiguous().detach())
        same(tiletune.transpose(x), x.mT.contiguous())
    y.float().sum().backward()
    assert layer.weight.grad is not None


def check_streams_and_threads(torch, tiletune):
    stream, failed = torch.cuda.Stream(), []
    with torch.cuda.stream(stream):
        x = torch.randn(4096, 4096, device="cuda")
        torch.cuda._sleep(20_000_000)
        x.add_(1)
        y = tiletune.transpose(x)
    stream.synchronize()
    same(y, x.mT.contiguous())

    def run():  # no CUDA context is current in a new thread
        try:
            for _ in range(50):
                same(tiletune.transpose(x), x.mT.contiguous())
        except BaseException as e:
            failed.append(e)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def check_cupy(torch, tiletune):
    import cupy
    for x in (cupy.random.rand(300, 500), cupy.random.rand(4, 30, 50)[:, 3:, :-1], cupy.random.rand(30, 5).T, cupy.ones((3, 0))):
        y = tiletune.transpose(x)
        assert isinstance(y, cupy.ndarray) and y.flags.c_contiguous and cupy.array_equal(y, x.swapaxes(-1, -2))
    with cupy.cuda.Stream(non_blocking=True):
        assert cupy.array_equal(tiletune.permute(x := cupy.random.rand(5, 6, 7), (2, 0, 1)), x.transpose(2, 0, 1))


def check_jax(torch, tiletune):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    for shape in ((300, 500), (4, 30, 50)):
        x = jax.numpy.arange(float(jax.numpy.prod(jax.numpy.array(shape)))).reshape(shape) * 2
        y = tiletune.transpose(x)
        assert isinstance(y, jax.Array) and (y == x.swapaxes(-1, -2)).all()
        assert (jax.jit(tiletune.transpose)(x) == y).all()  # traced: JAX's own


KERNEL = pathlib.Path(__file__).parent.parent / "examples/kernels/saxpy.cu"


def check_kernel(torch, tiletune):
    saxpy = tiletune.Kernel(KERNEL, n=1 << 20)
    report = saxpy.tune(options={"effort": "quick", "max_trials": 12, "progress": False})
    x, y = torch.randn(2, 1 << 20, device="cuda")
    wanted = 2 * x + y
    named = {"x": x, "y": y}
    saxpy(*(named.get(a.name, 2.0) for a in saxpy.plan().arguments))
    assert torch.allclose(y, wanted) and report[0].kernel == saxpy.name


def check_tune(torch, tiletune):
    report = tiletune.tune([(1000, 500)], effort="quick", max_trials=20, progress=False)
    print(report, file=sys.stderr)
    assert tiletune.best((1000, 500)).match == "exact"


# ---- Figures


def times(torch, tiletune, rounds):
    """8192 x 8192, cold, both in each round."""
    import pytorch  # of this folder
    flush = torch.empty(2 * (getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0) or 64 << 20), device="cuda",
                        dtype=torch.uint8)
    found = {}
    for dtype, wanted in TYPES.items():
        slots = [(x, None) for x in (torch.randint(0, 100, (SIZE, SIZE), device="cuda", dtype=torch.uint8).to(getattr(torch, dtype))
                                     for _ in range(8))]
        movers = {"tiletune": lambda x, y: tiletune.transpose(x), "contiguous": lambda x, y: x.t().contiguous()}
        same(movers["tiletune"](*slots[0]), movers["contiguous"](*slots[0]))
        samples = pytorch.measure(torch, movers, slots, flush, rounds)
        ratios = [theirs / ours for ours, theirs in zip(samples["tiletune"], samples["contiguous"])]
        found[dtype] = {"us": round(statistics.median(samples["tiletune"]), 2),
                        "contiguous_us": round(statistics.median(samples["contiguous"]), 2),
                        "speedup": round(statistics.median(ratios), 2), "interval": [round(r, 2) for r in pytorch.interval(ratios)],
                        "wanted": wanted, "match": tiletune.best(slots[0][0]).match}
    return found


def per_call(torch, calls):
    """What each call costs the host, in us. They take turns in batches, which do not fill the device's queue. Other work of the
    host only adds, so the lower quartile of the batches counts."""
    batches = {name: [] for name in calls}
    for _ in range(BATCHES):
        for name, call in calls.items():
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(CALLS):
                call()
            batches[name].append((time.perf_counter() - began) / CALLS * 1e6)
    return {name: statistics.quantiles(us)[0] for name, us in batches.items()}


def host_time(torch, tiletune):
    """Of a call, of the same in C, and the difference. A loop in Python around a C function costs what that of
    tt_version_number does. A shared host is up to 1.6 times slower for seconds, also in that loop. The phase with the fastest
    loop counts, and the one with the slowest is named too."""
    from tiletune import _context, _native, _torch
    x = torch.randn(SMALL, SMALL, device="cuda")
    y, leaf = tiletune.transpose(x), x.clone().requires_grad_()
    c, problem = _context.handle, _torch.problem_of((SMALL, SMALL), (SMALL, 1), (1, 0), 4)[0]
    dst, src = y.data_ptr(), x.data_ptr()
    dims = (4, SMALL, 4, SMALL)
    heads = torch.randn(dims, device="cuda")
    turned = tiletune.permute(heads, (0, 2, 1, 3))
    permutation, to, of = _torch.problem_of(dims, heads.stride(), (0, 2, 1, 3), 4)[0], turned.data_ptr(), heads.data_ptr()
    stream = torch.cuda.current_stream().cuda_stream
    permute, version = _native.lib.tt_py_permute, _native.lib.tt_version_number
    calls = {"transpose_us": lambda: tiletune.transpose(x),
             "c_call_us": lambda: permute(c, problem, dst, src, stream, 0),
             "permute_us": lambda: tiletune.permute(heads, (0, 2, 1, 3)),
             "c_permute_us": lambda: permute(c, permutation, to, of, stream, 0),
             "loop_us": lambda: version(),
             "contiguous_us": lambda: x.t().contiguous(),
             "with_gradient_us": lambda: tiletune.transpose(leaf),
             "contiguous_with_gradient_us": lambda: leaf.t().contiguous(),
             "empty_us": lambda: torch.empty(SMALL, SMALL, device="cuda")}
    phases = []
    for _ in range(PHASES):
        time.sleep(PAUSE_S)
        figures = per_call(torch, calls)
        figures["c_call_us"] -= figures["loop_us"]
        figures["c_permute_us"] -= figures["loop_us"]
        figures["permute_over_c_call_us"] = figures["permute_us"] - figures["c_permute_us"]
        figures["over_c_call_us"] = figures["transpose_us"] - figures["c_call_us"]
        phases.append({name: round(us, 2) for name, us in figures.items()})
    phases.sort(key=lambda figures: figures["loop_us"])
    return phases[0] | {"slowest": phases[-1], "wanted": HOST_MAX_US}


def main():
    parser = argparse.ArgumentParser(description="The Python wheel on a GPU.")
    parser.add_argument("--wheels", help="folder of the wheel, and of cffi if this Python lacks it")
    parser.add_argument("--output")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--commit", default="unknown")
    args = parser.parse_args()
    result, began = {"program": "wheel-gpu", "commit": args.commit, "checks": {}}, time.monotonic()
    if args.wheels:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--find-links", args.wheels, "--upgrade",
                        "tiletune"], check=True, stdout=sys.stderr)
        importlib.invalidate_caches()
        result["install_s"] = round(time.monotonic() - began, 2)
    sys.path.append(str(pathlib.Path(__file__).parent))
    import tiletune  # before torch, on purpose
    import torch
    tiletune.configure(db=os.environ.get("TILETUNE_DB", ":memory:"))
    same(tiletune.transpose(x := torch.randn(500, 300, device="cuda")), x.mT.contiguous())
    result |= {"first_tensor_s": round(time.monotonic() - began, 2), "gpu": torch.cuda.get_device_name(),
               "torch": torch.__version__, "tiletune": tiletune.__version__, "python": sys.version.split()[0]}
    result["host"] = host_time(torch, tiletune)  # before the checks, which load much
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            at = time.monotonic()
            try:
                check(torch, tiletune)
                said = "pass"
            except ModuleNotFoundError as e:
                said = f"skipped: {e}"
            except Exception as e:
                traceback.print_exc()
                said = f"{type(e).__name__}: {str(e)[:300]}"
            result["checks"][name[6:]] = said
            print(f"{name}: {said} ({time.monotonic() - at:.1f} s)", file=sys.stderr, flush=True)
    result["times"] = times(torch, tiletune, args.rounds)
    text = json.dumps(result, indent=1)
    print(text)
    if args.output:
        pathlib.Path(args.output).write_text(text + "\n", encoding="utf-8")
    sys.exit(any(not said.startswith(("pass", "skipped")) for said in result["checks"].values()))


if __name__ == "__main__":
    main()
