#!/usr/bin/env python3
"""check_columns.py TUNE ROOT: on a terminal of 80 columns no row is broken by the terminal, and colour is only there.

On the CPU stand-ins, where `tune doctor` finds everything.
"""
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

tune, root = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2])
CODE = re.compile(r"\x1b\[\d*m")


def on_terminal(*words, **env):
    main, terminal = pty.openpty()
    with subprocess.Popen([tune, *words], stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL, cwd=root,
                          env={**os.environ, "COLUMNS": "80", "TERM": "xterm", "LC_ALL": "C", **env}) as process:
        os.close(terminal)
        text = b""
        try:
            while chunk := os.read(main, 65536):
                text += chunk
        except OSError:  # the program has ended
            pass
    os.close(main)
    assert process.returncode == 0, (words, text)
    return text.decode().replace("\r\n", "\n")


def check(*words, coloured=True):
    text = on_terminal(*words)
    plain = on_terminal(*words, NO_COLOR="1")
    piped = subprocess.run([tune, *words], capture_output=True, text=True, cwd=root, check=True).stdout
    assert bool(CODE.search(text)) == coloured, (words, text)
    for other in (plain, piped, on_terminal(*words, TERM="dumb")):
        assert "\x1b" not in other, (words, other)
    def untimed(said):
        return re.sub(r" in [^ ,]+ s\.\n", "", said)
    assert untimed(CODE.sub("", text)) == untimed(plain), (words, text, plain)
    for line in plain.splitlines():  # a path longer than its column cannot be broken
        assert len(line) <= 80 or max(map(len, line.split())) > 50, (words, line)
    return plain, piped


def check_blocks(*words, columns=80):
    """Bars and curves are only for terminals with UTF-8."""
    drawn = CODE.sub("", on_terminal(*words, LC_ALL="C.UTF-8", COLUMNS=str(columns)))
    assert re.search("[\u2581-\u258f]", drawn), (words, drawn)
    for line in drawn.splitlines():
        assert len(line) <= columns and not line.endswith(" "), (words, line)
    piped = subprocess.run([tune, *words], capture_output=True, text=True, cwd=root, check=True,
                           env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
    for plain in (on_terminal(*words), on_terminal(*words, LC_ALL="C.UTF-8", TERM="dumb"), piped):
        assert plain.isascii(), (words, plain)


def main():
    with tempfile.TemporaryDirectory() as folder:
        store = ["--db", f"{folder}/a.db"]
        replay = ["--device", "replay:tests/data/small.json", "--quiet", "--max-trials", "8"]
        run, piped = check(*replay, "--sizes", "4096,8192")
        rows = [line for line in run.splitlines() if re.match(r"(4096x4096|8192x8192) +[\d.]+ us .*x  replayed$", line)]
        assert len(rows) == 2 and "\n    transpose_vector  READ_RUN=" in run, run
        assert run.count("\nNext: ") == 1 and run.splitlines()[-1].startswith("Next: "), run
        assert re.search(r"^4096x4096  transpose_vector  .*replayed$", piped, re.M), piped  # one row a line
        wide = on_terminal(*replay, "--sizes", "4096", COLUMNS="120", NO_COLOR="1")
        assert re.search(r"^4096x4096  transpose_vector +[\d.]+ us .*replayed\n    READ_RUN=.*ORDER=1$", wide, re.M), wide
        check("--device", "replay:recordings/h200-2bytes.json", "--quiet", "--sizes", "4096", "--elem-size", "2", "--max-trials", "8")
        on_terminal(*replay, "--sizes", "4096,8192", *store)
        check("list", *store)
        shown, _ = check("show", "--size", "4096", "--gpu", "H200", *store)
        assert re.search(r"^transpose_vector +[\d.]+ us .*\d$", shown, re.M), shown
        check_blocks("show", "--size", "4096", "--gpu", "H200", *store)
        check_blocks("study", *replay, "--sizes", "4096", columns=120)
        doctor, _ = check("doctor", *store)
        assert len(doctor.splitlines()) <= 15, doctor
        assert "templates " in doctor and doctor.splitlines()[-1].startswith("Everything is ready"), doctor
        heading = on_terminal("study", *replay, "--sizes", "4096").splitlines()[0]
        assert len(heading) < 80, heading
    print("ok")


if __name__ == "__main__":
    main()
