"""The kernel of a T1 file: its arguments as buffers and scalars, what they must hold afterwards, and its text."""
import re
import types

import t1_expression as expression
import t1_value as v
from t1_members import (ARGS_MAX, ARRAY, BYTES_MAX, FILE_MAX, NAME_MAX, NUMBER, OPERANDS_MAX, SCALARS, SIZES, TAKEN,
                        TEXT, TRUTH, TYPES, at, member, members, range_of)
from t1_value import Refusal

ANNOTATION = re.compile(r"^[ \t\r]*//@(?![ \t]*[{}])|//@[ \t]*[a-z]")  # not //@{ of Doxygen
COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.S)
NOT_FOR_A_KERNEL = [(r"\btexture\s*<", "a texture reference, which NVRTC does not have"),
                    (r"\bsurface\s*<", "a surface reference, which NVRTC does not have"),
                    (r"\bcuda(Texture|Surface)Object_t\b", "a texture or surface, which no argument can be"),
                    (r"\b__kernel\b|\bget_global_id\b", "OpenCL, and only CUDA C++ can be tuned"),
                    (r"<<<", "host code: put the kernel into a file of its own"),
                    (r"\bint\s+main\s*\(", "host code: put the kernel into a file of its own")]
QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct"}
PLAIN = {"bool": "u8", "char": "i8", "signed char": "i8", "unsigned char": "u8", "uchar": "u8", "short": "i16",
         "unsigned short": "u16", "ushort": "u16", "int": "i32", "unsigned int": "u32", "unsigned": "u32",
         "uint": "u32", "long": "i64", "unsigned long": "u64", "long long": "i64", "long long int": "i64",
         "unsigned long long": "u64", "unsigned long long int": "u64", "longlong": "i64", "ulonglong": "u64",
         "size_t": "u64", "half": "f16", "__half": "f16", "float": "f32", "double": "f64"}
PLAIN.update({f"{u}int{n}_t": f"{u or 'i'}{n}" for u in ("", "u") for n in (8, 16, 32, 64)})
PLACE = "KernelSpecification.Arguments"
TEXTS = ("Name", "Type", "MemoryType", "AccessType", "FillType", "DataSource", "MemType")


class Operand:
    """An argument from the file: its members by name, None if missing."""

    def __init__(self, arg, place):
        self.get = {name: member(arg, place, name, TEXT, needed=name in ("Type", "MemoryType")) for name in TEXTS}
        self.get["FillValue"] = member(arg, place, "FillValue", TEXT, NUMBER, TRUTH)
        self.get["Size"] = member(arg, place, "Size", TEXT, NUMBER)
        self.get["TypeSize"] = member(arg, place, "TypeSize", NUMBER)
        self.result, self.name = False, ""
        self.place = f"{place} ({self.get['Name'][:60]})" if self.get["Name"] else place


def choose_name(c, wanted):
    """Arguments go by their place: a name that means something else gets a line below."""
    name = re.sub(r"\W", "_", wanted, flags=re.A)[:NAME_MAX - 8]
    name = "_" + name[name[0].isdigit():] if re.match(r"\d|problem_size_", name, re.I) else name
    taken = {p.name.lower() for p in c.params} | {n.lower() for n in c.operands} | set(TAKEN) | set(SIZES)
    while name.lower() in taken:
        name += "_"
    if len(name) > NAME_MAX:
        raise Refusal("too many arguments of one name")
    if len(c.operands) == OPERANDS_MAX:
        raise Refusal(f"more than {OPERANDS_MAX} buffers and scalars")
    c.operands.append(name)
    return name


def beside(name):
    """Can `file` and `expect` name it?"""
    return name is not None and len(name) <= FILE_MAX and re.fullmatch(r"[^./ \t\r\n\v\f\\][^/ \t\r\n\v\f\\]*", name)


# ---- Buffers -------------------------------------------------------------------------------------------------


def fits(ours, x):
    """A number as an annotation has it for this type."""
    least, most = range_of(ours)
    if ours[0] != "f":
        if SIZES[ours] == 8:  # JSON has doubles
            least, most = max(least, 1 - 2**53), 2**53 - 1
        if x != int(x) or not least <= x <= most:
            raise Refusal(f"FillValue is {x!r}: expected a whole number from {least} to {most}")
        return str(int(x))
    if not least <= x <= most:
        raise Refusal(f"FillValue is {x!r}: expected a number from {-most} to {most}")
    text = repr(float(x))
    return text[:-2] if text.endswith(".0") else text


