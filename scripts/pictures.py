#!/usr/bin/env python3
"""Draws the pictures of README.md and docs/ from bench/results/: scripts/pictures.py [--check]

Each becomes docs/img/NAME-light.svg and docs/img/NAME-dark.svg. --check writes nothing, and exits 1 if a file is
not what would be drawn.
"""
import collections
import csv
import html
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS, IMAGES = ROOT / "bench" / "results", ROOT / "docs" / "img"
THEMES = {
    "light": {"back": "#ffffff", "text": "#1f2328", "faint": "#59636e", "grid": "#d8dee4", "bar": "#9aa4af",
              "blue": "#0969da", "green": "#1a7f37", "orange": "#bc4c00", "purple": "#8250df", "red": "#cf222e"},
    "dark": {"back": "#0d1117", "text": "#f0f6fc", "faint": "#9198a1", "grid": "#2f353d", "bar": "#656c76",
             "blue": "#58a6ff", "green": "#56d364", "orange": "#f0883e", "purple": "#bc8cff", "red": "#ff7b72"},
}
WIDTH = 960


class Picture:
    """SVG as lines of text; colours are names of the theme."""

    def __init__(self, theme, height, title):
        self.theme = theme
        self.lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                      f'height="{height}" font-family="Helvetica, Arial, sans-serif" role="img">',
                      f"<title>{html.escape(title)}</title>",
                      f'<rect width="{WIDTH}" height="{height}" fill="{theme["back"]}"/>']

    def text(self, x, y, text, anchor="start", size=14, colour="text", bold=False):
        weight = ' font-weight="bold"' if bold else ""
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{weight} '
                          f'fill="{self.theme[colour]}">{html.escape(text)}</text>')

    def line(self, x1, y1, x2, y2, colour="grid"):
        self.lines.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{self.theme[colour]}"/>')

    def bar(self, x, y, width, height, colour):
        self.lines.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
                          f'fill="{self.theme[colour]}"/>')

    def path(self, points, colour, width=2, dash=""):
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.lines.append(f'<polyline points="{where}" fill="none" stroke="{self.theme[colour]}" '
                          f'stroke-width="{width}" stroke-linejoin="round"{dashed}/>')

    def mark(self, x, y, shape, colour):
        """A small shape, so that lines differ without colour, too."""
        corners = {"square": [(-4, -4), (4, -4), (4, 4), (-4, 4)], "triangle": [(0, -5), (5, 4), (-5, 4)],
                   "diamond": [(0, -6), (5, 0), (0, 6), (-5, 0)]}.get(shape)
        if corners:
            where = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
            self.lines.append(f'<polygon points="{where}" fill="{self.theme[colour]}"/>')
        else:
            self.lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{self.theme[colour]}"/>')

    def done(self):
        return "\n".join(self.lines + ["</svg>"]) + "\n"


class Axes:
    """A panel with straight axes: x and y of data to places in the picture."""

    def __init__(self, picture, left, width, top, height, first, last, most):
        self.picture, self.left, self.width, self.top, self.height = picture, left, width, top, height
        self.first, self.last, self.most = first, last, most

    def x(self, value):
        return self.left + self.width * (value - self.first) / (self.last - self.first)

    def y(self, value):
        return self.top + self.height * (1 - value / self.most)

    def draw(self, title, x_marks, y_marks, below):
        p = self.picture
        p.text(self.left, self.top - 16, title, size=16, bold=True)
        for value, text in y_marks:
            p.line(self.left, self.y(value), self.left + self.width, self.y(value))
            p.text(self.left - 8, self.y(value) + 5, text, "end", 13, "faint")
        for value, text in x_marks:
            p.text(self.x(value), self.top + self.height + 20, text, "middle", 13, "faint")
        p.text(self.left + self.width / 2, self.top + self.height + 42, below, "middle", 13, "faint")


