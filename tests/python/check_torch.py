#!/usr/bin/env python3
"""check_torch.py: the installed package with a real PyTorch. The CPU stand-in transposes where PyTorch thinks of a GPU.

On the stand-in, device memory is memory of the host, so tensors of the CPU can take the way of those on a GPU.
"""
import contextlib
import pathlib
import time

import tiletune  # before torch, so that torch.compile meets the package as a program may have imported it
import torch
from torch.library import opcheck

from device import make_current


def twin(x):
    return x.mT.contiguous()


def tensors(*shape, **options):
    """The same numbers in several layouts."""
    x = torch.randn(*shape, dtype=torch.float64)
    yield x.clone().requires_grad_(options.get("grad", False))
    yield torch.cat([x, x], -1)[..., :shape[-1]].detach().requires_grad_(options.get("grad", False))
    if len(shape) == 4:
        yield x.contiguous(memory_format=torch.channels_last).requires_grad_(options.get("grad", False))


def refused(words, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except tiletune.InvalidError as e:
        assert words in str(e), (words, str(e))
    else:
        raise AssertionError(f"not refused: {words}")


def same(y, wanted):
    assert y.shape == wanted.shape and y.dtype == wanted.dtype and y.is_contiguous() and torch.equal(y, wanted), (y, wanted)


def check_compile_first():
    """The package's part for PyTorch is first needed while a function is traced."""
    x = torch.randn(3, 4)
    same(torch.compile(lambda x: tiletune.transpose(x) + 1, fullgraph=True, backend="eager")(x), twin(x) + 1)


def check_left_to_torch():
    for x in (torch.randn(3, 5), torch.randn(2, 0, 3), torch.randn(4, 4).expand(3, 4, 4), torch.randn(2, 3, dtype=torch.complex64).conj()):
        same(tiletune.transpose(x), twin(x))
    y = torch.randn(3, 5).t()
    assert tiletune.transpose(y).data_ptr() == y.data_ptr()  # as contiguous() of a contiguous tensor
    same(tiletune.permute(torch.arange(24).reshape(2, 3, 4), (-1, 0, 1)), torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1).contiguous())
    out = torch.empty(5, 3)
    x = torch.randn(3, 5)
    assert tiletune.transpose(x, out=out) is out and torch.equal(out, x.t())
    for options in ({}, {"out": out}):
        try:
            tiletune.transpose(torch.randn(3), **options)
        except RuntimeError as e:
            assert "mT" in str(e), e
        else:
            raise AssertionError("a vector is no matrix")


def check_operators():
    for shape in ((3, 5), (2, 3, 4), (2, 3, 4, 5)):
        for grad in (False, True):
            for x in tensors(*shape, grad=grad):
                opcheck(torch.ops.tiletune.transpose.default, (x,))
                opcheck(torch.ops.tiletune.permute.default, (x, list(range(len(shape)))[::-1]))
    for x in tensors(2, 3, 4, 5, grad=True):
        assert torch.autograd.gradcheck(torch.ops.tiletune.transpose, (x,)) and torch.autograd.gradgradcheck(torch.ops.tiletune.transpose, (x,))
        assert torch.autograd.gradcheck(lambda x: torch.ops.tiletune.permute(x, [3, 0, 2, 1]), (x,))


def loss(x):
    return (tiletune.transpose(x) @ x).sin().sum() + tiletune.permute(x, (1, 0)).cos().sum()


def loss_of_torch(x):
    return (twin(x) @ x).sin().sum() + x.permute(1, 0).cos().sum()


def check_out():
    """The result has its type and shape on every path: on the CPU, within torch.compile, and on the stand-in."""
    def swap(x, out):
        return tiletune.transpose(x, out=out)

    def turn(x, out):
        return tiletune.permute(x, (1, 0), out=out)

    torch.compiler.reset()
    make_current()
    x = torch.randn(6, 4)
    for function in (swap, turn):
        compiled = torch.compile(function, backend="eager")
        for way in (contextlib.nullcontext, pretended):
            with way():
                for call in (function, compiled):
                    for wrong in (x.new_empty(4, 6, dtype=torch.int32), x.new_empty(4, 6, dtype=torch.float64), x.new_empty(6, 4),
                                  x.new_empty(2, 4, 6)):
                        refused("(4, 6)", call, x, wrong)
                    refused("float16", call, x.half(), x.new_empty(4, 6, dtype=torch.bfloat16))
                    out = x.new_empty(4, 6)
                    assert call(x, out) is out
                    same(out, twin(x))


