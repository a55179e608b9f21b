#!/usr/bin/env python3
"""`tune import-t1`: a tuning problem of another tuner, in the field's T1 format, as a kernel file of tiletune.

import_t1.py FILE.json [OUTPUT]: the kernel file goes to OUTPUT, a new file, or else to standard output. `tune` runs it
by `python3 -I -S -B`, so that neither the environment nor the current folder says what is imported.
"""
import os
import sys

if sys.version_info < (3, 9):
    sys.stderr.write("tune: import-t1 needs Python 3.9 or newer, and python3 is %d.%d\n" % sys.version_info[:2])
    sys.exit(1)

import errno
import json
import re
import signal
import stat

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import t1_convert
import t1_members
from t1_members import at
from t1_value import Refusal

JSON_MAX = SOURCE_MAX = 1 << 20


def read_text(path, most):
    """A regular file of up to so many bytes that is a text. Bytes that are not UTF-8 stay as they are."""
    try:
        check_file(path, os.stat(path), most)  # nothing else is opened, as that may wait, or do something
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as f:
            check_file(path, os.fstat(f.fileno()), most)
            text = f.read(most + 1)
    except (OSError, ValueError) as e:
        raise Refusal(f"cannot read {path}: {getattr(e, 'strerror', None) or e}") from None
    if len(text) > most:
        raise Refusal(f"{path}: more than {most} bytes, which is the limit")
    if b"\0" in text:
        raise Refusal(f"{path}: not a text: a NUL byte at offset {text.index(0)}")
    return text.decode("utf-8", "surrogateescape")


def check_file(path, status, most):
    if not stat.S_ISREG(status.st_mode):
        raise Refusal(f"cannot read {path}: only regular files are read")
    if status.st_size > most:
        raise Refusal(f"{path}: {status.st_size} bytes, the limit is {most}")


def whole_number(text):
    if len(text) > 20:
        raise Refusal(f"a number of {len(text)} digits")
    return int(text)


def read_json(path):
    text = read_text(path, JSON_MAX)
    try:
        with at(path):
            data = json.loads(text, parse_int=whole_number)
        json.dumps(data, ensure_ascii=False).encode()  # half a character, or bytes that were no UTF-8
    except (ValueError, RecursionError):
        size = len(text.encode("utf-8", "surrogateescape"))
        raise Refusal(f"{path}: not valid JSON ({size} bytes): is the file complete?") from None
    if not isinstance(data, dict):
        raise Refusal(f"{path}: is {t1_members.form(data)}: expected an object with ConfigurationSpace and "
                      "KernelSpecification")
    return data


def read_kernel(path, name):
    """The text of KernelFile, which lies in the folder of the JSON file or below, wherever links lead."""
    place = f"{path}: KernelSpecification.KernelFile"
    if name.startswith("/"):
        raise Refusal(f"{place} is {name[:200]}: expected a path relative to this file")
    file = os.path.join(os.path.dirname(path) or ".", name)
    try:
        folder, real = os.path.realpath(os.path.dirname(path) or "."), os.path.realpath(file)
        os.stat(real)
    except (OSError, ValueError) as e:
        raise Refusal(f"{path}: cannot read KernelSpecification.KernelFile {file}: "
                      f"{getattr(e, 'strerror', None) or e}") from None
    if real == folder or not real.startswith(folder.rstrip("/") + "/"):
        raise Refusal(f"{place} {file} is outside the folder of this file: move it there")
    with at(place):
        return read_text(real, SOURCE_MAX)


def write_new(path, text):
    try:
        with open(path, "xb") as f:  # never what is there already, not even between a look and this
            try:
                f.write(text)
                f.flush()
            except OSError:
                os.unlink(path)
                raise
    except OSError as e:
        if e.errno == errno.EEXIST:
            raise Refusal(f"{path} is there already and is left as it is: name a new file") from None
        raise Refusal(f"cannot write {path}: {e.strerror}") from None


def say(text):
    """A line on standard error, whatever stands in it."""
    text = re.sub(r"[\x00-\x1f\x7f]", " ", text)
    sys.stderr.buffer.write(text.encode("utf-8", "surrogateescape") + b"\n")
    sys.stderr.flush()


def run(path, output):
    data = read_json(path)
    with at(path):
        name = t1_members.check_kernel(data)
    source = read_kernel(path, name)
    try:
        with at(path):
            text, notes = t1_convert.convert(data, os.path.basename(path), source)
    except RecursionError:
        raise Refusal(f"{path}: an expression is nested too deep") from None
    text = text.encode("utf-8", "surrogateescape")
    if output is not None:
        write_new(output, text)
    for note in notes:
        say(f"{path}: {note}")
    if output is None:
        sys.stdout.buffer.write(text)
        sys.stdout.flush()


def main(argv):
    if len(argv) not in (2, 3):
        say("tune: import_t1.py FILE.json [OUTPUT]")
        return 2
    try:
        run(argv[1], argv[2] if len(argv) == 3 else None)
    except (Refusal, OSError) as e:
        say(f"tune: {e}")
        return 2
    except MemoryError:
        say("tune: out of memory")
        return 1
    return 0


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGPIPE):  # end as any program does
        signal.signal(number, signal.SIG_DFL)
    sys.exit(main(sys.argv))
