"""tiletune finds the fastest way to transpose or permute a tensor on this GPU, and remembers it.

>>> import torch, tiletune
>>> x = torch.rand(8192, 8192, device="cuda")
>>> y = tiletune.transpose(x)                   # x.mT.contiguous()
>>> tiletune.tune([(8192, 8192), (64, 4096)])   # measure, and store the winners for all programs
>>> tiletune.best(8192, gpu="H200")             # what is known; needs no GPU

Kernel is for kernels of your own, and judge() says whether one is right and faster. configure() and lock() say which store is used. Failures are exceptions of the class
Error, with the library's sentence. The library, the program `tune` and the header are in this package: get_cmake_dir() and
get_include() say where.
"""
import os as _os
import sys as _sys

from ._arrays import permute, transpose
from ._context import Context, configure, lock
from ._errors import (DeviceError, Error, InvalidError, KernelError, NoWinnerError, OutOfMemoryError, StoreError,
                      UnsupportedError, text as _text)
from ._judge import judge
from ._kernel import Argument, Kernel, Plan
from ._native import lib as _lib
from ._problems import Problem, best, matrix, operation, permutation
from ._progress import Progress
from ._results import Choice, Report, Result
from ._tune import tune

__version__: str = _text(_lib.tt_version())
__all__ = ["Argument", "Choice", "Context", "DeviceError", "Error", "InvalidError", "Kernel", "KernelError", "NoWinnerError",
           "OutOfMemoryError", "Plan", "Problem", "Progress", "Report", "Result", "StoreError", "UnsupportedError", "best",
           "configure", "get_cmake_dir", "get_include", "judge", "lock", "matrix", "operation", "permutation", "permute", "transpose",
           "tune"]


if hasattr(getattr(_sys.modules.get("torch"), "library", None), "custom_op"):
    from . import _torch
    _torch.adopt()


def get_include() -> str:
    """The folder of tiletune.h."""
    return _os.path.join(_os.path.dirname(__file__), "include")


def get_cmake_dir() -> str:
    """The folder for `cmake -Dtiletune_DIR=...`, so that find_package(tiletune CONFIG) finds the library of this package."""
    return _os.path.join(_os.path.dirname(__file__), "lib", "cmake", "tiletune")
