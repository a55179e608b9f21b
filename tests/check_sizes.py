#!/usr/bin/env python3
"""Checks the source files as text: check_sizes.py SOURCE_ROOT prints each finding as file:line, exits 1 on any.

No file is too long to be read in one go. Each begins with its purpose. None has notes to self, trailing blanks, or a
last line without its end.
"""
import os
import pathlib
import re
import sys

TOO_MANY_LINES = 900
SUFFIXES = (".c", ".h", ".cpp", ".cu", ".py", ".sql")
COMMENT = {".py": ('"""', "#"), ".sql": ("--", "/*")}
NOTE_TO_SELF = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")


def sources(root):
    for folder, folders, names in os.walk(root):
        # sources: other people's files
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")) and f not in ("__pycache__", "sources"))
        for name in sorted(names):
            if name.endswith(SUFFIXES):
                yield pathlib.Path(folder, name)


def findings(text, suffix):
    """Yields (line number, what is wrong)."""
    lines = text.splitlines()
    if len(lines) > TOO_MANY_LINES:
        yield TOO_MANY_LINES, f"{len(lines)} lines: more than {TOO_MANY_LINES} is a file that does too much"
    top = [line for line in lines if line.strip() and not line.startswith("#!")]
    if not top or not top[0].startswith(COMMENT.get(suffix, ("/*", "//"))):
        yield 1, "does not start with a comment that says what the file is for"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield len(lines), "should end with exactly one newline"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "trailing blanks"
        if NOTE_TO_SELF.search(line):
            yield number, "a note to self: do it, or file an issue"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = wrong = 0
    for file in sources(root):
        files += 1
        path = file.relative_to(root).as_posix()
        text = file.read_text(encoding="utf-8")
        for number, what in findings(text, file.suffix):
            wrong += 1
            print(f"{path}:{number}: {what}")
    print(f"{files} files, {wrong} findings")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
