"""A run of a program as a sequence of events: what each rank does when, and for how long.

Each rank does what the engine's sequencer does: it looks at its contexts from the oldest, executes the first
call that can begin, and looks again.  A call begins when what it needs is there and the queues that it feeds
have places; calls that meet in a communicator begin together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pse.advise.model._operations import Kind, Operation, Unrolled
from pse.advise.simulate._assignment import Assignment, Machine
from pse.advise.simulate._handovers import Handovers, Message
from pse.advise.simulate._queues import Queues
from pse.advise.simulate._rank_schedules import Fork, Mark, RankDistribution, Rest, Seat, Strands, Wait
from pse.advise.simulate._resource_sharing import ResourceSharing
from pse.advise.simulate._sim_state import Context, Rank, Strand


class SimulationDeadlock(Exception):
    """A run in which nothing can go on."""


@dataclass(frozen=True)
class SimulatedRun:
    """What a simulated run was like.

    Attributes
    ----------
    seconds : float
        From beginning to end.
    busy : dict
        Seconds that each rank was in calls.
    """

    seconds: float
    busy: dict[Seat, float]


class Simulation:
    """Lets a run happen.

    Parameters
    ----------
    unrolled : Unrolled
        What it does.
    assignment : Assignment
        Who does it.
    machine : Machine
        On what.
    durations : sequence of (float, float), optional
        CPU seconds and others of every operation, in place of its own.
    factors : callable, optional
        Gives for the call site and the bytes of each message between nodes how many times its usual time it
        takes.
    """

    def __init__(
        self,
        unrolled: Unrolled,
        assignment: Assignment,
        machine: Machine,
        durations: Sequence[tuple[float, float]] | None = None,
        factors: Callable[[int, float], float] | None = None,
    ) -> None:
        self.factors = factors
        self.operations, self.machine, self.groups = unrolled.operations, machine, unrolled.groups
        self.durations = durations or [(op.cpu, op.rest) for op in unrolled.operations]
        processors = sum(1 for place in machine.hosts if place is not None)
        streams = RankDistribution(unrolled, assignment, processors).run()
        self.shares = streams.shares
        self.handovers = Handovers(unrolled, assignment, streams)
        self.queues = Queues(self.handovers, assignment, unrolled.places)
        self.fluid = ResourceSharing(machine)
        self.ranks = {
            seat: Rank(seat, self.fluid.party(seat.processor), [Context(stream)])
            for seat, stream in streams.of.items()
        }
        self.executing = [self.ranks[seat] for seat in self.handovers.seats]
        self.missing = list(self.handovers.needs)
        self.finished = [False] * len(self.operations)
        self.arrived: set[tuple[int, Seat]] = set()
        self.standing: dict[int, list[tuple[Rank, Strand, Operation]]] = {}
        self.complete: dict[int, list[int]] = {}

    def run(self) -> SimulatedRun:
        for rank in self.ranks.values():
            self._look(rank)
        self.fluid.run()
        if any(rank.contexts for rank in self.ranks.values()):
            raise SimulationDeadlock
        skipped = max((rank.skipped for rank in self.ranks.values()), default=0.0)
        busy = {seat: rank.seconds for seat, rank in self.ranks.items()}
        return SimulatedRun(self.fluid.now + skipped, busy)

    # Ranks and their contexts.

    def _look(self, rank: Rank) -> None:
        """Have a rank do what it can, until it is in a call or nothing can be done."""
        while not rank.party.busy:
            if rank.called:
                self._begin(rank, *rank.called.pop(0))
                continue
            if not any(self._try(rank, context) for context in list(rank.contexts)):
                return

    def _look_soon(self, ranks: Iterable[Rank]) -> None:
        """Have ranks look again once all that happens at this moment has happened."""
        for rank in ranks:
            self.fluid.after(0.0, lambda rank=rank: self._look(rank))  # type: ignore[misc]

    def _try(self, rank: Rank, context: Context) -> bool:
        """Bring a context as far as it goes; True if a call began, or other contexts may go on by it."""
        while True:
            if context.strands is not None:
                if self._strands(rank, context):
                    return True
                if context.strands:
                    return False
                context.strands = None
                context.place += 1
                continue
            if context.place == len(context.stream):
                self._end(rank, context)
                return True
            if not self._item(rank, context):
                return False

    def _item(self, rank: Rank, context: Context) -> bool:
        """Enter the next item; False if it has to wait."""
        match context.stream[context.place]:
            case Strands(strands):
                context.strands = [Strand(operations) for operations in strands]
                return True
            case Wait(inputs):
                if not all(self._is_here(needed.source, rank) for needed in inputs):
                    return False
            case Mark(loop):
                rank.marks.setdefault(loop, []).append(self._clock(rank))
            case Rest(loop, simulated, total):
                rank.skip([*rank.marks.pop(loop), self._clock(rank)], total - simulated)
            case Fork() as fork:
                return self._fork(rank, context, fork)
        context.place += 1
        return True

    def _clock(self, rank: Rank) -> float:
        return self.fluid.now + rank.skipped

    def _is_here(self, source: int, rank: Rank) -> bool:
        if self.executing[source] is rank:
            return self.finished[source]
        return (source, rank.seat) in self.arrived

    def _strands(self, rank: Rank, context: Context) -> bool:
        """Begin the first operation of a context that can; True if one began."""
        assert context.strands is not None
        for strand in list(context.strands):
            while strand.place < len(strand.operations):
                operation = self.operations[strand.operations[strand.place]]
                if not self._can_begin(rank, context, operation):
                    break
                if operation.kind is not Kind.OFFER:
                    if operation.group is not None:
                        self._stand(rank, strand, operation)
                        break
                    self._begin(rank, strand, operation)
                    return True
                strand.place += 1
                self._finish(operation)
            else:
                context.strands.remove(strand)
        return False

    # Calls.

    def _can_begin(self, rank: Rank, context: Context, operation: Operation) -> bool:
        """Whether an operation that is next has all that it needs; the oldest iteration needs no places."""
        self._take(rank, operation)
        if self.missing[operation.number]:
            return False
        return self._is_oldest(context) or self.queues.has_places(operation)

    def _take(self, rank: Rank, operation: Operation) -> None:
        """What an operation reads leaves its queue when the operation is next."""
        for source, queue, _ in operation.inputs:
            if queue is not None and (source, rank.seat) in self.arrived:
                self._look_soon(self.ranks[seat] for seat in self.queues.take(source, queue, rank.seat))

    def _stand(self, rank: Rank, strand: Strand, operation: Operation) -> None:
        """A call that meets others begins when all stand before it."""
        assert operation.group is not None
        there = self.standing.setdefault(operation.group, [])
        if any(other is operation for _, _, other in there):
            return
        there.append((rank, strand, operation))
        if len(there) == self.groups[operation.group]:
            for other, their_strand, call in there:
                other.called.append((their_strand, call))
            self._look_soon([*(other for other, _, _ in there if other is not rank), rank])

    def _begin(self, rank: Rank, strand: Strand, operation: Operation) -> None:
        began = self.fluid.now

        def done() -> None:
            rank.seconds += self.fluid.now - began
            strand.place += 1
            self._finish(operation)
            self._look(rank)

        self.fluid.call(rank.party, *self.durations[operation.number], done)

    def _finish(self, operation: Operation) -> None:
        """An operation is done: hand over what it made."""
        number = operation.number
        self.finished[number] = True
        for reader in self.handovers.here[number]:
            self._arrive(reader)
        for writer in self.handovers.frees[number]:
            self._arrive(writer)
        for (seat, queue), message in self.handovers.messages[number].items():
            if queue is not None:
                self.queues.put(queue, seat)
            self._deliver(number, self.ranks[seat], queue, message)

    def _deliver(self, number: int, rank: Rank, queue: str | None, message: Message) -> None:
        sender = self.executing[number]

        def there() -> None:
            self.arrived.add((number, rank.seat))
            if queue is not None and not message.readers:  # Nobody reads it: it is let go at once.
                self._look_soon(self.ranks[seat] for seat in self.queues.take(number, queue, rank.seat))
            for reader in message.readers:
                self._arrive(reader)
            self._look(rank)

        if self.machine.is_remote(sender.seat.processor, rank.seat.processor):
            factor = self.factors(self.operations[number].site, message.size) if self.factors else 1.0
            self.fluid.transfer(sender.party, rank.party, message.size, there, factor)
        else:
            self.fluid.after(self.machine.hop, there)

    def _arrive(self, reader: int) -> None:
        """One of the things that an operation needs is there."""
        self.missing[reader] -= 1
        if self.missing[reader]:
            return
        operation = self.operations[reader]
        if operation.kind is Kind.COMBINE:
            self._finish(operation)
        self._look_soon([self.executing[reader]])

    # Iterations in flight.

    def _fork(self, rank: Rank, context: Context, fork: Fork) -> bool:
        """Start iterations as the window lets; the context goes on when all are done."""
        self.complete.setdefault(fork.loop, [0] * len(fork.rounds))
        rank.marks.setdefault(fork.loop, [self._clock(rank)])
        window = min(len(fork.rounds), self._all_complete(fork.loop) + fork.window)
        for number in range(context.children, window):
            place = rank.contexts.index(context)  # Older ones first, the one around them last.
            rank.contexts.insert(place, Context(fork.rounds[number], fork.loop, number, context))
            self._look_soon([rank])
        context.children = max(context.children, window)
        if any(child.parent is context for child in rank.contexts) or context.children < len(fork.rounds):
            return False
        rank.skip(rank.marks.pop(fork.loop), fork.total - len(fork.rounds))
        context.place += 1
        context.children = 0
        return True

    def _all_complete(self, loop: int) -> int:
        """How many iterations are complete on all ranks that run some of them, without a gap."""
        ranks = len(self.shares[loop])
        done = self.complete[loop]
        return next((number for number, count in enumerate(done) if count < ranks), len(done))

    def _is_oldest(self, context: Context) -> bool:
        while context.parent is not None:
            if context.parent.parent is None:
                return context.round == self._all_complete(context.loop)
            context = context.parent
        return False

    def _end(self, rank: Rank, context: Context) -> None:
        """A context has come to its end."""
        rank.contexts.remove(context)
        if context.parent is None:
            return
        self.complete[context.loop][context.round] += 1
        rank.marks[context.loop].append(self._clock(rank))
        others = (self.ranks[seat] for seat in self.shares[context.loop])
        self._look_soon(other for other in others if other is not rank)
