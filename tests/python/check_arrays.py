#!/usr/bin/env python3
"""check_arrays.py EXAMPLES: the installed package on the CPU stand-in, with arrays that have __cuda_array_interface__."""
import copy
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import types

import numpy

import tiletune
from device import Array, cuda, ffi, make, make_current, ok
from tiletune import _arrays

os.environ["HOSTCUDA_DEVICES"] = "2"
examples = pathlib.Path(sys.argv[1])
random = numpy.random.default_rng(1)


def raises(kind, words, call, *args, **options):
    try:
        call(*args, **options)
    except kind as e:
        assert words in str(e), (words, str(e))
        return e
    raise AssertionError(f"{kind.__name__} expected: {words}")


def array(*shape, dtype="uint32"):
    size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
    return Array(numpy.frombuffer(random.bytes(size), dtype).reshape(shape))


def same(y, wanted):
    got = y.numpy()
    assert got.shape == wanted.shape and got.tobytes() == numpy.ascontiguousarray(wanted).tobytes()


def check_transpose():
    for shape, dtype in (((33, 65), "uint32"), ((64, 64), "uint16"), ((3, 17, 40), "uint8"), ((2, 3, 8, 9), "float64"),
                         ((5, 7), "complex128"), ((1, 9), "uint32"), ((4, 1, 6), "uint32")):
        x = array(*shape, dtype=dtype)
        same(tiletune.transpose(x), x.numpy().swapaxes(-1, -2))
        out = Array(numpy.empty((*shape[:-2], shape[-1], shape[-2]), dtype))
        assert tiletune.transpose(x, out=out) is out
        same(out, x.numpy().swapaxes(-1, -2))


def check_views():
    """Gaps, channels last, windows, and what is left to the array's own library."""
    x = array(6, 20, 24)
    for change in (lambda a: a[:, :, :17], lambda a: a[1:5, 3:], lambda a: a.transpose(0, 2, 1), lambda a: a.transpose(1, 2, 0),
                   lambda a: a[::2], lambda a: a[:, ::-1], lambda a: a[:0], lambda a: numpy.broadcast_to(a[:, :1], a.shape)):
        part = x.view(change)
        wanted = change(x.numpy()).swapaxes(-1, -2)
        if part.shape[0]:
            same(tiletune.transpose(part), wanted)
    raises(tiletune.InvalidError, "no matrix", tiletune.transpose, array(5))
    raises(tiletune.InvalidError, "contiguous array of shape (20, 6)", tiletune.transpose, array(6, 20), out=array(6, 20))
    for dtype in ("float32", "int32", "uint16"):  # bits would be reinterpreted, or do not fit
        raises(tiletune.InvalidError, "type of x", tiletune.transpose, array(6, 20), out=array(20, 6, dtype=dtype))
    raises(tiletune.InvalidError, "list is not an array", tiletune.transpose, [1])
    raises(tiletune.InvalidError, "ndarray is not an array on a GPU", tiletune.transpose, numpy.eye(3))


class Said:
    """An array of another library, which says what it wants. Its own library moves it by `permute_dims`."""

    def __init__(self, x, **said):
        self.said = {**x.__cuda_array_interface__, "strides": None, **said}
        self.shape, self.dtype, self.device, self.stride = self.said["shape"], None, None, 1
        self.moved = types.SimpleNamespace(permute_dims=lambda x, axes: x, asarray=lambda x, copy: "moved by its own library")

    __cuda_array_interface__ = property(lambda self: self.said)
    __array_namespace__ = lambda self, api_version=None: self.moved


