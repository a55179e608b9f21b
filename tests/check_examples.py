#!/usr/bin/env python3
"""check_examples.py TUNE ROOT CC...: what the pages show as code is code, and what they count is as many.

Blocks of C compile against include/tiletune.h within a function that has what they take for granted; `tune check` reads
blocks of CUDA; numbers are those of files, tables and constants. CC... is the compiler with its options.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

tune, root, compiler = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
GIVEN = """#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tiletune.h>
void example(%s);
void example(%s) {{
%s}}
"""
MATRIX = "int64_t rows, int64_t cols, CUdeviceptr dst, CUdeviceptr src, CUstream stream"
PAGES = {  # page: parameters of the function around its C
    "README.md": MATRIX,
    "docs/guide.md": MATRIX + ", tt_ctx *ctx, CUdeviceptr x, CUdeviceptr y, float a",
    "docs/annotations.md": "void",
}
WORDS = dict(zip("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split(), range(1, 21)))
wrong = []


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (root / page).read_text(encoding="utf-8"), re.M | re.S)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def count(page, pattern, number):
    found = re.search(pattern, (root / page).read_text(encoding="utf-8"))
    if not found or str(WORDS.get(found[1], found[1])) != str(number):
        wrong.append(f"{page} says '{found[0] if found else pattern}': there are {number}")


n = 0
with tempfile.TemporaryDirectory() as folder:
    for page, parameters in PAGES.items():
        for text in blocks(page, "c"):
            source = pathlib.Path(folder, "example.c")
            body = re.sub(r"#include[^\n]*\n", "\n", text)
            source.write_text(GIVEN % (parameters, parameters, body), encoding="utf-8")
            said = run(*compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsyntax-only",
                       f"-I{root}/include", str(source))
            wrong += [f"{page}: {said}"] if said else []
            n += 1
        for text in blocks(page, "cuda"):
            source = pathlib.Path(folder, "example.cu")
            source.write_text(text, encoding="utf-8")
            said = run(tune, "check", str(source))
            wrong += [f"{page}: {said}"] if said else []
            n += 1

# Files of this page that belong together, what is shown of them, and messages about kernels as programs have them.
BRING = "docs/bring-a-kernel.md"
LAUNCH = """//@ kernel {kernel}
//@ problem n 1024
//@ buffer x f32 n in
//@ buffer y f32 n out
//@ {param}
//@ block B
//@ grid n / B
//@ args {args}
//@ default {default}
//@ reference default
{code}
"""
HEAD = "__global__ void k(const float *x, float *y, int n) {"
BODY = " y[blockIdx.x * blockDim.x + threadIdx.x] = x[n / 2]; }"
PLAIN = {"kernel": "k", "param": "runtime B 32 64", "args": "x, y, i32 n", "default": "B=32", "code": HEAD + BODY}
MESSAGES = {  # what tune check says of each change; the page explains some
    'cannot open source file "config.h"':
        {"code": '#include "config.h"\n' + HEAD + BODY},
    "stop is left out, because it calls CUDA or is else of the host":
        {"code": "void stop() { cudaMalloc(); }\n" + HEAD + " stop();" + BODY},
    "reduce is a template: name an instance of it":
        {"kernel": "reduce", "code": "template <int N> " + HEAD.replace(" k(", " reduce(") + BODY},
    "int is a type of C++: write i32 n":
        {"args": "x, y, int n"},
    "k has 3 parameters, but its args has 2 items":
        {"args": "x, y"},
    "extern __shared__ array, and has no shared line":
        {"code": HEAD + " extern __shared__ float s[]; s[0] = 1;" + BODY},
    "this_grid), so all of its blocks must be on the GPU at once":
        {"code": "#include <cooperative_groups.h>\n" + HEAD + " cooperative_groups::this_grid().sync();" + BODY},
    "row_major is a macro, as each parameter is, also in headers":
        {"param": "param row_major 1 2\n//@ runtime B 32 64", "default": "row_major=1 B=32", "code": "#include <mma.h>\n" + HEAD + BODY},
    "the default configuration is not legal for the default problem":
        {"default": "B=32\n//@ where B > 32"},
    "the parameter TILE changes nothing":
        {"param": "param TILE 1 2\n//@ runtime B 32 64", "default": "TILE=1 B=32"},
}


def check_in(folder, name):
    done = subprocess.run([pathlib.Path(tune).resolve(), "check", name], cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr


def check_excerpts(page, folder, *languages):
    """Blocks whose first line names a file show lines of it, in order. `// ...` stands for lines left out."""
    global n
    for text in (text for language in languages for text in blocks(page, language)):
        name, code = re.fullmatch(r"// (\S+)\n(.*)", text, re.S).groups()
        whole, at = (root / folder / name).read_text(encoding="utf-8"), 0
        for piece in re.split(r"^// \.\.\.\n", code, flags=re.M):
            found = whole.find(piece, at)
            if found < 0:
                wrong.append(f"{page}: {name} does not have there\n{piece}")
            at = max(at, found + len(piece))
        n += 1


check_excerpts(BRING, "examples/bring", "cuda")
check_excerpts("docs/tutorial.md", "examples/tutorial", "cuda", "c")
with tempfile.TemporaryDirectory() as folder:
    for file in (root / "examples/bring").iterdir():
        shutil.copy(file, folder)
    for text in blocks(BRING, "console"):
        command, *shown = text.splitlines()
        said, at = check_in(folder, command.split()[-1]), 0
        for line in shown:
            found = 0 if line == "..." else said.find(line, at)
            if found < 0:
                wrong.append(f"{BRING}: {command} does not print '{line}' there:\n{said}")
                break
            at = found + len(line) if line != "..." else at
    rows = re.findall(r"^\| (`.*?) \| ", (root / BRING).read_text(encoding="utf-8"), re.M)
    wrong += [f"{BRING} explains {row}, which no test has" for row in rows if row.replace("`", "") not in MESSAGES]
    for message, change in MESSAGES.items():
        pathlib.Path(folder, "k.cu").write_text(LAUNCH.format(**{**PLAIN, **change}), encoding="utf-8")
        said = check_in(folder, "k.cu")
        if message not in said.replace("`", ""):
            wrong.append(f"no message '{message}', but\n{said}")

kernels = {p.name for p in (root / "examples/kernels").glob("*.cu")}
count("README.md", r"one of (\w+) examples", len(kernels))
count("docs/guide.md", r"has (\w+) complete files", len(kernels))
# The stand-in cannot run these, so that nothing else compiles them for every change.
for name in "cluster_histogram", "cooperative_sum", "softmax", "tma_transpose", "wmma":
    said = run(tune, "check", str(root / f"examples/kernels/{name}.cu"))
    wrong += [said] if said else []
for page in "examples/README.md", "bench/notes/own-kernels.md":
    text = (root / page).read_text(encoding="utf-8")
    wrong += [f"{page} does not tell of {name}" for name in sorted(kernels) if f"`{name}`" not in text]
names = re.search(r"enum \{\n((?:    TT__COST_\w+,\n)+)", (root / "tuner/strategy/cost_model.h").read_text(encoding="utf-8"))[1]
count("docs/search.md", r"a sum of (\w+) costs", names.count("TT__COST_"))
count("docs/search.md", r"The (\w+) weights", names.count("TT__COST_"))


def constant(file, pattern):
    return re.search(pattern, (root / file).read_text(encoding="utf-8"))[1]


def says(page, text):
    if text not in " ".join((root / page).read_text(encoding="utf-8").split()):
        wrong.append(f"{page} does not say '{text}'")


quick, usual = (constant("tuner/search/search.c", rf"\[TT_EFFORT_{e}\] = (\d+)") for e in ("QUICK", "STANDARD"))
short, below = constant("tuner/search/search.c", r"standard_if_short = (\d+)"), constant("src/base/sizes.h", r"TT__SHORT_US = (\d+)")
whole = constant("tuner/search/search.c", r"standard_whole = (\d+)")
says("docs/search.md", f"`standard` tries a space of up to {whole} whole")
least = int(usual) - int(usual) // 8 * int(constant("tuner/search/search.c", r"limits\.trials / 8 \* (\d)"))
times = list(WORDS)[int(constant("tuner/search/search.c", r"standard_patience = (\d+)")) - 1]
says("docs/search.md", f"after {times} times as many as the last gain of 0.5 % took")
says("docs/search.md", f"| `quick` | {quick} |")
plain = [int(usual) // int(constant("tuner/search/search.c", rf"{at}trials / (\d) \* 3")) * 3 for at in (r": limits\.", "limits->")]
says("docs/search.md", "| `standard` (default) | {} to {}; without a cost model {} to {}, or {} where the best takes less than {} us |".format(
    least, usual, *plain, short, below))
finals = (root / "tuner/search/search.c").read_text(encoding="utf-8")
rounds = {name: constant("tuner/backend/backend.h", rf"{name} = (\d+)") for name in ("TT__FINAL_ROUNDS", "TT__FINAL_ROUNDS_MAX")}
stages = re.findall(r"\{\{(\w+), (\w+), ([\d.]+), 1, false, false\}, (\w+), (\w+), ([\d.]+), (\d+), (\w+)\}", finals)
contenders = constant("tuner/search/search.h", r"CONTENDERS_MAX = (\d+)")
field, behind = zip(*((contenders if stage[3].isupper() else stage[3], round(100 * float(stage[5])) - 100) for stage in stages[:3]))
says("docs/measuring.md", "Stages narrow the field to {}, {} and {} contenders".format(*field))
says("docs/measuring.md", "not more than {}, {} and {} % behind the first".format(*behind))
says("docs/measuring.md", "the last one has {TT__FINAL_ROUNDS} to {TT__FINAL_ROUNDS_MAX} rounds".format(**rounds))
if len(stages) != 4:
    wrong.append(f"tuner/search/search.c: {len(stages)} stages found, 4 expected")
if wrong:
    sys.exit("\n".join(wrong))
print(f"{n} examples")
