"""How the checker asks for modules: a protocol that the room ``modules`` implements and hands in.

Finding a module reads its directive; it never builds, imports or executes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pse.language.diagnostics._diagnostic import Diagnostic
from pse.language.types._types import Signature

STANDARD = "pse.std"
"""Import path of the standard library."""


@dataclass(frozen=True)
class ModuleFile:
    """A file of modules, as far as its directives tell.

    Parameters
    ----------
    path : str
        The path to print.
    source : str or None
        The resolved file; None for the standard library.
    language : str
        "c", "c++", "cython", "fortran", "python" or "std".
    signatures : tuple of Signature
        One for each directive in it.
    diagnostics : tuple of Diagnostic
        What is wrong with its directives.
    names : frozenset of str or None
        What a Python file defines at its top level; None where that is unknown.
    """

    path: str
    source: str | None
    language: str
    signatures: tuple[Signature, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    names: frozenset[str] | None = None


class ModuleFinder(Protocol):
    """Finds the file behind an import."""

    def find(self, import_path: str, importing_file: str) -> ModuleFile:
        """Find a file of modules.

        Parameters
        ----------
        import_path : str
            As written in the program: a path relative to it, or ``pse.std``.
        importing_file : str
            The program's path, as the user typed it.

        Raises
        ------
        ModuleNotFound
            If there is no such file, or nothing that could be a module; its message and help say what was
            tried.
        """
        ...
