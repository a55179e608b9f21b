"""Kernels that bench/hints.py and bench/placement.py make of the templates have a value for every macro, and the texts that
they exchange are there; bench/bulk.py and bench/sides.py find their kernels; bench/counters.py takes what is a case:
check_bench_kernels.py ROOT. Needs neither CuPy nor a GPU; what the kernels do is checked where the scripts run.
"""
import argparse
import pathlib
import re
import sys
import types

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "bench"))
sys.dont_write_bytecode = True
import bulk  # noqa: E402
import counters  # noqa: E402
import cupy_kernels  # noqa: E402
import hints  # noqa: E402
import placement  # noqa: E402
import sides  # noqa: E402

numpy = types.SimpleNamespace(int32=int, int64=int)
runtime = types.SimpleNamespace(getDeviceProperties=lambda device: {"l2CacheSize": 60 << 20})
cupy = types.SimpleNamespace(RawKernel=lambda text, name, options: types.SimpleNamespace(), cuda=types.SimpleNamespace(runtime=runtime))

for case in hints.CASES:
    hints.mover(cupy, numpy, 16384, case)
for n, elem, tile, orders in placement.CASES:
    assert len(list(placement.launches(cupy, numpy, n, elem, tile, orders))) > len(orders) + 1
try:
    cupy_kernels.kernel(cupy, "copy_linear", {"VEC": 16, "UNROLL": 1})
except SystemExit as error:
    assert str(error) == "kernel_templates/copy_linear.cu: no value is given for KEEP, WHOLE", error
else:
    raise AssertionError("macros without a value")

for script in bulk, sides:
    text = pathlib.Path(script.__file__).read_text()
    kernels = re.findall(r"__global__[^;{]*?(\w+)\([^()]*\) {", cupy_kernels.source(f"bench/{script.__name__}.cu"))
    assert len(kernels) > 1 and all(f'"{name}"' in text for name in kernels), kernels

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
