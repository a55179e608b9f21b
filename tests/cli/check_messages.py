#!/usr/bin/env python3
"""check_messages.py TUNE: what `tune check` says of kernels as people bring them, with the real NVRTC. Each message names the cause
and the way out in one sentence."""
import pathlib
import subprocess
import sys
import tempfile

tune = sys.argv[1]
SKIPPED = 77
HEAD = 'extern "C" __global__ void k(const float *x, float *y, int n) {'
TAIL = " y[blockIdx.x * blockDim.x + threadIdx.x] = x[n / 2]; }\n"
USUAL = {"kernel": "k", "param": "param B 32 64", "args": "x, y, i32 n", "grid": "n / B", "default": "B=32", "more": "", "code": HEAD + TAIL}
TEXT = """//@ kernel {kernel}
//@ problem n 1024
//@ buffer x f32 n in
//@ buffer y f32 n out
//@ {param}
//@ block B
//@ grid {grid}
//@ args {args}
//@ default {default}
//@ reference default
{more}{code}"""
HEADERS = {"bad.h": "#pragma once\n__device__ int f() { return undefined_thing; }\n",
           "annotated.h": "//@ param C 1 2\n",
           "clash.h": "namespace width { __device__ int f() { return 1; } }\n"}
GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"


def within(code, before=""):
    return {"code": before + HEAD + " " + code + TAIL}


def taking(what, before=""):
    return {"code": before + f'extern "C" __global__ void k({what}, const float *x, float *y, int n) {{' + TAIL}


def clash(name, code):
    return {"param": f"param {name} 1 2\n//@ runtime B 32 64", "default": f"{name}=1 B=32", **code}


def option(text):
    return {"more": f"//@ options {text}\n"}


