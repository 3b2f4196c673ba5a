"""Messages between ranks.

Made from cext/abi/channel.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

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
