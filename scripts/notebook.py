#!/usr/bin/env python3
"""Runs the cells of a notebook in one process, without Jupyter.

    notebook.py FILE.ipynb [OUT.ipynb]   puts what they show into FILE.ipynb, or into another file
    notebook.py FILE.ipynb --check       changes nothing. Exits 1 if a cell fails, or shows nothing where the file does, or
                                         the other way round. Cells with the tag "torch" are left out without PyTorch

Cells run in the folder of the notebook. A cell shows what it prints, and the value of its last line.
"""
import ast
import contextlib
import io
import json
import os
import pathlib
import sys
import traceback


def run(code, names):
    """What a cell shows: (what it prints, its value or None)."""
    tree, printed, value = ast.parse(code), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return printed.getvalue(), value


def outputs(printed, value, count):
    found = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        found.append({"data": {"text/plain": repr(value).splitlines(keepends=True)}, "execution_count": count,
                      "metadata": {}, "output_type": "execute_result"})
    return found


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    check = "--check" in sys.argv[1:]
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    path, out = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[-1]).resolve()
    notebook = json.loads(path.read_text(encoding="utf-8"))
    os.chdir(path.parent)
    try:
        import torch  # noqa: F401
        has_torch = True
    except ImportError:
        has_torch = False
    names, count, left_out = {"__name__": "__main__"}, 0, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        code = "".join(cell["source"])
        if check and not has_torch and "torch" in cell["metadata"].get("tags", []):
            compile(code, "cell", "exec")
            left_out += 1
            continue
        try:
            shown = outputs(*run(code, names), count)
        except Exception:
            sys.exit(f"{path.name}, cell {count}:\n{code}\n\n{traceback.format_exc()}")
        if check and [o["output_type"] for o in shown] != [o["output_type"] for o in cell["outputs"]]:
            sys.exit(f"{path.name}, cell {count} shows something else:\n{code}\n\n{shown}\n\nin place of\n\n{cell['outputs']}")
        cell["outputs"], cell["execution_count"] = shown, count
    if not check:
        out.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{count} cells" + (f", {left_out} of them left out without PyTorch" if left_out else ""))


if __name__ == "__main__":
    main()
