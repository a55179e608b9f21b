"""Transformer Engine's cast_transpose of bf16 to e4m3, compiled by NVRTC from a checkout of its source, for bench/cast.py.

If rows and columns are multiples of 32, it compiles rtc/cast_transpose.cu with sizes of vectors from a cost model. Otherwise it
launches a general kernel with 4 and 4. Here both are compiled with all legal sizes.
"""
import concurrent.futures, ctypes as C, os, pathlib, re, sys

WARPS, LANES = 4, 32
SIZES = [(8, 8), (4, 8), (8, 4), (4, 4), (2, 8), (8, 2), (2, 4), (4, 2), (2, 2), (8, 1), (4, 1), (2, 1)]  # in its order; bytes
GENERAL = (4, 4)
NAME = {True: "cast_transpose_optimized_kernel", False: "cast_transpose_general_kernel"}


def version(folder):
    return (pathlib.Path(folder) / "build_tools/VERSION.txt").read_text().strip()


def tile(sizes):
    """(columns, rows) of the tile of a block."""
    return sizes[0] // 2 * LANES, sizes[1] * LANES


def is_aligned(rows, cols):
    return rows % LANES == 0 and cols % LANES == 0


def legal(rows, cols):
    return [s for s in SIZES if not is_aligned(rows, cols) or (cols % tile(s)[0] == 0 and rows % tile(s)[1] == 0)]


def blocks(rows, cols, sizes):
    wide, high = tile(sizes)
    return -(-cols // wide) * -(-rows // high)


def chosen(rows, cols, sms):
    """The sizes that it takes, by the cost model of cast_transpose.cu."""
    def cost(sizes):
        wide, high = tile(sizes)
        lines = 1 / min(64, wide) + 1 / min(128, wide) + 1 / min(128, high)
        return lines / min(-(-blocks(rows, cols, sizes) * WARPS // 16), sms)
    return min(legal(rows, cols), key=cost) if is_aligned(rows, cols) else GENERAL


def source(folder, aligned, sizes):
    common = pathlib.Path(folder) / "transformer_engine/common/transpose"
    if aligned:
        text = (common / "rtc/cast_transpose.cu").read_text()
        values = {"ITYPE": "__nv_bfloat16", "OTYPE": "__nv_fp8_e4m3", "LOAD_SIZE": sizes[0], "STORE_SIZE": sizes[1],
                  "WARPS_PER_TILE": WARPS, "BLOCK_SIZE": WARPS * LANES}
        for name, value in values.items():
            text = text.replace(f"__{name}__", str(value))
        return text, NAME[aligned]
    found = re.search(r"template <size_t load_size.*?\n}\n", (common / "cast_transpose.cu").read_text(), re.S)
    if not found:
        raise ValueError(f"{common}/cast_transpose.cu: no {NAME[aligned]}; this bench fits commit d0067d0 of Transformer Engine")
    return ("#include \"utils.cuh\"\nnamespace std { using transformer_engine::detail::is_same; }\nusing namespace transformer_engine;\n"
            f"using CType = float;\nconstexpr size_t warps_per_tile = {WARPS}, block_size = {WARPS * LANES};\n{found[0]}",
            f"{NAME[aligned]}<{sizes[0]}, {sizes[1]}, __nv_bfloat16, __nv_fp8_e4m3>")


def nvrtc():
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    for name in ("libnvrtc.so.13", "libnvrtc.so.12", f"{cuda}/lib64/libnvrtc.so", f"{cuda}/lib/libnvrtc.so"):
        try:
            return C.CDLL(name), f"{cuda}/include"
        except OSError:
            pass
    raise ValueError("no NVRTC: set CUDA_HOME to a CUDA toolkit")


def build(folder, aligned, sizes, arch):
    """(cubin, name of the function) with the options of util/rtc.cpp."""
    lib, include = nvrtc()
    text, name = source(folder, aligned, sizes)
    program, size, lowered = C.c_void_p(), C.c_size_t(), C.c_char_p()

    def check(status):
        if status:
            lib.nvrtcGetProgramLogSize(program, C.byref(size))
            log = C.create_string_buffer(size.value + 1)
            lib.nvrtcGetProgramLog(program, log)
            raise ValueError(f"{name} with {sizes} does not compile (NVRTC error {status}):\n{log.value.decode()}")
    options = [f"--gpu-architecture={arch}", "--std=c++17", f"-I{folder}/transformer_engine/common", f"-I{include}"]
    check(lib.nvrtcCreateProgram(C.byref(program), text.encode(), b"cast_transpose.cu", 0, None, None))
    check(lib.nvrtcAddNameExpression(program, name.encode()))
    check(lib.nvrtcCompileProgram(program, len(options), (C.c_char_p * len(options))(*map(str.encode, options))))
    check(lib.nvrtcGetLoweredName(program, name.encode(), C.byref(lowered)))
    check(lib.nvrtcGetCUBINSize(program, C.byref(size)))
    cubin = C.create_string_buffer(size.value)
    check(lib.nvrtcGetCUBIN(program, cubin))
    function = lowered.value
    lib.nvrtcDestroyProgram(C.byref(program))
    return cubin.raw, function


def architecture():
    driver, major, minor = C.CDLL("libcuda.so.1"), C.c_int(), C.c_int()
    if (driver.cuInit(0) or driver.cuDeviceGetAttribute(C.byref(major), 75, 0)
            or driver.cuDeviceGetAttribute(C.byref(minor), 76, 0)):
        raise ValueError("the CUDA driver finds no GPU")
    return f"sm_{major.value}{minor.value}"


def build_all(folder, shapes, arch=None):
    """{(aligned, sizes): (cubin, name)} of all that the shapes (rows, columns) can use."""
    wanted = sorted({(is_aligned(*shape), s) for shape in shapes for s in legal(*shape)})
    try:
        arch = arch or architecture()
        with concurrent.futures.ProcessPoolExecutor() as pool:
            return dict(zip(wanted, pool.map(build, *zip(*((folder, aligned, s, arch) for aligned, s in wanted)))))
    except (OSError, ValueError) as error:
        sys.exit(f"--transformer-engine {folder}: {error}")


def launcher(driver, built, rows, cols, sizes):
    """A function that launches on a stream: output_t, output_c, amax, input and scale are addresses."""
    cubin, name = built[is_aligned(rows, cols), sizes]
    module, function = C.c_void_p(), C.c_void_p()
    if driver.cuModuleLoadData(C.byref(module), cubin) or driver.cuModuleGetFunction(C.byref(function), module, name):
        sys.exit(f"--transformer-engine: {name.decode()} cannot be loaded")
    n = blocks(rows, cols, sizes)

    def launch(stream, output_t, output_c, amax, x, scale):
        values = [C.c_uint64(v) for v in (x, 0, output_c, output_t, scale, amax, 0, cols, rows)]
        args = (C.c_void_p * len(values))(*[C.addressof(v) for v in values])
        if driver.cuLaunchKernel(function, n, 1, 1, WARPS * LANES, 1, 1, 0, C.c_void_p(stream), args, None):
            sys.exit(f"--transformer-engine: {name.decode()} cannot be launched")
    return launch