def fill_value(o):
    x = expression.read(o.get["FillValue"], {})
    if x.kind not in (v.INT, v.REAL, v.BOOL) or not x.known:
        raise Refusal(f'FillValue is "{str(o.get["FillValue"])[:60]}": expected a number')
    return int(x.value) if x.kind == v.BOOL else x.value


def data_of(c, o):
    """The words after the direction of an `in` or `inout` buffer."""
    fill, source = o.get["FillType"] or "Constant", o.get["DataSource"]
    if fill == "BinaryRaw" and beside(source):
        return f" file {source}"
    if fill not in ("Constant", "Random"):
        c.note(f"argument {o.name} is filled by {fill[:20]}{' ' + source[:80] if source else ''}, which has no "
               "counterpart: it gets numbers at random")
        return ""
    value = fill_value(o) if o.get["FillValue"] is not None else int(fill == "Random")
    if value == 0:
        return " zeros"
    if o.lanes == 0:
        c.note(f"argument {o.name} is of a type of its own: it gets bits at random")
        return ""
    value = float(f"{value:.9g}") if isinstance(value, float) else value
    low, high = (value, value) if fill == "Constant" else (min(value, 0), max(value, 0))
    return f" uniform {fits(o.type, low)} {fits(o.type, high)}"


def length_of(c, o):
    size = o.get["Size"]
    if size is None:
        raise Refusal("Size is missing: expected the number of elements")
    x = expression.read(size, c.lists())
    x = x.items[0] if x.kind == v.LIST and len(x.items) == 1 else x
    if x.kind == v.LIST:
        raise Refusal(f'Size "{str(size)[:200]}": a length cannot depend on a parameter of several values')
    lanes = o.lanes or (1 if o.get["TypeSize"] is None else o.get["TypeSize"])
    x = v.times(v.whole(x), expression.read(lanes, {}))
    return check_length(c, x, o.type, f'Size is "{str(size)[:60]}"')


def check_length(c, x, ours, what):
    if x.kind != v.INT or x.known and not 1 <= x.value <= BYTES_MAX // SIZES[ours]:
        raise Refusal(f"{what}: expected a whole number from 1 to 2^48 / {SIZES[ours]}")
    text = v.line(x)
    if any(c.has(word) for word in re.findall(r"\w+", text)):  # by a ProblemSize that does
        raise Refusal(f"{what}: a length cannot depend on a parameter")
    return text


def is_constant(c, o):
    """Is it a __constant__ array of the code, which is filled before the launches and no argument?"""
    return (o.get["MemType"] == "Constant" and o.name == o.get["Name"] and
            re.search(rf"__constant__[^;{{}}]*\b{o.name}\s*\[", c.source) is not None)


def write_buffer(c, o):
    access = o.get["AccessType"] or "ReadWrite"
    directions = {"ReadOnly": "in", "WriteOnly": "out", "ReadWrite": "inout"}
    if access not in directions:
        raise Refusal(f'AccessType is "{access[:40]}": expected ReadOnly, WriteOnly or ReadWrite')
    if o.get["MemType"] in ("Texture", "Surface", "Image"):
        raise Refusal(f'MemType is "{o.get["MemType"]}": textures have no counterpart, expected Global')
    if is_constant(c, o):
        c.body.append(f"constant {o.name} {o.type} {length_of(c, o)}{data_of(c, o)}")
        return
    o.result = access != "ReadOnly"
    length = length_of(c, o)
    data = data_of(c, o) if access != "WriteOnly" else ""
    c.body.append(f"buffer   {o.name} {o.type} {length} {directions[access]}{data}")
    if o.get["MemType"] == "Constant":
        c.note(f"argument {o.name} is in constant memory, but the code has no __constant__ array of that name: it is "
               "an argument of the kernel here")
    c.args.append((o.name, None, None))


def write_scalar(c, o):
    """A scalar of one value, or an argument that the parameters or the problem say."""
    if o.type not in SCALARS or o.lanes != 1:
        raise Refusal(f"a scalar of type {o.get['Type'][:20]}: expected one number")
    value = o.get["FillValue"]
    if value is None:
        raise Refusal("FillValue is missing: expected the number that the kernel gets")
    x = v.number(expression.read(value, c.scope()))
    x = v.to_real(x) if o.type[0] == "f" and x.kind != v.INT else v.whole(x)
    if x.known:
        c.body.append(f"scalar   {o.name} {o.type} {fits(o.type, x.value)}")
        c.args.append((o.name, None, None))
    else:
        c.operands.pop()
        c.args.append((f"{o.type} {v.line(x)}", o.type, value))


