#!/usr/bin/env python3
"""Which rule loses the best configuration in the first stages of finals, and how often?

Simulates these stages many times. It draws from the samples of configurations that were in the last stage (recordings
of `--effort exhaustive`). It prints how often no configuration within 0.3 % of the best gets through, and how much
slower the best one that does is on average.

    python3 bench/finals.py [--times N] recordings/h200*.json
"""
import argparse
import json
import random
from collections import defaultdict

# Four cases of the rounds of stages 1 and 2 (docs/measuring.md, "Finals"): several laps a round; 4096 x 4096 at 4 bytes;
# the fewest rounds (large matrices); the most.
ROUNDS = ((16, 23), (14, 30), (9, 22), (21, 30))
GO_ON = ((11, 1.02), (6, 1.01))  # so many contenders, at most so much slower than the leader
FEWEST_ENTRANTS, FEWEST_SAMPLES, LOST = 8, 31, 0.003


def trimmed(low, high):
    """The mean without such parts of the lowest and of the highest."""
    def mean(values):
        inner = sorted(values)[int(len(values) * low):len(values) - int(len(values) * high)]
        return sum(inner) / len(inner)
    return mean


JUDGES = {"median": lambda values: sorted(values)[len(values) // 2], "middle half": trimmed(.25, .25),
          "all": trimmed(0, 0), "lower three quarters": trimmed(0, .25), "lower half": trimmed(0, .5),
          "lower quartile": lambda values: sorted(values)[len(values) // 4]}


def read_finals(path):
    """The samples of all entrants of the last stage, problem by problem."""
    problems = defaultdict(list)
    with open(path, encoding="utf-8") as file:
        recording = json.load(file)
    ops = [problem["op"] for problem in recording["metadata"]["problems"]]
    for result in recording["results"]:
        if result["stage"] == "final" and ops[result["problem"]] == "transpose":
            problems[result["problem"]].append(result["times"]["runtimes"])
    for entrants in problems.values():
        most = max(map(len, entrants))
        entrants = [samples for samples in entrants if len(samples) == most]
        if len(entrants) >= FEWEST_ENTRANTS and most >= FEWEST_SAMPLES:
            yield entrants


def hold(entrants, middles, rounds_of_stages, judge, rng):
    """How much slower the best that gets through is than the best of all."""
    left = range(len(entrants))
    for rounds, (most, within) in zip(rounds_of_stages, GO_ON):
        drawn = [rng.randrange(len(entrants[0])) for _ in range(rounds)]
        us = {i: judge([entrants[i][k] for k in drawn]) for i in left}
        limit = within * min(us.values())
        left = [i for i in sorted(us, key=us.get)[:most] if us[i] <= limit]
    return min(middles[i] for i in left) / min(middles) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("recordings", nargs="+")
    args = parser.parse_args()
    finals = [entrants for path in args.recordings for entrants in read_finals(path)]
    middles = [[trimmed(.25, .25)(samples) for samples in entrants] for entrants in finals]
    print(f"{len(finals)} problems, {args.times} times each")
    print(f"{'judged by':<24}{'rounds':<8}{'lost':>8}{'worst problem':>16}{'behind':>12}  lost by problems of")
    for judged, judge in JUDGES.items():
        for rounds in ROUNDS:
            rng, lost, losers, behind = random.Random(1), [], [], 0
            for entrants, middle in zip(finals, middles):
                ends = [hold(entrants, middle, rounds, judge, rng) for _ in range(args.times)]
                lost.append(sum(end > LOST for end in ends) / args.times)
                losers += [min(middle)] if lost[-1] else []
                behind += sum(ends) / args.times
            print(f"{judged:<24}{', '.join(map(str, rounds)):<8}{sum(lost) / len(finals):>8.2%}{max(lost):>16.1%}"
                  f"{behind / len(finals):>12.4%}  {', '.join(f'{1e3 * ms:.0f}' for ms in sorted(losers))} us")


if __name__ == "__main__":
    main()
