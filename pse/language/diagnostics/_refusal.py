"""The error of a program that may not run: it carries the diagnostics, and whoever shows it renders them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pse.errors import ProgramError
from pse.language.diagnostics._diagnostic import Diagnostic, render_diagnostics


class ProgramRefused(ProgramError):
    """Diagnostics that keep a program from running.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        All that is wrong, and warnings.
    sources : mapping of path to text
        The texts whose lines are quoted.
    exit_code : int, default 1
        1 if the program is wrong, 2 if the values given on the command line are.

    Attributes
    ----------
    message : str
        The diagnostics as plain text.

    Examples
    --------
    >>> try:
    ...     wrong.required()
    ... except ProgramRefused as refused:
    ...     refused.exit_code, refused.diagnostics == wrong.diagnostics
    (1, True)
    """

    def __init__(
        self, diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], exit_code: int = 1
    ) -> None:
        self.diagnostics, self.sources = tuple(diagnostics), dict(sources)
        self.exit_code = exit_code
        super().__init__(render_diagnostics(self.diagnostics, self.sources))
