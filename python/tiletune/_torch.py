"""PyTorch: operators that torch.compile and autograd know, functions for torch.func, and a short way for plain tensors.

A tensor without gradient, outside of any transform, takes the short way: its shape, strides and type are looked up in a
dictionary, which has the problem for the library.
"""
from __future__ import annotations

from typing import Any, Sequence

import torch
from torch import Tensor

from . import _arrays, _context
from ._arrays import LEAVE, Library, View, axes_of, problem_of
from ._errors import InvalidError, error
from ._native import lib

if not hasattr(torch.library, "custom_op"):
    raise ImportError(f"tiletune needs PyTorch 2.4 or newer for tensors, and this is {torch.__version__}")

_TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.int8: "i8",
          torch.uint8: "u8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "bool",
          torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64"}
_modes = torch._C._len_torch_dispatch_stack
_forward = torch.autograd.forward_ad
_transformed = torch._C._are_functorch_transforms_active
_grad_enabled = torch.is_grad_enabled
_tracing = torch.compiler.is_dynamo_compiling
_Parameter = torch.nn.Parameter
_stream_of = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (lambda device: 0)
_launch = lib.tt_py_permute
# How the code that torch.compile writes makes tensors, in a fifth of the time. It does so on the current device.
_empty = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", None)
_device = getattr(torch._C, "_cuda_getDevice", None) or (lambda: -1)

_fast: "dict[Any, Any]" = {}  # what a plain tensor is like -> (tt_permutation, shape and strides of the result, ...)
_FAST_MAX = 4096  # as many plans as the library keeps


def _is_dense(x: Tensor) -> bool:
    """Is it memory with a shape and strides, and nothing else? A subclass may be made of other tensors, have a mask, or mean
    something else by its methods."""
    return type(x) in (Tensor, _Parameter) and x.layout == torch.strided and not x.is_quantized and not x.is_nested


def _view(x: Tensor) -> "View | None":
    if not x.is_cuda:
        return None
    if not _is_dense(x):
        what = "quantized" if x.is_quantized else "nested" if x.is_nested else str(x.layout).replace("torch.", "")
        raise InvalidError(f"a {type(x).__name__} ({what}) is not a dense tensor, whose memory a kernel could take")
    return View(x.data_ptr(), tuple(x.shape), x.stride(), x.element_size(), _TYPES.get(x.dtype, str(x.dtype)), x.get_device(),
                _stream_of(x.get_device()))


def _permuted(x: Tensor, axes: "Sequence[int]") -> Tensor:
    return x.permute(list(axes)).contiguous()


LIBRARY = Library(_view, lambda x, shape: x.new_empty(shape), _permuted)


def _run(x: Tensor, axes: "tuple[int, ...]") -> Tensor:
    """The operators' kernel: a copy, never a view."""
    found = problem_of(tuple(x.shape), x.stride(), axes, x.element_size()) if x.is_cuda and _is_dense(x) else None
    if found is not None:
        y = x.new_empty([x.shape[i] for i in axes])
        device = x.get_device()
        status = _launch(_context.handle or _context.use(None)._c, found[0], y.data_ptr(), x.data_ptr(), _stream_of(device),
                         device)
        if not status:
            return y
        if status not in LEAVE:
            raise error(status)
    return x.permute(axes).clone(memory_format=torch.contiguous_format)


# ---- The operators


def _swapped(rank: int) -> "tuple[int, ...]":
    return (*range(rank - 2), rank - 1, rank - 2) if rank else ()  # mT of a scalar is the scalar


@torch.library.custom_op("tiletune::transpose", mutates_args=())
def transpose_op(x: Tensor) -> Tensor:
    return _run(x, _swapped(x.dim()))


@torch.library.custom_op("tiletune::permute", mutates_args=())
def permute_op(x: Tensor, dims: Sequence[int]) -> Tensor:
    return _run(x, tuple(dims))


@transpose_op.register_fake
def _(x: Tensor) -> Tensor:
    return x.new_empty(x.mT.shape)


