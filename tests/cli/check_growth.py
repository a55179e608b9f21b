#!/usr/bin/env python3
"""Do commands take time in step with what is stored, and memory that does not grow with it? Runs them on two stores that
bench/growth.py makes, of which one has ten times as much."""
import os, pathlib, sys, tempfile

tune, root = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(root / "bench"))
import growth  # noqa: E402

# User seconds of the larger store over those of the smaller one, at most; 10 is linear. Megabytes more, at most.
RATIO, MORE_MB, TIMER_S = 15, 5, 0.03
GROWS_MB = {"list": 8, "list --json": 10}  # prints what it has sorted
TIMES_FILE = 2  # of a recording, in memory
SKIPPED = ("import", "replay", "vacuum", "check", "prune", "best", "show", "export --database")


def main():
    os.environ["TILETUNE_SYSTEM_DB"] = ""
    used, failed, recordings = {}, [], []
    with tempfile.TemporaryDirectory() as name:
        for n in 1000, 10000:
            folder = pathlib.Path(name) / str(n)
            folder.mkdir(mode=0o700)
            growth.make(folder / "store.db", n, 1)
            for command, words in growth.commands(tune, str(folder / "store.db"), folder).items():
                if not command.startswith(SKIPPED):
                    used.setdefault(command, []).append(growth.run([tune] + words))
            recordings.append((folder / "recording.json").stat().st_size / 1e6)
    read_mb = TIMES_FILE * (recordings[1] - recordings[0])
    for command, (some, more) in used.items():
        ratio, grown = (more[0] + TIMER_S) / (some[0] + TIMER_S), more[1] - some[1]
        print(f"{command:22} {some[0]:6.2f} to {more[0]:6.2f} s, {some[1]:4.0f} to {more[1]:4.0f} MB")
        if ratio > RATIO or grown > (read_mb if command == "report FILE" else GROWS_MB.get(command, MORE_MB)):
            failed.append(command)
    assert not failed, failed


main()
