#!/usr/bin/env python3
"""Puts the tables of bench/results/study-*.csv, as `tune study --csv` writes them, into docs/study.md: for each
GPU and element size the bandwidth of every rung by size, and of the largest size all that was measured.

    tune study --device 0 --sizes 512,1024,2048,4096,8192,16384,32768 --csv > bench/results/study-h200-f32.csv
    scripts/study_tables.py             # --check writes nothing and exits 1 if the page is not what would be made
"""
import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- study:begin -->\n", "<!-- study:end -->\n"
TITLES = {"copy": "copy", "naive_read": "naive, reads", "naive_write": "naive, writes", "unrolled": "unrolled",
          "vector_store": "vector stores", "tile_load": "tile, load", "tile_store": "tile, store",
          "padded": "padded", "tiles": "several tiles", "winner": "winner", "tuned_copy": "tuned copy"}


def table(rows):
    head, *body = rows
    return "".join("| " + " | ".join(r) + " |\n" for r in [head, ["---"] * len(head), *body])


def number(text, form, factor=1):
    return form % (float(text) * factor) if text else "-"


def ladder(rows):
    """All columns of one size."""
    first = rows[0]
    lines = [["rung", "time, us", "GB/s", "vs naive", "of copy", "of peak", "occupancy", "regs", "shared, bytes"]]
    for r in rows:
        lines.append([TITLES[r["rung"]], number(r["time_us"], "%.1f"), number(r["gbps"], "%.0f"),
                      number(r["speedup_vs_naive"], "%.2fx"), number(r["copy_fraction"], "%.1f %%", 100),
                      number(r["peak_fraction"], "%.1f %%", 100), number(r["occupancy"], "%.0f %%", 100),
                      r["regs"] or "-", r["shared_bytes"]])
    winner = next(r for r in rows if r["rung"] == "winner")
    return (f"\n{first['rows']} x {first['cols']}; winner: `{winner['kernel']} {winner['config']}`\n\n"
            + table(lines))


def section(path):
    with path.open(newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    if not rows:
        raise SystemExit(f"{path}: no line of a study")
    sizes = {}
    for r in rows:
        sizes.setdefault((int(r["rows"]), int(r["cols"])), {})[r["rung"]] = r
    rungs = [r for r in TITLES if any(r in at for at in sizes.values())]
    lines = [["size"] + [TITLES[r] for r in rungs]]
    for (height, width), at in sizes.items():
        lines.append([str(height) if height == width else f"{height} x {width}"]
                     + [number(at[r]["gbps"], "%.0f") if r in at else "-" for r in rungs])
    largest = max(sizes, key=lambda s: s[0] * s[1])
    return (f"\n### {rows[0]['gpu']}, {rows[0]['elem_size']}-byte elements\n\n" + table(lines)
            + ladder(list(sizes[largest].values())))


def main():
    page = ROOT / "docs/study.md"
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        sys.exit(f"{page}: no place between {BEGIN.strip()} and {END.strip()}")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    made = "".join(section(p) for p in sorted((ROOT / "bench/results").glob("study-*.csv")))
    now = before + BEGIN + made + ("\n" if made else "") + END + after
    if "--check" in sys.argv[1:]:
        sys.exit(0 if now == text else "docs/study.md is not what bench/results/study-*.csv say: scripts/study_tables.py")
    page.write_text(now, encoding="utf-8")


if __name__ == "__main__":
    main()
