#!/usr/bin/env python3
"""A PyTorch or CuPy matrix transposed by tiletune, instead of `x.t().contiguous()`.
"""
import argparse
import ctypes
import ctypes.util
import statistics
import sys


class OpenOpts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("db_path", ctypes.c_char_p), ("gpu", ctypes.c_char_p),
                ("read_only", ctypes.c_int), ("templates", ctypes.POINTER(ctypes.c_char_p)),
                ("n_templates", ctypes.c_size_t), ("tune_budget_s", ctypes.c_double),
                ("no_early_launch", ctypes.c_int)]


class Problem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("rows", ctypes.c_int64), ("cols", ctypes.c_int64),
                ("lds", ctypes.c_int64), ("ldd", ctypes.c_int64), ("elem_size", ctypes.c_int),
                ("align", ctypes.c_int), ("batch", ctypes.c_int64), ("src_stride", ctypes.c_int64),
                ("dst_stride", ctypes.c_int64), ("in_place", ctypes.c_int), ("warm", ctypes.c_int)]


class Error(RuntimeError):
    """A call into the library failed; the text is its own, `status` the tt_status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def load(path=None):
    """libtiletune with the types of the functions used here."""
    lib = ctypes.CDLL(path or ctypes.util.find_library("tiletune") or "libtiletune.so.0")
    lib.tt_last_error.restype = ctypes.c_char_p
    lib.tt_open.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(OpenOpts)]
    lib.tt_close.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
    lib.tt_close.restype = None
    lib.tt_transpose.argtypes = [ctypes.c_void_p, ctypes.POINTER(Problem), ctypes.c_uint64, ctypes.c_uint64,
                                 ctypes.c_void_p]
    return lib


def apart(rows, cols, pitch, batch=1, stride=0):
    """Are rows and matrices stored one after the other? They are not if the tensor is expanded, reversed or a
    window."""
    return (rows == 1 or pitch >= cols) and (batch == 1 or stride >= (rows - 1) * pitch + cols)


class Tiletune:
    """A tt_ctx. Any number of threads may use one."""

    def __init__(self, db=None, tune_budget_s=0.0, library=None):
        self.lib = load(library)
        self.ctx = ctypes.c_void_p()
        opts = OpenOpts(size=ctypes.sizeof(OpenOpts), db_path=db.encode() if db else None, tune_budget_s=tune_budget_s)
        self._check(self.lib.tt_open(ctypes.byref(self.ctx), ctypes.byref(opts)))

    def close(self):
        if self.ctx:
            self.lib.tt_close(ctypes.byref(self.ctx))

    def _check(self, status):
        if status:
            raise Error(status, self.lib.tt_last_error().decode())

    def launch(self, dst, src, stream, rows, cols, elem_size, lds=0, batch=0, src_stride=0):
        """Transposes `rows` x `cols` elements at address `src` to `dst`, which has no gaps, on a CUDA stream."""
        problem = Problem(size=ctypes.sizeof(Problem), rows=rows, cols=cols, elem_size=elem_size, lds=lds,
                          batch=batch, src_stride=src_stride)
        self._check(self.lib.tt_transpose(self.ctx, ctypes.byref(problem), dst, src, stream))

    def transpose(self, x):
        """x.t().contiguous(), for a matrix or a batch of them; rows may be apart, their elements not."""
        if type(x).__module__.split(".")[0] == "cupy":
            return self._transpose_cupy(x)
        import torch
        dense = (type(x) in (torch.Tensor, torch.nn.Parameter) and x.layout == torch.strided
                 and not x.is_quantized and not x.is_nested)
        strides = x.stride() if dense else ()
        if not dense or not x.is_cuda or x.dim() not in (2, 3) or strides[-1] != 1 or 0 in x.shape or x.is_conj() or x.is_neg():
            return x.transpose(-1, -2).contiguous()
        rows, cols = x.shape[-2:]
        if not apart(rows, cols, strides[-2], *((x.shape[0], strides[0]) if x.dim() == 3 else ())):
            return x.transpose(-1, -2).contiguous()
        y = torch.empty((*x.shape[:-2], cols, rows), dtype=x.dtype, device=x.device)
        with torch.cuda.device(x.device):
            self.launch(y.data_ptr(), x.data_ptr(), torch.cuda.current_stream().cuda_stream, rows, cols,
                        x.element_size(), lds=strides[-2] if rows > 1 else 0, batch=x.shape[0] if x.dim() == 3 else 0,
                        src_stride=strides[0] if x.dim() == 3 else 0)
        return y

    def _transpose_cupy(self, x):
        import cupy
        if x.ndim != 2 or x.strides[1] != x.itemsize or x.strides[0] % x.itemsize or x.size == 0 or \
                not apart(*x.shape, x.strides[0] // x.itemsize):
            return cupy.ascontiguousarray(x.T)
        with x.device:
            y = cupy.empty((x.shape[1], x.shape[0]), dtype=x.dtype)
            self.launch(y.data.ptr, x.data.ptr, cupy.cuda.get_current_stream().ptr, x.shape[0], x.shape[1],
                        x.itemsize, lds=x.strides[0] // x.itemsize if x.shape[0] > 1 else 0)
        return y


# ---- Beside PyTorch ---------------------------------------------------------------------------------------

SIZES, TYPES = (4096, 8192), ("float32", "float16", "uint8")
SLEEP_CYCLES = 20_000_000  # about 10 ms, in which the host queues a round, so that host time is not measured


def time_round(torch, movers, inputs, at):
    """Milliseconds of each mover, in turn, each on an input that the L2 cache has forgotten."""
    events = []
    torch.cuda._sleep(SLEEP_CYCLES)
    for mover in movers:
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        x = inputs[at % len(inputs)]
        at += 1
        before.record()
        mover(x)
        after.record()
        events.append((before, after))
    torch.cuda.synchronize()
    return [before.elapsed_time(after) for before, after in events]


def compare(torch, tiletune, n, dtype, rounds):
    element = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    bytes_each = n * n * element
    inputs = [torch.randint(0, 100, (n, n), device="cuda", dtype=torch.uint8).to(getattr(torch, dtype))
              for _ in range(max(2, 300_000_000 // bytes_each))]
    movers = [tiletune.transpose, lambda x: x.t().contiguous()]
    if not torch.equal(movers[0](inputs[0]), movers[1](inputs[0])):
        sys.exit(f"{n} x {n} {dtype}: WRONG")
    samples = [time_round(torch, movers[::1 if i % 2 else -1], inputs, 2 * i) for i in range(-3, rounds)][3:]
    ordered = [pair if i % 2 else pair[::-1] for i, pair in enumerate(samples)]
    ours, theirs = (statistics.median(times) for times in zip(*ordered))
    ratio = statistics.median(b / a for a, b in ordered)
    print(f"{n:5} x {n:<5} {dtype:8} {ours * 1e3:9.1f} us {2 * bytes_each / ours * 1e-6:6.0f} GB/s"
          f" {theirs * 1e3:11.1f} us {2 * bytes_each / theirs * 1e-6:6.0f} GB/s {ratio:8.2f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(description="tiletune beside PyTorch's x.t().contiguous()")
    parser.add_argument("--bench", action="store_true", required=True)
    parser.add_argument("--library", help="libtiletune.so, if the linker does not find it")
    parser.add_argument("--db", help="the store; default the user's")
    parser.add_argument("--budget", type=float, default=0, help="seconds to tune what the store does not know")
    parser.add_argument("--rounds", type=int, default=31)
    args = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed here")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here")
    tiletune = Tiletune(args.db, args.budget, args.library)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n"
          f"{'':23}{'tiletune':>21} {'x.t().contiguous()':>26} {'':>8}")
    for n in SIZES:
        for dtype in TYPES:
            compare(torch, tiletune, n, dtype, args.rounds)
    tiletune.close()


if __name__ == "__main__":
    main()
