"""MPI's messages and collective operations with ranks of the job: sends matched with their receives.

Events name partners by their rank in a communicator, and communicators by each rank's own number; here both
are numbers for all ranks.  The nth send to a rank, by communicator and tag, is the nth receive from there
that was posted.  Partitioned messages have an order of their own, by channels: the nth one that a rank makes
is the nth one of its partner.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pse.trace.format._events import NONE, CommunicatorFlag, EventType, SendMode
from pse.trace.format._field_values import Array, high32, low32
from pse.trace.query._key_matching import match_keys, ordinals
from pse.trace.store._trace_files import TraceFiles

MPI_MESSAGE_DTYPE = np.dtype(
    [
        ("sender", "<u4"),  # rank of the job
        ("receiver", "<u4"),  # rank of the job
        ("communicator", "<u4"),  # the same number on all ranks
        ("tag", "<u4"),
        ("bytes", "<u8"),
        ("sent", "<i8"),  # ns; a missing end: -1
        ("received", "<i8"),  # ns; a missing end: -1
        ("posted", "<i8"),  # ns when its receive was, if that was a request of its own; else -1
        ("complete", "<i8"),  # ns when its sending was, if that was a request of its own; else -1
        ("mode", "<u2"),  # SendMode
        ("channel", "<u4"),  # of partitioned messages: which of those that were made for this kind; else 0
    ]
)
_KIND = ("communicator", "sender", "receiver", "tag", "channel")
MPI_COLLECTIVE_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("communicator", "<u4"),  # the same number on all ranks
        ("ordinal", "<i8"),  # of the operation on its communicator, window or file, the same on all ranks
        ("operation", "<u2"),  # Collective
        ("begin", "<i8"),  # ns
    ]
)


class Communicators:
    """The communicators of all ranks, with numbers that are the same on all of them, and their members.

    Parameters
    ----------
    trace : TraceFiles
        What the ranks said about them.

    Examples
    --------
    >>> communicators = Communicators(pse.trace.open("mpi1"))
    >>> number = int(communicators.number(0, np.array([1]))[0])
    >>> communicators.members(number)
    (0, 1)
    """

    def __init__(self, trace: TraceFiles) -> None:
        self._trace = trace
        self._numbers: dict[tuple[int, int], int] = {}
        self._own: dict[int, tuple[Array, Array]] = {}
        members: dict[tuple[int, int], int] = {}
        for rank in trace.ranks:
            made = trace.select(rank, EventType.MPI_COMMUNICATOR)
            made = made[made["flags"] & CommunicatorFlag.OTHER_JOB == 0]
            lines = trace.select(rank, EventType.MPI_COMMUNICATOR_RANKS)
            self._own[rank] = self._numbered(made)
            for own, leader, its, size, place in zip(*_fields(made), strict=True):
                number = self._numbers[leader, its]
                members |= {(number, 0): leader, (number, place): rank}
                if place == 0:
                    members |= {(number, i): r for i, r in enumerate(_members(lines, own)[:size])}
        keys = [(number << 32) | place for number, place in members]
        order = np.argsort(np.array(keys, "<u8"))
        self._keys, self._ranks = np.array(keys, "<u8")[order], np.array(list(members.values()), "<u4")[order]

    @property
    def ranks(self) -> frozenset[int]:
        """The ranks of the job that are known to be in a communicator; the trace may lack some of them."""
        return frozenset(self._ranks.tolist()) - {NONE}

    def number(self, rank: int, own: Array) -> Array:
        """For a rank's own numbers the common ones, NONE for unknown ones."""
        owns, numbers = self._own[rank]
        if not len(owns):
            return np.full(len(own), NONE, "<u4")
        found = np.minimum(np.searchsorted(owns, own), len(owns) - 1)
        return np.where(owns[found] == own, numbers[found], NONE).astype("<u4")

    def job_rank(self, numbers: Array, places: Array) -> Array:
        """For ranks of communicators those of the job, NONE for unknown ones."""
        keys = (numbers.astype("<u8") << np.uint64(32)) | places.astype("<u8")
        if not len(self._keys):
            return np.full(len(keys), NONE, "<u4")
        found = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[found] == keys, self._ranks[found], NONE).astype("<u4")

    def members(self, number: int) -> tuple[int, ...]:
        """Give the known ranks of the job in a communicator, in its order, of two groups first the first."""
        if number == NONE:
            return ()
        begin, end = np.searchsorted(self._keys, np.array([number << 32, (number + 1) << 32], "<u8"))
        return tuple(self._ranks[begin:end].tolist())

    def neighbours(self, rank: int) -> dict[int, tuple[int, tuple[int, ...]]]:
        """Give by communicators with a topology the neighbours that a rank sends to: how many, and which.

        There may be fewer ranks of the job than neighbours: a grid has none beyond its ends.
        """
        found: dict[int, tuple[int, list[int]]] = {}
        rows = self._trace.select(rank, EventType.MPI_NEIGHBORS)
        numbers = self.number(rank, low32(rows["a"])).tolist()
        columns = [part(rows[name]) for name in "bc" for part in (low32, high32)]
        for number, degree, *places in zip(
            numbers, rows["flags"].tolist(), *(column.tolist() for column in columns), strict=True
        ):
            found.setdefault(number, (degree, []))[1].extend(place for place in places if place != NONE)
        return {
            number: (degree, self._job_ranks(number, places)) for number, (degree, places) in found.items()
        }

    def _job_ranks(self, number: int, places: list[int]) -> tuple[int, ...]:
        return tuple(self.job_rank(np.full(len(places), number), np.array(places, "<u4")).tolist())

    def _numbered(self, made: Array) -> tuple[Array, Array]:
        """A rank's own numbers, ascending, and the common ones."""
        found = {}
        for own, leader, number, _, _ in zip(*_fields(made), strict=True):
            found[own] = self._numbers.setdefault((leader, number), len(self._numbers))
        rows = np.array([(own, found[own]) for own in sorted(found)], "<u4").reshape(-1, 2)
        return rows[:, 0], rows[:, 1]


