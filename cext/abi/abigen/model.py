"""Read the tables: cext/abi/NAME.def to enums, structs and constants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\w.-]+|[(),]')
_ENTRY = re.compile(r"^([A-Z]+)\(", re.MULTILINE)


NO_NUMBER = -(1 << 31)
"""Number of an element type that only the language knows."""


class TableError(Exception):
    """A table says something that it must not say."""


@dataclass(frozen=True)
class Constant:
    """A number, or texts, with a name in C and in Python ("-": not there)."""

    name: str
    python: str
    value: str
    meaning: str
    texts: tuple[str, ...] = ()

    @property
    def literal(self) -> str:
        """Write the value as C does."""
        return ", ".join(f'"{text}"' for text in self.texts) or self.value


@dataclass(frozen=True)
class Code:
    """One member of an enum; `more` has what the columns of its own kind of row say."""

    name: str
    number: int
    meaning: str
    more: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Enum:
    """Codes: an enum in C, where `prefix` begins every name, and one in Python, if `python` names it.

    `base` is IntEnum, IntFlag, Texts (an IntEnum whose meanings users read), Element or Collective; `doc` has
    the title and the lines of a section of the docstring, if there is one.
    """

    tag: str
    prefix: str
    python: str
    base: str
    meaning: str
    codes: list[Code] = field(default_factory=list)
    doc: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Field:
    """A member of a struct; `length` is that of an array, as C writes it, "" if it is none."""

    ctype: str
    name: str
    length: str
    meaning: str
    default: str = ""

    @property
    def inner(self) -> str:
        """Give the name of the type, without qualifiers and without the mark of a pointer."""
        return self.bare.removeprefix("const ").rstrip(" *")

    @property
    def bare(self) -> str:
        """Give its type without what only C's memory model needs."""
        return re.sub(r"_Alignas\(\d+\) |_Atomic ", "", self.ctype)

    @property
    def alignment(self) -> int:
        """Give what _Alignas asks for, else 1."""
        found = re.search(r"_Alignas\((\d+)\)", self.ctype)
        return int(found[1]) if found else 1


@dataclass(frozen=True)
class Struct:
    """A struct or union in C and a dtype in Python, if `python` names one.

    Rows that Python writes have a tuple of that name too: `row`, and the name of their table.  What C writes
    to files of NumPy has its fields as a text in C: `npy`.
    """

    kind: str
    name: str
    python: str
    meaning: str
    fields: list[Field] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    npy: list[str] = field(default_factory=list)

    @property
    def only_size(self) -> bool:
        """Say whether Python needs no more of it than its size: a name with _BYTES."""
        return self.python.endswith("_BYTES")


@dataclass(frozen=True)
class Text:
    """A line that only C needs: what it includes, or a type of a pointer to a function."""

    kind: str
    text: str
    name: str = ""


@dataclass
class Table:
    """What one .def file says, in its order."""

    name: str
    title: str = ""
    entries: list[Constant | Enum | Struct | Text] = field(default_factory=list)

    @property
    def constants(self) -> list[Constant]:
        """Give its constants."""
        return [entry for entry in self.entries if isinstance(entry, Constant)]

    @property
    def enums(self) -> list[Enum]:
        """Give its enums."""
        return [entry for entry in self.entries if isinstance(entry, Enum)]

    @property
    def structs(self) -> list[Struct]:
        """Give its structs and unions."""
        return [entry for entry in self.entries if isinstance(entry, Struct)]

    @property
    def package(self) -> str:
        """Name what Cython cimports."""
        return f"pse._abi.{self.name}"

    @property
    def module(self) -> str:
        """Name what Python imports."""
        return "pse.trace.format._events" if self.name == "events" else self.package

    @property
    def source(self) -> str:
        """Name its file."""
        return f"cext/abi/{self.name}.def"

    def enum(self, tag: str) -> Enum:
        """Give an enum by its name in C."""
        return next(enum for enum in self.enums if enum.tag == tag)


