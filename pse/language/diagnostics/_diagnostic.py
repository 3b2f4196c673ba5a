"""What the language says about a program: diagnostics with stable codes, as text and as JSON.

Data flow: parser, checker and binding make ``Diagnostic`` values; the command line and the editor print
them with `render_diagnostics` or `to_json`.  Nothing here reads a file or knows a terminal: a caller that
wants colours gets pieces with styles from `render_pieces`.  The pages of the codes are in ``codes.md``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from pse.language.diagnostics._source import Span
from pse.records import dataclass

CLIP = 96
"""Most characters of a source line that a diagnostic shows."""


class Severity(enum.Enum):
    """Whether a diagnostic stops the program from running.

    See Also
    --------
    error_at, has_errors
    """

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong, or suspicious, in a program.

    Parameters
    ----------
    code : str
        Stable code, documented in docs/diagnostics.md.
    severity : Severity
        Error or warning.
    message : str
        One line: what is wrong, what was expected.
    span : Span
        The place, with the path as the user typed it.
    notes : tuple of (Span, str)
        Further places, each with what is to be seen there.
    help : str, optional
        What to do.
    label : str
        Printed after the carets under the place: what was found there.

    See Also
    --------
    check_program, error_at

    Examples
    --------
    >>> diagnostic = wrong.diagnostics[0]
    >>> diagnostic.code, str(diagnostic.span), diagnostic.severity.value
    ('E0201', 'wrong.coven:3:15', 'error')
    """

    code: str
    severity: Severity
    message: str
    span: Span
    notes: tuple[tuple[Span, str], ...] = ()
    help: str | None = None
    label: str = ""


def error_at(
    code: str,
    message: str,
    span: Span,
    *,
    notes: Iterable[tuple[Span, str]] = (),
    help: str | None = None,
    label: str = "",
) -> Diagnostic:
    """Make an error.

    Parameters
    ----------
    code : str
        For example ``E0312``.
    message : str
        What is wrong.
    span : Span
        Where.
    notes : iterable of (Span, str), optional
        Other places, each with what is to be seen there.
    help : str, optional
        What to do.
    label : str, optional
        What is written under the place.

    Returns
    -------
    Diagnostic
        The error.

    Examples
    --------
    >>> error = error_at("E0201", "unknown name `y`", Span("p.coven", 2, 13, 2, 14), label="here")
    >>> str(error.span), error.severity
    ('p.coven:2:13', <Severity.ERROR: 'error'>)
    """
    return Diagnostic(code, Severity.ERROR, message, span, tuple(notes), help, label)


def warning_at(
    code: str,
    message: str,
    span: Span,
    *,
    notes: Iterable[tuple[Span, str]] = (),
    help: str | None = None,
) -> Diagnostic:
    """Make a warning."""
    return Diagnostic(code, Severity.WARNING, message, span, tuple(notes), help)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Say whether any of the diagnostics is an error.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        Errors and warnings.

    Returns
    -------
    bool
        Whether one is an error.

    Examples
    --------
    >>> has_errors(wrong.diagnostics), has_errors([])
    (True, False)
    """
    return any(d.severity is Severity.ERROR for d in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sort diagnostics by place and drop repetitions (a segment that is used twice is wrong once)."""
    unique = {(d.code, d.span, d.message): d for d in reversed(list(diagnostics))}
    return tuple(sorted(unique.values(), key=lambda d: (d.span.path, d.span.line, d.span.column, d.code)))


Piece = tuple[str, str]
"""Text and its style: "error", "warning", "place", "caret", "help" or "" (a style is a caller's colour)."""


