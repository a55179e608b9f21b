#!/usr/bin/env python3
"""Makes bench/results/study.md from bench/results/study-*.csv, as `tune study --csv` writes them. For each GPU and
element size: the bandwidth of every rung by size, and all that was measured of the largest size.

    tune study --device 0 --sizes 512,1024,2048,4096,8192,16384,32768 --csv > bench/results/study-h200.csv
    scripts/study_tables.py             # --check writes nothing and exits 1 if the page is out of date
"""
import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "bench/results/study.md"
TITLES = {"copy": "copy", "naive_read": "naive, reads", "naive_write": "naive, writes", "unrolled": "unrolled",
          "vector_store": "vector stores", "tile_load": "tile, load", "tile_store": "tile, store",
          "padded": "padded", "tiles": "several tiles", "winner": "winner", "tuned_copy": "tuned copy"}

INTRODUCTION = """# The ladder, measured

<!-- Made by scripts/study_tables.py from study-*.csv: do not edit. -->

Driver 580.159.04, NVRTC 13.0. The H200 was measured at commit 20a8e30. The H100 was measured at commit a2401fc; its table is a
replay of that recording. Bandwidth is in GB/s of 10^9 bytes. [study.md](../../docs/study.md) explains the rungs.
"""


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
    return (f"\n## {rows[0]['gpu']}, {rows[0]['elem_size']}-byte elements\n\n" + table(lines)
            + ladder(list(sizes[largest].values())))


def main():
    text = INTRODUCTION + "".join(section(p) for p in sorted((ROOT / "bench/results").glob("study-*.csv")))
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE} is out of date: run scripts/study_tables.py")


if __name__ == "__main__":
    main()
