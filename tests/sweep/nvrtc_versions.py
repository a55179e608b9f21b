#!/usr/bin/env python3
"""nvrtc_versions.py TEST_NVRTC TEST_CUBIN ROOT FOLDER: NVRTC 12.2 and 12.8 compile the built-in templates and all examples, for
every architecture that they know, and what they compile is read. CUB can be compiled by NVRTC from 12.3 on.

NVIDIA's wheels come from the package index into FOLDER, which later runs use again. Without the index, or without
TT_WORLD=1, the test is skipped (exit code 77).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

test, test_cubin, root, folder = *sys.argv[1:3], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
SKIPPED = 77
# The wheel of CCCL 12.2 lacks half of its headers. That of nvcc has what <mma.h> includes.
VERSIONS = {version: [f"nvidia-cuda-nvrtc-cu12=={version}.*", f"nvidia-cuda-runtime-cu12=={version}.*",
                      f"nvidia-cuda-nvcc-cu12=={version}.*", f"nvidia-cuda-cccl-cu12=={cccl}.*"]
            for version, cccl in (("12.2", "12.3"), ("12.8", "12.8"))}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def fetch(version, packages):
    """Headers and libraries of the packages in FOLDER/VERSION, as in a CUDA Toolkit."""
    home = folder / version
    if home.exists():
        return home
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temp:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
                   "--disable-pip-version-check", "--timeout=10", "--retries=0", "--dest", temp, *packages]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        except (OSError, subprocess.TimeoutExpired) as error:
            skip(error)
        if done.returncode:
            skip(f"{packages[0]} cannot be had: {done.stderr.strip()[-500:]}")
        whole = pathlib.Path(temp, "home")
        for wheel in pathlib.Path(temp).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    found = re.search(r"/(include/.*[^/]|lib/libnvrtc[^/]*\.so[^/]*)$", name)
                    if found and ".alt.so" not in name:
                        (whole / found[1]).parent.mkdir(parents=True, exist_ok=True)
                        with archive.open(name) as source, open(whole / found[1], "wb") as target:
                            shutil.copyfileobj(source, target)
        whole.rename(home)
    return home


if os.environ.get("TT_WORLD") != "1":
    skip("only with TT_WORLD=1")
environment = {k: v for k, v in os.environ.items() if k not in ("CUDA_HOME", "CUDA_PATH")}
examples = sorted(str(path) for path in (root / "examples/kernels").glob("*.cu"))
for version, packages in VERSIONS.items():
    home = fetch(version, packages)
    files = [path for path in examples if version != "12.2" or "<cub/" not in open(path, encoding="utf-8").read()]
    library = home / "lib/libnvrtc.so.12"
    for command in ([test, library, *files, root / "tests/sweep/libcxx.cu"], [test_cubin]):
        done = subprocess.run(command, env=environment | {"TILETUNE_NVRTC": str(library)})
        if done.returncode:
            sys.exit(f"NVRTC {version}: {command[0]}: exit code {done.returncode}")
