#!/usr/bin/env python3
"""What do the first stages of finals lose, by how they judge? Draws them again, many times, from the samples
of those who were in the last stage (recordings of `--effort exhaustive`), and prints how often nobody within
0.3 % of the best gets through, and how far behind the best who does is on average.

    bench/finals.py [--times N] recordings/h200*.json
"""
import argparse
import json
import random
from collections import defaultdict

# Contenders that go on, and no further behind the leader than; rounds of docs/measuring.md, "Finals".
STAGES = {"9 to 15, 17 to 27 rounds": ((15, 11, 1.02), (27, 6, 1.01)),
          "9 to 21, 22 to 30 rounds": ((21, 11, 1.02), (30, 6, 1.01))}
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
        for result in json.load(file)["results"]:
            if result["stage"] == "final" and not result["kernel"].startswith("copy"):
                problems[result["problem"]].append(result["times"]["runtimes"])
    for entrants in problems.values():
        most = max(map(len, entrants))
        entrants = [samples for samples in entrants if len(samples) == most]
        if len(entrants) >= FEWEST_ENTRANTS and most >= FEWEST_SAMPLES:
            yield entrants


def hold(entrants, middles, stages, judge, rng):
    """How far the best who gets through is behind the best of all."""
    left = range(len(entrants))
    for rounds, most, within in stages:
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
    print(f"{'judged by':<24}{'rounds':<28}{'lost':>8}{'worst problem':>16}{'behind':>12}")
    for judged, judge in JUDGES.items():
        for named, stages in STAGES.items():
            rng, lost, behind = random.Random(1), [], 0
            for entrants, middle in zip(finals, middles):
                ends = [hold(entrants, middle, stages, judge, rng) for _ in range(args.times)]
                lost.append(sum(end > LOST for end in ends) / args.times)
                behind += sum(ends) / args.times
            print(f"{judged:<24}{named:<28}{sum(lost) / len(finals):>8.2%}{max(lost):>16.1%}"
                  f"{behind / len(finals):>12.4%}")


if __name__ == "__main__":
    main()
