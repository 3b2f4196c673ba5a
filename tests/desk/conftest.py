"""A desk as a browser sees it: a real server in a process of its own, its cookie, its WebSockets."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

for name in ("starlette", "uvicorn", "websockets", "pygls"):
    pytest.importorskip(name, reason=f"{name} is in the extra desk: pip install 'pse[desk]'")

from websockets.sync.client import ClientConnection, connect  # noqa: E402

PROGRAMS = Path(__file__).parents[2] / "programs"
COMMAND = (sys.executable, "-P", "-c", "from pse.cli import main; main()", "desk")


class _Unfollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Leave a redirection to who asked."""


class Answer:
    """What the server answers: status, headers, body."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Desk:
    """A desk that runs, and a browser's way to it."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, address: str) -> None:
        self.process, self.folder, self.address = process, folder, address
        self.base, self.token = re.fullmatch(r"(http://[^/]+)/\?token=(.+)", address).groups()
        self.host = self.base.removeprefix("http://")
        self.cookie: str | None = None

    def enter(self) -> None:
        """Get the cookie, as a browser does that opens the address."""
        answer = self.ask(f"/?token={self.token}", Cookie=None, Origin=None)
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]

    def ask(self, path: str, method: str = "GET", body: Any = None, **headers: str | None) -> Answer:
        """Ask as the page does; a header of None is left out."""
        sent = {"Cookie": self.cookie, "Origin": self.base, "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        given = {name: value for name, value in sent.items() if value is not None}
        request = urllib.request.Request(self.base + path, data, given, method=method)
        opener = urllib.request.build_opener(_Unfollowed)
        try:
            with opener.open(request, timeout=120) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.headers, error.read())

    def api(self, path: str, method: str = "GET", body: Any = None, status: int = 200) -> Any:
        """Ask for JSON, and expect a status."""
        answer = self.ask(f"/api{path}", method, body)
        assert answer.status == status, answer.body.decode()
        return answer.json if answer.body else None

    def socket(self, path: str, **how: Any) -> ClientConnection:
        """Open a WebSocket as the page does."""
        given = {"origin": self.base, "additional_headers": {"Cookie": self.cookie}} | how
        return connect(f"ws://{self.host}{path}", **given)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()


class Language:
    """The page's side of the language server."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.last = socket, 0
        self.request("initialize", {"processId": None, "capabilities": {}, "rootUri": None})
        self.notify("initialized", {})

    def notify(self, method: str, params: Any) -> None:
        self.socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def request(self, method: str, params: Any) -> Any:
        """Ask, and wait for the answer; the rest of what comes is passed over."""
        self.last += 1
        asked = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.socket.send(json.dumps(asked))
        while True:
            message = json.loads(self.socket.recv(60))
            if message.get("id") == self.last and "method" not in message:
                return message if "error" in message else message["result"]

    def open(self, uri: str, text: str) -> None:
        document = {"uri": uri, "languageId": "coven", "version": 0, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, version: int, text: str) -> None:
        document = {"uri": uri, "version": version}
        change = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", change)


@contextlib.contextmanager
def started(
    folder: Path,
    *words: str,
    command: Sequence[str] = COMMAND,
    browser: bool = False,
    complaints: IO[str] | None = None,
    **environment: str,
) -> Iterator[Desk]:
    """Start a desk on a folder, and end it; what it complains about goes into a file."""
    line = [*command, str(folder), *([] if browser else ["--no-browser"]), *words]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=complaints, text=True, env={**os.environ, **environment}
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("the desk: http://"), line
            desk = Desk(process, folder, line.removeprefix("the desk: ").strip())
            _wait_until_it_answers(desk)
            yield desk
        finally:
            process.terminate()
            process.wait(30)


def _wait_until_it_answers(desk: Desk) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError):
            desk.enter()
            return
    raise AssertionError("the desk does not answer")


@pytest.fixture(scope="session")
def programs(tmp_path_factory) -> Path:
    """Give a copy of the programs, with their modules."""
    return Path(shutil.copytree(PROGRAMS, tmp_path_factory.mktemp("desk") / "programs"))


@pytest.fixture(scope="module")
def desk(programs):
    """Give a desk that is open on the programs."""
    with started(programs) as found:
        yield found


@pytest.fixture
def language(desk):
    """Give the language server of a page."""
    with desk.socket("/lsp") as socket:
        yield Language(socket)
