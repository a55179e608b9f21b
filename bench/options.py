#!/usr/bin/env python3
"""options.py [--tune PROGRAM] [--budget TIME] FILE.cu...: is it worth it to tune compiler options, too?

Tunes each kernel as it is. Then it fixes the winner's parameters, lets only compiler options vary (registers, caching of
loads, the assembler's level of optimization), and tries all of them. Prints how much faster the best one is. A file that
says itself how many registers a thread may have keeps what it says.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

REGISTERS, LOADS, LEVELS = [255, 128, 96, 64, 48, 32], ["ca", "cg"], [3, 2, 1]


def tune(o: argparse.Namespace, file: pathlib.Path, more: "list[str]") -> dict:
    with tempfile.TemporaryDirectory() as folder:
        command = [o.tune, "--kernel", file, "--db", folder + "/options.db", "--json", *more]
        run = subprocess.run(command, capture_output=True, text=True, timeout=o.timeout)
    if run.returncode:
        raise ValueError((run.stderr.strip().splitlines() or ["no message"])[-1])
    return json.loads(run.stdout)["results"][0]


def with_options(text: str, values: dict) -> str:
    """The file with the configuration fixed, and parameters that only compiler options use."""
    config = "".join(f"{name}={value} " for name, value in values.items())
    lines = []
    for line in text.splitlines():
        found = re.match(r"\s*//@\s*(param|runtime)\s+(\w+)\s(.*)", line)
        if found:
            end = " as template" if re.search(r"\bas\s+template\s*$", found[3]) else ""
            line = f"//@ {found[1]} {found[2]} {values[found[2]]}{end}"
        if not re.match(r"\s*//@\s*default\s", line):
            lines.append(line)
    if not re.search(r"^\s*//@\s*maxrregcount\s", text, re.MULTILINE):
        lines += [f"//@ param REGISTERS_ {' '.join(map(str, REGISTERS))}", "//@ maxrregcount REGISTERS_"]
        config += f"REGISTERS_={REGISTERS[0]} "
    lines += [
        f"//@ param LOADS_ {' '.join(LOADS)}",
        f"//@ param LEVEL_ {' '.join(map(str, LEVELS))}",
        "//@ options --ptxas-options=-dlcm={LOADS_} --ptxas-options=-O{LEVEL_}",
        f"//@ default {config}LOADS_={LOADS[0]} LEVEL_={LEVELS[0]}",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tune", default="build/tune")
    parser.add_argument("--budget", default="3s", help="for the search of each kernel as it is")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each run")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.cu")
    o = parser.parse_args()
    gains = []
    print(f"{'kernel':40} {'winner':>11}  {'with options':>12}  options", flush=True)
    for file in o.files:
        varied = file.with_name(file.stem + ".options.cu")
        try:
            winner = tune(o, file, ["--budget", o.budget])
            varied.write_text(with_options(file.read_text(), winner["config"]))
            best = tune(o, varied, ["--effort", "exhaustive"])
        except (ValueError, subprocess.TimeoutExpired) as e:
            print(f"{file.parent.name + '/' + file.stem:40} not measured: {e}", flush=True)
            continue
        finally:
            varied.unlink(missing_ok=True)
        gain = best["speedup_vs_default"] or 1
        gains.append(gain)
        chosen = " ".join(f"{name}={value}" for name, value in best["config"].items() if name.endswith("_"))
        name = file.parent.name + "/" + file.stem
        print(f"{name:40} {winner['time_us']:8.1f} us  {100 * (gain - 1):+10.1f} %  {chosen}", flush=True)
    if gains:
        more = sum(g > 1.01 for g in gains)
        print(f"{more} of {len(gains)} kernels are more than 1 % faster with other options, at most {100 * (max(gains) - 1):.1f} %")
    return 0 if gains else 1


if __name__ == "__main__":
    sys.exit(main())
