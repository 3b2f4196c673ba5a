"""A program's file, read and checked: one way for every command, the notebook and the runtime."""

from __future__ import annotations

from collections.abc import Mapping

from pse.language.check._checker import check_program
from pse.language.check._directive import ModuleFinder
from pse.language.check._ir import ResolvedProgram
from pse.language.diagnostics._diagnostic import Diagnostic, error_at, has_errors
from pse.language.diagnostics._refusal import ProgramRefused
from pse.language.diagnostics._source import Span
from pse.language.io._source_file import quoted_sources, read_program
from pse.language.types._expressions import Value
from pse.records import dataclass


@dataclass(frozen=True)
class ProgramFile:
    """A program as its file has it, and what the checker says about it.

    Attributes
    ----------
    path : str
        The path as the user typed it.
    text : str
        The whole text.
    program : ResolvedProgram or None
        None if it is wrong, or has segments only.
    diagnostics : tuple of Diagnostic
        Errors and warnings, sorted by place.

    See Also
    --------
    check_file

    Examples
    --------
    >>> wrong.path, wrong.program, len(wrong.diagnostics)
    ('wrong.coven', None, 1)
    """

    path: str
    text: str
    program: ResolvedProgram | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def sources(self) -> dict[str, str]:
        """The texts whose lines the diagnostics quote, by path."""
        return quoted_sources(self.diagnostics, {self.path: self.text})

    def required(self) -> ResolvedProgram:
        """Give the program.

        Raises
        ------
        ProgramRefused
            If it is wrong, or there is none.
        """
        if self.program is None and not has_errors(self.diagnostics):
            message, help = (
                "the file has segments for other programs, and none of its own",
                "add: program name { … }",
            )
            start = Span(self.path, 1, 1, 1, 1)
            raise ProgramRefused((error_at("E0206", message, start, help=help),), self.sources)
        if self.program is None or has_errors(self.diagnostics):
            raise ProgramRefused(self.diagnostics, self.sources)
        return self.program


def check_file(
    path: str,
    modules: ModuleFinder,
    text: str | None = None,
    values: Mapping[str, str | Value] | None = None,
) -> ProgramFile:
    """Read and check a program.

    Parameters
    ----------
    path : str
        The path as the user typed it.
    modules : ModuleFinder
        Finds the imported modules and the standard library.
    text : str, optional
        The text to check instead of the file's.
    values : mapping of str to str or Value, optional
        Values of parameters, as `check_program` takes them.

    Returns
    -------
    ProgramFile
        What is wrong with the program, or with the bytes of its file, is among its diagnostics.

    Raises
    ------
    UsageError
        If the file can't be read.

    Examples
    --------
    >>> from pse.modules import Finder
    >>> file = check_file("heat.coven", Finder())
    >>> file.diagnostics, [parameter.name for parameter in file.required().parameters]
    ((), ['NX', 'NY', 'tol'])
    """
    if text is None:
        text, unreadable = read_program(path)
        if unreadable:
            return ProgramFile(path, text, None, unreadable)
    checked = check_program(text, path, modules=modules, values=values)
    return ProgramFile(path, text, checked.program, checked.diagnostics)
