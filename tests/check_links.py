#!/usr/bin/env python3
"""check_links.py ROOT: every link of a Markdown file to a file of the tree, and to a heading in it, leads somewhere.

Comments and messages must name pages that exist. Links to other sites are not followed.
"""
import os
import pathlib
import re
import sys
import urllib.parse

SOURCES = (".c", ".h", ".cu", ".cuh", ".py", ".sql", ".build", ".txt", "")
OLD = "tests/data/"  # files of earlier versions
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|\b(?:src|srcset|href)=\"([^\"]+)\"|^\[[^\]]+\]:\s*(\S+)", re.M)


def files(root):
    for folder, folders, names in os.walk(root):
        # sources: other people's files
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")) and f not in ("__pycache__", "sources"))
        for name in sorted(names):
            yield pathlib.Path(folder, name)


def prose(text):
    """The text without code, each line where it was."""
    text = re.sub(r"^(```|~~~).*?^\1", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda m: re.sub(r"\S", "x", m[0]), text)


def anchors(text):
    """The names that GitHub gives to the headings of a page."""
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#+ +(.*?) *#*$", re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while name + (f"-{number}" if number else "") in found:
            number += 1
        found.add(name + (f"-{number}" if number else ""))
    return found


def broken(root, page, text):
    """Yields (line, what is wrong) for the links of a page."""
    text = prose(text)
    for match in LINK.finditer(text):
        link = match[1] or match[2] or match[3]
        if re.match(r"[a-z]+:|//", link):
            continue
        path, _, anchor = urllib.parse.unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        line = text.count("\n", 0, match.start()) + 1
        if not target.is_relative_to(root) or not target.exists():
            yield line, f"{link}: there is no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield line, f"{link}: there is no such heading"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    pages = wrong = 0
    for file in files(root):
        name = file.relative_to(root).as_posix()
        if name.startswith(OLD) or file.suffix not in (*SOURCES, ".md"):
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        found = list(broken(root, file, text)) if file.suffix == ".md" else []
        pages += file.suffix == ".md"
        for match in re.finditer(r"(?<![\w./-])(?:docs|bench|examples|kernel_templates)/[a-z\d/._-]+\.md\b", text):
            if not (root / match[0]).exists() and file.suffix != ".md":
                found.append((text.count("\n", 0, match.start()) + 1, f"{match[0]}: there is no such file"))
        for line, what in found:
            wrong += 1
            print(f"{name}:{line}: {what}")
    print(f"{pages} pages, {wrong} findings")
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
