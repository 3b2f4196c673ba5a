"""The trace format for Python: dtypes of a record and of a file's header, event types, codes.

Made from cext/abi/events.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

import numpy as np

from pse._abi.waiting import WaitReason as WaitReason

SCHEMA_VERSION = 1
MAGIC = "PSETRACE"  # How a file of events begins.
EVENTS_FILE = "rank-%05u%s.events"  # The name of a rank's file of events, and what wrote it.
MPI_EVENTS = ".mpi"  # What wrote it: the tool `trace`; the runtime's have none.
BCS_EVENTS = ".bcs"  # The same: the tool `bcs`.
COMM_EVENTS = ".comm"  # The same: pse.bcs.Comm.
BYTE_ORDER = 0x1020304  # As the writer's machine stores it.
NONE = 0xFFFFFFFF  # No rank, site, edge, loop, partition.
CPU_TIME = "CPU time of the process"  # ns
CPU_SHARE = "share of a core that control groups leave"  # cores
CORES = "cores that the rank may use, a bit for each"  # a mask
LINK_RATE = "rate of the link to another node, before the program began"  # bytes/s

# The record: 48 bytes.
EVENT_DTYPE = np.dtype(
    [
        ("time", "<u8"),  # when it happened, ns of the header's clock
        ("type", "<u2"),  # what happened; 0: not written yet, the end of the trace
        ("flags", "<u2"),  # per type
        ("site", "<u4"),  # call site in which it happened, or none
        ("tph", "<u8"),  # TPH (context) in which it happened, or 0; the same number on every rank
        ("a", "<u8"),  # per type
        ("b", "<u8"),  # per type
        ("c", "<u8"),  # per type
    ]
)

# The header: the first page of a file; what is not named here is zero.
HEADER_DTYPE = np.dtype(
    [
        ("magic", "S8"),  # PSE_TRACE_MAGIC
        ("version", "<u4"),  # version of this table
        ("byte_order", "<u4"),  # PSE_BYTE_ORDER
        ("header_size", "<u4"),  # offset of the first record, bytes
        ("record_size", "<u4"),  # bytes of a record
        ("rank", "<u4"),  # who wrote it
        ("pid", "<u4"),  # process id of the writer on its host
        ("clock_id", "<u4"),  # clock of all times here: 1 is CLOCK_MONOTONIC
        ("state", "<u4"),  # state bits
        ("records", "<u8"),  # records that are there for certain; all of them when closed or truncated
        ("start_real", "<i8"),  # when recording began, ns since 1970 (UTC)
        ("start_clock", "<u8"),  # the same moment by the clock of all times here
        ("error", "<i4"),  # errno of what ended recording early, else 0
        ("reserved", "<u4"),  # 0
        ("host", "S256"),  # name of the writer's host, UTF-8, padded with zeros
    ]
)


class EventType(IntEnum):
    """Types of records.

    Examples
    --------
    >>> events = trace.events(0)
    >>> EventType(events["type"][0]).name, int((events["type"] == EventType.SEND).sum())
    ('PHASE', 2)
    """

    PHASE = 1  # a phase of the run begins
    CLOCK_SYNC = 2  # this rank's clock was compared with another's at this time; no site, no TPH
    TEXT = 3  # 16 bytes of the name of something numbered on this rank, before its first use; no site, no TPH
    MARKER = 4  # something worth a mark in every view
    COUNTER = 5  # sample of a counter
    CONTEXT_BEGIN = 16  # a TPH comes into being on this rank
    CONTEXT_END = 17  # a TPH is done on this rank
    MODULE_ENTER = 24  # a module is called for this call site
    MODULE_LEAVE = 25  # the module returned: the whole call in one record
    MODULE_PREEMPTED = 26  # how long the rank was ready to run without a core, in the call that ends next
    SEND = 32  # a tag is handed over; site: the call site that defined it
    RECEIVE = 33  # a tag has arrived; site: the call site that defined it
    QUEUE_DEPTH = 34  # the length of a queue of this rank changed
    PARTITION_SEND = 96  # a partition's message leaves
    PARTITION_RECEIVE = 97  # a partition's message has come to this rank
    PARTITION_TAKE = 98  # the receiving partition took the bytes from where they lay with the sender
    PARTITION_SEND_COMPLETE = 99  # the sending partition has its bytes back
    PARTITION_COLLECTIVE_BEGIN = 100  # a partition comes to a collective operation
    PARTITION_COLLECTIVE_END = 101  # it is complete for this partition: the whole operation in one record
    ALLOCATE = 40  # memory for a tag was allocated
    FREE = 41  # memory of a tag was freed
    WAIT_BEGIN = 48  # the rank has nothing to do until something happens
    WAIT_END = 49  # it happened: the whole wait in one record
    REGION_ENTER = 64  # a routine was entered
    REGION_LEAVE = 65  # a routine was left: the whole call in one record
    THREAD = 66  # the thread of the events of routines and MPI from here on; before: thread 0
    CALLERS = 67  # functions that were found on the stack, before the first REGION_ENTER with them
    MPI_SEND = 72  # a message was sent, or its sending started
    MPI_SEND_COMPLETE = 73  # a started send is complete
    MPI_RECEIVE_POST = 74  # a receive was posted
    MPI_RECEIVE = 75  # a message was received
    MPI_REQUEST_TEST = 76  # a request was found not to be complete
    # a request was cancelled, or its sending failed; request 0: the last blocking send to there failed
    MPI_REQUEST_CANCEL = 77
    MPI_PROBE = 78  # a blocking probe found a message: the next of its kind to be received after this
    # the partitioned message of a request takes another channel than the first one of its kind; before what
    # starts it
    MPI_CHANNEL = 79
    # what the routine waits for that is entered at the same time; of some calls that ended, too
    MPI_AWAIT = 82
    MPI_COLLECTIVE_BEGIN = 80  # a collective operation begins, or was started (request)
    MPI_COLLECTIVE_END = 81  # it ended: the latest begun with the same communicator and request
    MPI_COMMUNICATOR = 84  # a communicator got its number on this rank
    MPI_COMMUNICATOR_RANKS = 85  # four members of a communicator, written by its rank 0; no site, no TPH
    MPI_NEIGHBORS = 87  # four ranks that this rank sends to in neighbourhood operations of a topology
    MPI_COMMUNICATOR_FREE = 86  # a communicator is gone
    # a time slice, which this rank's process ran for its node: the whole slice in one record
    TIME_SLICE = 112
    # a slice matched an operation that is complete by now; sends, which may be complete before, are told
    # later
    SLICE_MATCH = 113


class State(IntFlag):
    """Bits of a file's `state`.

    See Also
    --------
    EventType
    """

    CLOSED = 1  # the writer closed the file; unset: it still runs or it was killed
    TRUNCATED = 2  # recording stopped early: see error


class Phase(IntEnum):
    """Field `a` of PHASE.

    Examples
    --------
    >>> phases = trace.select(0, EventType.PHASE)
    >>> [Phase(phase).name for phase in phases["a"]]
    ['START', 'READY', 'DONE', 'END']
    """

    START = 1  # the process runs, nothing is set up
    READY = 2  # modules are loaded, the program's first statement is next
    DONE = 3  # the program's last statement is done; tear-down is next
    END = 4  # last record of a rank that ended in order


class TextKind(IntEnum):
    """Flags of TEXT.

    See Also
    --------
    decode_texts
    """

    MARKER = 1  # a marker
    COUNTER = 2  # a counter
    COUNTER_UNIT = 3  # the unit of a counter
    REGION = 4  # a routine; MPI's begin with MPI_
    REGION_PLACE = 5  # where a routine is: file:line:col
    COMMUNICATOR = 6  # an MPI communicator
    NOTE = 7  # a sentence: what the recorder has left out, or ended


class ValueKind(IntEnum):
    """Flags of COUNTER.

    See Also
    --------
    value_of
    """

    UNSIGNED = 0  # uint64
    SIGNED = 1  # int64
    FLOATING = 2  # float64


class ModuleFlag(IntFlag):
    """Flags of MODULE_LEAVE.

    See Also
    --------
    EventType
    """

    FAILED = 1  # it returned an error, raised an exception or broke its signature


class MessageFlag(IntFlag):
    """Flags of SEND and RECEIVE, and of messages among partitions.

    Examples
    --------
    >>> MessageFlag(trace.messages()["flags"][0])
    <MessageFlag.DESCRIPTOR: 2>
    """

    REMOTE = 1  # the other rank is on another node
    DESCRIPTOR = 2  # only a descriptor travelled: no byte of the tag was moved
    COPIED = 4  # the bytes were copied or sent through MPI
    SCALAR = 8  # the value is in the message itself
    RENDEZVOUS = 16  # among partitions: the sender keeps the bytes until the other rank has them
    COLLECTIVE = 32  # among partitions: a part of a collective operation


class MemoryFlag(IntFlag):
    """Flags of ALLOCATE and FREE.

    Examples
    --------
    >>> MemoryFlag(3)
    <MemoryFlag.LOCAL|RECYCLED: 3>
    """

    LOCAL = 1  # this process's own memory, not the node's arena
    RECYCLED = 2  # warm memory that was used before


class CommunicatorFlag(IntFlag):
    """Flags of MPI_COMMUNICATOR.

    See Also
    --------
    pse.trace.query.mpi_communicators
    """

    TWO_GROUPS = 1  # an intercommunicator
    SECOND_GROUP = 2  # this rank is in its second group
    # with processes of another job, such as spawned ones: its leader and ranks are not known here
    OTHER_JOB = 4


class SendMode(IntEnum):
    """Flags of MPI_SEND.

    Examples
    --------
    >>> SendMode(1).name
    'SYNCHRONOUS'
    """

    STANDARD = 0  # MPI_Send and its kin
    SYNCHRONOUS = 1  # MPI_Ssend
    BUFFERED = 2  # MPI_Bsend
    READY = 3  # MPI_Rsend
    PARTITIONED = 4  # MPI_Psend_init: it meets receives of MPI_Precv_init only


class Await(IntEnum):
    """Flags of MPI_AWAIT.

    Examples
    --------
    >>> Await(2).name
    'ANY'
    """

    MESSAGE = 0  # a message: MPI_Recv, MPI_Probe and their kin
    ALL = 1  # all of the requests: MPI_Wait, MPI_Waitall
    ANY = 2  # one or more of the requests: MPI_Waitany, MPI_Waitsome


class Collective(IntEnum):
    """Flags of the begins and ends of collective operations.

    Examples
    --------
    >>> Collective(12).name
    'ALLREDUCE'
    """

    BARRIER = 1  # MPI_Barrier
    BCAST = 2  # MPI_Bcast
    GATHER = 3  # MPI_Gather
    GATHERV = 4  # MPI_Gatherv
    SCATTER = 5  # MPI_Scatter
    SCATTERV = 6  # MPI_Scatterv
    ALLGATHER = 7  # MPI_Allgather
    ALLGATHERV = 8  # MPI_Allgatherv
    ALLTOALL = 9  # MPI_Alltoall
    ALLTOALLV = 10  # MPI_Alltoallv
    ALLTOALLW = 11  # MPI_Alltoallw
    ALLREDUCE = 12  # MPI_Allreduce
    REDUCE = 13  # MPI_Reduce
    REDUCE_SCATTER = 14  # MPI_Reduce_scatter
    REDUCE_SCATTER_BLOCK = 15  # MPI_Reduce_scatter_block
    SCAN = 16  # MPI_Scan
    EXSCAN = 17  # MPI_Exscan
    NEIGHBOR_ALLGATHER = 18  # MPI_Neighbor_allgather
    NEIGHBOR_ALLGATHERV = 19  # MPI_Neighbor_allgatherv
    NEIGHBOR_ALLTOALL = 20  # MPI_Neighbor_alltoall
    NEIGHBOR_ALLTOALLV = 21  # MPI_Neighbor_alltoallv
    NEIGHBOR_ALLTOALLW = 22  # MPI_Neighbor_alltoallw
    CREATE_COMMUNICATOR = 23  # MPI_Comm_dup, MPI_Comm_split and their kin
    OTHER = 24  # any other, in imported traces
    WINDOW = 25  # MPI_Win_create, MPI_Win_fence, MPI_Win_free and their kin
    FILE = 26  # MPI_File_open, MPI_File_close, MPI_File_write_all and their kin
