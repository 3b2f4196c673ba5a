"""Queues of tags between the ranks of a simulated run: places in them, and who waits for one.

As in the engine, a rank begins a call only when every queue that it feeds has a place left, and what a call
reads leaves its queue when the call is next.
"""

from __future__ import annotations

from collections.abc import Mapping

from pse.advise.model._operations import Operation
from pse.advise.simulate._assignment import Assignment
from pse.advise.simulate._handovers import Handovers
from pse.advise.simulate._rank_schedules import Seat


class Queues:
    """How full queues are, by name and the rank whose they are.

    Parameters
    ----------
    handovers : Handovers
        What goes into them.
    assignment : Assignment
        How deep they are.
    places : mapping of int to int
        For how many partitions each call site is executed: each has places of its own.
    """

    def __init__(self, handovers: Handovers, assignment: Assignment, places: Mapping[int, int]) -> None:
        self._handovers, self._assignment, self._places = handovers, assignment, places
        self._processors = max(1, len({seat.processor for seat in handovers.seats} - {None}))
        self._held: dict[tuple[str, Seat], int] = {}
        self._starved: dict[Seat, None] = {}  # In the order in which they found no place.
        self._taken: set[tuple[int, str, Seat]] = set()

    def has_places(self, operation: Operation) -> bool:
        """Whether each queue that an operation feeds has a place left; its rank waits for one if not."""
        for seat, queue in self._handovers.messages[operation.number]:
            if queue is not None and self._held.get((queue, seat), 0) >= self._depth(operation, seat):
                self._starved[self._handovers.seats[operation.number]] = None
                return False
        return True

    def _depth(self, operation: Operation, seat: Seat) -> int:
        """How much of a tag a rank's queues hold together: a partition's pieces have a queue of their own."""
        pieces = self._places[operation.site] if operation.processor is not None else 1
        if seat.processor is not None:
            pieces = -(-pieces // self._processors)
        return pieces * self._assignment.depth_of(seat.label)

    def put(self, queue: str, seat: Seat) -> None:
        """Something is on its way into a queue: its place is taken."""
        self._held[queue, seat] = self._held.get((queue, seat), 0) + 1

    def take(self, source: int, queue: str, seat: Seat) -> list[Seat]:
        """Let what an operation sent leave its queue, once; gives the ranks that waited for a place."""
        if (source, queue, seat) in self._taken:
            return []
        self._taken.add((source, queue, seat))
        self._held[queue, seat] -= 1
        starved, self._starved = list(self._starved), {}
        return starved
