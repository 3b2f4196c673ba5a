"""Steps of emulated applications, and the times of their cycles.

Made from cext/abi/emulate.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

# A step of a cycle.
STEP_DTYPE = np.dtype(
    [
        ("kind", "<i4"),  # what it does
        ("peer", "<i4"),  # rank of the other side, or the root, in the communicator
        ("tag", "<i4"),  # of the message
        ("communicator", "<i4"),  # 0: of all ranks, else the number of one of some of them
        ("bytes", "<i8"),  # of one message
        ("offset", "<i8"),  # where the buffer for receiving has its place
        ("seconds", "<f8"),  # of COMPUTE
    ]
)

# The times of a cycle, in seconds.
TIMES_DTYPE = np.dtype(
    [
        ("start", "<f8"),  # when it began, since the launch's begin
        ("compute", "<f8"),  # in its steps of COMPUTE
        ("communication", "<f8"),  # in its other steps
        ("barrier", "<f8"),  # in the barrier behind it
    ]
)


class StepKind(IntEnum):
    """What a step does; `bytes` is the size of one message."""

    COMPUTE = 0  # compute for so many seconds
    SEND = 1  # send to a peer
    RECEIVE = 2  # receive from a peer
    ISEND = 3  # begin to send to a peer
    IRECEIVE = 4  # begin to receive from a peer
    WAITALL = 5  # wait for all that has begun
    SSEND = 6  # send to a peer, and wait until it receives
    BARRIER = 7  # wait for all ranks
    BROADCAST = 8  # the root (peer) sends to all
    ALLREDUCE = 9  # combine what all ranks have, for all
    REDUCE = 10  # combine what all ranks have, for the root (peer)
    ALLTOALL = 11  # every rank sends a message to every rank
    ALLGATHER = 12  # every rank sends the same message to every rank
    GATHER = 13  # every rank sends a message to the root (peer)
    SCATTER = 14  # the root (peer) sends a message to every rank
