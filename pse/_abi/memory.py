"""How arrays lie in memory, and what the arena says of itself.

Made from cext/abi/memory.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

# What the bytes of a block are.  Strides are in bytes.
LAYOUT_DTYPE = np.dtype(
    [
        ("dtype", "u1"),  # number of the element type: pse_dtype
        ("ndim", "u1"),
        ("reserved", "<u2"),
        ("itemsize", "<u4"),
        ("shape", "<i8", 8),
        ("strides", "<i8", 8),
    ]
)


class ArenaCode(IntEnum):
    """Codes that the arena's functions return; 0 is none of them."""

    FULL = -1
    NO_MEMORY = -2
    TOO_LARGE = -3
    SYSTEM = -4
    FOREIGN = -5
    MISMATCH = -6


ARENA_TEXTS: dict[int, str] = {
    ArenaCode.FULL: "the arena is full",
    ArenaCode.NO_MEMORY: "the system has no memory left for the arena",
    ArenaCode.TOO_LARGE: "the request is larger than the arena can ever hold",
    ArenaCode.SYSTEM: "a system call failed",
    ArenaCode.FOREIGN: "this is not an arena of this job",
    ArenaCode.MISMATCH: "one shared block was asked for with different sizes or numbers of partitions",
}


class LayoutRow(NamedTuple):
    """What the bytes of a block are.  Strides are in bytes."""

    dtype: int
    ndim: int
    reserved: int
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class ArenaStatistics(NamedTuple):
    """Counts of an arena, over all ranks that share it.

    Attributes
    ----------
    capacity : int
        bytes that the arena may hold at most
    grown : int
        bytes that were ever handed out: the high-water mark of touched memory
    in_use : int
        bytes of live blocks, headers included
    peak : int
        largest in_use so far
    allocations : int
        blocks that were allocated so far
    recycled : int
        how many of these were served from warm memory
    live_blocks : int
        blocks and views that somebody holds
    recoveries : int
        how often a dead rank's lock was taken over
    """

    capacity: int
    grown: int
    in_use: int
    peak: int
    allocations: int
    recycled: int
    live_blocks: int
    recoveries: int
