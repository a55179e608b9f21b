"""Values of Python's expressions as text in tiletune's language, and the results of Python's operators on
them.
"""
import math
import operator
import re

TEXT_MAX, ITEMS_MAX = 1000, 1024  # characters of an expression of ours, items of a list
NESTING_MAX = 32  # parentheses within parentheses
INT, BOOL, TRUTH, RATIO, LOG2, REAL, WORD, LIST = "int bool truth ratio log2 real word list".split()
OR, AND, NOT, COMPARE, BITS, SUM, PRODUCT, ATOM = range(1, 9)  # how strongly operators bind
INFINITE = math.inf


class Refusal(Exception):
    """A value or expression that cannot be converted, and the reason."""


class Undefined(Refusal):
    """An error in Python, too, such as a division by 0."""


class Value:
    """`value` is set if it is known. `text` is in tiletune's language; `level` is its outermost operator's.

    INT lies between `low` and `high`. TRUTH is good for a condition, not for a number. RATIO is `above / over`, LOG2
    the logarithm of `above`. WORD is a text or a parameter. `items` are those of a LIST, or a parameter's values.
    """

    def __init__(self, kind, value=None, text=None, level=ATOM, low=-INFINITE, high=INFINITE, items=None,
                 above=None, over=None):
        self.kind, self.value, self.text, self.level, self.low, self.high = kind, value, text, level, low, high
        self.items, self.above, self.over = items, above, over
        if text is not None and len(text) > TEXT_MAX:
            raise Refusal(f"it comes to more than {TEXT_MAX} characters in tiletune's language")

    @property
    def known(self):
        return self.value is not None


# ---- Making values -------------------------------------------------------------------------------------------


def integer(n):
    if not -2**63 <= n < 2**63:
        raise Refusal("a number beyond 64 bits")
    return Value(INT, n, low=n, high=n)


def real(x):
    if isinstance(x, complex) or not math.isfinite(x):
        raise Refusal(f"{x} is no number here")
    return Value(REAL, x, low=x, high=x)


def boolean(b):
    return Value(BOOL, b)


def word(text):
    return Value(WORD, text)


def sequence(items):
    if len(items) > ITEMS_MAX:
        raise Refusal(f"a list of more than {ITEMS_MAX}")
    return Value(LIST, items=items)


def constant(x):
    """A value of Python or JSON."""
    if isinstance(x, bool):
        return boolean(x)
    if isinstance(x, int):
        if not -2**63 <= x < 2**63:
            raise Refusal(f"{str(x)[:30]} is too large")
        return integer(x)
    if isinstance(x, float):
        return real(x)
    if isinstance(x, str):
        return word(x)
    if isinstance(x, list):
        return sequence([constant(item) for item in x])
    raise Refusal(f"{'null' if x is None else type(x).__name__} is no value here")


def is_integer(text):
    return re.fullmatch(r"0|-?[1-9][0-9]{0,18}", text) is not None and -2**63 <= int(text) < 2**63


def number_or_word(text):
    """A value of a parameter, from its text."""
    return real(float(text)) if re.fullmatch(r"-?[0-9].*[.e].*", text) else literal(word(text))


def literal(v):
    """A text that spells a whole number is one, as it is among the values of a parameter."""
    return integer(int(v.value)) if v.kind == WORD and v.known and is_integer(v.value) else v


def operand(v, level):
    """The text as an operand of an operator that binds so strongly."""
    if v.kind == BOOL and v.known:
        return "TRUE" if v.value else "FALSE"
    if v.kind == INT and v.known:
        return f"({v.value})" if v.value < 0 and level > COMPARE else str(v.value)
    if v.kind == REAL and v.known:
        return f"({v.value!r})" if v.value < 0 else repr(v.value)
    return f"({v.text})" if v.level < level else v.text


def line(v):
    """The text as it stands in an annotation."""
    text, depth, deepest = operand(v, 0), 0, 0
    for c in text:
        depth += (c == "(") - (c == ")")
        deepest = max(deepest, depth)
    if deepest > NESTING_MAX or len(text) > TEXT_MAX:
        raise Refusal(f"it comes to more than {NESTING_MAX} parentheses in each other, or {TEXT_MAX} characters, "
                      "in tiletune's language")
    return text


