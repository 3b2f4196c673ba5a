"""Blocks of a trace, and what they have of pixels.

Made from cext/abi/blocks.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

OPEN = 0x8000  # Flag of a block that was never left: it goes on to the end of the run.

# A call, a wait or a region of a rank.
BLOCK_DTYPE = np.dtype(
    [
        ("begin", "<i8"),  # ns of the rank's clock; Python makes it ns since the run's origin
        ("end", "<i8"),
        ("tph", "<u8"),
        ("site", "<u4"),
        ("detail", "<u4"),  # partition of a call, peer of a wait, of a region the index of its name
        ("category", "<u4"),  # of a call as asked for, of a wait its reason, of a region its number
        ("lane", "<u2"),
        ("flags", "<u2"),  # of the record that ended it, and OPEN
    ]
)

# What one category has of one pixel; the same pixel, lane and category may come more than once.
KERNEL_SHARE_DTYPE = np.dtype(
    [
        ("time", "<i8"),  # ns
        ("pixel", "<u4"),  # from 0
        ("count", "<u4"),  # blocks that begin in it (or before the window and end in it)
        ("parts", "<u4"),  # blocks that have a part of it
        ("unused", "<u4"),
        ("last", BLOCK_DTYPE),  # the last one of them
    ]
)


class Lane(IntEnum):
    """Where a block lies in the row of its rank; deeper regions have the next lanes."""

    CALL = 0  # module calls
    WAIT = 1
    REGION = 2  # routines of MPI and others
