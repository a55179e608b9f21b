#!/usr/bin/env python3
"""Makes small.json, a part of recordings/h200.json for tests that need some trials and not all of a GPU.

    tests/data/cut_recording.py [--check]    with --check it writes nothing, and fails if the file would change

Of each problem stay the winner, what differs from it in one parameter, the defaults, and every 16th other trial; and all
trials of the ladder.
"""
import json
import pathlib
import re
import sys

EVERY = 16
ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "kernel_templates"
SMALL = ROOT / "tests/data/small.json"

lines = (ROOT / "recordings/h200.json").read_text().splitlines()
recording = json.loads("\n".join(lines))
results = recording["results"]
defaults = {kernel: dict(word.split("=") for word in words[1].split()) for kernel in recording["metadata"]["kernels"]
            if (words := re.search(r"@ default +(.*)", (TEMPLATES / f"{kernel}.cu").read_text()))}
first = next(number for number, line in enumerate(lines) if line.startswith('"results"'))


def time_of(result):
    return result["measurements"][0]["value"]


winners = {}
for result in results:
    if result["stage"] == "final" and time_of(result) <= time_of(winners.get(result["problem"], result)):
        winners[result["problem"]] = result


def is_kept(result):
    if result["kernel"].startswith("ladder_"):
        return True
    winner, configuration = winners[result["problem"]], result["configuration"]
    if {name: str(value) for name, value in configuration.items()} == defaults.get(result["kernel"]):
        return True
    if result["kernel"] != winner["kernel"]:
        return False
    return sum(value != winner["configuration"][name] for name, value in configuration.items()) <= 1


kept, passed = [], 0
for result in results:
    if is_kept(result):
        kept.append(result)
    else:
        if passed % EVERY == 0:
            kept.append(result)
        passed += 1
rows = ",\n".join(json.dumps(result, separators=(",", ":")) for result in kept)
text = "\n".join([*lines[:first], f'"results":[\n{rows}\n]}}', ""])
if sys.argv[1:] != ["--check"]:
    SMALL.write_text(text)
elif SMALL.read_text() != text:
    sys.exit("tests/data/small.json differs from what recordings/h200.json gives: run tests/data/cut_recording.py")
