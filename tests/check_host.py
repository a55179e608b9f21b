#!/usr/bin/env python3
"""check_host.py ROOT: prints each place that lets the host decide what it should not.

Numbers and letters do not depend on its locale: they go through base/str.h. The program `tune` sets no
locale, so that tuner/cli may print. The environment of a set-uid program is its caller's: secure_getenv.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
CALLS = re.compile(r"\b(strto[dfl]d?|atof|v[sf]?n?printf|vasprintf|asprintf|sprintf|is(?:alnum|alpha|lower|upper|space|print)|"
                   r"to(?:lower|upper)|strn?casecmp|strcasestr|setlocale|getenv)\s*\(")
ALLOWED = {"strtol"}
PRINTS = re.compile(r"\b(?:snprintf|fprintf|printf)\s*\(((?:[^;\"]|\"(?:[^\"\\]|\\.)*\")*);")
FLOAT = re.compile(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?l?[aefgAEFG]")
wrong = 0
for folder in ("src", "db", "tuner"):
    for path in sorted((root / folder).rglob("*.[ch]")):
        name = path.relative_to(root).as_posix()
        text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), path.read_text(encoding="utf-8"), flags=re.S)
        text = re.sub(r"//.*", "", text) if path.suffix == ".cu" else text
        found = [m for m in CALLS.finditer(text) if m[1] not in ALLOWED]
        if name == "src/base/str.c":  # in the locale "C"
            found = [m for m in found if m[1] not in ("strtod", "vsnprintf")]
        found += [m for m in PRINTS.finditer(text) if FLOAT.search(m[1])]
        if name.startswith("tuner/cli/"):
            found = [m for m in found if m[0].startswith(("strtod", "atof", "setlocale", "getenv"))]
        for m in sorted(found, key=lambda m: m.start()):
            print(f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {m[0].split('(')[0]}: {'secure_getenv' if m[0].startswith('getenv') else 'see base/str.h'}")
            wrong += 1
sys.exit(wrong > 0)
