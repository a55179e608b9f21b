#!/usr/bin/env python3
"""check_install.py BUILD SOURCE CC [CFLAG...]: the project as it is installed.

Installs into an empty folder and works with that alone: pkg-config finds it, a program builds against it, the
library finds its worker, the pages are there. On the CPU stand-ins, of the folder in $HOSTCUDA_DIR.
"""
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, source, compiler, flags = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3].split(), sys.argv[4:]
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
    run(*compiler, *flags, source / "examples/transpose.c", "-o", root / "example", *words, "-ldl")
    run(*compiler, source / "examples/best.c", "-o", root / "best", *words)
    library = one(root, "libtiletune.so.0").parent
    said = run(root / "best", "H200", "4096", LD_LIBRARY_PATH=library, TILETUNE_DB=":memory:", TILETUNE_SYSTEM_DB="")
    assert said.endswith(": exact\n"), said
    said = run(root / "example", "70", "90", root / "example.db", LD_LIBRARY_PATH=f"{library}:{HOST}")
    assert "correct" in said, said


CPP = """#include <tiletune.hpp>
#include <iostream>
int main(int, char **argv) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.gpu = "H200";
    tiletune::context ctx(opts);
    std::cout << tiletune::context(std::move(ctx)).best(tiletune::matrix(4096, 4096)).kernel << "\\n";
    try {
        tiletune::context(opts).best(tiletune::matrix(-1, 1));
    } catch (const tiletune::error &e) {
        std::cout << e.status() << " " << e.what() << "\\n";
    }
    const std::vector<tt_problem> problems(2, tiletune::matrix(4096, 4096));
    tt_tune_opts tune = TT_INIT(tt_tune_opts);
    tt_status status;
    tune.replay = argv[1];
    tune.budget_s = 1e-9;
    const tiletune::report found = tiletune::tune(tiletune::context(), problems, &tune, status);
    std::cout << status << " " << found.size() << " " << found[1].note << "\\n";
    for (int i = 0; i < 2; i++)
        try {
            tune.replay = i ? "none.json" : argv[1];
            i ? tiletune::tune(tiletune::context(), problems, &tune, status) : tiletune::tune(tiletune::context(), problems, &tune);
        } catch (const tiletune::error &e) {
            std::cout << e.status() << " " << e.what() << "\\n";
        }
}
"""


def check_cpp(root):
    """The header for C++, as every standard from C++11 on."""
    if not shutil.which("c++"):
        return print("check_cpp: there is no c++")
    (root / "main.cpp").write_text(CPP, encoding="utf-8")
    library, include = one(root, "libtiletune.so.0").parent, one(root, "tiletune.hpp").parent
    words = "-Wall", "-Wextra", "-Wpedantic", "-Werror", root / "main.cpp", f"-I{include}"
    for standard in ("11", "14", "17"):
        run("c++", f"-std=c++{standard}", "-fsyntax-only", *words)
    run("c++", "-std=c++20", *words, f"-L{library}", "-ltiletune", "-o", root / "cpp")
    said = run(root / "cpp", source / "recordings/h200.json", LD_LIBRARY_PATH=library, TILETUNE_DB=":memory:", TILETUNE_SYSTEM_DB="")
    assert said.startswith("transpose_vector\n1 -1 x 1: rows and cols"), said
    assert "\n3 2 the budget of 1e-09 s was over before a configuration could be tried: allow more\n" in said, said
    assert "\n3 2 of 2 problems have no winner\n" in said and "none.json" in said.splitlines()[-1], said


CMAKE = """cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(tiletune 0.2 CONFIG REQUIRED)
add_executable(best best.c)
target_link_libraries(best tiletune::tiletune)
add_executable(launch best.c)
target_link_libraries(launch tiletune::launch)
"""


def check_cmake(root):
    """find_package(tiletune CONFIG), for either library."""
    if not shutil.which("cmake"):
        return print("check_cmake: there is no cmake")
    folder = root / "cmake-user"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(CMAKE, encoding="utf-8")
    shutil.copy(source / "examples/best.c", folder)
    run("cmake", "-S", folder, "-B", folder / "b", f"-Dtiletune_DIR={one(root, 'tiletune-config.cmake').parent}")
    run("cmake", "--build", folder / "b")
    for name in ("best", "launch"):
        said = run(folder / "b" / name, "H200", "4096", TILETUNE_DB=":memory:", TILETUNE_SYSTEM_DB="")
        assert said.endswith(": exact\n"), said


WORKER = """#include <tiletune.h>
#include <stdio.h>
int main(void) {
    tt_ctx *ctx;
    tt_report *report;
    tt_problem problem = TT_INIT(tt_problem);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    problem.rows = problem.cols = 33;
    problem.elem_size = 4;
    opts.max_trials = 1;
    if (tt_open(&ctx, NULL) == TT_OK && tt_tune(&report, ctx, &problem, 1, &opts) == TT_OK)
        return 0;
    fprintf(stderr, "%s\\n", tt_last_error());
    return 1;
}
"""


def check_worker(root):
    """From the library's own folder to libexec, however deep the former is."""
    (root / "worker.c").write_text(WORKER, encoding="utf-8")
    library = one(root, "libtiletune.so.0")
    run(*compiler, root / "worker.c", f"-I{one(root, 'tiletune.h').parent}", library, "-o", root / "worker")
    run(root / "worker", LD_LIBRARY_PATH=f"{library.parent}:{HOST}", TILETUNE_DB=str(root / "tuned.db"))
    best = json.loads(run(one(root, "bin/tune"), "best", "--size", "33", "--db", root / "tuned.db", "--json",
                          LD_LIBRARY_PATH=HOST))
    assert best["match"] == "exact", best


