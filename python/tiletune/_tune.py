"""tune(): search, verify, measure and store, as the program `tune` does."""
from __future__ import annotations

import os
from typing import Any, Callable, Iterable, Sequence

from ._context import Context, Strings, encode, fill, sized, use
from ._errors import InvalidError, error, text
from ._native import ffi, lib
from ._problems import problem_of
from ._progress import Progress, Shown
from ._results import Report, report

_EFFORTS = {"quick": lib.TT_EFFORT_QUICK, "standard": lib.TT_EFFORT_STANDARD, "exhaustive": lib.TT_EFFORT_EXHAUSTIVE}


class _Run:
    """The state that the call-backs share. An exception in one of them, such as Ctrl-C, ends the run."""

    def __init__(self, shown: Shown):
        self.shown, self.raised = shown, None


def _caught(_kind: Any, raised: BaseException, traceback: Any) -> None:
    """Of an exception in a call-back: cffi calls it with the traceback of the call-back, which has `user`."""
    run = ffi.from_handle(traceback.tb_frame.f_locals["user"])
    run.raised = run.raised or raised


@ffi.def_extern(onerror=_caught)
def tt_py_on_progress(user: Any, p: Any) -> None:
    run = ffi.from_handle(user)
    if not run.raised:
        run.shown.step(p)


@ffi.def_extern(onerror=_caught)
def tt_py_on_message(user: Any, line: Any) -> None:
    ffi.from_handle(user).shown.out.note(text(line))


@ffi.def_extern(error=1, onerror=_caught)
def tt_py_should_stop(user: Any) -> int:
    return ffi.from_handle(user).raised is not None


def tune(problems: Any, *, device: int = 0, devices: "Sequence[int]" = (), effort: str = "standard", budget: float = 0.0,
         max_trials: int = 0, force: bool = False, only: "Iterable[str]" = (),
         templates: "Iterable[str | os.PathLike[str]]" = (), jobs: int = 0, trial_timeout: float = 0.0,
         compile_timeout: float = 0.0, trace: "str | os.PathLike[str] | None" = None, seed: int = 0,
         strategy: "str | None" = None, unverified: bool = False, same_bits: bool = False,
         class_of: "str | None" = None, replay: "str | os.PathLike[str] | None" = None,
         progress: "bool | Callable[[Progress], None] | None" = None, context: "Context | None" = None,
         **options: Any) -> Report:
    """Finds the fastest configuration of each problem on a GPU, and stores it.

    >>> tiletune.tune([4096, (4096, 1024)], dtype="float16", effort="quick")

    `problems` is one problem or a list of them, as in best(), and `options` are those of matrix(). The other arguments are
    those of tt_tune_opts. progress: None shows it in terminals and notebooks, False never; a function gets each Progress.

    same_bits: the winner computes the same bits as the default configuration, or as the configuration class_of.

    Ctrl-C ends the run. What was measured is stored, and the same call goes on from there. The KeyboardInterrupt has the
    results so far in `report`, as has the NoWinnerError if a problem has no winner.
    """
    if effort not in _EFFORTS:
        raise InvalidError(f"effort {effort!r}: it must be {', '.join(_EFFORTS)}")
    listed = [problem_of(p, **options) for p in (problems if isinstance(problems, list) else [problems])]
    c_problems = ffi.new("tt_problem[]", [p._c[0] for p in listed])
    opts, competing, named, ordinals = sized("tt_tune_opts"), Strings(templates), Strings(only), ffi.new("int[]", list(devices))
    paths = [ffi.new("char[]", encode(value)) if value is not None else ffi.NULL for value in (replay, trace, strategy, class_of)]
    opts.replay, opts.trace_path, opts.strategy, opts.class_of = paths
    opts.devices, opts.n_devices = ordinals, len(devices)
    opts.templates, opts.n_templates, opts.only, opts.n_only = competing.c, competing.n, named.c, named.n
    fill(opts, device=device, effort=_EFFORTS[effort], budget_s=budget, max_trials=max_trials, seed=seed, force=force,
         unverified=unverified, same_bits=same_bits or class_of is not None, jobs=jobs, trial_timeout_s=trial_timeout, compile_timeout_s=compile_timeout)
    run = _Run(Shown(progress))
    user = ffi.new_handle(run)
    opts.user = user
    opts.on_progress, opts.on_message, opts.should_stop = lib.tt_py_on_progress, lib.tt_py_on_message, lib.tt_py_should_stop
    out = ffi.new("tt_report **")
    status = lib.tt_tune(out, use(context)._c, c_problems, len(listed), opts)
    failure = error(status) if status else None
    run.shown.out.end()
    found = None
    if out[0]:
        found = report(out[0])
        lib.tt_report_free(out)
    failure = run.raised or failure
    if failure is not None:
        failure.report = found
        raise failure
    assert found is not None
    return found
