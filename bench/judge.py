#!/usr/bin/env python3
"""Does `tune judge` say the same each time, and how long does it take? Needs a GPU.

Judges ten pairs so many times. Five have the same kernel, written differently. None of those may ever be faster, and no pair may
be faster once and not faster another time.

    python3 bench/judge.py [--times N] [--json FILE] build/tune
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

N = 20_000_000
HEAD = """//@ kernel k
//@ problem n {n}
//@ buffer x f32 n in
//@ buffer y f32 n out
//@ block 256
//@ grid ceil_div(n, 256)
//@ args y, x, i64 n
//@ reference plain
//@ block 256
//@ grid ceil_div(n, 256)
//@ args y, x, i64 n
extern "C" __global__ void k(float *y, const float *x, long long n) {{ {body} }}
extern "C" __global__ void plain(float *y, const float *x, long long n) {{ {body} }}
"""
PLAIN = 'extern "C" __global__ void __launch_bounds__(256) mine(float *y, const float *x, long long n) {{ {body} }}\n'
INDEX = "long long i = (long long)blockIdx.x * 256 + threadIdx.x; "
MOVES = INDEX + "if (i < n) y[i] = x[i] * 3 + 1;"


def adds(times):
    """A kernel whose time grows with a number."""
    return INDEX + f"if (i < n) {{ float v = x[i], z = n < 0; for (int k = 0; k < {times}; k++) v += z; y[i] = v; }}"


# A reference, its n, and candidates: the name, what it is, and the code.
LOOPS = 10_000
CASES = (
    (MOVES, N, (
        ("renamed", "equal", "long long element = (long long)blockIdx.x * 256 + threadIdx.x; if (element < n) y[element] = x[element] * 3 + 1;"),
        ("other_order", "equal", "long long i = threadIdx.x + 256ll * blockIdx.x; if (i >= n) return; y[i] = 1 + 3 * x[i];"),
        ("unused", "equal", "const float unused = n; " + MOVES),
        ("vectors", "any", "long long i = 2 * ((long long)blockIdx.x * 256 + threadIdx.x); if (i + 1 == n) y[i] = x[i] * 3 + 1; "
                           "if (i + 1 >= n) return; const float2 v = *(const float2 *)(x + i); "
                           "*(float2 *)(y + i) = make_float2(v.x * 3 + 1, v.y * 3 + 1);"),
        ("strided", "slower", "long long i = ((long long)blockIdx.x * 256 + threadIdx.x) % ((n + 31) / 32) * 32 + "
                              "((long long)blockIdx.x * 256 + threadIdx.x) / ((n + 31) / 32); if (i < n) y[i] = x[i] * 3 + 1;"),
    )),
    (adds(LOOPS), 132 * 256, (
        ("renamed_loop", "equal", adds(LOOPS).replace("v", "w")),
        ("same_loop", "equal", adds(LOOPS)),
        ("loop_2_percent", "faster", adds(LOOPS * 98 // 100)),
        ("loop_5_percent", "faster", adds(LOOPS * 95 // 100)),
        ("loop_more", "slower", adds(LOOPS * 102 // 100)),
    )),
)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def judge(tune, files):
    begin = time.monotonic()
    done = subprocess.run([tune, "judge", *files, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not done.stdout.startswith("{"):
        sys.exit(f"tune judge ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["judgements"], time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--json", help="write all judgements to this file")
    parser.add_argument("tune")
    args = parser.parse_args()
    said, bad = collections.defaultdict(list), 0
    with tempfile.TemporaryDirectory() as folder:
        calls = []
        for at, (body, n, candidates) in enumerate(CASES):
            files = [write(os.path.join(folder, f"reference{at}.cu"), HEAD.format(n=n, body=body))]
            for name, _, text in candidates:
                files.append(write(os.path.join(folder, name + ".cu"), PLAIN.format(body=text)))
            calls.append(files)
        _, first = judge(args.tune, calls[0][:2])
        _, two = judge(args.tune, calls[0][:3])
        print(f"one verdict: {first:.2f} s; with a second candidate: {two - first:.2f} s more")
        for _ in range(args.times):
            for files in calls:
                for judgement in judge(args.tune, files)[0]:
                    said[os.path.basename(judgement["file"])[:-3]].append(judgement)
    for _, _, candidates in CASES:
        for name, kind, _ in candidates:
            verdicts = collections.Counter(judgement["verdict"] for judgement in said[name])
            ratios = sorted(judgement["speedup"] or 0 for judgement in said[name])
            contrary = bool(verdicts["faster"] and verdicts["not faster"])
            wrong = verdicts["wrong"] or contrary or (kind in ("equal", "slower") and verdicts["faster"])
            bad += bool(wrong)
            print(f"{name:<16}{kind:<8}{ratios[0]:.4f} to {ratios[-1]:.4f}  "
                  + ", ".join(f"{count} x {verdict}" for verdict, count in verdicts.items()) + ("  BAD" if wrong else ""))
            for judgement in said[name]:
                if judgement["verdict"] == "wrong":
                    print("   ", judgement["reason"])
                    break
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(said, file)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
