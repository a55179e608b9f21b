#!/usr/bin/env python3
"""check_rules.py TUNE ROOT: rules of recordings and of a store, from trials to answers, locks and exports."""
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

tune, root = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
os.environ |= {"XDG_DATA_HOME": folder.name, "TILETUNE_SYSTEM_DB": "", "CUDA_VISIBLE_DEVICES": ""}
os.environ.pop("TILETUNE_DB", None)
H200, H100 = root / "recordings/h200.json", root / "recordings/h100.json"
RANDOM = root / "recordings/h200-random-16byte.json.gz"


def run(*arguments, code=0):
    done = subprocess.run([tune, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, (arguments, done)
    return done


def fails(words, *arguments, code=2):
    assert words in run(*arguments, code=code).stderr, (words, run(*arguments, code=code))


fails("--other-gpus", "rules", H200, H100)
fails("at most 8", "rules", H200, "--configs", 9)
fails("at least 2", "rules", H200, "--folds", 1)
fails("two problems at least", "rules", H200, "--op", "axpby", code=1)
fails("no rule for these problems", "rules", H200, "--op", "copy", "--shipped", code=1)
fails("there is no operation transpos; did you mean transpose?", "rules", H200, "--op", "transpos")
fails("/none.json", "rules", "/none.json", code=1)

# What is left out is lost more than what is known, and both less than the default.
row = re.compile(r"transpose, elem_size=16 +(\d) +(\d+) +([\d.]+)% +([\d.]+)% +([\d.]+)%")
left, known = (row.search(run("rules", RANDOM, "--op", "transpose", *more).stdout) for more in ((), ("--shipped",)))
assert int(left[1]) <= 8 and left[2] == known[2] == "10", (left, known)
assert float(known[3]) <= float(left[3]) < float(left[5]), (left, known)
cases = json.loads(run("rules", RANDOM, "--op", "transpose", "--json").stdout)["problems"]
worst = max(case["time_us"] / case["best_us"] for case in cases)
assert len(cases) == 10 and f"{100 * (worst - 1):.1f}" == left[4], (cases, left)

# Where the default is the fastest there is no rule, and what is left out of the table is left out of JSON.
sound = json.loads(pathlib.Path(H200).read_text(encoding="utf-8"))
sizes = [problem.get("bytes") for problem in sound["metadata"]["problems"]]
default = {case.get("bytes"): case["default_us"] for case in json.loads(run("rules", H200, "--json").stdout)["problems"]}
for trial in sound["results"]:
    size, times = sizes[trial["problem"]], [one for one in trial["measurements"] if one["name"] == "time"]
    if size and abs(times[0]["value"] * 1000 - default[size]) > 1e-6:
        times[0]["value"] *= 2
        trial["times"]["runtimes"] = [2 * ms for ms in trial["times"]["runtimes"]]
pathlib.Path("default.json").write_text(json.dumps(sound), encoding="utf-8")
assert "copy" not in run("rules", "default.json").stdout
assert {case["op"] for case in json.loads(run("rules", "default.json", "--json").stdout)["problems"]} == {"transpose", "transpose_ladder"}
few = row.search(run("rules", RANDOM, "--op", "transpose", "--configs", 2, "--folds", 3, "--output", "two.rules").stdout)
assert few[1] == "2" and open("two.rules").read().count("\nconfig ") == 2, few

# A store keeps its rules, and so do its exports, its locks and what is merged.
run("--device", f"replay:{H200}", "--sizes", "1024,2048,4096", "--effort", "exhaustive", "--db", "s.db", "--quiet")
best = ("best", "--gpu", "h200", "--size", 3000)
assert "from           what comes with tiletune" in run(*best, "--db", "s.db").stdout
run("rules", "--db", "s.db", "--op", "transpose")
run("lock", "--db", "s.db", "--output", "lock.db")
run("export", "--gpu", "h200", "--db", "s.db", "--output", "s.json")
run("import", "s.json", "--db", "imported.db")
run("merge", "merged.db", "s.db")
for db in "s.db", "imported.db", "merged.db":
    said = run(*best, "--db", db).stdout
    assert "match          rule: not measured; chosen by what 3 other problems took" in said and "from           your store" in said, said
# "tune list" shows them, and of what comes with tiletune what the store does not replace.
listed = json.loads(run("list", "--gpu", "h200", "--db", "s.db", "--json").stdout)
places = [tuple(w[k] for k in ("rows", "cols", "elem_size", "batch")) for w in listed["winners"]]
assert len(set(places)) == len(places) > 50 and places[0] == (1024, 1024, 4, 1) and listed["winners"][0]["source"] == "replayed", places
assert {r["source"] for r in listed["rules"]} == {"store", "shipped"}, listed["rules"]
assert re.search(r"transpose, elem_size=4 +NVIDIA H200 +\d +3  store", run("list", "--db", "s.db").stdout)
fails("has no winner", *best, "--lock", "lock.db", code=1)
assert "is whole" in run("check", "--db", "merged.db").stdout
assert "match          exact" in run("best", "--gpu", "h200", "--size", 4096, "--db", "s.db").stdout

# They go with all that an operation has, and not before.
for part, kept in (("--kernel", "transpose_tiled"), 1), (("--op", "transpose"), 0):
    run("prune", *part, "--db", "imported.db")
    assert sqlite3.connect("imported.db").execute("select count(*) from rule").fetchone()[0] == kept, part

# A run keeps one.
done = run("--device", f"replay:{H200}", "--sizes", "1024,4096", "--db", "run.db", "--configs", 2, "--effort", "quick")
assert "the store has 1 rule for other problems" in done.stderr, done
assert "chosen by what 2 other problems took" in run(*best, "--db", "run.db").stdout
# All that it chose from is measured for each of the problems.
run("--device", f"replay:{H200}", "--sizes", "8192,16384", "--db", "even.db", "--configs", 4, "--max-trials", 6, "--strategy", "random")
rule = sqlite3.connect("even.db").execute("select text from rule").fetchone()[0]
assert rule.count("\nat ") == 2 and "\nconfig " in rule and not re.search(r"^at .*: .*-", rule, re.M), rule
fails("at most 8", "--device", f"replay:{H200}", "--sizes", 1024, "--db", "run.db", "--configs", 9)
fails("give --db, too", "--device", f"replay:{H200}", "--sizes", 1024, "--configs", 2)
fails("only one problem is known", "--device", f"replay:{H200}", "--sizes", 1024, "--db", "one.db", "--configs", 2, code=1)
print("rules are made, judged, kept and carried")
