#!/usr/bin/env python3
"""check_wheel.py SOURCE FOLDER wheel|others|torch: builds the wheel, and uses it as a user does, on the CPU stand-in.

`wheel` uses this Python, `others` uses each Python that is here and a fresh Debian, and `torch` uses PyTorch. Packages come from
the package index into virtual environments in FOLDER, which later runs use again. The test is skipped (exit code 77) without the
index. `wheel` is also skipped without TT_LONG=1, and the others without TT_WORLD=1.
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
what = sys.argv[3]
SKIPPED, SIZE_MAX = 77, 8 << 20  # 3.9 MB of it are cubins for shapes that nobody has tuned
USER = ("pip>=24", "numpy", "pandas", "cffi", "mypy", "nvidia-cuda-nvrtc==13.0.*")
TORCH = ("pip>=24", "numpy", "cffi", "torch==2.11.0")
OTHERS = "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"
HERE = pathlib.Path(__file__).parent


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(*command, cwd=None, **env):
    """Its output. `env` adds to the environment; what the test was given for the stand-in is left out otherwise."""
    plain = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "TILETUNE_NVRTC", "TILETUNE_WORKER")}
    done = subprocess.run([str(word) for word in command], env=plain | env, capture_output=True, text=True, cwd=cwd)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}exit {done.returncode}")
    return done.stdout


def environment(name, packages, python=sys.executable, seconds=240):
    """A virtual environment with these packages. A file says that it is whole."""
    venv = folder / name
    whole = venv / "whole"
    if not whole.exists() or whole.read_text() != " ".join(packages):
        for command in ([python, "-m", "venv", "--clear", venv],
                        [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                         "--prefer-binary", "--no-compile", "--timeout=10", "--retries=0", *packages]):
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
            except (OSError, subprocess.TimeoutExpired) as error:
                skip(error)
            if done.returncode:
                skip(f"{' '.join(packages)} cannot be had: {done.stderr.strip()[-500:]}")
        whole.write_text(" ".join(packages))
    return venv / "bin"


def install(programs, wheel):
    run(programs / "python", "-m", "pip", "uninstall", "-q", "-y", "tiletune")
    run(programs / "python", "-m", "pip", "install", "-q", "--no-index", wheel)  # cffi is there


def build(*architecture):
    """The wheel, as auditwheel names it; of an architecture for glibc 2.28."""
    done = subprocess.run([source / "scripts/wheel", folder, *architecture], capture_output=True, text=True)
    if done.returncode == SKIPPED:
        skip(done.stderr)
    assert done.returncode == 0, done.stderr
    wheel = pathlib.Path(done.stdout.splitlines()[-1])
    assert ("-cp39-abi3-manylinux_2_28_" if architecture else "-cp39-abi3-manylinux_") in wheel.name, wheel
    assert wheel.stat().st_size <= SIZE_MAX, f"{wheel.name}: {wheel.stat().st_size} bytes, at most {SIZE_MAX}"
    names = zipfile.ZipFile(wheel).namelist()
    grafted = [name for name in names if ".libs/" in name]
    assert not grafted, f"auditwheel has added {grafted}"
    for name in names:
        if name.endswith(("tune", "worker", ".so", ".so.0")):
            content = zipfile.ZipFile(wheel).read(name)
            here = [path for path in (source, folder, pathlib.Path(sys.base_prefix)) if len(path.parts) > 2 and bytes(path) in content]
            assert not here, f"{name} has {here} in it"
    missing = {p.name for p in (source / "python/tiletune").iterdir() if p.suffix in (".py", ".pyi", ".typed")} - \
        {pathlib.PurePath(name).name for name in names}
    assert not missing, f"the wheel lacks {sorted(missing)}"
    if architecture:
        check_symbols(wheel)
    print(f"{wheel.name}: {wheel.stat().st_size} bytes")
    return wheel


def check_symbols(wheel):
    """Programs and libraries need no newer C library than the wheel's name says."""
    newest = {}
    with tempfile.TemporaryDirectory() as work:
        zipfile.ZipFile(wheel).extractall(work)
        for path in pathlib.Path(work).rglob("*"):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", path))
                newest[path.name] = max((int(major), int(minor)) for major, minor in versions)
    assert len(newest) >= 4 and max(newest.values()) <= (2, 28), newest
    print("needs glibc", ".".join(map(str, max(newest.values()))))


CMAKE = """cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(tiletune 0.2 CONFIG REQUIRED)
add_executable(best best.c)
target_link_libraries(best tiletune::tiletune)
"""


