#!/usr/bin/env python3
"""test_import_t4.py TUNE ROOT: results of other tuners, imported and replayed.

T4 as Kernel Tuner and the FAIR benchmark hub write it, Kernel Tuner's cache files, either compressed, whole and cut
off, and files that do not fit the kernel. No GPU.
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True
tune, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])

KERNEL = """\
//@ kernel   scale
//@ problem  n 4096
//@ buffer   x f32 n inout
//@ args     x, i64 n
//@ param    THREADS 32 64 128 2048
//@ param    MODE    fast slow
//@ where    THREADS <= max_threads_per_block
//@ where    MODE = 'fast' OR THREADS < 128
//@ block    THREADS
//@ grid     ceil_div(n, THREADS)
//@ default  THREADS=32 MODE=fast
extern "C" __global__ void scale(float *x, long long n) {
    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        x[i] *= 2;
}
"""
#        THREADS, MODE, milliseconds or what went wrong
TRIALS = [(32, "fast", 0.5), (64, "fast", 0.25), (128, "fast", 0.125), (32, "slow", 0.75),
          (64, "slow", "CompilationFailedConfig"), (2048, "fast", "RuntimeFailedConfig"),
          (128, "slow", "InvalidConfig")]
WORDS = {"CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime", "InvalidConfig": "constraints"}
BEST = "MODE=fast"


def hub(trials=None, unit=1, **metadata):
    """As the benchmark hub has it: failures have no runtimes, and a word for a time."""
    results = []
    for threads, mode, time in trials or TRIALS:
        good = not isinstance(time, str)
        result = {"timestamp": "2023-12-22 09:54:05.502007+00:00", "configuration": {"MODE": mode, "THREADS": threads},
                  "times": {"compilation": 918.5 * unit, "framework": 105.2, "search_algorithm": 0, "validation": 0},
                  "invalidity": "correct" if good else WORDS[time], "correctness": int(good),
                  "measurements": [{"name": "time", "value": time * unit if good else time, "unit": ""}],
                  "objectives": ["time"]}
        if good:
            result["times"]["runtimes"] = [time * unit] * 200  # more than is kept
        results.append(result)
    return {"metadata": {"timeunit": "miliseconds", **metadata}, "results": results, "schema_version": "1.0.0"}


def cache(trials=None, old=False):
    """Kernel Tuner's cache file; before 1.4 a failure was a word for a time."""
    entries = {}
    for threads, mode, time in trials or TRIALS:
        entry = {"THREADS": threads, "MODE": mode}
        if isinstance(time, str):
            entry |= {"time": time} if old else {"__error__": time}
        else:
            entry |= {"time": time, "times": [time, time, time], "GFLOP/s": 1.5}
        entries[f"{threads},{mode}"] = entry | {"compile_time": 100.5, "verification_time": 0, "benchmark_time": 1.5,
                                                "timestamp": "2026-01-01 00:00:00+00:00"}
    return {"device_name": "NVIDIA A100-PCIE-40GB", "kernel_name": "scale", "problem_size": [4096],
            "tune_params_keys": ["THREADS", "MODE"], "tune_params": {"THREADS": [32, 64, 128], "MODE": ["fast", "slow"]},
            "objective": "time", "cache": entries}


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
        self.assertIn("2 problems", self.load(name, "--problem", "n=1", "--problem", "n=2", code=2))
        self.assertIn("name its variables with --problem", self.load(name, "--size", "64", code=2))
        tiled = self.write("t.json", hub([]) | {"results": [
            {"configuration": {"TILE_DIM": 32, "BLOCK_ROWS": 8, "PAD": 1, "UNROLL": 1, "ORDER": 0},
             "times": {"runtimes": [0.1]}, "invalidity": "correct", "correctness": 1}]})
        for i, problem in enumerate((["--size", 512], ["--shape", "512x512"], ["--problem", "rows=512,cols=512"])):
            self.tune("import", tiled, "--gpu", "H200", "--kernel", "transpose_tiled", *problem, "--db", f"{i}.db")
            best = json.loads(self.tune("best", "--gpu", "H200", "--size", 512, "--db", f"{i}.db", "--json"))
            self.assertEqual((best["kernel"], best["layer"]), ("transpose_tiled", "user"), problem)
        self.assertIn("a copy", self.tune("import", tiled, "--gpu", "H200", "--kernel", "copy_linear", "--size", 512,
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
        self.assertIn("\"tune import\" takes it", self.tune("merge", "o.db", name, code=2))

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
        self.assertIn("replayed", self.tune("show", "--gpu", "own.json", "--kernel", "scale.cu", "--db", "s.db", "--json"))

    def test_of_more_than_one(self):
        name = self.write("r.json", hub())
        self.assertIn("one problem with one kernel", self.replay(name, "--problem", "n=1", "--problem", "n=2", code=2))
        self.assertIn("one problem with one kernel",
                      self.tune("--device", f"replay:{name}", "--sizes", 64, code=2))
        self.assertIn("no parameter", self.tune("--device", f"replay:{name}", "--sizes", 64, "--only",
                                                "transpose_tiled", code=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