def write_operand(c, o, i):
    memory = o.get["MemoryType"]
    if memory == "Symbol":
        c.note(f"argument {(o.get['Name'] or '')[:60]} is a symbol of the kernel's module, which stays as it is")
        return
    if memory not in ("Vector", "Scalar"):
        raise Refusal(f'MemoryType is "{memory[:40]}": expected Vector or Scalar')
    if len(c.args) == ARGS_MAX:
        raise Refusal(f"more than {ARGS_MAX} arguments")
    if o.get["Type"] not in TYPES:
        raise Refusal(f'Type is "{o.get["Type"][:40]}": expected bool, int8 to uint64, half, float, double, '
                      "with 2 to 16 lanes, or custom")
    o.type, o.lanes = TYPES[o.get["Type"]]
    o.name = choose_name(c, o.get["Name"] or f"arg{i}")
    (write_scalar if memory == "Scalar" else write_buffer)(c, o)


# ---- What is right -------------------------------------------------------------------------------------------


def write_expected(c, results):
    """Files say what is right if they say it of every result."""
    place, found = "KernelSpecification", {}
    for one, where in members(c.kernel, place, "ReferenceArguments", 64):
        target = member(one, where, "TargetName", TEXT, needed=True)
        wanted = {name: member(one, where, name, TEXT) for name in ("FillType", "DataSource", "ValidationMethod")}
        found.setdefault(target, {**wanted, "threshold": member(one, where, "ValidationThreshold", NUMBER)})
    expected = [found.get(o.get["Name"] or "") for o in results]
    if not all(e and e["FillType"] == "BinaryRaw" and beside(e["DataSource"]) for e in expected):
        if found:
            c.note("ReferenceArguments are no raw files beside this one for every result, and not taken over")
        c.note("nothing says what is right: add a plain kernel and `reference NAME`, with its own grid, block and args, "
               "or an `expect BUFFER FILE` for each result; until then tuning takes --unverified")
        return
    for o, e in zip(results, expected):
        c.body.append(f"expect   {o.name} {e['DataSource']}")
    if expected[-1]["threshold"] is None:
        c.note("results are compared bit for bit: add a `tolerance` if a little less is right, too")
        return
    how = "rel" if expected[-1]["ValidationMethod"] == "SideBySideRelativeComparison" else "abs"
    c.body.append(f"tolerance {how} {abs(float(expected[-1]['threshold'])):.9g}")


def write(c):
    if member(c.kernel, "KernelSpecification", "Arguments", ARRAY):
        operands = [Operand(*arg) for arg in members(c.kernel, "KernelSpecification", "Arguments", 64)]
        for i, o in enumerate(operands):
            with at(o.place):
                write_operand(c, o, i)
    else:
        operands = guess(c)
    if not any(o.result for o in operands):
        raise Refusal("no argument is a Vector that is WriteOnly or ReadWrite: nothing would come of the kernel")
    c.body.append("args     " + ", ".join(text for text, _, _ in c.args))
    write_expected(c, [o for o in operands if o.result])


# ---- Without Arguments ---------------------------------------------------------------------------------------


def guess(c):
    """Buffers are as long as the problem, and whole numbers are its sizes, in their order."""
    with at(f"{PLACE} is missing, and from the text of KernelFile"):
        found = kernel_arguments(c.source, c.kernel["KernelName"])
        if len(found) > ARGS_MAX:
            raise Refusal(f"more than {ARGS_MAX} arguments")
        size = c.lists()["ProblemSize"]
        sizes = size.items if size.kind == v.LIST else []
        if not sizes or not all(x.known or x.text.startswith("problem_size_") for x in sizes):
            raise Refusal("nothing is known of lengths: expected a ProblemSize of numbers")
        left = list(sizes)
        operands = [guess_one(c, arg, sizes, left) for arg in found]
    c.note(f"{PLACE} is missing: the buffers' lengths and the scalars are guessed from the kernel's parameters, look at "
           "each")
    return operands


