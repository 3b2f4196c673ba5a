"""``pse bench desk``: how soon the desk shows a program and draws an edit, and what it takes idle.

`pse desk` is a process of its own; Chromium, without a screen, opens its page.  A program is shown when its
calls are drawn, in their places: first without knowing any, as a program that the desk has never shown, and
again with those that it keeps from one day to the next.  An edit is a character that is sent as the page's
editor sends it, until the graph of the new text is there, without the drawing.  What the language server
takes is measured in the same way: a call is changed, a completion is asked for at once and a hover after it,
and what is wrong with the text is awaited.
Beside each figure is the same for a program of a single call.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pse import _proc
from pse.bench._browser import browser
from pse.bench._figures import Against, Figure
from pse.bench._running import SOURCE_TREE, in_turn
from pse.errors import UsageError

_COMMAND = (sys.executable, "-P", "-c", "from pse.cli import main; main()", "desk")
_DRAWN = "return document.querySelectorAll('.react-flow__node').length"
_KEPT = """
const [path, done] = arguments;
fetch(`api/layout?path=${encodeURIComponent(path)}`)
  .then((answer) => answer.json())
  .then(({layout}) => done(layout !== null), () => done(false));
"""
_FORGET = """
const [path, done] = arguments;
const headers = {"Content-Type": "application/json"};
fetch("api/layout", {method: "PUT", headers, body: JSON.stringify({path, layout: null})})
  .then((answer) => done(answer.ok), () => done(false));
"""
_SECONDS = 60
_TOLD = "textDocument/publishDiagnostics"
_PROGRAMS = ("nbody", "large", "lines", "one")
_ONE = "coven 1\nprogram one {\n  print(1)\n}\n"


@dataclass(frozen=True)
class Sizes:
    """How many calls the large programs have, and how many seconds the desk is left alone."""

    calls: int = 1000
    lines: int = 2000
    idle: float = 10.0


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure the desk on `programs/nbody.coven`, a large program and a tiny one, in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as name, browser(Path(name)) as driver:
        folder = Path(shutil.copytree(SOURCE_TREE / "programs", Path(name) / "programs"))
        (folder / "large.coven").write_text(_large(sizes.calls))
        (folder / "lines.coven").write_text(_large(sizes.lines))
        (folder / "one.coven").write_text(_ONE)
        with contextlib.ExitStack() as desks:
            opened = {p: desks.enter_context(_desk(folder / f"{p}.coven")) for p in _PROGRAMS}
            measurers = [lambda p=p, d=d: _measured(driver, d, p, sizes) for p, d in opened.items()]
            samples = in_turn(repeats, measurers, say)
    beside = "a program of a single call"

    def figure(what: str, name: str, program: str, unit: str, target: float) -> Figure:
        floor = Against(beside, unit, tuple(samples[f"{name} one"]))
        return Figure(what, unit, "<=", target, tuple(samples[f"{name} {program}"]), floor)

    many, lines = f"{sizes.calls} calls", f"{sizes.lines} lines"
    return [
        figure("until nbody is shown for the first time", "shown", "nbody", "s", 1.5),
        figure("until nbody is shown again", "shown again", "nbody", "s", 1.5),
        figure(f"until {many} are shown", "shown", "large", "s", 2.0),
        figure("from an edit of nbody to its graph", "edit", "nbody", "ms", 100.0),
        figure(f"from an edit of {many} to their graph", "edit", "large", "ms", 100.0),
        figure(f"from an edit of {lines} to a completion", "offered", "lines", "ms", 50.0),
        figure(f"from an edit of {lines} to a hover", "hovered", "lines", "ms", 50.0),
        figure(f"from an edit of {lines} to all diagnostics", "told", "lines", "ms", 200.0),
        figure("CPU of a desk that is left alone", "idle", "nbody", "%", 0.0),
        Figure(
            "the page, compressed",
            "MB",
            "<=",
            3.0,
            (_size(True),),
            Against("as it is", "MB", (_size(False),)),
            bounds=(_size(True), _size(True)),
        ),
    ]


def _large(calls: int) -> str:
    pairs = (f"  copy(a) -> b{k}\n  thread_B sum(b{k}) -> s{k}\n" for k in range(calls // 2))
    return f"coven 1\nparam i64 n = 8\nprogram large {{\n  var f64[n] a\n  zero() -> a\n{''.join(pairs)}}}\n"


@dataclass(frozen=True)
class _Desk:
    address: str
    pid: int
    path: Path


@contextlib.contextmanager
def _desk(program: Path) -> Iterator[_Desk]:
    """Start a desk on a program; give its address."""
    command = [*_COMMAND, str(program), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().removeprefix("the desk: ").strip()
            if not line:
                raise UsageError("the desk does not start", help="pip install 'pse[desk]'")
            yield _Desk(line, process.pid, program)
        finally:
            process.terminate()


def _measured(driver: Any, desk: _Desk, name: str, sizes: Sizes) -> dict[str, float]:
    found = {} if name == "lines" else {"shown": _shown(driver, desk)}
    if name in ("nbody", "one"):
        found["shown again"] = _shown_again(driver, desk)
    driver.get("about:blank")
    if name != "lines":
        found["edit"] = _edited(desk)
    if name in ("lines", "one"):
        found |= _answered(desk)
    if name in ("nbody", "one"):
        found["idle"] = _idle(desk.pid, sizes.idle)
    return {f"{figure} {name}": value for figure, value in found.items()}


def _shown_again(driver: Any, desk: _Desk) -> float:
    """Open the page when the desk knows where calls lie; have it forget that."""
    deadline = time.monotonic() + _SECONDS
    while not driver.execute_async_script(_KEPT, desk.path.name):
        if time.monotonic() > deadline:
            raise UsageError("the desk keeps no layout", help="look at it:  pse desk programs/nbody.coven")
        time.sleep(0.01)
    seconds = _shown(driver, desk)
    if not driver.execute_async_script(_FORGET, desk.path.name):
        raise UsageError("the desk does not take a layout", help="look at it:  pse desk programs/nbody.coven")
    return seconds


def _shown(driver: Any, desk: _Desk) -> float:
    """Open the page; give the seconds until calls are drawn."""
    driver.get("about:blank")
    begin = time.perf_counter()
    driver.get(desk.address)
    while not driver.execute_script(_DRAWN):
        if time.perf_counter() - begin > _SECONDS:
            raise UsageError(
                "the desk's page shows no call", help="look at it:  pse desk programs/nbody.coven"
            )
        time.sleep(0.01)
    return time.perf_counter() - begin


def _edited(desk: _Desk) -> float:
    """Change a character as the page's editor does; give the milliseconds until the graph is there."""
    uri = desk.path.as_uri()
    with _conversation(desk) as socket:
        _tell(socket, {"method": "coven/graph", "id": 2, "params": {"uri": uri}})
        number = _await(socket, lambda message: message.get("id") == 2)["result"]["number"]
        begin = time.perf_counter()
        _change(socket, desk, f"{desk.path.read_text()}//")
        _tell(socket, {"method": "coven/graph", "id": 3, "params": {"uri": uri, "since": number}})
        _await(socket, lambda message: message.get("id") == 3)
        return 1000 * (time.perf_counter() - begin)