@contextlib.contextmanager
def operators():
    """Tensors of the CPU go through the operators, too."""
    from tiletune import _torch
    before = _torch._ours
    _torch._ours = lambda x, y: not y.is_contiguous() and _torch._forward._current_level < 0
    try:
        yield
    finally:
        _torch._ours = before


def check_out_has_no_derivatives():
    x = torch.randn(6, 4)
    make_current()
    for way in (contextlib.nullcontext, pretended):
        with way():
            refused("no gradient", tiletune.transpose, x.clone().requires_grad_(), out=torch.empty(4, 6))
            with torch.autograd.forward_ad.dual_level():
                dual = torch.autograd.forward_ad.make_dual(x, x + 1)
                refused("no tangent", tiletune.transpose, dual, out=torch.empty(4, 6))
                refused("no tangent", tiletune.permute, x, (1, 0), out=dual.mT.clone())
                same(tiletune.transpose(x, out=torch.empty(4, 6)), twin(x))


def check_transforms():
    with operators():
        transforms()


def transforms():
    x = torch.randn(5, 5, dtype=torch.float64)
    assert torch.allclose(torch.func.grad(loss)(x), torch.func.grad(loss_of_torch)(x))
    batch = torch.randn(3, 4, 6)
    same(torch.func.vmap(tiletune.transpose)(batch), twin(batch))
    same(torch.func.vmap(tiletune.transpose, in_dims=1)(batch), twin(batch.transpose(0, 1)))
    same(torch.func.vmap(lambda x: tiletune.permute(x, (1, 0)))(batch), twin(batch))
    assert torch.allclose(torch.func.hessian(loss)(x), torch.func.hessian(loss_of_torch)(x))
    value, tangent = torch.func.jvp(tiletune.transpose, (x,), (x + 1,))
    same(value, twin(x))
    same(tangent, twin(x + 1))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x + 1)
        same(torch.autograd.forward_ad.unpack_dual(tiletune.transpose(dual)).tangent, twin(x + 1))


def check_compile():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph.code)
        return graph.forward

    torch.compiler.reset()
    with operators():
        torch.compile(loss, fullgraph=True, backend=backend)(torch.ones(3, 3, dtype=torch.float64))
        assert "tiletune.transpose" in graphs[0] and "tiletune.permute" in graphs[0], graphs
        compile_with_gradients()
        x = torch.randn(4, 4, dtype=torch.float64)
        compiled = torch.compile(torch.func.grad(loss), fullgraph=True, backend="aot_eager")
        assert torch.allclose(compiled(x), torch.func.grad(loss_of_torch)(x))
        for lazy in (torch.randn(3, 5, dtype=torch.complex64).conj(), torch.randn(3, 5, dtype=torch.complex64).conj().imag):
            for function in (tiletune.transpose, torch.compile(tiletune.transpose, fullgraph=True, backend="eager")):
                assert torch.equal(function(lazy), twin(lazy))


def check_compile_for_a_gpu():
    """What torch.compile says of a tensor on a GPU. None is needed to trace it."""
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph.code)
        return graph.forward

    torch.compiler.reset()
    with torch._subclasses.fake_tensor.FakeTensorMode():
        x = torch.empty(4, 5, device="cuda")
        y = torch.compile(lambda x: tiletune.permute(tiletune.transpose(x), (1, 0)), fullgraph=True, backend=backend)(x)
    assert y.shape == x.shape and "tiletune.transpose" in graphs[0] and "tiletune.permute" in graphs[0], graphs


def compile_with_gradients():
    for dynamic in (False, True):
        torch.compiler.reset()
        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager", dynamic=dynamic)
        for n in (4, 7, 9):
            x, y = (torch.ones(n, n, dtype=torch.float64).cumsum(0).requires_grad_() for _ in range(2))
            compiled(x).backward()
            loss_of_torch(y).backward()
            assert torch.allclose(x.grad, y.grad)


