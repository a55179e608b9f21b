#!/usr/bin/env python3
"""Tunes random shapes on a GPU, and counts the winners that are slower than the default of the template that led.

    python3 bench/random_shapes.py BUILD [--shapes 200] [--seconds 0.2]

Each shape gets so many seconds. `bench-defaults` then compares the winners by the samples of their finals.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

AT_ONCE = 25


def tune(args, store, shapes, elem_size):
    command = [os.path.join(args.build, "tune"), "--db", store, "--quiet", "--json", "--effort", "quick", "--shapes",
               ",".join("%dx%d" % shape for shape in shapes), "--elem-size", str(elem_size), "--budget",
               "%gs" % (args.seconds * len(shapes))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:
        sys.exit("tune: exit code %d" % done.returncode)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--shapes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--largest", type=int, default=8192, help="of a side")
    args = parser.parse_args()
    rng = random.Random(1)
    ratios, report = [], {}
    with tempfile.TemporaryDirectory() as folder:
        store, recording = os.path.join(folder, "shapes.db"), os.path.join(folder, "shapes.json")
        for first in range(0, args.shapes, AT_ONCE):
            shapes = {tuple(int(2 ** rng.uniform(1, args.largest.bit_length() - 1)) for _ in "rc")
                      for _ in range(min(AT_ONCE, args.shapes - first))}
            report = tune(args, store, sorted(shapes), rng.choice((1, 2, 4, 8)))
            ratios += [r["speedup_vs_default"] for r in report["results"] if r.get("speedup_vs_default")]
        print("%s, driver %s: %d random shapes, %d with a default to compare" %
              (report["gpu"], report["driver"], args.shapes, len(ratios)))
        ratios.sort()
        if ratios:
            print("the default's time over the winner's: %.4f at least, %.3f in the median, %.2f at most; below 1: %d" %
                  (ratios[0], ratios[len(ratios) // 2], ratios[-1], sum(r < 1 for r in ratios)))
        subprocess.run([os.path.join(args.build, "tune"), "export", "--db", store, "--gpu", report["gpu"], "--output", recording], check=True)
        sys.exit(subprocess.run([os.path.join(args.build, "bench-defaults"), "--searches", "1", "--shapes", "0",
                                 recording], check=False).returncode)


if __name__ == "__main__":
    main()
