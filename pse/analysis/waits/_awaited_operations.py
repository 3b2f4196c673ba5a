"""What a call of MPI that never ended waited for: messages, their receipt, collective operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pse.trace.format import NONE, Array, Await, Collective, EventType, high32, low32
from pse.trace.query import Communicators, Trace, mpi_collectives, mpi_messages

_BEGINS = (EventType.MPI_SEND, EventType.MPI_RECEIVE_POST, EventType.MPI_COLLECTIVE_BEGIN)
_ENDS = (
    *(EventType.MPI_SEND_COMPLETE, EventType.MPI_RECEIVE, EventType.MPI_COLLECTIVE_END),
    EventType.MPI_REQUEST_CANCEL,
)


@dataclass(frozen=True)
class Awaited:
    """An operation that a call waited for.

    Parameters
    ----------
    words : str
        What it was: ``a message with tag 7 from rank 1``.
    rank : int or None
        The rank that should have done its part; None: the trace doesn't tell which one.
    is_lacking : bool
        Whether the trace shows that it has not done that.
    """

    words: str
    rank: int | None
    is_lacking: bool


@dataclass(frozen=True)
class AwaitedOperations:
    """The operations that a call waited for, those first that lacked the part of another rank.

    Parameters
    ----------
    operations : tuple of Awaited
        What the trace shows of them.
    requests : int
        How many requests the call was for; 0: for none.
    any : bool
        Whether the end of one of them would have been enough.
    """

    operations: tuple[Awaited, ...]
    requests: int
    any: bool

    @property
    def words(self) -> str:
        """What the call waited for, in words; empty: the trace doesn't tell."""
        first = self.operations[0].words if self.operations else ""
        if not first or self.requests < 2:
            return first
        return f"{'any' if self.any else 'all'} of {self.requests} requests, among them {first}"

    @property
    def rank(self) -> int | None:
        """The rank that should have ended the call, if the trace tells it."""
        return next((one.rank for one in self.operations[:1] if one.is_lacking), None)


class OperationReader:
    """Reads what calls of MPI that never ended waited for.

    Parameters
    ----------
    trace : Trace
        The run.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def of_call(self, rank: int, thread: int, began: int) -> AwaitedOperations:
        """What the call waited for that a thread of a rank began at a time of its clock."""
        events = self._trace.select(rank, EventType.THREAD, EventType.MPI_AWAIT, *_BEGINS, *_ENDS)
        turns = np.flatnonzero(events["type"] == EventType.THREAD)
        threads = np.append(0, events["a"][turns])[np.searchsorted(turns, np.arange(len(events)))]
        own = events[(threads == thread) & (events["time"] >= began)]
        inside = own[np.isin(own["type"], _BEGINS) & (high32(own["c"]) == 0)]
        awaits = own[own["type"] == EventType.MPI_AWAIT][-1:]
        is_message = awaits["flags"] == Await.MESSAGE
        asked = _open_requests(events, awaits[~is_message])
        found = [one for row in (*awaits[is_message], *inside, *asked) for one in self._awaited(rank, row)]
        found.sort(key=lambda one: not one.is_lacking)
        return AwaitedOperations(
            tuple(found), int(awaits["a"].sum()), bool((awaits["flags"] == Await.ANY).any())
        )

    def _awaited(self, rank: int, row: Any) -> Iterator[Awaited]:
        if row["type"] == EventType.MPI_COLLECTIVE_BEGIN:
            yield self._together(rank, row)
        elif row["type"] == EventType.MPI_SEND:
            yield self._receipt(rank, row)
        else:
            yield self._arrival(rank, row)

    def _together(self, rank: int, row: Any) -> Awaited:
        operations = self._collectives
        mine = operations["rank"] == rank
        mine &= operations["begin"] == self._trace.run_times(rank, row["time"])
        words = f"the collective operation {_operation(row['flags'])}"
        if not mine.any():
            return Awaited(words, None, False)
        absent, elsewhere = self._lacking(operations[mine][0])
        if elsewhere:
            words += f", but rank {absent} came to {elsewhere}"
        return Awaited(words, absent, absent is not None)

    def _lacking(self, mine: Any) -> tuple[int | None, str]:
        """A rank that did not come to a collective operation that another one began, and to which it came."""
        together = self._collectives["communicator"] == mine["communicator"]
        together &= self._collectives["ordinal"] == mine["ordinal"]
        came = {int(one["rank"]): int(one["operation"]) for one in self._collectives[together]}
        members = self._communicators.members(int(mine["communicator"]))
        absent = next((one for one in members if one not in came), None)
        others = (one for one, operation in came.items() if operation != mine["operation"])
        if absent is None and (absent := next(others, None)) is not None:
            return absent, _operation(came[absent])
        return absent, ""

    def _receipt(self, rank: int, row: Any) -> Awaited:
        (_, other), tag = self._partner(rank, row), int(row["b"]) >> 32
        rows = self._messages[self._messages["sender"] == rank]
        mine = rows[rows["sent"] == self._trace.run_times(rank, row["time"])]
        words = f"{_spoken(other)} to receive its message with tag {tag}"
        return Awaited(words, other, bool((mine["received"] < 0).any()))

    def _arrival(self, rank: int, row: Any) -> Awaited:
        (communicator, other), tag = self._partner(rank, row), int(row["b"]) >> 32
        sent = (self._messages["receiver"] == rank) & (self._messages["communicator"] == communicator)
        sent &= (self._messages["sent"] >= 0) & (self._messages["received"] < 0)
        if other is not None:
            sent &= self._messages["sender"] == other
        if tag != NONE:
            sent &= self._messages["tag"] == tag
        kind = "any tag" if tag == NONE else f"tag {tag}"
        is_any = int(row["b"]) & NONE == NONE
        source = "any rank" if is_any else _spoken(other)
        if is_any:
            other = self._sole_other(rank, communicator)
        return Awaited(f"a message with {kind} from {source}", other, not sent.any())

    def _sole_other(self, rank: int, communicator: int) -> int | None:
        """Whoever can send to a rank if there is only one."""
        others = [one for one in self._communicators.members(communicator) if one != rank]
        return others[0] if len(others) == 1 else None

    def _partner(self, rank: int, row: Any) -> tuple[int, int | None]:
        """The communicator of a message, and the other rank, in the job."""
        number = self._communicators.number(rank, low32(row["c"]).reshape(1))
        found = int(self._communicators.job_rank(number, low32(row["b"]).reshape(1))[0])
        return int(number[0]), None if found == NONE else found

    @cached_property
    def _communicators(self) -> Communicators:
        return Communicators(self._trace)

    @cached_property
    def _collectives(self) -> Array:
        return mpi_collectives(self._trace)

    @cached_property
    def _messages(self) -> Array:
        return mpi_messages(self._trace)


def _open_requests(events: Array, awaits: Array) -> Array:
    """The begins of the requests of a wait that have no end."""
    requests = high32(events["c"])
    begins = np.isin(events["type"], _BEGINS)
    ended = requests[np.isin(events["type"], _ENDS)]
    asked = np.zeros(len(events), bool)
    for least, greatest in zip(low32(awaits["b"]), high32(awaits["b"]), strict=True):
        asked |= (requests >= least) & (requests <= greatest) & ~np.isin(requests, ended)
    return events[begins & asked]


def _spoken(rank: int | None) -> str:
    return "a rank that the trace doesn't name" if rank is None else f"rank {rank}"


def _operation(number: int) -> str:
    return Collective(int(number)).name.lower()