@contextlib.contextmanager
def pretended():
    """Tensors are on a GPU, as far as the package can see."""
    from tiletune import _torch
    names = "_stream_of", "_launch", "_empty", "_device"
    before = [getattr(_torch, name) for name in names]
    launches = []

    def launch(*arguments):
        launches.append(arguments)
        return before[1](*arguments)

    torch.Tensor.is_cuda = property(lambda x: True)
    ours = lambda device: 0, launch, torch._C._dynamo.guards._empty_strided_cpu, lambda: -1
    for name, function in zip(names, ours):
        setattr(_torch, name, function)
    try:
        yield launches
    finally:
        del torch.Tensor.is_cuda
        for name, function in zip(names, before):
            setattr(_torch, name, function)


def check_failures():
    """PyTorch does what the library cannot, as in a graph that is captured. A failure is raised."""
    from tiletune import _torch
    lib = tiletune._native.lib
    make_current()
    with pretended():
        x = torch.randn(11, 13)
        for status in (lib.TT_E_CAPTURE, lib.TT_E_UNSUPPORTED):
            _torch._launch = lambda *arguments: status
            for case in (x, x.clone().requires_grad_()):
                for times in range(2):
                    same(tiletune.transpose(case), twin(x))
                    same(tiletune.permute(case, (1, 0)), twin(x))
        _torch._launch = lambda *arguments: lib.TT_E_DB
        for case in (x, x.clone().requires_grad_()):
            try:
                tiletune.transpose(case)
            except tiletune.StoreError as e:
                assert e.status == lib.TT_E_DB
            else:
                raise AssertionError("a failure passed")


class Subclass(torch.Tensor):
    pass


class OnlyDlpack:
    def __init__(self, x):
        self.shape, self.x = x.shape, x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def check_stand_in():
    make_current()
    with pretended() as launches:
        for shape in ((33, 65), (3, 17, 40), (2, 3, 8, 9)):
            for x in tensors(*shape):
                for times in range(3):  # the second is the short way
                    same(tiletune.transpose(x), twin(x))
                assert len(launches) == 3, (shape, len(launches))
                launches.clear()
                same(tiletune.permute(x, range(len(shape))[::-1]), x.permute(*range(len(shape))[::-1]).contiguous())
                launches.clear()
        x = torch.randn(40, 20)
        saxpy = tiletune.Kernel(pathlib.Path(__file__).parents[2] / "examples/kernels/saxpy.cu", n=800)
        cases = {"parameter": torch.nn.Parameter(x), "gradient": x.clone().requires_grad_(),
                 "half": x.half(), "bool": x > 0, "complex": torch.complex(x, x)}
        for name, case in cases.items():
            y = tiletune.transpose(case)
            assert launches, name
            assert torch.equal(y, twin(case)) and y.requires_grad == case.requires_grad, name
            launches.clear()
        for context in (torch.no_grad(), torch.inference_mode(), torch.autocast("cpu")):
            with context:
                for times in range(2):
                    same(tiletune.transpose(x), twin(x))
                assert len(launches) == 2, context
                launches.clear()
        grad = torch.randn(20, 40)
        tiletune.transpose(cases["gradient"]).backward(grad)
        assert len(launches) == 2 and torch.equal(cases["gradient"].grad, twin(grad)), len(launches)
        launches.clear()
        out = torch.empty(20, 40)
        assert tiletune.transpose(x, out=out) is out
        same(out, twin(x))
        same(torch.func.vmap(tiletune.transpose)(torch.stack([x, x])), twin(torch.stack([x, x])))
        dlpack = OnlyDlpack(x)
        assert tiletune.transpose(dlpack, out=out.zero_()) is out
        same(out, twin(x))
        for lazy in (torch.complex(x, x).conj(), torch._neg_view(x)):
            for times in range(2):
                same(tiletune.transpose(lazy), twin(lazy))
            out = torch.empty(20, 40, dtype=lazy.dtype)
            same(tiletune.transpose(lazy, out=out), twin(lazy))
            same(tiletune.permute(lazy, (1, 0), out=out.zero_()), twin(lazy))
            refused("lazily", tiletune.transpose, lazy.resolve_conj().resolve_neg(), out=lazy.mT)
            refused("x: the tensor is lazily", saxpy, *[{"x": lazy, "y": x}.get(a.name, 2.0) for a in saxpy.plan().arguments])
        for left in (x.expand(2, 40, 20), x[:0]):
            launches.clear()
            for times in range(2):
                same(tiletune.transpose(left), twin(left))
            assert not launches, left


