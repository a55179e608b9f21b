#!/usr/bin/env python3
"""check_kubernetes.py ROOT FOLDER: the manifests of examples/cluster/kubernetes are valid, by kubernetes-validate from PyPI.

It goes into a virtual environment in FOLDER, which later runs use again. Without the index, or without TT_WORLD=1, the test is
skipped (exit code 77).
"""
import os
import pathlib
import subprocess
import sys

PACKAGE = "kubernetes-validate==1.37.0"
VERSIONS = "1.27", "1.30"
SKIPPED = 77
manifests, venv = pathlib.Path(sys.argv[1]) / "examples/cluster/kubernetes", pathlib.Path(sys.argv[2])
program = venv / "bin/kubernetes-validate"

if not os.environ.get("TT_WORLD"):
    print("skipped: TT_WORLD=1 is not set")
    sys.exit(SKIPPED)
if not program.exists():
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE],
                          capture_output=True, text=True)
    if done.returncode != 0:
        print(f"skipped: {PACKAGE} cannot be installed: {done.stderr.strip()[-200:]}")
        sys.exit(SKIPPED)
failed = 0
for path in sorted(manifests.glob("*.yaml")):
    for version in VERSIONS:
        done = subprocess.run([program, "--strict", "-k", version, path], capture_output=True, text=True)
        failed += done.returncode != 0
        print((done.stdout + done.stderr).strip())
sys.exit(failed > 0)
