"""Arrays of CuPy, JAX, and of all others that have __cuda_array_interface__ or DLPack. PyTorch's are in _torch.py.

What the library cannot do (an empty or repeated axis, an array on the host, more dimensions) is left to theirs.
"""
from __future__ import annotations

import functools
import operator
import re
import sys
from typing import Any, Callable, NamedTuple, Sequence

from . import _context
from ._errors import InvalidError, error
from ._native import ffi, lib

LEAVE = (lib.TT_E_UNSUPPORTED, lib.TT_E_CAPTURE)  #: what another library can still do


class View(NamedTuple):
    """An array on a device."""

    address: int
    shape: "tuple[int, ...]"
    strides: "tuple[int, ...]"  #: in elements
    itemsize: int
    type: str  #: "f32", as in annotations; another one as its library calls it: "<c8", ">f4"
    device: int  #: -1: unknown, so that of the current CUDA context
    stream: int
    read_only: bool = False
    refused: str = ""  #: why a kernel cannot take it, though its own library may move it


class Library(NamedTuple):
    """How a library's arrays are handled."""

    view: "Callable[[Any], View | None]"  #: None: not on a CUDA device, or traced
    empty: "Callable[[Any, tuple[int, ...]], Any]"  #: like an array, of another shape
    permuted: "Callable[[Any, list[int]], Any]"  #: by the library itself
    finish: "Callable[[View], None]" = lambda view: None


def dense(shape: "Sequence[int]") -> "tuple[int, ...]":
    strides, step = [], 1
    for dim in reversed(shape):
        strides.append(step)
        step *= dim
    return tuple(reversed(strides))


class Permutation(NamedTuple):
    """A permutation that the library does. All of it is computed in C, since the first call of a shape waits for it."""

    c: Any  #: tt_permutation *
    shape: "tuple[int, ...]"  #: of the result
    strides: "tuple[int, ...]"
    is_view: bool  #: the result is one of the array
    block: Any  #: the memory of all that


_BLOCK, _POINTER = ffi.typeof("int64_t[]"), ffi.typeof("tt_permutation *")


@functools.lru_cache(maxsize=4096)
def problem_of(shape: "tuple[int, ...]", strides: "tuple[int, ...]", axes: "tuple[int, ...]", itemsize: int) -> "Permutation | None":
    """None: the library refuses such arrays, which are empty, repeated, reversed, or overlap; or the axes are not all of them."""
    rank, head = len(shape), lib.TT_PY_HEAD
    if len(strides) != rank or sorted(axes) != list(range(rank)):  # C takes them as indexes
        return None
    block = ffi.new(_BLOCK, head + 5 * rank)
    try:
        done = lib.tt_py_permutation(block, shape, strides, axes, rank, itemsize)
    except OverflowError:
        return None
    if not done:
        return None
    to = ffi.unpack(block + (head + 2 * rank), 2 * rank)
    return Permutation(ffi.cast(_POINTER, block), tuple(to[:rank]), tuple(to[rank:]), done == 2, block)


def is_dense(shape: "Sequence[int]", strides: "Sequence[int]") -> bool:
    return all(d == 1 or s == t for d, s, t in zip(shape, strides, dense(shape)))


def move(library: Library, x: Any, axes: "list[int]", out: Any) -> Any:
    """Permutes an array with the library's kernels, or leaves it to the array's own library."""
    view = library.view(x)
    if view is None:
        if out is not None:
            raise InvalidError(f"out: {type(x).__name__} is not on a CUDA device, so its own library transposes it")
        return library.permuted(x, axes)
    problem = None if view.refused else problem_of(view.shape, view.strides, tuple(axes), view.itemsize)
    if out is None and (problem is None or problem.is_view):
        return library.permuted(x, axes)
    if problem is None:
        raise InvalidError(view.refused or f"shape {view.shape} with strides {view.strides}, elements of {view.itemsize} bytes: "
                           "no kernel moves such an array; leave out= out, or make the array contiguous first")
    shape = problem.shape
    y = library.empty(x, shape) if out is None else out
    to = library.view(y)
    if out is not None and to is not None and (to.refused or to.read_only):
        raise InvalidError(f"out: {to.refused or 'the array is read-only'}")
    if (to is None or to.shape != shape or (to.type, to.itemsize) != (view.type, view.itemsize)
            or not is_dense(to.shape, to.strides) or (to.device != view.device and -1 not in (to.device, view.device))):
        raise InvalidError(f"out must be a contiguous array of shape {shape} and of the type of x, on the same device")
    context = _context.handle or _context.use(None)._c
    status = lib.tt_py_permute(context, problem.c, to.address, view.address, view.stream, view.device)
    if status:
        if status in LEAVE and out is None:
            return library.permuted(x, axes)
        raise error(status)
    library.finish(view)
    return y


