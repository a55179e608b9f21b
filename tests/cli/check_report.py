#!/usr/bin/env python3
"""check_report.py TUNE ROOT [more]: `tune report` of recordings and stores, as a page, JSON and CSV; more of it.

The page is well-formed, small, the same each time, needs nothing else, and names its figures.
"""
import contextlib
import csv
import html.parser
import io
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

tune, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
recording = root / "recordings/h200.json"
small = root / "tests/data/small.json"
VOID = {"meta", "link"}


def run(*words, code=0):
    done = subprocess.run([tune, "report", *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (words, done)
    return done.stdout if code == 0 else done.stderr


class Page(html.parser.HTMLParser):
    """Checks tags while it reads."""

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.ids, self.links, self.shown, self.figures = [], [], [], [], "", 0
        self.feed(text)
        self.close()
        assert not self.open, self.open
        assert len(set(self.ids)) == len(self.ids) and set(self.links) <= set(self.ids), (self.links, self.ids)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert tag not in ("script", "img", "iframe", "object", "base"), tag
        assert not any(name.startswith("on") or name in ("src", "style") for name in attributes), attributes
        if tag == "svg":
            assert attributes["role"] == "img" and len(attributes["aria-label"]) > 20, attributes
            self.names.append(attributes["aria-label"])
        self.figures += tag == "figure"
        self.ids += [attributes["id"]] if "id" in attributes else []
        if "href" in attributes and tag == "a":
            assert attributes["href"].startswith("#"), attributes
            self.links.append(attributes["href"][1:])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in ("path", "rect", "circle"), tag

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data):
        if "style" not in self.open:
            self.shown += data


def check_page(text):
    assert "http" not in text and "url(" not in text and "@import" not in text
    page = Page(text)
    assert len(page.names) == page.figures, (page.names, page.figures)
    return page


def screened(data):
    """The trials of 4096 x 4096."""
    return [r for r in data["results"] if data["metadata"]["problems"][r["problem"]].get("rows") == 4096 and r["stage"] == "screen"
            and not r["kernel"].startswith(("copy", "ladder"))]


def check_recording():
    start = time.monotonic()
    text = run("--device", f"replay:{recording}")
    seconds = time.monotonic() - start
    assert len(text.encode()) <= 400_000, len(text)
    assert seconds < 10, seconds  # 1 s on an idle machine
    assert text == run(recording)
    page = check_page(text)
    assert sum(name.startswith("Best so far over") for name in page.names) == 5, page.names
    assert "transpose 4096x4096" in page.shown and "READ_RUN=256" in page.shown and "580.159.04" in page.shown
    assert {"winners", "environment"} <= set(page.links) and "5 problems in detail" in page.shown, page.links
    bold = run(recording, "--sizes", "4096")
    panels = re.split('class="label"[^>]*>', bold.split('aria-label="Effect of ')[1].split("</svg>")[0])[1:]
    chosen = [(panel.split("<")[0], re.findall('chosen"[^>]*>([^<]*)<', panel)) for panel in panels]
    config = json.loads(run(recording, "--json", "--sizes", "4096"))["gpus"][0]["problems"][0]["config"]
    assert chosen and all(values in ([], [str(config[name])]) for name, values in chosen), (chosen, config)
    assert sum(map(len, (values for _, values in chosen))) > 2, chosen
    one = check_page(bold)
    for name in "time", "GB/s", "of copy", "of peak", "tried", "failed":
        assert name in one.shown, name
    assert len(one.names) < len(page.names) and "8192x8192" not in one.shown
    return len(text.encode()), seconds


def check_data():
    data = json.loads(run(recording, "--json", "--sizes", "4096"))
    problem, = data["gpus"][0]["problems"]
    search = [step["best_us"] for step in problem["search"]]
    assert search == sorted(search, reverse=True) and len(search) > 5, search
    assert search[-1] == min(kernel["best_us"] for kernel in problem["kernels"])
    assert sum(kernel["trials"] for kernel in problem["kernels"]) == problem["trials"] == 690
    shares = sum(p["share"] for p in problem["parameters"]) + sum(p["share"] for p in problem["pairs"])
    assert 0.5 < shares <= 1.001, shares
    totals = [p["share_with_another"] for p in problem["parameters"]]
    assert totals == sorted(totals, reverse=True), totals
    for p in problem["parameters"]:
        assert min(p["values"], key=lambda v: v["best_us"])["value"] == p["best"] and p["worst_cost"] >= 1, p
    winner = next(f for f in problem["finals"] if f["config"] == problem["config"])
    assert winner["low"] == winner["ratio"] == winner["high"] == 1
    assert all(f["low"] <= f["ratio"] <= f["high"] for f in problem["finals"])
    lines = list(csv.DictReader(io.StringIO(run(recording, "--csv", "--sizes", "4096"))))
    steps = [(int(line["item"]), float(line["value"])) for line in lines if line["section"] == "search"]
    assert steps == [(step["trial"], step["best_us"]) for step in problem["search"]], steps
    assert len({(line["section"], line["item"], line["name"]) for line in lines}) == len(lines)


def change(data, problem_scale):
    """The recording with the times of one problem changed."""
    for result in data["results"]:
        if data["metadata"]["problems"][result["problem"]].get("rows") == 4096:
            result["times"]["runtimes"] = [t * problem_scale for t in result["times"]["runtimes"]]
            for m in result["measurements"]:
                m["value"] *= problem_scale if m["name"] == "time" else 1
    return data


def check_changes(folder):
    data = json.loads(recording.read_text())
    slower = folder / "slower.json"
    slower.write_text(json.dumps(change(data, 1.2)))
    changes = {c["rows"]: c for c in json.loads(run(recording, slower, "--json"))["changes"]}
    assert changes[4096]["verdict"] == "slower" and abs(changes[4096]["ratio"] - 1.2) < 0.01, changes
    assert changes[8192]["verdict"] == "within_noise" and changes[8192]["changed"] == "nothing", changes
    page = check_page(run(recording, slower))
    assert "1 problem is slower, 4 within the noise." in page.shown, page.shown[:2000]
    both = run(recording, root / "recordings/h100.json")
    assert "Two GPUs compared" in check_page(both).shown and "What changed" not in both
    assert "on the second GPU, 5 problems are slower." in both and "class=worse" not in both and "class=good" not in both
    back = json.loads(run(slower, recording, "--json"))["changes"]
    assert [c["verdict"] for c in back].count("faster") == 1, back


def check_store(folder):
    """A store with what a stranger may have written into it."""
    hostile = "</style><script>alert('x')</script>\"&"
    data = json.loads(small.read_text())
    data["metadata"]["gpu"]["name"] = hostile
    data["results"] = [r for r in data["results"] if data["metadata"]["problems"][r["problem"]].get("rows") in (4096, None)]
    failed = next(r for r in data["results"] if r["kernel"] == "transpose_tiled" and r["stage"] == "screen")
    failed |= {"invalidity": "compile", "status": "compile_error", "reason": hostile + " \x1b[31m", "correctness": 0,
               "measurements": []}
    failed["times"]["runtimes"] = []
    skipped = next(r for r in data["results"] if r["kernel"] == "transpose_tiled" and r["stage"] == "screen" and r is not failed)
    skipped |= {"invalidity": "constraints", "status": "skipped", "correctness": 0, "measurements": []}
    skipped["times"]["runtimes"] = []
    path, store = folder / "<b>&.json", folder / "a.db"
    path.write_text(json.dumps(data))
    subprocess.run([tune, "import", path, "--db", store], check=True, capture_output=True)
    text = run(store)
    page = check_page(text)
    assert "\x1b" not in text and hostile in page.shown and hostile in page.shown.split("Failures")[1], page.shown
    assert f"Failures1 of {len(screened(data))} configurations failed." in page.shown and "skipped" in page.shown, page.shown
    assert text == run("--db", store) and check_page(run(path, store)).shown.count("<b>&.json") > 1
    assert json.loads(run(store, "--json"))["gpus"][0]["gpu"] == hostile
    assert {line["gpu"] for line in csv.DictReader(io.StringIO(run(store, "--csv")))} == {hostile}
    for table, code, said in ("trial", 0, "has no trials of it"), ("winner", 1, "has nothing to report: tune first"):
        with contextlib.closing(sqlite3.connect(store)) as db:
            db.execute("DELETE FROM " + table)
            db.commit()
        assert said in run(store, code=code), said


def check_order(folder):
    """A store keeps the times of a recording, so it shows the same search, and an export has them again."""
    store, back = folder / "b.db", folder / "back.json"
    for words in (["import", recording, "--db", store], ["export", "--gpu", "h200", "--db", store, "--output", back]):
        subprocess.run([tune, *map(str, words)], check=True, capture_output=True)
    before, after = (json.loads(path.read_text())["results"] for path in (recording, back))
    assert [r["timestamp"] for r in before] == [r["timestamp"] for r in after]
    searches = [[p["search"] for p in json.loads(run(path, "--json"))["gpus"][0]["problems"]] for path in (recording, store)]
    assert searches[0] == searches[1]


def check_others(folder):
    """Trials of a kernel's older text, and finals of another run than the winner's, do not count."""
    store = folder / "c.db"
    subprocess.run([tune, "import", small, "--db", store], check=True, capture_output=True)
    before = json.loads(run(store, "--json"))
    with contextlib.closing(sqlite3.connect(store)) as db:
        db.execute("INSERT INTO template (kernel, op, hash) SELECT kernel, op, printf('%064d', 0) FROM template "
                   "WHERE kernel = 'transpose_vector'")
        db.execute("INSERT INTO config (template_id, text) SELECT (SELECT max(id) FROM template), text FROM winner "
                   "JOIN config ON config.id = config_id JOIN template ON template.id = template_id "
                   "WHERE kernel = 'transpose_vector' LIMIT 1")
        db.execute("INSERT INTO run (gpu_id, env_id, source, started_ms) SELECT gpu_id, env_id, source, started_ms FROM run")
        db.execute("INSERT INTO trial SELECT t.problem_id, stage, (SELECT max(id) FROM config), t.run_id, "
                   "(SELECT min(at_ms) FROM trial) - 1, status, 10, compile_us, regs, NULL, NULL, weight, limit_s, t.bits "
                   "FROM trial t JOIN winner USING (problem_id, config_id) WHERE stage = 0")
        db.execute("INSERT INTO trial SELECT t.problem_id, 1, t.config_id, (SELECT max(id) FROM run), at_ms, status, 10, "
                   "compile_us, regs, NULL, NULL, weight, limit_s, bits FROM trial t WHERE stage = 0 AND NOT EXISTS (SELECT * FROM trial f "
                   "WHERE f.problem_id = t.problem_id AND f.config_id = t.config_id AND f.stage = 1)")
        assert db.total_changes > 20
        db.commit()
    assert json.loads(run(store, "--json")) == before


def multiply(store, operations, sizes, trials):
    """Copies the winner of 4096 x 4096 to so many operations, each of so many sizes."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        old, = db.execute("SELECT problem_id FROM value WHERE name = 'rows' AND value = 4096").fetchone()
        for k in range(operations):
            db.execute("INSERT INTO operation SELECT 1000 + ?, name || ?, text FROM operation WHERE name = 'transpose'", (k, k))
            for i in range(sizes):
                new = {"old": old, "new": 10_000 + k * sizes + i, "op": 1000 + k, "rows": 4096 + 8 * i}
                db.execute("INSERT INTO problem SELECT :new, :op, warm, unverified, replace(key, 'rows=4096', 'rows=' || :rows), first, second,"
                           " moved_bytes * (1 + 0.01 * :rows), 0.0, in_graph FROM problem WHERE id = :old", new)
                db.execute("INSERT INTO value SELECT :new, place, name, iif(name = 'rows', :rows, value) FROM value"
                           " WHERE problem_id = :old", new)
                for table in ["trial"] * trials + ["winner"]:
                    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "problem_id"]
                    db.execute(f"INSERT INTO {table} (problem_id, {', '.join(columns)}) SELECT :new, {', '.join(columns)}"
                               f" FROM {table} WHERE problem_id = :old", new)
        db.commit()


def check_room(folder):
    """However many winners there are, the page stays small and says what it leaves out."""
    between = [(7, 7, True, None)] if os.environ.get("TT_LONG") else []
    for operations, sizes, trials, detailed in (18, 1, True, 18), *between, (5, 400, False, None):
        store = folder / f"many{operations}.db"
        subprocess.run([tune, "import", recording, "--db", store], check=True, capture_output=True)
        with contextlib.closing(sqlite3.connect(store)) as db:
            db.execute("DELETE FROM winner WHERE problem_id NOT IN (SELECT problem_id FROM value WHERE name = 'rows' AND value = 4096)")
            db.commit()
        multiply(store, operations, sizes, trials)
        text = run(store)
        page = check_page(text)
        n = len(page.names) and text.count("<section class=problem")
        assert len(text.encode()) <= 400_000, (operations, len(text.encode()))
        if detailed:
            assert n == detailed + 1 and "The page has details" not in page.shown, n
        else:
            assert n > 8 and f"has details of {n} of {operations * sizes + 1} winners" in page.shown, n
            assert all(f"transpose{k} " in text.split("<section class=problem", 1)[1] for k in range(operations))
        assert text == run(store)
    assert page.shown.count("transpose_vector") < 1000 and " of them in the table and figure" in page.shown
    after = check_page(run(store, store))
    assert "1998 more" not in after.shown and "2001 problems are within the noise." in after.shown
    assert " more: --csv has all" in after.shown


def check_pieces(folder):
    """A page that leaves in pieces is the same as one from memory, which is written in place because its file has two names."""
    store = folder / "pieces.db"
    subprocess.run([tune, "import", small, "--db", store], check=True, capture_output=True)
    multiply(store, 1, 250, True)
    for kept in range(50, 150, 25):  # a piece should end in the table of problems without a winner
        with contextlib.closing(sqlite3.connect(store)) as db:
            db.execute("DELETE FROM winner WHERE problem_id >= ?", (10_250 - kept,))
            db.commit()
        linked = folder / f"linked{kept}.html"
        linked.touch()
        os.link(linked, folder / f"other{kept}.html")
        run(store, "--output", linked)
        assert linked.read_text() == run(store), kept


def check_measured(folder):
    """What `tune explain` has stored: the roofline, and time against energy."""
    store = folder / "measured.db"
    subprocess.run([tune, "import", small, "--db", store], check=True, capture_output=True)
    with contextlib.closing(sqlite3.connect(store)) as db:
        db.execute("UPDATE problem SET flop = 8 * moved_bytes")
        db.commit()
        page = check_page(run(store, "--sizes", "4096"))
        assert "Peaks are unknown: run tune explain" in page.shown and "Level lines" not in page.shown
        db.execute("INSERT INTO peak SELECT id, 4000, 9000, 6e4, 3e4, 12e4, 6e5, 0 FROM gpu")
        db.execute("INSERT INTO energy SELECT w.gpu_id, w.problem_id, w.config_id, w.time_us, 0.02, 0.0001, 80, 45, 0 FROM winner w")
        db.execute("INSERT OR IGNORE INTO energy SELECT w.gpu_id, w.problem_id, min(t.config_id), w.time_us * 1.1, 0.015, 0.0001, 80, 45, 0"
                   " FROM winner w JOIN trial t USING (problem_id) GROUP BY w.problem_id")
        db.commit()
    page = check_page(run(store, "--sizes", "4096"))
    assert "Level lines are measured peaks" in page.shown and "fp16, tensor cores" in page.shown
    assert "Time against energy" in page.shown and "Peaks are unknown" not in page.shown
    assert any(name.startswith("Roofline: the winner does 29.2 TFLOP/s with 8 operations a byte") for name in page.names), page.names
    gpu, = json.loads(run(store, "--json", "--sizes", "4096"))["gpus"]
    assert gpu["tensor_gflops"] == 600000 and [e["joules"] for e in gpu["problems"][0]["energies"]] == [0.02, 0.015]


def check_unsolved(folder):
    """Problems that nothing won are on the page, with the first reason and what to run."""
    store = folder / "unsolved.db"
    n = len(screened(json.loads(small.read_text())))
    subprocess.run([tune, "import", small, "--db", store], check=True, capture_output=True)
    with contextlib.closing(sqlite3.connect(store)) as db:
        of = "problem_id IN (SELECT problem_id FROM value WHERE name = 'rows' AND value = {})"
        db.execute("DELETE FROM winner WHERE " + of.format(4096) + " OR " + of.format(8192))
        db.execute("UPDATE trial SET status = 3, reason = 'first <wrong> element' WHERE " + of.format(4096))
        db.commit()
    page = check_page(run(store))
    shown = page.shown.split("Without a winner")[-1]
    assert "2 problems were tried" in shown and f"4096x4096{n}{n}" in shown and "wrong_result: first <wrong> element" in shown, shown[:500]
    assert "check the kernel against its reference" in shown and "tune --op transpose --problem rows=4096,cols=4096" in shown
    assert "the run ended before its finals" in shown
    unsolved = json.loads(run(store, "--json"))["gpus"][0]["unsolved"]
    assert [(u["rows"], u["passed"] > 0, u["status"]) for u in unsolved] == [(4096, False, "wrong_result"), (8192, True, "")], unsolved
    only = check_page(run(store, "--sizes", "4096")).shown
    assert "0 winners" in only and "Without a winner" in only and "All winners" not in only
    assert "unsolved" in run(store, "--csv", "--sizes", "4096")


def check_refused(folder):
    for words, code, said in (
            (["--device", "replay:" + str(recording), "--sizes", "77"], 1, "was not tuned: \"tune --op transpose --problem rows=77"),
            (["--op", "axpby", recording], 1, "nothing to report of axpby"),
            (["--kernel", root / "examples/kernels/saxpy.cu", recording], 1, "saxpy.cu was not tuned"),
            ([folder / "none.db"], 4, "none.db"),
            ([root / "README.md"], 2, "not valid JSON"),
            (["--device", "0"], 2, "a report needs no device"),
            (["--json", "--csv", recording], 2, "one of them at a time"),
            (["--gpu", "A100", recording], 2, "A100"),
            (["--output", folder / "no/such/folder.html", recording], None, "cannot write")):
        done = subprocess.run([tune, "report", *map(str, words)], capture_output=True, text=True)
        assert done.returncode == code or (code is None and done.returncode), (words, done)
        assert said in done.stderr and done.stderr.count("\n") == 1, (words, done)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if sys.argv[3:] == ["more"]:
            check_changes(folder)
            check_order(folder)
            check_others(folder)
            check_room(folder)
            check_pieces(folder)
            check_refused(folder)
        else:
            size, seconds = check_recording()
            check_data()
            check_store(folder)
            check_measured(folder)
            check_unsolved(folder)
            print(f"{size} bytes in {seconds:.2f} s")


if __name__ == "__main__":
    main()
