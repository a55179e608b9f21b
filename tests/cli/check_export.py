#!/usr/bin/env python3
"""check_export.py TUNE ROOT LIBRARY CC standins|gpu INCLUDE...: what `tune export --format c` writes compiles without a warning as
C99 and as C++17, and launches what the library launches: transposes, permutations, built-in operations, and kernels
of users with scalars, constants, pipelines and exchanged buffers.

On the CPU stand-ins, or on the GPU, where it prints what calls cost.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

tune, root, library = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
cc, includes = sys.argv[4], sys.argv[6:]
stand_ins = os.environ["HOSTCUDA_DIR"] if sys.argv[5] == "standins" else None
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
SWAPPED = """//@ kernel   smooth
//@ problem  n 1000
//@ buffer   x f32 n inout
//@ buffer   y f32 n scratch
//@ scalar   a f32 2
//@ param    THREADS 64 128
//@ block    THREADS
//@ grid     ceil_div(n, THREADS)
//@ args     y, x, a, i32 n, f32 0.25
//@ repeat   4
//@ swap     x y
//@ default  THREADS=64
//@ reference smooth_reference
//@ block    64
//@ grid     ceil_div(n, 64)
//@ args     y, x, a, i32 n, f32 0.25
//@ repeat   4
//@ swap     x y
extern "C" __global__ void smooth(float *to, const float *from, float a, int n, float c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = a * from[i] + c * from[(i + 1) % n];
}
extern "C" __global__ void smooth_reference(float *to, const float *from, float a, int n, float c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = a * from[i] + c * from[(i + 1) % n];
}
"""
# An instance of a C++ template, which gets a name from the compiler.
INSTANCE = """//@ kernel   scale<T, THREADS>
//@ problem  n 1000
//@ type     T f32 f64
//@ buffer   x T n in
//@ buffer   y T n out
//@ param    THREADS 64 128
//@ block    THREADS
//@ grid     ceil_div(n, THREADS)
//@ args     y, x, i32 n
//@ default  THREADS=64
//@ reference scale_reference<T>
//@ block    64
//@ grid     ceil_div(n, 64)
//@ args     y, x, i32 n
template <typename T, int N> __global__ void scale(T *y, const T *x, int n) {
    int i = blockIdx.x * N + threadIdx.x;
    if (i < n)
        y[i] = 3 * x[i];
}
template <typename T> __global__ void scale_reference(T *y, const T *x, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n)
        y[i] = 3 * x[i];
}
"""
# Two kernels in a loop, which get the number of its turn. `wide` is the reference's alone, and no argument of a plan.
LOOP = """//@ kernel    up
//@ problem   n 1000
//@ buffer    wide f64 n scratch
//@ buffer    x f32 n inout
//@ buffer    y f32 n scratch
//@ param     THREADS 64 128
//@ block     THREADS
//@ grid      ceil_div(n, THREADS)
//@ args      y, x, i32 n, i32 t
//@ repeat    5 as t from 3 by 2
//@ kernel    down
//@ block     THREADS
//@ grid      ceil_div(n, THREADS)
//@ args      x, y, i32 n, i32 t
//@ repeat    together
//@ default   THREADS=64
//@ reference plain
//@ block     64
//@ grid      ceil_div(n, 64)
//@ args      x, wide, i32 n
//@ tolerance rel 1e-5
extern "C" __global__ void up(float *y, const float *x, int n, int t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + t;
}
extern "C" __global__ void down(float *x, const float *y, int n, int t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = y[i] * 0.5f + t;
}
extern "C" __global__ void plain(float *x, double *wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int t = 3; t < 13; t += 2) {
            wide[i] = x[i];
            x[i] = (float)((wide[i] + t) * 0.5 + t);
        }
}
"""
# Buffers and scalars in a struct by value, which change places.
IN_STRUCT = """//@ kernel    step
//@ problem   n 1000
//@ buffer    a f32 n inout
//@ buffer    b f32 n scratch
//@ scalar    s f32 0.5
//@ param     THREADS 32 64
//@ block     THREADS
//@ grid      ceil_div(n, THREADS)
//@ repeat    4
//@ swap      a b
//@ args      struct (i32 n, b, u8 7, s, a)
//@ default   THREADS=32
//@ reference plain
//@ block     32
//@ grid      1
//@ args      a, s, i32 n
struct values { int n; float *to; unsigned char seven; float s; const float *from; };
extern "C" __global__ void step(values p) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < p.n)
        p.to[i] = p.from[i] * p.s + p.seven;
}
extern "C" __global__ void plain(float *a, float s, int n) {
    for (int i = threadIdx.x; i < n; i += 32)
        for (int k = 0; k < 4; k++)
            a[i] = a[i] * s + 7;
}
"""
# A tensor map, as the stand-in notes it. On a GPU an example has one.
TENSOR_MAP = """//@ kernel    moved
//@ problem   rows 100
//@ problem   cols 96
//@ buffer    x f32 rows * cols in
//@ buffer    y f32 rows * cols out
//@ param     BX 16 32
//@ tensormap map x (cols, rows) box (BX, 4) swizzle 0 l2 128 fill nan
//@ block     32
//@ grid      cols / BX, ceil_div(rows, 4)
//@ args      y, map, i32 cols, i32 rows
//@ default   BX=32
//@ reference plain
//@ block     32
//@ grid      1
//@ args      y, x, i32 cols, i32 rows
extern "C" __global__ void moved(float *y, const __grid_constant__ CUtensorMap map, int cols, int rows) {
    if (map.hostcuda_dims[0] != cols || map.hostcuda_dims[1] != rows || map.hostcuda_rank != 2 ||
        map.hostcuda_strides[0] != 4 * cols || map.hostcuda_box[0] != BX || map.hostcuda_box[1] != 4 ||
        map.hostcuda_swizzle != 0 || map.hostcuda_fill != 1 || map.hostcuda_type != 7 ||
        map.hostcuda_steps[1] != 1 || map.hostcuda_l2 != 2)
        return;
    const float *x = (const float *)map.hostcuda_at;
    for (int r = blockIdx.y * 4; r < (blockIdx.y + 1) * 4 && r < rows; r++)
        for (int c = blockIdx.x * BX + threadIdx.x; c < (blockIdx.x + 1) * BX; c += 32)
            y[r * cols + c] = x[r * cols + c];
}
extern "C" __global__ void plain(float *y, const float *x, int cols, int rows) {
    for (int i = threadIdx.x; i < rows * cols; i += 32)
        y[i] = x[i];
}
"""
# How it is tuned, and the same for export_program.c: op, kernel, values, dimensions, axes, constant.
MATRICES = [("rows=33,cols=33", ["--size", "33"]), ("rows=64,cols=64", ["--size", "64"]),
            ("rows=40,cols=72", ["--shape", "40x72"]),
            ("rows=50,cols=34,elem_size=2", ["--shape", "50x34", "--elem-size", "2"]),
            ("rows=17,cols=3,elem_size=8", ["--shape", "17x3", "--elem-size", "8"]),
            ("rows=16,cols=24,batch=3", ["--shape", "16x24", "--batch", "3"])]
PERMUTATIONS = [((6, 5, 7, 4), (0, 2, 1, 3)), ((9, 8, 7), (2, 0, 1)), ((3, 5, 2, 7, 3), (4, 2, 0, 3, 1))]
OWN = [("saxpy", "n=1000", None), ("saxpy", "n=4099", None), ("convolution", "w=70,h=33", "filter"),
       ("reduce_sum", "n=5000", None), ("reduce_sum", "n=7000,elem=f64", None), ("scan", "n=3000", None),
       ("smooth", "n=1000", None), ("scale", "n=3000", None), ("vector_add", "n=3000", None),
       ("loop", "n=1000", None), ("in_struct", "n=1000", None)]
OWN += [("tensor_map", "rows=100,cols=96", None)] if stand_ins else [("tma_transpose", "rows=256,cols=512", None)]
OPS = [("transpose_in_place", "rows=40"), ("axpby", "n=1000"), ("axpby", "n=1000,T=f64")]
TEXTS = {"smooth": SWAPPED, "scale": INSTANCE, "loop": LOOP, "in_struct": IN_STRUCT, "tensor_map": TENSOR_MAP}
KERNELS = {"reduce_sum": "sum_parts", "scan": "scan_chunks", "loop": "up", "in_struct": "step", "tensor_map": "moved"}  # in files of other names
mode = [] if stand_ins else ["time"]
GPU = ["--gpu", "hostcuda" if stand_ins else "NVIDIA"]
CXX = os.environ.get("CXX", "c++").split()
CUDA = [os.path.join(stand_ins, "libcuda.so.1")] if stand_ins else ["-l:libcuda.so.1"]  # -lcuda needs the toolkit's stub
CONSTANT_BYTES, SAXPY_4099 = 17 * 17 * 4, len(MATRICES) + len(PERMUTATIONS) + 1


def run(*command, env=None, code=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=folder, env=env)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def check_other_gpus():
    """PTX runs on later architectures, and nothing on earlier ones."""
    other = os.environ | {"HOSTCUDA_CC": "100", "HOSTCUDA_NAME": "another"}
    assert run(here / "program-c99", "store.db", "ptx", env=other).endswith(f"{len(rows)} problems\n")
    older = os.environ | {"HOSTCUDA_CC": "80", "HOSTCUDA_NAME": "older"}
    assert "-3: no exported code runs" in run(here / "program-c99", "store.db", "foreign", env=older)


def check_ptx():
    """Machine code that the driver refuses: PTX runs."""
    source = (here / "tuned.c").read_text()
    damaged = re.sub(r"(/\* machine code [^\n]*\n[^\n]*\n    )0x[0-9a-f]{16}", r"\g<1>0x0000000000000000", source)
    assert damaged != source
    (here / "damaged.c").write_text(damaged)
    run(*cc.split(), *flags, "program.o", "damaged.c", *libraries, "-o", "damaged")
    said = run(here / "damaged", "store.db", *mode)
    assert said.endswith(f"{len(rows)} problems\n"), said
    if not stand_ins:
        print("PTX in place of machine code:\n" + said)


def check_choices(kernels):
    """What is named, and what is refused."""
    store = ["--db", "store.db"]
    run(tune, "lock", *store, "--sizes", "33,64", "--output", "two.lock")
    out = ["export", "--format", "c", "--output", "some.c"]
    assert "2 winners" in run(tune, *out, "--lock", "two.lock")
    assert "2 winners" in run(tune, *out, *store, "--sizes", "33,64")  # as `lock` takes them, and `--size`
    assert "2 winners" in run(tune, *out, *store, "--size", "33", "--shape", "40x72")
    run(tune, *out, *store, "--permute", "2,0,1", "--dims", "9,8,7", *GPU)
    assert "SOME_PERMUTE_2_0_1_OF_9X8X7 = 0," in (here / "some.h").read_text()
    run(tune, *out, *store, "--kernel", kernels["saxpy"], "--problem", "n=1000")
    text = (here / "some.h").read_text()
    assert "int some_launch_saxpy(const some_plan *plan, CUdeviceptr d_x, CUdeviceptr d_y, float h_a, CUstream stream);" in text
    assert "2 winners" in run(tune, *out, *store, "--kernel", kernels["saxpy"])
    said = run(tune, *out, *store)
    assert re.search(r"left out, because their kernels' files are not named \(--template\):.* saxpy", said), said
    unknown = (((*store, "--size", "65"), "there is no winner for the transpose of 65x65: tune it first"),
               ((*store, "--size", "65", "--gpu", GPU[-1]), "there is no winner for the transpose of 65x65 on"),
               (("--lock", "two.lock", "--size", "40"), "there is no winner for the transpose of 40x40"))
    for words, text in (
            *(unknown if stand_ins else ()),  # a GPU may have rules, which answer
            ((*store, "--kernel", "saxpy"), "name a kernel's file, as in saxpy.cu"),
            ((*store, "--commit", "abc"), "--commit is for trials"),
            ((*store, "--lock", "two.lock"), "one or the other")):
        done = subprocess.run([tune, *map(str, out), *map(str, words)], capture_output=True, text=True, cwd=folder)
        assert done.returncode in (1, 2) and text in done.stderr, (words, done)
    for name, text in (("tuned.txt", "name a C file, as in tuned.c"), ("mine.c", "mine.h is there, and tune export did not make it"),
                       *((name, "C cannot include a header of that name") for name in ('a".c', "a\nb.c", "a\\n.c", "a\x1b.c"))):
        (here / "mine.h").write_text("/* mine */\n")
        assert text in run(tune, "export", "--format", "c", "--output", name, *store, code=2)
    assert (here / "mine.h").read_text() == "/* mine */\n" and not (here / "mine.c").exists()


def check_values(kernels):
    """Parameters for those who compile a kernel themselves."""
    one = ["export", "--db", "store.db", "--kernel", kernels["saxpy"], "--problem", "n=1000", "--format"]
    winner, = json.loads(run(tune, *one, "json"))["winners"]
    launch, = winner["launches"]
    assert winner["n"] == 1000 and launch["kernel"] == "saxpy" and "-DELEM_SIZE=4" in winner["options"]
    assert [a["name"] for a in winner["arguments"]] == ["x", "y", "a"] and winner["arguments"][0]["bytes"] == 4000
    looped, = json.loads(run(tune, "export", "--db", "store.db", "--kernel", kernels["loop"], "--format", "json"))["winners"]
    assert [(step["times"], step.get("together")) for step in looped["launches"]] == [(5, None), (5, 1)], looped
    assert [a["name"] for a in looped["arguments"]] == ["x", "y"], looped
    text = (here / "tuned.h").read_text()
    assert "int tuned_launch_up(const tuned_plan *plan, CUdeviceptr d_x, CUdeviceptr d_y, CUstream stream);" in text
    assert "/* up: x (inout, f32), y (scratch, f32) */" in text
    run(tune, *one, "header", "--output", "saxpy_n.h")
    # A header of one kind is not replaced by the other's.
    kept = (here / "saxpy_n.h").read_bytes()
    assert "saxpy_n.h is there, made by `tune export --format header`: name" in run(tune, *one, "c", "--output", "saxpy_n.c", code=2)
    assert "tuned.h is there, made by `tune export --format c`: name" in run(tune, *one, "header", "--output", "tuned.h", code=2)
    assert "#define" in run(tune, *one, "header", "--output", "/dev/stdout")
    assert (here / "saxpy_n.h").read_bytes() == kept and (here / "tuned.h").read_text() == text and not (here / "saxpy_n.c").exists()
    run(tune, *one, "header", "--output", "saxpy_n.h")
    names = sorted(name for name in winner["config"] if f"-D{name}=" in " ".join(winner["options"]))
    assert names and "PER_SM" in winner["config"] and "PER_SM" not in names  # an argument of the kernel
    values = ", ".join(["TUNED_PER_SM", "sizeof(elem)", "SAXPY_GRID", "SAXPY_BLOCK", "SAXPY_SHARED_BYTES",
                        *(n for n in names if isinstance(winner["config"][n], int))])
    expected = [winner["config"]["PER_SM"], 4, *launch["grid"], *launch["block"], launch["shared_bytes"],
                *(winner["config"][n] for n in names if isinstance(winner["config"][n], int))]
    (here / "values.c").write_text(f"#include <stdio.h>\nint main(void) {{ long v[] = {{ {values} }};\n"
                                   "for (unsigned i = 0; i < sizeof v / sizeof *v; i++) printf(\"%ld \", v[i]); return 0; }\n")
    run(*cc.split(), "-include", "saxpy_n.h", "values.c", "-o", "values")
    assert list(map(int, run(here / "values").split())) == expected
    if nvcc := shutil.which("nvcc"):
        run(nvcc, "-include", "saxpy_n.h", "-ptx", kernels["saxpy"], "-o", "saxpy.ptx")
    assert "a header is of one problem" in run(tune, "export", "--db", "store.db", "--format", "header", code=2)
    best = ["best", "--db", "store.db", *GPU, "--kernel", kernels["saxpy"], "--problem", "n=1000", "--get"]
    assert run(tune, *best, "VEC") == f"{winner['config']['VEC']}\n"
    assert '--get VE: saxpy has no such parameter: its configuration is "VEC=' in run(tune, *best, "VE", code=2)
    run(tune, "--device", f"replay:{root}/tests/data/small.json", "--sizes", "4096", "--db", "empty.db", "--quiet")
    run(tune, "prune", "--db", "empty.db", "--all")
    none = run(tune, "export", "--db", "empty.db", "--gpu", "H200", "--format", "c", "--output", "none.c", code=1)
    assert "name a problem, as in --size 4096" in none and not pathlib.Path("none.c").exists(), none
    # A shape that nobody measured, on a GPU whose rule comes with tiletune.
    told, = json.loads(run(tune, "export", "--db", "store.db", "--format", "json", "--gpu", "NVIDIA H200", "--shape", "5003x4099"))["winners"]
    assert told["match"] == "rule" and told["date"] == "" and told["verified"] == "not verified for this problem", told
    # Two GPUs: the compiler is told which.
    if stand_ins:
        other = os.environ | {"HOSTCUDA_CC": "80", "HOSTCUDA_NAME": "another card"}
        run(tune, "--kernel", kernels["saxpy"], "--problem", "n=1000", "--db", "store.db", "--max-trials", "2", "--quiet", env=other)
        run(tune, *one, "header", "--output", "saxpy_n.h")
        assert "define one of TUNED_FOR_ANOTHER_CARD, TUNED_FOR_HOSTCUDA" in run(*cc.split(), "-include", "saxpy_n.h", "values.c", code=1)
        run(*cc.split(), "-DTUNED_FOR_HOSTCUDA", "-include", "saxpy_n.h", "values.c", "-o", "values")
        assert list(map(int, run(here / "values").split())) == expected
        assert len(json.loads(run(tune, *one, "json"))["winners"]) == 2


def listed(kernels):
    """Every problem: the words of the command line, those of its operation, and the end of its row."""
    for values, words in MATRICES:
        yield words, ["TRANSPOSE"], ("transpose", None, values)
    for dims, perm in PERMUTATIONS:
        words = ["--permute", ",".join(map(str, perm)), "--dims", ",".join(map(str, dims))]
        yield words, ["TRANSPOSE", "PERMUTE", "COPY"], (None, None, None, dims, perm)
    for name, values, constant in OWN:
        yield ["--kernel", kernels[name], "--problem", values], [KERNELS.get(name, name)], (None, kernels[name], values, (), (), constant)
    for op, values in OPS:
        yield ["--op", op, "--problem", values], [op], (op, None, values)


def row(number, op, kernel, values, dims=(), perm=(), constant=None):
    """A problem of export_program.c."""
    def text(value):
        return "NULL" if value is None else f'"{value}"'

    def numbers(values):
        return "{" + (", ".join(map(str, values)) or "0") + "}"

    return (f"    {{{number}, {text(op)}, {text(kernel)}, {text(values)}, {len(dims)}, {numbers(dims)}, {numbers(perm)}, "
            f"{text(constant)}}},")


def number_of(words, operations, header):
    """The number of a problem, by its name in the header."""
    best = json.loads(run(tune, "best", *words, *GPU, "--db", "store.db", "--json"))
    slug = re.sub("[^A-Z0-9]+", "_", best["measured"]["problem"].upper())
    found = re.findall(rf"^    TUNED_(?:{'|'.join(operations).upper()})_{slug} = (\d+),$", header, re.M)
    assert len(found) == 1, (words, slug, found, header)
    return found[0]


with tempfile.TemporaryDirectory() as folder:
    here = pathlib.Path(folder)
    kernels = {}
    for name, _, _ in OWN:
        kernels[name] = here / f"{name}.cu"
        kernels[name].write_text(TEXTS.get(name) or
                                 (root / f"examples/kernels/{name}.cu").read_text(encoding="utf-8"), encoding="utf-8")
    for words, _, _ in listed(kernels):
        run(tune, *words, "--db", "store.db", "--max-trials", "1" if stand_ins else "2", "--quiet")
    templates = [w for path in kernels.values() for w in ("--template", path)]
    said = run(tune, "export", "--format", "c", "--output", "tuned.c", "--db", "store.db", *templates)
    header = (here / "tuned.h").read_text(encoding="utf-8")
    rows = [row(number_of(words, operations, header), *rest)
            for words, operations, rest in listed(kernels)]
    assert f"{len(rows)} winners" in said, said
    (here / "export_problems.h").write_text(f"enum {{ CONSTANT_BYTES = {CONSTANT_BYTES}, SAXPY_4099 = {rows[SAXPY_4099].split(',')[0].strip(' {')} }};\n"
                                            "static const problem problems[] = {\n" + "\n".join(rows) + "\n};\n")
    # The same bytes again: nothing in the file depends on when or where it was written.
    first = (here / "tuned.c").read_bytes()
    run(tune, "export", "--format", "c", "--output", "tuned.c", "--db", "store.db", *templates)
    assert (here / "tuned.c").read_bytes() == first

    flags = ["-isystem", folder, "-isystem", root / "include", *includes]
    for compiler, standard in ((cc.split(), "c99"), (CXX, "c++17"), (CXX, "c++11")):
        language = "c++" if "++" in standard else "c"
        plain = [f"-I{flag}" for flag in flags if flag != "-isystem"]  # not as a system's header: cuda.h warns, too
        run(*compiler, "-x", language, f"-std={standard}", *WARNINGS, *plain, "-c", "tuned.c", "-o", f"{standard}.o")
    run(*cc.split(), "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", *flags, root / "tests/cli/export_program.c",
        "-c", "-o", "program.o")
    libraries = [library, *CUDA, "-lpthread", f"-Wl,-rpath,{library.parent}"]
    for standard in ("c99", "c++17"):
        run(*cc.split(), "program.o", f"{standard}.o", *libraries, "-o", f"program-{standard}")
        said = run(here / f"program-{standard}", "store.db", *mode)
        assert said.endswith(f"{len(rows)} problems\n"), said
    if not stand_ins:
        print(said)
    # A program needs neither SQLite nor NVRTC, nor anything of tiletune.
    (here / "alone.c").write_text('#include "tuned.h"\nint main(void) { tuned_plan p; return tuned_plan_make(&p, 0) == TUNED_OK; }\n')
    run(*cc.split(), *flags, "alone.c", "tuned.c", *CUDA, "-o", "alone")
    needs = [line.split()[0] for line in run("ldd", "alone").splitlines()]  # without folders: a clone may be named so
    assert not re.search("sqlite|nvrtc|tiletune", " ".join(needs)), needs

    check_ptx()
    if stand_ins:
        check_other_gpus()
    check_choices(kernels)
    check_values(kernels)
print(f"{len(rows)} problems, {len(first) / 1e3:.0f} KB")