def check_what_others_say():
    """Read-only and masked arrays, other byte orders and odd types: a sentence, or left to their own library."""
    x, out = array(6, 20, dtype="float32"), array(20, 6, dtype="float32")
    for words, said in {"has a mask": dict(mask=out), "the type 'f'": dict(typestr="f"), "the type '|S0'": dict(typestr="|S0"),
                        "the type '|t4'": dict(typestr="|t4"), "the type '|O8'": dict(typestr="|O8"),
                        "no multiples": dict(strides=(81, 4)), "stream 'x'": dict(stream="x"), "stream -1": dict(stream=-1),
                        "no kernel moves": dict(shape=(2**70, 2)), "strides (1180591620717411303424, 1)": dict(strides=(2**72, 4)),
                        }.items():
        raises(tiletune.InvalidError, words, tiletune.transpose, Said(x, **said), out=out)
        assert tiletune.transpose(Said(x, **said)) == "moved by its own library"
    raises(tiletune.InvalidError, "out: the array is read-only", tiletune.transpose, x, out=Said(out, data=(out.address, True)))
    raises(tiletune.InvalidError, "out: the array has a mask", tiletune.transpose, x, out=Said(out, mask=x))
    for typestr, other in ((">f4", "<f4"), ("<c8", "<M8[s]"), ("<c8", "<f8"), ("|V4", "<f4")):
        shape = (6, 20) if typestr[2:] == other[2:] == "4" else (6, 10)
        raises(tiletune.InvalidError, "type of x", tiletune.transpose, Said(x, typestr=typestr, shape=shape),
               out=Said(out, typestr=other, shape=shape[::-1]))
    for dtype in (">f4", ">i2", "<U4", "<M8[s]", "<M8[ns]", "<m8[D]", "<c8"):
        x, out = Array(numpy.zeros((6, 20), dtype)), Array(numpy.ones((20, 6), dtype))
        tiletune.transpose(x, out=out)
        same(out, numpy.zeros((20, 6), dtype))
    for size in (2**80, "4096", 4096.5, None):
        raises(tiletune.InvalidError, "", tiletune.best, size, gpu="H200")
    for words, call in {"rows is": lambda: tiletune.matrix(2**80, 4), "batch is 'x'": lambda: tiletune.matrix(4, batch="x"),
                        "max_trials is -1": lambda: tiletune.tune(4, max_trials=-1),
                        "whole numbers": lambda: tiletune.permutation((2**70, 2), (1, 0)),
                        "an axis is a whole number": lambda: tiletune.permute(x, (1.0, 0.0)), "dims '10'": lambda: tiletune.permute(x, "10"),
                        "has a NUL": lambda: tiletune.Context("a\0b")}.items():
        raises(tiletune.InvalidError, words, call)


def check_devices():
    """A result is on the device of what it is made of."""
    x, y = array(4, 6), array(6, 4)
    library = _arrays._INTERFACE._replace(view=lambda a: _arrays._interface_view(a)._replace(device=int(a is y)))
    raises(tiletune.InvalidError, "on the same device", _arrays.move, library, x, [1, 0], y)


def check_permute():
    x = array(3, 10, 5, 14)
    for dims in ((0, 2, 1, 3), (3, 2, 1, 0), (-1, 0, 1, 2), (0, 1, 2, 3)):
        same(tiletune.permute(x, dims), x.numpy().transpose([d % 4 for d in dims]))
    for axes in ((0, 5), (0,), (-1, 0), (0, 0)):  # PyTorch's operator gives them unchecked
        assert _arrays.problem_of((2, 3), (3, 1), axes, 4) is None, axes
    raises(tiletune.InvalidError, "has each axis from 0 to 3 once", tiletune.permute, x, (0, 0, 1, 2))
    x, turned = array(*[2] * 17), range(17)[::-1]
    same(tiletune.permute(x, turned), x.numpy().transpose(turned))  # by the array's own library
    raises(tiletune.UnsupportedError, "17 dimensions remain", tiletune.permute, x, turned, out=array(*[2] * 17))


