#!/usr/bin/env python3
"""check_json.py TUNE ROOT: what each --json prints, recordings, and each example of docs/cli.schema.json are as that file says.

Members that the schema lacks are wrong, too, and so are members of the schema that no command printed.
HOSTCUDA_DIR is the folder of the CPU stand-ins.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

tune, root = sys.argv[1:]
stand_ins = os.environ["HOSTCUDA_DIR"]
recording = os.path.join(root, "tests/data/small.json")
BESIDE = """//@ kernel sums
//@ problem n 1000
//@ buffer y f32 ceil_div(n, THREADS) out
//@ param THREADS 32 64
//@ block THREADS
//@ grid ceil_div(n, THREADS)
//@ args y
//@ default THREADS=32
//@ reference right
//@ per configuration
//@ block 1
//@ grid 1
//@ args y
//@ verify judge
//@ block 1
//@ grid 1
//@ args error, y
extern "C" __global__ void sums(float *y) {}
extern "C" __global__ void right(float *y) {}
extern "C" __global__ void judge(double *error, const float *y) {}
"""
UNVERIFIED = """//@ kernel scale
//@ problem n 1000
//@ buffer x f32 n inout
//@ param THREADS 32 64
//@ block THREADS
//@ grid ceil_div(n, THREADS)
//@ args x, i64 n
//@ default THREADS=32
//@ derived EDGES n % THREADS > 0
//@ metric gbps 8 * n / time_ns
extern "C" __global__ void scale(float *x, long long n) {
    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        x[i] *= 2;
}
"""


schema = json.load(open(os.path.join(root, "docs/cli.schema.json"), encoding="utf-8"))
KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None), "boolean": bool}
KNOWN = {"$ref", "type", "properties", "required", "additionalProperties", "items", "enum", "const", "description", "examples"}
used = set()  # members of the schema that were seen


def check(value, rule, where, rule_at):
    """What is wrong with a value, by the part of JSON Schema that our file uses."""
    assert set(rule) <= KNOWN, (rule_at, set(rule) - KNOWN)
    if "$ref" in rule:
        name = rule["$ref"].removeprefix("#/$defs/")
        return check(value, schema["$defs"][name], where, name)
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and (isinstance(value, bool) and "boolean" not in kinds or not any(isinstance(value, KINDS[k]) for k in kinds)):
        return [f"{where} is {json.dumps(value)[:60]}, expected {' or '.join(kinds)}"]
    if "enum" in rule and value not in rule["enum"] or "const" in rule and value != rule["const"]:
        return [f"{where} is {json.dumps(value)[:60]}, expected {rule.get('enum', rule.get('const'))}"]
    wrong = []
    if isinstance(value, list):
        for i, item in enumerate(value):
            wrong += check(item, rule.get("items", {}), f"{where}[{i}]", rule_at)
    if isinstance(value, dict):
        members = rule.get("properties", {})
        wrong += [f"{where} lacks {name}" for name in rule.get("required", []) if name not in value]
        for name, inner in value.items():
            if name in members:
                used.add((rule_at, name))
                wrong += check(inner, members[name], f"{where}.{name}", f"{rule_at}.{name}")
            elif isinstance(rule.get("additionalProperties"), dict):
                wrong += check(inner, rule["additionalProperties"], f"{where}.{name}", f"{rule_at}.*")
            else:
                wrong.append(f"{where} has {name}, which docs/cli.schema.json lacks")
    return wrong


def members(rule, at):
    """All members that a rule names."""
    found = set()
    for name, inner in rule.get("properties", {}).items():
        found |= {(at, name)} | members(inner, f"{at}.{name}")
    return found | (members(rule["items"], at) if "items" in rule else set())


# What needs a power meter, counters, clusters, a failed search or an estimated space. Other tests look at them.
ELSEWHERE = re.compile(r"check\.estimated|explain\.(why_no_energy|configs\.(celsius|idle_watts|joules|instructions))|"
                       r"export\.winners\.launches\.(cooperative|cluster|together)|report\.(changes|gpus\.problems)\.(unverified|warm|in_graph|energies)|report\.gpus\.unsolved|"
                       r"recording\.(metadata\.rules|results\.(limit_s|weight))")


def run(*arguments, host=False, codes=(0,)):
    env = {**os.environ, "TILETUNE_SYSTEM_DB": "", "HOSTCUDA_EXECUTE": "1"}
    if host:
        env |= {"LD_LIBRARY_PATH": stand_ins, "TILETUNE_NVRTC": os.path.join(stand_ins, "libnvrtc.so")}
    done = subprocess.run([tune, *arguments], capture_output=True, text=True, env=env)
    assert done.returncode in codes, (arguments, done)
    return done.stdout


def once(pairs):
    """An object that has each member once."""
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f"a member is there twice: {names}"
    return dict(pairs)


def main():
    wrong, seen = [], set()

    def look(name, *arguments, form=("--json",), **how):
        seen.add(name)
        printed = json.loads(run(*arguments, *form, **how), object_pairs_hook=once)
        wrong.extend(check(printed, schema["$defs"][name], name, name))

    with tempfile.TemporaryDirectory() as folder:
        db, kernel = os.path.join(folder, "store.db"), os.path.join(folder, "scale.cu")
        with open(kernel, "w", encoding="utf-8") as file:
            file.write(UNVERIFIED.replace("n inout", "n out"))  # a graph cannot restore it
        own, replay = ("--kernel", kernel, "--db", db), "replay:" + recording
        look("tune", *own, "--unverified", "--warm", "--graph", "--quiet", "--max-trials", "2", host=True)
        unmeasured = os.path.join(folder, "unmeasured.cu")
        with open(unmeasured, "w", encoding="utf-8") as file:
            file.write(re.sub("//@ metric.*", "//@ reference default", UNVERIFIED))
        look("tune", "--kernel", unmeasured, "--db", os.path.join(folder, "unmeasured.db"), "--quiet", host=True)
        look("tune", "--device", replay, "--sizes", "4096", "--quiet", "--max-trials", "4")
        turned = ("--permute", "1,0", "--dims", "4096,4096", "--dtype", "f32")
        look("tune", "--device", replay, *turned, "--quiet", "--max-trials", "4")
        look("best", "best", "--gpu", "h200", *turned)
        look("explain", "explain", "--device", replay, *turned)
        look("explain", "explain", *own, "--warm", "--graph", host=True)
        look("explain", "explain", "--device", replay, "--size", "4096")
        run("import", recording, "--db", db)
        look("best", "best", *own, "--warm", "--graph", host=True)
        look("best", "best", "--size", "4096", "--gpu", "h200", "--db", db)
        look("export", "export", "--size", "4096", "--db", db, form=("--format", "json"))
        look("export", "export", *own, "--problem", "n=1000,warm,in_graph", form=("--format", "json"))
        look("recording", "export", "--gpu", "h200", "--db", db, form=())
        look("recording", "export", *own, "--gpu", "hostcuda", form=())
        look("study", "study", "--device", replay, "--sizes", "4096", "--quiet", "--max-trials", "4")
        look("rules", "rules", os.path.join(root, "recordings/h200-random-16byte.json.gz"))
        look("list", "list", "--db", db)
        look("list", "list", "--gpu", "h200", "--db", db)
        asked = os.path.join(folder, "asked.jsonl")
        with open(asked, "w", encoding="utf-8") as file:
            print(json.dumps({"tiletune_collected": 1}), file=file)
            problem = {"operation": "scale", "problem": "n=5", "kernel": kernel, "text": "0" * 64, "gpu": "hostcuda", "launches": 2, "time_us": 2}
            print(json.dumps(problem), file=file)
        look("collected", "list", "--collected", asked, "--db", db)
        with open(recording, encoding="utf-8") as file:
            failing = json.load(file)
        other = os.path.join(folder, "failing.json")
        for result in failing["results"]:
            if result["kernel"] == "transpose_tiled" and result["stage"] == "screen":
                result |= {"invalidity": "runtime", "status": "crashed", "reason": "why", "measurements": []}
        with open(other, "w", encoding="utf-8") as file:
            json.dump(failing, file)
        look("report", "report", recording, other)
        failed = os.path.join(folder, "failed.db")
        run("import", other, "--db", failed)
        look("recording", "export", "--gpu", "h200", "--db", failed, form=())
        look("show", "show", *own, "--warm", "--graph", host=True)
        look("show", "show", "--size", "4096", "--gpu", "h200", "--db", db)
        sums = os.path.join(folder, "sums.cu")
        with open(os.path.join(root, "tests/data/row_sums.cu"), encoding="utf-8") as text, open(sums, "w", encoding="utf-8") as file:
            file.write(text.read().replace("rows 24", "rows 4").replace("UNROLL 1 2", "UNROLL 1"))
        rows = ("--kernel", sums, "--db", db)
        look("tune", *rows, "--same-bits", "--class-of", "THREADS=32 ATOMIC=0 UNROLL=1", "--quiet", host=True)
        look("show", "show", *rows, host=True)
        look("best", "best", *rows, host=True)
        look("list", "list", "--db", db)
        look("recording", "export", *rows, "--gpu", "hostcuda", form=())
        look("check", "check", kernel, host=True)
        beside = os.path.join(folder, "beside.cu")
        with open(beside, "w") as f:
            f.write(BESIDE)
        look("check", "check", beside, host=True)
        look("check", "check", os.path.join(root, "examples/kernels/saxpy.cu"), host=True)
        look("check", "check", os.path.join(root, "kernel_templates/transpose_tiled.cu"), host=True)
        look("check", "check", os.path.join(root, "kernel_templates/transpose_rect_panels.cu"), host=True)
        judged = os.path.join(folder, "judged.cu")
        with open(judged, "w", encoding="utf-8") as file:
            file.write(UNVERIFIED.replace('extern "C"', '//@ reference scale_all\n//@ block 1\n//@ grid 1\n//@ args x, i64 n\nextern "C"')
                       + 'extern "C" __global__ void scale_all(float *x, long long n) {\n'
                         "    for (long long i = 0; i < n; i++)\n        x[i] *= 2;\n}\n")
        look("judge", "judge", judged, judged, host=True, codes=(0, 1, 6))
        for line in ("x[i] *= 3;", 'x[i] = "\u00e9\\"\\x01" + nothing;'):
            with open(judged, encoding="utf-8") as file:
                text = file.read()
            changed = os.path.join(folder, "changed.cu")
            with open(changed, "w", encoding="utf-8") as file:
                file.write(text.replace("x[i] *= 2;", line, 1))
            look("judge", "judge", judged, changed, host=True, codes=(5,))
            with open(changed, "w", encoding="utf-8") as file:
                file.write(text.replace("x[i] *= 2;", line))
            look("judge", "judge", changed, judged, host=True, codes=(5, 6))
        look("doctor", "doctor", "--db", db, host=True, codes=(0, 3, 4))
    named = set().union(*(members(rule, name) for name, rule in schema["$defs"].items()))
    wrong += [f"no command printed {at}.{name}" for at, name in sorted(named - used)
              if not ELSEWHERE.match(f"{at}.{name}")]
    examples = [(name, text) for name, rule in schema["$defs"].items() for text in rule.get("examples", [])]
    for name, text in examples:
        wrong += check(text, schema["$defs"][name], f"the example of {name}", name)
    if {name for name, _ in examples} != seen:
        wrong.append(f"docs/cli.schema.json has examples of {sorted(name for name, _ in examples)}, not of {sorted(seen)}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(named)} members of {len(seen)} commands, {len(examples)} examples")


if __name__ == "__main__":
    main()
