"""Problems: what is to be looked up or tuned."""
from __future__ import annotations

from typing import Any, Sequence

from ._context import Context, encode, fill, sized, use
from ._errors import InvalidError, check
from ._native import ffi, lib
from ._results import Choice, choice

_BYTES = {"float64": 8, "double": 8, "int64": 8, "uint64": 8, "complex64": 8, "complex128": 16, "float32": 4, "float": 4,
          "int32": 4, "uint32": 4, "float16": 2, "half": 2, "bfloat16": 2, "int16": 2, "uint16": 2, "int8": 1, "uint8": 1,
          "bool": 1}
_SHORT = {"f": "float", "i": "int", "u": "uint"}


def element_size(dtype: Any) -> int:
    """Bytes of an element: of "float16", "f16", numpy.float16, a dtype of NumPy, PyTorch or JAX, or a number of bytes."""
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        return dtype
    size = getattr(dtype, "itemsize", None)
    if isinstance(size, int):
        return size
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(getattr(dtype, "dtype", dtype))
    if name[1:].isdigit():
        name = _SHORT.get(name[0], name[0]) + name[1:]
    if name not in _BYTES:
        raise InvalidError(f"dtype {dtype!r} is unknown: say {', '.join(sorted(_BYTES))}, or a number of bytes")
    return _BYTES[name]


class Problem:
    """One problem, made by matrix(), permutation(), operation() or Kernel.problem()."""

    def __init__(self, c: Any, keep: Sequence[Any], said: str, kernel: Any = None):
        self._c, self._keep, self._said, self._kernel = c, keep, said, kernel

    def _within(self, context: Context) -> "Problem":
        """The same for another context. A kernel belongs to the one that opened it."""
        if self._kernel is None:
            return self
        c = ffi.new("tt_problem *", self._c[0])
        opened = c.kernel = self._kernel._open(context, self._kernel._file)
        return Problem(c, (self, opened), self._said)

    def __repr__(self) -> str:
        return f"tiletune.{self._said}"


def matrix(rows: int, cols: "int | None" = None, dtype: Any = "float32", *, batch: int = 1, lds: int = 0, ldd: int = 0,
           align: int = 0, src_stride: int = 0, dst_stride: int = 0, in_place: bool = False,
           warm: bool = False, in_graph: bool = False) -> Problem:
    """The transposition of `rows` x `cols` elements (square without `cols`), as in tt_problem of tiletune.h."""
    p = sized("tt_problem")
    fill(p, rows=rows, cols=rows if cols is None else cols, elem_size=element_size(dtype), batch=batch, lds=lds, ldd=ldd,
         align=align, src_stride=src_stride, dst_stride=dst_stride, in_place=in_place, warm=warm, in_graph=in_graph)
    return Problem(p, (), f"matrix({p.rows}, {p.cols}, {dtype!r})")


def make_permutation(shape: Sequence[int], strides: "Sequence[int] | None", perm: Sequence[int], itemsize: int) -> Any:
    """A tt_permutation with the arrays that it points to."""
    p = sized("tt_permutation")
    try:
        keep = (ffi.new("int64_t[]", list(shape)), ffi.new("int[]", list(perm)),
                ffi.new("int64_t[]", list(strides)) if strides is not None else ffi.NULL)
    except (OverflowError, TypeError):
        raise InvalidError(f"dimensions {tuple(shape)}, axes {tuple(perm)} and strides {strides}: they must be whole numbers "
                           "below 2**63") from None
    p.rank, p.elem_size = len(shape), itemsize
    p.dims, p.perm, p.strides = keep
    return p, keep


def permutation(dims: Sequence[int], perm: Sequence[int], dtype: Any = "float32", *,
                strides: "Sequence[int] | None" = None, align: int = 0, warm: bool = False,
                in_graph: bool = False) -> Problem:
    """Axis i of the result is axis perm[i] of a tensor of these dimensions, as in torch.permute."""
    if len(dims) != len(perm):
        raise InvalidError(f"{len(dims)} dimensions and {len(perm)} axes: a permutation needs as many of both")
    p, keep = make_permutation(dims, strides, perm, element_size(dtype))
    fill(p, align=align, warm=warm, in_graph=in_graph)
    problem = sized("tt_problem")
    problem.permutation = p
    return Problem(problem, (p, keep), f"permutation({tuple(dims)}, {tuple(perm)}, {dtype!r})")


def operation(op: str, *, warm: bool = False, in_graph: bool = False, **values: Any) -> Problem:
    """A built-in operation with values of its variables: operation("axpby", n=1000000)."""
    problem, keep = with_values(values, warm, in_graph)
    keep.append(ffi.new("char[]", encode(op)))
    problem.op = keep[-1]
    return Problem(problem, keep, f"operation({op!r}, {values})")


def with_values(values: "dict[str, Any]", warm: bool, in_graph: bool) -> Any:
    problem = sized("tt_problem")
    keep = [ffi.new("char[]", encode(", ".join(f"{name}={value}" for name, value in values.items())))]
    problem.values, problem.warm, problem.in_graph = keep[0], warm, in_graph
    return problem, keep


def problem_of(what: Any, **options: Any) -> Problem:
    """A problem of what the user wrote: N, (rows, cols), an array to transpose, or a Problem."""
    if isinstance(what, Problem):
        if options:
            raise TypeError(f"{', '.join(options)}: {what!r} takes no further options")
        return what
    if isinstance(what, int):
        return matrix(what, **options)
    if isinstance(what, tuple) and len(what) == 2:
        return matrix(*what, **options)
    from ._arrays import view_of
    view = view_of(what)
    if view is None or len(view.shape) < 2:
        raise InvalidError(f"{what!r} is no problem: say N, (rows, cols), matrix(), permutation(), operation(), "
                           "Kernel.problem() or an array on a GPU")
    axes = list(range(len(view.shape)))
    axes[-2:] = axes[:-3:-1]
    return permutation(view.shape, axes, view.itemsize, strides=view.strides, **options)


def best(problem: Any, *, gpu: "str | None" = None, device: int = 0, context: "Context | None" = None,
         **options: Any) -> Choice:
    """The best known configuration. With the name of a GPU it needs neither a GPU nor NVRTC.

    >>> tiletune.best(4096, dtype="float16", gpu="H200")
    >>> tiletune.best(tiletune.permutation((32, 2048, 16, 64), (0, 2, 1, 3)), gpu="H200")

    `problem` is N, (rows, cols), an array to transpose, or one of matrix(), permutation(), operation() and
    Kernel.problem(). Options are those of matrix().
    """
    out, asked, at = sized("tt_choice"), problem_of(problem, **options), use(context).for_gpu(gpu)
    if gpu is not None:
        asked = asked._within(at)
    check(lib.tt_py_best(out, at._c, asked._c, device if at._gpu is None else -1))
    return choice(out)
