"""Checks the figures that scripts/performance.py compares with targets: check_performance.py ROOT."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "scripts"))
sys.dont_write_bytecode = True
import performance  # noqa: E402


def peer(us, ratio, **more):
    return {"us": us, "gbps": 1, "ratio": ratio, "low": ratio - 0.01, "high": ratio + 0.01, **more}


def case(name, over_copy, group="large-4"):
    """Ours takes 10 us, the tuned copy 9.9, the driver's as much less or more."""
    memcpy = peer(9.9 * over_copy["ratio"], 0.99 * over_copy["ratio"], over_copy=over_copy)
    regime = {"ours": peer(10, 1), "copy": peer(9.9, 0.99), "memcpy": memcpy, "mirrored": peer(10.2, 1.02)}
    return {"group": group, "name": name, "regimes": {"cold": regime}}


def target(cases, of):
    return next(row for row in performance.target_rows(cases) if row[1] == of and row[3] != "not measured")


faster = case("faster", {"ratio": 0.98, "low": 0.97, "high": 0.99})
alike = case("alike", {"ratio": 0.99, "low": 0.97, "high": 1.001})
slower = case("slower", {"ratio": 1.1, "low": 1.09, "high": 1.11})
old = {"group": "large-4", "name": "old", "regimes": {"cold": {
    "ours": peer(10, 1), "copy": peer(9.9, 0.99), "memcpy": peer(9.8, 0.98)}}}

# The driver's copy replaces the tuned copy only if it is faster beyond the noise.
assert performance.yardstick(faster, "cold", "copy") == "memcpy"
assert performance.yardstick(faster, "cold", "mirrored") == "mirrored"
assert performance.yardstick(faster, "warm", "copy") == "copy"
for other in (alike, slower, old):
    assert performance.yardstick(other, "cold", "copy") == "copy", other["name"]

# Without a paired ratio that of the times, above 1 where the tuned copy is faster.
assert performance.over_copy(peer(11, 1), peer(10, 1))["ratio"] == 1.1
assert performance.over_copy(faster["regimes"]["cold"]["memcpy"], peer(1, 1))["ratio"] == 0.98

row = target([faster, alike, slower], "the tuned copy")
assert row[3].startswith("0.970 [0.960, 0.980] at faster (cuMemcpy)") and row[4] == "no", row
row = target([alike, slower], "the tuned copy")
assert row[3] == "0.990 [0.980, 1.000] at alike" and row[4] == "yes", row

# A case that was not tuned in time is not the worst case, but it is listed.
untuned = dict(faster, name="untuned", peers={"ours": {"match": "nearest"}})
row = target([alike, untuned, slower], "the tuned copy")
assert row[3] == "0.990 [0.980, 1.000] at alike; 1 of 3 not tuned" and row[4] == "no", row
row = next(performance.target_rows([untuned]))
assert row[3] == "not tuned" and row[4] == "no", row
tuned = dict(alike, peers={"ours": {"match": "exact"}}, peers_warm={"ours": {"match": "nearest"}})
assert performance.is_tuned(tuned, "cold") and not performance.is_tuned(tuned, "graph-warm")

# Counters come with the GPU that they are of, and what was not counted is no number.
counted = {"gpu": {"name": "a GPU"}, "commit": "abc", "driver": "1.2", "digits": {"us": 1, "busy, %": 2},
           "cases": [{"name": "4 B 1 x 2", "winner": "k A=1", "copy": {"us": 2.0, "busy, %": None}, "ours": {"us": 2.14, "busy, %": 91.2}}]}
text = "\n".join(performance.counters_section(counted, [dict(faster, name="4 B 1 x 2"), alike]))
assert "| 4 B 1 x 2: 0.970 of 0.975 | a copy | 2.0 | - |\n|  | `k A=1` | 2.1 | 91.20 |" in text and "commit `abc`" in text, text
assert performance.standing("4 B 1 x 2", [alike]) == "4 B 1 x 2"

assert target([faster], "the mirrored copy")[3] == "1.020 [1.010, 1.030] at faster"
beyond = "; below 1 beyond the noise: {} of {} cases"
assert target([slower, faster, alike], "cuMemcpy")[3:] == ("0.980 [0.970, 0.990] at faster" + beyond.format(1, 3), "no")
assert target([slower, alike], "cuMemcpy")[3:] == ("0.990 [0.970, 1.001] at alike" + beyond.format(0, 2), "no")
assert target([slower], "cuMemcpy")[4] == "yes"
assert target([old], "cuMemcpy")[3] == "0.990 at old" + beyond.format(1, 1)

# Of each GPU the newest full run, and the newest of narrow matrices beside it, which never stands in for that.
runs = [{"program": "bench-peers", "gpu": {"name": "a GPU"}, "date": date, "set": which, "cases": [{}]}
        for date, which in (("2026-01", "default"), ("2026-02", "quick"), ("2026-03", "narrow"), ("2026-02", "narrow"))]
assert performance.newest(runs, "bench-peers")["a GPU"]["date"] == "2026-01"
assert performance.newest(runs, "bench-peers", narrow=True)["a GPU"]["date"] == "2026-03"
assert performance.newest(runs[2:], "bench-peers") == {}

# GPUs side by side: what is missed is bold and says where; what a GPU has not measured is a dash. What all meet is counted.
assert [performance.short(gpu) for gpu in ("NVIDIA H200", "NVIDIA H100 80GB HBM3", "a GPU")] == ["h200", "h100", "a-gpu"]
first = {"gpu": {"name": "NVIDIA H200"}, "cases": [faster], "cutensor": "2.8.0"}
second = {"gpu": {"name": "NVIDIA H100"}, "cases": [dict(alike, name="4 B 1024 x 1024")]}
text = "\n".join(performance.beside([first, second]))
assert "| 4 bytes, 256 MB and more | 0.975 | **0.970** (faster) | 0.990 |" in text, text
assert "mirrored" not in text, text
rows = sum(1 for line in text.splitlines() if line.startswith("| ")) - 1  # without the head
assert text.startswith(f"Of {rows + 1} targets, 1 are met"), text
torch = {"cases": [{"name": "4 B 1024 x 1024", "regimes": {"cold": {"contiguous": {"gbps": 0.25}}}}]}
row = performance.shown_row("4 B 1024 x 1024", [first, second], [None, torch])
assert row == ["4 B 1024 x 1024", "-", "-", "-", "-", "-", "10.0", "0.990", "-", "4.00"], row
