"""Made by cffi of tiletune.h: functions and constants of the library in `lib`, their types in `ffi`."""
from typing import Any

ffi: Any
lib: Any
