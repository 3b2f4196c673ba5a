"""What the server knows of one text: its inspection, its symbols, and how places are counted by an editor.

The language counts lines and characters from 1; an editor counts lines from 0, and characters in the units
that it has agreed on with the server (of UTF-16, mostly).
"""

from __future__ import annotations

import functools
import gc
import os
import threading
import time
from collections.abc import Sequence

from lsprotocol import types
from pygls.workspace import PositionCodec, ServerTextPosition

from pse.errors import ModuleNotFound
from pse.language import Diagnostic, Inspection, ModuleFile, ModuleFinder, Span, inspect_program, read_program
from pse.language.check import ModuleReference, Tag
from pse.language.syntax import Scanned
from pse.language.types import LANGUAGES, Type
from pse.lsp._symbols import Symbol, Symbols
from pse.modules import Finder, examine_source, resolve_import
from pse.modules.directives import read_source
from pse.program import Placement, place_threads

ENDING = ".coven"
_MOST_READINGS = 4
"""Programs that are kept: those that were read last."""

_MANY_OBJECTS = 100_000
"""About as many as a program of a thousand lines is made of, or as a hundred edits leave behind."""

_TOO_MANY_OBJECTS = 10 * _MANY_OBJECTS
"""So many are made before the search for cycles is waited for."""


class Lines:
    """The lines of a text, and the way from its spans to an editor's ranges.

    Parameters
    ----------
    text : str
        The whole text.
    codec : PositionCodec
        The units in which the editor counts.
    """

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.text = text
        self.lines = text.split("\n")
        self._codec = codec

    def place(self, position: types.Position) -> tuple[int, int]:
        """Give line and column, from 1, of a place in the editor."""
        line = self.lines[min(position.line, len(self.lines) - 1)]
        if line.isascii():
            return min(position.line, len(self.lines) - 1) + 1, min(position.character, len(line)) + 1
        found = self._codec.position_from_client_units(self.lines, position)
        return found.line + 1, found.character + 1

    def position(self, line: int, column: int) -> types.Position:
        """Give the editor's position of a line and a column that are counted from 1."""
        line = min(max(line, 1), len(self.lines))
        character = min(max(column - 1, 0), len(self.lines[line - 1]))
        if self.lines[line - 1].isascii():
            return types.Position(line - 1, character)
        return self._codec.position_to_client_units(self.lines, ServerTextPosition(line - 1, character))

    def range(self, span: Span) -> types.Range:
        """Give the editor's range of a span."""
        return types.Range(
            self.position(span.line, span.column), self.position(span.end_line, span.end_column)
        )

    def written(self, span: Span) -> str:
        """Give the text of a span of one line."""
        return self.lines[span.line - 1][span.column - 1 : span.end_column - 1]

    def whole(self) -> types.Range:
        """Give the range of the whole text."""
        return types.Range(types.Position(0, 0), self.position(len(self.lines), len(self.lines[-1]) + 1))

    def indent(self, line: int) -> str:
        """Give the blanks before the first word of a line."""
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip())]


class MovedLines:
    """How the lines of a text lie in an older one; lines are counted from 0.

    Parameters
    ----------
    before : Lines
        The older text.
    now : Lines
        The text.
    """

    def __init__(self, before: Lines, now: Lines) -> None:
        old, new = before.lines, now.lines
        shorter = min(len(old), len(new))
        self._first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), shorter)
        ends = zip(reversed(old[self._first :]), reversed(new[self._first :]), strict=False)
        same = next((n for n, (a, b) in enumerate(ends) if a != b), shorter - self._first)
        self._behind, self._further = len(old) - same, len(new) - len(old)

    def before(self, line: int) -> int | None:
        """Give what a line of the text was in the older one; None if it has changed."""
        if line < self._first:
            return line
        return line - self._further if line - self._further >= self._behind else None

    def now(self, line: int) -> int | None:
        """Give what a line of the older text is now; None if it has changed."""
        if line < self._first:
            return line
        return line + self._further if line >= self._behind else None


