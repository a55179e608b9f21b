#!/usr/bin/env python3
"""Puts what bench-strategies prints into the table of docs/search.md.

    bench-strategies --seeds 100 --output bench/results/strategies.csv RECORDING... > bench/results/strategies.txt
    scripts/strategies_table.py         # --check writes nothing and exits 1 if the page is not what would be made
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- strategies:begin -->\n", "<!-- strategies:end -->\n"
COLUMNS = [("surrogate", "cold"), ("surrogate", "warm"), ("model", "cold"), ("local", "cold"), ("genetic", "cold"),
           ("random", "cold")]
HEAD = ["bytes", "size", "space", "good", "surrogate", "... warm", "model", "local", "genetic", "random"]


def read(path):
    """{(bytes, size): ("space", "good")}, {(strategy, start, bytes, size): "median, 95th"}"""
    spaces, evaluations = {}, {}
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if len(words) != 8 or not words[2].isdigit():  # the header, and the worst of each strategy
            continue
        strategy, start, elem_size, size, space, good, median, most = words
        key = int(elem_size), int(size.split("x")[0])
        spaces[key] = f"{int(space):,}", good
        evaluations[strategy, start, *key] = f"{median}, {most}"
    return spaces, evaluations


def make():
    spaces, evaluations = read(ROOT / "bench/results/strategies.txt")
    lines = [HEAD]
    for key in sorted(spaces):
        cells = [evaluations.get((*column, *key), "") for column in COLUMNS]
        lines.append([str(key[0]), str(key[1]), *spaces[key], f"**{cells[0]}**", *cells[1:]])
    head, *rows = ["| " + " | ".join(line) + " |\n" for line in lines]
    return "".join([head, "|---" * len(HEAD) + "|\n", *rows])


def main():
    page = ROOT / "docs/search.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    made = before + BEGIN + "\n" + make() + "\n" + END + after
    if "--check" in sys.argv[1:]:
        if made != text:
            sys.exit("docs/search.md is not what scripts/strategies_table.py makes of bench/results/strategies.txt")
        return
    page.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