CASES = [  # what is changed, and what the message says
    # an error inside a header
    (within("y[1] = f();", '#include "bad.h"\n'), 'the header bad.h cannot be compiled for the device, line 2: identifier "undefined_thing" is '
                                                'undefined. If only functions of the host need it, put its #include between #ifndef'),
    (within("", '#include "missing.h"\n'), '#include "FILE" takes in a file beside the kernel or in a folder of `//@ include`'),
    # words of the host elsewhere do not hide it
    (within("y[1] = f();", '#include "bad.h"\nstd::string s = "a"; enum { a = sizeof s };\n'), "the header bad.h cannot be compiled for the device, line 2"),
    (within("", '#include "annotated.h"\n'), "annotated.h:1:1: `//@ param` is in a header, where no annotation counts: move it to"),
    # a clash of names
    (clash("width", within("width::f();", '#include "clash.h"\n')), "width is a macro, as each parameter is, also in headers: give it another name"),
    (clash("m", {"code": HEAD.replace("n)", "m)") + TAIL.replace("n /", "m /")}), "m is a macro, as each parameter is: take its declaration out"),
    (clash("W", within("W w = n; y[1] = w;", "using W = float;\n")), "W is both a type of the code and a parameter: give one another name"),
    (clash("W", within("using W  =  float; W w = n; y[1] = w;")), "W is both a type of the code and a parameter: give one another name"),
    (within("W w = n; y[1] = w;", "using W = 1;\n"), "error: expected a type specifier"),
    (clash("W", within("W w; w.a = n; y[1] = w.a;", "struct W { int a; };\n")), "W is both a type of the code and a parameter"),
    (clash("W", within("W w = A; y[1] = w;", "enum W { A };\n")), "W is both a type of the code and a parameter"),
    (clash("W", within("W w = n; y[1] = w;", "typedef float W;\n")), "W is a macro, as each parameter is: take its declaration out"),
    (clash("m", within("nvcuda::wmma::fragment<int, 8, 8, 8, int> f;", "#include <mma.h>\n")),
     "m is a macro, as each parameter is, also in headers: give it another name, or say `as template`"),
    # names without their header
    (within("__half h;"), "`__half` needs a header: add #include <cuda_fp16.h>"),
    (within("__nv_bfloat16 h;"), "`__nv_bfloat16` needs a header: add #include <cuda_bf16.h>"),
    (within("nvcuda::wmma::fill_fragment(y, 1);"), "`nvcuda` needs a header: add #include <mma.h>"),
    (within("cooperative_groups::this_thread_block().sync();"), "`cooperative_groups` needs a header: add #include <cooperative_groups.h>"),
    (within("cub::BlockReduce<float, 32> r;"), "`cub` needs a header: add #include <cub/cub.cuh>"),
    (within("y[1] = FLT_MAX;"), "`FLT_MAX` needs a header: add #include <cfloat>"),
    # what is not supported
    (taking("cudaTextureObject_t t"), "k takes a cudaTextureObject_t, and textures and surfaces cannot be given: let it read a buffer"),
    (within("y[0] = tex1Dfetch(t, 0);", "texture<float> t;\n"), "`texture<` is a texture reference, which CUDA 12 has removed: read the buffer itself"),
    (within("child<<<1, 32>>>();", "__global__ void child() {}\n"), "`<<<` in a kernel launches another, which is not supported: let a `kernel` line"),
    ({"code": "__kernel void k(__global float *x) {}\n"}, "the code is OpenCL (`__kernel`), and only CUDA C++ can be tuned"),
    (within("std::vector<int> v;", "#include <vector>\n"), "`std::vector` is host code: take it out of the file, or put it between"),
    (within("std::cout << 1;", "#include <iostream>\n"), "`std::cout` is host code: take it out of the file, or put it between"),
    (within("thrust::device_vector<int> v;", "#include <thrust/device_vector.h>\n"), "`thrust::` is a library of the host, and a kernel cannot use it"),
    (within("at::Tensor t;", "#include <torch/extension.h>\n"), "`at::` is a library of the host, and a kernel cannot use it"),
    (within("throw 1;"), "a kernel can neither throw nor catch: call __trap() where it cannot go on"),
    (within("y[1] = g(x[0]);", "extern __device__ float g(float);\n"), "g is declared, and its body is nowhere: #include the file that has it"),
    (within('asm volatile("tcgen05.fence::before_thread_sync;");'), "has no `tcgen05.fence`: add a line such as //@ where cc >= 100"),
    (within("y[1] = id(1);", "template <class T> concept C = true;\ntemplate <C T> __device__ T id(T v) { return v; }\n"),
     "`concept` is C++20: add the line //@ options -std=c++20"),
    # what annotations must say
    (within("cg::this_grid().sync();", GROUPS), "k.cu:1:12: k waits for its whole grid (this_grid), so all of its blocks must be on the GPU at "
                                                "once: add //@ launch cooperative"),
    (within("cg::this_cluster().sync();", GROUPS), "k works in clusters of blocks (this_cluster), and nothing says how large they are: add a line"),
    ({"grid": "3", "code": HEAD.replace("void k", "void __cluster_dims__(2, 1, 1) k") + TAIL},
     "a grid of k has 3x1x1 blocks, which is no multiple of its clusters of 2x1x1 (__cluster_dims__): round `grid` up"),
    (taking("const __grid_constant__ CUtensorMap m", "#include <cuda.h>\n"), "k takes a CUtensorMap: make one with a line such as //@ tensormap map x"),
    ({"kernel": "r", "code": "template <int N> __global__ void r(const float *x, float *y, int n) {" + TAIL}, "r is a template: name an instance of it"),
    ({"kernel": "r<float>", "code": "template <int N> __global__ void r(const float *x, float *y, int n) {" + TAIL},
     "k.cu: `r<float>` is no kernel of the code: the template r takes other arguments"),
    ({"kernel": "mine::k", "code": HEAD.replace('extern "C" ', "") + TAIL}, 'k.cu: `mine::k` is no kernel of the code: name followed by "::" must be'),
    ({"kernel": "ops<float>::k"}, "k.cu:1:12: found 'ops<float>::k', expected a name"),
    ({"kernel": "k_float", "code": "#define KERNEL(T) __global__ void k_##T(const float *x, float *y, int n) {" + TAIL.strip() + "\nKERNEL(float)\n"},
     "k.cu:1:12: the code has no kernel k_float, which `kernel` names; what a macro makes with ## is not found: write it out"),
    ({"grid": "n / (B * WIDE)", "code": "const int WIDE = 2;\n" + HEAD + TAIL},
     "unknown name WIDE; it is of the code, which annotations do not see: write its value, or make it a `param`"),
    ({"code": "__global__ void k(double *x) { x[0] = 1; }\n" + HEAD.replace('extern "C" ', "") + TAIL},
     "k is the name of several functions, and `kernel` cannot say which one: rename the one that is tuned"),
    ({"args": "x, y"}, "k has 3 parameters, but its `args` has 2 items: make `args` name what the kernel takes"),
    ({"args": "x, y, i64 n"}, "parameter 3 of k has 4 bytes, but item 3 of its `args` (i64) has 8: make `args` name what the kernel takes"),
    ({"args": "x, y, f32 n"}, "k.cu:8:20: parameter 3 of k is i32, and item 3 of its `args`, n, is f32: make it i32"),
    ({"args": "x, y, i32 n, 2", "code": HEAD.replace("n)", "n, const float  a)") + TAIL},
     "parameter 4 of k is f32, and item 4 of its `args`, 2, is i32: make it f32"),
    ({"param": "param int B 32 64"}, "k.cu:5:11: int is a type of C++, and `param` begins with a name"),
    ({"args": "x, y, long long n"}, "long long is a type of C++: write i64 n"),
    ({"grid": "(int)ceil((float)n / B)"}, "int is of C++: leave the cast away, because whole numbers have 64 bits here, and ceil_div(a, b) rounds up"),
    (within("extern __shared__ float s[]; s[0] = 1;"), "k declares an `extern __shared__` array, and has no `shared` line that says how many bytes"),
    ({"code": HEAD.replace("void k", "void __launch_bounds__(16) k") + TAIL}, "a block of k has 32 threads, but __launch_bounds__ allows only 16"),
    (option("-rdc=true"), "-rdc=true is not allowed: a file is compiled as a whole: let it include the others"),
    (option("-arch=sm_80"), "-arch=sm_80 is not allowed: the code is made for the GPU that is tuned"),
    (option("-Ifolder"), "-Ifolder is not allowed: it is an annotation: //@ include FOLDER"),
]

