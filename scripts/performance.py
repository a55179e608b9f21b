#!/usr/bin/env python3
"""Makes the tables of bench/results/*.json: scripts/performance.py [--check]

bench/results/peers-GPU.md has everything that was measured on a GPU. docs/performance.md gets the targets that are missed, and a
selection of cases, of all GPUs side by side. Of each GPU the newest file of bench-peers counts, and of bench/counters.py and
bench/pytorch.py if there is one. --check writes nothing, and exits 1 if a page is out of date.
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "bench" / "results", ROOT / "docs" / "performance.md"
PEERS = [("memcpy", "cuMemcpy"), ("mirrored", "mirrored copy"), ("geam", "geam"), ("cutensor", "cuTENSOR")]
LIBRARIES = ["geam", "cutensor"]
TORCH = [("memcpy", "copy"), ("contiguous", "`x.t().contiguous()`"), ("compiled", "the same, `torch.compile`"),
         ("copy_", "`y.copy_(x.t())`")]
TORCH_PEERS = [("contiguous", "x PyTorch"), ("compiled", "x torch.compile")]  # columns of docs/performance.md
BEGIN, END = "<!-- measured:begin -->\n", "<!-- measured:end -->\n"
COLUMNS = ["case", "us", "GB/s", "of the tuned copy"] + [f"x {name}" for _, name in PEERS]

WARM = ("warm", "graph-warm")

GROUPS = [  # group, what it is called
    ("large-4", "4 bytes, 256 MB and more"),
    ("square-medium", "4 bytes, 4096 and 2048"),
    ("square-small", "4 bytes, 1024 and 512"),
    ("large-2", "2 bytes, 256 MB and more"),
    ("large-1", "1 byte, 256 MB and more"),
    ("large-8-16", "8 and 16 bytes, 256 MB and more"),
    ("rectangular", "Rectangular, down to 64 x 4M and 4M x 64"),
    ("batch", "Batch of 64 x 1024 x 1024, 2 bytes"),
    ("in-place", "In place, square"),
    ("no-multiple", "No multiple of a tile, rows of whole 16 bytes"),
    ("odd", "Odd leading dimensions, 1 to 8 bytes"),
    ("random", "60 random shapes of all types"),
    ("file", "Others"),
]
NARROW = [  # the groups of `bench-peers --cases narrow`
    ("few-columns", "Few columns"),
    ("few-rows", "Few rows"),
    ("small", "Small matrices in batches"),
    ("gaps", "With gaps"),
    ("in-place-lines", "In place, rows of whole 16 bytes that are no whole lines"),
    ("in-place-odd", "In place, rows that begin anywhere"),
]
TARGETS = [  # group, regime, against which, at least
    ("large-4", "cold", ["copy"], 0.975),
    ("large-4", "cold", ["mirrored"], 1.0),
    ("large-4", "cold", LIBRARIES, 1.0),
    ("square-medium", "cold", ["copy"], 0.975),
    ("square-small", "cold", ["copy"], 0.97),
    ("square-small", "graph-warm", ["copy"], 0.90),
    ("large-2", "cold", ["copy"], 0.97),
    ("large-1", "cold", ["copy"], 0.96),
    ("large-8-16", "cold", ["copy"], 0.975),
    ("rectangular", "cold", ["copy"], 0.94),
    ("batch", "cold", ["copy"], 0.97),
    ("in-place", "cold", ["copy"], 0.95),
    ("no-multiple", "cold", ["copy"], 0.95),
    ("odd", "cold", ["copy"], 0.85),
    ("odd", "cold", ["geam"], 1.0),
    ("random", "cold", ["copy"], 0.80),
    ("random", "cold", LIBRARIES, 0.98),
]
SHOWN = ["4 B 1024 x 1024", "4 B 4096 x 4096", "4 B 16384 x 16384", "2 B 16384 x 16384", "4 B 8191 x 8191"]  # docs/performance.md
NAMES = {"memcpy": "cuMemcpy", "copy": "the tuned copy", "mirrored": "the mirrored copy", "geam": "geam", "cutensor": "cuTENSOR"}


def table(head, rows, texts=1):
    """A Markdown table; the first columns, of text, read from the left, the others from the right."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * texts + "---:|" * (len(head) - texts)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def number(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


