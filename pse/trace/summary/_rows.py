"""What the tables of a trace's summary hold, as the command line prints them and as JSON has them."""

from __future__ import annotations

import dataclasses
from typing import Any

from pse.records import dataclass


@dataclass(frozen=True)
class CallRow:
    """Module calls of one call site on one thread; times in ns."""

    site: int | None
    label: str
    place: str
    thread: str
    calls: int
    failed: int
    unfinished: int
    total: int
    mean: float
    max: int
    cpu: int
    cpu_share: float  # CPU time over run time, 0 to 1 (more with threads of its own)


@dataclass(frozen=True)
class TrafficRow:
    """What one thread sent and received of the tags that one call site defined; bytes.

    Bytes by descriptor didn't move, bytes copied did, remote ones between nodes.
    """

    site: int | None
    label: str
    place: str
    thread: str
    sent: int  # messages
    sent_descriptor: int
    sent_copied: int
    sent_remote: int
    received: int  # messages
    received_descriptor: int
    received_copied: int
    received_remote: int


@dataclass(frozen=True)
class PartitionRow:
    """What one thread's partitions sent from one call site; bytes.

    Bytes went from partition to partition of one rank, to another rank of the node, or between nodes.
    """

    site: int | None
    label: str
    place: str
    thread: str
    what: str  # messages; collectives: parts of collective operations
    messages: int
    own: int
    node: int
    remote: int


@dataclass(frozen=True)
class WaitRow:
    """Waits of one thread for one reason at one call site; times in ns."""

    site: int | None
    label: str
    place: str
    thread: str
    reason: str
    count: int
    total: int
    max: int


@dataclass(frozen=True)
class QueueRow:
    """The longest that one queue of a thread became."""

    edge: int | None
    tag: str
    thread: str
    peak: int
    limit: int


@dataclass(frozen=True)
class RoutineRow:
    """Calls of one MPI routine or function on all ranks; times in ns."""

    routine: str
    ranks: int  # that called it
    calls: int
    total: int  # without calls within other calls of the same routine
    mean: float
    max: int


@dataclass(frozen=True)
class CommunicatorRow:
    """What one rank did on one MPI communicator; bytes of collective operations count each contribution."""

    communicator: str
    size: int
    rank: int
    sent: int  # messages
    sent_bytes: int
    received: int  # messages
    received_bytes: int
    collectives: int
    collective_sent_bytes: int
    collective_received_bytes: int


@dataclass(frozen=True)
class SliceRow:
    """Time slices of one communicator of the coscheduled layer that one rank's process ran; times in ns."""

    communicator: str
    rank: int
    slices: int
    timed: int  # the others began because a rank blocked
    exchange: float  # mean time to exchange descriptors
    scheduling: float  # mean time to match them
    operations: int  # that they scheduled
    matched: int  # receives and collective operations of this rank, in any slice
    moved: float  # mean time from there until they were complete


@dataclass(frozen=True)
class RankRow:
    """One rank: shares of its time from 0 to 1; what is neither busy nor waiting is the engine's."""

    rank: int
    thread: str
    processor: int | None
    host: str
    events: int
    span: int  # ns from its first event to its last
    busy: float
    waiting: float
    peak_memory: int  # bytes held at once
    closed: bool


@dataclass(frozen=True)
class Summary:
    """A trace in a few tables.

    Parameters
    ----------
    path : str
        Directory of the trace.
    program : str
        Path of the program.
    started : str
        When the run started, ISO 8601.
    span : int
        How long it took, ns.
    events : int
        How many there are.
    arena_peak : dict of str to int
        Most bytes in the arena, by host.
    unmatched_sends : int
        Tags that were sent and didn't come.
    unmatched_receives : int
        Tags that came and whose sender isn't in the trace.
    calls : tuple of CallRow
        A row for each call site.
    traffic : tuple of TrafficRow
        A row for each edge.
    partitions : tuple of PartitionRow
        A row for each call site that sends messages among partitions.
    waits : tuple of WaitRow
        A row for each reason.
    queues : tuple of QueueRow
        A row for each queue.
    routines : tuple of RoutineRow
        A row for each routine of MPI.
    communicators : tuple of CommunicatorRow
        A row for each communicator.
    slices : tuple of SliceRow
        A row for each communicator of the coscheduled layer and rank.
    ranks : tuple of RankRow
        A row for each rank.
    problems : tuple of str
        What is wrong with the trace, a sentence each.

    See Also
    --------
    summarize

    Examples
    --------
    >>> summary = pse.trace.summarize(trace)
    >>> summary.events, summary.span / 1e6  # ms
    (44, 30.0)
    """

    path: str
    program: str
    started: str
    span: int  # ns from the first event of the run to the last
    events: int
    arena_peak: dict[str, int]  # bytes in shared memory at once, by host
    unmatched_sends: int
    unmatched_receives: int
    calls: tuple[CallRow, ...]
    traffic: tuple[TrafficRow, ...]
    partitions: tuple[PartitionRow, ...]
    waits: tuple[WaitRow, ...]
    queues: tuple[QueueRow, ...]
    routines: tuple[RoutineRow, ...]
    communicators: tuple[CommunicatorRow, ...]
    slices: tuple[SliceRow, ...]
    ranks: tuple[RankRow, ...]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return dataclasses.asdict(self)
