"""How far a search is: a line in a terminal, or a text in a notebook that is replaced."""
from __future__ import annotations

import dataclasses
import html
import shutil
import sys
import time
from typing import Any, Callable

from ._errors import text


@dataclasses.dataclass(frozen=True)
class Progress:
    """The state of a search, as in tt_progress of tiletune.h."""

    index: int  #: of the problem, from 0
    n_problems: int
    problem: str
    phase: str  #: "copy", "search" or "finals"
    done: int
    total: int
    failed: int
    best_us: float
    best_config: str
    eta_s: float

    def __str__(self) -> str:
        best = f", best {self.best_us:.4g} us" if self.best_us else ""
        left = f", about {self.eta_s:.0f} s left" if self.eta_s >= 0 else ""
        return f"{self.index + 1}/{self.n_problems} {self.problem}: {self.phase} {self.done}/{self.total}{best}{left}"


def progress(c: Any) -> Progress:
    return Progress(c.problem, c.n_problems, text(c.text), text(c.phase), c.done, c.total, c.failed, c.best_us,
                    text(c.best_config), c.eta_s)


class Line:
    """In a terminal."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, what: str) -> None:
        what = what[:shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + what.ljust(self._width))
        sys.stderr.flush()
        self._width = len(what)

    def note(self, line: str) -> None:
        self.end()
        print(line, file=sys.stderr)

    def end(self) -> None:
        self.show("")
        sys.stderr.write("\r")


class Cell:
    """In a notebook."""

    def __init__(self) -> None:
        from IPython.display import HTML, display
        self._html, self._notes = HTML, [""]
        self._shown = display(HTML(""), display_id=True)

    def show(self, what: str) -> None:
        lines = [line for line in (*self._notes, what) if line]
        self._shown.update(self._html("<pre>" + html.escape("\n".join(lines)) + "</pre>"))

    def note(self, line: str) -> None:
        self._notes.append(line)
        self.show("")

    def end(self) -> None:
        self.show("")


class Silent:
    """Elsewhere, as in a job's log: only notes."""

    def show(self, what: str) -> None:
        pass

    def note(self, line: str) -> None:
        print(line, file=sys.stderr)

    def end(self) -> None:
        pass


class Quiet(Silent):
    """Not even notes."""

    def note(self, line: str) -> None:
        pass


class Shown:
    """What tune() reports to: at most ten times a second, and each step to a function of the user's."""

    def __init__(self, wanted: "bool | Callable[[Progress], None] | None"):
        self._call = wanted if callable(wanted) else None
        self._next = 0.0
        self.out: Any = Quiet() if wanted is False or self._call else self._place(wanted is True)

    @staticmethod
    def _place(forced: bool) -> Any:
        if "ipykernel" in sys.modules:
            return Cell()
        return Line() if forced or sys.stderr.isatty() else Silent()

    def step(self, c: Any) -> None:
        if self._call:
            self._call(progress(c))
        elif time.monotonic() >= self._next:
            self.out.show(str(progress(c)))
            self._next = time.monotonic() + 0.1
