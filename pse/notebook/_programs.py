"""A program as a caller names it: a path or the text itself; found, written where it has to be, and checked.

The text goes into a file beside the modules that it imports, since imports are relative and ranks read it
too. Nothing is run here. May touch: that file, the cache of built modules.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pse.language import check_program, read_program
from pse.language.check import ResolvedProgram
from pse.language.diagnostics import Diagnostic, has_errors
from pse.language.io import quoted_sources
from pse.modules import Finder, find_unbuildable
from pse.notebook._diagnostics import Diagnostics
from pse.notebook._errors import NotebookError, ProgramRejected, translated

_NAME = re.compile(r"^\s*program\s+([A-Za-z_]\w*)", re.MULTILINE)


@dataclass(frozen=True)
class Checked:
    """A program without errors: its path as it is run, what it is, and the warnings."""

    path: str
    program: ResolvedProgram
    warnings: Diagnostics


def checked(program: str | os.PathLike[str]) -> Checked:
    """Find and check a program, and build its modules.

    Raises
    ------
    ProgramRejected
        If it is wrong, or a module can't be built.
    NotebookError
        If there is no such file.
    """
    path = located(program)
    with translated():
        text, wrong = read_program(path)
        result = check_program(text, path, modules=Finder())
        found = list(wrong or result.diagnostics)
        if result.program and not has_errors(found):
            found += find_unbuildable(result.program.modules)
    if result.program is None or has_errors(found):
        raise ProgramRejected(found, _sources(found, path, text))
    return Checked(path, result.program, Diagnostics(found, _sources(found, path, text)))


def _sources(found: Sequence[Diagnostic], path: str, text: str) -> Mapping[str, str]:
    return quoted_sources(found, {path: text})


def located(program: str | os.PathLike[str]) -> str:
    """Give the path of a program; a text (it has lines, or braces) is written into a file first."""
    if isinstance(program, str) and ("\n" in program or "{" in program):
        return written(program, cell_file(program))
    try:
        path = os.fspath(program)
    except TypeError:
        what = type(program).__name__
        raise NotebookError(f"a program is the path of a .coven file, or its text, not {what}") from None
    if not path.strip():
        raise NotebookError("the program's path is empty", help="give the path of a .coven file, or its text")
    return path


def cell_file(text: str) -> str:
    """Name the file for a program that has none: ``cell-heat.coven`` for a text with ``program heat``."""
    name = _NAME.search(text)
    return f"cell-{name[1] if name else 'program'}.coven"


def written(text: str, path: str) -> str:
    """Write a program's text into a file, unless it has that text already; gives the path.

    Raises
    ------
    NotebookError
        If that isn't possible.
    """
    file = Path(path)
    try:
        if not file.is_file() or file.read_text(encoding="utf-8", errors="replace") != text:
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        where = f"{path} in {os.getcwd()}" if not file.is_absolute() else path
        message = f"the program can't be written to {where}: {error.strerror}"
        help_text = "go to a directory of your own (%cd), or name a file there"
        if not file.parent.exists():
            help_text = f"make the directory first: %mkdir {file.parent}"
        raise NotebookError(message, help=help_text) from None
    return path


def spelled(value: Any) -> str:
    """Spell the value of a parameter as the command line wants it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