def read(path: Path) -> Table:
    """Read a table's file."""
    return parse(path.stem, path.read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Table:
    """Read a table; only the entries that start a line count.

    Raises
    ------
    TableError
        If an entry is not complete, has too few or too many columns, or uses a number again.
    """
    table = Table(name)
    for entry in _ENTRY.finditer(text):
        arguments = list(_arguments(text, entry.end()))
        try:
            _ENTRIES[entry[1]](table, *arguments)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise TableError(f"{table.source}: {entry[1]}({', '.join(arguments)}): {error}") from None
    return table


def _arguments(text: str, position: int) -> Iterator[str]:
    """Give the arguments of an entry from behind its parenthesis; adjacent strings are one, as in C."""
    argument = ""
    for token in _TOKEN.finditer(text, position):
        if token[0] in (")", ","):
            yield argument
            argument = ""
        else:
            argument += token[0].strip('"')
        if token[0] == ")":
            return
    raise TableError("an entry doesn't end")


def _enum(table: Table, tag: str, prefix: str, python: str, base: str, meaning: str) -> None:
    table.entries.append(Enum(tag, prefix, python, base, meaning))


def _code(table: Table, name: str, number: str, meaning: str, **more: str) -> None:
    enum = table.enums[-1]
    code = Code(name, NO_NUMBER if number == "-" else int(number), meaning, more)
    if any(name == old.name or code.number == old.number != NO_NUMBER for old in enum.codes):
        raise TypeError(f"{enum.tag} has {name} or {number} already")
    if enum.base == "IntFlag" and code.number.bit_count() != 1:
        raise TypeError("a flag is a single bit")
    enum.codes.append(code)


def _element(
    table: Table, name: str, number: str, numpy: str, buffer: str, c: str, cpp: str, cython: str, meaning: str
) -> None:
    _code(table, name, number, meaning, numpy=numpy, buffer=buffer, c=c, cpp=cpp, cython=cython)


def _collective(table: Table, name: str, number: str, rooted: str) -> None:
    _code(table, name, number, "", rooted=rooted)


def _reason(table: Table, name: str, number: str, text: str, meaning: str) -> None:
    """Add a reason to wait, its bit, and the state of a rank that waits for it: RUNNING plus the number."""
    reasons, states = table.enum("pse_wait_reason"), table.enum("pse_rank_state")
    running = next(code.number for code in states.codes if code.name == "RUNNING")
    reasons.codes.append(Code(name, int(number), meaning))
    table.enum("pse_want").codes.append(Code(name, 1 << int(number), ""))
    states.codes.append(Code(f"WAIT_{name}", running + int(number), text))


def _event(
    table: Table, name: str, number: str, meaning: str, flags: str, a: str, b: str, c: str, otf2: str
) -> None:
    table.enum("pse_event_type").codes.append(
        Code(name, int(number), meaning, {"flags": flags, "a": a, "b": b, "c": c, "otf2": otf2})
    )


def _row(table: Table, name: str, of: str) -> None:
    table.structs[-1].row.extend([name, of])


def _field(table: Table, ctype: str, name: str, meaning: str, default: str = "") -> None:
    table.structs[-1].fields.append(Field(ctype, name, "", meaning, default))


def _array(table: Table, ctype: str, name: str, length: str, meaning: str) -> None:
    table.structs[-1].fields.append(Field(ctype, name, length, meaning))


def _title(table: Table, title: str) -> None:
    table.title = title


_ENTRIES: Mapping[str, Callable[..., None]] = {
    "TITLE": _title,
    "IMPORT": lambda table, other, *names: table.entries.append(Text("import", other, ", ".join(names))),
    "INCLUDE": lambda table, header: table.entries.append(Text("include", header)),
    "POINTER": lambda table, name, text: table.entries.append(Text("pointer", text, name)),
    "CONSTANT": lambda table, *row: table.entries.append(Constant(*row)),
    "WORDS": lambda table, *row: table.entries.append(Constant(*row, texts=(row[2],))),
    "NAMES": lambda table, *row: table.entries.append(Constant(*row, texts=tuple(row[2].split()))),
    "ENUM": _enum,
    "DOC": lambda table, *lines: table.enums[-1].doc.extend(line.replace('\\"', '"') for line in lines),
    "CODE": _code,
    "COLLECTIVE": _collective,
    "EVENT": _event,
    "REASON": _reason,
    "ELEMENT": _element,
    "STRUCT": lambda table, *row: table.entries.append(Struct("struct", *row)),
    "UNION": lambda table, *row: table.entries.append(Struct("union", *row)),
    "FIELD": _field,
    "ARRAY": _array,
    "ROW": _row,
    "NPY": lambda table, name: table.structs[-1].npy.append(name),
}
