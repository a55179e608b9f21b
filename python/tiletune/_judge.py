"""Judging kernels by the program that lies in this package."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any

from ._errors import DeviceError, Error, InvalidError

_ANSWERS = (0, 1, 5, 6)


def _file(folder: str, name: str, kernel: str | os.PathLike[str]) -> str:
    if not isinstance(kernel, (str, os.PathLike)):
        raise InvalidError(f"judge: {name} is {kernel!r:.60}, expected the text of a kernel, or a path that ends in .cu")
    if isinstance(kernel, os.PathLike) or ("\n" not in kernel and kernel.endswith(".cu")):
        path = os.fsdecode(kernel)
        return os.path.join(os.curdir, path) if path.startswith("-") else path  # it is no option
    path = os.path.join(folder, name)
    pathlib.Path(path).write_text(kernel, encoding="utf-8")
    return path


def judge(reference: str | os.PathLike[str], *candidates: str | os.PathLike[str],
          problem: str | None = None, against: str | os.PathLike[str] | None = None,
          db: str | os.PathLike[str] | None = None, device: int = 0) -> dict[str, Any]:
    """Are the candidates right, and faster than the reference's kernel? Kernels are texts, or paths that end in .cu.

    >>> tiletune.judge(open("softmax.cu").read(), text, problem="rows=4096,cols=1024")["verdict"]
    'faster'

    The answer is the object that `tune judge --json` prints (docs/judge.md). Times are compared with those of the kernel
    `against`. "winner" stands for the reference with the configuration that is stored for it, in `db` or the usual store.
    """
    if not candidates:
        raise InvalidError("judge: no candidate, expected the text or the path of at least one kernel")
    with tempfile.TemporaryDirectory(prefix="tiletune-judge-") as folder:
        files = [_file(folder, "reference.cu", reference)]
        files += [_file(folder, f"candidate{i}.cu", kernel) for i, kernel in enumerate(candidates, 1)]
        command = [os.fspath(pathlib.Path(__file__).with_name("bin") / "tune"), "judge", *files, "--json", "--device",
                   str(device)]
        if problem is not None:
            command += ["--problem", problem]
        if against is not None:
            command += ["--against", "winner" if against == "winner" else _file(folder, "against.cu", against)]
        if db is not None:
            command += ["--db", os.fspath(db)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode in _ANSWERS and done.stdout.startswith("{"):
        return json.loads(done.stdout)
    said = done.stderr.strip().splitlines()
    kind = {2: InvalidError, 3: DeviceError}.get(done.returncode, Error)
    raise kind(said[-1].removeprefix("tune: ") if said else f"tune judge ended with {done.returncode}")