def guess_one(c, arg, sizes, left):
    ours = arg["type"]
    if arg["pointer"]:
        length = v.integer(1)
        for x in sizes + [v.integer(arg["lanes"])]:
            length = v.times(length, x)
        name = choose_name(c, arg["name"])
        c.body.append(f"buffer   {name} {ours} {check_length(c, length, ours, 'the problem')} "
                      f"{'in' if arg['constant'] else 'inout'}")
        c.args.append((name, None, None))
        return types.SimpleNamespace(name=name, result=not arg["constant"], get={"Name": name})
    if ours not in SCALARS or arg["lanes"] != 1:
        raise Refusal(f"the kernel's parameter {arg['name']} is no buffer, and no number that can be an argument")
    if left and ours[0] != "f":
        x = left.pop(0)
        c.args.append((f"{ours} {v.line(x)}", ours, f"ProblemSize[{len(sizes) - len(left) - 1}]"))
    else:
        name = choose_name(c, arg["name"])
        c.body.append(f"scalar   {name} {ours} 1")
        c.args.append((name, None, None))
    return types.SimpleNamespace(result=False)


# ---- The text ------------------------------------------------------------------------------------------------


def without_comments(source):
    """As long as the source, comments made blank."""
    return COMMENTS.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0][0] == "/" else m[0], source)


def check_lines(source, text, notes):
    depth = 0  # of #if, where wrong code may never be compiled
    for number, (line, code) in enumerate(zip(source.split("\n"), text.split("\n")), 1):
        if ANNOTATION.search(line):
            raise Refusal(f"line {number} is an annotation: the file is a template already, use it as it is")
        include = re.match(r'\s*#include\s*"([^"\r\n]*)', line)
        if include:
            notes.append(f'line {number} of the kernel\'s file includes "{include[1][:80]}", which is looked up '
                         "beside this one: put it there")
        directive = re.match(r"\s*#\s*(if|endif)", code)
        depth += 0 if not directive else 1 if directive[1] == "if" else -1
        for pattern, what in NOT_FOR_A_KERNEL:
            if depth <= 0 and re.search(pattern, code):
                raise Refusal(f"line {number} is {what}")


def declarations(text, kernel):
    """Where each `__global__ ... KERNEL(` begins, and where its parenthesis opens."""
    for at in re.finditer(rf"\b{kernel}\b\s*\(", text, re.A):
        begin = max(text.rfind(c, 0, at.start()) for c in ";{}") + 1
        found = re.search(r"\b__global__\b", text[begin:at.start()], re.A)
        if found and re.search(r"\btemplate\b", text[begin:begin + found.start()]):
            raise Refusal(f'the kernel {kernel} is a C++ template: add an extern "C" kernel that calls it, and name '
                          "that")
        if found:
            yield begin + found.start(), at.end() - 1


def prepare(source, kernel, notes):
    """The kernel's text as a template needs it."""
    text = without_comments(source)
    check_lines(source, text, notes)
    places = [at for at, _ in declarations(text, kernel)]
    if not places:
        raise Refusal(f"it has no __global__ function {kernel}")
    out = "#define kernel_tuner 1\n\n" if re.search(r"\bkernel_tuner\b", text) else ""
    if re.search(r'\bextern "C"(?!\w)', text, re.A):
        out += source
    else:
        for begin, end in zip([0] + places, places):
            out += source[begin:end] + 'extern "C" '
        out += source[places[-1]:]
        notes.append(f'extern "C" was put before the kernel {kernel}')
    return out if out.endswith("\n") else out + "\n"


def kernel_arguments(source, kernel):
    """A dict for each parameter of the kernel: its name, type, lanes, whether it is a pointer, and to const."""
    text = without_comments(source)
    for _, at in declarations(text, kernel):
        inside = re.match(r"\(([^()]*)\)", text[at:])
        if not inside:
            raise Refusal("a parameter of the kernel has parentheses")
        return [] if inside[1].strip() in ("", "void") else [argument(part) for part in inside[1].split(",")]
    return []


def argument(text):
    words, pointers = re.findall(r"\w+", text), text.count("*")
    type_words = [w for w in words[:-1] if w not in QUALIFIERS]
    found = re.fullmatch(r"(.*?)(2|3|4|8|16)?", " ".join(type_words))
    name = " ".join(type_words)
    lanes = 1 if name in PLAIN else int(found[2] or 0)
    ours = PLAIN.get(name) or PLAIN.get(found[1])
    if pointers > 1 or re.search(r"[^\w\s*]", text) or not ours or not lanes or len(words) < 2:
        raise Refusal(f"the kernel's parameter `{' '.join(text.split())[:80]}` is none that can be guessed")
    return {"name": words[-1], "type": ours, "lanes": lanes, "pointer": pointers == 1,
            "constant": "const" in text.split("*")[0].split()}
