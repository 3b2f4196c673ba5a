"""Which requests and messages of an editor are answered, and by what.

A change is answered from the text as it is now and from the last analysis; what needs a new one waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types

from pse.errors import PseError, UsageError
from pse.lsp import (
    _actions as actions,
    _completion as completion,
    _hover as hovering,
    _module_sources as sources,
    _navigation as navigation,
    _outline as outline,
    _refactorings as refactorings,
)
from pse.lsp._analysis import ENDING, Analysis, MovedLines, Readings, collect_rarely
from pse.lsp._formatting import formatted
from pse.lsp._navigation import uri_of
from pse.lsp._server import ProgramServer, path_of


def make_server(readings: Readings | None = None) -> ProgramServer:
    """Make a server that answers everything; it is not started.

    Parameters
    ----------
    readings : Readings, optional
        What servers of one process know of programs.

    Returns
    -------
    ProgramServer
        Start it with `start_io()` or `start_tcp(host, port)`.

    Examples
    --------
    >>> server = make_server()
    >>> server.name
    'pse'
    """
    server = ProgramServer(readings)
    for name, (answer, options) in ANSWERS.items():
        server.feature(name, options)(answer)
    return server


def serve(host: str | None = None, port: int = 0) -> int:
    """Answer one editor until it goes: over standard input and output, or over TCP.

    Parameters
    ----------
    host : str, optional
        Where to listen; None: standard input and output.
    port : int, optional
        The port to listen at.

    Returns
    -------
    int
        The exit code of the process.

    Raises
    ------
    UsageError
        If nobody can listen there.

    See Also
    --------
    make_server
    """
    logging.basicConfig(level=logging.ERROR)
    logging.getLogger().handlers[0].addFilter(_is_told)
    collect_rarely()
    server = make_server()
    if host is None:
        server.start_io(stdout=os.fdopen(os.dup(1), "wb"))  # It closes it, and others still look at theirs.
        return server.protocol.exit_code
    with _connected(host, port) as editor, contextlib.suppress(ConnectionError):
        server.start_io(editor.makefile("rb"), editor.makefile("wb"))
    return server.protocol.exit_code


def _connected(host: str, port: int) -> socket.socket:
    """Wait for an editor; from then on nobody listens there."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0].lower()
        message = f"the language server can't listen at {host}, port {port}: {why}"
        raise UsageError(message, help="name another port: --tcp PORT") from None
    with listener:
        return listener.accept()[0]


def _is_told(record: logging.LogRecord) -> bool:
    """Say in a line that a message is not JSON, an editor's mistake, and nothing of an editor's end."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, (SystemExit, ConnectionError)):
        return False
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError, RecursionError)):
        record.msg, record.args, record.exc_info = f"a message is not JSON: {error}", (), None
    return True


async def _opened(ls: ProgramServer, params: types.DidOpenTextDocumentParams) -> None:
    ls.texts[path_of(params.text_document.uri)] = params.text_document.text
    await ls.tell(params.text_document.uri)


async def _changed(ls: ProgramServer, params: types.DidChangeTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.changed(uri, ls.workspace.get_text_document(uri).source)


async def _saved(ls: ProgramServer, params: types.DidSaveTextDocumentParams) -> None:
    await ls.tell(params.text_document.uri)


async def _closed(ls: ProgramServer, params: types.DidCloseTextDocumentParams) -> None:
    ls.closed(params.text_document.uri)


# Names.


async def _hover(ls: ProgramServer, params: types.HoverParams) -> types.Hover | None:
    uri = params.text_document.uri
    if sources.is_module_source(path_of(uri)):
        return sources.hover_directive(ls.lines(uri), path_of(uri), params.position)
    at, latest = params.position, ls.latest(uri)
    line = MovedLines(latest, ls.lines(uri)).before(at.line) if latest is not None else None
    if latest is None or line is None:
        return hovering.hover(await ls.fresh(uri), at)
    found = hovering.hover(latest, types.Position(line, at.character))
    return hovering.further_down(found, at.line - line) if found is not None else None


async def _complete(ls: ProgramServer, params: types.CompletionParams) -> list[types.CompletionItem]:
    uri = params.text_document.uri
    analysis = ls.latest(uri) or await ls.fresh(uri)
    return completion.complete(ls.lines(uri), analysis, ls.finder, params.position)


async def _signature(ls: ProgramServer, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
    uri = params.text_document.uri
    analysis = ls.latest(uri) or await ls.fresh(uri)
    return completion.signature_help(ls.lines(uri), analysis, params.position)


async def _definition(ls: ProgramServer, params: types.DefinitionParams) -> list[types.Location]:
    return navigation.definition(await ls.fresh(params.text_document.uri), params.position)


async def _references(ls: ProgramServer, params: types.ReferenceParams) -> list[types.Location]:
    analysis = await ls.fresh(params.text_document.uri)
    declaration = params.context.include_declaration
    return navigation.references(analysis, params.position, declaration=declaration)


async def _highlight(
    ls: ProgramServer, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight]:
    return navigation.highlights(await ls.fresh(params.text_document.uri), params.position)


async def _renamable(ls: ProgramServer, params: types.PrepareRenameParams) -> types.Range | None:
    return navigation.renamable(await ls.fresh(params.text_document.uri), params.position)


async def _rename(ls: ProgramServer, params: types.RenameParams) -> types.WorkspaceEdit:
    uri = params.text_document.uri
    if sources.is_module_source(path_of(uri)):
        edits = navigation.rename_in_directive(ls.lines(uri), params.position, params.new_name)
    else:
        analysis = await ls.fresh(uri)
        edits = await asyncio.to_thread(navigation.rename, analysis, params.position, params.new_name)
    return types.WorkspaceEdit({uri: edits})


# Texts.


async def _symbols(ls: ProgramServer, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    return outline.document_symbols(await ls.fresh(params.text_document.uri))


async def _folding(ls: ProgramServer, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    return outline.folding(await ls.fresh(params.text_document.uri))


async def _tokens(ls: ProgramServer, params: types.SemanticTokensParams) -> types.SemanticTokens:
    uri = params.text_document.uri
    latest, now = ls.latest(uri), ls.lines(uri)
    if latest is None or latest.text == now.text or not ls.colours_later(uri):
        return outline.semantic_tokens(await ls.fresh(uri))
    return outline.moved_tokens(latest, MovedLines(latest, now))


async def _hints(ls: ProgramServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    return outline.hints(await ls.fresh(params.text_document.uri), params.range)


async def _actions(ls: ProgramServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    analysis = await ls.fresh(params.text_document.uri)
    fixes = await asyncio.to_thread(actions.quick_fixes, analysis, ls.finder, params.range)
    return [*fixes, *await asyncio.to_thread(refactorings.refactorings, analysis, params.range)]


async def _format(ls: ProgramServer, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
    return formatted(ls.lines(params.text_document.uri), None)


async def _format_range(
    ls: ProgramServer, params: types.DocumentRangeFormattingParams
) -> list[types.TextEdit]:
    return formatted(ls.lines(params.text_document.uri), params.range)


async def _format_typed(
    ls: ProgramServer, params: types.DocumentOnTypeFormattingParams
) -> list[types.TextEdit]:
    place = types.Position(params.position.line, 0)
    return formatted(ls.lines(params.text_document.uri), types.Range(place, place))


# Workspaces.


async def _workspace(ls: ProgramServer, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
    return await asyncio.to_thread(_workspace_symbols, ls, params.query)


MOST_FILES = 500
"""Programs of a workspace that are searched for symbols."""


def _workspace_symbols(ls: ProgramServer, query: str) -> list[types.WorkspaceSymbol]:
    """Find segments, programs and parameters of the workspace's programs whose names contain a text."""
    found = []
    for path in _programs(ls):
        with contextlib.suppress(PseError):
            document = ls.document(uri_of(str(path)))
            analysis = ls.latest(document.uri) or Analysis(
                document.source, str(path), document.position_codec, ls.finder
            )
            for symbol in analysis.symbols.of_kind("segment", "program", "parameter", "partition"):
                if symbol.span is not None and query.lower() in symbol.name.lower():
                    place = types.Location(document.uri, analysis.range(symbol.span))
                    found.append(types.WorkspaceSymbol(place, symbol.name, _WORKSPACE_KINDS[symbol.kind]))
    return found