def check_doctor(root):
    said = json.loads(run(one(root, "bin/tune"), "doctor", "--json", "--db", ":memory:", LD_LIBRARY_PATH=HOST))
    worker = [f for f in said["findings"] if f["name"] == "worker"][0]
    assert worker["state"] == "ok" and worker["text"].startswith(os.path.realpath(root)), worker


def has_nvrtc():
    """Where the library looks before its own folders; not among the stand-ins."""
    program = ("import ctypes\nfor folder in ('', '/usr/local/cuda/lib64/'):\n"
               "    for end in ('.13', '.12', ''):\n"
               "        try: ctypes.CDLL(folder + 'libnvrtc.so' + end); print('there')\n"
               "        except OSError: pass")
    return "there" in run(sys.executable, "-c", program, LD_LIBRARY_PATH="")


def check_nvrtc(root):
    """The installed copy. tests/install/fresh_system has it where there is no other."""
    if has_nvrtc():
        print("this machine has an NVRTC of its own")
        return
    copy = root / "copy"
    (copy / "lib").mkdir(parents=True)
    (copy / "libexec/tiletune").mkdir(parents=True)
    shutil.copy(one(root, "bin/tune"), copy / "lib/tune")
    shutil.copy(pathlib.Path(HOST, "libnvrtc.so"), copy / "libexec/tiletune/libnvrtc.so.13")
    environment = {"PATH": os.environ["PATH"], "HOME": str(root)}
    said = subprocess.run([copy / "lib/tune", "doctor", "--json", "--db", ":memory:"], env=environment,
                          capture_output=True, text=True).stdout
    text = [f for f in json.loads(said)["findings"] if f["name"] == "NVRTC"][0]["text"]
    assert text.startswith(os.path.realpath(copy)), text


def after_install(folder, *, uid, listed, cached, package, **env):
    """The output of scripts/after_install, with stand-ins for the programs it calls. The calls of ldconfig
    come last."""
    scripts = {
        "id": f"echo {uid}",
        "ldconfig": f'case "$1" in -p) [ -z "{cached}" ] || echo "libtiletune.so.0 (libc6) => /l/libtiletune.so.0";;'
                    f' -vN) echo "{listed}: (from x)";; "") echo called;; esac',
        "pkg-config": f"exit {package}",
    }
    for name, body in scripts.items():
        path = pathlib.Path(folder, name)
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
    return run(source / "scripts/after_install", "/l", PATH=f"{folder}:{os.environ['PATH']}", **env)


def check_after_install(root):
    folder = root / "stand-ins"
    folder.mkdir()
    path, linker, refresh = "PKG_CONFIG_PATH=/l/pkgconfig", "LD_LIBRARY_PATH=/l", "sudo ldconfig"
    cases = [  # uid, is /l listed, is the library in the cache, pkg-config's answer: what is said, what is not
        ((0, "/l", 1, 0), ["called"], [path, linker, refresh]),
        ((1000, "/l", "", 0), [refresh], ["called", path, linker]),
        ((1000, "/l", 1, 0), [], ["called", path, linker, refresh]),
        ((0, "/other", "", 1), [path, linker], ["called", refresh]),
    ]
    for (uid, listed, cached, package), there, missing in cases:
        said = after_install(folder, uid=uid, listed=listed, cached=cached, package=package)
        assert all(t in said for t in there) and not any(t in said for t in missing), (uid, listed, said)
    assert after_install(folder, uid=0, listed="/l", cached="", package=1, DESTDIR="/tmp/x") == ""


def check_import(root):
    """The script that tune becomes is found from there, too."""
    said = run(one(root, "bin/tune"), "import-t1", source / "tests/data/t1/threes.json")
    assert "//@ kernel   threes\n" in said, said


def check_pages(root):
    tune = one(root, "bin/tune")
    listed = run(tune, "--help").split("Commands:\n")[1].split("\n\n")[0].splitlines()
    commands = [line.split()[0] for line in listed if line.startswith("  ")]
    for command in commands:
        if command != "help":
            one(root, f"man1/tune-{command}.1")
    pages = {path.name for path in one(root, "man1/tune.1").parent.iterdir()}
    extra = pages - {f"tune-{command}.1" for command in commands} - {"tune.1"}
    assert not extra, extra
    for name in ("bash-completion/completions/tune.bash", "site-functions/_tune", "vendor_completions.d/tune.fish"):
        assert one(root, name).stat().st_size > 500
    one(root, "include/tiletune.h")


def check_data(root):
    """Pages and examples keep their places to each other, so that links stay right. Recordings can be searched."""
    home = one(root, "doc/tiletune/README.md").parent
    for name in ("CHANGELOG.md", "LICENSE", "docs/guide.md", "docs/img/search-light.svg", "examples/overlap.c",
                 "examples/kernels/saxpy.cu"):
        assert (home / name).is_file(), name
    assert not list(home.glob("**/__pycache__"))
    recordings = {path.name for path in one(root, "recordings/h200.json.gz").parent.iterdir()}
    assert recordings == {path.name.removesuffix(".gz") + ".gz" for path in (source / "recordings").iterdir()
                          if path.suffix != ".rules"}, recordings
    said = run(one(root, "bin/tune"), "--device", f"replay:{one(root, 'recordings/h200.json.gz')}", "--sizes", "4096",
               "--quiet", TILETUNE_DB=":memory:", TILETUNE_SYSTEM_DB="")
    assert "transpose_vector" in said, said


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root)
        for check in (check_program, check_cpp, check_cmake, check_worker, check_doctor, check_nvrtc, check_after_install, check_import, check_pages,
                      check_data):
            check(root)
            print(check.__name__, "ok")


if __name__ == "__main__":
    main()