def measured(case, regime, peer):
    return case.get("regimes", {}).get(regime, {}).get(peer) or {}


def ratio(case, regime, peer):
    """Its time over ours, or None."""
    return measured(case, regime, peer).get("ratio") or None


def over_copy(memcpy, copy):
    """The driver's time over the tuned copy's, paired where it was recorded so."""
    return memcpy.get("over_copy") or {"ratio": memcpy["us"] / copy["us"]}


def yardstick(case, regime, peer):
    """The reference for a peer's target. Instead of the tuned copy it is the driver's, if that is faster
    beyond the noise."""
    memcpy = measured(case, regime, "memcpy")
    driver = peer == "copy" and memcpy.get("over_copy", {}).get("high", 1) < 1
    return "memcpy" if driver else peer


def with_interval(m):
    return f"{m['ratio']:.3f} [{m['low']:.3f}, {m['high']:.3f}]" if m.get("ratio") else "-"


def is_tuned(case, regime):
    """A case that tuning had no time for is listed, and counts for no target."""
    peers = case.get("peers_warm" if regime in WARM and "peers_warm" in case else "peers", {})
    return peers.get("ours", {}).get("match", "exact") == "exact"


def target_rows(cases):
    for group, regime, peers, least in TARGETS:
        members = [c for c in cases if c["group"] == group]
        found = [(ratio(c, regime, p), p, c) for c in members if is_tuned(c, regime)
                 for p in (yardstick(c, regime, p) for p in peers) if ratio(c, regime, p)]
        of = " and ".join(NAMES[p] for p in peers) + ("" if regime == "cold" else ", in a warm CUDA graph")
        title = dict(GROUPS)[group]
        failed = sum(1 for c in members if not measured(c, "cold", "ours"))
        untuned = sum(1 for c in members if measured(c, "cold", "ours") and not is_tuned(c, regime))
        if not found:
            yield title, of, f"{least:g}", "not tuned" if untuned else "not measured", "no" if untuned else ""
            continue
        worst, peer, case = min(found, key=lambda f: f[0])
        reached = f"{with_interval(measured(case, regime, peer))} at {case['name']}"
        reached += f" ({NAMES[peer]})" if peers != [peer] else ""
        reached += f"; {failed} not measured" if failed else ""
        reached += f"; {untuned} of {len(members)} not tuned" if untuned else ""
        yield title, of, f"{least:g}", reached, "yes" if worst >= least and not failed and not untuned else "no"
    ours = [(over_copy(m, c), case) for case in cases
            for m, c in [(measured(case, "cold", "memcpy"), measured(case, "cold", "copy"))] if m and c]
    if ours:
        worst, case = min(ours, key=lambda o: o[0]["ratio"])
        low = with_interval(worst) if "low" in worst else f"{worst['ratio']:.3f}"
        beyond = sum(1 for o, _ in ours if o.get("high", o["ratio"]) < 1)
        reached = f"{low} at {case['name']}; below 1 beyond the noise: {beyond} of {len(ours)} cases"
        yield "The tuned copy itself", "cuMemcpy", "1", reached, "yes" if worst["ratio"] >= 1 else "no"


def case_rows(cases, regime, with_winner):
    for case in cases:
        ours, copy = measured(case, regime, "ours"), measured(case, regime, "copy")
        if not ours:
            yield [case["name"], case.get("note", "not measured")] + [""] * (6 + with_winner)
            continue
        row = [case["name"], number(ours["us"], 2 if ours["us"] < 1000 else 0), number(ours["gbps"], 0),
               with_interval(copy)]
        row += [number(ratio(case, regime, peer)) for peer, _ in PEERS]
        if with_winner:
            winner = case["peers_warm" if regime in WARM and "peers_warm" in case else "peers"]["ours"]
            row.append(f"`{winner.get('detail', '-')}`" + ("" if winner.get("match") == "exact"
                                                           else f" ({winner.get('match')})"))
        yield row


