"""Operations, outcomes and slices of coscheduled communication.

Made from cext/abi/coschedule.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

SHORTEST_SLICE = 100000  # ns of the shortest time slice that is accepted.
DEFAULT_SLICE = 500000  # ns of a time slice if nothing else is said.
DEFAULT_FAR_SLICE = 1000000  # The same on several nodes.
# What moves of a message in each ns of a slice at most: a core copies that in half the time, roughly.
BYTES_PER_NS = 6
NONE = 0xFFFFFFFF  # No rank, descriptor, operation, event.
# Variable of the environment: the machine of the stepper and, behind a colon, its socket, where ranks tell of
# their layers.
STEPPER = "PSE_BCS_STEP"
# Variable of the environment: the folder that gets a report of each process (section 5.1 of the paper).
MMDS = "PSE_BCS_MMDS"
MMDS_RANKS = "PSE_BCS_MMDS_RANKS"  # Which processes, as in 0,4:7; all if it is not set.
# What of them: routines, computation, communication, with commas; all if it is not set.
MMDS_METRICS = "PSE_BCS_MMDS_METRICS"
# Its distributions have two to the power of this many bins for each factor of two.
MMDS_RESOLUTION = "PSE_BCS_MMDS_RESOLUTION"
EMDS = "PSE_BCS_EMDS"  # The folder that gets the slices of each node (section 5.2 of the paper).
EMDS_SLICES = "PSE_BCS_EMDS_SLICES"  # Which slices, as in 7500:12500; if it is not set, the last ones.
RESOLUTION = 3  # Of distributions, if nothing else is said,
KEPT_SLICES = 16384  # Slices that are kept if nothing else is said,
ENDED = -1  # Instead of a process: it has ended, on another node.
EAGER_BYTES = 65536  # Messages up to so many bytes travel with their descriptor.
MOST_OPERATIONS = 1048576  # What a rank may have under way at once; fewer of more than 256 ranks.
ENDPOINT_BYTES = 128  # Where a node is reached: so many bytes.

# A step of a simulated rank's program.
ACT_DTYPE = np.dtype(
    [
        ("kind", "<u4"),  # Act
        ("peer", "<i4"),  # the other rank, or the root
        ("tag", "<i4"),  # of a message; COLLECTIVE: Collective
        ("reserved", "<u4"),
        ("amount", "<u8"),  # bytes; COMPUTE: ns
    ]
)

# What happened in a time slice: tables 5.1 and 5.2 of the paper; times in ns.
SLICE_DTYPE = np.dtype(
    [
        ("slice", "<u8"),  # number of the slice
        ("epoch", "<u8"),  # how often all ranks were blocked before: a function of the program alone
        ("begin", "<u8"),  # when it began (CLOCK_MONOTONIC)
        ("getts", "<u8"),  # elapsed time from the previous slice
        ("gtdem", "<u8"),  # time to complete the descriptor exchange microphase
        ("gtmsm", "<u8"),  # time to complete the message scheduling microphase
        ("gtts", "<u8"),  # time to complete the slice
        ("late", "<u8"),  # how long after its time a slice began that has one
        ("length", "<u8"),  # of the slices from this one on
        ("np2pdem", "<u4"),  # point-to-point descriptors processed in the exchange
        ("np2pmsm", "<u4"),  # point-to-point operations scheduled
        ("ncolldem", "<u4"),  # collective descriptors processed in the exchange
        ("ncollmsm", "<u4"),  # collective operations scheduled
        ("bpts", "<u4"),  # blocked ranks
        ("timed", "<u4"),  # 1: the slice began at its time; 0: because a rank blocked
        # strobes before this slice's that found the exchange of the one before not over on all nodes
        ("usrdem", "<u4"),
        ("usrmsm", "<u4"),  # those that found its scheduling not over on all nodes
        ("ltr_exchange", "<u8"),  # what this node took to exchange its own descriptors
        ("ltr_nodes", "<u8"),  # to take what other nodes told
        ("ltr_match", "<u8"),  # to match messages and receives
        ("ltr_decide", "<u8"),  # to decide what waits until all ranks are blocked
        ("ltr_message", "<u8"),  # to move bytes of messages, all its ranks together
        ("ltr_broadcast", "<u8"),  # to perform collective operations other than reductions
        ("ltr_reduce", "<u8"),  # to perform reductions
    ]
)

# A distribution in the report of a process; its bins follow.
REPORT_DTYPE = np.dtype(
    [
        ("rank", "<u4"),  # whose process it was
        ("measure", "<u4"),  # Measure
        ("routine", "S48"),  # LATENCY and SIZE: which one, without MPI_
        ("count", "<u8"),  # how many there were
        ("total", "<u8"),  # their sum
        ("least", "<u8"),
        ("greatest", "<u8"),
    ]
)

# A decision of the layer: a row of the schedule.
MATCH_DTYPE = np.dtype(
    [
        ("slice", "<u8"),  # slice in which they were matched
        ("epoch", "<u8"),  # how often all ranks had been blocked before
        ("receiver", "<u4"),  # rank that received
        ("source", "<u4"),  # rank that sent
        ("receive", "<u8"),  # which descriptor of the receiver, from 0; answers: which test or wait
        # which descriptor of the source, from 0; answers: the place of the request, or 2^32 - 1 for no
        ("send", "<u8"),
        ("bytes", "<u8"),  # length of the message
        ("tag", "<i4"),  # of the message
        ("kind", "<u4"),  # Decision
    ]
)


class Collective(IntEnum):
    """Collective operations."""

    BARRIER = 0
    BCAST = 1
    REDUCE = 2
    ALLREDUCE = 3
    SCATTER = 4  # and its form for pieces of different sizes
    GATHER = 5  # and its form for pieces of different sizes
    ALLGATHER = 6  # and its form for pieces of different sizes
    ALLTOALL = 7  # and its form for pieces of different sizes
    SCAN = 8
    EXSCAN = 9


class Outcome(IntEnum):
    """How a wait ended."""

    COMPLETE = 0  # what was waited for is complete
    INCOMPLETE = 1  # a test found something incomplete
    INTERRUPTED = 2  # a signal came, or it is time to look for one
    FAILED = 3  # the layer has failed


class Failure(IntEnum):
    """Why the layer has failed."""

    NONE = 0  # it has not
    DEAD = 1  # a rank's process ended without leaving
    DEADLOCK = 2  # all ranks wait and nothing can happen
    MISMATCH = 3  # ranks called different collective operations
    LEFT = 4  # a rank left while others wait for it
    SILENT = 5  # the leader of a node does not answer any more
    STOPPED = 6  # the process of a rank is stopped
    FULL = 7  # a rank has too many operations under way


class DescriptorKind(IntEnum):
    """What a descriptor asks for."""

    SEND = 0
    RECEIVE = 1
    PROBE = 2
    COLLECTIVE = 3


class Act(IntEnum):
    """What a simulated rank does; the first ones are DescriptorKind's."""

    SEND = 0
    RECEIVE = 1
    COLLECTIVE = 3
    COMPUTE = 4
    WAIT = 5  # until all that was posted is complete


class Primitive(IntEnum):
    """Routines whose calls are monitored; of a collective operation: the first one's number plus its own."""

    SEND = 0
    ISEND = 1
    RECV = 2
    IRECV = 3
    PROBE = 4
    IPROBE = 5
    WAIT = 6
    WAITALL = 7
    WAITANY = 8
    TEST = 9
    FIRST_BLOCKING = 10  # BARRIER, BCAST, …
    FIRST_IMMEDIATE = 20  # IBARRIER, IBCAST, …
    PRIMITIVES = 30  # how many there are


class Measure(IntEnum):
    """What a row of a process's report measures."""

    COMPUTATION = 0  # stretches of computation between blocking operations, in ns
    COMMUNICATION = 1  # times in blocking operations, in ns
    LATENCY = 2  # times in a routine, in ns
    SIZE = 3  # the bytes that a routine was given


class Decision(IntEnum):
    """What a row of the schedule says."""

    MATCH = 0  # a receive or probe and the send that it got
    ANSWER = 1  # what a test or a wait for one of several requests was told