# ---- CuPy


def _cupy() -> Library:
    import cupy
    types = {cupy.dtype(name): short for name, short in _NUMPY_TYPES.items()}

    def view(x: Any) -> View:
        size = x.itemsize
        return View(x.data.ptr, x.shape, tuple(s // size for s in x.strides), size if all(s % size == 0 for s in x.strides) else 0,
                    types.get(x.dtype, x.dtype.str), x.device.id, cupy.cuda.get_current_stream().ptr)

    def empty(x: Any, shape: "tuple[int, ...]") -> Any:
        with x.device:
            return cupy.empty(shape, dtype=x.dtype)

    return Library(view, empty, lambda x, axes: cupy.ascontiguousarray(x.transpose(axes)))


_NUMPY_TYPES = {"bool": "bool", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32",
                "uint32": "u32", "int64": "i64", "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64"}

# ---- JAX: its streams are its own, so what it has queued is awaited, and so is the kernel.


def _jax() -> Library:
    import jax

    def view(x: Any) -> "View | None":
        if isinstance(x, jax.core.Tracer) or len(x.devices()) != 1:
            return None
        device, = x.devices()
        if device.platform not in ("gpu", "cuda") or x.dtype.name.startswith(("int4", "uint4", "int2", "uint2", "float4")):
            return None
        x.block_until_ready()
        return View(x.unsafe_buffer_pointer(), x.shape, dense(x.shape), x.dtype.itemsize,
                    "bf16" if x.dtype.name == "bfloat16" else _NUMPY_TYPES.get(x.dtype.name, x.dtype.name),
                    device.local_hardware_id, 0)

    def empty(x: Any, shape: "tuple[int, ...]") -> Any:
        return jax.device_put(jax.numpy.empty(shape, x.dtype), *x.devices())

    return Library(view, empty, jax.numpy.transpose, _synchronize)


# ---- Others

_INTERFACE_TYPES = {"b1": "bool", **{f"{kind}{size}": f"{kind}{8 * size}" for kind in "iuf" for size in (1, 2, 4, 8)}}


_TYPESTR = re.compile(r"([<>|=])([biufcmMSUV])([1-9]\d*)(\[.*\])?")


def _interface_view(x: Any) -> View:
    said = x.__cuda_array_interface__
    typestr, shape, steps = said["typestr"], tuple(said["shape"]), said.get("strides")
    parts, refused = _TYPESTR.fullmatch(typestr), ""
    size = int(parts[3]) * (4 if parts[2] == "U" else 1) if parts else 0  # a U is a character of 4 bytes
    if not size:
        refused = f"elements of the type {typestr!r} have no size that a kernel could move"
    elif said.get("mask") is not None:
        refused = "the array has a mask, which a kernel would not see"
    elif steps and any(s % size for s in steps):
        refused = f"strides of {tuple(steps)} bytes are no multiples of an element's {size}"
    strides = dense(shape) if steps is None or refused else tuple(s // size for s in steps)
    swapped = typestr[:1] == ">" and size > 1  # its bits mean other numbers
    stream, (address, read_only) = said.get("stream") or 0, said["data"]
    if not isinstance(stream, int) or stream < 0:
        refused = refused or f"stream {stream!r} is not an address of a CUDA stream"
    return View(address, shape, strides, size, typestr if swapped else _INTERFACE_TYPES.get(typestr[1:], typestr),
                lib.tt_py_device_of(address), 0 if refused or stream == 1 else stream, bool(read_only), refused)


def _namespace(x: Any) -> Any:
    if not hasattr(x, "__array_namespace__"):
        raise InvalidError(f"out: give an array for the result, since {type(x).__name__} has no __array_namespace__ to make one")
    return x.__array_namespace__()


def _interface_empty(x: Any, shape: "tuple[int, ...]") -> Any:
    return _namespace(x).empty(shape, dtype=x.dtype, device=x.device)


def _interface_permuted(x: Any, axes: "list[int]") -> Any:
    namespace = _namespace(x)
    return namespace.asarray(namespace.permute_dims(x, tuple(axes)), copy=True)


def _synchronize(view: View) -> None:
    if lib.tt_py_synchronize(view.stream, view.device):
        raise RuntimeError("the kernel failed on the device; the CUDA context cannot be used any more")


def _dlpack_view(x: Any) -> "View | None":
    """By a library that is loaded anyway, on its stream: the array's own library does not know that one."""
    for name in ("torch", "cupy"):
        module = sys.modules.get(name)
        if module is not None:
            y = module.from_dlpack(x)
            return library_of(y).view(y)
    raise InvalidError(f"{type(x).__name__} has DLPack only: import torch or cupy, or give an array with "
                       "__cuda_array_interface__")


_INTERFACE = Library(_interface_view, _interface_empty, _interface_permuted)
_DLPACK = Library(_dlpack_view, _interface_empty, _interface_permuted, _synchronize)
_MAKERS = {"cupy": _cupy, "jax": _jax, "jaxlib": _jax}
_libraries: "dict[type, Library]" = {}


def library_of(x: Any) -> Library:
    """How arrays of this type are handled."""
    kind = type(x)
    if kind not in _libraries:
        _libraries[kind] = _find(x)
    return _libraries[kind]


def _find(x: Any) -> Library:
    if _is_tensor(x):
        from . import _torch
        return _torch.LIBRARY
    maker = _MAKERS.get(type(x).__module__.split(".")[0])
    if maker is not None:
        return maker()
    if hasattr(x, "__cuda_array_interface__"):
        return _INTERFACE
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array_interface__"):
        return _DLPACK
    raise InvalidError(f"{type(x).__name__} is not an array on a GPU: give one of PyTorch, CuPy, JAX or another library "
                       "with __cuda_array_interface__ or DLPack")


def has_axes(x: Any) -> bool:
    """Is it an array of one or more dimensions? A nested tensor has no shape."""
    return bool(x.dim() if _is_tensor(x) else getattr(x, "shape", ()))


def view_of(x: Any) -> "View | None":
    return library_of(x).view(x) if has_axes(x) else None


def axes_of(dims: "Sequence[int]", rank: int) -> "list[int]":
    """Axes from 0, of axes that may count from the end."""
    try:
        axes = [d + rank if d < 0 else d for d in map(operator.index, dims)]
    except TypeError:
        raise InvalidError(f"dims {dims!r}: an axis is a whole number") from None
    if sorted(axes) != list(range(rank)):
        raise InvalidError(f"dims {tuple(dims)}: an array of {rank} dimensions has each axis from 0 to {rank - 1} once")
    return axes


# ---- The two functions

# PyTorch's part, once it is loaded. torch.compile traces what follows, so there is no dictionary of types in it.
tensors: "tuple[type, ...]" = ()
_transpose_tensor: Any = None
_permute_tensor: Any = None


def adopt(tensor: type, transpose_tensor: Any, permute_tensor: Any) -> None:
    """From now on such tensors take these functions at once."""
    global tensors, _transpose_tensor, _permute_tensor
    tensors, _transpose_tensor, _permute_tensor = (tensor,), transpose_tensor, permute_tensor


def _is_tensor(x: Any) -> bool:
    return hasattr(type(x), "__torch_function__")


def transpose(x: Any, *, out: Any = None) -> Any:
    """The last two axes swapped, and contiguous, as `x.mT.contiguous()` of PyTorch.

    x is a tensor of PyTorch, or an array of CuPy, JAX or another library with __cuda_array_interface__ or DLPack, of any
    rank from 2 on. The kernel runs on the current stream of that library. Gradients, torch.compile and torch.func work.
    What tiletune cannot do, such as a tensor on the CPU, is left to that library.

    out: a contiguous array for the result, of the same type.
    """
    if isinstance(x, tensors):
        return _transpose_tensor(x, out)
    if _is_tensor(x):
        from . import _torch
        return _torch.first(_torch.transpose, x, out)
    library = library_of(x)
    rank = len(x.shape)
    if rank < 2:
        raise InvalidError(f"an array of {rank} dimensions is no matrix, and no batch of them")
    return move(library, x, [*range(rank - 2), rank - 1, rank - 2], out)


def permute(x: Any, dims: "Sequence[int]", *, out: Any = None) -> Any:
    """The axes in another order, and contiguous, as `x.permute(dims).contiguous()`. Otherwise like transpose()."""
    if isinstance(x, tensors):
        return _permute_tensor(x, dims, out)
    if _is_tensor(x):
        from . import _torch
        return _torch.first(_torch.permute, x, dims, out)
    library = library_of(x)
    return move(library, x, axes_of(dims, len(x.shape)), out)