def _fields(made: Array) -> tuple[Any, ...]:
    """Own number, leader, the leader's number, size and place of each MPI_COMMUNICATOR."""
    columns = (
        low32(made["a"]),
        low32(made["b"]),
        high32(made["b"]),
        low32(made["c"]),
        high32(made["c"]),
    )
    return tuple(column.tolist() for column in columns)


def _members(lines: Array, own: int) -> list[int]:
    """Ranks of the job that are in a communicator, in its order, as its rank 0 says; then NONEs."""
    lines = lines[low32(lines["a"]) == own]
    lines = lines[np.argsort(high32(lines["a"]), kind="stable")]
    columns = [low32(lines["b"]), high32(lines["b"]), low32(lines["c"]), high32(lines["c"])]
    members: list[int] = np.stack(columns, axis=1).reshape(-1).tolist()
    return members


def lost_ranks(trace: TraceFiles) -> tuple[int, ...]:
    """Find the ranks of the job whose events are not in a trace, by its definitions and communicators.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.

    Returns
    -------
    tuple of int
        Ranks, ascending; empty: all that others know of are there.

    Examples
    --------
    >>> lost_ranks(pse.trace.open("mpi1"))
    ()
    """
    told = () if trace.definitions is None else trace.definitions.ranks
    known = Communicators(trace).ranks | {one.rank for one in told}
    return tuple(sorted(known - {*trace.ranks}))


def mpi_messages(trace: TraceFiles) -> Array:
    """All messages of MPI between ranks of the job: array of `MPI_MESSAGE_DTYPE`.

    Those of which only one end is there come last, with -1 as the time of the other.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.

    Returns
    -------
    structured array, shape (messages,)
        Rows of `MPI_MESSAGE_DTYPE`; times in ns.

    Examples
    --------
    >>> messages = mpi_messages(pse.trace.open("mpi1"))
    >>> int(messages["bytes"].sum())
    8
    """
    known = Communicators(trace)
    sends = [_ends(trace, known, rank, EventType.MPI_SEND) for rank in trace.ranks]
    receives = [_ends(trace, known, rank, EventType.MPI_RECEIVE) for rank in trace.ranks]
    out, back = (np.concatenate([np.empty(0, MPI_MESSAGE_DTYPE), *ends]) for ends in (sends, receives))
    kinds = [[*(end[name] for name in _KIND), end["mode"] == SendMode.PARTITIONED] for end in (out, back)]
    posted = np.where(back["posted"] >= 0, back["posted"], back["received"])
    keys = [
        (*columns, ordinals(columns, times)) for columns, times in zip(kinds, (None, posted), strict=True)
    ]
    sent, received = match_keys(keys[0], keys[1])
    matched = out[sent]
    matched["received"], matched["posted"] = back["received"][received], back["posted"][received]
    return np.concatenate([matched, np.delete(out, sent), np.delete(back, received)])


