"""A program as a caller names it: a path or the text itself; found, written where it has to be, and checked.

The text goes into a file beside the modules that it imports, since imports are relative and ranks read it
too. Nothing is run here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from pse.files import replace_file
from pse.language.check import ResolvedProgram
from pse.language.io import ProgramFile, check_file, quoted_sources
from pse.modules import Finder, find_unbuildable
from pse.notebook._diagnostics import Diagnostics
from pse.notebook._errors import NotebookError, ProgramRejected, translated

_NAME = re.compile(r"^\s*program\s+([A-Za-z_]\w*)", re.MULTILINE)


@dataclass(frozen=True)
class Checked:
    """A program without errors.

    Attributes
    ----------
    file : ProgramFile
        Its file, with its path as it is run.
    program : ResolvedProgram
        What it is.
    warnings : Diagnostics
        What the checker warns of.

    See Also
    --------
    checked
    """

    file: ProgramFile
    program: ResolvedProgram
    warnings: Diagnostics

    @property
    def path(self) -> str:
        """Where the program is."""
        return self.file.path


def checked(program: str | os.PathLike[str]) -> Checked:
    """Find and check a program, and build its modules.

    Parameters
    ----------
    program : path or str
        The path of a ``.coven`` file, or a program's text.

    Returns
    -------
    Checked
        The program.

    Raises
    ------
    ProgramRejected
        If it is wrong, or a module can't be built.
    NotebookError
        If there is no such file.

    Examples
    --------
    >>> from pse.notebook import checked
    >>> checked("heat.coven").program.name
    'heat'
    """
    path = located(program)
    with translated():
        file = check_file(path, Finder())
        checked = file.required()
        unbuildable = find_unbuildable(checked.modules)
        if unbuildable:
            found = [*file.diagnostics, *unbuildable]
            raise ProgramRejected(found, quoted_sources(found, {path: file.text}))
    return Checked(file, checked, Diagnostics(file.diagnostics, file.sources))


def located(program: str | os.PathLike[str]) -> str:
    """Give the path of a program; a text (it has lines, or braces) is written into a file first."""
    if isinstance(program, str) and ("\n" in program or "{" in program):
        return written(program, cell_file(program))
    try:
        path = os.fspath(program)
    except TypeError:
        what = type(program).__name__
        raise NotebookError(
            f"program must be the path of a .coven file or the text of a program, not {what}",
            help='for example:  pse.notebook.run("heat.coven")',
        ) from None
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
            replace_file(file, text.encode())
    except OSError as error:
        where = f"{path} in {os.getcwd()}" if not file.is_absolute() else path
        message = f"the program can't be written to {where}: {error.strerror}"
        help_text = "change to a directory that you can write to (%cd), or name a file in one"
        if not file.parent.exists():
            help_text = f"make the directory first: %mkdir {file.parent}"
        raise NotebookError(message, help=help_text) from None
    return path
