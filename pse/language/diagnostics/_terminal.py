"""Diagnostics on a stream: in colour on a terminal (rich; ``NO_COLOR`` is respected), else as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TextIO

from pse.language.diagnostics._diagnostic import Diagnostic, Piece, Severity, line_pieces, render_pieces
from pse.text import count_text

STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "place": "cyan",
    "caret": "bold red",
    "help": "bold green",
    "": "",
}


def print_diagnostics(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], stream: TextIO) -> None:
    """Print diagnostics.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        What to print, in this order.
    sources : mapping of path to text
        The texts whose lines are quoted.
    stream : text stream
        Where to.

    Examples
    --------
    >>> import sys
    >>> print_diagnostics(wrong.diagnostics, wrong.sources, sys.stdout)
    error[E0201]: unknown name `y`
     wrong.coven:3:15   let x = 1 + y
                                    ^
     help: declare it above:  let y = …;  tags are made by calls:  … -> y
    """
    _print_pieces(render_pieces(diagnostics, sources), stream)


def print_diagnostic_lines(diagnostics: Iterable[Diagnostic], stream: TextIO) -> None:
    """Print diagnostics in one line each: without the lines of the program, and without help.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        What to print, in this order.
    stream : text stream
        Where to.

    Examples
    --------
    >>> import sys
    >>> print_diagnostic_lines(wrong.diagnostics, sys.stdout)
    error[E0201]: unknown name `y` (wrong.coven:3:15)
    """
    _print_pieces(line_pieces(diagnostics), stream)


def _print_pieces(pieces: Iterable[Piece], stream: TextIO) -> None:
    if not stream.isatty():
        stream.write("".join(piece for piece, _ in pieces))
        return
    from rich.console import Console
    from rich.text import Text

    text = Text.assemble(*((piece, STYLES[style]) for piece, style in pieces))
    Console(file=stream, highlight=False, soft_wrap=True).print(text, end="")


def summary_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Count diagnostics in words: `2 errors, 1 warning`.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        Errors and warnings.

    Returns
    -------
    str
        Their numbers in words.

    Examples
    --------
    >>> summary_text(wrong.diagnostics)
    '1 error'
    """
    listed = list(diagnostics)
    errors = sum(d.severity is Severity.ERROR for d in listed)
    counts = ((errors, "error"), (len(listed) - errors, "warning"))
    return ", ".join(count_text(count, word) for count, word in counts if count)
