#!/usr/bin/env python3
"""Compares the counters of `tune explain` with those of ncu: bench/counters_ncu.py [--build DIR] [KERNEL.cu ...]

Each kernel is tuned, explained, and then run under ncu on the same data. ncu gets one launch of the winner. Both count
after the same flush of the L2 cache: ncu replays the whole program, and leaves caches and clocks alone. Counters differ
between two launches of one kernel, too. So where a metric differs by more than 1 %, both sides run twice more, and their
medians of three count. It prints a table of both values, and fails if a metric still differs by more than 1 %.
"""
import argparse
import csv
import io
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLANTED = ["atomics", "bank_conflicts", "cache_thrash", "divergent_branches", "fp64_bound", "low_occupancy_registers",
           "misaligned_vectors", "spills", "uncoalesced_reads", "uncoalesced_writes"]
LIMIT = 0.01
METRICS = ["smsp__inst_executed.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
           "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
           "lts__t_sector_hit_rate.pct", "dram__bytes_read.sum", "sm__warps_active.avg.pct_of_peak_sustained_active",
           "smsp__thread_inst_executed_per_inst_executed.ratio"]


def tune(options, *arguments, **more):
    ran = subprocess.run([options.build / "tune", *arguments, "--db", options.db], stdout=subprocess.PIPE, text=True, **more)
    if ran.returncode:  # it has said why
        raise SystemExit(f"bench/counters_ncu.py: tune {' '.join(map(str, arguments))} failed")
    return ran.stdout


def explained(options, kernel):
    tune(options, "--kernel", kernel, "--unverified", "--quiet", "--max-trials", "1")
    said = json.loads(tune(options, "explain", "--kernel", kernel, "--json"))
    if not said["configs"][0]["counters"]:
        raise SystemExit(f"bench/counters_ncu.py: no counters: {said['why_not_counted']}")
    return said["configs"][0]["counters"]


def profiled(options, kernel):
    """ncu sees what is between cuProfilerStart and cuProfilerStop: one launch of each configuration, the winner's first."""
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as log:
        ran = subprocess.run(["ncu", "--csv", "--page", "raw", "--print-units", "base", "--log-file", log.name, "--target-processes",
                              "all", "--profile-from-start", "off", "--launch-count", "1", "--replay-mode", "application", "--cache-control", "none",
                              "--clock-control", "none", "--metrics", ",".join(METRICS), options.build / "tune", "explain",
                              "--kernel", kernel, "--db", options.db], stdout=subprocess.DEVNULL,
                             env={**os.environ, "TILETUNE_PROFILED": "1"}, text=True)
        text = log.read()
    at = text.find('"ID"')
    if ran.returncode or at < 0:
        raise SystemExit(f"ncu failed:\n{text}")
    names, _, first, *_ = csv.reader(io.StringIO(text[at:]))
    row = dict(zip(names, first))
    return {name: float(row[name].replace(",", "")) for name in METRICS if row.get(name)}


def difference(a, b):
    """Relative; None if one is unknown."""
    if a is None or b is None:
        return None
    return abs(a - b) / max(abs(a), abs(b)) if a != b else 0


def compared(options, kernel):
    """Both values of each metric, and of how many runs they are medians."""
    runs = [(explained(options, kernel), profiled(options, kernel))]
    pairs = {name: (runs[0][0][name], runs[0][1].get(name), 1) for name in METRICS}
    noisy = [name for name, (a, b, _) in pairs.items() if (difference(a, b) or 0) > LIMIT]
    if noisy:
        runs += [(explained(options, kernel), profiled(options, kernel)) for _ in range(2)]
    for name in noisy:
        sides = [[run[side].get(name) for run in runs] for side in (0, 1)]
        if None not in sides[0] + sides[1]:
            pairs[name] = (*map(statistics.median, sides), len(runs))
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("kernels", nargs="*", type=pathlib.Path, metavar="KERNEL.cu", help="default: ten planted ones")
    options = parser.parse_args()
    if not shutil.which("ncu"):
        raise SystemExit("bench/counters_ncu.py: there is no ncu in PATH; it comes with the CUDA Toolkit (Nsight Compute)")
    options.build = options.build.resolve()
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        options.db = f"{folder}/counters.db"
        for kernel in options.kernels or [ROOT / "tests/planted" / f"{name}.cu" for name in PLANTED]:
            for name, (a, b, runs) in compared(options, kernel).items():
                off = difference(a, b)
                if off is None:
                    print(f"{kernel.stem}: {name}: {a} and {b}")
                    continue
                worst = max(worst, off)
                print(f"{kernel.stem:26} {name:58} {a:16.6g} {b:16.6g} {100 * off:6.2f} %{'  of 3' if runs > 1 else ''}"
                      f"{'  <-' if off > LIMIT else ''}", flush=True)
    print(f"the worst differs by {100 * worst:.2f} %")
    return worst > LIMIT


if __name__ == "__main__":
    sys.exit(main())
