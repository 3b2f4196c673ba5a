"""Whether the files of an OTF2 archive are whole: the library reads on past the end of one that was cut.

A file is a row of chunks of one size, of which the last is as long as it needs to be.  A chunk begins with
the numbers of its first and last event, and the last ends with a mark.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Literal

from pse.trace.format._errors import refuse_pipes

END = b"\2\1"  # End of file, end of buffer.
LITTLE, LONG, HEADER = 0x42, 255, 18
TIMESTAMP, ATTRIBUTES, FIRST_EVENT, LAST_EVENT = 5, 6, 10, 127
KINDS = {TIMESTAMP, ATTRIBUTES, *range(FIRST_EVENT, LAST_EVENT + 1)}
Order = Literal["little", "big"]


def is_whole(path: Path) -> bool:
    """Whether a file ends as files end that were written to their end."""
    refuse_pipes(path)
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - len(END), 0))
        return file.read() == END


def whole_events(path: Path, chunk_size: int) -> int:
    """How many events of a file that was cut are there as a whole."""
    chunks = path.stat().st_size // chunk_size
    with path.open("rb") as file:
        file.seek(max(chunks - 1, 0) * chunk_size)
        _, order, last = _header(file.read(HEADER))
        file.seek(chunks * chunk_size)
        return (last if chunks else 0) + _events_of(file.read(), order)


def _header(data: bytes) -> tuple[int, Order, int]:
    """The mark of a chunk, the order of its bytes, and the number of its last event."""
    kind, order, _, last = struct.unpack("<BB8s8s", data.ljust(HEADER, b"\0"))
    name: Order = "little" if order == LITTLE else "big"
    return kind, name, int.from_bytes(last, name)


def _events_of(chunk: bytes, order: Order) -> int:
    """How many events of a chunk that was cut are whole, and sound as far as can be told.

    A record is its kind, its length in a byte or, after 255, in eight more, and what it says; only a
    timestamp has no length.
    """
    at, count, time = HEADER, 0, 0
    while at + 1 < len(chunk):
        kind, size, begin = chunk[at], chunk[at + 1], at + 2
        if kind == TIMESTAMP:
            begin, size = at + 1, 8
        elif size == LONG:
            begin, size = begin + 8, int.from_bytes(chunk[begin : begin + 8], order)
        at = begin + size
        if at > len(chunk) or kind not in KINDS:
            break
        if kind == TIMESTAMP:
            now = int.from_bytes(chunk[begin:at], order)
            if now < time:
                break
            time = now
        count += kind >= FIRST_EVENT
    return count
