"""Members of a T1 file: what each may be, and what is said where it is something else; and tiletune's limits."""
import contextlib
import re

from t1_value import Refusal

TEXT, NUMBER, TRUTH, ARRAY, OBJECT = "a text", "a number", "true or false", "a list", "an object"
NAME_MAX, FILE_MAX, CONFIG_MAX, PARAMS_MAX, VALUES_MAX, WHERES_MAX = 63, 127, 511, 32, 256, 32
OPERANDS_MAX, ARGS_MAX, OPTIONS_MAX = 64, 64, 16
BYTES_MAX = 2**48
BLOCK_MAX, GRID_MAX, THREADS_MAX, SHARED_MAX = (1024, 1024, 64), (2**31 - 1, 65535, 65535), 1024, 227 << 10
# Meanings of names and options in tiletune, as in src/kernel/expression/scan.c, config.c and tuner's ops.
FACTS = {"a property of the problem": "elem_size align",
         "a property of the device": "max_threads_per_block shared_per_block sm_count cc l2_bytes",
         "the time of a launch": "time_ns",
         "a function": "align_of ceil_div permute_any permute_tile min max abs iif log2 sizeof",
         "an operator of expressions": "and or not is in between case when then else end null true false"}
TAKEN = {name: what for what, names in FACTS.items() for name in names.split()}
OPS = ("transpose", "transpose_in_place", "transpose_rect_in_place", "copy", "transpose_ladder", "axpby", "permute",
       "cast_transpose", "cast_transpose_mx", "transpose_scaled")
OPTIONS = ("use_fast_math ftz= prec-div= prec-sqrt= fmad= extra-device-vectorization modify-stack-limit= restrict "
           "lineinfo generate-line-info dopt= device-debug G disable-warnings w diag-error= diag-suppress= diag-warn= "
           "device-int128 device-float128 device-as-default-execution-space default-device opt-info=").split()
SIZES = {"bool": 1, "i8": 1, "u8": 1, "e4m3": 1, "e5m2": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "i32": 4, "u32": 4,
         "f32": 4, "i64": 8, "u64": 8, "f64": 8, "elem": 4}
SCALARS = ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64")
FLOATS = {"f16": 65504.0, "f32": 3.4028234663852886e38, "bf16": 3.3895313892515355e38, "f64": 1.7976931348623157e308}
TYPES = {"bool": ("u8", 1), "int": ("i32", 1), "uint": ("u32", 1), "custom": ("u8", 0)}
TYPES.update({f"{u}int{n}": (f"{u or 'i'}{n}", 1) for u in ("", "u") for n in (8, 16, 32, 64)})
TYPES.update({f"{name}{lanes if lanes > 1 else ''}": (ours, lanes)
              for name, ours in (("half", "f16"), ("float", "f32"), ("double", "f64")) for lanes in (1, 2, 4, 8, 16)})


def range_of(ours):
    """The least and the largest number of a type."""
    if ours in FLOATS:
        return -FLOATS[ours], FLOATS[ours]
    bits = 8 * SIZES[ours] - (ours[0] == "i")
    return -2**bits if ours[0] == "i" else 0, 2**bits - 1


# ---- Members -------------------------------------------------------------------------------------------------


def form(x):
    words = {dict: OBJECT, list: ARRAY, str: TEXT, type(None): "null", int: "a whole number",
             float: "a number with a fraction"}
    return words.get(type(x)) or str(x).lower()


def checked(x, place, forms, needed):
    if x is None:
        if needed:
            raise Refusal(f"{place} is missing: expected {' or '.join(forms)}")
        return None
    is_a = TRUTH if isinstance(x, bool) else NUMBER if isinstance(x, (int, float)) else form(x)
    if is_a not in forms:
        raise Refusal(f"{place} is {form(x)}: expected {' or '.join(forms)}")
    if isinstance(x, str) and "\0" in x:
        raise Refusal(f"{place} has a NUL character")
    return x


def member(of, place, name, *forms, needed=False):
    """An object's member, which must have one of these forms; None if it is missing or null."""
    return checked(of.get(name) if isinstance(of, dict) else None, f"{place}.{name}", forms, needed)


def members(of, place, name, most, needed=False):
    """The objects of a list, each with its place."""
    found = member(of, place, name, ARRAY, needed=needed) or []
    if len(found) > most:
        raise Refusal(f"{place}.{name} has more than {most} items")
    return [(checked(x, f"{place}.{name}[{i}]", (OBJECT,), True), f"{place}.{name}[{i}]") for i, x in enumerate(found)]


@contextlib.contextmanager
def at(place):
    try:
        yield
    except Refusal as e:
        raise type(e)(f"{place}: {e}") from None


def is_word(text):
    return re.fullmatch(r"[A-Za-z_]\w*", text, re.A) is not None


def check_kernel(data):
    """The name of its file, if it is about a CUDA kernel that is no C++ template."""
    kernel, place = data.get("KernelSpecification"), "KernelSpecification"
    language = member(kernel, place, "Language", TEXT, needed=True)
    name = member(kernel, place, "KernelName", TEXT, needed=True)
    file = member(kernel, place, "KernelFile", TEXT, needed=True)
    if language != "CUDA":
        raise Refusal(f'{place}.Language is "{language[:40]}": expected CUDA')
    if not is_word(name) or len(name) > NAME_MAX:
        raise Refusal(f'{place}.KernelName is "{name[:80]}": expected the name of a function')
    if name in OPS:
        raise Refusal(f"{place}.KernelName is {name}, as one of tiletune's own kernels: rename it")
    if member(kernel, place, "KernelTypeNames", ARRAY):
        raise Refusal(f'{place}.KernelTypeNames: a C++ template is no kernel here: add an extern "C" kernel that calls '
                      "it, and name that")
    return file
