"""The routes of the desk: its page, files, modules, runs, and the two WebSockets."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.resources
import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pygls.workspace import PositionCodec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from pse import __version__
from pse.cluster import existing_clusters
from pse.desk.server import _layouts as layouts, _modules as modules, _results as results
from pse.desk.server._errors import Refusal, answer_error
from pse.desk.server._events import Events
from pse.desk.server._files import LARGEST, Directory
from pse.desk.server._guard import PAGE_POLICY
from pse.desk.server._language import Conversation
from pse.desk.server._live import Watches, control_run, run_status
from pse.desk.server._runs import Runs
from pse.errors import PseError
from pse.language.check import REDUCTIONS
from pse.language.types import OPTIONS
from pse.lsp import OpenFiles, Readings
from pse.modules import end_compilers
from pse.modules.build import TEMPLATE_ENDINGS
from pse.views import PALETTE, VIEWS
from pse.views.frames import frame_scripts
from pse.views.page import element_script

_NO_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>pse desk</title></head>
<body><h1>The page of the desk is missing</h1>
<p>This copy of pse has no pse/desk/assets/index.html. Build it with npm: <code>make bundles</code>,
then load this page again. The server itself runs.</p></body></html>
"""
_LAST_REQUESTS = 3.0
"""Seconds that requests under way get when the desk ends."""
_LARGEST_BODY = 4 * LARGEST
"""Bytes of a request: JSON has more of them than the text in it."""
_MOST_DIGITS = 15


class Desk:
    """What the routes work on.

    Parameters
    ----------
    directory : Path
        The directory that is opened, which is the current one.
    program : str or None
        The program that is shown first.
    """

    def __init__(self, directory: Path, program: str | None) -> None:
        self.directory, self.program = Directory(directory), program
        self.events = Events(lambda: self.runs.present(), self.directory.changes)
        self.runs = Runs(self.directory, self.events.publish)
        self.watches = Watches(self.events.publish, lambda: self.events.heard)
        self.readings = Readings()

    def read_ahead(self) -> None:
        """Read the program that is shown first: the page asks for it when its scripts have begun."""
        with contextlib.suppress(PseError):
            path = str(self.directory.find(self.program))
            if path not in self.readings:
                self.readings.read(self.directory.text(self.program), path, PositionCodec(), OpenFiles({}))

    def session(self) -> dict[str, Any]:
        """Give what the page begins with."""
        return {
            "directory": str(self.directory.path),
            "uri": self.directory.path.as_uri(),
            "program": self.program,
            "version": __version__,
            "processors": os.cpu_count() or 1,
            "clusters": [cluster.name for cluster in existing_clusters()],
            "languages": list(TEMPLATE_ENDINGS),
            "colours": list(PALETTE),
            "options": sorted(OPTIONS),
            "reductions": list(REDUCTIONS),
            "views": list(VIEWS),
        }


Work = Callable[[Desk, Request, dict[str, Any]], Any]


def _route(path: str, method: str, work: Work, status: int = 200) -> Route:
    """Make a route whose work is done in a thread, on what the request says in JSON."""

    async def answer(request: Request) -> Response:
        body = await _body(request) if method in ("POST", "PUT") else {}
        result = await asyncio.to_thread(work, request.app.state.desk, request, body)
        if isinstance(result, Path):
            return FileResponse(result)
        return Response(status_code=204) if result is None else JSONResponse(result, status)

    return Route(path, answer, methods=[method])


async def _body(request: Request) -> dict[str, Any]:
    data = await _read(request)
    if not data:
        return {}
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refusal("this is not JSON", 415, help="send it as application/json")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise Refusal("this is not JSON", help="send an object") from None
    if not isinstance(found, dict):
        raise Refusal("this is not a JSON object", help="send an object")
    return found


async def _read(request: Request) -> bytes:
    """Give what a request says, unless that is more than any file in JSON."""
    data, count = bytearray(), 0
    async for part in request.stream():  # To its end: who still sends would not hear the refusal.
        count += len(part)
        data += part if count <= _LARGEST_BODY else b""
    if count > _LARGEST_BODY:
        help = f"files have at most {LARGEST >> 20} MiB"
        raise Refusal(f"this is larger than {_LARGEST_BODY >> 20} MiB", 413, help=help)
    return bytes(data)


def _id(request: Request) -> str:
    return str(request.path_params["id"])


def _controlled(desk: Desk, id: str, asked: dict[str, Any]) -> dict[str, Any] | None:
    """Do with a run what a page asks for; one that asks how it stands can't know that it has just ended."""
    asks = asked.get("action") == "status"
    try:
        name = desk.runs.control_name(id)
    except Refusal as refusal:
        if asks and refusal.status == 409:
            return None
        raise
    return run_status(name) if asks else control_run(name, asked)


def _number(request: Request, name: str) -> int:
    found = request.query_params.get(name, "0")
    if not found.isdecimal() or len(found) > _MOST_DIGITS:
        raise Refusal(f"{name} is not a number", help=f"for example  {name}=0")
    return int(found)


async def _run_page(request: Request) -> Response:
    """Give the page of a run's trace; its scripts are inside of it, so it may do little else."""
    path = await asyncio.to_thread(results.page, request.app.state.desk.runs, _id(request))
    return FileResponse(path, headers={"content-security-policy": PAGE_POLICY})


