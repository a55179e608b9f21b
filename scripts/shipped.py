#!/usr/bin/env python3
"""Writes the winners that come with the library as C: shipped.py OUTPUT RECORDING...

Of each recording the best final of each problem, or the best screening where there were no finals. The build runs
it; run `tune export` into recordings/ and build again to ship other ones. An entry whose template has changed
since is stale, and is used as such.
"""
import datetime
import json
import sys

WARM = "/warm"
OPS = ("transpose", "transpose_in_place", "transpose" + WARM, "transpose_in_place" + WARM)
SAME_COPY = ("rows", "cols", "batch", "elem_size")


def quoted(text):
    return json.dumps(str(text), ensure_ascii=True)


def member(name, value):
    return f".{name} = {quoted(value) if isinstance(value, str) else repr(value)}"


def struct(values):
    return "{" + ", ".join(member(name, value) for name, value in values.items()) + "}"


def time_us(result):
    return next((m["value"] * 1e3 for m in result["measurements"] if m["name"] == "time"), 0)


def best_of(results):
    """The index of a problem -> its best result: finals before screening, those of the last stage (which have the most
    samples) before those that were eliminated, then by time; of equals whose configuration comes first in the recording,
    of whatever problem, as an import numbers them."""
    best, numbers = {}, {}
    for r in results:
        final = r["stage"] == "final"
        number = numbers.setdefault((r["kernel"], tuple(r["configuration"].items())), len(numbers))
        rank = (not final, -len(r["times"]["runtimes"]) if final else 0, time_us(r), number)
        if r["invalidity"] == "correct" and time_us(r) > 0:
            if r["problem"] not in best or rank < best[r["problem"]][0]:
                best[r["problem"]] = (rank, r)
    return {index: r for index, (_, r) in best.items()}


def winners(recording):
    meta = recording["metadata"]
    for problem in meta["problems"]:  # what a recording may leave out
        problem.setdefault("batch", 1)
        problem.setdefault("src_stride", problem["rows"] * problem["lds"])
        problem.setdefault("dst_stride", problem["cols"] * problem["ldd"])
    best = best_of(recording["results"])
    copies = {(p["op"], *(p[k] for k in SAME_COPY)): time_us(best[i])
              for i, p in enumerate(meta["problems"]) if i in best}
    when = datetime.datetime.fromisoformat(meta["date"].replace("Z", "+00:00"))
    for i, problem in enumerate(meta["problems"]):
        if problem["op"] not in OPS or i not in best:
            continue
        r = best[i]
        screened = [x["invalidity"] for x in recording["results"] if x["problem"] == i and x["stage"] == "screen"]
        copy_op = "copy" + (WARM if problem["op"].endswith(WARM) else "")
        copy = copies.get((copy_op, *(problem[k] for k in SAME_COPY)), 0)
        values = {
            "kernel": r["kernel"],
            "hash": meta["kernels"].get(r["kernel"], ""),
            "config": " ".join(f"{k}={v}" for k, v in r["configuration"].items()),
            "source": "shipped",
            "time_us": round(time_us(r), 4),
            "copy_us": round(copy, 4),
            "copy_fraction": round(copy / time_us(r), 5),
            "trials": len(screened),
            "failed": sum(x not in ("correct", "constraints") for x in screened),
            "unix_ms": int(when.timestamp() * 1000),
        }
        yield (f"    {{.gpu = {struct(meta['gpu'])},\n     .env = {struct(meta['environment'])},\n"
               f"     .problem = {struct(problem)},\n     " + struct(values)[1:])


def main():
    output, recordings = sys.argv[1], sys.argv[2:]
    found = [w for path in recordings for w in winners(json.load(open(path)))]
    with open(output, "w") as f:
        f.write('/* Made by scripts/shipped.py from recordings/: winners that come with the library. */\n'
                '#include "dispatch/shipped.h"\n\n'
                f"const size_t tt__n_shipped = {len(found)};\n"
                "const tt__winner tt__shipped[] = {\n" + ",\n".join(found or ["    {.time_us = 0}"]) + "\n};\n")


main()
