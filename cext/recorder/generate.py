"""Make Python's half of the trace format from events.def, and the tables of docs/trace.md.

``python cext/recorder/generate.py`` writes; with ``--check`` it only says what is stale (exit code 1).  A
test runs the check, so the one table and what is made from it can't drift apart.

May touch: ``pse/trace/format/_events.py``, ``pse/trace/_events.pxd``, ``docs/trace.md`` between its markers.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOM = Path(__file__).parent
ROOT = ROOM.parent.parent
DTYPES = {"uint16_t": "<u2", "uint32_t": "<u4", "uint64_t": "<u8", "int32_t": "<i4", "int64_t": "<i8"}
FLAG_GROUPS = ("STATE", "MODULE", "MESSAGE", "MEMORY")
GROUP_CLASSES = {
    "STATE": ("State", "Bits of a file's `state`."),
    "PHASE": ("Phase", "Field `a` of PHASE."),
    "TEXT": ("TextKind", "Flags of TEXT."),
    "VALUE": ("ValueKind", "Flags of COUNTER."),
    "MODULE": ("ModuleFlag", "Flags of MODULE_LEAVE."),
    "MESSAGE": ("MessageFlag", "Flags of SEND and RECEIVE, and of messages among partitions."),
    "MEMORY": ("MemoryFlag", "Flags of ALLOCATE and FREE."),
    "WAIT": ("WaitReason", "Flags of WAIT_BEGIN and WAIT_END."),
    "SEND_MODE": ("SendMode", "Flags of MPI_SEND."),
    "COLLECTIVE": ("Collective", "Flags of the begins and ends of collective operations."),
}
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|[(),]')
ENTRY = re.compile(r"^(PSE_(?:FIELD|HEADER_FIELD|HEADER_TEXT|EVENT|CODE))\(", re.MULTILINE)


@dataclass(frozen=True)
class Event:
    """One event type: its number and what its fields mean."""

    name: str
    number: int
    meaning: str
    flags: str
    a: str
    b: str
    c: str
    otf2: str


@dataclass
class Table:
    """What events.def says."""

    version: int = 0
    fields: list[tuple[str, str, str]] = field(default_factory=list)  # name, dtype, meaning
    header: list[tuple[str, str, str]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    codes: dict[str, list[tuple[str, int, str]]] = field(default_factory=dict)


def read_table(text: str) -> Table:
    """Read events.def; only the macro calls that start a line count."""
    found = re.search(r"#define PSE_TRACE_VERSION (\d+)", text)
    if not found:
        raise SystemExit("events.def: no PSE_TRACE_VERSION")
    table = Table(version=int(found[1]))
    for entry in ENTRY.finditer(text):
        _add(table, entry[1], _arguments(text, entry.end()))
    return table


def _arguments(text: str, position: int) -> list[str]:
    """The arguments of a macro call from behind its parenthesis; adjacent strings are one, as in C."""
    arguments = [""]
    for token in TOKEN.finditer(text, position):
        if token[0] == ")":
            return arguments
        if token[0] == ",":
            arguments.append("")
        else:
            arguments[-1] += token[0].strip('"')
    raise SystemExit("events.def: a macro call doesn't end")


def _add(table: Table, macro: str, arguments: list[str]) -> None:
    if macro == "PSE_EVENT":
        name, number, *texts = arguments
        table.events.append(Event(name, int(number), *texts))
    elif macro == "PSE_CODE":
        group, name, number, meaning = arguments
        table.codes.setdefault(group, []).append((name, int(number), meaning))
    else:
        ctype, name, meaning = arguments
        dtype = f"S{ctype}" if macro == "PSE_HEADER_TEXT" else DTYPES[ctype]
        (table.fields if macro == "PSE_FIELD" else table.header).append((name, dtype, meaning))


def python_module(table: Table) -> str:
    """The text of pse/trace/format/_events.py."""
    head = (
        '"""The trace format for Python: dtypes of a record and of a file\'s header, event types, codes.\n\n'
        "Made from cext/recorder/events.def by cext/recorder/generate.py: change the table, not this file.\n"
        '"""\n\nfrom __future__ import annotations\n\n'
        "from enum import IntEnum, IntFlag\n\nimport numpy as np\n\n"
        f"SCHEMA_VERSION = {table.version}\nNONE = 0xFFFFFFFF  # No rank, site, edge, loop, partition.\n"
    )
    parts = [head, _dtype("EVENT_DTYPE", table.fields), _dtype("HEADER_DTYPE", table.header)]
    members = [(event.name, event.number, event.meaning) for event in table.events]
    parts.append(_enum("EventType", "IntEnum", "Types of records.", members))
    for group, codes in table.codes.items():
        name, doc = GROUP_CLASSES[group]
        parts.append(_enum(name, "IntFlag" if group in FLAG_GROUPS else "IntEnum", doc, codes))
    return "\n".join(parts[:3]) + "\n\n" + "\n\n".join(parts[3:])


