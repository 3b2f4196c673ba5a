"""Write C headers: constants, enums, structs, and assertions that C lays a struct out as NumPy does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from textwrap import wrap

from abigen.layout import Layouts, numpy_type
from abigen.model import NO_NUMBER, Constant, Enum, Field, Struct, Table, TableError, Text

WIDTH = 110


def header(table: Table, layouts: Layouts) -> str:
    """Give the text of cext/abi/include/abi_NAME.h."""
    guard = f"PSE_ABI_{table.name.upper()}_H"
    parts = [
        f"/* Made from {table.source} by cext/abi/generate.py: change the table, not this file. */\n"
        f"/* clang-format off */\n#ifndef {guard}\n#define {guard}\n",
        "#include <stddef.h>\n#include <stdint.h>\n",
    ]
    for entry in table.entries:
        if isinstance(entry, Enum):
            parts.append(_enum(entry))
        elif isinstance(entry, Struct):
            parts.append(_struct(entry, layouts))
        else:
            parts.append(_constant(entry) if isinstance(entry, Constant) else _text(entry))
    text = "\n".join([*filter(None, parts), "#endif\n"])
    return re.sub(r"^(#define .*\n)\n(?=#define)", r"\1", text, flags=re.MULTILINE)


def _enum(what: Enum) -> str:
    """Write an enum and, where its rows say more than a number, a list of them for X-macros."""
    codes = [code for code in what.codes if code.number != NO_NUMBER]
    lines = [_row(f"    {what.prefix}_{code.name} = {code.number},", code.meaning) for code in codes]
    text = f"{_comment(what.meaning)}enum {what.tag} {{\n{''.join(lines)}}};\n"
    if what.base == "Texts":
        rows = [f'X({what.prefix}_{code.name}, {code.number}, "{code.meaning}")' for code in codes]
        text += _list(f"{what.prefix}_TEXTS", rows)
    elif what.base == "Element":
        rows = [f"X({code.name}, {code.more['c']})" for code in _for_modules(what).codes]
        text += _list(f"{what.prefix}_ELEMENTS", rows)
    elif what.base == "Collective":
        text = _list("COVEN_COLLECTIVES", [f"X({code.name}, {code.more['rooted']})" for code in codes])
    return "" if what.tag == "coven_op" else text


def _list(name: str, rows: list[str]) -> str:
    return f"#define {name}(X) \\\n    " + " \\\n    ".join(rows) + "\n"


def _for_modules(what: Enum) -> Enum:
    """Give the element types that compiled modules can name: those with a number and a type in C."""
    codes = [code for code in what.codes if code.number != NO_NUMBER and code.more["c"] != "-"]
    return replace(what, tag="coven_type", prefix="COVEN", codes=codes)


def coven(text: str, tables: Mapping[str, Table]) -> str:
    """Give coven.h with its enums renewed."""
    for what in (_for_modules(tables["elements"].enums[0]), *tables["coven"].enums):
        pattern = re.compile(rf"^((?:typedef )?enum {what.tag} {{\n).*?^}}", re.DOTALL | re.MULTILINE)
        text, count = pattern.subn(lambda found, what=what: f"{found[1]}{_members(what)}}}", text)
        if count != 1:
            raise TableError(f"coven.h: expected one enum {what.tag}, found {count}")
    return text


def _members(what: Enum) -> str:
    """Write the members of an enum of coven.h, as clang-format has them."""
    commas = [","] * (len(what.codes) - 1) + [""]
    lines = [
        _row(f"    {what.prefix}_{code.name} = {code.number}{comma}", code.meaning)
        for code, comma in zip(what.codes, commas, strict=True)
    ]
    return "".join(lines)


def _struct(struct: Struct, layouts: Layouts) -> str:
    rows = "".join(_row(f"    {_declaration(field)};", field.meaning) for field in struct.fields)
    text = f"{_comment(struct.meaning)}typedef {struct.kind} {struct.name} {{\n{rows}}} {struct.name};\n"
    where = [
        f"offsetof({struct.name}, {name}) == {place.offset}" for name, place in layouts.places(struct).items()
    ]
    checks = [f"sizeof({struct.name}) == {layouts.size(struct)}", *(where if struct.kind == "struct" else [])]
    return (
        text + _assertion(checks, struct.name) + "".join(_npy(name, struct, layouts) for name in struct.npy)
    )


def _npy(name: str, struct: Struct, layouts: Layouts) -> str:
    """Write the fields of a struct without gaps as a file of NumPy names them."""
    rows = [f"\"('{field.name}', '{numpy_type(field, layouts)}'),\"" for field in struct.fields]
    return f"#define {name} \\\n    " + " \\\n    ".join(rows) + "\n"


def _assertion(checks: list[str], name: str) -> str:
    """Write what the compiler is to check; C++ spells it differently and takes C's word for it."""
    unbroken = " ".join(check.replace(" ", "~") + "~&&" for check in checks).removesuffix("~&&")
    condition = "\n               ".join(wrap(unbroken, WIDTH - 15)).replace("~", " ")
    text = f'_Static_assert({condition},\n               "{name} as NumPy has it");\n'
    return f"#ifndef __cplusplus\n{text}#endif\n"


def _declaration(field: Field) -> str:
    space = "" if field.ctype.endswith("*") else " "
    return f"{field.ctype}{space}{field.name}" + (f"[{field.length}]" if field.length else "")


def _constant(row: Constant) -> str:
    return _row(f"#define {row.name} {row.literal}", row.meaning)


def _text(entry: Text) -> str:
    if entry.kind == "pointer":
        return f"{entry.text};\n"
    if entry.kind == "import":
        return f'#include "abi_{entry.text}.h"\n'
    return f"#include {entry.text}\n" if entry.text.startswith("<") else f'#include "{entry.text}"\n'


def _row(line: str, meaning: str) -> str:
    """A line with its comment behind it, or above it where that gets too long."""
    if not meaning:
        return f"{line}\n"
    indent = " " * (len(line) - len(line.lstrip()))
    together = f"{line} /* {meaning} */\n"
    return together if len(together) <= WIDTH + 1 else f"{_comment(meaning, indent)}{line}\n"


def _comment(text: str, indent: str = "") -> str:
    lines = wrap(text, WIDTH - len(indent) - 6, break_long_words=False)
    return f"{indent}/* " + f"\n{indent} * ".join(lines) + " */\n" if text else ""
