"""What every operation hands to whom under an assignment: the ways that results take, before anything runs.

As in the engine, a tag goes once to each rank that reads it, what bounds and conditions read goes to all that
go on by them, and what the root may read goes there in any case.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pse.advise.model._operations import Input, Operation, Unrolled
from pse.advise.simulate._assignment import Assignment
from pse.advise.simulate._rank_schedules import Fork, RankSchedules, Seat, Stream, Wait


@dataclass(slots=True)
class Message:
    """What goes to a rank: its bytes, and the operations there that need it."""

    size: float
    readers: list[int] = field(default_factory=list)


class Handovers:
    """The ways of results, by the number of the operation that they are of.

    Attributes
    ----------
    seats : list of Seat
        The rank that executes it.
    needs : list of int
        How many things have to be there before it can begin.
    messages : list of dict
        What it sends, by the rank that it goes to and the queue there (None: none).
    here : list of list of int
        Operations on its own rank that need its result.
    frees : list of list of int
        Operations that change in place what it read.
    """

    def __init__(self, unrolled: Unrolled, assignment: Assignment, streams: RankSchedules) -> None:
        operations, self._assignment = unrolled.operations, assignment
        self.seats = [Seat(op.processor, assignment.threads[op.site]) for op in operations]
        self.needs = [len(op.after) + len(op.inputs) for op in operations]
        self.messages: list[dict[tuple[Seat, str | None], Message]] = [{} for _ in operations]
        self.here: list[list[int]] = [[] for _ in operations]
        self.frees: list[list[int]] = [[] for _ in operations]
        for operation in operations:
            for needed in operation.inputs:
                self._send(needed, self.seats[operation.number], operation.number)
            self._push(operation, streams)
            for reader in operation.after:
                self.frees[reader].append(operation.number)
        for seat, stream in streams.of.items():
            self._announce(stream, seat)

    def _push(self, operation: Operation, streams: RankSchedules) -> None:
        """What the root may read goes there in any case."""
        messages = self.messages[operation.number]
        for push in operation.pushes:
            for label in dict.fromkeys(self._assignment.threads[site] for site in push.readers):
                seat = Seat(None, label)
                if seat in streams.of and all(seat != other for other, _ in messages):
                    messages[seat, push.queue] = Message(push.size)

    def _announce(self, stream: Stream, seat: Seat) -> None:
        """What bounds and conditions read has to be sent too."""
        for item in stream:
            if isinstance(item, Wait):
                for needed in item.inputs:
                    self._send(needed, seat, None)
            elif isinstance(item, Fork):
                for inner in item.rounds:
                    self._announce(inner, seat)

    def _send(self, needed: Input, seat: Seat, reader: int | None) -> None:
        readers = self.here[needed.source]
        if self.seats[needed.source] != seat:
            messages = self.messages[needed.source]
            readers = messages.setdefault((seat, needed.queue), Message(needed.size)).readers
        if reader is not None:
            readers.append(reader)
