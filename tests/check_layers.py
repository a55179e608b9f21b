#!/usr/bin/env python3
"""Checks #include lines: check_layers.py SOURCE_ROOT prints each violation as file:line, exits 1 on any.

Headers are spelled from include/, src/ or the repository root. A layer sees itself and those listed for
it below; a header of another project may be kept to some folders. Tests may see everything.
"""
import pathlib
import re
import sys

LAYERS = {  # folder: layer; the longest matching folder counts
    "include": "public",
    "src/base": "base",
    "kernel_templates": "base",  # permute_tile.cuh, which the library shares with kernels
    "src/gpu": "gpu",
    "db": "db",
    "src/template": "template",
    "src/dispatch": "dispatch",
    "tuner": "tuner",
    "src/api": "api",
    "tuner/cli": "cli",
    "examples": "examples",
    "bench": "bench",
    "python": "python",
}
INNER = {"public", "base", "gpu", "db", "template", "dispatch", "tuner"}
SEES = {
    "public": set(),
    "base": {"public"},
    "gpu": {"public", "base"},
    "db": {"public", "base"},
    "template": {"public", "base", "gpu", "db"},
    "dispatch": {"public", "base", "gpu", "db", "template"},
    "tuner": INNER - {"tuner"},
    "api": INNER,
    "cli": INNER | {"api"},
    "examples": {"public"},
    "bench": INNER | {"api"},
    "python": {"public"},
}
CONFINED = [  # headers of others, and where they may be included
    (re.compile(r"sqlite3(ext)?\.h$"), ("db/", "src/template/expr.c", "src/template/functions.c"), "SQLite"),
    # Examples and benchmarks are callers, with CUDA contexts and streams of their own.
    (re.compile(r"(cuda|nvrtc|cudart|vector_types|driver_types)\w*\.h$"), ("src/gpu/", "examples/", "bench/"), "CUDA"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def layer_of(path):
    folders = [f for f in LAYERS if path.startswith(f + "/")]
    return LAYERS[max(folders, key=len)] if folders else None


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
        return "this file is in no layer: give its folder one in LAYERS"
    found = find(root, name)
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
    if theirs != mine and theirs not in SEES[mine]:
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
