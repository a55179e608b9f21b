"""What the library answers, as Python objects that print as tables."""
from __future__ import annotations

import dataclasses
import html
from typing import Any, Iterator, Sequence, overload

from ._errors import text
from ._native import lib


def config_of(words: str) -> "dict[str, int | str]":
    """{"TILE_DIM": 32, ...} of "TILE_DIM=32 ..."."""
    pairs = (word.split("=", 1) for word in words.split() if "=" in word)
    return {name: int(value) if value.lstrip("-").isdigit() else value for name, value in pairs}


@dataclasses.dataclass(frozen=True)
class Choice:
    """The best known configuration for a problem, as in tt_choice of tiletune.h."""

    match: str  #: "exact", "stale", "rule", "nearest", "other-gpu" or "default"
    kernel: str
    config: "dict[str, int | str]"
    gpu: str  #: on which it was measured; "" for a default
    problem: str  #: for which it was measured
    time_us: float
    gbps: float
    why: str  #: why the match is not exact
    layer: str  #: where it was found: "user", "system" or "shipped"
    unverified: bool
    bits: str  #: its class of equal bits; "": unknown
    batch_invariant: "bool | None"  #: whether a row stays the same when rows are added; None: unknown


#: By tt_result.batch_invariant.
_INVARIANT = (None, True, False)


def choice(c: Any) -> Choice:
    return Choice(text(lib.tt_match_name(c.match)), text(c.kernel), config_of(text(c.config)), text(c.gpu),
                  text(c.problem), c.time_us, c.gbps, text(c.why), text(c.layer), bool(c.unverified),
                  text(c.bits), _INVARIANT[c.batch_invariant])


@dataclasses.dataclass(frozen=True)
class Result:
    """What tuning found for one problem, as in tt_result of tiletune.h."""

    problem: str
    kernel: str  #: "": there is no winner, and `note` says why
    config: "dict[str, int | str]"
    time_us: float
    gbps: float
    copy_fraction: float  #: time of the tuned copy of as many bytes over this time
    peak_fraction: float
    speedup_vs_default: float
    trials: int
    failed: int
    space: int
    source: str  #: "measured", "stored" or "replayed"
    note: str
    metrics: str
    unverified: bool
    bits: str  #: its class of equal bits: those of a problem with the same one computed the same bits; "": unknown
    same_bits_cost: float  #: with same_bits: its time over that of the fastest; 0: unknown
    differing: float  #: with same_bits: the fraction of elements in which the fastest differs
    ulps: float  #: by so many units in the last place at most
    batch_invariant: "bool | None"  #: whether a row stays the same when rows are added; None: unknown
    op: str  #: "transpose", "axpby"; of a kernel file, its kernel's name
    rows: int  #: 0 if the problem has no such variables
    cols: int
    batch: int
    elem_size: int
    in_place: bool
    warm: bool
    in_graph: bool
    copy_us: float  #: the time of the tuned copy of as many bytes


def result(c: Any) -> Result:
    return Result(text(c.problem), text(c.kernel), config_of(text(c.config)), c.time_us, c.gbps, c.copy_fraction,
                  c.peak_fraction, c.speedup_vs_default, c.trials, c.failed, c.space, text(lib.tt_source_name(c.source)),
                  text(c.note), text(c.metrics), bool(c.unverified), text(c.bits), c.same_bits_cost, c.differing, c.ulps,
                  _INVARIANT[c.batch_invariant], text(c.op), c.rows, c.cols, c.batch, c.elem_size, bool(c.in_place), bool(c.warm),
                  bool(c.in_graph), c.copy_us)


_COLUMNS = {"problem": "{0.problem}", "time": "{0.time_us:.4g} us", "GB/s": "{0.gbps:.0f}", "of copy": "{0.copy_fraction:.1%}",
            "vs default": "{0.speedup_vs_default:.2f}x", "kernel": "{0.kernel}", "configuration": "{1}", "source": "{0.source}"}


def _cells(r: Result) -> "list[str]":
    if not r.kernel:
        return [r.problem, "", "", "", "", "", r.note, r.source]
    words = " ".join(f"{name}={value}" for name, value in r.config.items())
    known = {"GB/s": r.gbps, "of copy": r.copy_fraction, "vs default": r.speedup_vs_default}
    return [form.format(r, words) if known.get(name, True) else "" for name, form in _COLUMNS.items()]


class Report(Sequence[Result]):
    """The results of tune(): a sequence, and a table when printed, in notebooks too."""

    def __init__(self, results: "list[Result]", gpu: str, driver: str, nvrtc: str, wall_s: float):
        self.results, self.gpu, self.driver, self.nvrtc, self.wall_s = results, gpu, driver, nvrtc, wall_s

    @overload
    def __getitem__(self, i: int) -> Result: ...
    @overload
    def __getitem__(self, i: slice) -> "Sequence[Result]": ...
    def __getitem__(self, i: Any) -> Any:
        return self.results[i]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> "Iterator[Result]":
        return iter(self.results)

    def to_dicts(self) -> "list[dict[str, Any]]":
        """A dictionary for each result."""
        return [dataclasses.asdict(r) for r in self.results]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each result, and a column for each parameter of a configuration."""
        import pandas
        return pandas.DataFrame([{**{k: v for k, v in row.items() if k != "config"}, **row["config"]}
                                 for row in self.to_dicts()])

    def _head(self) -> str:
        versions = f", driver {self.driver}" * bool(self.driver) + f", NVRTC {self.nvrtc}" * bool(self.nvrtc)
        return f"{self.gpu}{versions}: {len(self)} problem{'s' * (len(self) != 1)} in {self.wall_s:.3g} s"

    def __repr__(self) -> str:
        rows = [list(_COLUMNS)] + [_cells(r) for r in self.results]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([self._head(), "", *lines])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in _COLUMNS)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(r)) + "</tr>"
                       for r in self.results)
        return (f"<table><caption>{html.escape(self._head())}</caption><thead><tr>{head}</tr></thead>"
                f"<tbody>{rows}</tbody></table>")


def report(c: Any) -> Report:
    """Copies a tt_report."""
    results = [result(lib.tt_report_result(c, i)) for i in range(c.n_results)]
    return Report(results, text(c.gpu), text(c.driver), text(c.nvrtc), c.wall_s)
