#!/usr/bin/env python3
"""test_kernel_tuner.py TUNE ROOT FOLDER: what `tune export` writes is read by Kernel Tuner 1.5.0 and
autotuning_methodology, and what Kernel Tuner writes by `tune import`.

The packages come from the package index into a virtual environment in FOLDER, which later runs use again. Without the
index, or without TT_WORLD=1, the test is skipped (exit code 77).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from t4_cases import KERNEL, hub

PACKAGES = "kernel-tuner==1.5.0", "autotuning_methodology==1.1.0"
SKIPPED = 77
tune, root, venv = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
python = venv / "bin/python"

# Runs in the virtual environment: READER CACHE T4. Prints what the packages have found.
READER = """
import json, pathlib, sys, warnings
warnings.simplefilter("ignore")
from kernel_tuner import file_utils, util
from kernel_tuner.interface import tune_cache
from autotuning_methodology.searchspace_statistics import SearchspaceStatistics

cache, t4, output = sys.argv[1:]
found = {}
for strategy, options in (("brute_force", {}), ("genetic_algorithm", {"max_fevals": 20}), ("random_sample", {"time_limit": 1})):
    results, env = tune_cache(cache, strategy=strategy, strategy_options=options, quiet=True)
    good = [r for r in results if "__error__" not in r]
    best = min(good, key=lambda r: r["time"])
    found[strategy] = {"device": env["device_name"], "results": len(results), "time": best["time"],
                       "best": {k: best[k] for k in json.load(open(cache))["tune_params_keys"]}}
    if strategy == "brute_force":
        file_utils.store_output_file(output, results, json.load(open(cache))["tune_params"])
found["errors"] = sorted(str(e["__error__"]) for e in util.read_cache(cache, open_cache=False)["cache"].values()
                         if "__error__" in e)
s = SearchspaceStatistics("a kernel", "a GPU", True, ["compilation", "runtimes", "framework", "search_algorithm",
                          "validation"], ["time"], pathlib.Path(t4))
found["statistics"] = {"size": s.size, "best": s.total_performance_absolute_optimum(), "seconds": s.total_time_mean()}
print(json.dumps(found))
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


if os.environ.get("TT_WORLD") != "1":
    skip("only with TT_WORLD=1")


def make_environment():
    """A file says that the environment is whole."""
    whole = venv / "whole"
    if whole.exists() and whole.read_text() == " ".join(PACKAGES):
        return
    for command in ([sys.executable, "-m", "venv", "--clear", venv],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir",
                     "--prefer-binary", "--timeout=10", "--retries=0", *PACKAGES]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        except (OSError, subprocess.TimeoutExpired) as error:
            skip(error)
        if done.returncode:
            skip(f"{PACKAGES[0]} and {PACKAGES[1]} cannot be had: {done.stderr.strip()[-500:]}")
    whole.write_text(" ".join(PACKAGES))


def run(*command):
    env = {**os.environ, "TILETUNE_TRUST_STORE": "1", "TILETUNE_NVRTC": "/nonexistent", "HOME": os.getcwd()}
    done = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def there_and_back(gpu, *part):
    """Exports both formats of a part of s.db, and reads them."""
    export = [tune, "export", "--db", "s.db", "--gpu", gpu, *part]
    run(*export, "--format", "kernel-tuner-cache", "--output", "cache.json")
    run(*export, "--output", "t4.json")
    return json.loads(run(python, "-I", "-c", READER, "cache.json", "t4.json", "kt.json"))


def check_failures():
    """A file as the hub has it, with every kind of failure."""
    pathlib.Path("scale.cu").write_text(KERNEL)
    pathlib.Path("hub.json").write_text(json.dumps(hub()))
    kernel = ["--kernel", "scale.cu"]
    run(tune, "import", "hub.json", "--db", "s.db", "--gpu", "A100", "--cc", "8.0", *kernel)
    found = there_and_back("A100", *kernel)
    assert found["errors"] == ["CompilationFailedConfig", "InvalidConfig", "RuntimeFailedConfig"], found
    assert found["statistics"]["size"] == 7 and found["statistics"]["best"] == 0.125, found
    for strategy in ("brute_force", "genetic_algorithm", "random_sample"):
        assert found[strategy]["device"] == "A100", found
    assert found["brute_force"]["results"] == 4 and found["brute_force"]["time"] == 0.125, found
    assert found["brute_force"]["best"] == {"THREADS": 128, "MODE": "fast"}, found
    # T4 that Kernel Tuner has written, and its cache file again.
    for name in ("kt.json", "cache.json"):
        run(tune, "import", name, "--db", name + ".db", "--gpu", "A100", "--cc", "8.0", *kernel)
        best = json.loads(run(tune, "best", "--db", name + ".db", "--gpu", "A100", *kernel, "--json"))
        assert best["config"] == {"THREADS": 128, "MODE": "fast"} and best["time_us"] == 125, best


def check_recording():
    """A real recording: one kernel and problem of many."""
    run(tune, "import", root / "recordings/h200.json", "--db", "s.db")
    found = there_and_back("H200", "--kernel", "transpose_tiled", "--size", "4096")
    best = min((entry for entry in json.loads(pathlib.Path("cache.json").read_text())["cache"].values()),
               key=lambda entry: entry["time"])
    assert found["brute_force"]["time"] == best["time"] and found["brute_force"]["results"] > 400, found
    assert found["genetic_algorithm"]["results"] >= 20, found
    statistics = found["statistics"]
    assert statistics["best"] <= best["time"] and 1e-5 < statistics["seconds"] < 1, found  # milliseconds, not seconds


make_environment()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_failures()
    pathlib.Path("s.db").unlink()
    check_recording()
print("read by", " and ".join(PACKAGES))
