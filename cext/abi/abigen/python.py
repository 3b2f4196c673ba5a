"""Write Python modules: constants, enums, and structs as NumPy's dtypes."""

from __future__ import annotations

import re
from textwrap import wrap

from abigen.layout import Layouts, numpy_type
from abigen.model import NO_NUMBER, Constant, Enum, Struct, Table, Text

WIDTH = 110
_BASES = {"Element": "Enum", "Texts": "IntEnum", "Collective": "IntEnum"}


def module(table: Table, layouts: Layouts) -> str:
    """Give the text of a table's module."""
    constants = "".join(_constant(row) for row in table.constants if row.python != "-")
    structs = [struct for struct in table.structs if struct.python != "-"]
    rows = [struct for struct in table.structs if struct.row]
    enums = [enum for enum in table.enums if enum.python != "-"]
    made = f"Made from {table.source} by cext/abi/generate.py: change the table, not this file."
    head = f'"""{table.title}\n\n{made}\n"""\n'
    parts = [head, "from __future__ import annotations\n", _imports(table, structs, rows, enums, layouts)]
    parts += [constants] * bool(constants)
    parts += [_dtype(struct, layouts) for struct in structs]
    text = "\n".join(filter(None, parts))
    classes = [_element(enum) if enum.base == "Element" else _enum(enum) for enum in enums]
    classes += [_row(struct, layouts) for struct in rows]
    tables = [struct for struct in rows if struct.row[1] != "-"]
    classes += [_tables(tables)] if tables else []
    return "\n\n".join([text, *classes]) if classes else text


def _imports(
    table: Table, structs: list[Struct], rows: list[Struct], enums: list[Enum], layouts: Layouts
) -> str:
    bases = sorted({_BASES.get(enum.base, enum.base) for enum in enums})
    standard = f"from enum import {', '.join(bases)}\n" if bases else ""
    tables = {struct.row[1] != "-" for struct in rows}
    standard += f"from typing import {'Any, ' * (True in tables)}NamedTuple\n" if tables else ""
    lines = [standard] if standard else []
    lines += ["import numpy as np\n"] if any(not struct.only_size for struct in structs) else []
    others = set()
    for name in _inner(structs, layouts):
        home, struct = layouts.home(name), layouts.struct(name)
        if home is not table and struct is not None and struct.kind == "struct":
            others.add(f"from {home.module} import {', '.join([struct.python, *struct.row[:1]])}\n")
    for entry in table.entries:
        if isinstance(entry, Text) and entry.kind == "import":
            names = filter(None, entry.name.split(", "))
            others |= {f"from pse._abi.{entry.text} import {name} as {name}\n" for name in names}
    return "\n".join([*lines, *["".join(sorted(others))] * bool(others)])


def _inner(structs: list[Struct], layouts: Layouts) -> set[str]:
    return {field.bare for struct in structs for field in struct.fields if layouts.struct(field.bare)}


def _constant(row: Constant) -> str:
    if row.texts:
        several = len(row.texts) > 1
        literal = f"({row.literal})" if several else row.literal
        return row_with_comment(f"{row.python} = {literal}", row.meaning)
    value = f"0x{int(row.value.rstrip('u'), 16):X}" if row.value.startswith("0x") else row.value.rstrip("u")
    return row_with_comment(f"{row.python} = {value}", row.meaning)


def _dtype(struct: Struct, layouts: Layouts) -> str:
    """Write a struct's dtype; its size where Python needs no more, which needs no NumPy."""
    if struct.only_size:
        return row_with_comment(f"{struct.python} = {layouts.size(struct)}", struct.meaning)
    rows = "".join(_field(struct, index, layouts) for index in range(len(struct.fields)))
    places = list(layouts.places(struct).values())
    padded = sum(place.size for place in places) != layouts.size(struct)
    comment = "".join(f"# {line}\n" for line in wrap(struct.meaning, WIDTH - 2))
    aligned = "    align=True,\n" if padded else ""
    return f"{comment}{struct.python} = np.dtype(\n    [\n{rows}    ]{',' if aligned else ''}\n{aligned})\n"


def _row(struct: Struct, layouts: Layouts) -> str:
    """Write the tuple of a struct that Python fills in."""
    lines = []
    for field in struct.fields:
        inner = layouts.struct(field.bare)
        kind = inner.row[0] if inner is not None and inner.row else "int"
        kind = "tuple[int, ...]" if field.length else kind
        hides = "  # type: ignore[assignment]" if field.name in dir(tuple) else ""
        lines.append(f"    {field.name}: {kind}{f' = {field.default}' if field.default else ''}{hides}")
    members = "\n".join(lines)
    text = _attributes(struct) if struct.python == "-" else _docstring(struct.meaning)
    return f"class {struct.row[0]}(NamedTuple):\n{text}\n{members}\n"


def _attributes(struct: Struct) -> str:
    """Write what a record that only Python's users see is for, and its fields."""
    fields = "".join(f"    {field.name} : int\n        {field.meaning}\n" for field in struct.fields)
    return f'    """{struct.meaning}\n\n    Attributes\n    ----------\n{fields}    """\n'


def _docstring(text: str) -> str:
    """Write what a class is for; what does not fit a line follows its first sentence."""
    if len(text) <= WIDTH - 10:
        return f'    """{text}"""\n'
    summary, _, rest = text.partition(". ")
    more = "".join(f"    {line}\n" for line in wrap(rest, WIDTH - 4))
    return f'    """{summary}.\n\n{more}    """\n'