FITS = [  # nothing is said of these
    {"args": "x, y, i32 n, u8 56", "code": "#include <cuda_fp8.h>\n" + HEAD.replace("n)", "n, __nv_fp8_e4m3 a)") + TAIL},
]


def check(folder, changes):
    (folder / "k.cu").write_text(TEXT.format(**{**USUAL, **changes}), encoding="utf-8")
    return subprocess.run([tune, "check", folder / "k.cu"], capture_output=True, text=True)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for header, text in HEADERS.items():
        (folder / header).write_text(text, encoding="utf-8")
    usual = check(folder, {})
    if "compiled   sm_" not in usual.stdout:
        print("skipped: NVRTC compiles nothing here:", usual.stdout, usual.stderr)
        sys.exit(SKIPPED)
    wrong = []
    for changes, says in CASES:
        done = check(folder, changes)
        if done.returncode == 0 or says not in done.stderr:
            wrong.append(f"{changes}\n  expected: {says}\n  found ({done.returncode}): {done.stderr}")
    for changes in FITS:
        done = check(folder, changes)
        if done.returncode or done.stderr:
            wrong.append(f"{changes}\n  expected: nothing\n  found ({done.returncode}): {done.stderr}")
print(f"{len(CASES)} messages")
sys.exit("\n".join(wrong) or 0)
