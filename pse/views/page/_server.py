"""Pages of a trace that is too large for one file: a server on this machine makes those of parts when asked.

It listens on the loopback alone, and answers to addresses with its random token.
"""

from __future__ import annotations

import dataclasses
import secrets
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pse.errors import UsageError
from pse.trace import Trace, TraceError
from pse.trace.query import Selection
from pse.views.page._data import MOST_ENTRIES
from pse.views.page._html import page_html
from pse.views.page._kept_pages import KeptPages

HOST = "127.0.0.1"


def serve_pages(
    trace: Trace,
    selection: Selection | None = None,
    *,
    port: int = 0,
    most: int = MOST_ENTRIES,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the interactive view of a trace on this machine until it is interrupted.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.
    selection : Selection, optional
        What to show; all by default.
    port : int
        Where to listen; 0: on any free port.
    most : int
        How many blocks a page holds, about: of a shorter window it has more detail.
    ready : callable
        Is called with the address when it listens.

    Raises
    ------
    TraceError
        The selection leaves nothing to show.
    UsageError
        Another program uses the port.

    Examples
    --------
    >>> serve_pages(pse.trace.open("run1"))  # doctest: +SKIP
    http://127.0.0.1:35001/ZJw5…/
    """
    selection = selection or Selection()
    selection.check(trace)
    pages = Pages(trace, selection, most)
    try:
        server = _Server((HOST, port), type("Handler", (_Handler,), {"pages": pages}))
    except OSError as error:
        message = f"the page can't be served on port {port}: {error.strerror}"
        raise UsageError(message, help="choose another port, or none: then a free one is taken") from error
    with server:
        ready(f"http://{HOST}:{server.server_port}/{pages.token}/")
        server.serve_forever()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a reader that went away; what else is wrong is for the terminal."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Pages:
    """Pages of parts of a trace, made when they are asked for.

    Parameters
    ----------
    trace, selection, most
        As `serve_pages` has them.
    """

    def __init__(self, trace: Trace, selection: Selection, most: int) -> None:
        self.token = secrets.token_urlsafe(16)
        self._trace, self._selection, self._most = trace, selection, most
        self._alone = threading.Lock()  # One page takes all the memory that is meant for one.
        self._kept = KeptPages(trace)

    def page(self, query: str) -> bytes:
        """The page of the window of time that a query names: ``from=NS&until=NS``, or of all."""
        asked = parse_qs(query)
        begin, end = (_seconds(name, asked[name][0]) if name in asked else None for name in ("from", "until"))
        with self._alone:
            return self._page(begin, end)

    def _page(self, begin: float | None, end: float | None) -> bytes:
        own = self._selection
        begin = own.begin if begin is None else max(begin, own.begin or 0.0)
        end = own.end if end is None else min(end, own.end) if own.end is not None else end
        part = dataclasses.replace(own, begin=begin, end=end)
        part.window(self._trace)
        what = f"{_told(part)} {self._most}"
        return self._kept.page(what, lambda: page_html(self._trace, part, self._most, served=True))


def _seconds(name: str, text: str) -> float:
    if not text.isdecimal():
        raise ValueError(f"'{name}' is not a whole number of ns since the run's begin")
    return int(text) / 1e9


def _told(selection: Selection) -> list[tuple[str, object]]:
    """What a selection says, the same in every process."""
    fields = sorted(vars(selection).items())
    return [
        (name, sorted(map(str, value)) if isinstance(value, frozenset) else value) for name, value in fields
    ]


class _Handler(BaseHTTPRequestHandler):
    pages: Pages

    def do_GET(self) -> None:
        asked, port = urlsplit(self.path), self.connection.getsockname()[1]
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):
            return self.send_error(HTTPStatus.FORBIDDEN, "Not for this host")  # A name that was bound anew.
        path = asked.path.strip("/")
        if not secrets.compare_digest(path.encode(), self.pages.token.encode()):
            return self.send_error(HTTPStatus.NOT_FOUND)
        try:
            page = self.pages.page(asked.query)
        except (ValueError, TraceError) as error:
            return self.send_error(HTTPStatus.BAD_REQUEST, str(error).splitlines()[0])
        self.send_response(HTTPStatus.OK)
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(page))),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(page)
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal has the address, and shows no more."""