def check_threads():
    """An address says which device an array is on, so a thread needs no current context. One of the host says none."""
    def run():
        left = ffi.new("void **", ffi.cast("void *", 1))
        tiletune.transpose(x, out=y)
        ok(cuda.cuCtxGetCurrent(left))
        assert left[0] == ffi.NULL
        raises(tiletune.DeviceError, "context", tiletune.transpose, unknown[0], out=unknown[1])
        done.append(True)

    x, y, done = array(40, 20), array(20, 40), []
    unknown = [Array(a.like, a, a.like.ctypes.data) for a in (x, y)]
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4
    same(y, x.numpy().T)


def check_capture():
    """In a graph, a known problem is a node. A new one is left to the array's own library, and is an error with out=."""
    known, new, y, z = array(50, 30), array(51, 30), array(30, 50), array(30, 51)
    tiletune.transpose(known)
    stream = make(cuda.cuStreamCreate, 1)
    Array.stream = int(ffi.cast("uintptr_t", stream))
    ok(cuda.cuStreamBeginCapture_v2(stream, 2))
    tiletune.transpose(known, out=y)
    assert raises(tiletune.Error, "capture", tiletune.transpose, new, out=z).status
    end = ffi.new("void **")
    ok(cuda.cuStreamEndCapture(stream, end))
    Array.stream = None
    graph = make(cuda.cuGraphInstantiateWithFlags, end[0], 0)
    later = array(50, 30)
    ok(cuda.cuMemcpyHtoD_v2(known.address, ffi.from_buffer(later.numpy()), later.like.nbytes))
    ok(cuda.cuGraphLaunch(graph, stream))
    same(y, later.numpy().T)


def check_dtypes():
    from tiletune._problems import element_size
    for dtype in (numpy.float16, numpy.dtype("float16"), numpy.half, "float16", "f16", "half", 2):
        assert element_size(dtype) == 2, dtype
    assert element_size(numpy.complex128) == 16 and element_size(numpy.uint8) == 1


def check_best_and_tune():
    before = tiletune.best(40, gpu=None)
    assert before.match in ("default", "rule", "nearest", "other-gpu"), before
    steps = []
    report = tiletune.tune([40, tiletune.permutation((4, 6, 8), (2, 1, 0))], effort="quick", max_trials=6, progress=steps.append)
    assert [r.source for r in report] == ["measured"] * 2 and steps and steps[-1].n_problems == 2, report
    assert tiletune.best(40).match == "exact" and tiletune.best(array(40, 40)).match == "exact"
    graph = [tiletune.matrix(40, in_graph=True), tiletune.permutation((4, 6, 8), (2, 1, 0), in_graph=True)]
    assert all(tiletune.best(p).match == "default" and "separate launches" in tiletune.best(p).why for p in graph), \
        [tiletune.best(p) for p in graph]
    tiletune.tune(graph, effort="quick", max_trials=6)
    assert all(tiletune.best(p).match == "exact" for p in graph)
    assert "40x40" in repr(report) and "<td>40x40</td>" in report._repr_html_(), report
    table = report.to_pandas()
    assert list(table["kernel"]) == [r.kernel for r in report] and set(report[0].config) < set(table.columns), table
    raises(tiletune.InvalidError, "effort 'lazy'", tiletune.tune, 40, effort="lazy")
    raises(tiletune.InvalidError, "dtype 'float3'", tiletune.tune, 40, dtype="float3")
    raises(TypeError, "dtype: ", tiletune.best, tiletune.matrix(40), dtype="float16")
    raises(TypeError, "efort, warm: ", tiletune.tune, [tiletune.matrix(40)], efort="quick", warm=True)


