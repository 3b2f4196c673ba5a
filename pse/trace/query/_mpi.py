"""What ranks did in MPI: calls of routines, and what went through each communicator.

The tool ``trace`` of the tool stack records it.  Routines and communicators are numbered by each rank for
itself; here they have names, the same on all ranks.
"""

from __future__ import annotations

import numpy as np

from pse.records import dataclass
from pse.trace.format._events import EventType, TextKind
from pse.trace.format._field_values import Array, high32, low32
from pse.trace.query._column_extraction import Extraction, record_counts
from pse.trace.query._group_reduce import Groups
from pse.trace.store._trace_files import TraceFiles

ROUTINE_CALL_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("routine", "<u4"),  # index of the list of names that comes with the table
        ("enter", "<i8"),  # ns since the run's origin
        ("leave", "<i8"),  # ns since the run's origin
        ("returned", "<i8"),
    ]
)


@dataclass(frozen=True)
class Communicator:
    """A communicator as all its ranks know it.

    Parameters
    ----------
    leader : int
        Rank of the job that is its rank 0.
    number : int
        The leader's number for it.
    size : int
        How many ranks it has.
    name : str
        What MPI_Comm_set_name gave it, else ``communicator LEADER.NUMBER``.

    See Also
    --------
    mpi_communicators

    Examples
    --------
    >>> communicator = mpi_communicators(pse.trace.open("mpi1"), 1)[1]
    >>> communicator.name, communicator.size
    ('communicator 0.1', 2)
    """

    leader: int
    number: int
    size: int
    name: str


def routine_calls(trace: TraceFiles) -> tuple[Array, list[str]]:
    """All calls of routines that returned, and the routines' names: array of `ROUTINE_CALL_DTYPE`.

    Calls are sorted by rank, then by the time of their end.
    """
    names: dict[str, int] = {}
    calls = _CALLS.rows(trace, EventType.REGION_LEAVE)
    parts = np.split(calls["routine"], np.cumsum(record_counts(trace, EventType.REGION_LEAVE)))
    for rank, numbers in zip(trace.ranks, parts, strict=False):
        if len(numbers):
            numbers[:] = _renumbered(trace, rank, numbers, names)
    return calls, list(names)


def thread_begins(trace: TraceFiles, rank: int) -> dict[int, Array]:
    """Give when threads of a rank began that `pthread_create` started, ns, ascending.

    Threads one after the other may have a number.  Of others the trace does not tell it.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.
    rank : int
        The rank.

    Returns
    -------
    dict of int to array of int64
        By the numbers of threads in their rank.

    Examples
    --------
    >>> thread_begins(pse.trace.open("mpi1"), 0)
    {}
    """
    events = trace.select(rank, EventType.THREAD)
    events = events[events["b"] > 0]
    times = trace.run_times(rank, events["b"])
    return {number: times[events["a"] == number] for number in np.unique(events["a"]).tolist()}


def routine_threads(trace: TraceFiles) -> Array:
    """The thread of each of `Trace.routine_calls`.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.

    Returns
    -------
    array of uint32, shape (calls,)
        Numbers of threads in their rank; 0 is the one that initialised MPI.

    Examples
    --------
    >>> routine_threads(pse.trace.open("mpi1")).tolist()
    [0, 0]
    """
    parts = [np.empty(0, "<u4")]
    for rank in trace.ranks:
        events = trace.select(rank, EventType.THREAD, EventType.REGION_LEAVE)
        is_turn = events["type"] == EventType.THREAD
        turns, calls = np.flatnonzero(is_turn), np.flatnonzero(~is_turn)
        numbers = np.append(np.uint64(0), events["a"][turns])  # As they are, though they make no sense.
        parts.append(numbers[np.searchsorted(turns, calls)].astype("<u4"))
    return np.concatenate(parts)


def outermost_calls(trace: TraceFiles, calls: Array) -> Array:
    """Those of `routine_calls` that are within no other call of the same routine on their thread.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.
    calls : array of ROUTINE_CALL_DTYPE, shape (n,)
        All of them.

    Returns
    -------
    array of ROUTINE_CALL_DTYPE, shape (m,)
        In their order.

    Examples
    --------
    >>> opened = pse.trace.open("mpi1")
    >>> len(outermost_calls(opened, opened.routine_calls()[0]))
    2
    """
    threads = routine_threads(trace)
    order = np.lexsort((-calls["leave"], calls["enter"], calls["routine"], threads, calls["rank"]))
    keys = np.stack([calls["rank"], threads, calls["routine"]], axis=1)[order]
    starts = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(calls)]
    # The ends as their places among all ends: a group's are then above those of the groups before it.
    ends = np.unique(calls["leave"][order], return_inverse=True)[1].astype("<i8") + 1
    ends += (np.cumsum(starts) - 1) * (len(calls) + 1)
    latest = np.append(0, np.maximum.accumulate(ends))[:-1]
    kept: Array = calls[np.sort(order[starts | (ends > latest)])]
    return kept


