#!/usr/bin/env python3
"""Makes the fixture of the rules: tests/planted/fixture.py EXPLAINED.json ... > tests/data/planted.txt

Each file has what `tune explain --json` says of a planted kernel of that name. A line has the facts of its winner.
"""
import json
import pathlib
import sys

FACTS = ["time_us", "moved_bytes", "in_bytes", "out_bytes", "copy_gbps", "copy_dram_gbps", "launches", "blocks", "threads", "regs",
         "shared_bytes", "resident_blocks", "occupancy", "local_bytes", "halves", "replays"]


def numbers(values):
    return " ".join("nan" if value is None else f"{value:.9g}" for value in values)


def line(path):
    said = json.loads(path.read_text())
    winner = said["configs"][0]
    facts = [winner[name] or 0 for name in FACTS]
    return " ".join([path.stem, numbers([said["cc"], said["sm_count"], said["peak_gbps"], said["roofline"]["l2_gbps"]]), numbers(facts),
                     numbers(winner["instructions"].values()), numbers(winner["counters"].values())])


print("# name; cc sm_count peak_gbps l2_gbps;", " ".join(FACTS) + "; instructions and counters as in tune explain --json")
for path in sorted(map(pathlib.Path, sys.argv[1:])):
    print(line(path))
