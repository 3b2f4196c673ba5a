"""Which compilers there are, and what tells one compiler or processor from another in the cache's keys.

Reads the environment (`CC`, `CXX`, `FC`, `PATH`) and `/proc/cpuinfo`; starts nothing.
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Final

from pse.modules._errors import BuildError
from pse.records import dataclass


@dataclass(frozen=True)
class Compiler:
    """A compiler as it is called, and a text that differs for any other compiler or version of it."""

    command: tuple[str, ...]
    identity: str


@dataclass(frozen=True)
class _Kind:
    variable: str
    names: tuple[str, ...]
    title: str
    install: str


_KINDS: Final = {
    "c": _Kind("CC", ("gcc", "cc", "clang"), "C", "gcc"),
    "c++": _Kind("CXX", ("g++", "c++", "clang++"), "C++", "g++"),
    "fortran": _Kind("FC", ("gfortran",), "Fortran", "gfortran"),
}


def find_compiler(language: str, shown: str) -> Compiler:
    """Find a language's compiler: the environment's (`CC`, `CXX`, `FC`), else the first known one on PATH.

    Parameters
    ----------
    language : str
        "c", "c++" or "fortran".
    shown : str
        The source that needs it, for the message.

    Returns
    -------
    Compiler
        Its command, and what tells it from others.

    Raises
    ------
    BuildError
        If there is none; says what to install or to set.

    Examples
    --------
    >>> compiler = find_compiler("c", "heat.c")
    >>> len(compiler.command) > 0
    True
    """
    kind = _KINDS[language]
    wanted = shlex.split(os.environ.get(kind.variable, ""))
    help = f"install {kind.install} (with the system's packages), or set {kind.variable}=/path/to/compiler"
    if wanted:
        if shutil.which(wanted[0]) is None:
            message = f"{shown} needs a {kind.title} compiler, and {kind.variable}={wanted[0]} can't be found"
            raise BuildError(message, help=f"correct {kind.variable}, or unset it to use {kind.names[0]}")
        return Compiler(tuple(wanted), _identity(wanted))
    for name in kind.names:
        if (path := shutil.which(name)) is not None:
            return Compiler((path,), _identity([path]))
    tried = ", ".join(kind.names)
    raise BuildError(
        f"{shown} needs a {kind.title} compiler, and there is none on PATH (tried {tried})", help=help
    )


def _identity(command: list[str]) -> str:
    """Describe every file on a command line: a wrapper (`ccache gcc`) and the compiler behind it."""
    return "; ".join([*command, *(file_identity(path) for word in command if (path := shutil.which(word)))])


def file_identity(path: str) -> str:
    """Describe a file by where it really is, its size and its time: cheap, and different after an update."""
    real = os.path.realpath(path)
    status = os.stat(real)
    return f"{real} {status.st_size} {status.st_mtime_ns}"
