"""bench/counters.py gives copy_linear a value for every macro, and takes what is a case: check_bench_kernels.py ROOT.
Needs neither CuPy nor a GPU.
"""
import argparse
import pathlib
import re
import sys
import types

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True
import counters  # noqa: E402

text = (ROOT / "kernel_templates/copy_linear.cu").read_text()
macros = re.findall(r"^//@ (?:param|derived) +(\w+)", text, re.M)
assert macros and sorted(macros) == sorted(counters.copy_macros(1 << 20)), macros

made = []
array = types.SimpleNamespace(size=1 << 20)
counters.copy(types.SimpleNamespace(RawKernel=lambda text, name, options: made.append((text, name, options)) or (lambda *launch: None)),
              types.SimpleNamespace(int32=int, int64=int), array, array)
assert '#include "' not in made[0][0] and made[0][1] == "copy_linear" and "-DWHOLE=1" in made[0][2], made

assert [counters.parsed(counters.case(each)) for each in counters.CASES][3] == (1, 10000, 12016)
for wrong in ("4:100", "foo", "4:10x20x30", "a:10x10", "3:10x10", "4:0x10"):
    try:
        counters.case(wrong)
    except argparse.ArgumentTypeError as error:
        assert wrong in str(error), error
    else:
        raise AssertionError(wrong)
assert counters.cell({"a metric": "2,008.14e+03"}, "a metric", 1e3, 1) == 2008.1
assert counters.cell({"a metric": ""}, "a metric", 1, 1) is None

rows = [{metric: str(value) for metric, _, _ in counters.COLUMNS.values()} for value in (2e3, 1e3)]
best = {"gpu": "a GPU", "driver": "1.2", "kernel": "k", "config": {"A": 1, "B": 2}}
found = counters.result(types.SimpleNamespace(cases=["4:10x20"], commit="abc"), [best], rows)
table = list(counters.performance.counters_table(found))
assert found["set"] == "some"  # which a full run goes before
assert table[2].startswith("| 4 B 10 x 20 | a copy | 2.0 | 2000.0 |") and table[3].startswith("|  | `k A=1 B=2` | 1.0 | 1000.0 |"), table
