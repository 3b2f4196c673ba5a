"""Collective operations of a trace as steps, each on the ranks of its communicator.

Those among neighbours become messages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pse._abi.emulate import StepKind
from pse.emulate.patterns._cycle import Step
from pse.text import count_text
from pse.trace import Collective, EventType, Trace
from pse.trace.format import Array, low32
from pse.trace.query import Communicators, mpi_collectives

_WHOLE, _PARTS = "whole", "parts"
_KINDS = {
    Collective.BARRIER: (StepKind.BARRIER, _WHOLE),
    **dict.fromkeys(
        (Collective.CREATE_COMMUNICATOR, Collective.WINDOW, Collective.FILE), (StepKind.BARRIER, _WHOLE)
    ),
    Collective.BCAST: (StepKind.BROADCAST, _WHOLE),
    Collective.REDUCE: (StepKind.REDUCE, _WHOLE),
    Collective.GATHER: (StepKind.GATHER, _WHOLE),
    Collective.GATHERV: (StepKind.GATHER, _WHOLE),
    Collective.SCATTER: (StepKind.SCATTER, _WHOLE),
    Collective.SCATTERV: (StepKind.SCATTER, _WHOLE),
    Collective.ALLREDUCE: (StepKind.ALLREDUCE, _PARTS),
    Collective.REDUCE_SCATTER: (StepKind.ALLREDUCE, _PARTS),
    Collective.REDUCE_SCATTER_BLOCK: (StepKind.ALLREDUCE, _PARTS),
    Collective.SCAN: (StepKind.ALLREDUCE, _PARTS),
    Collective.EXSCAN: (StepKind.ALLREDUCE, _PARTS),
    Collective.ALLGATHER: (StepKind.ALLGATHER, _PARTS),
    Collective.ALLGATHERV: (StepKind.ALLGATHER, _PARTS),
    Collective.ALLTOALL: (StepKind.ALLTOALL, _PARTS),
    Collective.ALLTOALLV: (StepKind.ALLTOALL, _PARTS),
    Collective.ALLTOALLW: (StepKind.ALLTOALL, _PARTS),
}
_FROM_ROOT = {StepKind.BROADCAST, StepKind.SCATTER}
_NEIGHBORHOODS = {
    Collective.NEIGHBOR_ALLGATHER,
    Collective.NEIGHBOR_ALLGATHERV,
    Collective.NEIGHBOR_ALLTOALL,
    Collective.NEIGHBOR_ALLTOALLV,
    Collective.NEIGHBOR_ALLTOALLW,
}

Item = tuple[int, int, Step]
"""When it was done (ns), its order among what was done at once, and the step."""
Sent = tuple[int, int, int, int, int]
"""Sender, receiver, bytes, and the times of both ends (ns) of a message between two ranks."""


class Member(NamedTuple):
    """What one rank did in an operation: times in ns, bytes, the root as a rank of the communicator."""

    rank: int
    operation: Collective
    begin: int
    end: int
    root: int
    sent: int
    received: int


class Collectives:
    """The collective operations of a trace.

    Parameters
    ----------
    opened : pse.trace.Trace
        A run under the tool `trace`.
    numbers : dict of int to int
        By rank of the job that of the recorded program.

    Attributes
    ----------
    groups : list of tuple of int
        The ranks of communicators that don't have all, in their order; steps count from 1.
    """

    def __init__(self, opened: Trace, numbers: dict[int, int]) -> None:
        self._known, self._numbers = Communicators(opened), numbers
        self.groups: list[tuple[int, ...]] = []
        self._met: dict[tuple[int, int], list[Member]] = defaultdict(list)
        rows = mpi_collectives(opened)
        for rank in opened.ranks:
            for key, member in _operations(opened, rank, rows[rows["rank"] == rank]):
                self._met[key].append(member)
        self._neighbours = {rank: self._known.neighbours(rank) for rank in opened.ranks}

    def neighbour_messages(self) -> Iterator[Sent]:
        """Yield the messages of neighbourhood operations: a rank sends each the same."""
        for (communicator, _), members in self._met.items():
            ends = {member.rank: member.end for member in members}
            for member in members if members[0].operation in _NEIGHBORHOODS else ():
                degree, peers = self._neighbours[member.rank].get(communicator, (0, ()))
                for peer in peers:
                    if peer in ends and peer != member.rank:
                        yield member.rank, peer, member.sent // degree, member.begin, ends[peer]

    def add_to(self, items: dict[int, list[Item]]) -> list[str]:
        """Add the other operations to the ranks' items; say which are left out."""
        left: Counter[str] = Counter()
        for (communicator, _), members in sorted(self._met.items()):
            why = self._missing(communicator, members)
            if why is None:
                self._add(items, self._known.members(communicator), members)
            elif why:
                left[why] += 1
        counts = [(count_text(count, "collective operation"), why) for why, count in left.items()]
        return [f"left out: {operations} {why}" for operations, why in counts]

    def _missing(self, communicator: int, members: Sequence[Member]) -> str | None:
        """Say why an operation can't be added; nothing if it needs no step, None if it can."""
        operation, seats = members[0].operation, self._known.members(communicator)
        if operation in _NEIGHBORHOODS:
            told = any(communicator in self._neighbours[member.rank] for member in members)
            return "" if told else "among neighbours, whom the trace doesn't name"
        if operation not in _KINDS:
            return "without a replay"
        if len(members) == 1 and len(seats) <= 1:
            return ""
        if sorted(seats) != sorted(member.rank for member in members):
            return "that the trace doesn't have of all their ranks"
        return None

    def _add(self, items: dict[int, list[Item]], seats: Sequence[int], members: Sequence[Member]) -> None:
        kind, way = _KINDS[members[0].operation]
        group = self._group(tuple(self._numbers[rank] for rank in seats))
        root, size = _root_and_size(kind, way, members)
        if group == 0 and root:
            root = self._numbers[seats[root]]
        for member in members:
            items[self._numbers[member.rank]].append((member.end, 0, Step(kind, root, size, group=group)))

    def _group(self, ranks: tuple[int, ...]) -> int:
        """Give the number of a group; that of all ranks is 0, in any order."""
        if len(ranks) == len(self._numbers):
            return 0
        if ranks not in self.groups:
            self.groups.append(ranks)
        return 1 + self.groups.index(ranks)


