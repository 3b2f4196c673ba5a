"""The chain of a wait: what one rank did at a moment, and which rank is next."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LastArrival:
    """Who came last to a collective operation: partition, rank, when (ns); and the root if it has one.

    Parameters
    ----------
    partition : int
        Partition that came last.
    rank : int
        Its rank.
    time : int
        When it came, ns since the run's origin.
    root : int, optional
        Partition that is the operation's root, if it has one.

    See Also
    --------
    wait_chain
    """

    partition: int
    rank: int
    time: int
    root: int | None = None


@dataclass(frozen=True)
class Message:
    """A message that is not a tag: from a partition to another, or of MPI (without partitions).

    Parameters
    ----------
    tag : int or None
        Its message tag; None: it is a part of a collective operation.
    source, target : int or None
        The partitions.
    collective : str
        The collective operation that it is a part of: ``allreduce``.
    last : LastArrival or None
        Who came last to that.

    See Also
    --------
    wait_chain
    """

    tag: int | None = None
    source: int | None = None
    target: int | None = None
    collective: str = ""
    last: LastArrival | None = None


@dataclass(frozen=True)
class WaitEnd:
    """How a wait ended: who did it, when (ns), and with which tag or message if it was one.

    Parameters
    ----------
    rank : int
        Rank that ended it.
    time : int
        When, ns since the run's origin.
    tag : str, optional
        Name of the tag that came; empty if it was none.
    bytes : int, optional
        Size of what came.
    way : str, optional
        How it travelled.
    certain : bool, optional
        Whether the trace says so; False: the likeliest cause.
    message : Message, optional
        The message among partitions that came, if it was one.
    was_late_receiver : bool, optional
        Whether a sender waited for its receiver.

    See Also
    --------
    wait_chain

    Examples
    --------
    >>> end = pse.analysis.wait_chain(trace, 0, 10_000_000).links[0].ended_by
    >>> end.rank, end.time, end.tag, end.way
    (1, 14000000, 'result', 'by descriptor')
    """

    rank: int
    time: int
    tag: str = ""
    bytes: int = 0
    way: str = ""  # by descriptor, copied, between nodes
    certain: bool = True  # False: it is only the rank that should have
    message: Message | None = None
    was_late_receiver: bool = False  # It took the message; else it sent it.


@dataclass(frozen=True)
class Link:
    """What one rank did at the moment; times in ns since the run's origin.

    Parameters
    ----------
    rank : int
        The rank.
    name : str
        The rank in words: ``rank 3 (p1 · thread_B)``.
    state : str
        ``call``, ``wait``, ``mpi`` (within a routine of MPI), ``engine`` (between calls), ``done`` (with its
        part of the program), ``start``, ``end`` (outside of the program), ``lost`` (the trace doesn't show
        this rank, or not any more), ``program`` (outside of MPI in a trace of MPI alone).
    begin, end : int or None
        When it began and ended to do so.
    complete : bool
        Whether the trace shows the end.
    label, place, tph : str
        Call site that it executed or waited to execute, and in which TPH.
    reason, tag, source : str
        What it waited for: reason (`WaitReason` in lower case), tag, and what defines the tag.
    routine : str
        The routine of MPI that it was in; outside of MPI the function or region, if these were recorded.
    awaited : str
        Of a call of MPI that never ended: what it waited for, in words; empty where the trace doesn't tell.
    ended_by : WaitEnd or None
        How the wait ended.
    meanwhile : tuple of (str, int)
        What the rank did from the moment until it handed over: names and times in ns.
    line : str
        The line of the call site; in a segment the lines of the calls that lead there, too.
    thread : int or None
        Of a rank with several threads in MPI the one that this is of.
    others : tuple of int
        Threads of it that waited in MPI at the moment, too.

    See Also
    --------
    wait_chain

    Examples
    --------
    >>> link = pse.analysis.wait_chain(trace, 0, 10_000_000).links[0]
    >>> link.state, link.tag, link.source, (link.end - link.begin) / 1e6  # ms
    ('wait', 'result', 'rows (line 6)', 9.0)
    """

    rank: int
    name: str
    state: str
    begin: int | None = None
    end: int | None = None
    complete: bool = True
    label: str = ""
    place: str = ""
    tph: str = ""
    reason: str = ""
    tag: str = ""
    source: str = ""
    routine: str = ""
    awaited: str = ""
    ended_by: WaitEnd | None = None
    meanwhile: tuple[tuple[str, int], ...] = ()
    line: str = ""
    thread: int | None = None
    others: tuple[int, ...] = ()


@dataclass(frozen=True)
class WaitChain:
    """Links from the rank that was asked about to one that nobody kept waiting; `circle`: there is none.

    Parameters
    ----------
    time : int
        Moment that was asked about, ns since the run's origin.
    links : tuple of Link
        From the rank that was asked about on.
    circle : bool, optional
        Whether the ranks wait for each other, so that nobody is at the end.
    abort : tuple of (int, int), optional
        If MPI_Abort ended the run before these waits did: the rank that called it, and when (ns since the
        run's origin).

    See Also
    --------
    wait_chain

    Examples
    --------
    >>> chain = pse.analysis.wait_chain(trace, 0, 10_000_000)
    >>> [link.rank for link in chain.links], chain.circle
    ([0, 1], False)
    """

    time: int
    links: tuple[Link, ...]
    circle: bool = False
    abort: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """The chain as JSON values."""
        return dataclasses.asdict(self)