def out_rows(cases):
    """Peers that should have taken part and were wrong or failed."""
    expected = ("single matrices", "rows are not aligned", "geam has no", "cuTENSOR has no", "left out", "cannot be loaded")
    for case in cases:
        for name, peer in case.get("peers", {}).items():
            if "detail" not in peer and peer.get("note") and not any(e in peer["note"] for e in expected):
                yield f"- {case['name']}: {name} is not compared: {peer['note']}"


def clocks(cases):
    found = [c["clocks"] for c in cases if c.get("clocks")]
    if not found:
        return "clocks unknown"
    sm, mem = [c["sm_mhz"] for c in found], [c["mem_mhz"] for c in found]
    return f"SM clock {min(sm)} to {max(sm)} MHz, memory clock {min(mem)} to {max(mem)} MHz"


def head(r):
    gpu = r["gpu"]
    loaded = [f"{name} {r[key]}" for key, name in (("cublas", "cuBLAS"), ("cutensor", "cuTENSOR")) if r.get(key)]
    missing = [name for key, name in (("cublas", "cuBLAS"), ("cutensor", "cuTENSOR")) if not r.get(key)]
    yield f"# {gpu['name']}{' ' + gpu['mig'] if gpu.get('mig') else ''}"
    yield ""
    yield from INTRODUCTION.splitlines()
    yield ""
    yield (f"Measured {r['date'][:10]} at commit `{r['commit']}` with driver {r['driver']}, NVRTC {r['nvrtc']}"
           + "".join(f", {text}" for text in loaded) + (f"; {' and '.join(missing)} not installed" if missing else "")
           + f". {gpu['sm_count']} SMs, L2 {gpu['l2_bytes'] / 2**20:.0f} MiB, theoretical peak "
           f"{gpu['peak_gbps']:.0f} GB/s; {clocks(r['cases'])}.")
    yield ""


def counters_table(r, label=lambda case: case["name"]):
    """Of each case a copy and the winner."""
    def row(name, what, counted):
        return [name, what] + [number(counted[column], digits) for column, digits in r["digits"].items()]
    rows = [row(*each) for case in r["cases"] for each in ((label(case), "a copy", case["copy"]), ("", f"`{case['winner']}`", case["ours"]))]
    yield from table(["", "kernel", *r["digits"]], rows, texts=2)


def standing(name, cases):
    """The peers' result for the case that counts, and their target."""
    for case in cases:
        least = [target[3] for target in TARGETS if target[:3] == (case["group"], "cold", ["copy"])]
        if case["name"] == name and least and ratio(case, "cold", "copy"):
            return f"{name}: {ratio(case, 'cold', yardstick(case, 'cold', 'copy')):.3f} of {least[0]:g}"
    return name


def counters_section(r, cases):
    yield "## Hardware counters"
    yield ""
    yield (f"`bench/counters.py` at commit `{r['commit']}`, driver {r['driver']}: one launch each under `ncu`, with empty caches. "
           "The copy is one `copy_linear` of as many bytes, not the tuned one. Sectors are requests to L2 slices, so a sector that "
           "crosses the partition link between the halves of the L2 cache counts twice. The first column has the case, what it "
           "reached in the table of targets, and the target. The winner there may be another of equal speed.")
    yield ""
    yield from counters_table(r, lambda case: standing(case["name"], cases))


def cases_section(title, cases, level):
    if cases:
        yield f"{level} {title}"
        yield ""
        yield from table(COLUMNS + ["winner"], case_rows(cases, "cold", True))


def regime_sections(cases, level):
    for regime, title in (("warm", "Warm: always the same arrays"),
                          ("graph-cold", "CUDA graphs of 128 launches, cold"),
                          ("graph-warm", "CUDA graphs of 128 launches, warm")):
        members = [c for c in cases if measured(c, regime, "ours")]
        if members:
            yield f"{level} {title}"
            yield ""
            winner = regime in WARM and any("peers_warm" in c for c in members)
            yield from table(COLUMNS + ["winner"] * winner, case_rows(members, regime, winner))


