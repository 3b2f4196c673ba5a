"""What the arena tells about itself: frozen records.

Touches nothing; `_arena` fills them in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pse._abi.memory import ArenaStatistics as ArenaStatistics


@dataclass(frozen=True, slots=True)
class LiveBlock:
    """One line of the report of who holds what: a live block or view, and who allocated it for what.

    `parent` is the handle of the block that a view belongs to, 0 for a block with data of its own.
    """

    handle: int
    bytes: int
    references: int
    owner: int
    site: int
    tph: int
    parent: int
    shape: tuple[int, ...]
    dtype: str


class Descriptor(NamedTuple):
    """All that another rank needs to open a block: 24 bytes on the wire, however large the block is.

    It carries one reference, which the rank that opens it takes over.
    """

    pid: int
    fd: int
    handle: int


class MemoryFigures(NamedTuple):
    """Bytes of memory: `total` if all else ended, `available` now; a cgroup's limit counts."""

    total: int
    available: int
