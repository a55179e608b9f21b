"""Python's expressions, as T1 files have them, converted by their syntax tree: nothing is ever evaluated by Python."""
import ast
import functools
import itertools
import math
import re
import warnings

import t1_value as v
from t1_value import Refusal, Undefined

CHARACTERS_MAX, STEPS_MAX, DEPTH_MAX, CASES_MAX = 4000, 200000, 100, 4096
MODULES = ("math", "np", "numpy")
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
             ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
COMPARISONS = {ast.Eq: "=", ast.NotEq: "<>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
TOKEN = re.compile(r"""'[^'\\]*'|"[^"\\]*"|&&|\|\||!=|.""", re.S)


@functools.lru_cache(maxsize=1024)
def parse(text):
    """The tree of an expression, and the columns where C's ! was; && and || are read, too."""
    if len(text) > CHARACTERS_MAX:
        raise Refusal(f"{len(text)} characters, the limit is {CHARACTERS_MAX}")
    out, columns = "", set()
    for token in TOKEN.findall(text.strip()):
        if token == "!":
            columns.add(len(out.encode("utf-8", "replace")))
        out += {"&&": " and ", "||": " or ", "!": "~", "\n": " ", "\r": " "}.get(token, token)
    if not out:
        raise Refusal("it is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(out, mode="eval").body, columns
    except SyntaxError as e:
        raise Refusal(f"Python does not read it: {e.msg}") from None
    except (ValueError, MemoryError, RecursionError, UnicodeError):
        raise Refusal("Python does not read it: it is nested too deep, or has a NUL character") from None


class Reader:
    """Converts one expression in a scope: a dict of names and their values."""

    def __init__(self, text, scope):
        self.scope, self.steps, self.depth = scope, 0, 0
        self.tree, self.nots = parse(text)

    def read(self, node=None):
        """The value of a node, or of the whole."""
        node = self.tree if node is None else node
        method = getattr(self, "read_" + type(node).__name__, None)
        self.steps += 1
        self.depth += 1
        if method is None:
            raise Refusal(f"{type(node).__name__} is nothing known here")
        if self.depth > DEPTH_MAX:
            raise Refusal(f"nested deeper than {DEPTH_MAX}")
        if self.steps > STEPS_MAX:
            raise Refusal("too much to calculate")
        result = method(node)
        self.depth -= 1
        return result

    def read_Constant(self, node):
        return v.constant(node.value)

    def read_JoinedStr(self, node):
        if any(not isinstance(part, ast.Constant) for part in node.values):
            raise Refusal("an f-string within an expression")
        return v.word("".join(part.value for part in node.values))

    def read_Name(self, node):
        name = node.id
        if name in ("true", "false"):
            return v.boolean(name == "true")
        if name not in self.scope:
            raise Refusal(f"{name[:40]} is no parameter and nothing else known here")
        return self.scope[name]

    def read_Attribute(self, node):
        raise Refusal(f"there is no .{node.attr[:40]} here")

    def read_Tuple(self, node):
        return v.sequence([self.read(item) for item in node.elts])

    read_List = read_Set = read_Tuple

    def read_ListComp(self, node):
        return v.sequence(self.comprehend(node.elt, node.generators))

    read_GeneratorExp = read_SetComp = read_ListComp

    def comprehend(self, element, generators):
        if not generators:
            return [self.read(element)]
        first, items, outer = generators[0], [], self.scope
        through = self.read(first.iter)
        if through.kind != v.LIST:
            raise Refusal("`in` is followed by no list")
        if not isinstance(first.target, ast.Name) or first.is_async:
            raise Refusal("a comprehension of other than one name")
        for item in through.items:
            self.scope = {**outer, first.target.id: item}
            tests = [v.condition(self.read(test)) for test in first.ifs]
            if not all(test.known for test in tests):
                raise Refusal("the `if` of a list depends on more than the list")
            if all(test.value for test in tests):
                items += self.comprehend(element, generators[1:])
            if len(items) > v.ITEMS_MAX:
                raise Refusal(f"a list of more than {v.ITEMS_MAX}")
        self.scope = outer
        return items

    def read_Subscript(self, node):
        of = self.read(node.value)
        index = self.read(node.slice.value if type(node.slice).__name__ == "Index" else node.slice)
        if of.kind != v.LIST or index.kind != v.INT or not index.known:
            raise Refusal("[ ] behind what is no list, or with an index that is no number")
        if not -len(of.items) <= index.value < len(of.items):
            raise Refusal(f"[{index.value}] of a list of {len(of.items)}")
        return of.items[index.value]

    def read_UnaryOp(self, node):
        x = self.read(node.operand)
        if isinstance(node.op, ast.Not) or node.col_offset in self.nots:
            return v.negate(x)
        if isinstance(node.op, ast.UAdd):
            return v.number(x)
        x = v.real(-x.value) if x.kind == v.REAL and x.known else v.binary("-", v.integer(0), x)
        return v.binary("-", x, v.integer(1)) if isinstance(node.op, ast.Invert) else x

    def read_BinOp(self, node):
        """a + b + c is a tree as deep as it is long."""
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        result = self.read(spine[-1].left)
        for node in reversed(spine):
            if type(node.op) not in OPERATORS:
                raise Refusal("@ is nothing known here")
            result = v.binary(OPERATORS[type(node.op)], result, self.read(node.right))
        return result

    def read_BoolOp(self, node):
        return joined(isinstance(node.op, ast.And), [self.read(item) for item in node.values])

    def read_Compare(self, node):
        """a < b <= c is a < b and b <= c."""
        links, left = [], self.read(node.left)
        for op, right in zip(node.ops, map(self.read, node.comparators)):
            if isinstance(op, (ast.In, ast.NotIn)):
                links.append(v.is_in(left, right, isinstance(op, ast.NotIn)))
            elif type(op) in COMPARISONS:
                links.append(v.compare(COMPARISONS[type(op)], left, right))
            else:
                raise Refusal("`is` is nothing known here, use ==")
            left = right
        return joined(True, links)

    def read_IfExp(self, node):
        return v.choose(self.read(node.test), self.read(node.body), self.read(node.orelse))

    def read_Call(self, node):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "tolist" and not node.args:
            return self.read(function.value)
        is_of_module = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) \
            and function.value.id in MODULES
        name = function.attr if is_of_module else function.id if isinstance(function, ast.Name) else None
        if name not in FUNCTIONS:
            raise Refusal(f"there is no {(name or ast.unparse(function))[:40]}() here: known are {' '.join(FUNCTIONS)}")
        call, least, most = FUNCTIONS[name]
        args = [self.read(arg) for arg in node.args]
        if node.keywords or not least <= len(args) <= most:
            wanted = f"{least} to {most}" if least < most else str(least)
            raise Refusal(f"{name} takes {wanted} argument{'s' if most > 1 else ''} without a keyword, "
                          f"found {len(args) + len(node.keywords)}")
        return call(name, *args)


def joined(is_and, items):
    """Those of a comparison are no conditions yet where there is one alone."""
    result = items[0] if items else v.boolean(is_and)
    for item in items[1:]:
        result = v.and_or(is_and, result, item)
    return result


# ---- Functions -----------------------------------------------------------------------------------------------


def least_or_most(name, *args):
    if len(args) == 1:
        args = listed(name, args[0]).items
    if not args:
        raise Refusal(f"{name} of nothing")
    args = [v.number(x) for x in args]
    if any(x.kind != v.INT for x in args):
        args = [v.to_real(x) for x in args]
    pick = max if name == "max" else min
    best = args[0]
    for x in args[1:]:
        if best.known and x.known:
            best = pick(best, x, key=lambda one: one.value)
        else:
            best = v.Value(best.kind if best.kind == x.kind else v.REAL,
                           text=f"{name}({v.operand(best, 0)}, {v.operand(x, 0)})",
                           low=pick(best.low, x.low), high=pick(best.high, x.high))
    return best


def numbers(name, *args):
    """range and arange, of whole numbers."""
    if any(x.kind != v.INT or not x.known or abs(x.value) > 2**31 for x in args):
        raise Refusal(f"{name} takes whole numbers that are known")
    if len(args) == 3 and args[2].value == 0:
        raise Refusal(f"{name} with a step of 0")
    found = range(*(x.value for x in args))
    if len(found) > v.ITEMS_MAX:
        raise Refusal(f"a list of more than {v.ITEMS_MAX}")
    return v.sequence([v.integer(n) for n in found])


def listed(name, x):
    if x.kind != v.LIST:
        raise Refusal(f"{name} of what is no list")
    return x


def absolute(name, x):
    x = v.whole(x)
    if x.low >= 0:
        return x
    return v.integer(abs(x.value)) if x.known else v.Value(v.INT, text=f"abs({v.operand(x, 0)})", low=0)


def log2(name, x):
    x = v.number(x)
    if x.known and x.value > 0:
        exact = math.log2(x.value)
        return v.integer(int(exact)) if exact == int(exact) else v.real(exact)
    if x.known:
        raise Undefined(f"log2 of {x.value}")
    if x.kind != v.INT or x.low <= 0:
        raise Refusal("log2 of a number that may be 0 or less, or have a fraction")
    return v.Value(v.LOG2, above=x)


def logarithm(how, x):
    """The whole number by a logarithm: log2 of our own rounds down."""
    if how == "ceil":
        x = v.linear("-", v.linear("*", v.integer(2), x), v.integer(1))
    if how == "round":
        x = v.linear("*", x, x)
    text, high = f"log2({v.operand(x, 0)})", math.log2(x.high) if x.high < v.INFINITE else 63
    if how == "round":
        return v.Value(v.INT, text=f"({text} + 1) / 2", level=v.PRODUCT, low=0, high=high)
    return v.Value(v.INT, text=text, low=0, high=high)


def rounded(name, x):
    """int, ceil, floor and round of a quotient, a logarithm, or what is whole already."""
    x = v.number(v.literal(x))
    if x.kind == v.LOG2:
        return logarithm(name, x.above)
    if x.kind == v.REAL and x.known:
        return v.integer({"ceil": math.ceil, "floor": math.floor, "round": round}.get(name, int)(x.value))
    if x.kind == v.RATIO and name == "ceil":
        return v.ceil_divide(x.above, x.over)
    if x.kind == v.RATIO and name == "floor":
        return v.floor_divide(x.above, x.over)
    if x.kind == v.RATIO and name == "round":  # of two that are as near, the even one
        if x.above.low < 0 or x.over.low <= 0:
            raise Refusal("round of a quotient that may be negative")
        quotient, rest = v.operand(v.floor_divide(x.above, x.over), v.PRODUCT), v.modulo(x.above, x.over)
        return v.Value(v.INT, text=f"{quotient} + (2 * {v.operand(rest, v.ATOM)} + {quotient} % 2 > "
                                   f"{v.operand(x.over, v.SUM)})", level=v.SUM, low=0)
    return v.whole(x)


FUNCTIONS = {  # by its name in Python: who does it, the least and the most arguments
    "min": (least_or_most, 1, 64),
    "max": (least_or_most, 1, 64),
    "abs": (absolute, 1, 1),
    "int": (rounded, 1, 1),
    "ceil": (rounded, 1, 1),
    "floor": (rounded, 1, 1),
    "round": (rounded, 1, 1),
    "log2": (log2, 1, 1),
    "pow": (lambda name, x, y: v.binary("**", x, y), 2, 2),
    "len": (lambda name, x: v.integer(len(listed(name, x).items)), 1, 1),
    "list": (listed, 1, 1),
    "tuple": (listed, 1, 1),
    "range": (numbers, 1, 3),
    "arange": (numbers, 1, 3),
    "any": (lambda name, x: v.condition(joined(False, listed(name, x).items)), 1, 1),
    "all": (lambda name, x: v.condition(joined(True, listed(name, x).items)), 1, 1),
    "bool": (lambda name, x: v.negate(v.negate(x)), 1, 1),
}


# ---- What others ask for -------------------------------------------------------------------------------------


def read(x, scope):
    """A text is an expression of Python, a number or a list of JSON is itself."""
    return Reader(x, scope).read() if isinstance(x, str) else v.constant(x)


def unwrapped(text):
    """An f-string is the text that it makes, with its values in parentheses."""
    node, _ = parse(text)
    if not isinstance(node, ast.JoinedStr):
        return text
    out = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            out += part.value
        elif part.conversion != -1 or part.format_spec is not None:
            raise Refusal("an f-string with a format")
        else:
            out += f"({ast.unparse(part.value)})"
    return unwrapped(out)


def read_condition(text, scope):
    """The condition. If tiletune's language cannot express it, the values that satisfy it."""
    reader = Reader(unwrapped(text), scope)
    try:
        return v.condition(reader.read())
    except Refusal:
        found = tabulate(reader)
        if found is None:
            raise
        return found


def tabulate(reader):
    """The condition by trying all values of the parameters in it; None if that does not do either."""
    outer = reader.scope
    names = sorted({n.id for n in ast.walk(reader.tree) if isinstance(n, ast.Name) and n.id in outer})
    names = [n for n in names if outer[n].kind != v.LIST and not outer[n].known]
    if not names or any(outer[n].items is None for n in names):
        return None
    if math.prod(len(outer[n].items) for n in names) > CASES_MAX:
        return None
    good = []
    try:
        for case in itertools.product(*(outer[n].items for n in names)):
            reader.scope, reader.depth = {**outer, **dict(zip(names, case))}, 0
            try:
                holds = v.condition(reader.read())
            except Undefined:
                continue
            if not holds.known:
                return None
            if holds.value:
                good.append(case)
        return one_of([outer[n] for n in names], good)
    except Refusal:
        return None


def one_of(params, cases):
    """Are the parameters as one of these cases has them?"""
    first, groups = params[0], {}
    for item in first.items:
        rest = tuple(case[1:] for case in cases if case[0] is item)
        if rest:
            groups.setdefault(rest, []).append(item)
    return joined(False, [v.and_or(True, v.is_in(first, v.sequence(items), False),
                                 one_of(params[1:], list(rest)) if len(params) > 1 else v.boolean(True))
                        for rest, items in groups.items()])
