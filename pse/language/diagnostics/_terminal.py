"""Diagnostics on a stream: in colour on a terminal (rich; ``NO_COLOR`` is respected), else as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TextIO

from pse.language.diagnostics._diagnostic import Diagnostic, Severity, render_diagnostics, render_pieces
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
    """
    if not stream.isatty():
        stream.write(render_diagnostics(diagnostics, sources))
        return
    from rich.console import Console
    from rich.text import Text

    text = Text.assemble(*((piece, STYLES[style]) for piece, style in render_pieces(diagnostics, sources)))
    Console(file=stream, highlight=False, soft_wrap=True).print(text, end="")


def summary_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Count diagnostics in words: `2 errors, 1 warning`."""
    listed = list(diagnostics)
    errors = sum(d.severity is Severity.ERROR for d in listed)
    counts = ((errors, "error"), (len(listed) - errors, "warning"))
    return ", ".join(count_text(count, word) for count, word in counts if count)
