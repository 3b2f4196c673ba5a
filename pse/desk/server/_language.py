"""The language server of one page, over a WebSocket, and the graph of what is open in it.

One message of JSON-RPC is one frame.  The methods ``coven/…`` are answered here, the others by `pse.lsp`:
both see the same texts.  Files outside the opened directory are refused to both.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from pse.desk.model import (
    Drawing,
    Edit,
    Json,
    Names,
    Offsets,
    ProgramModel,
    check_connection,
    palette,
    perform,
    possible_targets,
)
from pse.desk.server._errors import Refusal
from pse.desk.server._files import Directory
from pse.errors import PseError
from pse.lsp import Analysis, ProgramServer, Readings, make_server, path_of

_OWN = "coven/"
_INVALID, _FAILED = -32602, -32603


class _Outgoing:
    """What pygls writes to; the frames are sent one after the other."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[str] = asyncio.Queue()

    def write(self, data: bytes) -> None:
        """Take a message."""
        self.frames.put_nowait(data.decode())

    def close(self) -> None:
        """Do nothing: the page closes."""


class Conversation:
    """The conversation with one page.

    Parameters
    ----------
    directory : Directory
        The opened directory.
    readings : Readings
        What is known of programs; a page that is loaded again begins with it.
    """

    def __init__(self, directory: Directory, readings: Readings) -> None:
        self._directory, self._outgoing = directory, _Outgoing()
        self.server: ProgramServer = make_server(readings)
        self.server.protocol.set_writer(self._outgoing, include_headers=False)
        self._documents = Documents(self.server, directory)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, socket: WebSocket) -> None:
        """Talk until the page goes."""
        await socket.accept()
        sending = asyncio.create_task(self._send(socket))
        try:
            while self._take(await socket.receive_text()):
                pass
            await socket.close()
        except (WebSocketDisconnect, KeyError):
            pass
        finally:
            for task in (sending, *self._tasks):
                task.cancel()

    async def _send(self, socket: WebSocket) -> None:
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):
            while True:
                await socket.send_text(await self._outgoing.frames.get())

    def _take(self, frame: str) -> bool:
        """Take a message; False for the last one."""
        try:
            message = json.loads(frame)
            if not isinstance(message, dict):
                raise ValueError
        except (ValueError, RecursionError):
            self._tell({"id": None, "error": {"code": -32700, "message": "this is not a JSON object"}})
            return True
        try:
            self._require_inside(message)
        except PseError as error:
            self._refuse(message, error)
            return True
        method = message.get("method")
        if isinstance(method, str) and method.startswith(_OWN):
            task = asyncio.create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif method != "exit":
            self._pass_on(frame)
        return bool(method != "exit")

    def _pass_on(self, frame: str) -> None:
        protocol = self.server.protocol
        try:
            protocol.handle_message(json.loads(frame, object_hook=protocol.structure_message))
        except Exception as error:  # Whatever a page sends, the conversation goes on.
            self._tell({"id": None, "error": {"code": -32600, "message": f"invalid message: {error}"}})

    def _require_inside(self, part: object) -> None:
        """Refuse URIs of files outside the directory, wherever in a message they are."""
        waiting = [part]
        while waiting:
            match waiting.pop():
                case dict() as found:
                    uris = [v for k, v in found.items() if isinstance(v, str) and k.lower().endswith("uri")]
                    for uri in uris:
                        self._require_uri(uri)
                    waiting += found.values()
                case list() as found:
                    waiting += found

    def _require_uri(self, uri: str) -> None:
        if not uri.startswith("file://"):
            raise Refusal(f"{uri} is not a file", help="open a file of the directory")
        self._directory.find(_relative(path_of(uri), str(self._directory.path)))

    # Answers.

    def _tell(self, message: Json) -> None:
        self._outgoing.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def _refuse(self, message: Json, error: PseError) -> None:
        if "id" in message:
            told = {"code": _INVALID, "message": error.message, "data": {"help": error.help}}
            self._tell({"id": message["id"], "error": told})

    async def _answer(self, message: Json) -> None:
        method, params = str(message["method"]).removeprefix(_OWN), message.get("params")
        try:
            result = await self._documents.answer(method, params if isinstance(params, dict) else {})
        except PseError as error:
            self._refuse(message, error)
        except Exception as error:  # The page is told; the text stays as it is.
            self._tell({"id": message.get("id"), "error": {"code": _FAILED, "message": f"{error!r}"}})
            raise
        else:
            self._tell({"id": message.get("id"), "result": result})


def _relative(path: str, root: str) -> str:
    return path.removeprefix(root).lstrip("/") or "." if f"{path}/".startswith(f"{root}/") else path


