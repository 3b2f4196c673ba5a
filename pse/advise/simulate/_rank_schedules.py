"""What every rank has to do under an assignment, in its order: its share of the operations.

A stream is a list of items: strands of operations, bounds and conditions to wait for, loops whose iterations
are in flight, and marks from which a rank tells how long the rounds take that are not simulated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from pse.advise.model._operations import Calls, Decision, Input, Loop, Node, Unrolled
from pse.advise.simulate._assignment import Assignment


class Seat(NamedTuple):
    """A rank: its processor (None: the root) and its thread's label."""

    processor: int | None
    label: str


@dataclass(frozen=True)
class Strands:
    """Operations one after the other, strand by strand."""

    strands: list[list[int]]


@dataclass(frozen=True)
class Wait:
    """Something that has to arrive."""

    inputs: list[Input]


@dataclass(frozen=True)
class Mark:
    """A round of a loop begins here; `number` tells which."""

    loop: int
    number: int


@dataclass(frozen=True)
class Rest:
    """The end of a loop of which only some rounds are simulated: the others take as long as those did."""

    loop: int
    simulated: int
    total: int


@dataclass(frozen=True)
class Fork:
    """A loop whose iterations are in flight: the stream of each."""

    loop: int
    rounds: list[list[Item]]
    window: int
    total: int


Item = Strands | Wait | Mark | Rest | Fork
Stream = list[Item]


@dataclass
class RankSchedules:
    """The streams of all ranks; ``shares[loop]`` are the ranks that have something to do in a forked loop."""

    of: dict[Seat, Stream] = field(default_factory=dict)
    shares: dict[int, list[Seat]] = field(default_factory=dict)


class RankDistribution:
    """Gives every rank its share."""

    def __init__(self, unrolled: Unrolled, assignment: Assignment, processors: int) -> None:
        self.unrolled, self.assignment = unrolled, assignment
        self.processors = processors
        self.loops = 0
        self.streams = RankSchedules()
        self.at_root = {op.site: op.processor is None for op in unrolled.operations}

    def run(self) -> RankSchedules:
        self.streams.of = self._nodes(self.unrolled.body)
        return self.streams

    def seat(self, operation: int) -> Seat:
        found = self.unrolled.operations[operation]
        return Seat(found.processor, self.assignment.threads[found.site])

    def _seats(self, sites: Iterable[int]) -> set[Seat]:
        """The ranks that execute some of these call sites."""
        seats: set[Seat] = set()
        for site in sites:
            if site in self.at_root:
                places = [None] if self.at_root[site] else range(self.processors)
                seats |= {Seat(place, self.assignment.threads[site]) for place in places}
        return seats

    def _nodes(self, nodes: list[Node]) -> dict[Seat, Stream]:
        streams: dict[Seat, Stream] = {}
        for node in nodes:
            match node:
                case Calls():
                    found = self._calls(node)
                case Decision():
                    found = {seat: [Wait(node.inputs)] for seat in self._seats(node.sites)}
                case Loop():
                    found = self._loop(node)
            for seat, items in found.items():
                streams.setdefault(seat, []).extend(items)
        return streams

    def _calls(self, node: Calls) -> dict[Seat, Stream]:
        shares: dict[Seat, list[list[int]]] = {}
        for strand in node.strands:
            apart: dict[Seat, list[int]] = {}
            for operation in strand:
                apart.setdefault(self.seat(operation), []).append(operation)
            for seat, operations in apart.items():
                shares.setdefault(seat, []).append(operations)
        return {seat: [Strands(strands)] for seat, strands in shares.items()}

    def _loop(self, node: Loop) -> dict[Seat, Stream]:
        self.loops += 1
        loop, window = self.loops, self.assignment.inflight.get(node.step, node.inflight)
        rounds = [self._nodes(nodes) for nodes in node.rounds]
        seats = sorted({seat for found in rounds for seat in found}, key=str)
        if window is not None:
            self.streams.shares[loop] = seats
            return {
                seat: [Fork(loop, [r.get(seat, []) for r in rounds], window, node.total)] for seat in seats
            }
        streams: dict[Seat, Stream] = {seat: [] for seat in seats}
        for number, found in enumerate(rounds):
            for seat in seats:
                if node.total > len(rounds):
                    streams[seat].append(Mark(loop, number))
                streams[seat] += found.get(seat, [])
        if node.total > len(rounds):
            for seat in seats:
                streams[seat].append(Rest(loop, len(rounds), node.total))
        return streams
