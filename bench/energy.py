#!/usr/bin/env python3
"""The energy of one kernel in separate runs: bench/energy.py BUILD [--runs N] [--output FILE.json] [--commit TEXT]

Each run is `tune explain --energy` of examples/kernels/vector_add.cu with one value for each parameter, warm, at a size that takes
about 50 us on an H100. It prints what a launch takes in each run, and fails if the runs differ by more than 1 %.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PINNED = {"VEC": 16, "UNROLL": 1, "THREADS": 256, "PER_SM": 0}
N, LIMIT = 12582912, 0.01


def pinned(folder):
    text = (ROOT / "examples/kernels/vector_add.cu").read_text()
    for name, value in PINNED.items():
        text = re.sub(rf"(?m)^(//@ (?:param|runtime) +{name}) .*", rf"\1 {value}", text)
    file = pathlib.Path(folder) / "pinned.cu"
    file.write_text(text)
    return str(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--output")
    parser.add_argument("--commit", default="unknown")
    args = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        tail = ["--kernel", pinned(folder), "--problem", f"n={N}", "--warm", "--db", f"{folder}/store.db", "--json"]
        tuned = json.loads(subprocess.run([args.build / "tune", *tail], stdout=subprocess.PIPE, check=True).stdout)
        for _ in range(args.runs):
            told = subprocess.run([args.build / "tune", "explain", "--energy", *tail], stdout=subprocess.PIPE, check=True).stdout
            told = json.loads(told)
            if told.get("why_no_energy"):
                sys.exit(told["why_no_energy"])
            winner = next(c for c in told["configs"] if c["role"] == "winner")
            runs.append({key: winner[key] for key in ("time_us", "joules", "joules_noise", "idle_watts", "celsius")})
            print("%(time_us)8.2f us  %(joules).6f J  +- %(joules_noise).6f  idle %(idle_watts).1f W  %(celsius).0f C" % runs[-1],
                  flush=True)
    joules = [r["joules"] for r in runs]
    spread = max(joules) / min(joules) - 1
    print(f"{tuned['gpu']}, driver {tuned['driver']}: {len(runs)} runs, at most {100 * spread:.2f} % apart")
    if args.output:
        report = {"gpu": tuned["gpu"], "driver": tuned["driver"], "commit": args.commit, "n": N, "spread": spread, "runs": runs}
        pathlib.Path(args.output).write_text(json.dumps(report, indent=1) + "\n")
    return spread > LIMIT


if __name__ == "__main__":
    sys.exit(main())
