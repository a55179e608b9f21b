#!/usr/bin/env python3
"""Makes bench/results/strategies.md, a table of what bench-strategies prints.

    bench-strategies RECORDING... > bench/results/strategies.csv
    scripts/strategies_table.py         # --check writes nothing and exits 1 if the page is out of date
"""
import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "bench/results/strategies.csv"
PAGE = ROOT / "bench/results/strategies.md"
COLUMNS = [("surrogate", "cold"), ("surrogate", "warm"), ("model", "cold"), ("random", "cold")]
HEAD = ["bytes", "size", "space", "good", "surrogate", "... warm", "model", "random"]

INTRODUCTION = """# How many trials a search needs

<!-- Made by scripts/strategies_table.py from strategies.csv: do not edit. -->

`bench-strategies` searches the spaces that `recordings/h200*.json` holds (NVIDIA H200, driver 580.159.04, searched at commit
64f74182). A row is one space, with 100 seeds. A cell has the trials until within 1 % of the fastest: the median, and the 95th
percentile. "-" is more than 100. `good` counts the configurations within 1 %. `warm` starts from the other sizes of the same
element size; the other columns start from an empty store.

"""


def read(path):
    """{(bytes, size): {strategy: row}}"""
    spaces = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            spaces.setdefault((int(row["elem_size"]), int(row["rows"])), {})[row["strategy"]] = row
    return spaces


def make():
    lines = [HEAD]
    for (elem_size, size), rows in sorted(read(SOURCE).items()):
        one = rows["surrogate"]
        cells = [f"{rows[name][start]}, {rows[name][start + '_95']}" for name, start in COLUMNS]
        lines.append([str(elem_size), str(size), f"{int(one['space']):,}", one["good"], f"**{cells[0]}**", *cells[1:]])
    head, *rows = ["| " + " | ".join(line) + " |\n" for line in lines]
    return "".join([head, "|---" * len(HEAD) + "|\n", *rows])


def main():
    text = INTRODUCTION + make()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE} is out of date: run scripts/strategies_table.py")


if __name__ == "__main__":
    main()
