#!/usr/bin/env python3
"""check_lock.py TUNE ROOT: what `tune lock` writes answers as the store did, and nothing else answers."""
import hashlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

tune, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SIZES, TYPES = (1024, 2048, 4096, 8192, 16384), {"4": "h200", "1": "h200-1byte", "2": "h200-2bytes", "8": "h200-8bytes"}


def call(*words, code=0):
    done = subprocess.run([tune, *map(str, words)], capture_output=True, text=True, cwd=folder)
    assert done.returncode == code, (words, done)
    return done.stdout if code == 0 else done.stderr


def best(size, elem_size, *more):
    found = json.loads(call("best", "--gpu", "H200", "--size", size, "--elem-size", elem_size, "--json", *more))
    return found["kernel"], found["config"], found["match"]


def trials(name):
    with sqlite3.connect(pathlib.Path(folder, name)) as store:
        return store.execute("SELECT count(*) FROM trial").fetchone()[0]


with tempfile.TemporaryDirectory() as folder:
    for elem_size, name in TYPES.items():
        call("--device", f"replay:{root}/recordings/{name}.json", "--sizes", ",".join(map(str, SIZES)), "--elem-size", elem_size,
             "--max-trials", 20, "--db", "a.db", "--quiet")
    # Of a run that ended before its first trial, and of a plan that was never tuned.
    with sqlite3.connect(pathlib.Path(folder, "a.db")) as store:
        for text in (b"beef", (root / "kernel_templates/axpby_vector.cu").read_bytes()):
            key = hashlib.sha256(text).hexdigest()
            store.execute("INSERT INTO cubin (key, hash, image) VALUES (?, ?, ?)", (key, key, text))
            store.execute("INSERT INTO cubin_link VALUES (?, 'X=1', 4, 90, ?)", (key, key))
    said = call("lock", "--db", "a.db", "--output", "all.lock")
    assert " winners, 0 cubins" in said, said
    answers = {(s, e): best(s, e, "--db", "a.db") for s in SIZES for e in TYPES}
    locked = {(s, e): best(s, e, "--lock", "all.lock") for s in SIZES for e in TYPES}
    assert locked == answers, [(k, locked[k], answers[k]) for k in answers if locked[k] != answers[k]]
    # What is near, and what ships with the library, does not answer.
    assert "all.lock has no winner for the transpose of 4097x4097" in call(
        "best", "--gpu", "H200", "--size", 4097, "--lock", "all.lock", code=1)
    said = call("lock", "--db", "a.db", "--output", "one.lock", "--sizes", 4096)
    assert said.startswith("one.lock: 1 winner"), said
    assert "no winner for the transpose of 8192x8192" in call(
        "best", "--gpu", "H200", "--size", 8192, "--lock", "one.lock", code=1)
    assert call("best", "--gpu", "H200", "--size", 4096, "--lock", "one.lock").endswith("one.lock\n")  # where it is from
    assert 0 < trials("one.lock") <= 2, trials("one.lock")  # those that the winner rests on
    # Errors leave nothing behind.
    assert "no winner for the transpose of 4097x4097: tune it first" in call(
        "lock", "--db", "a.db", "--output", "no.lock", "--sizes", "4096,4097", code=1)
    assert "is there already" in call("lock", "--db", "a.db", "--output", "one.lock", code=2)
    pathlib.Path(folder, "a.txt").write_text("no store")  # it is not even opened
    for line in (("lock", "--db", "a.db", "--output", "a.txt"), ("export", "--db", "a.db", "--database", "a.txt")):
        assert "a.txt is there already" in call(*line, code=2)
    assert "give --output FILE" in call("lock", "--db", "a.db", code=2)
    assert not pathlib.Path(folder, "no.lock").exists()
    assert "and 1 cubin." in call("prune", "--stale", "--db", "a.db", "--dry-run")
    # What comes with tiletune is locked if it is named, without a store, too.
    shipped = best(8191, "8")
    os.environ["XDG_DATA_HOME"] = folder  # has no store
    for store in ("--db", "a.db"), ():
        assert "s.lock: 1 winner, 0 cubins" in call("lock", *store, "--output", "s.lock", "--gpu", "h200", "--sizes", 8191,
                                                    "--elem-size", 8)
        assert best(8191, "8", "--lock", "s.lock") == shipped and shipped[2] == "exact", shipped
        assert "is whole" in call("check", "--db", "s.lock")
        pathlib.Path(folder, "s.lock").unlink()
    assert "no winner for the transpose of 4099x4099" in call("lock", "--output", "s.lock", "--gpu", "h200", "--sizes", 4099, code=1)
    # A part of a name means one GPU, as in all commands.
    for gpu, says in ("v100", "come: NVIDIA H200"), ("nvidia", "several GPUs that come with tiletune match: NVIDIA H200"):
        for line in ("lock", "--output", "s.lock", "--sizes", 8191), ("list",), ("best", "--size", 8191):
            assert says in call(*line, "--gpu", gpu, code=2), line
    assert "nothing was tuned on the NVIDIA H100" in call("lock", "--output", "s.lock", "--gpu", "h100", "--db", "a.db", code=1)
    # The store is not needed any more.
    pathlib.Path(folder, "a.db").unlink()
    assert best(4096, 4, "--lock", "all.lock") == answers[4096, "4"]
print("lock ok")
