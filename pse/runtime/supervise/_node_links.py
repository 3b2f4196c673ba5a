"""How the monitors of a job's nodes learn of failures elsewhere: by TCP, over the first node's monitor.

Not every process manager ends the ranks of all nodes when one dies.  A monitor says a word before it closes
its connection; one that is closed without a word means that the other node, or its monitor, is gone.
"""

from __future__ import annotations

import contextlib
import hmac
import select
import selectors
import socket
import time
from dataclasses import dataclass

from pse.runtime.supervise._monitor_handle import Meeting

DONE, FAILED = b"done\n", b"failed\n"
"""What a monitor says last: its ranks have ended, or one of them failed."""

CONNECT_PATIENCE = 5.0
"""Seconds in which the first node's monitor must answer; without it, a node goes on by itself."""

_ROOM = 512


@dataclass
class Link:
    """A connection with another node's monitor.

    Attributes
    ----------
    connection : socket
    host : str
        The other host; empty until it has said its name.
    text : bytes
        What it has said.
    """

    connection: socket.socket
    host: str
    text: bytes = b""


class NodeLinks:
    """One monitor's connections.

    Parameters
    ----------
    selector : selectors.BaseSelector
        Gets the listening socket, with this object as data, and every connection, with its `Link`.
    """

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector, self._token = selector, ""
        self._listener = socket.create_server(("", 0))
        self._links: list[Link] = []

    @property
    def port(self) -> int:
        """Where this monitor listens."""
        number: int = self._listener.getsockname()[1]
        return number

    def lead(self, token: str) -> None:
        """Be the one that the others connect to."""
        self._token = token
        self._selector.register(self._listener, selectors.EVENT_READ, self)

    def join(self, meeting: Meeting) -> None:
        """Connect with the first node's monitor; without it, this node is on its own."""
        here = socket.gethostname()
        host = "127.0.0.1" if meeting.host == here else meeting.host
        with contextlib.suppress(OSError):
            connection = socket.create_connection((host, meeting.port), CONNECT_PATIENCE)
            connection.sendall(f"{meeting.token} {here}\n".encode())
            self._add(Link(connection, meeting.host))

    def accept(self) -> None:
        """Take a connection; who it is it has to say."""
        with contextlib.suppress(OSError):
            self._add(Link(self._listener.accept()[0], ""))

    def heard(self, link: Link) -> str | None:
        """Read what another monitor says.

        Returns
        -------
        str or None
            Why this node's ranks have to end ("" if that has been said elsewhere); None if they don't.
        """
        if link not in self._links:
            return None  # `failure_elsewhere` has heard it.
        data = b""
        with contextlib.suppress(OSError):
            data = link.connection.recv(_ROOM)
        link.text += data
        if not link.host and b"\n" in link.text and not self._introduce(link):
            data = b""
        if data and link.text not in (DONE, FAILED):
            return None
        self._drop(link)
        if link.text == DONE or not link.host:
            return None
        if link.text == FAILED:
            return ""
        return f"error: the monitor of host {link.host} is gone: that host failed, or somebody killed it\n"

    def failure_elsewhere(self, patience: float) -> bool:
        """Say whether ranks of another node have failed, waiting at most so many seconds for the word."""
        deadline = time.monotonic() + patience
        while self._links and (left := deadline - time.monotonic()) > 0:
            ready = select.select([link.connection for link in self._links], [], [], left)[0]
            heard = [self.heard(link) for link in [*self._links] if link.connection in ready]
            if "" in heard:
                return True
        return False

    def say(self, word: bytes) -> None:
        """Say the last word to all."""
        for link in self._links:
            with contextlib.suppress(OSError):
                link.connection.sendall(word)

    def _introduce(self, link: Link) -> bool:
        """Read who it is; says whether it is one of this job."""
        line, _, link.text = link.text.partition(b"\n")
        token, _, host = line.decode(errors="replace").partition(" ")
        if hmac.compare_digest(token.encode(), self._token.encode()):
            link.host = host
        return bool(link.host)

    def _add(self, link: Link) -> None:
        link.connection.settimeout(1.0)
        self._links.append(link)
        self._selector.register(link.connection, selectors.EVENT_READ, link)

    def _drop(self, link: Link) -> None:
        self._selector.unregister(link.connection)
        link.connection.close()
        self._links.remove(link)
