#!/usr/bin/env python3
"""check_killed_shards.py TUNE [MOMENTS]: kill -9 of any process of a sharded run, at random moments, loses nothing.

Three shards run at once on the CPU stand-ins ($HOSTCUDA_DIR), and are merged. At each moment one process dies: a tuner, its
GPU worker, a compiler, or the merge. The same commands then go on. Eight moments; with TT_LONG=1,
MOMENTS or 100.
"""
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

SHARDS, SIZES = 3, "33,34,35,37,38"
moments = int((sys.argv[2:] or ["100"])[0]) if os.environ.get("TT_LONG") else 8
tune = os.path.abspath(sys.argv[1])
stand_ins = os.environ["HOSTCUDA_DIR"]
# LeakSanitizer looks for leaks in a process of its own, and waits forever if that one is killed.
env = {**os.environ, "LD_LIBRARY_PATH": stand_ins, "TILETUNE_NVRTC": stand_ins + "/libnvrtc.so", "TILETUNE_SYSTEM_DB": "",
       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
for name in "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX":
    env.pop(name, None)
VERSION = "PRAGMA user_version"
dice = random.Random(1)
killed = {}


def read(db, sql):
    with sqlite3.connect(db) as store:
        return store.execute(sql).fetchall()


def trials(db):
    """Trials of the screening: what was measured, and when. While a run makes the store, one migration after the other, there
    are none."""
    if not db.exists() or read(db, VERSION) != whole_version:
        return []
    assert read(db, "PRAGMA integrity_check") == [("ok",)], db
    rows = read(db, "SELECT problem.key, kernel, config.text, run_id, time, at_ms FROM trial JOIN problem ON problem.id = problem_id"
                    " JOIN config ON config.id = config_id JOIN template ON template.id = template_id WHERE stage = 0")
    assert len({row[:3] for row in rows}) == len(rows), f"{db}: a trial is there twice"
    return rows


def group(pid):
    """The processes of a group, and the last word of their command: what they do."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(entry.name)) == pid:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                found.append((int(entry.name), "tune" if b"worker" not in words[0] else words[1].decode()))
        except (OSError, IndexError):
            pass
    return found


def start(*arguments):
    return subprocess.Popen([tune, *map(str, arguments)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True)


def strike(runs):
    """Kills one process of the runs that are still there."""
    processes = [p for run in runs if run.poll() is None for p in group(run.pid)]
    if not processes:
        return
    roles = sorted({role for _, role in processes})
    role = dice.choice(roles)
    pid = dice.choice([p for p, r in processes if r == role])
    try:
        os.kill(pid, signal.SIGKILL)
        killed[role] = killed.get(role, 0) + 1
    except ProcessLookupError:
        pass


def end(runs, blow_s=None):
    if blow_s is not None:
        time.sleep(blow_s)
        strike(runs)
    for run in runs:
        text = run.communicate(timeout=240)[0]
        assert run.returncode in (0, -signal.SIGKILL) or blow_s is not None, text
    return all(run.returncode == 0 for run in runs)


def shards(folder, blow_s=None):
    runs = [start("--shard", f"{k}/{SHARDS}", "--sizes", SIZES, "--max-trials", 6, "--jobs", 1, "--quiet", "--db",
                  folder / f"{k}.db") for k in range(1, SHARDS + 1)]
    return end(runs, blow_s)


def merge(folder, blow_s=None):
    return end([start("merge", folder / "all.db", *(folder / f"{k}.db" for k in range(1, SHARDS + 1)))], blow_s)


def stores(folder, first):
    """Runs shards and merges them, with a blow at each step, until moments are used up or all is merged."""
    held = {}
    used = 0
    while used < moments - first:
        done = shards(folder, dice.uniform(0.05, longest_s))
        used += 1
        for k in range(1, SHARDS + 1):
            now = set(trials(folder / f"{k}.db"))
            assert held.get(k, set()) <= now, f"shard {k} has lost trials"
            held[k] = now
        if done or used % 6 == 0:
            break
    assert shards(folder)
    merge(folder, dice.uniform(0, 0.05))
    assert merge(folder)
    merged = {row[:3] for row in trials(folder / "all.db")}
    apart = {row[:3] for k in range(1, SHARDS + 1) for row in trials(folder / f"{k}.db")}
    assert merged == apart, "the merge has lost trials"
    winners = read(folder / "all.db", "SELECT count(*) FROM winner")[0][0]
    assert winners == len(SIZES.split(",")), f"{winners} winners"
    return used + 1


with tempfile.TemporaryDirectory() as temporary:
    temporary = pathlib.Path(temporary)
    (temporary / "first").mkdir()
    assert shards(temporary / "first")  # compiles what the others find in the cache
    whole_version = read(temporary / "first" / "1.db", VERSION)
    begin = time.monotonic()
    (temporary / "whole").mkdir()
    assert shards(temporary / "whole")
    longest_s = time.monotonic() - begin
    used = rounds = 0
    while used < moments:
        folder = temporary / str(rounds)
        folder.mkdir()
        used += stores(folder, used)
        rounds += 1
print(f"{used} moments in {rounds} sharded runs of {longest_s:.1f} s; killed: {killed}")
assert killed.get("tune", 0) > 0
