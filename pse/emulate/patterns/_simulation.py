"""The steps of all ranks, simulated: whether they fit together, and how long they take by a model."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pse._abi.emulate import StepKind
from pse.emulate.patterns._cycle import COLLECTIVE, RECEIVES, SENDS, PatternError, Step
from pse.text import list_text, size_text

Cost = Callable[[int], float]
Groups = Sequence[Sequence[int]]
"""The ranks of each group that has collective operations of its own, in its order; the first has number 1."""
_SHOWN = 3


@dataclass
class _Half:
    """One side of a message: when its call began, and when the message has arrived."""

    rank: int
    begin: float
    bytes: int
    end: float | None = None


@dataclass
class _Rank:
    rank: int
    steps: Sequence[Step]
    place: int = 0
    now: float = 0.0
    begun: list[_Half] = field(default_factory=list)
    awaited: list[_Half] = field(default_factory=list)
    collectives: Counter[int] = field(default_factory=Counter)  # How many it has left, by group.

    def is_done(self) -> bool:
        return self.place == len(self.steps)


class Simulation:
    """All ranks of one cycle; sends wait for their receives, as they may with any MPI library."""

    def __init__(self, programs: Sequence[Sequence[Step]], cost: Cost, groups: Groups = ()) -> None:
        self._members = [tuple(range(len(programs))), *groups]
        self._ranks = [_Rank(rank, steps) for rank, steps in enumerate(programs)]
        self._cost = cost
        self._channels: dict[tuple[int, int, int], tuple[deque[_Half], deque[_Half]]] = defaultdict(
            lambda: (deque(), deque())
        )
        self._received = [0.0] * len(programs)  # When each rank's last message had arrived.
        self._arrivals: dict[tuple[int, int], list[tuple[_Rank, Step]]] = defaultdict(list)
        self._met: dict[tuple[int, int], float] = {}  # When a collective operation ends.

    def run(self) -> list[float]:
        """Give when each rank ends; raise PatternError if some never would."""
        waiting = deque(rank for rank in self._ranks if not rank.is_done())
        idle = 0
        while waiting:
            rank = waiting.popleft()
            idle = 0 if self._advance(rank) else idle + 1
            if not rank.is_done():
                waiting.append(rank)
            if idle > len(waiting):
                raise self._stuck(waiting)
        self._require_partners()
        return [rank.now for rank in self._ranks]

    def _require_partners(self) -> None:
        """Name a message whose other end won't come: that rank has done all its steps."""
        for (source, target, _tag), sides in self._channels.items():
            for half in (half for side in sides for half in side):
                what = "sends" if half.rank == source else "expects"
                peer, missing = (target, "receive") if half.rank == source else (source, "send")
                if self._ranks[peer].is_done():
                    raise PatternError(
                        f"rank {half.rank} {what} a message of {size_text(half.bytes, zeros=False)} that rank"
                        f" {peer} doesn't {missing}",
                        help="let each message be sent by one rank and received by the other",
                    )

    def _advance(self, rank: _Rank) -> bool:
        """Execute a rank's steps until one has to wait; say whether any was executed."""
        begin = rank.place
        while not rank.is_done() and self._execute(rank, rank.steps[rank.place]):
            rank.place += 1
        return rank.place > begin

    def _execute(self, rank: _Rank, step: Step) -> bool:
        """Execute a step, or go on waiting for it; say whether it is complete."""
        if step.kind == StepKind.COMPUTE:
            rank.now += step.seconds
            return True
        if step.kind in COLLECTIVE:
            return self._meet(rank, step)
        if not rank.awaited:
            if step.kind in SENDS | RECEIVES:
                half = self._post(rank, step)
                if step.kind in (StepKind.ISEND, StepKind.IRECEIVE):
                    rank.begun.append(half)
                    return True
                rank.awaited = [half]
            else:
                rank.awaited, rank.begun = rank.begun, []
        ends = [half.end for half in rank.awaited]
        if any(end is None for end in ends):
            return False
        rank.now = max([rank.now, *(end for end in ends if end is not None)])
        rank.awaited = []
        return True

    def _post(self, rank: _Rank, step: Step) -> _Half:
        sends = step.kind in SENDS
        ends = (rank.rank, step.peer) if sends else (step.peer, rank.rank)
        sides = self._channels[*ends, step.tag]
        half = _Half(rank.rank, rank.now, step.bytes)
        if not sides[sends]:
            sides[not sends].append(half)
            return half
        other = sides[sends].popleft()
        sent, received = (half, other) if sends else (other, half)
        if sent.bytes != received.bytes:
            raise PatternError(
                f"rank {sent.rank} sends {size_text(sent.bytes, zeros=False)} to rank {received.rank}, which"
                f" expects {size_text(received.bytes, zeros=False)}",
                help="let both sides of a message name the same number of bytes",
            )
        begin = max(sent.begin, received.begin, self._received[received.rank])
        sent.end = received.end = self._received[received.rank] = begin + self._cost(sent.bytes)
        return half

    def _meet(self, rank: _Rank, step: Step) -> bool:
        """Take part in a collective operation; it is complete when all ranks of its group do."""
        key, members = (step.group, rank.collectives[step.group]), self._members[step.group]
        met = self._arrivals[key]
        if all(other is not rank for other, _ in met):
            met.append((rank, step))
            self._check_same(met)
        if len(met) < len(members):
            return False
        if key not in self._met:
            begin = max(other.now for other, _ in met)
            self._met[key] = begin + collective_cost(step, len(members), self._cost)
        rank.now = self._met[key]
        rank.collectives[step.group] += 1
        return True

    @staticmethod
    def _check_same(met: Sequence[tuple[_Rank, Step]]) -> None:
        (first, expected), (last, step) = met[0], met[-1]
        if step != expected:
            what = [
                f"rank {one.rank} is in {do.kind.name.lower()} ({do.bytes} B, root {do.peer})"
                for one, do in ((first, expected), (last, step))
            ]
            raise PatternError(
                f"ranks are in different collective operations: {list_text(what)}",
                help="let all ranks add the same collective operations in the same order",
            )

    def _stuck(self, waiting: deque[_Rank]) -> PatternError:
        itself = next(filter(_waits_for_itself, sorted(waiting, key=lambda rank: rank.rank)), None)
        if itself is not None:
            return PatternError(
                f"rank {itself.rank} would wait for itself for ever: {_waits_for(itself)}",
                help="leave the rank itself out: it can't exchange messages with itself by blocking calls",
            )
        self._require_partners()
        shown = [_waits_for(rank) for rank in sorted(waiting, key=lambda rank: rank.rank)[:_SHOWN]]
        return PatternError(
            f"the ranks would wait for each other for ever: {list_text(shown)}",
            help="let one side receive first, or begin messages and wait for them together",
        )


