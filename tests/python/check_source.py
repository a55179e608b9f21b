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
print("\n".join(wrong) or f"{len(files)} files, {len(public)} names")
sys.exit(bool(wrong))
