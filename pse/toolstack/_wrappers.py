"""The wrappers of a tool: C code that is made from MPI's own prototypes and the tool's annotated list.

Prototypes come from mpi.h, so a tool wraps just what that MPI has, in both forms (``MPI_Send`` and
``MPI_Send_c``).  A line of the list is ``NAMES | before | call | after``; fields may be empty or left out, a
line that begins with white space continues the one before, ``#`` begins a comment::

    *         !MPI_T_*                          # every routine but these, with nothing added
    MPI_Send  MPI_Rsend | | | SENT(STANDARD)    # C code that may use the parameters (_parameter_names.py)
    MPI_Recv  | | receive($NAME, status)        # instead of the call

``$NAME`` is the routine, ``$CALL`` the call that would be made (``PMPI_Send(buf, …)``), ``returned`` what it
returned.  A routine named on its own line takes that line's code, else the pattern's.  Written is, for each::

    int MPI_Send(const void *buf, …) {
        TOOL_ENTER(MPI_Send) before; int returned = CALL; after; TOOL_LEAVE(MPI_Send) return returned; }

The tool defines both macros before it includes the file, and may define ``TOOL_CALL(MPI_Send, (buf, …))``,
which then stands for calls that the list doesn't replace, and ``TOOL_ROUTINE(MPI_Send, (const void *buf, …),
(buf, …))``, which stands before each wrapper.  ``NUMBER_MPI_Send`` numbers the routines, from 0 to
``ROUTINES - 1``, and ``routine_names`` has their names.  Variadic routines and those that don't return an
error code (MPI_Pcontrol, MPI_Wtime, the conversions of handles) are never wrapped.

Imports nothing that has to be installed: tools are also built before pse is (cext/toolstack/tools).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

from pse.records import dataclass
from pse.toolstack._mpi_header import Header, Prototype


@dataclass(frozen=True)
class _Entry:
    """What a list says of the routines that its names match."""

    names: tuple[str, ...]
    before: str = ""
    call: str = ""
    after: str = ""

    def rank(self, routine: str) -> int:
        """2: named, 1: matched by a pattern, 0: neither, or excluded."""
        plain = routine.removesuffix("_c")
        if plain in self.names or routine in self.names:
            return 2
        excluded = any(fnmatchcase(routine, name[1:]) for name in self.names if name[0] == "!")
        return int(not excluded and any(fnmatchcase(routine, name) for name in self.names))


def _entries(text: str) -> list[_Entry]:
    """The entries of an annotated list, in its order."""
    text = re.sub(r"#.*", "", text)
    text = re.sub(r"\n[ \t]+(?=\S)", " ", text)
    lines = [line for line in text.splitlines() if line.strip()]
    return [_entry(line) for line in lines]


def _entry(line: str) -> _Entry:
    names, *code = (part.strip() for part in re.split(r"(?<!\|)\|(?!\|)", line))
    if len(code) > 3:
        raise ValueError(f"more fields than NAMES | before | call | after in the line {line!r}")
    return _Entry(tuple(names.split()), *code)


def _wrapped(header: Header, exported: Collection[str] | None) -> Iterator[Prototype]:
    """Yield the routines that can be wrapped: with an error code, a PMPI twin, and in the library."""
    for prototype in header.prototypes.values():
        name = prototype.name
        here = exported is None or {name, "P" + name} <= set(exported)
        if here and name in header.profiled and prototype.result == "int" and not prototype.variadic:
            yield prototype


def _wrapper(prototype: Prototype, entry: _Entry) -> str:
    """Write the definition of one wrapper."""
    name = prototype.name
    declared = ", ".join(parameter.declaration for parameter in prototype.parameters) or "void"
    passed = ", ".join(parameter.name for parameter in prototype.parameters)
    code = [
        f"TOOL_ENTER({name})",
        _statement(entry.before),
        f"int returned = {entry.call or f'TOOL_CALL({name}, ({passed}))'};",
        _statement(entry.after),
        f"TOOL_LEAVE({name})",
        "return returned;",
    ]
    body = "\n    ".join(line for line in code if line)
    body = body.replace("$CALL", f"P{name}({passed})").replace("$NAME", name)
    before = f"TOOL_ROUTINE({name}, ({declared}), ({passed}))"
    return f"{before}\nTOOL_PUBLIC int {name}({declared})\n{{\n    {body}\n}}\n"


def _statement(code: str) -> str:
    return f"{code};" if code else ""


def wrappers(header: Header, annotated: str, exported: Collection[str] | None = None) -> str:
    """Write all wrappers of a tool, with the numbers and names of the routines before them.

    Parameters
    ----------
    header
        The ``mpi.h`` that the tool is compiled with.
    annotated
        The tool's list.
    exported
        The names that the library exports; None: all that the header declares.

    Raises
    ------
    ValueError
        If a line of the list has too many fields.
    """
    entries = _entries(annotated)
    chosen = []
    for prototype in _wrapped(header, exported):
        best = max(entries, key=lambda entry, name=prototype.name: entry.rank(name))  # type: ignore[misc]
        if best.rank(prototype.name):
            chosen.append((prototype, best))
    numbers = ",\n    ".join([f"NUMBER_{prototype.name}" for prototype, _ in chosen] + ["ROUTINES"])
    names = ",\n    ".join(f'"{prototype.name}"' for prototype, _ in chosen)
    head = "/* Made by pse/toolstack/_wrappers.py from mpi.h and the tool's list: change those. */\n"
    tables = (
        f"enum {{\n    {numbers}\n}};\n\nstatic const char *const routine_names[] = {{\n    {names}\n}};\n"
    )
    calls = (
        "\n#ifndef TOOL_CALL\n#define TOOL_CALL(name, arguments) P##name arguments\n#endif\n"
        "#ifndef TOOL_ROUTINE\n#define TOOL_ROUTINE(name, parameters, arguments)\n#endif\n"
    )
    return "\n".join([head + tables + calls, *(_wrapper(*one) for one in chosen)])
