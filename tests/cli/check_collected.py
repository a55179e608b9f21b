#!/usr/bin/env python3
"""check_collected.py TUNE ROOT: `tune --collected` and `tune list --collected`, on the CPU stand-ins.

What can be used of a file is used, and the rest is named.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

tune, root = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
os.environ |= {"XDG_DATA_HOME": folder.name, "TILETUNE_SYSTEM_DB": "", "HOSTCUDA_EXECUTE": "1"}
for name in ("TILETUNE_DB", "TILETUNE_COLLECT"):
    os.environ.pop(name, None)
shutil.copy(root / "examples/kernels/saxpy.cu", "saxpy.cu")
shutil.copy("saxpy.cu", "other.cu")
pathlib.Path("unsafe.cu").write_text(re.sub(r"(?ms)^//@ reference.*?(?=^//@ (metric|default|param)|^[^/])", "",
                                            pathlib.Path("saxpy.cu").read_text()), encoding="utf-8")
HASH, HEADER = "0" * 64, {"tiletune_collected": 1}


def run(*arguments, code=0):
    done = subprocess.run([tune, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, (arguments, done)
    return done


def line(problem, launches, op="transpose", kernel=None, gpu="hostcuda", time_us=4):
    own = {"kernel": os.path.abspath(kernel), "text": HASH} if kernel else {}
    return {"operation": op, "problem": problem, **own, "gpu": gpu, "launches": launches, "time_us": time_us}


def write(*lines):
    text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)
    pathlib.Path("asked.jsonl").write_text(text, encoding="utf-8")


def listed():
    found = json.loads(run("list", "--collected", "asked.jsonl", "--json").stdout)["collected"]
    return {one["problem"]: (one["state"], one["why"]) for one in found}


# Three operations and a kernel in one run, what costs most first, until the rest is not worth it.
write(HEADER, line("rows=70,cols=96", 1), line("rows=65,cols=96", 400), line("rows=64,cols=96,warm", 1000), line("n=5000", 300, "saxpy", "saxpy.cu"),
      line("dim0=6,dim1=5,dim2=4,stride0=1,stride1=6,stride2=30", 200, "permute"), line("rows=71,cols=96", 2), line("rows=99,cols=9", 900, gpu="NVIDIA H200"),
      line("n=5500", 100, "gone", "gone.cu"), line("n=6000", 100, "gone", "gone.cu"), line("m=5000", 100, "saxpy", "saxpy.cu"),
      line("n=7", 3, "nothing"), line("n=8", 50, "saxpy", "other.cu"), "nonsense", '{"operation":"transpose","prob')
first = listed()
assert list(first)[:3] == ["rows=64,cols=96,warm", "rows=99,cols=9", "rows=65,cols=96"], first
assert first["rows=64,cols=96,warm"] == ("to tune", ""), first
gone = f"cannot read {os.path.abspath('gone.cu')}: No such file or directory"
assert first["n=6000"] == ("left out", gone) and first["m=5000"][1].startswith("saxpy has no variable m"), first
assert first["n=7"] == ("left out", "there is no operation nothing here"), first
done = run("--collected", "asked.jsonl", "--max-trials", 2, "--json")
results = json.loads(done.stdout)["results"]
said = [(one["op"], one["problem"], one.get("warm")) for one in results]
assert said[:2] == [("transpose", "64x96", 1), ("transpose", "65x96", None)], said
assert said[2][0] == "saxpy" and said[2][1].startswith("n=5000") and said[3][0] == "permute" and len(said) == 4, said
assert all(one["kernel"] and one["source"] == "measured" for one in results), results
for words in ("asked.jsonl:14: the line is not JSON: the line is left out", "asked.jsonl:15: the line is not JSON", f"2 problems are left out: {gone}",
              "1 problem is left out: it was launched on NVIDIA H200, and this is hostcuda", "both define the kernel saxpy: tune it by itself, with --kernel",
              "2 more problems are not worth it: 0.16% of the launched time"):
    assert words in done.stderr, (words, done.stderr)
after = listed()
assert after["rows=64,cols=96,warm"][0] == after["rows=65,cols=96"][0] == "tuned" and after["rows=70,cols=96"][0] == "to tune", after
done = run("list", "--collected", "asked.jsonl")
assert re.search(r"^transpose +rows=65,cols=96 +400 +4\.00 us +\d+\.\d% ", done.stdout, re.M), done.stdout
assert re.search(r"12 problems, .* of them by estimate; \d+\.\d% of that is tuned by now, and a rule is as good for 0\.0%\.", done.stdout), done.stdout
h200 = json.loads(run("list", "--collected", "asked.jsonl", "--gpu", "h200", "--json").stdout)["collected"]
assert [(one["problem"], one["part"]) for one in h200] == [("rows=99,cols=9", 1)], h200
assert "on it; what cost most was on hostcuda" in run("list", "--collected", "asked.jsonl", "--gpu", "b200", code=2).stderr
left = run("--collected", "asked.jsonl", "--quiet").stdout
assert left == "asked.jsonl has nothing left to tune on hostcuda but what cannot be tuned: 5 problems.\n", left
assert json.loads(run("--collected", "asked.jsonl", "--quiet", "--json").stdout)["results"] == []
write(HEADER, *(line("rows=99,cols=9", 900, gpu=gpu) for gpu in ("NVIDIA H200", "NVIDIA H200 NVL", "NVIDIA H200 MIG 1g.18gb")))
for part, gpus in ("nvidia h200", 1), ("h200", 3), ("nvl", 1), ("1g", 1):
    assert len(json.loads(run("list", "--collected", "asked.jsonl", "--gpu", part, "--json").stdout)["collected"]) == gpus, part

# What cannot be tuned is not counted when the rest is weighed. What a budget does not reach has no row.
write(HEADER, line("n=5500", 100000, "gone", "gone.cu"), line("rows=72,cols=96", 1), line("rows=73,cols=96", 1))
done = run("--collected", "asked.jsonl", "--budget", "10ms")
assert "2 problems were not reached within the budget" in done.stderr and "72x96" not in done.stdout, done
assert "72x96" in run("--collected", "asked.jsonl", "--max-trials", 2).stdout

# Where the default is the fastest, no rule is needed.
launch = "//@ block 32\n//@ grid ceil_div(n, 32)\n//@ args y, i64 n\n"
code = "(float *y, long long n) { if (blockIdx.x * 32ll + threadIdx.x < n) y[blockIdx.x * 32ll + threadIdx.x] = 1; }\n"
pathlib.Path("only.cu").write_text(f"//@ kernel only\n//@ problem n 64\n//@ buffer y f32 n out\n{launch}//@ reference one\n{launch}" + "".join(
    f'extern "C" __global__ void {name}{code}' for name in ("only", "one")), encoding="utf-8")
done = run("--kernel", "only.cu", "--problem", "n=1000", "--problem", "n=2000", "--configs", 2, "--db", "default.db")
assert "no rule is needed: the default is the fastest of all" in done.stderr, done

# `tune` is no program that collects.
os.environ["TILETUNE_COLLECT"] = "/nonexistent/asked.jsonl"
run("best", "--size", 64)
del os.environ["TILETUNE_COLLECT"]

# A file of something else is named, not each of its lines.
write(HEADER, line("rows=70,cols=96", 1), *["nonsense"] * 50)
said = run("list", "--collected", "asked.jsonl").stderr
assert said.count("the line is left out") == 20 and said.endswith("tune: asked.jsonl: 30 more lines are left out\n"), said
write(HEADER, *["nonsense"] * 5)
assert run("list", "--collected", "asked.jsonl").stdout == "asked.jsonl has no problem that can be read.\n"
write(*["nonsense"] * 50)
assert run("list", "--collected", "asked.jsonl", code=2).stderr == "tune: asked.jsonl is not a file of collected problems: name another one\n"

# What a rule is expected to answer within 2 % of the best is not tuned, but with --force.
os.mkdir("rule", 0o700)
run("--shapes", "300x96,304x96,308x96,312x96", "--configs", 2, "--max-trials", 4, "--db", "rule/store.db", "--quiet")
shutil.copytree("rule", "answer")
write(HEADER, line("rows=305,cols=96", 50), line("rows=315,cols=96", 50), line("rows=64,cols=1024", 1000))
ruled = run("list", "--collected", "asked.jsonl", "--db", "rule/store.db", "--json")
states = {one["problem"]: one["state"] for one in json.loads(ruled.stdout)["collected"]}
assert states == {"rows=305,cols=96": "rule", "rows=315,cols=96": "rule", "rows=64,cols=1024": "to tune"}, states
done = run("--collected", "asked.jsonl", "--max-trials", 2, "--db", "rule/store.db", "--json")
assert [one["problem"] for one in json.loads(done.stdout)["results"]] == ["64x1024"], done.stdout
assert "2 problems are left to a rule, which is as good: 9.1% of the launched time" in done.stderr, done.stderr
done = run("--collected", "asked.jsonl", "--max-trials", 2, "--db", "rule/store.db", "--json", "--force")
assert "305x96" in [one["problem"] for one in json.loads(done.stdout)["results"]], done.stdout

# What stands for a rule's choice where that is not legal, and failed there in the search, is not tried again.
pathlib.Path("off.cu").write_text("""//@ kernel off
//@ problem n 1024
//@ buffer y f32 n out
//@ param A 0 1
//@ param W 1 2
//@ where A = 0 OR n % 2 = 0
//@ where A = 1 OR W = 1 OR n % 2 = 1
//@ block 32
//@ grid iif(W = 1, 64, 1) * ceil_div(n, 32)
//@ args y, i64 n
//@ default A=0 W=1
//@ reference one
//@ block 32
//@ grid ceil_div(n, 32)
//@ args y, i64 n
extern "C" __global__ void off(float *y, long long n) {
    const long long i = blockIdx.x * 32ll + threadIdx.x;
    if (i < n)
        y[i] = W == 2 && A == 0 ? 2 : 1;
}
extern "C" __global__ void one(float *y, long long n) {
    const long long i = blockIdx.x * 32ll + threadIdx.x;
    if (i < n)
        y[i] = 1;
}
""", encoding="utf-8")
os.mkdir("off", 0o700)
problems = [word for n in (1024, 2048, 4096, 1025) for word in ("--problem", f"n={n}")]
said = run("--kernel", "off.cu", *problems, "--configs", 2, "--db", "off/store.db").stderr
assert "1 rule for other problems" in said and "wrong_result" in said and "more trials" not in said, said

# A budget is for many (tests/unit/test_run_loop.c: how they share it). A store of --db need not be there yet.
os.mkdir("new", 0o700)


def begins_many(db):
    write(HEADER, *(line(f"rows={200 + i},cols=96", 9) for i in range(20)))
    done = run("--collected", "asked.jsonl", "--budget", "2s", "--db", db, "--json")  # 0.1 s each is less than a compile takes
    results = json.loads(done.stdout)["results"]
    assert results[0]["kernel"] and results[1]["kernel"] and not results[0]["copy_us"], results
    assert "ended the search" not in done.stderr, done.stderr  # what it does not reach is no failure


for left in (2, 1, 0):  # a busy machine may spoil it
    try:
        begins_many(f"new/{left}.db")
        break
    except AssertionError:
        if not left:
            raise
done = run("--collected", "asked.jsonl", "--budget", "10ms", "--db", "new/other.db", "--json")
unreached = [one for one in json.loads(done.stdout)["results"] if not one["trials"]]
assert unreached and f"{len(unreached)} problems were not reached within the budget" in done.stderr, done

# What is launched now is tried first, so that no winner is slower.
write(HEADER, *(line(f"rows={rows},cols=96", 50) for rows in (305, 315)))
now = re.search(r"(?m)^configuration +(.*)", run("best", "--gpu", "hostcuda", "--shape", "305x96", "--db", "answer/store.db").stdout)[1]
done = run("--collected", "asked.jsonl", "--max-trials", 1, "--force", "--db", "answer/store.db", "--json")
first = json.loads(done.stdout)["results"][0]
assert " ".join(f"{k}={v}" for k, v in first["config"].items()) == now, (first, now)

# Two kinds of GPU: a problem is of one of them, and so is a rule.
os.environ |= {"HOSTCUDA_DEVICES": "2", "HOSTCUDA_NAME": "small;large"}
write(HEADER, line("rows=64,cols=96", 5, gpu="small"))
for option in ("--collected", "asked.jsonl"), ("--sizes", "64,65", "--configs", 2):
    said = run(*option, "--device", "0,1", "--db", "new/kinds.db", code=2).stderr
    assert "is for one kind of GPU, and device 0 is small, device 1 large: run it once for each kind, with --device 0 first" in said, said
run("--collected", "asked.jsonl", "--device", 0, "--max-trials", 2, "--db", "new/kinds.db", "--quiet")
# A kind that is too small hides nothing of the other.
del os.environ["HOSTCUDA_DEVICES"], os.environ["HOSTCUDA_NAME"]

# What cannot be verified is left out, unless it is asked for.
write(HEADER, line("n=5000", 5, "saxpy", "unsafe.cu"))
assert "--unverified tunes it all the same" in listed()["n=5000"][1]
assert json.loads(run("--collected", "asked.jsonl", "--unverified", "--max-trials", 2, "--json").stdout)["results"][0]["unverified"] == 1

# Another version, another file, no file.
write({"tiletune_collected": 2}, line("rows=9,cols=9", 5))
assert "asked.jsonl is of version 2, and this tiletune knows 1: what it knows is used" in run("list", "--collected", "asked.jsonl").stderr
write(HEADER)
assert run("list", "--collected", "asked.jsonl").stdout == "asked.jsonl has no problem: all that was launched had an exact winner.\n"
assert "is not a file of collected problems" in run("--collected", "saxpy.cu", code=2).stderr
pathlib.Path("empty.jsonl").touch()
for command in (("list",), ()):
    assert "empty.jsonl has no problems that a program collected" in run(*command, "--collected", "empty.jsonl", code=2).stderr
assert "No such file" in run("--collected", "missing.jsonl", code=1).stderr
for more in (("--sizes", 64), ("--op", "copy"), ("--stale",), ("--shard", "1/2"), ("--problem", "n=3")):
    assert "the file names the problems" in run("--collected", "asked.jsonl", *more, code=2).stderr
for more in (("--warm",), ("--dtype", "f16"), ("--device", f"replay:{root}/recordings/h200.json")):
    assert "each problem is tuned as it was launched" in run("--collected", "asked.jsonl", *more, code=2).stderr
