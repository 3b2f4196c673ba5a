"""A run of a program as a sequence of events: what each rank does when, and for how long.

Each rank does what the engine's sequencer does: it looks at its contexts from the oldest, executes the first
call that can begin, and looks again.  A call takes CPU time, for which all that runs on its cores share them
evenly, then the rest of its time, which costs no CPU.  What crosses nodes takes a link's latency, then its
share of the link's rate at both ends, and CPU time there.  Between events everything goes on at constant
rates, so time leaps from one to the next (a fluid model; for its kind see Casanova et al., "Versatile,
scalable, and accurate simulation of distributed applications and platforms", JPDC 74, 2014).

May touch: nothing.  Next rooms: `streams` says what ranks have to do, `search` and `advice` compare runs.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pse.advise.assignment import Assignment, Machine
from pse.advise.operations import Input, Kind, Operation, Unrolled
from pse.advise.streams import Fork, Mark, Rest, Seat, Strands, Stream, Wait, distribute

SMALL = 4096
"""Bytes that go with a message's latency."""
LEAST_SHARE = 0.05
"""The part of a core that transfers leave to calls at least."""
EPSILON = 1e-12


class Stuck(Exception):
    """A run in which nothing can go on."""


@dataclass(frozen=True)
class Outcome:
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


def simulate(
    unrolled: Unrolled,
    assignment: Assignment,
    machine: Machine,
    durations: Sequence[tuple[float, float]] | None = None,
) -> Outcome:
    """Let a run happen.

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

    Raises
    ------
    Stuck
        Nothing can go on before the end.
    """
    return _Simulation(unrolled, assignment, machine, durations).run()


@dataclass(slots=True, eq=False)
class _Strand:
    operations: list[int]
    place: int = 0


@dataclass(slots=True, eq=False)
class _Context:
    """A place in a stream; `round` is the iteration in flight that it is, of the loop `loop`."""

    stream: Stream
    loop: int = 0
    round: int = 0
    parent: _Context | None = None
    place: int = 0
    strands: list[_Strand] | None = None
    children: int = 0


