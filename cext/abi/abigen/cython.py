"""Write Cython's declarations: NAME.pxd, for faces that cimport what a table says."""

from __future__ import annotations

from keyword import iskeyword

from abigen.layout import NUMBERS, Layouts
from abigen.model import NO_NUMBER, Field, Struct, Table, Text


def declarations(table: Table, layouts: Layouts) -> str:
    """Give the text of NAME.pxd."""
    body = [line for entry in table.entries if isinstance(entry, Text) for line in _pointer(entry)]
    for struct in table.structs:
        body += _struct(struct, layouts)
    names = [row.name for row in table.constants if row.name != "-" and not row.texts]
    names += [
        f"{enum.prefix}_{code.name}"
        for enum in table.enums
        for code in enum.codes
        if code.number != NO_NUMBER
    ]
    body += ["    enum:", *(f"        {name}" for name in names)] if names else []
    lines = [
        f"# Made from {table.source} by cext/abi/generate.py: change the table, not this file.",
        *_cimports(table, layouts),
        f'cdef extern from "abi_{table.name}.h" nogil:',
        *(body or ["    pass"]),
    ]
    return "\n".join(lines) + "\n"


def _cimports(table: Table, layouts: Layouts) -> list[str]:
    """Import what the fields' types need: fixed-size numbers, and structs of other tables."""
    types = {field.inner for struct in table.structs for field in struct.fields}
    numbers = ", ".join(sorted(types & NUMBERS.keys() - {"char", "double", "int", "size_t"}))
    lines = ["", f"from libc.stdint cimport {numbers}"] if numbers else []
    for name in sorted(types):
        if layouts.struct(name) and layouts.home(name) is not table:
            home = layouts.home(name)
            lines += ["", f"from {home.package} cimport {name}"]
    return [*lines, ""]


def _pointer(entry: Text) -> list[str]:
    return [f"    ctypedef {entry.text.removeprefix('typedef ')}", ""] if entry.kind == "pointer" else []


def _struct(struct: Struct, layouts: Layouts) -> list[str]:
    rows = [f"        {_declaration(field, layouts)}" for field in struct.fields]
    return [f"    ctypedef {struct.kind} {struct.name}:", *rows, ""]


def _declaration(field: Field, layouts: Layouts) -> str:
    """A field; where its name is a word of Python's, Cython gets another one for it."""
    space = "" if field.bare.endswith("*") else " "
    length = f"[{layouts.length(field)}]" if field.length else ""
    if iskeyword(field.name):
        return f'{field.bare}{space}{field.name}_ "{field.name}"{length}'
    return f"{field.bare}{space}{field.name}{length}"