def check_arrays(programs, work):
    print(run(programs / "python", HERE / "check_arrays.py", source / "examples/kernels", cwd=work, HOME=work,
              LD_LIBRARY_PATH=os.environ["HOSTCUDA_DIR"], TILETUNE_NVRTC=os.environ["HOSTCUDA_DIR"] + "/libnvrtc.so"))


def check_user(wheel):
    programs = environment("user", USER)
    install(programs, wheel)
    with tempfile.TemporaryDirectory() as work:
        check_arrays(programs, work)
        # NVRTC of the optional extra, the worker of the package, and the program.
        said = json.loads(subprocess.run([programs / "tune", "doctor", "--json", "--db", ":memory:"], capture_output=True,
                                         text=True, env={"PATH": os.environ["PATH"]}).stdout)
        found = {f["name"]: f["text"] for f in said["findings"]}
        assert "/../../nvidia/" in found["NVRTC"] and "site-packages/tiletune/" in found["worker"], found
        for command in ([programs / "tune"], [programs / "tiletune"], [programs / "python", "-m", "tiletune"]):
            assert run(*command, "best", "--size", "4096", "--gpu", "H200", "--db", ":memory:").split()[:2] == ["problem", "4096x4096"], command
        print(run(programs / "python", source / "scripts/notebook.py", source / "examples/python.ipynb", "--check", HOME=work,
                  LD_LIBRARY_PATH=os.environ["HOSTCUDA_DIR"], TILETUNE_NVRTC=os.environ["HOSTCUDA_DIR"] + "/libnvrtc.so"))
        said = run(programs / "tune", "check", source / "examples/kernels/saxpy.cu")  # compiles
        assert "registers" in said, said
        check_cmake(programs, pathlib.Path(work))
        run(programs / "mypy", "--ignore-missing-imports", "--cache-dir", work, "-p", "tiletune")


def check_cmake(programs, work):
    if not shutil.which("cmake"):
        return print("there is no cmake")
    (work / "CMakeLists.txt").write_text(CMAKE, encoding="utf-8")
    shutil.copy(source / "examples/best.c", work)
    found = run(programs / "python", "-c", "import tiletune; print(tiletune.get_cmake_dir())").strip()
    run("cmake", "-S", work, "-B", work / "b", f"-Dtiletune_DIR={found}")
    run("cmake", "--build", work / "b")
    said = run(work / "b/best", "H200", "4096", TILETUNE_DB=":memory:", TILETUNE_SYSTEM_DB="")
    assert said.endswith(": exact\n"), said


def check_others(wheel):
    """The same file in each Python that is here."""
    for version in OTHERS:
        here = glob.glob(f"{os.environ.get('PYENV_ROOT', '/nonexistent')}/versions/{version}.*/bin/python")
        python = here[0] if here else shutil.which(f"python{version}")
        if python and not subprocess.run([python, "-c", ""], capture_output=True).returncode:
            programs = environment(f"python{version}", ("pip>=24", "cffi"), python)
            install(programs, wheel)
            print(run(programs / "python", HERE / "replays.py", HERE.parent / "data/small.json").strip())


def check_fresh_system(wheel):
    """Its store is what check_arrays.py has tuned here."""
    programs = environment("user", USER)
    install(programs, wheel)
    with tempfile.TemporaryDirectory() as work:
        check_arrays(programs, work)
        run(programs / "tune", "vacuum", "--db", pathlib.Path(work, "python.db"))  # what its processes left in the log
        for release in ("bookworm",), ("bullseye",), ("sid", "python3.14"):
            fresh = subprocess.run([HERE / "fresh_debian", wheel, pathlib.Path(work, "python.db"), os.environ["HOSTCUDA_DIR"], *release],
                                   text=True, stdout=subprocess.PIPE, env=os.environ | {"LD_LIBRARY_PATH": ""})
            print(fresh.stdout)
            assert fresh.returncode in (0, SKIPPED), fresh


def check_torch():
    programs = environment("torch", TORCH)  # meanwhile the other test builds
    install(programs, build())
    with tempfile.TemporaryDirectory() as work:
        print(run(programs / "python", HERE / "check_torch.py", cwd=work, HOME=work,
                  LD_LIBRARY_PATH=os.environ["HOSTCUDA_DIR"], TILETUNE_NVRTC=os.environ["HOSTCUDA_DIR"] + "/libnvrtc.so"))


needed = "TT_LONG" if what == "wheel" else "TT_WORLD"
if os.environ.get(needed) != "1":
    skip(f"only with {needed}=1")
folder.mkdir(parents=True, exist_ok=True)
if what == "torch":
    check_torch()
elif what == "others":
    made = build("x86_64") if os.uname().machine == "x86_64" else build()
    check_others(made)
    check_fresh_system(made)
else:
    check_user(build())
