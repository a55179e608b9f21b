"""What the scripts that need CuPy share: kernels made of the templates' texts, their launches, and times. Not a program.

cupy and numpy are handed over, so that a script can say what it does without them. A launch is a function of dst and src.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TILE = ("READ_RUN", "WRITE_RUN", "VL", "VS", "THREADS")  # a tile of transpose_vector and of transpose_large, in this order


def source(path, exchanged=()):
    """A file's text with its headers in place, and every exchange (text, its replacement) made at least once."""
    text = (ROOT / path).read_text()
    while "#include \"" in text:
        text = re.sub(r'#include "(\S+)"', lambda found: (ROOT / "kernel_templates" / found[1]).read_text(), text)
    for old, new in exchanged:
        if old not in text:
            raise SystemExit(f"{path}: there is no {old!r} to exchange any more")
        text = text.replace(old, new)
    return text


def kernel(cupy, name, macros, shared=0, exchanged=(), path=None):
    """The kernel of a template, or of another file."""
    path = path or f"kernel_templates/{name}.cu"
    text = source(path, exchanged)
    missing = [each for each in re.findall(r"^//@ (?:param|derived) +(\w+)", text, re.M) if each not in macros]
    if missing:
        raise SystemExit(f"{path}: no value is given for {', '.join(missing)}")
    made = cupy.RawKernel(text, name, options=("--std=c++17",) + tuple(f"-D{key}={value}" for key, value in macros.items()))
    made.max_dynamic_shared_size_bytes = shared
    return made


def copy(cupy, numpy, size, keep=0):
    """copy_linear of so many bytes, a multiple of 4096."""
    made = kernel(cupy, "copy_linear", {"VEC": 16, "UNROLL": 1, "KEEP": keep, "WHOLE": int(size % 131072 == 0 and size < 1 << 34)})
    return lambda dst, src: made((size // 4096,), (256,), (dst, src, numpy.int64(size), numpy.int32(0)))


def vector(cupy, numpy, n, elem, tile, stream, order, exchanged=()):
    """transpose_vector of n x n elements, whole tiles of lines."""
    read, write, _, _, threads = tile
    across, down, shared = n * elem // read, n * elem // write, read * write // elem
    macros = dict(zip(TILE, tile)) | {"STREAM": stream, "SEGMENT": 0, "PREFETCH": 0, "EDGES": 0, "ELEM_SIZE": elem}
    made = kernel(cupy, "transpose_vector", macros, shared, exchanged)
    grid = {0: (across, down), 1: (down, across), 3: (64, down, across // 64)}[order]
    side, zero = numpy.int64(n), numpy.int64(0)
    args = (side, side, side, side, zero, zero, numpy.int32(order))
    return lambda dst, src: made(grid, (threads,), (dst, src) + args, shared_mem=shared)


def large(cupy, numpy, n, elem, tile, skew):
    """transpose_large of n x n elements, whole tiles."""
    read, write, _, _, threads = tile
    across, down, shared = n * elem // read, n * elem // write, read * write // elem
    made = kernel(cupy, "transpose_large", dict(zip(TILE, tile)) | {"ELEM_SIZE": elem}, shared)
    l2 = cupy.cuda.runtime.getDeviceProperties(0)["l2CacheSize"]
    args = (numpy.int64(n), numpy.int64(n), numpy.int32(min(across // 2, -(-l2 // (n * read)))), numpy.int32(skew))
    return lambda dst, src: made((down, across), (threads,), (dst, src) + args, shared_mem=shared)


def time_us(cupy, launch, dst, src):
    """Of a launch behind another one of the same."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    launch(dst, src)
    begin.record()
    launch(dst, src)
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(begin, end) * 1e3


def where(cupy, rounds):
    """What stands above a table."""
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return f"{device}, CUDA driver API {cupy.cuda.runtime.driverGetVersion()}; medians of {rounds}"