class Analysis(Lines):
    """A program's text, and everything that is known of it.

    Parameters
    ----------
    text : str
        The whole text.
    path : str
        The program's file.
    codec : PositionCodec
        The units in which the editor counts.
    finder : ModuleFinder
        Finds the modules that it imports.
    before : Analysis, optional
        That of an earlier text of the program; what did not change is not read again.

    Attributes
    ----------
    inspection : Inspection
        What the checker knows of it.
    symbols : Symbols
        What every name in it means.

    Examples
    --------
    >>> from pygls.workspace import PositionCodec
    >>> text = Path("heat.coven").read_text()
    >>> analysis = Analysis(text, "heat.coven", PositionCodec(), OpenFiles({}))
    >>> analysis.inspection.diagnostics, [symbol.name for symbol in analysis.symbols.of_kind("partition")]
    ((), ['P'])
    """

    def __init__(
        self,
        text: str,
        path: str,
        codec: PositionCodec,
        finder: ModuleFinder,
        before: Analysis | None = None,
    ) -> None:
        super().__init__(text, codec)
        self.path, self._finder = path, finder
        known = before.inspection if before is not None else None
        self.inspection: Inspection = inspect_program(text, path, modules=finder, before=known)
        own = [tag for tag in self.inspection.tags if tag.span.path == path]
        self._tags = {(tag.span.line, tag.span.column): tag for tag in reversed(own)}
        known_symbols: Symbols | None = before.symbols if before is not None else None
        self.symbols: Symbols = Symbols(self.inspection.tree, self.inspection.records, known_symbols)
        self._types: dict[int, Type | None] = {}

    def remade(self, text: str) -> Analysis:
        """Analyse another text of the same program."""
        return Analysis(text, self.path, self._codec, self._finder, self)

    @functools.cached_property
    def scanned(self) -> Scanned:
        """Its tokens."""
        return self.inspection.parsed.tokens(self.text, self.path)

    def tag(self, symbol: Symbol) -> Tag | None:
        """Give the tag of a symbol, which has its type; None if the checker did not get that far."""
        return self._tags.get(_place(symbol))

    def type_of(self, symbol: Symbol) -> Type | None:
        """Give the type of a symbol; None if it has none, or if it is not known."""
        if id(symbol) not in self._types:
            tag = self.tag(symbol)
            self._types[id(symbol)] = tag.type if tag is not None else None
        return self._types[id(symbol)]

    def retyped(self, before: Analysis) -> set[Symbol]:
        """Give the symbols that an earlier text has, too, and whose types differ there."""
        old, new = before._tags, self._tags
        places = old.keys() ^ new.keys()
        for place, tag in new.items():
            known = old.get(place, tag)
            if known is not tag and known.type != tag.type:
                places.add(place)
        return {symbol for symbol in self.symbols.all if places and _place(symbol) in places}

    def module(self, called: str) -> ModuleReference | None:
        """Give the module that a call names."""
        return self.inspection.modules.get(called)

    @functools.cached_property
    def placement(self) -> Placement | None:
        """The program's threads; None while it is wrong."""
        return place_threads(self.inspection.program) if self.inspection.program is not None else None

    def symbol_at(self, position: types.Position) -> tuple[Span, Symbol] | None:
        """Give the name at a position of the editor, and where it is written."""
        return self.symbols.at(*self.place(position))


def _place(symbol: Symbol) -> tuple[int, int]:
    """Give where a symbol is declared; no text has the place of one that no text declares."""
    return (symbol.span.line, symbol.span.column) if symbol.span is not None else (0, 0)


class Readings:
    """The last analyses of programs, by path, which the servers of one process share.

    An editor that comes again, and one that comes while its program is being read, need not wait until all is
    read once more.

    See Also
    --------
    make_server
    """

    def __init__(self) -> None:
        self._known: dict[str, Analysis] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._last = 0.0

    def __contains__(self, path: str) -> bool:
        """Whether a program is known."""
        return path in self._known

    def read(
        self, text: str, path: str, codec: PositionCodec, finder: ModuleFinder, before: Analysis | None = None
    ) -> Analysis:
        """Analyse a program's text."""
        with self._turns.setdefault(path, threading.Lock()):
            known = self._known.pop(path, None)
            made = self._known[path] = Analysis(text, path, codec, finder, before or known)
            for oldest in list(self._known)[:-_MOST_READINGS]:
                self._known.pop(oldest, None)
            self._last = time.monotonic()
            return made

    def are_over_since(self, seconds: float) -> bool:
        """Whether nothing has been read for some time."""
        return time.monotonic() - self._last >= seconds


def collect_rarely() -> None:
    """Search for cycles to free only while nobody waits, in a process that serves an editor.

    An analysis takes the place of the one before, which frees almost as many objects as it makes; by default
    there are dozens of searches during each, and one of them looks at all objects.

    See Also
    --------
    Analysis
    """
    gc.freeze()  # What was imported stays.
    gc.set_threshold(_TOO_MANY_OBJECTS, *gc.get_threshold()[1:])


def collect_now() -> None:
    """Search for cycles to free if it may be worth while: nobody waits now."""
    if gc.get_count()[0] > _MANY_OBJECTS:
        gc.collect()


class OpenFiles(Finder):
    """Finds modules like the command line's finder, but sees what an editor has not saved yet.

    Parameters
    ----------
    texts : mapping of str to str
        The texts of the files that are open, by path; looked at anew in each search.

    See Also
    --------
    Analysis
    """

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self._texts = texts
        self._examined: dict[str, tuple[str, ModuleFile]] = {}

    def find(self, import_path: str, importing_file: str) -> ModuleFile:
        """Find a file of modules; see `Finder.find`."""
        path = resolved(import_path, importing_file)
        text = self._texts.get(path)
        if text is None:
            return super().find(import_path, importing_file)
        known = self._examined.get(path)
        if known is None or known[0] != text:
            known = self._examined[path] = (text, examine_source(text, path))
        return known[1]

    def read_program(self, import_path: str, importing_file: str) -> tuple[str, str, tuple[Diagnostic, ...]]:
        """Read a `.coven` file that is imported; see `Finder.read_program`."""
        path = resolved(import_path, importing_file)
        text = self._texts.get(path)
        return super().read_program(import_path, importing_file) if text is None else (path, text, ())

    def modules_of(self, import_path: str, importing_file: str) -> Sequence[str]:
        """Give the names of a file's modules and records; none if it can't be read."""
        try:
            file = self.find(import_path, importing_file)
        except ModuleNotFound:
            return ()
        return [signature.name for signature in file.signatures] + [record.label for record in file.records]


def resolved(import_path: str, importing_file: str) -> str:
    """Give the file that an import means; the path as it is written if that is not known."""
    try:
        return resolve_import(import_path, importing_file)
    except ModuleNotFound:
        return import_path


def text_on_disk(path: str) -> str:
    """Give the text of a program, or of a module's source, that no editor has open.

    Raises
    ------
    PseError
        If it can't be read.
    """
    is_source = os.path.splitext(path)[1].lower() in LANGUAGES
    return read_source(path, path)[0] if is_source else read_program(path).text
