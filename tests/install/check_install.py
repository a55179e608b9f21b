#!/usr/bin/env python3
"""check_install.py BUILD SOURCE CC [CFLAG...]: the project as it is installed.

Installs into an empty folder and works with that alone: pkg-config finds it, a program builds against it, the
library finds its worker, the pages are there. On the CPU stand-ins, of the folder in $HOSTCUDA_DIR.
"""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

build, source, compiler, flags = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
HOST = os.environ["HOSTCUDA_DIR"]


def run(*command, **env):
    environment = {k: v for k, v in os.environ.items() if k != "TILETUNE_WORKER"} | env
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}exit {done.returncode}")
    return done.stdout


def one(root, pattern):
    found = glob.glob(str(root) + "/**/" + pattern, recursive=True)
    if len(found) != 1:
        sys.exit(f"{pattern}: expected one file, found {found}")
    return pathlib.Path(found[0])


def check_program(root):
    """examples/transpose.c with nothing but what pkg-config says (and CUDA's header)."""
    folder = one(root, "tiletune.pc").parent
    config = {"PKG_CONFIG_PATH": str(folder), "PKG_CONFIG_SYSROOT_DIR": str(root)}
    words = run("pkg-config", "--cflags", "--libs", "tiletune", **config).split()
    run(compiler, *flags, source / "examples/transpose.c", "-o", root / "example", *words, "-ldl")
    library = one(root, "libtiletune.so.0").parent
    said = run(root / "example", "70", "90", root / "example.db", LD_LIBRARY_PATH=f"{library}:{HOST}")
    assert "correct" in said, said


def check_worker(root):
    """From the library's own folder to libexec, however deep the former is."""
    library = one(root, "libtiletune.so.0")
    program = ("import sys; sys.path.insert(0, sys.argv[1]); import tiletune_torch as t, ctypes as c\n"
               "cu = c.CDLL('libcuda.so.1'); ctx = c.c_void_p()\n"
               "assert not (cu.cuInit(0) or cu.cuDevicePrimaryCtxRetain(c.byref(ctx), 0) or cu.cuCtxSetCurrent(ctx))\n"
               "a = (c.c_uint64(), c.c_uint64())\n"
               "for p in a: assert not cu.cuMemAlloc_v2(c.byref(p), c.c_size_t(8192))\n"
               "tt = t.Tiletune(sys.argv[3], 200, sys.argv[2])\n"
               "tt.launch(a[0].value, a[1].value, None, 33, 33, 4); tt.close()\n")
    run(sys.executable, "-c", program, source / "examples", library, root / "tuned.db", LD_LIBRARY_PATH=HOST)
    best = json.loads(run(one(root, "bin/tune"), "best", "--size", "33", "--db", root / "tuned.db", "--json",
                          LD_LIBRARY_PATH=HOST))
    assert best["match"] == "exact", best


def check_doctor(root):
    said = json.loads(run(one(root, "bin/tune"), "doctor", "--json", "--db", ":memory:", LD_LIBRARY_PATH=HOST))
    worker = [f for f in said["findings"] if f["name"] == "worker"][0]
    assert worker["state"] == "ok" and worker["text"].startswith(os.path.realpath(root)), worker


def check_import(root):
    """The script that tune becomes is found from there, too."""
    said = run(one(root, "bin/tune"), "import-t1", source / "tests/data/t1/threes.json")
    assert "//@ kernel   threes\n" in said, said


def check_pages(root):
    tune = one(root, "bin/tune")
    listed = run(tune, "--help").split("Commands:\n")[1].split("\n\n")[0].splitlines()
    commands = [line.split()[0] for line in listed]
    for command in commands:
        if command != "help":
            one(root, f"man1/tune-{command}.1")
    pages = {path.name for path in one(root, "man1/tune.1").parent.iterdir()}
    extra = pages - {f"tune-{command}.1" for command in commands} - {"tune.1"}
    assert not extra, extra
    for name in ("bash-completion/completions/tune.bash", "site-functions/_tune", "vendor_completions.d/tune.fish"):
        assert one(root, name).stat().st_size > 500
    one(root, "include/tiletune.h")


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root)
        for check in (check_program, check_worker, check_doctor, check_import, check_pages):
            check(root)
            print(check.__name__, "ok")


if __name__ == "__main__":
    main()
