#!/usr/bin/env python3
"""foreign.py [--tune PROGRAM] [--budget TIME] [--trials N] [NAME...]: tunes kernels that others wrote, as they are.

Each file in bench/foreign/ has the annotations and a reference for one kernel, and includes the author's file from
bench/foreign/sources/, which is not part of this project:

    mkdir bench/foreign/sources && cd bench/foreign/sources
    git clone https://github.com/NTNU-HPC-Lab/BAT && git -C BAT checkout 06e0be2
    git clone https://github.com/AutoTuningAssociation/benchmark_hub && git -C benchmark_hub checkout 8eeb99e
    git clone https://github.com/KernelTuner/kernel_tuner && git -C kernel_tuner checkout 96a6abc
    git clone https://github.com/HiPerCoRe/KTT && git -C KTT checkout 931c415
    git clone https://github.com/CNugteren/CLTune && git -C CLTune checkout 8a56a4a
    git clone https://github.com/KernelTuner/kernel_launcher && git -C kernel_launcher checkout 6e27d0f

Prints for each: legal configurations (above 65,536 an estimate), trials, the winner's time, its speedup over the default, the
time of the run, and how trials failed. A kernel counts as tuned if no result was wrong. Trials may fail to compile or launch.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "foreign"


def tune(head: pathlib.Path, o: argparse.Namespace, store: str) -> tuple[str, bool]:
    limits = ["--budget", o.budget, "--max-trials", str(o.trials)]
    run = subprocess.run([o.tune, "--kernel", head, *limits, "--db", store, "--json"], capture_output=True, text=True)
    if run.returncode:
        return "not tuned: " + (run.stderr.strip().splitlines() or ["no message"])[-1], False
    report = json.loads(run.stdout)
    result = report["results"][0]
    exported = subprocess.run([o.tune, "export", "--gpu", report["gpu"], "--db", store], capture_output=True, text=True, check=True)
    trials = [t for t in json.loads(exported.stdout)["results"] if t["stage"] == "screen"]
    failed = collections.Counter(t["invalidity"] for t in trials if t["invalidity"] != "correct")
    faster = result["speedup_vs_default"]
    text = (
        f"{result['space']:>9} {result['trials']:>6}  {result['time_us']:>10.1f} us  "
        f"{f'{faster:.2f}x' if faster else '-':>8}  {report['wall_s']:5.1f} s  "
        + ", ".join(f"{n} {kind}" for kind, n in failed.items())
    )
    return text, not failed["correctness"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tune", default="build/tune")
    parser.add_argument("--budget", default="5s")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("names", nargs="*", help="a part of a file's path, as bat/gemm; default: all")
    o = parser.parse_args()
    heads = [h for h in sorted(HERE.glob("*/*.cu")) if not o.names or any(n in str(h) for n in o.names)]
    if not (HERE / "sources").is_dir():
        sys.exit(f"foreign.py: {HERE / 'sources'} is missing: --help says where its contents come from")
    n_tuned = 0
    print(f"{'kernel':36} {'space':>9} {'trials':>6}  {'winner':>13}  {'faster':>8}  {'wall':>7}  failed trials")
    for head in heads:
        with tempfile.TemporaryDirectory() as folder:
            text, tuned = tune(head, o, folder + "/foreign.db")
        n_tuned += tuned
        print(f"{head.parent.name + '/' + head.stem:36} {text}{'' if tuned else '  <- not tuned'}", flush=True)
    print(f"{n_tuned} of {len(heads)} tuned, with no wrong result")
    return 0


if __name__ == "__main__":
    sys.exit(main())