def _ends(trace: TraceFiles, known: Communicators, rank: int, kind: EventType) -> Array:
    events = trace.select(rank, kind)
    ends = np.zeros(len(events), MPI_MESSAGE_DTYPE)
    ends["communicator"] = known.number(rank, low32(events["c"]))
    other = known.job_rank(ends["communicator"], low32(events["b"]))
    is_send = kind == EventType.MPI_SEND
    ends["sender"], ends["receiver"] = (rank, other) if is_send else (other, rank)
    ends["tag"], ends["bytes"] = high32(events["b"]), events["a"]
    times = trace.run_times(rank, events["time"])
    ends["sent"], ends["received"] = (times, -1) if is_send else (-1, times)
    ends["posted"] = ends["complete"] = -1
    channels = trace.select(rank, EventType.MPI_CHANNEL)
    ends["mode"] = events["flags"]
    ends["channel"] = _by_request(channels, channels["a"], high32(events["c"]), 0)
    if is_send:
        requests = high32(events["c"])
        ends["complete"] = _times_of(trace, rank, EventType.MPI_SEND_COMPLETE, requests)
        left_out = unsent_messages(trace.select(rank, kind, EventType.MPI_REQUEST_CANCEL))
        other[left_out & (ends["complete"] < 0)] = NONE
    else:
        ends["posted"] = _times_of(trace, rank, EventType.MPI_RECEIVE_POST, high32(events["c"]))
    known_ends: Array = ends[other != NONE]
    return known_ends


def unsent_messages(events: Array) -> Array:
    """Find the sends of a rank that were cancelled, unless they are complete, or that failed.

    Parameters
    ----------
    events : structured array
        Its MPI_SEND and MPI_REQUEST_CANCEL in their order, with ``type``, ``b`` and ``c``.

    Returns
    -------
    array of bool, shape (sends,)
        Which of the sends these are.

    Examples
    --------
    >>> unsent_messages(pse.trace.open("mpi1").select(0, EventType.MPI_SEND))
    array([False])
    """
    is_send = events["type"] == EventType.MPI_SEND
    sends, ends = np.flatnonzero(is_send), np.flatnonzero(~is_send)
    requests, ended = high32(events["c"][sends]), high32(events["c"][ends])
    found: Array = (requests > 0) & np.isin(requests, ended)
    for end in ends[ended == 0].tolist():  # A blocking one failed: the last of its kind.
        alike = (events["b"][sends] == events["b"][end]) & (events["c"][sends] == events["c"][end])
        found[np.flatnonzero(alike & (sends < end))[-1:]] = True
    return found


def _times_of(trace: TraceFiles, rank: int, kind: EventType, requests: Array) -> Array:
    """When a rank's requests had an event of a kind, -1 where they had none; request 0 is not a request."""
    events = trace.select(rank, kind)
    times = _by_request(events, trace.run_times(rank, events["time"]), requests, -1)
    return np.where(requests > 0, times, -1)


def _by_request(events: Array, values: Array, requests: Array, other: int) -> Array:
    """The value of the event that has each request; `other` for a request without one."""
    if not len(events):
        return np.full(len(requests), other)
    order = np.argsort(high32(events["c"]), kind="stable")
    numbers = high32(events["c"])[order]
    place = np.minimum(np.searchsorted(numbers, requests), len(numbers) - 1)
    return np.where(numbers[place] == requests, values[order][place], other)


def mpi_collectives(trace: TraceFiles) -> Array:
    """All collective operations of MPI, by rank, then in order: array of `MPI_COLLECTIVE_DTYPE`.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.

    Returns
    -------
    structured array, shape (operations,)
        Rows of `MPI_COLLECTIVE_DTYPE`; times in ns.

    Examples
    --------
    >>> len(mpi_collectives(pse.trace.open("mpi1")))  # Two ranks exchange a message.
    0
    """
    known = Communicators(trace)
    parts = [np.empty(0, MPI_COLLECTIVE_DTYPE)]
    for rank in trace.ranks:
        events = trace.select(rank, EventType.MPI_COLLECTIVE_BEGIN)
        made = np.zeros(len(events), MPI_COLLECTIVE_DTYPE)
        made["rank"], made["operation"] = rank, events["flags"]
        made["communicator"] = known.number(rank, low32(events["c"]))
        made["begin"] = trace.run_times(rank, events["time"])
        shared = low32(events["b"]).astype("<u8")
        within = ordinals([shared, made["communicator"]])
        made["ordinal"] = shared << np.uint64(32) | within.astype("<u8")
        parts.append(made)
    return np.concatenate(parts)
