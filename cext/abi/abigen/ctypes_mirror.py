"""Write structs of C headers as ctypes has them, for Python, which calls the same functions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from abigen.model import TableError


@dataclass(frozen=True)
class Mirror:
    """Structs of some headers: their names in C, each with its name in Python, and the last member needed."""

    title: str
    headers: tuple[str, ...]
    structs: dict[str, tuple[str, str]]


MIRRORS = {
    "services": Mirror(
        "What the engine offers to modules, and a part in a collective operation, as coven.h has them.",
        ("pse/modules/include/coven.h",),
        {
            "coven_collective": ("Collective", ""),
            "coven_rows": ("Rows", ""),
            "coven_services": ("Services", ""),
        },
    ),
    "shims": Mirror(
        "What Python reads of the tool stack: the beginning of structs in shims.h and pse_tools.h.",
        ("pse/toolstack/shims/shims.h", "pse/toolstack/include/pse_tools.h"),
        {"routine_signature": ("Signature", "letters"), "pse_ring": ("Ring", "lost")},
    ),
}
"""The modules in pse/_abi."""

_NUMBERS = {
    "uint32_t": "c_uint32",
    "int32_t": "c_int32",
    "uint64_t": "c_uint64",
    "int64_t": "c_int64",
    "size_t": "c_size_t",
    "int": "c_int",
    "char": "c_char",
}
_MEMBER = re.compile(
    r"(?P<type>(?:const )?\w+) (?:\(\*(?P<function>\w+)\)\((?P<arguments>.*)\)|(?P<names>.+))"
)
_POINTED = {name: python for mirror in MIRRORS.values() for name, (python, _) in mirror.structs.items()}


def module(mirror: Mirror, headers: Iterable[str]) -> str:
    """Give the text of the Python module."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(headers), flags=re.DOTALL)
    functions = set(re.findall(r"typedef \w+ \(\*(\w+)\)", text))
    structs = [
        _structure(name, python, last, text, functions) for name, (python, last) in mirror.structs.items()
    ]
    sources = " and ".join(mirror.headers)
    made = f"Made from {sources} by cext/abi/generate.py:\nchange the header, not this file."
    used = sorted({name for struct in structs for name in re.findall(r"\bc_\w+|CFUNCTYPE|POINTER", struct)})
    names = [name for name in used if name.isupper()] + ["Structure"]
    names += [name for name in used if name.islower()]
    head = f'"""{mirror.title}\n\n{made}\n"""\n\nfrom __future__ import annotations\n\n'
    return "\n\n".join([f"{head}from ctypes import {', '.join(names)}\n", *structs])


def _structure(name: str, python: str, last: str, text: str, functions: set[str]) -> str:
    found = re.search(rf"struct {name} {{(.*?)^}}", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise TableError(f"there is no struct {name} in the header")
    members = [" ".join(member.split()) for member in found[1].split(";") if member.strip()]
    fields: list[tuple[str, str]] = []
    for member in members:
        fields += _fields(member, functions)
        if last in dict(fields):
            break
    rows = "".join(f'        ("{field}", {kind}),\n' for field, kind in fields)
    return f'class {python}(Structure):\n    """``{name}``."""\n\n    _fields_ = [\n{rows}    ]\n'


def _fields(member: str, functions: set[str]) -> list[tuple[str, str]]:
    """Give the names that a declaration declares, each with its type."""
    found = _MEMBER.fullmatch(member)
    if found is None:
        raise TableError(f"{member}: this can't be written for ctypes")
    if found["function"]:
        arguments = [_argument(one) for one in found["arguments"].split(", ") if one != "void"]
        result = _NUMBERS.get(found["type"], "None")
        return [(found["function"], f"CFUNCTYPE({', '.join([result, *arguments])})")]
    return [_field(found["type"], name, functions) for name in found["names"].split(", ")]


def _field(kind: str, name: str, functions: set[str]) -> tuple[str, str]:
    """Give a name with its type: a pointer, a text, a number, or an array of them."""
    plain, _, length = name.rstrip("]").partition("[")
    if plain.startswith("*") or kind in functions:
        return plain.lstrip("*"), "c_char_p" if kind == "const char" else "c_void_p"
    return plain, _NUMBERS[kind] + (f" * {length}" if length else "")


def _argument(written: str) -> str:
    """Give the type of a function's argument."""
    kind = written.removeprefix("const ").split(" ")[0]
    pointed = _POINTED.get(kind) or _NUMBERS.get(kind)
    if "*" not in written:
        return _NUMBERS[kind]
    return f"POINTER({pointed})" if pointed else "c_void_p"
