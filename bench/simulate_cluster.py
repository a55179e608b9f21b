#!/usr/bin/env python3
"""simulate_cluster.py BUILD FOLDER: how a search scales from one GPU to 512, from the trials that recordings have.

First it searches a recording on 1 and on 8 replay devices that take the recorded times, which tests the scheduler of `tune`
itself. The same problems are then simulated, which tests the simulation. Then it simulates clusters of hosts with 8 GPUs, some
slow, some lost. Writes FOLDER/scale.json and FOLDER/scale.md. Takes seven minutes, mostly asleep.
"""
import argparse
import heapq
import itertools
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--commit", default="", help="noted in the JSON")
parser.add_argument("--stores", type=int, default=10, help="in which 8 GPUs look for the same winners (10)")
parser.add_argument("--problems", type=int, default=15360, help="of the clusters (15360)")
args = parser.parse_args()
root = pathlib.Path(__file__).resolve().parent.parent

# As in tuner/ at commit 3484351: a trial with its checks, finals by the length of the problem, the time to choose a trial.
LEAST_S, SHORT_US, WHOLE, CHOOSE_S = 0.01, 20, 192, 0.0005
FINALS_S = {"standard": {False: 0.03 + 0.04 + 0.05 + 0.16, True: 6 * (3 * 0.03 + 0.04 + 0.05 + 0.16)},
            "exhaustive": {False: 2 * 0.16, True: 12 * (3 * 0.03 + 0.16)}}
# Assumed: what a task costs before its first trial and after its last, and how long a lost one waits.
START_S, REQUEUE_S, GPUS = 3, 60, 8
# Measured by bench/merge: 1,000 stores of 200 trials in 31 s, 20 of 10,000 in 1.7 s.
MERGE_S = {"store": 0.03, "trial": 6e-6}


def problems_of(path):
    """Each recorded problem: the times of its trials and of its copy's, in s, and whether it is short."""
    recorded, names = {}, json.load(open(path))
    for r in names["results"]:
        if r["stage"] != "screen" or r["invalidity"] != "correct":
            continue
        runs = r["times"]["runtimes"]
        middle = sorted(runs)[len(runs) // 2] * 1e3 if runs else 0
        recorded.setdefault((r["problem"], r["kernel"].startswith("copy")), []).append((max(LEAST_S, sum(runs) * 1e-3), middle))
    for problem in sorted({p for p, copy in recorded if not copy}):
        trials = recorded[problem, False]
        copies = recorded.get((problem, True)) or recorded.get((problem - 1, True)) or []
        yield [s for s, _ in copies], [s for s, _ in trials], min(us for _, us in trials) < SHORT_US


def chosen(problem, effort, dice):
    """The searches of a problem, each a list of times."""
    copies, trials, short = problem
    most = 10 ** 9 if effort == "exhaustive" else 256 if short else 128
    of_copy = len(copies) if len(copies) <= WHOLE else most * 3 // 4
    return [dice.sample(copies, min(of_copy, len(copies))), trials if len(trials) <= most else dice.sample(trials, most)]


def host(problems, gpus, effort, dice, speed=1.0):
    """Seconds that a host takes for problems, and its trials. A GPU without work takes the next problem's."""
    free = [0.0] * gpus
    heapq.heapify(free)
    at = end = 0.0
    n = 0
    for problem in problems:
        searched = at
        for search in chosen(problem, effort, dice):
            for seconds in search:
                at = max(at + CHOOSE_S, heapq.heappop(free))
                heapq.heappush(free, at + seconds / speed)
                searched = max(searched, at + seconds / speed)
                n += 1
        over = max(searched, heapq.heappop(free)) + FINALS_S[effort][problem[2]] / speed
        heapq.heappush(free, over)
        end = max(end, over)
    return end, n


def cluster(problems, hosts, shards, effort, slow, lost):
    """A job array on so many hosts. A lost task is requeued, and goes on where it was."""
    dice = random.Random(1)
    free = [(0.0, k) for k in range(hosts)]
    speed = [0.5 if k < slow * hosts else 1.0 for k in range(hosts)]
    end = trials = losses = 0
    for shard in range(shards):
        at, k = heapq.heappop(free)
        seconds, n = host(problems[shard::shards], GPUS, effort, dice, speed[k])
        trials += n
        at += START_S + seconds
        if dice.random() < lost:
            losses += 1
            at += REQUEUE_S + START_S
        end = max(end, at)
        heapq.heappush(free, (at, k))
    merge_s = shards * MERGE_S["store"] + trials * MERGE_S["trial"]
    return {"hosts": hosts, "gpus": hosts * GPUS, "shards": shards, "slow": slow, "lost": lost, "losses": losses,
            "trials": trials, "search_s": end, "merge_s": merge_s, "total_s": end + merge_s}


def tune(*words):
    subprocess.run([args.build / "tune", *map(str, words)], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "TILETUNE_SYSTEM_DB": ""})


