"""The one reader of ``mpi.h``: routines, their parameters, and which of them mean what.

What parameters are called where tools know them is said in `parameter_names`, not in the header.

The header is read through the C preprocessor and then as text: all that a prototype needs is told apart by
semicolons, parentheses and commas.  A full C parser was rejected: it also has to understand the system's
headers, which use each compiler's extensions.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from pse.errors import RunError
from pse.records import dataclass
from pse.toolstack._parameter_names import parameter_names

# One level of parentheses inside an attribute's own two: `__attribute__((format(printf, 1, 2)))`.
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
_NOISE = re.compile(r'(?m)^#.*$|"(?:\\.|[^"\\])*"')
_PROTOTYPE = re.compile(r"(?:extern )?([\w *]+?)\s*\b(P?MPIX?_\w+)\s*\((.*)\)")
_TYPEDEF = re.compile(r"typedef (.+?)\s*\b(MPIX?_\w+)")
_NAME = re.compile(r"(\w+)\s*((?:\[\w*\])*)$")
_QUALIFIERS = {"const", "struct", "enum", "unsigned", "signed", "long", "short"}

# The letters in which the tables of the compiled half tell types.
INT, LONG, POINTER, DOUBLE, VOID = "ilpdv"


class HeaderError(RunError):
    """The header of an MPI library can't be read; the text says why."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of an MPI routine: ``const int counts[]`` has the type ``const int *``."""

    name: str
    type: str
    declaration: str

    @property
    def is_pointer(self) -> bool:
        """Whether the type itself says so: a handle that is a pointer behind its typedef is none here."""
        return "*" in self.type

    @property
    def base(self) -> str:
        """The type without pointers and ``const``: ``MPI_Request`` for ``MPI_Request *``."""
        return re.sub(r"\bconst\b|\*", "", self.type).strip()

    def named(self, name: str) -> Parameter:
        """The same parameter by another name."""
        before, _, after = self.declaration.rpartition(self.name)
        return Parameter(name, self.type, f"{before}{name}{after}")


