"""A T1 file (JSON) as a kernel file: each part writes its annotations, and the default is made one that is legal."""
import ast
import contextlib
import math
import random
import re

import t1_expression as expression
import t1_kernel
import t1_value as v
from t1_members import (ARRAY, BLOCK_MAX, CONFIG_MAX, GRID_MAX, NAME_MAX, NUMBER, OBJECT, OPTIONS, OPTIONS_MAX,
                        PARAMS_MAX, SHARED_MAX, TAKEN, TEXT, THREADS_MAX, TRUTH, VALUES_MAX, WHERES_MAX, at, checked,
                        is_word, member, members, range_of)
from t1_value import Refusal

USUAL_BLOCK = ("block_size_x", "block_size_y", "block_size_z")
VISITS_MAX, SAMPLES, CONFIGS_MAX = 50000, 2000, 65536


# ---- Parameters ----------------------------------------------------------------------------------------------


def value_text(x):
    """A value as it is written in a `param` line."""
    if x.kind == v.REAL and x.known:
        return repr(float(x.value))
    if x.kind in (v.INT, v.BOOL) and x.known:
        return str(int(x.value))
    if x.kind != v.WORD:
        raise Refusal("a value that is neither a number nor a word")
    if not (is_word(x.value) or v.is_integer(x.value)) or len(x.value) > NAME_MAX:
        raise Refusal(f'the value "{x.value[:60]}": values are numbers and plain words')
    return x.value


class Param:
    def __init__(self, name, values):
        items = values.items if values.kind == v.LIST else [values]
        self.name, self.values, self.wanted, self.folded = name, list(dict.fromkeys(map(value_text, items))), 0, False
        if not self.values:
            raise Refusal("no values")
        if len(self.values) > VALUES_MAX:
            raise Refusal(f"more than {VALUES_MAX} values: take away those that are of little use")
        self.items = [v.number_or_word(text) for text in self.values]
        kinds = {x.kind for x in self.items}
        if kinds >= {v.WORD, v.REAL}:
            raise Refusal("numbers with a fraction and words, of which a parameter has one kind")
        kind = v.WORD if v.WORD in kinds else v.REAL if v.REAL in kinds else v.INT
        numbers = [x.value for x in self.items if kind != v.WORD] or [0]
        self.symbol = v.Value(v.WORD, text=name, items=self.items) if kind == v.WORD else \
            v.Value(kind, text=name, low=min(numbers), high=max(numbers), items=self.items)

    def longest(self):
        return len(self.name) + 2 + max(map(len, self.values))


