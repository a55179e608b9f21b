"""Kernels of the user's own: tuned, looked up and launched."""
from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import re
import struct
from typing import Any

from ._arrays import View, has_axes, is_dense, library_of
from ._context import Context, encode, sized, use
from ._errors import InvalidError, check, text
from ._native import ffi, lib
from ._problems import Problem, best, problem_of, with_values
from ._results import Choice, Report, choice
from ._tune import tune

#: How struct packs a number of each type.
_SCALARS = {"bool": "<?", "f16": "<e", "bf16": "<f", "f32": "<f", "f64": "<d",
            **{f"{kind}{8 << i}": f"<{(code, code.upper())[kind == 'u']}" for kind in "iu" for i, code in enumerate("bhiq")}}


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of a launch, as in tt_argument of tiletune.h."""

    name: str
    type: str
    direction: str  #: "in", "out", "inout", "scratch" or "scalar"
    count: int
    bytes: int


def _scalar(argument: Argument, value: Any) -> Any:
    kind = argument.type
    if kind not in _SCALARS:
        raise InvalidError(f"{argument.name}: a scalar of type {kind} cannot be passed from Python")
    try:
        number = value.item() if hasattr(value, "item") else value
        if kind == "bool" and number not in (0, 1):
            raise ValueError
        packed = struct.pack(_SCALARS[kind], number)
    except (TypeError, ValueError, OverflowError, RuntimeError, struct.error):
        raise InvalidError(f"{argument.name}: {value!r} is not a number that {kind} can hold") from None
    if kind == "bf16":
        bits, nan = int.from_bytes(packed, "little"), math.isnan(number)
        packed = ((bits >> 16 | nan << 6) if nan else (bits + 0x7fff + (bits >> 16 & 1)) >> 16).to_bytes(2, "little")
    return ffi.new("char[]", packed)


class Plan:
    """A kernel in its best configuration for one problem, compiled and loaded. Call it with its arguments, in the order of
    declaration: arrays for buffers, numbers for scalars. `arguments` says what they are, `choice` which configuration."""

    def __init__(self, context: Context, problem: Problem, device: int):
        out = ffi.new("tt_plan **")
        check(lib.tt_py_plan(out, context._c, problem._c, device))
        self._c, self._device, self._said = out[0], device, repr(problem)
        self.choice: Choice = choice(lib.tt_plan_choice(self._c))
        self.arguments = tuple(self._argument(i) for i in range(lib.tt_plan_n_arguments(self._c)))

    def _argument(self, i: int) -> Argument:
        a = sized("tt_argument")
        check(lib.tt_plan_argument(a, self._c, i))
        return Argument(text(a.name), text(a.type), text(a.direction), a.count, a.bytes)

    def set_constant(self, name: str, data: Any) -> None:
        """Copies host memory (bytes, or an array of NumPy) into a __constant__ array of the kernel."""
        with memoryview(data) as view:
            check(lib.tt_py_set_constant(self._c, encode(name), ffi.from_buffer(view), view.nbytes, self._device))

    def _buffer(self, argument: Argument, x: Any) -> View:
        try:
            view = library_of(x).view(x)
        except InvalidError as error:
            raise InvalidError(f"{argument.name}: {error}") from None
        if view is None:
            raise InvalidError(f"{argument.name}: {type(x).__name__} is not on a CUDA device")
        if view.refused or view.read_only and argument.direction != "in":
            raise InvalidError(f"{argument.name}: {view.refused or 'the array is read-only, and the kernel writes it'}")
        if hasattr(x, "is_conj") and (x.is_conj() or x.is_neg()):
            raise InvalidError(f"{argument.name}: the tensor is lazily conjugated or negated: resolve_conj() and "
                               "resolve_neg() make one that is not")
        kind = re.sub(r"x\d+$", "", argument.type)
        # Numbers of another type. What annotations have no name for, such as complex numbers, may fit; swapped bytes do not.
        if view.type != kind and kind in _SCALARS and (view.type in _SCALARS or view.type.startswith(">")):
            raise InvalidError(f"{argument.name}: an array of {view.type} was given, and the kernel takes {kind}")
        if not is_dense(view.shape, view.strides):
            raise InvalidError(f"{argument.name}: strides {view.strides}: the array must be contiguous")
        size = math.prod(view.shape) * view.itemsize
        if size < argument.bytes:
            raise InvalidError(f"{argument.name}: the array has {size} bytes, and {self._said} needs {argument.bytes}")
        return view

    def __call__(self, *arguments: Any) -> None:
        if len(arguments) != len(self.arguments):
            raise InvalidError(f"{len(arguments)} arguments: the kernel takes {len(self.arguments)}, "
                               f"{', '.join(a.name for a in self.arguments)}")
        values, finish = [], {}
        stream, device = None, self._device
        for argument, x in zip(self.arguments, arguments):
            if argument.direction == "scalar":
                values.append(_scalar(argument, x))
                continue
            view = self._buffer(argument, x)
            values.append(ffi.new("CUdeviceptr *", view.address))
            if stream is None:
                stream = view.stream
            if view.device not in (-1, device):
                raise InvalidError(f"{argument.name}: the array is on device {view.device}, and the plan on {device}")
            finish[library_of(x).finish] = view
        pointers = ffi.new("void *[]", values)
        check(lib.tt_py_launch(self._c, pointers, len(values), stream or 0, device))
        for wait, view in finish.items():
            wait(view)

    def close(self) -> None:
        """Unloads it. Its launches must have ended, so this does not happen by itself."""
        out, self._c = ffi.new("tt_plan **", self._c), ffi.NULL
        lib.tt_plan_free(out)

    def __reduce__(self) -> Any:
        raise TypeError("a Plan cannot be copied or pickled: Kernel.plan() makes another one")

    def __repr__(self) -> str:
        words = ", ".join(f"{a.direction} {a.type} {a.name}" for a in self.arguments)
        config = " ".join(f"{k}={v}" for k, v in self.choice.config.items())
        bits = f", bits {self.choice.bits}" if self.choice.bits else ""
        return f"<tiletune.Plan of {self._said}: {config} ({self.choice.match}{bits}); arguments: {words}>"


class Kernel:
    """A .cu file whose annotations say what may vary, what it works on, and which plain kernel is right.

    >>> saxpy = tiletune.Kernel("saxpy.cu", n=1_000_000)
    >>> saxpy.tune()
    >>> saxpy(x, y, 2.0)            # arrays and numbers, in the order of declaration
    >>> saxpy(u, v, 2.0, n=1000)

    Values of the file's variables stand here, or with each method, or have the file's defaults.

    source: the text of the file; `path` is then a name for messages.
    """

    def __init__(self, path: "str | os.PathLike[str]", *, source: "str | None" = None, context: "Context | None" = None,
                 **values: Any):
        self._context, self._path, self._values = use(context), os.fspath(path), values
        self._source = None if source is None else encode(source)
        self._c = self._open(self._context, path)
        if self._source is None:
            self._source = pathlib.Path(path).read_bytes()
        self._file = os.path.join(os.getcwd(), path)  # for another context later
        self._plans: "dict[Any, Plan]" = {}

    def _open(self, context: Context, path: "str | os.PathLike[str]") -> Any:
        out = ffi.new("tt_kernel **")
        check(lib.tt_kernel_open(out, context._c, encode(path), ffi.NULL if self._source is None else self._source))
        return ffi.gc(out[0], lambda c: lib.tt_kernel_close(ffi.new("tt_kernel **", c)))

    @property
    def name(self) -> str:
        """Of its first kernel."""
        return text(lib.tt_kernel_name(self._c))

    def problem(self, *, warm: bool = False, in_graph: bool = False, **values: Any) -> Problem:
        """The kernel with these values of its variables."""
        values = {**self._values, **values}
        problem, keep = with_values(values, warm, in_graph)
        problem.kernel = self._c
        said = ", ".join([repr(self._path), *(f"{name}={value!r}" for name, value in values.items())])
        return Problem(problem, keep, f"Kernel({said})", self)

    def tune(self, *problems: Problem, same_bits: bool = False, options: "dict[str, Any] | None" = None,
             **values: Any) -> Report:
        """Tunes it for these values, or for several problems of problem(). `options` are those of tiletune.tune().
        same_bits: the winner computes the same bits as the default configuration."""
        listed = [problem_of(p, **values) for p in problems] or [self.problem(**values)]
        self._plans.clear()  # the winner may be another one
        return tune(listed, context=self._context, **{"same_bits": same_bits, **(options or {})})

    def best(self, *, gpu: "str | None" = None, **values: Any) -> Choice:
        """The best known configuration, as tiletune.best()."""
        return best(self.problem(**values), gpu=gpu, context=self._context)

    def plan(self, *, device: int = 0, **values: Any) -> Plan:
        """Something to launch. Keep it if a call is repeated often."""
        key = (device, *sorted((name, str(value)) for name, value in values.items()))
        if key not in self._plans or not self._plans[key]._c:
            self._plans[key] = Plan(self._context, self.problem(**values), device)
        return self._plans[key]

    def __call__(self, *arguments: Any, **values: Any) -> None:
        """Launches it on the current stream of the arrays' library. It is asynchronous, except with arrays of JAX."""
        views = (library_of(x).view(x) for x in arguments if has_axes(x))
        self.plan(device=max((view.device for view in views if view), default=0), **values)(*arguments)

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self._values.items())
        return f"tiletune.Kernel({self._path!r}{values})"