class Documents:
    """The programs that are open in a page, as graphs.

    Parameters
    ----------
    server : ProgramServer
        Has their texts.
    directory : Directory
        The opened directory.
    """

    def __init__(self, server: ProgramServer, directory: Directory) -> None:
        self._server, self._directory, self._root = server, directory, str(directory.path)
        self._known: dict[str, tuple[Names, ProgramModel]] = {}
        self._drawings: dict[str, Drawing] = {}
        self._watched: set[str] = set()
        self._answers: dict[str, Callable[[str, Json, ProgramModel], Any]] = {
            "graph": self._graph,
            "edit": self._edit,
            "canConnect": self._can_connect,
            "palette": lambda _uri, _params, model: palette(model, self._root),
        }

    async def answer(self, method: str, params: Json) -> Any:
        """Answer a request of the page.

        Raises
        ------
        Refusal
            If there is no such request, or no such document.
        """
        answer, uri = self._answers.get(method), params.get("uri")
        if answer is None or not isinstance(uri, str):
            raise Refusal(f"there is no request {_OWN}{method} for {uri}", help="see docs/desk_protocol.md")
        if path_of(uri) not in self._server.texts:
            raise Refusal(f"{uri} is not open", help="send textDocument/didOpen first")
        async with self._server.answering(uri):
            version = self._server.workspace.get_text_document(uri).version
            analysis = await self._server.fresh(uri)
            model = await asyncio.to_thread(self._model, uri, analysis)
            if method != "palette":
                return await asyncio.to_thread(answer, uri, params | {"now": version}, model)
        return await asyncio.to_thread(answer, uri, params, model)  # It reads all modules: nobody waits.

    def _model(self, uri: str, analysis: Analysis) -> ProgramModel:
        """Give the graph of the present text; ids go on from the text before."""
        names, model = self._known.get(uri, (Names(), None))
        if model is None or model.analysis is not analysis:
            model = ProgramModel(analysis, names, self._server.finder, model)
            self._known[uri] = names, model
            self._watch(set(self._server.finder.stamps))
        return model

    def _watch(self, paths: set[str]) -> None:
        """Look at the files that imports name, and no longer at missing ones that none names now."""
        self._directory.watch(paths)
        self._directory.forget_missing(self._watched - paths)
        self._watched = paths

    def _graph(self, uri: str, params: Json, model: ProgramModel) -> Json:
        return self._drawn(uri, params, model, params["now"])

    def _drawn(self, uri: str, params: Json, model: ProgramModel, version: int | None) -> Json:
        """Give the graph, or only what differs from the last one, if the page says that it has that."""
        before = self._drawings.get(uri)
        drawing = self._drawings[uri] = Drawing(model, version, self._root, before)
        known = before is not None and params.get("since") == before.number
        return drawing.since(before) if before is not None and known else drawing.whole()

    def _edit(self, uri: str, params: Json, model: ProgramModel) -> Json:
        now, operations = params["now"], params.get("operations")
        if params.get("version") not in (now, None):
            return _refused(Refusal("the text has changed meanwhile", help="do it again"))
        if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
            return _refused(Refusal("the operations are missing", help='give  "operations": [{"op": …}]'))
        names, offsets = self._known[uri][0].copy(), Offsets(model.text)
        given = [
            {**one, "at": offsets.own(one["at"])} if isinstance(one.get("at"), int) else one
            for one in operations
        ]
        try:
            done = perform(model, given, lambda text: self._remade(model, text, names))
        except PseError as error:
            return _refused(error)
        self._known[uri] = names, done.model
        version = now + 1 if isinstance(now, int) else now
        graph = self._drawn(uri, params, done.model, version)
        edits = [_shown(edit, offsets) for edit in done.edits]
        return {"edits": edits, "graph": graph, "version": version, "selection": done.new}

    def _remade(self, model: ProgramModel, text: str, names: Names) -> ProgramModel:
        analysis = model.analysis.remade(text)
        return ProgramModel(analysis, names, self._server.finder, model)

    def _can_connect(self, uri: str, params: Json, model: ProgramModel) -> Json:
        start, end = params.get("from"), params.get("to")
        if not isinstance(start, dict):
            raise Refusal("`from` is missing", help='give  "from": {"id": "n2", "port": "v"}')
        try:
            if isinstance(end, dict):
                wrong = check_connection(model, start, end)
                told = {"reason": wrong.message, "help": wrong.help} if wrong else {}
                return {"ok": wrong is None, **told}
            found = [(t.element.id, t.port, t.reason) for t in possible_targets(model, start)]
        except PseError as error:
            return {"ok": False, "reason": error.message, "help": error.help, "targets": []}
        return {
            "targets": [
                {"id": id, "port": port, "ok": reason is None, **({"reason": reason} if reason else {})}
                for id, port, reason in found
            ]
        }


def _refused(error: PseError) -> Json:
    return {"refused": {"message": error.message, "help": error.help}}


def _shown(edit: Edit, offsets: Offsets) -> Json:
    return {**offsets.range(edit.start, edit.end), "text": edit.text}