def check_store_of_another_gpu():
    """Questions about another GPU go to the same store, with the same templates, whatever changes outside."""
    gpu, db, folder = tiletune.best(40).gpu, os.path.abspath("python.db"), os.getcwd()
    template = (examples.parent.parent / "kernel_templates/axpby_vector.cu").read_text(encoding="utf-8")
    pathlib.Path("own.cu").write_text(template.replace("axpby_vector", "own_axpby"), encoding="utf-8")
    relative, axpby = tiletune.Context("python.db", templates=iter(["own.cu"])), tiletune.operation("axpby", n=90)
    tiletune.tune(axpby, templates="own.cu", only="own_axpby", effort="quick", max_trials=3, context=relative)
    os.environ["TILETUNE_DB"] = db
    by_name = tiletune.Context()
    os.environ["TILETUNE_DB"] = f"{folder}/other.db"
    try:
        os.chdir("/")
        for context in (relative, by_name):
            assert tiletune.best(40, gpu=gpu, context=context).match == "exact", context
        assert tiletune.best(axpby, gpu=gpu, context=relative).kernel == "own_axpby"
    finally:
        os.chdir(folder)
    del os.environ["TILETUNE_DB"]
    os.environ["XDG_DATA_HOME"] = f"{folder}/data"
    standard = tiletune.Context()
    os.environ["TILETUNE_DB"] = f"{folder}/other.db"
    tiletune.best(40, gpu="H200", context=standard)
    assert not os.path.exists("other.db") and os.path.exists("data/tiletune/tiletune.db")
    del os.environ["XDG_DATA_HOME"], os.environ["TILETUNE_DB"]
    os.environ["XDG_DATA_HOME"] = "/proc/none"  # what is known elsewhere is served
    placeless = tiletune.Context()
    assert tiletune.best(4096, gpu="H200", context=placeless).match == "exact"
    raises(tiletune.StoreError, "(name another file: TILETUNE_DB, tiletune.configure(db=...))", tiletune.tune, 4096,
           context=placeless)
    del os.environ["XDG_DATA_HOME"]
    for context in (tiletune.Context(":memory:"), tiletune.Context(":memory:", gpu=gpu)):
        raises(tiletune.InvalidError, "is in memory", tiletune.best, 40, gpu="H200", context=context)
    with tiletune.Context(":memory:", gpu="H200") as context:
        assert tiletune.best(4096, gpu="H200", context=context) == tiletune.best(4096, context=context)


def check_notebook():
    """A notebook gets one output, which is replaced."""
    shown = []
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda html, display_id: types.SimpleNamespace(update=shown.append)
    sys.modules |= {"ipykernel": display, "IPython": display, "IPython.display": display}
    try:
        tiletune.tune(24, effort="quick", max_trials=3)
    finally:
        del sys.modules["ipykernel"], sys.modules["IPython"], sys.modules["IPython.display"]
    assert shown[0].startswith("<pre>1/1 24x24: ") and shown[-1] == "<pre></pre>", shown


def check_guide():
    """The guide's block of Python runs as it stands, with smaller problems and few trials."""
    page = (examples.parent.parent / "docs/guide.md").read_text(encoding="utf-8")
    block, = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    for text, smaller in (("import torch, tiletune\n", ""), ("[4096, (64, 8192)]", "[64, (64, 128)], max_trials=2"), ("1_000_000", "5_000"),
                          ("examples/kernels", str(examples)), ("saxpy.tune()", "saxpy.tune(options={'max_trials': 2})")):
        assert text in block, text
        block = block.replace(text, smaller)
    torch = types.SimpleNamespace(rand=lambda *shape, device: rows(*shape) if len(shape) == 2 else rows(1, *shape)[0])
    names = {"tiletune": tiletune, "torch": torch}
    exec(block, names)
    x = names["x"].numpy()
    same(names["y"], x.swapaxes(-1, -2))
    same(names["z"], x.transpose(0, 2, 1, 3))
    tiletune.configure(db="python.db")


def rows(n, *shape):
    return [Array(random.random(shape, dtype="float32")) for _ in range(n)]


