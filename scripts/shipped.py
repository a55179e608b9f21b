#!/usr/bin/env python3
"""Writes the winners and rules that come with the library as C: shipped.py OUTPUT RECORDING... RULES...

It takes the best final of each problem of a recording, or the best screening if there were no finals. The build runs
it. To ship other winners, run `tune export` into recordings/ and build again. `tune rules --output` writes files of rules. If a template has changed since, its
entries are stale and still used.
"""
import datetime
import json
import sys

OPS = ("transpose", "transpose_in_place", "transpose_rect_in_place")
SETTINGS = ("rows", "cols", "elem_size", "lds", "ldd", "batch", "src_stride", "dst_stride", "align")
OTHER = ("op", "warm", "in_graph", "unverified", "text", "moved_bytes")  # members of a problem that are not settings


def quoted(text):
    return json.dumps(str(text), ensure_ascii=True)


def member(name, value):
    return f".{name} = {quoted(value) if isinstance(value, str) else repr(value)}"


def struct(values):
    return "{" + ", ".join(member(name, value) for name, value in values.items()) + "}"


def time_us(result):
    return next((m["value"] * 1e3 for m in result["measurements"] if m["name"] == "time"), 0)


def from_format_1(old):
    """A problem as format 2 has it; None for one of a user's kernel, which does not ship."""
    op, _, rest = old["op"].partition("/")
    if rest not in ("", "warm"):
        return None
    old.setdefault("batch", 1)
    old.setdefault("src_stride", old["rows"] * old["lds"])
    old.setdefault("dst_stride", old["cols"] * old["ldd"])
    settings = {"bytes": copied_bytes(old)} if op == "copy" else {name: old[name] for name in SETTINGS}
    return {"op": op, **settings, **({"warm": True} if rest else {})}


def copied_bytes(problem):
    return problem["rows"] * problem["cols"] * problem["batch"] * problem["elem_size"]


def one_of_each(meta, results):
    """The problems of a recording, each once, and its results with their indices. Results can collide then, for example
    those of copies of as many bytes. The last one stays."""
    problems, numbers, kept = [], [], {}
    for problem in meta["problems"]:
        problem = from_format_1(problem) if meta["format"] == 1 else problem
        if problem is None or problem not in problems:
            problems.append(problem)
        numbers.append(len(problems) - 1 if problem is None else problems.index(problem))
    for r in results:
        r["problem"] = numbers[r["problem"]]
        kept[r["problem"], r["stage"], r["kernel"], tuple(r["configuration"].items())] = r
    return problems, list(kept.values())


def initialiser(problem):
    settings = ", ".join(f"{{{quoted(name)}, 0, {value}}}" for name, value in problem.items() if name not in OTHER)
    regime = "".join(f", .{flag} = true" for flag in ("warm", "in_graph") if problem.get(flag))
    n = sum(name not in OTHER for name in problem)
    moved = 2.0 * copied_bytes(problem)
    return f"{{.op = {quoted(problem['op'])}{regime}, .moved_bytes = {moved!r}, .n = {n}, .settings = {{{settings}}}}}"


def best_of(results):
    """The index of a problem -> its best result. Finals come before screening. Finals of the last stage, which have the
    most samples, come before eliminated ones. Then the time decides. In a tie, the configuration that comes first in the
    recording wins, as in an import."""
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
    problems, results = one_of_each(meta, recording["results"])
    best = best_of(results)
    copies = {(p["bytes"], p.get("warm"), p.get("in_graph")): time_us(best[i])
              for i, p in enumerate(problems) if p and p["op"] == "copy" and i in best}
    when = datetime.datetime.fromisoformat(meta["date"].replace("Z", "+00:00"))
    for i, problem in enumerate(problems):
        if not problem or problem["op"] not in OPS or problem.get("text") or i not in best:
            continue
        r = best[i]
        screened = [x["invalidity"] for x in results if x["problem"] == i and x["stage"] == "screen"]
        copy = copies.get((copied_bytes(problem), problem.get("warm"), problem.get("in_graph")), 0)
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
               f"     .problem = {initialiser(problem)},\n     " + struct(values)[1:])


def rules(path):
    """A line with the GPU, then rules, each after an empty line."""
    gpu, *texts = open(path).read().rstrip("\n").split("\n\n")
    for text in texts:
        lines = "\n     ".join(quoted(line + "\n") for line in text.split("\n"))
        yield f"    {{.gpu = {struct(json.loads(gpu))},\n     .text = {lines}}}"


def table(f, of, name, rows):
    f.write(f"const size_t tt__n_{name} = {len(rows)};\n"
            f"const {of} tt__{name}[] = {{\n" + ",\n".join(rows or ["    {.gpu = {.cc = 0}}"]) + "\n};\n")


def main():
    output, files = sys.argv[1], sys.argv[2:]
    found = [w for path in files if path.endswith(".json") for w in winners(json.load(open(path)))]
    with open(output, "w") as f:
        f.write('/* Made by scripts/shipped.py from recordings/: winners and rules that come with the library. */\n'
                '#include "dispatch/store_layers.h"\n\n'
                '#pragma GCC diagnostic ignored "-Woverlength-strings" /* of rules */\n\n')
        table(f, "tt__winner", "shipped", found)
        table(f, "tt__shipped_rule", "shipped_rules", [r for path in files if path.endswith(".rules") for r in rules(path)])


main()
