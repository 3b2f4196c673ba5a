"""``pse view DIR --serve``: pages of any part of a trace, for a browser on this machine alone."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pse import trace
from pse.bench._synthetic_trace import write_trace


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """Serve the trace in a folder, with a cache beside it; give the address."""
    command = [sys.executable, "-m", "pse", "view", str(folder / "trace"), "--serve", *options]
    environment = os.environ | {"PSE_CACHE": str(folder / "cache")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.communicate(timeout=20)[1]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[trace.Trace, str]]:
    write_trace(tmp_path / "trace", 900, 2)
    with serving(tmp_path) as address:
        yield trace.open(tmp_path / "trace"), address


def get(address: str, **headers: str) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(address, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def head(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.split('id="head">')[1].split("</script>")[0])
    return found


def test_a_reader_that_goes_away_leaves_no_word_on_the_terminal(served) -> None:
    """What the fixture asserts of the server's errors, after connections that were reset."""
    _, address = served
    parts = urllib.parse.urlsplit(address)
    for _ in range(3):
        with socket.create_connection((parts.hostname, parts.port)) as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            reader.sendall(f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    assert get(address)[0] == 200


def test_pages_of_all_and_of_parts_are_served_to_who_has_the_address(served) -> None:
    opened, address = served
    assert address.startswith("http://127.0.0.1:")
    status, page = get(address)
    assert (status, head(page)["served"], head(page)["end"]) == (200, True, opened.span)
    begin, end = opened.span // 4, opened.span // 2
    status, page = get(f"{address}?from={begin}&until={end}")
    assert (status, head(page)["begin"], head(page)["end"]) == (200, begin, end)
    assert get(address.rsplit("/", 2)[0] + "/")[0] == 404
    assert get(address, Host="example.org")[0] == 403
    status, said = get(address + "?from=x")
    assert (status, "'from' is not a whole number of ns" in said) == (400, True)
    assert get(f"{address}?from={10**15}&until={10**15 + 1}")[0] == 400


def test_a_page_goes_to_a_file_or_to_a_browser(pse, tmp_path) -> None:
    write_trace(tmp_path / "trace", 100, 1)
    for given, said in (((), "needs -o FILE"), (("--serve", "-o", "x.html"), "is served, or written")):
        done = pse("view", tmp_path / "trace", *given)
        assert (done.code, said in done.err) == (2, True), done.err


def test_the_next_server_of_the_same_trace_gives_the_pages_that_were_made(tmp_path) -> None:
    write_trace(tmp_path / "trace", 900, 2)
    with serving(tmp_path) as address:
        made = get(address)[1]
    (kept,) = (tmp_path / "cache" / "pages").glob("*.html")
    assert kept.read_text() == made
    kept.write_text("kept")
    with serving(tmp_path) as address:
        assert get(address)[1] == "kept"
    with serving(tmp_path, "--thread", "C,B") as address:  # Another part of it.
        assert len(head(get(address)[1])["rows"]) == 4
    with serving(tmp_path, "--thread", "B,C") as address:  # The same part.
        assert len(head(get(address)[1])["rows"]) == 4
    assert len(list((tmp_path / "cache" / "pages").iterdir())) == 2
    file = next((tmp_path / "trace").iterdir())
    os.utime(file, ns=(0, 0))
    with serving(tmp_path) as address:
        assert get(address)[1] == made
