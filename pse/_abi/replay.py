"""The replay of traces: call paths, calls, operations of MPI, and messages in wrong order.

Made from cext/abi/replay.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

# A call path: a node of a rank's tree of calls; node 0 is the program.
NODE_DTYPE = np.dtype(
    [
        ("key", "<u8"),  # what it ends in
        ("visits", "<u8"),  # how often it was entered
        ("time", "<f8"),  # ns in it and not in what it called
        ("parent", "<u4"),  # node that it was entered from; that of node 0 is 0
        ("child", "<u4"),  # node that was entered from it last; 0: none
        ("sent", "<f8"),  # bytes that its operations of MPI sent
        ("received", "<f8"),  # bytes that its operations of MPI received
    ]
)

# A call in which operations of MPI happened.
CALL_DTYPE = np.dtype(
    [
        ("enter", "<u8"),  # ns of the rank's clock
        ("leave", "<u8"),  # ns of the rank's clock
        ("node", "<u4"),  # its call path
        ("enter_residual", "<i2"),  # 65,536ths of a ns to add to enter
        ("leave_residual", "<i2"),  # 65,536ths of a ns to add to leave
    ]
)

# A send, receive, request or collective operation of MPI.
OPERATION_DTYPE = np.dtype(
    [
        ("time", "<u8"),  # ns of the rank's clock
        ("a", "<u8"),  # as the record has it
        ("b", "<u8"),  # as the record has it
        ("c", "<u8"),  # as the record has it
        ("call", "<u4"),  # the call in which it happened; PSE_NONE: in no call
        ("residual", "<i2"),  # 65,536ths of a ns to add to the time
        ("type", "u1"),  # of the record
        ("flags", "u1"),  # of the record
    ]
)

# Time that a thread spent in a call path, and not in what it called.
SPAN_DTYPE = np.dtype(
    [
        ("begin", "<u8"),  # ns of the rank's clock
        ("end", "<u8"),  # ns of the rank's clock
        ("node", "<u4"),  # the call path
        ("thread", "<u4"),  # the thread's number in the rank
        ("begin_residual", "<i4"),  # 65,536ths of a ns to add to begin
        ("end_residual", "<i4"),  # 65,536ths of a ns to add to end
    ]
)

# How much time of an interval belongs to a call path.
PROFILE_DTYPE = np.dtype(
    [
        ("interval", "<u4"),  # number of the interval
        ("path", "<u4"),  # the call path
        ("time", "<f8"),  # ns, more than 0
    ]
)

# An end of a line: how much later than corrected times are.
SHIFT_DTYPE = np.dtype(
    [
        ("event", "<u8"),  # an event of the rank
        ("time", "<i8"),  # ns of the rank's own time
        ("shift", "<i8"),  # ns
    ]
)


class FrameKind(IntEnum):
    """What a call path ends in: the top byte of a node's key; the lower bits identify it."""

    PROGRAM = 0  # the program: the root of all call paths
    ROUTINE = 1  # a routine: its number in the rank's texts
    SITE = 2  # a call site: its number
    WAIT = 3  # a wait: its call site (low 32 bits) and the reason (above)
    END = 4  # the end of a rank that has no more work for its program


class MessageOrder(IntEnum):
    """Whether a late message was received in wrong order."""

    RIGHT = 0  # no message that was sent earlier was received after it
    SAME_SOURCE = 1  # its sender sent such a message
    OTHER_SOURCE = 2  # another sender did
