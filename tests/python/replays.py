#!/usr/bin/env python3
"""replays.py RECORDING: imports the installed wheel, and searches a recording with its program and with its module.

That needs neither a GPU nor a compiler, so it tells whether a system can have the wheel at all.
"""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import tiletune

with tempfile.TemporaryDirectory() as work:
    os.environ["TILETUNE_SYSTEM_DB"] = ""
    tiletune.configure(db=os.path.join(work, "python.db"))
    assert tiletune.best(4096, gpu="H200").kernel == "transpose_vector"
    found = tiletune.tune([4096], replay=sys.argv[1], max_trials=20, progress=False)
    assert found[0].source == "replayed" and found[0].kernel and (found[0].op, found[0].elem_size) == ("transpose", 4), found
    program = pathlib.Path(sys.executable).with_name("tune")
    subprocess.run([program, "--device", f"replay:{sys.argv[1]}", "--sizes", "4096", "--max-trials", "20", "--quiet",
                    "--db", os.path.join(work, "tune.db")], check=True, stdout=subprocess.PIPE)
print(f"Python {platform.python_version()}, {os.confstr('CS_GNU_LIBC_VERSION')}: installs, imports, replays")
