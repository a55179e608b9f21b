#!/usr/bin/env python3
"""check_json.py TUNE ROOT: the members of each --json are those that docs/cli.md names, and no others.

The table of its section JSON lists them in backticks, and says "variables" where those of the problem are members too.
HOSTCUDA_DIR is the folder of the CPU stand-ins.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

tune, root = sys.argv[1:]
stand_ins = os.environ["HOSTCUDA_DIR"]
recording = os.path.join(root, "tests/data/small.json")
NO_MEMBERS = {"null"}
VARIABLES = {"rows", "cols", "elem_size", "lds", "ldd", "batch", "src_stride", "dst_stride", "align", "elem", "n",
             "warm"}
BESIDE = """//@ kernel sums
//@ problem n 1000
//@ buffer y f32 ceil_div(n, THREADS) out
//@ param THREADS 32 64
//@ block THREADS
//@ grid ceil_div(n, THREADS)
//@ args y
//@ default THREADS=32
//@ reference right
//@ per configuration
//@ block 1
//@ grid 1
//@ args y
//@ verify judge
//@ block 1
//@ grid 1
//@ args error, y
extern "C" __global__ void sums(float *y) {}
extern "C" __global__ void right(float *y) {}
extern "C" __global__ void judge(double *error, const float *y) {}
"""
UNVERIFIED = """//@ kernel scale
//@ problem n 1000
//@ buffer x f32 n inout
//@ param THREADS 32 64
//@ block THREADS
//@ grid ceil_div(n, THREADS)
//@ args x, i64 n
//@ default THREADS=32
//@ derived EDGES n % THREADS > 0
//@ metric gbps 8 * n / time_ns
extern "C" __global__ void scale(float *x, long long n) {
    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        x[i] *= 2;
}
"""


def documented():
    section = open(os.path.join(root, "docs/cli.md"), encoding="utf-8").read().split("\n## JSON\n")[1]
    pages = {}
    for command, cell in re.findall(r"^- `(\w+)[^`]*`: (.*(?:\n  .*)*)", section, re.M):
        pages[command] = set(re.findall(r"[a-z_][a-z_0-9]*", " ".join(re.findall(r"`([^`]*)`", cell)))) - NO_MEMBERS
        if "variables" in re.sub("`[^`]*`", "", cell):
            pages[command] |= VARIABLES
    return pages


def members(value):
    if isinstance(value, list):
        return set().union(*map(members, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    names = set(value)
    for key, inner in value.items():
        names |= set() if key in ("config", "counters", "instructions") else members(inner)
    return names


def run(*arguments, host=False, codes=(0,)):
    env = {**os.environ, "TILETUNE_SYSTEM_DB": "", "HOSTCUDA_EXECUTE": "1"}
    if host:
        env |= {"LD_LIBRARY_PATH": stand_ins, "TILETUNE_NVRTC": os.path.join(stand_ins, "libnvrtc.so")}
    done = subprocess.run([tune, *arguments], capture_output=True, text=True, env=env)
    assert done.returncode in codes, (arguments, done)
    return done.stdout


def main():
    seen = {}

    def look(name, *arguments, **how):
        seen.setdefault(name, set()).update(members(json.loads(run(*arguments, "--json", **how))))

    with tempfile.TemporaryDirectory() as folder:
        db, kernel = os.path.join(folder, "store.db"), os.path.join(folder, "scale.cu")
        with open(kernel, "w", encoding="utf-8") as file:
            file.write(UNVERIFIED)
        own, replay = ("--kernel", kernel, "--db", db), "replay:" + recording
        look("tune", *own, "--unverified", "--warm", "--quiet", "--max-trials", "2", host=True)
        look("tune", "--device", replay, "--sizes", "4096", "--quiet", "--max-trials", "4")
        turned = ("--permute", "1,0", "--dims", "4096,4096", "--dtype", "f32")
        look("tune", "--device", replay, *turned, "--quiet", "--max-trials", "4")
        look("best", "best", "--gpu", "h200", *turned)
        look("explain", "explain", "--device", replay, *turned)
        look("explain", "explain", *own, "--warm", host=True)
        look("explain", "explain", "--device", replay, "--size", "4096")
        run("import", recording, "--db", db)
        look("best", "best", *own, "--warm", host=True)
        look("best", "best", "--size", "4096", "--gpu", "h200", "--db", db)
        look("study", "study", "--device", replay, "--sizes", "4096", "--quiet", "--max-trials", "4")
        look("list", "list", "--db", db)
        with open(recording, encoding="utf-8") as file:
            failing = json.load(file)
        other = os.path.join(folder, "failing.json")
        for result in failing["results"]:
            if result["kernel"] == "transpose_tiled" and result["stage"] == "screen":
                result |= {"invalidity": "runtime", "status": "crashed", "reason": "why", "measurements": []}
        with open(other, "w", encoding="utf-8") as file:
            json.dump(failing, file)
        look("report", "report", recording, other)
        look("show", "show", *own, "--warm", host=True)
        look("show", "show", "--size", "4096", "--gpu", "h200", "--db", db)
        look("check", "check", kernel, host=True)
        beside = os.path.join(folder, "beside.cu")
        with open(beside, "w") as f:
            f.write(BESIDE)
        look("check", "check", beside, host=True)
        look("check", "check", os.path.join(root, "examples/kernels/saxpy.cu"), host=True)
        look("check", "check", os.path.join(root, "kernel_templates/transpose_tiled.cu"), host=True)
        look("check", "check", os.path.join(root, "kernel_templates/transpose_rect_panels.cu"), host=True)
        look("doctor", "doctor", "--db", db, host=True, codes=(0, 3, 4))
    wrong = []
    pages = documented()
    wrong += [f"docs/cli.md has no JSON of {name}" for name in seen if name not in pages]
    for name, words in pages.items():
        has = seen.get(name, set())
        wrong += [f"docs/cli.md has no {m} in the JSON of {name}" for m in sorted(has - words)]
        wrong += [f"docs/cli.md has {m} in the JSON of {name}, which is not there" for m in sorted(words - has - VARIABLES)]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{sum(map(len, pages.values()))} members of {len(pages)} commands")


if __name__ == "__main__":
    main()
