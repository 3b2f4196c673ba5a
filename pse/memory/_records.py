"""What the arena tells about itself: frozen records.

Touches nothing; `_arena` fills them in.
"""

from __future__ import annotations

from typing import NamedTuple

from pse._abi.memory import ArenaStatistics as ArenaStatistics
from pse.records import dataclass


@dataclass(frozen=True)
class LiveBlock:
    """One line of the report of who holds what: a live block or view, and who allocated it for what.

    `parent` is the handle of the block that a view belongs to, 0 for a block with data of its own.

    Parameters
    ----------
    handle : int
        Offset in the arena, bytes.
    bytes : int
        Size of its data.
    references : int
        How many hold it.
    owner : int
        Rank that allocated it.
    site : int
        Call site for which it was allocated.
    tph : int
        TPH for which it was allocated.
    parent : int
        Handle of the block that a view belongs to, 0 for none.
    shape : tuple of int
        Its extents.
    dtype : str
        Type of an element, as NumPy writes it.

    See Also
    --------
    Arena

    Examples
    --------
    >>> from pse.memory import Arena
    >>> arena = Arena.create(1 << 20)
    >>> block = arena.allocate((8, 8), "f4")
    >>> arena.live()[0].shape, arena.live()[0].bytes, arena.live()[0].references
    ((8, 8), 256, 1)
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

    Parameters
    ----------
    pid : int
        Process that holds the arena's file open.
    fd : int
        Number of the file there.
    handle : int
        Offset of the block in the arena, bytes.

    See Also
    --------
    Block

    Examples
    --------
    >>> from pse.memory import Arena
    >>> arena = Arena.create(1 << 20)
    >>> descriptor = arena.allocate(8, "i4").share()
    >>> len(descriptor), arena.open(descriptor.handle).array.shape
    (3, (8,))
    """

    pid: int
    fd: int
    handle: int


class MemoryFigures(NamedTuple):
    """Bytes of memory: `total` if all else ended, `available` now; a cgroup's limit counts.

    Parameters
    ----------
    total : int
        Bytes if all else ended.
    available : int
        Bytes that are available now.

    See Also
    --------
    memory_figures
    """

    total: int
    available: int
