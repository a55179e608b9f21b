#!/usr/bin/env python3
"""native_source.py HEADER... OUTPUT: the C source of the module tiletune._native, which cffi makes of the headers.

The headers declare the functions and structs, so no layout is written down twice: the C compiler checks what cffi has read.
"""
import pathlib
import re
import sys

import cffi

CALLBACKS = """
extern "Python" void tt_py_on_progress(void *user, const tt_progress *p);
extern "Python" void tt_py_on_message(void *user, const char *line);
extern "Python" int tt_py_should_stop(void *user);
"""


def declarations(header):
    """What a header declares, without what only the preprocessor and C++ understand."""
    text = pathlib.Path(header).read_text(encoding="utf-8").replace("\\\n", " ")
    text = re.sub(r"^#ifdef __cplusplus$.*?^#endif$", "", text, flags=re.M | re.S)
    return re.sub(r"^#.*$|\bTT_API\b", "", text, flags=re.M)


def main():
    *headers, output = sys.argv[1:]
    ffi = cffi.FFI()
    for header in headers:
        ffi.cdef(declarations(header))
    ffi.cdef(CALLBACKS)
    ffi.set_source("tiletune._native", '#include "python/native.h"')
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main()
