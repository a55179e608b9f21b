#!/usr/bin/env python3
"""Tunes permutations and prints them as fractions of the tuned copy, cold: bench/permute.py BUILD [--output FILE]

The cases are the 57 of the benchmark of HPTT and TTC (--ttc FILE: rank, permutation, dimensions, the fastest first), attention
heads, images, 4 x 4 x ... x 4, and random ones. One call of tt_tune does them all. If PyTorch is here, eager and torch.compile
run the same (--torch); cuTENSOR is not called.
"""
import argparse, ctypes, json, math, os, random, sys, time

C = ctypes


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
        ("problem", C.c_char * 384), ("metrics", C.c_char * 192), ("unverified", C.c_int)]


class Report(C.Structure):
    _fields_ = [("gpu", C.c_char * 96), ("driver", C.c_char * 32), ("nvrtc", C.c_char * 16), ("wall_s", C.c_double),
                ("n_results", C.c_size_t), ("results", C.POINTER(Result))]


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


def tune_problems(build, problems, db):
    """Tunes an array of Problem. Returns the library, its context, which stays open, and the report."""
    lib = C.CDLL(os.path.join(build, "libtiletune.so"))
    lib.tt_last_error.restype = C.c_char_p

    class Open(C.Structure):
        _fields_ = [("size", C.c_size_t), ("db_path", C.c_char_p), ("rest", C.c_char * 120)]

    opened, ctx, report = Open(size=16, db_path=db.encode()), C.c_void_p(), C.POINTER(Report)()
    if lib.tt_open(C.byref(ctx), C.byref(opened)):
        sys.exit(lib.tt_last_error().decode())
    status = lib.tt_tune(C.byref(report), ctx, problems, C.c_size_t(len(problems)), None)
    if not report:
        sys.exit(lib.tt_last_error().decode())
    if status:
        print(lib.tt_last_error().decode(), file=sys.stderr)
    return lib, ctx, report.contents


def tune(build, cases, db):
    problems = (Problem * len(cases))()
    for p, (_, perm, dims, elem_size) in zip(problems, cases):
        one = Permutation(C.sizeof(Permutation), len(dims), elem_size, (C.c_int64 * len(dims))(*dims),
                          (C.c_int * len(perm))(*perm), None, 0, 0)
        p.size, p.permutation = C.sizeof(Problem), C.pointer(one)
    return tune_problems(build, problems, db)[2]


def torch_fractions(cases):
    import torch
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    types = {1: torch.uint8, 2: torch.float16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}

    def cold_us(call):
        times = []
        for _ in range(12):
            flush.zero_()
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record()
            call()
            b.record()
            torch.cuda.synchronize()
            times.append(a.elapsed_time(b) * 1e3)
        return sorted(times)[len(times) // 2]

    for name, perm, dims, elem_size in cases:
        x = torch.zeros(dims, dtype=types[elem_size], device="cuda")
        eager = lambda: x.permute(perm).contiguous()
        row = {"eager_us": cold_us(eager)}
        try:
            torch._dynamo.reset()
            compiled = torch.compile(lambda t: t.permute(perm).contiguous())
            row["inductor_us"] = cold_us(lambda: compiled(x))
        except Exception as e:  # it has no code for some shapes
            row["inductor_error"] = str(e)[:80]
        yield name, row


def summary(name, fractions):
    if fractions:
        mean = math.exp(sum(map(math.log, fractions)) / len(fractions))
        print(f"{name}: {len(fractions)} cases, of the tuned copy: geometric mean {mean:.3f}, worst {min(fractions):.3f}")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build")
    a.add_argument("--ttc", help="file of the 57 cases")
    a.add_argument("--elem-sizes", default="4,8", help="of the 57 cases")
    a.add_argument("--random", type=int, default=20)
    a.add_argument("--only", default="", help="names that begin so, with commas between them")
    a.add_argument("--db", default=":memory:")
    a.add_argument("--torch", action="store_true")
    a.add_argument("--output")
    args = a.parse_args()
    groups = {}
    for size in args.elem_sizes.split(",") if args.ttc else []:
        groups[f"TTC, {size} bytes"] = list(ttc_cases(args.ttc, int(size)))
    groups["attention, images, 4 x 4"] = list(common_cases())
    groups["random"] = list(random_cases(args.random))
    only = tuple(args.only.split(","))
    groups = {k: [c for c in v if c[0].startswith(only)] for k, v in groups.items()}
    cases = [c for g in groups.values() for c in g]
    start = time.time()
    report = tune(args.build, cases, args.db)
    wall, rows = time.time() - start, []
    for i, (name, perm, dims, elem_size) in enumerate(cases[:report.n_results]):
        r = report.results[i]
        rows.append({"name": name, "perm": perm, "dims": dims, "elem_size": elem_size, "kernel": r.kernel.decode(),
                     "config": r.config.decode(), "us": round(r.time_us, 2), "of_copy": round(r.copy_fraction, 4),
                     "gbps": round(r.gbps), "vs_default": round(r.speedup, 3), "space": r.space, "trials": r.trials,
                     "failed": r.failed})
        long = dims if len(dims) < 9 else f"[{len(dims)} of {dims[0]}]"
        print(f"{name:26} {elem_size:2} {long} {r.copy_fraction:.3f} {r.speedup:.2f} {r.kernel.decode()} {r.config.decode()} "
              f"{r.failed}/{r.trials}/{r.space} {r.note.decode()}")
    if args.torch:
        for row, (_, extra) in zip(rows, torch_fractions(cases)):
            row.update(extra)
            print(row["name"], extra)
    print(f"{report.gpu.decode()}, driver {report.driver.decode()}: {len(rows)} cases in {wall:.0f} s, {wall / len(rows):.2f} s each")
    at = 0
    for name, group in groups.items():
        summary(name, [r["of_copy"] for r in rows[at:at + len(group)] if r["of_copy"] > 0])
        at += len(group)
    if args.output:
        with open(args.output, "w") as f:
            json.dump({"gpu": report.gpu.decode(), "driver": report.driver.decode(), "seconds": round(wall, 1), "cases": rows}, f)


if __name__ == "__main__":
    main()