class Converter:
    def __init__(self, data, name, source):
        self.data, self.name, self.source = data, name, source
        self.kernel = data.get("KernelSpecification")
        self.notes, self.body, self.params = [], [], []
        self.defaults, self.operands, self.args, self.wheres = {}, [], [], []
        self.max_registers, self.n_wheres = None, 0

    def note(self, text):
        self.notes.append(re.sub(r"[\x00-\x1f\x7f]", " ", text))

    def of_kernel(self, name, *forms):
        return member(self.kernel, "KernelSpecification", name, *forms)

    def read_params(self):
        place = "ConfigurationSpace"
        for p, where in members(self.data.get(place), place, "TuningParameters", 64, needed=True):
            name = member(p, where, "Name", TEXT, needed=True)
            values = member(p, where, "Values", TEXT, ARRAY, needed=True)
            wanted = member(p, where, "Default", TEXT, NUMBER, TRUTH, ARRAY)
            with at(f"{where} ({name[:60]})"):
                self.check_name(name)
                self.params.append(Param(name, expression.read(values, {})))
                self.find_wanted(self.params[-1], wanted)
        with at(f"{place}.TuningParameters"):
            self.fold()

    def check_name(self, name):
        if not is_word(name):
            raise Refusal(f'"{name[:60]}" is no name of a macro')
        if len(name) > NAME_MAX:
            raise Refusal(f"{name[:20]}...: a name of {len(name)} characters, the limit is {NAME_MAX}")
        if name.lower() in TAKEN:
            raise Refusal(f"{name} is {TAKEN[name.lower()]} to tiletune: rename it, in the kernel, too")
        if name.lower() in (p.name.lower() for p in self.params):
            raise Refusal(f"{name} is there twice (upper and lower case are equal here)")

    def find_wanted(self, param, wanted):
        """The default, if it is one of the values: T1 does not ask for any."""
        if wanted is None:
            return
        text = str(wanted)
        with contextlib.suppress(Refusal):
            x = expression.read(wanted, {})
            text = value_text(x.items[0] if x.kind == v.LIST and len(x.items) == 1 else x)
        if text in param.values:
            param.wanted = param.values.index(text)
        else:
            self.note(f"the default {text[:40]} of {param.name} is none of its values: {param.values[0]} is taken")

    def fold(self):
        """Where there are more parameters than a template may have, those of one value are macros of the text."""
        if len(self.params) > PARAMS_MAX or sum(p.longest() for p in self.params) > CONFIG_MAX:
            for p in self.params:
                p.folded = len(p.values) == 1
        left = self.open_params()
        if len(left) > PARAMS_MAX:
            raise Refusal(f"{len(left)} parameters of more than one value, the limit is {PARAMS_MAX}")
        if sum(p.longest() for p in left) > CONFIG_MAX:
            raise Refusal(f"a configuration can have {sum(p.longest() for p in left)} characters, the limit is "
                          f"{CONFIG_MAX}: shorten names or words")

    def open_params(self):
        return [p for p in self.params if not p.folded]

    def has(self, name):
        return any(p.name == name for p in self.params)

    # ---- What expressions know

    def scope(self, case=None):
        """Parameters as themselves, or as `case` has them; then the problem's size is a number, too."""
        names = {p.name: p.items[0] if p.folded else p.symbol if case is None else case[p.name] for p in self.params}
        names.setdefault("ProblemSize", v.sequence(self.problem(names, case is not None)))
        return names

    def lists(self):
        """For lengths: a parameter is the list of its values."""
        names = {p.name: v.sequence(p.items) for p in self.params}
        names.setdefault("ProblemSize", self.scope()["ProblemSize"])
        return names

    def problem(self, names, fixed):
        """A size that is a number becomes a variable of the problem, so that others can be asked for."""
        given, place = self.of_kernel("ProblemSize", TEXT, NUMBER, ARRAY), "KernelSpecification.ProblemSize"
        sizes = []
        for i, x in enumerate(given if isinstance(given, list) else [] if given is None else [given]):
            if x is None:
                break
            with at(f"{place}[{i}]"):
                x = expression.read(checked(x, "it", (TEXT, NUMBER), True), names)
                sizes += [v.whole(one) for one in (x.items if x.kind == v.LIST else [x])]
        if len(sizes) > 3:
            raise Refusal(f"{place} has more than 3 items")
        for i, x in enumerate(sizes):
            if x.known and x.value < 1:
                raise Refusal(f"{place}[{i}]: {x.value}: at least 1 is needed")
            name = "problem_size_" + "xyz"[i]
            if x.known and not fixed and not any(p.name.lower() == name for p in self.params):
                self.defaults[name] = x.value
                sizes[i] = v.Value(v.INT, text=name, low=1)
        return sizes

    # ---- Annotations

    def write_conditions(self):
        scope = self.scope()
        for c, where in members(self.data.get("ConfigurationSpace"), "ConfigurationSpace", "Conditions", 64):
            text = member(c, where, "Expression", TEXT, needed=True)
            with at(f'{where} "{text[:200]}"'):
                x = expression.read_condition(text, scope)
                if x.known and not x.value:
                    raise Refusal("it never holds: there is no configuration")
                if x.known:
                    self.note(f'the condition "{text[:200]}" always holds and is left out')
                    continue
                self.wheres.append(text)
                self.write_where(x)

    def write_where(self, x):
        self.n_wheres += 1
        if self.n_wheres > WHERES_MAX:
            raise Refusal(f"ConfigurationSpace.Conditions: they come to more than {WHERES_MAX}")
        self.body.append(f"where    {v.line(x)}")

    def write_least(self, x, least):
        """Values that would be errors in a template: a grid of 0 blocks, or a negative size."""
        if x.low < least:
            self.write_where(v.compare(">" if least else ">=", x, v.integer(0)))

    def axis(self, member_name, i, scope, otherwise=1):
        sizes = self.of_kernel(member_name, OBJECT) or {}
        x = member(sizes, f"KernelSpecification.{member_name}", "XYZ"[i], TEXT, NUMBER)
        x = otherwise if x is None else x
        with at(f'KernelSpecification.{member_name}.{"XYZ"[i]} "{str(x)[:200]}"'):
            return v.whole(expression.read(x, scope))

    def block(self, scope):
        """Where a file says nothing, the threads are those parameters that Kernel Tuner takes for them."""
        given = any((self.of_kernel("LocalSize", OBJECT) or {}).get(c) is not None for c in "XYZ")
        if not given and not self.has(USUAL_BLOCK[0]):
            raise Refusal("KernelSpecification.LocalSize.X is missing: expected a text or a number")
        return [self.axis("LocalSize", i, scope, USUAL_BLOCK[i] if not given and self.has(USUAL_BLOCK[i]) else 1)
                for i in range(3)]

    def divisor(self, i, scope):
        name = "GridDiv" + "XYZ"[i]
        given = self.of_kernel(name, TEXT, NUMBER, ARRAY)
        given = [x for x in (given if isinstance(given, list) else [given]) if x is not None]
        if not given:
            return None
        result = v.integer(1)
        with at(f"KernelSpecification.{name}"):
            for x in given:
                result = v.times(result, expression.read(checked(x, "it", (TEXT, NUMBER), True), scope))
            return v.whole(result)

    def grid(self, scope, block):
        divisors = [self.divisor(i, scope) for i in range(3)]
        sizes = scope["ProblemSize"].items if scope["ProblemSize"].kind == v.LIST else []
        has_global = (self.of_kernel("GlobalSize", OBJECT) or {}).get("X") is not None
        if sizes and (any(divisors) or not has_global):  # as Kernel Tuner has it
            divisors = [d or (scope[n] if self.has(n) else v.integer(1)) for d, n in zip(divisors, USUAL_BLOCK)]
            grid = [x if d.known and d.value == 1 else v.ceil_divide(x, d) for x, d in zip(sizes, divisors)]
            return grid + [v.integer(1)] * (3 - len(grid)), has_global
        if not has_global:
            raise Refusal("KernelSpecification.GlobalSize.X is missing: expected a text or a number")
        kind = self.of_kernel("GlobalSizeType", TEXT) or "CUDA"
        if kind not in ("CUDA", "OpenCL", "Vulkan"):
            raise Refusal(f'KernelSpecification.GlobalSizeType is "{kind[:40]}": expected CUDA, OpenCL or Vulkan')
        grid = [self.axis("GlobalSize", i, scope) for i in range(3)]
        return [v.ceil_divide(x, b) for x, b in zip(grid, block)] if kind == "OpenCL" else grid, False

    def shared(self, scope):
        x = self.of_kernel("SharedMemory", TEXT, NUMBER)
        with at(f'KernelSpecification.SharedMemory "{str(x)[:200]}"'):
            return v.whole(expression.read(x, scope)) if x is not None else v.integer(0)

    def write_launch(self):
        scope = self.scope()
        block = self.block(scope)
        grid, unused = self.grid(scope, block)
        if unused:
            self.note("GlobalSize is not used: ProblemSize and GridDiv say the grid, as Kernel Tuner reads it")
        for keyword, name, dims in (("block", "LocalSize", block), ("grid", "GlobalSize", grid)):
            for i, x in enumerate(dims):
                if x.known and x.value < 1:
                    raise Refusal(f'KernelSpecification.{name}.{"XYZ"[i]} comes to {x.value}: expected at least 1')
                self.write_least(x, 1)
            n = max(i + 1 for i, x in enumerate(dims) if i == 0 or not (x.known and x.value == 1))
            self.body.append(f"{keyword:8} {', '.join(map(v.line, dims[:n]))}")
        shared = self.shared(scope)
        self.write_least(shared, 0)
        if not shared.known or shared.value:
            self.body.append(f"shared   {v.line(shared)}")

    # ---- Options

    def write_options(self):
        options, kept = self.of_kernel("CompilerOptions", ARRAY) or [], []
        if len(options) > 32:
            raise Refusal("KernelSpecification.CompilerOptions has more than 32 items")
        place = "KernelSpecification.CompilerOptions"
        options = [checked(x, f"{place}[{i}]", (TEXT,), True) for i, x in enumerate(options)]
        for i, option in enumerate(options):
            if re.fullmatch(r"--?maxrregcount", option.strip()) and i + 1 < len(options):
                options[i + 1] = f"{option.strip()}={options[i + 1]}"  # its value is the next
                continue
            registers = re.fullmatch(r"\s*--?maxrregcount[=\s]\s*(\S.*)", option)
            if registers:
                self.write_registers(registers[1], f"{place}[{i}]")
            elif allowed(option) and len(kept) < OPTIONS_MAX:
                kept.append(option)
            else:
                why = "kernels are C++17" if "-std=" in option else "there are too many" if allowed(option) else \
                    "NVRTC does not have it, or it names a file"
                self.note(f"the compiler's option {option[:60]} is left out: {why}")
        if kept:
            self.body.append("options  " + " ".join(kept))

    def write_registers(self, text, place):
        with at(f'{place} "{text[:200]}"'):
            x = v.whole(expression.read(text, {**self.scope(), "ProblemSize": v.boolean(False)}))
            if x.known and not 16 <= x.value <= 255:
                raise Refusal("expected 16 to 255 registers")
        if self.max_registers is not None:
            self.note(f"-maxrregcount={text[:60]} is left out: there is one before")
            return
        self.max_registers = text
        self.body.append(f"maxrregcount {v.line(x)}")

    # ---- The whole

    def text(self, code):
        body = "".join(f"//@ {line}\n" for line in self.body)
        out = re.sub(r"[\x00-\x1f\x7f]", " ", f"// Made from {self.name[:200]} (T1), and the kernel of "
                     f"{self.kernel['KernelFile'][:200]}.") + "\n"
        if self.notes:
            out += "//\n// To be looked at:\n" + "".join(f"// - {note}\n" for note in self.notes)
        out += self.budget() + f"//\n//@ kernel   {self.kernel['KernelName']}\n"
        out += "".join(f"//@ problem  {name} {n}\n" for name, n in self.defaults.items() if name in body) + body
        chosen = [f"{p.name}={p.values[p.wanted]}" for p in self.open_params()]
        out += f"//@ default  {' '.join(chosen)}\n" if chosen else ""
        return out + "\n" + "".join(f"#define {p.name} {p.values[0]}\n" for p in self.params if p.folded) + code

    def budget(self):
        """Settings of the search in T1 become options of `tune`."""
        out, given = "", self.data.get("Budget")
        given = {"Budget": [given] if isinstance(given, dict) else given}  # older files have one
        for b, where in [(b, where[1:]) for b, where in members(given, "", "Budget", 4)]:
            kind = member(b, where, "Type", TEXT, needed=True)
            value = member(b, where, "BudgetValue", NUMBER, needed=True)
            if kind == "TuningDuration" and value > 0:
                out += f"// Its budget: --budget {value:.9g}s\n"
            if kind == "ConfigurationCount" and value >= 1:
                out += f"// Its budget: --max-trials {value:.0f}\n"
        return out