def replayed(recording, problems, gpus, effort):
    """The same by `tune` itself: seconds until the last trial is stored, without reading the recording, and trials."""
    db = folder / f"{effort}-{len(problems)}-{gpus}.db"
    tune("--device", f"replay:{recording}*{gpus}", *problems, "--effort", effort, "--db", db, "--quiet")
    with sqlite3.connect(db) as store:
        return store.execute("SELECT max(at_ms) * 1e-3, sum(stage = 0) FROM trial").fetchone()


def winners(problems, recording):
    """How many configurations win each problem, if 8 GPUs tune it from several empty stores."""
    found = {}
    for k in range(args.stores):
        db = folder / f"winners-{k}.db"
        tune("--device", f"replay:{recording}*8", *problems, "--db", db, "--quiet")
        with sqlite3.connect(db) as store:
            rows = store.execute("SELECT key, kernel, text FROM winner JOIN problem ON problem.id = problem_id"
                                 " JOIN config ON config.id = config_id JOIN template ON template.id = template_id")
            for problem, kernel, config in rows:
                found.setdefault(problem, set()).add((kernel, config))
    return {problem: len(configs) for problem, configs in found.items()}


out = {"commit": args.commit, "recording": "h200.json", "assumed": {"start_s": START_S, "requeue_s": REQUEUE_S, **MERGE_S},
       "host": [], "cluster": []}
lines = ["Made by `bench/simulate_cluster.py`" + (f", commit {args.commit}" if args.commit else "") + ".", "",
         "| one host | GPUs | trials | s | trials a second | of one GPU | simulated, s |",
         "|---|---:|---:|---:|---:|---:|---:|"]
sizes = 1024, 2048, 4096, 8192, 16384
names = [root / f"recordings/h200{part}.json" for part in ("", "-1byte", "-2bytes", "-8bytes")]
five, twenty = ["--sizes", ",".join(map(str, sizes))], ["--op", "transpose"]
for n, elem_size in itertools.product(sizes, (1, 2, 4, 8)):
    twenty += ["--problem", f"rows={n},cols={n},elem_size={elem_size}"]
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    tune("merge", folder / "all.db", *names)
    tune("export", "--db", folder / "all.db", "--gpu", "H200", "--output", folder / "all.json")
    for effort, label, problems, recording, recorded in (
            ("standard", "five", five, names[0], names[:1]), ("exhaustive", "five", five, names[0], names[:1]),
            ("standard", "twenty", twenty, folder / "all.json", names)):
        of_host, one = [p for name in recorded for p in problems_of(name)], None
        for gpus in (1, 8):
            seconds, trials = replayed(recording, problems, gpus, effort)
            simulated, _ = host(of_host, gpus, effort, random.Random(1))
            rate = trials / seconds
            one = one or rate
            out["host"].append({"effort": effort, "problems": label, "gpus": gpus, "trials": trials, "s": seconds,
                                "trials_a_second": rate, "of_one": rate / one, "simulated_s": simulated})
            lines.append(f"| {label} problems, {effort} | {gpus} | {trials} | {seconds:.1f} | {rate:.0f} | {rate / one:.2f} |"
                         f" {simulated:.1f} |")
            print(lines[-1], flush=True)

    out["winners"] = winners(twenty, folder / "all.json")
    alike = sum(n == 1 for n in out["winners"].values())
    lines += ["", f"8 GPUs, {args.stores} fresh stores: one winner for {alike} of {len(out['winners'])} problems."]
    print(lines[-1], flush=True)

known = [p for name in sorted(root.glob("recordings/h200*.json")) for p in problems_of(name)]
many = list(itertools.islice(itertools.cycle(known), args.problems))
lines += ["", f"| {args.problems} problems, default effort | GPUs | tasks | search, min | merge, min | all, min | of 8 GPUs, a GPU |",
          "|---|---:|---:|---:|---:|---:|---:|"]
eight = cluster(many, 1, 1, "standard", 0, 0)["total_s"]
for label, slow, lost in (("all hosts alike", 0, 0), ("a tenth of the hosts half as fast", 0.1, 0),
                          ("a tenth of the tasks lost once", 0, 0.1), ("both", 0.1, 0.1)):
    for hosts in (1, 8, 64):
        for each in (1, 4):
            if slow and hosts == 1:
                continue
            c = cluster(many, hosts, hosts * each, "standard", slow, lost)
            c["efficiency"] = eight / c["total_s"] / hosts
            out["cluster"].append(c)
            lines.append(f"| {label} | {c['gpus']} | {c['shards']} | {c['search_s'] / 60:.1f} | {c['merge_s'] / 60:.1f} |"
                         f" {c['total_s'] / 60:.1f} | {c['efficiency']:.2f} |")
            print(lines[-1], flush=True)
args.folder.mkdir(parents=True, exist_ok=True)
(args.folder / "scale.json").write_text(json.dumps(out, indent=1) + "\n")
(args.folder / "scale.md").write_text("\n".join(lines) + "\n")
