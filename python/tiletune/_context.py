"""Stores: one is open for all functions, and configure() replaces it."""
from __future__ import annotations

import os
import threading
from typing import Any, Iterable

from ._errors import InvalidError, check
from ._native import ffi, lib

handle: Any = None  # of the context in use; the fast path reads it
_current: "Context | None" = None
_lock = threading.Lock()


def sized(name: str) -> Any:
    """A struct of the header, zero but for its size."""
    made = ffi.new(name + " *")
    made.size = ffi.sizeof(name)
    return made


def fill(struct: Any, **values: Any) -> None:
    """Sets fields. cffi does not say which one a value does not fit."""
    for name, value in values.items():
        try:
            setattr(struct, name, value)
        except (OverflowError, TypeError):
            raise InvalidError(f"{name} is {value!r}, which is of another type or out of range") from None


def encode(path: "str | os.PathLike[str]") -> bytes:
    """For C, where a string ends with the first NUL."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise InvalidError(f"{path!r:.200} has a NUL character in it")
    return encoded


class Strings:
    """A `const char *const *`, or NULL, with the memory that it points to."""

    def __init__(self, items: "Iterable[str | os.PathLike[str]]"):
        self.said = [items] if isinstance(items, (str, os.PathLike)) else list(items)
        self._keep = [ffi.new("char[]", encode(item)) for item in self.said]
        self.n = len(self._keep)
        self.c = ffi.new("char *[]", self._keep) if self._keep else ffi.NULL


def _store_file(db: "str | os.PathLike[str] | None") -> "str | None":
    """Which file the library opens now. Later the working directory or the environment may be others."""
    data, home = os.environ.get("XDG_DATA_HOME", ""), os.environ.get("HOME")
    path = os.fsdecode(db) if db is not None else os.environ.get("TILETUNE_DB") or None
    if not path and data.startswith("/"):
        path = f"{data}/tiletune/tiletune.db"
    elif not path and home:
        path = f"{home}/.local/share/tiletune/tiletune.db"
    return os.path.join(os.getcwd(), path) if path and path != ":memory:" else path


def _free(c: Any) -> None:
    lib.tt_close(ffi.new("tt_ctx **", c))


class Context:
    """An open store. It is closed by close(), at the end of a `with` block, or when nothing refers to it any more.

    db: its file; None: the user's, as for `tune`; ":memory:" keeps nothing.
    gpu: best() answers for this GPU, by name. A store in memory answers for no other one.
    read_only: never write.
    templates: .cu files in addition to the built-in templates.
    tune_budget: the first use of a problem that was never measured tunes it for about so many seconds.
    early_launch: False: a kernel begins only after the previous one in its stream has ended.
    lock_file: a file of `tune lock`. Only its winners are used; a problem that it lacks is an error, or gets the default
    with lock_default.
    collect: a file that collects what is launched without an exact winner, for `tune --collected`; None: $TILETUNE_COLLECT.
    """

    def __init__(self, db: "str | os.PathLike[str] | None" = None, *, gpu: "str | None" = None, read_only: bool = False,
                 templates: "Iterable[str | os.PathLike[str]]" = (), tune_budget: float = 0.0, early_launch: bool = True,
                 lock_file: "str | os.PathLike[str] | None" = None, lock_default: bool = False,
                 collect: "str | os.PathLike[str] | None" = None):
        opts, files, out = sized("tt_open_opts"), Strings(templates), ffi.new("tt_ctx **")
        self._options: "dict[str, Any]" = dict(
            db=_store_file(db) if lock_file is None else None, read_only=read_only,
            templates=[os.path.join(os.getcwd(), path) for path in files.said],
            lock_file=os.path.join(os.getcwd(), lock_file) if lock_file is not None else None, lock_default=lock_default)
        self._gpu = gpu
        self._of_gpu: dict[str, Context] = {}
        keep = [ffi.new("char[]", encode(value)) if value is not None else ffi.NULL for value in (db, gpu, lock_file, collect)]
        opts.db_path, opts.gpu, opts.lock_file, opts.collect_file = keep
        fill(opts, read_only=read_only, lock_default=lock_default, no_early_launch=not early_launch, tune_budget_s=tune_budget)
        opts.templates, opts.n_templates = files.c, files.n
        check(lib.tt_open(out, opts))
        if db is None and not os.environ.get("TILETUNE_DB") and not os.path.exists(self._options["db"] or ""):
            self._options["db"] = None  # none could be made
        self._c = ffi.gc(out[0], _free)

    def for_gpu(self, gpu: "str | None") -> "Context":
        """The same store, for questions about another GPU."""
        if gpu is None or gpu == self._gpu:
            return self
        if self._options["db"] == ":memory:":
            raise InvalidError(f"gpu is {gpu!r}, and the store is in memory: open it with Context(\":memory:\", gpu={gpu!r})")
        if gpu not in self._of_gpu:
            self._of_gpu[gpu] = Context(**self._options, gpu=gpu)
        return self._of_gpu[gpu]

    def close(self) -> None:
        """Frees it and the plans that it has cached. Their launches must have ended."""
        global handle, _current
        if _current is self:
            handle = _current = None
        for other in self._of_gpu.values():
            other.close()
        c, self._c = self._c, ffi.NULL
        if c:
            ffi.gc(c, None)
            _free(c)

    def _put_in_use(self) -> Any:
        """From now on transpose() and permute() cache plans in it. It stays open if it is dropped, and at the end of the
        process: their kernels may still run."""
        if self._c:
            ffi.gc(self._c, None)
        return self._c

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Context cannot be copied or pickled: open another one with the same options")

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items() if value)
        return f"tiletune.Context({options})"


def use(context: "Context | None") -> "Context":
    """The context itself, or the one in use."""
    global handle, _current
    if context is None:
        with _lock:
            if _current is None:
                _current = Context()
                handle = _current._put_in_use()
            context = _current
    return context


def configure(**options: Any) -> Context:
    """Opens a Context with these options, and lets all functions use it from now on.

    >>> tiletune.configure(tune_budget=5)    # tune what was never measured, when it is first used

    The one that was in use stays open, since its kernels may still run.
    """
    global handle, _current
    context = Context(**options)
    with _lock:
        _current, handle = context, context._put_in_use()
    return context


def lock(path: "str | os.PathLike[str]", *, default: bool = False) -> Context:
    """Uses the configurations of a file of `tune lock`, and no others: all processes that do so run the same.

    A problem that the file lacks is an error, or gets its template's default configuration if `default` is true.
    """
    return configure(lock_file=path, lock_default=default)


def _forget() -> None:
    """In a child after fork: neither the store nor a plan may be used there. The library opens a store there only if the
    parent had none open."""
    global handle, _current, _lock
    handle = _current = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
