#!/usr/bin/env python3
"""Puts the output of the command that README.md shows into it again, as a wide terminal has it, a row a problem.

    readme_table.py TUNE            rewrites README.md; TUNE is the program, build/tune
    readme_table.py TUNE --check    changes nothing, exits 1 if README.md shows something else

Run it when recordings/ or the built-in templates have changed.
"""
import os
import pathlib
import pty
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = 200
BLOCK = re.compile(r"(```console\n\$ build/tune ([^\n]*)\n)(.*?)(```\n)", re.DOTALL)


def output(tune, arguments):
    """The output of the command on a terminal. Progress on standard error is left out."""
    master, slave = pty.openpty()
    command = [os.path.abspath(tune), *arguments.split()]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                          env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"}) as process:
        os.close(slave)
        text = b""
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except OSError:  # the other end is closed
            pass
        errors = process.stderr.read().decode()
    os.close(master)
    if process.returncode:
        sys.exit(f"readme_table.py: {' '.join(command)}\n{errors}")
    return text.decode().replace("\r\n", "\n")


def without_time(text):
    return re.sub(r" in [^ ,]+ s\.", "", text)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    check = "--check" in sys.argv[1:]
    if len(arguments) != 1:
        sys.exit(__doc__)
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    block = BLOCK.search(text)
    if not block:
        sys.exit("readme_table.py: README.md shows no output of build/tune")
    now = output(arguments[0], block[2])
    if without_time(now) == without_time(block[3]):
        return
    if check:
        sys.exit(f"README.md does not show what the command prints now: scripts/readme_table.py build/tune\n\n{now}")
    path.write_text(text[:block.start(3)] + now + text[block.end(3):], encoding="utf-8")


if __name__ == "__main__":
    main()
