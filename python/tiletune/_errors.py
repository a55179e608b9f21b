"""The library's failures as exceptions."""
from __future__ import annotations

from typing import Any

from ._native import ffi, lib


class Error(RuntimeError):
    """A call into the library failed. The text is the library's own sentence.

    `status` is its tt_status. After `tune`, `report` has the results so far.
    """

    status: int = 0
    report: Any = None


class InvalidError(Error, ValueError):
    """An argument, an option or an input file is wrong. Nothing was done."""


class UnsupportedError(Error, NotImplementedError):
    """No kernel template can solve this problem."""


class NoWinnerError(Error, LookupError):
    """Every configuration failed, or nothing was ever tuned for the problem."""


class DeviceError(Error):
    """The CUDA driver, a device, a current context or NVRTC is missing, or a CUDA call failed."""


class KernelError(Error):
    """A kernel file has a wrong annotation, or NVRTC refused it."""


class StoreError(Error, OSError):
    """The store, a file or a worker process cannot be used."""


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is exhausted."""


_TYPES = {
    lib.TT_E_INVALID: InvalidError,
    lib.TT_E_UNSUPPORTED: UnsupportedError,
    lib.TT_E_NO_WINNER: NoWinnerError,
    lib.TT_E_NO_DRIVER: DeviceError,
    lib.TT_E_NO_DEVICE: DeviceError,
    lib.TT_E_NO_NVRTC: DeviceError,
    lib.TT_E_CUDA: DeviceError,
    lib.TT_E_COMPILE: KernelError,
    lib.TT_E_TEMPLATE: KernelError,
    lib.TT_E_DB: StoreError,
    lib.TT_E_IO: StoreError,
    lib.TT_E_NO_MEMORY: OutOfMemoryError,
}


def text(of: Any) -> str:
    """A string of the library."""
    return ffi.string(of).decode("utf-8", "replace") if of else ""


def error(status: int) -> Error:
    """The exception for the last failure in this thread."""
    why = text(lib.tt_last_error()) or text(lib.tt_strerror(status))
    made = _TYPES.get(status, Error)(why.replace("--db, tt_open_opts.db_path", "TILETUNE_DB, tiletune.configure(db=...)"))
    made.status = status
    return made


def check(status: int) -> None:
    """Raises if a call failed."""
    if status:
        raise error(status)