def narrow_section(r):
    yield "## Few rows or columns, and small matrices in batches"
    yield ""
    yield f"`bench-peers --tune --cases narrow` at commit `{r['commit']}`, driver {r['driver']}."
    yield ""
    yield from out_rows(r["cases"])
    yield ""
    for group, title in NARROW:
        yield from cases_section(title, [c for c in r["cases"] if c["group"] == group], "###")
    yield from regime_sections(r["cases"], "###")


def gpu_section(r, counters, torch, narrow):
    cases = r["cases"]
    yield from head(r)
    yield "## Targets"
    yield ""
    yield from table(["case", "speed relative to", "at least", "worst case", "met"], target_rows(cases))
    yield from out_rows(cases)
    yield ""
    if counters:
        yield from counters_section(counters, cases)
    for group, title in GROUPS:
        yield from cases_section(title, [c for c in cases if c["group"] == group], "##")
    if narrow:
        yield from narrow_section(narrow)
    yield from regime_sections(cases, "##")
    if torch:
        yield from torch_section(torch, cases)


def torch_section(torch, cases):
    ours = {(c["rows"], c["cols"], c["elem_size"]): measured(c, "cold", "ours").get("gbps") for c in cases
            if c["group"] != "in-place" and c.get("batch", 1) == 1}
    yield f"## PyTorch {torch['torch']}"
    yield ""
    rows = []
    ways = [(name, head) for name, head in TORCH if name in torch["cases"][0]["regimes"]["cold"]]
    for case in torch["cases"]:
        cold = case["regimes"]["cold"]
        rows.append([f"{case['dtype']} {case['rows']} x {case['cols']}"]
                    + [number(cold[name]["gbps"], 0) for name, _ in ways]
                    + [number(ours.get((case["rows"], case["cols"], case["elem_size"])), 0)])
    yield f"GB/s, cold. PyTorch ran in its own process, at commit `{torch['commit']}`."
    yield ""
    yield from table(["case", *(head for _, head in ways), "ours"], rows)


INTRODUCTION = """<!-- Made by scripts/performance.py from the JSON files beside it: do not edit. -->

[performance.md](../../docs/performance.md) says how this was measured. Times are medians of cold launches, in us. A ratio is the
median over the rounds of the peer's time over ours: above 1, ours is faster. Brackets have its 95 % interval. A winner that was not
tuned for its case says in brackets where it comes from, and counts for no target.
"""


def newest(files, program, narrow=False):
    """The newest result for each GPU; a full run goes before any other but those of narrow matrices, which are for themselves."""
    best = {}
    for result in files:
        if result.get("program") != program or not result.get("cases") or (result.get("set") == "narrow") != narrow:
            continue
        key = result["gpu"]["name"]
        rank = (result.get("set", "default") == "default", result["date"])
        if key not in best or rank > best[key][0]:
            best[key] = (rank, result)
    return {key: result for key, (_, result) in sorted(best.items())}


def read_results():
    for path in sorted(RESULTS.glob("*.json")):
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            sys.exit(f"{path}: {error}")
        if isinstance(result, dict):
            yield result


def short(gpu):
    """h200 of NVIDIA H200."""
    model = re.search(r"[A-Z]+\d+\w*", gpu)
    return (model[0] if model else gpu.replace(" ", "-")).lower()


def caption(r, narrow, torch):
    """Where the columns of a GPU come from."""
    libraries = [f"{name} {r[key]}" for key, name in (("cublas", "cuBLAS"), ("cutensor", "cuTENSOR")) if r.get(key)]
    libraries += [f"PyTorch {torch['torch']}"] if torch else []
    commits = r["commit"][:7] + (f" (narrow matrices {narrow['commit'][:7]})" if narrow and narrow["commit"] != r["commit"] else "")
    return (f"- {r['gpu']['name']}: driver {r['driver']}, NVRTC {r['nvrtc']}, {', '.join(libraries)}, commit {commits}. "
            f"[All cases](../bench/results/peers-{short(r['gpu']['name'])}.md).")


