"""PyTorch: two operators that torch.compile, autograd and torch.func know, and a short way for plain tensors.

`torch.ops.tiletune.transpose` and `.permute` do what a program needs that traces or differentiates. A tensor without
gradient, outside of any transform, takes the short way: its shape, strides, type and dispatch keys are looked up in a
dictionary, which has the problem for the library.
"""
from __future__ import annotations

from typing import Any, Sequence

import torch
from torch import Tensor

from . import _arrays, _context
from ._arrays import LEAVE, Library, View, axes_of, is_dense, problem_of
from ._errors import InvalidError, error
from ._native import lib

_TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.int8: "i8",
          torch.uint8: "u8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "bool"}
_keys_of = torch._C._dispatch_keys
_modes = torch._C._len_torch_dispatch_stack
_forward = torch.autograd.forward_ad
_grad_enabled = torch.is_grad_enabled
_tracing = torch.compiler.is_dynamo_compiling if hasattr(torch.compiler, "is_dynamo_compiling") else torch.compiler.is_compiling
_stream_of = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (lambda device: 0)
_launch = lib.tt_py_permute

_fast: "dict[Any, Any]" = {}  # what a plain tensor is like -> (tt_permutation, shape of the result)
_FAST_MAX = 65536
_plain: "set[Any]" = set()  # sets of dispatch keys of tensors that are nothing but memory on a GPU


def _view(x: Tensor) -> "View | None":
    if not x.is_cuda:
        return None
    return View(x.data_ptr(), tuple(x.shape), x.stride(), x.element_size(), _TYPES.get(x.dtype, ""), x.get_device(),
                _stream_of(x.get_device()))


def _permuted(x: Tensor, axes: "Sequence[int]") -> Tensor:
    return x.permute(list(axes)).contiguous()


LIBRARY = Library(_view, lambda x, shape: x.new_empty(shape), _permuted)


def _run(x: Tensor, axes: "tuple[int, ...]") -> Tensor:
    """The operators' kernel: a copy, never a view."""
    found = problem_of(tuple(x.shape), x.stride(), axes, x.element_size()) if x.is_cuda else None
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
    return (*range(rank - 2), rank - 1, rank - 2)


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


# ---- The two functions


def _ours(x: Tensor, y: Tensor) -> bool:
    """Is there something to move, and on a GPU? y is a view of x, in the order that is asked for."""
    return (x.is_cuda and x.layout == torch.strided and not y.is_contiguous() and _forward._current_level < 0
            and not x.is_conj() and not x.is_neg())


def _all_ways(x: Tensor) -> Tensor:
    y = x.mT  # raises what PyTorch raises
    return transpose_op(x) if _ours(x, y) else y.contiguous()


def _all_ways_permute(x: Tensor, dims: "Sequence[int]") -> Tensor:
    y = x.permute(dims)
    return permute_op(x, [d + x.dim() if d < 0 else d for d in dims]) if _ours(x, y) else y.contiguous()


def _is_plain(keys: Any) -> bool:
    """Are these the keys of an ordinary tensor on a GPU?"""
    if not _plain:
        for inference in (False, True):
            with torch.inference_mode(inference):
                _plain.add(_keys_of(torch.empty(0, device="cuda")).raw_repr())
    return keys in _plain


def _remember(key: Any, x: Tensor, axes: "tuple[int, ...]") -> None:
    """Adds to _fast what a tensor like this needs, if the library does it. False: PyTorch's own."""
    shape, strides, keys = tuple(x.shape), x.stride(), key[3]
    found = problem_of(shape, strides, axes, x.element_size())
    turned = tuple(shape[i] for i in axes)
    if found is None or is_dense(turned, [strides[i] for i in axes]) or not _is_plain(keys):
        return
    if len(_fast) >= _FAST_MAX:
        _fast.clear()
    _fast[key] = (found[0], turned, found)


def transpose(x: Tensor, out: "Tensor | None") -> Tensor:
    if _tracing():
        return _all_ways(x) if out is None else out.copy_(x.mT)
    if out is not None:
        return _into(x, _swapped(x.dim()), out)
    if x.is_cuda and not _modes() and _forward._current_level < 0 and not (x.requires_grad and _grad_enabled()):
        key = (x.shape, x.stride(), x.dtype, _keys_of(x).raw_repr())
        found = _fast.get(key)
        if found is not None:
            y = x.new_empty(found[1])
            device = x.get_device()
            status = _launch(_context.handle or _context.use(None)._c, found[0], y.data_ptr(), x.data_ptr(),
                             _stream_of(device), device)
            return y if not status else _failed(status, x.mT)
        if x.dim() >= 2:
            _remember(key, x, _swapped(x.dim()))
    return _all_ways(x)


def permute(x: Tensor, dims: "Sequence[int]", out: "Tensor | None") -> Tensor:
    if _tracing():
        return _all_ways_permute(x, dims) if out is None else out.copy_(x.permute(dims))
    if out is not None:
        return _into(x, tuple(axes_of(dims, x.dim())), out)
    if x.is_cuda and not _modes() and _forward._current_level < 0 and not (x.requires_grad and _grad_enabled()):
        key = (x.shape, x.stride(), x.dtype, _keys_of(x).raw_repr(), tuple(dims))
        found = _fast.get(key)
        if found is not None:
            y = x.new_empty(found[1])
            device = x.get_device()
            status = _launch(_context.handle or _context.use(None)._c, found[0], y.data_ptr(), x.data_ptr(),
                             _stream_of(device), device)
            return y if not status else _failed(status, x.permute(dims))
        _remember(key, x, tuple(axes_of(dims, x.dim())))
    return _all_ways_permute(x, dims)


def _failed(status: int, y: Tensor) -> Tensor:
    if status in LEAVE:
        return y.contiguous()
    raise error(status)


def _into(x: Tensor, axes: "tuple[int, ...]", out: Tensor) -> Tensor:
    if _grad_enabled() and (x.requires_grad or out.requires_grad):
        raise InvalidError("out: such a call has no gradient; leave it out, or use torch.no_grad()")
    if not x.is_cuda or problem_of(tuple(x.shape), x.stride(), axes, x.element_size()) is None:
        if out.shape != x.permute(axes).shape:
            raise InvalidError(f"out must have the shape {tuple(x.permute(axes).shape)}, and has {tuple(out.shape)}")
        return out.copy_(x.permute(axes))
    return _arrays.move(LIBRARY, x, list(axes), out)


for _kind in (Tensor, torch.nn.Parameter):  # so that torch.compile meets a dictionary that it does not have to change
    _arrays._libraries[_kind] = LIBRARY
    _arrays._transposes[_kind] = transpose
    _arrays._permutes[_kind] = permute