def _dtype(name: str, fields: list[tuple[str, str, str]]) -> str:
    rows = "".join(f'        ("{field}", "{dtype}"),  # {meaning}\n' for field, dtype, meaning in fields)
    return f"{name} = np.dtype(\n    [\n{rows}    ]\n)\n"


def _enum(name: str, base: str, doc: str, members: list[tuple[str, int, str]]) -> str:
    rows = "".join(f"    {member} = {number}  # {meaning}\n" for member, number, meaning in members)
    return f'class {name}({base}):\n    """{doc}"""\n\n{rows}'


def cython_declarations(table: Table) -> str:
    """The text of pse/trace/_events.pxd: every C constant, for faces that cimport the recorder."""
    names = [f"PSE_EVENT_{event.name}" for event in table.events]
    names += [f"PSE_{group}_{name}" for group, codes in table.codes.items() for name, _, _ in codes]
    rows = "".join(f"        {name}\n" for name in names)
    return (
        "# Constants of recorder.h, made from cext/recorder/events.def by cext/recorder/generate.py.\n\n"
        f'cdef extern from "recorder.h":\n    enum:\n        PSE_NONE\n{rows}'
    )


def tables(table: Table) -> dict[str, str]:
    """The tables of docs/trace.md by the name of their marker."""
    made = {
        "record": _markdown(
            ("field", "dtype", "meaning"), [(f"`{n}`", f"`{d}`", m) for n, d, m in table.fields]
        ),
        "header": _markdown(
            ("field", "dtype", "meaning"), [(f"`{n}`", f"`{d}`", m) for n, d, m in table.header]
        ),
        "events": _markdown(
            ("number", "type", "meaning", "flags", "a", "b", "c"),
            [(str(e.number), f"`{e.name}`", e.meaning, e.flags, e.a, e.b, e.c) for e in table.events],
        ),
        "otf2": _markdown(("type", "OTF2"), [(f"`{e.name}`", e.otf2) for e in table.events]),
    }
    codes = [
        (f"`{GROUP_CLASSES[group][0]}`", f"`{name}`", str(number), meaning)
        for group, members in table.codes.items()
        for name, number, meaning in members
    ]
    made["codes"] = _markdown(("enum", "name", "number", "meaning"), codes)
    return made


def _markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def manual(text: str, table: Table) -> str:
    """docs/trace.md with the tables between its markers renewed."""
    for name, made in tables(table).items():
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = pattern.subn(lambda found, made=made: found[1] + made + found[2], text)
        if count != 1:
            raise SystemExit(f"docs/trace.md: expected one marker <!-- table: {name} -->, found {count}")
    return text


def main(arguments: list[str]) -> int:
    """Write what is stale, or with ``--check`` only name it."""
    table = read_table((ROOM / "events.def").read_text(encoding="utf-8"))
    page = ROOT / "docs" / "trace.md"
    made = {
        ROOT / "pse" / "trace" / "format" / "_events.py": python_module(table),
        ROOT / "pse" / "trace" / "_events.pxd": cython_declarations(table),
        page: manual(page.read_text(encoding="utf-8"), table),
    }
    stale = [
        path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(path.relative_to(ROOT))
        if "--check" not in arguments:
            path.write_text(made[path], encoding="utf-8")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