def _operations(opened: Trace, rank: int, known: Array) -> Iterator[tuple[tuple[int, int], Member]]:
    """Yield the operations of a rank that ended, by communicator and ordinal."""
    begins = opened.select(rank, EventType.MPI_COLLECTIVE_BEGIN)
    ends = opened.select(rank, EventType.MPI_COLLECTIVE_END)
    by_key: dict[int, list[int]] = defaultdict(list)
    for place, key in enumerate(ends["c"].tolist()):
        by_key[key].append(place)
    times = opened.run_times(rank, ends["time"])
    used: Counter[int] = Counter()
    for row, begin in zip(known, begins, strict=True):
        key = int(begin["c"])
        places = by_key[key]
        if used[key] == len(places):
            continue
        place = places[used[key]]
        used[key] += 1
        numbers = (row["begin"], times[place], low32(begin["a"]), ends[place]["a"], ends[place]["b"])
        member = Member(rank, Collective(int(row["operation"])), *map(int, numbers))
        yield (int(row["communicator"]), int(row["ordinal"])), member


def _root_and_size(kind: StepKind, way: str, members: Sequence[Member]) -> tuple[int, int]:
    """Give the root, and the bytes of one part, on which all ranks agree."""
    size = max(member.received if kind in _FROM_ROOT else member.sent for member in members)
    root = members[0].root
    rooted = kind in _FROM_ROOT or kind in (StepKind.REDUCE, StepKind.GATHER)
    whole = size if way == _WHOLE else size // len(members)
    return (root if rooted and root < len(members) else 0), (0 if kind == StepKind.BARRIER else whole)
