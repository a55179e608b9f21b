#!/usr/bin/env python3
"""check_consumers.py SOURCE [SETUP_OPTION...]: a Meson project that has this one as a subproject, and a static program.

Only with TT_LONG=1: it builds the library once more.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

source, options = pathlib.Path(sys.argv[1]).resolve(), [f"-Dtiletune:{o}" for o in sys.argv[2:]]
if os.environ.get("TT_LONG") != "1":
    print("skipped: only with TT_LONG=1")
    sys.exit(77)
PROJECT = """project('user', 'c', default_options: ['c_std=c11', 'default_library=both'])
tiletune = dependency('tiletune', fallback: 'tiletune', default_options: ['tests=false', 'default_library=both'])
executable('best', 'best.c', dependencies: tiletune)
"""
ENVIRONMENT = os.environ | {"TILETUNE_DB": ":memory:", "TILETUNE_SYSTEM_DB": ""}


def run(*command, cwd):
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}exit {done.returncode}")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    (root / "meson.build").write_text(PROJECT, encoding="utf-8")
    (root / "best.c").write_bytes((source / "examples/best.c").read_bytes())
    (root / "subprojects").mkdir()
    (root / "subprojects/tiletune").symlink_to(source)
    run("meson", "setup", "--force-fallback-for=tiletune", *options, "build", cwd=root)
    run("ninja", "-C", "build", "best", "subprojects/tiletune/libtiletune.a", cwd=root)
    assert run(root / "build/best", "H200", "4096", cwd=root).endswith(": exact\n")
    archive = root / "build/subprojects/tiletune/libtiletune.a"
    libraries = [f"-l{name}" for name in ("sqlite3", "md", "z", "pthread", "dl", "m")]
    run("cc", f"-I{source}/include", "best.c", archive, *libraries, "-o", "static", cwd=root)
    assert run(root / "static", "H200", "4096", cwd=root).endswith(": exact\n")
    assert "libtiletune" not in run("ldd", "static", cwd=root)
print("subproject, static")