@permute_op.register_fake
def _(x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.new_empty([x.shape[d] for d in dims])


def _permute_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.back = sorted(range(len(inputs[1])), key=inputs[1].__getitem__)


transpose_op.register_autograd(lambda ctx, grad: transpose_op(grad))
permute_op.register_autograd(lambda ctx, grad: (permute_op(grad, ctx.back), None), setup_context=_permute_setup)
if hasattr(transpose_op, "register_vmap"):

    @transpose_op.register_vmap
    def _(info: Any, in_dims: Any, x: Tensor) -> Any:
        return transpose_op(x.movedim(in_dims[0], 0)), 0

    @permute_op.register_vmap
    def _(info: Any, in_dims: Any, x: Tensor, dims: Sequence[int]) -> Any:
        return permute_op(x.movedim(in_dims[0], 0), [0, *(d + 1 for d in dims)]), 0


# ---- torch.func asks for functions of another form


class _Transpose(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return transpose_op(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return _Transpose.apply(grad)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor) -> Any:
        return _Transpose.apply(x.movedim(in_dims[0], 0)), 0


class _Permute(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, dims: "list[int]") -> Tensor:
        return permute_op(x, dims)

    setup_context = staticmethod(_permute_setup)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Permute.apply(grad, ctx.back), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, dims: "list[int]") -> Any:
        return _Permute.apply(x.movedim(in_dims[0], 0), [0, *(d + 1 for d in dims)]), 0


# ---- The two functions


def _ours(x: Tensor, y: Tensor) -> bool:
    """Is there something to move, and on a GPU? y is a view of x, in the order that is asked for. PyTorch's dispatcher
    conjugates or negates a lazy one before an operator sees it."""
    return x.is_cuda and _is_dense(x) and not y.is_contiguous() and _forward._current_level < 0


def _traced(x: Tensor) -> Tensor:
    """Within torch.compile: an operator in the graph. What torch.func does there is left to PyTorch."""
    y = x.mT
    return transpose_op(x) if _ours(x, y) and not _transformed() else y.contiguous()


def _traced_permute(x: Tensor, dims: "tuple[int, ...]") -> Tensor:
    y = x.permute(dims)
    return permute_op(x, _from_zero(x, dims)) if _ours(x, y) and not _transformed() else y.contiguous()


def _all_ways(x: Tensor) -> Tensor:
    y = x.mT  # raises what PyTorch raises
    if not _ours(x, y):
        return y.contiguous()
    return _Transpose.apply(x) if _transformed() else transpose_op(x)


def _all_ways_permute(x: Tensor, dims: "tuple[int, ...]") -> Tensor:
    y = x.permute(dims)
    if not _ours(x, y):
        return y.contiguous()
    axes = _from_zero(x, dims)
    return _Permute.apply(x, axes) if _transformed() else permute_op(x, axes)


def _from_zero(x: Tensor, dims: "tuple[int, ...]") -> "list[int]":
    return [d + x.dim() if d < 0 else d for d in dims]


def _remember(key: Any, x: Tensor, axes: "tuple[int, ...]") -> None:
    """Adds to _fast what a tensor like this needs, if the library does it and the tensor is nothing but memory."""
    found = problem_of(tuple(x.shape), x.stride(), axes, x.element_size())
    if found is None or found.is_view or x.dtype.is_complex or not _is_dense(x):
        return
    if len(_fast) >= _FAST_MAX:
        _fast.clear()
    _fast[key] = found


def _quick(x: Tensor, dims: "tuple[int, ...] | None") -> "Tensor | None":
    """The short way. None: there is more to heed. A tensor that a transform has wrapped, or that is sparse, has no address or
    no strides, and raises."""
    kind = type(x)
    if kind is not Tensor and kind is not _Parameter or not x.is_cuda or _modes():
        return None
    if _forward._current_level >= 0 or x.requires_grad and _grad_enabled():
        return None
    try:
        src = x.data_ptr()
        dtype = x.dtype
        key = (x.shape, x.stride(), dtype, kind, dims)
    except RuntimeError:
        return None
    found = _fast.get(key)
    if found is None and (dims is not None or x.dim() >= 2):
        _remember(key, x, _swapped(x.dim()) if dims is None else tuple(axes_of(dims, x.dim())))
        found = _fast.get(key)
    if found is None or x.is_neg():
        return None
    device = x.get_device()
    y = _empty(found[1], found[2], dtype) if _empty and _device() == device else x.new_empty(found[1])
    status = _launch(_context.handle or _context.use(None)._c, found[0], y.data_ptr(), src, _stream_of(device), device)
    if status:
        if status not in LEAVE:
            raise error(status)
        return None
    return y


def transpose(x: Tensor, out: "Tensor | None") -> Tensor:
    if _tracing():
        return _traced(x) if out is None else _fitting(out, x.mT).copy_(x.mT)
    if out is not None:
        return _into(x, _swapped(x.mT.dim()), out)
    y = _quick(x, None)
    return _all_ways(x) if y is None else y


def permute(x: Tensor, dims: "Sequence[int]", out: "Tensor | None") -> Tensor:
    dims = tuple(dims)
    if _tracing():
        return _traced_permute(x, dims) if out is None else _fitting(out, x.permute(dims)).copy_(x.permute(dims))
    if out is not None:
        return _into(x, tuple(axes_of(dims, x.dim())), out)
    y = _quick(x, dims)
    return _all_ways_permute(x, dims) if y is None else y


def _fitting(out: Tensor, y: Tensor) -> Tensor:
    """`out`, if it is for a result like y. What PyTorch's copy_ would convert or repeat is an error on every path."""
    if out.shape != y.shape or out.dtype != y.dtype:
        raise InvalidError(f"out must have the shape {tuple(y.shape)} and the type {y.dtype}, and has {tuple(out.shape)} and "
                           f"{out.dtype}")
    return out


def _into(x: Tensor, axes: "tuple[int, ...]", out: Tensor) -> Tensor:
    if _grad_enabled() and (x.requires_grad or out.requires_grad):
        raise InvalidError("out: such a call has no gradient; leave it out, or use torch.no_grad()")
    if _forward._current_level >= 0 and any(_forward.unpack_dual(t).tangent is not None for t in (x, out)):
        raise InvalidError("out: such a call has no tangent; leave it out")
    if out.is_conj() or out.is_neg():
        raise InvalidError("out: the tensor is lazily conjugated or negated: give the one that it is a view of")
    x = x.resolve_conj().resolve_neg()  # its memory is read, not what it says
    y = x.permute(axes)
    _fitting(out, y)
    if not x.is_cuda or not (_is_dense(x) and _is_dense(out)):
        return out.copy_(y)
    if problem_of(tuple(x.shape), x.stride(), axes, x.element_size()) is None:
        return out.copy_(y)
    return _arrays.move(LIBRARY, x, list(axes), out)


def first(function: Any, *arguments: Any) -> Tensor:
    """A call before adopt(). While torch.compile traces, no variable may change that it has read."""
    if not _tracing():
        adopt()
    return function(*arguments)


def adopt() -> None:
    _arrays.adopt(Tensor, transpose, permute)
