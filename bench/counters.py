#!/usr/bin/env python3
"""What hardware counters say of winners and of a copy: bench/counters.py [--build DIR] [--db PATH] [CASE ...]

A CASE is ELEM_SIZE:ROWSxCOLS. Tunes what the store does not know, then has `ncu` look at one launch of each winner, by
the library, and of one `copy_linear` of as many bytes (VEC=16 UNROLL=1 KEEP=0), at the clocks there are and with empty
caches. Needs CuPy and ncu, and memory for three arrays of a case. Prints the table of docs/limits.md ("Where
targets are missed").
"""
import argparse
import csv
import importlib.util
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys

import cupy_kernels as kernels

# The worst case of each target that is missed, and one for comparison.
CASES = ["4:32768x32768", "16:8192x8192", "1:10000x12016", "4:16384x16384"]
# Column: metric, what it is divided by, how it is printed.
COLUMNS = {
    "us": ("gpu__time_duration.sum", 1e3, ".1f"),
    "DRAM busy, %": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 1, ".1f"),
    "read, GB/s": ("dram__bytes_read.sum.per_second", 1e9, ".0f"),
    "written, GB/s": ("dram__bytes_write.sum.per_second", 1e9, ".0f"),
    "partition link busy, %": ("lts__ltcfabric2ltc_cycles_active.avg.pct_of_peak_sustained_elapsed", 1, ".1f"),
    "sectors read, M": ("lts__t_sectors_op_read.sum", 1e6, ".2f"),
    "written, M": ("lts__t_sectors_op_write.sum", 1e6, ".2f"),
    "sectors a load": ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", 1, ".2f"),
    "a store": ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", 1, ".2f"),
    "bank conflicts, M": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 1e6, ".2f"),
    "warps of the possible, %": ("sm__warps_active.avg.pct_of_peak_sustained_active", 1, ".1f"),
}
OURS = "regex:^(transpose_|copy_linear)"


def parsed(case):
    return tuple(map(int, re.split("[:x]", case)))


def case(text):
    if not re.fullmatch(r"(1|2|4|8|16):[1-9]\d*x[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no ELEM_SIZE:ROWSxCOLS, as 4:32768x32768 is")
    return text


def check_tools(build):
    """What is missing is better known before anything is tuned."""
    if not shutil.which("ncu"):
        raise SystemExit("bench/counters.py: there is no ncu in PATH; it comes with the CUDA Toolkit (Nsight Compute)")
    if not importlib.util.find_spec("cupy"):
        raise SystemExit("bench/counters.py: CuPy is not installed here")
    if not (build / "tune").exists():
        raise SystemExit(f"bench/counters.py: there is no {build / 'tune'}; build it, or say where it is: --build DIR")


def launch(options):
    """What `ncu` watches: of each case the copy, then the winner."""
    sys.path.insert(0, str(kernels.ROOT / "examples"))
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
        kernels.copy(cupy, numpy, src.size)(dst, src)
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
    """What `tune` prints of a case."""
    elem, rows, cols = parsed(which)
    arguments = [each.replace("SHAPE", f"{rows}x{cols}") for each in arguments] + ["--elem-size", str(elem), "--db", options.db]
    ran = subprocess.run([options.build / "tune", *arguments], stdout=subprocess.PIPE, text=True)
    if ran.returncode:  # it has said why
        raise SystemExit(f"bench/counters.py: tune {' '.join(arguments)} failed")
    return ran.stdout


def tuned(options, which):
    """The winner, in words."""
    tune(options, which, "--shapes", "SHAPE", "--quiet")
    best = json.loads(tune(options, which, "best", "--shape", "SHAPE", "--json"))
    return f"`{best['kernel']} {' '.join(f'{key}={value}' for key, value in best['config'].items())}`"


def cell(row, metric, unit, form):
    try:
        return format(float(row[metric].replace(",", "")) / unit, form)
    except (KeyError, ValueError):
        print(f"bench/counters.py: ncu says nothing of {metric}", file=sys.stderr)
        return "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=kernels.ROOT / "build")
    parser.add_argument("--db", default="counters.db", help="the store of the winners")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", type=case, default=CASES, metavar="CASE", help=f"ELEM_SIZE:ROWSxCOLS; default {' '.join(CASES)}")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if options.launch:
        launch(options)
        return
    check_tools(options.build)
    winners = [tuned(options, each) for each in options.cases]
    rows = counted(options)
    if len(rows) != 2 * len(winners):
        raise SystemExit(f"ncu saw {len(rows)} launches in place of {2 * len(winners)}")
    print(f"| | | {' | '.join(COLUMNS)} |\n|---|---|{'---:|' * len(COLUMNS)}")
    for i, row in enumerate(rows):
        elem, shape = options.cases[i // 2].split(":")
        name = f"{elem} B {shape.replace('x', ' x ')}" if i % 2 == 0 else ""
        print(f"| {name} | {winners[i // 2] if i % 2 else 'a copy'} | {' | '.join(cell(row, *column) for column in COLUMNS.values())} |")


if __name__ == "__main__":
    main()
