"""Starting the desk: its socket, its address with the token, the browser."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState

from pse.desk.server._application import Desk, make_application
from pse.desk.server._files import PROGRAM
from pse.desk.server._guard import Guard
from pse.errors import UsageError, system_help
from pse.lsp import collect_rarely

LOCAL: Final = "127.0.0.1"
TOKEN: Final = "PSE_DESK_TOKEN"
"""The variable in which a proxy that starts the desk says the token of its address."""
_LARGEST_FRAME = 32 << 20


def serve(path: str = ".", host: str = LOCAL, port: int = 0, *, browser: bool = True) -> None:
    """Open a directory, or a program in it, and serve the desk until it is interrupted.

    Parameters
    ----------
    path : str, optional
        A directory or a ``.coven`` file; one that isn't there yet is begun.
    host : str, optional
        The address to listen at.
    port : int, optional
        The port; 0: any that is free.
    browser : bool, optional
        Whether to open a browser.

    Raises
    ------
    UsageError
        If there is no such directory, or nobody can listen there.

    See Also
    --------
    pse.lsp.make_server
    """
    directory, program = opened(path)
    listening = _socket(host, port)
    given, port = os.environ.pop(TOKEN, None), listening.getsockname()[1]
    token = given or secrets.token_urlsafe(24)
    os.chdir(directory)  # Runs, and the paths in their messages, are relative to it.
    cookie = f"pse-desk-{port}"  # Cookies don't tell ports apart: two desks would take each other's.
    names = {"localhost", host, socket.gethostname()}
    application = make_application(
        Desk(directory, program), lambda app: Guard(app, token, names, cookie, proxied=given is not None)
    )
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}"
    print(f"the desk: {address}\nCtrl+C ends it, and the runs that it started", flush=True)
    if host not in (LOCAL, "::1", "localhost"):
        print("warning: other machines can reach it, without encryption", file=sys.stderr, flush=True)
    if browser:  # Some, as w3m and scripts, are waited for until they end.
        threading.Thread(target=_browse, args=(address,), name="browser", daemon=True).start()
    _run(application, listening)


def _browse(address: str) -> None:
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(address)


def opened(path: str) -> tuple[Path, str | None]:
    """Give the directory to open, and the program in it.

    Raises
    ------
    UsageError
        If there is no such directory, or the file is not a program.
    """
    given = Path(path)
    if given.is_dir():
        return given.resolve(), None
    if given.suffix != PROGRAM:
        help = "give a directory, or a .coven file"
        what = "is not a program" if given.exists() else "is not there"
        raise UsageError(f"{path} {what}", help=help)
    if not given.parent.is_dir():
        raise UsageError(
            f"there is no directory {given.parent}", help=f"make it with: mkdir -p {given.parent}"
        )
    return given.parent.resolve(), given.name


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OverflowError:
        raise UsageError(f"--port {port} is not a port", help="ports are 1 to 65535") from None
    except OSError as error:
        message = f"the desk can't listen at {host}, port {port}: {error.strerror}"
        help = system_help(error, host) if error.errno == 13 else "leave --port out for any that is free"
        raise UsageError(message, help=help) from None


def _run(application: object, listening: socket.socket) -> None:
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # It tells the page what is wrong.
    collect_rarely()
    config = uvicorn.Config(
        application,  # type: ignore[arg-type]
        log_level="critical",  # What goes wrong in a request is answered to the page.
        ws=_WebSocket,
        ws_max_size=_LARGEST_FRAME,
        ws_per_message_deflate=False,  # On the same machine that only takes time.
        timeout_graceful_shutdown=1,
        proxy_headers=False,  # By them whoever asks could say to be somebody else.
        server_header=False,
        date_header=False,
    )
    with contextlib.suppress(KeyboardInterrupt):
        _Server(config).run(sockets=[listening])


class _WebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that may be closing by itself when the desk ends: uvicorn's own does not expect that."""

    def shutdown(self) -> None:
        """Close it."""
        try:
            super().shutdown()
        except InvalidState:
            self.transport.close()


class _Server(uvicorn.Server):
    """Sleeps until it is asked or told to end: uvicorn's own looks at the time ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Serve until a signal comes."""
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)
        if not self.should_exit:
            await self._told.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal that ends the server; the second one ends it whatever goes on."""
        if self.should_exit:
            os._exit(128 + sig)
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._told.set)