def _answered(desk: _Desk) -> dict[str, float]:
    """Change a call; give the milliseconds until a completion, a hover and what is wrong are there."""
    lines = desk.path.read_text().split("\n")
    number = len(lines) // 2
    document = {"textDocument": {"uri": desk.path.as_uri()}}
    questions = {
        "offered": ("completion", {"line": number, "character": 2}),
        "hovered": ("hover", {"line": 2, "character": 9}),
    }
    changed = [*lines[:number], f"  print(missing) {lines[number]}", *lines[number + 1 :]]
    with _conversation(desk) as socket:
        _await(socket, lambda message: message.get("method") == _TOLD)
        begin = time.perf_counter()
        _change(socket, desk, "\n".join(changed))
        found: dict[str, float] = {}

        def reached(figure: str, message: dict[str, Any]) -> bool:
            if message.get("method") == _TOLD:  # It may come before answers do.
                found["told"] = 1000 * (time.perf_counter() - begin)
            return figure in found or message.get("id") == figure

        for figure, (method, position) in questions.items():
            params = document | {"position": position}
            _tell(socket, {"method": f"textDocument/{method}", "id": figure, "params": params})
            _await(socket, functools.partial(reached, figure))
            found[figure] = 1000 * (time.perf_counter() - begin)
        if "told" not in found:
            _await(socket, functools.partial(reached, "told"))
        return found


@contextlib.contextmanager
def _conversation(desk: _Desk) -> Iterator[Any]:
    """Talk to the language server as the page's editor does; the program is open."""
    from websockets.sync.client import connect
    from websockets.typing import Origin

    base = desk.address.partition("/?token=")[0]
    headers = {"Cookie": _cookie(desk.address)}
    address = f"ws{base[4:]}/lsp"
    with connect(address, origin=Origin(base), additional_headers=headers, max_size=None) as socket:
        document = {"uri": desk.path.as_uri(), "languageId": "coven", "version": 0}
        opened = {"textDocument": document | {"text": desk.path.read_text()}}
        _tell(socket, {"method": "initialize", "id": 1, "params": {"capabilities": {}}})
        _tell(socket, {"method": "textDocument/didOpen", "params": opened})
        yield socket


def _cookie(address: str) -> str:
    """Get the cookie that a browser gets for the desk's address."""
    asked = urllib.parse.urlsplit(address)
    with contextlib.closing(http.client.HTTPConnection(asked.netloc)) as connection:
        connection.request("GET", f"/?{asked.query}")
        return str(connection.getresponse().headers["Set-Cookie"]).partition(";")[0]


def _change(socket: Any, desk: _Desk, text: str) -> None:
    document = {"uri": desk.path.as_uri(), "version": 1}
    change = {"textDocument": document, "contentChanges": [{"text": text}]}
    _tell(socket, {"method": "textDocument/didChange", "params": change})


def _tell(socket: Any, message: dict[str, Any]) -> None:
    socket.send(json.dumps({"jsonrpc": "2.0", **message}))


def _await(socket: Any, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    while not is_it(message := json.loads(socket.recv(_SECONDS))):
        pass
    return dict(message)


def _idle(pid: int, seconds: float) -> float:
    """Give the share of a core, percent, that a desk without a page takes."""
    before, begin = _cpu(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (_cpu(pid) - before) / (time.monotonic() - begin)


def _cpu(pid: int) -> float:
    status = _proc.status(pid)
    assert status is not None, "the desk has ended"
    return status.cpu_seconds


def _size(compressed: bool) -> float:
    """Give the size of the page's files, MB."""
    files = [file for file in (SOURCE_TREE / "pse/desk/assets").rglob("*") if file.is_file()]
    sizes = (len(gzip.compress(f.read_bytes()) if compressed else f.read_bytes()) for f in files)
    return sum(sizes) / 1e6
