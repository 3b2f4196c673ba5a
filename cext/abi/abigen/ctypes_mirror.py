"""Write the structs of coven.h as ctypes has them, for modules in Python, which call the same functions."""

from __future__ import annotations

import re

from abigen.model import TableError

STRUCTS = {"coven_collective": "Collective", "coven_services": "Services"}
"""The structs by their names in C, each with its name in Python."""

_NUMBERS = {
    "uint32_t": "c_uint32",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "size_t": "c_size_t",
    "int": "c_int",
}
_MEMBER = re.compile(
    r"(?P<type>(?:const )?\w+) (?:\(\*(?P<function>\w+)\)\((?P<arguments>.*)\)|(?P<names>.+))"
)
_HEAD = '''"""What the engine offers to modules, and a part in a collective operation, as coven.h has them.

Made from pse/modules/include/coven.h by cext/abi/generate.py: change that file, not this one.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, POINTER, Structure, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
'''


def module(header: str) -> str:
    """Give the text of the Python module."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    functions = set(re.findall(r"typedef \w+ \(\*(\w+)\)", text))
    return "\n\n".join([_HEAD, *(_structure(name, text, functions) for name in STRUCTS)])


def _structure(name: str, text: str, functions: set[str]) -> str:
    found = re.search(rf"typedef struct {name} {{(.*?)}} {name};", text, re.DOTALL)
    if found is None:
        raise TableError(f"coven.h: expected a struct {name}")
    members = [" ".join(member.split()) for member in found[1].split(";") if member.strip()]
    fields = [field for member in members for field in _fields(member, functions)]
    rows = "".join(f'        ("{field}", {kind}),\n' for field, kind in fields)
    return f'class {STRUCTS[name]}(Structure):\n    """``{name}``."""\n\n    _fields_ = [\n{rows}    ]\n'


def _fields(member: str, functions: set[str]) -> list[tuple[str, str]]:
    """Give the names that a declaration declares, each with its type."""
    found = _MEMBER.fullmatch(member)
    if found is None:
        raise TableError(f"coven.h: {member}: this can't be written for ctypes")
    if found["function"]:
        arguments = [_argument(one) for one in found["arguments"].split(", ") if one != "void"]
        result = _NUMBERS.get(found["type"], "None")
        return [(found["function"], f"CFUNCTYPE({', '.join([result, *arguments])})")]
    pointer = "*" in found["names"] or found["type"] in functions
    names = [name.lstrip("*") for name in found["names"].split(", ")]
    return [(name, "c_void_p" if pointer else _NUMBERS[found["type"]]) for name in names]


def _argument(written: str) -> str:
    """Give the type of a function's argument."""
    kind = written.removeprefix("const ").split(" ")[0]
    pointed = STRUCTS.get(kind) or _NUMBERS.get(kind)
    if "*" not in written:
        return _NUMBERS[kind]
    return f"POINTER({pointed})" if pointed else "c_void_p"