def outcome(call):
    """What a call returns, in words, or how it fails."""
    try:
        y = call()
        return type(y), y.layout, y.is_quantized, repr(y)
    except Exception as e:
        return type(e), str(e)


def check_not_dense():
    """What is not exactly a dense tensor or a parameter is PyTorch's, with its result or its failure."""
    rows = [torch.randn(3, 4), torch.randn(2, 4)]
    cases = {"jagged": torch.nested.nested_tensor(rows, layout=torch.jagged), "nested": torch.nested.nested_tensor(rows),
             "masked": torch.masked.masked_tensor(torch.randn(3, 4), torch.ones(3, 4, dtype=bool)),
             "quantized": torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 0, torch.quint8),
             "per channel": torch.quantize_per_channel(torch.randn(3, 4), torch.ones(3), torch.zeros(3), 0, torch.qint8),
             "sparse": torch.randn(3, 4).to_sparse(), "subclass": torch.randn(3, 4).as_subclass(Subclass)}
    make_current()
    saxpy = tiletune.Kernel(pathlib.Path(__file__).parents[2] / "examples/kernels/saxpy.cu", n=12)
    plan, dense = saxpy.plan(), torch.zeros(3, 4)
    with pretended() as launches:
        for name, x in cases.items():
            for times in range(2):
                assert outcome(lambda: tiletune.transpose(x)) == outcome(lambda: x.mT.contiguous()), name
                assert outcome(lambda: tiletune.permute(x, (1, 0))) == outcome(lambda: x.permute((1, 0)).contiguous()), name
            refused("is not a dense tensor", plan, *[{"x": x, "y": dense}.get(a.name, 2.0) for a in plan.arguments])
            refused("is not a dense tensor", saxpy, *[{"x": x, "y": dense}.get(a.name, 2.0) for a in plan.arguments])
            refused("is not a dense tensor", tiletune.best, x)
        assert type(tiletune.transpose(cases["subclass"])) is Subclass
        same(tiletune.transpose(cases["quantized"]).int_repr(), twin(cases["quantized"].int_repr()))
        out = torch.empty(4, 3).as_subclass(Subclass)
        assert tiletune.transpose(dense, out=out) is out and torch.equal(out, twin(dense))
        for call in (tiletune.transpose, lambda x, out: tiletune.permute(x, (), out=out)):
            same(call(torch.tensor(3.0), out=torch.tensor(0.0)), torch.tensor(3.0))
        same(torch.ops.tiletune.transpose(torch.tensor(3.0)), torch.tensor(3.0))
        refused("an array of u32 was given", plan, *[{"x": dense.view(torch.uint32), "y": dense}.get(a.name, 2.0) for a in plan.arguments])


def check_host_time():
    """What the package adds to the call in C, here without PyTorch's allocator for GPUs. It only prints."""
    from tiletune import _torch
    make_current()
    x = torch.randn(64, 64)
    with pretended():
        _torch._launch = lambda *arguments: 0
        tiletune.transpose(x)
        began = time.perf_counter()
        for i in range(20000):
            tiletune.transpose(x)
        ours = time.perf_counter() - began
        began = time.perf_counter()
        for i in range(20000):
            x.new_empty((64, 64))
        print(f"host time: {ours / 20000 * 1e6:.2f} us, of which {(time.perf_counter() - began) / 20000 * 1e6:.2f} us make the result")


tiletune.configure(db=":memory:")
for name, check in list(globals().items()):
    if name.startswith("check_"):
        began = time.monotonic()
        check()
        print(f"{name} ({time.monotonic() - began:.1f} s)", flush=True)
