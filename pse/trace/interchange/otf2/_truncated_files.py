"""Whether the files of an OTF2 archive are whole: the library reads on past the end of one that was cut.

A file is a row of chunks of one size, of which the last is as long as it needs to be.  A chunk begins with
the numbers of its first and last event, and the last ends with a mark.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

END = b"\2\1"  # End of file, end of buffer.
LITTLE = 0x42


def is_whole(path: Path) -> bool:
    """Whether a file ends as files end that were written to their end."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - len(END), 0))
        return file.read() == END


def whole_events(path: Path, chunk_size: int) -> int:
    """How many events of a file that was cut are in chunks that are there as a whole."""
    chunks = path.stat().st_size // chunk_size
    if not chunks:
        return 0
    with path.open("rb") as file:
        file.seek((chunks - 1) * chunk_size)
        _, order, _, last = struct.unpack("<BB8s8s", file.read(18))
    return int.from_bytes(last, "little" if order == LITTLE else "big")
