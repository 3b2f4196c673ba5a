"""Messages among partitions: faults, and what partitions wait for.

Made from cext/abi/messaging.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

# What a mailbox waits for, or has reached; for the report of a deadlock.
WAIT_DTYPE = np.dtype(
    [
        ("tph", "<u8"),
        ("index", "<i8"),  # loop counter of the TPH, or -1
        ("kind", "<u4"),
        ("scope", "<u4"),
        ("partition", "<u4"),
        ("partitions", "<u4"),
        ("site", "<u4"),
        ("peer", "<u4"),
        ("tag", "<i4"),
        ("collective", "<u4"),  # its kind
        ("sequence", "<u4"),  # which of the region's collectives; REACHED: how many it has come to
        ("rank", "<u4"),
    ]
)


class FaultKind(IntEnum):
    """What went wrong among partitions."""

    FINE = 0
    NO_PARTITION = 1  # `peer` does not exist
    TAG = 2  # a negative tag
    TYPE = 3  # no element type, or not one for this operation
    SIZE = 4  # too large to count
    MISMATCH = 5  # what came is not what was expected
    CONFUSED = 6  # two partitions call different collectives, or one with other roots or sums
    LEFT = 7  # a message that nobody received
    MEMORY = 8


class WaitKind(IntEnum):
    """What a mailbox waits for, or has reached."""

    WAITS_RECEIVE = 1
    WAITS_SEND = 2
    WAITS_COLLECTIVE = 3
    REACHED = 4
