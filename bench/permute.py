#!/usr/bin/env python3
"""Tunes permutations and prints them as fractions of the tuned copy, cold: bench/permute.py BUILD [--output FILE]

The cases are the 57 of the benchmark of HPTT and TTC (--ttc FILE: rank, permutation, dimensions, the fastest first), attention
heads, images, 4 x 4 x ... x 4, and random ones. One call of tt_tune does them all. cuTENSOR (--cutensor libcutensor.so.2) and
PyTorch (--torch: eager and torch.compile) do the same in rounds with the winners, and so does what the library launches for a shape
that nobody tuned (`untuned_speed`, of the winner's speed). That needs PyTorch, and their results must equal ours. `x_cutensor` is cuTENSOR's time over ours, with the plan that it chooses without measuring.
"""
import argparse, ctypes as C, json, math, os, random, statistics, sys, time

import pytorch


class Permutation(C.Structure):
    _fields_ = [("size", C.c_size_t), ("rank", C.c_int), ("elem_size", C.c_int), ("dims", C.POINTER(C.c_int64)),
                ("perm", C.POINTER(C.c_int)), ("strides", C.POINTER(C.c_int64)), ("align", C.c_int), ("warm", C.c_int)]


class Problem(C.Structure):
    _fields_ = [("size", C.c_size_t), ("matrix", C.c_int64 * 4), ("elem_size", C.c_int), ("align", C.c_int),
                ("batch", C.c_int64 * 3), ("in_place", C.c_int), ("warm", C.c_int), ("op", C.c_char_p),
                ("kernel", C.c_void_p), ("values", C.c_char_p), ("permutation", C.POINTER(Permutation))]


class Result(C.Structure):
    _fields_ = [("sizes", C.c_int64 * 3), ("flags", C.c_int * 3), ("kernel", C.c_char * 64), ("config", C.c_char * 256)] + [
        (name, C.c_double) for name in ("time_us", "gbps", "copy_us", "copy_fraction", "peak_fraction", "speedup")] + [
        ("trials", C.c_size_t), ("failed", C.c_size_t), ("source", C.c_int), ("note", C.c_char * 256), ("space", C.c_size_t),
        ("problem", C.c_char * 384), ("metrics", C.c_char * 192), ("unverified", C.c_int), ("bits", C.c_char * 24),
        ("same_bits", C.c_double * 3), ("batch_invariant", C.c_int)]


class Report(C.Structure):
    _fields_ = [("gpu", C.c_char * 96), ("driver", C.c_char * 32), ("nvrtc", C.c_char * 16), ("wall_s", C.c_double),
                ("n_results", C.c_size_t), ("results", C.POINTER(Result))]


STOP = C.CFUNCTYPE(C.c_int, C.c_void_p)


class Options(C.Structure):
    """tt_tune_opts up to max_trials."""
    _fields_ = [("size", C.c_size_t), ("first", C.c_char * 96), ("should_stop", STOP), ("user", C.c_void_p), ("effort", C.c_int),
                ("max_trials", C.c_size_t)]


def ttc_cases(path, elem_size):
    for i, line in enumerate(open(path)):
        n, *numbers = [int(w) for w in line.split()]
        perm, dims = numbers[:n], numbers[n:]
        yield f"ttc {i}", [n - 1 - p for p in reversed(perm)], dims[::-1], elem_size