def two(kind, level, op, l, r):
    own = level in (SUM, PRODUCT)  # others are put in parentheses
    return Value(kind, text=f"{operand(l, level if own else level + 1)} {op} {operand(r, level + 1)}", level=level)


def bounded(v, low, high):
    v.low, v.high = low, high
    return v


def number(v):
    """A number; True and False become 1 and 0."""
    if v.kind == WORD:
        raise Refusal(f"the word {(v.value if v.known else v.text)[:40]} is no number")
    if v.kind == LIST:
        raise Refusal("a list where a number is needed")
    if v.kind == TRUTH:
        raise Refusal("`and` or `or` of numbers is used as a number")
    if v.kind == BOOL:
        return integer(int(v.value)) if v.known else Value(INT, text=v.text, level=v.level, low=0, high=1)
    return v


def to_real(v):
    v = number(v)
    if v.kind == LOG2:
        raise Refusal("log2 of what is not known before can be rounded and compared with whole numbers only")
    if v.kind == INT and v.known:
        return real(float(v.value))
    if v.kind == RATIO:
        return Value(REAL, text=f"1.0 * {operand(v.above, PRODUCT + 1)} / {operand(v.over, ATOM)}", level=PRODUCT)
    return v


# ---- Arithmetic ----------------------------------------------------------------------------------------------

CALCULATE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "<<": operator.lshift,
             ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor}


def product(a, b):
    return 0 if a == 0 or b == 0 else a * b  # 0 * infinity, too


def linear(op, l, r):
    l, r = number(l), number(r)
    if l.kind != INT or r.kind != INT:
        l, r = to_real(l), to_real(r)
        if l.known and r.known:
            return real(CALCULATE[op](l.value, r.value))
        return two(REAL, PRODUCT if op == "*" else SUM, op, l, r)
    if l.known and r.known:
        return integer(CALCULATE[op](l.value, r.value))
    unit = 1 if op == "*" else 0  # x * 1, x + 0
    if r.known and r.value == unit:
        return l
    if l.known and l.value == unit and op != "-":
        return r
    v = two(INT, PRODUCT if op == "*" else SUM, op, l, r)
    if op == "*":
        corners = [product(a, b) for a in (l.low, l.high) for b in (r.low, r.high)]
        return bounded(v, min(corners), max(corners))
    return bounded(v, l.low + r.low, l.high + r.high) if op == "+" else bounded(v, l.low - r.high, l.high - r.low)


def times(l, r):
    l, r = number(l), number(r)
    if r.kind == RATIO and l.kind == INT:
        l, r = r, l
    if l.kind != RATIO or r.kind != INT:
        return linear("*", l, r)
    return Value(RATIO, above=linear("*", l.above, r), over=l.over)


def not_zero(r):
    if r.known and r.value == 0:
        raise Undefined("a division by 0")


