#!/usr/bin/env python3
"""check_examples.py TUNE ROOT CC...: what the pages show as code is code, and what they count is as many.

Blocks of C compile against include/tiletune.h within a function that has what they take for granted; `tune check` reads
blocks of CUDA; numbers in words are those of files and tables. CC... is the compiler with its options.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

tune, root, compiler = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
GIVEN = """#include <stddef.h>
#include <stdint.h>
#include <tiletune.h>
void example(%s);
void example(%s) {
%s}
"""
PAGES = {  # page: parameters of the function around its C, "" if it has none
    "README.md": "int64_t rows, int64_t cols, CUdeviceptr dst, CUdeviceptr src, CUstream stream",
    "docs/own-kernels.md": "tt_ctx *ctx, tt_report *report, CUdeviceptr x, CUdeviceptr y, float a, CUstream stream",
    "kernel_templates/README.md": "",
}
WORDS = dict(zip("one two three four five six seven eight nine ten eleven twelve thirteen".split(), range(1, 14)))
wrong = []


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (root / page).read_text(encoding="utf-8"), re.M | re.S)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def count(page, pattern, number):
    found = re.search(pattern, (root / page).read_text(encoding="utf-8"))
    if not found or WORDS.get(found[1]) != number:
        wrong.append(f"{page} says '{found[0] if found else pattern}': there are {number}")


n = 0
with tempfile.TemporaryDirectory() as folder:
    for page, parameters in PAGES.items():
        for text in blocks(page, "c"):
            source = pathlib.Path(folder, "example.c")
            body = re.sub(r"#include[^\n]*\n", "\n", text)
            source.write_text(GIVEN % (parameters, parameters, body), encoding="utf-8")
            said = run(*compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{root}/include", str(source))
            wrong += [f"{page}: {said}"] if said else []
            n += 1
        for text in blocks(page, "cuda"):
            source = pathlib.Path(folder, "example.cu")
            source.write_text(text, encoding="utf-8")
            said = run(tune, "check", str(source))
            wrong += [f"{page}: {said}"] if said else []
            n += 1

kernels = {p.name for p in (root / "examples/kernels").glob("*.cu")}
count("README.md", r"and (\w+) examples", len(kernels))
page = (root / "docs/own-kernels.md").read_text(encoding="utf-8")
wrong += [f"docs/own-kernels.md does not tell of {name}" for name in sorted(kernels) if f"`{name}`" not in page]
names = re.search(r"enum \{\n((?:    TT__COST_\w+,\n)+)", (root / "tuner/model.h").read_text(encoding="utf-8"))[1]
count("docs/search.md", r"a sum of (\w+) costs", names.count("TT__COST_"))
count("docs/search.md", r"The (\w+) weights", names.count("TT__COST_"))
if wrong:
    sys.exit("\n".join(wrong))
print(f"{n} examples")
