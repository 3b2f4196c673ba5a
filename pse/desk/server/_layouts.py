"""Where the boxes of graphs lay when their programs were last open: laying out is most of what opening takes.

The page keeps what it likes, under a program's path.  There is a fixed number of files: a hash says which is
a program's own, and a later program with the same hash takes its place.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from pathlib import Path
from typing import Any

from pse import _cache
from pse.desk.server._errors import Refusal
from pse.files import draft_file

FILES = 256
LARGEST = 1 << 20
"""Bytes of a layout: the page lays larger graphs out by itself, at once."""


def recall(program: Path) -> dict[str, Any]:
    """Give what was kept of a program; None if nothing is."""
    file = _place(program)
    if _cache.distrust(file) is None:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            path, layout = json.loads(file.read_bytes())
            return {"layout": layout if path == str(program) else None}
    return {"layout": None}


def keep(program: Path, layout: object) -> None:
    """Keep the layout of a program.

    Raises
    ------
    Refusal
        If it is too large.
    """
    data = json.dumps([str(program), layout], separators=(",", ":")).encode()
    if len(data) > LARGEST:
        raise Refusal(f"this layout is larger than {LARGEST >> 20} MiB", 413, help="lay it out again instead")
    file = _place(program)
    with contextlib.suppress(OSError):  # What can't be kept costs time and nothing else.
        file.parent.mkdir(parents=True, exist_ok=True)
        with draft_file(file) as draft:
            draft.chmod(0o644)  # Whatever the umask: nothing is read that others may write.
            draft.write_bytes(data)


def _place(program: Path) -> Path:
    return _cache.directory() / "layouts" / f"{zlib.crc32(str(program).encode()) % FILES:02x}"
