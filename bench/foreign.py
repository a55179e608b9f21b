#!/usr/bin/env python3
"""foreign.py [--tune PROGRAM] [--budget TIME] [--trials N] [--of SET] [NAME...]: tunes kernels that others wrote, as they are.

A file in bench/foreign/ has the annotations and a reference for one kernel. It includes the author's file from
bench/foreign/sources/, which is not part of this project. Without that folder, this program says what belongs there.

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

# Commits of their repositories: tuners bring kernels to be tuned, the others were written without a tuner in mind.
TUNERS = {
    "NTNU-HPC-Lab/BAT": "06e0be2",
    "AutoTuningAssociation/benchmark_hub": "8eeb99e",
    "KernelTuner/kernel_tuner": "96a6abc",
    "HiPerCoRe/KTT": "931c415",
    "CNugteren/CLTune": "8a56a4a",
    "KernelTuner/kernel_launcher": "6e27d0f",
}
OTHERS = {
    "karpathy/llm.c": "f1e2ace",
    "siboehm/SGEMM_CUDA": "60cba6f",
    "tspeterkim/flash-attention-minimal": "00f8f46",
    "Bruce-Lee-LY/cuda_hgemm": "0d26c2e",
    "NVIDIA/cuda-samples": "c94ff36",
    "pranjalssh/fast.cu": "38eb642",
    "IST-DASLab/marlin": "2f6d7c1",
    "NVIDIA-developer-blog/code-samples": "72d62ec",
    "bitsandbytes-foundation/bitsandbytes": "95f9af3",
    "dgSPARSE/dgSPARSE-Lib": "973a972",
    "mochimodev/cuda-hashing-algos": "5f80d58",
    "yuhc/gpu-rodinia": "9c10d3e",
    "NVIDIA/apex": "6424da3",
    "bytedance/lightseq": "a7ab0da",
    "zjin-lcf/HeCBench": "f27000a",
    "DefTruth/CUDA-Learn-Notes": "d2fb4df",
    "flashinfer-ai/flashinfer": "fb28d72",
    "deepspeedai/DeepSpeed": "edaa722",
    "graphdeco-inria/diff-gaussian-rasterization": "59f5f77",
    "ggml-org/ggml": "d99724f",
}
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
    parser.add_argument("--of", choices=["tuners", "others"], help="kernels of one of two sets")
    parser.add_argument("names", nargs="*", help="a part of a file's path, as bat/gemm; default: all")
    o = parser.parse_args()
    sources = TUNERS if o.of == "tuners" else OTHERS if o.of == "others" else TUNERS | OTHERS
    heads = [h for h in sorted(HERE.glob("*/*.cu")) if h.is_file() and (not o.names or any(n in str(h) for n in o.names))]
    needed = {h: {n for n in TUNERS | OTHERS if f"/sources/{n.split('/')[1]}/" in h.read_text()} for h in heads}
    heads = [h for h in heads if needed[h] <= sources.keys()]
    missing = sorted({n for h in heads for n in needed[h] if not (HERE / "sources" / n.split("/")[1]).is_dir()})
    for name in missing:
        to = HERE / "sources" / name.split("/")[1]
        print(f"git clone https://github.com/{name} {to} && git -C {to} checkout {sources[name]}")
    if missing:
        sys.exit("foreign.py: files of these repositories are missing: run the commands above")
    if not heads:
        sys.exit(f"foreign.py: no file in {HERE} has {' or '.join(o.names)} in its path")
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
