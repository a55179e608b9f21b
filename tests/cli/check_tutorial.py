#!/usr/bin/env python3
"""check_tutorial.py TUNE ROOT CC INCLUDE...: the commands of docs/tutorial.md work, and print what it shows.

Commands without a GPU are run, and their output is compared, except for times and what depends on the compiler. What the others
show was printed on an H200 (bench/results/tutorial-h200.txt). All of them run on the CPU stand-in, too, with a smaller picture.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

tune, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
compiler, includes = sys.argv[3].split(), sys.argv[4:]
files = root / "examples/tutorial"
page = (root / "docs/tutorial.md").read_text(encoding="utf-8")
recorded = (root / "bench/results/tutorial-h200.txt").read_text(encoding="utf-8")
stand_in = {"LD_LIBRARY_PATH": os.environ["HOSTCUDA_DIR"], "TILETUNE_NVRTC": os.environ["HOSTCUDA_DIR"] + "/libnvrtc.so"}
WITHOUT_GPU = re.compile(r"tune (check|new|import|--device replay:)")
VARIES = re.compile(r"^(compiled|occupancy) | in [^ ,]+ s\.$")  # by compiler and machine
PIXELS, FEWER = "33177600", "99840"
wrong = []


def in_order(shown, text):
    """The first line of `shown` that `text` does not have there; None if it has all. `...` stands for lines left out."""
    at = 0
    for line in shown:
        if line.strip() == "...":
            continue
        found = text.find(line + "\n", at)
        if found < 0:
            return line
        at = found + len(line)
    return None


def run(command, cwd, env):
    done = subprocess.run(["bash", "-c", command], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


blocks = re.findall(r"^```(\w*)\n(.*?)^```", page, re.M | re.S)
consoles = []  # command, lines
for language, block in blocks:
    if language == "console":
        for line in block.splitlines():
            if line.startswith("$ "):
                consoles.append((line[2:], []))
            else:
                consoles[-1][1].append(line)
printed = dict(re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", recorded, re.M))
with tempfile.TemporaryDirectory() as folder:
    work, small = pathlib.Path(folder, "here"), pathlib.Path(folder, "small")
    shutil.copytree(files, work)
    shutil.copytree(files, small)
    for file in small.iterdir():
        if file.suffix in (".cu", ".c"):
            text = file.read_text(encoding="utf-8").replace(PIXELS, FEWER).replace("7680 * 4320", FEWER)
            file.write_text(text, encoding="utf-8")
    (pathlib.Path(folder) / "bin").mkdir()
    os.symlink(tune, pathlib.Path(folder) / "bin/tune")
    plain = {k: v for k, v in os.environ.items() if k not in stand_in}
    plain |= {"PATH": f"{folder}/bin:{os.environ['PATH']}", "XDG_DATA_HOME": folder, "TILETUNE_SYSTEM_DB": "", "CUDA_VISIBLE_DEVICES": "",
              "COLUMNS": "120"}
    for command, lines in consoles:
        if WITHOUT_GPU.match(command):
            status, out, err = run(command, work, plain)
            missing = in_order([line for line in lines if not VARIES.search(line)], out)
            if status or missing is not None:
                wrong.append(f"{command} ends with {status} and does not print '{missing}' there:\n{out}{err}")
        elif lines:
            missing = in_order(lines, printed.get(command, ""))
            if missing is not None:
                wrong.append(f"{command}: bench/results/tutorial-h200.txt does not have '{missing}' there")
        command = re.sub(r" --device replay:\S+", "", command)
        if command.startswith("cc "):
            command = " ".join([*compiler, *includes, command[3:].replace("-lcuda", os.environ["HOSTCUDA_DIR"] + "/libcuda.so.1")])
        status, out, err = run(command + " --max-trials 4" * command.startswith("tune --kernel"), small, plain | stand_in)
        if status != (5 if " judge " in command and "gray_float" in command else 0):
            wrong.append(f"on the stand-in, {command} ends with {status}:\n{out}{err}")
    # Without a GPU the winner of the recording can be exported.
    bare = plain | {"XDG_DATA_HOME": str(work)}
    store = re.search(r"`(tune import h200.json( --db h200.db))` first", page)
    for command in store[1], "tune export --format c --kernel gray_wide.cu --output tuned.c" + store[2]:
        status, out, err = run(command, work, bare)
        if status:
            wrong.append(f"without a GPU, {command} ends with {status}:\n{out}{err}")
if wrong:
    sys.exit("\n\n".join(wrong))
print(f"{len(consoles)} commands")
