#!/usr/bin/env python3
"""check_recording_for.py TUNE ROOT: scripts/recording_for finds what has the problems, or says which recordings there are."""
import os
import pathlib
import subprocess
import sys

tune, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
FOUND = {
    ("--sizes", "4096", "--dtype", "f16", "--json"): "h200-2bytes.json",
    ("--sizes", "4096", "--dtype", "f17"): "h200.json",  # tune says what is wrong
}
if os.environ.get("TT_LONG"):
    FOUND |= {("--sizes", "4096,8192"): "h200.json", ("--sizes", "4096", "--elem-size", "8"): "h200-8bytes.json", ("--shapes", "10000x12016"): "h200-shapes.json"}


def ask(*options):
    return subprocess.run([root / "scripts/recording_for", tune, *options], capture_output=True, text=True, cwd="/")


for options, name in FOUND.items():
    done = ask(*options)
    assert (done.returncode, done.stdout) == (0, f"recordings/{name}\n"), (options, done)
none = ask("--shapes", "4096x1024", "--dtype", "f16")
assert none.returncode == 2 and not none.stdout, none
for recording in sorted((root / "recordings").glob("*.json")):
    assert none.stderr.count(f"    recordings/{recording.name}:\n        ") == 1, none.stderr
assert "h200.json:\n        1024x1024; 2048x2048" in none.stderr, none.stderr
assert max(map(len, none.stderr.splitlines())) < 80, none.stderr
print(f"{len(FOUND) + 1} cases")
