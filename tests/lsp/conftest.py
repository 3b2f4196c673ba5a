"""An editor: a client that talks to `pse lsp` by standard input and output, and analyses without a server."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="pygls is in the extra desk: pip install 'pse[desk]'")

from lsprotocol import types
from pse_testing.module_table import finder
from pygls.lsp.client import LanguageClient
from pygls.workspace import PositionCodec

from pse.lsp._analysis import Analysis
from pse.modules import Finder

__all__ = ["finder"]
PROGRAMS = Path(__file__).parents[2] / "programs"
COMMAND = (sys.executable, "-P", "-c", "from pse.cli import main; main()", "lsp")
NOTHING = types.ClientCapabilities()


class Editor(LanguageClient):
    """A client, the diagnostics that it was told, and shorter ways to ask."""

    def __init__(self) -> None:
        super().__init__("editor", "1")
        self.told: list[types.PublishDiagnosticsParams] = []
        self.news = asyncio.Event()
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda told: self._take(told))

    def _take(self, told: types.PublishDiagnosticsParams) -> None:
        self.told.append(told)
        self.news.set()

    def open(self, path: Path, text: str | None = None, language: str = "coven") -> str:
        """Open a file, perhaps with another text than the disk has; give its URI."""
        text = path.read_text() if text is None else text
        item = types.TextDocumentItem(path.as_uri(), language, 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return path.as_uri()

    def change(self, uri: str, version: int, text: str) -> None:
        """Replace a file's whole text."""
        identifier = types.VersionedTextDocumentIdentifier(version=version, uri=uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [whole]))

    async def diagnostics(self, uri: str, version: int) -> list[types.Diagnostic]:
        """Wait for what is wrong with a version of a file."""
        while True:
            self.news.clear()
            for told in self.told:
                if told.uri == uri and told.version == version:
                    self.told.remove(told)
                    return list(told.diagnostics)
            await asyncio.wait_for(self.news.wait(), 60)


Talk = Callable[[Editor], Awaitable[Any]]


async def _session(root: Path, talk: Talk, capabilities: types.ClientCapabilities) -> Any:
    editor = Editor()
    await editor.start_io(*COMMAND)
    folder = types.WorkspaceFolder(root.as_uri(), root.name)
    await editor.initialize_async(types.InitializeParams(capabilities, workspace_folders=[folder]))
    editor.initialized(types.InitializedParams())
    try:
        return await talk(editor)
    finally:
        await editor.shutdown_async(None)
        editor.exit(None)
        await editor.stop()


@pytest.fixture
def session():
    """Run a conversation between an editor and the server: `session(folder, talk)`."""
    return lambda root, talk, can=NOTHING: asyncio.run(_session(root, talk, can))


def analysed(text: str, path: str = str(PROGRAMS / "text.coven")) -> Analysis:
    """Analyse a text as if it was a file among the programs."""
    return Analysis(text, path, PositionCodec(), Finder())


def position(text: str, mark: str, within: int = 0) -> types.Position:
    """Give the position of the first `mark` in a text, so many characters further."""
    before = text[: text.index(mark) + within]
    return types.Position(before.count("\n"), len(before.rpartition("\n")[2]))
