#!/usr/bin/env python3
"""check_source.py ROOT: the Python package is Python 3.9, its wheel has every file of it, and its docstrings are there.

Needs nothing from the package index. check_wheel.py does the rest.
"""
import ast
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]) / "python"
package = root / "tiletune"
wrong = []
listed = set(re.findall(r"'tiletune/([\w.]+)'", (root / "meson.build").read_text(encoding="utf-8")))
files = {path.name for path in package.iterdir() if path.is_file()}
wrong += [f"python/meson.build does not install {name}" for name in sorted(files - listed)]
wrong += [f"python/meson.build installs {name}, which is not there" for name in sorted(listed - files)]
public = ast.literal_eval(re.search(r"__all__ = (\[.*?\])", (package / "__init__.py").read_text(encoding="utf-8"), re.S)[1])
defined = {}
for path in sorted(package.glob("*.py")):
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))
    defined.update({node.name: ast.get_docstring(node) for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))
                    and not node.name.startswith("_") and (node.name not in defined or path.name != "_torch.py")})
wrong += [f"{name} has no docstring, or is not defined" for name in public if not defined.get(name)]
# A class has each member of its struct, but for those that its `problem` says.
header = re.sub(r"/\*.*?\*/", "", (root.parent / "include/tiletune.h").read_text(encoding="utf-8"), flags=re.S)
for name, file, said in (("Result", "_results", set()), ("Choice", "_results", {"size", "rows", "cols"}), ("Progress", "_progress", {"text", "rows", "cols"})):
    struct = re.search(r"typedef struct tt_\w+ \{([^}]*)\} tt_%s;" % name.lower(), header)[1]
    members = {re.findall(r"\w+", re.sub(r"\[\d+\]", "", part))[-1] for part in re.split("[,;]", struct) if part.strip()}
    tree = ast.parse((package / f"{file}.py").read_text(encoding="utf-8"))
    kept = next({item.target.id for item in node.body if isinstance(item, ast.AnnAssign)} for node in tree.body
                if isinstance(node, ast.ClassDef) and node.name == name)
    wrong += [f"{name} lacks {member} of tt_{name.lower()}" for member in sorted(members - kept - said)]
print("\n".join(wrong) or f"{len(files)} files, {len(public)} names")
sys.exit(bool(wrong))
