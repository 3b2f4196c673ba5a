"""Write the tables of docs/trace.md from those of the trace format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from abigen.layout import Layouts
from abigen.model import Struct, Table, TableError

Row = tuple[str, ...]


def page(text: str, tables: Mapping[str, Table], layouts: Layouts) -> str:
    """Give docs/trace.md with the tables between its markers renewed."""
    for name, made in _tables(tables, layouts).items():
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = pattern.subn(lambda found, made=made: found[1] + made + found[2], text)
        if count != 1:
            raise TableError(f"docs/trace.md: expected one marker <!-- table: {name} -->, found {count}")
    return text


def _tables(tables: Mapping[str, Table], layouts: Layouts) -> dict[str, str]:
    """Make the tables of the page, by the name of their marker."""
    record, header = tables["events"].structs
    types, *groups = tables["events"].enums
    groups.append(tables["waiting"].enum("pse_wait_reason"))
    events = [
        (str(e.number), f"`{e.name}`", e.meaning, *(e.more[key] for key in ("flags", "a", "b", "c")))
        for e in types.codes
    ]
    codes = [
        (f"`{group.python}`", f"`{code.name}`", str(code.number), code.meaning)
        for group in groups
        for code in group.codes
    ]
    return {
        "record": _fields(record, layouts),
        "header": _fields(header, layouts),
        "events": _table(("number", "type", "meaning", "flags", "a", "b", "c"), events),
        "codes": _table(("enum", "name", "number", "meaning"), codes),
        "otf2": _table(("type", "OTF2"), [(f"`{e.name}`", e.more["otf2"]) for e in types.codes]),
    }


def _fields(struct: Struct, layouts: Layouts) -> str:
    rows = [
        (f"`{field.name}`", f"`{_dtype(field.bare, layouts.length(field), layouts)}`", field.meaning)
        for field in struct.fields
    ]
    return _table(("field", "dtype", "meaning"), rows)


def _dtype(ctype: str, length: int, layouts: Layouts) -> str:
    return f"S{length}" if ctype == "char" else f"<{layouts.code(ctype)}"


def _table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
