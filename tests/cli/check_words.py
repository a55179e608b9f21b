#!/usr/bin/env python3
"""check_words.py TUNE ROOT: tune answers in the words that it was asked in, and names commands that work.

On recordings, on a machine without a GPU.
"""
import csv
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

tune, root = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
os.symlink(root / "recordings", "recordings")
os.symlink(root / "examples", "examples")
os.environ |= {"XDG_DATA_HOME": folder.name, "TILETUNE_SYSTEM_DB": "", "CUDA_VISIBLE_DEVICES": ""}
os.environ.pop("TILETUNE_DB", None)
BYTES4, BYTES2 = "replay:recordings/h200.json", "replay:recordings/h200-2bytes.json"


def run(*arguments, code=0):
    done = subprocess.run([tune, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, (arguments, done)
    return done


def follow(command):
    """Runs a command that a page or an answer names."""
    words = shlex.split(command, comments=True)
    assert pathlib.Path(words[0]).name == "tune", command
    run(*words[1:])


# Progress that is no terminal is lines that are whole.
done = run("--device", BYTES2, "--sizes", "1024,4096", "--dtype", "f16")
lines = done.stderr.splitlines()
assert lines[0] == "[1/2] replay 1024x1024, f16 copy: looking for the fastest copy of as many bytes", lines
assert re.fullmatch(r"\[1/2\] replay 1024x1024, f16 search: at most \d+ configurations", lines[1]), lines
assert re.fullmatch(r"\[1/2\] replay 1024x1024, f16 finals: best so far .* us", lines[2]), lines
assert not re.search(r"\d/\d+ ?$| 0/", done.stderr, re.M), done.stderr

# A type and a permutation come back as they were given.
assert re.search(r"^4096x4096, f16 ", done.stdout, re.M) and "elem_size" not in done.stdout + done.stderr, done
follow(done.stdout.splitlines()[-1].removeprefix("Next: "))
done = run("--device", BYTES2, "--sizes", 1024, "--dtype", "bf16", "--json", "--quiet")
result = json.loads(done.stdout)["results"][0]
assert (result["dtype"], result["elem_size"], result["problem"]) == ("bf16", 2, "1024x1024, elem_size=2"), result
turned = ("--permute", "1,0", "--dims", "4096,4096")
done = run("--device", BYTES4, *turned)
assert re.search(r"^1,0 of 4096x4096 ", done.stdout, re.M) and "replay 1,0 of 4096x4096 search" in done.stderr, done
result = json.loads(run("--device", BYTES4, *turned, "--json", "--quiet").stdout)["results"][0]
assert (result["permute"], result["dims"]) == ([1, 0], [4096, 4096]), result
done = run("--device", BYTES4, "--permute", "0,2,1,3", "--dims", "2,16,8,4", code=2)
assert done.stderr.startswith("tune: 0,2,1,3 of 2,16,8,4: the recording has no transpose of "), done

# `best` says which GPU it answers for, and `time` is of this problem.
said = dict(line.split(maxsplit=1) for line in run("best", "--gpu", "h200", "--size", 4096, "--dtype", "f16").stdout.splitlines())
assert (said["problem"], said["GPU"]) == ("4096x4096, f16", "NVIDIA H200") and said["time"].startswith("21.12 us"), said
assert "measured" not in said, said
said = dict(line.split(maxsplit=1) for line in run("best", "--gpu", "h200", "--size", 5000, "--dtype", "f16").stdout.splitlines())
assert "time" not in said and "measured" not in said and said["match"].startswith("rule: not measured; chosen by what "), said
recording = json.load(open("recordings/h200-2bytes.json"))
recording["metadata"]["gpu"].update(name="Other", cc=80)  # no rule is for it
json.dump(recording, open("other.json", "w"))
run("import", "other.json", "--db", "other.db")
near = ("best", "--gpu", "other", "--size", 5000, "--dtype", "f16", "--db", "other.db")
said = dict(line.split(maxsplit=1) for line in run(*near).stdout.splitlines())
assert "time" not in said and said["measured"].startswith("4096x4096, f16 on Other: 21.12 us"), said
assert said["match"] == "nearest: measured for 4096x4096, f16", said
found = json.loads(run(*near, "--json").stdout)
assert found["time_us"] is None and found["measured"]["time_us"] == 21.12 and found["gpu"] == "Other", found
asked = run("best", "--gpu", "h200", "--permute", "0,2,1,3", "--dims", "2,16,8,4", "--dtype", "i32").stdout
assert re.search(r"^problem +0,2,1,3 of 2x16x8x4, i32$", asked, re.M) and "stride" not in asked, asked

# A recording that lacks a problem names the one that has it.
done = run("--device", BYTES4, "--sizes", "4096", "--dtype", "f16", code=2)
assert done.stderr.endswith("no transpose of 4096x4096, f16; recordings/h200-2bytes.json has it\n"), done
done = run("--device", "replay:recordings/h100.json", "--shapes", "10000x12016", code=2)
assert done.stderr.endswith("; recordings/h100-shapes.json has it\n"), done
assert "; it has: 1024x1024; " in run("--device", BYTES4, "--sizes", 77, code=2).stderr

# What the README names for a machine without a GPU works there.
page = (root / "README.md").read_text().split("\nWithout one, `replay:` ")[1].split("\n## ")[0]
commands = [line for block in re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S) for line in block.strip().splitlines()]
assert len(commands) == 5, commands
for command in commands:
    follow(command)

# Numbers that are unknown are null, and limits are said.
configs = json.loads(run("explain", "--device", BYTES4, "--size", 4096, "--json").stdout)["configs"]
assert all(c["instructions"] is None and c["local_bytes"] is None for c in configs), configs
assert "--seed: -1: at least 0 is needed" in run("--seed", -1, "--sizes", 4096, code=2).stderr
run("--device", BYTES4 + "*0", "--sizes", 4096, code=1)  # a name, as no device at all is no replay

# Files may have any name. A terminal does not obey it, and a spreadsheet does not calculate it.
evil, sums = "\x1b[31mred.json", "=1+1.json"
shutil.copy(root / "recordings/h200.json", evil)
shutil.copy(evil, sums)
for done in (run("--device", "replay:" + evil, "--sizes", 4096), run("import", evil, "--db", evil + ".db"),
             run("export", "--gpu", "h200", "--db", evil + ".db", "--output", evil + ".out"),
             run("lock", "--db", evil + ".db", "--output", evil + ".lock"), run("vacuum", "--db", evil + ".db"),
             run("check", "--db", evil + ".db"), run("report", evil, "--output", evil + ".html"), run("new", evil + ".cu")):
    assert "red.json" in done.stdout + done.stderr and "\x1b" not in done.stdout + done.stderr, done
assert "tune: wrote ?[31mred.json.out, " in run("export", "--gpu", "h200", "--db", evil + ".db", "--output", evil + ".out").stderr
rows = list(csv.reader(run("report", sums, "--csv").stdout.splitlines()))
assert {row[0] for row in rows[1:]} == {"'=1+1.json"}, rows[1]
# What a kernel or a problem has can be removed, and all of it.
db = ("--db", "p.db")
run("import", "recordings/h200.json", *db)
run("import", "recordings/h100.json", *db)
held = {(w["gpu"], w["rows"]): w["kernel"] for w in json.loads(run("list", *db, "--json").stdout)["winners"]}
assert len(held) == 10, held
assert run("prune", "--size", 4096, "--dry-run", *db).stdout.startswith("Would take out 2 winners, "), db
for option, name, says in (("--op", "transpos", "--op transpos: p.db has nothing of it (it has copy, transpose, transpose_ladder)"),
                           ("--kernel", "transpose_wdie", "--kernel transpose_wdie: p.db has nothing of it (it has copy_"),
                           ("--op", "nope --size 4096", "there is no operation nope (there are axpby, ")):
    assert says in run("prune", option, *name.split(), *db, code=2).stderr, says
assert "0 trials" in run("prune", "--op", "axpby", *db).stdout  # the name is right
run("prune", "--size", 4096, *db)
run("prune", "--kernel", "transpose_wide", *db)
left = {(w["gpu"], w["rows"]): w["kernel"] for w in json.loads(run("list", *db, "--json").stdout)["winners"]}
assert left == {key: kernel for key, kernel in held.items() if key[1] != 4096 and kernel != "transpose_wide"}, left
trials = json.loads(run("export", "--gpu", "h200", *db).stdout)["results"]
assert trials and "transpose_wide" not in {t["kernel"] for t in trials}
assert "has nothing of the transpose of 4096x4096" in run("prune", "--size", 4096, *db, code=2).stderr
assert "0 trials" in run("prune", "--kernel", "transpose_wide", "--size", 1024, *db).stdout
assert "leave the other options out" in run("prune", "--all", "--stale", *db, code=2).stderr
run("prune", "--all", *db)
assert "--op nope: p.db has nothing of it (it has no results)" in run("prune", "--op", "nope", *db, code=2).stderr
assert run("check", *db).stdout == "p.db is whole: 0 GPUs, 0 winners, 0 trials, 0 cubins\n"
print(f"{len(commands)} commands of the README")
