#!/usr/bin/env python3
"""check_exports.py HEADER OLD_HEADER LIBRARY NM: the library exports the functions of the header, and nothing else but
those of the old header, which programs built with it call."""
import re
import subprocess
import sys

header, old_header, library, nm = sys.argv[1:5]


def functions_of(path):
    return set(re.findall(r"^TT_API\s[^;]*?\b(tt_\w+)\(", open(path, encoding="utf-8").read(), re.M))


declared, old = functions_of(header), functions_of(old_header)
lines = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
symbols = [line.split()[-2:] for line in lines.splitlines()]
exported = {name.split("@")[0] for kind, name in symbols if kind != "A"}
unversioned = sorted(name for kind, name in symbols if kind != "A" and "@@TILETUNE_" not in name)
wrong = [f"declared, not exported: {name}" for name in sorted((declared | old) - exported)]
wrong += [f"exported, not declared: {name}" for name in sorted(exported - declared - old)]
wrong += [f"without a version: {name}" for name in unversioned]
print("\n".join(wrong) or f"{len(declared)} functions")
sys.exit(1 if wrong or not declared else 0)
