#!/usr/bin/env python3
"""The Python example without PyTorch: test_python.py EXAMPLE_DIR LIBRARY

Arrays come from the driver, by ctypes; the part for PyTorch and CuPy is run with modules that look like them.
"""
import contextlib
import ctypes
import random
import sys
import types

sys.path.insert(0, sys.argv[1])
import tiletune_torch  # noqa: E402

cuda = ctypes.CDLL("libcuda.so.1")


def ok(status):
    assert status == 0, f"CUDA error {status}"


class Array:
    """A matrix on the device; `pitch` elements from row to row."""

    def __init__(self, rows, cols, itemsize, pitch=None, data=None):
        self.shape, self.itemsize, self.pitch = (rows, cols), itemsize, pitch or cols
        self.bytes = rows * self.pitch * itemsize
        address = ctypes.c_uint64()
        ok(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(self.bytes)))
        self.address = address.value
        if data is None:
            data = random.Random(rows * cols).randbytes(self.bytes)
        ok(cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), data, ctypes.c_size_t(self.bytes)))

    def rows(self):
        """The matrix as a list of lists of bytes."""
        buffer = ctypes.create_string_buffer(self.bytes)
        ok(cuda.cuMemcpyDtoH_v2(buffer, ctypes.c_uint64(self.address), ctypes.c_size_t(self.bytes)))
        e = self.itemsize
        return [[buffer.raw[(r * self.pitch + c) * e:][:e] for c in range(self.shape[1])]
                for r in range(self.shape[0])]

    # As PyTorch has it.
    is_cuda, device, dtype, layout, is_quantized, is_nested = True, 0, "?", "strided", False, False

    def dim(self):
        return 2

    def stride(self):
        return (self.pitch, 1)

    def element_size(self):
        return self.itemsize

    def data_ptr(self):
        return self.address

    def is_conj(self):
        return False

    is_neg = is_conj

    def transpose(self, *_):
        return types.SimpleNamespace(contiguous=lambda: "left to PyTorch")


def fake_torch():
    torch = types.ModuleType("torch")
    torch.Tensor, torch.strided, torch.nn = Array, "strided", types.SimpleNamespace(Parameter=Array)
    torch.empty = lambda shape, dtype, device: Array(shape[0], shape[1], Array.expected)
    torch.cuda = types.SimpleNamespace(device=lambda device: contextlib.nullcontext(),
                                       current_stream=lambda: types.SimpleNamespace(cuda_stream=0))
    return torch


def fake_cupy():
    cupy = types.ModuleType("cupy")
    device = contextlib.nullcontext()

    class CupyArray:
        __module__ = "cupy"
        ndim = 2

        def __init__(self, array):
            self.array, self.shape, self.itemsize, self.dtype = array, array.shape, array.itemsize, array.itemsize
            self.strides = (array.pitch * array.itemsize, array.itemsize)
            self.size = array.shape[0] * array.shape[1]
            self.data = types.SimpleNamespace(ptr=array.address)
            self.device = device

    cupy.wrap = CupyArray
    cupy.empty = lambda shape, dtype: CupyArray(Array(shape[0], shape[1], dtype))
    cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=0))
    return cupy


def main():
    context = ctypes.c_void_p()
    ok(cuda.cuInit(0))
    ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    ok(cuda.cuCtxSetCurrent(context))
    sys.modules["torch"], sys.modules["cupy"] = fake_torch(), fake_cupy()
    tiletune = tiletune_torch.Tiletune(db=":memory:", library=sys.argv[2])
    for rows, cols, itemsize, pitch in [(30, 50, 4, None), (64, 64, 2, None), (33, 17, 1, 40), (5, 7, 8, 8)]:
        Array.expected = itemsize
        x = Array(rows, cols, itemsize, pitch)
        wanted = [list(column) for column in zip(*x.rows())]
        assert tiletune.transpose(x).rows() == wanted, (rows, cols, itemsize, pitch)
        assert tiletune.transpose(sys.modules["cupy"].wrap(x)).array.rows() == wanted
    sys.modules["cupy"].ascontiguousarray = lambda x: "left to CuPy"
    for rows, cols, pitch in [(3, 5, 0), (3, 5, 1), (3, 5, -5)]:  # expanded, a window, reversed
        x = Array(rows, cols, 4)
        x.pitch = pitch
        assert tiletune.transpose(x) == "left to PyTorch", pitch
        wrapped = sys.modules["cupy"].wrap(x)
        wrapped.T = None
        assert tiletune.transpose(wrapped) == "left to CuPy", pitch
    for name, value in {"is_quantized": True, "is_nested": True, "layout": "sparse"}.items():
        x = Array(30, 50, 4)
        setattr(x, name, value)
        assert tiletune.transpose(x) == "left to PyTorch", name
    assert tiletune.transpose(type("Masked", (Array,), {})(30, 50, 4)) == "left to PyTorch"
    Array.expected, x = 4, Array(1, 5, 4)
    wanted = [list(column) for column in zip(*x.rows())]
    x.pitch = 1  # of a single row it means nothing
    assert tiletune.transpose(x).rows() == wanted
    try:
        tiletune.launch(1, 2, 0, rows=-1, cols=3, elem_size=4)
    except tiletune_torch.Error as e:
        assert "-1 x 3" in str(e) and e.status == 1, e
    else:
        raise AssertionError("a bad problem was accepted")
    tiletune.close()
    print("tensors and arrays are transposed")


if __name__ == "__main__":
    main()