async def _element(request: Request) -> Response:
    return Response(element_script(), media_type="text/javascript")


_API = [
    _route("/session", "GET", lambda desk, _, __: desk.session()),
    _route("/files", "GET", lambda desk, _, __: desk.directory.listed()),
    _route("/file", "GET", lambda desk, r, _: desk.directory.read(r.query_params.get("path"))),
    _route(
        "/file",
        "PUT",
        lambda desk, _, body: desk.directory.save(body.get("path"), body.get("text"), body.get("revision")),
    ),
    _route(
        "/layout", "GET", lambda desk, r, _: layouts.recall(desk.directory.find(r.query_params.get("path")))
    ),
    _route(
        "/layout",
        "PUT",
        lambda desk, _, body: layouts.keep(desk.directory.find(body.get("path")), body.get("layout")),
    ),
    _route("/modules", "POST", lambda desk, _, body: modules.create_module(desk.directory, body), 201),
    _route("/builds", "POST", lambda desk, _, body: modules.build(desk.directory, body)),
    _route("/runs", "GET", lambda desk, _, __: {"runs": desk.runs.all()}),
    _route("/runs", "POST", lambda desk, _, body: {"run": desk.runs.start(body)}, 201),
    _route("/runs/{id}", "GET", lambda desk, r, _: desk.runs.details(_id(r))),
    _route("/runs/{id}", "DELETE", lambda desk, r, _: desk.runs.remove(_id(r))),
    _route(
        "/runs/{id}/console",
        "GET",
        lambda desk, r, _: desk.runs.console(_id(r), _number(r, "from"), _number(r, "last")),
    ),
    _route("/runs/{id}/stop", "POST", lambda desk, r, _: desk.runs.stop(_id(r))),
    _route(
        "/runs/{id}/control",
        "POST",
        lambda desk, r, body: {"status": _controlled(desk, _id(r), body)},
    ),
    _route(
        "/runs/{id}/watch",
        "POST",
        lambda desk, r, body: {
            "tags": desk.watches.watch(_id(r), desk.runs.control_name(_id(r)), body.get("tags"))
        },
    ),
    _route("/runs/{id}/sites", "GET", lambda desk, r, _: results.sites(desk.runs, _id(r))),
    _route(
        "/runs/{id}/picture",
        "GET",
        lambda desk, r, _: results.picture(
            desk.runs, _id(r), r.query_params.get("view", "gantt"), r.query_params.get("label")
        ),
    ),
    Route("/runs/{id}/page", _run_page),
    _route("/runs/{id}/advice", "POST", lambda desk, r, _: results.advice(desk.runs, _id(r))),
    _route(
        "/compare",
        "GET",
        lambda desk, r, _: results.compare(
            desk.runs, r.query_params.get("left", ""), r.query_params.get("right", "")
        ),
    ),
]


class _Scripts(StaticFiles):
    """The page's scripts: a browser that asks whether they are as they were keeps them compiled."""

    def file_response(self, *given: Any, **more: Any) -> Response:
        """Give a file, or say that it is as it was."""
        response = super().file_response(*given, **more)
        response.headers["cache-control"] = "no-cache"
        return response


def assets() -> Path:
    """Give the directory of the built page."""
    return Path(str(importlib.resources.files("pse.desk") / "assets"))


async def _page(request: Request) -> Response:
    desk, index = request.app.state.desk, assets() / "index.html"
    threading.Thread(target=desk.read_ahead, name="read ahead", daemon=True).start()
    return FileResponse(index) if index.is_file() else HTMLResponse(_NO_PAGE, 503)


async def _language(socket: WebSocket) -> None:
    desk = socket.app.state.desk
    await Conversation(desk.directory, desk.readings).run(socket)


async def _events(socket: WebSocket) -> None:
    await socket.app.state.desk.events.listen(socket)


async def _unexpected(request: Request, error: Exception) -> Response:
    message = f"the desk can't do this: {error!r}"
    return JSONResponse({"error": {"message": message, "help": "nothing is lost; try it again"}}, 500)


def make_application(desk: Desk, guarded: Callable[[Any], Any]) -> Any:
    """Make the application of a desk, behind its guard."""

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        with ThreadPoolExecutor(1) as own:  # Requests may have all other threads, for longer than one waits.
            await asyncio.get_running_loop().run_in_executor(own, desk.runs.end)
        end_compilers()
        leaving = threading.Timer(_LAST_REQUESTS, os._exit, [0])
        leaving.daemon = True
        leaving.start()

    routes: list[BaseRoute] = [
        Route("/", _page),
        Route("/timeline.js", _element),
        Mount("/frames", StaticFiles(directory=frame_scripts())),
        Mount("/api", routes=_API),
        WebSocketRoute("/lsp", _language),
        WebSocketRoute("/events", _events),
    ]
    if assets().is_dir():
        routes.append(Mount("/", _Scripts(directory=assets())))
    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        PseError: answer_error,
        Exception: _unexpected,
    }
    application = Starlette(routes=routes, exception_handlers=handlers, lifespan=life)
    application.state.desk = desk
    return guarded(application)
