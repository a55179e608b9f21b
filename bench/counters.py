#!/usr/bin/env python3
"""Hardware counters of winners and of a copy: bench/counters.py [--build DIR] [--db PATH] [--output FILE.json] [CASE ...]

A CASE is ELEM_SIZE:ROWSxCOLS. Cases without a winner are tuned first. Then `ncu` profiles one launch of each winner, by
the library, and one of `copy_linear` with as many bytes (VEC=16 UNROLL=1 KEEP=0). Clocks are left as they are, and caches
are empty. It needs CuPy, ncu, and memory for three arrays of a case. It prints a table, and writes its figures to FILE.json.
"""
import argparse
import csv
import datetime
import importlib.util
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import performance  # noqa: E402

# Where targets are missed, and one case for comparison.
CASES = ["4:32768x32768", "16:8192x8192", "8:16384x16384", "1:10000x12016", "2:10000x12016", "4:4100x8204", "4:10000x12004", "8:5002x6006",
         "1:10001x10001", "4:16384x16384"]
# Column: metric, what it is divided by, how many decimals are printed.
COLUMNS = {
    "us": ("gpu__time_duration.sum", 1e3, 1),
    "DRAM busy, %": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 1, 1),
    "its least busy channel, %": ("dram__throughput.min.pct_of_peak_sustained_elapsed", 1, 2),
    "its busiest, %": ("dram__throughput.max.pct_of_peak_sustained_elapsed", 1, 2),
    "read, GB/s": ("dram__bytes_read.sum.per_second", 1e9, 0),
    "written, GB/s": ("dram__bytes_write.sum.per_second", 1e9, 0),
    "partition link busy, %": ("lts__ltcfabric2ltc_cycles_active.avg.pct_of_peak_sustained_elapsed", 1, 1),
    "sectors read, M": ("lts__t_sectors_op_read.sum", 1e6, 2),
    "written, M": ("lts__t_sectors_op_write.sum", 1e6, 2),
    "sectors a load": ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", 1, 2),
    "a store": ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", 1, 2),
    "bank conflicts, M": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 1e6, 2),
    "warps of the possible, %": ("sm__warps_active.avg.pct_of_peak_sustained_active", 1, 1),
    "cycles a warp waits for loads": ("smsp__average_warp_latency_issue_stalled_long_scoreboard.ratio", 1, 0),
    "at barriers": ("smsp__average_warp_latency_issue_stalled_barrier.ratio", 1, 0),
}
OURS = "regex:^(transpose_|copy_linear)"


def parsed(case):
    return tuple(map(int, re.split("[:x]", case)))


def case(text):
    if not re.fullmatch(r"(1|2|4|8|16):[1-9]\d*x[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no ELEM_SIZE:ROWSxCOLS, as 4:32768x32768 is")
    return text


def check_tools(build, output):
    """Check this before tuning, which takes long."""
    if output and not output.parent.is_dir():
        raise SystemExit(f"bench/counters.py: there is no folder {output.parent} for --output {output}; make it first")
    if not shutil.which("ncu"):
        raise SystemExit("bench/counters.py: there is no ncu in PATH; it comes with the CUDA Toolkit (Nsight Compute)")
    if not importlib.util.find_spec("cupy"):
        raise SystemExit("bench/counters.py: CuPy is not installed here")
    if not (build / "tune").exists():
        raise SystemExit(f"bench/counters.py: there is no {build / 'tune'}; build it, or say where it is: --build DIR")


def copy_macros(size):
    return {"VEC": 16, "UNROLL": 1, "KEEP": 0, "WHOLE": int(size % 131072 == 0 and size < 1 << 34)}


