#!/usr/bin/env python3
"""test_import_t4.py TUNE ROOT: results of other tuners, imported and replayed.

T4 as Kernel Tuner and the FAIR benchmark hub write it, Kernel Tuner's cache files, either compressed, whole and cut
off, and files that do not fit the kernel. No GPU.
"""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True

from t4_cases import KERNEL, cache, hub

tune, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])


class Folder(unittest.TestCase):
    """Tests in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("scale.cu", KERNEL)

    def write(self, name, what):
        text = what if isinstance(what, str) else json.dumps(what)
        (self.folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return name

    def tune(self, *words, code=0):
        env = {**os.environ, "TILETUNE_TRUST_STORE": "1", "TILETUNE_NVRTC": "/nonexistent", "HOME": str(self.folder)}
        done = subprocess.run([tune, *map(str, words)], cwd=self.folder, env=env, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done.stderr if code else done.stdout

    def load(self, name, *more, code=0, gpu=("--gpu", "NVIDIA A100-PCIE-40GB", "--cc", "8.0")):
        return self.tune("import", name, *gpu, "--kernel", "scale.cu", "--db", "s.db", *more, code=code)

    def refused(self, what, *words, name="r.json"):
        error = self.load(self.write(name, what), code=2)
        for word in (name, *words):
            self.assertIn(word, error)
        self.assertFalse((self.folder / "s.db").exists())


class Import(Folder):
    def test_formats(self):
        whole = json.dumps(cache(), indent=0)
        files = {"hub.json": hub(), "hub.json.gz": hub(), "gz": hub(), "cache.json": whole, "cache.json.gz": whole,
                 "old.json": cache(old=True), "open.json": whole.rstrip("}\n ") + "},\n",
                 "microseconds.json": hub(unit=1e3, timeunit="microseconds"),
                 "seconds.json": hub(unit=1e-3, timeunit="Seconds"), "none.json": hub(timeunit=None)}
        for name, what in files.items():
            with self.subTest(name):
                (self.folder / "s.db").unlink(missing_ok=True)
                said = self.load(self.write(name, what))
                self.assertIn("s.db: 1 winner, 7 trials, 0 cubins new", said)
                best = json.loads(self.tune("best", "--gpu", "A100", "--kernel", "scale.cu", "--db", "s.db", "--json"))
                self.assertEqual(best["config"], {"THREADS": 128, "MODE": "fast"})
                self.assertAlmostEqual(best["time_us"], 125)
                self.assertEqual((best["match"], best["layer"]), ("stale", "user"))
                shown = json.loads(self.tune("show", "--gpu", "A100", "--kernel", "scale.cu", "--db", "s.db", "--json"))
                self.assertEqual((shown["trials"], shown["failed"]), (7, 2))

    def test_mean_where_no_time_is_said(self):
        t4 = hub([(64, "fast", 0.25)])
        t4["results"][0]["measurements"] = [{"name": "GFLOP/s", "value": 3.5, "unit": ""}]
        t4["results"][0]["times"]["runtimes"] = [0.2, 0.3, 0.4]
        self.load(self.write("r.json", t4))
        best = json.loads(self.tune("best", "--gpu", "A100", "--kernel", "scale.cu", "--db", "s.db", "--json"))
        self.assertAlmostEqual(best["time_us"], 300, places=2)

    def test_values_as_python_has_them(self):
        """32.0, true and false are numbers to Kernel Tuner."""
        self.write("scale.cu", KERNEL.replace("MODE    fast slow", "MODE    0 1").replace("= 'fast'", "= 1")
                   .replace("MODE=fast", "MODE=1"))
        self.load(self.write("r.json", hub([(64.0, True, 0.5), (32.0, False, 0.25)])))
        best = json.loads(self.tune("best", "--gpu", "A100", "--kernel", "scale.cu", "--db", "s.db", "--json"))
        self.assertEqual(best["config"], {"THREADS": 32, "MODE": 0})

    def test_problems(self):
        name = self.write("r.json", hub())
        self.load(name, "--problem", "n=1000")
        self.assertIn("n=1000", self.tune("list", "--db", "s.db"))
        self.assertIn("m", self.load(name, "--problem", "m=1000", code=2))
        self.assertIn("2 problems: one at a time", self.load(name, "--problem", "n=1", "--problem", "n=2", code=2))
        self.assertIn("name its variables with --problem", self.load(name, "--size", "64", code=2))
        tiled = self.write("t.json", hub([]) | {"results": [
            {"configuration": {"TILE_DIM": 32, "BLOCK_ROWS": 8, "PAD": 1, "UNROLL": 1, "ORDER": 0},
             "times": {"runtimes": [0.1]}, "invalidity": "correct", "correctness": 1}]})
        for i, problem in enumerate((["--size", 512], ["--shape", "512x512"], ["--problem", "rows=512,cols=512"])):
            self.tune("import", tiled, "--gpu", "H200", "--kernel", "transpose_tiled", *problem, "--db", f"{i}.db")
            best = json.loads(self.tune("best", "--gpu", "H200", "--size", 512, "--db", f"{i}.db", "--json"))
            self.assertEqual((best["kernel"], best["layer"]), ("transpose_tiled", "user"), problem)
        self.assertIn("is for copy", self.tune("import", tiled, "--gpu", "H200", "--kernel", "copy_linear", "--size", 512,
                                          "--db", "c.db", code=2))

    def test_what_was_not_said(self):
        name = self.write("r.json", hub())
        self.assertIn("does not say the GPU, the kernel and the problem: give --gpu and --kernel",
                      self.tune("import", name, "--db", "s.db", code=2))
        self.assertIn("a cache file of Kernel Tuner", self.tune("import", self.write("c.json", cache()), code=2))
        self.assertIn("--gpu is missing", self.tune("import", name, "--kernel", "scale.cu", code=2))
        self.assertIn("--kernel is missing", self.tune("import", name, "--gpu", "x", "--problem", "n=1", code=2))
        self.assertIn("--cc 8.0", self.load(name, gpu=("--gpu", "NVIDIA A100"), code=2))
        for cc in ("80", "8", "x", "8.", "0.0", "8.00", "-1.0"):
            self.assertIn("compute capability", self.load(name, gpu=("--gpu", "A100", "--cc", cc), code=2))
        self.assertIn("device_name is \"NVIDIA A100-PCIE-40GB\"", self.load("c.json", gpu=("--gpu", "H200"), code=2))
        instance = ("--gpu", "NVIDIA A100-PCIE-40GB MIG 1g.5gb", "--cc", "8.0")
        self.write("mig.json", {**cache(), "device_name": "NVIDIA A100-PCIE-40GB MIG 2g.10gb"})
        self.assertIn("--gpu is NVIDIA A100-PCIE-40GB MIG 1g.5gb", self.load("mig.json", gpu=instance, code=2))
        self.assertIn("\"tune import\" takes it", self.tune("merge", "o.db", name, code=2))

    def test_a_time_that_is_none(self):
        """One measurement that is no number does not cost the others of a cache."""
        trials = [(32, "fast", 0.5), (64, "fast", 0.25), (128, "fast", 0.125)]
        whole = json.dumps(cache(trials))
        for bad in ("NaN", "1e20", "-Infinity"):
            with self.subTest(bad):
                (self.folder / "s.db").unlink(missing_ok=True)
                (self.folder / "c.json").write_text(whole.replace('"time": 0.125', f'"time": {bad}'), encoding="utf-8")
                said = self.load("c.json")
                self.assertIn("s.db: 1 winner, 2 trials", said)
                best = json.loads(self.tune("best", "--gpu", "A100", "--kernel", "scale.cu", "--db", "s.db", "--json"))
                self.assertAlmostEqual(best["time_us"], 250)
                for line in (["import", "c.json", "--gpu", "A100", "--cc", "8.0", "--kernel", "scale.cu", "--problem", "n=5000", "--db", "t.db"],
                             ["--device", "replay:c.json", "--kernel", "scale.cu", "--unverified", "--problem", "n=5000"]):
                    done = subprocess.run([tune, *line], cwd=self.folder, capture_output=True, text=True)
                    self.assertRegex(done.stderr, r"^tune: 1 member is left out: c\.json: cache\[2\]", done)
                    self.assertNotIn("tune report", done.stdout)  # which needs to know the kernel

    def test_no_configuration_of_the_kernel(self):
        """A convolution must not become the winner of a transpose."""
        self.refused(hub([(64, "fast", 1), (96, "fast", 0.5)]), "results[1]", "96 is no value of THREADS", "32 64 128")
        self.refused(hub([(64, "wide", 1)]), "results[0]", "wide is no value of MODE")
        self.refused(hub([(128, "fast", 1), (128, "slow", 0.5)]), "results[1]", "MODE=slow", "does not hold")
        self.refused(hub([(96, "fast", "RuntimeFailedConfig")]), "results[0]", "96 is no value")
        self.refused(cache([(96, "fast", 0.5)]), "cache[0]", "96 is no value of THREADS")
        for change, says in (({"BLOCK": 1}, "no parameter BLOCK"), ({"THREADS": [32]}, "array"),
                             ({"THREADS": None}, "null"), ({"THREADS": 32.5}, "32.5 is no value"),
                             ({"A B": 1}, "A B=1")):
            t4 = hub([(32, "fast", 0.5)])
            t4["results"][0]["configuration"] |= change
            self.refused(t4, "results[0]", says)
        del t4["results"][0]["configuration"]["MODE"], t4["results"][0]["configuration"]["A B"]
        self.refused(t4, "results[0]", "no value for the parameter MODE")

    def test_other_files(self):
        self.refused({"metadata": {"timeunit": "hours"}, "results": []}, "hours")
        self.refused({"Metadata": {}, "Results": []}, "output of KTT")
        self.refused({"metadata": {"hardware": {}}, "schema_version": "1.0.0"}, "no \"results\" and no \"cache\"")
        self.refused({"results": {}}, "results is object")
        self.refused({**cache(), "cache": {"1": 5}}, "cache[0]")
        self.refused({**cache(), "cache": {"1": {"time": 0.5}}}, "cache[0]", "no value for the parameter")
        self.refused(json.dumps(cache())[:-40], "not valid JSON")
        packed = gzip.compress(json.dumps(hub()).encode())
        for damaged in (packed[:-20], packed[:40] + b"\0" * 40 + packed[80:], b"\x1f\x8b", b"\x1f\x8b\x08"):
            (self.folder / "d.gz").write_bytes(damaged)
            self.assertIn("gzip cannot unpack it", self.load("d.gz", code=2))

    def test_what_never_ends_when_unpacked(self):
        deflate = zlib.compressobj(wbits=-15)
        one = deflate.compress(b" " * (1 << 24)) + deflate.flush(zlib.Z_FULL_FLUSH)
        (self.folder / "bomb.gz").write_bytes(gzip.compress(b"")[:10] + 33 * one)
        self.assertIn("too large", self.load("bomb.gz", code=2))


class Replay(Folder):
    def replay(self, name, *more, code=0):
        return self.tune("--device", f"replay:{name}", "--kernel", "scale.cu", "--unverified", "--json", *more, code=code)

    def test_finds_the_best(self):
        for name, what, gpu in (("A100_T4.json.gz", hub(), "A100_T4.json.gz"),
                                ("cache.json", cache(), "NVIDIA A100-PCIE-40GB")):
            report = json.loads(self.replay(self.write(name, what), "--problem", "n=5000"))
            self.assertEqual(report["gpu"], gpu)
            result = report["results"][0]
            self.assertEqual(result["config"], {"THREADS": 128, "MODE": "fast"})
            self.assertEqual((result["time_us"], result["source"], result["failed"]), (125, "replayed", 1))
        own = self.write("own.json", json.dumps(hub()))
        self.replay(own, "--db", "s.db")
        instance = self.write("mig.json", {**cache(), "device_name": "GPU MIG 1g.5gb"})
        self.replay(instance, "--problem", "n=5000", "--db", "s.db")
        self.assertIn('"gpu":"GPU","mig":"1g.5gb"', self.tune("list", "--db", "s.db", "--json"))
        self.assertIn("replayed", self.tune("show", "--gpu", "own.json", "--kernel", "scale.cu", "--db", "s.db", "--json"))

    def test_of_more_than_one(self):
        name = self.write("r.json", hub())
        self.assertIn("one problem with one kernel", self.replay(name, "--problem", "n=1", "--problem", "n=2", code=2))
        self.assertIn("one problem with one kernel",
                      self.tune("--device", f"replay:{name}", "--sizes", 64, code=2))
        self.assertIn("no parameter", self.tune("--device", f"replay:{name}", "--sizes", 64, "--only",
                                                "transpose_tiled", code=2))


class Export(Folder):
    def export(self, *more, code=0):
        return self.tune("export", "--db", "s.db", "--gpu", "A100", *more, code=code)

    def test_a_cache_file(self):
        self.load(self.write("r.json", hub()))
        text = self.export("--format", "kernel-tuner-cache")
        self.assertEqual(text[-3:], "}\n}")  # by which Kernel Tuner knows a whole file
        out = json.loads(text)
        self.assertEqual((out["device_name"], out["kernel_name"], out["problem_size"], out["objective"]),
                         ("NVIDIA A100-PCIE-40GB", "scale", [4096], "time"))
        self.assertEqual(out["tune_params_keys"], ["THREADS", "MODE"])
        self.assertEqual(out["tune_params"], {"THREADS": [32, 64, 128, 2048], "MODE": ["fast", "slow"]})
        self.assertEqual(len(out["cache"]), 7)
        for key, entry in out["cache"].items():
            self.assertEqual(key, f"{entry['THREADS']},{entry['MODE']}")
            self.assertEqual(entry["compile_time"], 918.5)
        entries = out["cache"]
        self.assertEqual(entries["128,fast"]["time"], 0.125)
        self.assertEqual(entries["128,fast"]["times"], [0.125] * 128)
        self.assertNotIn("__error__", entries["128,fast"])
        for key, word in (("64,slow", "CompilationFailedConfig"), ("2048,fast", "RuntimeFailedConfig"),
                          ("128,slow", "InvalidConfig")):
            self.assertEqual((entries[key]["time"], entries[key]["__error__"]), (word, word))
        self.write("again.json", text)
        self.load("again.json", "--db", "t.db")
        again = json.loads(self.tune("export", "--db", "t.db", "--gpu", "A100", "--format", "kernel-tuner-cache"))
        for entry in [*entries.values(), *again["cache"].values()]:
            del entry["timestamp"]
        self.assertEqual(again, out)

    def test_a_parameter_of_a_result_s_name(self):
        """An entry of a cache file would have it twice, and Kernel Tuner overwrites it."""
        for name in ("time", "compile_time"):
            self.write("scale.cu", re.sub(r"\bMODE\b", name, KERNEL))
            text = json.dumps(hub()).replace('"MODE"', f'"{name}"')
            self.load(self.write("r.json", text), "--db", f"{name}.db")
            said = self.tune("export", "--db", f"{name}.db", "--gpu", "A100", "--format", "kernel-tuner-cache", code=2)
            self.assertIn(f'scale has a parameter "{name}", which is a result in each entry of a cache file', said)
            self.assertIn(f'"{name}":"fast"', self.tune("export", "--db", f"{name}.db", "--gpu", "A100").replace(" ", ""))

    def test_no_parameters(self):
        self.write("scale.cu", "\n".join(line for line in KERNEL.replace("THREADS", "32").splitlines()
                                         if not line.startswith(("//@ param", "//@ where", "//@ default"))))
        self.load(self.write("r.json", {"results": [{"configuration": {}, "times": {"runtimes": [0.5]},
                                                     "invalidity": "correct", "correctness": 1}]}))
        out = json.loads(self.export("--format", "kernel-tuner-cache"))
        self.assertEqual((out["tune_params_keys"], out["tune_params"], out["cache"][""]["time"]), ([], {}, 0.5))

    def test_parts(self):
        recording = root / "tests/data/small.json"
        self.tune("import", recording, "--db", "s.db")
        export = ["export", "--db", "s.db", "--gpu", "H200"]
        whole = json.loads(self.tune(*export))
        self.assertEqual(whole["metadata"]["timeunit"], "milliseconds")
        for result in whole["results"]:
            self.assertEqual(result["times"]["compilation"], result["times"]["compilation_time"])
        parts = [["--op", "copy"], ["--kernel", "transpose_tiled"], ["--kernel", "transpose_tiled", "--size", 4096],
                 ["--op", "transpose", "--shape", "4096x4096"], ["--problem", "rows=4096,cols=4096"]]
        sizes = []
        for part in parts:
            got = json.loads(self.tune(*export, *part))
            problems = got["metadata"]["problems"]
            keep = [r for r in whole["results"] if whole["metadata"]["problems"][r["problem"]] in problems
                    and r["kernel"] in got["metadata"]["kernels"]]
            self.assertEqual([r["configuration"] for r in got["results"]], [r["configuration"] for r in keep], part)
            sizes.append((len(got["metadata"]["kernels"]), len(problems)))
        self.assertEqual(sizes[1:3], [(1, 5), (1, 1)])
        self.assertEqual(sizes[4], sizes[3])
        self.assertEqual({p["op"] for p in json.loads(self.tune(*export, *parts[0]))["metadata"]["problems"]}, {"copy"})
        cached = json.loads(self.tune(*export, *parts[2], "--format", "kernel-tuner-cache"))
        self.assertEqual(len(cached["cache"]), len({json.dumps(r["configuration"]) for r in whole["results"]
                                                   if r["kernel"] == "transpose_tiled" and whole["metadata"]["problems"]
                                                   [r["problem"]].get("rows") == 4096}))
        for words, says in ((["--kernel", "nope"], "no trials of nope on this GPU"),
                            (["--op", "nope"], "no trials of nope on this GPU"),
                            (["--kernel", "transpose_tiled", "--size", 77],
                             "of transpose_tiled for this problem on this GPU"),
                            (["--op", "nope", "--problem", "n=1"], "there is no operation nope (there are "),
                            (["--size", 64, "--size", 65], "one at a time"),
                            (["--format", "kernel-tuner-cache"], "one kernel and one problem"),
                            (["--format", "xml"], "expected t4"), (["--kernel", "none.cu"], "none.cu"),
                            (["--database", "x.db", "--kernel", "transpose_tiled"], "leave them out with --database"),
                            (["--format", "kernel-tuner-cache", "--commit", "x"], "no place for --commit")):
            code = 1 if "on this GPU" in says or "none.cu" in says else 2
            self.assertIn(says, self.tune(*export, *words, code=code))
        self.assertFalse((self.folder / "x.db").exists())

    def test_a_kernel_of_yours(self):
        for n in (1000, 2000):
            self.load(self.write("r.json", hub()), "--problem", f"n={n}")
        out = json.loads(self.export("--kernel", "scale.cu", "--problem", "n=2000", "--format", "kernel-tuner-cache"))
        self.assertEqual(out["problem_size"], [2000])
        self.assertEqual(len(json.loads(self.export("--kernel", "scale"))["metadata"]["problems"]), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
