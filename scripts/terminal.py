#!/usr/bin/env python3
"""Draws what the README's first command on a recording prints in a terminal: docs/img/terminal-light.svg and -dark.svg.

    terminal.py TUNE            runs it and writes both; TUNE is the program, build/tune
    terminal.py TUNE --check    writes nothing, exits 1 if a picture shows something else

Run it when recordings/ or the built-in templates have changed.
"""
import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

from pictures import IMAGES, ROOT, THEMES

COLUMNS = 100
CHARACTER, LINE, MARGIN = 8.0, 19, 18  # of 13 px text
COLOURS = {"31": "red", "32": "green", "33": "orange", "34": "blue", "35": "purple", "36": "blue"}
COMMAND = re.compile(r"^build/tune (--device replay:[^#\n]*?) *(?:#.*)?$", re.M)


def output(tune, arguments):
    """What the command prints on a terminal of COLUMNS. Progress on standard error is left out."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    command = [os.path.abspath(tune), *arguments.split()]
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                          env={**plain, "TERM": "xterm-256color"}) as process:
        os.close(slave)
        text = b""
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except OSError:  # the other end is closed
            pass
        errors = process.stderr.read().decode()
    os.close(master)
    if process.returncode:
        sys.exit(f"terminal.py: {' '.join(command)}\n{errors}")
    return text.decode().replace("\r\n", "\n").rstrip("\n").split("\n")


def spans(line):
    """(column, text, colour or None, bold) of the parts of a line."""
    column, colour, bold = 0, None, False
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if part.startswith("\x1b"):
            for code in part[2:-1].split(";"):
                bold, colour = (False, None) if code in ("", "0") else (bold or code == "1", COLOURS.get(code, colour))
        elif part:
            yield column, part, colour, bold
            column += len(part)


def drawn(theme, lines):
    width, height = 2 * MARGIN + CHARACTER * COLUMNS, 2 * MARGIN + LINE * len(lines)
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
           'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13" role="img">',
           f"<title>{html.escape(re.sub(chr(27) + r'[^m]*m', '', lines[0]))}</title>",
           f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="8" fill="{theme["back"]}" stroke="{theme["grid"]}"/>']
    for at, line in enumerate(lines):
        for column, text, colour, bold in spans(line):
            shown = text.rstrip(" ")
            column, shown = column + len(shown) - len(shown.lstrip(" ")), shown.lstrip(" ")
            if shown:
                svg.append(f'<text x="{MARGIN + CHARACTER * column:g}" y="{MARGIN + LINE * at + 13}" xml:space="preserve" '
                           f'textLength="{CHARACTER * len(shown):g}" fill="{theme[colour or "text"]}"'
                           f'{" font-weight=" + chr(34) + "bold" + chr(34) if bold else ""}>{html.escape(shown, quote=False)}</text>')
    return "\n".join(svg + ["</svg>"]) + "\n"


def without_time(svg):
    return re.sub(r' in [^ ,]+ s\.|textLength="[\d.]+"', "", svg)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    command = COMMAND.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if not command:
        sys.exit("terminal.py: README.md has no line `build/tune --device replay:...`")
    lines = [f"\x1b[32m$\x1b[0m build/tune {command[1]}", *output(arguments[0], command[1])]
    for name, theme in THEMES.items():
        path = IMAGES / f"terminal-{name}.svg"
        now = drawn(theme, lines)
        was = path.read_text(encoding="utf-8") if path.exists() else ""
        if without_time(now) == without_time(was):
            continue
        if "--check" in sys.argv[1:]:
            sys.exit(f"{path.relative_to(ROOT)} does not show what the command prints now: run scripts/terminal.py build/tune\n\n"
                     + "\n".join(lines))
        path.write_text(now, encoding="utf-8")


if __name__ == "__main__":
    main()
