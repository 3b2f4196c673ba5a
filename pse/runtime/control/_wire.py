"""What goes over the socket of a run: a line of JSON, and the bytes that it announces."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any, BinaryIO

LONGEST_LINE = 1 << 20
"""Bytes of a line; whoever sends a longer one is not heard."""

MOST_ROUNDS = 1_000_000_000
"""Pauses that a held run may be asked to go on for."""


def send(connection: socket.socket, head: Mapping[str, Any], data: bytes = b"") -> None:
    """Send a message."""
    connection.sendall(json.dumps({**head, "bytes": len(data)}).encode() + b"\n" + data)


def receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Receive a message; None if there is none any more, or it is no message."""
    line = stream.readline(LONGEST_LINE)
    try:
        head = json.loads(line)
        size = head.pop("bytes", 0)
    except (ValueError, AttributeError):
        return None
    data = stream.read(size) if size else b""
    return (head, data) if len(data) == size else None
