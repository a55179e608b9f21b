#!/usr/bin/env python3
"""Sums up a timeline (tune --trace FILE): how fast compiling went, how busy the GPU was, and what it waited for.

Times are in seconds from the start of the run. "Busy" is loading, verifying, measuring, finals and setting a problem
up; the fraction counts from the first compiled kernel to the end of the last measurement.
"""
import argparse
import collections
import json
import sys

BUSY = ("problem", "load", "verify", "measure", "finals")


def read(path):
    with open(path, encoding="utf-8") as f:
        events = json.load(f)
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans = [dict(e, row=rows.get(e["tid"], "tuner"), begin=e["ts"] * 1e-6, end=(e["ts"] + e["dur"]) * 1e-6)
             for e in events if e["ph"] == "X"]
    return sorted(spans, key=lambda s: s["begin"])


def report(path):
    spans = read(path)
    compiles = [s for s in spans if s["name"] == "compile" and s["args"].get("kernel") != "checker"]
    gpu = [s for s in spans if s["row"] == "GPU"]
    busy = [s for s in gpu if s["name"] in BUSY]
    trials = [s for s in gpu if s["name"] == "measure"]
    figures = collections.OrderedDict()
    starts = [s for s in gpu if s["name"] == "start"]
    if starts:
        figures["gpu_start_s"] = starts[0]["end"]
    if compiles:
        first, last = compiles[0]["begin"], max(s["end"] for s in compiles)
        workers = len({s["tid"] for s in compiles})
        total = sum(s["end"] - s["begin"] for s in compiles)
        figures["compiles"] = len(compiles)
        figures["compile_workers"] = workers
        figures["first_cubin_s"] = min(s["end"] for s in compiles)
        figures["last_cubin_s"] = last
        figures["compiles_per_s"] = len(compiles) / (last - first)
        figures["ms_a_compile"] = 1e3 * total / len(compiles)
        figures["compilers_busy"] = total / ((last - first) * workers)
    if trials:
        figures["trials"] = len(trials)
        figures["first_trial_s"] = trials[0]["end"]
        end = max(s["end"] for s in busy)
        begin = min(figures.get("first_cubin_s", 0), busy[0]["begin"])
        begin = max(begin, figures.get("gpu_start_s", 0))
        figures["last_measurement_s"] = end
        figures["gpu_busy"] = sum(s["end"] - s["begin"] for s in busy) / (end - begin)
        for name in BUSY:
            figures["gpu_%s_s" % name] = sum(s["end"] - s["begin"] for s in busy if s["name"] == name)
        lacked = collections.Counter()
        for s in gpu:
            if s["name"] == "wait":
                lacked[s["args"].get("note", "?")] += max(0, min(s["end"], end) - max(s["begin"], begin))
        lacked["something_else"] = end - begin - sum(lacked.values()) - sum(s["end"] - s["begin"] for s in busy)
        for what, seconds in lacked.most_common():
            figures["gpu_waits_for_" + what.replace(" ", "_") + "_s"] = seconds
    figures["end_s"] = max((s["end"] for s in spans), default=0)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="the FILE of tune --trace FILE")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    args = parser.parse_args()
    try:
        figures = report(args.trace)
    except (OSError, ValueError, KeyError) as e:
        sys.exit("trace_report.py: %s: %s" % (args.trace, e))
    if args.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print("%-32s %s" % (name, value if isinstance(value, int) else "%.4g" % value))


if __name__ == "__main__":
    main()