def divide(l, r):
    not_zero(r)
    if l.known and r.known:
        whole = l.kind == INT and r.kind == INT and l.value % r.value == 0
        return integer(l.value // r.value) if whole else real(l.value / r.value)
    if r.kind == INT and l.kind == INT:
        return Value(RATIO, above=l, over=r)
    if r.kind == INT and l.kind == RATIO:
        return Value(RATIO, above=l.above, over=linear("*", l.over, r))
    l, r = to_real(l), to_real(r)
    if not l.known and not r.known:  # 7 and 2 may be values beside 7.5 and 2.5: SQL would divide them as whole numbers
        l = two(REAL, PRODUCT, "*", real(1.0), l)
    return two(REAL, PRODUCT, "/", l, r)


def whole_numbers(op, l, r):
    if l.kind != INT or r.kind != INT:
        raise Refusal(f"{op} of a number with a fraction")


def floor_divide(l, r):
    """Python rounds down, SQL towards 0."""
    not_zero(r)
    if l.kind == RATIO and r.kind == INT:
        return floor_divide(l.above, linear("*", l.over, r))
    if l.known and r.known:
        return constant(l.value // r.value)
    whole_numbers("//", l, r)
    if l.low >= 0 and r.low > 0:
        low = l.low // r.high if r.high < INFINITE else 0
        high = l.high // r.low if l.high < INFINITE else INFINITE
        return bounded(two(INT, PRODUCT, "/", l, r), low, high)
    x, y = operand(l, ATOM), operand(r, ATOM)
    return Value(INT, text=f"{x} / {y} - ({x} % {y} <> 0 AND ({x} < 0) <> ({y} < 0))", level=SUM)


def modulo(l, r):
    """The sign is the divisor's in Python, the dividend's in SQL."""
    not_zero(r)
    if l.kind == INT and r.kind == RATIO and r.over.low > 0:  # l % (m / d) = (l * d % m) / d
        return divide(modulo(linear("*", l, r.over), r.above), r.over)
    if l.known and r.known:
        return constant(l.value % r.value)
    whole_numbers("%", l, r)
    if l.low >= 0 and r.low > 0:
        return bounded(two(INT, PRODUCT, "%", l, r), 0, min(l.high, r.high - 1))
    x, y = operand(l, ATOM), operand(r, ATOM)
    v = Value(INT, text=f"({x} % {y} + {y}) % {y}", level=PRODUCT)
    return bounded(v, 0, r.high - 1) if r.low > 0 else v


def power(l, r):
    if l.known and r.known:
        if r.value > 64 and abs(l.value) > 1:
            raise Refusal("a number beyond 64 bits")
        try:
            return constant(l.value ** r.value)
        except (ZeroDivisionError, OverflowError):
            raise Undefined(f"{l.value} ** {r.value} is no number") from None
    whole_numbers("**", l, r)
    if r.known and 0 <= r.value <= 64:  # x**3 = x * x * x
        result = integer(1)
        for _ in range(r.value):
            result = linear("*", result, l)
        return result
    if l.value != 2 or r.low < 0 or r.high > 62:
        raise Refusal("`**` is only known of a power from 0 to 64, and of 2")
    return bounded(two(INT, BITS, "<<", integer(1), r), 2**r.low, 2**r.high)


def bits(op, l, r):
    whole_numbers(op, l, r)
    if op in ("<<", ">>") and (r.low < 0 or r.high > 62):
        raise Refusal("a shift by other than 0 to 62")
    if l.known and r.known:
        return integer(CALCULATE[op](l.value, r.value))
    if op != "^":
        v = two(INT, BITS, op, l, r)
    else:
        x, y = operand(l, ATOM), operand(r, ATOM)
        v = Value(INT, text=f"({x} | {y}) - ({x} & {y})", level=SUM)
    return bounded(v, 0, INFINITE) if l.low >= 0 and r.low >= 0 else v


def binary(op, l, r):
    if op == "+" and l.kind == LIST and r.kind == LIST:
        return sequence(l.items + r.items)
    l, r = number(l), number(r)
    if op in ("+", "-"):
        return linear(op, l, r)
    functions = {"*": times, "/": divide, "//": floor_divide, "%": modulo, "**": power}
    return functions[op](l, r) if op in functions else bits(op, l, r)


def whole(v):
    """A fraction is dropped."""
    v = number(v)
    if v.kind == RATIO:
        positive, l = v.over.low > 0, v.above
        v = two(INT, PRODUCT, "/", l, v.over)
        return bounded(v, min(l.low, 0), max(l.high, 0)) if positive else v
    if v.kind == REAL and v.known:
        return integer(int(v.value))
    if v.kind != INT:
        raise Refusal("a number with a fraction, expected a whole one")
    return v


def ceil_divide(l, r):
    l, r = whole(l), whole(r)
    not_zero(r)
    if l.known and r.known and r.value > 0:
        return integer(-(-l.value // r.value))
    v = Value(INT, text=f"ceil_div({operand(l, 0)}, {operand(r, 0)})")
    return bounded(v, 1 if l.low > 0 else 0, INFINITE) if l.low >= 0 and r.low > 0 else v


# ---- Words ---------------------------------------------------------------------------------------------------


def word_operand(param, v):
    """A constant as an expression compares a parameter of words with it; None if that parameter never is it."""
    v = literal(integer(int(v.value)) if v.kind == BOOL else v)
    if not any(item.kind == v.kind and item.value == v.value for item in param.items):
        return None
    return f"'{v.value}'" if v.kind == WORD else operand(v, ATOM)


def compare_words(sign, l, r):
    if sign not in ("=", "<>"):
        raise Refusal("words are compared by == and != only")
    if l.known and r.known:
        return boolean((l.kind == r.kind and l.value == r.value) == (sign == "="))
    if l.known:
        l, r = r, l
    if l.kind == WORD and not l.known and r.known:
        right = word_operand(l, r)
        return boolean(sign != "=") if right is None else Value(BOOL, text=f"{l.text} {sign} {right}", level=COMPARE)
    if l.kind == WORD and r.kind == WORD:
        return two(BOOL, COMPARE, sign, l, r)
    if r.kind == WORD and r.known:  # a number never is a word
        return boolean(sign != "=")
    raise Refusal("a word is compared with a number")


# ---- Comparisons and conditions ------------------------------------------------------------------------------

HOLDS = {"=": operator.eq, "<>": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt,
         ">": operator.gt}


def without_divisor(l, r, sign):
    """l / d against r is l against r * d, and l against 0."""
    zero = r.known and r.value == 0
    if r.kind not in (INT, RATIO) or not (l.over.low > 0 or (zero and sign in ("=", "<>"))):
        return to_real(l), to_real(r)
    return l.above, r if zero else times(r, l.over)


def without_log2(l, r):
    """log2(a) against n is a against 2**n, and against log2(b) it is a against b."""
    if r.kind == LOG2:
        return l.above, r.above
    return l.above, power(integer(2), r if r.kind == INT and 0 <= r.low and r.high <= 62 else to_real(l))


def compare(sign, l, r):
    if r.kind != WORD:
        l = literal(l)
    if l.kind != WORD:
        r = literal(r)
    if l.kind == LIST or r.kind == LIST:
        raise Refusal("a list is compared")
    if l.kind == WORD or r.kind == WORD:
        return compare_words(sign, l, r)
    l, r = number(l), number(r)
    if l.known and r.known:
        return boolean(HOLDS[sign](l.value, r.value))
    if l.kind == LOG2:
        l, r = without_log2(l, r)
    elif r.kind == LOG2:
        r, l = without_log2(r, l)
    if l.kind == RATIO:
        l, r = without_divisor(l, r, sign)
    if r.kind == RATIO:
        r, l = without_divisor(r, l, sign)
    return two(BOOL, COMPARE, sign, l, r)


def is_in(v, members, negated):
    if members.kind != LIST:
        raise Refusal("`in` is followed by no list")
    if v.kind in (WORD, INT) and not v.known and all(m.known for m in members.items):
        if v.kind == WORD:
            texts = [word_operand(v, m) for m in members.items]
        else:
            texts = [operand(number(m), 0) for m in map(literal, members.items) if m.kind != WORD]
        texts = [text for text in texts if text is not None]
        if not texts:
            return boolean(negated)
        return Value(BOOL, text=f"{operand(v, COMPARE + 1)} {'NOT ' if negated else ''}IN ({', '.join(texts)})",
                     level=COMPARE)
    found = boolean(False)
    for member in members.items:
        found = and_or(False, found, compare("=", v, member))
    return negate(found) if negated else found


def condition(v):
    if v.kind in (WORD, LIST, RATIO, LOG2, REAL):
        raise Refusal({WORD: "a word", LIST: "a list"}.get(v.kind, "a number with a fraction") + " is no condition")
    return v


def and_or(is_and, l, r):
    l, r = condition(l), condition(r)
    if l.known or r.known:  # x and True is x, x and False is False
        known, other = (l, r) if l.known else (r, l)
        return other if bool(known.value) == is_and else boolean(not is_and)
    level = AND if is_and else OR
    kind = BOOL if l.kind == BOOL and r.kind == BOOL else TRUTH
    return Value(kind, text=f"{operand(l, level)} {'AND' if is_and else 'OR'} {operand(r, level)}", level=level)


def negate(v):
    v = condition(v)
    return boolean(not v.value) if v.known else Value(BOOL, text=f"NOT {operand(v, ATOM)}", level=NOT)


def choose(test, yes, no):
    test = condition(test)
    if test.known:
        return yes if test.value else no
    yes, no = number(yes), number(no)
    if yes.kind != INT or no.kind != INT:
        yes, no = to_real(yes), to_real(no)
    return Value(yes.kind, text=f"iif({operand(test, 0)}, {operand(yes, 0)}, {operand(no, 0)})",
                 low=min(yes.low, no.low), high=max(yes.high, no.high))