def common_cases():
    for d, h in ((64, 16), (128, 16)):
        yield f"attention BSHD to BHSD {d}", [0, 2, 1, 3], [32, 2048, h, d], 2
        yield f"attention BHSD to BHDS {d}", [0, 1, 3, 2], [32, h, 2048, d], 2
    for c in (3, 16, 64, 256):
        n, side = 64, {3: 512, 16: 256, 64: 112, 256: 56}[c]
        yield f"NCHW to NHWC {c}", [0, 2, 3, 1], [n, c, side, side], 2
        yield f"NHWC to NCHW {c}", [0, 3, 1, 2], [n, side, side, c], 2
    r = random.Random(1)
    for n in (24, 26): # at most 16 dimensions may remain
        yield f"2^{n} as 4 x ... x 4", r.sample(range(n // 2), n // 2), [4] * (n // 2), 4


def random_cases(count):
    r = random.Random(2)
    for i in range(count):
        rank, elem_size = r.randint(3, 8), r.choice([1, 2, 4, 8, 16])
        elements = 2 ** r.uniform(20, 28) / elem_size
        shares = [r.random() + 0.1 for _ in range(rank)]
        dims = [max(2, round(elements ** (s / sum(shares)))) for s in shares]
        yield f"random {i}", r.sample(range(rank), rank), dims, elem_size


def library(build):
    lib = C.CDLL(os.path.join(build, "libtiletune.so"))
    lib.tt_last_error.restype = C.c_char_p
    return lib


def opened(lib, db):
    """A context of the library."""
    class Open(C.Structure):
        _fields_ = [("size", C.c_size_t), ("db_path", C.c_char_p)]

    options, ctx = Open(C.sizeof(Open), db.encode()), C.c_void_p()
    if lib.tt_open(C.byref(ctx), C.byref(options)):
        sys.exit(lib.tt_last_error().decode())
    return ctx


def tune_problems(build, problems, db, trials=0, until=math.inf):
    """Tunes an array of Problem. Returns the library, its context, which stays open, and the report."""
    lib = library(build)
    ctx, report = opened(lib, db), C.POINTER(Report)()
    options = Options(size=C.sizeof(Options), should_stop=STOP(lambda _: time.time() > until), max_trials=trials)
    status = lib.tt_tune(C.byref(report), ctx, problems, C.c_size_t(len(problems)), C.byref(options))
    if not report:
        sys.exit(lib.tt_last_error().decode())
    if status:
        print(lib.tt_last_error().decode(), file=sys.stderr)
    return lib, ctx, report.contents


def tune(build, cases, *args):
    problems = (Problem * len(cases))()
    for p, (_, perm, dims, elem_size) in zip(problems, cases):
        one = Permutation(C.sizeof(Permutation), len(dims), elem_size, (C.c_int64 * len(dims))(*dims),
                          (C.c_int * len(perm))(*perm), None, 0, 0)
        p.size, p.permutation = C.sizeof(Problem), C.pointer(one)
    return problems, *tune_problems(build, problems, *args)


class CuTensor:
    """cutensorPermute of cuTENSOR 2. Values are those of cutensor.h."""
    TYPES = {2: (2, "32F"), 4: (0, "32F"), 8: (1, "64F"), 16: (5, "64F")}  # R_16F, R_32F, R_64F, C_64F; what it computes in

    def __init__(self, path):
        self.lib, self.handle = C.CDLL(path), C.c_void_p()
        self.lib.cutensorGetErrorString.restype = C.c_char_p
        self.lib.cutensorGetVersion.restype = C.c_size_t
        self.call("cutensorCreate", C.byref(self.handle))
        self.version = self.lib.cutensorGetVersion()

    def call(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status:
            raise RuntimeError(f"{name}: {self.lib.cutensorGetErrorString(status).decode()}")

    def make(self, name, *args):
        made = C.c_void_p()
        self.call(name, self.handle, C.byref(made), *args)
        return made

    def planned(self, dims, perm, elem_size):
        """A function that permutes, from and to addresses."""
        kind, computed = self.TYPES[elem_size]
        compute = C.c_void_p.in_dll(self.lib, "CUTENSOR_COMPUTE_DESC_" + computed)

        def tensor(axes):  # the innermost first
            extents, strides = [dims[a] for a in axes], [1]
            for e in extents[:-1]:
                strides.append(strides[-1] * e)
            array = C.c_int64 * len(axes)
            described = self.make("cutensorCreateTensorDescriptor", C.c_uint32(len(axes)), array(*extents), array(*strides),
                                  C.c_int(kind), C.c_uint32(128))
            return described, (C.c_int32 * len(axes))(*axes)

        src, dst = tensor(range(len(dims))[::-1]), tensor(perm[::-1])
        operation = self.make("cutensorCreatePermutation", src[0], src[1], C.c_int(1), dst[0], dst[1], compute)
        preference = self.make("cutensorCreatePlanPreference", C.c_int(-1), C.c_int(0))  # the default, without JIT
        plan = self.make("cutensorCreatePlan", operation, preference, C.c_uint64(0))
        one = ((C.c_double if computed == "64F" else C.c_float) * 2)(1, 0)
        return lambda to, of, stream: self.call("cutensorPermute", self.handle, plan, C.byref(one), C.c_void_p(of), C.c_void_p(to),
                                                C.c_void_p(stream))


def planned(lib, ctx, problem):
    """A function that launches the winner, from and to addresses."""
    plan = C.c_void_p()

    def check(status):
        if status:
            raise RuntimeError(lib.tt_last_error().decode())
    check(lib.tt_plan_create(C.byref(plan), ctx, C.byref(problem)))
    return lambda to, of, stream: check(lib.tt_plan_launch(plan, C.c_uint64(to), C.c_uint64(of), C.c_void_p(stream)))


def compare(torch, cutensor, ours, untuned, case, args):
    """Times of ours and of others, cold, in the same rounds. All results must be the same. `untuned` is what the library
    launches for a shape that nobody tuned."""
    _, perm, dims, elem_size = case
    types = {1: torch.uint8, 2: torch.float16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    launched = lambda launch: lambda x, y: launch(y.data_ptr(), x.data_ptr(), torch.cuda.current_stream().cuda_stream)
    movers, row = {"ours": launched(ours), "untuned": launched(untuned)}, {}
    if cutensor and elem_size in cutensor.TYPES:
        try:
            movers["cutensor"] = launched(cutensor.planned(dims, perm, elem_size))
        except RuntimeError as e:  # it refuses this tensor
            row["cutensor_error"] = str(e)[:80]
    if args.torch:
        torch.compiler.reset()
        compiled = torch.compile(lambda x: x.permute(perm).contiguous(), fullgraph=True, dynamic=False)
        movers.update(eager=lambda x, y: x.permute(perm).contiguous(), inductor=lambda x, y: compiled(x))
    slots = []
    for _ in range(1 + 5 * l2_bytes // (2 * elem_size * math.prod(dims))):
        x = torch.randint(0, 255, dims, device="cuda", dtype=torch.uint8).to(types[elem_size])
        slots.append((x, torch.empty([dims[p] for p in perm], device="cuda", dtype=x.dtype)))
    x, y = slots[0]
    right = x.permute(perm).contiguous()
    for name, move in list(movers.items()):
        y.zero_()
        try:
            moved = move(x, y)
        except Exception as e:  # Inductor has no code for some shapes
            row[name + "_error"] = str(e)[:80]
            del movers[name]
            continue
        if not torch.equal(y if moved is None else moved, right):
            sys.exit(f"bench/permute.py: {case[0]}: {name} is wrong")
        if moved is not None and moved.data_ptr() == x.data_ptr():  # nothing to do but a view
            del movers[name]
    flush = torch.empty(pytorch.FLUSH_TIMES * l2_bytes, device="cuda", dtype=torch.uint8)
    samples = pytorch.measure(torch, movers, slots, flush, args.rounds)
    for name, us in samples.items():
        row[name + "_us"] = round(statistics.median(us), 2)
        if name != "ours":
            row["x_" + name] = round(statistics.median(theirs / own for theirs, own in zip(us, samples["ours"])), 4)
    row["untuned_speed"] = round(1 / row["x_untuned"], 4)
    return row


def summary(name, rows):
    for key, what in (("of_copy", "of the tuned copy"), ("x_cutensor", "x cuTENSOR"), ("x_inductor", "x Inductor"), ("x_eager", "x eager"),
                      ("untuned_speed", "speed of the kernel for shapes that nobody tuned, of the winner's")):
        ratios = [r[key] for r in rows if r.get(key, 0) > 0]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{name}: {len(ratios)} cases, {what}: geometric mean {mean:.3f}, worst {min(ratios):.3f}")


def run_group(name, cases, peers, args):
    """Tunes the cases, compares the winners with peers, and prints what came out."""
    start = time.time()
    problems, lib, ctx, report = tune(args.build, cases, args.db, args.trials, args.until)
    wall, rows = time.time() - start, []
    for i, (case, perm, dims, elem_size) in enumerate(cases[:report.n_results]):
        r = report.results[i]
        rows.append({"name": case, "perm": perm, "dims": dims, "elem_size": elem_size, "kernel": r.kernel.decode(),
                     "config": r.config.decode(), "us": round(r.time_us, 2), "of_copy": round(r.copy_fraction, 4),
                     "gbps": round(r.gbps), "vs_default": round(r.speedup, 3), "space": r.space, "trials": r.trials,
                     "failed": r.failed})
        long = dims if len(dims) < 9 else f"[{len(dims)} of {dims[0]}]"
        print(f"{case:26} {elem_size:2} {long} {r.copy_fraction:.3f} {r.speedup:.2f} {r.kernel.decode()} {r.config.decode()} "
              f"{r.failed}/{r.trials}/{r.space} {r.note.decode()}", flush=True)
    empty = opened(lib, ":memory:") if peers else None
    for problem, case, row in zip(problems, cases, rows):
        if peers and row["kernel"] and time.time() < args.until:
            row.update(compare(*peers, planned(lib, ctx, problem), planned(lib, empty, problem), case, args))
            print(case[0], {k: v for k, v in row.items() if k.startswith("x_") or "error" in k}, flush=True)
    if peers:
        lib.tt_close(C.byref(empty))
    print(f"{report.gpu.decode()}, driver {report.driver.decode()}: {len(rows)} cases in {wall:.0f} s, {wall / max(1, len(rows)):.2f} s each")
    summary(name, rows)
    return {"gpu": report.gpu.decode(), "driver": report.driver.decode()}, wall, rows


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build")
    a.add_argument("--ttc", help="file of the 57 cases")
    a.add_argument("--elem-sizes", default="4,8", help="of the 57 cases")
    a.add_argument("--random", type=int, default=20)
    a.add_argument("--only", default="", help="names that begin so, with commas between them")
    a.add_argument("--db", default=":memory:")
    a.add_argument("--cutensor", metavar="FILE")
    a.add_argument("--torch", action="store_true")
    a.add_argument("--rounds", type=int, default=21, help="with others")
    a.add_argument("--trials", type=int, default=0, help="of a case, instead of the default effort")
    a.add_argument("--seconds", type=float, default=math.inf, help="after which nothing begins")
    a.add_argument("--commit", default="unknown")
    a.add_argument("--output")
    args = a.parse_args()
    args.until = time.time() + args.seconds
    groups = {"random": list(random_cases(args.random)), "attention, images, 4 x 4": list(common_cases())}
    for size in args.elem_sizes.split(",") if args.ttc else []:
        groups[f"TTC, {size} bytes"] = list(ttc_cases(args.ttc, int(size)))
    only = tuple(args.only.split(","))
    peers = None
    if args.cutensor or args.torch:
        import torch
        torch.zeros(1, device="cuda")  # makes a context, which plans need
        peers = torch, CuTensor(args.cutensor) if args.cutensor else None
        print(f"PyTorch {torch.__version__}, cuTENSOR {peers[1].version if peers[1] else '-'}", flush=True)
    all_rows, seconds = [], 0
    for name, cases in groups.items():
        cases = [c for c in cases if c[0].startswith(only)]
        if not cases or time.time() > args.until:
            continue
        where, wall, rows = run_group(name, cases, peers, args)
        all_rows, seconds = all_rows + rows, seconds + wall
        if args.output:
            with open(args.output, "w") as f:
                json.dump({**where, "commit": args.commit, "seconds": round(seconds, 1), "cases": all_rows}, f)


if __name__ == "__main__":
    main()
