#!/usr/bin/env python3
"""check_commands.py TUNE ROOT: each command of README.md and of the guide works, in the order of the page.

What needs a GPU runs on the CPU stand-in, with smaller problems and few trials. The rest runs as it stands, without a GPU.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

tune, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
stand_in = {"LD_LIBRARY_PATH": os.environ["HOSTCUDA_DIR"], "TILETUNE_NVRTC": os.environ["HOSTCUDA_DIR"] + "/libnvrtc.so"}
PAGES = "README.md", "docs/guide.md", "docs/same-bits.md", "docs/export.md", "docs/judge.md", "examples/README.md"
# Commands that others look at, or that need what no test has.
ELSEWHERE = re.compile(r"tune (--db job.db|lock --db job.db|judge examples/kernels/softmax|judge kernels/|export --format header|import-t1|import A100|--device replay:A100|"
                       r"check saxpy.cu|--kernel conv.cu|export --format c --output tuned.c (--template|--size))")
SHOWN = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
ANYWHERE = re.compile(r"replay:|--gpu|^tune (report|help|doctor|new|list|merge|import|export|check|prune|vacuum|lock --output|show --db)")


def smaller(command):
    """The same for the stand-in: lengths from 32 on are a 64th, and few configurations are tried."""
    command = re.sub(r"(?<![\w.-])(?<![A-Z]=)(\d+x)*\d+\b", lambda m: re.sub(r"\d+", lambda n: n[0] if int(n[0]) < 32 else str(max(int(n[0]) // 64, 16)), m[0]),
                     command)
    command = command.replace("matmul.cu", "saxpy.cu")  # which the stand-in can run
    if "examples/kernels/" in command and "--problem" not in command:
        command += " --problem n=5000"
    tunes = re.match(r"tune (--|explain|study)", command)
    return command + " --max-trials 2" * bool(tunes and " explain" not in command)


def commands(page):
    text = (root / page).read_text(encoding="utf-8")
    for language, block in SHOWN.findall(text):
        if language in ("sh", "console"):
            for line in block.splitlines():
                line = re.sub(r"^\$ ", "", line.split(" #")[0].split("   ")[0].rstrip()).replace("build/tune", "tune")
                if line.startswith("tune "):
                    yield line


def prepare(work):
    """What the pages take for granted."""
    for name in "recordings", "examples":
        os.symlink(root / name, work / name)
    (work / "bin").mkdir()
    os.symlink(tune, work / "bin/tune")
    asked = {"operation": "transpose", "problem": "rows=50,cols=30", "gpu": "hostcuda", "launches": 2, "time_us": 2}
    (work / "asked.jsonl").write_text('{"tiletune_collected": 1}\n' + json.dumps(asked) + "\n")


with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    prepare(work)
    store = work / "data/tiletune/tiletune.db"
    plain = {k: v for k, v in os.environ.items() if k not in stand_in}
    plain |= {"PATH": f"{work}/bin:{os.environ['PATH']}", "XDG_DATA_HOME": f"{work}/data", "TILETUNE_SYSTEM_DB": "",
              "TILETUNE_WORKER": os.environ["TILETUNE_WORKER"], "HOSTCUDA_MEMORY": str(256 << 20)}
    ran = 0

    def run(command):
        env = plain if ANYWHERE.search(command) else plain | stand_in
        done = subprocess.run(["bash", "-c", command], cwd=work, env=env, capture_output=True, text=True, timeout=300)
        if done.returncode:
            sys.exit(f"{command}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")

    run("tune import recordings/h200.json")
    for page in PAGES:
        for command in commands(page):
            if ELSEWHERE.match(command):
                continue
            if " before.db " in command or "mine.db" in command:
                for name in "before", "after", "mine", "other":
                    shutil.copy(store, work / f"{name}.db")
            if command.startswith("tune merge store.db"):
                shutil.copy(store, work / "store.db")
            if command.startswith("tune new"):  # an existing file is left alone
                (work / command.split()[-1]).unlink(missing_ok=True)
            run(command if ANYWHERE.search(command) else smaller(command))
            ran += 1
print(f"{ran} commands")