@dataclass(slots=True, eq=False)
class _Rank:
    """A rank; `skipped` are the seconds of rounds that are not simulated."""

    seat: Seat
    pool: _Pool
    contexts: list[_Context] = field(default_factory=list)
    busy: bool = False
    called: list[tuple[_Strand, Operation]] = field(default_factory=list)
    seconds: float = 0.0
    skipped: float = 0.0
    marks: dict[int, list[float]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Pool:
    """Cores that calls share."""

    amount: float
    jobs: list[_Job] = field(default_factory=list)
    load: float = 0.0


@dataclass(slots=True, eq=False)
class _Job:
    """The CPU time of a call."""

    rank: _Rank
    left: float
    done: Callable[[], None]
    rate: float = 0.0


@dataclass(slots=True, eq=False)
class _Flow:
    """Bytes on their way from node to node; `slack` of them move on without those at its ends."""

    sender: _Rank
    receiver: _Rank
    left: float
    done: Callable[[], None]
    rate: float = 0.0
    slack: float = 0.0
    stalled: bool = False


@dataclass(slots=True, eq=False)
class _Message:
    """What goes to a rank: its bytes, and the operations there that need it."""

    size: float
    readers: list[int] = field(default_factory=list)


class _Simulation:
    def __init__(
        self,
        unrolled: Unrolled,
        assignment: Assignment,
        machine: Machine,
        durations: Sequence[tuple[float, float]] | None,
    ) -> None:
        self.operations, self.assignment, self.machine = unrolled.operations, assignment, machine
        self.durations = durations
        self.now = 0.0
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.ticks = 0
        self.changed = True  # Whether rates are to be worked out anew.
        processors = sum(1 for place in machine.hosts if place is not None)
        self.streams = distribute(unrolled, assignment, processors)
        self.pools = {c.name: _Pool(c.amount) for c in machine.cores.values()}
        self.ranks = {seat: _Rank(seat, self._pool(seat)) for seat in self.streams.of}
        self.flows: list[_Flow] = []
        self.group_sizes = unrolled.groups
        self.standing: dict[int, list[tuple[_Rank, _Strand, Operation]]] = {}
        self.finished = [False] * len(self.operations)
        self.missing = [len(op.after) for op in self.operations]
        self.sends: list[dict[tuple[_Rank, str | None], _Message]] = [{} for _ in self.operations]
        self.here: list[list[int]] = [[] for _ in self.operations]
        self.frees: list[list[int]] = [[] for _ in self.operations]
        self.arrived: set[tuple[int, Seat]] = set()
        self.queued: dict[tuple[str, Seat], int] = {}
        self.places = unrolled.places
        self.starved: set[_Rank] = set()
        self.taken: set[tuple[int, str, Seat]] = set()
        self.complete: dict[int, list[int]] = {}
        self._connect()

    def _pool(self, seat: Seat) -> _Pool:
        return self.pools[self.machine.cores[seat.processor].name]

    def _rank(self, operation: Operation) -> _Rank:
        return self.ranks[Seat(operation.processor, self.assignment.threads[operation.site])]

    def _connect(self) -> None:
        """Find out which operation has to send what to which ranks."""
        for operation in self.operations:
            rank = self._rank(operation)
            for needed in operation.inputs:
                self.missing[operation.number] += 1
                self._send(needed, rank, operation.number)
            self._push(operation)
            for reader in operation.after:
                self.frees[reader].append(operation.number)
        for seat, stream in self.streams.of.items():
            self._announce(stream, self.ranks[seat])

    def _push(self, operation: Operation) -> None:
        """What the root may read goes there in any case."""
        for push in operation.pushes:
            for label in {self.assignment.threads[site] for site in push.readers}:
                rank = self.ranks.get(Seat(None, label))
                if rank is not None and all(rank is not other for other, _ in self.sends[operation.number]):
                    self.sends[operation.number][rank, push.queue] = _Message(push.size)

    def _announce(self, stream: Stream, rank: _Rank) -> None:
        """What bounds and conditions read has to be sent too."""
        for item in stream:
            if isinstance(item, Wait):
                for needed in item.inputs:
                    self._send(needed, rank, None)
            elif isinstance(item, Fork):
                for inner in item.rounds:
                    self._announce(inner, rank)

    def _send(self, needed: Input, rank: _Rank, reader: int | None) -> None:
        if self._rank(self.operations[needed.source]) is rank:
            if reader is not None:
                self.here[needed.source].append(reader)
            return
        message = self.sends[needed.source].setdefault((rank, needed.queue), _Message(needed.size))
        if reader is not None:
            message.readers.append(reader)

    # The clock.

    def run(self) -> Outcome:
        for seat, rank in self.ranks.items():
            rank.contexts.append(_Context(self.streams.of[seat]))
        for rank in self.ranks.values():
            self._look(rank)
        while self._advance():
            pass
        if any(rank.contexts for rank in self.ranks.values()):
            raise Stuck
        skipped = max((rank.skipped for rank in self.ranks.values()), default=0.0)
        return Outcome(self.now + skipped, {seat: rank.seconds for seat, rank in self.ranks.items()})

    def _after(self, seconds: float, then: Callable[[], None]) -> None:
        self.ticks += 1
        heapq.heappush(self.timers, (self.now + seconds, self.ticks, then))

    def _advance(self) -> bool:
        """Go to the next event; False if there is none."""
        if self.timers and self.timers[0][0] <= self.now:
            heapq.heappop(self.timers)[2]()
            return True
        if self.changed:
            self._set_rates()
            self.changed = False
        step = self.timers[0][0] - self.now if self.timers else float("inf")
        for pool in self.pools.values():
            for job in pool.jobs:
                step = min(step, job.left / job.rate)
        for flow in self.flows:
            if flow.rate > 0:
                step = min(step, (min(flow.left, flow.slack) if flow.stalled else flow.left) / flow.rate)
        if step == float("inf"):
            return False
        self._pass(max(step, 0.0))
        return True

    def _pass(self, step: float) -> None:
        self.now += step
        done: list[Callable[[], None]] = []
        for pool in self.pools.values():
            for job in pool.jobs:
                job.left -= step * job.rate
            if any(job.left <= EPSILON for job in pool.jobs):
                done += [job.done for job in pool.jobs if job.left <= EPSILON]
                pool.jobs = [job for job in pool.jobs if job.left > EPSILON]
                self.changed = True
        for flow in self.flows:
            flow.left -= step * flow.rate
            if flow.stalled and flow.rate > 0:
                flow.slack -= step * flow.rate
                self.changed |= flow.slack <= 1e-6
        if any(flow.left <= 1e-6 for flow in self.flows):
            done += [flow.done for flow in self.flows if flow.left <= 1e-6]
            self.flows = [flow for flow in self.flows if flow.left > 1e-6]
            self.changed = True
        while self.timers and self.timers[0][0] <= self.now + EPSILON:
            done.append(heapq.heappop(self.timers)[2])
        for then in done:
            then()

    def _set_rates(self) -> None:
        self._set_flows()
        for pool in self.pools.values():
            if pool.jobs:
                left = max(pool.amount - pool.load, LEAST_SHARE * min(pool.amount, 1.0))
                rate = min(1.0, left / len(pool.jobs))
                for job in pool.jobs:
                    job.rate = rate

    def _set_flows(self) -> None:
        for pool in self.pools.values():
            pool.load = 0.0
        if not self.flows:
            return
        link, hosts = self.machine.link, self.machine.hosts
        out: dict[str, int] = {}
        into: dict[str, int] = {}
        moving = [flow for flow in self.flows if self._moves(flow)]
        for flow in moving:
            sender, receiver = hosts[flow.sender.seat.processor], hosts[flow.receiver.seat.processor]
            out[sender], into[receiver] = out.get(sender, 0) + 1, into.get(receiver, 0) + 1
        for flow in self.flows:
            flow.rate = 0.0
        for flow in moving:
            sender, receiver = hosts[flow.sender.seat.processor], hosts[flow.receiver.seat.processor]
            flow.rate = link.rate / max(out[sender], into[receiver])
            flow.sender.pool.load += flow.rate * link.cpu
            flow.receiver.pool.load += flow.rate * link.cpu
        for flow in moving:
            flow.rate *= min(_granted(flow.sender.pool), _granted(flow.receiver.pool))
        for pool in self.pools.values():
            pool.load *= _granted(pool)

    def _moves(self, flow: _Flow) -> bool:
        """Whether bytes move: a rank in a call looks after none, but some are in the system's hands."""
        endless = self.machine.slack == float("inf")
        flow.stalled = (flow.sender.busy or flow.receiver.busy) and not endless
        if not flow.stalled:
            flow.slack = self.machine.slack
        return not flow.stalled or flow.slack > 1e-6

    # Ranks.

    def _look(self, rank: _Rank) -> None:
        """Have a rank do what it can, until it is in a call or nothing can be done."""
        while not rank.busy:
            if rank.called:
                strand, operation = rank.called.pop(0)
                self._begin(rank, strand, operation)
                continue
            if not any(self._try(rank, context) for context in list(rank.contexts)):
                return

    def _try(self, rank: _Rank, context: _Context) -> bool:
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

    def _item(self, rank: _Rank, context: _Context) -> bool:
        """Enter the next item; False if it has to wait."""
        match context.stream[context.place]:
            case Strands(strands):
                context.strands = [_Strand(operations) for operations in strands]
                return True
            case Wait(inputs):
                if not all(self._is_here(needed.source, rank) for needed in inputs):
                    return False
            case Mark(loop):
                rank.marks.setdefault(loop, []).append(self.now + rank.skipped)
            case Rest(loop, simulated, total):
                marks = [*rank.marks.pop(loop), self.now + rank.skipped]
                rank.skipped += _pace(marks) * (total - simulated)
            case Fork() as fork:
                return self._fork(rank, context, fork)
        context.place += 1
        return True

    def _is_here(self, source: int, rank: _Rank) -> bool:
        if self._rank(self.operations[source]) is rank:
            return self.finished[source]
        return (source, rank.seat) in self.arrived

    def _strands(self, rank: _Rank, context: _Context) -> bool:
        """Begin the first operation of a context that can; True if one began."""
        assert context.strands is not None
        for strand in list(context.strands):
            while strand.place < len(strand.operations):
                operation = self.operations[strand.operations[strand.place]]
                self._take(rank, operation)
                if self.missing[operation.number] or not self._has_places(operation, context):
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

    def _stand(self, rank: _Rank, strand: _Strand, operation: Operation) -> None:
        """A call that meets others begins when all stand before it."""
        assert operation.group is not None
        there = self.standing.setdefault(operation.group, [])
        if any(other is operation for _, _, other in there):
            return
        there.append((rank, strand, operation))
        if len(there) == self.group_sizes[operation.group]:
            for other, their_strand, call in there:
                other.called.append((their_strand, call))
                if other is not rank:
                    self._after(0.0, lambda other=other: self._look(other))  # type: ignore[misc]
            self._after(0.0, lambda: self._look(rank))

    def _begin(self, rank: _Rank, strand: _Strand, operation: Operation) -> None:
        rank.busy, self.changed, began = True, True, self.now
        cpu, rest = self.durations[operation.number] if self.durations else (operation.cpu, operation.rest)

        def done() -> None:
            rank.busy, self.changed = False, True
            rank.seconds += self.now - began
            strand.place += 1
            self._finish(operation)
            self._look(rank)

        def pause() -> None:
            if rest > 0:
                self._after(rest, done)
            else:
                done()

        rank.pool.jobs.append(_Job(rank, max(cpu, 1e-9), pause))

    def _finish(self, operation: Operation) -> None:
        """An operation is done: hand over what it made."""
        number = operation.number
        self.finished[number] = True
        sender = self._rank(operation)
        for reader in self.here[number]:
            self._arrive(reader, sender)
        for writer in self.frees[number]:
            self._arrive(writer, self._rank(self.operations[writer]))
        for (rank, queue), message in self.sends[number].items():
            if queue is not None:
                self.queued[queue, rank.seat] = self.queued.get((queue, rank.seat), 0) + 1
            self._deliver(number, sender, rank, queue, message)

    def _deliver(self, number: int, sender: _Rank, rank: _Rank, queue: str | None, message: _Message) -> None:
        def there() -> None:
            self.arrived.add((number, rank.seat))
            if queue is not None and not message.readers:  # Nobody reads it: it is let go at once.
                self._release(queue, rank.seat)
            for reader in message.readers:
                self._arrive(reader, rank)
            self._look(rank)

        if not self.machine.is_remote(sender.seat.processor, rank.seat.processor):
            self._after(self.machine.hop, there)
        elif message.size <= SMALL:
            self._after(self.machine.link.latency + self._backlog(sender), there)
        else:
            flow = _Flow(sender, rank, message.size, there)
            flow.slack = self.machine.slack if self.machine.eager else 0.0
            self._after(self.machine.link.latency, lambda: self._flow(flow))

    def _flow(self, flow: _Flow) -> None:
        self.flows.append(flow)
        self.changed = True

    def _backlog(self, sender: _Rank) -> float:
        """Seconds that a small message stands behind what its node is sending already."""
        host, link = self.machine.hosts[sender.seat.processor], self.machine.link
        ahead = sum(f.left for f in self.flows if self.machine.hosts[f.sender.seat.processor] == host)
        return min(ahead / link.rate, link.queueing)

    def _arrive(self, reader: int, rank: _Rank) -> None:
        """One of the things that an operation needs is there."""
        self.missing[reader] -= 1
        if self.missing[reader]:
            return
        operation = self.operations[reader]
        if operation.kind is Kind.COMBINE:
            self._finish(operation)
        self._after(0.0, lambda: self._look(rank))

    # Queues.

    def _take(self, rank: _Rank, operation: Operation) -> None:
        """What an operation reads leaves its queue when the operation is next."""
        for needed in operation.inputs:
            if needed.queue is None or (needed.source, needed.queue, rank.seat) in self.taken:
                continue
            sender = self._rank(self.operations[needed.source])
            if sender is not rank and (needed.source, rank.seat) in self.arrived:
                self.taken.add((needed.source, needed.queue, rank.seat))
                self._release(needed.queue, rank.seat)

    def _has_places(self, operation: Operation, context: _Context) -> bool:
        """Whether each queue that an operation feeds has a place left; the oldest iteration needs none."""
        if self._is_oldest(context):
            return True
        for rank, queue in self.sends[operation.number]:
            if queue is not None:
                to_root = rank.seat.processor is None and operation.processor is not None
                pieces = self.places[operation.site] if to_root else 1
                depth = self.assignment.depth_of(rank.seat.label)
                if self.queued.get((queue, rank.seat), 0) >= pieces * depth:
                    self.starved.add(self._rank(operation))
                    return False
        return True

    def _release(self, queue: str, seat: Seat) -> None:
        """A place in a queue gets free: who waits for one looks again."""
        self.queued[queue, seat] -= 1
        starved, self.starved = self.starved, set()
        for rank in starved:
            self._after(0.0, lambda rank=rank: self._look(rank))  # type: ignore[misc]

    def _is_oldest(self, context: _Context) -> bool:
        while context.parent is not None:
            if context.parent.parent is None:
                return context.round == self._all_complete(context.loop)
            context = context.parent
        return False

    # Iterations in flight.

    def _fork(self, rank: _Rank, context: _Context, fork: Fork) -> bool:
        """Start iterations as the window lets; the context goes on when all are done."""
        self.complete.setdefault(fork.loop, [0] * len(fork.rounds))
        rank.marks.setdefault(fork.loop, [self.now + rank.skipped])
        while (
            context.children < len(fork.rounds)
            and context.children < self._all_complete(fork.loop) + fork.window
        ):
            number = context.children
            context.children += 1
            child = _Context(fork.rounds[number], fork.loop, number, context)
            place = rank.contexts.index(context)
            rank.contexts.insert(place, child)  # older ones first, the one around them last
            self._after(0.0, lambda: self._look(rank))
        if any(child.parent is context for child in rank.contexts) or context.children < len(fork.rounds):
            return False
        marks = rank.marks.pop(fork.loop)
        rank.skipped += _pace(marks) * (fork.total - len(fork.rounds))
        context.place += 1
        context.children = 0
        return True

    def _all_complete(self, loop: int) -> int:
        """How many iterations are complete on all ranks that run some of them, without a gap."""
        ranks = len(self.streams.shares[loop])
        done = self.complete[loop]
        return next((number for number, count in enumerate(done) if count < ranks), len(done))

    def _end(self, rank: _Rank, context: _Context) -> None:
        """A context has come to its end."""
        rank.contexts.remove(context)
        if context.parent is None:
            return
        self.complete[context.loop][context.round] += 1
        rank.marks[context.loop].append(self.now + rank.skipped)
        for seat in self.streams.shares[context.loop]:
            other = self.ranks[seat]
            if other is not rank:
                self._after(0.0, lambda other=other: self._look(other))  # type: ignore[misc]


def _granted(pool: _Pool) -> float:
    """The part of what transfers want of some cores that they get beside calls, which want all of them."""
    fair = pool.amount / 2 if pool.jobs else pool.amount
    return min(1.0, fair / pool.load) if pool.load > 0 else 1.0


def _pace(marks: list[float]) -> float:
    """Seconds of a round, from the later half of those that were seen."""
    half = (len(marks) - 1) // 2
    return (marks[-1] - marks[half]) / max(len(marks) - 1 - half, 1)