def check_lock():
    tune = pathlib.Path(sys.prefix, "bin/tune")
    done = subprocess.run([tune, "lock", "--output", "python.lock", "--sizes", "40", "--db", "python.db"], text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    before = tiletune.best(40)
    tiletune.lock("python.lock")
    assert tiletune.best(40).config == before.config
    raises(tiletune.NoWinnerError, "41x41", tiletune.best, 41)
    tiletune.lock("python.lock", default=True)
    assert tiletune.best(41).match == "default"
    tiletune.configure(db="python.db")


def check_collect():
    context = tiletune.configure(db=":memory:", collect="asked.jsonl")
    x = array(31, 67)
    for _ in range(3):
        tiletune.transpose(x)
    context.close()
    tiletune.configure(db="python.db")
    header, asked = map(json.loads, pathlib.Path("asked.jsonl").read_text(encoding="utf-8").splitlines())
    assert (asked["operation"], asked["launches"]) == ("transpose", 3) and asked["problem"].startswith("rows=31,cols=67"), asked
    raises(tiletune.InvalidError, "not a file of collected problems", tiletune.Context, ":memory:", collect=examples / "saxpy.cu")


def check_interrupt():
    """Ctrl-C ends a run, and an exception in the call-back does."""
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    e = raises(KeyboardInterrupt, "", tiletune.tune, [128, 129, 130, 131], effort="exhaustive", progress=False)
    assert time.monotonic() - began < 30 and len(e.report) >= 0
    raises(ZeroDivisionError, "", tiletune.tune, 48, progress=lambda p: 1 / 0)


def refusals_of_a_kernel(plan, x, y):
    def call(**other):
        plan(*[{"x": x, "y": y, **other}.get(a.name, 2.0) for a in plan.arguments])

    raises(tiletune.InvalidError, "y: the array is read-only", call, y=Said(y, data=(y.address, True)))
    call(x=Said(x, data=(x.address, True)))  # which it reads
    raises(tiletune.InvalidError, "x: the array has a mask", call, x=Said(x, mask=y))
    raises(tiletune.InvalidError, "x: an array of >f4 was given", call, x=Said(x, typestr=">f4"))
    raises(tiletune.InvalidError, "x and y are both", call, x=y)
    raises(tiletune.InvalidError, "x: ndarray is not an array on a GPU", call, x=x.numpy())


def check_kernel():
    saxpy = tiletune.Kernel(examples / "saxpy.cu", n=1000)
    report = saxpy.tune(options={"effort": "quick", "max_trials": 4})
    assert report[0].kernel == saxpy.name and saxpy.best().match == "exact"
    raises(TypeError, "n: ", saxpy.tune, saxpy.problem(), n=7)
    x, y = (Array(random.random(1000, dtype="float32")) for _ in range(2))
    before = y.numpy().copy()
    plan = saxpy.plan()
    order = {"x": x, "y": y}
    arguments = [order.get(a.name, 2.0) for a in plan.arguments]
    saxpy(*arguments)
    assert numpy.allclose(y.numpy(), 2 * x.numpy() + before), plan
    raises(tiletune.InvalidError, "arguments: the kernel takes", saxpy, x)
    assert "n=1000" in repr(saxpy) and "inout f32 y" in repr(plan), plan
    arguments[[a.name for a in plan.arguments].index("x")] = array(999)
    raises(tiletune.InvalidError, "x: an array of u32 was given, and the kernel takes f32", saxpy, *arguments)
    arguments[[a.name for a in plan.arguments].index("x")] = array(999, dtype="float32")
    raises(tiletune.InvalidError, "x: the array has 3996 bytes", saxpy, *arguments)
    refusals_of_a_kernel(plan, x, y)
    plan.close()
    raises(tiletune.InvalidError, "NULL", plan, x, y, 2.0)
    raises(tiletune.KernelError, "bad.cu:1:", tiletune.Kernel, "bad.cu", source="//@ nonsense\n")
    raises(tiletune.StoreError, "nowhere.cu", tiletune.Kernel, "nowhere.cu")


def check_judge():
    saxpy = examples / "saxpy.cu"
    text = saxpy.read_text(encoding="utf-8")
    wrong = text.replace("q[u].v[e] += a", "q[u].v[e] -= a")
    assert wrong != text
    answer = tiletune.judge(saxpy, text, wrong, problem="n=1000")
    assert answer["exit_code"] == 5 and [x["verdict"] for x in answer["judgements"]] == ["not faster", "wrong"], answer
    assert "first wrong element at y[" in answer["judgements"][1]["reason"], answer
    raises(tiletune.InvalidError, "no candidate", tiletune.judge, saxpy)
    raises(tiletune.Error, "cannot read nowhere.cu", tiletune.judge, saxpy, "nowhere.cu")
    in_bytes = type("InBytes", (), {"__fspath__": lambda self: b"-x.cu"})()
    for path in "-x.cu", in_bytes:
        raises(tiletune.Error, "cannot read ./-x.cu", tiletune.judge, saxpy, path)
    raises(tiletune.InvalidError, "candidate1.cu is None, expected", tiletune.judge, saxpy, None)


def check_scalars():
    """What a type cannot hold is refused; the bits of what it can are those of C."""
    from tiletune._kernel import Argument, _scalar
    for kind, value, wanted in (("f32", 1, "0000803f"), ("f16", -2.0, "00c0"), ("bf16", 1.00390625, "803f"), ("bf16", float("nan"), "c07f"),
                                ("i32", True, "01000000"), ("u64", 2**64 - 1, "ff" * 8), ("bool", numpy.True_, "01"),
                                ("i8", numpy.int64(-1), "ff"), ("f32", float("-inf"), "000080ff"), ("f64", 1e300, "9c7500883ce4377e")):
        assert bytes(ffi.buffer(_scalar(Argument("a", kind, "scalar", 0, 0), value)))[:len(wanted) // 2].hex() == wanted, (kind, value)
    for kind, value in (("f32", None), ("f32", 1e300), ("f32", -1e39), ("f16", 65520.0), ("bf16", 1e39), ("f64", "2"), ("i32", 2.5),
                        ("i8", 128), ("u8", -1), ("bool", 2), ("bool", None), ("i64", 2**63), ("f64", 10**400), ("f32", numpy.ones(3))):
        raises(tiletune.InvalidError, f"a: {value!r} is not a number that {kind} can hold", _scalar, Argument("a", kind, "scalar", 0, 0), value)


def check_kernel_of_another_gpu():
    """Another context answers for another GPU. It opens the kernel as it was, whatever happens to its file."""
    here = pathlib.Path("own.cu")
    here.write_text((examples / "saxpy.cu").read_text(encoding="utf-8"), encoding="utf-8")
    saxpy = tiletune.Kernel(here, n=1000)
    gpu = saxpy.best().gpu
    here.unlink()
    for times in range(2):
        for choice in (saxpy.best(gpu=gpu), tiletune.best(saxpy.problem(), gpu=gpu)):
            assert choice.match == "exact" and choice.config == saxpy.best().config, choice
    assert saxpy.best(gpu="H200").match in ("rule", "other-gpu", "nearest", "default")
    assert saxpy.best(gpu=gpu, n=1001).match == "nearest"
    with tiletune.Context(":memory:") as other:
        raises(tiletune.InvalidError, "another context", tiletune.best, saxpy.problem(), context=other)


def check_kernel_devices():
    """A kernel runs where its arrays are, whatever context is current."""
    saxpy = tiletune.Kernel(examples / "saxpy.cu", n=1000)
    make_current(1)
    x, y = (Array(random.random(1000, dtype="float32")) for _ in range(2))
    make_current(0)
    other, before = Array(y.like), y.numpy().copy()
    saxpy(*[{"x": x, "y": y}.get(a.name, 2.0) for a in saxpy.plan().arguments])
    assert numpy.allclose(y.numpy(), 2 * x.numpy() + before)
    mixed = [{"x": x, "y": other}.get(a.name, 2.0) for a in saxpy.plan().arguments]
    raises(tiletune.InvalidError, "y: the array is on device 0, and the plan on 1", saxpy, *mixed)
    raises(tiletune.InvalidError, "the array is on device 1, and the plan on 0", saxpy.plan(), *mixed)


def check_no_such_device():
    """A device that is not there is an error, and the current context stays as it was."""
    make_current(1)
    before = make(cuda.cuCtxGetCurrent)
    saxpy = tiletune.Kernel(examples / "saxpy.cu", n=1000)
    for device in (7, 1000):
        raises(tiletune.DeviceError, "no CUDA context", tiletune.best, 40, device=device)
        raises(tiletune.DeviceError, "no CUDA context", saxpy.plan, device=device)
        assert make(cuda.cuCtxGetCurrent) == before
    make_current(0)


def check_no_driver_by_name():
    """A question by the name of a GPU does not initialise CUDA, which takes time and makes a later fork fail."""
    for asked in ("tiletune.best(64, gpu='H200')", "tiletune.best(64, context=tiletune.Context(gpu='H200'))"):
        code = f"import tiletune; {asked}; assert 'libcuda.so' not in open('/proc/self/maps').read()"
        subprocess.run([sys.executable, "-c", code], check=True)


def check_contexts_close():
    """One that was dropped leaves no descriptors, unless arrays were moved with it. Copies would be closed twice."""
    def descriptors():
        links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
        return sum(".db" in os.readlink(link) for link in links if os.path.lexists(link))

    before, kept = descriptors(), tiletune.Context("kept.db")
    with kept as context:
        open_now = descriptors()
        assert open_now > before
        for _ in range(3):
            dropped = tiletune.Context("dropped.db")
            tiletune.best(40, gpu="H200", context=dropped)
            plan = tiletune.Kernel(examples / "saxpy.cu", n=1000, context=dropped).plan()
            del dropped
            assert descriptors() == open_now
            for what in context, plan:
                raises(TypeError, "cannot be copied", copy.copy, what)
                raises(TypeError, "or pickled", pickle.dumps, what)
            plan.close()
    context.close()  # again
    assert descriptors() == before
    raises(tiletune.InvalidError, "context is NULL", tiletune.best, 40, context=context)
    tiletune.configure(db="python.db")
    x = array(33, 65)
    tiletune.transpose(x)
    with_plans = descriptors()
    tiletune.configure(db="python.db")
    assert descriptors() >= with_plans


FORKS = """
import os, sys, tiletune
context = tiletune.Context("fork.db")
def ask(**options):
    return tiletune.best(4096, gpu="H200", **options).kernel
ask(context=context)
if sys.argv[1] == "closed":
    context.close()
if os.fork():
    sys.exit(os.wait()[1] != 0)
for call in (ask, lambda: ask(context=context), context.close):
    try:
        print(call())
    except tiletune.Error as e:
        print(type(e).__name__, e)
"""


def check_fork():
    """A child has neither the store nor the plans of its parent, and opens a store only if the parent had none open."""
    wanted = {"closed": ("transpose_vector", "InvalidError", "None"), "open": ("StoreError", "InvalidError", "None")}
    for parent, words in wanted.items():
        done = subprocess.run([sys.executable, "-c", FORKS, parent], check=True, capture_output=True, text=True)
        said = done.stdout.splitlines()
        assert len(said) == 3 and all(line.startswith(word) for line, word in zip(said, words)), said
        assert parent == "closed" or all('multiprocessing with "spawn"' in line for line in said[:2]), said


make_current()
tiletune.configure(db="python.db")
for name, check in list(globals().items()):
    if name.startswith("check_"):
        began = time.monotonic()
        check()
        print(f"{name} ({time.monotonic() - began:.1f} s)", flush=True)
tiletune.configure(db="python.db")
check_transpose()  # with what is tuned now, so that a system without a compiler has these kernels