def render_diagnostics(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """Print diagnostics as plain text.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        What to print, in this order.
    sources : mapping of path to text
        The texts whose lines are quoted; a path that is missing is printed without its line.

    Returns
    -------
    str
        One block for each diagnostic, each ending with a newline.

    Examples
    --------
    >>> print(render_diagnostics(wrong.diagnostics, wrong.sources), end="")
    error[E0201]: unknown name `y`
     wrong.coven:3:15   let x = 1 + y
                                    ^
     help: declare it above:  let y = …;  tags are made by calls:  … -> y
    """
    return "".join(text for text, _ in render_pieces(diagnostics, sources))


def render_pieces(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> list[Piece]:
    """Print diagnostics as pieces of text, each with its style; `render_diagnostics` gives the text alone.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        What is printed.
    sources : mapping of str to str
        Texts of files by their paths, to show the lines.

    Returns
    -------
    list of Piece
        Text and style of each piece, in order.

    Examples
    --------
    >>> pieces = render_pieces(wrong.diagnostics, wrong.sources)
    >>> pieces[:2]
    [('error[E0201]', 'error'), (': unknown name `y`\\n', '')]
    """
    lines = {path: text.split("\n") for path, text in sources.items()}
    pieces: list[Piece] = []
    for diagnostic in diagnostics:
        pieces += _pieces(diagnostic, lines)
    return pieces


def line_pieces(diagnostics: Iterable[Diagnostic]) -> list[Piece]:
    """Print diagnostics as one line each, as pieces of text with their styles: what is wrong, and where."""
    pieces: list[Piece] = []
    for diagnostic in diagnostics:
        severity = diagnostic.severity.value
        pieces += [
            (f"{severity}[{diagnostic.code}]", severity),
            (f": {_printable(diagnostic.message)} (", ""),
        ]
        pieces += [(diagnostic.span.start, "place"), (")\n", "")]
    return pieces


def _pieces(diagnostic: Diagnostic, sources: Mapping[str, list[str]]) -> list[Piece]:
    place = diagnostic.span.start
    notes = [(f"{span.path}:{span.line}", text) for span, text in diagnostic.notes]
    width = max(len(where) for where in [place, *(where for where, _ in notes)]) + 3
    severity = diagnostic.severity.value
    pieces = [(f"{severity}[{diagnostic.code}]", severity), (f": {_printable(diagnostic.message)}\n", "")]
    quoted, indent, length = _quote(diagnostic.span, sources)
    pieces += [(f" {place}".ljust(width + 1).rstrip() if not quoted else f" {place:<{width}}", "place")]
    pieces += [(f"{quoted}\n", "")]
    if quoted:
        label = f" {_printable(diagnostic.label)}" if diagnostic.label else ""
        pieces += [(" " * (1 + width + indent) + "^" * length + label + "\n", "caret")]
    for where, text in notes:
        pieces += [(f" {where:<{width}}", "place"), (f"{_printable(text)}\n", "")]
    if diagnostic.help:
        pieces += [(" help", "help"), (f": {_printable(diagnostic.help)}\n", "")]
    return pieces


def _quote(span: Span, sources: Mapping[str, list[str]]) -> tuple[str, int, int]:
    """Give the line of a span without its margin, how far in the span starts, and its length in that line."""
    lines = sources.get(span.path, [])
    if not 1 <= span.line <= len(lines):
        return "", 0, 0
    # Far more than is shown, but bounded: one line may be as long as the file.
    window = max(0, span.column - 1 - CLIP // 2)
    line = lines[span.line - 1][window : window + 2 * CLIP].rstrip()
    margin = len(line) - len(line.lstrip()) if window == 0 else 0
    margin = min(margin, span.column - 1 - window)
    shown = _printable(line[margin:])[:CLIP]
    start = span.column - 1 - window - margin
    end = span.end_column - 1 - window - margin if span.end_line == span.line else len(shown)
    return shown, start, max(1, min(end, len(shown)) - start)


def _printable(text: str) -> str:
    """Keep control characters of a program from reaching the terminal."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def to_json(diagnostics: Iterable[Diagnostic]) -> dict[str, object]:
    """Give diagnostics as data for JSON.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        In this order.

    Returns
    -------
    dict
        ``{"diagnostics": […], "errors": n, "warnings": n}``; each diagnostic has ``code``, ``severity``,
        ``message``, ``label``, ``help``, its place (``path``, ``line``, ``column``, ``end_line``,
        ``end_column``) and ``notes`` with places of their own.

    Examples
    --------
    >>> data = to_json(wrong.diagnostics)
    >>> data["errors"], data["diagnostics"][0]["line"]
    (1, 3)
    """
    listed = list(diagnostics)
    errors = sum(d.severity is Severity.ERROR for d in listed)
    return {"diagnostics": [_json(d) for d in listed], "errors": errors, "warnings": len(listed) - errors}


def _json(diagnostic: Diagnostic) -> dict[str, object]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "label": diagnostic.label,
        **_place(diagnostic.span),
        "notes": [{"text": text, **_place(span)} for span, text in diagnostic.notes],
        "help": diagnostic.help,
    }


def _place(span: Span) -> dict[str, object]:
    return {
        "path": span.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