def copy(cupy, numpy, dst, src):
    """copy_linear; the size is a multiple of 4096 bytes."""
    text = (ROOT / "kernel_templates/copy_linear.cu").read_text()
    while "#include \"" in text:
        text = re.sub(r'#include "(\S+)"', lambda found: (ROOT / "kernel_templates" / found[1]).read_text(), text)
    options = ("--std=c++17",) + tuple(f"-D{name}={value}" for name, value in copy_macros(src.size).items())
    cupy.RawKernel(text, "copy_linear", options=options)((src.size // 4096,), (256,), (dst, src, numpy.int64(src.size), numpy.int32(0)))


def launch(options):
    """`ncu` profiles this: the copy and then the winner of each case."""
    sys.path.insert(0, str(ROOT / "examples"))
    import cupy
    import numpy
    import tiletune_torch
    tiletune = tiletune_torch.Tiletune(options.db, library=str(options.build / "libtiletune.so"))
    for elem, rows, cols in map(parsed, options.cases):
        size = elem * rows * cols
        src, dst = (cupy.zeros(-(-size // 4096) * 4096, dtype=cupy.uint8) for _ in range(2))
        words = src.view(cupy.uint32)
        words[:] = cupy.arange(words.size, dtype=cupy.uint32)
        words *= cupy.uint32(2654435761)
        copy(cupy, numpy, dst, src)
        tiletune.launch(dst.data.ptr, src.data.ptr, cupy.cuda.get_current_stream().ptr, rows, cols, elem)
        cupy.cuda.runtime.deviceSynchronize()
        a, b = (x[:size].reshape(*shape, elem) for x, shape in ((src, (rows, cols)), (dst, (cols, rows))))
        if not bool((a.transpose(1, 0, 2) == b).all()):
            raise SystemExit(f"{rows} x {cols}, {elem} bytes: a wrong result")
        del words, src, dst, a, b
        cupy.get_default_memory_pool().free_all_blocks()
    tiletune.close()


def counted(options):
    """A row of metrics, by name, of each launch."""
    command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--kernel-name", OURS, "--metrics",
               ",".join(metric for metric, _, _ in COLUMNS.values()), sys.executable, __file__, "--launch", "--build", str(options.build),
               "--db", options.db, *options.cases]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    at = ran.stdout.find('"ID"')
    if ran.returncode or at < 0:
        raise SystemExit(f"ncu failed:\n{ran.stdout}")
    names, _, *rows = csv.reader(io.StringIO(ran.stdout[at:]))
    return [dict(zip(names, row)) for row in rows]


def tune(options, which, *arguments):
    """Runs `tune` on a case and returns its output."""
    elem, rows, cols = parsed(which)
    arguments = [each.replace("SHAPE", f"{rows}x{cols}") for each in arguments] + ["--elem-size", str(elem), "--db", options.db]
    ran = subprocess.run([options.build / "tune", *arguments], stdout=subprocess.PIPE, text=True)
    if ran.returncode:  # it has said why
        raise SystemExit(f"bench/counters.py: tune {' '.join(arguments)} failed")
    return ran.stdout


def tuned(options, which):
    """What `tune show` knows of the winner."""
    tune(options, which, "--shapes", "SHAPE", "--quiet")
    return json.loads(tune(options, which, "show", "--shape", "SHAPE", "--json"))


def words(best):
    return f"{best['kernel']} {' '.join(f'{key}={value}' for key, value in best['config'].items())}"


def cell(row, metric, unit, digits):
    """A number, or None."""
    try:
        return round(float(row[metric].replace(",", "")) / unit, digits)
    except (KeyError, ValueError):
        print(f"bench/counters.py: ncu says nothing of {metric}", file=sys.stderr)
        return None


def cells(row):
    return {name: cell(row, *column) for name, column in COLUMNS.items()}


def result(options, winners, rows):
    """In the form of bench-peers, as far as it goes."""
    now = datetime.datetime.now(datetime.timezone.utc)
    cases = []
    for which, best, copy, ours in zip(options.cases, winners, rows[::2], rows[1::2]):
        elem, n_rows, n_cols = parsed(which)
        cases.append({"name": f"{elem} B {n_rows} x {n_cols}", "elem_size": elem, "rows": n_rows, "cols": n_cols, "winner": words(best),
                      "copy": cells(copy), "ours": cells(ours)})
    return {"program": "bench-counters", "set": "default" if options.cases == CASES else "some", "commit": options.commit,
            "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "gpu": {"name": winners[0]["gpu"]}, "driver": winners[0]["driver"],
            "digits": {name: digits for name, (_, _, digits) in COLUMNS.items()}, "cases": cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--db", default="counters.db", help="the store of the winners")
    parser.add_argument("--output", type=pathlib.Path, help="a file for scripts/performance.py, in bench/results/")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", type=case, default=CASES, metavar="CASE", help=f"ELEM_SIZE:ROWSxCOLS; default {' '.join(CASES)}")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if options.launch:
        launch(options)
        return
    check_tools(options.build, options.output)
    winners = [tuned(options, each) for each in options.cases]
    rows = counted(options)
    if len(rows) != 2 * len(winners):
        raise SystemExit(f"ncu saw {len(rows)} launches in place of {2 * len(winners)}")
    found = result(options, winners, rows)
    print("\n".join(performance.counters_table(found)))
    if options.output:
        options.output.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
