#!/usr/bin/env python3
"""How does each command grow? Makes stores of so many winners (with one trial each), or of so many trials (in problems of
1,000), runs every command on them, and prints its user CPU time and its largest memory.

    bench/growth.py build/tune [--winners 10000,100000] [--trials 10000,100000,1000000] [--only TEXT] [--keep FOLDER]
"""
import argparse, os, pathlib, resource, shutil, sqlite3, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = bytes([0, 2, 4, 1, 3, 5, 2, 0])
COUNT = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :n) "


def make(path, problems, configs):
    """A store with a winner for each problem. Each has so many screened trials, and three finals."""
    db = sqlite3.connect(path)
    for sql in sorted((ROOT / "db/schema").glob("*.sql")):
        db.executescript(sql.read_text())
        version = int(sql.name[:3])
    n = {"n": problems}
    db.execute("INSERT INTO gpu VALUES (1, 'NVIDIA H200', '', 90, 132, 150120000000, 62914560, 1024, 232448, 4813.0)")
    db.execute("INSERT INTO env VALUES (1, '580.159.04', '13.0', '3')")
    db.execute("INSERT INTO template VALUES (1, 'transpose_vector', 'transpose', hex(zeroblob(32)))")
    db.execute(COUNT + "INSERT INTO config SELECT i + 1, 1, printf('READ_RUN=%d WRITE_RUN=%d VL=4 VS=4 THREADS=%d"
               " STREAM=0 SEGMENT=0 PREFETCH=0 ORDER=1', 32 << i % 5, 32 << i / 5 % 5, 32 * (i / 25) + 32) FROM n",
               {"n": max(configs, 25)})
    db.execute("INSERT INTO run VALUES (1, 1, 1, 0, 1790000000000, 1790000001000, 'me@host', 'tune', '')")
    db.execute("INSERT INTO operation VALUES (1, 'transpose', '')")
    rows = ((i + 1, 64 * (i // 1000 + 1), 64 * (i % 1000 + 1)) for i in range(problems))
    for id, r, c in rows:
        settings = {"rows": r, "cols": c, "elem_size": 4, "lds": c, "ldd": r, "batch": 1, "src_stride": r * c,
                    "dst_stride": r * c, "align": 16}
        db.execute("INSERT INTO problem VALUES (?, 1, 0, 0, ?, ?, ?, ?, 0, 0)",
                   (id, ",".join(f"{k}={v}" for k, v in settings.items()), r, c, 8.0 * r * c))
        db.executemany("INSERT INTO value VALUES (?, ?, ?, ?)", ((id, at, k, v) for at, (k, v) in enumerate(settings.items())))
    for stage, most in ((0, configs), (1, min(configs, 3))):
        db.execute(COUNT + ", c (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM c WHERE k + 1 < :most) INSERT INTO trial"
                   " (problem_id, stage, config_id, run_id, at_ms, status, time, compile_us, regs, samples, reason, weight, limit_s) SELECT"
                   " i + 1, :stage, k + 1, 1, k, 0, 100000 + 17 * i + 100 * k, 40000, 32, :samples, NULL, 1.0, 0.0 FROM n, c",
                   n | {"stage": stage, "most": most, "samples": SAMPLES})
    db.execute("INSERT INTO winner (gpu_id, problem_id, run_id, config_id, time_us, copy_us, copy_fraction, speedup_vs_default,"
               " trials, failed, unix_ms) SELECT 1, id, 1, 1, 10.0, 9.5, 0.95, 1.1, :k, 0, 1790000000000 FROM problem", {"k": configs})
    db.execute(f"PRAGMA application_id = {0x54547531}")
    db.execute(f"PRAGMA user_version = {version}")
    db.commit()
    db.close()
    os.chmod(path, 0o600)


def run(args):
    """User CPU seconds, and MB; None: it failed."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
        os.execv(args[0], args)
    _, status, used = os.wait4(pid, 0)
    done = os.WIFEXITED(status) and os.WEXITSTATUS(status) <= 1  # 1: the made-up recording has no winner
    return (used.ru_utime, used.ru_maxrss / 1e3) if done else None


def commands(tune, db, folder):
    """In an order in which each finds what it needs."""
    size = ["--size", "64"]
    out = lambda name: str(folder / name)
    return {
        "list": ["list", "--db", db],
        "list --json": ["list", "--db", db, "--json"],
        "best": ["best", "--db", db, "--gpu", "H200"] + size,
        "show": ["show", "--db", db, "--gpu", "H200"] + size,
        "report": ["report", db, "--output", out("report.html")],
        "report, one problem": ["report", db, "--sizes", "64", "--output", out("one.html")],
        "report --json": ["report", db, "--json"],
        "report --csv": ["report", db, "--csv"],
        "report A B": ["report", db, db, "--output", out("changes.html")],
        "report A B --json": ["report", db, db, "--json"],
        "export --output": ["export", "--db", db, "--gpu", "H200", "--output", out("recording.json")],
        "export --database": ["export", "--db", db, "--database", out("export.db")],
        "lock": ["lock", "--db", db, "--output", out("lock.db")],
        "lock --size": ["lock", "--db", db, "--output", out("lock-one.db"), "--sizes", "64"],
        "check": ["check", "--db", db],
        "merge": ["merge", out("merged.db"), db],
        "prune": ["prune", "--db", out("merged.db"), "--stale"],
        "vacuum": ["vacuum", "--db", out("merged.db")],
        "import": ["import", out("recording.json"), "--db", out("imported.db")],
        "replay": ["--device", "replay:" + out("recording.json"), "--sizes", "64", "--max-trials", "5"],
        "report FILE": ["report", out("recording.json"), "--sizes", "64", "--output", out("recorded.html")],
    }


def main():
    numbers = lambda text: [int(n) for n in text.split(",") if n]
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tune")
    parser.add_argument("--winners", type=numbers, default=[10000, 100000])
    parser.add_argument("--trials", type=numbers, default=[10000, 100000, 1000000])
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    args = parser.parse_args()
    os.environ["TILETUNE_SYSTEM_DB"] = ""
    top = args.keep or pathlib.Path(tempfile.mkdtemp(prefix="growth-"))
    print(f"{'':22} {'store':>18} {'user s':>8} {'MB':>7}")
    for kind, sizes in (("winners", args.winners), ("trials", args.trials)):
        for n in sizes:
            folder = top / f"{kind}-{n}"
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)
            db = folder / "store.db"
            if not db.exists():
                make(db, n if kind == "winners" else max(n // 1000, 1), 1 if kind == "winners" else min(n, 1000))
            for name, words in commands(args.tune, str(db), folder).items():
                if args.only not in name:
                    continue
                for at, word in enumerate(words[:-1]):  # what this command makes must not be there
                    if word in ("--output", "--database") or words[0] == "merge" and at == 0:
                        pathlib.Path(words[at + 1]).unlink(missing_ok=True)
                used = run([args.tune] + words)
                text = f"{used[0]:8.2f} {used[1]:7.0f}" if used else "  failed"
                print(f"{name:22} {n:>10} {kind:7} {text}", flush=True)
    if not args.keep:
        shutil.rmtree(top)


if __name__ == "__main__":
    main()
