"""Messages between ranks.

Made from cext/abi/channel.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# A message between two ranks.
MESSAGE_DTYPE = np.dtype(
    [
        ("tph", "<u8"),
        ("edge", "<u4"),
        ("source", "<u4"),  # rank that sent it
        ("index", "<u4"),  # which piece, where an edge carries one for each partition
        ("kind", "u1"),
        ("flags", "u1"),  # PSE_MESSAGE_* of the trace's table: how the bytes travelled
        ("dtype", "<u2"),
        ("sequence", "<u8"),  # counts the messages between one pair of ranks, from 1
        ("value", "<u8", 2),
        ("site", "<u4"),  # call site that sent it (messages among partitions)
        ("extra", "<u4"),
    ]
)


class SiteStatistics(NamedTuple):
    """What one rank did at one call site so far.

    Attributes
    ----------
    calls : int
        calls so far
    wall : int
        ns inside the module
    cpu : int
        ns of CPU time inside the module
    described : int
        bytes handed over by descriptor
    copied : int
        bytes copied on the node by the engine
    remote : int
        bytes sent through MPI
    waited : int
        ns that the rank slept before it could run this call site
    """

    calls: int
    wall: int
    cpu: int
    described: int
    copied: int
    remote: int
    waited: int