def _tables(structs: list[Struct]) -> str:
    """Write which rows are in which table."""
    names = "".join(f'    {struct.row[0]}: "{struct.row[1]}",\n' for struct in structs)
    dtypes = "".join(f'    "{struct.row[1]}": {struct.python},\n' for struct in structs)
    union = "".join(f"    {'| ' if index else ''}{struct.row[0]}\n" for index, struct in enumerate(structs))
    return (
        f"Row = (\n{union})\n\n"
        f'TABLES: dict[type, str] = {{\n{names}}}\n"""The table of each kind of row."""\n\n'
        f'DTYPES: dict[str, np.dtype[Any]] = {{\n{dtypes}}}\n"""The rows of each table."""\n'
    )


def _field(struct: Struct, index: int, layouts: Layouts) -> str:
    """One field; a union is to NumPy what its first member is."""
    field = struct.fields[index]
    inner = layouts.struct(field.bare)
    length = f", {layouts.length(field)}" if field.length else ""
    if inner is not None and inner.kind == "union":
        first = inner.fields[0]
        kind = f'"{numpy_type(first, layouts)}"'
        length = f", {layouts.length(first)}" if first.length else ""
    elif inner is not None:
        kind = inner.python
    elif field.bare == "char":
        kind, length = f'"{numpy_type(field, layouts)}"', ""
    else:
        kind = f'"{numpy_type(field, layouts)}"'
    return row_with_comment(f'        ("{field.name}", {kind}{length}),', field.meaning)


def _section(doc: list[str]) -> str:
    """Write a section of a docstring, if there is one."""
    lines = ["", doc[0], "-" * len(doc[0]), *doc[1:]] if doc else []
    return "\n" + "".join(f"    {line}".rstrip() + "\n" for line in lines) + "    " if lines else ""


def _enum(enum: Enum) -> str:
    base = _BASES.get(enum.base, enum.base)
    comments = "" if enum.base == "Texts" else "{.meaning}"
    rows = "".join(
        row_with_comment(f"    {code.name} = {code.number}", comments.format(code)) for code in enum.codes
    )
    text = f'class {enum.python}({base}):\n    """{enum.meaning}{_section(enum.doc)}"""\n\n{rows}'
    if enum.base == "Texts":
        words = "".join(f'    {enum.python}.{code.name}: "{code.meaning}",\n' for code in enum.codes)
        text += f"\n\n{enum.prefix.removeprefix('PSE_')}_TEXTS: dict[int, str] = {{\n{words}}}\n"
    if enum.base == "Collective":
        rooted = "".join(
            f"    {enum.python}.{code.name},\n" for code in enum.codes if code.more["rooted"] == "1"
        )
        text += f"\n\nROOTED = {{\n{rooted}}}\n"
    return text


def _element(enum: Enum) -> str:
    """The element types of the language, and what each is elsewhere."""
    known = [code for code in enum.codes if code.more["numpy"] != "-"]
    numbered = [code for code in enum.codes if code.number != NO_NUMBER]
    rows = "".join(
        row_with_comment(f'    {code.name} = "{code.more["numpy"]}"', code.meaning) for code in known
    )
    label = (
        '    @property\n    def label(self) -> str:\n        """Spelling in a program (`c128`)."""\n'
        "        return self.name.lower()\n"
    )
    text = f'class {enum.python}(Enum):\n    """{enum.meaning}"""\n\n{rows}\n{label}'
    codes = {code.name: str(code.number) for code in known if code.number != NO_NUMBER}
    text += f"\n\n{_mapping('ELEMENT_CODES', codes, f'Numbers of enum {enum.tag} in C.')}"
    short = {_short(code.more["numpy"]): code.number for code in known if code.more["buffer"] != "-"}
    rows = "".join(f'    "{key}": {number},\n' for key, number in short.items() if key)
    text += f'\nTYPE_CODES = {{\n{rows}}}\n"""The same, by NumPy\'s short names."""\n'
    formats = ", ".join(f'b"{code.more["buffer"]}"' for code in numbered)
    text += f'\nFORMATS = ({formats})\n"""Formats of the buffer protocol, by number."""\n'
    for column, name, language in (("c", "C", "C"), ("cpp", "CPP", "C++"), ("cython", "CYTHON", "Cython")):
        types = {code.name: f'"{code.more[column]}"' for code in known if code.more[column] != "-"}
        text += f"\n{_mapping(f'{name}_TYPES', types, f'What they are in {language}.')}"
    return text


def _short(numpy: str) -> str:
    """Give NumPy's short name of a number, c16 for complex128; "" for what is none."""
    found = re.fullmatch(r"([a-z]+?)(\d+)", numpy)
    if found:
        return f"{found[1][0]}{int(found[2]) // 8}"
    return "b1" if numpy == "bool" else ""


def _mapping(name: str, values: dict[str, str], meaning: str) -> str:
    rows = "".join(f"    Element.{key}: {value},\n" for key, value in values.items())
    return f'{name} = {{\n{rows}}}\n"""{meaning}"""\n'


def row_with_comment(line: str, meaning: str) -> str:
    """Put a line's comment behind it, or above it where that gets too long."""
    together = f"{line}  # {meaning}\n"
    if not meaning or len(together) <= WIDTH + 1:
        return together if meaning else f"{line}\n"
    indent = " " * (len(line) - len(line.lstrip()))
    above = "".join(f"{indent}# {part}\n" for part in wrap(meaning, WIDTH - len(indent) - 2))
    return f"{above}{line}\n"