@dataclass(frozen=True)
class Prototype:
    """An MPI routine as the header declares it."""

    name: str
    result: str
    parameters: tuple[Parameter, ...]
    variadic: bool = False

    @cached_property
    def communicator(self) -> int | None:
        """The index of the communicator that the routine works on: the first that is passed by value."""
        return next(self._find("MPI_Comm", pointer=False), None)

    @cached_property
    def requests(self) -> tuple[int, ...]:
        """The indices of requests, single or in arrays."""
        return tuple(self._find("MPI_Request", pointer=True)) + tuple(
            self._find("MPI_Request", pointer=False)
        )

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The indices of counts that are passed by value."""
        return tuple(
            index
            for index, parameter in enumerate(self.parameters)
            if parameter.type in ("int", "MPI_Count") and re.fullmatch(r"\w*count", parameter.name)
        )

    def _find(self, base: str, pointer: bool) -> Iterator[int]:
        for index, parameter in enumerate(self.parameters):
            if parameter.base == base and parameter.is_pointer == pointer:
                yield index


@dataclass(frozen=True)
class Header:
    """All that is known from one ``mpi.h``."""

    prototypes: dict[str, Prototype]
    typedefs: dict[str, str]
    profiled: frozenset[str] = frozenset()
    """The routines that are declared under both names, ``MPI_x`` and ``PMPI_x``."""

    def letter(self, type_: str) -> str:
        """How a value of this type is passed: one of `INT`, `LONG`, `POINTER`, `DOUBLE`, `VOID`."""
        if "*" in type_ or "(" in type_:
            return POINTER
        type_ = type_.removeprefix("const ")
        if type_ in ("MPI_Count", "MPI_Aint", "MPI_Offset"):
            return LONG
        if type_ in self.typedefs:
            return self.letter(self.typedefs[type_])
        known = {"double": DOUBLE, "void": VOID, "int": INT, "unsigned int": INT, "unsigned": INT}
        return known.get(type_, INT if type_.startswith("enum ") else LONG)

    def letters(self, prototype: Prototype) -> str:
        """The letters of the result and of all parameters."""
        types = (prototype.result, *(parameter.type for parameter in prototype.parameters))
        return "".join(map(self.letter, types))


def abi_options(soname: str) -> tuple[str, ...]:
    """Give the compiler options with which a header declares what a library of this name has.

    MPICH's ``mpi.h`` declares the types of the standard ABI where it is asked to.
    """
    return ("-DMPI_ABI",) if "mpi_abi" in soname else ()


def read(header: Path, compiler: Sequence[str] = ("cc",), options: Sequence[str] = ()) -> Header:
    """Read an ``mpi.h`` through the preprocessor of `compiler`.

    Parameters
    ----------
    header
        The path of ``mpi.h``; headers that it includes are looked for beside it.
    compiler
        The C compiler's command.
    options
        Options of the preprocessor (`abi_options`).

    Raises
    ------
    HeaderError
        If the preprocessor can't be run, refuses, or if nothing in the header is an MPI routine.
    """
    command = [*compiler, "-E", *options, "-I", str(header.parent), str(header)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise HeaderError(
            f"{compiler[0]} can't be run to read {header}: {error.strerror}",
            help="install a C compiler, or name one by CC",
        ) from None
    if done.returncode != 0:
        first = next(iter(done.stderr.splitlines()), "no reason given")
        raise HeaderError(
            f"{compiler[0]} can't read {header}: {first}",
            help="compile a file that includes it to see why; `pse doctor` says which compiler is used",
        )
    found = parse(done.stdout)
    if not found.prototypes:
        raise HeaderError(
            f"{header} declares no MPI routine", help="put the mpicc of the MPI that is used first on PATH"
        )
    return found


def parse(text: str) -> Header:
    """Find prototypes and types in preprocessed C; routines named ``PMPI_x`` count as ``MPI_x``.

    Examples
    --------
    >>> header = parse("typedef int MPI_Comm; int MPI_Comm_size(MPI_Comm comm, int *size);")
    >>> header.prototypes["MPI_Comm_size"].parameters[1].type
    'int *'
    >>> header.letters(header.prototypes["MPI_Comm_size"])
    'iip'
    """
    prototypes: dict[str, Prototype] = {}
    typedefs: dict[str, str] = {}
    declared: set[str] = set()
    for statement in _statements(text):
        if typedef := _TYPEDEF.fullmatch(statement):
            typedefs[typedef[2]] = typedef[1].strip()
        elif statement.startswith("typedef"):
            typedefs |= _odd_typedef(statement)
        elif match := _PROTOTYPE.fullmatch(statement):
            prototype = _prototype(*match.groups())
            prototypes.setdefault(prototype.name, prototype)
            declared.add(match[2])
    profiled = frozenset(name for name in prototypes if declared >= {name, "P" + name})
    return Header(prototypes, typedefs, profiled)


def _statements(text: str) -> Iterator[str]:
    """All declarations outside braces, each on one line and without attributes."""
    text = _ATTRIBUTE.sub(" ", _NOISE.sub("", text))
    while "{" in (text := re.sub(r"\{[^{}]*\}", " ", text)):
        pass
    for statement in text.split(";"):
        yield " ".join(statement.split())


def _odd_typedef(statement: str) -> dict[str, str]:
    """A typedef of a function or of an array: passed as a pointer, whichever it is."""
    name = re.search(r"\(\s*\**\s*(\w+)\s*\)\s*\(", statement) or re.search(r"(\w+)\s*[(\[]", statement)
    return {name[1]: "void *"} if name else {}


def _prototype(result: str, name: str, text: str) -> Prototype:
    parts = [part for part in _split(text) if part != "void"]
    parameters = tuple(_parameter(part, index) for index, part in enumerate(parts) if part != "...")
    routine = name.removeprefix("P")
    if names := parameter_names(routine, len(parameters)):
        parameters = tuple(of.named(own) for of, own in zip(parameters, names, strict=True))
    return Prototype(routine, result.strip(), parameters, "..." in parts)


def _split(text: str) -> Iterable[str]:
    """Split at the commas that are outside of parentheses."""
    return (part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip())


def _parameter(text: str, index: int) -> Parameter:
    if "(" in text:
        name = re.search(r"\(\s*\*+\s*(\w+)", text)
        return Parameter(name[1] if name else f"argument{index}", "void (*)()", text)
    match = _NAME.search(text)
    before = text[: match.start()].strip() if match else text
    if match is None or not set(re.findall(r"\w+", before)) - _QUALIFIERS:
        return Parameter(f"argument{index}", text, f"{text} argument{index}")
    stars = "*" * match[2].count("[")
    return Parameter(match[1], re.sub(r"\s*\*", " *", before) + (f" {stars}" if stars else ""), text)
