#!/usr/bin/env python3
"""test_import_t1.py TUNE ROOT: `tune import-t1`, and its script in this process.

It tries expressions in our language, faulty and hostile files, and inputs changed at random. Every resulting kernel
file passes `tune check`.
"""
import contextlib
import importlib
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from t1_cases import (ARGUMENTS, BAD, BAD_KERNELS, CONDITIONS, EXPRESSIONS, GOOD, KERNELS, REFUSED, SOURCE, WHOLE)

tune, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(root / "tools/t1"))
import_t1, expression, members, value = map(importlib.import_module,
                                            ("import_t1", "t1_expression", "t1_members", "t1_value"))


def number(name, low, high):
    return value.Value(value.INT, text=name, low=low, high=high, items=[value.integer(n) for n in range(low, high + 1)])


def mixed(name):
    items = [value.integer(7), value.real(7.5)]
    return value.Value(value.REAL, text=name, low=7, high=7.5, items=items)


NAMES = {"a": number("a", 1, 8), "f": mixed("f"), "g": mixed("g"), "b": number("b", 0, 32), "s": number("s", -4, 4),
         "m": value.Value(value.WORD, text="m", items=[value.word("fast"), value.word("slow"), value.integer(7)]),
         "ProblemSize": value.sequence([value.Value(value.INT, text="nx", low=1, high=10**9)])}


def translate(text, read=expression.read):
    x = read(text, NAMES)
    if x.kind == value.LIST:
        return " ".join(item.value if item.kind == value.WORD else value.line(item) for item in x.items)
    return value.line(value.whole(x) if x.kind == value.RATIO else x)


def run(*command, **env):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "TILETUNE_NVRTC": "/nonexistent", **env})