def allowed(option):
    """Does tiletune take this option for NVRTC?"""
    found = re.fullmatch(r"(--?)([!-~]+)", option)
    if not found:
        return False
    dashes, name = found.groups()
    if dashes == "-" and re.match(r"[DU].", name):
        return is_word(name[1:].split("=")[0])
    return any(name == o or (o.endswith("=") and name.startswith(o) and len(name) > len(o)) for o in OPTIONS)


# ---- The default ---------------------------------------------------------------------------------------------


class Search:
    """Looks first where one parameter changes, then two, ... A condition is asked once its parameters are chosen."""

    def __init__(self, c):
        self.c, self.params, self.visits, self.known = c, c.open_params(), 0, {}
        names = [p.name for p in self.params]
        self.folded = {p.name: p.items[0] for p in c.params if p.folded}
        self.due = [[] for _ in range(len(names) + 1)]  # conditions by the number of parameters they need
        for text in c.wheres:
            used = {n.id for n in ast.walk(expression.parse(expression.unwrapped(text))[0]) if isinstance(n, ast.Name)}
            used = names if "ProblemSize" in used else [n for n in names if n in used]
            self.due[max((names.index(n) + 1 for n in used), default=0)].append((text, used))

    def find(self):
        for changes in range(len(self.params) + 1):
            self.best, self.cost, self.any = None, None, False
            self.visit(0, changes, {}, [], 0)
            if self.best is not None or self.visits > VISITS_MAX:
                break
        if self.best is None and self.visits > VISITS_MAX:  # whichever
            self.visits, self.any = 0, True
            self.visit(0, len(self.params), {}, [], 0)
        if self.best is not None:
            return self.best
        if self.visits > VISITS_MAX:
            raise Refusal("ConfigurationSpace: no legal configuration was found: give the parameters Defaults that are")
        raise Refusal("ConfigurationSpace: no combination of values is legal")

    def visit(self, i, changes, case, chosen, cost):
        self.visits += 1
        if self.visits > VISITS_MAX or (self.best is not None and (self.any or cost >= self.cost)):
            return
        if not all(self.holds(*due, case) for due in self.due[i]):
            return
        if i == len(self.params):
            if self.launches(case):
                self.best, self.cost = list(chosen), cost
            return
        p = self.params[i]
        for k in sorted(range(len(p.values)), key=lambda k: abs(k - p.wanted)) if changes else [p.wanted]:
            self.visit(i + 1, changes - (k != p.wanted), {**case, p.name: p.items[k]}, chosen + [k],
                       cost + abs(k - p.wanted))

    def size(self):
        """How many configurations there are, about: of the combinations a sample is asked."""
        combinations, rng, good = math.prod(len(p.values) for p in self.params), random.Random(1), 0
        if combinations <= CONFIGS_MAX:
            return combinations
        for _ in range(SAMPLES):
            case = {p.name: rng.choice(p.items) for p in self.params}
            good += all(self.holds(*due, case) for step in self.due for due in step)
        return combinations * good // SAMPLES

    def holds(self, text, used, case):
        key = (text, *(case[n].value for n in used))
        if key not in self.known:
            try:
                scope = self.c.scope(case) if len(case) == len(self.params) else {**self.folded, **case}
                x = expression.read_condition(text, scope)
                self.known[key] = bool(x.known and x.value)
            except Refusal:
                self.known[key] = False
        return self.known[key]

    def launches(self, case):
        """Can a GPU launch it?"""
        c, scope = self.c, self.c.scope(case)
        try:
            block = c.block(scope)
            grid, _ = c.grid(scope, block)
            shared, threads = c.shared(scope).value, 1
            for x, most in zip(block + grid, BLOCK_MAX + GRID_MAX):
                if not x.known or not 1 <= x.value <= most:
                    return False
            for x in block:
                threads *= x.value
            return threads <= THREADS_MAX and 0 <= shared <= SHARED_MAX \
                and all(self.passes(kind, value, scope) for _, kind, value in c.args if kind) and self.registers(scope)
        except Refusal:
            return False

    def passes(self, kind, value, scope):
        x = v.number(expression.read(value, scope))
        least, most = range_of(kind)
        if kind[0] == "f":
            return x.known and least <= x.value <= most
        return least <= v.whole(x).value <= min(most, 2**63 - 1)

    def registers(self, scope):
        return self.c.max_registers is None or \
            16 <= v.whole(expression.read(self.c.max_registers, scope)).value <= 255


def choose(c):
    wanted = [p.wanted for p in c.open_params()]
    search = Search(c)
    found = search.find()
    for p, k in zip(c.open_params(), found):
        p.wanted = k
    if found != wanted:
        c.note("the default configuration was not legal: the nearest that is stands in its place")
    size = search.size()
    if size > CONFIGS_MAX:
        c.note(f"the space has about {size} configurations: a search begins with a sample of them")


def convert(data, name, source):
    """The text of the kernel file, and a list of sentences about what was not taken over."""
    c = Converter(data, name, source)
    c.read_params()
    t1_kernel.write(c)
    for p in c.open_params():
        c.body.append(f"param    {p.name} {' '.join(p.values)}")
    c.write_conditions()
    c.write_launch()
    c.write_options()
    with at(f"KernelSpecification.KernelFile {c.kernel['KernelFile'][:200]}"):
        code = t1_kernel.prepare(source, c.kernel["KernelName"], c.notes)
    choose(c)
    return c.text(code), c.notes
