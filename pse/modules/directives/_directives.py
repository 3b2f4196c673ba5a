"""Directives in source text: `//@ coven …` (C, C++), `!@ coven …` (Fortran), `#@ coven …` (Python, Cython).

Works on text alone: no file is read, nothing is executed.  What stands after `coven module` is the language's
to parse; this file finds it, joins its continuation lines so that lines and columns stay true, and
understands the directives that speak of the whole file (`link`, `flags`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from pse.language.diagnostics import Span
from pse.language.types import DIRECTIVE_MARKS
from pse.records import dataclass
from pse.text import nearest_word

KINDS: Final = ("module", "record", "link", "flags")

_LIBRARY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z")


@dataclass(frozen=True)
class Directive:
    """One directive: its kind (`module`, `link`, `flags` or what was written instead) and the text after it.

    `text` keeps line breaks of continued directives, with the mark of each continuation line blanked, so that
    a position in it maps to the file: line `i` of it is line `span.line + i` of the file, and only the first
    line's columns are shifted (by `span.column`).
    """

    kind: str
    text: str
    span: Span


@dataclass(frozen=True)
class Options:
    """What a file's directives say about building it."""

    libraries: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def scan(text: str, language: str, path: str) -> list[Directive]:
    """Find all directives of a source file.

    Parameters
    ----------
    text : str
        The file's text.
    language : str
        "c", "c++", "cython", "fortran" or "python".
    path : str
        The path to put into spans.

    Returns
    -------
    list of Directive
        In the order of the file; lines with the mark that don't say `coven` are none of ours, except directly
        below one, where they continue it.
    """
    # Formatters of Python put a space after the comment's sign, so `# @ coven` counts too.
    sign = re.escape(DIRECTIVE_MARKS[language].rstrip("@"))
    pattern = re.compile(rf"[ \t]*{sign} ?@(?P<body>.*)\Z")
    found: list[Directive] = []
    previous = 0
    for number, line in enumerate(text.splitlines(), 1):
        if (match := pattern.match(line)) is None:
            continue
        if (started := re.match(r"\s*coven\b[ \t]*(\w*)[ \t]*", match["body"])) is not None:
            found.append(_start(line, number, match.start("body") + started.end(), started[1], path))
        elif found and previous == number - 1:
            found[-1] = _continued(found[-1], " " * match.start("body") + match["body"], number)
        else:
            continue
        previous = number
    return found


def _start(line: str, number: int, start: int, kind: str, path: str) -> Directive:
    text = line[start:].rstrip()
    return Directive(kind, text, Span(path, number, start + 1, number, start + 1 + len(text)))


def _continued(directive: Directive, line: str, number: int) -> Directive:
    span = directive.span
    longer = Span(span.path, span.line, span.column, number, len(line.rstrip()) + 1)
    return Directive(directive.kind, f"{directive.text}\n{line.rstrip()}", longer)


def options(directives: list[Directive]) -> Options:
    """Collect what the `link` and `flags` directives of a file say.

    Raises
    ------
    ValueError
        If one of them can't be understood; `problems` finds the same with its place.
    """
    libraries: list[str] = []
    flags: list[str] = []
    for directive in directives:
        if directive.kind == "link":
            libraries += directive.text.replace(",", " ").split()
        elif directive.kind == "flags":
            flags += shlex.split(directive.text)
    return Options(tuple(dict.fromkeys(libraries)), tuple(flags))


def problems(directives: list[Directive]) -> Iterator[tuple[Directive, str, str]]:
    """Yield each directive that isn't understood, with what is wrong and what to do."""
    for directive in directives:
        if directive.kind not in KINDS:
            yield directive, *_unknown(directive)
        elif not directive.text.strip():
            yield directive, f"nothing follows `coven {directive.kind}`", _EXAMPLES[directive.kind]
        elif directive.kind == "link":
            for name in directive.text.replace(",", " ").split():
                if not _LIBRARY.match(name):
                    yield directive, f"`{name}` is not the name of a library", _library_help(name)
        elif directive.kind == "flags":
            yield from _wrong_flags(directive)


def _wrong_flags(directive: Directive) -> Iterator[tuple[Directive, str, str]]:
    """Yield a `flags` directive that can't be read, or whose first word isn't one; others may be values."""
    try:
        first = next(iter(shlex.split(directive.text)), "-")
    except ValueError as error:
        help = "close the quotation mark, or write a backslash before it"
        yield directive, f"these flags can't be read: {error}".lower(), help
        return
    if not first.startswith("-"):
        yield directive, f"`{first}` is not a flag: flags begin with `-`", f"write:  coven flags -{first}"


def _unknown(directive: Directive) -> tuple[str, str]:
    """Say what is wrong with a directive of another kind, and what to do."""
    kind, text = directive.kind, directive.text.strip()
    if not kind:
        plain = text.lstrip(":= ")
        help = f"write:  coven {plain}" if plain.split(" ")[0] in KINDS else _KNOWN
        return f"`coven` is followed by `{text.split()[0]}`" if text else "nothing follows `coven`", help
    return f"unknown directive `coven {kind}`", _meant(kind, text)


def _meant(kind: str, text: str) -> str:
    """Give the directive that is nearest to an unknown one: by its word, else by what follows it."""
    if text.startswith("("):
        return f"write:  coven module {kind}{text}"
    if meant := nearest_word(kind, KINDS):
        return f"did you mean `coven {meant}`?"
    likely = next((likely for likely, pattern in _LOOKS_LIKE.items() if pattern.match(text)), None)
    return f"write:  coven {likely} {text}" if likely else _KNOWN


def _library_help(name: str) -> str:
    """Give the name that a directive has of a library that is named as an option or a file."""
    plain = re.sub(r"^(?:-l|.*/)?(?:lib)?|\.(?:so|a)(?:\.[0-9.]+)?$", "", name)
    return f"write:  coven link {plain}" if _LIBRARY.match(plain) else _EXAMPLES["link"]


_LOOKS_LIKE = {
    "module": re.compile(r"[A-Za-z_]\w*\s*\("),
    "flags": re.compile("-(?!l)"),
}
"""Directives by how the text after their word begins."""
_KNOWN = (
    "a directive is one of: coven module NAME(…), coven record NAME { … }, coven link LIBRARY, "
    "coven flags FLAG …"
)
_EXAMPLES = {
    "module": "for example: coven module step(in f64 u[n], out f64 v[n])",
    "record": "for example: coven record Body { f64 x, y   i32 kind }",
    "link": "for example: coven link fftw3",
    "flags": "for example: coven flags -ffast-math",
}