class Folder(unittest.TestCase):
    """Tests in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "in")
        self.folder.mkdir()

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def script(self, problem, source=SOURCE):
        """The script in this process: exit code, the kernel file, standard error."""
        self.write("x.json", problem)
        self.write("k.cu", source)
        out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = import_t1.main(["import_t1.py", str(self.folder / "x.json")])
        return code, out.buffer.getvalue(), err.buffer.getvalue().decode("utf-8", "replace")

    def check(self, text):
        """tune check says that it is a template."""
        checked = run(tune, "check", self.write("out.cu", text))
        self.assertEqual(checked.returncode, 0, checked.stderr + text.decode("utf-8", "replace"))

    def expect(self, has, part="x", instead="x", source=SOURCE):
        code, text, err = self.script(WHOLE.replace(part, instead, 1), source)
        self.assertEqual(code, 0, err)
        self.assertIn(has, text.decode())
        self.check(text)

    def refuse(self, says, part="x", instead="x", source=SOURCE):
        code, text, err = self.script(WHOLE.replace(part, instead, 1), source)
        self.assertEqual((code, text), (2, b""), err)
        self.assertRegex(err, r"\Atune: [^\n]+\n\Z")
        self.assertIn(says, err)

    def imports(self, *words, **env):
        return run(tune, "import-t1", *words, **env)

    def fails(self, says, *words, code=2, **env):
        done = self.imports(*words, **env)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Atune: [^\n]+\n\Z")
        self.assertIn(says, done.stderr)


class Expressions(unittest.TestCase):
    def test_good(self):
        for text, ours in EXPRESSIONS:
            with self.subTest(text):
                self.assertEqual(translate(text), ours)

    def test_refused(self):
        for text, says in REFUSED:
            with self.subTest(text[:80]), self.assertRaises(value.Refusal) as refusal:
                translate(text)
            self.assertIn(says, str(refusal.exception))

    def test_conditions(self):
        for text, ours in CONDITIONS:
            with self.subTest(text):
                self.assertEqual(translate(text, expression.read_condition), ours)

    def test_same_as_python(self):
        """Python itself says what a condition means, for each value of the parameters; our text is asked by SQLite."""
        import sqlite3
        db = sqlite3.connect(":memory:")
        self.addCleanup(db.close)
        functions = {"log2": lambda n: n.bit_length() - 1 if n > 0 else None, "ceil_div": lambda a, b: -(-a // b)}
        for name, function in functions.items():
            db.create_function(name, 1 + (name == "ceil_div"), function)
        texts = ["s % a == 1", "s // a == -1", "b / a > 3 or s == 2", "round(b / a) == 2",
                 "a ^ b == 5", "1 <= s < a <= 4", "int(s / a) == -1", "math.ceil(b / a) == 3", "max(a, s) == -s",
                 "math.log2(a) == int(math.log2(a))", "round(math.log2(a)) == 2", "b // a % 2 == 1", "2 ** a == b",
                 "math.ceil(math.log2(a)) == 3", "s * a in (-6, 4)", "b / 8 in (a, 1)", "not (a > 2 and b) or s < 0",
                 "~s == a", "-s % -a == -1", "s if a > 2 else b", "any(s == i - a for i in range(3))"]
        import math
        for text in texts:
            ours = value.line(expression.read_condition(text, NAMES))
            for a, b, s in ((a, b, s) for a in range(1, 9) for b in range(0, 33, 3) for s in range(-4, 5)):
                sql = db.execute("SELECT (" + ours + ") IS TRUE FROM (SELECT ? a, ? b, ? s)", (a, b, s)).fetchone()[0]
                try:
                    python = bool(eval(text, {"math": math, "a": a, "b": b, "s": s}))
                except ZeroDivisionError:
                    python = False
                self.assertEqual(bool(sql), python, f"{text} -> {ours} for a={a} b={b} s={s}")


class Files(Folder):
    def test_good(self):
        for part, instead, has in GOOD:
            with self.subTest(instead):
                self.expect(has, part, instead)

    def test_bad(self):
        for part, instead, says in BAD:
            with self.subTest(instead[:80]):
                self.refuse(says, part, instead)

    def test_kernels(self):
        for source, has in KERNELS:
            with self.subTest(source):
                self.expect(has, source=source)
        for source, says in BAD_KERNELS:
            with self.subTest(source):
                self.refuse(says, source=source)

    def test_constant_memory(self):
        """An argument for a __constant__ array of the code fills it, and is no argument of the kernel."""
        part = '{"Name": "n"'
        given = '{"Name": "w", "Type": "float", "Size": 7, "MemoryType": "Vector", "MemType": "Constant", ' \
                '"AccessType": "ReadOnly", "FillType": "Random", "FillValue": 2}, '
        source = "__constant__ float w[7];\n" + SOURCE
        self.expect("//@ constant w f32 7 uniform 0 2\n", part, given + part, source=source)
        self.expect("the code has no __constant__ array of that name", part, given + part,
                    source=SOURCE.replace("float *o", "float *o, float *w"))

    def test_other_bytes(self):
        code, text, err = self.script(WHOLE, b"// m\xfcde\n" + SOURCE.encode())
        self.assertEqual(code, 0, err)
        self.assertIn(b"\n// m\xfcde\n", text)

    def test_many_parameters(self):
        """Parameters with one value make room for others."""
        def some(n, values):
            return "".join(f'{{"Name": "P{i}", "Values": "[{i}{values(i)}]"}}, ' for i in range(n)) + '{"Name": "B"'
        first = '{"Name": "B"'
        self.expect("//@ param    P3 3 99\n//@ param    B 32 64\n", first, some(36, lambda i: ", 99" if i < 4 else ""))
        self.expect("\n#define P4 4\n#define P5 5\n", first, some(36, lambda i: ", 99" if i < 4 else ""))
        self.refuse("38 parameters of more than one value, the limit is 32", first, some(36, lambda i: ", 99"))

    def test_no_parameters(self):
        begin, end = WHOLE.index('{"Name": "B"'), WHOLE.index("],\n \"Conditions\"")
        problem = WHOLE[:begin] + WHOLE[end:].replace('"Conditions"', '"x"').replace("256 // B", "8").replace('"B"', "32")
        code, text, err = self.script(problem)
        self.assertEqual(code, 0, err)
        self.check(text)

    def test_large_space(self):
        """16 parameters, 14 of them with 8 values. Few combinations are legal, and one is found."""
        names = [f"P{i}" for i in range(14)]
        params = "".join(f'{{"Name": "{n}", "Values": [1, 2, 3, 4, 5, 6, 7, 8]}}, ' for n in names)
        conditions = "".join(f'{{"Expression": "{a} == {b} + 1 or {a} == 1 and {b} == 8"}}, '
                             for a, b in zip(names[1:], names))
        self.write("k.cu", SOURCE)
        problem = WHOLE.replace('{"Name": "B"', params + '{"Name": "B"', 1).replace('{"Parameters"',
                                                                                    conditions + '{"Parameters"', 1)
        code, text, err = self.script(problem)
        self.assertEqual(code, 0, err)
        self.check(text)

    def test_too_large(self):
        values = lambda n: "".join(f'{{"Name": "P{i}", "Values": "range(1, 33)"}}, ' for i in range(n)) + '{"Name": "B"'
        self.expect("//@ default  P0=1 P1=1 B=32", '{"Name": "B"', values(2))
        code, text, err = self.script(WHOLE.replace('{"Name": "B"', values(3)))
        self.assertEqual(code, 0, err)
        self.assertRegex(text.decode(), r"// - the space has about 1[23]\d{4} configurations: a search begins with a sample")
        self.assertIn("about 1.3e+05 configurations", run(tune, "check", self.write("out.cu", text)).stdout)
        code, text, err = self.script(WHOLE.replace('{"Name": "B"', values(3)).replace("B > U", "P0 == P1 and B > U"))
        self.assertEqual(code, 0, err)
        self.check(text)

    def test_guessed(self):
        source = ("__global__ void k(const float4 *__restrict__ src, unsigned char out[], int w, int h, float f) {}",
                  "__global__ void k(const float4 *__restrict__ src, unsigned char *out, int w, size_t h, float f) {}")
        self.refuse("the kernel's parameter `unsigned char out[]` is none that can be guessed", ARGUMENTS,
                    '"ProblemSize": [40, 30]', source[0])
        for line in ("buffer   src f32 problem_size_x * problem_size_y * 4 in", "scalar   f f32 1",
                     "buffer   out u8 problem_size_x * problem_size_y inout",
                     "args     src, out, i32 problem_size_x, u64 problem_size_y, f"):
            self.expect(f"//@ {line}\n", ARGUMENTS, '"ProblemSize": [40, 30]', source[1])


class Program(Folder):
    """As a user runs it."""

    def setUp(self):
        super().setUp()
        for file in (root / "tests/data/t1").iterdir():
            self.write(file.name, file.read_bytes())

    def test_usage(self):
        at = self.folder
        self.fails("import-t1 reads one file, and 0 are named")
        self.fails("import-t1 reads one file, and 2 are named", at / "a", at / "b")
        self.fails("cannot read ", at / "nosuch.json")
        self.fails(": only regular files are read", at)
        self.fails("cannot write ", at / "saxpy.json", "--output", at / "no/such.cu")
        self.fails("empty.json: not valid JSON (0 bytes)", self.write("empty.json", ""))
        self.fails("saxpy.cu: not valid JSON", at / "saxpy.cu")
        done = self.imports(at / "saxpy.json", "--output", at / "s.cu")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("saxpy.json: the compiler's option -I/usr/include is left out", done.stderr)
        self.fails("s.cu is there already", at / "saxpy.json", "--output", at / "s.cu")
        self.check((at / "s.cu").read_bytes())

    def test_hostile_files(self):
        """A kernel's file is in the folder of the problem, wherever its name leads."""
        def problem(name, kernel):
            self.write("k.cu", SOURCE)
            return self.write(name, WHOLE.replace('"k.cu"', json.dumps(kernel)))
        (self.folder / "../up.cu").write_text(SOURCE)
        (self.folder / "link.cu").symlink_to("/etc/passwd")
        (self.folder / "loop.cu").symlink_to("loop.cu")
        os.mkfifo(self.folder / "pipe.cu")
        os.mkfifo(self.folder / "pipe.json")
        outside = "is outside the folder of this file"
        self.fails(outside, problem("up.json", "../up.cu"))
        self.fails("KernelFile is /etc/passwd: expected a path relative to this file", problem("r.json", "/etc/passwd"))
        self.fails(outside, problem("link.json", "link.cu"))
        self.fails("cannot read KernelSpecification.KernelFile", problem("loop.json", "loop.cu"))
        self.fails("pipe.cu: only regular files are read", problem("p.json", "pipe.cu"))
        self.fails("pipe.json: only regular files are read", self.folder / "pipe.json")
        self.fails("cannot read /dev/zero: only regular files are read", "/dev/zero")
        self.fails(outside, problem("self.json", "."))
        self.fails("large.json: 2097152 bytes, the limit is 1048576", self.write("large.json", " " * (2 << 20)))
        self.write("large.cu", SOURCE + "\n" * (1 << 20))
        self.fails("the limit is 1048576", problem("l.json", "large.cu"))
        self.write("zero.cu", b"\0")
        self.fails("a NUL byte at offset 0", problem("z.json", "zero.cu"))

    def test_environment(self):
        """Neither PYTHONPATH nor the current folder nor the file's folder says what is imported."""
        for name in ("json", "ast", "re", "t1_value", "t1_convert", "sitecustomize", "os"):
            self.write(name + ".py", "import sys; sys.exit(77)\n")
        names = {"PYTHONPATH": str(self.folder), "PYTHONHOME": "/nonexistent", "PYTHONINSPECT": "1",
                 "PYTHONSTARTUP": str(self.folder / "os.py"), "PYTHONIOENCODING": "ascii", "PYTHONWARNINGS": "error"}
        done = subprocess.run([tune, "import-t1", "saxpy.json"], capture_output=True, cwd=self.folder, timeout=60,
                              env={**os.environ, **names}, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(done.stdout)

    def test_without_python(self):
        self.fails("import-t1 needs Python 3.9 or newer, and there is no python3: install it",
                   self.folder / "saxpy.json", code=1, PATH=str(self.folder))
        old = "import sys; sys.version_info = (3, 8, 1); sys.argv = ['x']; exec(open(%r).read())"
        done = run(sys.executable, "-c", old % str(root / "tools/t1/import_t1.py"))
        self.assertEqual((done.returncode, done.stderr),
                         (1, "tune: import-t1 needs Python 3.9 or newer, and python3 is 3.8\n"))


class Lists(unittest.TestCase):
    """The script's copies of the program's tables equal the originals."""

    def strings(self, file, begin):
        text = (root / "src" / file).read_text()
        table = text[text.index(begin):]
        return re.findall(r'"([^"]+)"', table[:table.index("};")])

    def test_names(self):
        taken = self.strings("kernel/expression/scan.c", "tt__fact_names[TT__FACT_COUNT] = {") + \
            self.strings("kernel/expression/scan.c", "tt__functions[] = {") + self.strings("kernel/expression/scan.c", "} keywords[] = {")
        self.assertEqual(sorted(name.lower() for name in taken), sorted(members.TAKEN))

    def test_options(self):
        text = (root / "src/kernel/annotation/kernel.c").read_text()
        table = text[text.index("} known_options[] = {"):]
        allowed = re.findall(r'\{"([^"]+)", NULL\}', table[:table.index("};")])
        values_are_judged = ["std=c++", "ptxas-options=", "Xptxas="]  # the script refuses them
        self.assertEqual([name for name in allowed if name not in values_are_judged], members.OPTIONS)

    def test_types(self):
        text = (root / "src/base/type.c").read_text()
        rows = re.findall(r'\{"(\w+)", "[^"]*", (\d), \w+, \w+, (\w+)\}', text)
        self.assertEqual({name: int(size) for name, size, _ in rows if size != "0"},
                         {name: size for name, size in members.SIZES.items() if name != "elem"})
        self.assertEqual([name for name, _, argument in rows if argument == "true"], list(members.SCALARS))

    def test_ops(self):
        named = set(re.findall(r'^//@ defines\s+(.*)$', "\n".join(
            p.read_text() for p in (root / "kernel_templates/ops").glob("*.cu")), re.M))
        self.assertEqual(sorted(" ".join(named).split()), sorted(members.OPS))


class Mutations(Folder):
    """After any change there is a message and exit code 2, or a valid kernel file."""
    COUNT = int(os.environ.get("IMPORT_T1_MUTATIONS", "2000" if os.environ.get("TT_LONG") else "500"))
    PIECES = [
        "null", "true", "-1", "0", "1e9", "1.5", "[]", "{}", '""', '"a"', '"B / 0"', "9223372036854775807", "[1, [2]]",
        '"' + "(" * 60 + '"', "B", "log2(B)", "round(", "any(", "f'", "for i in range(9)", "**", "//", "%", " in ", "not ",
        "<", "==", "&&", "!", ",", "'", "\\\\", "\\u0000", "ProblemSize[0]", "ReadWrite", "Scalar", "Random", "double4",
        "custom", "maxrregcount", "extern", "\n", "\0", "\xff", "//@ op copy", "32", "B", "16 * U", "THREADS", "VECTOR",
        "block_size_x", "1.5", " + 1", " or ", " < 40"]

    def mutated(self, rng, text):
        for _ in range(rng.randint(1, 3)):
            begin = rng.randrange(len(text) + 1)
            end = min(len(text), begin + rng.choice((0, 1, 1, 2, 5, 20, 100)))
            kind = rng.randrange(4)
            piece = rng.choice(self.PIECES) if kind < 2 else text[(at := rng.randrange(len(text) + 1)):at + 30] \
                if kind == 2 else ""
            text = text[:begin] + piece + text[end:]
        return text

    def changed(self, rng, problem):
        """Still JSON: a value somewhere becomes another, or goes."""
        places, data = [], json.loads(problem)

        def walk(of):
            for key in range(len(of)) if isinstance(of, list) else of:
                places.append((of, key))
                if isinstance(of[key], (dict, list)):
                    walk(of[key])
        walk(data)
        for _ in range(rng.randint(1, 2)):
            of, key = rng.choice(places)
            if rng.random() < 0.1 and (isinstance(of, list) or key in of):
                of[key] = None
            elif isinstance(of[key], str) and rng.random() < 0.7:
                of[key] = self.mutated(rng, of[key])
            else:
                other, name = rng.choice(places)
                choice = rng.choice((other[name], rng.choice(self.PIECES), rng.randint(-9, 99), 1e9))
                of[key] = json.loads(json.dumps(choice))
        return json.dumps(data)

    def test_mutations(self):
        rng, good = random.Random(1), 0
        data = root / "tests/data/t1"
        seeds = [(WHOLE, SOURCE)] + [((data / f"{n}.json").read_text().replace(f"{n}.cu", "k.cu"),
                                      (data / f"{n}.cu").read_text()) for n in ("saxpy", "threes")]
        for i in range(self.COUNT):
            problem, source = rng.choice(seeds)
            what = rng.random()
            if what < 0.1:
                source = self.mutated(rng, source)
            else:
                problem = (self.mutated if what < 0.3 else self.changed)(rng, problem)
            with self.subTest(i):
                code, text, err = self.script(problem.encode("latin-1"), source.encode("latin-1"))
                self.assertNotIn("Traceback", err)
                if code == 0:
                    good += 1
                    self.check(text)
                else:
                    self.assertEqual((code, text), (2, b""))
                    self.assertRegex(err, r"\Atune: [^\n]+\n\Z")
        self.assertGreater(good, self.COUNT // 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