def legend(p, y, entries):
    """(text, colour, shape, dash, width) from left to right."""
    x = 60
    for text, colour, shape, dash, width in entries:
        p.path([(x, y), (x + 30, y)], colour, width, dash)
        if shape:
            p.mark(x + 15, y, shape, colour)
        p.text(x + 37, y + 5, text)
        x += 70 + 7.4 * len(text)


def load(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


# ---- Bandwidth over size ---------------------------------------------------------------------------------

LINES = [("tiletune", "ours", "blue", "circle", "", 3), ("tuned copy", "copy", "text", "", "6 4", 2),
         ("cuBLAS geam", "geam", "orange", "square", "", 2), ("cuTENSOR", "cutensor", "purple", "diamond", "", 2),
         ("PyTorch", "contiguous", "red", "triangle", "", 2)]


def squares(result):
    """{peer: {N: GB/s}} of square matrices of 4 bytes, cold."""
    found = collections.defaultdict(dict)
    for case in result["cases"]:
        plain = case.get("lds", case["cols"]) == case["cols"] and case.get("batch", 1) == 1 and not case.get("in_place")
        if case["rows"] == case["cols"] and case["elem_size"] == 4 and plain and case["rows"] & (case["rows"] - 1) == 0:
            for peer, measured in case["regimes"]["cold"].items():
                if isinstance(measured, dict) and measured.get("gbps"):
                    found[peer][case["rows"]] = measured["gbps"]
    return found


def bandwidth(theme):
    p = Picture(theme, 430, "Bandwidth of transposing N x N floats, by N")
    legend(p, 24, [(text, colour, shape, dash, width) for text, _, colour, shape, dash, width in LINES])
    for gpu, left in (("h200", 60), ("h100", 535)):
        result = load(f"peers-{gpu}.json")
        found = squares(result)
        found.update({peer: at for peer, at in squares(load(f"pytorch-{gpu}.json")).items() if peer == "contiguous"})
        axes = Axes(p, left, 390, 88, 280, math.log2(512), math.log2(32768), 4500)
        axes.draw(result["gpu"]["name"] + ", GB/s", [(k, str(2 ** k)) for k in range(9, 16)],
                  [(v, str(v)) for v in range(0, 4501, 1000)], "N (N x N floats, cold L2 cache)")
        for _, peer, colour, shape, dash, width in reversed(LINES):
            points = [(axes.x(math.log2(n)), axes.y(gbps)) for n, gbps in sorted(found[peer].items())]
            if points:
                p.path(points, colour, width, dash)
            for x, y in points if shape else []:
                p.mark(x, y, shape, colour)
    return p.done()


# ---- The ladder ------------------------------------------------------------------------------------------

RUNGS = [("naive_read", "naive, coalesced reads"), ("naive_write", "naive, coalesced writes"),
         ("unrolled", "unrolled"), ("vector_store", "vectorised stores"), ("tile_load", "tile, conflicts on load"),
         ("tile_store", "tile, conflicts on store"), ("padded", "tile, padded"), ("tiles", "several tiles a block"),
         ("winner", "winner"), ("tuned_copy", "tuned copy")]


def ladder(theme):
    p = Picture(theme, 390, "From the naive transpose to the tuned one")
    for gpu, left, width in (("h200", 200, 280), ("h100", 610, 280)):
        with open(RESULTS / f"study-{gpu}.csv", encoding="utf-8", newline="") as file:
            rows = {row["rung"]: row for row in csv.DictReader(file) if row["rows"] == row["cols"] == "16384"}
        p.text(left, 26, next(iter(rows.values()))["gpu"] + ", GB/s", size=16, bold=True)
        for at, (rung, text) in enumerate(RUNGS):
            y, gbps = 46 + 31 * at, float(rows[rung]["gbps"])
            if left == 200:
                p.text(left - 12, y + 16, text, "end", bold=rung == "winner")
            p.bar(left, y, width * gbps / 4500, 22, {"winner": "blue", "tuned_copy": "faint"}.get(rung, "bar"))
            p.text(left + width * gbps / 4500 + 8, y + 16, f"{gbps:.0f}", bold=rung == "winner")
    p.text(200, 376, "16384 x 16384 floats, cold L2 cache", size=13, colour="faint")
    return p.done()


# ---- Time to a verified winner ---------------------------------------------------------------------------

PARTS = [("verify_s", "verifying", "orange"), ("compile_s", "compiling", "purple"), ("", "the rest", "bar")]


def winner(theme):
    data = load("time-to-winner-h100.json")
    p = Picture(theme, 110 + 46 * len(data["runs"]), "Seconds from an empty cache to a verified winner")
    p.text(20, 28, f"Seconds to a verified winner, {data['gpu']}, {data['cores']} cores", size=16, bold=True)
    left, scale = 360, 500 / 88
    for at, run in enumerate(data["runs"]):
        y, x, ours = 50 + 46 * at, left, run["tool"] == "tiletune"
        sizes = " and ".join(str(n) for n in run["sizes"])
        p.text(left - 12, y + 12, run["tool"] + ("" if ours else " " + run["version"]) + f", N = {sizes}", "end", bold=ours)
        p.text(left - 12, y + 29, run["what"], "end", 13, "faint")
        rest = run["seconds"]
        for key, _, colour in PARTS:
            part = run.get(key, 0) if key else rest
            p.bar(x, y, part * scale, 26, "blue" if ours else colour)
            x, rest = x + part * scale, rest - part
        p.text(x + 8, y + 18, f"{run['seconds']:g} s", bold=ours)
    y = 50 + 46 * len(data["runs"]) + 24
    for at, (_, text, colour) in enumerate(PARTS):
        p.bar(left + 130 * at, y, 14, 14, colour)
        p.text(left + 130 * at + 21, y + 12, text, size=13, colour="faint")
    return p.done()


# ---- Trials to the optimum -------------------------------------------------------------------------------

STRATEGIES = [("surrogate", "default", "blue", "", 3), ("model", "model", "red", "12 3 3 3", 2),
              ("random", "random", "faint", "3 3", 2)]
LAST = 100  # trials


def search(theme):
    needed = collections.defaultdict(list)
    with open(RESULTS / "strategies.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            needed[row["strategy"]].append([math.inf if row[key] == "-" else int(row[key]) for key in ("cold", "cold_95")])
    p = Picture(theme, 430, "Search spaces that are within 1 % of the fastest, by trials")
    legend(p, 24, [(text, colour, "", dash, width) for _, text, colour, dash, width in STRATEGIES])
    for at, (title, left) in enumerate((("Spaces solved, median of 100 seeds", 60),
                                      ("Spaces solved, 95th percentile", 535))):
        axes = Axes(p, left, 390, 88, 280, 1, LAST, 1)
        axes.draw(title, [(n, str(n)) for n in (1, *range(20, LAST + 1, 20))],
                  [(n / 5, f"{20 * n} %") for n in range(6)],
                  f"trials (solved: within 1 % of the fastest; {len(needed['random'])} spaces)")
        for strategy, _, colour, dash, width in STRATEGIES:
            counts = [each[at] for each in needed[strategy]]
            p.path([(axes.x(n), axes.y(sum(c <= n for c in counts) / len(counts))) for n in range(1, LAST + 1)],
                   colour, width, dash)
    return p.done()


PICTURES = {"bandwidth": bandwidth, "ladder": ladder, "winner": winner, "search": search}


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    made = {f"{name}-{theme}.svg": draw(colours) for name, draw in PICTURES.items() for theme, colours in THEMES.items()}
    if not check:
        IMAGES.mkdir(exist_ok=True)
        for name, text in made.items():
            (IMAGES / name).write_text(text, encoding="utf-8")
        return
    there = {path.name: path.read_text(encoding="utf-8") for path in IMAGES.glob("*.svg")
             if not path.name.startswith("terminal-")}  # scripts/terminal.py draws those
    stale = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    if stale:
        sys.exit(f"docs/img/ is out of date ({', '.join(stale)}): run scripts/pictures.py")


if __name__ == "__main__":
    main()
