"""Arrays on the stand-in's device, for tests of the Python package. They have __cuda_array_interface__, and NumPy's types."""
import types

import cffi
import numpy

ffi = cffi.FFI()
ffi.cdef("""
int cuInit(unsigned); int cuDevicePrimaryCtxRetain(void **, int); int cuCtxSetCurrent(void *); int cuCtxGetCurrent(void **);
int cuMemAlloc_v2(uint64_t *, size_t); int cuMemFree_v2(uint64_t);
int cuStreamCreate(void **, unsigned); int cuStreamBeginCapture_v2(void *, int); int cuStreamEndCapture(void *, void **);
int cuGraphInstantiateWithFlags(void **, void *, unsigned long long); int cuGraphLaunch(void *, void *);
int cuMemcpyHtoD_v2(uint64_t, const void *, size_t); int cuMemcpyDtoH_v2(void *, uint64_t, size_t);
""")
cuda = ffi.dlopen("libcuda.so.1")


def ok(status):
    assert status == 0, f"CUDA error {status}"


def make_current(device=0):
    context = ffi.new("void **")
    ok(cuda.cuInit(0))
    ok(cuda.cuDevicePrimaryCtxRetain(context, device))
    ok(cuda.cuCtxSetCurrent(context[0]))


def make(function, *arguments):
    """What a function of the driver returns by its first argument."""
    out = ffi.new("void **")
    ok(function(out, *arguments))
    return out[0]


class Array:
    """Owns device memory; transposed and sliced arrays share it."""

    device = "gpu"
    stream = None  # current, as a library has it

    def __init__(self, values, owner=None, address=None):
        self.like = values  # of its shape, strides and type; the content is on the device
        self.owner = owner or self
        if owner is None:
            out = ffi.new("uint64_t *")
            ok(cuda.cuMemAlloc_v2(out, max(values.nbytes, 1)))
            self.address = out[0]
            ok(cuda.cuMemcpyHtoD_v2(self.address, ffi.from_buffer(numpy.ascontiguousarray(values)), values.nbytes))
            self.like = numpy.ascontiguousarray(values)
        else:
            self.address = address

    shape = property(lambda self: self.like.shape)
    dtype = property(lambda self: self.like.dtype)

    def view(self, change):
        """`change` is done to an array of the same shape on the host."""
        seen = change(self.like)
        shift = seen.__array_interface__["data"][0] - self.like.__array_interface__["data"][0]
        return Array(seen, self.owner, self.address + shift)

    def numpy(self):
        whole = self.owner
        host = numpy.empty_like(whole.like)
        ok(cuda.cuMemcpyDtoH_v2(ffi.from_buffer(host), whole.address, host.nbytes))
        return numpy.lib.stride_tricks.as_strided(
            numpy.frombuffer(host.reshape(-1).view(numpy.uint8), self.dtype, offset=self.address - whole.address,
                             count=(whole.address + host.nbytes - self.address) // self.dtype.itemsize),
            self.shape, self.like.strides)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "strides": self.like.strides, "typestr": self.dtype.str, "data": (self.address, False),
                "version": 3, "stream": Array.stream}

    def __array_namespace__(self, api_version=None):
        return types.SimpleNamespace(
            empty=lambda shape, dtype, device: Array(numpy.empty(shape, dtype)),
            permute_dims=lambda x, axes: x.view(lambda a: a.transpose(axes)),
            asarray=lambda x, copy: Array(x.numpy()))
