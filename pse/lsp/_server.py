"""The server's state: the texts that are open, their analyses, and when an editor is told what is wrong.

A new analysis is made in a thread when typing pauses, or as soon as a request needs it.  Protocol, transport
and the texts' changes are pygls'.
"""

from __future__ import annotations

import asyncio
import functools
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from pse._version import __version__
from pse.language import ModuleFile, Span
from pse.language.diagnostics import Diagnostic, Severity
from pse.lsp import _module_sources as sources
from pse.lsp._analysis import (
    ENDING,
    Analysis,
    Lines,
    OpenFiles,
    Readings,
    collect_now,
    resolved,
    text_on_disk,
)
from pse.lsp._navigation import uri_of
from pse.lsp._protocol import ProgramProtocol
from pse.records import dataclass

Json = dict[str, Any]

PAUSE = 0.05
"""Seconds without a change after which diagnostics are made anew."""

REST = 2.0
"""Seconds without an analysis, for whichever editor, after which memory is tidied up."""

UNUSED = {"W0201", "W0202", "W0203", "W0204"}
"""Codes of warnings about names that nothing uses; editors show such names in grey."""


Stamp = tuple[int, int, int] | None

_converter = functools.cache(default_converter)
"""Reads and writes messages for all servers of a process: it compiles a function for each kind of them."""