def _renumbered(trace: TraceFiles, rank: int, numbers: Array, names: dict[str, int]) -> Array:
    """A rank's own numbers of routines as places in the list of all names."""
    own, places = np.unique(numbers, return_inverse=True)
    texts = trace.texts(rank)
    labels = [texts.get((TextKind.REGION, int(number)), f"routine {number}") for number in own]
    common: Array = np.array([names.setdefault(label, len(names)) for label in labels], "<u4")[places]
    return common


_CALLS = Extraction(ROUTINE_CALL_DTYPE, routine="a.low", enter="time(b)", leave="time(time)", returned="c")


def mpi_communicators(trace: TraceFiles, rank: int) -> dict[int, Communicator]:
    """The communicators of a rank by its own number for them.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.
    rank : int
        Rank of the job.

    Returns
    -------
    dict of int to Communicator
        By its own numbers.

    Examples
    --------
    >>> mpi_communicators(pse.trace.open("mpi1"), 0)
    {1: Communicator(leader=0, number=1, size=2, name='communicator 0.1')}
    """
    texts = trace.texts(rank)
    made = {}
    for event in trace.select(rank, EventType.MPI_COMMUNICATOR):
        leader, number = int(low32(event["b"])), int(high32(event["b"]))
        own = int(low32(event["a"]))
        name = texts.get((TextKind.COMMUNICATOR, own), f"communicator {leader}.{number}")
        made[own] = Communicator(leader, number, int(low32(event["c"])), name)
    return made


@dataclass(frozen=True)
class MpiTraffic:
    """What one rank did on one communicator: numbers of operations, and their bytes.

    Parameters
    ----------
    rank : int
        Rank of the job.
    communicator : Communicator
        The communicator.
    sent : int
        Messages that it sent.
    sent_bytes : int
        Their bytes.
    received : int
        Messages that it received.
    received_bytes : int
        Their bytes.
    collectives : int
        Collective operations in which it took part.
    collective_sent_bytes : int
        Bytes that it sent in them.
    collective_received_bytes : int
        Bytes that it received in them.

    See Also
    --------
    mpi_traffic

    Examples
    --------
    >>> traffic = mpi_traffic(pse.trace.open("mpi1"))[0]
    >>> traffic.rank, traffic.sent, traffic.sent_bytes, traffic.communicator.size
    (0, 1, 8, 2)
    """

    rank: int
    communicator: Communicator
    sent: int
    sent_bytes: int
    received: int
    received_bytes: int
    collectives: int
    collective_sent_bytes: int
    collective_received_bytes: int


def mpi_traffic(trace: TraceFiles) -> list[MpiTraffic]:
    """What went through each communicator, by rank.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.

    Returns
    -------
    list of MpiTraffic
        One for each rank and communicator, by rank.

    Examples
    --------
    >>> [(row.rank, row.sent, row.received_bytes) for row in mpi_traffic(pse.trace.open("mpi1"))]
    [(0, 1, 0), (1, 0, 8)]
    """
    return [row for rank in trace.ranks for row in _rank_traffic(trace, rank)]


_COUNTED = (EventType.MPI_SEND, EventType.MPI_RECEIVE, EventType.MPI_COLLECTIVE_END)


def _rank_traffic(trace: TraceFiles, rank: int) -> list[MpiTraffic]:
    events = trace.select(rank, *_COUNTED)
    known = mpi_communicators(trace, rank) if len(events) else {}
    groups = Groups(low32(events["c"]))
    columns = []
    for kind in _COUNTED:
        chosen = events["type"] == kind
        columns += [groups.sum(chosen), groups.sum(np.where(chosen, events["a"], 0))]
    columns.append(groups.sum(np.where(events["type"] == EventType.MPI_COLLECTIVE_END, events["b"], 0)))
    return [
        MpiTraffic(
            rank, known.get(int(own), Communicator(rank, int(own), 0, f"communicator {own}")), *map(int, row)
        )
        for own, *row in zip(groups.first, *columns, strict=True)
    ]