def beside(runs):
    """The targets that a GPU misses, or has no figure for, a column for each GPU; what is missed is bold and says at which case.
    A row is relative to the tuned copy unless it names something else."""
    columns = []
    for r in runs:
        cells = {}
        for title, of, least, reached, met in target_rows(r["cases"]):
            worst, _, case = reached.partition(" ")
            key = title + (of.removeprefix(NAMES["copy"]) if of.startswith(NAMES["copy"]) else f", beside {of}"), least
            if not worst[0].isdigit():
                cells[key] = reached
            else:
                at = re.search(r" at ([^;(]+)", " " + case)
                cells[key] = worst if met == "yes" else f"**{worst}** ({at[1].strip()})"
        columns.append(cells)
    heads = [short(r["gpu"]["name"]).upper() for r in runs]
    keys = list(dict.fromkeys(key for cells in columns for key in cells))
    rows = [[*key, *(c.get(key, "-") for c in columns)] for key in keys]
    missed = [row for row in rows if not all(cell[0].isdigit() for cell in row[2:])]
    yield f"Of {len(rows)} targets, {len(rows) - len(missed)} are met on each GPU. The others:"
    yield ""
    yield from table(["case", "target", *heads], missed)


def shown_row(name, runs, torches):
    row = [name]
    for r, torch in zip(runs, torches):
        case = next((c for c in r["cases"] if c["name"] == name), {})
        ours = measured(case, "cold", "ours")
        eager = next((c["regimes"]["cold"] for c in (torch or {}).get("cases", []) if c["name"] == name), {})
        row += [number(ours.get("us"), 1), number(ratio(case, "cold", "copy")), number(ratio(case, "cold", "geam"), 2)]
        row += [number(ratio(case, "cold", "cutensor"), 2)] if r.get("cutensor") else []
        row += [number(ours["gbps"] / eager[peer]["gbps"] if ours and peer in eager else None, 2)
                for peer, _ in torch_peers(torch)]
    return row


def torch_peers(torch):
    """The ways of PyTorch that were measured."""
    known = torch["cases"][0]["regimes"]["cold"] if torch else {"contiguous"}
    return [peer for peer in TORCH_PEERS if peer[0] in known]


def shown(runs, torches):
    head = ["case"]
    for r, torch in zip(runs, torches):
        name = short(r["gpu"]["name"]).upper()
        head += [f"{name}: us", "of copy", "x geam"] + (["x cuTENSOR"] if r.get("cutensor") else [])
        head += [title for _, title in torch_peers(torch)]
    yield from table(head, [shown_row(name, runs, torches) for name in SHOWN])


def tidy(lines):
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n") + "\n")


def make():
    """{path: text} of all pages."""
    files = list(read_results())
    peers, counters, torch = (newest(files, program) for program in ("bench-peers", "bench-counters", "bench-pytorch"))
    narrow = newest(files, "bench-peers", narrow=True)
    pages = {RESULTS / f"peers-{short(gpu)}.md": tidy(gpu_section(r, counters.get(gpu), torch.get(gpu), narrow.get(gpu)))
             for gpu, r in peers.items()}
    gpus = sorted(peers, reverse=True)
    runs = [dict(peers[gpu], cases=peers[gpu]["cases"] + narrow.get(gpu, {}).get("cases", [])) for gpu in gpus]
    lines = [*(caption(peers[gpu], narrow.get(gpu), torch.get(gpu)) for gpu in gpus), ""]
    lines += ["### Targets", "", *beside([peers[gpu] for gpu in gpus])]
    lines += ["### Selected cases", "", *shown(runs, [torch.get(gpu) for gpu in gpus])]
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    pages[PAGE] = before + BEGIN + "\n" + tidy(lines) + "\n" + END + rest.split(END)[1]
    return pages


def main():
    parser = argparse.ArgumentParser(description="Make the tables of bench/results/, and those of docs/performance.md.")
    parser.add_argument("--check", action="store_true", help="only say whether the pages are up to date")
    args = parser.parse_args()
    stale = {path: text for path, text in make().items() if not path.is_file() or path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        if args.check:
            print(f"{path.relative_to(ROOT)} is out of date: run scripts/performance.py")
        else:
            path.write_text(text, encoding="utf-8")
    sys.exit(1 if args.check and stale else 0)


if __name__ == "__main__":
    main()
