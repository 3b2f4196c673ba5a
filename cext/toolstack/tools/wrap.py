"""Write the wrappers of a tool: from MPI's own prototypes and the tool's annotated list.

    cc -E -P -include mpi.h -xc /dev/null | python wrap.py trace.def > trace_wrappers.h

Prototypes come from the preprocessed mpi.h, so a tool wraps just what that MPI has, in both forms
(``MPI_Send`` and ``MPI_Send_c``).  A line of the list is ``NAMES | before | call | after``; fields may be
empty or left out, a line that begins with white space goes on with the one before, ``#`` begins a comment::

    *         !MPI_T_*                          # every routine but these, with nothing added
    MPI_Send  MPI_Rsend | | | SENT(STANDARD)    # C code that may use the parameters by their names in MPI
    MPI_Recv  | | receive($NAME, status)        # instead of the call

``$NAME`` is the routine, ``$CALL`` the call that would be made (``PMPI_Send(buf, …)``), ``returned`` what it
returned.  A routine named on its own line takes that line's code, else the pattern's.  Written is, for each::

    int MPI_Send(const void *buf, …) {
        TOOL_ENTER(MPI_Send) before; int returned = CALL; after; TOOL_LEAVE(MPI_Send) return returned; }

The tool defines both macros before it includes the file.  ``NUMBER_MPI_Send`` numbers the routines, from 0
to ``ROUTINES - 1``, and ``routine_names`` has their names.  Variadic routines and those that don't return an
error code (MPI_Pcontrol, MPI_Wtime, the conversions of handles) are never wrapped.

May touch: nothing; reads its standard input and the list.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

PROTOTYPE = re.compile(r"\bint\s+(MPIX?_\w+)\s*\(([^;{}]*?)\)\s*(?:__attribute__[^;]*)?;")
TWIN = re.compile(r"\bP(MPIX?_\w+)\s*\(")
PARAMETER_NAME = re.compile(r"(\w+)\s*(?:\[[^]]*\]\s*)*$")
FUNCTION_POINTER = re.compile(r"\(\s*\*\s*(\w+)\s*\)")
# Parameters whose names differ between MPI libraries.
SPELLINGS = {
    "index": "indx",
    "newtype_p": "newtype",
    "type": "datatype",
    "old_comm": "comm_old",
    "new_comm": "newcomm",
    "ibuf": "buf",
}
SPELLINGS_OF = {
    "MPI_Precv_init": {"dest": "source"},
    "MPI_Buffer_detach": {"buffer": "buffer_addr"},
    "MPI_Dist_graph_create": {"newcomm": "comm_dist_graph"},
}


@dataclass(frozen=True)
class Entry:
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


def read_list(text: str) -> list[Entry]:
    """The entries of an annotated list, in its order."""
    text = re.sub(r"#.*", "", text)
    text = re.sub(r"\n[ \t]+(?=\S)", " ", text)
    lines = [line for line in text.splitlines() if line.strip()]
    return [_entry(line) for line in lines]


def _entry(line: str) -> Entry:
    names, *code = (part.strip() for part in re.split(r"(?<!\|)\|(?!\|)", line))
    if len(code) > 3:
        raise SystemExit(f"wrap.py: more than NAMES | before | call | after in the line {line!r}")
    return Entry(tuple(names.split()), *code)


def read_prototypes(header: str) -> Iterator[tuple[str, str]]:
    """Name and parameters of each routine that returns an error code and has its PMPI twin, each once."""
    seen, twins = set(), set(TWIN.findall(header))
    for found in PROTOTYPE.finditer(header):
        name, parameters = found[1], " ".join(found[2].split())
        if name not in seen and name in twins and "..." not in parameters:
            seen.add(name)
            yield name, _respell(parameters, SPELLINGS | SPELLINGS_OF.get(name, {}))


def _respell(parameters: str, spellings: dict[str, str]) -> str:
    return re.sub(r"\b\w+\b", lambda word: spellings.get(word[0], word[0]), parameters)


def arguments(parameters: str) -> str:
    """The names of the parameters, as a call passes them on."""
    if parameters in ("", "void"):
        return ""
    return ", ".join(_name(part) for part in re.split(r",(?![^(]*\))", parameters))


def _name(parameter: str) -> str:
    found = FUNCTION_POINTER.search(parameter) or PARAMETER_NAME.search(parameter)
    if found is None:
        raise SystemExit(f"wrap.py: no name in the parameter {parameter!r}")
    return found[1]


def wrapper(name: str, parameters: str, entry: Entry) -> str:
    """The definition of one wrapper."""
    default = f"P{name}({arguments(parameters)})"
    call = entry.call or default
    code = [
        f"TOOL_ENTER({name})",
        _statement(entry.before),
        f"int returned = {call};",
        _statement(entry.after),
    ]
    code += [f"TOOL_LEAVE({name})", "return returned;"]
    body = "\n    ".join(line for line in code if line)
    body = body.replace("$CALL", default).replace("$NAME", name)
    return f"TOOL_PUBLIC int {name}({parameters})\n{{\n    {body}\n}}\n"


def _statement(code: str) -> str:
    return f"{code};" if code else ""


def wrappers(header: str, entries: list[Entry]) -> str:
    """All wrappers of a tool, with the numbers and names of the routines before them."""
    chosen = []
    for name, parameters in read_prototypes(header):
        best = max(entries, key=lambda entry, name=name: entry.rank(name))  # type: ignore[misc]
        if best.rank(name):
            chosen.append((name, parameters, best))
    numbers = ",\n    ".join([f"NUMBER_{name}" for name, _, _ in chosen] + ["ROUTINES"])
    names = ",\n    ".join(f'"{name}"' for name, _, _ in chosen)
    head = "/* Made by wrap.py from mpi.h and the tool's list: change those. */\n"
    tables = (
        f"enum {{\n    {numbers}\n}};\n\nstatic const char *const routine_names[] = {{\n    {names}\n}};\n"
    )
    return "\n".join([head + tables, *(wrapper(*one) for one in chosen)])


def main(paths: list[str]) -> None:
    """Read preprocessed mpi.h from standard input and write the wrappers that a list asks for."""
    if len(paths) != 1:
        raise SystemExit("usage: cc -E -P -include mpi.h -xc /dev/null | wrap.py LIST > WRAPPERS")
    sys.stdout.write(wrappers(sys.stdin.read(), read_list(Path(paths[0]).read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main(sys.argv[1:])
