#!/usr/bin/env python3
"""Embeds text files into one C file, as an array of {name, text} records sorted by name.

    embed.py OUT.c --header db/conn.h --type tt__migration --array tt__migrations \
             --count tt__n_migrations db/schema/*.sql

gives, for a struct whose first two members are `const char *`:

    const tt__migration tt__migrations[] = {{"001-initial.sql", text_0}, ...};
    const size_t tt__n_migrations = 1;

With --hash the third member, a `const char *` too, is the SHA-256 of the text.
A line `#include "NAME.cuh"` is replaced by that file beside it: a text stands for itself.
Texts are string literals, which compile ten times as fast as arrays of numbers. Strict C11 allows 4095 bytes in one, compilers any.
"""
import argparse
import hashlib
import os
import re
import sys


def literal(data):
    """The bytes as C strings, one a line. A `?` is escaped, because C11 has trigraphs."""
    special = {**{b: "\\%03o" % b for b in range(256) if not 32 <= b < 127}, 10: "\\n", **{ord(c): "\\" + c for c in '"\\?'}}
    return "\n".join(f'    "{line.decode("latin-1").translate(special)}"' for line in data.splitlines(keepends=True) or [b""])


def expand(path, data):
    """Replaces each `#include "NAME.cuh"` by the text of that file, recursively."""
    lines = []
    for line in data.split(b"\n"):
        match = re.fullmatch(rb'#include "([\w./]+\.cuh)"', line)
        if match:
            beside = os.path.join(os.path.dirname(path), match.group(1).decode())
            with open(beside, "rb") as f:
                lines.append(expand(beside, f.read()).rstrip(b"\n"))
        else:
            lines.append(line)
    return b"\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Embed text files into a C file.")
    parser.add_argument("out")
    parser.add_argument("--header", required=True, help="declares the type, the array and the count")
    parser.add_argument("--type", required=True)
    parser.add_argument("--array", required=True)
    parser.add_argument("--count", required=True)
    parser.add_argument("--hash", action="store_true")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()

    files = sorted(args.files, key=os.path.basename)
    names = [os.path.basename(f) for f in files]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"embed.py: two files are named {name}")
        if any(c in name for c in '"\\\n'):
            sys.exit(f"embed.py: {name!r}: this name cannot be written in C as it is")

    parts = ["/* Made by scripts/embed.py: edit the files it was made from. */", f'#include "{args.header}"', "",
             '#pragma GCC diagnostic ignored "-Woverlength-strings"', ""]
    hashes = []
    for i, path in enumerate(files):
        with open(path, "rb") as f:
            data = expand(path, f.read())
        if b"\0" in data:
            sys.exit(f"embed.py: {path}: not a text file (NUL at offset {data.index(0)})")
        hashes.append(f', "{hashlib.sha256(data).hexdigest()}"' if args.hash else "")
        parts += [f"static const char text_{i}[] =", literal(data) + ";", ""]
    records = "\n".join(f'    {{"{name}", text_{i}{hashes[i]}}},' for i, name in enumerate(names))
    parts += [f"const {args.type} {args.array}[] = {{", records, "};",
              f"const size_t {args.count} = {len(files)};", ""]
    text = "\n".join(parts)
    with open(args.out, "w", encoding="ascii") as f:
        f.write(text)


if __name__ == "__main__":
    main()