_WORKSPACE_KINDS = {
    "segment": types.SymbolKind.Method,
    "program": types.SymbolKind.Class,
    "parameter": types.SymbolKind.Constant,
    "partition": types.SymbolKind.Enum,
}


def _programs(ls: ProgramServer) -> list[Path]:
    folders = [Path(path_of(folder)) for folder in ls.workspace.folders] or (
        [Path(ls.workspace.root_path)] if ls.workspace.root_path else []
    )
    found = [path for folder in folders for path in sorted(folder.rglob(f"*{ENDING}"))]
    return found[:MOST_FILES]


ANSWERS: dict[str, tuple[Callable[..., Awaitable[Any]], Any]] = {
    types.TEXT_DOCUMENT_DID_OPEN: (_opened, None),
    types.TEXT_DOCUMENT_DID_CHANGE: (_changed, None),
    types.TEXT_DOCUMENT_DID_SAVE: (_saved, None),
    types.TEXT_DOCUMENT_DID_CLOSE: (_closed, None),
    types.TEXT_DOCUMENT_HOVER: (_hover, None),
    types.TEXT_DOCUMENT_COMPLETION: (
        _complete,
        types.CompletionOptions(trigger_characters=[".", "@", '"', "/", "("]),
    ),
    types.TEXT_DOCUMENT_SIGNATURE_HELP: (_signature, types.SignatureHelpOptions(["(", ","])),
    types.TEXT_DOCUMENT_DEFINITION: (_definition, None),
    types.TEXT_DOCUMENT_REFERENCES: (_references, None),
    types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: (_highlight, None),
    types.TEXT_DOCUMENT_PREPARE_RENAME: (_renamable, None),
    types.TEXT_DOCUMENT_RENAME: (_rename, types.RenameOptions(prepare_provider=True)),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (_symbols, None),
    types.TEXT_DOCUMENT_FOLDING_RANGE: (_folding, None),
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: (
        _tokens,
        types.SemanticTokensLegend(list(outline.TOKEN_TYPES), list(outline.TOKEN_MODIFIERS)),
    ),
    types.TEXT_DOCUMENT_INLAY_HINT: (_hints, None),
    types.TEXT_DOCUMENT_CODE_ACTION: (
        _actions,
        types.CodeActionOptions([types.CodeActionKind.QuickFix, *refactorings.KINDS]),
    ),
    types.TEXT_DOCUMENT_FORMATTING: (_format, None),
    types.TEXT_DOCUMENT_RANGE_FORMATTING: (_format_range, None),
    types.TEXT_DOCUMENT_ON_TYPE_FORMATTING: (_format_typed, types.DocumentOnTypeFormattingOptions("}")),
    types.WORKSPACE_SYMBOL: (_workspace, None),
}
"""What answers each of the protocol's methods, and what the editor is told of it."""