def stamp_of(path: str) -> Stamp:
    """Give what changes when a file does; None if it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Sources(OpenFiles):
    """Finds modules, and knows how the files were that it was asked for.

    Parameters
    ----------
    texts : mapping of str to str
        The texts of the files that are open, by path.

    Attributes
    ----------
    stamps : dict of str to Stamp
        Stamps of the files, by path, from just before they were read.
    """

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__(texts)
        self.stamps: dict[str, Stamp] = {}

    def look(self) -> dict[str, Stamp]:
        """Stamp all of these files anew, before an analysis: that asks again for those that are missing."""
        stamps = {path: stamp_of(path) for path in list(self.stamps)}
        self.stamps = {path: stamp for path, stamp in stamps.items() if stamp is not None}
        return self.stamps

    def _note(self, import_path: str, importing_file: str) -> None:
        path = resolved(import_path, importing_file)
        self.stamps[path] = stamp_of(path)

    def find(self, import_path: str, importing_file: str) -> ModuleFile:
        """Find a file of modules; see `OpenFiles.find`."""
        self._note(import_path, importing_file)
        return super().find(import_path, importing_file)

    def read_program(self, import_path: str, importing_file: str) -> tuple[str, str, tuple[Diagnostic, ...]]:
        """Read a `.coven` file that is imported; see `OpenFiles.read_program`."""
        self._note(import_path, importing_file)
        return super().read_program(import_path, importing_file)


@dataclass(frozen=True)
class _Known:
    """An analysis, the version of its text, and the files that it imports as they were."""

    version: int | None
    analysis: Analysis
    stamps: dict[str, Stamp]

    def is_of(self, document: TextDocument) -> bool:
        """Whether it is of this text."""
        return self.version == document.version and self.analysis.text == document.source

    def is_outdated(self) -> bool:
        """Whether a file that it imports has changed."""
        return any(stamp_of(path) != stamp for path, stamp in self.stamps.items())


class ProgramServer(LanguageServer):
    """The server's state: the analyses of open programs.

    Parameters
    ----------
    readings : Readings, optional
        What servers of one process know of programs.

    Attributes
    ----------
    texts : dict of str to str
        The texts of the files that are open, by path.
    finder : Sources
        Finds modules, in these texts first.

    See Also
    --------
    make_server
    """

    protocol: ProgramProtocol

    def __init__(self, readings: Readings | None = None) -> None:
        super().__init__("pse", __version__, protocol_cls=ProgramProtocol, converter_factory=_converter)
        self._readings = readings or Readings()
        self.texts: dict[str, str] = {}
        self.finder = Sources(self.texts)
        self._analyses: dict[str, _Known] = {}
        self._pauses: dict[str, asyncio.TimerHandle] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._answering: dict[str, asyncio.Lock] = {}
        self._uncoloured: set[str] = set()

    def document(self, uri: str) -> TextDocument:
        """Give a file as it is open, else as it is on disk.

        Raises
        ------
        PseError
            If it is not open, and can't be read.
        """
        opened: TextDocument | None = self.workspace.text_documents.get(unquote(uri))
        if opened is not None:
            return opened
        codec = self.workspace.position_codec
        return TextDocument(uri, text_on_disk(path_of(uri)), position_codec=codec)

    def lines(self, uri: str) -> Lines:
        """Give the present text of a file."""
        document = self.document(uri)
        return Lines(document.source, document.position_codec)

    async def fresh(self, uri: str) -> Analysis:
        """Give the analysis of the present text and the present imports; it is made if there is none."""
        async with self._turns.setdefault(uri, asyncio.Lock()):
            document = self.document(uri)
            known = self._analyses.get(uri)
            same = known is not None and known.is_of(document)
            if known is None or not same or known.is_outdated():
                stamps = self.finder.look()
                made = await asyncio.to_thread(self.analyse, document, document.source)
                known = self._analyses[uri] = _Known(document.version, made, stamps | self.finder.stamps)
                if same:  # The editor was told what is wrong with it as its imports were.
                    self._tell_soon(uri)
            return known.analysis

    def analyse(self, document: TextDocument, text: str) -> Analysis:
        """Analyse a program's text."""
        path, before = path_of(document.uri), self.latest(document.uri)
        return self._readings.read(text, path, document.position_codec, self.finder, before)

    def latest(self, uri: str) -> Analysis | None:
        """Give the last analysis of a file, perhaps of an older text."""
        known = self._analyses.get(uri)
        return known.analysis if known else None

    def colours_later(self, uri: str) -> bool:
        """Ask the editor to ask for a file's semantic tokens when its text is analysed; False if it can't."""
        workspace = self.client_capabilities.workspace
        tokens = workspace.semantic_tokens if workspace is not None else None
        if tokens is None or not tokens.refresh_support:
            return False
        self._uncoloured.add(uri)
        return True

    # Diagnostics.

    def answering(self, uri: str) -> asyncio.Lock:
        """Give what is held while an answer is made that is to be there before the diagnostics are."""
        return self._answering.setdefault(uri, asyncio.Lock())

    def changed(self, uri: str, text: str) -> None:
        """Take a file's new text; what is wrong with it is told when typing pauses."""
        self.texts[path_of(uri)] = text
        self._tell_soon(uri)

    def _tell_soon(self, uri: str) -> None:
        if (waiting := self._pauses.pop(uri, None)) is not None:
            waiting.cancel()
        loop = asyncio.get_running_loop()
        self._pauses[uri] = loop.call_later(PAUSE, lambda: loop.create_task(self.tell(uri)))

    async def tell(self, uri: str) -> None:
        """Tell what is wrong with a file, and with the programs that import it."""
        if path_of(uri) not in self.texts:
            return
        if uri.endswith(ENDING):
            await self._tell_program(uri)
            return
        lines, path = self.lines(uri), path_of(uri)
        self._publish(uri, [_shown(lines, path, d) for d in sources.problems(lines.text, path)])
        for program in [one for one in self._analyses if one != uri and self._imports(one, path)]:
            del self._analyses[program]
            await self._tell_program(program)

    def _imports(self, uri: str, path: str) -> bool:
        analysis = self._analyses[uri].analysis
        return any(reference.source == path for reference in analysis.inspection.modules.values())

    async def _tell_program(self, uri: str) -> None:
        async with self.answering(uri):
            await asyncio.sleep(0)  # An answer that is made is on its way before them.
            analysis = await self.fresh(uri)
            self._publish(uri, [_shown(analysis, analysis.path, d) for d in analysis.inspection.diagnostics])
        if uri in self._uncoloured:
            self._uncoloured.discard(uri)
            self.workspace_semantic_tokens_refresh(None)
        asyncio.get_running_loop().call_later(REST, self._tidy_up)

    def _tidy_up(self) -> None:
        if self._readings.are_over_since(REST):
            collect_now()

    def _publish(self, uri: str, found: list[Json]) -> None:
        version = self.workspace.get_text_document(uri).version
        params = {"uri": uri, "diagnostics": found, "version": version}
        self.protocol.tell(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def closed(self, uri: str) -> None:
        """Forget a file."""
        self.texts.pop(path_of(uri), None)
        self._analyses.pop(uri, None)
        self._publish(uri, [])


def path_of(uri: str) -> str:
    """Give the file of a URI.

    Parameters
    ----------
    uri : str
        The URI.

    Returns
    -------
    str
        The file's path; the URI itself if it is not a file's.

    Examples
    --------
    >>> path_of("file:///programs/heat.coven")
    '/programs/heat.coven'
    """
    return to_fs_path(uri) or uri


def _shown(lines: Lines, path: str, diagnostic: Diagnostic) -> Json:
    """Turn a diagnostic into an editor's, as JSON has it; one of an imported file is shown at its import."""
    span, message = diagnostic.span, diagnostic.message
    related = [_related(lines, path, place, text) for place, text in diagnostic.notes]
    if span.path != path:
        related.insert(0, _related(lines, path, span, message))
        message = f"{span.start}: {message}"
        place = _import_of(lines, path, span.path)
    else:
        place = lines.range(span)
    wrong = diagnostic.severity is Severity.ERROR
    severity = types.DiagnosticSeverity.Error if wrong else types.DiagnosticSeverity.Warning
    return {
        "range": _plain(place),
        "message": f"{message}\nhelp: {diagnostic.help}" if diagnostic.help else message,
        "severity": severity.value,
        "code": diagnostic.code,
        "source": "pse",
        **({"tags": [types.DiagnosticTag.Unnecessary.value]} if diagnostic.code in UNUSED else {}),
        **({"relatedInformation": related} if related else {}),
    }


def _plain(place: types.Range) -> Json:
    start, end = place.start, place.end
    return {
        "start": {"line": start.line, "character": start.character},
        "end": {"line": end.line, "character": end.character},
    }


def _related(lines: Lines, path: str, span: Span, text: str) -> Json:
    if span.path == path:
        uri, place = uri_of(path), lines.range(span)
    else:
        uri = uri_of(span.path) if Path(span.path).is_file() else uri_of(path)
        start = types.Position(max(span.line - 1, 0), max(span.column - 1, 0))
        end = types.Position(max(span.end_line - 1, 0), max(span.end_column - 1, 0))
        place = types.Range(start, end)
    return {"location": {"uri": uri, "range": _plain(place)}, "message": text}


def _import_of(lines: Lines, path: str, source: str) -> types.Range:
    """Give the range of the line that imports a file; the first line if none does."""
    for number, line in enumerate(lines.lines, 1):
        imports = line.lstrip().startswith("import") and line.count('"') >= 2
        if imports and resolved(line.split('"')[1], path) == source:
            start = len(lines.indent(number)) + 1
            return lines.range(Span(path, number, start, number, len(line.rstrip()) + 1))
    return lines.range(Span(path, 1, 1, 1, 2))
