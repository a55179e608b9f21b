#!/usr/bin/env python3
"""Makes a fixture of the rules: tests/planted/fixture.py EXPLAINED.json ... > tests/data/planted-GPU.txt

Each file has what `tune explain --json` says of a planted kernel of that name. The first line names the columns. The others
have the facts of a winner: the kernel, the rule that must be named first, whether it is a control, and numbers.
"""
import json
import pathlib
import re
import sys

GPU = ["cc", "sm_count", "peak_gbps"]
FACTS = ["time_us", "moved_bytes", "in_bytes", "out_bytes", "copy_gbps", "copy_dram_gbps", "launches", "blocks", "threads", "regs",
         "shared_bytes", "resident_blocks", "occupancy", "local_bytes", "halves", "doubles", "replays"]
HERE = pathlib.Path(__file__).resolve().parent


def facts(path):
    """By the name of the column."""
    said = json.loads(path.read_text())
    winner = said["configs"][0]
    return {**{name: said[name] for name in GPU}, "l2_gbps": said["roofline"]["l2_gbps"], **{name: winner[name] or 0 for name in FACTS},
            **{f"sass.{name}": value for name, value in winner["instructions"].items()}, **winner["counters"]}


def number(value):
    return "nan" if value is None else f"{value:.9g}"


def expected(name):
    """The rule, and 1 for a control."""
    control = (HERE / "controls" / f"{name}.cu").exists()
    text = (HERE / ("controls" if control else "") / f"{name}.cu").read_text()
    found = re.search(r"^// Expected: (\w+)$", text, re.MULTILINE)
    return [found[1] if found else name, str(int(control))]


rows = {path.stem: facts(path) for path in sorted(map(pathlib.Path, sys.argv[1:]))}
columns = list(next(iter(rows.values())))
print("kernel expected control", *columns)
for name, row in rows.items():
    print(name, *expected(name), *(number(row[column]) for column in columns))
