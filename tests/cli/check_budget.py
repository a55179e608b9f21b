#!/usr/bin/env python3
"""Checks by the timeline of a run of `tune` that it kept its budget, even on a busy machine.

After a deadline nothing more is requested, so only requests from before it may start. Little time passes between the
deadline and the end of the run, apart from these.
"""

import json
import sys


def main() -> int:
    path, budget_s, n_problems, seconds, idle_s = sys.argv[1], *map(float, sys.argv[2:6])
    with open(path, encoding="utf-8") as f:
        events = json.load(f)
    n_workers = sum(e["ph"] == "M" and e["name"] == "thread_name" for e in events)
    at_once = 2 * n_workers  # trials that are asked for and not back: room() in tuner/backend/gpu/backend_gpu.c
    spans = [(e["tid"], e["name"], e["ts"] * 1e-6, (e["ts"] + e["dur"]) * 1e-6) for e in events if e["ph"] == "X"]
    phases = [s for s in spans if s[0] == 0]
    loads = [begin for row, name, begin, _ in spans if row == 1 and name == "load"]
    end = min(begin for _, name, begin, _ in spans if name == "start") + budget_s
    wrong = []

    def expect_few(what: str, begun: list[float], since: float, until: float, most: int) -> None:
        late = [b for b in begun if since < b < until]
        if len(late) > most:
            wrong.append(f"{len(late)} {what} were begun between {since:.3f} and {until:.3f} s, not {most} at most")

    n_searches, part, since = 0, 0.0, 0.0  # of each problem one of the copy, and its own
    for _, name, begin, finished in sorted(phases, key=lambda phase: phase[2]):
        if name == "search" and n_searches % 2 == 0:  # its part of the rest; the copy gets an eighth of it
            since, part = begin, (end - begin) / (n_problems - n_searches // 2)
        if name == "search":
            limit = since + (part if n_searches % 2 else part / 8)
            expect_few(f"trials of problem {n_searches // 2}", loads, max(begin, limit), finished, at_once)
            n_searches += 1
        elif name == "finals":
            expect_few("trials in the finals: the incumbent and the default", loads, begin, finished, 2)
    expect_few("stages of finals", [b for row, name, b, _ in spans if row == 1 and name == "finals"], end, seconds, 1)

    at = end  # work in flight, or already requested, ends
    for begin, finished in sorted((s[2], s[3]) for s in spans if s[0] > 0 and s[1] != "wait"):
        idle_s -= max(0, min(begin, seconds) - at)
        at = max(at, finished)
    idle_s -= max(0, seconds - at)
    if idle_s < 0:
        wrong.append(f"of {seconds:.3f} s, {-idle_s:.3f} s too much behind {end:.3f} s were spent on nothing in the timeline")
    if n_searches != 2 * n_problems:
        wrong.append(f"{n_searches} searches, not two for each of {n_problems:.0f} problems")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
