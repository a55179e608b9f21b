"""The console commands `tiletune` and `tune`: the program that lies in the package."""
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).with_name("bin") / "tune"
    os.execv(program, ["tune", *sys.argv[1:]])
