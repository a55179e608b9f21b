#!/usr/bin/env python3
"""Checks #include lines: check_layers.py SOURCE_ROOT prints each violation as file:line, exits 1 on any.

Headers are spelled from include/, src/ or the repository root. A layer sees itself and those listed for
it below; a header of another project may be kept to some folders. Tests may see everything.
"""
import pathlib
import re
import sys

LAYERS = [  # a folder sees itself and the folders above it
    ("include", "the public headers"),
    ("kernel_templates", "kernels; permute_tile.cuh is shared with the library"),
    ("src/base", "text, numbers, status, types, plain data"),
    ("src/code", "compiling and reading code: NVRTC, headers, cubins, SASS"),
    ("src/gpu", "talking to the GPU: driver, device, kernel, NVML, NVTX, CUPTI"),
    ("db", "the store: connection, identities, results; check and prune"),
    ("db/exchange", "recordings: export, import, merge"),
    ("src/kernel/model", "types: operation, template, parameter, buffer"),
    ("src/kernel/expression", "expressions of annotations"),
    ("src/kernel/annotation", "text to model"),
    ("src/kernel/space", "configurations of a problem, and how each is launched"),
    ("src/kernel/load", "parse, check and find kernel files"),
    ("src/dispatch", "look-up, plans, their cache"),
    ("tuner/measure", "on the device: verify, time, energy"),
    ("tuner/farm", "worker processes and their messages"),
    ("tuner/worker", "the program tiletune-worker"),
    ("tuner/strategy", "which configuration comes next"),
    ("tuner/backend", "what the loop of a run needs of a device"),
    ("tuner/session", "the data of a run"),
    ("tuner/backend/gpu", "a device"),
    ("tuner/backend/replay", "a recording"),
    ("tuner/search", "the search of a problem"),
    ("tuner/finals", "electing the winner"),
    ("tuner/explain", "why a kernel is not faster"),
    ("tuner/run", "the top of a run"),
    ("src/api", "the public functions"),
    ("tuner/cli/shell", "options, values, tables, progress"),
    ("tuner/cli/report", "the report"),
    ("tuner/cli/commands", "a command each"),
    ("tuner/cli", "main, manual, completion"),
    ("examples", "callers"),
    ("bench", "benchmarks"),
    ("python", "the Python package"),
]
BLIND = {  # folder: what it does not see although it stands above
    "db": ("src/code", "src/gpu"),
    "examples": ("src", "db", "tuner", "kernel_templates"),
    "python": ("src", "db", "tuner", "kernel_templates", "bench", "examples"),
}
ORDER = [folder for folder, _ in LAYERS]
CONFINED = [  # headers of others, and where they may be included
    (re.compile(r"sqlite3(ext)?\.h$"), ("db/",), "SQLite"),
    # Examples and benchmarks are callers, with CUDA contexts and streams of their own.
    (re.compile(r"(cuda|nvrtc|cudart|vector_types|driver_types)\w*\.h$"), ("src/gpu/", "src/code/", "examples/", "bench/"), "CUDA"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def layer_of(path):
    folders = [f for f in ORDER if path.startswith(f + "/")]
    return max(folders, key=len) if folders else None


def sees(mine, theirs):
    blind = any(theirs == f or theirs.startswith(f + "/") for f in BLIND.get(mine, ()))
    return mine == theirs or (ORDER.index(theirs) < ORDER.index(mine) and not blind)


def find(root, name):
    for base in ("include/", "src/", ""):
        if (root / (base + name)).is_file():
            return base + name
    return None


def problem(root, path, quote, name):
    """The error in `#include name` in the file `path`, or None."""
    if ".." in name.split("/"):
        return f'"{name}" spells ..'
    if path.startswith("tests/"):
        return None
    mine = layer_of(path)
    if mine is None:
        return "this file is in no layer: give its folder a row in LAYERS"
    found = find(root, name)
    if found is None and path == "examples/tutorial/program.c" and name == "tuned.h":
        return None  # which `tune export` makes
    if found is None:
        if quote == '"':
            return f'"{name}" is not to be found from include/, src/ or the root'
        for pattern, folders, what in CONFINED:
            if pattern.match(name) and not path.startswith(folders):
                return f"<{name}>: {what} headers are kept to {', '.join(folders)}"
        return None
    theirs = layer_of(found)
    if theirs is None:
        return f'"{name}" ({found}) belongs to no layer'
    if not sees(mine, theirs):
        return f"{mine} may not include {theirs} ({found})"
    return None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = violations = 0
    for top in ("include", "src", "db", "tuner", "examples", "bench", "python", "tests"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".c", ".h", ".cpp", ".cc") or "sources" in file.parts:  # others' files
                continue
            files += 1
            path = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                include = INCLUDE.match(line)
                wrong = include and problem(root, path, include[1], include[2])
                if wrong:
                    violations += 1
                    print(f"{path}:{number}: {wrong}")
    print(f"{files} files, {violations} violations")
    return 1 if violations or not files else 0


if __name__ == "__main__":
    sys.exit(main())
