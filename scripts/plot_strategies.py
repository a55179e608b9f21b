#!/usr/bin/env python3
"""Draws how fast search strategies come to the optimum, from what bench-strategies --output wrote.

    plot_strategies.py [CSV [SVG]]    default: bench/results/strategies.csv docs/search.svg

Left the median over the seeds, averaged over the spaces; right the 5th percentile of the worst space.
"""
import collections
import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLOURS = {"surrogate": "#0b62a4", "model": "#d1495b", "local": "#2e8b57", "genetic": "#b8860b", "random": "#6b6b6b"}
WIDTH, HEIGHT, TOP, BOTTOM, LEFT, GAP, PANEL = 960, 400, 50, 60, 60, 70, 330
LOWEST = 0.80


def read(path):
    """Per strategy and start: {evaluations: [(median, p5) of each space]}."""
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            curves[row["strategy"], row["starts"]][int(row["evaluations"])].append(
                (float(row["median"]), float(row["p5"])))
    return curves


def mean_of_medians(spaces):
    return sum(median for median, _ in spaces) / len(spaces)


def worst_of_p5(spaces):
    return min(p5 for _, p5 in spaces)


class Panel:
    """One set of axes: evaluations to the right, part of the optimum upwards."""

    def __init__(self, left, last):
        self.left, self.last = left, last

    def x(self, evaluations):
        return self.left + PANEL * (evaluations - 1) / max(self.last - 1, 1)

    def y(self, part):
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - max(part, LOWEST)) / (1 - LOWEST)

    def axes(self, title):
        yield f'<text x="{self.left}" y="{TOP - 18}" class="title">{title}</text>'
        for percent in range(round(LOWEST * 100), 101, 5):
            y = self.y(percent / 100)
            yield f'<line x1="{self.left}" x2="{self.left + PANEL}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            yield f'<text x="{self.left - 8}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>'
        y = self.y(0.99)
        yield f'<line x1="{self.left}" x2="{self.left + PANEL}" y1="{y:.1f}" y2="{y:.1f}" class="goal"/>'
        for evaluations in [1, *range(20, self.last + 1, 20)]:
            yield (f'<text x="{self.x(evaluations):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
                   f"{evaluations}</text>")
        yield (f'<text x="{self.left + PANEL / 2}" y="{HEIGHT - BOTTOM + 38}" text-anchor="middle">'
               "configurations tried</text>")

    def line(self, curve, value, colour, dashed):
        points = " ".join(f"{self.x(e):.1f},{self.y(value(spaces)):.1f}" for e, spaces in sorted(curve.items()))
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'


def legend(keys):
    for i, (strategy, starts) in enumerate(keys):
        x, y = LEFT + 2 * PANEL + GAP + 15, TOP + 12 + 22 * i
        dash = ' stroke-dasharray="5 4"' if starts == "warm" else ""
        yield f'<line x1="{x}" x2="{x + 24}" y1="{y}" y2="{y}" stroke="{COLOURS[strategy]}" stroke-width="2"{dash}/>'
        yield f'<text x="{x + 30}" y="{y + 4}">{strategy}{", warm" if starts == "warm" else ""}</text>'


def draw(curves):
    keys = [(s, "cold") for s in COLOURS if (s, "cold") in curves] + [("surrogate", "warm")]
    keys = [key for key in keys if key in curves]
    last = max(max(curves[key]) for key in keys)
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="12">')
    yield ("<style>.title{font-weight:bold}.grid{stroke:#ddd}.goal{stroke:#888;stroke-dasharray:2 3}</style>"
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    spaces = len(next(iter(curves[keys[0]].values())))
    for left, title, value in ((LEFT, f"median seed, mean of {spaces} spaces", mean_of_medians),
                               (LEFT + PANEL + GAP - 10, "5th percentile of seeds, worst space", worst_of_p5)):
        panel = Panel(left, last)
        yield from panel.axes(title)
        for strategy, starts in keys:
            yield from panel.line(curves[strategy, starts], value, COLOURS[strategy], starts == "warm")
    yield from legend(keys)
    yield "</svg>"


def main():
    if len(sys.argv) > 3:
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "bench/results/strategies.csv"
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/search.svg"
    target.write_text("\n".join(draw(read(source))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