def _waits_for_itself(rank: _Rank) -> bool:
    step = rank.steps[rank.place]
    return step.kind in SENDS | RECEIVES and step.peer == rank.rank


def _waits_for(rank: _Rank) -> str:
    step = rank.steps[rank.place]
    if step.kind in SENDS:
        return f"rank {rank.rank} sends to rank {step.peer}"
    if step.kind in RECEIVES:
        return f"rank {rank.rank} receives from rank {step.peer}"
    return f"rank {rank.rank} is in {step.kind.name.lower()}"


def collective_cost(step: Step, ranks: int, cost: Cost) -> float:
    """Predict a collective operation from the cost of messages, by the usual algorithms.

    Parameters
    ----------
    step : Step
        The operation, with the bytes of one rank's part.
    ranks : int
        How many take part.
    cost : callable
        Seconds of a message by its bytes.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> from pse._abi.emulate import StepKind
    >>> collective_cost(Step(StepKind.BARRIER), 8, lambda size: 2.0)
    6.0
    """
    rounds = (ranks - 1).bit_length()
    if step.kind == StepKind.BARRIER:
        return rounds * cost(0)
    if step.kind in (StepKind.BROADCAST, StepKind.REDUCE):
        return rounds * cost(step.bytes)
    if step.kind == StepKind.ALLREDUCE:
        return rounds * cost(step.bytes)
    return (ranks - 1) * cost(step.bytes)


def simulate(
    programs: Sequence[Sequence[Step]], cost: Cost = lambda _bytes: 1.0, groups: Groups = ()
) -> list[float]:
    """Simulate the steps of all ranks.

    Parameters
    ----------
    programs : sequence of sequence of Step
        The steps of each rank.
    cost : callable, optional
        Seconds of a message by its bytes.
    groups : sequence of sequence of int
        The ranks of the groups that steps name, from 1.

    Returns
    -------
    list of float
        When each rank ends, s.

    Raises
    ------
    PatternError
        Ranks would wait for each other for ever, or messages don't match.

    Examples
    --------
    >>> from pse.emulate import find_pattern
    >>> pairwise = find_pattern("pairwise")
    >>> simulate([pairwise.cycle(rank, 2, 1000) for rank in range(2)], lambda size: 1e-9 * size)
    [2.0...e-06, 2.0...e-06]
    """
    return Simulation(programs, cost, groups).run()
